"""Opinions are read into one form, and nothing is misread in silence."""

# SPDX-License-Identifier: BSD-3-Clause

import numpy as np
import pytest

from fewlabels.opinions import labels_with_hints, named_sources, read_opinions

CLASSES = np.array(["ham", "spam"], dtype=object)


def said(hints, classes=CLASSES):
    return read_opinions(hints, classes).said.tolist()


def test_names_match_by_spelling_and_case():
    names = ["Spam", " HAM ", "spam.", '"ham"', None, "", float("nan"), "sspam"]
    opinions = read_opinions({"llm": names}, CLASSES)
    assert opinions.said.tolist() == [[1, 0, 1, 0, -1, -1, -1, 1]]
    assert opinions.notes == ["In the hints 'llm', 'sspam' (1 row) is taken as 'spam'."]


def test_what_is_no_class_is_no_opinion_and_said():
    opinions = read_opinions({"llm": ["ham", "refund", "refund", "no idea"]}, CLASSES)
    assert opinions.said.tolist() == [[0, -1, -1, -1]]
    assert opinions.notes == [
        "In the hints 'llm', 'refund', 'no idea' (3 rows) are not names of a class and "
        "count as no opinion."
    ]


def test_numbers_match_however_they_are_written():
    assert said([1.0, np.nan, 2.0], np.array([1, 2])) == [[0, -1, 1]]
    assert said(["1", "2.0", None], np.array([1, 2])) == [[0, 1, -1]]
    assert said(np.array([0, -1, 1]), np.array([0, 1])) == [[0, -1, 1]]
    # Classes that differ only in spelling are not guessed at.
    assert said(["A", "a", " A"], np.array(["A", "a"])) == [[0, 1, -1]]


def test_all_forms_of_several_sources():
    pd = pytest.importorskip("pandas")
    pl = pytest.importorskip("polars")
    columns = {"a": ["ham", None], "b": ["spam", "spam"]}
    for hints in (columns, pd.DataFrame(columns), pl.DataFrame(columns)):
        opinions = read_opinions(hints, CLASSES)
        assert opinions.names == ["a", "b"]
        assert opinions.said.tolist() == [[0, -1], [1, 1]]
    table = np.array([["ham", "spam"], [None, "spam"]], dtype=object)
    assert said(table) == [[0, -1], [1, 1]]
    assert said(pd.Series(["ham", None], name="rule")) == [[0, -1]]


def test_probabilities_are_one_source():
    pd = pytest.importorskip("pandas")
    p = np.array([[0.9, 0.1], [0.0, 0.0], [0.2, 0.8], [np.nan, np.nan]])
    opinions = read_opinions(p, CLASSES)
    assert opinions.said.tolist() == [[0, -1, 1, -1]]
    np.testing.assert_allclose(opinions.votes[0, 2], [0.2, 0.8], rtol=1e-6)
    frame = pd.DataFrame({"Spam": [0.3], "HAM": [0.3]})  # in another order, unscaled
    votes = read_opinions({"model": frame}, CLASSES).votes
    np.testing.assert_allclose(votes, [[[0.5, 0.5]]])


def test_bad_hints_are_named():
    with pytest.raises(ValueError, match="hints has 2 rows but X has 3"):
        read_opinions(["ham", "spam"], CLASSES, n_rows=3)
    with pytest.raises(ValueError, match="differ in length"):
        read_opinions({"a": ["ham"], "b": ["ham", "spam"]}, CLASSES)
    with pytest.raises(ValueError, match="no columns"):
        read_opinions({}, CLASSES)
    with pytest.raises(ValueError, match="negative"):
        read_opinions({"a": [[-1.0, 2.0]]}, CLASSES)
    with pytest.raises(ValueError, match="3 columns, but there are 2"):
        read_opinions({"a": [[0.1, 0.2, 0.7]]}, CLASSES)
    with pytest.raises(ValueError, match="fewer than two classes"):
        read_opinions(["ham", None])
    with pytest.raises(ValueError, match="names of their classes"):
        read_opinions({"a": [[0.1, 0.9]]})


def test_conflicts_and_coverage():
    hints = {"a": ["ham", "ham", None, None], "b": ["ham", "spam", "spam", None]}
    opinions = read_opinions(hints, CLASSES)
    assert opinions.coverage.tolist() == [0.5, 0.75]
    assert opinions.conflicts.tolist() == [0.5, 0.333]


def test_without_labels_the_hints_name_the_classes():
    labels, opinions = labels_with_hints([-1, -1, -1], ["x", "Y", "y"], n_rows=3)
    assert labels.classes.tolist() == ["Y", "x"]
    assert labels.codes.tolist() == [-1, -1, -1]
    assert opinions.said.tolist() == [[1, 0, 0]]
    with pytest.raises(ValueError, match="which no hint names"):
        labels_with_hints(["z", None], ["x", "y"], n_rows=2)
    with pytest.warns(UserWarning, match="'w'"):
        labels_with_hints(["x", "y", None], ["x", "w", "y"], n_rows=3)


def test_sources_are_found_by_name():
    assert named_sources({"b": ["x", "y"]}, ["a", "b"])["a"] == [None, None]
    with pytest.raises(ValueError, match="'c', but the sources of fit are 'a', 'b'"):
        named_sources({"c": ["x"]}, ["a", "b"])
    with pytest.raises(ValueError, match="3 columns, but fit had 2"):
        named_sources([["x", "y", "x"]], ["a", "b"])


def test_opinions_about_other_classes():
    opinions = read_opinions(["ham", "spam", None], CLASSES)
    more = opinions.about(np.array(["eggs", "ham", "spam"]))
    assert more.said.tolist() == [[1, 2, -1]]
    assert opinions.about(np.array(["eggs", "spam"])).said.tolist() == [[-1, 1, -1]]
