"""Read a whole table from a file, a folder, an address or a database."""

# SPDX-License-Identifier: BSD-3-Clause

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewlabels._words import listed, plural
from fewlabels.preprocessing import FileError, Table, TableError
from fewlabels.preprocessing.cells import object_array
from fewlabels.tabular._decoding import NoRowsError
from fewlabels.tabular._formats import Database, DelimitedFile, Reading, check_sheet
from fewlabels.tabular._places import (
    Part,
    check_columns,
    check_formats,
    find_parts,
    is_address,
    located,
)
from fewlabels.tabular._text import DelimitedText
from fewlabels.tabular._unpacking import check_text, decompressed, format_of
from fewlabels.tabular.file_folders import folder_kind, refuse_folder_options
from fewlabels.tabular.picture_folders import read_pictures
from fewlabels.tabular.text_folders import read_texts

# How to read a folder, by what its files hold.
FOLDERS = {"picture": read_pictures, "text": read_texts}


def read_place(given: str, how: Reading) -> Table:
    """Read a table from wherever it is.

    Parameters
    ----------
    given : str
        A file, a folder of parts or of pictures, an address, "-", or a table of a
        database.
    how : Reading
        How to read it.

    Returns
    -------
    table : Table
        Its rows.
    """
    place = located(given, how.sheet)
    how = replace(how, sheet=place.sheet)
    if place.database is not None:
        return place.database.read_path(_existing(place.path), how)
    if kind := folder_kind(place.path):
        return FOLDERS[kind](place.path, how)
    refuse_folder_options(given, replace(how, embed_with=None))
    parts = find_parts(place.path)
    several = len(parts) > 1 or parts[0].path != place.path
    if several:
        return _joined(given, parts, how)
    return _read_part(parts[0], how)


def _existing(path: str) -> str:
    """Check that a file exists; databases would create one, or fail obscurely."""
    try:
        with Path(path).open("rb"):
            return path
    except OSError as error:
        raise FileError(f"Cannot read {path}: {error.strerror}.") from None


def _read_part(part: Part, how: Reading) -> Table:
    if part.path != "-" and not is_address(part.path):
        with part.raw() as opened:
            kind = format_of(opened.file.read(4096), part.suffix)
        if issubclass(kind, Database):
            return kind.read_path(part.path, how)
    with part.raw() as opened:
        data = opened.file.read()
    return read_data(data, "" if part.path == "-" else part.name, how)


def read_data(data: bytes, file_name: str, how: Reading) -> Table:
    """Read the bytes of a file.

    Parameters
    ----------
    data : bytes
        The file, perhaps packed.
    file_name : str
        Its name, whose suffixes help to tell its format.
    how : Reading
        How to read it.

    Returns
    -------
    table : Table
        Its rows.
    """
    suffixes = [s.lower() for s in Path(file_name).suffixes]
    data, suffixes = decompressed(data, suffixes, how.name)
    if not data.strip(b" \r\n"):
        raise NoRowsError(f"{how.name} is empty: a table needs column names and rows.")
    suffix = suffixes[-1] if suffixes else ""
    kind = format_of(data, suffix)
    check_text(kind, data, how.name, encoded=how.encoding is not None)
    check_sheet(kind, how.sheet, how.name)
    return kind.read(data, replace(how, suffix=suffix))


def _joined(source: str, parts: list[Part], how: Reading) -> Table:
    """Read the parts of a folder as one table, which knows the origin of its rows."""
    kind = check_formats(source, parts)
    check_sheet(kind, how.sheet, source)
    tables: list[Table] = []
    read: list[Part] = []
    notes: list[str] = []
    for part in parts:
        try:
            table = part.completed(_read_part(part, replace(how, name=part.path)))
        except NoRowsError:
            notes.append(f"{part.path} has no rows.")
            continue
        if read:
            check_columns(kind, read[0], tables[0].names, part, table.names)
        tables.append(table)
        read.append(part)
    if not tables:
        n_files = plural(len(parts), "file")
        raise TableError(f"{source} contains {n_files} without any rows.")
    names = list(dict.fromkeys(name for table in tables for name in table.names))
    files = [[part.name] * t.n_rows for part, t in zip(read, tables, strict=True)]
    joined = Table(
        names,
        [stacked([column_or_none(t, name) for t in tables]) for name in names],
        source,
        _one_text([table.origin for table in tables]),
        files=object_array([name for part in files for name in part]),
    )
    some = listed([part.name for part in read], 3)
    notes.insert(0, f"{plural(len(read), 'file')} read as one table: {some}.")
    joined.notes = list(dict.fromkeys([*notes, *(n for t in tables for n in t.notes)]))
    return joined


def _one_text(files: Sequence[Any]) -> DelimitedFile | None:
    """Concatenate delimited files; None if they are not written alike."""
    if not all(isinstance(file, DelimitedFile) for file in files):
        return None
    texts: list[DelimitedText] = [file.text for file in files]
    first = texts[0]
    if len({(text.delimiter, text.encoding) for text in texts}) > 1:
        return None
    newline = next((end for text in texts for end in text.ends if end), "\n")
    records, ends, short = [first.records[0]], [first.ends[0]], dict[int, int]()
    for text in texts:
        ahead = len(records) - 1
        short |= {ahead + k: n for k, n in text.short.items() if k or text is first}
        records += text.records[1:]
        ends += [*text.ends[1:-1], text.ends[-1] or newline]
    return DelimitedFile(replace(first, records=records, ends=ends, short=short))


def column_or_none(table: Table, name: str) -> NDArray[Any]:
    """Return a column of a table, empty if it has none of this name."""
    if name in table.names:
        return table[name]
    return object_array([None] * table.n_rows)


def stacked(columns: list[NDArray[Any]]) -> NDArray[Any]:
    """Concatenate columns, as objects if their types differ."""
    columns = [column for column in columns if column.size] or columns[:1]
    kinds = {column.dtype.kind for column in columns}
    if len(kinds) == 1 or kinds <= {"i", "u", "f"}:
        return np.concatenate(columns)
    return object_array([value for column in columns for value in column.tolist()])
