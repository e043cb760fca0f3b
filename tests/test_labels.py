"""What counts as unlabelled."""

# SPDX-License-Identifier: BSD-3-Clause

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_array_equal
from sklearn.base import BaseEstimator

import fewlabels
from fewlabels._labels import (
    decide,
    encode_labels,
    encode_targets,
    signed_targets,
    unlabeled_mask,
    validate_partial_targets,
    validate_partially_labeled,
)

NAN = float("nan")

# (y with a hole in the second place, the classes in it)
WITH_HOLE = {
    "int array": (np.array([3, -1, 5]), [3, 5]),
    "int8 array": (np.array([3, -1, 5], dtype=np.int8), [3, 5]),
    "int list": ([0, -1, 1], [0, 1]),
    "float array": (np.array([1.0, NAN, 2.0]), [1, 2]),
    "float array with -1 as a class": (np.array([-1.0, NAN, 1.0]), [-1, 1]),
    "float32 array": (np.array([1.0, NAN, 2.0], dtype=np.float32), [1, 2]),
    "object array with None": (np.array(["a", None, "b"], dtype=object), ["a", "b"]),
    "object array with NaN": (np.array(["a", NAN, "b"], dtype=object), ["a", "b"]),
    "text array made from NaN": (np.array(["a", np.nan, "b"]), ["a", "b"]),
    "list with empty text": (["a", "", "b"], ["a", "b"]),
    "array with empty text": (np.array(["a", "", "b"]), ["a", "b"]),
    "array with spaces": (np.array(["a", "  ", "b"]), ["a", "b"]),
    "Series with spaces": (pd.Series(["a", " ", "b"]), ["a", "b"]),
    "NA beside None": (["NA", None, "EU"], ["EU", "NA"]),
    "list with None": (["a", None, "b"], ["a", "b"]),
    "list with NaN": (["a", NAN, "b"], ["a", "b"]),
    "numbers with None": ([0, None, 1], [0, 1]),
    "bools with None": ([True, None, False], [False, True]),
    "masked integers": (np.ma.array([3, 4, 5], mask=[False, True, False]), [3, 5]),
    "masked floats": (np.ma.array([3.0, 4.0, 5.0], mask=[0, 1, 0]), [3, 5]),
    "masked strings": (np.ma.array(["a", "x", "b"], mask=[0, 1, 0]), ["a", "b"]),
    "Categorical of integers": (pd.Categorical([3, None, 5]), [3, 5]),
    "large nullable ints": (
        pd.Series([2**53, None, 2**53 + 1], dtype="Int64"),
        [2**53, 2**53 + 1],
    ),
    "NumPy strings": (
        np.array(["a", NAN, "b"], dtype=np.dtypes.StringDType(na_object=NAN)),
        ["a", "b"],
    ),
    "Series of ints": (pd.Series([3, -1, 5]), [3, 5]),
    "Series of floats": (pd.Series([3, None, 5]), [3, 5]),
    "Series of nullable ints": (pd.Series([3, None, 5], dtype="Int64"), [3, 5]),
    "Series of objects": (pd.Series(["a", None, "b"], dtype=object), ["a", "b"]),
    "Series of strings": (pd.Series(["a", None, "b"], dtype="string"), ["a", "b"]),
    "Series of categories": (
        pd.Series(["a", None, "b"], dtype="category"),
        ["a", "b"],
    ),
    "Categorical": (pd.Categorical(["a", None, "b"]), ["a", "b"]),
    "Series with pandas.NA": (pd.Series(["a", pd.NA, "b"], dtype=object), ["a", "b"]),
    "Series of integer categories": (
        pd.Series([3, None, 5], dtype="category"),
        [3, 5],
    ),
}


@pytest.mark.parametrize("name", WITH_HOLE)
def test_the_hole_is_found_whatever_holds_it(name):
    y, classes = WITH_HOLE[name]
    assert_array_equal(unlabeled_mask(y), [False, True, False])
    labels = encode_labels(y)
    assert_array_equal(labels.classes, classes)
    assert labels.codes[1] == -1
    assert sorted(labels.codes[[0, 2]]) == [0, 1]
    assert_array_equal(labels.labeled, [0, 2])
    # Classes found among objects get their natural type back.
    if isinstance(classes[0], int):
        assert labels.classes.dtype.kind in "ifb"


@pytest.mark.parametrize(
    "y",
    [
        [True, False],
        np.array([0, 255], dtype=np.uint8),
        np.array(["a", "None"]),
        np.array([0, 1]),
        np.array([b"a", b"nan"]),
    ],
)
def test_without_a_marker_every_row_is_labelled(y):
    assert not unlabeled_mask(y).any()


def test_top_level_name():
    assert fewlabels.unlabeled_mask is unlabeled_mask


