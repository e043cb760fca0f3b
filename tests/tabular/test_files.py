"""Tables from files of every format, and back."""

# SPDX-License-Identifier: BSD-3-Clause

import bz2
import gzip
import io
import json
import lzma
import os
import stat
import zipfile

import openpyxl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fewlabels.preprocessing._errors import FileError
from fewlabels.tabular import Table, TableError, read_table, write_table
from fewlabels.tabular.files import pending, replacing

TEXT = b"name,size\nann,1.5\nbob,\n"
ADDED = {"kind": ["=cmd()", "-1"], "score": [0.5, 1.0], "yes": [True, False]}


def values(table):
    return {n: c.tolist() for n, c in zip(table.names, table.columns, strict=True)}


def zipped(data, *names):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name in names:
            archive.writestr(name, data)
    return buffer.getvalue()


def zstd(data):
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "zstd") as stream:
        stream.write(data)
    return sink.getvalue().to_pybytes()


@pytest.mark.parametrize(
    ("suffix", "pack"),
    [
        (".csv", bytes),
        (".csv.gz", gzip.compress),
        (".csv.bz2", bz2.compress),
        (".csv.xz", lzma.compress),
        (".csv.zst", zstd),
        (".zip", lambda data: zipped(data, "inner.csv")),
    ],
)
def test_compressed(tmp_path, suffix, pack):
    path = tmp_path / f"t{suffix}"
    path.write_bytes(pack(TEXT))
    table = read_table(path)
    assert values(table) == {"name": ["ann", "bob"], "size": ["1.5", ""]}
    out = tmp_path / f"out{suffix}"
    if suffix == ".zip":
        with pytest.raises(FileError, match=r"as \.zip: use \.gz"):
            write_table(table, out, ADDED)
        return
    write_table(table, out, ADDED)
    again = read_table(out)
    assert again["kind"].tolist() == ["=cmd()", "-1"]
    assert again["name"].tolist() == ["ann", "bob"]


def test_an_archive_of_several_files():
    with pytest.raises(TableError, match=r"holds 2 files .* unpack it"):
        read_table(io.BytesIO(zipped(TEXT, "a.csv", "b.csv")))


def test_damaged_compression():
    with pytest.raises(TableError, match="cannot be unpacked"):
        read_table(io.BytesIO(gzip.compress(TEXT)[:-9]))


def test_json_lines_keep_their_text(tmp_path):
    text = '{"a": 1,   "b": "é"}\n\n{"b":"\\u00e9", "c": [1]} \r\n{}'
    path = tmp_path / "t.jsonl"
    path.write_bytes(text.encode())
    table = read_table(path, keep_rows=True)
    assert table.names == ["a", "b", "c"]
    assert table["c"].tolist() == [None, [1], None]
    write_table(table, tmp_path / "out.jsonl", {"k": ["=x", "y", "ü"]})
    assert (tmp_path / "out.jsonl").read_bytes().decode() == (
        '{"a": 1,   "b": "é", "k": "=x"}\n\n'
        '{"b":"\\u00e9", "c": [1], "k": "y"} \r\n{"k": "ü"}'
    )
    with pytest.raises(TableError, match="line 2: not JSON"):
        read_table(io.BytesIO(b'{"a": 1}\n{"a": \n'))
    with pytest.raises(TableError, match="line 2: not an object"):
        read_table(io.BytesIO(b'{"a": 1}\n[1]\n'))


def test_parquet_keeps_types(tmp_path):
    arrow = pa.table(
        {
            "n": pa.array([1, None, 3], pa.int32()),
            "d": pa.array([1, 2, 3], pa.date32()),
            "t": pa.array(["a", None, "c"]).dictionary_encode(),
        }
    )
    path = tmp_path / "t.parquet"
    pq.write_table(arrow, path)
    table = read_table(path)
    assert table["n"].tolist() == [1, None, 3]
    assert table["t"].tolist() == ["a", None, "c"]
    write_table(table, tmp_path / "out.parquet", {"kind": ["=x", "b", "c"]})
    again = pq.read_table(tmp_path / "out.parquet")
    assert again.select(["n", "d", "t"]).equals(arrow)
    assert again["kind"].to_pylist() == ["=x", "b", "c"]


def test_workbooks_keep_formulas_and_sheets(tmp_path):
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.title = "data"
    for row in [["a", "b", None], [1, "=A2*2", None], [None, "x", None]]:
        sheet.append(row)
    sheet["A2"].number_format = "0.00"
    book.create_sheet("other").append(["kept"])
    path = tmp_path / "t.xlsx"
    book.save(path)
    table = read_table(path)
    assert table.names == ["a", "b"]
    assert table["a"].tolist() == [1, None]
    write_table(table, tmp_path / "out.xlsx", {"kind": ["=1+1", "-1"]})
    again = openpyxl.load_workbook(tmp_path / "out.xlsx")
    cells = again["data"]
    assert [cell.value for cell in cells[2]] == [1, "=A2*2", "=1+1"]
    assert cells["C2"].data_type == "s"
    assert cells["A2"].number_format == "0.00"
    assert again["other"]["A1"].value == "kept"
    assert read_table(path, sheet="data").names == ["a", "b"]
    with pytest.raises(TableError, match="no sheet 'x'; it has 'data', 'other'"):
        read_table(path, sheet="x")
    with pytest.raises(TableError, match="no rows below"):
        read_table(path, sheet="other")


