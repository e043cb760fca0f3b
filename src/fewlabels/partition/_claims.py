"""Check a solver's proven bound by a search that could refute it."""

# SPDX-License-Identifier: BSD-3-Clause

import warnings
from dataclasses import replace

import numpy as np

from fewlabels.partition._partition_result import PartitionResult
from fewlabels.partition._problem import PartitionProblem
from fewlabels.partition._search import polish
from fewlabels.partition._signs import rounding

REFUTED = "internal error: a local search has refuted the lower bound"
INCOMPLETE = "internal error: not all cells can have been visited"


def checked(
    problem: PartitionProblem, result: PartitionResult, *, improve: bool
) -> PartitionResult:
    """Search from a result, and withdraw its bound if a better partition is found.

    Parameters
    ----------
    problem : PartitionProblem
        The problem.
    result : PartitionResult
        A result; its bound may exceed its objective.
    improve : bool
        Whether the partition may be replaced by a better one.

    Returns
    -------
    result : PartitionResult
        The result, with a bound of at most its objective; or, after a warning, without
        a bound and with a `stop_reason` that says why.
    """
    codes = problem.check_partition(result.y)
    found, bound, least = polish(problem, codes), result.lower_bound, result.objective
    if not np.array_equal(found, codes):
        objective = float(problem.objectives_of(found[None])[0])
        if improve and objective < least:
            result = replace(
                result,
                y=problem.decode(found),
                objective=objective,
                objectives=np.array([objective]),
                history=np.append(result.history, objective),
            )
        least = min(least, objective)
    if bound is None:
        return result
    if least < bound and least < bound - rounding(problem):
        return withdrawn(result, REFUTED)
    return replace(result, lower_bound=min(bound, result.objective))


def withdrawn(result: PartitionResult, reason: str) -> PartitionResult:
    """Return a result without a bound, and warn."""
    warnings.warn(
        f"{reason}. The partition is returned without a bound; please report this, "
        "with the problem.",
        RuntimeWarning,
        stacklevel=4,
    )
    return replace(result, lower_bound=None, stop_reason=reason)
