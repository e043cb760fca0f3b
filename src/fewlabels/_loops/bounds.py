"""Upper bounds on the longest sum of signed vectors, and the nodes of a search tree.

For rows b_i of B and any positive weights delta_i, every sign vector y has

    ||B'y||^2 <= c sum_i delta_i,   c = largest eigenvalue of B' diag(delta)^-1 B,

since B'y is the product of (diag(delta)^-1/2 B)' with a vector of squared length
sum_i delta_i. If (e'y)^2 <= h^2 is known, diag(delta) + nu e e' may take the place of
diag(delta), and nu h^2 is added to the sum; a weight may then be negative, as long as
that matrix is positive definite. The least such bound is the dual of the semidefinite
relaxation: unit vectors v_i in place of signs. At its optimum, every
sum_j (b_i'b_j - nu e_i e_j) v_j is delta_i v_i. Any weights give a bound, so an optimum
need not be reached.
"""

# SPDX-License-Identifier: BSD-3-Clause

import numpy as np

from fewlabels._loops import njit

# Rounding errors of the eigenvalue, relative to it.
MARGIN = 1e-12


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def _dot(x, z):
    total = 0.0
    for t in range(x.shape[0]):
        total += x[t] * z[t]
    return total


@njit(cache=True, nogil=True)
def relax(B, e, nu, V, n_sweeps):
    """Turn unit vectors v_i in place so that ||V'B||^2 - nu ||V'e||^2 grows.

    One vector after the other takes its best direction while the others stay. Returns
    the weights that belong to them.
    """
    m, r = B.shape
    q = V.shape[1]
    W = np.zeros((q, r))
    z = np.zeros(q)
    squares = np.empty(m)
    for i in range(m):
        squares[i] = _dot(B[i], B[i]) - nu * e[i] * e[i]
        for k in range(q):
            z[k] += e[i] * V[i, k]
            for t in range(r):
                W[k, t] += V[i, k] * B[i, t]
    g = np.empty(q)
    for _ in range(n_sweeps):
        for i in range(m):
            length = 0.0
            for k in range(q):
                g[k] = _dot(W[k], B[i]) - nu * e[i] * z[k] - squares[i] * V[i, k]
                length += g[k] * g[k]
            length = np.sqrt(length)
            if length <= 1e-14 * abs(squares[i]):
                continue  # the others ask for nothing
            for k in range(q):
                change = g[k] / length - V[i, k]
                V[i, k] += change
                z[k] += e[i] * change
                for t in range(r):
                    W[k, t] += change * B[i, t]
    delta = np.empty(m)
    for i in range(m):
        length = 0.0
        for k in range(q):
            x = _dot(W[k], B[i]) - nu * e[i] * z[k] - squares[i] * V[i, k]
            length += x * x
        delta[i] = np.sqrt(length) + squares[i]
    return delta


@njit(cache=True, nogil=True)
def weighted_bound(B, e, nu, slack, delta):
    """Return the bound that belongs to weights; only the first may be negative.

    Those that are too small for a positive definite matrix are raised.
    """
    m, r = B.shape
    largest = 0.0
    for i in range(1, m):
        largest = max(largest, delta[i])
    if largest <= 0.0:
        largest = max(delta[0], 1.0)
    M = np.zeros((r, r))
    z = np.zeros(r)
    total, weight = 0.0, 0.0
    floor = 1e-6 * largest  # smaller weights would only cost digits
    for at in range(1, m + 1):
        i = at % m  # the first row comes last, when it is known how small it may be
        least = floor
        if i == 0:
            least -= nu * e[0] * e[0] / (1.0 + nu * weight)
        d = max(delta[i], least)
        if abs(d) < floor:
            d = floor
        total += d
        weight += e[i] * e[i] / d
        for s in range(r):
            scaled = B[i, s] / d
            z[s] += e[i] * scaled
            for t in range(s + 1):
                M[s, t] += scaled * B[i, t]
    share = nu / (1.0 + nu * weight)
    size = 0.0  # of what is subtracted below, whose rounding errors remain
    for s in range(r):
        size += abs(M[s, s])
        for t in range(s + 1):
            M[s, t] -= share * z[s] * z[t]
            M[t, s] = M[s, t]
    c = np.linalg.eigvalsh(M)[-1] + 1e-15 * (m + r) * size
    return max(c, 0.0) * (total + nu * slack) * (1.0 + MARGIN)


