"""The choice among candidates, and how good it will be: all on the labelled rows.

Nothing here knows rows or kernels, only outputs for labelled rows that were left out,
see :class:`fewlabels.automatic._scores.Models`.
"""

# SPDX-License-Identifier: BSD-3-Clause

import math
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax
from scipy.stats import beta, chi2, norm

from fewlabels.automatic._scores import (
    Models,
    class_outputs,
    log_losses,
    squared_losses,
    stratified_blocks,
)
from fewlabels.automatic._weights import (
    bootstrap_draws,
    decayed_weights,
    rank_sums,
    stacked_weights,
)

# Up to so many labels count as few.
FEW = 20
TEMPERATURES_FEW = 2.0 ** np.arange(-1, 5)
TEMPERATURES = 2.0 ** np.arange(-1, 9)
FINAL_TEMPERATURES = 2.0 ** np.arange(-2, 8.25, 0.25)
USUAL_TEMPERATURE = 3.0
# Probabilities are drawn towards a lower temperature, and twice as much: where a few
# held-out rows happen to be right, the best one is far too high. Chosen among nine, see
# docs/automatic_measured.md.
CAUTIOUS_TEMPERATURE = 1.5
CAUTION = 2.0
N_HALVES = 20
N_FIFTHS = 2
N_DRAWS = 100
# Share of the supervised output, where held-out rows do not speak against it; every
# so many standard errors by which its log-loss is larger divide the share by e.
INSURANCE = 0.1
INSURANCE_DECAY = 2.0
# Share of forests and the linear kernel on tables with up to `FEW` labels; with more it
# falls like their number. Chosen on half of 35 tables among 0 to 0.7, and with and
# without the linear kernel.
FEW_INSURANCE = 0.5
# Of candidates about equal the smoother one: a decade of ridge is worth this share of
# the ranks. Small ridges spoil graph kernels around an odd label, and few labels do not
# show it.
SMOOTHNESS = 0.03
# From so many classes on, an outer block takes one label of every class.
MANY_CLASSES = 5
N_OUTER = 20
# Where holding out costs accuracy, the error falls at most like this power of the
# number of labels.
STEEPEST = 1.0
# Labelled rows are not quite independent evidence: each counts as so many.
EFFECTIVE = 0.7
LEVEL = 0.9
# What the expected error is made of, in rows: a labelled row that was held out, all
# unlabelled rows and their doubts, and the errors (and hits) assumed beforehand. All
# of it is trusted a little less for the interval, and by a third less with three labels
# of a class, each of which is judged by the other two. Chosen by the width and coverage
# of intervals, the constants on one half of 35 tables and 13 benchmark sets, the fall
# with few labels with these and 269 more tables in view.
HELD_OUT_WORTH = 0.4
DOUBT_WORTH = 10.0
PRIOR_ERRORS = 0.75
TRUST = 0.85
# No class of a row is certain or impossible.
PROBABILITY_FLOOR = 1e-4
NOT_JUDGED = "refit_labels was asked not to judge (judge=False)"


