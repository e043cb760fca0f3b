"""Real tables with native columns: the automatic classifier and simple methods.

Every table is read as a user would read it, cut to at most 2,000 rows, and encoded by
`TableTransformer` for all methods alike. A few labels stay: some of each class, or some
rows at random. Figures are errors in percent on the rows without a label.

    python benchmarks/tables.py run              # all tables; goes on where it stopped
    python benchmarks/tables.py run wine adult   # some of them
    python benchmarks/tables.py report           # the tables of the documentation

The folder of the tables is named by FEWLABELS_TABLES, or lies next to the checkout;
`packaged.py` makes another one. `index.csv` there names them, `NAME.csv.gz` has the
label in the column `target`, and results begin with the name of the folder. Rules
of the automatic classifier were chosen on the tables at even places of the sorted names
("first half"); look at the other half.
"""

# SPDX-License-Identifier: BSD-3-Clause

import csv
import json
import os
import sys
import time
import warnings
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed
from scipy.sparse import issparse
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.semi_supervised import SelfTrainingClassifier

from fewlabels import FewLabelsClassifier
from fewlabels.preprocessing import TableTransformer
from fewlabels.tabular import Table, read_table

ROOT = Path(__file__).resolve().parents[1]
FOLDER = Path(os.environ.get("FEWLABELS_TABLES", ROOT.parent / "shared" / "tables"))
RESULTS = Path(__file__).parent / "results"
MAX_ROWS = 2000
DRAWS = 2
SETTINGS = {
    "1 per class": (1, True),
    "3 per class": (3, True),
    "10 per class": (10, True),
    "20 at random": (20, False),
    "50 at random": (50, False),
    "100 at random": (100, False),
}
SIMPLE = {
    "logistic regression": lambda seed: LogisticRegression(max_iter=500),
    "random forest": lambda seed: RandomForestClassifier(random_state=seed),
    "extra trees": lambda seed: ExtraTreesClassifier(random_state=seed),
    "self-training": lambda seed: SelfTrainingClassifier(
        LogisticRegression(max_iter=500)
    ),
}
OURS, BASELINE = "fewlabels", "fewlabels, labels alone"


def names():
    """Tables of the folder, sorted."""
    with (FOLDER / "index.csv").open(newline="", encoding="utf-8") as file:
        return sorted(line["name"] for line in csv.DictReader(file))


def labelled_rows(codes, setting, rng):
    """Rows that keep their label."""
    size, per_class = SETTINGS[setting]
    if not per_class:
        return rng.permutation(codes.size)[:size]
    classes = (np.flatnonzero(codes == c) for c in np.unique(codes))
    return np.concatenate([rng.permutation(members)[:size] for members in classes])


def load(name, draw):
    """Features, their columns, and the classes as numbers."""
    table = read_table(FOLDER / f"{name}.csv.gz")
    y = np.unique(table["target"].astype(str), return_inverse=True)[1]
    rng = np.random.RandomState(draw)
    rows = np.sort(rng.permutation(table.n_rows)[:MAX_ROWS])
    columns = {k: table[k][rows] for k in table.names if k != "target"}
    transformer = TableTransformer()
    features = transformer.fit_transform(Table.from_frame(columns))
    return features, transformer.feature_groups_, y[rows]


def run_table(name, draw):
    """All settings and methods on one table."""
    warnings.simplefilter("ignore")
    X, groups, codes = load(name, draw)
    model, lines = None, []
    for setting in SETTINGS:
        kept = labelled_rows(codes, setting, np.random.RandomState(1000 + draw))
        if np.unique(codes[kept]).size < 2:
            continue
        y = np.full(codes.size, -1)
        y[kept] = codes[kept]
        asked = np.flatnonzero(y < 0)
        errors = {}
        start = time.process_time()
        if model is None:
            scale = "unit" if issparse(X) else "none"
            model = FewLabelsClassifier(
                scale=scale, feature_groups=groups, random_state=draw
            ).fit(X, y)
        else:
            model.refit_labels(y)
        seconds = time.process_time() - start
        errors[OURS] = np.mean(model.transduction_[asked] != codes[asked])
        errors[BASELINE] = np.mean(model.baseline_.predict(X[asked]) != codes[asked])
        for method, make in SIMPLE.items():
            semi = method == "self-training"
            rows = np.arange(codes.size) if semi else kept
            simple = make(draw).fit(X[rows], y[rows])
            errors[method] = np.mean(simple.predict(X[asked]) != codes[asked])
        expected = model.expected_error_
        lines.append(
            {
                "table": name,
                "draw": draw,
                "setting": setting,
                "labels": kept.size,
                "classes": np.unique(codes).size,
                "seconds": round(seconds, 2),
                "expected": f"{100 * expected.value:.2f}",
                "low": f"{100 * expected.low:.2f}",
                "high": f"{100 * expected.high:.2f}",
                **{method: f"{100 * error:.2f}" for method, error in errors.items()},
            }
        )
    return lines


