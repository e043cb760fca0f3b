"""Compare a new table with a model's training table, column by column."""

# SPDX-License-Identifier: BSD-3-Clause

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats
from scipy.sparse import issparse, vstack
from sklearn.metrics import pairwise_distances

from fewlabels._words import listed, plural
from fewlabels.preprocessing import ColumnDescription, Table
from fewlabels.preprocessing.cells import (
    missing_mask,
    to_numbers,
    to_seconds,
    to_texts,
)

# Rows that are compared, and rows whose features a model keeps.
SEEN_ROWS = 5000
KEPT_ROWS = 256
# False-alarm rate per table, over all of its columns.
LEVEL = 0.01
# A significant difference may still be small: a column has moved only if its
# distribution function differs by this much somewhere, if this share of the rows has
# categories not seen before, or if the share of missing values grew by this much.
DISTANCE = 0.4
SHARE = 0.3
# A value is far off if it lies outside the earlier range by this many times its width;
# a tenth of the values must be. Dates, later in most new tables, must be far off.
FAR, FAR_SHARE = 3.0, 0.1
# The same for the test of whole rows: energy distance over the mean distance.
ROWS_APART = 0.05
ROWS_LEVEL = 0.001
FEWEST_ROWS = 10
PERMUTATIONS = 999
MOST_CATEGORIES = 2000


@dataclass(frozen=True)
class SeenColumn:
    """Summary of a column in the training table.

    Attributes
    ----------
    name, kind, notation : str
        As in its description.
    n_rows, n_missing : int
        Rows, and those without a value.
    quantiles : list of float
        Of numbers, of dates in seconds, of the lengths of texts.
    counts : dict of str to int
        How often each category occurs.
    """

    name: str
    kind: str
    notation: str
    n_rows: int
    n_missing: int
    quantiles: list[float] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)

    @property
    def n_values(self) -> int:
        """Number of rows with a value."""
        return self.n_rows - self.n_missing

    def as_dict(self) -> dict[str, Any]:
        """Return plain values, for a file.

        Returns
        -------
        seen : dict
            One entry per attribute.
        """
        return asdict(self)


@dataclass(frozen=True)
class MovedColumn:
    """A column whose values have changed since training.

    Attributes
    ----------
    name : str
        Its name; empty where whole rows differ and no column does.
    words : str
        What has changed.
    is_far : bool
        Whether even a part of the same table would hardly differ like this: values far
        off, categories never seen, no values.
    """

    name: str
    words: str
    is_far: bool = False


def seen_columns(
    table: Table, columns: Sequence[ColumnDescription]
) -> list[SeenColumn]:
    """Summarise the columns of a table that a model uses.

    Parameters
    ----------
    table : Table
        The table.
    columns : sequence of ColumnDescription
        Its columns.

    Returns
    -------
    seen : list of SeenColumn
        The used columns, summarised from a few thousand rows at most.
    """
    rows = _some(table.n_rows, SEEN_ROWS)
    found = []
    for column in columns:
        if column.is_used:
            cells = table[column.name][rows]
            found.append(_seen(column.name, column.kind, column.notation, cells))
    return found


def _some(n_rows: int, most: int) -> NDArray[np.intp]:
    """Return rows spread evenly over a table, in order."""
    if n_rows <= most:
        return np.arange(n_rows)
    return np.sort(np.random.RandomState(0).choice(n_rows, most, replace=False))


def kept_rows(features: Any) -> Any:
    """Keep the features of some rows, for comparisons with new ones."""
    kept = features[_some(features.shape[0], KEPT_ROWS)]
    return kept.astype(np.float32)


def _seen(name: str, kind: str, notation: str, cells: NDArray[Any]) -> SeenColumn:
    if kind == "category":
        counts = Counter(to_texts(cells).tolist())
        n_missing = counts.pop("", 0)
        most = dict(counts.most_common(MOST_CATEGORIES))
        return SeenColumn(name, kind, notation, cells.size, n_missing, counts=most)
    values = _measured(kind, notation, cells)
    present = values[~np.isnan(values)]
    quantiles: list[float] = []
    if present.size:
        at = np.linspace(0, 1, min(101, present.size))
        quantiles = np.quantile(present, at, method="inverted_cdf").tolist()
    n_missing = cells.size - present.size
    return SeenColumn(name, kind, notation, cells.size, n_missing, quantiles)


