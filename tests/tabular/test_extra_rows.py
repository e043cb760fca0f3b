"""Totals, units, footnotes, blank lines and headers of two lines."""

# SPDX-License-Identifier: BSD-3-Clause

import io

import numpy as np
import openpyxl
import pytest

from fewlabels.tabular import fill_cells, read_table, write_table
from fewlabels.tabular.files import encode_table
from fewlabels.tabular.large import open_large

ROWS = [f"p{k},{k},{k * k / 4},{'ab'[k % 2]}" for k in range(1, 13)]
BASE = ["name,size,cost,kind", *ROWS]


def read(lines, **options):
    return read_table(io.BytesIO("\n".join(lines).encode()), **options)


def left_out(lines, **options):
    table = read(lines, **options)
    everything = table if table.whole is None else table.whole
    return sorted(
        set(everything.row_numbers.tolist()) - set(table.row_numbers.tolist())
    )


@pytest.mark.parametrize(
    "line",
    [
        "Summe,78,162.5,",
        "Total,78,162.5,",
        "Gesamt:,78,,",
        "Sum,78,162.50,",
        "Grand total,78,162.5,",
        "Average,6.5,13.5417,",
        "Mittelwert,6.5,13.54,",
        "Moyenne,6.5,13.54,",
        "Max,12,36.0,",
        "Total,,,",
        ",78,162.5,",
        ",,,",
        "Source: the office,,,",
        "* estimated,,,",
        ",see the annex,,",
        "The figures of the last three rows are provisional,,,",
    ],
)
def test_rows_at_the_end(line):
    assert left_out([*BASE, line]) == [13]
    assert left_out([*BASE, line], keep_rows=True) == []
    assert "row 13 (" in read([*BASE, line]).notes[-1]
    assert "keep_rows=True" in read([*BASE, line]).notes[-1]


def test_several_at_the_end():
    lines = [*BASE, ",,,", "Summe,78,162.5,", "Mittelwert,6.5,13.54,", ",,,"]
    assert left_out([*lines, "Stand 2024,,,"]) == [13, 14, 15, 16, 17]
    assert left_out([*BASE, ",,,", "all of them,,,"]) == [13, 14]


@pytest.mark.parametrize("unit", ["[-],[mm],[EUR],", ",mm,€,", "-,(cm),EUR/kg,"])
def test_units_below_the_names(unit):
    assert left_out([BASE[0], unit, *ROWS]) == [1]


def test_names_again_and_subtotals():
    lines = [*BASE[:7], "Subtotal,21,22.75,", *BASE[7:], "Subtotal,57,139.75,"]
    assert left_out([*lines, "Total,78,162.5,"]) == [7, 14, 15]
    assert left_out([*BASE[:5], BASE[0], ",,,", *BASE[5:]]) == [5, 6]


@pytest.mark.parametrize(
    "line",
    [
        "Total,7,3.5,a",  # a company
        "Sum,2,1,b",
        "mean,3,1.5,a",
        "p13,13,,",
        "p13,,,",
        ",13,,",
        "Average Joe,7,3.5,",
        "Gesamtschule,9,2.5,a",
        "-,,1.5,a",
    ],
)
@pytest.mark.parametrize("place", [1, 6, 13])
def test_rows_like_the_others(line, place):
    lines = [*BASE[:place], line, *BASE[place:]]
    assert left_out(lines) == []


def test_a_category_that_is_called_average():
    lines = ["quality,size,kind"]
    lines += [f"{['poor', 'average', 'good'][k % 3]},{k % 5},a" for k in range(60)]
    assert left_out(lines) == []


def test_a_first_row_of_words_is_no_row_of_units():
    assert left_out(["name,size,kind", "g,?,m", "a,1,s", "b,2,m", "c,3,m"]) == []
    assert left_out(["unit,kind", "kg,a", "m,b", "kg,a"]) == []


@pytest.mark.parametrize("suffix", ["csv", "xlsx", "jsonl", "parquet"])
def test_the_file_is_written_whole(tmp_path, suffix):
    pytest.importorskip("pyarrow")
    path = tmp_path / f"a.{suffix}"
    write_table(read([*BASE, "Summe,78,162.5,"]), path)
    table = read_table(path)
    assert table.n_rows == 12
    out = tmp_path / f"b.{suffix}"
    write_table(fill_cells(table, "kind", {0: "new"}), out, {"n": list(range(12))})
    whole = read_table(out, keep_rows=True)
    assert whole["name"].tolist() == [*(f"p{k}" for k in range(1, 13)), "Summe"]
    assert whole["kind"].tolist()[0] == "new"
    assert not whole["n"].tolist()[-1] or np.isnan(whole["n"].tolist()[-1])
    part = table.take(np.array([11, 0]))
    assert part["name"].tolist() == ["p12", "p1"]
    assert part.row_numbers.tolist() == [12, 1]


def test_text_stays_byte_for_byte():
    text = "\r\n".join([*BASE[:4], '"Total",6 ,  3.5,', ",,,"]).encode()
    table = read_table(io.BytesIO(text))
    assert table.n_rows == 3
    written = b"".join(encode_table(table, {"k": ["x", "y", "z"]}))
    assert written.splitlines()[3:] == [
        b"p3,3,2.25,b,z",
        b'"Total",6 ,  3.5,,',
        b",,,,",
    ]


