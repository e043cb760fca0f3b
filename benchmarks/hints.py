"""Opinions of other sources besides a few labels: what they bring, and what they cost.

Real tables, cut to at most 300 rows, with 20 labels at random and sources that are made
from the truth: of known accuracy, abstaining, alike, useless, adversarial, and an "old
model" that has seen a third of the columns and is wrong where these mislead. Compared
are labels alone, the hints as ordinary columns, Dawid and Skene's consensus alone (that
of crowd-kit where it is installed) and `hints=`. Figures are errors in percent on the
rows without a label.

    python benchmarks/hints.py run              # goes on where it stopped
    python benchmarks/hints.py run wine adult   # some tables
    python benchmarks/hints.py report

Tables are those of `tables.py`, in the same halves: constants were chosen on the first
half (even places of the sorted names), so look at the other one. The bank is "fast".
"""

# SPDX-License-Identifier: BSD-3-Clause

import csv
import sys
import time
import warnings
from pathlib import Path

import numpy as np
from scipy.sparse import csr_array, hstack, issparse
from sklearn.ensemble import RandomForestClassifier

from fewlabels import FewLabelsClassifier
from fewlabels.opinions import learn_reliability, read_opinions

sys.path.append(str(Path(__file__).resolve().parents[1]))
from benchmarks import tables

RESULTS = Path(__file__).parent / "results"
MAX_ROWS = 300
N_LABELS = 20
DRAWS = 2
LABELS, COLUMN, CONSENSUS, HINTS = "labels", "as columns", "consensus", "hints"
NEW = "hints, new rows"
METHODS = (LABELS, COLUMN, CONSENSUS, HINTS)


def noisy(codes, accuracy, rng, cover=1.0):
    """Make a source of given accuracy, whose mistakes follow the class shares."""
    wrong = rng.permutation(codes)
    for _ in range(20):  # draw again where the draw is right
        wrong = np.where(wrong == codes, rng.permutation(codes), wrong)
    said = np.where(rng.random(codes.size) < accuracy, codes, wrong)
    return np.where(rng.random(codes.size) < cover, said, -1)


def adversarial(codes, rng):
    """Name the next class in four of five rows, as if to mislead."""
    following = (codes + 1) % (codes.max() + 1)
    return np.where(rng.random(codes.size) < 0.8, following, codes)


