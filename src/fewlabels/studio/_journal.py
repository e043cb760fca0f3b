"""A file of lines that other programs may delete, cut or replace at any time.

A line counts when the file *of that name* holds it, synced and read back. A line that
has vanished is written again. The file is only appended to, so that lines of others
remain; the order of lines may change and must not matter.
"""

# SPDX-License-Identifier: BSD-3-Clause

import os
import stat
import tempfile
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from pathlib import Path

from fewlabels.tabular import FileError

# How often to retry while another program keeps changing the file.
_TRIES = 20
_FLAGS = os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0)


class LockedError(Exception):
    """Another process writes to this journal."""


class StoreError(FileError):
    """A label could not be saved."""


class Journal:
    """The lines of one file, on disk and in memory.

    Parameters
    ----------
    path : path-like
        The file.

    Attributes
    ----------
    content : bytearray
        Whole lines: those of the file, and those that this process has confirmed.
    rewritten : int
        How often the content has changed other than by appending.
    odd : list of str
        Messages on what other programs did to the file.
    trouble : str
        Why nothing can be saved at the moment; empty when all is well.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self.content = bytearray()
        self.rewritten = 0
        self.odd: list[str] = []
        self.trouble = ""
        self._file: int | None = None
        # State of the file when it was last known to hold exactly the content.
        self._seen: tuple[int, ...] | None = None
        self._extended = False
        # Whether the content was confirmed, and not only found.
        self._vouches = False

    @property
    def writes(self) -> bool:
        """Whether this process is the one that writes."""
        return self._file is not None

    def take_over(self, line: bytes) -> None:
        """Become the writer, and append a line.

        Raises
        ------
        LockedError
            If another process is the writer.
        StoreError
            If the file cannot be written to.
        """
        try:
            self._save(line)
        except BaseException:
            self._release()
            raise
        self._vouches = True

    def append(self, line: bytes = b"") -> None:
        """Append a line; afterwards the file of that name holds it and all others.

        Raises
        ------
        StoreError
            If it could not be saved; it then does not count.
        """
        if self._file is None:
            raise StoreError(
                self.trouble
                or "Another process is labelling this table: you can only watch."
            )
        try:
            self._save(line)
        except LockedError:
            self._release()
            raise StoreError(self.trouble) from None

    def check(self) -> None:
        """Read what is new; the writer also restores lines that have vanished."""
        if self._file is not None:
            # Saving a label waits only until its own line is read back. The whole file
            # is compared here, in case another program wrote at the same moment.
            if self._extended:
                self._seen = None
            with suppress(StoreError):  # `trouble` says so
                self.append()
            return
        there, found = None, b""
        try:
            with suppress(FileNotFoundError):
                there = os.stat(self.path)
                if _state(there) == self._seen:
                    return
                found, _ = _whole_lines(self.path.read_bytes())
        except OSError as error:
            self._refused(error)
            return
        self._adopt(found + self._missing(found, b""), there)
        if not self._vouches:
            self.trouble = ""

    def close(self) -> None:
        """Compare the whole file once more, and release it.

        If it cannot be written, lines go to another file, and `trouble` says so.
        """
        self._seen = None
        try:
            if self._vouches:
                self._save(b"")
        except (LockedError, StoreError):
            self._rescue()
        finally:
            self._release()

    # -- the file of that name ------------------------------------------------------

    def _save(self, line: bytes) -> None:
        try:
            odd = self._merge(line)
        except LockedError:
            if self._vouches:
                self.trouble = (
                    f"Another process has started a new {self.path.name}. Take over "
                    "when it has ended: labels given here are then added to the file."
                )
            raise
        except OSError as error:
            raise self._refused(error) from None
        self.trouble = ""
        if odd:
            self.odd.append(odd)

    def _refused(self, error: OSError) -> StoreError:
        reason = error.strerror or str(error)
        self.trouble = f"Labels cannot be saved in {self.path}: {reason}."
        return StoreError(self.trouble)

    def _merge(self, line: bytes) -> str:
        """Write missing lines until the file is complete; return what was odd."""
        odd = ""
        for _ in range(_TRIES):
            file, there = self._hold()
            if _state(there) == self._seen:
                if not line or self._extend(file, line):
                    return odd
                continue
            data = _read_from(file, 0)
            if data != self.content or not self._extended:
                os.fsync(file)  # another program may have written it
            if data == self.content:
                self._seen, self._extended = _state(there), False
                continue
            found, rest = _whole_lines(data)
            missing = self._missing(found, line)
            odd = odd or self._what_happened(found, line)
            if not missing:
                self._adopt(found, there)
                return odd
            _write(file, (b"\n" if rest else b"") + missing)
        raise OSError(0, "another program keeps changing the file")

    def _hold(self) -> tuple[int, os.stat_result]:
        """Open and lock the file of that name, unless it is already open."""
        for _ in range(_TRIES):
            if self._file is not None:
                with suppress(FileNotFoundError):
                    there = os.stat(self.path)
                    # On Windows, an open file cannot be replaced.
                    if os.name == "nt" or os.path.samestat(there, os.fstat(self._file)):
                        return self._file, there
            file = os.open(self.path, _FLAGS, 0o666)
            try:
                if not stat.S_ISREG(os.fstat(file).st_mode):
                    raise OSError(0, "not a plain file")
                _lock(file)
            except BaseException:
                os.close(file)
                raise
            self._release()
            self._file = file
            _sync_folder(self.path.parent)
        raise OSError(0, "another program keeps replacing the file")

    def _extend(self, file: int, line: bytes) -> bool:
        """Append to a file that holds the content; return whether that worked."""
        _write(file, line)
        end = len(self.content)
        with suppress(FileNotFoundError):
            there = os.stat(self.path)
            same = os.name == "nt" or os.path.samestat(there, os.fstat(file))
            size = end + len(line)
            if same and there.st_size == size and _read_from(file, end) == line:
                self.content += line
                self._seen = _state(there)
                self._extended = True
                return True
        return False

    def _missing(self, found: bytes, line: bytes) -> bytes:
        """List the known lines that were not found."""
        known = bytes(self.content) if self._vouches else b""
        if found.startswith(known):
            found, known = found[len(known) :], b""
        there = set(_lines(found))
        return b"".join(w + b"\n" for w in _lines(known + line) if w not in there)

    def _what_happened(self, found: bytes, line: bytes) -> str:
        """Describe what happened to the file since it was last seen, if it is odd."""
        if not self._vouches or found in (self.content, self.content + line):
            return ""
        when, name = datetime.now().strftime("%H:%M:%S"), self.path.name
        if found.startswith(self.content):
            return f"Another program added lines to {name} ({when}); they count too."
        what = f"replaced or edited {name}"
        if not found:
            what = f"deleted or emptied {name}"
        elif self.content.startswith(found):
            what = f"truncated {name} or put an older copy in its place"
        return (
            f"Another program {what} ({when}). Every label has been written to it "
            "again; lines from other programs are kept."
        )

    def _adopt(self, found: bytes, there: os.stat_result | None) -> None:
        """Take over the content of the file."""
        self.rewritten += not found.startswith(self.content)
        self.content[:] = found
        whole = there is not None and there.st_size == len(found)
        self._seen = _state(there) if there is not None and whole else None
        self._extended = False

    def _release(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _rescue(self) -> None:
        """Write to another file what this one does not accept."""
        found = b""
        with suppress(OSError):
            found = self.path.read_bytes()
        if not self._missing(_whole_lines(found)[0], b""):
            self.trouble = ""  # all is saved, though nothing more can be added
            return
        name = f"{self.path.name.removesuffix('.jsonl')}.{os.getpid()}.jsonl"
        for folder in (self.path.parent, Path(tempfile.gettempdir())):
            with suppress(OSError):
                with (folder / name).open("wb") as file:
                    file.write(self.content)
                    file.flush()
                    os.fsync(file.fileno())
                self.trouble += (
                    f" All labels are in {folder / name}, which 'fewlabels merge' can "
                    "read."
                )
                return
        self.trouble += " No other file could be written: labels are lost."


def _state(there: os.stat_result) -> tuple[int, ...]:
    """Identify the file and its state; any write changes that."""
    times = there.st_mtime_ns, there.st_ctime_ns
    return there.st_dev, there.st_ino, there.st_size, *times


def _lines(data: bytes) -> list[bytes]:
    # Editors and git may change line ends to those of Windows.
    return [line for line in map(bytes.strip, data.split(b"\n")) if line]


def _whole_lines(data: bytes) -> tuple[bytes, bytes]:
    """Split into complete lines and an unfinished last one."""
    end = data.rfind(b"\n") + 1
    return data[:end], data[end:]


def _read_from(file: int, start: int) -> bytes:
    os.lseek(file, start, os.SEEK_SET)  # writes go to the end all the same
    parts = []
    while part := os.read(file, 2**20):
        parts.append(part)
    return b"".join(parts)


def _write(file: int, data: bytes) -> None:
    """Append and sync, or leave the file unchanged."""
    before = os.fstat(file).st_size
    try:
        left = memoryview(data)
        while left:
            left = left[os.write(file, left) :]
        os.fsync(file)
    except OSError:
        with suppress(OSError):
            written = _read_from(file, before)
            if written and data.startswith(written):  # nobody else's lines
                os.ftruncate(file, before)
        raise


def _sync_folder(folder: Path) -> None:
    """Make sure that a new file survives a power cut."""
    with suppress(OSError):  # Windows cannot, and need not
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _locker() -> Callable[[int], None]:
    """Choose how this system locks a file; the lock goes with the process."""
    try:
        import fcntl
    except ImportError:
        import msvcrt

        def lock(file: int) -> None:
            place = os.lseek(file, 0, os.SEEK_CUR)
            os.lseek(file, 2**40, os.SEEK_SET)  # far from what is read
            getattr(msvcrt, "locking")(file, getattr(msvcrt, "LK_NBLCK"), 1)  # noqa: B009
            os.lseek(file, place, os.SEEK_SET)

        return lock
    return lambda file: fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _lock(file: int) -> None:
    try:
        _locker()(file)
    except (BlockingIOError, PermissionError):
        raise LockedError from None
    except OSError:
        return  # a file system without locks
