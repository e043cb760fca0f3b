"""Read tables from files of several formats, and write them with columns added."""

# SPDX-License-Identifier: BSD-3-Clause

import bz2
import gzip
import lzma
import os
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from fewlabels._words import listed, plural
from fewlabels.preprocessing import FileError, Table, TableError
from fewlabels.preprocessing.cells import find_pictures, object_array
from fewlabels.tabular import _replacing
from fewlabels.tabular._extra_rows import real_rows
from fewlabels.tabular._formats import (
    BY_SUFFIX,
    READ_ONLY,
    Database,
    DatabasePlace,
    DelimitedFile,
    FileFormat,
    Reading,
    Spreadsheet,
    Values,
    check_new_table,
    database_place,
    insert_table,
    written,
)
from fewlabels.tabular._places import is_address, located
from fewlabels.tabular._reading import read_data, read_place
from fewlabels.tabular._replacing import pending, remove_pending, replacing
from fewlabels.tabular._unpacking import COMPRESSIONS, format_of

__all__ = [
    "Values",
    "check_suffix",
    "check_writable",
    "encode_table",
    "fill_cells",
    "home_of",
    "output_format",
    "output_suffix",
    "own_format",
    "pending",
    "read_table",
    "remove_pending",
    "replacing",
    "with_features",
    "write_table",
]


def read_table(
    path: str | os.PathLike[str] | BinaryIO,
    *,
    delimiter: str | None = None,
    encoding: str | None = None,
    sheet: str | None = None,
    header_row: int | None = None,
    keep_rows: bool = False,
    features: str | os.PathLike[str] | None = None,
    labels: str | os.PathLike[str] | None = None,
    embed_with: str | None = None,
    progress: Callable[[float], None] | None = None,
) -> Table:
    r"""Read a table from a file.

    Parameters
    ----------
    path : path-like, "-" or binary file
        CSV or other delimited text, JSON (lines or a list of objects), Parquet, or a
        spreadsheet (.xlsx, .xls, .xlsb, .ods), also compressed (.gz, .bz2, .xz, .zst,
        or .zip with one file in it); its first bytes decide the format, then its name.
        Or a table of a database, ``sqlite:file.db::table`` or
        ``duckdb:file.db::table``, a folder of files with the same columns or of
        pictures, or an address, also of a sheet of Google's. "-" is the standard input.
    delimiter : str, default=None
        Of delimited text; None to guess among comma, semicolon, tab and bar.
    encoding : str, default=None
        Of text; None for UTF-8, or what a byte-order mark says.
    sheet : str, default=None
        Sheet of a workbook, None for the first; or table of a database, None for the
        only one. ``::NAME`` behind the path says the same.
    header_row : int, default=None
        Line with the column names, 0 if there is none. None for the first line, unless
        it is a title or holds numbers above numbers.
    keep_rows : bool, default=False
        Whether totals, units, footnotes and blank lines count as rows. Otherwise they
        are not learned from, with a note, but are still written.
    features : path-like, default=None
        A .npy file with a vector for every row, such as embeddings, or an .npz file
        that holds one such array: one more column, "features".
    labels : path-like, default=None
        For a folder of pictures or texts, a table with their names (column "file") and
        labels (column "label"); without it, the folder they are in is their label.
    embed_with : str, default=None
        The network that turns pictures of a folder or of a column into vectors, see
        :func:`fewlabels.embeddings.load_embedder`.
    progress : callable, default=None
        Called with the share read so far.

    Returns
    -------
    table : Table
        The columns, with all that is needed to write the file again with columns added.

    Raises
    ------
    TableError
        If the file is empty, binary or not a table.

    See Also
    --------
    write_table : Write a table.

    Examples
    --------
    >>> import io
    >>> from fewlabels.tabular import read_table
    >>> table = read_table(io.BytesIO(b"size;name\n1,5;a\n2,5;b\n"))
    >>> table.names, len(table)
    (['size', 'name'], 2)
    """
    options = (delimiter, encoding, sheet, header_row, progress)
    if isinstance(path, str | os.PathLike):
        name = "standard input" if path == "-" else os.fspath(path)
        given = None if labels is None else read_table(labels)
        how = Reading(name, "", *options, given, embed_with)
        table = read_place(os.fspath(path), how)
    else:
        name = str(getattr(path, "name", "table"))
        table = read_data(path.read(), name, Reading(name, "", *options))
    if not keep_rows and not table.identifiers:
        table = real_rows(table)
    if embed_with is not None and not table.derived:
        table = with_network(table, embed_with)
    return table if features is None else with_features(table, features)


