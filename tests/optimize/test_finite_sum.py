"""SGD, SAG, SVRG and SAGA (entries A2 to A5)."""

# SPDX-License-Identifier: BSD-3-Clause

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, Ridge

from fewlabels._loops import optimize as loops
from fewlabels.optimize import (
    FiniteSumProblem,
    L1Penalty,
    L2Penalty,
    coordinate_descent,
    gradient_descent,
    sag_minimize,
    saga_minimize,
    sgd_minimize,
    svrg_minimize,
)
from fewlabels.optimize._finite_sum import _ReducedVariance
from tests.optimize.problems import PENALTIES, SMOOTH, finite_sum
from tests.reference import optimize as slow

VARIANTS = {
    "saga": saga_minimize,
    "svrg last": svrg_minimize,
    "svrg average": lambda p, **k: svrg_minimize(p, option="average", **k),
    "svrg random": lambda p, **k: svrg_minimize(p, option="random", **k),
    "sag": sag_minimize,
}


@pytest.mark.parametrize("sparse_rows", [False, True], ids=["dense", "sparse"])
@pytest.mark.parametrize("penalty", ["none", "l2", "elastic net"])
@pytest.mark.parametrize("loss", SMOOTH)
class TestTwins:
    """The loops do what the algorithms say, step by step."""

    @pytest.fixture
    def problem(self, loss, penalty, sparse_rows):
        return finite_sum(loss, penalty, sparse_rows=sparse_rows)

    def test_sgd(self, problem, rng):
        order = np.stack([rng.permutation(30)[:4] for _ in range(20)])
        steps = 0.3 / np.arange(1.0, 21)
        w0 = rng.normal(size=6)
        w, total = w0.copy(), np.zeros(6)
        loops.sgd_epoch(
            problem.rows, order, steps, problem.l1, problem.l2, w, total, np.empty(6)
        )
        expected, expected_total = slow.sgd(problem, w0, order, steps)
        assert_allclose(w, expected, atol=1e-12)
        assert_allclose(total, expected_total, atol=1e-11)

    def test_sag(self, problem, rng):
        if np.any(problem.l1):
            with pytest.raises(ValueError, match="use saga_minimize"):
                sag_minimize(problem)
            return
        order, w0 = rng.integers(30, size=50), rng.normal(size=6)
        w, table = w0.copy(), problem.slopes(w0)
        mean = problem.mean_of_rows(table)
        seen = np.empty(6, dtype=np.int64)
        loops.sag_epoch(problem.rows, order, 0.05, problem.l2, w, table, mean, seen)
        expected, gradients = slow.sag(problem, w0, order, 0.05)
        assert_allclose(w, expected, atol=1e-12)
        # The direction is the mean of the table.
        assert_allclose(mean, gradients.mean(axis=0), atol=1e-13)
        assert_allclose(mean, problem.mean_of_rows(table), atol=1e-13)

    def test_saga(self, problem, rng):
        order, w0 = rng.integers(30, size=50), rng.normal(size=6)
        w, table = w0.copy(), problem.slopes(w0)
        mean = problem.mean_of_rows(table)
        parts = _ReducedVariance(problem, "saga", 0.05, 1.0)
        loops.saga_epoch(problem.rows, parts.prox, order, w, table, mean)
        assert_allclose(w, slow.saga(problem, w0, order, 0.05), atol=1e-12)
        assert_allclose(mean, problem.mean_of_rows(table), atol=1e-13)

    def test_svrg(self, problem, rng):
        order, w0 = rng.integers(30, size=50), rng.normal(size=6)
        w, table = w0.copy(), problem.slopes(w0)
        mean = problem.mean_of_rows(table)
        parts = _ReducedVariance(problem, "svrg", 0.05, 1.0)
        total, seen = np.empty(6), np.empty(6, dtype=np.int64)
        loops.svrg_epoch(
            problem.rows, parts.prox, order, w, table, mean, True, total, seen
        )
        iterates = slow.svrg(problem, w0, order, 0.05)
        assert_allclose(w, iterates[-1], atol=1e-12)
        assert_allclose(total, iterates.sum(axis=0), atol=1e-11)


