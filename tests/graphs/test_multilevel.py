"""Eigenvectors by coarser and coarser graphs."""

# SPDX-License-Identifier: BSD-3-Clause

import numpy as np
import pytest
from hypothesis import given
from numpy.testing import assert_allclose, assert_array_equal
from scipy import linalg
from scipy.sparse import block_diag, csr_array
from sklearn.datasets import make_moons
from sklearn.exceptions import ConvergenceWarning

from fewlabels._loops.graph import aggregate
from fewlabels.graphs import _multilevel as module
from fewlabels.graphs import similarity_graph
from fewlabels.graphs._eigen import nonzero_eigenpairs, spectral
from fewlabels.graphs._eigen_parts import shifted_factor
from fewlabels.graphs._multilevel import (
    HIGHEST,
    ROUGH,
    VCycle,
    _smoothed,
    coarser,
)
from tests.graphs.strategies import weights
from tests.reference import graphs as reference

KINDS = ("symmetric", "unnormalized")


@pytest.fixture(autouse=True)
def small_graphs_are_large(monkeypatch):
    """Make several levels of the graphs below."""
    monkeypatch.setattr(module, "COARSEST", 60)
    monkeypatch.setattr(module, "RESOLUTION", 3)


@pytest.fixture
def W(rng):
    """Two components, the smaller one a ring, and a vertex alone."""
    X = make_moons(1500, noise=0.1, random_state=0)[0]
    # Weights of the mean length: from sharper ones Lanczos needs a thousand restarts.
    moons = similarity_graph(X, n_neighbors=6, bandwidth="mean")
    n = 80
    ring = np.roll(np.eye(n), 1, axis=0)
    return csr_array(block_diag([moons, ring + ring.T, [[0.0]]]))


@given(W=weights())
def test_stars(W):
    A = csr_array(W)
    star, n_stars = aggregate(A.indptr, A.indices, A.data)
    expected, n_expected = reference.aggregate(W)
    assert n_stars == n_expected
    assert_array_equal(star, expected)


@pytest.mark.parametrize("kind", KINDS)
def test_the_coarser_graph_keeps_the_null_space(W, kind):
    graph = spectral(W, kind)
    A, _, null, up = coarser(graph.L, graph.null)
    assert_allclose((up.T @ up).toarray(), np.eye(up.shape[1]), atol=1e-12)
    coarse_null = up.T @ null
    assert_allclose((up @ coarse_null - null).toarray(), 0, atol=1e-12)
    coarse = (up.T @ A @ up).toarray()
    assert_allclose(coarse @ coarse_null.toarray(), 0, atol=1e-10)
    eigenvalues = linalg.eigvalsh(coarse)
    assert np.count_nonzero(eigenvalues < 1e-9) == graph.report.n_components