@njit(cache=True, nogil=True)
def ascend(B, p0, y, lower, upper):
    """Take the best signs for the direction of the sum, again and again.

    Each time the sum grows longer. Returns its squared length; y is changed in place.
    """
    u, r = B.shape
    p = p0.copy()
    for i in range(u):
        for t in range(r):
            p[t] += y[i] * B[i, t]
    best = _dot(p, p)
    products = np.empty(u)
    trial = np.empty(u)
    while True:
        n_positive = 0
        for i in range(u):
            products[i] = _dot(B[i], p)
            trial[i] = 1.0 if products[i] >= 0 else -1.0
            n_positive += products[i] >= 0
        if n_positive < lower or n_positive > upper:
            n_positive = min(max(n_positive, lower), upper)
            order = np.argsort(-products)
            for rank in range(u):
                trial[order[rank]] = 1.0 if rank < n_positive else -1.0
        p[:] = p0
        for i in range(u):
            for t in range(r):
                p[t] += trial[i] * B[i, t]
        value = _dot(p, p)
        if value <= best * (1.0 + 1e-14):
            return best
        best = value
        y[:] = trial


@njit(cache=True, nogil=True)
def bound_node(B, p0, fixed, lower, upper, nu, V_start, target, n_rounds, n_sweeps):
    """Bound the sums in which some signs are fixed.

    Returns the bound, the sign to branch on (-1 if none is left), and signs found by
    rounding with their value. Rounds of `n_sweeps` go on until the bound is below
    `target` or hardly falls any more.
    """
    u, r = B.shape
    q = V_start.shape[1]
    n_positive, n_left = 0, 0
    for i in range(u):
        n_positive += fixed[i] > 0
        n_left += fixed[i] == 0
    lo, hi = max(lower - n_positive, 0), min(upper - n_positive, n_left)
    y = np.empty(u)
    for i in range(u):
        y[i] = fixed[i]
    if lo > hi:
        return -np.inf, -1, y, -np.inf
    if n_left == 0 or lo == n_left or hi == 0:
        for i in range(u):
            if fixed[i] == 0:
                y[i] = 1.0 if lo == n_left else -1.0
        p = p0.copy()
        for i in range(u):
            for t in range(r):
                p[t] += y[i] * B[i, t]
        value = _dot(p, p)
        return value, -1, y, value
    # Row 0 is what is fixed; its sign is known, and with it that of all the others.
    rows = np.empty(n_left, dtype=np.intp)
    A = np.zeros((n_left + 1, r))
    V = np.empty((n_left + 1, q))
    A[0] = p0
    V[0] = V_start[0]
    at = 0
    for i in range(u):
        if fixed[i] == 0:
            rows[at] = i
            at += 1
            A[at] = B[i]
            V[at] = V_start[i + 1]
        else:
            for t in range(r):
                A[0, t] += fixed[i] * B[i, t]
    e = np.ones(n_left + 1)
    slack = 0.0
    here = 0.0
    if lo > 0 or hi < n_left:
        here = nu
        e[0] = -(lo + hi - n_left)  # |sum of signs - (lo + hi - n_left)| <= hi - lo
        slack = float(hi - lo) ** 2
    bound = np.inf
    delta = np.zeros(n_left + 1)
    for _ in range(n_rounds):
        delta = relax(A, e, here, V, n_sweeps)
        value = weighted_bound(A, e, here, slack, delta)
        enough = value <= target or value > bound - 1e-2 * max(bound - target, 0.0)
        bound = min(bound, value)
        if enough:
            break
    branch = -1
    largest = -1.0
    for at in range(n_left):
        # A sign costs the relaxation about delta times 1 - product or 1 + product:
        # branch where the product of both is largest.
        product = _dot(V[at + 1], V[0])
        y[rows[at]] = 1.0 if product >= 0 else -1.0
        score = delta[at + 1] ** 2 * (1.0 - product * product)
        if score > largest:
            largest = score
            branch = rows[at]
    free_y = np.empty(n_left)
    for at in range(n_left):
        free_y[at] = y[rows[at]]
    positive = 0
    for at in range(n_left):
        positive += free_y[at] > 0
    if positive < lo or positive > hi:
        for at in range(n_left):
            free_y[at] = 1.0 if at < lo else -1.0
    value = ascend(A[1:], A[0].copy(), free_y, lo, hi)
    for at in range(n_left):
        y[rows[at]] = free_y[at]
    return bound, branch, y, value
