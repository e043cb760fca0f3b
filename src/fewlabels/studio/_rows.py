"""Rows of a table, recognised by their cells after the table has changed."""

# SPDX-License-Identifier: BSD-3-Clause

import re
from collections.abc import Sequence
from hashlib import blake2b
from itertools import islice, permutations
from pathlib import Path
from typing import Any

# Orders of new columns that are tried to recognise renamed ones.
_MAX_ORDERS = 500
# Orders for which all rows of the table are searched.
_MAX_SEARCHES = 20


def journal_path(folder: Path, stem: str) -> Path:
    """Name the journal of a table, by what may stand in the name of a file."""
    name = "".join(c if c.isalnum() or c in "-_. " else "_" for c in stem).strip(". ")
    return folder / f"{name or 'table'}.labels.jsonl"


def answer_columns(names: Sequence[str], target: str) -> set[str]:
    """Find the labels, and what an earlier run has predicted: no part of a question."""
    ends = r"(_(predicted|confidence|source)(_\d+)?)?"
    earlier = re.compile(re.escape(target) + ends)
    return {name for name in names if earlier.fullmatch(name)}


def cell_text(value: Any) -> str:
    """Write a cell as text; empty if there is no value."""
    if isinstance(value, str):
        return value
    if value is None or value != value:
        return ""
    return str(value.item() if hasattr(value, "item") else value)


def row_digest(cells: Sequence[str]) -> str:
    """Return the digest of a row's cells."""
    # Lengths distinguish "a", "bc" from "ab", "c".
    joined = "".join(f"{len(cell)}:{cell}" for cell in cells)
    return blake2b(joined.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


class RowKeys:
    """Digests of the rows of a table, by any set of its columns.

    Parameters
    ----------
    names : sequence of str
        Names of all columns.
    columns : sequence of sequence
        Their cells.
    """

    def __init__(self, names: Sequence[str], columns: Sequence[Any]) -> None:
        self._columns = dict(zip(names, columns, strict=True))
        self._places: dict[tuple[str, ...], dict[str, list[int]]] = {}
        self._digests: dict[tuple[str, ...], list[str]] = {}
        self.n_rows = len(columns[0]) if columns else 0

    def knows(self, names: Sequence[str]) -> bool:
        """Whether the table has all of these columns."""
        return all(name in self._columns for name in names)

    def digest(self, row: int, names: Sequence[str]) -> str:
        """Return the digest of one row over some of its columns."""
        known = self._digests.get(tuple(names))
        if known is not None:
            return known[row]
        return row_digest([cell_text(self._columns[name][row]) for name in names])

    def prepare(self, names: Sequence[str]) -> None:
        """Compute the digests of all rows, once."""
        key = tuple(names)
        if key not in self._digests:
            found = [self.digest(row, names) for row in range(self.n_rows)]
            self._digests[key] = found

    def places(self, digest: str, names: Sequence[str]) -> list[int]:
        """Find the rows with a digest."""
        key = tuple(names)
        if key not in self._places:
            index: dict[str, list[int]] = {}
            self.prepare(names)
            for row, found in enumerate(self._digests[key]):
                index.setdefault(found, []).append(row)
            self._places[key] = index
        return self._places[key].get(digest, [])

    def renamed(
        self, names: Sequence[str], samples: Sequence[tuple[int, str]]
    ) -> list[str] | None:
        """Find what columns are called now, by the digests of some rows.

        Parameters
        ----------
        names : sequence of str
            What they were called.
        samples : sequence of (int, str)
            Numbers of rows, from 1, and their digests over these columns.

        Returns
        -------
        names : list of str or None
            Columns with the same cells; None if there are none.
        """
        missing = [name for name in names if name not in self._columns]
        fresh = [name for name in self._columns if name not in names]
        best: tuple[int, list[str]] = (0, [])
        orders = islice(permutations(fresh, len(missing)), _MAX_ORDERS)
        for k, order in enumerate(orders):
            new = dict(zip(missing, order, strict=True))
            now = [new.get(name, name) for name in names]
            there = [(row, d) for row, d in samples if 0 < row <= self.n_rows]
            found = sum(self.digest(row - 1, now) == d for row, d in there)
            if not found and k < _MAX_SEARCHES:  # rows may have moved, too
                found = sum(bool(self.places(d, now)) for _, d in samples)
            best = max(best, (found, now), key=lambda pair: pair[0])
            if found == len(samples):
                break
        return best[1] or None
