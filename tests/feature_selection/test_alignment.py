"""Kernel alignment and the selector that keeps it."""

# SPDX-License-Identifier: BSD-3-Clause

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import check_grad, minimize
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel

from fewlabels.feature_selection import (
    KernelAlignmentSelector,
    align_features,
    kernel_alignment,
)


def objective(s, X, lam, gamma):
    """The objective as it is written, by loops over pairs of rows."""
    n = len(X)
    H = np.eye(n) - 1 / n
    L = rbf_kernel(X, gamma=gamma)
    K = np.array([[np.exp(-gamma * np.sum(s**2 * (a - b) ** 2)) for b in X] for a in X])
    target = H @ L @ H
    return -np.trace(target @ K) / np.sum(target**2) + lam * s.sum()


def gradient(s, X, lam, gamma):
    n = len(X)
    H = np.eye(n) - 1 / n
    target = H @ rbf_kernel(X, gamma=gamma) @ H
    M = target * rbf_kernel(X * s, gamma=gamma) / np.sum(target**2)
    D = (X[:, None] - X[None]) ** 2
    return 2 * gamma * s * np.einsum("ij,ijp->p", M, D) + lam


@pytest.fixture
def kernels():
    rng = np.random.default_rng(0)
    A, B = rng.normal(size=(12, 4)), rng.normal(size=(12, 3))
    return A @ A.T, B @ B.T


@pytest.fixture
def clusters():
    rng = np.random.default_rng(0)
    X = rng.normal(scale=0.3, size=(60, 5))
    X[:, :2] += rng.choice([-1, 1], size=(60, 2))
    return X


class TestAlignment:
    def test_definition(self, kernels):
        K, L = kernels
        H = np.eye(12) - 1 / 12
        value = kernel_alignment(K, L, normalized=False)
        assert_allclose(value, np.trace(H @ K @ H @ L))
        # (n - 1)^2 times the Hilbert-Schmidt independence criterion.
        hsic = np.trace(K @ H @ L @ H) / 11**2
        assert_allclose(value, 11**2 * hsic)
        plain = kernel_alignment(K, L, centered=False, normalized=False)
        assert_allclose(plain, np.trace(K @ L))

    def test_with_itself(self, kernels):
        K, _ = kernels
        H = np.eye(12) - 1 / 12
        Kc = H @ K @ H
        by_means = K - K.mean(0) - K.mean(1)[:, None] + K.mean()
        assert_allclose(Kc, by_means, atol=1e-12)
        assert_allclose(kernel_alignment(K, K, normalized=False), np.sum(Kc**2))
        assert_allclose(kernel_alignment(K, 5 * K + 2), 1)

    def test_nothing_left_after_centring(self, kernels):
        assert kernel_alignment(np.full((12, 12), 0.1), kernels[0]) == 0

    def test_shapes(self, kernels):
        with pytest.raises(ValueError, match="square and of one shape"):
            kernel_alignment(kernels[0], np.eye(3))


