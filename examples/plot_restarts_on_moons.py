"""
One start against many restarts
===============================

Semi-supervised least squares gives the unlabelled rows the labels that fit best. The
search for them climbs, and may end on the wrong hill. This is figure 6 of Gieseke,
Kramer, Airola and Pahikkala, "Speedy local search for semi-supervised regularized
least-squares" (2011): two moons, two labels each, and the parameters of the paper.
"""

# SPDX-License-Identifier: BSD-3-Clause

# %%
# The data
# --------
import numpy as np
from sklearn.datasets import make_moons

from fewlabels.datasets import hide_labels

X, y_true = make_moons(250, noise=0.1, random_state=0)
y = hide_labels(y_true, per_class=2, random_state=0)

# %%
# From one start, and from many
# -----------------------------
# The first start is the supervised prediction. Restarts begin with random labels, and
# cost little: the matrix behind the objective is made once.
from fewlabels.kernels import gamma_from_width, range_width
from fewlabels.semi_supervised import S2RLSClassifier

models = {}
for n_init in (1, 10, 200):
    models[n_init] = S2RLSClassifier(
        gamma=gamma_from_width(0.1 * range_width(X)),
        alpha=2.0**-10,
        unlabeled_weight=0.1,
        balance_tol=0.1,
        n_init=n_init,
        random_state=0,
    ).fit(X, y)

unlabeled = y == -1
for n_init, model in models.items():
    wrong = np.mean((model.transduction_ != y_true)[unlabeled])
    print(
        f"{n_init:3d} runs: objective {model.objective_:.5f}, "
        f"{100 * wrong:.1f} % of the unlabelled rows wrong"
    )

# %%
# A picture
# ---------
import matplotlib.pyplot as plt

x0, x1 = np.meshgrid(np.linspace(-1.5, 2.5, 160), np.linspace(-1.0, 1.5, 120))
positions = np.column_stack([x0.ravel(), x1.ravel()])
figure, axes = plt.subplots(1, 3, figsize=(12, 3.4), layout="constrained")
for ax, (n_init, model) in zip(axes, models.items(), strict=True):
    sides = np.sign(model.decision_function(positions)).reshape(x0.shape)
    ax.contourf(x0, x1, sides, [-2, 0, 2], colors=["#cfe2f3", "#f9d9c8"])
    for c, color, shape in ((0, "tab:blue", "^"), (1, "tab:red", "s")):
        given, found = y == c, unlabeled & (model.transduction_ == c)
        ax.scatter(*X[found].T, s=9, color=color, linewidths=0)
        ax.scatter(*X[given].T, s=90, color=color, marker=shape, edgecolors="black")
    name = f"{n_init} starts" if n_init > 1 else "one start"
    ax.set_title(f"{name}: F = {model.objective_:.4f}")
    ax.set_xticks([])
    ax.set_yticks([])
plt.show()

# %%
# The search looks for a lower objective, and the objective measures nothing but how
# well labels and rows fit. Whether the best fit is also right depends on the data.
