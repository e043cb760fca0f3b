"""Basis pursuit and the constrained forms of the lasso."""

# SPDX-License-Identifier: BSD-3-Clause

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from fewlabels.regression import (
    basis_pursuit,
    basis_pursuit_denoising,
    gpsr,
    l1_constrained_least_squares,
)


@pytest.fixture
def problem():
    rng = np.random.default_rng(0)
    A = rng.normal(size=(30, 60)) / np.sqrt(30)
    x = np.zeros(60)
    x[[3, 17, 40]] = 1.0, -2.0, 0.5
    return A, A @ x, x


def test_a_sparse_vector_is_recovered(problem):
    A, y, x = problem
    assert_allclose(basis_pursuit(A, y), x, atol=1e-9)
    assert_allclose(basis_pursuit(A, 1e-9 * y), 1e-9 * x, atol=1e-18)
    assert_allclose(basis_pursuit_denoising(A, y, 0.0), x, atol=1e-9)


def test_basis_pursuit_satisfies_the_equations(problem):
    A, _, _ = problem
    y = np.random.default_rng(1).normal(size=30)
    x = basis_pursuit(A, y)
    assert_allclose(A @ x, y, atol=1e-9)
    # No other solution is shorter: there is a dual vector that proves it.
    other = basis_pursuit_denoising(A, y, 0.0)
    assert_allclose(np.abs(x).sum(), np.abs(other).sum(), rtol=1e-9)


@pytest.mark.parametrize("share", [0.02, 0.2, 0.7])
def test_all_forms_have_one_solution(problem, share):
    A, y, _ = problem
    y = y + 0.1 * np.random.default_rng(2).normal(size=30)
    tau = share * np.abs(A.T @ y).max()
    x = gpsr(A, y, tau / len(y), tol=1e-14).coef
    by_error = basis_pursuit_denoising(A, y, np.sum((y - A @ x) ** 2))
    by_sum = l1_constrained_least_squares(A, y, np.abs(x).sum())
    assert_allclose(by_error, x, atol=1e-6)
    assert_allclose(by_sum, x, atol=1e-6)


@pytest.mark.parametrize("eps", [0.01, 0.3, 2.0])
def test_denoising_uses_up_the_error(problem, eps):
    A, y, _ = problem
    x = basis_pursuit_denoising(A, y, eps)
    assert_allclose(np.sum((y - A @ x) ** 2), eps, rtol=1e-9)
    g = A.T @ (y - A @ x)
    tau = np.abs(g).max()
    assert_allclose(g[x != 0], tau * np.sign(x[x != 0]), rtol=1e-8)


@pytest.mark.parametrize("radius", [0.1, 1.0, 3.0])
def test_the_sum_is_used_up(problem, radius):
    A, y, _ = problem
    x = l1_constrained_least_squares(A, y, radius)
    assert_allclose(np.abs(x).sum(), radius, rtol=1e-12)
    g = A.T @ (y - A @ x)
    tau = np.abs(g).max()
    assert_allclose(g[x != 0], tau * np.sign(x[x != 0]), rtol=1e-8)


def test_ends(problem):
    A, y, x = problem
    assert_array_equal(basis_pursuit_denoising(A, y, float(y @ y) * 1.01), 0)
    assert_array_equal(l1_constrained_least_squares(A, y, 0.0), 0)
    assert_allclose(l1_constrained_least_squares(A, y, 100.0), x, atol=1e-9)
    # More rows than columns: the end of the path is least squares.
    B, z = A.T[:, :10], np.arange(60.0)
    free = np.linalg.lstsq(B, z)[0]
    assert_allclose(l1_constrained_least_squares(B, z, 1e6), free, rtol=1e-6)


def test_copies_of_columns(problem):
    A, y, _ = problem
    twice = np.c_[A, A[:, :20], np.zeros((30, 2))]
    x = l1_constrained_least_squares(twice, y, 2.0)
    once = l1_constrained_least_squares(A, y, 2.0)
    assert_allclose(twice @ x, A @ once, atol=1e-8)


@pytest.mark.parametrize("seed", [174, 259, 275])
def test_ties_that_lead_the_path_astray(seed):
    rng = np.random.default_rng(seed)
    n, d = rng.integers(1, 8, 2)
    A = rng.integers(-2, 3, size=(n, d)) * 10.0 ** rng.integers(-3, 4)
    y = rng.normal(size=n) * 10.0 ** rng.integers(-3, 4)
    x = l1_constrained_least_squares(A, y, 1.0)
    g = A.T @ (y - A @ x)
    scale = np.abs(A.T @ y).max()
    assert np.abs(x).sum() <= 1 + 1e-6
    tau = np.abs(g).max()
    assert_allclose(g[x != 0], tau * np.sign(x[x != 0]), atol=1e-6 * scale)
    if tau > 1e-6 * scale:
        assert_allclose(np.abs(x).sum(), 1, rtol=1e-6)


def test_no_solution(problem):
    A, y, _ = problem
    with pytest.raises(ValueError, match="has no solution"):
        basis_pursuit(A.T, np.ones(60))
    with pytest.raises(ValueError, match="the squared error of least squares"):
        basis_pursuit_denoising(A.T, np.ones(60), 0.01)
    with pytest.raises(ValueError, match="eps must be at least 0"):
        basis_pursuit_denoising(A, y, -1.0)
    with pytest.raises(ValueError, match="radius must be at least 0"):
        l1_constrained_least_squares(A, y, -1.0)


def test_nothing_to_explain():
    A = np.eye(3)
    assert_array_equal(basis_pursuit(A, np.zeros(3)), 0)
    assert_array_equal(basis_pursuit_denoising(A, np.zeros(3), 0.0), 0)
    assert_array_equal(l1_constrained_least_squares(A, np.zeros(3), 1.0), 0)
