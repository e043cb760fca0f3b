"""Agreement of annotators, against published examples and scikit-learn."""

# SPDX-License-Identifier: BSD-3-Clause

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import cohen_kappa_score

from fewlabels.model_selection import (
    agreement,
    cohen_kappa,
    fleiss_kappa,
    krippendorff_alpha,
    opinion_table,
)

# Fleiss (1971) in the form of Wikipedia: 10 rows, 14 annotators, 5 classes.
FLEISS = [
    [0, 0, 0, 0, 14],
    [0, 2, 6, 4, 2],
    [0, 0, 3, 5, 6],
    [0, 3, 9, 2, 0],
    [2, 2, 8, 1, 1],
    [7, 7, 0, 0, 0],
    [3, 2, 6, 3, 0],
    [2, 5, 3, 2, 2],
    [6, 5, 2, 1, 0],
    [0, 2, 2, 3, 7],
]
# Krippendorff (2011): four observers, twelve units, nominal 0.743, ordinal 0.815,
# interval 0.849.
KRIPPENDORFF = [
    "1 2 3 3 2 1 4 1 2 . . .",
    "1 2 3 3 2 2 4 1 2 5 . 3",
    ". 3 3 3 2 3 4 2 2 5 1 .",
    "1 2 3 3 2 4 4 1 2 5 1 .",
]


def of_units(lines):
    rows = [[None if v == "." else int(v) for v in line.split()] for line in lines]
    return np.array(rows, dtype=object).T


def test_fleiss_gives_the_published_figure():
    rows = [np.repeat(np.arange(5), counts) for counts in FLEISS]
    assert fleiss_kappa(np.array(rows)) == pytest.approx(0.210, abs=5e-4)


@pytest.mark.parametrize(
    ("level", "expected"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849)]
)
def test_krippendorff_gives_the_published_figures(level, expected):
    alpha = krippendorff_alpha(of_units(KRIPPENDORFF), level)
    assert alpha == pytest.approx(expected, abs=5e-4)


def test_cohen_gives_the_published_figure():
    first = ["yes"] * 25 + ["no"] * 25
    second = ["yes"] * 20 + ["no"] * 5 + ["yes"] * 10 + ["no"] * 15
    assert cohen_kappa(first, second) == pytest.approx(0.4)


def slow_alpha(table):
    """Krippendorff's alpha by going through all pairs of opinions."""
    units = [[v for v in row if v >= 0] for row in table.tolist()]
    units = [unit for unit in units if len(unit) > 1]
    every = [v for unit in units for v in unit]
    if len(set(every)) < 2:
        return np.nan
    observed = sum(
        (a != b) / (len(unit) - 1)
        for unit in units
        for i, a in enumerate(unit)
        for j, b in enumerate(unit)
        if i != j
    ) / len(every)
    different = [a != b for i, a in enumerate(every) for b in every[:i]]
    return 1 - observed / np.mean(different)


@given(st.lists(st.lists(st.integers(-1, 2), min_size=3, max_size=3), max_size=8))
def test_alpha_is_that_of_all_pairs(rows):
    table = np.array(rows, dtype=int).reshape(-1, 3)
    np.testing.assert_allclose(krippendorff_alpha(table), slow_alpha(table), atol=1e-12)


def test_cohen_is_that_of_scikit_learn_on_shared_rows():
    rng = np.random.default_rng(0)
    first, second = rng.integers(-1, 3, (2, 60))
    both = (first >= 0) & (second >= 0)
    expected = cohen_kappa_score(first[both], second[both])
    assert cohen_kappa(first, second) == pytest.approx(expected)
    (pair,) = agreement(np.column_stack([first, second])).pairs
    assert pair.n_rows == both.sum()
    assert pair.kappa == pytest.approx(expected)


def test_the_interval_contains_the_agreement_of_all_rows():
    """Nine of ten intervals from 100 rows contain the alpha of 20,000."""
    rng = np.random.default_rng(1)

    def draw(n):
        truth = rng.integers(0, 3, n)[:, None]
        return np.where(rng.random((n, 3)) < 0.8, truth, rng.integers(0, 3, (n, 3)))

    alpha = krippendorff_alpha(draw(20_000))
    found = [agreement(draw(100)) for _ in range(60)]
    covered = np.mean([f.low <= alpha <= f.high for f in found])
    assert 0.8 <= covered <= 0.98


def test_rows_to_settle_come_with_the_most_divided_first():
    table = [["a", "a", "a"], ["a", "b", None], ["a", "a", "b"], [None, None, "b"]]
    found = agreement(table, names=["Ann", "Bo", "Cy"])
    assert found.disputed.tolist() == [1, 2]
    assert (found.n_rows, found.n_shared) == (4, 3)
    assert found.share == pytest.approx((1 + 0 + 1 / 3) / 3)
    assert [pair[:3] for pair in found.pairs] == [
        ("Ann", "Bo", 3),
        ("Ann", "Cy", 2),
        ("Bo", "Cy", 2),
    ]


def test_one_class_is_agreed_on_and_others_are_not():
    rng = np.random.default_rng(2)
    truth = rng.choice(["spam", "news", "mail"], 200)[:, None]
    other = np.where(rng.random((200, 2)) < 0.5, "news", "mail")
    found = agreement(np.where(truth == "spam", truth, other))
    assert found.by_class["spam"] == pytest.approx(1.0)
    assert abs(found.by_class["news"]) < 0.5


def test_nothing_to_compare_is_no_error():
    for table in ([["a", None], [None, "b"]], np.empty((0, 2)), [["a", "a"]] * 3):
        found = agreement(table)
        assert np.isnan(found.krippendorff)
        assert np.isnan(found.fleiss)
        assert found.disputed.size == 0


def test_a_long_table_keeps_the_latest_opinion():
    rows, names, table = opinion_table(
        [1, 1, 2, 1],
        ["Ann", "Bo", "Ann", "Ann"],
        ["x", "y", "x", "z"],
        times=["2026-03-02", "2026-01-01", "2026-01-01", "2026-03-01"],
    )
    assert rows.tolist() == [1, 2]
    assert names == ["Ann", "Bo"]
    assert table.tolist() == [["x", "y"], ["x", None]]
    _, _, last = opinion_table([1, 1], ["Ann", "Ann"], ["x", None])
    assert last.tolist() == [[None]]  # the opinion was withdrawn


def test_bad_input_is_named():
    with pytest.raises(ValueError, match="one column per annotator"):
        agreement(np.arange(3))
    with pytest.raises(ValueError, match="same number of columns"):
        agreement([["a", "b"], ["a"]])
    with pytest.raises(ValueError, match="names has 1"):
        agreement([["a", "b"]], names=["Ann"])
    with pytest.raises(ValueError, match="interval"):
        krippendorff_alpha([["a", "b"]], "interval")
    with pytest.raises(ValueError, match="level must be"):
        krippendorff_alpha([["a", "b"]], "ratio")
    with pytest.raises(ValueError, match="differ in length"):
        opinion_table([1], ["Ann"], ["x", "y"])
