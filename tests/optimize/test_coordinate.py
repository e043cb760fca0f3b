"""Coordinate descent, blocks and APPROX (entries A6 to A8)."""

# SPDX-License-Identifier: BSD-3-Clause

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import ElasticNet, Lasso

from fewlabels._loops import optimize as loops
from fewlabels.optimize import (
    BlockPartition,
    FiniteSumProblem,
    L1Penalty,
    QuadraticProblem,
    approx_coordinate_descent,
    block_coordinate_descent,
    coordinate_descent,
    gradient_descent,
)
from fewlabels.optimize._coordinate import Point
from tests.optimize.problems import SMOOTH, finite_sum, quadratic
from tests.reference import optimize as slow

BLOCKS = BlockPartition([0, 1, 1, 2, 0, 0])
CASES = [("quadratic", False)] + [(loss, s) for loss in SMOOTH for s in (False, True)]


def make(name, penalty, sparse_rows):
    if name == "quadratic":
        return quadratic(penalty=penalty)
    return finite_sum(name, penalty, sparse_rows=sparse_rows)


@pytest.mark.parametrize("penalty", ["none", "l1", "elastic net"])
@pytest.mark.parametrize(("name", "sparse_rows"), CASES)
class TestTwins:
    @pytest.mark.parametrize("partition", [BlockPartition.of_size(6), BLOCKS])
    def test_coordinates(self, name, sparse_rows, penalty, partition, rng):
        problem = make(name, penalty, sparse_rows)
        L = problem.block_lipschitz(partition)
        order, w0 = rng.integers(len(partition), size=25), rng.normal(size=6)
        w, state = w0.copy(), problem.state(w0)
        worst = loops.coordinate_epoch(
            problem.columns, partition.members, partition.starts, order, L, problem.l1,
            problem.l2, w, state, np.empty(3),
        )  # fmt: skip
        expected, expected_worst = slow.coordinate(problem, w0, partition, order, L)
        assert_allclose(w, expected, atol=1e-12)
        assert_allclose(state, problem.state(w), atol=1e-12)
        assert_allclose(worst, expected_worst)

    @pytest.mark.parametrize("tau", [1, 2])
    def test_approx(self, name, sparse_rows, penalty, tau, rng):
        problem = make(name, penalty, sparse_rows)
        v = problem.overapproximation(BLOCKS, tau)
        subsets = np.array([rng.permutation(3)[:tau] for _ in range(25)])
        x0 = rng.normal(size=6)
        z, u = x0.copy(), np.zeros(6)
        state_z = problem.state(z)
        before, _ = loops.approx_epoch(
            problem.columns, BLOCKS.members, BLOCKS.starts, subsets, v, problem.l1,
            problem.l2, tau / 3, Point(z, u, state_z, np.zeros_like(state_z)),
            np.empty(6),
        )  # fmt: skip
        expected = slow.approx(problem, x0, BLOCKS, subsets, v)[-1]
        assert_allclose(before**2 * u + z, expected, atol=1e-10)

    def test_all_solvers_agree(self, name, sparse_rows, penalty):
        problem = make(name, penalty, sparse_rows)
        if name in ("logistic", "squared_hinge") and penalty == "none":
            return  # separable classes may have no minimiser
        best = gradient_descent(problem, tol=1e-11, max_iter=100_000).x
        options = {"tol": 1e-9, "max_iter": 20_000}
        for result in (
            coordinate_descent(problem, working_set=False, **options),
            coordinate_descent(problem, working_set=True, **options),
            block_coordinate_descent(problem, BLOCKS, random_state=0, **options),
        ):
            assert result.converged
            assert_allclose(result.x, best, atol=1e-7)
        # Momentum goes round the optimum, in ever smaller circles.
        for partition, tau in ((None, 1), (BLOCKS, 2)):
            result = approx_coordinate_descent(
                problem,
                partition,
                n_together=tau,
                tol=1e-5,
                max_iter=5000,
                random_state=0,
            )
            assert result.converged
            assert_allclose(result.x, best, atol=1e-3)
            assert result.objective - problem.value(best) < 1e-7


