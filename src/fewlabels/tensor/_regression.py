"""Regression on tensors with weights of low CP rank."""

# SPDX-License-Identifier: BSD-3-Clause

import warnings
from collections.abc import Callable
from functools import reduce
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import linalg
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import ridge_regression
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import check_is_fitted

from fewlabels._linalg import inverse_square_root
from fewlabels._regressor import PartialTargetMixin
from fewlabels._sklearn import Interval, fit_context
from fewlabels.tensor._algebra import cp_tensor, unfold
from fewlabels.tensor._validation import (
    SHAPE_CONSTRAINTS,
    validate_tensor_targets,
    validate_tensors,
)

# Directions of the Khatri-Rao product below this share of the largest are rounding.
RANK_TOL = 1e-10

Factors = list[NDArray[np.float64]]


class CPSolution(NamedTuple):
    r"""A linear function of tensors with weights :math:`[\![ U_1, \dots, U_M ]\!]`.

    Attributes
    ----------
    factors : list of ndarray of shape (I_m, rank)
        One factor per mode; columns of the same norm in all modes.
    intercept : float
        The constant.
    objectives : ndarray of shape (n_steps,)
        Objective after every step.
    n_iter : int
        Sweeps over the modes.
    converged : bool
        Whether the weights had come to rest.
    """

    factors: Factors
    intercept: float
    objectives: NDArray[np.float64]
    n_iter: int
    converged: bool


class _Data(NamedTuple):
    """Centred tensors, unfolded along every mode, and centred targets."""

    unfolded: list[NDArray[np.float64]]  # per mode (n_samples, I_m, product of others)
    targets: NDArray[np.float64]
    mean: NDArray[np.float64]
    mean_target: float
    correlation: NDArray[np.float64]


def _prepare(X: NDArray[np.float64], y: NDArray[np.float64]) -> _Data:
    mean, mean_target = X.mean(axis=0), float(y.mean())
    Z, t = X - mean, y - mean_target
    unfolded = []
    for m in range(mean.ndim):
        # Kolda's order, with the samples in front: it alone goes with the Khatri-Rao
        # product of the factors in falling order.
        others = [k + 1 for k in reversed(range(mean.ndim)) if k != m]
        moved = Z.transpose(0, m + 1, *others)
        unfolded.append(moved.reshape(Z.shape[0], mean.shape[m], -1))
    return _Data(unfolded, t, mean, mean_target, np.tensordot(t, Z, axes=1))


def _others(factors: Factors, mode: int) -> NDArray[np.float64]:
    """Khatri-Rao product of all factors but one, the last mode first."""
    rest = [U for k, U in reversed(list(enumerate(factors))) if k != mode]
    return reduce(linalg.khatri_rao, rest, np.ones((1, factors[0].shape[1])))


def _ridge(
    features: NDArray[np.float64], targets: NDArray[np.float64], alpha: float
) -> NDArray[np.float64]:
    """Solve ridge regression on centred data."""
    size = float(np.einsum("ij,ij->", features, features))
    if size == 0:
        return np.zeros(features.shape[1])
    if alpha <= 1e-8 * size:  # too little to make the normal equations safe
        return ridge_regression(features, targets, alpha, solver="svd")
    # They are so small, and so many, that scikit-learn's checks would take most time.
    n, p = features.shape
    if p <= n:
        A, b = features.T @ features, features.T @ targets
        A.flat[:: p + 1] += alpha
        return linalg.solve(A, b, assume_a="pos", check_finite=False)
    A = features @ features.T
    A.flat[:: n + 1] += alpha
    return features.T @ linalg.solve(A, targets, assume_a="pos", check_finite=False)


def _start(
    correlation: NDArray[np.float64], rank: int, random: bool, rng: Any
) -> Factors:
    """Singular vectors of the correlation with the targets, or random columns."""
    factors = []
    for mode, size in enumerate(correlation.shape):
        U = rng.normal(size=(size, rank))
        if not random:
            leading = linalg.svd(unfold(correlation, mode), full_matrices=False)[0]
            keep = min(rank, leading.shape[1])
            U[:, :keep] = leading[:, :keep]
        factors.append(U / np.linalg.norm(U, axis=0))
    return factors


def _balance(factors: Factors) -> Factors:
    """Give each column the same norm in all modes; the weights stay as they are."""
    norms = np.array([np.linalg.norm(U, axis=0) for U in factors])
    alive = (norms > 0).all(axis=0)
    safe = np.where(alive, norms, 1.0)
    common = np.exp(np.log(safe).mean(axis=0))
    return [
        np.where(alive, U * (common / n), 0.0)
        for U, n in zip(factors, safe, strict=True)
    ]


