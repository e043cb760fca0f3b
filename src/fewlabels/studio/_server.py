"""The server of the page: which requests it accepts, and how it responds.

Every request needs the token in the address. Host and Origin are checked, so that no
other site can reach it through the browser, and the page may load nothing but its own
files.
"""

# SPDX-License-Identifier: BSD-3-Clause

import asyncio
import json
import secrets
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Mount, Route

from fewlabels.studio._desk import Desk
from fewlabels.studio._files import Files
from fewlabels.studio._find import Finder
from fewlabels.studio._guard import Access, Guard
from fewlabels.studio._journal import LockedError, StoreError
from fewlabels.studio._login import Doorkeeper, Secrets
from fewlabels.studio._openapi import described
from fewlabels.studio._page_check import PageCheck
from fewlabels.studio._people import People
from fewlabels.studio._requests import (
    Refused,
    body,
    class_name,
    error,
    flag,
    names,
    plain,
    refusal,
    reply,
    rows,
    text,
    whole,
)
from fewlabels.studio._session import Session, TakenError
from fewlabels.studio._views import Views

PAGE = Path(__file__).parent / "page"
_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
# Seconds between checks of files that others may change.
_LOOK = 0.5
_HEARTBEAT = 15.0


class App:
    """The application that responds to all requests.

    Parameters
    ----------
    session : Session
        The labelling session.
    command : str
        The command line, for the report.
    table : object
        The table, for exports.
    changed : callable
        Whether the table on the disk has changed.
    guidelines : Path or None, default=None
        The file of guidelines for those who label.
    people : People or None, default=None
        Who labels.
    """

    def __init__(
        self,
        session: Session,
        *,
        command: str,
        table: Any,
        changed: Callable[[], bool] = lambda: False,
        guidelines: Path | None = None,
        people: People | None = None,
    ) -> None:
        self.session, self._changed = session, changed
        self._people = people or People()
        self._files = Files(session, table, command, self._people)
        searched = session.cards.searched
        finder = Finder([*searched], [*searched.values()])
        self._desk = Desk(session, finder, guidelines, self._people)
        self._check = PageCheck(session, table, self._people)
        self._page = {
            path.name: path.read_bytes()
            for path in PAGE.iterdir()
            if path.suffix in _TYPES
        }

    def routes(self) -> list[Route]:
        """Return the routes."""
        gets = {
            "/": self.file,
            "/{name}": self.file,
            "/api/state": self.state,
            "/api/openapi.json": self.openapi,
            "/api/next": self.next,
            "/api/card/{row:int}": self.card,
            "/api/grid": self.grid,
            "/api/map": self.map,
            "/api/colours": self.colors,
            "/api/history": self.history,
            "/api/conflicts": self.conflicts,
            "/api/events": self.events,
            "/picture/{row:int}/{place:int}": self.picture,
        }
        posts = {
            "/api/label": self.label,
            "/api/undo": self.undo,
            "/api/settle": self.settle,
            "/api/take_over": self.take_over,
        }
        return [
            *Views(self.session).routes(),
            *self._check.routes(),
            *(Route(path, answer, methods=["GET"]) for path, answer in gets.items()),
            *(Route(path, answer, methods=["POST"]) for path, answer in posts.items()),
            *self._files.routes(),
            *self._desk.routes(),
        ]

    async def file(self, request: Request) -> Response:
        """Return a file of the page."""
        name = request.path_params.get("name", "index.html")
        if name not in self._page:
            return PlainTextResponse("There is no such file.", status_code=404)
        return Response(self._page[name], media_type=_TYPES[Path(name).suffix])

    async def openapi(self, request: Request) -> Response:
        """Return the description of this interface, as OpenAPI."""
        return reply(described(self.routes()))

    async def state(self, request: Request) -> Response:
        """Return everything that a page needs when it opens."""
        return reply(self.session.state())

    async def next(self, request: Request) -> Response:
        """Return the next question."""
        client = request.query_params.get("client", "")[:80]
        by = self._people.of(request, request.query_params)
        card = self._next(client, by)
        held = 0 if card else self.session.held(client)
        return reply({"next": card, "held": held})

    def _next(self, client: str, by: str) -> dict[str, Any] | None:
        row = self.session.next_row(client, by)
        return None if row is None else self.session.card(row, by)

    async def card(self, request: Request) -> Response:
        """Return one row."""
        row = request.path_params["row"]
        if row >= self.session.n_rows:
            return error(404, "There is no such row.")
        by = self._people.of(request, request.query_params)
        return reply(self.session.card(row, by))

    async def grid(self, request: Request) -> Response:
        """Return similar rows."""
        after = request.query_params.get("after")
        return reply(self.session.grid(whole(after, "after", 0, 2**31, 0)))

    async def map(self, request: Request) -> Response:
        """Return the positions of all rows: pairs of float32."""
        if self.session.plane is None:
            return error(409, "The map is not ready yet.")
        plane = self.session.plane.astype("<f4")
        return Response(plane.tobytes(), media_type="application/octet-stream")

    async def colors(self, request: Request) -> Response:
        """Return class, confidence and flags of all rows."""
        data = self.session.colors()
        return Response(data, media_type="application/octet-stream")

    async def history(self, request: Request) -> Response:
        """Return the latest labels."""
        return reply(self.session.history())

    async def conflicts(self, request: Request) -> Response:
        """Return the labels whose rows have changed."""
        return reply(self.session.conflicts())

    async def picture(self, request: Request) -> Response:
        """Return an image of a row."""
        found = await run_in_threadpool(
            self.session.cards.picture,
            request.path_params["row"],
            request.path_params["place"],
        )
        if found is None:
            return error(404, "There is no image that may be shown.")
        return Response(found[0], media_type=found[1])

    async def label(self, request: Request) -> Response:
        """Save a label, and return the next question."""
        given, session = await body(request), self.session
        do, chosen = given.get("do", "label"), rows(given.get("rows"), session.n_rows)
        if do not in ("label", "skip", "clear"):
            return error(400, "'do' must be 'label', 'skip' or 'clear'.")
        client, by = text(given, "client"), self._people.of(request, given)
        if len(chosen) > 500:
            await run_in_threadpool(session.store.prepare)
        try:
            action = session.act(
                do,
                chosen,
                class_name(given.get("label")) if do == "label" else None,
                how=text(given, "how", 20, "card"),
                key=text(given, "key"),
                seen=given.get("seen"),
                check="seen" in given and len(chosen) == 1,
                by=by,
            )
        except TakenError as why:
            return reply({"error": str(why), "next": self._next(client, by)}, 409)
        answer: dict[str, Any] = {"saved": action.key, **session.summary()}
        if flag(given, "next", True):
            answer["next"] = self._next(client, by)
        return reply(answer)

    async def undo(self, request: Request) -> Response:
        """Undo the last action, and return its row."""
        given = await body(request)
        by = self._people.of(request, given)
        tabs = names(given, "tabs", 50) if "tabs" in given else None
        action = self.session.undo(text(given, "key"), by or None, tabs)
        if action is None:
            where = "" if tabs is None else " in this tab: the history shows all labels"
            return error(409, f"There is nothing to undo{where}.")
        return reply(
            {
                **self.session.summary(),
                "undone": {
                    "rows": action.rows,
                    "label": action.label,
                    "do": action.do,
                    "how": action.how,
                },
                "next": self.session.card(action.rows[0], by)
                if action.rows
                else self._next(text(given, "client"), by),
            }
        )

    async def settle(self, request: Request) -> Response:
        """Decide a conflict."""
        given = await body(request)
        self.session.settle(
            text(given, "action"),
            whole(given.get("place"), "place", 0, 2**53, 0),
            flag(given, "keep"),
        )
        return reply(self.session.conflicts())

    async def take_over(self, request: Request) -> Response:
        """Become the writer."""
        try:
            self.session.take_over()
        except LockedError:
            return error(409, "The other process is still running.")
        return reply(self.session.state())

    async def events(self, request: Request) -> Response:
        """Stream events to a page as they happen."""
        client = request.query_params.get("client", "")
        queue = self.session.subscribe()

        async def stream() -> AsyncIterator[bytes]:
            try:
                yield _event({"kind": "state", "content": self.session.state()})
                while True:
                    try:
                        event = await asyncio.wait_for(queue.get(), _HEARTBEAT)
                        if event["kind"] == "end":
                            return
                        yield _event(event)
                    except TimeoutError:
                        yield b": still here\n\n"
            finally:
                self.session.unsubscribe(queue, client)

        return StreamingResponse(stream(), media_type="text/event-stream")

    async def look(self) -> None:
        """Watch files that others may change."""
        told = False
        while True:
            await asyncio.sleep(_LOOK)
            self.session.follow()
            if not told and self._changed():
                told = True
                self.session.publish("changed", True)


