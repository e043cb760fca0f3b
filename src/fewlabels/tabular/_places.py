"""Where large files lie: on a disk, in a folder of parts, or behind an address.

Addresses such as ``s3://bucket/table.parquet`` are opened by fsspec, where it is
installed.
"""

# SPDX-License-Identifier: BSD-3-Clause

import bz2
import contextlib
import gzip
import lzma
import os
import re
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO, NamedTuple
from urllib.parse import unquote

from fewlabels.preprocessing import FileError
from fewlabels.tabular._formats import BY_SUFFIX, FileFormat
from fewlabels.tabular.files import (
    UNPACKERS,
    format_of,
    replacing,
)

_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]+://", re.IGNORECASE)


def is_address(path: str) -> bool:
    """Whether a path has to be opened by fsspec.

    Parameters
    ----------
    path : str
        A path, or an address.

    Returns
    -------
    address : bool
        True for ``s3://bucket/table.parquet`` and the like.
    """
    return _ADDRESS.match(path) is not None


def _file_system(path: str) -> tuple[Any, str]:
    try:
        import fsspec
    except ImportError:
        raise ImportError(
            f'Addresses such as {path} need fsspec: pip install "fewlabels[remote]", '
            "and what it asks for."
        ) from None
    try:
        return fsspec.core.url_to_fs(path)
    except (ImportError, ValueError) as error:
        raise FileError(f"Cannot open {path}: {error}.") from None


@contextmanager
def _said(path: str, verb: str) -> Iterator[None]:
    """Say what fails on a file system as a message."""
    try:
        yield
    except OSError as error:
        raise FileError(f"Cannot {verb} {path}: {error.strerror or error}.") from None


class Opened(NamedTuple):
    """A file that is being read.

    Attributes
    ----------
    file : binary file
        To be read.
    packed : binary file
        What it is unpacked from, or the same.
    size : int
        Bytes of the latter.
    """

    file: Any
    packed: Any
    size: int

    def share(self) -> float:
        """Tell what share of the file is read, as far as it knows its size."""
        try:
            return min(1.0, self.packed.tell() / self.size) if self.size else 0.0
        except (OSError, ValueError):  # a pipe, or closed by its reader
            return 1.0


@dataclass(frozen=True)
class Part:
    """A file that holds rows of a table.

    Attributes
    ----------
    path : str
        Where it lies.
    name : str
        Its path within the folder, or its name.
    size : int
        Bytes.
    fixed : dict of str to str
        Columns that folders such as ``year=2024`` stand for.
    """

    path: str
    name: str
    size: int
    fixed: dict[str, str] = field(default_factory=dict)

    @contextmanager
    def open(self) -> "Iterator[Opened]":
        """Open the file, unpacked.

        Yields
        ------
        opened : Opened
            To be read once.
        """
        with _said(self.path, "read"), contextlib.ExitStack() as stack:
            file: Any
            if self.path == "-":
                file = sys.stdin.buffer
            elif is_address(self.path):
                system, path = _file_system(self.path)
                file = stack.enter_context(system.open(path, "rb"))
            else:
                file = stack.enter_context(Path(self.path).open("rb"))
            packed = file
            compression = PurePosixPath(self.name).suffix.lower()
            if compression in UNPACKERS:
                file = stack.enter_context(UNPACKERS[compression](file))
            yield Opened(file, packed, self.size)

    @property
    def suffix(self) -> str:
        """What the name of the unpacked file ends with."""
        ends = [s.lower() for s in PurePosixPath(self.name).suffixes]
        if ends and ends[-1] in UNPACKERS:
            ends.pop()
        return ends[-1] if ends else ""

    def format(self) -> type[FileFormat]:
        """Tell the format by what the file begins with, then by its name."""
        if self.path == "-":
            return BY_SUFFIX[".csv"]
        with self.open() as opened:
            return format_of(opened.file.read(4096), self.suffix)


