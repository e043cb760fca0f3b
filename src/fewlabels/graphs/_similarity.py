"""Similarity graphs of rows."""

# SPDX-License-Identifier: BSD-3-Clause

from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from fewlabels._backend import Backend, get_backend, to_host
from fewlabels._linalg import FLOATS
from fewlabels._params import is_default
from fewlabels._rows import check_rows
from fewlabels._sklearn import Interval, StrOptions, check_array, validate_params
from fewlabels.exceptions import warn_ignored
from fewlabels.graphs._edge_weights import (
    SCALED_WEIGHTS,
    WEIGHT_CONSTRAINTS,
    Edges,
    resolve_bandwidth,
    weighted,
)
from fewlabels.graphs._edges import neighbor_graph
from fewlabels.graphs._exact_search import NeighborSearch
from fewlabels.graphs._neighbors import (
    SEARCH_CONSTRAINTS,
    check_n_neighbors,
    make_search,
)

# Largest number of entries of a complete graph: 10,000 rows, about 3 GB while building.
MAX_COMPLETE = 10_000**2


def _knn_edges(
    search: NeighborSearch, n_samples: int, X: Any, n_neighbors: int, radius: Any
) -> csr_array:
    check_n_neighbors(n_neighbors, n_samples)
    return neighbor_graph(*search.kneighbors(n_neighbors, X), n_samples)


def _ball_edges(
    search: NeighborSearch, n_samples: int, X: Any, n_neighbors: int, radius: Any
) -> csr_array:
    if radius is None:
        raise ValueError(
            "kind='ball' needs a radius: pass the largest distance of neighbours, or "
            "use kind='knn'."
        )
    return search.within_radius(radius, X)


def _complete_edges(
    search: NeighborSearch, n_samples: int, X: Any, n_neighbors: int, radius: Any
) -> csr_array:
    n_queries = n_samples if X is None else X.shape[0]
    if n_queries * n_samples > MAX_COMPLETE:
        raise ValueError(
            f"kind='complete' would store {n_queries} x {n_samples} weights; the limit "
            f"is {MAX_COMPLETE}: use kind='knn'."
        )
    distances = search.pairwise(X)
    columns = np.arange(n_samples, dtype=np.int32)[None, :]
    if X is not None:
        return neighbor_graph(
            distances, np.broadcast_to(columns, distances.shape), n_samples
        )
    # Row i meets 0, ..., i - 1, i + 1, ..., n - 1.
    others = columns[:, :-1] + (columns[:, :-1] >= columns.T)
    return neighbor_graph(
        np.take_along_axis(distances, others, axis=1), others, n_samples
    )


KINDS: dict[str, Callable[[NeighborSearch, int, Any, int, Any], csr_array]] = {
    "knn": _knn_edges,
    "ball": _ball_edges,
    "complete": _complete_edges,
}

# Of two weights w_ij and w_ji, absent edges counting as 0.
SYMMETRIZE: dict[str, Callable[[csr_array], csr_array]] = {
    "union": lambda W: W.maximum(W.T),
    "mutual": lambda W: W.minimum(W.T),
    "mean": lambda W: (W + W.T) * W.dtype.type(0.5),
}

GRAPH_CONSTRAINTS: dict[str, list[Any]] = {
    "kind": [StrOptions(set(KINDS))],
    "n_neighbors": [Interval(Integral, 1, None, closed="left")],
    "symmetrize": [StrOptions(set(SYMMETRIZE))],
    "radius": [Interval(Real, 0, None, closed="left"), None],
    **WEIGHT_CONSTRAINTS,
    **SEARCH_CONSTRAINTS,
}


def _warn_about_ignored(kind: str, weight: Any, **given: Any) -> None:
    """Warn about parameters that the kind of graph or weight does not use."""
    uses = {
        "radius": (kind == "ball", f"kind={kind!r} does not use it"),
        "symmetrize": (kind == "knn", f"kind={kind!r} is symmetric"),
        "bandwidth": (weight in SCALED_WEIGHTS, f"weight={weight!r} has none"),
        "threshold": (weight == "gaussian_threshold", f"weight={weight!r} has none"),
    }
    for name, value in given.items():
        used, why = uses[name]
        if not used and not is_default(similarity_graph, name, value):
            warn_ignored(f"{name}={value!r}", why)


