"""Slow twin of MacQueen's k-means: every centre keeps the list of its points."""

# SPDX-License-Identifier: BSD-3-Clause

import numpy as np


def running_means(X, order, starts):
    """Centres as means of all points they have been given, and the lists of points."""
    points = [[start] for start in starts]
    centers = [np.array(start, dtype=float) for start in starts]
    for row in order:
        distances = [np.sum((X[row] - center) ** 2) for center in centers]
        nearest = int(np.argmin(distances))
        points[nearest].append(X[row])
        centers[nearest] = np.mean(points[nearest], axis=0)
    return np.array(centers), points
