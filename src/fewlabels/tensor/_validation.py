"""One policy for X with more than two dimensions.

A tensor per row comes either as an array of shape (n_samples, I_1, ..., I_M), or as
vectors of its entries in NumPy's order, ``X.reshape(n_samples, -1)``, with
``shape=(I_1, ..., I_M)`` given to the estimator: that is what travels through
pipelines, data frames and scikit-learn's checks. Rows without a shape are tensors of
one mode. What `fit` has seen in one form, `predict` takes in both.
"""

# SPDX-License-Identifier: BSD-3-Clause

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse

from fewlabels._labels import Labels, check_length, encode_labels, encode_targets
from fewlabels._linalg import FLOATS
from fewlabels._sklearn import check_array, validate_data

SHAPE_CONSTRAINTS = {"shape": [tuple, list, None]}


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
        Whether the shape is to be learnt, or to be that of `fit`.

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


def _require(estimator: Any, y: Any) -> None:
    if y is None:
        raise ValueError(
            f"{type(estimator).__name__} requires y to be passed, but the target y is "
            "None."
        )


def validate_labeled_tensors(
    estimator: Any, X: Any, y: ArrayLike
) -> tuple[NDArray[Any], Labels]:
    """Validate X and labels of which some are missing."""
    _require(estimator, y)
    X = validate_tensors(estimator, X, reset=True)
    labels = encode_labels(y)
    check_length(labels.codes.size, X)
    return X.astype(np.float64, copy=False), labels


def validate_tensor_targets(
    estimator: Any, X: Any, y: ArrayLike
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Validate X and real targets; rows without a target are left out."""
    _require(estimator, y)
    X = validate_tensors(estimator, X, reset=True)
    targets = encode_targets(y)
    check_length(targets.size, X)
    known = ~np.isnan(targets)
    return X[known].astype(np.float64, copy=False), targets[known]
