"""Arrays in few bytes."""

# SPDX-License-Identifier: BSD-3-Clause

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray


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


def half(A: NDArray[Any]) -> NDArray[Any]:
    """Round to half precision, unless numbers are too large for that."""
    return A.astype(np.float16 if np.abs(A).max(initial=0.0) < 6e4 else np.float32)


def small_integers(A: NDArray[Any]) -> NDArray[Any]:
    """Take the smallest type of integers that holds an array."""
    low, high = A.min(initial=0), A.max(initial=0)
    return A.astype(np.promote_types(np.min_scalar_type(low), np.min_scalar_type(high)))