@given(
    codes=hnp.arrays(np.int64, st.integers(2, 30), elements=st.integers(-1, 3)),
    kind=st.sampled_from(["int", "float", "object"]),
)
def test_encoding_is_the_same_for_every_kind_of_label(codes, kind):
    if np.unique(codes[codes >= 0]).size < 2:
        codes = np.concatenate([codes, [0, 1]])
    names = np.array([10, 20, 30, 40])
    if kind == "int":
        y = np.where(codes < 0, -1, names[codes])
    elif kind == "float":
        y = np.where(codes < 0, np.nan, names[codes].astype(float))
    else:
        y = np.array([None if c < 0 else f"class {names[c]}" for c in codes], object)
    labels = encode_labels(y)
    known = codes >= 0
    assert_array_equal(labels.codes < 0, ~known)
    kept, expected = np.unique(codes[known], return_inverse=True)
    assert_array_equal(labels.codes[known], expected)
    assert labels.classes.size == kept.size
    # Rebuilding y from the codes gives y back.
    assert_array_equal(labels.classes[labels.codes[known]], y[known])


def test_minus_one_and_one_other_class_is_refused():
    with pytest.raises(ValueError, match=r"only -1 and 1.*0/1 or as strings"):
        encode_labels([-1, 1, 1, -1])


def test_minus_one_is_a_class_among_floats():
    assert_array_equal(encode_labels([-1.0, 1.0, NAN]).classes, [-1, 1])
    assert_array_equal(encode_labels([-1.0, 1.0]).classes, [-1, 1])


def test_missing_nullable_integers_and_minus_one_are_both_holes():
    y = pd.Series([0, -1, None, 1], dtype="Int64")
    assert_array_equal(unlabeled_mask(y), [False, True, True, False])
    assert_array_equal(encode_labels(y).classes, [0, 1])


def test_minus_one_is_a_hole_among_categories_of_integers():
    y = pd.Series([0, -1, None, 1], dtype="category")
    assert_array_equal(unlabeled_mask(y), [False, True, True, False])


def test_minus_one_beside_nan_and_other_classes_is_pointed_out():
    with pytest.warns(UserWarning, match="its -1 is taken as a class"):
        encode_labels([-1.0, 0.0, 1.0, NAN])


@pytest.mark.parametrize("dtype", [float, object])
def test_minus_one_that_may_be_meant_as_a_hole_is_pointed_out(dtype):
    with pytest.warns(UserWarning, match="its -1 is taken as a class"):
        labels = encode_labels(np.array([-1, 0, 1], dtype=dtype))
    assert labels.classes.size == 3


@pytest.mark.parametrize(
    "y", [[-1, -1], [NAN, NAN], [None, None], np.array([], dtype=int)]
)
def test_no_label_at_all_is_refused(y):
    with pytest.raises(ValueError, match="y has no labelled row"):
        encode_labels(y)


@pytest.mark.parametrize("y", [[2, 2], [2.0, NAN], ["a", None]])
def test_a_single_class_is_pointed_out(y):
    with pytest.warns(UserWarning, match="single class"):
        assert encode_labels(y).classes.size == 1


def test_a_class_seen_once_is_a_class():
    labels = encode_labels([0, 0, 7, -1])
    assert_array_equal(labels.classes, [0, 7])


def test_kinds_of_labels_must_not_be_mixed():
    with pytest.raises(ValueError, match=r"mixes labels .*int, str"):
        encode_labels(np.array(["a", 1, None], dtype=object))


def test_two_columns_are_refused():
    with pytest.raises(ValueError, match="one column of labels"):
        unlabeled_mask([[0, 1], [1, 0]])


def test_regression_targets_are_refused():
    with pytest.raises(ValueError, match="continuous"):
        encode_labels([0.5, 0.25, NAN])


def test_infinite_labels_are_refused():
    with pytest.raises(ValueError, match="infinity"):
        encode_labels([np.inf, 0.0, 1.0])


def test_lengths_must_agree():
    with pytest.raises(ValueError, match="y has 2 entries but X has 3 rows"):
        validate_partially_labeled(BaseEstimator(), [[1.0], [2.0], [3.0]], [0, 1])


@pytest.mark.parametrize("n_classes", [1, 2, 3, 5])
def test_targets_and_decisions_are_inverse(n_classes):
    codes = np.concatenate([np.arange(n_classes), [-1]])
    classes = np.array([f"class {c}" for c in range(n_classes)])
    Y = signed_targets(codes, n_classes)
    assert Y.shape == (n_classes + 1, n_classes if n_classes > 2 else 1)
    assert_array_equal(Y[-1], 0)
    assert_array_equal(np.abs(Y[:-1]), 1)
    decision = Y[:-1, 0] if Y.shape[1] == 1 else Y[:-1]
    assert_array_equal(decide(decision, classes), classes)