@pytest.mark.parametrize("sparse_rows", [False, True], ids=["dense", "sparse"])
@pytest.mark.parametrize("name", VARIANTS)
@pytest.mark.parametrize("loss", SMOOTH)
def test_the_optimum(name, loss, sparse_rows):
    for penalty in ("l2", "elastic net"):
        problem = finite_sum(loss, penalty, sparse_rows=sparse_rows)
        if name == "sag" and penalty != "l2":
            continue
        result = VARIANTS[name](problem, tol=1e-10, max_iter=20_000, random_state=0)
        assert result.converged
        assert problem.violation(result.x) <= 1e-10 * problem.scale
        expected = gradient_descent(problem, tol=1e-11, max_iter=20_000)
        assert_allclose(result.x, expected.x, atol=1e-8)
        if penalty != "l2":
            assert_array_equal(result.x == 0, expected.x == 0)


@pytest.mark.parametrize("name", VARIANTS)
def test_ridge_in_closed_form(name):
    """Linear convergence goes down to rounding."""
    problem = finite_sum("squared", "l2")
    result = VARIANTS[name](problem, tol=1e-13, max_iter=20_000, random_state=0)
    ridge = Ridge(30 * 0.1, fit_intercept=False, solver="cholesky")
    expected = ridge.fit(problem.X, problem.y).coef_
    assert_allclose(result.x, expected, atol=1e-12)
    gaps = result.history["objective"] - problem.value(expected)
    # The same factor in every part of the way, as far as rounding allows.
    logs = np.log10(np.maximum(gaps, 1e-15))
    way = np.flatnonzero(logs > -12)[-1]
    assert logs[way // 2] - logs[0] < -2
    assert logs[way] - logs[way // 2] < -2


@pytest.mark.parametrize("l1_ratio", [0.0, 1.0])
def test_scikit_learn_saga(l1_ratio):
    problem = finite_sum("logistic", "l2", n=80)
    make = L1Penalty if l1_ratio else L2Penalty
    problem = FiniteSumProblem(problem.X, problem.y, "logistic", make(0.02))
    model = LogisticRegression(
        C=1 / (80 * 0.02), l1_ratio=l1_ratio, solver="saga", fit_intercept=False,
        tol=1e-12, max_iter=100_000, random_state=0,
    ).fit(problem.X, problem.y)  # fmt: skip
    for solver in (saga_minimize, svrg_minimize):
        result = solver(problem, tol=1e-11, max_iter=20_000, random_state=0)
        assert_allclose(result.x, model.coef_[0], atol=1e-8)


class TestDirections:
    """What the direction is on average, by enumeration."""

    def test_batches_are_unbiased(self, rng):
        problem = finite_sum("logistic", n=7)
        w = rng.normal(size=6)
        G = np.array([problem.row_gradient(w, i) for i in range(7)])
        means = [G[list(S)].mean(axis=0) for S in itertools.combinations(range(7), 3)]
        assert_allclose(np.mean(means, axis=0), problem.gradient(w), atol=1e-14)

    @pytest.mark.parametrize("sparse_rows", [False, True], ids=["dense", "sparse"])
    @pytest.mark.parametrize("method", ["saga", "svrg"])
    def test_reduced_variance_is_unbiased(self, method, sparse_rows, rng):
        problem = finite_sum("logistic", "none", sparse_rows=sparse_rows)
        w, old = rng.normal(size=6), rng.normal(size=6)
        moves = []
        parts = _ReducedVariance(problem, method, 1e-3, 1.0)
        for i in range(30):
            v, table = w.copy(), problem.slopes(old)
            mean = problem.mean_of_rows(table)
            common = problem.rows, parts.prox, np.array([i]), v, table, mean
            if method == "saga":
                loops.saga_epoch(*common)
            else:
                workspace = np.empty(6), np.empty(6, dtype=np.int64)
                loops.svrg_epoch(*common, False, *workspace)
            moves.append((w - v) / parts.prox.step)
        assert_allclose(np.mean(moves, axis=0), problem.gradient(w), atol=1e-11)

    def test_no_variance_at_the_optimum(self):
        problem = finite_sum("squared", "none")
        w = np.linalg.lstsq(problem.X, problem.y)[0]
        result = svrg_minimize(problem, w, tol=0.0, max_iter=1, random_state=0)
        assert_allclose(result.x, w, atol=1e-13)


class TestSGD:
    def test_all_rows_are_gradient_descent(self):
        for penalty in PENALTIES:
            problem = finite_sum("logistic", penalty)
            step = 1 / (problem.lipschitz + np.max(problem.l2))
            full = sgd_minimize(
                problem, batch_size=30, step=step, max_iter=25, tol=0.0, random_state=0
            )
            plain = gradient_descent(problem, step=step, max_iter=25, tol=0.0)
            assert_allclose(full.last, plain.x, atol=1e-13)

    def test_the_average_of_all_iterates(self):
        problem = finite_sum("squared", "l2", n=8)
        result = sgd_minimize(
            problem, np.ones(6), batch_size=8, step=0.1, max_iter=5, tol=0.0
        )
        iterates = [np.ones(6)]
        for _ in range(5):
            w = iterates[-1]
            iterates.append(w - 0.1 * (problem.gradient(w) + problem.l2 * w))
        assert_allclose(result.x, np.mean(iterates, axis=0))
        late = sgd_minimize(
            problem, np.ones(6), batch_size=8, step=0.1, max_iter=5, tol=0.0,
            average_start=3,
        )  # fmt: skip
        assert_allclose(late.x, np.mean(iterates[3:], axis=0))

    def test_averaging_helps(self):
        """With steps c / k for a large c, on average over seeds."""
        problem = finite_sum("squared", "l2", n=100)
        best = gradient_descent(problem, tol=1e-10, max_iter=5000).x
        errors = []
        for seed in range(20):
            result = sgd_minimize(
                problem, step=lambda k: 10 / (k + 50), average_start=2, max_iter=10,
                sampling="independent",
                tol=0.0, random_state=seed,
            )  # fmt: skip
            errors.append(
                [np.linalg.norm(result.x - best), np.linalg.norm(result.last - best)]
            )
        average, last = np.mean(errors, axis=0)
        assert average < last

    @pytest.mark.parametrize("sampling", ["shuffle", "independent"])
    @pytest.mark.parametrize("batch_size", [1, 7, 30])
    def test_sampling(self, sampling, batch_size):
        problem = finite_sum("squared", "l2")
        best = gradient_descent(problem, tol=1e-10, max_iter=5000)
        result = sgd_minimize(
            problem, batch_size=batch_size, sampling=sampling, max_iter=200, tol=0.0,
            average_start=20, random_state=0,
        )  # fmt: skip
        assert result.objective - best.objective < 5e-3 * best.objective

    def test_the_hinge_loss(self):
        problem = finite_sum("hinge", "l2", n=200)
        result = sgd_minimize(problem, max_iter=300, tol=0.0, random_state=0)
        assert problem.duality_gap(result.x) < 0.1
        assert result.objective < 0.6 * result.trace[0]

    def test_stops_when_it_stands_still(self):
        problem = finite_sum("squared", "l2", n=200)
        result = sgd_minimize(problem, batch_size=20, tol=1e-2, random_state=0)
        assert result.stop_reason == "stationary"
        with pytest.warns(ConvergenceWarning, match="or use another step"):
            sgd_minimize(problem, max_iter=2, tol=1e-9, random_state=0)

    @pytest.mark.parametrize(
        ("parameters", "match"),
        [
            ({"batch_size": 31}, "at least 1 and at most 30"),
            ({"batch_size": 0}, "at least 1 and at most 30"),
            ({"step": 0.0}, "step must be positive"),
            ({"step": lambda k: -k}, "step must return positive"),
            ({"average_start": -1}, "average_start must be at least 0"),
            ({"sampling": "cyclic"}, "sampling='cyclic' is unknown"),
        ],
    )
    def test_bad_parameters(self, parameters, match):
        with pytest.raises(ValueError, match=match):
            sgd_minimize(finite_sum(), **parameters)


@given(
    X=st.integers(1, 5).flatmap(
        lambda n: st.integers(1, 5).flatmap(
            lambda d: st.lists(
                st.lists(st.integers(-2, 2), min_size=d, max_size=d),
                min_size=n,
                max_size=n,
            )
        )
    ),
    sparse_rows=st.booleans(),
)
@settings(max_examples=30)
def test_any_shape(X, sparse_rows):
    """Few rows, equal rows and columns, zeros: the ridge solution comes out."""
    X = np.array(X, dtype=float)
    n, d = X.shape
    y = np.arange(n) - 1.0
    expected = np.linalg.solve(X.T @ X / n + 0.5 * np.eye(d), X.T @ y / n)
    problem = FiniteSumProblem(
        sparse.csr_array(X) if sparse_rows else X, y, "squared", L2Penalty(0.5)
    )
    for solver in (sag_minimize, saga_minimize, svrg_minimize, coordinate_descent):
        result = solver(problem, tol=1e-9, max_iter=20_000, random_state=0)
        assert_allclose(result.x, expected, atol=1e-7)


@pytest.mark.parametrize("solver", [sag_minimize, saga_minimize, svrg_minimize])
class TestEverySolver:
    def test_a_kink_is_refused(self, solver):
        with pytest.raises(ValueError, match="has a kink"):
            solver(finite_sum("hinge"))

    def test_seeds(self, solver):
        problem = finite_sum("logistic")
        runs = [
            solver(problem, max_iter=2, tol=0.0, random_state=s).x for s in (0, 0, 1)
        ]
        assert_array_equal(runs[0], runs[1])
        assert np.any(runs[0] != runs[2])

    @pytest.mark.parametrize("sparse_rows", [False, True], ids=["dense", "sparse"])
    def test_degenerate_rows(self, solver, sparse_rows):
        """Rows and columns of zeros, duplicates, and a constant target."""
        problem = finite_sum("squared", "l2", sparse_rows=sparse_rows)
        X = problem.X.toarray() if sparse_rows else problem.X.copy()
        X[:, 2] = 0.0
        X[:5] = 0.0
        X[10:15] = X[15:20]
        X = type(problem.X)(X) if sparse_rows else X
        problem = FiniteSumProblem(X, np.ones(30), "squared", L2Penalty(0.1))
        result = solver(problem, np.ones(6), tol=1e-9, max_iter=20_000, random_state=0)
        assert result.converged
        assert abs(result.x[2]) < 1e-7

    def test_nothing_to_learn(self, solver):
        problem = FiniteSumProblem(np.zeros((3, 2)), np.ones(3))
        assert_array_equal(solver(problem).x, 0)

    def test_a_bad_step(self, solver):
        with pytest.raises(ValueError, match="step must be positive"):
            solver(finite_sum(), step=np.inf)


def test_bad_options():
    with pytest.raises(ValueError, match="option='first' is unknown"):
        svrg_minimize(finite_sum(), option="first")
    with pytest.raises(ValueError, match="n_inner must be at least 1"):
        svrg_minimize(finite_sum(), n_inner=0)
    strong = FiniteSumProblem([[1.0]], [1.0], "squared", L2Penalty(100.0))
    with pytest.raises(ValueError, match="must be below 1 / 100"):
        sag_minimize(strong, step=0.1)
    assert_allclose(sag_minimize(strong, tol=1e-12).x, [1 / 101])
