"""
What labels are worth, and what unlabelled rows are worth
=========================================================

Before asking for more labels it helps to know what they would bring, and how much of
that the unlabelled rows give for free. Three classifiers learn digits from 10 to 160
labels: one that also uses the unlabelled rows, and two that use the labelled ones only.
"""

# SPDX-License-Identifier: BSD-3-Clause

# %%
# Error against labels
# --------------------
# In every repetition a third of the digits is set aside to test on, a few others keep
# their label, and the rest lose it. ``LabeledOnly`` lets a supervised classifier from
# scikit-learn, which cannot handle unlabelled rows, take part. In the picture below,
# bands are one standard error of the mean over repetitions.
import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.semi_supervised import LabelSpreading

from fewlabels.model_selection import LabeledOnly, learning_curve_labels
from fewlabels.plotting import ComparisonDisplay, LabelCurveDisplay
from fewlabels.semi_supervised import RLSClassifier

X, y = load_digits(return_X_y=True)
X = X / 16
models = {
    "label spreading": LabelSpreading(gamma=10),
    "RLSClassifier": RLSClassifier(),
    "logistic regression": LabeledOnly(LogisticRegression(C=10)),
}
curve = learning_curve_labels(
    models, X, y, n_labels=[10, 20, 40, 80, 160], n_repeats=5, random_state=0
)
print(curve)

# %%
# Error against unlabelled rows
# -----------------------------
# With the same labels, only the number of unlabelled rows grows. This does not matter
# to the supervised classifiers, so one curve is enough.
by_rows = learning_curve_labels(
    {"label spreading": models["label spreading"]},
    X,
    y,
    n_labels=[20, 80],
    n_unlabeled=[0, 50, 100, 200, 400, 800],
    n_repeats=5,
    random_state=0,
)
figure, axes = plt.subplots(1, 2, figsize=(11, 4.5), sharey=True, layout="constrained")
LabelCurveDisplay(curve).plot(ax=axes[0])
LabelCurveDisplay(by_rows).plot("unlabeled", ax=axes[1])
axes[1].set_ylabel("")
plt.show()

# %%
# Is the difference real?
# -----------------------
# Fifteen draws of 20 labels, the same for all: every dot is a draw, and the bar says
# how far the mean difference from the supervised baseline can be trusted. Here the rows
# to test on stay in training, without their label, as they would in practice.
from fewlabels.model_selection import LabelShuffleSplit, compare

comparison = compare(
    models,
    X,
    y,
    cv=LabelShuffleSplit(15, n_labeled=20, random_state=0),
    reference="RLSClassifier",
)
print(comparison)
figure, ax = plt.subplots(figsize=(8, 3), layout="constrained")
ComparisonDisplay(comparison).plot(ax=ax)
plt.show()
