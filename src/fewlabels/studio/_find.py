"""Find rows by text, columns, class, confidence and state; and rows like another."""

# SPDX-License-Identifier: BSD-3-Clause

import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewlabels.studio._rows import cell_text

WHERE = (
    *("all", "open", "labelled", "skipped", "flagged", "notes", "doubtful"),
    *("disputed", "accepted"),
)
ORDERS = ("row", "unsure", "sure", "latest")
PAGE = 40
_WORD = re.compile(
    r'(-?)(?:("[^"]+"|[^\s:=<>"]+)(<=|>=|[:=<>])("[^"]*"|\S+)|"([^"]*)"|(\S+))'
)
_COMPARED: dict[str, Callable[[Any, Any], Any]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


@dataclass(frozen=True)
class Query:
    """Which rows are wanted.

    Attributes
    ----------
    text : str
        Words and "phrases" that a row must contain, or must not (-word); and conditions
        on columns: name:part, name=value, name>3.
    where : str
        One of `WHERE`.
    label, guess : str or None
        The label, and the predicted class.
    low, high : float
        Bounds of the confidence.
    order : str
        One of `ORDERS`.
    like : int or None
        A row whose neighbours come first.
    """

    text: str = ""
    where: str = "all"
    label: str | None = None
    guess: str | None = None
    low: float = 0.0
    high: float = 1.0
    order: str = "row"
    like: int | None = None


@dataclass(frozen=True)
class Known:
    """What is known of all rows at some moment.

    Attributes
    ----------
    labels : mapping of int to str
        Labels.
    sets : mapping of str to set of int
        Rows of each `WHERE`.
    guesses : object or None
        Predictions, see :class:`~fewlabels.studio._engine.Guesses`.
    latest : sequence of int
        Rows, the latest action first.
    near : ndarray or None
        Rows as points.
    """

    labels: Mapping[int, str]
    sets: Mapping[str, set[int]]
    guesses: Any
    latest: Sequence[int]
    near: NDArray[Any] | None


class Finder:
    """Search in the rows of a table.

    Parameters
    ----------
    names : sequence of str
        Names of the columns.
    columns : sequence of ndarray
        Their cells.
    """

    def __init__(self, names: Sequence[str], columns: Sequence[NDArray[Any]]) -> None:
        self._columns = dict(zip(names, columns, strict=True))
        self._folded = {name.casefold(): name for name in reversed(names)}
        self._texts: dict[str, list[str]] = {}
        self._numbers: dict[str, NDArray[np.float64]] = {}
        self._all: list[str] | None = None
        self.n_rows = len(columns[0]) if columns else 0

    def find(self, query: Query, known: Known) -> NDArray[np.intp]:
        """Find the rows of a query, in its order; nothing here waits for a lock."""
        kept = np.ones(self.n_rows, dtype=bool)
        if query.where != "all":
            kept &= _mask(known.sets[query.where], self.n_rows)
        if query.label is not None:
            named = {row for row, name in known.labels.items() if name == query.label}
            kept &= _mask(named, self.n_rows)
        sure = np.zeros(self.n_rows)
        if known.guesses is not None:
            sure = known.guesses.shares[:, 0].astype(float)
        if query.guess is not None:
            kept &= self._guessed(query.guess, known.guesses)
        if query.low > 0 or query.high < 1:
            # Shares are shown in percent, and mean what is shown.
            kept &= (sure >= query.low - 5e-5) & (sure <= query.high + 5e-5)
            kept &= known.guesses is not None
        for test in self._tests(query.text):
            kept &= test(np.flatnonzero(kept))
        rows = np.flatnonzero(kept)
        return rows[self._ranked(rows, query, known, sure)]

    def _guessed(self, name: str, guesses: Any) -> NDArray[np.bool_]:
        if guesses is None or name not in guesses.classes:
            return np.zeros(self.n_rows, dtype=bool)
        return np.asarray(guesses.codes[:, 0] == guesses.classes.index(name))

    def _ranked(
        self,
        rows: NDArray[np.intp],
        query: Query,
        known: Known,
        sure: NDArray[np.float64],
    ) -> NDArray[np.intp]:
        if query.like is not None and known.near is not None:
            gaps = known.near[rows] - known.near[query.like]
            return np.argsort((gaps.astype(float) ** 2).sum(axis=1), kind="stable")
        if query.order == "latest":
            place = {row: k for k, row in enumerate(known.latest)}
            last = len(place)
            ages = np.array([place.get(row, last) for row in rows.tolist()])
            return np.argsort(ages, kind="stable")
        signs = {"unsure": 1.0, "sure": -1.0}
        return np.argsort(signs.get(query.order, 0.0) * sure[rows], kind="stable")

    # -- words ----------------------------------------------------------------------

    def _tests(self, text: str) -> list[Callable[[NDArray[Any]], NDArray[np.bool_]]]:
        tests = []
        for found in _WORD.finditer(text):
            minus, name, sign, value, phrase, word = found.groups()
            column = self._folded.get((name or "").strip('"').casefold())
            if column is not None:
                test = self._compared(column, sign, value.strip('"'))
            else:
                wanted = phrase if phrase is not None else word
                wanted = found[0].removeprefix("-") if wanted is None else wanted
                test = self._containing(wanted.casefold())
            tests.append(self._both(test, bool(minus)))
        return tests

    def _both(
        self, test: Callable[[int], bool], negated: bool
    ) -> Callable[[NDArray[Any]], NDArray[np.bool_]]:
        def over(rows: NDArray[Any]) -> NDArray[np.bool_]:
            kept = np.zeros(self.n_rows, dtype=bool)
            kept[[row for row in rows.tolist() if test(row) != negated]] = True
            return kept

        return over

    def _containing(self, wanted: str) -> Callable[[int], bool]:
        if self._all is None:
            columns = [self._text(name) for name in self._columns]
            self._all = ["\x1f".join(cells) for cells in zip(*columns, strict=True)]
        texts = self._all
        return lambda row: wanted in texts[row]

    def _compared(self, name: str, sign: str, value: str) -> Callable[[int], bool]:
        if sign in _COMPARED:
            numbers, compare = self._number(name), _COMPARED[sign]
            try:
                bound = float(value.replace(",", "."))
            except ValueError:
                bound = float("nan")
            return lambda row: bool(compare(numbers[row], bound))
        texts, wanted = self._text(name), value.casefold()
        if sign == "=":
            return lambda row: texts[row].strip() == wanted
        return lambda row: wanted in texts[row]

    def _text(self, name: str) -> list[str]:
        if name not in self._texts:
            cells = self._columns[name]
            self._texts[name] = [cell_text(value).casefold() for value in cells]
        return self._texts[name]

    def _number(self, name: str) -> NDArray[np.float64]:
        if name not in self._numbers:
            self._numbers[name] = np.array([_float(text) for text in self._text(name)])
        return self._numbers[name]


def _mask(rows: set[int], n_rows: int) -> NDArray[np.bool_]:
    mask = np.zeros(n_rows, dtype=bool)
    mask[list(rows)] = True
    return mask


def _float(text: str) -> float:
    try:
        return float(text.strip().replace(",", ".")) if text else float("nan")
    except ValueError:
        return float("nan")
