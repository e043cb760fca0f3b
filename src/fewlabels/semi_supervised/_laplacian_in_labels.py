"""Supervised problems on the labelled rows, with a kernel deformed by a graph.

Every loss has a function that solves for as many unknowns as labels, given the deformed
kernel; add a new one to `IN_LABELS`.
"""

# SPDX-License-Identifier: BSD-3-Clause

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from sklearn.exceptions import ConvergenceWarning

from fewlabels._line_search import line_search
from fewlabels.semi_supervised._box_qp import box_qp
from fewlabels.semi_supervised._laplacian_problem import LaplacianProblem
from fewlabels.semi_supervised._rls import _eigh_in_complement, _left_out_residuals

# Relative progress of the objective below this is rounding.
_ROUNDING = 1e-13

_LOST = (
    "The loss is lost in the rounding errors of a kernel of this size: scale X, or "
    "raise alpha."
)


@dataclass(frozen=True, eq=False)
class DeformedKernel:
    r"""The deformed kernel of the labelled rows, for a problem with l unknowns.

    With multipliers c of the labelled rows, the outputs there are :math:`H c` (plus b,
    if the bias is free) and the regularisation terms add up to :math:`c^\top H c`.

    Attributes
    ----------
    H : ndarray of shape (n_labeled, n_labeled)
        The kernel, including the weights.
    free_bias : bool
        Whether there is also an unpenalised bias.
    expand : callable
        Turns c of shape (n_labeled, n_targets) into coefficients of `support` and the
        bias that the graph term determines.
    outputs : callable
        Turns those into functions on all rows.
    support : ndarray of int
        The rows with a coefficient.
    """

    H: NDArray[Any]
    free_bias: bool
    expand: Callable[[NDArray[Any]], tuple[NDArray[Any], NDArray[Any]]]
    outputs: Callable[[NDArray[Any], NDArray[Any]], NDArray[Any]]
    support: NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class InLabels:
    """Multipliers and bias of all columns, and how they were found."""

    c: NDArray[Any]
    b: NDArray[Any]
    n_iter: int = 1
    converged: bool = True
    stop_reason: str = "closed form"
    history: dict[str, NDArray[Any]] | None = None
    loo_outputs: NDArray[Any] | None = None
    log_evidence: float | None = None


def newton_in_labels(
    H: NDArray[Any],
    y: NDArray[Any],
    free_bias: bool,
    *,
    start: NDArray[np.bool_] | None = None,
    max_iter: int = 1000,
) -> tuple[NDArray[Any], float, NDArray[Any], bool]:
    r"""Newton's method for the squared hinge loss on the labelled rows.

    .. math::
        \min_{c, b} \tfrac12 \Big( \sum_i \max(1 - y_i f_i, 0)^2 + c^\top H c \Big),
        \qquad f = H c + b

    A step solves the least-squares problem of the current error set (rows short of the
    margin). If it does not decrease the objective, an exact line search shortens it.
    The solution is exact once the error set repeats.
    """
    errors = np.ones(y.size, dtype=bool) if start is None else start.copy()
    c, b = np.zeros(y.size), 0.0
    f = np.zeros(y.size)
    value = 0.5 * y.size
    history = [(value, float(errors.sum()))]
    for step in range(max_iter):
        c_new, b_new = _least_squares_on(H, y, errors, free_bias, b)
        f_new = H @ c_new + b_new
        value_new = _hinge_objective(c_new, f_new, f_new - b_new, y)
        shortened = value_new > value + _ROUNDING * abs(value) and (
            start is None or step > 0
        )
        if shortened:
            d, g = c_new - c, f_new - f
            Hd = g - (b_new - b)
            s = line_search(
                (1.0 - y * f)[:, None],
                (y * g)[:, None],
                np.array([c @ Hd]),
                np.array([d @ Hd]),
            )[0][0]
            c_new, b_new, f_new = c + s * d, b + s * (b_new - b), f + s * g
            value_new = _hinge_objective(c_new, f_new, f_new - b_new, y)
        stalled = abs(value - value_new) <= _ROUNDING * max(abs(value), 1e-300)
        c, b, f, value = c_new, b_new, f_new, value_new
        after = y * f < 1.0
        history.append((value, float(after.sum())))
        if not shortened and (np.array_equal(after, errors) or stalled):
            return c, b, np.array(history), True
        if shortened and stalled:
            return c, b, np.array(history), True
        errors = after
    return c, b, np.array(history), False


def _least_squares_on(
    H: NDArray[Any], y: NDArray[Any], rows: NDArray[np.bool_], free_bias: bool, b: float
) -> tuple[NDArray[Any], float]:
    """Multipliers and bias for a given error set."""
    c = np.zeros(y.size)
    if not rows.any():
        return c, b  # nothing to fit: any bias will do, the last one too
    A = H[np.ix_(rows, rows)]
    A.flat[:: A.shape[0] + 1] += 1.0
    rhs = np.column_stack([y[rows], np.ones(A.shape[0])])
    try:
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always")
            P = linalg.solve(A, rhs, assume_a="sym", check_finite=False)
    except linalg.LinAlgError as error:
        raise ValueError(_LOST) from error
    if heard:
        warnings.warn(_LOST, ConvergenceWarning, stacklevel=2)
    bias = float(P[:, 0].sum() / P[:, 1].sum()) if free_bias else 0.0
    c[rows] = P[:, 0] - bias * P[:, 1]
    return c, bias


def _hinge_objective(
    c: NDArray[Any], f: NDArray[Any], Hc: NDArray[Any], y: NDArray[Any]
) -> float:
    return 0.5 * float(np.sum(np.maximum(1.0 - y * f, 0.0) ** 2) + c @ Hc)


