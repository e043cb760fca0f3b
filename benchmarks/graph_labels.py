"""Measure harmonic functions against scikit-learn's LabelSpreading, and their accuracy.

    python benchmarks/graph_labels.py           # all, and benchmarks/results/*.csv
    python benchmarks/graph_labels.py 20000     # fewer rows, nothing is written
    python benchmarks/graph_labels.py few       # MNIST with one to five labels a class
    python benchmarks/graph_labels.py few FILE  # and on an embedding
    python benchmarks/graph_labels.py book      # the sets of the book, five methods

Both build the graph of the ten nearest neighbours of n rows in ten clusters, 1,000 of
them labelled, and label the rest, in the same process and one after the other. Absolute
times depend on the machine, ratios much less.
"""

# SPDX-License-Identifier: BSD-3-Clause

import csv
import os
import sys
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.datasets import make_blobs
from sklearn.decomposition import PCA
from sklearn.semi_supervised import LabelSpreading

sys.path.append(str(Path(__file__).resolve().parents[1]))
from benchmarks.sets import BOOK as BOOK_SETS
from benchmarks.sets import data_of, holes

from fewlabels.datasets import hide_labels, load_mnist
from fewlabels.graphs import graph_laplacian, similarity_graph
from fewlabels.semi_supervised import (
    GraphRegularizationClassifier,
    HarmonicFunctionClassifier,
    harmonic_functions,
)

RESULTS = Path(__file__).parent / "results" / "graph_labels.csv"
EXACT = Path(__file__).parent / "results" / "graph_labels_exact.csv"
FEW = Path(__file__).parent / "results" / "graph_labels_few.csv"
BOOK = Path(__file__).parent / "results" / "graph_labels_book.csv"
N, N_LABELED = 100_000, 1_000
# Features, spread of a cluster, repetitions.
CASES = [(2, 1.0, 3), (5, 2.5, 2), (10, 4.0, 1)]


def clusters(n, d, spread, n_labeled):
    X, y = make_blobs(n, d, centers=10, cluster_std=spread, random_state=0)
    return X, y, hide_labels(y, n_labeled=n_labeled, random_state=0)


def timed_fit(model, X, y):
    start = time.perf_counter()
    model.fit(X, y)
    return time.perf_counter() - start


