"""Rows that are none, cells in other formats, and labels, as the commands see them."""

# SPDX-License-Identifier: BSD-3-Clause

import csv
import json

import numpy as np
import openpyxl
import pyarrow.parquet as pq
import pytest
from sklearn.datasets import make_blobs

from tests.cli.test_commands import fewlabels

X, Y = make_blobs(30, centers=2, random_state=0)
X = np.round(X + 20, 2)
NAMES = ["code", "size", "cost", "kind"]


def body(labels=("a", "b"), n_labels=12):
    return [
        [f"{k + 1:05d}", *map(float, X[k]), labels[Y[k]] if k < n_labels else None]
        for k in range(30)
    ]


EXTRA = [
    [None] * 4,
    ["Summe", *X.sum(axis=0).round(2).tolist(), None],
    ["Mittelwert", *X.mean(axis=0).round(2).tolist(), None],
    ["Quelle: Statistik", None, None, None],
]
UNITS = [None, "[mm]", "[EUR]", None]
FAST = ("--bank", "fast")


def write_csv(path, rows, **options):
    with open(path, "w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n", **options).writerows(rows)
    return path


def write_xlsx(path, rows):
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(row)
    book.save(path)
    return path


def read(path, delimiter=","):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file, delimiter=delimiter))


@pytest.fixture(params=["csv", "xlsx"])
def table(request, tmp_path):
    write = write_csv if request.param == "csv" else write_xlsx
    return write(tmp_path / f"t.{request.param}", [NAMES, UNITS, *body(), *EXTRA])


def test_label_leaves_them_without_a_label(table, tmp_path):
    out = tmp_path / "out.csv"
    result = fewlabels("label", table, "-t", "kind", "-o", out, *FAST)
    assert "row 1 (units)" in result.stderr
    assert "'Summe' summarises other rows" in result.stderr
    assert "--keep-rows" in result.stderr
    rows = read(out)
    ends = [row["kind_predicted"] for row in rows]
    if table.suffix == ".csv":
        assert len(rows) == 35
        assert ends[31:] == ["", "", "", ""]
    assert ends[0] == ""
    assert all(ends[1:31])
    assert rows[1]["code"] == "00001"


def test_keep_rows(table, tmp_path):
    out = tmp_path / "out.csv"
    args = ("label", table, "-t", "kind", "-o", out, "--keep-rows", "--ignore", "code")
    result = fewlabels(*args, *FAST)
    assert "sums up" not in result.stderr
    assert all(row["kind_predicted"] for row in read(out))


def test_ask_report_and_cluster(table, tmp_path):
    result = fewlabels("ask", table, "-t", "kind", "-n", 18, "--json", *FAST)
    rows = {row["row"] for row in json.loads(result.stdout)["rows"]}
    assert rows == set(range(14, 32))
    page = tmp_path / "r.html"
    fewlabels("report", table, "-t", "kind", "-o", page, *FAST)
    assert "summarises other rows" in page.read_text()
    out = tmp_path / "out.csv"
    fewlabels("cluster", table, "--clusters", 2, "-o", out)
    assert [row["cluster"] for row in read(out)][::31] in (["", ""], ["", "", ""])


def test_fit_and_predict(table, tmp_path):
    model, out = tmp_path / "m.fewlabels", tmp_path / "out.csv"
    fewlabels("fit", table, "-t", "kind", "-o", model, *FAST)
    result = fewlabels("predict", model, table, "-o", out)
    assert "row 1 (units)" in result.stderr
    found = [row["kind_predicted"] for row in read(out)]
    assert found[0] == ""
    assert all(found[1:31])
    assert not any(found[31:])


def test_in_batches(tmp_path):
    table = write_csv(tmp_path / "t.csv", [NAMES, *body(), [None] * 4, EXTRA[-1]])
    out = tmp_path / "out.csv"
    args = ("label", table, "-t", "kind", "-o", out, "--batch-rows", 12)
    assert "a footnote" in fewlabels(*args, *FAST).stderr
    found = [row["kind_predicted"] for row in read(out)]
    assert all(found[:30])
    assert found[30:] == ["", ""]


@pytest.mark.parametrize("before", ["csv", "xlsx"])
@pytest.mark.parametrize("after", ["csv", "xlsx", "jsonl", "parquet"])
def test_codes_survive_another_format(tmp_path, before, after):
    write = write_csv if before == "csv" else write_xlsx
    rows = [[*row[:3], k % 2 == 0, row[3]] for k, row in enumerate(body())]
    rows = [[*NAMES[:3], "ok", "kind"], *rows, [None, 600.5, None, None, None]]
    table = write(tmp_path / f"t.{before}", rows)
    out = tmp_path / f"out.{after}"
    fewlabels("label", table, "-t", "kind", "-o", out, *FAST)
    match after:
        case "csv":
            first = list(read(out)[0].values())[:4]
            assert first == [str(v) for v in rows[1][:4]]
            return
        case "xlsx":
            first = [cell.value for cell in openpyxl.load_workbook(out).active[2]]
        case "jsonl":
            first = list(json.loads(out.read_text().splitlines()[0]).values())
        case _:
            first = list(pq.read_table(out).to_pylist()[0].values())
    truth = "True" if before == "csv" else True
    assert first[:4] == [*rows[1][:3], truth]