def find_parts(path: str) -> list[Part]:
    """List the files of a table, in the order of their names.

    Parameters
    ----------
    path : str
        A file, a folder, or an address of either.

    Returns
    -------
    parts : list of Part
        In a folder, files with the suffix of a format; those whose names, or folders,
        begin with a dot or an underscore are not rows.

    Raises
    ------
    FileError
        If there is no such file, or a folder holds none.
    """
    if path == "-":
        return [Part(path, "standard input", 0)]
    if is_address(path):
        system, inner = _file_system(path)
        with _said(path, "read"):
            if not system.isdir(inner):
                return [Part(path, PurePosixPath(inner).name, system.size(inner) or 0)]
            found = system.find(inner, detail=True)
        scheme = path.split("://", 1)[0]
        listed = [
            (f"{scheme}://{name.lstrip('/')}", name[len(inner) :].strip("/"), about)
            for name, about in found.items()
        ]
        parts = [
            Part(p, n, about.get("size") or 0, _fixed(n)) for p, n, about in listed
        ]
    else:
        root = Path(path)
        if not root.is_dir():
            with _said(path, "read"):
                return [Part(path, root.name, root.stat().st_size)]
        parts = [
            Part(str(p), n, p.stat().st_size, _fixed(n))
            for p in root.rglob("*")
            if p.is_file() and (n := p.relative_to(root).as_posix())
        ]
    hidden = re.compile(r"(^|/)[._]")
    parts = [p for p in parts if p.suffix in BY_SUFFIX and not hidden.search(p.name)]
    if not parts:
        raise FileError(f"{path} holds no table: a folder has files such as .parquet.")
    return sorted(parts, key=lambda part: part.name)


def _fixed(name: str) -> dict[str, str]:
    """Columns that the folders of a part stand for, as Hive and Spark name them."""
    pairs = [folder.split("=", 1) for folder in PurePosixPath(name).parent.parts]
    return {pair[0]: unquote(pair[1]) for pair in pairs if len(pair) == 2}


def is_folder(path: str) -> bool:
    """Whether an output is a folder of parts.

    Parameters
    ----------
    path : str
        Where to write.

    Returns
    -------
    folder : bool
        True for folders that exist, and for names that end with a slash.
    """
    if path == "-":
        return False
    if path.endswith(("/", os.sep)):
        return True
    return not is_address(path) and Path(path).is_dir()


def exists(path: str) -> bool:
    """Whether there is a file.

    Parameters
    ----------
    path : str
        Its path or address.

    Returns
    -------
    exists : bool
        True if so.
    """
    if is_address(path):
        system, inner = _file_system(path)
        return bool(system.exists(inner))
    return Path(path).exists()


@contextmanager
def writing(path: str, *, force: bool) -> Iterator[BinaryIO]:
    """Write a file that appears when it is complete, packed as its name says.

    Parameters
    ----------
    path : str
        A path, an address, or "-".
    force : bool
        Whether the file may exist.

    Yields
    ------
    file : binary file
        To be written to.
    """
    with contextlib.ExitStack() as stack:
        file: Any
        if path == "-":
            file = sys.stdout.buffer
        elif is_address(path):
            file = stack.enter_context(_uploaded(path, force=force))
        else:
            file = stack.enter_context(replacing(path, force=force))
        compression = PurePosixPath(path).suffix.lower()
        if compression == ".gz":
            # The same bytes on every run.
            file = stack.enter_context(gzip.GzipFile("", "wb", fileobj=file, mtime=0))
        elif compression == ".bz2":
            file = stack.enter_context(bz2.open(file, "wb"))
        elif compression == ".xz":
            file = stack.enter_context(lzma.open(file, "wb"))
        elif compression == ".zst":
            import pyarrow as pa

            file = stack.enter_context(pa.CompressedOutputStream(file, "zstd"))
        yield file
        file.flush()


@contextmanager
def _uploaded(path: str, *, force: bool) -> Iterator[BinaryIO]:
    """Write to a temporary file, and upload it when it is complete."""
    if not force and exists(path):
        raise FileError(f"{path} exists: pass force=True to replace it, or rename.")
    system, inner = _file_system(path)
    with tempfile.TemporaryDirectory(prefix="fewlabels-") as folder:
        temporary = Path(folder, "part")
        with temporary.open("wb") as file:
            yield file
        with _said(path, "write"):
            system.makedirs(str(PurePosixPath(inner).parent), exist_ok=True)
            system.put_file(str(temporary), inner)


def read_bytes(path: str) -> bytes:
    """Read a small file.

    Parameters
    ----------
    path : str
        Its path or address.

    Returns
    -------
    data : bytes
        What it holds.
    """
    with Part(path, "file", 0).open() as opened:
        return opened.file.read()
