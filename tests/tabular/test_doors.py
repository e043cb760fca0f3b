"""Tables from other places: spreadsheets, databases, folders and the web."""

# SPDX-License-Identifier: BSD-3-Clause

import builtins
import datetime
import gzip
import http.server
import io
import sqlite3
import threading
import zipfile
from contextlib import closing

import numpy as np
import pyarrow.parquet as pq
import pytest

from fewlabels.preprocessing import FileError, TableError
from fewlabels.tabular import fill_cells, read_table, write_table
from fewlabels.tabular._formats import _database
from fewlabels.tabular._places import csv_address, located
from fewlabels.tabular.files import encode_table, home_of, output_suffix
from fewlabels.tabular.large import open_large

ROWS = [["code", "size", "note"], ["03456", 1.5, "=1+1"], ["7", 2, None]]


def cells(table):
    return {n: c.tolist() for n, c in zip(table.names, table.columns, strict=True)}


def old_workbook(sheets):
    xlwt = pytest.importorskip("xlwt", reason="writes .xls for the tests")
    book = xlwt.Workbook()
    for name, rows in sheets.items():
        sheet = book.add_sheet(name)
        for i, row in enumerate(rows):
            for j, value in enumerate(row):
                if isinstance(value, datetime.date):
                    date = xlwt.easyxf(num_format_str="YYYY-MM-DD")
                    sheet.write(i, j, value, date)
                elif value is not None:
                    sheet.write(i, j, value)
    buffer = io.BytesIO()
    book.save(buffer)
    return buffer.getvalue()


def open_document(sheets):
    """Make an .ods file by hand."""

    def cell(value):
        if value is None:
            return "<table:table-cell/>"
        if isinstance(value, str):
            text = value.replace("&", "&amp;").replace("<", "&lt;")
            kind = 'office:value-type="string"'
            return (
                f"<table:table-cell {kind}><text:p>{text}</text:p></table:table-cell>"
            )
        if isinstance(value, datetime.date):
            kind = f'office:value-type="date" office:date-value="{value}"'
        else:
            kind = f'office:value-type="float" office:value="{value}"'
        return f"<table:table-cell {kind}><text:p/></table:table-cell>"

    tables = "".join(
        f'<table:table table:name="{name}">'
        + "".join(
            "<table:table-row>" + "".join(map(cell, row)) + "</table:table-row>"
            for row in rows
        )
        + "</table:table>"
        for name, rows in sheets.items()
    )
    names = "urn:oasis:names:tc:opendocument:xmlns"
    content = (
        '<?xml version="1.0" encoding="UTF-8"?><office:document-content '
        f'xmlns:office="{names}:office:1.0" xmlns:table="{names}:table:1.0" '
        f'xmlns:text="{names}:text:1.0" office:version="1.2"><office:body>'
        f"<office:spreadsheet>{tables}</office:spreadsheet></office:body>"
        "</office:document-content>"
    )
    kind = "application/vnd.oasis.opendocument.spreadsheet"
    manifest = (
        '<?xml version="1.0"?><manifest:manifest '
        f'xmlns:manifest="{names}:manifest:1.0"><manifest:file-entry '
        f'manifest:full-path="/" manifest:media-type="{kind}"/></manifest:manifest>'
    )
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("mimetype", kind)
        archive.writestr("content.xml", content)
        archive.writestr("META-INF/manifest.xml", manifest)
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("make", "suffix"), [(old_workbook, ".xls"), (open_document, ".ods")]
)
class TestSpreadsheet:
    @pytest.fixture(autouse=True)
    def _needs_calamine(self):
        pytest.importorskip("python_calamine", reason="the extra formats")

    def test_values_and_types(self, make, suffix, tmp_path):
        path = tmp_path / f"t{suffix}"
        day = datetime.date(2024, 2, 29)
        rows = [[*ROWS[0], "day"], [*ROWS[1], day], [*ROWS[2], None]]
        path.write_bytes(make({"One": rows}))
        found = cells(read_table(path))
        assert found["code"] == ["03456", "7"]
        assert found["size"] == [1.5, 2]
        assert found["note"] == ["=1+1", None]
        assert found["day"][0].date() == day
        assert found["day"][1] is None

    def test_first_bytes_tell_the_format(self, make, suffix):
        data = make({"One": ROWS})
        assert read_table(io.BytesIO(data)).names == ROWS[0]
        assert read_table(io.BytesIO(gzip.compress(data))).n_rows == 2

    def test_sheets(self, make, suffix, tmp_path):
        path = tmp_path / f"t{suffix}"
        path.write_bytes(make({"One": ROWS, "Two": [["a"], [1]], "None": []}))
        table = read_table(path)
        assert any(
            "3 sheets" in note and "'One' was read" in note for note in table.notes
        )
        assert read_table(path, sheet="Two").names == ["a"]
        assert read_table(f"{path}::Two").names == ["a"]
        with pytest.raises(TableError, match=r"no rows below its header.*'One'"):
            read_table(path, sheet="None")
        with pytest.raises(TableError, match=r"no sheet 'Three'.*'One'"):
            read_table(f"{path}::Three")
        with pytest.raises(FileError, match=r"leave one of them out"):
            read_table(f"{path}::Two", sheet="One")

    def test_written_as_a_workbook_with_all_sheets(self, make, suffix, tmp_path):
        path = tmp_path / f"t{suffix}"
        path.write_bytes(make({"One": ROWS, "Two": [["a"], [1]]}))
        table = read_table(path)
        assert any("are kept, not its formulas" in note for note in table.notes)
        assert output_suffix(table) == ".xlsx"
        with pytest.raises(FileError, match=rf"written as {suffix}: use .*xlsx"):
            write_table(table, tmp_path / f"out{suffix}")
        filled = fill_cells(table, "note", {1: "new"})
        write_table(filled, tmp_path / "out.xlsx", {"more": [1, 2]})
        again = read_table(tmp_path / "out.xlsx")
        assert cells(again)["note"] == ["=1+1", "new"]
        assert cells(again)["more"] == [1, 2]
        assert read_table(tmp_path / "out.xlsx", sheet="Two").names == ["a"]

    def test_damaged(self, make, suffix, tmp_path):
        path = tmp_path / f"t{suffix}"
        path.write_bytes(make({"One": ROWS})[:700])
        with pytest.raises(TableError, match=r"damaged|unpacked"):
            read_table(path)

    def test_missing_package(self, make, suffix, monkeypatch):
        data = make({"One": ROWS})
        without(monkeypatch, "python_calamine")
        with pytest.raises(TableError, match=r'pip install "fewlabels\[formats\]"'):
            read_table(io.BytesIO(data))


