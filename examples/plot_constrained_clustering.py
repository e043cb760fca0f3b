"""
A few pairs decide what a cluster is
====================================

Four groups of points on a square: are the clusters left and right, or top and bottom?
The points do not say. A few pairs that belong together, or do not, settle it. On two
moons that nearly touch, a few pairs find the boundary.
"""

# SPDX-License-Identifier: BSD-3-Clause

# %%
# The square
# ----------
# The same points twice, with different pairs: green lines join rows that must be
# together, red ones rows that cannot be.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_blobs

from fewlabels.cluster import ConstrainedSpectralClustering

corners = np.array([[0, 0], [6, 0], [0, 6], [6, 6]])
X_square, corner = make_blobs(240, centers=corners, random_state=0)
a, b, c, d = (np.flatnonzero(corner == k)[:2] for k in range(4))

rows = {"must_link": np.c_[[*a, *c], [*b, *d]], "cannot_link": np.c_[a, c]}
columns = {"must_link": np.c_[[*a, *b], [*c, *d]], "cannot_link": np.c_[a, b]}

square = ConstrainedSpectralClustering(affinity="rbf", gamma=0.05)

# %%
# The moons
# ---------
# Here the pairs come from the labels of twenty rows: of the same class, together; of
# different classes, apart.
from sklearn.datasets import make_moons
from sklearn.metrics import adjusted_rand_score

from fewlabels.cluster import NormalizedSpectralClustering, constraints_from_labels
from fewlabels.datasets import hide_labels

X_moons, y_true = make_moons(400, noise=0.17, random_state=2)[:2]
y = hide_labels(y_true, n_labeled=20, random_state=0)
without = NormalizedSpectralClustering(random_state=0).fit(X_moons)
moons = ConstrainedSpectralClustering(random_state=0)
moons.fit(X_moons, constraints=constraints_from_labels(y))
for name, model in (("without", without), ("with", moons)):
    score = adjusted_rand_score(y_true, model.labels_)
    print(f"{name:>8} constraints: adjusted Rand index {score:.2f}")
print(f"{moons.satisfied_:.0%} of the constraints hold")
print(f"level {moons.beta_:.0f}, below {moons.beta_max_:.0f} can be reached")

# %%
# A picture
# ---------


def draw(ax, X, labels, title):
    """Points in the colours of their clusters."""
    colors = np.array(["tab:blue", "tab:orange"])[labels]
    ax.scatter(*X.T, c=colors, s=14, alpha=0.7, linewidths=0)
    ax.set_title(title)
    ax.set_xticks([])
    ax.set_yticks([])
    ax.set_aspect("equal")


figure, axes = plt.subplots(2, 2, figsize=(9, 8), layout="constrained")
for ax, pairs, title in (
    (axes[0, 0], rows, "top and bottom"),
    (axes[0, 1], columns, "left and right"),
):
    draw(ax, X_square, square.fit(X_square, **pairs).labels_, title)
    for name, color in (("must_link", "tab:green"), ("cannot_link", "tab:red")):
        for pair in pairs[name]:
            ax.plot(*X_square[pair].T, color=color, lw=1.5, marker="o", ms=4)

known = y >= 0
for ax, model, title in (
    (axes[1, 0], without, "no constraints"),
    (axes[1, 1], moons, "pairs of 20 labelled rows"),
):
    score = adjusted_rand_score(y_true, model.labels_)
    draw(ax, X_moons, model.labels_, f"{title}: Rand index {score:.2f}")
for k, marker in ((0, "o"), (1, "s")):
    chosen = known & (y_true == k)
    axes[1, 1].scatter(
        *X_moons[chosen].T, marker=marker, s=60, facecolors="none", edgecolors="black"
    )
plt.show()
