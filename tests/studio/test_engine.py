"""What is learned while somebody labels."""

# SPDX-License-Identifier: BSD-3-Clause

import io

import numpy as np
import pytest
from sklearn.datasets import load_wine

from fewlabels.studio._engine import Engine
from fewlabels.studio._session import outlook
from fewlabels.tabular import Table, load_model, read_table
from fewlabels.tabular.setup import TableSetup

WINE = load_wine()
NAMES = np.array(["Barolo", "Grignolino", "Barbera"])[WINE.target]


@pytest.fixture(scope="module")
def engine():
    columns = {f"x{k}": WINE.data[:, k] for k in range(13)}
    columns["by"] = ["Ann" if k in (0, 70) else None for k in range(178)]
    columns["kind"] = [NAMES[k] if k in (0, 70) else None for k in range(178)]
    table = Table.from_frame(columns)
    engine = Engine(table, TableSetup("kind", bank="fast"))
    engine.encode()
    engine.use(engine.built("fast", lambda share, what: None))
    return engine


def labels_of(rows):
    return {int(row): str(NAMES[row]) for row in rows}


def test_columns_that_give_labels_away_are_left_out(engine):
    assert any("'by'" in note for note in engine.encoded.notes)
    assert engine.features.shape == (178, 13)


def test_first_questions_find_all_classes(engine):
    rows = engine.next_rows({}, set())
    assert len(set(rows)) == len(rows) == 12
    assert set(NAMES[rows]) == set(NAMES)
    assert engine.learn({}, judge=True) is None
    again = engine.next_rows(labels_of(rows[:1]), {rows[1]})
    assert not set(again) & set(rows[:2])


def test_a_sketch_guesses_before_any_bank_is_built():
    table = Table.from_frame(
        {
            "bottle": [f"B{k}" for k in range(178)],
            **{f"x{k}": WINE.data[:, k] for k in range(13)},
            "note": ["" if k % 7 else "dry and red" for k in range(178)],
            "same": ["x"] * 178,
            "kind": [None] * 178,
        }
    )
    engine = Engine(table, TableSetup("kind"))
    rows = np.random.default_rng(0).choice(178, 12, replace=False)
    assert engine.learn({0: "Barolo", 1: "Barolo"}, judge=False) is None
    guesses = engine.learn(labels_of(rows), judge=False)
    said = np.array(guesses.classes)[guesses.codes[:, 0]]
    assert np.mean(said == NAMES) > 0.85
    assert np.allclose(guesses.shares.sum(axis=1), 1, atol=1e-3)
    empty = Engine(table.without(table.names[1:-1]), TableSetup("kind"))
    assert empty.learn(labels_of(rows), judge=False) is None


def test_few_answers_label_the_rest(engine):
    labels = {}
    for _ in range(15):
        guesses = engine.learn(labels, judge=False)
        row = engine.next_rows(labels, set())[0]
        assert row not in labels
        labels |= labels_of([row])
    guesses = engine.learn(labels, judge=True)
    assert guesses.codes.shape == guesses.shares.shape == (178, 3)
    assert np.allclose(guesses.shares.sum(axis=1), 1, atol=1e-3)
    said = np.array(guesses.classes)[guesses.codes[:, 0]]
    assert np.mean(said == NAMES) > 0.9
    judged = engine.judgement()
    assert judged["labels"] == 15
    assert 0 <= judged["error"]["low"] <= judged["error"]["value"] <= 1
    assert sum(c["predicted"] for c in judged["classes"]) == 178 - 15


def test_wrong_labels_are_suspicious(engine):
    rows = np.random.default_rng(0).choice(178, 40, replace=False)
    labels = labels_of(rows)
    odd = int(rows[0])
    labels[odd] = next(n for n in ("Barolo", "Barbera") if n != NAMES[odd])
    engine.learn(labels, judge=True)
    found = engine.suspects()
    assert found[0]["row"] == odd
    assert found[0]["likely"] == NAMES[odd]
    assert 1 < found[0]["odds"] <= 1000
    engine.learn(labels_of(rows[:5]), judge=False)
    assert engine.suspects() == []


