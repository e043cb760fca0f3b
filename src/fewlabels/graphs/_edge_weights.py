"""Edge weights from edge lengths."""

# SPDX-License-Identifier: BSD-3-Clause

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array, issparse

from fewlabels._backend import backend_of
from fewlabels._distances import far_lengths
from fewlabels._rows import check_rows
from fewlabels._sklearn import Interval, StrOptions, validate_params
from fewlabels.graphs._edges import (
    gather_batches,
    neighbor_graph,
    per_edge,
    row_indices,
)
from fewlabels.graphs._neighbors import (
    SEARCH_CONSTRAINTS,
    check_n_neighbors,
    make_search,
)

# Keeps an edge when the exponential underflows; representable in float32.
WEIGHT_FLOOR = 1e-8
# With more neighbours than this, bandwidth="auto" is less than the mean edge length:
# half of it at 10, as in the graphs of the automatic classifier, since more of the
# neighbours are far away; see benchmarks/graph_weights.py.
AUTO_NEIGHBORS = 2.5
# Shorter edges count as this share of the bandwidth in 1/d, so that copies of a row
# get a large but finite weight.
DISTANCE_FLOOR = 1e-3


@dataclass(frozen=True)
class Edges:
    """Directed edges from query rows to indexed rows.

    Attributes
    ----------
    graph : csr_array of shape (n_queries, n_samples)
        Length of every edge. A stored zero is an edge between copies: never do
        arithmetic on this array, it would lose them.
    X, Y : rows at the two ends, or None where only distances are known
    """

    graph: csr_array
    X: Any = None
    Y: Any = None

    def ends(self, weight: str) -> tuple[Any, Any]:
        """Rows at the two ends, for weights that need more than the length."""
        if self.X is None:
            raise ValueError(
                f"weight={weight!r} is computed from the rows, not from distances: "
                "pass the rows as X (with a metric other than 'precomputed'), or use "
                "another weight."
            )
        return self.X, self.Y


def auto_bandwidth(distances: ArrayLike, n_neighbors: int | None = None) -> float:
    r"""Length scale of a graph: the mean length of its edges, made robust.

    .. math:: t = \mathrm{mean}_e \min(d_e, 5 \, \mathrm{median}(d))

    so that a few outlying rows do not set the scale. If that is zero because most edges
    connect copies of a row, edges of length zero are left out; without any other edge
    the scale is 1.

    Parameters
    ----------
    distances : array-like
        Lengths of the edges. If their shape is (n_samples, n_neighbors), those of rows
        far from all others are left out.
    n_neighbors : int, default=None
        Neighbours k per row of the graph, which changes the scale to
        :math:`\min(1, \sqrt{2.5 / k}) \, t`: with more neighbours, more of them are far
        away. None for t itself.

    Returns
    -------
    bandwidth : float
        The scale t, always positive.

    Examples
    --------
    >>> from fewlabels.graphs import auto_bandwidth
    >>> auto_bandwidth([1.0, 2.0, 3.0])
    2.0
    >>> auto_bandwidth([0.0, 0.0, 0.0, 2.0])
    2.0
    >>> auto_bandwidth([1.0, 2.0, 3.0], n_neighbors=10)
    1.0
    """
    share = 1.0 if n_neighbors is None else (AUTO_NEIGHBORS / n_neighbors) ** 0.5
    lengths = np.asarray(distances, dtype=np.float64)
    if not np.isfinite(lengths).all():
        raise ValueError("distances holds infinite values or NaN.")
    if lengths.ndim == 2 and lengths.size:
        lengths = lengths[~far_lengths(np.median(lengths, axis=1))]
    lengths = lengths.ravel()
    for kept in (lengths, lengths[lengths > 0]):
        if kept.size:
            scale = float(np.minimum(kept, 5 * np.median(kept)).mean())
            if scale > 0:
                return min(1.0, share) * scale
    return 1.0


def resolve_bandwidth(
    bandwidth: float | str, lengths: ArrayLike, n_neighbors: int | None = None
) -> float:
    """Turn "mean" and "auto" into a length."""
    if not isinstance(bandwidth, str):
        return float(bandwidth)
    return auto_bandwidth(lengths, n_neighbors if bandwidth == "auto" else None)


def _binary(edges: Edges, bandwidth: float, threshold: float | None) -> NDArray[Any]:
    return np.ones_like(edges.graph.data)


