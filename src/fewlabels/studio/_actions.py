"""What a journal of labels holds, line by line."""

# SPDX-License-Identifier: BSD-3-Clause

from dataclasses import dataclass, field
from typing import Any


@dataclass
class Action:
    """An action of a person on some rows.

    Attributes
    ----------
    key : str
        Its name in the journal. The page chooses it, so that a repeated request has no
        effect.
    do : {"label", "check", "skip", "clear", "classes"}
        What was done.
    label : str or None
        The class; None also where rows have different ones.
    rows : list of int
        The rows in the current table.
    how : str
        Where: "card", "grid", "map", "history", "import", "review", "accept",
        "settled" or "check".
    time : str
        When, in UTC.
    by : str
        Who did it; empty where nobody gave a name.
    labels : dict of int to str
        Classes of rows, where they differ.
    classes : list of dict
        Descriptions of classes, where they were changed.
    renames : dict of str to str
        New names of classes that labels before it have.
    place : int
        Its place in the order of time.
    void : set of int
        Rows for which it no longer holds: undone, or dropped in a conflict.
    undone : bool
        Whether all of it was undone.
    """

    key: str
    do: str
    label: str | None
    rows: list[int]
    how: str
    time: str
    by: str = ""
    labels: dict[int, str] = field(default_factory=dict)
    classes: list[dict[str, Any]] | None = None
    renames: dict[str, str] = field(default_factory=dict)
    place: int = 0
    void: set[int] = field(default_factory=set)
    undone: bool = False

    def label_of(self, row: int) -> str | None:
        """Return the class that it gave to a row."""
        return self.labels.get(row, self.label)

    @property
    def holds(self) -> bool:
        """Whether there is anything to undo."""
        if self.do == "classes":
            return not self.undone
        return bool(set(self.rows) - self.void)


@dataclass
class Draw:
    """Rows that were drawn to check predictions.

    Attributes
    ----------
    key : str
        Its name in the journal.
    rows : list of int or None
        The rows, as the table has them now; None for one that is gone.
    audit : dict
        All else that was noted.
    time : str
        When, in UTC.
    look : int
        How often more rows were asked for, from 1.
    """

    key: str
    rows: list[int | None]
    audit: dict[str, Any]
    time: str
    look: int = 1


@dataclass(frozen=True)
class Conflict:
    """A label whose row has changed.

    Attributes
    ----------
    action : str
        Key of the action.
    place : int
        The row number in the journal, counted from 1.
    label : str or None
        The label in the journal.
    kind : {"row", "label", "line"}
        Whether the cells of the row have changed, or its label in the table, or the
        line of the journal is damaged.
    row : int or None
        The row that now has this number.
    table_label : str or None
        The label in the current table.
    """

    action: str
    place: int
    label: str | None
    kind: str
    row: int | None
    table_label: str | None = None


@dataclass
class Note:
    """What a person wrote about a row, and whether it is flagged."""

    text: str
    flag: bool
    by: str
    time: str


@dataclass
class Section:
    """Data that the lines of a section share, and the rows they have claimed."""

    target: str
    columns: list[str]
    by: str = ""
    claims: dict[tuple[int, str], int] = field(default_factory=dict)
    taken: set[int] = field(default_factory=set)
