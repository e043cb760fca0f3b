"""Measure the automatic classifier on the settings of the literature.

    python benchmarks/chooser.py run          # everything, resumable
    python benchmarks/chooser.py run --sets g241c,text --splits 3
    python benchmarks/chooser.py table        # means and the figures to match
    python benchmarks/chooser.py run --methods peers --splits 3
    python benchmarks/chooser.py drop         # what each family of kernels buys
    python benchmarks/chooser.py single       # one label of each class, 20 draws
    python benchmarks/chooser.py dense        # what samples and landmarks cost
    python benchmarks/chooser.py cost         # seconds, memory, and a kNN graph
    python benchmarks/chooser.py million      # a million rows with the fast bank

Every finished split is a line of a CSV file, and a new call goes on where the last one
stopped. Data come from the folder that FEWLABELS_DATA names; sets that are missing are
named and left out.

Settings: the sets of the book *Semi-Supervised Learning* with 10 and 100 labels on
their own splits, G50C, PCMAC and USPST with 50 on theirs, pairs of USPS digits with 20,
COIL20, and USPS and MNIST as a whole with 3 and 10 labels per class. Errors are on
unlabelled rows, in percent.
"""

# SPDX-License-Identifier: BSD-3-Clause

import argparse
import csv
import resource
import sys
import time
import warnings
from collections import defaultdict
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import cache, partial
from multiprocessing import get_context
from pathlib import Path
from unittest.mock import patch

import numpy as np
from sklearn.datasets import make_moons
from sklearn.neighbors import kneighbors_graph
from sklearn.semi_supervised import LabelPropagation, LabelSpreading
from sklearn.svm import SVC
from tqdm import tqdm

from fewlabels import FewLabelsClassifier, RLSClassifier
from fewlabels.automatic._losses import log_losses
from fewlabels.automatic._pool import FAMILIES
from fewlabels.automatic._recipe import BANKS
from fewlabels.automatic._scaling import RowScaling
from fewlabels.automatic._tuned import FINAL_TEMPERATURES
from fewlabels.semi_supervised import (
    GraphRegularizationClassifier,
    HarmonicFunctionClassifier,
    LaplacianRLSClassifierCV,
    LaplacianSVC,
    S2RLSClassifierCV,
    SelfTrainingClassifier,
)

sys.path.append(str(Path(__file__).resolve().parents[1]))
from benchmarks.sets import (
    BOOK,
    BOOK_LABELS,
    OWN_LABELS,
    OWN_SPLITS,
    PAIRS,
    TRAINING_PART,
    data_of,
    holes,
    random_splits,
)

RESULTS = Path(__file__).parent / "results"
WHAT = ("run", "table", "drop", "single", "dense", "cost", "million")
BEST = "log_loss_at_best_temperature"
COLUMNS = (
    "set",
    "n_labels",
    "split",
    "method",
    "error",
    "log_loss",
    BEST,
    "expected",
    "low",
    "high",
    "new_rows",
    "other_rows",
    "other_rows_new",
    "seconds",
)

