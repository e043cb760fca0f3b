"""Kernels, Gram operators and low-rank feature maps."""

# SPDX-License-Identifier: BSD-3-Clause

from fewlabels.kernels._functions import Kernel, resolve_kernel
from fewlabels.kernels._low_rank import (
    NystromFeatures,
    PivotedCholesky,
    PivotedCholeskyFeatures,
    pivoted_cholesky,
    ridge_leverage_scores,
)
from fewlabels.kernels._nystrom import NystromEigen, nystrom_approximation
from fewlabels.kernels._operators import (
    CenteredGram,
    DenseGram,
    GramOperator,
    LowRankGram,
    TiledGram,
    gram_operator,
)
from fewlabels.kernels._widths import (
    gamma_from_width,
    local_width,
    median_width,
    range_width,
    width_from_gamma,
)

__all__ = [
    "CenteredGram",
    "DenseGram",
    "GramOperator",
    "Kernel",
    "LowRankGram",
    "NystromEigen",
    "NystromFeatures",
    "PivotedCholesky",
    "PivotedCholeskyFeatures",
    "TiledGram",
    "gamma_from_width",
    "gram_operator",
    "local_width",
    "median_width",
    "nystrom_approximation",
    "pivoted_cholesky",
    "range_width",
    "resolve_kernel",
    "ridge_leverage_scores",
    "width_from_gamma",
]
