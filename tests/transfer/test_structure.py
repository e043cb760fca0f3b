"""Alternating structure optimisation."""

# SPDX-License-Identifier: BSD-3-Clause

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import linalg, sparse
from scipy.linalg import subspace_angles
from sklearn.exceptions import ConvergenceWarning

from fewlabels.transfer import (
    ASOClassifier,
    _huber,
    alternating_structure,
    modified_huber_loss,
    stack_domains,
)


def planted(rng, n_tasks=6, n=80, p=12, h=2):
    """Linear tasks whose rules lie in a common subspace."""
    basis = np.linalg.qr(rng.normal(size=(p, h)))[0]
    tasks = []
    for _ in range(n_tasks):
        X = rng.normal(size=(n, p))
        tasks.append((X, np.sign(X @ basis @ rng.normal(size=(h, 1)))))
    return tasks, basis


def joint_objective(tasks, solution, alpha):
    total = 0.0
    for (X, Y), U, b in zip(tasks, solution.coefs, solution.intercepts, strict=True):
        own = U - solution.theta.T @ (solution.theta @ U)
        total += modified_huber_loss(Y * (X @ U + b)).mean(axis=0).sum()
        total += alpha * (own**2).sum()
    return total


def test_loss_is_smooth():
    assert_allclose(modified_huber_loss([-1.0, 1.0]), [4.0, 0.0])
    for kink in (-1.0, 1.0):
        h = 1e-6
        below, at, above = modified_huber_loss([kink - h, kink, kink + h])
        assert_allclose((at - below) / h, (above - at) / h, atol=1e-5)
    m = np.linspace(-3, 3, 101)
    assert np.all(np.diff(modified_huber_loss(m), 2) >= -1e-12)  # convex


def test_objective_falls_at_both_half_steps(rng):
    tasks, _ = planted(rng)
    noise = [np.where(rng.random(Y.shape) < 0.1, -Y, Y) for _, Y in tasks]
    tasks = [(X, Y) for (X, _), Y in zip(tasks, noise, strict=True)]
    solution = alternating_structure(tasks, 2, alpha=1e-2, tol=0, max_iter=8)
    assert 8 < solution.objective.size <= 16
    drops = -np.diff(solution.objective)
    assert np.all(drops >= -1e-8)
    assert_allclose(
        solution.objective[-1], joint_objective(tasks, solution, 1e-2), rtol=1e-10
    )
    assert_allclose(solution.theta @ solution.theta.T, np.eye(2), atol=1e-12)


def test_subspace_is_recovered(rng):
    tasks, basis = planted(rng, n=400)
    theta = alternating_structure(tasks, 2, max_iter=100).theta
    assert subspace_angles(theta.T, basis).max() < 0.1


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_no_component_means_independent_rules(rng, fit_intercept):
    """Each rule is stationary for its own loss plus ridge."""
    tasks, _ = planted(rng, n_tasks=3)
    solution = alternating_structure(
        tasks, 0, alpha=0.1, fit_intercept=fit_intercept, max_iter=100
    )
    for (X, Y), U, b in zip(tasks, solution.coefs, solution.intercepts, strict=True):
        margin = Y * (X @ U + b)
        slope = np.where(margin >= -1, -2 * np.maximum(0, 1 - margin), -4)
        gradient = X.T @ (Y * slope) / len(X) + 2 * 0.1 * U
        assert_allclose(gradient, 0, atol=1e-5)
        if fit_intercept:
            assert_allclose((Y * slope).mean(), 0, atol=1e-5)
        else:
            assert_allclose(b, 0)


def test_a_failed_search_is_told(rng, monkeypatch):
    """Numbers so large that L-BFGS finds no step; two rounds are no excuse."""
    monkeypatch.setattr(_huber, "NEWTON_COST", 0)
    X, y = 1e12 * rng.normal(size=(60, 4)), np.arange(60) % 2
    with pytest.warns(ConvergenceWarning, match="scale the features"):
        ASOClassifier().fit(X, y, sample_domain=np.repeat([1, -2], 30))


