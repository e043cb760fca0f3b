"""Measure what a GPU does for fewlabels, and what it could do.

One table: seconds (the median of three warm runs), entries of kernel or distance
matrices per second, the share of the limit, and the error compared with NumPy in double
precision. Limits are those of the device at hand: products of halves and copies of
memory are measured in the same run, exponentials and additions are counted from the
processors and their clock. A product of float32 counts as three of halves. Estimators
are fitted twice, and the second counts; some tasks have rows for the CPU too.

    python benchmarks/device.py                 # all, and benchmarks/results/device.csv
    python benchmarks/device.py products search # some groups, whose rows are renewed
    python benchmarks/device.py --rows 50000    # smaller, nothing is written
"""

# SPDX-License-Identifier: BSD-3-Clause

import argparse
import csv
import os
import statistics
import time
from pathlib import Path

import numpy as np
import torch
from scipy.spatial.distance import cdist

import fewlabels
from fewlabels import FewLabelsClassifier
from fewlabels._backend import NUMPY, KernelFunction, get_backend, to_host
from fewlabels._gpu_loops import fits
from fewlabels.datasets import hide_labels, load_mnist
from fewlabels.kernels import resolve_kernel
from fewlabels.partition import PartitionProblem, local_search
from fewlabels.semi_supervised import (
    HarmonicFunctionClassifier,
    LaplacianSVC,
    harmonic_functions,
)

RESULTS = Path(__file__).parent / "results" / "device.csv"
FIELDS = [
    "group",
    "task",
    "device",
    "version",
    "seconds",
    "G entries/s",
    "of limit",
    "error",
]
# Exponentials and additions that a multiprocessor finishes per cycle.
EXPONENTIALS, ADDITIONS = 16, 128
N_ROWS = 1_000_000
# Rows whose answers are compared with NumPy's.
CHECKED = 64


def measured(run, repeat=3):
    """Return the last answer, and the median of the seconds of some warm runs."""
    run()
    seconds = []
    for _ in range(repeat):
        torch.cuda.synchronize()
        start = time.perf_counter()
        answer = run()
        torch.cuda.synchronize()
        seconds.append(time.perf_counter() - start)
    return answer, statistics.median(seconds)


class Device:
    """The device at hand, and its limits."""

    def __init__(self):
        self.backend = get_backend("cuda")
        properties = torch.cuda.get_device_properties(0)
        self.name = properties.name
        # In kHz; some versions of torch do not tell.
        clock = getattr(properties, "clock_rate", 1.98e6) * 1e3
        self.cycles = properties.multi_processor_count * clock
        A = torch.randn((8192, 8192), dtype=torch.float16, device="cuda")
        _, seconds = measured(lambda: A @ A)
        self.halves = 2 * 8192**3 / seconds
        B = torch.empty(2**31, dtype=torch.uint8, device="cuda")
        C = torch.empty_like(B)
        _, seconds = measured(lambda: C.copy_(B))
        self.bytes = 2 * B.nbytes / seconds

    def rows(self, n, d, seed=0):
        """Draw normal rows."""
        generator = torch.Generator("cuda").manual_seed(seed)
        return torch.randn((n, d), generator=generator, device="cuda")


def relative_error(answer, wanted):
    return np.linalg.norm(to_host(answer) - wanted) / np.linalg.norm(wanted)


