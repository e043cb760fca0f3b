"""Local search, evolution and tabu search."""

# SPDX-License-Identifier: BSD-3-Clause

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from fewlabels.partition import (
    PartitionProblem,
    _runs,
    evolve,
    local_search,
    tabu_search,
)
from fewlabels.partition._runs import supervised_start
from tests.helpers import assert_close
from tests.partition.problems import problems, random_codes, random_problem
from tests.reference import partition as reference

SOLVERS = {
    "local_search": local_search,
    "evolve": evolve,
    "evolve uniform": lambda p, **kw: evolve(p, mutation="uniform", **kw),
    "(1+1)": lambda p, **kw: evolve(p, 1, 1, **kw),
    "tabu_search": tabu_search,
}


def assert_valid(problem, result, gap=None):
    codes = problem.check_partition(result.y)  # labelled points keep their class
    sizes = np.bincount(codes[problem.free], minlength=problem.n_classes)
    assert problem.bounds.admit(sizes)
    assert result.objective == problem.objectives_of(codes[None])[0]
    assert result.objective <= result.objectives.min() + 1e-10
    assert np.all(np.diff(result.history) <= 1e-12)
    assert_close(result.history[-1], result.objective, scale=1)
    assert set(result.seconds) == {"prepare", "start", "search"}
    if gap is None:
        assert result.gap is None
    else:  # rounding errors, and directions closer than 1e-9, are never excluded
        assert gap <= result.gap <= gap + 1e-7


@pytest.mark.parametrize("name", SOLVERS)
@settings(max_examples=25)
@given(problem=problems(), seed=st.integers(0, 99))
def test_results_are_valid(name, problem, seed):
    result = SOLVERS[name](problem, start="random", n_init=2, random_state=seed)
    assert_valid(problem, result)
    assert result.objectives.shape == (2,)


@given(problem=problems(max_points=8), seed=st.integers(0, 99))
def test_local_search_is_its_slow_twin(problem, seed):
    codes = random_codes(problem, seed)
    result = local_search(problem, start=problem.decode(codes), swaps=False)
    twin, value, steps = reference.climb(problem, codes)
    assert_close(result.objective, value, scale=1)
    assert_array_equal(problem.check_partition(result.y), twin)
    if problem.free.size:
        assert result.n_trials == steps
    assert result.stop_reason == "local optimum"


@given(problem=problems(), seed=st.integers(0, 99))
def test_local_optimum(problem, seed):
    """No single admissible move and, at tight bounds, no exchange helps."""
    result = local_search(problem, start="random", random_state=seed)
    codes = problem.check_partition(result.y)
    sizes = np.bincount(codes[problem.free], minlength=problem.n_classes)
    gains = problem.move_gains(codes)
    for row, i in enumerate(problem.free):
        for b in range(problem.n_classes):
            a = codes[i]
            if a != b and sizes[a] > problem.lower[a] and sizes[b] < problem.upper[b]:
                assert gains[row, b] <= 1e-10
            elif a != b:
                for j in problem.free[codes[problem.free] == b]:
                    assert problem.swap_gain(result.y, i, j) <= 1e-10


@pytest.mark.parametrize("solver", [local_search, evolve, tabu_search])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("balanced", [False, True])
@pytest.mark.parametrize("ties", [False, True])
@given(seed=st.integers(0, 99))
@settings(max_examples=10)
def test_both_representations_make_the_same_moves(
    solver, n_classes, balanced, ties, seed
):
    problem = random_problem(
        seed,
        n=60,
        rank=5,
        n_classes=n_classes,
        balanced=balanced,
        n_labeled=6,
        ties=ties,
    )
    results = [
        solver(
            problem,
            start="random",
            n_init=3,
            random_state=seed,
            representation=representation,
        )
        for representation in ("dense", "factor")
    ]
    assert [r.representation for r in results] == ["dense", "factor"]
    assert_array_equal(results[0].y, results[1].y)
    assert results[0].n_trials == results[1].n_trials
    assert results[0].n_flips == results[1].n_flips
    assert_close(results[0].history, results[1].history, scale=1)


