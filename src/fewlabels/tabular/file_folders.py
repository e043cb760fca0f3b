"""Folders of files as tables, and files sorted into folders by their labels."""

# SPDX-License-Identifier: BSD-3-Clause

import csv
import io
import os
import re
import shutil
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Any

from fewlabels._words import listed, plural
from fewlabels.preprocessing import FileError, Table, TableError
from fewlabels.preprocessing.cells import is_missing, unique_names
from fewlabels.tabular._documents import TEXT_SUFFIXES
from fewlabels.tabular._formats import BY_SUFFIX, DelimitedFile, Reading

__all__ = [
    "FILE",
    "LABEL",
    "check_sorting",
    "folder_kind",
    "folder_table",
    "labels_of",
    "refuse_folder_options",
    "sort_files",
    "split_files",
]

# Names of the columns of a folder of files.
FILE, LABEL = "file", "label"
# Folders that are no class.
UNLABELED = ("unlabelled", "unlabeled", "unsorted")
_NOT_IN_NAMES = re.compile(r'[<>:"/\\|?*\x00-\x1f]')


def _files_in(folder: Path, closed: list[str] | None = None) -> list[str]:
    """Files of a folder and of those in it, in the order of their names; no hidden.

    Links to folders are not followed, as they may lead back. Folders that cannot be
    opened are added to `closed`.
    """

    def refused(error: OSError) -> None:
        if closed is not None:
            closed.append(os.path.relpath(str(error.filename), folder))

    names = []
    for home, inner, files in os.walk(folder, onerror=refused):
        inner[:] = [name for name in inner if not name.startswith(".")]
        for path in (Path(home, name) for name in files if not name.startswith(".")):
            if path.is_file():
                names.append(path.relative_to(folder).as_posix())
    return sorted(names)


def _suffix(name: str) -> str:
    return PurePosixPath(name).suffix.lower()


def folder_kind(path: str) -> str:
    """Tell what the files of a folder hold that are a row each.

    Parameters
    ----------
    path : str
        Anything that a table can be read from.

    Returns
    -------
    kind : {"picture", "text", ""}
        Nothing for what is no folder, and for folders with more tables than such files,
        which are parts of one table.

    Examples
    --------
    >>> from fewlabels.tabular.file_folders import folder_kind
    >>> folder_kind("table.csv")
    ''
    """
    from fewlabels.embeddings import PICTURE_SUFFIXES

    if path == "-" or not os.path.isdir(path):
        return ""
    names = _files_in(Path(path))
    counts = Counter(map(_suffix, names))
    n_pictures, n_texts, n_tables = (
        sum(counts[suffix] for suffix in suffixes)
        for suffixes in (PICTURE_SUFFIXES, TEXT_SUFFIXES, BY_SUFFIX)
    )
    n_plain = counts[".txt"]  # which may be either
    if _are_parts([Path(path, name) for name in names if _suffix(name) == ".txt"]):
        n_texts -= n_plain
    else:
        n_tables -= n_plain
    if n_pictures > n_tables and n_pictures >= n_texts:
        return "picture"
    return "text" if n_texts > n_tables else ""


def _are_parts(paths: list[Path]) -> bool:
    """Whether plain files are tables: lines alike, and the same header in all."""
    headers = set()
    for path in paths[:3]:
        try:
            with path.open("rb") as file:
                lines = file.read(2**14).strip().splitlines()
        except OSError:
            return False
        signs = [s for s in b"\t;|," if lines and lines[0].count(s)]
        if not any(len({line.count(s) for line in lines[:3]}) == 1 for s in signs):
            return False
        headers.add(lines[0])
    return len(headers) == 1


def refuse_folder_options(source: str, how: Reading) -> None:
    """Raise for options of folders of files with anything else.

    Parameters
    ----------
    source : str
        Where the table comes from.
    how : Reading
        How to read it.
    """
    for name in ("labels", "embed_with"):
        if getattr(how, name) is not None:
            raise FileError(
                f"{source} is no folder of pictures or texts (given as {name}): leave "
                "that out."
            )


