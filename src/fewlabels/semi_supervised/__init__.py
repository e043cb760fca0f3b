"""Estimators for few labels, and the supervised baseline to measure them by."""

# SPDX-License-Identifier: BSD-3-Clause

from fewlabels.semi_supervised._rls import RLSClassifier, RLSSolution, rls_path
from fewlabels.semi_supervised._s2rls import S2RLSClassifier, S2RLSClassifierCV

__all__ = [
    "RLSClassifier",
    "RLSSolution",
    "S2RLSClassifier",
    "S2RLSClassifierCV",
    "rls_path",
]
