"""Read tables from files of several formats, and write them with columns added."""

# SPDX-License-Identifier: BSD-3-Clause

import bz2
import contextlib
import gzip
import io
import json
import lzma
import os
import stat
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from fewlabels.tabular._delimited import binary_file, decode, looks_binary, parse
from fewlabels.tabular._errors import FileError, TableError, listed, plural
from fewlabels.tabular._table import (
    Table,
    arrow_values,
    json_lines,
    neutral,
    object_array,
    unique_names,
)

KINDS = {
    ".csv": "delimited",
    ".tsv": "delimited",
    ".tab": "delimited",
    ".txt": "delimited",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".xlsx": "excel",
}
_MAGIC = (
    (b"\x1f\x8b", ".gz"),
    (b"BZh", ".bz2"),
    (b"\xfd7zXZ\x00", ".xz"),
    (b"\x28\xb5\x2f\xfd", ".zst"),
)
COMPRESSIONS = (".gz", ".bz2", ".xz", ".zst", ".zip")
_EXTRA = 'Install it with: pip install "fewlabels[cli]".'

Values = Mapping[str, Sequence[Any]]


def read_table(
    path: str | os.PathLike[str] | BinaryIO,
    *,
    delimiter: str | None = None,
    encoding: str | None = None,
    sheet: str | None = None,
    progress: Callable[[float], None] | None = None,
) -> Table:
    r"""Read a table from a file.

    Parameters
    ----------
    path : path-like, "-" or binary file
        CSV or other delimited text, JSON lines, Parquet or Excel (.xlsx), also
        compressed (.gz, .bz2, .xz, .zst, or .zip with one file in it). "-" is the
        standard input. Its first bytes decide the format, then its name.
    delimiter : str, default=None
        Of delimited text; None to guess among comma, semicolon, tab and bar.
    encoding : str, default=None
        Of text; None for UTF-8, or what a byte-order mark says.
    sheet : str, default=None
        Sheet of a workbook; None for the first.
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
    kind = _kind_of(data, suffixes)
    if kind == "parquet":
        return _read_parquet(data, str(name))
    if kind == "excel":
        return _read_excel(data, str(name), sheet)
    if encoding is None and looks_binary(data) and not data.startswith(_TEXT_MARKS):
        raise binary_file(str(name))
    text, codec, bom = decode(data, encoding, str(name))
    if kind == "jsonl":
        return _read_json_lines(text, str(name), codec, bom)
    if delimiter is None and suffixes and suffixes[-1] in (".tsv", ".tab"):
        delimiter = "\t"
    parsed = parse(
        text,
        delimiter=delimiter,
        encoding=codec,
        bom=bom,
        name=str(name),
        progress=progress,
    )
    columns = [object_array(values) for values in zip(*parsed.rows, strict=True)]
    parsed.rows = []  # the columns hold the same strings
    table = Table(unique_names(parsed.header), columns, str(name), "delimited", parsed)
    if parsed.short:
        first = min(parsed.short)
        table.notes.append(
            f"{plural(len(parsed.short), 'row')} had fewer fields than the first line "
            f"(row {first} is the first): the missing ones are taken as empty."
        )
    return table


_TEXT_MARKS = (b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")


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
        match found:
            case ".gz":
                return gzip.decompress(data), inner
            case ".bz2":
                return bz2.decompress(data), inner
            case ".xz":
                return lzma.decompress(data), inner
            case ".zst":
                import pyarrow as pa

                with pa.input_stream(io.BytesIO(data), compression="zstd") as stream:
                    return stream.read(), inner
            case _:
                with zipfile.ZipFile(io.BytesIO(data)) as archive:
                    members = [m for m in archive.namelist() if not m.endswith("/")]
                    if len(members) != 1:
                        raise TableError(
                            f"{name} holds {len(members)} files ({listed(members, 5)}"
                            "): unpack it and pass one of them."
                        )
                    ending = [s.lower() for s in Path(members[0]).suffixes]
                    return archive.read(members[0]), ending
    except TableError:
        raise
    except ImportError:
        raise TableError(f"Reading .zst needs pyarrow. {_EXTRA}") from None
    except Exception as error:
        raise TableError(f"{name} cannot be unpacked: {error}.") from None


def _is_workbook(data: bytes) -> bool:
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            return "[Content_Types].xml" in archive.namelist()
    except zipfile.BadZipFile:
        return False


def _kind_of(data: bytes, suffixes: list[str]) -> str:
    if data.startswith(b"PAR1"):
        return "parquet"
    if data.startswith(b"PK\x03\x04"):
        return "excel"
    kind = KINDS.get(suffixes[-1] if suffixes else "", "")
    if kind in ("delimited", "jsonl"):
        return kind
    head = data[:4096].removeprefix(b"\xef\xbb\xbf").lstrip()
    return "jsonl" if head.startswith((b'{"', b"{ ")) else "delimited"


def _read_parquet(data: bytes, name: str) -> Table:
    try:
        import pyarrow.parquet as pq
    except ImportError:
        raise TableError(f"Reading Parquet needs pyarrow. {_EXTRA}") from None
    try:
        arrow = pq.read_table(io.BytesIO(data))
    except Exception as error:
        raise TableError(f"{name} is not a Parquet file: {error}.") from None
    if not arrow.num_columns or not arrow.num_rows:
        raise TableError(f"{name} has no rows or no columns.")
    columns = [arrow_values(arrow.column(k)) for k in range(arrow.num_columns)]
    names = unique_names(arrow.column_names)
    return Table(names, columns, name, "parquet", arrow)


def _read_excel(data: bytes, name: str, sheet: str | None) -> Table:
    try:
        from openpyxl import load_workbook
    except ImportError:
        raise TableError(f"Reading Excel needs openpyxl. {_EXTRA}") from None
    try:
        # Values for reading; the workbook with its formulas is kept for writing.
        book = load_workbook(io.BytesIO(data), data_only=True, read_only=True)
    except Exception as error:
        raise TableError(f"{name} is not an Excel workbook: {error}.") from None
    if sheet is not None and sheet not in book.sheetnames:
        raise TableError(
            f"{name} has no sheet {sheet!r}; it has {listed(book.sheetnames)}."
        )
    sheet = sheet or book.sheetnames[0]
    cells = book[sheet]
    cells.reset_dimensions()  # some programs write a size that is too small
    rows = [list(row) for row in cells.iter_rows(values_only=True)]
    book.close()
    while rows and all(value is None for value in rows[-1]):
        rows.pop()
    if len(rows) < 2:
        raise TableError(f"{name}, sheet {sheet!r}, has no rows below its names.")
    width = max(
        (k + 1 for row in rows for k, value in enumerate(row) if value is not None),
        default=0,
    )
    rows = [row[:width] + [None] * (width - len(row)) for row in rows]
    header = ["" if value is None else str(value) for value in rows[0]]
    columns = [_cells(values) for values in zip(*rows[1:], strict=True)]
    table = Table(unique_names(header), columns, name, "excel", (data, sheet, width))
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        if any(n.startswith(_LOST_PARTS) for n in archive.namelist()):
            table.notes.append(
                f"Charts, pictures and macros of {name} do not come along when it is "
                "written as a workbook: keep the original."
            )
    return table


# Parts of a workbook that openpyxl does not write again.
_LOST_PARTS = ("xl/charts/", "xl/media/", "xl/vbaProject")


def _cells(values: Sequence[Any]) -> Any:
    """Cells of a sheet: numbers where all are, else objects."""
    given = [v for v in values if v is not None]
    if given and all(type(v) in (int, float) for v in given):
        if len(given) == len(values) and all(type(v) is int for v in given):
            with contextlib.suppress(OverflowError):
                return np.array(values, dtype=np.int64)
        if any(type(v) is float for v in given):
            return np.array([np.nan if v is None else v for v in values], dtype=float)
    return object_array(values)


def _read_json_lines(text: str, name: str, encoding: str, bom: bytes) -> Table:
    lines = list(io.StringIO(text, newline=""))
    rows: list[dict[str, Any]] = []
    names: dict[str, None] = {}
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except json.JSONDecodeError as error:
            raise TableError(
                f"{name}, line {number}: not JSON ({error.msg}). JSON lines have one "
                "object on every line."
            ) from None
        if not isinstance(row, dict):
            raise TableError(
                f"{name}, line {number}: not an object. JSON lines have one object, "
                "such as {...}, on every line."
            )
        names.update(dict.fromkeys(row))
        rows.append(row)
    if not rows or not names:
        raise TableError(f"{name} has no rows.")
    columns = [_json_column([row.get(key) for row in rows]) for key in names]
    return Table(list(names), columns, name, "jsonl", (lines, encoding, bom))


def _json_column(values: list[Any]) -> Any:
    nested = any(isinstance(v, dict | list) for v in values)
    if nested:
        return object_array(
            [json.dumps(v) if isinstance(v, dict | list) else v for v in values]
        )
    return _cells(values)


def output_format(table: Table, suffixes: Sequence[str]) -> tuple[str, str, str]:
    """Find out how a table is written.

    Parameters
    ----------
    table : Table
        The table.
    suffixes : sequence of str
        Suffixes of the name of the file.

    Returns
    -------
    kind : str
        As in :class:`Table`.
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
    if suffix and suffix not in KINDS and table.kind != "delimited":
        raise FileError(
            f"Tables cannot be written as {suffix}: use {', '.join(sorted(KINDS))}, "
            "with .gz behind it to compress."
        )
    own = table.kind if table.kind != "frame" else "delimited"
    return KINDS.get(suffix, own), suffix, compression


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
    kind, suffix, compression = output_format(table, suffixes)
    chunks = _encoded(table, added, kind, suffix)
    return _compressed(chunks, compression) if compression else chunks


