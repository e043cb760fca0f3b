"""Exact search for neighbours."""

# SPDX-License-Identifier: BSD-3-Clause

import math
from collections.abc import Callable
from contextlib import nullcontext
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse
from sklearn.metrics import pairwise_distances
from sklearn.neighbors import NearestNeighbors
from sklearn.utils import gen_batches
from sklearn.utils.extmath import row_norms

from fewlabels._distances import centre_of, safe_unit, squared_distances
from fewlabels._rows import is_euclidean
from fewlabels._threads import are_governed, in_threads, threads
from fewlabels.graphs._edges import (
    edge_lengths,
    gather_batches,
    kept_edges,
    per_edge,
    row_indices,
)

# Dense rows with more features than the first number, if there are more of them than
# the second, are compared by brute force: trees in ten dimensions visit most of them
# anyway, one by one.
SCAN_FEATURES = 6


SCAN_ROWS = 5000


# Neighbours whose squared distance is less than this share of the squares it was
# computed from may have been confused with others: half of the digits are left.
LOST_DIGITS = 1e-8


# Rows that are compared with each other at a time: their products stay in the cache.
_TILE = 512


def query_batches(n_queries: int) -> list[slice]:
    """Batches of queries: some for every thread, even if there are few queries."""
    return list(gen_batches(n_queries, min(max(n_queries // 16, 64), _TILE)))


def nearest_first(
    distances: NDArray[Any], indices: NDArray[Any]
) -> tuple[NDArray[Any], NDArray[Any]]:
    order = np.lexsort((indices, distances), axis=-1)
    return (
        np.take_along_axis(distances, order, axis=1),
        np.take_along_axis(indices, order, axis=1),
    )


def without_self(
    distances: NDArray[Any], indices: NDArray[Any]
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Drop each row's own index from a search of the training rows themselves.

    It need not come first, since copies of a row are as near. If more copies than
    neighbours have crowded it out, the farthest entry is dropped instead.
    """
    n, k = indices.shape
    keep = indices != np.arange(n)[:, None]
    keep[keep.all(axis=1), -1] = False
    return distances[keep].reshape(n, k - 1), indices[keep].reshape(n, k - 1)


class NeighborSearch:
    """An index of rows for neighbour queries.

    Without `X` the rows themselves are the queries, and no row is its own neighbour.
    """

    def kneighbors(
        self, n_neighbors: int, X: Any = None
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        """Distances and indices of the nearest rows, nearest first."""
        raise NotImplementedError

    def within_radius(self, radius: float, X: Any = None) -> csr_array:
        """Distances not above `radius`, as a CSR array with explicit zeros."""
        raise ValueError(
            "kind='ball' is not possible with approximate search: use "
            "neighbors='exact', or kind='knn'."
        )

    def pairwise(self, X: Any = None) -> NDArray[Any]:
        """All distances."""
        raise ValueError(
            "kind='complete' needs every distance: use neighbors='exact' and rows or "
            "a dense distance matrix, or kind='knn'."
        )


class _Scan:
    """All distances between dense rows, in tiles, to find the smallest.

    Products of rows, in their own precision, give distances up to rounding errors with
    a known bound. Rows that may be among the nearest are recomputed by differences in
    double precision.
    """

    def __init__(self, X: NDArray[Any]) -> None:
        self._X = np.ascontiguousarray(X)
        self._centre = centre_of(X).astype(X.dtype)
        moved = X - self._centre
        # Rounding errors of a product, in units of the squares of both rows: from sums
        # of p terms, from shifting the rows, and from a limit.
        self._error = 2 * (X.shape[1] + 8) * float(np.finfo(X.dtype).eps)
        squares = row_norms(moved.astype(np.float64), squared=True)
        column = ((0.5 - self._error) * squares).astype(X.dtype)
        self._columns = np.vstack([-moved.T, column])

    def kneighbors(
        self, n_neighbors: int, X: NDArray[Any] | None
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        """Squared distances and indices of the nearest rows, nearest first."""
        from fewlabels._loops.nearest import scan_products

        rows = self._X
        n, queries = rows.shape[0], rows if X is None else X
        heap = np.full((queries.shape[0], n_neighbors), np.inf)
        near = np.full(heap.shape, n, dtype=np.intp)

        def scan(batch: slice) -> None:
            Q = np.ascontiguousarray(queries[batch], dtype=rows.dtype)
            moved = Q - self._centre
            squares = row_norms(moved.astype(np.float64), squared=True)
            moved = np.hstack([moved, np.ones_like(moved[:, :1])])
            products = np.empty(Q.shape[0] * _TILE, dtype=rows.dtype)
            for first in range(0, n, _TILE):
                columns = self._columns[:, first : first + _TILE]
                shape = Q.shape[0], columns.shape[1]
                S = products[: math.prod(shape)].reshape(shape)
                np.matmul(moved, columns, out=S)
                scan_products(
                    S,
                    Q,
                    rows,
                    first,
                    batch.start if X is None else n,
                    squares,
                    self._error * squares,
                    heap[batch],
                    near[batch],
                )

        with np.errstate(over="ignore", invalid="ignore"):
            in_threads(scan, query_batches(queries.shape[0]))
        return nearest_first(heap, near)


class ExactSearch(NeighborSearch):
    """scikit-learn's search: any of its metrics, dense or sparse rows.

    Large sets of dense rows are compared by brute force, see :class:`_Scan`.
    """

    def __init__(
        self,
        X: Any,
        metric: str | Callable[..., float],
        metric_params: dict[str, Any] | None,
        n_jobs: int | None,
    ) -> None:
        params = dict(metric_params or {})
        self._euclidean = is_euclidean(metric, metric_params)
        self._sparse = issparse(X)
        self._unit = safe_unit(X) if self._euclidean else 1.0
        self._X = self._in_units(X)
        # The search expands ||x - z||^2 into products, which loses the digits of rows
        # far from the origin: centre them.
        centre = self._euclidean and not issparse(X)
        self._centre = centre_of(self._X).astype(X.dtype) if centre else None
        self._n_jobs = n_jobs
        self._unfitted = NearestNeighbors(
            metric=metric,
            p=params.pop("p", 2),
            metric_params=params or None,
            n_jobs=n_jobs,
        )
        many = X.shape[0] > SCAN_ROWS and X.shape[1] > SCAN_FEATURES
        self._scan = _Scan(self._X) if centre and many else None

    @cached_property
    def _index(self) -> NearestNeighbors:
        return self._unfitted.fit(self._centred(self._X))

    def _in_units(self, X: Any) -> Any:
        """Convert rows to the unit and form, dense or sparse, of the indexed rows."""
        if X is None:
            return None
        if issparse(X) != self._sparse:
            X = csr_array(X) if self._sparse else X.toarray()
        return X if self._unit == 1.0 else X / X.dtype.type(self._unit)

    def _centred(self, X: Any) -> Any:
        return X if X is None or self._centre is None else X - self._centre

    def _refined(self, rows: Any, columns: Any, distances: Any, X: Any) -> NDArray[Any]:
        # Computed from products, copies are slightly apart and d(i, j) differs from
        # d(j, i): on the few edges that are kept, use differences instead.
        if not self._euclidean:
            return distances.astype(self._X.dtype, copy=False)
        queries = self._X if X is None else X
        return per_edge(edge_lengths, queries, self._X, rows, columns)

    def kneighbors(
        self, n_neighbors: int, X: Any = None
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        X = self._in_units(X)
        if self._scan is not None:
            with nullcontext() if are_governed() else threads(self._n_jobs):
                d2, indices = self._scan.kneighbors(n_neighbors, X)
            distances = np.sqrt(d2).astype(self._X.dtype)
            return distances * distances.dtype.type(self._unit), indices
        distances, indices = self._found(self._centred(X), n_neighbors)
        rows = np.repeat(np.arange(indices.shape[0]), n_neighbors)
        distances = self._refined(rows, indices.ravel(), distances.ravel(), X)
        distances = distances.reshape(indices.shape)
        if self._euclidean:
            self._search_again(distances, indices, X)
        return nearest_first(distances * distances.dtype.type(self._unit), indices)

    def _found(self, X: Any, n_neighbors: int) -> tuple[NDArray[Any], NDArray[Any]]:
        """Query the index, in batches if there are several threads."""
        if not are_governed() or self._index.effective_metric_ == "precomputed":
            return self._index.kneighbors(X, n_neighbors)
        queries = self._centred(self._X) if X is None else X
        k = n_neighbors + (X is None)
        parts = in_threads(
            lambda batch: self._index.kneighbors(queries[batch], k),
            query_batches(queries.shape[0]),
        )
        distances, indices = map(np.concatenate, zip(*parts, strict=True))
        return (
            (distances, indices) if X is not None else without_self(distances, indices)
        )

    def _search_again(self, distances: Any, indices: Any, X: Any) -> None:
        """Search again for rows whose neighbours were lost to cancellation."""
        queries = self._X if X is None else X
        squares = row_norms(self._centred(queries), squared=True)
        farthest = np.square(distances.max(axis=1), dtype=np.float64)
        # If all requested neighbours are copies, nothing can be nearer.
        lost = np.flatnonzero((farthest > 0) & (farthest < LOST_DIGITS * squares))
        k = indices.shape[1]
        for batch in gather_batches(lost.size, self._X.shape[0]):
            rows = lost[batch]
            d2 = squared_distances(queries[rows], self._X)
            if X is None:
                d2[np.arange(rows.size), rows] = np.inf
            nearest = np.argpartition(d2, k - 1, axis=1)[:, :k]
            indices[rows] = nearest
            distances[rows] = np.sqrt(np.take_along_axis(d2, nearest, axis=1))

    def within_radius(self, radius: float, X: Any = None) -> csr_array:
        radius, X = radius / self._unit, self._in_units(X)
        # Search slightly further, since lengths from products are inexact; then cut.
        reach = radius + self._slack if self._euclidean else radius
        graph = csr_array(
            self._index.radius_neighbors_graph(self._centred(X), reach, "distance")
        )
        rows = row_indices(graph)
        graph.data = self._refined(rows, graph.indices, graph.data, X)
        graph = kept_edges(graph, rows, graph.data <= radius)
        graph.data *= graph.data.dtype.type(self._unit)
        return graph

    @property
    def _slack(self) -> float:
        """Bound on the error of a distance computed from products."""
        largest = row_norms(self._centred(self._X)).max(initial=0.0)
        return float(4 * np.sqrt(np.finfo(self._X.dtype).eps) * largest)

    def pairwise(self, X: Any = None) -> NDArray[Any]:
        metric = self._index.effective_metric_
        if metric == "precomputed":
            return self._X if X is None else X
        X = self._X if X is None else self._in_units(X)
        if self._euclidean:
            return np.sqrt(squared_distances(X, self._X)) * X.dtype.type(self._unit)
        distances = pairwise_distances(
            X,
            self._X,
            metric=metric,
            n_jobs=self._index.n_jobs,
            **self._index.effective_metric_params_,
        )
        return distances.astype(self._X.dtype, copy=False)
