"""
Boosting continues when nothing is wrong any more
=================================================

Boosting fits one weak classifier after another, each to what the sum of the others gets
wrong. On clean training rows the error is soon zero, and the error on new rows does not
rise afterwards: the rounds that follow widen the *margins*. With wrong labels among the
training rows it does rise, as these are memorised.
"""

# SPDX-License-Identifier: BSD-3-Clause

# %%
# The data
# --------
# Ten features, two classes inside and outside a sphere: no single feature says much,
# but a sum of trees with two leaves can say it all.
import numpy as np


def draw(n, rng):
    """Rows, and whether they lie outside of the sphere that halves them."""
    X = rng.normal(size=(n, 10))
    return X, ((X**2).sum(axis=1) > 9.34).astype(int)


rng = np.random.default_rng(0)
X, y = draw(400, rng)
X_test, y_test = draw(2000, rng)

# %%
# Errors round by round
# ---------------------
# LogitBoost lowers the log-loss, Gentle AdaBoost the exponential one by bounded steps,
# AdaBoost by full ones.
from sklearn.ensemble import AdaBoostClassifier

from fewlabels.ensemble import GentleAdaBoostClassifier, LogitBoostClassifier

ROUNDS = 200
BOOSTERS = {
    "LogitBoost": LogitBoostClassifier,
    "Gentle AdaBoost": GentleAdaBoostClassifier,
    "AdaBoost": AdaBoostClassifier,
}


def errors(model, X, y):
    """Error after every round, in percent."""
    return [
        100 * np.mean((F > 0) != (y == 1)) for F in model.staged_decision_function(X)
    ]


def curves(labels):
    """Errors on training and test rows of all boosters, and the boosters."""
    models = {
        name: booster(n_estimators=ROUNDS, random_state=0).fit(X, labels)
        for name, booster in BOOSTERS.items()
    }
    return {
        name: (errors(model, X, labels), errors(model, X_test, y_test))
        for name, model in models.items()
    }, models


clean, models = curves(y)
wrong = rng.random(400) < 0.15
noisy, _ = curves(np.where(wrong, 1 - y, y))
for title, found in (("clean labels", clean), ("15 % wrong labels", noisy)):
    for name, (_, test) in found.items():
        print(
            f"{title}, {name}: test error {test[-1]:.1f} % after {ROUNDS} rounds, "
            f"at best {min(test):.1f} %"
        )

# %%
# Margins
# -------
# The margin of a row is y F(x), with F scaled so that its largest value on the training
# rows is one. Rows to the right of zero are right, and far to the right they are safe.
# The lowest margins go on growing after the training error has come down.
import matplotlib.pyplot as plt

figure, axes = plt.subplots(1, 3, figsize=(13, 4.2), layout="constrained")
for ax, (title, found) in zip(
    axes, (("Clean labels", clean), ("15 % wrong labels", noisy)), strict=False
):
    for color, (name, (train, test)) in zip(
        ("tab:blue", "tab:orange", "tab:green"), found.items(), strict=True
    ):
        ax.plot(test, color=color, label=name)
        ax.plot(train, color=color, linestyle=":")
    ax.set(title=title, xlabel="round", ylabel="error, %", ylim=(0, 50))
axes[0].plot([], [], color="gray", linestyle=":", label="on the training rows")
axes[0].legend(loc="upper right")

ax = axes[2]
stages = list(models["LogitBoost"].staged_decision_function(X))
for n_rounds, color in ((5, "0.75"), (40, "0.5"), (200, "black")):
    F = stages[n_rounds - 1] * (2 * y - 1)
    margins = np.sort(F / np.abs(F).max())
    ax.plot(margins, np.linspace(0, 100, margins.size), color=color, label=n_rounds)
ax.axvline(0, color="gray", linewidth=0.8)
ax.set(title="Margins of LogitBoost", xlabel="margin", ylabel="rows below, %")
ax.legend(title="rounds")
plt.show()
