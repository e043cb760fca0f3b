"""Slow twins of the loops that track a subspace: the rules as they are written."""

# SPDX-License-Identifier: BSD-3-Clause

import numpy as np


def oja(X, steps, W):
    for x, b in zip(X, steps, strict=True):
        y = W.T @ x
        W = W + b * (np.outer(x, y) - W @ np.outer(y, y))
    return W


def past(X, forgetting, W, P):
    for x in X:
        y = W.T @ x
        h = P @ y
        g = h / (forgetting + y @ h)
        P = (P - np.outer(g, h)) / forgetting
        P = (P + P.T) / 2
        W = W + np.outer(x - W @ y, g)
    return W, P


def chen(X, steps, W):
    for x, b in zip(X, steps, strict=True):
        V = W.T  # as published: components are rows
        y = V @ x
        V = V - b * (V @ V.T @ np.outer(y, x) - np.outer(y, y) @ V)
        W = V.T
    return W


def douglas(X, steps, W):
    for x, b in zip(X, steps, strict=True):
        V = W.T
        y = V @ x
        V = V - b * (V @ V.T @ V @ V.T @ np.outer(y, x) - np.outer(y, y) @ V)
        W = V.T
    return W
