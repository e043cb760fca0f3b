"""Fast spectral clustering from some columns of the affinity."""

# SPDX-License-Identifier: BSD-3-Clause

import tracemalloc
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn.datasets import make_blobs, make_moons
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.preprocessing import normalize

from fewlabels.cluster import (
    NormalizedSpectralClustering,
    NystromSpectralClustering,
    nystrom_relaxation,
    spectral_relaxation,
)
from fewlabels.exceptions import DisconnectedGraphWarning, IgnoredParameterWarning

METHODS = ("bipartite", "affinity", "laplacian")


@pytest.fixture
def blobs(global_random_seed):
    return make_blobs(
        [150, 150, 150],
        centers=[[0, 0], [10, 0], [0, 10]],
        random_state=global_random_seed,
    )


@pytest.mark.parametrize("method", ["bipartite", "affinity"])
def test_all_rows_as_landmarks_are_exact(method, rng):
    X = np.r_[rng.normal(size=(40, 2)), rng.normal(size=(40, 2)) + 4]
    A = rbf_kernel(X, gamma=0.2)
    chosen = rng.permutation(80)
    result = nystrom_relaxation(A[:, chosen], chosen, 3, method=method)
    exact = spectral_relaxation(A, 3)
    assert_allclose(result.eigenvalues, 1 - exact.eigenvalues, atol=1e-12)
    T, expected = normalize(result.vectors), normalize(exact.vectors)
    assert_allclose(T @ T.T, expected @ expected.T, atol=1e-9)
    fast = NystromSpectralClustering(
        2, n_landmarks=80, method=method, gamma=0.2, random_state=0
    ).fit(X)
    slow = NormalizedSpectralClustering(
        2, affinity="rbf", gamma=0.2, random_state=0
    ).fit(X)
    assert_array_equal(fast.labels_, slow.labels_)


def test_columns_approximate_those_of_the_normalised_affinity(rng):
    """sqrt(l/n) r_i a_ij c_j is near D^-1/2 A D^-1/2 at the landmarks."""
    X = rng.uniform(size=(2000, 1))
    A = rbf_kernel(X, gamma=1.0) * (1 - np.eye(2000))
    chosen = np.arange(0, 2000, 4)
    d = A.sum(axis=1)
    exact = A[:, chosen] / np.sqrt(np.outer(d, d[chosen]))
    C = A[:, chosen]
    B = np.sqrt(500 / 2000) * C / np.sqrt(np.outer(C.sum(axis=1), C.sum(axis=0)))
    assert np.abs(B - exact).max() < 0.05 * exact.max()
    # What nystrom_relaxation made of it, for method="laplacian".
    work = A[:, chosen].copy()
    nystrom_relaxation(work, chosen, 2, method="laplacian")
    expected = -B
    expected[chosen, np.arange(500)] += 1
    assert_allclose(work, expected, atol=1e-12)


@pytest.mark.parametrize("method", ["bipartite", "affinity"])
def test_blobs_with_few_landmarks(method, blobs):
    X, y = blobs
    model = NystromSpectralClustering(
        3, n_landmarks=60, method=method, gamma=0.1, random_state=0
    ).fit(X)
    assert adjusted_rand_score(y, model.labels_) == 1
    assert_array_equal(model.predict(X), model.labels_)
    assert model.landmarks_.shape == (60, 2)


