"""The journal of labels: one line per action, saved before it is confirmed.

Each line is a JSON object. A line with ``"opened"`` begins a section: it names the
target and the columns that identify rows. The others are actions::

    {"in": "5d81...", "key": "c3a0...", "do": "label", "label": "oak",
     "rows": [[17, "9f2c..."]], ...}
    {"in": "5d81...", "do": "undo", "of": "c3a0...", ...}

A row with ``"do": "check"`` has a label that nobody learns from: it was drawn, by a
line with ``"do": "draw"``, to check predictions.

Lines refer to their section and to each other by keys, and apply in the order of their
times; a line is later than all that its writer had read. Two journals can therefore be
merged by appending lines in any order. Rows are identified by their number (1 is the
first below the column names) and a digest of their cells, so that a label finds its
row again after the table has changed.
"""

# SPDX-License-Identifier: BSD-3-Clause

import json
import os
import re
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from hashlib import blake2b
from pathlib import Path
from typing import Any

from fewlabels._words import plural
from fewlabels.studio._journal import Journal, LockedError

FORMAT = 2


def journal_path(folder: Path, stem: str) -> Path:
    """Name the journal of a table, by what may stand in the name of a file."""
    name = "".join(c if c.isalnum() or c in "-_. " else "_" for c in stem).strip(". ")
    return folder / f"{name or 'table'}.labels.jsonl"


def answer_columns(names: Sequence[str], target: str) -> set[str]:
    """Find the labels, and what an earlier run has predicted: no part of a question."""
    ends = r"(_(predicted|confidence|source)(_\d+)?)?"
    earlier = re.compile(re.escape(target) + ends)
    return {name for name in names if earlier.fullmatch(name)}


def cell_text(value: Any) -> str:
    """Write a cell as text; empty if there is no value."""
    if isinstance(value, str):
        return value
    if value is None or value != value:
        return ""
    return str(value.item() if hasattr(value, "item") else value)


def row_digest(cells: Sequence[str]) -> str:
    """Return the digest of a row's cells."""
    # Lengths distinguish "a", "bc" from "ab", "c".
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
        """Return the digest of one row over some of its columns."""
        return row_digest([cell_text(self._columns[name][row]) for name in names])

    def places(self, digest: str, names: Sequence[str]) -> list[int]:
        """Find the rows with a digest."""
        key = tuple(names)
        if key not in self._places:
            index: dict[str, list[int]] = {}
            for row in range(self.n_rows):
                index.setdefault(self.digest(row, key), []).append(row)
            self._places[key] = index
        return self._places[key].get(digest, [])


@dataclass
class Action:
    """An action of a person on some rows.

    Attributes
    ----------
    key : str
        Its name in the journal. The page chooses it, so that a repeated request has no
        effect.
    do : {"label", "check", "skip", "clear"}
        What was done.
    label : str or None
        The class.
    rows : list of int
        The rows in the current table.
    how : str
        Where: "card", "grid", "map", "history", "import", "review" or "check".
    time : str
        When, in UTC.
    void : set of int
        Rows for which it no longer holds: undone, or dropped in a conflict.
    """

    key: str
    do: str
    label: str | None
    rows: list[int]
    how: str
    time: str
    void: set[int] = field(default_factory=set)


@dataclass
class Draw:
    """Rows that were drawn to check predictions.

    Attributes
    ----------
    key : str
        Its name in the journal.
    rows : list of int or None
        The rows, as the table has them now; None for one that is gone.
    audit : dict
        All else that was noted.
    time : str
        When, in UTC.
    look : int
        How often more rows were asked for, from 1.
    """

    key: str
    rows: list[int | None]
    audit: dict[str, Any]
    time: str
    look: int = 1


@dataclass(frozen=True)
class Conflict:
    """A label whose row has changed.

    Attributes
    ----------
    action : str
        Key of the action.
    place : int
        The row number in the journal, counted from 1.
    label : str or None
        The label in the journal.
    kind : {"row", "label"}
        Whether the cells of the row have changed, or its label in the table.
    row : int or None
        The row that now has this number.
    table_label : str or None
        The label in the current table.
    """

    action: str
    place: int
    label: str | None
    kind: str
    row: int | None
    table_label: str | None = None


