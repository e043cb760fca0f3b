"""Cells of arrangements and bounds on signed sums, the slow and obvious way."""

# SPDX-License-Identifier: BSD-3-Clause

import itertools

import numpy as np
from scipy.optimize import linprog


def cells(G):
    """Sign vectors s for which some w has s_i g_i'w >= 1: a linear program for each."""
    found = []
    for signs in itertools.product((-1, 1), repeat=len(G)):
        rows = -np.array(signs)[:, None] * G
        result = linprog(
            np.zeros(G.shape[1]),
            A_ub=rows,
            b_ub=-np.ones(len(G)),
            bounds=[(None, None)] * G.shape[1],
        )
        if result.status == 0:
            found.append(signs)
    return np.array(sorted(found))


def turn(G, P, base, lower, upper):
    """Longest sum over directions halfway between those where a sign changes."""
    critical = np.sort(np.arctan2(G[:, 1], G[:, 0]) + np.pi / 2)
    critical = np.unique(np.concatenate([critical, critical + np.pi]) % (2 * np.pi))
    between = (critical + np.roll(critical, -1)) / 2
    between[-1] += np.pi
    best = -1.0
    for phi in between:
        signs = np.sign(G @ [np.cos(phi), np.sin(phi)])
        p = base + signs @ P
        if lower <= p[-1] <= upper:
            best = max(best, p[:-1] @ p[:-1])
    return best


def restrict(G, i):
    """Unit vectors along the projections onto the hyperplane orthogonal to row i."""
    others = np.delete(G, i, axis=0)
    projected = others - np.outer(others @ G[i], G[i])
    return projected / np.linalg.norm(projected, axis=1)[:, None]


def relax(B, e, nu, V, n_sweeps):
    """Every vector in turn along what the others ask for; then the multipliers."""
    Q = B @ B.T - nu * np.outer(e, e)
    V = V.copy()
    for _ in range(n_sweeps):
        for i in range(len(B)):
            g = Q[i] @ V - Q[i, i] * V[i]
            if np.linalg.norm(g) > 1e-14 * abs(Q[i, i]):
                V[i] = g / np.linalg.norm(g)
    G = Q @ V - np.diag(Q)[:, None] * V
    return V, np.linalg.norm(G, axis=1) + np.diag(Q)


def weighted_bound(B, e, nu, slack, delta):
    """Largest ratio of the quadratic forms of B B' and A, times what A is at most."""
    A = np.diag(delta) + nu * np.outer(e, e)
    ratio = np.linalg.eigvalsh(B.T @ np.linalg.solve(A, B))[-1]
    return ratio * (delta.sum() + nu * slack)


def completions(fixed):
    """All sign vectors that agree with those that are fixed."""
    choices = [(-1, 1) if f == 0 else (f,) for f in fixed]
    return np.array(list(itertools.product(*choices)), dtype=float)
