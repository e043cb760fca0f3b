"""Gradient descent (entry A1) and what all solvers record."""

# SPDX-License-Identifier: BSD-3-Clause

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.exceptions import ConvergenceWarning

from fewlabels.optimize import QuadraticProblem, SmoothProblem, gradient_descent
from tests.optimize.problems import SMOOTH, finite_sum, quadratic


def test_contracts_along_the_slowest_eigenvector():
    """With step 1 / L the error shrinks by exactly 1 - mu / L."""
    mu, L = 0.5, 4.0
    problem = QuadraticProblem(np.diag([mu, L]), [0.0, 0.0])
    result = gradient_descent(problem, [1.0, 0.0], max_iter=20, tol=0.0)
    assert_allclose(result.x, [(1 - mu / L) ** 20, 0.0])
    values = result.history["objective"]
    assert_allclose(values[1:] / values[:-1], (1 - mu / L) ** 2)


@pytest.mark.parametrize("loss", SMOOTH)
@pytest.mark.parametrize("penalty", ["none", "l1", "elastic net"])
def test_sublinear_bound(loss, penalty):
    problem = finite_sum(loss, penalty, n=60)
    best = gradient_descent(problem, max_iter=50_000, tol=1e-9)
    L = problem.lipschitz + np.max(problem.l2)
    short = gradient_descent(problem, max_iter=50, tol=0.0)
    k = np.arange(1, 51)
    gaps = short.history["objective"][1:] - best.objective
    assert np.all(gaps <= L * (best.x @ best.x) / (2 * k) + 1e-12)
    assert np.all(np.diff(short.history["objective"]) <= 1e-14)


@pytest.mark.parametrize("loss", ["squared", "squared_hinge"])
def test_exact_steps_are_the_best(loss):
    problem = finite_sum(loss, "l2")
    one = gradient_descent(problem, step="exact", max_iter=1, tol=0.0).x
    d = -problem.gradient(np.zeros(6))
    lengths = np.linspace(0, 3, 3001) * np.linalg.norm(one) / np.linalg.norm(d)
    assert problem.value(one) <= min(problem.value(s * d) for s in lengths) + 1e-12
    assert_allclose(np.linalg.matrix_rank(np.array([one, d]), tol=1e-10), 1)
    exact = gradient_descent(problem, step="exact", tol=1e-10)
    assert_allclose(exact.x, gradient_descent(problem, tol=1e-10).x, atol=1e-8)


def test_exact_steps_of_a_quadratic():
    problem = quadratic(penalty="l2")
    result = gradient_descent(problem, step="exact", tol=1e-10, max_iter=5000)
    expected = np.linalg.solve(problem.A + 0.1 * np.eye(6), problem.b)
    assert_allclose(result.x, expected, atol=1e-8)


@pytest.mark.parametrize("penalty", ["l1", "elastic net"])
def test_backtracking(penalty):
    problem = finite_sum("logistic", penalty)
    result = gradient_descent(problem, step="backtracking", tol=1e-9)
    assert result.converged
    assert_allclose(result.x, gradient_descent(problem, tol=1e-9).x, atol=1e-6)


def test_rosenbrock():
    def value(w):
        return (1 - w[0]) ** 2 + 5 * (w[1] - w[0] ** 2) ** 2

    def gradient(w):
        inner = w[1] - w[0] ** 2
        return np.array([-2 * (1 - w[0]) - 20 * w[0] * inner, 10 * inner])

    result = gradient_descent(SmoothProblem(value, gradient, 2), max_iter=5000)
    assert_allclose(result.x, [1, 1], atol=1e-5)


def test_the_record():
    problem = finite_sum("squared", "l2")
    result = gradient_descent(problem)
    assert result.converged
    assert result.stop_reason == "converged"
    assert result.solver == "gradient_descent"
    assert result.n_iter == len(result.trace) - 1
    assert_allclose(result.trace, result.history["objective"])
    assert_allclose(result.objective, problem.value(result.x))
    assert_allclose(result.history["violation"][-1], problem.violation(result.x))
    assert np.all(np.diff(result.history["seconds"]) >= 0)
    # A start at the solution is recognised.
    assert gradient_descent(problem, result.x).n_iter == 0


def test_no_convergence_warns():
    problem = finite_sum("squared", "none")
    with pytest.warns(ConvergenceWarning, match="max_iter=2 iterations"):
        result = gradient_descent(problem, max_iter=2)
    assert result.stop_reason == "max_iter"
    assert not result.converged
    with pytest.warns(ConvergenceWarning, match="diverged: use a smaller step"):
        result = gradient_descent(problem, step=1e6, max_iter=1000)
    assert result.stop_reason == "diverged"


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda p: gradient_descent(p, step="wolfe"), "step='wolfe' is unknown"),
        (lambda p: gradient_descent(p, step=-1.0), "must be positive"),
        (lambda p: gradient_descent(p, step="exact"), "step='exact' is for"),
        (lambda p: gradient_descent(p, np.zeros(2)), "x0 has shape"),
        (lambda p: gradient_descent(p, np.full(6, np.nan)), "x0 holds NaN"),
        (lambda p: gradient_descent(p, tol=-1.0), "tol must be"),
        (lambda p: gradient_descent(p, max_iter=-1), "max_iter must be"),
        (lambda p: gradient_descent(finite_sum("hinge")), "has a kink"),
    ],
)
def test_bad_input(call, match):
    with pytest.raises(ValueError, match=match):
        call(finite_sum("logistic", "l1"))