def read_runs():
    """Lines of earlier runs."""
    path = RESULTS / f"{FOLDER.name}_runs.csv"
    if not path.exists():
        return []
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def write(name, lines):
    """Write lines, all of them with the same keys."""
    with (RESULTS / f"{FOLDER.name}_{name}.csv").open(
        "w", newline="", encoding="utf-8"
    ) as file:
        writer = csv.DictWriter(file, list(lines[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(lines)


def run(chosen):
    """Run what is missing, and keep the lines of every table as soon as it is done."""
    lines = read_runs()
    done = {(line["table"], int(line["draw"])) for line in lines}
    jobs = [
        (name, draw)
        for draw in range(DRAWS)
        for name in chosen or names()
        if (name, draw) not in done
    ]
    parallel = Parallel(n_jobs=-1, return_as="generator_unordered")
    for number, fresh in enumerate(parallel(delayed(run_table)(*job) for job in jobs)):
        lines += fresh
        write("runs", sorted(lines, key=lambda v: (v["table"], int(v["draw"]))))
        print(f"{number + 1} of {len(jobs)}: {fresh[0]['table']}", file=sys.stderr)


def mean(lines, method):
    """Mean error of a method over tables, one decimal; each is a mean over draws."""
    errors = {}
    for line in lines:
        errors.setdefault(line["table"], []).append(float(line[method]))
    return round(float(np.mean([np.mean(draws) for draws in errors.values()])), 1)


def report():
    """Means by setting, errors by table, and how often intervals hold the truth."""
    lines = read_runs()
    halves = {name: place % 2 for place, name in enumerate(names())}
    methods = [*SIMPLE, BASELINE, OURS]
    means, intervals = [], []
    for half in ("all", "first half", "other half"):
        for setting in SETTINGS:
            some = [
                line
                for line in lines
                if line["setting"] == setting
                and half in ("all", ("first half", "other half")[halves[line["table"]]])
            ]
            worse = [float(r[OURS]) > float(r[BASELINE]) + 1 for r in some]
            means.append(
                {"tables": half, "labels": setting}
                | {method: mean(some, method) for method in methods}
                | {"worse than labels alone by a point": f"{np.mean(worse):.0%}"}
            )
            known = [r for r in some if r["expected"] != "nan"]
            if known:
                values = np.array(
                    [
                        [float(r[k]) for k in ("expected", "low", "high", OURS)]
                        for r in known
                    ]
                ).T
                expected, low, high, truth = values
                bias = float(np.mean(expected - truth))
                held = (low <= truth + 0.01) & (truth <= high + 0.01)
                intervals.append(
                    {
                        "tables": half,
                        "labels": setting,
                        "draws": len(known),
                        "interval holds the error": f"{held.mean():.0%}",
                        "width": round(float(np.mean(high - low)), 1),
                        "expected minus true": round(bias, 1),
                    }
                )
    by_table = []
    for name in names():
        line = {"table": name, "half": ("first", "other")[halves[name]]}
        for setting in SETTINGS:
            some = [r for r in lines if (r["table"], r["setting"]) == (name, setting)]
            if some:
                best = min(mean(some, method) for method in SIMPLE)
                line[setting] = f"{mean(some, OURS)} ({best})"
            else:
                line[setting] = ""
        by_table.append(line)
    write("means", means)
    write("intervals", intervals)
    write("errors", by_table)
    print(json.dumps(means, indent=1))


def main(arguments):
    """Follow the first argument."""
    if not (FOLDER / "index.csv").exists():
        sys.exit(
            f"Skipped: there are no tables in {FOLDER}; name a folder of them by "
            "the environment variable FEWLABELS_TABLES."
        )
    if arguments[:1] == ["run"]:
        run(arguments[1:])
    elif arguments == ["report"]:
        report()
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
