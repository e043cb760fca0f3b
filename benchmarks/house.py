"""Measure what the house promises: import, tiled products, pivoted Cholesky, cores.

Every case runs in a fresh process, so that its peak memory is its own, and beside a
named alternative in the same run: ratios count, absolute times depend on the machine.

    python benchmarks/house.py            # all, and benchmarks/results/house.csv
    python benchmarks/house.py tiled      # one group
"""

# SPDX-License-Identifier: BSD-3-Clause

import csv
import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path

RESULTS = Path(__file__).parent / "results" / "house.csv"
N, D = 20_000, 50


def peak_mib():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def measured(run, repeat=3):
    """Return the least seconds of some runs and the peak memory above the start."""
    before = peak_mib()
    seconds = []
    for _ in range(repeat):
        start = time.perf_counter()
        extra = run()
        seconds.append(time.perf_counter() - start)
    return {"seconds": min(seconds), "MiB": peak_mib() - before, **(extra or {})}


def gaussian_rows(n=N, d=D):
    import numpy as np

    rng = np.random.default_rng(0)
    return rng.normal(size=(n, d)), rng.normal(size=(n, 10)), 1 / (2 * d)


def importing(module):
    def run():
        start = time.perf_counter()
        subprocess.run([sys.executable, "-c", f"import {module}"], check=True)
        return {"seconds": time.perf_counter() - start}

    return min((run() for _ in range(7)), key=lambda r: r["seconds"])


def dense_product(columns):
    from sklearn.metrics.pairwise import rbf_kernel

    X, V, gamma = gaussian_rows()
    V = V[:, :columns]

    def run():
        rbf_kernel(X, gamma=gamma) @ V

    return measured(run, repeat=2)


def kept_product(columns):
    from sklearn.metrics.pairwise import rbf_kernel

    X, V, gamma = gaussian_rows()
    V = V[:, :columns]
    before = peak_mib()
    K = rbf_kernel(X, gamma=gamma)

    def run():
        K @ V

    return {**measured(run, repeat=2), "MiB": peak_mib() - before}


def tiled_product(columns, dtype, n_jobs):
    from fewlabels.kernels import TiledGram

    X, V, gamma = gaussian_rows()
    X, V = X.astype(dtype), V[:, :columns].astype(dtype)
    TiledGram(X[:100], gamma=gamma, n_jobs=n_jobs) @ V[:100]  # start the threads

    def run():
        TiledGram(X, gamma=gamma, n_jobs=n_jobs) @ V

    return measured(run)


def moons(n=50_000):
    from sklearn.datasets import make_moons

    return make_moons(n, noise=0.1, random_state=0)[0]


def cholesky_of_moons(tol):
    from fewlabels.kernels import TiledGram, gamma_from_width, pivoted_cholesky

    X = moons()
    gram = TiledGram(X, gamma=gamma_from_width(0.3))
    pivoted_cholesky(TiledGram(X[:500], gram.kernel), tol=tol)

    def run():
        result = pivoted_cholesky(gram, tol=tol)
        return {"rank": result.factor.shape[1], "left out": result.residual}

    return measured(run)


def nystroem_of_moons(rank):
    import numpy as np
    from sklearn.kernel_approximation import Nystroem

    from fewlabels.kernels import gamma_from_width

    X = moons()
    features = Nystroem(gamma=gamma_from_width(0.3), n_components=rank, random_state=0)
    features.fit(X[:500])

    def run():
        Z = features.fit_transform(X)
        left = 1 - np.einsum("ij,ij->", Z, Z) / len(X)
        return {"rank": rank, "left out": float(left)}

    return measured(run)


def automatic_fit(n_jobs):
    import numpy as np
    from cores import fit_phases
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    rng = np.random.default_rng(0)
    copies = rng.integers(0, len(X), N)  # blurred, or they would count once
    X = (X[copies] + rng.normal(size=(N, X.shape[1]))).astype(np.float32)
    result = fit_phases(X, y[copies], n_jobs)
    return {"seconds": result["seconds"], "processor": result["processor"]}


# group -> {case: (function, its arguments)}; the first case is the named alternative.
CASES = {
    "import": {
        "import sklearn": (importing, ["sklearn"]),
        "import fewlabels": (importing, ["fewlabels"]),
        "import sklearn.svm": (importing, ["sklearn.svm"]),
        "import fewlabels.semi_supervised": (importing, ["fewlabels.semi_supervised"]),
    },
    **{
        f"tiled, {columns} column{'s' * (columns > 1)}": {
            "rbf_kernel(X) @ V": (dense_product, [columns]),
            "K @ V, with K kept in memory": (kept_product, [columns]),
            "TiledGram(X) @ V, 1 thread": (tiled_product, [columns, "float64", 1]),
            "TiledGram(X) @ V, 2 threads": (tiled_product, [columns, "float64", 2]),
            "TiledGram(X) @ V, 2 threads, float32": (
                tiled_product,
                [columns, "float32", 2],
            ),
        }
        for columns in (1, 10)
    },
    "cholesky": {
        "scikit-learn's Nystroem, rank 215": (nystroem_of_moons, [215]),
        "scikit-learn's Nystroem, rank 500": (nystroem_of_moons, [500]),
        "pivoted_cholesky, tol 1e-6": (cholesky_of_moons, [1e-6]),
        "pivoted_cholesky, tol 1e-10": (cholesky_of_moons, [1e-10]),
    },
    "cores": {
        f"FewLabelsClassifier, n_jobs={n_jobs}": (automatic_fit, [n_jobs])
        for n_jobs in (1, 2, 4, 8, 16)
        if n_jobs <= (os.cpu_count() or 1)
    },
}


def in_a_fresh_process(group, case):
    run = subprocess.run(
        [sys.executable, __file__, "--case", group, case],
        check=True,
        capture_output=True,
        text=True,
    )
    return json.loads(run.stdout)


def main(pattern=""):
    rows = []
    for group, cases in CASES.items():
        if pattern not in group:
            continue
        base = None
        for case in cases:
            result = in_a_fresh_process(group, case)
            base = base or result
            row = {
                "group": group,
                "case": case,
                "time ratio": round(result["seconds"] / base["seconds"], 3),
                "memory ratio": (
                    round(result["MiB"] / base["MiB"], 3) if base.get("MiB") else ""
                ),
                "processor time ratio": (
                    round(result["processor"] / base["processor"], 3)
                    if "processor" in result
                    else ""
                ),
                "MiB": round(result["MiB"], 1) if "MiB" in result else "",
                "rank": result.get("rank", ""),
                "MiB of n x rank": (
                    round(50_000 * result["rank"] * 8 / 2**20, 1)
                    if "rank" in result
                    else ""
                ),
                "left out": f"{result['left out']:.1e}" if "left out" in result else "",
            }
            rows.append(row)
            print(" | ".join(str(value) for value in row.values()), flush=True)
    if not pattern:
        RESULTS.parent.mkdir(exist_ok=True)
        with RESULTS.open("w", newline="") as handle:
            writer = csv.DictWriter(handle, rows[0], lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--case"]:
        function, arguments = CASES[sys.argv[2]][sys.argv[3]]
        print(json.dumps(function(*arguments)))
    else:
        main(*sys.argv[1:])
