"""Label tables from a few labels: the command line compared with work by hand.

scikit-learn's bundled sets, four labels per class, written as tables; in the "mixed"
ones every third column became four words by its quartiles, and a twentieth of the cells
is empty. "table" is `fewlabels.tabular.label_table`, which is not told what the columns
hold; "by hand" is logistic regression on the labelled rows behind imputation, scaling
and one-hot encoding of the right columns; "array" is `FewLabelsClassifier` on the
numbers themselves. Figures are mean errors in percent on rows without a label.

    python benchmarks/command_line.py               # and its file of results
    python benchmarks/command_line.py 1             # one draw, nothing is written
    python benchmarks/command_line.py rows 200000   # memory and time of the command
"""

# SPDX-License-Identifier: BSD-3-Clause

import csv
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from fewlabels import FewLabelsClassifier
from fewlabels.datasets import hide_labels
from fewlabels.tabular import label_table

RESULTS = Path(__file__).parent / "results" / "command_line.csv"
SETS = {
    "iris": load_iris,
    "wine": load_wine,
    "breast cancer": load_breast_cancer,
    "digits": load_digits,
}
MIXED = ("wine", "breast cancer")
WORDS = np.array(["low", "fair", "high", "extreme"], dtype=object)
DRAWS = 6
LABELS = 4


def mixed_columns(X, rng):
    """Columns of a table, some of them words, with holes."""
    columns = []
    for k, values in enumerate(X.T):
        column = values.astype(object)
        if k % 3 == 0:
            column = WORDS[
                np.searchsorted(np.quantile(values, [0.25, 0.5, 0.75]), values)
            ]
        column = column.copy()
        column[rng.random(column.size) < 0.05] = None
        columns.append(column)
    return columns


def error(answers, y, hidden):
    return 100 * np.mean(np.asarray(answers)[hidden] != y[hidden])


def by_table(columns, y, hidden, bank):
    table = {f"column {k}": values for k, values in enumerate(columns)}
    table["class"] = np.where(hidden, None, y.astype(object))
    return label_table(table, "class", bank=bank, as_frame=False).labels


def by_hand(columns, y, hidden):
    words = [k for k, c in enumerate(columns) if any(isinstance(v, str) for v in c)]
    numbers = [k for k in range(len(columns)) if k not in words]
    rows = np.empty((y.size, len(columns)), dtype=object)
    for k, column in enumerate(columns):
        fill = "" if k in words else np.nan
        rows[:, k] = [fill if v is None else v for v in column]
    model = make_pipeline(
        make_column_transformer(
            (
                make_pipeline(SimpleImputer(strategy="median"), StandardScaler()),
                numbers,
            ),
            (OneHotEncoder(handle_unknown="ignore"), words),
        ),
        LogisticRegression(max_iter=2000),
    )
    return model.fit(rows[~hidden], y[~hidden]).predict(rows)


def compare(name, mixed, draws, bank="default"):
    """One line of the table."""
    X, y = SETS[name](return_X_y=True)
    errors = []
    for draw in range(draws):
        rng = np.random.default_rng(draw)
        hidden = hide_labels(y, per_class=LABELS, random_state=draw) == -1
        columns = mixed_columns(X, rng) if mixed else list(X.T)
        array = np.nan
        if not mixed:
            model = FewLabelsClassifier(bank=bank, random_state=0)
            array = error(
                model.fit(X, np.where(hidden, -1, y)).transduction_, y, hidden
            )
        errors.append(
            (
                error(by_table(columns, y, hidden, bank), y, hidden),
                array,
                error(by_hand(columns, y, hidden), y, hidden),
            )
        )
    table, array, hand = np.mean(errors, axis=0)
    return {
        "set": f"{name}, mixed" if mixed else name,
        "rows": y.size,
        "columns": X.shape[1],
        "labels": LABELS * np.unique(y).size,
        "draws": draws,
        "table": f"{table:.1f}",
        "array": "" if mixed else f"{array:.1f}",
        "by hand": f"{hand:.1f}",
    }


def large_table(n_rows, path):
    """Sixteen numbers, two categories, a date, an identifier, and 200 labels."""
    rng = np.random.default_rng(0)
    kinds = rng.integers(0, 4, n_rows)
    X = 1.2 * rng.normal(size=(4, 16))[kinds] + rng.normal(size=(n_rows, 16))
    noisy = np.where(rng.random(n_rows) < 0.6, kinds, rng.integers(0, 4, n_rows))
    colours = np.array(["red", "green", "blue", "black"])[noisy]
    days = np.datetime64("2020-01-01") + rng.integers(0, 1500, n_rows)
    labelled = set(rng.choice(n_rows, 200, replace=False).tolist())
    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        names = [f"x{k}" for k in range(16)]
        writer.writerow(["id", *names, "colour", "town", "day", "label"])
        for k in range(n_rows):
            town = f"town {rng.integers(300)}"
            label = "abcd"[kinds[k]] if k in labelled else ""
            numbers = [f"{v:.4f}" for v in X[k]]
            writer.writerow([k + 1, *numbers, colours[k], town, days[k], label])


def run_command(n_rows):
    """Peak memory and processor time of `fewlabels label`."""
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder, "t.csv"), Path(folder, "out.csv")
        large_table(n_rows, source)
        command = [sys.executable, "-m", "fewlabels", "label", source, "-o", target]
        subprocess.run([*command, "--target", "label"], check=True)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_maxrss / 2**20, used.ru_utime + used.ru_stime


def main(draws=DRAWS, bank="default"):
    rows = [compare(name, False, draws, bank) for name in SETS]
    rows += [compare(name, True, draws, bank) for name in MIXED]
    return rows


if __name__ == "__main__":
    if sys.argv[1:2] == ["rows"]:
        memory, seconds = run_command(int(sys.argv[2]))
        print(f"{memory:.2f} GiB at most, {seconds:.0f} s of processor time")
        sys.exit()
    lines = main(*map(int, sys.argv[1:]))
    for line in lines:
        print(*line.values(), sep="\t")
    if len(sys.argv) == 1:
        with open(RESULTS, "w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, lines[0], lineterminator="\n")
            writer.writeheader()
            writer.writerows(lines)
