"""Hierarchical clustering, level by level."""

# SPDX-License-Identifier: BSD-3-Clause

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.cluster.hierarchy import cophenet, linkage
from scipy.spatial.distance import pdist, squareform
from sklearn.cluster import AgglomerativeClustering

from fewlabels.cluster import cluster_dissimilarities, hierarchical_levels

# Table 6.2 of the textbook.
TABLE = np.array(
    [
        [0.00, 0.35, 0.22, 0.35, 0.22, 0.22],
        [0.35, 0.00, 0.35, 0.22, 0.35, 0.35],
        [0.22, 0.35, 0.00, 0.35, 0.08, 0.04],
        [0.35, 0.22, 0.35, 0.00, 0.35, 0.35],
        [0.22, 0.35, 0.08, 0.35, 0.00, 0.08],
        [0.22, 0.35, 0.04, 0.35, 0.08, 0.00],
    ]
)
METHODS = ["single", "complete", "average"]


def blocks(labels):
    return {frozenset(np.flatnonzero(labels == k) + 1) for k in np.unique(labels)}


@pytest.mark.parametrize("method", METHODS)
def test_example_of_the_textbook(method):
    levels = hierarchical_levels(TABLE, method=method)
    assert_allclose(levels.heights, [0, 0.04, 0.08, 0.22, 0.35])
    expected = [
        [{1}, {2}, {3}, {4}, {5}, {6}],
        [{1}, {3, 6}, {2}, {4}, {5}],
        [{3, 5, 6}, {1}, {2}, {4}],
        [{1, 3, 5, 6}, {2, 4}],
        [{1, 2, 3, 4, 5, 6}],
    ]
    for labels, parts in zip(levels.labels, expected, strict=True):
        assert blocks(labels) == {frozenset(part) for part in parts}
    merges = linkage(squareform(TABLE), method)
    assert_allclose(merges[:, 2], [0.04, 0.08, 0.22, 0.22, 0.35])
    assert_allclose(squareform(cophenet(merges)), TABLE)


def test_single_linkage_is_the_minimax_path(rng):
    """Cophenetic distance = smallest largest step on any path."""
    D = squareform(pdist(rng.normal(size=(25, 3))))
    paths = D.copy()
    for k in range(25):
        paths = np.minimum(paths, np.maximum(paths[:, k, None], paths[k]))
    levels = hierarchical_levels(D)
    together = np.array([labels[:, None] == labels for labels in levels.labels])
    first = levels.heights[together.argmax(axis=0)]
    assert_allclose(first, paths)


@pytest.mark.parametrize("method", METHODS)
def test_levels_are_nested_and_agree_with_scikit_learn(method, rng):
    D = squareform(pdist(rng.normal(size=(20, 2))))
    levels = hierarchical_levels(D, method=method)
    assert len(levels.heights) == 20
    assert (np.diff(levels.heights) > 0).all()
    for weak, strong in zip(levels.labels[:-1], levels.labels[1:], strict=True):
        assert len(set(zip(weak, strong, strict=True))) == weak.max() + 1
    model = AgglomerativeClustering(5, metric="precomputed", linkage=method)
    five = next(labels for labels in levels.labels if labels.max() == 4)
    assert blocks(model.fit_predict(D)) == blocks(five)


def test_ties_merge_together():
    D = 1.0 - np.eye(4)
    levels = hierarchical_levels(D)
    assert_allclose(levels.heights, [0, 1])
    assert_array_equal(levels.labels, [[0, 1, 2, 3], [0, 0, 0, 0]])


def test_reduced_matrices_of_the_textbook():
    """Tables 6.3 and 6.4."""
    labels = hierarchical_levels(TABLE).labels
    for level, table in (
        (
            1,  # 1, 2, [3, 6], 4, 5
            [
                [0.00, 0.35, 0.22, 0.35, 0.22],
                [0.35, 0.00, 0.35, 0.22, 0.35],
                [0.22, 0.35, 0.00, 0.35, 0.08],
                [0.35, 0.22, 0.35, 0.00, 0.35],
                [0.22, 0.35, 0.08, 0.35, 0.00],
            ],
        ),
        (
            2,  # 1, 2, [3, 5, 6], 4
            [
                [0.00, 0.35, 0.22, 0.35],
                [0.35, 0.00, 0.35, 0.22],
                [0.22, 0.35, 0.00, 0.35],
                [0.35, 0.22, 0.35, 0.00],
            ],
        ),
    ):
        for method in METHODS:
            reduced = cluster_dissimilarities(TABLE, labels[level], method=method)
            assert_allclose(reduced, table, rtol=1e-12)


