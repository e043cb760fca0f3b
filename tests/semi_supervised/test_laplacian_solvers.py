"""Solvers of manifold regularisation, without any estimator."""

# SPDX-License-Identifier: BSD-3-Clause

import itertools
import warnings

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel

from fewlabels._line_search import line_search
from fewlabels.graphs import graph_laplacian, laplacian_power, similarity_graph
from fewlabels.kernels import DenseGram, LowRankGram, TiledGram
from fewlabels.semi_supervised import (
    LaplacianProblem,
    laplacian_dense,
    laplacian_low_rank,
    laplacian_pcg,
)
from fewlabels.semi_supervised._laplacian_deformed import (
    deform_dense,
    laplacian_factor,
)
from fewlabels.semi_supervised._laplacian_in_labels import (
    hinge_in_labels,
    newton_in_labels,
)
from fewlabels.semi_supervised._laplacian_problem import graph_energy, kernel_energy
from tests.reference import laplacian as slow

GAMMAS = (0.05, 0.3)
KINDS = [("unnormalized", 1), ("unnormalized", 3), ("symmetric", 1), ("symmetric", 2)]

kinds = pytest.mark.parametrize(("kind", "power"), KINDS)
biases = pytest.mark.parametrize("bias", [True, False])
smooth_losses = pytest.mark.parametrize("loss", ["squared_hinge", "squared"])