def test_na_is_a_class_in_arrays_which_is_said():
    with pytest.warns(UserWarning, match="'NA' as a class.*use None"):
        assert_array_equal(encode_labels(["EU", "NA", "EU"]).classes, ["EU", "NA"])


@pytest.mark.parametrize("mark", ["None", "<NA>", "-1", "?", "unknown"])
def test_text_that_may_be_meant_as_a_hole_is_pointed_out(mark):
    with pytest.warns(UserWarning, match=f"holds '[{mark}]+' as a class.*use None"):
        assert encode_labels([mark] * 5 + ["a", "b"]).classes.size == 3


@pytest.mark.parametrize(
    "y", [["-1", "-1", "1"], ["unknown", "a", "b", "b"], ["None", "None", "a", "b", ""]]
)
def test_text_that_is_a_class_is_not_pointed_out(y, recwarn):
    encode_labels(y)
    assert not recwarn.list


DATES = pd.Series(pd.to_datetime(["2024-01-01", None, "2024-02-01"]))


@pytest.mark.parametrize("encode", [encode_labels, encode_targets])
@pytest.mark.parametrize(
    "y",
    [
        DATES,
        DATES.astype("datetime64[ns]").to_numpy(),
        DATES.astype(object),
        DATES - DATES[0],
    ],
)
def test_dates_are_refused(encode, y):
    with pytest.raises(ValueError, match="y holds dates or durations: pass"):
        encode(y)


FRAME = pd.DataFrame({"a": [0.0, 1.0, 2.0], "b": [1.0, 0.0, 1.0]}, index=[7, 8, 9])


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (pd.Series([0, 1, -1], index=[9, 8, 7]), "index of X in another order"),
        (pd.Series([0, 1, -1], index=[7, 8, 9], name="b"), "X has a column 'b'"),
    ],
)
def test_names_that_speak_against_y_are_pointed_out(y, message):
    for validate in (validate_partially_labeled, validate_partial_targets):
        with pytest.warns(UserWarning, match=message):
            validate(BaseEstimator(), FRAME, y.astype(float).replace(-1, NAN))


@pytest.mark.parametrize(
    "y",
    [
        pd.Series([0, 1, -1]),
        pd.Series([0, 1, -1], index=[7, 8, 9], name="kind"),
        [0, 1, -1],
    ],
)
def test_names_that_say_nothing_against_y(y, recwarn):
    validate_partially_labeled(BaseEstimator(), FRAME, y)
    assert not recwarn.list


class TestRealTargets:
    @pytest.mark.parametrize(
        "y",
        [
            [-1, NAN, 2],
            [-1, None, 2.0],
            np.array([-1, NAN, 2], dtype=np.float32),
            np.ma.array([-1, 0, 2], mask=[False, True, False]),
            pd.Series([-1, None, 2], dtype="Int64"),
            pd.Series([-1.0, NAN, 2.0]),
            pd.Series([-1, pd.NA, 2], dtype=object),
        ],
    )
    def test_holes(self, y):
        assert_array_equal(encode_targets(y), [-1.0, NAN, 2.0])

    @pytest.mark.parametrize("y", [np.array([-1, 0, 1]), [-1, 0, 1]])
    def test_minus_one_is_a_hole_among_integers(self, y):
        with pytest.warns(UserWarning, match="its -1 is taken as the mark"):
            assert_array_equal(encode_targets(y), [NAN, 0.0, 1.0])

    @pytest.mark.parametrize("y", [[-1, -2, 1], [-1, 1, 1], [-1.0, 0.0, 1.0], [True]])
    def test_numbers_that_are_no_holes(self, y):
        assert_array_equal(encode_targets(y), np.array(y, dtype=float))

    def test_minus_one_that_may_be_meant_as_a_hole_is_pointed_out(self):
        with pytest.warns(UserWarning, match="y is -1 in most rows"):
            assert not np.isnan(encode_targets([-1, -1, -1, -7, 5])).any()

    @pytest.mark.parametrize("make", [list, np.array, pd.Series])
    def test_numbers_as_text(self, make):
        assert_array_equal(encode_targets(make(["1.5", "", "2"])), [1.5, NAN, 2.0])

    @pytest.mark.parametrize(
        ("y", "message"),
        [
            ([NAN, None], "y has no labelled row"),
            ([1.0, np.inf], "Input y contains infinity"),
            ([[1.0, 2.0]], "fit one model per column"),
            (["a", "b"], "no number .could not convert"),
        ],
    )
    def test_refused(self, y, message):
        with pytest.raises(ValueError, match=message):
            encode_targets(y)
