"""Basis pursuit and the constrained forms of the lasso, exactly, along its path."""

# SPDX-License-Identifier: BSD-3-Clause

import warnings

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import linprog
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import lars_path

from fewlabels.regression._base import check_problem
from fewlabels.regression._penalized import check_penalty

# Violation of the optimality conditions, relative to max |A' y|, that is worth a word.
SLACK = 1e-6


def basis_pursuit(A: ArrayLike, y: ArrayLike) -> NDArray[np.float64]:
    r"""Find the solution of linear equations with the least sum of absolute values.

    .. math:: \min_x \|x\|_1 \quad \text{subject to} \quad A x = y

    It is a linear programme, for :math:`x = u - v` with :math:`u, v \ge 0`, and solved
    as one.

    Parameters
    ----------
    A : array-like of shape (n_samples, n_features)
        The matrix.
    y : array-like of shape (n_samples,)
        The right-hand side.

    Returns
    -------
    x : ndarray of shape (n_features,)
        The solution; one of them where there are several.

    Raises
    ------
    ValueError
        If no x satisfies the equations.

    See Also
    --------
    basis_pursuit_denoising : For equations that hold up to an error.

    References
    ----------
    .. [1] S. S. Chen, D. L. Donoho and M. A. Saunders, "Atomic decomposition by basis
       pursuit", SIAM Rev. 43 (2001). :doi:`10.1137/S003614450037906X`

    Examples
    --------
    >>> from fewlabels.regression import basis_pursuit
    >>> basis_pursuit([[1.0, 2.0, 0.0], [0.0, 2.0, 1.0]], [2.0, 2.0])
    array([0., 1., 0.])
    """
    A, y = check_problem(A, y)
    scale = float(np.abs(y).max()) or 1.0
    result = linprog(np.ones(2 * A.shape[1]), A_eq=np.hstack([A, -A]), b_eq=y / scale)
    if result.x is None:
        raise ValueError(
            f"No x satisfies A x = y ({result.message}) Use basis_pursuit_denoising, "
            "which allows for an error."
        )
    u, v = np.split(result.x, 2)
    return scale * (u - v)


def basis_pursuit_denoising(
    A: ArrayLike, y: ArrayLike, eps: float
) -> NDArray[np.float64]:
    r"""Find the vector with the least sum of absolute values that fits to an error.

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
        the result is not optimal.

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
    check_penalty("eps", eps, 0, strict=False)
    knots = _knots(A, y)
    residuals = y[:, None] - A @ knots
    errors = np.einsum("ij,ij->j", residuals, residuals)
    after = int(np.argmax(errors <= eps))
    if errors[after] > eps:
        if errors[-1] > eps + 1e-12 * float(y @ y):
            raise ValueError(
                f"eps={eps:.6g} is below {errors[-1]:.6g}, the squared error of least "
                "squares: no x fits that well."
            )
        after = errors.size - 1
    if after == 0 or errors[after] > eps:
        return _checked(A, y, knots[:, after])
    # |r + s (q - r)|^2 = eps for the share s of the way from one knot to the next.
    r, change = residuals[:, after - 1], residuals[:, after] - residuals[:, after - 1]
    a, b, c = change @ change, r @ change, errors[after - 1] - eps
    # The smaller root of a s^2 + 2 b s + c, with b < 0, without cancellation.
    share = c / (-b + np.sqrt(max(b * b - a * c, 0.0)))
    return _checked(A, y, _between(knots, after, share))


def l1_constrained_least_squares(
    A: ArrayLike, y: ArrayLike, radius: float
) -> NDArray[np.float64]:
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
        the result is not optimal.

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
    check_penalty("radius", radius, 0, strict=False)
    knots = _knots(A, y)
    norms = np.abs(knots).sum(axis=0)
    if norms[-1] <= radius:
        return _checked(A, y, knots[:, -1])  # the bound does not bind
    after = int(np.argmax(norms > radius))
    share = (radius - norms[after - 1]) / (norms[after] - norms[after - 1])
    return _checked(A, y, _between(knots, after, share))


def _knots(A: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.float64]:
    """Solutions of the lasso where its path bends, from zero to least squares."""
    with warnings.catch_warnings():
        # It speaks of columns that it leaves out; what comes out is checked below.
        warnings.simplefilter("ignore", ConvergenceWarning)
        return lars_path(A, y, method="lasso", max_iter=20 * sum(A.shape))[2]


def _between(
    knots: NDArray[np.float64], after: int, share: float
) -> NDArray[np.float64]:
    return knots[:, after - 1] + share * (knots[:, after] - knots[:, after - 1])


def _checked(
    A: NDArray[np.float64], y: NDArray[np.float64], x: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Warn where x is no solution of the lasso for any weight."""
    gradient = A.T @ (y - A @ x)
    tau = np.abs(gradient).max()
    off = np.abs(gradient - tau * np.sign(x))[x != 0].max(initial=0.0)
    scale = np.abs(A.T @ y).max()
    if off > SLACK * scale:
        warnings.warn(
            f"The path of the lasso broke down: optimality conditions are violated by "
            f"{off / scale:.2g} of max |A' y|. Drop columns that are nearly dependent, "
            "or use gpsr.",
            ConvergenceWarning,
            stacklevel=3,
        )
    return x
