"""
The best partition, for three kernels
=====================================

Maximum-margin clustering looks for the two clusters that a classifier can tell apart
best. With the square loss the best partition can be found and proven. What it looks
like depends on the kernel: here are the optima for a linear, a polynomial and a
Gaussian kernel on one set of points, as in the first figure of Gieseke, Pahikkala and
Igel,
"Polynomial runtime bounds for fixed-rank unsupervised least-squares classification"
(2013).
"""

# SPDX-License-Identifier: BSD-3-Clause

# %%
# The points
# ----------
# Two half moons; the methods are not told which point is on which.
import numpy as np
from sklearn.datasets import make_moons

X, moon = make_moons(60, noise=0.07, random_state=0)
print(f"{len(X)} points, {2.0 ** (len(X) - 1):.1e} partitions into two clusters")

# %%
# The optima
# ----------
# The rank of the centred kernel decides how. The linear kernel has rank 2: the optimum
# is among 120 vertices of a polygon. The polynomial kernel of degree 2 has rank 5, as
# there are five monomials besides the constant: its 978,812 vertices take about a
# second. The Gaussian kernel has full rank, where no enumeration helps: branch and
# bound closes the tree after a few dozen nodes.
from fewlabels.cluster import RLSClustering
from fewlabels.partition import count_zonotope_vertices

print([count_zonotope_vertices(len(X), rank) for rank in (2, 5)])

models = {
    "linear": RLSClustering(kernel="linear", alpha=0.1, solver="exact"),
    "polynomial, degree 2": RLSClustering(
        kernel="poly", kernel_params={"degree": 2}, gamma=1.0, alpha=0.1, solver="exact"
    ),
    "Gaussian": RLSClustering(
        kernel="rbf", gamma=4.0, alpha=0.03, solver="branch_and_bound"
    ),
}
for name, model in models.items():
    model.fit(X)
    print(
        f"{name}: objective {model.objective_:.4f}, at most {model.gap_:.0e} above the "
        f"optimum ({model.solver_}, {model.result_.stop_reason})"
    )

# %%
# A picture
# ---------
# Colours are the clusters, shapes the moons. The line is where the model that belongs
# to the clusters is zero.
import matplotlib.pyplot as plt

margin = 0.4
low, high = X.min(axis=0) - margin, X.max(axis=0) + margin
grid = np.meshgrid(np.linspace(low[0], high[0], 200), np.linspace(low[1], high[1], 200))
positions = np.column_stack([axis.ravel() for axis in grid])

figure, axes = plt.subplots(1, 3, figsize=(12, 4), layout="constrained")
for ax, (name, model) in zip(axes, models.items(), strict=True):
    outputs = model.decision_function(positions).reshape(grid[0].shape)
    reach = np.abs(outputs).max()
    ax.imshow(
        outputs,
        extent=(low[0], high[0], low[1], high[1]),
        origin="lower",
        cmap="coolwarm",
        alpha=0.35,
        vmin=-reach,
        vmax=reach,
    )
    ax.contour(*grid, outputs, levels=[0.0], colors="black")
    for shape, of_moon in (("o", moon == 0), ("^", moon == 1)):
        colors = np.where(model.labels_[of_moon] == 1, "tab:red", "tab:blue")
        ax.scatter(*X[of_moon].T, c=colors, marker=shape, s=45, edgecolors="white")
    ax.set_title(f"{name}\nF = {model.objective_:.3f}, the optimum")
    ax.set_xticks([])
    ax.set_yticks([])
    ax.set_aspect("equal")
plt.show()

# %%
# Fewer dimensions, with a certificate
# ------------------------------------
# The figure of the paper truncated the Gaussian kernel to rank 2. The partition that is
# optimal then need not be so for the whole kernel, nor does one more dimension always
# help. A lower bound on the objective of all partitions says how much can be missing.
from fewlabels.kernels import resolve_kernel
from fewlabels.partition import PartitionProblem, certify, solve_exact

K = resolve_kernel(X, "rbf", gamma=4.0)(X)
K = K - K.mean(axis=0) - K.mean(axis=1)[:, None] + K.mean()
problem = PartitionProblem.from_kernel(K, np.zeros(len(X)), alpha=0.03)
for rank in (2, 3, 4):
    result = certify(problem, solve_exact(problem, n_components=rank))
    print(f"rank {rank}: F = {result.objective:.4f}, F >= {result.lower_bound:.4f}")
print(f"optimum: F = {models['Gaussian'].objective_:.4f}")
