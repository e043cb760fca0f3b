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


@njit(cache=True, nogil=True)
def plus_plus(X, u, n_trials, centers):
    """Write rows to start from: the best of some at even places of the squares."""
    n, d = X.shape
    norms, totals = np.empty(n, X.dtype), np.empty(n)
    nearest = np.full(n, np.inf, X.dtype)
    for i in range(n):
        square = X.dtype.type(0)
        for t in range(d):
            square += X[i, t] ** 2
        norms[i] = square
    rows = np.empty(n_trials, np.intp)
    for step in range(centers.shape[0]):
        if step == 0:
            n_tried = 1
            rows[0] = min(int(u[0] * n), n - 1)
        else:
            n_tried = n_trials
            total = 0.0
            for i in range(n):
                total += nearest[i]
                totals[i] = total
            for trial in range(n_trials):
                share = (u[step] + trial / n_trials) % 1.0
                row = np.searchsorted(totals, share * total, side="right")
                rows[trial] = min(row, n - 1)
        tried = np.empty((d, n_tried), X.dtype)
        for trial in range(n_tried):
            tried[:, trial] = X[rows[trial]]
        squares = np.dot(X, tried)
        potentials = np.zeros(n_tried)
        for i in range(n):
            for trial in range(n_tried):
                square = norms[i] - 2 * squares[i, trial] + norms[rows[trial]]
                square = min(nearest[i], max(square, X.dtype.type(0)))
                squares[i, trial] = square
                potentials[trial] += square
        best = np.argmin(potentials)
        nearest[:] = squares[:, best]
        centers[step] = X[rows[best]]


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
