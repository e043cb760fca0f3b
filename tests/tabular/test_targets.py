"""Which labels of a column are missing, and which are classes."""

# SPDX-License-Identifier: BSD-3-Clause

import numpy as np
import pytest

from fewlabels import FewLabelsClassifier, FewLabelsRegressor
from fewlabels._missing import minus_one_marks, na_is_a_class
from fewlabels.studio._engine import Engine
from fewlabels.tabular import Table, TableError, label_table, read_target
from fewlabels.tabular._targets import require_classes
from fewlabels.tabular.setup import TableSetup


def counts(values, **options):
    target = read_target(Table.from_frame({"k": values}), "k", **options)
    return target.class_counts, target.notes


@pytest.mark.parametrize(
    ("values", "is_class"),
    [
        (["EU", "NA", "APAC", "", "NA"], True),
        (["eu", "na", "apac", None, "na"], True),
        (["EU", "NA", "APAC"], False),  # nothing else marks rows without a label
        (["yes", "no", "NA", "NA", None], False),
        (["Europe", "NA", "Asia", None, None], True),
        (["1", "2", "NA", None], False),
        (["2024-01-01", "NA", None, None], False),
        (["NA", None], False),
    ],
)
def test_na_among_labels(values, is_class):
    assert na_is_a_class(values) == is_class
    found, notes = counts(values)
    assert ("NA" in found or "na" in found) == is_class
    assert bool(notes) == is_class
    if is_class:
        assert "pass markers=['" in notes[0]
        assert not any(
            n.lower() == "na" for n in counts(values, markers=["NA", "na"])[0]
        )


@pytest.mark.parametrize(
    ("values", "marks"),
    [
        ([0, 1, -1, 2], True),
        ([-1, 1], False),
        ([-2, -1, 0, 1], False),
        ([0, 1, 2], False),
    ],
)
def test_minus_one_among_whole_numbers(values, marks):
    assert minus_one_marks(np.array(values)) == marks
    assert ("-1" not in counts(values)[0]) == (marks or -1 not in values)


def test_signs_are_classes():
    assert counts(["+", "-", "+", None])[0] == {"+": 2, "-": 1}


