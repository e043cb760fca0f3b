"""Texts by their words, and by words and meaning (`embed=True`).

    python benchmarks/embeddings.py         # goes on where it stopped
    python benchmarks/embeddings.py report  # the table of the documentation

Of every table only its text is taken, of at most 1,500 rows, with three labels of each
class; figures are errors in percent on the rows without a label. Keeping words next to
the meaning was decided on the first two tables. The folder of the tables is that of
`benchmarks/tables.py`.
"""

# SPDX-License-Identifier: BSD-3-Clause

import csv
import sys
import time
import warnings
from pathlib import Path

import numpy as np
from scipy.sparse import issparse

sys.path.append(str(Path(__file__).resolve().parents[1]))
from benchmarks.tables import FOLDER

from fewlabels import FewLabelsClassifier
from fewlabels.datasets import hide_labels
from fewlabels.preprocessing import TableTransformer
from fewlabels.tabular import read_table

RESULTS = Path(__file__).parent / "results" / "embeddings.csv"
TABLES = {
    "trec": None,
    "sms_spam": None,
    "reuters_r8": None,
    "airline_tweets": "text",
    "languages": None,
    "netflix": "description",
}
CHOSEN_ON = ("trec", "sms_spam")
DRAWS = 3
MAX_ROWS = 1500
PER_CLASS = 3
COLUMNS = ("table", "draw", "embed", "classes", "error", "baseline", "seconds")


def load(name, draw):
    """Return some texts of a table and their classes as numbers."""
    table = read_table(FOLDER / f"{name}.csv.gz")
    column = TABLES[name] or next(n for n in table.names if n != "target")
    places = (table.names.index(n) for n in (column, "target"))
    texts, y = (np.asarray(table.columns[k], dtype=object) for k in places)
    rng = np.random.default_rng(draw)
    rows = rng.permutation(len(y))[:MAX_ROWS]
    texts, y = texts[rows], np.unique(y[rows].astype(str), return_inverse=True)[1]
    frequent = np.bincount(y)[y] >= 2 * PER_CLASS
    return texts[frequent], np.unique(y[frequent], return_inverse=True)[1]


def run(name, draw, embed):
    texts, y_true = load(name, draw)
    y = hide_labels(y_true, per_class=PER_CLASS, random_state=draw)
    hidden = y < 0
    started = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        X = TableTransformer(text=["text"], embed=embed).fit_transform({"text": texts})
        scale = "unit" if issparse(X) else "none"
        model = FewLabelsClassifier(scale=scale, random_state=0).fit(X, y)
    seconds = time.process_time() - started
    wrong = [
        100 * float(np.mean(answers[hidden] != y_true[hidden]))
        for answers in (model.transduction_, model.baseline_.predict(X))
    ]
    classes = int(y_true.max()) + 1
    figures = (f"{value:.2f}" for value in (*wrong, seconds))
    return dict(zip(COLUMNS, (name, draw, embed, classes, *figures), strict=True))


def lines():
    if not RESULTS.exists():
        return []
    with RESULTS.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def report():
    """Print a table in Markdown: means over the draws."""
    print("| table | classes | words | words and meaning |\n|---|---|---|---|")
    for name in TABLES:
        own = [line for line in lines() if line["table"] == name]
        means = [
            np.mean([float(r["error"]) for r in own if r["embed"] == str(embed)])
            for embed in (False, True)
        ]
        mark = " (chosen on)" if name in CHOSEN_ON else ""
        print(
            f"| {name}{mark} | {own[0]['classes']} | {means[0]:.1f} | {means[1]:.1f} |"
        )


def main():
    done = {(line["table"], line["draw"], line["embed"]) for line in lines()}
    for draw in range(DRAWS):
        for name in TABLES:
            for embed in (False, True):
                if (name, str(draw), str(embed)) in done:
                    continue
                line = run(name, draw, embed)
                fresh = not RESULTS.exists()
                with RESULTS.open("a", newline="", encoding="utf-8") as file:
                    writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
                    if fresh:
                        writer.writeheader()
                    writer.writerow(line)
                print(*line.values(), flush=True)


if __name__ == "__main__":
    report() if sys.argv[1:] == ["report"] else main()
