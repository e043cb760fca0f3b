"""Slow twin of k-means: one row, one centre, one trial at a time."""

# SPDX-License-Identifier: BSD-3-Clause

import numpy as np


def plus_plus(X, k, u):
    """Start at rows: the best of several at evenly spaced places of the squares."""
    n, n_trials = len(X), 2 + int(np.log(k))
    centers = [X[int(u[0] * n)]]
    for step in range(1, k):
        squares = np.array([min(np.sum((x - c) ** 2) for c in centers) for x in X])
        total = np.cumsum(squares)
        potentials, rows = [], []
        for trial in range(n_trials):
            share = (u[step] + trial / n_trials) % 1.0
            row = min(int(np.sum(total <= share * total[-1])), n - 1)
            others = np.sum((X - X[row]) ** 2, axis=1)
            potentials.append(np.minimum(squares, others).sum())
            rows.append(row)
        centers.append(X[rows[int(np.argmin(potentials))]])
    return np.array(centers)


def lloyd(X, centers, max_iter, tol):
    """Means of the rows nearest to every centre; a cluster without any stays."""
    limit = tol * np.mean(np.var(X, axis=0))
    for _ in range(max_iter):
        squares = [np.sum((x - centers) ** 2, axis=1) for x in X]
        nearest = np.argmin(squares, axis=1)
        new = centers.copy()
        for c in range(len(centers)):
            if (nearest == c).any():
                new[c] = X[nearest == c].mean(axis=0)
        shift = np.sum((new - centers) ** 2)
        centers = new
        if shift <= limit:
            break
    return centers