@pytest.mark.parametrize("far", [1.0, 2.0**15])
@pytest.mark.parametrize("shared", [0, 2])
def test_rules_have_all_digits(rng, far, shared):
    """Sparse rows, another order and one far row change no digit that is looked at."""
    X, Y = rng.normal(size=(40, 6)), np.sign(rng.normal(size=(40, 3)))
    X[0] *= far
    theta = linalg.qr(rng.normal(size=(6, shared)), mode="economic")[0].T
    U, b = _huber.fit_huber(X, Y, 0.01, theta=theta)
    margin = Y * (X @ U + b)
    slope = np.where(margin >= -1, -2 * np.maximum(0, 1 - margin), -4) * Y / len(X)
    gradient = X.T @ slope + 2 * 0.01 * (U - theta.T @ (theta @ U))
    # Along the far row, the outputs themselves have no more digits.
    away = np.eye(6) - np.outer(X[0], X[0]) / (X[0] @ X[0]) if far > 1 else np.eye(6)
    assert_allclose(away @ gradient, 0, atol=1e-10)
    order = rng.permutation(40)
    for A, B in ((sparse.csr_array(X), Y), (X[order], Y[order])):
        assert_allclose(
            _huber.fit_huber(A, B, 0.01, theta=theta)[0], U, rtol=1e-7, atol=1e-12
        )


@pytest.mark.parametrize("seed", range(20))
def test_a_far_row_does_not_end_the_search(seed):
    """It ends pieces after the smallest step, on whichever side rounding puts it."""
    rng = np.random.default_rng(seed)
    X, Y = rng.normal(size=(12, 10)), np.sign(rng.normal(size=(12, 4)))
    X[0] *= 2.0**28
    order = rng.permutation(12)
    one = _huber.fit_huber(X, Y, 0.01)[0]
    two = _huber.fit_huber(X[order], Y[order], 0.01)[0]
    assert_allclose(one, two, atol=1e-6)


def test_rules_of_equal_far_rows_lie_along_them(rng):
    """Nothing else is shared either: rounding errors make no direction."""
    x = 2.0**28 * rng.normal(size=10)
    Y = np.array([[1, -1, -1], [-1, -1, 1], [-1, 1, -1]])
    along = np.outer(x, x) / (x @ x)
    solution = alternating_structure([(np.tile(x, (3, 1)), Y)] * 2, 2)
    assert solution.theta.shape == (1, 10)
    assert_allclose(solution.theta.T @ solution.theta, along, atol=1e-12)
    for U in solution.coefs:
        assert_allclose(U, along @ U, rtol=1e-9, atol=1e-20)


@pytest.mark.parametrize(("n_rows", "n_features"), [(30, 4), (5, 8)])
def test_both_searches_find_the_same_rules(rng, monkeypatch, n_rows, n_features):
    X = rng.normal(size=(n_rows, n_features))
    Y = np.sign(rng.normal(size=(n_rows, 2)))
    Y[:2] = [[1], [-1]]  # of one class alone, any large bias will do
    exact = _huber.fit_huber(X, Y, 0.1)
    monkeypatch.setattr(_huber, "NEWTON_COST", 0)
    for found, known in zip(_huber.fit_huber(X, Y, 0.1, tol=1e-9), exact, strict=True):
        assert_allclose(found, known, atol=1e-6)


def test_the_source_helps(rng):
    rules = rng.normal(size=(30, 3))
    X_source, X_target = rng.normal(size=(600, 30)), rng.normal(size=(300, 30))
    y_source, y_target = (np.argmax(X @ rules, axis=1) for X in (X_source, X_target))
    few = np.where(np.arange(300) < 15, y_target, -1)
    X, y, domains = stack_domains(X_source, y_source, X_target, few)
    model = ASOClassifier().fit(X, y, sample_domain=domains)
    alone = ASOClassifier().fit(X_target[:15], y_target[:15])
    assert model.score(X_target, y_target) > alone.score(X_target, y_target) + 0.1
    assert model.n_components_ == 2


def test_sparse_rows_make_no_difference(rng):
    X = rng.normal(size=(60, 5)) * (rng.random((60, 5)) < 0.5)
    y, domains = rng.integers(3, size=60), np.repeat([1, -2], 30)
    dense = ASOClassifier().fit(X, y, sample_domain=domains)
    model = ASOClassifier().fit(sparse.csr_array(X), y, sample_domain=domains)
    assert_allclose(model.decision_function(X), dense.decision_function(X), atol=1e-3)
