"""Inner classifiers that know classes by their index."""

# SPDX-License-Identifier: BSD-3-Clause

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.dummy import DummyClassifier


def fitted(estimator: Any, X: Any, codes: NDArray[np.intp]) -> Any:
    """Fit a copy of a classifier; a constant one where there is a single class.

    Parameters
    ----------
    estimator : classifier
        Left as it is.
    X : {ndarray, sparse matrix} of shape (n_samples, n_features)
        Rows.
    codes : ndarray of shape (n_samples,)
        Their classes.

    Returns
    -------
    model : classifier
        The fitted copy.
    """
    if np.unique(codes).size == 1:  # which many classifiers refuse
        return DummyClassifier(strategy="prior").fit(X, codes)
    return clone(estimator).fit(X, codes)


def outputs_of(model: Any, X: Any, n_classes: int) -> NDArray[np.float64]:
    """Real outputs of a classifier, for all classes and in the usual shape.

    Parameters
    ----------
    model : classifier
        Fitted to class indices, perhaps not all of them.
    X : {ndarray, sparse matrix} of shape (n_samples, n_features)
        Rows.
    n_classes : int
        Number of classes.

    Returns
    -------
    outputs : ndarray of shape (n_samples,) or (n_samples, n_classes)
        For two classes one value per row, positive for the second class. Classes that
        the model does not know get the least output.
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
