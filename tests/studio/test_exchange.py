"""Labels from elsewhere find their rows."""

# SPDX-License-Identifier: BSD-3-Clause

import io
import json

import pytest
from click.testing import CliRunner

from fewlabels.cli import commands
from fewlabels.studio import merge_labels
from fewlabels.studio._rows import RowKeys
from fewlabels.studio._store import LabelStore
from fewlabels.tabular import Table, TableError, fill_cells, read_table
from fewlabels.tabular.files import encode_table

TABLE = b'id;"size" ;kind\r\n1; 1.0 ;\r\n2;"5;0";old\r\n3;7\r\n4; 1.0 ;\r\n'
# A record that is too short gets the missing delimiter, as in all that is written.
WHOLE = TABLE.replace(b"3;7\r", b"3;7;\r")


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "t.csv").write_bytes(TABLE)
    return tmp_path


def merged(folder, labels, *options, name="labels.csv", code=0):
    (folder / name).write_text(labels)
    out = folder / "out.csv"
    result = CliRunner().invoke(
        commands,
        [
            *("merge", str(folder / "t.csv"), str(folder / name), "-t", "kind"),
            *("-o", str(out), "--force", *options),
        ],
    )
    assert result.exit_code == code, result.output
    return (out.read_bytes() if out.exists() else b""), result.output


def test_labels_come_back_by_number_and_content(folder):
    labels = "row,id,size,kind\n3,3,7,new\n1,1,1.0,a;b\n"
    out, said = merged(folder, labels)
    assert out == TABLE.replace(b" 1.0 ;\r\n2", b' 1.0 ;"a;b"\r\n2').replace(
        b"3;7\r\n", b"3;7;new\r\n"
    )
    assert "2 labels merged" in said


def test_a_number_that_lies_is_not_believed(folder):
    out, _ = merged(folder, "row,id,size,kind\n1,3,7,new\n")
    assert out == TABLE.replace(b"3;7\r\n", b"3;7;new\r\n")


def test_labels_find_their_rows_by_a_key(folder):
    out, said = merged(folder, "id,label\n4,new\n9,lost\n", "--on", "id")
    assert out == WHOLE.replace(b"4; 1.0 ;", b"4; 1.0 ;new")
    assert "'lost'" in said


def test_what_the_table_says_stays_unless_told(folder):
    out, said = merged(folder, "id,kind\n2,new\n")
    assert out == WHOLE
    assert "which is kept" in said
    assert merged(folder, "id,kind\n2,new\n", "--overwrite")[0] == WHOLE.replace(
        b"old", b"new"
    )


def test_formulas_are_defused(folder):
    assert b";'=1+1\r\n" in merged(folder, "id,kind\n1,=1+1\n")[0]


def test_json_of_label_studio(folder):
    def task(number, *choices, **more):
        results = [
            {
                "result": [
                    {"type": "choices", "from_name": "x", "value": {"choices": [c]}}
                ]
            }
            for c in choices
        ]
        return {"id": 7, "data": {"id": number}, "annotations": results} | more

    cancelled = [{"was_cancelled": True, "result": []}]
    tasks = [
        task(1, "new", "other", "new"),
        task("4", "new"),
        task(3),
        task(3, annotations=cancelled),
    ]
    out, _ = merged(folder, json.dumps(tasks), name="export.json")
    assert out.count(b"new") == 2
    flat = [{"id": 3, "sentiment": "new", "annotator": 1, "lead_time": 2.5}]
    assert b"3;7;new" in merged(folder, json.dumps(flat), name="min.json")[0]
    choices = 'id,kind,annotator\n3,"{""choices"": [""new""]}",1\n'
    assert b"3;7;new" in merged(folder, choices)[0]


@pytest.mark.parametrize(
    ("labels", "name"),
    [
        ("id,other\n1,new\n", "l.csv"),
        ("id,kind\n1,\n", "l.csv"),
        ("[1]", "l.json"),
        ("[{]", "l.json"),
        ("[]", "l.json"),
    ],
)
def test_files_without_labels(folder, labels, name):
    assert merged(folder, labels, name=name, code=1)[0] == b""


def test_a_file_that_is_not_there(folder):
    with pytest.raises(TableError, match="Cannot read"):
        merge_labels({"a": [1]}, folder / "nothing.csv", "kind")


def test_a_journal(folder):
    table = read_table(folder / "t.csv")
    path = folder / "t.labels.jsonl"
    names = ["id", "size"]
    keys = RowKeys(table.names, table.columns)
    store = LabelStore(path, keys, "kind", names, [None, "old", None, None])
    store.act("label", [0], "new")
    store.act("label", [3], "gone")
    store.undo()
    store.close()
    found = merge_labels(table, path, "kind")
    assert found.labels == {0: "new"}


def test_a_new_column(folder):
    (folder / "l.csv").write_text("id,colour\n3,red\n")
    out = folder / "o.csv"
    arguments = ["merge", str(folder / "t.csv"), str(folder / "l.csv"), "-t", "colour"]
    result = CliRunner().invoke(commands, [*arguments, "-o", str(out)])
    assert result.exit_code == 0, result.output
    assert out.read_bytes().splitlines()[3] == b"3;7;;red"


@pytest.mark.parametrize(
    ("data", "filled"),
    [
        (b"a,k\n1,\n", b"a,k\n1,new\n"),
        (b'k,a\n"x""y,",2\n', b"k,a\nnew,2\n"),
        (b'k,a\n"",2\n', b"k,a\nnew,2\n"),
        (b'k,a\n"p\nq" ,2', b"k,a\nnew,2"),
        (b'{"a": 1, "k": null }\n', b'{"a": 1, "k": "new" }\n'),
        (b'{ "k":{"b": "}"},"a":[1] }\n', None),
        (b'{"a": 1}\n', b'{"a": 1, "k": "new"}\n'),
        (
            b'[{"k": "", "a": "\\u00e9"}, {"k": 2}]',
            b'[{"k": "new", "a": "\\u00e9"}, {"k": 2}]',
        ),
    ],
)
def test_other_cells_keep_their_bytes(data, filled):
    file = io.BytesIO(data)
    file.name = "t.jsonl" if data[:1] in b"{[" else "t.csv"
    table = read_table(file)
    if "k" not in table.names:
        with pytest.raises(TableError, match="no column 'k'"):
            fill_cells(table, "k", {0: "new"})
        return
    table = fill_cells(table, "k", {0: "new"})
    assert b"".join(encode_table(table, {})) == filled
    assert table["k"][0] == "new"


@pytest.mark.parametrize("suffix", [".parquet", ".xlsx"])
def test_cells_of_other_formats(tmp_path, suffix):
    from fewlabels.tabular import write_table

    path = tmp_path / f"t{suffix}"
    write_table(Table.from_frame({"a": [1, 2], "k": ["x", None]}), path)
    table = fill_cells(read_table(path), "k", {1: "new"})
    write_table(table, path, force=True)
    again = read_table(path)
    assert again["k"].tolist() == ["x", "new"]
    assert again["a"].tolist() == [1, 2]
