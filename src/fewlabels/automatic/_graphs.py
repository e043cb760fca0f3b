"""Neighbours of the rows, and eigenvectors of their graphs."""

# SPDX-License-Identifier: BSD-3-Clause

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components

from fewlabels._backend import backend_of, to_host
from fewlabels.automatic import _tuned as tuned
from fewlabels.automatic._candidates import Form, Outputs
from fewlabels.automatic._compact import (
    Compactor,
    LinearPart,
    Plain,
    Rounded,
    half,
    summed_weights,
)
from fewlabels.automatic._components import Leading
from fewlabels.automatic._packed_graphs import (
    GraphMeans,
    NeighborIndex,
    NewEdges,
    PackedVectors,
    averages,
    edge_weights,
    new_edges,
    shares,
)
from fewlabels.automatic._sources import Source, View
from fewlabels.graphs import (
    auto_bandwidth,
    graph_laplacian,
    laplacian_eigenvectors,
    make_search,
)

# Compute eigenvectors for at most this many connected components of a graph; the
# remaining ones are tiny, and their rows are connected to almost nothing.
MAX_COMPONENTS = 40
# Tolerated residual of eigenvectors; it is largest for the least smooth ones, which
# weigh least.
EIGENVECTOR_TOL = 1e-2
# Allowed rounding errors of rows, as a share of the distance to the nearest neighbour.
MAX_ROUNDING = 1e-3
# Rows on which the length of a mean of directions is measured.
COHERENCE_ROWS = 500


