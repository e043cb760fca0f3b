"""Locations of tables: a file, a folder of parts, or an address.

Addresses such as ``s3://bucket/table.parquet`` are opened by fsspec, if installed.
"""

# SPDX-License-Identifier: BSD-3-Clause

import bz2
import contextlib
import gzip
import lzma
import os
import re
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO, NamedTuple
from urllib.parse import unquote

from fewlabels._words import listed
from fewlabels.preprocessing import FileError, Table, TableError
from fewlabels.preprocessing.cells import object_array
from fewlabels.tabular._formats import (
    BY_SUFFIX,
    READ_ONLY,
    Database,
    DelimitedFile,
    FileFormat,
    Spreadsheet,
    database_place,
)
from fewlabels.tabular._replacing import replacing
from fewlabels.tabular._unpacking import UNPACKERS, check_text, format_of

_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]+://", re.IGNORECASE)
_WEB = re.compile(r"https?://", re.IGNORECASE)
# A Google sheet: its address in the browser, or as published.
_SHEET = re.compile(
    r"https://docs\.google\.com/spreadsheets/(?:u/\d+/)?d/(e/)?([\w-]+)(?:/(\w*))?"
    r"(?:\?([^#]*))?(?:#(.*))?",
    re.IGNORECASE,
)


class Place(NamedTuple):
    """Where a table is.

    Attributes
    ----------
    path : str
        A file, a folder, an address or "-".
    sheet : str or None
        Sheet of a workbook, or table of a database.
    database : type or None
        The kind of database named before the path, as in ``sqlite:file.db::table``.
    """

    path: str
    sheet: str | None = None
    database: type[Database] | None = None


def located(given: str, sheet: str | None = None) -> Place:
    """Parse a user's description of where a table is.

    Parameters
    ----------
    given : str
        A path or an address, perhaps followed by ``::NAME`` of a sheet.
    sheet : str, default=None
        The name of the sheet, if given separately.

    Returns
    -------
    place : Place
        Where it is.

    Examples
    --------
    >>> from fewlabels.tabular._places import located
    >>> located("sqlite:shop.db::orders")[:2]
    ('shop.db', 'orders')
    """
    found = database_place(given)
    path, named = given, None
    if found is not None:
        path, named = found.path, found.table
    elif is_address(given):
        path = csv_address(given)
    elif "::" in given and not os.path.exists(given):
        path, _, named = given.partition("::")
    if named and sheet is not None and named != sheet:
        raise FileError(
            f"{given} names {named!r}, but {sheet!r} was asked for (given as sheet): "
            "leave one of them out."
        )
    return Place(path, named or sheet, found.kind if found else None)


def csv_address(address: str) -> str:
    """Turn the address of a Google sheet into that of its CSV file.

    Parameters
    ----------
    address : str
        Any address.

    Returns
    -------
    address : str
        Where the CSV file is; any other address unchanged.

    Examples
    --------
    >>> from fewlabels.tabular._places import csv_address
    >>> csv_address("https://docs.google.com/spreadsheets/d/1aB-c/edit#gid=7")
    'https://docs.google.com/spreadsheets/d/1aB-c/export?format=csv&gid=7'
    """
    found = _SHEET.fullmatch(address)
    if found is None:
        return address
    published, key, _, query, fragment = found.groups()
    if query and re.search(r"(format|output)=(csv|tsv)", query):
        return address
    sheet = re.search(r"\bgid=(\d+)", f"{query or ''}#{fragment or ''}")
    number = f"&gid={sheet[1]}" if sheet else ""
    if published:
        number += "&single=true" if sheet else ""
        return f"https://docs.google.com/spreadsheets/d/e/{key}/pub?output=csv{number}"
    return f"https://docs.google.com/spreadsheets/d/{key}/export?format=csv{number}"


def is_address(path: str) -> bool:
    """Whether a path has to be opened by fsspec.

    Parameters
    ----------
    path : str
        A path, or an address.

    Returns
    -------
    address : bool
        True for ``s3://bucket/table.parquet`` and the like.
    """
    return _ADDRESS.match(path) is not None


def is_web(path: str) -> bool:
    """Whether an address is that of a page or file on the web.

    Parameters
    ----------
    path : str
        An address.

    Returns
    -------
    web : bool
        True for http and https: a single file, which can change at any time.
    """
    return _WEB.match(path) is not None


def _file_system(path: str) -> tuple[Any, str]:
    try:
        import fsspec
    except ImportError:
        raise ImportError(
            f'Addresses such as {path} need fsspec: pip install "fewlabels[remote]", '
            "and the packages it asks for."
        ) from None
    try:
        return fsspec.core.url_to_fs(path)
    except ImportError as error:
        raise FileError(
            f"Cannot open {path}: {error}. For web addresses, run: pip install "
            '"fewlabels[remote]".'
        ) from None
    except ValueError as error:
        raise FileError(f"Cannot open {path}: {error}.") from None


