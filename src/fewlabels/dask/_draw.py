"""Draw the training rows from a large collection."""

# SPDX-License-Identifier: BSD-3-Clause

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import kmeans_plusplus
from sklearn.metrics import pairwise_distances_argmin

from fewlabels._sampling import SmallestKeys, row_keys
from fewlabels.dask._collections import take_rows
from fewlabels.preprocessing import TableSummary, TableTransformer

# Candidates drawn per requested row; those that cover the data best are kept.
COVER = 4
# Cells in which rows are counted, and rows used to build the cells.
N_CELLS = 256
CELL_ROWS = 10_000
_BATCH = 2**20


class Draw(NamedTuple):
    """A sample of unlabelled rows: those whose key is no larger than a threshold.

    Attributes
    ----------
    seed : int
        Seed of the keys.
    threshold : int
        The largest key.
    size : int
        Number of rows in the sample.
    """

    seed: int
    threshold: int
    size: int


class Drawn(NamedTuple):
    """Rows drawn from a part, or from all parts.

    Attributes
    ----------
    numbers : ndarray of shape (n_drawn,)
        Their numbers, in ascending order.
    keys : ndarray of shape (n_drawn,)
        Their keys, 0 for labelled ones.
    rows : {ndarray, csr_matrix, DataFrame} of shape (n_drawn, n_columns)
        The rows.
    """

    numbers: NDArray[np.int64]
    keys: NDArray[np.uint64]
    rows: Any


def draw_unlabeled(
    n_rows: int, labeled: NDArray[np.int64], size: int, seed: int
) -> Draw:
    """Draw unlabelled rows in constant memory, independently of the partition."""
    sample = SmallestKeys(size)
    for start in range(0, n_rows, _BATCH):
        stop = min(start + _BATCH, n_rows)
        numbers, keys = np.arange(start, stop), row_keys(start, stop, seed)
        first, last = np.searchsorted(labeled, [start, stop])
        here = labeled[first:last] - start
        sample = sample.seen(np.delete(numbers, here), np.delete(keys, here))
    threshold = int(sample.keys[-1]) if sample.keys.size else -1
    return Draw(seed, threshold, sample.keys.size)


def drawn_from(
    part: Any, start: int, size: int, labeled: NDArray[np.int64], draws: list[Draw]
) -> tuple[list[Drawn], TableSummary | None]:
    """Take the rows of every draw from a part, and summarise the part.

    Parameters
    ----------
    part : {ndarray, sparse matrix, DataFrame} of shape (size, n_columns)
        The part.
    start : int
        Number of its first row.
    size : int
        Its number of rows, when it was counted.
    labeled : ndarray
        Numbers of its labelled rows, which every draw takes.
    draws : list of Draw
        The draws.

    Returns
    -------
    drawn : list of Drawn
        One per draw.
    summary : TableSummary or None
        Summary of all rows of the part; None for sparse rows.
    """
    if part.shape[0] != size:
        raise ValueError(
            f"A part of X has {part.shape[0]:,} rows now but had {size:,} before: its "
            "source has changed, or its computation is not deterministic; persist "
            "it first."
        )
    places = (labeled - start).astype(np.intp)
    drawn = []
    for draw in draws:
        keys = row_keys(start, start + size, draw.seed)
        chosen = keys <= draw.threshold if draw.size else np.zeros(size, dtype=bool)
        chosen[places] = True
        keys[places] = 0
        own = np.flatnonzero(chosen)
        drawn.append(Drawn(own + start, keys[own], take_rows(part, own)))
    sparse = hasattr(part, "tocsr")
    return drawn, None if sparse else TableSummary.of(_plain(part))


def _plain(part: Any) -> Any:
    return part if hasattr(part, "iloc") else np.asarray(part)


def first_rows(drawn: Drawn, size: int) -> NDArray[np.intp]:
    """Return the positions of the labelled rows and of the smallest keys."""
    order = np.argsort(drawn.keys, kind="stable")
    n_labeled = int(np.sum(drawn.keys == 0))
    return np.sort(order[: n_labeled + size])


def covering_rows(
    drawn: Drawn, size: int, summary: TableSummary | None, seed: int
) -> NDArray[np.intp]:
    """Return the positions of the labelled rows, and of others thinned by density.

    Cells are spread over all rows by the seeding of k-means++, and none gets more rows
    than a common bound, chosen to give the requested number.
    """
    free = np.flatnonzero(drawn.keys > 0)
    if free.size <= size:
        return np.arange(drawn.keys.size)
    free = free[np.argsort(drawn.keys[free], kind="stable")]
    features = _features(drawn.rows, summary)
    some = features[np.sort(free[:CELL_ROWS])]
    n_cells = min(N_CELLS, some.shape[0], size)
    centers, _ = kmeans_plusplus(some, n_cells, random_state=seed)
    cells = pairwise_distances_argmin(features[free], centers)
    # The first of every cell come first, then the second, and so on.
    by_cell = np.argsort(cells, kind="stable")
    sizes = np.bincount(cells, minlength=n_cells)
    rank = np.empty(free.size, dtype=np.intp)
    rank[by_cell] = np.arange(free.size) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    chosen = free[np.argsort(rank, kind="stable")[:size]]
    return np.sort(np.concatenate([np.flatnonzero(drawn.keys == 0), chosen]))


def _features(rows: Any, summary: TableSummary | None) -> Any:
    """Return numbers on one scale, for distances."""
    if hasattr(rows, "iloc"):
        return TableTransformer().fit_transform(rows)
    if summary is None:
        return rows
    unit = np.where(summary.moments.deviation > 0, summary.moments.deviation, 1.0)
    return (rows - summary.moments.mean) / unit
