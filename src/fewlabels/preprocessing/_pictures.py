"""Columns of pictures: find them, and turn their cells into vectors."""

# SPDX-License-Identifier: BSD-3-Clause

import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewlabels._words import listed, plural
from fewlabels.embeddings import load_embedder, picture_source
from fewlabels.preprocessing._description import ColumnDescription
from fewlabels.preprocessing._errors import TableError
from fewlabels.preprocessing._table import Table
from fewlabels.preprocessing._values import is_missing, object_array

# Cells by which a column of pictures is recognised.
_SAMPLE = 50


def folder_of(table: Table) -> Path:
    """Folder in which paths in the cells of a table begin.

    Parameters
    ----------
    table : Table
        The table.

    Returns
    -------
    folder : Path
        The folder of the file, or the one that the table is; the current folder where
        a table is no file.
    """
    source = Path(table.source)
    return source if source.is_dir() else source.parent


def find_pictures(
    table: Table, names: Sequence[str]
) -> tuple[list[str], dict[str, str]]:
    """Find the columns whose cells are pictures.

    Parameters
    ----------
    table : Table
        The table.
    names : sequence of str
        Columns whose kind is not known.

    Returns
    -------
    pictures : list of str
        Those in which most cells are data URIs or name files that exist.
    doubts : dict of str to str
        Why other columns, which name pictures, are not among them.
    """
    pictures: list[str] = []
    doubts: dict[str, str] = {}
    folder = folder_of(table)
    for name in names:
        found = _sources(table[name], folder)
        if not found:
            continue
        there = [s for s in found if isinstance(s, bytes) or s.is_file()]
        if 2 * len(there) <= len(found):
            first = next(s for s in found if s not in there)
            doubts[name] = (
                f"Column {name!r} names pictures, of which {len(there)} of "
                f"{len(found)} were found (not, for one, {str(first)!r}): they are not "
                "looked at."
            )
        else:
            pictures.append(name)
    return pictures, doubts


def _sources(cells: NDArray[Any], folder: Path) -> list[Path | bytes]:
    """Return the pictures of some cells; none unless most of them are such."""
    if cells.dtype.kind != "O":
        return []
    texts = [v for v in cells[: 10 * _SAMPLE] if isinstance(v, str) and v.strip()]
    sample = texts[:: max(1, len(texts) // _SAMPLE)][:_SAMPLE]
    found = [s for v in sample if (s := picture_source(v, folder)) is not None]
    return found if 2 * len(found) > len(sample) else []


def with_embedder(column: ColumnDescription, name: str | None) -> ColumnDescription:
    """Note the embedder of pictures; without its package, they are left out.

    Parameters
    ----------
    column : ColumnDescription
        A column of pictures.
    name : str or None
        The embedder; None for the default.

    Returns
    -------
    column : ColumnDescription
        With the embedder in its notation.
    """
    try:
        embedder = load_embedder(name or "picture")
    except ImportError as error:
        if name is not None:
            raise
        why = f"Column {column.name!r} holds pictures, which are not looked at: {error}"
        return replace(column, kind="ignored", reason="not installed", note=why)
    if embedder.takes != "picture":
        raise TableError(
            f"The embedder {embedder.name!r} takes {embedder.takes}, no pictures."
        )
    return replace(column, notation=f"{embedder.n_dimensions} {name or embedder.name}")


def embedded_pictures(
    table: Table, column: ColumnDescription, progress: Any = False
) -> tuple[NDArray[Any], ColumnDescription]:
    """Turn a column of pictures into vectors of length one.

    Parameters
    ----------
    table : Table
        The table.
    column : ColumnDescription
        The column, with its embedder.
    progress : bool, "auto" or callable, default=False
        See :func:`fewlabels.embeddings.embed_files`.

    Returns
    -------
    vectors : ndarray of object of shape (n_rows,)
        None where there is no picture.
    column : ColumnDescription
        With the cells that hold none that can be read, of which there is a warning.
    """
    from fewlabels.embeddings import embed_files

    folder, cells = folder_of(table), table[column.name]
    given = [picture_source(cell, folder) for cell in cells]
    rows = [row for row, picture in enumerate(given) if picture is not None]
    embedder = load_embedder(column.notation.partition(" ")[2], known=True)
    found = embed_files(
        [p for p in given if p is not None],
        embedder,
        cache=folder if Path(table.source).exists() else None,
        progress=progress,
    )
    lengths = np.linalg.norm(found.vectors, axis=1, keepdims=True)
    units = found.vectors / np.maximum(lengths, 1e-12)
    vectors = object_array([None] * cells.size)
    for place, row in enumerate(rows):
        if place not in found.unread:
            vectors[row] = units[place]
    unread = {rows[place]: why for place, why in found.unread.items()}
    for row, picture in enumerate(given):
        if picture is None and not is_missing(cells[row]):
            unread[row] = "no picture"
    for note in _notes(table, column.name, unread, found.note):
        warnings.warn(note, UserWarning, stacklevel=2)
    n_missing = sum(v is None for v in vectors)
    odd = tuple(_shown(cells[row]) for row in list(unread)[:3])
    column = replace(column, n_missing=n_missing, n_odd=len(unread), odd=odd)
    if n_missing == cells.size:
        column = replace(column, kind="empty", reason="no picture can be read")
    return vectors, column


def _notes(table: Table, name: str, unread: dict[int, str], note: str) -> list[str]:
    notes = [note] if note else []
    if unread:
        cells = table[name]
        said = [f"{_shown(cells[row])}: {unread[row]}" for row in sorted(unread)]
        notes.append(
            f"Column {name!r}: {plural(len(unread), 'picture')} cannot be read and "
            f"count{'s' * (len(unread) == 1)} as missing: {listed(said, 5)}."
        )
    return notes


def _shown(cell: Any) -> str:
    text = str(cell).strip()
    return text if len(text) <= 60 else text[:50] + "..."
