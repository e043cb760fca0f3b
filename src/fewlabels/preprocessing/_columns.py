"""What the columns of a table hold: numbers, categories, dates, text, or nothing."""

# SPDX-License-Identifier: BSD-3-Clause

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewlabels._words import listed, plural
from fewlabels.preprocessing._errors import TableError, unknown_column
from fewlabels.preprocessing._table import Table
from fewlabels.preprocessing.cells import (
    date_notation,
    day_first_is_a_guess,
    is_placeholder,
    missing_mask,
    number_notation,
    object_array,
    to_numbers,
    to_seconds,
    to_texts,
    vector_length,
)

KINDS = ("number", "category", "date", "text", "vector")

# These rules were chosen on some of 35 tables; docs/tabular.md counts how often they
# are right there and on the others.
#
# Text has this many words in the mean, and repeats itself less than categories do.
TEXT_WORDS = 3.0
# Share of cells that may be no number in a column of numbers, and no date in one of
# dates; a single one may be odd in any column of at least five.
ODD_SHARE = 0.1
# Values that are nearly all different name the rows.
IDENTIFIER_SHARE = 0.9
# Whole numbers that never repeat, though this many pairs of equal ones were to be
# expected by chance, count something.
_EXPECTED_TWINS = 10.0
_IDENTIFIER = re.compile(
    r"(?i:(^|[\W_])(id|ids|uuid|guid|key|index|idx|rownum|row_?number|serial))$"
    r"|[a-z](ID|Id|UUID|Key|Index)$"
)
_LARGE = 1e9
# Scripts that put no space between words: a sign of theirs counts as half a word.
_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\u0e00-\u0e7f]")
_WORD = re.compile(r"[^\W\d_]{2,}")
_DIGITS = re.compile(r"\d+")
_HEXADECIMAL = re.compile(r"(?i)(?=.*\d)[0-9a-f]{4,}(-?[0-9a-f]{4,})+")


@dataclass(frozen=True)
class ColumnDescription:
    """What a column holds, and how it is used.

    Attributes
    ----------
    name : str
        Its name.
    kind : str
        "number", "category", "date", "text" or "vector" (a list of numbers);
        "identifier", "constant", "empty" or "ignored" for columns that are left out.
    n_missing : int
        Rows without a value.
    n_distinct : int
        Different values.
    reason : str
        Why it was taken so.
    notation : str
        How numbers and dates are written: "plain", "comma" or "thousands" and perhaps a
        unit, "iso" or a format of :func:`time.strptime`; the length of vectors.
    note : str
        What its owner should know, such as cells that were taken as missing.
    """

    name: str
    kind: str
    n_missing: int
    n_distinct: int
    reason: str
    notation: str = ""
    note: str = ""

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


# Kinds by the parameter that names columns of this kind.
_KINDS = {
    "numeric": "number",
    "date": "date",
    "categorical": "category",
    "text": "text",
    "ignore": "ignored",
}


def named_kinds(table: Table, **parameters: Any) -> dict[str, str]:
    """Find the columns whose kind is given.

    Parameters
    ----------
    table : Table
        The table.
    **parameters : dict
        Names by kind, as for :func:`describe_columns`; other parameters of
        :class:`TableTransformer` do not matter.

    Returns
    -------
    kinds : dict of str to str
        Kinds by name, with the format of dates: ``"date=%d.%m.%y"``.

    Raises
    ------
    UnknownColumnError
        If there is no such column.
    TableError
        If a column is given two kinds.

    Examples
    --------
    >>> from fewlabels.preprocessing import named_kinds
    >>> from fewlabels.tabular import Table
    >>> named_kinds(Table.from_frame({"born": ["1.2.99"]}), date=["born=%d.%m.%y"])
    {'born': 'date=%d.%m.%y'}
    """
    given: dict[str, str] = {}
    roles: dict[str, str] = {}
    for role, kind in _KINDS.items():
        for name in parameters.get(role, ()):
            form = ""
            if kind == "date" and name not in table.names and "=" in name:
                name, _, form = name.partition("=")
            if name not in table.names:
                raise unknown_column(name, table.names, role)
            if roles.setdefault(name, role) != role:
                raise TableError(
                    f"Column {name!r} can have only one kind (given as {roles[name]} "
                    f"and {role})."
                )
            given[name] = f"{kind}={form}" if form else kind
    return given


