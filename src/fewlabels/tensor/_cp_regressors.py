"""Regressors of tensors with weights of low CP rank."""

# SPDX-License-Identifier: BSD-3-Clause

from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fewlabels._params import usual
from fewlabels._regressor import PartialTargetMixin
from fewlabels._sklearn import Interval, fit_context
from fewlabels.exceptions import warn_not_converged
from fewlabels.tensor._algebra import cp_tensor
from fewlabels.tensor._cp import CPSolution, cp_group_sparse, cp_ridge
from fewlabels.tensor._tensor_rows import (
    START_CONSTRAINTS,
    TensorEstimator,
    validate_tensor_targets,
)


class _CPRegressor(PartialTargetMixin, TensorEstimator):
    """What the two regressors share."""

    max_iter: int
    tol: float

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **START_CONSTRAINTS,
        **usual("n_components", "alpha"),
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
            warn_not_converged(
                f"The weights still change after max_iter={self.max_iter} sweeps: "
                f"allow more, or a larger tol than {self.tol}."
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
        X = self._validated(X)
        return X.reshape(X.shape[0], -1) @ self.coef_.ravel() + self.intercept_


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
        return cp_ridge(X, y, **self._solver_params())


class CPGroupSparseRegressor(_CPRegressor):
    r"""Regression on tensors with weights of low CP rank, where the rank is found.

    .. math:: \min_{U_1, \dots, U_M, b} \; \frac12 \sum_i \bigl(y_i - \langle X_i, W
       \rangle - b\bigr)^2 + \alpha \sum_{r=1}^{R} \Bigl(\sum_m \|u_r^{(m)}\|^2
       \Bigr)^{1/2}

    The penalty is a group lasso over components: those that are not worth their penalty
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
        Components that are left; 0 if none is worth its penalty.
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
        return cp_group_sparse(X, y, **self._solver_params())
