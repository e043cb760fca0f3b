"""Normalised, unnormalised and affinity spectral clustering."""

# SPDX-License-Identifier: BSD-3-Clause

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import linalg
from scipy.sparse import block_diag, csr_array
from sklearn.cluster import SpectralClustering
from sklearn.datasets import make_blobs, make_moons
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, normalize

from fewlabels.cluster import (
    NormalizedSpectralClustering,
    normalized_cut,
    spectral_relaxation,
)
from fewlabels.exceptions import DisconnectedGraphWarning, IgnoredParameterWarning
from fewlabels.graphs import graph_laplacian, similarity_graph
from tests.graphs.strategies import weights
from tests.helpers import assert_close

LAPLACIANS = ("symmetric", "random_walk", "unnormalized", "affinity")


@pytest.fixture
def W(rng):
    return rbf_kernel(rng.normal(size=(40, 2))) * (1 - np.eye(40))


@pytest.fixture
def blobs(global_random_seed):
    return make_blobs(
        [40, 30, 20],
        centers=[[0, 0], [8, 0], [0, 8]],
        random_state=global_random_seed,
    )


class TestRelaxation:
    @pytest.mark.parametrize("solver", ["auto", "dense", "lanczos"])
    def test_affinity_attains_the_bound_of_ky_fan(self, W, solver, rng):
        H = spectral_relaxation(W, 3, laplacian="affinity", eigen_solver=solver).vectors
        largest = linalg.eigvalsh(W)[::-1][:3]
        assert_allclose(H.T @ H, np.eye(3), atol=1e-10)
        assert_allclose(np.trace(H.T @ W @ H), largest.sum())
        for _ in range(20):
            other = linalg.qr(rng.normal(size=(40, 3)), mode="economic")[0]
            assert np.trace(other.T @ W @ other) < largest.sum()

    def test_rows_of_ng_jordan_weiss_come_from_the_pencil(self, W):
        """T T' by L_sym equals that by (L, D): the factor of a row cancels."""
        D = np.diag(W.sum(axis=1))
        pencil = linalg.eigh(graph_laplacian(W), D)[1][:, :3]
        T = normalize(spectral_relaxation(W, 3, laplacian="symmetric").vectors)
        expected = normalize(pencil)
        assert_allclose(T @ T.T, expected @ expected.T, atol=1e-10)

    def test_random_walk_and_symmetric(self, W):
        """Equal eigenvalues, u_rw = D^-1/2 u_sym, L u = lambda D u, u' D u = 1."""
        symmetric = spectral_relaxation(W, 4, laplacian="symmetric")
        walk = spectral_relaxation(W, 4, laplacian="random_walk")
        D = np.diag(W.sum(axis=1))
        L = graph_laplacian(W)
        pencil = linalg.eigh(L, D, eigvals_only=True)[:4]
        assert_allclose(walk.eigenvalues, pencil, atol=1e-12)
        assert_allclose(walk.eigenvalues, symmetric.eigenvalues, atol=1e-12)
        root = np.sqrt(W.sum(axis=1))[:, None]
        assert_allclose(walk.vectors, symmetric.vectors / root)
        U = walk.vectors
        assert_allclose(L @ U, D @ U * walk.eigenvalues, atol=1e-10)
        assert_allclose(U.T @ D @ U, np.eye(4), atol=1e-10)

    def test_unnormalized(self, W):
        result = spectral_relaxation(W, 4, laplacian="unnormalized")
        L = graph_laplacian(W)
        assert_allclose(result.eigenvalues, linalg.eigvalsh(L)[:4], atol=1e-11)
        U = result.vectors
        assert_allclose(L @ U, U * result.eigenvalues, atol=1e-10)

    @given(W=weights())
    def test_components_span_the_null_space(self, W):
        for laplacian in ("symmetric", "random_walk", "unnormalized"):
            result = spectral_relaxation(W, W.shape[0], laplacian=laplacian)
            report = result.connectivity
            zero = result.eigenvalues == 0
            assert np.count_nonzero(zero) == report.n_components
            indicators = (report.labels[:, None] == np.arange(report.n_components)) * 1
            if laplacian == "symmetric":
                d = W.sum(axis=0)
                indicators = indicators * np.sqrt(np.where(d > 0, d, 1))[:, None]
            U = result.vectors[:, zero]
            fitted = U @ np.linalg.lstsq(U, indicators)[0]
            assert_allclose(fitted, indicators, atol=1e-10)

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ({"n_components": 0}, "n_components=0"),
            ({"n_components": 5}, "n_components=5"),
            ({"n_components": 1, "laplacian": "other"}, "laplacian='other'"),
            ({"n_components": 1, "eigen_solver": "other"}, "eigen_solver='other'"),
        ],
    )
    def test_bad_arguments(self, arguments, message):
        with pytest.raises(ValueError, match=message):
            spectral_relaxation(np.ones((4, 4)), **arguments)

    def test_bad_weights(self):
        with pytest.raises(ValueError, match="symmetric"):
            spectral_relaxation([[0, 1], [2, 0]], 1, laplacian="affinity")
        with pytest.raises(ValueError, match="not symmetric"):
            spectral_relaxation([[0, 1], [2, 0]], 1)
        with pytest.raises(ValueError, match="negative weights"):
            spectral_relaxation([[0, -1], [-1, 0]], 1)


