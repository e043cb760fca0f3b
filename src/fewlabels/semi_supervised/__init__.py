"""Estimators for few labels, and the supervised baseline to measure them by."""

# SPDX-License-Identifier: BSD-3-Clause

from fewlabels.semi_supervised._graph_regularization import (
    GraphRegularizationClassifier,
    graph_regularization,
)
from fewlabels.semi_supervised._harmonic import (
    HarmonicFunctionClassifier,
    HarmonicFunctionRegressor,
    HarmonicSolution,
    harmonic_functions,
)
from fewlabels.semi_supervised._rls import RLSClassifier, RLSSolution, rls_path
from fewlabels.semi_supervised._s2rls import S2RLSClassifier, S2RLSClassifierCV

__all__ = [
    "GraphRegularizationClassifier",
    "HarmonicFunctionClassifier",
    "HarmonicFunctionRegressor",
    "HarmonicSolution",
    "RLSClassifier",
    "RLSSolution",
    "S2RLSClassifier",
    "S2RLSClassifierCV",
    "graph_regularization",
    "harmonic_functions",
    "rls_path",
]
