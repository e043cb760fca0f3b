"""Turn the values of one column into features on a common scale.

Every column but text gets features of total variance one, so that distances count each
column once, whatever its unit and however many categories it has.
"""

# SPDX-License-Identifier: BSD-3-Clause

import warnings
from abc import ABC, abstractmethod
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewlabels._words import listed
from fewlabels.preprocessing._description import ColumnDescription
from fewlabels.preprocessing._errors import TableError
from fewlabels.preprocessing._parts import read_tags
from fewlabels.preprocessing._summary import ColumnSummary
from fewlabels.preprocessing._values import folded
from fewlabels.preprocessing.cells import (
    LARGEST,
    counts,
    is_placeholder,
    missing_mask,
    to_texts,
    to_vectors,
)

# Numbers with tails beyond this many interquartile ranges from the median are
# compressed.
HEAVY_TAIL = 10.0
# Share of values in a new table that may be unreadable; they count as missing.
TOLERATED = 0.1
_DAY = 86_400.0
_YEAR = 365.2425 * _DAY


class ColumnEncoder(ABC):
    """Base of encoders, which turn the values of one column into features.

    Parameters
    ----------
    column : ColumnDescription
        The column.
    """

    def __init__(self, column: ColumnDescription) -> None:
        self.column = column

    @abstractmethod
    def fit(self, values: NDArray[Any], whole: ColumnSummary | None = None) -> Any:
        """Learn from a column, and encode it.

        Parameters
        ----------
        values : ndarray of shape (n_rows,)
            The column.
        whole : ColumnSummary, default=None
            Summary of the column in the larger table that the rows were drawn from.

        Returns
        -------
        features : {ndarray, csr_array} of shape (n_rows, n_features)
            Its features; sparse for text that is not reduced to directions.
        """

    @abstractmethod
    def transform(self, values: NDArray[Any]) -> Any:
        """Encode new values.

        Parameters
        ----------
        values : ndarray of shape (n_rows,)
            The column in another table.

        Returns
        -------
        features : {ndarray, csr_array} of shape (n_rows, n_features)
            Its features.
        """

    @abstractmethod
    def names(self) -> list[str]:
        """Name the features.

        Returns
        -------
        names : list of str
            One per feature.
        """

    def views(self) -> dict[str, NDArray[np.float64]]:
        """Return several descriptions of the column, if there are any.

        Returns
        -------
        views : dict of str to ndarray of shape (n_features,)
            For each, the weights of the features in it.
        """
        return {}


class NumberEncoder(ColumnEncoder):
    """Numbers: standardised, long tails compressed, the median for missing ones.

    A second feature marks missing values, if there were any in the training rows.

    Parameters
    ----------
    column : ColumnDescription
        The column.
    compress : bool, default=True
        Whether to compress long tails.
    """

    def __init__(self, column: ColumnDescription, compress: bool = True) -> None:
        super().__init__(column)
        self.compress = compress

    def fit(
        self, values: NDArray[Any], whole: ColumnSummary | None = None
    ) -> NDArray[np.float64]:
        """Find the middle, the spread and the mean, and encode the column."""
        numbers = self.column.read(values)
        present = numbers[~np.isnan(numbers)]
        low, self.median, high = _quartiles(present)
        self.spread = high - low
        reach = np.max(np.abs(present - self.median), initial=0.0)
        known = whole is not None and np.isfinite(whole.mean)
        known = known and not self.column.missing  # its mean includes them
        if whole is not None and known:
            reach = max(whole.high - self.median, self.median - whole.low)
        self.compressed = self.compress and bool(0 < HEAVY_TAIL * self.spread < reach)
        self.marks_missing = present.size < numbers.size or _has_missing(whole)
        bent = self._bend(present)
        self.mean = float(bent.mean()) if bent.size else 0.0
        # Differences within rounding do not count.
        noise = 10 * np.finfo(float).eps * np.max(np.abs(bent), initial=0.0)
        deviation = float(bent.std()) if bent.size else 0.0
        if whole is not None and known and not self.compressed:
            self.mean, deviation = whole.mean, whole.deviation
        self.deviation = deviation if deviation > noise else 0.0
        self.unit = self.deviation or 1.0
        return self._encode(numbers)

    def _bend(self, numbers: NDArray[Any]) -> NDArray[np.float64]:
        if not self.compressed:
            return numbers
        return np.arcsinh((numbers - self.median) / self.spread)

    def _encode(self, numbers: NDArray[Any]) -> NDArray[np.float64]:
        missing = np.isnan(numbers)
        filled = self._bend(np.where(missing, self.median, numbers))
        features = [(filled - self.mean) / self.unit]
        if self.marks_missing:
            features.append(missing.astype(np.float64))
        return np.column_stack(features)

    def transform(self, values: NDArray[Any]) -> NDArray[np.float64]:
        """Encode new values."""
        numbers = self.column.read(values)
        _check_readable(self.column, values, np.isnan(numbers), "numbers")
        return self._encode(numbers)

    def names(self) -> list[str]:
        """Name the features."""
        name = self.column.name
        return [name, f"{name} missing"] if self.marks_missing else [name]


