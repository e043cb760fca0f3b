"""Hints in tables: columns of guesses, rules, weights."""

# SPDX-License-Identifier: BSD-3-Clause

import numpy as np
import pytest

from fewlabels.tabular import (
    Table,
    TableError,
    label_report,
    label_table,
    load_model,
    save_model,
)
from fewlabels.tabular.hints import Rule, hint_columns

TABLE = Table.from_frame(
    {
        "text": ["My REFUND, please", "hello", None, "a refund of 5"],
        "order no": ["X12", "Y3", "X9", ""],
        "amount": ["1.200,50", "30", "", "99,9"],
        "state": ["open", " Closed", "open", "NA"],
    }
)


@pytest.mark.parametrize(
    ("condition", "rows"),
    [
        ('contains(text, "refund")', [0, 3]),
        ("contains(text, 'refund') and not amount > 100", [3]),
        ("matches(`order no`, '^x[0-9]+$')", [0, 2]),
        ("amount >= 99.9", [0, 3]),
        ("amount < 100 or missing(text)", [1, 2, 3]),
        ('state = "closed"', [1]),
        ("state != closed", [0, 2]),
        ("missing(state)", [3]),
        ("not (missing(text) or missing(`order no`))", [0, 1]),
        ("startswith(text, 'my') or endswith(text, '5')", [0, 3]),
        ("amount != 30", [0, 3]),
    ],
)
def test_conditions(condition, rows):
    said = Rule(f"{condition} -> yes").opinions(TABLE)
    assert [k for k, v in enumerate(said) if v == "yes"] == rows
    assert set(said.tolist()) <= {"yes", None}


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ("contains(text, 'x')", "an arrow and a class"),
        ("-> a", "an arrow and a class"),
        ("__import__('os') -> a", "there is no '__import__'"),
        ("contains(text 'x') -> a", "stands where ,"),
        ("contains(text, 'x' -> a", "stands where"),
        ("text = 'x' text -> a", "comes after its end"),
        ("text > 'x' -> a", "is no number"),
        ("matches(text, '(') -> a", "no regular expression"),
        ("text ; 3 -> a", "is not understood"),
        ("and -> a", "stands where"),
    ],
)
def test_what_cannot_be_read_is_said(rule, message):
    with pytest.raises(TableError, match=message):
        Rule(rule).parsed()


def test_a_missing_column_is_named():
    with pytest.raises(TableError, match="txt"):
        Rule("contains(txt, 'x') -> a").opinions(TABLE)


@pytest.fixture(scope="module")
def mail():
    rng = np.random.default_rng(0)
    truth = rng.choice(["bad", "good"], 150)
    size = np.where(truth == "bad", 1.0, -1.0) + rng.normal(0, 2, 150)
    guess = np.where(rng.random(150) < 0.9, truth, "good")
    guess = [str(g).upper() if k % 9 else "not sure" for k, g in enumerate(guess)]
    label = [str(t) if k < 20 else None for k, t in enumerate(truth)]
    data = {"size": size.tolist(), "llm": guess, "kind": label}
    return data, truth


def test_a_table_with_hints(mail, tmp_path):
    data, truth = mail
    hints = ["llm", "size > 3 -> bad"]
    labeled = label_table(data, "kind", bank="fast", hints=hints)
    assert [c.name for c in labeled.columns] == ["size"]
    assert any("'not sure'" in note for note in labeled.notes)
    alone = label_table(
        {k: v for k, v in data.items() if k != "llm"}, "kind", bank="fast"
    )
    wrong, before = (np.mean(t.labels[20:] != truth[20:]) for t in (labeled, alone))
    assert wrong < before - 0.05
    first, second = labeled.model.classifier.sources_
    assert (first.name, second.name) == tuple(hints)
    page = label_report(labeled)
    assert "<h2>Hints</h2>" in page
    assert "size &gt; 3 -&gt; bad" in page
    # New rows, with the column of guesses and without, from a file.
    path = tmp_path / "m.fewlabels"
    save_model(labeled.model, str(path))
    loaded = load_model(str(path))
    new = {"size": [0.0, 0.0], "llm": ["bad", "good"]}
    assert loaded.predictions(new)[0].tolist() == ["bad", "good"]
    silent = loaded.predictions({"size": [0.0, 0.0]})[0]
    assert silent[0] == silent[1]


def test_without_any_label(mail):
    data, truth = mail
    empty = data | {"kind": [None] * 150}
    labeled = label_table(empty, "kind", bank="fast", hints=["llm"])
    known = [k for k in range(150) if k % 9]
    found = np.array([str(v).lower() for v in labeled.labels])
    assert np.mean(found[known] != truth[known]) < 0.25
    assert labeled.model.classifier.expected_error_.is_guess


def test_weights_of_labels(mail):
    data, _ = mail
    label = list(data["kind"])
    weights = [0.0 if k < 10 else 1.0 for k in range(150)]
    heavy = {"size": data["size"], "kind": label, "sure": weights}
    labeled = label_table(heavy, "kind", bank="fast", weight="sure")
    assert [c.name for c in labeled.columns] == ["size"]
    assert labeled.model.classifier.labeled_indices_.min() == 10
    with pytest.raises(TableError, match="has no weight of 0 or more for 1 of"):
        label_table(
            heavy | {"sure": [-1.0, *weights[1:]]}, "kind", bank="fast", weight="sure"
        )


def test_a_hint_is_no_feature(mail):
    data, _ = mail
    with pytest.raises(TableError, match="cannot also be a column of kind"):
        label_table(data, "kind", hints=["llm"], categorical=["llm"])
    with pytest.raises(TableError, match="given twice"):
        label_table(data, "kind", hints=["llm", "llm"])
    with pytest.raises(TableError, match="holds the labels"):
        label_table(data, "kind", hints=["kind"])
    numbers = {"size": data["size"], "llm": data["llm"], "x": np.arange(150) / 7}
    with pytest.raises(TableError, match="holds numbers"):
        label_table(numbers, "x", hints=["llm"], task="numbers")
    assert hint_columns(["a", "b > 1 -> c"]) == ["a"]