class TestCoordinateDescent:
    def test_gauss_seidel(self, rng):
        """A cyclic pass is a sweep with the lower triangle of A."""
        problem = quadratic()
        A, b, w = problem.A, problem.b, rng.normal(size=6)
        result = coordinate_descent(problem, w, max_iter=3, tol=0.0)
        for _ in range(3):
            w = np.linalg.solve(np.tril(A), b - np.triu(A, 1) @ w)
        assert_allclose(result.x, w, atol=1e-13)

    @pytest.mark.parametrize("selection", ["cyclic", "permutation"])
    def test_a_sphere_takes_one_pass(self, selection, rng):
        """Example 6.1: f = |w|^2 / 2 is minimised in d steps."""
        problem = QuadraticProblem(np.eye(5), np.zeros(5))
        result = coordinate_descent(
            problem, rng.normal(size=5), selection=selection, max_iter=1, tol=0.0,
            random_state=0,
        )  # fmt: skip
        assert result.history["passes"][-1] == 1
        assert_array_equal(result.x, 0)

    @pytest.mark.parametrize("selection", ["cyclic", "permutation", "random"])
    def test_three_orders(self, selection):
        problem = finite_sum("squared", "l1", n=50)
        result = coordinate_descent(
            problem, selection=selection, tol=1e-10, random_state=0
        )
        model = Lasso(0.05, fit_intercept=False, tol=1e-14).fit(problem.X, problem.y)
        assert_allclose(result.x, model.coef_, atol=1e-8)
        assert np.all(np.diff(result.trace) <= 1e-14)

    @pytest.mark.parametrize("working_set", [False, True])
    def test_elastic_net(self, working_set, rng):
        X, y = rng.normal(size=(40, 100)), rng.normal(size=40)
        problem = FiniteSumProblem(X, y, "squared", L1Penalty(0.1))
        lasso = Lasso(0.1, fit_intercept=False, tol=1e-14, max_iter=100_000)
        result = coordinate_descent(problem, working_set=working_set, tol=1e-10)
        assert_allclose(result.x, lasso.fit(X, y).coef_, atol=1e-8)
        both = finite_sum("squared", "elastic net")
        model = ElasticNet(0.1, l1_ratio=0.4, fit_intercept=False, tol=1e-14)
        assert_allclose(
            coordinate_descent(both, working_set=working_set, tol=1e-10).x,
            model.fit(both.X, both.y).coef_,
            atol=1e-8,
        )

    @pytest.mark.parametrize("selection", ["cyclic", "permutation", "random"])
    @pytest.mark.parametrize("form", ["dense", "sparse", "quadratic"])
    def test_working_sets_need_few_passes(self, form, selection, rng):
        """Also near the end, where a pass meets less than it leaves behind."""
        X = rng.normal(size=(100, 300)) + rng.normal(size=(100, 1))
        y = X[:, :5].sum(axis=1) + rng.normal(size=100)
        problem = FiniteSumProblem(X, y, "squared", L1Penalty(0.05))
        best = coordinate_descent(
            problem, working_set=False, tol=1e-11, max_iter=100_000
        )
        if form == "sparse":
            problem = FiniteSumProblem(csr_array(X), y, "squared", problem.penalty)
        elif form == "quadratic":
            problem = QuadraticProblem(X.T @ X / 100, X.T @ y / 100, problem.penalty)
        result = coordinate_descent(
            problem, selection=selection, tol=1e-9, random_state=0
        )
        assert result.converged
        assert result.n_iter < 40 < best.n_iter / 10
        assert problem.violation(result.x) <= 1e-9 * problem.scale
        assert_allclose(result.x, best.x, atol=1e-7)

    def test_the_last_violation_is_true(self):
        """Also where the passes are used up: the one met is too small."""
        problem = finite_sum("squared", "none", n=50)
        with pytest.warns(ConvergenceWarning, match="without meeting"):
            result = coordinate_descent(problem, tol=1e-14, max_iter=3)
        assert_allclose(result.history["violation"][-1], problem.violation(result.x))

    def test_carried_products_do_not_drift(self):
        problem = finite_sum("squared", "none", n=200)
        result = coordinate_descent(problem, tol=1e-14, max_iter=2000)
        assert result.converged
        assert problem.violation(result.x) <= 1e-14 * problem.scale

    def test_columns_of_zeros(self):
        X = np.zeros((5, 3))
        X[:, 0] = 1
        for penalty in (None, L1Penalty(0.1)):
            problem = FiniteSumProblem(X, np.ones(5), "squared", penalty)
            for solver in (coordinate_descent, approx_coordinate_descent):
                result = solver(problem, tol=1e-9, max_iter=20_000)
                expected = 1.0 if penalty is None else 0.9
                assert_allclose(result.x, [expected, 0, 0], atol=1e-7)


