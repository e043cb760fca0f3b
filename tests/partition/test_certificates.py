"""What solvers claim to have proven, against all partitions and exact arithmetic."""

# SPDX-License-Identifier: BSD-3-Clause

from copy import copy

import numpy as np
import pytest

from fewlabels.partition import (
    PartitionProblem,
    branch_and_bound,
    certify,
    local_search,
    lower_bound,
    solve,
    solve_exact,
)
from fewlabels.partition._balance import SizeBounds, size_bounds
from fewlabels.partition._signs import rounding
from tests.reference import rational

KINDS = ("general", "shifted", "grid", "copies")


def small_problem(seed, n_free, rank, kind, n_labeled):
    """A problem without bounds whose kernel matrix has no rounding errors."""
    rng = np.random.default_rng([seed, n_free, rank])
    n = n_free + n_labeled
    Z = rng.integers(-8, 9, size=(n, rank)) / 4.0
    if kind == "shifted":
        Z += 3.0
    elif kind == "grid":
        Z = np.sign(Z)
    elif kind == "copies":
        Z[rng.permutation(n)[: n // 2]] = Z[0]
    y = np.zeros(n)
    y[:n_labeled] = rng.choice([-1, 1], size=n_labeled)
    Z[:n_labeled] *= rng.choice([0.125, 1.0])  # labels that decide little, or much
    return PartitionProblem.from_factor(Z, y, alpha=0.1)


def with_bounds(problem, lower, upper):
    """The problem with bounds on the number of positive free points."""
    u = problem.free.size
    bounded = copy(problem)
    bounded.bounds = SizeBounds(
        np.array([u - upper, lower]), np.array([u - lower, upper])
    )
    return bounded


def check_all_bounds(seed, n_free, rank, kind, n_labeled, solver=solve_exact):
    problem = small_problem(seed, n_free, rank, kind, n_labeled)
    codes = rational.partitions(problem)
    positive = codes[:, problem.free].sum(axis=1)
    values = problem.objectives_of(codes)
    for lower in range(n_free + 1):
        for upper in range(lower, n_free + 1):
            bounded = with_bounds(problem, lower, upper)
            best = values[(lower <= positive) & (positive <= upper)].min()
            result = solver(bounded)
            found = bounded.check_partition(result.y)[problem.free].sum()
            assert lower <= found <= upper
            assert abs(result.objective - best) <= 1e-12
            assert best - 1e-7 <= result.lower_bound <= best


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n_labeled", [0, 2])
@pytest.mark.parametrize("rank", [1, 2, 3, 4])
def test_every_bound_on_the_sizes(rank, n_labeled, kind):
    sizes = {1: 9, 2: 7, 3: 6, 4: 5}
    for n_free in range(1, sizes[rank] + 1):
        check_all_bounds(0, n_free, rank, kind, n_labeled)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n_labeled", [0, 1, 2])
@pytest.mark.parametrize("rank", [1, 2, 3, 4])
def test_every_bound_on_the_sizes_of_up_to_ten_points(rank, n_labeled, kind, seed):
    for n_free in range(1, 11):
        check_all_bounds(seed, n_free, rank, kind, n_labeled)
        if n_free <= 6:
            check_all_bounds(seed, n_free, rank, kind, n_labeled, branch_and_bound)


def test_one_dimension_and_one_sided_bounds():
    """Neither end of the line is admitted by itself: 1..u and 0..u-1, with labels."""
    for seed in range(60):
        problem = small_problem(seed, 2 + seed % 6, 1, KINDS[seed % 4], 2)
        u = problem.free.size
        for lower, upper in ((1, u), (0, u - 1)):
            bounded = with_bounds(problem, lower, upper)
            best = bounded.objectives_of(rational.partitions(bounded)).min()
            for result in (solve_exact(bounded), solve(bounded)):
                assert abs(result.objective - best) <= 1e-12
                assert result.lower_bound <= best


@pytest.mark.parametrize("kind", KINDS)
def test_truncated_ranks_bound_the_whole_problem(kind):
    for rank in (2, 3, 4):
        problem = small_problem(0, 5, rank, kind, 2)
        exact = rational.gram(problem.system.Z)
        codes = rational.partitions(problem)
        values = rational.objectives(exact, problem, codes)
        positive = codes[:, problem.free].sum(axis=1)
        for lower in range(6):
            for upper in range(lower, 6):
                admitted = (lower <= positive) & (positive <= upper)
                best = min(np.array(values, dtype=object)[admitted])
                for cut in range(1, rank + 1):
                    result = solve_exact(with_bounds(problem, lower, upper), cut)
                    assert result.lower_bound <= best


@pytest.mark.parametrize("factor", [True, False])
@pytest.mark.parametrize("exponent", range(-14, 1, 2))
def test_no_certificate_claims_more_than_rounding_allows(exponent, factor):
    """Every bound is below the optimum in exact arithmetic, and proofs are true."""
    undecided = 0
    for seed in range(8):
        rng = np.random.default_rng([seed, -exponent])
        n, rank = rng.integers(2, 8), rng.integers(1, 9)
        Z = rng.integers(-4, 5, size=(n, rank)).astype(float)
        y = np.zeros(n)
        y[0] = seed % 3 == 1
        params = {"alpha": 10.0**exponent}
        if seed % 2:
            params |= {"balance": rng.random(), "balance_tol": 0.2}
        make = PartitionProblem.from_factor if factor else PartitionProblem.from_kernel
        problem = make(Z if factor else Z @ Z.T, y, **params)
        exact, codes = rational.gram(Z), rational.partitions(problem)
        values = rational.objectives(exact, problem, codes)
        best = min(values)
        for method in ("spectral", "truncated", "dual", "best"):
            assert lower_bound(problem, method) <= best
        found = branch_and_bound(problem, n_init=1)
        heuristic = certify(problem, local_search(problem, "random", random_state=0))
        for result in (found, heuristic, solve_exact(problem)):
            assert result.lower_bound <= best
            at = np.flatnonzero((codes == problem.check_partition(result.y)).all(1))[0]
            assert abs(float(values[at]) - result.objective) <= rounding(problem)
            if result.gap <= 1e-6 * result.objective:
                assert values[at] <= best * (1 + 2e-6)
        if found.stop_reason == "optimum proven":
            assert found.gap <= 1e-6 * found.objective
        else:
            assert "rounding errors" in found.stop_reason
            undecided += 1
    if exponent <= -12:
        assert undecided > 0
    if exponent >= -2:
        assert undecided == 0


def test_sizes_keep_to_every_bound():
    """Two classes: neither loses its least size to the bounds of the other."""
    for n in (2, 5, 20):
        for share in (0.0, 0.3, 0.5, 0.7, 1.0):
            for tol in (0.0, 0.1, 0.5, 1.0):
                shares = np.array([1 - share, share])
                smallest = min(round(n * share), n - round(n * share))
                bounds = size_bounds(shares, tol, n, 2, min(smallest, 1))
                assert bounds.lower.min() >= min(smallest, 1)
                assert np.array_equal(bounds.lower + bounds.upper[::-1], [n, n])
    bounds = size_bounds(np.array([0.5, 0.3, 0.2]), 0.4, 20, 3, 2)
    for c in range(3):  # every bound is attained
        others = np.delete(bounds.lower, c).sum(), np.delete(bounds.upper, c).sum()
        assert bounds.upper[c] <= 20 - others[0]
        assert bounds.lower[c] >= 20 - others[1]
