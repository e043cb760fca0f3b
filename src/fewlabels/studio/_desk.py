"""Requests of the views beyond Ask: search, classes, notes, accepting, guidelines."""

# SPDX-License-Identifier: BSD-3-Clause

import math
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from fewlabels.studio._find import ORDERS, PAGE, WHERE, Finder, Known, Query
from fewlabels.studio._guide import Guidelines
from fewlabels.studio._people import People
from fewlabels.studio._requests import (
    Refused,
    body,
    class_name,
    flag,
    number,
    reply,
    rows,
    text,
    whole,
)
from fewlabels.studio._session import Session

# Rows that one request may name.
_MAX_FOUND = 50_000
_MAX_NOTE = 5_000
_MAX_CLASSES = 2_000
# Coverage of the interval of the error in a sample.
LEVEL = 0.9


class Desk:
    """Search, classes, notes, accepted predictions and guidelines.

    Parameters
    ----------
    session : Session
        The labelling session.
    finder : Finder
        Searches in the rows.
    guidelines : Path or None
        The file of guidelines.
    people : People
        Who labels.
    """

    def __init__(
        self,
        session: Session,
        finder: Finder,
        guidelines: Path | None,
        people: People,
    ) -> None:
        self.session, self._finder, self._people = session, finder, people
        self._guide = Guidelines(guidelines)

    def routes(self) -> list[Route]:
        """Return the routes."""
        posts = {
            "search": self.search,
            "classes": self.classes,
            "note": self.note,
            "sample": self.sample,
            "accept": self.accept,
            "guidelines": self.write_guidelines,
            "decide": self.decide,
        }
        return [
            Route("/api/guidelines", self.guidelines, methods=["GET"]),
            Route("/api/people", self.people, methods=["GET"]),
            *(Route(f"/api/{n}", f, methods=["POST"]) for n, f in posts.items()),
        ]

    # -- search ---------------------------------------------------------------------

    def _known(self) -> Known:
        """Copy what is known now, for a search in another thread."""
        session = self.session
        notes = list(session.store.notes.items())
        labeled = {*session.labels}
        done = labeled | session.skipped | session.disputed
        sets = {
            "open": {*range(session.n_rows)} - done,
            "labelled": labeled,
            "skipped": set(session.skipped),
            "flagged": {row for row, note in notes if note.flag},
            "notes": {row for row, note in notes if note.text},
            "doubtful": {s["row"] for s in session.quality()["suspects"]},
            "disputed": set(session.disputed),
            "accepted": set(session.accepted),
        }
        latest = [r for a in reversed(session.store.actions[-5000:]) for r in a.rows]
        labels = dict(session.labels)
        latest = list(dict.fromkeys(latest))
        return Known(labels, sets, session.guesses, latest, session.near)

    async def search(self, request: Request) -> Response:
        """Return rows that match, a page at a time."""
        given, session = await body(request), self.session
        query = self._query(given)
        start = whole(given.get("start"), "start", 0, session.n_rows, 0)
        by = self._people.of(request, given)
        if query.like is not None and session.near is None:
            raise Refused(409, "Similar rows can be found in a moment: please wait.")
        found = await run_in_threadpool(self._finder.find, query, self._known())
        shown = found[start : start + PAGE].tolist()
        answer: dict[str, Any] = {"total": int(found.size), "start": start}
        answer["cards"] = [session.card(row, by) for row in shown]
        if flag(given, "ids"):
            answer["rows"] = found[:_MAX_FOUND].tolist()
        return reply(answer)

    def _query(self, given: dict[str, Any]) -> Query:
        where = text(given, "where", default="all") or "all"
        order = text(given, "order", default="row") or "row"
        if where not in WHERE or order not in ORDERS:
            raise Refused(400, f"'where' must be one of {', '.join(WHERE)}.")
        like = given.get("like")
        (like,) = [None] if like is None else rows([like], self.session.n_rows)
        return Query(
            text=text(given, "text", 500),
            where=where,
            label=text(given, "label", 500) or None,
            guess=text(given, "guess", 500) or None,
            low=number(given.get("low"), "low", 0, 1, 0),
            high=number(given.get("high"), "high", 0, 1, 1),
            order=order,
            like=like,
        )

    # -- classes --------------------------------------------------------------------

    async def classes(self, request: Request) -> Response:
        """Rename, merge, reorder, describe and colour classes, as one action."""
        given, session = await body(request), self.session
        listed = given.get("classes")
        renames = given.get("renames", {})
        if not isinstance(listed, list) or not isinstance(renames, dict):
            raise Refused(400, "'classes' must be a list, and 'renames' an object.")
        if len(listed) > _MAX_CLASSES:
            raise Refused(400, f"More than {_MAX_CLASSES:,} classes.")
        told = [_described(entry) for entry in listed]
        names = [entry["name"] for entry in told]
        renames = {class_name(old): class_name(new) for old, new in renames.items()}
        if len(set(names)) < len(names):
            raise Refused(400, "Two classes have the same name: merge them instead.")
        if set(renames) & set(names) or set(renames.values()) - set(names):
            raise Refused(400, "A class must be renamed to one of the list.")
        gone = {*session.labels.values()} - {*names, *renames}
        if gone:
            raise Refused(409, f"The class {min(gone)!r} has labels: it cannot go.")
        action = session.act(
            "classes",
            [],
            None,
            how="classes",
            key=text(given, "key"),
            by=self._people.of(request, given),
            classes=told,
            renames=renames,
        )
        if session.guesses is not None:  # until the model has learned the new names
            known = session.guesses.classes
            session.guesses.classes = [renames.get(c, c) for c in known]
        return reply({"saved": action.key, **session.summary()})

    # -- notes ----------------------------------------------------------------------

    async def note(self, request: Request) -> Response:
        """Write something about a row, or flag it."""
        given, session = await body(request), self.session
        (row,) = rows([given.get("row")], session.n_rows)
        by = self._people.of(request, given)
        said = text(given, "text", _MAX_NOTE).strip()
        session.note(row, said, flag(given, "flag"), by)
        return reply({**session.summary(), "card": session.card(row, by)})

    # -- accepting predictions ------------------------------------------------------

    def _sure(self, above: float, guess: str | None) -> NDArray[np.intp]:
        """Find rows without a label that are predicted with some confidence."""
        session = self.session
        if session.guesses is None:
            raise Refused(409, "There are no predictions yet.")
        shares = session.guesses.shares[:, 0]
        rest = np.ones(session.n_rows, dtype=bool)
        rest[[*session.labels, *session.skipped, *session.disputed]] = False
        if guess:
            codes = session.guesses.codes[:, 0]
            names = np.array([*session.guesses.classes, ""], dtype=object)
            rest &= names[codes.astype(np.intp)] == guess
        return np.flatnonzero(rest & (shares >= above - 5e-5))

    async def sample(self, request: Request) -> Response:
        """Draw predictions above a confidence at random, to look at them first."""
        given, session = await body(request), self.session
        above = number(given.get("above"), "above", 0, 1, 0.95)
        size = whole(given.get("size"), "size", 0, 100, 20)
        sure = self._sure(above, text(given, "guess", 500) or None)
        guesses, rng = session.guesses, np.random.default_rng()
        drawn = rng.choice(sure, min(size, sure.size), replace=False).tolist()
        counts = Counter(guesses.codes[sure, 0].tolist())
        by = self._people.of(request, given)
        return reply(
            {
                "above": above,
                "total": int(sure.size),
                "expected": _mean_doubt(guesses.shares[sure, 0]),
                "classes": [
                    {"name": guesses.classes[code], "count": n}
                    for code, n in counts.most_common()
                ],
                "cards": [session.card(row, by) for row in drawn],
                "version": session.version,
                "bounds": [
                    [round(bound, 4) for bound in share_bounds(k, len(drawn))]
                    for k in range(len(drawn) + 1)
                ],
            }
        )

    async def accept(self, request: Request) -> Response:
        """Label rows as predicted above a confidence, as one action."""
        given, session = await body(request), self.session
        if whole(given.get("version"), "version", 0, 2**53, 0) != session.version:
            raise Refused(409, "Labels have changed since: look at a sample again.")
        above = number(given.get("above"), "above", 0, 1, 1)
        wrong = given.get("wrong") or []
        wrong = rows(wrong, session.n_rows) if wrong else []
        sure = self._sure(above, text(given, "guess", 500) or None)
        chosen = np.setdiff1d(sure, wrong)
        if not chosen.size:
            raise Refused(409, "No prediction is that certain.")
        await run_in_threadpool(session.store.prepare)
        names = [session.guesses.classes[c] for c in session.guesses.codes[chosen, 0]]
        session.act(
            "label",
            chosen.tolist(),
            None,
            labels=names,
            how="accept",
            key=text(given, "key"),
            by=self._people.of(request, given),
        )
        return reply({**session.summary(), "accepted": int(chosen.size)})

    # -- guidelines and people ------------------------------------------------------

    async def guidelines(self, request: Request) -> Response:
        """Return the guidelines."""
        return reply(await run_in_threadpool(self._guide.read))

    async def write_guidelines(self, request: Request) -> Response:
        """Replace the guidelines, unless somebody else has done so meanwhile."""
        given = await body(request)
        words = text(given, "text", 2**18)
        seen = text(given, "seen", 80)
        return reply(await run_in_threadpool(self._guide.write, words, seen))

    async def people(self, request: Request) -> Response:
        """Return who labelled, how far they agree, and where they do not."""
        me = self._people.of(request, dict(request.query_params))
        summary = await run_in_threadpool(self._people.summary, self.session)
        disputed = sorted(self.session.disputed)[:200]
        cases = [
            {
                "card": self.session.card(row),
                "said": [
                    {"by": who, "label": self.session.store.said(action, row)}
                    for who, action in self.session.store.opinions(row).items()
                ],
            }
            for row in disputed
        ]
        return reply({**summary, "me": me, "disputed": cases})

    async def decide(self, request: Request) -> Response:
        """Settle a disagreement."""
        given, session = await body(request), self.session
        (row,) = rows([given.get("row")], session.n_rows)
        session.act(
            "label",
            [row],
            class_name(given.get("label")),
            how="settled",
            key=text(given, "key"),
            by=self._people.of(request, given),
        )
        return reply(session.summary())


