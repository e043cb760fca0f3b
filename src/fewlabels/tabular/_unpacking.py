"""Detect compression and format of files by their first bytes."""

# SPDX-License-Identifier: BSD-3-Clause

import bz2
import gzip
import io
import lzma
import re
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fewlabels._words import listed
from fewlabels.preprocessing import TableError
from fewlabels.tabular._decoding import binary_file, looks_binary
from fewlabels.tabular._formats import (
    BY_SUFFIX,
    EXTRA,
    DelimitedFile,
    DuckdbFile,
    FileFormat,
    JsonFile,
    ParquetFile,
    Spreadsheet,
    SqliteFile,
    Workbook,
)

_MAGIC = (
    (b"\x1f\x8b", ".gz"),
    (b"BZh", ".bz2"),
    (b"\xfd7zXZ\x00", ".xz"),
    (b"\x28\xb5\x2f\xfd", ".zst"),
)


def _unpacked_zst(file: Any) -> Any:
    try:
        import pyarrow as pa
    except ImportError:
        raise TableError(f"Reading .zst needs pyarrow. {EXTRA}") from None
    return pa.input_stream(file, compression="zstd")


# From a compressed file to its content.
UNPACKERS: dict[str, Callable[[Any], Any]] = {
    ".gz": gzip.open,
    ".bz2": bz2.open,
    ".xz": lzma.open,
    ".zst": _unpacked_zst,
}
COMPRESSIONS = (*UNPACKERS, ".zip")
# Entries that archiving programs add.
_LITTER = re.compile(r"(^|/)(__MACOSX/|\.|Thumbs\.db$|desktop\.ini$)", re.IGNORECASE)
_TEXT_MARKS = (b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")


def decompressed(
    data: bytes, suffixes: list[str], name: str
) -> tuple[bytes, list[str]]:
    """Unpack once, and remove the compression suffix."""
    found = next((s for magic, s in _MAGIC if data.startswith(magic)), None)
    is_archive = data.startswith(b"PK\x03\x04") and not _is_open_document(data)
    if is_archive and not _is_workbook(data):
        found = ".zip"
    if found is None:
        return data, suffixes
    inner = suffixes[:-1] if suffixes and suffixes[-1] in COMPRESSIONS else suffixes
    try:
        if found == ".zip":
            return _only_member(data, name)
        with UNPACKERS[found](io.BytesIO(data)) as file:
            return file.read(), inner
    except TableError:
        raise
    except Exception as error:
        raise TableError(f"{name} cannot be unpacked: {error}.") from None


def _only_member(data: bytes, name: str) -> tuple[bytes, list[str]]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = [
            member
            for member in archive.namelist()
            if not member.endswith("/") and not _LITTER.search(member)
        ]
        if len(members) != 1:
            raise TableError(
                f"{name} holds {len(members)} files ({listed(members, 5)}): unpack it "
                "and pass one of them."
            )
        ending = [s.lower() for s in Path(members[0]).suffixes]
        return archive.read(members[0]), ending


def _is_workbook(data: bytes) -> bool:
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            return "[Content_Types].xml" in archive.namelist()
    except zipfile.BadZipFile:
        return False


def _is_open_document(data: bytes) -> bool:
    """Whether an archive begins with the type of a spreadsheet of LibreOffice."""
    return data.startswith(b"PK\x03\x04") and b"opendocument.spreadsheet" in data[:200]


def check_text(kind: type[FileFormat], data: bytes, name: str, encoded: bool) -> None:
    """Refuse files that are not tables: web pages, and binary data."""
    if kind.is_binary:
        return
    if re.match(rb"\s*<(!doctype html|html)\b", data[:200], re.IGNORECASE):
        raise TableError(
            f"{name} is a web page, not a table. For a sheet in the browser, pass the "
            "address under which it is published as CSV (File, Share, Publish to the "
            "web); save other pages as CSV."
        )
    if not encoded and looks_binary(data) and not data.startswith(_TEXT_MARKS):
        raise binary_file(name)


def format_of(data: bytes, suffix: str) -> type[FileFormat]:
    """Detect the format by the first bytes, then by the name."""
    if data.startswith(b"PAR1"):
        return ParquetFile
    if data.startswith(b"SQLite format 3\x00"):
        return SqliteFile
    if data[8:12] == b"DUCK":
        return DuckdbFile
    if data.startswith(b"\xd0\xcf\x11\xe0") or _is_open_document(data):
        return Spreadsheet
    if data.startswith(b"PK\x03\x04"):
        return Spreadsheet if suffix == ".xlsb" else Workbook
    kind = BY_SUFFIX.get(suffix)
    if kind is not None and not kind.is_binary:
        return kind
    head = data[:4096].removeprefix(b"\xef\xbb\xbf").lstrip()
    return JsonFile if re.match(rb'\{\s*"|\[\s*\{', head) else DelimitedFile