def make_problem(
    rng, *, loss="squared_hinge", bias=True, kind="unnormalized", power=1, n=40, k=3
):
    X = rng.normal(size=(n, 3))
    L = laplacian_power(
        graph_laplacian(similarity_graph(X, n_neighbors=5), kind), power
    )
    labeled = rng.permutation(n)[: n // 3]
    Y = np.where(X[labeled, :1] + 0.5 * rng.normal(size=(n // 3, k)) > 0, 1.0, -1.0)
    if loss == "squared":
        Y += rng.normal(size=Y.shape)
    return LaplacianProblem(
        DenseGram(rbf_kernel(X, gamma=0.5)), L, labeled, Y, loss, bias
    )


def definition(problem, solution, gammas):
    """The objective by the slow twin, from coefficients and bias."""
    coef = np.zeros((problem.n_samples, solution.dual_coef.shape[1]))
    coef[solution.support] = solution.dual_coef
    L = np.zeros((problem.n_samples,) * 2)
    if problem.laplacian is not None:
        L = problem.laplacian.toarray()
    return slow.objective(
        problem.gram.toarray(),
        L,
        problem.labeled,
        problem.targets,
        problem.loss,
        coef,
        solution.intercept,
        *gammas,
    )


class TestAgreement:
    @kinds
    @biases
    @smooth_losses
    @pytest.mark.parametrize("graph_alpha", [0.0, 0.3])
    def test_all_solvers_reach_one_objective(
        self, rng, loss, bias, kind, power, graph_alpha
    ):
        problem = make_problem(rng, loss=loss, bias=bias, kind=kind, power=power)
        gammas = (0.05, graph_alpha)
        solutions = [
            laplacian_dense(problem, *gammas),
            laplacian_low_rank(problem, *gammas, rank_tol=1e-13),
            laplacian_pcg(problem, *gammas, stopping="gradient", tol=1e-9),
        ]
        best = definition(problem, solutions[0], gammas)
        for solution in solutions:
            assert solution.converged
            assert_allclose(solution.objective, best, rtol=1e-8)
            assert_allclose(definition(problem, solution, gammas), best, rtol=1e-8)
            assert_allclose(
                problem.gram.columns(solution.support) @ solution.dual_coef
                + solution.intercept,
                solution.outputs,
                atol=1e-8,
            )
            if not bias:
                assert_array_equal(solution.intercept, 0)

    @kinds
    @biases
    def test_low_rank_is_dense_for_the_hinge_too(self, rng, bias, kind, power):
        problem = make_problem(rng, loss="hinge", bias=bias, kind=kind, power=power)
        dense = laplacian_dense(problem, *GAMMAS)
        thin = laplacian_low_rank(problem, *GAMMAS, rank_tol=1e-13)
        assert_allclose(thin.objective, dense.objective, rtol=1e-7)
        assert_allclose(
            definition(problem, thin, GAMMAS), dense.objective, rtol=1e-6, atol=1e-9
        )

    @smooth_losses
    def test_columns_are_problems_of_their_own(self, rng, loss):
        """A block is what its columns are one by one."""
        problem = make_problem(rng, loss=loss, k=4)
        for solve in (
            laplacian_dense,
            lambda *a: laplacian_pcg(*a, stopping="gradient", tol=1e-10),
        ):
            block = solve(problem, *GAMMAS)
            for k in range(4):
                alone = LaplacianProblem(
                    problem.gram,
                    problem.laplacian,
                    problem.labeled,
                    problem.targets[:, [k]],
                    loss,
                )
                single = solve(alone, *GAMMAS)
                assert_allclose(block.objective[k], single.objective[0], rtol=1e-9)
                assert_allclose(block.outputs[:, k], single.outputs[:, 0], atol=1e-5)

    def test_any_way_to_hold_the_kernel(self, rng):
        X = rng.normal(size=(60, 2))
        L = laplacian_power(graph_laplacian(similarity_graph(X)), 1)
        Y = np.where(X[:8, :1] > 0, 1.0, -1.0)
        Z = rng.normal(size=(60, 4))
        expected = {}
        for name, gram in {
            "dense": DenseGram(rbf_kernel(X, gamma=0.5)),
            "tiled": TiledGram(X, "rbf", gamma=0.5, memory_budget=0.01),
            "stored factor": LowRankGram(Z),
            "its matrix": DenseGram(Z @ Z.T),
        }.items():
            problem = LaplacianProblem(gram, L, np.arange(8), Y)
            solution = laplacian_pcg(
                problem, *GAMMAS, stopping="mixed_product", tol=1e-9
            )
            expected[name] = solution.objective
        assert_allclose(expected["tiled"], expected["dense"], rtol=1e-8)
        assert_allclose(expected["its matrix"], expected["stored factor"], rtol=1e-8)


class TestOptimality:
    @kinds
    @biases
    @smooth_losses
    @pytest.mark.parametrize("solver", ["newton", "pcg"])
    def test_the_gradient_is_zero(self, rng, loss, bias, kind, power, solver):
        problem = make_problem(rng, loss=loss, bias=bias, kind=kind, power=power)
        if solver == "newton":
            solution = laplacian_dense(problem, *GAMMAS)
        else:
            solution = laplacian_pcg(problem, *GAMMAS, stopping="gradient", tol=1e-10)
        K, L = problem.gram.toarray(), problem.laplacian.toarray()
        f = K @ solution.dual_coef + solution.intercept
        residual = np.zeros_like(f)
        short = f[problem.labeled] - problem.targets
        if loss == "squared_hinge":
            short[problem.targets * f[problem.labeled] >= 1] = 0
        residual[problem.labeled] = short
        inner = residual + GAMMAS[0] * solution.dual_coef + GAMMAS[1] * L @ f
        # In units of the gradient at zero, K y.
        assert np.abs(K @ inner).max() < 1e-8 * np.abs(K).sum(axis=0).max()
        if bias:
            assert_allclose(residual.sum(0) + GAMMAS[1] * (L @ f).sum(0), 0, atol=1e-7)

    @kinds
    @biases
    def test_conditions_of_the_dual(self, rng, bias, kind, power):
        """Karush, Kuhn and Tucker: box, sum, and complementary slackness."""
        problem = make_problem(rng, loss="hinge", bias=bias, kind=kind, power=power)
        deformed = deform_dense(problem, *GAMMAS)
        assert deformed.free_bias == bias
        solution = laplacian_dense(problem, *GAMMAS)
        f, Y = solution.outputs[problem.labeled], problem.targets
        for k in range(Y.shape[1]):
            y = Y[:, k]
            c, b, *_ = hinge_in_labels(deformed.H, y, bias)
            assert_allclose(deformed.H @ c + b, f[:, k], atol=1e-8)
            beta, margin = y * c, y * f[:, k]
            assert (beta > -1e-12).all()
            assert (beta < 0.5 + 1e-12).all()
            if bias:
                assert abs(c.sum()) < 1e-9
            assert (margin[beta < 1e-9] > 1 - 1e-6).all()
            assert (margin[beta > 0.5 - 1e-9] < 1 + 1e-6).all()
            inside = (beta > 1e-6) & (beta < 0.5 - 1e-6)
            assert_allclose(margin[inside], 1, atol=1e-6)

    @biases
    def test_no_direction_improves_the_hinge(self, rng, bias):
        """The original loss has no gradient: look around the solution instead."""
        problem = make_problem(rng, loss="hinge", bias=bias)
        solution = laplacian_dense(problem, *GAMMAS)
        best = problem.objective(solution.dual_coef, solution.intercept, *GAMMAS)
        assert_allclose(best, solution.objective, rtol=1e-6)
        for size in (1e-3, 1e-1):
            for _ in range(20):
                coef = solution.dual_coef + size * rng.normal(
                    size=solution.dual_coef.shape
                )
                b = solution.intercept + bias * size * rng.normal(size=3)
                assert (problem.objective(coef, b, *GAMMAS) > best - 1e-8).all()

    def test_the_deformed_kernel(self, rng):
        problem = make_problem(rng, bias=False)
        K, L = problem.gram.toarray(), problem.laplacian.toarray()
        expected = slow.deformed_kernel(K, L, *GAMMAS)
        rows = np.ix_(problem.labeled, problem.labeled)
        assert_allclose(deform_dense(problem, *GAMMAS).H, expected[rows], atol=1e-8)


class TestLeastSquares:
    @kinds
    @biases
    def test_leave_one_out_is_refitting(self, rng, bias, kind, power):
        problem = make_problem(rng, loss="squared", bias=bias, kind=kind, power=power)
        K, L = problem.gram.toarray(), problem.laplacian.toarray()
        m = problem.labeled.size
        for ridge, gammas in (
            (1.0, lambda _: GAMMAS),
            (1 - 1 / m, lambda left: tuple(left / m * g for g in GAMMAS)),
        ):
            expected = slow.leave_one_label_out(
                K, L, problem.labeled, problem.targets, bias, gammas
            )
            for solve in (laplacian_dense, laplacian_low_rank):
                extra = {} if solve is laplacian_dense else {"rank_tol": 1e-13}
                found = solve(problem, *GAMMAS, loo_ridge=ridge, **extra)
                assert_allclose(found.loo_outputs, expected, atol=1e-6)

    @pytest.mark.parametrize("kind", ["unnormalized", "symmetric"])
    @biases
    def test_log_evidence(self, rng, bias, kind):
        problem = make_problem(rng, loss="squared", bias=bias, kind=kind, k=2)
        deformed = deform_dense(problem, *GAMMAS)
        expected = slow.log_evidence(deformed.H, problem.targets, deformed.free_bias)
        for solve in (laplacian_dense, laplacian_low_rank):
            solution = solve(problem, *GAMMAS)
            # What the default rank leaves out moves the likelihood a little.
            rtol = 1e-7 if solve is laplacian_dense else 1e-3
            assert_allclose(solution.log_evidence, expected, rtol=rtol)

    def test_a_penalised_bias_is_part_of_the_kernel(self, rng):
        """With a normalised Laplacian, the prior of the bias is proper."""
        problem = make_problem(rng, loss="squared", kind="symmetric")
        K, L = problem.gram.toarray(), problem.laplacian.toarray()
        flat = K + 1e6  # a kernel with a nearly free constant
        expected = slow.deformed_kernel(flat, L, *GAMMAS)
        rows = np.ix_(problem.labeled, problem.labeled)
        deformed = deform_dense(problem, *GAMMAS)
        assert not deformed.free_bias
        assert_allclose(deformed.H, expected[rows], rtol=1e-3)

    def test_one_label(self, rng):
        problem = make_problem(rng, loss="squared")
        one = LaplacianProblem(problem.gram, problem.laplacian, [3], [[2.0]], "squared")
        solution = laplacian_dense(one, *GAMMAS)
        assert_allclose(solution.outputs, 2.0)
        assert np.isnan(solution.loo_outputs).all()
        assert solution.log_evidence is None


class TestNewton:
    def test_steps_are_those_in_alpha_and_bias(self, rng):
        """Against the update (10) of the paper, with n + 1 unknowns."""
        problem = make_problem(rng, kind="symmetric", k=1)
        K, L = problem.gram.toarray(), problem.laplacian.toarray()
        n, y = problem.n_samples, np.zeros(problem.n_samples)
        y[problem.labeled] = problem.targets[:, 0]
        errors, values = y != 0, [0.5 * problem.labeled.size]
        for _ in range(20):
            E = np.diag(errors.astype(float))
            A = np.block(
                [
                    [np.zeros((1, 1)), np.ones((1, n))],
                    [
                        (E @ np.ones(n) + GAMMAS[1] * L @ np.ones(n))[:, None],
                        E @ K + GAMMAS[0] * np.eye(n) + GAMMAS[1] * L @ K,
                    ],
                ]
            )
            z = np.linalg.solve(A, np.concatenate([[0.0], E @ y]))
            values.append(problem.objective(z[1:, None], z[:1], *GAMMAS)[0])
            after = (y != 0) & (y * (K @ z[1:] + z[0]) < 1)
            if np.array_equal(after, errors):
                break
            errors = after
        solution = laplacian_dense(problem, *GAMMAS)
        assert_allclose(solution.history["objective"][:, 0], values, rtol=1e-8)
        assert solution.n_iter == len(values) - 1

    def test_the_objective_never_rises(self, rng):
        for _ in range(30):
            m = int(rng.integers(2, 12))
            B = rng.normal(size=(m, int(rng.integers(1, m + 1))))
            H = 10.0 ** rng.uniform(-2, 4) * B @ B.T
            y = np.where(rng.random(m) < 0.5, 1.0, -1.0)
            c, b, history, done = newton_in_labels(H, y, bool(rng.integers(2)))
            assert done
            assert (np.diff(history[:, 0]) <= 1e-10 * history[0, 0]).all()
            f = H @ c + b
            stationary = np.where(y * f < 1, y - f, 0)
            assert np.abs(c - stationary).max() < 1e-11 * (1 + np.abs(H).max())

    def test_warm_start_takes_fewer_steps(self, rng):
        problem = make_problem(rng, n=90)
        cold = laplacian_dense(problem, 1e-4, 1e-3)
        near = laplacian_dense(problem, 1.01e-4, 1e-3)
        warm = laplacian_dense(problem, 1e-4, 1e-3, start=near.outputs[problem.labeled])
        assert_allclose(warm.objective, cold.objective, rtol=1e-9)
        assert warm.n_iter <= cold.n_iter
        again = laplacian_dense(
            problem, 1e-4, 1e-3, start=cold.outputs[problem.labeled]
        )
        assert again.n_iter <= 2

    def test_too_few_steps_are_pointed_out(self):
        # Two steps are needed: the first leaves a row beyond its margin.
        H = np.array([[4.0, 3.9], [3.9, 4.0]])
        y = np.array([[1.0], [1.0]])
        problem = LaplacianProblem(
            DenseGram(H), None, [0, 1], y, "squared_hinge", False
        )
        assert laplacian_dense(problem, 0.5, 0.0).converged
        gram = DenseGram(np.array([[1.0, 2.0], [2.0, 5.0]]))
        problem = LaplacianProblem(gram, None, [0, 1], y, "squared_hinge", False)
        with pytest.warns(ConvergenceWarning, match="max_iter=1 steps"):
            laplacian_dense(problem, 0.01, 0.0, max_iter=1)


class TestLineSearch:
    @given(
        n=st.integers(1, 8),
        seed=st.integers(0, 10_000),
        whole=st.booleans(),
        slope=st.floats(-5, 1),
    )
    def test_against_bisection(self, n, seed, whole, slope):
        rng = np.random.default_rng(seed)
        # Whole numbers make breakpoints coincide, and some rates zero.
        m, v = rng.normal(size=(2, n, 1)) * 2
        if whole:
            m, v = m.round(), v.round()
        q0, q1 = np.array([slope]), np.array([rng.uniform(0.1, 2)])
        s, visited = line_search(m, v, q0, q1)
        expected = slow.ray_minimiser(m[:, 0], v[:, 0], slope, q1[0])
        assert_allclose(s[0], expected, rtol=1e-9, atol=1e-11)
        assert 0 <= visited[0] <= n + 1

    def test_columns_are_independent(self, rng):
        m, v = rng.normal(size=(2, 9, 5))
        q0, q1 = rng.normal(size=5) - 1, rng.uniform(0.1, 1, size=5)
        s, _ = line_search(m, v, q0, q1)
        for k in range(5):
            alone, _ = line_search(m[:, [k]], v[:, [k]], q0[[k]], q1[[k]])
            assert_allclose(s[k], alone[0])

    def test_squared_loss_in_closed_form(self, rng):
        m, v = rng.normal(size=(2, 7, 1))
        q0, q1 = np.array([-10.0]), np.array([0.5])
        s, visited = line_search(m, v, q0, q1, hinge=False)
        assert_allclose(s, (np.sum(v * m) + 10) / (np.sum(v**2) + 0.5))
        assert_array_equal(visited, 1)

    def test_nowhere_to_go(self):
        s, visited = line_search(
            np.zeros((2, 1)), np.zeros((2, 1)), np.array([0.0]), np.array([0.0])
        )
        assert_array_equal(s, 0)
        assert_array_equal(visited, 0)


class TestStopping:
    @pytest.fixture
    def problem(self, rng):
        return make_problem(rng, n=120, k=1)

    @pytest.mark.parametrize(
        "stopping", ["gradient", "preconditioned_gradient", "mixed_product"]
    )
    def test_norms(self, problem, stopping):
        solution = laplacian_pcg(problem, *GAMMAS, stopping=stopping, tol=1e-3)
        norm = solution.history[stopping][:, 0] / solution.history[stopping][0, 0]
        assert solution.stop_reason == stopping
        assert norm[-1] <= 1e-3 < norm[:-1].min()
        assert len(norm) == solution.n_iter + 1

    def test_objective(self, problem):
        solution = laplacian_pcg(problem, *GAMMAS, stopping="objective", tol=1e-3)
        values = solution.history["objective"][:, 0]
        decrease = -np.diff(values) / np.abs(values[:-1])
        assert decrease[-1] <= 1e-3 < decrease[:-1].min()
        assert (decrease >= 0).all()

    def test_stability(self, problem):
        """The published rule, computed separately."""
        decisions = []

        def watch(state):
            decisions.append(np.sign(state.outputs[problem.unlabeled, 0]))

        solution = laplacian_pcg(problem, *GAMMAS, callback=watch)
        every = int(np.ceil(np.sqrt(120) / 2))
        assert solution.stop_reason == "stability"
        assert solution.n_iter % every == 0
        checks = [np.zeros(problem.unlabeled.size), *decisions[every - 1 :: every]]
        changes = [
            np.abs(new - old).sum() / new.size
            for old, new in itertools.pairwise(checks)
        ]
        assert changes[-1] < 0.015
        assert all(change >= 0.015 for change in changes[:-1])

    def test_stability_of_several_classes_is_checked_in_common(self, rng):
        problem = make_problem(rng, n=120, k=3)
        decisions = []

        def watch(state):
            decisions.append(state.outputs[problem.unlabeled].argmax(axis=1))

        solution = laplacian_pcg(problem, *GAMMAS, callback=watch, check_every=4)
        checks = decisions[3::4]
        assert solution.n_iter == 4 * len(checks)
        assert 2 * np.mean(checks[-1] != checks[-2]) < 0.015

    def test_stability_without_unlabelled_rows(self, rng):
        K = rbf_kernel(rng.normal(size=(12, 2)))
        Y = np.resize([1.0, -1.0], (12, 1))
        problem = LaplacianProblem(DenseGram(K), None, np.arange(12), Y)
        assert laplacian_pcg(problem, 0.1, 0.0).stop_reason == "stability"

    def test_validation(self, problem):
        errors = iter([0.5, 0.3, 0.2, 0.2])
        solution = laplacian_pcg(
            problem,
            *GAMMAS,
            stopping="validation",
            check_every=2,
            validation=(lambda coef, b: next(errors), 0.1),
        )
        assert solution.n_iter == 8  # the fourth check is the first without progress
        assert solution.stop_reason == "validation"

    def test_validation_needs_a_whole_row_of_progress(self, problem):
        """0.3 - 0.1 is not 0.2 in binary, and still counts as one of ten rows."""
        errors = iter([0.3, 0.2, 0.1, 0.1])
        solution = laplacian_pcg(
            problem,
            *GAMMAS,
            stopping="validation",
            check_every=1,
            validation=(lambda coef, b: next(errors), 0.1),
        )
        assert solution.n_iter == 4

    def test_mixed_waits_for_both(self, problem):
        alone = laplacian_pcg(problem, *GAMMAS, check_every=2)
        # Falls at every check until long after the decisions stand still.
        errors = iter([*np.linspace(1, 0, alone.n_iter + 1), *[0.0] * 100])
        mixed = laplacian_pcg(
            problem,
            *GAMMAS,
            stopping="mixed",
            check_every=2,
            validation=(lambda coef, b: next(errors), 0.5 / alone.n_iter),
        )
        assert mixed.n_iter > alone.n_iter
        assert mixed.stop_reason == "mixed"

    def test_no_validation_rows(self, problem):
        with pytest.raises(ValueError, match="pass X_val and y_val"):
            laplacian_pcg(problem, *GAMMAS, stopping="mixed")

    def test_unknown_rule(self, problem):
        with pytest.raises(ValueError, match="stopping='never' must be one of"):
            laplacian_pcg(problem, *GAMMAS, stopping="never")

    def test_max_iter_is_pointed_out(self, problem):
        with pytest.warns(ConvergenceWarning, match="max_iter=3 iterations"):
            solution = laplacian_pcg(problem, *GAMMAS, stopping="gradient", max_iter=3)
        assert not solution.converged
        assert solution.n_iter == 3

    def test_warm_start(self, problem):
        exact = {"stopping": "gradient", "tol": 1e-9}
        first = laplacian_pcg(problem, *GAMMAS, **exact)
        start = (first.dual_coef, first.intercept)
        again = laplacian_pcg(problem, *GAMMAS, start=start, stopping="objective")
        assert again.n_iter <= 2
        near = (1.05 * GAMMAS[0], GAMMAS[1])
        cold = laplacian_pcg(problem, *near, stopping="objective", tol=1e-10)
        warm = laplacian_pcg(
            problem, *near, start=start, stopping="objective", tol=1e-10
        )
        assert warm.n_iter < cold.n_iter
        assert_allclose(warm.objective, cold.objective, rtol=1e-6)

    def test_a_start_of_the_wrong_shape(self, problem):
        with pytest.raises(ValueError, match="start must have shapes"):
            laplacian_pcg(problem, *GAMMAS, start=(np.zeros((3, 1)), np.zeros(1)))

    def test_nothing_to_do(self, rng):
        """All targets are met by zero: the start is the solution."""
        problem = make_problem(rng, loss="squared", k=1)
        zero = LaplacianProblem(
            problem.gram, problem.laplacian, [0, 1], [[0.0], [0.0]], "squared"
        )
        solution = laplacian_pcg(zero, *GAMMAS)
        assert solution.stop_reason == "stationary at the start"
        assert_array_equal(solution.outputs, 0)

    def test_history(self, problem):
        solution = laplacian_pcg(problem, *GAMMAS)
        for name in (
            "objective",
            "gradient",
            "preconditioned_gradient",
            "mixed_product",
        ):
            assert solution.history[name].shape == (solution.n_iter + 1, 1)
        assert solution.history["line_search_steps"].shape == (solution.n_iter, 1)
        assert (solution.history["line_search_steps"] >= 1).all()


@pytest.mark.parametrize("loss", ["squared_hinge", "squared", "hinge"])
@given(
    case=st.sampled_from(
        ["copies", "constant", "one class", "one label", "no edges", "all labelled"]
    ),
    bias=st.booleans(),
    kind=st.sampled_from(["unnormalized", "symmetric"]),
    seed=st.integers(0, 100),
)
def test_degenerate_inputs(loss, case, bias, kind, seed):
    """Dense and low-rank solvers agree where rows, labels or graph degenerate."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(14, 2))
    if case == "copies":
        X = X[rng.integers(4, size=14)]
    if case == "constant":
        X[:] = 1.0
    W = similarity_graph(X, n_neighbors=3)
    if case == "no edges":
        W = 0.0 * W
    m = {"one label": 1, "all labelled": 14}.get(case, 6)
    y = rng.choice([-1.0, 1.0], size=(m, 1))
    if case == "one class":
        y[:] = 1.0
    problem = LaplacianProblem(
        DenseGram(rbf_kernel(X, gamma=0.5)),
        laplacian_power(graph_laplacian(W, kind), 1),
        np.arange(m),
        y,
        loss,
        bias,
    )
    dense = laplacian_dense(problem, *GAMMAS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # only rounding is left
        thin = laplacian_low_rank(problem, *GAMMAS, rank_tol=1e-14)
    assert np.isfinite(dense.outputs).all()
    assert_allclose(thin.objective, dense.objective, rtol=1e-6, atol=1e-8)
    assert_allclose(
        definition(problem, dense, GAMMAS), dense.objective, rtol=1e-6, atol=1e-8
    )
    if loss != "hinge":
        assume(dense.objective[0] > 1e-6)
        descent = laplacian_pcg(problem, *GAMMAS, stopping="gradient", tol=1e-9)
        assert_allclose(descent.objective, dense.objective, rtol=1e-8)


class TestProblem:
    @pytest.mark.parametrize(
        ("change", "message"),
        [
            ({"labeled": []}, "labeled must name at least one"),
            ({"labeled": [0, 0]}, "distinct rows"),
            ({"labeled": [0, 3]}, "distinct rows"),
            ({"targets": [1.0, -1.0]}, "targets must have one row"),
            ({"targets": [[1.0], [0.5]]}, "needs targets -1 and 1"),
            ({"loss": "log"}, "loss='log' must be one of"),
            ({"laplacian": laplacian_power(np.zeros((2, 2)), 1)}, "same rows"),
        ],
    )
    def test_bad_input(self, change, message):
        args = {
            "gram": DenseGram(np.eye(3)),
            "laplacian": None,
            "labeled": [0, 1],
            "targets": [[1.0], [-1.0]],
            **change,
        }
        with pytest.raises(ValueError, match=message):
            LaplacianProblem(**args)

    @pytest.mark.parametrize(
        "solve", [laplacian_dense, laplacian_low_rank, laplacian_pcg]
    )
    def test_bad_weights(self, solve):
        problem = LaplacianProblem(DenseGram(np.eye(2)), None, [0], [[1.0]])
        with pytest.raises(ValueError, match="alpha must be positive"):
            solve(problem, 0.0, 1.0)
        with pytest.raises(ValueError, match="graph_alpha must not be negative"):
            solve(problem, 1.0, -1.0)

    def test_the_hinge_is_not_for_descent(self):
        problem = LaplacianProblem(DenseGram(np.eye(2)), None, [0], [[1.0]], "hinge")
        with pytest.raises(ValueError, match="not smooth"):
            laplacian_pcg(problem, 1.0, 0.0)

    def test_kernels_that_are_none(self):
        gram = DenseGram(np.array([[1.0, 2.0], [2.0, 1.0]]))
        problem = LaplacianProblem(
            gram, None, [0, 1], [[1.0], [-1.0]], fit_intercept=False
        )
        with pytest.raises(ValueError, match="not positive semidefinite"):
            laplacian_pcg(problem, 0.1, 0.0)
        with pytest.raises(ValueError, match="not positive semidefinite"):
            laplacian_low_rank(problem, 0.1, 0.0)
        with pytest.raises(ValueError, match="not positive semidefinite"):
            laplacian_dense(problem, 0.1, 0.0)

    def test_a_rank_that_does_not_suffice(self, rng):
        problem = make_problem(rng)
        with pytest.warns(ConvergenceWarning, match="rank 5 leaves out"):
            solution = laplacian_low_rank(problem, *GAMMAS, n_components=5)
        assert solution.support.size == 5

    def test_one_factor_serves_all_weights(self, rng):
        problem = make_problem(rng, kind="symmetric")
        factor = laplacian_factor(problem, rank_tol=1e-10, n_components=None)
        for gammas in ((1e-3, 1.0), (1.0, 0.0), (0.1, 0.1)):
            shared = laplacian_low_rank(problem, *gammas, factor=factor)
            alone = laplacian_low_rank(problem, *gammas, rank_tol=1e-10)
            assert_array_equal(shared.outputs, alone.outputs)


class TestEnergy:
    @kinds
    def test_definition(self, rng, kind, power):
        X = rng.normal(size=(30, 300)) + 5.0
        L = laplacian_power(graph_laplacian(similarity_graph(X), kind), power)
        C = X - X.mean(axis=0)
        expected = np.trace(C.T @ L.toarray() @ C) / np.trace(C.T @ C)
        assert_allclose(graph_energy(X, L), expected)
        assert_allclose(kernel_energy(X @ X.T, L), expected)

    def test_nothing_to_compare_with(self):
        L = laplacian_power(np.zeros((3, 3)), 1)
        assert graph_energy(np.eye(3), L) == 1.0
        assert graph_energy(np.ones((3, 2)), L) == 1.0
        assert kernel_energy(np.ones((3, 3)), L) == 1.0
