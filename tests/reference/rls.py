"""Slow twins of regularised least squares."""

# SPDX-License-Identifier: BSD-3-Clause

import numpy as np


def rls_by_lstsq(K, Y, alpha, fit_intercept, w, K_new=None):
    """Fitted values (or those at K_new) from an ordinary least-squares problem.

    With K = Z Z' the objective is that of the stacked system
    [sqrt(w/s) Z, sqrt(w/s)] [v; b] ~ sqrt(w/s) y and sqrt(alpha) v ~ 0.
    """
    e, U = np.linalg.eigh(K)
    keep = e > 1e-12 * max(e[-1], 0)
    e, U = e[keep], U[:, keep]
    Z = U * np.sqrt(e)
    root = np.sqrt(w / w.sum())[:, None]
    bias = np.ones((len(K), int(fit_intercept)))
    A = np.vstack(
        [
            root * np.hstack([Z, bias]),
            np.sqrt(alpha) * np.eye(Z.shape[1], Z.shape[1] + bias.shape[1]),
        ]
    )
    T = np.vstack([root * Y, np.zeros((Z.shape[1], Y.shape[1]))])
    solution = np.linalg.lstsq(A, T, rcond=None)[0]
    if K_new is None:
        K_new = K
    Z_new = K_new @ (U / np.sqrt(e))
    return np.hstack([Z_new, np.ones((len(K_new), bias.shape[1]))]) @ solution


def leave_one_out_by_refitting(K, Y, alpha, fit_intercept, w):
    n = len(K)
    if n == 1:
        return np.full_like(Y, np.nan)
    out = np.empty_like(Y)
    for i in range(n):
        rest = np.arange(n) != i
        out[i] = rls_by_lstsq(
            K[np.ix_(rest, rest)],
            Y[rest],
            alpha,
            fit_intercept,
            w[rest],
            K_new=K[i, rest][None],
        )
    return out
