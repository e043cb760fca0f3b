"""
How fast optimisers converge
============================

Logistic regression with 1,000 rows is solved by methods that look at all rows, at one
row or at one coordinate at a time. Work is counted in passes: a pass computes the
gradients of all rows, or all partial derivatives, once. What theory says about the
rates can be read off the curves.
"""

# SPDX-License-Identifier: BSD-3-Clause

# %%
# The problem
# -----------
# The mean logistic loss plus :math:`\frac{\alpha}{2} \|w\|^2`, with correlated
# features. F is strongly convex with a constant of at least :math:`\mu = \alpha`, and
# its gradient has the Lipschitz constant L.
import numpy as np

from fewlabels.optimize import FiniteSumProblem, L2Penalty, coordinate_descent

rng = np.random.default_rng(0)
X = rng.normal(size=(1000, 30)) + 0.7 * rng.normal(size=(1000, 1))
y = np.where(X @ rng.normal(size=30) + rng.normal(size=1000) > 0, 1.0, -1.0)
problem = FiniteSumProblem(X, y, "logistic", L2Penalty(0.01))

best = coordinate_descent(problem, tol=1e-12, max_iter=10_000)
mu, L = 0.01, problem.lipschitz + 0.01
print(f"F* = {best.objective:.6f}, duality gap {problem.duality_gap(best.x):.0e}")
print(f"L / mu = {L / mu:.0f}")

# %%
# All rows, or one at a time
# --------------------------
# The methods that reduce the variance of stochastic gradients converge linearly, as
# gradient descent does, but their steps cost the gradient of a single row. Plain
# stochastic gradients, even averaged, are fast at first and slow in the end.
from fewlabels.optimize import (
    gradient_descent,
    sag_minimize,
    saga_minimize,
    sgd_minimize,
    svrg_minimize,
)

passes = 150
fixed = {"tol": 0.0, "random_state": 0}
L_row = problem.row_lipschitz
by_rows = {
    "gradient descent": gradient_descent(problem, max_iter=passes, tol=0.0),
    "SGD, averaged": sgd_minimize(
        problem, average_start=5, max_iter=passes, sampling="independent", **fixed
    ),
    "SAG, step 1/(16 L)": sag_minimize(problem, max_iter=passes, **fixed),
    "SAG, step 1/L": sag_minimize(problem, step=1 / L_row, max_iter=passes, **fixed),
    "SVRG": svrg_minimize(problem, max_iter=passes // 3, **fixed),
    "SVRG, average": svrg_minimize(
        problem, option="average", max_iter=passes // 3, **fixed
    ),
    "SAGA": saga_minimize(problem, max_iter=passes, **fixed),
}

# %%
# One coordinate at a time
# ------------------------
# A coordinate may step by the inverse of its own curvature, which is much smaller than
# L. Blocks of five share the largest curvature among them. APPROX has momentum.
from fewlabels.optimize import (
    BlockPartition,
    approx_coordinate_descent,
    block_coordinate_descent,
)

blocks = BlockPartition.of_size(30, 5)
by_coordinates = {
    f"one, {selection}": coordinate_descent(
        problem, selection=selection, max_iter=passes, **fixed
    )
    for selection in ("cyclic", "permutation", "random")
}
by_coordinates["random blocks of 5"] = block_coordinate_descent(
    problem, blocks, max_iter=passes, **fixed
)
by_coordinates["APPROX, 1 together"] = approx_coordinate_descent(
    problem, max_iter=passes, **fixed
)
by_coordinates["APPROX, 10 together"] = approx_coordinate_descent(
    problem, n_together=10, max_iter=passes, **fixed
)

# %%
# Where F is hardly curved
# ------------------------
# Without strong convexity there is no linear rate. The general bounds, which fall as
# 1 / k without momentum and as :math:`1 / k^2` with it, are nearly attained for a
# quadratic function whose eigenvalues fall as :math:`1 / i^2`.
from fewlabels.optimize import QuadraticProblem

d = 300
Q, _ = np.linalg.qr(rng.normal(size=(d, d)))
eigenvalues = 1.0 / np.arange(1, d + 1) ** 2
solution = Q @ np.arange(1, d + 1) ** -0.5
A = Q * eigenvalues @ Q.T
flat = QuadraticProblem((A + A.T) / 2, A @ solution)
lowest = flat.value(solution)
long = {"max_iter": 1000, "tol": 0.0}
on_flat = {
    "gradient descent": gradient_descent(flat, **long),
    "coordinates, random": block_coordinate_descent(flat, random_state=0, **long),
    "APPROX": approx_coordinate_descent(flat, random_state=0, **long),
}

# %%
# A picture
# ---------
import matplotlib.pyplot as plt

figure, (left, middle, right) = plt.subplots(
    1, 3, figsize=(15, 5), layout="constrained"
)


def draw(ax, results, lowest, title):
    """Plot how far every solver is above the minimum, against its work."""
    for name, result in results.items():
        gaps = result.trace - lowest
        seen = gaps > 1e-14
        ax.plot(result.history["passes"][seen], gaps[seen], label=name)
    ax.set_yscale("log")
    ax.set_xlabel("passes")
    ax.set_title(title)


draw(left, by_rows, best.objective, "All rows, or one at a time")
draw(middle, by_coordinates, best.objective, "One coordinate at a time")
draw(right, on_flat, lowest, "Hardly curved: 1 / k, and 1 / k² with momentum")
left.set_ylabel("F - F*")
k = np.arange(1.0, passes + 1)
start = problem.value(np.zeros(30)) - best.objective
left.plot(k, start * (1 - mu / L) ** k, "k:", label=r"$(1 - \mu / L)^k$")
left.set_xlim(0, passes)
middle.set_xlim(0, passes)
k = np.arange(1.0, 1001)
without = flat.lipschitz * np.sum(solution**2) / (2 * k)
constant = (1 - 1 / d) * -lowest + 0.5 * flat.A.diagonal() @ solution**2
right.plot(k, without, "k:", label="bound of gradient descent")
right.plot(k, 4 * constant / (k + 2) ** 2, "k--", label="bound of APPROX")
right.set_xscale("log")
for ax in (left, middle, right):
    ax.legend(fontsize="small")
left.set_ylim(1e-14, 1)
middle.set_ylim(1e-14, 1)
plt.show()
