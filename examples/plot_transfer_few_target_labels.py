"""
Labels from elsewhere: few in the target
========================================

Many labels of a source, and a few of the target. Either some rows of the source follow
another rule, and boosting finds out which; or every domain has its own rule, and the
rules have something in common.
"""

# SPDX-License-Identifier: BSD-3-Clause

# %%
# A source of which a part misleads
# ---------------------------------
# Ten features. Where the first is small, the source has the opposite labels. The share
# of such rows was chosen so that boosting helps: with more of them (below -0.3), it was
# hardly better than using only the target: 0.836 and 0.828.
import numpy as np

rng = np.random.default_rng(0)
rule = np.array([0.0, *rng.normal(size=9)])
X_source, X_target = rng.normal(size=(400, 10)), rng.normal(size=(1000, 10))
y_source, y_target = ((X @ rule > 0).astype(int) for X in (X_source, X_target))
misleads = X_source[:, 0] < -0.7
y_source[misleads] = 1 - y_source[misleads]
few = np.where(np.arange(1000) < 20, y_target, -1)

# %%
# TrAdaBoost
# ----------
# Every round the rows of the source that the classifier gets wrong lose weight, and
# those of the target gain. The later half of the rounds votes.
from sklearn.linear_model import LogisticRegression

from fewlabels.transfer import TrAdaBoostClassifier, stack_domains

X, y, sample_domain = stack_domains(X_source, y_source, X_target, few)
boosted = TrAdaBoostClassifier(LogisticRegression(), n_estimators=30, random_state=0)
boosted.fit(X, y, sample_domain=sample_domain)
rows = few >= 0
linear = LogisticRegression()
scores = {
    "source only": linear.fit(X_source, y_source).score(X_target, y_target),
    "target only": linear.fit(X_target[rows], few[rows]).score(X_target, y_target),
    "both pooled": linear.fit(X[y >= 0], y[y >= 0]).score(X_target, y_target),
    "TrAdaBoost": boosted.score(X_target, y_target),
}
for name, score in scores.items():
    print(f"{name:12s} {score:.3f} right")

# %%
# Rules with something in common
# ------------------------------
# Forty features, and twenty labels of the target. The source shows the direction that
# matters; feature augmentation and alternating structure optimisation use it, each in
# its way. The target has its threshold elsewhere.
from fewlabels.transfer import ASOClassifier, FeatureAugmentation

rule = rng.normal(size=40)
A, B = rng.normal(size=(600, 40)), rng.normal(size=(1000, 40))
a = (A @ rule > 0).astype(int)
b = (B @ rule > 4).astype(int)
hidden = np.where(np.arange(1000) < 20, b, -1)
both, labels, sample_domain_2 = stack_domains(A, a, B, hidden)

aso = ASOClassifier().fit(both, labels, sample_domain=sample_domain_2)
augmentation = FeatureAugmentation().fit(both, sample_domain=sample_domain_2)
copies = augmentation.transform(both, sample_domain=sample_domain_2)
linear = LogisticRegression().fit(copies[labels >= 0], labels[labels >= 0])
linear_scores = {
    "source only": LogisticRegression().fit(A, a).score(B, b),
    "target only": LogisticRegression().fit(B[:20], b[:20]).score(B, b),
    "feature augmentation": linear.score(augmentation.transform(B), b),
    "ASO": aso.score(B, b),
}
for name, score in linear_scores.items():
    print(f"{name:20s} {score:.3f} right")

# %%
# A picture
# ---------
# Weights of the rows of the source after the last round. Most of those that mislead,
# left of the dotted line, have lost theirs.
import matplotlib.pyplot as plt

figure, axes = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
weights = boosted.sample_weights_[:400]
axes[0].scatter(X_source[:, 0], weights / weights.max(), s=12)
axes[0].axvline(-0.7, color="gray", linestyle=":")
axes[0].set(xlabel="first feature", ylabel="weight", title="rows of the source")
names = [*scores, "", *linear_scores]
values = [*scores.values(), 0, *linear_scores.values()]
axes[1].barh(range(len(names)), values[::-1], color="tab:gray")
axes[1].set_yticks(range(len(names)), names[::-1])
axes[1].set(xlim=(0.5, 1), xlabel="right on the target")
axes[1].set_title("a source that misleads; rules in common")
plt.show()
