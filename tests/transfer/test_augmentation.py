"""Feature augmentation of domains with the same and with different features."""

# SPDX-License-Identifier: BSD-3-Clause

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import linalg, sparse
from sklearn.linear_model import Ridge
from sklearn.svm import SVC

from fewlabels._svm import svm_dual
from fewlabels.transfer import (
    FeatureAugmentation,
    HeterogeneousFeatureAugmentation,
    heterogeneous_augmentation,
)


class TestFeatureAugmentation:
    def test_kernel_is_doubled_within_a_domain(self, rng):
        X, domains = rng.normal(size=(10, 3)), np.repeat([1, -2], 5)
        Z = FeatureAugmentation().fit_transform(X, sample_domain=domains)
        same = domains[:, None] == domains
        assert_allclose(Z @ Z.T, np.where(same, 2, 1) * (X @ X.T))

    def test_ridge_on_it_is_mean_regularised_multitask_ridge(self, rng):
        """Least squares over both rules, pulled to a free mean."""
        X, y = rng.normal(size=(30, 3)), rng.normal(size=30)
        domains, alpha = np.repeat([1, -2], [20, 10]), 0.7
        augmentation = FeatureAugmentation().fit(X, sample_domain=domains)
        Z = augmentation.transform(X, sample_domain=domains)
        ridge = Ridge(alpha=alpha, fit_intercept=False).fit(Z, y)
        common, source, target = np.split(ridge.coef_, 3)
        # min over the mean w of |w|^2 + |u_s - w|^2 + |u_t - w|^2 is a form in u.
        penalty = np.kron(np.eye(2) - 1 / 3, np.eye(3))
        blocks = linalg.block_diag(X[:20], X[20:])
        u = np.linalg.solve(blocks.T @ blocks + alpha * penalty, blocks.T @ y)
        assert_allclose(np.concatenate([common + source, common + target]), u)

    def test_only_the_target(self, rng):
        X = rng.normal(size=(5, 2))
        assert_array_equal(FeatureAugmentation().fit_transform(X), np.hstack([X, X]))

    def test_many_domains_and_unknown_ones(self):
        X, domains = np.ones((4, 1)), [2, -3, 1, -2]
        model = FeatureAugmentation().fit(X, sample_domain=domains)
        Z = model.transform(X, sample_domain=domains)
        expected = [[1, 0, 1, 0, 0], [1, 0, 0, 0, 1], [1, 1, 0, 0, 0], [1, 0, 0, 1, 0]]
        assert_array_equal(Z, expected)
        assert_array_equal(
            model.transform([[7.0]], sample_domain=[9]), [[7, 0, 0, 0, 0]]
        )

    def test_sparse_rows(self, rng):
        X, domains = rng.normal(size=(6, 3)), [1, 1, 1, -2, -2, -2]
        Z = FeatureAugmentation().fit_transform(
            sparse.csr_array(X), sample_domain=domains
        )
        assert sparse.issparse(Z)
        dense = FeatureAugmentation().fit_transform(X, sample_domain=domains)
        assert_allclose(Z.toarray(), dense)


def problem(rng, n_source=9, n_target=6):
    S, T = rng.normal(size=(n_source, 3)), rng.normal(size=(n_target, 2))
    y = rng.permutation(np.resize([-1.0, 1.0], n_source + n_target))
    return S @ S.T + 0.1 * np.eye(n_source), T @ T.T + 0.1 * np.eye(n_target), y


def root(K):
    w, V = np.linalg.eigh(K)
    return V * np.sqrt(np.maximum(w, 0)) @ V.T


