"""Algorithm 6.10, corrected, written down step by step."""

# SPDX-License-Identifier: BSD-3-Clause

import numpy as np


def objective(D, A, E, lam, mu):
    nuclear = np.linalg.svd(A, compute_uv=False).sum()
    return mu * nuclear + mu * lam * np.abs(E).sum() + ((D - A - E) ** 2).sum() / 2


def accelerated_iterates(D, lam, weights, restart=None):
    """Yield (A, E, t, A before, E before) after every step.

    One weight for every step; momentum is dropped before step number `restart`.
    """
    A = E = A_before = E_before = np.zeros_like(D)
    t = t_before = 1.0
    for k, mu in enumerate(weights):
        if k == restart:
            t = t_before = 1.0
        beta = (t_before - 1) / t
        Y_A, Y_E = A + beta * (A - A_before), E + beta * (E - E_before)
        half = (Y_A + Y_E - D) / 2
        U, s, Vt = np.linalg.svd(Y_A - half, full_matrices=False)
        W = Y_E - half
        A_before, E_before = A, E
        A = (U * np.maximum(s - mu / 2, 0)) @ Vt
        E = np.sign(W) * np.maximum(np.abs(W) - lam * mu / 2, 0)
        yield A, E, t, A_before, E_before
        t_before, t = t, (1 + np.sqrt(1 + 4 * t * t)) / 2
