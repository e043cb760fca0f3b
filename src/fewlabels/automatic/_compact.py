"""A fitted bank for predictions alone: what they need of it, in few bytes.

Most candidates are linear functions of arrays that are linear, or a kernel, in others:
weights of all of them on one array are added up, and what lies between is multiplied
out. That is exact. Of more than a thousand rows, numbers that remain for every training
row (what neighbours are searched in, eigenvectors of graphs, path lengths) are also
rounded: a graph is tried in several forms, the smallest first, on training rows as if
these were new, and the first that leaves the answers as they were is taken.
"""

# SPDX-License-Identifier: BSD-3-Clause

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse
from sklearn.utils import gen_batches

from fewlabels._backend import to_host
from fewlabels._distances import DistancesTo, squared_distances
from fewlabels.automatic._candidates import (
    Candidate,
    Outputs,
    lean_copy,
    total_outputs,
)
from fewlabels.automatic._clusters import Clusters
from fewlabels.automatic._components import Components, Leading
from fewlabels.automatic._features import LinearFeatures, Nystrom
from fewlabels.automatic._forest import GrownForest
from fewlabels.automatic._graphs import MIN_GAIN, GraphVectors, Neighbors, edge_weights
from fewlabels.automatic._kernels import ColumnOutputs, LinearOutputs
from fewlabels.automatic._paths import MAX_EXPONENT, Geodesics
from fewlabels.automatic._sources import Beside, Rows, Source, View
from fewlabels.graphs import heat_weights, make_search

# Up to so many distinct rows nothing is rounded.
EXACT_ROWS = 1000
# Training rows on which a form of a graph is tried, and how many of their answers it
# may change; for numbers, the root of the mean squared change in standard deviations.
TRIAL_ROWS = 4000
MAX_CHANGED = 7.5e-4
# Rounding errors of rows may be this share of the distance to the nearest neighbour.
MAX_ROUNDING = 1e-3

# Kernel values that stay in the cache while they are added up.
CACHED_VALUES = 2**17

# Rows on which the length of a mean of directions is measured.
COHERENCE_ROWS = 500

# How many answers two outputs differ in, as a share.
Changed = Callable[[NDArray[Any], NDArray[Any]], float]
Form = Callable[[], list[Outputs]]


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
        (d, near), k = view[self._index], self._k
        reach = self._reach[near]
        w = edge_weights(d, d[:, k - 1 : k], reach, self._bandwidth, self._longest)
        w = w.astype(d.dtype, copy=False)
        # Half a weight for every end that counts the other among its neighbours.
        halves = 0.5 * (d <= reach).astype(w.dtype)
        halves[:, :k] += 0.5
        return w * halves, near


def _shares(w: NDArray[Any]) -> NDArray[Any]:
    """Weights of sum one."""
    return w / np.maximum(w.sum(axis=1, keepdims=True), np.finfo(w.dtype).tiny)


def _averages(w: NDArray[Any], near: NDArray[Any], values: NDArray[Any]) -> Any:
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
        return _averages(w, near, self._vectors.array) / self._gain


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
            outputs += _averages(v, near, self.sums.astype(w.dtype))
        if self.means is not None and self.pull is not None:
            v = _shares(w * self.pull.astype(w.dtype, copy=False)[near])
            outputs += _averages(v, near, self.means.astype(w.dtype))
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
        return _averages(_shares(w), near, self.means.astype(w.dtype))


class KeptPaths(Source):
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
        self._index = index
        self._lengths = lengths
        self._k, self._unit = paths._k, paths._unit
        self._sharpness, self._gamma = paths._sharpness, paths._gamma

    @classmethod
    def lengths(cls, paths: Geodesics) -> NDArray[Any]:
        """Lengths from the landmarks to the training rows, cut where they are zero."""
        longest = cls.LONGEST * (0.5 / paths._gamma) ** 0.5
        return np.minimum(to_host(paths._lengths(paths._costs)), longest)

    @cached_property
    def _costs(self) -> NDArray[Any]:
        lengths = self._lengths.array
        return np.expm1(self._sharpness * lengths) if self._sharpness else lengths

    def new(self, view: View) -> NDArray[Any]:
        d, near = view[self._index]
        d = np.maximum(d[:, : self._k] / self._unit, 1e-6).astype(np.float64)
        steps = np.minimum((self._sharpness or 1.0) * d, MAX_EXPONENT)
        steps = np.expm1(steps) if self._sharpness else steps
        costs = self._costs[near[:, 0]] + steps[:, :1]
        for j in range(1, self._k):
            np.minimum(costs, self._costs[near[:, j]] + steps[:, j : j + 1], out=costs)
        lengths = np.log1p(costs) / self._sharpness if self._sharpness else costs
        return np.exp(-self._gamma * lengths**2)

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


