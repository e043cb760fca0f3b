"""Gradient projection for sparse reconstruction."""

# SPDX-License-Identifier: BSD-3-Clause

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.sparse.linalg import aslinearoperator
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Lasso

from fewlabels.regression import GPSR, gpsr

VARIANTS = [
    {"variant": "basic"},
    {"variant": "bb", "monotone": True},
    {"variant": "bb"},
    {"variant": "bb", "working_set": True},
    {"variant": "basic", "working_set": True, "continuation": 3},
    {"variant": "bb", "continuation": 4},
]


@pytest.fixture
def problem():
    rng = np.random.default_rng(0)
    A = rng.normal(size=(60, 150)) / np.sqrt(60)
    x = np.zeros(150)
    x[rng.choice(150, 8, replace=False)] = rng.choice([-1, 1], 8)
    y = A @ x + 0.01 * rng.normal(size=60)
    return A, y, 0.1 * np.abs(A.T @ y).max() / 60


def objective(A, y, alpha, x):
    return 0.5 * np.mean((y - A @ x) ** 2) + alpha * np.abs(x).sum()


@pytest.mark.parametrize("params", VARIANTS, ids=str)
class TestEveryVariant:
    def test_same_as_coordinate_descent(self, problem, params):
        A, y, alpha = problem
        lasso = Lasso(alpha, fit_intercept=False, tol=1e-12).fit(A, y)
        solution = gpsr(A, y, alpha, tol=1e-12, **params)
        assert_allclose(solution.coef, lasso.coef_, atol=1e-6)
        assert solution.gap <= 1e-12
        assert_allclose(solution.objective, objective(A, y, alpha, solution.coef))

    def test_optimality(self, problem, params):
        A, y, alpha = problem
        x = gpsr(A, y, alpha, tol=1e-13, **params).coef
        g = A.T @ (y - A @ x) / 60
        assert np.abs(g).max() <= alpha * (1 + 1e-5)
        assert_allclose(g[x != 0], alpha * np.sign(x[x != 0]), atol=1e-5 * alpha)

    def test_the_gap_is_honest(self, problem, params):
        A, y, alpha = problem
        best = gpsr(A, y, alpha, tol=1e-13).objective
        rough = gpsr(A, y, alpha, tol=1e-2, **params)
        assert rough.objective - best <= rough.gap * rough.objective * (1 + 1e-9)

    def test_a_large_weight_leaves_nothing(self, problem, params):
        A, y, _ = problem
        top = np.abs(A.T @ y).max() / 60
        assert_array_equal(gpsr(A, y, np.nextafter(top, 1), **params).coef, 0)
        assert gpsr(A, y, 0.99 * top, **params).coef.any()

    def test_matrices_in_other_forms(self, problem, params):
        A, y, alpha = problem
        A = np.where(np.abs(A) > 0.1, A, 0)
        expected = gpsr(A, y, alpha, tol=1e-12, **params).coef
        for form in (np.asfortranarray, sparse.csr_array, sparse.csc_array):
            found = gpsr(form(A), y, alpha, tol=1e-12, **params).coef
            assert_allclose(found, expected, atol=1e-6)
        if not params.get("working_set"):
            found = gpsr(aslinearoperator(A), y, alpha, tol=1e-12, **params).coef
            assert_allclose(found, expected, atol=1e-6)

    def test_degenerate(self, problem, params):
        A, y, alpha = problem
        A = A.copy()
        A[:, 0], A[:, 1], A[3] = 0, A[:, 2], A[4]
        solution = gpsr(A, y, alpha, tol=1e-10, **params)
        assert solution.gap <= 1e-10
        assert solution.coef[0] == 0
        assert_array_equal(gpsr(A, 0 * y, alpha, **params).coef, 0)
        assert_array_equal(gpsr(0 * A, y, alpha, **params).coef, 0)


@pytest.mark.parametrize("params", VARIANTS[:2], ids=str)
def test_the_objective_never_rises(problem, params):
    A, y, alpha = problem
    history = gpsr(A, y, alpha, tol=1e-12, **params).objectives
    assert np.all(np.diff(history) <= 1e-14 * history[0])
    assert history[-1] < history[0]


