"""Measure robust PCA with partial SVDs, and compiled subspace trackers.

Robust PCA gets a matrix of 2000 x 500 that is the sum of one of low rank and one with
gross errors, and is asked for both. A second run on the same matrix computes all
singular values in every step, each of which takes the same time, so that some are
enough: the ratio of the times of a step counts, absolute times depend on the machine.

The trackers follow 20,000 rows of 50 features, like the same rules written in NumPy.

    python benchmarks/decomposition.py             # and benchmarks/results/
    python benchmarks/decomposition.py 200 80      # smaller, nothing is written
"""

# SPDX-License-Identifier: BSD-3-Clause

import csv
import sys
import time
import warnings
from pathlib import Path

import numpy as np

from fewlabels.decomposition import (
    minor_update,
    oja_update,
    past_update,
    robust_pca,
)

RESULTS = Path(__file__).parent / "results"
SHAPE = (2000, 500)
SEED = 0
FULL_STEPS = 20

# rank as a share of the smaller side, share of wrong entries
CASES = [(0.05, 0.1), (0.05, 0.2), (0.1, 0.1)]


def planted(m, n, rank, share):
    """Return a low-rank matrix, and errors of the size of its entries and beyond."""
    rng = np.random.default_rng(SEED)
    low_rank = rng.normal(size=(m, rank)) @ rng.normal(size=(rank, n))
    wrong = rng.random((m, n)) < share
    size = 10 * np.sqrt(rank)
    return low_rank, np.where(wrong, rng.uniform(-size, size, (m, n)), 0.0)


def timed(function, *arguments, **parameters):
    start = time.perf_counter()
    result = function(*arguments, **parameters)
    return result, time.perf_counter() - start


def compare_svds(m, n, share_of_rank, share_wrong):
    """Take a matrix apart, and time some steps that compute all singular values."""
    rank = max(1, round(share_of_rank * min(m, n)))
    A, E = planted(m, n, rank, share_wrong)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # so few steps do not converge
        full, slow = timed(robust_pca, A + E, svd_solver="full", max_iter=FULL_STEPS)
    result, seconds = timed(robust_pca, A + E, random_state=0)
    row = {
        "shape": f"{m} x {n}",
        "rank": rank,
        "wrong entries": f"{share_wrong:.0%}",
        "rank found": result.components.shape[0],
        "error of A": f"{relative(result.low_rank, A):.0e}",
        "error of E": f"{relative(result.sparse, E):.0e}",
        "converged": result.converged,
        "steps": result.n_iter,
        "full SVDs": result.n_full_svd,
        "seconds": round(seconds, 1),
        "a step, times faster": round(slow / full.n_iter / seconds * result.n_iter, 1),
    }
    show(row)
    return row


def relative(actual, desired):
    return np.linalg.norm(actual - desired) / np.linalg.norm(desired)


def numpy_oja(X, W, step):
    for x in X:
        y = x @ W
        W = W + step * np.outer(x - W @ y, y)
    return W


def numpy_past(X, W, P, forgetting):
    for x in X:
        y = x @ W
        h = P @ y
        g = h / (forgetting + y @ h)
        P = (P - np.outer(g, h)) / forgetting
        P = (P + P.T) / 2  # without this, rounding makes it explode
        W = W + np.outer(x - W @ y, g)
    return W


def numpy_douglas(X, W, step):
    for x in X:
        y = x @ W
        G = W.T @ W
        W = W - step * (np.outer(x, G @ (G @ y)) - np.outer(W @ y, y))
    return W


def compare_loops(n, d=50, r=5):
    """Follow the same rows with compiled loops and with NumPy, row by row."""
    rng = np.random.default_rng(SEED)
    X = rng.normal(size=(n, d)) * np.linspace(2, 0.5, d)
    W = np.linalg.qr(rng.normal(size=(d, r)))[0]
    P = np.eye(r)
    cases = {
        "oja_update": (
            lambda X: oja_update(X, W, 1e-3),
            lambda X: numpy_oja(X, W, 1e-3),
        ),
        "past_update": (
            lambda X: past_update(X, W, P, forgetting=0.99)[0],
            lambda X: numpy_past(X, W, P, 0.99),
        ),
        "minor_update": (
            lambda X: minor_update(X, W, 1e-3),
            lambda X: numpy_douglas(X, W, 1e-3),
        ),
    }
    rows = []
    for name, (ours, plain) in cases.items():
        ours(X[:2])  # load the compiled loop
        W_ours, seconds = timed(ours, X)
        W_plain, slow = timed(plain, X)
        rows.append(
            {
                "function": name,
                "rows": n,
                "features": d,
                "components": r,
                "rows per second": int(n / seconds),
                "times faster than NumPy": round(slow / seconds, 1),
                "largest difference": f"{np.abs(W_ours - W_plain).max():.0e}",
            }
        )
        show(rows[-1])
    return rows


def show(row):
    print(" | ".join(str(value) for value in row.values()), flush=True)


def write(name, rows):
    RESULTS.mkdir(exist_ok=True)
    with (RESULTS / name).open("w", newline="") as handle:
        writer = csv.DictWriter(handle, rows[0], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def main(m=SHAPE[0], n=SHAPE[1]):
    svds = [compare_svds(m, n, *case) for case in CASES]
    loops = compare_loops(10 * m)
    if (m, n) == SHAPE:
        write("robust_pca.csv", svds)
        write("subspaces.csv", loops)
    return svds, loops


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
