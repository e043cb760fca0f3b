"""Sparse and piecewise constant solutions of linear equations, by reweighting."""

# SPDX-License-Identifier: BSD-3-Clause

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import linalg, sparse
from scipy.optimize import linprog
from scipy.sparse.linalg import splu
from sklearn.utils import column_or_1d

from fewlabels._params import check_number
from fewlabels._sklearn import check_array
from fewlabels.exceptions import warn_not_converged
from fewlabels.optimize._majorize import mm_minimize
from fewlabels.optimize._optimization_result import OptimizationResult

# Equations count as solved where the residual is this share of the right-hand side.
_SOLVED = 1e-6


def _measurements(Phi: Any, y: Any) -> tuple[Any, NDArray[np.float64]]:
    Phi = check_array(Phi, dtype=np.float64, accept_sparse="csr", input_name="Phi")
    y = column_or_1d(np.asarray(y, dtype=np.float64))
    if y.shape[0] != Phi.shape[0]:
        raise ValueError(f"y has {y.shape[0]} entries but Phi {Phi.shape[0]} rows.")
    return Phi, y


def basis_pursuit(
    Phi: Any, y: Any, *, weights: ArrayLike | None = None
) -> NDArray[np.float64]:
    r"""Find the solution of linear equations with the least weighted absolute sum.

    .. math::
        \min_x \; \sum_i w_i |x_i| \quad \text{subject to} \quad \Phi x = y

    as the linear program with :math:`x = p - q`, :math:`p, q \ge 0`.

    Parameters
    ----------
    Phi : {array-like, sparse matrix} of shape (n_measurements, n)
        The equations.
    y : array-like of shape (n_measurements,)
        The right-hand side.
    weights : array-like of shape (n,), default=None
        Weights w, not negative; None for ones.

    Returns
    -------
    x : ndarray of shape (n,)
        The solution; one of them where there are several.

    See Also
    --------
    fewlabels.regression.basis_pursuit_denoising : For equations with errors.

    References
    ----------
    .. [1] S. S. Chen, D. L. Donoho, M. A. Saunders, "Atomic decomposition by basis
       pursuit", SIAM Journal on Scientific Computing 20 (1998).
       :doi:`10.1137/S1064827596304010`

    Examples
    --------
    >>> from fewlabels.optimize import basis_pursuit
    >>> basis_pursuit([[1.0, 2.0, 0.5]], [4.0])
    array([0., 2., 0.])
    """
    Phi, y = _measurements(Phi, y)
    n = Phi.shape[1]
    w = np.ones(n) if weights is None else np.asarray(weights, dtype=np.float64)
    if w.shape != (n,) or not np.all(w >= 0):
        raise ValueError(f"weights must be {n} numbers, none of them negative.")
    stack = sparse.hstack if sparse.issparse(Phi) else np.hstack
    scale = float(np.abs(y).max()) or 1.0  # tolerances of the solver are absolute
    program = linprog(np.r_[w, w], A_eq=stack([Phi, -Phi]), b_eq=y / scale)
    if program.status != 0:
        raise ValueError(
            "Phi x = y has no solution: leave out rows that contradict others, or "
            "allow for an error (fewlabels.regression.basis_pursuit_denoising). The "
            f"linear program says: {program.message}"
        )
    return scale * (program.x[:n] - program.x[n:])


def reweighted_l1(
    Phi: Any, y: Any, *, eps: float | None = None, max_iter: int = 20, tol: float = 1e-6
) -> OptimizationResult:
    r"""Find a solution of linear equations with few entries.

    Basis pursuit repeatedly, each time with the weights

    .. math::
        w_i = \frac{1}{|x_i| + \varepsilon}

    from the last solution, the first time with ones. This is
    majorisation-minimisation of :math:`\sum_i \log(|x_i| + \varepsilon)` subject to
    :math:`\Phi x = y`, which comes closer to counting entries than their sum does.

    Parameters
    ----------
    Phi : {array-like, sparse matrix} of shape (n_measurements, n)
        The equations, fewer than unknowns.
    y : array-like of shape (n_measurements,)
        The right-hand side.
    eps : float, default=None
        Somewhat below the size of the entries that are expected; None for a tenth of
        the largest entry of the first solution.
    max_iter : int, default=20
        Largest number of reweightings.
    tol : float, default=1e-6
        Stop when the objective falls, or the solution moves, by no more than this
        share.

    Returns
    -------
    result : OptimizationResult
        The history begins with the solution for weights one.

    References
    ----------
    .. [1] E. J. Candès et al., "Enhancing sparsity by reweighted l1
       minimization", Journal of Fourier Analysis and Applications 14 (2008).
       :doi:`10.1007/s00041-008-9045-x`

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.optimize import reweighted_l1
    >>> Phi = np.random.default_rng(0).normal(size=(20, 40))
    >>> x = np.zeros(40)
    >>> x[[3, 17, 30]] = 1.0, -2.0, 0.5
    >>> result = reweighted_l1(Phi, Phi @ x)
    >>> bool(np.allclose(result.x, x))
    True
    """
    Phi, y = _measurements(Phi, y)
    first = basis_pursuit(Phi, y)
    if eps is None:
        eps = 0.1 * float(np.max(np.abs(first))) or 1.0
    check_number("eps", eps, above=0)

    def objective(x: NDArray[Any]) -> float:
        return float(np.sum(np.log(np.abs(x) + eps)))

    def step(x: NDArray[Any]) -> NDArray[Any]:
        weights = 1 / (np.abs(x) + eps)
        # Scaled to a mean of one, for the tolerances of the linear program.
        new = basis_pursuit(Phi, y, weights=weights / weights.mean())
        return new if objective(new) <= objective(x) else x

    return mm_minimize(objective, step, first, max_iter=max_iter, tol=tol)


