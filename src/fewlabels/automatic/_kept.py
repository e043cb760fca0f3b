"""What a compact bank keeps: arrays in few bytes, and functions of new rows on them."""

# SPDX-License-Identifier: BSD-3-Clause

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse
from sklearn.utils import gen_batches

from fewlabels._backend import to_host
from fewlabels._distances import DistancesTo, squared_distances
from fewlabels.automatic._candidates import Outputs
from fewlabels.automatic._forest import GrownForest
from fewlabels.automatic._graphs import GraphVectors, new_edges
from fewlabels.automatic._paths import Geodesics, PathKernel
from fewlabels.automatic._sources import Source, View
from fewlabels.graphs import heat_weights, make_search

# Kernel values that stay in the cache while they are added up.
CACHED_VALUES = 2**17


class Rounded:
    """An array as small numbers, exactly ``(codes * per_row + low) * per_column``.

    Parameters
    ----------
    codes : ndarray of shape (n_rows, n_columns)
        Integers, or numbers of half precision.
    low, per_row, per_column : ndarray
        Of shapes that fit beside the codes.
    dtype : dtype
        Of the numbers.
    """

    def __init__(
        self,
        codes: NDArray[Any],
        low: NDArray[Any],
        per_row: NDArray[Any],
        per_column: NDArray[Any],
        dtype: Any,
    ) -> None:
        self._codes = codes
        self._low, self._per_row, self._per_column = low, per_row, per_column
        self._dtype = np.dtype(dtype).str

    @classmethod
    def by_column(cls, A: NDArray[Any], integer: Any) -> "Rounded":
        """Divide the range of every column into equal steps."""
        low, high = A.min(axis=0), A.max(axis=0)
        step = (high - low).astype(np.float64) / np.iinfo(integer).max
        step = np.where(step > 0, step, 1.0)
        codes = np.rint((A - low) / step).astype(integer)
        return cls(codes, low / step, np.ones(1), step, A.dtype)

    @classmethod
    def by_row(cls, A: NDArray[Any], per_column: NDArray[Any]) -> "Rounded":
        """Divide the range of every row, in units of the columns, into 254 steps."""
        scaled = A / per_column
        largest = np.abs(scaled).max(axis=1, keepdims=True, initial=0.0)
        per_row = (np.where(largest > 0, largest, 1.0) / 127).astype(np.float32)
        codes = np.rint(scaled / per_row).astype(np.int8)
        return cls(codes, np.zeros(1), per_row, per_column, A.dtype)

    @classmethod
    def half(cls, A: NDArray[Any]) -> "Rounded":
        """Take half precision, in units of the largest number of every column."""
        largest = np.abs(A).max(axis=0, initial=0.0).astype(np.float64)
        largest = np.where(largest > 0, largest, 1.0)
        codes = (A / largest).astype(np.float16)
        return cls(codes, np.zeros(1), np.ones(1), largest, A.dtype)

    @cached_property
    def array(self) -> NDArray[Any]:
        """The numbers."""
        array = self._codes.astype(np.dtype(self._dtype))
        array *= self._per_row.astype(array.dtype)
        array += self._low.astype(array.dtype)
        array *= self._per_column.astype(array.dtype)
        return array

    def __getstate__(self) -> dict[str, Any]:
        return {name: part for name, part in vars(self).items() if name != "array"}


class Plain:
    """An array as it is.

    Parameters
    ----------
    array : ndarray
        The array.
    """

    def __init__(self, array: NDArray[Any]) -> None:
        self.array = np.ascontiguousarray(array)

    @classmethod
    def single(cls, array: NDArray[Any]) -> "Plain":
        """Take single precision."""
        return cls(array.astype(np.float32, copy=False))


class Affine(Source):
    """A linear map of rows, less an offset, such as principal components.

    Parameters
    ----------
    matrix : ndarray of shape (n_features, n_columns)
        The map.
    offset : ndarray of shape (n_columns,)
        What is subtracted.
    """

    def __init__(self, matrix: NDArray[Any], offset: NDArray[Any]) -> None:
        self._matrix = np.ascontiguousarray(matrix)
        self._offset = offset

    def new(self, view: View) -> NDArray[Any]:
        return view.rows @ self._matrix - self._offset