@pytest.mark.parametrize(
    ("method", "rule"),
    [("single", np.min), ("complete", np.max), ("average", np.mean)],
)
def test_reduced_matrices_by_their_definition(method, rule, rng):
    D = squareform(pdist(rng.normal(size=(12, 2))))
    names = np.array(["b", "a", "c"])[rng.integers(3, size=12)]
    expected = [
        [0 if p == q else rule(D[names == p][:, names == q]) for q in "abc"]
        for p in "abc"
    ]
    assert_allclose(cluster_dissimilarities(D, names, method=method), expected)
    levels = hierarchical_levels(D, method=method)
    for labels, height in zip(levels.labels[:-1], levels.heights[1:], strict=True):
        reduced = cluster_dissimilarities(D, labels, method=method)
        assert_allclose(reduced[np.triu_indices_from(reduced, 1)].min(), height)


@pytest.mark.parametrize("method", METHODS)
def test_ties_that_merge_together_forget_the_order(method, rng):
    D = squareform(pdist(rng.integers(4, size=(15, 2)), "cityblock"))
    levels = hierarchical_levels(D, method=method, ties="together")
    assert (np.diff(levels.heights) > 0).all()
    for _ in range(5):
        order = rng.permutation(15)
        other = hierarchical_levels(
            D[np.ix_(order, order)], method=method, ties="together"
        )
        assert_allclose(other.heights, levels.heights)
        for ours, theirs in zip(levels.labels, other.labels, strict=True):
            assert blocks(ours[order]) == blocks(theirs)


def test_ties_in_pairs_depend_on_the_order():
    D = squareform(pdist([[0.0], [1.0], [2.0]]))
    for method in ("complete", "average"):
        first = hierarchical_levels(D, method=method).labels[1]
        last = hierarchical_levels(D[::-1, ::-1], method=method).labels[1][::-1]
        assert blocks(first) != blocks(last)
        together = hierarchical_levels(D, method=method, ties="together")
        assert_array_equal(together.labels[1], [0, 0, 0])
    with pytest.raises(ValueError, match="ties='both'"):
        hierarchical_levels(D, ties="both")


@pytest.mark.parametrize("method", ["complete", "average"])
def test_both_ways_agree_without_ties(method, rng):
    D = squareform(pdist(np.vstack([rng.normal(size=(14, 2)), np.zeros((3, 2))])))
    pairs, together = (
        hierarchical_levels(D, method=method, ties=ties)
        for ties in ("pairs", "together")
    )
    assert_allclose(pairs.heights, together.heights)
    assert_array_equal(pairs.labels, together.labels)


def test_duplicates_are_together_at_height_zero():
    D = squareform(pdist([[0.0], [0.0], [1.0]]))
    levels = hierarchical_levels(D)
    assert_allclose(levels.heights, [0, 1])
    assert_array_equal(levels.labels, [[0, 0, 1], [0, 0, 0]])


def test_small_sets():
    assert_array_equal(hierarchical_levels([[0.0]]).labels, [[0]])
    same = hierarchical_levels(np.zeros((3, 3)))
    assert_array_equal(same.labels, [[0, 0, 0]])
    assert_array_equal(same.heights, [0])


@pytest.mark.parametrize(
    ("D", "message"),
    [
        ([[0, 1], [2, 0]], "square and symmetric"),
        ([[0.0, 1.0]], "square and symmetric"),
        ([[1.0, 0.5], [0.5, 1.0]], "turn similarities"),
        ([[0.0, -1.0], [-1.0, 0.0]], "non-negative"),
    ],
)
def test_bad_matrices(D, message):
    with pytest.raises(ValueError, match=message):
        hierarchical_levels(D)


def test_bad_method():
    with pytest.raises(ValueError, match="method='ward'"):
        hierarchical_levels(TABLE, method="ward")


def test_tiny_dissimilarities_must_be_symmetric_too():
    with pytest.raises(ValueError, match="symmetric"):
        hierarchical_levels([[0, 1e-9], [2e-9, 0]])
