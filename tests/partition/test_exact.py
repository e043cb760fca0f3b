"""Exact solutions at low rank, and the zonotope beneath."""

# SPDX-License-Identifier: BSD-3-Clause

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from fewlabels._loops import zonotope as loops
from fewlabels.datasets import load_old_faithful
from fewlabels.partition import (
    PartitionProblem,
    count_zonotope_vertices,
    enumerate_zonotope_vertices,
    local_search,
    solve_exact,
)
from fewlabels.partition import _zonotope as exact
from fewlabels.partition._signs import sign_form
from tests.helpers import assert_close
from tests.partition.problems import odd_problem, random_problem
from tests.partition.test_search import assert_valid
from tests.reference import partition as reference
from tests.reference import zonotope as slow


@pytest.mark.parametrize("block", range(10))
def test_exhaustive_search_agrees(block):
    """All of 500 instances: ranks 1 to 5, duplicates, zeros, grids, labels, bounds."""
    for seed in range(50 * block, 50 * block + 50):
        problem = odd_problem(seed)
        result = solve_exact(problem)
        best = reference.exhaustive_fast(problem)[0]
        assert_valid(problem, result, gap=0.0)
        assert_close(result.objective, best, scale=1)
        assert result.lower_bound <= best


@pytest.mark.parametrize(
    ("n", "rank"), [(5, 1), (12, 2), (9, 3), (8, 4), (8, 5), (3, 3)]
)
def test_number_of_vertices(n, rank, rng):
    signs, vertices = enumerate_zonotope_vertices(rng.normal(size=(n, rank)))
    assert len(signs) == count_zonotope_vertices(n, rank)
    assert len(np.unique(signs, axis=0)) == len(signs)
    assert len(np.unique(vertices.round(9), axis=0)) == len(signs)


@given(
    G=st.integers(1, 6).flatmap(lambda n: st.integers(1, 3).map(lambda d: (n, d))),
    seed=st.integers(0, 999),
    grid=st.booleans(),
)
@settings(max_examples=40)
def test_vertices_are_the_cells(G, seed, grid):
    rng = np.random.default_rng(seed)
    B = rng.integers(-1, 2, size=G).astype(float) if grid else rng.normal(size=G)
    signs, vertices = enumerate_zonotope_vertices(B)
    zero = ~B.any(axis=1)
    assert not signs[:, zero].any()
    assert_close(vertices, signs @ B)
    if zero.all():
        assert len(signs) == 1
        return
    expected = slow.cells(B[~zero])
    assert_array_equal(signs[:, ~zero], expected)
    assert len(signs) <= count_zonotope_vertices((~zero).sum(), G[1])


def test_too_many_vertices(rng):
    B = rng.normal(size=(50, 6))
    with pytest.raises(ValueError, match=r"4\.\d+e\+06 vertices.*max_vertices"):
        enumerate_zonotope_vertices(B)
    problem = PartitionProblem.from_factor(B, np.zeros(50))
    with pytest.raises(ValueError, match=r"max_vertices=1e\+03.*branch_and_bound"):
        solve_exact(problem, max_vertices=1e3)
    kernel = PartitionProblem.from_kernel(np.eye(100) + 1, np.zeros(100))
    with pytest.raises(ValueError, match="lower n_components"):
        solve_exact(kernel)
    bounded = PartitionProblem.from_factor(
        B[:, :3], np.zeros(50), balance=0.1, balance_tol=0.0
    )
    with pytest.raises(ValueError, match="one more than that of the problem"):
        solve_exact(bounded, max_vertices=count_zonotope_vertices(50, 3))


@given(seed=st.integers(0, 999), bounded=st.booleans(), offset=st.booleans())
def test_turn_is_its_slow_twin(seed, bounded, offset):
    rng = np.random.default_rng(seed)
    m = rng.integers(1, 9)
    G = rng.normal(size=(m, 2))
    P = np.column_stack([rng.normal(size=(m, 3)), np.ones(m)])
    base = np.append(rng.normal(size=3) * offset, 0.0)
    most = float(m % 2) if bounded else np.inf  # a float, as the solver hands it over
    lower, upper = -most, most
    keys, signs = loops.angles(G)
    best_p = np.full(4, np.nan)
    best = loops.turn(
        signs,
        np.argsort(keys),
        P,
        base,
        np.empty((0, 4)),
        1,
        lower,
        upper,
        not offset,
        -1.0,
        best_p,
    )
    expected = slow.turn(G, P, base, lower, upper)
    assert_close(best, expected, scale=1)
    if best >= 0:
        assert_close(best_p[:-1] @ best_p[:-1], best)


