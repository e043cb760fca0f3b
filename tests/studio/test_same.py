"""What the page shows is what it exports, and what `label` gives, to the row."""

# SPDX-License-Identifier: BSD-3-Clause

import csv
import io
import subprocess
import time

import numpy as np
import pytest
from click.testing import CliRunner
from sklearn.datasets import load_wine

from fewlabels.cli import _commands
from fewlabels.studio import Studio, _engine, _worker
from fewlabels.studio._engine import Engine
from fewlabels.tabular import (
    TableError,
    UnknownColumnError,
    label_table,
    load_model,
    read_table,
)
from fewlabels.tabular.setup import TableSetup
from tests.studio.test_server import Browser

WINE = load_wine()
NAMES = ["Barolo", "Grignolino", "Barbera"]
# What is passed to all of them.
ENCODING = {"date": ["bottled=%d.%m.%y"], "scale": "standard", "ignore": ["x12"]}
OPTIONS = ["--date", "bottled=%d.%m.%y", "--scale", "standard", "--ignore", "x12"]
LABELED = range(0, 178, 12)


@pytest.fixture
def wines(tmp_path):
    """A table with two labels, the same with fifteen, and vectors."""
    paths = []
    for name, rows in (("wines", (0, 96)), ("labelled", LABELED)):
        lines = [["bottled", *(f"x{k}" for k in range(13)), "kind"]]
        for row, values in enumerate(WINE.data):
            kind = NAMES[WINE.target[row]] if row in rows else ""
            date = f"{row % 28 + 1:02d}.{row % 12 + 1:02d}.{row % 20:02d}"
            lines.append([date, *values, kind])
        paths.append(tmp_path / f"{name}.csv")
        with paths[-1].open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows(lines)
    vectors = np.random.default_rng(0).normal(size=(178, 5))
    vectors[:, 0] += 3 * WINE.target
    np.save(tmp_path / "vectors.npy", vectors)
    return (*paths, tmp_path / "vectors.npy")


def columns_of(data):
    rows = list(csv.DictReader(io.StringIO(data.decode())))
    ends = ("predicted", "confidence", "source")
    return [tuple(row[f"kind_{end}"] for end in ends) for row in rows]


def wait_until_learned(browser, n_labels):
    for _ in range(1200):
        state = browser.ask("api/state")[1]
        assert not state["failure"]
        judged = state["quality"]["judgement"]
        if judged and judged["labels"] == n_labels:
            if state["status"]["what"] == "ready":
                return state
        time.sleep(0.1)
    raise AssertionError("It did not learn in two minutes.")


@pytest.fixture(params=[False, pytest.param(True, marks=pytest.mark.slow)])
def in_two_stages(request, monkeypatch):
    """Let the process that learns begin with a small bank, if asked to."""
    if not request.param:
        return
    program = (
        "from fewlabels.studio import _engine, _worker; "
        "_engine.QUICK_ROWS = 100; _worker.main()"
    )
    started = subprocess.Popen
    monkeypatch.setattr(
        _worker.subprocess,
        "Popen",
        lambda arguments, **settings: started(
            [arguments[0], "-c", program], **settings
        ),
    )


@pytest.mark.usefixtures("in_two_stages")
def test_page_export_command_and_python_agree_to_the_row(wines, tmp_path):
    few, many, vectors = wines
    settings = {"encoding": ENCODING, "reading": {"features": vectors}}
    with Studio(few, "kind", **settings) as studio:
        browser = Browser(studio)
        for row in LABELED:
            body = {"rows": [row], "label": NAMES[WINE.target[row]]}
            assert browser.ask("api/label", body)[0] == 200
        state = wait_until_learned(browser, len(LABELED))
        cards = [browser.ask(f"api/card/{row}")[1] for row in range(178)]
        exported = browser.ask("api/export", {"what": "table"})[1]
        model = browser.ask("api/export", {"what": "model"})[1]
    shown = [
        (card["label"], 1.0, "given")
        if card["label"]
        else (card["guesses"][0]["label"], card["guesses"][0]["share"], "predicted")
        for card in cards
    ]
    found = columns_of(exported)
    assert [(name, float(share), how) for name, share, how in found] == shown

    output = tmp_path / "out.csv"
    arguments = ["label", str(many), "-t", "kind", "-o", str(output), *OPTIONS]
    arguments += ["--features", str(vectors)]
    told = CliRunner().invoke(_commands.commands, arguments)
    assert told.exit_code == 0, told.output
    assert columns_of(output.read_bytes()) == found

    labeled = label_table(read_table(many, features=vectors), "kind", **ENCODING)
    made = [
        tuple(map(str, row))
        for row in zip(*labeled.new_columns().values(), strict=True)
    ]
    assert made == found
    error = labeled.model.classifier.expected_error_
    assert state["quality"]["judgement"]["error"]["value"] == error.value

    path = tmp_path / "kind.fewlabels"
    path.write_bytes(model)
    table = read_table(many, features=vectors)
    labels, confidence = load_model(path).predict(table)
    open_rows = ~labeled.given
    assert (labels == labeled.labels)[open_rows].all()
    np.testing.assert_allclose(
        confidence[open_rows], labeled.confidence[open_rows], atol=1e-9
    )


def test_a_quick_bank_serves_until_the_right_one_is_built(wines, monkeypatch):
    monkeypatch.setattr(_engine, "QUICK_ROWS", 100)
    engine = Engine(read_table(wines[0]), TableSetup("kind"))
    assert engine.banks == ["fast", "default"]
    assert Engine(read_table(wines[0]), TableSetup("kind", bank="fast")).banks == [
        "fast"
    ]


def test_the_page_refuses_what_label_refuses(wines):
    few, _, vectors = wines
    with pytest.raises(UnknownColumnError, match="no column 'born'"):
        Studio(few, "kind", encoding={"date": ["born=%d.%m.%y"]})
    np.save(vectors, np.zeros((3, 2)))
    with pytest.raises(TableError, match="the same rows"):
        Studio(few, "kind", reading={"features": vectors})
