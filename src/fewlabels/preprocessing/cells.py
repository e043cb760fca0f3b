"""Read single cells of a table: numbers, dates, lists, text, and missing values."""

# SPDX-License-Identifier: BSD-3-Clause

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, date, datetime
from functools import lru_cache
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "LARGEST",
    "MISSING",
    "PLACEHOLDERS",
    "arrow_values",
    "column_values",
    "counts",
    "date_notation",
    "is_missing",
    "is_placeholder",
    "missing_mask",
    "number_notation",
    "object_array",
    "text_of",
    "to_numbers",
    "to_seconds",
    "to_texts",
    "to_vectors",
    "unique_names",
    "vector_length",
]

# What stands for "no value" in text, in lower case, wherever it occurs.
MISSING = frozenset(
    {"", "na", "n/a", "n.a.", "#n/a", "nan", "-nan", "<na>", "null", "#null!", "nil"}
    | {"#ref!", "#value!", "#div/0!", "#name?", "#num!"}
)
# What people write where there is no number, no date or no label, but what may be a
# category like any other.
PLACEHOLDERS = frozenset(
    {
        "?",
        "??",
        "???",
        "-",
        "--",
        "---",
        "\u2013",
        "\u2014",
        ".",
        "..",
        "...",
        "…",
        "*",
        "n.d.",
    }
    | {"nd", "n/d", "none", "unknown", "missing", "tbd", "tba", "todo", "to do"}
    | {"not available", "not applicable", "not known", "unlabeled", "unlabelled"}
)

_CURRENCIES = (
    r"[A-Z]{1,2}\$|[$€£¥₹₽₩₺₴₦₫฿]|kr\.?|Rs\.?|zł|Kč|Fr\.?|"
    "USD|EUR|GBP|CHF|JPY|CNY|INR|AUD|CAD|NZD|SEK|NOK|DKK|PLN|CZK|HUF|BRL|MXN|ZAR|RUB|"
    "TRY|KRW|SGD|HKD|ILS"
)
_GAP = r"['\u2019 \u00a0\u2009\u202f]"  # between groups of three digits
_CELL = re.compile(
    rf"(?P<open>\()?\s*(?P<sign>[+-])?\s*(?P<before>{_CURRENCIES})?\s*(?P<inner>[+-])?"
    rf"(?P<digits>[.,]?\d(?:[\d.,]|{_GAP}(?=\d))*)(?P<power>[eE][+-]?\d+)?\s*"
    r"(?P<after>[^\W\d_]+(?:[/·.^][^\W\d_]+)*[²³]?|"
    r"[%‰°$€£¥₹₽₩₺₴₦₫฿][^\W\d_]*(?:/[^\W\d_]+)?)?\s*(?P<close>\))?"
)
# How digits are grouped. Where a column fits several, the first one wins.
_STYLES = {
    "plain": re.compile(rf"\d+(?:\.\d*)?|\.\d+|\d{{1,3}}(?:{_GAP}\d{{3}})+(?:\.\d+)?"),
    "thousands": re.compile(r"[1-9]\d{0,2}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?|\.\d+"),
    "comma": re.compile(
        rf"\d+(?:,\d*)?|,\d+|[1-9]\d{{0,2}}(?:(?:\.|{_GAP})\d{{3}})+(?:,\d+)?"
    ),
}
# Squares of larger numbers are infinite.
LARGEST = 1e150
_UNREADABLE = (TypeError, ValueError, OverflowError)


def object_array(values: Any) -> NDArray[Any]:
    """One-dimensional array of objects, whatever these are."""
    return np.fromiter(values, dtype=object, count=len(values))


def is_missing(value: Any) -> bool:
    """Whether a cell holds no value: None, NaN, NaT, text such as "" or "NA"."""
    if value is None:
        return True
    if isinstance(value, str):
        return value.strip().lower() in MISSING
    if isinstance(value, list | tuple | np.ndarray):
        return len(value) == 0
    try:
        return bool(value != value)
    except (TypeError, ValueError):
        return False


def is_placeholder(value: Any) -> bool:
    """Whether a cell says in words or signs that there is no value."""
    return isinstance(value, str) and value.strip().lower() in PLACEHOLDERS


def missing_mask(values: NDArray[Any]) -> NDArray[np.bool_]:
    """Tell which cells of a column hold no value."""
    match values.dtype.kind:
        case "f":
            return np.isnan(values)
        case "M":
            return np.isnat(values)
        case "O":
            return np.fromiter(map(is_missing, values), dtype=bool, count=values.size)
        case _:
            return np.zeros(values.size, dtype=bool)


