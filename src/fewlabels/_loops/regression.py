"""Loops of penalised least squares: one coordinate, or one group, after the other.

All minimise 1/2 ||y - X b||^2 + penalty(b). The columns of X come as the rows of a
matrix in C order, so that each is one run of memory, whatever the shape; `residual` is
y - X b and kept up to date, like `coef`, in place.
"""

# SPDX-License-Identifier: BSD-3-Clause

import numpy as np

from fewlabels._loops import njit

BRIDGE, BERHU = 0, 1  # penalties |b|^shape and berhu with the knee at shape

# The smallest normal number stands for "next to zero".
TINY = np.finfo(np.float64).tiny


@njit(cache=True, nogil=True)
def bridge_root(z, c, shape):
    """Solve t + c t^(shape - 1) = z for t >= 0, where z > 0, c > 0 and shape > 1."""
    power = shape - 1.0
    if power == 1.0:
        return z / (1.0 + c)
    if power < 1.0:
        # Concave: from the left of the root, Newton's steps grow towards it. At least
        # one of the two terms makes up half of z.
        t = min(0.5 * z, (0.5 * z / c) ** (1.0 / power))
        if t < TINY:
            return 0.0
    else:
        # Convex: from the right, they shrink towards it.
        t = min(z, (z / c) ** (1.0 / power))
    for _ in range(100):
        tail = c * t ** (power - 1.0)
        step = (t + tail * t - z) / (1.0 + power * tail)
        t -= step
        if abs(step) <= 4e-16 * t:
            break
    return t


@njit(cache=True, nogil=True)
def _minimizer(q, a, kind, lam, shape):
    """Minimise 1/2 a b^2 - q b + lam penalty(b) over b."""
    size, sign = abs(q), np.sign(q)
    if size == 0.0:
        return 0.0
    if kind == BERHU:
        if size <= lam:
            return 0.0
        if size <= lam + a * shape:
            return sign * (size - lam) / a
        return q / (a + lam / shape)
    if lam == 0.0:
        return q / a
    if shape == 1.0:
        return sign * max(size - lam, 0.0) / a
    return sign * bridge_root(size / a, lam * shape / a, shape)


@njit(cache=True, nogil=True)
def _slope(b, kind, lam, shape):
    """Slope of the penalty at |b|; at zero, the largest that a zero may balance."""
    if kind == BERHU:
        return lam * max(1.0, abs(b) / shape)
    return lam * shape * max(abs(b), TINY) ** (shape - 1.0)


@njit(cache=True, nogil=True)
def violation_of(gradient, b, kind, lam, shape):
    """How far the descent direction is from what the penalty balances."""
    slope = _slope(b, kind, lam, shape)
    if b == 0.0:
        return max(abs(gradient) - slope, 0.0)
    return abs(gradient - np.sign(b) * slope)


@njit(cache=True, nogil=True)
def separable_cycles(columns, residual, coef, squares, kind, lam, shape, tol, max_iter):
    """Minimise exactly over one coefficient after the other, in cycles.

    Returns the number of cycles, and the largest violation of the optimality
    conditions met in the last one.
    """
    largest = 0.0
    for cycle in range(max_iter):
        largest = 0.0
        for j in range(columns.shape[0]):
            if squares[j] == 0.0:
                continue
            x, old = columns[j], coef[j]
            gradient = np.dot(x, residual)
            largest = max(largest, violation_of(gradient, old, kind, lam, shape))
            new = _minimizer(gradient + squares[j] * old, squares[j], kind, lam, shape)
            if new != old:
                residual += (old - new) * x
                coef[j] = new
        if largest <= tol:
            return cycle + 1, largest
    return max_iter, largest


@njit(cache=True, nogil=True)
def _norm(v):
    return np.sqrt(np.sum(v * v))


@njit(cache=True, nogil=True)
def group_length(q, squares, lam):
    """Length of the b that minimises 1/2 sum_j squares_j b_j^2 - q'b + lam ||b||.

    Where ||q|| > lam > 0, b_j = q_j / (squares_j + lam / length), whose length must be
    the length: 1 = ||q_j / (squares_j length + lam)||. The inverse of the right side is
    concave and grows, so that Newton's steps from zero cannot pass the root.
    """
    length = 0.0
    for _ in range(100):
        total, change = 0.0, 0.0
        for j in range(q.shape[0]):
            scale = squares[j] * length + lam
            total += (q[j] / scale) ** 2
            change += (q[j] / scale) ** 2 * squares[j] / scale
        step = (np.sqrt(total) - 1.0) * total / change
        length += step
        if step <= 4e-16 * length:
            break
    return length


@njit(cache=True, nogil=True)
def group_cycles(columns, residual, coef, starts, squares, lams, tol, max_iter):
    """Minimise exactly over one group after the other, in cycles.

    Group g has the columns starts[g]:starts[g + 1], which are orthogonal to each other
    and have the squared lengths `squares`, all more than zero.
    """
    largest = 0.0
    for cycle in range(max_iter):
        largest = 0.0
        for g in range(starts.shape[0] - 1):
            first, size = starts[g], starts[g + 1] - starts[g]
            if size == 0:
                continue
            old = coef[first : first + size].copy()
            gradient = np.empty(size)
            for j in range(size):
                gradient[j] = np.dot(columns[first + j], residual)
            length = _norm(old)
            if length == 0.0:
                excess = _norm(gradient) - lams[g]
                if excess <= 0.0:
                    continue
                largest = max(largest, excess)
            else:
                largest = max(largest, _norm(gradient - lams[g] / length * old))
            curvature = squares[first : first + size]
            target = gradient + curvature * old
            if lams[g] == 0.0:
                new = target / curvature
            elif _norm(target) <= lams[g]:
                new = np.zeros(size)
            else:
                length = group_length(target, curvature, lams[g])
                new = target * length / (curvature * length + lams[g])
            for j in range(size):
                if new[j] != old[j]:
                    residual += (old[j] - new[j]) * columns[first + j]
                    coef[first + j] = new[j]
        if largest <= tol:
            return cycle + 1, largest
    return max_iter, largest