class TestOneMachineSolvesHFA:
    C, LAM = 0.8, 1.5

    @pytest.fixture
    def solved(self, rng):
        K_s, K_t, y = problem(rng)
        solution = heterogeneous_augmentation(K_s, K_t, y, C=self.C, max_norm=self.LAM)
        return linalg.block_diag(K_s, K_t), y, solution

    def test_saddle_point(self, solved):
        """No other coefficients are better for H, and no other H is for them."""
        K, y, solution = solved
        R = root(K)
        beta = solution.dual_coef
        h = np.linalg.solve(R, solution.direction)
        assert_allclose(np.linalg.norm(h), 1, rtol=1e-6)
        H = self.LAM * np.outer(h, h)
        machine = svm_dual(R @ (H + np.eye(len(y))) @ R, y, self.C, tol=1e-9)
        assert_allclose(machine.value, solution.value, rtol=1e-6)
        # The best H with this trace is the leading direction of R beta.
        best = np.abs(beta).sum() - 0.5 * (1 + self.LAM) * beta @ K @ beta
        assert_allclose(best, solution.value, rtol=1e-6)

    def test_the_slow_route_comes_down_to_it(self, solved):
        """Atoms are added one by one, as the algorithm is published."""
        K, y, solution = solved
        R, n = root(K), len(y)
        H = self.LAM * np.ones((n, n)) / n
        values = []
        for t in range(200):
            machine = svm_dual(R @ (H + np.eye(n)) @ R, y, self.C)
            values.append(machine.value)
            h = R @ machine.dual_coef
            h /= np.linalg.norm(h)
            H += 2 / (t + 2) * (self.LAM * np.outer(h, h) - H)
        assert min(values) >= solution.value - 1e-5
        assert_allclose(values[-1], solution.value, rtol=1e-3)
        assert values[0] > solution.value + 1e-3

    def test_semidefinite_program(self, rng):
        """The minimum over all metrics H, without any exchange of min and max."""
        cp = pytest.importorskip("cvxpy")
        K_s, K_t, y = problem(rng, 5, 4)
        K, n = linalg.block_diag(K_s, K_t), 9
        R = root(K)
        H = cp.Variable((n, n), PSD=True)
        lower, upper = (
            cp.Variable((n, 1), nonneg=True),
            cp.Variable((n, 1), nonneg=True),
        )
        bias, top = cp.Variable(), cp.Variable((1, 1))
        G = np.diag(y) @ R @ (H + np.eye(n)) @ R @ np.diag(y)
        column = 1 + lower - upper + bias * y[:, None]
        block = cp.bmat([[G, column], [column.T, top - 2 * self.C * cp.sum(upper)]])
        half = (block + block.T) / 2
        cp_problem = cp.Problem(
            cp.Minimize(top[0, 0] / 2), [half >> 0, cp.trace(H) <= self.LAM]
        )
        cp_problem.solve(solver=cp.SCS, eps=1e-7, max_iters=20_000)
        ours = heterogeneous_augmentation(K_s, K_t, y, C=self.C, max_norm=self.LAM)
        assert_allclose(ours.value, cp_problem.value, rtol=1e-4)

    def test_predictions_of_the_whole_formula(self, rng):
        """The metric in the formula of the paper, and what is left of it."""
        S, T = rng.normal(size=(12, 3)), rng.normal(size=(8, 4))
        y_source, y = np.arange(12) % 2, np.arange(8) % 2
        model = HeterogeneousFeatureAugmentation(max_norm=self.LAM)
        model.fit(T, y, X_source=S, y_source=y_source)
        new = rng.normal(size=(5, 4))
        gamma = 1 / (3 * S.var())
        K_s = np.exp(-gamma * ((S[:, None] - S) ** 2).sum(axis=2))
        K = linalg.block_diag(K_s, model.kernel_(T))
        k = np.vstack([np.zeros((12, 5)), model.kernel_(T, new)])
        R = root(K)
        h = np.linalg.solve(R, model.directions_[:, 0])
        H = self.LAM * np.outer(h, h)
        outputs = model.dual_coef_[:, 0] @ (k + R @ H @ np.linalg.solve(R, k))
        assert_allclose(model.decision_function(new), outputs + model.intercept_)


def test_no_map_leaves_two_machines_with_one_bias(rng):
    S, T = rng.normal(size=(20, 3)), rng.normal(size=(10, 2))
    y_source, y = np.arange(20) % 2, np.arange(10) % 2
    model = HeterogeneousFeatureAugmentation(max_norm=0, kernel="linear")
    model.fit(T, y, X_source=S, y_source=y_source)
    X = linalg.block_diag(S, T)
    machine = SVC(kernel="linear", tol=1e-8).fit(X, np.concatenate([y_source, y]))
    padded = np.hstack([np.zeros((10, 3)), T])
    assert_allclose(
        model.decision_function(T), machine.decision_function(padded), atol=1e-5
    )


def test_without_a_source_it_is_a_machine(rng):
    X, y = rng.normal(size=(30, 2)), np.arange(30) % 2
    model = HeterogeneousFeatureAugmentation(C=0.5, max_norm=3, kernel="linear").fit(
        X, y
    )
    machine = SVC(C=0.5, kernel="precomputed", tol=1e-8).fit(4 * X @ X.T, y)
    assert_allclose(
        model.decision_function(X), machine.decision_function(4 * X @ X.T), atol=1e-5
    )


def test_target_labels_are_asked_for():
    with pytest.raises(ValueError, match="No row of the target has a label"):
        HeterogeneousFeatureAugmentation().fit(
            np.eye(3), [-1, -1, -1], X_source=np.eye(2), y_source=[0, 1]
        )