# The recipe's own figures (spec: the mean over all splits), where there are any.
FIGURES = {
    ("g241c", 10): 19.2,
    ("g241c", 100): 13.2,
    ("g241d", 10): 18.7,
    ("g241d", 100): 4.7,
    ("digit1", 10): 5.9,
    ("digit1", 100): 2.1,
    ("usps", 10): 17.1,
    ("usps", 100): 3.9,
    ("bci", 10): 48.6,
    ("bci", 100): 29.2,
    ("text", 10): 30.5,
    ("text", 100): 22.1,
    ("coil", 10): 63.8,
    ("coil", 100): 9.6,
    ("coil2", 10): 39.9,
    ("coil2", 100): 1.4,
    ("g50c", 50): 5.2,
    ("USPS 2v5", 20): 2.0,
    ("USPS 3v8", 20): 5.6,
    ("USPS 2v7", 20): 1.4,
    ("USPS 8v0", 20): 1.2,
    ("pcmac", 50): 6.3,
    ("uspst", 50): 10.0,
    ("USPS", 30): 6.1,
    ("USPS", 100): 4.0,
    ("MNIST", 30): 6.0,
    ("MNIST", 100): 3.3,
}
# A bank without samples or landmarks is made up to this many rows.
DENSE_ROWS = 2500
# Two classes, any number of labels: how good are probabilities and intervals?
JUDGED = (*(name for name in BOOK if name != "coil"), "g50c", "pcmac")
JUDGED_LABELS = (10, 20, 50, 100)
# The recipe's mean log-loss over 108 cases of each number of labels, which it does not
# name; nine sets with twelve splits are as many.
LOG_LOSSES = {10: 0.457, 20: 0.379, 50: 0.277, 100: 0.219}
SETTINGS = [
    *((name, 10) for name in BOOK),
    *((name, 100) for name in BOOK),
    *((name, 50) for name in OWN_SPLITS),
    *(
        (name, n_labels)
        for name in JUDGED
        for n_labels in JUDGED_LABELS
        if n_labels not in (BOOK_LABELS if name in BOOK else (OWN_LABELS,))
    ),
    *((name, 20) for name in PAIRS),
    ("COIL20", 60),
    ("COIL20", 200),
    ("USPS", 30),
    ("USPS", 100),
    ("MNIST", 30),
    ("MNIST", 100),
]


@cache
def bank_of(name, n_rows, bank):
    """Fit a model whose bank serves every split and number of labels."""
    X, y, splits = data_of(name, next(k for s, k in SETTINGS if s == name))
    model = FewLabelsClassifier(bank=bank, random_state=0)
    started = time.perf_counter()
    model.fit(X[:n_rows], holes(y, splits[0])[:n_rows])
    return model, time.perf_counter() - started


def automatic(name, n_labels, X, y, labeled):
    """One split of the automatic classifier, and of its supervised baseline."""
    model, _ = bank_of(name, X.shape[0], "default")
    started = time.perf_counter()
    model.refit_labels(holes(y, labeled))
    seconds = time.perf_counter() - started
    rows = np.ones(y.size, dtype=bool)
    rows[labeled] = False
    p = model.predict_proba(X)[rows, y[rows]]
    own = {
        "error": 100 * np.mean(model.transduction_[rows] != y[rows]),
        "log_loss": -np.log(p).mean(),
        BEST: best_log_loss(model.decision_function(X)[rows], y[rows]),
        "expected": 100 * model.expected_error_.value,
        "low": 100 * model.expected_error_.low,
        "high": 100 * model.expected_error_.high,
        "seconds": seconds,
    }
    base = {
        "error": 100 * np.mean(model.baseline_.predict(X)[rows] != y[rows]),
        "expected": 100 * model.baseline_error_.value,
        "low": 100 * model.baseline_error_.low,
        "high": 100 * model.baseline_error_.high,
    }
    return {"automatic": own, "supervised of the bank": base}


def best_log_loss(outputs, y):
    """Log-loss at the best temperature, which only the true labels tell."""
    losses = log_losses(outputs.reshape(y.size, -1), y, FINAL_TEMPERATURES)
    return losses.mean(axis=1).min()


