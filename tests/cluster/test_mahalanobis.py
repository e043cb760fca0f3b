"""k-means with the Mahalanobis distance."""

# SPDX-License-Identifier: BSD-3-Clause

from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score

from fewlabels.cluster import MahalanobisKMeans


@pytest.fixture
def stripes(rng):
    """Two stripes, long and close to each other, turned by some angle."""
    y = np.repeat([0, 1], 60)
    X = np.column_stack([rng.normal(size=120) * 20, rng.normal(size=120) + 6 * y])
    return X @ np.array([[0.8, 0.6], [-0.6, 0.8]]), y


def test_stripes_that_plain_kmeans_cuts_across(stripes):
    X, y = stripes
    within = MahalanobisKMeans(2, random_state=0).fit(X)
    assert adjusted_rand_score(y, within.labels_) == 1
    assert (
        adjusted_rand_score(y, KMeans(2, random_state=0, n_init=5).fit_predict(X)) < 0.1
    )
    pooled = sum(np.cov(X[y == k].T, bias=True) / 2 for k in (0, 1))
    assert_allclose(within.covariance_, pooled, rtol=1e-3)


@pytest.mark.parametrize("covariance", ["total", "within"])
def test_units_do_not_matter(stripes, covariance, rng):
    X, _ = stripes
    mixed = X @ rng.normal(size=(2, 2)) * 1e3 + 7
    models = [
        MahalanobisKMeans(3, covariance=covariance, random_state=0).fit(rows)
        for rows in (X, mixed)
    ]
    assert adjusted_rand_score(models[0].labels_, models[1].labels_) > 0.99
    assert_allclose(models[0].inertia_, models[1].inertia_, rtol=1e-6)


def test_total_is_kmeans_of_whitened_rows(rng):
    middles = np.array([[0, 0], [0, 5], [5, 0]])
    X = (rng.normal(size=(120, 2)) + middles[np.arange(120) % 3]) @ [[9, 1], [8, 2]]
    model = MahalanobisKMeans(3, covariance="total", n_init=20, random_state=0).fit(X)
    white = PCA(whiten=True).fit_transform(X)
    plain = KMeans(3, n_init=20, random_state=0).fit(white)
    assert adjusted_rand_score(model.labels_, plain.labels_) == 1
    assert_allclose(model.inertia_, plain.inertia_ * 120 / 119)
    own = MahalanobisKMeans(3, covariance=np.cov(X.T, bias=True), random_state=0)
    assert adjusted_rand_score(own.fit(X).labels_, plain.labels_) == 1


def test_the_determinant_falls_to_the_least_one(rng):
    X = rng.normal(size=(8, 2))
    model = MahalanobisKMeans(2, n_init=30, random_state=0).fit(X)
    assert (np.diff(model.log_determinants_) < 0).all()

    def determinant(labels):
        parts = (X[labels == k] for k in (0, 1))
        W = sum((P - P.mean(axis=0)).T @ (P - P.mean(axis=0)) for P in parts)
        return np.linalg.det(W)

    splits = (np.array([0, *rest]) for rest in product((0, 1), repeat=7))
    least = min(determinant(split) for split in splits if split.any())
    assert_allclose(determinant(model.labels_), least, rtol=1e-9)


def test_predictions_are_the_nearest_centres(stripes, rng):
    X, _ = stripes
    for covariance in ("total", "within", np.diag([1.0, 9.0])):
        model = MahalanobisKMeans(4, covariance=covariance, random_state=0).fit(X)
        assert_array_equal(model.predict(X), model.labels_)
        VI = np.linalg.inv(model.covariance_)
        apart = cdist(X, model.cluster_centers_, "mahalanobis", VI=VI)
        assert_array_equal(apart.argmin(axis=1), model.labels_)
        assert_allclose((apart.min(axis=1) ** 2).sum(), model.inertia_)
        assert_array_equal(
            model.cluster_centers_,
            [X[model.labels_ == k].mean(axis=0) for k in range(4)],
        )


@pytest.mark.filterwarnings("ignore:Number of distinct clusters")
def test_degenerate_rows(rng):
    same = MahalanobisKMeans(2, random_state=0).fit(np.ones((4, 3)))
    assert_array_equal(same.labels_, 0)
    assert_array_equal(same.predict([[5.0, 5, 5]]), [0])
    X = rng.normal(size=(30, 2))
    flat = np.column_stack([X, X.sum(axis=1), np.ones(30)])
    plain, copied = (
        MahalanobisKMeans(2, random_state=0).fit(rows).labels_ for rows in (X, flat)
    )
    assert adjusted_rand_score(plain, copied) == 1


def test_wrong_input(stripes):
    X, _ = stripes
    with pytest.raises(ValueError, match="should be at least n_clusters=3"):
        MahalanobisKMeans(3).fit(X[:2])
    with pytest.raises(ValueError, match="symmetric of shape"):
        MahalanobisKMeans(2, covariance=np.eye(3)).fit(X)
    rows = np.random.RandomState(0).normal(size=(60, 3))
    with pytest.warns(ConvergenceWarning, match="max_iter=1"):
        MahalanobisKMeans(3, max_iter=1, n_init=1, random_state=4).fit(rows)
