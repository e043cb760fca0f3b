"""Squared distances against exact arithmetic."""

# SPDX-License-Identifier: BSD-3-Clause

from fractions import Fraction

import numpy as np
import pytest
from scipy.sparse import csr_array

from fewlabels._distances import (
    centre_of,
    far_rows,
    safe_unit,
    squared_distances,
)


def exact(X, Y):
    rows = [[[Fraction(float(v)) for v in row] for row in Z] for Z in (X, Y)]
    squares = [
        [sum((a - b) ** 2 for a, b in zip(x, y, strict=True)) for y in rows[1]]
        for x in rows[0]
    ]
    return np.array(squares, dtype=object)


def rows(kind, rng):
    X = rng.normal(size=(12, 20))
    if kind == "shifted":
        X += 1e8
    elif kind == "far row":
        X[3] *= 1e12
    elif kind == "two places":
        X[6:] += 1e10
    elif kind == "copies":
        X = np.repeat(X[:4], 3, axis=0) + 1e6
    elif kind == "zeros":
        X[:5] = 0.0
    return X


@pytest.mark.parametrize(
    "kind", ["plain", "shifted", "far row", "two places", "copies", "zeros"]
)
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("itself", [False, True])
def test_nine_digits_wherever_rows_are(kind, sparse, itself, rng):
    X = rows(kind, rng)
    Y = X if itself else X[::-1][:7] + 0.5
    make = csr_array if sparse else np.asarray
    found = squared_distances(make(X), None if itself else make(Y))
    truth = exact(X, Y)
    assert all(
        abs(Fraction(value) - square) <= square * Fraction(1, 10**9)
        for value, square in zip(found.ravel(), truth.ravel(), strict=True)
    )
    if itself:
        assert np.array_equal(found, found.T)


@pytest.mark.parametrize("scale", [1e-170, 1e-140, 1e140])
def test_squares_of_extreme_rows(scale, rng):
    X = rng.normal(size=(6, 3))
    plain, found = squared_distances(X), squared_distances(scale * X)
    with np.errstate(over="ignore", under="ignore"):
        assert np.allclose(found, plain * scale * scale, rtol=1e-9, atol=0)
    unit = safe_unit(scale * X)
    assert np.allclose(squared_distances(scale * X / unit), plain * (scale / unit) ** 2)
    assert np.isinf(squared_distances(1e200 * X)[0, 1])


def test_precisions_and_nothing(rng):
    X = rng.normal(size=(6, 3)).astype(np.float32)
    assert squared_distances(X + 1000).dtype == np.float32
    assert safe_unit(X) == safe_unit(0 * X) == safe_unit(X[:0]) == 1.0
    assert squared_distances(X[:0], X).shape == (0, 6)
    assert squared_distances(X, X[:0]).shape == (6, 0)


def test_the_centre_ignores_far_rows(rng):
    X = rng.normal(size=(2000, 4))
    X[7] = 1e12
    assert np.abs(centre_of(X)).max() < 0.5


@pytest.mark.parametrize("n", [3, 8, 60, 500])
@pytest.mark.parametrize("scale", [1e-160, 1.0, 1e160])
def test_far_rows(n, scale, rng):
    X = scale * (rng.normal(size=(n, 3)) + 100)
    for Z in (X, csr_array(X)):
        assert not far_rows(Z).any()
    n_far = max(1, n // 20)
    X[:n_far] += scale * 1e5
    for Z in (X, csr_array(X)):
        assert np.array_equal(np.flatnonzero(far_rows(Z)), np.arange(n_far))


def test_far_rows_of_rows_that_are_mostly_equal():
    """Nothing is usual among copies."""
    X = np.zeros((50, 2))
    X[3] = 1.0
    assert not far_rows(X).any()
    assert not far_rows(X[:2]).any()
    assert not far_rows(X[:0]).any()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("value", [0.1, 0.58398438, 1e6 / 3])
@pytest.mark.parametrize("n", [12, 20_000])
def test_rounding_errors_of_copies_are_no_distance(n, value, dtype):
    X = np.full((n, 5), value, dtype=dtype) * np.arange(1, 6, dtype=dtype)
    X[3] += 2.0**20
    for Z in (X, csr_array(X)):
        assert not far_rows(Z).any()
