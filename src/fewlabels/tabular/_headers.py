"""Where the names of the columns stand: behind titles, or nowhere."""

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
    """The line of names.

    Attributes
    ----------
    line : int
        Its number, beginning with 1; that of the first row where there are no names.
    has_names : bool
        Whether there is one.
    guessed : bool
        Whether it was found here and is not simply the first line.
    """

    line: int = 1
    has_names: bool = True
    guessed: bool = False


def find_header(lines: Sequence[Sequence[str]], header_row: int | None) -> Header:
    """Find the line of names.

    Parameters
    ----------
    lines : sequence of sequence of str
        Cells of the first lines; nothing for empty ones.
    header_row : int or None
        What its owner says: the number of the line, 0 where there are no names.

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
        place = first  # nothing but single cells: no titles
    below = [line for line in lines[place:] if any(line)]
    if _holds_values(lines[place - 1] if lines else [], below):
        return Header(place, has_names=False, guessed=True)
    return Header(place, guessed=place > first)


def _is_title(line: Sequence[str], width: int) -> bool:
    return width >= 3 or (width == 2 and len(line) == 1)


def _holds_values(names: Sequence[str], below: Sequence[Sequence[str]]) -> bool:
    """Whether numbers stand above all columns of numbers, and these are no names."""
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
    """Say where the names were found, unless that is the first line."""
    if not header.guessed:
        return []
    if not header.has_names:
        return [
            "The first line holds values and no names, so the columns are called "
            f"{listed(names, 3)}; if it holds names, pass header_row={header.line}."
        ]
    return [
        f"Names of the columns were found in line {header.line}, below a title "
        "(pass header_row=LINE for another line)."
    ]