def _measured(kind: str, notation: str, cells: NDArray[Any]) -> NDArray[np.float64]:
    """Return cells as comparable numbers; NaN where a cell is missing."""
    if kind == "number":
        return to_numbers(cells, notation)
    if kind in ("date", "time"):
        return to_seconds(cells, notation)
    if kind == "text":
        lengths = np.array([len(text) for text in to_texts(cells)], dtype=float)
        return np.where(lengths > 0, lengths, np.nan)
    return np.where(missing_mask(cells), np.nan, 0.0)  # the test of rows sees more


def moved_columns(
    seen: Sequence[SeenColumn], table: Table, *, whole: bool = True
) -> list[MovedColumn]:
    """Find the columns of a new table whose values have changed since training.

    Parameters
    ----------
    seen : sequence of SeenColumn
        What the model saw.
    table : Table
        The new table, with these columns.
    whole : bool, default=True
        Whether `table` is complete. In a part of a table, the frequencies of categories
        and the range of numbers may differ; values far off count all the same.

    Returns
    -------
    moved : list of MovedColumn
        At most one entry per column. About one in a hundred unchanged tables has an
        entry.
    """
    rows = _some(table.n_rows, SEEN_ROWS)
    level = LEVEL / max(1, len(seen))
    found = []
    for old in seen:
        cells = table[old.name][rows]
        new = _seen(old.name, old.kind, old.notation, cells)
        moved = _emptied(old, new, level)
        if moved is None and new.n_values and old.n_values:
            if old.kind == "category":
                moved = _other_categories(old, new, level)
            else:
                moved = _other_numbers(old, new, cells, level)
        if moved is not None and (whole or moved.is_far):
            found.append(moved)
    return found


def _emptied(old: SeenColumn, new: SeenColumn, level: float) -> MovedColumn | None:
    """Compare missing values."""
    more = new.n_missing / new.n_rows - old.n_missing / old.n_rows
    if abs(more) < SHARE and new.n_values:
        return None
    counts = [[new.n_missing, new.n_values], [old.n_missing, old.n_values]]
    if stats.fisher_exact(counts).pvalue > level:
        return None
    now = f"in {new.n_missing:,} of {plural(new.n_rows, 'row')}"
    before = f"in {old.n_missing:,} of {old.n_rows:,}"
    return MovedColumn(
        old.name,
        f"Column {old.name!r} has no value {now}; when the model was fitted, it had "
        f"none {before}.",
        is_far=new.n_values == 0,
    )


def _other_categories(
    old: SeenColumn, new: SeenColumn, level: float
) -> MovedColumn | None:
    """Find categories that are new, or much more frequent."""
    unseen = {text: n for text, n in new.counts.items() if text not in old.counts}
    n_unseen, n = sum(unseen.values()), new.n_values
    # The expected share of new categories is that of categories seen once.
    once = sum(count == 1 for count in old.counts.values())
    rate = min(1.0, (once + 1) / (old.n_values + 1))
    p = stats.binom.sf(n_unseen - 1, n, rate)
    if n_unseen / n >= rate + SHARE and p < level:
        known = list(old.counts)
        return MovedColumn(
            old.name,
            f"Column {old.name!r} has categories that the model has never seen, such as"
            f" {listed(list(unseen)[:2])}, in {n_unseen:,} of {plural(n, 'row')}; it "
            f"knows {listed(known, 3)}.",
            is_far=True,
        )
    names = list(old.counts | new.counts)
    before = np.array([old.counts.get(name, 0) for name in names]) / old.n_values
    now = np.array([new.counts.get(name, 0) for name in names]) / n
    step = now - before
    top = int(np.argmax(step))
    counts = [
        [side.counts.get(names[top], 0), side.n_values - side.counts.get(names[top], 0)]
        for side in (old, new)
    ]
    if step[top] < DISTANCE or stats.fisher_exact(counts).pvalue * len(names) > level:
        return None
    return MovedColumn(
        old.name,
        f"Column {old.name!r} is {names[top]!r} in {100 * now[top]:.0f} % of the rows; "
        f"when the model was fitted, it was in {100 * before[top]:.0f} %.",
    )


def _far(old: SeenColumn, values: NDArray[np.float64], level: float) -> bool:
    """Whether values lie far from all earlier ones: a tenth, or more than by chance."""
    low, high = old.quantiles[0], old.quantiles[-1]
    if not high > low:
        return False
    reach = FAR * (high - low)
    n, m = old.n_values, values.size
    n_far = int(np.sum((values < low - reach) | (values > high + reach)))
    if n_far >= FAR_SHARE * m:
        return True
    # In a random order of all rows, these are the outermost with at most this chance.
    chance = 2 * np.prod((m - np.arange(n_far)) / (n + m - np.arange(n_far)))
    return bool(chance < level)


