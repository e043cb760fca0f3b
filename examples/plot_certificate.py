"""
How far from the best partition?
================================

A local search finds a partition into two clusters and cannot say how good it is. A
lower bound on the objective of *all* partitions can: the difference is what the search
may have missed. Branch and bound closes it, node by node, until the optimum is proven.
"""

# SPDX-License-Identifier: BSD-3-Clause

# %%
# The problem
# -----------
# Fifty rows in ten dimensions, in two groups that overlap. The linear kernel has rank
# 10, and the zonotope has more vertices than ``solve_exact`` enumerates unasked.
import numpy as np

from fewlabels.partition import (
    PartitionProblem,
    branch_and_bound,
    certify,
    count_zonotope_vertices,
    local_search,
)

rng = np.random.default_rng(0)
group = np.repeat([-1, 1], 25)
X = rng.normal(size=(50, 10))
X[:, 0] += 0.8 * group
X -= X.mean(axis=0)
problem = PartitionProblem.from_factor(X, np.zeros(50), alpha=0.5)
print(f"{2.0**49:.0e} partitions, {count_zonotope_vertices(50, 10):.0e} vertices")

# %%
# What a search finds
# -------------------
# Each of 400 runs from a random partition ends in a local optimum. ``certify`` adds the
# bound to the best one.
search = local_search(problem, start="random", n_init=400, random_state=0)
search = certify(problem, search)
print(
    f"best of 400: F = {search.objective:.4f}, no F is below {search.lower_bound:.4f}"
)
share = np.mean(np.isclose(search.objectives, search.objective))
print(f"{100 * share:.0f} % of the runs found it")

# %%
# The proof
# ---------
# A node of the tree fixes the clusters of some rows, and gets a bound of its own. The
# open node with the lowest bound speaks for all partitions.
nodes = [1, 3, 10, 30, 100, 300, 1000, 3000]
path = []
for limit in nodes:
    result = branch_and_bound(problem, time_limit=None, max_nodes=limit)
    path.append(result)
    if result.stop_reason == "optimum proven":
        break
print(f"{path[-1].stop_reason} after {path[-1].n_trials} nodes")

# %%
# A picture
# ---------
import matplotlib.pyplot as plt

figure, axes = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained", sharey=True)
ax = axes[0]
ax.hist(search.objectives, bins=40, orientation="horizontal", color="tab:blue")
ax.axhline(search.lower_bound, color="tab:red", label="no partition is below")
ax.set(xlabel="runs of the local search", ylabel="objective F", title="400 searches")
ax.legend(loc="upper right")
ax = axes[1]
counts = [result.n_trials for result in path]
ax.fill_between(
    counts,
    [result.lower_bound for result in path],
    [result.objective for result in path],
    color="tab:red",
    alpha=0.15,
)
ax.semilogx(counts, [result.objective for result in path], "o-", label="best found")
ax.semilogx(
    counts,
    [result.lower_bound for result in path],
    "s-",
    color="tab:red",
    label="no partition is below",
)
ax.set(xlabel="nodes of branch and bound", title="The gap closes")
ax.legend(loc="upper right")
plt.show()
