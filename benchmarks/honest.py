"""How far the expected error can be believed, and how often the baseline is better.

Classes and numeric columns of tables, cut to 500 rows: true errors of the automatic
estimators, of their supervised baselines and of extra trees, and the expected error
with its interval. Runs of several versions of the library are kept side by side.

    python benchmarks/honest.py run after shared/tables build/packaged
    python benchmarks/honest.py report      # results/honest_means.csv

A folder is one of benchmarks/tables.py. `--every 2` takes every second of its tables.
Rules were chosen on the tables at even places of the sorted names ("first"); look at
the other half. For another version, let PYTHONPATH name its sources.
"""

# SPDX-License-Identifier: BSD-3-Clause

import argparse
import csv
import sys
import warnings
from collections import defaultdict
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed
from scipy.sparse import issparse
from sklearn.ensemble import ExtraTreesClassifier, ExtraTreesRegressor

sys.path.append(str(Path(__file__).resolve().parents[1]))
from benchmarks import tables

from fewlabels import FewLabelsClassifier, FewLabelsRegressor
from fewlabels.preprocessing import TableTransformer
from fewlabels.tabular import Table, read_table

RUNS = tables.RESULTS / "honest_runs.csv"
NUMBERS = (10, 20, 50, 100)
MAX_ROWS, MAX_LABELS, MIN_ASKED = 500, 200, 30
# A numeric target needs at least this many different values.
MIN_VALUES = 20


def options(X, groups, seed):
    """How the estimators read an encoded table."""
    scale = "unit" if issparse(X) else "none"
    return {"scale": scale, "feature_groups": groups, "random_state": seed}


def fitted(model, make, X, y):
    """Fit a new model, or an earlier one to other labels."""
    return make().fit(X, y) if model is None else model.refit_labels(y)


def line(model, setting, n_labels, n_single, errors):
    """Collect what one draw has shown; errors are ours, the baseline's, the trees'."""
    expected = model.expected_error_
    values = (*errors, expected.value, expected.low, expected.high)
    names = ("error", "baseline", "trees", "expected", "low", "high")
    figures = {k: f"{v:.4g}" for k, v in zip(names, values, strict=True)}
    return {"setting": setting, "labels": n_labels, "single": n_single} | figures


def classes_of(name, draw):
    """All settings of the classes of a table."""
    X, groups, codes = tables.load(name, draw)
    model, lines = None, []
    for setting in tables.SETTINGS:
        rng = np.random.RandomState(1000 + draw)
        kept = tables.labelled_rows(codes, setting, rng)
        y = np.full(codes.size, -1)
        y[kept] = codes[kept]
        asked = np.flatnonzero(y < 0)
        counts = np.bincount(codes[kept])
        if (counts > 0).sum() < 2 or kept.size > MAX_LABELS or asked.size < MIN_ASKED:
            continue
        model = fitted(
            model, lambda: FewLabelsClassifier(**options(X, groups, draw)), X, y
        )
        trees = ExtraTreesClassifier(random_state=draw).fit(X[kept], y[kept])
        predicted = (
            model.transduction_[asked],
            model.baseline_.predict(X[asked]),
            trees.predict(X[asked]),
        )
        errors = [np.mean(p != codes[asked]) for p in predicted]
        lines.append(line(model, setting, kept.size, (counts == 1).sum(), errors))
    return lines


def most_varied(table, rows):
    """Find the numeric column of most values, or None."""
    best, most = None, MIN_VALUES - 1
    for name in table.names:
        try:
            values = np.asarray(table[name])[rows].astype(float)
        except (TypeError, ValueError):
            continue
        known = np.isfinite(values)
        distinct = np.unique(values[known]).size
        if name != "target" and known.mean() > 0.9 and distinct > most:
            best, most = (name, values), distinct
    return best


def numbers_of(name, draw):
    """All settings of a numeric column of a table, in its standard deviations."""
    table = read_table(tables.FOLDER / f"{name}.csv.gz")
    rng = np.random.RandomState(draw)
    rows = np.sort(rng.permutation(table.n_rows)[:MAX_ROWS])
    found = most_varied(table, rows)
    if found is None:
        return []
    column, t = found
    rows, t = rows[np.isfinite(t)], t[np.isfinite(t)]
    t = (t - t.mean()) / t.std()
    transformer = TableTransformer()
    X = transformer.fit_transform(
        Table.from_frame({k: table[k][rows] for k in table.names if k != column})
    )
    groups, model, lines = transformer.feature_groups_, None, []
    for n_labels in NUMBERS:
        kept = np.random.RandomState(1000 + draw).permutation(t.size)[:n_labels]
        if 2 * n_labels > t.size or np.unique(t[kept]).size < 3:
            continue
        y = np.full(t.size, np.nan)
        y[kept] = t[kept]
        asked = np.flatnonzero(np.isnan(y))
        model = fitted(
            model, lambda: FewLabelsRegressor(**options(X, groups, draw)), X, y
        )
        trees = ExtraTreesRegressor(random_state=draw).fit(X[kept], t[kept])
        predicted = (
            model.transduction_[asked],
            model.baseline_.predict(X[asked]),
            trees.predict(X[asked]),
        )
        errors = [np.sqrt(np.mean((p - t[asked]) ** 2)) for p in predicted]
        lines.append(line(model, f"{n_labels} numbers", n_labels, 0, errors))
    return lines


