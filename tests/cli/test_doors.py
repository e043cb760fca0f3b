"""Commands on tables that are not a text file: every door, as a person calls it."""

# SPDX-License-Identifier: BSD-3-Clause

import csv
import gzip
import io
import json
import sqlite3
from contextlib import closing

import openpyxl
import pytest

from fewlabels.embeddings import _protocol
from fewlabels.tabular import read_table
from tests.cli.test_commands import blob_rows, fewlabels, hidden, read, text_of
from tests.embeddings.pictures import needs_weights, save
from tests.tabular.test_doors import old_workbook, open_document

FAST = ("-t", "kind", "--bank", "fast")


@pytest.fixture
def rows():
    return hidden(blob_rows(["a", "b"], id=[f"0{k:03d}" for k in range(40)])[0])


@pytest.fixture
def numbers(rows):
    """The same with the types that spreadsheets and databases know."""
    typed = [[float(x), float(y), c, kind or None] for x, y, c, kind in rows[1:]]
    return [rows[0], *typed]


@pytest.fixture
def database(numbers, tmp_path):
    path = tmp_path / "shop.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute('CREATE TABLE "new orders" (x, y, id, kind, photo BLOB)')
        connection.executemany(
            "INSERT INTO \"new orders\" VALUES (?, ?, ?, ?, x'00ff')", numbers[1:]
        )
        connection.execute("CREATE TABLE other (a)")
        connection.commit()
    return path


@pytest.fixture
def folder(rows, tmp_path):
    path = tmp_path / "parts"
    path.mkdir()
    for k in range(4):
        text = text_of([rows[0], *rows[1 + 10 * k : 11 + 10 * k]]).encode()
        name = f"p{k}.csv" + (".gz" if k == 2 else "")
        (path / name).write_bytes(gzip.compress(text) if k == 2 else text)
    (path / "p4.csv").write_text("x,y,id,kind\n")
    return path


def test_old_workbook(numbers, tmp_path):
    pytest.importorskip("python_calamine", reason="the extra formats")
    path = tmp_path / "t.xls"
    path.write_bytes(old_workbook({"Data": numbers, "Empty": []}))
    out = tmp_path / "out.xlsx"
    said = fewlabels("label", path, *FAST, "-o", out).stderr
    assert "pass --sheet NAME for another" in said
    sheet = openpyxl.load_workbook(out)["Data"]
    assert [c.value for c in sheet[1]][4] == "kind_predicted"
    assert sheet["C2"].value == "0000"
    assert sheet.max_row == 41
    said = fewlabels("label", path, *FAST, "-o", tmp_path / "out.xls", code=2).stderr
    assert "cannot be written as .xls" in said
    said = fewlabels("label", f"{path}::Empty", *FAST, code=1).stderr
    assert "sheet 'Empty', has no rows" in said


def test_open_document(numbers, tmp_path):
    pytest.importorskip("python_calamine", reason="the extra formats")
    path = tmp_path / "t.ods"
    path.write_bytes(open_document({"Data": numbers}))
    out = tmp_path / "out.csv"
    fewlabels("cluster", path, "-k", 2, "--ignore", "kind", "-o", out)
    assert [len(read(out)), set(read(out)[0])] == [40, {*numbers[0], "cluster"}]


def test_database_to_model_to_new_table(database, tmp_path):
    before = database.read_bytes()
    source = f"sqlite:{database}::new orders"
    model = tmp_path / "m.fewlabels"
    said = fewlabels("fit", source, *FAST, "-o", model).stderr
    assert "binary data are not read: 'photo'" in said
    new = f"sqlite:{tmp_path / 'new.db'}::labelled"
    fewlabels("predict", model, source, "-o", new)
    table = read_table(new)
    assert table.n_rows == 40
    assert table.names[4:] == ["kind_predicted", "kind_confidence", "kind_source"]
    assert database.read_bytes() == before
    said = fewlabels("predict", model, source, "-o", new, "--force", code=2).stderr
    assert "never replaced" in said


