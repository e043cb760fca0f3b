"""Linear algebra in exact arithmetic."""

# SPDX-License-Identifier: BSD-3-Clause

from fractions import Fraction


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
