"""What all file formats have in common."""

# SPDX-License-Identifier: BSD-3-Clause

import contextlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO, ClassVar

import numpy as np
from numpy.typing import NDArray

from fewlabels.preprocessing import Table
from fewlabels.preprocessing.cells import object_array

EXTRA = 'Install it with: pip install "fewlabels[cli]".'
# Bytes by which the delimiter and the encoding of a large file are found.
HEAD = 2**18
# What a spreadsheet takes for the beginning of a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")

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
        Told the share that is read.
    """

    name: str = "table"
    suffix: str = ""
    delimiter: str | None = None
    encoding: str | None = None
    sheet: str | None = None
    header_row: int | None = None
    progress: Callable[[float], None] | None = None


class FileFormat(ABC):
    """A file that holds a table."""

    suffixes: ClassVar[tuple[str, ...]] = ()
    is_binary: ClassVar[bool] = False

    @classmethod
    @abstractmethod
    def read(cls, data: bytes, how: Reading) -> Table:
        """Read a table whose `origin` is a file of this class."""

    @classmethod
    def batches(cls, file: BinaryIO, how: Reading, n_rows: int) -> Iterator[Table]:
        """Read a table some rows at a time, or at once where the format wants that.

        Tables of all parts, written one behind the other, are the file.
        """
        yield cls.read(file.read(), how)

    @classmethod
    def appender(cls, file: BinaryIO, suffix: str) -> "Appender":
        """Write a file of this class part by part."""
        return Appender(cls, file, suffix)

    @abstractmethod
    def with_columns(self, added: Values) -> Iterator[bytes]:
        """Write the file with columns added."""

    @abstractmethod
    def with_cells(self, place: int, name: str, cells: Cells) -> "FileFormat":
        """Put other values into some cells of a column; all else stays as it is."""

    @abstractmethod
    def take(self, rows: Sequence[int]) -> "FileFormat | None":
        """Pick some rows; None where these cannot be cut out of the file."""

    @classmethod
    @abstractmethod
    def write(
        cls, table: Table, added: Values, suffix: str, *, continued: bool = False
    ) -> Iterator[bytes]:
        """Write any table, with columns added, as a new file of this class.

        What is continued has parts before it, and no names of its own.
        """


class Appender:
    """Writes tables of one file, one behind the other.

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
        if isinstance(table.origin, self._kind):
            chunks = table.origin.with_columns(added)
        else:
            continued = self._n_parts > 0
            chunks = self._kind.write(table, added, self._suffix, continued=continued)
        for chunk in chunks:
            self._file.write(chunk)
        self._n_parts += 1

    def close(self) -> None:
        """Write what stands at the end."""


def cells_of(values: Sequence[Any]) -> NDArray[Any]:
    """Cells of a sheet: numbers where all are, else objects."""
    given = [v for v in values if v is not None]
    if given and all(type(v) in (int, float) for v in given):
        if len(given) == len(values) and all(type(v) is int for v in given):
            with contextlib.suppress(OverflowError):
                return np.array(values, dtype=np.int64)
        if any(type(v) is float for v in given):
            with contextlib.suppress(OverflowError):
                filled = [np.nan if v is None else v for v in values]
                return np.array(filled, dtype=float)
    return object_array(values)


def frame_of(table: Table, added: Values) -> Any:
    """Make a frame of pandas with columns added; lists are lists of Python."""
    frame = table.to_pandas().assign(**{k: list(v) for k, v in added.items()})
    for name in frame.columns:
        if frame[name].dtype == object:
            frame[name] = object_array(
                [v.tolist() if isinstance(v, np.ndarray) else v for v in frame[name]]
            )
    return frame


def plain(value: Any) -> Any:
    """Turn a value of NumPy into one of Python."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    return value.item() if hasattr(value, "item") else value


def guarded(value: Any) -> Any:
    """Turn a value into one of Python that no spreadsheet takes for a formula."""
    return neutral(value) if isinstance(value, str) else plain(value)


def neutral(value: Any) -> str:
    """Write a value so that no spreadsheet takes it for a formula.

    It is put behind an apostrophe where it begins like one; numbers, which may begin
    with a sign, are left alone.

    Examples
    --------
    >>> from fewlabels.tabular._formats._base import neutral
    >>> neutral("=1+1"), neutral("-1"), neutral(True)
    ("'=1+1", '-1', 'True')
    """
    text = "" if value is None else str(value)
    if not text.startswith(_FORMULA):
        return text
    try:
        float(text)
    except ValueError:
        return "'" + text
    return text
