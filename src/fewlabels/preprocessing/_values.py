"""Missing values and text, for cells of columns of all kinds."""

# SPDX-License-Identifier: BSD-3-Clause

import json
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewlabels._missing import MISSING, PLACEHOLDERS

# Squares of larger numbers are infinite.
LARGEST = 1e150
UNREADABLE = (TypeError, ValueError, OverflowError)


def object_array(values: Any) -> NDArray[Any]:
    """Return a one-dimensional array of objects, whatever these are."""
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


def read_all(values: NDArray[Any], read: Callable[[Any], float]) -> NDArray[np.float64]:
    """Read every distinct value once; NaN for unreadable ones."""
    numbers = np.full(values.size, np.nan)
    known: dict[Any, float] = {}
    for row, value in enumerate(values):
        if is_missing(value):
            continue
        try:
            if value not in known:
                known[value] = read(value)
        except UNREADABLE:
            if isinstance(value, list | dict | np.ndarray):
                continue
            known[value] = np.nan
        numbers[row] = known[value]
    return numbers


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


# Short words whose case does not matter; AA and Aa are different genes.
_ANSWERS = frozenset({"y", "n", "j", "ja", "no", "si", "sí", "ok", "na"})


def folded(text: str) -> str:
    """Return text in lower case, unless its case matters."""
    small = " ".join(text.casefold().split())
    return small if len(small) > 2 or small in _ANSWERS else text


def counts(values: Iterable[Any]) -> list[tuple[Any, int]]:
    """Count values, the most frequent first, ties by name."""
    return sorted(Counter(values).items(), key=lambda pair: (-pair[1], str(pair[0])))


def unique_names(names: Sequence[str]) -> list[str]:
    """Make names unique, and fill in empty ones.

    Parameters
    ----------
    names : sequence of str
        Names as in the table.

    Returns
    -------
    names : list of str
        The second "a" becomes "a (2)"; an empty one is named by its position.

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
    """Return a column as an array of numbers, booleans, datetimes or objects."""
    if type(getattr(values, "dtype", None)).__name__ == "PeriodDtype":
        values = getattr(values, "dt", values).to_timestamp()
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
    if array.dtype.kind == "m":
        array = array.astype("timedelta64[us]")
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
    """Return a pyarrow column; integers with missing values become objects.

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