def _differences(shape: tuple[int, int]) -> sparse.csr_array:
    """Differences down and to the right, at every pixel; zero across the border."""
    rows, columns = shape

    def along(n: int) -> sparse.csr_array:
        D = sparse.diags_array([-np.ones(n), np.ones(n - 1)], offsets=[0, 1]).tolil()
        D[n - 1, n - 1] = 0.0
        return sparse.csr_array(D)

    down = sparse.kron(along(rows), sparse.eye_array(columns))
    right = sparse.kron(sparse.eye_array(rows), along(columns))
    return sparse.csr_array(sparse.vstack([down, right]))


def total_variation(x: ArrayLike, *, weights: ArrayLike | None = None) -> float:
    r"""Compute the weighted total variation of an image.

    .. math::
        \sum_{ij} w_{ij} \sqrt{(x_{i+1,j} - x_{ij})^2 + (x_{i,j+1} - x_{ij})^2}

    where a difference across the border is zero.

    Parameters
    ----------
    x : array-like of shape (n_rows, n_columns)
        The image.
    weights : array-like of shape (n_rows, n_columns), default=None
        Weights w; None for ones.

    Returns
    -------
    value : float
        The total variation.

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.optimize import total_variation
    >>> total_variation(np.array([[0.0, 0.0, 1.0], [0.0, 0.0, 1.0]]))
    2.0
    """
    sizes = _jumps(np.asarray(x, dtype=np.float64))
    return float(np.sum(sizes if weights is None else np.asarray(weights) * sizes))