class TestWeights:
    def test_gradient(self, clusters):
        X = clusters[:15]
        s = np.random.default_rng(1).uniform(0.1, 1, size=5)
        error = check_grad(objective, gradient, s, X, 0.1, 0.5)
        assert error < 1e-6
        # One step of the solver sees the same value and gradient.
        with pytest.warns(ConvergenceWarning):
            start = align_features(X, 0.1, 0.5, max_iter=1)
        assert start.value <= objective(np.ones(5), X, 0.1, 0.5)

    def test_gradient_beside_a_far_row(self, clusters):
        """Products of rows of 1e8 would leave its sums no digits."""
        X = clusters[:15].copy()
        X[3] += 1e8 / 3
        result = align_features(X, 0.02, 0.5)
        # The far row is like no other, by whatever feature.
        near = np.delete(X, 3, axis=0)
        n = len(X)
        H = np.eye(n) - 1 / n
        K = np.eye(n)
        K[np.ix_(*2 * [np.arange(n) != 3])] = rbf_kernel(near, gamma=0.5)
        target = H @ K @ H
        inside = np.arange(n) != 3
        M = (target / np.sum(target**2))[np.ix_(inside, inside)]
        M = M * rbf_kernel(near * result.x, gamma=0.5)
        D = (near[:, None] - near[None]) ** 2
        expected = result.x * np.einsum("ij,ijp->p", M, D) + 0.02
        assert_allclose(result.gradient, expected, rtol=1e-7)

    @pytest.mark.parametrize("lam", [0.02, 0.1])
    def test_stationary_and_as_good_as_another_solver(self, clusters, lam):
        X = clusters[:25]
        result = align_features(X, lam, 0.5, tol=1e-8)
        assert_allclose(result.value, objective(result.x, X, lam, 0.5))
        g = gradient(result.x, X, lam, 0.5)
        assert_allclose(np.clip(result.x - g, 0, 1), result.x, atol=1e-7)
        other = minimize(
            objective,
            np.ones(5),
            (X, lam, 0.5),
            jac=gradient,
            bounds=[(0, 1)] * 5,
            method="L-BFGS-B",
            options={"gtol": 1e-9, "ftol": 1e-14},
        )
        assert_allclose(result.value, other.fun, atol=1e-6)

    def test_noise_goes(self, clusters):
        weights = align_features(clusters, 0.05, 0.5).x
        assert np.all(weights[:2] > 0.5)
        assert_array_equal(weights[2:], 0)

    def test_free_features_stay_if_they_have_structure(self, clusters):
        with_clusters = np.random.default_rng(1).choice([-1.0, 1.0], size=(60, 4))
        assert_array_equal(align_features(with_clusters, 0.0, 0.5).x, 1)
        # Noise goes at any price: without it the alignment is larger than 1.
        result = align_features(clusters, 0.0, 0.5)
        assert_array_equal(result.x[2:], 0)
        assert result.value < -1

    def test_copies_get_the_same_weight(self, clusters):
        weights = align_features(np.c_[clusters, clusters[:, 0]], 0.02, 0.5).x
        assert weights[0] > 0
        assert_allclose(weights[0], weights[-1], atol=1e-9)

    @pytest.mark.parametrize("n_far", [1, 3])
    def test_far_rows_leave_the_gradient_its_digits(self, n_far):
        """Far copies take part in no pair but their own, whatever their distance."""
        rng = np.random.default_rng(0)
        X = np.r_[rng.normal(size=(12, 4)), np.full((n_far, 4), 2.0**30)]
        far = align_features(X, 0.02, 0.5)
        X[12:] = 2.0**6
        near = align_features(X, 0.02, 0.5)
        assert_allclose(far.x, near.x, atol=1e-6)
        assert_allclose(far.gradient, near.gradient, atol=1e-6)

    def test_equal_rows(self):
        assert_array_equal(align_features(np.ones((4, 2)), 0.0, 1.0).x, 1)
        assert_array_equal(align_features(np.ones((4, 2)), 0.1, 1.0).x, 0)

    def test_bad_parameters(self):
        with pytest.raises(ValueError, match="alpha must be at least 0"):
            align_features(np.eye(3), -1.0, 1.0)
        with pytest.raises(ValueError, match="gamma must be positive"):
            align_features(np.eye(3), 1.0, 0.0)


class TestSelector:
    def test_number_and_threshold(self, clusters):
        by_number = KernelAlignmentSelector(2, gamma=0.5).fit(clusters)
        assert_array_equal(by_number.get_support(indices=True), [0, 1])
        by_weight = KernelAlignmentSelector(alpha=0.25, gamma=0.5).fit(clusters)
        assert_array_equal(by_weight.support_, by_weight.weights_ > 0.1)
        assert_array_equal(by_weight.get_support(indices=True), [0, 1])
        assert_allclose(
            by_weight.weights_, align_features(clusters, 0.05, 0.5).x, atol=1e-8
        )

    def test_too_many(self, clusters):
        with pytest.raises(ValueError, match="n_features_to_select=6 is more than"):
            KernelAlignmentSelector(6).fit(clusters)

    def test_price_too_high(self, clusters):
        selector = KernelAlignmentSelector(alpha=100.0).fit(clusters)
        assert not selector.support_.any()
        with pytest.warns(UserWarning, match="No features were selected"):
            selector.transform(clusters)


@pytest.mark.parametrize("unit", [2.0**-480, 2.0**480])
def test_unit_of_the_rows(unit, rng):
    X = rng.normal(size=(12, 5)) * [1, 1, 1, 3, 3]
    near, far = (KernelAlignmentSelector(2).fit(A) for A in (X, X * unit))
    assert_array_equal(far.support_, near.support_)
    assert_allclose(far.weights_, near.weights_)
