"""
A Laplacian SVM, iteration by iteration
=======================================

Two moons and two labels. Conjugate gradients need few iterations until the decisions
are right, and many more until the usual measures of convergence say so. Hence the rule
to stop when the decisions no longer change. These are figures 3 and 4 of Melacci and
Belkin, "Laplacian support vector machines trained in the primal" (2011).
"""

# SPDX-License-Identifier: BSD-3-Clause

# %%
# The problem
# -----------
# The solver is a function; it needs a kernel matrix, the Laplacian of a graph, and the
# labels as -1 and +1.
import warnings

import numpy as np
from sklearn.datasets import make_moons
from sklearn.exceptions import ConvergenceWarning

from fewlabels.datasets import hide_labels
from fewlabels.graphs import graph_laplacian, laplacian_power, similarity_graph
from fewlabels.kernels import DenseGram, gamma_from_width, resolve_kernel
from fewlabels.semi_supervised import LaplacianProblem, laplacian_dense, laplacian_pcg

X, y_true = make_moons(200, noise=0.08, random_state=3)
labeled = np.flatnonzero(hide_labels(y_true, per_class=1, random_state=1) >= 0)
kernel = resolve_kernel(X, "rbf", gamma=gamma_from_width(0.35))
problem = LaplacianProblem(
    gram=DenseGram(kernel(X)),
    laplacian=laplacian_power(
        graph_laplacian(similarity_graph(X, n_neighbors=6), "symmetric"), 1
    ),
    labeled=labeled,
    targets=2.0 * y_true[labeled, None] - 1,
)
weights = (1e-3, 1.0)

# %%
# Some iterations
# ---------------
# ``tol=0`` keeps it going; the warning that it did not converge is no news then.


def descend(max_iter, **rules):
    """Follow conjugate gradients for a number of iterations."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return laplacian_pcg(problem, *weights, max_iter=max_iter, **rules)


def error(solution):
    """Share of wrong decisions, in percent."""
    return 100 * np.mean((solution.outputs[:, 0] > 0) != y_true)


forever = {"stopping": "gradient", "tol": 0.0}
solutions = {
    f"{t} iteration{'s' * (t > 1)}": descend(t, **forever) for t in (1, 4, 8, 25)
}
stopped = laplacian_pcg(problem, *weights, stopping="stability")
solutions[f"stability check: {stopped.n_iter}"] = stopped
solutions["Newton's method"] = laplacian_dense(problem, *weights)
for name, solution in solutions.items():
    print(f"{name:22} {error(solution):5.1f} % wrong")

# %%
# The decision function
# ---------------------
import matplotlib.pyplot as plt

low, high = X.min(axis=0) - 0.4, X.max(axis=0) + 0.4
grid = np.meshgrid(np.linspace(low[0], high[0], 120), np.linspace(low[1], high[1], 90))
between = kernel(np.column_stack([axis.ravel() for axis in grid]), X)

figure, axes = plt.subplots(2, 3, figsize=(12, 6), layout="constrained")
for ax, (name, solution) in zip(axes.flat, solutions.items(), strict=True):
    f = (between @ solution.dual_coef + solution.intercept).reshape(grid[0].shape)
    ax.pcolormesh(*grid, f, cmap="coolwarm", vmin=-1, vmax=1)
    ax.contour(*grid, f, levels=[0.0], colors="black")
    ax.plot(*X.T, ".", color="0.3", markersize=3)
    for row in labeled:
        color = "tab:red" if y_true[row] else "tab:blue"
        ax.plot(*X[row], "o", color=color, markersize=10, markeredgecolor="white")
    ax.set(title=f"{name}, {error(solution):.1f} % wrong", xticks=[], yticks=[])
plt.show()

# %%
# What a stopping rule sees
# -------------------------
# The gradient keeps falling long after the last decision has changed.
wrong = []
solution = descend(
    60,
    callback=lambda state: wrong.append(np.mean((state.outputs[:, 0] > 0) != y_true)),
    **forever,
)
figure, ax = plt.subplots(figsize=(7, 4), layout="constrained")
for name in ("gradient", "preconditioned_gradient", "mixed_product", "objective"):
    values = solution.history[name][:, 0]
    ax.semilogy(values / values[0], label=name.replace("_", " "))
right_from = 2 + max(np.flatnonzero(np.array(wrong) > 0), default=-1)
ax.axvline(right_from, color="0.5", ls=":", label=f"all right from {right_from} on")
ax.set(xlabel="iterations", ylabel="relative to the start")
ax.legend()
plt.show()
