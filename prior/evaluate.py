"""Measure the network on real tables: alone, and in the automatic classifier.

    python prior/evaluate.py run --weights build/prior/weights.pt --half 1 --draws 5
    python prior/evaluate.py report

Tables, rows and labels are those of benchmarks/tables.py. Tables at even places of the
sorted names were for validation; the others were looked at once, at the end. A run that
was interrupted goes on where it stopped.
"""

# SPDX-License-Identifier: BSD-3-Clause

import argparse
import csv
import sys
import warnings
from pathlib import Path

import numpy as np
import torch
from candidate import InContext, in_banks
from inference import Network
from joblib import Parallel, delayed
from scipy.sparse import issparse
from sklearn.ensemble import ExtraTreesClassifier

from fewlabels import FewLabelsClassifier
from fewlabels.automatic._sources import View

sys.path.append(str(Path(__file__).resolve().parents[1]))

from benchmarks import tables

SETTINGS = ("3 per class", "10 per class")
RUNS = tables.RESULTS / "prior_runs.csv"
METHODS = ("extra trees", "network alone", "automatic", "automatic with network")


def load(path):
    """Weights of a training, as a network in NumPy."""
    saved = torch.load(path, map_location="cpu", weights_only=True)
    return Network({name: value.numpy() for name, value in saved["average"].items()})


def errors(name, draw, weights):
    """Errors of all methods on the rows of a table without a label, in percent."""
    warnings.simplefilter("ignore")
    X, groups, codes = tables.load(name, draw)
    lines = []
    for setting in SETTINGS:
        kept = tables.labelled_rows(codes, setting, np.random.RandomState(1000 + draw))
        y = np.full(codes.size, -1)
        y[kept] = codes[kept]
        rest = np.flatnonzero(y < 0)
        line = {"table": name, "draw": draw, "setting": setting, "share": "0"}
        trees = ExtraTreesClassifier(random_state=draw).fit(X[kept], codes[kept])
        answers = {"extra trees": trees.predict(X[rest])}
        plain = classifier(X, groups, draw).fit(X, y)
        answers["automatic"] = plain.transduction_[rest]
        with in_banks(load(weights)):
            model = classifier(X, groups, draw).fit(X, y)
            shares = {c.family: c.weight for c in model.contributions()}
        answers["automatic with network"] = model.transduction_[rest]
        line["share"] = f"{shares.get('network', 0.0):.3f}"
        answers["network alone"] = alone(model, y)[rest]
        for method in METHODS:
            wrong = np.mean(answers[method] != codes[rest])
            line[method] = f"{100 * wrong:.2f}"
        lines.append(line)
    return lines


def classifier(X, groups, draw):
    """Make the automatic classifier as benchmarks/tables.py does."""
    scale = "unit" if issparse(X) else "none"
    return FewLabelsClassifier(scale=scale, feature_groups=groups, random_state=draw)


def alone(model, y):
    """Classes by the network of a fitted model alone."""
    outputs = alone_outputs(model, y)
    if outputs is None:  # it reads no sparse rows
        return model.transduction_
    return (
        (outputs[:, 0] > 0).astype(int) if outputs.shape[1] == 1 else outputs.argmax(1)
    )


def alone_outputs(model, y):
    """Ask the network of a fitted model alone; None where there is none."""
    bank = model._bank
    network = next((c for c in bank.candidates if isinstance(c, InContext)), None)
    if network is None:
        return None
    rows = np.flatnonzero(y >= 0)
    model._row_weights = np.ones(rows.size)
    codes = np.searchsorted(model.classes_, y[rows])
    labeled = model._labeled(codes, bank.index[rows])
    answers = network.fit(labeled, np.ones(1), None, np.random.RandomState(0))
    return answers(View(batch=slice(None)))[bank.index]


def read_runs():
    """Lines of earlier runs."""
    if not RUNS.exists():
        return []
    with RUNS.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def run(weights, half, draws, jobs):
    """Run what is missing."""
    lines = read_runs()
    done = {(line["table"], int(line["draw"])) for line in lines}
    missing = [
        (name, draw)
        for draw in range(draws)
        for name in tables.names()[half::2]
        if (name, draw) not in done
    ]
    parallel = Parallel(n_jobs=jobs, return_as="generator_unordered")
    for number, fresh in enumerate(
        parallel(delayed(errors)(*job, weights) for job in missing)
    ):
        lines += fresh
        lines.sort(key=lambda line: (line["table"], int(line["draw"])))
        with RUNS.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, list(lines[0]), lineterminator="\n")
            writer.writeheader()
            writer.writerows(lines)
        print(f"{number + 1} of {len(missing)}: {fresh[0]['table']}", file=sys.stderr)


def report():
    """Means over tables, and paired intervals of the gain over tables."""
    lines = read_runs()
    halves = {name: place % 2 for place, name in enumerate(tables.names())}
    for half, words in enumerate(("validation", "other half")):
        mine = [line for line in lines if halves[line["table"]] == half]
        for settings in (*((s,) for s in SETTINGS), SETTINGS):
            some = [line for line in mine if line["setting"] in settings]
            if some:
                print(words, *settings)
                summarise(some, by_table=len(settings) > 1)


def summarise(lines, by_table):
    """Print means of some lines, every table the same weight."""
    found = {}
    for line in lines:
        found.setdefault(line["table"], []).append([float(line[m]) for m in METHODS])
    means = {name: np.mean(draws, axis=0) for name, draws in found.items()}
    errors = np.array(list(means.values()))
    gain = errors[:, 2] - errors[:, 3]
    drawn = np.random.RandomState(0).randint(gain.size, size=(10_000, gain.size))
    low, high = np.quantile(gain[drawn].mean(axis=1), [0.025, 0.975])
    print(f"    {len(found)} tables:", *(f"{e:.2f}" for e in errors.mean(axis=0)))
    print(f"    gain {gain.mean():.2f} ({low:.2f} to {high:.2f})")
    if by_table:
        for name, row in means.items():
            print(f"    {name:16s}", *(f"{e:6.1f}" for e in row))


def main():
    """Run or report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["run", "report"])
    parser.add_argument("--weights", type=Path, default="build/prior/weights.pt")
    parser.add_argument("--half", type=int, choices=[0, 1], default=0)
    parser.add_argument("--draws", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=-1)
    given = parser.parse_args()
    if given.what == "run":
        run(given.weights, given.half, given.draws, given.jobs)
    else:
        report()


if __name__ == "__main__":
    main()
