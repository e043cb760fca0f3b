"""Smallest eigenpairs of graph Laplacians."""

# SPDX-License-Identifier: BSD-3-Clause

import numpy as np
import pytest
from hypothesis import given
from numpy.testing import assert_allclose
from scipy import linalg
from scipy.sparse import csr_array
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning

from fewlabels.graphs import graph_laplacian, similarity_graph
from fewlabels.graphs._eigen import laplacian_eigenpairs
from tests.graphs.strategies import weights

KINDS = ("symmetric", "unnormalized")


def check_pairs(W, pairs, kind):
    L = graph_laplacian(W, kind)
    residual = L @ pairs.vectors - pairs.vectors * pairs.values
    scale = max(1.0, float(abs(L).max()))
    assert np.abs(residual).max() < 1e-7 * scale
    gram = pairs.vectors.T @ pairs.vectors
    assert_allclose(gram, np.eye(gram.shape[0]), atol=1e-7)


@given(W=weights())
@pytest.mark.parametrize("kind", KINDS)
def test_any_small_graph(kind, W):
    n = W.shape[0]
    expected = linalg.eigvalsh(graph_laplacian(W, kind))
    for k in range(1, n + 1):
        pairs = laplacian_eigenpairs(W, k, kind=kind, random_state=0)
        assert_allclose(pairs.values, expected[:k], atol=1e-12 * max(1, expected[-1]))
        check_pairs(W, pairs, kind)
        # The eigenvalue 0 is exact, and as frequent as there are components.
        zeros = min(k, pairs.report.n_components)
        assert np.count_nonzero(pairs.values == 0) == zeros


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("solver", ["auto", "dense", "lanczos", "shift_invert"])
@pytest.mark.parametrize("dense", [False, True])
def test_solvers_agree(solver, kind, dense, global_random_seed):
    X = make_blobs(700, centers=3, random_state=global_random_seed)[0]
    W = similarity_graph(X, n_neighbors=6)
    expected = linalg.eigvalsh(graph_laplacian(W, kind).toarray())[:5]
    pairs = laplacian_eigenpairs(
        W.toarray() if dense else W, 5, kind=kind, solver=solver, random_state=0
    )
    assert_allclose(pairs.values, expected, atol=1e-7)
    check_pairs(W, pairs, kind)


def test_path_and_ring():
    """Eigenvalues that are known: 2 - 2 cos(pi k / n) and 2 - 2 cos(2 pi k / n)."""
    n = 40
    path = np.eye(n, k=1) + np.eye(n, k=-1)
    values = laplacian_eigenpairs(path, 4, kind="unnormalized").values
    assert_allclose(values, 2 - 2 * np.cos(np.pi * np.arange(4) / n), atol=1e-12)
    ring = path.copy()
    ring[0, -1] = ring[-1, 0] = 1
    values = laplacian_eigenpairs(csr_array(ring), 3, kind="unnormalized").values
    expected = 2 - 2 * np.cos(2 * np.pi * np.array([0, 1, 1]) / n)
    assert_allclose(values, expected, atol=1e-12)


def test_no_convergence_is_told_and_mended(rng):
    W = similarity_graph(rng.uniform(size=(700, 2)), n_neighbors=8)
    with pytest.warns(ConvergenceWarning, match="did not converge in 1 restarts"):
        pairs = laplacian_eigenpairs(W, 6, solver="lanczos", max_iter=1, random_state=0)
    check_pairs(W, pairs, "symmetric")
