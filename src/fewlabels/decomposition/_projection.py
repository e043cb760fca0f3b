"""Transformers that keep the precision of their rows, and projections."""

# SPDX-License-Identifier: BSD-3-Clause

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
)
from sklearn.utils import Tags

from fewlabels._linalg import FLOATS
from fewlabels._sklearn import validate_fitted


class FloatTransformer(TransformerMixin, BaseEstimator):
    """A transformer that keeps the precision of its rows."""

    _dtypes: ClassVar[tuple[type, ...]] = FLOATS

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = [
            np.dtype(kind).name for kind in self._dtypes
        ]
        return tags


class Projection(ClassNamePrefixFeaturesOutMixin, FloatTransformer):
    """Rows, less their mean if one was fitted, projected on `components_`."""

    n_components: int
    components_: NDArray[Any]

    def _check_n_components(self, n_features: int) -> None:
        if self.n_components > n_features:
            raise ValueError(
                f"n_components={self.n_components} must be at most the number of "
                f"features, n_features={n_features}."
            )

    def transform(self, X: Any) -> NDArray[Any]:
        """Project rows on the components.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        Z : ndarray of shape (n_samples, n_components)
            Coordinates of the rows along the components.
        """
        X = validate_fitted(self, X, dtype=self._dtypes)
        if hasattr(self, "mean_"):
            X = X - self.mean_
        return X @ self.components_.T

    @property
    def _n_features_out(self) -> int:
        return self.components_.shape[0]
