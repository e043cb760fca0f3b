"""Choose how much say the network gets, on tasks from the tables of collect.py.

    python prior/weigh.py run --weights build/prior/weights.pt --real build/real.npz
    python prior/weigh.py report

These tables have no part in the benchmark, and none in the training of a network that
saw drawn tables only. A run that was interrupted goes on where it stopped.
"""

# SPDX-License-Identifier: BSD-3-Clause

import argparse
import csv
import warnings
from pathlib import Path
from unittest.mock import patch

import candidate
import numpy as np
from evaluate import alone_outputs, classifier, load, tables
from joblib import Parallel, delayed
from scipy.sparse import issparse

from fewlabels.preprocessing import TableTransformer
from fewlabels.tabular import Table

RUNS = tables.RESULTS / "prior_shares.csv"
SHARES = np.arange(11) / 10
PER_CLASS = (3, 10)
MIN_ROWS, MAX_ROWS, MIN_MEMBERS, MAX_CLASSES = 150, 600, 20, 12


def task(path, place):
    """Columns of a table and classes from one of them, or None where none will do."""
    with np.load(path) as file:
        parts = (file[f"{k}_{place}"] for k in ("values", "category", "telling"))
        values, category, telling = parts
        name = str(file["names"][place])
    rng = np.random.RandomState(place)
    good = np.flatnonzero((telling > 0.15) & (telling < 0.98))
    if values.shape[0] < MIN_ROWS or category.size < 4 or not good.size:
        return None
    chance = np.where(category[good], 4.0, 1.0)
    target = rng.choice(good, p=chance / chance.sum())
    values = values[rng.permutation(values.shape[0])[:MAX_ROWS]].astype(float)
    asked = np.nan_to_num(values[:, target])
    if not category[target]:
        C = rng.choice([2, 2, 3, 4, 5])
        asked = np.searchsorted(np.quantile(asked, np.arange(1, C) / C), asked)
    large = np.bincount(asked.astype(int)) >= MIN_MEMBERS
    if not 2 <= large.sum() <= MAX_CLASSES:
        return None
    used = large[asked.astype(int)]
    columns = {
        f"column {k}": np.array([f"level {int(v)}" for v in values[used, k]], object)
        if category[k]
        else values[used, k]
        for k in range(category.size)
        if k != target
    }
    return name, columns, np.unique(asked[used], return_inverse=True)[1], rng


def errors(path, place, weights):
    """Errors by the share of the network, and what held-out rows say of it."""
    warnings.simplefilter("ignore")
    made = task(path, place)
    if made is None:
        return []
    name, columns, codes, rng = made
    transformer = TableTransformer()
    X = transformer.fit_transform(Table.from_frame(columns))
    if issparse(X):
        return []
    lines, found = [], {}

    def noted(choice, labeled, place):
        found["excess"] = candidate.excess_of(choice, labeled, place)
        found["importance"] = labeled.importance
        return choice

    for each in PER_CLASS:
        members = (np.flatnonzero(codes == c) for c in np.unique(codes))
        kept = np.concatenate([rng.permutation(m)[:each] for m in members])
        y = np.full(codes.size, -1)
        y[kept] = codes[kept]
        rest = np.flatnonzero(y < 0)
        with candidate.in_banks(load(weights)), patch.object(candidate, "mixed", noted):
            model = classifier(X, transformer.feature_groups_, 0).fit(X, y)
        p = model.predict_proba(X[rest])
        q = (1 + alone_outputs(model, y)[rest]) / 2
        q = np.hstack([1 - q, q]) if q.shape[1] == 1 else q
        line = {"table": name, "per_class": each, "classes": p.shape[1]}
        line["excess"] = line["error"] = ""
        if found["excess"] is not None:
            weighed = found["importance"] * found["excess"]
            line["excess"] = f"{weighed.mean():.4f}"
            line["error"] = f"{weighed.std(ddof=1) / weighed.size**0.5:.4f}"
        for share in SHARES:
            wrong = ((1 - share) * p + share * q).argmax(1) != codes[rest]
            line[f"{share:.1f}"] = f"{100 * wrong.mean():.2f}"
        lines.append(line)
    return lines


def read_runs():
    """Lines of earlier runs."""
    if not RUNS.exists():
        return []
    with RUNS.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def run(path, weights, jobs):
    """Run what is missing."""
    lines = read_runs()
    done = {line["table"] for line in lines}
    with np.load(path) as file:
        places = [k for k, name in enumerate(file["names"]) if name not in done]
    parallel = Parallel(n_jobs=jobs, return_as="generator_unordered")
    for fresh in parallel(delayed(errors)(path, k, weights) for k in places):
        lines += fresh
        if fresh:
            with RUNS.open("w", newline="", encoding="utf-8") as file:
                writer = csv.DictWriter(file, list(fresh[0]), lineterminator="\n")
                writer.writeheader()
                writer.writerows(lines)
            print(len(lines), flush=True)


def error_at(line, share):
    """Error of a share, between those that were measured."""
    known = [float(line[f"{s:.1f}"]) for s in SHARES]
    return float(np.interp(share, SHARES, known))


def share_of(line, share, decay):
    """Share by a rule: what it is where nothing speaks against it, and how it falls."""
    if not line["excess"] or float(line["excess"]) <= 0:
        return share
    z = float(line["excess"]) / max(float(line["error"]), 1e-12)
    return share * np.exp(-z / decay)


def report():
    """Mean errors by rule."""
    lines = read_runs()
    print(f"{len(lines)} tasks")
    print("share  decay " + "".join(f"{n:>8d}" for n in PER_CLASS) + "    both")
    for share in (0.0, 0.3, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0):
        for decay in (2.0, 4.0, 8.0, np.inf):
            means = [
                np.mean(
                    [
                        error_at(line, share_of(line, share, decay))
                        for line in lines
                        if line["per_class"] in chosen
                    ]
                )
                for chosen in (("3",), ("10",), ("3", "10"))
            ]
            print(f"{share:5.1f} {decay:6.0f}" + "".join(f"{m:8.2f}" for m in means))


def main():
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("command", choices=["run", "report"])
    parser.add_argument("--real", type=Path)
    parser.add_argument("--weights", type=Path)
    parser.add_argument("--jobs", type=int, default=2)
    given = parser.parse_args()
    if given.command == "run":
        run(given.real, given.weights, given.jobs)
    else:
        report()


if __name__ == "__main__":
    main()