@pytest.mark.parametrize("name", SOLVERS)
def test_results_do_not_depend_on_threads(name):
    problem = random_problem(3, n=80, rank=10, n_labeled=8)
    one, two = (
        SOLVERS[name](problem, start="random", n_init=6, random_state=7, n_jobs=n_jobs)
        for n_jobs in (1, 2)
    )
    assert_array_equal(one.y, two.y)
    assert_array_equal(one.objectives, two.objectives)


@pytest.mark.parametrize(
    ("n_labeled", "balanced"), [(0, False), (0, True), (4, False), (4, True)]
)
def test_restarts_find_the_optimum(n_labeled, balanced):
    """Of 100 random instances with up to 14 points, 95 at least are solved exactly."""
    solved = 0
    for seed in range(100):
        problem = random_problem(
            seed,
            n=8 + seed % 7,
            rank=4,
            n_labeled=n_labeled,
            balanced=balanced,
            factor=seed % 2 == 0,
        )
        best, _ = reference.exhaustive_fast(problem)
        result = local_search(problem, start="random", n_init=50, random_state=seed)
        assert result.objective >= best - 1e-9
        solved += result.objective <= best + 1e-9
    assert solved >= 95


@pytest.mark.parametrize("name", SOLVERS)
def test_other_solvers_find_the_optimum_too(name):
    solved = 0
    for seed in range(20):
        problem = random_problem(seed, n=10, rank=4, balanced=seed % 2 == 0)
        best, _ = reference.exhaustive_fast(problem)
        result = SOLVERS[name](problem, start="random", n_init=20, random_state=seed)
        solved += result.objective <= best + 1e-9
    assert solved >= 18


@pytest.mark.parametrize("balanced", [False, True])
def test_restarts_find_the_optimum_of_three_classes(balanced):
    solved = 0
    for seed in range(20):
        problem = random_problem(seed, n=8, rank=3, n_classes=3, balanced=balanced)
        best, _ = reference.exhaustive(problem)
        result = local_search(problem, start="random", n_init=50, random_state=seed)
        assert result.objective >= best - 1e-9
        solved += result.objective <= best + 1e-9
    assert solved >= 18


def test_local_optimum_among_many_points():
    """Exchanges that help are found beyond the points that gain most alone."""
    for seed in range(4):
        rng = np.random.default_rng(seed)
        Z = rng.normal(size=(120, 120)) * rng.exponential(size=(120, 1))
        problem = PartitionProblem.from_factor(
            Z, np.zeros(120, dtype=int), 1e-4, balance=0.5, balance_tol=0.0
        )
        result = local_search(problem, "random", random_state=seed)
        assert result.stop_reason == "local optimum"
        gains = problem.move_gains(result.y)
        codes = problem.check_partition(result.y)
        to = gains[np.arange(120), 1 - codes]
        pair = to[:, None] + to - 8 * problem.system.dense(np.arange(120))
        apart = codes[:, None] != codes
        assert pair[apart].max() <= 1e-10


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_the_scale_of_the_rows_does_not_stop_the_search(scale):
    rng = np.random.default_rng(0)
    side = np.repeat([-1, 1], 50)
    X = scale * (3.0 * side[:, None] + rng.normal(size=(100, 3)))
    y = np.where(np.arange(100) % 25 == 0, side, 0)
    for alpha in (1.0, scale**2):
        for problem in (
            PartitionProblem.from_factor(X, y, alpha, balance=0.5),
            next(PartitionProblem.from_factor(X, y, balance=0.5).path([alpha])),
        ):
            result = local_search(problem, "random", random_state=0)
            assert result.n_flips > 20
            assert np.mean(result.y == side) > 0.95


