"""Label all of MNIST from one to five labels of each class, on the published draws.

    python benchmarks/peers/mnist.py run                       # pixels
    python benchmarks/peers/mnist.py run --device cuda         # in two minutes
    python benchmarks/peers/mnist.py run --embedding FILE      # that of mnist_vae.py
    python benchmarks/peers/mnist.py run --methods unscaled    # not taken for a table
    python benchmarks/peers/mnist.py run --methods graphs      # our Poisson learning
    python benchmarks/peers/mnist.py run --methods graphlearning
    python benchmarks/peers/mnist.py report                    # and published means

Every finished draw is a line of benchmarks/results/peers_mnist.csv, and a new call goes
on where the last one stopped. FEWLABELS_PUBLISHED names the folder with poisson.csv,
the table of the authors of Poisson learning, and poisson_mnist_draws.npz, the first ten
of their draws of labels; the digits come from FEWLABELS_DATA. Graphs join the ten
nearest neighbours, of pixels on 50 components, which scikit-learn's exact search finds
for graphlearning.
"""

# SPDX-License-Identifier: BSD-3-Clause

import argparse
import csv
import os
import sys
import time
import warnings
from collections import defaultdict
from functools import partial
from pathlib import Path
from statistics import mean, stdev

import numpy as np
from sklearn.decomposition import PCA
from tqdm import tqdm

sys.path.append(str(Path(__file__).resolve().parents[2]))
from benchmarks.peers.methods import graphlearning_graph
from benchmarks.sets import holes

from fewlabels import FewLabelsClassifier
from fewlabels.datasets import load_mnist
from fewlabels.graphs import similarity_graph
from fewlabels.semi_supervised import GraphRegularizationClassifier

RESULTS = Path(__file__).resolve().parents[1] / "results"
SIZES = (10, 20, 30, 50)
OURS, TOLD = "FewLabelsClassifier", "FewLabelsClassifier (true sizes)"
UNSCALED = "FewLabelsClassifier (scale none)"
POISSON, MBO = "poisson", "PoissonMBO (true sizes)"
SPREAD = "Poisson learning of fewlabels"
LIBRARIES = {
    "fewlabels": (OURS, TOLD),
    "unscaled": (UNSCALED,),
    "graphs": (SPREAD,),
    "graphlearning": (POISSON, MBO),
}
PUBLISHED = ("Laplace", "WNLL", "p-Laplace", "Poisson", "VolumeMBO", "PoissonMBO")
KEY = ("rows", "labels", "draw", "method")
COLUMNS = (*KEY, "accuracy", "expected error", "low", "high", "seconds")


def published(name):
    """Return a file of the folder with published tables, or say what to do."""
    folder = os.environ.get("FEWLABELS_PUBLISHED")
    if folder is None or not (Path(folder) / name).exists():
        sys.exit(f"Set FEWLABELS_PUBLISHED to the folder that holds {name}.")
    return Path(folder) / name


def automatic(X, y, device, scale="auto"):
    """Return a function from labels to answers and judgement; the bank is made once."""
    model = FewLabelsClassifier(scale=scale, random_state=0, device=device)

    def answer(labels, method):
        sizes = np.bincount(y[labels < 0])
        model.set_params(class_prior=sizes if method == TOLD else "auto")
        if hasattr(model, "classes_"):
            model.refit_labels(labels)
        else:
            model.fit(X, labels)
        error = model.expected_error_
        judged = {"expected error": error.value, "low": error.low, "high": error.high}
        return model.transduction_, {k: f"{100 * v:.2f}" for k, v in judged.items()}

    return answer


def components(X):
    """Return rows for a graph."""
    if X.shape[1] <= 50:
        return X
    return PCA(50, svd_solver="randomized", random_state=0).fit_transform(X)


def spreading(X, y, device):
    """Return such a function of Poisson learning, on one graph for all draws."""
    W = similarity_graph(components(X), n_neighbors=10).astype(np.float64)
    model = GraphRegularizationClassifier(
        method="poisson", affinity="precomputed", solver="cg", tol=1e-4
    )
    return lambda labels, method: (model.fit(W, labels).transduction_, {})


def graphlearning(X, y, device):
    """Return such a function of graphlearning."""
    from graphlearning import ssl

    W = graphlearning_graph(components(X), 10)

    def answer(labels, method):
        labeled = np.flatnonzero(labels >= 0)
        if method == POISSON:
            model = ssl.poisson(W)
        else:
            model = ssl.poisson_mbo(W, class_priors=np.bincount(y) / y.size)
        return model.fit_predict(labeled, labels[labeled]), {}

    return answer


