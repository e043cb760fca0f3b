"""Separable penalties by coordinate descent: bridge and berhu; and the garrote."""

# SPDX-License-Identifier: BSD-3-Clause

from numbers import Real
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import nnls
from sklearn.linear_model import Lasso

from fewlabels._linalg import least_squares
from fewlabels._params import check_number
from fewlabels._sklearn import Interval, fit_context
from fewlabels.regression._linear_regressor import (
    PENALTY_CONSTRAINTS,
    Floats,
    LinearRegressor,
    PenalizedRegressor,
    PenalizedSolution,
    check_problem,
    warn_above_tol,
)


def bridge_regression(
    X: ArrayLike,
    y: ArrayLike,
    alpha: float,
    gamma: float,
    *,
    tol: float = 1e-8,
    max_iter: int = 10_000,
) -> PenalizedSolution:
    r"""Minimise least squares with a power of the coefficients as the penalty.

    .. math::
        \min_b \frac{1}{2 n} \|y - X b\|^2 + \alpha \sum_j |b_j|^\gamma,
        \qquad \gamma \ge 1

    One coefficient after the other is set to its best value: with z the value that
    least squares would take, and the column :math:`x_j`, its size solves
    :math:`t + n \alpha \gamma t^{\gamma - 1} / \|x_j\|^2 = |z|`, by Newton's method
    from the side from which it cannot fail.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Rows.
    y : array-like of shape (n_samples,)
        Targets.
    alpha : float
        The weight :math:`\alpha \ge 0` of the penalty, as in
        :class:`sklearn.linear_model.Lasso`.
    gamma : float
        The power: 1 is the lasso and 2 ridge regression.
    tol : float, default=1e-8
        Stop where no coefficient violates its optimality condition by more than this,
        relative to the largest entry of :math:`|X^\top y|`.
    max_iter : int, default=10000
        Largest number of cycles.

    Returns
    -------
    solution : PenalizedSolution
        The coefficients, and how well they satisfy the conditions.

    Warns
    -----
    ConvergenceWarning
        If `max_iter` was reached.

    References
    ----------
    .. [1] W. J. Fu, "Penalized regressions: the bridge versus the lasso", J. Comput.
       Graph. Stat. 7 (1998). :doi:`10.1080/10618600.1998.10474784`

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.regression import bridge_regression
    >>> y = np.array([3.0, 0.5])
    >>> for gamma in (1.0, 1.5, 2.0):
    ...     bridge_regression(np.eye(2), y, 0.5, gamma).coef.round(2).tolist()
    [2.0, 0.0]
    [1.29, 0.08]
    [1.0, 0.17]
    """
    from fewlabels._loops.regression import BRIDGE

    check_number("alpha", alpha, 0)
    check_number("gamma", gamma, 1)
    return _cycles(X, y, BRIDGE, alpha, gamma, tol, max_iter)


def berhu_regression(
    X: ArrayLike,
    y: ArrayLike,
    alpha: float,
    delta: float,
    *,
    tol: float = 1e-8,
    max_iter: int = 10_000,
) -> PenalizedSolution:
    r"""Minimise least squares with a penalty that is lasso at zero and ridge far away.

    .. math::
        \min_b \frac{1}{2 n} \|y - X b\|^2 + \alpha \sum_j B_\delta(b_j), \qquad
        B_\delta(b) = \begin{cases} |b| & |b| \le \delta \\
        (b^2 + \delta^2) / (2 \delta) & |b| > \delta \end{cases}

    One coefficient after the other is set to its best value. Given the others, it is a
    soft threshold where :math:`|x_j^\top r_j| \le n \alpha + \delta \|x_j\|^2`, and a
    shrunken value beyond.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Rows.
    y : array-like of shape (n_samples,)
        Targets.
    alpha : float
        The weight :math:`\alpha \ge 0` of the penalty, as in
        :class:`sklearn.linear_model.Lasso`.
    delta : float
        The size :math:`\delta > 0` of a coefficient from which on the penalty grows
        like a square.
    tol : float, default=1e-8
        Stop where no coefficient violates its optimality condition by more than this,
        relative to the largest entry of :math:`|X^\top y|`.
    max_iter : int, default=10000
        Largest number of cycles.

    Returns
    -------
    solution : PenalizedSolution
        The coefficients, and how well they satisfy the conditions.

    Warns
    -----
    ConvergenceWarning
        If `max_iter` was reached.

    References
    ----------
    .. [1] A. B. Owen, "A robust hybrid of lasso and ridge regression", Contemp. Math.
       443 (2007). :doi:`10.1090/conm/443/08555`

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.regression import berhu_regression
    >>> y = np.array([6.0, 1.5, 0.5])
    >>> berhu_regression(np.eye(3), y, alpha=1 / 3, delta=1.0).coef.tolist()
    [3.0, 0.5, 0.0]
    """
    from fewlabels._loops.regression import BERHU

    check_number("alpha", alpha, 0)
    check_number("delta", delta, above=0)
    return _cycles(X, y, BERHU, alpha, delta, tol, max_iter)


