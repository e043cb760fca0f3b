"""Tables that are read in batches."""

# SPDX-License-Identifier: BSD-3-Clause

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath
from typing import Any

from fewlabels.preprocessing import Table
from fewlabels.tabular._decoding import NoRowsError
from fewlabels.tabular._extra_rows import real_rows
from fewlabels.tabular._formats import FileFormat, Reading, check_sheet
from fewlabels.tabular._places import (
    Part,
    check_columns,
    check_formats,
    find_parts,
    is_address,
    is_web,
    located,
)
from fewlabels.tabular.file_folders import folder_kind, refuse_folder_options

# Files with more bytes than the first are read in batches of the second, in rows.
LARGE_BYTES = 2**27
BATCH_ROWS = 50_000


@dataclass
class LargeTable:
    """A table that is read in batches.

    It is made by :func:`open_large`.

    Attributes
    ----------
    source : str
        Where it comes from.
    parts : list of Part
        Its files.
    kind : type
        Their format.
    reading : Reading
        How to read them.
    batch_rows : int
        Rows per batch.
    keep_rows : bool
        Whether totals, footnotes and the like count as rows.
    n_rows : int
        Number of rows read so far.
    notes : list of str
        What the owner of the table should know.
    """

    source: str
    parts: list[Part]
    kind: type[FileFormat]
    reading: Reading
    batch_rows: int = BATCH_ROWS
    keep_rows: bool = False
    n_rows: int = 0
    notes: list[str] = field(default_factory=list)
    # The first file with rows, and its columns.
    _begun: tuple[Part, list[str]] | None = None

    def batches(
        self, progress: Callable[[float], None] | None = None
    ) -> Iterator[tuple[Part, int, Table]]:
        """Read all rows in batches, in order.

        Parameters
        ----------
        progress : callable, default=None
            Called with the share read so far.

        Yields
        ------
        part : Part
            The file.
        first : int
            Number of the first row.
        table : Table
            The next rows, which can be written again.
        """
        total = sum(part.size for part in self.parts) or 1
        first, before = 0, 0
        for part in self.parts:
            how = replace(self.reading, name=part.path, suffix=part.suffix)
            if part.path == "-":
                how = replace(how, name="standard input")
            with part.open() as opened:
                for table in self._read(part, opened.file, how):
                    n_rows = (table.whole or table).n_rows
                    if first == 0 or table.whole is not None:
                        self.notes += [n for n in table.notes if n not in self.notes]
                    yield part, first, table
                    first += n_rows
                    if progress is not None:
                        progress((before + opened.share() * part.size) / total)
            before += part.size
        self.n_rows = first

    def _read(self, part: Part, file: Any, how: Reading) -> Iterator[Table]:
        """Read one file; one of several may have no rows."""
        try:
            batches = self.kind.batches(file, how, self.batch_rows)
            for table, is_first, is_last in _with_ends(batches):
                if not self.keep_rows:
                    table = real_rows(table, is_first=is_first, is_last=is_last)
                table = part.completed(table)
                if is_first:
                    self._begun = self._begun or (part, table.names)
                    check_columns(self.kind, *self._begun, part, table.names)
                yield table
        except NoRowsError:
            if len(self.parts) == 1:
                raise
            note = f"{part.path} has no rows."
            self.notes += [] if note in self.notes else [note]


def _with_ends(batches: Iterator[Table]) -> Iterator[tuple[Table, bool, bool]]:
    """Mark the first batch and the last."""
    waiting, is_first = next(batches, None), True
    while waiting is not None:
        following = next(batches, None)
        yield waiting, is_first, following is None
        waiting, is_first = following, False


def open_large(
    path: str,
    *,
    batch_rows: int | None = None,
    keep_rows: bool = False,
    **options: Any,
) -> LargeTable | None:
    r"""Open a table to be read in batches, if it is large.

    Parameters
    ----------
    path : str
        A file, a folder of files, an address of either, or "-".
    batch_rows : int, default=None
        Rows per batch, whatever the size of the table; 0 to read it at once. None means
        50,000 for folders, addresses other than web addresses, and files larger than
        128 MB.
    keep_rows : bool, default=False
        See :func:`~fewlabels.tabular.read_table`.
    **options : dict
        `delimiter`, `encoding`, `sheet`, `header_row`, `labels` and `embed_with`, as
        for :func:`~fewlabels.tabular.read_table`; the last two are for folders of
        files, which are read at once.

    Returns
    -------
    table : LargeTable or None
        None for a table that is better read at once.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from fewlabels.tabular.large import open_large
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "numbers.csv")
    ...     _ = path.write_text("a,b\n1,2\n3,4\n5,6\n")
    ...     table = open_large(str(path), batch_rows=2)
    ...     [batch.n_rows for _, _, batch in table.batches()], table.n_rows
    ([2, 1], 3)
    """
    sheet = options.pop("sheet", None)
    place = located(path, sheet)
    if batch_rows == 0 or place.database is not None:
        return None
    if path == "-" and batch_rows is None:
        return None
    if folder_kind(place.path):
        return None
    parts = find_parts(place.path)
    several = len(parts) > 1 or parts[0].path != place.path
    is_far = is_address(place.path) and not is_web(place.path)
    if batch_rows is None and not several and not is_far:
        if parts[0].size <= LARGE_BYTES:
            return None
    if PurePosixPath(parts[0].name).suffix.lower() == ".zip":
        return None
    kind = check_formats(path, parts) if several else parts[0].format()
    if kind.has_sheets:
        return None
    check_sheet(kind, place.sheet, path)
    reading = Reading(path, parts[0].suffix, **options)
    refuse_folder_options(path, reading)
    return LargeTable(path, parts, kind, reading, batch_rows or BATCH_ROWS, keep_rows)
