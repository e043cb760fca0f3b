"""Edges in compressed rows: their lengths, and arrays built from them."""

# SPDX-License-Identifier: BSD-3-Clause

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, get_index_dtype, issparse
from sklearn.utils import gen_batches
from sklearn.utils.extmath import row_norms

from fewlabels._threads import in_threads

# Numbers held at a time when rows are gathered edge by edge: 32 MB of float64.
_BATCH_NUMBERS = 2**22


def gather_batches(n_items: int, numbers_per_item: float) -> Iterable[slice]:
    """Slices over `n_items`, each gathering a bounded amount of numbers."""
    size = int(_BATCH_NUMBERS / max(1, numbers_per_item))
    return gen_batches(n_items, max(1, size)) if n_items else ()


def per_edge(
    function: Callable[[Any, Any], Any],
    X: Any,
    Y: Any,
    rows: NDArray[Any],
    columns: NDArray[Any],
) -> NDArray[Any]:
    """Evaluate ``function(X[i], Y[j])`` on every edge (i, j), some edges at a time."""
    width = Y.nnz / Y.shape[0] if issparse(Y) else Y.shape[1]
    parts = in_threads(
        lambda batch: function(X[rows[batch]], Y[columns[batch]]),
        gather_batches(rows.size, width),
    )
    values = [np.empty(0), *parts]
    return np.concatenate(values, dtype=Y.dtype, casting="same_kind")


def edge_lengths(X: Any, Y: Any) -> NDArray[Any]:
    return row_norms(X - Y)


def neighbor_graph(
    values: NDArray[Any], indices: NDArray[Any], n_samples: int
) -> csr_array:
    """CSR array with one value per neighbour; a stored zero is an edge too."""
    n_queries, k = indices.shape
    dtype = get_index_dtype(maxval=max(n_samples, indices.size))
    indptr = np.arange(n_queries + 1, dtype=dtype) * k
    return csr_array(
        (values.ravel(), indices.ravel().astype(dtype), indptr),
        shape=(n_queries, n_samples),
    )


def row_indices(graph: csr_array) -> NDArray[Any]:
    """Row of every stored entry of a CSR array."""
    return np.repeat(np.arange(graph.shape[0]), np.diff(graph.indptr))


def kept_edges(
    graph: csr_array, rows: NDArray[Any], keep: NDArray[np.bool_]
) -> csr_array:
    """Drop entries of a CSR array, keeping explicit zeros."""
    counts = np.bincount(rows[keep], minlength=graph.shape[0])
    indptr = np.concatenate([[0], np.cumsum(counts)])
    return csr_array((graph.data[keep], graph.indices[keep], indptr), shape=graph.shape)
