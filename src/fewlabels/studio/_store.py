"""The journal of labels: one line per action, saved before it is confirmed.

Each line is a JSON object. A line with ``"opened"`` begins a section: it names the
target and the columns that identify rows. The others are actions::

    {"in": "5d81...", "key": "c3a0...", "do": "label", "label": "oak",
     "rows": [[17, "9f2c..."]], ...}
    {"in": "5d81...", "do": "undo", "of": "c3a0...", ...}

Where rows get different labels at once, as in an import, ``"labels"`` lists them in
the order of the rows. ``"by"`` is the name of the person, where it is known.
``"do": "classes"`` describes the classes, and ``"do": "note"`` flags rows.

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
import secrets
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any

from fewlabels._words import plural
from fewlabels.studio._actions import Action, Conflict, Draw, Note, Section
from fewlabels.studio._journal import Journal, LockedError
from fewlabels.studio._rows import RowKeys
from fewlabels.studio._salvage import Damaged, damaged_line, set_aside

FORMAT = 3
# Rows by which a renamed column is recognised.
_SAMPLE = 40


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
    by : str, default=""
        Who labels, where it is one person.
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
        by: str = "",
    ) -> None:
        self.by = by
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
        self.view: dict[str, list[str]] = {}
        self.conflicts: list[Conflict] = []
        self.notes: dict[int, Note] = {}
        self.renamed: dict[str, str] = {}
        self.moved = 0
        self.damaged: list[Damaged] = []
        self.holder: dict[str, Any] = {}
        self._of_row = {}
        self._renamings: list[Action] = []
        self._named: dict[str, Action] = {}
        self._sections: dict[str, Section] = {}
        self._rewritten = self.journal.rewritten
        self._offset = 0
        self._last = datetime.min.replace(tzinfo=UTC)

    # -- what holds now -----------------------------------------------------------

    def current(self, row: int, by: str | None = None) -> Action | None:
        """Find the last action that holds for a row, of anybody or of one person."""
        for action in reversed(self._of_row.get(row, [])):
            if row not in action.void and by in (None, action.by):
                return action
        return None

    def opinions(self, row: int) -> dict[str, Action]:
        """Find what each person last did with a row.

        A decision, and what nobody put a name to, ends all that was before.
        """
        found: dict[str, Action] = {}
        for action in reversed(self._of_row.get(row, [])):
            if row in action.void:
                continue
            if action.how == "settled" or not action.by:
                return found or {"": action}
            found.setdefault(action.by, action)
        return found

    def said(self, action: Action, row: int) -> str | None:
        """Return the class that an action gave to a row, by its name of today."""
        if action.do != "label":
            return None
        return self.called(action.label_of(row), action.place)

    def called(self, label: str | None, since: int = -1) -> str | None:
        """Return what a class is called today, by its name at some time."""
        for change in self._renamings:
            if change.place > since and not change.undone and label is not None:
                label = change.renames.get(label, label)
        return label

    def votes(self, row: int) -> Counter[str]:
        """Count the labels that people gave a row."""
        said = (self.said(action, row) for action in self.opinions(row).values())
        return Counter(label for label in said if label is not None)

    def label_of(self, row: int) -> str | None:
        """Return the label of a row: the one given here, or else the table's.

        Where people disagree, it is that of the majority; None without one.
        """
        if not self.opinions(row):
            return self.called(self.given[row])
        ranked = self.votes(row).most_common(2)
        if len(ranked) > 1 and ranked[0][1] == ranked[1][1]:
            return None
        return ranked[0][0] if ranked else None

    @property
    def class_list(self) -> list[dict[str, Any]] | None:
        """Descriptions of the classes; None if nobody gave any."""
        for action in reversed(self._renamings):
            if not action.undone:
                return action.classes
        return None

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
        self._open_sections([entry for _, entry in entries])
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
                self._pass_over(line)
        return entries

    def _pass_over(self, raw: bytes) -> None:
        """Keep a damaged line, and what can be read of it as conflicts."""
        line = damaged_line(raw)
        self.damaged.append(line)
        names = self.columns
        for place, digest in line.rows if line.label is not None else []:
            there = 0 < place <= self._keys.n_rows
            if there and self._keys.digest(place - 1, names) == digest:
                key = line.key or digest
                found = Conflict(key, place, line.label, "line", place - 1)
                self.conflicts.append(found)

    def _open_sections(self, entries: Sequence[dict[str, Any]]) -> None:
        """Find what columns of new sections are called now."""
        rows: dict[str, set[tuple[int, str]]] = {}
        for entry in entries:
            with suppress(ValueError, TypeError, KeyError, AttributeError):
                pairs = rows.setdefault(entry.get("in", ""), set())
                pairs.update((place, digest) for place, digest, *_ in entry["rows"])
        for entry in entries:
            names: list[str] = entry.get("columns") or []
            if "opened" not in entry or self._keys.knows(names):
                continue
            samples = sorted(rows.get(entry.get("key", ""), ()))[:_SAMPLE]
            now = self._keys.renamed(names, samples) if samples else None
            if now is not None:
                self.renamed |= {a: b for a, b in zip(names, now, strict=True)}
                entry["columns"] = now

    def _read(self, entry: dict[str, Any]) -> None:
        try:
            if "opened" in entry:
                self.holder = entry
                key = entry.get("key", "")
                if not key or key not in self._sections:
                    by = str(entry.get("by", ""))
                    section = Section(entry["target"], entry["columns"], by)
                    self._sections[key] = section
            else:
                if "n" in entry:  # format 1 counted lines, and had no keys of sections
                    names = {"in": "", "key": str(entry["n"])}
                    entry |= {**names, "of": str(entry.get("of"))}
                section = self._sections[entry["in"]]
                if section.target == self.target:
                    self._apply(entry, section)
        except (ValueError, KeyError, TypeError, AttributeError):
            self._pass_over(_line(entry).strip())

    def _apply(self, entry: dict[str, Any], section: Section) -> None:
        match entry["do"]:
            case "error":
                self.errors.append(entry)
            case "undo":
                action = self._named[entry["of"]]
                self._void(action)
                if entry.get("key"):
                    self._named[entry["key"]] = action
            case "settle":
                for key, place in entry.get("all") or [[entry["of"], entry["row"]]]:
                    self._settled(key, place)
            case "note":
                for place, digest, *_ in entry["rows"]:
                    row = self._find(place, digest, section)
                    if row is not None:
                        by = entry.get("by", section.by)
                        text, flag = str(entry["text"]), bool(entry["flag"])
                        self.notes[row] = Note(text, flag, by, entry["at"])
                        self._changed.add(row)
            case "view":
                self.view = {k: list(entry[k]) for k in ("pinned", "hidden")}
            case "draw":
                rows = [self._find(k, name, section) for k, name in entry["rows"]]
                draw = Draw(entry["key"], rows, entry["audit"], entry["at"])
                self.draws[draw.key] = draw
            case "look":
                draw = self.draws[entry["of"]]
                draw.look = max(draw.look, entry["look"])
            case "label" | "check" | "skip" | "clear" | "classes":
                self._keep(entry, section)

    def _void(self, action: Action) -> None:
        action.void.update(action.rows)
        action.undone = True
        self._changed.update(action.rows)
        if action.do == "classes":
            self._changed.update(range(self._keys.n_rows))
        self._forget_conflicts(action.key)

    def _keep(self, entry: dict[str, Any], section: Section) -> None:
        action = Action(
            entry["key"],
            entry["do"],
            entry.get("label"),
            [],
            entry.get("how", ""),
            entry.get("at", ""),
            entry.get("by", section.by),
            classes=entry.get("classes"),
            renames=entry.get("renames", {}),
            place=len(self.actions),
        )
        if action.do == "classes":
            self._renamings.append(action)
            self._changed.update(range(self._keys.n_rows))
        each = entry.get("labels") or [action.label] * len(entry["rows"])
        earlier = self._named.get(action.key)
        if earlier is not None:  # the same line again
            self._void(earlier)
        for (place, digest, *was), label in zip(entry["rows"], each, strict=True):
            row = self._find(place, digest, section)
            if row is None:
                there = place - 1 if place <= self._keys.n_rows else None
                self._conflict(action, place, "row", there, label)
                continue
            action.rows.append(row)
            if label != action.label:
                action.labels[row] = label
            self._of_row.setdefault(row, []).append(action)
            # The table has since been edited, and has another label.
            now, before = self.given[row], was[0] if was else None
            self.conflicts = [
                c for c in self.conflicts if c.kind != "label" or c.row != row
            ]
            if now not in (None, before, label):
                self._conflict(action, place, "label", row, label)
        self.actions.append(action)
        self._named[action.key] = action
        self._changed.update(action.rows)

    def _conflict(
        self,
        action: Action,
        place: int,
        kind: str,
        row: int | None,
        label: str | None,
    ) -> None:
        said = None if row is None else self.given[row]
        found = Conflict(action.key, place, label, kind, row, said)
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

    def _find(self, place: int, digest: str, section: Section) -> int | None:
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
            **({"by": self.by} if self.by else {}),
        }
        try:
            self.journal.take_over(_line(opened))
        except LockedError:
            self.follow()
            raise
        self._section = key
        self._replay()
        odd = set_aside(self.path, self.damaged)
        if odd:
            self.journal.odd.append(odd)

    def act(
        self,
        do: str,
        rows: Sequence[int],
        label: str | None = None,
        *,
        how: str = "card",
        key: str = "",
        by: str | None = None,
        labels: Sequence[str] | None = None,
        **more: Any,
    ) -> Action:
        """Record an action; it is on disk when this returns.

        Parameters
        ----------
        do : {"label", "check", "skip", "clear", "classes"}
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
        by : str, default=None
            Who did it; when None, the person of this process.
        labels : sequence of str, default=None
            Classes of the rows, where they differ.
        **more : dict
            What the line says besides.

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
        for placed, row in zip(self._placed(rows), rows, strict=True):
            table = self.given[row]
            listed.append(placed if table is None else [*placed, table])
        entry = {"do": do, "label": label, "rows": listed, "how": how, **more}
        entry |= {"by": by} if by not in (None, self.by) else {}
        entry |= {"labels": list(labels)} if labels is not None else {}
        self._append(entry, key)
        return self._named[key]

    def prepare(self) -> None:
        """Compute the digests of all rows; many rows are then saved at once quickly."""
        self._keys.prepare(self.columns)

    def _placed(self, rows: Sequence[int]) -> list[list[Any]]:
        return [[row + 1, self._keys.digest(row, self.columns)] for row in rows]

    def undo(
        self, key: str = "", by: str | None = None, tabs: Sequence[str] | None = None
    ) -> Action | None:
        """Undo the last action that holds, of anybody, of a person or of some tabs."""
        if key in self._named:
            return self._named[key]
        for action in reversed(self.actions):
            ours = tabs is None or action.key.partition("-")[0] in tabs
            if action.holds and ours and by in (None, action.by):
                self._append({"do": "undo", "of": action.key}, key)
                return self._named[action.key]
        return None

    def settle(self, conflicts: Sequence[Conflict], keep: bool) -> None:
        """Decide conflicts: keep labels for the rows now there, or drop them."""
        kept = {c.row: c.label for c in conflicts if keep}
        fits = {r: a for r, a in kept.items() if r is not None and a is not None}
        if fits:
            self.act("label", [*fits], labels=[*fits.values()], how="review")
        pairs = [[c.action, c.place] for c in conflicts]
        self._append({"do": "settle", "all": pairs}, "")

    def note(self, row: int, text: str, flag: bool, by: str | None = None) -> None:
        """Write something about a row, or flag it."""
        entry = {"do": "note", "rows": self._placed([row]), "text": text, "flag": flag}
        self._append({**entry, "by": self.by if by is None else by}, "")

    def note_error(self, n_labels: int, value: float, low: float, high: float) -> None:
        """Record a point of the error curve."""
        entry = {"do": "error", "labels": n_labels, "value": value}
        self._append({**entry, "low": low, "high": high}, "")

    def note_view(self, pinned: Sequence[str], hidden: Sequence[str]) -> None:
        """Keep which columns the person wants to see."""
        entry = {"do": "view", "pinned": list(pinned), "hidden": list(hidden)}
        self._append(entry, "")

    def note_draw(self, rows: Sequence[int], audit: dict[str, Any]) -> Draw:
        """Keep which rows were drawn to check predictions, before anyone sees them."""
        key = secrets.token_hex(8)
        self._append({"do": "draw", "rows": self._placed(rows), "audit": audit}, key)
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
        now = max(datetime.now(UTC), self._last + timedelta(microseconds=1))
        return now.isoformat(timespec="microseconds")

    def _append(self, entry: dict[str, Any], key: str) -> None:
        named = {"in": self._section, **({"key": key} if key else {})}
        self.journal.append(_line({**named, **entry, "at": self._now()}))
        self._replay()


def _line(entry: dict[str, Any]) -> bytes:
    text = json.dumps(entry, ensure_ascii=False, separators=(", ", ": "))
    return text.encode("utf-8", "backslashreplace") + b"\n"