def job(folder, name, draw, first):
    """Run one table."""
    warnings.simplefilter("ignore")
    tables.FOLDER, tables.MAX_ROWS = folder, MAX_ROWS
    where = {"folder": folder.name, "table": name, "draw": draw}
    where["half"] = "first" if first else "other"
    lines = [*classes_of(name, draw), *numbers_of(name, draw)]
    return [where | found for found in lines]


def read_runs():
    """Lines of earlier runs."""
    if not RUNS.exists():
        return []
    with RUNS.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def write(path, lines):
    """Write lines, all of them with the same keys."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(lines[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(lines)


def run(given):
    """Run what is missing, and keep every table as soon as it is done."""
    lines = read_runs()
    key = ("version", "folder", "table", "draw")
    done = {tuple(str(old[k]) for k in key) for old in lines}
    jobs = []
    for folder in map(Path, given.folders):
        names = sorted(p.name.removesuffix(".csv.gz") for p in folder.glob("*.csv.gz"))
        for half in (0, 1):
            for name in names[half::2][:: given.every]:
                for draw in range(given.draws):
                    place = (given.version, folder.name, name, str(draw))
                    if place not in done and half in given.halves:
                        jobs.append((folder, name, draw, half == 0))
    parallel = Parallel(n_jobs=given.jobs, return_as="generator_unordered")
    for number, fresh in enumerate(parallel(delayed(job)(*one) for one in jobs)):
        lines += [{"version": given.version} | found for found in fresh]
        write(RUNS, lines)
        print(f"{number + 1} of {len(jobs)}", file=sys.stderr)


def summary(lines):
    """Means of one setting of one version."""
    names = ("error", "baseline", "trees", "expected", "low", "high")
    error, baseline, trees, expected, low, high = (
        np.array([float(v[name]) for v in lines]) for name in names
    )
    known = np.isfinite(expected)
    inside = (low <= error + 1e-3) & (error <= high + 1e-3)
    judged = known if known.any() else ~known
    found = {"draws": len(lines), "unknown": f"{np.mean(~known):.0%}"}
    found["interval holds the error"] = f"{inside[judged].mean():.0%}"
    found["error above it"] = f"{np.mean(error > high + 1e-3):.0%}"
    if lines[0]["setting"].endswith("numbers"):
        ratio = np.exp(np.mean(np.log(np.maximum(error, 1e-9) / baseline)))
        worse = [np.mean(error > f * baseline) for f in (1.1, 1.5)]
        return found | {
            "width": "",
            "error": f"{ratio:.2f} of baseline",
            "baseline": "1",
            "worse": f"{worse[0]:.0%} by a tenth",
            "far worse": f"{worse[1]:.0%} by a half",
            "far worse than trees": f"{np.mean(error > 1.5 * trees):.0%}",
        }
    return found | {
        "width": f"{100 * np.mean((high - low)[judged]):.0f}",
        "error": f"{100 * error.mean():.1f}",
        "baseline": f"{100 * baseline.mean():.1f}",
        "worse": f"{np.mean(error > baseline + 0.01):.0%} by 1 point",
        "far worse": f"{np.mean(error > baseline + 0.05):.0%} by 5 points",
        "far worse than trees": f"{np.mean(error > trees + 0.05):.0%}",
    }


def report():
    """Summarise every setting of every version, and classes with one label apart."""
    groups = defaultdict(list)
    for old in read_runs():
        groups[old["half"], old["setting"], old["version"]].append(old)
        if old["single"] != "0" and not old["setting"].startswith("1 per"):
            groups[old["half"], "with single labels", old["version"]].append(old)
    order = [*tables.SETTINGS, "with single labels", *(f"{n} numbers" for n in NUMBERS)]
    keys = sorted(groups, key=lambda k: (k[0], order.index(k[1]), k[2] != "before"))
    means = [
        dict(zip(("tables", "labels", "version"), key, strict=True))
        | summary(groups[key])
        for key in keys
    ]
    write(tables.RESULTS / "honest_means.csv", means)
    for row in means:
        print(*row.values(), sep=" | ")


def main(arguments=None):
    """Follow the first argument."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["run", "report"])
    parser.add_argument("version", nargs="?", default="after")
    parser.add_argument("folders", nargs="*", default=[str(tables.FOLDER)])
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--draws", type=int, default=1)
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--halves", type=int, nargs="*", default=[0, 1])
    given = parser.parse_args(arguments)
    report() if given.what == "report" else run(given)


if __name__ == "__main__":
    main()
