"""The server of the page: which requests it accepts, and how it responds.

Every request needs the token in the address. Host and Origin are checked, so that no
other site can reach it through the browser, and the page may load nothing but its own
files.
"""

# SPDX-License-Identifier: BSD-3-Clause

import asyncio
import hmac
import ipaddress
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
from starlette.responses import (
    JSONResponse,
    PlainTextResponse,
    Response,
    StreamingResponse,
)
from starlette.routing import Mount, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from fewlabels.studio._exchange import export_labels, import_labels
from fewlabels.studio._journal import LockedError, StoreError
from fewlabels.studio._session import Session, TakenError
from fewlabels.tabular.files import output_suffix

PAGE = Path(__file__).parent / "page"
_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
_MAX_BODY = 2**20
_MAX_IMPORT = 2**28
_MAX_LABEL = 500
# Seconds between checks of files that others may change.
_LOOK = 0.5
_HEARTBEAT = 15.0
DOWNLOADS = {
    "table": "{stem}_labelled{suffix}",
    "model": "{stem}.fewlabels",
    "report": "{stem}_report.html",
    "labels": "{stem}_labels.csv",
    "label-studio": "{stem}_label_studio.json",
    "label-studio-csv": "{stem}_label_studio.csv",
}


class Guard:
    """Refuse requests that do not come from the page itself.

    Parameters
    ----------
    app : ASGI application
        The guarded application.
    token : str
        The first part of every path.
    host : str
        Address that the server listens on.
    framed : bool
        Whether the page may stand in a frame of another page, as in a notebook.
    """

    def __init__(self, app: ASGIApp, token: str, host: str, framed: bool) -> None:
        self._app, self._token, self._host = app, token, host
        ancestors = "http: https: vscode-webview:" if framed else "'none'"
        policy = (
            "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' "
            "blob:; connect-src 'self'; base-uri 'none'; form-action 'none'; "
            f"frame-ancestors {ancestors}"
        )
        self._headers = [
            (b"content-security-policy", policy.encode()),
            (b"x-content-type-options", b"nosniff"),
            (b"referrer-policy", b"no-referrer"),
            (b"cache-control", b"no-store"),
            (b"cross-origin-resource-policy", b"same-origin"),
            (b"cross-origin-opener-policy", b"same-origin"),
        ]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], *self._headers]
            await send(message)

        why = self.refusal(scope)
        if why:
            refused = PlainTextResponse(why, status_code=403)
            await refused(scope, receive, guarded)
            return
        await self._app(scope, receive, guarded)

    def refusal(self, scope: Scope) -> str:
        """Return why a request is refused; nothing if it is accepted."""
        headers = {
            k.decode("latin-1"): v.decode("latin-1") for k, v in scope["headers"]
        }
        host = headers.get("host", "")
        if not self._is_own(host):
            return "Refused: this address is not that of the studio."
        first = scope["path"].lstrip("/").partition("/")[0]
        if not hmac.compare_digest(first.encode(), self._token.encode()):
            return "Refused: open the address that fewlabels studio printed."
        if scope["method"] in ("GET", "HEAD"):
            return ""
        origin = headers.get("origin")
        if origin != f"http://{host}":
            return "Refused: the request comes from another site."
        if headers.get("sec-fetch-site", "same-origin") != "same-origin":
            return "Refused: the request comes from another site."
        return ""

    def _is_own(self, host: str) -> bool:
        """Whether a Host header names this server; other names may be rebound."""
        name = host.rsplit(":", 1)[0] if not host.endswith("]") else host
        name = name.strip("[]").lower()
        if name in ("localhost", self._host.lower()):
            return True
        try:
            address = ipaddress.ip_address(name)
        except ValueError:
            return self._host not in _LOCAL and name == socket.gethostname().lower()
        return address.is_loopback or self._host not in _LOCAL


