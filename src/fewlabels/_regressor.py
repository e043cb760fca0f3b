"""Regressors whose targets may be missing."""

# SPDX-License-Identifier: BSD-3-Clause

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import RegressorMixin
from sklearn.metrics import r2_score

from fewlabels._labels import encode_targets


class PartialTargetMixin(RegressorMixin):
    """Base class of regressors whose targets may be missing."""

    def score(
        self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> float:
        """Coefficient of determination on the rows that have a target.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows in the form `predict` accepts.
        y : array-like of shape (n_samples,)
            True targets, some of which may be missing.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        score : float
            R² of the predictions for these rows.
        """
        truth = encode_targets(y)
        known = ~np.isnan(truth)
        weights = None if sample_weight is None else np.asarray(sample_weight)[known]
        return r2_score(truth[known], self.predict(X)[known], sample_weight=weights)
