"""What the documentation says about the solver of S2RLSC: optimality, speed, memory."""

# SPDX-License-Identifier: BSD-3-Clause

import csv
import json
import subprocess
import sys
import time

import numpy as np
from benchmarks.papers.s2rlsc_experiment import ARTIFICIAL, LAMS, Split, rlsc_errors

from fewlabels.datasets import make_gaussian2c
from fewlabels.partition import PartitionProblem, local_search


def claims(out):
    """Measure what the documentation says about the solver."""
    lines = [
        *optimality(),
        *speed(),
        *path_cost(),
        large_fit(),
        *best_possible(),
    ]
    with (out / "s2rlsc_claims.csv").open("w", newline="") as handle:
        writer = csv.writer(handle, lineterminator="\n")
        writer.writerow(["what", "asked", "measured"])
        for line in lines:
            print(" | ".join(line))
            writer.writerow(line)


def small_problem(seed, n_labelled, balanced):
    rng = np.random.default_rng(seed)
    n = 8 + seed % 7
    Z = rng.normal(size=(n, 4))
    y = np.zeros(n, dtype=int)
    y[:n_labelled] = np.resize([-1, 1], n_labelled)
    balance = (0.5, 0.1) if balanced else (None, None)
    return PartitionProblem.from_factor(Z, y, 0.1, 1.0, *balance)


def best_possible():
    """Gaussian sets: the error with all training labels, alpha by the test rows."""
    lines = []
    for name, make in ARTIFICIAL.items():
        errors = []
        for seed in range(20):
            X, y = make(500, 500, random_state=seed)
            split = Split(X, y, 250, 0, 250, seed)
            path = rlsc_errors(split, np.arange(250), split.X_test, split.signs_test)
            errors.append(100 * path.min())
        what = (
            f"{name}: test error (%) of RLSC with the labels of all 250 training rows"
        )
        lines.append((what, "", f"{np.mean(errors):.1f} ± {np.std(errors):.1f}"))
    return lines


def optimality():
    """Best of 50 restarts against all partitions, n <= 14."""
    lines = []
    for n_labelled in (0, 4):
        for balanced in (False, True):
            solved = rising = 0
            for seed in range(100):
                problem = small_problem(seed, n_labelled, balanced)
                u = len(problem.free)
                free = 2 * ((np.arange(2**u)[:, None] >> np.arange(u)) & 1) - 1
                positive = (free > 0).sum(axis=1)
                free = free[
                    (problem.lower[1] <= positive) & (positive <= problem.upper[1])
                ]
                Y = np.empty((len(free), len(problem.codes)))
                Y[:, problem.free] = free
                Y[:, problem.labeled] = 2 * problem.codes[problem.labeled] - 1
                S = np.sum(Y * problem.system.products(Y.T).T, axis=1)
                best = np.sum(problem.d**2) - S.max()
                result = local_search(problem, "random", 50, random_state=seed)
                solved += result.objective <= best + 1e-9
                rising += np.any(np.diff(result.history) > 1e-12)
            what = (
                f"optimum found by the best of 50 runs, {n_labelled} labels, "
                f"{'balanced' if balanced else 'no balance'}"
            )
            lines.append((what, ">= 95 of 100", f"{solved} of 100"))
            lines.append(("histories that rise, same instances", "0", str(rising)))
    return lines


def least_time(function, repeat=5):
    seconds = []
    for _ in range(repeat):
        start = time.perf_counter()
        value = function()
        seconds.append(time.perf_counter() - start)
    return min(seconds), value


def naive_climb(problem, y, limit=None):
    """Round robin that computes F by matrix products for every trial.

    Returns the partition, the number of trials and whether the limit stopped it.
    """
    y = y.copy()
    Q = problem.system.dense(np.arange(len(y)))
    value = y @ Q @ y
    unchanged = trials = 0
    while unchanged < len(problem.free):
        if limit is not None and trials >= limit:
            return y, trials, True
        i = problem.free[trials % len(problem.free)]
        trials += 1
        y[i] = -y[i]
        positive = np.sum(y[problem.free] > 0)
        admitted = problem.lower[1] <= positive <= problem.upper[1]
        flipped = y @ Q @ y if admitted else -np.inf
        if flipped > value + 1e-12:
            value, unchanged = flipped, 0
        else:
            y[i] = -y[i]
            unchanged += 1
    return y, trials, False


def plain_climb():
    """Compile the loop that one would write first: r products for every trial."""
    from numba import njit

    @njit
    def climb(B, p, y, lower, upper, tol):
        u, r = B.shape
        positive = np.sum(y > 0)
        unchanged = trials = i = 0
        while unchanged < u:
            trials += 1
            product = norm = 0.0
            for t in range(r):
                product += B[i, t] * p[t]
                norm += B[i, t] * B[i, t]
            after = positive - int(y[i])
            if lower <= after <= upper and 4.0 * (norm - y[i] * product) > tol:
                for t in range(r):
                    p[t] -= 2.0 * y[i] * B[i, t]
                y[i] = -y[i]
                positive = after
                unchanged = 0
            else:
                unchanged += 1
            i = (i + 1) % u
        return trials

    return climb


