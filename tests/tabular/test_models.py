"""Saved models hold data and no code."""

# SPDX-License-Identifier: BSD-3-Clause

import copy
import io
import json
import pickle
import zipfile

import numpy as np
import pandas as pd
import pytest
import skops.io as sio
from numpy.testing import assert_allclose, assert_array_equal

from fewlabels.tabular import TableError, label_table, load_model, save_model
from fewlabels.tabular._models import TRUSTED


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    kinds = np.arange(90) % 3
    words = np.array(["goal match team", "soup bread salt", "rain cloud wind"])
    return pd.DataFrame(
        {
            "id": range(90),
            "size": kinds + 0.2 * rng.normal(size=90),
            "colour": rng.choice(["red", "green"], 90),
            "when": pd.date_range("2024-01-01", periods=90, freq="11D"),
            "note": [f"{words[k]} {rng.integers(30)} and more" for k in kinds],
            "kind": [int(k) if i < 15 else None for i, k in enumerate(kinds)],
        }
    ).astype({"kind": object})


@pytest.fixture(scope="module")
def model(frame):
    return label_table(frame, "kind", as_frame=False).model


@pytest.fixture
def saved(model, tmp_path):
    path = tmp_path / "kind.fewlabels"
    save_model(model, path)
    return path


def rewritten(path, **members):
    """The archive with some members replaced."""
    with zipfile.ZipFile(path) as archive:
        content = {name: archive.read(name) for name in archive.namelist()}
    content.update(members)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, data in content.items():
            archive.writestr(name, data)
    path.write_bytes(buffer.getvalue())


def test_the_same_answers(model, saved, frame):
    loaded = load_model(saved)
    new = frame.drop(columns=["kind", "id"])[::-1].iloc[:, ::-1]  # any order
    new["size"] += 0.05
    labels, confidence = model.predict(new)
    their_labels, their_confidence = loaded.predict(new)
    assert_array_equal(labels, their_labels)
    assert_allclose(confidence, their_confidence)
    labels, confidence = loaded.predict(new)
    assert type(labels[0]) is int
    assert_array_equal(labels, (np.arange(90) % 3)[::-1])
    assert (confidence > 1 / 3).all()
    own = loaded.classifier.expected_error_
    assert_allclose(own.value, model.classifier.expected_error_.value)


def test_what_is_inside(saved):
    with zipfile.ZipFile(saved) as archive:
        about = json.loads(archive.read("fewlabels.json"))
    assert about["target"] == "kind"
    assert about["classes"] == [["0", 0], ["1", 1], ["2", 2]]
    assert {"fewlabels", "scikit-learn", "numpy", "python"} <= set(about["versions"])
    kinds = {column["name"]: column["kind"] for column in about["columns"]}
    assert kinds == {
        "id": "identifier",
        "size": "number",
        "colour": "category",
        "when": "date",
        "note": "text",
    }


def test_text_alone(frame, tmp_path):
    labeled = label_table(frame[["note", "kind"]], "kind", bank="fast", as_frame=False)
    save_model(labeled.model, tmp_path / "m")
    labels, _ = load_model(tmp_path / "m").predict(frame)
    assert_array_equal(labels, labeled.model.predict(frame)[0])


def test_a_table_that_does_not_fit(saved, frame):
    loaded = load_model(saved)
    with pytest.raises(TableError, match="has no 'size', 'note'"):
        loaded.predict(frame[["colour", "when"]])
    with pytest.raises(TableError, match="'size' held numbers"):
        loaded.predict(frame.assign(size="tall"))


def test_a_column_that_the_model_uses_is_no_other_name(frame):
    two = frame[["size", "kind"]].assign(size2=frame["size"] ** 2)
    model = label_table(two, "kind", bank="fast", as_frame=False).model
    with pytest.raises(TableError, match=r"has no 'size2'\. The model"):
        model.predict(two[["size"]])
    with pytest.raises(TableError, match="Perhaps 'Size2' for 'size2' under another"):
        model.predict(two.rename(columns={"size2": "Size2"}))


def test_pickles_are_refused(saved, model):
    for protocol in (2, 5):
        saved.write_bytes(pickle.dumps(model.values, protocol=protocol))
        with pytest.raises(TableError, match="is a pickle, which can run any code"):
            load_model(saved)