def number_notation(values: Sequence[Any]) -> tuple[str, list[Any]]:
    """Find out how numbers are written.

    Parameters
    ----------
    values : sequence of object
        Different values, none of them missing.

    Returns
    -------
    notation : str
        "plain", "comma" (1.065,5) or "thousands" (1,065.5), and after a space the unit
        or currency next to them.
    unread : list of object
        The values that are no such numbers.
    """
    if _plain_numbers(object_array(values)) is not None:
        return "plain", []
    cells = {v: _CELL.fullmatch(_upright(v)) for v in values if isinstance(v, str)}
    found = {value: cell for value, cell in cells.items() if cell}
    units = Counter(_unit(cell) for cell in found.values())
    del units[""]
    unit, count = units.most_common(1)[0] if units else ("", 0)
    if unit[:1].isalpha() and count < len(values) / 2:
        unit = ""  # 2, 3, 4 and 5more have no unit
    best, best_unread = "plain", list(values)
    for style in _STYLES:
        notation = f"{style} {unit}".strip()
        unread = [v for v in values if not _reads(v, _number, notation)]
        if len(unread) < len(best_unread):
            best, best_unread = notation, unread
    return best, best_unread


def _upright(text: str) -> str:
    """Text with the minus signs of printers made into that of keyboards."""
    return text.strip().translate({0x2212: "-", 0x2012: "-", 0x2013: "-"})


def _unit(cell: re.Match[str]) -> str:
    return (cell["before"] or cell["after"] or "").strip()


def _plain_numbers(values: NDArray[Any]) -> NDArray[np.float64] | None:
    """Numbers as Python reads them, all at once; None where some are none."""
    try:
        numbers = values.astype(np.float64)
    except _UNREADABLE:
        return None
    if any(isinstance(v, str) and "_" in v for v in values):
        return None  # Python reads 1_000, nobody else does
    if any(isinstance(v, np.datetime64 | datetime | date) for v in values[:1]):
        return None
    return numbers


def _reads(value: Any, read: Callable[[Any, str], float], notation: str) -> bool:
    try:
        read(value, notation)
    except _UNREADABLE:
        return False
    return True


def _number(value: Any, notation: str) -> float:
    if isinstance(value, datetime | date | np.datetime64):
        raise TypeError("a date is no number")
    if not isinstance(value, str):
        return float(value)
    style, _, unit = notation.partition(" ")
    if style == "plain" and "_" not in value:
        try:
            return float(value)
        except ValueError:
            pass
    cell = _CELL.fullmatch(_upright(value))
    if cell is None or _unit(cell) not in ("", unit):
        raise ValueError(value)
    digits = cell["digits"]
    if not _STYLES[style].fullmatch(digits) or bool(cell["open"]) != bool(
        cell["close"]
    ):
        raise ValueError(value)
    digits = re.sub(_GAP, "", digits)
    if style == "thousands":
        digits = digits.replace(",", "")
    elif style == "comma":
        digits = digits.replace(".", "").replace(",", ".")
    number = float(digits + (cell["power"] or ""))
    negative = "-" in ((cell["sign"] or "") + (cell["inner"] or "")) or cell["open"]
    return -number if negative else number


_DATES = (
    *("%d/%m/%Y", "%m/%d/%Y", "%d.%m.%Y", "%d-%m-%Y", "%m-%d-%Y", "%Y/%m/%d"),
    *("%Y.%m.%d", "%Y-%m-%d", "%d %b %Y", "%d %B %Y", "%b %d %Y", "%B %d %Y"),
    *("%d-%b-%Y", "%d-%b-%y", "%d/%b/%Y", "%d/%m/%y", "%m/%d/%y", "%d.%m.%y"),
    *("%d-%m-%y", "%d %b %y"),
)
_TIMES = (
    *("", " %H:%M", " %H:%M:%S", " %I:%M %p", " %I:%M:%S %p", " %H:%M:%S %z"),
    *(" %H:%M:%S.%f", "T%H:%M:%S", ":%H:%M:%S %z"),
)
_ALONE = ("%b %d %H:%M:%S %z %Y", "%Y%m%d", "%b %Y", "%B %Y", "%Y-%m", "%m/%Y")
_WEEKDAY = re.compile(r"(?i)\b(mon|tue|wed|thu|fri|sat|sun)[a-z]*\.?,?(?=\s)|,|\bat\b")
_ORDINAL = re.compile(r"(?i)(?<=\d)(st|nd|rd|th)\b")


@lru_cache
def _date_formats() -> tuple[str, ...]:
    return ("iso", *(d + t for d, t in product(_DATES, _TIMES)), *_ALONE)


