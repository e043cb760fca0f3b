"""Estimators for few labels, and the supervised baseline to measure them by."""

# SPDX-License-Identifier: BSD-3-Clause

from fewlabels.semi_supervised._laplacian import (
    LaplacianRLSClassifier,
    LaplacianRLSRegressor,
    LaplacianSVC,
)
from fewlabels.semi_supervised._laplacian_cv import LaplacianRLSClassifierCV
from fewlabels.semi_supervised._laplacian_deformed import (
    laplacian_dense,
    laplacian_factor,
    laplacian_low_rank,
)
from fewlabels.semi_supervised._laplacian_pcg import laplacian_pcg
from fewlabels.semi_supervised._laplacian_problem import (
    LaplacianProblem,
    LaplacianSolution,
)
from fewlabels.semi_supervised._rls import RLSClassifier, RLSSolution, rls_path
from fewlabels.semi_supervised._s2rls import S2RLSClassifier, S2RLSClassifierCV

__all__ = [
    "LaplacianProblem",
    "LaplacianRLSClassifier",
    "LaplacianRLSClassifierCV",
    "LaplacianRLSRegressor",
    "LaplacianSVC",
    "LaplacianSolution",
    "RLSClassifier",
    "RLSSolution",
    "S2RLSClassifier",
    "S2RLSClassifierCV",
    "laplacian_dense",
    "laplacian_factor",
    "laplacian_low_rank",
    "laplacian_pcg",
    "rls_path",
]