def heat_weights(distances: ArrayLike, bandwidth: float) -> NDArray[np.float64]:
    r"""Edge weights that decrease with length.

    .. math:: w = \max(\exp(-d^2 / (2 t^2)), 10^{-8})

    so that an edge does not vanish because it is long.

    Parameters
    ----------
    distances : array-like
        Lengths d of the edges, of any shape.
    bandwidth : float
        The scale t.

    Returns
    -------
    weights : ndarray of the same shape
        The weights.

    See Also
    --------
    auto_bandwidth : A scale for given edges.

    Examples
    --------
    >>> from fewlabels.graphs import heat_weights
    >>> heat_weights([0.0, 1.0, 1e9], 1.0).round(3)
    array([1.   , 0.607, 0.   ])
    """
    # The ratio first and in float64: squares alone over- or underflow.
    with np.errstate(over="ignore", under="ignore"):
        b = backend_of(distances)
        ratio = b.asarray(distances, np.float64) / bandwidth
        return b.xp.clip(b.xp.exp(-0.5 * ratio**2), WEIGHT_FLOOR, None)


def _heat(edges: Edges, bandwidth: float, threshold: float | None) -> NDArray[Any]:
    return heat_weights(edges.graph.data, bandwidth)


def _gaussian_threshold(
    edges: Edges, bandwidth: float, threshold: float | None
) -> NDArray[Any]:
    if threshold is None:
        raise ValueError(
            "weight='gaussian_threshold' needs a threshold: pass the length above "
            "which an edge is cut, or use weight='heat'."
        )
    return np.where(edges.graph.data <= threshold, _heat(edges, bandwidth, None), 0)


def _gaussian_density(
    edges: Edges, bandwidth: float, threshold: float | None
) -> NDArray[Any]:
    n_features = edges.ends("gaussian_density")[0].shape[1]
    height = -0.5 * n_features * np.log(2 * np.pi * bandwidth**2)
    limits = np.finfo(edges.graph.dtype)
    if not np.log(limits.tiny / WEIGHT_FLOOR) < height < np.log(limits.max):
        raise ValueError(
            f"weight='gaussian_density' with bandwidth {bandwidth:g} in {n_features} "
            f"dimensions has the factor exp({height:.0f}), beyond {limits.dtype}: use "
            "weight='heat', which is the same without it."
        )
    return np.exp(height) * _heat(edges, bandwidth, None)


def _inverse_distance(
    edges: Edges, bandwidth: float, threshold: float | None
) -> NDArray[Any]:
    lengths = edges.graph.data.astype(np.float64)
    return 1 / np.maximum(lengths, DISTANCE_FLOOR * bandwidth)


def _row_products(A: Any, B: Any) -> NDArray[Any]:
    if issparse(A):
        return np.asarray(A.multiply(B).sum(axis=1)).ravel()
    return np.einsum("ij,ij->i", A, B)


def _dot(edges: Edges, bandwidth: float, threshold: float | None) -> NDArray[Any]:
    X, Y = edges.ends("dot")
    graph = edges.graph
    products = per_edge(_row_products, X, Y, row_indices(graph), graph.indices)
    n_negative = np.count_nonzero(products < 0)
    if n_negative:
        warnings.warn(
            f"weight='dot': {n_negative} of {products.size} inner products are "
            "negative; those edges are dropped. Use non-negative features or "
            "weight='heat'.",
            UserWarning,
            stacklevel=2,
        )
    return np.maximum(products, 0)


def barycenter(
    X: Any, Y: Any, indices: NDArray[Any], alpha: float = 1e-3
) -> NDArray[np.float64]:
    """Weights, summing to 1, with which rows of Y best reconstruct each row of X."""
    n, k = indices.shape
    weights = np.empty((n, k))
    for batch in gather_batches(n, k * Y.shape[1]):
        chosen, centres = Y[indices[batch].ravel()], X[batch]
        if issparse(Y):
            chosen, centres = chosen.toarray(), centres.toarray()
        C = chosen.reshape(-1, k, Y.shape[1]).astype(np.float64)
        C -= centres[:, None, :]
        largest = np.abs(C).max(axis=(1, 2), keepdims=True, initial=0)
        C /= np.where(largest > 0, largest, 1)  # squares must not underflow
        G = C @ C.swapaxes(1, 2)
        trace = np.trace(G, axis1=1, axis2=2)
        # If the trace is 0, all neighbours are copies: use equal weights.
        G += (alpha * np.where(trace > 0, trace, 1))[:, None, None] * np.eye(k)
        solved = np.linalg.solve(G, np.ones((k, 1)))[..., 0]
        weights[batch] = solved / solved.sum(axis=1, keepdims=True)
    return weights


def _local_linear(
    edges: Edges, bandwidth: float, threshold: float | None
) -> NDArray[Any]:
    X, Y = edges.ends("local_linear")
    indices = edges.graph.indices.reshape(edges.graph.shape[0], -1)
    weights = np.maximum(barycenter(X, Y, indices), 0)
    return (weights / weights.sum(axis=1, keepdims=True)).ravel()


Weight = Callable[[Edges, float, float | None], NDArray[Any]]

