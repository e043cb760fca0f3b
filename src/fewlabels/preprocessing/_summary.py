"""Summarise the columns of a large table over all rows, part by part."""

# SPDX-License-Identifier: BSD-3-Clause

from collections import Counter
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from fewlabels.preprocessing._table import Table
from fewlabels.preprocessing.cells import LARGEST, missing_mask, to_texts

# Columns with more distinct values than this are not counted by value.
MAX_COUNTED = 10_000


class Moments(NamedTuple):
    """Counts, means, spreads and extremes of numeric columns, without missing values.

    Attributes
    ----------
    n : ndarray of shape (n_columns,)
        Numbers in every column.
    mean : ndarray of shape (n_columns,)
        Their means, 0 where there are none.
    squares : ndarray of shape (n_columns,)
        Sums of the squared deviations from the mean.
    low, high : ndarray of shape (n_columns,)
        The minimum and maximum, infinite if there are no numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.preprocessing import Moments
    >>> first, second = (Moments.of(np.array([[a], [1.0]])) for a in (3.0, 1.0))
    >>> first.merge(second).mean
    array([1.5])
    """

    n: NDArray[np.float64]
    mean: NDArray[np.float64]
    squares: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]

    @classmethod
    def of(cls, values: NDArray[Any]) -> Self:
        """Compute the moments of columns of numbers.

        Parameters
        ----------
        values : ndarray of shape (n_rows, n_columns)
            Numbers; infinities and NaN count as missing.

        Returns
        -------
        moments : Moments
            Count, mean, spread and extremes of every column.
        """
        known = np.abs(values) <= LARGEST
        n = known.sum(axis=0).astype(np.float64)
        kept = np.where(known, values, 0.0).astype(np.float64)
        mean = kept.sum(axis=0) / np.maximum(n, 1)
        squares = np.sum(np.where(known, kept - mean, 0.0) ** 2, axis=0)
        low = np.where(known, values, np.inf).min(axis=0, initial=np.inf)
        high = np.where(known, values, -np.inf).max(axis=0, initial=-np.inf)
        return cls(n, mean, squares, low, high)

    def merge(self, other: "Moments") -> "Moments":
        """Combine with the moments of other rows.

        Parameters
        ----------
        other : Moments
            Moments of the same columns.

        Returns
        -------
        moments : Moments
            Moments of all the rows together.
        """
        n = self.n + other.n
        share = other.n / np.maximum(n, 1)
        step = other.mean - self.mean
        squares = self.squares + other.squares + step**2 * self.n * share
        low, high = np.minimum(self.low, other.low), np.maximum(self.high, other.high)
        return Moments(n, self.mean + step * share, squares, low, high)

    def settled(self) -> "Moments":
        """Round to 26 bits, so that the order of summation does not matter.

        Returns
        -------
        moments : Moments
            The same for all partitions of the same rows.
        """
        digits, power = np.frexp(self.squares)
        squares = np.ldexp(np.round(digits * 2.0**26), power - 26)
        spread = self._replace(squares=squares).deviation
        unit = np.where(spread > 0, spread, 1.0)
        mean = unit * np.round(self.mean / unit * 2.0**26) / 2.0**26
        return self._replace(mean=mean, squares=squares)

    @property
    def deviation(self) -> NDArray[np.float64]:
        """Standard deviations."""
        return np.sqrt(self.squares / np.maximum(self.n, 1))

    @property
    def largest(self) -> NDArray[np.float64]:
        """Return the largest absolute values, 0 for columns without numbers."""
        return np.where(self.n > 0, np.maximum(np.abs(self.low), np.abs(self.high)), 0)


class ColumnSummary(NamedTuple):
    """Summary of one column over all rows.

    Attributes
    ----------
    n_rows, n_missing : int
        All rows, and those without a value.
    counts : dict of str to int or None
        How often every value occurs, as text; None for numbers, and for columns with
        too many different values.
    mean, deviation, low, high : float
        Of a column of numbers; NaN for others.
    """

    n_rows: int
    n_missing: int
    counts: dict[str, int] | None
    mean: float
    deviation: float
    low: float
    high: float