def new_rows(name, n_labels, X, y, labeled):
    """Keep a fifth of the unlabelled rows from the bank, and then predict them.

    Of USPS and MNIST these are their own test rows. The error next to it is of the same
    rows by a model that had them all. Both errors on the other unlabelled rows, which
    both models had, tell how much of the difference comes from having fewer rows.
    """
    n_train = TRAINING_PART.get(name)
    if n_train is None:
        rng = np.random.RandomState(0)
        unlabeled = np.setdiff1d(np.arange(y.size), labeled)
        test = rng.permutation(unlabeled)[: unlabeled.size // 5]
        train = np.setdiff1d(np.arange(y.size), test)
        labels = holes(y, labeled)
        model = FewLabelsClassifier(random_state=0).fit(X[train], labels[train])
    else:
        test = np.arange(n_train, y.size)
        labels = holes(y, inside(labeled, y, n_train))
        model, _ = bank_of(name, n_train, "default")
        model.refit_labels(labels[:n_train], estimate_error=False)
    everything, _ = bank_of(name, X.shape[0], "default")
    everything.refit_labels(labels, estimate_error=False)
    others = np.setdiff1d(np.flatnonzero(labels == -1), test)
    answers = everything.transduction_.copy()
    line = {
        "error": 100 * np.mean(answers[test] != y[test]),
        "other_rows": 100 * np.mean(answers[others] != y[others]),
    }
    answers[np.delete(np.arange(y.size), test)] = model.transduction_
    answers[test] = model.predict(X[test])
    line["new_rows"] = 100 * np.mean(answers[test] != y[test])
    line["other_rows_new"] = 100 * np.mean(answers[others] != y[others])
    return {"automatic, new rows": line}


def inside(labeled, y, n_train):
    """Take other rows of the same classes for labelled rows of the test part."""
    rng = np.random.RandomState(int(labeled[0]))
    moved = []
    for row in labeled:
        while row >= n_train or row in moved:
            row = rng.choice(np.flatnonzero(y[:n_train] == y[row]))
        moved.append(row)
    return np.array(moved)


@cache
def scaled(name, n_labels):
    """Rows as the bank has them; sparse text stays sparse."""
    X = data_of(name, n_labels)[0]
    return RowScaling("auto").fit(X).transform(X)


def fixed(make):
    def run(name, n_labels, X, y, labeled):
        X = scaled(name, n_labels)
        started = time.perf_counter()
        rows = np.ones(y.size, dtype=bool)
        rows[labeled] = False
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # components without a label, mostly
            answers = make().fit(X, holes(y, labeled)).transduction_
        return {
            make.__name__: {
                "error": 100 * np.mean(answers[rows] != y[rows]),
                "seconds": time.perf_counter() - started,
            }
        }

    return run


# Each peer gets the rows as the bank scales them, and makes its own choice of
# parameters, by cross-validation or leave-one-out on the labels where it has one.


def supervised_linear():
    return RLSClassifier(kernel="linear")


def supervised_gaussian():
    return RLSClassifier(gamma="median")


def label_spreading():
    return LabelSpreading(kernel="knn", n_neighbors=10, max_iter=100)


def label_propagation():
    return LabelPropagation(kernel="knn", n_neighbors=10, max_iter=1000)


def self_training():
    return SelfTrainingClassifier(SVC(probability=True, random_state=0))


def s2rlsc():
    # One width, and one weight of the unlabelled rows: its own grid has 210 settings.
    return S2RLSClassifierCV(
        gammas=("median",),
        alphas=2.0 ** np.arange(-12, 1, 2),
        unlabeled_weights=(1.0,),
        solver_params={"n_init_search": 1},
        n_init=10,
        random_state=0,
    )


def laplacian_rls():
    return LaplacianRLSClassifierCV()


def laplacian_svc():
    return LaplacianSVC()


def harmonic():
    return HarmonicFunctionClassifier()


def graph_regularization():
    return GraphRegularizationClassifier()


def poisson_learning():
    return GraphRegularizationClassifier(method="poisson")


PEERS = (
    supervised_linear,
    supervised_gaussian,
    label_spreading,
    label_propagation,
    self_training,
    s2rlsc,
    laplacian_rls,
    laplacian_svc,
    harmonic,
    graph_regularization,
)
METHODS = {
    "automatic": automatic,
    "new_rows": new_rows,
    **{make.__name__: fixed(make) for make in PEERS},
}


def read(path):
    if not path.exists():
        return []
    with path.open() as handle:
        return list(csv.DictReader(handle))


def append(path, lines):
    fresh = not path.exists()
    with path.open("a", newline="") as handle:
        writer = csv.DictWriter(handle, COLUMNS, lineterminator="\n")
        if fresh:
            writer.writeheader()
        for line in lines:
            writer.writerow(
                {
                    key: f"{value:.4g}" if isinstance(value, float) else value
                    for key, value in line.items()
                }
            )


def run(path, wanted, sizes, n_splits, methods):
    done = {
        (r["set"], int(r["n_labels"]), int(r["split"]), r["method"]) for r in read(path)
    }
    jobs = []
    for name, n_labels in SETTINGS:
        if name not in wanted or n_labels not in sizes:
            continue
        try:
            splits = data_of(name, n_labels)[2]
        except (FileNotFoundError, OSError) as error:
            tqdm.write(f"{name} is left out: {error}")
            continue
        for split in range(min(n_splits, len(splits))):
            for method in methods:
                label = "automatic, new rows" if method == "new_rows" else method
                if (name, n_labels, split, label) not in done:
                    jobs.append((name, n_labels, split, method))
    # All splits of one set together: they share a bank.
    jobs.sort(key=lambda job: [s for s, _ in SETTINGS].index(job[0]))
    previous = None
    for name, n_labels, split, method in tqdm(jobs, unit="split", dynamic_ncols=True):
        if name != previous:
            bank_of.cache_clear()
            previous = name
        X, y, splits = data_of(name, n_labels)
        results = METHODS[method](name, n_labels, X, y, np.asarray(splits[split]))
        append(
            path,
            [
                {"set": name, "n_labels": n_labels, "split": split, "method": m, **line}
                for m, line in results.items()
            ],
        )


def table(path):
    lines = defaultdict(lambda: defaultdict(list))
    for line in read(path):
        lines[line["set"], int(line["n_labels"])][line["method"]].append(line)
    methods = sorted({m for by_method in lines.values() for m in by_method})
    print(
        " | ".join(["set", "labels", "splits", "recipe", *methods, "log-loss", "cover"])
    )
    for key in [k for k in SETTINGS if k in lines]:
        own = lines[key]["automatic"]
        cells = [*map(str, key), str(len(own)), f"{FIGURES.get(key, float('nan')):.1f}"]
        for method in methods:
            cells.append(mean_of(lines[key][method], "error", ".1f"))
        cells += [mean_of(own, "log_loss", ".3f"), mean_of(own, covers, ".2f")]
        print(" | ".join(cells))
    print("\nlabels | cases | log-loss | at best | recipe | cover, over nine sets")
    for n_labels in JUDGED_LABELS:
        own = [line for name in JUDGED for line in lines[name, n_labels]["automatic"]]
        cells = [str(n_labels), str(len(own))]
        cells += [mean_of(own, column, ".3f") for column in ("log_loss", BEST)]
        cells += [str(LOG_LOSSES[n_labels]), mean_of(own, covers, ".2f")]
        print(" | ".join(cells))


def covers(line):
    """Whether the interval holds the true error; nothing where there is none."""
    if line["expected"] in ("", "nan"):
        return ""
    low, error, high = (float(line[c]) for c in ("low", "error", "high"))
    return low <= error <= high


def mean_of(lines, value, form):
    """Format the mean of a column, or of a function of lines, without empty cells."""
    values = [value(line) if callable(value) else line[value] for line in lines]
    values = [float(v) for v in values if v != ""]
    return format(np.mean(values), form) if values else ""


def drop(path, wanted, sizes, n_splits):
    """Mean error with every family of kernels left out of the bank in turn."""
    families = list(FAMILIES)
    header = ["set", "n_labels", "n_splits", "all", *families]
    print(" | ".join(header))
    done = {(line["set"], int(line["n_labels"])) for line in read(path)}
    for name, n_labels in SETTINGS:
        if name not in wanted or n_labels not in sizes or (name, n_labels) in done:
            continue
        X, y, splits = data_of(name, n_labels)
        model, _ = bank_of(name, X.shape[0], "default")
        everything = model._bank.candidates
        cells = []
        for family in (None, *families):
            model._bank.candidates = [k for k in everything if k.family != family]
            errors = []
            for labeled in splits[:n_splits]:
                model.refit_labels(holes(y, labeled), estimate_error=False)
                rows = np.setdiff1d(np.arange(y.size), labeled)
                errors.append(100 * np.mean(model.transduction_[rows] != y[rows]))
            cells.append(f"{np.mean(errors):.1f}")
        model._bank.candidates = everything
        line = [name, str(n_labels), str(min(n_splits, len(splits))), *cells]
        print(" | ".join(line), flush=True)
        fresh = not path.exists()
        with path.open("a", newline="") as handle:
            csv.writer(handle, lineterminator="\n").writerows(
                [header, line] if fresh else [line]
            )


def single(path, wanted, n_draws=20):
    """Errors with one label of each class, where nothing can be held out.

    MNIST is left out, which peers/mnist.py labels from the published draws.
    """
    done = {line["set"] for line in read(path)}
    for name, n_labels in dict(SETTINGS).items():
        if name not in wanted or name in done or name == "MNIST":
            continue
        X, y, _ = data_of(name, n_labels)
        n_classes = np.unique(y).size
        model, poisson = None, fixed(poisson_learning)
        errors = defaultdict(list)
        for labeled in random_splits(y, n_classes, n_draws):
            labels = holes(y, labeled)
            if model is None:
                model = FewLabelsClassifier(random_state=0).fit(X, labels)
            else:
                model.refit_labels(labels)
            rows = labels == -1
            for method, answers in (
                ("supervised", model.baseline_.predict(X)),
                ("automatic", model.transduction_),
            ):
                errors[method].append(100 * np.mean(answers[rows] != y[rows]))
            (found,) = poisson(name, n_labels, X, y, labeled).values()
            errors["Poisson learning"].append(found["error"])
        line = {"set": name, "classes": n_classes, "draws": n_draws}
        line |= {method: f"{np.mean(found):.1f}" for method, found in errors.items()}
        print(" | ".join(map(str, line.values())), flush=True)
        fresh = not path.exists()
        with path.open("a", newline="") as handle:
            writer = csv.DictWriter(handle, line, lineterminator="\n")
            if fresh:
                writer.writeheader()
            writer.writerow(line)


def dense(path, wanted, sizes, n_splits):
    """Errors of the bank, and of one without samples or landmarks, on the same labels.

    That one has all components, half of all eigenvectors of the graphs, and every row
    (up to 2000) as a landmark of Gaussian and geodesic kernels and for centring.
    """
    done = {(line["set"], int(line["n_labels"])) for line in read(path)}
    for name, n_labels in SETTINGS:
        if name not in wanted or n_labels not in sizes or (name, n_labels) in done:
            continue
        X, y, splits = data_of(name, n_labels)
        if y.size > DENSE_ROWS:
            continue
        everything = dict.fromkeys(
            ("rank", "n_vectors", "landmarks", "anchors", "n_components"), y.size
        )
        line = {"set": name, "n_labels": n_labels, "n_splits": n_splits}
        for form, more in (("bank", {}), ("dense", everything)):
            settings = replace(BANKS["default"], **more)
            with patch.dict(BANKS, default=settings):
                model = FewLabelsClassifier(random_state=0)
                model.fit(X, holes(y, splits[0]))
            errors = []
            for labeled in splits[:n_splits]:
                model.refit_labels(holes(y, labeled), estimate_error=False)
                rows = np.setdiff1d(np.arange(y.size), labeled)
                errors.append(100 * np.mean(model.transduction_[rows] != y[rows]))
            line[form] = f"{np.mean(errors):.2f}"
        print(" | ".join(map(str, line.values())), flush=True)
        fresh = not path.exists()
        with path.open("a", newline="") as handle:
            writer = csv.DictWriter(handle, line, lineterminator="\n")
            if fresh:
                writer.writeheader()
            writer.writerow(line)


def one_graph(X, y):
    """Search ten neighbours of every row: what any method on a graph begins with."""
    return kneighbors_graph(X, 10)


def with_bank(bank):
    return partial(_fit, bank)


def _fit(bank, X, y):
    return FewLabelsClassifier(bank=bank, random_state=0).fit(X, y)


COSTS = {"kNN graph": one_graph, **{f"bank {b}": with_bank(b) for b in BANKS}}
COST_SETTINGS = [("digit1", 10), ("USPS", 30), ("MNIST", 30)]


def measured(job, name, n_labels):
    """Seconds of a job, and the peak memory of its process, in MiB.

    That is a process of its own, with the libraries and the data, in which a run on few
    rows has loaded compiled code.
    """
    X, y, splits = data_of(name, n_labels)
    labels = holes(y, splits[0])
    few = np.union1d(splits[0], np.arange(200))
    job(X[few], labels[few])
    started = time.perf_counter()
    job(X, labels)
    seconds = time.perf_counter() - started
    return seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def cost(path, wanted):
    """Write seconds and memory of every bank, and their ratios to one kNN graph."""
    lines = []
    for name, n_labels in COST_SETTINGS:
        if name not in wanted:
            continue
        X, y, _ = data_of(name, n_labels)
        units = None
        for what, job in COSTS.items():
            with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as fresh:
                found = fresh.submit(measured, job, name, n_labels).result()
            units = units or found
            line = {"set": name, "rows": y.size, "columns": X.shape[1], "what": what}
            for column, value, unit in zip(
                ("seconds", "MiB"), found, units, strict=True
            ):
                line[column] = f"{float(f'{value:.3g}'):g}"
                line[f"{column}, ratio"] = f"{float(f'{value / unit:.2g}'):g}"
            lines.append(line)
            print(" | ".join(map(str, line.values())), flush=True)
    with path.open("w", newline="") as handle:
        writer = csv.DictWriter(handle, lines[0], lineterminator="\n")
        writer.writeheader()
        writer.writerows(lines)


def million(n=1_000_000, n_new=10_000):
    """Fit two moons, turned into 20 dimensions, with ten labels of each."""
    rng = np.random.default_rng(0)
    X, y = make_moons(n + n_new, noise=0.1, random_state=0)
    plane = np.linalg.qr(rng.normal(size=(20, 20)))[0][:2]
    X = (X @ plane + 0.02 * rng.normal(size=(y.size, 20))).astype(np.float32)
    X_new, y_new, X, y = X[n:], y[n:], X[:n], y[:n]
    labels = holes(y, np.concatenate([np.flatnonzero(y == c)[:10] for c in (0, 1)]))
    started = time.process_time()
    model = FewLabelsClassifier(bank="fast", random_state=0).fit(X, labels)
    seconds = time.process_time() - started
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"{n} rows: {seconds:.0f} s of processor time, {memory:.1f} GiB")
    rows = labels == -1
    for name, answers, truth in (
        ("supervised", model.baseline_.predict(X)[rows], y[rows]),
        ("automatic", model.transduction_[rows], y[rows]),
        ("automatic, new rows", model.predict(X_new), y_new),
    ):
        print(f"{name}: {100 * np.mean(answers != truth):.2f} % wrong")


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("what", choices=WHAT)
    names = list(dict.fromkeys(name for name, _ in SETTINGS))
    parser.add_argument("--sets", default=",".join(names))
    parser.add_argument("--labels", default="10,20,30,50,60,100,200")
    parser.add_argument("--splits", type=int, default=12)
    parser.add_argument("--methods", default="automatic")
    parser.add_argument("--out", type=Path, default=RESULTS)
    given = parser.parse_args(arguments)
    path = given.out / "chooser_splits.csv"
    given.out.mkdir(exist_ok=True, parents=True)
    wanted = given.sets.split(",")
    sizes = [int(size) for size in given.labels.split(",")]
    if given.what == "run":
        methods = given.methods.replace("peers", ",".join(m.__name__ for m in PEERS))
        run(path, wanted, sizes, given.splits, methods.split(","))
        table(path)
    elif given.what == "table":
        table(path)
    elif given.what == "drop":
        drop(given.out / "chooser_drop.csv", wanted, sizes, given.splits)
    elif given.what == "single":
        single(given.out / "chooser_single.csv", wanted)
    elif given.what == "dense":
        dense(given.out / "chooser_dense.csv", wanted, sizes, given.splits)
    elif given.what == "cost":
        cost(given.out / "chooser_cost.csv", wanted)
    else:
        million()


if __name__ == "__main__":
    main()
