"""The journal of labels: one line per action, synced before anyone is told.

Each line is a JSON object. A line with ``"opened"`` begins a section: it names the
target and the columns that rows are known by. The others say what was done::

    {"n": 7, "do": "label", "label": "oak", "rows": [[17, "9f2c..."]], ...}
    {"n": 8, "do": "undo", "of": 7, ...}

Rows have the number that a person counts (1 is the first below the names) and a digest
of their cells, so that a label finds its row again after the table has changed.
"""

# SPDX-License-Identifier: BSD-3-Clause

import json
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import blake2b
from pathlib import Path
from typing import Any

FORMAT = 1


class LockedError(Exception):
    """Another process writes to this journal."""


class StoreError(Exception):
    """A label could not be saved."""


def cell_text(value: Any) -> str:
    """Write a cell as text; nothing where there is no value."""
    if isinstance(value, str):
        return value
    if value is None or value != value:
        return ""
    return str(value.item() if hasattr(value, "item") else value)


def row_digest(cells: Sequence[str]) -> str:
    """Name a row by its content."""
    # Lengths keep "a", "bc" and "ab", "c" apart.
    joined = "".join(f"{len(cell)}:{cell}" for cell in cells)
    return blake2b(joined.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


class RowKeys:
    """Digests of the rows of a table, by any set of its columns.

    Parameters
    ----------
    names : sequence of str
        Names of all columns.
    columns : sequence of sequence
        Their cells.
    """

    def __init__(self, names: Sequence[str], columns: Sequence[Any]) -> None:
        self._columns = dict(zip(names, columns, strict=True))
        self._places: dict[tuple[str, ...], dict[str, list[int]]] = {}
        self.n_rows = len(columns[0]) if columns else 0

    def knows(self, names: Sequence[str]) -> bool:
        """Whether the table has all of these columns."""
        return all(name in self._columns for name in names)

    def digest(self, row: int, names: Sequence[str]) -> str:
        """Name one row by some of its columns."""
        return row_digest([cell_text(self._columns[name][row]) for name in names])

    def places(self, digest: str, names: Sequence[str]) -> list[int]:
        """Find the rows of a digest."""
        key = tuple(names)
        if key not in self._places:
            index: dict[str, list[int]] = {}
            for row in range(self.n_rows):
                index.setdefault(self.digest(row, key), []).append(row)
            self._places[key] = index
        return self._places[key].get(digest, [])


@dataclass
class Action:
    """One thing that a person did to some rows.

    Attributes
    ----------
    number : int
        Its place in the journal.
    do : {"label", "skip", "clear"}
        What was done.
    label : str or None
        The class.
    rows : list of int
        The rows, as the table has them now.
    how : str
        Where: "card", "grid", "map", "history", "import" or "review".
    time : str
        When, in UTC.
    key : str
        What the page called it, so that a repeated request does nothing twice.
    void : set of int
        Rows for which it no longer holds: undone, or settled otherwise.
    """

    number: int
    do: str
    label: str | None
    rows: list[int]
    how: str
    time: str
    key: str = ""
    void: set[int] = field(default_factory=set)


@dataclass(frozen=True)
class Conflict:
    """A label whose row is not as it was.

    Attributes
    ----------
    action : int
        Number of the action.
    place : int
        The row number that the journal has, counted from 1.
    label : str or None
        What was said of it.
    kind : {"row", "label"}
        Whether the row has other cells now, or the table another label.
    row : int or None
        The row that stands there now.
    table_label : str or None
        What the table says now.
    """

    action: int
    place: int
    label: str | None
    kind: str
    row: int | None
    table_label: str | None = None


class LabelStore:
    """Labels of one table and target, on disk and in memory.

    Parameters
    ----------
    path : path-like
        The journal.
    keys : RowKeys
        The rows of the table.
    target : str
        The label column.
    columns : sequence of str
        Columns that rows are known by.
    given : sequence of str or None
        Labels that the table itself has.
    write : bool, default=True
        Whether to take the lock; without, the journal can only be watched.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        keys: RowKeys,
        target: str,
        columns: Sequence[str],
        given: Sequence[str | None],
        *,
        write: bool = True,
    ) -> None:
        self.path = Path(path)
        self.target = target
        self.columns = list(columns)
        self.given = given
        self.actions: list[Action] = []
        self.errors: list[dict[str, Any]] = []
        self.conflicts: list[Conflict] = []
        self.moved = 0
        self.damaged = 0
        self.holder: dict[str, Any] = {}
        self.writes = False
        self._keys = keys
        self._of_row: dict[int, list[Action]] = {}
        self._by_key: dict[str, Action] = {}
        self._numbers: dict[int, Action] = {}
        self._section: dict[str, Any] = {}
        self._claims: dict[tuple[int, str], int] = {}
        self._taken: set[int] = set()
        self._last = 0
        self._offset = 0
        self._file: int | None = None
        if write:
            self.take_over()
        else:
            self.follow()

    # -- what holds now -----------------------------------------------------------

    def current(self, row: int) -> Action | None:
        """Find the last action that holds for a row."""
        for action in reversed(self._of_row.get(row, [])):
            if row not in action.void:
                return action
        return None

    def label_of(self, row: int) -> str | None:
        """Say the label of a row: what a person said, else what the table has."""
        action = self.current(row)
        if action is None:
            return self.given[row]
        return action.label if action.do == "label" else None

    def touched(self) -> list[int]:
        """List the rows that somebody has acted on."""
        return list(self._of_row)

    # -- reading ------------------------------------------------------------------

    def follow(self) -> bool:
        """Read what was appended since the last time; whether there was anything."""
        try:
            with self.path.open("rb") as file:
                file.seek(self._offset)
                data = file.read()
        except FileNotFoundError:
            return False
        whole = data.rfind(b"\n") + 1
        self._offset += whole
        for line in data[:whole].splitlines():
            self._read(line)
        return whole > 0

    def _read(self, line: bytes) -> None:
        if not line.strip():
            return
        try:
            entry = json.loads(line)
            if "opened" in entry:
                self._section = self.holder = entry
                self._claims, self._taken = {}, set()
            elif self._section.get("target") == self.target:
                self._apply(entry)
        except (ValueError, KeyError, TypeError, AttributeError):
            self.damaged += 1  # a line cut short was never confirmed

    def _apply(self, entry: dict[str, Any]) -> None:
        match entry["do"]:
            case "error":
                self.errors.append(entry)
            case "undo":
                action = self._numbers[entry["of"]]
                action.void.update(action.rows)
                self._forget_conflicts(action.number)
                if entry.get("key"):
                    self._by_key[entry["key"]] = action
            case "settle":
                self._settled(entry["of"], entry["row"])
            case "label" | "skip" | "clear":
                self._keep(entry)
        self._last = max(self._last, entry.get("n", 0))

    def _keep(self, entry: dict[str, Any]) -> None:
        action = Action(
            entry["n"],
            entry["do"],
            entry.get("label"),
            [],
            entry.get("how", ""),
            entry.get("at", ""),
            entry.get("key", ""),
        )
        for place, digest, *was in entry["rows"]:
            row = self._find(place, digest)
            if row is None:
                there = place - 1 if place <= self._keys.n_rows else None
                self._conflict(action, place, "row", there)
                continue
            action.rows.append(row)
            self._of_row.setdefault(row, []).append(action)
            # The table was edited since, and says something else.
            now, before = self.given[row], was[0] if was else None
            self.conflicts = [
                c for c in self.conflicts if c.kind != "label" or c.row != row
            ]
            if now not in (None, before, action.label):
                self._conflict(action, place, "label", row)
        self.actions.append(action)
        self._numbers[action.number] = action
        if action.key:
            self._by_key[action.key] = action

    def _conflict(self, action: Action, place: int, kind: str, row: int | None) -> None:
        said = None if row is None else self.given[row]
        found = Conflict(action.number, place, action.label, kind, row, said)
        self.conflicts.append(found)

    def _settled(self, number: int, place: int) -> None:
        action = self._numbers[number]
        for c in self.conflicts:
            same = (c.action, c.place) == (number, place)
            if same and c.kind == "label" and c.row is not None:
                action.void.add(c.row)
        self._forget_conflicts(number, place)

    def _forget_conflicts(self, number: int, place: int | None = None) -> None:
        self.conflicts = [
            c
            for c in self.conflicts
            if c.action != number or place not in (None, c.place)
        ]

    def _find(self, place: int, digest: str) -> int | None:
        """Find a row by its number, or else by its content."""
        names = self._section["columns"]
        if not self._keys.knows(names):
            return None
        if (place, digest) in self._claims:
            return self._claims[place, digest]
        row = place - 1
        exact = 0 <= row < self._keys.n_rows
        exact = exact and self._keys.digest(row, names) == digest
        taken = self._taken
        if not exact or row in taken:
            # Of equal rows the nearest one that no other label of this section has.
            places = self._keys.places(digest, names)
            free = [p for p in places if p not in taken] or places
            if not free:
                return None
            row = min(free, key=lambda p: abs(p - place + 1))
            self.moved += row != place - 1
        self._claims[place, digest] = row
        taken.add(row)
        return row

    # -- writing ------------------------------------------------------------------

    def take_over(self) -> None:
        """Become the writer of the journal.

        Raises
        ------
        LockedError
            If another process is.
        """
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0)
        new = not self.path.exists()
        try:
            file = os.open(self.path, flags, 0o666)
        except OSError as error:
            raise StoreError(
                f"Labels cannot be kept in {self.path}: {error.strerror}."
            ) from None
        try:
            _lock(file)
        except LockedError:
            os.close(file)
            self.follow()
            raise
        self._file, self.writes = file, True
        self.follow()
        if os.fstat(file).st_size > self._offset:  # a line cut short: end it
            self._write(b"\n")
            self.follow()
        opened = {
            "studio": FORMAT,
            "opened": _now(),
            "pid": os.getpid(),
            "target": self.target,
            "columns": self.columns,
        }
        self._write(_line(opened))
        self.follow()
        if new:
            _sync_folder(self.path.parent)

    def act(
        self,
        do: str,
        rows: Sequence[int],
        label: str | None = None,
        *,
        how: str = "card",
        key: str = "",
    ) -> Action:
        """Write an action down; it is on the disk when this returns.

        Parameters
        ----------
        do : {"label", "skip", "clear"}
            What was done.
        rows : sequence of int
            To which rows.
        label : str, default=None
            The class.
        how : str, default="card"
            Where it was done.
        key : str, default=""
            What the page calls it. An action of the same key is returned instead of
            being done again.

        Returns
        -------
        action : Action
            As it stands in the journal.

        Raises
        ------
        StoreError
            If it could not be saved; nothing has changed then.
        """
        if key and key in self._by_key:
            return self._by_key[key]
        listed: list[list[Any]] = []
        for row in rows:
            entry: list[Any] = [row + 1, self._keys.digest(row, self.columns)]
            if self.given[row] is not None:
                entry.append(self.given[row])
            listed.append(entry)
        self._append({"do": do, "label": label, "rows": listed, "how": how}, key)
        return self.actions[-1]

    def undo(self, key: str = "") -> Action | None:
        """Take the last action back that still holds; None where there is none."""
        if key and key in self._by_key:
            return self._by_key[key]
        for action in reversed(self.actions):
            if set(action.rows) - action.void:
                self._append({"do": "undo", "of": action.number}, key)
                return action
        return None

    def settle(self, conflict: Conflict, keep: bool) -> None:
        """Decide a conflict: keep the label for the row that stands there, or not."""
        if keep and conflict.row is not None and conflict.label is not None:
            self.act("label", [conflict.row], conflict.label, how="review")
        self._append({"do": "settle", "of": conflict.action, "row": conflict.place}, "")

    def note_error(self, n_labels: int, value: float, low: float, high: float) -> None:
        """Keep a point of the curve of errors."""
        entry = {"do": "error", "labels": n_labels, "value": value}
        self._append({**entry, "low": low, "high": high}, "")

    def close(self) -> None:
        """Let go of the journal."""
        if self._file is not None:
            os.close(self._file)
            self._file, self.writes = None, False

    def _append(self, entry: dict[str, Any], key: str) -> None:
        number = {"n": self._last + 1}
        self._write(_line({**number, **entry, "at": _now(), "key": key}))
        self.follow()

    def _write(self, data: bytes) -> None:
        if self._file is None:
            raise StoreError("Another process is labelling this table: watch only.")
        before = os.fstat(self._file).st_size
        try:
            left = memoryview(data)
            while left:
                left = left[os.write(self._file, left) :]
            os.fsync(self._file)
        except OSError as error:
            with suppress(OSError):
                os.ftruncate(self._file, before)
            raise StoreError(
                f"The label could not be saved in {self.path}: {error.strerror}."
            ) from None


def _line(entry: dict[str, Any]) -> bytes:
    text = json.dumps(entry, ensure_ascii=False, separators=(", ", ": "))
    return text.encode("utf-8", "backslashreplace") + b"\n"


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def _sync_folder(folder: Path) -> None:
    """Make sure that a new file is still there after a power cut."""
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
