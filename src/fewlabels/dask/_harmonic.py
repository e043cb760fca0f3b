"""Harmonic functions on graphs that do not fit on one machine."""

# SPDX-License-Identifier: BSD-3-Clause

import warnings
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import block_array, csr_array, vstack
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from fewlabels._labels import encode_labels, label_array, unlabeled_mask
from fewlabels._sampling import row_keys
from fewlabels._sklearn import Interval, StrOptions, validate_params
from fewlabels.dask._collections import (
    is_frame,
    measured,
    merged,
    need_dask,
    starts,
    whole_rows,
)
from fewlabels.dask._draw import draw_unlabeled
from fewlabels.dask._graph import (
    Edges,
    Rows,
    Weight,
    directed,
    edge_bandwidth,
    nearest_of,
    returned,
    search_block,
    undirected,
)
from fewlabels.exceptions import DisconnectedGraphWarning
from fewlabels.semi_supervised import harmonic_functions

# A graph of up to this many directed edges, 64 MiB, is solved on one machine. Columns
# of very different scale make a graph like a thread, along which conjugate gradients
# take thousands of steps, each a pass over all parts; a factor needs none.
GATHERED_EDGES = 2**22
# The functions of all classes must sum to one, which a small residual does not ensure
# for rows with only weak edges.
ONES_TOLERANCE = 1e-3


class DaskHarmonicSolution(NamedTuple):
    """Harmonic functions of a graph whose vertices are the rows of a collection.

    Attributes
    ----------
    classes : ndarray of shape (n_classes,)
        The classes.
    values : Dask array of shape (n_samples, n_classes)
        The functions; at rows that no label reaches, the class shares of the labels.
    labels : Dask array of shape (n_samples,)
        The class with the largest value, and the given label of labelled rows.
    n_iter : int
        Steps of conjugate gradients, 0 with landmarks and for a direct solution.
    bandwidth : float
        Scale of the weights.
    """

    classes: NDArray[Any]
    values: Any
    labels: Any
    n_iter: int
    bandwidth: float


