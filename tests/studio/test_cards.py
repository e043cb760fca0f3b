"""Rows as the page shows them, and the pictures that may be read."""

# SPDX-License-Identifier: BSD-3-Clause

import base64

import numpy as np
import pytest

from fewlabels.studio._cards import Cards, image_type, parse_size, pixel_columns
from fewlabels.studio._sketch import covering_rows

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+M8AAAMBAQAY3Y2wAAAA"
    "AElFTkSuQmCC"
)


def column(*values):
    return np.array(values, dtype=object)


@pytest.fixture
def folder(tmp_path):
    inside = tmp_path / "table"
    (inside / "pics").mkdir(parents=True)
    (inside / "pics" / "a.png").write_bytes(PNG)
    (inside / "pics" / "b.png").write_bytes(b"<svg onload=alert(1)>")
    (tmp_path / "secret.png").write_bytes(PNG)
    (inside / "link.png").symlink_to(tmp_path / "secret.png")
    return inside


def test_pictures_are_read_from_beneath_the_table_only(folder):
    paths = column(
        "pics/a.png",
        "pics\\a.png",
        "pics/a.png",
        "pics/a.png",
        "pics/a.png",
        "../secret.png",
        "link.png",
        str(folder.parent / "secret.png"),
        "pics/b.png",
        "",
        "a\0.png",
    )
    cards = Cards(["p"], [paths], hidden=set(), folder=folder)
    assert cards.names == []
    assert cards.picture(0, 0) == (PNG, "image/png")
    assert cards.picture(1, 0) == (PNG, "image/png")
    for row in range(5, 11):
        assert cards.picture(row, 0) is None
    assert cards.picture(99, 0) is None
    assert cards.picture(0, 1) is None
    assert cards.pictures(9) == []
    assert cards.pictures(0) == [{"place": 0, "name": "p"}]


def test_data_uris_are_pictures(folder):
    uri = "data:image/png;base64," + base64.b64encode(PNG).decode()
    html = "data:image/png;base64," + base64.b64encode(b"<html>").decode()
    cards = Cards(["p"], [column(uri, html, uri)], hidden=set())
    assert cards.picture(0, 0) == (PNG, "image/png")
    assert cards.picture(1, 0) is None


def test_paths_that_lead_nowhere_are_text(folder):
    cards = Cards(["p"], [column("x.png", "y.png")], hidden=set(), folder=folder)
    assert cards.names == ["p"]
    assert cards.cells(1) == ["y.png"]


def test_pixels_are_drawn():
    values = np.array([[0, 8, 16, 4], [16, 0, 0, np.nan]])
    columns = [column(*values[:, k]) for k in range(4)] + [column("a", "b")]
    cards = Cards(["p0", "p1", "p2", "p3", "note"], columns, hidden=set(), image=(2, 2))
    assert cards.names == ["note"]
    drawn = cards.drawn(0)
    assert (drawn["height"], drawn["width"]) == (2, 2)
    assert list(base64.b64decode(drawn["grey"])) == [0, 128, 255, 64]
    assert list(base64.b64decode(cards.drawn(1)["grey"])) == [255, 0, 0, 0]


def test_pixels_are_numbered_columns_of_one_name():
    names = ["age", "px_0", "px_1", "px_2", "px_3", "note"]
    numeric = [True] * 5 + [False]
    assert pixel_columns(names, numeric, 2, 2) == [1, 2, 3, 4]
    with pytest.raises(ValueError, match="needs 9 columns"):
        pixel_columns(names, numeric, 3, 3)


@pytest.mark.parametrize("text", ["28", "28x", "0x8", "65x8", "axb"])
def test_sizes_that_are_none(text):
    with pytest.raises(ValueError, match="image"):
        parse_size(text)


def test_size():
    assert parse_size("28x28") == (28, 28)
    assert parse_size("8X16") == (8, 16)


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (PNG, "image/png"),
        (b"\xff\xd8\xff\xe0", "image/jpeg"),
        (b"RIFF\0\0\0\0WEBPVP8 ", "image/webp"),
        (b"\0\0\0\x1cftypavif", "image/avif"),
        (b"<svg xmlns='http://www.w3.org/2000/svg'>", None),
        (b"", None),
    ],
)
def test_image_types(data, kind):
    assert image_type(data) == kind


def test_first_questions_cover_the_table(rng):
    centres = np.array([[0, 0], [50, 0], [0, 50], [50, 50]])
    groups = rng.integers(4, size=400)
    X = centres[groups] + rng.normal(size=(400, 2))
    columns = [X[:, 0].astype(str).astype(object), X[:, 1]]
    rows = covering_rows(columns, np.arange(400), 8)
    assert set(groups[rows]) == {0, 1, 2, 3}
    assert len(set(rows)) == len(rows) == 8


@pytest.mark.parametrize(
    "columns",
    [
        [],
        [column("a", "a", "a")],
        [column("r1", "r2", "r3")],
        [column(None, "", np.nan)],
        [column("some words", "other words here", "some words"), column(1, None, 3)],
        [np.array([1.0, np.inf, np.nan])],
    ],
)
def test_first_questions_of_odd_tables(columns):
    rows = covering_rows(columns, np.arange(3), 2)
    assert 1 <= len(set(rows)) == len(rows) <= 3


def test_first_questions_among_many_rows():
    rows = covering_rows([np.arange(5000.0)], np.arange(100, 5000), 5)
    assert len(rows) == 5
    assert min(rows) >= 100
