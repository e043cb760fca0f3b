"""Learn models that fit into memory from a collection and its labels."""

# SPDX-License-Identifier: BSD-3-Clause

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier

from fewlabels._labels import with_holes
from fewlabels.automatic import ErrorEstimate
from fewlabels.dask._collections import (
    Labels,
    compute,
    join_rows,
    merged,
    need_dask,
    parts_of,
    starts,
    take_rows,
)
from fewlabels.dask._draw import (
    COVER,
    Drawn,
    covering_rows,
    draw_unlabeled,
    drawn_from,
    first_rows,
)
from fewlabels.preprocessing import TableSample, TableSummary

# Rows on which a model is compared with the one from half the rows.
PROBE_ROWS = 10_000


class SampleCost(NamedTuple):
    """Number of training rows, and the cost of fewer rows.

    Attributes
    ----------
    n_rows : int
        All rows.
    n_labeled : int
        Labelled rows; all were used.
    n_sampled : int
        Unlabelled rows used to train a model.
    half_error : ErrorEstimate or None
        Expected error of a model from half as many unlabelled rows; None if there was
        no need to sample.
    changed : float
        How far its predictions differ: the share that changes, or the root mean squared
        difference of targets; NaN if there is no such model.

    Examples
    --------
    >>> from fewlabels.automatic import ErrorEstimate
    >>> from fewlabels.dask import SampleCost
    >>> print(SampleCost(1000, 10, 200, ErrorEstimate(0.1, 0.05, 0.2), 0.03))
    learned from 10 labels and 200 of 990 other rows; from half of these 10.0 %, with
    3.0 % of the predictions changed
    """

    n_rows: int
    n_labeled: int
    n_sampled: int
    half_error: ErrorEstimate | None = None
    changed: float = np.nan

    def __str__(self) -> str:
        n_other = f"{self.n_rows - self.n_labeled:,} other rows"
        learned = f"learned from {self.n_labeled:,} labels and"
        if self.half_error is None:
            return f"{learned} all of {n_other}"
        text = f"{learned} {self.n_sampled:,} of {n_other}"
        if not self.half_error.is_known:
            return text
        if self.half_error.percent:
            error = f"{100 * self.half_error.value:.1f} %"
            change = f"{100 * self.changed:.1f} % of the predictions changed"
        else:
            error = f"{self.half_error.value:.3g}"
            change = f"predictions {self.changed:.3g} away"
        return f"{text}; from half of these {error}, with {change}"


class Learned(NamedTuple):
    """A model, and the cost of half of its rows."""

    model: Any
    n_sampled: int
    half_error: ErrorEstimate | None
    changed: float


def learn_parts(
    client: Any,
    X: Any,
    sizes: NDArray[np.int64],
    labels: Labels,
    estimators: list[Any],
    *,
    sample_size: int,
    sampling: str,
    seeds: NDArray[Any],
) -> list[Learned]:
    """Draw rows for every estimator, and fit each on one worker.

    Parameters
    ----------
    client : distributed.Client or None
        Who computes.
    X : Dask array or DataFrame
        Rows, whose blocks hold all columns.
    sizes : ndarray of shape (n_parts,)
        Rows of every part.
    labels : Labels
        Labels.
    estimators : list of FewLabelsClassifier or FewLabelsRegressor
        Not fitted; each gets its own sample.
    sample_size : int
        Unlabelled rows that each learns from.
    sampling : {"uniform", "cover"}
        How they are drawn.
    seeds : ndarray of shape (n_estimators,)
        Seeds of the samples.

    Returns
    -------
    learned : list of Learned
        Models for predictions only.
    """
    dask = need_dask()
    n_drawn = sample_size * (COVER if sampling == "cover" else 1)
    draws = [
        draw_unlabeled(labels.n_rows, labels.rows, n_drawn, int(seed)) for seed in seeds
    ]
    begin = starts(sizes)
    cuts = np.searchsorted(labels.rows, begin)
    taken = [
        dask.delayed(drawn_from, nout=2)(
            part, int(first), int(size), labels.rows[low:high], draws
        )
        for part, first, size, low, high in zip(
            parts_of(X), begin, sizes, cuts, cuts[1:], strict=False
        )
    ]
    summary = merged([whole for _, whole in taken], _merged_summaries)
    models = [
        dask.delayed(learn)(
            estimator,
            merged([drawn[k] for drawn, _ in taken], join_drawn),
            summary,
            labels,
            sample_size,
            sampling,
        )
        for k, estimator in enumerate(estimators)
    ]
    return list(compute(client, *models))


