"""Approximate search for neighbours, by faiss."""

# SPDX-License-Identifier: BSD-3-Clause

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from fewlabels._threads import are_governed, in_threads, n_threads
from fewlabels.graphs._edges import edge_lengths, per_edge
from fewlabels.graphs._exact_search import (
    ExactSearch,
    NeighborSearch,
    nearest_first,
    query_batches,
    without_self,
)


@contextmanager
def _threads_of_faiss() -> Iterator[None]:
    """Give faiss, which has its own pool, the number of threads available."""
    if not are_governed():
        yield
        return
    # Its BLAS may have been loaded after others were limited. It uses OpenMP's threads,
    # so that the number set last counts for both.
    with threadpool_limits(1, "blas"), threadpool_limits(n_threads(), "openmp"):
        yield


class ApproximateSearch(NeighborSearch):
    """Inverted lists of faiss: Euclidean distance between dense rows.

    The rows are split into 2 sqrt(n) cells by k-means, and a query visits the cells
    nearest to it. Their number is chosen on a sample of rows whose neighbours are also
    searched exactly: 16, doubled until `RECALL` of those neighbours are found. Only
    faiss draws random numbers, with a fixed seed.
    """

    RECALL = 0.99
    SAMPLE = 500  # rows

    def __init__(self, X: NDArray[Any]) -> None:
        try:
            import faiss
        except ImportError as error:
            raise ImportError(
                "neighbors='approximate' needs faiss: pip install 'fewlabels[ann]', "
                "or use neighbors='exact'."
            ) from error
        n, p = X.shape
        self._X = X
        # faiss computes in float32: centred and scaled, rows far from the origin or
        # of odd units keep their digits.
        self._mean = X.mean(axis=0)
        self._scale = float(np.abs(X - self._mean).max()) or 1.0
        rows = self._prepared(X)
        self._n_cells = max(1, int(2 * np.sqrt(n)))
        self._index = faiss.IndexIVFFlat(faiss.IndexFlatL2(p), p, self._n_cells)
        self._index.cp.niter = 8
        self._index.cp.min_points_per_centroid = 1  # else faiss prints a warning
        with _threads_of_faiss():
            self._index.train(rows)
            self._index.add(rows)
        self._probes: dict[int, int | None] = {}

    def _prepared(self, X: NDArray[Any]) -> NDArray[np.float32]:
        return np.ascontiguousarray((X - self._mean) / self._scale, dtype=np.float32)

    def _search(self, rows: NDArray[Any], k: int, n_probes: int) -> NDArray[np.intp]:
        import faiss

        probes = faiss.SearchParametersIVF()
        probes.nprobe = n_probes
        if not are_governed():
            return self._index.search(rows, k, params=probes)[1]
        # In threads of the pool, since OpenMP's threads keep cores busy while waiting.
        before = faiss.omp_get_max_threads()

        def search(batch: slice) -> NDArray[np.intp]:
            faiss.omp_set_num_threads(1)  # of this thread
            return self._index.search(rows[batch], k, params=probes)[1]

        batches = query_batches(rows.shape[0])
        try:
            return np.concatenate(in_threads(search, batches))
        finally:
            faiss.omp_set_num_threads(before)

    def _settle_probes(self, k: int) -> int | None:
        """Cells to visit for enough recall; None if not even all of them give it."""
        sample = self._X[:: -(-self._X.shape[0] // self.SAMPLE)]
        exact = self._exact_index.kneighbors(k, sample)[0][:, -1:]
        rows = self._prepared(sample)
        n_probes = 16
        while True:
            n_probes = min(n_probes, self._n_cells)
            found = self._search(rows, k, n_probes)
            # As near as the k-th neighbour is near enough: which of several equally
            # near rows is returned does not matter.
            lengths = self._lengths(sample, found)
            hits = np.count_nonzero(lengths <= exact * (1 + 1e-5))
            if hits >= self.RECALL * lengths.size:
                return n_probes
            if n_probes == self._n_cells:
                return None
            n_probes *= 2

    def _lengths(self, queries: NDArray[Any], indices: NDArray[Any]) -> NDArray[Any]:
        """Distances to the rows found; infinite where none was found."""
        lengths = per_edge(
            edge_lengths,
            queries,
            self._X,
            np.repeat(np.arange(queries.shape[0]), indices.shape[1]),
            indices.ravel(),
        ).reshape(indices.shape)
        return np.where(indices < 0, np.inf, lengths)

    @cached_property
    def _exact_index(self) -> ExactSearch:
        return ExactSearch(self._X, "euclidean", None, None)

    def kneighbors(
        self, n_neighbors: int, X: Any = None
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        queries = self._X if X is None else X
        rows = self._prepared(queries)
        k = n_neighbors + (X is None)
        if k not in self._probes:
            self._probes[k] = self._settle_probes(k)
        n_probes = self._probes[k]
        if n_probes is None:
            warnings.warn(
                "neighbors='approximate' does not find enough of the neighbours, as "
                "rows far from all others leave too few digits for the rest: searching "
                "exactly. Scale X or remove outliers.",
                UserWarning,
                stacklevel=2,
            )
            return self._exact_index.kneighbors(n_neighbors, X)
        indices = self._search(rows, k, n_probes)
        short = (indices < 0).any(axis=1)  # the cells visited held too few rows
        if short.any():
            indices[short] = self._search(rows[short], k, self._n_cells)
        pair = nearest_first(self._lengths(queries, indices), indices)
        return without_self(*pair) if X is None else pair