def date_notation(values: Sequence[Any], share: float = 1.0) -> tuple[str, list[Any]]:
    """Find out how dates are written.

    Parameters
    ----------
    values : sequence of object
        Different values, none of them missing.
    share : float, default=1.0
        Share of the values that has to be dates.

    Returns
    -------
    notation : str
        "iso", or a format of :func:`time.strptime`; empty where these are no dates.
    unread : list of object
        The values that are no such dates.
    """
    probe = values[:: max(1, len(values) // 25)][:25]
    allowed = max(0, int((1 - share) * len(values)))
    if all(isinstance(v, str) for v in probe):
        dated = sum(any(sign.isdigit() for sign in v) for v in probe)
        if dated < share * len(probe) * 0.8:
            return "", list(values)
    fitting = []
    for notation in _date_formats():
        missed = sum(not _reads(v, _seconds, notation) for v in probe)
        if missed <= min(max(allowed, 0), 0.2 * len(probe)):
            fitting.append(notation)
    best, best_unread = "", list(values)
    for notation in fitting:
        unread = [v for v in values if not _reads(v, _seconds, notation)]
        if len(unread) <= allowed and (not best or len(unread) < len(best_unread)):
            best, best_unread = notation, unread
    return best, best_unread


def day_first_is_a_guess(values: Sequence[Any], notation: str) -> bool:
    """Whether day and month of all dates could as well be the other way round."""
    if not notation.startswith(("%d/%m/", "%d-%m-")):
        return False
    other = f"%m{notation[2]}%d{notation[5:]}"
    return all(_reads(v, _seconds, other) for v in values)


def _seconds(value: Any, notation: str) -> float:
    """Seconds since 1970; a time zone counts where one is given."""
    if isinstance(value, np.datetime64):
        return float(value.astype("datetime64[ms]").astype(np.int64)) / 1000
    if notation == "%Y%m%d" and isinstance(value, int | float | np.number):
        value = text_of(value.item() if isinstance(value, np.number) else value)
    if isinstance(value, str):
        text = value.strip()
        if notation == "iso":
            if len(text) < 8 or text.isdigit():  # such as a year, or 20240101
                raise ValueError(value)
            value = datetime.fromisoformat(text)
        else:
            text = _ORDINAL.sub("", _WEEKDAY.sub(" ", text))
            value = datetime.strptime(" ".join(text.split()), notation)
            if notation == "%Y%m%d" and not (
                len(text) == 8 and 1900 <= value.year < 2100
            ):
                raise ValueError(text)
    elif isinstance(value, date) and not isinstance(value, datetime):
        value = datetime(value.year, value.month, value.day)
    if not isinstance(value, datetime):
        raise TypeError(f"{value!r} is no date")
    if value.tzinfo is None:
        value = value.replace(tzinfo=UTC)
    return value.timestamp()


def to_numbers(values: NDArray[Any], notation: str) -> NDArray[np.float64]:
    """Read a column of numbers.

    Parameters
    ----------
    values : ndarray of shape (n_rows,)
        The column.
    notation : str
        See :func:`number_notation`.

    Returns
    -------
    numbers : ndarray of shape (n_rows,)
        NaN where there is none, also for what cannot be read; infinities, and numbers
        whose squares would be, are NaN too.
    """
    if values.dtype.kind in "biuf":
        numbers = values.astype(np.float64)
    else:
        present = ~missing_mask(values)
        quick = _plain_numbers(values[present]) if notation == "plain" else None
        if quick is None:
            numbers = _read_all(values, lambda v: _number(v, notation))
        else:
            numbers = np.full(values.size, np.nan)
            numbers[present] = quick
    with np.errstate(invalid="ignore"):
        numbers[~(np.abs(numbers) <= LARGEST)] = np.nan
    return numbers


def to_seconds(values: NDArray[Any], notation: str) -> NDArray[np.float64]:
    """Read a column of dates.

    Parameters
    ----------
    values : ndarray of shape (n_rows,)
        The column.
    notation : str
        See :func:`date_notation`.

    Returns
    -------
    seconds : ndarray of shape (n_rows,)
        Since 1970, NaN where there is none.
    """
    if values.dtype.kind == "M":
        seconds = values.astype("datetime64[ms]").astype(np.int64) / 1000.0
        seconds[np.isnat(values)] = np.nan
        return seconds
    return _read_all(values, lambda v: _seconds(v, notation))


def _read_all(
    values: NDArray[Any], read: Callable[[Any], float]
) -> NDArray[np.float64]:
    numbers = np.full(values.size, np.nan)
    known: dict[Any, float] = {}
    for row, value in enumerate(values):
        if is_missing(value):
            continue
        try:
            if value not in known:
                known[value] = read(value)
        except _UNREADABLE:
            if isinstance(value, list | dict | np.ndarray):
                continue
            known[value] = np.nan
        numbers[row] = known[value]
    return numbers


def _vector(value: Any) -> NDArray[np.float64] | None:
    """Read a list of numbers, also one written as text; None where it is none."""
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
    except _UNREADABLE:
        return None


def vector_length(values: Iterable[Any]) -> int:
    """Length of most of the lists of numbers in a column; 0 where it holds others."""
    lengths: Counter[int] = Counter()
    n_values = 0
    for value in values:
        n_values += 1
        vector = _vector(value)
        if vector is None and n_values <= 3:
            return 0  # most columns are none: do not read them whole
        if vector is not None:
            lengths[vector.size] += 1
    if not lengths:
        return 0
    length, count = lengths.most_common(1)[0]
    return length if length > 1 and count >= 0.9 * n_values else 0


def to_vectors(values: NDArray[Any], length: int) -> NDArray[np.float64]:
    """Read a column of lists of numbers; rows of NaN where there is none."""
    vectors = np.full((values.size, length), np.nan)
    for row, value in enumerate(values):
        vector = _vector(value)
        if vector is not None and vector.size == length:
            vectors[row] = vector
    with np.errstate(invalid="ignore"):
        vectors[~(np.abs(vectors) <= LARGEST).all(axis=1)] = np.nan
    return vectors


def to_texts(values: NDArray[Any]) -> NDArray[Any]:
    """Read a column as text, see :func:`text_of`."""
    return object_array([text_of(value) for value in values.tolist()])


def text_of(value: Any) -> str:
    """Write a value as text: empty for a missing one, "2" for 2.0."""
    if is_missing(value):
        return ""
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return str(int(value))
    if isinstance(value, list | tuple):
        return ", ".join(map(text_of, value))
    if isinstance(value, dict):
        return json.dumps(value, ensure_ascii=False, default=str)
    return str(value).strip()


def counts(values: Iterable[Any]) -> list[tuple[Any, int]]:
    """Count values, the most frequent first, ties by name."""
    return sorted(Counter(values).items(), key=lambda pair: (-pair[1], str(pair[0])))


def unique_names(names: Sequence[str]) -> list[str]:
    """Make names unique, and name what has no name.

    Parameters
    ----------
    names : sequence of str
        Names as they stand in the table.

    Returns
    -------
    names : list of str
        The second "a" is called "a (2)", an empty one after its place.

    Examples
    --------
    >>> from fewlabels.preprocessing.cells import unique_names
    >>> unique_names(["a", "b", "a", ""])
    ['a', 'b', 'a (2)', 'column 4']
    """
    given = {name.strip() for name in names}
    seen: Counter[str] = Counter()
    unique: list[str] = []
    for place, name in enumerate(names, start=1):
        name = name.strip() or f"column {place}"
        seen[name] += 1
        while seen[name] > 1 and f"{name} ({seen[name]})" in given:
            seen[name] += 1
        unique.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return unique


def column_values(values: Any) -> NDArray[Any]:
    """One column as an array of numbers, booleans, datetimes or objects."""
    if hasattr(values, "to_numpy"):
        values = values.to_numpy()
    try:
        array = np.asarray(values)
    except ValueError:  # lists of different lengths
        array = object_array(list(values))
    if array.ndim != 1:
        array = object_array(list(values))
    if array.dtype.kind in "US" and not isinstance(values, np.ndarray):
        array = object_array(list(values))
    if array.dtype.kind not in "biufMO":
        array = array.astype(object)
    if array.dtype.kind == "O":
        array = _without_wrappers(array)
    return array


def _without_wrappers(array: NDArray[Any]) -> NDArray[Any]:
    """Turn pandas' NA and NaT into None; they have no truth value."""
    missing = [value is None or _differs_from_itself(value) for value in array]
    if any(missing):
        array = array.copy()
        array[missing] = None
    return array


def _differs_from_itself(value: Any) -> bool:
    if isinstance(value, list | tuple | np.ndarray):
        return False
    try:
        return bool(value != value)
    except (TypeError, ValueError):
        return type(value).__name__ in ("NAType", "NaTType")


def arrow_values(column: Any) -> NDArray[Any]:
    """Values of a column of pyarrow, with integers that have missing values as objects.

    Parameters
    ----------
    column : pyarrow.ChunkedArray
        The column.

    Returns
    -------
    values : ndarray of shape (n_rows,)
        Numbers, booleans, datetimes or objects.
    """
    if column.null_count and not str(column.type).startswith(
        ("float", "double", "timestamp", "date")
    ):
        return object_array(column.to_pylist())
    return column_values(column.to_numpy())
