"""Validation of X with more than two dimensions.

A tensor per row comes either as an array of shape (n_samples, I_1, ..., I_M), or as
vectors of its entries in NumPy's order, ``X.reshape(n_samples, -1)``, with
``shape=(I_1, ..., I_M)`` given to the estimator: this is what passes through
pipelines, data frames and scikit-learn's checks. Rows without a shape are tensors of
one mode. What `fit` has seen in one form, `predict` takes in both.
"""

# SPDX-License-Identifier: BSD-3-Clause

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from sklearn.base import BaseEstimator
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from fewlabels._labels import Labels, check_length, encode_labels, encode_targets
from fewlabels._linalg import FLOATS
from fewlabels._params import usual
from fewlabels._sklearn import check_array, num_samples, validate_data

# What all estimators of tensors take, and those that iterate from several starts.
SHAPE_CONSTRAINTS: dict[str, list[Any]] = {"shape": [tuple, list, None]}
START_CONSTRAINTS = {
    **SHAPE_CONSTRAINTS,
    **usual("n_init", "max_iter", "tol", "random_state"),
}


class TensorEstimator(BaseEstimator):
    """An estimator whose rows are tensors."""

    tensor_shape_: tuple[int, ...]

    def _validated(self, X: Any) -> NDArray[Any]:
        """Validate tensors like those of `fit`."""
        check_is_fitted(self)
        return validate_tensors(self, X, reset=False)

    def _solver_params(self) -> dict[str, Any]:
        params = self.get_params()
        del params["shape"]
        return params

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.three_d_array = True
        return tags


def _shape_of(
    shape: Any, own: tuple[int, ...] | None, n_features: int
) -> tuple[int, ...]:
    """Shape of the tensors, from the parameter or from X."""
    if shape is None:
        return (n_features,) if own is None else own
    shape = tuple(int(size) for size in shape)
    if not shape or min(shape) < 1:
        raise ValueError(f"shape={shape} must hold one positive size per mode.")
    if own is not None and own != shape:
        raise ValueError(
            f"X holds tensors of shape {own}, but shape={shape} was given."
        )
    if math.prod(shape) != n_features:
        raise ValueError(
            f"shape={shape} has {math.prod(shape)} entries, but X has {n_features} "
            "columns: pass the shape whose product this is, or X with all its modes."
        )
    return shape


def validate_tensors(estimator: Any, X: Any, *, reset: bool) -> NDArray[Any]:
    """Validate X in either form.

    Parameters
    ----------
    estimator : estimator instance
        Has the parameter `shape`; gets `n_features_in_` (the number of entries),
        `feature_names_in_` and `tensor_shape_`.
    X : array-like of shape (n_samples, n_entries) or (n_samples, I_1, ..., I_M)
        Tensors.
    reset : bool
        Whether to learn the shape, or to require that of `fit`.

    Returns
    -------
    X : ndarray of shape (n_samples, I_1, ..., I_M)
        The tensors, in float32 or float64.
    """
    own = None
    ndim = X.ndim if hasattr(X, "ndim") else np.asarray(X).ndim
    if not issparse(X) and ndim > 2:
        X = check_array(X, allow_nd=True, dtype=FLOATS, input_name="X")
        own = X.shape[1:]
        X = X.reshape(X.shape[0], -1)
    X = validate_data(estimator, X, reset=reset, dtype=FLOATS)
    if reset:
        estimator.tensor_shape_ = _shape_of(estimator.shape, own, X.shape[1])
    elif own is not None and own != estimator.tensor_shape_:
        raise ValueError(
            f"X holds tensors of shape {own}, but "
            f"{type(estimator).__name__} was fitted to {estimator.tensor_shape_}."
        )
    return X.reshape(X.shape[0], *estimator.tensor_shape_)


def _validate_with(estimator: Any, X: Any, y: Any) -> NDArray[np.float64]:
    """Validate tensors for `fit`, one for every entry of y."""
    if y is None:
        raise ValueError(
            f"{type(estimator).__name__} requires y to be passed, but the target y is "
            "None."
        )
    X = validate_tensors(estimator, X, reset=True)
    check_length(num_samples(y), X)
    return X.astype(np.float64, copy=False)


def validate_labeled_tensors(
    estimator: Any, X: Any, y: ArrayLike
) -> tuple[NDArray[Any], Labels]:
    """Validate tensors and labels, some missing."""
    return _validate_with(estimator, X, y), encode_labels(y)


def validate_tensor_targets(
    estimator: Any, X: Any, y: ArrayLike
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Validate tensors and targets; only rows with a target are returned."""
    X, targets = _validate_with(estimator, X, y), encode_targets(y)
    known = ~np.isnan(targets)
    return X[known], targets[known]
