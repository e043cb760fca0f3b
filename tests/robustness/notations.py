"""Write tables whose values are known as ten countries would, and read them again.

`python -m tests.robustness.notations --tables 2000` prints how many cells were read
otherwise than they were written, with a note about their column and without one.
"""

# SPDX-License-Identifier: BSD-3-Clause

import argparse
import csv
import datetime as dt
import io
import json
import math
import os
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from fewlabels.preprocessing._parts import read_fields, read_tags
from fewlabels.preprocessing.cells import is_missing, text_of, to_vectors
from fewlabels.tabular import TableError, describe_columns, read_table
from tests.robustness.written import COUNTRIES, MAKERS, number_column, write_number

FORMATS = ("csv", "semicolon", "tsv", "xlsx", "json", "parquet")
# What may stand around the rows, and is not read as one.
LAYOUTS = {"title": True, "units": True, "totals": True, "merged": True}
SHARED = Path(
    os.environ.get("FEWLABELS_TABLES", Path(__file__).parents[3] / "shared" / "tables")
)


@dataclass
class Outcome:
    """What came of one table."""

    cells: int = 0
    wrong: int = 0
    noted: int = 0
    refused: int = 0
    needless: int = 0
    details: list[str] = field(default_factory=list)


UNITS = "[EUR]"


def real_columns(rng, country, n):
    """Some columns of numbers of a real table, in the notation of a country."""
    source = REAL[int(rng.integers(len(REAL)))]()
    rows = rng.choice(len(source), n, replace=len(source) < n)
    found = []
    for k in rng.choice(source.shape[1], min(3, source.shape[1]), replace=False):
        values = source[rows, k]
        if np.unique(values).size < 3:
            continue
        decimals = max(
            len(repr(float(v)).partition(".")[2].rstrip("0")) for v in values
        )
        if decimals > 6:
            continue
        grouped = bool(rng.random() < 0.5)
        found.append(
            number_column(f"real {k}", rng, country, values, decimals, "{}", grouped)
        )
    return found


def _bundled(name):
    def load():
        import sklearn.datasets

        return getattr(sklearn.datasets, f"load_{name}")().data

    return load


def _shared():
    """Columns of numbers of the tables next to the repository, if there are any."""
    import pandas as pd

    loaders = []
    for file in sorted(SHARED.glob("*.csv.gz")):

        def load(file=file):
            frame = pd.read_csv(file, nrows=2000, low_memory=False)
            numbers = frame.select_dtypes("number").dropna(axis=1)
            return numbers.to_numpy(dtype=float)

        if not file.name.startswith(("gene", "arr")):
            loaders.append(load)
    return loaders


REAL = [_bundled(name) for name in ("iris", "wine", "breast_cancer", "linnerud")]


def make(seed):
    """Columns of a table, its country and its format."""
    rng = np.random.default_rng(seed)
    name = str(rng.choice(list(COUNTRIES)))
    country = COUNTRIES[name]
    n = int(rng.integers(15, 61))
    chosen = rng.choice(len(MAKERS), int(rng.integers(3, 7)), replace=False)
    columns = [MAKERS[k](rng, country, n) for k in chosen]
    if rng.random() < 0.5:
        columns += real_columns(rng, country, n)
    names = Counter()
    for column in columns:
        names[column.name] += 1
        if names[column.name] > 1:
            column.name += f" {names[column.name]}"
    form = str(rng.choice(FORMATS))
    if form == "csv" and country.decimal == ",":
        form = "semicolon"
    return rng, name, form, columns