def test_what_a_workbook_loses_is_said():
    from openpyxl.chart import BarChart, Reference

    book = openpyxl.Workbook()
    for row in [["a", "b"], [1, 2], [3, 4]]:
        book.active.append(row)
    chart = BarChart()
    chart.add_data(Reference(book.active, min_col=1, min_row=1, max_row=3))
    book.active.add_chart(chart, "D2")
    buffer = io.BytesIO()
    book.save(buffer)
    buffer.seek(0)
    assert "Charts, pictures and macros" in read_table(buffer).notes[0]


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".jsonl", ".parquet", ".xlsx"])
def test_from_one_format_to_another(tmp_path, suffix):
    source = tmp_path / "t.jsonl"
    source.write_text('{"n": 1, "t": "a"}\n{"n": 2, "t": "b"}\n')
    table = read_table(source)
    write_table(table, tmp_path / f"out{suffix}", {"k": ["x", "y"]})
    again = read_table(tmp_path / f"out{suffix}")
    assert again.names == ["n", "t", "k"]
    assert [str(v) for v in again["n"]] == ["1", "2"]
    assert again["k"].tolist() == ["x", "y"]


def test_delimited_text_as_numbers(tmp_path):
    table = read_table(io.BytesIO(TEXT))
    write_table(table, tmp_path / "t.parquet")
    frame = pq.read_table(tmp_path / "t.parquet")
    assert frame["size"].to_pylist() == [1.5, None]


def test_formats_that_cannot_be_written(tmp_path):
    table = Table.from_frame({"a": [1, 2]})
    with pytest.raises(FileError, match=r"written as \.doc"):
        write_table(table, tmp_path / "t.doc")
    with pytest.raises(TableError, match="'b' has 1 values for 2 rows"):
        write_table(table, tmp_path / "t.csv", {"b": [1]})


def test_a_file_that_exists_stays(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("precious")
    table = read_table(io.BytesIO(TEXT))
    with pytest.raises(FileError, match="exists: pass force=True"):
        write_table(table, path)
    assert path.read_text() == "precious"
    path.chmod(0o640)
    write_table(table, path, force=True)
    assert path.read_bytes() == TEXT
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_a_file_appears_when_it_is_complete(tmp_path):
    path = tmp_path / "t.csv"

    def fail():
        with replacing(path, force=False) as file:
            file.write(b"half")
            assert len(pending) == 1
            assert not path.exists()
            raise RuntimeError("interrupted")

    with pytest.raises(RuntimeError, match="interrupted"):
        fail()
    assert os.listdir(tmp_path) == []
    assert not pending
    with replacing(path, force=False) as file:
        file.write(b"all")
    assert os.listdir(tmp_path) == ["t.csv"]
    mask = os.umask(0)
    os.umask(mask)
    assert stat.S_IMODE(path.stat().st_mode) == 0o666 & ~mask


def test_a_file_that_appears_meanwhile_stays(tmp_path):
    path = tmp_path / "t.csv"

    def race():
        with replacing(path, force=False) as file:
            file.write(b"late")
            path.write_text("early")

    with pytest.raises(FileError, match="appeared in the meantime"):
        race()
    assert path.read_text() == "early"


def test_places_that_cannot_be_written(tmp_path):
    table = read_table(io.BytesIO(TEXT))
    with pytest.raises(FileError, match="There is no folder"):
        write_table(table, tmp_path / "nowhere" / "t.csv")
    with pytest.raises(FileError, match="is a folder"):
        write_table(table, tmp_path)
    write_table(table, os.devnull)  # a device is written to, not replaced
    assert not os.path.isfile(os.devnull)


def test_duplicate_and_missing_names():
    table = read_table(io.BytesIO(b"a,a,,a (2)\n1,2,3,4\n"))
    assert table.names == ["a", "a (3)", "column 3", "a (2)"]
    with pytest.raises(TableError, match="Several columns are called 'a'"):
        table.index("a", "target")


def test_rows_can_be_taken():
    table = read_table(io.BytesIO(b'a,b\r\n1,"x"\r\n2\r\n3,z'))
    part = table.take([2, 1])
    assert part["a"].tolist() == ["3", "2"]
    buffer = b"".join(part.origin.with_columns({"c": ["p", "q"]}))
    assert buffer == b"a,b,c\r\n3,z,p\r\n2,,q\r\n"
    lines = read_table(io.BytesIO(b'{"a": 1}\n{"a":  2}\n'))
    assert json.loads(lines.take([1]).origin.text) == {"a": 2}


def test_what_a_workbook_cannot_hold_is_said(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    table = read_table(io.BytesIO(b"a,b\nx\x01y,2\n" + b"z,3\n" * 50))
    with pytest.warns(UserWarning, match="cannot hold 1 text"):
        write_table(table, tmp_path / "out.xlsx", {"c": [1] * 51})
    sheet = openpyxl.load_workbook(tmp_path / "out.xlsx").active
    assert sheet["A2"].value == "x\ufffdy"