@given(seed=st.integers(0, 999), d=st.integers(2, 5))
def test_restrict_is_its_slow_twin(seed, d):
    rng = np.random.default_rng(seed)
    m = rng.integers(2, 8)
    G = rng.normal(size=(m, d))
    G /= np.linalg.norm(G, axis=1)[:, None]
    P = rng.normal(size=(m, 3))
    i = rng.integers(m)
    G_out, P_out = np.empty((m - 1, d - 1)), np.empty((m - 1, 3))
    tops, pivot = np.empty(m - 1, dtype=np.intp), np.empty(3)
    left = loops.restrict(G, P, i, G_out, P_out, tops, pivot)
    assert left == m - 1
    assert_array_equal(tops, np.delete(np.arange(m), i))
    assert_array_equal(P_out, np.delete(P, i, axis=0))
    assert_array_equal(pivot, P[i])
    expected = slow.restrict(G, i)  # in other coordinates
    assert_close(G_out @ G_out.T, expected @ expected.T, factor=100)


@given(seed=st.integers(0, 999), d=st.integers(1, 4))
def test_merge_adds_what_is_parallel(seed, d):
    rng = np.random.default_rng(seed)
    kinds = rng.normal(size=(3, d))
    kinds /= np.linalg.norm(kinds, axis=1)[:, None]
    which, sign = rng.integers(3, size=8), rng.choice([-1.0, 1.0], size=8)
    G, P, tops = sign[:, None] * kinds[which], rng.normal(size=(8, 2)), np.arange(8)
    G_before, P_before = G.copy(), P.copy()
    left = loops.merge(G, P, tops)
    groups = np.abs(G_before @ G_before.T) > 1 - 1e-12
    assert left == len(np.unique(groups, axis=0))
    for row in range(left):
        signs = np.round(G_before @ G[row]) * (np.abs(G_before @ G[row]) > 1 - 1e-12)
        assert_close(P[row], signs @ P_before)
        assert tops[row] == np.flatnonzero(signs).max()


@pytest.mark.parametrize("kind", ["free", "bounded", "labelled"])
def test_more_points_than_exhaustive_search_can_do(kind, rng):
    """No local search finds more, and no single change or exchange helps."""
    X = rng.normal(size=(40, 4))
    X[5:10] = X[0]
    y = np.zeros(40)
    params = {}
    if kind == "bounded":
        X, params = X[:, :3], {"balance": 0.3, "balance_tol": 0.0}
    if kind == "labelled":
        y[:6] = [1, 1, 1, -1, -1, -1]
    problem = PartitionProblem.from_factor(X, y, alpha=0.1, **params)
    result = solve_exact(problem)
    found = local_search(problem, "random", n_init=301, random_state=0)
    assert result.objective <= found.objective + 1e-12
    again = local_search(problem, result.y)
    assert again.n_flips == 0


@pytest.mark.parametrize("n_jobs", [2, -1])
def test_threads_find_the_same(n_jobs, rng, monkeypatch):
    monkeypatch.setattr(exact, "CELLS_PER_TASK", 1000)
    problem = PartitionProblem.from_factor(rng.normal(size=(60, 4)), np.zeros(60))
    one = solve_exact(problem)
    shares = []
    several = solve_exact(problem, n_jobs=n_jobs, progress=shares.append)
    assert_close(several.objective, one.objective)
    assert shares == sorted(shares)
    assert shares[-1] == 1.0


def test_interrupt_gives_the_best_so_far(rng, monkeypatch):
    monkeypatch.setattr(exact, "CELLS_PER_TASK", 1000)

    def interrupt(share):
        if share > 0.3:
            raise KeyboardInterrupt

    problem = PartitionProblem.from_factor(rng.normal(size=(60, 4)), np.zeros(60))
    result = solve_exact(problem, progress=interrupt)
    assert "interrupted" in result.stop_reason
    assert result.lower_bound is None
    assert result.gap is None
    best = solve_exact(problem).objective
    assert best <= result.objective < 1.1 * best
    bounded = PartitionProblem.from_factor(
        rng.normal(size=(60, 4)) + 1, np.zeros(60), balance=0.2, balance_tol=0.0
    )
    result = solve_exact(bounded, progress=interrupt)
    assert np.sum(result.y == 1) == 12


def test_a_lower_rank_bounds_the_whole_problem(rng):
    """Corollary 6 of 004: optimal where it is solved, certified where it is not."""
    problem = PartitionProblem.from_factor(
        rng.normal(size=(12, 6)) * [4, 3, 2, 1, 0.5, 0.2], np.zeros(12), alpha=0.5
    )
    best = reference.exhaustive_fast(problem)[0]
    bounds = []
    for rank in range(1, 7):
        result = solve_exact(problem, n_components=rank)
        form = sign_form(problem, rank)
        everything = np.array(
            [form.value(y) for y in slow.completions(np.zeros(12, dtype=int))]
        )
        assert_close(form.value(result.y.astype(float)), everything.max())
        assert result.lower_bound <= best + 1e-12
        assert result.objective >= best - 1e-12
        bounds.append(result.lower_bound)
    assert_close(bounds[-1], best, scale=1)
    assert bounds[-1] > bounds[0]
    kernel = PartitionProblem.from_kernel(
        problem.system.Z @ problem.system.Z.T, np.zeros(12), alpha=0.5
    )
    assert_close(solve_exact(kernel, n_components=2).lower_bound, bounds[1], scale=1)