def with_network(table: Table, name: str) -> Table:
    """Choose the network for the pictures of a table.

    Parameters
    ----------
    table : Table
        The table.
    name : str
        See :func:`fewlabels.embeddings.load_embedder`.

    Returns
    -------
    table : Table
        The same, with its network.
    """
    found, doubts = find_pictures(table, table.names)
    if not found:
        why = next(iter(doubts.values()), "")
        raise FileError(
            f"{table.source} has no column of pictures, and is no folder of them "
            f"(given as embed_with): leave that out. {why}".strip()
        )
    return replace(table, embed_with=name)


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
                raise TableError(f"{path} contains {listed(names)}: pass one array.")
            loaded = loaded[names[0]]
    except OSError as error:
        raise FileError(f"Cannot read {path}: {error.strerror or error}.") from None
    except (ValueError, EOFError, zipfile.BadZipFile):
        raise TableError(
            f"{path} is not a NumPy array (.npy): write one with numpy.save."
        ) from None
    if loaded.dtype.kind not in "biuf" or loaded.ndim < 2:
        raise TableError(
            f"{path} holds an array of {loaded.dtype} with {loaded.ndim} axes: pass "
            "numbers, one vector for every row of the table."
        )
    if table.whole is not None and len(loaded) == table.whole.n_rows:
        loaded = loaded[table.rows_in_whole]
    if len(loaded) != table.n_rows:
        raise TableError(
            f"{path} has {plural(len(loaded), 'row')}, the table has "
            f"{table.n_rows:,}: both need the same rows in the same order."
        )
    rows = loaded.reshape(len(loaded), -1)
    (name,) = table.free_names(["features"])
    return replace(
        table,
        names=[*table.names, name],
        columns=[*table.columns, object_array(list(rows))],
    )


def own_format(table: Table) -> type[FileFormat]:
    """Format that a table came in; delimited text for frames."""
    own = type(table.origin)
    return own if issubclass(own, FileFormat) else DelimitedFile


