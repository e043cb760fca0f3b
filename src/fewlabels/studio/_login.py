"""Passphrases, and tokens that survive a restart."""

# SPDX-License-Identifier: BSD-3-Clause

import hashlib
import hmac
import json
import os
import secrets
import time
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from fewlabels.studio._requests import Refused, body, reply, text
from fewlabels.tabular import FileError

# Seconds for which a login lasts.
_LASTS = 30 * 24 * 3600
# Wrong passphrases of one name within this many seconds.
_MAX_WRONG, _WINDOW = 5, 60.0
_SYLLABLES = [c + v for c in "bdfgklmnprstvz" for v in "aeiou"]


class Secrets:
    """Secrets of a table, in a file that only its owner can read.

    Parameters
    ----------
    path : Path
        The file.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._held: dict[str, Any] = {}
        with suppress(FileNotFoundError):
            try:
                found = json.loads(path.read_bytes())
                self._held = found if isinstance(found, dict) else {}
            except (OSError, ValueError) as error:
                if isinstance(error, FileNotFoundError):
                    raise
                raise FileError(f"Cannot read {path}: {error}.") from None

    def get(self, name: str, make: Any) -> Any:
        """Return a secret; it is made and kept the first time."""
        if name not in self._held:
            self._held[name] = make()
            self.save()
        return self._held[name]

    def save(self) -> None:
        """Write the file."""
        part = self._path.with_name(f"{self._path.name}.{os.getpid()}.part")
        try:
            flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
            with os.fdopen(os.open(part, flags, 0o600), "w", encoding="utf-8") as file:
                json.dump(self._held, file)
            part.replace(self._path)
        except OSError as error:
            raise FileError(f"Cannot write {self._path}: {error.strerror}.") from None

    @property
    def token(self) -> str:
        """The token of an address that stays."""
        return str(self.get("token", lambda: secrets.token_urlsafe(18)))


class Doorkeeper:
    """Who may log in, and who has.

    Parameters
    ----------
    held : Secrets
        Where passphrases are kept, as hashes.
    people : sequence of str
        Names of those who may log in.
    path : str
        Where the cookie holds.
    secure : bool
        Whether the cookie is for https only.

    Attributes
    ----------
    new : dict of str to str
        Passphrases that were made just now, by name; they are kept nowhere else.
    """

    def __init__(
        self, held: Secrets, people: Sequence[str], path: str, secure: bool
    ) -> None:
        self._key = bytes.fromhex(held.get("cookies", lambda: secrets.token_hex(32)))
        known = held.get("people", dict)
        self.new: dict[str, str] = {}
        for name in people:
            if name not in known:
                self.new[name] = phrase = new_passphrase()
                salt = secrets.token_hex(16)
                known[name] = {"salt": salt, "hash": _hashed(phrase, salt)}
        if self.new:
            held.save()
        self._people: dict[str, dict[str, str]] = {n: known[n] for n in people}
        self._path, self._secure = path or "/", secure
        self._wrong: dict[str, list[float]] = {}
        name = hashlib.sha256(self._key).hexdigest()[:8]
        self._cookie = f"fewlabels-{name}"

    def routes(self) -> list[Route]:
        """Return the routes."""
        return [
            Route("/api/login", self.login, methods=["POST"]),
            Route("/api/logout", self.logout, methods=["POST"]),
        ]

    def person(self, cookies: Mapping[str, str]) -> str | None:
        """Find who has logged in."""
        name, _, rest = cookies.get(self._cookie, "").partition(".")
        until, _, signature = rest.partition(".")
        try:
            person = urlsafe_b64decode(name.encode()).decode()
            over = int(until) < time.time()
        except (ValueError, UnicodeError):
            return None
        if over or person not in self._people:
            return None
        right = self._signature(person, until)
        same = hmac.compare_digest(signature.encode("utf-8", "replace"), right.encode())
        return person if same else None

    def _signature(self, person: str, until: str) -> str:
        # With another passphrase, earlier logins end.
        signed = f"{person}\0{until}\0{self._people[person]['hash']}"
        return hmac.new(self._key, signed.encode(), hashlib.sha256).hexdigest()

    async def login(self, request: Request) -> Response:
        """Log in with a name and a passphrase; a cookie is set."""
        given = await body(request)
        name = " ".join(text(given, "name", 60).split())
        phrase = " ".join(text(given, "passphrase", 200).lower().split())
        now = time.monotonic()
        recent = [t for t in self._wrong.get(name, []) if now - t < _WINDOW]
        if len(recent) >= _MAX_WRONG:
            raise Refused(429, "Too many attempts: wait a minute.")
        entry = self._people.get(name, {"salt": "00", "hash": ""})
        found = await run_in_threadpool(_hashed, phrase, entry["salt"])
        if not hmac.compare_digest(found, entry["hash"]):
            if len(self._wrong) < 1000 or name in self._wrong:
                self._wrong[name] = [*recent, now]
            raise Refused(403, "Name or passphrase is wrong.")
        self._wrong.pop(name, None)
        until = str(int(time.time()) + _LASTS)
        coded = urlsafe_b64encode(name.encode()).decode()
        value = f"{coded}.{until}.{self._signature(name, until)}"
        return self._with_cookie({"name": name}, value, _LASTS)

    async def logout(self, request: Request) -> Response:
        """Log out."""
        return self._with_cookie({}, "", 0)

    def _with_cookie(self, content: Any, value: str, lasts: int) -> Response:
        answer = reply(content)
        answer.set_cookie(
            self._cookie,
            value,
            max_age=lasts,
            path=self._path,
            secure=self._secure,
            httponly=True,
            samesite="strict",
        )
        return answer


def new_passphrase() -> str:
    """Make a passphrase that can be read out: 49 bits.

    Examples
    --------
    >>> from fewlabels.studio._login import new_passphrase
    >>> len(new_passphrase())
    19
    """
    words = ["".join(secrets.choice(_SYLLABLES) for _ in range(2)) for _ in range(4)]
    return "-".join(words)


def _hashed(phrase: str, salt: str) -> str:
    data = phrase.encode("utf-8", "replace")
    return hashlib.scrypt(data, salt=bytes.fromhex(salt), n=2**14, r=8, p=1).hex()
