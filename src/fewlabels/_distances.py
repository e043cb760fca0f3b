"""Squared distances that keep their digits even for rows far from the origin."""

# SPDX-License-Identifier: BSD-3-Clause

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse
from sklearn.utils.extmath import row_norms

# If a squared distance is a smaller share than this of the squares it is computed from,
# the rows are subtracted instead: this leaves ten of sixteen digits.
CANCELLED = 1e-6

# Rows from which the median is estimated.
_CENTRE_ROWS = 512

# A row is far if it is this many times as far from the middle as nine rows in ten, as
# happens to a normal variable once in a million times, and to no row of the benchmark
# sets. A few rows show less of what is usual: among 20, twice the distance is needed.
_FAR, _NEAR_SHARE, _FEW_ROWS = 3.0, 0.9, 20

# Numbers held at a time when rows are gathered pair by pair: 32 MB of float64.
_BATCH_NUMBERS = 2**22

# Numbers that stay in the cache while a block of squares is computed.
_CACHED_NUMBERS = 2**16

# Values whose squares, and sums of squares, neither overflow nor lose digits.
_SAFE_POWERS = {np.dtype(np.float32): 50, np.dtype(np.float64): 450}


def centre_of(X: NDArray[Any]) -> NDArray[np.float64]:
    """Median of some rows, which unlike the mean is robust to a few outliers.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        The rows.

    Returns
    -------
    centre : ndarray of shape (n_features,)
        A point among the rows.
    """
    some = X[:: -(-X.shape[0] // _CENTRE_ROWS) or 1]
    return np.median(some, axis=0).astype(np.float64, copy=False)


def far_rows(X: Any) -> NDArray[np.bool_]:
    """Tell which rows are so far from the others that they would dominate an average.

    Parameters
    ----------
    X : {ndarray, sparse matrix} of shape (n_samples, n_features)
        The rows.

    Returns
    -------
    far : ndarray of bool of shape (n_samples,)
        See :func:`far_from_middle`.
    """
    unit = safe_unit(X)
    X = X if unit == 1.0 else X / unit
    if issparse(X):  # their means would be computed in single precision
        X = X.astype(np.float64)

    def squares(rows: NDArray[np.intp]) -> NDArray[np.float64]:
        middle = np.asarray(X[rows].mean(axis=0, dtype=np.float64)).ravel()
        if issparse(X):
            found = squared_distances(X, csr_array(middle[None, :]))[:, 0]
        else:
            found = row_norms(X - middle, squared=True)
        # Equal rows differ from their mean by the rounding errors of a sum, which grow
        # with the number of rows but are not distances.
        noise = (16 + rows.size) * np.finfo(np.float64).eps
        sizes = row_norms(X, squared=True) + middle @ middle
        return np.where(found <= noise**2 * sizes, 0.0, found)

    return far_from_middle(X.shape[0], squares)


def far_from_middle(
    n_rows: int, squares: Callable[[NDArray[np.intp]], NDArray[np.float64]]
) -> NDArray[np.bool_]:
    """Tell which rows are many times as far from the middle as nine rows in ten.

    Parameters
    ----------
    n_rows : int
        Number of rows.
    squares : callable
        Squared distances of all rows from the mean of some.

    Returns
    -------
    far : ndarray of bool of shape (n_rows,)
        At most one row in ten. The middle is the mean of the half of the rows that are
        nearest to the mean of all.
    """
    if n_rows < 3:
        return np.zeros(n_rows, dtype=bool)
    first = squares(np.arange(n_rows))
    second = squares(np.flatnonzero(first <= np.sort(first)[(n_rows - 1) // 2]))
    return far_lengths(np.sqrt(np.maximum(second, 0.0)))


def far_lengths(lengths: NDArray[Any]) -> NDArray[np.bool_]:
    """Tell which lengths are many times those of nine rows in ten.

    Parameters
    ----------
    lengths : ndarray of shape (n_rows,)
        A length per row.

    Returns
    -------
    far : ndarray of bool of shape (n_rows,)
        At most one row in ten; none if most lengths are zero.
    """
    n_rows = lengths.size
    if n_rows < 3:
        return np.zeros(n_rows, dtype=bool)
    usual = np.sort(lengths)[int(_NEAR_SHARE * (n_rows - 1))]
    limit = _FAR * (1 + _FEW_ROWS / n_rows) * usual
    return lengths > limit if usual > 0 else np.zeros(n_rows, dtype=bool)


def without_far_rows(X: Any) -> Any:
    """Rows that count in a rule for a width."""
    far = far_rows(X)
    return X[~far] if far.any() else X


def safe_unit(*rows: Any) -> float:
    """Power of two that scales extreme rows to a range where squares are safe.

    Parameters
    ----------
    *rows : {ndarray, sparse matrix}
        Rows that will be divided by the same unit.

    Returns
    -------
    unit : float
        1 unless the largest value is above 1e135 or below 1e-135 (1e15 and 1e-15 in
        single precision).
    """
    largest, power = 0.0, 450
    for X in rows:
        power = min(power, _SAFE_POWERS.get(X.dtype, 450))
        values = X.data if issparse(X) else X
        if values.size:
            largest = max(largest, float(values.max()), -float(values.min()))
    if largest == 0.0 or 2.0**-power <= largest <= 2.0**power:
        return 1.0
    return float(np.ldexp(1.0, int(np.frexp(largest)[1])))


def squared_distances(X: Any, Y: Any = None) -> NDArray[Any]:
    r"""Compute :math:`\|x - z\|^2` between all rows of X and all rows of Y.

    Squares are computed from products as long as these have enough digits. Dense rows
    are first shifted to the origin, which changes no distance; where digits still
    cancel, as between rows close to each other but far from the others, the rows
    themselves are subtracted.

    Parameters
    ----------
    X : {ndarray, sparse matrix} of shape (n_samples_X, n_features)
        Rows.
    Y : {ndarray, sparse matrix} of shape (n_samples_Y, n_features), default=None
        Other rows; X itself when None.

    Returns
    -------
    d2 : ndarray of shape (n_samples_X, n_samples_Y)
        The squares, never negative, in the dtype of `X`, with a relative accuracy of
        about 1e-9 in double precision. Copies of a row have distance 0.

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.kernels import squared_distances
    >>> squared_distances(np.array([[1e9], [1e9 + 1], [1e9 + 3]]))
    array([[0., 1., 9.],
           [1., 0., 4.],
           [9., 4., 0.]])
    """
    if issparse(X) or issparse(Y):
        same = Y is None or Y is X
        A = csr_array(X, dtype=np.float64)
        B = A if same else csr_array(Y, dtype=np.float64)
        return _from_products(A, B, A, B, same, _float_type(X))
    if Y is None or Y is X:
        return DistancesTo(X)()
    return DistancesTo(Y)(X)


class DistancesTo:
    """Squared distances of batches of rows to fixed dense rows.

    Parameters
    ----------
    Y : ndarray of shape (n_samples_Y, n_features)
        The fixed rows.
    """

    def __init__(self, Y: NDArray[Any]) -> None:
        self._dtype = _float_type(Y)
        self._B = B = Y.astype(np.float64, copy=False)
        self._centre = centre_of(B) if B.shape[0] else np.zeros(B.shape[1])
        self._near = B - self._centre

    def __call__(self, X: NDArray[Any] | None = None) -> NDArray[Any]:
        """See :func:`squared_distances`; without rows, between all fixed rows."""
        B, near = self._B, self._near
        if X is None:
            return _from_products(B, B, near, near, True, self._dtype)
        A = X.astype(np.float64, copy=False)
        return _from_products(A, B, A - self._centre, near, False, _float_type(X))


def _float_type(X: Any) -> np.dtype[Any]:
    return X.dtype if X.dtype.kind == "f" else np.dtype(np.float64)


def _from_products(
    A: Any, B: Any, near_A: Any, near_B: Any, same: bool, dtype: np.dtype[Any]
) -> NDArray[Any]:
    """Squared distances between rows, which are also passed shifted to the origin."""
    unit = safe_unit(A, B)
    if unit != 1.0:
        A, near_A, near_B = A / unit, near_A / unit, near_B / unit
        B = A if same else B / unit
    d2 = near_A @ near_B.T
    d2 = d2.toarray() if issparse(d2) else d2
    squares = row_norms(near_A, squared=True)
    other = squares if same else row_norms(near_B, squared=True)
    width = A.nnz // max(A.shape[0], 1) if issparse(A) else A.shape[1]
    n_rows = max(1, _CACHED_NUMBERS // max(1, B.shape[0]))
    n_pairs = max(1, _BATCH_NUMBERS // max(1, width))
    for first in range(0, d2.shape[0], n_rows):
        block = d2[first : first + n_rows]
        total = squares[first : first + n_rows, None] + other
        block *= -2.0
        block += total
        total *= CANCELLED
        own = np.arange(len(block))
        if same:  # a row has distance 0 to itself, and is skipped below
            block[own, own + first] = np.inf
        close = block <= total
        rows, columns = np.nonzero(close) if close.any() else (own[:0], own[:0])
        for at in range(0, rows.size, n_pairs):
            i, j = rows[at : at + n_pairs], columns[at : at + n_pairs]
            block[i, j] = row_norms(A[first + i] - B[j], squared=True)
        if same:
            block[own, own + first] = 0.0
    with np.errstate(over="ignore", under="ignore"):
        if unit != 1.0:
            d2 *= unit
            d2 *= unit
        return d2.astype(dtype, copy=False)
