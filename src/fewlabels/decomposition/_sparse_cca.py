"""Sparse pairs of vectors: penalised matrix decomposition and sparse CCA."""

# SPDX-License-Identifier: BSD-3-Clause

from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from scipy.sparse.linalg import svds
from sklearn.preprocessing import StandardScaler

from fewlabels._linalg import deviations
from fewlabels._params import check_number, usual
from fewlabels._sklearn import Interval, check_array, validate_params
from fewlabels.decomposition._two_views import TwoViewTransformer
from fewlabels.exceptions import warn_not_converged

# Up to this size all singular values are found faster than just the first one.
SMALL = 200

# Share of the bounds on the l1 norm, from a single entry to all of them, by default:
# that of the authors' package PMA for R.
DEFAULT_SHARE = 0.3


def l1_l2_projection_direction(a: Any, c: float) -> NDArray[np.float64]:
    r"""Find the vector of bounded l1 and l2 norms that reaches farthest in a direction.

    .. math::
        \max_u \; u^\top a \quad \text{subject to} \quad \|u\|_2 \le 1, \; \|u\|_1 \le c

    The solution is :math:`u = s / \|s\|_2` with the shrunk vector :math:`s_i =
    \operatorname{sign}(a_i) (|a_i| - \Delta)_+`, where :math:`\Delta = 0` if that obeys
    the bound and is otherwise such that :math:`\|u\|_1 = c`. Between two neighbouring
    sizes of entries, that is a quadratic equation, so that the solution is exact. If m
    entries share the largest size and :math:`c < \sqrt m`, no such :math:`\Delta`
    exists: every division of c among these entries is a solution, and the even one is
    returned.

    Parameters
    ----------
    a : array-like of shape (n,)
        The direction.
    c : float
        Bound on the l1 norm. From :math:`\sqrt n` on it has no effect.

    Returns
    -------
    u : ndarray of shape (n,)
        The vector; zero for a = 0.

    References
    ----------
    .. [1] D. M. Witten, R. Tibshirani, T. Hastie, "A penalized matrix decomposition,
       with applications to sparse principal components and canonical correlation
       analysis", Biostatistics 10 (2009). :doi:`10.1093/biostatistics/kxp008`

    Examples
    --------
    >>> from fewlabels.decomposition import l1_l2_projection_direction
    >>> l1_l2_projection_direction([3.0, -4.0, 0.0], 2.0)
    array([ 0.6, -0.8,  0. ])
    >>> l1_l2_projection_direction([3.0, -4.0, 0.0], 1.0)
    array([ 0., -1.,  0.])
    >>> l1_l2_projection_direction([1.0, 1.0, 0.0], 1.0)
    array([0.5, 0.5, 0. ])
    """
    a = check_array(a, dtype=np.float64, ensure_2d=False, input_name="a")
    if a.ndim != 1:
        raise ValueError(f"a must be a vector, got shape {a.shape}.")
    check_number("c", c, above=0, most=np.inf)
    largest = np.max(np.abs(a))
    if largest == 0:
        return np.zeros_like(a)
    a = a / largest  # only the direction matters, and squares must not overflow
    size = np.linalg.norm(a)
    if np.sum(np.abs(a)) <= c * size:
        return a / size
    tied = np.abs(a) == 1.0
    m = np.count_nonzero(tied)
    if c <= np.sqrt(m):
        return np.where(tied, np.sign(a) * (c / m), 0.0)
    # By what each entry falls short of the largest, 1: entries that are nearly as large
    # keep their digits. With the k largest in use, ||s||_1 = c ||s||_2 is a quadratic
    # equation for 1 - Delta.
    missing = 1.0 - np.abs(a)
    falls = np.sort(missing)
    k = np.arange(1, falls.size + 1)
    means = np.cumsum(falls) / k
    spread = np.maximum(np.cumsum(falls**2) - k * means**2, 0.0)
    usable = k > c * c
    with np.errstate(divide="ignore", invalid="ignore"):
        fall = np.where(usable, means + c * np.sqrt(spread / (k * (k - c * c))), 2.0)
    # The norm ratio falls as the threshold grows, so exactly one k fits; rounding may
    # leave it a hair outside its interval.
    outside = np.maximum(fall - np.append(falls[1:], 1.0), falls - fall)
    best = np.argmin(np.where(usable & (fall <= 1), outside, np.inf))
    u = np.sign(a) * np.maximum(fall[best] - missing, 0.0)
    return u / np.linalg.norm(u)