def test_merged_cells_stay_merged(tmp_path):
    xlwt = pytest.importorskip("xlwt", reason="writes .xls for the tests")
    openpyxl = pytest.importorskip("openpyxl")
    pytest.importorskip("python_calamine", reason="the extra formats")
    book = xlwt.Workbook()
    sheet = book.add_sheet("One")
    for place, name in enumerate(["a", "b"]):
        sheet.write(0, place, name)
    sheet.write_merge(1, 2, 0, 0, "x")
    sheet.write(1, 1, 1)
    sheet.write(2, 1, 2)
    book.save(str(tmp_path / "t.xls"))
    write_table(read_table(tmp_path / "t.xls"), tmp_path / "t.xlsx", {"c": [3, 4]})
    again = openpyxl.load_workbook(tmp_path / "t.xlsx").active
    assert [str(found) for found in again.merged_cells.ranges] == ["A2:A3"]


def without(monkeypatch, package):
    real = builtins.__import__

    def fake(name, *args, **kwargs):
        if name.partition(".")[0] == package:
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", fake)


ODD = 'my "odd"; DROP TABLE plain;--'


@pytest.fixture
def sqlite(tmp_path):
    path = tmp_path / "shop.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE plain (id INTEGER, size REAL, note TEXT)")
        connection.executemany(
            "INSERT INTO plain VALUES (?, ?, ?)",
            [(1, 1.5, "03456"), (2, None, "=1+1"), (3, 2.0, None)],
        )
        connection.execute(
            f'CREATE TABLE "{ODD.replace(chr(34), chr(34) * 2)}" (a, photo BLOB)'
        )
        connection.execute(
            f'INSERT INTO "{ODD.replace(chr(34), chr(34) * 2)}" VALUES (?, ?)',
            (1, b"\x00\xff"),
        )
        connection.execute("CREATE VIEW large AS SELECT * FROM plain WHERE id > 1")
        connection.execute("CREATE TABLE bare (a)")
        connection.commit()
    return path


