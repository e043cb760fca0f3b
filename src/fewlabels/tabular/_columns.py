"""What the columns of a table hold: numbers, categories, dates, text, or nothing."""

# SPDX-License-Identifier: BSD-3-Clause

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, date, datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewlabels.tabular._errors import plural, unknown_column
from fewlabels.tabular._table import Table, object_array

# What stands for "no value" in text, in lower case.
MISSING = frozenset(
    {"", "na", "n/a", "#n/a", "nan", "-nan", "<na>", "null", "#null!", "nil"}
)
KINDS = ("number", "category", "date", "text")
DROPPED = ("identifier", "constant", "empty", "ignored")

# Text has so many words in the mean, and repeats itself less than categories do.
TEXT_WORDS = 3.0
# Values that are nearly all different name the rows.
IDENTIFIER_SHARE = 0.9
_IDENTIFIER = re.compile(
    r"(?i:(^|[\W_])(id|ids|uuid|guid|key|index|idx|rownum|row_?number|serial))$"
    r"|[a-z](ID|Id|UUID|Key|Index)$"
)
_DATE_FORMATS = (
    "%d/%m/%Y",
    "%m/%d/%Y",
    "%d.%m.%Y",
    "%d-%m-%Y",
    "%Y/%m/%d",
    "%d/%m/%Y %H:%M",
    "%m/%d/%Y %H:%M",
    "%d.%m.%Y %H:%M",
    "%d/%m/%Y %H:%M:%S",
    "%m/%d/%Y %H:%M:%S",
    "%d.%m.%Y %H:%M:%S",
    "%d %b %Y",
    "%d %B %Y",
    "%b %d, %Y",
    "%B %d, %Y",
)
_COMMA_DECIMAL = re.compile(r"[+-]?\d+(,\d+)?([eE][+-]?\d+)?")
_THOUSANDS = re.compile(r"[+-]?\d{1,3}(,\d{3})+(\.\d+)?|[+-]?\d+(\.\d+)?")
_SIGNS = re.compile(r"[$€£%\s]")


@dataclass(frozen=True)
class ColumnDescription:
    """What a column holds, and how it is used.

    Attributes
    ----------
    name : str
        Its name.
    kind : str
        "number", "category", "date" or "text"; "identifier", "constant", "empty" or
        "ignored" for columns that are left out.
    n_missing : int
        Rows without a value.
    n_distinct : int
        Different values.
    reason : str
        Why it was taken so.
    notation : str
        How numbers and dates are written: "plain", "comma" or "thousands", "iso" or a
        format of :func:`time.strptime`.
    """

    name: str
    kind: str
    n_missing: int
    n_distinct: int
    reason: str
    notation: str = ""

    @property
    def is_used(self) -> bool:
        """Whether the column becomes features."""
        return self.kind in KINDS

    def as_dict(self) -> dict[str, Any]:
        """Return the description as plain values.

        Returns
        -------
        description : dict
            One entry per attribute.
        """
        return asdict(self)


def is_missing(value: Any) -> bool:
    """Whether a cell holds no value.

    Parameters
    ----------
    value : object
        The cell.

    Returns
    -------
    missing : bool
        True for None, NaN, NaT, and text such as "" or "NA".
    """
    if value is None:
        return True
    if isinstance(value, str):
        return value.strip().lower() in MISSING
    try:
        return bool(value != value)
    except (TypeError, ValueError):
        return False


def missing_mask(values: NDArray[Any]) -> NDArray[np.bool_]:
    """Tell which cells of a column hold no value.

    Parameters
    ----------
    values : ndarray of shape (n_rows,)
        The column.

    Returns
    -------
    mask : ndarray of bool of shape (n_rows,)
        True where there is none.
    """
    match values.dtype.kind:
        case "f":
            return np.isnan(values)
        case "M":
            return np.isnat(values)
        case "O":
            return np.fromiter(map(is_missing, values), dtype=bool, count=values.size)
        case _:
            return np.zeros(values.size, dtype=bool)


