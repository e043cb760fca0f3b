"""Detect what a column holds from all of its cells."""

# SPDX-License-Identifier: BSD-3-Clause

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewlabels._words import listed, plural
from fewlabels.preprocessing._dates import (
    date_notation,
    day_first_is_a_guess,
    to_seconds,
    with_window,
)
from fewlabels.preprocessing._description import ColumnDescription, examples_of
from fewlabels.preprocessing._errors import TableError
from fewlabels.preprocessing._identifiers import (
    CALLED_IDENTIFIER,
    IDENTIFIER_SHARE,
    are_codes,
    are_padded,
    are_tokens,
    counts_rows,
    names_accounts,
    share_words,
)
from fewlabels.preprocessing._missing import date_sentinels, sentinels
from fewlabels.preprocessing._numbers import Numbers, find_numbers, to_numbers, unit_of
from fewlabels.preprocessing._parts import (
    holds_fields,
    read_tags,
    tag_notation,
    tuple_notation,
    vector_length,
)
from fewlabels.preprocessing._times import (
    DURATION,
    TIME,
    find_times,
    reads_duration,
)
from fewlabels.preprocessing._values import (
    folded,
    is_placeholder,
    missing_mask,
    object_array,
    text_of,
    to_texts,
)

# These rules were chosen on some of 35 tables; docs/tabular.md reports their accuracy
# on those and on the others.
#
# Text has this many words on average, and repeats less than categories do.
TEXT_WORDS = 3.0
# Share of cells that may be odd, in a column of numbers and in one of dates; in any
# column of at least five cells, one may be.
ODD_SHARE = 0.1
# Scripts without spaces between words: each of their characters counts as half a word.
_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\u0e00-\u0e7f]")
# More different values than this are hardly categories, if they are numbers or dates.
_MANY = 10
# Values by which it is decided whether a column may hold times.
_PROBE = 50


