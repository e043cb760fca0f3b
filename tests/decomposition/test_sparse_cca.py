"""Sparse pairs of vectors: the lemma, the decomposition and sparse CCA."""

# SPDX-License-Identifier: BSD-3-Clause

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal
from scipy import linalg
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning

from fewlabels.decomposition import (
    SparseCCA,
    l1_l2_projection_direction,
    penalized_matrix_decomposition,
)


def dual_value(a, c):
    """Least upper bound on u'a: min over D of ||soft(a, D)||_2 + c D."""
    sizes = np.sort(np.append(np.abs(a), 0.0))
    candidates = [sizes]
    for low, high in pairwise(sizes):
        candidates.append(np.linspace(low, high, 200))
    thresholds = np.concatenate(candidates)
    shrunk = np.maximum(np.abs(a) - thresholds[:, None], 0)
    return np.min(np.linalg.norm(shrunk, axis=1) + c * thresholds)


class TestDirection:
    @given(
        arrays(np.float64, st.integers(1, 8), elements=st.floats(-10, 10, width=32)),
        st.floats(0.1, 4.0),
    )
    @example(np.array([8.0739994, 8.07400036]), 1.25)  # nearly a tie
    def test_feasible_and_as_good_as_its_bound(self, a, c):
        u = l1_l2_projection_direction(a, c)
        assert np.linalg.norm(u) <= 1 + 1e-9
        assert np.abs(u).sum() <= c * (1 + 1e-9)
        bound = dual_value(a, c)
        # The bound is computed on a grid, which is too large by a little.
        assert bound * (1 - 1e-3) - 1e-12 <= u @ a <= bound * (1 + 1e-9) + 1e-12

    @given(st.integers(0, 1000), st.integers(2, 20))
    def test_conditions(self, seed, n):
        """a = 2 nu u + Delta s with s in the subdifferential of the l1 norm."""
        rng = np.random.default_rng(seed)
        a = rng.normal(size=n)
        c = rng.uniform(1, np.sqrt(n))
        u = l1_l2_projection_direction(a, c)
        on = u != 0
        if np.abs(a).sum() <= c * np.linalg.norm(a):
            assert_allclose(u, a / np.linalg.norm(a))
            return
        assert_allclose(np.abs(u).sum(), c)
        assert_allclose(np.linalg.norm(u), 1)
        assert_array_equal(np.sign(u[on]), np.sign(a[on]))
        # Two unknowns from the entries in use, if there are two different ones.
        if on.sum() >= 2 and np.ptp(np.abs(u[on])) > 1e-6:
            lhs = np.column_stack([np.abs(u[on]), np.ones(on.sum())])
            (two_nu, delta), *_ = linalg.lstsq(lhs, np.abs(a[on]))
            assert_allclose(lhs @ [two_nu, delta], np.abs(a[on]), atol=1e-8)
            assert two_nu > 0
            assert delta >= -1e-9
            assert (np.abs(a[~on]) <= delta + 1e-8).all()

    def test_beside_a_general_solver(self, rng):
        a = rng.normal(size=5)
        c = 1.5
        # u = p - q with p, q >= 0 makes the l1 norm linear.
        found = minimize(
            lambda z: -(z[:5] - z[5:]) @ a,
            np.full(10, 0.1),
            jac=lambda z: np.concatenate([-a, a]),
            bounds=[(0, None)] * 10,
            constraints=[
                {"type": "ineq", "fun": lambda z: c - z.sum()},
                {"type": "ineq", "fun": lambda z: 1 - np.sum((z[:5] - z[5:]) ** 2)},
            ],
            method="SLSQP",
            options={"ftol": 1e-12},
        )
        u = l1_l2_projection_direction(a, c)
        assert_allclose(u, found.x[:5] - found.x[5:], atol=1e-5)

    def test_ties(self):
        assert_allclose(
            l1_l2_projection_direction([1.0, -1.0, 0.5], 1.0), [0.5, -0.5, 0]
        )
        # From the root of their number on, the tied entries have unit length.
        u = l1_l2_projection_direction([1.0, 1.0, 0.5], np.sqrt(2))
        assert_allclose(u, np.array([1, 1, 0]) / np.sqrt(2))

    def test_a_bound_below_one(self):
        assert_allclose(l1_l2_projection_direction([1.0, -3.0], 0.5), [0.0, -0.5])

    def test_zero_and_huge(self):
        assert_array_equal(l1_l2_projection_direction([0.0, 0.0], 1.0), 0)
        assert_allclose(l1_l2_projection_direction([3e200, 4e200], 2.0), [0.6, 0.8])

    def test_bad_arguments(self):
        with pytest.raises(ValueError, match="c must be positive"):
            l1_l2_projection_direction([1.0], 0.0)
        with pytest.raises(ValueError, match="vector"):
            l1_l2_projection_direction([[1.0]], 1.0)


