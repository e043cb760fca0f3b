"""Which requests are let in: those of the page itself, with its token or a person's.

Host and Origin are checked, so that no other site can reach the server through a
browser. Where people have passphrases, a signed cookie takes the place of the token.
"""

# SPDX-License-Identifier: BSD-3-Clause

import hmac
import ipaddress
import os
import re
import socket
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from fewlabels.studio._login import Doorkeeper

LOCAL = ("127.0.0.1", "localhost", "::1")
# What can be seen before one has logged in.
_OPEN = ("login.html", "login.js", "studio.css", "views.css", "icon.svg")


@dataclass(frozen=True)
class Access:
    """Where the page can be reached, and by whom.

    Attributes
    ----------
    host : str
        Address to listen on; any but the default lets other computers connect.
    port : int
        Port; 0 for a free one.
    framed : bool
        Whether the page may stand in a frame of another page, as in a notebook.
    base_path : str
        What paths begin with, behind a reverse proxy that serves other things too.
    site : str
        How people reach it through a proxy: ``https://labels.example.org``. Requests
        that name this host and come from this origin are let in.
    certificate, key : str or None
        Files for TLS, in PEM.
    keep_address : bool
        Whether the address stays the same after a restart.
    people : tuple of str
        Who may log in, each with a passphrase.
    """

    host: str = "127.0.0.1"
    port: int = 0
    framed: bool = False
    base_path: str = ""
    site: str = ""
    certificate: str | None = None
    key: str | None = None
    keep_address: bool = False
    people: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Refuse what cannot work, or would not be safe."""
        if not re.fullmatch(r"(/[A-Za-z0-9._~-]+)*", self.base_path):
            raise ValueError(
                f"{self.base_path!r} is not the beginning of a path: pass "
                "base_path='/labels'."
            )
        parts = urlsplit(self.site)
        plain = f"{parts.scheme}://{parts.netloc}"
        if self.site and (parts.scheme not in ("http", "https") or plain != self.site):
            raise ValueError(
                f"{self.site!r} is not an origin: pass site='https://example.org'."
            )
        if bool(self.certificate) != bool(self.key):
            raise ValueError("TLS needs both: pass certificate=FILE and key=FILE.")
        for path in (self.certificate, self.key):
            if path and not os.access(path, os.R_OK):
                raise ValueError(f"Cannot read {path}, which TLS needs.")
        reached = self.host not in LOCAL and parts.scheme != "https"
        if self.people and reached and not self.certificate:
            raise ValueError(
                "Passphrases would cross the network unencrypted: pass "
                "certificate=FILE and key=FILE, or pass site='https://example.org' "
                "behind a reverse proxy."
            )

    @property
    def secure(self) -> bool:
        """Whether people reach it by https."""
        return bool(self.certificate) or self.site.startswith("https:")

    def origin(self, port: int) -> str:
        """Return the address that works for people, without its path."""
        if self.site:
            return self.site
        shown = _reachable(self.host)
        shown = f"[{shown}]" if ":" in shown else shown
        return f"{'https' if self.certificate else 'http'}://{shown}:{port}"


def _reachable(host: str) -> str:
    """Find the address of this computer where it listens on all of them."""
    if host not in ("0.0.0.0", "::"):
        return host
    family = socket.AF_INET6 if host == "::" else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as probe:
        try:  # nothing is sent: the system only chooses the interface
            probe.connect(("2001:db8::1" if host == "::" else "192.0.2.1", 9))
            found = str(probe.getsockname()[0])
        except OSError:
            return socket.gethostname()
    return found if found not in ("0.0.0.0", "::") else socket.gethostname()


class Guard:
    """Refuse requests that do not come from the page itself.

    Parameters
    ----------
    app : ASGI application
        The guarded application.
    token : str
        What paths go on with; empty where people log in.
    access : Access
        Where the page can be reached.
    doorkeeper : Doorkeeper or None, default=None
        Who may log in.
    """

    def __init__(
        self,
        app: ASGIApp,
        token: str,
        access: Access,
        doorkeeper: Doorkeeper | None = None,
    ) -> None:
        self._app, self._access, self._doorkeeper = app, access, doorkeeper
        self._prefix = f"{access.base_path}/{token}" if token else access.base_path
        ancestors = "http: https: vscode-webview:" if access.framed else "'none'"
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
        if access.secure:
            kept = b"max-age=31536000"
            self._headers.append((b"strict-transport-security", kept))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], *self._headers]
            await send(message)

        answer: ASGIApp = self._app
        why = self.refusal(scope)
        if why:
            answer = PlainTextResponse(why, status_code=403)
        elif self._doorkeeper is not None:
            answer = self._logged_in(scope, self._doorkeeper) or self._app
        await answer(scope, receive, guarded)

    def _logged_in(self, scope: Scope, doorkeeper: Doorkeeper) -> Response | None:
        """Note who has logged in; what others get instead."""
        path = scope["path"].removeprefix(self._prefix).lstrip("/")
        person = doorkeeper.person(Request(scope).cookies)
        if person is not None:
            scope["person"] = person
            return None
        if path in _OPEN or path == "api/login":
            return None
        if path == "":
            scope["path"] = f"{self._prefix}/login.html"
            return None
        return PlainTextResponse("Log in first.", status_code=401)

    def refusal(self, scope: Scope) -> str:
        """Return why a request is refused; nothing if it is accepted."""
        headers = {
            k.decode("latin-1"): v.decode("latin-1") for k, v in scope["headers"]
        }
        host = headers.get("host", "")
        if not self._is_own(host):
            return "Refused: this address is not that of the studio."
        begin = scope["path"][: len(self._prefix) + 1].encode("utf-8", "replace")
        if not hmac.compare_digest(begin, f"{self._prefix}/".encode()):
            return "Refused: open the address that fewlabels studio printed."
        if scope["method"] in ("GET", "HEAD"):
            return ""
        scheme = "https" if self._access.certificate else "http"
        origins = {f"{scheme}://{host}", self._access.site or None}
        if self._access.site and host == urlsplit(self._access.site).netloc:
            origins = {self._access.site}
        if headers.get("origin", "null") not in origins:
            return "Refused: the request comes from another site."
        if headers.get("sec-fetch-site", "same-origin") != "same-origin":
            return "Refused: the request comes from another site."
        return ""

    def _is_own(self, host: str) -> bool:
        """Whether a Host header names this server; other names may be rebound."""
        if self._access.site and host == urlsplit(self._access.site).netloc:
            return True
        own = self._access.host
        name = host.rsplit(":", 1)[0] if not host.endswith("]") else host
        name = name.strip("[]").lower()
        if name in ("localhost", own.lower()):
            return True
        try:
            address = ipaddress.ip_address(name)
        except ValueError:
            return own not in LOCAL and name == socket.gethostname().lower()
        return address.is_loopback or own not in LOCAL


def secrets_path(journal: Path) -> Path:
    """Name the file of secrets that belongs to a journal."""
    stem = journal.name.removesuffix(".jsonl").removesuffix(".labels")
    return journal.with_name(f"{stem}.studio-secrets.json")
