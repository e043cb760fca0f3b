"""A folder of texts as a table."""

# SPDX-License-Identifier: BSD-3-Clause

from dataclasses import replace
from pathlib import Path

from fewlabels._words import listed, plural
from fewlabels.embeddings import UnreadableError
from fewlabels.preprocessing import Table, TableError
from fewlabels.tabular._documents import MAX_CHARACTERS, TEXT_SUFFIXES, read_document
from fewlabels.tabular._formats import Reading
from fewlabels.tabular.file_folders import (
    FILE,
    LABEL,
    folder_table,
    labels_of,
    split_files,
)

__all__ = ["TEXT", "read_texts"]

# Name of the column of texts.
TEXT = "text"


def read_texts(path: str, how: Reading) -> Table:
    """Read a folder of texts, web pages, mails and PDF as a table: a row for each.

    Labels are the names of the folders at the top, or what a table of file names and
    labels says.

    Parameters
    ----------
    path : str
        The folder.
    how : Reading
        Has the labels, the encoding, and whom to tell the share that is read.

    Returns
    -------
    table : Table
        Columns "file", "label" and "text". Files without a text are left out and noted.
    """
    found, notes = split_files(path, TEXT_SUFFIXES, "texts")
    names: list[str] = []
    texts: list[str] = []
    unread: list[str] = []
    guesses: dict[str, list[str]] = {"encoding": [], "cut": []}
    for place, name in enumerate(found):
        try:
            data = Path(path, name).read_bytes()
            text, guess = read_document(data, Path(name).suffix.lower(), how.encoding)
        except OSError as error:
            unread.append(f"{name}: {error.strerror or error}")
        except UnreadableError as error:
            unread.append(f"{name}: {error}")
        else:
            names.append(name)
            texts.append(text)
            if guess:
                guesses[guess].append(name)
        if how.progress is not None:
            how.progress((place + 1) / len(found))
    for several, what in (
        (unread, "left out, without a text that can be read"),
        (
            guesses["encoding"],
            "read as Windows-1252, not being UTF-8 (pass encoding='NAME' if not so)",
        ),
        (guesses["cut"], f"cut to {MAX_CHARACTERS:,} characters"),
    ):
        if several:
            notes.append(
                f"{plural(len(several), 'file')} {what}: {listed(several, 10)}."
            )
    if not names:
        raise TableError(f"{path} holds no text that can be read. {' '.join(notes)}")
    labels = labels_of(names, how.labels, notes)
    table = folder_table(path, {FILE: names, LABEL: labels, TEXT: texts}, notes)
    return replace(table, texts=frozenset([TEXT]))
