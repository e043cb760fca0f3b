"""Keys of classes, and which columns a row is shown by."""

# SPDX-License-Identifier: BSD-3-Clause

import numpy as np
import pytest

from fewlabels.studio._cards import Cards
from fewlabels.studio._columns import ColumnView
from fewlabels.studio._keys import class_keys
from fewlabels.studio._rows import RowKeys
from fewlabels.studio._sketch import SketchModel
from fewlabels.studio._store import LabelStore

N = 60
RNG = np.random.default_rng(0)
TABLE = {
    "video": np.array([f"v{k % 3}" for k in range(N)], dtype=object),
    "id": np.array([f"z{k * k:x}q" for k in range(N)], dtype=object),
    "size": RNG.normal(size=N),
    "same": np.array(["x"] * N, dtype=object),
    "comment": np.array(["so many words " * (3 + k % 5) for k in range(N)], object),
    "kind": np.array([None] * N, dtype=object),
}


@pytest.mark.parametrize(
    ("names", "keys"),
    [
        (["6", "1", "4"], "614"),
        (["0", "10", "1", "-1"], "0b1d"),  # numbers: 5 is kept for class 5
        (["fir", "oak", "3", "yew"], "1234"),
        ([f"c{k}" for k in range(12)], "1234567890bd"),
    ],
)
def test_keys_follow_digits_and_then_the_order(names, keys):
    assert class_keys(names) == dict(zip(names, keys, strict=True))


def test_keys_stay_when_classes_come():
    names = [f"class {k}" for k in range(40)]
    everyone = class_keys(names)
    assert len(set(everyone.values())) == len(everyone) == 22
    for n in range(1, 40):
        some = class_keys(names[:n])
        assert some.items() <= everyone.items()


@pytest.fixture
def view(tmp_path):
    def make():
        keys = RowKeys(list(TABLE), list(TABLE.values()))
        given = [None] * N
        store = LabelStore(
            tmp_path / "t.labels.jsonl", keys, "kind", list(TABLE)[:-1], given
        )
        cards = Cards(list(TABLE), list(TABLE.values()), hidden={"kind"})
        return ColumnView(cards, N, store), store

    return make


def names(shown):
    return [shown["layout"][place]["name"] for place in shown["brief"]]


def test_texts_come_first_and_identifiers_last(view):
    columns, store = view()
    assert names(columns.shown()) == ["comment", "video", "size", "id", "same"]
    assert columns.learn({"size": 0.6, "video": 0.1, "id": 0.0})
    assert not columns.learn({"video": 0.9})  # places stay where they are
    assert names(columns.shown()) == ["comment", "size", "video", "id", "same"]
    texts = [c["name"] for c in columns.shown()["layout"] if c["text"]]
    assert texts == ["comment"]
    store.close()


def test_the_choice_is_remembered_with_the_table(view):
    columns, store = view()
    columns.choose(["id", "nonsense"], ["video"])
    assert names(columns.shown()) == ["id", "comment", "size", "same"]
    store.close()
    again, store = view()
    assert again.shown() == columns.shown()
    store.close()


def test_effects_are_those_of_the_columns_that_matter():
    X = RNG.normal(size=(500, 3))
    words = np.array([f"{'red' if x > 0 else 'blue'} wine" for x in X[:, 1]], object)
    model = SketchModel([X[:, 0], words, X[:, 2], np.zeros(500)])
    P = np.column_stack([X[:, 1] > 0, X[:, 1] <= 0]).astype(float)
    none, all_, little, constant = model.effects(P)
    assert all_ > 0.95
    assert max(none, little) < 0.05
    assert constant == 0
    # What is largest or smallest matters as much as what grows.
    peak = (np.abs(X[:, 0]) > 1).astype(float)
    assert model.effects(np.column_stack([peak, 1 - peak]))[0] > 0.4
    assert model.effects(np.full((500, 2), 0.5)) == [0.0] * 4
