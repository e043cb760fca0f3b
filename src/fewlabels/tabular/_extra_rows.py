"""Rows of a file that are not data: totals, units, footnotes, blank lines."""

# SPDX-License-Identifier: BSD-3-Clause

import re
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewlabels._words import plural
from fewlabels.preprocessing import Table
from fewlabels.preprocessing.cells import (
    is_missing,
    is_placeholder,
    missing_mask,
    number_notation,
    to_numbers,
)
from fewlabels.tabular._formats import FileFormat

# Words that mark rows of totals: followed by more text, or alone in a cell.
_LONG = (
    r"(grand |sub-?|zwischen|gesamt|sous-|total )?(totals?|totale?|totaal|total[ei]s|"
    r"summe|summen|somme)|(ins)?gesamt\w*|average|avg\.?|mittelwert|durchschnitt|"
    r"moyenne|promedio|gemiddelde|m\u00e9dia|razem|\u015brednia|"
    r"\u0438\u0442\u043e\u0433\u043e|\u0432\u0441\u0435\u0433\u043e"
)
_SHORT = (
    r"sum|mean|mittel|media|medio|median|mediana|min|max|minimum|maximum|count|anzahl|"
    r"std|stdev|suma|somma|soma|som|alle|all|\u00f8|\u03a3|\u2211|"
    r"\u5408\u8ba1|\u5408\u8a08|\u5e73\u5747|\u7dcf\u8a08"
)
_TOTAL = re.compile(rf"\W*(?:(?:{_LONG})(?:\b.{{0,30}})?|(?:{_SHORT})\W*)", re.I)
# Words that are no name of anything: such a row needs no right sum.
_SUBTOTAL = re.compile(
    r"\W*(zwischensumme|gesamtsumme|endsumme|sub-?totale?|sous-total|grand total|"
    r"total g(en|\u00e9n)?[e\u00e9]ral)\b.{0,30}",
    re.I,
)
_NOTE = re.compile(
    r"\s*(\*|\u2020|[\u00b9\u00b2\u00b3]|\(?\d\)|\u00a9|(notes?|n\.?b|sources?|quellen?|"
    r"anm\w*|hinweise?|stand|legende?|fuente|nota|fonte|bron|remarques?|exported|created|"
    r"generated|erstellt|printed|page|seite)\b)",
    re.I,
)
_UNIT = re.compile(
    r"[\[(].{1,20}[\])]|(in )?([kmc\u00b5\u03bcM]?(g|m|l|L|s|W|V|A|Hz|Pa|J|B)|t|h|d|"
    r"min|[kM]Wh|ha|bar|hPa|m[\u00b2\u00b32-3]|cm[\u00b2\u00b32-3]|km/h|m/s|mph|ft|in|lbs?|"
    r"oz|px|%|\u2030|\u00b0[CF]?|[\u20ac$\u00a3\u00a5]|EUR|USD|GBP|CHF|years?|days?|"
    r"hours?|Jahre|Tage|Stunden|St\u00fcck|Stk\.?|pcs|Mio\.?|[A-Z]{1,2}\$|"
    r"(T|k|Tsd\.? ?|Mio\.? ?|Mrd\.? ?)(\u20ac|EUR))(/\w+)?"
)
# Words above numbers are units, if they are no longer and one of them is known.
_LONGEST_UNIT = 12
# Cells of a column by which is decided whether it holds numbers.
_PROBE = 200
_COLUMNS_WITH_WORDS = 3


def real_rows(table: Table, *, is_first: bool = True, is_last: bool = True) -> Table:
    """Leave out rows that are not data, with a note.

    Parameters
    ----------
    table : Table
        The table.
    is_first, is_last : bool, default=True
        Whether the file begins and ends with these rows.

    Returns
    -------
    table : Table
        The same table, or its data rows; all rows are still written.
    """
    extra = _Search(table).found(is_first, is_last)
    if not extra or len(extra) == table.n_rows:
        return table
    kept = np.setdiff1d(np.arange(table.n_rows), list(extra))
    part = table.take(kept)
    return replace(
        part,
        columns=[_narrowed(column) for column in part.columns],
        origin=table.origin,
        notes=[*table.notes, extra_rows_note(extra)],
        whole=table,
    )