def test_warm_start(problem):
    A, y, alpha = problem
    cold = gpsr(A, y, alpha, tol=1e-8)
    warm = gpsr(A, y, alpha, tol=1e-8, x0=cold.coef)
    assert warm.n_iter == 0
    assert_allclose(warm.coef, cold.coef)


def test_debiasing_is_least_squares_on_the_support(problem):
    A, y, alpha = problem
    plain, debiased = gpsr(A, y, alpha), gpsr(A, y, alpha, debias=True)
    support = np.flatnonzero(plain.coef)
    assert_array_equal(np.flatnonzero(debiased.coef), support)
    exact = np.linalg.lstsq(A[:, support], y)[0]
    assert_allclose(debiased.coef[support], exact, rtol=1e-8)


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 6), st.integers(1, 6), st.integers(0, 1000))
def test_any_shape(n, d, seed):
    rng = np.random.default_rng(seed)
    A, y = rng.integers(-2, 3, size=(n, d)).astype(float), rng.normal(size=n)
    solution = gpsr(A, y, 0.3, tol=1e-8)
    assert solution.gap <= 1e-8
    again = gpsr(A, y, 0.3, tol=1e-8, working_set=True)
    assert_allclose(again.objective, solution.objective, rtol=1e-7)


def test_no_convergence(problem):
    with pytest.warns(ConvergenceWarning, match="the relative duality gap"):
        gpsr(*problem, max_iter=2)


def test_bad_input(problem):
    A, y, alpha = problem
    with pytest.raises(ValueError, match="alpha must be positive"):
        gpsr(A, y, 0.0)
    with pytest.raises(ValueError, match="y must hold one number per row of A"):
        gpsr(A, y[:-1], alpha)
    with pytest.raises(ValueError, match="x0 must hold one number per column"):
        gpsr(A, y, alpha, x0=np.ones(3))
    with pytest.raises(ValueError, match="variant='newton' is unknown"):
        gpsr(A, y, alpha, variant="newton")
    with pytest.raises(ValueError, match="working_set=True needs the columns"):
        gpsr(aslinearoperator(A), y, alpha, working_set=True)


class TestEstimator:
    @pytest.mark.parametrize("form", [np.asarray, sparse.csr_array, sparse.csc_array])
    @pytest.mark.parametrize("fit_intercept", [True, False])
    @pytest.mark.parametrize("working_set", [True, False])
    def test_same_as_the_lasso(self, problem, form, fit_intercept, working_set):
        A, y, _ = problem
        A = np.where(np.abs(A) > 0.1, A, 0)
        y = y + 3 * fit_intercept
        model = GPSR(
            0.001, fit_intercept=fit_intercept, working_set=working_set, tol=1e-12
        ).fit(form(A), y)
        lasso = Lasso(0.001, fit_intercept=fit_intercept, tol=1e-12, max_iter=100_000)
        lasso.fit(A, y)
        assert_allclose(model.coef_, lasso.coef_, atol=1e-5)
        assert_allclose(model.intercept_, lasso.intercept_, atol=1e-5)
        assert_allclose(model.predict(form(A)), lasso.predict(A), atol=1e-5)

    def test_rows_without_a_target_are_left_out(self, problem):
        A, y, _ = problem
        holes = np.where(np.arange(60) < 40, y, np.nan)
        model = GPSR(0.001, tol=1e-10).fit(A, holes)
        only = GPSR(0.001, tol=1e-10).fit(A[:40], y[:40])
        assert_allclose(model.coef_, only.coef_, atol=1e-6)


@pytest.mark.parametrize("alpha", [1e-10, 1e10])
def test_rows_without_a_slope_leave_the_gap_in_range(alpha):
    """No division overflows where rounding errors are all there is to follow."""
    X = np.full((9, 2), 0.1)
    model = GPSR(alpha=alpha).fit(X, np.arange(9.0))
    assert_allclose(model.predict(X), 4.0)
    assert model.gap_ <= 1e-6
