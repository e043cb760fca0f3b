# SPDX-License-Identifier: BSD-3-Clause

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from fewlabels import unlabeled_mask
from fewlabels.datasets import hide_labels

seeds = st.integers(0, 2**32 - 1)


def _as_strings(codes):
    return np.array(list("abcdef"), dtype=object)[codes]


# How class numbers are written, what comes out, and the marker among it.
FLAVOURS = {
    "int64": (lambda codes: codes, np.int64, -1),
    "int8": (lambda codes: codes.astype(np.int8), np.int8, -1),
    "uint8": (lambda codes: codes.astype(np.uint8), np.int64, -1),
    "float32": (lambda codes: codes.astype(np.float32), np.float32, np.nan),
    "float64": (lambda codes: codes.astype(np.float64), np.float64, np.nan),
    "strings": (lambda codes: _as_strings(codes).astype(str), object, None),
    "objects": (_as_strings, object, None),
    "list": (lambda codes: codes.tolist(), np.int64, -1),
    "list of strings": (lambda codes: _as_strings(codes).tolist(), object, None),
    "Series": (lambda codes: pd.Series(codes, index=codes[::-1]), np.int64, -1),
    "string Series": (lambda codes: pd.Series(_as_strings(codes)), object, None),
    "categorical": (
        lambda codes: pd.Series(_as_strings(codes), dtype="category"),
        object,
        None,
    ),
}


@st.composite
def labels(draw, min_count=1):
    """Class numbers in random order, of two to six classes."""
    # Often rare classes, which need a label of their own beyond their share.
    count = st.just(min_count) | st.integers(min_count, 40)
    counts = draw(st.lists(count, min_size=2, max_size=6))
    codes = np.repeat(np.arange(len(counts)), counts)
    return np.random.default_rng(draw(seeds)).permutation(codes)


@given(codes=labels(), flavour=st.sampled_from(sorted(FLAVOURS)), data=st.data())
def test_n_labeled(codes, flavour, data):
    write, dtype, marker = FLAVOURS[flavour]
    y = write(codes)
    counts = np.bincount(codes)
    n_labeled = data.draw(st.integers(len(counts), len(codes)))
    holed = hide_labels(y, n_labeled=n_labeled, random_state=data.draw(seeds))

    assert type(holed) is np.ndarray
    assert holed.dtype == dtype
    hidden = unlabeled_mask(holed)
    assert_array_equal(holed[hidden], np.full(hidden.sum(), marker, dtype=dtype))
    assert_array_equal(holed[~hidden], np.asarray(y)[~hidden])
    kept = np.bincount(codes[~hidden], minlength=len(counts))
    assert kept.sum() == n_labeled
    assert kept.min() >= 1
    # No class is off its share by a whole label, but to give one to a rare class.
    share = n_labeled * counts / len(codes)
    assert np.all(kept < share + 1)
    if share.min() >= 1:
        assert np.all(kept > share - 1)


@given(codes=labels(min_count=3), per_class=st.integers(1, 3), seed=seeds)
def test_per_class(codes, per_class, seed):
    holed = hide_labels(codes, per_class=per_class, random_state=seed)
    kept = holed != -1
    assert_array_equal(holed[kept], codes[kept])
    assert_array_equal(np.bincount(codes[kept]), per_class)


@given(codes=labels(min_count=2), data=st.data())
def test_existing_holes_are_kept_and_never_drawn(codes, data):
    n_classes = codes.max() + 1
    first = np.unique(codes, return_index=True)[1]
    holes = np.random.default_rng(data.draw(seeds)).random(codes.size) < 0.5
    holes[first] = False  # each class keeps a label
    for y, marker in [
        (np.where(holes, -1, codes), -1),
        (np.where(holes, np.nan, codes.astype(float)), np.nan),
        (np.where(holes, None, _as_strings(codes)), None),
    ]:
        n_labeled = data.draw(st.integers(n_classes, np.sum(~holes)))
        holed = hide_labels(y, n_labeled=n_labeled, random_state=data.draw(seeds))
        hidden = unlabeled_mask(holed)
        assert np.all(hidden[holes])
        assert_array_equal(holed[holes], np.full(holes.sum(), marker, dtype=y.dtype))
        assert_array_equal(holed[~hidden], y[~hidden])
        assert np.sum(~hidden) == n_labeled