@dataclass(frozen=True)
class _Linear:
    """A linear function of the columns of a source, as it was fitted."""

    scales: NDArray[Any]
    unit_rows: bool
    weights: NDArray[Any]
    offset: NDArray[Any]

    @classmethod
    def of(cls, function: LinearOutputs) -> "_Linear":
        kernel, weights = function.kernel, to_host(function.weights)
        scales = np.ones(weights.shape[0])
        if kernel._scales is not None:
            scales = np.asarray(to_host(kernel._scales), dtype=np.float64)
        return cls(scales, kernel._unit_rows, weights, to_host(function.offset))

    @property
    def scaled(self) -> NDArray[Any]:
        """Weights of the columns before they are scaled."""
        return self.scales[:, None] * self.weights


def _total(functions: Sequence[_Linear]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Weights and offset of a sum."""
    weights = np.zeros(
        (max(f.scales.size for f in functions), functions[0].offset.size)
    )
    for function in functions:
        weights[: function.scales.size] += function.scaled
    return weights, np.sum([f.offset for f in functions], axis=0)


def _reachable(thing: Any, seen: set[int]) -> Iterator[Any]:
    """Walk through functions, candidates and sources."""
    if isinstance(thing, list | tuple):
        for part in thing:
            yield from _reachable(part, seen)
    elif isinstance(thing, Candidate | Outputs | Source) and id(thing) not in seen:
        seen.add(id(thing))
        yield thing
        yield from _reachable(list(vars(thing).values()), seen)


class Compactor:
    """Makes functions of new rows small.

    Parameters
    ----------
    functions : list of Outputs
        All functions of a bank that are to be kept.
    n_rows : int
        Distinct training rows.
    """

    def __init__(self, functions: list[Outputs], n_rows: int) -> None:
        self._rounds = n_rows > EXACT_ROWS
        # What takes the place of a source, or is its copy; and arrays that are shared.
        self._copies: dict[int, Any] = {}
        self._arrays: dict[Any, Any] = {}
        self._graphs: dict[int, Edges] = {}
        found = list(_reachable(functions, set()))
        self._rows = next((s for s in found if isinstance(s, Rows)), None)
        self._replace_components(found)
        self._neighbors = next((s for s in found if isinstance(s, Neighbors)), None)
        if self._neighbors is not None:
            self._index = self._copies[id(self._neighbors)] = self._indexed()

    def _single(self, A: Any) -> Any:
        return A.astype(np.float32) if self._rounds else A

    def _replace_components(self, found: list[Any]) -> None:
        """Keep of the principal components those that somebody searches or splits."""
        for components in (s for s in found if isinstance(s, Components)):
            needed = [0]
            for user in found:
                if isinstance(user, Leading) and user._components is components:
                    needed.append(user.n_columns)
                elif isinstance(user, Beside):
                    needed += [n for source, n in user._parts if source is components]
                elif isinstance(user, ColumnOutputs):
                    if user.kernel._source is components:
                        needed.append(user.ends.shape[1])
            matrix, offset = (to_host(part) for part in components.affine())
            self._copies[id(components)] = Affine(
                matrix[:, : max(needed)], offset[: max(needed)]
            )

    def _indexed(self) -> Index:
        """Neighbours of new rows, among rows that are rounded as far as is safe."""
        neighbors: Any = self._neighbors
        leading = lean_copy(neighbors._leading, self._copies)
        A = np.asarray(to_host(neighbors._searched))
        searched: Any = Plain(A)
        if self._rounds:
            distances = self.training_neighbors()[0][:, 0]
            nearest = np.median(distances[distances > 0]) if distances.any() else 0.0
            span = A.max(axis=0).astype(np.float64) - A.min(axis=0)
            error = np.sqrt(np.sum((span / np.iinfo(np.uint16).max) ** 2) / 12)
            if error <= MAX_ROUNDING * nearest:
                searched = Rounded.by_column(A, np.uint16)
            elif A.dtype == np.float64:
                searched = Plain(A.astype(np.float32))
        return Index(leading, searched, neighbors._n_neighbors, neighbors._options)

    def training_neighbors(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """Neighbours of the training rows, of which a copy of a bank knows nothing."""
        neighbors: Any = self._neighbors
        if neighbors.train is None:
            neighbors.train = neighbors._index().kneighbors(neighbors._n_neighbors)
        return to_host(neighbors.train)

    def compact(self, functions: list[Outputs], changed: Changed | None) -> list[Any]:
        """Make functions of one model small, and see that answers stay as they were."""
        linear: dict[int, tuple[Source, list[_Linear]]] = {}
        sums: dict[Any, list[ColumnOutputs]] = {}
        done: list[Any] = []
        forests: list[GrownForest] = []
        for function in functions:
            if isinstance(function, LinearOutputs):
                source = function.kernel._source
                _, group = linear.setdefault(id(source), (source, []))
                group.append(_Linear.of(function))
            elif isinstance(function, ColumnOutputs):
                kernel = function.kernel
                key = (id(kernel._source), kernel._n_columns, function.key)
                sums.setdefault(key, []).append(function)
            elif isinstance(function, GrownForest):
                forests.append(function)
            else:
                done.append(lean_copy(function, self._copies))
        done += [self._kernel_sum(group) for group in sums.values()]
        choices: list[list[Form]] = []
        for source, group in self._folded(linear, done):
            if isinstance(source, GraphVectors):
                choices.append(self._graph_forms(source, group))
            elif isinstance(source, Geodesics):
                choices.append(self._path_forms(source, group))
            else:
                done += self._plain_forms(source, group)
        if forests:
            choices.append(self._forest_forms(forests))
        return done + self._settled(done, choices, changed)

    def _folded(
        self, linear: dict[int, tuple[Source, list[_Linear]]], done: list[Any]
    ) -> Iterator[tuple[Source, list[_Linear]]]:
        """Multiply out what is linear in the rows, or in kernel values of landmarks."""
        rest: list[tuple[Source, list[_Linear]]] = []
        folded: dict[int, tuple[Source, list[_Linear]]] = {}

        def add(source: Source, weights: NDArray[Any], offset: Any) -> None:
            ones = np.ones(weights.shape[0])
            _, group = folded.setdefault(id(source), (source, []))
            group.append(_Linear(ones, False, weights, offset))

        for source, group in linear.values():
            if any(f.unit_rows for f in group) or not isinstance(
                source, LinearFeatures | Nystrom | Components | Rows
            ):
                rest.append((source, group))
            elif isinstance(source, LinearFeatures):
                weights, offset = _total(group)
                below, weights, more = source.folded(weights)
                add(below, to_host(weights), offset + to_host(more))
            elif isinstance(source, Nystrom):
                weights, offset = _total(group)
                ends, gamma, coef, more = (to_host(p) for p in source.folded(weights))
                done.append(
                    KernelSum(
                        lean_copy(self._rows, self._copies),
                        None,
                        [gamma],
                        self._single(ends),
                        [coef],
                        None,
                        offset + more,
                    )
                )
            else:
                add(source, *_total(group))
        for source, group in list(folded.values()):
            if isinstance(source, Components) and self._rows is not None:
                weights, offset = _total(group)
                matrix, moved = (to_host(p).astype(np.float64) for p in source.affine())
                matrix, moved = matrix[:, : len(weights)], moved[: len(weights)]
                del folded[id(source)]
                add(self._rows, matrix @ weights, offset - moved @ weights)
        yield from rest
        yield from folded.values()

    def _plain_forms(self, source: Source, group: list[_Linear]) -> list[Outputs]:
        copied = lean_copy(source, self._copies)
        if isinstance(copied, Clusters):
            copied._centres = self._single(to_host(copied._centres))
        return _linear_sums(copied, group, self._single)

    def _kernel_sum(self, group: list[ColumnOutputs]) -> KernelSum:
        kernel, key = group[0].kernel, group[0].key
        place = (id(kernel._source), kernel._n_columns)
        for name, rows in (("ends", group[0].ends), ("anchors", kernel.anchors)):
            if (*place, name, key) not in self._arrays:
                self._arrays[*place, name, key] = self._single(to_host(rows))
        return KernelSum(
            lean_copy(kernel._source, self._copies),
            kernel._n_columns,
            [f.kernel._gamma for f in group],
            self._arrays[*place, "ends", key],
            [to_host(f.coef) for f in group],
            self._arrays[*place, "anchors", key],
            np.sum([to_host(f.offset) for f in group], axis=0),
        )

    def _edges(self, graph: GraphVectors) -> Edges:
        if id(graph) not in self._graphs:
            self._graphs[id(graph)] = Edges(self._index, graph)
        return self._graphs[id(graph)]

    def _graph_forms(self, graph: GraphVectors, group: list[_Linear]) -> list[Form]:
        """List the forms of functions on a graph, the smallest first."""
        edges, gain = self._edges(graph), _gain(graph)
        n_columns = max(f.scales.size for f in group)

        def kept(pack: Callable[[NDArray[Any]], Any]) -> list[Outputs]:
            vectors = pack(_vectors(graph, n_columns))
            source = KeptVectors(edges, vectors, gain[:n_columns])
            return _linear_sums(source, group, np.asarray)

        if not self._rounds:
            return [lambda: kept(Plain)]
        per_column = (graph.scaled(20)[:n_columns] + 0.1) ** 0.75
        forms: list[Form] = [
            lambda: kept(partial(Rounded.by_row, per_column=per_column)),
            lambda: kept(Rounded.half),
            lambda: kept(Plain.single),
        ]
        # In half precision, two numbers of every target for every row.
        if 4 * group[0].offset.size < n_columns:
            forms.insert(0, lambda: [self._graph_means(graph, group)])
        return forms

    def _graph_means(self, graph: GraphVectors, group: list[_Linear]) -> GraphMeans:
        """Take sums of linear functions, and means of those of rows of length one."""
        edges, gain = self._edges(graph), _gain(graph)
        n_columns = max(f.scales.size for f in group)
        U = _vectors(graph, n_columns) / gain[:n_columns] / edges.roots[:, None]
        linear = [f for f in group if not f.unit_rows]
        unit = [f for f in group if f.unit_rows]
        sums = means = pull = None
        if linear:
            weights, _ = _total(linear)
            sums = _half(U[:, : len(weights)] @ weights)
        if unit:
            views = [U[:, : f.scales.size] * f.scales for f in unit]
            lengths = [np.sqrt(np.einsum("ij,ij->i", H, H)) for H in views]
            pull = sum(
                np.linalg.norm(f.weights) * n / (n.mean() or 1.0)
                for f, n in zip(unit, lengths, strict=True)
            ).astype(np.float32)
            w, near = self._trial(COHERENCE_ROWS)[edges]
            w = _shares(w * pull[near])
            means = np.zeros((U.shape[0], group[0].offset.size))
            for f, H, n in zip(unit, views, lengths, strict=True):
                H /= np.where(n > 1e-12, n, 1.0)[:, None]
                # A mean of directions is shorter than one.
                mean = _averages(w, near, H)
                coherence = np.sqrt(np.einsum("ij,ij->i", mean, mean)).mean()
                means += H @ f.weights / (coherence or 1.0)
            means = _half(means)
        offset = np.sum([f.offset for f in group], axis=0)
        return GraphMeans(edges, sums, means, pull, offset)

    def _path_forms(self, paths: Geodesics, group: list[_Linear]) -> list[Form]:
        """List the forms of functions of path lengths, the smallest first."""
        weights, offset = _total(group)

        def kept(pack: Callable[[NDArray[Any]], Any]) -> list[Outputs]:
            source = KeptPaths(self._index, paths, pack(KeptPaths.lengths(paths)))
            return [LinearSum(source, None, to_host(paths._M) @ weights, offset)]

        if not self._rounds:
            return [lambda: kept(Plain)]

        def means() -> list[Outputs]:
            values = _half(to_host(paths.train) @ weights + offset)
            return [PathMeans(self._index, paths._k, paths._unit, values)]

        return [
            means,
            lambda: kept(partial(Rounded.by_column, integer=np.uint8)),
            lambda: kept(partial(Rounded.by_column, integer=np.uint16)),
            lambda: kept(Plain.single),
        ]

    def _forest_forms(self, forests: list[GrownForest]) -> list[Form]:
        """List the forms of forests, which differ in what they see of graphs."""
        found = [s for s in _reachable(forests, set()) if isinstance(s, Beside)]
        parts = [(g, n) for s in found for g, n in s._parts]
        seen: dict[int, tuple[GraphVectors, int]] = {}
        for graph, n in parts:
            if isinstance(graph, GraphVectors):
                seen[id(graph)] = graph, max(n, seen.get(id(graph), (graph, 0))[1])

        def packed(pack: Callable[[NDArray[Any]], Any]) -> list[Outputs]:
            copies = dict(self._copies)
            for graph, n in seen.values():
                copies[id(graph)] = KeptVectors(
                    self._edges(graph), pack(_vectors(graph, n)), _gain(graph)[:n]
                )
            return [
                PackedForest(f, lean_copy(f.source, copies), self._rounds)
                for f in forests
            ]

        if not self._rounds or not seen:
            return [lambda: packed(Plain)]
        return [
            lambda: packed(partial(Rounded.by_column, integer=np.uint8)),
            lambda: packed(Rounded.half),
            lambda: packed(Plain.single),
        ]

    def _trial(self, n_rows: int) -> View:
        """Look at training rows as if they were new: not their own neighbours."""
        rows: Any = self._rows
        n = rows.train.shape[0]
        sample = np.unique(np.linspace(0, n - 1, min(n, n_rows)).astype(np.intp))
        found = tuple(part[sample] for part in self.training_neighbors())
        return View(rows=to_host(rows.train[sample]), known={self._index: found})

    def _settled(
        self, done: list[Any], choices: list[list[Form]], changed: Changed | None
    ) -> list[Any]:
        """Take the smallest forms that leave answers as they are."""
        settled = [forms[-1]() for forms in choices]
        if changed is not None and any(len(forms) > 1 for forms in choices):
            view = self._trial(TRIAL_ROWS)
            parts = [total_outputs(form, view) for form in settled]
            total = np.sum(parts, axis=0)
            if done:
                total = total + total_outputs(done, view)
            moved = np.zeros_like(total)
            for place, forms in enumerate(choices):
                for form in forms[:-1]:
                    tried = form()
                    step = total_outputs(tried, view) - parts[place]
                    if changed(total, total + moved + step) <= MAX_CHANGED:
                        settled[place], moved = tried, moved + step
                        break
        return [function for form in settled for function in form]


def _linear_sums(
    source: Source, group: list[_Linear], store: Callable[[Any], Any]
) -> list[Outputs]:
    """Add up linear functions of a source, but not those of rows of length one."""
    linear = [f for f in group if not f.unit_rows]
    sums: list[Outputs] = [
        LinearSum(source, f.scales, f.weights, f.offset) for f in group if f.unit_rows
    ]
    if linear:
        weights, offset = _total(linear)
        sums.append(LinearSum(source, None, store(weights), offset))
    return sums


def _gain(graph: GraphVectors) -> NDArray[Any]:
    return np.maximum(1 - to_host(graph.eigenvalues), MIN_GAIN)


def _vectors(graph: GraphVectors, n_columns: int) -> NDArray[Any]:
    return np.asarray(to_host(graph.train))[:, :n_columns]


def _half(A: NDArray[Any]) -> NDArray[Any]:
    """Round to half precision, unless numbers are too large for that."""
    return A.astype(np.float16 if np.abs(A).max(initial=0.0) < 6e4 else np.float32)