def old_model(X, codes, rng):
    """Predict by a forest that learned a third of the columns from other rows."""
    columns = rng.permutation(X.shape[1])[: max(1, X.shape[1] // 3)]
    Z, said = X[:, columns], codes.copy()
    halves = np.array_split(rng.permutation(codes.size), 2)
    for test, train in (halves, halves[::-1]):
        forest = RandomForestClassifier(100, random_state=0).fit(Z[train], codes[train])
        said[test] = forest.predict(Z[test])
    return said


def several(codes, rng):
    """Five sources: two alike, one abstaining, one useless and one adversarial."""
    first = noisy(codes, 0.75, rng)
    alike = np.where(rng.random(codes.size) < 0.8, first, noisy(codes, 0.75, rng))
    return {
        "good": first,
        "alike": alike,
        "rare": noisy(codes, 0.95, rng, cover=0.3),
        "useless": rng.permutation(codes),
        "adversarial": adversarial(codes, rng),
    }


SETTINGS = {
    "55 %": lambda X, c, rng: {"a": noisy(c, 0.55, rng)},
    "70 %": lambda X, c, rng: {"a": noisy(c, 0.70, rng)},
    "85 %": lambda X, c, rng: {"a": noisy(c, 0.85, rng)},
    "95 %, speaks for 30 %": lambda X, c, rng: {"a": noisy(c, 0.95, rng, 0.3)},
    "useless": lambda X, c, rng: {"a": rng.permutation(c)},
    "adversarial": lambda X, c, rng: {"a": adversarial(c, rng)},
    "old model": lambda X, c, rng: {"a": old_model(X, c, rng)},
    "three of 70 %": lambda X, c, rng: {k: noisy(c, 0.70, rng) for k in "abc"},
    "five of all kinds": lambda X, c, rng: several(c, rng),
}


def load(name, draw):
    """Features, their columns and classes of at most MAX_ROWS rows."""
    X, groups, codes = tables.load(name, draw)
    X = X[:MAX_ROWS] if X.shape[0] > MAX_ROWS else X
    return X, groups, np.unique(codes[: X.shape[0]], return_inverse=True)[1]


def consensus(hints, codes, y):
    """Predict by Dawid and Skene's consensus, and the mode of the labels elsewhere."""
    names = np.arange(codes.max() + 1)
    usual = np.bincount(y[y >= 0]).argmax()
    try:
        import pandas as pd
        from crowdkit.aggregation import DawidSkene
    except ImportError:
        votes = read_opinions(hints, names)
        p = learn_reliability(votes, y).probabilities
        spoken = votes.speaks.any(axis=0)
        return np.where(spoken, p.argmax(axis=1), usual)
    lines = [
        (row, worker, said)
        for worker, all_said in hints.items()
        for row, said in enumerate(all_said)
        if said >= 0
    ]
    frame = pd.DataFrame(lines, columns=["task", "worker", "label"])
    truth = pd.Series(y[y >= 0], index=np.flatnonzero(y >= 0))
    truth.index.name = "task"
    found = DawidSkene(n_iter=100).fit_predict(frame, true_labels=truth)
    return found.reindex(range(codes.size)).fillna(usual).to_numpy().astype(int)


def with_columns(X, groups, hints, n_classes):
    """Append the opinions as ordinary columns, one group of indicators each."""
    groups = np.arange(X.shape[1]) if groups is None else groups
    extra = [
        (said[:, None] == np.arange(n_classes)).astype(float) for said in hints.values()
    ]
    width = np.repeat(np.arange(len(extra)), n_classes) + groups.max() + 1
    groups = np.concatenate([groups, width])
    if issparse(X):
        return hstack([X, *map(csr_array, extra)], format="csr"), groups
    return np.hstack([X, *extra]), groups


def run_table(name, draw):
    """All settings and methods on one table."""
    warnings.simplefilter("ignore")
    X, groups, codes = load(name, draw)
    rng = np.random.default_rng([draw, len(name)])
    kept = rng.permutation(codes.size)[:N_LABELS]
    if np.unique(codes[kept]).size < 2:
        return []
    y = np.full(codes.size, -1)
    y[kept] = codes[kept]
    asked = np.flatnonzero(y < 0)
    settings = {"scale": "unit" if issparse(X) else "none", "bank": "fast"}
    model = FewLabelsClassifier(feature_groups=groups, random_state=draw, **settings)
    model.fit(X, y)

    def wrong(predicted):
        return np.mean(predicted[asked] != codes[asked])

    alone, lines = wrong(model.transduction_), []
    for setting, make in SETTINGS.items():
        hints = make(X, codes, rng)
        (first, *others), right = hints.values(), np.empty(0)
        if not others:
            spoken = asked[first[asked] >= 0]
            right = first[spoken] == codes[spoken]
        start = time.process_time()
        model.refit_labels(y, hints=hints)
        seconds = time.process_time() - start
        errors = {LABELS: alone, HINTS: wrong(model.transduction_)}
        errors[NEW] = wrong(model.predict(X))
        errors[CONSENSUS] = wrong(consensus(hints, codes, y))
        Z, more = with_columns(X, groups, hints, codes.max() + 1)
        wide = FewLabelsClassifier(feature_groups=more, random_state=draw, **settings)
        errors[COLUMN] = wrong(wide.fit(Z, y).transduction_)
        expected = model.expected_error_
        lines.append(
            {
                "table": name,
                "draw": draw,
                "setting": setting,
                "seconds": round(seconds, 2),
                "source": f"{100 * (1 - right.mean()):.2f}" if right.size else "",
                "expected": f"{100 * expected.value:.2f}",
                "low": f"{100 * expected.low:.2f}",
                "high": f"{100 * expected.high:.2f}",
                **{m: f"{100 * e:.2f}" for m, e in errors.items()},
            }
        )
    return lines


def read_runs():
    """Lines of earlier runs."""
    path = RESULTS / "hints_runs.csv"
    if not path.exists():
        return []
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def write(name, lines):
    """Write lines, all of them with the same keys."""
    path = RESULTS / f"hints_{name}.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(lines[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(lines)


def run(chosen):
    """Run what is missing, and keep the lines of every table as soon as it is done."""
    lines = read_runs()
    done = {(line["table"], int(line["draw"])) for line in lines}
    for draw in range(DRAWS):
        for name in chosen or tables.names():
            if (name, draw) not in done:
                lines += run_table(name, draw)
                write("runs", lines)
                print(name, draw, file=sys.stderr)


def report():
    """Means by setting for both halves of the tables."""
    lines = read_runs()
    halves = {name: place % 2 for place, name in enumerate(tables.names())}
    means = []
    for half, title in enumerate(("first half", "other half")):
        for setting in SETTINGS:
            some = [
                line
                for line in lines
                if line["setting"] == setting and halves[line["table"]] == half
            ]
            if not some:
                continue
            value = {
                key: np.array([float(line[key] or "nan") for line in some])
                for key in ("source", "expected", "low", "high", NEW, *METHODS)
            }
            known = np.isfinite(value["expected"])
            held = (value["low"] <= value[HINTS]) & (value[HINTS] <= value["high"])
            worse = value[HINTS] - value[LABELS]
            means.append(
                {
                    "tables": title,
                    "sources": setting,
                    "runs": len(some),
                    "source": round(float(value["source"].mean()), 1),
                    **{m: round(float(value[m].mean()), 1) for m in (*METHODS, NEW)},
                    "worst loss": round(float(worse.max()), 1),
                    "interval holds": f"{held[known].mean():.0%}",
                }
            )
    write("means", means)
    for line in means:
        print(*line.values(), sep=" | ")


def main(arguments):
    """Follow the first argument."""
    if not (tables.FOLDER / "index.csv").exists():
        sys.exit(f"Skipped: there are no tables in {tables.FOLDER}.")
    if arguments[:1] == ["run"]:
        run(arguments[1:])
    elif arguments == ["report"]:
        report()
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
