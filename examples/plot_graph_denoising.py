"""
Denoising a signal on a graph
=============================

A temperature is measured at 1,000 places on a spiral, with errors as large as the
signal. Places that are neighbours along the spiral have similar temperatures, while the
next winding, not far away, has the opposite one. The graph of nearest neighbours
connects only the former. Smoothing along its edges recovers the signal.
"""

# SPDX-License-Identifier: BSD-3-Clause

# %%
# The signal
# ----------
import numpy as np

rng = np.random.default_rng(0)
angle = np.pi * np.sqrt(rng.uniform(1.5**2, 4.5**2, size=1000))
radius = angle + rng.uniform(-1.3, 1.3, size=angle.size)
X = np.c_[radius * np.cos(angle), radius * np.sin(angle)]
signal = np.cos(1.5 * angle)
noisy = signal + rng.normal(scale=signal.std(), size=signal.size)

# %%
# The graph
# ---------
from fewlabels.graphs import connectivity, graph_fourier, similarity_graph

W = similarity_graph(X, n_neighbors=8, bandwidth="mean")
print(connectivity(W))

# %%
# How much smoothing
# ------------------
# Tikhonov regularisation minimises :math:`\|f - y\|^2 + \alpha f^\top L f`. Too little
# leaves noise, too much leaves the mean.
from fewlabels.graphs import graph_tikhonov


def error(f):
    """Root of the mean squared error, relative to the signal."""
    return np.sqrt(np.mean((f - signal) ** 2)) / signal.std()


alphas = np.logspace(-2, 2, 17)
errors = [error(graph_tikhonov(W, noisy, alpha)) for alpha in alphas]
best = alphas[np.argmin(errors)]
smooth = graph_tikhonov(W, noisy, best)
print(f"noisy {error(noisy):.2f}, smoothed {error(smooth):.2f} at alpha = {best:.2g}")

# %%
# Where the noise is
# ------------------
# White noise has the same energy at all frequencies of the graph, the signal nearly all
# of its energy at the lowest ones: a filter that keeps these is what is wanted. That of
# Tikhonov has the response :math:`1 / (1 + \alpha \lambda)`.
fourier = graph_fourier(W)
clean_energy = fourier.transform(signal) ** 2
noisy_energy = fourier.transform(noisy) ** 2

# %%
# A picture
# ---------
import matplotlib.pyplot as plt

figure = plt.figure(figsize=(12, 8), layout="constrained")
above, below = figure.subfigures(2, 1)
maps = above.subplots(1, 3, subplot_kw={"aspect": "equal"})
left, right = below.subplots(1, 2, gridspec_kw={"wspace": 0.1})
for ax, f, title in [
    (maps[0], signal, "the signal"),
    (maps[1], noisy, f"measured, error {error(noisy):.0%}"),
    (maps[2], smooth, f"smoothed along edges, error {error(smooth):.0%}"),
]:
    ax.scatter(*X.T, c=f, cmap="coolwarm", vmin=-1.2, vmax=1.2, s=12)
    ax.set_title(title)
    ax.set_axis_off()

bins = np.arange(0, 1000, 20)
for energy, name in [(noisy_energy, "measured"), (clean_energy, "the signal")]:
    left.semilogy(bins + 10, np.add.reduceat(energy, bins), label=name)
left.set_xlabel("frequency, by rank")
left.set_ylabel("energy of 20 frequencies")
left.legend(loc="upper right")
left.set_title("The signal lives at low frequencies")
twin = left.twinx()
twin.plot(1 / (1 + best * fourier.eigenvalues), color="grey", linestyle="--")
twin.set_ylim(0, 1.05)
twin.set_ylabel("response of the filter (dashed)")

right.semilogx(alphas, errors, marker="o")
right.axhline(error(noisy), color="grey", linestyle=":", label="measured")
right.set_ylim(0, 1.1)
right.set_xlabel("amount of smoothing, alpha")
right.set_ylabel("error, relative to the signal")
right.legend(loc="lower left")
right.set_title("Smoothing, and too much of it")
plt.show()
