"""Files that come in and go out: imports as one action, and exports."""

# SPDX-License-Identifier: BSD-3-Clause

import asyncio
import json
import secrets
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from fewlabels.studio._exchange import Imported, import_labels
from fewlabels.studio._export import DOWNLOADS, LEARNED, export_labels
from fewlabels.studio._people import People
from fewlabels.studio._requests import (
    Refused,
    body,
    error,
    flag,
    is_visible,
    read,
    reply,
    text,
)
from fewlabels.studio._session import Session
from fewlabels.tabular.files import home_of, output_suffix

# Labels that an import would change, of which this many are shown.
_EXAMPLES = 100
_PLANS = 4


@dataclass
class Plan:
    """What an import would do.

    Attributes
    ----------
    name : str
        The file.
    labels : dict of int to str
        Labels by row.
    problems : list of str
        What was not understood.
    """

    name: str
    labels: dict[int, str]
    problems: list[str]


class Files:
    """Imports and exports.

    Parameters
    ----------
    session : Session
        The labelling session.
    table : Table
        Its table.
    command : str
        The command line, for the report.
    people : People
        Who labels.
    """

    def __init__(
        self, session: Session, table: Any, command: str, people: People
    ) -> None:
        self.session, self._table, self._command = session, table, command
        self._people = people
        self._plans: dict[str, Plan] = {}

    def routes(self) -> list[Route]:
        """Return the routes."""
        return [
            Route("/api/export", self.export, methods=["POST"]),
            Route("/api/import", self.plan, methods=["POST"]),
            Route("/api/import/apply", self.apply, methods=["POST"]),
        ]

    async def export(self, request: Request) -> Response:
        """Return a file to be saved."""
        what = text(await body(request), "what")
        if what not in DOWNLOADS:
            return error(400, "There is no such export.")
        try:
            if what in LEARNED:
                loop = asyncio.get_running_loop()
                data = await self.session.export(loop, what, self._command)
            else:
                data = await run_in_threadpool(
                    export_labels, what, self._table, self.session
                )
        except (ValueError, ImportError) as why:
            return error(409, str(why))
        stem = home_of(Path(self.session.about["name"]).name or "table").stem
        suffix = output_suffix(self._table)
        name = DOWNLOADS[what].format(stem=stem, suffix=suffix)
        return Response(
            data,
            media_type="application/octet-stream",
            headers={"x-file-name": json.dumps(name)},
        )

    async def plan(self, request: Request) -> Response:
        """Read labels that were given elsewhere, and return what would change."""
        data = await read(request)
        name = request.query_params.get("name", "labels")[:200]
        target = self.session.about["target"]
        try:
            found = await run_in_threadpool(
                import_labels, data, name, self._table, target
            )
            await run_in_threadpool(self.session.store.prepare)
        except (ValueError, ImportError) as why:
            return error(400, str(why))
        plan, key = _visible(name, found), secrets.token_hex(8)
        while len(self._plans) >= _PLANS:
            del self._plans[next(iter(self._plans))]
        self._plans[key] = plan
        return reply({"plan": key, **self._described(plan)})

    def _described(self, plan: Plan) -> dict[str, Any]:
        session, known = self.session, self.session.labels
        changed = {r: a for r, a in plan.labels.items() if known.get(r, a) != a}
        classes = Counter(plan.labels.values())
        return {
            "name": plan.name,
            "new": sum(row not in known for row in plan.labels),
            "same": sum(known.get(row) == a for row, a in plan.labels.items()),
            "changed": len(changed),
            "by_hand": sum(session.store.current(row) is not None for row in changed),
            "examples": [
                {
                    "row": row,
                    "now": known[row],
                    "then": label,
                    "by_hand": session.store.current(row) is not None,
                }
                for row, label in sorted(changed.items())[:_EXAMPLES]
            ],
            "classes": [
                {"name": c, "count": n, "known": c in session.classes}
                for c, n in classes.most_common(200)
            ],
            "problems": plan.problems[:20],
            "n_problems": len(plan.problems),
        }

    async def apply(self, request: Request) -> Response:
        """Do what was planned, as one action."""
        given = await body(request)
        plan = self._plans.get(text(given, "plan"))
        if plan is None:
            raise Refused(409, "This import is no longer known: choose the file again.")
        overwrite, known = flag(given, "overwrite"), self.session.labels
        wanted = {
            row: label
            for row, label in sorted(plan.labels.items())
            if known.get(row) != label and (overwrite or row not in known)
        }
        if wanted:
            self.session.act(
                "label",
                [*wanted],
                None,
                labels=[*wanted.values()],
                how="import",
                key=text(given, "key"),
                by=self._people.of(request, given),
            )
        summary = self.session.summary()
        return reply({**summary, "imported": len(wanted), "name": plan.name})


def _visible(name: str, found: Imported) -> Plan:
    """Leave out classes whose names cannot be seen."""
    labels = {row: a for row, a in found.labels.items() if is_visible(a)}
    problems = list(found.problems)
    if len(labels) < len(found.labels):
        n_left = len(found.labels) - len(labels)
        problems.insert(0, f"{n_left:,} labels have names with invisible characters.")
    return Plan(name, labels, problems)
