"""Textbook: linear regression with errors in features, components and penalties.

`ElasticNet`, `Lasso`, `LinearRegression`, `PLSRegression` and `Ridge` are those of
scikit-learn.
"""

# SPDX-License-Identifier: BSD-3-Clause

from fewlabels.optimize import basis_pursuit
from fewlabels.regression._basis_pursuit import (
    basis_pursuit_denoising,
    l1_constrained_least_squares,
)
from fewlabels.regression._component_regression import (
    PrincipalComponentRegression,
    ScorePair,
    nipals_pair,
    principal_component_path,
)
from fewlabels.regression._gpsr import GPSR, SparseSolution, gpsr
from fewlabels.regression._group_lasso import GroupLasso, group_lasso
from fewlabels.regression._linear_regressor import PenalizedSolution
from fewlabels.regression._separable_penalties import (
    BerhuRegressor,
    BridgeRegression,
    GarroteSolution,
    NonNegativeGarrote,
    berhu_regression,
    bridge_regression,
    nonnegative_garrote,
)
from fewlabels.regression._total import TotalLeastSquares, total_least_squares

__all__ = [  # noqa: RUF022 - in plain order, capitals or not
    "BerhuRegressor",
    "BridgeRegression",
    "GPSR",
    "GarroteSolution",
    "GroupLasso",
    "NonNegativeGarrote",
    "PenalizedSolution",
    "PrincipalComponentRegression",
    "ScorePair",
    "SparseSolution",
    "TotalLeastSquares",
    "basis_pursuit",
    "basis_pursuit_denoising",
    "berhu_regression",
    "bridge_regression",
    "gpsr",
    "group_lasso",
    "l1_constrained_least_squares",
    "nipals_pair",
    "nonnegative_garrote",
    "principal_component_path",
    "total_least_squares",
]
