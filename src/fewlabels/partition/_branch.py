"""Branch and bound for the partition problem of two classes."""

# SPDX-License-Identifier: BSD-3-Clause

import heapq
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewlabels._progress import Progress, ProgressLine
from fewlabels.partition._bounds import Relaxation, lower_bound
from fewlabels.partition._claims import checked
from fewlabels.partition._partition_result import PartitionResult
from fewlabels.partition._problem import PartitionProblem
from fewlabels.partition._search import local_search
from fewlabels.partition._signs import SignForm, rounding, sign_form, with_signs
from fewlabels.partition._systems import Array

# A bound this close to the best value, as a share of it, differs only by rounding.
RELATIVE_TOL = 4e-12

# F and its lower bound must agree to this many digits for a proof; if rounding errors
# are larger, nothing is proven.
PROVEN_TOL = 1e-6
PROVEN = "optimum proven"
UNDECIDED = "nothing better beyond rounding errors: scale the rows or raise alpha"

# Rounds and sweeps of the relaxation at every node but the first.
NODE_ROUNDS = 4
NODE_SWEEPS = 5


@dataclass(order=True, frozen=True)
class _Node:
    """An open node of the tree: largest bound first, then the oldest."""

    negative_bound: float
    number: int
    fixed: NDArray[np.int8] = field(compare=False)
    branch: int = field(compare=False)


def branch_and_bound(
    problem: PartitionProblem,
    time_limit: float | None = 60.0,
    gap: float = 0.0,
    *,
    max_nodes: int | None = None,
    n_init: int = 20,
    random_state: Any = 0,
    n_jobs: int | None = None,
    progress: Progress = "auto",
) -> PartitionResult:
    r"""Find the optimum of a two-class problem of any rank, with a proof.

    The search starts from the best of several local searches. A node of the tree fixes
    the signs of some points. It is closed if the dual bound of :func:`lower_bound`,
    recomputed for the fixed signs, shows that no partition below it is better than the
    best one so far. Open nodes are processed in the order of their bounds, so that the
    largest of them bounds all partitions at any time.

    Parameters
    ----------
    problem : PartitionProblem
        A problem of two classes, with or without labelled points and bounds.
    time_limit : float, default=60.0
        Seconds after which the best partition so far is returned; None for no limit.
        The eigenvalues of the problem, the local search and the current round of the
        first bound are always completed.
    gap : float, default=0.0
        Stop when F is at most this share of F above its lower bound.
    max_nodes : int, default=None
        Stop after this many nodes; unlike a time limit, this gives the same result on
        any machine.
    n_init : int, default=20
        Number of runs of the initial local search.
    random_state : None, int, RandomState or Generator, default=0
        Seed of the local search; the tree search is deterministic.
    n_jobs : int, default=None
        Threads for the local search.
    progress : "auto", bool or callable, default="auto"
        A line on the terminal if the work takes more than two seconds, always or never;
        or a function of the share of the first gap that is closed.

    Returns
    -------
    result : PartitionResult
        The best partition, with `lower_bound` and `gap`; `n_trials` counts nodes and
        `history` holds F of every partition that was the best so far. A keyboard
        interrupt returns the current state of the search. `stop_reason` is "optimum
        proven" only if `gap` is below a millionth of F: with a tiny `alpha`, rounding
        errors hide which partition is best, and it says so.

    See Also
    --------
    solve_exact : By enumeration, for low ranks.

    References
    ----------
    .. [1] F. Rendl, G. Rinaldi, A. Wiegele, "Solving max-cut to optimality by
       intersecting semidefinite and polyhedral relaxations", Mathematical Programming
       121 (2010). :doi:`10.1007/s10107-008-0235-8`
    .. [2] P.-W. Wang, W.-C. Chang, J. Z. Kolter, "The mixing method: low-rank
       coordinate descent for semidefinite programming with diagonal constraints"
       (2017). :doi:`10.48550/arXiv.1706.00476`

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.partition import PartitionProblem, branch_and_bound
    >>> X = np.random.default_rng(0).normal(size=(40, 10))
    >>> problem = PartitionProblem.from_factor(X, np.zeros(40))
    >>> result = branch_and_bound(problem)
    >>> result.stop_reason
    'optimum proven'
    >>> bool(result.gap < 1e-9)
    True
    """
    if gap < 0:
        raise ValueError(f"gap must not be negative, got {gap}.")
    clock = perf_counter()
    form = sign_form(problem)
    prepared = perf_counter()
    first = local_search(
        problem,
        "supervised" if problem.labeled.size else "random",
        n_init,
        random_state,
        n_jobs,
    )
    started = perf_counter()
    y = np.where(problem.check_partition(first.y)[problem.free] > 0, 1.0, -1.0)
    deadline = np.inf if time_limit is None else clock + time_limit
    tree = _Tree(form, problem, y, gap, deadline)
    stop_reason = tree.search(max_nodes, progress)
    codes = with_signs(problem, tree.y)
    objective = problem.objective(problem.decode(codes))
    history = np.minimum.accumulate(np.append(tree.history, objective))
    bound = problem.constant - tree.bound - rounding(problem)
    result = PartitionResult(
        y=problem.decode(codes),
        objective=objective,
        history=history,
        solver="branch_and_bound",
        n_trials=tree.n_nodes,
        n_flips=first.n_flips,
        n_swaps=first.n_swaps,
        objectives=np.array([objective]),
        seconds={"prepare": prepared - clock, "start": started - prepared},
        stop_reason=stop_reason,
        representation="factor",
        lower_bound=max(bound, 0.0),
    )
    result = checked(problem, result, improve=True)
    result.seconds["search"] = perf_counter() - started
    doubt = result.gap or 0.0
    if result.stop_reason == PROVEN and doubt > PROVEN_TOL * objective:
        return replace(result, stop_reason=UNDECIDED)
    return result


