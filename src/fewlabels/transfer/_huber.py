"""Linear rules with the modified Huber loss, many tasks at once."""

# SPDX-License-Identifier: BSD-3-Clause

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import linalg, sparse
from scipy.optimize import minimize

from fewlabels._linalg import ROUNDING, thin_svd
from fewlabels.exceptions import warn_not_converged

# Up to this many operations, decompositions find the rules to all digits.
NEWTON_COST = 10_000_000


def modified_huber_loss(margin: ArrayLike) -> NDArray[np.float64]:
    r"""Evaluate a smooth loss that grows only linearly for rows far on the wrong side.

    .. math::
        L(m) = \begin{cases} \max(0, 1 - m)^2 & m \ge -1 \\ -4 m & m < -1 \end{cases}

    Parameters
    ----------
    margin : array-like
        The outputs times the labels in {-1, +1}.

    Returns
    -------
    loss : ndarray
        The loss of every entry.

    See Also
    --------
    sklearn.linear_model.SGDClassifier : Has the same loss, as "modified_huber".

    Examples
    --------
    >>> from fewlabels.transfer import modified_huber_loss
    >>> modified_huber_loss([2.0, 0.0, -1.0, -2.0])
    array([0., 1., 4., 8.])
    """
    m = np.asarray(margin, dtype=np.float64)
    return np.where(m >= -1, np.maximum(0, 1 - m) ** 2, -4 * m)


def _slope(margin: NDArray[Any]) -> NDArray[Any]:
    """Differentiate the loss."""
    return np.where(margin >= -1, -2 * np.maximum(0, 1 - margin), -4.0)


def unshared(U: NDArray[Any], theta: NDArray[Any] | None) -> NDArray[Any]:
    """Leave out the part of rules that lies in the shared subspace."""
    return U if theta is None else U - theta.T @ (theta @ U)


def fit_huber(
    X: Any,
    Y: NDArray[Any],
    alpha: float,
    *,
    theta: NDArray[Any] | None = None,
    start: tuple[NDArray[Any], NDArray[Any]] | None = None,
    fit_intercept: bool = True,
    tol: float = 1e-6,
    max_iter: int = 1000,
    warn: bool = True,
) -> tuple[NDArray[Any], NDArray[Any]]:
    r"""Learn a linear rule for every column of Y.

    It minimises the mean of :func:`modified_huber_loss` plus
    :math:`\alpha \|u - \Theta^\top \Theta u\|^2` over the rule u and its bias: in small
    problems by Newton's method, to all digits, and in large ones by L-BFGS.

    Parameters
    ----------
    X : {ndarray, sparse matrix} of shape (n_samples, n_features)
        Rows.
    Y : ndarray of shape (n_samples, n_tasks)
        Labels in {-1, +1}, a column for every task.
    alpha : float
        Regularisation.
    theta : ndarray of shape (n_components, n_features), default=None
        Orthonormal rows :math:`\Theta` that span what costs nothing; None for nothing.
    start : tuple of ndarray, default=None
        Coefficients and intercepts to start from.
    fit_intercept : bool, default=True
        Whether every task has a bias without regularisation.
    tol : float, default=1e-6
        Largest entry of the gradient at which to stop L-BFGS.
    max_iter : int, default=1000
        Largest number of steps.
    warn : bool, default=True
        Whether to warn if these did not suffice. If L-BFGS failed, it warns anyway.

    Returns
    -------
    coef : ndarray of shape (n_features, n_tasks)
        The minimisers u.
    intercept : ndarray of shape (n_tasks,)
        The biases.
    """
    n, k, p = X.shape[0], Y.shape[1], X.shape[1]
    U, b = (np.zeros((p, k)), np.zeros(k)) if start is None else start
    if (n + p) * (p + 1) ** 2 <= NEWTON_COST:
        dense = X.toarray() if sparse.issparse(X) else X
        # Rules lie in the span of rows and theta: in coordinates of the span, rounding
        # errors of far rows cannot lead out of it.
        span = _span(dense if theta is None else np.vstack([dense, theta]))
        own, start_at = unshared(span, theta), np.vstack([span.T @ U, b])
        coef, b = _newton_rules(
            dense @ span, Y, alpha, own, start_at, fit_intercept, max_iter, warn
        )
        return span @ coef, b

    def value_and_gradient(z: NDArray[Any]) -> tuple[float, NDArray[Any]]:
        U, b = z[: p * k].reshape(p, k), z[p * k :]
        margin = Y * (X @ U + b if fit_intercept else X @ U)
        G = Y * _slope(margin) / n
        own = unshared(U, theta)
        value = modified_huber_loss(margin).sum() / n + alpha * np.sum(own**2)
        gradient = X.T @ G + 2 * alpha * own
        bias = G.sum(axis=0) if fit_intercept else np.empty(0)
        return value, np.concatenate([gradient.ravel(), bias])

    z = np.concatenate([U.ravel(), b if fit_intercept else np.empty(0)])
    # The tasks do not depend on each other; together they share the products with X.
    result = minimize(
        value_and_gradient,
        z,
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": max_iter, "gtol": tol, "ftol": 0, "maxfun": 10 * max_iter},
    )
    out_of_steps = result.status == 1
    if (warn or not out_of_steps) and np.abs(result.jac).max(initial=0) > 100 * tol:
        warn_not_converged(
            f"The linear rules did not converge in {result.nit} steps of L-BFGS: scale "
            "the features, or raise alpha.",
            stacklevel=4,
        )
    b = result.x[p * k :] if fit_intercept else np.zeros(k)
    return result.x[: p * k].reshape(p, k), b


