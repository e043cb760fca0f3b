"""
Which rows to label next
========================

Labels cost money, so which rows are worth it? A query strategy looks at the model and
at the unlabelled rows and says which labels would help most.
"""

# SPDX-License-Identifier: BSD-3-Clause

# %%
# Where strategies ask
# --------------------
# Two moons and two labels. Random sampling asks anywhere. Margin sampling asks where
# the model is uncertain, often several times at one spot. ``FewLabelsSampling`` looks
# into the ensemble of ``FewLabelsClassifier``: a row counts if many uncertain rows
# depend on it, and every row of a batch takes the others into account.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

from fewlabels import FewLabelsClassifier
from fewlabels.active import (
    ActiveLearner,
    FewLabelsSampling,
    RandomSampling,
    UncertaintySampling,
)
from fewlabels.datasets import hide_labels

X, y_true = make_moons(300, noise=0.12, random_state=0)
y = hide_labels(y_true, n_labeled=2, random_state=3)
strategies = {
    "random": RandomSampling(random_state=0),
    "margin": UncertaintySampling(random_state=0),
    "FewLabelsSampling": FewLabelsSampling(random_state=0),
}
figure, axes = plt.subplots(1, 3, figsize=(12, 3.8), sharey=True, layout="constrained")
for ax, (name, strategy) in zip(axes, strategies.items(), strict=True):
    learner = ActiveLearner(
        FewLabelsClassifier(bank="fast", random_state=0),
        strategy,
        batch_size=4,
        budget=8,
    )
    learner.fit(X, y, oracle=lambda rows: y_true[rows])
    colors = np.array(["tab:blue", "tab:orange"])[learner.transduction_]
    ax.scatter(*X.T, c=colors, s=8, alpha=0.4, lw=0)
    for n, asked in enumerate(learner.history_, start=1):
        ax.scatter(*X[asked.indices].T, c="black", s=60, marker=f"${n}$")
    ax.scatter(*X[y != -1].T, c="red", s=90, marker="*")
    error = np.mean(learner.transduction_ != y_true)
    ax.set_title(f"{name}: {100 * error:.1f} % wrong")
    ax.set_axis_off()
plt.show()

# %%
# Stars are the labels at the start, numbers the rows asked about in rounds 1 and 2.
#
# What it saves
# -------------
# ``learning_curve_labels`` compares strategies with random sampling: the same labels at
# the start, the same rows to test on. Here logistic regression learns digits. The
# dashed line is what random sampling reaches in the end, and triangles show how many
# labels the others need to get there. Not every strategy helps: rows of middle
# certainty are mostly rows that the model knows already.
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression

from fewlabels.active import QueryByCommittee
from fewlabels.model_selection import LabeledOnly, learning_curve_labels
from fewlabels.plotting import LabelCurveDisplay

X, y = load_digits(return_X_y=True)
model = LogisticRegression(C=0.1, max_iter=200)
curve = learning_curve_labels(
    LabeledOnly(model),
    X[:900] / 8,
    y[:900],
    strategies={
        "margin": UncertaintySampling(),
        "votes of a committee": QueryByCommittee(model, measure="vote_entropy"),
        "middle certainty": UncertaintySampling(measure="middle_certainty"),
    },
    n_labels=[20, 40, 60, 80, 120],
    n_queries=10,
    n_repeats=4,
    random_state=0,
)
goal = curve.errors[0, -1, 0].mean()
for name, count in curve.labels_needed(goal).items():
    print(f"{name}: {count:.0f} labels for an error of {100 * goal:.1f} %")
figure, ax = plt.subplots(figsize=(7, 4.5), layout="constrained")
LabelCurveDisplay(curve).plot(ax=ax, reference="random")
plt.show()
