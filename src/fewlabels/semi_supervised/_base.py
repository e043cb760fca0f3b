"""What the classifiers for few labels share."""

# SPDX-License-Identifier: BSD-3-Clause

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import accuracy_score
from sklearn.utils import Tags

from fewlabels._labels import decide, label_array, unlabeled_mask
from fewlabels.kernels._functions import is_precomputed


def as_decision(outputs: NDArray[Any]) -> NDArray[Any]:
    """One column per class, or a plain vector for up to two classes.

    Parameters
    ----------
    outputs : ndarray of shape (n_samples, n_targets)
        Outputs of one-vs-rest problems.

    Returns
    -------
    decision : ndarray of shape (n_samples,) or (n_samples, n_targets)
        The same as scikit-learn's `decision_function` returns it.
    """
    return outputs[:, 0] if outputs.shape[1] == 1 else outputs


class PartialLabelClassifier(ClassifierMixin, BaseEstimator):
    """A classifier with a `y` that may have holes."""

    classes_: NDArray[Any]

    def score(
        self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> float:
        """Accuracy on the rows that have a label; the others do not count.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows, as `predict` takes them.
        y : array-like of shape (n_samples,)
            True labels, perhaps with holes.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        score : float
            Share of right predictions among labelled rows.
        """
        known = ~unlabeled_mask(y)
        if not known.any():
            raise ValueError("y has no labelled row to score: pass some true labels.")
        truth = label_array(y)[known]
        if truth.dtype.kind == "O" and self.classes_.dtype.kind != "O":
            truth = np.asarray(truth.tolist())
        weights = None if sample_weight is None else np.asarray(sample_weight)[known]
        return accuracy_score(truth, self.predict(X)[known], sample_weight=weights)


class KernelClassifier(PartialLabelClassifier):
    """A classifier with a kernel, real outputs and a `y` that may have holes."""

    kernel: Any

    def decision_function(self, X: Any) -> NDArray[Any]:
        """Compute real outputs, as a subclass defines them.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        decision : ndarray of shape (n_samples,) or (n_samples, n_classes)
            For up to two classes one value per row, positive for `classes_[1]`.
        """
        raise NotImplementedError

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the class of every row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows; for a precomputed kernel their kernel with all training rows.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            The predicted classes.
        """
        decision = self.decision_function(X)
        return decide(decision, self.classes_)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = is_precomputed(self.kernel)
        tags.input_tags.sparse = True
        return tags
