"""The label column of a table: which rows have a label, and which labels there are."""

# SPDX-License-Identifier: BSD-3-Clause

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewlabels._missing import is_na, minus_one_marks, na_is_a_class
from fewlabels._words import listed, plural
from fewlabels.preprocessing import Table, TableError, describe_columns
from fewlabels.preprocessing.cells import (
    PLACEHOLDERS,
    counts,
    is_missing,
    is_placeholder,
    missing_mask,
    number_notation,
    object_array,
    text_of,
)
from fewlabels.tabular._notation import notation_in

# Labels are a quantity if they have more distinct numbers than this count and this
# share of the labels: for integers, and for numbers with a fraction.
_WHOLE = (20, 0.5)
_FRACTIONS = (10, 0.2)
# Below that, a note says so from this many different numbers on, where they have fewer
# labels each than codes of classes would.
_FEW, _PER_CODE = 5, 3
# Columns that a run adds; the table may have them from an earlier run.
ENDINGS = ("predicted", "confidence", "low", "high", "source")


@dataclass
class TargetColumn:
    """The labels of a table.

    Attributes
    ----------
    name : str
        Name of the column.
    texts : ndarray of object of shape (n_rows,)
        Labels as text, None where a row has none. These distinguish classes.
    values : dict of str to object
        Every class as written in the table: text, a number or a truth value.
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
        """Count the rows of each label, the most frequent first."""
        return dict(counts(text for text in self.texts if text is not None))


def read_target(
    table: Table,
    name: str,
    markers: Sequence[Any] = (),
    *,
    merge: bool = False,
    task: str = "auto",
    decimal: Any = (),
) -> TargetColumn:
    """Read the label column.

    A row has no label where the cell is empty, NA or the like, or one of the markers.
    Without markers, signs that stand for nothing else ("?", "-", "TBD", "todo") are
    taken as such, with a note; words that may be a class ("unknown", "none") only where
    no cell is empty and most rows have it. Where whole numbers fill the column, none
    of them missing and no other negative, -1 is the marker, as everywhere in fewlabels.
    NA is a class where other cells are empty and it stands among short codes, or is not
    more frequent than empty cells.

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
    decimal : str or sequence of str, default=()
        The sign before decimals, see
        :func:`fewlabels.preprocessing.describe_columns`.

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
    cells = column.tolist()
    marked = set(map(class_text, markers))
    na = na_is_a_class(cells)
    texts: list[str | None] = []
    values: dict[str, Any] = {}
    for value in cells:
        text = label_text(value, na=na)
        if text in marked:
            text = None
        if text is not None and text not in values:
            values[text] = value.strip() if isinstance(value, str) else value
        texts.append(text)
    notes: list[str] = []
    classes: list[str] = []  # what is to be said unless the labels are numbers
    for text in filter(is_na, values):
        notes.append(
            f"In {name!r}, {text!r} ({plural(texts.count(text), 'row')}) is taken as a "
            "class, as the cells of rows without a label are empty; if it marks such "
            f"rows too, pass markers=[{text!r}]."
        )
    if not markers:
        mark = _mark(texts, values, name, notes, classes)
        texts = [None if text == mark else text for text in texts]
        values = {text: v for text, v in values.items() if text != mark}
    if merge:
        texts, values = _merged(texts, values, name, notes)
    if all(isinstance(v, float) and v.is_integer() for v in values.values()):
        # They are floats only because cells are missing.
        values = {text: int(v) for text, v in values.items()}
    target = TargetColumn(name, object_array(texts), values, notes)
    if task != "classes":
        target.numbers = _quantity(table, target, decimal, forced=task == "numbers")
    if target.numbers is None:
        target.notes += classes
        _note_spellings(target)
        _note_tags(target)
    return target


def label_text(value: Any, *, na: bool) -> str | None:
    """Return the text that identifies a class, None for a missing label.

    Parameters
    ----------
    value : object
        A cell of the label column.
    na : bool
        Whether NA is a class there, see :func:`fewlabels._missing.na_is_a_class`.

    Returns
    -------
    text : str or None
        The class.
    """
    missing = is_missing(value) and not (na and is_na(value))
    return None if missing else class_text(value)


def class_text(value: Any) -> str:
    """Write a class as text, even one called NA."""
    return str(value).strip() if is_na(value) else text_of(value)


def _mark(
    texts: list[str | None],
    values: dict[str, Any],
    name: str,
    notes: list[str],
    classes: list[str],
) -> str | None:
    """Find placeholders for missing labels, with a note."""
    found = Counter(text for text in texts if text is not None)
    if None not in texts and "-1" in values and _all_whole(values):
        if not minus_one_marks(np.array([int(text) for text in values], dtype=float)):
            return None
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
        classes.append(
            f"In {name!r}, {text!r} ({plural(count, 'row')}) is taken as a class like "
            f"the others; if it marks rows without a label, pass markers=[{text!r}]."
        )
    return None


