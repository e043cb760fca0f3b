# SPDX-License-Identifier: BSD-3-Clause

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy.linalg import block_diag
from scipy.sparse import csr_array
from sklearn.datasets import make_blobs
from sklearn.manifold import SpectralEmbedding
from sklearn.metrics import adjusted_rand_score

from fewlabels.graphs import (
    connectivity,
    eigengap_n_clusters,
    graph_fourier,
    graph_kmeans,
    graph_laplacian,
    graph_mca,
    graph_pca,
    p_dirichlet,
    similarity_graph,
)
from tests.graphs.strategies import weights
from tests.graphs.test_laplacian import path, ring
from tests.helpers import assert_close

KINDS = ["unnormalized", "symmetric"]
SOLVERS = ["dense", "lanczos", "shift_invert"]


def assert_eigenpairs(fourier, W, kind):
    L = graph_laplacian(W, kind)
    U = fourier.basis
    scale = max(1.0, float(abs(L).max()))
    assert_close(U.T @ U, np.eye(U.shape[1]), scale=10)
    assert_close(L @ U, U * fourier.eigenvalues, scale=10 * scale)
    assert (np.diff(fourier.eigenvalues) >= -1e-12 * scale).all()


class TestFourier:
    @given(W=weights(), kind=st.sampled_from(KINDS), sparse=st.booleans())
    def test_diagonalises(self, W, kind, sparse):
        fourier = graph_fourier(csr_array(W) if sparse else W, laplacian=kind)
        n_components = connectivity(W).n_components
        assert_eigenpairs(fourier, W, kind)
        assert_array_equal(fourier.eigenvalues[:n_components], 0)
        assert (fourier.eigenvalues[n_components:] > 1e-9).all()
        values = np.linalg.eigvalsh(graph_laplacian(W, kind))
        assert_close(fourier.eigenvalues, values, scale=10)

    @pytest.mark.parametrize("kind", KINDS)
    def test_there_and_back(self, rng, kind):
        W = similarity_graph(rng.standard_normal((80, 2)))
        fourier = graph_fourier(W, laplacian=kind)
        for f in (rng.standard_normal(80), rng.standard_normal((80, 3))):
            spectrum = fourier.transform(f)
            assert_close((spectrum**2).sum(), (f**2).sum())  # Parseval
            assert_close(fourier.inverse_transform(spectrum), f)
        if kind == "unnormalized":
            f = rng.standard_normal(80)
            spectrum = fourier.transform(f)
            energy = (fourier.eigenvalues * spectrum**2).sum()
            assert_close(p_dirichlet(W, f), energy)
            assert spectrum[0] == pytest.approx(np.sqrt(80) * f.mean())

    @pytest.mark.parametrize("n", [7, 8])
    def test_ring_is_the_discrete_fourier_transform(self, rng, n):
        """The same energy in each eigenspace."""
        fourier = graph_fourier(ring(n))
        f = rng.standard_normal(n)
        energy = fourier.transform(f) ** 2
        classical = np.abs(np.fft.fft(f)) ** 2 / n
        frequency = 2 - 2 * np.cos(2 * np.pi * np.arange(n) / n)
        for value in np.unique(frequency.round(9)):
            ours = energy[np.abs(fourier.eigenvalues - value) < 1e-6].sum()
            assert_close(ours, classical[np.abs(frequency - value) < 1e-6].sum())

    @pytest.mark.parametrize("kind", KINDS)
    @pytest.mark.parametrize("solver", ["auto", *SOLVERS])
    @pytest.mark.parametrize("copies", [1, 3])
    def test_a_part_of_the_spectrum(self, rng, kind, solver, copies):
        """Also where eigenvalues are multiple, as those of equal components are."""
        part = similarity_graph(rng.standard_normal((50, 2))).toarray()
        W = csr_array(block_diag(*[part] * copies, 0))
        whole = np.linalg.eigvalsh(graph_laplacian(W, kind).toarray())
        n_zeros = connectivity(W).n_components
        n = n_zeros + 6
        fourier = graph_fourier(W, n, laplacian=kind, eigen_solver=solver)
        assert_eigenpairs(fourier, W, kind)
        assert_close(fourier.eigenvalues, whole[:n], scale=10)
        minor = graph_mca(W, 6, laplacian=kind, eigen_solver=solver)
        assert_eigenpairs(minor, W, kind)
        assert_close(minor.eigenvalues, whole[n_zeros:n], scale=10)
        major = graph_pca(W, 6, laplacian=kind, eigen_solver=solver)
        assert_eigenpairs(major, W, kind)
        assert_close(major.eigenvalues, whole[-6:])

    def test_weak_links_do_not_mix_with_the_null_space(self):
        W = block_diag(ring(5), path(4), ring(6))
        W[4, 5] = W[5, 4] = 1e-12
        fourier = graph_fourier(W)
        assert_eigenpairs(fourier, W, "unnormalized")
        assert_array_equal(fourier.eigenvalues[:2], 0)
        assert 1e-14 < fourier.eigenvalues[2] < 1e-11

    @pytest.mark.parametrize("solver", ["auto", *SOLVERS])
    @pytest.mark.parametrize("scale", [1e-30, 1e30])
    def test_scale_of_weights(self, rng, solver, scale):
        """Dense weights of any size, by any solver."""
        W = similarity_graph(rng.standard_normal((40, 2))).toarray()
        fourier = graph_fourier(scale * W, 6, eigen_solver=solver)
        values = np.linalg.eigvalsh(graph_laplacian(W))[:6]
        assert_close(fourier.eigenvalues / scale, values, scale=10)

    def test_large_graphs(self, rng):
        """Few features need a factor, many only products."""
        for X in (rng.uniform(size=(2000, 1)), rng.standard_normal((1200, 15))):
            W = similarity_graph(X, n_neighbors=8)
            whole = np.linalg.eigvalsh(graph_laplacian(W).toarray())
            fourier = graph_fourier(W, 5)
            assert_eigenpairs(fourier, W, "unnormalized")
            assert_close(fourier.eigenvalues, whole[:5], scale=1e3)
            major = graph_pca(W, 5)
            assert_eigenpairs(major, W, "unnormalized")
            assert_close(major.eigenvalues, whole[-5:])

    def test_all_of_it_by_any_solver(self):
        for solver in SOLVERS:
            fourier = graph_fourier(csr_array(path(6)), eigen_solver=solver)
            expected = 2 - 2 * np.cos(np.pi * np.arange(6) / 6)
            assert_close(fourier.eigenvalues, expected)

    def test_degenerate(self):
        fourier = graph_fourier(np.zeros((3, 3)))
        assert_array_equal(fourier.basis, np.eye(3))
        assert_array_equal(fourier.eigenvalues, 0)
        assert_array_equal(graph_fourier([[5.0]]).basis, 1)

    def test_errors(self):
        fourier = graph_fourier(path(4), 2)
        with pytest.raises(ValueError, match="n_components=5 is more than the 4"):
            graph_fourier(path(4), 5)
        with pytest.raises(ValueError, match="n_components=4 is more than the 3"):
            graph_mca(path(4), 4)
        with pytest.raises(ValueError, match="n_components=4 is more than the 3"):
            graph_pca(path(4), 4)
        with pytest.raises(ValueError, match="each of the 4 vertices"):
            fourier.transform(np.ones(3))
        with pytest.raises(ValueError, match="each of the 2 frequencies"):
            fourier.inverse_transform(np.ones(4))
        with pytest.raises(ValueError, match="one value per frequency"):
            fourier.convolve(np.ones(4), np.ones(3))
        with pytest.raises(ValueError, match="not finite real numbers"):
            fourier.convolve(np.ones(4), [1.0, np.inf])
        with pytest.raises(ValueError, match="not symmetric"):
            graph_fourier(np.eye(3, k=1))


