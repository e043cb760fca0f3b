"""Group lasso: features are kept or dropped in groups."""

# SPDX-License-Identifier: BSD-3-Clause

from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import column_or_1d

from fewlabels._linalg import thin_svd
from fewlabels._params import check_number
from fewlabels.regression._linear_regressor import (
    PENALTY_CONSTRAINTS,
    Floats,
    PenalizedRegressor,
    PenalizedSolution,
    check_problem,
    warn_above_tol,
)


def group_lasso(
    X: ArrayLike,
    y: ArrayLike,
    alpha: float,
    groups: ArrayLike | None = None,
    *,
    tol: float = 1e-8,
    max_iter: int = 10_000,
) -> PenalizedSolution:
    r"""Minimise least squares with the lengths of groups of coefficients as penalty.

    .. math::
        \min_b \frac{1}{2 n} \|y - X b\|^2 + \alpha \sum_g \sqrt{p_g} \, \|b_g\|_2

    for groups of :math:`p_g` features. One group after the other is set to its best
    value. For orthonormal columns that is
    :math:`(1 - n \alpha \sqrt{p_g} / \|s_g\|)_+ \, s_g` with
    :math:`s_g = X_g^\top r_g`; the columns of other groups are rotated until they
    are orthogonal, which leaves the penalty as it is, and the length of :math:`b_g`
    solves an equation with one unknown.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Rows.
    y : array-like of shape (n_samples,)
        Targets.
    alpha : float
        The weight :math:`\alpha \ge 0` of the penalty, as in
        :class:`sklearn.linear_model.Lasso`.
    groups : array-like of shape (n_features,), default=None
        A name of its group for every feature; None for groups of one, the lasso.
    tol : float, default=1e-8
        Stop where no group violates its optimality condition by more than this,
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
    .. [1] M. Yuan and Y. Lin, "Model selection and estimation in regression with
       grouped variables", J. R. Stat. Soc. B 68 (2006).
       :doi:`10.1111/j.1467-9868.2005.00532.x`

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.regression import group_lasso
    >>> y = np.array([3.0, 4.0, 0.6, 0.8])
    >>> group_lasso(np.eye(4), y, alpha=0.25, groups=["a", "a", "b", "b"]).coef.round(2)
    array([2.15, 2.87, 0.  , 0.  ])
    """
    from fewlabels._loops.regression import group_cycles

    X, y = check_problem(X, y)
    check_number("alpha", alpha, 0)
    members = _members(groups, X.shape[1])
    scale = float(np.abs(X.T @ y).max())
    if scale == 0:
        return PenalizedSolution(np.zeros(X.shape[1]), 1, 0.0)
    parts = [_orthogonal_columns(X[:, inside]) for inside in members]
    starts = np.cumsum([0, *(lengths.size for _, lengths, _ in parts)])
    rotated = np.zeros(starts[-1])
    # For y and alpha divided by a number, so is the solution: no square can overflow.
    n_iter, violation = group_cycles(
        np.ascontiguousarray(np.vstack([columns.T for columns, _, _ in parts])),
        y / scale,
        rotated,
        starts,
        np.concatenate([lengths**2 for _, lengths, _ in parts]),
        alpha * y.size / scale * np.sqrt([inside.size for inside in members]),
        tol,
        max_iter,
    )
    warn_above_tol("the violation", max_iter, violation, tol)
    coef = np.zeros(X.shape[1])
    for inside, (_, _, V), b in zip(
        members, parts, np.split(rotated, starts[1:-1]), strict=True
    ):
        coef[inside] = scale * (V @ b)
    return PenalizedSolution(coef, n_iter, violation)


def _members(groups: ArrayLike | None, n_features: int) -> list[NDArray[np.intp]]:
    """Features of every group."""
    if groups is None:
        return list(np.arange(n_features)[:, None])
    names = column_or_1d(np.asarray(groups))
    if names.size != n_features:
        raise ValueError(
            f"groups must name a group for each of the {n_features} features, got "
            f"{names.size} names."
        )
    return [np.flatnonzero(names == name) for name in np.unique(names)]


def _orthogonal_columns(X: Floats) -> tuple[Floats, Floats, Floats]:
    """Rotate columns until they are orthogonal: X V, their lengths, and V."""
    if X.shape[1] == 1:
        length = np.linalg.norm(X, axis=0)
        kept = length > 0
        return X[:, kept], length[kept], np.ones((1, int(kept.sum())))
    U, lengths, Vt = thin_svd(X)
    return U * lengths, lengths, Vt.T


class GroupLasso(PenalizedRegressor):
    r"""Linear regression that keeps or drops features in groups.

    .. math::
        \min_{b, b_0} \frac{1}{2 n} \|y - X b - b_0\|^2
        + \alpha \sum_g \sqrt{p_g} \, \|b_g\|_2

    for groups of :math:`p_g` features, over the n rows with a target. A group is a set
    of features that belong together: the columns that stand for one category, the
    powers of one feature, the lags of one series.

    Parameters
    ----------
    alpha : float, default=1.0
        Weight of the penalty, as in :class:`sklearn.linear_model.Lasso`.
    groups : array-like of shape (n_features,), default=None
        A name of its group for every feature; None for groups of one, the lasso.
    fit_intercept : bool, default=True
        Whether to fit :math:`b_0`, which is not penalised.
    max_iter : int, default=10000
        Largest number of cycles over the groups.
    tol : float, default=1e-8
        See :func:`group_lasso`.

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
    group_lasso : The solver.

    References
    ----------
    .. [1] M. Yuan and Y. Lin, "Model selection and estimation in regression with
       grouped variables", J. R. Stat. Soc. B 68 (2006).
       :doi:`10.1111/j.1467-9868.2005.00532.x`

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.regression import GroupLasso
    >>> X = np.random.default_rng(0).normal(size=(50, 4))
    >>> y = X @ [2.0, 0.2, 0.0, 0.0]
    >>> GroupLasso(alpha=0.1, groups=[0, 0, 1, 1]).fit(X, y).coef_.round(1)
    array([1.8, 0.2, 0. , 0. ])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **PENALTY_CONSTRAINTS,
        "groups": ["array-like", None],
    }

    def __init__(
        self,
        alpha: float = 1.0,
        *,
        groups: ArrayLike | None = None,
        fit_intercept: bool = True,
        max_iter: int = 10_000,
        tol: float = 1e-8,
    ) -> None:
        self.alpha = alpha
        self.groups = groups
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.tol = tol

    def _solve(self, X: Floats, y: Floats) -> PenalizedSolution:
        return group_lasso(X, y, **self._solver_params())
