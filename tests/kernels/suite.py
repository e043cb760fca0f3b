"""The checks that every kernel and every Gram operator inherits.

A new operator writes `make(X)` in a subclass and gets all of them.
"""

# SPDX-License-Identifier: BSD-3-Clause

import numpy as np
import pytest
from scipy import sparse
from scipy.sparse.linalg import LinearOperator, cg

from fewlabels.kernels import GramOperator
from tests.helpers import assert_close


def rows(rng, n=23, d=4, dtype=np.float64):
    """Rows with what real data has: duplicates, a zero row, a constant feature."""
    X = rng.normal(size=(n, d))
    X[:, -1] = 1
    X[1] = X[2]
    X[3] = 0
    return np.abs(X).astype(dtype)  # chi2 kernels want no negative entries


class GramSuite:
    """Checks of one way to hold a Gram matrix."""

    #: Whether the operator equals the kernel matrix or approximates it.
    exact = True

    def make(self, X) -> GramOperator:
        """Return the operator on the rows of X."""
        raise NotImplementedError

    def expected(self, X):
        """Return the matrix that the operator stands for, computed plainly."""
        raise NotImplementedError

    @pytest.fixture
    def X(self, rng, global_dtype):
        return rows(rng, dtype=global_dtype)

    def test_interface(self, X):
        gram = self.make(X)
        assert isinstance(gram, LinearOperator)
        assert gram.shape == (len(X), len(X))
        assert gram.dtype == X.dtype
        assert gram.toarray().dtype == X.dtype
        assert gram.diagonal().dtype == X.dtype
        assert gram.columns([0]).dtype == X.dtype

    def test_matrix(self, X):
        assert_close(self.make(X).toarray(), self.expected(X), factor=10)

    def test_symmetric_and_psd(self, X):
        K = self.make(X).toarray().astype(np.float64)
        eps = np.finfo(X.dtype).eps
        scale = np.abs(K).max()
        assert np.abs(K - K.T).max() <= 10 * eps * scale
        assert np.linalg.eigvalsh((K + K.T) / 2)[0] >= -len(X) * 10 * eps * scale

    def test_diagonal(self, X):
        gram = self.make(X)
        K = gram.toarray()
        assert_close(gram.diagonal(), np.diag(K), scale=np.abs(K).max(), factor=10)

    @pytest.mark.parametrize("indices", [[0], [5, 3, 3], np.arange(23)])
    def test_columns(self, X, indices):
        gram = self.make(X)
        K = gram.toarray()
        columns = gram.columns(indices)
        assert_close(columns, K[:, indices], scale=np.abs(K).max(), factor=10)

    @pytest.mark.parametrize("shape", [(23,), (23, 1), (23, 5), (23, 0)])
    def test_products(self, X, rng, shape):
        gram = self.make(X)
        V = rng.normal(size=shape).astype(X.dtype)
        KV = gram.toarray() @ V
        assert (gram @ V).dtype == X.dtype
        scale = np.abs(gram.toarray()).max() * len(X)
        assert_close(gram @ V, KV, scale=scale, factor=10)
        assert_close(gram.T @ V, KV, scale=scale, factor=10)

    def test_works_in_scipy_solvers(self, X, rng):
        gram = self.make(X.astype(np.float64))
        b = rng.normal(size=len(X))
        shifted = gram + LinearOperator(gram.shape, matvec=lambda v: 0.5 * v)
        solution, info = cg(shifted, b, rtol=1e-10, maxiter=500)
        assert info == 0
        expected = np.linalg.solve(gram.toarray() + 0.5 * np.eye(len(X)), b)
        assert_close(solution, expected, factor=10)

    def test_centered(self, X):
        K = self.make(X).toarray().astype(np.float64)
        H = np.eye(len(X)) - 1.0 / len(X)
        centered = self.make(X).centered()
        scale = np.abs(K).max()
        assert_close(centered.toarray(), H @ K @ H, scale=10 * scale, factor=10)
        assert_close(
            centered @ np.ones(len(X), X.dtype),
            np.zeros(len(X)),
            scale=10 * scale * len(X),
        )


class SparseInputChecks:
    """Further checks for operators made from rows: sparse rows give the same."""

    def test_sparse_rows(self, rng, global_dtype):
        X = rows(rng, dtype=global_dtype)
        X[X < 0.5] = 0
        dense, thin = self.make(X), self.make(sparse.csr_array(X))
        scale = np.abs(dense.toarray()).max()
        assert_close(thin.toarray(), dense.toarray(), scale=scale, factor=10)
        assert_close(thin.diagonal(), dense.diagonal(), scale=scale, factor=10)
        v = rng.normal(size=len(X)).astype(global_dtype)
        assert_close(thin @ v, dense @ v, scale=scale * len(X), factor=10)
