"""The partition problem in exact arithmetic."""

# SPDX-License-Identifier: BSD-3-Clause

import math
from fractions import Fraction

import numpy as np


def inverse(A):
    """Invert a positive definite matrix of fractions by elimination."""
    n = len(A)
    rows = [[*row, *(Fraction(i == k) for k in range(n))] for i, row in enumerate(A)]
    for i in range(n):
        rows[i] = [x / rows[i][i] for x in rows[i]]
        for k in range(n):
            if k != i and rows[k][i]:
                factor = rows[k][i]
                rows[k] = [
                    x - factor * z for x, z in zip(rows[k], rows[i], strict=True)
                ]
    return [row[n:] for row in rows]


def gram(Z):
    """Z Z' without rounding."""
    exact = [[Fraction(float(value)) for value in row] for row in np.asarray(Z)]
    return [
        [sum(a * b for a, b in zip(x, z, strict=True)) for z in exact] for x in exact
    ]


def partitions(problem):
    """All partitions within the bounds, as class indices."""
    u, k = problem.free.size, problem.n_classes
    free = np.stack(np.unravel_index(np.arange(k**u), [k] * u), axis=1)
    sizes = (free[:, :, None] == np.arange(k)).sum(axis=1)
    within = (problem.lower <= sizes) & (sizes <= problem.upper)
    free = free[within.all(axis=1)]
    codes = np.tile(problem.codes, (len(free), 1))
    codes[:, problem.free] = free
    return codes


def objectives(K, problem, codes):
    """F = lam / 2 sum_c y' (K + lam D^-2)^-1 y of partitions, K being fractions."""
    n, n_labeled = problem.codes.size, problem.labeled.size
    lam, weight = Fraction(problem.alpha), Fraction(problem.unlabeled_weight)
    A = [list(row) for row in K]
    for i in range(n):
        share = n / Fraction(1) if n_labeled == 0 else (n - n_labeled) / weight
        A[i][i] += lam * (n_labeled if problem.codes[i] >= 0 else share)
    G = inverse(A)
    unit = math.lcm(*(x.denominator for row in G for x in row))
    whole = np.array([[int(x * unit) for x in row] for row in G], dtype=object)
    totals = np.zeros(len(codes), dtype=object)
    for c in range(problem.n_classes):
        Y = np.where(codes == c, 1, -1).astype(object)
        totals += (Y.dot(whole) * Y).sum(axis=1)
    return [lam * total / (2 * unit) for total in totals]
