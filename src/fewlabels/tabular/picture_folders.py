"""A folder of pictures as a table, and pictures sorted into folders by their labels."""

# SPDX-License-Identifier: BSD-3-Clause

import csv
import io
import os
import re
import shutil
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np

from fewlabels._words import listed, plural
from fewlabels.preprocessing import FileError, Table, TableError
from fewlabels.preprocessing.cells import is_missing, object_array, unique_names
from fewlabels.tabular._formats import BY_SUFFIX, DelimitedFile, Reading

__all__ = [
    "FILE",
    "LABEL",
    "check_sorting",
    "holds_pictures",
    "read_pictures",
    "sort_files",
]

# Names of the columns of a folder of pictures.
FILE, LABEL = "file", "label"
# Folders that are no class.
UNLABELED = ("unlabelled", "unlabeled")
_NOT_IN_NAMES = re.compile(r'[<>:"/\\|?*\x00-\x1f]')


def _files_in(folder: Path) -> list[str]:
    """Files of a folder and of those in it, in the order of their names; no hidden."""
    names = []
    for path in folder.rglob("*"):
        inner = path.relative_to(folder)
        if not any(part.startswith(".") for part in inner.parts) and path.is_file():
            names.append(inner.as_posix())
    return sorted(names)


def _suffix(name: str) -> str:
    return PurePosixPath(name).suffix.lower()


