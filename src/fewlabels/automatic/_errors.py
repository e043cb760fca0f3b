"""Errors to expect, with intervals, from labelled rows that were held out."""

# SPDX-License-Identifier: BSD-3-Clause

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import beta, norm

from fewlabels.automatic import _tuned as tuned
from fewlabels.automatic._labeled import Labeled
from fewlabels.automatic._losses import wrong
from fewlabels.automatic._probabilities import probabilities

LEVEL = 0.9
NOT_JUDGED = "refit_labels was asked not to judge (judge=False)"


@dataclass(frozen=True)
class ErrorEstimate:
    """An error that is expected, with an interval.

    Parameters
    ----------
    value : float
        Share of unlabelled rows that are expected to be wrong, or the root of the
        mean squared error; NaN where nothing honest can be said.
    low, high : float
        Interval of about 90 % coverage.
    note : str
        What limits the estimate, if anything.
    percent : bool
        Whether it is a share, or else in units of a target.

    Examples
    --------
    >>> from fewlabels.automatic import ErrorEstimate
    >>> print(ErrorEstimate(0.1, 0.05, 0.18))
    10.0 % (5.0 to 18.0 %)
    >>> print(ErrorEstimate(float("nan"), 0.0, 1.0, "one label in a class"))
    unknown (one label in a class)
    """

    value: float
    low: float
    high: float
    note: str = ""
    percent: bool = True

    @property
    def is_known(self) -> bool:
        """Whether there is an estimate."""
        return bool(np.isfinite(self.value))

    def __str__(self) -> str:
        if not self.is_known:
            return f"unknown ({self.note})"
        if self.percent:
            low, high = 100 * self.low, 100 * self.high
            text = f"{100 * self.value:.1f} % ({low:.1f} to {high:.1f} %)"
        else:
            text = f"{self.value:.3g} ({self.low:.3g} to {self.high:.3g})"
        return f"{text}, {self.note}" if self.note else text


def binomial_interval(share: float, n_rows: float) -> tuple[float, float]:
    """Clopper-Pearson interval of a share among a real number of rows."""
    tail = (1 - LEVEL) / 2
    hits = share * n_rows
    low = float(beta.ppf(tail, hits, n_rows - hits + 1)) if hits > 0 else 0.0
    high = float(beta.ppf(1 - tail, hits + 1, n_rows - hits)) if hits < n_rows else 1.0
    return low, high


def paired_interval(
    first_only: float, second_only: float, n_rows: float
) -> tuple[float, float]:
    """Bonett-Price interval of a difference between two shares of the same rows."""
    p = (first_only * n_rows + 1) / (n_rows + 2)
    q = (second_only * n_rows + 1) / (n_rows + 2)
    spread = np.sqrt(max(p + q - (p - q) ** 2, 0.0) / (n_rows + 2))
    z = float(norm.ppf((1 + LEVEL) / 2))
    return p - q - z * spread, p - q + z * spread


def root_mean_square(
    outputs: NDArray[Any], labeled: Labeled, unit: float, n_rows: int
) -> ErrorEstimate:
    r"""Error of a regression on held-out rows, for so many rows without a target.

    The mean of l squared residuals of kurtosis k has the relative variance (k - 1) / l,
    and that of `n_rows` others likewise: on the scale of logarithms, the root of the
    one differs from that of the other by about

    .. math:: \tfrac{1}{2} \sqrt{(k - 1) (1 / l + 1 / n)}

    Few residuals do not show their kurtosis, and errors also depend on which rows are
    labelled, so the interval is wider than that of a normal distribution.
    """
    if not np.isfinite(outputs).all():
        return ErrorEstimate(
            np.nan, 0.0, np.inf, "there are not two different labelled rows", False
        )
    residuals = (outputs - labeled.Y).ravel()
    size = float(np.abs(residuals).max()) or 1.0
    squares = (residuals / size) ** 2
    square = float(squares.mean())
    value = unit * size * math.sqrt(square)
    own = float(np.mean(squares**2)) / square**2 if square else tuned.KURTOSIS
    share = tuned.KURTOSIS_ROWS / (squares.size + tuned.KURTOSIS_ROWS)
    kurtosis = share * tuned.KURTOSIS + (1 - share) * own
    parts = 1 / squares.size + (1 / n_rows if n_rows else 0.0)
    spread = math.sqrt((kurtosis - 1) * parts) / 2
    low = value * math.exp(-tuned.SPREADS_BELOW * spread)
    high = value * math.exp(tuned.SPREADS_ABOVE * spread)
    return ErrorEstimate(value, low, high, percent=False)


