"""The only door to scikit-learn's private helpers.

scikit-learn may move these between releases; every other module imports them from
here, so that one file follows.
"""

# SPDX-License-Identifier: BSD-3-Clause

from sklearn.base import _fit_context as fit_context
from sklearn.cluster._spectral import discretize
from sklearn.utils import _safe_indexing as safe_indexing
from sklearn.utils._param_validation import (
    HasMethods,
    Interval,
    StrOptions,
    validate_parameter_constraints,
    validate_params,
)
from sklearn.utils.metaestimators import _safe_split as safe_split
from sklearn.utils.validation import _check_sample_weight as check_sample_weight
from sklearn.utils.validation import _num_samples as num_samples

__all__ = [
    "HasMethods",
    "Interval",
    "StrOptions",
    "check_sample_weight",
    "discretize",
    "fit_context",
    "num_samples",
    "safe_indexing",
    "safe_split",
    "validate_parameter_constraints",
    "validate_params",
]