def write(folder, rng, country, form, columns):
    """Write a table in one of the formats; its path and how to read it."""
    names = [c.name for c in columns]
    rows = around(rng, country, columns, zip(*(c.cells for c in columns), strict=True))
    title = LAYOUTS["title"] and rng.random() < 0.2
    above = [["Quarterly report"], []] if title and len(names) > 2 else []
    if form in ("csv", "semicolon", "tsv"):
        text = io.StringIO()
        writer = csv.writer(
            text,
            delimiter={"csv": ",", "semicolon": ";", "tsv": "\t"}[form],
            quoting=int(rng.choice([csv.QUOTE_MINIMAL, csv.QUOTE_ALL])),
            lineterminator=str(rng.choice(["\n", "\r\n"])),
        )
        writer.writerows([*above, names, *rows])
        path = folder / ("t.tsv" if form == "tsv" else "t.csv")
        encoding = str(rng.choice(country.encodings))
        try:
            data = text.getvalue().encode(encoding)
        except UnicodeEncodeError:
            encoding, data = "utf-8", text.getvalue().encode("utf-8")
        path.write_bytes(data)
        return path, {"encoding": encoding} if encoding == "cp1252" else {}
    if form == "xlsx":
        import openpyxl

        book = openpyxl.Workbook()
        body = around(rng, country, columns, _native(rng, columns))
        for row in [*above, names, *body]:
            book.active.append(row)
        if LAYOUTS["merged"] and rng.random() < 0.3:
            merge_runs(book.active, columns, len(above) + 2 + (UNITS in body[0]))
        book.save(folder / "t.xlsx")
        return folder / "t.xlsx", {}
    typed = _native(rng, columns, dates=form == "parquet")
    if form == "json":
        records = [dict(zip(names, row, strict=True)) for row in typed]
        path = folder / "t.json"
        path.write_text(json.dumps(records, ensure_ascii=False), encoding="utf-8")
        return path, {}
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns_ = [pa.array(list(values)) for values in zip(*typed, strict=True)]
    pq.write_table(
        pa.table(dict(zip(names, columns_, strict=True))), folder / "t.parquet"
    )
    return folder / "t.parquet", {}


def around(rng, country, columns, rows):
    """Rows with units above them and totals below, where readers leave these out."""
    rows = list(rows)
    if LAYOUTS["units"] and rng.random() < 0.15:
        numbers = [c.kind == "number" for c in columns]
        if sum(numbers) > 1:
            rows.insert(0, [UNITS if number else "" for number in numbers])
    named = columns[0].kind in ("category", "text")
    if LAYOUTS["totals"] and named and rng.random() < 0.5:
        word = str(rng.choice(["Total", "Summe", "Gesamt", "Totaal", "Sum"]))
        typed = [
            any(isinstance(cell, float) for cell in c) for c in zip(*rows, strict=True)
        ]
        cells = [
            round(sum(v or 0 for v in column.values), 6) if number else text
            for column, number in list(zip(columns, typed, strict=True))[1:]
            for text in [_total(column, country)]
        ]
        if any(cells):
            rows.append([word, *cells])
    return rows


def _total(column, country):
    """The sum of a column of plain numbers, written as they are."""
    values = [v for v in column.values if v is not None]
    if not column.name.startswith(("amount", "height", "real")) or len(values) < 3:
        return ""
    decimals = max(len(f"{v:.10g}".partition(".")[2]) for v in values)
    return write_number(sum(values), country, decimals, grouped=False)


def merge_runs(sheet, columns, first):
    """Merge cells of a column of words that repeat from row to row."""
    for place, column in enumerate(columns, 1):
        if column.kind != "category" or None in column.values:
            continue
        start = 0
        for row in range(1, len(column.values) + 1):
            if row < len(column.values) and column.cells[row] == column.cells[start]:
                continue
            if row - start > 1:
                sheet.merge_cells(
                    start_row=first + start,
                    end_row=first + row - 1,
                    start_column=place,
                    end_column=place,
                )
            start = row


