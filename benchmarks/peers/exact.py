"""Compare the exact solvers with SCIP, a general solver, in one run.

    python benchmarks/peers/exact.py                  # about four minutes
    python benchmarks/peers/exact.py --seconds 5      # a shorter look

Needs the extra 'peers'. All maximise S(y) = ||B'y||^2 over signs for the same B, that
of regularised least squares on centred Gaussian features. SCIP gets the form it can use
best: x in {0, 1}, p = B'(2x - 1) as linear equations, and an objective t that is at
most the sum of p_k^2; one sign is fixed, as y and -y are the same partition. It runs
with its own settings on one thread. The gap of either is (upper bound - S) / S, with S
computed anew from the signs.
"""

# SPDX-License-Identifier: BSD-3-Clause

import argparse
import csv
import time
from functools import cache
from pathlib import Path

import numpy as np
from scipy import linalg
from tqdm import tqdm

from fewlabels.partition import PartitionProblem, branch_and_bound, solve_exact

RESULTS = Path(__file__).parents[1] / "results"
SECONDS = 40.0
LAM = 1.0
# points, rank, our solver
CASES = (
    (1000, 2, "exact"),
    (500, 3, "exact"),
    (100, 5, "exact"),
    (100, 5, "branch_and_bound"),
    (200, 5, "exact"),
    (100, 8, "branch_and_bound"),
)
# A gap below this is none: SCIP's own tolerance.
PROVEN = 1e-6


def scip():
    """Import the general solver."""
    try:
        import pyscipopt
    except ImportError as error:
        raise SystemExit(
            "This benchmark needs pyscipopt: pip install 'fewlabels[peers]'."
        ) from error
    return pyscipopt


def features(n, rank):
    Z = np.random.default_rng(n + rank).normal(size=(n, rank))
    return Z - Z.mean(axis=0)


def factor(Z, alpha=LAM):
    """Return B with S(y) = ||B'y||^2, from the formula."""
    C = Z / np.sqrt(len(Z))
    R = np.linalg.cholesky(C.T @ C + alpha * np.eye(Z.shape[1]))
    return linalg.solve_triangular(R, C.T, lower=True).T / np.sqrt(len(Z))


@cache
def by_scip(n, rank, seconds):
    """Signs, upper bound on S, seconds and status of SCIP."""
    solver = scip()
    B = factor(features(n, rank))
    scale = np.sqrt(n)  # for coefficients and sums of a size that suits its tolerances
    C = scale * B
    model = solver.Model()
    model.hideOutput()
    model.setParam("limits/time", float(seconds))
    x = [model.addVar(vtype="B") for _ in range(n)]
    reach = np.abs(C).sum(axis=0)
    p = [model.addVar(lb=-reach[k], ub=reach[k]) for k in range(rank)]
    t = model.addVar(lb=0.0, ub=float(np.sum(reach**2)))
    for k in range(rank):
        total = solver.quicksum(2 * C[i, k] * x[i] for i in range(n))
        model.addCons(p[k] == total - float(C[:, k].sum()))
    model.addCons(t <= solver.quicksum(p_k * p_k for p_k in p))
    longest = int(np.argmax(np.einsum("ij,ij->i", C, C)))
    model.addCons(x[longest] == 1)
    model.setObjective(t, "maximize")
    start = time.perf_counter()
    model.optimize()
    taken = time.perf_counter() - start
    y = np.ones(n)
    if model.getNSols() > 0:
        y = np.array([1.0 if model.getVal(v) > 0.5 else -1.0 for v in x])
    return y, model.getDualbound() / scale**2, taken, str(model.getStatus())


def by_us(Z, solver, seconds, n_jobs):
    """Signs, upper bound on S, seconds (all of them) and status of fewlabels."""
    start = time.perf_counter()
    problem = PartitionProblem.from_factor(Z, np.zeros(len(Z)), alpha=LAM)
    if solver == "exact":
        result = solve_exact(problem, n_jobs=n_jobs, progress=False)
    else:
        result = branch_and_bound(problem, seconds, n_jobs=n_jobs, progress=False)
    taken = time.perf_counter() - start
    return result.y, 1.0 - result.lower_bound, taken, result.stop_reason


def gap(B, y, upper):
    value = float(np.sum((B.T @ y) ** 2))
    return max(upper - value, 0.0) / value


def compare(n, rank, solver, seconds, n_jobs):
    """Return one line: both solvers on one instance."""
    Z = features(n, rank)
    B = factor(Z)
    ours, our_upper, our_time, our_status = by_us(Z, solver, seconds, n_jobs)
    theirs, their_upper, their_time, their_status = by_scip(n, rank, seconds)
    our_gap, their_gap = gap(B, ours, our_upper), gap(B, theirs, their_upper)
    ratio = their_time / our_time
    # A run that hit the limit would have taken longer.
    more = "> " if their_gap > PROVEN else ""
    proven = our_gap <= PROVEN
    return {
        "points": n,
        "rank": rank,
        "fewlabels": solver,
        "its status": our_status,
        "its seconds": f"{our_time:.2g}",
        "its gap, %": f"{100 * our_gap:.2f}",
        "SCIP's status": their_status,
        "SCIP's seconds": f"{their_time:.3g}",
        "SCIP's gap, %": f"{100 * their_gap:.2f}",
        "S of SCIP / S of fewlabels": (
            f"{np.sum((B.T @ theirs) ** 2) / np.sum((B.T @ ours) ** 2):.6f}"
        ),
        "seconds, SCIP / fewlabels": (
            f"{more}{ratio:.{0 if ratio >= 10 else 1}f}" if proven else ""
        ),
    }


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=SECONDS, help="limit per run")
    parser.add_argument("--n-jobs", type=int, default=2, help="threads of fewlabels")
    parser.add_argument("--cases", type=int, default=len(CASES), help="the first ones")
    parser.add_argument("--out", type=Path, default=RESULTS)
    options = parser.parse_args(arguments)
    scip()
    options.out.mkdir(parents=True, exist_ok=True)
    for rank in (2, 3, 4):  # compile
        by_us(features(20, rank), "exact", 1.0, 1)
    by_us(features(20, 8), "branch_and_bound", 1.0, 1)
    lines = []
    for n, rank, solver in tqdm(CASES[: options.cases], disable=None):
        lines.append(compare(n, rank, solver, options.seconds, options.n_jobs))
        print(" | ".join(f"{k}: {v}" for k, v in lines[-1].items()), flush=True)
    with (options.out / "exact_peers.csv").open("w", newline="") as handle:
        writer = csv.DictWriter(handle, lines[0], lineterminator="\n")
        writer.writeheader()
        writer.writerows(lines)


if __name__ == "__main__":
    main()
