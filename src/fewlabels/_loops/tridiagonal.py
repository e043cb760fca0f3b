"""Loops of products with the weights W of a factorised partition problem.

W is ``N^-T diag(w[1]) N^-1 + diag(w[0])``; N has ones on the diagonal and one more
element w[2, t] in every column t but the middle one, r // 2: below the diagonal on its
left, above the diagonal on its right. Substitution runs from both ends at once, which
halves the time it waits for itself.
"""

# SPDX-License-Identifier: BSD-3-Clause

import numpy as np

from fewlabels._loops import njit


@njit(cache=True, nogil=True, fastmath={"contract"})
def weigh(x, w):
    """Return W x."""
    r = x.shape[0]
    z = np.empty(r)
    if r == 0:
        return z
    middle = r // 2
    both = r - 1 - middle  # steps from the right end
    left = right = left_factor = right_factor = 0.0
    for t in range(middle):
        left = x[t] - left_factor * left
        left_factor = w[2, t]
        z[t] = w[1, t] * left
        if t < both:
            j = r - 1 - t
            right = x[j] - right_factor * right
            right_factor = w[2, j]
            z[j] = w[1, j] * right
    left = x[middle] - left_factor * left - right_factor * right
    left *= w[1, middle]
    right = left
    z[middle] = left + w[0, middle] * x[middle]
    for t in range(1, middle + 1):
        i = middle - t
        left = z[i] - w[2, i] * left
        z[i] = left + w[0, i] * x[i]
        if t <= both:
            j = middle + t
            right = z[j] - w[2, j] * right
            z[j] = right + w[0, j] * x[j]
    return z


# Points that go through a recurrence together, which hides its latency.
LANES = 32


@njit(cache=True, nogil=True)
def _gather(B, start, x):
    """Copy up to LANES rows of B into columns of x; return how many."""
    count = min(LANES, B.shape[0] - start)
    for s in range(count):
        for t in range(B.shape[1]):
            x[t, s] = B[start + s, t]
    return count


@njit(cache=True, nogil=True, fastmath={"contract"})
def _subtract(z, target, source, factor):
    for s in range(LANES):
        z[target, s] -= factor * z[source, s]


@njit(cache=True, nogil=True, fastmath={"contract"})
def weigh_rows(B, w):
    """Return B W."""
    n, r = B.shape
    middle = r // 2
    out = np.empty((n, r))
    if n < LANES // 4:
        for i in range(n):
            out[i] = weigh(B[i], w)
        return out
    z = np.zeros((r, LANES))
    for start in range(0, n, LANES):
        count = _gather(B, start, z)
        for t in range(middle):
            _subtract(z, t + 1, t, w[2, t])
        for t in range(r - 1, middle, -1):
            _subtract(z, t - 1, t, w[2, t])
        for t in range(r):
            weight = w[1, t]
            for s in range(LANES):
                z[t, s] *= weight
        for t in range(middle - 1, -1, -1):
            _subtract(z, t, t + 1, w[2, t])
        for t in range(middle + 1, r):
            _subtract(z, t, t - 1, w[2, t])
        for s in range(count):
            for t in range(r):
                out[start + s, t] = z[t, s] + w[0, t] * B[start + s, t]
    return out


@njit(cache=True, nogil=True, fastmath={"contract"})
def factorise(diagonal, off, alphas):
    """Factorise T + alpha I = N diag(p) N' of a tridiagonal T for several alphas.

    Returns the pivots p and the elements of N beside its diagonal, in the order of its
    columns; both are of shape (number of alphas, r).
    """
    m, r = alphas.shape[0], diagonal.shape[0]
    middle = r // 2
    pivots, beside = np.empty((m, r)), np.zeros((m, r))
    for s in range(m):
        pivots[s] = diagonal + alphas[s]
        for t in range(middle):
            beside[s, t] = off[t] / pivots[s, t]
            pivots[s, t + 1] -= beside[s, t] * off[t]
        for t in range(r - 1, middle, -1):
            beside[s, t] = off[t - 1] / pivots[s, t]
            pivots[s, t - 1] -= beside[s, t] * off[t - 1]
    return pivots, beside


@njit(cache=True, nogil=True, fastmath={"contract"})
def diagonals(B, weights, beside):
    """Return the diagonals of B N^-T diag(weights) N^-1 B', one row for every N.

    Both arrays are of shape (number of matrices, r): B is read once for all.
    """
    n, r = B.shape
    m = weights.shape[0]
    middle = r // 2
    out = np.zeros((m, n))
    x = np.zeros((r, LANES))
    carry, total, last = np.empty(LANES), np.empty(LANES), np.empty(LANES)
    for start in range(0, n, LANES):
        count = _gather(B, start, x)
        for c in range(m if r > 0 else 0):
            total[:] = 0.0
            last[:] = x[middle]
            for side in range(2):
                carry[:] = 0.0
                for step in range(r - 1 - middle if side else middle):
                    t = r - 1 - step if side else step
                    factor, weight = beside[c, t], weights[c, t]
                    for s in range(LANES):
                        value = x[t, s] - carry[s]
                        carry[s] = factor * value
                        total[s] += weight * value * value
                last -= carry
            total += weights[c, middle] * last * last
            out[c, start : start + count] = total[:count]
    return out
