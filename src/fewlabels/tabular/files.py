"""Read tables from files of several formats, and write them with columns added."""

# SPDX-License-Identifier: BSD-3-Clause

import bz2
import contextlib
import gzip
import io
import lzma
import os
import re
import stat
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from fewlabels._words import listed, plural
from fewlabels.preprocessing import FileError, Table, TableError
from fewlabels.preprocessing.cells import object_array
from fewlabels.tabular._decoding import binary_file, looks_binary
from fewlabels.tabular._formats import (
    BY_SUFFIX,
    EXTRA,
    DelimitedFile,
    FileFormat,
    JsonFile,
    ParquetFile,
    Reading,
    Values,
    Workbook,
    check_sheet,
)

_MAGIC = (
    (b"\x1f\x8b", ".gz"),
    (b"BZh", ".bz2"),
    (b"\xfd7zXZ\x00", ".xz"),
    (b"\x28\xb5\x2f\xfd", ".zst"),
)


def _unpacked_zst(file: Any) -> Any:
    try:
        import pyarrow as pa
    except ImportError:
        raise TableError(f"Reading .zst needs pyarrow. {EXTRA}") from None
    return pa.input_stream(file, compression="zstd")


# From a file to one of what it holds.
UNPACKERS: dict[str, Callable[[Any], Any]] = {
    ".gz": gzip.open,
    ".bz2": bz2.open,
    ".xz": lzma.open,
    ".zst": _unpacked_zst,
}
COMPRESSIONS = (*UNPACKERS, ".zip")
# What archives hold besides files of their owner.
_LITTER = re.compile(r"(^|/)(__MACOSX/|\.|Thumbs\.db$|desktop\.ini$)", re.IGNORECASE)
# Seconds after which a file that was never finished is litter of a run that was killed.
_STALE = 3600.0


def read_table(
    path: str | os.PathLike[str] | BinaryIO,
    *,
    delimiter: str | None = None,
    encoding: str | None = None,
    sheet: str | None = None,
    header_row: int | None = None,
    features: str | os.PathLike[str] | None = None,
    progress: Callable[[float], None] | None = None,
) -> Table:
    r"""Read a table from a file.

    Parameters
    ----------
    path : path-like, "-" or binary file
        CSV or other delimited text, JSON (lines or a list of objects), Parquet or
        Excel (.xlsx), also compressed (.gz, .bz2, .xz, .zst, or .zip with one file in
        it). "-" is the standard input. Its first bytes decide the format,
        then its name.
    delimiter : str, default=None
        Of delimited text; None to guess among comma, semicolon, tab and bar.
    encoding : str, default=None
        Of text; None for UTF-8, or what a byte-order mark says.
    sheet : str, default=None
        Sheet of a workbook; None for the first.
    header_row : int, default=None
        Line with the names of the columns, 0 where there is none. None for the first
        line, unless it is a title or holds numbers above numbers.
    features : path-like, default=None
        A .npy file with a vector for every row, such as embeddings, or an .npz file
        that holds one such array: one more column, "features".
    progress : callable, default=None
        Told the share that is read.

    Returns
    -------
    table : Table
        The columns, and what is needed to write the file with columns added.

    Raises
    ------
    TableError
        If the file is empty, binary or not a table.

    See Also
    --------
    write_table : The way back.

    Examples
    --------
    >>> import io
    >>> from fewlabels.tabular import read_table
    >>> table = read_table(io.BytesIO(b"size;name\n1,5;a\n2,5;b\n"))
    >>> table.names, len(table)
    (['size', 'name'], 2)
    """
    if isinstance(path, str | os.PathLike):
        name = "standard input" if path == "-" else os.fspath(path)
        try:
            data = sys.stdin.buffer.read() if path == "-" else Path(path).read_bytes()
        except OSError as error:
            raise FileError(f"Cannot read {name}: {error.strerror}.") from None
    else:
        data, name = path.read(), getattr(path, "name", "table")
    suffixes = [s.lower() for s in Path(str(name)).suffixes]
    data, suffixes = _decompressed(data, suffixes, str(name))
    if not data.strip(b" \r\n"):
        raise TableError(f"{name} is empty: a table has a line of names and rows.")
    suffix = suffixes[-1] if suffixes else ""
    kind = format_of(data, suffix)
    if not kind.is_binary and encoding is None and looks_binary(data):
        if not data.startswith(_TEXT_MARKS):
            raise binary_file(str(name))
    check_sheet(kind, sheet, str(name))
    options = (delimiter, encoding, sheet, header_row, progress)
    table = kind.read(data, Reading(str(name), suffix, *options))
    return table if features is None else with_features(table, features)


