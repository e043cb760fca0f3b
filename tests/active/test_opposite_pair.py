"""Bisection in the pool."""

# SPDX-License-Identifier: BSD-3-Clause

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array

from fewlabels.active import find_opposite_pair


@pytest.mark.parametrize("threshold", [0.11, 0.5, 0.77])
def test_a_threshold_on_a_line(threshold):
    X = np.linspace(0, 1, 201)[:, None]
    y_true = (X[:, 0] > threshold).astype(int)
    y = np.full(201, -1)
    y[[0, 200]] = 0, 1
    for k in range(1, 8):
        pair = find_opposite_pair(X, y, lambda rows: y_true[rows], max_queries=k)
        assert pair.distance <= 2.0**-k + 0.005
        assert pair.negative[0] <= threshold < pair.positive[0]
        assert pair.indices.size == k or pair.stop_reason == "converged"
        assert_array_equal(pair.y[pair.indices], y_true[pair.indices])


def test_labels_are_opposite_and_the_boundary_is_near(rng):
    X = rng.normal(size=(500, 3))
    w = rng.normal(size=3)
    names = np.array(["minus", "plus"], dtype=object)
    y_true = names[(X @ w > 0.2).astype(int)]
    y = np.full(500, None)
    start = [
        *np.flatnonzero(y_true == "minus")[:3],
        *np.flatnonzero(y_true == "plus")[:3],
    ]
    y[start] = y_true[start]
    pair = find_opposite_pair(X, y, lambda rows: y_true[rows], max_queries=12)
    assert (np.diff(pair.distances) <= 0).all()
    assert_allclose(pair.distances[-1], np.linalg.norm(pair.positive - pair.negative))
    for end, name in ((pair.negative, "minus"), (pair.positive, "plus")):
        asked = [r for r in pair.indices if np.array_equal(X[r], end)]
        mean = X[y == name].mean(axis=0)
        assert all(y_true[r] == name for r in asked)
        assert asked or np.allclose(end, mean)
    sparse = find_opposite_pair(
        csr_array(X), y, lambda rows: y_true[rows], max_queries=12
    )
    assert_array_equal(sparse.indices, pair.indices)


def test_it_ends():
    X = np.array([[0.0], [0.4], [1.0]])
    y = np.array([0, -1, 1])
    pair = find_opposite_pair(X, y, lambda rows: [0], max_queries=5)
    assert pair.stop_reason == "no row left"
    assert_allclose([pair.negative[0], pair.distance], [0.4, 0.6])
    far = find_opposite_pair(
        np.array([[0.0], [9.0], [1.0]]), y, lambda rows: [1], max_queries=5
    )
    assert far.stop_reason == "converged"
    assert_allclose(far.distance, 1.0)  # an answer that leads away is no end
    assert far.y[1] == 1


def test_a_row_that_nobody_knows():
    X = np.array([[0.0], [0.5], [0.6], [1.0]])
    y = np.array([0, -1, -1, 1])
    pair = find_opposite_pair(X, y, lambda rows: [-1 if rows[0] == 1 else 1])
    assert_array_equal(pair.indices, [1, 2])
    assert_array_equal(pair.y, [0, -1, 1, 1])
    assert_allclose(pair.distances, [1, 1, 0.6])


def test_wrong_use():
    X, ask = np.arange(4.0)[:, None], lambda rows: ["x"]
    with pytest.raises(ValueError, match="A pair has two classes, but y has 3"):
        find_opposite_pair(X, [0, 1, 2, -1], ask)
    with pytest.raises(ValueError, match="not one of the classes"):
        find_opposite_pair(X, ["a", None, None, "b"], ask)
    with pytest.raises(ValueError, match="max_queries must be at least 1"):
        find_opposite_pair(X, ["a", None, None, "b"], ask, max_queries=0)
