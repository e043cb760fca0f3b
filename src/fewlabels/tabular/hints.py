"""Hints in tables: columns of guesses, and rules.

A *source* has a name and says, for every row of a table, a class or nothing:
:class:`HintColumn` and :class:`Rule` are the two kinds. A rule is a condition on
columns, an arrow and a class::

    contains(subject, "refund") -> complaint
    matches(`order no`, "^X[0-9]+") and amount > 100 -> fraud
    not missing(reply) or status = "closed" -> done

Rules are read by a parser of their own; nothing in them is ever run as code.
"""

# SPDX-License-Identifier: BSD-3-Clause

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from fewlabels.opinions import Opinions, read_opinions
from fewlabels.preprocessing import Table, TableError, describe_columns
from fewlabels.preprocessing.cells import missing_mask, object_array, text_of
from fewlabels.tabular._targets import TargetColumn, label_text

Mask = NDArray[np.bool_]
Condition = Callable[[Table], Mask]


class HintSource(Protocol):
    """A source of opinions about the rows of a table."""

    @property
    def name(self) -> str:
        """Name it is reported by."""

    def opinions(self, table: Table) -> NDArray[Any]:
        """Name a class for every row, or None."""


@dataclass(frozen=True)
class HintColumn:
    """A column of guesses, such as those of a language model.

    Parameters
    ----------
    name : str
        The column.
    """

    name: str

    def opinions(self, table: Table) -> NDArray[Any]:
        """Return the texts of the cells, None where they are missing.

        Parameters
        ----------
        table : Table
            The table.

        Returns
        -------
        opinions : ndarray of object of shape (n_rows,)
            Names of classes.
        """
        cells = table.columns[table.index(self.name, "hint")]
        return object_array([label_text(cell, na=False) for cell in cells.tolist()])


@dataclass(frozen=True)
class Rule:
    """A condition on columns that speaks for a class.

    Parameters
    ----------
    name : str
        The rule as written.
    """

    name: str

    def parsed(self) -> tuple[Condition, str]:
        """Read the rule.

        Returns
        -------
        condition : callable
            Tells for which rows of a table it holds.
        label : str
            The class it speaks for.
        """
        condition, arrow, label = self.name.rpartition("->")
        label = label.strip().strip("\"'")
        if not arrow or not label or not condition.strip():
            raise TableError(
                f"The rule {self.name!r} needs a condition, an arrow and a class, such "
                'as contains(text, "refund") -> complaint.'
            )
        return _Parser(condition, self.name).read(), label

    def opinions(self, table: Table) -> NDArray[Any]:
        """Name the class where the condition holds, None elsewhere.

        Parameters
        ----------
        table : Table
            The table.

        Returns
        -------
        opinions : ndarray of object of shape (n_rows,)
            The class, or None.
        """
        condition, label = self.parsed()
        return object_array([label if c else None for c in condition(table).tolist()])


def hint_sources(hints: Sequence[str]) -> list[HintSource]:
    """Tell columns from rules: a rule has an arrow.

    Parameters
    ----------
    hints : sequence of str
        Names of columns, and rules.

    Returns
    -------
    sources : list of HintSource
        One for each.

    Examples
    --------
    >>> from fewlabels.tabular import Table
    >>> from fewlabels.tabular.hints import hint_sources
    >>> table = Table.from_frame({"text": ["My refund?", "Hi"], "llm": ["angry", None]})
    >>> column, rule = hint_sources(["llm", 'contains(text, "refund") -> angry'])
    >>> column.opinions(table).tolist(), rule.opinions(table).tolist()
    (['angry', None], ['angry', None])
    """
    repeated = sorted({hint for hint in hints if list(hints).count(hint) > 1})
    if repeated:
        raise TableError(f"The hint {repeated[0]!r} is given twice.")
    return [Rule(hint) if "->" in hint else HintColumn(hint) for hint in hints]


