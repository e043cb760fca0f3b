"""Describe how the columns of a table were read, for a terminal."""

# SPDX-License-Identifier: BSD-3-Clause

import textwrap
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from fewlabels._words import listed, plural
from fewlabels.preprocessing import ColumnDescription

# Width of a line on a terminal.
WIDTH = 80
# Beginning of notes on columns without information.
LEFT_OUT = "Left out, "
_PLURALS = {
    "number": "numbers",
    "category": "categories",
    "date": "dates",
    "time": "times",
    "text": "texts",
    "vector": "vectors",
    "picture": "pictures",
}
_LEFT_OUT = ("identifier", "constant", "empty", "ignored")


def shortened(text: Any, length: int) -> str:
    """Put a cell on one line, cut where it is long."""
    line = " ".join(str(text).split())
    return line if len(line) <= length else line[: length - 1] + "…"


def examples_of(column: ColumnDescription) -> list[str]:
    """Show some cells, each with the value it became if that looks different.

    Parameters
    ----------
    column : ColumnDescription
        The column.

    Returns
    -------
    examples : list of str
        Such as ``1.065,00 € -> 1065``.
    """
    return [
        shortened(cell, 24) + ("" if cell == became else f" -> {shortened(became, 24)}")
        for cell, became in column.examples
    ]


def kind_of(column: ColumnDescription) -> str:
    """Name the kind of a column, with the unit of numbers."""
    return f"{column.kind} ({column.unit})" if column.unit else column.kind


def reading_lines(columns: Sequence[ColumnDescription]) -> list[str]:
    """List the columns of every kind in a line, with an example of each.

    Parameters
    ----------
    columns : sequence of ColumnDescription
        The columns.

    Returns
    -------
    lines : list of str
        At most 80 characters each.

    Examples
    --------
    >>> from fewlabels.preprocessing import describe_columns
    >>> from fewlabels.tabular.telling import reading_lines
    >>> data = {"no": [1, 2, 3], "price": ["5,00 €", "7,50 €", ""], "cut": ["a"] * 3}
    >>> for line in reading_lines(describe_columns(data)):
    ...     print(line)
      numbers     price (5,00 € -> 5)
      left out    no (identifier), cut (constant)
    """
    groups: dict[str, list[str]] = {}
    for column in columns:
        if column.is_used:
            kind = _PLURALS.get(column.kind, column.kind)
            # The numbers of an embedding tell a person nothing.
            is_told = "->" in column.reading and not column.reading.startswith("[")
            became = column.reading if is_told else ""
        else:
            kind, became = "left out", column.kind
        name = shortened(column.name, 30)
        said = f"{name} ({shortened(became, 40)})" if became else name
        groups.setdefault(kind, []).append(said)
    left = groups.pop("left out", None)
    if left:
        groups["left out"] = left  # last
    return [line for kind, names in groups.items() for line in _fitting(kind, names)]


def _fitting(kind: str, names: list[str]) -> list[str]:
    """List as many names as fit into two lines, those with an example first."""
    names = sorted(names, key=lambda name: " -> " not in name)
    lines: list[str] = []
    for n in range(min(len(names), WIDTH), 0, -1):
        rest = f", and {len(names) - n:,} more" if n < len(names) else ""
        lines = wrapped(", ".join(names[:n]) + rest, f"  {kind:<10}  ", " " * 14)
        if len(lines) <= 2:
            break
    return lines


def wrapped(text: str, first: str, others: str) -> list[str]:
    """Break a text into lines that fit a terminal."""
    return textwrap.wrap(
        text,
        WIDTH,
        initial_indent=first,
        subsequent_indent=others,
        break_long_words=False,
        break_on_hyphens=False,
    )


def column_listing(
    columns: Sequence[ColumnDescription], in_words: Callable[[str], str] = str
) -> list[str]:
    """List every column with its kind, missing values, examples and problems.

    Parameters
    ----------
    columns : sequence of ColumnDescription
        The columns.
    in_words : callable, default=str
        Rewords remarks, which name parameters, for the reader.

    Returns
    -------
    lines : list of str
        For a terminal.
    """
    rows = [("column", "kind", "missing", "different", "examples")]
    for c in columns:
        name, kind = shortened(c.name, 26), shortened(kind_of(c), 18)
        counts = (f"{c.n_missing:,}", f"{c.n_distinct:,}")
        rows.append((name, kind, *counts, ""))
    widths = [max(len(row[k]) for row in rows) for k in range(4)]
    lines = []
    for row, column in zip(rows, [None, *columns], strict=True):
        head = "  ".join(
            cell.ljust(w) if k < 2 else cell.rjust(w)
            for k, (cell, w) in enumerate(zip(row[:4], widths, strict=True))
        )
        if column is None:
            lines.append(f"{head}  {row[4]}")
            continue
        room = max(WIDTH - len(head) - 2, 24)
        lines.append(f"{head}  {_some(examples_of(column), room)}".rstrip())
        for remark in remarks_on(column):
            lines += wrapped(in_words(remark), "    ", "    ")
    return lines


def _some(examples: Iterable[str], room: int) -> str:
    """Write as many examples as fit, or at least a part of the first."""
    said = ""
    for example in examples:
        longer = f"{said}, {example}" if said else shortened(example, room)
        if len(longer) > room:
            break
        said = longer
    return said


def remarks_on(column: ColumnDescription) -> list[str]:
    """Explain why a column is left out, which cells are odd, and what to change.

    Parameters
    ----------
    column : ColumnDescription
        The column.

    Returns
    -------
    remarks : list of str
        Empty if nothing needs a remark.
    """
    said = []
    if column.kind == "identifier":
        said.append(
            f"left out: {column.reason}. To use it, pass categorical=[{column.name!r}]."
        )
    elif column.kind in _LEFT_OUT:
        said.append(f"left out: {column.reason}.")
    if column.missing:
        said.append(f"taken as missing: {listed(column.missing)}.")
    if column.note:
        said.append(column.note)
    elif column.n_odd:
        cells = plural(column.n_odd, "cell")
        said.append(f"{cells} not read, such as {listed(column.odd[:3])}.")
    return said
