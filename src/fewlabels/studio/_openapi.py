"""The HTTP interface, described as OpenAPI from its routes."""

# SPDX-License-Identifier: BSD-3-Clause

import re
from collections.abc import Iterable
from typing import Any

from starlette.routing import Route

_TEXT = {"type": "string"}
_ROW = {"type": "integer", "minimum": 0, "description": "row, counted from 0"}
_ROWS = {"type": "array", "items": _ROW}
_YES = {"type": "boolean"}
_SHARE = {"type": "number", "minimum": 0, "maximum": 1}
_OBJECTS = {"type": "array", "items": {"type": "object"}}
# Fields of requests; what is missing takes the default that the guide names.
_BODIES: dict[str, dict[str, Any]] = {
    "/api/label": {
        "rows": _ROWS,
        "do": {"enum": ["label", "skip", "clear"]},
        **dict.fromkeys(("label", "how", "key", "client", "by"), _TEXT),
        "next": _YES,
    },
    "/api/undo": dict.fromkeys(("key", "client", "by"), _TEXT),
    "/api/settle": {"action": _TEXT, "place": {"type": "integer"}, "keep": _YES},
    "/api/export": {"what": _TEXT},
    "/api/import/apply": {"plan": _TEXT, "overwrite": _YES, "key": _TEXT},
    "/api/search": {
        **dict.fromkeys(("text", "where", "label", "guess", "order", "by"), _TEXT),
        **{"low": _SHARE, "high": _SHARE, "like": _ROW, "ids": _YES},
        "start": {"type": "integer"},
    },
    "/api/classes": {"classes": _OBJECTS, "renames": {"type": "object"}, "key": _TEXT},
    "/api/note": {"row": _ROW, "text": _TEXT, "flag": _YES, "by": _TEXT},
    "/api/sample": {"above": _SHARE, "guess": _TEXT, "size": {"type": "integer"}},
    "/api/accept": {
        **{"above": _SHARE, "guess": _TEXT, "wrong": _ROWS},
        "version": {"type": "integer"},
        "key": _TEXT,
    },
    "/api/guidelines": {"text": _TEXT, "seen": _TEXT},
    "/api/decide": {"row": _ROW, "label": _TEXT, "key": _TEXT, "by": _TEXT},
}
_ERRORS = {
    "400": "The request is malformed; 'error' says how.",
    "403": "Token, Host or Origin is wrong.",
    "409": "Something has changed meanwhile, or is not ready yet.",
    "413": "The request is too large.",
    "507": "It could not be saved; nothing has changed.",
}


def described(routes: Iterable[Route]) -> dict[str, Any]:
    """Describe routes as OpenAPI.

    Parameters
    ----------
    routes : iterable of Route
        The routes.

    Returns
    -------
    description : dict
        An OpenAPI document.
    """
    from fewlabels import __version__

    paths: dict[str, dict[str, Any]] = {}
    for route in routes:
        if not route.path.startswith(("/api/", "/picture/")):
            continue
        path = re.sub(r":int\}", "}", route.path)
        summary = (route.endpoint.__doc__ or "").partition("\n")[0]
        for method in sorted((route.methods or set()) - {"HEAD"}):
            entry: dict[str, Any] = {
                "summary": summary,
                "operationId": f"{method.lower()}_{re.sub('[^a-z]+', '_', path[1:])}",
                "responses": {
                    "200": {"description": "Done."},
                    **{k: {"description": text} for k, text in _ERRORS.items()},
                },
            }
            named = re.findall(r"\{(\w+)\}", path)
            if named:
                entry["parameters"] = [
                    {"name": n, "in": "path", "required": True, "schema": _ROW}
                    for n in named
                ]
            if method == "POST" and path in _BODIES:
                schema = {"type": "object", "properties": _BODIES[path]}
                content = {"application/json": {"schema": schema}}
                entry["requestBody"] = {"content": content}
            paths.setdefault(path, {})[method.lower()] = entry
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "fewlabels studio",
            "version": __version__,
            "description": (
                "Paths are relative to the address of the page, token included. POST "
                "needs the header Origin with that address up to the port. A repeated "
                "'key' has no effect, so that a request can be sent again."
            ),
        },
        "servers": [{"url": "."}],
        "paths": paths,
    }
