"""The check as a view of the page: rows drawn at random, labelled without a guess."""

# SPDX-License-Identifier: BSD-3-Clause

from collections import Counter
from types import SimpleNamespace
from typing import Any

import numpy as np
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from fewlabels.studio._check import TableCheck
from fewlabels.studio._people import People
from fewlabels.studio._requests import (
    Refused,
    body,
    class_name,
    reply,
    rows,
    text,
    whole,
)
from fewlabels.studio._session import Session
from fewlabels.tabular import Table, TargetColumn

# The most rows of a first look.
MAX_ROWS = 500


class PageCheck:
    """Responds to the requests of the view.

    Parameters
    ----------
    session : Session
        The labelling session.
    table : Table
        The table.
    people : People
        Who labels.
    """

    def __init__(self, session: Session, table: Table, people: People) -> None:
        self.session, self._people = session, people
        own = np.array(session.store.given, dtype=object)
        given = TargetColumn(session.about["target"], own, {})
        self._check = TableCheck.of_page(table, given, session.store)
        self._hold()

    def routes(self) -> list[Route]:
        """Return the routes."""
        posts = {
            "draw": self.draw,
            "label": self.label,
            "more": self.more,
            "learn": self.learn,
        }
        return [
            Route("/api/check", self.state, methods=["GET"]),
            *(
                Route(f"/api/check/{name}", answer, methods=["POST"])
                for name, answer in posts.items()
            ),
        ]

    def _hold(self) -> None:
        """Keep the rows of the check away from all other views."""
        rows_left = (row for row in self._check.rows if not self._is_answered(row))
        self.session.held_out = set(rows_left)

    def _is_answered(self, row: int) -> bool:
        action = self.session.store.current(row)
        if action is None:
            return False
        return action.do in ("check", "label") or action.how == "check"

    async def state(self, request: Request) -> Response:
        """Return the state of the check, and the next row to label."""
        return reply(await self._state(self._people.of(request, request.query_params)))

    async def _state(self, by: str) -> dict[str, Any]:
        self._hold()
        check = self._check
        if check.audit is None:
            ready = self.session.guesses is not None
            return {"drawn": 0, "ready": ready, "next": None, "report": None}
        left = [row for row in check.rows if not self._is_answered(row)]
        known = check.labels
        card = self.session.card(left[0], by) if left else None
        if card is not None:
            card["guesses"] = []  # who sees a guess tends to agree
        numbers = await run_in_threadpool(check.numbers) if known else None
        return {
            "ready": self.session.guesses is not None,
            "drawn": len(check.rows),
            "left": len(left),
            "known": len(known),
            "of": check.audit.n_samples,
            "gone": check.n_gone,
            "level": check.audit.level,
            "when": check.when,
            "labels_then": sum(check.audit.known.values()),
            "can_extend": check.audit.is_sequential
            and check.audit.look < len(check.audit.looks),
            "learned": bool(known)
            and all(self.session.store.label_of(row) for row in known),
            "next": card,
            "report": numbers,
        }

    async def draw(self, request: Request) -> Response:
        """Draw rows to check the predictions made now."""
        given, session = await body(request), self.session
        guesses = session.guesses
        if guesses is None:
            raise Refused(409, "There are no predictions to check yet.")
        n_rows = whole(given.get("rows"), "rows", 1, MAX_ROWS, 30)
        named = np.array(guesses.classes, dtype=object)[guesses.codes[:, 0]]
        predictions = SimpleNamespace(
            given=[row in session.labels for row in range(session.n_rows)],
            labels=named,
            confidence=guesses.shares[:, 0].astype(float),
        )
        try:
            self._check.draw(
                predictions,
                n_rows,
                sequential=True,
                known=Counter(session.labels.values()),
            )
        except ValueError as why:
            raise Refused(409, str(why)) from None
        return reply(await self._state(self._people.of(request, given)))

    async def label(self, request: Request) -> Response:
        """Keep the label of a row of the check, or that the person is not sure."""
        given, session = await body(request), self.session
        row, *_ = rows([given.get("row")], session.n_rows)
        if row not in self._check.rows:
            raise Refused(409, "This row was not drawn for the check.")
        unsure = given.get("label") is None
        by = self._people.of(request, given)
        session.act(
            "skip" if unsure else "check",
            [row],
            None if unsure else class_name(given.get("label")),
            how="check",
            key=text(given, "key"),
            by=by,
        )
        return reply({**session.summary(), "check": await self._state(by)})

    async def more(self, request: Request) -> Response:
        """Ask for more rows."""
        given = await body(request)
        if not self._check.extend():
            raise Refused(409, "There are no more rows to draw: begin a new check.")
        return reply(await self._state(self._people.of(request, given)))

    async def learn(self, request: Request) -> Response:
        """Let the model learn from the rows of the check, from now on."""
        given, session = await body(request), self.session
        by = self._people.of(request, given)
        known = self._check.labels
        if known:
            session.act(
                "label",
                list(known),
                None,
                how="check",
                key=text(given, "key"),
                labels=list(known.values()),
                by=by,
            )
        return reply({**session.summary(), "check": await self._state(by)})