@dataclass(frozen=True)
class PenalizedDecomposition:
    """A matrix as a sum of rank-one matrices of sparse vectors.

    Attributes
    ----------
    u : ndarray of shape (n_rows, n_components)
        Left vectors.
    v : ndarray of shape (n_columns, n_components)
        Right vectors.
    d : ndarray of shape (n_components,)
        Weights: u' M_k v for the matrix M_k that is left after k components.
    objectives : list of ndarrays
        For every component, u' M_k v after each of its alternations.
    converged : bool
        Whether all components settled within the tolerance.
    """

    u: NDArray[np.float64]
    v: NDArray[np.float64]
    d: NDArray[np.float64]
    objectives: list[NDArray[np.float64]]
    converged: bool


def _leading_right_vector(M: NDArray[np.float64]) -> NDArray[np.float64]:
    if min(M.shape) <= SMALL:
        return linalg.svd(M, full_matrices=False, check_finite=False)[2][0]
    start = np.random.RandomState(0).normal(size=min(M.shape))
    return svds(M, k=1, v0=start)[2][0]


_CONSTRAINTS: dict[str, list[Any]] = {
    "c1": [Interval(Real, 1, None, closed="left"), None],
    "c2": [Interval(Real, 1, None, closed="left"), None],
    **usual("n_components", "tol", "max_iter"),
}


@validate_params(
    {"M": ["array-like"], **_CONSTRAINTS}, prefer_skip_nested_validation=True
)
def penalized_matrix_decomposition(
    M: Any,
    n_components: int = 1,
    *,
    c1: float | None = None,
    c2: float | None = None,
    tol: float = 1e-6,
    max_iter: int = 500,
) -> PenalizedDecomposition:
    r"""Approximate a matrix by a sum of rank-one matrices of sparse vectors.

    One after the other,

    .. math::
        \max_{u, v} \; u^\top M_k v \quad \text{subject to} \quad
        \|u\|_2 \le 1, \; \|v\|_2 \le 1, \; \|u\|_1 \le c_1, \; \|v\|_1 \le c_2

    is solved for u and v in turn, from the leading right singular vector of :math:`M_k`
    on, and :math:`M_{k+1} = M_k - d_k u v^\top` with :math:`d_k = u^\top M_k v`. No
    step makes the objective smaller; the result is a local maximum.

    Parameters
    ----------
    M : array-like of shape (n_rows, n_columns)
        The matrix. For sparse CCA, the correlations between two views.
    n_components : int, default=1
        Number of terms.
    c1 : float, default=None
        Bound on the l1 norm of the left vectors, from 1 (one entry) to
        :math:`\sqrt{n_{rows}}` (no effect); None for 0.3 of the latter.
    c2 : float, default=None
        Bound for the right vectors.
    tol : float, default=1e-6
        A component has settled where no entry of u and v changes by more.
    max_iter : int, default=500
        Largest number of alternations for a component.

    Returns
    -------
    result : PenalizedDecomposition
        Vectors, weights and the history of the objective.

    Warns
    -----
    ConvergenceWarning
        If `max_iter` alternations were not enough.

    References
    ----------
    .. [1] D. M. Witten, R. Tibshirani, T. Hastie, "A penalized matrix decomposition,
       with applications to sparse principal components and canonical correlation
       analysis", Biostatistics 10 (2009). :doi:`10.1093/biostatistics/kxp008`

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.decomposition import penalized_matrix_decomposition
    >>> M = np.zeros((6, 5))
    >>> M[:2, :2] = 3.0
    >>> M += 0.1 * np.random.default_rng(0).normal(size=M.shape)
    >>> result = penalized_matrix_decomposition(M, c1=1.4, c2=1.4)
    >>> np.flatnonzero(result.u), np.flatnonzero(result.v)
    (array([0, 1]), array([0, 1]))
    """
    M = check_array(M, dtype=np.float64, input_name="M")
    p, q = M.shape
    bound_u = _bound(c1, p)
    bound_v = _bound(c2, q)
    u, v = np.zeros((p, n_components)), np.zeros((q, n_components))
    d = np.zeros(n_components)
    objectives, converged = [], True
    noise = max(M.shape) * np.finfo(np.float64).eps * np.max(np.abs(M))
    for k in range(n_components):
        if np.max(np.abs(M)) <= noise:  # nothing is left to decompose
            objectives.append(np.zeros(0))
            continue
        u_k, v_k, course, settled = _one_pair(M, bound_u, bound_v, tol, max_iter)
        converged &= settled
        objectives.append(np.array(course))
        u[:, k], v[:, k], d[k] = u_k, v_k, course[-1]
        M = M - d[k] * np.outer(u_k, v_k)
    if not converged:
        warn_not_converged(
            f"penalized_matrix_decomposition has not settled in max_iter={max_iter} "
            "alternations: raise max_iter or tol."
        )
    return PenalizedDecomposition(u, v, d, objectives, converged)


def _bound(c: float | None, n: int) -> float:
    return max(1.0, DEFAULT_SHARE * np.sqrt(n)) if c is None else float(c)


