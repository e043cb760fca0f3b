"""Principal component regression, and partial least squares by NIPALS."""

# SPDX-License-Identifier: BSD-3-Clause

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.cross_decomposition import PLSRegression
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline

from fewlabels.regression import (
    PrincipalComponentRegression,
    nipals_pair,
    principal_component_path,
)
from tests.reference.regression import pls_nipals


@pytest.fixture
def problem():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 6)) * [3, 2, 1.5, 1, 0.5, 0.2]
    y = X @ rng.normal(size=6) + rng.normal(size=50)
    return X, y


class TestPrincipalComponents:
    @pytest.mark.parametrize("k", [1, 3, 6])
    def test_same_as_a_pipeline(self, problem, k):
        X, y = problem
        ours = PrincipalComponentRegression(k).fit(X, y)
        theirs = make_pipeline(PCA(k), LinearRegression()).fit(X, y)
        assert_allclose(ours.predict(X), theirs.predict(X))

    def test_all_components_are_least_squares(self, problem):
        X, y = problem
        model = PrincipalComponentRegression().fit(X, y)
        ols = LinearRegression().fit(X, y)
        assert_allclose(model.coef_, ols.coef_)
        assert_allclose(model.intercept_, ols.intercept_)

    def test_path(self, problem):
        X, y = problem
        Xc, yc = X - X.mean(axis=0), y - y.mean()
        path = principal_component_path(Xc, yc)
        U, sigma, Vt = np.linalg.svd(Xc, full_matrices=False)
        errors = []
        for k, b in enumerate(path, start=1):
            model = PrincipalComponentRegression(k).fit(X, y)
            assert_allclose(b, model.coef_, atol=1e-12)
            gamma = U[:, :k].T @ yc / sigma[:k]
            assert_allclose(np.abs(model.gamma_), np.abs(gamma), atol=1e-12)
            # The coefficients lie in the span of the directions.
            assert_allclose(Vt[:k].T @ (Vt[:k] @ b), b, atol=1e-12)
            errors.append(np.sum((yc - Xc @ b) ** 2))
        assert np.all(np.diff(errors) <= 1e-12)
        assert_allclose(principal_component_path(Xc, yc, 2), path[:2])

    def test_rows_without_a_target_shape_the_components(self, problem):
        X, y = problem
        holes = np.where(np.arange(50) < 10, y, np.nan)
        model = PrincipalComponentRegression(2).fit(X, holes)
        scores = PCA(2).fit(X).transform(X)
        theirs = LinearRegression().fit(scores[:10], y[:10])
        assert_allclose(model.predict(X), theirs.predict(scores))

    def test_rank(self):
        X = np.ones((5, 3))
        X[:, 0] = np.arange(5)
        model = PrincipalComponentRegression().fit(X, 2 * np.arange(5.0) + 1)
        assert model.n_components_ == 1
        assert_allclose(model.coef_, [2, 0, 0], atol=1e-12)
        assert_allclose(model.predict(X), 2 * np.arange(5.0) + 1)
        nothing = PrincipalComponentRegression().fit(X * 0 + 0.1, np.arange(5.0))
        assert nothing.n_components_ == 0
        assert_allclose(nothing.predict(X), 2.0)

    def test_too_many(self, problem):
        with pytest.raises(ValueError, match="n_components=7 is more than the 6"):
            PrincipalComponentRegression(7).fit(*problem)


class TestNipals:
    @pytest.fixture
    def blocks(self):
        rng = np.random.default_rng(3)
        X = rng.normal(size=(60, 5)) @ rng.normal(size=(5, 5))
        Y = X @ rng.normal(size=(5, 3)) + 0.5 * rng.normal(size=(60, 3))
        return X - X.mean(axis=0), Y - Y.mean(axis=0)

    def test_pair_is_the_first_singular_pair(self, blocks):
        X, Y = blocks
        pair = nipals_pair(X, Y, tol=1e-14)
        U, s, Vt = np.linalg.svd(X.T @ Y)
        assert_allclose(np.abs(pair.x_weights @ U[:, 0]), 1, rtol=1e-12)
        assert_allclose(np.abs(pair.y_weights @ Vt[0]), 1, rtol=1e-12)
        assert_allclose(pair.x_weights @ X.T @ Y @ pair.y_weights, s[0])
        assert_allclose(pair.x_scores, X @ pair.x_weights)
        assert_allclose(pair.y_scores, Y @ pair.y_weights)

    def test_pair_without_anything_in_common(self):
        pair = nipals_pair([[1.0], [-1.0], [0.0]], [[1.0], [1.0], [-2.0]])
        assert not np.any(pair.x_weights)
        assert not np.any(pair.x_scores)

    def test_a_column_of_zeros_does_not_stop_it(self, blocks):
        X, Y = blocks
        with_zeros = nipals_pair(X, np.c_[np.zeros(60), Y])
        assert_allclose(with_zeros.y_weights[1:], nipals_pair(X, Y).y_weights)

    def test_no_convergence(self, blocks):
        with pytest.warns(ConvergenceWarning, match="max_iter=1 "):
            nipals_pair(*blocks, max_iter=1)

    def test_different_rows(self):
        with pytest.raises(ValueError, match="same rows"):
            nipals_pair(np.eye(3), np.eye(2))

    def test_the_exposed_regression_is_the_algorithm(self, blocks):
        X, Y = blocks
        W, _, P, C, B = pls_nipals(X, Y, 3)
        theirs = PLSRegression(3, scale=False, tol=1e-14, max_iter=10_000).fit(X, Y)
        assert_allclose(theirs.coef_.T, B, atol=1e-10)
        assert_allclose(W @ np.linalg.solve(P.T @ W, C.T), B, atol=1e-10)

    def test_properties(self, blocks):
        X, Y = blocks
        W, T, P, _, _ = pls_nipals(X, Y, 4)
        scores = T.T @ T
        assert_allclose(scores, np.diag(np.diag(scores)), atol=1e-9 * scores.max())
        assert_allclose(W.T @ W, np.eye(4), atol=1e-10)
        mixed = P.T @ W
        assert_allclose(mixed, np.triu(mixed), atol=1e-10)
        assert_allclose(np.diag(mixed), 1)
        crossed = P.T @ np.linalg.pinv(X.T @ X) @ P
        assert_allclose(crossed, np.diag(np.diag(crossed)), atol=1e-10 * crossed.max())

    def test_all_components_are_least_squares(self, blocks):
        X, Y = blocks
        assert_allclose(pls_nipals(X, Y, 5)[4], np.linalg.lstsq(X, Y)[0], atol=1e-9)

    def test_first_pair_of_the_exposed_class(self, blocks):
        X, Y = blocks
        model = PLSRegression(1, scale=False, tol=1e-14, max_iter=10_000).fit(X, Y)
        pair = nipals_pair(X, Y, tol=1e-14)
        assert_allclose(np.abs(model.x_weights_[:, 0] @ pair.x_weights), 1)


def test_rows_with_targets_that_do_not_differ():
    """There is nothing to learn from, whatever rounding says."""
    X, y = np.zeros((17, 1)), np.full(17, np.nan)
    X[[0, 5, 8, 16], 0] = np.array([664, 2070, 1345, -374]) / 1024
    y[[1, 7, 9, 10, 12, 13]] = [1, 1, 1, -1, -1, 1]
    for shift in (0.0, 16.0, 1024.0):
        model = PrincipalComponentRegression(1).fit(X + shift, y)
        assert_array_equal(model.coef_, 0.0)
        assert_allclose(model.predict(X + shift), 1 / 3)
