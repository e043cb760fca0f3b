"""Solvers that are no estimators, judged by exact arithmetic or by all policies."""

# SPDX-License-Identifier: BSD-3-Clause

from fractions import Fraction

import numpy as np

from fewlabels import reinforcement
from fewlabels import semi_supervised as semi
from tests.reference import rational
from tests.reference.reinforcement import best_gains, best_policy
from tests.reinforcement.processes import multichain_process
from tests.robustness.problems import MARGIN


def between(low, value, high, slack):
    """Whether bounds hold, and the numbers are as long as they should be."""
    return bool((low <= value + slack).all() and (value <= high + slack).all())


def judge_process(rng):
    """What is wrong about the solutions of a small process, or nothing."""
    n_states, n_actions = int(rng.integers(2, 5)), int(rng.integers(1, 4))
    P, R, terminal = multichain_process(rng, n_states, n_actions)
    if rng.random() < 0.4:  # weak links between what was apart
        link = 2.0 ** -int(rng.integers(1, 14))
        mixed = rng.multinomial(64, np.ones(n_states) / n_states, R.shape) / 64
        P = (1 - link) * P + link * mixed
    unit = 2.0 ** int(rng.integers(-60, 61))
    gamma = float(rng.choice([0.0, 0.5, 0.9, 0.97]))
    mdp = reinforcement.MDP(P, unit * R, gamma, terminal=terminal)
    size = unit * max(float(np.abs(R).max()), 1.0)
    gains = unit * best_gains(P, R, terminal)
    found = reinforcement.gain_policy_iteration(mdp)
    own = reinforcement.policy_gain(mdp, found.policy)
    slack = 1e-9 * size
    if np.abs(found.gain - gains).max() > slack or np.abs(own - gains).max() > slack:
        return "gain"
    if not between(found.lower, gains, found.upper, slack):
        return "bounds of the gain"
    if (found.upper - found.lower).max() > 1e-6 * size:
        return "no proof of the gain"
    values = unit * best_policy(P, R, gamma, terminal)[0]
    slack = 1e-9 * size / (1 - gamma)
    for solution in (
        reinforcement.policy_iteration(mdp),
        reinforcement.value_iteration(mdp, tol=1e-6 * size),
    ):
        if not between(solution.lower, values, solution.upper, slack):
            return "bounds of the values"
        reached = reinforcement.policy_evaluation(mdp, solution.policy)
        if (values - reached).max() > solution.policy_loss + slack:
            return "policy"
    return ""


def weak_graph(rng):
    """A connected graph of a few groups, joined by links of 1e-3 to 1e-12."""
    n_groups = int(rng.integers(2, 4))
    group = np.sort(np.append(np.arange(n_groups), rng.integers(n_groups, size=5)))
    n = group.size
    W = np.zeros((n, n))
    for i in range(1, n):
        # A tree first, inside of groups where there is somebody to join.
        j = int(rng.integers(i))
        inside = np.flatnonzero(group[:i] == group[i])
        if inside.size:
            j = int(rng.choice(inside))
        W[i, j] = float(rng.integers(1, 9))
    extra = np.tril(rng.random((n, n)) < 0.3, -1) * rng.integers(1, 9, (n, n))
    W = np.maximum(W, extra)
    apart = np.not_equal.outer(group, group)
    W[apart] *= 2.0 ** -int(rng.integers(10, 41))
    return W + W.T


def judge_graph(rng):
    """What is wrong about functions on a graph with weak links, or nothing."""
    W = weak_graph(rng)
    n = len(W)
    labeled = rng.permutation(n)[: int(rng.integers(2, 5))]
    codes = np.arange(labeled.size) % 2
    Y = np.eye(2)[codes]
    free = np.setdiff1d(np.arange(n), labeled)
    L = exact(np.diag(W.sum(axis=1)) - W)
    d = [L[i][i] for i in range(n)]
    inner = [[L[i][j] for j in free] for i in free]
    right = [
        [
            -sum(L[i][j] * int(c == k) for j, c in zip(labeled, codes, strict=True))
            for k in range(2)
        ]
        for i in free
    ]
    harmonic = np.eye(2)[np.zeros(n, dtype=int)]
    harmonic[labeled] = Y
    harmonic[free] = product(rational.inverse(inner), right)
    grounded = [[L[i][j] + d[i] * d[j] for j in range(n)] for i in range(n)]
    sources = [[Fraction(0)] * 2 for _ in range(n)]
    for i, c in zip(labeled, codes, strict=True):
        for k in range(2):
            sources[i][k] = int(c == k) - Fraction(int((codes == k).sum()), codes.size)
    poisson = product(rational.inverse(grounded), sources)
    for solver in ("direct", "cg"):
        for name, solve, expected in (
            ("harmonic", semi.harmonic_functions, harmonic),
            ("poisson", semi.poisson_functions, poisson),
        ):
            found = solve(W, labeled, Y, solver=solver, tol=1e-10).values
            size = np.abs(expected).max()
            lead = np.abs(expected[:, 0] - expected[:, 1])
            clear = lead > MARGIN * size
            if (found.argmax(axis=1) != expected.argmax(axis=1))[clear].any():
                return f"{name} {solver}: decisions"
            if np.abs(found - expected).max() > 1e-3 * size:
                return f"{name} {solver}: values"
    return ""


def exact(A):
    """Fractions of floats."""
    return [[Fraction(float(value)) for value in row] for row in A]


def product(A, B):
    """A B of fractions, as floats."""
    return np.array(
        [
            [
                float(sum(a * b for a, b in zip(row, column, strict=True)))
                for column in zip(*B, strict=True)
            ]
            for row in A
        ]
    )


OTHERS = {
    "processes": (judge_process, "with all policies"),
    "graphs": (judge_graph, "with exact arithmetic"),
}
