"""Bridge, berhu, garrote, and the exposed penalised regressions."""

# SPDX-License-Identifier: BSD-3-Clause

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize_scalar
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import ElasticNet, Lasso, LinearRegression, Ridge

from fewlabels._loops.regression import BERHU, BRIDGE, _minimizer, bridge_root
from fewlabels.regression import (
    BerhuRegressor,
    BridgeRegression,
    NonNegativeGarrote,
    berhu_regression,
    bridge_regression,
    nonnegative_garrote,
)
from tests.reference.regression import (
    berhu_penalty,
    berhu_slope,
    bisect,
    bridge_penalty,
    bridge_slope,
    coordinate_descent,
    scalar_minimizer,
)

GAMMAS = (1.0, 1.2, 1.5, 2.0, 3.0)


def correlated(n=60, d=8, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) + 0.7 * rng.normal(size=(n, 1))
    X *= rng.uniform(0.5, 2, size=d)
    b = np.where(np.arange(d) % 2, 0, rng.normal(size=d))
    return X, X @ b + rng.normal(size=n)


class TestScalarProblem:
    @settings(max_examples=100, deadline=None)
    @given(
        z=st.floats(1e-6, 1e6),
        c=st.floats(1e-6, 1e6),
        shape=st.floats(1.05, 6.0),
    )
    def test_root(self, z, c, shape):
        t = bridge_root(z, c, shape)
        if t == 0:  # smaller than any number
            assert z < c * np.finfo(float).tiny ** (shape - 1)
        else:
            assert_allclose(t + c * t ** (shape - 1), z, rtol=1e-12)
            slow = bisect(lambda s: s + c * s ** (shape - 1) - z, 0.0, z)
            assert_allclose(t, slow, rtol=1e-9)

    @settings(max_examples=60, deadline=None)
    @given(
        q=st.floats(-20, 20),
        a=st.floats(0.1, 10),
        lam=st.floats(0.01, 10),
        delta=st.floats(0.05, 5),
    )
    def test_berhu(self, q, a, lam, delta):
        ours = _minimizer(q, a, BERHU, lam, delta)
        slow = scalar_minimizer(q, a, lam, lambda t: berhu_slope(t, delta))
        assert_allclose(ours, slow, rtol=1e-10, atol=1e-12)

        def cost(b):
            return 0.5 * a * b * b - q * b + lam * berhu_penalty(b, delta)

        grid = minimize_scalar(cost, bounds=(-210, 210), method="bounded")
        assert cost(ours) <= grid.fun + 1e-9

    def test_berhu_is_continuous_where_the_cases_meet(self):
        # Unit columns: both cases give delta at |q| = lam + delta.
        lam, delta = 0.7, 0.4
        for q in (lam + delta, np.nextafter(lam + delta, 2)):
            assert_allclose(_minimizer(q, 1.0, BERHU, lam, delta), delta)

    @pytest.mark.parametrize("gamma", GAMMAS)
    def test_bridge(self, gamma):
        for q in (-3.0, -0.2, 0.0, 0.5, 7.0):
            ours = _minimizer(q, 1.7, BRIDGE, 0.8, gamma)

            def cost(b, q=q):
                return 0.85 * b * b - q * b + 0.8 * bridge_penalty(b, gamma)

            grid = minimize_scalar(cost, bounds=(-10, 10), method="bounded")
            assert cost(ours) <= grid.fun + 1e-12


