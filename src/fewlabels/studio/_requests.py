"""Read requests, refusing what is malformed, and write responses."""

# SPDX-License-Identifier: BSD-3-Clause

import json
import unicodedata
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

MAX_BODY = 2**20
MAX_FILE = 2**28
MAX_LABEL = 500
# Marks that nobody sees, and that make two names look the same.
_INVISIBLE = frozenset("\u00ad\u180e\u200b\u200e\u200f\u2060\ufeff") | frozenset(
    map(chr, (*range(0x202A, 0x202F), *range(0x2066, 0x206A)))
)


class Refused(Exception):
    """A request that is not answered, with the reason.

    Parameters
    ----------
    status : int
        The status of the response.
    reason : str
        What the person reads.
    """

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status


async def read(request: Request, limit: int = MAX_FILE) -> bytes:
    """Read the body of a request, up to a size."""
    data = bytearray()
    async for chunk in request.stream():
        data += chunk
        if len(data) > limit:
            raise Refused(
                413, f"More than {limit / 2**20:.0f} MB: send fewer at a time."
            )
    return bytes(data)


async def body(request: Request) -> dict[str, Any]:
    """Read a JSON object."""
    data = await read(request, MAX_BODY)
    try:
        found = json.loads(data or b"{}")
    except (ValueError, RecursionError):
        raise Refused(400, "The request is not JSON.") from None
    if not isinstance(found, dict):
        raise Refused(400, "The request is not a JSON object.")
    return found


def text(given: dict[str, Any], name: str, limit: int = 80, default: str = "") -> str:
    """Read a text of a request."""
    value = given.get(name, default)
    if not isinstance(value, str) or len(value) > limit:
        raise Refused(400, f"{name!r} must be a text of at most {limit:,} characters.")
    return value


def number(value: Any, name: str, low: float, high: float, default: float) -> float:
    """Read a number of a request, within bounds."""
    if value is None or value == "":
        return default
    try:
        found = float(value)
    except (TypeError, ValueError, OverflowError):
        found = float("nan")
    if isinstance(value, bool) or not low <= found <= high:
        raise Refused(400, f"{name!r} must be a number from {low:g} to {high:g}.")
    return found


def whole(value: Any, name: str, low: int, high: int, default: int) -> int:
    """Read an integer of a request, within bounds."""
    found = number(value, name, low, high, default)
    if found != int(found):
        raise Refused(400, f"{name!r} must be an integer.")
    return int(found)


def rows(given: Any, n_rows: int) -> list[int]:
    """Read rows of a request, each once."""
    if isinstance(given, list) and given:
        if all(type(row) is int and 0 <= row < n_rows for row in given):
            return list(dict.fromkeys(given))
    raise Refused(400, "Rows are missing or unknown.")


def names(given: dict[str, Any], name: str, limit: int) -> list[str]:
    """Read a list of texts of a request."""
    found = given.get(name)
    if not isinstance(found, list) or not all(isinstance(t, str) for t in found):
        raise Refused(400, f"{name!r} must be a list of texts.")
    if len(found) > limit:
        raise Refused(400, f"{name!r} may have at most {limit:,} entries.")
    return found


def flag(given: dict[str, Any], name: str, default: bool = False) -> bool:
    """Read true or false."""
    value = given.get(name, default)
    if not isinstance(value, bool):
        raise Refused(400, f"{name!r} must be true or false.")
    return value


def class_name(given: Any) -> str:
    """Read the name of a class: something that can be seen and typed again."""
    name = given.strip() if isinstance(given, str) else ""
    if not name or len(name) > MAX_LABEL:
        raise Refused(400, "The name of a class needs 1 to 500 characters.")
    if not is_visible(name):
        raise Refused(
            400, "The name of a class contains invisible characters: type it again."
        )
    return name


def is_visible(name: str) -> bool:
    """Whether a name has no control characters and nothing of no width."""
    kinds = [unicodedata.category(c) for c in name]
    if any(k in ("Cc", "Cs", "Zl", "Zp") for k in kinds) or _INVISIBLE & set(name):
        return False
    return any(kind not in ("Cf", "Mn", "Zs") for kind in kinds)


def plain(value: Any) -> Any:
    """Replace NaN, which JSON does not have."""
    if isinstance(value, float) and value != value:
        return None
    if isinstance(value, dict):
        return {k: plain(v) for k, v in value.items()}
    return [plain(v) for v in value] if isinstance(value, list) else value


def reply(content: Any, status: int = 200) -> Response:
    """Respond with JSON."""
    data = json.dumps(plain(content), ensure_ascii=False).encode("utf-8", "replace")
    return Response(data, status, media_type="application/json")


def error(status: int, reason: str) -> Response:
    """Respond with a reason that is shown to the person."""
    return JSONResponse({"error": reason}, status_code=status)


async def refusal(request: Request, why: Exception) -> Response:
    """Respond to what was refused while a request was read."""
    return error(getattr(why, "status", 400), str(why))
