"""Neighbour search: exact, approximate or supplied."""

# SPDX-License-Identifier: BSD-3-Clause

import importlib.util
from collections.abc import Callable
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse
from sklearn.base import clone

from fewlabels._backend import (
    DEVICE_CONSTRAINTS,
    Backend,
    backend_of,
    get_backend,
    like_given,
    to_host,
)
from fewlabels._distances import safe_unit
from fewlabels._rows import check_rows, is_euclidean
from fewlabels._sklearn import HasMethods, Interval, StrOptions, validate_params
from fewlabels.exceptions import warn_ignored
from fewlabels.graphs._approximate_search import ApproximateSearch
from fewlabels.graphs._edges import kept_edges, row_indices
from fewlabels.graphs._exact_search import ExactSearch, NeighborSearch

# `neighbors="auto"` searches exactly up to this many rows (seconds, on two cores) and
# for up to this many features, where a tree is both exact and fast.
AUTO_EXACT_ROWS = 20_000
AUTO_TREE_FEATURES = 4

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


class DeviceSearch(NeighborSearch):
    """Exact search among arrays of a backend, by Euclidean distance."""

    def __init__(self, rows: Any, backend: Backend) -> None:
        self._rows, self._backend = rows, backend

    def kneighbors(self, n_neighbors: int, X: Any = None) -> tuple[Any, Any]:
        return self._backend.nearest(self._rows, n_neighbors, X)


class MovedSearch(DeviceSearch):
    """The same for NumPy rows and queries.

    Only the rows are saved: a machine without the device searches by
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


class GraphSearch(NeighborSearch):
    """Neighbours looked up in a sparse graph of distances, given or computed."""

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
        """Graph, with the row of every stored entry and whether it counts."""
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
        return kept_edges(graph, rows, keep & (graph.data <= radius))


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
    """Index rows once, to search neighbours of any rows.

    Parameters
    ----------
    X : {ndarray, sparse matrix} of shape (n_samples, n_features)
        Validated rows.
    kind : {"knn", "ball", "complete"}, default="knn"
        Kind of queries; "ball" and "complete" need an exact search.
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

    A search for the largest number of neighbours serves several graphs: its first
    columns are the result for fewer neighbours, see :func:`graph_from_neighbors`.

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

        - "exact": by :class:`sklearn.neighbors.NearestNeighbors`, except that more than
          5,000 dense rows with more than 6 features and Euclidean distance are compared
          by brute force in tiles, several times as fast;
        - "approximate": by inverted lists of faiss, for dense rows and Euclidean
          distance, at about 99 % recall (checked on a sample of the rows while
          searching); ``pip install "fewlabels[ann]"``. Deterministic. It uses the
          threads of OpenMP and ignores `n_jobs`;
        - "auto": "approximate" beyond 20,000 rows where it applies, is installed and
          there are more than 4 features (with fewer, a tree is exact and fast);
        - a transformer whose `fit_transform` returns a sparse graph of distances, as
          :class:`sklearn.neighbors.KNeighborsTransformer` does, with at least
          `n_neighbors` other rows in each row; `metric` is then ignored.
    n_jobs : int, default=None
        Passed to scikit-learn's search.
    device : {"cpu", "cuda"} or None, default=None
        Where to search. None is where `X` is: NumPy arrays stay on the CPU, tensors on
        their device, and results are returned there. On a GPU, "exact" and "auto"
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
