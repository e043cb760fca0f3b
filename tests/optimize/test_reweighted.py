"""Reweighted l1 and total variation (entries B4 and B5)."""

# SPDX-License-Identifier: BSD-3-Clause

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from scipy.fft import dctn
from scipy.optimize import linprog
from sklearn.exceptions import ConvergenceWarning

from fewlabels.optimize import (
    basis_pursuit,
    reweighted_l1,
    reweighted_total_variation,
    total_variation,
)
from fewlabels.optimize._reweighted import _differences, _jumps


def draw(seed, m=30, n=80, k=12):
    rng = np.random.default_rng(seed)
    Phi, x = rng.normal(size=(m, n)), np.zeros(n)
    x[rng.permutation(n)[:k]] = rng.normal(size=k)
    return Phi, x


class TestReweightedL1:
    def test_recovers_more_than_basis_pursuit(self):
        plain = again = 0
        for seed in range(20):
            Phi, x = draw(seed)
            result = reweighted_l1(Phi, Phi @ x, eps=0.1, max_iter=8, tol=1e-4)
            again += np.allclose(result.x, x, atol=1e-4)
            plain += np.allclose(basis_pursuit(Phi, Phi @ x), x, atol=1e-4)
            assert np.all(np.diff(result.trace) <= 1e-9)
            assert_allclose(Phi @ result.x, Phi @ x, atol=1e-6)
            assert_allclose(result.objective, np.log(np.abs(result.x) + 0.1).sum())
        assert again > plain

    def test_the_first_solution_is_basis_pursuit(self):
        Phi, x = draw(0, m=10, n=20, k=3)
        first = reweighted_l1(Phi, Phi @ x, eps=0.1).trace[0]
        pursuit = basis_pursuit(Phi, Phi @ x)
        assert_allclose(first, np.log(np.abs(pursuit) + 0.1).sum())

    def test_basis_pursuit_is_optimal(self):
        """The dual program has the same value."""
        Phi, x = draw(1, m=10, n=20, k=8)
        w = np.random.default_rng(0).uniform(0.5, 2, 20)
        y = Phi @ x
        value = w @ np.abs(basis_pursuit(Phi, y, weights=w))
        dual = linprog(
            -y, A_ub=np.vstack([Phi.T, -Phi.T]), b_ub=np.r_[w, w], bounds=(None, None)
        )
        assert_allclose(value, -dual.fun, rtol=1e-7)

    def test_sparse_equations(self):
        Phi = sparse.csr_array(np.array([[1.0, 0.0, 2.0], [0.0, 1.0, 0.0]]))
        assert_allclose(basis_pursuit(Phi, [4.0, 1.0]), [0, 1, 2], atol=1e-9)
        assert_allclose(reweighted_l1(Phi, [4.0, 1.0]).x, [0, 1, 2], atol=1e-9)

    def test_nothing_measured(self):
        assert_allclose(reweighted_l1(np.ones((1, 3)), [0.0]).x, 0)

    @pytest.mark.parametrize(
        ("call", "match"),
        [
            (lambda: basis_pursuit([[1.0], [1.0]], [1.0, 2.0]), "has no solution"),
            (lambda: basis_pursuit([[1.0]], [1.0, 2.0]), "y has 2 entries"),
            (lambda: basis_pursuit([[1.0]], [1.0], weights=[-1.0]), "weights must"),
            (lambda: reweighted_l1([[1.0]], [1.0], eps=0.0), "eps must be"),
        ],
    )
    def test_bad_input(self, call, match):
        with pytest.raises(ValueError, match=match):
            call()


@pytest.fixture(scope="module")
def phantom():
    image = np.zeros((16, 16))
    image[3:10, 4:12] = 1.0
    image[8:14, 9:15] = 0.5
    return image


def cosines(n):
    return np.stack(
        [dctn(e.reshape(n, n), norm="ortho").ravel() for e in np.eye(n * n)]
    ).T