def speed(n=1000, rank=500):
    """Search with kept gains, with O(r) per trial, and by recomputing F."""
    X, y = make_gaussian2c(n, rank, random_state=0)
    signs = np.where(np.arange(n) < 25, 2 * y - 1, 0)

    def fit(representation):
        problem = PartitionProblem.from_factor(X, signs, balance=0.5)
        return local_search(
            problem, "random", 50, random_state=0, representation=representation
        )

    fit("dense"), fit("factor")  # compile
    whole, dense = least_time(lambda: fit("dense"))
    _, factor = least_time(lambda: fit("factor"))
    dense_search = min(fit("dense").seconds["search"] for _ in range(5))
    factor_search = min(fit("factor").seconds["search"] for _ in range(5))
    same = np.array_equal(dense.y, factor.y)
    problem = PartitionProblem.from_factor(X, signs, balance=0.5)
    firsts = [
        local_search(problem, "random", random_state=seed, max_trials=0).y.astype(float)
        for seed in range(50)
    ]
    climb, B, free = plain_climb(), problem.system.B, problem.free
    B_free = np.ascontiguousarray(B[free])

    def plain_runs():
        for first in firsts:
            y_free = first[free]
            climb(
                B_free, B.T @ first, y_free, problem.lower[1], problem.upper[1], 1e-12
            )
        return y_free

    plain_runs()  # compile
    plain_search, _ = least_time(plain_runs)
    # The naive way, for some trials of one run; 50 runs make dense.n_trials of them.
    first = firsts[0]
    seconds, (_, trials, _) = least_time(
        lambda: naive_climb(problem, first, limit=2000), repeat=2
    )
    naive = seconds / trials * dense.n_trials
    return [
        (
            f"search, n = {n}, rank {rank}, 50 runs: plain compiled loop with O(rank) "
            "per trial / gains kept",
            ">= 8",
            f"{plain_search / dense_search:.1f}",
        ),
        (
            "the same, our vectorised O(rank) loop / gains kept",
            "",
            f"{factor_search / dense_search:.1f}",
        ),
        ("same partitions", "yes", "yes" if same else "no"),
        (
            "whole fit: F by matrix products for every trial / gains kept",
            ">= 100",
            f"{naive / whole:.0f}",
        ),
    ]


def path_cost(n=1000):
    """21 values of alpha compared with single fits."""
    lines = []
    for name, rank in (("rank 256", 256), ("full rank", n)):
        X, y = make_gaussian2c(n, rank, random_state=0)
        signs = np.where(np.arange(n) < 25, 2 * y - 1, 0)
        if rank < n:
            make, matrix = PartitionProblem.from_factor, X
        else:
            make, matrix = PartitionProblem.from_kernel, X @ X.T

        def fit(problem):
            problem.model(local_search(problem).y)

        def single(make=make, matrix=matrix, signs=signs):
            fit(make(matrix, signs, balance=0.5))

        def along(make=make, matrix=matrix, signs=signs):
            for problem in make(matrix, signs, balance=0.5).path(LAMS):
                fit(problem)

        def decompose(make=make, matrix=matrix, signs=signs):
            next(make(matrix, signs, balance=0.5).path([1.0]))

        single(), along()  # compiles
        # In turns, so that what else the machine does slows all of them down.
        turns = [
            [least_time(f, 1)[0] for f in (single, along, decompose)] for _ in range(15)
        ]
        alone, path, decomposition = np.min(turns, axis=0)
        lines.append(
            (
                f"21 values of alpha / one fit, n = {n}, {name}",
                "< 3",
                f"{path / alone:.1f} (the decomposition alone "
                f"{decomposition / alone:.1f})",
            )
        )
    return lines


def large_fit():
    """100,000 x 100, linear kernel, 50 labels: peak memory in a process of its own."""
    code = (
        "import resource, json, numpy as np\n"
        "from fewlabels.semi_supervised import S2RLSClassifier\n"
        "rng = np.random.default_rng(0)\n"
        "X = rng.normal(size=(100_000, 100)); y = np.full(100_000, -1)\n"
        "truth = rng.integers(2, size=100_000); X[:, 0] += 5 * truth - 2.5\n"
        "y[:50] = truth[:50]\n"
        "S2RLSClassifier(kernel='linear', n_init=1).fit(X[:500], y[:500])\n"
        "model = S2RLSClassifier(kernel='linear', n_init=1)\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "model.fit(X, y)\n"
        "after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "error = np.mean((model.transduction_ != truth)[50:])\n"
        "print(json.dumps([1024 * (after - before) / X.nbytes, error]))\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    ratio, error = json.loads(run.stdout)
    return (
        "fit of 100,000 x 100 with 50 labels: peak memory (input included) / input "
        f"(error {100 * error:.1f} %)",
        "< 4",
        f"{1 + ratio:.2f}",
    )
