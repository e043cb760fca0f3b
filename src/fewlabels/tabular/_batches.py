"""Tables that are read some rows at a time."""

# SPDX-License-Identifier: BSD-3-Clause

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath
from typing import Any

from fewlabels.preprocessing import FileError, Table
from fewlabels.preprocessing.cells import object_array
from fewlabels.tabular._formats import (
    BY_SUFFIX,
    FileFormat,
    Reading,
    Workbook,
    check_sheet,
)
from fewlabels.tabular._places import Part, find_parts, is_address

# Files with more bytes than this are read in batches of this many rows.
LARGE_BYTES = 2**27
BATCH_ROWS = 50_000


@dataclass
class LargeTable:
    """A table that is read some rows at a time.

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
        Rows that are held at a time.
    n_rows : int
        Rows, as far as they have been read.
    notes : list of str
        What the owner of the table should know.
    """

    source: str
    parts: list[Part]
    kind: type[FileFormat]
    reading: Reading
    batch_rows: int = BATCH_ROWS
    n_rows: int = 0
    notes: list[str] = field(default_factory=list)

    def batches(
        self, progress: Callable[[float], None] | None = None
    ) -> Iterator[tuple[Part, int, Table]]:
        """Read all rows, in their order.

        Parameters
        ----------
        progress : callable, default=None
            Told the share that is read.

        Yields
        ------
        part : Part
            The file.
        first : int
            Number of the first row.
        table : Table
            The next rows, which know how to be written.
        """
        total = sum(part.size for part in self.parts) or 1
        first, before = 0, 0
        for part in self.parts:
            how = replace(self.reading, name=part.path, suffix=part.suffix)
            if part.path == "-":
                how = replace(how, name="standard input")
            with part.open() as opened:
                for table in self.kind.batches(opened.file, how, self.batch_rows):
                    if part.fixed:
                        table = _with_fixed(table, part.fixed)
                    if first == 0:
                        self.notes += [n for n in table.notes if n not in self.notes]
                    yield part, first, table
                    first += table.n_rows
                    if progress is not None:
                        progress((before + opened.share() * part.size) / total)
            before += part.size
        self.n_rows = first


def _with_fixed(table: Table, fixed: dict[str, str]) -> Table:
    """Add what the names of folders say as columns, for learning only."""
    new = {name: text for name, text in fixed.items() if name not in table.names}
    columns = [object_array([text] * table.n_rows) for text in new.values()]
    return replace(
        table, names=[*table.names, *new], columns=[*table.columns, *columns]
    )


def open_large(
    path: str, *, batch_rows: int | None = None, **options: Any
) -> LargeTable | None:
    r"""Open a table in order to read it in batches, if it is large.

    Parameters
    ----------
    path : str
        A file, a folder of files, an address of either, or "-".
    batch_rows : int, default=None
        Rows to hold at a time, whatever the size of the table; 0 for all of them. None
        takes 50,000 where the table is a folder, behind an address, or larger than 128
        MB.
    **options : dict
        `delimiter`, `encoding`, `sheet` and `header_row`, as for
        :func:`~fewlabels.tabular.read_table`.

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
    if batch_rows == 0 or (path == "-" and batch_rows is None):
        return None
    parts = find_parts(path)
    several = len(parts) > 1 or parts[0].path != path or is_address(path)
    if batch_rows is None and not several and parts[0].size <= LARGE_BYTES:
        return None
    if PurePosixPath(parts[0].name).suffix.lower() == ".zip":
        return None
    kind = parts[0].format()
    others = [part.name for part in parts if BY_SUFFIX.get(part.suffix, kind) != kind]
    if several and others:
        raise FileError(f"{path} holds files of several formats, such as {others[0]}.")
    if kind is Workbook:
        if several:
            raise FileError(f"{path}: workbooks are read one at a time, from a disk.")
        return None
    check_sheet(kind, options.get("sheet"), path)
    reading = Reading(path, parts[0].suffix, **options)
    return LargeTable(path, parts, kind, reading, batch_rows or BATCH_ROWS)
