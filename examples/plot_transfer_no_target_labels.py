"""
Labels from elsewhere: none in the target
=========================================

All labels are from a source; the rows to be classified, the target, follow another
distribution. Transfer component analysis looks for features in which the two domains
agree, without any label, and the classifier learns there.
"""

# SPDX-License-Identifier: BSD-3-Clause

# %%
# Two domains
# -----------
# The classes differ in the first two features. In the target both of them are shifted,
# along the diagonal.
import numpy as np

from fewlabels.transfer import mmd_squared, stack_domains

rng = np.random.default_rng(0)
y_source, y_target = rng.integers(2, size=200), rng.integers(2, size=200)
direction = np.array([1.0, -1.0])
X_source = np.outer(2 * y_source - 1, direction) + 0.7 * rng.normal(size=(200, 2))
X_target = np.outer(2 * y_target - 1, direction) + 0.7 * rng.normal(size=(200, 2))
X_target += [4.0, 1.0]

X, y, sample_domain = stack_domains(X_source, y_source, X_target)  # no label there
print("labels:", np.unique(y), "domains:", np.unique(sample_domain))
print(f"squared discrepancy: {mmd_squared(X_source, X_target):.3f}")

# %%
# Source only, and with transfer
# ------------------------------
# `LabeledOnly` lets a classifier learn from the labelled rows of a table that has
# others too.
from sklearn.linear_model import LogisticRegression

from fewlabels.model_selection import LabeledOnly
from fewlabels.transfer import TransferComponentAnalysis

alone = LogisticRegression().fit(X_source, y_source)
print(f"source only: {alone.score(X_target, y_target):.2f} right")

tca = TransferComponentAnalysis(n_components=1, alpha=1e-3, kernel="linear")
Z = tca.fit_transform(X, sample_domain=sample_domain)
Z /= Z.std()  # the components have a scale of their own
model = LabeledOnly(LogisticRegression()).fit(Z, y)
print(f"with the transfer component: {model.score(Z[200:], y_target):.2f} right")
print(f"squared discrepancy there: {mmd_squared(Z[:200], Z[200:]):.4f}")

# %%
# A picture
# ---------
# Left the rows, with the border that the source alone suggests. Right the transfer
# component: the domains overlap, and so do their classes.
import matplotlib.pyplot as plt

figure, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
for domain, rows, labels, marker in (
    ("source", X_source, y_source, "o"),
    ("target", X_target, y_target, "^"),
):
    for k, color in enumerate(("tab:blue", "tab:orange")):
        axes[0].scatter(
            *rows[labels == k].T,
            s=15,
            marker=marker,
            color=color,
            alpha=0.6,
            label=f"{domain}, class {k}",
        )
w, b = alone.coef_[0], alone.intercept_[0]
horizontal = np.array([-3.0, 5.0])
axes[0].plot(horizontal, -(w[0] * horizontal + b) / w[1], "k--", label="source only")
axes[0].set(title="rows", xlabel="feature 1", ylabel="feature 2", ylim=(-4, 5))
axes[0].legend(fontsize=8)

bins = np.linspace(Z.min(), Z.max(), 30)
for k, color in enumerate(("tab:blue", "tab:orange")):
    axes[1].hist(Z[:200][y_source == k, 0], bins, color=color, alpha=0.4)
    axes[1].hist(
        Z[200:][y_target == k, 0], bins, color=color, histtype="step", linewidth=2
    )
axes[1].set(title="filled: source, outlined: target", xlabel="transfer component")
plt.show()
