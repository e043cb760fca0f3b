"""
A picture found by regression
=============================

Every row is an image, and the target is its inner product with one hidden image. With
fewer rows than pixels, regression on the pixels cannot find it. If the hidden image is
a sum of few outer products, regression on tensors can.
"""

# SPDX-License-Identifier: BSD-3-Clause

# %%
# Two hidden images
# -----------------
# A cross is a sum of two outer products; a butterfly needs more. Images of 20 x 20
# noise are the rows: 400 weights, and only 280 rows, with a tenth of the variance of
# the targets added as noise.
import numpy as np

SIZE, N = 20, 280


def cross():
    """Two bars: rank two."""
    W = np.zeros((SIZE, SIZE))
    W[8:12, 2:18] = W[2:18, 8:12] = 1
    return W


def butterfly():
    """Four wings and a body."""
    y, x = np.mgrid[-1 : 1 : SIZE * 1j, -1 : 1 : SIZE * 1j]
    x = np.abs(x)
    upper = ((x - 0.52) / 0.42) ** 2 + ((y + 0.35) / 0.45) ** 2 < 1
    lower = ((x - 0.38) / 0.32) ** 2 + ((y - 0.45) / 0.38) ** 2 < 1
    body = (x < 0.1) & (np.abs(y) < 0.7)
    return (upper | lower | body).astype(float)


rng = np.random.default_rng(0)
X = rng.normal(size=(N + 1000, SIZE, SIZE))


def targets(W):
    """Inner products with the hidden image, and noise."""
    y = np.tensordot(X, W, 2)
    return y + np.sqrt(0.1) * y.std() * rng.normal(size=y.size)


# %%
# Four regressions
# ----------------
# Ridge regression knows pixels only. ``CPRidgeRegressor`` is told the rank, 2 for the
# cross and 4 for the butterfly; ``CPGroupSparseRegressor`` begins with 8 and prunes.
# The support tensor machine gets nothing but the sign of the target, and has rank one.
from sklearn.linear_model import Ridge

from fewlabels.tensor import (
    CPGroupSparseRegressor,
    CPRidgeRegressor,
    SupportTensorMachine,
)


def pictures(W, rank):
    """Title -> weights of every method, with the error of prediction on new rows."""
    y = targets(W)
    flat = X.reshape(len(X), -1)
    ridge = Ridge(alpha=10.0).fit(flat[:N], y[:N])
    cp = CPRidgeRegressor(rank, alpha=10.0, tol=1e-3).fit(X[:N], y[:N])
    sparse = CPGroupSparseRegressor(8, alpha=500.0, tol=1e-3).fit(X[:N], y[:N])
    sign = SupportTensorMachine(C=0.1, tol=1e-4).fit(X[:N], y[:N] > 0)
    found = {"hidden": W}
    for name, model, rows in (
        ("ridge on pixels", ridge, flat),
        (f"CP ridge, rank {cp.rank_}", cp, X),
        (f"group sparse, rank {sparse.rank_}", sparse, X),
    ):
        score = model.score(rows[N:], y[N:])
        found[f"{name}\n$R^2$ = {score:.2f}"] = model.coef_.reshape(W.shape)
    right = sign.score(X[N:], y[N:] > 0)
    found[f"signs only, rank 1\n{100 * right:.0f} % right"] = sign.coef_[0]
    return found


# %%
# What they see
# -------------
# Weights are scaled to the same largest value.
import matplotlib.pyplot as plt

figure, axes = plt.subplots(2, 5, figsize=(12, 5.4), layout="constrained")
for row, (W, rank) in zip(axes, ((cross(), 2), (butterfly(), 4)), strict=True):
    for ax, (title, weights) in zip(row, pictures(W, rank).items(), strict=True):
        top = np.abs(weights).max()
        ax.imshow(weights, cmap="RdBu_r", vmin=-top, vmax=top)
        ax.set_title(title, fontsize=10)
        ax.set_axis_off()
        if title != "hidden":
            cosine = np.vdot(weights, W) / np.linalg.norm(weights) / np.linalg.norm(W)
            print(f"{title.splitlines()[0]}: cosine with the hidden image {cosine:.2f}")
plt.show()
