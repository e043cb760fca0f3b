"""
An image cut into its parts
===========================

The pixels of an image are the vertices of a graph, whose edges join nearby pixels of
similar intensity. Where the normalised cut between two sides is small, the image is cut
in two, and so are the parts, again and again. How many parts there are need not be
known.
"""

# SPDX-License-Identifier: BSD-3-Clause

# %%
# An image
# --------
# A disc in a ring, a rectangle and a triangle, on a background whose brightness changes
# from left to right, with noise.
import numpy as np

rng = np.random.default_rng(0)
height, width = 60, 80
row, column = np.mgrid[:height, :width]
image = 0.15 + 0.15 * column / width
image[(row - 20) ** 2 + (column - 20) ** 2 < 13**2] = 0.95
image[(row - 20) ** 2 + (column - 20) ** 2 < 6**2] = 0.55
image[34:54, 12:40] = 0.7
image[(row > 14) & (row < 50) & (abs(column - 60) < (row - 12) / 2.6)] = 0.85
image += 0.05 * rng.normal(size=image.shape)

# %%
# The graph
# ---------
# Pixels up to five pixels apart are joined. An edge is weak if the intensities differ
# by more than about 0.1.
from fewlabels.graphs import image_graph

W = image_graph(image, radius=5, intensity_width=0.1, distance_width=4)
print(f"{W.shape[0]} pixels, {W.nnz // 2} edges")

# %%
# Recursive cuts
# --------------
# A split must cut at most a share of 0.1 of both sides together. Every split comes with
# a lower bound that no other split of the same part can beat.
from fewlabels.cluster import RecursiveNormalizedCut

model = RecursiveNormalizedCut(0.1, affinity="precomputed", random_state=0).fit(W)
print(f"{model.n_clusters_} segments")
for split in model.splits_:
    print(
        f"{split.sizes[0]:5d} | {split.sizes[1]:<5d} cut {split.value:.4f}, "
        f"at least {split.lower_bound:.4f}"
    )

# %%
# A picture
# ---------
# Left the image; in the middle the eigenvector whose thresholds gave the first split;
# right the segments, each in its mean intensity, with their borders.
import matplotlib.pyplot as plt

from fewlabels.cluster import minimum_normalized_cut

first = minimum_normalized_cut(W, random_state=0)
labels = model.labels_.reshape(image.shape)
sums = np.bincount(model.labels_, image.ravel())
means = (sums / np.bincount(model.labels_))[labels]

figure, axes = plt.subplots(1, 3, figsize=(12, 3.4), layout="constrained")
axes[0].imshow(image, cmap="gray", vmin=0, vmax=1)
axes[0].set_title("image")
axes[1].imshow(first.vector.reshape(image.shape), cmap="viridis")
axes[1].set_title("second eigenvector")
axes[2].imshow(means, cmap="gray", vmin=0, vmax=1)
for segment in range(model.n_clusters_):
    axes[2].contour(labels == segment, levels=[0.5], colors="tab:red", linewidths=1.2)
axes[2].set_title(f"{model.n_clusters_} segments")
for ax in axes:
    ax.set_xticks([])
    ax.set_yticks([])
plt.show()
