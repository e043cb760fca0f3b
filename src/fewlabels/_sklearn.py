"""The only module that imports scikit-learn's private helpers and array checks.

scikit-learn may move private helpers between releases; every other module imports them
from here, so that only one file must follow. The checks add messages of our own.
"""

# SPDX-License-Identifier: BSD-3-Clause

from typing import Any

from sklearn import utils
from sklearn.base import _fit_context as fit_context
from sklearn.cluster._spectral import discretize
from sklearn.utils import _safe_indexing as safe_indexing
from sklearn.utils._openmp_helpers import (
    _openmp_effective_n_threads as openmp_effective_n_threads,
)
from sklearn.utils._param_validation import (
    HasMethods,
    Interval,
    StrOptions,
    validate_parameter_constraints,
    validate_params,
)
from sklearn.utils.metaestimators import _safe_split as safe_split
from sklearn.utils.validation import (
    _check_feature_names,
    _check_n_features,
    check_is_fitted,
)
from sklearn.utils.validation import _check_sample_weight as check_sample_weight
from sklearn.utils.validation import _num_samples as num_samples
from sklearn.utils.validation import validate_data as _validate_data

from fewlabels._lazy import refuse_lazy

__all__ = [
    "HasMethods",
    "Interval",
    "StrOptions",
    "check_X_y",
    "check_array",
    "check_columns",
    "check_sample_weight",
    "discretize",
    "fit_context",
    "num_samples",
    "openmp_effective_n_threads",
    "safe_indexing",
    "safe_split",
    "validate_data",
    "validate_fitted",
    "validate_parameter_constraints",
    "validate_params",
]


def check_array(array: Any, *args: Any, **kwargs: Any) -> Any:
    """Check rows as scikit-learn does, unless they are a Dask collection."""
    refuse_lazy(array, kwargs.get("input_name") or "X")
    return utils.check_array(array, *args, **kwargs)


def check_X_y(X: Any, y: Any, *args: Any, **kwargs: Any) -> Any:
    """Check rows and targets as scikit-learn does, unless they are lazy."""
    refuse_lazy(X)
    refuse_lazy(y, "y")
    return utils.check_X_y(X, y, *args, **kwargs)


def check_columns(model: Any, X: Any) -> None:
    """Check names and number of features against those seen in fit."""
    _check_feature_names(model, X, reset=False)
    _check_n_features(model, X, reset=False)


def validate_data(
    estimator: Any, X: Any = "no_validation", y: Any = "no_validation", **kwargs: Any
) -> Any:
    """Validate data as scikit-learn does, unless they are a Dask collection."""
    refuse_lazy(X)
    refuse_lazy(y, "y")
    try:
        return _validate_data(estimator, X, y, **kwargs)
    except ValueError as error:
        if "Input X contains NaN" not in str(error):
            raise
        name, how = type(estimator).__name__, ""
        if not kwargs.get("reset", True):
            how = f" There was none when {name} was fitted."
        elif hasattr(estimator, "encode_frame"):
            how = f" {name} takes them in frames only: pass pandas.DataFrame(X)."
        raise ValueError(
            f"Input X contains NaN, a missing value.{how} To fill them in, use "
            "sklearn.impute.SimpleImputer."
        ) from None


def validate_fitted(estimator: Any, X: Any, **kwargs: Any) -> Any:
    """Validate rows for an estimator that must be fitted."""
    check_is_fitted(estimator)
    return validate_data(estimator, X, reset=False, **kwargs)
