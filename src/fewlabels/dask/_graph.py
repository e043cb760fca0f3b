"""Neighbour graphs of partitioned rows, one block at a time."""

# SPDX-License-Identifier: BSD-3-Clause

from collections.abc import Callable
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, hstack

from fewlabels._sampling import row_keys
from fewlabels._sklearn import check_array
from fewlabels.dask._collections import compute, need_dask, parts_of, starts
from fewlabels.dask._draw import draw_unlabeled
from fewlabels.graphs import auto_bandwidth, heat_weights, make_search

# Most edges used for the bandwidth.
SCALE_EDGES = 2**20

Weight = str | Callable[[NDArray[Any]], NDArray[Any]]


class Rows:
    """Partitioned rows with their labels, and operations on the parts."""

    def __init__(
        self,
        client: Any,
        X: Any,
        sizes: NDArray[np.int64],
        labeled: NDArray[np.int64],
        codes: NDArray[np.intp],
        n_classes: int,
    ) -> None:
        self.client = client
        some = sizes > 0
        self.sizes = sizes[some]
        self.begin = starts(self.sizes)
        self.n_rows = int(self.begin[-1])
        dask = need_dask()
        self.parts = [
            dask.delayed(checked)(part)
            for part, kept in zip(parts_of(X), some, strict=True)
            if kept
        ]
        self.codes = codes
        self.n_classes = n_classes
        cuts = np.searchsorted(labeled, self.begin)
        self.labels = [
            (labeled[low:high] - first, codes[low:high])
            for low, high, first in zip(cuts, cuts[1:], self.begin, strict=False)
        ]

    def array(self, blocks: list[Any], n_columns: int) -> Any:
        """Make a Dask array of lazy blocks."""
        import dask.array as da

        return da.concatenate(
            [
                da.from_delayed(block, (int(size), n_columns), dtype=np.float64)
                for block, size in zip(blocks, self.sizes, strict=True)
            ]
        )

    def keep(self, *values: Any) -> tuple[Any, ...]:
        """Compute lazy values on the workers, and keep them there."""
        dask = need_dask()
        scheduler = {} if self.client is None else {"scheduler": self.client}
        return dask.persist(*values, **scheduler)

    def numbers(self, *values: Any) -> tuple[Any, ...]:
        """Compute small values and collect them."""
        return compute(self.client, *values)


class Edges(NamedTuple):
    """How rows are joined, and how edges are weighted."""

    n_neighbors: int
    weight: Weight
    neighbors: str

    def weights(self, distances: NDArray[Any], bandwidth: float) -> NDArray[np.float64]:
        """Return weights of edges by their lengths."""
        if self.weight == "heat":
            return heat_weights(distances, bandwidth)
        if self.weight == "binary":
            return np.ones_like(distances)
        return np.asarray(self.weight(distances), dtype=np.float64)  # type: ignore[operator]


class Found(NamedTuple):
    """Nearest rows of the rows of a block, nearest first."""

    distances: NDArray[Any]
    numbers: NDArray[np.int64]


def checked(part: Any) -> NDArray[np.float64]:
    """Check the rows of a part."""
    return check_array(part, dtype=np.float64)


def search_block(
    queries: NDArray[Any], rows: NDArray[Any], start: int, own: bool, edges: Edges
) -> Found:
    """Search a block of rows for the neighbours of those of another."""
    k = min(edges.n_neighbors, rows.shape[0] - own)
    if k < 1 or not queries.shape[0]:
        return Found(
            np.empty((queries.shape[0], 0)), np.empty((queries.shape[0], 0), int)
        )
    search = make_search(rows, neighbors=edges.neighbors)
    distances, places = search.kneighbors(k, None if own else queries)
    return Found(distances, places.astype(np.int64) + start)


def nearest_of(found: list[Found], n_neighbors: int) -> Found:
    """Merge the searches of several blocks; ties go to the first row."""
    distances = np.hstack([one.distances for one in found])
    numbers = np.hstack([one.numbers for one in found])
    order = np.argsort(numbers, axis=1, kind="stable")
    by_number = np.take_along_axis(distances, order, axis=1)
    again = np.argsort(by_number, axis=1, kind="stable")[:, :n_neighbors]
    order = np.take_along_axis(order, again, axis=1)
    return Found(
        np.take_along_axis(distances, order, axis=1),
        np.take_along_axis(numbers, order, axis=1),
    )


def directed(found: Found, n_columns: int, edges: Edges, bandwidth: float) -> csr_array:
    """Weights of the edges that leave a block."""
    n, k = found.numbers.shape
    weights = edges.weights(found.distances, bandwidth)
    # A copy, since sorting must not touch results that others may read.
    indices = found.numbers.flatten()
    ends = np.arange(0, n * k + 1, k)
    graph = csr_array((weights.ravel(), indices, ends), shape=(n, n_columns))
    graph.sort_indices()
    graph.eliminate_zeros()
    return graph


def returned(graph: csr_array, begin: NDArray[np.int64]) -> list[csr_array]:
    """Reverse the edges that leave a block, in one piece per target block."""
    back = csr_array(graph.T)
    return [back[low:high] for low, high in pairwise(begin)]


def undirected(graph: csr_array, pieces: list[csr_array]) -> csr_array:
    """Join the edges that leave a block with those that enter it."""
    return csr_array((graph + csr_array(hstack(pieces, format="csr"))) * 0.5)


def edge_bandwidth(
    rows: Rows, found: list[Any], n_edges: int, given: float | str, seed: int
) -> float:
    """Return the scale of all edges, from as many of them as fit."""
    if not isinstance(given, str):
        return float(given)
    dask = need_dask()
    nothing = np.empty(0, dtype=np.int64)
    draw = draw_unlabeled(rows.n_rows, nothing, max(1, SCALE_EDGES // n_edges), seed)
    lengths = [
        dask.delayed(some_lengths)(one, int(first), draw.seed, draw.threshold)
        for one, first in zip(found, rows.begin, strict=False)
    ]
    return auto_bandwidth(
        np.concatenate(rows.numbers(*lengths)), n_edges if given == "auto" else None
    )


def some_lengths(
    found: Found, start: int, seed: int, threshold: int
) -> NDArray[np.float64]:
    """Return the lengths of the edges of drawn rows."""
    keys = row_keys(start, start + found.distances.shape[0], seed)
    return found.distances[keys <= threshold]