def error_posterior(
    n_wrong: float, n_right: float, doubt: float | None, per_class: float
) -> ErrorEstimate:
    """Take held-out rows, and the mean doubt about others, as counts of a Beta."""
    trust = tuned.TRUST * (1 - 1 / max(2.0, per_class))
    n_doubt = 0.0 if doubt is None else tuned.DOUBT_WORTH
    doubts = n_doubt * (doubt or 0.0)
    counts = np.array(
        [
            tuned.HELD_OUT_WORTH * n_wrong + doubts + tuned.PRIOR_ERRORS,
            tuned.HELD_OUT_WORTH * n_right + n_doubt - doubts + tuned.PRIOR_ERRORS,
        ]
    )
    low, high = beta.ppf([(1 - LEVEL) / 2, (1 + LEVEL) / 2], *(trust * counts))
    if n_wrong == 0:  # doubt alone is no evidence of errors
        low = 0.0
    return ErrorEstimate(float(counts[0] / counts.sum()), float(low), float(high))


def expected_error(
    outputs: NDArray[Any], labeled: Labeled, confidence: float | None
) -> ErrorEstimate:
    """Combine the error on held-out rows with the confidence on unlabelled ones.

    The posterior of a Beta distribution: held-out rows and doubts are its counts.
    """
    counts = labeled.class_counts
    if counts.size < 2:
        return ErrorEstimate(np.nan, 0.0, 1.0, "the labels are of a single class")
    if counts.min() < 2:
        return ErrorEstimate(
            np.nan,
            0.0,
            1.0,
            "some class has only one labelled row, not counting copies; label a second "
            "one",
        )
    v = labeled.size * labeled.importance / labeled.importance.sum()
    missed = wrong(outputs, labeled.codes)
    doubt = None if confidence is None else 1 - confidence
    mean = labeled.size / counts.size
    estimate = error_posterior(float(v @ missed), float(v @ ~missed), doubt, mean)
    if counts.size < tuned.MANY_CLASSES or labeled.size >= 10 * counts.size:
        return estimate
    # Each class is learned from one label less than there are of it.
    return replace(
        estimate,
        low=estimate.low * ((mean - 1) / mean) ** tuned.STEEPEST,
        note="an upper estimate, as holding out some of so few labels costs accuracy",
    )


def estimate_of_rows(
    held: NDArray[Any], labeled: Labeled, outputs: NDArray[Any], temperature: float
) -> ErrorEstimate:
    """Expect an error on unlabelled rows; the interval ends at whole rows."""
    n = outputs.shape[0]
    if n == 0:
        return expected_error(held, labeled, None)
    confidence = float(probabilities(outputs, temperature).max(axis=1).mean())
    estimate = expected_error(held, labeled, confidence)
    return replace(
        estimate,
        low=math.floor(n * estimate.low) / n,
        high=math.ceil(n * estimate.high) / n,
    )


def gain_over(
    held: NDArray[Any],
    held_baseline: NDArray[Any],
    labeled: Labeled,
    own: ErrorEstimate,
) -> ErrorEstimate:
    """Compare held-out outputs with those of the baseline, row by row."""
    if not own.is_known or not np.isfinite(held_baseline).all():
        return ErrorEstimate(np.nan, -1.0, 1.0, own.note or "there is no baseline")
    ours = wrong(held, labeled.codes)
    theirs = wrong(held_baseline, labeled.codes)
    v = labeled.importance / labeled.importance.sum()
    lost, won = float(v @ (ours & ~theirs)), float(v @ (theirs & ~ours))
    low, high = paired_interval(won, lost, tuned.EFFECTIVE * labeled.size)
    return ErrorEstimate(won - lost, low, high)