def _described(entry: Any) -> dict[str, Any]:
    if not isinstance(entry, dict):
        raise Refused(400, "Each class must be an object with a name.")
    color = text(entry, "colour", 7)
    hexadecimal = all(c in "0123456789abcdefABCDEF" for c in color[1:])
    if color and not (len(color) == 7 and color[0] == "#" and hexadecimal):
        raise Refused(400, "'colour' must be as in #1a2b3c.")
    words = text(entry, "text", 2_000).strip()
    return {"name": class_name(entry.get("name")), "text": words, "colour": color}


def _mean_doubt(shares: NDArray[Any]) -> float | None:
    return float(np.mean(1 - shares)) if shares.size else None


def share_bounds(k: int, n: int, level: float = LEVEL) -> tuple[float, float]:
    """Bound a share of which `k` of `n` were seen (Clopper and Pearson).

    Examples
    --------
    >>> from fewlabels.studio._desk import share_bounds
    >>> [round(bound, 3) for bound in share_bounds(1, 20)]
    [0.003, 0.216]
    """
    tail = (1 - level) / 2
    low = 0.0 if k == 0 else _solved(lambda p: 1 - _binomial(k - 1, n, p), tail)
    high = 1.0 if k == n else _solved(lambda p: -_binomial(k, n, p), -tail)
    return low, high


def _binomial(k: int, n: int, p: float) -> float:
    """Return the probability of at most `k` of `n`."""
    return sum(math.comb(n, i) * p**i * (1 - p) ** (n - i) for i in range(k + 1))


def _solved(rising: Any, value: float) -> float:
    low, high = 0.0, 1.0
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if rising(middle) < value else (low, middle)
    return (low + high) / 2
