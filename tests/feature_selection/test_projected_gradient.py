"""Spectral projected gradient."""

# SPDX-License-Identifier: BSD-3-Clause

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import lsq_linear
from sklearn.exceptions import ConvergenceWarning

from fewlabels.feature_selection import spectral_projected_gradient
from tests.reference.feature_selection import projected_gradient


def box(x):
    return np.clip(x, 0, 1)


@pytest.fixture
def quadratic():
    rng = np.random.default_rng(0)
    A, b = rng.normal(size=(40, 20)) * np.geomspace(1, 3, 20), rng.normal(size=40)

    def function(x):
        r = A @ x - b
        return 0.5 * r @ r, A.T @ r

    return A, b, function


def test_quadratic_in_a_box(quadratic):
    A, b, function = quadratic
    result = spectral_projected_gradient(function, box, np.ones(20), tol=1e-8)
    exact = lsq_linear(A, b, bounds=(0, 1), tol=1e-12)
    assert_allclose(result.x, exact.x, atol=1e-6)
    assert_allclose(result.value, exact.cost, rtol=1e-10)
    g = function(result.x)[1]
    assert_allclose(box(result.x - g), result.x, atol=1e-8)
    assert result.n_iter < 100


def test_length_of_steps(quadratic):
    _, _, function = quadratic
    result = spectral_projected_gradient(function, box, np.ones(20), tol=1e-6)
    # Another length of Barzilai and Borwein gets there as well; its inverse, which is
    # what is printed, does not.
    other, n_other = projected_gradient(
        function, box, np.ones(20), lambda u, y: u @ y / (y @ y), 1e-6, 500
    )
    assert_allclose(result.x, other, atol=1e-5)
    assert n_other < 200
    _, n_printed = projected_gradient(
        function, box, np.ones(20), lambda u, y: y @ y / (u @ y), 1e-6, 500
    )
    assert n_printed == 500


def test_another_set(quadratic):
    _, _, function = quadratic

    def ball(x):
        return x / max(np.linalg.norm(x), 1)

    result = spectral_projected_gradient(function, ball, np.zeros(20), tol=1e-9)
    g = function(result.x)[1]
    # On the boundary the gradient is at right angles to the ball.
    if np.linalg.norm(result.x) > 1 - 1e-9:
        assert_allclose(g @ result.x, -np.linalg.norm(g), rtol=1e-5)
    else:
        assert_allclose(g, 0, atol=1e-7)


def test_monotone(quadratic):
    _, _, function = quadratic
    values = []

    def watched(x):
        value, g = function(x)
        values.append(value)
        return value, g

    result = spectral_projected_gradient(watched, box, np.ones(20), memory=1)
    assert result.value <= min(values) + 1e-9
    assert result.n_evaluations == len(values)


def test_start_at_the_solution():
    result = spectral_projected_gradient(
        lambda x: (float(x @ x), 2 * x), box, [-3.0, 0.0]
    )
    assert result.n_iter == 0
    assert_array_equal(result.x, 0)


def test_no_convergence(quadratic):
    with pytest.warns(ConvergenceWarning, match="No convergence in 2 steps"):
        spectral_projected_gradient(quadratic[2], box, np.ones(20), max_iter=2)


def test_a_wrong_gradient_does_not_hang():
    with pytest.warns(ConvergenceWarning, match="No convergence in 0 steps"):
        spectral_projected_gradient(
            lambda x: (float(x @ x), -2 * x), lambda x: x, [1.0, 2.0]
        )
