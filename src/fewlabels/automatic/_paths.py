"""Lengths of paths through a neighbour graph."""

# SPDX-License-Identifier: BSD-3-Clause

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewlabels._backend import backend_of, to_host
from fewlabels._linalg import inverse_square_root
from fewlabels.automatic import _tuned as tuned
from fewlabels.automatic._candidates import Form, Outputs
from fewlabels.automatic._compact import (
    Compactor,
    LinearPart,
    LinearSum,
    Plain,
    Rounded,
    half,
    summed_weights,
)
from fewlabels.automatic._packed_graphs import averages, shares
from fewlabels.automatic._shortest_paths import shortest_paths
from fewlabels.automatic._sources import Source, View
from fewlabels.graphs import auto_bandwidth, heat_weights

# Rows from which the median path length is estimated.
LENGTH_ROWS = 10_000
# exp(50) is still far from the largest float32.
MAX_EXPONENT = 50.0
# Packed lengths are cut at this many kernel widths, beyond which the kernel is zero.
LONGEST = 8.0


class PathKernel(Source):
    """A Gaussian kernel on path lengths to landmarks.

    Parameters
    ----------
    neighbors : Source
        The neighbour search.
    k : int
        Number of neighbours.
    sharpness : float
        Zero uses plain path lengths. Otherwise a step of length d (in units of the mean
        length) costs ``exp(sharpness * d) - 1``, so that paths avoid long steps across
        empty regions; the inverse function turns the total cost back into a length.
    """

    _costs: Any  # from every training row to every landmark
    _unit: float
    _gamma: float

    def __init__(self, neighbors: Source, k: int, sharpness: float) -> None:
        self._neighbors = neighbors
        self._k = k
        self._sharpness = sharpness

    def _steps(self, distances: Any) -> Any:
        b = backend_of(distances)
        # A step of length zero would not count as an edge.
        d = b.xp.clip(b.astype(distances, np.float64) / self._unit, 1e-6, None)
        if self._sharpness == 0:
            return b.xp.clip(d, None, MAX_EXPONENT)
        return b.xp.expm1(b.xp.clip(self._sharpness * d, None, MAX_EXPONENT))

    def _lengths(self, costs: Any) -> Any:
        xp = backend_of(costs).xp
        return xp.log1p(costs) / self._sharpness if self._sharpness else costs

    def _kernel(self, costs: Any) -> Any:
        return backend_of(costs).xp.exp(-self._gamma * self._lengths(costs) ** 2)

    def _new_costs(self, view: View) -> Any:
        """Costs of new rows: one step to a neighbour plus the neighbour's cost."""
        distances, indices = view[self._neighbors]
        xp = backend_of(distances).xp
        steps = self._steps(distances[:, : self._k])
        costs = self._costs[indices[:, 0]] + steps[:, :1]
        for j in range(1, self._k):
            other = self._costs[indices[:, j]] + steps[:, j : j + 1]
            costs = xp.minimum(costs, other)
        return costs


class Geodesics(PathKernel):
    """Nyström features of a Gaussian kernel on path lengths to landmarks.

    Parameters
    ----------
    neighbors : Neighbors
        The neighbour search.
    k : int
        Number of neighbours.
    landmarks : ndarray of int
        Rows at which paths start.
    sharpness : float
        Sharpness of the step costs, see :class:`PathKernel`.
    """

    def __init__(
        self,
        neighbors: Source,
        k: int,
        landmarks: NDArray[Any],
        sharpness: float,
    ) -> None:
        super().__init__(neighbors, k, sharpness)
        distances, indices = (part[:, :k] for part in neighbors.train)
        b = backend_of(distances)
        self._unit = auto_bandwidth(to_host(distances))
        self._costs = shortest_paths(self._steps(distances), indices, landmarks)
        n = self._costs.shape[0]
        lengths = self._lengths(self._costs[:: -(-n // LENGTH_ROWS)])
        finite = lengths[b.xp.isfinite(lengths) & (lengths > 0)]
        width = tuned.GEODESIC_WIDTH * b.median(finite) if finite.shape[0] else 1.0
        self._gamma = 0.5 / width**2
        K = to_host(self._kernel(self._costs[landmarks]))
        self._M = b.asarray(inverse_square_root((K + K.T) / 2, tol=1e-2))
        self.train = b.over_rows(
            lambda batch: self._features(self._costs[batch], b.dtype(distances)), n
        )

    def _features(self, costs: Any, dtype: Any) -> Any:
        return backend_of(costs).astype(self._kernel(costs) @ self._M, dtype)

    def linear_forms(
        self, parts: Sequence[LinearPart], compactor: Compactor
    ) -> list[Form]:
        """Pack the lengths in several ways, or use means over neighbours instead."""
        weights, offset = summed_weights(parts)
        index = compactor.copy_of(self._neighbors)
        longest = LONGEST * (0.5 / self._gamma) ** 0.5

        def packed(pack: Callable[[NDArray[Any]], Any]) -> list[Outputs]:
            lengths = np.minimum(to_host(self._lengths(self._costs)), longest)
            source = PackedPaths(
                index, self._k, self._sharpness, self._unit, self._gamma, pack(lengths)
            )
            return [LinearSum(source, None, to_host(self._M) @ weights, offset)]

        if not compactor.rounds:
            return [lambda: packed(Plain)]

        def means() -> list[Outputs]:
            values = half(to_host(self.train) @ weights + offset)
            return [PathMeans(index, self._k, self._unit, values)]

        return [
            means,
            lambda: packed(partial(Rounded.by_column, integer=np.uint8)),
            lambda: packed(partial(Rounded.by_column, integer=np.uint16)),
            lambda: packed(Plain.single),
        ]

    def new(self, view: View) -> Any:
        distances = view[self._neighbors][0]
        dtype = backend_of(distances).dtype(distances)
        return self._features(self._new_costs(view), dtype)


class PackedPaths(PathKernel):
    """Gaussian kernel on path lengths to landmarks, see :class:`Geodesics`.

    Parameters
    ----------
    neighbors, k, sharpness
        See :class:`PathKernel`.
    unit, gamma : float
        Unit of lengths, and parameter of the kernel.
    lengths : Rounded or Plain
        Lengths from the landmarks to the training rows.
    """

    def __init__(
        self,
        neighbors: Source,
        k: int,
        sharpness: float,
        unit: float,
        gamma: float,
        lengths: Any,
    ) -> None:
        super().__init__(neighbors, k, sharpness)
        self._unit, self._gamma = unit, gamma
        self._packed = lengths

    @cached_property
    def _costs(self) -> NDArray[Any]:
        lengths = self._packed.array
        return np.expm1(self._sharpness * lengths) if self._sharpness else lengths

    def new(self, view: View) -> NDArray[Any]:
        return self._kernel(self._new_costs(view))

    def __getstate__(self) -> dict[str, Any]:
        return {name: part for name, part in vars(self).items() if name != "_costs"}


@dataclass(frozen=True)
class PathMeans(Outputs):
    """Functions of path lengths as means of their values at the neighbours."""

    index: Source
    n_neighbors: int
    bandwidth: float
    means: NDArray[Any]

    def __call__(self, view: View) -> NDArray[Any]:
        d, near = (part[:, : self.n_neighbors] for part in view[self.index])
        # A row far from all others gets the value of its nearest neighbour.
        w = heat_weights(d - d[:, :1], self.bandwidth).astype(d.dtype, copy=False)
        return averages(shares(w), near, self.means.astype(w.dtype))
