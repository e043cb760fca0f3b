"""Extremely randomised trees, one node at a time: the twin of the compiled loops."""

# SPDX-License-Identifier: BSD-3-Clause

import numpy as np

MASK = 2**64 - 1


class Generator:
    """xorshift64* on Python's integers."""

    def __init__(self, seed):
        self.state = int(seed)

    def uniform(self):
        x = self.state
        x ^= x >> 12
        x = (x ^ (x << 25)) & MASK
        x ^= x >> 27
        self.state = x
        return ((x * 2685821657736338717 & MASK) >> 11) / 2**53


def explained(Y, w):
    """Weighted sum of squares that the mean explains."""
    return float(w.sum() * np.sum(np.average(Y, axis=0, weights=w) ** 2))


def grow(X, Y, w, rows, columns, n_varying, max_features, draw):
    """A tree as nested tuples (column, threshold, left, right), or the leaf's mean.

    Columns after the first `n_varying` are known to be constant.
    """
    if np.ptp(Y[rows], axis=0).max() == 0:
        return np.average(Y[rows], axis=0, weights=w[rows])
    best, split, tried, n_left = None, None, 0, n_varying
    while n_left and tried < max_features:
        place = int(draw() * n_left)
        n_left -= 1
        columns[place], columns[n_left] = columns[n_left], columns[place]
        column = columns[n_left]
        low, high = X[rows, column].min(), X[rows, column].max()
        if high - low <= 1e-7:
            n_varying -= 1
            columns[n_left], columns[n_varying] = columns[n_varying], columns[n_left]
            continue
        tried += 1
        threshold = low + draw() * (high - low)
        if threshold >= high:
            threshold = low
        inside = X[rows, column] <= threshold
        parts = [rows[inside], rows[~inside]]
        gain = sum(explained(Y[part], w[part]) for part in parts)
        if best is None or gain > best * (1 + 1e-10):
            best, split = gain, (column, threshold)
    if split is None:
        return np.average(Y[rows], axis=0, weights=w[rows])
    inside = X[rows, split[0]] <= split[1]
    below = [
        grow(X, Y, w, part, columns, n_varying, max_features, draw)
        for part in (rows[inside], rows[~inside])
    ]
    return *split, *below


def forest_outputs(X, Y, w, max_features, seeds, Z):
    """Mean outputs of a forest for the rows of Z."""
    total = np.zeros((len(Z), Y.shape[1]))
    for seed in seeds:
        tree = grow(
            X,
            Y,
            w,
            np.arange(len(X)),
            list(range(X.shape[1])),
            X.shape[1],
            max_features,
            Generator(seed).uniform,
        )
        for i, z in enumerate(Z):
            node = tree
            while isinstance(node, tuple):
                node = node[2] if z[node[0]] <= node[1] else node[3]
            total[i] += node / len(seeds)
    return total