def describe_columns(
    X: Any,
    *,
    ignore: Sequence[str] = (),
    text: Sequence[str] = (),
    categorical: Sequence[str] = (),
    numeric: Sequence[str] = (),
) -> list[ColumnDescription]:
    """Find out what the columns of a table hold.

    Columns of text are numbers or dates where every value reads as one. Among the
    others, those with three words or more on average that hardly repeat are free text,
    those whose values are nearly all different name the rows, and the rest are
    categories. Whole numbers name the rows where they count them, or where they are all
    different in a column that is called an id.

    Parameters
    ----------
    X : Table, DataFrame of pandas or polars, dict or array-like
        The table.
    ignore, text, categorical, numeric : sequence of str, default=()
        Columns whose kind is known; everything else is guessed.

    Returns
    -------
    columns : list of ColumnDescription
        One per column, in their order.

    Examples
    --------
    >>> from fewlabels.tabular import describe_columns
    >>> for column in describe_columns(
    ...     {"no": [1, 2, 3], "size": [1.5, 2.5, None], "colour": ["r", "g", "r"]}
    ... ):
    ...     print(column.name, column.kind)
    no identifier
    size number
    colour category
    """
    table = Table.from_frame(X)
    given = dict.fromkeys(table.categorical, "category")
    for kind, role, names in (
        ("number", "numeric", numeric),
        ("category", "categorical", categorical),
        ("text", "text", text),
        ("ignored", "ignore", ignore),
    ):
        for name in names:
            if name not in table.names:
                raise unknown_column(name, table.names, role)
            given[name] = kind
    return [
        _describe(name, values, given.get(name))
        for name, values in zip(table.names, table.columns, strict=True)
    ]


def _describe(name: str, values: NDArray[Any], given: str | None) -> ColumnDescription:
    holes = missing_mask(values)
    present = values[~holes]
    n_missing = int(holes.sum())
    if given == "ignored":
        return ColumnDescription(name, given, n_missing, 0, "as asked for")
    distinct = _distinct(present)
    n = len(distinct)

    def found(kind: str, reason: str, notation: str = "") -> ColumnDescription:
        return ColumnDescription(name, kind, n_missing, n, reason, notation)

    if n == 0:
        return found("empty", "no row has a value")
    if n == 1 and not n_missing:
        return found("constant", "all rows have the same value")
    if given in ("category", "text"):
        return found(given, "as asked for")
    notation = number_notation(distinct)
    if given == "number":
        return found("number", "as asked for", notation or "plain")
    if present.dtype.kind == "b" or all(isinstance(v, bool) for v in distinct):
        return found("category", "true or false")
    if n == 1:
        return found("category", "a value or none")
    if notation is not None:
        numbers = to_numbers(present, notation)
        why = _counts_rows(name, numbers, n)
        if why:
            return found("identifier", why)
        return found("number", "all values are numbers", notation)
    form = date_notation(distinct)
    if form is not None:
        return found("date", "all values are dates", form)
    texts = [str(value) for value in distinct]
    words = float(np.mean([len(value.split()) for value in texts[:10_000]]))
    share = n / present.size
    if words >= TEXT_WORDS and (share > 0.5 or n > 100):
        return found("text", f"{words:.0f} words in the mean")
    named = share == 1 and bool(_IDENTIFIER.search(name.strip()))
    if (n > 20 and share > IDENTIFIER_SHARE) or (named and n > 2):
        return found("identifier", f"{plural(n, 'different value')} name the rows")
    return found("category", plural(n, "different value"))


def _distinct(present: NDArray[Any]) -> list[Any]:
    """Different values, in the order in which they come."""
    if present.dtype.kind != "O":
        return list(np.unique(present))
    try:
        return list(dict.fromkeys(present))
    except TypeError:  # lists and the like
        return list(dict.fromkeys(map(str, present)))


def _counts_rows(name: str, numbers: NDArray[Any], n_distinct: int) -> str:
    """Why whole numbers are no quantity, or nothing."""
    if n_distinct < numbers.size or numbers.size < 3:
        return ""
    whole = np.isfinite(numbers) & (numbers == np.floor(numbers))
    if not whole.all():
        return ""
    if np.all(np.diff(numbers) == 1):
        return "it counts the rows"
    if np.ptp(numbers) == numbers.size - 1 and numbers.size > 20:
        return "it numbers the rows"
    if _IDENTIFIER.search(name.strip()):
        return "all values are different, and so it is called"
    return ""