def _useful_rank(rank: int, shape: tuple[int, ...]) -> int:
    """Largest rank that can matter: 1 for vectors, that of a matrix for two modes."""
    if len(shape) == 1:
        return 1
    return min(rank, *shape) if len(shape) == 2 else rank


def _solution(
    data: _Data, factors: Factors, objectives: list[float], n_iter: int, converged: bool
) -> CPSolution:
    W = cp_tensor(factors)
    intercept = data.mean_target - float(np.vdot(data.mean, W))
    return CPSolution(factors, intercept, np.array(objectives), n_iter, converged)


def _best_of_starts(
    data: _Data,
    rank: int,
    n_init: int,
    random_state: Any,
    descend: Callable[[Factors], CPSolution],
) -> CPSolution:
    rng = check_random_state(random_state)
    runs = [
        descend(_start(data.correlation, rank, random=k > 0, rng=rng))
        for k in range(n_init)
    ]
    return min(runs, key=lambda run: run.objectives[-1])


def cp_ridge(
    X: NDArray[Any],
    y: NDArray[Any],
    n_components: int,
    *,
    alpha: float = 1.0,
    n_init: int = 1,
    max_iter: int = 1000,
    tol: float = 1e-5,
    random_state: Any = None,
) -> CPSolution:
    r"""Ridge regression with weights of a given CP rank (hrTRR).

    .. math:: \min_{U_1, \dots, U_M, b} \; \frac12 \sum_i \bigl(y_i - \langle X_i, W
       \rangle - b\bigr)^2 + \frac\alpha2 \|W\|_F^2, \qquad
       W = [\![ U_1, \dots, U_M ]\!]

    With all factors but one fixed and K the Khatri-Rao product of the others, :math:`B
    = K^\top K`, the substitution :math:`S = U_m B^{1/2}` makes it plain ridge
    regression with the features :math:`X_{i(m)} K B^{-1/2}`; then :math:`U_m = S
    B^{-1/2}`. The objective never rises.

    Parameters
    ----------
    X : ndarray of shape (n_samples, I_1, ..., I_M)
        Tensors.
    y : ndarray of shape (n_samples,)
        Targets.
    n_components : int
        Number of outer products; cut to what can matter for one or two modes.
    alpha : float, default=1.0
        Price of the weights.
    n_init : int, default=1
        Starts: the singular vectors of the correlation with the targets, then random
        ones. The best counts.
    max_iter : int, default=1000
        Largest number of sweeps over the modes.
    tol : float, default=1e-5
        Stop when a sweep changes W by less than this share of its norm.
    random_state : int, RandomState instance or None, default=None
        Seed of random starts.

    Returns
    -------
    solution : CPSolution
        Factors, intercept and objectives.

    See Also
    --------
    cp_group_sparse : Finds the rank.

    References
    ----------
    .. [1] W. Guo, I. Kotsia, I. Patras, "Tensor learning for regression", IEEE
       Transactions on Image Processing 21 (2012). :doi:`10.1109/TIP.2011.2165291`

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.tensor import cp_ridge
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(100, 6, 7))
    >>> y = 3 * X[:, 2, 4] + 1
    >>> solution = cp_ridge(X, y, n_components=1, alpha=1e-3)
    >>> [int(abs(U[:, 0]).argmax()) for U in solution.factors]
    [2, 4]
    >>> round(solution.intercept, 2)
    1.0
    """
    data = _prepare(X, y)
    rank = _useful_rank(n_components, data.mean.shape)

    def descend(factors: Factors) -> CPSolution:
        objectives: list[float] = []
        W = cp_tensor(factors)
        for n_iter in range(1, max_iter + 1):
            for m in range(len(factors)):
                K = _others(factors, m)
                root = inverse_square_root(K.T @ K, tol=RANK_TOL)
                features = data.unfolded[m] @ (K @ root)
                flat = features.reshape(len(data.targets), -1)
                s = _ridge(flat, data.targets, alpha)
                factors[m] = s.reshape(features.shape[1:]) @ root.T
                residual = data.targets - flat @ s
                objectives.append(float(residual @ residual + alpha * s @ s) / 2)
            previous, W = W, cp_tensor(factors)
            if np.linalg.norm(W - previous) <= tol * np.linalg.norm(W):
                return _solution(data, _balance(factors), objectives, n_iter, True)
        return _solution(data, _balance(factors), objectives, max_iter, False)

    return _best_of_starts(data, rank, n_init, random_state, descend)


