"""Estimators that hold another one and delegate predictions to it."""

# SPDX-License-Identifier: BSD-3-Clause

from typing import Any

from numpy.typing import NDArray
from sklearn.base import MetaEstimatorMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted


def inner_has(method: str) -> Any:
    """Offer a method only if the inner estimator has it."""

    def check(self: Any) -> bool:
        fitted = hasattr(self, "estimator_")
        getattr(self.estimator_ if fitted else self._estimator(), method)
        return True

    return available_if(check)


class InnerModelMixin(MetaEstimatorMixin):
    """Predict with a fitted inner estimator."""

    estimator: Any
    estimator_: Any

    def _estimator(self) -> Any:
        """Estimator that will be fitted."""
        return self.estimator

    @property
    def n_features_in_(self) -> int:
        """Number of features seen by the estimator."""
        return self.estimator_.n_features_in_

    def _fitted(self) -> Any:
        check_is_fitted(self)
        return self.estimator_

    def _inner_rows(self, X: Any) -> Any:
        """Convert rows to the form the inner estimator accepts."""
        return X

    @inner_has("predict")
    def predict(self, X: Any) -> NDArray[Any]:
        """Predict with the fitted estimator.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows; for a precomputed kernel their kernel with all training rows.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            The predictions.
        """
        return self._fitted().predict(self._inner_rows(X))

    @inner_has("predict_proba")
    def predict_proba(self, X: Any) -> NDArray[Any]:
        """Predict probabilities with the fitted estimator.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows; for a precomputed kernel their kernel with all training rows.

        Returns
        -------
        proba : ndarray of shape (n_samples, n_classes)
            One column for every class.
        """
        return self._fitted().predict_proba(self._inner_rows(X))

    @inner_has("decision_function")
    def decision_function(self, X: Any) -> NDArray[Any]:
        """Compute real outputs with the fitted estimator.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows; for a precomputed kernel their kernel with all training rows.

        Returns
        -------
        decision : ndarray of shape (n_samples,) or (n_samples, n_classes)
            The outputs.
        """
        return self._fitted().decision_function(self._inner_rows(X))