def _event(event: dict[str, Any]) -> bytes:
    text = json.dumps(plain(event), ensure_ascii=False)
    return f"data: {text}\n\n".encode("utf-8", "replace")


async def _unsaved(request: Request, why: Exception) -> Response:
    return error(507, str(why))


class Server:
    """A running server, with its address.

    Parameters
    ----------
    app : App
        The application.
    access : Access
        Where the page can be reached, and by whom.
    held : Path
        Where secrets are kept that survive a restart, if there are any.

    Attributes
    ----------
    address : str
        Where the page is.
    passphrases : dict of str to str
        Passphrases that were made just now, by name.
    """

    def __init__(self, app: App, access: Access, held: Path) -> None:
        self.app = app
        host, port = access.host, access.port
        self._family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self.socket = socket.socket(self._family, socket.SOCK_STREAM)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            self.socket.bind((host, port))
            # Whoever knows the address may connect, and wait for the first response.
            self.socket.listen(128)
        except OSError as error:
            self.socket.close()
            raise ValueError(
                f"Cannot listen on {host}, port {port}: {error.strerror}: pass "
                "port=0 for a free one."
            ) from None
        try:
            self._server = self._made(app, access, held)
        except BaseException:
            self.socket.close()
            raise

    def _made(self, app: App, access: Access, held: Path) -> uvicorn.Server:
        base = access.base_path
        doorkeeper, routes = None, app.routes()
        if access.people:
            doorkeeper = Doorkeeper(
                Secrets(held), access.people, base, secure=access.secure
            )
            self.token, routes = "", [*doorkeeper.routes(), *routes]
        elif access.keep_address:
            self.token = Secrets(held).token
        else:
            self.token = secrets.token_urlsafe(18)
        self.passphrases = {} if doorkeeper is None else doorkeeper.new
        path = f"{base}/{self.token}" if self.token else base
        self.address = f"{access.origin(self.socket.getsockname()[1])}{path}/"
        starlette = Starlette(
            routes=[Mount(path or "/", routes=routes)],
            exception_handlers={Refused: refusal, StoreError: _unsaved},
        )
        return uvicorn.Server(
            uvicorn.Config(
                Guard(starlette, self.token, access, doorkeeper),
                log_level="error",
                access_log=False,
                lifespan="off",
                timeout_graceful_shutdown=3,
                server_header=False,
                ssl_certfile=access.certificate,
                ssl_keyfile=access.key,
            )
        )

    async def serve(self, ready: Callable[[], Any] = lambda: None) -> None:
        """Serve until stopped."""
        watch = asyncio.create_task(self.app.look())
        leave = asyncio.create_task(self._leave())
        asyncio.get_running_loop().call_soon(ready)
        try:
            await self._server.serve(sockets=[self.socket])
        finally:
            for task in (watch, leave):
                task.cancel()
                with suppress(asyncio.CancelledError):
                    await task

    async def _leave(self) -> None:
        """End streams when the server shuts down, as it waits for them."""
        while not self._server.should_exit:
            await asyncio.sleep(0.1)
        self.app.session.end()

    def stop(self) -> None:
        """Stop soon."""
        self._server.should_exit = True
