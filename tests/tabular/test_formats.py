"""A table in another format has the same cells: text stays text, types stay types."""

# SPDX-License-Identifier: BSD-3-Clause

import datetime as dt
import io
import json

import numpy as np
import pytest

from fewlabels.tabular import Table, read_table, write_table
from fewlabels.tabular._formats._base import as_meant, neutral, typed

SUFFIXES = (".csv", ".xlsx", ".jsonl", ".parquet")
TEXTS = {
    "zeros": ["01067", "03456", None],
    "mixed zeros": ["1067", "03456", "8"],
    "words": ["é€ 漢字", "two\nlines", 'a "quoted", one'],
    "formulas": ["=1+1", '=HYPERLINK("http://a.b","x")', "@sum"],
    "apostrophes": ["'tis", "'=1+1", "''"],
    "signs": ["+", "-", "--"],
    "versions": ["1.10", "1.1", "2"],
    "spaces": [" a ", "b  b", None],
    "dates": ["2024-01-02", "01.02.2024", None],
    "clocks": ["08:30", "3:05", None],
    "truths": ["True", "false", None],
    "holes": ["NA", "null", "nan"],
    "grouped": ["1,234", "1.234,5", "+5"],
    "long": ["12345678901234567890", "1", None],
}
NUMBERS = {
    "whole": [1, 2, 3],
    "whole or missing": [1, None, 3],
    "long whole": [9007199254740993, 2**62, 1],
    "fractions": [0.1, 1e-7, None],
    "whole and fractions": [1, 2.5, -3],
}
MOMENT = dt.datetime(2024, 1, 2, 3, 4, 5)
TYPES = {
    "number": [1, 2, 3],
    "true": [True, False, None],
    "day": [dt.date(2024, 1, 2), dt.date(1999, 12, 31), None],
    "moment": [MOMENT, dt.datetime(1999, 12, 31), None],
    "time": [dt.time(3, 4, 5), dt.time(23, 59), None],
}


def written(tmp_path, data, suffix):
    path = tmp_path / f"a{suffix}"
    columns = [np.array(values, dtype=object) for values in data.values()]
    write_table(Table(list(data), columns), path)
    return path


def converted(tmp_path, path, suffix):
    other = tmp_path / f"b{suffix}"
    write_table(read_table(path), other, {"new": ["x", "=1+1", "-"]}, force=True)
    return read_table(other)


def cells(table, name):
    return [None if v is None or v != v else v for v in table[name].tolist()]


def as_strings(values, missing=""):
    return [missing if v is None else str(v) for v in values]


@pytest.mark.parametrize("after", SUFFIXES)
@pytest.mark.parametrize("before", SUFFIXES)
def test_text_stays_text(tmp_path, before, after):
    table = converted(tmp_path, written(tmp_path, TEXTS, before), after)
    missing = "" if after == ".csv" else None
    for name, values in TEXTS.items():
        expected = [missing if v is None else v for v in values]
        assert cells(table, name) == expected, name
    assert table["new"].tolist() == ["x", "=1+1", "-"]


@pytest.mark.parametrize("after", SUFFIXES)
@pytest.mark.parametrize("before", SUFFIXES)
def test_numbers_stay_numbers(tmp_path, before, after):
    table = converted(tmp_path, written(tmp_path, NUMBERS, before), after)
    for name, values in NUMBERS.items():
        found = cells(table, name)
        if after == ".csv" and name != "whole and fractions":
            assert found == as_strings(values), name
        elif name == "long whole" and ".xlsx" in (before, after):
            # A workbook has 15 digits, so all of them come as text, or none is lost.
            assert as_strings(found) == as_strings(values)
        else:
            assert list(map(float, as_strings(found, "nan"))) == pytest.approx(
                list(map(float, as_strings(values, "nan"))), abs=0, nan_ok=True
            )
    if ".parquet" not in (before, after):  # whose columns have one type
        assert as_strings(cells(table, "whole and fractions")) == ["1", "2.5", "-3"]