def products(device, n):
    """Products with kernel matrices that are never stored."""
    d = 50
    X = device.rows(n, d)
    few = to_host(X[:CHECKED]).astype(np.float64)
    width = 1 << (d - 1).bit_length()
    cases = [
        ("rbf", 1, True),
        ("rbf", 1, False),
        ("rbf", 16, True),
        ("rbf", 128, True),
        ("polynomial", 1, True),
        ("laplacian", 1, True),
    ]
    for kernel, m, strict in cases:
        size = n if m < 128 and kernel != "laplacian" else n // 4
        rows, V = X[:size], device.rows(size, m, seed=1)
        function = KernelFunction(kernel, 1 / d)
        if kernel == "polynomial":
            function = KernelFunction(kernel, 1 / d, 3.0, 1.0)
        answer, seconds = measured(
            lambda rows=rows, V=V, function=function, strict=strict: (
                device.backend.kernel_product(rows, rows, V, function, strict=strict)
            )
        )
        wanted = NUMPY.kernel_product(
            few,
            to_host(rows).astype(np.float64),
            to_host(V).astype(np.float64),
            function,
        )
        operations = 2 * (3 if strict else 1) * (width + (m if m > 1 else 0))
        limit = device.halves / operations
        if kernel == "rbf":
            limit = min(limit, device.cycles * EXPONENTIALS)
        if kernel == "laplacian":
            limit = device.cycles * ADDITIONS / (2 * d)
        mode = "strict" if strict else "tf32"
        yield {
            "task": f"{kernel} product, {size:,} x {d}, block of {m}, {mode}",
            "seconds": seconds,
            "entries": size**2,
            "limit": size**2 / limit,
            "error": relative_error(answer[:CHECKED], wanted),
        }