class TestConvolution:
    def test_response_and_its_values_agree(self, rng):
        W, f = similarity_graph(rng.standard_normal((40, 2))), rng.standard_normal(40)
        fourier = graph_fourier(W)
        by_function = fourier.convolve(f, lambda v: np.exp(-v))
        by_values = fourier.convolve(f, np.exp(-fourier.eigenvalues))
        assert_array_equal(by_function, by_values)

    def test_algebra(self, rng):
        W = similarity_graph(rng.standard_normal((40, 2)))
        fourier = graph_fourier(W)
        f, g, h = rng.standard_normal((3, 40))
        one = np.ones(40)
        assert_close(fourier.convolve(f, one), f)
        assert_close(
            fourier.convolve(fourier.convolve(f, g), h),
            fourier.convolve(fourier.convolve(f, h), g),
        )
        # Of two signals, by the transform of the second: it commutes.
        assert_close(
            fourier.convolve(f, fourier.transform(g)),
            fourier.convolve(g, fourier.transform(f)),
        )

    def test_path_diagonal_response_is_not_the_frequency(self, rng):
        """As printed, the book's formula would always give L f."""
        f = rng.standard_normal(9)
        fourier = graph_fourier(path(9))
        assert_close(fourier.convolve(f, lambda v: v), graph_laplacian(path(9)) @ f)
        assert_close(fourier.convolve(f, np.ones_like), f)


