"""The constrained forms of the lasso, exactly, along its path."""

# SPDX-License-Identifier: BSD-3-Clause

import warnings
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike
from scipy import linalg
from scipy.optimize import brentq
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import lars_path

from fewlabels._params import check_number
from fewlabels.exceptions import warn_not_converged
from fewlabels.regression._linear_regressor import Floats, check_problem
from fewlabels.regression._separable_penalties import bridge_regression

# Violation of the optimality conditions, relative to max |A' y|, above which to warn.
SLACK = 1e-6


def basis_pursuit_denoising(A: ArrayLike, y: ArrayLike, eps: float) -> Floats:
    r"""Find the vector with the least sum of absolute values that fits within an error.

    .. math:: \min_x \|x\|_1 \quad \text{subject to} \quad \|y - A x\|^2 \le \epsilon

    For the right :math:`\tau` it is the solution of the lasso. Solutions are straight
    between the knots of the lasso's path, so that the error is a parabola there: one
    square root finds the point where it is :math:`\epsilon`.

    Parameters
    ----------
    A : array-like of shape (n_samples, n_features)
        The matrix.
    y : array-like of shape (n_samples,)
        The targets.
    eps : float
        The squared error :math:`\epsilon \ge 0` that is allowed.

    Returns
    -------
    x : ndarray of shape (n_features,)
        The solution.

    Raises
    ------
    ValueError
        If least squares has a larger error.

    Warns
    -----
    ConvergenceWarning
        If the path breaks down, as it may with columns that are nearly dependent, and
        a search for the weight by coordinate descent does not converge either.

    See Also
    --------
    l1_constrained_least_squares : The least error for a given sum.
    gpsr : The form with a weight, for large problems.

    References
    ----------
    .. [1] S. S. Chen, D. L. Donoho and M. A. Saunders, "Atomic decomposition by basis
       pursuit", SIAM Rev. 43 (2001). :doi:`10.1137/S003614450037906X`

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.regression import basis_pursuit_denoising
    >>> basis_pursuit_denoising(np.eye(2), [3.0, 1.0], eps=2.0)
    array([2., 0.])
    """
    A, y = check_problem(A, y)
    check_number("eps", eps, 0)
    knots = _knots(A, y)

    def missing(x: Floats) -> float:
        r = y - A @ x
        return float(r @ r) - eps

    residuals = y[:, None] - A @ knots
    errors = np.einsum("ij,ij->j", residuals, residuals)
    rounding = 1e-12 * float(y @ y)
    after = int(np.argmax(errors <= eps))
    if errors[after] > eps:  # nowhere on the path, which should end in least squares
        least = missing(linalg.lstsq(A, y, check_finite=False)[0]) + eps
        if least > eps + rounding:
            raise ValueError(
                f"eps={eps:.6g} is below {least:.6g}, the squared error of least "
                "squares: no x fits that well."
            )
        if errors[-1] > eps + rounding:
            return _by_weight(A, y, missing)
        return _checked(A, y, knots[:, -1], missing)
    if after == 0:
        return np.zeros(A.shape[1])
    # |r + s (q - r)|^2 = eps for the share s of the way from one knot to the next.
    r, change = residuals[:, after - 1], residuals[:, after] - residuals[:, after - 1]
    a, b, c = change @ change, r @ change, errors[after - 1] - eps
    # The smaller root of a s^2 + 2 b s + c, with b < 0, without cancellation.
    share = c / (-b + np.sqrt(max(b * b - a * c, 0.0)))
    return _checked(A, y, _between(knots, after, share), missing)