@validate_params(
    {
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "weight": [StrOptions({"heat", "binary"}), callable],
        "bandwidth": [
            StrOptions({"auto", "mean"}),
            Interval(Real, 0, None, closed="neither"),
        ],
        "n_landmarks": [Interval(Integral, 1, None, closed="left"), None],
        "neighbors": [StrOptions({"exact", "approximate", "auto"})],
        "tol": [Interval(Real, 0, 1, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    },
    prefer_skip_nested_validation=True,
)
def dask_harmonic_functions(
    X: Any,
    y: Any,
    *,
    n_neighbors: int = 10,
    weight: Weight = "heat",
    bandwidth: float | str = "auto",
    n_landmarks: int | None = None,
    neighbors: str = "exact",
    tol: float = 1e-6,
    max_iter: int = 10_000,
    random_state: Any = None,
    client: Any = None,
) -> DaskHarmonicSolution:
    r"""Spread labels over a neighbour graph that does not fit on one machine.

    Without landmarks the graph is that of
    :class:`~fewlabels.semi_supervised.HarmonicFunctionClassifier`: every block of rows
    is searched for the neighbours of every other, edges are sent to the block of their
    other end, and conjugate gradients run on Dask arrays. No machine holds more than
    some blocks of rows and edges, and one vector; the search visits all pairs of
    blocks. A graph of up to four million edges is collected and solved locally.

    As in that class, rows are not scaled: bring columns to one scale first.

    With landmarks, rows are joined to their nearest landmarks only. The functions at
    unlabelled rows are then weighted means of those at landmarks, and the problem
    reduces to a graph of the landmarks with the weights

    .. math:: w_{ab} = \sum_{i \in U} \frac{w_{ia} w_{ib}}{\sum_c w_{ic}} ,

    summed up block by block, which fits into memory; this takes two passes over all
    rows.

    Parameters
    ----------
    X : Dask array of shape (n_samples, n_features)
        Rows.
    y : Dask array or array-like of shape (n_samples,)
        Labels, some of them missing, in parts of any size.
    n_neighbors : int, default=10
        Neighbours (or landmarks) that every row is joined to.
    weight : {"heat", "binary"} or callable, default="heat"
        Weight of an edge by its length, see :func:`fewlabels.graphs.similarity_graph`.
    bandwidth : float, "auto" or "mean", default="auto"
        Scale of the heat weights, as in :func:`fewlabels.graphs.similarity_graph`; by
        the lengths of up to a million edges.
    n_landmarks : int, default=None
        Number of landmarks; None for the graph of all rows.
    neighbors : {"exact", "approximate", "auto"}, default="exact"
        How to search a block, see :func:`fewlabels.graphs.nearest_neighbors`.
    tol : float, default=1e-6
        Relative residual at which conjugate gradients stop, where they run.
    max_iter : int, default=10_000
        Largest number of their steps.
    random_state : int, RandomState instance or None, default=None
        Seed of landmarks, and of the edges used for the bandwidth.
    client : distributed.Client, default=None
        Who computes; by default whatever Dask is set to.

    Returns
    -------
    solution : DaskHarmonicSolution
        Functions and labels, as Dask arrays in blocks of `X`.

    Warns
    -----
    ConvergenceWarning
        If conjugate gradients do not converge.
    DisconnectedGraphWarning
        If some rows are not connected to a label; they get the most common class.

    See Also
    --------
    fewlabels.semi_supervised.HarmonicFunctionClassifier : For rows in memory.

    Examples
    --------
    >>> import dask.array as da
    >>> from sklearn.datasets import make_moons
    >>> from fewlabels.dask import dask_harmonic_functions
    >>> from fewlabels.datasets import hide_labels
    >>> X, y_true = make_moons(300, noise=0.05, random_state=0)
    >>> y = hide_labels(y_true, n_labeled=4, random_state=0)
    >>> solution = dask_harmonic_functions(da.from_array(X, chunks=100), y)
    >>> bool((solution.labels.compute() == y_true).mean() > 0.98)
    True
    """
    X = whole_rows(X)
    if is_frame(X):
        raise TypeError(
            "X is a Dask DataFrame, but distances need numbers on one scale: pass an "
            "array, such as X.to_dask_array(lengths=True)."
        )
    sizes, labels = measured(client, X, y, label_array, unlabeled_mask)
    if labels.n_rows <= n_neighbors and n_landmarks is None:
        raise ValueError(
            f"n_neighbors={n_neighbors} must be less than the number of rows, "
            f"{labels.n_rows}."
        )
    codes, classes = encode_labels(labels.values)
    rows = Rows(client, X, sizes, labels.rows, codes, classes.size)
    edges = Edges(n_neighbors, weight, neighbors)
    seed = int(check_random_state(random_state).randint(2**31))
    if n_landmarks is None:
        values, scale, n_iter = _over_rows(rows, edges, bandwidth, tol, max_iter, seed)
    else:
        values, scale = _over_landmarks(rows, edges, bandwidth, n_landmarks, seed)
        n_iter = 0
    return _solution(rows, classes, values, n_iter, scale)


def _over_rows(
    rows: Rows,
    edges: Edges,
    bandwidth: float | str,
    tol: float,
    max_iter: int,
    seed: int,
) -> tuple[Any, float, int]:
    dask = need_dask()
    delayed = dask.delayed
    found = [
        delayed(nearest_of)(
            [
                delayed(search_block)(queries, part, int(first), i == j, edges)
                for j, (part, first) in enumerate(
                    zip(rows.parts, rows.begin, strict=False)
                )
            ],
            edges.n_neighbors,
        )
        for i, queries in enumerate(rows.parts)
    ]
    found = list(rows.keep(*found))
    scale = edge_bandwidth(rows, found, edges.n_neighbors, bandwidth, seed)
    graphs = [delayed(directed)(one, rows.n_rows, edges, scale) for one in found]
    pieces = [
        delayed(returned, nout=rows.sizes.size)(graph, rows.begin) for graph in graphs
    ]
    graphs = [
        delayed(undirected)(graph, [piece[j] for piece in pieces])
        for j, graph in enumerate(graphs)
    ]
    graphs = list(rows.keep(*graphs))
    if rows.n_rows * edges.n_neighbors <= GATHERED_EDGES:
        values, n_iter = _gathered(rows, graphs, tol, max_iter)
        return values, scale, n_iter
    degrees = [delayed(degree)(graph) for graph in graphs]
    systems = [
        delayed(system_block, nout=2)(graph, degrees, j, rows.labels, rows.n_classes)
        for j, graph in enumerate(graphs)
    ]
    matrices = list(rows.keep(*(matrix for matrix, _ in systems)))
    right = rows.array([b for _, b in systems], rows.n_classes)
    scales = rows.array([delayed(scale_of)(one) for one in degrees], 1)
    Z, n_iter, converged = _conjugate_gradients(
        rows, matrices, right, scales, tol, max_iter
    )
    if not converged:
        warnings.warn(
            f"Conjugate gradients did not converge in {n_iter} steps: bring columns to "
            "one scale, raise max_iter or tol, or use n_landmarks.",
            ConvergenceWarning,
            stacklevel=5,
        )
    return scales * Z, scale, n_iter


def _gathered(
    rows: Rows, graphs: list[Any], tol: float, max_iter: int
) -> tuple[Any, int]:
    """Solve on this machine, if the graph fits."""
    import dask.array as da

    W = csr_array(vstack(rows.numbers(*graphs), format="csr"))
    labeled = np.concatenate(
        [own + first for (own, _), first in zip(rows.labels, rows.begin, strict=False)]
    )
    found = harmonic_functions(
        W, labeled, np.eye(rows.n_classes)[rows.codes], tol=tol, max_iter=max_iter
    )
    values = np.nan_to_num(found.values, nan=0.0)  # zero where no label reaches
    chunks = (tuple(rows.sizes.tolist()), rows.n_classes)
    return da.from_array(values, chunks=chunks), found.n_iter


def degree(graph: csr_array) -> NDArray[np.float64]:
    """Sum the weights of every row."""
    return np.asarray(graph.sum(axis=1)).ravel()


def scale_of(degrees: NDArray[Any]) -> NDArray[np.float64]:
    """Return factors for a unit diagonal; a row without edges has none."""
    roots = np.sqrt(degrees)[:, None]
    return np.divide(1.0, roots, out=np.zeros_like(roots), where=roots > 0)


def system_block(
    graph: csr_array,
    degrees: list[NDArray[Any]],
    place: int,
    labels: list[Any],
    n_classes: int,
) -> tuple[csr_array, NDArray[np.float64]]:
    """Return scaled weights between unlabelled rows, and the right-hand side."""
    scale = scale_of(np.concatenate(degrees))[:, 0]
    begin = starts(np.array([one.size for one in degrees]))
    labeled = np.concatenate(
        [own + first for (own, _), first in zip(labels, begin, strict=False)]
    )
    codes = np.concatenate([given for _, given in labels])
    own = scale_of(degrees[place])[:, 0].copy()
    own[labels[place][0]] = 0.0
    scaled = csr_array(graph.multiply(own[:, None]))
    right = scaled[:, labeled] @ np.eye(n_classes)[codes]
    scale[labeled] = 0.0
    matrix = csr_array(scaled.multiply(scale[None, :]))
    matrix.eliminate_zeros()
    return matrix, right


def product(
    matrix: csr_array, own: NDArray[Any], everything: list[NDArray[Any]]
) -> NDArray[np.float64]:
    """Rows of (I - M) p."""
    return own - matrix @ np.concatenate(everything)


def _conjugate_gradients(
    rows: Rows, matrices: list[Any], right: Any, scales: Any, tol: float, max_iter: int
) -> tuple[Any, int, bool]:
    """Solve (I - M) Z = B for all columns at once, with vectors as Dask arrays.

    In a component without a label all is zero, and stays zero.
    """
    dask = need_dask()

    def multiply(p: Any) -> Any:
        blocks = [block[0] for block in p.to_delayed()]
        return rows.array(
            [
                dask.delayed(product)(matrix, block, blocks)
                for matrix, block in zip(matrices, blocks, strict=True)
            ],
            rows.n_classes,
        )

    (r,) = rows.keep(right)
    x, p = 0 * r, r
    (rho,) = rows.numbers((r * r).sum(axis=0))
    size, limit, n_iter = rho, tol, 0
    while True:
        if np.all(rho <= limit**2 * size):
            total = (scales * x).sum(axis=1)
            # Rows that no label reaches, and labelled ones, have nothing to sum.
            miss = abs(total - 1) * (abs(x).sum(axis=1) > 0)
            (worst,) = rows.numbers(miss.max())
            if worst <= ONES_TOLERANCE:
                return x, n_iter, True
            limit *= 0.1
            if limit < 1e-13:
                return x, n_iter, False
            continue
        if n_iter == max_iter:
            return x, n_iter, False
        (q,) = rows.keep(multiply(p))
        (curvature,) = rows.numbers((p * q).sum(axis=0))
        step = _ratio(rho, curvature)
        x, r = rows.keep(x + step * p, r - step * q)
        previous = rho
        (rho,) = rows.numbers((r * r).sum(axis=0))
        (p,) = rows.keep(r + _ratio(rho, previous) * p)
        n_iter += 1


def _ratio(a: NDArray[Any], b: NDArray[Any]) -> NDArray[np.float64]:
    return np.divide(a, b, out=np.zeros_like(a), where=b > 0)


def _over_landmarks(
    rows: Rows, edges: Edges, bandwidth: float | str, n_landmarks: int, seed: int
) -> tuple[Any, float]:
    dask = need_dask()
    delayed = dask.delayed
    nothing = np.empty(0, dtype=np.int64)
    draw = draw_unlabeled(rows.n_rows, nothing, n_landmarks, seed)
    chosen = [
        delayed(landmarks_of)(part, int(first), draw.seed, draw.threshold)
        for part, first in zip(rows.parts, rows.begin, strict=False)
    ]
    landmarks = delayed(np.concatenate)(chosen)
    edges = edges._replace(n_neighbors=min(edges.n_neighbors, draw.size))
    found = [
        delayed(search_block)(part, landmarks, 0, False, edges) for part in rows.parts
    ]
    (landmarks, *found) = rows.keep(landmarks, *found)
    scale = edge_bandwidth(rows, found, edges.n_neighbors, bandwidth, seed)
    graphs = [delayed(directed)(one, draw.size, edges, scale) for one in found]
    sums = [
        delayed(landmark_sums)(graph, own, rows.n_classes)
        for graph, own in zip(graphs, rows.labels, strict=True)
    ]
    ((between, to_classes),) = rows.numbers(merged(sums, added))
    values = landmark_values(between, to_classes)
    blocks = [delayed(averages)(graph, values) for graph in graphs]
    return rows.array(blocks, rows.n_classes), scale


def landmarks_of(
    part: NDArray[Any], start: int, seed: int, threshold: int
) -> NDArray[Any]:
    """Rows of a part that were drawn."""
    return part[row_keys(start, start + part.shape[0], seed) <= threshold]


def landmark_sums(
    graph: csr_array, labels: tuple[Any, Any], n_classes: int
) -> tuple[csr_array, NDArray[np.float64]]:
    """Return weights among landmarks by unlabelled rows, and to classes by labelled."""
    places, codes = labels
    to_classes = graph[places].T @ np.eye(n_classes)[codes]
    own = degree(graph)
    own[places] = 0.0
    factor = np.divide(1.0, own, out=np.zeros_like(own), where=own > 0)
    return csr_array(graph.T @ graph.multiply(factor[:, None])), to_classes


def added(parts: list[tuple[Any, Any]]) -> tuple[Any, Any]:
    """Add the sums of parts, in order."""
    between, to_classes = parts[0]
    for other, others in parts[1:]:
        between, to_classes = between + other, to_classes + others
    return between, to_classes


def landmark_values(
    between: csr_array, to_classes: NDArray[Any]
) -> NDArray[np.float64]:
    """Return functions at landmarks, with classes as vertices; NaN if unreached."""
    m, n_classes = to_classes.shape
    tied = csr_array(to_classes)
    W = csr_array(block_array([[between, tied], [tied.T, None]]))
    W = csr_array((W + W.T) / 2)
    W.setdiag(0)
    W.eliminate_zeros()
    return harmonic_functions(W, np.arange(m, m + n_classes), np.eye(n_classes)).values[
        :m
    ]


def averages(graph: csr_array, values: NDArray[Any]) -> NDArray[np.float64]:
    """Return weighted means over the landmarks of rows; 0 if none is reached."""
    known = ~np.isnan(values[:, 0])
    weights = csr_array(graph[:, known])
    total = degree(weights)
    factor = np.divide(1.0, total, out=np.zeros_like(total), where=total > 0)
    return factor[:, None] * (weights @ values[known])


def _solution(
    rows: Rows, classes: NDArray[Any], values: Any, n_iter: int, scale: float
) -> DaskHarmonicSolution:
    import dask.array as da

    dask = need_dask()
    prior = np.bincount(rows.codes, minlength=classes.size) / rows.codes.size
    blocks = [block[0] for block in values.to_delayed()]
    parts = [
        dask.delayed(finished, nout=2)(block, own, prior)
        for block, own in zip(blocks, rows.labels, strict=True)
    ]
    (F,) = rows.keep(rows.array([part for part, _ in parts], classes.size))
    (n_unreached,) = rows.numbers(dask.delayed(sum)([n for _, n in parts]))
    if n_unreached:
        warnings.warn(
            f"{n_unreached:,} of {rows.n_rows:,} rows are not connected to a label: "
            "they get the most common class. Use more neighbours, or label one row of "
            "every part.",
            DisconnectedGraphWarning,
            stacklevel=4,
        )
    labels = da.map_blocks(
        best_class, F, classes, dtype=classes.dtype, drop_axis=1, meta=classes[:0]
    )
    return DaskHarmonicSolution(classes, F, labels, n_iter, scale)


def finished(
    block: NDArray[Any], labels: tuple[Any, Any], prior: NDArray[Any]
) -> tuple[NDArray[np.float64], int]:
    """Functions of a block with given labels, and the number of unreached rows."""
    places, codes = labels
    F = np.clip(block, 0.0, 1.0)  # the maximum principle
    F[places] = np.eye(prior.size)[codes]
    unreached = F.sum(axis=1) == 0
    F[unreached] = prior
    return F, int(unreached.sum())


def best_class(F: NDArray[Any], classes: NDArray[Any]) -> NDArray[Any]:
    """Return the class of the largest function."""
    return classes[F.argmax(axis=1)]