class _Tree:
    """Open nodes, the best signs so far, and the bound on all others."""

    def __init__(
        self,
        form: SignForm,
        problem: PartitionProblem,
        y: Array,
        gap: float,
        deadline: float,
    ) -> None:
        self.form, self.constant, self.gap = form, problem.constant, gap
        self.y, self.value = y, form.value(y) + form.rest
        self.history = [self.constant - self.value]
        self.n_nodes = 0
        self.deadline = deadline
        self.root = Relaxation(form, deadline)
        # The bound on all partitions, never worse than that of the root.
        self.bound = min(
            self.root.bound, problem.constant - lower_bound(problem, "spectral")
        )

    @property
    def target(self) -> float:
        """Largest bound that closes a node."""
        spare = max(self.gap * (self.constant - self.value), 0.0)
        return self.value + spare + RELATIVE_TOL * abs(self.value)

    def search(self, max_nodes: int | None, progress: Progress) -> str:
        """Grow the tree until it is closed or a limit is reached; return which."""
        if self.bound <= self.target:
            return self._closed()
        if perf_counter() > self.deadline:
            return "time_limit reached"
        first_gap = self.bound - self.value
        heap: list[_Node] = []
        fixed = np.zeros(self.form.n_free, dtype=np.int8)
        if self._symmetric and fixed.size:  # every partition and its opposite
            fixed[np.argmax(np.einsum("ij,ij->i", self.form.B, self.form.B))] = 1
        with ProgressLine(progress, "branch and bound") as line:
            try:
                self._add(heap, fixed)
                while heap and -heap[0].negative_bound > self.target:
                    self.bound = min(self.bound, -heap[0].negative_bound)
                    if perf_counter() > self.deadline:
                        return "time_limit reached"
                    if max_nodes is not None and self.n_nodes >= max_nodes:
                        return "max_nodes reached"
                    open_gap = self.bound - self.value
                    objective = self.constant - self.value
                    line.update(
                        1.0 - min(open_gap / first_gap, 1.0),
                        f"F = {objective:.6g}, gap {open_gap:.3g}, {len(heap)} open",
                    )
                    node = heapq.heappop(heap)
                    try:
                        for sign in (1, -1):
                            child = node.fixed.copy()
                            child[node.branch] = sign
                            self._add(heap, child)
                    except KeyboardInterrupt:
                        self.bound = min(self.bound, -node.negative_bound)
                        raise
            except KeyboardInterrupt:
                return "interrupted: the best partition so far"
        return self._closed()

    def _closed(self) -> str:
        self.bound = min(self.bound, self.target)
        return PROVEN if self.gap == 0 else "gap reached"

    @property
    def _symmetric(self) -> bool:
        form = self.form
        return not form.offset.any() and form.lower == form.n_free - form.upper

    def _add(self, heap: list[_Node], fixed: NDArray[np.int8]) -> None:
        """Bound a node, try the signs it suggests and keep it if it stays open."""
        from fewlabels._loops.bounds import bound_node

        form = self.form
        bound, branch, y, value = bound_node(
            form.B,
            form.offset,
            fixed,
            form.lower,
            form.upper,
            self.root.nu,
            self.root.V,
            self.target - form.rest,
            NODE_ROUNDS,
            NODE_SWEEPS,
        )
        self.n_nodes += 1
        if value + form.rest > self.value * (1 + 1e-14):
            self.value, self.y = value + form.rest, y
            self.history.append(self.constant - self.value)
        # No part of the tree has a larger bound than the whole.
        bound = min(bound + form.rest, self.bound)
        if branch >= 0 and bound > self.target:
            heapq.heappush(heap, _Node(-bound, self.n_nodes, fixed, int(branch)))
