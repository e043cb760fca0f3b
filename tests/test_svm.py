"""libsvm, which holds kernels in single precision, away from the origin."""

# SPDX-License-Identifier: BSD-3-Clause

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from scipy.optimize import linprog

from fewlabels._svm import svm_dual
from fewlabels.semi_supervised import TransductiveSVC, transductive_svm
from fewlabels.tensor import support_tensor_machine
from fewlabels.transfer import lp_norm_mkl


def problem(seed, n=24, p=3):
    """Rows on a grid that shifts by powers of two leave as it is."""
    rng = np.random.default_rng(seed)
    y = np.resize([-1.0, 1.0], n)
    X = np.round(64 * (rng.normal(size=(n, p)) + 0.7 * y[:, None])) / 64
    return X, y


def best_value(X, y, C):
    """Primal optimum of a linear machine, by cutting planes from linear programs.

    The squared norm is the largest of its tangents, added one by one where the last
    solution needs them; the optimum lies between the program's value and the true one.
    """
    n, p = X.shape
    X = X - X.mean(axis=0)
    # Variables: w, b, slack of every row, half the squared norm.
    cost = np.r_[np.zeros(p + 1), np.full(n, C), 1.0]
    rows = [np.hstack([-y[:, None] * X, -y[:, None], -np.eye(n), np.zeros((n, 1))])]
    sides = [-np.ones(n)]
    bounds = [(-100, 100)] * (p + 1) + [(0, None)] * (n + 1)
    best = np.inf
    for _ in range(400):
        found = linprog(cost, np.vstack(rows), np.concatenate(sides), bounds=bounds)
        w, b = found.x[:p], found.x[p]
        loss = np.maximum(0, 1 - y * (X @ w + b)).sum()
        best = min(best, 0.5 * w @ w + C * loss)
        if best - found.fun <= 1e-6 * best:
            return best
        rows.append(np.r_[w, np.zeros(n + 1), -1.0][None, :])
        sides.append(np.array([0.5 * w @ w]))
    raise AssertionError("the reference did not converge")


@pytest.mark.parametrize("shift", [0.0, 2.0**13, 2.0**20])
@pytest.mark.parametrize("seed", range(3))
def test_machines_are_optimal_anywhere(seed, shift):
    X, y = problem(seed)
    best = best_value(X, y, 1.0)
    far = X + shift

    def value(w, b):
        return 0.5 * w @ w + np.maximum(0, 1 - y * (far @ w + b)).sum()

    solution = transductive_svm(far, y.astype(int), tol=1e-6)
    assert_allclose(solution.objective, best, rtol=1e-4)
    assert_allclose(value(solution.coef, solution.intercept), best, rtol=1e-4)
    solution = transductive_svm(sparse.csr_array(far), y.astype(int), tol=1e-6)
    assert_allclose(solution.objective, best, rtol=1e-4)
    machine = support_tensor_machine(far, y, tol=1e-9)
    assert_allclose(value(machine.weights[0], machine.intercept), best, rtol=1e-4)


@pytest.mark.parametrize("shift", [0.0, 2.0**13])
@pytest.mark.parametrize("seed", range(3))
def test_kernels_are_centred(seed, shift):
    """Shifted products have some digits left in double precision, not in single."""
    X, y = problem(seed)
    best = best_value(X, y, 1.0)
    K = (X + shift) @ (X + shift).T

    def value(beta, b, K=K):
        loss = np.maximum(0, 1 - y * (K @ beta + b)).sum()
        w = (X - X.mean(axis=0)).T @ beta
        return 0.5 * w @ w + loss

    machine = svm_dual(K, y, 1.0)
    assert_allclose(machine.value, best, rtol=1e-4)
    assert_allclose(value(machine.dual_coef, machine.intercept), best, rtol=1e-4)
    solution = transductive_svm(K, y.astype(int), is_factor=False, tol=1e-6)
    assert_allclose(solution.objective, best, rtol=1e-4)
    mixture = lp_norm_mkl([K, K], y, p=np.inf)  # is 2 K
    assert_allclose(mixture.weights, 1.0)
    assert_allclose(
        mixture.objective[-1], best_value(np.sqrt(2) * X, y, 1.0), rtol=1e-4
    )
    outputs = 2 * K @ mixture.dual_coef + mixture.intercept
    near = svm_dual(2 * X @ X.T, y, 1.0)
    assert_allclose(outputs, 2 * X @ X.T @ near.dual_coef + near.intercept, atol=1e-3)


@pytest.mark.parametrize("shift", [2.0**13, 2.0**20])
def test_transductive_answers_are_the_same_anywhere(shift):
    for seed in range(5):
        X, y = problem(seed, n=60)
        labels = np.where(np.arange(60) < 20, y, 0).astype(int)
        near, far = (transductive_svm(Z, labels, tol=1e-6) for Z in (X, X + shift))
        assert_allclose(far.objective, near.objective, rtol=1e-4)
        assert_allclose(far.outputs, near.outputs, atol=1e-2)
        codes = np.where(labels == 0, -1, labels == 1)
        near, far = (
            TransductiveSVC(kernel="linear", random_state=0).fit(Z, codes)
            for Z in (X, X + shift)
        )
        assert_allclose(far.objective_, near.objective_, rtol=1e-3)
