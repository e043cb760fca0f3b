"""
Denoising a signal on a graph
=============================

A temperature is measured at 1,500 places on a rolled-up sheet, with errors as large as
the signal. Places that are neighbours on the sheet have similar temperatures; the graph
of neighbours knows them, straight distances through the roll do not matter to it.
Smoothing along its edges recovers the signal.
"""

# SPDX-License-Identifier: BSD-3-Clause

# %%
# The signal
# ----------
import numpy as np
from sklearn.datasets import make_swiss_roll

X, along = make_swiss_roll(1500, random_state=0)
rng = np.random.default_rng(0)
signal = np.sin(along) * np.cos(X[:, 1] / 8)
noisy = signal + rng.normal(scale=signal.std(), size=signal.size)

# %%
# The graph
# ---------
from fewlabels.graphs import connectivity, graph_fourier, similarity_graph

W = similarity_graph(X, n_neighbors=8)
print(connectivity(W))

# %%
# How much smoothing
# ------------------
# Tikhonov regularisation minimises :math:`\|f - y\|^2 + \gamma f^\top L f`. Too little
# leaves noise, too much leaves the mean.
from fewlabels.graphs import graph_tikhonov


def error(f):
    """Root of the mean squared error, relative to the signal."""
    return np.sqrt(np.mean((f - signal) ** 2)) / signal.std()


gammas = np.logspace(-2, 2, 17)
errors = [error(graph_tikhonov(W, noisy, gamma)) for gamma in gammas]
best = gammas[np.argmin(errors)]
smooth = graph_tikhonov(W, noisy, best)
print(f"noisy {error(noisy):.2f}, smoothed {error(smooth):.2f} at gamma = {best:.2g}")

# %%
# Where the noise is
# ------------------
# White noise has the same energy at all frequencies of the graph, the signal nearly all
# of its energy at the lowest ones: a filter that keeps these is what is wanted. That of
# Tikhonov has the response :math:`1 / (1 + \gamma \lambda)`.
fourier = graph_fourier(W)
clean_energy = fourier.transform(signal) ** 2
noisy_energy = fourier.transform(noisy) ** 2

# %%
# A picture
# ---------
import matplotlib.pyplot as plt

figure = plt.figure(figsize=(13, 8), layout="constrained")
top = [figure.add_subplot(2, 3, k + 1, projection="3d") for k in range(3)]
for ax, f, title in [
    (top[0], signal, "the signal"),
    (top[1], noisy, f"measured, error {error(noisy):.0%}"),
    (top[2], smooth, f"smoothed along edges, error {error(smooth):.0%}"),
]:
    ax.scatter(*X[:, [0, 2, 1]].T, c=f, cmap="coolwarm", vmin=-1, vmax=1, s=10, alpha=1)
    ax.view_init(elev=55, azim=-70)
    ax.set_title(title)
    ax.set_axis_off()

ax = figure.add_subplot(2, 2, 3)
bins = np.arange(0, 1500, 25)
middle = bins + 12.5
for energy, name in [(noisy_energy, "measured"), (clean_energy, "the signal")]:
    ax.semilogy(middle, np.add.reduceat(energy, bins), label=name)
ax.set_xlabel("frequency, by rank")
ax.set_ylabel("energy of 25 frequencies")
right = ax.twinx()
right.plot(1 / (1 + best * fourier.eigenvalues), color="grey", linestyle="--")
right.set_ylim(0, 1.05)
right.set_ylabel("response of the filter (dashed)")
ax.legend(loc="upper right")
ax.set_title("The signal lives at low frequencies")

ax = figure.add_subplot(2, 2, 4)
ax.semilogx(gammas, errors, marker="o")
ax.axhline(error(noisy), color="grey", linestyle=":", label="measured")
ax.set_ylim(0, 1.1)
ax.set_xlabel("amount of smoothing, gamma")
ax.set_ylabel("error, relative to the signal")
ax.legend(loc="lower right")
ax.set_title("Smoothing, and too much of it")
plt.show()