@dataclass(frozen=True)
class TableSummary:
    """Summary of the columns of a large table over all rows.

    Summaries of parts are merged into one of the whole table, in any number of steps;
    parts may be on different machines.

    Attributes
    ----------
    n_rows : int
        Number of rows.
    n_missing : ndarray of shape (n_columns,)
        Cells without a value in every column.
    counts : list of dict or None
        For every column how often its values occur, as text; None for columns of
        numbers, and of more than 10,000 different values.
    moments : Moments
        Means, spreads and ends of columns of numbers.

    Examples
    --------
    >>> from fewlabels.preprocessing import TableSummary
    >>> first = TableSummary.of({"size": [1.0, 2.0], "colour": ["red", "blue"]})
    >>> second = TableSummary.of({"size": [6.0, None], "colour": ["red", None]})
    >>> whole = first.merge(second)
    >>> whole.n_rows, whole.n_missing, whole.counts[1]["red"]
    (4, array([1, 1]), 2)
    >>> float(whole.moments.mean[0])
    3.0
    """

    n_rows: int
    n_missing: NDArray[np.intp]
    counts: list[dict[str, int] | None]
    moments: Moments

    @classmethod
    def of(cls, rows: Any) -> Self:
        """Summarise a part of a table.

        Parameters
        ----------
        rows : Table, DataFrame of pandas or polars, dict or array-like
            The rows; there may be none.

        Returns
        -------
        summary : TableSummary
            Their summary.
        """
        if isinstance(rows, np.ndarray) and rows.dtype.kind in "biuf":
            moments = Moments.of(rows)
            missing = (rows.shape[0] - moments.n).astype(np.intp)
            return cls(rows.shape[0], missing, [None] * rows.shape[1], moments)
        table = Table.from_frame(rows)
        numbers = np.full((table.n_rows, len(table.columns)), np.nan)
        counts: list[dict[str, int] | None] = []
        missing = np.empty(len(table.columns), dtype=np.intp)
        for place, values in enumerate(table.columns):
            values = _as_numbers(values)
            counts.append(None)
            if values.dtype.kind in "biuf":
                numbers[:, place] = values
                missing[place] = np.sum(~(np.abs(numbers[:, place]) <= LARGEST))
            else:
                missing[place] = np.sum(missing_mask(values))
                counts[place] = _counted(values)
        return cls(table.n_rows, missing, counts, Moments.of(numbers))

    def merge(self, other: "TableSummary") -> "TableSummary":
        """Merge with the summary of other rows.

        Parameters
        ----------
        other : TableSummary
            Of rows with the same columns.

        Returns
        -------
        summary : TableSummary
            Of all rows.
        """
        return TableSummary(
            self.n_rows + other.n_rows,
            self.n_missing + other.n_missing,
            [
                _joined(mine, theirs, bool(n), bool(m))
                for mine, theirs, n, m in zip(
                    self.counts,
                    other.counts,
                    self.n_rows - self.n_missing,
                    other.n_rows - other.n_missing,
                    strict=True,
                )
            ],
            self.moments.merge(other.moments),
        )

    def settled(self) -> "TableSummary":
        """Round means and deviations, so that the order of merging does not matter.

        Returns
        -------
        summary : TableSummary
            The same for all partitions of the same rows.
        """
        return replace(self, moments=self.moments.settled())

    def column(self, place: int) -> ColumnSummary:
        """Return the summary of one column.

        Parameters
        ----------
        place : int
            Its index.

        Returns
        -------
        column : ColumnSummary
            Plain numbers.
        """
        of = self.moments
        known = of.n[place] == self.n_rows - self.n_missing[place] and of.n[place] > 0
        numbers = (of.mean, of.deviation, of.low, of.high)
        return ColumnSummary(
            self.n_rows,
            int(self.n_missing[place]),
            self.counts[place],
            *(float(values[place]) if known else np.nan for values in numbers),
        )


class TableSample(NamedTuple):
    """Rows that were drawn from a larger table, with a summary of all of its rows.

    Estimators that take frames also take this: they learn from the rows, and scale and
    encode them by the summary of the whole table.

    Attributes
    ----------
    rows : {ndarray, sparse matrix, DataFrame} of shape (n_samples, n_columns)
        The rows.
    summary : TableSummary or None
        Summary of all rows.
    progress : bool, "auto" or callable, default=False
        How to tell the share of the pictures that are embedded, see
        :func:`fewlabels.embeddings.embed_files`.

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels import FewLabelsClassifier
    >>> from fewlabels.preprocessing import TableSample, TableSummary
    >>> X = np.random.RandomState(0).normal(size=(1000, 2)) + [[0, 0], [4, 4]] * 500
    >>> sample = TableSample(X[:100], TableSummary.of(X))
    >>> y = [0, 1, 0, 1] + 96 * [-1]
    >>> model = FewLabelsClassifier(bank="fast", random_state=0).fit(sample, y)
    >>> model.predict(X[100:104])
    array([0, 1, 0, 1])
    """

    rows: Any
    summary: TableSummary | None
    progress: Any = False


def _as_numbers(values: NDArray[Any]) -> NDArray[Any]:
    """Restore integers that are floats only because of missing values."""
    if values.dtype.kind == "O" and values.size:
        kinds = set(map(type, values)) - {type(None)}
        if kinds and all(issubclass(k, float | int) and k is not bool for k in kinds):
            return values.astype(np.float64)
    return values


def _counted(values: NDArray[Any]) -> dict[str, int] | None:
    holders = (list, tuple, dict, np.ndarray)
    if values.dtype.kind == "M" or any(isinstance(v, holders) for v in values[:1]):
        return None
    counts = Counter(to_texts(values).tolist())
    counts.pop("", None)
    return dict(counts) if len(counts) <= MAX_COUNTED else None


def _joined(
    mine: dict[str, int] | None,
    theirs: dict[str, int] | None,
    some: bool,
    others: bool,
) -> dict[str, int] | None:
    """Add counts; those of a part without any values are ignored."""
    if not some:
        return theirs
    if not others:
        return mine
    if mine is None or theirs is None:
        return None
    total = dict(Counter(mine) + Counter(theirs))
    return total if len(total) <= MAX_COUNTED else None
