"""What learners share that hold one classifier and hand predictions on to it."""

# SPDX-License-Identifier: BSD-3-Clause

from typing import Any

from numpy.typing import NDArray
from sklearn.base import MetaEstimatorMixin
from sklearn.linear_model import LogisticRegression
from sklearn.utils import Tags, get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from fewlabels._classifier import PartialLabelClassifier


def _inner_has(method: str) -> Any:
    def check(self: "InnerClassifier") -> bool:
        getattr(getattr(self, "estimator_", None) or self._estimator(), method)
        return True

    return available_if(check)


class InnerClassifier(MetaEstimatorMixin, PartialLabelClassifier):
    """A learner that asks for labels and predicts with the classifier it fitted."""

    estimator: Any
    estimator_: Any

    def _estimator(self) -> Any:
        return LogisticRegression() if self.estimator is None else self.estimator

    @property
    def n_features_in_(self) -> int:
        """Number of features seen by the classifier."""
        return self.estimator_.n_features_in_

    def _fitted(self) -> Any:
        check_is_fitted(self)
        return self.estimator_

    @_inner_has("predict")
    def predict(self, X: Any) -> NDArray[Any]:
        """Predict with the fitted classifier.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            The predicted classes.
        """
        return self._fitted().predict(X)

    @_inner_has("predict_proba")
    def predict_proba(self, X: Any) -> NDArray[Any]:
        """Predict probabilities with the fitted classifier.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        proba : ndarray of shape (n_samples, n_classes)
            One column for every class.
        """
        return self._fitted().predict_proba(X)

    @_inner_has("decision_function")
    def decision_function(self, X: Any) -> NDArray[Any]:
        """Compute real outputs with the fitted classifier.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        decision : ndarray of shape (n_samples,) or (n_samples, n_classes)
            The outputs.
        """
        return self._fitted().decision_function(X)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = get_tags(self._estimator()).input_tags.sparse
        return tags
