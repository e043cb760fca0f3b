"""Loops of k-means: MacQueen's, one row at a time, and Lloyd's, with its starts."""

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


# Somebody waits while these are compiled for the first time: what NumPy's functions do
# is written out where it is short, and arrays to work in come from outside.
@njit(cache=True, nogil=True)
def lloyd(X, centers, limit, max_iter, across, halves, sums, counts):
    """Move centres to the means of the rows nearest to them; overwrite them.

    It ends where the sum of the squared shifts is at most `limit`. A centre without
    rows stays; if several are equally near, the first one gets the row. The last four
    arrays are room to work in.
    """
    n, d = X.shape
    k = centers.shape[0]
    for _ in range(max_iter):
        for c in range(k):
            square, counts[c] = 0.0, 0.0
            for t in range(d):
                square += centers[c, t] ** 2
                across[t, c] = centers[c, t]
                sums[c, t] = 0.0
            halves[c] = 0.5 * square
        scores = np.dot(X, across)
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


@njit(cache=True, nogil=True)
def plus_plus(X, u, centers, norms, nearest, totals, tried, rows, potentials):
    """Write rows to start from: the best of some at even places of the squares.

    `norms` are the squares of the rows, `nearest` infinite at first; the last four
    arrays are room to work in, `rows` and `potentials` for every trial.
    """
    n, d = X.shape
    n_trials = rows.shape[0]
    for step in range(centers.shape[0]):
        total = 0.0
        for i in range(n):
            total += nearest[i]
            totals[i] = total
        for trial in range(n_trials):
            low, high = 0, n - 1
            if step == 0:  # all trials on one row
                low = high = min(int(u[0] * n), high)
            share = (u[step] + trial / n_trials) % 1.0 * total
            while low < high:  # the first total above the share, or the last row
                middle = (low + high) // 2
                if totals[middle] <= share:
                    low = middle + 1
                else:
                    high = middle
            rows[trial], potentials[trial] = low, 0.0
            for t in range(d):
                tried[t, trial] = X[low, t]
        squares = np.dot(X, tried)
        for i in range(n):
            for trial in range(n_trials):
                square = norms[i] - 2 * squares[i, trial] + norms[rows[trial]]
                squares[i, trial] = min(nearest[i], max(square, 0))
                potentials[trial] += squares[i, trial]
        best = 0
        for trial in range(1, n_trials):
            if potentials[trial] < potentials[best]:
                best = trial
        for i in range(n):
            nearest[i] = squares[i, best]
        for t in range(d):
            centers[step, t] = X[rows[best], t]


@njit(cache=True, nogil=True)
def nearest_in_runs(scores, halves, columns):
    """Write, for every row and run, the place of the centre of the largest score.

    That is a product less half of the square of the centre.
    """
    n_runs, k = halves.shape
    for i in range(scores.shape[0]):
        for run in range(n_runs):
            first = run * k
            nearest = first
            best = scores[i, first] - halves[run, 0]
            for c in range(1, k):
                score = scores[i, first + c] - halves[run, c]
                if score > best:
                    nearest, best = first + c, score
            columns[i, run] = nearest
