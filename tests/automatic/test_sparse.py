"""Rows may come dense or sparse, in fit and in questions."""

# SPDX-License-Identifier: BSD-3-Clause

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.datasets import load_iris, load_wine

from fewlabels import FewLabelsClassifier, FewLabelsRegressor
from fewlabels.datasets import hide_labels


def texts():
    """Counts of words that four topics use in different shares."""
    rng = np.random.default_rng(0)
    topics = rng.dirichlet(np.full(500, 0.05), 4)
    y = np.arange(200) % 4
    return np.array([rng.multinomial(60, 0.8 * topics[k] + 4e-4) for k in y]) / 60.0, y


DATA = {
    "iris": load_iris(return_X_y=True),
    "wine": load_wine(return_X_y=True),
    "text": texts(),
}


@pytest.mark.parametrize("fitted_to", [np.asarray, csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("data", DATA)
def test_the_form_of_a_question_does_not_matter(data, fitted_to):
    X, y = DATA[data]
    holes = hide_labels(y, n_labeled=20, random_state=0)
    train = (np.arange(y.size) % 3 > 0) | (holes >= 0)
    model = FewLabelsClassifier(bank="fast", random_state=0)
    model.fit(fitted_to(X[train]), holes[train])
    dense = model.decision_function(X)
    assert_allclose(model.decision_function(csr_array(X)), dense, atol=1e-9)
    assert_allclose(
        model.baseline_.predict(csr_array(X)), model.baseline_.predict(X), atol=1e-9
    )
    # Sparse rows are taken for text, which iris and wine are not.
    worst = 0.75 if fitted_to is csr_array and data != "text" else 0.9
    assert np.mean(model.predict(X)[~train] == y[~train]) > worst


@pytest.mark.parametrize("fitted_to", [np.asarray, csr_array], ids=["dense", "sparse"])
def test_regression(fitted_to):
    X, _ = DATA["wine"]
    target = np.where(np.arange(len(X)) % 4 == 0, X[:, 0], np.nan)
    train = np.arange(len(X)) % 3 > 0
    model = FewLabelsRegressor(bank="fast", random_state=0)
    model.fit(fitted_to(X[train]), target[train])
    assert_allclose(model.predict(csr_array(X)), model.predict(X), atol=1e-9)


@pytest.mark.parametrize("scale", ["standard", "none"])
@pytest.mark.parametrize(("data", "bank"), [("wine", "default"), ("words", "fast")])
def test_sparse_rows_that_are_not_text_are_treated_as_dense_ones(data, bank, scale):
    X, y = DATA["wine"]
    if data == "words":  # more columns than rows, most entries zero, some rows equal
        X, y = (part[:120] for part in DATA["text"])
        X = np.vstack([X, X[:30]])
        y = np.r_[y, y[:30]]
    holes = hide_labels(y, n_labeled=20, random_state=0)
    targets = np.where(holes < 0, np.nan, X @ np.arange(X.shape[1]))
    new = X[::3] * 1.01
    for estimator, labels in (
        (FewLabelsClassifier(bank=bank, scale=scale, random_state=0), holes),
        (FewLabelsRegressor(bank=bank, scale=scale, random_state=0), targets),
    ):
        dense, sparse = (clone(estimator).fit(A, labels) for A in (X, csr_array(X)))
        assert list(sparse.candidates_["candidate"]) == list(
            dense.candidates_["candidate"]
        )
        assert sparse.expected_error_ == dense.expected_error_
        assert_array_equal(sparse.transduction_, dense.transduction_)
        for rows in (new, csr_array(new)):
            assert_array_equal(sparse.predict(rows), dense.predict(new))


def test_sparse_rows_too_large_to_be_dense_are_announced():
    X, y = DATA["text"]
    holes = hide_labels(y, n_labeled=20, random_state=0)
    model = FewLabelsClassifier(
        bank="fast", scale="none", memory_budget=0.5, random_state=0
    )
    with pytest.warns(UserWarning, match=r"would take 1 MiB.*memory_budget"):
        model.fit(csr_array(X), holes)
    assert np.mean(model.transduction_ == y) > 0.9