def _span(A: NDArray[Any]) -> NDArray[np.float64]:
    """Orthonormal columns that span the rows, near and far; all axes if they do."""
    p = A.shape[1]
    A = A.astype(np.float64)
    A /= np.abs(A).max(axis=1, initial=np.finfo(float).tiny)[:, None]
    basis: NDArray[np.float64] = thin_svd(A, eps=ROUNDING)[2].T
    return basis if basis.shape[1] < p else np.eye(p)


def _newton_rules(
    X: NDArray[Any],
    Y: NDArray[Any],
    alpha: float,
    own: NDArray[Any],
    start: NDArray[Any],
    fit_intercept: bool,
    max_iter: int,
    warn: bool,
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Learn the rules one by one; `own` projects on what costs something."""
    n, p = X.shape
    rows = np.column_stack([X, np.ones(n)]) if fit_intercept else X
    penalty = np.zeros((own.shape[0], rows.shape[1]))
    penalty[:, :p] = np.sqrt(alpha) * own
    rules = start[: rows.shape[1]].copy()
    finished = True
    for task in range(Y.shape[1]):
        rules[:, task], done = _newton_rule(
            rows * Y[:, [task]], penalty, rules[:, task], max_iter
        )
        finished &= done
    if warn and not finished:
        warn_not_converged(
            f"The linear rules did not converge in {max_iter} steps of Newton's "
            "method: scale the features, or raise alpha.",
            stacklevel=5,
        )
    return rules[:p], rules[p] if fit_intercept else np.zeros(Y.shape[1])


def _newton_rule(
    A: NDArray[Any], penalty: NDArray[Any], z: NDArray[Any], max_iter: int
) -> tuple[NDArray[Any], bool]:
    """Minimise the mean loss of the margins A z plus the squared norm of penalty z.

    Piece by piece this is a quadratic: each step goes towards the least point of the
    piece at hand, and ends where that point lies in its own piece.
    """
    n = A.shape[0]
    eps = float(np.finfo(np.float64).eps)
    for _ in range(max_iter):
        margin = A @ z
        # Rows at the end of a piece may belong to the next: else far rows block a step.
        rounding = 64 * eps * (np.abs(A) @ np.abs(z) + 1)
        for slack in (0.0, rounding, -rounding):
            linear = margin < -1 - slack
            curved = (margin < 1 + slack) & ~linear
            target, flat = _least_point(
                np.vstack([A[curved], np.sqrt(n) * penalty]),
                int(np.count_nonzero(curved)),
                2 * A[linear].sum(axis=0),
                z,
            )
            step = target - z if flat is None else flat
            length = _line_search(margin, A @ step, penalty @ z, penalty @ step)
            if np.abs(length * step).max() > 4 * eps * np.abs(z).max():
                break
        else:
            return z, True
        z = target if length == 1 and flat is None else z + length * step
    return z, False


def _least_point(
    M: NDArray[Any], n_ones: int, pull: NDArray[Any], z: NDArray[Any]
) -> tuple[NDArray[Any], NDArray[Any] | None]:
    """Least point of |r - M z|^2 - 2 pull z, where r begins with ones and has zeros.

    If M leaves a choice, the nearest such point to z; if there is no minimum, also a
    direction in which the value falls without bound.
    """
    # Far rows first, with pivoting: otherwise the digits of the others would be lost.
    order = np.argsort(-linalg.norm(M, axis=1), kind="stable")
    r = (order < n_ones).astype(np.float64)
    Q, R, columns = linalg.qr(M[order], mode="economic", pivoting=True)
    size = np.abs(R.diagonal())
    target = np.empty_like(z)
    if size.size == z.size and size[-1] > max(M.shape) * np.finfo(float).eps * size[0]:
        half = linalg.solve_triangular(R, pull[columns], trans="T")
        target[columns] = linalg.solve_triangular(R, Q.T @ r + half)
        return target, None
    U, s, Vt = thin_svd(M[order])
    flat = pull - Vt.T @ (Vt @ pull)
    if linalg.norm(flat) > 1e-12 * linalg.norm(pull):
        return z, flat
    target = Vt.T @ ((U.T @ r + (Vt @ pull) / s) / s)
    return target + z - Vt.T @ (Vt @ z), None


def _line_search(
    margin: NDArray[Any], turn: NDArray[Any], cost: NDArray[Any], pull: NDArray[Any]
) -> float:
    """Find how far along a step the objective is least; 0 where it rises at once."""

    def rise(t: float) -> float:
        return float(
            _slope(margin + t * turn) @ turn / margin.size
            + 2 * (cost + t * pull) @ pull
        )

    first, last = rise(0.0), rise(1.0)
    if first >= 0:
        return 0.0
    if abs(last) <= 1e-9 * -first:  # a full step within one piece
        return 1.0
    # The slope is linear between the places where a margin leaves its piece.
    moving = turn != 0
    ends = np.concatenate([(e - margin[moving]) / turn[moving] for e in (-1.0, 1.0)])
    ends = np.unique(ends[ends > 0])
    low, high = -1, ends.size  # before the first, behind the last
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if rise(ends[middle]) < 0 else (low, middle)
    left = 0.0 if low < 0 else float(ends[low])
    right = float(ends[high]) if high < ends.size else 2 * left + 1.0
    before, after = rise(left), rise(right)
    return left + (right - left) * before / (before - after) if after > before else left
