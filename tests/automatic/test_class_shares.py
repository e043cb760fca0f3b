"""Shares of the classes among unlabelled rows."""

# SPDX-License-Identifier: BSD-3-Clause

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import softmax

from fewlabels import FewLabelsClassifier
from fewlabels.automatic._class_shares import (
    drawn_by_class,
    estimated_shares,
    known_shares,
    matching_offsets,
)


@pytest.mark.parametrize(
    ("counts", "answer"),
    [
        ([3, 3, 3], True),
        ([10, 10, 7], True),  # a class that has no more rows
        ([10, 10, 10, 10, 2], True),
        ([1, 1, 1], False),  # which says nothing
        ([5, 6], False),
        ([20, 3, 3], False),
        ([4, 4], True),
    ],
)
def test_labels_drawn_class_by_class(counts, answer):
    assert drawn_by_class(np.array(counts)) is answer


def test_sure_rows_tell_the_shares():
    p = np.repeat(np.eye(3), [70, 20, 10], axis=0)
    equal = np.full(3, 1 / 3)
    estimate = estimated_shares(0.98 * p + 0.02 / 3, equal, 60)
    assert estimate[0] > 0.6
    fewer = estimated_shares(0.98 * p + 0.02 / 3, equal, 9)
    assert 0.45 < fewer[0] < estimate[0]
    assert_allclose(estimate.sum(), 1)
    assert np.all(estimate > 0.1)


def test_vague_rows_change_little():
    p = np.full((50, 2), 0.5)
    p[:, 0] += 0.005
    p[:, 1] -= 0.005
    assert_allclose(estimated_shares(p, np.array([0.5, 0.5]), 20), 0.5, atol=0.03)


def test_offsets_give_the_shares_that_are_asked_for():
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(400, 4)) * 3
    shares = np.array([0.7, 0.2, 0.05, 0.05])
    offsets = matching_offsets(logits, shares)
    found = softmax(logits + offsets, axis=1).mean(axis=0)
    assert_allclose(found, shares, atol=2e-4)


def test_shares_as_users_give_them():
    classes = np.array(["a", "b"])
    assert_array_equal(known_shares("uniform", classes), [0.5, 0.5])
    assert_array_equal(known_shares({"b": 30, "a": 10}, classes), [0.25, 0.75])
    assert_array_equal(known_shares([1, 4], classes), [0.2, 0.8])
    with pytest.raises(ValueError, match="no share for 'b'"):
        known_shares({"a": 1}, classes)
    with pytest.raises(ValueError, match="one share for each of the 2 classes"):
        known_shares([1, 2, 3], classes)
    with pytest.raises(ValueError, match="positive"):
        known_shares([0.0, 1.0], classes)


@pytest.fixture(scope="module")
def lopsided():
    """Two classes that overlap, one of them nine times as large as the other."""
    rng = np.random.default_rng(0)
    y = (np.arange(400) >= 360).astype(int)
    X = rng.normal(size=(400, 3)) + 1.3 * y[:, None]
    labels = np.full(400, -1)
    labels[:6], labels[-6:] = 0, 1  # drawn class by class
    return X, y, labels


def answers(lopsided, **params):
    X, y, labels = lopsided
    model = FewLabelsClassifier(bank="fast", random_state=0, **params).fit(X, labels)
    rows = labels < 0
    return model, np.mean(model.transduction_[rows] != y[rows])


def test_unlabelled_rows_tell_that_a_class_is_large(lopsided):
    labels_only, error = answers(lopsided, class_prior="labels")
    assert_allclose(labels_only.class_shares_, [0.5, 0.5])
    auto, auto_error = answers(lopsided)
    assert auto.class_shares_[0] > 0.55
    assert auto_error < error
    known, known_error = answers(lopsided, class_prior={0: 360, 1: 40})
    assert_allclose(known.class_shares_, [0.9, 0.1])
    assert known_error < error
    X, _, labels = lopsided
    shares = known.predict_proba(X[labels < 0]).mean(axis=0)
    assert_allclose(shares, [0.9, 0.1], atol=0.05)
    weighted, _ = answers(lopsided, class_weight="balanced")
    assert_allclose(weighted.class_shares_, [0.5, 0.5])


def test_weights_of_labels(lopsided):
    X, _, labels = lopsided
    weights = np.ones(400)
    weights[:2] = 0.0
    model = FewLabelsClassifier(bank="fast", random_state=0)
    model.fit(X, labels, sample_weight=weights)
    without = np.where(weights > 0, labels, -1)
    same = FewLabelsClassifier(bank="fast", random_state=0).fit(X, without)
    assert_array_equal(model.labeled_indices_, same.labeled_indices_)
    assert_allclose(model.decision_function(X), same.decision_function(X))
    weights[labels == 0] = 0.0
    assert_array_equal(model.fit(X, labels, sample_weight=weights).classes_, [1])
    with pytest.raises(ValueError, match="sample_weight is zero for every label"):
        model.fit(X, labels, sample_weight=(labels < 0).astype(float))


def test_given_sizes_with_one_label_of_many_classes():
    rng = np.random.default_rng(0)
    sizes = np.array([60, 60, 60, 60, 30, 30, 30, 30])
    y = np.repeat(np.arange(8), sizes)
    X = rng.normal(size=(8, 40))[y] + 0.6 * rng.normal(size=(360, 40))
    labels = np.full(360, -1)
    first = np.unique(y, return_index=True)[1]
    labels[first] = y[first]
    model = FewLabelsClassifier(bank="fast", class_prior=sizes, random_state=0)
    model.fit(X, labels)
    assert model._bank.kind == "pixels"
    found = np.bincount(model.transduction_, minlength=8)
    assert np.abs(found - sizes).max() <= 3