def _encoded(table: Table, added: Values, kind: str, suffix: str) -> Iterator[bytes]:
    texts = {name: [neutral(v) for v in values] for name, values in added.items()}
    plain = {
        name: [neutral(v) if isinstance(v, str) else _plain(v) for v in values]
        for name, values in added.items()
    }
    match kind:
        case "delimited" if table.kind == "delimited":
            names = [neutral(name) for name in texts]
            return table.origin.with_columns(names, list(texts.values()))
        case "jsonl" if table.kind == "jsonl":
            lines, encoding, bom = table.origin
            return json_lines(lines, encoding, bom, plain)
        case "parquet" if table.kind == "parquet":
            return _parquet(table.origin, plain)
        case "excel" if table.kind == "excel":
            return _workbook(table.origin, plain)
        case "delimited":
            sign = "\t" if suffix in (".tsv", ".tab") else ","
            frame = _frame(table, texts)
            return iter([frame.to_csv(index=False, sep=sign).encode()])
        case "jsonl":
            frame = _frame(table, plain)
            text = frame.to_json(orient="records", lines=True, force_ascii=False)
            return iter([text.encode()])
        case "parquet":
            import pyarrow as pa

            arrow = pa.Table.from_pandas(table.to_pandas(), preserve_index=False)
            return _parquet(arrow, plain)
        case _:
            buffer = io.BytesIO()
            _frame(table, plain).to_excel(buffer, index=False)
            return iter([buffer.getvalue()])


