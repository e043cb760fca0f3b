"""Placeholders for missing values: those given by the user, and -999."""

# SPDX-License-Identifier: BSD-3-Clause

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewlabels.preprocessing._dates import read_seconds
from fewlabels.preprocessing._errors import TableError
from fewlabels.preprocessing._table import Table
from fewlabels.preprocessing._values import UNREADABLE, object_array, text_of

# A number of nines means missing if it lies this many times the spread beyond the other
# values; in the incomes of a census, 99,999 at 1.4 times is a value, the top code.
_BEYOND = 2.0
_YEAR = 365.25 * 86_400
_ENDS = ("0001-01-01", "9999-12-31", "9999-01-01", "2999-12-31", "2099-12-31")
_BEGINNINGS = ("1900-01-01", "1899-12-30", "1899-12-31", "1970-01-01", "1753-01-01")
_SIGNS = {",": ",", ".": ".", "comma": ",", "point": "."}


def sentinels(numbers: NDArray[np.float64]) -> tuple[str, ...]:
    """Find numbers that mean missing.

    Parameters
    ----------
    numbers : ndarray of shape (n_rows,)
        A column of numbers, none of them missing.

    Returns
    -------
    found : tuple of str
        Extreme values made of nines only, such as -999 and 999999: negative ones if all
        others are positive, and others far from the rest.
    """
    found: list[str] = []
    rest = np.sort(numbers)
    for end in (0, -1, 0, -1):  # there may be two
        if rest.size < 6:
            break
        value = rest[end]
        if not _is_nines(value):
            continue
        others = rest[rest != value]
        if others.size < 5:
            continue
        count = rest.size - others.size
        spread = float(np.ptp(others))
        gap = float(np.min(np.abs(others - value)))
        negative = value < 0 <= others[0]
        far = gap > _BEYOND * max(spread, 1.0)
        if (negative and gap >= abs(value) and (count > 1 or far)) or (
            far and (count > 1 or abs(value) > 9_999)
        ):
            found.append(text_of(float(value)))
            rest = others
    return tuple(found)


def _is_nines(value: float) -> bool:
    text = text_of(float(abs(value)))
    return len(text) > 1 + (value > 0) and set(text) == {"9"}


def date_sentinels(seconds: NDArray[np.float64]) -> tuple[str, ...]:
    """Find dates that mean missing, such as 1900-01-01 and 9999-12-31.

    Parameters
    ----------
    seconds : ndarray of shape (n_rows,)
        A column of dates, none of them missing.

    Returns
    -------
    found : tuple of str
        Those at least a year from all others.
    """
    found = []
    for text in (*_ENDS, *_BEGINNINGS):
        value = read_seconds(text, "iso")
        count = int(np.sum(seconds == value))
        others = seconds[seconds != value]
        if not count or others.size < 3:
            continue
        gap = float(np.min(np.abs(others - value)))
        repeated = count > 1 or text in _ENDS or gap > float(np.ptp(others))
        if repeated and gap > _YEAR:
            found.append(text)
            seconds = others
    return tuple(found)


def by_column(
    given: Any, names: Sequence[str], role: str
) -> list[tuple[str | None, str]]:
    """Split ``"column=value"``; the column is None for a value that applies to all."""
    entries = [given] if isinstance(given, str | int | float) else list(given)
    found: list[tuple[str | None, str]] = []
    for entry in entries:
        text = text_of(entry) if not isinstance(entry, str) else entry
        name, equals, value = text.rpartition("=")
        if equals and name in names:
            found.append((name, value.strip()))
        elif equals and role == "decimal":
            raise TableError(
                f"There is no column {name!r} (given as {role}): its form is "
                "'column=sign'."
            )
        else:
            found.append((None, text.strip()))
    return found


def decimal_signs(given: Any, names: Sequence[str]) -> dict[str | None, str]:
    """Return decimal signs by column; None is the key for all others."""
    signs = {}
    for name, text in by_column(given, names, "decimal"):
        if text not in _SIGNS:
            raise TableError(
                f"{text!r} is not a decimal sign (given as decimal): pass decimal=',' "
                "or decimal='.', or 'column=,' for a single column."
            )
        signs[name] = _SIGNS[text]
    return signs


def without_values(table: Table, given: Any) -> Table:
    """Empty the cells that hold a value given as missing.

    Parameters
    ----------
    table : Table
        The table.
    given : sequence of str or number
        Values, for one column as ``"column=value"``.

    Returns
    -------
    table : Table
        The same, with None or NaN in these cells.
    """
    entries = by_column(given, table.names, "missing")
    if not entries:
        return table
    columns = []
    for name, values in zip(table.names, table.columns, strict=True):
        texts = [text for column, text in entries if column in (None, name)]
        gone = _matches(values, texts)
        if gone.any():
            values = _emptied(values, gone)
        columns.append(values)
    return replace(table, columns=columns)


def _matches(values: NDArray[Any], texts: Sequence[str]) -> NDArray[np.bool_]:
    """Tell which cells hold one of some values, as text, number or date."""
    gone = np.zeros(values.size, dtype=bool)
    for text in texts:
        number = _float(text)
        if values.dtype.kind in "biuf":
            gone |= values == number if number is not None else False
        elif values.dtype.kind == "M":
            try:
                gone |= values == np.datetime64(text)
            except ValueError:
                continue
        else:
            gone |= np.fromiter(
                (_same(value, text, number) for value in values), bool, values.size
            )
    return gone


def _same(value: Any, text: str, number: float | None) -> bool:
    if isinstance(value, str):
        cell = value.strip()
        return cell == text or (number is not None and _float(cell) == number)
    if isinstance(value, bool | list | tuple | dict | np.ndarray) or value is None:
        return False
    if isinstance(value, int | float | np.number):
        return number is not None and float(value) == number
    return str(value) == text or str(value).startswith(f"{text} 00:00")


def _float(text: str) -> float | None:
    try:
        return float(text.replace(",", "."))
    except UNREADABLE:
        return None


def _emptied(values: NDArray[Any], gone: NDArray[np.bool_]) -> NDArray[Any]:
    if values.dtype.kind in "biuf":
        return np.where(gone, np.nan, values.astype(np.float64))
    if values.dtype.kind == "M":
        return np.where(gone, np.datetime64("NaT"), values)
    emptied = object_array(list(values))
    emptied[gone] = None
    return emptied