def _narrowed(column: NDArray[Any]) -> NDArray[Any]:
    """Restore a numeric column that a word in a left-out row had made objects."""
    kinds = {type(value) for value in column} if column.dtype.kind == "O" else set()
    if kinds == {int} and max(map(abs, column)) < 2**63:
        return column.astype(np.int64)
    return column.astype(float) if kinds == {float} else column


def doubtful_rows(table: Table) -> list[str]:
    """Note rows of a frame that do not look like data, for its owner to drop."""
    if table.origin is None or isinstance(table.origin, FileFormat):
        return []  # files were checked when they were read
    extra = _Search(table).found(True, True)
    if not extra:
        return []
    return [f"These rows do not look like data: {_listed(extra)}. Drop them."]


def extra_rows_note(extra: dict[int, str]) -> str:
    """List the rows that were left out, and why."""
    return (
        f"{plural(len(extra), 'row')} of the file left out, neither learned from nor "
        f"labelled: {_listed(extra)}. If they are data, pass keep_rows=True."
    )


def _listed(extra: dict[int, str]) -> str:
    said: dict[str, list[int]] = {}
    for row, why in sorted(extra.items()):
        said.setdefault(why, []).append(row + 1)
    parts = []
    for why, rows in said.items():
        shown = ", ".join(map(str, rows[:5])) + (", ..." if len(rows) > 5 else "")
        parts.append(f"{'row' if len(rows) == 1 else 'rows'} {shown} ({why})")
    return "; ".join(parts)