_LOCAL = ("127.0.0.1", "localhost", "::1")


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
    """

    def __init__(
        self,
        session: Session,
        *,
        command: str,
        table: Any,
        changed: Callable[[], bool] = lambda: False,
    ) -> None:
        self.session, self._command, self._table = session, command, table
        self._changed = changed
        self._files = {
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
            "/api/export": self.export,
            "/api/import": self.import_,
            "/api/take_over": self.take_over,
        }
        return [
            *(Route(path, answer, methods=["GET"]) for path, answer in gets.items()),
            *(Route(path, answer, methods=["POST"]) for path, answer in posts.items()),
        ]

    async def file(self, request: Request) -> Response:
        """Return a file of the page."""
        name = request.path_params.get("name", "index.html")
        if name not in self._files:
            return PlainTextResponse("There is no such file.", status_code=404)
        return Response(self._files[name], media_type=_TYPES[Path(name).suffix])

    async def state(self, request: Request) -> Response:
        """Return everything that a page needs when it opens."""
        return _json(self.session.state())

    async def next(self, request: Request) -> Response:
        """Return the next question."""
        return _json({"next": self._next(request.query_params.get("client", ""))})

    def _next(self, client: str) -> dict[str, Any] | None:
        row = self.session.next_row(client)
        return None if row is None else self.session.card(row)

    async def card(self, request: Request) -> Response:
        """Return one row."""
        row = request.path_params["row"]
        if row >= self.session.n_rows:
            return _error(404, "There is no such row.")
        return _json(self.session.card(row))

    async def grid(self, request: Request) -> Response:
        """Return similar rows."""
        return _json(self.session.grid(int(request.query_params.get("after", 0))))

    async def map(self, request: Request) -> Response:
        """Return the positions of all rows: pairs of float32."""
        if self.session.plane is None:
            return _error(409, "The map is not ready yet.")
        plane = self.session.plane.astype("<f4")
        return Response(plane.tobytes(), media_type="application/octet-stream")

    async def colors(self, request: Request) -> Response:
        """Return class, confidence and flags of all rows."""
        data = self.session.colors()
        return Response(data, media_type="application/octet-stream")

    async def history(self, request: Request) -> Response:
        """Return the latest labels."""
        return _json(self.session.history())

    async def conflicts(self, request: Request) -> Response:
        """Return the labels whose rows have changed."""
        return _json(self.session.conflicts())

    async def picture(self, request: Request) -> Response:
        """Return an image of a row."""
        found = await run_in_threadpool(
            self.session.cards.picture,
            request.path_params["row"],
            request.path_params["place"],
        )
        if found is None:
            return _error(404, "There is no image that may be shown.")
        return Response(found[0], media_type=found[1])

    async def label(self, request: Request) -> Response:
        """Save a label, and return the next question."""
        body = await _body(request)
        do, label, session = body.get("do", "label"), body.get("label"), self.session
        rows = _rows(body.get("rows"), session.n_rows)
        if not rows or do not in ("label", "skip", "clear"):
            return _error(400, "Rows are missing or unknown.")
        if do == "label":
            label = label.strip() if isinstance(label, str) else ""
            if not label or len(label) > _MAX_LABEL:
                return _error(400, "The name of a class needs 1 to 500 characters.")
        client = str(body.get("client", ""))
        try:
            action = session.act(
                do,
                rows,
                label if do == "label" else None,
                how=str(body.get("how", "card"))[:20],
                key=str(body.get("key", ""))[:80],
                seen=body.get("seen"),
                check="seen" in body and len(rows) == 1,
            )
        except TakenError as error:
            return _json({"error": str(error), "next": self._next(client)}, 409)
        except StoreError as error:
            return _error(507, str(error))
        answer: dict[str, Any] = {"saved": action.key, **session.summary()}
        if body.get("next", True):
            answer["next"] = self._next(client)
        return _json(answer)

    async def undo(self, request: Request) -> Response:
        """Undo the last action, and return its row."""
        body = await _body(request)
        try:
            action = self.session.undo(str(body.get("key", ""))[:80])
        except StoreError as error:
            return _error(507, str(error))
        if action is None:
            return _error(409, "There is nothing to undo.")
        return _json(
            {
                **self.session.summary(),
                "undone": {
                    "rows": action.rows,
                    "label": action.label,
                    "do": action.do,
                    "how": action.how,
                },
                "next": self.session.card(action.rows[0]) if action.rows else None,
            }
        )

    async def settle(self, request: Request) -> Response:
        """Decide a conflict."""
        body = await _body(request)
        try:
            self.session.settle(body["action"], body["place"], bool(body["keep"]))
        except StoreError as error:
            return _error(507, str(error))
        return _json(self.session.conflicts())

    async def export(self, request: Request) -> Response:
        """Return a file to be saved."""
        what = (await _body(request)).get("what")
        if what not in DOWNLOADS:
            return _error(400, "There is no such export.")
        try:
            if what in ("table", "model", "report"):
                loop = asyncio.get_running_loop()
                data = await self.session.export(loop, what, self._command)
            else:
                data = export_labels(what, self._table, self.session)
        except (ValueError, ImportError) as error:
            return _error(409, str(error))
        source = Path(self.session.about["name"])
        stem = source.name.removesuffix("".join(source.suffixes[-2:])) or "table"
        suffix = output_suffix(self._table)
        name = DOWNLOADS[what].format(stem=stem, suffix=suffix)
        return Response(
            data,
            media_type="application/octet-stream",
            headers={"x-file-name": json.dumps(name)},
        )

    async def import_(self, request: Request) -> Response:
        """Import labels that were given elsewhere."""
        try:
            data = await _read(request, _MAX_IMPORT)
            name = request.query_params.get("name", "labels")
            found = import_labels(data, name, self._table, self.session.about["target"])
        except ValueError as error:
            return _error(400, str(error))
        by_label: dict[str, list[int]] = {}
        for row, label in found.labels.items():
            if self.session.labels.get(row) != label:
                by_label.setdefault(label, []).append(row)
        try:
            for label, rows in by_label.items():
                self.session.act("label", rows, label, how="import", key="")
        except StoreError as error:
            return _error(507, str(error))
        return _json(
            {
                **self.session.summary(),
                "imported": sum(map(len, by_label.values())),
                "same": len(found.labels) - sum(map(len, by_label.values())),
                "problems": found.problems[:20],
                "n_problems": len(found.problems),
            }
        )

    async def take_over(self, request: Request) -> Response:
        """Become the writer."""
        try:
            self.session.take_over()
        except LockedError:
            return _error(409, "The other process is still running.")
        except StoreError as error:
            return _error(507, str(error))
        return _json(self.session.state())

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


def _rows(given: Any, n_rows: int) -> list[int]:
    """Read rows from a request; none if some are unknown."""
    if not isinstance(given, list):
        return []
    fine = all(type(row) is int and 0 <= row < n_rows for row in given)
    return list(dict.fromkeys(given)) if fine else []


def _event(event: dict[str, Any]) -> bytes:
    return f"data: {json.dumps(_plain(event), ensure_ascii=False)}\n\n".encode(
        "utf-8", "replace"
    )


def _plain(value: Any) -> Any:
    """Replace NaN, which JSON does not have."""
    if isinstance(value, float) and value != value:
        return None
    if isinstance(value, dict):
        return {k: _plain(v) for k, v in value.items()}
    return [_plain(v) for v in value] if isinstance(value, list) else value


def _json(content: Any, status: int = 200) -> Response:
    text = json.dumps(_plain(content), ensure_ascii=False)
    return Response(
        text.encode("utf-8", "replace"), status, media_type="application/json"
    )


def _error(status: int, text: str) -> Response:
    return JSONResponse({"error": text}, status_code=status)


async def _read(request: Request, limit: int) -> bytes:
    data = bytearray()
    async for chunk in request.stream():
        data += chunk
        if len(data) > limit:
            raise ValueError(
                f"More than {limit / 2**20:.0f} MB: choose a smaller file."
            )
    return bytes(data)


async def _body(request: Request) -> dict[str, Any]:
    try:
        body = json.loads(await _read(request, _MAX_BODY))
    except ValueError:
        return {}
    return body if isinstance(body, dict) else {}


class Server:
    """A running server, with its address.

    Parameters
    ----------
    app : App
        The application.
    host : str, default="127.0.0.1"
        Address to listen on.
    port : int, default=0
        Port; 0 for a free one.
    framed : bool, default=False
        Whether the page may be framed.
    """

    def __init__(
        self, app: App, *, host: str = "127.0.0.1", port: int = 0, framed: bool = False
    ) -> None:
        self.app = app
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
        self.token = secrets.token_urlsafe(18)
        port = self.socket.getsockname()[1]
        shown = "127.0.0.1" if host in ("0.0.0.0", "::") else host
        shown = f"[{shown}]" if ":" in shown else shown
        self.address = f"http://{shown}:{port}/{self.token}/"
        starlette = Starlette(routes=[Mount(f"/{self.token}", routes=app.routes())])
        guard = Guard(starlette, self.token, host, framed)
        self._server = uvicorn.Server(
            uvicorn.Config(
                guard,
                log_level="error",
                access_log=False,
                lifespan="off",
                timeout_graceful_shutdown=3,
                server_header=False,
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
