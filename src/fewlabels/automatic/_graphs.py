"""Neighbours of the rows, and eigenvectors of their graphs."""

# SPDX-License-Identifier: BSD-3-Clause

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components

from fewlabels._backend import backend_of, to_host
from fewlabels.automatic import _tuned as tuned
from fewlabels.automatic._components import Leading
from fewlabels.automatic._sources import Source, View
from fewlabels.graphs import (
    auto_bandwidth,
    graph_laplacian,
    heat_weights,
    laplacian_eigenvectors,
    make_search,
)

# Components of a graph whose eigenvectors are computed; rows in further ones, which
# are tiny, hang together with next to nothing.
MAX_COMPONENTS = 40
# Residual of eigenvectors; the least smooth ones, which weigh least, have the largest.
EIGENVECTOR_TOL = 1e-2


class Neighbors(Source):
    """Distances and indices of the nearest training rows, by leading components.

    Parameters
    ----------
    leading : Leading
        Source of the leading components.
    n_neighbors : int
        How many to find.
    method : {"exact", "approximate", "auto"}
        See :func:`fewlabels.graphs.nearest_neighbors`.
    """

    def __init__(self, leading: Leading, n_neighbors: int, method: str) -> None:
        self._leading = leading
        self._searched = leading.train
        self._n_neighbors = n_neighbors
        self._options: dict[str, Any] = {"neighbors": method}
        self._search: Any = None
        self.train = self._index().kneighbors(n_neighbors)

    def _index(self) -> Any:
        if self._search is None:
            self._search = make_search(self._searched, **self._options)
        return self._search

    def new(self, view: View) -> tuple[NDArray[Any], NDArray[Any]]:
        return self._index().kneighbors(self._n_neighbors, view[self._leading])

    def __getstate__(self) -> dict[str, Any]:
        # An approximate index cannot be pickled, and is quickly made again; neighbours
        # of training rows were for those who built the graphs.
        return to_host({**self.__dict__, "_search": None, "train": None})


def edge_weights(
    distances: Any, own: Any, others: Any, bandwidth: float, longest: float
) -> Any:
    """Weights of edges between rows whose last neighbours are so far away."""
    xp = backend_of(distances).xp
    stretched = xp.clip(xp.maximum(own, others) / longest, 1.0, None)
    return heat_weights(distances / stretched, bandwidth)


def new_edges(
    distances: Any, reach: Any, k: int, bandwidth: float, longest: float
) -> Any:
    """Weights of edges from new rows, to rows whose last neighbours reach so far.

    An edge has half a weight for every end that counts the other among its k nearest.
    """
    b, dtype = backend_of(distances), backend_of(distances).dtype(distances)
    w = edge_weights(distances, distances[:, k - 1 : k], reach, bandwidth, longest)
    halves = 0.5 * b.astype(distances <= reach, dtype)
    halves[:, :k] += 0.5
    return b.astype(w, dtype) * halves


class GraphVectors(Source):
    r"""Leading eigenvectors of the normalised Laplacian of a neighbour graph.

    New rows get :math:`u(x) = \sum_j w_{xj} u_j / \sqrt{d_x d_j} / (1 - \lambda)` over
    their neighbours, which holds on training rows with their own neighbours. As in the
    graph, these are the nearest rows and those to which the row would be among the
    nearest, as far as the search finds them: without the latter, new rows would have
    smaller degrees than training rows, and smaller eigenvectors. Edges between mutual
    neighbours weigh twice as much as others.

    Parameters
    ----------
    neighbors : Neighbors
        The neighbour search.
    k : int
        Neighbours to use.
    width : float
        Of the Gaussian weights, in units of the mean distance to these neighbours.
    n_vectors : int
        At least so many, as far as there are.
    rng : RandomState
        Of the eigenvectors.
    """

    for_training = ("laplacian",)

    def __init__(
        self, neighbors: Source, k: int, width: float, n_vectors: int, rng: Any
    ) -> None:
        self._neighbors = neighbors
        distances, indices = neighbors.train
        b, n = backend_of(distances), distances.shape[0]
        self.n_neighbors = k
        distances, indices = distances[:, :k], indices[:, :k]
        usual = auto_bandwidth(to_host(distances))
        self._bandwidth, self._longest = width * usual, tuned.FRINGE * usual
        self._reach = b.contiguous(distances[:, k - 1])
        weights = edge_weights(
            distances,
            self._reach[:, None],
            self._reach[indices],
            self._bandwidth,
            self._longest,
        )
        W = b.symmetrized(b.astype(weights, b.dtype(distances)), indices)
        self._degrees = W @ b.xp.ones_like(self._reach)
        self.laplacian = graph_laplacian(W, "symmetric", check=False)
        n_components, labels = connected_components(b.to_numpy(W), directed=False)
        self.n_components = n_components
        main = np.arange(n)
        if n_components > MAX_COMPONENTS:
            sizes = np.bincount(labels)
            largest = np.argsort(-sizes, kind="stable")[:MAX_COMPONENTS]
            main = np.flatnonzero(np.isin(labels, largest))
            n_components = MAX_COMPONENTS
        wanted = min(max(n_vectors, n_components + 60), max(1, main.size // 2))
        L = self.laplacian
        if main.size < n:
            L = b.asarray(to_host(L)[main][:, main])
        eigenvalues, U = laplacian_eigenvectors(
            L, wanted, tol=EIGENVECTOR_TOL, random_state=rng
        )
        self.eigenvalues = to_host(eigenvalues)
        self.train = U
        if main.size < n:
            self.train = b.xp.zeros((n, wanted), dtype=U.dtype, device=U.device)
            self.train[main] = U
        self.n_null = n_components

    def scaled(self, offset: int) -> NDArray[Any]:
        """Eigenvalues in units of the one so many places after the zeros."""
        unit = self.eigenvalues[min(self.n_null + offset, self.eigenvalues.size - 1)]
        return self.eigenvalues / (unit if unit > 1e-9 else 1.0)

    def new(self, view: View) -> NDArray[Any]:
        d, near = view[self._neighbors]
        b, reach = backend_of(d), self._reach[near]
        w = new_edges(d, reach, self.n_neighbors, self._bandwidth, self._longest)
        w = w / b.xp.sqrt(b.xp.sum(w, axis=1, keepdims=True) * self._degrees[near])
        n_queries, n_near = near.shape
        indptr = b.asarray(np.arange(n_queries + 1) * n_near)
        n = self.train.shape[0]
        weights = b.sparse(b.xp.reshape(w, (-1,)), b.xp.reshape(near, (-1,)), indptr, n)
        gains = np.maximum(1 - self.eigenvalues, tuned.MIN_GAIN)
        return (weights @ self.train) / b.asarray(gains)