def _undirected(
    edges: Edges,
    symmetrize: str,
    weight: str | Callable[[Any], Any],
    bandwidth: float,
    threshold: float | None,
) -> csr_array:
    W = csr_array(SYMMETRIZE[symmetrize](weighted(edges, weight, bandwidth, threshold)))
    W.sort_indices()
    return W


class _Built(NamedTuple):
    graph: csr_array
    bandwidth: float
    search: NeighborSearch


def _check_kind(kind: str, weight: Any) -> None:
    if weight == "local_linear" and kind != "knn":
        raise ValueError(
            "weight='local_linear' reconstructs rows from n_neighbors neighbours: use "
            f"kind='knn' instead of kind={kind!r}."
        )


def _build(
    X: Any,
    *,
    kind: str,
    n_neighbors: int,
    symmetrize: str,
    radius: float | None,
    weight: str | Callable[[Any], Any],
    bandwidth: float | str,
    threshold: float | None,
    metric: str | Callable[..., float],
    metric_params: dict[str, Any] | None,
    neighbors: Any,
    n_jobs: int | None,
    device: str | Backend | None,
) -> _Built:
    """Build the graph of validated rows, keeping what new rows need."""
    _check_kind(kind, weight)
    _warn_about_ignored(
        kind,
        weight,
        radius=radius,
        symmetrize=symmetrize,
        bandwidth=bandwidth,
        threshold=threshold,
    )
    if kind == "knn":  # before an index is built
        check_n_neighbors(n_neighbors, X.shape[0])
    search = make_search(
        X,
        kind=kind,
        metric=metric,
        metric_params=metric_params,
        neighbors=neighbors,
        n_jobs=n_jobs,
        device=device,
    )
    lengths = KINDS[kind](search, X.shape[0], None, n_neighbors, radius)
    _check_finite(lengths.data)
    rows = None if metric == "precomputed" else X
    by_row = lengths.data if kind == "ball" else lengths.data.reshape(X.shape[0], -1)
    scale = resolve_bandwidth(bandwidth, by_row, n_neighbors if kind == "knn" else None)
    graph = _undirected(
        Edges(lengths, rows, rows),
        symmetrize if kind == "knn" else "union",
        weight,
        scale,
        threshold,
    )
    return _Built(graph, scale, search)


def _check_finite(lengths: NDArray[Any]) -> None:
    if not np.isfinite(lengths).all():
        raise ValueError(
            "Some distances are infinite or not numbers: scale X to a moderate range."
        )


