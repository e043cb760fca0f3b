"""Who labels, and how far they agree."""

# SPDX-License-Identifier: BSD-3-Clause

import math
from collections import Counter
from collections.abc import Mapping
from typing import Any

from starlette.requests import Request

from fewlabels.studio._requests import Refused, is_visible, text
from fewlabels.studio._session import Session
from fewlabels.studio._store import LabelStore

MAX_NAME = 60


class People:
    """Who labels.

    Parameters
    ----------
    me : str, default=""
        The person, where it is always the same.
    asks : bool, default=False
        Whether the page asks for a name, once.
    """

    def __init__(self, me: str = "", asks: bool = False) -> None:
        self.me, self.asks = me, asks

    def of(self, request: Request, given: Mapping[str, Any]) -> str:
        """Find who sent a request: who has logged in, or who says so."""
        person = request.scope.get("person")
        if isinstance(person, str):
            return person
        if not self.asks:
            return self.me
        return person_name(text(dict(given), "by", MAX_NAME))

    def summary(self, session: Session) -> dict[str, Any]:
        """Count labels by person, and measure how far they agree."""
        said = opinions(session.store)
        counts = Counter(name for row in said.values() for name in row)
        names = sorted(counts, key=str.casefold)
        found: dict[str, Any] = {
            "names": [{"name": name, "labels": counts[name]} for name in names],
            "overlap": session.overlap,
            "agreement": None,
        }
        if len(names) > 1:
            found["agreement"] = _agreement(said, names)
        return found


def person_name(name: str) -> str:
    """Read the name of a person; empty where there is none."""
    name = " ".join(name.split())
    if name and (not is_visible(name) or len(name) > MAX_NAME):
        raise Refused(400, "A name needs at most 60 characters that can be seen.")
    return name


def opinions(store: LabelStore) -> dict[int, dict[str, str]]:
    """List what each person said about each row, before it was settled."""
    said: dict[int, dict[str, str]] = {}
    for action in store.actions:
        if not action.by or action.how in ("settled", "accept"):
            continue
        for row in action.rows:
            label = store.said(action, row)
            if row in action.void:
                continue
            if label is not None:
                said.setdefault(row, {})[action.by] = label
            elif row in said:
                said[row].pop(action.by, None)
    return said


def _agreement(said: Mapping[int, Mapping[str, str]], names: list[str]) -> Any:
    # Imported here: scikit-learn takes a second, and few tables have two people.
    from fewlabels.model_selection import agreement

    table = [[row.get(name) for name in names] for row in said.values()]
    found = agreement(table, names=names)

    def known(value: float) -> float | None:
        return None if math.isnan(value) else float(value)

    return {
        "n_shared": found.n_shared,
        "share": known(found.share),
        "krippendorff": known(found.krippendorff),
        "low": known(found.low),
        "high": known(found.high),
        "pairs": [
            {
                "first": pair.first,
                "second": pair.second,
                "rows": pair.n_rows,
                "share": known(pair.share),
                "kappa": known(pair.kappa),
            }
            for pair in found.pairs
        ],
        "classes": [
            {"name": name, "alpha": known(value)}
            for name, value in found.by_class.items()
        ],
    }
