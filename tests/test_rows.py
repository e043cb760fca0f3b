"""Digests of rows."""

# SPDX-License-Identifier: BSD-3-Clause

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from fewlabels._rows import KnownRows, equal_rows, row_digests
from fewlabels._threads import threads
from tests.reference import rows as reference


def awkward_rows(rng, n, d, dtype):
    X = rng.normal(size=(n, d))
    X[rng.uniform(size=(n, d)) < 0.3] = 0.0
    X[rng.uniform(size=(n, d)) < 0.1] = -0.0
    X[rng.uniform(size=(n, d)) < 0.05] = np.nan
    X[rng.uniform(size=(n, d)) < 0.05] = -np.inf
    X[rng.uniform(size=(n, d)) < 0.05] = np.finfo(dtype).smallest_subnormal
    return X.astype(dtype)


@pytest.mark.usefixtures("compiled")
@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64, np.uint8, bool])
def test_digests_of_dense_rows(rng, dtype, n_jobs):
    number = np.issubdtype(dtype, np.floating)
    for n, d in [(0, 3), (4, 0), (1, 1), (700, 13)]:
        X = awkward_rows(rng, n, d, dtype) if number else rng.integers(0, 2, (n, d))
        X = X.astype(dtype)
        expected = reference.row_digests(X)
        for same in (X, np.asfortranarray(X), np.repeat(X, 2, axis=1)[:, ::2]):
            with threads(n_jobs):
                digests = row_digests(same)
            assert_array_equal(digests.view(np.uint64).reshape(-1, 2), expected)


def test_digests_of_sparse_rows_are_those_of_dense_ones(rng, global_dtype):
    X = awkward_rows(rng, 50, 9, global_dtype)
    assert_array_equal(row_digests(sparse.csr_array(X)), row_digests(X))


def test_equal_rows_are_numbered_by_their_first(rng):
    X = rng.integers(0, 2, (40, 3)).astype(float)
    found = equal_rows(X)
    for i in range(40):
        first = next(j for j in range(40) if (X[j] == X[i]).all())
        assert found[i] == len({tuple(row) for row in X[:first]})


def test_rows_are_known_again(rng):
    X = rng.normal(size=(30, 4))
    X[20:25], X[7] = X[3], 0.0
    known = KnownRows(X)
    numbers = known.find(X)
    assert_array_equal(numbers, equal_rows(X))
    assert_array_equal(known.find(sparse.csr_array(X)), numbers)
    assert_array_equal(known.find(-X)[[0, 7]], [-1, numbers[7]])  # zero has no sign
    assert_array_equal(KnownRows(X[:0]).find(X), -1)
    values = rng.normal(size=(30, 2))
    assert_array_equal(known.first(values)[numbers[20:25]], values[[3] * 5])
    weights = rng.random(30)
    copies = [3, *range(20, 25)]
    mean = np.average(values[copies], axis=0, weights=weights[copies])
    assert_allclose(known.means(values, weights)[copies], [mean] * 6)
    assert_array_equal(known.means(values, weights)[[0, 7]], values[[0, 7]])
