"""Cells that hold several values: lists of numbers, pairs, tags, fields."""

# SPDX-License-Identifier: BSD-3-Clause

import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewlabels.preprocessing._values import LARGEST, UNREADABLE


def _vector(value: Any, sign: str = "") -> NDArray[np.float64] | None:
    """Read a list of numbers, possibly written as text; None for anything else."""
    if isinstance(value, str) and sign:
        value = _tuple(value, sign)
    if isinstance(value, str):
        text = value.strip()
        if len(text) < 5 or (text[0], text[-1]) not in (("[", "]"), ("(", ")")):
            return None
        inner = text[1:-1]
        parts = inner.split(",") if "," in inner else inner.split()
        try:
            value = [float(part) for part in parts]
        except ValueError:
            return None
    if not isinstance(value, list | tuple | np.ndarray):
        return None
    try:
        array = np.asarray(value)
        if array.ndim != 1 or array.dtype.kind not in "biuf":
            array = np.array([np.nan if v is None else v for v in value], dtype=object)
            if any(isinstance(v, str) for v in array):
                return None
        return array.astype(np.float64)
    except UNREADABLE:
        return None


def vector_length(values: Iterable[Any]) -> int:
    """Return the usual length of a column's lists of numbers; 0 for other columns."""
    lengths: Counter[int] = Counter()
    n_values = 0
    for value in values:
        n_values += 1
        vector = _vector(value)
        if vector is None and n_values <= 3:
            return 0  # most columns hold no lists: do not read them all
        if vector is not None:
            lengths[vector.size] += 1
    if not lengths:
        return 0
    length, count = lengths.most_common(1)[0]
    return length if length > 1 and count >= 0.9 * n_values else 0


# Numbers with one of these signs between them: 120/80, 48.1, 11.6, 1920x1080.
_TUPLES = {
    sign: re.compile(
        rf"\(?\s*([+-]?{number})(?:{between}([+-]?{number}))"
        rf"(?:{between}([+-]?{number}))?\s*\)?"
    )
    for sign, number, between in (
        ("/", r"\d+(?:[.,]\d+)?", r"\s*/\s*"),
        ("x", r"\d+(?:[.,]\d+)?", r"\s*[x\u00d7*]\s*"),
        (";", r"\d+(?:[.,]\d+)?", r"\s*;\s*"),
        (",", r"\d+\.\d+", r"\s*,\s*"),
    )
}
# The two numbers of 3/4 may be a day and a month, or a fraction.
_CALENDAR = 31


def _tuple(text: str, sign: str) -> list[float] | None:
    found = _TUPLES[sign].fullmatch(text.strip())
    if found is None:
        return None
    return [float(n.replace(",", ".")) for n in found.groups() if n is not None]


def tuple_notation(values: Sequence[Any]) -> str:
    """Find numbers with a sign between them.

    Parameters
    ----------
    values : sequence of object
        Different values, none of them missing.

    Returns
    -------
    notation : str
        How many numbers, and their sign: "2 /"; empty unless nine in ten fit.
    """
    for sign in _TUPLES:
        if not all(isinstance(v, str) and _tuple(v, sign) for v in values[:3]):
            continue
        found = [t for v in values if isinstance(v, str) and (t := _tuple(v, sign))]
        length, count = Counter(map(len, found)).most_common(1)[0]
        if count < 0.9 * len(values) or len(values) < 3:
            continue
        if sign != "/" or max(map(max, found)) > _CALENDAR:
            return f"{length} {sign}"
    return ""


def to_vectors(values: NDArray[Any], notation: str) -> NDArray[np.float64]:
    """Read a column of lists of numbers.

    Parameters
    ----------
    values : ndarray of shape (n_rows,)
        The column.
    notation : str
        Length of the lists, and for text the sign between numbers, see
        :func:`tuple_notation`.

    Returns
    -------
    vectors : ndarray of shape (n_rows, length)
        Rows of NaN for missing values.
    """
    size, _, sign = notation.partition(" ")
    vectors = np.full((values.size, int(size)), np.nan)
    for row, value in enumerate(values):
        vector = _vector(value, sign)
        if vector is not None and vector.size == int(size):
            vectors[row] = vector
    with np.errstate(invalid="ignore"):
        vectors[~(np.abs(vectors) <= LARGEST).all(axis=1)] = np.nan
    return vectors


# Tags are short and repeat: each occurs this often on average.
_TAG_REPEATS = 2.0
_TAG_WORDS = 3.0
# Share of the cells that hold several tags.
_SEVERAL = 0.1


def tag_notation(values: Sequence[Any]) -> str:
    """Find cells that hold several tags, such as "red;round".

    Parameters
    ----------
    values : sequence of object
        All values of a column, none of them missing.

    Returns
    -------
    notation : str
        The sign between tags, "list" for lists of text; empty if there are none.
    """
    if not any(_may_hold_tags(v) for v in values[:: max(1, len(values) // 100)]):
        return ""
    for sign in ("list", ";", "|"):
        cells = [read_tags(v, sign) for v in values]
        if sign == "list" and any(c is None for c in cells):
            continue
        found = [c or [] for c in cells]
        several = sum(len(c) > 1 for c in found)
        counts = Counter(tag for c in found for tag in c)
        if not counts or several < max(2, _SEVERAL * len(found)):
            continue
        words = np.mean([len(tag.split()) for tag in counts])
        repeats = counts.total() / len(counts)
        if repeats >= min(_TAG_REPEATS, 0.3 * len(found)) and words <= _TAG_WORDS:
            return sign
    return ""


def _may_hold_tags(value: Any) -> bool:
    if isinstance(value, str):
        return ";" in value or "|" in value or value.lstrip().startswith('["')
    return isinstance(value, list | tuple)


def read_tags(value: Any, notation: str) -> list[str] | None:
    """Return the tags of one cell; None if it has none."""
    if notation == "list":
        if isinstance(value, str) and value.lstrip().startswith("["):
            value = _from_json(value)
        if not isinstance(value, list | tuple | np.ndarray):
            return None
        if not all(isinstance(tag, str) for tag in value):
            return None
        parts = list(value)
    elif isinstance(value, str):
        parts = value.split(notation)
    else:
        return None
    return list(dict.fromkeys(tag.strip() for tag in parts if tag.strip()))


def holds_fields(values: Sequence[Any]) -> bool:
    """Whether nine in ten cells are objects with named fields, possibly as JSON."""
    if not all(_may_hold_fields(v) for v in values[:3]):
        return False
    return sum(read_fields(v) is not None for v in values) >= 0.9 * len(values)


def _may_hold_fields(value: Any) -> bool:
    if isinstance(value, str):
        text = value.strip()
        return text[:1] == "{" and text[-1:] == "}"
    return isinstance(value, dict)


def read_fields(value: Any) -> dict[str, Any] | None:
    """Return the fields of one cell; None if it has none."""
    if isinstance(value, str):
        value = _from_json(value) if _may_hold_fields(value) else None
    return value if isinstance(value, dict) else None


def to_fields(values: NDArray[Any]) -> dict[str, list[Any]]:
    """Turn the fields of all cells into columns, None where a field is missing."""
    cells = [read_fields(value) or {} for value in values]
    names = dict.fromkeys(str(name) for cell in cells for name in cell)
    return {name: [cell.get(name) for cell in cells] for name in names}


def _from_json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None
