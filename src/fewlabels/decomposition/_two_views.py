"""Two views of the same rows: pairs of directions, and estimators that find them."""

# SPDX-License-Identifier: BSD-3-Clause

import warnings
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin
from sklearn.utils import Tags, check_consistent_length

from fewlabels._linalg import FLOATS, deviations
from fewlabels._sklearn import check_array, fit_context, validate_data, validate_fitted
from fewlabels.decomposition._projection import FloatTransformer


class CanonicalPairs(NamedTuple):
    """Weights of two views, in pairs.

    Attributes
    ----------
    x_weights : ndarray of shape (n_features_x, n_pairs)
        Weights of the first view, or coefficients of its rows for a kernel.
    y_weights : ndarray of shape (n_features_y, n_pairs)
        Weights of the second view.
    correlations : ndarray of shape (n_pairs,)
        What the pairs were chosen by, the largest first; without regularisation, the
        correlation between the two scores of a pair.
    """

    x_weights: NDArray[np.float64]
    y_weights: NDArray[np.float64]
    correlations: NDArray[np.float64]


def centered_views(
    X: Any, Y: Any
) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
    """Validate two views and centre their columns; also return their precision."""
    views, eps = [], 0.0
    for V, name in ((X, "X"), (Y, "Y")):
        V = check_array(V, dtype=FLOATS, ensure_min_samples=2, input_name=name)
        eps = max(eps, float(np.finfo(V.dtype).eps))
        views.append(deviations(V, V.mean(axis=0, dtype=np.float64)))
    check_consistent_length(*views)
    return views[0], views[1], eps


def pad_pairs(pairs: CanonicalPairs, n_components: int, what: str) -> CanonicalPairs:
    """Keep the given number of pairs; where there are fewer, add zeros and warn."""
    found = pairs.correlations.size
    if found < n_components:
        warnings.warn(
            f"n_components={n_components}, but {what} leave only {found} pairs of "
            "directions: the other components are zero.",
            stacklevel=4,
        )
    width = ((0, 0), (0, max(n_components - found, 0)))
    parts = (np.pad(part, width[-part.ndim :])[..., :n_components] for part in pairs)
    return CanonicalPairs(*parts)


class TwoViewTransformer(ClassNamePrefixFeaturesOutMixin, FloatTransformer):
    """An estimator of two views: validation, weights and tags.

    As in scikit-learn's CCA, the second view goes where the target of a supervised
    estimator would: ``fit(X, Y)`` and ``transform(X, Y)``.
    """

    n_components: int
    x_weights_: NDArray[Any]
    y_weights_: NDArray[Any]

    def _validate_views(self, X: Any, Y: Any) -> tuple[NDArray[Any], NDArray[Any]]:
        X, Y = validate_data(
            self,
            X,
            Y,
            dtype=FLOATS,
            multi_output=True,
            y_numeric=True,
            ensure_min_samples=2,
        )
        Y = np.asarray(Y, dtype=X.dtype)
        Y = Y.reshape(-1, 1) if Y.ndim == 1 else Y
        self.n_features_y_ = Y.shape[1]
        return X, Y

    def _learn(self, X: NDArray[Any], Y: NDArray[Any]) -> None:
        """Learn from views that have been validated."""
        raise NotImplementedError

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, Y: Any) -> Self:
        """Find the pairs of directions or functions.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows in the first view, or their kernel matrix for a precomputed kernel.
        Y : array-like of shape (n_samples,) or (n_samples, n_features_y)
            The same rows in the second view.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        self._learn(*self._validate_views(X, Y))
        return self

    def _check_n_components(self, X: NDArray[Any], Y: NDArray[Any]) -> None:
        most = min(X.shape[1], Y.shape[1])
        if self.n_components > most:
            raise ValueError(
                f"n_components={self.n_components} must be at most {most}: X has "
                f"n_features={X.shape[1]}, Y has {Y.shape[1]}."
            )

    def _validate_second(self, Y: Any) -> NDArray[Any]:
        Y = check_array(Y, dtype=FLOATS, ensure_2d=False, input_name="Y")
        Y = Y.reshape(-1, 1) if Y.ndim == 1 else Y
        if Y.shape[1] != self.n_features_y_:
            raise ValueError(
                f"Y has {Y.shape[1]} features, but {type(self).__name__} was fitted "
                f"with {self.n_features_y_}."
            )
        return Y

    def transform(self, X: Any, Y: Any = None) -> Any:
        """Compute the scores of rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows in the first view.
        Y : array-like of shape (n_samples, n_features_y), default=None
            Rows in the second view, not necessarily the same rows.

        Returns
        -------
        x_scores : ndarray of shape (n_samples, n_components)
            Scores of the first view.
        y_scores : ndarray of shape (n_samples, n_components)
            Scores of the second view, if `Y` is given: a pair is returned then.
        """
        x_scores = self._x_scores(validate_fitted(self, X, dtype=FLOATS))
        if Y is None:
            return x_scores
        return x_scores, self._y_scores(self._validate_second(Y))

    def _keep_weights(self, x_weights: Any, y_weights: Any, dtype: Any) -> None:
        self.x_weights_ = x_weights.astype(dtype, copy=False)
        self.y_weights_ = y_weights.astype(dtype, copy=False)

    def _x_scores(self, X: NDArray[Any]) -> NDArray[Any]:
        raise NotImplementedError

    def _y_scores(self, Y: NDArray[Any]) -> NDArray[Any]:
        raise NotImplementedError

    @property
    def _n_features_out(self) -> int:
        return self.x_weights_.shape[1]

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


class LinearTwoView(TwoViewTransformer):
    """An estimator whose scores are products of centred views with weights."""

    def _keep(
        self, X: NDArray[Any], Y: NDArray[Any], pairs: CanonicalPairs, scale: float = 1
    ) -> NDArray[Any]:
        """Keep means and `n_components` weights; return the correlations."""
        pairs = pad_pairs(pairs, self.n_components, "the ranks of X and Y")
        self.x_mean_, self.y_mean_ = X.mean(axis=0), Y.mean(axis=0)
        self._keep_weights(scale * pairs.x_weights, scale * pairs.y_weights, X.dtype)
        return pairs.correlations

    def _x_scores(self, X: NDArray[Any]) -> NDArray[Any]:
        return (X - self.x_mean_) @ self.x_weights_

    def _y_scores(self, Y: NDArray[Any]) -> NDArray[Any]:
        return (Y - self.y_mean_) @ self.y_weights_
