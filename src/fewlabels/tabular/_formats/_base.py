"""Base classes and helpers of all file formats."""

# SPDX-License-Identifier: BSD-3-Clause

import contextlib
import json
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, BinaryIO, ClassVar

import numpy as np
from numpy.typing import NDArray

from fewlabels.preprocessing import Table
from fewlabels.preprocessing.cells import object_array

EXTRA = 'Install it with: pip install "fewlabels[cli]".'
# Bytes used to find the delimiter and the encoding of a large file.
HEAD = 2**18
# Beginnings that a spreadsheet takes for a formula, and those that are only a number, a
# telephone number or a sign.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
_HARMLESS = re.compile(r"[+-][\d\s.,:/%\u20ac$\u00a3\u00a5]*([eE][+-]?\d+)?|[\W_]*")
_DECIMAL = re.compile(r"-?(?:0|[1-9]\d*)\.(\d+)")
# Digits that a floating-point number keeps.
_DIGITS = 15

Values = Mapping[str, Sequence[Any]]
Cells = Mapping[int, Any]


@dataclass(frozen=True)
class Reading:
    """How to read a file.

    Attributes
    ----------
    name : str
        What to call it in messages.
    suffix : str
        Of its name.
    delimiter, encoding, sheet : str or None
        As given; None to find out.
    header_row : int or None
        Line of the names, 0 where there is none; None to find out.
    progress : callable or None
        Called with the share read so far.
    labels : Table or None
        Names of files and their labels, for a folder of pictures or texts.
    embed_with : str or None
        Name of the embedder of pictures; None for the default.
    """

    name: str = "table"
    suffix: str = ""
    delimiter: str | None = None
    encoding: str | None = None
    sheet: str | None = None
    header_row: int | None = None
    progress: Callable[[float], None] | None = None
    labels: Table | None = None
    embed_with: str | None = None


class FileFormat(ABC):
    """A file that holds a table."""

    suffixes: ClassVar[tuple[str, ...]] = ()
    is_binary: ClassVar[bool] = False
    has_sheets: ClassVar[bool] = False

    @classmethod
    @abstractmethod
    def read(cls, data: bytes, how: Reading) -> Table:
        """Read a table whose `origin` is a file of this class."""

    @classmethod
    def batches(cls, file: BinaryIO, how: Reading, n_rows: int) -> Iterator[Table]:
        """Read a table some rows at a time, or at once where the format wants that.

        The tables of all parts, written one after another, give the file.
        """
        yield cls.read(file.read(), how)

    @classmethod
    def appender(cls, file: BinaryIO, suffix: str) -> "Appender":
        """Write a file of this class part by part."""
        return Appender(cls, file, suffix)

    def fits(self, suffix: str) -> bool:
        """Whether a file with this suffix may repeat the text of this one."""
        return True

    def in_notation(self, table: Table, added: Values) -> Values:
        """Write numbers of new columns as the file writes numbers."""
        return added

    def cells(self, table: Table) -> dict[str, list[Any]]:
        """Return cells by column, where they hold more than those of the table."""
        return {}

    @abstractmethod
    def with_columns(self, added: Values) -> Iterator[bytes]:
        """Write the file with columns added."""

    @abstractmethod
    def with_cells(self, place: int, name: str, cells: Cells) -> "FileFormat":
        """Replace some cells of a column; everything else stays unchanged."""

    @abstractmethod
    def take(self, rows: Sequence[int]) -> "FileFormat | None":
        """Return some rows; None if they cannot be cut out of the file."""

    @classmethod
    @abstractmethod
    def write(
        cls, table: Table, added: Values, suffix: str, *, continued: bool = False
    ) -> Iterator[bytes]:
        """Write any table, with columns added, as a new file of this class.

        A continued file has parts before it, and no header of its own.
        """


class Appender:
    """Write the tables of one file, one after another.

    Parameters
    ----------
    kind : type
        The format.
    file : binary file
        Where to write.
    suffix : str
        Of its name.
    """

    def __init__(self, kind: type[FileFormat], file: BinaryIO, suffix: str) -> None:
        self._kind = kind
        self._file = file
        self._suffix = suffix
        self._n_parts = 0

    def add(self, table: Table, added: Values) -> None:
        """Write the next rows."""
        continued = self._n_parts > 0
        for chunk in written(table, added, self._kind, self._suffix, continued):
            self._file.write(chunk)
        self._n_parts += 1

    def close(self) -> None:
        """Write the end of the file."""


def with_all_rows(table: Table, added: Values) -> tuple[Table, Values]:
    """Restore rows that were left out, with empty new columns."""
    if table.whole is None:
        return table, added
    spread = {}
    for name, values in added.items():
        cells: list[Any] = [None] * table.whole.n_rows
        for row, value in zip(table.rows_in_whole, values, strict=True):
            cells[row] = value
        spread[name] = cells
    return table.whole, spread


