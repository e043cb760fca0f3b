"""Measure the exact solvers, and compare least-squares clustering with others.

    python benchmarks/exact.py claims        # optimality, time and memory
    python benchmarks/exact.py clustering    # accuracy on sets with known classes
    python benchmarks/exact.py               # both

The data come from FEWLABELS_DATA; sets whose data are missing are named and left out.
Ratios count, absolute times depend on the machine. Peak memory is read as Linux tells
it. The comparison with a general solver
is in benchmarks/peers/exact.py.
"""

# SPDX-License-Identifier: BSD-3-Clause

import argparse
import csv
import itertools
import json
import math
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.cluster import KMeans, SpectralClustering
from sklearn.datasets import make_moons
from sklearn.metrics import adjusted_rand_score
from sklearn.metrics.cluster import contingency_matrix
from sklearn.mixture import GaussianMixture
from tqdm import tqdm

from fewlabels.cluster import RLSClustering
from fewlabels.datasets import (
    load_coil20,
    load_old_faithful,
    load_usps,
    make_gaussian2c,
    make_gaussian4c,
)
from fewlabels.kernels import resolve_kernel
from fewlabels.partition import (
    PartitionProblem,
    branch_and_bound,
    certify,
    count_zonotope_vertices,
    enumerate_zonotope_vertices,
    local_search,
    solve_exact,
)

RESULTS = Path(__file__).parent / "results"
INSTANCES = 500
TOL = 1e-9


def least_time(function, repeat=5):
    seconds = []
    for _ in range(repeat):
        start = time.perf_counter()
        value = function()
        seconds.append(time.perf_counter() - start)
    return min(seconds), value