class TestTotalVariation:
    def test_differences(self, rng):
        x = rng.normal(size=(4, 5))
        d = (_differences((4, 5)) @ x.ravel()).reshape(2, 4, 5)
        assert_allclose(d[0, :-1], x[1:] - x[:-1])
        assert_allclose(d[1, :, :-1], x[:, 1:] - x[:, :-1])
        assert_allclose(d[0, -1], 0)
        assert_allclose(d[1, :, -1], 0)
        assert_allclose(np.hypot(*d), _jumps(x))
        assert_allclose(total_variation(x), np.hypot(*d).sum())
        assert_allclose(
            total_variation(x, weights=2 * np.ones((4, 5))), 2 * _jumps(x).sum()
        )

    def test_everything_measured(self, rng):
        x = rng.normal(size=(5, 4))
        for Phi in (np.eye(20), sparse.eye_array(20, format="csr")):
            result = reweighted_total_variation(Phi, x.ravel(), (5, 4))
            assert_allclose(result.x, x, atol=1e-10)

    def test_better_than_plain(self, phantom):
        """From 30 % of the cosine coefficients."""
        rng = np.random.default_rng(0)
        rows = np.concatenate([[0], 1 + rng.permutation(255)[:76]])
        Phi = cosines(16)[rows]
        y = Phi @ phantom.ravel()
        plain = reweighted_total_variation(
            Phi, y, (16, 16), max_iter=0, inner_iter=5000
        )
        result = reweighted_total_variation(Phi, y, (16, 16))
        for x in (plain.x, result.x):
            assert_allclose(Phi @ x.ravel(), y, atol=1e-9)
        assert np.all(np.diff(result.trace) <= 1e-9)
        # Among the images that fit, the true one does not have the least variation.
        assert total_variation(plain.x) < total_variation(phantom)
        assert np.linalg.norm(plain.x - phantom) > 1.0
        assert np.linalg.norm(result.x - phantom) < 1e-2

    def test_missing_pixels(self, phantom):
        rng = np.random.default_rng(1)
        known = np.sort(rng.permutation(256)[:200])
        Phi = sparse.eye_array(256, format="csr")[known]
        with pytest.warns(ConvergenceWarning):
            result = reweighted_total_variation(
                Phi, phantom.ravel()[known], (16, 16), max_iter=1
            )
        assert_allclose(result.x.ravel()[known], phantom.ravel()[known], atol=1e-9)
        assert np.mean(np.abs(result.x - phantom) > 0.1) < 0.03

    @pytest.mark.parametrize(
        ("Phi", "y", "shape", "parameters", "match"),
        [
            (np.eye(4), np.ones(4), (3, 2), {}, "does not have the 4 pixels"),
            (np.ones((2, 4)), np.ones(2), (2, 2), {}, "independent rows"),
            (np.array([[1.0, -1, 0, 0]]), np.ones(1), (2, 2), {}, "measure the mean"),
            (np.eye(4), np.ones(4), (2, 2), {"eps": 0.0}, "eps must be"),
            (np.eye(4), np.ones(4), (2, 2), {"inner_iter": 0}, "inner_iter"),
        ],
    )
    def test_bad_input(self, Phi, y, shape, parameters, match):
        with pytest.raises(ValueError, match=match):
            reweighted_total_variation(Phi, y, shape, **parameters)

    def test_not_an_image(self):
        with pytest.raises(ValueError, match="two axes"):
            total_variation(np.zeros(3))


def test_images_that_are_not_found_are_reported():
    image = np.zeros((6, 6))
    image[2:4, 1:5] = 1
    known = np.random.default_rng(0).permutation(36)[:15]
    with pytest.warns(ConvergenceWarning, match="inner_tol=1e-05 within inner_iter=2"):
        reweighted_total_variation(
            np.eye(36)[known], image.ravel()[known], (6, 6), max_iter=0, inner_iter=2
        )