class TestSqlite:
    def test_values_and_types(self, sqlite):
        table = read_table(f"sqlite:{sqlite}::plain")
        assert cells(table)["id"] == [1, 2, 3]
        assert np.isnan(table["size"][1])
        assert cells(table)["note"] == ["03456", "=1+1", None]
        assert table.source == f"sqlite:{sqlite}::plain"

    @pytest.mark.parametrize(
        "place", ["{}::plain", "sqlite:{}::PLAIN", "sqlite:///{}::plain"]
    )
    def test_ways_to_say_it(self, sqlite, place, monkeypatch):
        monkeypatch.chdir(sqlite.parent)
        assert read_table(place.format(sqlite.name)).n_rows == 3
        assert read_table(sqlite, sheet="large").n_rows == 2
        with sqlite.open("rb") as file:
            assert read_table(file, sheet="plain").n_rows == 3

    def test_tables_are_named(self, sqlite):
        with pytest.raises(TableError, match=r"several tables, .*'large'.*::NAME"):
            read_table(f"sqlite:{sqlite}")
        with pytest.raises(TableError, match=r"no table 'plane'. Did you mean 'plain'"):
            read_table(f"sqlite:{sqlite}::plane")
        with pytest.raises(TableError, match=r"'bare', has no rows"):
            read_table(sqlite, sheet="bare")

    def test_names_are_no_sql_and_blobs_are_left_out(self, sqlite):
        table = read_table(f"sqlite:{sqlite}::{ODD}")
        assert cells(table) == {"a": [1]}
        assert table.notes == ["Columns of binary data are not read: 'photo'."]
        before = sqlite.read_bytes()
        with pytest.raises(TableError, match=r"no table"):
            read_table(sqlite, sheet='plain"; DROP TABLE plain;--')
        assert sqlite.read_bytes() == before

    def test_rows_that_are_not_in_the_file_yet(self, sqlite):
        with closing(sqlite3.connect(sqlite)) as connection:
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute("INSERT INTO plain VALUES (4, 1, 'new')")
            connection.commit()
            assert read_table(f"{sqlite}::plain").n_rows == 4

    def test_locked(self, sqlite, monkeypatch):
        monkeypatch.setattr(_database, "LOCK_SECONDS", 0.05)
        with closing(sqlite3.connect(sqlite, isolation_level=None)) as connection:
            connection.execute("BEGIN EXCLUSIVE")
            with pytest.raises(FileError, match=r"locked. Close that program"):
                read_table(f"{sqlite}::plain")

    def test_not_a_database(self, tmp_path):
        path = tmp_path / "t.db"
        path.write_text("a,b\n1,2\n")
        with pytest.raises(TableError, match=r"as a database of SQLite"):
            read_table(f"sqlite:{path}")
        assert read_table(path).names == ["a", "b"]
        with pytest.raises(FileError, match=r"Cannot read .*none.db: No such file"):
            read_table(f"sqlite:{tmp_path / 'none.db'}::t")
        assert not (tmp_path / "none.db").exists()

    def test_encoding(self, tmp_path):
        path = tmp_path / "t.db"
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("CREATE TABLE t (a TEXT)")
            connection.execute("INSERT INTO t VALUES (CAST(x'fc' AS TEXT))")
            connection.commit()
        with pytest.raises(TableError, match=r"not utf-8: pass encoding=NAME"):
            read_table(path)
        assert cells(read_table(path, encoding="cp1252")) == {"a": ["ü"]}

    def test_new_tables(self, sqlite, tmp_path):
        table = read_table(f"{sqlite}::plain")
        before = cells(table)
        for place in (sqlite, tmp_path / "new.db"):
            write_table(table, f"sqlite:{place}::new one", {"more": [True, None, 2.5]})
            again = read_table(f"sqlite:{place}::new one")
            assert again.names == [*table.names, "more"]
            assert cells(again)["note"][1:] == before["note"][1:]
        assert cells(read_table(f"{sqlite}::plain"))["note"] == before["note"]

    def test_tables_are_never_replaced(self, sqlite):
        table = read_table(f"{sqlite}::plain")
        for name in ("plain", "LARGE"):
            with pytest.raises(FileError, match=r"never replaced: name another"):
                write_table(table, f"sqlite:{sqlite}::{name}", force=True)
        with pytest.raises(FileError, match=r"Name the new table: .*::NAME"):
            write_table(table, f"sqlite:{sqlite}")
        with pytest.raises(FileError, match=r"sqlite:FILE::NAME"):
            write_table(table, sqlite.with_suffix(".sqlite"))

    def test_nothing_stays_of_a_table_that_fails(self, sqlite, monkeypatch):
        table = read_table(f"{sqlite}::plain")
        monkeypatch.setattr(_database, "_plain", lambda value: object())
        with pytest.raises(TableError, match=r"Cannot write"):
            write_table(table, f"sqlite:{sqlite}::new")
        with pytest.raises(TableError, match=r"no table 'new'"):
            read_table(f"{sqlite}::new")

    def test_without_a_name_it_is_text(self, sqlite):
        table = read_table(f"{sqlite}::plain")
        assert b"".join(encode_table(table, {})).startswith(b"id,size,note\n1,1.5,")
        assert output_suffix(table) == ".csv"


