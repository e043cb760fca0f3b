"""Let supervised estimators ignore unlabelled rows."""

# SPDX-License-Identifier: BSD-3-Clause

from copy import deepcopy
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.utils import Tags, get_tags
from sklearn.utils.validation import indexable

from fewlabels._inner_model import InnerModelMixin, inner_has
from fewlabels._labels import label_array, unlabeled_mask
from fewlabels._sklearn import HasMethods, fit_context, safe_indexing, safe_split


class LabeledOnly(InnerModelMixin, BaseEstimator):
    """Train a supervised estimator on the labelled rows only.

    scikit-learn's supervised estimators treat the marker of unlabelled rows as a class
    or refuse it. Wrapped in this, they can be compared with semi-supervised ones on the
    same `X` and `y`.

    Parameters
    ----------
    estimator : estimator instance
        A classifier or regressor.

    Attributes
    ----------
    estimator_ : estimator instance
        The fitted estimator.
    labeled_indices_ : ndarray of shape (n_labeled,)
        The labelled rows.

    See Also
    --------
    fewlabels.semi_supervised.RLSClassifier : Ignores unlabelled rows by itself.

    Examples
    --------
    >>> from sklearn.svm import SVC
    >>> from sklearn.datasets import make_moons
    >>> from fewlabels.datasets import hide_labels
    >>> from fewlabels.model_selection import LabeledOnly
    >>> X, y_true = make_moons(200, noise=0.1, random_state=0)
    >>> y = hide_labels(y_true, n_labeled=40, random_state=0)
    >>> model = LabeledOnly(SVC()).fit(X, y)
    >>> model.classes_
    array([0, 1])
    >>> bool(model.score(X, y_true) > 0.9)
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "estimator": [HasMethods(["fit"])]
    }

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: ArrayLike) -> Self:
        """Fit the estimator on the rows that have a label.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training rows, labelled and unlabelled.
        y : array-like of shape (n_samples,)
            Labels; -1, NaN or None for rows without one.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        values = label_array(y)
        known = ~unlabeled_mask(values)
        if not known.any():
            raise ValueError(
                f"y has no labelled row ({known.size} rows, all unlabelled): label "
                "some rows."
            )
        rows = np.flatnonzero(known)
        X, values = indexable(X, values)
        X_known, y_known = safe_split(self.estimator, X, values, rows)
        if y_known.dtype.kind == "O" and not isinstance(y_known[0], str):
            y_known = np.asarray(y_known.tolist())
        self.estimator_ = clone(self.estimator).fit(X_known, y_known)
        self.labeled_indices_ = rows
        return self

    @property
    def classes_(self) -> NDArray[Any]:
        """The classes, without the marker of unlabelled rows."""
        return self.estimator_.classes_

    def _inner_rows(self, X: Any) -> Any:
        """For a kernel matrix, keep the columns of the labelled rows."""
        if get_tags(self.estimator).input_tags.pairwise:
            return safe_indexing(X, self.labeled_indices_, axis=1)
        return X

    @inner_has("score")
    def score(
        self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> float:
        """Score on the rows that have a label; the others do not count.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows; for a precomputed kernel, their kernel with all training rows.
        y : array-like of shape (n_samples,)
            True labels, some of which may be missing.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        score : float
            The score of the fitted estimator.
        """
        model = self._fitted()
        rows = np.flatnonzero(~unlabeled_mask(y))
        if rows.size == 0:
            raise ValueError("y has no labelled row to score: pass some true labels.")
        X_known = safe_indexing(self._inner_rows(X), rows)
        truth = label_array(y)[rows]
        if sample_weight is None:
            return model.score(X_known, truth)
        weights = np.asarray(sample_weight)[rows]
        return model.score(X_known, truth, sample_weight=weights)

    def __sklearn_tags__(self) -> Tags:
        tags = deepcopy(get_tags(self.estimator))
        tags.target_tags.multi_output = False
        tags.array_api_support = False
        return tags