def test_tables_of_a_database_are_named(database, tmp_path):
    said = fewlabels("label", database, *FAST, code=1).stderr
    assert "'new orders', 'other': pass --sheet NAME, or append ::NAME" in said
    out = tmp_path / "out.csv"
    fewlabels("label", database, "--sheet", "new orders", *FAST, "-o", out)
    assert len(read(out)) == 40
    missing = tmp_path / "none.db"
    said = fewlabels("label", f"sqlite:{missing}::t", *FAST, code=2).stderr
    assert f"Cannot read {missing}: No such file" in said
    assert not missing.exists()
    said = fewlabels("label", database, *FAST, "-o", tmp_path / "o.db", code=1).stderr
    assert "several tables" in said


def test_locked_database(database, monkeypatch):
    monkeypatch.setattr("fewlabels.tabular._formats._database.LOCK_SECONDS", 0.05)
    with closing(sqlite3.connect(database, isolation_level=None)) as connection:
        connection.execute("BEGIN EXCLUSIVE")
        said = fewlabels("ask", f"{database}::new orders", *FAST, code=2).stderr
    assert "another program holds it locked" in said


def test_duckdb(numbers, tmp_path):
    duckdb = pytest.importorskip("duckdb", reason="the extra formats")
    path = tmp_path / "t.duckdb"
    with closing(duckdb.connect(str(path))) as connection:
        connection.execute("CREATE TABLE t (x DOUBLE, y DOUBLE, id TEXT, kind TEXT)")
        connection.executemany("INSERT INTO t VALUES (?, ?, ?, ?)", numbers[1:])
    asked = fewlabels("ask", path, *FAST, "-n", 3, "-o", "-").stdout
    assert len(list(csv.DictReader(io.StringIO(asked)))) == 3
    fewlabels("label", f"duckdb:{path}", *FAST, "-o", f"duckdb:{path}::labelled")
    assert read_table(f"{path}::labelled").n_rows == 40


def test_folder_as_one_file(folder, rows, tmp_path):
    out = tmp_path / "all.csv"
    said = fewlabels("label", folder, *FAST, "-o", out).stderr
    assert "p4.csv has no rows" in said
    found = read(out)
    assert [row["id"] for row in found] == [row[2] for row in rows[1:]]
    assert [row["file"] for row in found[::10]] == [
        "p0.csv",
        "p1.csv",
        "p2.csv.gz",
        "p3.csv",
    ]


def test_folder_read_at_once(folder, tmp_path):
    out = tmp_path / "ask.csv"
    said = fewlabels("ask", folder, *FAST, "-n", 3, "-o", out).stderr
    assert "4 files read as one table" in said
    assert {row["file"][0] for row in read(out)} == {"p"}
    fewlabels("report", folder, *FAST, "-o", tmp_path / "r.html")
    fewlabels("fit", folder, *FAST, "-o", tmp_path / "m.fewlabels")


def test_folder_with_another_header(folder, tmp_path):
    (folder / "p9.csv").write_text("x,y,id,colour\n1,2,3,red\n")
    for command in ("label", "ask"):
        said = fewlabels(command, folder, *FAST, code=1).stderr
        assert "p9.csv does not have the columns of" in said
        assert "'kind' missing and 'colour' new" in said


@pytest.mark.parametrize("pack", [lambda data: data, gzip.compress])
def test_standard_streams(rows, pack):
    data = pack(text_of(rows).encode())
    result = fewlabels("label", "-", *FAST, "-o", "-", data=data)
    found = list(csv.DictReader(io.StringIO(result.stdout)))
    assert len(found) == 40
    assert "Expected error" in result.stderr
    result = fewlabels("cluster", "-", "-k", 2, "--ignore", "kind", data=data)
    assert result.stdout.startswith("x,y,id,kind,cluster\n")
    said = fewlabels("label", "-", *FAST, "--json", data=data, code=2).stderr
    assert "Only one thing can go to the standard output" in said


