"""Eigenpairs at the ends of the spectrum of graph Laplacians."""

# SPDX-License-Identifier: BSD-3-Clause

import numpy as np
import pytest
from hypothesis import given
from numpy.testing import assert_allclose
from scipy import linalg
from scipy.sparse import csr_array, diags_array, eye_array, kron
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning

from fewlabels.graphs import graph_laplacian, similarity_graph
from fewlabels.graphs._eigen import (
    EIGEN_SOLVERS,
    _chosen,
    laplacian_eigenpairs,
    lowest,
    nonzero_eigenpairs,
    spectral,
)
from tests.graphs.strategies import weights
from tests.graphs.test_laplacian import path, ring
from tests.helpers import assert_close

KINDS = ("symmetric", "unnormalized")


def check_pairs(W, values, vectors, kind):
    L = graph_laplacian(W, kind)
    residual = L @ vectors - vectors * values
    scale = max(1.0, float(abs(L).max()))
    assert np.abs(residual).max() < 1e-7 * scale
    gram = vectors.T @ vectors
    assert_allclose(gram, np.eye(gram.shape[0]), atol=1e-7)


@given(W=weights())
@pytest.mark.parametrize("kind", KINDS)
def test_any_small_graph(kind, W):
    n = W.shape[0]
    expected = linalg.eigvalsh(graph_laplacian(W, kind))
    for k in range(1, n + 1):
        pairs = laplacian_eigenpairs(W, k, laplacian=kind, random_state=0)
        assert_allclose(pairs.values, expected[:k], atol=1e-12 * max(1, expected[-1]))
        check_pairs(W, pairs.values, pairs.vectors, kind)
        # The eigenvalue 0 is exact, and as frequent as there are components.
        zeros = min(k, pairs.report.n_components)
        assert np.count_nonzero(pairs.values == 0) == zeros


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("solver", EIGEN_SOLVERS)
@pytest.mark.parametrize("dense", [False, True])
def test_solvers_agree(solver, kind, dense, global_random_seed):
    X = make_blobs(700, centers=3, random_state=global_random_seed)[0]
    W = similarity_graph(X, n_neighbors=6)
    expected = linalg.eigvalsh(graph_laplacian(W, kind).toarray())
    given = W.toarray() if dense else W
    pairs = laplacian_eigenpairs(
        given, 5, laplacian=kind, eigen_solver=solver, random_state=0
    )
    assert_allclose(pairs.values, expected[:5], atol=1e-7)
    check_pairs(W, pairs.values, pairs.vectors, kind)
    values, vectors = nonzero_eigenpairs(
        spectral(given, kind), 5, largest=True, solver=solver
    )
    assert_allclose(values, expected[-5:], atol=1e-7)
    check_pairs(W, values, vectors, kind)


def test_path_and_ring():
    """Eigenvalues that are known: 2 - 2 cos(pi k / n) and 2 - 2 cos(2 pi k / n)."""
    n = 40
    values = laplacian_eigenpairs(path(n), 4, laplacian="unnormalized").values
    assert_allclose(values, 2 - 2 * np.cos(np.pi * np.arange(4) / n), atol=1e-12)
    values = laplacian_eigenpairs(
        csr_array(ring(n)), 3, laplacian="unnormalized"
    ).values
    expected = 2 - 2 * np.cos(2 * np.pi * np.array([0, 1, 1]) / n)
    assert_allclose(values, expected, atol=1e-12)


@pytest.mark.parametrize("solver", EIGEN_SOLVERS)
@pytest.mark.parametrize("largest", [False, True])
def test_null_space_and_bound_do_not_mix(solver, largest):
    """Two bipartite components: both ends are double, and all between is simple."""
    W = csr_array(linalg.block_diag(path(30), path(32), 0))
    graph = spectral(W, "symmetric")
    whole = linalg.eigvalsh(graph.L.toarray())
    for k in (2, 40, 59):
        expected = whole[-k:] if largest else whole[3 : 3 + k]
        values, vectors = nonzero_eigenpairs(graph, k, largest=largest, solver=solver)
        assert_allclose(values, expected, atol=1e-9)
        check_pairs(W, values, vectors, "symmetric")
        assert np.abs(graph.null.T @ vectors).max() < 1e-9


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("solver", EIGEN_SOLVERS)
@pytest.mark.parametrize("largest", [False, True])
@pytest.mark.parametrize("component", [path(2), path(5), ring(30)])
def test_no_copy_is_missed_where_components_are_equal(kind, solver, largest, component):
    """Every eigenvalue is there for each component, and so is every vector."""
    W = csr_array(linalg.block_diag(*[component] * 20))
    graph = spectral(W, kind)
    whole = linalg.eigvalsh(graph.L.toarray())
    for k in (5, 15, 20):
        values, vectors = nonzero_eigenpairs(graph, k, largest=largest, solver=solver)
        expected = whole[-k:] if largest else whole[20 : 20 + k]
        assert_allclose(values, expected, atol=1e-9)
        check_pairs(W, values, vectors, kind)
        assert np.abs(graph.null.T @ vectors).max() < 1e-9


