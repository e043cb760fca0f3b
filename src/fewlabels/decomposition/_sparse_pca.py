"""Sparse principal components by regression."""

# SPDX-License-Identifier: BSD-3-Clause

import warnings
from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import linalg
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import enet_path
from sklearn.utils.extmath import svd_flip

from fewlabels._linalg import FLOATS, thin_svd
from fewlabels._params import check_number, usual
from fewlabels._sklearn import (
    Interval,
    check_array,
    check_X_y,
    fit_context,
    validate_data,
)
from fewlabels.decomposition._projection import Projection
from fewlabels.exceptions import warn_not_converged
from fewlabels.optimize import soft_threshold

# Tolerance of one elastic net, relative to the squared norm of its target. Looser ones
# would let the objective of the alternation rise.
ELASTIC_NET_TOL = 1e-12
# Violation of the optimality conditions that is left to rounding, in units of alpha.
SIGN_SLACK = 1e-9
MAX_SIGN_CHANGES = 20
# Cycles before each test of whether the signs are those of the solution.
ELASTIC_NET_CYCLES = (20, 200, 2000, 100_000)


def elastic_net(
    X: Any, y: Any, *, alpha: float, ridge_alpha: float, rescale: bool = False
) -> NDArray[np.float64]:
    r"""Solve the elastic net in its form with sums of squares.

    .. math::
        \hat b = \arg\min_b \; \|y - X b\|^2 + \lambda_1 \|b\|_1 + \lambda_2 \|b\|_2^2

    by :func:`sklearn.linear_model.enet_path`, whose penalties are
    :math:`\alpha = \lambda_1 / 2n + \lambda_2 / n` and an l1 share of
    :math:`\lambda_1 / 2n\alpha`, until the signs of the coefficients are known; linear
    equations then give their values. There is no intercept.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Predictors.
    y : array-like of shape (n_samples,)
        Target.
    alpha : float
        Weight of the l1 norm; 0 for ridge regression.
    ridge_alpha : float
        Weight of the squared l2 norm; 0 for the lasso.
    rescale : bool, default=False
        Return :math:`(1 + \lambda_2) \hat b`, which undoes the shrinkage that the ridge
        adds to that of the lasso, for predictors of unit length.

    Returns
    -------
    coef : ndarray of shape (n_features,)
        The coefficients.

    See Also
    --------
    sklearn.linear_model.ElasticNet : The estimator.

    References
    ----------
    .. [1] H. Zou, T. Hastie, "Regularization and variable selection via the elastic
       net", Journal of the Royal Statistical Society B 67 (2005).
       :doi:`10.1111/j.1467-9868.2005.00503.x`

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.decomposition import elastic_net
    >>> X, y = np.eye(2), np.array([3.0, 0.5])
    >>> elastic_net(X, y, alpha=2.0, ridge_alpha=1.0)  # soft(y, 1) / 2
    array([1., 0.])
    >>> elastic_net(X, y, alpha=2.0, ridge_alpha=1.0, rescale=True)
    array([2., 0.])
    """
    X, y = check_X_y(X, y, dtype=np.float64, y_numeric=True)
    check_number("alpha", alpha, 0)
    check_number("ridge_alpha", ridge_alpha, 0)
    coef = _elastic_net(X, y, alpha, ridge_alpha)
    return (1 + ridge_alpha) * coef if rescale else coef


def _elastic_net(
    X: NDArray[np.float64],
    y: NDArray[np.float64],
    alpha: float,
    ridge_alpha: float,
    start: NDArray[np.float64] | None = None,
) -> NDArray[np.float64]:
    if alpha == 0:
        U, s, Vt = thin_svd(X)
        return (s / (s**2 + ridge_alpha) * (y @ U)) @ Vt
    n = X.shape[0]
    strength = alpha / (2 * n) + ridge_alpha / n
    X = np.asfortranarray(X)
    coef = np.zeros(X.shape[1]) if start is None else start
    for max_iter in ELASTIC_NET_CYCLES:
        with warnings.catch_warnings():
            if max_iter < ELASTIC_NET_CYCLES[-1]:
                warnings.simplefilter("ignore", ConvergenceWarning)
            coef = enet_path(
                X,
                y,
                l1_ratio=alpha / (2 * n * strength),
                alphas=[strength],
                coef_init=coef,
                tol=ELASTIC_NET_TOL,
                max_iter=max_iter,
                check_input=False,
            )[1][:, 0]
        exact = _elastic_net_of_signs(X, y, alpha, ridge_alpha, np.sign(coef))
        if exact is not None:
            return exact
    return coef


