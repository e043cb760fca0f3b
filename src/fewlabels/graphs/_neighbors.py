"""Who is near whom: exact, approximate or supplied neighbour search."""

# SPDX-License-Identifier: BSD-3-Clause

import importlib.util
import math
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from functools import cached_property
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, get_index_dtype, issparse
from sklearn.base import clone
from sklearn.metrics import pairwise_distances
from sklearn.neighbors import NearestNeighbors
from sklearn.utils import gen_batches
from sklearn.utils.extmath import row_norms
from threadpoolctl import threadpool_limits

from fewlabels._backend import (
    DEVICE_CONSTRAINTS,
    Backend,
    backend_of,
    get_backend,
    like_given,
    to_host,
)
from fewlabels._distances import centre_of, safe_unit, squared_distances
from fewlabels._rows import check_rows, is_euclidean
from fewlabels._sklearn import HasMethods, Interval, StrOptions, validate_params
from fewlabels._threads import are_governed, in_threads, n_threads, threads
from fewlabels.exceptions import warn_ignored

# `neighbors="auto"` searches exactly up to this many rows (seconds, on two cores) and
# for up to this many features, where a tree is both exact and quick.
AUTO_EXACT_ROWS = 20_000
AUTO_TREE_FEATURES = 4
# Dense rows of more features than these, and as many as that, are all compared: trees
# of ten features look at most of them anyway, and one by one.
SCAN_FEATURES = 6
SCAN_ROWS = 5000

SEARCH_CONSTRAINTS: dict[str, list[Any]] = {
    "metric": [str, callable],
    "metric_params": [dict, None],
    "neighbors": [
        StrOptions({"exact", "approximate", "auto"}),
        HasMethods(["fit_transform"]),
    ],
    "n_jobs": [Integral, None],
    **DEVICE_CONSTRAINTS,
}

# Neighbours whose squared distance is a smaller share of the squares from which the
# search computed it may have been taken for others: half of the digits are left.
LOST_DIGITS = 1e-8

# Numbers held at a time where rows are gathered edge by edge: 32 MB of float64.
_BATCH_NUMBERS = 2**22

# Rows that are compared with each other at a time: their products stay in the cache.
_TILE = 512


