"""Linear models by the optimisers, and the exposed ones (entries I1 and I3)."""

# SPDX-License-Identifier: BSD-3-Clause

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.linear_model import ElasticNet, LogisticRegression, SGDClassifier
from sklearn.linear_model import LogisticRegression as Theirs
from sklearn.svm import LinearSVC

from fewlabels.optimize import (
    FiniteSumClassifier,
    FiniteSumProblem,
    FiniteSumRegressor,
    L2Penalty,
)

ALL_SOLVERS = ("saga", "svrg", "sag", "cd", "approx", "gd")


@pytest.fixture
def classes(rng):
    X = rng.normal(size=(80, 4)) + [1.0, 0, 0, 0]
    return X, (X[:, 0] + X[:, 1] + rng.normal(size=80) > 1).astype(int)


@pytest.mark.parametrize("solver", ALL_SOLVERS)
def test_logistic_regression(solver, classes):
    X, y = classes
    model = FiniteSumClassifier(
        alpha=0.1, solver=solver, tol=1e-9, max_iter=20_000, random_state=0
    ).fit(X, y)
    theirs = Theirs(C=1 / (80 * 0.1), tol=1e-10).fit(X, y)
    assert_allclose(model.coef_, theirs.coef_, atol=1e-5)
    assert_allclose(model.intercept_, theirs.intercept_, atol=1e-5)
    assert_array_equal(model.predict(X), theirs.predict(X))


@pytest.mark.parametrize("solver", ["saga", "svrg", "cd"])
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_elastic_net(solver, make, rng):
    X = rng.normal(size=(60, 5)) * (rng.random((60, 5)) < 0.7)
    y = X @ [1.0, 0, 2, 0, 0] + 3 + 0.1 * rng.normal(size=60)
    y[:10] = np.nan
    model = FiniteSumRegressor(
        alpha=0.1, l1_ratio=0.7, solver=solver, tol=1e-9, max_iter=20_000,
        random_state=0,
    ).fit(make(X), y)  # fmt: skip
    theirs = ElasticNet(0.1, l1_ratio=0.7, tol=1e-12).fit(X[10:], y[10:])
    assert_allclose(model.coef_, theirs.coef_, atol=1e-6)
    assert_allclose(model.intercept_, theirs.intercept_, atol=1e-6)
    assert_allclose(model.predict(make(X)), theirs.predict(X), atol=1e-5)


def test_stochastic_gradient_regression(rng):
    X = rng.normal(size=(400, 3))
    y = X @ [1.0, -1, 0.5] + 2
    model = FiniteSumRegressor(
        solver="sgd", solver_params={"batch_size": 8}, max_iter=200, random_state=0
    ).fit(X, y)
    assert model.score(X, y) > 0.99


def test_support_vector_machine_by_sgd(classes):
    X, y = classes
    model = FiniteSumClassifier(
        loss="hinge", alpha=0.01, solver="sgd", max_iter=300, tol=1e-3, random_state=0
    ).fit(X, y)
    svm = LinearSVC(loss="hinge", C=1 / (80 * 0.01), max_iter=100_000).fit(X, y)
    assert abs(model.score(X, y) - svm.score(X, y)) <= 0.05


def test_holes_do_not_count(classes):
    X, y = classes
    holes = np.where(np.arange(80) < 30, y, -1)
    model = FiniteSumClassifier(alpha=0.1, solver="cd", tol=1e-9).fit(X, holes)
    alone = FiniteSumClassifier(alpha=0.1, solver="cd", tol=1e-9).fit(X[:30], y[:30])
    assert_allclose(model.coef_, alone.coef_)
    assert_allclose(model.score(X, holes), model.score(X[:30], y[:30]))
    assert model.results_[0].converged
    with pytest.raises(ValueError, match="no labelled row to score"):
        model.score(X, np.full(80, -1))


def test_exposed_classes_are_scikit_learns():
    assert LogisticRegression is Theirs
    assert SGDClassifier.__module__.startswith("sklearn.")
    assert LinearSVC.__module__.startswith("sklearn.")


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_linear_svc_has_no_duality_gap(loss, classes):
    """Its sum of losses with C is our mean with alpha = 1 / (n C)."""
    X, y = classes
    model = LinearSVC(
        loss=loss, C=0.1, fit_intercept=False, tol=1e-10, max_iter=1_000_000
    ).fit(X, y)
    problem = FiniteSumProblem(X, 2.0 * y - 1, loss, L2Penalty(1 / (80 * 0.1)))
    # The slope of the hinge loss at margin one is anything in between, so that the
    # gap of the slopes that the loss names is no certificate there.
    w = model.coef_[0]
    if loss == "squared_hinge":
        assert problem.duality_gap(w) < 1e-8
        assert problem.violation(w) < 1e-4
    else:
        steps = 1e-3 * np.random.default_rng(0).normal(size=(200, 4))
        assert min(problem.value(w + s) for s in steps) >= problem.value(w) - 1e-8


@pytest.mark.parametrize("solver", ["saga", "cd", "gd"])
def test_one_class(solver, rng):
    """Without a second class the loss of a free intercept has no minimiser."""
    X = rng.normal(size=(20, 3))
    with pytest.warns(UserWarning, match="single class") as caught:
        model = FiniteSumClassifier(solver=solver).fit(X, np.full(20, 7))
    assert len(caught) == 1
    assert_array_equal(model.predict(X), 7)
    assert_array_equal(model.coef_, 0)