class TestDuckdb:
    @pytest.fixture
    def path(self, tmp_path):
        duckdb = pytest.importorskip("duckdb", reason="the extra formats")
        path = tmp_path / "shop.duckdb"
        with closing(duckdb.connect(str(path))) as connection:
            connection.execute(
                "CREATE TABLE t AS SELECT 1 AS id, 1.50::DECIMAL(9, 2) AS price, "
                "DATE '2024-02-29' AS day, 'x' AS note, '\\x00'::BLOB AS photo, "
                "[1, 2] AS list, {'a': 1} AS struct, uuid() AS u"
            )
            connection.execute("CREATE SCHEMA other")
            connection.execute("CREATE TABLE other.t AS SELECT 5 AS five")
        return path

    def test_values_and_types(self, path):
        table = read_table(f"duckdb:{path}::t")
        found = cells(table)
        assert "photo" not in found
        assert found["price"] == [1.5]
        assert found["day"] == [datetime.date(2024, 2, 29)]
        assert found["list"] == [[1, 2]]
        assert found["struct"] == ['{"a": 1}']
        assert isinstance(found["u"][0], str)
        assert cells(read_table(path, sheet="other.t")) == {"five": [5]}
        with pytest.raises(TableError, match=r"several tables, 'other.t', 't'|'t'"):
            read_table(path)

    def test_new_tables(self, path, tmp_path):
        table = read_table(f"{path}::t")
        for place in (path, tmp_path / "new.duckdb"):
            write_table(table, f'duckdb:{place}::new "one"', {"more": ["a"]})
            again = read_table(f'duckdb:{place}::new "one"')
            assert cells(again)["more"] == ["a"]
        with pytest.raises(FileError, match=r"never replaced"):
            write_table(table, f"duckdb:{path}::t")

    def test_not_a_database(self, tmp_path):
        pytest.importorskip("duckdb", reason="the extra formats")
        path = tmp_path / "t.duckdb"
        path.write_text("a,b\n1,2\n")
        with pytest.raises(TableError, match=r"as a database of DuckDB"):
            read_table(f"duckdb:{path}")

    def test_missing_package(self, tmp_path, monkeypatch):
        path = tmp_path / "t.duckdb"
        path.write_bytes(bytes(8) + b"DUCK" + bytes(100))
        without(monkeypatch, "duckdb")
        with pytest.raises(TableError, match=r'pip install "fewlabels\[formats\]"'):
            read_table(path)


@pytest.fixture
def parts(tmp_path):
    folder = tmp_path / "parts"
    folder.mkdir()
    (folder / "a.csv").write_bytes(b'id,code\n1,"03"\n2')
    (folder / "b.csv.gz").write_bytes(gzip.compress(b"id,code\r\n 3,04\r\n"))
    (folder / "c.csv").write_bytes(b"id,code\n")
    (folder / "d.csv").write_bytes(b"id,code\n4,05")
    (folder / "README.md").write_text("not a part")
    return folder


