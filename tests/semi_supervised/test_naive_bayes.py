"""Naive Bayes with kernel densities."""

# SPDX-License-Identifier: BSD-3-Clause

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import norm

from fewlabels.semi_supervised import KernelNaiveBayes


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], [30, 15])
    X = rng.normal(size=(45, 3)) + y[:, None]
    return X, y


def test_one_feature_is_the_rule_of_bayes(data):
    X, y = data
    X = X[:, [0]]
    model = KernelNaiveBayes().fit(X, y)
    joint = []
    for k in (0, 1):
        rows = X[y == k, 0]
        h = rows.std() * rows.size**-0.2
        density = norm.pdf(X - rows, scale=h).mean(axis=1)
        joint.append(np.mean(y == k) * density)
    expected = np.array(joint).T
    expected /= expected.sum(axis=1, keepdims=True)
    assert_allclose(model.predict_proba(X), expected, rtol=1e-9)


def test_features_multiply(data):
    X, y = data
    model = KernelNaiveBayes(bandwidth=0.5).fit(X, y)
    prior = np.log(model.class_prior_)
    parts = [
        KernelNaiveBayes(bandwidth=0.5).fit(X[:, [j]], y).predict_log_proba(X[:, [j]])
        for j in range(3)
    ]
    joint = np.sum(parts, axis=0) - 2 * prior  # each part holds the prior once
    odds = model.predict_log_proba(X)
    assert_allclose(odds[:, 1] - odds[:, 0], joint[:, 1] - joint[:, 0], atol=1e-9)


def test_order_of_columns(data):
    X, y = data
    plain = KernelNaiveBayes().fit(X, y).predict_proba(X)
    swapped = KernelNaiveBayes().fit(X[:, ::-1], y).predict_proba(X[:, ::-1])
    assert_allclose(plain, swapped, rtol=1e-9)


def test_degenerate():
    X = np.array([[0.0, 1.0], [4.0, 1.0], [1.0, 1.0], [3.5, 1.0]])
    model = KernelNaiveBayes().fit(X, [0, 1, -1, -1])  # one label per class
    assert_array_equal(model.transduction_, [0, 1, 0, 1])
    far = model.predict_proba([[1e6, 1e6]])
    assert_allclose(far.sum(), 1)


def test_scale_does_not_matter(data):
    X, y = data
    plain = KernelNaiveBayes().fit(X, y).predict_proba(X)
    scaled = KernelNaiveBayes().fit(1e3 * X + 5, y).predict_proba(1e3 * X + 5)
    assert_allclose(plain, scaled, rtol=1e-6)


def test_columns_that_are_equal_on_labelled_rows_tell_nothing(rng):
    """Nor does their unit, or how far from there a new row lies."""
    X = rng.normal(size=(20, 2)) + 2.0 * (np.arange(20) % 2)[:, None]
    y = np.where(np.arange(20) < 9, np.arange(20) % 2, -1)
    flat = np.column_stack([X, np.where(y >= 0, 3.0, rng.normal(size=20))])
    expected = KernelNaiveBayes().fit(X, y).predict_proba(X)
    for unit in (1e-9, 1.0, 1e9):
        model = KernelNaiveBayes().fit(flat * [1.0, 1.0, unit], y)
        assert_allclose(model.predict_proba(flat * [1.0, 1.0, 50 * unit]), expected)
