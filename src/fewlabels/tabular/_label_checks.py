"""Refuse a label column without labels: dates, free text, identifiers."""

# SPDX-License-Identifier: BSD-3-Clause

from collections.abc import Sequence
from typing import Any

import numpy as np

from fewlabels._words import listed, plural
from fewlabels.preprocessing import Table, TableError, describe_columns
from fewlabels.preprocessing.cells import is_missing, object_array, text_of
from fewlabels.tabular._targets import TargetColumn

# Fewer distinct labels than this may be one of each class, whatever they look like; the
# limit for dates is lower.
FEWEST, FEWEST_DATES = 10, 3
_WORDS = {
    "date": "dates",
    "text": "free text",
    "identifier": "a value of its own for nearly every row",
}


def check_labels(table: Table, target: TargetColumn, task: str) -> None:
    """Refuse a label column that holds dates, free text or identifiers.

    Parameters
    ----------
    table : Table
        The table.
    target : TargetColumn
        Its labels.
    task : {"auto", "classes", "numbers"}
        With "classes", the user confirms that they are labels.

    Raises
    ------
    TableError
        If they are dates, free text or different in nearly every row.
    """
    if task != "auto" or target.numbers is not None:
        return
    found = target.class_counts
    if len(found) < FEWEST_DATES:
        return
    cells = table[target.name][np.flatnonzero(target.given)]
    (column,) = describe_columns({target.name: cells})
    fewest = FEWEST_DATES if column.kind == "date" else FEWEST
    if column.kind not in _WORDS or len(found) < fewest:
        return
    remedy = "or, if these are classes, pass task='classes'"
    if column.kind == "date":
        remedy = (
            "or make a column of classes (such as the month) or of numbers (such as "
            f"the days until then) from them, {remedy}"
        )
    raise TableError(
        f"{target.name!r} holds {_WORDS[column.kind]}, such as "
        f"{listed(list(found)[:2])} ({len(found):,} different ones in "
        f"{plural(sum(found.values()), 'row')}), not labels. A label is the name of "
        "a class that many rows share, such as 'yes' or 'no', or a number. Name "
        f"another column as the target, {remedy}."
    )


def check_target_kind(target: str, kind: str | None) -> None:
    """Refuse a column kind for the label column, which is not a feature.

    Parameters
    ----------
    target : str
        The label column.
    kind : str or None
        Its entry in :func:`named_kinds`; ignoring the column has no effect.

    Raises
    ------
    TableError
        If it is given a kind.
    """
    if kind not in (None, "ignored"):
        raise TableError(
            f"{target!r} holds the labels and is never used as a feature, so it has no "
            f"kind such as {str(kind).partition('=')[0]!r}. To choose what to predict, "
            "pass task='classes' or task='numbers'."
        )


def check_markers(table: Table, name: str, markers: Sequence[Any]) -> None:
    """Refuse a marker of missing labels that no cell holds: it may be misspelt.

    Parameters
    ----------
    table : Table
        The table; in a sample of a larger one, a marker may be absent.
    name : str
        The label column.
    markers : sequence
        Values that stand for "no label".

    Raises
    ------
    TableError
        If there is no such cell; signs that always mean "no label" may be absent.
    """
    if table.places is not None or not markers:
        return
    cells = table.columns[table.index(name, "target")].tolist()
    texts = {text_of(v) for v in object_array(cells) if not is_missing(v)}
    for marker in markers:
        if text_of(marker) not in texts and not is_missing(marker):
            near = [t for t in texts if t.casefold() == text_of(marker).casefold()]
            hint = f" Did you mean {near[0]!r}?" if near else ""
            raise TableError(
                f"No cell of {name!r} is {text_of(marker)!r}, so it cannot mean 'no "
                f"label' (given as markers).{hint}"
            )
