"""Which requests are let in: those of the page itself, with its token."""

# SPDX-License-Identifier: BSD-3-Clause

import hmac
import ipaddress
import socket

from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send


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
