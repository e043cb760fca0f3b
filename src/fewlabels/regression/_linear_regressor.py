"""What the linear regressors share."""

# SPDX-License-Identifier: BSD-3-Clause

from numbers import Real
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator

from fewlabels._labels import validate_partial_targets
from fewlabels._linalg import deviations
from fewlabels._params import usual
from fewlabels._regressor import PartialTargetMixin
from fewlabels._sklearn import Interval, check_array, fit_context, validate_fitted
from fewlabels.exceptions import warn_not_converged

Floats = NDArray[np.float64]

# What the penalised regressors share.
PENALTY_CONSTRAINTS: dict[str, list[Any]] = {
    **usual("alpha", "fit_intercept", "max_iter"),
    "tol": [Interval(Real, 0, None, closed="neither")],
}


class PenalizedSolution(NamedTuple):
    r"""Coefficients that minimise penalised least squares.

    Attributes
    ----------
    coef : ndarray of shape (n_features,)
        The coefficients.
    n_iter : int
        Cycles over all coefficients.
    violation : float
        How far the worst coefficient, or group, is from its optimality condition, in
        the last cycle and relative to the largest entry of :math:`|X^\top y|`.
    """

    coef: Floats
    n_iter: int
    violation: float


class Centered(NamedTuple):
    """Rows and targets with their means subtracted.

    Attributes
    ----------
    X : ndarray of shape (n_labeled, n_features)
        The rows that have a target.
    y : ndarray of shape (n_labeled,)
        Their targets.
    X_mean : ndarray of shape (n_features,)
        Mean of each feature; zeros without an intercept.
    y_mean : float
        Mean of the targets.
    """

    X: Floats
    y: Floats
    X_mean: Floats
    y_mean: float


def check_problem(X: ArrayLike, y: ArrayLike) -> tuple[Floats, Floats]:
    """Read the arrays of a least-squares problem, the columns of X in memory order."""
    X = np.asarray(check_array(X, dtype=np.float64, order="F"))
    y = np.asarray(check_array(y, dtype=np.float64, ensure_2d=False, input_name="y"))
    if y.shape != (X.shape[0],):
        raise ValueError(
            f"y must hold one number per row of X; got shapes {y.shape} and {X.shape}."
        )
    return X, y


def warn_above_tol(what: str, max_iter: int, reached: float, tol: float) -> None:
    """Warn if what an iteration reached is above its tolerance."""
    if reached > tol:
        warn_not_converged(
            f"No convergence in max_iter={max_iter} iterations: {what} is "
            f"{reached:.2g}, which is above tol={tol:.2g}. Increase max_iter or tol, "
            "or scale the features.",
            stacklevel=4,
        )


class LinearRegressor(PartialTargetMixin, BaseEstimator):
    """A linear model some of whose training targets may be missing."""

    fit_intercept: bool
    coef_: Floats
    intercept_: float

    def _labeled(
        self, X: Any, y: ArrayLike, accept_sparse: Any = False
    ) -> tuple[Any, Floats]:
        """Validate rows and targets, and return those that have a target."""
        X, targets = validate_partial_targets(
            self, X, y, accept_sparse=accept_sparse, dtype=np.float64
        )
        known = ~np.isnan(targets)
        return X[known], targets[known]

    def _center(self, X: Any, y: ArrayLike) -> Centered:
        X, targets = self._labeled(X, y)
        if not self.fit_intercept:
            return Centered(X, targets, np.zeros(X.shape[1]), 0.0)
        X_mean, y_mean = X.mean(axis=0), float(targets.mean())
        return Centered(deviations(X, X_mean), targets - y_mean, X_mean, y_mean)

    def _keep(self, coef: NDArray[Any], X_mean: NDArray[Any], y_mean: float) -> None:
        self.coef_ = coef
        self.intercept_ = y_mean - float(X_mean @ coef)

    def _solver_params(self) -> dict[str, Any]:
        params = self.get_params()
        del params["fit_intercept"]
        return params

    def predict(self, X: Any) -> Floats:
        """Predict the target of every row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            The predictions.
        """
        accept = "csr" if self.__sklearn_tags__().input_tags.sparse else False
        X = validate_fitted(self, X, accept_sparse=accept, dtype=np.float64)
        return X @ self.coef_ + self.intercept_


class PenalizedRegressor(LinearRegressor):
    """Least squares plus `alpha` times a penalty; a subclass names the solver."""

    def _solve(self, X: Floats, y: Floats) -> PenalizedSolution:
        raise NotImplementedError

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: ArrayLike) -> Self:
        """Fit the coefficients.

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
        coef, self.n_iter_, self.violation_ = self._solve(data.X, data.y)
        self._keep(coef, data.X_mean, data.y_mean)
        return self
