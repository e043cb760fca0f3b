"""Classes that have an order."""

# SPDX-License-Identifier: BSD-3-Clause

import pickle

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from fewlabels.automatic import FewLabelsClassifier
from fewlabels.automatic._ordinal import medians, ranks_of


def stars(n_known=40, seed=0):
    """Five classes that cut one noisy direction."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(200, 4))
    f = X[:, 0] + 0.7 * X[:, 1] + 0.5 * rng.normal(size=200)
    truth = np.searchsorted(np.quantile(f, [0.1, 0.3, 0.6, 0.85]), f) + 1
    return X, truth, np.where(np.arange(200) < n_known, truth, -1)


@pytest.fixture(scope="module")
def fitted():
    X, truth, y = stars()
    options = {"bank": "fast", "random_state": 0}
    plain = FewLabelsClassifier(**options).fit(X, y)
    return X, truth, y, plain, FewLabelsClassifier(**options, order="sorted").fit(X, y)


@pytest.mark.parametrize("seed", range(20))
def test_medians_take_the_fewest_steps(seed):
    rng = np.random.default_rng(seed)
    ranks = rng.permutation(5)
    p = rng.dirichlet(np.full(5, 0.5), size=30)
    steps = np.abs(ranks[:, None] - ranks)  # of every class to every other
    assert_array_equal(medians(p, ranks), (p @ steps).argmin(axis=1))


def test_predictions_are_fewer_steps_off(fitted):
    X, truth, y, plain, model = fitted
    asked = y < 0
    off = np.abs(model.transduction_ - truth)[asked].mean()
    assert off <= np.abs(plain.transduction_ - truth)[asked].mean()
    assert model.expected_steps_.low <= off <= model.expected_steps_.high
    wrong = np.mean(model.transduction_ != truth, where=asked)
    assert model.expected_error_.low <= wrong <= model.expected_error_.high
    assert_array_equal(model.predict(X[asked]), model.transduction_[asked])
    assert_array_equal(model.transduction_[~asked], y[~asked])
    assert " steps off." in model.verdict()
    assert plain.expected_steps_ is None
    assert "steps" not in plain.verdict()


def test_named_classes_have_the_same_predictions(fitted):
    X, _, y, _, model = fitted
    names = np.array(["worst", "bad", "fair", "good", "best"], dtype=object)
    named = np.where(y < 0, None, names[np.maximum(y, 1) - 1])
    other = FewLabelsClassifier(bank="fast", random_state=0, order=names)
    other.fit(X, named)
    assert np.mean(other.transduction_ == names[model.transduction_ - 1]) > 0.95
    again = pickle.loads(pickle.dumps(other))
    assert_array_equal(again.predict(X), other.predict(X))


@pytest.mark.parametrize(
    ("order", "message"),
    [(["a", "b"], "order lacks 'c'"), (["a", "b", "c", "a"], "order names a class tw")],
)
def test_orders_that_cannot_be(order, message):
    with pytest.raises(ValueError, match=message):
        ranks_of(order, np.array(["a", "b", "c"]))


def test_a_class_without_a_label_is_a_step():
    assert_array_equal(ranks_of(["low", "middle", "high"], np.array(["high"])), [2])


@pytest.mark.slow
@pytest.mark.parametrize("n_known", [20, 60])
def test_the_interval_of_steps_covers(n_known):
    """Draws of rows and labels; 0.9 less two standard errors of 30 draws."""
    inside = []
    for seed in range(30):
        X, truth, y = stars(n_known, seed)
        model = FewLabelsClassifier(bank="fast", random_state=0, order="sorted")
        off = np.abs(model.fit(X, y).transduction_ - truth)[y < 0].mean()
        inside.append(model.expected_steps_.low <= off <= model.expected_steps_.high)
    assert np.mean(inside) >= 0.9 - 0.11
