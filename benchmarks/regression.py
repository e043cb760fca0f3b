"""Compare gradient projection with coordinate descent on a sparse-recovery problem.

A sparse signal is measured by a random matrix with noise, and recovered by the lasso:
by GPSR-BB and GPSR-Basic, by scikit-learn's Lasso, and by skglm where it is installed.
Every solver gets the same matrix in Fortran order. GPSR stops at a duality gap of 1e-7
of the objective; the others have measures of their own, and with tol=1e-8 they are at
least as precise: the objectives agree to 1e-6 and better in all rows. All run after one
another in one process, and each is the best of three runs, so ratios count; absolute
times depend on the machine. Loops are compiled before.

    python benchmarks/regression.py           # and benchmarks/results/regression.csv
    python benchmarks/regression.py 200 800   # smaller, nothing is written
"""

# SPDX-License-Identifier: BSD-3-Clause

import csv
import importlib.util
import sys
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.linear_model import Lasso

from fewlabels.regression import gpsr

RESULTS = Path(__file__).parent / "results" / "regression.csv"
N, D = 2000, 8000
SHARES = (0.1, 0.03, 0.01)  # weight of the penalty, as a share of max |A' y|
SEED = 0
RUNS = 3


def problem(n, d):
    """Draw a matrix and a signal of n / 12.5 spikes, and measure it with noise."""
    rng = np.random.default_rng(SEED)
    A = np.asfortranarray(rng.normal(size=(n, d)) / np.sqrt(n))
    signal = np.zeros(d)
    spikes = rng.choice(d, n * 2 // 25, replace=False)
    signal[spikes] = rng.choice([-1, 1], spikes.size)
    return A, signal, A @ signal + 0.01 * rng.normal(size=n)


def by_gpsr(**params):
    return lambda A, y, tau: gpsr(A, y, tau / len(y), tol=1e-7, **params).coef


def by_sklearn(A, y, tau):
    model = Lasso(tau / len(y), fit_intercept=False, tol=1e-8, max_iter=10_000)
    return model.fit(A, y).coef_


def by_skglm(A, y, tau):
    from skglm import Lasso as SkglmLasso

    model = SkglmLasso(tau / len(y), fit_intercept=False, tol=1e-8)
    return model.fit(A, y).coef_


def solvers():
    found = {"scikit-learn Lasso": by_sklearn}
    if importlib.util.find_spec("skglm"):
        found["skglm Lasso"] = by_skglm
    return found | {
        "GPSR-BB": by_gpsr(),
        "GPSR-BB, monotone": by_gpsr(monotone=True),
        "GPSR-BB, continuation": by_gpsr(continuation=5),
        "GPSR-BB, working sets": by_gpsr(working_set=True),
        "GPSR-Basic": by_gpsr(variant="basic"),
    }


def timed(solve, A, y, tau):
    best = np.inf
    for _ in range(RUNS):
        start = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            x = solve(A, y, tau)
        best = min(best, time.perf_counter() - start)
    return x, best


def main(n=N, d=D):
    methods = solvers()
    small, _, measured = problem(50, 200)
    for solve in methods.values():
        timed(solve, small, measured, 0.1)
    A, signal, y = problem(n, d)
    top = np.abs(A.T @ y).max()
    rows = []
    for share in SHARES:
        tau = share * top
        found = {name: timed(solve, A, y, tau) for name, solve in methods.items()}
        objectives = {
            name: 0.5 * np.sum((y - A @ x) ** 2) + tau * np.abs(x).sum()
            for name, (x, _) in found.items()
        }
        least = min(objectives.values())
        theirs = found["scikit-learn Lasso"][1]
        for name, (x, seconds) in found.items():
            row = {
                "tau / max |A'y|": share,
                "solver": name,
                "objective": f"{objectives[name]:.8g}",
                "above the least": f"{objectives[name] / least - 1:.1e}",
                "non-zeros": int(np.count_nonzero(x)),
                "error": f"{np.linalg.norm(x - signal) / np.linalg.norm(signal):.3f}",
                "seconds": f"{seconds:.3f}",
                "times faster": f"{theirs / seconds:.2f}",
            }
            rows.append(row)
            print(" | ".join(str(value) for value in row.values()), flush=True)
    if (n, d) == (N, D):
        RESULTS.parent.mkdir(exist_ok=True)
        with RESULTS.open("w", newline="") as handle:
            writer = csv.DictWriter(handle, rows[0], lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
    return rows


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
