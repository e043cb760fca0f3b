"""Problems: gradients, bounds on curvature, duality gaps, blocks."""

# SPDX-License-Identifier: BSD-3-Clause

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.linear_model import Lasso, LogisticRegression

from fewlabels.optimize import (
    BlockPartition,
    FiniteSumProblem,
    L1Penalty,
    L2Penalty,
    QuadraticProblem,
    SmoothProblem,
    coordinate_descent,
)
from fewlabels.optimize import _finite_sum_problem as module
from tests.optimize.problems import SMOOTH, finite_sum, quadratic

CASES = [("quadratic", None)] + [(loss, s) for loss in SMOOTH for s in (False, True)]


def make(name, sparse_rows):
    if name == "quadratic":
        return quadratic(penalty="elastic net")
    return finite_sum(name, "elastic net", sparse_rows=sparse_rows)


@pytest.mark.parametrize(("name", "sparse_rows"), CASES)
class TestEveryProblem:
    def test_gradient(self, name, sparse_rows, rng):
        problem = make(name, sparse_rows)
        w, h = rng.normal(size=6), 1e-6
        numeric = [
            (problem.smooth_value(w + h * e) - problem.smooth_value(w - h * e))
            / (2 * h)
            for e in np.eye(6)
        ]
        assert_allclose(problem.gradient(w), numeric, atol=1e-6)

    def test_gradient_is_the_mean_of_rows(self, name, sparse_rows, rng):
        problem = make(name, sparse_rows)
        if name == "quadratic":
            assert_allclose(problem.gradient(np.zeros(6)), -problem.b)
            return
        w = rng.normal(size=6)
        rows = [problem.row_gradient(w, i) for i in range(problem.n_samples)]
        assert_allclose(np.mean(rows, axis=0), problem.gradient(w), atol=1e-14)

    def test_state_gives_the_value(self, name, sparse_rows, rng):
        problem = make(name, sparse_rows)
        w = rng.normal(size=6)
        assert_allclose(problem.value_at(w, problem.state(w)), problem.value(w))

    def test_curvature_bounds_hold(self, name, sparse_rows, rng):
        problem = make(name, sparse_rows)
        blocks = BlockPartition([0, 1, 0, 2, 1, 1])
        L, L_block = problem.lipschitz, problem.block_lipschitz(blocks)
        L_one = problem.block_lipschitz(BlockPartition.of_size(6))
        for _ in range(20):
            w, t = rng.normal(size=6), rng.normal(size=6)
            here, g = problem.smooth_value(w), problem.gradient(w)

            def excess(t, bound, w=w, here=here, g=g):
                bound = here + g @ t + bound / 2 * (t @ t)
                return problem.smooth_value(w + t) - bound

            assert excess(t, L) <= 1e-12
            for b, members in enumerate(blocks):
                part = np.zeros(6)
                part[members] = t[members]
                assert excess(part, L_block[b]) <= 1e-12
            for j in range(6):
                assert excess(t * np.eye(6)[j], L_one[j]) <= 1e-12

    @pytest.mark.parametrize("tau", [1, 2, 4])
    def test_expected_separable_overapproximation(self, name, sparse_rows, tau, rng):
        """The expectation is taken over all sets of tau blocks."""
        problem = make(name, sparse_rows)
        blocks = BlockPartition([0, 1, 2, 3, 3, 1])
        n, v = len(blocks), problem.overapproximation(blocks, tau)
        for _ in range(10):
            w, t = rng.normal(size=6), rng.normal(size=6)
            values = [
                problem.smooth_value(w + np.where(np.isin(blocks.labels, S), t, 0))
                for S in itertools.combinations(range(n), tau)
            ]
            squares = v[blocks.labels] @ t**2
            bound = problem.smooth_value(w) + tau / n * (
                problem.gradient(w) @ t + squares / 2
            )
            assert np.mean(values) <= bound + 1e-12


@pytest.mark.parametrize("loss", [*SMOOTH, "hinge"])
@pytest.mark.parametrize("penalty", ["l1", "l2", "elastic net"])
def test_duality_gap_bounds_the_error(loss, penalty, rng):
    problem = finite_sum(loss, penalty)
    points = rng.normal(size=(20, 6))
    best = min(problem.value(w) for w in points)
    if loss != "hinge":
        w = coordinate_descent(problem, tol=1e-11, max_iter=20_000).x
        best = problem.value(w)
        assert 0 <= problem.duality_gap(w) <= 1e-9
    for w in points:
        assert problem.duality_gap(w) >= problem.value(w) - best - 1e-12


