"""Global optimum of the partition problem at low rank."""

# SPDX-License-Identifier: BSD-3-Clause

from dataclasses import replace
from time import perf_counter

import numpy as np

from fewlabels._progress import Progress
from fewlabels.partition._claims import INCOMPLETE, checked, withdrawn
from fewlabels.partition._partition_result import PartitionResult
from fewlabels.partition._problem import PartitionProblem
from fewlabels.partition._signs import rounding, sign_form, with_signs
from fewlabels.partition._zonotope import MAX_VERTICES, Search


def solve_exact(
    problem: PartitionProblem,
    n_components: int | None = None,
    *,
    max_vertices: float = MAX_VERTICES,
    n_jobs: int | None = None,
    progress: Progress = "auto",
) -> PartitionResult:
    r"""Find the global optimum of a two-class problem of low rank.

    With a factor Q = B B' of rank r, rows b of B for the free points and the
    contribution p0 of the labelled points,

    .. math::
        \max_{y} \; S(y) = \Bigl\| p_0 + \sum_i y_i b_i \Bigr\|^2

    is attained at a vertex of a zonotope [1]_, which is at
    :math:`y = \operatorname{sign}(B w)` for some direction w. All vertices are visited:
    by one sort for r = 2, in O(n log n), and otherwise by one sort for each of the
    planes in which r - 2 of the hyperplanes :math:`b_i^\top w = 0` meet, in
    :math:`O(n^{r-1} (\log n + 2^r))`. With bounds on the class sizes the optimum is at
    :math:`y = \operatorname{sign}(B w - \tau)`, the same problem in one more dimension;
    this is solved only if the optimum without bounds violates them.

    Parameters
    ----------
    problem : PartitionProblem
        A problem of two classes, with or without labelled points and bounds.
    n_components : int, default=None
        Solve in this many leading dimensions only. The partition is then optimal for
        the truncated problem; `objective` and `lower_bound` are those of the full one.
    max_vertices : float, default=1e9
        Refuse to visit more vertices than this; see :func:`count_zonotope_vertices`.
    n_jobs : int, default=None
        Threads; None means 1, -1 all cores. The result does not depend on it, except
        for which of several optima is found.
    progress : "auto", bool or callable, default="auto"
        A line on the terminal if the work takes more than two seconds, always or never;
        or a function of the share that is done.

    Returns
    -------
    result : PartitionResult
        The optimum, with a `lower_bound` that is below `objective` only by rounding
        errors, unless dimensions were cut off. A keyboard interrupt returns the best
        partition so far, without a bound. If a local search from the optimum finds
        anything better, there is a warning, `stop_reason` says "internal error", and
        there is no bound.

    See Also
    --------
    branch_and_bound : Exact at any rank, if time allows.
    enumerate_zonotope_vertices : The sign vectors themselves.
    verify : Check the result of a small problem in exact arithmetic.

    References
    ----------
    .. [1] F. Gieseke, T. Pahikkala, C. Igel, "Polynomial runtime bounds for
       fixed-rank unsupervised least-squares classification", ACML (2013).

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.partition import PartitionProblem, solve_exact
    >>> rng = np.random.default_rng(0)
    >>> X = np.r_[rng.normal(-2, 1, (50, 2)), rng.normal(2, 1, (50, 2))]
    >>> problem = PartitionProblem.from_factor(X - X.mean(axis=0), np.zeros(100))
    >>> result = solve_exact(problem)
    >>> bool(result.gap < 1e-12)
    True
    >>> int(np.sum(result.y == result.y[0]))
    50
    """
    clock = perf_counter()
    form = sign_form(problem, n_components)
    prepared = perf_counter()
    search = Search(form, max_vertices, n_jobs, progress)
    y = search.run()
    codes = with_signs(problem, y)
    fit = float(problem.fits_of(codes[None])[0])
    bound = problem.constant - max(search.bound(y), fit) - rounding(problem)
    result = PartitionResult(
        y=problem.decode(codes),
        objective=problem.constant - fit,
        history=np.array([problem.constant - fit]),
        solver="exact",
        n_trials=search.n_cells,
        n_flips=0,
        n_swaps=0,
        objectives=np.array([problem.constant - fit]),
        seconds={"prepare": prepared - clock, "start": 0.0},
        stop_reason="all vertices visited",
        representation="factor",
        lower_bound=max(bound, 0.0) if np.isfinite(bound) else None,
    )
    result = checked(problem, result, improve=n_components is None)
    if search.interrupted:
        result = replace(result, stop_reason="interrupted: the best partition so far")
    elif search.incomplete:
        result = withdrawn(result, INCOMPLETE)
    result.seconds["search"] = perf_counter() - prepared
    return result
