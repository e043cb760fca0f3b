"""The labelled rows of a problem, and blocks of them to hold out."""

# SPDX-License-Identifier: BSD-3-Clause

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Labeled:
    """Labels, weights and numbers of the labelled rows.

    Attributes
    ----------
    Y : ndarray of shape (l, n_targets)
        Targets.
    codes : ndarray of shape (l,)
        Classes; for a regression, all zero.
    distinct : ndarray of shape (l,)
        Numbers of the distinct rows of the bank.
    importance : ndarray of shape (l,)
        Weights of the rows in losses, with mean 1.
    few : bool
        Whether the rules for few labels apply.
    regression : bool
        Whether targets are real numbers.
    groups : ndarray of shape (l,) or None
        Rows of a group are held out together; None for equal rows only.
    """

    Y: NDArray[Any]
    codes: NDArray[np.intp]
    distinct: NDArray[np.intp]
    importance: NDArray[Any]
    few: bool
    regression: bool = False
    groups: NDArray[np.intp] | None = None

    @property
    def group(self) -> NDArray[np.intp]:
        """Number of the group of every row."""
        return self.distinct if self.groups is None else self.groups

    @property
    def size(self) -> int:
        """Number of rows."""
        return self.codes.size

    @property
    def n_groups(self) -> int:
        """Number of groups."""
        return int(np.unique(self.group).size)

    @property
    def counted(self) -> NDArray[np.float64]:
        """Weights by which every group counts once, as their importance says."""
        _, member, sizes = np.unique(
            self.group, return_inverse=True, return_counts=True
        )
        weights = self.importance / sizes[member]
        return sizes.size * weights / weights.sum()

    @property
    def class_counts(self) -> NDArray[np.intp]:
        """Number of groups of every class that occurs."""
        pairs = np.unique(np.column_stack([self.codes, self.group]), axis=0)
        return np.unique(pairs[:, 0], return_counts=True)[1]

    @property
    def testable(self) -> NDArray[np.bool_]:
        """Which rows can be held out: those whose class has another group."""
        if self.regression:
            return np.ones(self.size, dtype=bool)
        pairs = np.unique(np.column_stack([self.codes, self.group]), axis=0)
        return np.bincount(pairs[:, 0], minlength=1)[self.codes] > 1

    @property
    def evidence(self) -> NDArray[Any]:
        """Weights of the rows when held out; zero for rows that are not testable."""
        return self.importance * self.testable

    @property
    def says_something(self) -> bool:
        """Whether any row can be held out: some class has two groups."""
        several = self.n_groups > 1
        if self.regression or not several:
            return several
        counts = self.class_counts
        return counts.size > 1 and bool(counts.max() > 1)

    def class_shares(self, n_classes: int) -> NDArray[np.float64]:
        """Shares of the classes by importance."""
        sums = np.bincount(self.codes, self.importance, minlength=n_classes)
        return sums / sums.sum()

    def with_shares(self, shares: NDArray[Any]) -> "Labeled":
        """Weight rows so that classes have given shares."""
        sums = np.bincount(self.codes, self.importance)
        ratio = shares * sums.sum() / sums
        return replace(self, importance=self.importance * ratio[self.codes])

    def without(self, block: NDArray[np.intp]) -> "Labeled":
        """Remove some rows."""
        rest = np.setdiff1d(np.arange(self.size), block)
        return replace(
            self,
            Y=self.Y[rest],
            codes=self.codes[rest],
            distinct=self.distinct[rest],
            groups=self.group[rest],
            importance=self.importance[rest],
        )

    def first(self, size: int) -> "Labeled":
        """Keep the first rows."""
        return self.without(np.arange(size, self.size))

    def blocks(
        self, n_blocks: int, rng: np.random.RandomState
    ) -> list[NDArray[np.intp]]:
        """Split the rows that can be held out into blocks; others always train."""
        held = np.flatnonzero(np.isin(self.group, self.group[self.testable]))
        dealt = stratified_blocks(self.codes[held], self.group[held], n_blocks, rng)
        return [held[block] for block in dealt]

    def sample(self, size: int, rng: np.random.RandomState) -> "Labeled":
        """Sample about `size` of the rows, stratified by class."""
        n_blocks = -(-self.size // size)
        sample = stratified_blocks(self.codes, self.group, n_blocks, rng)[0]
        return self.without(np.setdiff1d(np.arange(self.size), sample))


def stratified_blocks(
    codes: NDArray[np.intp],
    group: NDArray[np.intp],
    n_blocks: int,
    rng: np.random.RandomState,
) -> list[NDArray[np.intp]]:
    """Split rows into blocks of about equal size and class shares, by whole groups."""
    _, first, member = np.unique(group, return_index=True, return_inverse=True)
    order = rng.permutation(first.size)
    order = order[np.argsort(codes[first[order]], kind="stable")]
    block_of_group = np.empty(first.size, dtype=np.intp)
    block_of_group[order] = np.arange(first.size) % n_blocks
    block_of_row = block_of_group[member]
    blocks = [np.flatnonzero(block_of_row == b) for b in range(n_blocks)]
    return [block for block in blocks if block.size]
