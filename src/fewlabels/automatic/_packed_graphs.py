"""Neighbour graphs for new rows, in few bytes."""

# SPDX-License-Identifier: BSD-3-Clause

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from fewlabels._backend import backend_of, to_host
from fewlabels.automatic._candidates import Outputs
from fewlabels.automatic._sources import Source, View
from fewlabels.graphs import heat_weights, make_search


def edge_weights(
    distances: Any, own: Any, others: Any, bandwidth: float, longest: float
) -> Any:
    """Edge weights, given the distance of each end to its k-th neighbour."""
    xp = backend_of(distances).xp
    stretched = xp.clip(xp.maximum(own, others) / longest, 1.0, None)
    return heat_weights(distances / stretched, bandwidth)


def new_edges(
    distances: Any, reach: Any, k: int, bandwidth: float, longest: float
) -> Any:
    """Edge weights of new rows, given the training rows' distances to k-th neighbours.

    An edge gets half its weight from each end that has the other among its k nearest.
    """
    b, dtype = backend_of(distances), backend_of(distances).dtype(distances)
    w = edge_weights(distances, distances[:, k - 1 : k], reach, bandwidth, longest)
    halves = 0.5 * b.astype(distances <= reach, dtype)
    halves[:, :k] += 0.5
    return b.astype(w, dtype) * halves


class NeighborIndex(Source):
    """Neighbours of new rows among the training rows.

    Parameters
    ----------
    leading : Source
        Source of the columns used in the search.
    searched : Rounded or Plain
        These columns of the training rows.
    n_neighbors : int
        Number of neighbours to find.
    options : dict
        Options of the search.
    """

    def __init__(
        self, leading: Source, searched: Any, n_neighbors: int, options: dict[str, Any]
    ) -> None:
        self._leading = leading
        self._searched = searched
        self._n_neighbors = n_neighbors
        self._options = options
        self._search: Any = None

    def new(self, view: View) -> tuple[NDArray[Any], NDArray[Any]]:
        if self._search is None:
            self._search = make_search(self._searched.array, **self._options)
        distances, indices = self._search.kneighbors(
            self._n_neighbors, view[self._leading]
        )
        return to_host(distances), to_host(indices)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_search": None}


class NewEdges(Source):
    """Edge weights between new and training rows of a graph, and degrees of new rows.

    Parameters
    ----------
    index : Source
        The neighbours.
    k : int
        Number of neighbours per row.
    bandwidth, longest : float
        Parameters of the weights, see :func:`edge_weights`.
    reach, degrees : ndarray of shape (n_rows,)
        Distances of the training rows to their k-th neighbours, and their degrees.
    """

    def __init__(
        self,
        index: Source,
        k: int,
        bandwidth: float,
        longest: float,
        reach: NDArray[Any],
        degrees: NDArray[Any],
    ) -> None:
        self._index = index
        self._k = k
        self._bandwidth, self._longest = bandwidth, longest
        self._reach = reach
        self.roots = np.sqrt(np.where(degrees > 0, degrees, 1.0)).astype(degrees.dtype)

    def new(self, view: View) -> tuple[NDArray[Any], NDArray[Any]]:
        d, near = view[self._index]
        reach = self._reach[near]
        return new_edges(d, reach, self._k, self._bandwidth, self._longest), near


def shares(w: NDArray[Any]) -> NDArray[Any]:
    """Normalise weights to sum to one."""
    return w / np.maximum(w.sum(axis=1, keepdims=True), np.finfo(w.dtype).tiny)


def averages(w: NDArray[Any], near: NDArray[Any], values: NDArray[Any]) -> Any:
    """Weighted sum of the neighbours' values."""
    indptr = np.arange(near.shape[0] + 1) * near.shape[1]
    shape = (near.shape[0], values.shape[0])
    return csr_array((w.ravel(), near.ravel(), indptr), shape=shape) @ values


class PackedVectors(Source):
    """Eigenvectors of a graph for new rows, see `GraphVectors`.

    Parameters
    ----------
    edges : NewEdges
        Edge weights to training rows.
    vectors : Rounded or Plain
        Eigenvectors of the training rows.
    gain : ndarray of shape (n_vectors,)
        Divisors of the eigenvectors of new rows.
    """

    def __init__(self, edges: NewEdges, vectors: Any, gain: NDArray[Any]) -> None:
        self._edges = edges
        self._vectors = vectors
        self._gain = gain

    def new(self, view: View) -> NDArray[Any]:
        w, near = view[self._edges]
        w = w / (np.sqrt(w.sum(axis=1, keepdims=True)) * self._edges.roots[near])
        return averages(w, near, self._vectors.array) / self._gain


@dataclass(frozen=True)
class GraphMeans(Outputs):
    """Functions on a graph as sums and means of their values at the neighbours.

    Linear functions of the eigenvectors are exactly such sums. Functions of
    eigenvectors scaled to length one are nearly means, weighted by the lengths.
    """

    edges: NewEdges
    sums: NDArray[Any] | None
    means: NDArray[Any] | None
    pull: NDArray[Any] | None
    offset: NDArray[Any]

    def __call__(self, view: View) -> NDArray[Any]:
        w, near = view[self.edges]
        outputs = np.tile(self.offset, (w.shape[0], 1))
        if self.sums is not None:
            v = w / np.sqrt(w.sum(axis=1, keepdims=True))
            outputs += averages(v, near, self.sums.astype(w.dtype))
        if self.means is not None and self.pull is not None:
            v = shares(w * self.pull.astype(w.dtype, copy=False)[near])
            outputs += averages(v, near, self.means.astype(w.dtype))
        return outputs
