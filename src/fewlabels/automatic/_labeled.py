"""The labelled rows of a problem, and blocks of them to hold out."""

# SPDX-License-Identifier: BSD-3-Clause

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Labeled:
    """The labelled rows of a problem, without the rows.

    Attributes
    ----------
    Y : ndarray of shape (l, n_targets)
        Targets.
    codes : ndarray of shape (l,)
        Classes; for a regression, all zero.
    groups : ndarray of shape (l,)
        Numbers of the distinct rows of the bank; equal rows are held out together.
    importance : ndarray of shape (l,)
        Weights of the rows in losses, of mean 1.
    few : bool
        Whether the rules for few labels hold.
    regression : bool
        Whether targets are real numbers.
    """

    Y: NDArray[Any]
    codes: NDArray[np.intp]
    groups: NDArray[np.intp]
    importance: NDArray[Any]
    few: bool
    regression: bool = False

    @property
    def size(self) -> int:
        """Number of rows."""
        return self.codes.size

    @property
    def class_counts(self) -> NDArray[np.intp]:
        """Distinct rows of every class that occurs."""
        pairs = np.unique(np.column_stack([self.codes, self.groups]), axis=0)
        return np.unique(pairs[:, 0], return_counts=True)[1]

    @property
    def says_something(self) -> bool:
        """Whether held-out rows are informative: some class has two distinct rows."""
        several = np.unique(self.groups).size > 1
        if self.regression or not several:
            return several
        counts = self.class_counts
        return counts.size > 1 and bool(counts.max() > 1)

    def class_shares(self, n_classes: int) -> NDArray[np.float64]:
        """Shares of the classes by importance."""
        sums = np.bincount(self.codes, self.importance, minlength=n_classes)
        return sums / sums.sum()

    def with_shares(self, shares: NDArray[Any]) -> "Labeled":
        """Weigh rows so that classes have given shares."""
        sums = np.bincount(self.codes, self.importance)
        ratio = shares * sums.sum() / sums
        return replace(self, importance=self.importance * ratio[self.codes])

    def without(self, block: NDArray[np.intp]) -> "Labeled":
        """Take some rows away."""
        rest = np.setdiff1d(np.arange(self.size), block)
        return replace(
            self,
            Y=self.Y[rest],
            codes=self.codes[rest],
            groups=self.groups[rest],
            importance=self.importance[rest],
        )

    def sample(self, size: int, rng: np.random.RandomState) -> "Labeled":
        """Take about `size` of the rows, with all classes in their shares."""
        n_blocks = -(-self.size // size)
        sample = stratified_blocks(self.codes, self.groups, n_blocks, rng)[0]
        return self.without(np.setdiff1d(np.arange(self.size), sample))


def stratified_blocks(
    codes: NDArray[np.intp],
    groups: NDArray[np.intp],
    n_blocks: int,
    rng: np.random.RandomState,
) -> list[NDArray[np.intp]]:
    """Deal rows into blocks of about equal size and class shares."""
    _, first, member = np.unique(groups, return_index=True, return_inverse=True)
    order = rng.permutation(first.size)
    order = order[np.argsort(codes[first[order]], kind="stable")]
    block_of_group = np.empty(first.size, dtype=np.intp)
    block_of_group[order] = np.arange(first.size) % n_blocks
    block_of_row = block_of_group[member]
    blocks = [np.flatnonzero(block_of_row == b) for b in range(n_blocks)]
    return [block for block in blocks if block.size]
