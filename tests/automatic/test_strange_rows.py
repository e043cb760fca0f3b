"""Rows and targets of any size, far rows, copies: legal, and answered."""

# SPDX-License-Identifier: BSD-3-Clause

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_iris

from fewlabels import FewLabelsClassifier, FewLabelsRegressor
from fewlabels.automatic._bank import KernelBank
from fewlabels.automatic._recipe import BankSettings
from fewlabels.datasets import hide_labels


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True)
    return X, y, hide_labels(y, n_labeled=15, random_state=0)


def classifier():
    return FewLabelsClassifier(bank="fast", random_state=0)


@pytest.fixture(scope="module")
def plain(iris):
    X, _, holes = iris
    return classifier().fit(X, holes).decision_function(X)


@pytest.mark.parametrize("size", [2.0**-560, 2.0**530])  # about 1e-169 and 1e160
def test_size_of_rows(iris, plain, size):
    X, _, holes = iris
    outputs = classifier().fit(X * size, holes).decision_function(X * size)
    assert_allclose(outputs, plain, atol=1e-12)


@pytest.mark.parametrize("size", [2.0**-560, 2.0**530])
def test_size_of_targets(iris, size):
    X, _, holes = iris
    targets = np.where(holes >= 0, X[:, 0], np.nan)
    model = FewLabelsRegressor(bank="fast", random_state=0)
    expected = model.fit(X[:, 1:], targets).predict(X[:, 1:])
    error = model.expected_error_.value
    outputs = model.fit(X[:, 1:], targets * size).predict(X[:, 1:])
    assert_allclose(outputs / size, expected, rtol=1e-9)
    assert_allclose(model.expected_error_.value / size, error, rtol=1e-9)


@pytest.mark.parametrize("factor", [1e10, 1e100])
def test_one_far_row(iris, factor):
    X, y, holes = iris
    X = X.copy()
    X[np.flatnonzero(holes < 0)[0]] *= factor
    assert classifier().fit(X, holes).score(X, y) > 0.9


def test_far_questions(iris):
    X, _, holes = iris
    model = classifier().fit(X, holes)
    assert np.isfinite(model.decision_function(1e300 * X)).all()


def test_rows_of_zeros(iris):
    X, y, holes = iris
    model = classifier().fit(np.zeros((6, 3)), [0, 1, 1, -1, -1, -1])
    assert_array_equal(model.predict(np.ones((2, 3))), [1, 1])
    X, holes = np.vstack([np.zeros((5, 4)), X]), np.append(np.full(5, -1), holes)
    assert np.mean(classifier().fit(X, holes).predict(X)[5:] == y) > 0.9


def test_one_row():
    with pytest.warns(UserWarning, match="single class"):
        model = classifier().fit([[1.0, 2.0]], [3])
    assert_array_equal(model.predict([[5.0, 5.0]]), [3])
    model = FewLabelsRegressor(bank="fast").fit([[1.0, 2.0]], [3.5])
    assert_allclose(model.predict([[5.0, 5.0]]), [3.5])


def test_rows_that_differ_by_rounding_alone():
    """Their components agree, of which k-means would complain."""
    X = np.column_stack([np.arange(60) % 3, 5 + 1e-15 * np.arange(60)])
    bank = KernelBank(BankSettings(clusters=(8,), forests=False), random_state=0)
    names = [candidate.name for candidate in bank.build(X).candidates]
    assert bank.n_rows > 3
    assert "clusters 8" in names


def test_rare_flags():
    """Without some rows a flag has no variance, which says nothing of new rows."""
    for seed in range(3):
        rng = np.random.default_rng(seed)
        X = np.hstack([rng.normal(size=(300, 25)), rng.random((300, 8)) < 0.01])
        y = (X[:, 0] > 0).astype(int)
        model = classifier().fit(X, np.where(np.arange(300) < 30, y, -1))
        assert np.isfinite(model.decision_function(X + 0.01)).all()
