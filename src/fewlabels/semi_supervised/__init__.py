"""Estimators for few labels, and the supervised baseline to measure them by."""

# SPDX-License-Identifier: BSD-3-Clause

from fewlabels.semi_supervised._rls import RLSClassifier, RLSSolution, rls_path

__all__ = ["RLSClassifier", "RLSSolution", "rls_path"]
