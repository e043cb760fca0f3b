"""Which columns tell most about a row, and which ones the person wants to see."""

# SPDX-License-Identifier: BSD-3-Clause

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from fewlabels.studio._cards import Cards
from fewlabels.studio._store import LabelStore

# Rows looked at to tell texts from numbers and names.
_SAMPLE = 300
# Mean and greatest number of characters from which a column is a text.
_LONG, _LONGEST = 40, 160


class ColumnView:
    """The columns of a table as the page shows them.

    Places are fixed per table: they depend on the columns and on what the person has
    chosen, never on the row.

    Parameters
    ----------
    cards : Cards
        The rows.
    n_rows : int
        How many there are.
    store : LabelStore
        Where the choice is kept.
    """

    def __init__(self, cards: Cards, n_rows: int, store: LabelStore) -> None:
        self._names, self._store = cards.names, store
        self._effects: dict[str, float] = {}
        rows = np.unique(np.linspace(0, max(n_rows - 1, 0), _SAMPLE).astype(int))
        sample = [cards.cells(int(row)) for row in rows[:n_rows]]
        self._facts = [_facts([cells[k] for cells in sample]) for k in range(self.size)]

    @property
    def size(self) -> int:
        """How many columns there are."""
        return len(self._names)

    def learn(self, effects: Mapping[str, float]) -> bool:
        """Take the effects on the predictions; only once, so that places stay."""
        is_first = not self._effects and bool(effects)
        if is_first:
            self._effects = dict(effects)
        return is_first

    def choose(self, pinned: Sequence[Any], hidden: Sequence[Any]) -> None:
        """Keep which columns are pinned and hidden; unknown names are dropped.

        Raises
        ------
        StoreError
            If it cannot be saved.
        """
        known = set(self._names)
        self._store.note_view(
            [name for name in pinned if name in known],
            [name for name in hidden if name in known],
        )

    def shown(self) -> dict[str, Any]:
        """Describe all columns, and rank them for small views."""
        pinned = self._store.view.get("pinned", [])
        hidden = set(self._store.view.get("hidden", []))
        layout = [
            {
                "place": place,
                "name": name,
                "text": length > 0,
                "useful": useful,
                "effect": self._effects.get(name) if self._effects else None,
                "pinned": name in pinned,
                "hidden": name in hidden,
            }
            for place, (name, (length, useful)) in enumerate(
                zip(self._names, self._facts, strict=True)
            )
        ]

        def rank(column: dict[str, Any]) -> tuple[Any, ...]:
            name, place = column["name"], column["place"]
            first = pinned.index(name) if name in pinned else len(pinned)
            length, useful = self._facts[place]
            return first, not useful, -length, -(column["effect"] or 0.0), place

        brief = sorted((c for c in layout if not c["hidden"]), key=rank)
        return {"layout": layout, "brief": [c["place"] for c in brief]}


def _facts(cells: Sequence[str]) -> tuple[float, bool]:
    """Return the mean length of a text, 0 for anything else, and whether it tells."""
    filled = [cell for cell in cells if cell.strip()]
    if not filled:
        return 0.0, False
    lengths = [len(cell) for cell in filled]
    mean = sum(lengths) / len(lengths)
    is_text = mean > _LONG or max(lengths) > _LONGEST or any("\n" in c for c in filled)
    spaced = any(" " in cell.strip() for cell in filled)
    if is_text and (spaced or max(lengths) > _LONGEST):
        return mean, True
    distinct = len(set(filled))
    identifies = distinct == len(filled) > 20 and not all(map(_is_number, filled))
    return 0.0, distinct > 1 and not (identifies and not spaced)


def _is_number(text: str) -> bool:
    try:
        float(text.replace(",", "."))
    except ValueError:
        return False
    return True
