"""Slow twins of the partition problem and its solvers."""

# SPDX-License-Identifier: BSD-3-Clause

import itertools

import numpy as np


def objective(K, codes, n_classes, labeled, alpha, unlabeled_weight):
    """F by solving the least-squares problem of every class in full."""
    n, l = len(codes), int(np.sum(labeled))  # noqa: E741
    u = n - l
    weights = np.where(labeled, 1 / max(l, 1), unlabeled_weight / max(u, 1))
    if l == 0:
        weights = np.full(n, 1 / u)
    total = 0.0
    for c in range(n_classes):
        y = np.where(codes == c, 1.0, -1.0)
        # Stationary point of sum_i w_i (y - Kc)_i^2 + alpha c'Kc.
        W = np.diag(weights)
        coef = np.linalg.lstsq(K @ W @ K + alpha * K, K @ W @ y, rcond=None)[0]
        residual = y - K @ coef
        total += residual @ W @ residual + alpha * coef @ K @ coef
    return total / 2


def exhaustive(problem):
    """The best partition within the bounds, by looking at all of them."""
    best, best_codes = np.inf, None
    k = problem.n_classes
    for free in itertools.product(range(k), repeat=problem.free.size):
        sizes = np.bincount(np.array(free, dtype=int), minlength=k)
        if not problem.bounds.admit(sizes):
            continue
        codes = problem.codes.copy()
        codes[problem.free] = free
        value = problem.objectives_of(codes[None])[0]
        if value < best:
            best, best_codes = value, codes
    return best, best_codes


def exhaustive_fast(problem):
    """The best value of two classes over all partitions, in one matrix product."""
    u = problem.free.size
    free = (np.arange(2**u)[:, None] >> np.arange(u)) & 1
    positive = free.sum(axis=1)
    admitted = (problem.lower[1] <= positive) & (positive <= problem.upper[1])
    free = free[admitted]
    Y = np.empty((len(free), problem.codes.size))
    Y[:, problem.free] = 2 * free - 1
    Y[:, problem.labeled] = 2 * problem.codes[problem.labeled] - 1
    values = np.sum(problem.d**2) - np.sum(Y * problem.system.products(Y.T).T, axis=1)
    return values.min(), free[values.argmin()]


def climb(problem, codes, max_steps=10_000):
    """Round robin, first improvement, recomputing F from scratch for every trial."""
    codes = codes.copy()
    k = problem.n_classes
    value = problem.objectives_of(codes[None])[0]
    tol = 1e-12 * 0.5 * k * np.sum(problem.d**2)
    unchanged = step = 0
    while unchanged < problem.free.size and step < max_steps:
        i = problem.free[step % problem.free.size]
        step += 1
        sizes = np.bincount(codes[problem.free], minlength=k)
        best, target = value, None
        for b in range(k):
            a = codes[i]
            if b == a or sizes[a] <= problem.lower[a] or sizes[b] >= problem.upper[b]:
                continue
            trial = codes.copy()
            trial[i] = b
            f = problem.objectives_of(trial[None])[0]
            if f < best - tol:  # of equals, the first
                best, target = f, b
        if target is None:
            unchanged += 1
        else:
            codes[i] = target
            value, unchanged = best, 0
    return codes, value, step