def describe_columns(
    X: Any,
    *,
    ignore: Sequence[str] = (),
    text: Sequence[str] = (),
    categorical: Sequence[str] = (),
    numeric: Sequence[str] = (),
    date: Sequence[str] = (),
) -> list[ColumnDescription]:
    """Find out what the columns of a table hold.

    Columns of text are numbers or dates where nine in ten values read as such; the odd
    ones are taken as missing, with a note. Signs that people write where there is no
    number ("?", "-", "n.d.") do not count. Lists of numbers of one length are vectors.
    Among the others,
    those with three words or more on average that hardly repeat are
    free text, and so are shorter ones that are nearly all different but share words;
    other values that are nearly all different name the rows, and the rest are
    categories. Whole numbers name the rows where they count them, where they never
    repeat though chance would repeat them, or where they are nearly all different in a
    column that is called an id.

    Parameters
    ----------
    X : Table, DataFrame of pandas or polars, dict or array-like
        The table.
    ignore, text, categorical, numeric : sequence of str, default=()
        Columns whose kind is known; everything else is guessed.
    date : sequence of str, default=()
        Columns of dates, each perhaps with a format of :func:`time.strptime` behind an
        equals sign, such as ``"born=%d.%m.%y"``.

    Returns
    -------
    columns : list of ColumnDescription
        One per column, in their order.

    Examples
    --------
    >>> from fewlabels.preprocessing import describe_columns
    >>> for column in describe_columns(
    ...     {"no": [1, 2, 3], "size": [1.5, 2.5, None], "colour": ["r", "g", "r"]}
    ... ):
    ...     print(column.name, column.kind)
    no identifier
    size number
    colour category
    """
    table = Table.from_frame(X)
    kinds = named_kinds(
        table,
        ignore=ignore,
        text=text,
        categorical=categorical,
        numeric=numeric,
        date=date,
    )
    given = dict.fromkeys(table.categorical, "category") | kinds
    return [
        _describe(name, values, given.get(name))
        for name, values in zip(table.names, table.columns, strict=True)
    ]


class _Column:
    """A column whose kind is being found out: one method per question."""

    def __init__(self, name: str, values: NDArray[Any]) -> None:
        self.name = name
        missing = missing_mask(values)
        self.present = values[~missing]
        self.n_missing = int(missing.sum())
        self.length = vector_length(self.present)
        if any(isinstance(v, list | tuple | dict | np.ndarray) for v in self.present):
            self.present = to_texts(self.present)  # they cannot be counted
        self.distinct = _distinct(self.present)

    def found(
        self, kind: str, reason: str, notation: str = "", note: str = ""
    ) -> ColumnDescription:
        """Describe it."""
        sizes = (self.n_missing, len(self.distinct))
        return ColumnDescription(self.name, kind, *sizes, reason, notation, note)

    def odd_cells(self, unread: Sequence[Any]) -> int:
        """Count cells that cannot be read though they say something."""
        odd = {v for v in unread if not is_placeholder(v)}
        return sum(v in odd for v in self.present) if odd else 0

    def few(self, unread: Sequence[Any], n_odd: int) -> bool:
        """Whether odd cells are so few that the others say what the column holds."""
        marks = {v for v in unread if is_placeholder(v)}
        n_marks = sum(v in marks for v in self.present) if marks else 0
        n_read = self.present.size - n_marks - n_odd
        n_different = len(self.distinct) - len(unread)
        if n_different < 2 or n_read < 2:
            return False
        return n_odd == 0 or (
            n_odd <= max(ODD_SHARE * (n_read + n_odd), n_read >= 5) and n_different >= 3
        )

    def taken_as_missing(self, unread: Sequence[Any], what: str) -> str:
        """Say which cells were not read."""
        if not unread:
            return ""
        cells = set(unread)
        n_cells = sum(v in cells for v in self.present)
        shown = listed(sorted(cells, key=str)[:3])
        more = ", ..." if len(cells) > 3 else ""
        return (
            f"Column {self.name!r} holds {what}: {plural(n_cells, 'cell')} with "
            f"something else ({shown}{more}) taken as missing."
        )

    def as_number(self) -> ColumnDescription | None:
        """Numbers, or whole numbers that name the rows."""
        notation, unread = number_notation(self.distinct)
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
        why = _counts_rows(self.name, numbers)
        if why:
            return self.found("identifier", why)
        reason = "all values are numbers" if not unread else "nearly all are numbers"
        note = self.taken_as_missing(unread, "numbers")
        if n_infinite:
            note = f"{note} Column {self.name!r}: {plural(n_infinite, 'number')} too "
            note = note.strip() + " large to compute with taken as missing."
        return self.found("number", reason, notation, note)

    def as_given_number(self) -> ColumnDescription:
        """Numbers because somebody says so."""
        notation, unread = number_notation(self.distinct)
        n_odd = self.odd_cells(unread)
        if len(unread) == len(self.distinct) or n_odd > self.present.size / 2:
            raise TableError(
                f"Column {self.name!r} cannot be read as numbers (given as numeric): "
                f"{plural(n_odd, 'cell')} of {self.present.size:,} hold something "
                f"else, such as {listed(unread[:3])}."
            )
        note = self.taken_as_missing(unread, "numbers")
        return self.found("number", "as asked for", notation, note)

    def as_date(self) -> ColumnDescription | None:
        """Dates, also 20240131 where every number is one."""
        readable = [v for v in self.distinct if not is_placeholder(v)]
        if len(readable) < 2:
            return None
        form, unread = date_notation(readable, 1 - ODD_SHARE)
        marks = [v for v in self.distinct if is_placeholder(v)]
        n_odd = self.odd_cells(unread)
        if not form or (unread and not self.few([*unread, *marks], n_odd)):
            return None
        note = self.taken_as_missing([*unread, *marks], "dates")
        if day_first_is_a_guess(readable, form):
            note += (
                f" Dates in {self.name!r} such as {readable[0]!r} are read with the "
                f"day first; if the month comes first, pass "
                f"date={[f'{self.name}=%m{form[2]}%d{form[5:]}']!r}."
            )
        return self.found("date", "all values are dates", form, note.strip())

    def as_given_date(self, form: str) -> ColumnDescription:
        """Dates because somebody says so."""
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
        if not form:
            raise TableError(
                f"Column {self.name!r} cannot be read as dates, such as "
                f"{listed(self.distinct[:3])}: if they are, pass "
                f"date={[f'{self.name}=%d.%m.%Y']!r} with their format."
            )
        note = self.taken_as_missing(unread, "dates")
        return self.found("date", "as asked for", form, note)

    def as_words(self) -> ColumnDescription:
        """Text, names of the rows, or categories."""
        texts = [str(value) for value in self.distinct]
        n, share = len(texts), len(texts) / self.present.size
        sample = texts[:10_000]
        words = float(np.mean([len(v.split()) for v in sample]))
        signs = float(np.mean([len(_UNSPACED.findall(v)) for v in sample]))
        if words + signs / 2 >= TEXT_WORDS and (share > 0.5 or n > 1000):
            return self.found("text", f"{max(words, signs / 2):.0f} words in the mean")
        named = share == 1 and bool(_IDENTIFIER.search(self.name.strip()))
        if n > 20 and share > IDENTIFIER_SHARE:
            if not named and not _are_codes(sample) and _share_words(sample):
                return self.found("text", "different texts that share words")
            named = True
        if named and n > 2:
            reason = f"{plural(n, 'different value')} name the rows"
            return self.found("identifier", reason)
        return self.found("category", plural(n, "different value"))


