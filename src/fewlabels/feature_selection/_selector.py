"""What the selectors of features share."""

# SPDX-License-Identifier: BSD-3-Clause

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.validation import check_is_fitted


class FeatureSelector(SelectorMixin, BaseEstimator):
    """A selector that keeps its choice as the mask `support_`."""

    n_features_to_select: int | None
    support_: NDArray[np.bool_]

    def _check_n_features(self, n_features: int) -> None:
        if (self.n_features_to_select or 0) > n_features:
            raise ValueError(
                f"n_features_to_select={self.n_features_to_select} is more than the "
                f"{n_features} features of X."
            )

    def _get_support_mask(self) -> NDArray[np.bool_]:
        check_is_fitted(self)
        return self.support_