def _cycles(
    X: ArrayLike,
    y: ArrayLike,
    kind: int,
    alpha: float,
    shape: float,
    tol: float,
    max_iter: int,
) -> PenalizedSolution:
    from fewlabels._loops.regression import separable_cycles

    X, y = check_problem(X, y)
    coef = np.zeros(X.shape[1])
    squares = np.einsum("ij,ij->j", X, X)
    scale = float(np.abs(X.T @ y).max())
    if scale == 0:
        return PenalizedSolution(coef, 1, 0.0)
    n_iter, violation = separable_cycles(
        X.T,
        y.copy(),
        coef,
        squares,
        kind,
        float(alpha * y.size),
        float(shape),
        tol * scale,
        max_iter,
    )
    violation /= scale
    warn_above_tol("the violation", max_iter, violation, tol)
    return PenalizedSolution(coef, n_iter, violation)


class GarroteSolution(NamedTuple):
    r"""Factors of the non-negative garrote.

    Attributes
    ----------
    factors : ndarray of shape (n_features,)
        The factors c; zero where :math:`\hat b_j = 0`.
    coef : ndarray of shape (n_features,)
        The coefficients :math:`c_j \hat b_j`.
    n_iter : int
        Number of cycles.
    """

    factors: Floats
    coef: Floats
    n_iter: int


def nonnegative_garrote(
    X: ArrayLike,
    y: ArrayLike,
    alpha: float,
    initial: ArrayLike | None = None,
    *,
    tol: float = 1e-8,
    max_iter: int = 10_000,
) -> GarroteSolution:
    r"""Shrink given coefficients by factors that are never negative.

    .. math::
        \min_c \frac{1}{2 n} \Big\| y - \sum_j x_j c_j \hat b_j \Big\|^2
        + \alpha \sum_j c_j \quad \text{subject to} \quad c_j \ge 0

    This is the lasso with signs, for the columns :math:`\hat b_j x_j`.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Rows.
    y : array-like of shape (n_samples,)
        Targets.
    alpha : float
        The weight :math:`\alpha \ge 0` of the penalty, as in
        :class:`sklearn.linear_model.Lasso`.
    initial : array-like of shape (n_features,), default=None
        The coefficients :math:`\hat b`; None for least squares, of smallest norm where
        there are several.
    tol : float, default=1e-8
        Tolerance of the duality gap, see :class:`sklearn.linear_model.Lasso`.
    max_iter : int, default=10000
        Largest number of cycles.

    Returns
    -------
    solution : GarroteSolution
        The factors and the coefficients.

    Warns
    -----
    ConvergenceWarning
        If `max_iter` was reached.

    References
    ----------
    .. [1] L. Breiman, "Better subset regression using the nonnegative garrote",
       Technometrics 37 (1995). :doi:`10.1080/00401706.1995.10484371`

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.regression import nonnegative_garrote
    >>> nonnegative_garrote(np.eye(3), [2.0, -2.0, 0.5], alpha=1 / 3).factors
    array([0.75, 0.75, 0.  ])
    """
    X, y = check_problem(X, y)
    check_number("alpha", alpha, 0)
    if initial is None:
        initial = least_squares(X, y)
    b = np.asarray(initial, dtype=np.float64)
    if b.shape != (X.shape[1],):
        raise ValueError(
            f"initial must hold one coefficient per feature, {X.shape[1]}; got shape "
            f"{b.shape}."
        )
    scaled = X * b
    if not scaled.any():
        return GarroteSolution(np.zeros(b.size), np.zeros(b.size), 1)
    if alpha == 0:  # no lasso, where coordinate descent may take a while
        factors = nnls(scaled, y)[0]
        return GarroteSolution(factors, factors * b, 1)
    model = Lasso(alpha, positive=True, fit_intercept=False, tol=tol, max_iter=max_iter)
    factors = model.fit(scaled, y).coef_
    return GarroteSolution(factors, factors * b, int(model.n_iter_))


