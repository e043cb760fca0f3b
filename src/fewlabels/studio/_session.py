"""A labelling session: which rows to ask about, their labels, and the predictions.

No HTTP here, and nothing slow: the worker learns, the store saves.
"""

# SPDX-License-Identifier: BSD-3-Clause

import time
import zlib
from asyncio import AbstractEventLoop, Future, Queue
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewlabels.studio._actions import Action
from fewlabels.studio._cards import Cards
from fewlabels.studio._columns import ColumnView
from fewlabels.studio._groups import group_of
from fewlabels.studio._journal import StoreError
from fewlabels.studio._keys import class_keys
from fewlabels.studio._outlook import outlook, seconds_per_label
from fewlabels.studio._sketch import covering_rows
from fewlabels.studio._store import LabelStore

# Seconds for which a row shown in one tab is not shown in another.
RESERVED = 900.0
FIRST = 24
# Flags of a row on the map.
LABELED, SKIPPED, SUSPECT = 1, 2, 4
NO_CLASS = 65535


class TakenError(Exception):
    """A row was labelled elsewhere after it was shown."""


class Session:
    """The state of a labelling session, for the page.

    Parameters
    ----------
    cards : Cards
        The rows.
    store : LabelStore
        The labels.
    classes : sequence of str, default=()
        Classes that are known beforehand, in the order of their keys.
    about : dict
        Name of the table, number of rows and target, for the page.
    columns : sequence of ndarray
        The table without its target, for the first questions.
    random_state : int, default=0
        Seed of the first questions.
    wording : callable, default=str
        Rewords messages of the library.
    overlap : float, default=0.0
        Share of the rows that two people are asked about.
    """

    def __init__(
        self,
        cards: Cards,
        store: LabelStore,
        *,
        classes: Sequence[str] = (),
        about: dict[str, Any],
        columns: Sequence[NDArray[Any]],
        random_state: int = 0,
        wording: Callable[[str], str] = str,
        overlap: float = 0.0,
    ) -> None:
        self._wording, self.overlap = wording, overlap
        self.cards, self.store, self.about = cards, store, about
        self.n_rows: int = about["rows"]
        self.columns = ColumnView(cards, self.n_rows, store)
        self.labels: dict[int, str] = {}
        self.skipped: set[int] = set()
        self.accepted: set[int] = set()
        self.disputed: set[int] = set()
        self.held_out: set[int] = set()  # drawn for a check, and not labelled yet
        self._fixed_classes = list(classes)
        # In the order in which they were named, which their keys follow.
        named = [a.label for a in store.actions if a.do == "label" and a.holds]
        known = [*classes, *(name for name in named if name)]
        self._known_classes: dict[str, None] = dict.fromkeys(known)
        self._sync(range(self.n_rows) if any(store.given) else store.touched())
        store.pop_changed()
        self.version = 0
        self.guesses: Any = None
        # Guesses at once, until those of the worker come.
        self.early: Callable[[dict[int, str]], Any] = lambda labels: None
        self._is_taught = False
        self.judgement: dict[str, Any] | None = None
        self.suspects: list[dict[str, Any]] = []
        self.plane: NDArray[np.float32] | None = None
        self.groups: NDArray[np.int32] | None = None
        self.near: NDArray[np.float32] | None = None
        self.notes: list[str] = []
        self.status: dict[str, Any] = {"what": "starting", "share": 0.0}
        self.failure = ""
        self._depth: NDArray[np.float32] | None = None
        self._shown: dict[str, tuple[int, float]] = {}
        self._subscribers: list[Queue[dict[str, Any]]] = []
        self._waiting: dict[int, Future[Any]] = {}
        self._send: Callable[..., None] = lambda *message: None
        done = {*self.labels, *self.skipped}
        rest = np.array([r for r in range(self.n_rows) if r not in done], dtype=np.intp)
        self.order = (
            covering_rows(columns, rest, FIRST, random_state) if rest.size else []
        )
        self.order_by = "cover"
        self._spare = np.random.default_rng(random_state).permutation(self.n_rows)
        self._spare_at = 0

    # -- labels -------------------------------------------------------------------

    def _sync(self, rows: Iterable[int]) -> None:
        """Update the labels of some rows from the store."""
        for row in rows:
            action = self.store.current(row)
            label = self.store.label_of(row)
            self.labels.pop(row, None)
            for rows_of in (self.skipped, self.accepted, self.disputed):
                rows_of.discard(row)
            if action is not None and action.how == "accept":
                self.accepted.add(row)
            if action is not None and action.by and len(self.store.votes(row)) > 1:
                self.disputed.add(row)
            if label is not None:
                self.labels[row] = label
                self._known_classes.setdefault(label)
            elif action is not None and action.do in ("skip", "check"):
                self.skipped.add(row)

    @property
    def classes(self) -> list[str]:
        """Return classes by key; without labels, only those named as a class."""
        listed = [entry["name"] for entry in self.store.class_list or []]
        fixed = [self.store.called(name) for name in self._fixed_classes]
        kept = {*self.labels.values(), *listed, *fixed}
        return [name for name in self._all_classes() if name in kept]

    def _all_classes(self) -> list[str]:
        """Return all classes that were ever named, in the order of their keys."""
        listed = [entry["name"] for entry in self.store.class_list or []]
        known = map(self.store.called, self._known_classes)
        return list(dict.fromkeys([*listed, *known, *self.labels.values()]))

    def _changed(self) -> None:
        rows = self.store.pop_changed()
        if rows:
            self._sync(rows)
            self.version += 1
            self._teach()
        self.publish("labels", self.summary())
        if rows and not self._is_taught:
            self.guesses = self.early(self.taught()[0])
            if self.guesses is not None:
                self.publish("learned", {"version": self.version})

    def _teach(self) -> None:
        self._send("labels", self.version, *self.taught())

    def taught(self) -> tuple[dict[int, str], set[int]]:
        """Return what is learned from, and which other rows are not asked about.

        The model learns nothing from its own predictions, even those that a person has
        accepted: they would make it, and the estimate of its error, too sure.
        """
        labels = {r: a for r, a in self.labels.items() if r not in self.accepted}
        return labels, self.skipped | self.disputed | self.accepted | self.held_out

    def act(
        self,
        do: str,
        rows: Sequence[int],
        label: str | None,
        *,
        how: str,
        key: str,
        seen: int | None = None,
        check: bool = False,
        labels: Sequence[str] | None = None,
        by: str | None = None,
        **more: Any,
    ) -> Action:
        """Save an action; `seen` is the last one that the page knew, to be checked."""
        if do == "label" and how in ("grid", "map", "accept") and self.held_out:
            # Nobody meant these in particular, and nothing may be learned from them.
            kept = [k for k, row in enumerate(rows) if row not in self.held_out]
            if not kept:
                raise TakenError("These rows are kept for the check.")
            rows = [rows[k] for k in kept]
            labels = None if labels is None else [labels[k] for k in kept]
        now = self.store.current(rows[0], by or None) if check else None
        if now is not None and now.key not in (seen, key):
            raise TakenError(
                f"Row {rows[0] + 1:,} has since been labelled elsewhere"
                + (f", as {said!r}." if (said := now.label_of(rows[0])) else ".")
            )
        try:
            return self.store.act(
                do, rows, label, how=how, key=key, labels=labels, by=by, **more
            )
        finally:
            self._changed()

    def note(self, row: int, text: str, flag: bool, by: str | None = None) -> None:
        """Write something about a row, or flag it."""
        try:
            self.store.note(row, text, flag, by)
        finally:
            self._changed()

    def undo(
        self, key: str, by: str | None = None, tabs: Sequence[str] | None = None
    ) -> Action | None:
        """Undo the last action, of anybody, of one person or of some tabs."""
        try:
            action = self.store.undo(key, by, tabs)
        finally:
            self._changed()
        if action is not None:
            self.order[:0] = [r for r in action.rows[:1] if r not in self.order]
        return action

    def settle(self, action: str, place: int, keep: bool) -> None:
        """Decide a conflict, or all of them when no action is named."""
        try:
            found = [
                c
                for c in self.store.conflicts
                if (c.action, c.place) == (action, place) or not action
            ]
            if found:
                self.store.settle(found, keep)
        finally:
            self._changed()

    def take_over(self) -> None:
        """Become the one who writes."""
        try:
            self.store.take_over()
        finally:
            self._changed()

    def follow(self) -> None:
        """Check the journal: others may have written to it, or removed it."""
        before = self.store.notice, self.store.writes
        if self.store.follow() or before != (self.store.notice, self.store.writes):
            self._changed()

    # -- questions ----------------------------------------------------------------

    def next_row(self, client: str, by: str = "") -> int | None:
        """Choose the next question for a tab; two tabs never get the same row."""
        now = time.monotonic()
        others = {
            row
            for name, (row, since) in self._shown.items()
            if name != client and now - since < RESERVED
        }
        row = self._second_opinion(by, others)
        if row is None:
            fits = (r for r in self.order if r not in others and self._is_open(r, by))
            row = next(fits, None)
        if row is None:
            row = self._spare_row(others, by)
        if row is None:
            self._shown.pop(client, None)
        else:
            self._shown[client] = (row, now)
        return row

    def _is_open(self, row: int, by: str = "") -> bool:
        if by and row in self.skipped:  # somebody else may be sure
            action = self.store.current(row)
            theirs = action is not None and action.by != by and action.do == "skip"
            return theirs and self.store.current(row, by) is None
        done = (self.labels, self.skipped, self.disputed, self.held_out)
        return not any(row in rows for rows in done)

    def held(self, client: str) -> int:
        """Count the rows that other tabs show."""
        now = time.monotonic()
        shown = [(row, t) for name, (row, t) in self._shown.items() if name != client]
        return sum(self._is_open(row) for row, t in shown if now - t < RESERVED)

    def _second_opinion(self, by: str, others: set[int]) -> int | None:
        """Choose a row that another person has labelled, every second time."""
        if not by or not self.overlap:
            return None
        mine = sum(action.by == by for action in self.store.actions[-1000:])
        if mine % 2 == 0 and any(self._is_open(row) for row in self.order):
            return None
        for action in self.store.actions:
            if action.by in ("", by) or action.do != "label" or action.how != "card":
                continue
            row = action.rows[0] if action.rows else -1
            if row in others or row in action.void or not self.is_shared(row):
                continue
            said = self.store.opinions(row)
            if len(said) == 1 and "" not in said and by not in said:
                return row
        return None

    def is_shared(self, row: int) -> bool:
        """Whether two people are asked about a row."""
        code = zlib.crc32(str(row).encode())
        return row >= 0 and code < self.overlap * 2**32

    def _spare_row(self, others: set[int], by: str = "") -> int | None:
        """Return any row without a label, when the questions have run out."""
        while not by and self._spare_at < self.n_rows:
            if self._is_open(int(self._spare[self._spare_at])):
                break
            self._spare_at += 1
        # A row before this one may have lost its label by undo.
        for place in (*range(self._spare_at, self.n_rows), *range(self._spare_at)):
            row = int(self._spare[place])
            if row not in others and self._is_open(row, by):
                return row
        return None

    def card(self, row: int, by: str = "") -> dict[str, Any]:
        """Return a row to be shown; people do not see each other's labels."""
        action = self.store.current(row, by or None)
        note = self.store.notes.get(row)
        label = self.labels.get(row)
        if by and self.store.opinions(row).keys() - {"", by}:
            label = None if action is None else self.store.said(action, row)
        return {
            "row": row,
            "cells": self.cards.cells(row),
            "pictures": self.cards.pictures(row),
            "pixels": self.cards.drawn(row),
            "guesses": self.guesses_of(row),
            "label": label,
            "note": None if note is None else {"text": note.text, "flag": note.flag},
            "skipped": row in self.skipped,
            "given": self.store.given[row],
            "seen": None if action is None else action.key,
        }

    def guesses_of(self, row: int) -> list[dict[str, Any]]:
        """Return the model's guesses for a row."""
        if self.guesses is None:
            return []
        pairs = zip(self.guesses.codes[row], self.guesses.shares[row], strict=True)
        return [
            {"label": self.guesses.classes[c], "share": round(float(s), 4)}
            for c, s in pairs
        ]

    def grid(self, after: int = 0) -> dict[str, Any]:
        """Choose similar rows for which the model predicts the same class."""
        if self.groups is None or self._depth is None:
            return {"ready": False, "cards": []}
        done = [*self.labels, *self.skipped, *self.held_out]
        rows, sizes = group_of(self.groups, self._depth, done, self.guesses, after)
        return {"ready": True, "cards": [self.card(row) for row in rows], **sizes}

    # -- what the page shows ------------------------------------------------------

    def summary(self) -> dict[str, Any]:
        """Count labels, classes and conflicts."""
        counts = Counter(self.labels.values())
        told = {entry["name"]: entry for entry in self.store.class_list or []}
        keys = class_keys(self._all_classes())
        return {
            "version": self.version,
            "labels": len(self.labels),
            "skipped": len(self.skipped),
            "classes": [
                {
                    "colour": "",
                    "text": "",
                    **told.get(c, {}),
                    "name": c,
                    "count": n,
                    "key": k,
                }
                for c, n, k in ((c, counts[c], keys.get(c)) for c in self.classes)
            ],
            "flagged": sum(note.flag for note in self.store.notes.values()),
            "disputed": len(self.disputed),
            "people": any(action.by for action in self.store.actions),
            "conflicts": len(self.store.conflicts),
            "writes": self.store.writes,
            "notice": self.store.notice,
            "undoable": any(a.holds for a in self.store.actions[-50:]),
        }

    def state(self) -> dict[str, Any]:
        """Return everything that a page needs when it opens."""
        notes = [self._wording(note) for note in self.notes]
        if self.store.moved:
            notes.append(
                f"The table has changed: {self.store.moved:,} labels were matched by "
                "the content of their rows."
            )
        for old, new in self.store.renamed.items():
            if old != new:
                notes.append(
                    f"Column {old!r} is called {new!r} now: its cells are the same, "
                    "and all labels were carried over."
                )
        return {
            **self.about,
            **self.summary(),
            "columns": self.cards.names,
            **self.columns.shown(),
            "store": self.store.path.name,
            "holder": self.store.holder.get("pid"),
            "notes": notes,
            "status": self.status,
            "failure": self.failure,
            "quality": self.quality(),
            "map": self.plane is not None,
            "grid": self.groups is not None,
            "order": self.order_by,
        }

    def quality(self) -> dict[str, Any]:
        """Return the errors so far, and the effect of more labels."""
        curve: list[dict[str, Any]] = []
        for e in self.store.errors:
            while curve and curve[-1]["labels"] >= e["labels"]:
                curve.pop()  # labels were taken back
            curve.append({k: e[k] for k in ("labels", "value", "low", "high")})
        judged = self.judgement
        return {
            "judgement": judged,
            "curve": curve[-400:],
            "outlook": outlook(curve, self.n_rows - len(self.labels)),
            "suspects": [
                s for s in self.suspects if self.labels.get(s["row"]) == s["label"]
            ],
            "seconds": seconds_per_label(self.store.actions),
        }

    def history(self) -> list[dict[str, Any]]:
        """List the rows that were labelled or skipped, the latest first."""
        found = []
        brief = self.columns.shown()["brief"][:6]
        for action in reversed(self.store.actions):
            for row in action.rows:
                if row not in action.void and self.store.current(row) is action:
                    found.append(
                        {
                            "row": row,
                            "do": action.do,
                            "label": self.store.said(action, row),
                            "how": action.how,
                            "time": action.time,
                            "cells": [self.cards.cells(row)[k] for k in brief],
                            "guess": next(iter(self.guesses_of(row)), None),
                        }
                    )
            if len(found) >= 500:
                break
        return found[:500]

    def conflicts(self) -> list[dict[str, Any]]:
        """List the labels whose rows have changed."""
        return [
            {
                "action": c.action,
                "place": c.place,
                "label": c.label,
                "kind": c.kind,
                "table_label": c.table_label,
                "card": None if c.row is None else self.card(c.row),
            }
            for c in self.store.conflicts[:200]
        ]

    def colors(self) -> bytes:
        """Return class, confidence and flags of every row, for the map."""
        places = {name: k for k, name in enumerate(self.classes)}
        codes = np.full(self.n_rows, NO_CLASS, dtype="<u2")
        sure = np.zeros(self.n_rows, dtype=np.uint8)
        marks = np.zeros(self.n_rows, dtype=np.uint8)
        if self.guesses is not None:
            known = [places.get(c, NO_CLASS) for c in self.guesses.classes]
            codes[:] = np.array(known, dtype="<u2")[self.guesses.codes[:, 0]]
            sure[:] = np.round(255 * self.guesses.shares[:, 0])
        if self.labels:
            rows = list(self.labels)
            codes[rows] = [places[name] for name in self.labels.values()]
            sure[rows], marks[rows] = 255, LABELED
        marks[list(self.skipped)] |= SKIPPED
        for suspect in self.suspects:
            marks[suspect["row"]] |= SUSPECT
        return codes.tobytes() + sure.tobytes() + marks.tobytes()

    # -- events and the worker ----------------------------------------------------

    def connect(self, send: Callable[..., None]) -> None:
        """Learn with this worker from now on."""
        self._send = send
        self._teach()

    def subscribe(self) -> Queue[dict[str, Any]]:
        """Subscribe to all events."""
        queue: Queue[dict[str, Any]] = Queue(maxsize=1000)
        self._subscribers.append(queue)
        return queue

    def unsubscribe(self, queue: Queue[dict[str, Any]], client: str) -> None:
        """Unsubscribe."""
        self._subscribers.remove(queue)
        self._shown.pop(client, None)

    def end(self) -> None:
        """End all event streams."""
        self.publish("end", None)

    def publish(self, kind: str, content: Any) -> None:
        """Send an event to all pages."""
        for queue in self._subscribers:
            if not queue.full():
                queue.put_nowait({"kind": kind, "content": content})

    def receive(self, message: tuple[Any, ...]) -> None:
        """Process a message from the worker."""
        match message:
            case ("status", what, share):
                self.status = {"what": what, "share": round(share, 3)}
                self.publish("status", self.status)
            case ("order", _, rows, by):
                self.order, self.order_by = rows, by
            case ("learned", version, guesses, rows):
                self.guesses = guesses
                if rows is not None:
                    self.order, self._is_taught = rows, True
                    self.order_by = "cover" if guesses is None else "model"
                self.publish("learned", {"version": version})
            case ("judged", _, judgement):
                self._judged(judgement)
            case ("suspects", found):
                self.suspects = found
                self.publish("quality", self.quality())
            case ("groups", codes, depth):
                self.groups, self._depth = codes, depth
                self.publish("grid", True)
            case ("near", points):
                self.near = points
            case ("layout", plane):
                self.plane = plane
                self.publish("map", True)
            case ("effects", effects):
                if self.columns.learn(effects):
                    self.publish("columns", self.columns.shown())
            case ("notes", notes):
                self.notes = notes
            case ("answer", number, result, error):
                future = self._waiting.pop(number, None)
                if future is not None and not future.done():
                    if error is None:
                        future.set_result(result)
                    else:
                        future.set_exception(ValueError(self._wording(error)))
            case ("failed", text, _):
                self._fail(text)
            case ("ended", code):
                if not self.failure:
                    self._fail(f"The learning process has ended ({code}).")

    def _fail(self, text: str) -> None:
        text = self.failure = self._wording(text)
        self.publish("failure", text)
        for future in self._waiting.values():
            if not future.done():
                future.set_exception(ValueError(text))
        self._waiting.clear()

    def _judged(self, judgement: dict[str, Any]) -> None:
        self.judgement = judgement
        error, n = judgement["error"], judgement["labels"]
        last = self.store.errors[-1]["labels"] if self.store.errors else None
        if error["value"] is not None and n != last and self.store.writes:
            with suppress(StoreError):  # the page shows why
                self.store.note_error(n, error["value"], error["low"], error["high"])
            self._changed()
        self.publish("quality", self.quality())

    async def export(self, loop: AbstractEventLoop, what: str, typed: str) -> bytes:
        """Let the worker make a file."""
        if self.failure:
            raise ValueError(self.failure)
        number = time.monotonic_ns()
        future = self._waiting[number] = loop.create_future()
        accepted = {row: self.labels[row] for row in self.accepted & {*self.labels}}
        self._send("export", number, what, self.taught()[0], typed, accepted)
        return await future
