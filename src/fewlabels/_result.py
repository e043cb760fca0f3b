"""Base class of the results of all solvers."""

# SPDX-License-Identifier: BSD-3-Clause

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False, kw_only=True)
class SolverResult:
    """The result of a solver: its objective, history and reason for stopping.

    Every solver returns a subclass, which adds the solution.

    Attributes
    ----------
    objective : float or ndarray of shape (n_targets,)
        The objective at the solution.
    history : ndarray or dict of str to ndarray
        The objective per record, or several quantities by name, including "objective";
        records are rows.
    stop_reason : str
        Why the solver stopped.
    """

    objective: Any
    history: Any
    stop_reason: str

    @property
    def trace(self) -> NDArray[np.float64]:
        """The objective at every record, summed over targets, for plotting."""
        history = self.history
        seen = np.asarray(
            history["objective"] if isinstance(history, dict) else history
        )
        return seen.reshape(seen.shape[0], -1).sum(axis=1)
