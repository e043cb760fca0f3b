"""Requests of the page about what is shown: columns, and several rows at once."""

# SPDX-License-Identifier: BSD-3-Clause

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from fewlabels.studio._requests import Refused, body, names, reply, rows
from fewlabels.studio._session import Session

# The most rows that one request may ask for.
MAX_CARDS = 24


class Views:
    """Responds to these requests.

    Parameters
    ----------
    session : Session
        The labelling session.
    """

    def __init__(self, session: Session) -> None:
        self.session = session

    def routes(self) -> list[Route]:
        """Return the routes."""
        return [
            Route("/api/cards", self.cards, methods=["GET"]),
            Route("/api/columns", self.columns, methods=["POST"]),
        ]

    async def cards(self, request: Request) -> Response:
        """Return several rows, named as 3,17,20."""
        named = request.query_params.get("rows", "").split(",")[: MAX_CARDS + 1]
        wanted = [int(k) if k.isdecimal() and len(k) < 12 else -1 for k in named]
        if len(wanted) > MAX_CARDS:
            raise Refused(400, f"At most {MAX_CARDS} rows at a time.")
        return reply(
            [self.session.card(row) for row in rows(wanted, self.session.n_rows)]
        )

    async def columns(self, request: Request) -> Response:
        """Keep which columns are pinned and hidden."""
        given, limit = await body(request), self.session.columns.size
        self.session.columns.choose(
            names(given, "pinned", limit), names(given, "hidden", limit)
        )
        shown = self.session.columns.shown()
        self.session.publish("columns", shown)
        return reply(shown)
