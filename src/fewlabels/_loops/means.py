"""Loop of MacQueen's k-means: one row at a time."""

# SPDX-License-Identifier: BSD-3-Clause

import numpy as np

from fewlabels._loops import njit


@njit(cache=True, nogil=True)
def running_means(X, order, centers, counts):
    """Move the nearest centre towards every row of `order`; overwrite both arrays.

    A centre is the mean of the `counts` points it has been given, its start included.
    If several centres are equally near, the first one moves.
    """
    n_centers, d = centers.shape
    for s in range(order.shape[0]):
        x = X[order[s]]
        nearest, best = 0, np.inf
        for k in range(n_centers):
            distance = 0.0
            for t in range(d):
                distance += (x[t] - centers[k, t]) ** 2
            if distance < best:
                nearest, best = k, distance
        counts[nearest] += 1
        for t in range(d):
            centers[nearest, t] += (x[t] - centers[nearest, t]) / counts[nearest]
