"""LogitBoost, Gentle AdaBoost, and the AdaBoost of scikit-learn."""

# SPDX-License-Identifier: BSD-3-Clause

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize_scalar
from scipy.special import expit
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neighbors import KNeighborsRegressor
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from fewlabels.ensemble import (
    GentleAdaBoostClassifier,
    LogitBoostClassifier,
    expit2,
    gentle_adaboost,
    half_logit,
    logit_boost,
)

BOOSTERS = [LogitBoostClassifier, GentleAdaBoostClassifier]


def two_classes(n=200, seed=0):
    """Balanced classes with some noise, fewer than 255 distinct values."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 6))
    score = X[:, 0] + np.sin(2 * X[:, 1]) + 0.5 * rng.normal(size=n)
    return X, (score > np.median(score)).astype(int)


class TestCriterion:
    @pytest.mark.parametrize("p", [0.1, 0.5, 0.83])
    def test_half_the_log_odds_minimise_it(self, p):
        found = minimize_scalar(lambda F: p * np.exp(-F) + (1 - p) * np.exp(F))
        assert_allclose(half_logit(p), found.x, atol=1e-6)

    def test_inverse(self):
        p = np.linspace(0.01, 0.99, 9)
        assert_allclose(expit2(half_logit(p)), p)


class TestLogitBoost:
    @pytest.mark.parametrize("depth", [1, 2])
    def test_equals_histogram_boosting(self, depth):
        X, y = two_classes()
        theirs = HistGradientBoostingClassifier(
            learning_rate=1,
            max_iter=15,
            max_depth=depth,
            max_leaf_nodes=2**depth,
            min_samples_leaf=1,
            l2_regularization=0,
            early_stopping=False,
        ).fit(X, y)
        ours = LogitBoostClassifier(
            DecisionTreeRegressor(max_depth=depth),
            n_estimators=15,
            z_max=None,
            random_state=0,
        ).fit(X, y)
        assert_allclose(
            2 * ours.decision_function(X), theirs.decision_function(X), atol=1e-7
        )

    def test_linear_learner_ends_at_logistic_regression(self):
        X, y = two_classes()
        ours = LogitBoostClassifier(LinearRegression(), n_estimators=15, z_max=None)
        ours.fit(X, y)
        theirs = LogisticRegression(C=np.inf, tol=1e-12, solver="newton-cholesky")
        theirs.fit(X, y)
        assert_allclose(
            2 * ours.decision_function(X), theirs.decision_function(X), atol=1e-8
        )
        assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-8)

    def test_two_classes_of_many(self):
        """With J = 2 the symmetric algorithm does the steps of the plain one."""
        X, y = two_classes()
        one = logit_boost(X, y, n_estimators=5, random_state=0)
        # A third class that no row belongs to would change J; so do it by hand.
        F = np.zeros((len(y), 2))
        Y = np.eye(2)[y]
        for _ in range(5):
            p = np.exp(F) / np.exp(F).sum(axis=1, keepdims=True)
            w = p * (1 - p)
            z = np.clip((Y - p) / w, -4, 4)
            f = np.column_stack(
                [
                    DecisionTreeRegressor(max_depth=1, random_state=0)
                    .fit(X, z[:, j], sample_weight=w[:, j])
                    .predict(X)
                    for j in range(2)
                ]
            )
            F += 0.5 * (f - f.mean(axis=1, keepdims=True))
        assert_allclose(one.outputs[:, 0], F[:, 1], atol=1e-9)
        assert_allclose(F[:, 0], -F[:, 1], atol=1e-9)

    def test_criterion_is_the_log_loss(self):
        X, y = load_iris(return_X_y=True)
        model = LogitBoostClassifier(n_estimators=8, random_state=0).fit(X, y)
        p = model.predict_proba(X)
        assert_allclose(p.sum(axis=1), 1)
        assert_allclose(model.criterion_[-1], -np.log(p[np.arange(150), y]).mean())
        assert model.criterion_[-1] < model.criterion_[0]

    def test_a_wrong_label_in_a_sure_region_is_bounded(self):
        X = np.r_[np.zeros(50), np.ones(51)][:, None]
        y = np.r_[np.zeros(50, int), np.ones(50, int), 0]
        model = LogitBoostClassifier(n_estimators=200).fit(X, y)
        assert np.isfinite(model.decision_function(X)).all()
        # The responses in the right region are 1.02 and at most -4 in absolute value.
        assert model.predict_proba([[1.0]])[0, 1] > 50 / 51 - 0.01

    def test_separable_rows_stay_finite(self):
        X = np.arange(10.0)[:, None]
        y = (X[:, 0] > 4).astype(int)
        for z_max in (4.0, None):
            model = LogitBoostClassifier(n_estimators=300, z_max=z_max).fit(X, y)
            assert np.isfinite(model.criterion_).all()
            assert_array_equal(model.predict(X), y)


class TestGentle:
    def test_leaf_values_are_differences_of_weighted_shares(self):
        X, y = two_classes()
        model = GentleAdaBoostClassifier(n_estimators=6, random_state=0).fit(X, y)
        signs = 2 * y - 1
        F = np.zeros(len(y))
        for (stump,) in model.estimators_:
            w = np.exp(-signs * F)
            w /= w.sum()
            f = stump.predict(X)
            leaves = stump.apply(X)
            for leaf in np.unique(leaves):
                inside = leaves == leaf
                up = w[inside & (y == 1)].sum()
                down = w[inside & (y == 0)].sum()
                assert_allclose(f[inside], (up - down) / (up + down), atol=1e-6)
                # The criterion of this leaf shrinks by exactly this factor.
                before = w[inside].sum()
                after = (w * np.exp(-signs * f))[inside].sum()
                value = f[inside][0]
                factor = np.cosh(value) - value * np.sinh(value)
                assert_allclose(after / before, factor, rtol=1e-6)
                assert factor <= 1
            assert np.abs(f).max() <= 1
            F += f
        assert_allclose(model.decision_function(X), F)
        assert_allclose(model.criterion_[-1], np.exp(-signs * F).mean())
        assert (np.diff(model.criterion_) <= 0).all()

    def test_weights_multiplied_round_by_round(self):
        """The weights as the algorithm is written, updated and normalised."""
        X, y = two_classes(100)
        signs = 2.0 * y - 1
        w = np.full(100, 0.01)
        F = np.zeros(100)
        for _ in range(8):
            stump = DecisionTreeRegressor(max_depth=1, random_state=0)
            f = stump.fit(X, signs, sample_weight=w).predict(X)
            F += f
            w *= np.exp(-signs * f)
            w /= w.sum()
            assert_allclose(w, np.exp(-signs * F) / np.exp(-signs * F).sum())
        ours = gentle_adaboost(X, y, n_estimators=8, random_state=0)
        assert_allclose(ours.outputs[:, 0], F, atol=1e-9)

    def test_more_classes_are_one_against_the_rest(self):
        X, y = load_iris(return_X_y=True)
        model = GentleAdaBoostClassifier(n_estimators=5, random_state=0).fit(X, y)
        F = model.decision_function(X)
        for k in range(3):
            alone = gentle_adaboost(X, (y == k).astype(int), n_estimators=5)
            assert_allclose(
                alone.criterion[-1], np.exp(-(2.0 * (y == k) - 1) * F[:, k]).mean()
            )
        p = model.predict_proba(X)
        assert_allclose(p.sum(axis=1), 1)
        assert_array_equal(p.argmax(axis=1), F.argmax(axis=1))


@pytest.mark.parametrize("booster", BOOSTERS)
class TestBoth:
    def test_staged_outputs(self, booster):
        X, y = two_classes(80)
        model = booster(n_estimators=4, random_state=0).fit(X, y)
        stages = list(model.staged_decision_function(X))
        assert len(stages) == 4
        assert_array_equal(stages[-1], model.decision_function(X))
        signs = 2 * y - 1
        for F, value in zip(stages, model.criterion_, strict=True):
            loss = (
                np.log1p(np.exp(-2 * signs * F))
                if booster is LogitBoostClassifier
                else np.exp(-signs * F)
            )
            assert_allclose(loss.mean(), value)

    def test_weights_are_copies(self, booster):
        X, y = two_classes(80)
        weights = 1 + (np.arange(80) % 3 == 0)
        rows = np.repeat(np.arange(80), weights)
        learner = DecisionTreeRegressor(max_depth=1)
        a = booster(learner, n_estimators=5, random_state=0)
        b = booster(learner, n_estimators=5, random_state=0)
        a.fit(X, y, sample_weight=weights)
        b.fit(X[rows], y[rows])
        assert_allclose(a.decision_function(X), b.decision_function(X), atol=1e-9)

    def test_weights_of_unlabelled_rows_do_not_matter(self, booster):
        X, y = two_classes(80)
        holes = np.where(np.arange(80) < 40, y, -1)
        weights = np.where(np.arange(80) < 40, 1.0, 100.0)
        a = booster(n_estimators=3, random_state=0).fit(X, holes, sample_weight=weights)
        b = booster(n_estimators=3, random_state=0).fit(X[:40], y[:40])
        assert_array_equal(a.decision_function(X), b.decision_function(X))
        assert_array_equal(a.transduction_[40:], b.predict(X[40:]))

    def test_a_learner_without_weights_is_refused(self, booster):
        X, y = two_classes(20)
        with pytest.raises(ValueError, match="takes no sample_weight"):
            booster(KNeighborsRegressor()).fit(X, y)

    def test_zero_weights_are_refused(self, booster):
        X, y = two_classes(20)
        holes = np.where(np.arange(20) < 10, y, -1)
        with pytest.raises(ValueError, match="positive sum on labelled rows"):
            booster().fit(X, holes, sample_weight=np.arange(20) >= 10)

    def test_one_class(self, booster):
        X, _ = two_classes(20)
        with pytest.warns(UserWarning, match="single class"):
            model = booster().fit(X, np.zeros(20, int))
        assert_array_equal(model.predict(X), 0)
        assert_array_equal(model.predict_proba(X), 1)

    def test_constant_features_give_the_prior(self, booster):
        X = np.zeros((10, 2))
        y = np.r_[np.zeros(3, int), np.ones(7, int)]
        p = booster(n_estimators=30).fit(X, y).predict_proba(X)
        assert_allclose(p[:, 1], 0.7, atol=1e-6)

    def test_better_than_the_weak_learner(self, booster):
        X, y = load_breast_cancer(return_X_y=True)
        stump = DecisionTreeClassifier(max_depth=1).fit(X[::2], y[::2])
        model = booster(random_state=0).fit(X[::2], y[::2])
        gain = model.score(X[1::2], y[1::2]) - stump.score(X[1::2], y[1::2])
        assert gain > 0.03


def test_probabilities_survive_large_outputs():
    assert_allclose(expit2(400.0), 1)
    assert_allclose(expit2(-400.0), 0, atol=1e-300)
    assert_allclose(expit2(0.3), expit(0.6))


def test_outputs_beyond_the_exponential_are_no_error():
    """A far row that is held wrong has a criterion, though its exponential has none."""
    X = np.array([[-1.0], [-1.1], [1.0], [1.1], [1e6]])
    model = gentle_adaboost(
        X,
        np.array([0, 0, 1, 1, 0]),
        estimator=LinearRegression(fit_intercept=False),
        n_estimators=1,
        sample_weight=[1.0, 1.0, 1.0, 1.0, 1e-13],
    )
    assert np.isfinite(model.criterion).all()
