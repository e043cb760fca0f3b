"""Classifiers whose y may have missing labels, and inner ones on class indices."""

# SPDX-License-Identifier: BSD-3-Clause

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.dummy import DummyClassifier
from sklearn.metrics import accuracy_score
from sklearn.utils import get_tags

from fewlabels._labels import Labels, decide, label_array, unlabeled_mask

# Probabilities closer than this count as equal: iteratively trained models have no more
# digits, and rounding would decide what is learnt.
SURENESS_TOL = 1e-6


def as_decision(outputs: NDArray[Any]) -> NDArray[Any]:
    """One column per class, or a plain vector for up to two classes."""
    return outputs[:, 0] if outputs.shape[1] == 1 else outputs


class PartialLabelClassifier(ClassifierMixin, BaseEstimator):
    """A classifier whose `y` may have missing labels."""

    classes_: NDArray[Any]

    def score(
        self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> float:
        """Accuracy on the rows that have a label; the others do not count.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows in the form `predict` accepts.
        y : array-like of shape (n_samples,)
            True labels, some of which may be missing.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        score : float
            Share of correct predictions among labelled rows.
        """
        known = ~unlabeled_mask(y)
        if not known.any():
            raise ValueError("y has no labelled row to score: pass some true labels.")
        truth = label_array(y)[known]
        if truth.dtype.kind == "O" and self.classes_.dtype.kind != "O":
            truth = np.asarray(truth.tolist())
        weights = None if sample_weight is None else np.asarray(sample_weight)[known]
        return accuracy_score(truth, self.predict(X)[known], sample_weight=weights)


class InductiveClassifier(PartialLabelClassifier):
    """A classifier that predicts training rows without a label like new rows."""

    def _validated(self, X: Any) -> Any:
        """Check that the model is fitted, and validate new rows."""
        raise NotImplementedError

    def _predict(self, X: Any) -> NDArray[Any]:
        """Predict the classes of validated rows."""
        raise NotImplementedError

    def _transduction(self, X: Any, labels: Labels) -> NDArray[Any]:
        """Label of every training row: given or predicted."""
        return labels.completed(lambda free: self._predict(X[free]))

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the class of every row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows like those of `fit`; for a precomputed kernel, their kernel with all
            training rows.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            The predicted classes.
        """
        return self._predict(self._validated(X))


class DecisionClassifier(InductiveClassifier):
    """A classifier that predicts by real outputs."""

    def _decision(self, X: Any) -> NDArray[Any]:
        """Compute the outputs of validated rows."""
        raise NotImplementedError

    def _predict(self, X: Any) -> NDArray[Any]:
        return decide(self._decision(X), self.classes_)

    def decision_function(self, X: Any) -> NDArray[Any]:
        """Compute the real outputs, the largest for the predicted class.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows like those of `fit`; for a precomputed kernel, their kernel with all
            training rows.

        Returns
        -------
        decision : ndarray of shape (n_samples,) or (n_samples, n_classes)
            With up to two classes, one value per row, positive for `classes_[1]`.
        """
        return self._decision(self._validated(X))


def accepts_sparse(*estimators: Any) -> bool:
    """Whether all given estimators accept sparse rows."""
    return all(
        get_tags(estimator).input_tags.sparse
        for estimator in estimators
        if estimator is not None
    )


def fitted(estimator: Any, X: Any, codes: NDArray[np.intp]) -> Any:
    """Fit a copy of a classifier, or a constant one if there is a single class."""
    if np.unique(codes).size == 1:  # many classifiers refuse a single class
        return DummyClassifier(strategy="prior").fit(X, codes)
    return clone(estimator).fit(X, codes)


def _about_best(proba: NDArray[Any]) -> NDArray[np.bool_]:
    """Which classes tie for the largest probability, to six digits."""
    return proba >= proba.max(axis=1, keepdims=True) - SURENESS_TOL


def most_probable(proba: NDArray[Any]) -> NDArray[np.intp]:
    """Index of the most probable class, or the first of those equal to six digits."""
    return _about_best(proba).argmax(axis=1)


def vote_of(model: Any, X: Any) -> NDArray[Any]:
    """Class indices predicted by a classifier; ties go to the first class."""
    codes = model.predict(X)
    if not hasattr(model, "predict_proba"):
        return codes
    about_best = _about_best(model.predict_proba(X))
    # Some predict by a rule other than their probabilities: that rule is their vote.
    by_proba = (about_best & np.equal.outer(codes, model.classes_)).any(axis=1)
    return np.where(by_proba, model.classes_[about_best.argmax(axis=1)], codes)


def falling_ranks(values: NDArray[Any]) -> NDArray[np.intp]:
    """Ranks by decreasing value; values equal to six digits share a rank."""
    order = np.argsort(-values, kind="stable")
    ranks = np.zeros(values.size, dtype=np.intp)
    ranks[order[1:]] = np.cumsum(-np.diff(values[order]) > SURENESS_TOL)
    return ranks


def by_sureness(sure: NDArray[Any]) -> NDArray[np.intp]:
    """Sort rows by decreasing confidence, stably for those equal to six digits."""
    return np.argsort(falling_ranks(sure), kind="stable")


def exact_weights(weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Round weights to multiples of a power of two, so that all sums are exact.

    Trees choose splits by such sums: the order in which rows are added must not decide
    between equally good ones.
    """
    unit = 2.0 ** (np.frexp(weights.sum())[1] - np.finfo(np.float64).nmant)
    return np.round(weights / unit) * unit


def outputs_of(model: Any, X: Any, n_classes: int) -> NDArray[np.float64]:
    """Real outputs of a classifier for all classes, in the usual shape.

    Parameters
    ----------
    model : classifier
        Fitted to class indices, possibly not all of them.
    X : {ndarray, sparse matrix} of shape (n_samples, n_features)
        Rows.
    n_classes : int
        Number of classes.

    Returns
    -------
    outputs : ndarray of shape (n_samples,) or (n_samples, n_classes)
        For two classes, one value per row, positive for the second class. Classes the
        model has not seen get the smallest output.
    """
    n = X.shape[0]
    if hasattr(model, "decision_function"):
        known = np.asarray(model.decision_function(X), dtype=np.float64)
    elif hasattr(model, "predict_proba"):
        known = np.asarray(model.predict_proba(X), dtype=np.float64)
    else:
        known = np.equal.outer(model.predict(X), model.classes_).astype(np.float64)
    if known.ndim == 1:
        known = np.column_stack([-known / 2, known / 2])
    least = known.min(axis=1, keepdims=True) - 1 if known.size else known
    outputs = np.repeat(least, n_classes, axis=1) if n else np.empty((0, n_classes))
    outputs[:, model.classes_] = known
    return outputs[:, 1] - outputs[:, 0] if n_classes == 2 else outputs
