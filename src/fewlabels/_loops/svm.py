"""Loops of support vector machines: one coefficient of a dual problem at a time.

All minimise 1/2 a'Qa + sum_i (|a_i - kink_i| + offset a_i) over lower <= a <= upper.
With f = Qa + offset for the outputs, that is the dual of hinge losses at f = 1 and at
f = -1: below its kink a coefficient wants f_i = 1, above it f_i = -1.
"""

# SPDX-License-Identifier: BSD-3-Clause

from fewlabels._loops import njit
from fewlabels._loops.optimize import _add, _limits, _product


@njit(cache=True, nogil=True)
def _violation(a, f, kink, lower, upper):
    """Slope of what is maximised along one coefficient; 0 where it may stay."""
    if a < kink or (a == kink and f > 1.0):
        d = 1.0 - f
    elif a > kink or f < -1.0:
        d = -1.0 - f
    else:
        return 0.0
    if (d > 0.0 and a >= upper) or (d < 0.0 and a <= lower):
        return 0.0
    return d


@njit(cache=True, nogil=True)
def _best(a, f, q, kink, lower, upper):
    """Return the best value of one coefficient, the others fixed."""
    below, above = a + (1.0 - f) / q, a - (1.0 + f) / q
    best = below if below < kink else (above if above > kink else kink)
    return min(max(best, lower), upper)


@njit(cache=True, nogil=True)
def kernel_sweep(K, order, kinks, lower, upper, a, f):
    """Improve the coefficients of `order` in turn; return the largest violation met."""
    worst = 0.0
    for i in order:
        d = _violation(a[i], f[i], kinks[i], lower[i], upper[i])
        if d == 0.0 or K[i, i] <= 0.0:
            continue
        worst = max(worst, abs(d))
        change = _best(a[i], f[i], K[i, i], kinks[i], lower[i], upper[i]) - a[i]
        if change != 0.0:
            a[i] += change
            row = K[i]
            for j in range(f.shape[0]):
                f[j] += change * row[j]
    return worst


@njit(cache=True, nogil=True)
def rows_sweep(
    data, indices, indptr, dense, along, constant, offset, squares, order, kinks,
    lower, upper, a, w, sums,
):  # fmt: skip
    """Do the same for the rows of a matrix, less a centre that is never subtracted.

    Q_ij = x_i x_j - along_i - along_j + constant, where along = X mu are the products
    with the centre; w = X'a, and sums holds the sums of a and of a times along.
    """
    worst = 0.0
    d_w = w.shape[0]
    for i in order:
        lo, hi = _limits(indptr, dense, d_w, i)
        product = _product(data, indices, lo, hi, dense, w)
        f = product - sums[0] * along[i] - sums[1] + sums[0] * constant + offset
        d = _violation(a[i], f, kinks[i], lower[i], upper[i])
        if d == 0.0 or squares[i] <= 0.0:
            continue
        worst = max(worst, abs(d))
        change = _best(a[i], f, squares[i], kinks[i], lower[i], upper[i]) - a[i]
        if change != 0.0:
            a[i] += change
            sums[0] += change
            sums[1] += change * along[i]
            _add(data, indices, lo, hi, dense, change, w)
    return worst