def split_files(
    folder: str, suffixes: frozenset[str], what: str
) -> tuple[list[str], list[str]]:
    """List the files of a folder with some suffixes.

    Parameters
    ----------
    folder : str
        The folder.
    suffixes : frozenset of str
        Suffixes of the files that are rows.
    what : str
        What these are, in the plural.

    Returns
    -------
    names : list of str
        Their paths within the folder.
    notes : list of str
        Which other files there are, and folders that cannot be opened.
    """
    closed: list[str] = []
    found = _files_in(Path(folder), closed)
    names = [n for n in found if _suffix(n) in suffixes and _is_text(n)]
    others = sorted(set(found) - set(names))
    notes = []
    if closed:
        n_closed = plural(len(closed), "folder")
        notes.append(f"{n_closed} left out, cannot be opened: {listed(closed, 5)}.")
    if others:
        shown = [name if _is_text(name) else ascii(name) for name in others]
        n_others = plural(len(others), "file")
        notes.append(f"{n_others} left out, not {what}: {listed(shown, 5)}.")
    return names, notes


def labels_of(names: list[str], given: Table | None, notes: list[str]) -> list[str]:
    """Find the labels of files.

    Parameters
    ----------
    names : list of str
        Their paths within the folder.
    given : Table or None
        Names of files and their labels; None to take the folder at the top.
    notes : list of str
        Gets what should be known of labels that are not used.

    Returns
    -------
    labels : list of str
        One per file, empty where there is none.
    """
    if given is None:
        return [_of_folder(name) for name in names]
    return _of_table(names, given, notes)


def folder_table(
    path: str, columns: Mapping[str, Sequence[str]], notes: Sequence[str]
) -> Table:
    """Make the table a file of its own, which is written with columns added.

    Parameters
    ----------
    path : str
        The folder.
    columns : dict of str to sequence of str
        Names of the files, labels, and perhaps others.
    notes : sequence of str
        What the owner of the folder should know.

    Returns
    -------
    table : Table
        A row for each file, which its name identifies.
    """
    text = io.StringIO(newline="")
    lines = csv.writer(text, lineterminator="\n")
    lines.writerow(columns)
    lines.writerows(zip(*columns.values(), strict=True))
    how = Reading(path, ".csv", delimiter=",", encoding="utf-8", header_row=1)
    table = DelimitedFile.read(text.getvalue().encode(), how)
    notes = [*table.notes, *notes]
    return replace(table, notes=notes, identifiers=frozenset([FILE]))


def _is_text(name: str) -> bool:
    """Whether the name of a file can be written: not every sequence of bytes can."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def _of_folder(name: str) -> str:
    """Take the folder at the top as the label; nothing for files outside of one."""
    top, _, inner = name.partition("/")
    return top if inner and top.lower() not in UNLABELED else ""


def _of_table(names: list[str], given: Table, notes: list[str]) -> list[str]:
    """Find the labels that a table has for files, by path or by name."""
    columns = {name.strip().lower(): name for name in given.names}
    if len(given.names) < 2:
        raise TableError(
            f"{given.source} has one column: labels of files are a table with a "
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
            f"{given.source} names no file of the folder; it names, for one, "
            f"{unknown[0]!r}, and the folder has {names[0]!r}."
        )
    if unknown:
        notes.append(
            f"{given.source}: {plural(len(unknown), 'label')} not used, for files that "
            f"were not found or share their name with others: {listed(unknown, 5)}."
        )
    return labels


def check_sorting(source: str, folder: str) -> None:
    """Complain now about a folder that files cannot be sorted into.

    Parameters
    ----------
    source : str
        The folder of files.
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
        The folder of files.
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
    >>> from fewlabels.tabular.file_folders import sort_files
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
    """Find a path that does not exist: files in several folders share names."""
    path, number = folder / name, 1
    while os.path.lexists(path):
        number += 1
        path = folder / f"{PurePosixPath(name).stem} ({number}){Path(name).suffix}"
    return path
