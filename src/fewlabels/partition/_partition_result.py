"""Result of the solvers of the partition problem."""

# SPDX-License-Identifier: BSD-3-Clause

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewlabels._result import SolverResult


@dataclass(frozen=True, eq=False, kw_only=True)
class PartitionResult(SolverResult):
    """A partition and how it was found.

    Attributes
    ----------
    y : ndarray of shape (n_samples,)
        The partition, in the convention of the problem: -1 and +1, or class indices.
    objective : float
        F(y), to be minimised; recomputed from `y`.
    history : ndarray of shape (n_changes + 1,)
        F of the best run, at the start and after every improvement.
    solver : str
        Name of the solver.
    n_trials : int
        Over all runs: points tried (local search), children (evolution), steps (tabu
        search), cells (exact) or nodes (branch and bound).
    n_flips : int
        Number of changes of class, over all runs.
    n_swaps : int
        Number of pairs that exchanged classes, over all runs.
    objectives : ndarray of shape (n_runs,)
        F at the end of every run.
    seconds : dict of str to float
        Time spent in each phase: "prepare", "start" and "search".
    stop_reason : str
        Why the best run ended.
    representation : {"dense", "factor"}
        How gains were computed.
    lower_bound : float or None
        A proven lower bound on F, if one was asked for.
    """

    y: NDArray[Any]
    objective: float
    history: NDArray[np.float64]
    solver: str
    n_trials: int
    n_flips: int
    n_swaps: int
    objectives: NDArray[np.float64]
    seconds: dict[str, float]
    stop_reason: str
    representation: str
    lower_bound: float | None = None

    @property
    def gap(self) -> float | None:
        """Largest possible distance of `objective` from the optimum, if bounded."""
        if self.lower_bound is None:
            return None
        return max(self.objective - self.lower_bound, 0.0)
