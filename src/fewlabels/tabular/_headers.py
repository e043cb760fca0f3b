"""Find the column names: below titles, in two lines, or missing."""

# SPDX-License-Identifier: BSD-3-Clause

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from fewlabels._words import listed
from fewlabels.preprocessing import TableError
from fewlabels.preprocessing.cells import is_missing, number_notation

_YEARS = range(1900, 2101)


@dataclass(frozen=True)
class Header:
    """The line with the column names.

    Attributes
    ----------
    line : int
        Its number, counted from 1; that of the first row if there are no names, of the
        second line if there are two.
    has_names : bool
        Whether there is one.
    guessed : bool
        Whether it was searched for, not just the first line.
    joined : tuple of str
        The names if they span two lines; empty otherwise.
    """

    line: int = 1
    has_names: bool = True
    guessed: bool = False
    joined: tuple[str, ...] = ()


def find_header(
    lines: Sequence[Sequence[str]], header_row: int | None, *, spread: bool = True
) -> Header:
    """Find the line with the column names.

    Parameters
    ----------
    lines : sequence of sequence of str
        Cells of the first lines; nothing for empty ones.
    header_row : int or None
        The line number as given, 0 if there are no names.
    spread : bool, default=True
        Whether a name in the upper of two lines also covers the empty cells after it.

    Returns
    -------
    header : Header
        The first line, unless it is a title (a single cell above lines of several) or
        holds numbers above numbers.
    """
    first = next((k for k, line in enumerate(lines, 1) if any(line)), 1)
    if header_row is not None:
        if header_row > len(lines):
            raise TableError(f"There is no line {header_row} (header row).")
        return Header(header_row or first, header_row > 0)
    filled = [sum(bool(cell.strip()) for cell in line) for line in lines]
    width = max(filled[:50], default=0)
    place = first
    while place < len(lines) and (
        filled[place - 1] == 0
        or (filled[place - 1] == 1 and _is_title(lines[place - 1], width))
    ):
        place += 1
    if filled and filled[place - 1] <= 1 < width and place > first:
        place = first  # only single cells: no titles
    below = [line for line in lines[place:] if any(line)]
    if _holds_values(lines[place - 1] if lines else [], below):
        return Header(place, has_names=False, guessed=True)
    return _two_lines(lines, place, spread) or Header(place, guessed=place > first)


def _two_lines(
    lines: Sequence[Sequence[str]], place: int, spread: bool
) -> Header | None:
    """Join two header lines if the upper one names groups of columns."""
    second = next((k for k in range(place, len(lines)) if lines[k]), len(lines))
    if second >= len(lines) - 1:
        return None
    width = max(len(lines[place - 1]), len(lines[second]))
    upper, lower = (
        [cell.strip() for cell in line] + [""] * (width - len(line))
        for line in (lines[place - 1], lines[second])
    )
    groups, grouped = "", []
    for above, below in zip(upper, lower, strict=True):
        groups = above or (groups if below and spread else "")
        grouped.append(groups)
    repeated = [
        k for k in range(1, width) if grouped[k] and grouped[k] == grouped[k - 1]
    ]
    if not any(lower[k] and lower[k - 1] for k in repeated):
        return None  # no group of several columns
    names = [
        " ".join(dict.fromkeys(part for part in pair if part))
        for pair in zip(grouped, lower, strict=True)
    ]
    if not all(names) or len(set(names)) < width:
        return None
    said = False
    for k, cell in enumerate(lower):
        column = [line[k] for line in lines[second + 1 :] if k < len(line)]
        column = [value for value in column if not is_missing(value)]
        if not cell:
            continue
        if cell in column or not number_notation([cell])[1]:
            return None  # a row, then
        unread = number_notation(list(dict.fromkeys(column)))[1] if column else [cell]
        said = said or len(unread) < 0.2 * len(column)
    return Header(second + 1, guessed=True, joined=tuple(names)) if said else None


def _is_title(line: Sequence[str], width: int) -> bool:
    return width >= 3 or (width == 2 and len(line) == 1)


def _holds_values(names: Sequence[str], below: Sequence[Sequence[str]]) -> bool:
    """Whether a line has numbers above all numeric columns, so that it is no header."""
    numbers = []
    for place, name in enumerate(names):
        column = [line[place] for line in below if place < len(line)]
        column = [cell for cell in column if not is_missing(cell)]
        if not column or number_notation(list(dict.fromkeys(column)))[1]:
            continue  # text says nothing
        if is_missing(name) or number_notation([name])[1]:
            return False
        numbers.append(name.strip())
    if not numbers:
        return False
    whole = [int(n) for n in numbers if n.isdigit()]
    if len(whole) == len(numbers):
        steps = {b - a for a, b in pairwise(whole)}
        counted = steps == {1} or all(n in _YEARS for n in whole)
        return not (counted and len(set(whole)) == len(whole))
    return True


def header_notes(header: Header, names: Sequence[str]) -> list[str]:
    """Note where the names were found, unless in the first line."""
    if not header.guessed:
        return []
    if not header.has_names:
        return [
            "The first line holds values, not names, so the columns are called "
            f"{listed(names, 3)}; if it holds names, pass header_row={header.line}."
        ]
    if header.joined:
        return [
            f"The column names span two lines and were joined: "
            f"{listed(header.joined, 3)} (pass header_row={header.line} for the "
            "second line alone)."
        ]
    return [
        f"The column names were found in line {header.line}, below a title "
        "(pass header_row=LINE for another line)."
    ]
