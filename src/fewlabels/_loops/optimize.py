"""Loops of finite-sum and coordinate methods for linear models.

Every loop serves dense and sparse matrices, all losses and all penalties:

- The smooth part comes as a record, which is unpacked before the loop.
- Its matrix is flat, as `data`, with `indices` and `indptr` as SciPy has them. If
  `dense`, a row (or a column, where columns are asked for) fills a whole line of
  `data`, and the other two are empty.
- A loss is a number. QUADRATIC stands for 1/2 w'Aw - b'w with A as the matrix.
- A penalty is sum_j l1[j] |w[j]| + l2[j] w[j]^2 / 2.

The random choices come from outside, as arrays: what a loop does is determined by its
arguments. A call makes one epoch and works in place.
"""

# SPDX-License-Identifier: BSD-3-Clause

import math

import numpy as np

from fewlabels._loops import njit

SQUARED, LOGISTIC, SQUARED_HINGE, HINGE, QUADRATIC = range(5)


@njit(cache=True, nogil=True)
def slope(code, z, y):
    """Compute the derivative of a loss with respect to the output z."""
    if code == SQUARED:
        return z - y
    m = y * z
    if code == LOGISTIC:
        return -y / (1.0 + math.exp(m))  # infinity is a fine denominator
    if m >= 1.0:
        return 0.0
    if code == SQUARED_HINGE:
        return -2.0 * y * (1.0 - m)
    return -y


@njit(cache=True, nogil=True)
def _soft(v, t):
    return v - max(-t, min(v, t))  # the processor cannot foresee branches here


# Sparse rows are short: calls, and tests whether an index counts from the end, cost as
# much as the work. Hence `inline`, and indices without a sign.


# The order of a sum may change, which lets the compiler vectorise it.
@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def _dot(line, w):
    total = 0.0
    for t in range(line.shape[0]):
        total += line[t] * w[t]
    return total


@njit(cache=True, nogil=True, inline="always")
def _product(data, indices, lo, hi, dense, w):
    if dense:
        return _dot(data[lo:hi], w)
    total = 0.0
    for t in range(lo, hi):
        total += data[t] * w[np.uint64(indices[t])]
    return total


@njit(cache=True, nogil=True)
def _add(data, indices, lo, hi, dense, factor, w):
    if dense:
        line = data[lo:hi]
        for t in range(line.shape[0]):
            w[t] += factor * line[t]
    else:
        for t in range(lo, hi):
            w[np.uint64(indices[t])] += factor * data[t]


@njit(cache=True, nogil=True)
def _limits(indptr, dense, length, i):
    if dense:
        return np.uint64(i * length), np.uint64((i + 1) * length)
    return np.uint64(indptr[i]), np.uint64(indptr[i + 1])


@njit(cache=True, nogil=True)
def sgd_epoch(smooth, order, steps, l1, l2, w, total, gradient):
    """Mini-batch steps; `order` has one batch per row, `total` sums the iterates."""
    code, data, indices, indptr, dense, y, _ = smooth
    d = w.shape[0]
    size = order.shape[1]
    for k in range(order.shape[0]):
        gradient[:] = 0.0
        for r in range(size):
            i = order[k, r]
            lo, hi = _limits(indptr, dense, d, i)
            z = _product(data, indices, lo, hi, dense, w)
            s = slope(code, z, y[i]) / size
            if s != 0.0:
                _add(data, indices, lo, hi, dense, s, gradient)
        a = steps[k]
        for j in range(d):
            v = _soft(w[j] - a * (gradient[j] + l2[j] * w[j]), a * l1[j])
            w[j] = v
            total[j] += v


@njit(cache=True, nogil=True)
def _catch_up(w, mean, step, l2, log_decay, k):
    """Return w after k steps w <- w - step (mean + l2 w)."""
    if l2 == 0.0:
        return w - k * step * mean
    change = math.expm1(k * log_decay)
    return w + change * (w + mean / l2)


