"""Fronts of choices with several objectives, and their groups."""

# SPDX-License-Identifier: BSD-3-Clause

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from fewlabels.cluster import cluster_front, nondominated_ranks


def slow_ranks(F):
    """Peel fronts, comparing every pair."""
    ranks, left, rank = [None] * len(F), set(range(len(F))), 0
    while left:
        front = {
            i
            for i in left
            if not any(all(F[j] <= F[i]) and any(F[j] < F[i]) for j in left if j != i)
        }
        for i in front:
            ranks[i] = rank
        left -= front
        rank += 1
    return ranks


@pytest.mark.parametrize("n_objectives", [1, 2, 3])
def test_ranks_by_their_definition(n_objectives, rng):
    F = rng.integers(6, size=(40, n_objectives)).astype(float)  # with ties and copies
    ranks = nondominated_ranks(F)
    assert_array_equal(ranks, slow_ranks(F))
    assert_array_equal(nondominated_ranks(np.exp(F) * 1e3), ranks)
    if n_objectives == 1:
        assert_array_equal(ranks, np.unique(F, return_inverse=True)[1].ravel())


def test_groups_of_a_front(rng):
    """Three ways to trade on a curve, with dominated choices around them."""
    t = np.concatenate([c + 0.02 * rng.random(8) for c in (0.05, 0.5, 0.9)])
    curve = np.column_stack([t, 1000 * (1 - t) ** 2])
    F = np.vstack([curve, curve + [0.01, 500.0]])
    found = cluster_front(F)
    assert_array_equal(found.indices, np.arange(24))
    three = next(labels for labels in found.levels.labels if labels.max() == 2)
    assert_array_equal(three, np.repeat([0, 1, 2], 8))
    assert found.cophenetic_correlation > 0.8
    assert_allclose(found.scaled.min(axis=0), 0)
    assert_allclose(found.scaled.max(axis=0), 1)
    # Units of the objectives do not matter.
    again = cluster_front(F * [2.0**-20, 2.0**20])
    assert_array_equal(again.levels.labels, found.levels.labels)
    assert_array_equal(again.scaled, found.scaled)


def test_small_fronts():
    one = cluster_front([[1.0, 1.0], [2.0, 2.0]])
    assert_array_equal(one.indices, [0])
    assert_array_equal(one.levels.labels, [[0]])
    assert np.isnan(one.cophenetic_correlation)
    copies = cluster_front([[1.0, 1.0], [1.0, 1.0]])
    assert_array_equal(copies.levels.labels, [[0, 0]])
    with pytest.raises(ValueError, match="objectives"):
        cluster_front([[np.nan, 1.0]])