@given(codes=labels(), seed=seeds)
def test_reproducible_and_input_untouched(codes, seed):
    before = codes.copy()
    first = hide_labels(codes, n_labeled=len(np.unique(codes)), random_state=seed)
    second = hide_labels(codes, n_labeled=len(np.unique(codes)), random_state=seed)
    assert_array_equal(first, second)
    assert_array_equal(codes, before)


def test_every_row_has_its_chance(global_random_seed):
    rng = np.random.RandomState(global_random_seed)
    y = np.repeat([0, 1], [8, 4])
    kept = sum(hide_labels(y, n_labeled=3, random_state=rng) != -1 for _ in range(2000))
    assert np.all(np.abs(kept / 2000 - 0.25) < 6 * np.sqrt(0.25 * 0.75 / 2000))


def test_ties_favour_no_class(global_random_seed):
    rng = np.random.RandomState(global_random_seed)
    y = np.repeat(np.arange(4), 5)
    twice = np.zeros(4)
    for _ in range(1000):
        holed = hide_labels(y, n_labeled=5, random_state=rng)
        twice += np.bincount(holed[holed != -1]) == 2
    assert twice.sum() == 1000
    assert np.all(np.abs(twice / 1000 - 0.25) < 6 * np.sqrt(0.25 * 0.75 / 1000))


@pytest.mark.parametrize(
    ("counts", "n_labeled", "expected"),
    [
        ([90, 10], 10, [9, 1]),
        ([90, 10], 2, [1, 1]),
        ([97, 1, 1, 1], 10, [7, 1, 1, 1]),
        ([50, 30, 20], 7, [4, 2, 1]),
        ([5, 5], 10, [5, 5]),
    ],
)
def test_largest_remainders(counts, n_labeled, expected):
    y = np.repeat(np.arange(len(counts)), counts)
    holed = hide_labels(y, n_labeled=n_labeled, random_state=0)
    assert_array_equal(np.bincount(holed[holed != -1]), expected)


@pytest.mark.parametrize(("share", "n_kept"), [(0.1, 4), (0.25, 10), (1.0, 40)])
def test_share(share, n_kept):
    y = np.repeat([0, 1, -1], 20)  # a share of the labels there are, not of the rows
    assert np.sum(hide_labels(y, n_labeled=share, random_state=0) != -1) == n_kept


def test_booleans_make_room_for_the_marker():
    holed = hide_labels([True, False, True, False], per_class=1, random_state=0)
    assert holed.dtype == np.int64
    assert_array_equal(np.sort(holed), [-1, -1, 0, 1])


def test_missing_values_of_pandas():
    y = pd.Series([0, 1, None, 1, 0, None], dtype="Int64")
    holed = hide_labels(y, per_class=1, random_state=0)
    hidden = unlabeled_mask(holed)
    assert hidden[2]
    assert hidden[5]
    assert sorted(holed[~hidden]) == [0, 1]


def test_unsigned_labels_beyond_int64():
    y = np.array([0, 2**64 - 1, 0, 2**64 - 1], dtype=np.uint64)
    with pytest.raises(ValueError, match="beyond int64: pass them as strings"):
        hide_labels(y, per_class=1)


def test_minus_one_as_a_class_is_refused():
    with pytest.raises(ValueError, match=r"only -1 and 1.*pass the labels as 0/1"):
        hide_labels([-1, 1, -1, 1], per_class=1)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({}, "exactly one of n_labeled and per_class"),
        ({"n_labeled": 2, "per_class": 1}, "exactly one of n_labeled and per_class"),
        ({"n_labeled": 1}, "keeps 1 labels, but y has 2 classes: keep at least 2"),
        ({"n_labeled": 0.1}, "keeps 0 labels, but y has 2 classes"),
        ({"n_labeled": 6}, "y has only 5 labelled rows: lower it to 5"),
        ({"n_labeled": 1.5}, "n_labeled must be an int"),
        ({"n_labeled": 0.0}, "n_labeled must be an int"),
        ({"n_labeled": True}, "n_labeled must be an int"),
        ({"n_labeled": "2"}, "n_labeled must be an int"),
        ({"per_class": 0}, "per_class must be at least 1, got 0"),
        ({"per_class": 0.5}, "per_class must be an int, got 0.5"),
        ({"per_class": 3}, "class .*1.* has only 2 labelled: lower per_class"),
    ],
)
def test_errors(params, message):
    with pytest.raises(ValueError, match=message):
        hide_labels([0, 0, 0, 1, 1, -1], **params)


def test_nothing_labelled():
    with pytest.raises(ValueError, match="no labelled row"):
        hide_labels([-1, -1], n_labeled=1)
