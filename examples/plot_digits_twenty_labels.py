"""
Twenty labels for 1,797 digits
==============================

Twenty of scikit-learn's 1,797 handwritten digits have a label, two per class; the rest
have none. A supervised classifier learns from the twenty alone. The semi-supervised one
also sees how the unlabelled rows lie: it is the same classifier, with a kernel that the
neighbourhood graph of all rows has deformed, so that it prefers functions that change
little between neighbours.
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
print(f"{len(y)} rows, {np.sum(~unlabeled)} labels, {X.shape[1]} features")

# %%
# Supervised
# ----------
# Regularised least squares ignores the unlabelled rows, and chooses its regularisation
# by leaving out one label at a time.
from fewlabels.semi_supervised import RLSClassifier

supervised = RLSClassifier().fit(X, y)

# %%
# Semi-supervised
# ---------------
# With the Laplacian :math:`L` of a neighbourhood graph, the kernel
# :math:`(K^{-1} + \rho L)^{-1} = (I + \rho K L)^{-1} K` belongs to the penalty
# :math:`\|f\|_K^2 + \rho f^\top L f`. None of this needs a label.
from scipy import linalg

from fewlabels.graphs import graph_laplacian, similarity_graph, warn_unreached
from fewlabels.kernels import resolve_kernel

graph = similarity_graph(X, n_neighbors=10)
warn_unreached(graph, ~unlabeled)
L = graph_laplacian(graph)
K = resolve_kernel(X, "rbf", gamma="scale")(X)
K_deformed = linalg.solve(np.eye(len(X)) + 100 * (L @ K).T, K)
K_deformed = (K_deformed + K_deformed.T) / 2  # symmetric up to rounding errors

semi_supervised = RLSClassifier(kernel="precomputed").fit(K_deformed, y)

# %%
# Side by side
# ------------
# One draw of twenty labels may be lucky, so here are ten, each with both errors on the
# rows without a label.


def error(model):
    """Share of unlabelled rows that get a wrong label, in percent."""
    return 100 * np.mean((model.transduction_ != y_true)[model_holes])


print("draw   supervised   semi-supervised")
errors = []
for draw in range(10):
    y_draw = hide_labels(y_true, per_class=2, random_state=draw)
    model_holes = y_draw == -1
    row = [
        error(RLSClassifier().fit(X, y_draw)),
        error(RLSClassifier(kernel="precomputed").fit(K_deformed, y_draw)),
    ]
    errors.append(row)
    print(f"{draw:4d} {row[0]:10.1f} % {row[1]:14.1f} %")
mean = np.mean(errors, axis=0)
print(f"mean {mean[0]:10.1f} % {mean[1]:14.1f} %")

# %%
# A picture
# ---------
# Every dot is a digit, placed by t-SNE (which sees no label either); rings are the
# twenty labelled ones, dark crosses the mistakes of the first draw.
import matplotlib.pyplot as plt
from sklearn.manifold import TSNE

position = TSNE(init="pca", max_iter=500, random_state=0).fit_transform(X)
figure, axes = plt.subplots(1, 2, figsize=(12, 6), layout="constrained")
for ax, model, name in [
    (axes[0], supervised, "supervised: the 20 labels alone"),
    (axes[1], semi_supervised, "semi-supervised: and the other 1,777 rows"),
]:
    wrong = unlabeled & (model.transduction_ != y_true)
    ax.scatter(*position.T, c=y_true, cmap="tab10", s=10, alpha=0.6, linewidths=0)
    ax.scatter(*position[wrong].T, c="black", marker="x", s=24, linewidths=1)
    ax.scatter(
        *position[~unlabeled].T, facecolors="none", edgecolors="black", s=110, lw=1.8
    )
    ax.set_title(f"{name}\n{100 * wrong.sum() / unlabeled.sum():.1f} % wrong")
    ax.set_xticks([])
    ax.set_yticks([])
for digit in range(10):
    x_mid, y_mid = np.median(position[y_true == digit], axis=0)
    for ax in axes:
        ax.text(x_mid, y_mid, digit, fontsize=17, weight="bold", ha="center")

if len(sys.argv) > 1:  # `make demo` names a file
    figure.savefig(sys.argv[1], dpi=110)
    print(f"The picture is in {sys.argv[1]}")
else:
    plt.show()