def _one_pair(
    M: NDArray[np.float64], bound_u: float, bound_v: float, tol: float, max_iter: int
) -> tuple[NDArray[Any], NDArray[Any], list[float], bool]:
    v = _leading_right_vector(M)
    u = np.zeros(M.shape[0])
    course: list[float] = []
    for _ in range(max_iter):
        u_before, v_before = u, v
        u = l1_l2_projection_direction(M @ v, bound_u)
        v = l1_l2_projection_direction(M.T @ u, bound_v)
        course.append(float(u @ M @ v))
        if max(np.max(np.abs(u - u_before)), np.max(np.abs(v - v_before))) <= tol:
            return u, v, course, True
    return u, v, course, False


def _standardized(X: NDArray[Any]) -> tuple[StandardScaler, NDArray[np.float64]]:
    """Standardise columns; constant ones become exactly zero, in any unit.

    By itself the scaler leaves the rounding error of the mean of a constant column.
    """
    scaler = StandardScaler().fit(X)
    Z = deviations(X, scaler.mean_)
    scaler.scale_ = np.where(Z.any(axis=0), Z.std(axis=0), 1.0)
    return scaler, Z / scaler.scale_


class SparseCCA(TwoViewTransformer):
    r"""Canonical directions with few weights that are not zero.

    .. math::
        \max_{u, v} \; u^\top X^\top Y v \quad \text{subject to} \quad
        \|u\|_2 \le 1, \; \|v\|_2 \le 1, \; \|u\|_1 \le c_1, \; \|v\|_1 \le c_2

    with standardised columns, one pair after the other, see
    :func:`penalized_matrix_decomposition`. The covariances within the views are taken
    to be the identity (diagonal CCA): what is maximised is the covariance of the
    scores. That needs no inverse, so there may be many more features than rows.

    Parameters
    ----------
    n_components : int, default=1
        Number of pairs.
    c1 : float, default=None
        Bound on the l1 norm of the weights of the first view, from 1 (one weight) to
        the root of the number of features (no effect); None for 0.3 of the latter.
    c2 : float, default=None
        Bound for the second view.
    tol : float, default=1e-6
        A pair has settled where no weight changes by more.
    max_iter : int, default=500
        Largest number of alternations for a pair.

    Attributes
    ----------
    x_weights_ : ndarray of shape (n_features, n_components)
        Weights u of the standardised features of the first view.
    y_weights_ : ndarray of shape (n_features_y, n_components)
        Weights v of those of the second view.
    covariances_ : ndarray of shape (n_components,)
        Covariance of the two scores of a pair, after the previous pairs are removed.
    x_scaler_, y_scaler_ : StandardScaler
        How the views were standardised. A constant feature becomes zero.
    n_iter_ : int
        Largest number of alternations that a pair took.
    n_features_in_ : int
        Number of features of the first view.
    n_features_y_ : int
        Number of features of the second view.

    See Also
    --------
    SVDCCA : Without the penalty, and with the covariances within the views.

    References
    ----------
    .. [1] D. M. Witten, R. Tibshirani, T. Hastie, "A penalized matrix decomposition,
       with applications to sparse principal components and canonical correlation
       analysis", Biostatistics 10 (2009). :doi:`10.1093/biostatistics/kxp008`

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.decomposition import SparseCCA
    >>> rng = np.random.default_rng(0)
    >>> X, Y = rng.normal(size=(100, 50)), rng.normal(size=(100, 30))
    >>> Y[:, 3] += 3.0 * X[:, 7]  # all that the views have in common
    >>> model = SparseCCA(c1=1.0, c2=1.0).fit(X, Y)
    >>> np.flatnonzero(model.x_weights_), np.flatnonzero(model.y_weights_)
    (array([7]), array([3]))
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = _CONSTRAINTS

    def __init__(
        self,
        n_components: int = 1,
        *,
        c1: float | None = None,
        c2: float | None = None,
        tol: float = 1e-6,
        max_iter: int = 500,
    ) -> None:
        self.n_components = n_components
        self.c1 = c1
        self.c2 = c2
        self.tol = tol
        self.max_iter = max_iter

    def _learn(self, X: NDArray[Any], Y: NDArray[Any]) -> None:
        self._check_n_components(X, Y)
        self.x_scaler_, X_std = _standardized(X)
        self.y_scaler_, Y_std = _standardized(Y)
        correlations = X_std.T @ Y_std / X.shape[0]
        result = penalized_matrix_decomposition(correlations, **self.get_params())
        self._keep_weights(result.u, result.v, X.dtype)
        self.covariances_ = result.d
        self.n_iter_ = max(1, *(course.size for course in result.objectives))

    def _x_scores(self, X: NDArray[Any]) -> NDArray[Any]:
        return self.x_scaler_.transform(X) @ self.x_weights_

    def _y_scores(self, Y: NDArray[Any]) -> NDArray[Any]:
        return self.y_scaler_.transform(Y) @ self.y_weights_
