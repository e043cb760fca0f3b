"""Majorisation-minimisation, and methods built on it."""

# SPDX-License-Identifier: BSD-3-Clause

from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import linalg

from fewlabels._params import check_number
from fewlabels._sklearn import check_array
from fewlabels.exceptions import warn_not_converged
from fewlabels.optimize._coordinate import coordinate_descent
from fewlabels.optimize._optimization_result import OptimizationResult, start_point
from fewlabels.optimize._penalties import L1Penalty, soft_threshold
from fewlabels.optimize._problems import QuadraticProblem

# A rise of the objective by no more than this share of it is rounding.
_ROUNDING = 1e-10


def mm_minimize(
    objective: Callable[[NDArray[Any]], float],
    surrogate_step: Callable[[NDArray[Any]], NDArray[Any]],
    x0: ArrayLike,
    *,
    max_iter: int = 1000,
    tol: float = 1e-8,
) -> OptimizationResult:
    r"""Minimise a function by surrogates that lie above it and touch it.

    A surrogate :math:`h(\cdot | x_m)` majorises the objective g at :math:`x_m` if
    :math:`h(x | x_m) \ge g(x)` for all x, with equality at :math:`x_m`. A step goes to
    an :math:`x_{m+1}` with a lower surrogate, for instance its minimiser. Then

    .. math::
        g(x_{m+1}) \le h(x_{m+1} | x_m) \le h(x_m | x_m) = g(x_m)

    Parameters
    ----------
    objective : callable
        The function g, of an array shaped as `x0`.
    surrogate_step : callable
        Gives :math:`x_{m+1}` for :math:`x_m`: the minimiser of the surrogate, or any
        point where it is not higher (generalised MM).
    x0 : array-like
        Where to start; of any shape.
    max_iter : int, default=1000
        Largest number of steps.
    tol : float, default=1e-8
        Stop when a step lowers the objective, or moves the point, by no more than this
        share; 0 for never.

    Returns
    -------
    result : OptimizationResult
        The last point and its history, one record per step.

    Raises
    ------
    ValueError
        If a step raises the objective: the surrogate does not majorise it.

    References
    ----------
    .. [1] D. R. Hunter, K. Lange, "A tutorial on MM algorithms", The American
       Statistician 58 (2004). :doi:`10.1198/0003130042836`

    Examples
    --------
    The median minimises the sum of distances. A distance lies below a parabola that
    touches it:

    >>> import numpy as np
    >>> from fewlabels.optimize import mm_minimize
    >>> x = np.array([1.0, 2.0, 4.0, 8.0, 30.0])
    >>> def weighted_mean(m):
    ...     weights = 1 / np.maximum(np.abs(x - m), 1e-9)
    ...     return weights @ x / weights.sum()
    >>> result = mm_minimize(lambda m: np.abs(x - m).sum(), weighted_mean, x.mean())
    >>> round(float(result.x), 4)
    4.0
    """
    check_number("tol", tol, 0)
    check_number("max_iter", max_iter, 0)
    x = np.array(x0, dtype=np.float64)
    value = float(objective(x))
    lines = [(value, 0.0, 0.0)]
    start = perf_counter()
    reason = "max_iter"
    for n_iter in range(1, max_iter + 1):
        new = np.asarray(surrogate_step(x), dtype=np.float64)
        after = float(objective(new))
        if not after <= value + _ROUNDING * max(abs(value), 1.0):
            raise ValueError(
                f"surrogate_step raised the objective from {value:.10g} to "
                f"{after:.10g}: its surrogate does not majorise the objective."
            )
        moved = float(np.linalg.norm(new - x))
        fell = value - after
        x, value = new, after
        lines.append((value, float(n_iter), perf_counter() - start))
        if moved == 0:
            reason = "stationary"
        elif fell <= tol * abs(value) or moved <= tol * float(np.linalg.norm(x)):
            reason = "converged" if tol > 0 else reason
        if reason != "max_iter":
            break
    if reason == "max_iter" and tol > 0:
        warn_not_converged(
            f"mm_minimize made max_iter={max_iter} steps without meeting tol={tol:g}: "
            "raise max_iter or tol."
        )
    columns = np.array(lines).T
    return OptimizationResult(
        x=x,
        objective=value,
        n_iter=len(lines) - 1,
        converged=reason != "max_iter",
        stop_reason=reason,
        solver="mm_minimize",
        history=dict(zip(("objective", "passes", "seconds"), columns, strict=True)),
    )


