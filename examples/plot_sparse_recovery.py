"""
Recovering a sparse signal from few measurements
================================================

A signal of 1,000 numbers, 25 of which are spikes, is measured by 250 random sums of its
entries, with some noise. There are four unknowns for each equation, so that least
squares cannot tell spikes from the rest. A penalty on the sum of absolute values can.
"""

# SPDX-License-Identifier: BSD-3-Clause

# %%
# The measurements
# ----------------
import numpy as np

rng = np.random.default_rng(0)
n, d, n_spikes = 250, 1000, 25
signal = np.zeros(d)
signal[rng.choice(d, n_spikes, replace=False)] = rng.choice([-1, 1], n_spikes)
A = np.asfortranarray(rng.normal(size=(n, d)) / np.sqrt(n))
y = A @ signal + 0.02 * rng.normal(size=n)

# %%
# Three reconstructions
# ---------------------
# Least squares of smallest norm spreads every spike over all entries. Gradient
# projection finds the spikes, each a bit too small: that is what the penalty does.
# Least squares on the entries it found ("debiasing") brings them back to size.
from fewlabels.regression import gpsr

alpha = 0.1 * np.abs(A.T @ y).max() / n
shortest = np.linalg.lstsq(A, y)[0]
sparse = gpsr(A, y, alpha)
debiased = gpsr(A, y, alpha, debias=True)


def error(x):
    """Length of the error, relative to the signal."""
    return np.linalg.norm(x - signal) / np.linalg.norm(signal)


for name, x in [
    ("shortest least squares", shortest),
    ("gradient projection", sparse.coef),
    ("debiased", debiased.coef),
]:
    print(f"{name}: error {error(x):.0%}, {np.count_nonzero(x)} entries")

# %%
# How fast
# --------
# The less the penalty weighs, the more steps it takes. Steps by the rule of Barzilai
# and Borwein are long where the objective is flat; they need it to rise now and then,
# and if it must fall all the time, little of that is left. The search ends by the
# duality gap, which bounds how far the objective is above its least value.
light = 0.03 * alpha
best = gpsr(A, y, light, tol=1e-12, max_iter=100_000).objective
runs = {
    "basic": {"variant": "basic"},
    "Barzilai-Borwein, always falls": {"monotone": True},
    "Barzilai-Borwein, may rise": {},
}
histories = {
    name: gpsr(A, y, light, tol=1e-7, **params).objectives
    for name, params in runs.items()
}

# %%
# A picture
# ---------
import matplotlib.pyplot as plt

figure = plt.figure(figsize=(11, 9), layout="constrained")
left, right = figure.subfigures(1, 2, width_ratios=[3, 2])
panels = [
    (signal, f"the signal: {n_spikes} spikes in {d} entries"),
    (shortest, f"shortest least squares from {n} sums, error {error(shortest):.0%}"),
    (sparse.coef, f"gradient projection, error {error(sparse.coef):.0%}"),
    (debiased.coef, f"debiased, error {error(debiased.coef):.0%}"),
]
axes = left.subplots(len(panels), 1, sharex=True, sharey=True)
for ax, (x, title) in zip(axes, panels, strict=True):
    ax.vlines(np.arange(d), 0, x, color="C0", linewidth=1)
    ax.axhline(0, color="grey", linewidth=0.5)
    ax.set_title(title)
axes[-1].set_xlabel("entry")

ax = right.subplots()
for name, history in histories.items():
    ax.semilogy(np.maximum(history - best, 1e-12), label=name)
ax.set_xlim(0, 2000)
ax.set_ylim(1e-8, None)
ax.set_xlabel("steps")
ax.set_ylabel("objective above the least value")
ax.set_title("With a penalty of 3 % of that weight")
ax.legend()
plt.show()
