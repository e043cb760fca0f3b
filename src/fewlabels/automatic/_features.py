"""Explicit features: of a column, of Gaussian kernels from landmarks, and linear."""

# SPDX-License-Identifier: BSD-3-Clause

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewlabels._backend import NUMPY, Backend, backend_of, to_host
from fewlabels.automatic import _tuned as tuned
from fewlabels.automatic._candidates import Form
from fewlabels.automatic._compact import Compactor, LinearPart, summed_weights
from fewlabels.automatic._kernels import KernelSum
from fewlabels.automatic._sources import LazySource, Source, View, column_sums
from fewlabels.automatic._views import Rows
from fewlabels.kernels import nystrom_map


class _Landmarks(Source):
    """Features of a Gaussian kernel from landmarks.

    Parameters
    ----------
    landmarks : {ndarray, csr_array} of shape (n_landmarks, n_columns)
        The landmarks, on the backend of the rows.
    gamma : float
        Parameter of the kernel.
    backend : Backend
        Where to store the features.
    """

    def __init__(self, landmarks: Any, gamma: float, backend: Backend) -> None:
        self._landmarks, self._gamma = landmarks, gamma
        K = to_host(self._kernel(landmarks))
        # Keep eigenvalues that are distinguishable from zero in single precision.
        self._M = backend.asarray(nystrom_map(K, tol=1e-7))

    def _kernel(self, rows: Any) -> Any:
        b = backend_of(rows)
        return b.xp.exp(-self._gamma * b.squared_distances(rows, self._landmarks))

    def _features(self, rows: Any) -> Any:
        b = backend_of(self._M)
        return b.over_rows(
            lambda batch: b.asarray(self._kernel(rows[batch])) @ self._M, rows.shape[0]
        )


class OneColumn(_Landmarks, LazySource):
    """Features of a Gaussian kernel on the values of one table column.

    A numeric column gets landmarks at its quantiles; a column with several features,
    such as categories, keeps them.

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
            gamma = 0.5 / (tuned.COLUMN_WIDTH**2 * (float(values.var()) or 1.0))
            b = backend_of(rows.train)
            super().__init__(b.asarray(np.unique(quantiles)[:, None]), gamma, b)

    def columns(self, of: Callable[[Source], Any]) -> NDArray[Any]:
        """Compute the features."""
        Z = of(self._rows)[:, self._places]
        if not self._is_number:
            return Z
        return self._features(backend_of(Z).astype(Z, np.float64))


class Nystrom(_Landmarks):
    """Centred features of the Gaussian kernel from landmarks, and a constant.

    Parameters
    ----------
    rows : Source
        Source of the scaled rows.
    landmarks : ndarray of int
        The landmarks among the training rows.
    gamma : float
        Parameter of the kernel.
    backend : Backend
        Where to store the features.
    """

    def __init__(
        self,
        rows: Source,
        landmarks: NDArray[Any],
        gamma: float,
        backend: Backend = NUMPY,
    ) -> None:
        super().__init__(rows.train[landmarks], gamma, backend)
        self._rows = rows
        Z = self._features(rows.train)
        self.train, self._mean, self._unit = _normalised(Z)

    def new(self, view: View) -> Any:
        Z = (self._features(view[self._rows]) - self._mean) / self._unit
        return _with_constant(Z)

    def linear_forms(
        self, parts: Sequence[LinearPart], compactor: Compactor
    ) -> list[Form]:
        """Rewrite a linear function of the features as a sum of kernel values."""
        weights, offset = summed_weights(parts)
        scaled = weights[:-1] / np.asarray(to_host(self._unit))
        coef = to_host(self._M).astype(np.float64) @ scaled
        offset = offset + weights[-1] - to_host(self._mean) @ scaled
        return [
            lambda: [
                KernelSum(
                    compactor.copy_of(self._rows),
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
        self, weights: NDArray[Any], offset: NDArray[Any], compactor: Compactor
    ) -> tuple[Source, NDArray[Any], NDArray[Any]]:
        """Rewrite a function of the features as one of the components."""
        scaled = weights[:-1] / np.asarray(to_host(self._unit))
        offset = offset + weights[-1] - to_host(self._mean) @ scaled
        return self._components, scaled, offset


def _with_constant(Z: Any) -> Any:
    xp = backend_of(Z).xp
    return xp.concat([Z, xp.ones_like(Z[:, :1])], axis=1)


def _normalised(Z: Any) -> tuple[Any, Any, float]:
    """Features whose centred kernel has mean diagonal 1, and a constant column."""
    b, n = backend_of(Z), Z.shape[0]
    xp = b.xp
    mean = b.astype(column_sums(Z) / n, b.dtype(Z))

    def squares(batch: slice) -> float:
        centred = xp.linalg.vecdot(Z[batch] - mean, Z[batch] - mean)
        return float(xp.sum(centred, dtype=xp.float64))

    unit = math.sqrt(math.fsum(b.each_batch(squares, n)) / n) or 1.0
    normal = b.over_rows(lambda batch: _with_constant((Z[batch] - mean) / unit), n)
    return normal, mean, unit