class _Column:
    """A column whose kind is being detected, with one method per question."""

    def __init__(
        self, name: str, values: NDArray[Any], decimal: str, likely: str, sure: bool
    ) -> None:
        self.name = name
        self.signs = (decimal, likely, sure)
        missing = missing_mask(values)
        self.present = values[~missing]
        self.n_missing = int(missing.sum())
        self.length = vector_length(self.present)
        self.cells = self.present
        if any(isinstance(v, list | tuple | dict | np.ndarray) for v in self.present):
            self.present = to_texts(self.present)  # they cannot be counted
        self.distinct = _distinct(self.present)

    def found(
        self,
        kind: str,
        reason: str,
        notation: str = "",
        notes: Sequence[str] = (),
        odd: Sequence[Any] = (),
        **more: Any,
    ) -> ColumnDescription:
        """Describe the column; notes on other readings come without its name."""
        cells = set(odd)
        gone = {*odd, *more.get("missing", ())}
        shown = [v for v in self.distinct[:50] if v not in cells]
        shown = [v for v in shown if text_of(v) not in gone][:3]
        if kind in ("tags", "fields", "vector"):
            shown = list(self.cells[:3])
        about = [self.taken_as_missing(odd, kind)] if odd else []
        about += [f"Column {self.name!r}: {note}." for note in notes]
        column = ColumnDescription(
            self.name,
            kind,
            self.n_missing,
            **{"n_distinct": len(self.distinct)} | more,
            reason=reason,
            notation=notation,
            note=" ".join(about),
            n_odd=sum(v in cells for v in self.present) if cells else 0,
            odd=tuple(str(v) for v in sorted(cells, key=str)[:3]),
            examples=examples_of(shown, kind, notation),
        )
        if not gone:
            return column
        n_unread = int(np.isnan(column.read(self.present)).sum())
        return replace(column, n_missing=self.n_missing + n_unread)

    def odd_cells(self, unread: Sequence[Any]) -> int:
        """Count cells that are not missing but cannot be read."""
        odd = {v for v in unread if not is_placeholder(v)}
        return sum(v in odd for v in self.present) if odd else 0

    def few(self, unread: Sequence[Any], n_odd: int) -> bool:
        """Whether odd cells are few enough for the others to decide."""
        marks = {v for v in unread if is_placeholder(v)}
        n_marks = sum(v in marks for v in self.present) if marks else 0
        n_read = self.present.size - n_marks - n_odd
        n_different = len(self.distinct) - len(unread)
        if n_different < 2 or n_read < 2:
            return False
        return n_odd == 0 or (
            n_odd <= max(ODD_SHARE * (n_read + n_odd), n_read >= 5) and n_different >= 3
        )

    def taken_as_missing(self, unread: Sequence[Any], kind: str) -> str:
        """Note which cells were not read."""
        cells = set(unread)
        n_cells = sum(v in cells for v in self.present)
        shown = listed(sorted(cells, key=str)[:3])
        more = ", ..." if len(cells) > 3 else ""
        return (
            f"Column {self.name!r} holds {kind}s: {plural(n_cells, 'cell')} with "
            f"something else ({shown}{more}) taken as missing."
        )

    def probe(self) -> list[Any]:
        """Take some distinct values, without placeholders for missing ones."""
        step = max(1, len(self.distinct) // (2 * _PROBE))
        some = self.distinct[::step][: 2 * _PROBE]
        return [v for v in some if not is_placeholder(v)][:_PROBE]

    def as_time(self) -> ColumnDescription | None:
        """Try times of day, or durations, which are numbers."""
        notation, notes = find_times(self.probe(), self.name)
        if not notation:
            return None
        if notation == TIME:
            seconds = to_seconds(object_array(self.distinct), TIME)
            unread = [v for v, s in zip(self.distinct, seconds, strict=True) if s != s]
        else:
            unread = [v for v in self.distinct if not reads_duration(v, notation)]
        if unread and not self.few(unread, self.odd_cells(unread)):
            return None
        if notation == TIME:
            reason = "all values are times of the day"
            return self.found("time", reason, TIME, notes, unread)
        reason = "all values are durations"
        return self.found("number", reason, notation, notes, unread, unit="s")

    def numbers(self) -> Numbers:
        """Return the notation of its numbers."""
        return find_numbers(self.distinct, *self.signs, name=self.name)

    def as_number(self) -> ColumnDescription | None:
        """Numbers, or whole numbers that name the rows."""
        if are_padded(self.distinct):
            return None
        found = self.numbers()
        notation, unread = found.notation, found.unread
        n_odd = self.odd_cells(unread)
        if not self.few(unread, n_odd) and unread:
            return None
        numbers = to_numbers(self.present, notation)
        lost = np.isnan(numbers)
        numbers = numbers[~lost]
        n_infinite = 0
        if lost.any():
            unreadable = set(unread)
            n_infinite = sum(v not in unreadable for v in self.present[lost].tolist())
        if _are_calendar_days(numbers) and (days := self.as_date()):
            return days
        why = counts_rows(self.name, numbers)
        if why:
            return self.found("identifier", why)
        reason = "all values are numbers" if not unread else "nearly all are numbers"
        notes = list(found.notes)
        if n_infinite:
            notes.append(
                f"{plural(n_infinite, 'number')} too large to compute with taken as "
                "missing"
            )
        gone = sentinels(numbers)
        if gone:
            notes.append(self.no_values(gone, f"pass numeric={[self.name]!r}"))
        unit = unit_of(notation)
        return self.found(
            "number", reason, notation, notes, unread, unit=unit, missing=gone
        )

    def no_values(self, gone: Sequence[str], remedy: str) -> str:
        """Note which values are taken as missing."""
        return f"{listed(gone)} taken as missing; if it is a value, {remedy}"

    def as_given_number(self) -> ColumnDescription:
        """Read numbers, as asked for; possible times are durations."""
        found = self.numbers()
        if found.unread and find_times(self.probe(), self.name)[0]:
            notation = f"{DURATION} m:s"
            unread = [v for v in self.distinct if not reads_duration(v, notation)]
            if len(unread) < len(found.unread):
                found = Numbers(notation, unread)
        unread = found.unread
        n_odd = self.odd_cells(unread)
        if len(unread) == len(self.distinct) or n_odd > self.present.size / 2:
            raise TableError(
                f"Column {self.name!r} cannot be read as numbers (given as numeric): "
                f"{plural(n_odd, 'cell')} of {self.present.size:,} hold something "
                f"else, such as {listed(unread[:3])}."
            )
        unit = unit_of(found.notation)
        return self.found(
            "number", "as asked for", found.notation, found.notes, unread, unit=unit
        )

    def as_date(self) -> ColumnDescription | None:
        """Try dates, including 20240131 if every number is one."""
        readable = [v for v in self.distinct if not is_placeholder(v)]
        if len(readable) < 2:
            return None
        form, unread = date_notation(readable, 1 - ODD_SHARE)
        marks = [v for v in self.distinct if is_placeholder(v)]
        n_odd = self.odd_cells(unread)
        if not form or (unread and not self.few([*unread, *marks], n_odd)):
            return None
        notes = []
        if day_first_is_a_guess(readable, form):
            notes.append(
                f"dates such as {readable[0]!r} are read with the day first; if the "
                "month comes first, pass "
                f"date={[f'{self.name}=%m{form[2]}%d{form[5:]}']!r}"
            )
        unread = [*unread, *marks]
        return self.dates("all values are dates", form, notes, unread)

    def dates(
        self, reason: str, form: str, notes: list[str], unread: Sequence[Any]
    ) -> ColumnDescription:
        """Describe dates of known formats: choose centuries, and find placeholders."""
        odd = set(unread)
        readable = [v for v in self.distinct if v not in odd]
        form, window = with_window(readable, form, self.name)
        if window:
            notes.append(window)
        if " | " in form:
            notes.append(f"dates are written in several ways ({form})")
        gone: tuple[str, ...] = ()
        if reason != "as asked for":
            seconds = to_seconds(self.present, form)
            gone = date_sentinels(seconds[~np.isnan(seconds)])
        if gone:
            formats = form.partition(" ")[0]
            notes.append(
                self.no_values(gone, f"pass date={[f'{self.name}={formats}']!r}")
            )
        return self.found("date", reason, form, notes, unread, missing=gone)

    def as_given_date(self, form: str) -> ColumnDescription:
        """Read dates, as asked for."""
        if form:
            seconds = to_seconds(object_array(self.distinct), form)
            lost = np.flatnonzero(np.isnan(seconds))
            unread = [self.distinct[k] for k in lost]
            n_odd = self.odd_cells(unread)
            if len(unread) == len(self.distinct) or n_odd > self.present.size / 2:
                raise TableError(
                    f"Column {self.name!r} cannot be read as dates of the format "
                    f"{form!r} (given as date): {plural(n_odd, 'cell')} of "
                    f"{self.present.size:,} hold something else, such as "
                    f"{listed(unread[:3])}."
                )
        else:
            form, unread = date_notation(self.distinct, 0.5)
        if not form and find_times(self.probe(), self.name)[0]:
            seconds = to_seconds(object_array(self.distinct), TIME)
            unread = [v for v, s in zip(self.distinct, seconds, strict=True) if s != s]
            if self.odd_cells(unread) <= self.present.size / 2:
                return self.found("time", "as asked for", TIME, (), unread)
        if not form:
            raise TableError(
                f"Column {self.name!r} cannot be read as dates, such as "
                f"{listed(self.distinct[:3])}: if they are, pass "
                f"date={[f'{self.name}=%d.%m.%Y']!r} with their format."
            )
        return self.dates("as asked for", form, [], unread)

    def as_parts(self) -> ColumnDescription | None:
        """Try several values in a cell: numbers, tags or named fields."""
        if notation := tuple_notation(self.distinct):
            length = int(notation.split()[0])
            reason = f"{length} numbers in every cell"
            return self.found("vector", reason, notation)
        cells = list(self.cells)
        if holds_fields(cells):
            return self.found("fields", "objects with named fields", "json")
        if notation := tag_notation(cells):
            tags = {t for v in self.cells for t in read_tags(v, notation) or ()}
            reason = f"cells hold several of {plural(len(tags), 'tag')}"
            return self.found("tags", reason, notation, n_distinct=len(tags))
        return None

    def as_words(self) -> ColumnDescription:
        """Decide between text, identifiers and categories."""
        texts = [str(value) for value in self.distinct]
        n, share = len(texts), len(texts) / self.present.size
        sample = texts[:10_000]
        words = float(np.mean([len(v.split()) for v in sample]))
        signs = float(np.mean([len(_UNSPACED.findall(v)) for v in sample]))
        if words + signs / 2 >= TEXT_WORDS and (share > 0.5 or n > 1000):
            return self.found("text", f"{max(words, signs / 2):.0f} words in the mean")
        called = bool(CALLED_IDENTIFIER.search(self.name.strip()))
        named = share == 1 and (called or are_tokens(sample))
        if n > 20 and share > IDENTIFIER_SHARE:
            if not named and not are_codes(sample) and share_words(sample):
                return self.found("text", "different texts that share words")
            named = True
        if named and n > 2:
            reason = f"{plural(n, 'different value')} name the rows"
            if share < 1:
                reason = f"{n:,} of {self.present.size:,} values are different"
            return self.found("identifier", reason)
        return self.as_category(plural(n, "different value"))

    def as_category(self, reason: str) -> ColumnDescription:
        """Describe categories; spellings that differ only in case are one."""
        spellings: dict[str, list[str]] = {}
        for value in self.distinct:
            text = str(value).strip()
            spellings.setdefault(folded(text), []).append(text)
        several = [s for s in spellings.values() if len(set(s)) > 1]
        notes = []
        if several:
            more = plural(len(several) - 1, "other group")
            are = "is" if len(several) == 2 else "are"
            rest = f", and so {are} {more} of spellings" if len(several) > 1 else ""
            notes = [f"{listed(dict.fromkeys(several[0]), 4)} are one category{rest}"]
        if several and reason != "as asked for":
            reason = plural(len(spellings), "different value")
        if reason != "as asked for":
            notes += self.not_understood(len(spellings))
        return self.found("category", reason, "", notes, n_distinct=len(spellings))

    def not_understood(self, n_categories: int) -> list[str]:
        """Say so where most cells are numbers or dates of some kind, but not all."""
        n = self.present.size
        if n_categories <= _MANY or are_padded(self.distinct):
            return []
        readable = [v for v in self.distinct if not is_placeholder(v)]
        readings = {
            "numbers": (self.numbers().unread, f"numeric={[self.name]!r}"),
            "dates": (date_notation(readable, 0.5)[1], f"date={[self.name]!r}"),
        }
        for what, (unread, remedy) in readings.items():
            n_odd = self.odd_cells(unread)
            if 2 * n_odd <= n and len(self.distinct) - len(unread) > _MANY:
                odd = [v for v in unread if not is_placeholder(v)]
                return [
                    f"{n - n_odd:,} of {n:,} cells are {what}, but {listed(odd[:2])} "
                    f"and the like are not, so that it is taken as categories; to take "
                    f"those as missing, pass {remedy}"
                ]
        digits = sum(str(v).strip()[:1].isdigit() for v in self.distinct)
        if 2 * n_categories > n and digits > 0.8 * len(self.distinct):
            return [
                f"{listed(self.distinct[:2])} and the like were not understood as "
                f"numbers or dates, and are taken as {n_categories:,} categories"
            ]
        return []


def describe(
    name: str,
    values: NDArray[Any],
    given: str | None,
    decimal: str = "",
    likely: str = "",
    sure: bool = False,
) -> ColumnDescription:
    """Describe a column.

    Parameters
    ----------
    name : str
        Its name.
    values : ndarray of shape (n_rows,)
        Its cells.
    given : str or None
        Its kind, if known.
    decimal : {"", ",", "."}, default=""
        The decimal sign, if known.
    likely : {"", ",", "."}, default=""
        The decimal sign in the rest of the file.
    sure : bool, default=False
        Whether the rest of the file proves it.

    Returns
    -------
    column : ColumnDescription
        What it holds.
    """
    column = _Column(name, values, decimal, likely, sure)
    n = len(column.distinct)
    if given == "ignored":
        return column.found(given, "as asked for")
    if given == "identifier":
        return column.found(given, "it names the rows")
    if n == 0:
        return column.found("empty", "no row has a value")
    if given == "picture":
        return column.found(given, "its cells are pictures")
    if n == 1 and not column.n_missing:
        return column.found("constant", "all rows have the same value")
    kind, _, form = (given or "").partition("=")
    if kind == "text":
        return column.found(kind, "as asked for")
    if kind == "category":
        return column.as_category("as asked for")
    if kind == "number":
        return column.as_given_number()
    if kind == "date":
        return column.as_given_date(form)
    if length := column.length:
        return column.found("vector", f"lists of {length} numbers", str(length))
    if all(isinstance(v, bool | np.bool_) for v in column.distinct):
        return column.found("category", "true or false")
    if n == 1:
        return column.found("category", "a value or none")
    if why := names_accounts(name, column.distinct, column.present.size):
        return column.found("identifier", why)
    return (
        column.as_time()
        or column.as_number()
        or column.as_date()
        or column.as_parts()
        or column.as_words()
    )


def _distinct(present: NDArray[Any]) -> list[Any]:
    """Return the distinct values in order of appearance."""
    if present.dtype.kind != "O":
        return list(np.unique(present))
    return list(dict.fromkeys(present))


def _are_calendar_days(numbers: NDArray[Any]) -> bool:
    """Whether numbers may be days written as 20240131."""
    return bool(np.all((numbers >= 19000101) & (numbers < 21000000)))