@dataclass(frozen=True, eq=False)
class QuadraticMajorizer:
    r"""The function :math:`q(x) = x^* M x + 2 \operatorname{Re} x^* b + c`.

    Made by :func:`quadratic_majorizer`.

    Attributes
    ----------
    M : ndarray of shape (n, n)
        Curvature.
    b : ndarray of shape (n,)
        Linear term.
    c : float
        Constant.
    """

    M: NDArray[Any]
    b: NDArray[Any]
    c: float

    def __call__(self, x: NDArray[Any]) -> float:
        """Compute q(x).

        Parameters
        ----------
        x : ndarray of shape (n,)
            A point.

        Returns
        -------
        value : float
            q(x).
        """
        x = np.asarray(x)
        form = np.vdot(x, self.M @ x) + 2 * np.vdot(x, self.b)
        return float(form.real) + self.c


def quadratic_majorizer(L: Any, x0: Any, M: Any = None) -> QuadraticMajorizer:
    r"""Bound :math:`x^* L x` from above by a simpler quadratic that touches it.

    .. math::
        x^* L x \le x^* M x + 2 \operatorname{Re} x^* (L - M) x_0 + x_0^* (M - L) x_0

    if M - L is positive semidefinite; the gap is :math:`(x - x_0)^* (M - L) (x - x_0)`.
    It is not enough that M is larger entry by entry.

    Parameters
    ----------
    L : array-like of shape (n, n)
        Hermitian matrix.
    x0 : array-like of shape (n,)
        Where the two touch.
    M : array-like of shape (n, n), default=None
        Hermitian matrix; None for the largest eigenvalue of L times the identity.

    Returns
    -------
    majorizer : QuadraticMajorizer
        The function on the right.

    Raises
    ------
    ValueError
        If M - L is not positive semidefinite.

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.optimize import quadratic_majorizer
    >>> q = quadratic_majorizer(np.diag([1.0, 3.0]), [1.0, 1.0])
    >>> q(np.array([1.0, 1.0])), q(np.array([0.0, 0.0]))
    (4.0, 2.0)
    """
    L, x0 = np.asarray(L), np.asarray(x0)
    if L.ndim != 2 or not np.allclose(L, L.conj().T):
        raise ValueError("L must be a Hermitian matrix.")
    n = L.shape[0]
    M = linalg.eigvalsh(L)[-1] * np.eye(n) if M is None else np.asarray(M)
    if M.shape != L.shape or not np.allclose(M, M.conj().T):
        raise ValueError("M must be a Hermitian matrix of the shape of L.")
    smallest = linalg.eigvalsh(M - L)[0]
    size = max(float(np.max(np.abs(M))), float(np.max(np.abs(L))), 1e-300)
    if smallest < -1e-10 * n * size:
        raise ValueError(
            f"M - L has the eigenvalue {smallest:.3g}: it must be positive "
            "semidefinite, larger entries are not enough."
        )
    gap = (M - L) @ x0
    return QuadraticMajorizer(M=M, b=-gap, c=float(np.vdot(x0, gap).real))


