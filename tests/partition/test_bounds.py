"""Lower bounds on F, certificates, and branch and bound."""

# SPDX-License-Identifier: BSD-3-Clause

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy import linalg

from fewlabels._loops import bounds as loops
from fewlabels.partition import (
    PartitionProblem,
    branch_and_bound,
    certify,
    evolve,
    local_search,
    lower_bound,
    solve,
    solve_exact,
    tabu_search,
)
from fewlabels.partition import _bounds as bounds
from fewlabels.partition._bounds import Relaxation
from fewlabels.partition._signs import SignForm, sign_form
from tests.helpers import assert_close
from tests.partition.problems import odd_problem, problems, random_problem
from tests.partition.test_search import assert_valid
from tests.reference import partition as reference
from tests.reference import zonotope as slow

METHODS = ("spectral", "truncated", "dual", "best")


@pytest.mark.parametrize("factor", [True, False])
@pytest.mark.parametrize("block", range(4))
def test_no_bound_exceeds_the_optimum(block, factor):
    for seed in range(25 * block, 25 * block + 25):
        problem = odd_problem(seed, max_points=10, factor=factor)
        best = reference.exhaustive_fast(problem)[0]
        found = {method: lower_bound(problem, method) for method in METHODS}
        assert max(found.values()) <= best + 1e-9
        assert found["dual"] >= found["spectral"] - 1e-12
        assert found["best"] >= max(found.values()) - 1e-12
        assert min(found.values()) >= 0


@settings(max_examples=30)
@given(problem=problems(max_points=7, max_classes=4))
def test_bounds_for_several_classes(problem):
    best, _ = reference.exhaustive(problem)
    assert lower_bound(problem) <= best + 1e-9
    if problem.n_classes > 2:
        with pytest.raises(ValueError, match="two classes"):
            lower_bound(problem, "truncated")


def test_the_dual_bound_is_close(rng):
    """The spectral bound is far off where points differ in weight and sizes count."""
    X = rng.normal(size=(80, 6)) * rng.uniform(0.1, 3, size=(80, 1))
    problem = PartitionProblem.from_factor(X, np.zeros(80), balance=0.3, balance_tol=0)
    found = tabu_search(problem, "random", n_init=11, random_state=0).objective
    free = PartitionProblem.from_factor(X, np.zeros(80))
    gaps = [found - lower_bound(problem, method) for method in ("spectral", "dual")]
    assert gaps[1] < 0.5 * gaps[0]
    assert lower_bound(problem, "dual") > lower_bound(free, "dual") + 1e-3


@given(seed=st.integers(0, 999), nu=st.sampled_from([0.0, 0.3]))
def test_relax_is_its_slow_twin(seed, nu):
    rng = np.random.default_rng(seed)
    m, r, q = rng.integers(1, 8), rng.integers(1, 4), rng.integers(1, 4)
    B, e, V = rng.normal(size=(m, r)), rng.normal(size=m), rng.normal(size=(m, q))
    V /= np.linalg.norm(V, axis=1)[:, None]
    expected_V, expected = slow.relax(B, e, nu, V, 2)
    delta = loops.relax(B, e, nu, V, 2)
    assert_close(delta, expected, scale=np.abs(expected).max(), factor=1e3)
    assert_close(V, expected_V, scale=1, factor=1e3)


@given(seed=st.integers(0, 999), nu=st.sampled_from([0.0, 0.3]))
def test_weighted_bound_is_its_slow_twin(seed, nu):
    rng = np.random.default_rng(seed)
    m, r = rng.integers(1, 8), rng.integers(1, 4)
    B, e, delta = rng.normal(size=(m, r)), rng.normal(size=m), rng.uniform(0.1, 2, m)
    found = loops.weighted_bound(B, e, nu, 2.0, delta)
    assert_close(found, slow.weighted_bound(B, e, nu, 2.0, delta), factor=100)


@given(seed=st.integers(0, 999), first=st.floats(-5, 5))
def test_any_weights_give_a_bound(seed, first):
    """Also a negative first weight, zero weights and zero rows."""
    rng = np.random.default_rng(seed)
    u, r = rng.integers(1, 8), rng.integers(1, 4)
    B = rng.normal(size=(u + 1, r))
    B[rng.random(u + 1) < 0.2] = 0.0
    delta = rng.uniform(0, 2, u + 1) * (rng.random(u + 1) < 0.8)
    delta[0] = first
    low, high = np.sort(rng.integers(0, u + 1, size=2))
    e = np.ones(u + 1)
    e[0] = -(low + high - u)
    Y = slow.completions(np.array([1] + [0] * u))
    positive = (Y[:, 1:] > 0).sum(axis=1)
    Y = Y[(low <= positive) & (positive <= high)]
    best = ((Y @ B) ** 2).sum(axis=1).max()
    nu = float(rng.uniform(0, 2))
    found = loops.weighted_bound(B, e, nu, float(high - low) ** 2, delta)
    assert found >= best - 1e-9


