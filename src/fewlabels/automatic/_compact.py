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
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewlabels._backend import to_host
from fewlabels.automatic import _tuned as tuned
from fewlabels.automatic._candidates import Candidate, Outputs, lean_copy, total_outputs
from fewlabels.automatic._clusters import Clusters
from fewlabels.automatic._components import Components, Leading
from fewlabels.automatic._features import LinearFeatures, Nystrom
from fewlabels.automatic._forest import GrownForest
from fewlabels.automatic._graphs import GraphVectors, Neighbors
from fewlabels.automatic._kept import (
    Affine,
    Edges,
    GraphMeans,
    Index,
    KeptPaths,
    KeptVectors,
    KernelSum,
    LinearSum,
    PackedForest,
    PathMeans,
    Plain,
    Rounded,
    averages,
    shares,
)
from fewlabels.automatic._kernels import ColumnOutputs, LinearOutputs
from fewlabels.automatic._paths import Geodesics
from fewlabels.automatic._sources import Beside, Rows, Source, View

# Up to so many distinct rows nothing is rounded.
EXACT_ROWS = 1000
# Training rows on which a form of a graph is tried, and how many of their answers it
# may change; for numbers, the root of the mean squared change in standard deviations.
TRIAL_ROWS = 4000
MAX_CHANGED = 7.5e-4
# Rounding errors of rows may be this share of the distance to the nearest neighbour.
MAX_ROUNDING = 1e-3

# Rows on which the length of a mean of directions is measured.
COHERENCE_ROWS = 500

# How many answers two outputs differ in, as a share.
Changed = Callable[[NDArray[Any], NDArray[Any]], float]
Form = Callable[[], list[Outputs]]


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
            w = shares(w * pull[near])
            means = np.zeros((U.shape[0], group[0].offset.size))
            for f, H, n in zip(unit, views, lengths, strict=True):
                H /= np.where(n > 1e-12, n, 1.0)[:, None]
                # A mean of directions is shorter than one.
                mean = averages(w, near, H)
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
    return np.maximum(1 - to_host(graph.eigenvalues), tuned.MIN_GAIN)


def _vectors(graph: GraphVectors, n_columns: int) -> NDArray[Any]:
    return np.asarray(to_host(graph.train))[:, :n_columns]


def _half(A: NDArray[Any]) -> NDArray[Any]:
    """Round to half precision, unless numbers are too large for that."""
    return A.astype(np.float16 if np.abs(A).max(initial=0.0) < 6e4 else np.float32)