@pytest.mark.parametrize("factor", [True, False])
@pytest.mark.parametrize("n_init", [1, 5])
@pytest.mark.parametrize("balanced", [True, False])
def test_searches_along_a_path_are_the_single_ones(factor, n_init, balanced):
    """Rows of B W computed at once (restarts) or one by one, swaps, three classes."""
    alphas = [1e-3, 0.03, 1.0, 30.0]
    for n_classes in (2, 3):
        params = dict(
            n=60, rank=25, n_labeled=6, n_classes=n_classes, factor=factor
        ) | {"balanced": balanced}
        problem = random_problem(3, **params)
        for alpha, along in zip(alphas, problem.path(alphas), strict=True):
            alone = random_problem(3, alpha=alpha, **params)
            for solver in (local_search, tabu_search, evolve):
                for representation in ("factor", "dense"):
                    shown = solver(
                        along,
                        n_init=n_init,
                        random_state=0,
                        representation=representation,
                    )
                    expected = solver(alone, n_init=n_init, random_state=0)
                    assert_array_equal(shown.y, expected.y)
                    assert_close(shown.objectives, expected.objectives, scale=1)
                    assert shown.n_trials == expected.n_trials
                    assert shown.n_flips == expected.n_flips
                    assert_close(along.objective(shown.y), shown.objective, scale=1)


def test_counts():
    """Every change of class is counted, and nothing else."""
    frozen = random_problem(0, n=20, balance=[1.0, 0.0], balance_tol=0.0)
    for solver in (local_search, tabu_search, evolve):
        result = solver(frozen, start="random", random_state=0)
        assert result.n_flips == result.n_swaps == 0
    tight = random_problem(0, n=40, balanced=True, n_labeled=4)
    for solver in (tabu_search, evolve, SOLVERS["(1+1)"]):
        result = solver(tight, start="random", random_state=0)
        assert result.n_flips == 2 * result.n_swaps > 0


def test_tight_balance_does_not_block_the_search():
    """With fixed sizes no single move is possible; exchanges find the clusters."""
    rng = np.random.default_rng(0)
    side = np.repeat([-1.0, 1.0], 20)
    X = np.column_stack([3 * side, rng.normal(size=40)])
    y = np.zeros(40, dtype=int)
    y[[0, 39]] = -1, 1
    problem = PartitionProblem.from_factor(X, y, 0.1, balance=0.5, balance_tol=0.0)
    assert problem.lower[1] == problem.upper[1] == 19
    start = y.copy()
    start[1:39] = np.tile([-1, 1], 19)
    for solver in (local_search, tabu_search):
        result = solver(problem, start=start)
        assert_array_equal(result.y, side)
        assert result.n_swaps > 0
    assert_array_equal(evolve(problem, random_state=0).y, side)
    stuck = local_search(problem, start=start, swaps=False)
    assert stuck.n_flips == 0


def test_tabu_search_is_no_worse_than_its_local_optimum():
    better = 0
    for seed in range(20):
        problem = random_problem(seed, n=60, rank=20, alpha=1e-3)
        climbed = local_search(problem, start="random", random_state=seed)
        walked = tabu_search(problem, start=climbed.y, random_state=seed)
        assert walked.objective <= climbed.objective + 1e-12
        better += walked.objective < climbed.objective - 1e-9
    assert better > 0


def test_supervised_start():
    problem = random_problem(0, n=30, n_labeled=10, n_classes=3, balanced=True)
    codes = supervised_start(problem)
    assert problem.bounds.admit(np.bincount(codes, minlength=3))
    free = random_problem(0, n=30, n_labeled=10, n_classes=3)
    Z, rows = free.system.Z, free.labeled
    Y = 2.0 * free.one_hot(free.codes)[rows] - 1
    K = Z @ Z.T
    A = K[np.ix_(rows, rows)] + free.alpha * len(rows) * np.eye(len(rows))
    outputs = K[:, rows] @ np.linalg.solve(A, Y)
    assert_array_equal(supervised_start(free), outputs[free.free].argmax(axis=1))


@pytest.mark.parametrize("name", SOLVERS)
@pytest.mark.parametrize("factor", [True, False])
def test_nothing_is_free(name, factor):
    problem = random_problem(0, n=6, n_labeled=6, factor=factor)
    result = SOLVERS[name](problem, start="random", random_state=0)
    assert_array_equal(result.y, problem.codes)
    assert_valid(problem, result)