@pytest.mark.parametrize("laplacian", LAPLACIANS)
@pytest.mark.parametrize("affinity", ["knn", "rbf", "precomputed"])
@pytest.mark.parametrize("assign_labels", ["kmeans", "discretize"])
def test_every_variant_finds_blobs(laplacian, affinity, assign_labels, blobs):
    X, y = blobs
    rows = rbf_kernel(X, gamma=0.1) if affinity == "precomputed" else X
    model = NormalizedSpectralClustering(
        3,
        laplacian=laplacian,
        affinity=affinity,
        n_neighbors=15,
        gamma=0.1 if affinity == "rbf" else "scale",
        assign_labels=assign_labels,
        random_state=0,
    ).fit(rows)
    # Leading eigenvectors of a sparse affinity may sit in one cluster.
    if (laplacian, affinity) != ("affinity", "knn"):
        assert adjusted_rand_score(y, model.labels_) == 1
        assert_array_equal(model.predict(rows), model.labels_)
    assert model.labels_[0] == 0
    assert model.embedding_.shape == (90, 3)


def test_ideal_components():
    """Rows of T take K values, mutually orthogonal; clusters are the components."""
    X = np.r_[np.zeros((4, 1)), np.full((5, 1), 50.0), np.full((3, 1), 90.0)]
    X = X + np.linspace(0, 1, 12)[:, None]
    W = rbf_kernel(X, gamma=1.0)
    W[W < 1e-20] = 0
    model = NormalizedSpectralClustering(3, affinity="precomputed", random_state=0)
    model.fit(W)
    assert_array_equal(model.labels_, np.repeat([0, 1, 2], [4, 5, 3]))
    assert_array_equal(model.relaxation_.eigenvalues, np.zeros(3))
    same = model.labels_[:, None] == model.labels_
    assert_allclose(model.embedding_ @ model.embedding_.T, same * 1.0, atol=1e-14)


def test_regular_graphs_make_no_difference():
    """L = d L_sym on a regular graph, so all Laplacians give the same clusters."""
    n = 24
    ring = np.roll(np.eye(n), 1, axis=1) + np.roll(np.eye(n), 2, axis=1)
    labels = []
    for laplacian in ("symmetric", "random_walk", "unnormalized"):
        relaxation = spectral_relaxation(ring + ring.T, 3, laplacian=laplacian)
        scale = 4 if laplacian == "unnormalized" else 1
        assert_allclose(
            relaxation.eigenvalues,
            spectral_relaxation(ring + ring.T, 3).eigenvalues * scale,
            atol=1e-12,
        )
        model = NormalizedSpectralClustering(
            2, laplacian=laplacian, affinity="precomputed", random_state=0
        )
        W = np.kron(np.eye(2), ring + ring.T)
        labels.append(model.fit(W).labels_)
    assert_array_equal(labels[0], labels[1])
    assert_array_equal(labels[0], labels[2])


def test_random_walk_is_that_of_scikit_learn(blobs):
    X, _ = blobs
    W = rbf_kernel(X, gamma=0.05)
    ours = NormalizedSpectralClustering(
        3, laplacian="random_walk", affinity="precomputed", random_state=0
    ).fit(W)
    theirs = SpectralClustering(3, affinity="precomputed", random_state=0).fit(W)
    assert adjusted_rand_score(ours.labels_, theirs.labels_) == 1


def test_moons():
    X, y = make_moons(400, noise=0.05, random_state=0)[:2]
    new, y_new = make_moons(300, noise=0.05, random_state=1)[:2]
    for laplacian in ("symmetric", "random_walk"):
        model = NormalizedSpectralClustering(
            2, laplacian=laplacian, random_state=0
        ).fit(X)
        assert adjusted_rand_score(y, model.labels_) == 1
        assert adjusted_rand_score(y_new, model.predict(new)) == 1
    assert normalized_cut(model.affinity_matrix_, model.labels_) < 0.01


