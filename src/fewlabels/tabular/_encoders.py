"""From the values of one column to features on a common scale.

Every column but text gets features of total variance one, so that distances count each
column once, whatever its unit and however many categories it has.
"""

# SPDX-License-Identifier: BSD-3-Clause

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer

from fewlabels.tabular._columns import (
    ColumnDescription,
    counts,
    missing_mask,
    to_numbers,
    to_seconds,
    to_texts,
)
from fewlabels.tabular._errors import TableError, listed

# Numbers whose tails reach so many quartile distances from the median are compressed.
HEAVY_TAIL = 10.0
# Share of values of a new table that may be unreadable and count as missing.
TOLERATED = 0.1
_DAY = 86_400.0
_YEAR = 365.2425 * _DAY


class NumberEncoder:
    """Numbers: standardised, long tails compressed, holes filled with the median.

    A second feature tells where a value was missing, if any was in the training rows.

    Parameters
    ----------
    column : ColumnDescription
        The column.
    """

    def __init__(self, column: ColumnDescription) -> None:
        self.column = column

    def fit(self, values: NDArray[Any]) -> NDArray[np.float64]:
        """Learn from a column, and encode it.

        Parameters
        ----------
        values : ndarray of shape (n_rows,)
            The column.

        Returns
        -------
        features : ndarray of shape (n_rows, n_features)
            Its features.
        """
        numbers = to_numbers(values, self.column.notation)
        present = numbers[~np.isnan(numbers)]
        low, self.median, high = _quartiles(present)
        self.spread = high - low
        reach = np.max(np.abs(present - self.median), initial=0.0)
        self.compressed = bool(0 < HEAVY_TAIL * self.spread < reach)
        self.marks_holes = present.size < numbers.size
        bent = self._bend(present)
        self.mean = float(bent.mean()) if bent.size else 0.0
        # Differences within rounding are none.
        noise = 10 * np.finfo(float).eps * np.max(np.abs(bent), initial=0.0)
        deviation = float(bent.std()) if bent.size else 0.0
        self.deviation = deviation if deviation > noise else 0.0
        self.unit = self.deviation or 1.0
        return self._encode(numbers)

    def _bend(self, numbers: NDArray[Any]) -> NDArray[np.float64]:
        if not self.compressed:
            return numbers
        return np.arcsinh((numbers - self.median) / self.spread)

    def _encode(self, numbers: NDArray[Any]) -> NDArray[np.float64]:
        holes = np.isnan(numbers)
        filled = self._bend(np.where(holes, self.median, numbers))
        features = [(filled - self.mean) / self.unit]
        if self.marks_holes:
            features.append(holes.astype(np.float64))
        return np.column_stack(features)

    def transform(self, values: NDArray[Any]) -> NDArray[np.float64]:
        """Encode new values.

        Parameters
        ----------
        values : ndarray of shape (n_rows,)
            The column in another table.

        Returns
        -------
        features : ndarray of shape (n_rows, n_features)
            Its features.
        """
        numbers = to_numbers(values, self.column.notation)
        _check_readable(self.column, values, np.isnan(numbers), "numbers")
        return self._encode(numbers)

    def names(self) -> list[str]:
        """Names of the features.

        Returns
        -------
        names : list of str
            One per feature.
        """
        name = self.column.name
        return [name, f"{name} missing"] if self.marks_holes else [name]


def _quartiles(numbers: NDArray[Any]) -> tuple[float, float, float]:
    if not numbers.size:
        return 0.0, 0.0, 0.0
    low, middle, high = np.quantile(numbers, [0.25, 0.5, 0.75])
    return float(low), float(middle), float(high)