@njit(cache=True, nogil=True)
def sag_epoch(smooth, order, step, l2, w, table, mean, seen):
    """Make steps along the mean of the stored gradients, the drawn one renewed.

    With sparse rows a coordinate is brought up to date when it is read: since then, its
    entry of the mean has not changed. `seen` is a workspace.
    """
    code, data, indices, indptr, dense, y, _ = smooth
    n, d = y.shape[0], w.shape[0]
    log_decay = np.log1p(-step * l2)
    seen[:] = 0
    for k in range(order.shape[0]):
        i = order[k]
        lo, hi = _limits(indptr, dense, d, i)
        if not dense:
            for t in range(lo, hi):
                j = np.uint64(indices[t])
                if seen[j] < k:
                    w[j] = _catch_up(
                        w[j], mean[j], step, l2[j], log_decay[j], k - seen[j]
                    )
                    seen[j] = k
        z = _product(data, indices, lo, hi, dense, w)
        new = slope(code, z, y[i])
        share = (new - table[i]) / n
        table[i] = new
        if dense:
            line = data[lo:hi]
            for j in range(d):
                mean[j] += share * line[j]
                w[j] -= step * (mean[j] + l2[j] * w[j])
        else:
            _add(data, indices, lo, hi, dense, share, mean)
    if not dense:
        steps = order.shape[0]
        for j in range(d):
            if seen[j] < steps:
                w[j] = _catch_up(
                    w[j], mean[j], step, l2[j], log_decay[j], steps - seen[j]
                )


@njit(cache=True, nogil=True, inline="always")
def _step_on_row(data, indices, lo, hi, dense, change, share, prox, w, mean):
    """Proximal step along change * row + often * mean, on the support of the row."""
    step, often, threshold, shrink = prox
    if dense:
        line = data[lo:hi]
        for j in range(line.shape[0]):
            v = w[j] - step * (change * line[j] + mean[j])
            mean[j] += share * line[j]
            w[j] = shrink[j] * _soft(v, threshold[j])
    else:
        for t in range(lo, hi):
            j = np.uint64(indices[t])
            v = w[j] - step * (change * data[t] + often[j] * mean[j])
            mean[j] += share * data[t]
            w[j] = shrink[j] * _soft(v, threshold[j])


@njit(cache=True, nogil=True)
def saga_epoch(smooth, prox, order, w, table, mean):
    """Proximal steps along grad_i - stored grad_i + mean of the stored gradients."""
    code, data, indices, indptr, dense, y, _ = smooth
    n, d = y.shape[0], w.shape[0]
    for k in range(order.shape[0]):
        i = order[k]
        lo, hi = _limits(indptr, dense, d, i)
        z = _product(data, indices, lo, hi, dense, w)
        new = slope(code, z, y[i])
        change = new - table[i]
        table[i] = new
        _step_on_row(data, indices, lo, hi, dense, change, change / n, prox, w, mean)


@njit(cache=True, nogil=True)
def svrg_epoch(smooth, prox, order, w, table, mean, average, total, seen):
    """Proximal steps along grad_i - grad_i at the snapshot + gradient there.

    If `average`, `total` gets the sum of the iterates: every coordinate is added when
    it changes, as often as it has been there.
    """
    code, data, indices, indptr, dense, y, _ = smooth
    d = w.shape[0]
    total[:] = 0.0
    seen[:] = 0
    for k in range(order.shape[0]):
        i = order[k]
        lo, hi = _limits(indptr, dense, d, i)
        z = _product(data, indices, lo, hi, dense, w)
        change = slope(code, z, y[i]) - table[i]
        if average:
            # Iterates 1, ..., k count, and not the snapshot.
            for t in range(hi - lo):
                j = np.uint64(t) if dense else np.uint64(indices[lo + t])
                since = max(seen[j], 1)
                if k >= since:
                    total[j] += (k + 1 - since) * w[j]
                    seen[j] = k + 1
        _step_on_row(data, indices, lo, hi, dense, change, 0.0, prox, w, mean)
    if average:
        steps = order.shape[0]
        for j in range(d):
            total[j] += (steps + 1 - max(seen[j], 1)) * w[j]


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def _partial(code, data, indices, lo, hi, dense, y, a, p, q, j):
    """Partial derivative along column j at the state a p + q.

    The state is the residual for SQUARED, A w - b for QUADRATIC, else the outputs.
    """
    if code == QUADRATIC:
        return a * p[j] + q[j]
    total = 0.0
    if code == SQUARED:
        if dense:
            line = data[lo:hi]
            if a == 0.0:
                for i in range(line.shape[0]):
                    total += line[i] * q[i]
            else:
                for i in range(line.shape[0]):
                    total += line[i] * (a * p[i] + q[i])
        else:
            for t in range(lo, hi):
                i = np.uint64(indices[t])
                total += data[t] * (a * p[i] + q[i])
        return total
    for t in range(lo, hi):
        i = t - lo if dense else np.uint64(indices[t])
        total += data[t] * slope(code, a * p[i] + q[i], y[i])
    return total


