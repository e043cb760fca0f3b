"""Compare the optimisers with scikit-learn's on logistic regression and the Lasso.

Every solver stops by its own rule. It runs with tolerances that become smaller by a
factor of ten until its solution violates the condition of a minimiser by no more than
1e-9 of the largest component of the gradient at zero; the time is that of the last run
alone. "difference" is the largest one of a coefficient from the solution of the first
solver of the group. Seconds are those of the processor. All run after one another in
one process, so ratios count; absolute times depend on the machine.

    python benchmarks/optimize.py             # and benchmarks/results/optimize.csv
    python benchmarks/optimize.py 0.1         # a tenth of the rows, nothing is written
"""

# SPDX-License-Identifier: BSD-3-Clause

import csv
import sys
import time
import warnings
from functools import partial
from pathlib import Path

import numpy as np
from scipy import sparse
from sklearn.linear_model import Lasso, LogisticRegression

from fewlabels.optimize import (
    FiniteSumProblem,
    L1Penalty,
    L2Penalty,
    coordinate_descent,
    saga_minimize,
    svrg_minimize,
)

RESULTS = Path(__file__).parent / "results" / "optimize.csv"
TARGET = 1e-9
SEED = 0


def dense(n, d, noise, correlation=0.0):
    rng = np.random.default_rng(SEED)
    X = rng.normal(size=(n, d))
    X = np.sqrt(1 - correlation) * X + np.sqrt(correlation) * rng.normal(size=(n, 1))
    w = np.where(np.arange(d) < 20, rng.normal(size=d), 0.0)
    return X, X @ w + noise * rng.normal(size=n)


def sparse_rows(n, d, density):
    rng = np.random.default_rng(SEED)
    X = sparse.random_array((n, d), density=density, format="csr", rng=rng)
    X.data[:] = rng.normal(size=X.data.size)
    return X, X @ rng.normal(size=d) + rng.normal(size=n)


def logistic(data, alpha, l1_ratio):
    """Return the problem and the solvers, each a function of tolerance."""
    X, z = data
    y = np.where(z > 0, 1.0, -1.0)
    n = X.shape[0]
    penalty = L1Penalty(alpha) if l1_ratio else L2Penalty(alpha)
    problem = FiniteSumProblem(X, y, "logistic", penalty)

    def theirs(tol):
        model = LogisticRegression(
            C=1 / (n * alpha), l1_ratio=l1_ratio, solver="saga", fit_intercept=False,
            tol=tol, max_iter=100_000, random_state=SEED,
        ).fit(X, y)  # fmt: skip
        return model.coef_[0], int(model.n_iter_[0])

    def ours(solver, tol, **parameters):
        result = solver(
            FiniteSumProblem(X, y, "logistic", penalty), tol=tol, max_iter=100_000,
            random_state=SEED, **parameters,
        )  # fmt: skip
        return result.x, result.n_iter

    third = 1 / (3 * problem.row_lipschitz)
    return problem, {
        "scikit-learn saga": theirs,
        "saga_minimize": partial(ours, saga_minimize),
        "svrg_minimize": partial(ours, svrg_minimize),
        "svrg_minimize, step 1 / (3 L)": partial(ours, svrg_minimize, step=third),
    }


def lasso(data, alpha):
    X, y = data
    problem = FiniteSumProblem(X, y, "squared", L1Penalty(alpha))

    def theirs(tol):
        model = Lasso(alpha, fit_intercept=False, tol=tol, max_iter=100_000).fit(X, y)
        return model.coef_, model.n_iter_

    def ours(tol, **parameters):
        # A new problem each time, so that laying out columns counts.
        fresh = FiniteSumProblem(X, y, "squared", L1Penalty(alpha))
        result = coordinate_descent(fresh, tol=tol, max_iter=100_000, **parameters)
        return result.x, result.n_iter

    return problem, {
        "scikit-learn Lasso": theirs,
        "coordinate_descent": ours,
        "coordinate_descent, working set": partial(ours, working_set=True),
    }


def cases(scale):
    """Name -> problem and solvers, made when they are asked for."""

    def rows(n):
        return max(int(scale * n), 50)

    n = rows(20_000)
    yield "logistic, l2, dense", partial(logistic, dense(n, 50, 3.0), 1e-3, 0.0)
    yield "logistic, l1, dense", partial(logistic, dense(n, 50, 3.0), 1e-3, 1.0)
    correlated = dense(rows(5000), 50, 3.0, 0.5)
    yield "logistic, l2, correlated", partial(logistic, correlated, 1e-3, 0.0)
    few = sparse_rows(rows(5000), 1000, 0.01)
    yield "logistic, l2, sparse", partial(logistic, few, 1e-3, 0.0)
    few = sparse_rows(rows(2000), 200, 0.05)
    yield "logistic, l1, sparse", partial(logistic, few, 1e-3, 1.0)
    yield "Lasso, many rows", partial(lasso, dense(rows(20_000), 200, 1.0), 0.02)
    yield "Lasso, many features", partial(lasso, dense(rows(500), 5000, 1.0), 0.1)
    yield "Lasso, correlated", partial(lasso, dense(rows(500), 2000, 1.0, 0.5), 0.05)


def solve(problem, solver):
    """Time the first tolerance that reaches the target; the least of three runs."""
    for digits in range(8, 16):
        x, epochs = solver(tol=10.0**-digits)
        violation = problem.violation(x) / problem.scale
        if violation <= TARGET:
            break
    times = []
    for _ in range(3):
        start = time.process_time()
        solver(tol=10.0**-digits)
        times.append(time.process_time() - start)
        if times[0] > 2:
            break
    return x, epochs, violation, min(times)


def main(scale=1.0):
    rows = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, make in cases(scale):
            problem, solvers = make()
            first = None
            for solver, function in solvers.items():
                x, epochs, violation, seconds = solve(problem, function)
                first = (x, seconds) if first is None else first
                row = {
                    "problem": name,
                    "rows": problem.n_samples,
                    "features": problem.n_features,
                    "solver": solver,
                    "epochs": epochs,
                    "seconds": f"{seconds:.3f}",
                    "times faster": f"{first[1] / seconds:.2f}",
                    "violation": f"{violation:.0e}",
                    "difference": f"{np.max(np.abs(x - first[0])):.0e}",
                }
                rows.append(row)
                print(" | ".join(str(value) for value in row.values()), flush=True)
    if scale == 1:
        RESULTS.parent.mkdir(exist_ok=True)
        with RESULTS.open("w", newline="") as handle:
            writer = csv.DictWriter(handle, rows[0], lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
    return rows


if __name__ == "__main__":
    main(*map(float, sys.argv[1:]))
