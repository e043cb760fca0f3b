r"""
A zonotope and its farthest vertex
==================================

With a kernel of rank r, the best of all partitions is the longest of all sums
:math:`\sum_i y_i b_i` with signs :math:`y_i` and vectors :math:`b_i` of r numbers. The
sums lie in a zonotope, and the longest is one of its vertices. There are few of them:
:math:`2 \sum_{k<r} \binom{n-1}{k}` instead of :math:`2^n` sums. The picture is that of
Gieseke, Pahikkala and Igel, "Polynomial runtime bounds for fixed-rank unsupervised
least-squares classification" (2013), figure 2.
"""

# SPDX-License-Identifier: BSD-3-Clause

# %%
# In the plane
# ------------
# Ten points in two groups. Their coordinates, centred, are the generators.
import numpy as np

from fewlabels.partition import (
    PartitionProblem,
    count_zonotope_vertices,
    enumerate_zonotope_vertices,
    solve_exact,
)

rng = np.random.default_rng(1)
B = np.r_[
    rng.normal([-1.0, -0.4], [0.4, 1.1], (5, 2)),
    rng.normal([1.0, 0.4], [0.4, 1.1], (5, 2)),
]
B -= B.mean(axis=0)
signs, vertices = enumerate_zonotope_vertices(B)
print(f"{len(vertices)} vertices, by the formula {count_zonotope_vertices(10, 2)}")
print(f"{2 ** len(B)} sums in all")

# %%
# All sums, for once: with ten points that is possible. The farthest is a vertex.
all_signs = 1 - 2 * (np.arange(2 ** len(B))[:, None] >> np.arange(len(B)) & 1)
sums = all_signs @ B
lengths = np.linalg.norm(vertices, axis=1)
farthest = np.argmax(lengths)
assert np.isclose(lengths[farthest], np.linalg.norm(sums, axis=1).max())

# %%
# The solver finds the same, without a list. It maximises over the vectors that least
# squares makes of the rows; with a large `alpha` these are the rows but for a factor.
result = solve_exact(PartitionProblem.from_factor(B, np.zeros(len(B)), alpha=1e6))
print(np.array_equal(result.y * result.y[0], signs[farthest] * signs[farthest, 0]))

# %%
# The polygon: its sides are the generators, twice each, in the order of their angles.
# That is why one sort is enough in the plane.
import matplotlib.pyplot as plt

around = np.argsort(np.arctan2(vertices[:, 1], vertices[:, 0]))
outline = vertices[np.append(around, around[0])]
figure, axes = plt.subplots(1, 2, figsize=(12, 6.5), layout="constrained")
ax = axes[0]
ax.scatter(*sums.T, s=3, color="lightgray", label=f"all {len(sums)} sums")
ax.fill(*outline.T, color="tab:blue", alpha=0.1)
ax.plot(*outline.T, color="tab:blue", lw=1)
for b in B:
    ax.plot(*np.c_[-b, b], color="black", lw=1.2)
ax.plot([], [], color="black", label="generators, from -b to b")
ax.plot(*vertices.T, "s", color="tab:red", ms=5, label=f"{len(vertices)} vertices")
ax.annotate("", vertices[farthest], (0, 0), arrowprops={"arrowstyle": "->", "lw": 2})
ax.plot(
    *vertices[farthest], "*", color="gold", mec="black", ms=20, label="the farthest"
)
ax.set_aspect("equal")
ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.06), ncols=2)
ax.set_title("The zonotope")

ax = axes[1]
direction = vertices[farthest]
for sign, color in ((1, "tab:red"), (-1, "tab:blue")):
    rows = B[signs[farthest] == sign]
    ax.scatter(*rows.T, color=color, s=60)
across = np.array([-direction[1], direction[0]]) / np.linalg.norm(direction)
ax.axline((0, 0), tuple(across), color="black")
ax.set_aspect("equal")
ax.set_title("The partition of its farthest vertex:\nsigns of the products with it")
plt.show()

# %%
# In space
# --------
# Eight generators of rank 3 make 58 vertices. Two vertices share an edge if they differ
# in one sign. Around each generator there is a belt of faces, which is a polygon seen
# along that generator: one sort for each of them finds all vertices.
B = np.random.default_rng(5).normal(size=(8, 3))
B /= np.linalg.norm(B, axis=1, keepdims=True)
signs, vertices = enumerate_zonotope_vertices(B)
products = signs.astype(int) @ signs.T
first, second = np.nonzero(np.triu(products == len(B) - 2))
farthest = np.argmax(np.linalg.norm(vertices, axis=1))
print(f"{len(vertices)} vertices, {first.size} edges")

ax = plt.figure(figsize=(7, 7), layout="constrained").add_subplot(projection="3d")
for start, end in zip(vertices[first], vertices[second], strict=True):
    ax.plot(*np.c_[start, end], color="tab:blue", lw=0.8)
for b in B:
    ax.plot(*np.c_[-b, b], color="black", lw=1.2)
ax.scatter(*vertices.T, marker="s", color="tab:red", s=14, depthshade=False)
ax.plot(*vertices[farthest][:, None], "*", color="gold", mec="black", ms=20)
ax.set_box_aspect(np.ptp(vertices, axis=0), zoom=1.3)
ax.set_axis_off()
ax.set_title(f"{len(B)} generators in space, {len(vertices)} vertices")
plt.show()
