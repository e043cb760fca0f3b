"""Which group of similar rows to label at once."""

# SPDX-License-Identifier: BSD-3-Clause

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

# The most rows that are shown at once.
GRID = 24


def group_of(
    groups: NDArray[np.int32],
    depth: NDArray[np.float32],
    done: Sequence[int],
    guesses: Any,
    after: int,
) -> tuple[list[int], dict[str, int]]:
    """Choose similar rows for which the model predicts the same class.

    Parameters
    ----------
    groups : ndarray of int32 of shape (n_rows,)
        The group of every row.
    depth : ndarray of float32 of shape (n_rows,)
        Its distance to the centre.
    done : sequence of int
        Rows that are labelled or skipped.
    guesses : Guesses or None
        What the model predicts.
    after : int
        How many better groups to pass over.

    Returns
    -------
    rows : list of int
        The rows, the most typical first.
    sizes : dict of str to int
        Rows of this group, and how many groups there are.
    """
    open_rows = np.ones(groups.size, dtype=bool)
    open_rows[list(done)] = False
    rows = np.flatnonzero(open_rows)
    if not rows.size:
        return [], {"of": 0, "groups": 0}
    codes, sure = np.zeros(rows.size, dtype=np.int64), np.ones(rows.size)
    if guesses is not None:
        codes = guesses.codes[rows, 0].astype(np.int64)
        sure = guesses.shares[rows, 0].astype(float)
    pairs = groups[rows].astype(np.int64) * 70_000 + codes
    _, inverse, sizes = np.unique(pairs, return_inverse=True, return_counts=True)
    # Groups in which many rows can be labelled at once, the least certain first.
    doubt = np.bincount(inverse, weights=1.02 - sure) / sizes
    ranked = np.argsort(-np.minimum(sizes, GRID) * np.sqrt(doubt), kind="stable")
    chosen = ranked[after % ranked.size]
    members = rows[inverse == chosen]
    members = members[np.argsort(depth[members], kind="stable")][:GRID]
    return members.tolist(), {"of": int(sizes[chosen]), "groups": int(ranked.size)}