def cp_group_sparse(
    X: NDArray[Any],
    y: NDArray[Any],
    n_components: int,
    *,
    alpha: float = 1.0,
    prune_tol: float = 1e-3,
    n_init: int = 1,
    max_iter: int = 5000,
    tol: float = 1e-5,
    random_state: Any = None,
) -> CPSolution:
    r"""Regression with weights of low CP rank, where the rank is found (orTRR).

    .. math:: \min_{U_1, \dots, U_M, b} \; \frac12 \sum_i \bigl(y_i - \langle X_i, W
       \rangle - b\bigr)^2 + \alpha \sum_r \Bigl(\sum_m \|u_r^{(m)}\|^2\Bigr)^{1/2}

    With :math:`\eta_r = (\sum_m \|u_r^{(m)}\|^2)^{1/2}` the penalty is the least of
    :math:`\frac\alpha2 \sum_r (\eta_r^{-1} \sum_m \|u_r^{(m)}\|^2 + \eta_r)`, so that
    every step is a ridge regression whose price is :math:`\alpha / \eta_r` for the
    columns of component r. Small components get more and more expensive, and are
    pruned. The objective never rises, up to the pruning.

    Parameters
    ----------
    X : ndarray of shape (n_samples, I_1, ..., I_M)
        Tensors.
    y : ndarray of shape (n_samples,)
        Targets.
    n_components : int
        Components to begin with; cut to what can matter for one or two modes.
    alpha : float, default=1.0
        Price of the components.
    prune_tol : float, default=1e-3
        A component is dropped when its :math:`\eta_r` is below this share of the
        largest at the end of the first sweep.
    n_init : int, default=1
        Starts: the singular vectors of the correlation with the targets, then random
        ones. The best counts.
    max_iter : int, default=5000
        Largest number of sweeps over the modes; components shrink slowly.
    tol : float, default=1e-5
        Stop when a sweep changes W, and every :math:`\eta_r`, by less than this share.
    random_state : int, RandomState instance or None, default=None
        Seed of random starts.

    Returns
    -------
    solution : CPSolution
        Factors, intercept and objectives; no columns where nothing is worth its price.

    See Also
    --------
    cp_ridge : For a given rank.

    References
    ----------
    .. [1] W. Guo, I. Kotsia, I. Patras, "Tensor learning for regression", IEEE
       Transactions on Image Processing 21 (2012). :doi:`10.1109/TIP.2011.2165291`

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.tensor import cp_group_sparse
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 6, 7))
    >>> y = 3 * X[:, 2, 4] - 2 * X[:, 5, 1]
    >>> cp_group_sparse(X, y, n_components=6).factors[0].shape
    (6, 2)
    """
    data = _prepare(X, y)
    rank = _useful_rank(n_components, data.mean.shape)

    def descend(factors: Factors) -> CPSolution:
        objectives: list[float] = []
        eta, floor = _sizes(factors), 0.0
        W = cp_tensor(factors)
        for n_iter in range(1, max_iter + 1):
            before = eta
            for m in range(len(factors)):
                K = _others(factors, m)
                # Features times the root of eta, for one common price.
                features = data.unfolded[m] @ (K * np.sqrt(eta))
                flat = features.reshape(len(data.targets), -1)
                s = _ridge(flat, data.targets, alpha)
                factors[m] = s.reshape(features.shape[1:]) * np.sqrt(eta)
                eta = _sizes(factors)
                residual = data.targets - flat @ s
                objectives.append(float(residual @ residual / 2 + alpha * eta.sum()))
            # Equal norms in all modes lower the penalty for the same W.
            factors = _balance(factors)
            eta = _sizes(factors)
            if n_iter == 1:
                floor = prune_tol * float(eta.max(initial=0.0))
            kept = eta > floor
            factors = [U[:, kept] for U in factors]
            eta, before = eta[kept], before[kept]
            previous, W = W, cp_tensor(factors)
            if (
                np.linalg.norm(W - previous) <= tol * np.linalg.norm(W)
                and (np.abs(eta - before) <= tol * before).all()
            ):
                return _solution(data, factors, objectives, n_iter, True)
        return _solution(data, factors, objectives, max_iter, False)

    return _best_of_starts(data, rank, n_init, random_state, descend)


def _sizes(factors: Factors) -> NDArray[np.float64]:
    return np.sqrt(sum((U**2).sum(axis=0) for U in factors))