class _Search:
    """The cells of a table, and rules to find such rows."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self.n = table.n_rows
        self.columns = table.columns
        self._numbers: dict[int, NDArray[np.float64] | None] = {}

    def found(self, is_first: bool, is_last: bool) -> dict[int, str]:
        """Return the rows that are not data, with the reason."""
        extra = dict(getattr(self.table.origin, "headings", {}))
        extra |= dict.fromkeys(self._blank(), "empty")
        extra |= dict.fromkeys(self._names_again(), "the names again")
        if is_first and self._holds_units(0):
            extra[0] = "units"
        extra |= self._totals(extra)
        if is_last:
            extra |= self._tail(extra)
        return extra

    def _filled(self, row: int) -> list[int]:
        return [k for k, c in enumerate(self.columns) if not is_missing(c[row])]

    @cached_property
    def _usually_filled(self) -> int:
        """Return how many cells are filled in a typical row."""
        rows = range(0, self.n, max(1, self.n // _PROBE))
        return int(np.median([len(self._filled(row)) for row in rows]))

    def _blank(self) -> list[int]:
        if len(self.columns) < 2:
            return []
        rows = np.arange(self.n)
        for column in self.columns:
            rows = rows[missing_mask(column[rows])]
            if not rows.size:
                break
        return rows.tolist()

    def _names_again(self) -> list[int]:
        if len(self.columns) < 2 or self.columns[0].dtype.kind != "O":
            return []
        names = self.table.names
        return [
            row
            for row, value in enumerate(self.columns[0])
            if isinstance(value, str)
            and value.strip() == names[0]
            and [str(column[row]).strip() for column in self.columns] == names
        ]

    @cached_property
    def _regular(self) -> list[int]:
        """Return some typical rows."""
        rows = range(min(1, self.n - 1), self.n, max(1, self.n // _PROBE))
        half = self._usually_filled / 2
        return [
            row
            for row in rows
            if row not in self._words and len(self._filled(row)) > half
        ]

    def _is_number_column(self, place: int) -> bool:
        return self._notation(place) is not None

    def _notation(self, place: int) -> str | None:
        """Return the notation of a column of numbers; None for other columns."""
        column = self.columns[place]
        if column.dtype.kind in "iuf":
            return "plain"
        if column.dtype.kind != "O":
            return None
        cells = [column[row] for row in self._regular]
        cells = [v for v in cells if not is_missing(v) and not isinstance(v, bool)]
        numbers = [v for v in cells if isinstance(v, str | int | float)]
        if len(numbers) < max(2, len(cells)):
            return None
        values = [v for v in dict.fromkeys(numbers) if not is_placeholder(v)]
        notation, unread = number_notation(values)
        return notation if len(unread) <= 0.1 * len(values) else None

    def _as_numbers(self, place: int) -> NDArray[np.float64] | None:
        if place not in self._numbers:
            notation = self._notation(place)
            self._numbers[place] = (
                None if notation is None else to_numbers(self.columns[place], notation)
            )
        return self._numbers[place]

    def _has_digits(self, place: int) -> bool:
        """Whether nearly all cells of a column hold a digit, below the first."""
        below = [
            str(cell)
            for cell in self.columns[place][1:]
            if not (is_missing(cell) or is_placeholder(cell))
        ]
        digits = sum(any(map(str.isdigit, cell)) for cell in below)
        return digits > 0.9 * len(below)

    def _holds_units(self, row: int) -> bool:
        """Whether a row holds only units, above columns of numbers or durations."""
        n_units = 0
        for place in self._filled(row) if self.n > 2 else []:
            cell = self.columns[place][row]
            if not isinstance(cell, str):
                return False
            text = cell.strip()
            is_unit = bool(_UNIT.fullmatch(text))
            n_units += is_unit and self._has_digits(place)
            if self._is_number_column(place) and not any(map(str.isdigit, text)):
                is_unit |= len(text) <= _LONGEST_UNIT and not is_placeholder(text)
            if not is_unit and text not in ("-", "\u2013", "\u2014"):
                return False
        return n_units > 0

    @cached_property
    def _words(self) -> dict[int, str]:
        """Return rows with a word for totals in one of the first columns."""
        found: dict[int, str] = {}
        for column in self.columns[:_COLUMNS_WITH_WORDS]:
            if column.dtype.kind != "O" or len(self.columns) < 2:
                continue
            for row, value in enumerate(column):
                if (
                    isinstance(value, str)
                    and 0 < len(value) <= 50
                    and _TOTAL.fullmatch(value.strip())
                ):
                    found.setdefault(row, value.strip())
        return found

    def _totals(self, extra: dict[int, str]) -> dict[int, str]:
        """Return rows with such a word whose numbers summarise those above or below."""
        words = self._words
        if not words or len(words) > max(3, self.n // 3):
            return {}
        apart = set(words) | set(extra)
        ends = self._ends(apart)
        sums = {row for row in words if self._sums_up(row, words[row], apart, ends)}
        found = {}
        for row, word in words.items():
            alike = {other for other, text in words.items() if text == word}
            # A word that also stands in rows which sum up nothing is a name.
            sure = row in ends or bool(_SUBTOTAL.fullmatch(word))
            if alike <= sums or sure:
                if row in sums:
                    found[row] = f"{word!r} summarises other rows"
                elif sure and 2 * len(self._filled(row)) <= self._usually_filled:
                    found[row] = f"{word!r} and little else"
        return found

    def _ends(self, apart: set[int]) -> set[int]:
        """Return the last rows, if they are all totals, blank or footnotes."""
        row, ends = self.n - 1, set()
        while row >= 0 and (row in apart or self._is_lonely(row)):
            ends.add(row)
            row -= 1
        return ends

    def _sums_up(self, row: int, word: str, apart: set[int], ends: set[int]) -> bool:
        """Whether at least half of the numbers are sums or means of other rows."""
        others = np.array([k for k in range(self.n) if k not in apart], dtype=np.intp)
        before = [k for k in apart if k < row]
        start = max(before, default=-1)
        blocks = [others[others < row], others[(others < row) & (others > start)]]
        if row == 0:
            blocks = [others]
        n_sums = n_right = n_numbers = 0
        for place in range(len(self.columns)):
            numbers = self._as_numbers(place)
            if numbers is None or np.isnan(numbers[row]):
                continue
            shown = _n_decimals(self.columns[place][row])
            known = [numbers[block][~np.isnan(numbers[block])] for block in blocks]
            known = [v for v in known if v.size > 1 and v.min() < v.max()]
            n_numbers += 1
            n_sums += any(_is_sum(numbers[row], v, shown) for v in known)
            n_right += any(_is_statistic(numbers[row], v, shown, word) for v in known)
        if row in ends:
            return n_right > 0 and 2 * n_right >= n_numbers
        # In data rows, a number may be the mean of those above by chance.
        return 2 * n_sums >= n_numbers > 0 or n_right == n_numbers > 1

    def _is_lonely(self, row: int) -> bool:
        """Whether a row has a single filled cell while most have three or more."""
        return len(self._filled(row)) == 1 and self._usually_filled >= 3

    def _tail(self, extra: dict[int, str]) -> dict[int, str]:
        """Return footnotes, and unlabelled sums, at the end."""
        found: dict[int, str] = {}
        lonely: list[int] = []
        row = self.n - 1
        while row > 0 and (row in extra or self._is_lonely(row)):
            if row not in extra:
                lonely.append(row)
            elif lonely and extra[row] == "empty":  # a gap above them
                found |= dict.fromkeys(lonely, "a footnote")
                lonely = []
            row -= 1
        found |= {k: "a footnote" for k in lonely if self._is_footnote(k, row)}
        if row == self.n - 1 and self._holds_sums_only(row):
            found[row] = "sums of the rows above"
        return found

    def _is_footnote(self, row: int, last: int) -> bool:
        (place,) = self._filled(row)
        text = self.columns[place][row]
        if not isinstance(text, str) or not number_notation([text])[1]:
            return False
        if _NOTE.match(text) or self._is_number_column(place):
            return True
        above = self.columns[place][max(0, last - 500) : last + 1]
        longest = max(len(str(value)) for value in above)
        return len(text.split()) > 2 and len(text) > 1.5 * longest

    def _holds_sums_only(self, row: int) -> bool:
        filled = self._filled(row)
        if self.n < 4 or not 0 < len(filled) < self._usually_filled:
            return False
        for place in filled:
            numbers = self._as_numbers(place)
            if numbers is None:
                return False
            above = numbers[:row][~np.isnan(numbers[:row])]
            if above.size < 3 or np.isnan(numbers[row]) or (above < 0).any():
                return False
            shown = _n_decimals(self.columns[place][row])
            if not _is_sum(numbers[row], above, shown):
                return False
            if np.count_nonzero(above) < 2:
                return False
        return True


def _n_decimals(cell: Any) -> int:
    """Return the number of decimals."""
    found = re.search(r"[.,](\d+)\D*$", str(cell))
    return len(found[1]) if found else 0


def _is_close(number: float, expected: float, n_decimals: int) -> bool:
    step = 0.6 * 10.0**-n_decimals if n_decimals else 0.0
    return bool(abs(number - expected) <= max(1e-9 * abs(expected), step))


def _is_sum(number: float, values: NDArray[np.float64], n_decimals: int) -> bool:
    """Whether a number is the sum of others, which may have been rounded before."""
    step = 0.6 * 10.0**-n_decimals * np.sqrt(values.size) if n_decimals else 0.0
    total = float(values.sum())
    return _is_close(number, total, n_decimals) or bool(abs(number - total) <= step)


def _is_statistic(
    number: float, values: NDArray[np.float64], n_decimals: int, word: str
) -> bool:
    """Whether a number summarises others in the way that its word says."""
    begin = word.lower().strip()[:3]
    if begin in ("min", "max"):
        expected = [values.min(), values.max()]
    elif begin == "med":
        expected = [np.median(values), values.mean()]
    elif begin == "std":
        expected = [values.std(), values.std(ddof=1)]
    elif begin in ("cou", "anz"):
        expected = [float(values.size)]
    elif _is_sum(number, values, n_decimals):
        return True
    else:
        expected = [values.mean()]
    return any(_is_close(number, e, n_decimals) for e in expected)
