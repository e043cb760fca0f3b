"""Pictures that the cells of a table name or hold."""

# SPDX-License-Identifier: BSD-3-Clause

import base64
import binascii
import os
import re
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import urlsplit
from urllib.request import url2pathname

from fewlabels.embeddings._pictures import PICTURE_SUFFIXES

_DATA_URI = re.compile(r"data:image/[a-z0-9.+-]+;base64,", re.IGNORECASE)
_SCHEME = re.compile(r"([a-z][a-z0-9+.-]+)://", re.IGNORECASE)


def picture_source(cell: Any, folder: str | os.PathLike[str]) -> Path | bytes | None:
    """Find the picture that a cell of a table names or holds.

    Parameters
    ----------
    cell : object
        A path, the URL of a file, or a data URI.
    folder : path-like
        Where paths begin.

    Returns
    -------
    picture : Path, bytes or None
        The file, which may not exist, or what a data URI holds; None for anything that
        is no picture by its name, and for addresses on a network: nothing is
        downloaded.

    Examples
    --------
    >>> from fewlabels.embeddings import picture_source
    >>> picture_source("cats/1.jpg", "photos").as_posix()
    'photos/cats/1.jpg'
    >>> picture_source("data:image/png;base64,aGk=", ".")
    b'hi'
    >>> picture_source("https://example.org/1.jpg", ".")
    """
    if not isinstance(cell, str):
        return None
    text = cell.strip()
    held = _DATA_URI.match(text)
    if held:
        try:
            return base64.b64decode(text[held.end() :])
        except binascii.Error:
            return b""
    if len(text) > 4096 or "\0" in text or "\n" in text:
        return None
    scheme = _SCHEME.match(text)
    if scheme and scheme[1].lower() == "file":
        parts = urlsplit(text)
        if parts.netloc not in ("", "localhost"):
            return None
        text = url2pathname(parts.path)
    elif scheme:
        return None
    if PurePosixPath(text).suffix.lower() not in PICTURE_SUFFIXES:
        return None
    path = Path(folder, text)
    if "\\" in text and not path.is_file():  # written on Windows
        path = Path(folder, text.replace("\\", "/"))
    return path