def _elastic_net_of_signs(
    X: NDArray[np.float64],
    y: NDArray[np.float64],
    alpha: float,
    ridge_alpha: float,
    signs: NDArray[np.float64],
) -> NDArray[np.float64] | None:
    """Solve by changing signs until they agree with the solution; None if they do not.

    Coordinate descent finds the signs soon, and the coefficients of correlated features
    very slowly. For given signs the coefficients obey linear equations. Those that come
    out with the wrong sign leave, those that violate their condition enter.
    """
    slack = SIGN_SLACK * alpha
    for _ in range(MAX_SIGN_CHANGES):
        on = signs != 0
        part = X[:, on]
        gram = part.T @ part
        gram.flat[:: gram.shape[0] + 1] += ridge_alpha
        try:
            factor = linalg.cho_factor(gram, check_finite=False)
        except linalg.LinAlgError:  # dependent features without a ridge
            return None
        coef = np.zeros(X.shape[1])
        coef[on] = linalg.cho_solve(factor, part.T @ y - 0.5 * alpha * signs[on])
        # Half the descent direction; where the penalty balances it, it is alpha / 2.
        pull = X.T @ (y - part @ coef[on]) - ridge_alpha * coef
        if np.max(np.abs(pull - 0.5 * alpha * signs)[on], initial=0.0) > slack:
            return None  # the equations are too ill-conditioned
        entering = np.where(np.abs(pull) > 0.5 * alpha + slack, np.sign(pull), 0.0)
        changed = np.where(on, np.where(coef * signs > 0, signs, 0.0), entering)
        if np.array_equal(changed, signs):
            return coef
        signs = changed
    return None


@dataclass(frozen=True)
class SparseLoadings:
    """Sparse principal directions as a regression finds them.

    Attributes
    ----------
    A : ndarray of shape (n_features, n_components)
        Orthonormal directions that the rows are reconstructed from.
    B : ndarray of shape (n_features, n_components)
        Sparse weights, not normalised.
    objectives : ndarray of shape (n_iter,)
        Value of the objective after every round.
    converged : bool
        Whether B settled within the tolerance.
    """

    A: NDArray[np.float64]
    B: NDArray[np.float64]
    objectives: NDArray[np.float64]
    converged: bool


def _alpha_array(alpha: ArrayLike, n_components: int) -> NDArray[np.float64]:
    values = np.asarray(alpha, dtype=np.float64)
    if values.ndim > 1 or (values.ndim == 1 and values.size != n_components):
        raise ValueError(
            f"alpha must be a number or one number per component, {n_components}, got "
            f"shape {values.shape}."
        )
    if not np.all((values >= 0) & np.isfinite(values)):
        raise ValueError("alpha must hold finite, non-negative numbers.")
    return np.broadcast_to(values, (n_components,))


