"""The label column of a table: which rows have a label, and which labels there are."""

# SPDX-License-Identifier: BSD-3-Clause

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewlabels._words import listed, plural
from fewlabels.preprocessing import Table, TableError
from fewlabels.preprocessing.cells import (
    PLACEHOLDERS,
    counts,
    is_missing,
    missing_mask,
    number_notation,
    object_array,
    text_of,
    to_numbers,
)

# Labels are a quantity where they have more different numbers than this count and this
# share of the labels: for whole numbers, and for numbers with a fraction.
_WHOLE = (20, 0.5)
_FRACTIONS = (10, 0.2)
# Columns that a run adds; an earlier run may have left them in the table.
ENDINGS = ("predicted", "confidence", "low", "high", "source")


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
    numbers : ndarray of shape (n_rows,) or None
        The labels as numbers, NaN where there is none, if they are a quantity.

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
    numbers: NDArray[np.float64] | None = None

    @property
    def given(self) -> NDArray[np.bool_]:
        """Which rows have a label."""
        return np.array([text is not None for text in self.texts], dtype=bool)

    @property
    def to_learn(self) -> NDArray[Any]:
        """What a classifier or regressor learns: texts, or numbers."""
        return self.texts if self.numbers is None else self.numbers

    @property
    def class_counts(self) -> dict[str, int]:
        """How many rows have each label, the most frequent first."""
        return dict(counts(text for text in self.texts if text is not None))


