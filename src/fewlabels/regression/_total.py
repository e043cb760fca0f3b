"""Total least squares: errors in the features as well as in the targets."""

# SPDX-License-Identifier: BSD-3-Clause

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import linalg

from fewlabels._linalg import thin_svd
from fewlabels._sklearn import fit_context
from fewlabels.regression._linear_regressor import LinearRegressor, check_problem


def total_least_squares(X: ArrayLike, y: ArrayLike) -> NDArray[np.float64]:
    r"""Fit a linear model where features have errors as large as the targets.

    The smallest change of both X and y that makes the equations hold,

    .. math::
        \min_{E, e, b} \|[E, e]\|_F^2 \quad \text{subject to} \quad (X + E) b = y + e,
        \qquad \text{which is} \qquad
        \min_b \frac{\|y - X b\|^2}{1 + \|b\|^2}

    It is :math:`b = (X^\top X - s^2 I)^{-1} X^\top y` with the smallest singular value
    s of [X, y]. This is computed from the singular value decomposition of X, without
    products of X with itself. Where the columns of X are dependent, b is sought in the
    span of the rows.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Rows, without a column of ones: subtract the means instead.
    y : array-like of shape (n_samples,)
        Targets.

    Returns
    -------
    coef : ndarray of shape (n_features,)
        The coefficients b.

    Raises
    ------
    ValueError
        If no solution exists: y has no component along the weakest direction of X, and
        is farther from the span of X than the singular value of that direction.

    See Also
    --------
    TotalLeastSquares : The estimator.

    References
    ----------
    .. [1] G. H. Golub and C. F. Van Loan, "An analysis of the total least squares
       problem", SIAM Journal on Numerical Analysis 17 (1980).
       :doi:`10.1137/0717073`

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.regression import total_least_squares
    >>> x, y = np.array([-1.0, 0.0, 1.0]), np.array([-2.5, 0.5, 2.0])
    >>> there = total_least_squares(x[:, None], y)
    >>> back = total_least_squares(y[:, None], x)
    >>> float((there * back)[0].round(12))  # the same line, whichever is the target
    1.0
    """
    X, y = check_problem(X, y)
    U, s, Vt = thin_svd(X)
    rank = s.size
    if rank == 0:
        return np.zeros(X.shape[1])
    # [X, y] in the orthonormal basis of U and the rest of y.
    inside = U.T @ y
    augmented = np.zeros((rank + 1, rank + 1))
    augmented[:rank, :rank] = np.diag(s)
    augmented[:rank, -1] = inside
    augmented[-1, -1] = linalg.norm(y - U @ inside)
    t = linalg.svdvals(augmented, check_finite=False)
    gaps = s - t[-1]
    if gaps[-1] <= max(max(X.shape) * np.finfo(np.float64).eps * s[0], 1e-14 * t[0]):
        raise ValueError(
            "There is no total least squares solution: the smallest singular value of "
            f"[X, y], {t[-1]:.3g}, is not below that of X, {s[-1]:.3g}. Scale y down "
            "or X up, drop features, or use ridge regression."
        )
    # For a y much smaller than X, a singular vector of both would lose all digits.
    return Vt.T @ (s * inside / (gaps * (s + t[-1])))


class TotalLeastSquares(LinearRegressor):
    r"""Linear regression where the features have errors as large as the targets.

    .. math::
        \min_{b, b_0} \frac{\sum_i (y_i - x_i^\top b - b_0)^2}{1 + \|b\|^2}

    Distances to the fitted plane are measured at right angles, not along the target.
    Ordinary least squares finds coefficients that are too small when features are
    noisy; this removes the bias if all errors are independent and of one variance.

    Parameters
    ----------
    fit_intercept : bool, default=True
        Whether to fit :math:`b_0`, which has no error: the means are subtracted.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        The coefficients b.
    intercept_ : float
        The intercept :math:`b_0`.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, where `X` had any.

    See Also
    --------
    total_least_squares : The solver, and when there is no solution.

    Notes
    -----
    The result depends on the units of features and targets: scale them so that their
    errors are of one size.

    References
    ----------
    .. [1] G. H. Golub and C. F. Van Loan, "An analysis of the total least squares
       problem", SIAM Journal on Numerical Analysis 17 (1980).
       :doi:`10.1137/0717073`

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LinearRegression
    >>> from fewlabels.regression import TotalLeastSquares
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=1000)
    >>> X = (x + rng.normal(scale=0.5, size=1000))[:, None]  # the feature is measured
    >>> y = 2 * x + rng.normal(scale=0.5, size=1000)
    >>> float(TotalLeastSquares().fit(X, y).coef_[0].round(1))
    1.9
    >>> float(LinearRegression().fit(X, y).coef_[0].round(1))
    1.5
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "fit_intercept": ["boolean"]
    }

    def __init__(self, *, fit_intercept: bool = True) -> None:
        self.fit_intercept = fit_intercept

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: ArrayLike) -> Self:
        """Fit the plane.

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
        self._keep(total_least_squares(data.X, data.y), data.X_mean, data.y_mean)
        return self