@given(seed=st.integers(0, 999))
def test_nodes_are_bounded(seed):
    rng = np.random.default_rng(seed)
    u, r = int(rng.integers(1, 9)), int(rng.integers(1, 4))
    B, p0 = rng.normal(size=(u, r)), rng.normal(size=r)
    fixed = rng.choice([-1, 0, 1], size=u).astype(np.int8)
    low, high = np.sort(rng.integers(0, u + 1, size=2))
    V = rng.normal(size=(u + 1, 3))
    V /= np.linalg.norm(V, axis=1)[:, None]
    bound, branch, y, value = loops.bound_node(
        B, p0, fixed, low, high, 0.1, V, -1.0, 3, 3
    )
    Y = slow.completions(fixed)
    positive = (Y > 0).sum(axis=1)
    Y = Y[(low <= positive) & (positive <= high)]
    if len(Y) == 0:
        assert bound == -np.inf
        return
    values = ((p0 + Y @ B) ** 2).sum(axis=1)
    assert bound >= values.max() - 1e-9
    assert_array_equal(y[fixed != 0], fixed[fixed != 0])
    assert low <= (y > 0).sum() <= high
    assert_close(value, ((p0 + y @ B) ** 2).sum(), scale=1)
    assert branch == -1 or fixed[branch] == 0


@given(seed=st.integers(0, 999))
def test_ascend_ends_where_no_better_signs_are_in_the_direction(seed):
    rng = np.random.default_rng(seed)
    u, r = int(rng.integers(1, 12)), int(rng.integers(1, 4))
    B, p0 = rng.normal(size=(u, r)), rng.normal(size=r)
    low, high = np.sort(rng.integers(0, u + 1, size=2))
    y = np.where(np.arange(u) < low, 1.0, -1.0)
    start = ((p0 + y @ B) ** 2).sum()
    value = loops.ascend(B, p0, y, low, high)
    p = p0 + y @ B
    assert_close(value, p @ p, scale=1)
    assert value >= start - 1e-12
    form = SignForm(B, p0, int(low), int(high))
    ahead = p0 + form.best_signs(p) @ B
    assert p @ ahead <= p @ p * (1 + 1e-9) + 1e-12


@pytest.mark.parametrize("factor", [True, False])
@pytest.mark.parametrize("block", range(4))
def test_branch_and_bound_is_exact(block, factor):
    for seed in range(25 * block, 25 * block + 25):
        problem = odd_problem(seed, max_points=11, factor=factor)
        result = branch_and_bound(problem, n_init=1)
        assert_close(result.objective, reference.exhaustive_fast(problem)[0], scale=1)
        assert_valid(problem, result, gap=result.gap)
        assert result.gap < 1e-9
        assert result.stop_reason == "optimum proven"


def test_two_proofs_agree(rng):
    problem = PartitionProblem.from_factor(rng.normal(size=(60, 4)), np.zeros(60))
    assert_close(branch_and_bound(problem).objective, solve_exact(problem).objective)


def test_branch_and_bound_stops_where_it_is_told(rng):
    problem = PartitionProblem.from_factor(rng.normal(size=(80, 20)), np.zeros(80))
    short = branch_and_bound(problem, max_nodes=50)
    again = branch_and_bound(problem, max_nodes=50)
    longer = branch_and_bound(problem, max_nodes=500)
    assert short.stop_reason == "max_nodes reached"
    assert (short.objective, short.lower_bound) == (again.objective, again.lower_bound)
    assert short.gap > longer.gap > 0
    assert longer.lower_bound >= short.lower_bound
    assert short.lower_bound >= lower_bound(problem, "spectral")
    timed = branch_and_bound(problem, time_limit=0.0)
    assert timed.stop_reason == "time_limit reached"
    loose = branch_and_bound(problem, gap=0.2)
    assert loose.stop_reason == "gap reached"
    assert loose.gap <= 0.2 * loose.objective
    with pytest.raises(ValueError, match="gap must not be negative"):
        branch_and_bound(problem, gap=-1)


def test_the_root_keeps_to_the_time_limit(rng, monkeypatch):
    """Neither relaxation nor branching starts after the time limit."""
    K = np.exp(rng.normal(size=(40, 3)) @ rng.normal(size=(3, 40)))
    problem = PartitionProblem.from_kernel(K @ K.T, np.zeros(40), balance=0.3)

    def too_late(*args):
        raise AssertionError("this began after the time limit")

    monkeypatch.setattr(loops, "relax", too_late)
    monkeypatch.setattr(loops, "bound_node", too_late)
    result = branch_and_bound(problem, time_limit=0.0)
    assert result.stop_reason == "time_limit reached"
    assert_close(result.lower_bound, lower_bound(problem, "spectral"), factor=1e4)