@pytest.mark.parametrize("kind", KINDS)
def test_zeros_alone_need_no_solver(kind):
    """The largest components first, and nothing is asked of ARPACK or LAPACK."""
    W = csr_array(linalg.block_diag(0, ring(3), path(5)))
    pairs = lowest(spectral(W, kind), 2, solver="no such solver")
    assert_allclose(pairs.values, 0)
    check_pairs(W, pairs.values, pairs.vectors, kind)
    assert (np.flatnonzero(pairs.vectors[:, 0]) == np.arange(4, 9)).all()
    assert (np.flatnonzero(pairs.vectors[:, 1]) == np.arange(1, 4)).all()


def test_choice_of_the_solver(rng):
    few = similarity_graph(rng.uniform(size=(1500, 1)), n_neighbors=8)
    many = similarity_graph(rng.standard_normal((1500, 20)), n_neighbors=8)
    graphs = {"shift_invert": few, "lanczos": many}
    for solver, W in graphs.items():
        L = spectral(W, "symmetric").L
        assert _chosen("auto", L, 5, False, on_device=False) == solver
        assert _chosen("auto", L, 5, True, on_device=False) == "lanczos"
        assert (
            _chosen("auto", L, 400, False, on_device=False) == "dense"
        )  # above a quarter
        assert _chosen("auto", L[:500, :500], 5, False, on_device=False) == "dense"
        dense = L.toarray()
        assert _chosen("auto", dense, 5, False, on_device=False) == "lanczos"
        assert _chosen("shift_invert", dense, 5, False, on_device=False) == "dense"


def test_kind_without_orthogonal_eigenvectors():
    with pytest.raises(ValueError, match="laplacian='random_walk' must be one of"):
        laplacian_eigenpairs(path(3), 2, laplacian="random_walk")


@pytest.mark.parametrize("largest", [False, True])
@pytest.mark.parametrize("dense", [False, True])
def test_no_convergence_is_told_and_mended(rng, largest, dense):
    W = similarity_graph(rng.uniform(size=(700, 1)), n_neighbors=8)
    graph = spectral(W.toarray() if dense else W, "symmetric")
    backup = "dense" if dense else "shift_invert"
    with pytest.warns(ConvergenceWarning, match="did not converge in 1 restarts") as w:
        values, vectors = nonzero_eigenpairs(
            graph, 6, largest=largest, solver="lanczos", max_iter=1
        )
    assert f"using eigen_solver={backup!r}" in str(w[0].message)
    p = graph.report.n_components
    whole = linalg.eigvalsh(graph_laplacian(W, "symmetric").toarray())
    expected = whole[-6:] if largest else whole[p : p + 6]
    assert_allclose(values, expected, atol=1e-9)
    check_pairs(W, values, vectors, "symmetric")


def torus(n):
    """A periodic grid, most of whose eigenvalues come four or eight times."""
    ring = diags_array([1.0, 1.0], offsets=[-1, 1], shape=(n, n)).tolil()
    ring[0, n - 1] = ring[n - 1, 0] = 1.0
    return csr_array(kron(ring, eye_array(n)) + kron(eye_array(n), ring))


@pytest.mark.parametrize("solver", [name for name in EIGEN_SOLVERS if name != "dense"])
@pytest.mark.parametrize("n_pairs", [2, 5, 12])
@pytest.mark.parametrize("largest", [False, True])
def test_all_copies_within_a_component(solver, n_pairs, largest):
    graph = spectral(torus(26), "symmetric")
    truth = np.linalg.eigvalsh(graph.L.toarray())[1:]
    truth = truth[-n_pairs:] if largest else truth[:n_pairs]
    for seed in range(3):
        values, vectors = nonzero_eigenpairs(
            graph, n_pairs, largest=largest, solver=solver, tol=1e-9, random_state=seed
        )
        assert_close(values, truth)
        assert_close(vectors.T @ vectors, np.eye(n_pairs), factor=10)
