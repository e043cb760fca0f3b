"""Folders of pictures as tables."""

# SPDX-License-Identifier: BSD-3-Clause

import os
import re

import numpy as np
import pytest

import fewlabels.embeddings
from fewlabels.embeddings import embedder_names
from fewlabels.preprocessing import FileError, TableError
from fewlabels.tabular import (
    label_table,
    load_model,
    read_table,
    save_model,
    write_table,
)
from fewlabels.tabular.file_folders import folder_kind, sort_files
from fewlabels.tabular.large import open_large
from tests.embeddings import strange_pictures
from tests.embeddings.pictures import Edges, needs_pillow, needs_weights, save

pytestmark = needs_pillow


@pytest.fixture
def edges(monkeypatch):
    monkeypatch.setattr(fewlabels.embeddings, "load_embedder", lambda name: Edges())


@pytest.fixture
def photos(tmp_path):
    """Two labelled pictures of each kind, and six without a label."""
    root = tmp_path / "photos"
    for kind in ("disc", "stripes"):
        for seed in range(2):
            save(root / kind / f"{seed}.png", kind, seed)
        for seed in range(2, 4):
            save(root / "Unlabelled" / f"{kind}{seed}.jpg", kind, seed)
        save(root / f"{kind}4.bmp", kind, 4)
    (root / ".hidden.png").write_bytes(b"")
    return root


def test_folders_are_labels(photos, edges):
    table = read_table(photos)
    assert table.names == ["file", "label", "edges"]
    found = dict(zip(table["file"], table["label"], strict=True))
    assert found["disc/1.png"] == "disc"
    assert found["Unlabelled/disc2.jpg"] == ""
    assert found["disc4.bmp"] == ""
    assert len(found) == 10


def test_pictures_are_labelled_and_their_vectors_not_written(photos, edges, tmp_path):
    labeled = label_table(read_table(photos), "label")
    files = labeled.table["file"]
    right = ["disc" if "disc" in file else "stripes" for file in files]
    assert labeled.labels.tolist() == right
    kinds = {column.name: column.kind for column in labeled.columns}
    assert kinds == {"file": "identifier", "edges": "vector"}
    for suffix in ("csv", "jsonl"):
        path = tmp_path / f"labelled.{suffix}"
        write_table(labeled.table, path, labeled.new_columns())
        again = read_table(path)
        assert again.names[:3] == ["file", "label", "label_predicted"]
        assert "edges" not in again.names
        assert again["label_predicted"].tolist() == right


def test_a_model_labels_another_folder(photos, edges, tmp_path):
    labeled = label_table(read_table(photos), "label")
    save_model(labeled.model, tmp_path / "kinds.fewlabels")
    for kind in ("disc", "stripes"):
        save(tmp_path / "new" / f"{kind}.png", kind, 9)
    model = load_model(tmp_path / "kinds.fewlabels")
    labels, _ = model.predict(read_table(tmp_path / "new"))
    assert labels.tolist() == ["disc", "stripes"]


def test_the_name_of_a_folder_is_never_learned_from(photos, edges):
    """Names that share words would be text, and give the labels away."""
    for k in range(30):
        save(photos / "disc" / f"disc picture {k}.png", "stripes", k)
    table = read_table(photos)
    (column, *_) = label_table(table, "label").columns
    assert (column.name, column.kind) == ("file", "identifier")
    assert table.take(np.arange(3)).identifiers == {"file"}


def test_labels_come_from_a_table(photos, edges, tmp_path):
    labels = tmp_path / "labels.csv"
    labels.write_text(
        "label,file\nround,disc2.jpg\nround,./disc/0.png\nlong,stripes\\1.png\n,disc4.bmp\n"
        "long,absent.png\nround,0.png\n"
    )
    table = read_table(photos, labels=labels)
    found = dict(zip(table["file"], table["label"], strict=True))
    given = {file: label for file, label in found.items() if label}
    assert given == {
        "Unlabelled/disc2.jpg": "round",
        "disc/0.png": "round",
        "stripes/1.png": "long",
    }
    (note,) = [note for note in table.notes if "not used" in note]
    assert "'absent.png', '0.png (several)'" in note


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("file\na.png\n", "one column"),
        ("file,label\nabsent.png,a\n", "names no file"),
        ("file,label\ndisc/0.png,a\ndisc/0.png,b\n", "two labels"),
    ],
)
def test_tables_of_labels_that_do_not_fit_are_refused(
    photos, edges, tmp_path, text, message
):
    (tmp_path / "labels.csv").write_text(text)
    with pytest.raises(TableError, match=message):
        read_table(photos, labels=tmp_path / "labels.csv")