def test_vectors_for_all_rows_or_for_those_of_the_table(tmp_path):
    lines = "\n".join([*BASE, "Summe,78,162.5,"]).encode()
    for n_rows in (12, 13):
        np.save(tmp_path / "v.npy", np.arange(2.0 * n_rows).reshape(n_rows, 2))
        table = read_table(io.BytesIO(lines), features=tmp_path / "v.npy")
        assert table["features"][11].tolist() == [22, 23]


@pytest.mark.parametrize("keep_rows", [False, True])
def test_in_batches(tmp_path, keep_rows):
    path = tmp_path / "a.csv"
    path.write_text("\n".join([BASE[0], ",mm,€,", *ROWS, "Source: us,,,"]))
    large = open_large(str(path), batch_rows=5, keep_rows=keep_rows)
    found = [(first, table.n_rows) for _, first, table in large.batches()]
    assert found == [(0, 5 if keep_rows else 4), (5, 5), (10, 4 if keep_rows else 3)]
    assert large.n_rows == 14
    assert len(large.notes) == (0 if keep_rows else 2)


def workbook(tmp_path, rows, merged=()):
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(row)
    for area in merged:
        book.active.merge_cells(area)
    book.save(tmp_path / "a.xlsx")
    return tmp_path / "a.xlsx"


def test_names_in_two_lines(tmp_path):
    lines = [
        "id,income,,age,kind",
        ",gross,net,,",
        "a,5,4,30,x",
        "b,7,6,41,",
        "c,1,1,8,",
    ]
    table = read(lines)
    assert table.names == ["id", "income gross", "income net", "age", "kind"]
    assert "two lines" in table.notes[0]
    assert table.n_rows == 3
    written = b"".join(encode_table(table, {"new": [1, 2, 3]})).decode()
    assert written.splitlines()[:3] == [lines[0], ",gross,net,,,new", "a,5,4,30,x,1"]
    rows = [line.split(",") for line in lines[:2]]
    rows = [[v or None for v in row] for row in rows]
    rows += [["a", 5, 4, 30, "x"], ["b", 7, 6, 41, None], ["c", 1, 1, 8, None]]
    path = workbook(tmp_path, rows, ["B1:C1", "A1:A2", "D1:D2"])
    assert read_table(path).names == table.names
    assert read_table(path)["income net"].tolist() == [4, 6, 1]
    rows[0] = [None, "income", None, None, None]
    rows[1] = ["id", "gross", "net", "age", "kind"]
    assert read_table(workbook(tmp_path, rows, ["B1:C1"])).names == table.names


@pytest.mark.parametrize(
    "lines",
    [
        ["a,b,,c", "x,1,2,y", "z,3,4,y"],
        [",name,colour", "r1,ann,red", "r2,bob,blue"],
        ["a,,b", "u,v,w", "u,v,w"],
        ["a,b,,", "x,y,z,w", "k,l,m,n"],
    ],
)
def test_a_row_is_no_second_line_of_names(lines):
    assert read(lines).n_rows == 2


def test_merged_cells_of_a_workbook(tmp_path):
    rows = [["region", "size", "cost", "kind"], ["North", 1, 2, "a"], [None, 2, 3, "b"]]
    rows += [["All of the south", None, None, None], ["South", 3, 4, "a"]]
    rows += [[None, 4, 5, None]]
    table = read_table(workbook(tmp_path, rows, ["A2:A3", "A4:D4", "A5:A6"]))
    assert table["region"].tolist() == ["North", "North", "South", "South"]
    assert table.row_numbers.tolist() == [1, 2, 4, 5]
    assert "Merged cells of 'region' hold" in table.notes[0]
    assert "row 3 (one cell across columns)" in table.notes[1]


def test_formulas_without_values_are_said(tmp_path):
    path = workbook(tmp_path, [["a", "b"], [1, "=A2*2"], [2, "=A3*2"]])
    notes = read_table(path).notes
    assert any("Formulas in 'b' have no stored values" in note for note in notes)


@pytest.mark.parametrize(
    "line", ["-,T\u20ac,Stk.,-", ",R$,%,", ",Grad,kg,", "-,Tsd. \u20ac,m\u00b3,"]
)
def test_units_that_are_not_all_known(line):
    """Words above numbers, one of which is a known unit, are units."""
    assert left_out([BASE[0], line, *ROWS]) == [1]


@pytest.mark.parametrize(
    "line", [",unknown,kg,", "p0,T\u20ac,kg,a", ",see annex one,kg,"]
)
def test_first_rows_that_hold_no_units(line):
    assert left_out([BASE[0], line, *ROWS]) == []


def test_sums_of_rounded_cells():
    """Cells were rounded after they were summed up: cents are missing."""
    cents = [f"p{k},{k},{k + 0.33:.2f},a" for k in range(10)]
    total = sum(k + 0.331 for k in range(10))
    lines = [BASE[0], *cents, f"Total,,{total:.2f},", *ROWS]
    assert left_out(lines) == [11]
    assert left_out([BASE[0], *cents, f"Total,,{total + 0.1:.2f},", *ROWS]) == []


@pytest.mark.parametrize("word", ["Zwischensumme", "Subtotal Nord", "Total geral"])
def test_subtotals_need_no_right_sum(word):
    assert left_out([*BASE, f"{word},,9999,", *ROWS]) == [13]
    assert left_out([*BASE, f"{word},4,9999,a", *ROWS]) == []
