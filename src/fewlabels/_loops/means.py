"""Loops of k-means: MacQueen's, one row at a time, and Lloyd's."""

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


@njit(cache=True, nogil=True)
def lloyd(X, centers, limit, max_iter):
    """Move centres to the means of the rows nearest to them; overwrite them.

    It ends where the sum of the squared shifts is at most `limit`. A centre without
    rows stays; if several are equally near, the first one gets the row.
    """
    n, d = X.shape
    k = centers.shape[0]
    halves = np.empty(k, X.dtype)
    for _ in range(max_iter):
        for c in range(k):
            square = 0.0
            for t in range(d):
                square += centers[c, t] ** 2
            halves[c] = 0.5 * square
        scores = np.dot(X, np.ascontiguousarray(centers.T))
        sums, counts = np.zeros((k, d)), np.zeros(k)
        for i in range(n):
            nearest = 0
            best = scores[i, 0] - halves[0]
            for c in range(1, k):
                score = scores[i, c] - halves[c]
                if score > best:
                    nearest, best = c, score
            counts[nearest] += 1
            for t in range(d):
                sums[nearest, t] += X[i, t]
        shift = 0.0
        for c in range(k):
            if counts[c] > 0:
                for t in range(d):
                    mean = sums[c, t] / counts[c]
                    shift += (mean - centers[c, t]) ** 2
                    centers[c, t] = mean
        if shift <= limit:
            break
