"""Rows of estimators: validation, distances, views and duplicates."""

# SPDX-License-Identifier: BSD-3-Clause

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from fewlabels._linalg import FLOATS
from fewlabels._sklearn import check_array
from fewlabels._threads import in_threads, worth_compiling

# Dense rows are a table rather than pixels if they have no more columns than this, or a
# standard deviation that is larger than the median one by this factor.
TABLE_COLUMNS = 20
TABLE_RATIO = 4.0
# Sparse rows with at most this many entries, zeros included, may be made dense.
DENSE_ENTRIES = 10_000_000
# Rows per batch, so that a batch of usual width stays in the cache.
_BATCH = 256
# Constants of the generator SplitMix64, whose last step mixes all bits.
_STEP = np.uint64(0x9E3779B97F4A7C15)
_FACTORS = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


def check_rows(X: Any) -> Any:
    """Validate rows, dense or CSR, in float32 or float64."""
    return check_array(X, accept_sparse="csr", dtype=FLOATS)


def check_square_kernel(X: Any) -> None:
    """Refuse a precomputed kernel that is not square."""
    if X.shape[0] != X.shape[1]:
        raise ValueError(
            "kernel='precomputed' needs a square kernel matrix X in fit, got shape "
            f"{X.shape}."
        )


def dense_if_small(X: Any) -> Any:
    """Make sparse rows dense if they fit: some models treat them differently."""
    small = issparse(X) and math.prod(X.shape) <= DENSE_ENTRIES
    return X.toarray() if small else X


def is_euclidean(metric: Any, metric_params: dict[str, Any] | None) -> bool:
    """Whether a metric is the Euclidean distance."""
    return metric in ("euclidean", "l2") or (
        metric == "minkowski" and metric_params in (None, {}, {"p": 2})
    )


def view_columns(
    views: Any, n_features: int, names: Sequence[str] | NDArray[Any] = ()
) -> list[NDArray[np.intp]]:
    """Column indices of two views."""
    every = np.arange(n_features)
    if views is None:
        if n_features < 2:
            raise ValueError(
                f"X has {n_features} feature(s), and without views each of the two "
                "gets half of the columns: name the views, or add a column."
            )
        return np.array_split(every, 2)
    if len(views) != 2:
        raise ValueError(
            f"views must be a pair of column selections, got {len(views)}."
        )
    places = {name: i for i, name in enumerate(names)}
    columns = []
    for view in views:
        if isinstance(view, Sequence) and any(isinstance(v, str) for v in view):
            unknown = [v for v in view if v not in places]
            if unknown:
                raise ValueError(
                    f"views names the columns {unknown}, which X does not have."
                )
            view = [places[v] for v in view]
        try:
            selected = every[view if isinstance(view, slice) else np.asarray(view)]
        except IndexError as error:
            raise ValueError(
                f"views selects columns that X does not have ({error}): X has "
                f"{n_features}."
            ) from error
        if selected.size == 0:
            raise ValueError("views holds an empty selection of columns.")
        columns.append(selected)
    return columns


