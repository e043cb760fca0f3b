"""Neighbour graphs, edge weights, Laplacians and connectivity, as sparse arrays.

A graph is its weight array W: symmetric, non-negative, zero on the diagonal. Nothing
here knows about labels.
"""

# SPDX-License-Identifier: BSD-3-Clause

from fewlabels.graphs._connectivity import (
    ConnectivityReport,
    connectivity,
    warn_unreached,
)
from fewlabels.graphs._laplacian import graph_laplacian, laplacian_power
from fewlabels.graphs._neighbors import nearest_neighbors
from fewlabels.graphs._similarity import (
    SimilarityGraphTransformer,
    graph_from_neighbors,
    similarity_graph,
)
from fewlabels.graphs._spectrum import laplacian_eigenvectors
from fewlabels.graphs._weights import auto_bandwidth, local_linear_weights

__all__ = [
    "ConnectivityReport",
    "SimilarityGraphTransformer",
    "auto_bandwidth",
    "connectivity",
    "graph_from_neighbors",
    "graph_laplacian",
    "laplacian_eigenvectors",
    "laplacian_power",
    "local_linear_weights",
    "nearest_neighbors",
    "similarity_graph",
    "warn_unreached",
]
