"""Loops that track a subspace, one row at a time.

The frame W has shape (n_features, n_components) and is changed in place.
"""

# SPDX-License-Identifier: BSD-3-Clause

import numpy as np

from fewlabels._loops import njit

# A row moves the frame of a minor subspace by at most about this share of its length.
MINOR_CAP = 0.5


@njit(cache=True, nogil=True)
def _project(W, x, y):
    """Compute y = W' x."""
    y[:] = 0.0
    for i in range(W.shape[0]):
        for j in range(W.shape[1]):
            y[j] += W[i, j] * x[i]


@njit(cache=True, nogil=True)
def _combine(W, y, z):
    """Compute z = W y."""
    for i in range(W.shape[0]):
        total = 0.0
        for j in range(W.shape[1]):
            total += W[i, j] * y[j]
        z[i] = total


@njit(cache=True, nogil=True)
def oja(X, steps, W):
    """W += b (x - W y) y' with y = W' x, for every row x and its step b."""
    d, r = W.shape
    y = np.empty(r)
    z = np.empty(d)
    for k in range(X.shape[0]):
        x = X[k]
        _project(W, x, y)
        _combine(W, y, z)
        for i in range(d):
            error = steps[k] * (x[i] - z[i])
            for j in range(r):
                W[i, j] += error * y[j]


@njit(cache=True, nogil=True)
def past(X, forgetting, largest_trace, W, P):
    """Recursive least squares of x on y = W' x; P is the inverse correlation of y.

    Where some direction of y has no data, P grows there with every row. At the largest
    trace it forgets no more.
    """
    d, r = W.shape
    y = np.empty(r)
    z = np.empty(d)
    h = np.empty(r)
    for k in range(X.shape[0]):
        x = X[k]
        _project(W, x, y)
        _combine(W, y, z)
        _combine(P, y, h)
        inner = forgetting
        trace = 0.0
        for j in range(r):
            inner += y[j] * h[j]
            trace += P[j, j]
        inflation = 1.0 / forgetting if trace <= largest_trace else 1.0
        for i in range(d):
            error = (x[i] - z[i]) / inner
            for j in range(r):
                W[i, j] += error * h[j]
        for i in range(r):  # symmetric by construction: both halves alike
            for j in range(i + 1):
                P[i, j] = (P[i, j] - h[i] * h[j] / inner) * inflation
                P[j, i] = P[i, j]


@njit(cache=True, nogil=True)
def minor(X, steps, power, W):
    """W -= b (x y' (W'W)^power - W y y') with y = W' x, for every row x.

    The step is cut where it would throw the frame off its course.
    """
    d, r = W.shape
    y = np.empty(r)
    g = np.empty(r)
    z = np.empty(d)
    v = np.empty(d)
    for k in range(X.shape[0]):
        x = X[k]
        _project(W, x, y)
        _combine(W, y, z)
        _project(W, z, g)
        for _ in range(power - 1):
            _combine(W, g, v)
            _project(W, v, g)
        size = 0.0
        length = 0.0
        for i in range(d):
            length += x[i] * x[i]
            for j in range(r):
                size += W[i, j] * W[i, j]
        size = max(1.0, size / r) ** power
        step = steps[k]
        if step * length * size > MINOR_CAP:
            step = MINOR_CAP / (length * size)
        for i in range(d):
            for j in range(r):
                W[i, j] -= step * (x[i] * g[j] - z[i] * y[j])
