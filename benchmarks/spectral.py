"""Compare fast spectral clustering with scikit-learn's at 50,000 rows.

Blobs and moons. scikit-learn's SpectralClustering and ours get the same kNN graph (10
neighbours, weights 1); the Nyström estimator gets the rows and builds its own columns.
Accuracy is the share of rows in the right cluster, after the best matching of clusters
and classes. All run after one another in one process, so ratios count; absolute times
depend on the machine.

    python benchmarks/spectral.py             # and benchmarks/results/spectral.csv
    python benchmarks/spectral.py 5000        # fewer rows, nothing is written
"""

# SPDX-License-Identifier: BSD-3-Clause

import csv
import sys
import time
import warnings
from pathlib import Path

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.cluster import SpectralClustering
from sklearn.datasets import make_blobs, make_moons
from sklearn.metrics.cluster import contingency_matrix

from fewlabels.cluster import NormalizedSpectralClustering, NystromSpectralClustering
from fewlabels.graphs import similarity_graph
from fewlabels.kernels import gamma_from_width

RESULTS = Path(__file__).parent / "results" / "spectral.csv"
N = 50_000
SEED = 0

# name -> (rows of n, number of clusters, width of the Gaussian for the landmarks)
SETS = {
    "blobs": (lambda n: make_blobs(n, centers=5, random_state=3), 5, 1.0),
    "moons, noise 0.05": (
        lambda n: make_moons(n, noise=0.05, random_state=0),
        2,
        0.07,
    ),
    "moons, noise 0.1": (
        lambda n: make_moons(n, noise=0.1, random_state=0),
        2,
        0.07,
    ),
}


def accuracy(y, labels):
    table = contingency_matrix(y, labels)
    return table[linear_sum_assignment(-table)].sum() / len(y)


def timed(model, X):
    """Clusters, and the least of three times: noise only adds."""
    times = []
    for _ in range(3):
        start = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            labels = model.fit(X).labels_
        times.append(time.perf_counter() - start)
    return labels, min(times)


def models(n_clusters, width):
    """Name -> (estimator, whether it gets the graph)."""
    graph = {"affinity": "precomputed", "random_state": SEED}
    return {
        "scikit-learn SpectralClustering, kNN graph given": (
            SpectralClustering(n_clusters, **graph),
            True,
        ),
        "NormalizedSpectralClustering, kNN graph given": (
            NormalizedSpectralClustering(n_clusters, laplacian="random_walk", **graph),
            True,
        ),
        "NormalizedSpectralClustering, kNN graph given, multilevel": (
            NormalizedSpectralClustering(
                n_clusters, laplacian="random_walk", eigen_solver="multilevel", **graph
            ),
            True,
        ),
        "NystromSpectralClustering, 100 landmarks, from rows": (
            NystromSpectralClustering(
                n_clusters,
                n_landmarks=100,
                gamma=gamma_from_width(width),
                random_state=SEED,
            ),
            False,
        ),
    }


def warm_up():
    """Load everything once, so that no estimator pays for it."""
    X = np.random.default_rng(0).normal(size=(4000, 2))
    W = similarity_graph(X, weight="binary")
    for model, takes_graph in models(2, 1.0).values():
        timed(model, W if takes_graph else X)


def main(n=N):
    warm_up()
    rows = []
    for name, (make, n_clusters, width) in SETS.items():
        X, y = make(n)
        start = time.perf_counter()
        W = similarity_graph(X, n_neighbors=10, weight="binary")
        for_graph = time.perf_counter() - start
        theirs = None
        for case, (model, takes_graph) in models(n_clusters, width).items():
            labels, seconds = timed(model, W if takes_graph else X)
            theirs = theirs or seconds
            row = {
                "data": name,
                "n": n,
                "estimator": case,
                "seconds": round(seconds, 2),
                "with the graph": round(seconds + takes_graph * for_graph, 2),
                "times faster": round(theirs / seconds, 1),
                "accuracy": f"{100 * accuracy(y, labels):.2f} %",
            }
            rows.append(row)
            print(" | ".join(str(value) for value in row.values()), flush=True)
    if n == N:
        RESULTS.parent.mkdir(exist_ok=True)
        with RESULTS.open("w", newline="") as handle:
            writer = csv.DictWriter(handle, rows[0], lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
    return rows


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