MAKERS = {
    "fewlabels": automatic,
    "unscaled": partial(automatic, scale="none"),
    "graphs": spreading,
    "graphlearning": graphlearning,
}


def read(path):
    """Lines of earlier runs by their keys."""
    if not path.exists():
        return {}
    with path.open(newline="", encoding="utf-8") as file:
        return {tuple(line[k] for k in KEY): line for line in csv.DictReader(file)}


def write(path, lines):
    """Write lines of the same keys."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(lines)


def run(path, *, methods, embedding=None, device=None, draws=10, rows=None):
    """Run the draws that are missing, those of every size in turn."""
    done = read(path)
    drawn = np.load(published("poisson_mnist_draws.npz"))
    X, y = load_mnist(return_X_y=True)
    where, X = "pixels", X.astype(np.float32) / 255
    if embedding is not None:
        where, X = "autoencoder", np.load(embedding)["Z"]
    jobs = [
        (draw, size, method)
        for draw in range(draws)
        for size in SIZES
        for method in LIBRARIES[methods]
        if (where, str(size), str(draw), method) not in done
    ]
    answer = None
    kept = np.arange(y.size)
    if rows is not None:  # a quick look at some of them
        labeled = np.concatenate([drawn[f"labels_{size}"].ravel() for size in SIZES])
        kept = np.union1d(labeled, kept[:rows])
    X, y = X[kept], y[kept]
    for draw, size, method in tqdm(jobs, unit="draw"):
        labels = holes(y, np.searchsorted(kept, drawn[f"labels_{size}"][draw]))
        answer = answer or MAKERS[methods](X, y, device)
        started = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found, judged = answer(labels, method)
        seconds = time.perf_counter() - started
        hidden = labels < 0
        line = {
            "rows": where,
            "labels": size,
            "draw": draw,
            "method": method,
            "accuracy": f"{100 * np.mean((found == y)[hidden]):.2f}",
            **judged,
            "seconds": f"{seconds:.2f}",
        }
        done[tuple(str(line[k]) for k in KEY)] = line
        write(path, done.values())


def report(path):
    """Means over the draws, with deviations, and the published means."""
    found = defaultdict(lambda: defaultdict(list))
    for line in read(path).values():
        accuracy = float(line["accuracy"])
        found[line["method"], line["rows"]][int(line["labels"])].append(accuracy)
    table = []
    for (method, where), by_size in found.items():
        cells = {
            f"{size} labels": f"{mean(by_size[size]):.1f} ± {stdev(by_size[size]):.1f}"
            for size in SIZES
            if len(by_size[size]) > 1
        }
        counts = {len(right) for right in by_size.values()}
        draws = " or ".join(map(str, sorted(counts)))
        table.append({"method": method, "rows": where, "draws": draws, **cells})
    with published("poisson.csv").open(encoding="utf-8") as file:
        lines = [line for line in file if not line.startswith("#")]
    for line in csv.DictReader(lines):
        if line["dataset"] == "MNIST" and line["method"] in PUBLISHED:
            told = " (true sizes)" if line["method"].endswith("MBO") else ""
            table.append(
                {
                    "method": f"{line['method']}{told}, published",
                    "rows": "the authors' autoencoder",
                    "draws": 10 if line["method"] == "p-Laplace" else 100,
                    **{f"{size} labels": line[str(size)] for size in SIZES},
                }
            )
    with path.with_name("peers_mnist_means.csv").open(
        "w", newline="", encoding="utf-8"
    ) as file:
        columns = ("method", "rows", "draws", *(f"{size} labels" for size in SIZES))
        writer = csv.DictWriter(file, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(table)
    for line in table:
        print(*line.values(), sep=" | ")


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("what", choices=("run", "report"))
    parser.add_argument("--methods", choices=LIBRARIES, default="fewlabels")
    parser.add_argument("--embedding", type=Path, help="file that has Z")
    parser.add_argument("--device", help="cuda, for fewlabels")
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--rows", type=int, help="only this many, for a quick look")
    parser.add_argument("--out", type=Path, default=RESULTS)
    given = parser.parse_args(arguments)
    given.out.mkdir(parents=True, exist_ok=True)
    path = given.out / "peers_mnist.csv"
    if given.what == "report":
        report(path)
        return
    run(
        path,
        methods=given.methods,
        embedding=given.embedding,
        device=given.device,
        draws=given.draws,
        rows=given.rows,
    )


if __name__ == "__main__":
    main()
