"""Schapire's three classifiers."""

# SPDX-License-Identifier: BSD-3-Clause

from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_iris, make_moons
from sklearn.dummy import DummyClassifier
from sklearn.tree import DecisionTreeClassifier

from fewlabels.ensemble import (
    ThreeStageBoostClassifier,
    half_wrong_sample,
    three_stage_boost,
)
from fewlabels.ensemble._three_stage import settle


@pytest.mark.parametrize("b", [0.05, 0.2, 0.35, 0.5])
@pytest.mark.parametrize("split", [0.2, 0.5, 0.7])
def test_error_of_the_vote_in_the_population(b, split):
    """Enumerate who is right where; each errs with b on its own distribution."""
    # On half wrong, half right rows of h1, h2 errs (e_wrong + e_right) / 2 = b of the
    # time. How it shares that out between the halves does not matter.
    e_wrong, e_right = 2 * b * split, 2 * b * (1 - split)
    error = 0.0
    for right in product([True, False], repeat=3):
        one, two, three = right
        e_two = e_right if one else e_wrong
        mass = (1 - b if one else b) * (1 - e_two if two else e_two)
        # What h3 does outside of the disputed rows is never asked.
        mass *= 1 - b if three else b
        error += mass * (not settle(np.array(right)[:, None])[0])
    assert_allclose(error, 3 * b**2 - 2 * b**3)


def test_sample_is_half_wrong():
    wrong = np.arange(30) < 4
    for n in (10, 11, 200):
        rows = half_wrong_sample(wrong, n, random_state=0)
        assert rows.size == n
        assert wrong[rows].sum() == n // 2


@pytest.mark.parametrize("wrong", [np.zeros(4, bool), np.ones(4, bool)])
def test_half_of_nothing(wrong):
    with pytest.raises(ValueError, match="both kinds"):
        half_wrong_sample(wrong, 4)


def test_samples_are_filtered():
    X, y = make_moons(300, noise=0.2, random_state=0)
    model = three_stage_boost(X, y, n_samples=100, random_state=0)
    one, two, _ = model.estimators
    first, second, third = model.samples
    assert len(np.unique(first)) == 100
    assert np.mean(one.predict(X[second]) != y[second]) == 0.5
    assert (one.predict(X[third]) != two.predict(X[third])).all()


def test_vote():
    X, y = make_moons(300, noise=0.2, random_state=0)
    model = ThreeStageBoostClassifier(
        DecisionTreeClassifier(max_depth=2), random_state=0
    ).fit(X, y)
    votes = np.array([voter.predict(X) for voter in model.estimators_])
    assert_array_equal(model.predict(X), votes.sum(axis=0) >= 2)
    assert model.score(X, y) > model.estimators_[0].score(X, y) + 0.02


def test_a_perfect_first_classifier_stays_alone():
    X, y = load_iris(return_X_y=True)
    model = ThreeStageBoostClassifier(DecisionTreeClassifier()).fit(X, y)
    assert len(model.estimators_) == 1
    assert_array_equal(model.predict(X), y)


def test_no_dispute():
    X, y = make_moons(50, random_state=0)
    stubborn = DummyClassifier(strategy="constant", constant=0)
    with pytest.warns(UserWarning, match="better than guessing"):
        model = ThreeStageBoostClassifier(stubborn).fit(X, y)
    assert len(model.estimators_) == 1


def test_rows_of_samples_are_rows_of_all():
    X, y = make_moons(200, noise=0.2, random_state=0)
    holes = np.where(np.arange(200) % 2, y, -1)
    model = ThreeStageBoostClassifier(random_state=0).fit(X, holes)
    for sample in model.samples_:
        assert (holes[sample] >= 0).all()


def test_three_classes_always_have_an_answer():
    assert_array_equal(settle(np.array([[0, 0, 1], [1, 0, 2], [2, 1, 0]])), [2, 0, 0])
