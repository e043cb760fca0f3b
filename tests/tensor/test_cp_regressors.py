"""The two CP regressions."""

# SPDX-License-Identifier: BSD-3-Clause

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from fewlabels.tensor import (
    CPGroupSparseRegressor,
    CPRidgeRegressor,
    cp_group_sparse,
    cp_ridge,
)
from fewlabels.tensor._algebra import cp_tensor

REGRESSORS = [CPRidgeRegressor, CPGroupSparseRegressor]


def planted(rng, n=150, shape=(5, 4, 3), rank=2, noise=0.1):
    factors = [rng.normal(size=(size, rank)) for size in shape]
    W = cp_tensor(factors)
    X = rng.normal(size=(n, *shape)) + 0.3
    y = np.tensordot(X, W, W.ndim) + 2 + noise * rng.normal(size=n)
    return X, y, W


def ridge_objective(X, y, W, b, alpha):
    residual = y - np.tensordot(X, W, W.ndim) - b
    return 0.5 * residual @ residual + 0.5 * alpha * np.sum(W**2)


def sparse_objective(X, y, factors, b, alpha):
    residual = y - np.tensordot(X, cp_tensor(factors), len(factors)) - b
    sizes = np.sqrt(sum((U**2).sum(axis=0) for U in factors))
    return 0.5 * residual @ residual + alpha * sizes.sum()


class TestRidge:
    @pytest.mark.parametrize("alpha", [0.0, 1e-3, 10.0])
    def test_vectors_are_ridge_regression(self, alpha, rng):
        X, y, _ = planted(rng, shape=(6,), rank=1)
        ours = CPRidgeRegressor(n_components=3, alpha=alpha).fit(X, y)
        theirs = Ridge(alpha=alpha).fit(X, y)
        assert ours.rank_ == 1
        assert_allclose(ours.coef_, theirs.coef_, rtol=1e-7)
        assert_allclose(ours.intercept_, theirs.intercept_, rtol=1e-7)

    @pytest.mark.parametrize("n", [15, 200])
    def test_matrices_of_full_rank_are_ridge_regression(self, n, rng):
        X, y, _ = planted(rng, n=n, shape=(5, 4))
        ours = CPRidgeRegressor(n_components=9, alpha=2.0).fit(X, y)
        theirs = Ridge(alpha=2.0).fit(X.reshape(n, -1), y)
        assert ours.rank_ == 4
        assert_allclose(ours.coef_.ravel(), theirs.coef_, atol=1e-8)
        best = ridge_objective(X, y, theirs.coef_.reshape(5, 4), theirs.intercept_, 2.0)
        assert_allclose(ours.objectives_[-1], best)

    @pytest.mark.parametrize("rank", [1, 2, 4])
    def test_the_objective_never_rises(self, rank, rng):
        X, y, _ = planted(rng)
        found = cp_ridge(X, y, rank, alpha=1.0)
        assert (np.diff(found.objectives) <= 1e-9 * found.objectives[0]).all()
        W = cp_tensor(found.factors)
        assert_allclose(
            found.objectives[-1], ridge_objective(X, y, W, found.intercept, 1.0)
        )

    def test_each_step_is_the_optimum(self, rng):
        """No factor can be improved while the others stay."""
        X, y, _ = planted(rng, n=60, shape=(3, 4, 2))
        found = cp_ridge(X, y, 2, alpha=3.0, tol=1e-10, max_iter=5000)
        for m in range(3):

            def objective(theta, m=m):
                factors = list(found.factors)
                factors[m] = theta[:-1].reshape(factors[m].shape)
                return ridge_objective(X, y, cp_tensor(factors), theta[-1], 3.0)

            start = rng.normal(size=found.factors[m].size + 1)
            best = minimize(objective, start, method="BFGS", options={"gtol": 1e-6})
            assert found.objectives[-1] <= best.fun + 1e-6 * abs(best.fun)

    def test_rows_of_equal_norm(self, rng):
        X, y, _ = planted(rng)
        norms = [np.linalg.norm(U, axis=0) for U in cp_ridge(X, y, 2).factors]
        assert_allclose(norms, np.tile(norms[0], (3, 1)))

    def test_planted_weights(self, rng):
        X, y, W = planted(rng)
        model = CPRidgeRegressor(n_components=2, alpha=1e-3, n_init=3, random_state=0)
        model.fit(X, y)
        assert np.linalg.norm(model.coef_ - W) < 0.05 * np.linalg.norm(W)
        assert_allclose(model.intercept_, 2, atol=0.2)

    def test_better_than_all_entries_for_few_rows(self, rng):
        X, y, _ = planted(rng, n=1000, shape=(10, 10), noise=1.0)
        ours = CPRidgeRegressor(n_components=2, n_init=3, random_state=0)
        ours.fit(X[:90], y[:90])
        flat = Ridge().fit(X[:90].reshape(90, -1), y[:90])
        theirs = flat.score(X[90:].reshape(910, -1), y[90:])
        assert ours.score(X[90:], y[90:]) > theirs + 0.05