class TestBridge:
    @pytest.mark.parametrize("gamma", GAMMAS)
    def test_optimality(self, gamma):
        X, y = correlated()
        lam = 5.0
        b, _, violation = bridge_regression(X, y, lam / len(y), gamma, tol=1e-10)
        g = X.T @ (y - X @ b)
        scale = np.abs(X.T @ y).max()
        assert violation <= 1e-10
        if gamma == 1:
            assert np.all(np.abs(g) <= lam + 1e-8 * scale)
            assert_allclose(g[b != 0], lam * np.sign(b[b != 0]), atol=1e-8 * scale)
            assert np.any(b == 0)
        else:
            slope = lam * gamma * np.abs(b) ** (gamma - 1) * np.sign(b)
            assert_allclose(g, slope, atol=1e-8 * scale)

    @pytest.mark.parametrize("gamma", GAMMAS)
    def test_slow_twin(self, gamma):
        X, y = correlated(20, 4)
        ours = bridge_regression(X, y, 2.0 / len(y), gamma, tol=1e-12).coef
        slow = coordinate_descent(X, y, 2.0, lambda t: bridge_slope(t, gamma), 300)
        assert_allclose(ours, slow, atol=1e-9)

    def test_lasso_and_ridge(self):
        X, y = correlated()
        n = len(y)
        lasso = Lasso(3.0 / n, fit_intercept=False, tol=1e-12).fit(X, y)
        assert_allclose(
            bridge_regression(X, y, 3.0 / len(y), 1.0).coef, lasso.coef_, atol=1e-6
        )
        ridge = Ridge(2 * 3.0, fit_intercept=False).fit(X, y)
        assert_allclose(
            bridge_regression(X, y, 3.0 / len(y), 2.0).coef, ridge.coef_, atol=1e-6
        )
        ours = BridgeRegression(0.05, gamma=1, tol=1e-10).fit(X, y)
        theirs = Lasso(0.05, tol=1e-12).fit(X, y)
        assert_allclose(ours.coef_, theirs.coef_, atol=1e-6)
        assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-6)

    def test_no_penalty_is_least_squares(self):
        X, y = correlated()
        model = BridgeRegression(0.0, tol=1e-10).fit(X, y)
        assert_allclose(model.coef_, LinearRegression().fit(X, y).coef_, atol=1e-6)

    def test_coefficients_too_small_for_a_number(self):
        # At gamma = 1.01 the best value is about (z / 2 c)^100: zero, and optimal.
        b, _, violation = bridge_regression(np.eye(2), [1.0, 1e-5], 0.5, 1.01)
        assert b[1] == 0
        assert violation <= 1e-8

    @pytest.mark.parametrize("gamma", [1.0, 1.5, 3.0])
    def test_degenerate(self, gamma):
        X, y = correlated(6, 9)  # fewer rows than features
        X[:, 0], X[:, 1], X[3] = 0.0, X[:, 2], X[4]
        b, _, violation = bridge_regression(X, y, 0.5 / len(y), gamma)
        assert violation <= 1e-8
        assert b[0] == 0
        if gamma > 1:  # strictly convex: copies get the same
            assert_allclose(b[1], b[2], atol=1e-6)
        assert_array_equal(bridge_regression(X, y * 0, 0.5 / len(y), gamma).coef, 0)
        model = BridgeRegression(0.1, gamma=gamma).fit(np.ones((5, 2)), np.arange(5.0))
        assert_array_equal(model.coef_, 0)
        assert_allclose(model.predict([[1.0, 1.0]]), 2.0)

    def test_no_convergence(self):
        with pytest.warns(ConvergenceWarning, match="max_iter=1 iterations"):
            bridge_regression(*correlated(), 1.0, 1.5, max_iter=1)

    def test_bad_parameters(self):
        with pytest.raises(ValueError, match=r"gamma must be at least 1"):
            bridge_regression(np.eye(2), np.ones(2), 1.0, 0.5)
        with pytest.raises(ValueError, match="alpha must be at least 0"):
            bridge_regression(np.eye(2), np.ones(2), -1.0, 1.5)


