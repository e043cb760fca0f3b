"""
A background behind moving things
=================================

The frames of a camera that does not move are nearly the same picture again and again:
as rows of a matrix they have low rank, also where the light changes. What moves covers
few pixels of each frame, but covers them completely: gross errors, in unknown places.
Robust PCA takes the two apart.
"""

# SPDX-License-Identifier: BSD-3-Clause

# %%
# A film
# ------
# 80 frames of 40 x 60 pixels: a wall with a window, whose light goes slowly up and down
# while the wall's stays as it is, and two balls that cross it. A little noise is on all
# pixels.
import numpy as np

rng = np.random.default_rng(0)
n_frames, height, width = 80, 40, 60
rows, columns = np.mgrid[:height, :width]
wall = 0.35 + 0.1 * np.cos(columns / 4.0) + 0.002 * rows
window = ((rows - 14) ** 2 < 70) & ((columns - 42) ** 2 < 90)
light = 0.35 + 0.25 * np.sin(2 * np.pi * np.arange(n_frames) / 60)
background = wall + light[:, None, None] * window


def ball(t, start, speed, radius):
    """Where a ball is at a time."""
    center_row, center_column = start[0] + speed[0] * t, start[1] + speed[1] * t
    return (rows - center_row) ** 2 + (columns - center_column) ** 2 < radius**2


film = background.copy()
moving = np.zeros(film.shape, dtype=bool)
for t in range(n_frames):
    for start, speed, radius, shade in [
        ((28, -6), (0, 0.9), 5, 0.95),
        ((-6, 50), (0.65, -0.25), 4, 0.05),
    ]:
        where = ball(t, start, speed, radius)
        film[t][where] = shade
        moving[t] |= where
noise = 0.01
film += noise * rng.normal(size=film.shape)

# %%
# Taking it apart
# ---------------
# One row per frame. The noise on all pixels has a known size, which gives the
# `relaxation`: what is smaller than the noise goes into neither part. PCA with
# the same rank has to share the balls among all frames. The wall and the light of the
# window make rank 2; the third singular value is next to nothing.
from sklearn.decomposition import PCA

from fewlabels.decomposition import robust_pca

D = film.reshape(n_frames, -1)
result = robust_pca(D, relaxation=noise * np.sqrt(2 * max(D.shape)), random_state=0)
rank = result.components.shape[0]
pca = PCA(rank).fit(D)
by_pca = pca.inverse_transform(pca.transform(D)).reshape(film.shape)
by_robust_pca = result.low_rank.reshape(film.shape)
print(f"rank {rank} after {result.n_iter} steps, {result.n_full_svd} full SVDs")
print("singular values:", result.singular_values.round(2))


def error(estimate):
    """Root mean squared error of the background."""
    return np.sqrt(np.mean((estimate - background) ** 2))


print(f"error of the background: {error(by_pca):.3f} by PCA", end=", ")
print(f"{error(by_robust_pca):.3f} by robust PCA")
found = np.abs(result.sparse.reshape(film.shape)) > 0.05
print(f"{np.mean(found[moving]):.0%} of the pixels of the balls are found,", end=" ")
print(f"{np.mean(moving[found]):.0%} of those found are of the balls")

# %%
# A picture
# ---------
import matplotlib.pyplot as plt

frames = [20, 42, 64]
figure, axes = plt.subplots(len(frames), 4, figsize=(11, 6), layout="constrained")
for row, t in zip(axes, frames, strict=True):
    errors = result.sparse.reshape(film.shape)[t]
    for ax, image, title in [
        (row[0], film[t], "a frame"),
        (row[1], by_pca[t], f"PCA, rank {rank}"),
        (row[2], by_robust_pca[t], "robust PCA: low rank"),
        (row[3], errors, "robust PCA: sparse"),
    ]:
        signed = image is errors
        ax.imshow(
            image,
            cmap="RdBu_r" if signed else "gray",
            vmin=-0.6 if signed else 0,
            vmax=0.6 if signed else 1,
        )
        ax.set_xticks([])
        ax.set_yticks([])
        if t == frames[0]:
            ax.set_title(title)
plt.show()
