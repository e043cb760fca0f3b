"""A folder of pictures as a table."""

# SPDX-License-Identifier: BSD-3-Clause

from dataclasses import replace
from pathlib import Path

import numpy as np

from fewlabels._words import listed, plural
from fewlabels.preprocessing import Table, TableError
from fewlabels.preprocessing.cells import object_array
from fewlabels.tabular._formats import Reading
from fewlabels.tabular.file_folders import (
    FILE,
    LABEL,
    folder_table,
    labels_of,
    split_files,
)

__all__ = ["read_pictures"]


def read_pictures(path: str, how: Reading) -> Table:
    """Read a folder of pictures as a table: a row for each.

    Labels are the names of the folders at the top, or what a table of file names and
    labels says. The last column has the vectors that a network makes of the pictures,
    and its name; it is learned from and not written.

    Parameters
    ----------
    path : str
        The folder.
    how : Reading
        Has the labels, the embedder, and whom to tell the share that is read.

    Returns
    -------
    table : Table
        Columns "file", "label", and the vectors. Files that are no pictures, or broken,
        are left out and noted.
    """
    from fewlabels.embeddings import PICTURE_SUFFIXES, embed_files, load_embedder

    names, notes = split_files(path, PICTURE_SUFFIXES, "pictures")
    embedder = load_embedder(how.embed_with or "picture")
    if embedder.takes != "picture":
        raise TableError(
            f"The embedder {embedder.name!r} takes {embedder.takes}, no pictures."
        )
    embedded = embed_files(
        [Path(path, name) for name in names],
        embedder,
        cache=path,
        progress=how.progress or "auto",
    )
    unread = [f"{names[k]}: {why}" for k, why in embedded.unread.items()]
    if unread:
        notes.append(
            f"{plural(len(unread), 'file')} left out, which cannot be read: "
            f"{listed(unread, 10)}."
        )
    notes += [embedded.note] if embedded.note else []
    kept = [k for k in range(len(names)) if k not in embedded.unread]
    if not kept:
        raise TableError(f"{path} holds no picture that can be read. {' '.join(notes)}")
    names = [names[k] for k in kept]
    vectors = embedded.vectors[kept]
    vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
    labels = labels_of(names, how.labels, notes)
    table = folder_table(path, {FILE: names, LABEL: labels}, notes)
    return replace(
        table,
        names=[*table.names, embedder.name],
        columns=[*table.columns, object_array(list(vectors))],
        derived=frozenset([embedder.name]),
    )