_TEXT_MARKS = (b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")


def with_features(table: Table, path: str | os.PathLike[str]) -> Table:
    """Add the vectors of a file of NumPy as a column.

    Parameters
    ----------
    table : Table
        The table.
    path : path-like
        The file, see :func:`read_table`.

    Returns
    -------
    table : Table
        The same with one more column, "features", or "features_2" if there is one.
    """
    try:
        loaded = np.load(path, allow_pickle=False)
        if not isinstance(loaded, np.ndarray):
            names = list(loaded.files)
            if len(names) != 1:
                raise TableError(f"{path} holds {listed(names)}: pass one array.")
            loaded = loaded[names[0]]
    except OSError as error:
        raise FileError(f"Cannot read {path}: {error.strerror or error}.") from None
    except (ValueError, EOFError, zipfile.BadZipFile) as error:
        raise TableError(f"{path} is no array of NumPy (.npy): {error}.") from None
    if loaded.dtype.kind not in "biuf" or loaded.ndim < 2:
        raise TableError(
            f"{path} holds an array of {loaded.dtype} with {loaded.ndim} axes: pass "
            "numbers, a row of them for every row of the table."
        )
    if len(loaded) != table.n_rows:
        raise TableError(
            f"{path} has {plural(len(loaded), 'row')}, the table has "
            f"{table.n_rows:,}: they have to be the same rows in the same order."
        )
    rows = loaded.reshape(len(loaded), -1)
    (name,) = table.free_names(["features"])
    return replace(
        table,
        names=[*table.names, name],
        columns=[*table.columns, object_array(list(rows))],
    )


def _decompressed(
    data: bytes, suffixes: list[str], name: str
) -> tuple[bytes, list[str]]:
    """Unpack once, and take the suffix of the compression away."""
    found = next((s for magic, s in _MAGIC if data.startswith(magic)), None)
    if data.startswith(b"PK\x03\x04") and not _is_workbook(data):
        found = ".zip"
    if found is None:
        return data, suffixes
    inner = suffixes[:-1] if suffixes and suffixes[-1] in COMPRESSIONS else suffixes
    try:
        if found == ".zip":
            return _only_member(data, name)
        with UNPACKERS[found](io.BytesIO(data)) as file:
            return file.read(), inner
    except TableError:
        raise
    except Exception as error:
        raise TableError(f"{name} cannot be unpacked: {error}.") from None


def _only_member(data: bytes, name: str) -> tuple[bytes, list[str]]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = [
            member
            for member in archive.namelist()
            if not member.endswith("/") and not _LITTER.search(member)
        ]
        if len(members) != 1:
            raise TableError(
                f"{name} holds {len(members)} files ({listed(members, 5)}): unpack it "
                "and pass one of them."
            )
        ending = [s.lower() for s in Path(members[0]).suffixes]
        return archive.read(members[0]), ending


def _is_workbook(data: bytes) -> bool:
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            return "[Content_Types].xml" in archive.namelist()
    except zipfile.BadZipFile:
        return False


def format_of(data: bytes, suffix: str) -> type[FileFormat]:
    """Tell the format by what a file begins with, then by its name."""
    if data.startswith(b"PAR1"):
        return ParquetFile
    if data.startswith(b"PK\x03\x04"):
        return Workbook
    kind = BY_SUFFIX.get(suffix)
    if kind is not None and not kind.is_binary:
        return kind
    head = data[:4096].removeprefix(b"\xef\xbb\xbf").lstrip()
    return JsonFile if re.match(rb'\{\s*"|\[\s*\{', head) else DelimitedFile


def own_format(table: Table) -> type[FileFormat]:
    """Format that a table came in; delimited text for frames."""
    own = type(table.origin)
    return own if issubclass(own, FileFormat) else DelimitedFile


def output_format(
    own: type[FileFormat], suffixes: Sequence[str]
) -> tuple[type[FileFormat], str, str]:
    """Find out how a table is written.

    Parameters
    ----------
    own : type
        The format that it came in, see :func:`own_format`.
    suffixes : sequence of str
        Suffixes of the name of the file.

    Returns
    -------
    kind : type
        The format: that of the suffix, else the one that the table came in.
    suffix, compression : str
        The suffix of the format and that of the compression, or nothing.

    Raises
    ------
    FileError
        If there is no such format.
    """
    ends = [s.lower() for s in suffixes]
    compression = ends.pop() if ends and ends[-1] in COMPRESSIONS else ""
    suffix = ends[-1] if ends else ""
    if compression == ".zip":
        raise FileError("Tables cannot be written as .zip: use .gz.")
    if suffix and suffix not in BY_SUFFIX:
        raise FileError(
            f"Tables cannot be written as {suffix}: use {', '.join(sorted(BY_SUFFIX))}"
            ", with .gz behind it to compress."
        )
    return BY_SUFFIX.get(suffix, own), suffix, compression


def encode_table(
    table: Table, added: Values, suffixes: Sequence[str] = ()
) -> Iterator[bytes]:
    """Write a table with columns added, in some format.

    Parameters
    ----------
    table : Table
        The table.
    added : dict of str to sequence
        New columns.
    suffixes : sequence of str, default=()
        Suffixes of the name of the file, which decide on format and compression; none
        for the format that the table came in.

    Yields
    ------
    chunk : bytes
        The next bytes of the file.
    """
    kind, suffix, compression = output_format(own_format(table), suffixes)
    if isinstance(table.origin, kind):
        chunks = table.origin.with_columns(added)
    else:
        chunks = kind.write(table, added, suffix)
    return _compressed(chunks, compression) if compression else chunks


def _compressed(chunks: Iterable[bytes], compression: str) -> Iterator[bytes]:
    data = b"".join(chunks)
    match compression:
        case ".gz":
            yield gzip.compress(data, mtime=0)  # the same bytes on every run
        case ".bz2":
            yield bz2.compress(data)
        case ".xz":
            yield lzma.compress(data)
        case _:
            import pyarrow as pa

            sink = pa.BufferOutputStream()
            with pa.CompressedOutputStream(sink, "zstd") as stream:
                stream.write(data)
            yield sink.getvalue().to_pybytes()


def write_table(
    table: Table,
    path: str | os.PathLike[str],
    added: Values | None = None,
    *,
    force: bool = False,
) -> None:
    r"""Write a table with columns added; those that were there are not touched.

    Delimited text and JSON lines keep their bytes, workbooks their formulas and other
    sheets, Parquet its types. Text in new columns that a spreadsheet would take for a
    formula is put behind an apostrophe.

    Parameters
    ----------
    table : Table
        The table.
    path : path-like or "-"
        Where to write; the suffix says which format, and "-" is the standard output in
        the format that the table came in. The file appears when it is complete.
    added : dict of str to sequence, default=None
        New columns.
    force : bool, default=False
        Whether to replace a file that exists.

    Returns
    -------
    None
        The file is there.

    Raises
    ------
    FileError
        If the file exists already, or cannot be written there.

    Examples
    --------
    >>> import io, pathlib, tempfile
    >>> from fewlabels.tabular import read_table, write_table
    >>> table = read_table(io.BytesIO(b'"a" , b\r\n"1",  2\r\n'))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "out.csv")
    ...     write_table(table, path, {"c": [3]})
    ...     path.read_bytes()
    b'"a" , b,c\r\n"1",  2,3\r\n'
    """
    added = added or {}
    for name, values in added.items():
        if len(values) != table.n_rows:
            raise TableError(
                f"The new column {name!r} has {len(values)} values for "
                f"{plural(table.n_rows, 'row')}."
            )
    if path == "-":
        for chunk in encode_table(table, added):
            sys.stdout.buffer.write(chunk)
        sys.stdout.buffer.flush()
        return
    with replacing(path, force=force) as file:
        for chunk in encode_table(table, added, Path(path).suffixes[-2:]):
            file.write(chunk)


def fill_cells(table: Table, name: str, cells: Mapping[int, Any]) -> Table:
    r"""Put values into some cells of a column; all others stay as they are.

    Parameters
    ----------
    table : Table
        The table.
    name : str
        The column.
    cells : dict of int to object
        New values by row, counted from 0.

    Returns
    -------
    table : Table
        Another table; files keep the text of all other cells when it is written.

    Examples
    --------
    >>> import io
    >>> from fewlabels.tabular import fill_cells, read_table
    >>> from fewlabels.tabular.files import encode_table
    >>> table = read_table(io.BytesIO(b'"a" ,kind\n"1",\n 2,x\n'))
    >>> b"".join(encode_table(fill_cells(table, "kind", {0: "y"}), {}))
    b'"a" ,kind\n"1",y\n 2,x\n'
    """
    place = table.index(name, "column")
    columns = list(table.columns)
    columns[place] = object_array(columns[place].tolist())
    for row, value in cells.items():
        columns[place][row] = value
    filled = replace(table, columns=columns)
    if hasattr(table.origin, "with_cells"):  # a file, not a frame
        filled.origin = table.origin.with_cells(place, name, cells)
    return filled


# Files that are being written, to be removed on an interrupt.
pending: set[str] = set()


def check_writable(path: str | os.PathLike[str], *, force: bool) -> None:
    """Complain now about what would fail after the work is done.

    Parameters
    ----------
    path : path-like
        A file to be written.
    force : bool
        Whether it may exist.

    Raises
    ------
    FileError
        If the file exists, or its folder cannot be written to.
    """
    path = Path(path)
    if _is_special(path):
        return
    if path.is_dir():
        raise FileError(f"{path} is a folder: name a file in it.")
    if not path.parent.is_dir():
        raise FileError(f"There is no folder {path.parent}: make it first.")
    if path.exists() and not force:
        raise FileError(f"{path} exists: pass force=True to replace it, or rename.")
    try:
        with tempfile.TemporaryFile(dir=path.parent):
            pass
    except OSError as error:
        raise FileError(f"Cannot write {path}: {error.strerror}.") from None


def _is_special(path: Path) -> bool:
    """Whether a path is a device or a pipe, which cannot be replaced."""
    try:
        mode = path.stat().st_mode
    except OSError:
        return False
    return not stat.S_ISREG(mode) and not stat.S_ISDIR(mode)


@contextmanager
def replacing(path: str | os.PathLike[str], *, force: bool) -> Iterator[BinaryIO]:
    """Write a file that appears only when it is complete.

    Parameters
    ----------
    path : path-like
        The file.
    force : bool
        Whether it may exist.

    Yields
    ------
    file : binary file
        To be written to. It stays next to `path` under another name until the block has
        ended without an exception.
    """
    check_writable(path, force=force)
    path = Path(path)
    if _is_special(path):
        with path.open("wb") as device:
            yield device
        return
    try:
        handle, temporary = tempfile.mkstemp(
            prefix=f".{path.name}.", suffix=".part", dir=path.parent
        )
    except OSError as error:
        raise FileError(f"Cannot write {path}: {error.strerror}.") from None
    pending.add(temporary)
    _clear_stale(path)
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, _mode_for(path))
        _move(temporary, path, force)
    except OSError as error:
        raise FileError(f"Cannot write {path}: {error.strerror or error}.") from None
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)
        pending.discard(temporary)


def _clear_stale(path: Path) -> None:
    """Remove what earlier runs, killed while writing this file, have left."""
    pattern = re.compile(rf"\.{re.escape(path.name)}\.[a-z0-9_]{{8}}\.part")
    with contextlib.suppress(OSError):
        for other in path.parent.iterdir():
            if pattern.fullmatch(other.name) and str(other) not in pending:
                with contextlib.suppress(OSError):
                    if time.time() - other.stat().st_mtime > _STALE:
                        other.unlink()


def _mode_for(path: Path) -> int:
    """Permissions of the file that is replaced, or those of any new file."""
    if path.exists():
        return stat.S_IMODE(path.stat().st_mode)
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


def _move(temporary: str, path: Path, force: bool) -> None:
    if force:
        os.replace(temporary, path)
        return
    try:
        os.link(temporary, path)  # fails where a file has appeared meanwhile
    except FileExistsError:
        raise FileError(f"{path} has appeared meanwhile: pass force=True.") from None
    except OSError:  # a file system without links
        os.replace(temporary, path)


def remove_pending() -> None:
    """Remove files that are only half written."""
    for temporary in list(pending):
        with contextlib.suppress(OSError):
            os.unlink(temporary)