class BridgeRegression(PenalizedRegressor):
    r"""Linear regression with a power of the coefficients as the penalty.

    .. math::
        \min_{b, b_0} \frac{1}{2 n} \|y - X b - b_0\|^2
        + \alpha \sum_j |b_j|^\gamma, \qquad \gamma \ge 1

    over the n rows with a target. Between the lasso (:math:`\gamma = 1`) and ridge
    regression (:math:`\gamma = 2`) small coefficients are shrunk more than by ridge,
    but none is exactly zero.

    Parameters
    ----------
    alpha : float, default=1.0
        Weight of the penalty, as in :class:`sklearn.linear_model.Lasso`.
    gamma : float, default=1.5
        The power, at least 1.
    fit_intercept : bool, default=True
        Whether to fit :math:`b_0`, which is not penalised.
    max_iter : int, default=10000
        Largest number of cycles over the coefficients.
    tol : float, default=1e-8
        See :func:`bridge_regression`.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        The coefficients b.
    intercept_ : float
        The intercept :math:`b_0`.
    n_iter_ : int
        Number of cycles.
    violation_ : float
        Largest violation of the optimality conditions, see `PenalizedSolution`.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, where `X` had any.

    See Also
    --------
    bridge_regression : The solver.
    sklearn.linear_model.Lasso : The same with ``gamma=1``.
    sklearn.linear_model.Ridge : With ``gamma=2``; its alpha is 2 n times this one.

    References
    ----------
    .. [1] I. E. Frank and J. H. Friedman, "A statistical view of some chemometrics
       regression tools", Technometrics 35 (1993).
       :doi:`10.1080/00401706.1993.10485033`

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.regression import BridgeRegression
    >>> X = np.random.default_rng(0).normal(size=(50, 3))
    >>> y = X @ [2.0, 0.1, 0.0]
    >>> BridgeRegression(alpha=0.1, gamma=1.2).fit(X, y).coef_.round(2)
    array([1.89, 0.03, 0.  ])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **PENALTY_CONSTRAINTS,
        "gamma": [Interval(Real, 1, None, closed="left")],
    }

    def __init__(
        self,
        alpha: float = 1.0,
        *,
        gamma: float = 1.5,
        fit_intercept: bool = True,
        max_iter: int = 10_000,
        tol: float = 1e-8,
    ) -> None:
        self.alpha = alpha
        self.gamma = gamma
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.tol = tol

    def _solve(self, X: Floats, y: Floats) -> PenalizedSolution:
        return bridge_regression(X, y, **self._solver_params())


class BerhuRegressor(PenalizedRegressor):
    r"""Linear regression with the reverse of Huber's function as the penalty.

    .. math::
        \min_{b, b_0} \frac{1}{2 n} \|y - X b - b_0\|^2 + \alpha \sum_j B_\delta(b_j),
        \qquad
        B_\delta(b) = \begin{cases} |b| & |b| \le \delta \\
        (b^2 + \delta^2) / (2 \delta) & |b| > \delta \end{cases}

    over the n rows with a target. Small coefficients become zero, as with the lasso;
    large ones share their weight between correlated features, as with ridge
    regression.

    Parameters
    ----------
    alpha : float, default=1.0
        Weight of the penalty, as in :class:`sklearn.linear_model.Lasso`.
    delta : float, default=1.0
        Size of a coefficient from which on the penalty grows like a square. It has the
        unit of the coefficients: scale features and targets first.
    fit_intercept : bool, default=True
        Whether to fit :math:`b_0`, which is not penalised.
    max_iter : int, default=10000
        Largest number of cycles over the coefficients.
    tol : float, default=1e-8
        See :func:`berhu_regression`.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        The coefficients b.
    intercept_ : float
        The intercept :math:`b_0`.
    n_iter_ : int
        Number of cycles.
    violation_ : float
        Largest violation of the optimality conditions, see `PenalizedSolution`.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, where `X` had any.

    See Also
    --------
    berhu_regression : The solver.
    sklearn.linear_model.ElasticNet : The sum of both penalties.

    References
    ----------
    .. [1] A. B. Owen, "A robust hybrid of lasso and ridge regression", Contemp. Math.
       443 (2007). :doi:`10.1090/conm/443/08555`

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.regression import BerhuRegressor
    >>> x = np.random.default_rng(0).normal(size=(50, 2))
    >>> X = x[:, [0, 0, 1]]  # a feature and its copy
    >>> BerhuRegressor(alpha=0.1, delta=0.5).fit(X, 4 * x[:, 0]).coef_.round(2)
    array([1.79, 1.79, 0.  ])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **PENALTY_CONSTRAINTS,
        "delta": [Interval(Real, 0, None, closed="neither")],
    }

    def __init__(
        self,
        alpha: float = 1.0,
        *,
        delta: float = 1.0,
        fit_intercept: bool = True,
        max_iter: int = 10_000,
        tol: float = 1e-8,
    ) -> None:
        self.alpha = alpha
        self.delta = delta
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.tol = tol

    def _solve(self, X: Floats, y: Floats) -> PenalizedSolution:
        return berhu_regression(X, y, **self._solver_params())


