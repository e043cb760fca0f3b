"""Decode bytes to text: encodings, byte-order marks, and files that are not text."""

# SPDX-License-Identifier: BSD-3-Clause

import codecs
import io
from collections.abc import Iterator
from typing import Any, BinaryIO

from fewlabels.preprocessing import TableError

_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16, whose mark begins this one
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


class NoRowsError(TableError):
    """A file is empty, or has column names but no rows."""


def decode(data: bytes, encoding: str | None, name: str) -> tuple[str, str, bytes]:
    """Decode a file of text.

    Parameters
    ----------
    data : bytes
        The file.
    encoding : str or None
        Its encoding; None for the one of its byte-order mark, or UTF-8 without a mark.
    name : str
        What to call it in messages.

    Returns
    -------
    text : str
        The text, without a byte-order mark.
    encoding : str
        The encoding.
    bom : bytes
        The mark.
    """
    guess, bom = mark_of(data, encoding)
    try:
        text = data[len(bom) :].decode(guess)
    except UnicodeDecodeError as error:
        if encoding is None and looks_binary(data):
            raise binary_file(name) from None
        raise TableError(
            f"{name} is not {guess.upper()} text (byte {error.start + len(bom):,}): "
            "pass encoding='cp1252' if it comes from Windows, or its actual encoding."
        ) from None
    if "\0" in text:
        raise binary_file(name)
    return text, guess, bom


def mark_of(data: bytes, encoding: str | None) -> tuple[str, bytes]:
    """Find the encoding and the byte-order mark of a text from its first bytes.

    Parameters
    ----------
    data : bytes
        The file, or its beginning.
    encoding : str or None
        As given.

    Returns
    -------
    encoding : str
        As Python spells it.
    bom : bytes
        The mark, or nothing.
    """
    guess = _family(encoding or "utf-8")
    for mark, codec in _BOMS:
        # The names UTF-8 and UTF-16 do not say whether there is a mark: keep it.
        if data.startswith(mark) and (encoding is None or codec.startswith(guess)):
            return codec, mark
    if guess in ("utf-16", "utf-32"):
        guess += "-le"  # without a mark, as Windows writes it
    try:
        codecs.lookup(guess)
    except LookupError:
        raise TableError(
            f"There is no encoding {guess!r}: try utf-8, cp1252 or latin-1."
        ) from None
    return guess, b""


class _Chained(io.RawIOBase):
    """A file whose first bytes were read already."""

    def __init__(self, head: bytes, file: BinaryIO) -> None:
        self._head, self._file = memoryview(head), file

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        part = self._head[: len(buffer)]
        if not part:
            part = memoryview(self._file.read(len(buffer)))
        else:
            self._head = self._head[len(part) :]
        buffer[: len(part)] = part
        return len(part)


def chained(head: bytes, file: BinaryIO) -> BinaryIO:
    """Put bytes that were read already before the rest of their file.

    Parameters
    ----------
    head : bytes
        The beginning.
    file : binary file
        The rest.

    Returns
    -------
    file : binary file
        Both.
    """
    return io.BufferedReader(_Chained(head, file), 2**20)


def text_lines(file: BinaryIO, encoding: str, name: str) -> Iterator[str]:
    """Read lines with their ends.

    Parameters
    ----------
    file : binary file
        Text without a byte-order mark.
    encoding : str
        Its encoding.
    name : str
        What to call it in messages.

    Yields
    ------
    line : str
        The next line.
    """
    try:
        with io.TextIOWrapper(file, encoding=encoding, newline="") as text:
            for line in text:
                if "\0" in line:
                    raise binary_file(name)
                yield line
    except UnicodeDecodeError:
        raise TableError(
            f"{name} is not {encoding.upper()} text: pass encoding='cp1252' if it "
            "comes from Windows, or its actual encoding."
        ) from None


def _family(encoding: str) -> str:
    """Return Python's name of an encoding, without the part about the mark."""
    try:
        return codecs.lookup(encoding).name.removesuffix("-sig")
    except LookupError:
        return encoding


def looks_binary(data: bytes) -> bool:
    """Whether a file begins with bytes that do not occur in text.

    Parameters
    ----------
    data : bytes
        The file.

    Returns
    -------
    binary : bool
        True where control characters are common.
    """
    head = data[:4096]
    odd = sum(byte < 9 or 13 < byte < 32 for byte in head)
    return b"\0" in head or odd > 0.02 * len(head)


def binary_file(name: str) -> TableError:
    """Return the error for a file that is not text.

    Parameters
    ----------
    name : str
        The file.

    Returns
    -------
    error : TableError
        To be raised.
    """
    return TableError(
        f"{name} is a binary file, not a table: pass CSV, TSV, JSON lines, Parquet or "
        "Excel (.xlsx)."
    )