def _few_or_many(n_queries: int) -> list[slice]:
    """Batches of queries: some for every thread, also where there are few queries."""
    return list(gen_batches(n_queries, min(max(n_queries // 16, 64), _TILE)))


def gather_batches(n_items: int, numbers_per_item: float) -> Iterable[slice]:
    """Slices over `n_items` that each gather a bounded amount of numbers."""
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


def _edge_lengths(X: Any, Y: Any) -> NDArray[Any]:
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


def _kept_edges(
    graph: csr_array, rows: NDArray[Any], keep: NDArray[np.bool_]
) -> csr_array:
    """Drop entries of a CSR array, but none for being zero."""
    counts = np.bincount(rows[keep], minlength=graph.shape[0])
    indptr = np.concatenate([[0], np.cumsum(counts)])
    return csr_array((graph.data[keep], graph.indices[keep], indptr), shape=graph.shape)


def _nearest_first(
    distances: NDArray[Any], indices: NDArray[Any]
) -> tuple[NDArray[Any], NDArray[Any]]:
    order = np.lexsort((indices, distances), axis=-1)
    return (
        np.take_along_axis(distances, order, axis=1),
        np.take_along_axis(indices, order, axis=1),
    )


def _without_self(
    distances: NDArray[Any], indices: NDArray[Any]
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Drop each row's own index from a search of the training rows themselves.

    The own index need not come first: copies of a row are as near. Where more copies
    than neighbours have crowded it out, the farthest entry goes.
    """
    n, k = indices.shape
    keep = indices != np.arange(n)[:, None]
    keep[keep.all(axis=1), -1] = False
    return distances[keep].reshape(n, k - 1), indices[keep].reshape(n, k - 1)


class NeighborSearch:
    """A set of rows that can be asked for neighbours.

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
    """All distances between dense rows, in tiles, for those who want the smallest.

    Products of rows, in the precision of these, tell how far they are apart but for
    some rounding errors, of which there is a bound: what may be among the nearest is
    computed again in double precision, by differences.
    """

    def __init__(self, X: NDArray[Any]) -> None:
        self._X = np.ascontiguousarray(X)
        self._centre = centre_of(X).astype(X.dtype)
        moved = X - self._centre
        # Rounding errors of a product, in units of the squares of both rows: those of
        # sums of p terms, of the rows that were moved, and of a limit.
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
            in_threads(scan, _few_or_many(queries.shape[0]))
        return _nearest_first(heap, near)


class ExactSearch(NeighborSearch):
    """scikit-learn's search: any of its metrics, dense or sparse rows.

    Many dense rows are compared with all others, see :class:`_Scan`.
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
        """Rows in the unit and of the kind, dense or sparse, of the rows indexed."""
        if X is None:
            return None
        if issparse(X) != self._sparse:
            X = csr_array(X) if self._sparse else X.toarray()
        return X if self._unit == 1.0 else X / X.dtype.type(self._unit)

    def _centred(self, X: Any) -> Any:
        return X if X is None or self._centre is None else X - self._centre

    def _refined(self, rows: Any, columns: Any, distances: Any, X: Any) -> NDArray[Any]:
        # From products, copies come out a little apart and d(i, j) differs from
        # d(j, i): on the few edges that are kept, take the difference itself.
        if not self._euclidean:
            return distances.astype(self._X.dtype, copy=False)
        queries = self._X if X is None else X
        return per_edge(_edge_lengths, queries, self._X, rows, columns)

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
        return _nearest_first(distances * distances.dtype.type(self._unit), indices)

    def _found(self, X: Any, n_neighbors: int) -> tuple[NDArray[Any], NDArray[Any]]:
        """Ask the index, some rows at a time where there are threads for it."""
        if not are_governed() or self._index.effective_metric_ == "precomputed":
            return self._index.kneighbors(X, n_neighbors)
        queries = self._centred(self._X) if X is None else X
        k = n_neighbors + (X is None)
        parts = in_threads(
            lambda batch: self._index.kneighbors(queries[batch], k),
            _few_or_many(queries.shape[0]),
        )
        distances, indices = map(np.concatenate, zip(*parts, strict=True))
        return (
            (distances, indices) if X is not None else _without_self(distances, indices)
        )

    def _search_again(self, distances: Any, indices: Any, X: Any) -> None:
        """Search rows again whose neighbours were lost in the squares of products."""
        queries = self._X if X is None else X
        squares = row_norms(self._centred(queries), squared=True)
        farthest = np.square(distances.max(axis=1), dtype=np.float64)
        # As many copies as neighbours are asked for cannot be nearer.
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
        # A little further, as lengths from products are off, and then cut.
        reach = radius + self._slack if self._euclidean else radius
        graph = csr_array(
            self._index.radius_neighbors_graph(self._centred(X), reach, "distance")
        )
        rows = row_indices(graph)
        graph.data = self._refined(rows, graph.indices, graph.data, X)
        graph = _kept_edges(graph, rows, graph.data <= radius)
        graph.data *= graph.data.dtype.type(self._unit)
        return graph

    @property
    def _slack(self) -> float:
        """Bound on the error of a distance that is computed from products."""
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


@contextmanager
def _threads_of_faiss() -> Iterator[None]:
    """Give the threads that there are to faiss, which has a pool of its own."""
    if not are_governed():
        yield
        return
    # Its own BLAS was perhaps loaded after others were limited. It has the threads of
    # OpenMP, so that whichever number is set last counts for both.
    with threadpool_limits(1, "blas"), threadpool_limits(n_threads(), "openmp"):
        yield


class DeviceSearch(NeighborSearch):
    """Exact search among arrays of a backend, by Euclidean distance."""

    def __init__(self, rows: Any, backend: Backend) -> None:
        self._rows, self._backend = rows, backend

    def kneighbors(self, n_neighbors: int, X: Any = None) -> tuple[Any, Any]:
        return self._backend.nearest(self._rows, n_neighbors, X)


class MovedSearch(DeviceSearch):
    """The same for rows and queries of NumPy.

    Saved, it is just its rows: a machine without the device searches by
    :class:`ExactSearch`.
    """

    def __init__(self, X: NDArray[Any], backend: Backend) -> None:
        self._X, self._unit = X, X.dtype.type(safe_unit(X))
        super().__init__(self._moved(X, backend), backend)

    def _moved(self, X: Any, backend: Backend) -> Any:
        X = X.toarray() if issparse(X) else X
        return backend.asarray(X.astype(self._X.dtype, copy=False) / self._unit)

    def kneighbors(self, n_neighbors: int, X: Any = None) -> tuple[Any, Any]:
        b = self._backend
        queries = None if X is None else self._moved(X, b)
        found = super().kneighbors(n_neighbors, queries)
        distances, indices = map(b.to_numpy, found)
        return distances * self._unit, indices.astype(np.intp, copy=False)

    def __reduce__(self) -> tuple[Any, ...]:
        return ExactSearch, (self._X, "euclidean", None, None)


class ApproximateSearch(NeighborSearch):
    """Inverted lists of faiss: Euclidean distance between dense rows.

    The rows are split into 2 sqrt(n) cells by k-means, and a query visits the cells
    nearest to it. How many is decided on a sample of the rows whose neighbours are
    also searched exactly: 16, doubled until `RECALL` of those neighbours are found.
    Nothing is drawn at random except by faiss, whose seed is fixed.
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
        # In threads of the pool, since those of OpenMP keep busy while they wait.
        before = faiss.omp_get_max_threads()

        def search(batch: slice) -> NDArray[np.intp]:
            faiss.omp_set_num_threads(1)  # of this thread
            return self._index.search(rows[batch], k, params=probes)[1]

        batches = _few_or_many(rows.shape[0])
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
            # near rows comes back does not matter.
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
            _edge_lengths,
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
        pair = _nearest_first(self._lengths(queries, indices), indices)
        return _without_self(*pair) if X is None else pair


class GraphSearch(NeighborSearch):
    """Neighbours looked up in a sparse graph of distances, given or transformed to."""

    _transformer: Any

    def __init__(self, X: Any, transformer: Any = None) -> None:
        self._dtype = X.dtype
        self._transformer = transformer if transformer is None else clone(transformer)
        self._graph = X if transformer is None else self._transformer.fit_transform(X)
        n = X.shape[0]
        if not issparse(self._graph) or self._graph.shape != (n, n):
            source = "X" if transformer is None else f"neighbors={transformer!r}"
            raise ValueError(
                f"{source} gave no sparse graph of distances of shape {(n, n)}: use "
                "what sklearn.neighbors.KNeighborsTransformer(mode='distance') gives, "
                "or a transformer like it."
            )

    def _edges(self, X: Any) -> tuple[csr_array, NDArray[Any], NDArray[Any]]:
        """Graph with, per stored entry, its row and whether it counts."""
        graph = self._graph
        if X is not None:
            graph = X if self._transformer is None else self._transformer.transform(X)
        graph = csr_array(graph, dtype=self._dtype)
        if graph.nnz and not graph.data.min() >= 0:
            raise ValueError(
                "The graph of distances holds negative values or NaN: pass distances, "
                "not similarities."
            )
        rows = row_indices(graph)
        is_self = rows == graph.indices if X is None else np.zeros(rows.size, bool)
        return graph, rows, ~is_self

    def kneighbors(
        self, n_neighbors: int, X: Any = None
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        graph, rows, keep = self._edges(X)
        n = graph.shape[0]
        counts = np.bincount(rows[keep], minlength=n)
        if counts.min(initial=n_neighbors) < n_neighbors:
            raise ValueError(
                f"The graph of distances holds only {counts.min()} neighbours for some "
                f"row, n_neighbors={n_neighbors} are asked for: give it more "
                "neighbours (one more than asked for, if a row counts as its own)."
            )
        rows, columns, data = rows[keep], graph.indices[keep], graph.data[keep]
        order = np.lexsort((columns, data, rows))
        starts = np.cumsum(counts) - counts
        chosen = order[starts[:, None] + np.arange(n_neighbors)]
        return data[chosen], columns[chosen].astype(np.intp)

    def within_radius(self, radius: float, X: Any = None) -> csr_array:
        graph, rows, keep = self._edges(X)
        return _kept_edges(graph, rows, keep & (graph.data <= radius))


def _has_faiss() -> bool:
    return importlib.util.find_spec("faiss") is not None


def make_search(
    X: Any,
    *,
    kind: str = "knn",
    metric: str | Callable[..., float] = "euclidean",
    metric_params: dict[str, Any] | None = None,
    neighbors: Any = "exact",
    n_jobs: int | None = None,
    device: str | Backend | None = None,
) -> NeighborSearch:
    """Index rows once, to be asked for the neighbours of any rows.

    Parameters
    ----------
    X : {ndarray, sparse matrix} of shape (n_samples, n_features)
        Validated rows.
    kind : {"knn", "ball", "complete"}, default="knn"
        What will be asked for; "ball" and "complete" need an exact search.
    metric : str or callable, default="euclidean"
        As in :func:`nearest_neighbors`.
    metric_params : dict, default=None
        As in :func:`nearest_neighbors`.
    neighbors : {"exact", "approximate", "auto"} or transformer, default="exact"
        As in :func:`nearest_neighbors`.
    n_jobs : int, default=None
        Passed to scikit-learn's search.
    device : {"cpu", "cuda"} or None, default=None
        As in :func:`nearest_neighbors`.

    Returns
    -------
    search : NeighborSearch
        With ``kneighbors(n_neighbors, X)``, ``within_radius(radius, X)`` and
        ``pairwise(X)``.

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.graphs import make_search
    >>> search = make_search(np.array([[0.0], [2.0]]))
    >>> search.kneighbors(1, np.array([[1.5]]))
    (array([[0.5]]), array([[1]]))
    """
    if not (own := backend_of(X)).is_numpy:
        return DeviceSearch(X, own)
    backend = get_backend(device)
    fits = is_euclidean(metric, metric_params) and not issparse(X)
    if not backend.is_numpy:
        if fits and kind == "knn" and neighbors in ("exact", "auto"):
            return MovedSearch(X, backend)
        warn_ignored(
            f"device={backend.device!r}",
            "only exact neighbours of dense rows by Euclidean distance are found there",
        )
    if not isinstance(neighbors, str):
        return GraphSearch(X, neighbors)
    if metric == "precomputed" and issparse(X):
        return GraphSearch(X)
    if neighbors == "auto":
        approximate = (
            fits
            and kind == "knn"
            and X.shape[0] > AUTO_EXACT_ROWS
            and X.shape[1] > AUTO_TREE_FEATURES
            and _has_faiss()
        )
        neighbors = "approximate" if approximate else "exact"
    if neighbors == "exact":
        return ExactSearch(X, metric, metric_params, n_jobs)
    if not fits:
        raise ValueError(
            "neighbors='approximate' searches by Euclidean distance between dense "
            f"rows, got metric={metric!r} and {'sparse' if issparse(X) else 'dense'} "
            "X: use neighbors='exact'."
        )
    return ApproximateSearch(X)


def check_n_neighbors(n_neighbors: int, n_samples: int) -> None:
    """Raise unless every row has that many others."""
    if n_neighbors >= n_samples:
        raise ValueError(
            f"n_neighbors={n_neighbors} must be smaller than the number of rows, got "
            f"n_samples={n_samples}: a row is not its own neighbour. Ask for fewer "
            "neighbours or use kind='complete'."
        )


@validate_params(
    {
        "X": ["array-like", "sparse matrix"],
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        **SEARCH_CONSTRAINTS,
    },
    prefer_skip_nested_validation=True,
)
def nearest_neighbors(
    X: Any,
    n_neighbors: int,
    *,
    metric: str | Callable[..., float] = "euclidean",
    metric_params: dict[str, Any] | None = None,
    neighbors: Any = "exact",
    n_jobs: int | None = None,
    device: str | Backend | None = None,
) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """Find the nearest other rows of every row.

    A search for the largest number of neighbours serves several graphs: the first
    columns are the search for fewer, see :func:`graph_from_neighbors`.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Rows; distances of shape (n_samples, n_samples), dense or a sparse graph, for
        ``metric="precomputed"``.
    n_neighbors : int
        Neighbours per row, fewer than rows.
    metric : str or callable, default="euclidean"
        A metric of :class:`sklearn.neighbors.NearestNeighbors`.
    metric_params : dict, default=None
        Further arguments of the metric.
    neighbors : {"exact", "approximate", "auto"} or transformer, default="exact"
        How to search.

        - "exact": by :class:`sklearn.neighbors.NearestNeighbors`, but for more than
          5,000 dense rows of more than 6 features and Euclidean distance, which are all
          compared in tiles, several times as fast;
        - "approximate": by inverted lists of faiss, for dense rows and Euclidean
          distance, at about 99 % recall (checked on a sample of the rows while
          searching); ``pip install "fewlabels[ann]"``. Deterministic. It uses the
          threads of OpenMP, whatever `n_jobs` says;
        - "auto": "approximate" beyond 20,000 rows where it applies, is installed and
          there are more than 4 features (below that, a tree is exact and quick);
        - a transformer whose `fit_transform` gives a sparse graph of distances, as
          :class:`sklearn.neighbors.KNeighborsTransformer` does, with at least
          `n_neighbors` other rows in each row; `metric` is then ignored.
    n_jobs : int, default=None
        Passed to scikit-learn's search.
    device : {"cpu", "cuda"} or None, default=None
        Where to search. None is where `X` is: NumPy's arrays stay on the CPU, tensors
        on their device, and the answers come back there. On a GPU, "exact" and "auto"
        compare all dense rows by Euclidean distance, in tiles that fit into its
        memory; anything else is searched on the CPU, with a warning.

    Returns
    -------
    distances : ndarray of shape (n_samples, n_neighbors)
        Distances, nearest first, in the dtype of `X`.
    indices : ndarray of shape (n_samples, n_neighbors)
        Row indices of the neighbours. A row is never its own neighbour; its copies
        are, at distance 0.

    See Also
    --------
    graph_from_neighbors : Turn the pair into a graph.

    Examples
    --------
    >>> from fewlabels.graphs import nearest_neighbors
    >>> distances, indices = nearest_neighbors([[0.0], [0.0], [1.0], [-2.0]], 2)
    >>> indices
    array([[1, 2],
           [0, 2],
           [0, 1],
           [0, 1]])
    >>> distances
    array([[0., 1.],
           [0., 1.],
           [1., 1.],
           [2., 2.]])
    """
    rows = check_rows(to_host(X))
    check_n_neighbors(n_neighbors, rows.shape[0])
    search = make_search(
        rows,
        metric=metric,
        metric_params=metric_params,
        neighbors=neighbors,
        n_jobs=n_jobs,
        device=get_backend(device, X),
    )
    return like_given(search.kneighbors(n_neighbors), X)
