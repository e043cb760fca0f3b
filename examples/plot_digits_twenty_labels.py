"""
Twenty labels for 1,797 digits
==============================

Two of each of scikit-learn's handwritten digits have a label, 20 of 1,797 rows. A
supervised classifier learns from those twenty only. `FewLabelsClassifier` also looks
at where the other 1,777 rows lie: which are neighbours, and which form clusters.
"""

# SPDX-License-Identifier: BSD-3-Clause

# %%
# The data
# --------
# -1 marks a row without a label.
import sys

import numpy as np
from sklearn.datasets import load_digits

from fewlabels.datasets import hide_labels

X, y_true = load_digits(return_X_y=True)
y = hide_labels(y_true, per_class=2, random_state=0)
unlabeled = y == -1
print(f"{len(y)} rows, {np.sum(~unlabeled)} of them with a label")

# %%
# One call
# --------
# There is no method to choose and no parameter to set. `baseline_` is the best
# supervised model from the same labels, so that you can see what the unlabelled rows
# were worth. scikit-learn's `LabelSpreading` learns from unlabelled rows as well. Its
# setting is the best of 21 by the true error over the draws below, which nobody would
# know in practice.
from sklearn.semi_supervised import LabelSpreading

from fewlabels import FewLabelsClassifier

model = FewLabelsClassifier(random_state=0).fit(X, y)
spreading = LabelSpreading(kernel="knn", n_neighbors=7, alpha=0.8, max_iter=300)
predictions = {
    "supervised": model.baseline_.predict(X),
    "LabelSpreading, tuned": spreading.fit(X / 16, y).transduction_,
    "FewLabelsClassifier": model.transduction_,
}
print(model.explain())

# %%
# Ten draws
# ---------
# One draw of twenty labels may be lucky, so here are ten. What was learned about the
# rows stays; only the labels change, which `refit_labels` does in a moment.
print("\nError on the rows without a label")
print("draw        supervised   LabelSpreading   FewLabelsClassifier")
errors = []
for draw in range(10):
    y_draw = hide_labels(y_true, per_class=2, random_state=draw)
    hidden = y_draw == -1
    redrawn = model.refit_labels(y_draw, estimate_error=False)
    labels = [
        redrawn.baseline_.predict(X),
        spreading.fit(X / 16, y_draw).transduction_,
        redrawn.transduction_,
    ]
    errors.append([100 * np.mean((found != y_true)[hidden]) for found in labels])
    print("{:4d} {:15.1f} % {:14.1f} % {:19.1f} %".format(draw, *errors[-1]))
print("mean {:15.1f} % {:14.1f} % {:19.1f} %".format(*np.mean(errors, axis=0)))

# %%
# A picture
# ---------
# Every dot is a digit, placed by t-SNE (which sees no label either) and coloured by
# its true class.
import matplotlib.pyplot as plt
from sklearn.manifold import TSNE

position = TSNE(init="pca", max_iter=500, random_state=0).fit_transform(X)
figure, axes = plt.subplots(1, 3, figsize=(15, 5.5), layout="constrained")
for ax, (name, labels) in zip(axes, predictions.items(), strict=True):
    wrong = unlabeled & (labels != y_true)
    ax.scatter(*position.T, c=y_true, cmap="tab10", s=10, alpha=0.6, linewidths=0)
    mistakes = ax.scatter(*position[wrong].T, c="black", marker="x", s=24, linewidths=1)
    rings = ax.scatter(
        *position[~unlabeled].T, facecolors="none", edgecolors="black", s=110, lw=1.8
    )
    ax.set_title(f"{name}: {100 * wrong.sum() / unlabeled.sum():.1f} % wrong")
    ax.set_axis_off()
    for digit in range(10):
        middle = np.median(position[y_true == digit], axis=0)
        ax.text(*middle, digit, fontsize=17, weight="bold", ha="center")
dot = plt.Line2D([], [], marker="o", linestyle="none", color="tab:gray", markersize=4)
figure.legend(
    [rings, dot, mistakes],
    ["has a label (20)", "has none; colour: true digit", "labelled wrongly"],
    loc="outside lower center",
    ncols=3,
    frameon=False,
)

if len(sys.argv) > 1:  # `make demo` names a file
    figure.savefig(sys.argv[1], dpi=110)
    print(f"The picture is in {sys.argv[1]}")
else:
    plt.show()
