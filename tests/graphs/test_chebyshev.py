"""Leading eigenvectors of Laplacians: two solvers, one result."""

# SPDX-License-Identifier: BSD-3-Clause

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.sparse import block_diag, diags_array, eye_array
from scipy.sparse.linalg import eigsh
from sklearn.exceptions import ConvergenceWarning

from fewlabels.graphs import (
    graph_laplacian,
    laplacian_eigenvectors,
    similarity_graph,
)
from fewlabels.graphs._eigen import _SOLVERS


def laplacian(rng, n, dtype=np.float64, n_neighbors=8):
    X = rng.normal(size=(n, 3)).astype(dtype)
    W = similarity_graph(X, n_neighbors=n_neighbors)
    return graph_laplacian(W, "symmetric")


@pytest.mark.parametrize("solver", ["dense", "chebyshev"])
def test_against_arpack(rng, solver):
    L = laplacian(rng, 900)
    e, U = laplacian_eigenvectors(L, 40, eigen_solver=solver, tol=1e-6, random_state=0)
    # Shift-invert, the method that neither of the two uses.
    expected = np.sort(eigsh(L, 40, sigma=-1e-3, which="LM")[0])
    assert_allclose(e, expected, rtol=0, atol=1e-6)
    assert_allclose(U.T @ U, np.eye(40), rtol=0, atol=1e-8)
    assert np.abs(L @ U - U * e).max() < 1e-6


def test_single_precision(rng):
    L = laplacian(rng, 4000, np.float32)
    e, U = laplacian_eigenvectors(L, 60, eigen_solver="chebyshev", random_state=0)
    assert U.dtype == np.float32
    expected = (
        1 - eigsh(eye_array(4000) - L.astype(np.float64), 60, which="LA")[0][::-1]
    )
    assert_allclose(e, expected, rtol=0, atol=1e-3)
    assert np.linalg.norm(L @ U - U * e, axis=0).max() < 2e-3


@pytest.mark.parametrize("solver", ["dense", "chebyshev"])
def test_single_precision_is_kept_in_the_solver(rng, solver, monkeypatch):
    """On large graphs it halves memory and time."""
    seen = []

    def spy(A, null, k, **iteration):
        seen.append((A.dtype, null.dtype))
        return solve(A, null, k, **iteration)

    solve = _SOLVERS[solver]
    monkeypatch.setitem(_SOLVERS, solver, spy)
    L = laplacian(rng, 100, np.float32)
    laplacian_eigenvectors(L, 5, eigen_solver=solver, random_state=0)
    assert seen == [(np.float32, np.float32)]


@pytest.mark.parametrize("solver", ["dense", "shift_invert", "chebyshev"])
def test_components_are_counted(rng, solver):
    pieces = [laplacian(rng, n, n_neighbors=5) for n in (300, 200, 150, 100)]
    L = block_diag(pieces, format="csr")
    e, _ = laplacian_eigenvectors(L, 10, eigen_solver=solver, tol=1e-6, random_state=0)
    assert np.count_nonzero(e < 1e-6) == 4


def test_well_separated_clusters_do_not_swamp_the_rest(rng):
    """Far apart, the filter grows so fast that single digits would be lost."""
    W = np.kron(np.eye(30), np.ones((30, 30)))
    W += 1e-4 * rng.uniform(size=W.shape)
    W = W + W.T
    L = graph_laplacian(W, "symmetric").astype(np.float32)
    e, _ = laplacian_eigenvectors(L, 30, eigen_solver="chebyshev", random_state=0)
    expected = np.linalg.eigvalsh(L.astype(np.float64))[:30]
    assert_allclose(e, expected, rtol=0, atol=1e-3)


def path_laplacian(n, n_copies=1, dtype=np.float64):
    """Eigenvalues are 1 - cos(pi j / (n - 1))."""
    W = diags_array([np.ones(n - 1), np.ones(n - 1)], offsets=[-1, 1])
    W = block_diag([W] * n_copies, format="csr").astype(dtype)
    return graph_laplacian(W, "symmetric")


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_eigenvalues_below_the_tolerance_are_still_told_apart(dtype):
    """Of many rows in few dimensions, all wanted eigenvalues may be tiny."""
    L = path_laplacian(3000, n_copies=2, dtype=dtype)
    e, U = laplacian_eigenvectors(L, 40, tol=1e-2, random_state=0)
    expected = np.repeat(1 - np.cos(np.pi * np.arange(20) / 2999), 2)
    assert_allclose(e, expected, rtol=0.02, atol=20 * np.finfo(dtype).eps)
    assert_allclose(U.T @ U, np.eye(40), rtol=0, atol=1e-4)


def test_filters_go_on_until_eigenvalues_are_told_apart():
    L = path_laplacian(600)
    options = {"tol": 1e-2, "random_state": 0}
    e, U = laplacian_eigenvectors(L, 20, eigen_solver="chebyshev", **options)
    expected = 1 - np.cos(np.pi * np.arange(20) / 599)
    assert np.linalg.norm(L @ U - U * e, axis=0).max() <= 0.25 * e[-1]
    # The smoothest are found best.
    assert_allclose(e[:10], expected[:10], rtol=0.02, atol=1e-6)


def test_edgeless_and_tiny_graphs():
    e, U = laplacian_eigenvectors(np.zeros((3, 3)), 3)
    assert_allclose(e, 0)
    assert_allclose(U.T @ U, np.eye(3))
    assert laplacian_eigenvectors([[0.0]], 1)[1].shape == (1, 1)


def test_no_convergence_is_said(rng):
    L = laplacian(rng, 900)
    with pytest.warns(ConvergenceWarning, match="raise tol"):
        laplacian_eigenvectors(L, 40, eigen_solver="chebyshev", tol=1e-300)


def test_bad_input(rng):
    L = laplacian(rng, 20)
    with pytest.raises(ValueError, match="n_components=21 must lie between"):
        laplacian_eigenvectors(L, 21)
    with pytest.raises(ValueError, match="solver='qr' must be"):
        laplacian_eigenvectors(L, 2, eigen_solver="qr")
