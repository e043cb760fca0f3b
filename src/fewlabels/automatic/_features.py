"""Features of kernels: a column's, Gaussian ones from landmarks, linear ones."""

# SPDX-License-Identifier: BSD-3-Clause

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fewlabels._backend import NUMPY, Backend, backend_of, to_host
from fewlabels._linalg import inverse_square_root
from fewlabels.automatic import _tuned as tuned
from fewlabels.automatic._candidates import Form
from fewlabels.automatic._kernels import KernelSum
from fewlabels.automatic._linear import LinearPart, total
from fewlabels.automatic._sources import LazySource, Rows, Source, View, column_sums

if TYPE_CHECKING:
    from fewlabels.automatic._compact import Compactor


class OneColumn(LazySource):
    """One column of a table: features of a Gaussian kernel of its values.

    A number gets the features of landmarks at its quantiles; a column with several
    features, such as categories, keeps them.

    Parameters
    ----------
    rows : Rows
        The scaled rows.
    places : ndarray of int
        Features of the column.
    """

    def __init__(self, rows: Rows, places: NDArray[np.intp]) -> None:
        self._rows = rows
        self._places = places
        self.n_rows = rows.train.shape[0]
        self._is_number = places.size == 1
        if self._is_number:
            values = to_host(rows.train[:, places[0]]).astype(np.float64)
            quantiles = np.quantile(values, np.linspace(0, 1, tuned.COLUMN_LANDMARKS))
            self._landmarks = np.unique(quantiles)
            self._gamma = 0.5 / (tuned.COLUMN_WIDTH**2 * (float(values.var()) or 1.0))
            K = self._kernel(self._landmarks)
            self._M = inverse_square_root(K, tol=1e-7)

    def _kernel(self, values: NDArray[Any]) -> NDArray[np.float64]:
        b = backend_of(values)
        steps = values[:, None] - b.asarray(self._landmarks)
        return b.xp.exp(-self._gamma * steps**2)

    def columns(self, of: Callable[[Source], Any]) -> NDArray[Any]:
        """Compute the features."""
        Z = of(self._rows)[:, self._places]
        if not self._is_number:
            return Z
        b = backend_of(Z)
        return self._kernel(b.astype(Z[:, 0], np.float64)) @ b.asarray(self._M)


class Nystrom(Source):
    """Centred features of the Gaussian kernel from landmarks, and a constant.

    Parameters
    ----------
    rows : Source
        Source of the scaled rows.
    landmarks : ndarray of int
        The landmarks among the training rows.
    gamma : float
        Of the kernel.
    backend : Backend
        Where the features shall live.
    """

    def __init__(
        self,
        rows: Source,
        landmarks: NDArray[Any],
        gamma: float,
        backend: Backend = NUMPY,
    ) -> None:
        self._gamma = gamma
        self._landmarks = rows.train[landmarks]
        K = to_host(self._kernel(self._landmarks))
        # Eigenvalues that single precision can still tell from zero.
        self._M = backend.asarray(inverse_square_root((K + K.T) / 2, tol=1e-7))
        Z = self._features(rows.train)
        self.train, self._mean, self._unit = _normalised(Z)

    def _kernel(self, rows: Any) -> Any:
        b = backend_of(rows)
        return b.xp.exp(-self._gamma * b.squared_distances(rows, self._landmarks))

    def _features(self, rows: Any) -> Any:
        b = backend_of(self._M)
        return b.over_rows(
            lambda batch: b.asarray(self._kernel(rows[batch])) @ self._M, rows.shape[0]
        )

    def new(self, view: View) -> Any:
        Z = (self._features(view.rows) - self._mean) / self._unit
        return _with_constant(Z)

    def linear_forms(
        self, parts: Sequence[LinearPart], compactor: "Compactor"
    ) -> list[Form]:
        """Make a linear function of the features a sum of kernel values."""
        weights, offset = total(parts)
        scaled = weights[:-1] / np.asarray(to_host(self._unit))
        coef = to_host(self._M).astype(np.float64) @ scaled
        offset = offset + weights[-1] - to_host(self._mean) @ scaled
        return [
            lambda: [
                KernelSum(
                    compactor.copy_of(compactor.rows),
                    None,
                    [self._gamma],
                    compactor.single(to_host(self._landmarks)),
                    [coef],
                    None,
                    offset,
                )
            ]
        ]


class LinearFeatures(Source):
    """Components on the scale of a normalised kernel, and a constant.

    Parameters
    ----------
    components : Source
        Source of the components.
    """

    def __init__(self, components: Source) -> None:
        self._components = components
        self.train, self._mean, self._unit = _normalised(components.train)

    def new(self, view: View) -> NDArray[Any]:
        Z = view[self._components]
        return _with_constant((Z - self._mean) / self._unit)

    def reads(self) -> list[tuple[Source, int]]:
        return [(self._components, 0)]  # functions of these are folded

    def folded(
        self, weights: NDArray[Any], offset: NDArray[Any], compactor: "Compactor"
    ) -> tuple[Source, NDArray[Any], NDArray[Any]]:
        """Make a function of the features one of the components."""
        scaled = weights[:-1] / np.asarray(to_host(self._unit))
        offset = offset + weights[-1] - to_host(self._mean) @ scaled
        return self._components, scaled, offset


def _with_constant(Z: Any) -> Any:
    xp = backend_of(Z).xp
    return xp.concat([Z, xp.ones_like(Z[:, :1])], axis=1)


def _normalised(Z: Any) -> tuple[Any, Any, float]:
    """Features with centred kernel of mean diagonal 1, and a constant beside them."""
    b, n = backend_of(Z), Z.shape[0]
    xp = b.xp
    mean = b.astype(column_sums(Z) / n, b.dtype(Z))

    def squares(batch: slice) -> float:
        centred = xp.linalg.vecdot(Z[batch] - mean, Z[batch] - mean)
        return float(xp.sum(centred, dtype=xp.float64))

    unit = math.sqrt(math.fsum(b.each_batch(squares, n)) / n) or 1.0
    normal = b.over_rows(lambda batch: _with_constant((Z[batch] - mean) / unit), n)
    return normal, mean, unit