def test_the_relaxation_stops_between_rounds(rng, monkeypatch):
    """The clock shows 1, 2, 3, ...: three rounds begin before 3.5."""
    form = SignForm(rng.normal(size=(30, 5)), np.zeros(5), 5, 20)
    whole = Relaxation(form)
    clock, rounds = itertools.count(1), []
    relax = loops.relax

    def counted(*args):
        rounds.append(args[2])
        return relax(*args)

    monkeypatch.setattr(loops, "relax", counted)
    monkeypatch.setattr(bounds, "perf_counter", lambda: next(clock))
    cut = Relaxation(form, deadline=3.5)
    assert rounds == [0.0, 0.0, 0.0]
    assert whole.bound < cut.bound < np.inf


@pytest.mark.parametrize("factor", [True, False])
def test_one_decomposition_serves_all_bounds(rng, monkeypatch, factor):
    X = rng.normal(size=(30, 8))
    make = PartitionProblem.from_factor if factor else PartitionProblem.from_kernel
    calls = []
    eigh = linalg.eigh

    def counted(A, **kwargs):
        calls.append(A.shape)
        return eigh(A, **kwargs)

    monkeypatch.setattr(linalg, "eigh", counted)
    y = np.zeros(30)
    lower_bound(make(X if factor else X @ X.T, y))
    assert len(calls) == 1
    branch_and_bound(make(X if factor else X @ X.T, y), max_nodes=5)
    assert len(calls) == 2


def test_branch_and_bound_can_be_interrupted(rng):
    calls = []

    def interrupt(share):
        calls.append(share)
        if len(calls) == 20:
            raise KeyboardInterrupt

    problem = PartitionProblem.from_factor(rng.normal(size=(80, 20)), np.zeros(80))
    result = branch_and_bound(problem, progress=interrupt)
    assert "interrupted" in result.stop_reason
    assert result.gap > 0


@pytest.mark.parametrize("search", [local_search, evolve, tabu_search])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_certificates_for_what_searches_find(search, n_classes):
    problem = random_problem(3, n=9, n_classes=n_classes)
    result = search(problem, start="random", random_state=0)
    assert result.gap is None
    certified = certify(problem, result)
    best, _ = reference.exhaustive(problem)
    assert certified.lower_bound <= best + 1e-12
    assert_close(certified.gap, result.objective - certified.lower_bound, scale=1)
    assert_array_equal(certified.y, result.y)
    # A better bound is kept.
    assert certify(problem, certified, "spectral").lower_bound == certified.lower_bound
    with pytest.raises(ValueError, match="method='sdp' is unknown"):
        certify(problem, result, "sdp")


def test_relaxation_of_nothing():
    for u in (0, 3):
        form = SignForm(np.zeros((u, 2)), np.zeros(2), 0, u)
        assert Relaxation(form).bound == 0.0


def test_shifted_forms_bound_better(rng):
    X = rng.normal(size=(10, 6)) * [3, 2, 1.5, 1, 0.5, 0.2]
    problem = PartitionProblem.from_factor(X, np.zeros(10), alpha=0.5)
    Y = slow.completions(np.zeros(10, dtype=int))
    S = problem.constant - problem.objectives_of(((Y + 1) / 2).astype(np.intp))
    totals = []
    for shift in (False, True):
        form = sign_form(problem, 2, shift=shift)
        values = ((form.offset + Y @ form.B) ** 2).sum(axis=1)
        assert np.all(values + form.rest >= S - 1e-12)
        totals.append(values.max() + form.rest)
    assert totals[1] < totals[0]


def test_solve_by_name(rng):
    X = rng.normal(size=(60, 3))
    small = PartitionProblem.from_factor(X, np.zeros(60))
    assert solve(small).solver == "exact"
    kernel = PartitionProblem.from_kernel(X @ X.T, np.zeros(60))
    assert solve(kernel, random_state=0).solver == "local_search"
    few = PartitionProblem.from_kernel(np.exp(X[:30] @ X[:30].T), np.zeros(30))
    assert solve(few).stop_reason == "optimum proven"
    wide = PartitionProblem.from_factor(rng.normal(size=(60, 30)), np.zeros(60))
    assert solve(wide, random_state=0).solver == "local_search"
    assert solve(wide, "evolve", certify=True, random_state=0).gap > 0
    assert solve(wide, "branch_and_bound", time_limit=0.1).gap > 0
    three = random_problem(0, n_classes=3)
    assert solve(three, random_state=0).solver == "local_search"
    with pytest.raises(ValueError, match="solver='annealing' is unknown"):
        solve(small, "annealing")