class TestBerhu:
    @pytest.mark.parametrize("delta", [0.05, 0.3, 2.0])
    def test_optimality(self, delta):
        X, y = correlated()
        lam = 8.0
        b = berhu_regression(X, y, lam / len(y), delta, tol=1e-10).coef
        g = X.T @ (y - X @ b)
        slope = lam * np.maximum(1, np.abs(b) / delta) * np.sign(b)
        scale = np.abs(X.T @ y).max()
        assert np.all(np.abs(g[b == 0]) <= lam + 1e-8 * scale)
        assert_allclose(g[b != 0], slope[b != 0], atol=1e-8 * scale)

    def test_slow_twin(self):
        X, y = correlated(20, 4)
        ours = berhu_regression(X, y, 2.0 / len(y), 0.3, tol=1e-12).coef
        slow = coordinate_descent(X, y, 2.0, lambda t: berhu_slope(t, 0.3), 300)
        assert_allclose(ours, slow, atol=1e-9)

    def test_limits(self):
        X, y = correlated()
        lasso = Lasso(5.0 / len(y), fit_intercept=False, tol=1e-12).fit(X, y)
        far = berhu_regression(X, y, 5.0 / len(y), 1e6, tol=1e-10)
        assert_allclose(far.coef, lasso.coef_, atol=1e-6)
        # lam / delta stays, and the penalty becomes lam b^2 / (2 delta).
        ridge = Ridge(10.0, fit_intercept=False).fit(X, y)
        near = berhu_regression(X, y, 1e-7 / len(y), 1e-8, tol=1e-10)
        assert_allclose(near.coef, ridge.coef_, atol=1e-5)

    def test_convex_solver_agrees(self):
        cvxpy = pytest.importorskip("cvxpy")
        X, y = correlated(30, 5)
        lam, delta = 4.0, 0.4
        b, excess = cvxpy.Variable(5), cvxpy.Variable(5)
        # |b| + max(|b| - delta, 0)^2 / (2 delta) is the penalty, in convex parts.
        penalty = cvxpy.norm1(b) + cvxpy.sum_squares(excess) / (2 * delta)
        objective = 0.5 * cvxpy.sum_squares(y - X @ b) + lam * penalty
        constraints = [excess >= cvxpy.abs(b) - delta, excess >= 0]
        problem = cvxpy.Problem(cvxpy.Minimize(objective), constraints)
        theirs = problem.solve("CLARABEL")
        b.value = berhu_regression(X, y, lam / len(y), delta).coef
        excess.value = np.maximum(np.abs(b.value) - delta, 0)
        assert_allclose(objective.value, theirs, rtol=1e-7)

    def test_estimator(self):
        X, y = correlated()
        model = BerhuRegressor(0.1, delta=0.3, tol=1e-10).fit(X + 3, y + 7)
        Xc, yc = X - X.mean(axis=0), y - y.mean()
        direct = berhu_regression(Xc, yc, 0.1, 0.3, tol=1e-10)
        assert_allclose(model.coef_, direct.coef, atol=1e-8)
        assert_allclose(model.predict(X + 3).mean(), y.mean() + 7)
        holes = np.r_[y + 7, np.full(10, np.nan)]
        again = BerhuRegressor(0.1, delta=0.3, tol=1e-10)
        again.fit(np.r_[X + 3, np.zeros((10, 8))], holes)
        assert_allclose(again.coef_, model.coef_, atol=1e-8)

    def test_bad_delta(self):
        with pytest.raises(ValueError, match="delta must be positive"):
            berhu_regression(np.eye(2), np.ones(2), 1.0, 0.0)


class TestGarrote:
    def test_same_as_a_lasso_with_signs(self):
        X, y = correlated()
        b = LinearRegression(fit_intercept=False).fit(X, y).coef_
        lasso = Lasso(4.0 / len(y), positive=True, fit_intercept=False, tol=1e-12)
        ours = nonnegative_garrote(X, y, 4.0 / len(y), tol=1e-12)
        assert_allclose(ours.factors, lasso.fit(X * b, y).coef_, atol=1e-8)
        assert_allclose(ours.coef, ours.factors * b)

    def test_optimality(self):
        X, y = correlated()
        lam = 4.0
        factors, coef, _ = nonnegative_garrote(X, y, lam / len(y), tol=1e-14)
        initial = np.linalg.lstsq(X, y)[0]
        g = initial * (X.T @ (y - X @ coef))
        assert np.all(factors >= 0)
        assert np.any(factors == 0)
        assert np.all(g <= lam + 1e-5)
        assert_allclose(g[factors > 0], lam, rtol=1e-5)

    def test_no_penalty_is_least_squares(self):
        X, y = correlated()
        model = NonNegativeGarrote(0.0).fit(X, y)
        assert_allclose(model.factors_, 1)
        assert_allclose(model.coef_, LinearRegression().fit(X, y).coef_)

    def test_orthonormal_columns(self):
        rng = np.random.default_rng(0)
        Q = np.linalg.qr(rng.normal(size=(30, 5)))[0]
        y = Q @ [3.0, -2.0, 1.0, 0.5, 0.1] + 0.01 * rng.normal(size=30)
        b = Q.T @ y
        expected = np.maximum(1 - 0.5 / b**2, 0)
        assert_allclose(
            nonnegative_garrote(Q, y, 0.5 / len(y)).factors, expected, atol=1e-6
        )

    def test_any_start(self):
        X, y = correlated()
        ridge = Ridge(1.0, fit_intercept=False).fit(X, y).coef_
        ridge[2] = 0
        factors = nonnegative_garrote(X, y, 1.0 / len(y), ridge).factors
        assert factors[2] == 0
        no_penalty = nonnegative_garrote(X, y, 0.0, ridge, tol=1e-10).coef
        kept = np.arange(8) != 2
        free = np.linalg.lstsq(X[:, kept], y)[0]
        if np.all(free * ridge[kept] > 0):  # no sign stands in the way
            assert_allclose(no_penalty[kept], free, atol=1e-4)
        assert_array_equal(nonnegative_garrote(X, y, 1.0 / len(y), np.zeros(8)).coef, 0)
        with pytest.raises(ValueError, match="initial must hold one coefficient"):
            nonnegative_garrote(X, y, 1.0 / len(y), np.ones(3))

    def test_fewer_rows_than_features(self):
        X, y = correlated(5, 9)
        model = NonNegativeGarrote(0.01).fit(X, y)
        assert np.all(model.factors_ >= 0)
        assert model.score(X, y) > 0.9