@dataclass(frozen=True)
class Labeled:
    """The labelled rows of a problem, without the rows.

    Attributes
    ----------
    Y : ndarray of shape (l, n_targets)
        Targets.
    codes : ndarray of shape (l,)
        Classes; for a regression, all zero.
    groups : ndarray of shape (l,)
        Equal rows have the same number, and are held out together.
    importance : ndarray of shape (l,)
        Weights of the rows in losses, of mean 1.
    few : bool
        Whether the rules for few labels hold.
    regression : bool
        Whether targets are real numbers.
    """

    Y: NDArray[Any]
    codes: NDArray[np.intp]
    groups: NDArray[np.intp]
    importance: NDArray[Any]
    few: bool
    regression: bool = False

    @property
    def size(self) -> int:
        """Number of rows."""
        return self.codes.size

    @property
    def class_counts(self) -> NDArray[np.intp]:
        """Distinct rows of every class that occurs."""
        pairs = np.unique(np.column_stack([self.codes, self.groups]), axis=0)
        return np.unique(pairs[:, 0], return_counts=True)[1]

    @property
    def says_something(self) -> bool:
        """Whether a row held out can be told by the rest: a class has two rows."""
        several = np.unique(self.groups).size > 1
        if self.regression or not several:
            return several
        counts = self.class_counts
        return counts.size > 1 and bool(counts.max() > 1)

    def without(self, block: NDArray[np.intp]) -> "Labeled":
        """Take some rows away."""
        rest = np.setdiff1d(np.arange(self.size), block)
        return replace(
            self,
            Y=self.Y[rest],
            codes=self.codes[rest],
            groups=self.groups[rest],
            importance=self.importance[rest],
        )

    def sample(self, size: int, rng: np.random.RandomState) -> "Labeled":
        """Take about `size` of the rows, with all classes in their shares."""
        n_blocks = -(-self.size // size)
        sample = stratified_blocks(self.codes, self.groups, n_blocks, rng)[0]
        return self.without(np.setdiff1d(np.arange(self.size), sample))


class Losses(NamedTuple):
    """Losses of all candidates on every row, one held out and many held out."""

    single_squared: NDArray[Any]
    many_squared: NDArray[Any]
    single_log: NDArray[Any] | None
    many_log: NDArray[Any] | None
    single_wrong: NDArray[np.bool_] | None
    outputs: NDArray[Any]  # with many rows held out, averaged over repetitions

    def used(self, labeled: Labeled) -> list[NDArray[Any]]:
        """Those that rank candidates: with many labels and classes, log-loss only."""
        squared = [self.single_squared, self.many_squared]
        if self.single_log is None or self.many_log is None:
            return squared
        logs = [self.single_log, self.many_log]
        return squared + logs if labeled.few else logs


class Choice(NamedTuple):
    """Weights of candidates.

    Attributes
    ----------
    weights : ndarray of shape (n_candidates,)
        Of sum 1, the insurance included.
    baseline : int
        The best supervised candidate, -1 if there is none.
    losses : Losses or None
        None where held-out rows say nothing.
    """

    weights: NDArray[Any]
    baseline: int
    losses: Losses | None

    @property
    def outputs(self) -> NDArray[Any] | None:
        """Outputs of the average, with many rows held out."""
        if self.losses is None:
            return None
        return np.tensordot(self.weights, self.losses.outputs, axes=1)


class Pool(NamedTuple):
    """What is known of the variants of all candidates beforehand.

    Attributes
    ----------
    groups : ndarray of shape (n_variants,)
        Number of the candidate of every variant, in order.
    ridges : ndarray of shape (n_variants,)
        Their ridges; NaN for candidates that have none.
    supervised : ndarray of bool of shape (n_variants,)
        Which ones make no use of unlabelled rows.
    fixed : ndarray of shape (n_variants,)
        Weights where held-out rows say nothing.
    insurance : ndarray of shape (n_variants,)
        Weights of what is mixed in where labels are few, of sum 1 or 0.
    """

    groups: NDArray[np.intp]
    ridges: NDArray[Any]
    supervised: NDArray[np.bool_]
    fixed: NDArray[Any]
    insurance: NDArray[Any]

    @property
    def decades_below(self) -> NDArray[Any]:
        """Decades from the ridge of every variant up to the largest one."""
        decades = np.log10(np.nanmax(self.ridges, initial=0.0) / self.ridges)
        return np.nan_to_num(decades)

    @property
    def smoothest(self) -> int:
        """The last variant of the first supervised candidate; -1 if there is none."""
        known = self.groups[self.supervised]
        return int(np.flatnonzero(self.groups == known[0])[-1]) if known.size else -1

    def shares(self, weights: NDArray[Any]) -> NDArray[Any]:
        """Sum weights over the variants of every candidate."""
        return np.bincount(self.groups, weights)

    def of(self, chosen: NDArray[np.intp]) -> "Pool":
        """Take some candidates."""
        rows = np.isin(self.groups, chosen)
        fixed = self.fixed[rows]
        if not fixed.any():
            fixed = np.ones(fixed.size)
        insurance = self.insurance[rows]
        return Pool(
            np.unique(self.groups[rows], return_inverse=True)[1],
            self.ridges[rows],
            self.supervised[rows],
            fixed / fixed.sum(),
            insurance / (insurance.sum() or 1.0),
        )


def held_out_losses(
    models: Models, labeled: Labeled, rng: np.random.RandomState
) -> Losses:
    """Losses of every candidate: each row left out, and many rows left out at once.

    Many are a half of the rows, 20 times, with few labels; else a fifth, twice.
    """
    Y, codes, groups = labeled.Y, labeled.codes, labeled.groups
    singles = [np.flatnonzero(groups == g) for g in np.unique(groups)]
    repeats, n_blocks = (N_HALVES, 2) if labeled.few else (N_FIFTHS, 5)
    single = models.held_out(singles)
    grid = TEMPERATURES_FEW if labeled.few else TEMPERATURES
    squared, logs = [], []
    total = np.zeros_like(single)
    for _ in range(repeats):
        blocks = stratified_blocks(codes, groups, n_blocks, rng)
        many = models.held_out(blocks)
        total += many
        squared.append(squared_losses(many, Y))
        if not labeled.regression:
            logs.append(log_losses(many, codes, grid))
    single_log = None if labeled.regression else log_losses(single, codes, grid)
    return Losses(
        squared_losses(single, Y),
        np.mean(squared, axis=0),
        single_log,
        np.mean(logs, axis=0) if logs else None,
        None if labeled.regression else wrong(single, codes),
        total / repeats,
    )


def choose(
    losses: Losses | None, labeled: Labeled, pool: Pool, rng: np.random.RandomState
) -> Choice:
    """Weigh candidates by their losses.

    Ranks under the Bayesian bootstrap give weights; with more than a few labels these
    are then stacked, and the best supervised candidate is mixed in, the less so the
    more certainly it is worse on held-out rows.
    """
    if losses is None:
        # Without evidence the smoothest supervised candidate is as good as any.
        return Choice(pool.fixed, pool.smoothest, None)
    used = losses.used(labeled)
    draws = bootstrap_draws(N_DRAWS, labeled.size, rng) * labeled.importance
    decay = 0.7 if labeled.few else 0.75
    sums = rank_sums(used, draws)
    if not labeled.few:
        sums += SMOOTHNESS * len(used) * sums.shape[1] * pool.decades_below
    weights = decayed_weights(sums, pool.groups, decay)
    held = None
    if not labeled.few and losses.many_log is not None:
        means = losses.many_log @ labeled.importance
        best = means.argmin(axis=1)
        held = losses.many_log[np.arange(best.size), best]
        weights = stacked_weights(np.exp(-held), weights, labeled.importance)
    if pool.insurance.any():
        share = FEW_INSURANCE * min(1.0, FEW / labeled.size)
        weights = (1 - share) * weights + share * pool.insurance
    baseline = -1
    if pool.supervised.any():
        plain = rank_sums(used, labeled.importance[None])[0]
        baseline = int(np.where(pool.supervised, plain, np.inf).argmin())
        if not labeled.few:
            share = INSURANCE
            if held is not None:
                excess = held[baseline] + np.log(weights @ np.exp(-held))
                share *= _plausibility(excess, labeled.importance)
            weights = (1 - share) * weights
            weights[baseline] += share
    return Choice(weights, baseline, losses)


def _plausibility(excess: NDArray[Any], importance: NDArray[Any]) -> float:
    """1 where a loss is not in excess, near 0 where it surely is."""
    error = np.std(importance * excess, ddof=1) / np.sqrt(excess.size)
    mean = float(np.mean(importance * excess))
    if mean <= 0:
        return 1.0
    return float(np.exp(-mean / (INSURANCE_DECAY * max(error, 1e-12))))


class Nested(NamedTuple):
    """Outputs for labelled rows by the whole procedure on other rows.

    Attributes
    ----------
    outputs : ndarray of shape (l, n_targets)
        Of the average.
    baseline : ndarray of shape (l, n_targets)
        Of the supervised candidate chosen; NaN where there is none.
    confirmed : ndarray of shape (l, n_targets)
        The outputs, but for rows that get another class than theirs those of the
        average learned without all such rows.
    halves : ndarray of shape (l, n_targets) or None
        Of the average learned from the half of the rows without the row; None where
        labels are too few for it to tell anything.
    """

    outputs: NDArray[Any]
    baseline: NDArray[Any]
    confirmed: NDArray[Any]
    halves: NDArray[Any] | None


def outer_blocks(
    labeled: Labeled, rng: np.random.RandomState
) -> list[NDArray[np.intp]]:
    """Blocks for judging the whole procedure."""
    n_groups = np.unique(labeled.groups).size
    n_blocks = n_groups if labeled.size <= FEW else min(N_OUTER, n_groups)
    if not labeled.regression and labeled.class_counts.size >= MANY_CLASSES:
        n_blocks = min(n_blocks, int(labeled.class_counts.max()))
    return stratified_blocks(labeled.codes, labeled.groups, max(2, n_blocks), rng)


def nested_outputs(
    models: Models, labeled: Labeled, pool: Pool, rng: np.random.RandomState
) -> Nested:
    """Leave blocks out and repeat scoring, weighting and averaging on the rest."""
    outputs, baseline = _left_out(
        models, labeled, pool, outer_blocks(labeled, rng), rng
    )
    if labeled.regression:
        return Nested(outputs, baseline, outputs, None)
    # What is asked beside must not change the draws of what follows.
    own = np.random.RandomState(labeled.size)
    halves = None
    if labeled.size > FEW:
        blocks = stratified_blocks(labeled.codes, labeled.groups, 2, own)
        halves, _ = _left_out(models, labeled, pool, blocks, own)
    confirmed = outputs.copy()
    # Wrong labels hide behind each other, and are left out together.
    block = np.flatnonzero(wrong(outputs, labeled.codes))
    if 0 < 2 * block.size <= labeled.size and labeled.without(block).says_something:
        confirmed[block] = _left_out(models, labeled, pool, [block], own)[0][block]
    return Nested(outputs, baseline, confirmed, halves)


def _left_out(
    models: Models,
    labeled: Labeled,
    pool: Pool,
    blocks: list[NDArray[np.intp]],
    rng: np.random.RandomState,
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Answers for blocks by the whole procedure without them, and by the baseline."""
    outputs = np.full(labeled.Y.shape, np.nan)
    baseline = np.full(labeled.Y.shape, np.nan)
    for block in blocks:
        rest, own = labeled.without(block), models
        centre = np.zeros(labeled.Y.shape[1])
        if labeled.regression:  # the mean of all targets knows those of the block
            centre = rest.Y.mean(axis=0)
            rest, own = replace(rest, Y=rest.Y - centre), models.shifted(centre)
        losses = None
        if rest.says_something:
            losses = held_out_losses(own.without(block), rest, rng)
        choice = choose(losses, rest, pool, rng)
        answers = own.held_out([block])[:, block] + centre
        outputs[block] = np.tensordot(choice.weights, answers, axes=1)
        if choice.baseline >= 0:
            baseline[block] = answers[choice.baseline]
    return outputs, baseline


def best_temperature(
    outputs: NDArray[Any],
    labeled: Labeled,
    usual: float = USUAL_TEMPERATURE,
    pull: float = 1.0,
) -> float:
    r"""Temperature T of softmax(T f) by held-out log-loss, drawn towards a usual one.

    .. math:: \min_T \sum_i -\log p_i(T) + \text{pull} \log^2 (T / T_0)
    """
    known = np.isfinite(outputs).all(axis=1)
    if not known.any():
        # A label of each class needs no caution: the log-loss on 35 tables is 1.22 with
        # this one, 1.28 with half of it and 1.24 with half as much again.
        return USUAL_TEMPERATURE
    losses = log_losses(outputs[known], labeled.codes[known], FINAL_TEMPERATURES)
    total = losses @ labeled.importance[known]
    total += pull * np.log(FINAL_TEMPERATURES / usual) ** 2
    return float(FINAL_TEMPERATURES[total.argmin()])


def probabilities(outputs: NDArray[Any], temperature: float) -> NDArray[Any]:
    """Probabilities of classes, none of them 0 or 1."""
    p = softmax(temperature * class_outputs(outputs), axis=1)
    return (1 - PROBABILITY_FLOOR) * p + PROBABILITY_FLOOR / p.shape[1]


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
    unknown: one label in a class
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
            return f"unknown: {self.note}"
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
    outputs: NDArray[Any], labeled: Labeled, unit: float
) -> ErrorEstimate:
    """Error of a regression on held-out rows."""
    if not np.isfinite(outputs).all():
        return ErrorEstimate(
            np.nan, 0.0, np.inf, "there are not two different labelled rows", False
        )
    square = float(np.mean((outputs - labeled.Y) ** 2))
    n_rows = max(1.0, EFFECTIVE * labeled.size)
    tail = (1 - LEVEL) / 2
    low, high = (n_rows * square / chi2.ppf(q, n_rows) for q in (1 - tail, tail))
    value, low, high = (unit * math.sqrt(s) for s in (square, low, high))
    return ErrorEstimate(value, low, high, percent=False)


def wrong(outputs: NDArray[Any], codes: NDArray[np.intp]) -> NDArray[np.bool_]:
    """Which rows the largest output puts into a wrong class."""
    return class_outputs(outputs).argmax(axis=-1) != codes


def error_posterior(
    n_wrong: float, n_right: float, doubt: float | None, per_class: float
) -> ErrorEstimate:
    """Take held-out rows, and the mean doubt about others, as counts of a Beta."""
    trust = TRUST * (1 - 1 / max(2.0, per_class))
    n_doubt = 0.0 if doubt is None else DOUBT_WORTH
    doubts = n_doubt * (doubt or 0.0)
    counts = np.array(
        [
            HELD_OUT_WORTH * n_wrong + doubts + PRIOR_ERRORS,
            HELD_OUT_WORTH * n_right + n_doubt - doubts + PRIOR_ERRORS,
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
            "a class has a single label, or labels on copies of one row alone: label a "
            "second, different row of each",
        )
    v = labeled.size * labeled.importance / labeled.importance.sum()
    missed = wrong(outputs, labeled.codes)
    doubt = None if confidence is None else 1 - confidence
    mean = labeled.size / counts.size
    estimate = error_posterior(float(v @ missed), float(v @ ~missed), doubt, mean)
    if counts.size < MANY_CLASSES or labeled.size >= 10 * counts.size:
        return estimate
    # Each class is learned from one label less than there are of it.
    return replace(
        estimate,
        low=estimate.low * ((mean - 1) / mean) ** STEEPEST,
        note="an upper estimate, as holding out some of so few labels costs accuracy",
    )


def estimate_of_rows(
    held: NDArray[Any], labeled: Labeled, outputs: NDArray[Any], temperature: float
) -> ErrorEstimate:
    """Expect an error on unlabelled rows, of which there is a whole number."""
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
    low, high = paired_interval(won, lost, EFFECTIVE * labeled.size)
    return ErrorEstimate(won - lost, low, high)
