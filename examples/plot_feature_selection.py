"""
Which pixels matter
===================

Handwritten digits have 64 pixels each. Which of them are worth keeping? A score of
single features needs labels, and there are only 40. Selectors without labels look at
all digits: one keeps a pixel of each group that says the same, the other those that
keep distances between digits as they are.
"""

# SPDX-License-Identifier: BSD-3-Clause

# %%
# The data
# --------
import numpy as np
from sklearn.datasets import load_digits

from fewlabels.datasets import hide_labels

X, y_true = load_digits(return_X_y=True)
X, y_true = X[:1000] / 16, y_true[:1000]
y = hide_labels(y_true, n_labeled=40, random_state=0)  # -1 = no label

# %%
# Three ways to rank pixels
# -------------------------
# Fisher's score uses the 40 labels. Similarity keeps the more pixels, the smaller `k`
# is. It is told to go by correlation: the compression index, its default, has the unit
# of a variance, and by it a pixel at the border, which is nearly always black, is close
# to all others. Alignment keeps the more pixels, the cheaper they are.
from fewlabels.feature_selection import (
    FeatureSimilaritySelector,
    KernelAlignmentSelector,
    fisher_score,
)

# The score of a pixel that is constant within each of two classes, and differs between
# them, is infinite, as if it could separate them perfectly. A little noise in all
# pixels prevents that.
noise = 0.1 * np.random.default_rng(0).normal(size=X.shape)
scores = fisher_score(X + noise, y)
similarity = FeatureSimilaritySelector(n_neighbors=5, measure="correlation").fit(X)
alignment = KernelAlignmentSelector(alpha=0.5, gamma="median").fit(X)
print(f"similarity keeps {similarity.support_.sum()} pixels of {X.shape[1]}")
print(f"alignment keeps {alignment.support_.sum()}")

# %%
# Does it help?
# -------------
# The nearest of the 40 labelled digits decides, with the pixels of each selector.
# Alignment, which sees no labels, is as good as the score that does: it keeps
# distances. Similarity is no better than chance here, and worse if few pixels are left:
# it drops what could be replaced, which is in the middle of the digits, and keeps the
# border, which is like nothing else.
from sklearn.neighbors import KNeighborsClassifier

known = y >= 0


def accuracy(pixels):
    """Share of right answers on the digits without a label."""
    model = KNeighborsClassifier(1).fit(X[known][:, pixels], y[known])
    return model.score(X[~known][:, pixels], y_true[~known])


counts = [2, 4, 8, 12, 16, 24, 32, 48, 64]
order = np.argsort(-scores)
by_score = [accuracy(order[:count]) for count in counts]
rng = np.random.default_rng(0)
at_random = [
    np.mean([accuracy(rng.permutation(64)[:count]) for _ in range(20)])
    for count in counts
]


def kept(selectors):
    """Count pixels and right answers for several settings of a selector."""
    masks = [selector.fit(X).support_ for selector in selectors]
    return np.array(
        sorted((mask.sum(), accuracy(mask)) for mask in masks if mask.any())
    )


by_similarity = kept(
    FeatureSimilaritySelector(n_neighbors=k, measure="correlation")
    for k in (1, 2, 3, 5, 8, 12, 20, 30)
)
by_alignment = kept(
    KernelAlignmentSelector(alpha=alpha, gamma="median", max_iter=5000)
    for alpha in (0.0, 0.1, 0.2, 0.5, 1.0, 1.5, 2.0, 3.0)
)

# %%
# A picture
# ---------
import matplotlib.pyplot as plt

figure = plt.figure(figsize=(12, 7), layout="constrained")
above, below = figure.subfigures(2, 1, height_ratios=[2, 3])
axes = above.subplots(1, 4)
for ax, values, title in [
    (axes[0], X.mean(axis=0), "mean digit"),
    (axes[1], scores, "Fisher's score, 40 labels"),
    (axes[2], similarity.support_, "similarity, k = 5"),
    (axes[3], alignment.weights_, "alignment, alpha = 0.5"),
]:
    ax.imshow(np.reshape(values, (8, 8)), cmap="viridis")
    ax.set_title(title)
    ax.set_axis_off()
ax = below.subplots()
ax.plot(counts, by_score, marker="o", label="Fisher's score, 40 labels")
ax.plot(*by_alignment.T, marker="^", label="kernel alignment, no labels")
ax.plot(*by_similarity.T, marker="s", label="similarity, no labels")
ax.plot(counts, at_random, marker=".", color="grey", label="random (mean of 20)")
ax.set_xlabel("pixels kept")
ax.set_ylabel("accuracy of the nearest of 40 labelled digits")
ax.legend()
plt.show()
