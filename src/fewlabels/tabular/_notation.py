"""How the numbers of a file are written."""

# SPDX-License-Identifier: BSD-3-Clause

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewlabels.preprocessing import ColumnDescription, Table
from fewlabels.preprocessing.cells import (
    is_missing,
    is_placeholder,
    number_notation,
    to_numbers,
)

# Cells looked at to find a column's decimal sign.
_PROBE = 1000


def notation_in(table: Table, values: Sequence[Any]) -> tuple[str, list[Any]]:
    """Find the notation of a column of numbers, using the file's as a guide.

    Parameters
    ----------
    table : Table
        The table.
    values : sequence of object
        Distinct values of a column, without missing ones.

    Returns
    -------
    notation, unread : str, list of object
        See :func:`fewlabels.preprocessing.cells.number_notation`.
    """
    return number_notation(list(values), likely=table.decimal_sign()[0])


def with_other_sign(
    columns: Sequence[ColumnDescription], table: Table
) -> dict[str, NDArray[np.float64]]:
    """Read numbers of a table whose decimal sign is not the one that a model knows.

    A column proves it whose cells can only be read with the other sign; then all of
    those that were written like it are read with that sign.

    Parameters
    ----------
    columns : sequence of ColumnDescription
        The columns of the table that the model was fitted to.
    table : Table
        Another one.

    Returns
    -------
    numbers : dict of str to ndarray of shape (n_rows,)
        By column; none where the sign is the same.
    """
    texts = {
        column.name: column.notation
        for column in columns
        if column.kind == "number"
        and column.notation.partition(" ")[0] in _OTHER_SIGN
        and column.name in table.names
        and table[column.name].dtype.kind == "O"
    }
    signs = {
        _OTHER_SIGN[notation.partition(" ")[0]]
        for name, notation in texts.items()
        if _unread(table[name][:_PROBE], notation) > 0.5
    }
    read = {}
    for name, notation in texts.items() if len(signs) == 1 else ():
        style, _, units = notation.partition(" ")
        cells = table[name]
        different = [v for v in dict.fromkeys(cells) if not is_missing(v)]
        own = number_notation(different, *signs)[0].partition(" ")[0]
        notation = f"{own} {units}".strip()
        if _OTHER_SIGN[style] in signs and not _unread(cells, notation):
            read[name] = to_numbers(cells, notation)
    return read


_OTHER_SIGN = {"comma": ".", "plain": ",", "thousands": ","}


def _unread(cells: NDArray[Any], notation: str) -> float:
    """Share of cells that say something which is no number."""
    said = [not is_missing(v) and not is_placeholder(v) for v in cells]
    lost = np.isnan(to_numbers(cells, notation)[said])
    return float(lost.mean()) if lost.size else 0.0


def decimal_sign(table: Table, name: str) -> str:
    """Find the decimal sign for a new column: that of its namesake, or of most columns.

    Parameters
    ----------
    table : Table
        The table.
    name : str
        Name of the new column, such as "price_predicted".

    Returns
    -------
    sign : {",", "."}
        The sign.
    """
    signs = {n: _sign_of(table, n) for n in table.names}
    about = [n for n in table.names if name.startswith(f"{n}_") and signs[n]]
    if about:
        return signs[max(about, key=len)]
    found = [sign for sign in signs.values() if sign]
    return "," if 2 * found.count(",") > len(found) else "."


def _sign_of(table: Table, name: str) -> str:
    """Return a column's decimal sign; nothing if it has no decimals."""
    cells = [value for value in table[name][:_PROBE] if not is_missing(value)]
    if not cells or not all(isinstance(value, str) for value in cells):
        return ""
    notation, unread = notation_in(table, list(dict.fromkeys(cells)))
    if len(unread) > 0.1 * len(cells):
        return ""
    sign = "," if notation.startswith("comma") else "."
    return sign if any(re.search(rf"\d[{sign}]\d", cell) for cell in cells) else ""