def output_format(
    own: type[FileFormat], suffixes: Sequence[str]
) -> tuple[type[FileFormat], str, str]:
    """Choose the format in which a table is written.

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
    if suffix in READ_ONLY and not issubclass(READ_ONLY[suffix], Spreadsheet):
        raise FileError(
            f"To write to a database, name the table sqlite:FILE::NAME or "
            f"duckdb:FILE::NAME instead of a {suffix} file."
        )
    if suffix and suffix not in BY_SUFFIX:
        raise FileError(
            f"Tables cannot be written as {suffix}: use {', '.join(sorted(BY_SUFFIX))}"
            ", followed by .gz to compress."
        )
    return BY_SUFFIX.get(suffix, own), suffix, compression


def output_suffix(table: Table) -> str:
    """Choose the suffix of a file that a table is written to, next to its own.

    Parameters
    ----------
    table : Table
        The table.

    Returns
    -------
    suffix : str
        That of its source if such files can be written, else that of its format.
    """
    own = own_format(table)
    suffixes = Path(table.source).suffixes[-2:]
    try:
        output_format(own, suffixes)
    except FileError:
        suffixes = []
    return "".join(suffixes) or own.suffixes[0]


class Home(NamedTuple):
    """Where to put files that belong to a table.

    Attributes
    ----------
    folder : Path
        Next to the table, or where the user is if it is not on a disk.
    stem : str
        What their names begin with.
    file : Path or None
        The file, where the table is one that can be read as bytes.
    earlier : str
        What their names began with in version 0.1.
    """

    folder: Path
    stem: str
    file: Path | None
    earlier: str


def home_of(given: str | os.PathLike[str]) -> Home:
    """Find where to put files that belong to a table.

    Parameters
    ----------
    given : path-like
        A table as for :func:`read_table`.

    Returns
    -------
    home : Home
        Its folder, its name, and its file.

    Examples
    --------
    >>> from fewlabels.tabular.files import home_of
    >>> home_of("sqlite:shop.db::orders").stem
    'shop-orders'
    """
    text = os.fspath(given)
    place = located(text)
    if is_address(place.path):
        name = PurePosixPath(place.path).stem or "table"
        return Home(Path.cwd(), name, None, name)
    path = Path(place.path)
    earlier = path.name.removesuffix("".join(path.suffixes))
    packed = path.suffix.lower() in (".gz", ".bz2", ".xz", ".zip", ".zst")
    stem = Path(path.stem).stem if packed else path.stem
    named = "" if place.sheet is None else f"-{place.sheet}"
    plain = not named and place.database is None and not path.is_dir()
    if plain and path.is_file():
        with path.open("rb") as file:  # a database may keep rows in another file
            plain = not issubclass(format_of(file.read(64), ""), Database)
    source = path if plain else None
    return Home(path.resolve().parent, stem + named, source, earlier + named)


def check_suffix(own: type[FileFormat], path: str) -> None:
    """Raise now if the table cannot be written in the format of a file.

    Parameters
    ----------
    own : type
        The format that the table came in.
    path : str
        Where it is to be written.
    """
    if path != "-" and database_place(path) is None:
        output_format(own, Path(path).suffixes[-2:])


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
    if table.row_files is not None:
        (name,) = table.free_names(["file"])
        added = {name: table.row_files, **added}
    chunks = written(table, added, kind, suffix)
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
    r"""Write a table with columns added; existing columns do not change.

    Delimited text and JSON lines keep their bytes, workbooks their formulas and other
    sheets, Parquet its types. Text in new columns that a spreadsheet would take for a
    formula gets an apostrophe in front.

    Parameters
    ----------
    table : Table
        The table.
    path : path-like or "-"
        Where to write; the suffix says which format, and "-" is the standard output in
        the format that the table came in, or as CSV. The file appears when it is
        complete. ``sqlite:file.db::name`` and ``duckdb:file.db::name`` are new tables.
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
    database = database_place(os.fspath(path))
    if database is not None:
        _write_new_table(database, os.fspath(path), table, added)
        return
    with replacing(path, force=force) as file:
        for chunk in encode_table(table, added, Path(path).suffixes[-2:]):
            file.write(chunk)


def _write_new_table(
    place: DatabasePlace, text: str, table: Table, added: Values
) -> None:
    """Make a new table of a database, which may be new as well."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    data = b"".join(encode_table(table, added, [".parquet"]))
    arrow = pq.read_table(pa.BufferReader(data))
    if Path(place.path).exists():
        insert_table(place, text, arrow)
        return
    with tempfile.TemporaryDirectory(prefix="fewlabels-") as folder:
        new = place._replace(path=str(Path(folder, "database")))
        insert_table(new, text, arrow)
        with replacing(place.path, force=False) as file:
            file.write(Path(new.path).read_bytes())


def check_writable(path: str | os.PathLike[str], *, force: bool) -> None:
    """Raise now what would otherwise fail after the work is done.

    Parameters
    ----------
    path : path-like
        A file to be written, or a new table of a database.
    force : bool
        Whether a file may exist; tables of a database are never replaced.

    Raises
    ------
    FileError
        If the file or table exists, or its folder cannot be written to.
    """
    database = database_place(os.fspath(path))
    if database is not None:
        check_new_table(database, os.fspath(path))
        if Path(database.path).exists():
            return
        path = database.path
    _replacing.check_writable(path, force=force)


def fill_cells(table: Table, name: str, cells: Mapping[int, Any]) -> Table:
    r"""Replace some cells of a column; all others stay unchanged.

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
    if table.whole is not None:
        inside = table.rows_in_whole
        whole = {int(inside[row]): value for row, value in cells.items()}
        filled.whole = fill_cells(table.whole, name, whole)
        filled.origin = filled.whole.origin
    elif hasattr(table.origin, "with_cells"):  # a file, not a frame
        filled.origin = table.origin.with_cells(place, name, cells)
    return filled