def test_standard_input_in_batches(rows, tmp_path):
    model = tmp_path / "m.fewlabels"
    fewlabels("fit", "-", *FAST, "-o", model, data=text_of(rows).encode())
    many = text_of([rows[0], *(rows[1:] * 500)]).encode()
    result = fewlabels("predict", model, "-", "--batch-rows", 6000, data=many)
    found = result.stdout.splitlines()
    assert len(found) == 20_001
    assert found[1:41] == found[-40:]
    said = fewlabels("label", "-", *FAST, data=b"", code=1).stderr
    assert "standard input is empty" in said


def test_summary_as_json(database, tmp_path):
    out = tmp_path / "out.csv"
    source = f"{database}::new orders"
    said = fewlabels("label", source, *FAST, "-o", out, "--json").stdout
    assert json.loads(said)["table"] == source


@needs_weights
def test_a_folder_of_pictures(tmp_path):
    photos = tmp_path / "photos"
    for k in range(12):
        kind = "disc" if k % 2 else "stripes"
        place = photos / kind if k < 6 else photos
        save(place / f"{kind} {k}.png", kind, k)
    (photos / "notes.md").write_text("hello")
    into, out = tmp_path / "sorted", tmp_path / "out.csv"
    run = fewlabels("label", photos, "-o", out, "--sort-into", into, "--bank", "fast")
    assert "photos: 12 rows, 6 labels of 2 classes" in run.stderr
    assert "notes.md" in run.stderr
    found = read(out)
    assert list(found[0])[:3] == ["file", "label", "label_predicted"]
    assert all(row["label_predicted"] in row["file"] for row in found)
    assert {path.name for path in into.iterdir()} == {"disc", "stripes"}
    asked = fewlabels("ask", photos, "-n", 2, "--json", "--bank", "fast")
    assert set(json.loads(asked.stdout)["rows"][0]["values"]) == {"file", "label"}


def test_a_table_of_pictures_and_a_network_of_ones_own(tmp_path, monkeypatch):
    pytest.importorskip("PIL")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "cli_net.py").write_text(
        "import numpy as np\n"
        "def changes(pictures):\n"
        "    grey = [np.asarray(p.convert('L'), dtype=float) for p in pictures]\n"
        "    return [[np.abs(np.diff(g, axis=k)).mean() for k in (0, 1)] for g in grey]"
    )
    lines = ["photo,kind"]
    for k in range(12):
        kind = "disc" if k % 2 else "stripes"
        save(tmp_path / "pics" / f"{k}.png", kind, k)
        lines.append(f"pics/{k}.png,{kind if k < 6 else ''}")
    table, model, out = (tmp_path / name for name in ("t.csv", "m.fewlabels", "o.csv"))
    table.write_text("\n".join(lines) + "\n")
    own = ("--embed-with", "cli_net:changes")
    fewlabels("fit", table, "-t", "kind", "-o", model, "--bank", "fast", *own)
    _protocol._loaded.cache_clear()
    _protocol._BROUGHT.clear()
    run = fewlabels("predict", model, table, "-o", out, code=1)
    assert "pass --embed-with cli_net:changes" in run.stderr
    fewlabels("predict", model, table, "-o", out, *own)
    kinds = [("stripes", "disc")[k % 2] for k in range(12)]
    assert [row["kind_predicted"] for row in read(out)] == kinds


def test_options_for_pictures_are_refused_elsewhere(rows, tmp_path):
    table = tmp_path / "table.csv"
    table.write_text(text_of(rows))
    run = fewlabels("label", table, *FAST, "--sort-into", tmp_path / "new", code=2)
    assert "no folder of pictures or texts: leave --sort-into out" in run.stderr
    run = fewlabels("label", table, *FAST, "--embed-with", "mine", code=2)
    assert "no folder of them (given as --embed-with)" in run.stderr
    run = fewlabels("label", table, code=2)
    assert "--target" in run.stderr