def test_limits():
    problem = random_problem(0, n=50, rank=10)
    cut = local_search(problem, start="random", random_state=0, max_trials=10)
    assert cut.n_trials == 10
    assert cut.stop_reason == "max_trials reached"
    cut = evolve(problem, max_generations=3, random_state=0)
    assert cut.n_trials == 3 * 25
    assert cut.stop_reason == "max_generations reached"
    cut = tabu_search(problem, max_steps=4, random_state=0)
    assert cut.n_trials == 4
    assert cut.stop_reason == "max_steps reached"


def test_the_memory_budget_decides():
    problem = random_problem(0, n=200, rank=50)
    thin = local_search(problem, memory_budget=0.01, n_init=21, random_state=0)
    assert thin.representation == "factor"
    thick = local_search(problem, n_init=21, random_state=0)
    assert thick.representation == "dense"
    assert_array_equal(thin.y, thick.y)
    # A single run is over before the dense matrix would be ready, and a factor of low
    # rank is always faster.
    assert local_search(problem).representation == "factor"
    flat = random_problem(0, n=200, rank=3)
    assert local_search(flat, n_init=100).representation == "factor"


@pytest.mark.parametrize(
    ("solver", "params", "message"),
    [
        (local_search, {"start": "best"}, "start='best' is unknown"),
        (local_search, {"n_init": 0}, "n_init must be at least 1"),
        (local_search, {"representation": "thin"}, "representation='thin'"),
        (local_search, {"max_trials": -1}, "max_trials must not be negative"),
        (tabu_search, {"patience": -1}, "patience must not be negative"),
        (evolve, {"max_generations": -1}, "max_generations must not be negative"),
        (evolve, {"n_parents": 0}, "n_parents and n_children must be at least 1"),
        (evolve, {"mutation": "cross"}, "mutation='cross' is unknown"),
    ],
)
def test_bad_parameters(solver, params, message):
    with pytest.raises(ValueError, match=message):
        solver(random_problem(0), **params)


def test_bad_starts():
    with pytest.raises(ValueError, match="needs labelled points"):
        local_search(random_problem(0, n_labeled=0))
    problem = random_problem(0, balanced=True)
    one_class = np.where(problem.codes < 0, 0, problem.codes)
    with pytest.raises(ValueError, match="start has class sizes"):
        local_search(problem, start=one_class)
    with pytest.raises(ValueError, match="made from a factor"):
        local_search(random_problem(0, factor=False), representation="factor")


@pytest.mark.parametrize(
    "random_state", [0, np.random.RandomState(0), np.random.default_rng(0), None]
)
def test_seeds(random_state):
    problem = random_problem(0)
    assert_valid(problem, local_search(problem, "random", 3, random_state))


def test_runs_on_arrays_from_another_process_are_the_same(monkeypatch):
    """These are read-only and not aligned: no loop may be compiled for them."""
    cloudpickle = pytest.importorskip("cloudpickle")
    from fewlabels._loops.partition import climb

    X = np.random.default_rng(0).normal(size=(30, 2))
    problem = PartitionProblem.from_factor(X, [-1, 1] + [0] * 28, alpha=0.1)
    expected = local_search(problem, n_init=5, random_state=0)
    n_compiled = len(climb.signatures)

    def elsewhere(**options):
        def call(jobs):
            results = []
            for job in jobs:
                buffers = []
                sent = cloudpickle.dumps(
                    job, protocol=5, buffer_callback=buffers.append
                )
                buffers = [
                    memoryview(b"_" + bytes(buffer.raw()))[1:] for buffer in buffers
                ]
                function, arguments, options = pickle.loads(sent, buffers=buffers)
                results.append(function(*arguments, **options))
            return results

        return call

    monkeypatch.setattr(_runs, "Parallel", elsewhere)
    found = local_search(problem, n_init=5, random_state=0)
    assert_array_equal(found.y, expected.y)
    assert_array_equal(found.objectives, expected.objectives)
    assert len(climb.signatures) == n_compiled