def compare(n, d, spread, repeat):
    """One row per method; the least time of some runs, taken in turns."""
    X, y_true, y = clusters(n, d, spread, min(N_LABELED, n // 100))
    theirs = LabelSpreading(kernel="knn", n_neighbors=10)
    ours = HarmonicFunctionClassifier(n_neighbors=10)
    times = np.array(
        [[timed_fit(model, X, y) for model in (theirs, ours)] for _ in range(repeat)]
    ).min(axis=0)
    hidden = y < 0
    for model, seconds, solver in (
        (theirs, times[0], f"{theirs.n_iter_} iterations"),
        (
            ours,
            times[1],
            ours.solver_ + (f", {ours.n_iter_} steps" * (ours.n_iter_ > 0)),
        ),
    ):
        yield {
            "rows": n,
            "features": d,
            "method": type(model).__name__,
            "solver": solver,
            "seconds": round(seconds, 2),
            "time ratio": round(seconds / times[0], 2),
            "accuracy": round(
                np.mean(model.transduction_[hidden] == y_true[hidden]), 4
            ),
        }


def deviations(n=500):
    """Largest difference to the dense solution of the same system."""
    for d, spread, _ in CASES:
        X, _, y = clusters(n, d, spread, 50)
        W = HarmonicFunctionClassifier().fit(X, y).graph_
        labeled, free = np.flatnonzero(y >= 0), np.flatnonzero(y < 0)
        Y = np.eye(10)[y[labeled]]
        L = graph_laplacian(W).toarray()
        dense = -np.linalg.solve(L[np.ix_(free, free)], L[np.ix_(free, labeled)] @ Y)
        for solver, tol in (("direct", 1e-6), ("cg", 1e-6), ("cg", 1e-12)):
            found = harmonic_functions(W, labeled, Y, solver=solver, tol=tol).values[
                free
            ]
            yield {
                "rows": n,
                "features": d,
                "solver": solver,
                "tol": "" if solver == "direct" else f"{tol:.0e}",
                "largest difference": f"{np.abs(found - dense).max():.1e}",
                "different labels": int(
                    np.sum(found.argmax(axis=1) != dense.argmax(axis=1))
                ),
            }


def table(rows, path=None):
    """Show rows as they come, and write them."""
    done = []
    for row in rows:
        print(" | ".join(str(value) for value in row.values()), flush=True)
        done.append(row)
        if path is not None:
            path.parent.mkdir(exist_ok=True)
            with path.open("w", newline="") as handle:
                writer = csv.DictWriter(handle, row, lineterminator="\n")
                writer.writeheader()
                writer.writerows(done)


# Our names of what the published table has.
CURES = {"Laplace": None, "WNLL": "non_local", "Poisson": "poisson", "proper": "proper"}
SPREADING = {**CURES, "consistency": "consistency"}


def spreading(method, **params):
    """Harmonic functions for None, else a method of regularisation on graphs."""
    if method is None:
        return HarmonicFunctionClassifier(**params)
    return GraphRegularizationClassifier(method=method, **params)


def accuracy(W, y, labeled, method):
    """Share of the unlabelled digits that are right, in percent."""
    labels = holes(y, labeled)
    model = spreading(method, affinity="precomputed", solver="cg", tol=1e-4)
    right = model.fit(W, labels).transduction_ == y
    return 100 * right[labels < 0].mean()


def embedded(path=None):
    """Return rows for the graph of all digits, and their classes."""
    bunch = load_mnist()
    if path is not None:
        return np.load(path)["Z"], bunch.target
    pca = PCA(50, svd_solver="randomized", random_state=0)
    return pca.fit_transform(bunch.data.astype(np.float32) / 255), bunch.target


def few_labels(path=None, draws=2, sizes=(10, 20, 50)):
    """Accuracies on all digits from the published draws of labels.

    The published graphs are on the embedding of a variational autoencoder that is not
    at hand; these are on one of our own, or on 50 principal components.
    """
    folder = Path(os.environ["FEWLABELS_PUBLISHED"])
    with (folder / "poisson.csv").open() as handle:
        lines = [line for line in handle if not line.startswith("#")]
        table = [r for r in csv.DictReader(lines) if r["dataset"] == "MNIST"]
        published = {r["method"]: r for r in table}
    drawn = np.load(folder / "poisson_mnist_draws.npz")
    Z, y = embedded(path)
    W = similarity_graph(Z, n_neighbors=10).astype(np.float64)
    for name, method in SPREADING.items():
        where = "components" if path is None else "autoencoder"
        row = {"method": name, "graph on": where}
        for size in sizes:
            right = [accuracy(W, y, d, method) for d in drawn[f"labels_{size}"][:draws]]
            row[f"{size} labels, published"] = published.get(name, {}).get(str(size))
            row[f"{size} labels"] = f"{np.mean(right):.1f}"
        yield {**row, "draws": draws}


def book(splits=6):
    """Errors on the sets of the book, with 10 and with 100 labels."""
    for name in BOOK_SETS:
        row = {"set": name}
        for method in SPREADING.values():
            means = []
            for n_labels in (10, 100):
                X, y, drawn = data_of(name, n_labels)
                errors = []
                for labeled in drawn[:splits]:
                    labels = holes(y, labeled)
                    found = spreading(method).fit(X, labels).transduction_
                    errors.append(100 * np.mean((found != y)[labels < 0]))
                means.append(f"{np.mean(errors):.1f}")
            row["harmonic" if method is None else method] = " / ".join(means)
        yield row


def main(n=None, path=None):
    if n in ("few", "book"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about rows that no label reaches
            if n == "few":
                both = (None,) if path is None else (path, None)
                table((r for p in both for r in few_labels(p)), FEW)
            else:
                table(book(), BOOK)
        return
    table(deviations(), EXACT if n is None else None)
    rows = (row for case in CASES for row in compare(int(n or N), *case))
    table(rows, RESULTS if n is None else None)


if __name__ == "__main__":
    main(*sys.argv[1:])
