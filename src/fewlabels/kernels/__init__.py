"""Core: kernels, Gram operators and low-rank feature maps."""

# SPDX-License-Identifier: BSD-3-Clause

from fewlabels._distances import squared_distances
from fewlabels.kernels._definite import check_semidefinite
from fewlabels.kernels._feature_maps import NystromFeatures, PivotedCholeskyFeatures
from fewlabels.kernels._functions import KERNEL_CONSTRAINTS as KERNEL_CONSTRAINTS
from fewlabels.kernels._functions import Kernel, is_precomputed, resolve_kernel
from fewlabels.kernels._landmarks import ridge_leverage_scores
from fewlabels.kernels._nystrom import (
    NystromEigen,
    nystrom_approximation,
    nystrom_from_columns,
)
from fewlabels.kernels._nystrom import nystrom_map as nystrom_map
from fewlabels.kernels._operators import (
    CenteredGram,
    DenseGram,
    GramOperator,
    LowRankGram,
    TiledGram,
    gram_operator,
)
from fewlabels.kernels._pivoted_cholesky import PivotedCholesky, pivoted_cholesky
from fewlabels.kernels._training_rows import KernelRows, represent_rows
from fewlabels.kernels._widths import (
    gamma_from_width,
    local_width,
    median_width,
    range_width,
    width_from_gamma,
)

# Names imported "as" themselves are for other packages, and not public.
__all__ = [
    "CenteredGram",
    "DenseGram",
    "GramOperator",
    "Kernel",
    "KernelRows",
    "LowRankGram",
    "NystromEigen",
    "NystromFeatures",
    "PivotedCholesky",
    "PivotedCholeskyFeatures",
    "TiledGram",
    "check_semidefinite",
    "gamma_from_width",
    "gram_operator",
    "is_precomputed",
    "local_width",
    "median_width",
    "nystrom_approximation",
    "nystrom_from_columns",
    "pivoted_cholesky",
    "range_width",
    "represent_rows",
    "resolve_kernel",
    "ridge_leverage_scores",
    "squared_distances",
    "width_from_gamma",
]
