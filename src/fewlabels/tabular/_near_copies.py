"""Near copies among the rows of a table, and the note about them."""

# SPDX-License-Identifier: BSD-3-Clause

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse
from scipy.sparse.csgraph import connected_components

from fewlabels._words import plural
from fewlabels.embeddings import UnreadableError, picture_source, read_picture
from fewlabels.graphs import near_copies
from fewlabels.preprocessing import ColumnDescription, Table, TableTransformer
from fewlabels.preprocessing.cells import find_pictures, folder_of
from fewlabels.tabular.telling import shortened

# Beyond this many rows, only those with a label are compared.
_ALL_ROWS = 5000
# Labelled rows whose pictures are compared by their pixels, and pixels of a side.
# Saving small pictures again changes their embeddings more than their pixels. These
# limits find all of 80 pictures that were saved again, resized or made lighter; of
# 1,500 different ones each of CIFAR-10, Fashion-MNIST and digits they take 0 to 0.7 %
# for copies (2026-11-18, benchmarks/pictures.py copies).
_MOST_SEEN = 2000
_PIXELS = 16
_OF_PIXELS = (0.1, 0.2, 0.4)
# Vectors of this length are embeddings.
_EMBEDDING = 32


def picture_column(table: Table, columns: Sequence[ColumnDescription]) -> str | None:
    """Name the column of pictures, or of the files of a folder of pictures.

    Parameters
    ----------
    table : Table
        The table.
    columns : sequence of ColumnDescription
        Its columns.

    Returns
    -------
    name : str or None
        The first such column.
    """
    names = [c.name for c in columns if c.kind == "picture"]
    if table.derived:
        names += find_pictures(table, sorted(table.identifiers))[0]
    return names[0] if names else None


def copied_rows(
    table: Table,
    transformer: TableTransformer,
    features: Any,
    given: NDArray[np.bool_],
) -> tuple[NDArray[np.intp] | None, list[str]]:
    """Group rows whose pictures, embeddings or only text are nearly the same.

    Parameters
    ----------
    table : Table
        The table.
    transformer : TableTransformer
        What made its features.
    features : {ndarray, csr_array} of shape (n_rows, n_features)
        The features.
    given : ndarray of bool of shape (n_rows,)
        Which rows have a label.

    Returns
    -------
    groups : ndarray of shape (n_rows,) or None
        The group of every row; None where there is nothing to compare.
    notes : list of str
        How many there are, with examples.
    """
    rows = _compared(transformer, features)
    if rows is None:
        return None, []
    present, vectors = rows
    if table.n_rows > _ALL_ROWS:
        present &= given
    places = np.flatnonzero(present)
    groups = _joined(np.arange(table.n_rows), places, near_copies(vectors[places]))
    pictures = picture_column(table, transformer.columns_)
    if pictures is not None:
        some = np.flatnonzero(given)[:_MOST_SEEN]
        seen = {row: small_picture(table, pictures, row) for row in some.tolist()}
        places = np.array([row for row, p in seen.items() if p is not None], dtype=int)
        if places.size:
            small = np.array([seen[row] for row in places.tolist()])
            groups = _joined(groups, places, near_copies(small, limits=_OF_PIXELS))
    return groups, _note(table, pictures, groups)


def _joined(
    groups: NDArray[np.intp], places: NDArray[np.intp], found: NDArray[np.intp]
) -> NDArray[np.intp]:
    """Join groups of all rows with those found among some; name them by a row."""
    n = groups.size
    ends = (np.r_[np.arange(n), places], np.r_[groups, n + found])
    pairs = csr_array((np.ones(ends[0].size), ends), shape=(2 * n, 2 * n))
    joined = connected_components(pairs, directed=False)[1][:n]
    _, first, member = np.unique(joined, return_index=True, return_inverse=True)
    return first[member]


def small_picture(table: Table, name: str, row: int) -> NDArray[Any] | None:
    """Reduce a picture to few pixels of mean zero; None if it cannot be read."""
    source = picture_source(table[name][row], folder_of(table))
    try:
        data = source if isinstance(source, bytes | None) else source.read_bytes()
        if data is None:
            return None
        pixels = read_picture(data, _PIXELS).astype(np.float64).ravel()
    except (OSError, UnreadableError):
        return None
    return pixels - pixels.mean()


def _compared(
    transformer: TableTransformer, features: Any
) -> tuple[NDArray[np.bool_], Any] | None:
    """Return vectors that show copies, and which rows have them."""
    columns = transformer.columns_
    if issparse(features):
        return np.diff(features.indptr) > 0, features
    for encoder in transformer.encoders_:
        column = encoder.column
        if column.kind == "picture" or (
            column.kind == "vector" and encoder.mean.size >= _EMBEDDING  # type: ignore[attr-defined]
        ):
            place = [c.name for c in columns].index(column.name)
            own = features[:, transformer.feature_columns_ == place]
            return encoder.restored(own)  # type: ignore[attr-defined]
    return None


def _note(table: Table, name: str | None, groups: NDArray[np.intp]) -> list[str]:
    sizes = np.bincount(groups, minlength=groups.size)
    first = np.flatnonzero(sizes > 1)
    if not first.size:
        return []
    largest = first[np.argsort(-sizes[first], kind="stable")[:3]]
    examples = [_named(table, name, np.flatnonzero(groups == g)) for g in largest]
    n = int(sizes[first].sum())
    return [
        f"{plural(n, 'row')} in {plural(first.size, 'group')} are near copies of each "
        f"other ({'; '.join(examples)}): labels of a group are held out together, so "
        "that copies do not make the error look smaller."
    ]


def _named(table: Table, name: str | None, rows: NDArray[np.intp]) -> str:
    """Name some rows of a group, by their pictures if they have one."""
    shown = rows[:3].tolist()
    if name is not None:
        texts = [shortened(table[name][row], 40) for row in shown]
    else:
        texts = [f"row {table.row_numbers[row]:,}" for row in shown]
    more = f" and {rows.size - 3:,} more" if rows.size > 3 else ""
    return ", ".join(texts) + more
