"""What solvers claim to have proven, against all partitions in exact arithmetic."""

# SPDX-License-Identifier: BSD-3-Clause

import itertools
from dataclasses import replace

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
    verify,
)
from fewlabels.partition import _claims as claims
from fewlabels.partition import _zonotope as zonotope
from fewlabels.partition._balance import size_bounds
from fewlabels.partition._verify import MAX_POINTS
from tests.helpers import assert_close
from tests.partition.problems import dependent_rows, random_problem, with_bounds
from tests.reference import partition as reference

KINDS = ("general", "shifted", "grid", "copies", "dependent")

# Columns of which only one counts, and rounding errors of the others.
ONE_LINE = [[-0.5, 1, -0.5], [1.1, -2.2, 1.1], [0.8, -1.6, 0.8], [-0.6, 1.2, -0.6]]


def small_problem(seed, n_free, rank, kind, n_labeled, n_dependent=2):
    """A problem without bounds."""
    rng = np.random.default_rng([seed, n_free, rank, n_dependent])
    n = n_free + n_labeled
    Z = rng.integers(-8, 9, size=(n, rank)) / 4.0
    if kind == "shifted":
        Z += 3.0
    elif kind == "grid":
        Z = np.sign(Z)
    elif kind == "copies":
        Z[rng.permutation(n)[: n // 2]] = Z[0]
    elif kind == "dependent":
        Z = dependent_rows(rng, n, rank, n_dependent)
    y = np.zeros(n)
    y[:n_labeled] = rng.choice([-1, 1], size=n_labeled)
    Z[:n_labeled] *= rng.choice([0.125, 1.0])  # labels that decide little, or much
    return PartitionProblem.from_factor(Z, y, alpha=0.1)


def bounded_problems(problem):
    """The problem with all bounds on the number of positive free points."""
    for lower in range(problem.free.size + 1):
        for upper in range(lower, problem.free.size + 1):
            yield with_bounds(problem, lower, upper)


def check_all_bounds(problem, solver=solve_exact):
    for bounded in bounded_problems(problem):
        result = solver(bounded)
        verification = verify(bounded, result)
        assert verification.refuted == ()
        assert_close(result.objective, float(verification.optimum), scale=1)
        assert result.gap <= 1e-7


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n_labeled", [0, 2])
@pytest.mark.parametrize("rank", [1, 2, 3, 4])
def test_every_bound_on_the_sizes(rank, n_labeled, kind):
    sizes = {1: 7, 2: 6, 3: 5, 4: 4}
    for n_free in range(1, sizes[rank] + 1):
        check_all_bounds(small_problem(0, n_free, rank, kind, n_labeled))


@pytest.mark.parametrize("n_dependent", [0, 1, 2, 3])
@pytest.mark.parametrize("rank", [1, 2, 3, 4, 5])
def test_every_bound_with_dependent_columns(rank, n_dependent):
    for n_labeled in (0, 1, 3):
        problem = small_problem(1, 4, rank, "dependent", n_labeled, n_dependent)
        check_all_bounds(problem)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n_labeled", [0, 1, 2])
@pytest.mark.parametrize("rank", [1, 2, 3, 4, 5])
def test_every_bound_on_the_sizes_of_up_to_ten_points(rank, n_labeled, kind, seed):
    for n_free in range(1, 11):
        problem = small_problem(seed, n_free, rank, kind, n_labeled, n_dependent=seed)
        check_all_bounds(problem)
        if n_free <= 6:
            check_all_bounds(problem, branch_and_bound)


def test_one_dimension_and_one_sided_bounds():
    """Neither end of the line is admitted by itself: 1..u and 0..u-1, with labels."""
    for seed in range(60):
        problem = small_problem(seed, 2 + seed % 6, 1, KINDS[seed % 5], 2)
        u = problem.free.size
        for lower, upper in ((1, u), (0, u - 1)):
            bounded = with_bounds(problem, lower, upper)
            for result in (solve_exact(bounded), solve(bounded)):
                assert verify(bounded, result).holds
                assert result.gap <= 1e-7


@pytest.mark.parametrize("kind", KINDS)
def test_truncated_ranks_bound_the_whole_problem(kind):
    for rank in (2, 3, 4):
        for bounded in bounded_problems(small_problem(0, 5, rank, kind, 2)):
            for cut in range(1, rank + 1):
                assert verify(bounded, solve_exact(bounded, cut)).holds


def test_dimensions_of_rounding_errors():
    """No cell was found around dimensions that are none, and yet all were claimed."""
    problem = PartitionProblem.from_factor(ONE_LINE, [1, 0, 0, 0], alpha=1e-3)
    result = solve_exact(problem)
    assert verify(problem, result).holds
    assert result.gap < 1e-9
    assert_close(result.objective, branch_and_bound(problem).objective, scale=1)
    assert lower_bound(problem, "truncated") <= result.objective


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
        found = branch_and_bound(problem, n_init=1)
        heuristic = local_search(problem, "random", random_state=0)
        for method in ("spectral", "truncated", "dual", "best"):
            bound = lower_bound(problem, method)
            assert verify(problem, replace(heuristic, lower_bound=bound)).holds
        for result in (found, certify(problem, heuristic), solve_exact(problem)):
            assert verify(problem, result).holds
        if found.stop_reason == "optimum proven":
            assert found.gap <= 1e-6 * found.objective
        else:
            assert "rounding errors" in found.stop_reason
            undecided += 1
    if exponent <= -12:
        assert undecided > 0
    if exponent >= -2:
        assert undecided == 0


class TestClaims:
    """Nothing is claimed that the search itself, or a cheap one, can refute."""

    @pytest.fixture
    def problem(self, rng):
        return PartitionProblem.from_factor(rng.normal(size=(9, 4)), np.zeros(9))

    def test_a_search_that_misses_the_optimum_is_caught(self, problem, monkeypatch):
        monkeypatch.setattr(
            zonotope.Search, "run", lambda self: np.ones(self.form.n_free)
        )
        with pytest.warns(RuntimeWarning, match="refuted.*please report"):
            result = solve_exact(problem)
        assert result.stop_reason == claims.REFUTED
        assert result.lower_bound is None
        assert result.objective < problem.objective(np.ones(9))
        assert result.objective == problem.objective(result.y)

    def test_a_bound_that_is_too_high_is_caught(self, problem, monkeypatch):
        found = local_search(problem, "random", random_state=0)
        monkeypatch.setattr(
            "fewlabels.partition._bounds.lower_bound",
            lambda problem, method: found.objective * 1.001,
        )
        with pytest.warns(RuntimeWarning, match="refuted"):
            result = certify(problem, found)
        assert result.lower_bound is None
        assert result.objective == found.objective

    def test_a_tree_that_closes_too_early_is_caught(self, problem, monkeypatch):
        worst = np.where(np.arange(9) < 4, 1, -1)
        monkeypatch.setattr(
            "fewlabels.partition._branch.local_search",
            lambda *args: replace(local_search(*args), y=worst),
        )
        monkeypatch.setattr(
            "fewlabels.partition._branch._Tree.search",
            lambda self, *args: self._closed(),
        )
        with pytest.warns(RuntimeWarning, match="refuted"):
            result = branch_and_bound(problem)
        assert result.lower_bound is None
        assert "internal error" in result.stop_reason

    @pytest.mark.parametrize("flat", [True, False])
    def test_a_search_without_cells_claims_nothing(self, flat, rng, monkeypatch):
        """Rows on a line that were taken for rows in space, and a plane too few."""
        Z = rng.normal(size=(6, 3))
        if flat:
            monkeypatch.setattr("fewlabels.partition._signs.FLAT", 0.0)
            Z = np.outer(rng.normal(size=6), [1.0, 1 / 3, 0.7])
        else:
            monkeypatch.setattr(zonotope, "count_planes", lambda m, d: (m + 1, m + 1))
        problem = PartitionProblem.from_factor(Z, np.zeros(6), alpha=1e-3)
        if not flat:
            assert lower_bound(problem, "truncated") == 0.0
        with pytest.warns(RuntimeWarning, match="cells"):
            result = solve_exact(problem)
        assert result.stop_reason == claims.INCOMPLETE
        assert result.lower_bound is None

    def test_planes_are_counted(self, rng):
        """In general position, and for a pencil with a few others."""
        for m, d in ((5, 3), (7, 4), (8, 5)):
            pencil = np.zeros((m, d))
            pencil[: m - d + 2, :2] = rng.normal(size=(m - d + 2, 2))
            pencil[m - d + 2 :, 2:] = np.eye(d - 2)
            flats = {
                frozenset(np.flatnonzero(in_span(pencil, subset)))
                for subset in subsets(m, d - 2)
                if np.linalg.matrix_rank(pencil[subset]) == d - 2
            }
            assert zonotope.count_planes(m, d)[0] == len(flats)
            assert zonotope.count_planes(m, d)[1] == len(subsets(m, d - 2))


def subsets(m, size):
    """List all sets of `size` of m rows."""
    return [list(chosen) for chosen in itertools.combinations(range(m), size)]


def in_span(rows, subset):
    """Which rows depend on some of them."""
    rank = np.linalg.matrix_rank(rows[subset])
    return [
        np.linalg.matrix_rank(np.vstack([rows[subset], row])) == rank for row in rows
    ]


class TestVerify:
    @pytest.mark.parametrize("factor", [True, False])
    @pytest.mark.parametrize("n_classes", [2, 3])
    def test_the_optimum_is_that_of_least_squares(self, n_classes, factor):
        for n_labeled in (0, 2, 6):
            problem = random_problem(
                n_labeled, n=6, n_classes=n_classes, n_labeled=n_labeled, factor=factor
            )
            result = local_search(problem, "random", random_state=0)
            verification = verify(problem, result)
            best = reference.exhaustive(problem)[0]
            assert_close(float(verification.optimum), best, scale=1)
            assert problem.objective(verification.y) <= best + 1e-12
            Z = random_problem(n_labeled, n=6, n_classes=n_classes, n_labeled=n_labeled)
            K = Z.system.Z @ Z.system.Z.T
            for y, value in (
                (result.y, verification.objective),
                (verification.y, verification.optimum),
            ):
                known = problem.codes >= 0
                expected = reference.objective(K, y, n_classes, known, 0.1, 0.7)
                assert_close(float(value), expected, scale=1, factor=1e4)

    def test_a_path_has_the_same_optimum(self):
        problem = random_problem(0, n=7)
        (other,) = problem.path([0.1])
        found = [verify(p, solve_exact(p)) for p in (problem, other)]
        assert found[0].optimum == found[1].optimum
        assert found[0].holds
        assert found[1].holds

    def test_false_claims_are_refuted(self):
        problem = random_problem(0, n=8, n_labeled=2, balanced=True)
        result = solve_exact(problem)
        assert verify(problem, result).refuted == ()
        objective, other = result.objective, result.y.copy()
        free = problem.free[result.y[problem.free] == 0]
        other[free] = 1
        higher = np.nextafter(float(verify(problem, result).optimum), 1) + 1e-15
        for wrong, refuted in (
            ({"lower_bound": higher}, ("lower_bound",)),
            ({"objective": objective + 1e-9, "lower_bound": 0.0}, ("objective",)),
            ({"y": other, "lower_bound": None}, ("sizes", "objective")),
        ):
            assert verify(problem, replace(result, **wrong)).refuted == refuted
        swapped = result.y.copy()
        one, two = (problem.free[result.y[problem.free] == c][0] for c in (0, 1))
        swapped[[one, two]] = 1, 0
        worse = problem.objective(swapped)
        wrong = replace(result, y=swapped, objective=worse, lower_bound=worse)
        assert verify(problem, wrong).refuted == ("lower_bound", "optimum")
        wrong = replace(wrong, lower_bound=None, stop_reason="optimum proven")
        assert verify(problem, wrong).refuted == ("optimum",)

    @pytest.mark.parametrize(("n", "n_labeled"), [(20, 0), (MAX_POINTS + 1, 40)])
    def test_large_problems_are_refused(self, n, n_labeled):
        problem = random_problem(0, n=n, n_labeled=n_labeled)
        with pytest.raises(ValueError, match="too many for exact arithmetic"):
            verify(problem, local_search(problem, "random"))


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
