"""Write files that appear only when they are complete."""

# SPDX-License-Identifier: BSD-3-Clause

import contextlib
import os
import re
import stat
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from fewlabels.preprocessing import FileError

# Seconds after which an unfinished file must be left over from a killed run.
_STALE = 3600.0


# Files being written, to be removed on an interrupt.
pending: set[str] = set()


def check_writable(path: str | os.PathLike[str], *, force: bool) -> None:
    """Raise now what would otherwise fail after the work is done.

    Parameters
    ----------
    path : path-like
        A file to be written.
    force : bool
        Whether it may exist.

    Raises
    ------
    FileError
        If the file exists, or its folder cannot be written to.
    """
    path = Path(path)
    if _is_special(path):
        return
    if path.is_dir():
        raise FileError(f"{path} is a folder: name a file in it.")
    if not path.parent.is_dir():
        raise FileError(f"There is no folder {path.parent}: make it first.")
    if path.exists() and not force:
        raise FileError(f"{path} exists: pass force=True to replace it, or rename.")
    try:
        with tempfile.TemporaryFile(dir=path.parent):
            pass
    except OSError as error:
        raise FileError(f"Cannot write {path}: {error.strerror}.") from None


def _is_special(path: Path) -> bool:
    """Whether a path is a device or a pipe, which cannot be replaced."""
    try:
        mode = path.stat().st_mode
    except OSError:
        return False
    return not stat.S_ISREG(mode) and not stat.S_ISDIR(mode)


@contextmanager
def replacing(path: str | os.PathLike[str], *, force: bool) -> Iterator[BinaryIO]:
    """Write a file that appears only when it is complete.

    Parameters
    ----------
    path : path-like
        The file.
    force : bool
        Whether it may exist.

    Yields
    ------
    file : binary file
        To be written to. It stays next to `path` under another name until the block has
        ended without an exception.
    """
    check_writable(path, force=force)
    path = Path(path)
    if _is_special(path):
        with path.open("wb") as device:
            yield device
        return
    try:
        handle, temporary = tempfile.mkstemp(
            prefix=f".{path.name}.", suffix=".part", dir=path.parent
        )
    except OSError as error:
        raise FileError(f"Cannot write {path}: {error.strerror}.") from None
    pending.add(temporary)
    _clear_stale(path)
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, _mode_for(path))
        _move(temporary, path, force)
    except OSError as error:
        raise FileError(f"Cannot write {path}: {error.strerror or error}.") from None
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)
        pending.discard(temporary)


def _clear_stale(path: Path) -> None:
    """Remove leftovers of runs that were killed while writing this file."""
    pattern = re.compile(rf"\.{re.escape(path.name)}\.[a-z0-9_]{{8}}\.part")
    with contextlib.suppress(OSError):
        for other in path.parent.iterdir():
            if pattern.fullmatch(other.name) and str(other) not in pending:
                with contextlib.suppress(OSError):
                    if time.time() - other.stat().st_mtime > _STALE:
                        other.unlink()


def _mode_for(path: Path) -> int:
    """Return the permissions of the replaced file, or those of a new one."""
    if path.exists():
        return stat.S_IMODE(path.stat().st_mode)
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


def _move(temporary: str, path: Path, force: bool) -> None:
    if force:
        os.replace(temporary, path)
        return
    try:
        os.link(temporary, path)  # fails if a file has appeared in the meantime
    except FileExistsError:
        raise FileError(f"{path} appeared in the meantime: pass force=True.") from None
    except OSError:  # a file system without links
        os.replace(temporary, path)


def remove_pending() -> None:
    """Remove half-written files."""
    for temporary in list(pending):
        with contextlib.suppress(OSError):
            os.unlink(temporary)