class Index(Source):
    """Neighbours of new rows among the training rows.

    Parameters
    ----------
    leading : Source
        Of the columns by which they are searched.
    searched : Rounded or Plain
        These columns of the training rows.
    n_neighbors : int
        How many to find.
    options : dict
        Of the search.
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


class Edges(Source):
    """Weights of new rows with training rows in a neighbour graph, and their degrees.

    Parameters
    ----------
    index : Source
        The neighbours.
    graph : GraphVectors
        The graph of the training rows.
    """

    def __init__(self, index: Source, graph: GraphVectors) -> None:
        self._index = index
        self._k = graph.n_neighbors
        self._bandwidth, self._longest = graph._bandwidth, graph._longest
        self._reach = np.asarray(to_host(graph._reach))
        degrees = np.asarray(to_host(graph._degrees))
        self.roots = np.sqrt(np.where(degrees > 0, degrees, 1.0)).astype(degrees.dtype)

    def new(self, view: View) -> tuple[NDArray[Any], NDArray[Any]]:
        d, near = view[self._index]
        reach = self._reach[near]
        return new_edges(d, reach, self._k, self._bandwidth, self._longest), near


def shares(w: NDArray[Any]) -> NDArray[Any]:
    """Weights of sum one."""
    return w / np.maximum(w.sum(axis=1, keepdims=True), np.finfo(w.dtype).tiny)


def averages(w: NDArray[Any], near: NDArray[Any], values: NDArray[Any]) -> Any:
    """Sum values of neighbours by weights."""
    indptr = np.arange(near.shape[0] + 1) * near.shape[1]
    shape = (near.shape[0], values.shape[0])
    return csr_array((w.ravel(), near.ravel(), indptr), shape=shape) @ values


class KeptVectors(Source):
    """Eigenvectors of a graph for new rows, see :class:`GraphVectors`.

    Parameters
    ----------
    edges : Edges
        Weights with training rows.
    vectors : Rounded or Plain
        Eigenvectors of the training rows.
    gain : ndarray of shape (n_vectors,)
        What those of new rows are divided by.
    """

    def __init__(self, edges: Edges, vectors: Any, gain: NDArray[Any]) -> None:
        self._edges = edges
        self._vectors = vectors
        self._gain = gain

    def new(self, view: View) -> NDArray[Any]:
        w, near = view[self._edges]
        w = w / (np.sqrt(w.sum(axis=1, keepdims=True)) * self._edges.roots[near])
        return averages(w, near, self._vectors.array) / self._gain


@dataclass(frozen=True)
class LinearSum(Outputs):
    """A linear function of the columns of a source, perhaps scaled to length one."""

    source: Source
    scales: NDArray[Any] | None  # None where rows are not scaled to length one
    weights: NDArray[Any]
    offset: NDArray[Any]

    def __call__(self, view: View) -> NDArray[Any]:
        Z = view[self.source]
        if self.scales is None:
            # A prefix of the columns may be all that carries weight.
            if Z.shape[1] > self.weights.shape[0]:
                Z = Z[:, : self.weights.shape[0]]
        else:
            Z = Z[:, : self.scales.size] * self.scales.astype(Z.dtype)
            norms = np.sqrt(np.einsum("ij,ij->i", Z, Z))
            Z = Z / np.where(norms > 1e-12, norms, 1)[:, None]
        return Z @ self.weights.astype(Z.dtype, copy=False) + self.offset


@dataclass(frozen=True)
class GraphMeans(Outputs):
    """Functions on a graph as sums and means of what they are for the neighbours.

    Linear functions of the eigenvectors are such sums exactly. Those of eigenvectors
    scaled to length one are nearly means, weighted by the lengths.
    """

    edges: Edges
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


@dataclass(frozen=True)
class PathMeans(Outputs):
    """Functions of path lengths as means of what they are for the neighbours."""

    index: Source
    n_neighbors: int
    bandwidth: float
    means: NDArray[Any]

    def __call__(self, view: View) -> NDArray[Any]:
        d, near = (part[:, : self.n_neighbors] for part in view[self.index])
        # A row far from all others takes after its nearest neighbour.
        w = heat_weights(d - d[:, :1], self.bandwidth).astype(d.dtype, copy=False)
        return averages(shares(w), near, self.means.astype(w.dtype))


class KeptPaths(PathKernel):
    """Gaussian kernel of path lengths to landmarks, see :class:`Geodesics`.

    Parameters
    ----------
    index : Source
        The neighbours.
    paths : Geodesics
        Paths between the training rows and the landmarks.
    lengths : Rounded or Plain
        Lengths from the landmarks to the training rows.
    """

    # Lengths are cut at this many kernel widths, beyond which the kernel is zero.
    LONGEST = 8.0

    def __init__(self, index: Source, paths: Geodesics, lengths: Any) -> None:
        super().__init__(index, paths._k, paths._sharpness)
        self._kept = lengths
        self._unit, self._gamma = paths._unit, paths._gamma

    @classmethod
    def lengths(cls, paths: Geodesics) -> NDArray[Any]:
        """Lengths from the landmarks to the training rows, cut where they are zero."""
        longest = cls.LONGEST * (0.5 / paths._gamma) ** 0.5
        return np.minimum(to_host(paths._lengths(paths._costs)), longest)

    @cached_property
    def _costs(self) -> NDArray[Any]:
        lengths = self._kept.array
        return np.expm1(self._sharpness * lengths) if self._sharpness else lengths

    def new(self, view: View) -> NDArray[Any]:
        return self._kernel(self._new_costs(view))

    def __getstate__(self) -> dict[str, Any]:
        return {name: part for name, part in vars(self).items() if name != "_costs"}


@dataclass(frozen=True)
class KernelSum(Outputs):
    """Sums of kernels of several widths with the same rows, less means with anchors."""

    source: Source
    n_columns: int | None
    gammas: list[float | None]
    ends: Any
    coefs: list[NDArray[Any]]
    anchors: Any  # None where the kernels are not centred
    offset: NDArray[Any]

    def __call__(self, view: View) -> NDArray[Any]:
        Z = view[self.source]
        Z = Z if self.n_columns is None else Z[:, : self.n_columns]
        to_ends = _Values(self.ends.astype(Z.dtype))
        to_anchors = None
        if self.anchors is not None:
            to_anchors = _Values(self.anchors.astype(Z.dtype))
        outputs = np.tile(self.offset, (Z.shape[0], 1))
        n_others = max(self.ends.shape[0], getattr(self.anchors, "shape", (1,))[0])
        for batch in gen_batches(Z.shape[0], 1 + CACHED_VALUES // n_others):
            for values, coef in zip(
                to_ends.of(Z[batch], self.gammas), self.coefs, strict=True
            ):
                outputs[batch] += values.astype(np.float64, copy=False) @ coef
            if to_anchors is None:
                continue
            mean = np.full(self.anchors.shape[0], 1 / self.anchors.shape[0], Z.dtype)
            for values, coef in zip(
                to_anchors.of(Z[batch], self.gammas), self.coefs, strict=True
            ):
                outputs[batch] -= np.outer(values @ mean, coef.sum(axis=0))
        return outputs


class _Values:
    """Kernel values of rows with others, the distances of which are computed once."""

    def __init__(self, others: Any) -> None:
        self._others = others
        self._distances: Any = partial(squared_distances, Y=others)
        if not issparse(others):
            self._distances = DistancesTo(others)

    def of(self, Z: Any, gammas: Sequence[float | None]) -> Iterator[NDArray[Any]]:
        """Take Gaussian kernels, and the squared linear one where gamma is None."""
        squares: Any = None
        for gamma in gammas:
            if gamma is None:
                products = Z @ self._others.T
                products = products.toarray() if issparse(products) else products
                yield np.square(products)
                continue
            if squares is None:
                squares = self._distances(Z)
            values = squares * squares.dtype.type(-gamma)
            yield np.exp(values, out=values)


class PackedForest(Outputs):
    """A forest in few bytes: small integers, and every different leaf once.

    Parameters
    ----------
    forest : GrownForest
        The forest.
    source : Source
        Of its rows.
    rounded : bool
        Whether thresholds may be rounded to single precision.
    """

    def __init__(self, forest: GrownForest, source: Source, rounded: bool) -> None:
        self._source = source
        # In preorder, a tree ends where leaves outnumber splits for the first time.
        balance = np.cumsum(np.where(forest.feature >= 0, 1, -1), axis=1)
        n_nodes = int(np.argmax(balance < 0, axis=1).max()) + 1
        values = forest.values[:, : (n_nodes + 1) // 2]
        self._leaves, codes = np.unique(
            values.reshape(-1, values.shape[2]), axis=0, return_inverse=True
        )
        self._codes = _small(codes.reshape(values.shape[:2]))
        self._feature = _small(forest.feature[:, :n_nodes])
        self._right = _small(forest.right[:, :n_nodes])
        self._threshold = forest.threshold[:, :n_nodes]
        if rounded:
            self._threshold = self._threshold.astype(np.float32)
        self._weight = forest.weight

    @cached_property
    def _grown(self) -> GrownForest:
        return GrownForest(
            self._source,
            self._feature.astype(np.int32),
            self._threshold.astype(np.float64),
            self._right.astype(np.int32),
            self._leaves[self._codes],
            self._weight,
        )

    def __call__(self, view: View) -> NDArray[Any]:
        return self._grown(view)

    def __getstate__(self) -> dict[str, Any]:
        return {name: part for name, part in vars(self).items() if name != "_grown"}


def _small(A: NDArray[Any]) -> NDArray[Any]:
    """Take the smallest type of integers that holds an array."""
    low, high = A.min(initial=0), A.max(initial=0)
    return A.astype(np.promote_types(np.min_scalar_type(low), np.min_scalar_type(high)))
