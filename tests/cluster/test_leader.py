"""Clusters by a threshold, and the two rules of the nearest."""

# SPDX-License-Identifier: BSD-3-Clause

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from sklearn.metrics import adjusted_rand_score, pairwise_distances

from fewlabels.cluster import (
    KNeighborsClassifier,
    LeaderClustering,
    NearestCentroid,
    leaders,
)


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


class TestNearest:
    """The box called kNN is the nearest mean; scikit-learn has both."""

    X = np.array([[0.0, 0.1], [10.0, -0.1], [4.0, 0.1], [5.0, -0.1]])
    y = np.array([0, 0, 1, 1])

    def test_they_differ(self):
        """The means are at 5 and at 4.5, but no row is near the first."""
        query = [[4.8, 0.0], [0.5, 0.0]]
        neighbour = KNeighborsClassifier(1).fit(self.X, self.y).predict(query)
        mean = NearestCentroid().fit(self.X, self.y).predict(query)
        assert_array_equal(neighbour, [1, 0])
        assert_array_equal(mean, [0, 1])

    def test_the_boundary_is_the_perpendicular_bisector(self, rng):
        X = rng.normal(size=(20, 3))
        y = np.arange(20) % 2
        a, b = X[y == 0].mean(axis=0), X[y == 1].mean(axis=0)
        model = NearestCentroid().fit(X, y)
        across = rng.normal(size=(50, 3))
        across -= np.outer(across @ (b - a), b - a) / ((b - a) @ (b - a))
        middle = (a + b) / 2 + across
        assert_array_equal(model.predict(middle - 1e-6 * (b - a)), 0)
        assert_array_equal(model.predict(middle + 1e-6 * (b - a)), 1)
        assert_allclose(model.centroids_, [a, b])
