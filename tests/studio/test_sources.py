"""The studio on tables that are not a file of their own."""

# SPDX-License-Identifier: BSD-3-Clause

import sqlite3
from contextlib import closing

import pytest

import fewlabels.embeddings
from fewlabels.studio import Studio
from tests.embeddings.pictures import Edges, needs_pillow, save


@pytest.fixture
def places(tmp_path):
    path = tmp_path / "shop.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute('CREATE TABLE "new/orders" (size, kind)')
        connection.executemany(
            'INSERT INTO "new/orders" VALUES (?, ?)', [(1, "a"), (2, None), (7, "b")]
        )
        connection.commit()
    folder = tmp_path / "parts"
    folder.mkdir()
    (folder / "a.csv").write_text("size,kind\n1,a\n2,\n")
    (folder / "b.csv").write_text("size,kind\n7,b\n")
    return {
        f"sqlite:{path}::new/orders": "shop-new_orders.labels.jsonl",
        str(path): "shop.labels.jsonl",
        str(folder): "parts.labels.jsonl",
    }


def test_labels_lie_next_to_the_table(places, tmp_path):
    for place, name in places.items():
        with Studio(place, "kind") as studio:
            assert studio.labels == ["a", None, "b"]
            assert studio.store.path == tmp_path / name
            assert not studio.is_new


@needs_pillow
def test_pictures_of_a_folder_are_shown_without_their_vectors(tmp_path, monkeypatch):
    monkeypatch.setattr(fewlabels.embeddings, "load_embedder", lambda name: Edges())
    for kind in ("disc", "stripes"):
        save(tmp_path / "photos" / kind / "1.png", kind, 1)
    save(tmp_path / "photos" / "2.png", "disc", 2)
    with Studio(tmp_path / "photos", "label") as studio:
        assert studio.labels == [None, "disc", "stripes"]
        assert studio.cards.names == []
        assert studio.cards.pictures(0) == [{"place": 0, "name": "file"}]
        data, _ = studio.cards.picture(0, 0)
    assert data == (tmp_path / "photos" / "2.png").read_bytes()
