"""Views of a row: groups of features that describe the same thing in several ways."""

# SPDX-License-Identifier: BSD-3-Clause

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import diags_array, issparse

from fewlabels._backend import NUMPY, Backend
from fewlabels.automatic._scaling import RowScaling
from fewlabels.automatic._sources import Source, View
from fewlabels.preprocessing import Moments

if TYPE_CHECKING:
    from fewlabels.automatic._compact import Compactor

# Sparse rows with a larger share of numbers are computed with as dense ones.
DENSE_SHARE = 0.5


class FeatureView:
    """Some features of rows, weighted, with a scaling of their own.

    Parameters
    ----------
    name : str
        What to call it; nothing where it is the only one.
    scale : {"auto", "standard", "unit", "none"}
        How to scale rows.
    weights : ndarray of shape (n_features,), default=None
        Factors of the features, 0 for those that do not belong to it; None for all.
    """

    def __init__(
        self, name: str, scale: str, weights: NDArray[Any] | None = None
    ) -> None:
        self.name = name
        self.scaling = RowScaling(scale)
        self.is_made_dense = False
        self._places: NDArray[np.intp] | None = None
        self._weights: Any = None
        if weights is not None:
            self._places = np.flatnonzero(weights)
            self._weights = weights[self._places]

    def of(self, per_feature: NDArray[Any] | None) -> NDArray[Any] | None:
        """Select from an array over the features."""
        if per_feature is None or self._places is None:
            return per_feature
        return per_feature[self._places]

    def unseen(self, places: NDArray[np.intp], seen: set[bytes]) -> NDArray[np.intp]:
        """Return the features of a column, or none where another view has the same."""
        kept = self.scaling.columns_[places]
        key = (kept if self._places is None else self._places[kept]).tobytes()
        if key in seen:
            return places[:0]
        seen.add(key)
        return places

    def of_moments(self, moments: Moments | None) -> Moments | None:
        """Select the moments of the features, and weight them."""
        if moments is None or self._places is None:
            return moments
        w = self._weights
        n, mean, squares, low, high = (part[self._places] for part in moments)
        return Moments(n, w * mean, w**2 * squares, w * low, w * high)

    def selected(self, X: Any) -> Any:
        """Select the features of rows, dense if most of them are not zero."""
        if self._places is None:
            return X
        if not issparse(X):
            return X[:, self._places] * self._weights
        own = (X[:, self._places] @ diags_array(self._weights)).tocsr()
        return own.toarray() if self.is_made_dense else own

    def fit(self, X: Any, moments: Moments | None, backend: Backend) -> Any:
        """Learn the scaling, and return the scaled rows."""
        own = self.selected(X)
        if issparse(own) and self._places is not None:
            self.is_made_dense = own.nnz > DENSE_SHARE * np.prod(own.shape)
            own = own.toarray() if self.is_made_dense else own
        own = own if issparse(own) else backend.asarray(own)
        return self.scaling.fit(own, self.of_moments(moments)).transform(own)


class Rows(Source):
    """The scaled rows themselves, in one view.

    Parameters
    ----------
    rows : {ndarray, csr_array} of shape (n_rows, n_columns)
        Training rows, scaled.
    features : FeatureView, default=None
        From new rows to scaled ones; None where new rows are scaled already.
    """

    # Where new rows are computed; not saved to files.
    _backend: Backend = NUMPY

    def __init__(
        self, rows: Any, features: FeatureView | None = None, backend: Backend = NUMPY
    ) -> None:
        self.train = rows
        self._features = features
        if not backend.is_numpy:
            self._backend = backend

    def new(self, view: View) -> Any:
        if self._features is None:
            return view.rows
        own = self._features.selected(view.rows)
        scaling = self._features.scaling
        if not issparse(own) and not scaling.sparse_:
            own = self._backend.asarray(own)
        return scaling.transform(own)

    def compact(self, compactor: "Compactor") -> "Rows":
        """Keep only how new rows are scaled, on any machine."""
        return Rows(None, self._features)

    def __getstate__(self) -> dict[str, Any]:
        state = super().__getstate__()
        return {key: value for key, value in state.items() if key != "_backend"}


def checked_views(
    given: Mapping[str, Any] | None, n_features: int
) -> dict[str, NDArray[np.float64]] | None:
    """Validate the weights of the features in every view."""
    if given is None:
        return None
    views = {}
    for name, weights in given.items():
        array = np.asarray(weights, dtype=np.float64)
        if (
            array.shape != (n_features,)
            or not (np.isfinite(array) & (array >= 0)).all()
        ):
            raise ValueError(
                f"feature_views[{name!r}] must be a weight of at least 0 for each of "
                f"the {n_features} features, got shape {array.shape}."
            )
        if array.any():
            views[str(name)] = array
    if not views:
        raise ValueError("feature_views has no view with a feature: pass None instead.")
    return views
