"""Extreme learning machines: two forms, updates, and AL-ELM."""

# SPDX-License-Identifier: BSD-3-Clause

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn.datasets import make_moons
from sklearn.linear_model import Ridge

from fewlabels.active import (
    ActiveELMClassifier,
    ELMClassifier,
    ELMRegressor,
    elm_start,
    elm_update,
    elm_weights,
    margin,
)
from fewlabels.datasets import hide_labels


class TestWeights:
    @pytest.mark.parametrize("shape", [(8, 30), (30, 8), (10, 10)])
    def test_both_forms_are_equal(self, rng, shape):
        """Push-through, also with singular Gram matrices."""
        H = rng.normal(size=(shape[0], 3)) @ rng.normal(size=(3, shape[1]))
        Y = rng.normal(size=(shape[0], 2))
        one = np.linalg.solve(H.T @ H + 0.1 * np.eye(shape[1]), H.T @ Y)
        two = H.T @ np.linalg.solve(H @ H.T + 0.1 * np.eye(shape[0]), Y)
        assert_allclose(one, two, atol=1e-10)
        assert_allclose(elm_weights(H, Y, alpha=0.1), one, atol=1e-10)

    def test_no_ridge_is_the_pseudo_inverse(self, rng):
        H, Y = rng.normal(size=(6, 20)), rng.normal(size=(6, 2))
        B = elm_weights(H, Y, alpha=0.0)
        assert_allclose(B, np.linalg.pinv(H) @ Y)
        assert_allclose(elm_weights(H, Y, alpha=1e-9), B, atol=1e-7)
        assert_allclose(H @ B, Y)

    def test_updates_are_the_batch(self, rng):
        H, Y = rng.normal(size=(40, 12)), rng.normal(size=(40, 3))
        state = elm_start(H[:5], Y[:5], alpha=0.3)
        for block in (slice(5, 6), slice(6, 20), slice(20, 40)):
            state = elm_update(state, H[block], Y[block])
        assert_allclose(state.B, elm_weights(H, Y, alpha=0.3), atol=1e-11)
        inverse = np.linalg.inv(H.T @ H + 0.3 * np.eye(12))
        assert_allclose(state.inverse, inverse, atol=1e-12)

    def test_wrong_ridge(self):
        with pytest.raises(ValueError, match="alpha must be >= 0"):
            elm_weights(np.eye(2), np.eye(2), alpha=-1)
        with pytest.raises(ValueError, match="alpha must be positive"):
            elm_start(np.eye(2), np.eye(2), alpha=0)


class TestEstimators:
    @pytest.mark.parametrize("activation", ["sigmoid", "tanh", "relu", "sin"])
    def test_ridge_on_the_layer(self, rng, activation):
        X, y = rng.normal(size=(40, 3)), rng.normal(size=(40, 2))
        model = ELMRegressor(15, activation=activation, alpha=0.2, random_state=0)
        model.fit(X, y)
        ridge = Ridge(alpha=0.2, fit_intercept=False).fit(model.layer_(X), y)
        assert_allclose(model.coef_, ridge.coef_.T, atol=1e-8)

    def test_interpolates_with_many_nodes(self, rng):
        X, y = rng.normal(size=(20, 3)), rng.normal(size=20)
        model = ELMRegressor(200, alpha=0.0, random_state=0).fit(X, y)
        assert_allclose(model.predict(X), y, atol=1e-6)

    def test_units_do_not_matter(self, rng):
        X, y = rng.normal(size=(30, 3)), rng.normal(size=30)
        one = ELMRegressor(20, random_state=0).fit(X, y).predict(X)
        two = ELMRegressor(20, random_state=0).fit(1e3 * X, y).predict(1e3 * X)
        assert_allclose(one, two)
        sparse = ELMRegressor(20, random_state=0).fit(csr_array(X), y)
        assert_allclose(sparse.predict(csr_array(X)), one)

    def test_probabilities(self, rng):
        X = rng.normal(size=(60, 2))
        y = rng.integers(3, size=60)
        model = ELMClassifier(10, random_state=0).fit(X, y)
        f = model.decision_function(X)
        s = 1 / (1 + np.exp(-f))
        assert_allclose(model.predict_proba(X), s / s.sum(axis=1, keepdims=True))
        assert_array_equal(model.predict(X), f.argmax(axis=1))
        two = ELMClassifier(10, random_state=0).fit(X, y % 2)
        p = 1 / (1 + np.exp(-two.decision_function(X)))
        assert_allclose(two.predict_proba(X)[:, 1], p)

    def test_only_labelled_rows_count(self):
        X, y_true = make_moons(100, noise=0.1, random_state=0)
        y = hide_labels(y_true, n_labeled=30, random_state=0)
        model = ELMClassifier(40, weight_scale=1.0, random_state=0).fit(X, y)
        known = y != -1
        alone = ELMClassifier(40, weight_scale=1.0, random_state=0)
        alone.fit(X[known], y[known])
        assert_allclose(model.coef_, alone.coef_)

    def test_constant_rows(self):
        model = ELMRegressor(5, random_state=0).fit(np.ones((4, 2)), [1.0, 1, 1, 1])
        assert np.isfinite(model.predict(np.ones((2, 2)))).all()


class TestActiveELM:
    def test_rounds(self):
        """The row of least margin is asked, and updates are batch fits."""
        X, y_true = make_moons(120, noise=0.15, random_state=0)
        y = hide_labels(y_true, n_labeled=6, random_state=0)
        model = ActiveELMClassifier(60, budget=12, random_state=0)
        model.fit(X, y, oracle=lambda rows: y_true[rows])
        known = y.copy()
        for asked in model.history_:
            batch = ELMClassifier(60, random_state=0).fit(X, known)
            free = np.flatnonzero(known == -1)
            u = margin(batch.predict_proba(X[free]))
            assert asked.indices[0] == free[u.argmax()]
            assert_allclose(asked.utilities, u.max(), atol=1e-7)
            known[asked.indices] = y_true[asked.indices]
        batch = ELMClassifier(60, random_state=0).fit(X, known)
        assert_allclose(model.coef_, batch.coef_, atol=1e-7)
        assert_array_equal(model.y_, known)

    def test_a_class_that_comes_later(self, rng):
        X = np.vstack(
            [rng.normal(size=(20, 2)) + 6 * np.eye(2)[c % 2] * c for c in range(3)]
        )
        y_true = np.repeat([0, 1, 2], 20)
        y = np.full(60, -1)
        y[[0, 20]] = 0, 1
        model = ActiveELMClassifier(40, batch_size=5, random_state=0)
        model.fit(X, y, oracle=lambda rows: y_true[rows])
        assert_array_equal(model.classes_, [0, 1, 2])
        batch = ELMClassifier(40, random_state=0).fit(X, y_true)
        assert_allclose(model.coef_, batch.coef_, atol=1e-6)


@pytest.mark.parametrize("make", [np.asarray, csr_array])
@pytest.mark.parametrize("unit", [2.0**-300, 2.0**300])
def test_values_without_a_spread_have_a_size(make, unit):
    """Rounding errors of a constant are no spread, and no unit changes the answers."""
    X, y = np.full((9, 1), 0.1), np.arange(9) % 2
    asked = np.array([[0.0], [0.1], [0.2]])
    known = ELMClassifier(20, random_state=0).fit(X, y).decision_function(asked)
    model = ELMClassifier(20, random_state=0).fit(make(X * unit), y)
    assert_allclose(model.decision_function(asked * unit), known)