class CategoryEncoder:
    """Categories: one feature for each, rare ones together, missing ones apart.

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
        self.column = column
        self.max_categories = max_categories

    def fit(self, values: NDArray[Any]) -> NDArray[np.float64]:
        """Learn from a column, and encode it.

        Parameters
        ----------
        values : ndarray of shape (n_rows,)
            The column.

        Returns
        -------
        features : ndarray of shape (n_rows, n_features)
            Its features.
        """
        texts = to_texts(values)
        counted = [pair for pair in counts(texts) if pair[0]]
        # One that occurs once tells its row from all others, and no more.
        kept = [text for text, count in counted[: self.max_categories] if count > 1]
        if len(kept) < 2:
            kept = [text for text, _ in counted[: self.max_categories]]
        self.levels = sorted(kept)
        self.has_other = len(counted) > len(kept)
        self.has_missing = bool((texts == "").any())
        self.unit = 1.0
        features = self._encode(texts)
        self.unit = float(np.sqrt(features.var(axis=0).sum())) or 1.0
        return features / self.unit

    def _encode(self, texts: NDArray[Any]) -> NDArray[np.float64]:
        place = {text: k for k, text in enumerate(self.levels)}
        other = missing = -1
        width = len(self.levels)
        if self.has_other:
            other, width = width, width + 1
        if self.has_missing:
            missing, width = width, width + 1
        place[""] = missing
        at = np.array([place.get(text, other) for text in texts], dtype=np.intp)
        features = np.zeros((at.size, width))
        known = np.flatnonzero(at >= 0)
        features[known, at[known]] = 1 / self.unit
        return features

    def transform(self, values: NDArray[Any]) -> NDArray[np.float64]:
        """Encode new values; categories never seen count as rare ones.

        Parameters
        ----------
        values : ndarray of shape (n_rows,)
            The column in another table.

        Returns
        -------
        features : ndarray of shape (n_rows, n_features)
            Its features.
        """
        return self._encode(to_texts(values))

    def names(self) -> list[str]:
        """Names of the features.

        Returns
        -------
        names : list of str
            One per feature.
        """
        levels = list(self.levels)
        levels += [self.OTHER] * self.has_other + [self.MISSING] * self.has_missing
        return [f"{self.column.name}={level}" for level in levels]


class DateEncoder:
    """Dates: the time itself, and where it lies in the year, the week and the day.

    Parameters
    ----------
    column : ColumnDescription
        The column.
    """

    PERIODS = (("year", _YEAR), ("week", 7 * _DAY), ("day", _DAY))

    def __init__(self, column: ColumnDescription) -> None:
        self.column = column

    def fit(self, values: NDArray[Any]) -> NDArray[np.float64]:
        """Learn from a column, and encode it.

        Parameters
        ----------
        values : ndarray of shape (n_rows,)
            The column.

        Returns
        -------
        features : ndarray of shape (n_rows, n_features)
            Its features.
        """
        seconds = to_seconds(values, self.column.notation)
        present = seconds[~np.isnan(seconds)]
        self.median = float(np.median(present))
        self.mean = float(present.mean())
        self.unit = float(present.std()) or 1.0
        self.marks_holes = present.size < seconds.size
        # A period says something where several of it are covered, and where rows
        # differ within it: dates without a time all lie at the same hour.
        self.periods = [
            name
            for name, length in self.PERIODS
            if np.ptp(present) > 2 * length and np.ptp(present % length) > 0
        ]
        features = self._encode(seconds)
        self.scale = float(np.sqrt(features.var(axis=0).sum())) or 1.0
        return features / self.scale

    def _encode(self, seconds: NDArray[Any]) -> NDArray[np.float64]:
        holes = np.isnan(seconds)
        filled = np.where(holes, self.median, seconds)
        features = [(filled - self.mean) / self.unit]
        lengths = dict(self.PERIODS)
        for period in self.periods:
            angle = 2 * np.pi * (filled % lengths[period]) / lengths[period]
            features += [np.sin(angle), np.cos(angle)]
        if self.marks_holes:
            features.append(holes.astype(np.float64))
        return np.column_stack(features)

    def transform(self, values: NDArray[Any]) -> NDArray[np.float64]:
        """Encode new values.

        Parameters
        ----------
        values : ndarray of shape (n_rows,)
            The column in another table.

        Returns
        -------
        features : ndarray of shape (n_rows, n_features)
            Its features.
        """
        seconds = to_seconds(values, self.column.notation)
        _check_readable(self.column, values, np.isnan(seconds), "dates")
        return self._encode(seconds) / self.scale

    def names(self) -> list[str]:
        """Names of the features.

        Returns
        -------
        names : list of str
            One per feature.
        """
        name = self.column.name
        cycles = [f"{name} {wave} of {p}" for p in self.periods for wave in _WAVES]
        return [name, *cycles, *([f"{name} missing"] if self.marks_holes else [])]


_WAVES = ("sine", "cosine")


class TextEncoder:
    """Free text: tf-idf of words, or its leading directions beside other columns.

    Parameters
    ----------
    column : ColumnDescription
        The column.
    max_words : int
        Size of the vocabulary.
    n_components : int or None
        How many directions to keep; None to keep all words, as a sparse array.
    weight : float
        Variance of all features together, where there are directions.
    random_state : int
        Seed of the directions.
    """

    def __init__(
        self,
        column: ColumnDescription,
        max_words: int,
        n_components: int | None,
        weight: float,
        random_state: int,
    ) -> None:
        self.column = column
        self.max_words = max_words
        self.n_components = n_components
        self.weight = weight
        self.random_state = random_state

    def fit(self, values: NDArray[Any]) -> Any:
        """Learn from a column, and encode it.

        Parameters
        ----------
        values : ndarray of shape (n_rows,)
            The column.

        Returns
        -------
        features : {ndarray, csr_array} of shape (n_rows, n_features)
            Its features.
        """
        texts = to_texts(values)
        many = len(texts) >= 50
        self.svd: TruncatedSVD | None = None
        self.vectorizer: TfidfVectorizer | None = None
        for least, most in ((2, 0.6), (1, 1.0)) if many else ((1, 1.0),):
            vectorizer = TfidfVectorizer(
                strip_accents="unicode",
                sublinear_tf=True,
                min_df=least,
                max_df=most,
                max_features=self.max_words,
            )
            try:
                words = vectorizer.fit_transform(texts)
            except ValueError:  # no word is left
                continue
            self.vectorizer = vectorizer
            break
        if self.vectorizer is None:
            return self._nothing(len(texts))
        self.unit = 1.0
        if self.n_components is None:
            return csr_array(words)
        size = min(self.n_components, words.shape[1] - 1, words.shape[0] - 1)
        if size < 2:
            features = words.toarray()
        else:
            self.svd = TruncatedSVD(size, random_state=self.random_state)
            with warnings.catch_warnings():  # a division by a variance of zero
                warnings.simplefilter("ignore", RuntimeWarning)
                features = self.svd.fit_transform(words)
        spread = float(np.sqrt(features.var(axis=0).sum()))
        # Rows of tf-idf have length one: less than this is rounding.
        self.unit = spread / np.sqrt(self.weight) if spread > 1e-6 else 1.0
        return features / self.unit

    def _nothing(self, n_rows: int) -> Any:
        if self.n_components is None:
            return csr_array((n_rows, 1))
        return np.zeros((n_rows, 1))

    def transform(self, values: NDArray[Any]) -> Any:
        """Encode new text; words never seen are left out.

        Parameters
        ----------
        values : ndarray of shape (n_rows,)
            The column in another table.

        Returns
        -------
        features : {ndarray, csr_array} of shape (n_rows, n_features)
            Its features.
        """
        if self.vectorizer is None:
            return self._nothing(values.size)
        words = self.vectorizer.transform(to_texts(values))
        if self.n_components is None:
            return csr_array(words)
        features = words if self.svd is None else self.svd.transform(words)
        return (features.toarray() if issparse(features) else features) / self.unit

    def names(self) -> list[str]:
        """Names of the features.

        Returns
        -------
        names : list of str
            One per feature.
        """
        name = self.column.name
        if self.vectorizer is None:
            return [f"{name}: no words"]
        if self.svd is None:
            return [f"{name}: {w}" for w in self.vectorizer.get_feature_names_out()]
        return [f"{name}: topic {k + 1}" for k in range(self.svd.n_components)]


Encoder = NumberEncoder | CategoryEncoder | DateEncoder | TextEncoder


def _check_readable(
    column: ColumnDescription,
    values: NDArray[Any],
    unread: NDArray[np.bool_],
    what: str,
) -> None:
    """Refuse a column that has changed its kind; a few odd values are holes."""
    present = ~missing_mask(values)
    odd = np.flatnonzero(unread & present)
    if not odd.size:
        return
    examples = listed(values[odd[:3]])
    if odd.size > TOLERATED * present.sum():
        raise TableError(
            f"Column {column.name!r} held {what}, but now {odd.size:,} of "
            f"{int(present.sum()):,} values are none (such as {examples}): is it the "
            "same column?"
        )
    warnings.warn(
        f"Column {column.name!r}: {odd.size:,} of {int(present.sum()):,} values are no "
        f"{what} (such as {examples}) and count as missing.",
        UserWarning,
        stacklevel=2,
    )