def test_the_printed_algorithm_loses_the_clusters():
    """Keeping the largest eigenvalues of a Laplacian drops the informative ones."""
    X, y = make_blobs(450, centers=[[0, 0], [10, 0], [0, 10]], random_state=0)
    params = {"n_landmarks": 60, "gamma": 0.1, "random_state": 0}
    printed = NystromSpectralClustering(
        3, method="laplacian", n_landmark_components=10, **params
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        assert adjusted_rand_score(y, printed.fit(X).labels_) < 0.9
    ours = NystromSpectralClustering(3, **params).fit(X)
    assert adjusted_rand_score(y, ours.labels_) == 1


@pytest.mark.parametrize("method", METHODS)
def test_order_of_rows_does_not_matter(method, rng):
    A = rbf_kernel(rng.normal(size=(50, 2)), gamma=0.3)
    chosen = rng.permutation(50)[:20]
    order = rng.permutation(50)
    position = np.argsort(order)
    plain = nystrom_relaxation(A[:, chosen], chosen, 3, method=method)
    moved = nystrom_relaxation(
        A[np.ix_(order, chosen)], position[chosen], 3, method=method
    )
    assert_allclose(moved.eigenvalues, plain.eigenvalues, atol=1e-10)
    T, expected = normalize(moved.vectors), normalize(plain.vectors)[order]
    assert_allclose(T @ T.T, expected @ expected.T, atol=1e-7)


def test_moons_and_new_rows():
    X, y = make_moons(4000, noise=0.08, random_state=0)[:2]
    new, y_new = make_moons(1000, noise=0.08, random_state=1)[:2]
    model = NystromSpectralClustering(gamma=50.0, random_state=0).fit(X)
    assert adjusted_rand_score(y, model.labels_) > 0.99
    assert adjusted_rand_score(y_new, model.predict(new)) > 0.99


def test_no_array_of_size_n_times_n():
    n, n_landmarks = 20_000, 50
    X = make_blobs(n, centers=[[0, 0], [10, 0]], random_state=0)[0]
    model = NystromSpectralClustering(n_landmarks=n_landmarks, random_state=0)
    tracemalloc.start()
    model.fit(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # The columns, and as much again for what is computed from them.
    assert peak < 4 * 8 * n * n_landmarks < 0.02 * 8 * n**2


@pytest.mark.parametrize("method", METHODS)
def test_new_rows_are_put_by_the_formula(method, rng, global_dtype):
    """A copy of a row that is no landmark is put where the row is."""
    X = rng.normal(size=(60, 2)).astype(global_dtype)
    model = NystromSpectralClustering(
        3, n_landmarks=20, method=method, gamma=0.5, random_state=0
    ).fit(X)
    others = np.setdiff1d(np.arange(60), model.landmark_indices_)
    atol = 1e-3 if global_dtype == np.float32 else 1e-9
    assert_allclose(model.embed(X[others]), model.embedding_[others], atol=atol)


def test_sparse_rows_and_precomputed(blobs):
    X, _ = blobs
    params = {"n_landmarks": 50, "random_state": 0}
    dense = NystromSpectralClustering(3, gamma=0.1, **params).fit(X)
    sparse = NystromSpectralClustering(3, gamma=0.1, **params).fit(csr_array(X))
    assert_array_equal(sparse.labels_, dense.labels_)
    A = rbf_kernel(X, gamma=0.1)
    kept = A.copy()
    model = NystromSpectralClustering(3, kernel="precomputed", **params).fit(A)
    assert_array_equal(model.labels_, dense.labels_)
    assert_array_equal(model.predict(A[:7]), dense.predict(X[:7]))
    assert_array_equal(A, kept)
    by_sparse = NystromSpectralClustering(3, kernel="precomputed", **params)
    assert_array_equal(by_sparse.fit(csr_array(A)).labels_, dense.labels_)


def test_warnings():
    X = np.r_[np.arange(8.0), [1e4]][:, None]
    model = NystromSpectralClustering(2, n_landmarks=9, gamma=1.0, random_state=0)
    with pytest.warns(DisconnectedGraphWarning, match="1 of 9 rows have no weight"):
        model.fit(X)
    with pytest.warns(DisconnectedGraphWarning, match="1 of 1 rows"):
        model.predict([[-1e4]])
    with pytest.warns(IgnoredParameterWarning, match="n_landmark_components=3"):
        NystromSpectralClustering(
            2, n_landmark_components=3, gamma=0.1, random_state=0
        ).fit(X[:8])
    copies = np.zeros((8, 1))
    with (
        pytest.warns(ConvergenceWarning, match="distinct clusters"),
        pytest.warns(ConvergenceWarning, match="Only 1 of n_clusters=2"),
    ):
        NystromSpectralClustering(2, method="affinity", random_state=0).fit(copies)


def test_bad_input():
    X = np.arange(6.0)[:, None]
    with pytest.raises(ValueError, match="n_clusters=7"):
        NystromSpectralClustering(7).fit(X)
    with pytest.raises(ValueError, match="n_landmark_components=2 is below"):
        NystromSpectralClustering(3, n_landmark_components=2, method="laplacian").fit(X)
    with pytest.raises(ValueError, match="negative"):
        NystromSpectralClustering(kernel="linear").fit(X - 3)
    with pytest.raises(ValueError, match="square"):
        NystromSpectralClustering(kernel="precomputed").fit(np.ones((3, 2)))
    with pytest.raises(ValueError, match="method='other'"):
        nystrom_relaxation(np.eye(3), np.arange(3), 2, method="other")