def _other_numbers(
    old: SeenColumn, new: SeenColumn, cells: NDArray[Any], level: float
) -> MovedColumn | None:
    """Compare the distributions of numbers."""
    before, now = np.array(old.quantiles), np.array(new.quantiles)
    values = _measured(old.kind, old.notation, cells)
    is_far = _far(old, values[~np.isnan(values)], level)
    if not is_far:
        if old.kind == "date":
            return None
        # Both are steps of about a hundredth at most.
        edges = np.concatenate([before, now])
        rise = [
            np.searchsorted(np.sort(side), edges, side="right") / side.size
            for side in (before, now)
        ]
        distance = float(np.abs(rise[0] - rise[1]).max()) - 0.02
        size = old.n_values * new.n_values / (old.n_values + new.n_values)
        p = stats.kstwobign.sf(np.sqrt(size) * max(distance, 0.0))
        if distance < DISTANCE or p > level:
            return None
    what = {
        "text": "has texts of",
        "date": "is from",
    }.get(old.kind, "is")
    times = _times(before, now) if old.kind == "number" else ""
    return MovedColumn(
        old.name,
        f"Column {old.name!r} {what} {_range(now, old.kind)} here and was "
        f"{_range(before, old.kind)} when the model was fitted{times or '.'}",
        is_far=is_far,
    )


def _range(quantiles: NDArray[Any], kind: str) -> str:
    """Give the range of the middle 90 % of the values."""
    low, high = np.quantile(quantiles, [0.05, 0.95], method="inverted_cdf")
    if kind == "date":
        first, last = (datetime.fromtimestamp(v, UTC) for v in (low, high))
        return f"{first:%Y-%m-%d} to {last:%Y-%m-%d}"
    said = [f"{v:.4g}" if abs(v) < 1e4 else f"{v:,.0f}" for v in (low, high)]
    return f"{said[0]} to {said[1]}" + (" characters" if kind == "text" else "")


def _times(before: NDArray[Any], now: NDArray[Any]) -> str:
    """Tell how many times as large numbers are, if it is a power of ten."""
    old, new = np.median(np.abs(before)), np.median(np.abs(now))
    if not old or not new:
        return ""
    power = np.log10(new / old)
    if abs(power) < 0.9 or abs(power - round(power)) > 0.15:
        return ""
    factor = f"{10 ** abs(round(power)):,}"
    many = f"{factor} times" if power > 0 else f"a {factor}th"
    return f", about {many} as large: is it in another unit?"


def rows_apart(kept: Any, features: Any) -> MovedColumn | None:
    """Test whether new rows come from the distribution of the training rows.

    The energy distance of Székely and Rizzo between up to 256 rows of each, with
    permutations.

    Parameters
    ----------
    kept : {ndarray, csr_array} of shape (n_kept, n_features)
        See :func:`kept_rows`.
    features : {ndarray, csr_array} of shape (n_rows, n_features)
        New rows.

    Returns
    -------
    moved : MovedColumn or None
        The finding, if they do not.
    """
    new = kept_rows(features)
    if min(kept.shape[0], new.shape[0]) < FEWEST_ROWS:
        return None
    energy, p = _energy(kept, new)
    if energy < ROWS_APART or p > ROWS_LEVEL:
        return None
    return MovedColumn(
        "",
        "The rows differ from the training rows, though no single column does "
        f"(two-sample test, p = {p:.3f}): the model's labels and their confidence "
        "may not hold for them.",
    )


def _energy(kept: Any, new: Any) -> tuple[float, float]:
    """Return the energy distance over the mean distance, and its p-value."""
    n, m = kept.shape[0], new.shape[0]
    join = vstack if issparse(kept) else np.vstack
    between = pairwise_distances(join([kept, new]))
    scale = between.mean()
    if not scale > 0:
        return 0.0, 1.0
    sides = np.tile(np.repeat([1.0 / n, -1.0 / m], [n, m]), (PERMUTATIONS + 1, 1))
    sides[1:] = np.random.default_rng(0).permuted(sides[1:], axis=1)
    energy = -np.einsum("ij,ij->i", sides @ between, sides) / scale
    # It is not zero by chance alone.
    return float(energy[0] - energy[1:].mean()), float(np.mean(energy >= energy[0]))