class _CPRegressor(PartialTargetMixin, BaseEstimator):
    """What the two regressors share."""

    shape: Any
    max_iter: int
    tol: float

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **SHAPE_CONSTRAINTS,
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "random_state": ["random_state"],
    }

    def _solve(self, X: NDArray[np.float64], y: NDArray[np.float64]) -> CPSolution:
        raise NotImplementedError

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: ArrayLike) -> Self:
        """Learn from the tensors that have a target.

        Parameters
        ----------
        X : array-like of shape (n_samples, I_1, ..., I_M) or (n_samples, n_entries)
            Tensors, or their entries; see `shape`.
        y : array-like of shape (n_samples,)
            Targets; NaN for none, which leaves the row out.

        Returns
        -------
        self : object
            The fitted regressor.
        """
        X, y = validate_tensor_targets(self, X, y)
        solution = self._solve(X, y)
        if not solution.converged:
            warnings.warn(
                f"The weights still change after max_iter={self.max_iter} sweeps: "
                f"allow more, or a larger tol than {self.tol}.",
                ConvergenceWarning,
                stacklevel=2,
            )
        self.factors_ = solution.factors
        self.rank_ = solution.factors[0].shape[1]
        self.coef_ = cp_tensor(solution.factors)
        self.intercept_ = solution.intercept
        self.objectives_ = solution.objectives
        self.n_iter_ = solution.n_iter
        return self

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Predict the target of every tensor.

        Parameters
        ----------
        X : array-like of shape (n_samples, I_1, ..., I_M) or (n_samples, n_entries)
            Tensors, or their entries.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            The predicted targets.
        """
        check_is_fitted(self)
        X = validate_tensors(self, X, reset=False)
        return X.reshape(X.shape[0], -1) @ self.coef_.ravel() + self.intercept_

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.three_d_array = True
        return tags


class CPRidgeRegressor(_CPRegressor):
    r"""Ridge regression on tensors, with weights of a given CP rank.

    .. math:: \min_{U_1, \dots, U_M, b} \; \frac12 \sum_i \bigl(y_i - \langle X_i, W
       \rangle - b\bigr)^2 + \frac\alpha2 \|W\|_F^2, \qquad
       W = [\![ U_1, \dots, U_M ]\!]

    There are :math:`R (I_1 + \dots + I_M)` weights in place of their product. For
    tensors of one mode, and for matrices with full rank, it is ordinary ridge
    regression. See :func:`cp_ridge`.

    Parameters
    ----------
    n_components : int, default=1
        Number R of outer products.
    alpha : float, default=1.0
        Price of the weights, as in :class:`sklearn.linear_model.Ridge`.
    shape : tuple of int, default=None
        Shape of the tensors where `X` holds their entries as rows; None takes it from
        an `X` with more than two dimensions, and rows as tensors of one mode.
    n_init : int, default=1
        Starts: the singular vectors of the correlation with the targets, then random
        ones. The best counts.
    max_iter : int, default=1000
        Largest number of sweeps over the modes.
    tol : float, default=1e-5
        Stop when a sweep changes the weights by less than this share of their norm.
    random_state : int, RandomState instance or None, default=None
        Seed of random starts.

    Attributes
    ----------
    coef_ : ndarray of shape (I_1, ..., I_M)
        The weights W.
    intercept_ : float
        The constant b.
    factors_ : list of ndarray of shape (I_m, rank)
        Factors of the weights.
    rank_ : int
        Their number of columns.
    objectives_ : ndarray
        Objective after every step.
    n_iter_ : int
        Sweeps over the modes.
    tensor_shape_ : tuple of int
        Shape of the tensors.
    n_features_in_ : int
        Number of entries of a tensor.
    feature_names_in_ : ndarray of shape (n_entries,)
        Names of the columns, where `X` had any.

    See Also
    --------
    CPGroupSparseRegressor : Finds the rank.
    SupportTensorMachine : For classes.
    tensorly.regression.CPRegressor : Without intercept; penalises each factor.

    References
    ----------
    .. [1] W. Guo, I. Kotsia, I. Patras, "Tensor learning for regression", IEEE
       Transactions on Image Processing 21 (2012). :doi:`10.1109/TIP.2011.2165291`

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.tensor import CPRidgeRegressor
    >>> rng = np.random.default_rng(0)
    >>> cross = np.zeros((10, 10))
    >>> cross[4:6, :] = cross[:, 4:6] = 1
    >>> X = rng.normal(size=(150, 10, 10))
    >>> y = np.tensordot(X, cross, 2) + rng.normal(size=150)
    >>> model = CPRidgeRegressor(n_components=2).fit(X[:80], y[:80])
    >>> bool(model.score(X[80:], y[80:]) > 0.9)
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **_CPRegressor._parameter_constraints,
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "alpha": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        n_components: int = 1,
        *,
        alpha: float = 1.0,
        shape: Any = None,
        n_init: int = 1,
        max_iter: int = 1000,
        tol: float = 1e-5,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.alpha = alpha
        self.shape = shape
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def _solve(self, X: NDArray[np.float64], y: NDArray[np.float64]) -> CPSolution:
        return cp_ridge(
            X,
            y,
            self.n_components,
            alpha=self.alpha,
            n_init=self.n_init,
            max_iter=self.max_iter,
            tol=self.tol,
            random_state=self.random_state,
        )