def _plain(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else value


def _frame(table: Table, added: Values) -> Any:
    return table.to_pandas().assign(**{k: list(v) for k, v in added.items()})


def _parquet(arrow: Any, added: Values) -> Iterator[bytes]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    for name, values in added.items():
        arrow = arrow.append_column(name, pa.array(list(values)))
    buffer = io.BytesIO()
    pq.write_table(arrow, buffer)
    yield buffer.getvalue()


def _workbook(origin: tuple[bytes, str, int], added: Values) -> Iterator[bytes]:
    from openpyxl import load_workbook

    data, sheet, width = origin
    book = load_workbook(io.BytesIO(data), keep_vba=False)
    cells = book[sheet]
    for place, (name, values) in enumerate(added.items(), start=width + 1):
        for row, value in enumerate([neutral(name), *values], start=1):
            cell = cells.cell(row=row, column=place, value=value)
            if isinstance(value, str):
                cell.data_type = "s"  # never a formula
    buffer = io.BytesIO()
    book.save(buffer)
    yield buffer.getvalue()


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


# Files that are being written, for whoever has to leave at once.
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
        raise FileError(f"{path} exists: pass --force to replace it, or rename.")
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
        To be written to. It lies beside `path` under another name until the block has
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
        raise FileError(f"{path} has appeared meanwhile: pass --force.") from None
    except OSError:  # a file system without links
        os.replace(temporary, path)


def remove_pending() -> None:
    """Remove files that are only half written."""
    for temporary in list(pending):
        with contextlib.suppress(OSError):
            os.unlink(temporary)
