"""Gradient descent."""

# SPDX-License-Identifier: BSD-3-Clause

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fewlabels._line_search import line_search
from fewlabels._params import check_choice, check_number
from fewlabels.optimize._finite_sum_problem import FiniteSumProblem
from fewlabels.optimize._optimization_result import (
    Monitor,
    OptimizationResult,
    start_point,
)
from fewlabels.optimize._penalties import soft_threshold
from fewlabels.optimize._problems import CompositeProblem, QuadraticProblem

# Problems with a formula for the best step.
_KNOWN = (QuadraticProblem, FiniteSumProblem)

# How often a step may be halved before the search for one is given up.
_MAX_HALVINGS = 60


def gradient_descent(
    problem: CompositeProblem,
    x0: ArrayLike | None = None,
    *,
    step: float | str | None = None,
    max_iter: int = 1000,
    tol: float = 1e-6,
) -> OptimizationResult:
    r"""Descend along the full gradient.

    .. math::
        w \leftarrow \operatorname{prox}_{a h_1}
        \big( w - a \, (\nabla f(w) + \nabla h_2(w)) \big)

    where :math:`h_1` are the absolute values in the penalty and :math:`h_2` its
    squares. Without the former this is steepest descent, with them the proximal
    gradient method. With a step of 1 / L, :math:`F(w_k) - F^* \le
    \frac{L}{2k} \|w_0 - w^*\|^2`; where F is strongly convex with constant
    :math:`\mu`, the error shrinks by :math:`1 - \mu / L` or faster per step.

    Parameters
    ----------
    problem : CompositeProblem
        What to minimise; :class:`SmoothProblem` takes functions of your own.
    x0 : array-like of shape (n_features,), default=None
        Where to start; None for zero.
    step : float, "exact" or "backtracking", default=None
        Length a of the steps: fixed; the best one along every direction, for quadratic
        problems and squared or squared hinge losses without absolute values in the
        penalty; halved until a quadratic bound holds; None for 1 / L, or backtracking
        where L is not known.
    max_iter : int, default=1000
        Largest number of steps.
    tol : float, default=1e-6
        Stop when the violation of the condition of a minimiser is this share of the
        largest component of the gradient of f at zero; 0 for never.

    Returns
    -------
    result : OptimizationResult
        The minimiser and its history, one record per step.

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.optimize import QuadraticProblem, gradient_descent
    >>> result = gradient_descent(QuadraticProblem(np.diag([1.0, 4.0]), [1.0, 4.0]))
    >>> np.round(result.x, 4), result.stop_reason
    (array([1., 1.]), 'converged')
    """
    w = start_point(x0, problem.n_features)
    problem.require_smooth("gradient_descent")
    if step is None and problem.lipschitz is None:
        step = "backtracking"
    if step == "exact":
        _check_exact(problem)
    elif isinstance(step, str):
        check_choice("step", step, ("exact", "backtracking"))
    elif step is not None:
        check_number("step", step, above=0)
    if step is None:
        L = (problem.lipschitz or 0.0) + float(np.max(problem.l2, initial=0.0))
        step = 1.0 / L if L > 0 else 1.0
    length = 1.0 if isinstance(step, str) else float(step)

    monitor = Monitor(problem, "gradient_descent", tol, max_iter)
    gradient = problem.gradient(w)
    done = monitor.record(w, 0.0, violation=problem.penalty.violation(w, gradient))
    while not done:
        d = gradient + problem.l2 * w
        if step == "exact" and isinstance(problem, _KNOWN):
            length = _exact_step(problem, w, d)
        elif step == "backtracking":
            length = _backtrack(problem, w, d, 2.0 * length)
        w = soft_threshold(w - length * d, length * problem.l1)
        gradient = problem.gradient(w)
        done = monitor.record(
            w,
            monitor.n_iter + 1.0,
            violation=problem.penalty.violation(w, gradient),
            stationary=length == 0.0,
        )
    return monitor.result(w)


def _check_exact(problem: CompositeProblem) -> None:
    known = isinstance(problem, QuadraticProblem) or (
        isinstance(problem, FiniteSumProblem)
        and problem.loss.name in ("squared", "squared_hinge")
    )
    if not known or np.any(problem.l1 > 0):
        raise ValueError(
            "step='exact' is for quadratic problems and for squared or squared hinge "
            "losses, without absolute values in the penalty: use 'backtracking'."
        )


def _exact_step(
    problem: QuadraticProblem | FiniteSumProblem, w: NDArray[Any], d: NDArray[Any]
) -> float:
    """Minimise F(w - s d) over s."""
    if isinstance(problem, QuadraticProblem):
        curvature = float(d @ (problem.A @ d) + problem.l2 @ d**2)
        return float(d @ d) / curvature if curvature > 0 else 0.0
    hinge = problem.loss.name == "squared_hinge"
    # Scaled so that the losses are 1/2 max(m - s v, 0)^2.
    scale = problem.n_samples / (2.0 if hinge else 1.0)
    z, v = problem.outputs(w), -problem.outputs(d)
    margins = 1 - problem.y * z if hinge else problem.y - z
    rates = problem.y * v if hinge else v
    steps, _ = line_search(
        margins[:, None],
        rates[:, None],
        np.array([-scale * float(d @ (problem.l2 * w))]),
        np.array([scale * float(problem.l2 @ d**2)]),
        hinge=hinge,
    )
    return float(steps[0])


def _backtrack(
    problem: CompositeProblem, w: NDArray[Any], d: NDArray[Any], length: float
) -> float:
    """Halve a step until the quadratic bound of the smooth part holds."""

    def smooth(x: NDArray[Any]) -> float:
        return problem.smooth_value(x) + 0.5 * float(problem.l2 @ x**2)

    here = smooth(w)
    rounding = np.finfo(np.float64).eps * abs(here)
    for _ in range(_MAX_HALVINGS):
        with np.errstate(all="ignore"):
            move = soft_threshold(w - length * d, length * problem.l1) - w
            bound = here + float(d @ move) + float(move @ move) / (2 * length)
            there = smooth(w + move)
        if there <= bound + rounding:
            return length
        length *= 0.5
    return 0.0