def labelled(tmp_path, rows, *options, **csv_options):
    table = write_csv(tmp_path / "t.csv", rows, **csv_options)
    out = tmp_path / "out.csv"
    result = fewlabels("label", table, "-t", "kind", "-o", out, *FAST, *options)
    return read(out, csv_options.get("delimiter", ",")), result.stderr


@pytest.mark.parametrize("batched", [(), ("--batch-rows", 12)])
def test_na_is_a_class_among_codes(tmp_path, batched):
    rows, said = labelled(tmp_path, [NAMES, *body(("EU", "NA"))], *batched)
    assert {row["kind_predicted"] for row in rows} == {"EU", "NA"}
    assert sum(row["kind_source"] == "given" for row in rows) == 12
    assert "'NA' (6 rows) is taken as a class" in said
    assert "--marker NA" in said


def test_na_is_a_class_in_a_saved_model(tmp_path):
    table = write_csv(tmp_path / "t.csv", [NAMES, *body(("EU", "NA"))])
    model, out = tmp_path / "m.fewlabels", tmp_path / "out.csv"
    page = tmp_path / "r.html"
    fewlabels("fit", table, "-t", "kind", "-o", model, "--report", page, *FAST)
    assert "<td>NA" in page.read_text() or ">NA<" in page.read_text()
    result = fewlabels("predict", model, table, "-o", out, "--json")
    assert set(json.loads(result.stdout)["classes"]) == {"EU", "NA"}
    assert {row["kind_predicted"] for row in read(out)} == {"EU", "NA"}


@pytest.mark.parametrize("labels", [("+", "-"), ("=x", "@y"), ("007", "008")])
def test_classes_come_back_as_read(tmp_path, labels):
    first, _ = labelled(tmp_path, [NAMES, *body(labels)])
    found = {row["kind_predicted"] for row in first}
    if labels[0] != "=x":
        assert found == set(labels)
    # What is neutralised for spreadsheets is given back.
    names = list(first[0])
    (tmp_path / "again").mkdir()
    again = [names, *([*row.values()] for row in first)]
    table = write_csv(tmp_path / "again" / "t.csv", again)
    out = tmp_path / "out.jsonl"
    fewlabels("label", table, "-t", "kind_predicted", "-o", out, *FAST)
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    assert {row["kind_predicted"] for row in rows} == set(labels)


def test_numbers_are_predicted_in_the_notation_of_the_file(tmp_path):
    rows = [
        [f"{k}", f"{k / 4:.2f}".replace(".", ","), f"{k * 7.25 + 3:.3f}"]
        for k in range(60)
    ]
    rows = [
        [a, b, c.replace(".", ",") if k % 2 else ""] for k, (a, b, c) in enumerate(rows)
    ]
    found, _ = labelled(tmp_path, [["n", "size", "kind"], *rows], delimiter=";")
    predicted = [row["kind_predicted"] for row in found]
    assert all("." not in number for number in predicted)
    assert predicted[1] == "10,25"
    numbers = [float(number.replace(",", ".")) for number in predicted]
    assert np.abs(np.array(numbers) - (np.arange(60) * 7.25 + 3)).max() < 40
    assert "," in found[2]["kind_low"]


def test_confidence_is_written_in_the_notation_of_the_file(tmp_path):
    rows = [[code, *(f"{v}".replace(".", ",") for v in x), k] for code, *x, k in body()]
    found, _ = labelled(tmp_path, [NAMES, *rows], delimiter=";")
    assert found[0]["kind_confidence"] == "1,0"
    rows = body()
    found, _ = labelled(tmp_path, [NAMES, *rows], "--force", delimiter=";")
    assert found[0]["kind_confidence"] == "1.0"


def test_asked_rows_are_merged_where_they_stand(table, tmp_path):
    asked, out = tmp_path / "asked.csv", tmp_path / "out.csv"
    fewlabels("ask", table, "-t", "kind", "-n", 3, "-o", asked, *FAST)
    rows = [{**row, "kind": "new"} for row in read(asked)]
    answers = write_csv(
        tmp_path / "answers.csv", [["row", "kind"], *([r["row"], "new"] for r in rows)]
    )
    fewlabels("merge", table, answers, "-t", "kind", "-o", out)
    merged = {r["code"] for r in read(out) if r["kind"] == "new"}
    assert merged == {r["code"] for r in rows}


def test_the_page_learns_from_the_same_rows(table):
    from fewlabels.studio._engine import Engine
    from fewlabels.tabular import read_table
    from fewlabels.tabular.setup import TableSetup

    engine = Engine(read_table(table), TableSetup("kind", bank="fast"))
    engine.encode()
    assert len(engine.features) == 30
    assert any("summarises other rows" in note for note in engine.encoded.notes)