def _squared_hinge(
    deformed: DeformedKernel,
    problem: LaplacianProblem,
    *,
    start: NDArray[Any] | None,
    max_iter: int,
    loo_ridge: float,
) -> InLabels:
    columns = []
    for k, y in enumerate(problem.targets.T):
        errors = None if start is None else y * start[:, k] < 1.0
        columns.append(
            newton_in_labels(
                deformed.H, y, deformed.free_bias, start=errors, max_iter=max_iter
            )
        )
    steps = max(len(h) for _, _, h, _ in columns)
    # Columns that have converged repeat their last entry.
    padded = [
        np.vstack([h, np.repeat(h[-1:], steps - len(h), axis=0)])
        for _, _, h, _ in columns
    ]
    converged = all(done for *_, done in columns)
    return InLabels(
        np.column_stack([c for c, *_ in columns]),
        np.array([b for _, b, *_ in columns]),
        n_iter=steps - 1,
        converged=converged,
        stop_reason="the error set repeats" if converged else "max_iter",
        history={
            "objective": np.column_stack([h[:, 0] for h in padded]),
            "n_errors": np.column_stack([h[:, 1] for h in padded]).astype(np.intp),
            "n_steps": np.array([[len(h) - 1 for _, _, h, _ in columns]]),
        },
    )


def _squared(
    deformed: DeformedKernel,
    problem: LaplacianProblem,
    *,
    start: NDArray[Any] | None,
    max_iter: int,
    loo_ridge: float,
) -> InLabels:
    return least_squares_in_labels(
        deformed.H, problem.targets, deformed.free_bias, loo_ridge=loo_ridge
    )


def least_squares_in_labels(
    H: NDArray[Any], Y: NDArray[Any], free_bias: bool, *, loo_ridge: float = 1.0
) -> InLabels:
    r"""Least squares on the labelled rows, with leave-one-out outputs and evidence.

    .. math:: \min_{c, b} \tfrac12 \big( \|Y - H c - b\|^2 + c^\top H c \big)

    The evidence is that of :math:`y \sim N(b, s^2 (H + I))` at the best scale s, column
    by column, with a free b integrated out (restricted likelihood).
    """
    n_labeled, n_targets = Y.shape
    e, U = _eigh_in_complement(H, np.ones(n_labeled) if free_bias else None)
    T = U.T @ Y
    c = U @ (T / (e + 1.0)[:, None])
    b = (Y - H @ c).mean(axis=0) if free_bias else np.zeros(n_targets)
    loo = np.full_like(Y, np.nan)
    if n_labeled > 1:
        loo = Y - _left_out_residuals(U, T, e, np.full((n_labeled, 1), loo_ridge))
    evidence = None
    if e.size:  # contrasts that are left once b is integrated out
        scales = np.mean(T**2 / (e + 1.0)[:, None], axis=0)
        with np.errstate(divide="ignore"):  # targets that a bias explains: no limit
            likelihoods = np.log(2 * np.pi * scales) + 1.0 + np.mean(np.log(e + 1.0))
        evidence = float(-0.5 * e.size * likelihoods.sum())
    return InLabels(c, b, loo_outputs=loo, log_evidence=evidence)


def _hinge(
    deformed: DeformedKernel,
    problem: LaplacianProblem,
    *,
    start: NDArray[Any] | None,
    max_iter: int,
    loo_ridge: float,
) -> InLabels:
    columns = [
        hinge_in_labels(deformed.H, y, deformed.free_bias, max_iter=max_iter)
        for y in problem.targets.T
    ]
    converged = all(done for *_, done in columns)
    return InLabels(
        np.column_stack([c for c, *_ in columns]),
        np.array([b for _, b, *_ in columns]),
        n_iter=max(n_iter for _, _, n_iter, _ in columns),
        converged=converged,
        stop_reason="the duality gap is closed" if converged else "max_iter",
    )


def hinge_in_labels(
    H: NDArray[Any],
    y: NDArray[Any],
    free_bias: bool,
    *,
    tol: float = 1e-8,
    max_iter: int = 1000,
) -> tuple[NDArray[Any], float, int, bool]:
    r"""Hinge loss on the labelled rows, by an interior-point method for the dual.

    libsvm, which scikit-learn calls, holds kernels in single precision.

    .. math:: \min_{c, b} \tfrac12 \Big( \sum_i \max(1 - y_i f_i, 0) + c^\top H c \Big)

    Parameters
    ----------
    H : ndarray of shape (n_labeled, n_labeled)
        The deformed kernel.
    y : ndarray of shape (n_labeled,)
        Targets -1 and 1.
    free_bias : bool
        Whether there is a bias.
    tol : float, default=1e-8
        Tolerance of the optimality conditions, in units of the margin.
    max_iter : int, default=1000
        Largest number of steps.

    Returns
    -------
    c : ndarray of shape (n_labeled,)
        The multipliers, :math:`0 \le y_i c_i \le 1/2`.
    b : float
        The bias.
    n_iter : int
        Steps of the solver.
    converged : bool
        Whether the tolerance was reached.
    """
    if free_bias and np.ptp(y) == 0:
        # A constant fits a single class.
        return np.zeros(y.size), float(y[0]), 0, True
    a, b, n_iter, converged = box_qp(
        y[:, None] * H * y, 0.5, y if free_bias else None, tol=tol, max_iter=max_iter
    )
    return a * y, b, n_iter, converged


IN_LABELS: dict[str, Callable[..., InLabels]] = {
    "squared_hinge": _squared_hinge,
    "squared": _squared,
    "hinge": _hinge,
}
