"""Build a Gram operator and a graph from rows or a kernel matrix."""

# SPDX-License-Identifier: BSD-3-Clause

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from fewlabels.graphs import similarity_graph
from fewlabels.kernels import DenseGram, GramOperator, Kernel, TiledGram


def dense_rows(X: Any) -> NDArray[Any]:
    """Convert a matrix that may be sparse to an array."""
    return X.toarray() if sparse.issparse(X) else X


def usual_gamma(kernel: Any, gamma: Any) -> Any:
    """Resolve `gamma` for a kernel: the default suits only "rbf"."""
    rbf = isinstance(kernel, str) and kernel == "rbf"
    local = isinstance(gamma, str) and gamma == "local"
    return "scale" if local and not rbf else gamma


def precise_gram(X: Any, kernel: Kernel, device: Any = None) -> GramOperator:
    """Gram operator in float64 that computes columns only on demand."""
    if kernel.is_precomputed:
        return DenseGram(dense_rows(X))
    X = X.astype(np.float64, copy=False)
    return TiledGram(X, kernel, check_input=False, device=device)


def kernel_distances(K: NDArray[Any]) -> NDArray[Any]:
    """Distances in the feature space of a kernel matrix."""
    norms = K.diagonal().astype(np.float64)
    squares = norms[:, None] + norms - (K + K.T)
    np.fill_diagonal(squares, 0.0)
    return np.sqrt(np.maximum(squares, 0.0))


def build_graph(
    X: Any,
    *,
    precomputed: bool,
    n_neighbors: int,
    n_jobs: int | None = None,
    device: Any = None,
    **params: Any,
) -> Any:
    """Neighbour graph of validated rows, or of the rows of a kernel matrix."""
    n = X.shape[0]
    if n == 1:
        return sparse.csr_array((1, 1))
    if precomputed:
        X, params = kernel_distances(dense_rows(X)), {**params, "metric": "precomputed"}
        device = None
    graph = similarity_graph(
        X,
        n_neighbors=min(n_neighbors, n - 1),
        n_jobs=n_jobs,
        check_input=False,
        device=device,
        **params,
    )
    return graph.astype(np.float64)