class NonNegativeGarrote(LinearRegressor):
    r"""Least squares whose coefficients are shrunk by factors, some of them to zero.

    .. math::
        \min_c \frac{1}{2 n} \Big\| y - b_0 - \sum_j x_j c_j \hat b_j \Big\|^2
        + \alpha \sum_j c_j \quad \text{subject to} \quad c_j \ge 0

    with the coefficients :math:`\hat b` of least squares, over the n rows with a
    target. A large coefficient is shrunk less than by the lasso, and none changes its
    sign. The method is only as good as its start: with more features than rows, or with
    features that are nearly dependent, least squares is a poor one.

    Parameters
    ----------
    alpha : float, default=1.0
        Weight of the penalty.
    fit_intercept : bool, default=True
        Whether to fit :math:`b_0`, which is not penalised.
    max_iter : int, default=10000
        Largest number of cycles over the factors.
    tol : float, default=1e-8
        Tolerance of the duality gap, see :class:`sklearn.linear_model.Lasso`.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        The coefficients :math:`c_j \hat b_j`.
    intercept_ : float
        The intercept :math:`b_0`.
    factors_ : ndarray of shape (n_features,)
        The factors c.
    initial_coef_ : ndarray of shape (n_features,)
        The coefficients of least squares.
    n_iter_ : int
        Number of cycles.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, where `X` had any.

    See Also
    --------
    nonnegative_garrote : The solver, which takes any start.

    References
    ----------
    .. [1] L. Breiman, "Better subset regression using the nonnegative garrote",
       Technometrics 37 (1995). :doi:`10.1080/00401706.1995.10484371`

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.regression import NonNegativeGarrote
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(50, 3))
    >>> y = X @ [2.0, -1.0, 0.0] + 0.1 * rng.normal(size=50)
    >>> NonNegativeGarrote(alpha=0.1).fit(X, y).factors_.round(2)
    array([0.97, 0.85, 0.  ])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = PENALTY_CONSTRAINTS

    def __init__(
        self,
        alpha: float = 1.0,
        *,
        fit_intercept: bool = True,
        max_iter: int = 10_000,
        tol: float = 1e-8,
    ) -> None:
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.tol = tol

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: ArrayLike) -> Self:
        """Fit least squares, then the factors.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training rows.
        y : array-like of shape (n_samples,)
            Targets; rows where it is NaN are left out.

        Returns
        -------
        self : object
            The fitted regressor.
        """
        data = self._center(X, y)
        self.initial_coef_ = least_squares(data.X, data.y)
        self.factors_, coef, self.n_iter_ = nonnegative_garrote(
            data.X, data.y, initial=self.initial_coef_, **self._solver_params()
        )
        self._keep(coef, data.X_mean, data.y_mean)
        return self
