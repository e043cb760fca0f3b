"""Draw the picture of the README: ``python docs/draw_readme.py``."""

# SPDX-License-Identifier: BSD-3-Clause

from pathlib import Path

import matplotlib

matplotlib.use("agg")
import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.manifold import TSNE

from fewlabels import FewLabelsClassifier
from fewlabels.datasets import hide_labels

OUT = Path(__file__).parent / "_static" / "digits.png"


def draw():
    """Draw the first example of the README, without and with fewlabels."""
    X, y_true = load_digits(return_X_y=True)
    y = hide_labels(y_true, per_class=2, random_state=0)
    unlabeled = y == -1
    model = FewLabelsClassifier(random_state=0).fit(X, y)
    position = TSNE(init="pca", max_iter=500, random_state=0).fit_transform(X)

    figure, axes = plt.subplots(1, 2, figsize=(10, 5), layout="constrained")
    for ax, answers, name in (
        (axes[0], model.baseline_.predict(X), "the 20 labels alone"),
        (axes[1], model.transduction_, "FewLabelsClassifier"),
    ):
        wrong = unlabeled & (answers != y_true)
        ax.scatter(*position.T, c=y_true, cmap="tab10", s=9, alpha=0.6, linewidths=0)
        ax.scatter(*position[wrong].T, c="black", marker="x", s=20, linewidths=0.9)
        ax.scatter(
            *position[~unlabeled].T,
            facecolors="none",
            edgecolors="black",
            s=110,
            lw=1.6,
        )
        ax.set_title(f"{name}: {100 * wrong.sum() / unlabeled.sum():.1f} % wrong")
        ax.axis("off")
    return figure


if __name__ == "__main__":
    OUT.parent.mkdir(exist_ok=True)
    draw().savefig(OUT, dpi=80, metadata={"Software": None})