@pytest.mark.parametrize("after", SUFFIXES)
@pytest.mark.parametrize("before", [".xlsx", ".parquet"])
def test_types_stay_types(tmp_path, before, after):
    table = converted(tmp_path, written(tmp_path, TYPES, before), after)
    for name, values in TYPES.items():
        found = cells(table, name)
        if after == ".csv":
            assert found == as_strings(values), name
        elif after == ".jsonl" and name not in ("true", "number"):
            assert found == [None if v is None else str(v) for v in values], name
        elif name in ("day", "moment"):
            assert [str(v)[:10] for v in found[:2]] == [str(v)[:10] for v in values[:2]]
            assert not isinstance(found[0], str | float)
        else:
            assert found == values, name


def test_json_keeps_lists_and_empty_text_beside_missing_ones(tmp_path):
    path = tmp_path / "a.jsonl"
    rows = [{"a": "", "b": ["x", "y"]}, {"a": None, "b": ["x"]}, {"a": "z", "b": []}]
    path.write_text("\n".join(map(json.dumps, rows)) + "\n")
    write_table(read_table(path), tmp_path / "b.parquet")
    table = read_table(tmp_path / "b.parquet")
    assert table["a"].tolist() == ["", None, "z"]
    assert [list(v) for v in table["b"]] == [["x", "y"], ["x"], []]
    write_table(read_table(path), tmp_path / "b.csv")
    assert (tmp_path / "b.csv").read_text().splitlines()[1:3] == [
        '"","[""x"", ""y""]"',
        ',"[""x""]"',
    ]


def test_a_totals_row_does_not_turn_codes_into_numbers(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in (["code", "ok", "n"], ["03456", True, 1], ["01067", False, 2]):
        book.active.append(row)
    book.active.append([None, None, 3])
    book.save(tmp_path / "a.xlsx")
    write_table(read_table(tmp_path / "a.xlsx"), tmp_path / "b.csv")
    assert (tmp_path / "b.csv").read_text().splitlines() == [
        "code,ok,n",
        "03456,True,1",
        "01067,False,2",
        ",,3",
    ]


def test_money_is_a_number_that_keeps_its_zeros(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    table = read_table(io.BytesIO(b"price,kind\n12.50,a\n3.00,b\n"))
    write_table(table, tmp_path / "b.xlsx")
    cell = openpyxl.load_workbook(tmp_path / "b.xlsx").active["A3"]
    assert (cell.value, cell.number_format) == (3, "0.00")
    write_table(table, tmp_path / "b.jsonl")
    assert '"price": 12.50' in (tmp_path / "b.jsonl").read_text()


def test_the_suffix_decides_on_delimiter_and_list(tmp_path):
    table = read_table(io.BytesIO(b"code,kind\n007,'=a\n,b\n"))
    write_table(table, tmp_path / "b.tsv", {"new": [1.5, "=c"]})
    assert (
        tmp_path / "b.tsv"
    ).read_text() == "code\tkind\tnew\n007\t'=a\t1.5\n\tb\t'=c\n"
    lines = tmp_path / "a.jsonl"
    lines.write_text('{"a": 1}\n{"a": 2}\n')
    write_table(read_table(lines), tmp_path / "b.json")
    assert json.loads((tmp_path / "b.json").read_text()) == [{"a": 1}, {"a": 2}]


@pytest.mark.parametrize(
    "text", ["=1+1", "'=1+1", "''=1", "'tis", "+", "-", "-1,5", "+49 30 1234", "@x"]
)
def test_what_is_neutralised_is_given_back(text):
    assert as_meant(neutral(text)) == text
    assert neutral(as_meant(neutral(text))) == neutral(text)


@pytest.mark.parametrize(
    ("texts", "values"),
    [
        (["1", "-2", ""], [1, -2, None]),
        (["1e-07", "0.5"], [1e-07, 0.5]),
        (["-0", "1"], ["-0", "1"]),
        (["1.50", "2.25"], [1.5, 2.25]),
        (["1.50", "2.5"], ["1.50", "2.5"]),
        (["inf", "1"], ["inf", "1"]),
        (["9" * 19, "1"], ["9" * 19, "1"]),
        ([" 1", "2"], [" 1", "2"]),
    ],
)
def test_fields_become_numbers_only_where_nothing_is_lost(texts, values):
    assert typed(texts) == values