class CPGroupSparseRegressor(_CPRegressor):
    r"""Regression on tensors with weights of low CP rank, where the rank is found.

    .. math:: \min_{U_1, \dots, U_M, b} \; \frac12 \sum_i \bigl(y_i - \langle X_i, W
       \rangle - b\bigr)^2 + \alpha \sum_{r=1}^{R} \Bigl(\sum_m \|u_r^{(m)}\|^2
       \Bigr)^{1/2}

    The penalty is a group lasso over components: those that are not worth their price
    vanish and are pruned. See :func:`cp_group_sparse`.

    Parameters
    ----------
    n_components : int, default=5
        Number R of outer products to begin with.
    alpha : float, default=1.0
        Price of the components; the larger, the lower the rank.
    prune_tol : float, default=1e-3
        A component is dropped when its size is below this share of the largest after
        the first sweep.
    shape : tuple of int, default=None
        Shape of the tensors where `X` holds their entries as rows; None takes it from
        an `X` with more than two dimensions, and rows as tensors of one mode.
    n_init : int, default=1
        Starts: the singular vectors of the correlation with the targets, then random
        ones. The best counts.
    max_iter : int, default=5000
        Largest number of sweeps over the modes; components shrink slowly.
    tol : float, default=1e-5
        Stop when a sweep changes the weights, and the size of every component, by less
        than this share.
    random_state : int, RandomState instance or None, default=None
        Seed of random starts.

    Attributes
    ----------
    coef_ : ndarray of shape (I_1, ..., I_M)
        The weights W.
    intercept_ : float
        The constant b.
    factors_ : list of ndarray of shape (I_m, rank)
        Factors of the weights.
    rank_ : int
        Components that are left; 0 where the mean of the targets is all that is worth
        its price.
    objectives_ : ndarray
        Objective after every step.
    n_iter_ : int
        Sweeps over the modes.
    tensor_shape_ : tuple of int
        Shape of the tensors.
    n_features_in_ : int
        Number of entries of a tensor.
    feature_names_in_ : ndarray of shape (n_entries,)
        Names of the columns, where `X` had any.

    See Also
    --------
    CPRidgeRegressor : For a given rank.

    Notes
    -----
    The penalty grows with the M-th root of the size of a component, so that the problem
    is not convex, W = 0 is a local minimum for M > 1, and `alpha` is in other units
    than that of ridge regression.

    References
    ----------
    .. [1] W. Guo, I. Kotsia, I. Patras, "Tensor learning for regression", IEEE
       Transactions on Image Processing 21 (2012). :doi:`10.1109/TIP.2011.2165291`

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.tensor import CPGroupSparseRegressor
    >>> rng = np.random.default_rng(0)
    >>> cross = np.zeros((10, 10))
    >>> cross[4:6, :] = cross[:, 4:6] = 1
    >>> X = rng.normal(size=(150, 10, 10))
    >>> y = np.tensordot(X, cross, 2) + rng.normal(size=150)
    >>> model = CPGroupSparseRegressor(alpha=30.0).fit(X[:80], y[:80])
    >>> model.rank_
    2
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **_CPRegressor._parameter_constraints,
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "alpha": [Interval(Real, 0, None, closed="neither")],
        "prune_tol": [Interval(Real, 0, 1, closed="left")],
    }

    def __init__(
        self,
        n_components: int = 5,
        *,
        alpha: float = 1.0,
        prune_tol: float = 1e-3,
        shape: Any = None,
        n_init: int = 1,
        max_iter: int = 5000,
        tol: float = 1e-5,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.alpha = alpha
        self.prune_tol = prune_tol
        self.shape = shape
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def _solve(self, X: NDArray[np.float64], y: NDArray[np.float64]) -> CPSolution:
        return cp_group_sparse(
            X,
            y,
            self.n_components,
            alpha=self.alpha,
            prune_tol=self.prune_tol,
            n_init=self.n_init,
            max_iter=self.max_iter,
            tol=self.tol,
            random_state=self.random_state,
        )
