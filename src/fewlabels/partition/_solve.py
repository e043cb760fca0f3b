"""One entry point for all solvers of the partition problem."""

# SPDX-License-Identifier: BSD-3-Clause

import math
from collections.abc import Callable
from typing import Any

from numpy.typing import ArrayLike

from fewlabels._backend import Backend
from fewlabels.partition._bounds import certify as add_bound
from fewlabels.partition._branch import branch_and_bound
from fewlabels.partition._exact import solve_exact
from fewlabels.partition._partition_result import PartitionResult
from fewlabels.partition._problem import PartitionProblem
from fewlabels.partition._search import evolve, local_search, tabu_search
from fewlabels.partition._zonotope import sizes_matter

HEURISTICS: dict[str, Callable[..., PartitionResult]] = {
    "local_search": local_search,
    "evolve": evolve,
    "tabu_search": tabu_search,
}
SOLVERS = ("auto", *HEURISTICS, "exact", "branch_and_bound")

# Partitions that the exact solver tries in about a second on one core.
PARTITIONS_PER_SECOND = 1e8


# Points, and nodes, for which branch and bound ends within a second.
FEW_POINTS = 40
FEW_NODES = 2000


def solve(
    problem: PartitionProblem,
    solver: str = "auto",
    *,
    start: str | ArrayLike = "exact",
    n_init: int = 10,
    random_state: Any = None,
    n_jobs: int | None = None,
    time_limit: float | None = 60.0,
    certify: bool = False,
    device: str | Backend | None = None,
) -> PartitionResult:
    """Solve a partition problem with a solver chosen by name.

    Parameters
    ----------
    problem : PartitionProblem
        The problem.
    solver : str, default="auto"
        "local_search", "evolve", "tabu_search", "exact" or "branch_and_bound". "auto"
        takes, for two classes, the exact solver where rank and number of points allow
        it in about a second, or up to 2000 nodes of branch and bound for up to 40
        points; and the local search otherwise.
    start : {"exact", "supervised", "random"} or array-like, default="exact"
        Where the first run of a heuristic starts; see :func:`local_search`. For more
        than two classes "exact" means "random".
    n_init : int, default=10
        Number of runs of a heuristic, all but the first from random partitions.
    random_state : None, int, RandomState or Generator, default=None
        Seed.
    n_jobs : int, default=None
        Threads.
    time_limit : float, default=60.0
        Seconds for branch and bound; None for no limit.
    certify : bool, default=False
        Whether to compute a lower bound for the result of a heuristic.
    device : {"cpu", "cuda"} or None, default=None
        Where "local_search" runs, see there; the other solvers use the CPU.

    Returns
    -------
    result : PartitionResult
        The result; its `solver` tells which solver was used.

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.partition import PartitionProblem, solve
    >>> X = np.array([[-2.0], [-1.5], [-1.0], [1.0], [1.5], [2.0]])
    >>> solve(PartitionProblem.from_factor(X, [-1, 0, 0, 0, 0, 1], alpha=0.1)).solver
    'exact'
    """
    if solver not in SOLVERS:
        raise ValueError(f"solver={solver!r} is unknown; use one of {list(SOLVERS)}.")
    max_nodes = None
    if solver == "auto":
        if _takes_a_second(problem):
            solver = "exact"
        elif problem.n_classes == 2 and problem.free.size <= FEW_POINTS:
            solver, max_nodes = "branch_and_bound", FEW_NODES
        else:
            solver = "local_search"
    if solver == "exact":
        return solve_exact(problem, n_jobs=n_jobs)
    if solver == "branch_and_bound":
        seed = 0 if random_state is None else random_state
        return branch_and_bound(
            problem,
            time_limit,
            max_nodes=max_nodes,
            n_init=n_init,
            random_state=seed,
            n_jobs=n_jobs,
        )
    if isinstance(start, str) and start == "exact" and problem.n_classes > 2:
        start = "random"
    where = {"device": device} if solver == "local_search" else {}
    result = HEURISTICS[solver](
        problem,
        start=start,
        n_init=n_init,
        random_state=random_state,
        n_jobs=n_jobs,
        **where,
    )
    return add_bound(problem, result) if certify else result


def _takes_a_second(problem: PartitionProblem) -> bool:
    """Whether the exact solver takes about a second, by the rank of the factor."""
    B = problem.system.B
    if problem.n_classes != 2 or B is None:
        return False
    # Bounds cost a dimension, unless they only exclude empty classes.
    u, rank = problem.free.size, B.shape[1] + sizes_matter(problem)
    pivots = max(min(rank, u) - 2, 0)
    cells = math.comb(u, pivots) * u * (1 if problem.labeled.size == 0 else 2)
    return cells * 2**pivots <= PARTITIONS_PER_SECOND
