"""Clustering: no labels at all, or only pairs that belong together or apart."""

# SPDX-License-Identifier: BSD-3-Clause

from fewlabels.cluster._constrained import (
    ConstrainedRelaxation,
    ConstrainedSpectralClustering,
    constrained_relaxation,
    constraint_matrix,
    constraints_from_labels,
)
from fewlabels.cluster._cuts import (
    NormalizedCut,
    RecursiveNormalizedCut,
    Split,
    association,
    cut_value,
    minimum_normalized_cut,
    normalized_association,
    normalized_cut,
    ratio_cut,
    recursive_normalized_cut,
)
from fewlabels.cluster._nystrom import (
    NystromRelaxation,
    NystromSpectralClustering,
    nystrom_relaxation,
)
from fewlabels.cluster._rls import RLSClustering
from fewlabels.cluster._spectral import (
    NormalizedSpectralClustering,
    SpectralRelaxation,
    spectral_relaxation,
)

__all__ = [
    "ConstrainedRelaxation",
    "ConstrainedSpectralClustering",
    "NormalizedCut",
    "NormalizedSpectralClustering",
    "NystromRelaxation",
    "NystromSpectralClustering",
    "RLSClustering",
    "RecursiveNormalizedCut",
    "SpectralRelaxation",
    "Split",
    "association",
    "constrained_relaxation",
    "constraint_matrix",
    "constraints_from_labels",
    "cut_value",
    "minimum_normalized_cut",
    "normalized_association",
    "normalized_cut",
    "nystrom_relaxation",
    "ratio_cut",
    "recursive_normalized_cut",
    "spectral_relaxation",
]
