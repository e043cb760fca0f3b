"""Maximum mean discrepancy and its embedding."""

# SPDX-License-Identifier: BSD-3-Clause

import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from scipy.spatial.distance import cdist

from fewlabels.transfer import mmd_squared, mmde
from fewlabels.transfer._discrepancy import mean_difference, neighbor_pairs


class TestMMD:
    def test_linear_kernel_compares_means(self, rng):
        X, Z = rng.normal(size=(8, 3)), rng.normal(size=(5, 3)) + 1
        gap = X.mean(axis=0) - Z.mean(axis=0)
        assert_allclose(mmd_squared(X, Z, kernel="linear"), gap @ gap)

    def test_equal_samples(self, rng):
        X = rng.normal(size=(10, 2))
        assert mmd_squared(X, X[::-1]) < 1e-15
        assert mmd_squared(X, np.repeat(X, 2, axis=0)) < 1e-15

    @pytest.mark.parametrize("convert", [np.asarray, sparse.csr_array])
    def test_sums_over_pairs(self, rng, convert):
        X, Z = rng.normal(size=(6, 2)), rng.normal(size=(9, 2)) + 2
        k = [
            np.exp(-0.3 * cdist(A, B, "sqeuclidean")).mean()
            for A, B in ((X, X), (Z, Z), (X, Z))
        ]
        value = mmd_squared(convert(X), Z, gamma=0.3)
        assert_allclose(value, k[0] + k[1] - 2 * k[2])

    def test_other_features(self):
        with pytest.raises(ValueError, match="2 features but X_target has 1"):
            mmd_squared([[0.0, 1.0]], [[1.0]])

    def test_trace_form(self, rng):
        X, is_source = rng.normal(size=(7, 2)), np.arange(7) < 3
        e = mean_difference(is_source)
        expected = np.trace(X @ X.T @ np.outer(e, e))
        assert_allclose(
            mmd_squared(X[is_source], X[~is_source], kernel="linear"), expected
        )


class TestMMDE:
    @pytest.fixture(autouse=True)
    def needs_cvxpy(self):
        pytest.importorskip("cvxpy")

    def test_program(self, rng):
        """Feasible, and better than the kernel of the rows themselves."""
        X = rng.normal(size=(14, 2))
        X[7:] += 3
        domains = np.repeat([1, -2], 7)
        result = mmde(X, domains, n_neighbors=2, variance_weight=0.01)
        K = result.kernel
        i, j = neighbor_pairs(X, 2)
        squares = np.sum((X[i] - X[j]) ** 2, axis=1)
        learned = K[i, i] + K[j, j] - 2 * K[i, j]
        assert_allclose(learned, squares, atol=1e-3 * squares.max())
        assert_allclose(K.sum(axis=1), 0, atol=1e-3)
        assert np.linalg.eigvalsh(K).min() > -1e-4
        centred = X - X.mean(axis=0)
        e = mean_difference(domains > 0)
        given = e @ centred @ centred.T @ e - 0.01 * np.trace(centred @ centred.T)
        assert result.value < given
        assert result.mmd2 < e @ centred @ centred.T @ e
        assert_allclose(
            result.value, result.mmd2 - 0.01 * np.trace(K), rtol=1e-3, atol=1e-4
        )

    def test_the_sign_of_the_discrepancy(self, rng):
        """It is minimised: with more weight on the variance the domains fall apart."""
        X = rng.normal(size=(12, 2))
        domains = np.repeat([1, -2], 6)
        near, far = (
            mmde(
                X,
                domains,
                n_neighbors=2,
                variance_weight=lam,
                solver="SCS",
                solver_params={"eps": 1e-4},
            )
            for lam in (0.01, 1.0)
        )
        assert near.mmd2 < far.mmd2
        assert np.trace(near.kernel) < np.trace(far.kernel)

    def test_embedding(self, rng):
        X = rng.normal(size=(10, 3))
        result = mmde(X, np.repeat([1, -2], 5), 2, n_neighbors=3)
        assert result.embedding.shape == (10, 2)
        gram = result.embedding.T @ result.embedding
        assert_allclose(gram, np.diag(result.eigenvalues), atol=1e-6)


def test_parts_are_joined():
    """Two groups far apart: a bridge keeps the program bounded."""
    X = np.array([[0.0], [1.0], [2.0], [50.0], [51.0], [52.0]])
    i, j = neighbor_pairs(X, 1)
    assert (2, 3) in set(zip(i.tolist(), j.tolist(), strict=True))
    assert np.all(i < j)


def test_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "cvxpy", None)
    with pytest.raises(ImportError, match=r"fewlabels\[transfer\]"):
        mmde(np.eye(3), [1, -2, -2])
