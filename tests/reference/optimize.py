"""Slow twins of the optimisers: the algorithms as they are written, on dense arrays."""

# SPDX-License-Identifier: BSD-3-Clause

import numpy as np


def soft(v, t):
    return np.sign(v) * np.maximum(np.abs(v) - t, 0.0)


def prox(v, t, l1, l2):
    return soft(v, t * l1) / (1 + t * l2)


def sgd(problem, w, batches, steps):
    """Return the last iterate and the sum of all iterates but the first."""
    w, total = w.copy(), np.zeros_like(w)
    for batch, a in zip(batches, steps, strict=True):
        g = np.mean([problem.row_gradient(w, i) for i in batch], axis=0)
        w = soft(w - a * (g + problem.l2 * w), a * problem.l1)
        total += w
    return w, total


def sag(problem, w, rows, a):
    """Return the last iterate and the table of gradients."""
    w = w.copy()
    table = np.array([problem.row_gradient(w, i) for i in range(problem.n_samples)])
    for i in rows:
        table[i] = problem.row_gradient(w, i)
        w = w - a * (table.mean(axis=0) + problem.l2 * w)
    return w, table


def support_share(problem, i):
    """One over the share of rows that have a coordinate of row i, else 0."""
    X = problem.X if isinstance(problem.X, np.ndarray) else problem.X.toarray()
    if problem.X is X:
        return np.ones(X.shape[1])
    counts = np.count_nonzero(X, axis=0)
    return np.where(X[i] != 0, X.shape[0] / np.maximum(counts, 1), 0.0)


def saga(problem, w, rows, a):
    w = w.copy()
    table = np.array([problem.row_gradient(w, i) for i in range(problem.n_samples)])
    for i in rows:
        D = support_share(problem, i)
        new = problem.row_gradient(w, i)
        direction = new - table[i] + D * table.mean(axis=0)
        w = prox(w - a * direction, a, D * problem.l1, D * problem.l2)
        table[i] = new
    return w


def svrg(problem, snapshot, rows, a):
    """Return the inner iterates after the snapshot."""
    v, mean = snapshot.copy(), problem.gradient(snapshot)
    iterates = []
    for i in rows:
        D = support_share(problem, i)
        direction = (
            problem.row_gradient(v, i) - problem.row_gradient(snapshot, i) + D * mean
        )
        v = prox(v - a * direction, a, D * problem.l1, D * problem.l2)
        iterates.append(v)
    return np.array(iterates)


def coordinate(problem, w, partition, order, lipschitz):
    """Return the last iterate and the largest violation met on the way."""
    w, blocks, worst = w.copy(), list(partition), 0.0
    for b in order:
        j = blocks[b]
        g = problem.gradient(w)[j]
        for k, g_k in zip(j, g, strict=True):
            if w[k] == 0:  # the subgradient of h nearest to -g
                near = np.clip(-g_k, -problem.l1[k], problem.l1[k])
            else:
                near = problem.l1[k] * np.sign(w[k]) + problem.l2[k] * w[k]
            worst = max(worst, abs(g_k + near))
        w[j] = prox(
            w[j] - g / lipschitz[b], 1 / lipschitz[b], problem.l1[j], problem.l2[j]
        )
    return w, worst


def approx(problem, x0, partition, subsets, v):
    """Return x after every step."""
    n, tau = len(partition), len(subsets[0])
    blocks = list(partition)
    z, u, theta = x0.copy(), np.zeros_like(x0), tau / n
    xs = []
    for subset in subsets:
        g = problem.gradient(theta**2 * u + z)
        for b in subset:
            j = blocks[b]
            c = n * theta * v[b] / tau
            new = prox(z[j] - g[j] / c, 1 / c, problem.l1[j], problem.l2[j])
            u[j] -= (1 - n / tau * theta) / theta**2 * (new - z[j])
            z[j] = new
        xs.append(theta**2 * u + z)
        theta = (np.sqrt(theta**4 + 4 * theta**2) - theta**2) / 2
    return np.array(xs)


def accelerated_proximal_gradient(problem, x0, v, n_steps):
    """Run Tseng's method in the diagonal metric v, in its usual variables."""
    x, z, theta = x0.copy(), x0.copy(), 1.0
    xs = []
    for _ in range(n_steps):
        y = (1 - theta) * x + theta * z
        new = prox(
            z - problem.gradient(y) / (theta * v), 1 / (theta * v),
            problem.l1, problem.l2,
        )  # fmt: skip
        x, z = y + theta * (new - z), new
        xs.append(x)
        theta = (np.sqrt(theta**4 + 4 * theta**2) - theta**2) / 2
    return np.array(xs)
