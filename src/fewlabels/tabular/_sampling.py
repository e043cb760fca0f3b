"""Training rows of a large table: its labelled rows, and a sample of the others."""

# SPDX-License-Identifier: BSD-3-Clause

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewlabels._missing import is_na
from fewlabels._sampling import SmallestKeys, row_keys
from fewlabels._words import plural
from fewlabels.preprocessing import Table, TableError, TableSample, TableSummary
from fewlabels.preprocessing.cells import is_placeholder
from fewlabels.tabular._batches import BATCH_ROWS, LargeTable
from fewlabels.tabular._reading import column_or_none, stacked
from fewlabels.tabular._targets import class_text, label_text

# Unlabelled rows to learn from, and the most labelled ones.
SAMPLE_ROWS = 50_000
MAX_LABELED = 100_000


class RowSample:
    """All rows of one kind, and a sample of the others.

    The sample depends only on row numbers and the seed, not on batches.

    Parameters
    ----------
    size : int
        How many of the others.
    max_always : int
        Most rows of the first kind; if there are more, they are sampled too.
    seed : int
        Seed.
    """

    def __init__(self, size: int, max_always: int, seed: int) -> None:
        self._seed = seed
        self._smallest = [SmallestKeys(size), SmallestKeys(max_always)]
        self._seen = [0, 0]
        self._kept: list[tuple[NDArray[Any], NDArray[Any], NDArray[Any], Table]] = []

    def add(self, first: int, table: Table, always: NDArray[np.bool_]) -> None:
        """Process further rows."""
        inside = table.rows_in_whole
        n_rows = table.n_rows if table.whole is None else table.whole.n_rows
        rows = first + inside
        keys = row_keys(first, first + n_rows, self._seed)[inside]
        for kind in (0, 1):
            of_kind = always == bool(kind)
            self._seen[kind] += int(of_kind.sum())
            self._smallest[kind] = self._smallest[kind].seen(
                rows[of_kind], keys[of_kind]
            )
        self._kept.append((rows, keys, always, table))
        self._kept[-1] = self._thinned(*self._kept[-1])
        if sum(part[0].size for part in self._kept) > 2 * self.n_kept + BATCH_ROWS:
            self._kept = [self._thinned(*part) for part in self._kept]

    @property
    def n_kept(self) -> int:
        """Number of sampled rows."""
        return sum(smallest.rows.size for smallest in self._smallest)

    @property
    def n_seen(self) -> tuple[int, int]:
        """Numbers of other rows, and of rows of the first kind."""
        return self._seen[0], self._seen[1]

    def _thinned(
        self,
        rows: NDArray[Any],
        keys: NDArray[Any],
        always: NDArray[Any],
        table: Table,
    ) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any], Table]:
        keep = np.zeros(rows.size, dtype=bool)
        for kind, smallest in enumerate(self._smallest):
            last = smallest.keys[-1] if smallest.keys.size else 0
            keep |= (always == bool(kind)) & (keys <= last)
        columns = [column[keep] for column in table.columns]
        thin = Table(table.names, columns, table.source, categorical=table.categorical)
        return rows[keep], keys[keep], always[keep], thin

    def table(self, source: str) -> Table:
        """Return a table of the rows in order."""
        parts = [self._thinned(*part) for part in self._kept]
        numbers = np.concatenate([part[0] for part in parts])
        order = np.argsort(numbers)
        tables = [part[3] for part in parts]
        names = list(dict.fromkeys(name for table in tables for name in table.names))
        columns = []
        for name in names:
            columns.append(
                stacked([column_or_none(table, name) for table in tables])[order]
            )
        return Table(names, columns, source, places=numbers[order])


def sample_of(
    large: LargeTable,
    target: str | None,
    *,
    markers: Sequence[Any] = (),
    sample_rows: int = SAMPLE_ROWS,
    random_state: int = 0,
    progress: Callable[[float], None] | None = None,
) -> TableSample:
    """Collect training rows: labelled rows, and a sample of the others.

    Parameters
    ----------
    large : LargeTable
        The table.
    target : str or None
        The label column, if any.
    markers : sequence, default=()
        Values that stand for "no label".
    sample_rows : int, default=50,000
        How many unlabelled rows to sample.
    random_state : int, default=0
        Seed.
    progress : callable, default=None
        Called with the share read so far.

    Returns
    -------
    sample : TableSample
        A table of these rows in order, with a note on how many there are, and a summary
        of all columns but the target over all rows; None if rows differ in their
        columns.
    """
    sample = RowSample(sample_rows, MAX_LABELED, random_state)
    marked = set(map(class_text, markers))
    summary: TableSummary | None = None
    names: list[str] = []
    for _, first, table in large.batches(progress):
        labeled = np.zeros(table.n_rows, dtype=bool)
        rest = table
        if target is not None:
            cells = table.columns[table.index(target, "target")].tolist()
            labeled = np.array([_is_label(cell, marked) for cell in cells], dtype=bool)
            rest = table.without([target])
        sample.add(first, table, labeled)
        if first == 0:
            names, summary = rest.names, TableSummary.of(rest)
        elif summary is not None:
            same = rest.names == names
            summary = summary.merge(TableSummary.of(rest)) if same else None
    others, given = sample.n_seen
    if large.n_rows == 0:
        raise TableError(f"{large.source} has no rows.")
    taken = min(others, sample_rows)
    some = (
        f"all {taken:,}" if taken == others else f"a sample of {taken:,} of {others:,}"
    )
    labels = plural(min(given, MAX_LABELED), "labelled row")
    table = sample.table(large.source)
    table.notes = [
        *large.notes,
        f"Read in batches of {plural(large.batch_rows, 'row')}, and learned from "
        + (f"{some} rows" if target is None else f"{labels} and {some} others")
        + (
            "; kinds, words and medians of columns are those of these rows, scales and "
            "categories those of all."
            if summary is not None
            else "; kinds and scales of columns are those of these rows."
        ),
    ]
    return TableSample(table, None if summary is None else summary.settled())


def _is_label(cell: Any, marked: set[str]) -> bool:
    """Whether a cell looks like a label; possible markers count as missing labels."""
    text = label_text(cell, na=True)
    if text is None:
        return False
    return text not in marked and text != "-1" and not is_placeholder(text)


def given_labels(
    sample: Table, texts: NDArray[Any], target: str, markers: Sequence[Any]
) -> Callable[[NDArray[Any]], list[str | None]]:
    """Read labels of further rows as those of a sample were read.

    Parameters
    ----------
    sample : Table
        The sample.
    texts : ndarray of object
        Labels of its rows, None where there is none.
    target : str
        The label column.
    markers : sequence
        Values that stand for "no label".

    Returns
    -------
    read : callable
        Turns cells into labels.
    """
    known: dict[str, str | None] = dict.fromkeys(map(class_text, markers))
    na = any(map(is_na, texts))
    for cell, label in zip(sample[target].tolist(), texts, strict=True):
        text = label_text(cell, na=na)
        if text is not None:
            known.setdefault(text, label)

    def read(cells: NDArray[Any]) -> list[str | None]:
        found = [label_text(cell, na=na) for cell in cells.tolist()]
        return [None if text is None else known.get(text, text) for text in found]

    return read