@contextmanager
def _said(path: str, verb: str) -> Iterator[None]:
    """Turn errors of a file system into messages."""
    try:
        yield
    except Exception as error:
        if not isinstance(error, OSError) and not _is_of_web(error):
            raise
        why = getattr(error, "strerror", None) or getattr(error, "message", error)
        if str(why) in ("", path):
            why = "nothing was found there, or it needs a login"
        raise FileError(f"Cannot {verb} {path}: {why}.") from None


def _is_of_web(error: Exception) -> bool:
    """Whether a server refused, or could not be reached."""
    return type(error).__module__.partition(".")[0] == "aiohttp"


class Opened(NamedTuple):
    """A file opened for reading.

    Attributes
    ----------
    file : binary file
        To be read.
    packed : binary file
        The compressed file, or the same.
    size : int
        Bytes of the latter.
    """

    file: Any
    packed: Any
    size: int

    def share(self) -> float:
        """Return the share of the file read so far, if its size is known."""
        try:
            return min(1.0, self.packed.tell() / self.size) if self.size else 0.0
        except (OSError, ValueError):  # a pipe, or closed by its reader
            return 1.0


@dataclass(frozen=True)
class Part:
    """A file with rows of a table.

    Attributes
    ----------
    path : str
        Its path or address.
    name : str
        Its path within the folder, or its name.
    size : int
        Bytes.
    fixed : dict of str to str
        Columns that folders such as ``year=2024`` stand for.
    """

    path: str
    name: str
    size: int
    fixed: dict[str, str] = field(default_factory=dict)

    @contextmanager
    def raw(self) -> "Iterator[Opened]":
        """Open the file without unpacking it.

        Yields
        ------
        opened : Opened
            To be read once.
        """
        with _said(self.path, "read"), contextlib.ExitStack() as stack:
            file: Any
            if self.path == "-":
                file = sys.stdin.buffer
            elif is_address(self.path):
                system, path = _file_system(self.path)
                file = stack.enter_context(system.open(path, "rb"))
            else:
                file = stack.enter_context(Path(self.path).open("rb"))
            yield Opened(file, file, self.size)

    @contextmanager
    def open(self) -> "Iterator[Opened]":
        """Open the file, unpacked.

        Yields
        ------
        opened : Opened
            To be read once.
        """
        with self.raw() as opened, contextlib.ExitStack() as stack:
            compression = PurePosixPath(self.name).suffix.lower()
            file = opened.file
            if compression in UNPACKERS:
                file = stack.enter_context(UNPACKERS[compression](file))
            yield opened._replace(file=file)

    @property
    def suffix(self) -> str:
        """Suffix of the unpacked file."""
        ends = [s.lower() for s in PurePosixPath(self.name).suffixes]
        if ends and ends[-1] in UNPACKERS:
            ends.pop()
        return ends[-1] if ends else ""

    def format(self) -> type[FileFormat]:
        """Detect the format by the first bytes, then by the name."""
        if self.path == "-":
            return BY_SUFFIX[".csv"]
        with self.open() as opened:
            head = opened.file.read(4096)
        kind = format_of(head, self.suffix)
        check_text(kind, head, self.path, encoded=True)
        return kind

    def completed(self, table: Table) -> Table:
        """Add columns from the names of folders, for learning only.

        Parameters
        ----------
        table : Table
            Rows of the file.

        Returns
        -------
        table : Table
            The same with these columns.
        """
        new = {n: text for n, text in self.fixed.items() if n not in table.names}
        columns = [object_array([text] * table.n_rows) for text in new.values()]
        return replace(
            table,
            names=[*table.names, *new],
            columns=[*table.columns, *columns],
            whole=table.whole and self.completed(table.whole),
        )


def check_formats(source: str, parts: "list[Part]") -> type[FileFormat]:
    """Find the format of all parts of a folder.

    Parameters
    ----------
    source : str
        The folder.
    parts : list of Part
        Its files.

    Returns
    -------
    kind : type
        The format that they share.

    Raises
    ------
    FileError
        If there are several formats, or the format cannot be split into parts.
    """
    kind = parts[0].format()
    others = [p.name for p in parts if _by_suffix(p.suffix, kind) is not kind]
    if others:
        raise FileError(
            f"{source} contains files of several formats, such as {parts[0].name} and "
            f"{others[0]}: pass a folder of one format, or a file."
        )
    if kind.has_sheets:
        raise FileError(f"{source}: only single workbooks can be read, from a disk.")
    return kind


def check_columns(
    kind: type[FileFormat],
    first: "Part",
    names: Sequence[str],
    other: "Part",
    others: Sequence[str],
) -> None:
    """Refuse delimited files with other columns; other formats carry their types.

    Parameters
    ----------
    kind : type
        Format of the parts.
    first, other : Part
        Two of them.
    names, others : sequence of str
        Names of their columns.
    """
    if kind is not DelimitedFile or list(names) == list(others):
        return
    absent = [name for name in names if name not in others]
    new = [name for name in others if name not in names]
    said = [f"{listed(absent, 5)} missing"] if absent else []
    said += [f"{listed(new, 5)} new"] if new else []
    raise TableError(
        f"{other.path} does not have the columns of {first.path}: "
        f"{' and '.join(said) or 'they are in another order'}. All parts of a table "
        "need the same header."
    )


