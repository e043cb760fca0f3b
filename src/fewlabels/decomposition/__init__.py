"""Textbook: principal, minor, robust and sparse components, and two views.

`PCA`, `StandardScaler`, `Normalizer` and `KernelCenterer` are scikit-learn's.
"""

# SPDX-License-Identifier: BSD-3-Clause

from fewlabels.decomposition._cca import SVDCCA, cca_eigen, cca_svd
from fewlabels.decomposition._fisher import (
    FisherDiscriminantAnalysis,
    Scatter,
    class_scatter,
)
from fewlabels.decomposition._kernel_cca import (
    KernelCCA,
    OneLabelTwoView,
    kernel_cca,
    two_view_similarity,
)
from fewlabels.decomposition._power_pls import PowerPLS, power_pls
from fewlabels.decomposition._robust_pca import LowRankPlusSparse, RobustPCA, robust_pca
from fewlabels.decomposition._sparse_cca import (
    PenalizedDecomposition,
    SparseCCA,
    l1_l2_projection_direction,
    penalized_matrix_decomposition,
)
from fewlabels.decomposition._sparse_pca import (
    ElasticNetSparsePCA,
    SparseLoadings,
    elastic_net,
    sparse_loadings,
)
from fewlabels.decomposition._streaming import (
    PAST,
    MinorSubspace,
    OjaSubspace,
    minor_update,
    oja_update,
    past_update,
)
from fewlabels.decomposition._subspaces import (
    MinorComponentAnalysis,
    subspace_distance,
    subspace_projector,
)
from fewlabels.decomposition._two_views import CanonicalPairs
from fewlabels.decomposition._whitening import RowCenterer, ZCAWhitening

# In plain order, where ruff would put names in capitals first.
__all__ = [  # noqa: RUF022
    "CanonicalPairs",
    "ElasticNetSparsePCA",
    "FisherDiscriminantAnalysis",
    "KernelCCA",
    "LowRankPlusSparse",
    "MinorComponentAnalysis",
    "MinorSubspace",
    "OjaSubspace",
    "OneLabelTwoView",
    "PAST",
    "PenalizedDecomposition",
    "PowerPLS",
    "RobustPCA",
    "RowCenterer",
    "SVDCCA",
    "Scatter",
    "SparseCCA",
    "SparseLoadings",
    "ZCAWhitening",
    "cca_eigen",
    "cca_svd",
    "class_scatter",
    "elastic_net",
    "kernel_cca",
    "l1_l2_projection_direction",
    "minor_update",
    "oja_update",
    "past_update",
    "penalized_matrix_decomposition",
    "power_pls",
    "robust_pca",
    "sparse_loadings",
    "subspace_distance",
    "subspace_projector",
    "two_view_similarity",
]
