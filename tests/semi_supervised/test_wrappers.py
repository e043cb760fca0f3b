"""Self-training and cluster-then-label."""

# SPDX-License-Identifier: BSD-3-Clause

from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn import semi_supervised
from sklearn.cluster import DBSCAN, AgglomerativeClustering, KMeans
from sklearn.datasets import make_blobs, make_moons
from sklearn.linear_model import LogisticRegression
from sklearn.mixture import GaussianMixture

from fewlabels.semi_supervised import (
    ClusterThenLabelClassifier,
    SelfTrainingClassifier,
)


class TestSelfTraining:
    @pytest.fixture
    def data(self):
        X, y = make_blobs(200, centers=3, cluster_std=2.5, random_state=0)
        return X, y, np.where(np.arange(200) < 15, y, -1)

    def test_is_that_of_scikit_learn(self, data):
        X, _, y = data
        ours = SelfTrainingClassifier(LogisticRegression(), threshold=0.9).fit(X, y)
        theirs = semi_supervised.SelfTrainingClassifier(
            LogisticRegression(), threshold=0.9
        ).fit(X, y)
        assert_array_equal(ours.labeled_iter_, theirs.labeled_iter_)
        assert_array_equal(ours.predict(X), theirs.predict(X))
        assert_allclose(ours.predict_proba(X), theirs.predict_proba(X))
        assert_allclose(ours.decision_function(X), theirs.decision_function(X))

    def test_any_labels(self, data):
        X, _, y = data
        names = np.array(["b", "c", "d"], dtype=object)
        expected = names[
            SelfTrainingClassifier(LogisticRegression()).fit(X, y).predict(X)
        ]
        with_none = np.where(y < 0, None, names[y])
        model = SelfTrainingClassifier(LogisticRegression()).fit(X, with_none)
        assert_array_equal(model.predict(X), expected)
        with_nan = np.where(y < 0, np.nan, y + 10.0)
        model = SelfTrainingClassifier(LogisticRegression()).fit(X, with_nan)
        assert_array_equal(names[model.predict(X).astype(int) - 10], expected)
        assert set(model.transduction_) == {10.0, 11.0, 12.0}

    def test_nobody_is_sure_enough(self, data):
        """A threshold that no probability exceeds leaves the base classifier."""
        X, _, y = data
        base = LogisticRegression(C=1e-4)
        model = SelfTrainingClassifier(base, threshold=0.999).fit(X, y)
        assert model.termination_condition_ == "no_change"
        alone = LogisticRegression(C=1e-4).fit(X[:15], y[:15])
        assert_allclose(model.predict_proba(X), alone.predict_proba(X))
        assert_array_equal(model.transduction_[15:], alone.predict(X[15:]))
        assert_array_equal(model.labeled_iter_[15:], -1)

    def test_labels_stay_once_assigned(self, data):
        X, _, y = data
        labels = []
        for rounds in range(1, 5):
            model = SelfTrainingClassifier(
                LogisticRegression(), criterion="k_best", k_best=20, max_iter=rounds
            ).fit(X, y)
            labels.append(np.where(model.labeled_iter_ >= 0, model.transduction_, -1))
        for before, after in pairwise(labels):
            assert_array_equal(after[before >= 0], before[before >= 0])
            assert np.sum(after >= 0) == np.sum(before >= 0) + 20
        assert_array_equal(np.unique(model.labeled_iter_), [-1, 0, 1, 2, 3, 4])


