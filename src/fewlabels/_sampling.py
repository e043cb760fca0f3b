"""Samples of rows that do not depend on how the rows are split into batches.

Every row has a key, a hash of its number and a seed; the rows with the smallest keys
are a uniform sample without replacement, however they are batched.
"""

# SPDX-License-Identifier: BSD-3-Clause

from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from fewlabels._rows import mixed_words

_STEP = np.uint64(0x9E3779B97F4A7C15)


def row_keys(start: int, stop: int, seed: int) -> NDArray[np.uint64]:
    """Hash row numbers with the last step of SplitMix64.

    Parameters
    ----------
    start, stop : int
        The first row, and one past the last.
    seed : int
        Non-negative seed; different seeds give different keys.

    Returns
    -------
    keys : ndarray of shape (stop - start,)
        Different rows have different keys.

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels._sampling import row_keys
    >>> bool(np.array_equal(row_keys(0, 9, 1)[4:], row_keys(4, 9, 1)))
    True
    """
    salt = mixed_words(np.array([seed], dtype=np.uint64) * _STEP + _STEP)
    # Sums wrap around; an odd step gives different rows different sums.
    return mixed_words(np.arange(start, stop, dtype=np.uint64) * _STEP + salt)


class SmallestKeys(NamedTuple):
    """The rows with the smallest keys among those seen.

    Attributes
    ----------
    size : int
        Number of rows to keep.
    keys : ndarray of shape (n_kept,)
        Keys in ascending order.
    rows : ndarray of shape (n_kept,)
        Numbers of the rows.

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels._sampling import SmallestKeys, row_keys
    >>> whole = SmallestKeys(3).seen(np.arange(100), row_keys(0, 100, seed=7))
    >>> parts = SmallestKeys(3)
    >>> for start in (40, 0, 80):
    ...     rows = np.arange(start, min(start + 40, 100))
    ...     parts = parts.seen(rows, row_keys(start, rows[-1] + 1, seed=7))
    >>> bool(np.array_equal(parts.rows, whole.rows))
    True
    """

    size: int
    keys: NDArray[np.uint64] = np.empty(0, dtype=np.uint64)
    rows: NDArray[np.int64] = np.empty(0, dtype=np.int64)

    def seen(self, rows: NDArray[Any], keys: NDArray[np.uint64]) -> Self:
        """Add further rows.

        Parameters
        ----------
        rows : ndarray of shape (n_rows,)
            Their numbers.
        keys : ndarray of shape (n_rows,)
            Their keys.

        Returns
        -------
        smallest : SmallestKeys
            The smallest keys of all rows.
        """
        if self.keys.size == self.size and self.size:
            below = keys < self.keys[-1]
            rows, keys = rows[below], keys[below]
        keys = np.concatenate([self.keys, keys])
        rows = np.concatenate([self.rows, np.asarray(rows, dtype=np.int64)])
        order = np.argsort(keys, kind="stable")[: self.size]
        return self._replace(keys=keys[order], rows=rows[order])

    def join(self, other: "SmallestKeys") -> Self:
        """Merge with the smallest keys of other rows.

        Parameters
        ----------
        other : SmallestKeys
            The smallest keys of other rows.

        Returns
        -------
        smallest : SmallestKeys
            The smallest keys of all rows.
        """
        return self.seen(other.rows, other.keys)
