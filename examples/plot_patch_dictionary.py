"""
Directions, not points: a dictionary of strokes
===============================================

k-means finds points that rows are near to. Spherical k-means finds *directions*: a row
belongs to the one it is most parallel to, whatever its length and sign. For images that
means a dictionary of parts, and the classical recipe normalises and whitens first.
"""

# SPDX-License-Identifier: BSD-3-Clause

# %%
# The data
# --------
# Images of digits, 8 x 8 pixels.
import numpy as np
from sklearn.datasets import load_digits

X = load_digits().data

# %%
# Three dictionaries
# ------------------
# Brightness and contrast of an image are no content: ``PatchNormalizer`` gives every
# row mean 0 and variance 1. Whitening takes away that neighbouring pixels are alike, so
# that directions need not repeat it. The directions are taken back to pixels for the
# picture.
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA

from fewlabels.cluster import PatchNormalizer, SphericalKMeans

N_ATOMS = 20
points = KMeans(N_ATOMS, n_init=1, random_state=0).fit(X).cluster_centers_
Z = PatchNormalizer(eps=10.0).fit_transform(X)
plain = SphericalKMeans(N_ATOMS, random_state=0).fit(Z)
whitener = PCA(40, whiten=True, random_state=0).fit(Z)
white = SphericalKMeans(N_ATOMS, random_state=0).fit(whitener.transform(Z))
in_pixels = whitener.inverse_transform(white.cluster_centers_) - whitener.mean_

# %%
# How alike the directions of a dictionary are: the mean absolute cosine of all pairs.


def likeness(atoms):
    """Mean absolute cosine of all pairs of rows."""
    unit = atoms / np.linalg.norm(atoms, axis=1, keepdims=True)
    return np.abs(unit @ unit.T)[np.triu_indices(len(unit), 1)].mean()


for name, atoms in (
    ("points", points),
    ("directions", plain.cluster_centers_),
    ("directions of whitened rows", white.cluster_centers_),
):
    print(f"{name}: {likeness(atoms):.2f}")

# %%
# What they look like
# -------------------
# Points are digits of an average hand. Directions of the normalised images are digits
# against their surroundings; their signs mean nothing, so some come with ink and paper
# exchanged, and two that no image chose are still the noise they started from. After
# whitening they are parts and differences of digits, and far from each other.
import matplotlib.pyplot as plt

figure, axes = plt.subplots(1, 3, figsize=(12, 4.8), layout="constrained")
for ax, (title, atoms) in zip(
    axes,
    {
        "k-means: points": points - points.min(),
        "spherical k-means: directions": plain.cluster_centers_,
        "... of whitened images": in_pixels,
    }.items(),
    strict=True,
):
    tiles = atoms.reshape(4, 5, 8, 8) / np.abs(atoms).max(axis=1).reshape(4, 5, 1, 1)
    tiles = np.pad(tiles, ((0, 0), (0, 0), (1, 1), (1, 1)), constant_values=np.nan)
    picture = tiles.transpose(0, 2, 1, 3).reshape(40, 50)
    ax.imshow(picture, cmap="RdBu_r", vmin=-1, vmax=1)
    ax.set_title(title)
    ax.set_axis_off()
plt.show()