def l1_constrained_least_squares(A: ArrayLike, y: ArrayLike, radius: float) -> Floats:
    r"""Minimise the squared error under a bound on the sum of absolute values.

    .. math:: \min_x \|y - A x\|^2 \quad \text{subject to} \quad \|x\|_1 \le r

    This is the lasso as it was first written. The sum grows in a straight line between
    the knots of its path: the solution is found by interpolation.

    Parameters
    ----------
    A : array-like of shape (n_samples, n_features)
        The matrix.
    y : array-like of shape (n_samples,)
        The targets.
    radius : float
        The bound :math:`r \ge 0`.

    Returns
    -------
    x : ndarray of shape (n_features,)
        The solution.

    Warns
    -----
    ConvergenceWarning
        If the path breaks down, as it may with columns that are nearly dependent, and
        a search for the weight by coordinate descent does not converge either.

    See Also
    --------
    basis_pursuit_denoising : The least sum for a given error.

    References
    ----------
    .. [1] R. Tibshirani, "Regression shrinkage and selection via the lasso", J. R.
       Stat. Soc. B 58 (1996). :doi:`10.1111/j.2517-6161.1996.tb02080.x`

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.regression import l1_constrained_least_squares
    >>> l1_constrained_least_squares(np.eye(2), [3.0, 1.0], radius=3.0)
    array([2.5, 0.5])
    """
    A, y = check_problem(A, y)
    check_number("radius", radius, 0)
    knots = _knots(A, y)
    norms = np.abs(knots).sum(axis=0)

    def missing(x: Floats) -> float:
        return radius - float(np.abs(x).sum())

    if norms[-1] <= radius:
        # The bound does not bind: the path must have reached least squares.
        gradient = A.T @ (y - A @ knots[:, -1])
        if np.abs(gradient).max() > SLACK * np.abs(A.T @ y).max():
            return _by_weight(A, y, missing)
        return knots[:, -1]
    after = int(np.argmax(norms > radius))
    share = (radius - norms[after - 1]) / (norms[after] - norms[after - 1])
    return _checked(A, y, _between(knots, after, share), missing)


def _knots(A: Floats, y: Floats) -> Floats:
    """Solutions of the lasso where its path bends, from zero to least squares."""
    with warnings.catch_warnings():
        # It warns of columns that it drops; the result is checked below.
        warnings.simplefilter("ignore", ConvergenceWarning)
        return lars_path(A, y, method="lasso", max_iter=20 * sum(A.shape))[2]


def _between(knots: Floats, after: int, share: float) -> Floats:
    return knots[:, after - 1] + share * (knots[:, after] - knots[:, after - 1])


def _violation(A: Floats, y: Floats, x: Floats) -> float:
    """How far x is from a solution of the lasso for any weight; 0 to 2 or so."""
    gradient = A.T @ (y - A @ x)
    tau = np.abs(gradient).max()
    off = np.abs(gradient - tau * np.sign(x))[x != 0].max(initial=0.0)
    scale = np.abs(A.T @ y).max()
    return float(off / scale) if scale > 0 else 0.0


def _checked(
    A: Floats, y: Floats, x: Floats, missing: Callable[[Floats], float]
) -> Floats:
    """Return x if it is optimal; ties between columns may lead the path astray."""
    return x if _violation(A, y, x) <= SLACK else _by_weight(A, y, missing)


def _by_weight(A: Floats, y: Floats, missing: Callable[[Floats], float]) -> Floats:
    """Search for the weight at which the lasso meets the bound."""

    def solution(tau: float) -> Floats:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            return bridge_regression(A, y, tau / y.size, 1.0, tol=1e-12).coef

    top = float(np.abs(A.T @ y).max())
    tau = 1e-10 * top
    if missing(solution(tau)) * missing(np.zeros(A.shape[1])) < 0:
        tau = brentq(lambda t: missing(solution(t)), tau, top, xtol=1e-14 * top)
    x = solution(tau)
    violation = _violation(A, y, x)
    if violation > SLACK:
        warn_not_converged(
            "The path of the lasso broke down, and coordinate descent did not "
            f"converge: optimality conditions are violated by {violation:.2g} of "
            "max |A' y|. Drop columns that are nearly dependent, or use gpsr.",
            stacklevel=4,
        )
    return x