@validate_params(
    {
        "X": ["array-like", "sparse matrix"],
        **GRAPH_CONSTRAINTS,
        "check_input": ["boolean"],
    },
    prefer_skip_nested_validation=True,
)
def similarity_graph(
    X: Any,
    *,
    kind: str = "knn",
    n_neighbors: int = 10,
    symmetrize: str = "mean",
    radius: float | None = None,
    weight: str | Callable[[Any], Any] = "heat",
    bandwidth: float | str = "auto",
    threshold: float | None = None,
    metric: str | Callable[..., float] = "euclidean",
    metric_params: dict[str, Any] | None = None,
    neighbors: Any = "exact",
    n_jobs: int | None = None,
    check_input: bool = True,
    device: str | Backend | None = None,
) -> csr_array:
    r"""Build a weighted graph that connects similar rows.

    `kind` chooses which rows are connected, `weight` the weight of an edge of length d:

    ====================  ==========================================================
    "binary"              :math:`1`
    "heat"                :math:`\exp(-d^2 / (2 t^2))`
    "gaussian_threshold"  :math:`\exp(-d^2 / (2 t^2))` if `d` <= `threshold`, else 0
    "gaussian_density"    :math:`(2 \pi t^2)^{-p/2} \exp(-d^2 / (2 t^2))`
    "inverse_distance"    :math:`1 / d`
    "dot"                 :math:`\langle x_i, x_j \rangle`
    "local_linear"        its share in the reconstruction of :math:`x_i`
    ====================  ==========================================================

    where t is the `bandwidth`, a length, and p the number of features. Other
    conventions:
    :math:`\exp(-d^2/\sigma)` is :math:`t = \sqrt{\sigma/2}`,
    :math:`\exp(-d^2/(4\tau))` is :math:`t = \sqrt{2\tau}`,
    :math:`\exp(-\gamma d^2)` is :math:`t = 1/\sqrt{2\gamma}`.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Rows; distances of shape (n_samples, n_samples), dense or a sparse graph, for
        ``metric="precomputed"``.
    kind : {"knn", "ball", "complete"}, default="knn"
        Which rows are connected: a row and its `n_neighbors` nearest, rows at most
        `radius` apart, or all. The complete graph stores n_samples^2 weights and is
        refused beyond 10,000 rows.
    n_neighbors : int, default=10
        Neighbours per row of ``kind="knn"``, fewer than rows.
    symmetrize : {"mean", "union", "mutual"}, default="mean"
        For ``kind="knn"``: keep an edge if one of its ends ("union") or if both
        ("mutual") count the other among the neighbours. The mutual graph is often
        disconnected, see :func:`connectivity`. "mean" has the edges of the union; those
        that are not mutual have half their weight.
    radius : float, default=None
        Largest distance of ``kind="ball"``, included.
    weight : str or callable, default="heat"
        Weight of an edge, by a name of the table above; a callable turns an array of
        distances into one of weights. A weight of zero is no edge.
    bandwidth : float, "auto" or "mean", default="auto"
        The length t; "mean" is the mean edge length, see :func:`auto_bandwidth`. "auto"
        is the same, except that for ``kind="knn"`` it is multiplied by
        :math:`\sqrt{2.5 / k}` if that is below 1: by 1/2 with 10 neighbours.
    threshold : float, default=None
        Longest edge of "gaussian_threshold".
    metric : str or callable, default="euclidean"
        A metric of :class:`sklearn.neighbors.NearestNeighbors`.
    metric_params : dict, default=None
        Further arguments of the metric.
    neighbors : {"exact", "approximate", "auto"} or transformer, default="exact"
        How to search, see :func:`nearest_neighbors`.
    n_jobs : int, default=None
        Passed to scikit-learn's search.
    check_input : bool, default=True
        Whether to validate `X`; False trusts rows that have been validated before.
    device : {"cpu", "cuda"} or None, default=None
        Where to search, see :func:`nearest_neighbors`. The graph is a SciPy array.

    Returns
    -------
    W : csr_array of shape (n_samples, n_samples)
        Symmetric, non-negative weights with zero diagonal, in the dtype of `X`
        (float64 unless `X` is float32).

    See Also
    --------
    graph_from_neighbors : The same from an existing neighbour search.
    graph_laplacian : The Laplacian of the graph.
    connectivity : Whether the graph is connected.

    Notes
    -----
    - Copies of a row are neighbours at distance 0, so an edge connects them.
    - "heat" weights are at least 1e-8: an edge does not vanish because it is long.
    - "inverse_distance" treats edges shorter than t/1000 as t/1000, which keeps the
      weight between copies finite.
    - "dot" drops edges with a negative product, with a warning.
    - "local_linear" takes the weights of :func:`local_linear_weights`, sets negative
      ones to zero, scales rows to sum 1 and takes the larger (union), the smaller
      (mutual) or the mean of the two directions. Edges with negative weights are
      dropped.

    References
    ----------
    .. [1] U. von Luxburg, "A tutorial on spectral clustering", Statistics and
       Computing 17, 2007. :doi:`10.1007/s11222-007-9033-z`
    .. [2] M. Belkin and P. Niyogi, "Laplacian eigenmaps for dimensionality reduction
       and data representation", Neural Computation 15, 2003.
       :doi:`10.1162/089976603321780317`

    Examples
    --------
    >>> from fewlabels.graphs import similarity_graph
    >>> X = [[0.0], [1.0], [2.0], [4.0]]
    >>> W = similarity_graph(X, n_neighbors=1, weight="inverse_distance")
    >>> W.toarray()
    array([[0.  , 1.  , 0.  , 0.  ],
           [1.  , 0.  , 0.5 , 0.  ],
           [0.  , 0.5 , 0.  , 0.25],
           [0.  , 0.  , 0.25, 0.  ]])
    """
    rows = to_host(X)
    return _build(
        check_rows(rows) if check_input else rows,
        kind=kind,
        n_neighbors=n_neighbors,
        symmetrize=symmetrize,
        radius=radius,
        weight=weight,
        bandwidth=bandwidth,
        threshold=threshold,
        metric=metric,
        metric_params=metric_params,
        neighbors=neighbors,
        n_jobs=n_jobs,
        device=get_backend(device, X),
    ).graph