_MINUS = ("-", "\u2013", "\u2014")
# Signs that nobody uses for a class; other placeholders may be classes.
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


def _quantity(
    table: Table, target: TargetColumn, decimal: Any, *, forced: bool
) -> NDArray[np.float64] | None:
    """Read labels as numbers where they are a quantity: a price is no class.

    Few cells that hold something else have no label then, as in other columns.
    """
    rows = np.flatnonzero(target.given)
    if not rows.size:
        return None
    cells = object_array([target.values[target.texts[row]] for row in rows])
    alone = replace(
        table,
        names=[target.name],
        columns=[cells],
        categorical=frozenset(),
        _decimal=table.decimal_sign(),
    )
    different = list(dict.fromkeys(cells))
    signs = [decimal] if isinstance(decimal, str) else list(decimal)
    signs = [s for s in signs if s.rpartition("=")[0] in ("", target.name)]
    numeric = [target.name] if forced else []
    try:
        (column,) = describe_columns(alone, numeric=numeric, decimal=signs)
    except TableError:
        raise _no_numbers(target.name, notation_in(table, different)[1], 0) from None
    if column.kind != "number":  # such as numbers that count the rows
        notation, unread = notation_in(table, different)
        if unread:
            return None
        column = replace(column, kind="number", notation=notation, note="")
    read = column.read(cells)
    lost = [v for v in dict.fromkeys(cells[np.isnan(read)]) if not is_placeholder(v)]
    if forced and lost:
        raise _no_numbers(target.name, lost, len(different))
    n_labels = int(np.sum(~np.isnan(read)))
    n_different = np.unique(read[~np.isnan(read)]).size
    most, share = _FRACTIONS if np.any(read % 1 > 0) else _WHOLE
    if not forced and n_different <= max(most, share * n_labels):
        # Codes of classes are mostly consecutive, or have several labels each.
        if n_different >= _FEW and _PER_CODE * n_different > n_labels:
            if np.nanmax(read) - np.nanmin(read) >= n_different:
                target.notes.append(
                    f"{target.name!r} holds {n_different:,} different numbers in "
                    f"{n_labels:,} labels and is taken as codes of classes. If it is a "
                    "quantity, pass task='numbers'."
                )
        return None
    if not forced:
        unit = f" in {column.unit}" if column.unit and " " not in column.unit else ""
        target.notes.append(
            f"{target.name!r} holds {n_different:,} different numbers in {n_labels:,} "
            f"labels and is taken as a quantity: numbers are predicted{unit}. If they "
            "are codes of classes, pass task='classes'."
        )
    if column.note:
        own = f"numeric={[target.name]!r}"  # the label column has no kind
        target.notes.append(column.note.replace(own, "task='numbers'"))
    numbers = np.full(target.texts.size, np.nan)
    numbers[rows] = read
    target.texts = object_array(
        [None if np.isnan(x) else t for t, x in zip(target.texts, numbers, strict=True)]
    )
    return numbers


def _no_numbers(name: str, unread: list[Any], n_different: int) -> TableError:
    remedy = "to predict classes, pass task='classes'"
    if len(unread) < n_different / 2:  # words among numbers
        remedy = (
            "correct these cells, or, where they mean 'no label', pass "
            f"markers={[str(text) for text in unread[:3]]!r}"
        )
    return TableError(
        f"{name!r} holds {listed(unread[:3])}, which cannot be read as numbers: "
        f"{remedy}."
    )


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
    """Warn if cells seem to hold several labels each."""
    for sign in (";", "|", ","):
        several = [text for text in target.values if sign in text]
        if not number_notation(several)[1]:
            continue  # decimal commas
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
            f"No row has a label in {target.name!r}. Label at least one row of each "
            "class (suggest_rows says which), or group the rows with cluster_table."
        )
    if len(found) == 1:
        ((only, count),) = found.items()
        which = "The only label" if count == 1 else f"Each of the {count:,} labels"
        message = (
            f"{which} in {target.name!r} is {only!r}: label at least one row of "
            "another class (suggest_rows says which)."
        )
        raise TableError(" ".join([message, *target.notes]))


def revealing_columns(table: Table, target: TargetColumn) -> dict[str, str]:
    """Find columns that would leak the labels.

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
    endings = "|".join(ENDINGS)
    earlier = re.compile(rf"{re.escape(target.name)}_({endings})(_?\d+)*")
    for name, column in zip(table.names, table.columns, strict=True):
        if name == target.name:
            continue
        if earlier.fullmatch(name):
            found[name] = "written by an earlier run"
        elif not given.all() and np.array_equal(~missing_mask(column), given):
            found[name] = "it has values exactly where there are labels"
    return found