def sparse_loadings(
    X: Any,
    n_components: int,
    *,
    alpha: ArrayLike = 1.0,
    ridge_alpha: float = 1e-3,
    tol: float = 1e-4,
    max_iter: int = 500,
) -> SparseLoadings:
    r"""Find sparse principal directions by alternating regressions.

    .. math::
        \min_{A^\top A = I, \, B} \; \|X - X B A^\top\|_F^2
        + \lambda_2 \sum_j \|b_j\|_2^2 + \sum_j \lambda_{1,j} \|b_j\|_1

    For given A, every column of B is an elastic net with the target
    :math:`X a_j`; for given B, :math:`A = U V^\top` from the SVD
    :math:`X^\top X B = U D V^\top`. A starts as the first principal directions. No step
    makes the objective larger.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Rows, centred by the caller.
    n_components : int
        Number of directions.
    alpha : float or array-like of shape (n_components,), default=1.0
        Weights of the l1 norms, on the scale of sums of squares of X: from
        :math:`2 \max |X^\top X a_j|` on, a direction is zero.
    ridge_alpha : float, default=1e-3
        Weight of the squared l2 norm; inf for the limit in which
        :math:`b_j = \operatorname{soft}(X^\top X a_j, \lambda_{1,j} / 2)` up to scale,
        which is fast for many features.
    tol : float, default=1e-4
        Stop when no entry of B changes by more than this share of the largest.
    max_iter : int, default=500
        Largest number of rounds.

    Returns
    -------
    loadings : SparseLoadings
        Both matrices and the history of the objective; for ``ridge_alpha=inf``, that of
        :math:`-2 \operatorname{tr}(A^\top X^\top X B) + \|B\|_F^2
        + \sum_j \lambda_{1,j} \|b_j\|_1`.

    Warns
    -----
    ConvergenceWarning
        If `max_iter` rounds were not enough.

    References
    ----------
    .. [1] H. Zou, T. Hastie, R. Tibshirani, "Sparse principal component analysis",
       Journal of Computational and Graphical Statistics 15 (2006).
       :doi:`10.1198/106186006X113430`

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.decomposition import sparse_loadings
    >>> rng = np.random.default_rng(0)
    >>> shared = rng.normal(size=(100, 1))
    >>> X = np.hstack([shared, shared, np.zeros((100, 3))])
    >>> X += 0.1 * rng.normal(size=X.shape)
    >>> loadings = sparse_loadings(X - X.mean(axis=0), 1, alpha=10.0)
    >>> np.flatnonzero(loadings.B)
    array([0, 1])
    """
    X = check_array(X, dtype=np.float64, input_name="X")
    check_number("ridge_alpha", ridge_alpha, 0, np.inf)
    if not 1 <= n_components <= X.shape[1]:
        raise ValueError(
            f"n_components={n_components} must be from 1 to n_features={X.shape[1]}."
        )
    weights = _alpha_array(alpha, n_components)
    # Only X'X matters: diag(s) V' has as many rows as the smaller side of X, at most.
    s, Vt = linalg.svd(X, full_matrices=n_components > min(X.shape))[1:]
    _, Vt = svd_flip(None, Vt, u_based_decision=False)
    rows = np.asfortranarray(s[:, None] * Vt[: s.size])
    A = Vt[:n_components].T
    B = np.zeros_like(A)
    objectives: list[float] = []
    converged = False
    while not converged and len(objectives) < max_iter:
        before = B
        B = _regress(rows, A, weights, ridge_alpha, before)
        image = rows.T @ (rows @ B)
        left, _, right = linalg.svd(image, full_matrices=False, check_finite=False)
        A = left @ right
        penalty = float(np.abs(B).sum(axis=0) @ weights)
        if np.isinf(ridge_alpha):
            value = -2 * float(np.vdot(A, image)) + float(np.vdot(B, B))
        else:
            fit = np.linalg.norm(rows - (rows @ B) @ A.T) ** 2
            value = float(fit + ridge_alpha * np.vdot(B, B))
        objectives.append(value + penalty)
        change = np.max(np.abs(B - before))
        converged = bool(change <= tol * np.max(np.abs(B)))
    if not converged:
        warn_not_converged(
            f"sparse_loadings has not settled in max_iter={max_iter} rounds: raise "
            "max_iter or tol."
        )
    return SparseLoadings(A, B, np.array(objectives), converged)


