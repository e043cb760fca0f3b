"""
How honest is the expected error?
=================================

``FewLabelsClassifier`` estimates its own error from the labels it has, with an
interval. Here the truth is known: its error and that of the supervised baseline for 20
to 160 labels, compared with what it expected.
"""

# SPDX-License-Identifier: BSD-3-Clause

# %%
# Several draws of labels
# -----------------------
# The kernels do not depend on the labels and are made once; ``refit_labels`` takes new
# labels for the same rows.
import numpy as np
from sklearn.datasets import load_digits

from fewlabels import FewLabelsClassifier
from fewlabels.datasets import hide_labels

X, y_true = load_digits(return_X_y=True)
X, y_true = X[:700], y_true[:700]
amounts, n_draws = [2, 4, 8, 16], 3  # labels per class

model = None
rows = []
for per_class in amounts:
    for draw in range(n_draws):
        y = hide_labels(y_true, per_class=per_class, random_state=draw)
        if model is None:
            model = FewLabelsClassifier(bank="fast", random_state=0).fit(X, y)
        else:
            model = model.refit_labels(y)
        unlabeled = y == -1
        expected = model.expected_error_
        rows.append(
            [
                10 * per_class,
                np.mean((model.transduction_ != y_true)[unlabeled]),
                np.mean((model.baseline_.predict(X) != y_true)[unlabeled]),
                expected.value,
                expected.low,
                expected.high,
            ]
        )
n_labels, error, supervised, value, low, high = np.array(rows).T

# %%
# Does the interval contain the truth?
# ------------------------------------
# It is meant to do so in about nine of ten cases.
print("labels   automatic   supervised   expected (interval of the first draw)")
for i in range(0, len(rows), n_draws):
    these = slice(i, i + n_draws)
    print(
        f"{n_labels[i]:6.0f} {100 * error[these].mean():9.1f} % "
        f"{100 * supervised[these].mean():10.1f} % {100 * value[i]:9.1f} % "
        f"({100 * low[i]:.1f} to {100 * high[i]:.1f} %)"
    )
held = np.sum((low <= error) & (error <= high))
print(f"The interval held the true error in {held} of {len(rows)} draws.")

# %%
# A picture
# ---------
# Bars are the intervals, one per draw; hollow dots are the expected errors and full
# dots the true ones.
import matplotlib.pyplot as plt

figure, ax = plt.subplots(figsize=(8, 4.5), layout="constrained")
shift = np.tile(np.linspace(0.9, 1.1, n_draws), len(amounts))
place = n_labels * shift
ax.vlines(place, 100 * low, 100 * high, color="tab:blue", alpha=0.3, lw=4)
ax.plot(place, 100 * value, "o", mfc="white", mec="tab:blue", label="expected")
ax.plot(place, 100 * error, "o", color="tab:blue", label="true")
centers = n_labels[::n_draws]
for errors, color, name in (
    (error, "tab:blue", "automatic, mean"),
    (supervised, "tab:orange", "supervised, mean"),
):
    means = 100 * errors.reshape(len(amounts), n_draws).mean(axis=1)
    ax.plot(centers, means, "-", color=color, label=name)
ax.plot(place, 100 * supervised, "o", color="tab:orange", alpha=0.5)
ax.set_xscale("log")
ax.set_xticks(centers, [f"{c:.0f}" for c in centers])
ax.minorticks_off()
ax.set(xlabel="labels", ylabel="error on unlabelled rows, %", ylim=(0, None))
ax.legend()
plt.show()
