"""The label column of a table: which rows have a label, and which labels there are."""

# SPDX-License-Identifier: BSD-3-Clause

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewlabels._words import listed
from fewlabels.preprocessing import Table, TableError
from fewlabels.preprocessing.cells import (
    counts,
    is_missing,
    missing_mask,
    number_notation,
    object_array,
    text_of,
    to_numbers,
)

# So many different numbers, and more than this share of the labels, are a quantity:
# whole ones, and such with a fraction.
_WHOLE = (20, 0.5)
_FRACTIONS = (10, 0.2)
# Columns that a run adds; an earlier run may have left them in the table.
ENDINGS = ("predicted", "confidence", "source")


@dataclass
class TargetColumn:
    """The labels of a table.

    Attributes
    ----------
    name : str
        Name of the column.
    texts : ndarray of object of shape (n_rows,)
        Labels as text, None where a row has none. Classes are told apart by this.
    values : dict of str to object
        Every class as it stands in the table: text, a number or a truth value.
    notes : list of str
        What the owner of the table should know.

    Examples
    --------
    >>> from fewlabels.tabular import Table, TargetColumn, read_target
    >>> target = read_target(Table.from_frame({"kind": ["a", None, "a"]}), "kind")
    >>> isinstance(target, TargetColumn), target.class_counts
    (True, {'a': 2})
    """

    name: str
    texts: NDArray[Any]
    values: dict[str, Any]
    notes: list[str] = field(default_factory=list)

    @property
    def given(self) -> NDArray[np.bool_]:
        """Which rows have a label."""
        return np.array([text is not None for text in self.texts], dtype=bool)

    @property
    def class_counts(self) -> dict[str, int]:
        """How many rows have each label, the most frequent first."""
        return dict(counts(text for text in self.texts if text is not None))


def read_target(table: Table, name: str, markers: Sequence[Any] = ()) -> TargetColumn:
    """Read the label column.

    A row has no label where the cell is empty, NA or the like, or one of the markers.
    Where whole numbers fill the column and nothing is missing, -1 is taken as the
    marker, as everywhere in fewlabels.

    Parameters
    ----------
    table : Table
        The table.
    name : str
        The label column.
    markers : sequence, default=()
        Further values that stand for "no label".

    Returns
    -------
    target : TargetColumn
        The labels.

    Raises
    ------
    TableError
        If the column holds a quantity instead of classes.

    Examples
    --------
    >>> from fewlabels.tabular import Table, read_target
    >>> table = Table.from_frame({"size": [1, 2, 3], "kind": ["a", "?", "b"]})
    >>> read_target(table, "kind", markers=["?"]).given
    array([ True, False,  True])
    """
    column = table.columns[table.index(name, "target")]
    marked = {text_of(marker) for marker in markers}
    texts: list[str | None] = []
    values: dict[str, Any] = {}
    for value in column.tolist():
        text = None if is_missing(value) else text_of(value)
        if text in marked:
            text = None
        if text is not None and text not in values:
            values[text] = value.strip() if isinstance(value, str) else value
        texts.append(text)
    notes = []
    if None not in texts and "-1" in values and len(values) > 2 and _all_whole(values):
        texts = [None if text == "-1" else text for text in texts]
        del values["-1"]
        notes.append(
            f"In {name!r}, -1 is taken as the mark of rows without a label, as no cell "
            "is empty."
        )
    if all(isinstance(v, float) and v.is_integer() for v in values.values()):
        values = {text: int(v) for text, v in values.items()}  # floats for the holes
    target = TargetColumn(name, object_array(texts), values, notes)
    _check_classes(target)
    _note_spellings(target)
    return target


def _all_whole(values: dict[str, Any]) -> bool:
    return all(text.lstrip("+-").isdigit() for text in values)


def _check_classes(target: TargetColumn) -> None:
    """Refuse a quantity: a price is no class."""
    texts = object_array(list(target.values))
    notation, unread = number_notation(list(texts)) if texts.size else ("", [None])
    if unread:
        return
    numbers = to_numbers(texts, notation)
    n_labels = int(target.given.sum())
    most, share = _FRACTIONS if np.any(numbers != np.floor(numbers)) else _WHOLE
    if texts.size > max(most, share * n_labels):
        raise TableError(
            f"{target.name!r} holds {texts.size:,} different numbers in {n_labels:,} "
            "labels, which looks like a quantity and not like classes: make a column "
            "of ranges, such as low, middle and high, and use that as target. If they "
            "are codes of classes, put a letter before them."
        )


def _note_spellings(target: TargetColumn) -> None:
    folded: dict[str, list[str]] = {}
    for text in target.values:
        folded.setdefault(" ".join(text.casefold().split()), []).append(text)
    for spellings in folded.values():
        if len(spellings) > 1:
            target.notes.append(
                f"The labels {listed(spellings)} differ only in spelling and are taken "
                "as different classes: correct them if they are one."
            )


def require_classes(target: TargetColumn) -> None:
    """Refuse labels from which nothing can be learned.

    Parameters
    ----------
    target : TargetColumn
        The labels.

    Raises
    ------
    TableError
        If there is no label, or a single class.
    """
    found = target.class_counts
    if not found:
        raise TableError(
            f"No row has a label in {target.name!r}. Label one row of each class at "
            "least ('fewlabels ask' says which), or group the rows with 'fewlabels "
            "cluster'."
        )
    if len(found) == 1:
        ((only, count),) = found.items()
        which = "The only label" if count == 1 else f"Each of the {count:,} labels"
        raise TableError(
            f"{which} in {target.name!r} is {only!r}: label at least one row of "
            "another class ('fewlabels ask' says which)."
        )


def revealing_columns(table: Table, target: TargetColumn) -> dict[str, str]:
    """Find columns that would give the labels away.

    Parameters
    ----------
    table : Table
        The table.
    target : TargetColumn
        Its labels.

    Returns
    -------
    columns : dict of str to str
        Their names, each with the reason.

    Examples
    --------
    >>> from fewlabels.tabular import Table, read_target, revealing_columns
    >>> data = {"size": [1, 2, 3], "by": ["Ann", None, "Bo"], "kind": ["a", None, "b"]}
    >>> table = Table.from_frame(data)
    >>> revealing_columns(table, read_target(table, "kind"))
    {'by': 'it has values exactly where there are labels'}
    """
    found = {}
    given = target.given
    earlier = {f"{target.name}_{ending}" for ending in ENDINGS}
    for name, column in zip(table.names, table.columns, strict=True):
        if name == target.name:
            continue
        if name.rstrip("0123456789").removesuffix("_") in earlier or name in earlier:
            found[name] = "written by an earlier run"
        elif not given.all() and np.array_equal(~missing_mask(column), given):
            found[name] = "it has values exactly where there are labels"
    return found
