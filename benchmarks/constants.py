"""What the tuned constants of the automatic classifier are worth: each left out alone.

    python benchmarks/constants.py run       # all tables and sets, on all cores
    python benchmarks/constants.py report    # means of every change

Banks are built once, and labels judged again with one rule of
`fewlabels.automatic._tuned` changed at a time. Tables are those of `tables.py`, sets
those of the SSL book in `chooser.py`.
"""

# SPDX-License-Identifier: BSD-3-Clause

import contextlib
import csv
import sys
import time
import warnings
from collections import defaultdict
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed
from scipy.sparse import issparse
from sklearn.metrics import log_loss

sys.path.append(str(Path(__file__).resolve().parents[1]))
from benchmarks import tables
from benchmarks.sets import BOOK, BOOK_LABELS, data_of, holes

from fewlabels import FewLabelsClassifier
from fewlabels.automatic import _tuned

RESULTS = Path(__file__).parent / "results" / "constants.csv"
# What is changed, and to what: a value at which the rule does nothing.
CHANGES = {
    "as it is": {},
    "SMOOTHNESS": {"SMOOTHNESS": 0.0},
    "FEW_INSURANCE": {"FEW_INSURANCE": 0.0},
    "STACKING_STRENGTH": {"STACKING_STRENGTH": 1e9},
    "N_HALVES": {"N_HALVES": 10},
    "N_FIFTHS": {"N_FIFTHS": 1},
    "PULL_LABELS": {"PULL_LABELS": 0.0},
    "CAUTION": {"CAUTIOUS_TEMPERATURE": 3.0, "CAUTION": 1.0},
    "MANY_CLASSES": {"MANY_CLASSES": 10**6},
    "STEEPEST": {"STEEPEST": 0.0},
    "FEW": {"FEW": 0},
}
SETTINGS = [name for name in tables.SETTINGS if name != "1 per class"]
N_CHUNKS = 3


@contextlib.contextmanager
def changed(values):
    """Replace constants for a while."""
    before = {name: getattr(_tuned, name) for name in values}
    for name, value in values.items():
        setattr(_tuned, name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            setattr(_tuned, name, value)


def judged(model, kind, name, setting, draw, y, truth):
    """Lines of all changes for one choice of labels."""
    asked = np.flatnonzero(y < 0)
    lines = []
    for change, values in CHANGES.items():
        with changed(values):
            start = time.process_time()
            model.refit_labels(y)
            seconds = time.process_time() - start
        p = model.label_distributions_[asked]
        known = np.isin(truth[asked], model.classes_)
        expected = model.expected_error_
        error = np.mean(model.transduction_[asked] != truth[asked])
        baseline = model.baseline_.training_outputs[model.distinct_rows_[asked]]
        codes = (baseline[:, 0] > 0) if baseline.shape[1] == 1 else baseline.argmax(1)
        supervised = np.mean(model.classes_[codes.astype(int)] != truth[asked])
        loss = log_loss(truth[asked][known], p[known], labels=model.classes_)
        lines.append(
            {
                "kind": kind,
                "name": name,
                "setting": setting,
                "draw": draw,
                "change": change,
                "error": f"{100 * error:.3f}",
                "supervised": f"{100 * supervised:.3f}",
                "log_loss": f"{loss:.4f}",
                "low": f"{100 * expected.low:.2f}",
                "high": f"{100 * expected.high:.2f}",
                "expected": f"{100 * expected.value:.2f}",
                "seconds": f"{seconds:.2f}",
            }
        )
    return lines


def run_table(name, draw):
    """Run all settings of one table."""
    warnings.simplefilter("ignore")
    X, groups, truth = tables.load(name, draw)
    model, lines = None, []
    for setting in SETTINGS:
        rng = np.random.RandomState(1000 + draw)
        kept = tables.labelled_rows(truth, setting, rng)
        if np.unique(truth[kept]).size < 2:
            continue
        y = np.full(truth.size, -1)
        y[kept] = truth[kept]
        if model is None:
            scale = "unit" if issparse(X) else "none"
            model = FewLabelsClassifier(
                scale=scale, feature_groups=groups, random_state=draw
            ).fit(X, y)
        lines += judged(model, "table", name, setting, draw, y, truth)
    return lines


def run_set(name, chunk):
    """Run some splits of one set of the book."""
    warnings.simplefilter("ignore")
    model, lines = None, []
    for n_labels in BOOK_LABELS:
        X, truth, splits = data_of(name, n_labels)
        for draw, labeled in enumerate(splits):
            if draw % N_CHUNKS != chunk:
                continue
            y = holes(truth, labeled)
            if model is None:
                model = FewLabelsClassifier(random_state=0).fit(X, y)
            setting = f"{n_labels} labels"
            lines += judged(model, "set", name, setting, draw, y, truth)
    return lines


def run():
    """Run everything, and write all lines."""
    jobs = [delayed(run_set)(name, c) for name in BOOK for c in range(N_CHUNKS)]
    jobs += [delayed(run_table)(n, d) for d in range(2) for n in tables.names()]
    lines = []
    parallel = Parallel(n_jobs=-1, return_as="generator_unordered")
    for number, fresh in enumerate(parallel(jobs)):
        lines += fresh
        with RESULTS.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, list(lines[0]), lineterminator="\n")
            writer.writeheader()
            writer.writerows(lines)
        print(f"{number + 1} of {len(jobs)}: {fresh[0]['name']}", flush=True)


def report():
    """Mean difference of every change: error, log-loss, coverage, draws that lose."""
    with RESULTS.open(newline="", encoding="utf-8") as file:
        lines = list(csv.DictReader(file))
    groups = defaultdict(dict)
    for line in lines:
        case = line["kind"], line["name"], line["setting"], line["draw"]
        groups[case][line["change"]] = line
    print("| change | labels | error | log-loss | coverage | 5 points worse |")
    print("|---|---|---|---|---|---|")
    for change in CHANGES:
        for setting in sorted({case[2] for case in groups}):
            cases = [g for case, g in groups.items() if case[2] == setting]
            pairs = [(g["as it is"], g[change]) for g in cases]
            error, loss = (
                np.mean([float(b[k]) - float(a[k]) for a, b in pairs])
                for k in ("error", "log_loss")
            )
            known = [b for _, b in pairs if b["expected"] != "nan"]
            inside = [
                float(b["low"]) <= float(b["error"]) <= float(b["high"]) for b in known
            ]
            lost = [float(b["error"]) > float(b["supervised"]) + 5 for _, b in pairs]
            print(
                f"| {change} | {setting} | {error:+.2f} | {loss:+.4f} | "
                f"{np.mean(inside):.3f} | {np.mean(lost):.3f} |"
            )


if __name__ == "__main__":
    {"run": run, "report": report}[sys.argv[1]]()