def hint_columns(hints: Sequence[str]) -> list[str]:
    """List the columns that hold hints, which are never features.

    Parameters
    ----------
    hints : sequence of str
        Names of columns, and rules.

    Returns
    -------
    columns : list of str
        The names of columns.
    """
    return [s.name for s in hint_sources(hints) if isinstance(s, HintColumn)]


def read_hints(
    table: Table, hints: Sequence[str], target: TargetColumn
) -> Opinions | dict[str, NDArray[Any]]:
    """Read the opinions of all sources about the rows of a table.

    Parameters
    ----------
    table : Table
        The table.
    hints : sequence of str
        Names of columns, and rules.
    target : TargetColumn
        The labels; without any, what sources say becomes their classes.

    Returns
    -------
    opinions : Opinions
        About the classes of the labels.
    """
    said = {source.name: source.opinions(table) for source in hint_sources(hints)}
    if len(target.class_counts) > 1:
        return read_opinions(said, np.unique(list(target.class_counts)))
    opinions = read_opinions(said)
    for name in opinions.classes.tolist():
        target.values.setdefault(name, name)
    return opinions


def known_hints(table: Table, hints: Sequence[str]) -> dict[str, NDArray[Any]]:
    """Read the sources whose columns a table has; others have no opinion.

    Parameters
    ----------
    table : Table
        Another table than that of training.
    hints : sequence of str
        Names of columns, and rules.

    Returns
    -------
    opinions : dict of str to ndarray
        By source.
    """
    found = {}
    for source in hint_sources(hints):
        try:
            found[source.name] = source.opinions(table)
        except TableError:
            continue
    return found


_TOKEN = re.compile(
    r"\s*(?:(?P<text>\"[^\"]*\"|'[^']*')|(?P<quoted>`[^`]+`)"
    r"|(?P<number>-?\d+(?:\.\d+)?(?![\w.]))|(?P<word>[^\W\d][\w.]*)"
    r"|(?P<sign><=|>=|!=|==|=|<|>|\(|\)|,))"
)
_SIGNS: dict[str, Callable[[Any, Any], Any]] = {
    "<": np.less,
    ">": np.greater,
    "<=": np.less_equal,
    ">=": np.greater_equal,
}
_TESTS: dict[str, Callable[[str, str], Any]] = {
    "contains": lambda cell, text: text in cell,
    "startswith": lambda cell, text: cell.startswith(text),
    "endswith": lambda cell, text: cell.endswith(text),
    "equals": lambda cell, text: cell == text,
}


