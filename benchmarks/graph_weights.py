"""Compare the weights of neighbour graphs, for labels and for clusters.

    python benchmarks/graph_weights.py                     # all, resumable
    python benchmarks/graph_weights.py --sets moons,g50c   # some of the sets

The rows and labels are those of the comparison with peers (benchmarks/peers), with
other splits. Every second set is there to choose by, the others to report: this is how
the default weights of fewlabels.graphs.similarity_graph were found. Every finished line
is kept in benchmarks/results/graph_weights_runs.csv; graph_weights.csv has the means.
Data come from the folder that FEWLABELS_DATA names.
"""

# SPDX-License-Identifier: BSD-3-Clause

import argparse
import csv
import sys
import warnings
from pathlib import Path

import numpy as np
from scipy.sparse import csr_array
from tqdm import tqdm

sys.path.append(str(Path(__file__).resolve().parents[1]))
from benchmarks.peers.cases import labels_case
from benchmarks.peers.run import LABEL_SETS
from benchmarks.peers.worker import matched

from fewlabels.cluster import NormalizedSpectralClustering
from fewlabels.graphs import auto_bandwidth, graph_from_neighbors, nearest_neighbors
from fewlabels.semi_supervised import (
    GraphRegularizationClassifier,
    HarmonicFunctionClassifier,
    LaplacianRLSClassifier,
)

RESULTS = Path(__file__).parent / "results"
SETS = list(dict.fromkeys(name for name, _ in LABEL_SETS))
CHOOSING = SETS[::2]
SPLITS = (2, 3, 4)  # the comparison with peers has the first two
COLUMNS = ("set", "n_labels", "split", "graph", "method", "error")
MOST = 15


def heat(width, k=10, symmetrize="mean"):
    """Gaussian weights; the width in units of the mean length of the edges."""

    def build(distances, indices):
        unit = auto_bandwidth(distances[:, :k])
        return graph_from_neighbors(
            distances,
            indices,
            n_neighbors=k,
            symmetrize=symmetrize,
            bandwidth=width * unit,
        )

    return build


def binary(distances, indices):
    return graph_from_neighbors(
        distances, indices, n_neighbors=10, weight="binary", symmetrize="union"
    )


def local(sharpness, both_ends=False, k=10):
    """Widths of their own for all rows: the distance to the last neighbour.

    exp(-c d^2 / r_i^2) are the weights of graphlearning, for c = 4, and
    exp(-c d^2 / (r_i r_j)) those that are called self-tuning, for c = 1.
    """

    def build(distances, indices):
        d, near = distances[:, :k].astype(float), indices[:, :k]
        reach = np.maximum(d[:, -1:], np.finfo(float).tiny)
        square = reach * reach[near, 0] if both_ends else reach**2
        w = np.maximum(np.exp(-sharpness * d**2 / square), 1e-8)
        n = len(d)
        W = csr_array((w.ravel(), near.ravel(), np.arange(0, n * k + 1, k)), (n, n))
        return csr_array(0.5 * (W + W.T))

    return build


GRAPHS = {
    "binary, union": binary,
    **{f"{w} mean, union": heat(w, symmetrize="union") for w in (1, 0.7, 0.5, 0.35)},
    **{f"{w} mean, mean": heat(w) for w in (1, 0.7, 0.5, 0.35)},
    "5 neighbours, 1 mean, mean": heat(1, 5),
    "5 neighbours, 0.7 mean, mean": heat(0.7, 5),
    "15 neighbours, 0.41 mean, mean": heat(0.41, 15),
    **{f"local, {c}": local(c) for c in (1, 2, 4)},
    **{f"self-tuning, {c}": local(c, both_ends=True) for c in (1, 2, 4)},
}
METHODS = {
    "harmonic": HarmonicFunctionClassifier,
    "consistency": GraphRegularizationClassifier,
    "Laplacian least squares": LaplacianRLSClassifier,
    "spectral": NormalizedSpectralClustering,
}


def error_of(method, W, case):
    """Error in percent on the unlabelled rows, or of clusters renamed to classes."""
    X, y, labels = case["X"], case["y"], case["labels"]
    if method == "spectral":
        model = NormalizedSpectralClustering(
            np.unique(y).size, affinity="precomputed", random_state=0
        ).fit(W)
        return 100 * np.mean(matched(y, model.labels_)[model.labels_] != y)
    if method == "Laplacian least squares":
        model = LaplacianRLSClassifier().fit(X, labels, graph=W)
    else:
        model = METHODS[method](affinity="precomputed").fit(W, labels)
    hidden = labels < 0
    return 100 * np.mean(model.transduction_[hidden] != y[hidden])


def run(path, sets, splits):
    """Run what is not done yet; clusters, which no label changes, once per set."""
    done = set()
    if path.exists():
        with path.open() as handle:
            done = {tuple(row[:5]) for row in csv.reader(handle)}
    clustered = {name: n_labels for name, n_labels in reversed(LABEL_SETS)}
    todo = [
        (name, n_labels, split)
        for split in splits
        for name, n_labels in LABEL_SETS
        if name in sets
    ]
    fresh = not path.exists()
    with path.open("a", newline="") as handle, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about graphs that fall apart
        writer = csv.writer(handle, lineterminator="\n")
        if fresh:
            writer.writerow(COLUMNS)
        for name, n_labels, split in tqdm(todo, unit="case"):
            case = search = None
            for graph, build in GRAPHS.items():
                for method in METHODS:
                    key = (name, str(n_labels), str(split), graph, method)
                    once = split == splits[0] and clustered[name] == n_labels
                    if key in done or (method == "spectral" and not once):
                        continue
                    if case is None:
                        case = labels_case(name, n_labels, split)
                        search = nearest_neighbors(case["X"], MOST)
                    W = build(*search).astype(np.float64)
                    writer.writerow((*key, f"{error_of(method, W, case):.3f}"))
            handle.flush()


def summarise(runs, path):
    """Write the mean errors of both halves of the sets."""
    found = {}
    with runs.open() as handle:
        for row in csv.DictReader(handle):
            half = "choosing" if row["set"] in CHOOSING else "others"
            key = (row["graph"], f"{row['method']}, {half}")
            found.setdefault(key, []).append(float(row["error"]))
    lines = []
    for graph in GRAPHS:
        line = {"ten neighbours": graph}
        for method in METHODS:
            for half in ("choosing", "others"):
                name = f"{method}, {half}"
                errors = found.get((graph, name))
                line[name] = f"{np.mean(errors):.1f}" if errors else ""
        lines.append(line)
    with path.open("w", newline="") as handle:
        writer = csv.DictWriter(handle, lines[0], lineterminator="\n")
        writer.writeheader()
        writer.writerows(lines)
    return lines


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--sets", help="only these, separated by commas")
    parser.add_argument("--splits", type=int, nargs="+", default=SPLITS)
    parser.add_argument("--out", type=Path, default=RESULTS)
    given = parser.parse_args(arguments)
    given.out.mkdir(parents=True, exist_ok=True)
    runs = given.out / "graph_weights_runs.csv"
    run(runs, given.sets.split(",") if given.sets else SETS, tuple(given.splits))
    for line in summarise(runs, given.out / "graph_weights.csv"):
        print(" | ".join(line.values()))


if __name__ == "__main__":
    main()
