"""Linear algebra helpers."""

# SPDX-License-Identifier: BSD-3-Clause

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from fewlabels._linalg import (
    conjugate_gradients,
    csr_product,
    deviations,
    inverse_square_root,
    thin_svd,
)
from fewlabels._threads import threads
from tests.helpers import assert_close


@pytest.mark.parametrize("rank", [0, 1, 3, 6])
def test_inverse_square_root_of_singular_matrices(rng, rank):
    Z = rng.normal(size=(6, rank))
    A = Z @ Z.T
    M = inverse_square_root(A)
    assert M.shape == (6, rank)
    assert_allclose(M @ M.T, np.linalg.pinv(A, rcond=1e-10), atol=1e-8)


def test_inverse_square_root_keeps_the_leading_directions(rng, global_dtype):
    U, _ = np.linalg.qr(rng.normal(size=(5, 5)))
    w = np.array([5.0, 4.0, 3.0, 2.0, 1.0])
    M = inverse_square_root(((U * w) @ U.T).astype(global_dtype), rank=2)
    assert M.dtype == global_dtype
    expected = (U[:, :2] / w[:2]) @ U[:, :2].T
    assert_close(M @ M.T, expected, factor=100)


def test_balanced_inverse_square_root(rng):
    Z = rng.normal(size=(6, 4))
    Z[:, 3] = 0  # no content at all, which stays so
    units = np.array([1e12, 1.0, 1e-12, 5.0])
    A = Z.T @ Z
    plain = inverse_square_root(A)
    M = units[:, None] * inverse_square_root(A * np.outer(units, units), balance=True)
    assert_allclose(M @ M.T, plain @ plain.T, atol=1e-12)


def test_balanced_inverse_square_root_has_no_rounding_errors_of_constants(rng):
    """A unit of the others would make them matter."""
    X = rng.normal(size=(4, 8))
    X[:, 3] = 0.0
    S = X.T @ X
    for unit in (1.0, 2.0**200):
        M = inverse_square_root(S * unit**2, balance=True)
        assert_array_equal(M[3], 0.0)
        assert_close(M * unit, inverse_square_root(S, balance=True))


def test_deviations_far_from_zero_have_mean_zero(rng):
    X = np.round(rng.normal(size=(7, 3)) * 2**10) / 2**10
    near = deviations(X, X.mean(axis=0))
    X += 2.0**30
    assert_allclose(deviations(X, X.mean(axis=0)), near, atol=1e-14)


def test_deviations_of_constants_are_zero():
    X = np.c_[np.full(30, 0.1), np.arange(30.0)]
    mean = X.mean(axis=0)
    assert mean[0] != 0.1  # or it would be no test
    assert_array_equal(deviations(X, mean), np.c_[np.zeros(30), X[:, 1] - mean[1]])


@pytest.mark.parametrize("rank", [0, 1, 3])
def test_thin_svd(rng, rank):
    X = rng.normal(size=(7, rank)) @ rng.normal(size=(rank, 5))
    U, s, Vt = thin_svd(X)
    assert s.size == rank
    assert_allclose((U * s) @ Vt, X, atol=1e-12)


@pytest.mark.usefixtures("compiled")
@pytest.mark.parametrize("n_jobs", [1, 3])
@pytest.mark.parametrize("k", [None, 0, 1, 7])
def test_csr_product(rng, global_dtype, n_jobs, k):
    W = sparse.random_array((50, 40), density=0.1, rng=rng).tocsr()
    W = sparse.vstack([W, W[:0], sparse.csr_array((60, 40))]).tocsr()
    W = W.astype(global_dtype)
    V = rng.normal(size=(40,) if k is None else (k, 40)).astype(global_dtype).T
    with threads(n_jobs):
        product = csr_product(W, V)
        minus = rng.normal(size=product.shape).astype(global_dtype)
        less = csr_product(W, V, minus)
        kept = minus.copy()
        again = csr_product(W, V, minus, overwrite=True)
    assert product.dtype == less.dtype == global_dtype
    assert_array_equal(product, W @ V)
    assert_close(less, W @ V - kept)
    assert_array_equal(again, less)


class TestConjugateGradients:
    def problem(self, rng, n=60, k=4):
        V = rng.normal(size=(n, n))
        A = V @ V.T / n + np.eye(n)
        scale = 1 / np.sqrt(A.diagonal())
        return scale[:, None] * A * scale, rng.normal(size=(n, k))

    def test_solves_every_column(self, rng):
        A, B = self.problem(rng)
        B[:, 2] = 0  # solved from the start
        X, n_iter, converged = conjugate_gradients(A, B, tol=1e-12)
        assert converged
        assert 0 < n_iter <= 60
        assert_allclose(A @ X, B, atol=1e-9)
        assert_array_equal(X[:, 2], 0)

    def test_columns_do_not_influence_each_other(self, rng):
        A, B = self.problem(rng)
        together = conjugate_gradients(A, B, tol=1e-12)[0]
        for c in range(B.shape[1]):
            alone = conjugate_gradients(A, B[:, [c]], tol=1e-12)[0]
            assert_allclose(together[:, [c]], alone, atol=1e-9)

    def test_says_when_it_fails(self, rng):
        A, B = self.problem(rng)
        _, n_iter, converged = conjugate_gradients(A, B, tol=1e-12, max_iter=3)
        assert (n_iter, converged) == (3, False)

    def test_goes_on_until_the_caller_is_content(self, rng):
        A, B = self.problem(rng)
        exact = np.linalg.solve(A, B)

        def is_done(X):
            return np.abs(X - exact).max() < 1e-9

        loose = conjugate_gradients(A, B, tol=1e-1)[0]
        assert not is_done(loose)
        X, _, converged = conjugate_gradients(A, B, tol=1e-1, is_done=is_done)
        assert converged
        assert is_done(X)

    def test_gives_up_where_rounding_is_reached(self, rng):
        A, B = self.problem(rng)
        *_, converged = conjugate_gradients(A, B, is_done=lambda X: False)
        assert not converged

    def test_column_that_is_solved_at_once(self, rng):
        """Its residual is exactly zero while the other columns go on."""
        A, B = self.problem(rng)
        A[0], A[:, 0] = 0, 0
        A[0, 0] = 1
        B[:, 0] = np.eye(60)[0]

        def is_finite(X):
            return np.isfinite(X).all()

        X, _, converged = conjugate_gradients(A, B, tol=1e-12, is_done=is_finite)
        assert converged
        assert_allclose(A @ X, B, atol=1e-9)

    def test_no_column(self):
        X, n_iter, converged = conjugate_gradients(np.eye(3), np.zeros((3, 0)))
        assert (X.shape, n_iter, converged) == ((3, 0), 0, True)