class TestBlocks:
    def test_expected_decrease(self, rng):
        """Over all blocks, at least the mean of |grad_i|^2 / (2 L_i)."""
        problem = quadratic()
        L = problem.block_lipschitz(BLOCKS)
        w = rng.normal(size=6)
        after, gains = [], []
        for b, members in enumerate(BLOCKS):
            moved, _ = slow.coordinate(problem, w, BLOCKS, [b], L)
            after.append(problem.value(moved))
            gains.append(np.sum(problem.gradient(w)[members] ** 2) / L[b])
        assert problem.value(w) - np.mean(after) >= np.sum(gains) / (2 * 3) - 1e-13

    def test_probabilities(self):
        """Steep blocks are visited more often."""
        problem = QuadraticProblem(np.diag([100.0, 1.0]), [1.0, 1.0])
        for exponent in (0.0, 1.0):
            result = block_coordinate_descent(
                problem, exponent=exponent, tol=1e-12, random_state=0, max_iter=10_000
            )
            assert_allclose(result.x, [0.01, 1.0])

    def test_accelerated_is_approx(self):
        problem = finite_sum("logistic", "l2")
        options = {"max_iter": 5, "tol": 0.0, "random_state": 0}
        fast = block_coordinate_descent(problem, BLOCKS, accelerated=True, **options)
        same = approx_coordinate_descent(problem, BLOCKS, **options)
        assert_array_equal(fast.x, same.x)
        with pytest.raises(ValueError, match="accelerated=True draws"):
            block_coordinate_descent(problem, accelerated=True, exponent=1.0)


class TestApprox:
    @pytest.mark.parametrize("penalty", ["none", "elastic net"])
    def test_all_blocks_are_accelerated_proximal_gradient(self, penalty):
        problem = finite_sum("logistic", penalty)
        trivial = BlockPartition.of_size(6)
        v = problem.overapproximation(trivial, 6)
        result = approx_coordinate_descent(
            problem, n_together=6, max_iter=30, tol=0.0, random_state=0
        )
        expected = slow.accelerated_proximal_gradient(problem, np.zeros(6), v, 30)
        assert_allclose(result.x, expected[-1], atol=1e-12)

    def test_theta(self):
        """The recursion keeps (1 - theta+) / theta+^2 = 1 / theta^2 (erratum E10)."""
        problem = quadratic()
        theta = 0.5
        for _ in range(5):
            zero = np.zeros(6)
            point = Point(zero, zero.copy(), problem.state(zero), zero.copy())
            before, after = loops.approx_epoch(
                problem.columns, np.arange(6), np.arange(7),
                np.zeros((1, 1), dtype=np.int64), np.ones(6), problem.l1, problem.l2,
                theta, point, np.empty(6),
            )  # fmt: skip
            assert before == theta
            assert_allclose((1 - after) / after**2, 1 / theta**2)
            theta = after

    def test_the_rate(self):
        """E F(x_k) - F* <= 4 n^2 C / ((k - 1) tau + 2 n)^2, on average over seeds."""
        problem = finite_sum("squared", "l1", n=50)
        best = coordinate_descent(problem, tol=1e-12)
        n, tau = 6, 2
        v = problem.overapproximation(BlockPartition.of_size(n), tau)
        C = (1 - tau / n) * (problem.value(np.zeros(6)) - best.objective)
        C += 0.5 * v @ best.x**2
        runs = [
            approx_coordinate_descent(
                problem, n_together=tau, max_iter=40, tol=0.0, random_state=seed
            ).trace
            for seed in range(20)
        ]
        k = np.arange(1, 41) * (n // tau)
        bound = 4 * n**2 * C / ((k - 1) * tau + 2 * n) ** 2
        assert np.all(np.mean(runs, axis=0)[1:] - best.objective <= bound)

    @pytest.mark.parametrize("tau", [1, 20])
    def test_lasso(self, tau, rng):
        X, y = rng.normal(size=(60, 20)), rng.normal(size=60)
        problem = FiniteSumProblem(X, y, "squared", L1Penalty(0.05))
        best = coordinate_descent(problem, tol=1e-12).objective
        result = approx_coordinate_descent(
            problem, n_together=tau, max_iter=300, tol=0.0, random_state=0
        )
        assert result.objective - best < 1e-5 * best
        assert_allclose(result.history["passes"][-1], 300)


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda p: coordinate_descent(p, selection="greedy"), "selection='greedy'"),
        (lambda p: coordinate_descent(finite_sum("hinge")), "has a kink"),
        (lambda p: approx_coordinate_descent(finite_sum("hinge")), "has a kink"),
        (
            lambda p: approx_coordinate_descent(p, n_together=7),
            "at least 1 and at most 6",
        ),
        (
            lambda p: block_coordinate_descent(p, BlockPartition.of_size(3)),
            "partition has 3 variables",
        ),
        (
            lambda p: block_coordinate_descent(p, selection="cyclic", exponent=1.0),
            "exponent=1.0 is for",
        ),
    ],
)
def test_bad_input(call, match):
    with pytest.raises(ValueError, match=match):
        call(finite_sum())
