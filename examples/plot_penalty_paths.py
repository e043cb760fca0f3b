"""
What penalties do to coefficients
=================================

Six features, of which the first two are nearly copies of each other and the last two
are noise. Every panel shows the coefficients of one penalty as its weight grows, to the
right. All minimise least squares plus the penalty.
"""

# SPDX-License-Identifier: BSD-3-Clause

# %%
# The data
# --------
import numpy as np

rng = np.random.default_rng(0)
n = 100
X = rng.normal(size=(n, 6))
X[:, 1] = X[:, 0] + 0.1 * rng.normal(size=n)
X = (X - X.mean(axis=0)) / X.std(axis=0)
truth = np.array([2.0, 2.0, -3.0, 0.5, 0.0, 0.0])
y = X @ truth + rng.normal(size=n)
names = [
    "first (2)",
    "its copy (2)",
    "third (-3)",
    "fourth (0.5)",
    "noise",
    "more noise",
]

# %%
# The penalties
# -------------
# The lasso does not care how the weight is shared between the copies, and what it
# gives to one it takes from the other; ridge shares it evenly, but drops nothing. The
# bridge is in between: small coefficients nearly vanish. Berhu drops the noise as the
# lasso does and shares weights above the knee as ridge does. The group lasso keeps or
# drops pairs as a whole. The garrote shrinks least squares by factors, and hardly
# shrinks what is large.
from sklearn.linear_model import Lasso, Ridge

from fewlabels.regression import (
    BerhuRegressor,
    BridgeRegression,
    GroupLasso,
    NonNegativeGarrote,
)

alphas = np.logspace(-2.5, 1.0, 40)
models = {
    "lasso": lambda a: Lasso(a, tol=1e-8, max_iter=100_000),
    "ridge": lambda a: Ridge(n * a),
    "bridge, power 1.3": lambda a: BridgeRegression(a, gamma=1.3),
    "berhu, knee at 1": lambda a: BerhuRegressor(a, delta=1.0),
    "group lasso, pairs": lambda a: GroupLasso(a, groups=[0, 0, 1, 1, 2, 2]),
    "non-negative garrote": lambda a: NonNegativeGarrote(a),
}
paths = {
    name: np.array([make(a).fit(X, y).coef_ for a in alphas])
    for name, make in models.items()
}

# %%
# A picture
# ---------
import matplotlib.pyplot as plt

figure, axes = plt.subplots(
    2, 3, figsize=(12, 7), sharex=True, sharey=True, layout="constrained"
)
styles = ["-", "--", "-", "-", ":", ":"]
for ax, (name, path) in zip(axes.flat, paths.items(), strict=True):
    for j, (label, style) in enumerate(zip(names, styles, strict=True)):
        ax.semilogx(alphas, path[:, j], style, color=f"C{j}", label=label, linewidth=2)
    ax.axhline(0, color="grey", linewidth=0.5)
    ax.set_title(name)
for ax in axes[1]:
    ax.set_xlabel("weight of the penalty, alpha")
for ax in axes[:, 0]:
    ax.set_ylabel("coefficient")
figure.legend(
    *axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=6
)
plt.show()
