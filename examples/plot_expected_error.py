"""
How honest is the expected error?
=================================

`FewLabelsClassifier` says what error to expect, with an interval of 90 %. Here the
truth is known, so that we can check: twelve draws of 20 labels, and twelve of 50, from
the same 1,797 digits.
"""

# SPDX-License-Identifier: BSD-3-Clause

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.lines import Line2D
from sklearn.datasets import load_digits

from fewlabels import FewLabelsClassifier
from fewlabels.datasets import hide_labels

X, y_true = load_digits(return_X_y=True)
first = hide_labels(y_true, per_class=2, random_state=0)
model = FewLabelsClassifier(bank="fast", random_state=0).fit(X, first)

# %%
# Every vertical line is one draw: the interval, the estimate (a light dash) and the
# true error on the rows without a label (a dot).
figure, axes = plt.subplots(1, 2, figsize=(9, 4), sharey=True, layout="constrained")
for ax, per_class in zip(axes, [2, 5], strict=True):
    inside = 0
    for draw in range(12):
        y = hide_labels(y_true, per_class=per_class, random_state=draw)
        expected = model.refit_labels(y).expected_error_
        error = np.mean((model.transduction_ != y_true)[y == -1])
        inside += expected.low <= error <= expected.high
        ax.vlines(draw, 100 * expected.low, 100 * expected.high, color="tab:blue", lw=5)
        ax.plot(draw, 100 * expected.value, "_", color="white", ms=6, mew=2)
        ax.plot(draw, 100 * error, "o", color="black", ms=6)
    ax.set_title(f"{10 * per_class} labels: {inside} of 12 intervals hold the truth")
    ax.set_xticks([])
    ax.set_xlabel("draws of labels")
axes[0].set_ylabel("error in percent")
figure.legend(
    handles=[
        Line2D([], [], color="tab:blue", lw=5, label="interval of 90 %"),
        Line2D([], [], marker="_", mew=2, color="gray", ls="", label="estimate"),
        Line2D([], [], marker="o", color="black", ls="none", label="true error"),
    ],
    loc="outside lower center",
    ncols=3,
    frameon=False,
)
plt.show()

# %%
# With 20 labels the estimate is off by several points either way, and the interval
# admits it. With 50 labels the interval is half as wide.
