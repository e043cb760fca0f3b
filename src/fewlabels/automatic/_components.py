"""Principal components of the rows, and the leading ones."""

# SPDX-License-Identifier: BSD-3-Clause

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.isotonic import isotonic_regression

from fewlabels._backend import NUMPY, Backend, backend_of, to_host
from fewlabels.automatic import _tuned as tuned
from fewlabels.automatic._sources import Source, View, column_sums

if TYPE_CHECKING:
    from fewlabels.automatic._compact import Compactor


class Components(Source):
    """Principal components, from the covariance or by a randomised sketch.

    Rows used to find the directions lie further out along them than new rows of the
    same kind, much further if there are more columns than rows. New rows are therefore
    stretched by the shortfall measured on held-out rows, so that they find the correct
    neighbours.

    Parameters
    ----------
    source : Source
        The scaled rows.
    n_components : int
        The largest number of components.
    rng : RandomState
        Generator for the sketch and the held-out rows.
    backend : Backend
        Where to store the components.
    """

    COVARIANCE_COLUMNS = 2000
    SAMPLED_ROWS = 20_000
    # Share of rows held out, and the smallest useful number of them.
    HELD_OUT = 0.2
    MIN_HELD_OUT = 20

    def __init__(
        self, source: Source, n_components: int, rng: Any, backend: Backend = NUMPY
    ) -> None:
        self._rows, rows = source, source.train
        b = backend_of(rows)
        mean, variance, basis = self._directions(rows, n_components, rng)
        rank = min(n_components, self._n_varying(rows, variance))
        dtype = b.dtype(rows)
        self._basis = b.asarray(basis[:, :rank], dtype)
        self._offset = b.asarray(mean @ basis[:, :rank], dtype)
        self.deviations = np.sqrt(variance[:rank])
        self._stretch = backend.asarray(np.ones(rank), dtype)
        self.train = self._project(rows)
        self._stretch = backend.asarray(self._missing(rows, rng), dtype)

    @staticmethod
    def _n_varying(rows: Any, variance: NDArray[Any]) -> int:
        """Count the variances, in descending order, that exceed rounding errors."""
        floor = 1e-10 if backend_of(rows).dtype(rows) == np.float64 else 1e-6
        return int(np.count_nonzero(variance > floor * variance.max(initial=0.0)))

    def _directions(
        self, rows: Any, n_components: int, rng: Any
    ) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        """Compute the mean, and variances and directions in descending order."""
        n, d = rows.shape
        if issparse(rows):
            mean = np.asarray(rows.mean(axis=0), dtype=np.float64).ravel()
        else:
            mean = to_host(column_sums(rows)) / n
        if issparse(rows) or d > self.COVARIANCE_COLUMNS or d > 2 * n:
            return mean, *self._sketch(rows, mean, n_components, rng)
        chosen = np.arange(n)
        if n > self.SAMPLED_ROWS:
            chosen = rng.choice(n, self.SAMPLED_ROWS, replace=False)
        b = backend_of(rows)
        middle = b.asarray(mean, b.dtype(rows))
        centred = b.over_rows(lambda some: rows[chosen[some]] - middle, chosen.size)
        return mean, *self._falling(b.gram(centred, centred), chosen.size)

    @staticmethod
    def _falling(moments: Any, n: int) -> tuple[NDArray[Any], NDArray[Any]]:
        """Variances and directions from a matrix of products over n rows."""
        b = backend_of(moments)
        variance, basis = b.eigh(moments / n)
        return to_host(variance)[::-1], to_host(basis)[:, ::-1]

    def _sketch(
        self, rows: Any, mean: NDArray[Any], n_components: int, rng: Any
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        """Leading directions by randomised subspace iteration, centring implicitly.

        scikit-learn's `randomized_svd` takes only arrays, and sparse rows would become
        dense when centred.
        """
        n, d = rows.shape
        b = backend_of(rows)
        qr = b.xp.linalg.qr
        mean = b.asarray(mean, b.dtype(rows))
        size = min(n_components + 20, n, d)
        Q = b.standard_normal(rng.randint(2**31), (d, size), b.dtype(rows))
        for _ in range(5):
            P = qr(b.product(rows, Q, mean @ Q))[0]
            Q = qr(rows.T @ P - mean[:, None] * b.xp.sum(P, axis=0))[0]
        P = b.product(rows, Q, mean @ Q)
        variance, V = self._falling(b.gram(P, P), n)
        return variance, to_host(Q) @ V

    def _missing(self, rows: Any, rng: Any) -> NDArray[Any]:
        """Factors by which components of new rows are too short, at least 1."""
        n, rank = rows.shape[0], self.deviations.size
        n_held = int(self.HELD_OUT * n)
        stretch = np.ones(rank)
        if n_held < self.MIN_HELD_OUT or n > self.SAMPLED_ROWS:
            return stretch
        order = rng.permutation(n)
        held, rest = rows[order[:n_held]], rows[order[n_held:]]
        mean, variance, basis = self._directions(rest, rank, rng)
        # Ignore directions along which the other rows have no variance.
        found = min(rank, self._n_varying(rows, variance))
        b, basis = backend_of(rows), basis[:, :found]
        dtype = b.dtype(rows)
        lengths = held @ b.asarray(basis, dtype) - b.asarray(mean @ basis, dtype)
        square = np.mean(np.square(to_host(lengths)), axis=0, dtype=np.float64)
        shares = square / variance[:found]
        # Shares decrease along the components, and single ones are uncertain.
        shares = isotonic_regression(shares, increasing=False)
        stretch[:found] = np.clip(shares, tuned.MAX_STRETCH**-2, 1.0) ** -0.5
        stretch[found:] = stretch[found - 1] if found else 1.0
        return stretch

    def _project(self, rows: Any) -> Any:
        projected = backend_of(rows).product(rows, self._basis, self._offset)
        return backend_of(self._stretch).asarray(projected)

    def new(self, view: View) -> Any:
        return self._project(view[self._rows]) * self._stretch

    def compact(self, compactor: "Compactor") -> Source:
        """Keep only the components that a search or a forest reads."""
        n_columns = compactor.columns_of(self)
        matrix, offset = self._affine()
        rows = compactor.copy_of(self._rows)
        return Affine(rows, matrix[:, :n_columns], offset[:n_columns])

    def folded(
        self, weights: NDArray[Any], offset: NDArray[Any], compactor: "Compactor"
    ) -> tuple[Source, NDArray[Any], NDArray[Any]]:
        """Multiply out the map from rows to components."""
        matrix, moved = (
            part[..., : len(weights)].astype(np.float64) for part in self._affine()
        )
        return self._rows, matrix @ weights, offset - moved @ weights

    def _affine(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """Matrix and offset of the map ``rows @ matrix - offset`` of new rows."""
        parts = (self._basis, self._offset, self._stretch)
        basis, offset, stretch = (np.asarray(to_host(part)) for part in parts)
        return basis * stretch, offset * stretch


class Leading(Source):
    """The leading components, on which distances are most meaningful."""

    def __init__(self, components: Components, n_columns: int) -> None:
        self._components = components
        self.n_columns = n_columns
        leading = components.train[:, :n_columns]
        self.train = backend_of(leading).contiguous(leading)

    def reads(self) -> list[tuple[Source, int]]:
        return [(self._components, self.n_columns)]

    def new(self, view: View) -> Any:
        return view[self._components][:, : self.n_columns]


class Affine(Source):
    """A linear map of rows minus an offset, such as principal components.

    Parameters
    ----------
    rows : Source
        The scaled rows.
    matrix : ndarray of shape (n_features, n_columns)
        The map.
    offset : ndarray of shape (n_columns,)
        Subtracted from the mapped rows.
    """

    def __init__(
        self, rows: Source, matrix: NDArray[Any], offset: NDArray[Any]
    ) -> None:
        self._rows = rows
        self._matrix = np.ascontiguousarray(matrix)
        self._offset = offset

    def new(self, view: View) -> NDArray[Any]:
        return view[self._rows] @ self._matrix - self._offset