def test_skipped_rows_are_not_asked_about(engine):
    labels = labels_of(range(0, 178, 20))
    engine.learn(labels, judge=False)
    banned = set(range(50, 178))
    rows = engine.next_rows(labels, banned)
    assert rows
    assert not set(rows) & (banned | set(labels))
    assert engine.questions(set(range(178))) == []
    assert engine.cover(labels, set(range(178))) == []


def test_map_and_groups(engine):
    plane = engine.layout()
    assert plane.shape == (178, 2)
    assert plane.dtype == np.float32
    assert 0 <= plane.min() < plane.max() <= 1
    codes, depth = engine.groups()
    assert codes.shape == depth.shape == (178,)
    assert codes.max() + 1 == 4


def test_large_maps_place_rows_beside_their_neighbours(engine, monkeypatch):
    monkeypatch.setattr("fewlabels.studio._engine.MAP_ROWS", 60)
    plane = engine.layout()
    assert plane.shape == (178, 2)
    centres = np.array([plane[NAMES == name].mean(axis=0) for name in set(NAMES)])
    spread = np.mean([plane[NAMES == name].std() for name in set(NAMES)])
    assert np.ptp(centres, axis=0).max() > spread


def test_exports_are_those_of_the_commands(tmp_path):
    lines = ["size ;kind;note"]
    lines += [
        f"{v:.2f} ;{'small' if v < 5 else ''}; 007" for v in (1, 1.1, 1.2, 9, 9.5)
    ]
    data = "\r\n".join(lines).encode() + b"\r\n"
    file = io.BytesIO(data)
    file.name = "t.csv"
    table = read_table(file)
    engine = Engine(table, TableSetup("kind"))
    engine.encode()
    engine.use(engine.built("default", lambda share, what: None))
    labels = {0: "small", 3: "=large"}
    told = []
    out = engine.export("table", labels, lambda s, w: told.append(s), "typed")
    rows = out.decode().split("\r\n")
    assert all(new.startswith(old) for new, old in zip(rows, lines, strict=False))
    assert rows[0] == "size ;kind;note;kind_predicted;kind_confidence;kind_source"
    assert rows[1].endswith(";small;1.0;given")
    assert rows[4].endswith(";'=large;1.0;given")
    assert rows[5].endswith("predicted")
    assert told
    path = tmp_path / "m.fewlabels"
    path.write_bytes(engine.export("model", labels, lambda s, w: None, ""))
    assert load_model(path).predict({"size": [1.05, 9.2]})[0].tolist() == [
        "small",
        "=large",
    ]
    page = engine.export("report", labels, lambda s, w: None, "fewlabels studio <b>")
    assert b"fewlabels studio &lt;b&gt;" in page


def test_text_becomes_a_map_too():
    texts = [
        f"{'cats purr' if k % 2 else 'dogs bark'} loudly word{k}" for k in range(60)
    ]
    table = Table.from_frame({"text": texts, "kind": [None] * 60})
    engine = Engine(table, TableSetup("kind", bank="fast"))
    engine.encode()
    assert engine.layout().shape == (60, 2)
    assert engine.groups()[0].shape == (60,)
    assert {r % 2 for r in engine.next_rows({}, set())} == {0, 1}


def point(n, value, width=0.05):
    return {"labels": n, "value": value, "low": value / 2, "high": value + width}


def test_the_outlook_follows_the_law_of_learning_curves():
    curve = [point(n, 2.0 / n) for n in range(8, 41, 4)]
    found = outlook(curve, 1000)
    assert found["halve"] == pytest.approx(40, abs=1)
    assert found["next"] == pytest.approx(2 / 40 - 2 / 50, rel=0.01)
    assert not found["stop"]


def test_the_outlook_says_when_to_stop():
    assert "2 %" in outlook([point(30, 0.005, 0.01)], 100)["stop"]
    flat = outlook([point(n, 0.2) for n in range(20, 80, 5)], 100)
    assert "hardly" in flat["stop"]
    assert flat["halve"] is None
    assert "Every row" in outlook([point(30, 0.2)], 0)["stop"]
    assert outlook([], 100) == {"halve": None, "stop": "", "next": None}
    assert outlook([point(4, 0.5)], 100)["halve"] is None