class Evil:
    """What an attacker would like to be made."""

    def __setstate__(self, state):
        raise RuntimeError("code of the file was run")


def test_foreign_types_are_refused(saved, model):
    evil = {"transformer": model.transformer, "classifier": Evil()}
    rewritten(saved, **{"model.skops": sio.dumps(evil)})
    with pytest.raises(TableError, match=r"is refused: it uses '.*Evil'"):
        load_model(saved)


def test_foreign_functions_are_refused(saved, model):
    from os import system

    evil = {"transformer": model.transformer, "classifier": [system]}
    rewritten(saved, **{"model.skops": sio.dumps(evil)})
    with pytest.raises(TableError, match="is refused"):
        load_model(saved)


def test_damage_is_noticed(saved, model):
    whole = saved.read_bytes()
    rewritten(saved, **{"model.skops": sio.dumps({"transformer": 1, "classifier": 2})})
    with pytest.raises(TableError, match="not a model of fewlabels"):
        load_model(saved)
    for content in (whole[: len(whole) // 2], b"", b"PK\x03\x04", b"a,b\n1,2\n"):
        saved.write_bytes(content)
        with pytest.raises(TableError, match="not a model of fewlabels"):
            load_model(saved)
    saved.write_bytes(whole)
    rewritten(saved, **{"model.skops": b"nothing"})
    with pytest.raises(TableError, match="not a model of fewlabels"):
        load_model(saved)


def test_versions_are_compared(saved):
    with zipfile.ZipFile(saved) as archive:
        about = json.loads(archive.read("fewlabels.json"))
    about["versions"]["scikit-learn"] = "0.1"
    rewritten(saved, **{"fewlabels.json": json.dumps(about)})
    assert "made with scikit-learn 0.1" in load_model(saved).about["notes"][0]
    about["format"] = 99
    rewritten(saved, **{"fewlabels.json": json.dumps(about)})
    with pytest.raises(TableError, match="which is newer: update fewlabels"):
        load_model(saved)


def test_the_trusted_types_exist():
    import importlib

    for name in TRUSTED:
        module, _, kind = name.rpartition(".")
        found = getattr(importlib.import_module(module), kind)
        assert isinstance(found, type)
        assert module.split(".")[0] in ("fewlabels", "numpy", "scipy")


def test_every_kind_of_candidate_can_be_saved(model, frame, tmp_path):
    """Those that these labels give no weight are given one."""
    model = copy.deepcopy(model)
    classifier = model.classifier
    rows = np.arange(0, 90, 2)
    bank = classifier._bank
    kinds = {type(candidate) for candidate in bank.candidates}
    assert {"Forest", "FeatureKernel", "PairKernel"} <= {k.__name__ for k in kinds}
    classifier._row_weights = np.ones(rows.size)
    classifier.labeled_indices_ = rows
    labeled = classifier._labeled(rows % 3)
    rng = np.random.RandomState(0)
    classifier._model._functions = [
        c.fit(labeled, np.ones(c.ridges.size), None, rng) for c in bank.candidates
    ]
    path = tmp_path / "all.fewlabels"
    save_model(model, path)
    new = frame.drop(columns=["kind", "id"])
    new["size"] += 0.05
    (ours, p), (theirs, q) = model.predict(new), load_model(path).predict(new)
    assert_array_equal(ours, theirs)
    assert_allclose(p, q)


def prices(sign, n=12):
    """Write numbers with a decimal sign, some of them with three decimals."""
    numbers = [(k % 2) * 30 + k + 1.25 for k in range(n)]
    return {
        "price": [f"{x:.2f} €".replace(".", sign) for x in numbers],
        "weight": [f"{x / 7:.3f}".replace(".", sign) for x in numbers],
        "count": [str(k) for k in range(n, 0, -1)],
    }


@pytest.mark.parametrize("signs", [(",", "."), (".", ",")])
def test_the_other_decimal_sign(signs):
    """A model reads tables of a neighbour who writes decimals otherwise."""
    here, there = signs
    kinds = ["a", "b", "a", "b", *[None] * 8]
    labelled = label_table({**prices(here), "kind": kinds}, "kind", bank="fast")
    expected = labelled.model.predict(prices(here))
    with pytest.warns(UserWarning, match="another sign"):
        found = labelled.model.predict(prices(there))
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)