def sparse_generalized_eigenvector(
    A: Any,
    B: Any = None,
    *,
    rho: float = 0.1,
    eps: float = 0.1,
    x0: ArrayLike | None = None,
    max_iter: int = 1000,
    tol: float = 1e-10,
) -> OptimizationResult:
    r"""Find a generalised eigenvector with few entries by majorisation-minimisation.

    .. math::
        \max_x \; x^\top A x - \rho_\varepsilon \sum_i \log(1 + |x_i| / \varepsilon)
        \quad \text{subject to} \quad x^\top B x \le 1, \qquad
        \rho_\varepsilon = \frac{\rho}{\log(1 + 1 / \varepsilon)}

    The sum approaches :math:`\rho` times the number of entries for small
    :math:`\varepsilon`. With the smallest :math:`t \ge 0` for which
    :math:`A + tB` is positive semidefinite, both the convex form
    :math:`x^\top (A + tB) x` and the concave sum are replaced by their tangents at
    :math:`x_m`. The convex problem that remains is solved by

    .. math::
        x_{m+1} = \frac{y}{\max(t, \|y\|_B)}, \qquad y = \arg\min_y \;
        \tfrac12 y^\top B y - y^\top (A + tB) x_m + \tfrac12 \rho_\varepsilon
        \sum_i \frac{|y_i|}{|x_{m,i}| + \varepsilon}

    which is a soft threshold for a diagonal B, and coordinate descent otherwise. The
    problem itself is not convex: other starts may end in other points.

    Parameters
    ----------
    A : array-like of shape (n, n)
        Symmetric; a covariance makes this sparse principal components.
    B : array-like of shape (n, n), default=None
        Symmetric positive definite; None for the identity.
    rho : float, default=0.1
        Price of an entry, not negative; 0 gives the leading eigenvector.
    eps : float, default=0.1
        Size :math:`\varepsilon` below which an entry counts for less.
    x0 : array-like of shape (n,), default=None
        Where to start, scaled into the constraint; None for the leading generalised
        eigenvector.
    max_iter : int, default=1000
        Largest number of steps.
    tol : float, default=1e-10
        Stop when a step lowers the objective, or moves the point, by no more than this
        share.

    Returns
    -------
    result : OptimizationResult
        `x`, zero where no eigenvector is worth its entries; `objective` and the history
        are the negative of what is maximised.

    References
    ----------
    .. [1] J. Song, P. Babu, D. P. Palomar, "Sparse generalized eigenvalue problem via
       smooth optimization", IEEE Transactions on Signal Processing 63 (2015).
       :doi:`10.1109/TSP.2015.2394443`

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.optimize import sparse_generalized_eigenvector
    >>> A = np.diag([4.0, 3.9, 0.1, 0.1]) + 0.05
    >>> result = sparse_generalized_eigenvector(A, rho=0.5)
    >>> np.flatnonzero(result.x)
    array([0])
    """
    A = check_array(A, dtype=np.float64, input_name="A")
    n = A.shape[0]
    B = np.eye(n) if B is None else check_array(B, dtype=np.float64, input_name="B")
    if not np.allclose(A, A.T) or B.shape != A.shape or not np.allclose(B, B.T):
        raise ValueError("A and B must be symmetric matrices of one shape.")
    check_number("rho", rho, 0)
    check_number("eps", eps, above=0)
    try:
        values, vectors = linalg.eigh(A, B)
    except linalg.LinAlgError as error:
        raise ValueError(
            "B must be positive definite: add a multiple of the identity."
        ) from error
    t = max(0.0, -float(values[0]))
    C = A + t * B
    price = rho / np.log1p(1 / eps)
    diagonal = B.diagonal() if not np.any(B - np.diag(B.diagonal())) else None
    y = np.zeros(n)  # the start of the inner problem, kept from step to step

    def length(x: NDArray[Any]) -> float:
        return float(np.sqrt(max(x @ (B @ x), 0.0)))

    def objective(x: NDArray[Any]) -> float:
        return float(-x @ (A @ x) + price * np.sum(np.log1p(np.abs(x) / eps)))

    def step(x: NDArray[Any]) -> NDArray[Any]:
        nonlocal y
        weights = 0.5 * price / (np.abs(x) + eps)
        if diagonal is not None:
            y = soft_threshold(C @ x, weights) / diagonal
        else:
            inner = QuadraticProblem(B, C @ x, L1Penalty(1.0, weights))
            y = coordinate_descent(inner, y, tol=1e-12, max_iter=10_000).x
        size = max(t, length(y))
        new = y / size if size > 0 else y
        # The inner problem is solved up to rounding, which must not raise the value.
        return new if objective(new) <= objective(x) else x

    x = vectors[:, -1] if x0 is None else start_point(x0, n)
    size = length(x)
    x = x / size if size > 1 else x
    return mm_minimize(objective, step, x, max_iter=max_iter, tol=tol)