def _native(rng, columns, dates=True):
    """Rows in which some columns have types of their own and others are text."""
    out = []
    for column in columns:
        cells: list[Any] = list(column.cells)
        if rng.random() < 0.5 and column.kind in ("number", "date", "time"):
            if column.kind == "number" and column.name.startswith("duration"):
                cells = [
                    None if v is None else dt.timedelta(seconds=v)
                    for v in column.values
                ]
                cells = cells if dates else list(column.cells)
            elif column.kind == "number":
                cells = [None if v is None else float(v) for v in column.values]
            elif dates and column.kind == "date":
                cells = [
                    None
                    if v is None
                    else dt.datetime.fromtimestamp(v, dt.UTC).replace(tzinfo=None)
                    for v in column.values
                ]
            elif dates:
                cells = [
                    None if v is None else dt.time(int(v) // 3600, int(v) % 3600 // 60)
                    for v in column.values
                ]
        out.append(cells)
    return list(zip(*out, strict=True))


def compare(column, found, values):
    """Count the cells of a column that were read otherwise than written."""
    kind = "identifier" if column.kind == "identifier" else column.kind
    if found.kind != kind:
        return len(column.values), f"{found.kind} instead of {kind}"
    if kind in ("number", "date", "time"):
        read = found.read(values)
        pairs = zip(column.values, read, strict=True)
        bad = [
            k
            for k, (known, got) in enumerate(pairs)
            if not (
                math.isnan(got)
                if known is None
                else math.isclose(got, known, rel_tol=1e-9, abs_tol=1e-9)
            )
        ]
    elif kind == "vector":
        read = to_vectors(values, found.notation)
        bad = [
            k
            for k, known in enumerate(column.values)
            if not np.allclose(read[k], known)
        ]
    elif kind == "tags":
        bad = [
            k
            for k, known in enumerate(column.values)
            if sorted(read_tags(values[k], found.notation) or ()) != known
        ]
    elif kind == "fields":
        bad = [
            k
            for k, known in enumerate(column.values)
            if read_fields(values[k]) != known
        ]
    elif kind == "category":
        texts = ["" if is_missing(v) else text_of(v).casefold() for v in values]
        bad = [
            k
            for k, known in enumerate(column.values)
            if texts[k] != (known or "").casefold()
        ]
    else:
        bad = [
            k for k, known in enumerate(column.values) if text_of(values[k]) != known
        ]
    if not bad:
        return 0, ""
    row = bad[0]
    return len(
        bad
    ), f"{column.cells[row]!r} is {column.values[row]!r}, not as {found.notation!r}"


def run_table(seed):
    """Write one table, read it, and compare cell by cell."""
    rng, name, form, columns = make(seed)
    outcome = Outcome(cells=sum(len(c.values) for c in columns))
    with tempfile.TemporaryDirectory() as folder:
        path, options = write(Path(folder), rng, COUNTRIES[name], form, columns)
        try:
            table = read_table(path, **options)
            described = describe_columns(table)
        except TableError as error:
            outcome.refused = outcome.cells
            outcome.details.append(f"table {seed} ({name}, {form}) refused: {error}")
            return outcome
    where = f"table {seed} ({name}, {form})"
    if table.names != [c.name for c in columns] or table.n_rows != len(
        columns[0].values
    ):
        # A row without any value is left out, which a note says.
        blank = any("(empty)" in note for note in table.notes)
        outcome.noted, outcome.wrong = (
            outcome.cells * blank,
            outcome.cells * (not blank),
        )
        detail = f"{where}: names {table.names}, {table.n_rows} rows"
        outcome.details.append(("noted " if blank else "") + detail)
        return outcome
    for column, found, values in zip(columns, described, table.columns, strict=True):
        bad, why = compare(column, found, values)
        if not bad:
            outcome.needless += bool(found.note)
            continue
        # A column that is left out is named among the notes.
        noted = bool(found.note) or not found.is_used
        outcome.noted += bad * noted
        outcome.wrong += bad * (not noted)
        detail = f"{where}: {column.name!r}, {bad} cells: {why} ({found.reason})"
        outcome.details.append(("noted " if noted else "") + detail)
    return outcome


def run(seeds):
    """Add up the outcomes of several tables."""
    total = Outcome()
    for seed in seeds:
        one = run_table(seed)
        for count in ("cells", "wrong", "noted", "refused", "needless"):
            setattr(total, count, getattr(total, count) + getattr(one, count))
        total.details += one.details
    return total


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", type=int, default=2000, help="how many")
    parser.add_argument("--first", type=int, default=0, help="first table")
    parser.add_argument("--details", action="store_true", help="print what differs")
    options = parser.parse_args()
    REAL.extend(_shared())
    total = run(range(options.first, options.first + options.tables))
    wrong = [d for d in total.details if "noted" not in d and "refused" not in d]
    for detail in total.details if options.details else wrong:
        print(detail)
    print(
        f"{options.tables:,} tables, {total.cells:,} cells: {total.wrong:,} wrong "
        f"without a note, {total.noted:,} wrong with a note, {total.refused:,} "
        f"refused; {total.needless:,} columns read as written have a note"
    )
    raise SystemExit(bool(total.wrong))


if __name__ == "__main__":
    main()
