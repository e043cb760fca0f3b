"""Clusters by a threshold."""

# SPDX-License-Identifier: BSD-3-Clause

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from sklearn.metrics import adjusted_rand_score, pairwise_distances

from fewlabels.cluster import LeaderClustering, leaders


def groups(rng):
    """Distances inside of groups up to 1.5, between them at least 4."""
    centers = 6.0 * np.array([[0, 0], [1, 0], [0, 1], [3, 3]])
    y = np.arange(40) % 4
    angle = rng.uniform(0, 2 * np.pi, 40)
    radius = rng.uniform(0, 0.75, 40)
    return centers[y] + np.c_[np.cos(angle), np.sin(angle)] * radius[:, None], y


def test_clear_groups_are_components_in_any_order(rng):
    X, y = groups(rng)
    joined = pairwise_distances(X) <= 2.0
    _, components = connected_components(sparse.csr_array(joined))
    for _ in range(5):
        order = rng.permutation(40)
        model = LeaderClustering(threshold=2.0).fit(X[order])
        assert adjusted_rand_score(components[order], model.labels_) == 1
        assert adjusted_rand_score(y[order], model.labels_) == 1


def test_by_hand(rng):
    """One row after another: the first leader within reach, else a new one."""
    X = rng.uniform(size=(60, 2))
    found, labels = [], []
    for i, x in enumerate(X):
        near = [k for k, j in enumerate(found) if np.linalg.norm(x - X[j]) <= 0.3]
        if not near:
            found.append(i)
            near = [len(found) - 1]
        labels.append(near[0])
    model = LeaderClustering(threshold=0.3).fit(X)
    assert_array_equal(model.leaders_, found)
    assert_array_equal(model.labels_, labels)
    assert_array_equal(model.predict(X), labels)
    assert_array_equal(leaders(X, 0.3), found)


def test_every_row_is_near_its_leader_and_leaders_are_apart(rng):
    X = rng.uniform(size=(100, 3))
    model = LeaderClustering(threshold=0.4, metric="manhattan").fit(X)
    own = np.abs(X - model.cluster_centers_[model.labels_]).sum(axis=1)
    assert own.max() <= 0.4
    between = pairwise_distances(model.cluster_centers_, metric="manhattan")
    assert between[~np.eye(len(between), dtype=bool)].min() > 0.4


def test_zero_threshold_and_duplicates():
    X = np.array([[1.0, 2.0], [1.0, 2.0], [3.0, 4.0]])
    assert_array_equal(LeaderClustering(threshold=0.0).fit_predict(X), [0, 0, 1])


def test_sparse_rows(rng):
    X = sparse.random_array((30, 10), density=0.3, rng=rng).tocsr()
    model = LeaderClustering(threshold=1.0)
    assert_array_equal(model.fit_predict(X), model.fit_predict(X.toarray()))


def test_precomputed_is_refused():
    with pytest.raises(ValueError, match="AgglomerativeClustering"):
        LeaderClustering(metric="precomputed").fit(np.zeros((3, 3)))


def test_new_rows_follow_the_first_leader_in_reach_not_the_nearest():
    model = LeaderClustering(threshold=3.0).fit([[0.0], [4.0]])
    assert_array_equal(model.leaders_, [0, 1])
    assert_array_equal(model.predict([[2.9], [3.1], [7.0], [7.1]]), [0, 1, 1, -1])


def test_equal_rows_are_together_at_threshold_zero(rng):
    """Distances from inner products would keep some of them apart."""
    X = np.repeat(10 * rng.normal(size=(50, 20)), 4, axis=0)
    model = LeaderClustering(threshold=0.0).fit(X)
    assert_array_equal(model.labels_, np.repeat(np.arange(50), 4))
    assert_array_equal(model.predict(X), model.labels_)