def _by_suffix(suffix: str, default: type[FileFormat]) -> type[FileFormat]:
    return BY_SUFFIX.get(suffix) or READ_ONLY.get(suffix, default)


def find_parts(path: str) -> list[Part]:
    """List the files of a table, in the order of their names.

    Parameters
    ----------
    path : str
        A file, a folder, or an address of either.

    Returns
    -------
    parts : list of Part
        In a folder, files with the suffix of a known format; names of files or folders
        that begin with a dot or an underscore are skipped.

    Raises
    ------
    FileError
        If there is no such file, or none in the folder.
    """
    if path == "-":
        return [Part(path, "standard input", 0)]
    if is_address(path):
        system, inner = _file_system(path)
        with _said(path, "read"):
            if is_web(path) or not system.isdir(inner):
                name = PurePosixPath(re.split("[?#]", inner)[0]).name
                return [Part(path, name, system.size(inner) or 0)]
            found = system.find(inner, detail=True)
        scheme = path.split("://", 1)[0]
        files = [
            (f"{scheme}://{name.lstrip('/')}", name[len(inner) :].strip("/"), about)
            for name, about in found.items()
        ]
        parts = [Part(p, n, about.get("size") or 0, _fixed(n)) for p, n, about in files]
    else:
        root = Path(path)
        if not root.is_dir():
            with _said(path, "read"):
                return [Part(path, root.name, root.stat().st_size)]
        parts = [
            Part(str(p), n, p.stat().st_size, _fixed(n))
            for p in root.rglob("*")
            if p.is_file() and (n := p.relative_to(root).as_posix())
        ]
    hidden = re.compile(r"(^|/)[._]")
    known = (*BY_SUFFIX, *Spreadsheet.suffixes)
    parts = [p for p in parts if p.suffix in known and not hidden.search(p.name)]
    if not parts:
        raise FileError(f"{path} has no table in it: add files such as .parquet.")
    return sorted(parts, key=lambda part: part.name)


def _fixed(name: str) -> dict[str, str]:
    """Return columns from the names of folders, as Hive and Spark write them."""
    pairs = [folder.split("=", 1) for folder in PurePosixPath(name).parent.parts]
    return {pair[0]: unquote(pair[1]) for pair in pairs if len(pair) == 2}


def is_folder(path: str) -> bool:
    """Whether an output is a folder of parts.

    Parameters
    ----------
    path : str
        Where to write.

    Returns
    -------
    folder : bool
        True for folders that exist, and for names that end with a slash.
    """
    if path == "-":
        return False
    if path.endswith(("/", os.sep)):
        return True
    return not is_address(path) and Path(path).is_dir()


def exists(path: str) -> bool:
    """Whether a file exists.

    Parameters
    ----------
    path : str
        Its path or address.

    Returns
    -------
    exists : bool
        True if so.
    """
    if is_address(path):
        system, inner = _file_system(path)
        return bool(system.exists(inner))
    return Path(path).exists()


@contextmanager
def writing(path: str, *, force: bool) -> Iterator[BinaryIO]:
    """Write a file that appears only when complete, compressed as its suffix says.

    Parameters
    ----------
    path : str
        A path, an address, or "-".
    force : bool
        Whether the file may exist.

    Yields
    ------
    file : binary file
        To be written to.
    """
    with contextlib.ExitStack() as stack:
        file: Any
        if path == "-":
            file = sys.stdout.buffer
        elif is_address(path):
            file = stack.enter_context(_uploaded(path, force=force))
        else:
            file = stack.enter_context(replacing(path, force=force))
        compression = PurePosixPath(path).suffix.lower()
        if compression == ".gz":
            # The same bytes on every run.
            file = stack.enter_context(gzip.GzipFile("", "wb", fileobj=file, mtime=0))
        elif compression == ".bz2":
            file = stack.enter_context(bz2.open(file, "wb"))
        elif compression == ".xz":
            file = stack.enter_context(lzma.open(file, "wb"))
        elif compression == ".zst":
            import pyarrow as pa

            file = stack.enter_context(pa.CompressedOutputStream(file, "zstd"))
        yield file
        file.flush()


@contextmanager
def _uploaded(path: str, *, force: bool) -> Iterator[BinaryIO]:
    """Write to a temporary file, and upload it when it is complete."""
    if not force and exists(path):
        raise FileError(f"{path} exists: pass force=True to replace it, or rename.")
    system, inner = _file_system(path)
    with tempfile.TemporaryDirectory(prefix="fewlabels-") as folder:
        temporary = Path(folder, "part")
        with temporary.open("wb") as file:
            yield file
        with _said(path, "write"):
            system.makedirs(str(PurePosixPath(inner).parent), exist_ok=True)
            system.put_file(str(temporary), inner)


def read_bytes(path: str) -> bytes:
    """Read a small file.

    Parameters
    ----------
    path : str
        Its path or address.

    Returns
    -------
    data : bytes
        What it holds.
    """
    with Part(path, "file", 0).open() as opened:
        return opened.file.read()
