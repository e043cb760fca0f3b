"""Scores of a fitted least-squares model that need no held-out rows."""

# SPDX-License-Identifier: BSD-3-Clause

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.metrics import accuracy_score
from sklearn.utils.validation import check_is_fitted

from fewlabels._labels import decide, signed_targets


def _left_out(estimator: Any) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Return outputs, labels and classes of the labelled rows of a fitted model."""
    check_is_fitted(estimator)
    missing = [
        name
        for name in ("loo_outputs_", "labeled_indices_", "transduction_")
        if not hasattr(estimator, name)
    ]
    if missing:
        raise ValueError(
            f"{type(estimator).__name__} has no {missing[0]}: exact leave-one-out "
            "scores are for least-squares models such as RLSClassifier. In a "
            "pipeline, score the last step; for other models use LabeledKFold."
        )
    labels = estimator.transduction_[estimator.labeled_indices_]
    return estimator.loo_outputs_, labels, estimator.classes_


def loo_accuracy_score(
    estimator: Any, X: Any = None, y: ArrayLike | None = None
) -> float:
    """Compute the exact leave-one-out accuracy on the labelled training rows.

    Every labelled row is predicted by the model trained without it (with the same
    parameters), which least squares gives in closed form. It is a scorer: pass it as
    `scoring`, with :class:`TrainOnAll` as `cv`.

    Parameters
    ----------
    estimator : estimator instance
        A fitted classifier with `loo_outputs_`, such as
        :class:`fewlabels.semi_supervised.RLSClassifier`.
    X : object, default=None
        Ignored: the model has its labelled rows.
    y : object, default=None
        Ignored.

    Returns
    -------
    score : float
        Between 0 and 1; NaN if there is a single labelled row.

    See Also
    --------
    loo_neg_squared_error : Smoother, and better at comparing parameters.

    Notes
    -----
    With few labels, many parameters tie. The maximum over parameters is not an estimate
    of the accuracy: it is too optimistic.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from fewlabels.datasets import hide_labels
    >>> from fewlabels.model_selection import loo_accuracy_score
    >>> from fewlabels.semi_supervised import RLSClassifier
    >>> X, y_true = make_moons(200, noise=0.1, random_state=0)
    >>> y = hide_labels(y_true, n_labeled=20, random_state=0)
    >>> loo_accuracy_score(RLSClassifier(gamma=1.0).fit(X, y))
    1.0
    """
    outputs, labels, classes = _left_out(estimator)
    if np.isnan(outputs).any():
        return np.nan
    return float(accuracy_score(labels, decide(outputs, classes)))


def loo_neg_squared_error(
    estimator: Any, X: Any = None, y: ArrayLike | None = None
) -> float:
    r"""Compute the exact negative leave-one-out mean squared error.

    .. math::
        -\frac{1}{l k} \sum_{i=1}^{l} \sum_{c=1}^{k} (y_{ic} - f_c^{(-i)}(x_i))^2,
        \qquad y_{ic} \in \{-1, +1\}

    with :math:`f^{(-i)}` trained without row i, and one target per class (a single one
    for two). It is a scorer: pass it as `scoring`, with :class:`TrainOnAll` as `cv`.

    Parameters
    ----------
    estimator : estimator instance
        A fitted classifier with `loo_outputs_`, such as
        :class:`fewlabels.semi_supervised.RLSClassifier`.
    X : object, default=None
        Ignored: the model has its labelled rows.
    y : object, default=None
        Ignored.

    Returns
    -------
    score : float
        At most 0, larger is better; NaN if there is a single labelled row.

    See Also
    --------
    loo_accuracy_score : The same for predicted classes.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from fewlabels.datasets import hide_labels
    >>> from fewlabels.model_selection import loo_neg_squared_error
    >>> from fewlabels.semi_supervised import RLSClassifier
    >>> X, y_true = make_moons(200, noise=0.1, random_state=0)
    >>> y = hide_labels(y_true, n_labeled=20, random_state=0)
    >>> narrow = RLSClassifier(gamma=100.0).fit(X, y)
    >>> wide = RLSClassifier(gamma=1.0).fit(X, y)
    >>> loo_neg_squared_error(narrow) < loo_neg_squared_error(wide)
    True
    """
    outputs, labels, classes = _left_out(estimator)
    codes = np.searchsorted(classes, labels)
    targets = signed_targets(codes, classes.size)
    return -float(np.mean((outputs.reshape(targets.shape) - targets) ** 2))


def log_evidence_score(
    estimator: Any, X: Any = None, y: ArrayLike | None = None
) -> float:
    """Compute the log evidence of a fitted least-squares model.

    How likely the labels are under the Gaussian process whose posterior mean the model
    is, with the scale of the process at its best value; see
    :func:`fewlabels.semi_supervised.rls_path` for the formula. It is a scorer: pass it
    as `scoring`, with :class:`TrainOnAll` as `cv`.

    Parameters
    ----------
    estimator : estimator instance
        A fitted model with `log_evidence_`, such as
        :class:`fewlabels.semi_supervised.RLSClassifier`.
    X : object, default=None
        Ignored: the model has its labelled rows.
    y : object, default=None
        Ignored.

    Returns
    -------
    score : float
        Larger is better; NaN if the labels leave nothing to explain, such as those of a
        single class.

    See Also
    --------
    loo_neg_squared_error : Makes fewer assumptions.

    Notes
    -----
    The evidence treats labels as real numbers with Gaussian noise. It compares models
    of the same labels, either all with or all without a bias, and says nothing about
    the error.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from fewlabels.datasets import hide_labels
    >>> from fewlabels.model_selection import log_evidence_score
    >>> from fewlabels.semi_supervised import RLSClassifier
    >>> X, y_true = make_moons(200, noise=0.1, random_state=0)
    >>> y = hide_labels(y_true, n_labeled=20, random_state=0)
    >>> narrow = RLSClassifier(gamma=100.0).fit(X, y)
    >>> wide = RLSClassifier(gamma=1.0).fit(X, y)
    >>> log_evidence_score(narrow) < log_evidence_score(wide)
    True
    """
    check_is_fitted(estimator)
    if not hasattr(estimator, "log_evidence_"):
        raise ValueError(
            f"{type(estimator).__name__} has no log_evidence_: the evidence is for "
            "least-squares models such as RLSClassifier."
        )
    return float(estimator.log_evidence_)
