"""Slow twin of the digests of rows: whole arrays, several passes."""

# SPDX-License-Identifier: BSD-3-Clause

import numpy as np

STEP = np.uint64(0x9E3779B97F4A7C15)
FACTORS = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


def mixed(words):
    """Last step of the generator SplitMix64."""
    words = (words ^ (words >> np.uint64(30))) * FACTORS[0]
    words = (words ^ (words >> np.uint64(27))) * FACTORS[1]
    return words ^ (words >> np.uint64(31))


def row_digests(X):
    """Two sums over every row of its entries, mixed with numbers of their columns."""
    columns = np.arange(X.shape[1]).astype(np.uint64)
    words = X.astype(np.float64).view(np.uint64)
    halves = []
    for half in range(2):
        salts = mixed(columns * STEP + np.uint64(half + 1))
        halves.append((mixed(words + salts) * (X != 0)).sum(axis=1))
    return np.stack(halves, axis=1)