def test_the_smoother_is_the_chebyshev_iteration(rng):
    """Its error is the residual polynomial, of size 1 / T_m(c / h) on the interval."""
    degree = 4
    values, diagonal = np.linspace(ROUGH, HIGHEST, 50), rng.uniform(1, 9, (50, 1))
    A = csr_array(np.diag(values * diagonal.ravel()))
    Z = _smoothed(A, 1 / diagonal, diagonal, degree)
    centre, half = (HIGHEST + ROUGH) / 2, (HIGHEST - ROUGH) / 2
    T = np.polynomial.Chebyshev.basis(degree)
    residual = T((centre - values) / half) / T(centre / half)
    assert_allclose(1 - values * Z.ravel(), residual, atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_the_cycle_is_symmetric_and_near_the_inverse(W, kind):
    graph = spectral(W, kind)
    level = coarser(graph.L, graph.null)
    coarse = csr_array(level.up.T @ graph.L @ level.up)
    factor = shifted_factor(coarse)
    cycle = VCycle([level], factor, csr_array(level.up.T @ graph.null))
    # On what is orthogonal to the null space.
    root = linalg.null_space(graph.null.toarray().T)
    M, L = root.T @ cycle(root), root.T @ graph.L @ root
    assert_allclose(M, M.T, atol=1e-9 * np.abs(M).max())
    C = linalg.cholesky(L, lower=True)
    eigenvalues = linalg.eigvalsh(C.T @ M @ C)  # those of M @ L
    assert eigenvalues.max() < 1 + 1e-9
    assert eigenvalues.min() > 0.05
    alone = linalg.eigvalsh(L)
    assert alone[-1] > 1000 * alone[0]  # and 20 times at most with the cycle


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("tol", [0.05, 1e-3, 1e-9, 0.0])
def test_accuracy(W, kind, tol, monkeypatch):
    depths = []

    def spy(A, null):
        depths.append(A.shape[0])
        return coarser(A, null)

    monkeypatch.setattr(module, "coarser", spy)
    graph = spectral(W, kind)
    k, p = 5, graph.report.n_components
    expected = linalg.eigvalsh(graph.L.toarray())[p : p + k]
    values, vectors = nonzero_eigenpairs(graph, k, solver="multilevel", tol=tol)
    assert len(depths) >= 2
    # Values of a subspace are never too small; the estimate is one up to a factor.
    assert np.all(values >= expected * (1 - 1e-9) - 1e-13)
    assert np.all(values <= expected * (1 + 4 * tol) + 1e-13)
    assert_allclose(vectors.T @ vectors, np.eye(k), atol=1e-9)
    assert np.abs(graph.null.T @ vectors).max() < 1e-9


def test_no_convergence_is_told_and_mended(W):
    graph = spectral(W, "symmetric")
    with pytest.warns(ConvergenceWarning, match="using eigen_solver='shift_invert'"):
        values, _ = nonzero_eigenpairs(graph, 5, solver="multilevel", max_iter=1)
    p = graph.report.n_components
    expected = linalg.eigvalsh(graph.L.toarray())[p : p + 5]
    assert_allclose(values, expected, atol=1e-12)


def _lowest(W, kind, k, tol):
    graph = spectral(W, kind)
    p = graph.report.n_components
    values, _ = nonzero_eigenpairs(graph, k, solver="multilevel", tol=tol)
    return values, linalg.eigvalsh(graph.L.toarray())[p : p + k]


def test_what_lies_within_stars_is_found(rng):
    """Pairs of vertices that are joined weakly: the coarser graph has nothing there."""
    moons = similarity_graph(make_moons(600, noise=0.1, random_state=0)[0])
    pairs = [1e-6 * u * np.array([[0, 1], [1, 0]]) for u in rng.uniform(1, 2, 10)]
    values, expected = _lowest(block_diag([moons, *pairs]), "unnormalized", 2, 1e-9)
    assert_allclose(values, expected, rtol=1e-6)


def test_the_best_of_many_components_is_found(rng):
    blocks = [
        similarity_graph(rng.normal(size=(20, 2)), n_neighbors=4) for _ in range(40)
    ]
    values, expected = _lowest(block_diag(blocks), "symmetric", 2, 1e-9)
    assert_allclose(values, expected, rtol=1e-8)


def test_stars_do_not_tear_firm_neighbours_apart(rng):
    """Cliques with weak edges between all of them, in any order of the vertices."""
    n_cliques, size = 60, 10
    member = rng.permutation(np.repeat(np.arange(n_cliques), size))
    n = member.size
    W = 1e-4 * rng.random((n, n)) * (rng.random((n, n)) < 0.01)
    W = np.maximum(W, W.T) + np.equal.outer(member, member)
    A = csr_array(W)
    star, _ = aggregate(A.indptr, A.indices, A.data)
    assert all(np.unique(member[star == i]).size == 1 for i in np.unique(star))


@pytest.mark.parametrize("solver", ["lanczos", "shift_invert", "multilevel"])
@pytest.mark.parametrize("scale", [1e-100, 1e100])
def test_the_scale_of_the_weights_does_not_matter(W, solver, scale):
    graph, scaled = spectral(W, "unnormalized"), spectral(scale * W, "unnormalized")
    expected, _ = nonzero_eigenpairs(graph, 5, solver=solver, tol=1e-9)
    values, _ = nonzero_eigenpairs(scaled, 5, solver=solver, tol=1e-9)
    assert_allclose(values / scale, expected, rtol=1e-6)
