"""Total least squares."""

# SPDX-License-Identifier: BSD-3-Clause

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.optimize import minimize

from fewlabels.regression import TotalLeastSquares, total_least_squares


@pytest.fixture
def problem():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 4))
    return X, X @ [1.0, -2.0, 0.5, 0.0] + rng.normal(size=40)


def cost(b, X, y):
    return np.sum((y - X @ b) ** 2) / (1 + b @ b)


def test_both_formulas(problem):
    X, y = problem
    b = total_least_squares(X, y)
    s = np.linalg.svd(np.c_[X, y], compute_uv=False)[-1]
    by_inverse = np.linalg.solve(X.T @ X - s**2 * np.eye(4), X.T @ y)
    assert_allclose(b, by_inverse, rtol=1e-10)
    v = np.linalg.svd(np.c_[X, y])[2][-1]
    assert_allclose(b, -v[:4] / v[4], rtol=1e-10)


def test_minimises_orthogonal_distance(problem):
    X, y = problem
    b = total_least_squares(X, y)
    found = minimize(cost, np.zeros(4), args=(X, y), tol=1e-12)
    assert cost(b, X, y) <= found.fun * (1 + 1e-12)
    assert_allclose(b, found.x, atol=1e-5)


def test_the_line_does_not_care_who_is_the_target():
    rng = np.random.default_rng(1)
    x = rng.normal(size=30)
    y = 3 * x + rng.normal(size=30)
    there = total_least_squares(x[:, None], y)[0]
    back = total_least_squares(y[:, None], x)[0]
    assert_allclose(there * back, 1.0, rtol=1e-12)


def test_no_solution():
    # y is at right angles to the weak direction of X, and farther than it is long.
    X = np.array([[1.0, 0.0], [0.0, 0.1], [0.0, 0.0]])
    with pytest.raises(ValueError, match="no total least squares solution"):
        total_least_squares(X, np.array([0.0, 0.0, 1.0]))


def test_exact_equations_are_solved(problem):
    X, _ = problem
    assert_allclose(
        total_least_squares(X, X @ np.arange(4.0)), np.arange(4), atol=1e-12
    )
    assert_allclose(total_least_squares(X, np.zeros(40)), 0, atol=1e-12)


def test_targets_much_smaller_than_features(problem):
    """The solution tends to that of least squares, with all of its digits."""
    X, y = problem
    least_squares = np.linalg.lstsq(X, y)[0]
    assert_allclose(total_least_squares(X, 1e-30 * y), 1e-30 * least_squares)


def test_dependent_columns_share_the_weight(problem):
    X, y = problem
    b = total_least_squares(X, y)
    # A column of length sqrt(2) is two equal ones; constants and zeros count nothing.
    twice = np.c_[X[:, [0, 0]] / np.sqrt(2), X[:, 1:], np.zeros(40)]
    c = total_least_squares(twice, y)
    assert_allclose(c, [*b[[0, 0]] / np.sqrt(2), *b[1:], 0], atol=1e-12)


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 6), st.integers(1, 6), st.integers(0, 10_000))
def test_any_shape(n, d, seed):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(n, d)), rng.normal(size=n)
    b = total_least_squares(X, y)
    assert np.isfinite(b).all()
    if n <= d:  # the equations can be satisfied
        assert_allclose(X @ b, y, atol=1e-6 * (1 + np.abs(b).max()))


def test_estimator_takes_the_means_off(problem):
    X, y = problem
    model = TotalLeastSquares().fit(X + 5, y - 3)
    centred = total_least_squares(X - X.mean(axis=0), y - y.mean())
    assert_allclose(model.coef_, centred, rtol=1e-9)
    assert_allclose(model.predict(X.mean(axis=0, keepdims=True) + 5), y.mean() - 3)
    plain = TotalLeastSquares(fit_intercept=False).fit(X, y)
    assert_allclose(plain.coef_, total_least_squares(X, y))
    assert plain.intercept_ == 0


def test_rows_without_a_target_are_left_out(problem):
    X, y = problem
    holes = np.where(np.arange(40) < 30, y, np.nan)
    model = TotalLeastSquares().fit(X, holes)
    assert_allclose(model.coef_, TotalLeastSquares().fit(X[:30], y[:30]).coef_)


def test_wrong_shapes():
    with pytest.raises(ValueError, match="y must hold one number per row"):
        total_least_squares(np.eye(3), np.ones(2))


def test_moved_rows_that_leave_no_residual():
    """Fewer rows than columns: rounded means would add a direction."""
    rng = np.random.default_rng(0)
    X = np.round(rng.normal(size=(6, 9)) * 2**10) / 2**10
    y = rng.normal(size=6)
    near = TotalLeastSquares().fit(X, y)
    far = TotalLeastSquares().fit(X + 2.0**20, y)
    assert_allclose(far.coef_, near.coef_, rtol=1e-6)
