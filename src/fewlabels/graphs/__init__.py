"""Core: neighbour graphs, Laplacians, connectivity, graph signals and kernels.

A graph is its weight array W: symmetric, non-negative, zero on the diagonal. Nothing
here knows about labels.
"""

# SPDX-License-Identifier: BSD-3-Clause

from fewlabels.graphs._connectivity import (
    ConnectivityReport,
    connectivity,
    warn_unreached,
)
from fewlabels.graphs._edge_weights import WEIGHT_CONSTRAINTS as WEIGHT_CONSTRAINTS
from fewlabels.graphs._edge_weights import (
    auto_bandwidth,
    heat_weights,
    local_linear_weights,
)
from fewlabels.graphs._eigen import DENSE_VERTICES as DENSE_VERTICES
from fewlabels.graphs._eigen import EIGEN_SOLVERS as EIGEN_SOLVERS
from fewlabels.graphs._eigen import (
    Eigenpairs,
    laplacian_eigenpairs,
    laplacian_eigenvectors,
)
from fewlabels.graphs._filters import GraphFilter, graph_kernel, graph_kernel_operator
from fewlabels.graphs._graph_transformer import SimilarityGraphTransformer
from fewlabels.graphs._image import image_graph
from fewlabels.graphs._laplacian import LaplacianPower, graph_laplacian, laplacian_power
from fewlabels.graphs._laplacian import check_weights as check_weights
from fewlabels.graphs._near_copies import near_copies
from fewlabels.graphs._neighbors import make_search, nearest_neighbors
from fewlabels.graphs._signals import (
    boundary_volume,
    edge_derivative,
    graph_gradient,
    graph_tikhonov,
    local_variation,
    p_dirichlet,
)
from fewlabels.graphs._similarity import GRAPH_CONSTRAINTS as GRAPH_CONSTRAINTS
from fewlabels.graphs._similarity import graph_from_neighbors, similarity_graph
from fewlabels.graphs._sparse_coding import l1_graph
from fewlabels.graphs._spectrum import (
    GraphFourierTransform,
    eigengap_n_clusters,
    graph_fourier,
    graph_kmeans,
    graph_mca,
    graph_pca,
)

# Names imported "as" themselves are for other packages, and not public.
__all__ = [
    "ConnectivityReport",
    "Eigenpairs",
    "GraphFilter",
    "GraphFourierTransform",
    "LaplacianPower",
    "SimilarityGraphTransformer",
    "auto_bandwidth",
    "boundary_volume",
    "connectivity",
    "edge_derivative",
    "eigengap_n_clusters",
    "graph_fourier",
    "graph_from_neighbors",
    "graph_gradient",
    "graph_kernel",
    "graph_kernel_operator",
    "graph_kmeans",
    "graph_laplacian",
    "graph_mca",
    "graph_pca",
    "graph_tikhonov",
    "heat_weights",
    "image_graph",
    "l1_graph",
    "laplacian_eigenpairs",
    "laplacian_eigenvectors",
    "laplacian_power",
    "local_linear_weights",
    "local_variation",
    "make_search",
    "near_copies",
    "nearest_neighbors",
    "p_dirichlet",
    "similarity_graph",
    "warn_unreached",
]