def number_notation(values: Sequence[Any]) -> str | None:
    """Find out how numbers are written.

    Parameters
    ----------
    values : sequence of object
        Values, none of them missing.

    Returns
    -------
    notation : {"plain", "comma", "thousands"} or None
        None where not all are numbers. "comma" is a decimal comma, "thousands" a comma
        between groups of three digits.
    """
    if _plain_numbers(object_array(values)) is not None:
        return "plain"
    for notation in ("plain", "comma", "thousands"):
        if _all_read(values, _number, notation):
            return notation
    return None


def _plain_numbers(values: NDArray[Any]) -> NDArray[np.float64] | None:
    """Numbers as Python reads them, all at once; None where some are none."""
    try:
        numbers = values.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        return None
    if any(isinstance(v, str) and "_" in v for v in values):
        return None  # Python reads 1_000, nobody else does
    if any(isinstance(v, np.datetime64 | datetime | date) for v in values[:1]):
        return None
    return numbers


def date_notation(values: Sequence[Any]) -> str | None:
    """Find out how dates are written.

    Parameters
    ----------
    values : sequence of object
        Values, none of them missing.

    Returns
    -------
    notation : str or None
        "iso", or a format of :func:`time.strptime`; None where not all are dates.
    """
    first = values[0]
    if isinstance(first, str) and not any(sign.isdigit() for sign in first):
        return None
    for notation in ("iso", *_DATE_FORMATS):
        if _all_read(values, _seconds, notation):
            return notation
    return None


def _all_read(
    values: Sequence[Any], read: Callable[[Any, str], float], notation: str
) -> bool:
    try:
        for value in values:
            read(value, notation)
    except (TypeError, ValueError, OverflowError):
        return False
    return True


def _number(value: Any, notation: str) -> float:
    if isinstance(value, datetime | date | np.datetime64):
        raise TypeError("a date is no number")
    if not isinstance(value, str):
        return float(value)
    if notation == "plain":
        if "_" in value:
            raise ValueError(value)
        try:
            return float(value)
        except ValueError:
            return float(_SIGNS.sub("", value))
    text = _SIGNS.sub("", value)
    if notation == "comma":
        if not _COMMA_DECIMAL.fullmatch(text):
            raise ValueError(value)
        return float(text.replace(",", "."))
    if not _THOUSANDS.fullmatch(text):
        raise ValueError(value)
    return float(text.replace(",", ""))


def _seconds(value: Any, notation: str) -> float:
    """Seconds since 1970; a time zone counts where one is given."""
    if isinstance(value, np.datetime64):
        return float(value.astype("datetime64[ms]").astype(np.int64)) / 1000
    if isinstance(value, str):
        text = value.strip()
        if notation == "iso":
            if len(text) < 8 or text.isdigit():  # such as a year, or 20240101
                raise ValueError(value)
            value = datetime.fromisoformat(text)
        else:
            value = datetime.strptime(text, notation)
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
        NaN where there is none, also for what cannot be read; infinities are NaN too.
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
    numbers[~np.isfinite(numbers)] = np.nan
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
        if value not in known:
            try:
                known[value] = read(value)
            except (TypeError, ValueError, OverflowError):
                known[value] = np.nan
        numbers[row] = known[value]
    return numbers


def to_texts(values: NDArray[Any]) -> NDArray[Any]:
    """Read a column as text.

    Parameters
    ----------
    values : ndarray of shape (n_rows,)
        The column.

    Returns
    -------
    texts : ndarray of str objects of shape (n_rows,)
        Without blanks around, empty where there is no value. Whole numbers look the
        same whether they came as integers or as floats.
    """
    return object_array([text_of(value) for value in values.tolist()])


def text_of(value: Any) -> str:
    """Write a value as text.

    Parameters
    ----------
    value : object
        The value.

    Returns
    -------
    text : str
        Empty for a missing value; 2.0 is "2".
    """
    if is_missing(value):
        return ""
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return str(int(value))
    return str(value).strip()


def counts(values: Iterable[Any]) -> list[tuple[Any, int]]:
    """Count values, the most frequent first, ties by name.

    Parameters
    ----------
    values : iterable of object
        The values.

    Returns
    -------
    counted : list of (object, int)
        Values and how often they occur.
    """
    return sorted(Counter(values).items(), key=lambda pair: (-pair[1], str(pair[0])))
