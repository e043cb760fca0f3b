"""Samples that do not depend on how rows are partitioned."""

# SPDX-License-Identifier: BSD-3-Clause

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from scipy.sparse import csr_array

from fewlabels.dask._draw import (
    Drawn,
    covering_rows,
    draw_unlabeled,
    drawn_from,
    first_rows,
)
from fewlabels.dask._learn import join_drawn
from fewlabels.preprocessing import TableSummary


def drawn_in_parts(X, labeled, draws, ends):
    begin = [0, *ends]
    parts = []
    for start, stop in zip(begin, [*ends, X.shape[0]], strict=True):
        own = labeled[(labeled >= start) & (labeled < stop)]
        part = X.iloc[start:stop] if hasattr(X, "iloc") else X[start:stop]
        parts.append(drawn_from(part, start, stop - start, own, draws)[0])
    return [join_drawn([part[k] for part in parts]) for k in range(len(draws))]


@pytest.mark.parametrize("form", [np.asarray, csr_array, pd.DataFrame])
@pytest.mark.parametrize("ends", [[10], [1, 2, 3, 99], [50, 50]])
def test_the_sample_does_not_depend_on_parts(form, ends):
    X = form(np.arange(200.0).reshape(100, 2))
    labeled = np.array([3, 40, 98])
    draws = [draw_unlabeled(100, labeled, 20, seed) for seed in (5, 6)]
    expected = drawn_in_parts(X, labeled, draws, [])
    for ours, theirs in zip(
        drawn_in_parts(X, labeled, draws, ends), expected, strict=True
    ):
        assert_array_equal(ours.numbers, theirs.numbers)
        assert ours.numbers.size == 23
        assert np.isin(labeled, ours.numbers).all()
        assert np.all(np.diff(ours.numbers) > 0)
    assert not np.array_equal(expected[0].numbers, expected[1].numbers)


def test_no_more_rows_than_there_are():
    labeled = np.arange(4)
    everything = draw_unlabeled(10, labeled, 50, seed=0)
    assert everything.size == 6
    (drawn,) = drawn_in_parts(np.zeros((10, 1)), labeled, [everything], [7])
    assert_array_equal(drawn.numbers, np.arange(10))
    nothing = draw_unlabeled(4, labeled, 50, seed=0)
    (drawn,) = drawn_in_parts(np.zeros((4, 1)), labeled, [nothing], [])
    assert_array_equal(drawn.numbers, np.arange(4))


def test_half_of_a_sample_is_part_of_it_and_holds_all_labels():
    labeled = np.array([0, 7])
    draw = draw_unlabeled(500, labeled, 100, seed=3)
    (drawn,) = drawn_in_parts(np.zeros((500, 1)), labeled, [draw], [])
    half = drawn.numbers[first_rows(drawn, 50)]
    assert half.size == 52
    assert np.isin(half, drawn.numbers).all()
    assert np.isin(labeled, half).all()
    smaller = draw_unlabeled(500, labeled, 50, seed=3)
    (again,) = drawn_in_parts(np.zeros((500, 1)), labeled, [smaller], [])
    assert_array_equal(half, again.numbers)


def test_every_row_is_as_likely():
    n = np.zeros(50)
    for seed in range(2000):
        draw = draw_unlabeled(50, np.array([], dtype=np.int64), 10, seed)
        (drawn,) = drawn_in_parts(
            np.zeros((50, 1)), np.array([], dtype=np.int64), [draw], []
        )
        n[drawn.numbers] += 1
    assert n.sum() == 20_000
    # 400 each, with a standard deviation of 18.
    assert np.abs(n - 400).max() < 4.5 * 18


def test_cover_thins_dense_regions():
    rng = np.random.RandomState(0)
    dense, sparse = rng.normal(0, 0.1, (3900, 2)), rng.uniform(-4, 4, (100, 2))
    X = np.concatenate([dense, sparse])
    keys = np.arange(1, 4001).astype(np.uint64)
    rng.shuffle(keys)
    keys[[0, 3950]] = 0
    drawn = Drawn(np.arange(4000), keys, X)
    places = covering_rows(drawn, 400, TableSummary.of(X), seed=0)
    assert places.size == 402
    assert {0, 3950} <= set(places)
    assert np.mean(places >= 3900) > 0.15  # 0.025 in a uniform sample
    uniform = first_rows(drawn, 400)
    assert np.mean(uniform >= 3900) < 0.06


def test_a_source_that_changes_is_told():
    with pytest.raises(ValueError, match="has 3 rows now but had 4 before"):
        drawn_from(np.zeros((3, 2)), 0, 4, np.array([], dtype=np.int64), [])