def holds_pictures(path: str) -> bool:
    """Whether a path is a folder of pictures, and not of the parts of a table.

    Parameters
    ----------
    path : str
        Anything that a table can be read from.

    Returns
    -------
    pictures : bool
        True for folders with more pictures than tables in them.

    Examples
    --------
    >>> from fewlabels.tabular.picture_folders import holds_pictures
    >>> holds_pictures("table.csv")
    False
    """
    from fewlabels.embeddings import PICTURE_SUFFIXES

    if path == "-" or not os.path.isdir(path):
        return False
    counts = Counter(_suffix(name) for name in _files_in(Path(path)))
    n_pictures = sum(counts[suffix] for suffix in PICTURE_SUFFIXES)
    return n_pictures > sum(counts[suffix] for suffix in BY_SUFFIX)


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

    root, notes = Path(path), list[str]()
    found = _files_in(root)
    names = [n for n in found if _suffix(n) in PICTURE_SUFFIXES and _is_text(n)]
    others = sorted(set(found) - set(names))
    if others:
        shown = [name if _is_text(name) else ascii(name) for name in others]
        n_others = plural(len(others), "file")
        notes.append(f"{n_others} left out, not pictures: {listed(shown, 5)}.")
    embedder = load_embedder(how.embed_with or "picture")
    if embedder.takes != "picture":
        raise TableError(
            f"The embedder {embedder.name!r} takes {embedder.takes}, no pictures."
        )
    embedded = embed_files(
        [root / name for name in names],
        embedder,
        cache=root,
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
    if how.labels is None:
        labels = [_of_folder(name) for name in names]
    else:
        labels = _of_table(names, how.labels, notes)
    table = _written(path, names, labels)
    return replace(
        table,
        names=[*table.names, embedder.name],
        columns=[*table.columns, object_array(list(vectors))],
        notes=[*table.notes, *notes],
        identifiers=frozenset([FILE]),
        derived=frozenset([embedder.name]),
    )


def _is_text(name: str) -> bool:
    """Whether the name of a file can be written: not every sequence of bytes can."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def _written(path: str, names: list[str], labels: list[str]) -> Table:
    """Make the table a file of its own, which is written with columns added."""
    text = io.StringIO(newline="")
    lines = csv.writer(text, lineterminator="\n")
    lines.writerow([FILE, LABEL])
    lines.writerows(zip(names, labels, strict=True))
    how = Reading(path, ".csv", delimiter=",", encoding="utf-8", header_row=1)
    return DelimitedFile.read(text.getvalue().encode(), how)


def _of_folder(name: str) -> str:
    """Take the folder at the top as the label; nothing for files outside of one."""
    top, _, inner = name.partition("/")
    return top if inner and top.lower() not in UNLABELED else ""


def _of_table(names: list[str], given: Table, notes: list[str]) -> list[str]:
    """Find the labels that a table has for files, by path or by name."""
    columns = {name.strip().lower(): name for name in given.names}
    if len(given.names) < 2:
        raise TableError(
            f"{given.source} has one column: labels of pictures are a table with a "
            f"column {FILE!r} and a column {LABEL!r}."
        )
    file_column = given[columns.get(FILE, given.names[0])]
    label_column = given[columns.get(LABEL, given.names[1])]
    places: dict[str, list[int]] = {}
    for place, name in enumerate(names):
        for known in {name, PurePosixPath(name).name}:
            places.setdefault(known, []).append(place)
    labels, unknown = [""] * len(names), []
    for file, label in zip(file_column, label_column, strict=True):
        if is_missing(file) or is_missing(label) or not str(label).strip():
            continue
        name = str(PurePosixPath(str(file).strip().replace("\\", "/")))
        found = places.get(name, [])
        if len(found) != 1:
            unknown.append(f"{name} (several)" if found else name)
        elif labels[found[0]] not in ("", str(label)):
            raise TableError(
                f"{given.source} has two labels for {name!r}: {labels[found[0]]!r} and "
                f"{str(label)!r}. Leave one of them out."
            )
        else:
            labels[found[0]] = str(label)
    if unknown and not any(labels):
        raise TableError(
            f"{given.source} names no picture of the folder; it names, for one, "
            f"{unknown[0]!r}, and the folder has {names[0]!r}."
        )
    if unknown:
        notes.append(
            f"{given.source}: {plural(len(unknown), 'label')} not used, for files that "
            f"were not found or share their name with others: {listed(unknown, 5)}."
        )
    return labels


def check_sorting(source: str, folder: str) -> None:
    """Complain now about a folder that pictures cannot be sorted into.

    Parameters
    ----------
    source : str
        The folder of pictures.
    folder : str
        Where folders of classes are to be made.
    """
    inner, outer = Path(folder).resolve(), Path(source).resolve()
    if inner == outer or outer in inner.parents:
        raise FileError(
            f"{folder} lies in {source}, where the next run would read it too: name "
            "another folder."
        )
    if Path(folder).exists() and (
        not Path(folder).is_dir() or any(Path(folder).iterdir())
    ):
        raise FileError(f"{folder} exists and is not an empty folder: name a new one.")


def sort_files(
    source: str, files: Sequence[str], labels: Sequence[Any], folder: str
) -> int:
    """Link files into folders by their labels; copy them where links cannot be made.

    Parameters
    ----------
    source : str
        The folder of pictures.
    files : sequence of str
        Files in it.
    labels : sequence
        Their labels.
    folder : str
        Where a folder is made for each label, new or empty.

    Returns
    -------
    n_copies : int
        How many files had to be copied.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from fewlabels.tabular.picture_folders import sort_files
    >>> with tempfile.TemporaryDirectory() as home:
    ...     photos, into = pathlib.Path(home, "photos"), pathlib.Path(home, "sorted")
    ...     photos.mkdir()
    ...     _ = (photos / "1.jpg").write_bytes(b"")
    ...     _ = sort_files(str(photos), ["1.jpg"], ["cat"], str(into))
    ...     [path.relative_to(into).as_posix() for path in into.rglob("*.jpg")]
    ['cat/1.jpg']
    """
    check_sorting(source, folder)
    classes = list(dict.fromkeys(map(str, labels)))
    plain = [_NOT_IN_NAMES.sub("_", name).strip(" .") or "_" for name in classes]
    folder_of = dict(zip(classes, unique_names(plain), strict=True))
    root, n_copies = Path(source).resolve(), 0
    for name in folder_of.values():
        Path(folder, name).mkdir(parents=True, exist_ok=True)
    for file, label in zip(files, labels, strict=True):
        there = _free(Path(folder, folder_of[str(label)]), PurePosixPath(file).name)
        try:
            os.symlink(root / file, there)
        except OSError:  # on Windows, links need a right that few have
            shutil.copy2(root / file, there)
            n_copies += 1
    return n_copies


def _free(folder: Path, name: str) -> Path:
    """Find a path that does not exist: pictures in several folders share names."""
    path, number = folder / name, 1
    while os.path.lexists(path):
        number += 1
        path = folder / f"{PurePosixPath(name).stem} ({number}){Path(name).suffix}"
    return path