class TestExposed:
    """Scaling of the textbook's objectives in scikit-learn's classes."""

    def test_least_squares(self):
        X, y = correlated()
        model = LinearRegression(fit_intercept=False).fit(X, y)
        assert_allclose(X.T @ (y - X @ model.coef_), 0, atol=1e-10)
        assert_allclose(model.coef_, np.linalg.lstsq(X, y)[0])
        # b = M y, so that errors of variance 1 in y have the covariance M M' in b.
        M = LinearRegression(fit_intercept=False).fit(X, np.eye(len(y))).coef_.T
        assert_allclose(M @ M.T, np.linalg.inv(X.T @ X), atol=1e-12)

    def test_ridge(self):
        # For 1/2 |y - X b|^2 + lam |b|^2 the solution has 2 lam; printed is lam.
        X, y = correlated()
        lam = 3.0
        b = Ridge(2 * lam, fit_intercept=False).fit(X, y).coef_
        assert_allclose(X.T @ (y - X @ b), 2 * lam * b, atol=1e-9)
        solved = np.linalg.solve(X.T @ X + 2 * lam * np.eye(8), X.T @ y)
        assert_allclose(b, solved)

    def test_lasso(self):
        X, y = correlated()
        lam = 3.0
        b = Lasso(lam / len(y), fit_intercept=False, tol=1e-14).fit(X, y).coef_
        g = X.T @ (y - X @ b)
        assert np.all(np.abs(g) <= lam + 1e-5)
        assert_allclose(g[b != 0], lam * np.sign(b[b != 0]), rtol=1e-5)

    def test_lasso_of_an_orthonormal_design(self):
        rng = np.random.default_rng(0)
        Q = np.linalg.qr(rng.normal(size=(30, 5)))[0]
        y = rng.normal(size=30)
        z = Q.T @ y
        b = Lasso(0.3 / 30, fit_intercept=False, tol=1e-14).fit(Q, y).coef_
        assert_allclose(b, np.sign(z) * np.maximum(np.abs(z) - 0.3, 0), atol=1e-8)

    def test_elastic_net(self):
        X, y = correlated()
        lam1, lam2 = 3.0, 2.0
        model = ElasticNet(
            (lam1 + lam2) / len(y),
            l1_ratio=lam1 / (lam1 + lam2),
            fit_intercept=False,
            tol=1e-14,
        )
        b = model.fit(X, y).coef_
        g = X.T @ (y - X @ b) - lam2 * b
        assert np.all(np.abs(g) <= lam1 + 1e-5)
        assert_allclose(g[b != 0], lam1 * np.sign(b[b != 0]), rtol=1e-5)
        # One more coordinate step, with the length of the column, changes nothing.
        for j in range(8):
            x = X[:, j]
            q = x @ (y - X @ b + x * b[j])
            step = np.sign(q) * max(abs(q) - lam1, 0) / (x @ x + lam2)
            assert_allclose(step, b[j], atol=1e-6)


def test_the_garrote_starts_without_rounding_errors(rng):
    """Centred rows have one direction less than rows, whatever their order."""
    X, y = rng.normal(size=(6, 14)), rng.normal(size=6)
    known = NonNegativeGarrote(alpha=0.1).fit(X, y)
    for _ in range(20):
        order = rng.permutation(6)
        other = NonNegativeGarrote(alpha=0.1).fit(X[order], y[order])
        assert_allclose(other.initial_coef_, known.initial_coef_, rtol=1e-8)
