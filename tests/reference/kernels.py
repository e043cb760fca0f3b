"""Slow twins of the kernel algorithms."""

# SPDX-License-Identifier: BSD-3-Clause

import math


def pivoted_cholesky_by_loops(K, tol):
    """Return the columns of the factor and the pivots, one number at a time."""
    n = len(K)
    rest = [[float(K[i][j]) for j in range(n)] for i in range(n)]
    trace = sum(rest[i][i] for i in range(n))
    columns, pivots = [], []
    while sum(rest[i][i] for i in range(n)) > tol * trace:
        p = max(range(n), key=lambda i: rest[i][i])
        root = math.sqrt(rest[p][p])
        column = [rest[i][p] / root for i in range(n)]
        for i in range(n):
            for j in range(n):
                rest[i][j] -= column[i] * column[j]
        columns.append(column)
        pivots.append(p)
    return columns, pivots
