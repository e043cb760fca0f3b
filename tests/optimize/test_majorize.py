"""Majorisation-minimisation (entries B1 to B3)."""

# SPDX-License-Identifier: BSD-3-Clause

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.linalg import eigh
from scipy.stats import norm
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import GaussianMixture

from fewlabels.optimize import (
    mm_minimize,
    quadratic_majorizer,
    sparse_generalized_eigenvector,
)


class TestDriver:
    def test_median(self, rng):
        x = rng.normal(size=31)

        def step(m):
            weights = 1 / np.maximum(np.abs(x - m), 1e-12)
            return weights @ x / weights.sum()

        result = mm_minimize(lambda m: np.abs(x - m).sum(), step, x.mean(), tol=1e-14)
        assert_allclose(result.x, np.median(x), atol=1e-6)
        assert np.all(np.diff(result.trace) <= 1e-12)

    def test_expectation_maximisation(self, rng):
        """EM for two Gaussians goes the way of scikit-learn's."""
        x = np.concatenate([rng.normal(-2, 1, 60), rng.normal(2, 0.7, 40)])
        model = GaussianMixture(
            2, weights_init=[0.5, 0.5], means_init=[[-1.0], [1.0]],
            precisions_init=[[[1.0]], [[1.0]]], reg_covar=0.0, tol=0.0, max_iter=15,
        )  # fmt: skip

        def densities(p):
            weights, means, variances = p.reshape(3, 2)
            return weights * norm.pdf(x[:, None], means, np.sqrt(variances))

        def objective(p):
            return -np.mean(np.log(densities(p).sum(axis=1)))

        def step(p):
            r = densities(p)
            r /= r.sum(axis=1, keepdims=True)
            n = r.sum(axis=0)
            means = r.T @ x / n
            variances = np.sum(r * (x[:, None] - means) ** 2, axis=0) / n
            return np.concatenate([n / x.size, means, variances])

        start = np.array([0.5, 0.5, -1.0, 1.0, 1.0, 1.0])
        result = mm_minimize(objective, step, start, max_iter=15, tol=0.0)
        with pytest.warns(ConvergenceWarning):
            model.fit(x[:, None])
        # Its bound of a step is the likelihood before that step.
        assert_allclose(-result.trace[:-1], model.lower_bounds_, rtol=1e-10)
        assert_allclose(result.x[2:4], model.means_[:, 0])

    def test_a_step_that_goes_up(self):
        with pytest.raises(ValueError, match="does not majorise"):
            mm_minimize(lambda x: float(x @ x), lambda x: x + 1, [0.0, 0.0])
        with pytest.raises(ValueError, match="does not majorise"):
            mm_minimize(lambda x: float(x @ x), lambda x: x * np.nan, [1.0, 0.0])

    def test_stopping(self):
        def half(x):
            return x / 2

        def square(x):
            return float(x @ x)

        with pytest.warns(ConvergenceWarning, match="max_iter=3 steps"):
            result = mm_minimize(square, half, [1.0], max_iter=3)
        assert not result.converged
        assert result.n_iter == 3
        assert_allclose(result.trace, [1, 1 / 4, 1 / 16, 1 / 64])
        assert mm_minimize(square, lambda x: x, [1.0]).stop_reason == "stationary"
        with pytest.raises(ValueError, match="tol must be at least 0"):
            mm_minimize(square, half, [1.0], tol=-1.0)

    def test_any_shape(self):
        result = mm_minimize(lambda X: np.sum(X**2), lambda X: 0 * X, np.ones((2, 3)))
        assert_array_equal(result.x, np.zeros((2, 3)))


class TestQuadraticMajorizer:
    @pytest.mark.parametrize("is_complex", [False, True])
    @pytest.mark.parametrize("given", [False, True])
    def test_the_gap(self, is_complex, given, rng):
        def draw(*shape):
            return rng.normal(size=shape) + 1j * is_complex * rng.normal(size=shape)

        L = draw(4, 4)
        L = L + L.conj().T
        x0 = draw(4)
        if not is_complex:
            L, x0 = L.real, x0.real
        extra = draw(4, 4)
        M = L + extra @ extra.conj().T if given else None
        q = quadratic_majorizer(L, x0, M)
        assert_allclose(q(x0), np.vdot(x0, L @ x0).real, atol=1e-10)
        for _ in range(20):
            x = draw(4)
            gap = q(x) - np.vdot(x, L @ x).real
            exact = np.vdot(x - x0, (q.M - L) @ (x - x0)).real
            assert_allclose(gap, exact, atol=1e-9)
            assert gap >= -1e-9

    def test_larger_entries_are_not_enough(self):
        """Erratum E23: with x = (1, -1) the gap would be -2."""
        M = np.array([[0.0, 1.0], [1.0, 0.0]])
        with pytest.raises(ValueError, match="larger entries are not enough"):
            quadratic_majorizer(np.zeros((2, 2)), [0.0, 0.0], M)

    def test_bad_input(self):
        with pytest.raises(ValueError, match="L must be a Hermitian"):
            quadratic_majorizer([[0.0, 1.0], [0.0, 0.0]], [0.0, 0.0])
        with pytest.raises(ValueError, match="M must be a Hermitian"):
            quadratic_majorizer(np.eye(2), [0.0, 0.0], np.eye(3))