class Neighbors(Source):
    """Distances and indices of the nearest training rows in the leading components.

    Parameters
    ----------
    leading : Leading
        Source of the leading components.
    n_neighbors : int
        Number of neighbours to find.
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

    def compact(self, compactor: Compactor) -> Source:
        """Search among rows rounded as far as is safe."""
        A = np.asarray(to_host(self._searched))
        known = to_host(self.train)
        searched: Any = Plain(A)
        if compactor.rounds:
            distances = known[0][:, 0]
            nearest = np.median(distances[distances > 0]) if distances.any() else 0.0
            span = A.max(axis=0).astype(np.float64) - A.min(axis=0)
            error = np.sqrt(np.sum((span / np.iinfo(np.uint16).max) ** 2) / 12)
            if error <= MAX_ROUNDING * nearest:
                searched = Rounded.by_column(A, np.uint16)
            elif A.dtype == np.float64:
                searched = Plain.single(A)
        leading = compactor.copy_of(self._leading)
        index = NeighborIndex(leading, searched, self._n_neighbors, self._options)
        compactor.set_neighbors(index, known)
        return index

    def __getstate__(self) -> dict[str, Any]:
        # An approximate index cannot be pickled, but is quickly rebuilt.
        return to_host({**self.__dict__, "_search": None})


class GraphVectors(Source):
    r"""Leading eigenvectors of the normalised Laplacian of a neighbour graph.

    New rows get :math:`u(x) = \sum_j w_{xj} u_j / \sqrt{d_x d_j} / (1 - \lambda)` over
    their neighbours, a formula that holds for training rows and their neighbours. As in
    the graph, neighbours are the nearest rows and the rows that have x among their
    nearest, as far as the search finds them: without the latter, new rows would have
    smaller degrees than training rows, and smaller eigenvectors. Edges between mutual
    neighbours weigh twice as much as others.

    Parameters
    ----------
    neighbors : Neighbors
        The neighbour search.
    k : int
        Number of neighbours.
    width : float
        Width of the Gaussian weights, in units of the mean distance to the neighbours.
    n_vectors : int
        Smallest number of eigenvectors, if there are as many.
    rng : RandomState
        Generator for the start of the eigensolver.
    """

    for_training = ("laplacian",)
    is_packed = True

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
        """Eigenvalues divided by the one `offset` places after the zeros."""
        unit = self.eigenvalues[min(self.n_null + offset, self.eigenvalues.size - 1)]
        return self.eigenvalues / (unit if unit > 1e-9 else 1.0)

    def _edges(self, compactor: Compactor) -> "NewEdges":
        """Edge weights between new rows and training rows."""
        return compactor.shared(
            ("edges", id(self)),
            lambda: NewEdges(
                compactor.copy_of(self._neighbors),
                self.n_neighbors,
                self._bandwidth,
                self._longest,
                np.asarray(to_host(self._reach)),
                np.asarray(to_host(self._degrees)),
            ),
        )

    def _packed(self, n_columns: int, compactor: Compactor) -> Source:
        vectors = np.asarray(to_host(self.train))[:, :n_columns]
        gain = self._gains[:n_columns]
        return PackedVectors(self._edges(compactor), compactor.packed(vectors), gain)

    def compact(self, compactor: Compactor) -> Source:
        """Pack only the vectors that a forest reads."""
        return self._packed(compactor.columns_of(self), compactor)

    def linear_forms(
        self, parts: Sequence[LinearPart], compactor: Compactor
    ) -> list[Form]:
        """Pack the vectors in several ways, or use means over neighbours instead."""
        n_columns = max(part.scales.size for part in parts)

        def packed(pack: Callable[[NDArray[Any]], Any]) -> list[Outputs]:
            source = self._packed(n_columns, compactor.with_packing(pack))
            return compactor.linear_sums(source, parts, exact=True)

        if not compactor.rounds:
            return [lambda: packed(Plain)]
        per_column = (self.scaled(20)[:n_columns] + 0.1) ** 0.75
        forms: list[Form] = [
            lambda: packed(partial(Rounded.by_row, per_column=per_column)),
            lambda: packed(Rounded.half),
            lambda: packed(Plain.single),
        ]
        # In half precision, two numbers per target and row.
        if 4 * parts[0].offset.size < n_columns:
            forms.insert(0, lambda: [self._means(parts, n_columns, compactor)])
        return forms

    def _means(
        self, parts: Sequence[LinearPart], n_columns: int, compactor: Compactor
    ) -> Outputs:
        """Sum linear functions over neighbours, and average those on unit rows."""
        edges = self._edges(compactor)
        vectors = np.asarray(to_host(self.train))[:, :n_columns]
        U = vectors / self._gains[:n_columns] / edges.roots[:, None]
        linear = [part for part in parts if not part.unit_rows]
        unit = [part for part in parts if part.unit_rows]
        sums = means = pull = None
        if linear:
            weights, _ = summed_weights(linear)
            sums = half(U[:, : len(weights)] @ weights)
        if unit:
            views = [U[:, : part.scales.size] * part.scales for part in unit]
            lengths = [np.sqrt(np.einsum("ij,ij->i", H, H)) for H in views]
            pull = sum(
                np.linalg.norm(part.weights) * n / (n.mean() or 1.0)
                for part, n in zip(unit, lengths, strict=True)
            ).astype(np.float32)
            w, near = compactor.trial(COHERENCE_ROWS)[edges]
            w = shares(w * pull[near])
            means = np.zeros((U.shape[0], parts[0].offset.size))
            for part, H, n in zip(unit, views, lengths, strict=True):
                H /= np.where(n > 1e-12, n, 1.0)[:, None]
                # A mean of unit vectors is shorter than one.
                mean = averages(w, near, H)
                coherence = np.sqrt(np.einsum("ij,ij->i", mean, mean)).mean()
                means += H @ part.weights / (coherence or 1.0)
            means = half(means)
        offset = np.sum([part.offset for part in parts], axis=0)
        return GraphMeans(edges, sums, means, pull, offset)

    @property
    def _gains(self) -> NDArray[Any]:
        return np.maximum(1 - to_host(self.eigenvalues), tuned.MIN_GAIN)

    def new(self, view: View) -> NDArray[Any]:
        d, near = view[self._neighbors]
        b, reach = backend_of(d), self._reach[near]
        w = new_edges(d, reach, self.n_neighbors, self._bandwidth, self._longest)
        w = w / b.xp.sqrt(b.xp.sum(w, axis=1, keepdims=True) * self._degrees[near])
        n_queries, n_near = near.shape
        indptr = b.asarray(np.arange(n_queries + 1) * n_near)
        n = self.train.shape[0]
        weights = b.sparse(b.xp.reshape(w, (-1,)), b.xp.reshape(near, (-1,)), indptr, n)
        return (weights @ self.train) / b.asarray(self._gains)
