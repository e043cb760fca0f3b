"""Core: clustering without labels, or with pairs that belong together or apart."""

# SPDX-License-Identifier: BSD-3-Clause

from fewlabels.cluster._constrained import (
    ConstrainedRelaxation,
    ConstrainedSpectralClustering,
    constrained_relaxation,
)
from fewlabels.cluster._constraints import constraint_matrix, constraints_from_labels
from fewlabels.cluster._cuts import (
    association,
    cut_value,
    normalized_association,
    normalized_cut,
    ratio_cut,
)
from fewlabels.cluster._leader import LeaderClustering, leaders
from fewlabels.cluster._levels import (
    HierarchicalLevels,
    cluster_dissimilarities,
    hierarchical_levels,
)
from fewlabels.cluster._macqueen import MacQueenKMeans, MacQueenResult, macqueen_kmeans
from fewlabels.cluster._mahalanobis import MahalanobisKMeans
from fewlabels.cluster._pareto import FrontClusters, cluster_front, nondominated_ranks
from fewlabels.cluster._recursive_cut import (
    NormalizedCut,
    RecursiveNormalizedCut,
    Split,
    minimum_normalized_cut,
    recursive_normalized_cut,
)
from fewlabels.cluster._rls_clustering import RLSClustering
from fewlabels.cluster._similarity_measures import (
    combined_similarity,
    confusion_similarity,
    regularized_euclidean,
    semantic_similarity,
    tanimoto_similarity,
    tfidf_similarity,
)
from fewlabels.cluster._spectral import (
    NormalizedSpectralClustering,
    SpectralRelaxation,
    spectral_relaxation,
)
from fewlabels.cluster._spectral_nystrom import (
    NystromRelaxation,
    NystromSpectralClustering,
    nystrom_relaxation,
)
from fewlabels.cluster._spherical import (
    PatchNormalizer,
    SphericalDictionary,
    SphericalKMeans,
    spherical_kmeans,
)

__all__ = [
    "ConstrainedRelaxation",
    "ConstrainedSpectralClustering",
    "FrontClusters",
    "HierarchicalLevels",
    "LeaderClustering",
    "MacQueenKMeans",
    "MacQueenResult",
    "MahalanobisKMeans",
    "NormalizedCut",
    "NormalizedSpectralClustering",
    "NystromRelaxation",
    "NystromSpectralClustering",
    "PatchNormalizer",
    "RLSClustering",
    "RecursiveNormalizedCut",
    "SpectralRelaxation",
    "SphericalDictionary",
    "SphericalKMeans",
    "Split",
    "association",
    "cluster_dissimilarities",
    "cluster_front",
    "combined_similarity",
    "confusion_similarity",
    "constrained_relaxation",
    "constraint_matrix",
    "constraints_from_labels",
    "cut_value",
    "hierarchical_levels",
    "leaders",
    "macqueen_kmeans",
    "minimum_normalized_cut",
    "nondominated_ranks",
    "normalized_association",
    "normalized_cut",
    "nystrom_relaxation",
    "ratio_cut",
    "recursive_normalized_cut",
    "regularized_euclidean",
    "semantic_similarity",
    "spectral_relaxation",
    "spherical_kmeans",
    "tanimoto_similarity",
    "tfidf_similarity",
]
