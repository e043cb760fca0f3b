"""A classifier whose y may have holes, whatever it does with the rows around them."""

# SPDX-License-Identifier: BSD-3-Clause

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import accuracy_score

from fewlabels._labels import UNLABELED, Labels, label_array, unlabeled_mask


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


class SupervisedClassifier(PartialLabelClassifier):
    """A classifier that learns from the labelled rows alone."""

    def _predict_codes(self, X: Any) -> NDArray[np.intp]:
        """Index of the class of every row, validated before; for a subclass."""
        raise NotImplementedError

    def _transduction(self, X: Any, labels: Labels) -> NDArray[Any]:
        """Label of every training row: as given, else as the fitted model predicts."""
        codes = labels.codes.copy()
        holes = np.flatnonzero(codes == UNLABELED)
        if holes.size:
            codes[holes] = self._predict_codes(X[holes])
        return labels.classes[codes]
