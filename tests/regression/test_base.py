"""What all linear regressors have in common."""

# SPDX-License-Identifier: BSD-3-Clause

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from fewlabels.regression import (
    GPSR,
    BerhuRegressor,
    BridgeRegression,
    GroupLasso,
    NonNegativeGarrote,
    PrincipalComponentRegression,
    TotalLeastSquares,
)

PENALIZED = [
    BerhuRegressor(0.01),
    BridgeRegression(0.01),
    GPSR(0.01),
    GroupLasso(0.01, groups=[0, 0, 1, 1, 1]),
    NonNegativeGarrote(0.01),
]
REGRESSORS = [*PENALIZED, PrincipalComponentRegression(), TotalLeastSquares()]


@pytest.fixture
def problem():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 5))
    return X, X @ [2.0, 0.0, -1.0, 0.0, 0.5] + 4 + 0.1 * rng.normal(size=60)


@pytest.mark.parametrize("estimator", REGRESSORS, ids=str)
class TestEveryRegressor:
    def test_fits(self, estimator, problem):
        X, y = problem
        model = clone(estimator).fit(X, y)
        assert model.score(X, y) > 0.98
        assert_allclose(model.predict(X), X @ model.coef_ + model.intercept_)

    def test_holes(self, estimator, problem):
        X, y = problem
        holes = np.where(np.arange(60) < 40, y, np.nan)
        model = clone(estimator).fit(X, holes)
        assert_allclose(model.score(X, holes), model.score(X[:40], y[:40]))
        assert model.score(X[40:], y[40:]) > 0.98

    def test_no_target_at_all(self, estimator, problem):
        X, y = problem
        with pytest.raises(ValueError, match="y has no labelled row"):
            clone(estimator).fit(X, y * np.nan)

    def test_a_constant_target(self, estimator, problem):
        X, _ = problem
        model = clone(estimator).fit(X, np.full(60, 0.1))
        assert_allclose(model.coef_, 0, atol=1e-12)
        assert_allclose(model.predict(X), 0.1)

    def test_constant_features(self, estimator, problem):
        _, y = problem
        model = clone(estimator).fit(np.full((60, 5), 0.1), y)
        assert_array_equal(model.coef_, 0)
        assert_allclose(model.predict(np.ones((2, 5))), y.mean())

    def test_one_row(self, estimator):
        model = clone(estimator).fit([[1.0, 2.0, 3.0, 4.0, 5.0]], [7.0])
        assert_allclose(model.predict([[0.0, 0.0, 0.0, 0.0, 0.0]]), 7.0)


@pytest.mark.parametrize("estimator", PENALIZED, ids=str)
def test_grid_search(estimator, problem):
    pandas = pytest.importorskip("pandas")
    X, y = problem
    X = pandas.DataFrame(X, columns=list("abcde"))
    step = type(estimator).__name__.lower()
    search = GridSearchCV(
        make_pipeline(StandardScaler(), estimator), {f"{step}__alpha": [0.01, 10]}, cv=3
    )
    search.fit(X, y)
    assert search.best_params_ == {f"{step}__alpha": 0.01}
    assert search.best_score_ > 0.95