def _quartiles(numbers: NDArray[Any]) -> tuple[float, float, float]:
    if not numbers.size:
        return 0.0, 0.0, 0.0
    low, middle, high = np.quantile(numbers, [0.25, 0.5, 0.75])
    return float(low), float(middle), float(high)


class CategoryEncoder(ColumnEncoder):
    """Categories: one feature each, one for all rare ones, one for missing values.

    Parameters
    ----------
    column : ColumnDescription
        The column.
    max_categories : int
        How many categories get a feature of their own.
    """

    OTHER = "(other)"
    MISSING = "(missing)"

    def __init__(self, column: ColumnDescription, max_categories: int) -> None:
        super().__init__(column)
        self.max_categories = max_categories

    def fit(
        self, values: NDArray[Any], whole: ColumnSummary | None = None
    ) -> NDArray[np.float64]:
        """Find the categories that get a feature, and encode the column."""
        texts = to_texts(values)
        n_rows, n_missing = texts.size, int(np.sum(texts == ""))
        found = {text: count for text, count in counts(texts) if text}
        if whole is not None and whole.counts is not None:
            n_rows, n_missing = whole.n_rows, whole.n_rows - sum(whole.counts.values())
            found = whole.counts
        found, spelling = _merged(found)
        counted = sorted(found.items(), key=lambda pair: (-pair[1], pair[0]))
        # A category that occurs once only identifies its row.
        kept = [text for text, count in counted[: self.max_categories] if count > 1]
        if len(kept) < 2:
            kept = [text for text, _ in counted[: self.max_categories]]
        self.keys = sorted(kept)
        self.levels = [spelling[key] for key in self.keys]
        self.has_other = len(counted) > len(kept)
        self.has_missing = n_missing > 0
        own = [found[text] for text in kept]
        n_other = n_rows - n_missing - sum(own)
        shares = np.array([*own, n_other, n_missing]) / n_rows
        self.unit = float(np.sqrt(np.sum(shares * (1 - shares)))) or 1.0
        return self._encode(texts)

    def _encode(self, texts: NDArray[Any]) -> NDArray[np.float64]:
        place = {key: k for k, key in enumerate(self.keys)}
        other = missing = -1
        width = len(self.levels)
        if self.has_other:
            other, width = width, width + 1
        if self.has_missing:
            missing, width = width, width + 1
        place[""] = missing
        at = np.array([place.get(folded(t), other) for t in texts], dtype=np.intp)
        features = np.zeros((at.size, width))
        known = np.flatnonzero(at >= 0)
        features[known, at[known]] = 1 / self.unit
        return features

    def transform(self, values: NDArray[Any]) -> NDArray[np.float64]:
        """Encode new values; unseen categories count as rare."""
        return self._encode(to_texts(values))

    def names(self) -> list[str]:
        """Name the features."""
        levels = list(self.levels)
        levels += [self.OTHER] * self.has_other + [self.MISSING] * self.has_missing
        return [f"{self.column.name}={level}" for level in levels]