def _regress(
    rows: NDArray[np.float64],
    A: NDArray[np.float64],
    weights: NDArray[np.float64],
    ridge_alpha: float,
    start: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Solve for B, the elastic nets of all columns of A."""
    targets = rows @ A
    if np.isinf(ridge_alpha):
        return soft_threshold(rows.T @ targets, weights / 2)
    columns = [
        _elastic_net(rows, targets[:, j], alpha, ridge_alpha, start[:, j])
        for j, alpha in enumerate(weights)
    ]
    return np.column_stack(columns)


class ElasticNetSparsePCA(Projection):
    r"""Sparse principal components of Zou, Hastie and Tibshirani.

    .. math::
        \min_{A^\top A = I, \, B} \; \|X - X B A^\top\|_F^2
        + \lambda_2 \sum_j \|b_j\|_2^2 + \sum_j \lambda_{1,j} \|b_j\|_1

    The components are the columns of B, scaled to unit length: combinations of few
    features. Without the l1 norms they are the principal directions.
    :class:`sklearn.decomposition.SparsePCA` solves another problem, whose directions
    and scores are not orthogonal and whose codes are not linear in the rows.

    Parameters
    ----------
    n_components : int, default=2
        Number of components.
    alpha : float or array-like of shape (n_components,), default=1.0
        Weights of the l1 norms, on the scale of sums of squares of X: the larger, the
        fewer features.
    ridge_alpha : float, default=1e-3
        Weight of the squared l2 norm, which matters with more features than rows; inf
        for the fast limit, see :func:`sparse_loadings`.
    tol : float, default=1e-4
        Stop when no weight changes by more than this share of the largest.
    max_iter : int, default=500
        Largest number of rounds.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Directions of unit length, or zero where `alpha` leaves no feature.
    explained_variance_ : ndarray of shape (n_components,)
        Adjusted variance: how much the scores of a component vary beyond those of the
        previous ones, since they may be correlated.
    explained_variance_ratio_ : ndarray of shape (n_components,)
        The same, as a share of the variance of the rows.
    mean_ : ndarray of shape (n_features,)
        Mean of the training rows.
    n_iter_ : int
        Rounds taken.
    n_features_in_ : int
        Number of features seen in `fit`.

    See Also
    --------
    sparse_loadings : The solver.

    References
    ----------
    .. [1] H. Zou, T. Hastie, R. Tibshirani, "Sparse principal component analysis",
       Journal of Computational and Graphical Statistics 15 (2006).
       :doi:`10.1198/106186006X113430`

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.decomposition import ElasticNetSparsePCA
    >>> rng = np.random.default_rng(0)
    >>> X = 0.1 * rng.normal(size=(200, 6))
    >>> X[:, :3] += 2.0 * rng.normal(size=(200, 1))
    >>> X[:, 3:] += rng.normal(size=(200, 1))
    >>> model = ElasticNetSparsePCA(2, alpha=20.0).fit(X)
    >>> [np.flatnonzero(c).tolist() for c in model.components_]
    [[0, 1, 2], [3, 4, 5]]
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "alpha": [Interval(Real, 0, None, closed="left"), "array-like"],
        "ridge_alpha": [Interval(Real, 0, np.inf, closed="both")],
        **usual("n_components", "tol", "max_iter"),
    }

    def __init__(
        self,
        n_components: int = 2,
        *,
        alpha: float | ArrayLike = 1.0,
        ridge_alpha: float = 1e-3,
        tol: float = 1e-4,
        max_iter: int = 500,
    ) -> None:
        self.n_components = n_components
        self.alpha = alpha
        self.ridge_alpha = ridge_alpha
        self.tol = tol
        self.max_iter = max_iter

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: None = None) -> Self:
        """Find the sparse components.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training rows.
        y : None
            Ignored.

        Returns
        -------
        self : ElasticNetSparsePCA
            The fitted estimator.
        """
        X = validate_data(self, X, dtype=FLOATS, ensure_min_samples=2)
        mean = X.mean(axis=0, dtype=np.float64)
        centered = X - mean
        loadings = sparse_loadings(centered, **self.get_params())
        lengths = np.linalg.norm(loadings.B, axis=0)
        if not lengths.all():
            warnings.warn(
                f"alpha={self.alpha!r} leaves no feature in {np.sum(lengths == 0)} of "
                f"{self.n_components} components: they are zero. Use a smaller one.",
                stacklevel=2,
            )
        B = loadings.B / np.where(lengths > 0, lengths, 1)
        scores = centered @ B
        # The diagonal of R is what each score adds to those before it.
        upper = linalg.qr(scores, mode="r", check_finite=False)[0]
        added = np.zeros(self.n_components)
        diagonal = np.diag(upper)
        added[: diagonal.size] = diagonal**2
        total = float(np.vdot(centered, centered))
        self.mean_ = mean.astype(X.dtype, copy=False)
        self.components_ = B.T.astype(X.dtype)
        self.explained_variance_ = added / (X.shape[0] - 1)
        self.explained_variance_ratio_ = added / (total or 1.0)
        self.n_iter_ = loadings.objectives.size
        return self
