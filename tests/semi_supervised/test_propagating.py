"""Propagating nearest neighbours: equal to the algorithm as it is written."""

# SPDX-License-Identifier: BSD-3-Clause

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy.sparse import csr_array
from scipy.sparse.csgraph import minimum_spanning_tree
from sklearn.datasets import make_circles
from sklearn.metrics import pairwise_distances

from fewlabels.semi_supervised import (
    PropagatingNearestNeighborClassifier,
    minimum_spanning_forest,
)
from tests.reference.spanning_forest import propagate

ALGORITHMS = ["tree", "prim"]


def as_set(edges):
    return {tuple(edge) for edge in np.asarray(edges).tolist()}


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@given(
    n=st.integers(1, 14),
    d=st.integers(1, 3),
    seed=st.integers(0, 2**16),
    decimals=st.sampled_from([0, 1, 12]),
)
def test_equals_the_naive_algorithm(algorithm, n, d, seed, decimals):
    """Also with copies and equal distances, where the smaller row numbers win."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)).round(decimals)
    codes = rng.integers(-1, 2, size=n)
    codes[rng.integers(n)] = 0
    expected, edges = propagate(X, codes)
    forest = minimum_spanning_forest(X, np.flatnonzero(codes >= 0), algorithm=algorithm)
    assert as_set(forest.edges) == as_set(edges)
    assert_array_equal(codes[forest.root], expected)


@pytest.mark.parametrize("d", [1, 2, 7])
def test_tree_and_prim_agree(d, rng):
    X = rng.normal(size=(700, d))
    X[300:350] = X[:50]  # copies
    roots = rng.permutation(700)[:5]
    by_tree = minimum_spanning_forest(X, roots, algorithm="tree")
    by_prim = minimum_spanning_forest(X, roots, algorithm="prim")
    assert as_set(by_tree.edges) == as_set(by_prim.edges)
    assert_array_equal(by_tree.root, by_prim.root)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_one_root_gives_the_minimum_spanning_tree(algorithm, rng):
    X = rng.normal(size=(120, 3))
    tree = minimum_spanning_tree(pairwise_distances(X)).tocoo()
    expected = {(min(i, j), max(i, j)) for i, j in zip(tree.row, tree.col, strict=True)}
    forest = minimum_spanning_forest(X, [17], algorithm=algorithm)
    assert as_set(forest.edges) == expected
    assert_array_equal(forest.root, 17)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_two_rings_with_one_label_each(algorithm):
    X, y = make_circles(500, factor=0.6, random_state=1)
    holes = np.full(500, -1)
    holes[[np.argmax(y == 0), np.argmax(y == 1)]] = [0, 1]
    model = PropagatingNearestNeighborClassifier(algorithm=algorithm).fit(X, holes)
    assert_array_equal(model.transduction_, y)
    assert_array_equal(model.predict(X), y)


def test_monotone_transforms_change_nothing(rng):
    X = rng.normal(size=(80, 2))
    y = np.where(np.arange(80) < 6, np.arange(80) % 3, -1)
    D = pairwise_distances(X)
    expected = PropagatingNearestNeighborClassifier().fit(X, y).transduction_
    for transformed in (D, D**3, np.expm1(D), np.log1p(D)):
        model = PropagatingNearestNeighborClassifier(metric="precomputed")
        assert_array_equal(model.fit(transformed, y).transduction_, expected)
        assert_array_equal(model.predict(transformed), expected)


@pytest.mark.parametrize("metric", ["manhattan", "cosine"])
def test_other_metrics_and_sparse_rows(metric, rng):
    X = rng.random((60, 4))
    y = np.where(np.arange(60) < 4, np.arange(60) % 2, -1)
    D = pairwise_distances(X, metric=metric)
    expected, _ = propagate(np.arange(60), y, distance=lambda i, j: D[i, j])
    for rows in (X, csr_array(X)):
        model = PropagatingNearestNeighborClassifier(metric=metric).fit(rows, y)
        assert_array_equal(model.transduction_, expected)


def test_rows_far_from_the_origin(rng):
    X = rng.normal(size=(200, 2))
    y = np.where(np.arange(200) < 4, np.arange(200) % 2, -1)
    near = PropagatingNearestNeighborClassifier().fit(X, y)
    for algorithm in ALGORITHMS:
        far = PropagatingNearestNeighborClassifier(algorithm=algorithm)
        assert_array_equal(far.fit(X + 2.0**20, y).transduction_, near.transduction_)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"roots": []}, "at least one"),
        ({"roots": [5]}, r"rows in 0, \.\.\., 2"),
        (
            {"roots": [0], "metric": "cosine", "algorithm": "tree"},
            "use algorithm='prim'",
        ),
        ({"roots": [0], "metric": "precomputed"}, "square matrix of distances"),
        ({"roots": [0], "algorithm": "kruskal"}, "must be 'auto', 'tree' or 'prim'"),
    ],
)
def test_bad_input(arguments, message):
    with pytest.raises(ValueError, match=message):
        minimum_spanning_forest([[0.0, 0.0], [1.0, 1.0], [2.0, 3.0]], **arguments)


def test_sparse_rows_in_single_precision():
    """Who is nearest to a far row is a matter of late digits."""
    rng = np.random.default_rng(0)
    X = (rng.normal(size=(30, 12)) + 4096).astype(np.float32)
    X[20] *= 1e4
    y = np.where(np.arange(30) < 8, np.arange(30) % 2, -1)
    dense, sparse = (
        PropagatingNearestNeighborClassifier().fit(A, y) for A in (X, csr_array(X))
    )
    assert_array_equal(sparse.transduction_, dense.transduction_)