def _check_search(
    distances: Any, indices: Any, n_neighbors: int | None
) -> tuple[NDArray[Any], NDArray[Any]]:
    distances = check_array(distances, dtype=FLOATS, input_name="distances")
    indices = check_array(indices, dtype=None, input_name="indices")
    n, k = distances.shape
    n_neighbors = k if n_neighbors is None else n_neighbors
    if indices.shape != (n, k) or indices.dtype.kind not in "iu":
        raise ValueError(
            f"indices must be integers of the shape of distances, {(n, k)}, got "
            f"{indices.dtype} of shape {indices.shape}: pass both as nearest_neighbors "
            "returns them."
        )
    if n_neighbors > k:
        raise ValueError(
            f"n_neighbors={n_neighbors} is more than the {k} neighbours of the search: "
            "search for more, or ask for fewer."
        )
    if distances.min() < 0 or (np.diff(distances, axis=1) < 0).any():
        raise ValueError(
            "distances must be non-negative and increase along every row: pass both "
            "arrays as nearest_neighbors returns them."
        )
    ordered = np.sort(indices, axis=1)
    if ordered[:, 0].min() < 0 or ordered[:, -1].max() >= n:
        raise ValueError(f"indices must lie in 0, ..., {n - 1}, the rows searched.")
    if (np.diff(ordered, axis=1) == 0).any():
        raise ValueError("indices names the same neighbour twice in a row.")
    if (indices == np.arange(n)[:, None]).any():
        raise ValueError(
            "indices names a row as its own neighbour: search without self, as "
            "nearest_neighbors and NearestNeighbors.kneighbors() without X do."
        )
    return distances[:, :n_neighbors], indices[:, :n_neighbors]


@validate_params(
    {
        "X": ["array-like", "sparse matrix", None],
        "distances": ["array-like"],
        "indices": ["array-like"],
        "n_neighbors": [Interval(Integral, 1, None, closed="left"), None],
        "symmetrize": GRAPH_CONSTRAINTS["symmetrize"],
        **WEIGHT_CONSTRAINTS,
    },
    prefer_skip_nested_validation=True,
)
def graph_from_neighbors(
    distances: ArrayLike,
    indices: ArrayLike,
    *,
    n_neighbors: int | None = None,
    symmetrize: str = "mean",
    weight: str | Callable[[Any], Any] = "heat",
    bandwidth: float | str = "auto",
    threshold: float | None = None,
    X: Any = None,
) -> csr_array:
    """Build a similarity graph from an existing neighbour search.

    One search with the largest number of neighbours thus serves several graphs (among
    equally near rows, it may choose different ones than a search for fewer).

    Parameters
    ----------
    distances : array-like of shape (n_samples, k)
        Distances to the k nearest other rows, nearest first.
    indices : array-like of int of shape (n_samples, k)
        Which rows these are.
    n_neighbors : int, default=None
        Number of the k neighbours to use; None uses all.
    symmetrize : {"mean", "union", "mutual"}, default="mean"
        As in :func:`similarity_graph`.
    weight : str or callable, default="heat"
        As in :func:`similarity_graph`.
    bandwidth : float, "auto" or "mean", default="auto"
        As in :func:`similarity_graph`, for the neighbours used.
    threshold : float, default=None
        As in :func:`similarity_graph`.
    X : {array-like, sparse matrix} of shape (n_samples, n_features), default=None
        The rows, needed by the weights "gaussian_density", "dot" and "local_linear".

    Returns
    -------
    W : csr_array of shape (n_samples, n_samples)
        Symmetric, non-negative weights with zero diagonal, in the dtype of
        `distances`.

    See Also
    --------
    nearest_neighbors : Search.
    similarity_graph : Search and build.

    Examples
    --------
    >>> from fewlabels.graphs import graph_from_neighbors, nearest_neighbors
    >>> search = nearest_neighbors([[0.0], [1.0], [2.0], [4.0]], 3)
    >>> [graph_from_neighbors(*search, n_neighbors=k).nnz for k in (1, 2, 3)]
    [6, 10, 12]
    """
    distances, indices = _check_search(distances, indices, n_neighbors)
    _warn_about_ignored("knn", weight, bandwidth=bandwidth, threshold=threshold)
    n = distances.shape[0]
    if X is not None:
        X = check_rows(X)
        if X.shape[0] != n:
            raise ValueError(
                f"X has {X.shape[0]} rows but distances has {n}: pass the rows that "
                "were searched."
            )
    scale = resolve_bandwidth(bandwidth, distances, distances.shape[1])
    edges = Edges(neighbor_graph(distances, indices, n), X, X)
    return _undirected(edges, symmetrize, weight, scale, threshold)
