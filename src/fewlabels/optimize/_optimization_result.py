"""The record that all optimisers return, and how it is filled in."""

# SPDX-License-Identifier: BSD-3-Clause

from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fewlabels._params import check_number
from fewlabels._result import SolverResult
from fewlabels.exceptions import warn_not_converged
from fewlabels.optimize._problems import CompositeProblem


@dataclass(frozen=True, eq=False, kw_only=True)
class OptimizationResult(SolverResult):
    """A minimiser and how it was found.

    Attributes
    ----------
    x : ndarray
        The minimiser.
    objective : float
        What was minimised, at `x`.
    n_iter : int
        Iterations: passes over the data for stochastic and coordinate methods.
    converged : bool
        Whether the stopping rule was met.
    stop_reason : {"converged", "max_iter", "stationary", "diverged"}
        Why the solver stopped.
    solver : str
        Name of the solver.
    history : dict of str to ndarray
        One entry per record, the start first: "objective", "passes" (work so far, in
        gradients of all rows or all coordinates), "seconds" (time so far, without what
        the records cost) and, where it is known, "violation" of the condition of a
        minimiser.
    last : ndarray
        The last iterate, where `x` is an average.
    """

    x: NDArray[Any]
    objective: float
    n_iter: int
    converged: bool
    stop_reason: str
    solver: str
    history: dict[str, NDArray[np.float64]]
    last: NDArray[Any] | None = None


class Monitor:
    """Keep the history of a solver and decide when it is done.

    Parameters
    ----------
    problem : CompositeProblem
        What is minimised.
    solver : str
        Name of the solver.
    tol : float
        Stop when the violation is this share of the problem's scale; 0 for never.
    max_iter : int
        Largest number of iterations.
    """

    def __init__(
        self, problem: CompositeProblem, solver: str, tol: float, max_iter: int
    ) -> None:
        check_number("tol", tol, 0)
        check_number("max_iter", max_iter, 0)
        self.problem, self.solver = problem, solver
        self.tol, self.max_iter = tol, max_iter
        self.target = tol * problem.scale
        self.n_iter = -1  # the first record is the start
        self.reason = ""
        self._lines: list[tuple[float, float, float, float]] = []
        self._seconds = 0.0
        self._since = perf_counter()

    def record(
        self,
        x: NDArray[Any],
        passes: float,
        *,
        value: float | None = None,
        violation: float | None = None,
        exact: bool = True,
        stationary: bool = False,
    ) -> bool:
        """Record an iterate, and tell whether to stop.

        Parameters
        ----------
        x : ndarray of shape (n_features,)
            The point.
        passes : float
            Work so far.
        value : float, default=None
            The objective, if the solver knows it; else it is computed.
        violation : float, default=None
            The violation, if the solver knows it; else it is computed.
        exact : bool, default=True
            Whether a violation that the solver gives is that of x; if not, the solver
            must not stop because of it.
        stationary : bool, default=False
            Whether the point hardly moves, and the solver may stop for that.

        Returns
        -------
        done : bool
            Whether the solver should stop.
        """
        self._seconds += perf_counter() - self._since
        with np.errstate(all="ignore"):
            if value is None and violation is None:
                value, violation = self.problem.inspect(x)
            if value is None:
                value = self.problem.value(x)
            if violation is None:
                violation = self.problem.violation(x)
        self.n_iter += 1
        self._lines.append((value, passes, self._seconds, violation))
        if not np.isfinite(value):
            self.reason = "diverged"
        elif exact and violation <= self.target and (self.tol > 0 or violation == 0):
            self.reason = "converged"
        elif stationary:
            self.reason = "stationary"
        elif self.n_iter >= self.max_iter:
            self.reason = "max_iter"
        self._since = perf_counter()
        return bool(self.reason)

    def result(
        self, x: NDArray[Any], last: NDArray[Any] | None = None, advice: str = ""
    ) -> OptimizationResult:
        """Close the record, with a warning if the solver did not converge."""
        columns = np.array(self._lines).T
        if self.reason == "diverged":
            warn_not_converged(
                f"{self.solver} diverged: use a smaller step, or scale the features.",
                stacklevel=4,
            )
        elif self.reason == "max_iter" and self.tol > 0:
            warn_not_converged(
                f"{self.solver} made max_iter={self.max_iter} iterations without "
                f"meeting tol={self.tol:g} (violation {columns[3, -1]:.3g}, needed "
                f"{self.target:.3g}): raise max_iter or tol{advice}.",
                stacklevel=4,
            )
        names = ("objective", "passes", "seconds", "violation")
        return OptimizationResult(
            x=x,
            objective=float(columns[0, -1]),
            n_iter=self.n_iter,
            converged=self.reason in ("converged", "stationary"),
            stop_reason=self.reason,
            solver=self.solver,
            history=dict(zip(names, columns, strict=True)),
            last=last,
        )


def start_point(x0: ArrayLike | None, n_features: int) -> NDArray[np.float64]:
    """Copy the starting point, or make one of zeros."""
    if x0 is None:
        return np.zeros(n_features)
    x = np.array(x0, dtype=np.float64)
    if x.shape != (n_features,):
        raise ValueError(f"x0 has shape {x.shape}, but ({n_features},) is needed.")
    if not np.all(np.isfinite(x)):
        raise ValueError("x0 holds NaN or infinity.")
    return x