class TestDecomposition:
    def test_without_penalty_it_is_the_svd(self, rng):
        M = rng.normal(size=(6, 5))
        result = penalized_matrix_decomposition(
            M, 5, c1=np.sqrt(6), c2=np.sqrt(5), tol=1e-10
        )
        U, s, Vt = linalg.svd(M, full_matrices=False)
        assert_allclose(result.d, s, rtol=1e-8)
        assert_allclose(np.abs(np.sum(result.u * U, axis=0)), 1, rtol=1e-7)
        assert_allclose(np.abs(np.sum(result.v * Vt.T, axis=0)), 1, rtol=1e-7)

    def test_course_and_bounds(self, rng):
        M = rng.normal(size=(12, 9))
        result = penalized_matrix_decomposition(M, 3, c1=1.7, c2=1.4)
        assert result.converged
        for course, d in zip(result.objectives, result.d, strict=True):
            assert (np.diff(course) >= -1e-9).all()
            assert course[-1] == d > 0
        for vectors, c in ((result.u, 1.7), (result.v, 1.4)):
            assert (np.abs(vectors).sum(axis=0) <= c + 1e-9).all()
            assert_allclose(np.linalg.norm(vectors, axis=0), 1)
            assert (vectors == 0).any()

    def test_deflation(self, rng):
        """The second pair is the first one of what the first leaves."""
        M = rng.normal(size=(7, 6))
        both = penalized_matrix_decomposition(M, 2, c1=1.5, c2=1.5)
        left = M - both.d[0] * np.outer(both.u[:, 0], both.v[:, 0])
        second = penalized_matrix_decomposition(left, 1, c1=1.5, c2=1.5)
        assert_allclose(second.u[:, 0], both.u[:, 1], atol=1e-5)
        assert_allclose(second.d[0], both.d[1])

    def test_large_matrices_start_alike(self, rng):
        M = rng.normal(size=(230, 210))
        result = penalized_matrix_decomposition(M, 1, c1=230**0.5, c2=210**0.5)
        assert_allclose(result.d[0], linalg.norm(M, 2), rtol=1e-6)

    def test_nothing_left(self):
        result = penalized_matrix_decomposition(np.outer([1, 2], [3, 4]), 2, c1=2, c2=2)
        assert_allclose(result.d, [np.sqrt(125), 0], atol=1e-12)
        assert_array_equal(penalized_matrix_decomposition(np.zeros((2, 3))).u, 0)

    def test_no_convergence_is_said(self, rng):
        with pytest.warns(ConvergenceWarning, match="max_iter=1"):
            penalized_matrix_decomposition(
                rng.normal(size=(10, 10)), c1=1.5, c2=1.5, max_iter=1
            )


class TestSparseCCA:
    @pytest.fixture
    def views(self, rng):
        X, Y = rng.normal(size=(60, 20)), rng.normal(size=(60, 15))
        X[:, :3] += 2 * rng.normal(size=(60, 1))
        Y[:, :2] += 2 * X[:, :1]
        return X, Y

    def test_finds_what_the_views_share(self, views):
        model = SparseCCA(c1=1.5, c2=1.3).fit(*views)
        assert set(np.flatnonzero(model.x_weights_)) <= {0, 1, 2}
        assert set(np.flatnonzero(model.y_weights_)) <= {0, 1}
        x_scores, y_scores = model.transform(*views)
        covariance = np.mean(x_scores[:, 0] * y_scores[:, 0])
        assert_allclose(covariance, model.covariances_[0])

    def test_without_penalty_it_is_the_svd_of_the_correlations(self, views):
        X, Y = views
        model = SparseCCA(2, c1=np.sqrt(20), c2=np.sqrt(15)).fit(X, Y)
        R = np.corrcoef(X, Y, rowvar=False)[:20, 20:]
        assert_allclose(model.covariances_, linalg.svdvals(R)[:2], rtol=1e-6)

    def test_beside_cca_zoo(self, views):
        sparse = pytest.importorskip("cca_zoo.sparse")
        X, Y = ((V - V.mean(axis=0)) / V.std(axis=0) for V in views)
        c1, c2 = 2.0, 1.6
        bounds = [c1 / np.sqrt(20), c2 / np.sqrt(15)]
        theirs = sparse.PMDCCA(1, l1_bound=bounds, tol=1e-10, max_iter=1000)
        u, v = theirs.fit([X, Y]).weights_
        ours = SparseCCA(c1=c1, c2=c2, tol=1e-10).fit(X, Y)
        for w, expected in ((u, ours.x_weights_), (v, ours.y_weights_)):
            w = w[:, 0] / linalg.norm(w[:, 0])
            assert_allclose(np.abs(w), np.abs(expected[:, 0]), atol=1e-3)

    @pytest.mark.parametrize("unit", [1.0, 2.0**300])
    def test_constant_features(self, views, unit):
        """The mean of the value may differ from it by rounding."""
        X, Y = views
        X[:, 5] = 0.1
        model = SparseCCA(2).fit(unit * X, unit * Y)
        assert_array_equal(model.x_weights_[5], 0)
        assert_allclose(model.covariances_, SparseCCA(2).fit(X, Y).covariances_)