WEIGHTS: dict[str, Weight] = {
    "binary": _binary,
    "heat": _heat,
    "gaussian_threshold": _gaussian_threshold,
    "gaussian_density": _gaussian_density,
    "inverse_distance": _inverse_distance,
    "dot": _dot,
    "local_linear": _local_linear,
}

# The weights that depend on the bandwidth.
SCALED_WEIGHTS = ("heat", "gaussian_threshold", "gaussian_density", "inverse_distance")

WEIGHT_CONSTRAINTS: dict[str, list[Any]] = {
    "weight": [StrOptions(set(WEIGHTS)), callable],
    "bandwidth": [
        StrOptions({"auto", "mean"}),
        Interval(Real, 0, None, closed="neither"),
    ],
    "threshold": [Interval(Real, 0, None, closed="left"), None],
}


def _called(weight: Callable[[Any], Any], lengths: NDArray[Any]) -> NDArray[Any]:
    values = np.asarray(weight(lengths.copy()))
    if values.shape != lengths.shape:
        raise ValueError(
            f"weight={weight!r} turned distances of shape {lengths.shape} into an "
            f"array of shape {values.shape}: return one weight per distance."
        )
    if not (np.isfinite(values).all() and (values >= 0).all()):
        raise ValueError(
            f"weight={weight!r} gave negative or non-finite weights: return finite "
            "values that are not negative, also at distance 0."
        )
    return values


def weighted(
    edges: Edges,
    weight: str | Callable[[Any], Any],
    bandwidth: float,
    threshold: float | None,
) -> csr_array:
    """Directed graph of weights in the dtype of the distances; weight 0 = no edge."""
    graph = edges.graph
    values = (
        WEIGHTS[weight](edges, bandwidth, threshold)
        if isinstance(weight, str)
        else _called(weight, graph.data)
    )
    W = csr_array(
        (values.astype(graph.dtype, copy=False), graph.indices, graph.indptr),
        shape=graph.shape,
        copy=True,
    )
    W.sort_indices()
    W.eliminate_zeros()
    return W


@validate_params(
    {
        "X": ["array-like", "sparse matrix"],
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "alpha": [Interval(Real, 0, None, closed="neither")],
        "neighbors": SEARCH_CONSTRAINTS["neighbors"],
        "n_jobs": SEARCH_CONSTRAINTS["n_jobs"],
    },
    prefer_skip_nested_validation=True,
)
def local_linear_weights(
    X: Any,
    n_neighbors: int,
    *,
    alpha: float = 1e-3,
    neighbors: Any = "exact",
    n_jobs: int | None = None,
) -> csr_array:
    r"""Reconstruct every row from its neighbours, as in locally linear embedding.

    Row i of the result minimises

    .. math::
        \Big\| x_i - \sum_{j \in N(i)} b_{ij} x_j \Big\|^2
        + r_i \sum_{j} b_{ij}^2
        \quad \text{subject to} \quad \sum_j b_{ij} = 1,

    with :math:`r_i` = `alpha` times the summed squared distances to the neighbours
    N(i); without this term, more neighbours than features would leave the weights
    undetermined. The weights do not change when all rows are shifted, rotated or
    scaled. They may be negative.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Rows.
    n_neighbors : int
        Neighbours per row by Euclidean distance, fewer than rows.
    alpha : float, default=1e-3
        Amount of regularisation, positive.
    neighbors : {"exact", "approximate", "auto"} or transformer, default="exact"
        How to search, see :func:`nearest_neighbors`.
    n_jobs : int, default=None
        Passed to scikit-learn's search.

    Returns
    -------
    B : csr_array of shape (n_samples, n_samples)
        Directed weights: rows sum to 1, the diagonal is zero. They are not symmetric,
        and not the weights of a graph; ``similarity_graph(X, weight="local_linear")``
        turns them into one.

    References
    ----------
    .. [1] S. T. Roweis and L. K. Saul, "Nonlinear dimensionality reduction by locally
       linear embedding", Science 290, 2000. :doi:`10.1126/science.290.5500.2323`

    Examples
    --------
    >>> from fewlabels.graphs import local_linear_weights
    >>> B = local_linear_weights([[0.0], [1.0], [2.0], [3.0]], 2)
    >>> B.toarray().round(2)
    array([[ 0.  ,  1.99, -0.99,  0.  ],
           [ 0.5 ,  0.  ,  0.5 ,  0.  ],
           [ 0.  ,  0.5 ,  0.  ,  0.5 ],
           [ 0.  , -0.99,  1.99,  0.  ]])
    """
    X = check_rows(X)
    check_n_neighbors(n_neighbors, X.shape[0])
    search = make_search(X, neighbors=neighbors, n_jobs=n_jobs)
    _, indices = search.kneighbors(n_neighbors)
    weights = barycenter(X, X, indices, alpha).astype(X.dtype, copy=False)
    B = neighbor_graph(weights, indices, X.shape[0])
    B.sort_indices()
    return B
