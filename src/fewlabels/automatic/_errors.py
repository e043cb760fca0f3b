"""Expected errors, with intervals, estimated from held-out labelled rows."""

# SPDX-License-Identifier: BSD-3-Clause

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import beta, norm

from fewlabels.automatic import _tuned as tuned
from fewlabels.automatic._labeled import Labeled
from fewlabels.automatic._losses import class_outputs, wrong
from fewlabels.automatic._probabilities import probabilities

LEVEL = 0.9
NOT_JUDGED = "refit_labels was called with estimate_error=False"
NOTHING_HELD_OUT = (
    "no class has two labelled rows, not counting copies; label a second one of each"
)
GUESSED = "a guess from how far methods agree"
UNCHECKED = (
    f"{GUESSED}; there are no labels of two classes to check the hints against, and "
    "sources that are wrong together would not show"
)


@dataclass(frozen=True)
class ErrorEstimate:
    """An expected error, with an interval.

    Parameters
    ----------
    value : float
        Expected share of wrong predictions among unlabelled rows, or root mean squared
        error; NaN if it cannot be estimated.
    low, high : float
        Interval of about 90 % coverage; if `value` is NaN, the full range or, if the
        note says so, a guess.
    note : str
        What limits the estimate, if anything.
    percent : bool
        Whether it is a share; otherwise it is in units of the target.

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

    @property
    def is_guess(self) -> bool:
        """Whether there is no estimate, but a range from the agreement of methods."""
        return not self.is_known and self.note.startswith(GUESSED)

    def __str__(self) -> str:
        low, high = 100 * self.low, 100 * self.high
        if self.is_guess:
            return f"unknown, perhaps {low:.0f} to {high:.0f} % ({self.note})"
        if not self.is_known:
            return f"unknown ({self.note})"
        if self.percent:
            text = f"{100 * self.value:.1f} % ({low:.1f} to {high:.1f} %)"
        else:
            text = f"{self.value:.3g} ({self.low:.3g} to {self.high:.3g})"
        return f"{text}, {self.note}" if self.note else text


def binomial_interval(share: float, n_rows: float) -> tuple[float, float]:
    """Clopper-Pearson interval of a share of a non-integer number of rows."""
    tail = (1 - LEVEL) / 2
    hits = share * n_rows
    low = float(beta.ppf(tail, hits, n_rows - hits + 1)) if hits > 0 else 0.0
    high = float(beta.ppf(1 - tail, hits + 1, n_rows - hits)) if hits < n_rows else 1.0
    return low, high


def paired_interval(
    first_only: float, second_only: float, n_rows: float
) -> tuple[float, float]:
    """Bonett-Price interval of the difference between two shares of the same rows."""
    p = (first_only * n_rows + 1) / (n_rows + 2)
    q = (second_only * n_rows + 1) / (n_rows + 2)
    spread = np.sqrt(max(p + q - (p - q) ** 2, 0.0) / (n_rows + 2))
    z = float(norm.ppf((1 + LEVEL) / 2))
    return p - q - z * spread, p - q + z * spread


def root_mean_square(
    outputs: NDArray[Any],
    labeled: Labeled,
    unit: float,
    n_rows: int,
    least: float = np.inf,
) -> ErrorEstimate:
    r"""Error of a regression on held-out rows, for `n_rows` rows without a target.

    The mean of l squared residuals of kurtosis k has the relative variance (k - 1) / l,
    and likewise for `n_rows` others. On the logarithmic scale, the square roots of the
    two means therefore differ by about

    .. math:: \tfrac{1}{2} \sqrt{(k - 1) (1 / l + 1 / n)}

    A few residuals do not reveal their kurtosis, and errors also depend on which rows
    are labelled, so the interval is wider than that of a normal distribution. With one
    row fewer, a far worse choice of candidates is possible: the interval starts below
    `least`, the mean squared error of the candidates chosen with all rows.
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
    low = min(value, unit * math.sqrt(least)) * math.exp(-tuned.SPREADS_BELOW * spread)
    high = value * math.exp(tuned.SPREADS_ABOVE * spread)
    return ErrorEstimate(value, low, high, percent=False)


def error_posterior(
    n_wrong: float, n_right: float, doubt: float | None, per_class: float
) -> ErrorEstimate:
    """Combine held-out rows and the mean doubt about others as counts of a Beta."""
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


def mistakes(outputs: NDArray[Any], labeled: Labeled) -> NDArray[np.bool_]:
    """Whether each held-out row is misclassified; a class's only row always is."""
    return wrong(outputs, labeled.codes) | ~labeled.testable


def expected_error(
    outputs: NDArray[Any], labeled: Labeled, confidence: float | None
) -> ErrorEstimate:
    """Combine the error on held-out rows with the confidence on unlabelled ones.

    Held-out rows and doubts are the counts of a Beta posterior; rows that are held out
    together count as one. The only row of a class counts as a mistake. If labels are
    drawn at random, the share of such rows is also the expected share of classes
    without any label (Good-Turing).
    """
    counts = labeled.class_counts
    if counts.size < 2:
        return ErrorEstimate(np.nan, 0.0, 1.0, "the labels are of a single class")
    if counts.max() < 2:
        return ErrorEstimate(np.nan, 0.0, 1.0, NOTHING_HELD_OUT)
    v, n_groups = labeled.counted, labeled.n_groups
    missed = mistakes(outputs, labeled)
    alone = float(v @ ~labeled.testable) / n_groups
    doubt = None if confidence is None else 1 - (1 - alone) * confidence
    mean = n_groups / counts.size
    estimate = error_posterior(float(v @ missed), float(v @ ~missed), doubt, mean)
    if counts.size < tuned.MANY_CLASSES or n_groups >= 10 * counts.size:
        return estimate
    # With a row held out, its class is learned from one label fewer.
    return replace(estimate, low=estimate.low * ((mean - 1) / mean) ** tuned.STEEPEST)


def guessed_error(
    estimate: ErrorEstimate, own: NDArray[Any], supervised: NDArray[Any]
) -> ErrorEstimate:
    """Guess a range from the agreement of models where no row can be held out.

    If two models differ on a share d of the rows, their errors are at least d/2 on
    average. The upper end is empirical.
    """
    if estimate.note != NOTHING_HELD_OUT or not own.size:
        return estimate
    first, second = (class_outputs(f).argmax(axis=1) for f in (own, supervised))
    differ = float(np.mean(first != second))
    high = min(1.0, tuned.AGREED_ERROR + tuned.DISAGREED_ERROR * differ)
    return replace(
        estimate, low=differ / 2, high=high, note=f"{GUESSED}; {estimate.note}"
    )


def estimate_of_rows(
    held: NDArray[Any], labeled: Labeled, outputs: NDArray[Any], temperature: float
) -> ErrorEstimate:
    """Estimate the error on unlabelled rows; interval ends are whole rows."""
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
    """Compare held-out predictions with those of the baseline, row by row."""
    if not own.is_known or not np.isfinite(held_baseline).all():
        return ErrorEstimate(np.nan, -1.0, 1.0, own.note or "there is no baseline")
    ours, theirs = mistakes(held, labeled), mistakes(held_baseline, labeled)
    n_groups = labeled.n_groups
    v = labeled.counted / n_groups
    lost, won = float(v @ (ours & ~theirs)), float(v @ (theirs & ~ours))
    low, high = paired_interval(won, lost, tuned.EFFECTIVE * n_groups)
    return ErrorEstimate(won - lost, low, high)
