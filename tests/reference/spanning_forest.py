"""Slow twin of the propagating nearest neighbour: the algorithm as it is written."""

# SPDX-License-Identifier: BSD-3-Clause


def squared_distance(x, z):
    total = 0.0
    for a, b in zip(x, z, strict=True):
        total += (float(a) - float(b)) ** 2
    return total


def propagate(X, codes, distance=squared_distance):
    """Closest pair of an unlabelled and a labelled row, again and again.

    Of equally close pairs the one with the smaller row numbers goes first.
    """
    codes = list(codes)
    edges = []
    while -1 in codes:
        _, p, q, new, old = min(
            (distance(X[min(i, j)], X[max(i, j)]), min(i, j), max(i, j), i, j)
            for i in range(len(X))
            for j in range(len(X))
            if codes[i] < 0 <= codes[j]
        )
        codes[new] = codes[old]
        edges.append((p, q))
    return codes, edges
