"""MacQueen's k-means."""

# SPDX-License-Identifier: BSD-3-Clause

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score

from fewlabels._loops.means import running_means
from fewlabels.cluster import MacQueenKMeans, macqueen_kmeans
from tests.reference import means as slow


@given(st.integers(1, 12), st.integers(1, 4), st.integers(1, 3), st.integers(0, 10**6))
def test_a_centre_is_the_mean_of_what_it_was_given(n, k, d, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)).round(1)
    starts = rng.normal(size=(k, d))
    order = rng.integers(n, size=30)
    centers, counts = starts.copy(), np.ones(k, dtype=np.int64)
    running_means(X, order, centers, counts)
    expected, points = slow.running_means(X, order, starts)
    assert_allclose(centers, expected, atol=1e-12)
    assert_array_equal(counts, [len(p) for p in points])


def test_one_ordered_pass():
    X, _ = make_blobs(50, random_state=0)
    model = MacQueenKMeans(3, init=X[:3]).partial_fit(X)
    centers, points = slow.running_means(X, np.arange(50), X[:3])
    assert_allclose(model.cluster_centers_, centers)
    assert_array_equal(model.counts_, [len(p) for p in points])
    assert model.n_draws_ == 50


def test_a_stream_in_parts_is_the_same_stream():
    X, _ = make_blobs(60, random_state=0)
    whole = MacQueenKMeans(3, init=X[:3]).partial_fit(X)
    parts = MacQueenKMeans(3, init=X[:3])
    for part in (X[:1], X[1:20], X[20:]):
        parts.partial_fit(part)
    assert_array_equal(parts.cluster_centers_, whole.cluster_centers_)
    assert parts.labels_.shape == (40,)


@pytest.mark.parametrize("init", ["k-means++", "random"])
def test_near_lloyd_on_separated_blobs(init):
    X, _ = make_blobs(400, centers=4, cluster_std=0.4, random_state=6)
    seeds = range(5) if init == "random" else range(1)
    models = [MacQueenKMeans(4, init=init, random_state=s).fit(X) for s in seeds]
    ours = min(models, key=lambda model: model.inertia_)
    theirs = KMeans(4, n_init=10, random_state=0).fit(X)
    assert adjusted_rand_score(theirs.labels_, ours.labels_) == 1
    assert theirs.inertia_ <= ours.inertia_ < 1.01 * theirs.inertia_
    assert_array_equal(ours.predict(X), ours.labels_)


def test_inertia():
    X, _ = make_blobs(60, random_state=0)
    model = MacQueenKMeans(3, random_state=0).fit(X)
    squares = ((X[:, None] - model.cluster_centers_) ** 2).sum(axis=2)
    assert_allclose(model.inertia_, squares.min(axis=1).sum())
    assert_array_equal(model.labels_, squares.argmin(axis=1))
    assert model.counts_.sum() == model.n_draws_ + 3


def test_too_few_draws_are_reported():
    X, _ = make_blobs(60, random_state=0)
    with pytest.warns(ConvergenceWarning, match="max_draws=10"):
        MacQueenKMeans(3, max_draws=10, random_state=0).fit(X)
    result = macqueen_kmeans(X, X[:3], max_draws=10, random_state=0)
    assert (result.n_draws, result.converged) == (10, False)


def test_equal_rows():
    model = MacQueenKMeans(2, random_state=0).fit(np.ones((5, 2)))
    assert_allclose(model.cluster_centers_, 1)
    assert model.inertia_ == 0


def test_bad_starts():
    X = np.zeros((4, 2))
    with pytest.raises(ValueError, match="n_samples=4 should be >= n_clusters=5"):
        MacQueenKMeans(5).fit(X)
    with pytest.raises(ValueError, match=r"init has shape \(2, 3\)"):
        MacQueenKMeans(2, init=np.zeros((2, 3))).fit(X)
