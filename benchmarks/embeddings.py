"""Texts by their words, by their meaning, and by both as separate sources.

    python benchmarks/embeddings.py [run] [TABLE ...]  # goes on where it stopped
    python benchmarks/embeddings.py report             # the table of the documentation

Of every table only its text is taken, or all of its columns where that is said, of at
most 1,000 rows, with three and ten labels of each class and three draws; figures are
errors in percent on the rows without a label. The folder of the tables is that of
`benchmarks/tables.py`; FEWLABELS_TEXTS names another one with tables of two columns,
"text" and "target". The rule for sources was chosen with all of these tables in view.
"""

# SPDX-License-Identifier: BSD-3-Clause

import csv
import os
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
# The column of text; None for all columns.
TABLES = {
    "airline_tweets": "text",
    "languages": "Text",
    "netflix": "description",
    "reuters_r8": "text",
    "sms_spam": "text",
    "trec": "text",
    "airline_tweets, all columns": None,
    "it_seniority, all columns": None,
    "mdc311, all columns": None,
    "netflix, all columns": None,
}
MORE = Path(os.environ.get("FEWLABELS_TEXTS", "absent"))
TABLES |= {p.name.split(".")[0]: "text" for p in sorted(MORE.glob("*.csv.gz"))}
# Views of a row that take part.
SOURCES = {
    "words": ["words"],
    "meaning": ["meaning"],
    "joined": ["words and meaning"],
    "separate": ["words", "meaning", "words and meaning"],
}
DRAWS = 3
MAX_ROWS = 1000
PER_CLASS = (3, 10)
COLUMNS = ("table", "draw", "per_class", "sources", "classes", "error", "expected")
COLUMNS += ("meaning_share", "seconds")


def load(name, draw):
    """Return columns of some rows of a table, and their classes as numbers."""
    path = MORE / f"{name}.csv.gz"
    if not path.exists():
        path = FOLDER / f"{name.partition(',')[0]}.csv.gz"
    table = read_table(path)
    y = np.unique(table["target"].astype(str), return_inverse=True)[1]
    rows = np.random.default_rng(draw).permutation(len(y))[:MAX_ROWS]
    rows = rows[np.bincount(y[rows])[y[rows]] >= 2 * max(PER_CLASS)]
    names = [n for n in table.names if n != "target"]
    if (text := TABLES[name]) is not None:
        names = [next(n for n in names if n.lower() == text.lower() or len(names) == 1)]
    columns = {n: table[n][rows] for n in names}
    return columns, np.unique(y[rows], return_inverse=True)[1]


def run(name, draw):
    """All sources and numbers of labels on one draw of a table, in one bank."""
    columns, truth = load(name, draw)
    known = {} if TABLES[name] is None else {"text": list(columns)}
    warnings.simplefilter("ignore")
    transformer = TableTransformer(**known, embed=True)
    X = transformer.fit_transform(columns)
    model = FewLabelsClassifier(
        scale="unit" if issparse(X) else "none",
        feature_groups=transformer.feature_groups_,
        feature_views=transformer.feature_views_,
        random_state=0,
    )
    started = time.process_time()
    model.fit(X, hide_labels(truth, per_class=PER_CLASS[0], random_state=draw))
    seconds = time.process_time() - started
    bank = model._bank
    everything = bank.candidates
    for sources, views in SOURCES.items():
        own = tuple(f"{view}: " for view in views)
        bank.candidates = [c for c in everything if c.name.startswith(own)]
        for per_class in PER_CLASS:
            y = hide_labels(truth, per_class=per_class, random_state=draw)
            model.refit_labels(y)
            hidden, found = y < 0, model.candidates_
            others = [not c.startswith("words:") for c in found["candidate"]]
            figures = (
                100 * float(np.mean(model.transduction_[hidden] != truth[hidden])),
                100 * model.expected_error_.value,
                float(found["weight"][others].sum()),
                seconds,
            )
            place = (name, draw, per_class, sources, int(truth.max()) + 1)
            line = (*place, *(f"{value:.2f}" for value in figures))
            yield dict(zip(COLUMNS, line, strict=True))


def lines():
    if not RESULTS.exists():
        return []
    with RESULTS.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def report():
    """Print a table in Markdown: means over the draws."""
    print("| table | classes | labels per class |", " | ".join(SOURCES), "|")
    print("|---" * (3 + len(SOURCES)) + "|")
    done = lines()
    for name in dict.fromkeys(line["table"] for line in done):
        for per_class in PER_CLASS:
            own = [
                r
                for r in done
                if (r["table"], r["per_class"]) == (name, str(per_class))
            ]
            means = (
                np.mean([float(r["error"]) for r in own if r["sources"] == s])
                for s in SOURCES
            )
            figures = " | ".join(f"{mean:.1f}" for mean in means)
            print(f"| {name} | {own[0]['classes']} | {per_class} | {figures} |")


def main(wanted):
    done = {(line["table"], line["draw"]) for line in lines()}
    for draw in range(DRAWS):
        for name in TABLES:
            if (name, str(draw)) in done or (wanted and name not in wanted):
                continue
            found = list(run(name, draw))
            fresh = not RESULTS.exists()
            with RESULTS.open("a", newline="", encoding="utf-8") as file:
                writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
                if fresh:
                    writer.writeheader()
                writer.writerows(found)
            for line in found:
                print(*line.values(), flush=True)


if __name__ == "__main__":
    report() if sys.argv[1:] == ["report"] else main(sys.argv[2:])