class TestGroupSparse:
    def test_prunes_to_the_planted_rank(self, rng):
        X, y, W = planted(rng, n=300)
        model = CPGroupSparseRegressor(6, alpha=3.0).fit(X, y)
        assert model.rank_ == 2
        assert np.linalg.norm(model.coef_ - W) < 0.05 * np.linalg.norm(W)
        assert [U.shape for U in model.factors_] == [(5, 2), (4, 2), (3, 2)]

    def test_the_objective_never_rises(self, rng):
        X, y, _ = planted(rng, n=100)
        found = cp_group_sparse(X, y, 4, alpha=2.0, prune_tol=0.0, max_iter=100)
        assert (np.diff(found.objectives) <= 1e-9 * found.objectives[0]).all()
        # The last balance of norms may lower the penalty once more.
        final = sparse_objective(X, y, found.factors, found.intercept, 2.0)
        assert final <= found.objectives[-1] + 1e-9
        assert_allclose(final, found.objectives[-1], rtol=1e-3)

    def test_the_end_is_stationary(self, rng):
        X, y, _ = planted(rng, n=100, shape=(4, 3))
        found = cp_group_sparse(X, y, 3, alpha=2.0, tol=1e-10, max_iter=20_000)
        shapes = [U.shape for U in found.factors]
        sizes = np.cumsum([0, *[U.size for U in found.factors]])

        def objective(theta):
            factors = [
                theta[a:b].reshape(shape)
                for a, b, shape in zip(sizes[:-1], sizes[1:], shapes, strict=True)
            ]
            return sparse_objective(X, y, factors, theta[-1], 2.0)

        theta = np.append(
            np.concatenate([U.ravel() for U in found.factors]), found.intercept
        )
        step = 1e-5
        gradient = [
            (objective(theta + step * e) - objective(theta - step * e)) / (2 * step)
            for e in np.eye(theta.size)
        ]
        assert np.abs(gradient).max() < 1e-3

    def test_more_price_lower_rank(self, rng):
        X, y, _ = planted(rng, n=100, noise=2.0, shape=(5, 4))
        ranks = [
            CPGroupSparseRegressor(4, alpha=alpha, tol=1e-4).fit(X, y).rank_
            for alpha in (3.0, 30.0, 1000.0, 1e5)
        ]
        assert ranks == sorted(ranks, reverse=True)
        assert ranks[-1] == 0

    def test_rank_zero_is_the_mean(self, rng):
        X, y, _ = planted(rng, n=30, shape=(3, 3))
        model = CPGroupSparseRegressor(alpha=1e6).fit(X, y)
        assert_allclose(model.predict(X), y.mean())
        assert_array_equal(model.coef_, np.zeros((3, 3)))

    def test_vectors_are_the_group_lasso_of_one_group(self, rng):
        """min 0.5 |y - Xw|^2 + alpha |w|: ridge regression with price alpha / |w|."""
        X, y, _ = planted(rng, shape=(5,), rank=1)
        model = CPGroupSparseRegressor(alpha=20.0, tol=1e-12, max_iter=5000).fit(X, y)
        w = model.coef_
        same = Ridge(alpha=20.0 / np.linalg.norm(w)).fit(X, y)
        assert_allclose(w, same.coef_, rtol=1e-6)


@pytest.mark.parametrize("regressor", REGRESSORS)
class TestBoth:
    def test_both_forms_of_x(self, regressor, rng):
        X, y, _ = planted(rng, n=60)
        rows = X.reshape(60, -1)
        a = regressor(2).fit(X, y)
        b = regressor(2, shape=(5, 4, 3)).fit(rows, y)
        assert_allclose(a.coef_, b.coef_)
        assert_allclose(a.predict(rows), b.predict(X))
        assert a.n_features_in_ == 60

    def test_in_a_pipeline(self, regressor, rng):
        X, y, _ = planted(rng)
        model = make_pipeline(StandardScaler(), regressor(2, shape=(5, 4, 3)))
        rows = X.reshape(len(X), -1)
        assert model.fit(rows, y).score(rows, y) > 0.9

    def test_rows_without_a_target_are_left_out(self, regressor, rng):
        X, y, _ = planted(rng, n=80)
        holes = np.where(np.arange(80) < 60, y, np.nan)
        a = regressor(2).fit(X, holes)
        b = regressor(2).fit(X[:60], y[:60])
        assert_array_equal(a.coef_, b.coef_)

    def test_constant_tensors(self, regressor):
        model = regressor(2).fit(np.ones((4, 2, 2)), [1.0, 2.0, 3.0, 4.0])
        assert_array_equal(model.coef_, np.zeros((2, 2)))
        assert_allclose(model.predict(np.ones((1, 2, 2))), 2.5)

    def test_constant_target(self, regressor, rng):
        model = regressor(2).fit(rng.normal(size=(5, 2, 2)), np.ones(5))
        assert_allclose(model.predict(np.ones((1, 2, 2))), 1)

    def test_too_few_sweeps_are_reported(self, regressor, rng):
        X, y, _ = planted(rng)
        with pytest.warns(ConvergenceWarning, match="max_iter=1 "):
            regressor(2, max_iter=1).fit(X, y)

    def test_more_starts_are_no_worse(self, regressor, rng):
        X, y, _ = planted(rng, n=60, noise=1.0)
        one = regressor(2, tol=1e-3, random_state=0).fit(X, y)
        many = regressor(2, tol=1e-3, n_init=3, random_state=0).fit(X, y)
        one, many = one.objectives_[-1], many.objectives_[-1]
        assert many <= one + 1e-9