def mixed_words(words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Spread every bit over all others, one to one."""
    words = (words ^ (words >> np.uint64(30))) * _FACTORS[0]
    words = (words ^ (words >> np.uint64(27))) * _FACTORS[1]
    return words ^ (words >> np.uint64(31))


def _salts(columns: NDArray[Any]) -> NDArray[np.uint64]:
    """Two numbers for each of some columns."""
    steps = columns.astype(np.uint64) * _STEP
    return np.stack([mixed_words(steps + np.uint64(half + 1)) for half in range(2)])


def _row_sums(words: Any, salts: Any, factors: Any, sums: Any) -> None:
    """NumPy version of the compiled loop of the same name."""
    for half in range(2):
        mixed = np.where(words << np.uint64(1), mixed_words(words + salts[half]), 0)
        sums[:, half] = mixed.sum(axis=1, dtype=np.uint64)


def _digest_dense(X: Any, halves: NDArray[np.uint64]) -> None:
    """Write the sums of the mixed entries of dense rows.

    Zeros do not count, since sparse rows do not hold them.
    """
    salts = _salts(np.arange(X.shape[1]))
    if worth_compiling(16 * X.size):
        from fewlabels._loops.digests import row_sums
    else:
        row_sums = _row_sums

    def digest(batch: slice) -> None:
        values = np.asarray(X[batch], dtype=np.float64, order="C")
        row_sums(values.view(np.uint64), salts, _FACTORS, halves[batch])

    starts = range(0, X.shape[0], _BATCH)
    in_threads(digest, [slice(start, start + _BATCH) for start in starts])


def row_digests(X: Any) -> NDArray[Any]:
    """Fingerprint rows in 16 bytes; equal rows, dense or sparse, have equal ones.

    Parameters
    ----------
    X : {ndarray, csr_matrix} of shape (n_samples, n_features)
        Rows of real numbers.

    Returns
    -------
    digests : ndarray of shape (n_samples,)
        Fingerprints that can be compared, sorted and searched.
    """
    halves = np.empty((X.shape[0], 2), dtype=np.uint64)
    if issparse(X):
        X = csr_array(X, copy=True)
        X.sum_duplicates()
        X.eliminate_zeros()
        words = X.data.astype(np.float64).view(np.uint64)
        for half, salts in enumerate(_salts(X.indices)):
            entries = mixed_words(words + salts)
            sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(entries)])
            halves[:, half] = sums[X.indptr[1:]] - sums[X.indptr[:-1]]
    else:
        _digest_dense(X, halves)
    return halves.view("V16")[:, 0]


class DistinctRows(NamedTuple):
    """Which rows are copies of others; distinct rows are numbered by first occurrence.

    Attributes
    ----------
    of_row : ndarray of shape (n_samples,)
        Number of the distinct row of every row.
    first : ndarray of shape (n_distinct,)
        First row of every number.
    digests : ndarray of shape (n_distinct,)
        Digests of the distinct rows, sorted.
    numbers : ndarray of shape (n_distinct,)
        Row numbers in the order of the digests.
    """

    of_row: NDArray[np.intp]
    first: NDArray[np.intp]
    digests: NDArray[Any]
    numbers: NDArray[np.intp]


def distinct_rows(X: Any) -> DistinctRows:
    """Find copies of rows by their digests."""
    digests, first, index = np.unique(
        row_digests(X), return_index=True, return_inverse=True
    )
    order = np.argsort(first)
    numbers = np.empty(first.size, dtype=np.intp)
    numbers[order] = np.arange(first.size)
    return DistinctRows(numbers[index], first[order], digests, numbers)


class KnownRows:
    """Training rows, among which equal rows can be found.

    Parameters
    ----------
    X : {ndarray, csr_matrix} of shape (n_samples, n_features)
        The rows.
    """

    def __init__(self, X: Any) -> None:
        self._rows = distinct_rows(X)

    def find(self, X: Any) -> NDArray[np.intp]:
        """Find the number of the distinct row that each row equals, or -1.

        Parameters
        ----------
        X : {ndarray, csr_matrix} of shape (n_queries, n_features)
            Rows.

        Returns
        -------
        numbers : ndarray of shape (n_queries,)
            Distinct rows are numbered by first occurrence.
        """
        known = self._rows.digests
        if not known.size:
            return np.full(X.shape[0], -1)
        digests = row_digests(X)
        places = np.minimum(np.searchsorted(known, digests), known.size - 1)
        return np.where(known[places] == digests, self._rows.numbers[places], -1)

    def first(self, values: NDArray[Any]) -> NDArray[Any]:
        """Value of the first copy of every distinct row.

        Parameters
        ----------
        values : ndarray of shape (n_samples, ...)
            Values of the training rows.

        Returns
        -------
        values : ndarray of shape (n_distinct, ...)
            In the order of the numbers.
        """
        return values[self._rows.first]

    def means(self, values: NDArray[Any], weights: NDArray[Any]) -> NDArray[Any]:
        """Average the values of all copies.

        Parameters
        ----------
        values : ndarray of shape (n_samples, n_values)
            Values of the training rows.
        weights : ndarray of shape (n_samples,)
            Weights of the rows.

        Returns
        -------
        means : ndarray of shape (n_samples, n_values)
            Equal for copies.
        """
        number, n = self._rows.of_row, self._rows.first.size
        if n == number.size:  # no copies
            return values.copy()
        shares = weights / np.bincount(number, weights, n)[number]
        sums = np.zeros((n, values.shape[1]))
        np.add.at(sums, number, shares[:, None] * values)
        return sums[number]


def equal_rows(X: Any) -> NDArray[np.intp]:
    """Return each row's number, counting distinct rows by first occurrence.

    Parameters
    ----------
    X : {ndarray, csr_matrix} of shape (n_samples, n_features)
        Rows of real numbers.

    Returns
    -------
    index : ndarray of shape (n_samples,)
        Equal rows have the same number.
    """
    return distinct_rows(X).of_row


def has_own_units(deviations: NDArray[Any]) -> bool:
    """Tell a table from columns in the same unit, such as pixels.

    Parameters
    ----------
    deviations : ndarray of shape (n_columns,)
        Standard deviations of the columns; constant columns do not count.

    Returns
    -------
    table : bool
        Whether columns should be standardised.
    """
    varying = deviations[deviations > 0]
    if varying.size <= TABLE_COLUMNS:
        return True
    return bool(varying.max() > TABLE_RATIO * np.median(varying))