def spread(rng, kind, n=10):
    if kind == "identity":
        return None
    if kind == "diagonal":
        return np.diag(rng.uniform(0.5, 2, n))
    B = rng.normal(size=(n, n))
    return B @ B.T / n + np.eye(n)


class TestSparseEigenvector:
    @pytest.mark.parametrize("kind", ["identity", "diagonal", "general"])
    @pytest.mark.parametrize("definite", [False, True])
    def test_the_objective_falls(self, kind, definite, rng):
        A = rng.normal(size=(10, 10))
        A = A @ A.T / 10 if definite else (A + A.T) / 2
        B = spread(rng, kind)
        result = sparse_generalized_eigenvector(A, B, rho=0.3)
        full = np.eye(10) if B is None else B
        assert np.all(np.diff(result.trace) <= 1e-9)
        assert result.x @ full @ result.x <= 1 + 1e-9
        few = np.count_nonzero(result.x)
        leading = eigh(A, full)[1][:, -1]
        assert few < np.count_nonzero(leading)
        x, eps = result.x, 0.1
        price = 0.3 / np.log1p(1 / eps)
        value = x @ A @ x - price * np.log1p(np.abs(x) / eps).sum()
        assert_allclose(result.objective, -value)

    @pytest.mark.parametrize("kind", ["identity", "diagonal", "general"])
    def test_no_price_gives_the_leading_eigenvector(self, kind, rng):
        A = rng.normal(size=(10, 10))
        A = A + A.T
        B = spread(rng, kind)
        values, vectors = eigh(A, B)
        result = sparse_generalized_eigenvector(
            A, B, rho=0.0, x0=rng.normal(size=10), max_iter=20_000, tol=1e-14
        )
        assert_allclose(-result.objective, values[-1], rtol=1e-7)
        sign = np.sign(result.x @ vectors[:, -1])
        assert_allclose(sign * result.x, vectors[:, -1], atol=1e-3)

    def test_general_spread_agrees_with_the_closed_form(self, rng):
        """Coordinate descent inside does what the soft threshold does."""
        A = np.cov(rng.normal(size=(50, 6)), rowvar=False)
        B = np.diag(rng.uniform(1, 2, 6))
        closed = sparse_generalized_eigenvector(A, B, rho=0.1)
        nearly = B.copy()
        nearly[0, 1] = nearly[1, 0] = 1e-13
        general = sparse_generalized_eigenvector(A, nearly, rho=0.1)
        assert_allclose(general.x, closed.x, atol=1e-5)

    def test_sparse_principal_component(self, rng):
        direction = np.zeros(20)
        direction[:3] = 1 / np.sqrt(3)
        X = 2 * rng.normal(size=(200, 1)) * direction + 0.3 * rng.normal(size=(200, 20))
        result = sparse_generalized_eigenvector(np.cov(X, rowvar=False), rho=0.3)
        assert np.flatnonzero(result.x).tolist() == [0, 1, 2]
        assert_allclose(np.linalg.norm(result.x), 1)

    def test_too_dear(self):
        result = sparse_generalized_eigenvector(np.eye(3), rho=100.0)
        assert_allclose(result.x, 0)
        assert result.objective == 0

    def test_a_negative_matrix(self):
        """Nothing is better than zero, which the constraint allows."""
        result = sparse_generalized_eigenvector(-np.eye(3), rho=0.1)
        assert_allclose(result.x, 0, atol=1e-12)

    @pytest.mark.parametrize(
        ("arguments", "match"),
        [
            ({"A": [[0.0, 1.0], [0.0, 0.0]]}, "symmetric"),
            ({"A": np.eye(2), "B": np.zeros((2, 2))}, "positive definite"),
            ({"A": np.eye(2), "rho": -1.0}, "rho must be"),
            ({"A": np.eye(2), "eps": 0.0}, "eps must be"),
            ({"A": np.eye(2), "x0": [1.0]}, "x0 has shape"),
        ],
    )
    def test_bad_input(self, arguments, match):
        with pytest.raises(ValueError, match=match):
            sparse_generalized_eigenvector(**arguments)