@pytest.mark.parametrize("laplacian", LAPLACIANS)
def test_training_rows_stay_where_they_were(laplacian, W):
    """The extension satisfies the eigenvector equation at the old vertices."""
    params = {"laplacian": laplacian, "affinity": "precomputed", "random_state": 0}
    dense = NormalizedSpectralClustering(3, **params).fit(W)
    assert_allclose(dense.embed(W), dense.embedding_, atol=1e-9)
    assert_array_equal(dense.predict(W), dense.labels_)
    sparse = NormalizedSpectralClustering(3, **params).fit(csr_array(W))
    assert_array_equal(sparse.labels_, dense.labels_)
    assert_allclose(sparse.embed(csr_array(W)), dense.embedding_, atol=1e-9)


def test_more_components_than_clusters():
    X = np.r_[np.arange(6.0), 100 + np.arange(5.0), [200, 201, 202]][:, None]
    model = NormalizedSpectralClustering(2, n_neighbors=2, random_state=0)
    with pytest.warns(DisconnectedGraphWarning, match="3 components"):
        model.fit(X)
    assert_array_equal(model.labels_[:11], np.repeat([0, 1], [6, 5]))


def test_rows_out_of_reach():
    X = np.arange(6.0)[:, None]
    model = NormalizedSpectralClustering(2, affinity="rbf", random_state=0).fit(X)
    with pytest.warns(DisconnectedGraphWarning, match="1 of 2 rows have no weight"):
        labels = model.predict([[1.0], [1e4]])
    assert labels[0] == model.labels_[1]


def test_ignored_parameters():
    X = np.arange(20.0)[:, None]
    with pytest.warns(IgnoredParameterWarning, match="gamma=2"):
        NormalizedSpectralClustering(n_neighbors=5, gamma=2.0).fit(X)
    model = NormalizedSpectralClustering(affinity="rbf", graph_params={"weight": "dot"})
    with pytest.raises(ValueError, match="graph_params holds 'weight', which affinity"):
        model.fit(X)


def test_bad_input():
    with pytest.raises(ValueError, match="n_clusters=4"):
        NormalizedSpectralClustering(4, affinity="rbf").fit(np.eye(3))
    with pytest.raises(ValueError, match="square"):
        NormalizedSpectralClustering(affinity="precomputed").fit(np.ones((3, 2)))
    with pytest.raises(ValueError, match="negative weights"):
        NormalizedSpectralClustering(affinity="linear").fit([[1.0], [-1.0], [2.0]])


@given(data=st.data())
def test_strange_rows(data):
    X = data.draw(
        st.sampled_from(
            [
                np.ones((6, 2)),
                np.zeros((5, 1)),
                np.repeat([[0.0, 1.0], [2.0, 3.0]], 3, axis=0),
                np.eye(6)[:, :3],
                np.random.default_rng(0).normal(size=(5, 20)),
            ]
        )
    )
    laplacian = data.draw(st.sampled_from(LAPLACIANS))
    affinity = data.draw(st.sampled_from(["knn", "rbf"]))
    n_clusters = data.draw(st.integers(1, 3))
    assign_labels = data.draw(st.sampled_from(["kmeans", "discretize"]))
    model = NormalizedSpectralClustering(
        n_clusters,
        laplacian=laplacian,
        affinity=affinity,
        assign_labels=assign_labels,
        n_neighbors=3,
        random_state=0,
    )
    with warnings.catch_warnings():
        # Fewer distinct rows than clusters, more components than clusters.
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", DisconnectedGraphWarning)
        labels = model.fit(X).predict(X)
    assert set(model.labels_) <= set(range(n_clusters))
    assert set(labels) <= set(model.labels_)


def test_pipeline(blobs):
    X, y = blobs
    pipe = make_pipeline(
        StandardScaler(), NormalizedSpectralClustering(3, random_state=0)
    )
    assert adjusted_rand_score(y, pipe.fit_predict(X)) == 1
    assert_array_equal(pipe.predict(X[:5]), pipe[-1].labels_[:5])


def test_affinities_of_equal_components(rng):
    """Every eigenvalue of one block is there once per block."""
    block = similarity_graph(rng.normal(size=(50, 2)), n_neighbors=6)
    W = csr_array(block_diag([block] * 15))
    truth = np.sort(np.repeat(np.linalg.eigvalsh(block.toarray()), 15))[::-1][:40]
    for solver in ("auto", "lanczos", "dense"):
        found = spectral_relaxation(
            W, 40, laplacian="affinity", eigen_solver=solver, random_state=0
        )
        assert_close(found.eigenvalues, truth)