def write(path, header, lines):
    with path.open("w", newline="") as handle:
        writer = csv.writer(handle, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(lines)


# -------------------------------------------------------------------------- claims


KINDS = ("general", "duplicates", "zero rows", "integer grid", "all of these")
SIZES = ((None, None), (0.5, 0.0), (0.4, 0.15), (0.8, 0.05))


def instance(number):
    """Features and a problem: rank, position, labels and bounds take turns."""
    rng = np.random.default_rng(number)
    rank = 1 + number % 5
    kind = KINDS[number // 5 % 5]
    n_labeled = (0, 3)[number // 25 % 2]
    balance, balance_tol = SIZES[number // 50 % 4]
    n = int(rng.integers(max(rank, 4), 15))
    Z = rng.normal(size=(n, rank))
    if kind in ("integer grid", "all of these"):
        Z = rng.integers(-2, 3, size=(n, rank)).astype(float)
    if kind in ("duplicates", "all of these"):
        Z[1], Z[2] = Z[0], -2 * Z[0]
    if kind in ("zero rows", "all of these"):
        Z[-2:] = 0
    if number % 2:
        Z -= Z.mean(axis=0)
    y = np.zeros(n, dtype=int)
    y[rng.permutation(n)[:n_labeled]] = np.resize([-1, 1], n_labeled)
    alpha = 10.0 ** rng.uniform(-2, 1)
    problem = PartitionProblem.from_factor(Z, y, alpha, 0.7, balance, balance_tol)
    return Z, y, problem


def exhaustive_optimum(Z, y, problem):
    """Least F over all admissible partitions, from the formula and nothing else."""
    d, alpha = problem.d, problem.alpha
    Kb = d[:, None] * (Z @ Z.T) * d
    M = alpha * d[:, None] * np.linalg.inv(Kb + alpha * np.eye(len(d))) * d
    free = np.flatnonzero(y == 0)
    signs = np.array(list(itertools.product((-1.0, 1.0), repeat=free.size)))
    n_positive = (signs > 0).sum(axis=1)
    inside = (n_positive >= problem.lower[1]) & (n_positive <= problem.upper[1])
    Y = np.tile(y.astype(float), (int(inside.sum()), 1))
    Y[:, free] = signs[inside]
    return np.einsum("ij,jk,ik->i", Y, M, Y, optimize=True).min()


def is_optimal(problem, y, result, optimum):
    """Whether a result is admissible, optimal, and proven to be so."""
    n_positive = np.count_nonzero(result.y[problem.free] > 0)
    return (
        np.array_equal(result.y[y != 0], y[y != 0])
        and problem.lower[1] <= n_positive <= problem.upper[1]
        and abs(result.objective - optimum) <= TOL
        and abs(problem.objective(result.y) - optimum) <= TOL
        and result.lower_bound <= optimum + TOL
        and result.gap <= TOL
    )


def agreement(n_instances=INSTANCES):
    """Exact solvers and certificates against exhaustive search."""
    exact = branched = valid = found = 0
    for number in tqdm(range(n_instances), desc="exhaustive search", disable=None):
        Z, y, problem = instance(number)
        optimum = exhaustive_optimum(Z, y, problem)
        exact += is_optimal(problem, y, solve_exact(problem), optimum)
        branched += is_optimal(problem, y, branch_and_bound(problem, None), optimum)
        start = "supervised" if np.any(y) else "random"
        single = certify(problem, local_search(problem, start, random_state=0))
        valid += single.lower_bound <= optimum + TOL
        found += single.objective <= optimum + TOL
    of = f" of {n_instances}"
    what = (
        f"{n_instances} instances, n <= 14, rank 1 to 5, with duplicates, zero rows, "
        "integer grids, labels, bounds on sizes: "
    )
    return [
        (what + "solve_exact is optimal", "all", f"{exact}{of}"),
        ("branch_and_bound is optimal, and proves it", "all", f"{branched}{of}"),
        ("certificates are below the optimum", "all", f"{valid}{of}"),
        ("one local search without restarts is optimal", "", f"{found}{of}"),
    ]


def vertex_counts(max_n=12):
    """Vertices in general position against the formula."""
    right = total = 0
    for rank in range(1, 6):
        for n in range(1, max_n + 1):
            B = np.random.default_rng(100 * rank + n).normal(size=(n, rank))
            signs, _ = enumerate_zonotope_vertices(B)
            number = len(np.unique(signs, axis=0))
            right += len(signs) == number == count_zonotope_vertices(n, rank)
            total += 1
    return (
        f"zonotopes of 1 to {max_n} generators of rank 1 to 5 with "
        "2 sum C(n - 1, k) vertices",
        "all",
        f"{right} of {total}",
    )


def gaussian_problem(n, rank):
    Z = np.random.default_rng(0).normal(size=(n, rank))
    return PartitionProblem.from_factor(Z - Z.mean(axis=0), np.zeros(n))


def old_faithful_time():
    """Rank 2: 272 points, after compilation."""
    what = "rank 2: Old Faithful (272 points), milliseconds"
    try:
        X = load_old_faithful().data.astype(float)
    except FileNotFoundError as error:
        return (what, "< 1", f"not run: {str(error).splitlines()[0]}")
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    problem = PartitionProblem.from_factor(X, np.zeros(len(X)))
    solve_exact(problem)
    seconds, _ = least_time(lambda: solve_exact(problem), repeat=200)
    return (what, "< 1", f"{1000 * seconds:.2f}")


def million_points(n=1_000_000):
    """Rank 2: many points, compared with a sort of as many floats."""
    solve_exact(gaussian_problem(1000, 2))
    floats = np.random.default_rng(0).normal(size=n)
    problem = gaussian_problem(n, 2)
    sort, _ = least_time(lambda: np.sort(floats))
    # What the solver needs is the order, which takes longer than the sorted numbers.
    order, _ = least_time(lambda: np.argsort(floats), repeat=3)
    exact, _ = least_time(lambda: solve_exact(problem))
    whole, _ = least_time(lambda: solve_exact(gaussian_problem(n, 2)), repeat=3)
    what = f"rank 2: {n:,} points, solve_exact"
    return [
        (f"{what} / np.sort of as many floats", "<= 10", f"{exact / sort:.1f}"),
        (f"{what} / np.argsort of as many floats", "", f"{exact / order:.1f}"),
        (
            "the same, drawing the points and making the problem included / np.sort",
            "",
            f"{whole / sort:.1f}",
        ),
    ]


# rank, points; each in a process of its own, so that its peak memory is its own
LARGER = ((3, 1000), (3, 4000), (4, 300), (5, 100), (5, 200))
LARGER_CODE = """
import json, sys, time
from pathlib import Path
import numpy as np
from fewlabels.partition import solve_exact
sys.path.insert(0, {folder!r})
from exact import gaussian_problem, least_time
def peak():
    return float(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0])
solve_exact(gaussian_problem(20, {rank}))
problem = gaussian_problem({n}, {rank})
numbers = np.random.default_rng(0).normal(size={n})
batch = np.tile(numbers, (1000, 1))
sort = least_time(lambda: np.argsort(batch, axis=1))[0] / 1000
Path("/proc/self/clear_refs").write_text("5")  # forget the peak of the compiler
before = peak()
start = time.perf_counter()
result = solve_exact(problem, progress=False)
seconds = time.perf_counter() - start
print(json.dumps([seconds, sort, (peak() - before) / 1024, result.n_trials]))
"""


def larger_ranks(cases=LARGER):
    """Higher ranks: time, that of the sorts within the method, and memory."""
    lines = []
    for rank, n in tqdm(cases, desc="larger ranks", disable=None):
        code = LARGER_CODE.format(folder=str(Path(__file__).parent), rank=rank, n=n)
        run = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        )
        seconds, sort, mib, cells = json.loads(run.stdout)
        planes = math.comb(n, rank - 2)
        lines.append(
            (
                f"rank {rank}, {n} points, one thread: solve_exact / {planes:,} times "
                f"np.argsort of {n} floats",
                "",
                f"{seconds / (planes * sort):.1f} ({seconds:.2g} s, "
                f"{cells / seconds:.1e} partitions per second, {mib:.1f} MiB)",
            )
        )
    return lines


def claims(out, n_instances=INSTANCES):
    """Measure what the documentation says about the exact solvers."""
    lines = [
        *agreement(n_instances),
        vertex_counts(),
        old_faithful_time(),
        *million_points(),
        *larger_ranks(),
    ]
    for line in lines:
        print(" | ".join(line))
    write(out / "exact_claims.csv", ["what", "asked", "measured"], lines)


# ---------------------------------------------------------------------- clustering


DRAWS = 5
USPS = ((2, 5), (2, 7), (3, 8), (8, 0))
COIL = ((3, 6), (5, 9), (6, 19), (18, 19))


def usps(a, b):
    X, y = load_usps(classes=(a, b), return_X_y=True)
    return [((X.astype(float) + 1) / 2, y)]


def coil(a, b):
    X, y = load_coil20(classes=(a, b), return_X_y=True)
    return [(X.astype(float), y)]


def drawn(make, *sizes, **params):
    return [make(*sizes, random_state=seed, **params) for seed in range(DRAWS)]


# name -> function that returns draws of rows and classes; real sets have one draw
SETS = {
    "Gaussian2C": lambda: drawn(make_gaussian2c, 500, 500),
    "Gaussian4C": lambda: drawn(make_gaussian4c, 500, 500),
    "Gaussian2C, 2 features": lambda: drawn(make_gaussian2c, 500, 2),
    "Gaussian4C, 2 features": lambda: drawn(make_gaussian4c, 500, 2),
    "moons": lambda: drawn(make_moons, 400, noise=0.1),
    **{f"USPS {a}, {b}": lambda a=a, b=b: usps(a, b) for a, b in USPS},
    **{f"COIL {a}, {b}": lambda a=a, b=b: coil(a, b) for a, b in COIL},
}

# The first setting is that of the headline: the defaults, chosen without any label.
SETTINGS = {"rbf, scale, alpha 1": {"kernel": "rbf", "gamma": "scale", "alpha": 1.0}}
for kernel in (
    {"kernel": "rbf", "gamma": "scale"},
    {"kernel": "rbf", "gamma": "median"},
    {"kernel": "linear"},
):
    for alpha in (1.0, 0.1, 0.01):
        name = ", ".join([*kernel.values(), f"alpha {alpha:g}"])
        SETTINGS[name] = {**kernel, "alpha": alpha}
SETTINGS["rbf, scale, alpha 1, balance 0.5 ± 0.2"] = {
    **SETTINGS["rbf, scale, alpha 1"],
    "balance": 0.5,
    "balance_tol": 0.2,
}
HEADLINE = next(iter(SETTINGS))
CERTIFIED = (HEADLINE, "rbf, scale, alpha 0.01", "linear, alpha 1")


def rls(setting, **params):
    return RLSClustering(random_state=0, **SETTINGS[setting], **params)


def k_means(X):
    return KMeans(2, n_init=10, random_state=0).fit_predict(X)


def spectral(X, affinity):
    gamma = resolve_kernel(X, "rbf", gamma="scale").params["gamma"]
    model = SpectralClustering(2, affinity=affinity, gamma=gamma, random_state=0)
    with warnings.catch_warnings():
        # A graph in several parts may be clustered well, and 500 rows of 500 features
        # are no affinity matrix.
        warnings.simplefilter("ignore", UserWarning)
        return model.fit_predict(X)


def mixture(X):
    shape = "full" if X.shape[1] <= 20 else "diag"
    model = GaussianMixture(2, covariance_type=shape, n_init=10, random_state=0)
    return model.fit_predict(X)


METHODS = {
    "k-means": k_means,
    "spectral, rbf": lambda X: spectral(X, "rbf"),
    "spectral, 10 neighbours": lambda X: spectral(X, "nearest_neighbors"),
    "Gaussian mixture": mixture,
    **{
        f"RLSClustering, {setting}": lambda X, setting=setting: (
            rls(setting).fit(X).labels_
        )
        for setting in SETTINGS
    },
}
OTHERS = [method for method in METHODS if not method.startswith("RLSClustering")]


def accuracy(y, labels):
    """Share of rows in the right class, with the clusters matched as well as can be."""
    table = contingency_matrix(y, labels)
    if table.shape[1] == 1:
        return table.max() / len(y)
    return max(np.trace(table), np.trace(table[:, ::-1])) / len(y)


def certificate(name, setting, X):
    """Line on the certified gap of one result.

    Empty clusters are allowed: centring alone keeps the result from them, and the bound
    is cheaper to compute.
    """
    model = rls(setting, solver_params={"certify": True, "allow_empty": True})
    fit, _ = least_time(lambda: rls(setting).fit(X), repeat=1)
    both, _ = least_time(lambda: model.fit(X), repeat=1)
    gap, F = model.gap_, model.objective_
    return {
        "set": name,
        "setting": setting,
        "solver": model.solver_,
        "F": f"{F:.6f}",
        "lower bound": f"{model.lower_bound_:.6f}",
        "gap, % of F": f"{100 * gap / F:.3f}",
        "gap, % of 1 - F": f"{100 * gap / (1 - F):.2f}",
        "seconds, with / without bound": (
            "" if model.solver_ == "exact" else f"{both / fit:.1f}"
        ),
    }


def cell(values, digits=1):
    text = f"{np.mean(values):z.{digits}f}"  # never -0.0
    return text if len(values) == 1 else f"{text} ± {np.std(values):.{digits}f}"


def clustering(out, only=""):
    """Cluster sets with known classes, and compare with these afterwards."""
    rows, certificates = [], []
    warmed = make_gaussian2c(60, 10, random_state=0)[0]
    for method in METHODS.values():
        method(warmed)
    bar = tqdm(total=len(METHODS), disable=None)
    for name, draws_of in SETS.items():
        if only not in name:
            continue
        try:
            draws = draws_of()
        except FileNotFoundError as error:
            print(f"{name} is left out: {str(error).splitlines()[0]}")
            continue
        bar.reset(total=len(METHODS) + len(CERTIFIED))
        base = None
        for method, function in METHODS.items():
            bar.set_description(f"{name}: {method}")
            right, rand, seconds = [], [], []
            for X, y in draws:
                taken, labels = least_time(lambda f=function, X=X: f(X), repeat=1)
                seconds.append(taken)
                right.append(100 * accuracy(y, labels))
                rand.append(adjusted_rand_score(y, labels))
            base = base or np.mean(seconds)
            rows.append(
                {
                    "set": name,
                    "rows": len(draws[0][1]),
                    "features": draws[0][0].shape[1],
                    "draws": len(draws),
                    "method": method,
                    "accuracy, %": cell(right),
                    "adjusted Rand": cell(rand, 2),
                    "seconds / k-means": f"{np.mean(seconds) / base:.1f}",
                }
            )
            bar.update()
        for setting in CERTIFIED:
            bar.set_description(f"{name}: bound, {setting}")
            certificates.append(certificate(name, setting, draws[0][0]))
            bar.update()
        bar.write(" | ".join(str(value) for value in rows[-len(SETTINGS)].values()))
        save_clustering(out, rows, certificates)
    bar.close()


def save_clustering(out, rows, certificates):
    """Write all results, and tables for the guide."""
    write(out / "exact_clustering.csv", list(rows[0]), [r.values() for r in rows])
    write(
        out / "exact_certificates.csv",
        list(certificates[0]),
        [c.values() for c in certificates],
    )
    names = list(dict.fromkeys(row["set"] for row in rows))
    by = {(row["set"], row["method"]): row for row in rows}
    headline = [*OTHERS, f"RLSClustering, {HEADLINE}"]
    settings = [f"RLSClustering, {setting}" for setting in SETTINGS]
    tables = {
        "exact_clustering_accuracy.csv": (headline, "accuracy, %", "adjusted Rand"),
        "exact_clustering_seconds.csv": (headline, "seconds / k-means", None),
        "exact_clustering_settings.csv": (settings, "accuracy, %", None),
    }
    for file, (methods, value, extra) in tables.items():
        lines = []
        for name in names:
            first = by[name, methods[0]]
            line = [name, f"{first['rows']} x {first['features']}"]
            for method in methods:
                row = by[name, method]
                line.append(row[value] + (f" ({row[extra]})" if extra else ""))
            lines.append(line)
        heads = [method.removeprefix("RLSClustering, ") for method in methods]
        if methods is headline:
            heads[-1] = "RLSClustering"
        write(out / file, ["set", "rows x features", *heads], lines)


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("part", nargs="?", choices=["claims", "clustering"])
    parser.add_argument("--instances", type=int, default=INSTANCES)
    parser.add_argument("--only", default="", help="sets whose name contains this text")
    parser.add_argument("--out", type=Path, default=RESULTS)
    options = parser.parse_args(arguments)
    options.out.mkdir(parents=True, exist_ok=True)
    if options.part in (None, "claims"):
        claims(options.out, options.instances)
    if options.part in (None, "clustering"):
        clustering(options.out, options.only)


if __name__ == "__main__":
    main()