def test_bad_parameters(rng):
    problem = PartitionProblem.from_factor(rng.normal(size=(6, 2)), np.zeros(6))
    with pytest.raises(ValueError, match="rank must be at least 1"):
        solve_exact(problem, n_components=0)
    with pytest.raises(ValueError, match="progress='maybe' is unknown"):
        solve_exact(
            PartitionProblem.from_factor(rng.normal(size=(6, 3)), np.zeros(6)),
            progress="maybe",
        )
    three = random_problem(0, n_classes=3)
    with pytest.raises(ValueError, match="two classes, the problem has 3"):
        solve_exact(three)


def test_start_from_the_leading_dimensions(rng):
    """Exact in few dimensions, then refined: a start within the bounds."""
    X = np.vstack([rng.normal(-1, 1, (30, 5)), rng.normal(1, 1, (30, 5))])
    problem = PartitionProblem.from_factor(X, np.zeros(60), balance=0.5)
    start = solve_exact(problem, n_components=exact.affordable_rank(60, bounded=True))
    refined = local_search(problem, "exact")
    assert refined.objective <= start.objective + 1e-12
    assert_valid(problem, refined)
    with pytest.raises(ValueError, match="two classes"):
        local_search(random_problem(0, n_classes=3), "exact")


def test_affordable_rank():
    assert exact.affordable_rank(100, bounded=False) == 3
    assert exact.affordable_rank(100, bounded=True) == 3
    assert exact.affordable_rank(900, bounded=True) == 2
    assert exact.affordable_rank(10**6, bounded=False) == 2
    assert exact.affordable_rank(10**6, bounded=True) == 1


def test_many_points_on_a_plane(rng):
    """Rank 2 takes one sort; no random start comes to more."""
    X = rng.normal(size=(20_000, 2))
    problem = PartitionProblem.from_factor(X, np.zeros(20_000))
    result = solve_exact(problem)
    assert result.gap < 1e-9
    assert local_search(problem, result.y).n_flips == 0
    directions = rng.normal(size=(2, 100))
    codes = (X @ directions > 0).T.astype(np.intp)
    assert result.objective <= problem.objectives_of(codes).min() + 1e-12


def test_the_zero_one_form_is_wrong_unless_the_kernel_is_centred():
    """004 goes from -1, +1 to 0, 1 and drops a term: an error unless Q 1 = 0."""

    def zero_one_optimum(problem):
        Z = (slow.completions(np.zeros(problem.codes.size, dtype=int)) + 1) / 2
        values = np.einsum("ij,jk,ik->i", Z, problem.system.dense(problem.free), Z)
        return problem.objectives_of(Z[[values.argmax()]].astype(np.intp))[0]

    wrong = 0
    for seed in range(20):
        X = np.random.default_rng(seed).normal(size=(8, 2)) + 0.5
        problem = PartitionProblem.from_factor(X, np.zeros(8), alpha=0.1)
        best = reference.exhaustive_fast(problem)[0]
        assert_close(solve_exact(problem).objective, best, scale=1)
        wrong += zero_one_optimum(problem) > best + 1e-9
        centred = PartitionProblem.from_factor(X - X.mean(0), np.zeros(8), alpha=0.1)
        best = reference.exhaustive_fast(centred)[0]
        assert_close(zero_one_optimum(centred), best, scale=1)
    assert wrong > 0


def test_old_faithful():
    try:
        X = load_old_faithful().data
    except OSError as error:
        pytest.skip(str(error))
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    result = solve_exact(PartitionProblem.from_factor(X, np.zeros(len(X))))
    again = local_search(PartitionProblem.from_factor(X, np.zeros(len(X))), result.y)
    assert again.n_flips == 0
    assert np.bincount((result.y + 1) // 2).min() > 90  # short and long eruptions


def test_generators_that_hardly_count(rng):
    """A vector of rounding errors neither adds a dimension nor spoils the optimum."""
    X = rng.normal(size=(9, 3))
    X[:, 2] = 0.0
    X[4] = [0.0, 0.0, 1e-13]
    X[5] *= 1e-10
    problem = PartitionProblem.from_factor(X, np.zeros(9))
    result = solve_exact(problem)
    assert_close(result.objective, reference.exhaustive_fast(problem)[0], scale=1)


@pytest.mark.parametrize("labeled", [False, True])
def test_no_empty_class(labeled):
    """Where all in one class is best, the best of the other partitions."""
    for seed in range(40):
        rng = np.random.default_rng(seed)
        n, rank = rng.integers(3, 11), rng.integers(1, 4)
        X = rng.normal(size=(n, rank)) + 3 * rng.normal(size=rank)
        X[rng.random(n) < 0.2] = 0.0
        y = np.zeros(n)
        y[0] = 1.0 if labeled else 0.0
        problem = PartitionProblem.from_factor(X, y, alpha=0.1, min_size=1)
        result = solve_exact(problem)
        assert_valid(problem, result, gap=0.0)
        best = reference.exhaustive_fast(problem)[0]
        assert_close(result.objective, best, scale=1)