class TestClusterThenLabel:
    def test_far_from_the_origin(self, rng):
        """Products of rows at 2^29 have no digits left for distances of 1."""
        y = np.arange(40) % 2
        X = np.round((4.0 * y[:, None] + rng.normal(size=(40, 3))) * 2**10) / 2**10
        labels = np.where(np.arange(40) < 6, y, -1)
        for shift in (0.0, 2.0**29):
            model = ClusterThenLabelClassifier(random_state=0).fit(X + shift, labels)
            assert_array_equal(model.predict(X + shift), y)
            # Rows that were not there, too.
            assert_array_equal(model.predict(X + shift + 2.0**-10), y)

    def test_ties_fall_the_same_way_wherever_the_rows_lie(self):
        """Between rows of 0 and 1, many distances are equal."""
        rng = np.random.default_rng(0)
        for _ in range(20):
            X = rng.integers(0, 2, size=(13, 9)).astype(np.float64)
            new = rng.integers(0, 2, size=(30, 9)).astype(np.float64)
            y = np.arange(13) % 3
            here, there = (
                ClusterThenLabelClassifier(random_state=0).fit(X + shift, y)
                for shift in (0.0, 512.0)
            )
            assert_array_equal(there.clusters_, here.clusters_)
            assert_array_equal(there.predict(new + 512), here.predict(new))
            centers = [model.clusterer_.cluster_centers_ for model in (here, there)]
            assert_allclose(centers[1], centers[0] + 512)

    @pytest.mark.parametrize("seed", [50, 82])
    def test_dense_and_sparse_rows(self, seed):
        """Left to itself, k-means ends in another minimum with these sparse rows."""
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(18, 8)).round(1) * (rng.random((18, 8)) < 0.4)
        y = np.arange(18) % 6
        dense, sparse = (
            ClusterThenLabelClassifier(random_state=0).fit(A, y)
            for A in (X, csr_array(X))
        )
        assert_array_equal(sparse.clusters_, dense.clusters_)
        assert_array_equal(sparse.predict(csr_array(X)), dense.predict(X))

    def test_single_precision_far_from_the_origin(self):
        rng = np.random.default_rng(0)
        y = np.arange(30) % 3
        X = (rng.normal(size=(30, 3)) + 3 * y[:, None] + 2**14).astype(np.float32)
        model = ClusterThenLabelClassifier(random_state=0).fit(X, y)
        assert_array_equal(model.predict(csr_array(X)), model.predict(X))

    @pytest.fixture
    def blobs(self):
        X, y = make_blobs(
            240,
            centers=[[0, 0], [9, 0], [0, 9], [9, 9]],
            cluster_std=0.8,
            random_state=0,
        )
        y = y % 2  # two clusters of each class
        labeled = [
            np.argmax(c) for c in (X[:, :2] > 5) @ [1, 2] == np.arange(4)[:, None]
        ]
        holes = np.full(240, -1)
        holes[labeled] = y[labeled]
        return X, y, holes

    @pytest.mark.parametrize(
        "clusterer",
        [
            KMeans(4, n_init=5, random_state=0),
            AgglomerativeClustering(4),  # has no predict
            GaussianMixture(4, n_init=5, random_state=0),
        ],
        ids=lambda c: type(c).__name__,
    )
    def test_pure_clusters_with_a_label_each(self, clusterer, blobs):
        X, y, holes = blobs
        model = ClusterThenLabelClassifier(clusterer).fit(X, holes)
        assert_array_equal(model.transduction_, y)
        assert_array_equal(model.predict(X + 0.01), y)

    def test_majority_in_a_cluster(self):
        X = np.r_[np.zeros((5, 1)), np.ones((5, 1))] + np.arange(10)[:, None] * 1e-3
        y = [0, 1, 1, -1, -1, 0, 0, 1, -1, -1]
        model = ClusterThenLabelClassifier(KMeans(2, n_init=3, random_state=0)).fit(
            X, y
        )
        assert_array_equal(model.transduction_, [0, 1, 1, 1, 1, 0, 0, 1, 0, 0])

    def test_cluster_without_label_follows_the_general_rule(self, blobs):
        X, _, holes = blobs
        # Leave the labels of two of the four clusters.
        holes[np.flatnonzero(holes >= 0)[np.argsort(X[holes >= 0] @ [1, 2])[2:]]] = -1
        rule = LogisticRegression()
        model = ClusterThenLabelClassifier(KMeans(4, n_init=5, random_state=0), rule)
        with pytest.warns(UserWarning, match="2 clusters, with 120 of 240 rows"):
            model.fit(X, holes)
        known = holes >= 0
        general = LogisticRegression().fit(X[known], holes[known])
        without = ~np.isin(model.clusters_, model.clusters_[known])
        assert_array_equal(model.transduction_[without], general.predict(X[without]))

    def test_a_classifier_in_each_cluster(self, rng):
        """In one cluster the class is the sign of x2, in the other its opposite."""
        X = rng.normal(size=(400, 2)) + np.repeat([[0, 0], [20, 0]], 200, axis=0)
        y = ((X[:, 1] > 0) ^ (X[:, 0] > 10)).astype(int)
        holes = np.where(rng.random(400) < 0.2, y, -1)
        model = ClusterThenLabelClassifier(
            KMeans(2, n_init=3, random_state=0), LogisticRegression()
        ).fit(X, holes)
        assert model.score(X, y) > 0.95

    def test_noise_follows_the_general_rule(self):
        X, y = make_moons(200, noise=0.04, random_state=0)
        X = np.r_[X, [[10.0, 10.0]]]
        holes = np.r_[np.where(np.arange(200) < 20, y, -1), -1]
        model = ClusterThenLabelClassifier(DBSCAN(eps=0.2)).fit(X, holes)
        assert model.clusters_[-1] == -1
        assert_array_equal(model.transduction_[:-1], y)
        assert model.transduction_[-1] == model.default_rule_.predict(X[-1:])[0]


def test_sparse_questions_to_a_clusterer_without_predict():
    X, y = make_blobs(60, centers=3, random_state=0)
    holes = np.where(np.arange(60) < 15, y, -1)
    for form in (np.asarray, csr_array):
        model = ClusterThenLabelClassifier(DBSCAN(eps=2.0)).fit(form(X), holes)
        assert_array_equal(model.predict(csr_array(X + 0.1)), model.predict(X + 0.1))