def _jumps(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Lengths of the differences at every pixel."""
    if x.ndim != 2:
        raise ValueError(f"an image has two axes, got an array of shape {x.shape}.")
    down = np.diff(x, axis=0, append=x[-1:])
    right = np.diff(x, axis=1, append=x[:, -1:])
    return np.hypot(down, right)


def _equality_solver(
    H: sparse.csr_array, Phi: Any, y: NDArray[Any]
) -> Callable[[NDArray[Any]], NDArray[Any]]:
    """Return the map of v to the minimiser of 1/2 x'Hx - v'x subject to Phi x = y."""
    m, n = Phi.shape
    advice = (
        "Phi must have independent rows, and determine the mean of the image: leave "
        "out rows that depend on others, or measure the mean."
    )
    solve: Callable[[NDArray[Any]], NDArray[Any]]
    if sparse.issparse(Phi):
        system = sparse.block_array([[H, Phi.T], [Phi, None]], format="csc")
        try:
            solve = splu(system).solve
        except RuntimeError as error:  # exactly singular
            raise ValueError(advice) from error
    else:
        dense = np.block([[H.toarray(), Phi.T], [Phi, np.zeros((m, m))]])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", linalg.LinAlgWarning)  # checked below
            lu, pivots = linalg.lu_factor(dense, check_finite=False)
        if np.min(np.abs(lu.diagonal())) < 1e-13 * np.max(np.abs(lu.diagonal())):
            raise ValueError(advice)

        def solve(b: NDArray[Any]) -> NDArray[Any]:
            return linalg.lu_solve((lu, pivots), b, check_finite=False)

    def minimizer(v: NDArray[Any]) -> NDArray[Any]:
        return solve(np.concatenate([v, y]))[:n]

    residual = float(np.linalg.norm(Phi @ minimizer(np.zeros(n)) - y))
    if not residual <= _SOLVED * float(np.linalg.norm(y)):
        raise ValueError(advice)
    return minimizer


def reweighted_total_variation(
    Phi: Any,
    y: Any,
    shape: tuple[int, int],
    *,
    eps: float | None = None,
    max_iter: int = 5,
    tol: float = 1e-4,
    inner_iter: int = 500,
    inner_tol: float = 1e-5,
) -> OptimizationResult:
    r"""Recover a piecewise constant image from a few linear measurements.

    The image of least weighted total variation,

    .. math::
        \min_x \; \sum_{ij} w_{ij} \|d_{ij}(x)\|_2 \quad \text{subject to} \quad
        \Phi \operatorname{vec}(x) = y

    repeatedly, the first time with weights one and then with
    :math:`w_{ij} = 1 / (\|d_{ij}(x)\|_2 + \varepsilon)` from the last image. This is
    majorisation-minimisation of :math:`\sum_{ij} \log(\|d_{ij}\|_2 + \varepsilon)`.
    Every image is found by the alternating direction method of multipliers; its
    iterates fulfil the equations.

    Parameters
    ----------
    Phi : {array-like, sparse matrix} of shape (n_measurements, n_rows * n_columns)
        Measurements of the image, read row by row; with independent rows that determine
        the mean. The cost is a factorisation with n_measurements + n_pixels unknowns,
        dense if Phi is.
    y : array-like of shape (n_measurements,)
        What was measured.
    shape : tuple of two int
        Shape of the image.
    eps : float, default=None
        Somewhat below the jumps that are expected; None for a tenth of the largest jump
        of the first image.
    max_iter : int, default=5
        Largest number of reweightings; 0 for plain total variation.
    tol : float, default=1e-4
        Stop when the objective falls, or the image moves, by no more than this share.
    inner_iter : int, default=500
        Largest number of iterations for one image; too few for the last one are
        reported by a ConvergenceWarning.
    inner_tol : float, default=1e-5
        An image is found when the differences agree with their copy to this share.

    Returns
    -------
    result : OptimizationResult
        `x` has the given shape. The history begins with the image for weights one. An
        image that would raise the objective, because it was not found precisely
        enough, is not taken.

    References
    ----------
    .. [1] E. J. Candès et al., "Enhancing sparsity by reweighted l1
       minimization", Journal of Fourier Analysis and Applications 14 (2008).
       :doi:`10.1007/s00041-008-9045-x`

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.optimize import reweighted_total_variation
    >>> image = np.zeros((8, 8))
    >>> image[2:5, 3:7] = 1.0
    >>> known = np.random.default_rng(0).permutation(64)[:40]
    >>> Phi = np.eye(64)[known]
    >>> result = reweighted_total_variation(Phi, image.ravel()[known], (8, 8))
    >>> result.x.shape, bool(np.allclose(result.x.ravel()[known], image.ravel()[known]))
    ((8, 8), True)
    """
    Phi, y = _measurements(Phi, y)
    if len(shape) != 2 or shape[0] * shape[1] != Phi.shape[1]:
        raise ValueError(
            f"shape={shape} does not have the {Phi.shape[1]} pixels of Phi's columns."
        )
    D = _differences(shape)
    project = _equality_solver(sparse.csr_array(D.T @ D), Phi, y)
    check_number("max_iter", max_iter, 0)
    check_number("inner_iter", inner_iter, 1)
    found = True

    def image_for(weights: NDArray[Any], start: NDArray[Any]) -> NDArray[Any]:
        nonlocal found
        image, found = _least_variation(
            D, project, weights.ravel(), start.ravel(), inner_iter, inner_tol
        )
        return image.reshape(shape)

    first = image_for(np.ones(shape), project(np.zeros(Phi.shape[1])))
    if eps is None:
        eps = 0.1 * float(np.max(_jumps(first))) or 1.0
    check_number("eps", eps, above=0)

    def objective(x: NDArray[Any]) -> float:
        return float(np.sum(np.log(_jumps(x) + eps)))

    def step(x: NDArray[Any]) -> NDArray[Any]:
        weights = eps / (_jumps(x) + eps)
        new = image_for(weights, x)
        return new if objective(new) <= objective(x) else x

    result = mm_minimize(
        objective, step, first, max_iter=max_iter, tol=tol if max_iter > 0 else 0.0
    )
    if not found:
        warn_not_converged(
            f"The last image was not found to inner_tol={inner_tol:g} within "
            f"inner_iter={inner_iter} iterations: raise one of the two."
        )
    return result


def _least_variation(
    D: sparse.csr_array,
    project: Callable[[NDArray[Any]], NDArray[Any]],
    weights: NDArray[Any],
    x: NDArray[Any],
    max_iter: int,
    tol: float,
) -> tuple[NDArray[Any], bool]:
    """Minimise sum_i w_i |(Dx)_i| subject to the equations, by ADMM.

    Also tell whether the residuals met the tolerance.
    """
    n = x.size
    d = D @ x
    # A step about as large as the jumps makes both residuals fall alike.
    size = float(np.max(np.abs(d))) or 1.0
    rho = float(np.mean(weights)) / size
    dual = np.zeros_like(d)
    split = d.copy()
    for _ in range(max_iter):
        v = d + dual
        lengths = np.hypot(v[:n], v[n:])
        with np.errstate(divide="ignore"):
            shrink = np.maximum(1 - weights / (rho * np.maximum(lengths, 1e-300)), 0.0)
        before, split = split, v * np.tile(shrink, 2)
        x = project(D.T @ (split - dual))
        d = D @ x
        dual += d - split
        scale = max(float(np.linalg.norm(d)), float(np.linalg.norm(split)), 1e-300)
        if (
            np.linalg.norm(d - split) <= tol * scale
            and np.linalg.norm(split - before) <= tol * scale
        ):
            return x, True
    return x, False