@pytest.mark.parametrize(
    ("labels", "hole"),
    [(["EU", "NA"], ""), (["EU", "NA"], None), (["b", "c"], " "), ([3, 4, 5], -1)],
)
def test_one_rule_in_python_tables_and_on_the_page(labels, hole):
    x = np.repeat(np.arange(len(labels)) * 9.0, 4) + np.tile(
        [0, 0.1, 0.2, 0.3], len(labels)
    )
    y = [labels[k // 4] if k % 2 else hole for k in range(x.size)]
    model = FewLabelsClassifier(bank="fast", random_state=0).fit(
        x[:, None], np.array(y)
    )
    assert model.classes_.tolist() == labels
    table = Table.from_frame({"x": x, "k": y})
    labelled = label_table(table, "k", bank="fast")
    assert sorted(labelled.target.values.values()) == labels
    assert (
        Engine(table, TableSetup("k")).given.class_counts
        == labelled.target.class_counts
    )


def test_minus_one_is_no_target_in_python_and_in_tables():
    x = np.arange(60.0) / 7
    y = np.where(np.arange(60) % 2, 3 * np.arange(60) + 2, -1)
    with pytest.warns(UserWarning, match="its -1 is taken as the mark"):
        model = FewLabelsRegressor(bank="fast", random_state=0).fit(x[:, None], y)
    assert model.predict(x[:, None]).min() > 0
    estimated = label_table({"x": x, "k": y}, "k", bank="fast", as_frame=False)
    assert estimated.numbers.min() > 0
    assert any("-1 is taken as the mark" in note for note in estimated.notes)


def test_totals_of_a_frame_are_pointed_out():
    frame = {"who": [*"abcdef", "Total"], "n": [1, 2, 3, 4, 5, 6, 21]}
    frame["kind"] = ["x", "y", "x", None, "y", None, None]
    notes = label_table(frame, "kind", bank="fast").notes
    assert any("row 7 ('Total' summarises other rows). Drop" in note for note in notes)


@pytest.mark.parametrize(
    ("labels", "noted"),
    [
        ([3, 56, 19, 2, 24, 56, 41], True),
        ([-5, -2, 0, 2, 2, 6, 10], True),
        ([2.5, 4.0, 7.5, 1.0, 1.5], True),
        ([4, 1, 3, 0, 2, 5, 5], False),  # consecutive, as codes are
        ([101, 205, 310, 400, 505] * 3, False),
        ([10, 20], False),
    ],
)
def test_numbers_taken_as_classes_are_noted_where_they_may_be_a_quantity(labels, noted):
    found, notes = counts([*labels, None])
    assert len(found) == len(set(labels))
    assert any("pass task='numbers'" in note for note in notes) == noted
    assert not counts([*labels, None], task="classes")[1]


def quantity(labels, **options):
    """Read labels of a table that has a column with decimal commas."""
    frame = {"size": ["1,5", "2,75"] * (len(labels) // 2), "k": labels}
    return read_target(Table.from_frame(frame), "k", **options)


PRICES = [f"2.{k:03d},50" for k in range(13, 43)]


@pytest.mark.parametrize(
    ("odd", "said"),
    [("k.A.", "'k.A.') taken as missing"), ("-999", "'-999' taken as missing")],
)
def test_numbers_with_gaps_are_a_quantity(odd, said):
    """A few cells without a number have no label; the others are no classes."""
    target = quantity([odd, *PRICES[:14], odd, *PRICES[14:28]])
    assert target.numbers is not None
    assert target.given.sum() == 28
    assert np.isnan(target.numbers[[0, 15]]).all()
    assert target.numbers[1] == 2013.50
    notes = " ".join(target.notes)
    assert said in notes
    assert "numeric=" not in notes
    assert "taken as a class" not in notes


@pytest.mark.parametrize(
    ("labels", "first", "said"),
    [
        ([f"{k} h {2 * k} min" for k in range(1, 29)], 3720, "predicted in s."),
        ([f"EUR {price}" for price in PRICES[:27]] + ["USD 5,00"], 2013.5, "converted"),
        ([f"{k},5 kg" for k in range(27)] + ["900 g"], 0.5, "predicted in kg."),
        ([*PRICES[:27], "<2.000"], 2013.5, "'<2.000' and the like are read as 2000"),
    ],
)
def test_targets_are_read_as_columns_are(labels, first, said):
    target = quantity(labels)
    assert target.numbers is not None
    assert target.numbers[0] == first
    assert said in " ".join(target.notes)


def test_decimal_commas_are_no_tags():
    labels = ["1,5", "1,7", "2,5", "2,7"] * 3
    assert not counts(labels, task="classes")[1]


def test_a_single_class_says_what_was_taken_as_a_mark():
    with pytest.raises(
        TableError, match=r"is '!'.*'\?' \(2 rows\) is taken as the mark"
    ):
        require_classes(read_target(Table.from_frame({"k": [*"?!?!!", ""]}), "k"))


@pytest.mark.parametrize("decimal", [".", ["k=."], [",", "k=."]])
def test_the_decimal_sign_of_a_target_can_be_given(decimal):
    labels = [f"2.{k:03d}" for k in range(30)]
    assert quantity(labels).numbers[1] == 2001
    assert quantity(labels, decimal=decimal).numbers[1] == 2.001
    assert quantity(labels, decimal=["size=."]).numbers[1] == 2001


def test_the_decimal_sign_of_a_target_is_no_feature():
    numbers = [f"{k},5" for k in range(40)]
    labels = [f"2.{k:03d}" if k % 2 else "" for k in range(40, 80)]
    frame = {"size": numbers, "k": labels}
    found = label_table(frame, "k", decimal=["k=."], bank="fast")
    assert found.numbers.max() < 3