def _describe(name: str, values: NDArray[Any], given: str | None) -> ColumnDescription:
    column = _Column(name, values)
    n = len(column.distinct)
    if given == "ignored":
        return column.found(given, "as asked for")
    if n == 0:
        return column.found("empty", "no row has a value")
    if n == 1 and not column.n_missing:
        return column.found("constant", "all rows have the same value")
    kind, _, form = (given or "").partition("=")
    if kind in ("category", "text"):
        return column.found(kind, "as asked for")
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
    return column.as_number() or column.as_date() or column.as_words()


def _distinct(present: NDArray[Any]) -> list[Any]:
    """Different values, in the order in which they come."""
    if present.dtype.kind != "O":
        return list(np.unique(present))
    return list(dict.fromkeys(present))


def _counts_rows(name: str, numbers: NDArray[Any]) -> str:
    """Why whole numbers are no quantity, or nothing."""
    n = numbers.size
    if n < 3 or not np.all(np.isfinite(numbers) & (numbers == np.floor(numbers))):
        return ""
    n_distinct = np.unique(numbers).size
    span = float(np.ptp(numbers))
    if n_distinct == n:
        if np.all(np.diff(numbers) == 1):
            return "it counts the rows"
        if n > 20 and n * (n - 1) / 2 > _EXPECTED_TWINS * span:
            return "it numbers the rows"
        if _IDENTIFIER.search(name.strip()):
            return "all values are different, and so it is called"
    elif n_distinct > IDENTIFIER_SHARE * n and _IDENTIFIER.search(name.strip()):
        return "nearly all values are different, and so it is called"
    if (
        n_distinct > 0.5 * n
        and np.median(np.abs(numbers)) >= _LARGE
        and name.strip().lower().endswith("id")
    ):
        return "large numbers that hardly repeat, and so it is called"
    return ""


def _are_calendar_days(numbers: NDArray[Any]) -> bool:
    """Whether numbers may be days written as 20240131."""
    return bool(np.all((numbers >= 19000101) & (numbers < 21000000)))


def _are_codes(texts: Sequence[str]) -> bool:
    """Whether texts are numbers in disguise: A-0001, 3f2a-77b1, user12@example.org."""
    if all(_HEXADECIMAL.fullmatch(text.strip()) for text in texts[:100]):
        return True
    numbered = [text for text in texts if _DIGITS.search(text)]
    forms = {_DIGITS.sub("0", text) for text in numbered}
    return len(numbered) > 0.5 * len(texts) and len(forms) <= 0.2 * len(numbered)


def _share_words(texts: Sequence[str]) -> bool:
    """Whether most texts of several words have a word that occurs in another text."""
    words = [set(map(str.lower, _WORD.findall(text))) for text in texts]
    if np.mean([len(found) for found in words]) < 1.5:
        return False
    seen = Counter(word for found in words for word in found)
    return bool(np.mean([any(seen[w] > 1 for w in f) for f in words]) > 0.5)