class TestFolder:
    def test_rows_know_their_files(self, parts, tmp_path):
        table = read_table(parts)
        assert cells(table) == {
            "id": ["1", "2", " 3", "4"],
            "code": ["03", "", "04", "05"],
        }
        assert table.row_files == ["a.csv", "a.csv", "b.csv.gz", "d.csv"]
        assert any("3 files read as one table" in note for note in table.notes)
        assert any("c.csv has no rows" in note for note in table.notes)
        written = b"".join(encode_table(table, {"x": [1, 2, 3, 4]}))
        assert written == (
            b'id,code,file,x\n1,"03",a.csv,1\n2,,a.csv,2\n'
            b" 3,04,b.csv.gz,3\r\n4,05,d.csv,4\n"
        )
        part = table.take(np.array([3, 0]))
        write_table(part, tmp_path / "part.parquet")
        assert pq.read_table(tmp_path / "part.parquet")["file"].to_pylist() == [
            "d.csv",
            "a.csv",
        ]

    def test_the_same_in_batches(self, parts):
        large = open_large(str(parts), batch_rows=1)
        found = [(p.name, t["id"][0]) for p, _, t in large.batches()]
        assert found == [
            ("a.csv", "1"),
            ("a.csv", "2"),
            ("b.csv.gz", " 3"),
            ("d.csv", "4"),
        ]
        assert any("c.csv has no rows" in note for note in large.notes)

    @pytest.mark.parametrize(
        ("header", "said"),
        [
            ("id,kind", "'code' missing and 'kind' new"),
            ("code,id", "another order"),
            ("id,code,more", "'more' new"),
        ],
    )
    def test_other_columns_are_refused_by_name(self, parts, header, said):
        row = ",".join("1" for _ in header.split(","))
        (parts / "e.csv").write_text(f"{header}\n{row}\n")
        message = rf"e.csv does not have the columns of .*a.csv: .*{said}"
        with pytest.raises(TableError, match=message):
            read_table(parts)
        with pytest.raises(TableError, match=message):
            list(open_large(str(parts)).batches())

    def test_other_formats_are_refused_by_name(self, parts):
        (parts / "e.xls").write_bytes(b"")
        with pytest.raises(
            FileError, match=r"several formats, such as a.csv and e.xls"
        ):
            read_table(parts)

    def test_delimiters_may_differ(self, parts):
        (parts / "e.csv").write_text("id;code\n5;06\n6;07\n")
        table = read_table(parts)
        assert cells(table)["code"][-2:] == ["06", "07"]
        assert table.row_files[-2:] == ["e.csv", "e.csv"]

    def test_nothing_but_names(self, tmp_path):
        (tmp_path / "a.csv").write_text("a,b\n")
        (tmp_path / "b.csv").write_text("")
        with pytest.raises(TableError, match=r"2 files without any row"):
            read_table(tmp_path)


class TestWeb:
    @pytest.fixture
    def address(self):
        pytest.importorskip("fsspec", reason="the extra remote")
        pytest.importorskip("aiohttp", reason="the extra remote")

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                pages = {"/t.csv": b"a,b\n1,2\n", "/login": b"<!DOCTYPE html><html>"}
                page = pages.get(self.path.partition("?")[0])
                code = 403 if self.path == "/secret" else 404
                self.send_response(code if page is None else 200)
                self.end_headers()
                self.wfile.write(page or b"")

            def log_message(self, *args):
                pass

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        server.server_close()

    def test_reads_a_file(self, address):
        assert read_table(f"{address}/t.csv?export=1").names == ["a", "b"]
        assert open_large(f"{address}/t.csv") is None
        assert home_of(f"{address}/t.csv").stem == "t"

    def test_failures_are_said(self, address):
        with pytest.raises(TableError, match=r"web page, not a table.*as CSV"):
            read_table(f"{address}/login")
        with pytest.raises(FileError, match=r"none.csv: nothing was found"):
            read_table(f"{address}/none.csv")
        with pytest.raises(FileError, match=r"Cannot read .*secret: .*needs a login"):
            read_table(f"{address}/secret")

    def test_missing_package(self, monkeypatch):
        without(monkeypatch, "fsspec")
        with pytest.raises(ImportError, match=r"fewlabels\[remote\]"):
            read_table("https://example.org/t.csv")

    @pytest.mark.parametrize(
        ("shown", "file"),
        [
            ("d/1aB_c-d/edit", "d/1aB_c-d/export?format=csv"),
            ("d/1aB/edit?usp=sharing#gid=12", "d/1aB/export?format=csv&gid=12"),
            ("d/1aB/edit?gid=12#gid=12", "d/1aB/export?format=csv&gid=12"),
            ("u/0/d/1aB", "d/1aB/export?format=csv"),
            ("d/e/2PACX-1v/pubhtml", "d/e/2PACX-1v/pub?output=csv"),
            (
                "d/e/2PACX-1v/pubhtml?gid=3&single=true",
                "d/e/2PACX-1v/pub?output=csv&gid=3&single=true",
            ),
            ("d/e/2PACX-1v/pub?output=csv", "d/e/2PACX-1v/pub?output=csv"),
            ("d/1aB/export?format=csv&gid=1", "d/1aB/export?format=csv&gid=1"),
        ],
    )
    def test_sheets_of_google(self, shown, file):
        begin = "https://docs.google.com/spreadsheets/"
        assert csv_address(begin + shown) == begin + file
        assert located(begin + shown).path == begin + file

    def test_other_addresses_stay(self):
        assert csv_address("https://example.org/d/1") == "https://example.org/d/1"