def _merged_summaries(parts: list[TableSummary | None]) -> TableSummary | None:
    total, *others = parts
    for other in others:
        if total is None or other is None:
            return None
        total = total.merge(other)
    return total


def join_drawn(parts: list[Drawn]) -> Drawn:
    """Join the rows drawn from parts, in order; empty parts are ignored.

    Parameters
    ----------
    parts : list of Drawn
        From consecutive parts.

    Returns
    -------
    drawn : Drawn
        From all of them.
    """
    some = [part for part in parts if part.numbers.size] or parts[:1]
    return Drawn(
        np.concatenate([part.numbers for part in some]),
        np.concatenate([part.keys for part in some]),
        join_rows([part.rows for part in some]),
    )


def learn(
    estimator: Any,
    drawn: Drawn,
    summary: TableSummary | None,
    labels: Labels,
    sample_size: int,
    sampling: str,
) -> Learned:
    """Fit an estimator to a sample, and once more to half of it.

    Parameters
    ----------
    estimator : FewLabelsClassifier or FewLabelsRegressor
        Not fitted.
    drawn : Drawn
        Labelled rows and a sample of the others.
    summary : TableSummary or None
        Summary of all rows.
    labels : Labels
        Labels.
    sample_size : int
        Unlabelled rows to learn from.
    sampling : {"uniform", "cover"}
        How to choose them among those that were drawn.

    Returns
    -------
    learned : Learned
        The model, and the cost of fewer rows.
    """
    _check_missing(drawn.rows, summary)
    summary = None if summary is None else summary.settled()
    seed = int(estimator.random_state)

    def chosen(size: int) -> NDArray[np.intp]:
        if sampling == "cover":
            return covering_rows(drawn, size, summary, seed)
        return first_rows(drawn, size)

    def fitted(places: NDArray[np.intp]) -> Any:
        numbers = drawn.numbers[places]
        # Any label stands where there is none, until the marker of its kind does.
        y = np.repeat(labels.values[:1], places.size)
        hidden = np.ones(places.size, dtype=bool)
        at = np.searchsorted(numbers, labels.rows)
        y[at], hidden[at] = labels.values, False
        if not is_classifier(estimator):
            y = y.astype(np.float64)
        rows = TableSample(take_rows(drawn.rows, places), summary)
        model = clone(estimator).fit(rows, with_holes(y, hidden))
        return model.compact(transduction=False)  # all rows are predicted like new ones

    places = chosen(sample_size)
    model = fitted(places)
    n_sampled = places.size - labels.rows.size
    if labels.rows.size + n_sampled == labels.n_rows or n_sampled < 2:
        return Learned(model, n_sampled, None, np.nan)
    fewer = chosen(n_sampled // 2)
    half = fitted(fewer)
    probe = take_rows(drawn.rows, np.setdiff1d(places, fewer)[:PROBE_ROWS])
    predicted, others = model.predict(probe), half.predict(probe)
    if is_classifier(model):
        changed = float(np.mean(predicted != others))
    else:
        changed = float(np.sqrt(np.mean((predicted - others) ** 2)))
    return Learned(model, n_sampled, half.expected_error_, changed)


def _check_missing(rows: Any, summary: TableSummary | None) -> None:
    """Refuse missing values in an array, even if the sample has none."""
    if summary is None or hasattr(rows, "iloc"):
        return
    n_missing = int(summary.n_missing.sum())
    if n_missing:
        raise ValueError(
            f"X contains NaN, infinity or too large values in {n_missing:,} cells: "
            "fill them, or pass a Dask DataFrame, where missing values are allowed."
        )