def test_other_and_broken_files_are_named_and_left_out(photos, edges):
    (photos / "notes.txt").write_text("hello")
    (photos / "disc" / "broken.png").write_bytes(b"hello")
    table = read_table(photos)
    assert table.n_rows == 10
    notes = " ".join(table.notes)
    assert "1 file left out, not pictures: 'notes.txt'" in notes
    assert "disc/broken.png: no picture" in notes


def test_a_folder_of_broken_pictures_is_refused(tmp_path, edges):
    (tmp_path / "a.png").write_bytes(b"hello")
    with pytest.raises(TableError, match="no picture that can be read"):
        read_table(tmp_path)


def test_folders_of_tables_are_told_apart(photos, tmp_path, edges):
    assert folder_kind(str(photos)) == "picture"
    assert open_large(str(photos)) is None
    parts = tmp_path / "parts"
    save(parts / "plot.png", "disc", 0)
    for k in range(2):
        (parts / f"{k}.csv").write_text("a,b\n1,2\n")
    assert not folder_kind(str(parts))
    assert read_table(parts).names == ["a", "b"]
    with pytest.raises(TableError, match=r"no folder of them \(given as embed"):
        read_table(parts, embed_with="edges")


def test_embedders_of_other_things_are_refused(photos, monkeypatch):
    class Texts(Edges):
        name, takes = "words", "text"

    monkeypatch.setattr(fewlabels.embeddings, "load_embedder", lambda name: Texts())
    with pytest.raises(TableError, match="takes text"):
        read_table(photos, embed_with="words")


def test_pictures_are_sorted_by_label(photos, tmp_path):
    into = tmp_path / "sorted"
    files = ["disc/0.png", "stripes/0.png", "disc/1.png"]
    sort_files(str(photos), files, ["a/b", "a/b", ".."], str(into))
    found = sorted(path.relative_to(into).as_posix() for path in into.rglob("*.png"))
    assert found == ["_/1.png", "a_b/0 (2).png", "a_b/0.png"]
    original = (photos / "stripes/0.png").read_bytes()
    assert (into / "a_b" / "0 (2).png").read_bytes() == original


def test_pictures_are_copied_where_links_cannot_be_made(photos, tmp_path, monkeypatch):
    def refuse(*paths):
        raise OSError("no links here")

    monkeypatch.setattr("os.symlink", refuse)
    into = tmp_path / "sorted"
    assert sort_files(str(photos), ["disc/0.png"], ["a"], str(into)) == 1
    assert not (into / "a" / "0.png").is_symlink()
    assert (into / "a" / "0.png").read_bytes() == (photos / "disc/0.png").read_bytes()


def test_folders_to_sort_into_are_new_and_elsewhere(photos, tmp_path):
    with pytest.raises(FileError, match="lies in"):
        sort_files(str(photos), [], [], str(photos / "sorted"))
    with pytest.raises(FileError, match="not an empty folder"):
        sort_files(str(photos / "disc"), [], [], str(photos))


@needs_weights
def test_real_weights_label_pictures(photos):
    assert "efficientnet-lite2" in embedder_names("picture")
    labeled = label_table(read_table(photos), "label")
    right = ["disc" if "disc" in file else "stripes" for file in labeled.table["file"]]
    assert labeled.labels.tolist() == right


def test_strange_files_are_read_or_named(photos, edges):
    for name, data in strange_pictures.readable():
        (photos / name).write_bytes(data)
    for name, data, _ in strange_pictures.unreadable():
        (photos / name).write_bytes(data)
    table = read_table(photos)
    found = set(table["file"])
    names = [name for name, _ in strange_pictures.readable()]
    assert found.issuperset(names)
    notes = " ".join(table.notes)
    for name, _, why in strange_pictures.unreadable():
        assert name not in found
        assert re.search(rf"{re.escape(name)}: [^']*{why}", notes), name
    labeled = label_table(table, "label")
    assert len(labeled.labels) == 10 + len(names)


def test_loops_of_links_and_closed_folders(photos, edges, monkeypatch):
    (photos / "loop").symlink_to(photos, target_is_directory=True)
    (photos / "gone.png").symlink_to(photos / "nowhere.png")
    (photos / "linked.png").symlink_to(photos / "disc" / "0.png")
    (photos / "folder.png").mkdir()
    (photos / "secret").mkdir()
    scandir = os.scandir

    def refuse(path):
        if os.fspath(path).endswith("secret"):
            raise PermissionError(13, "Permission denied", os.fspath(path))
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refuse)
    table = read_table(photos)
    assert set(table["file"]) >= {"linked.png", "disc4.bmp"}
    assert table.n_rows == 11
    assert "1 folder left out, cannot be opened: 'secret'" in " ".join(table.notes)


def test_equal_names_in_several_folders_are_several_rows(photos, edges):
    table = read_table(photos)
    assert {"disc/0.png", "stripes/0.png"} <= set(table["file"])
