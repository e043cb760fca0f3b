"""Structural correspondence learning."""

# SPDX-License-Identifier: BSD-3-Clause

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.optimize import brentq
from sklearn.linear_model import LogisticRegression

from fewlabels.transfer import (
    StructuralCorrespondenceLearning,
    frequent_pivots,
    pivot_predictors,
)

DOMAINS = np.repeat([1, -2], 100)


@pytest.fixture
def words(rng):
    """Two topics; words 0-3 in both domains, 4-7 in the source, 8-11 in the target."""
    topic = rng.integers(2, size=200)
    X = np.zeros((200, 12))
    for group, rows in ((0, slice(None)), (4, slice(100)), (8, slice(100, None))):
        on = rng.random((200, 4)) < np.where(topic[:, None] == [0, 0, 1, 1], 0.6, 0.1)
        X[rows, group : group + 4] = on[rows]
    return X, topic


def test_squared_loss_has_a_closed_form(words):
    X, _ = words
    pivots = np.arange(4)
    W = pivot_predictors(X, pivots, alpha=0.1, loss="squared")
    rest = X[:, 4:] - X[:, 4:].mean(axis=0)
    Y = np.where(X[:, :4] > 0, 1.0, -1.0)
    expected = np.linalg.solve(rest.T @ rest / 200 + 0.1 * np.eye(8), rest.T @ Y / 200)
    assert_allclose(W[4:], expected, atol=1e-10)


@pytest.mark.parametrize("loss", ["modified_huber", "squared"])
def test_pivots_are_masked(words, loss):
    W = pivot_predictors(words[0], np.array([0, 2]), loss=loss)
    assert_array_equal(W[[0, 2]], 0)
    assert np.all(np.abs(W[[1, 3]]).max(axis=1) > 0)


def test_huber_predictors_are_stationary(words):
    X, _ = words
    W = pivot_predictors(X, np.arange(4), alpha=0.1)
    # The bias is free: centred, the gradient of the loss must balance the ridge.
    Y = np.where(X[:, :4] > 0, 1.0, -1.0)
    for column, target in zip(W.T, Y.T, strict=True):

        def slopes(bias, column=column, target=target):
            margin = target * (X @ column + bias)
            return target * np.where(margin >= -1, -2 * np.maximum(0, 1 - margin), -4)

        bias = brentq(lambda b: slopes(b).mean(), -5, 5, xtol=1e-12)
        gradient = X[:, 4:].T @ slopes(bias) / 200 + 0.2 * column[4:]
        assert_allclose(gradient, 0, atol=1e-5)


def test_rows_of_theta_are_orthonormal(words):
    scl = StructuralCorrespondenceLearning(pivots=range(4), n_components=3)
    theta = scl.fit(words[0], sample_domain=DOMAINS).theta_
    assert_allclose(theta @ theta.T, np.eye(3), atol=1e-10)
    assert_array_equal(theta[:, :4], 0)


def test_synonyms_get_equal_columns():
    """Two words, one for each domain, that occur with the pivots alike."""
    pivots = np.array([[1, 0], [1, 0], [0, 1], [0, 0]] * 2, dtype=float)
    word = np.array([1, 1, 0, 0] * 2, dtype=float)
    source = np.arange(8) < 4
    X = np.column_stack([pivots, word * source, word * ~source, ~word.astype(bool)])
    scl = StructuralCorrespondenceLearning(pivots=[0, 1], n_components=2)
    theta = scl.fit(X, sample_domain=np.where(source, 1, -2)).theta_
    assert_allclose(theta[:, 2], theta[:, 3], atol=1e-5)
    assert np.linalg.norm(theta[:, 2]) > 0.1


def test_pivots_are_frequent_in_both_domains(words):
    X, _ = words
    assert_array_equal(np.sort(frequent_pivots(X, DOMAINS, 4)), [0, 1, 2, 3])
    constant = np.column_stack([np.ones(200), X])
    assert 0 not in frequent_pivots(constant, DOMAINS, 4)


def test_words_of_the_target_become_useful(words):
    X, topic = words
    only_target = X.copy()
    only_target[100:, :4] = 0  # no shared word to rely on
    scl = StructuralCorrespondenceLearning(pivots=range(4), n_components=1, scale=5)
    Z = scl.fit(X, sample_domain=DOMAINS).transform(only_target)
    model = LogisticRegression().fit(Z[:100], topic[:100])
    plain = LogisticRegression().fit(X[:100], topic[:100])
    assert model.score(Z[100:], topic[100:]) > 0.7
    assert plain.score(only_target[100:], topic[100:]) < 0.65


def test_scale_and_sparse_rows(words):
    X, _ = words
    scl = StructuralCorrespondenceLearning(n_pivots=4, n_components=2, scale=2.0)
    Z = scl.fit_transform(X, sample_domain=DOMAINS)
    norms = np.linalg.norm(Z[:, 12:], axis=1).mean(), np.linalg.norm(X, axis=1).mean()
    assert_allclose(norms[0], 2 * norms[1])
    sparse_Z = scl.fit_transform(sparse.csr_array(X), sample_domain=DOMAINS)
    assert sparse.issparse(sparse_Z)
    assert_allclose(sparse_Z.toarray(), Z, atol=1e-4)


def test_bad_input(words):
    with pytest.raises(ValueError, match="indices of the 12 features"):
        StructuralCorrespondenceLearning(pivots=[12]).fit(words[0])
    with pytest.warns(UserWarning, match="No pivot can be predicted"):
        StructuralCorrespondenceLearning().fit(-words[0])


def test_pivots_of_dense_and_sparse_rows():
    """A feature of all rows is one whatever the mean of sparse rows is rounded to."""
    for n in range(2, 40):
        X = np.ones((n, 6))
        X[0, 3:] = 0.0
        domain = np.where(np.arange(n) < n // 2, 1, -1)
        assert_array_equal(
            frequent_pivots(sparse.csr_array(X), domain, 3),
            frequent_pivots(X, domain, 3),
        )