@njit(cache=True, nogil=True)
def coordinate_epoch(
    smooth, members, starts, order, lipschitz, l1, l2, w, state, buffer
):
    """Proximal steps on one block after the other; return the largest violation met.

    Block b has the coordinates members[starts[b]:starts[b + 1]]; `lipschitz` is by
    block; `share` scales the partial derivatives.
    """
    code, data, indices, indptr, dense, y, share = smooth
    n = state.shape[0]
    worst = 0.0
    for b in order:
        for r in range(starts[b], starts[b + 1]):
            j = members[r]
            lo, hi = _limits(indptr, dense, n, j)
            g = share * _partial(
                code, data, indices, lo, hi, dense, y, 0.0, state, state, j
            )
            buffer[r - starts[b]] = g
            if w[j] > 0.0:
                miss = abs(g + l2[j] * w[j] + l1[j])
            elif w[j] < 0.0:
                miss = abs(g + l2[j] * w[j] - l1[j])
            else:
                miss = max(abs(g) - l1[j], 0.0)
            worst = max(worst, miss)
        L = lipschitz[b]
        for r in range(starts[b], starts[b + 1]):
            j = members[r]
            v = _soft(L * w[j] - buffer[r - starts[b]], l1[j]) / (L + l2[j])
            if v != w[j]:
                lo, hi = _limits(indptr, dense, n, j)
                _add(data, indices, lo, hi, dense, v - w[j], state)
                w[j] = v
    return worst


@njit(cache=True, nogil=True)
def approx_epoch(
    smooth, members, starts, subsets, weights, l1, l2, theta, point, buffer
):
    """Accelerated proximal steps on random sets of blocks; return the last two theta.

    `subsets` has the blocks of one step per row. The point is theta^2 u + z.
    """
    code, data, indices, indptr, dense, y, share = smooth
    z, u, state_z, state_u = point
    n = state_z.shape[0]
    n_blocks = starts.shape[0] - 1
    tau = subsets.shape[1]
    before = theta
    for k in range(subsets.shape[0]):
        square = theta * theta
        ratio = n_blocks * theta / tau
        r = 0
        for s in range(tau):
            b = subsets[k, s]
            for t in range(starts[b], starts[b + 1]):
                j = members[t]
                lo, hi = _limits(indptr, dense, n, j)
                buffer[r] = share * _partial(
                    code, data, indices, lo, hi, dense, y, square, state_u, state_z, j
                )
                r += 1
        r = 0
        for s in range(tau):
            b = subsets[k, s]
            c = ratio * weights[b]
            for t in range(starts[b], starts[b + 1]):
                j = members[t]
                v = _soft(c * z[j] - buffer[r], l1[j]) / (c + l2[j])
                r += 1
                change = v - z[j]
                if change == 0.0:
                    continue
                back = -(1.0 - ratio) / square * change
                z[j] = v
                u[j] += back
                lo, hi = _limits(indptr, dense, n, j)
                _add(data, indices, lo, hi, dense, change, state_z)
                _add(data, indices, lo, hi, dense, back, state_u)
        before = theta
        theta = (math.sqrt(square * square + 4.0 * square) - square) / 2.0
    return before, theta
