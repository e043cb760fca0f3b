"""Scale rows so that Euclidean distances are meaningful."""

# SPDX-License-Identifier: BSD-3-Clause

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, diags_array, issparse
from sklearn.preprocessing import normalize
from sklearn.utils.sparsefuncs import mean_variance_axis

from fewlabels._backend import backend_of, to_host
from fewlabels._rows import has_own_units
from fewlabels.automatic import _tuned as tuned
from fewlabels.preprocessing import Moments

# Up to this many rows everything is computed in double precision.
DOUBLE_ROWS = 5000
# Rows from which the median is estimated.
CENTRE_ROWS = 500
# Scaled values are clipped here, so that no square overflows.
FAR = 1e9


class RowScaling:
    """Scale rows so that Euclidean distances are meaningful.

    Sparse rows are treated as text and scaled to length one. Columns of a table have
    their own units and are standardised; pixels, embeddings and other columns in the
    same unit are only centred. Constant columns are dropped. New rows are returned
    dense or sparse like those of `fit`; sparse rows are not centred, which does not
    change distances.

    Parameters
    ----------
    scale : {"auto", "standard", "unit", "none"}
        What to do. "auto" guesses: sparse rows are text, and dense rows are a table if
        at most 20 columns vary or if the standard deviation of one column exceeds four
        times the median, unless they are coordinates, see :func:`are_coordinates`.
    """

    def __init__(self, scale: str) -> None:
        self.scale = scale

    def fit(self, X: Any, moments: Moments | None = None) -> "RowScaling":
        """Learn the scale from the training rows and the table they were drawn from."""
        self.sparse_ = issparse(X)
        self.kind_ = "unit" if self.scale == "auto" and self.sparse_ else self.scale
        self.dtype_ = np.float64 if X.shape[0] <= DOUBLE_ROWS else np.float32
        # First bring values to size one, so that squares neither overflow nor vanish.
        self.size_ = _largest(X.data if self.sparse_ else X) or 1.0
        if moments is None or self.sparse_ or self.kind_ == "unit":
            deviation, largest = self._deviations(X)
        else:
            self.size_ = float(moments.largest.max(initial=0.0)) or 1.0
            deviation = moments.deviation / self.size_
            largest = moments.largest / self.size_
        rounding = 10 * np.finfo(backend_of(X).dtype(X)).eps * largest
        self.columns_ = np.flatnonzero(deviation > rounding)
        if not self.sparse_:
            # Unlike the mean, the median ignores outliers, so other rows keep digits.
            some = to_host(self._sized(X[:: max(1, X.shape[0] // CENTRE_ROWS)]))
            some = some[:, self.columns_]
            self.centre_ = np.median(some, axis=0)
        deviation = deviation[self.columns_]
        if self.kind_ == "auto":
            own_units = has_own_units(deviation) and not are_coordinates(some)
            self.kind_ = "standard" if own_units else "none"
        if self.kind_ == "standard":
            self.factor_ = 1 / deviation
        else:
            unit = 1.0 if self.kind_ == "unit" else deviation.max(initial=0.0)
            self.factor_ = np.full(deviation.size, 1 / unit if deviation.size else 1.0)
        return self

    def _deviations(self, X: Any) -> tuple[NDArray[Any], NDArray[Any]]:
        """Compute standard deviations and largest values of the columns."""
        if self.sparse_:
            Z = self._sized(X)
            largest = abs(Z).max(axis=0).toarray().ravel()
            unit = np.where(largest > 0, largest, 1.0)
            _, variance = mean_variance_axis(Z @ diags_array(1 / unit), axis=0)
            return unit * np.sqrt(variance), largest
        n, b = X.shape[0], backend_of(X)
        xp = b.xp

        def moments(batch: slice) -> Any:
            Z = self._sized(X[batch])
            return xp.stack([xp.sum(Z, axis=0) / n, xp.max(xp.abs(Z), axis=0)])

        def squares(batch: slice) -> Any:
            Z = (self._sized(X[batch]) - mean) / unit
            return xp.sum(Z * Z, axis=0) / n

        parts = xp.stack(b.each_batch(moments, n))
        mean, largest = xp.sum(parts[:, 0], axis=0), xp.max(parts[:, 1], axis=0)
        unit = xp.where(largest > 0, largest, xp.ones_like(largest))
        variance = xp.sum(xp.stack(b.each_batch(squares, n)), axis=0)
        return to_host(unit * xp.sqrt(variance)), to_host(largest)

    def table_columns(
        self, groups: NDArray[np.intp] | None, rows: Any
    ) -> list[NDArray[np.intp]] | None:
        """List the features of every remaining column; None if the rows are no table.

        Parameters
        ----------
        groups : ndarray of shape (n_features,) or None
            Column of every feature of an encoded table. Without it, rows are a table if
            they were standardised, or if they have two-valued columns that form no
            picture.
        rows : {ndarray, csr_array} of shape (n_rows, n_columns)
            The rows, scaled.
        """
        if self.sparse_:
            return None
        if groups is None and self.kind_ != "standard":
            if self.kind_ == "unit" or not _is_binary_table(rows):
                return None
        kept = self.columns_ if groups is None else groups[self.columns_]
        return [np.flatnonzero(kept == g) for g in np.unique(kept)]

    def _sized(self, X: Any) -> Any:
        """Rows brought to size one, in the form of the training rows."""
        if self.sparse_:
            Z = csr_array(X, dtype=np.float64) / self.size_
            if self.kind_ != "unit":
                return Z
            # Divide by the largest value of each row first: some rows may be tiny.
            return normalize(normalize(Z, norm="max", copy=False), copy=False)
        b = backend_of(X)
        Z = b.astype(X, np.float64) / self.size_
        if self.kind_ != "unit":
            return Z
        sizes = b.xp.max(b.xp.abs(Z), axis=1, keepdims=True)
        return _unit_rows(Z / b.xp.where(sizes > 0, sizes, b.xp.ones_like(sizes)))

    def transform(self, X: Any) -> Any:
        """Scale rows on their own device."""
        if self.sparse_:
            Z = self._sized(X)[:, self.columns_] @ diags_array(self.factor_)
            np.clip(Z.data, -FAR, FAR, out=Z.data)
            return csr_array(Z, dtype=self.dtype_)
        b = backend_of(X := X.toarray() if issparse(X) else X)
        columns, centre, factor = (
            b.asarray(part) for part in (self.columns_, self.centre_, self.factor_)
        )
        # Allocated at once: rows may fill much of the memory.
        like = b.asarray(np.empty(0, dtype=self.dtype_))
        scaled = b.xp.empty(
            (X.shape[0], self.columns_.size), dtype=like.dtype, device=like.device
        )

        def scale(batch: slice) -> None:
            Z = (self._sized(X[batch])[:, columns] - centre) * factor
            scaled[batch] = b.astype(b.xp.clip(Z, -FAR, FAR), self.dtype_)

        b.each_batch(scale, X.shape[0])
        return scaled


def are_coordinates(rows: NDArray[Any]) -> bool:
    """Tell embeddings, codes of a network and principal components from a table.

    Their columns are coordinates of one space, whose distances standardising would
    spoil. Nearly all values are distinct, and rows lie near a sphere: squared lengths
    vary less than if columns were independent. Columns of tables rise and fall
    together, so that squared lengths vary more.

    Parameters
    ----------
    rows : ndarray of shape (n_rows, n_columns)
        Distinct rows, or a sample of them.

    Returns
    -------
    coordinates : bool
        Whether columns should keep their scale.
    """
    n, n_columns = rows.shape
    if min(n, n_columns) < tuned.FEWEST_COORDINATES:
        return False
    if np.mean(np.diff(np.sort(rows, axis=0), axis=0) > 0) < tuned.MOST_COORDINATES:
        return False
    squares = rows**2
    spread = squares.sum(axis=1).std() / np.sqrt(squares.var(axis=0).sum())
    if spread < tuned.SAME_LENGTH:
        return True
    centred = np.mean(np.abs(rows.mean(axis=0)) <= rows.std(axis=0))
    enough = n >= tuned.SPHERE_ROWS and centred >= tuned.MOST_COORDINATES
    return bool(enough and spread < tuned.NEAR_SPHERE)


def may_be_table(rows: Any, repeats: NDArray[np.intp]) -> bool:
    """Tell whether distinct rows, each with its repeats, may be an unmarked table."""
    if issparse(rows) or rows.shape[1] <= tuned.FEW_COLUMNS:
        return not issparse(rows)
    b = backend_of(rows)
    shares = b.astype(b.asarray(repeats / repeats.sum()), b.dtype(rows))

    def moments(batch: slice) -> Any:
        Z, weights = rows[batch], shares[batch]
        return b.xp.stack([weights @ Z, weights @ (Z * Z)])

    parts = b.each_batch(moments, rows.shape[0])
    mean, square = to_host(b.xp.sum(b.xp.stack(parts), axis=0))
    low, high = np.quantile(square - mean**2, [0.05, 0.95])
    return bool(low >= tuned.SAME_DEVIATION**2 * high)


def _is_binary_table(rows: Any) -> bool:
    """Tell whether there are many two-valued columns that form no picture."""
    if rows.shape[1] <= tuned.FEW_COLUMNS:
        return False
    some = to_host(rows[:: max(1, rows.shape[0] // CENTRE_ROWS)]).astype(np.float64)
    low, high = some.min(axis=0), some.max(axis=0)
    varying = high > low  # the others vary only in rows outside this sample
    if varying.sum() < 2 or not ((some == low) | (some == high)).all():
        return False
    Z = (some - some.mean(axis=0))[:, varying]
    Z /= Z.std(axis=0)
    return float(np.mean(Z[:, 1:] * Z[:, :-1])) < tuned.PICTURE_CORRELATION


def _largest(A: Any) -> float:
    """Largest absolute value of an array, 0 if it is empty."""
    xp = backend_of(A).xp
    return float(max(xp.max(A), -xp.min(A))) if math.prod(A.shape) else 0.0


def _unit_rows(Z: Any) -> Any:
    """Scale rows to length one; zero rows stay zero."""
    xp = backend_of(Z).xp
    norms = xp.sqrt(xp.linalg.vecdot(Z, Z))
    return Z / xp.where(norms > 0, norms, xp.ones_like(norms))[:, None]