def _merged(found: dict[str, int]) -> tuple[dict[str, int], dict[str, str]]:
    """Merge spellings that differ only in case, named by the most frequent."""
    sums: dict[str, int] = {}
    spelling: dict[str, str] = {}
    for text, count in sorted(found.items(), key=lambda pair: (-pair[1], pair[0])):
        key = folded(text)
        spelling.setdefault(key, text)
        sums[key] = sums.get(key, 0) + count
    return sums, spelling


class TagsEncoder(ColumnEncoder):
    """Tags: one feature for each of the most frequent, 0 or 1.

    Parameters
    ----------
    column : ColumnDescription
        The column.
    max_categories : int
        How many tags get a feature.
    """

    def __init__(self, column: ColumnDescription, max_categories: int) -> None:
        super().__init__(column)
        self.max_categories = max_categories

    def _tags(self, values: NDArray[Any]) -> list[list[str]]:
        gone = missing_mask(values)
        cells = zip(values, gone, strict=True)
        return [
            [] if none else read_tags(value, self.column.notation) or []
            for value, none in cells
        ]

    def fit(
        self, values: NDArray[Any], whole: ColumnSummary | None = None
    ) -> NDArray[np.float64]:
        """Find the tags that get a feature, and encode the column."""
        cells = self._tags(values)
        found = dict(counts(tag for tags in cells for tag in tags))
        merged, spelling = _merged(found)
        self.keys = list(merged)[: self.max_categories]
        self.levels = [spelling[key] for key in self.keys]
        self.unit = 1.0
        features = self._encode(cells)
        self.unit = float(np.sqrt(features.var(axis=0).sum())) or 1.0
        return features / self.unit

    def _encode(self, cells: list[list[str]]) -> NDArray[np.float64]:
        place = {key: k for k, key in enumerate(self.keys)}
        features = np.zeros((len(cells), len(place)))
        for row, tags in enumerate(cells):
            at = [place[key] for tag in tags if (key := folded(tag)) in place]
            features[row, at] = 1 / self.unit
        return features

    def transform(self, values: NDArray[Any]) -> NDArray[np.float64]:
        """Encode new values; unseen tags do not count."""
        return self._encode(self._tags(values))

    def names(self) -> list[str]:
        """Name the features."""
        return [f"{self.column.name}={level}" for level in self.levels]


class DateEncoder(ColumnEncoder):
    """Dates: the time itself, and its phase within the year, the week and the day.

    Times of day have only the phase within the day.

    Parameters
    ----------
    column : ColumnDescription
        The column.
    """

    PERIODS = (("year", _YEAR), ("week", 7 * _DAY), ("day", _DAY))

    def fit(
        self, values: NDArray[Any], whole: ColumnSummary | None = None
    ) -> NDArray[np.float64]:
        """Find the informative periods, and encode the column."""
        seconds = self.column.read(values)
        present = seconds[~np.isnan(seconds)]
        if not present.size:
            present = np.zeros(1)
        self.median = float(np.median(present))
        self.mean = float(present.mean())
        self.unit = float(present.std()) or 1.0
        self.marks_missing = present.size < seconds.size or _has_missing(whole)
        # A period is informative if the dates span several of it and differ within
        # it: dates without a time are all at the same hour.
        self.periods = [
            name
            for name, length in self.PERIODS
            if np.ptp(present) > 2 * length and np.ptp(present % length) > 0
        ]
        if self.column.kind == "time":
            self.periods = ["day"]
        features = self._encode(seconds)
        self.scale = float(np.sqrt(features.var(axis=0).sum())) or 1.0
        return features / self.scale

    def _encode(self, seconds: NDArray[Any]) -> NDArray[np.float64]:
        missing = np.isnan(seconds)
        filled = np.where(missing, self.median, seconds)
        features = [(filled - self.mean) / self.unit]
        lengths = dict(self.PERIODS)
        for period in self.periods:
            angle = 2 * np.pi * (filled % lengths[period]) / lengths[period]
            features += [np.sin(angle), np.cos(angle)]
        if self.marks_missing:
            features.append(missing.astype(np.float64))
        return np.column_stack(features)

    def transform(self, values: NDArray[Any]) -> NDArray[np.float64]:
        """Encode new values."""
        seconds = self.column.read(values)
        _check_readable(self.column, values, np.isnan(seconds), "dates")
        return self._encode(seconds) / self.scale

    def names(self) -> list[str]:
        """Name the features."""
        name = self.column.name
        cycles = [f"{name} {wave} of {p}" for p in self.periods for wave in _WAVES]
        return [name, *cycles, *([f"{name} missing"] if self.marks_missing else [])]


