"""Journals of tables that were renamed, of columns that were, and damaged lines."""

# SPDX-License-Identifier: BSD-3-Clause

import os

import pytest
from click.testing import CliRunner

from fewlabels.cli import commands
from fewlabels.studio import TableCheck
from fewlabels.studio._journal import StoreError
from fewlabels.studio._rows import RowKeys
from fewlabels.studio._salvage import find_journal
from fewlabels.studio._store import LabelStore
from fewlabels.tabular import FileError, read_table
from fewlabels.tabular.files import home_of

CELLS = [["1", "2", "3", "4"], ["x", "y", "z", "w"]]


def opened(path, names=("a", "b"), cells=CELLS, **kwargs):
    keys = RowKeys(names, cells)
    return LabelStore(path, keys, "kind", names, [None] * keys.n_rows, **kwargs)


def labels(store):
    return [store.label_of(row) for row in range(len(store.given))]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "t.labels.jsonl"


@pytest.fixture
def labelled(path):
    store = opened(path)
    store.act("label", [0], "oak")
    store.act("label", [1, 2], "fir")
    store.close()
    return path


@pytest.mark.parametrize(
    ("names", "cells"),
    [
        (("a", "text"), CELLS),
        (("text", "a"), CELLS[::-1]),
        (("α", "β"), CELLS),
        (("new", "a", "text"), [["p"] * 4, *CELLS]),
        (("text", "new", "a"), [CELLS[1], ["p"] * 4, CELLS[0]]),
        (("β", "α"), CELLS[::-1]),
        (("a", "text"), [column[::-1] for column in CELLS]),
    ],
)
def test_renamed_and_moved_columns_are_recognised(labelled, names, cells):
    store = opened(labelled, names, cells)
    wanted = ["oak", "fir", "fir", None]
    assert labels(store) == (wanted if cells[-1][0] in "1xp" else wanted[::-1])
    assert not store.conflicts
    assert store.renamed
    store.act("label", [3], "yew")
    store.close()
    again = opened(labelled, names, cells, write=False)
    assert again.label_of(3) == "yew"
    assert not again.conflicts


def test_a_renamed_column_with_other_cells_is_a_conflict(labelled):
    store = opened(labelled, ("a", "text"), [CELLS[0], ["p", "q", "r", "s"]])
    assert labels(store) == [None] * 4
    assert len(store.conflicts) == 3
    # One decision for all, and one action to undo.
    store.settle(store.conflicts, keep=True)
    assert labels(store) == ["oak", "fir", "fir", None]
    assert not store.conflicts
    assert store.undo().rows == [0, 1, 2]
    store.close()
    assert labels(opened(labelled, ("a", "text"), [CELLS[0], [*"pqrs"]])) == [None] * 4


def test_a_damaged_line_in_the_middle_is_kept_and_told(labelled):
    lines = labelled.read_bytes().splitlines(keepends=True)
    lines[1] = lines[1][:-30] + b"\xff\xff\n"
    lines.insert(2, b"junk\n")
    labelled.write_bytes(b"".join(lines))
    store = opened(labelled)
    assert labels(store) == [None, "fir", "fir", None]
    aside = labelled.parent / "t.labels.damaged.txt"
    assert aside.read_bytes() == lines[1] + b"junk\n"
    assert "2 lines of t.labels.jsonl cannot be read and are kept in" in store.notice
    assert "row 1 may be missing" in store.notice
    assert "Which rows 1 line concerned is not known" in store.notice
    (conflict,) = store.conflicts
    assert (conflict.kind, conflict.label, conflict.row) == ("line", "oak", 0)
    store.settle([conflict], keep=True)
    store.close()
    store = opened(labelled)
    assert labels(store) == ["oak", "fir", "fir", None]
    assert not store.conflicts
    assert aside.read_bytes() == lines[1] + b"junk\n"  # once
    store.close()


# -- the name of the file ---------------------------------------------------------


def write(folder, name, text="size,word\n1,x\n2,y\n3,z\n"):
    (folder / name).write_text(text)
    return folder / name


def keys_of(path):
    table = read_table(path)
    return RowKeys(table.names, table.columns)


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("sales.2023.csv", "sales.2023"),
        ("sales.csv.gz", "sales"),
        ("sales.v1.csv.gz", "sales.v1"),
        ("sales.csv", "sales"),
        ("sales", "sales"),
        (".hidden.csv", "hidden"),
    ],
)
def test_every_table_has_a_journal_of_its_own(tmp_path, name, wanted):
    path, note = find_journal(home_of(tmp_path / name), RowKeys([], []))
    assert (path.name, note) == (f"{wanted}.labels.jsonl", "")


def test_a_shared_journal_is_divided(tmp_path):
    first = write(tmp_path, "sales.2023.csv")
    second = write(tmp_path, "sales.2024.csv", "size,word\n7,u\n8,v\n9,w\n")
    shared = tmp_path / "sales.labels.jsonl"
    columns = ["size", "word"]
    for table, rows in ((first, [0, 1]), (second, [0, 2])):
        store = LabelStore(shared, keys_of(table), "kind", columns, [None] * 3)
        store.act("label", rows, table.stem)
        store.close()
    before = shared.read_bytes()
    for table, rows in ((first, [0, 1]), (second, [0, 2])):
        path, note = find_journal(home_of(table), keys_of(table))
        assert path == tmp_path / f"{table.stem}.labels.jsonl"
        assert "copied from sales.labels.jsonl" in note
        store = LabelStore(path, keys_of(table), "kind", columns, [None] * 3)
        assert {r for r in range(3) if store.label_of(r) == table.stem} == set(rows)
        assert not store.conflicts
        store.close()
        assert find_journal(home_of(table), keys_of(table)) == (path, "")
    assert shared.read_bytes() == before
    # Rows of neither table: nothing is taken over.
    third = write(tmp_path, "sales.2025.csv", "size,word\n0,a\n")
    path, note = find_journal(home_of(third), keys_of(third))
    assert (path.exists(), note) == (False, "")


# -- messages, not tracebacks -----------------------------------------------------


def run(folder, *arguments):
    return CliRunner().invoke(commands, ["studio", *map(str, arguments), "-t", "kind"])


def test_a_journal_that_is_a_folder(tmp_path):
    table = write(tmp_path, "t.csv")
    (tmp_path / "t.labels.jsonl").mkdir()
    result = run(tmp_path, table, "--no-browser")
    assert result.exit_code == 2
    assert "Is a directory" in result.output
    assert "--labels" in result.output
    assert "Traceback" not in result.output
    with pytest.raises(FileError, match="Is a directory"):
        TableCheck(read_table(table), "size", table)


def test_a_folder_that_is_read_only(tmp_path, monkeypatch):
    table = write(tmp_path, "t.csv")
    plain = os.open

    def read_only(name, *args, **kwargs):
        if str(name).endswith(".labels.jsonl"):
            raise PermissionError(13, "Permission denied")
        return plain(name, *args, **kwargs)

    monkeypatch.setattr(os, "open", read_only)
    result = run(tmp_path, table, "--no-browser")
    assert result.exit_code == 2
    assert "Permission denied" in result.output
    with pytest.raises(StoreError):
        opened(tmp_path / "u.labels.jsonl")
