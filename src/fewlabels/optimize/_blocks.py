"""A partition of variables into blocks, and random sets of numbers."""

# SPDX-License-Identifier: BSD-3-Clause

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import column_or_1d

from fewlabels._params import check_number


class BlockPartition:
    r"""Variables 0, ..., n_features - 1 in disjoint blocks.

    With :math:`U_i` the columns of the identity that belong to block i, a vector is
    :math:`x = \sum_i U_i x^{(i)}` with :math:`x^{(i)} = U_i^\top x`.

    Parameters
    ----------
    labels : array-like of int of shape (n_features,)
        The block of every variable, from 0 to n_blocks - 1; none may be empty.

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.optimize import BlockPartition
    >>> partition = BlockPartition.of_size(5, 2)
    >>> [block.tolist() for block in partition]
    [[0, 1], [2, 3], [4]]
    >>> parts = partition.split(np.arange(5.0))
    >>> partition.join(parts)
    array([0., 1., 2., 3., 4.])
    """

    def __init__(self, labels: ArrayLike) -> None:
        self.labels = column_or_1d(np.asarray(labels, dtype=np.int64))
        sizes = np.bincount(self.labels) if np.all(self.labels >= 0) else np.zeros(1)
        if self.labels.size == 0 or np.any(sizes == 0):
            raise ValueError(
                "labels must use every number from 0 to n_blocks - 1 at least once."
            )
        self.members = np.argsort(self.labels, kind="stable")
        self.starts = np.concatenate(([0], np.cumsum(sizes)))

    @classmethod
    def of_size(cls, n_features: int, size: int = 1) -> "BlockPartition":
        """Cut the variables into blocks of consecutive ones.

        Parameters
        ----------
        n_features : int
            Number of variables.
        size : int, default=1
            Variables in a block; the last one may be smaller.

        Returns
        -------
        partition : BlockPartition
            The blocks.
        """
        check_number("size", size, 1)
        return cls(np.arange(n_features) // size)

    @property
    def is_trivial(self) -> bool:
        """Whether block i is just the variable i."""
        return np.array_equal(self.labels, np.arange(self.labels.size))

    @property
    def largest(self) -> int:
        """Number of variables in the largest block."""
        return int(np.max(np.diff(self.starts)))

    def __len__(self) -> int:
        return self.starts.size - 1

    def __iter__(self) -> Iterator[NDArray[np.int64]]:
        for i in range(len(self)):
            yield self.members[self.starts[i] : self.starts[i + 1]]

    def split(self, x: NDArray[Any]) -> list[NDArray[Any]]:
        """Cut a vector into its blocks.

        Parameters
        ----------
        x : ndarray of shape (n_features,)
            A vector.

        Returns
        -------
        parts : list of ndarray
            Its part in every block.
        """
        return [x[block] for block in self]

    def join(self, parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
        """Put a vector together from its blocks.

        Parameters
        ----------
        parts : list of ndarray
            One part per block.

        Returns
        -------
        x : ndarray of shape (n_features,)
            The vector.
        """
        x = np.empty(self.labels.size, dtype=np.result_type(*parts))
        for block, part in zip(self, parts, strict=True):
            x[block] = part
        return x


def random_subsets(
    rng: np.random.RandomState, n: int, size: int, count: int
) -> NDArray[np.int64]:
    """Draw sets of distinct numbers, independent of one another."""
    if size == 1:
        return rng.randint(n, size=(count, 1))
    if size == n:
        return np.tile(np.arange(n), (count, 1))
    return np.stack([rng.choice(n, size, replace=False) for _ in range(count)])