def search(device, n):
    """Exact neighbours, as the graphs need them."""
    for size, d in [(n, 50), (n, 20), (min(n, 70_000), 50), (min(n, 70_000), 784)]:
        X = device.rows(size, d)
        (distances, _), seconds = measured(
            lambda X=X: device.backend.nearest(X, 15), 3 if size > 100_000 else 5
        )
        host = to_host(X).astype(np.float64)
        D = cdist(host[:CHECKED], host)
        np.fill_diagonal(D, np.inf)
        wanted = np.sort(np.partition(D, 15, axis=1)[:, :15], axis=1)
        width = 1 << (d - 1).bit_length() if d <= 128 else -(-d // 64) * 64
        yield {
            "task": f"15 neighbours, {size:,} x {d}",
            "seconds": seconds,
            "entries": size**2,
            "limit": size**2 * 6 * width / device.halves,
            "error": relative_error(distances[:CHECKED], wanted),
        }


def stored(device, n):
    """Products with a kernel matrix in memory."""
    size = min(n, 60_000)
    K = torch.empty((size, size), device="cuda").uniform_()
    for m in (1, 10):
        V = device.rows(size, m)
        answer, seconds = measured(lambda V=V: device.backend.product(K, V), 9)
        wanted = to_host(K[:CHECKED]).astype(np.float64) @ to_host(V)
        yield {
            "task": f"stored {size:,} x {size:,} matrix times block of {m}",
            "seconds": seconds,
            "entries": size**2,
            "limit": K.nbytes / device.bytes,
            "error": relative_error(answer[:CHECKED], wanted),
        }


def algebra(device, n):
    """Products with graphs and orthonormal bases, which make eigenvectors."""
    m = 128
    for size in (n, min(n, 70_000)):
        generator = torch.Generator("cuda").manual_seed(0)
        indices = torch.randint(size, (size, 15), generator=generator, device="cuda")
        values = torch.rand((size, 15), generator=generator, device="cuda")
        W = device.backend.symmetrized(values, indices)
        V = device.rows(size, m)
        answer, seconds = measured(lambda W=W, V=V: W @ V)
        n_edges = W.values().shape[0]
        wanted = device.backend.to_numpy(W).astype(np.float64)[:CHECKED] @ to_host(V)
        yield {
            "task": f"graph of {size:,} rows, 15 neighbours, times block of {m}",
            "seconds": seconds,
            "entries": n_edges * m,
            "limit": (8 * n_edges + 2 * V.nbytes) / device.bytes,
            "error": relative_error(answer[:CHECKED], wanted),
        }
        Q, seconds = measured(lambda V=V: device.backend.orthonormal(V))
        error = torch.linalg.norm(Q.T.double() @ Q.double() - torch.eye(m).to(Q)) / m
        yield {
            "task": f"Cholesky QR, {size:,} x {m}",
            "seconds": seconds,
            "entries": None,
            # The columns' lengths, and twice the squares and the new columns.
            "limit": 8 * V.nbytes / device.bytes,
            "error": float(error),
        }


def curved(n, d, n_classes, n_labeled, seed=0):
    """Draw classes on curved sheets of few dimensions in many, and hide labels."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(n_classes, size=n)
    inner = 3 * rng.normal(size=(n_classes, 8))[truth] + rng.normal(size=(n, 8))
    hidden = np.tanh(inner @ rng.normal(size=(8, 64)) / 3)
    X = np.tanh(hidden @ rng.normal(size=(64, d)) / 4) + 0.1 * rng.normal(size=(n, d))
    y = hide_labels(truth, n_labeled=n_labeled, random_state=0)
    return X.astype(np.float32), y


def laplacian_svm(device, n):
    """Train by conjugate gradients on products with a kernel that is never stored."""
    size, d = min(n, 100_000), 784
    X, y = curved(size, d, 10, 100)
    model = LaplacianSVC(
        solver="pcg",
        solver_params={"memory_budget": 1024, "check_every": 10},
        device="cuda",
    )
    _, seconds = measured(lambda: model.fit(X, y), 1)
    answer = model.decision_function(X[:CHECKED])
    wanted = model.kernel_.product(
        X[:CHECKED].astype(np.float64), X.astype(np.float64), model.dual_coef_
    )
    entries = (model.n_iter_ + 2) * size**2
    width = -(-d // 64) * 64 + 10
    yield {
        "task": f"Laplacian SVM, {size:,} x {d}, {model.n_iter_} steps, 10 classes",
        "seconds": seconds,
        "entries": entries,
        "limit": entries * 6 * width / device.halves,
        "error": relative_error(answer, wanted + model.intercept_),
    }


def restarts(device, n):
    """Local searches side by side, compared with threads."""
    size, n_runs = min(n, 2000), 1000
    X, y = curved(size, 50, 2, 20)
    X = X.astype(np.float64)
    K = resolve_kernel(X)(X)
    for bounds, balance in (("", None), (", bounds on sizes", 0.5)):
        problem = PartitionProblem.from_kernel(
            K, y, alpha=1e-3, n_classes=2, balance=balance
        )
        common = {"representation": "dense", "random_state": 0}

        def search(problem=problem, common=common, **where):
            found = local_search(problem, "random", n_runs, **common, **where)
            return found, found.seconds["search"]

        places = (
            ("one core", {"n_jobs": 1}),
            (f"{os.cpu_count()} cores", {"n_jobs": -1}),
            (f"{device.name}, plain torch", {"device": "cuda"}),
            (device.name, {"device": "cuda"}),
        )
        first, fit = None, fits.climb
        for place, where in places:
            plain = place.endswith("plain torch")
            fits.climb = (lambda H: False) if plain else fit
            search(**where)
            found, seconds = search(**where)
            first = found.objectives if first is None else first
            yield {
                "task": f"{n_runs:,} local searches, {size:,} rows{bounds}",
                "device": place,
                "seconds": seconds,
                "error": float(np.abs(found.objectives - first).max()),
            }


def harmonic(device, n):
    """Harmonic functions of many rows: the whole estimator, and its solver."""
    X, y = curved(n, 20, 10, 1000)
    model = HarmonicFunctionClassifier(device="cuda")
    _, seconds = measured(lambda: model.fit(X, y), 1)
    labeled = np.flatnonzero(y >= 0)

    def solve(where):
        return harmonic_functions(
            model.graph_, labeled, np.eye(10)[y[labeled]], solver="cg", device=where
        )

    there = measured(lambda: solve("cuda"), 1)
    start = time.perf_counter()  # cores are warm soon, and take long
    here = solve("cpu"), time.perf_counter() - start
    error = float(np.nanmax(np.abs(there[0].values - here[0].values)))
    task = f"harmonic functions, {n:,} x 20, 10 classes"
    for what, place, time_taken in (
        ("neighbours, graph and solution", device.name, seconds),
        (f"solution, {there[0].n_iter} steps", device.name, there[1]),
        (f"solution, {here[0].n_iter} steps", f"{os.cpu_count()} cores", here[1]),
    ):
        yield {
            "task": f"{task}: {what}",
            "device": place,
            "seconds": time_taken,
            "error": error,
        }


def automatic(device, n):
    """Label rows from 30 labels by the default bank; the error is that of labels."""
    X, truth = load_mnist(return_X_y=True)
    tasks = [
        ("MNIST, 70,000 x 784", X, truth, device.name, {"device": "cuda"}, 3),
        ("MNIST, 70,000 x 784", X, truth, f"{os.cpu_count()} cores", {"n_jobs": -1}, 1),
    ]
    rng = np.random.default_rng(0)
    truth = rng.integers(10, size=n)
    middles = 1.2 * rng.normal(size=(10, 3, 20))[truth, rng.integers(3, size=n)]
    X = middles + 0.6 * rng.normal(size=(n, 20))
    where = {"device": "cuda", "neighbors": "exact"}
    tasks.append((f"table, {n:,} x 20", X, truth, device.name, where, 1))
    for task, X, truth, place, where, repeat in tasks:
        rows = X.astype(np.float32)
        y = hide_labels(truth, per_class=3, random_state=0)
        model = FewLabelsClassifier(random_state=0, **where)
        _, seconds = measured(lambda rows=rows, y=y, m=model: m.fit(rows, y), repeat)
        wrong = model.transduction_[y < 0] != truth[y < 0]
        yield {
            "task": f"automatic classifier, {task}",
            "device": place,
            "seconds": seconds,
            "error": float(np.mean(wrong)),
        }


GROUPS = {
    "products": products,
    "search": search,
    "stored": stored,
    "algebra": algebra,
    "laplacian_svm": laplacian_svm,
    "restarts": restarts,
    "harmonic": harmonic,
    "automatic": automatic,
}


def main():
    """Print the table, and renew the rows of its groups in the file."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("groups", nargs="*", default=list(GROUPS))
    parser.add_argument("--rows", type=int, default=N_ROWS)
    options = parser.parse_args()
    device = Device()
    version = f"fewlabels {fewlabels.__version__}, torch {torch.__version__}"
    print(f"{device.name}; {version}")
    print(
        f"{device.halves / 1e12:.0f} Tflop/s of halves, {device.bytes / 1e12:.2f} TB/s"
    )
    for name in options.groups:
        table = []
        for row in GROUPS[name](device, options.rows):
            entries, limit = row.get("entries"), row.get("limit")
            rate = f"{entries / row['seconds'] / 1e9:.0f}" if entries else ""
            share = f"{limit / row['seconds']:.2f}" if limit else ""
            table.append(
                {
                    "group": name,
                    "task": row["task"],
                    "device": row.get("device", device.name),
                    "version": version,
                    "seconds": f"{row['seconds']:.4g}",
                    "G entries/s": rate,
                    "of limit": share,
                    "error": f"{row['error']:.1e}",
                }
            )
            shown = [table[-1][field] for field in FIELDS[4:]]
            print(
                f"{row['task']:<60} {table[-1]['device']:<12}",
                *(f"{text:>9}" for text in shown),
                flush=True,
            )
            torch.cuda.empty_cache()
        if options.rows == N_ROWS:
            renew(name, table)


def renew(name, rows):
    """Write the rows of a group into the file, in place of those that it has."""
    table = {group: [] for group in GROUPS}
    if RESULTS.exists():
        with RESULTS.open(newline="") as file:
            for row in csv.DictReader(file):
                table[row["group"]].append(row)
    table[name] = rows
    with RESULTS.open("w", newline="") as file:
        writer = csv.DictWriter(file, FIELDS)
        writer.writeheader()
        for group in table.values():
            writer.writerows(group)


if __name__ == "__main__":
    main()