@dataclass(frozen=True)
class _Section:
    """Data that the lines of a section share, and the rows they have claimed."""

    target: str
    columns: list[str]
    claims: dict[tuple[int, str], int] = field(default_factory=dict)
    taken: set[int] = field(default_factory=set)


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
        Columns that identify rows.
    given : sequence of str or None
        Labels in the table itself.
    write : bool, default=True
        Whether to take the lock; without it, the journal is read-only.
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
        self.journal = Journal(path)
        self.path = self.journal.path
        self.target = target
        self.columns = list(columns)
        self.given = given
        self._keys = keys
        self._section = ""  # that of this process
        self._changed: set[int] = set()
        self._of_row: dict[int, list[Action]] = {}
        self._begin()
        if write:
            self.take_over()
        else:
            self.follow()

    def _begin(self) -> None:
        """Forget all that was read from the journal."""
        self._changed.update(self._of_row)
        self.actions: list[Action] = []
        self.errors: list[dict[str, Any]] = []
        self.draws: dict[str, Draw] = {}
        self.conflicts: list[Conflict] = []
        self.moved = 0
        self.damaged = 0
        self.holder: dict[str, Any] = {}
        self._of_row = {}
        self._named: dict[str, Action] = {}
        self._sections: dict[str, _Section] = {}
        self._rewritten = self.journal.rewritten
        self._offset = 0
        self._last = datetime.min.replace(tzinfo=UTC)

    # -- what holds now -----------------------------------------------------------

    def current(self, row: int) -> Action | None:
        """Find the last action that holds for a row."""
        for action in reversed(self._of_row.get(row, [])):
            if row not in action.void:
                return action
        return None

    def label_of(self, row: int) -> str | None:
        """Return the label of a row: the one given here, or else the table's."""
        action = self.current(row)
        if action is None:
            return self.given[row]
        return action.label if action.do == "label" else None

    def touched(self) -> list[int]:
        """List the rows with an action."""
        return list(self._of_row)

    def pop_changed(self) -> set[int]:
        """List the rows that have changed since the last call."""
        rows, self._changed = self._changed, set()
        return rows

    @property
    def writes(self) -> bool:
        """Whether this process is the writer."""
        return self.journal.writes

    @property
    def notice(self) -> str:
        """The current problem with the file, or else the last oddity."""
        if self.journal.trouble and self.writes:
            return f"{self.journal.trouble} Until they can, new labels are refused."
        return self.journal.trouble or "".join(self.journal.odd[-1:])

    def last_words(self) -> list[str]:
        """Report how many labels the file on disk holds, and all that was odd."""
        columns, given = self.columns, self.given
        read = LabelStore(
            self.path, self._keys, self.target, columns, given, write=False
        )
        actions = map(read.current, read.touched())
        n_labels = sum(a is not None and a.do == "label" for a in actions)
        odd = self.journal.odd
        lines = [f"{plural(n_labels, 'label')} in {self.path}.", *odd[-5:]]
        if len(odd) > 5:
            lines.append(f"These are the last 5 of {len(odd):,} such messages.")
        return lines

    # -- reading ------------------------------------------------------------------

    def follow(self) -> bool:
        """Update from the file; return whether there was anything new."""
        self.journal.check()
        return self._replay()

    def _replay(self) -> bool:
        """Read the lines of the journal that were not read yet."""
        if self._rewritten != self.journal.rewritten:
            self._begin()
        new = bytes(self.journal.content[self._offset :])
        entries = self._parse(new)
        if any(time < self._last for time, _ in entries):  # from another writer
            self._begin()
            entries = self._parse(bytes(self.journal.content))
        self._offset = len(self.journal.content)
        for time, entry in sorted(entries, key=lambda pair: pair[0]):
            self._last = time
            self._read(entry)
        return bool(new)

    def _parse(self, data: bytes) -> list[tuple[datetime, dict[str, Any]]]:
        """Read lines, each with its time."""
        entries = []
        for line in filter(bytes.strip, data.splitlines()):
            try:
                entry = json.loads(line)
                time = datetime.fromisoformat(entry.get("at") or entry["opened"])
                entries.append((time.astimezone(UTC), entry))
            except (ValueError, KeyError, TypeError, AttributeError):
                self.damaged += 1
        return entries

    def _read(self, entry: dict[str, Any]) -> None:
        try:
            if "opened" in entry:
                self.holder = entry
                key = entry.get("key", "")
                if not key or key not in self._sections:
                    section = _Section(entry["target"], entry["columns"])
                    self._sections[key] = section
            else:
                if "n" in entry:  # format 1 counted lines, and had no keys of sections
                    names = {"in": "", "key": str(entry["n"])}
                    entry |= {**names, "of": str(entry.get("of"))}
                section = self._sections[entry["in"]]
                if section.target == self.target:
                    self._apply(entry, section)
        except (ValueError, KeyError, TypeError, AttributeError):
            self.damaged += 1

    def _apply(self, entry: dict[str, Any], section: _Section) -> None:
        match entry["do"]:
            case "error":
                self.errors.append(entry)
            case "undo":
                action = self._named[entry["of"]]
                self._void(action)
                if entry.get("key"):
                    self._named[entry["key"]] = action
            case "settle":
                self._settled(entry["of"], entry["row"])
            case "draw":
                rows = [self._find(k, name, section) for k, name in entry["rows"]]
                draw = Draw(entry["key"], rows, entry["audit"], entry["at"])
                self.draws[draw.key] = draw
            case "look":
                draw = self.draws[entry["of"]]
                draw.look = max(draw.look, entry["look"])
            case "label" | "check" | "skip" | "clear":
                self._keep(entry, section)

    def _void(self, action: Action) -> None:
        action.void.update(action.rows)
        self._changed.update(action.rows)
        self._forget_conflicts(action.key)

    def _keep(self, entry: dict[str, Any], section: _Section) -> None:
        action = Action(
            entry["key"],
            entry["do"],
            entry.get("label"),
            [],
            entry.get("how", ""),
            entry.get("at", ""),
        )
        earlier = self._named.get(action.key)
        if earlier is not None:  # the same line again
            self._void(earlier)
        for place, digest, *was in entry["rows"]:
            row = self._find(place, digest, section)
            if row is None:
                there = place - 1 if place <= self._keys.n_rows else None
                self._conflict(action, place, "row", there)
                continue
            action.rows.append(row)
            self._of_row.setdefault(row, []).append(action)
            # The table has since been edited, and has another label.
            now, before = self.given[row], was[0] if was else None
            self.conflicts = [
                c for c in self.conflicts if c.kind != "label" or c.row != row
            ]
            if now not in (None, before, action.label):
                self._conflict(action, place, "label", row)
        self.actions.append(action)
        self._named[action.key] = action
        self._changed.update(action.rows)

    def _conflict(self, action: Action, place: int, kind: str, row: int | None) -> None:
        said = None if row is None else self.given[row]
        found = Conflict(action.key, place, action.label, kind, row, said)
        self.conflicts.append(found)

    def _settled(self, key: str, place: int) -> None:
        for c in self.conflicts:
            same = (c.action, c.place) == (key, place)
            if same and c.kind == "label" and c.row is not None:
                self._named[key].void.add(c.row)
                self._changed.add(c.row)
        self._forget_conflicts(key, place)

    def _forget_conflicts(self, key: str, place: int | None = None) -> None:
        self.conflicts = [
            c for c in self.conflicts if c.action != key or place not in (None, c.place)
        ]

    def _find(self, place: int, digest: str, section: _Section) -> int | None:
        """Find a row by its number, or else by its content."""
        names = section.columns
        if not self._keys.knows(names):
            return None
        if (place, digest) in section.claims:
            return section.claims[place, digest]
        row = place - 1
        exact = 0 <= row < self._keys.n_rows
        exact = exact and self._keys.digest(row, names) == digest
        taken = section.taken
        if not exact or row in taken:
            # Of equal rows, the nearest not claimed by another label of this section.
            places = self._keys.places(digest, names)
            free = [p for p in places if p not in taken] or places
            if not free:
                return None
            row = min(free, key=lambda p: abs(p - place + 1))
            self.moved += row != place - 1
        section.claims[place, digest] = row
        taken.add(row)
        return row

    # -- writing ------------------------------------------------------------------

    def take_over(self) -> None:
        """Become the writer of the journal.

        Raises
        ------
        LockedError
            If another process is.
        StoreError
            If it cannot be written to.
        """
        if self.writes:
            return
        key = secrets.token_hex(4)
        opened = {
            "studio": FORMAT,
            "opened": self._now(),
            "key": key,
            "pid": os.getpid(),
            "target": self.target,
            "columns": self.columns,
        }
        try:
            self.journal.take_over(_line(opened))
        except LockedError:
            self.follow()
            raise
        self._section = key
        self._replay()

    def act(
        self,
        do: str,
        rows: Sequence[int],
        label: str | None = None,
        *,
        how: str = "card",
        key: str = "",
    ) -> Action:
        """Record an action; it is on disk when this returns.

        Parameters
        ----------
        do : {"label", "check", "skip", "clear"}
            What was done.
        rows : sequence of int
            To which rows.
        label : str, default=None
            The class.
        how : str, default="card"
            Where it was done.
        key : str, default=""
            The page's key. If an action with this key exists, it is returned instead of
            being repeated.

        Returns
        -------
        action : Action
            The action as recorded in the journal.

        Raises
        ------
        StoreError
            If it could not be saved; then nothing has changed.
        """
        if key in self._named:
            return self._named[key]
        key = key or secrets.token_hex(8)
        listed: list[list[Any]] = []
        for row in rows:
            entry: list[Any] = [row + 1, self._keys.digest(row, self.columns)]
            if self.given[row] is not None:
                entry.append(self.given[row])
            listed.append(entry)
        self._append({"do": do, "label": label, "rows": listed, "how": how}, key)
        return self._named[key]

    def undo(self, key: str = "") -> Action | None:
        """Undo the last action that still holds; None if there is none."""
        if key in self._named:
            return self._named[key]
        for action in reversed(self.actions):
            if set(action.rows) - action.void:
                self._append({"do": "undo", "of": action.key}, key)
                return self._named[action.key]
        return None

    def settle(self, conflict: Conflict, keep: bool) -> None:
        """Decide a conflict: keep the label for the row now there, or drop it."""
        if keep and conflict.row is not None and conflict.label is not None:
            self.act("label", [conflict.row], conflict.label, how="review")
        self._append({"do": "settle", "of": conflict.action, "row": conflict.place}, "")

    def note_error(self, n_labels: int, value: float, low: float, high: float) -> None:
        """Record a point of the error curve."""
        entry = {"do": "error", "labels": n_labels, "value": value}
        self._append({**entry, "low": low, "high": high}, "")

    def note_draw(self, rows: Sequence[int], audit: dict[str, Any]) -> Draw:
        """Keep which rows were drawn to check predictions, before anyone sees them."""
        key = secrets.token_hex(8)
        placed = [[row + 1, self._keys.digest(row, self.columns)] for row in rows]
        self._append({"do": "draw", "rows": placed, "audit": audit}, key)
        return self.draws[key]

    def note_look(self, draw: Draw, look: int) -> None:
        """Keep that more rows of a draw were asked for."""
        self._append({"do": "look", "of": draw.key, "look": look}, "")

    def close(self) -> None:
        """Check that all is saved, and release the journal."""
        self.journal.close()
        self._replay()

    def _now(self) -> str:
        """Return the time, which never goes back."""
        now = max(datetime.now(UTC), self._last + timedelta(milliseconds=1))
        return now.isoformat(timespec="milliseconds")

    def _append(self, entry: dict[str, Any], key: str) -> None:
        named = {"in": self._section, **({"key": key} if key else {})}
        self.journal.append(_line({**named, **entry, "at": self._now()}))
        self._replay()


def _line(entry: dict[str, Any]) -> bytes:
    text = json.dumps(entry, ensure_ascii=False, separators=(", ", ": "))
    return text.encode("utf-8", "backslashreplace") + b"\n"