def read_target(
    table: Table,
    name: str,
    markers: Sequence[Any] = (),
    *,
    merge: bool = False,
    task: str = "auto",
) -> TargetColumn:
    """Read the label column.

    A row has no label where the cell is empty, NA or the like, or one of the markers.
    Without markers, signs that stand for nothing else ("?", "-", "TBD", "todo") are
    taken as such, with a note; words that may be a class ("unknown", "none") only where
    no cell is empty and most rows have it. Where whole numbers fill the column and
    nothing is missing, -1 is taken as the marker, as everywhere in fewlabels.

    Parameters
    ----------
    table : Table
        The table.
    name : str
        The label column.
    markers : sequence, default=()
        Values that stand for "no label".
    merge : bool, default=False
        Whether labels that differ only in case and spaces are one class.
    task : {"auto", "classes", "numbers"}, default="auto"
        What the labels are; "auto" decides by how many different numbers there are.

    Returns
    -------
    target : TargetColumn
        The labels.

    Examples
    --------
    >>> from fewlabels.tabular import Table, read_target
    >>> table = Table.from_frame({"kind": ["a", "?", "b", "?"]})
    >>> target = read_target(table, "kind")
    >>> target.class_counts, target.given
    ({'a': 1, 'b': 1}, array([ True, False,  True, False]))
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
    notes: list[str] = []
    if not markers:
        mark = _mark(texts, values, name, notes)
        texts = [None if text == mark else text for text in texts]
        values = {text: v for text, v in values.items() if text != mark}
    if merge:
        texts, values = _merged(texts, values, name, notes)
    if all(isinstance(v, float) and v.is_integer() for v in values.values()):
        # They are floats only because cells are missing.
        values = {text: int(v) for text, v in values.items()}
    target = TargetColumn(name, object_array(texts), values, notes)
    if task != "classes":
        target.numbers = _quantity(target, forced=task == "numbers")
    if target.numbers is None:
        _note_spellings(target)
        _note_tags(target)
    return target


def _mark(
    texts: list[str | None], values: dict[str, Any], name: str, notes: list[str]
) -> str | None:
    """Find what people write into cells without a label, and say so."""
    found = Counter(text for text in texts if text is not None)
    if None not in texts and "-1" in values and len(values) > 2 and _all_whole(values):
        notes.append(
            f"In {name!r}, -1 is taken as the mark of rows without a label, as no cell "
            "is empty."
        )
        return "-1"
    for text, count in found.most_common():
        sign = text.lower()
        if sign not in PLACEHOLDERS or (sign in _MINUS and "+" in found):
            continue
        most = None not in texts and 2 * count > len(texts)
        if sign in _SURE or most:
            notes.append(
                f"In {name!r}, {text!r} ({plural(count, 'row')}) is taken as the mark "
                "of rows without a label; if it is a class, pass markers=['NA']."
            )
            return text
        notes.append(
            f"In {name!r}, {text!r} ({plural(count, 'row')}) is taken as a class like "
            f"the others; if it marks rows without a label, pass markers=[{text!r}]."
        )
    return None


_MINUS = ("-", "\u2013", "\u2014")
# Signs that nobody uses for a class; the other placeholders may be one.
_SURE = frozenset(
    {"?", "??", "???", "-", "--", "---", "\u2013", "\u2014", "...", "\u2026", "tbd"}
    | {"tba", "todo", "to do", "unlabeled", "unlabelled"}
)


def _merged(
    texts: list[str | None], values: dict[str, Any], name: str, notes: list[str]
) -> tuple[list[str | None], dict[str, Any]]:
    """Give labels that differ only in case and spaces their most frequent spelling."""
    best: dict[str, str] = {}
    for text, _ in counts(text for text in texts if text is not None):
        best.setdefault(_folded(text), text)
    for chosen in best.values():
        others = [t for t in values if _folded(t) == _folded(chosen) and t != chosen]
        if others:
            notes.append(f"In {name!r}, {listed(others)} became {chosen!r}.")
    merged = [None if text is None else best[_folded(text)] for text in texts]
    return merged, {text: values[text] for text in best.values()}


def _folded(text: str) -> str:
    return " ".join(text.casefold().split())


def _all_whole(values: dict[str, Any]) -> bool:
    return all(text.lstrip("+-").isdigit() for text in values)


def _quantity(target: TargetColumn, *, forced: bool) -> NDArray[np.float64] | None:
    """Read labels as numbers where they are a quantity: a price is no class."""
    texts = object_array(list(target.values))
    notation, unread = number_notation(list(texts)) if texts.size else ("", [None])
    if unread:
        if forced and texts.size:
            remedy = "to predict classes, pass task='classes'"
            if len(unread) < texts.size / 2:  # words among numbers
                remedy = (
                    "correct these cells, or, where they mean 'no label', pass "
                    f"markers={[str(text) for text in unread[:3]]!r}"
                )
            raise TableError(
                f"{target.name!r} holds {listed(unread[:3])}, which cannot be read as "
                f"numbers: {remedy}."
            )
        return None
    numbers = to_numbers(texts, notation)
    n_labels = int(target.given.sum())
    most, share = _FRACTIONS if np.any(numbers != np.floor(numbers)) else _WHOLE
    if not forced and texts.size <= max(most, share * n_labels):
        return None
    read = dict(zip(texts, numbers, strict=True))
    if not forced:
        target.notes.append(
            f"{target.name!r} holds {texts.size:,} different numbers in {n_labels:,} "
            "labels and is taken as a quantity: numbers are predicted. If they are "
            "codes of classes, pass task='classes'."
        )
    return np.array([np.nan if t is None else read[t] for t in target.texts])


def _note_spellings(target: TargetColumn) -> None:
    folded: dict[str, list[str]] = {}
    for text in target.values:
        folded.setdefault(_folded(text), []).append(text)
    for spellings in folded.values():
        if len(spellings) > 1:
            target.notes.append(
                f"The labels {listed(spellings)} differ only in spelling and are taken "
                "as different classes: pass merge_labels=True if they are one."
            )


def _note_tags(target: TargetColumn) -> None:
    """Say so where cells seem to hold several labels each."""
    for sign in (";", "|", ","):
        several = [text for text in target.values if sign in text]
        seen = Counter(
            part.strip() for text in target.values for part in set(text.split(sign))
        )
        shared = [t for t in several if any(seen[p.strip()] > 1 for p in t.split(sign))]
        if len(shared) > 1:
            target.notes.append(
                f"Labels such as {listed(shared[:2])} look like several tags in one "
                "cell. A row has one label here, so every combination is a class of "
                "its own; to predict tags, make a column of yes and no for each."
            )
            return


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
    if target.numbers is not None and len(found) > 1:
        return
    if not found:
        raise TableError(
            f"No row has a label in {target.name!r}. Label one row of each class at "
            "least (suggest_rows says which), or group the rows with cluster_table."
        )
    if len(found) == 1:
        ((only, count),) = found.items()
        which = "The only label" if count == 1 else f"Each of the {count:,} labels"
        raise TableError(
            f"{which} in {target.name!r} is {only!r}: label at least one row of "
            "another class (suggest_rows says which)."
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