class _Parser:
    """Read a condition by recursive descent."""

    def __init__(self, text: str, rule: str) -> None:
        self.rule, self.tokens, at = rule, [], 0
        text = text.rstrip()
        while at < len(text):
            found = _TOKEN.match(text, at)
            if found is None:
                raise self.error(f"{text[at:].strip()[:20]!r} is not understood")
            self.tokens.append(
                (str(found.lastgroup), found.group(str(found.lastgroup)))
            )
            at = found.end()

    def error(self, what: str) -> TableError:
        """Say what is wrong with the rule."""
        return TableError(
            f"The rule {self.rule!r} cannot be read: {what}. Write, for example, "
            'contains(text, "refund") and amount > 100 -> complaint; names of columns '
            "with spaces go between backquotes."
        )

    def peek(self) -> tuple[str, str]:
        """Return the next token."""
        return self.tokens[0] if self.tokens else ("end", "its end")

    def take(self, *wanted: str) -> str:
        """Take the next token, which must be of a kind, or a sign."""
        kind, value = self.peek()
        if kind not in wanted and value not in wanted:
            raise self.error(f"{value!r} stands where {' or '.join(wanted)} is needed")
        self.tokens.pop(0)
        return value

    def read(self) -> Condition:
        """Read the whole condition."""
        condition = self.either()
        if self.tokens:
            raise self.error(f"{self.peek()[1]!r} comes after its end")
        return condition

    def either(self) -> Condition:
        """Read conditions joined by or."""
        parts = [self.both()]
        while self.peek() == ("word", "or"):
            self.take("or")
            parts.append(self.both())
        return lambda table: np.any([part(table) for part in parts], axis=0)

    def both(self) -> Condition:
        """Read conditions joined by and."""
        parts = [self.one()]
        while self.peek() == ("word", "and"):
            self.take("and")
            parts.append(self.one())
        return lambda table: np.all([part(table) for part in parts], axis=0)

    def one(self) -> Condition:
        """Read not, a condition in brackets, a test or a comparison."""
        if self.peek() == ("word", "not"):
            self.take("not")
            inner = self.one()
            return lambda table: ~inner(table)
        if self.peek()[1] == "(":
            self.take("(")
            inner = self.either()
            self.take(")")
            return inner
        word = self.take("word", "quoted")
        return self.test(word) if self.peek()[1] == "(" else self.comparison(word)

    def test(self, name: str) -> Condition:
        """Read a test such as contains(column, "text")."""
        if name not in (*_TESTS, "matches", "missing"):
            known = ", ".join((*_TESTS, "matches", "missing"))
            raise self.error(f"there is no {name!r}, only {known}")
        self.take("(")
        column = self.take("word", "quoted").strip("`")
        if name == "missing":
            self.take(")")
            return lambda table: missing_mask(_cells(table, column))
        self.take(",")
        text = self.take("text", "number")
        text = text[1:-1] if text[0] in "\"'" else text
        self.take(")")
        if name == "matches":
            try:
                pattern = re.compile(text, re.IGNORECASE)
            except re.error as error:
                raise self.error(
                    f"{text!r} is no regular expression ({error})"
                ) from None
            return lambda table: _each(table, column, lambda c: bool(pattern.search(c)))
        check, folded = _TESTS[name], text.casefold()
        return lambda table: _each(table, column, lambda c: check(c.casefold(), folded))

    def comparison(self, column: str) -> Condition:
        """Read a comparison such as amount > 100 or status = "closed"."""
        column = column.strip("`")
        sign = self.take(*_SIGNS, "=", "==", "!=")
        kind = self.peek()[0]
        value = self.take("number", "text", "word")
        if kind == "number":
            number, compare = float(value), _SIGNS.get(sign, np.equal)
            if sign != "!=":
                return lambda table: compare(column_numbers(table, column), number)
            return lambda table: (lambda x: (x != number) & ~np.isnan(x))(
                column_numbers(table, column)
            )
        if sign in _SIGNS:
            raise self.error(f"{value!r} is no number to compare with")
        text, unequal = value.strip("\"'").casefold(), sign == "!="
        return lambda table: _each(
            table, column, lambda c: (c.strip().casefold() == text) != unequal
        )


def _cells(table: Table, column: str) -> NDArray[Any]:
    return table.columns[table.index(column, "rule")]


def _each(table: Table, column: str, check: Callable[[str], bool]) -> Mask:
    """Test every cell as text; missing ones never pass."""
    cells = _cells(table, column)
    gone = missing_mask(cells)
    return np.array(
        [
            not g and check(text_of(c))
            for c, g in zip(cells.tolist(), gone.tolist(), strict=True)
        ],
        dtype=bool,
    )


def column_numbers(
    table: Table, column: str, role: str = "rule"
) -> NDArray[np.float64]:
    """Read a column as numbers in the notation of the table.

    Parameters
    ----------
    table : Table
        The table.
    column : str
        The column.
    role : str, default="rule"
        What it is for, in messages.

    Returns
    -------
    numbers : ndarray of shape (n_rows,)
        NaN where there is none.
    """
    cells = table.columns[table.index(column, role)]
    alone = replace(table, names=[column], columns=[cells], categorical=frozenset())
    (described,) = describe_columns(alone, numeric=[column])
    return np.asarray(described.read(cells), dtype=np.float64)