_WAVES = ("sine", "cosine")


class VectorEncoder(ColumnEncoder):
    """Lists of numbers, such as embeddings: centred, and divided by one factor.

    Parameters
    ----------
    column : ColumnDescription
        The column.
    weight : float
        Variance of all features together.
    """

    def __init__(self, column: ColumnDescription, weight: float) -> None:
        super().__init__(column)
        self.weight = weight

    def fit(
        self, values: NDArray[Any], whole: ColumnSummary | None = None
    ) -> NDArray[np.float64]:
        """Find the mean and the factor, and encode the column."""
        vectors = to_vectors(values, self.column.notation)
        missing = np.isnan(vectors[:, 0])
        present = vectors[~missing]
        self.marks_missing = bool(missing.any()) or _has_missing(whole)
        self.mean = present.mean(axis=0)
        spread = float(np.sqrt(present.var(axis=0).sum()))
        self.unit = spread / np.sqrt(self.weight) if spread > 0 else 1.0
        return self._encode(vectors, missing)

    def _encode(
        self, vectors: NDArray[Any], missing: NDArray[np.bool_]
    ) -> NDArray[np.float64]:
        features = (vectors - self.mean) / self.unit
        features[missing] = 0.0
        if self.marks_missing:
            features = np.column_stack([features, missing.astype(np.float64)])
        return features

    def transform(self, values: NDArray[Any]) -> NDArray[np.float64]:
        """Encode new values."""
        vectors = to_vectors(values, self.column.notation)
        missing = np.isnan(vectors[:, 0])
        what = f"lists of {vectors.shape[1]} numbers"
        _check_readable(self.column, values, missing, what)
        return self._encode(vectors, missing)

    def restored(self, features: Any) -> tuple[NDArray[np.bool_], NDArray[Any]]:
        """Tell which rows have a vector, and compute vectors from features."""
        present = np.ones(features.shape[0], dtype=bool)
        if self.marks_missing:
            present = features[:, -1] == 0
        return present, features[:, : self.mean.size] * self.unit + self.mean

    def names(self) -> list[str]:
        """Name the features."""
        name = self.column.name
        places = [f"{name}[{k}]" for k in range(self.mean.size)]
        return [*places, *([f"{name} missing"] if self.marks_missing else [])]


def _has_missing(whole: ColumnSummary | None) -> bool:
    return whole is not None and whole.n_missing > 0


def _is_too_large(value: Any) -> bool:
    try:
        return abs(float(value)) > LARGEST
    except (TypeError, ValueError, OverflowError):
        return False


def _check_readable(
    column: ColumnDescription,
    values: NDArray[Any],
    unread: NDArray[np.bool_],
    what: str,
) -> None:
    """Refuse a column that has changed its kind; a few odd values count as missing."""
    present = ~missing_mask(values)
    if column.missing:  # -999 can be read, but means missing
        unread = np.isnan(replace(column, missing=()).read(values))
    odd = np.flatnonzero(unread & present)
    odd = odd[[not is_placeholder(values[row]) for row in odd]]
    odd = odd[[not _is_too_large(values[row]) for row in odd]]
    if not odd.size:
        return
    examples = listed(list(dict.fromkeys(values[odd].tolist()))[:3])
    if odd.size > TOLERATED * present.sum():
        raise TableError(
            f"Column {column.name!r} held {what} when the model was fitted, but "
            f"{odd.size:,} of {int(present.sum()):,} values are now something else, "
            f"such as {examples}: is it the same column?"
        )
    warnings.warn(
        f"Column {column.name!r}: {odd.size:,} of {int(present.sum()):,} values are "
        f"not {what} (such as {examples}) and count as missing.",
        UserWarning,
        stacklevel=2,
    )