def written(
    table: Table,
    added: Values,
    kind: type[FileFormat],
    suffix: str,
    continued: bool = False,
) -> Iterator[bytes]:
    """Write a table with columns added, to its own format or another."""
    table, added = with_all_rows(table, added)
    if isinstance(table.origin, kind):
        added = table.origin.in_notation(table, added)
        if table.origin.fits(suffix):
            return table.origin.with_columns(added)
    if table.derived:
        table = table.without(list(table.derived))
    return kind.write(table, added, suffix, continued=continued)


def cells_of(values: Sequence[Any]) -> NDArray[Any]:
    """Return cells of a sheet: numbers if all have one type, else objects."""
    given = [v for v in values if v is not None]
    kinds = {type(v) for v in given}
    if kinds == {int} and len(given) == len(values):
        with contextlib.suppress(OverflowError):
            return np.array(values, dtype=np.int64)
    if kinds == {float}:
        return np.array([np.nan if v is None else v for v in values], dtype=float)
    return object_array(values)


class FixedPoint(float):
    """A number written with trailing zeros."""

    n_decimals: int = 0


def typed(texts: Sequence[str]) -> list[Any]:
    """Turn fields of text into numbers where all are written as numbers are printed.

    Codes with leading zeros, long numbers and numbers in another notation stay text,
    and so does their whole column. An empty field is None.

    Examples
    --------
    >>> from fewlabels.tabular._formats._base import typed
    >>> typed(["1", "2.5", ""]), typed(["1", "01067", ""])
    ([1, 2.5, None], ['1', '01067', None])
    """
    found = {text: _printed_number(text) for text in texts if text}
    places = [_DECIMAL.fullmatch(text) for text in found]
    decimals = {len(match[1]) if match else 0 for match in places}
    if len(decimals) == 1 and (n := decimals.pop()):
        for text in found:
            if sum(sign.isdigit() for sign in text) <= _DIGITS:
                number = FixedPoint(text)
                number.n_decimals = n
                found[text] = number
    if None in found.values():
        return [text or None for text in texts]
    return [found[text] if text else None for text in texts]


def _printed_number(text: str) -> int | float | None:
    """Read a number that would be printed the same way."""
    with contextlib.suppress(ValueError):
        if str(int(text)) == text and abs(int(text)) < 2**63:
            return int(text)
    with contextlib.suppress(ValueError):
        number = float(text)
        if repr(number) == text and np.isfinite(number):
            return number
    return None


def python_values(column: NDArray[Any]) -> list[Any]:
    """Return cells of a column as Python values, None for missing ones."""
    if column.dtype.kind in "mM" and column.dtype != np.dtype("datetime64[D]"):
        column = column.astype(f"{column.dtype.kind}8[us]")
    values = [plain(value) for value in column.tolist()]
    return [None if isinstance(v, float) and v != v else v for v in values]


def columns_to_write(table: Table) -> list[list[Any]]:
    """Return the cells of all columns as in the file or the frame."""
    cells: dict[str, list[Any]] = {}
    if isinstance(table.origin, FileFormat):
        cells = table.origin.cells(table)
    return [
        cells[name] if name in cells else python_values(column)
        for name, column in zip(table.names, table.columns, strict=True)
    ]


def plain(value: Any) -> Any:
    """Turn a NumPy value into a Python value."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    return value.item() if hasattr(value, "item") else value


def as_text(value: Any) -> str:
    """Write a value as a field of text.

    Examples
    --------
    >>> from fewlabels.tabular._formats._base import as_text
    >>> as_text(None), as_text(True), as_text(0.1), as_text(["a", 1])
    ('', 'True', '0.1', '["a", 1]')
    """
    value = plain(value)
    if value is None or (isinstance(value, float) and value != value):
        return ""
    if isinstance(value, FixedPoint):
        return f"{value:.{value.n_decimals}f}"
    if isinstance(value, list | tuple | dict):
        return json.dumps(value, ensure_ascii=False, default=str)
    return str(value)


def dates_of(values: list[Any]) -> list[Any]:
    """Turn times into dates if all are midnight, as sheets have no pure dates."""
    given = [v for v in values if v is not None]
    if given and all(
        isinstance(v, datetime) and v == datetime(v.year, v.month, v.day) for v in given
    ):
        return [None if v is None else v.date() for v in values]
    return values


def neutral(value: Any) -> str:
    """Write a value so that no spreadsheet takes it for a formula.

    Text that begins like a formula gets an apostrophe in front; numbers and single
    signs do not. :func:`as_meant` is the inverse.

    Examples
    --------
    >>> from fewlabels.tabular._formats._base import neutral
    >>> neutral("=1+1"), neutral("-1"), neutral("+"), neutral(True)
    ("'=1+1", '-1', '+', 'True')
    """
    text = as_text(value)
    begin = text.lstrip("'")
    if begin.startswith(_FORMULA) and not _HARMLESS.fullmatch(begin):
        return "'" + text
    return text


def as_meant(text: str) -> str:
    """Remove the apostrophe that :func:`neutral` puts before a formula.

    Examples
    --------
    >>> from fewlabels.tabular._formats._base import as_meant
    >>> as_meant("'=1+1"), as_meant("'tis"), as_meant("''=x")
    ('=1+1', "'tis", "'=x")
    """
    if text.startswith("'") and neutral(text[1:]) == text:
        return text[1:]
    return text
