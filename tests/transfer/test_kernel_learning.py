"""Multiple kernel learning."""

# SPDX-License-Identifier: BSD-3-Clause

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC

from fewlabels.kernels import Kernel
from fewlabels.transfer import LpMKLClassifier, lp_norm_mkl


@pytest.fixture
def kernels(rng):
    X = rng.normal(size=(40, 4))
    y = np.sign(X[:, 0] + 0.5 * X[:, 1] + 0.3 * rng.normal(size=40))
    squares = ((X[:, None] - X) ** 2).sum(axis=2)
    matrices = [np.outer(x, x) for x in X.T] + [np.exp(-0.2 * squares)]
    return matrices, y


def primal(kernels, y, solution, C):
    """Regularisation and hinge loss of the mixture."""
    K = sum(w * k for w, k in zip(solution.weights, kernels, strict=True))
    beta = solution.dual_coef
    outputs = K @ beta + solution.intercept
    return 0.5 * beta @ K @ beta + C * np.maximum(0, 1 - y * outputs).sum()


@pytest.mark.parametrize("p", [1.5, 2.0, 50.0])
def test_dual_value_meets_the_primal(kernels, p):
    matrices, y = kernels
    solution = lp_norm_mkl(matrices, y, p=p, tol=1e-7, max_iter=300)
    beta = solution.dual_coef
    forms = np.array([beta @ K @ beta for K in matrices])
    dual = np.abs(beta).sum() - 0.5 * np.linalg.norm(forms, p / (p - 1))
    assert_allclose(dual, primal(matrices, y, solution, 1.0), rtol=1e-5)
    assert_allclose(np.linalg.norm(solution.weights, p), 1)
    assert np.all(solution.weights >= 0)
    assert solution.gap <= 1e-7 * solution.objective[-1]


@pytest.mark.parametrize("p", [1.0, 1.5, 4.0])
def test_objective_falls(kernels, p):
    solution = lp_norm_mkl(*kernels, p=p, tol=0, max_iter=15)
    assert solution.objective.size > 3
    scale = abs(solution.objective[0])
    assert np.all(np.diff(solution.objective) <= 1e-6 * scale)


def test_infinite_norm_adds_all_kernels(kernels):
    matrices, y = kernels
    solution = lp_norm_mkl(matrices, y, p=np.inf, tol=1e-6)
    assert_allclose(solution.weights, 1)
    machine = SVC(kernel="precomputed", tol=1e-6).fit(sum(matrices), y)
    outputs = sum(matrices) @ solution.dual_coef + solution.intercept
    assert_allclose(
        outputs, machine.decision_function(sum(matrices)), rtol=1e-4, atol=1e-4
    )
    large = lp_norm_mkl(matrices, y, p=1000.0).weights
    assert_allclose(large, 1, atol=0.02)


def test_one_kernel_is_a_machine(kernels):
    matrices, y = kernels
    solution = lp_norm_mkl(matrices[-1:], y, p=2.0, tol=1e-6)
    assert_allclose(solution.weights, 1)
    machine = SVC(kernel="precomputed", tol=1e-6).fit(matrices[-1], y)
    outputs = matrices[-1] @ solution.dual_coef + solution.intercept
    assert_allclose(outputs, machine.decision_function(matrices[-1]), atol=1e-5)


def test_norm_one_leaves_kernels_out(rng):
    X = rng.normal(size=(60, 6))
    kernels = [np.outer(x, x) for x in X.T]
    y = np.sign(X[:, 0] + 0.1 * rng.normal(size=60))
    few, many = (
        lp_norm_mkl(kernels, y, p=p, tol=1e-5, max_iter=500) for p in (1.0, 2.0)
    )
    assert few.weights.argmax() == 0
    used = few.weights > 0.01
    assert np.count_nonzero(used) < np.count_nonzero(many.weights > 0.01)
    # The condition of the l1-norm: kernels in use have the largest form, all the same.
    forms = np.array([few.dual_coef @ K @ few.dual_coef for K in kernels])
    assert_allclose(forms[used], forms.max(), rtol=1e-2)


class TestClassifier:
    def test_kernels_of_single_features(self, rng):
        """The kernel of the informative feature gets the most weight, in each class."""
        X, y = rng.normal(size=(60, 3)), np.arange(60) % 3
        X[:, 1] += 4 * y
        kernels = [lambda a, b, j=j: np.exp(-((a[j] - b[j]) ** 2)) for j in range(3)]
        model = LpMKLClassifier(kernels, p=1.1).fit(X, y)
        assert model.kernel_weights_.shape == (3, 3)
        assert np.all(model.kernel_weights_.argmax(axis=0) == 1)

    def test_scale_of_a_kernel_does_not_matter(self, rng):
        X, y = rng.normal(size=(50, 2)), np.arange(50) % 2
        X[y == 1] += 1
        small = [Kernel("rbf", {"gamma": 0.5}), lambda a, b: 1e-6 * a @ b]
        large = [Kernel("rbf", {"gamma": 0.5}), lambda a, b: a @ b]
        one, other = (LpMKLClassifier(k).fit(X, y) for k in (small, large))
        assert_allclose(one.kernel_weights_, other.kernel_weights_, rtol=1e-4)
        raw = LpMKLClassifier(small, normalize=False).fit(X, y)
        assert raw.kernel_weights_[1, 0] < 0.05

    def test_no_convergence_is_told(self, rng):
        X, y = rng.normal(size=(30, 2)), np.arange(30) % 2
        with pytest.warns(ConvergenceWarning, match="max_iter=1"):
            LpMKLClassifier(p=1.0, tol=1e-9, max_iter=1).fit(X, y)

    def test_no_kernel(self):
        with pytest.raises(ValueError, match="kernels is empty"):
            LpMKLClassifier([]).fit(np.eye(2), [0, 1])


def test_unit_of_rows_in_single_precision(rng):
    X = rng.normal(size=(20, 3)).astype(np.float32)
    X[0] *= 1e5
    y = np.arange(20) % 2
    near, far = (
        LpMKLClassifier().fit(A, y).decision_function(A) for A in (X, X * 2.0**50)
    )
    assert_allclose(far, near, atol=1e-3)