class TestComponents:
    def test_eigenvalue_is_the_roughness(self, rng):
        W = similarity_graph(rng.standard_normal((70, 3)))
        for components in (graph_pca(W, 4), graph_mca(W, 4)):
            assert_close(p_dirichlet(W, components.basis), components.eigenvalues)
        assert graph_mca(W, 4).eigenvalues.max() < graph_pca(W, 4).eigenvalues.min()

    def test_minor_components_are_laplacian_eigenmaps(self, rng):
        W = similarity_graph(rng.standard_normal((70, 2)), n_neighbors=12)
        assert connectivity(W).is_connected
        model = SpectralEmbedding(3, affinity="precomputed", random_state=0)
        theirs = model.fit_transform(W.toarray())
        ours = graph_mca(W, 3, laplacian="symmetric").basis
        ours = ours / np.sqrt(W.sum(axis=1))[:, None]
        for k in range(3):
            cosine = ours[:, k] @ theirs[:, k]
            cosine /= np.linalg.norm(ours[:, k]) * np.linalg.norm(theirs[:, k])
            assert abs(cosine) == pytest.approx(1, abs=1e-6)

    @pytest.mark.parametrize("n_blocks", [1, 2, 5])
    def test_blocks(self, rng, n_blocks):
        """The minor components of a graph in blocks leave the blocks out."""
        W = block_diag(*[np.ones((8, 8)) - np.eye(8)] * n_blocks)
        minor = graph_mca(W, 7 * n_blocks)
        assert_close(minor.eigenvalues, np.full(7 * n_blocks, 8.0))
        labels = np.repeat(np.arange(n_blocks), 8)
        indicator = np.eye(n_blocks)[labels]
        assert_close(
            minor.basis.T @ indicator, np.zeros((7 * n_blocks, n_blocks)), scale=1
        )
        assert eigengap_n_clusters(W) == n_blocks
        found = graph_kmeans(W, random_state=0)
        assert adjusted_rand_score(labels, found) == 1


class TestClusters:
    @pytest.mark.parametrize("kind", KINDS)
    @pytest.mark.parametrize("centers", [2, 3, 6])
    def test_blobs(self, kind, centers):
        angle = 2 * np.pi * np.arange(centers) / centers
        middle = 6 * np.c_[np.cos(angle), np.sin(angle)]
        X, y = make_blobs(240, centers=middle, cluster_std=0.8, random_state=0)
        W = similarity_graph(X, kind="complete", bandwidth=1.0)
        assert eigengap_n_clusters(W, laplacian=kind) == centers
        labels = graph_kmeans(W, laplacian=kind, random_state=0)
        assert adjusted_rand_score(y, labels) == 1
        labels = graph_kmeans(W, centers, laplacian=kind, random_state=0)
        assert adjusted_rand_score(y, labels) == 1

    def test_components_beyond_the_limit(self):
        W = block_diag(*[ring(3)] * 4, 0)
        with pytest.warns(UserWarning, match="5 components, which is more than max"):
            assert eigengap_n_clusters(W, max_clusters=3) == 5
        with pytest.warns(UserWarning, match="5 components"):
            labels = graph_kmeans(W, max_clusters=3, random_state=0)
        assert adjusted_rand_score(connectivity(W).labels, labels) == 1

    @pytest.mark.parametrize("n", [1, 2])
    def test_tiny(self, n):
        W = np.ones((n, n))
        assert eigengap_n_clusters(W) == 1
        assert_array_equal(graph_kmeans(W), np.zeros(n))
        with pytest.raises(ValueError, match=r"n_clusters=3 is more than"):
            graph_kmeans(W, 3)
