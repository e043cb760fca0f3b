"""TrAdaBoost."""

# SPDX-License-Identifier: BSD-3-Clause

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.linear_model import LogisticRegression, Perceptron
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

from fewlabels.transfer import TrAdaBoostClassifier, stack_domains, tradaboost

STUMP = DecisionTreeClassifier(max_depth=1, random_state=0)


@pytest.fixture
def rows(rng):
    """A source with another rule, and noise in both domains."""
    X = rng.normal(size=(150, 3))
    is_source = np.arange(150) < 100
    y = (X[:, 0] + X[:, 1] + 0.5 * rng.normal(size=150) > 0).astype(int)
    y[:40] = X[:40, 2] > 0
    return X, y, is_source


def test_weights_of_the_source_only_fall(rows):
    X, y, is_source = rows
    log_w = tradaboost(STUMP, X, y, is_source, n_estimators=15).log_weights
    assert np.all(np.diff(log_w[:, is_source], axis=0) <= 0)
    assert np.any(np.diff(log_w[:, is_source], axis=0) < 0)


def test_wrong_rows_of_the_target_gain(rows):
    """The sign of the exponent: with 20 % errors a wrong row counts four times."""
    X, y, is_source = rows
    rounds = tradaboost(STUMP, X, y, is_source, n_estimators=10)
    for t, model in enumerate(rounds.estimators):
        wrong = (model.predict(X) != y) & ~is_source
        error = rounds.errors[t]
        assert 0 < error < 0.5
        gain = np.diff(rounds.log_weights, axis=0)[t]
        assert_allclose(gain[wrong], np.log((1 - error) / error))
        assert_allclose(gain[~wrong & ~is_source], 0)


def test_without_a_source_it_is_adaboost(rows):
    """The weights of AdaBoost.M1, computed plainly."""
    X, y, is_source = rows
    X, y = X[~is_source], y[~is_source]
    rounds = tradaboost(STUMP, X, y, np.zeros(50, dtype=bool), n_estimators=8)
    w = np.full(50, 1 / 50)
    for t in range(8):
        ours = np.exp(rounds.log_weights[t])
        assert_allclose(ours / ours.sum(), w, rtol=1e-10)
        wrong = STUMP.fit(X, y, sample_weight=w * 50).predict(X) != y
        error = w[wrong].sum()
        assert_allclose(rounds.errors[t], error)
        w = np.where(wrong, w, w * error / (1 - error))
        w /= w.sum()


def test_hedge_bound_on_the_source(rows):
    """The average loss on the source is near that of its best row."""
    X, y, is_source = rows
    N, n = 30, int(is_source.sum())
    rounds = tradaboost(STUMP, X, y, is_source, n_estimators=N)
    losses = np.array([m.predict(X) != y for m in rounds.estimators])[:, is_source]
    p = np.exp(rounds.log_weights[:-1][:, is_source])
    p /= p.sum(axis=1, keepdims=True)
    bound = losses.sum(axis=0).min() + np.sqrt(2 * N * np.log(n)) + np.log(n)
    assert (p * losses).sum() <= bound


def test_later_half_votes(rows):
    X, y, is_source = rows
    domains = np.where(is_source, 1, -2)
    model = TrAdaBoostClassifier(n_estimators=7, random_state=0)
    model.fit(X, y, sample_domain=domains)
    assert_allclose(model.estimator_weights_[:3], 0)
    assert np.all(model.estimator_weights_[3:] > 0)
    assert_allclose(model.sample_weights_.sum(), 1)
    votes = sum(
        w * (2 * m.predict(X) - 1)
        for m, w in zip(model.estimators_, model.estimator_weights_, strict=True)
    )
    expected = votes / model.estimator_weights_.sum()
    assert_allclose(model.decision_function(X), expected, atol=1e-12)


def test_perfect_and_hopeless_rounds(rng):
    X = rng.normal(size=(40, 1))
    y = (X[:, 0] > 0).astype(int)
    perfect = TrAdaBoostClassifier(n_estimators=3).fit(X, y)
    assert perfect.score(X, y) == 1
    assert np.isfinite(perfect.estimator_weights_).all()
    constant = np.zeros((40, 1))
    balanced = np.arange(40) % 2
    with pytest.warns(UserWarning, match="better than guessing"):
        TrAdaBoostClassifier(n_estimators=3).fit(constant, balanced)


def test_it_finds_the_helpful_rows(rng):
    """A third of the source follows the opposite rule; the target tells which."""
    X_source, X_target = rng.normal(size=(300, 5)), rng.normal(size=(400, 5))
    y_source, y_target = ((X[:, 0] > 0).astype(int) for X in (X_source, X_target))
    wrong = np.arange(300) < 110
    y_source[wrong] = 1 - y_source[wrong]
    few = np.where(np.arange(400) < 20, y_target, -1)
    X, y, domains = stack_domains(X_source, y_source, X_target, few)
    model = TrAdaBoostClassifier(LogisticRegression(), n_estimators=20)
    model.fit(X, y, sample_domain=domains)
    assert model.score(X_target, y_target) > 0.85
    weights = model.sample_weights_
    assert weights[:110].mean() < 0.2 * weights[110:300].mean()


def test_estimators_without_weights():
    with pytest.raises(ValueError, match="takes no sample_weight"):
        TrAdaBoostClassifier(KNeighborsClassifier(1)).fit(np.eye(2), [0, 1])


def test_seeds(rows):
    X, y, is_source = rows
    runs = [
        tradaboost(Perceptron(), X, y, is_source, n_estimators=4, random_state=s)
        for s in (0, 0, 1)
    ]
    assert_allclose(runs[0].log_weights, runs[1].log_weights)
    seeds = [[m.random_state for m in run.estimators] for run in runs]
    assert seeds[0] == seeds[1] != seeds[2]