def test_duality_gap_of_scikit_learn():
    """Its estimators solve our problems, after scaling (I1)."""
    problem = finite_sum("logistic", "l2", n=60)
    model = LogisticRegression(C=1 / (60 * 0.1), fit_intercept=False, tol=1e-10)
    w = model.fit(problem.X, problem.y).coef_[0]
    assert problem.duality_gap(w) < 1e-9
    assert problem.violation(w) < 1e-5
    problem = finite_sum("squared", "l1", n=60)
    w = Lasso(0.05, fit_intercept=False, tol=1e-12).fit(problem.X, problem.y).coef_
    assert problem.duality_gap(w) < 1e-9


def test_no_bound_without_a_penalty():
    problem = finite_sum("squared", "none")
    assert problem.duality_gap(np.ones(6)) > 0


def test_lipschitz_of_large_problems(monkeypatch):
    problem = finite_sum("logistic")
    exact = problem.lipschitz
    monkeypatch.setattr(module, "_SMALL", 2)
    for sparse_rows in (False, True):
        again = finite_sum("logistic", sparse_rows=sparse_rows)
        assert_allclose(again.lipschitz, exact, rtol=1e-5)
        assert again.lipschitz >= exact


def test_degenerate_columns():
    X = np.zeros((4, 3))
    X[:, 0] = 1.0
    problem = FiniteSumProblem(X, np.ones(4), "squared", L1Penalty(0.1))
    assert np.all(problem.block_lipschitz(BlockPartition.of_size(3)) > 0)
    assert np.all(problem.overapproximation(BlockPartition.of_size(3), 2) > 0)
    nothing = FiniteSumProblem(np.zeros((4, 3)), np.ones(4))
    assert_array_equal(nothing.block_lipschitz(BlockPartition.of_size(3)), 1)
    assert nothing.scale == 1


def test_duplicate_entries_of_sparse_rows_are_summed():
    X = sparse.csr_matrix(([1.0, 2.0], [0, 0], [0, 2]), shape=(1, 2))
    problem = FiniteSumProblem(X, [1.0])
    assert problem.X.nnz == 1
    assert X.nnz == 2


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda: FiniteSumProblem([[1.0]], [0.5], "hinge"), "y must be -1 or"),
        (lambda: FiniteSumProblem([[1.0]], [1.0, 2.0]), "inconsistent numbers"),
        (lambda: FiniteSumProblem([[1.0]], [np.nan]), "y holds NaN"),
        (lambda: QuadraticProblem([[1.0, 2.0], [0.0, 1.0]], [1, 1]), "symmetric"),
        (lambda: QuadraticProblem(np.eye(2), [1.0]), "A has shape"),
        (lambda: QuadraticProblem(-np.eye(2), [1.0, 1.0]), "positive semidefinite"),
        (lambda: BlockPartition([0, 2]), "every number"),
        (lambda: BlockPartition([-1, 0]), "every number"),
        (lambda: BlockPartition.of_size(3, 0), "size must be"),
    ],
)
def test_bad_input(call, match):
    with pytest.raises(ValueError, match=match):
        call()


def test_blocks_are_columns_of_the_identity(rng):
    """x is the sum of U_i x_i with x_i = U_i' x."""
    blocks = BlockPartition([2, 0, 1, 0, 2])
    x = rng.normal(size=5)
    U = [np.eye(5)[:, members] for members in blocks]
    parts = blocks.split(x)
    for U_i, part in zip(U, parts, strict=True):
        assert_array_equal(part, U_i.T @ x)
    assert_array_equal(sum(U_i @ p for U_i, p in zip(U, parts, strict=True)), x)
    assert_array_equal(blocks.join(parts), x)
    assert len(blocks) == 3
    assert blocks.largest == 2


def test_own_functions():
    problem = SmoothProblem(
        lambda w: w @ w, lambda w: 2 * w, 2, lipschitz=2.0, penalty=L2Penalty(2.0)
    )
    assert problem.value(np.ones(2)) == 4
    assert problem.violation(np.ones(2)) == 4
    assert problem.lipschitz == 2
