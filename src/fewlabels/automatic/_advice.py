"""What an expected error means for its reader, and what to do about it.

Everything here works on probabilities: those of rows without a label, and those of
labelled rows by the whole procedure without them.
"""

# SPDX-License-Identifier: BSD-3-Clause

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import diags_array, issparse
from sklearn.utils import check_random_state

from fewlabels.automatic._choice import (
    DOUBT_WORTH,
    HELD_OUT_WORTH,
    PRIOR_ERRORS,
    ErrorEstimate,
    error_posterior,
)

# The error falls like a power of the number of labels. Between 10 and 100 labels of
# eleven benchmark sets the exponent was 0.02 to 2.5 with a median of 0.2, and 0.26 to
# 0.29 in the mean of 35 tables.
USUAL_EXPONENT = 0.3
EXPONENT_SPREAD = 0.2
LEAST_EXPONENT, LARGEST_EXPONENT = 0.15, 1.0
CONFIDENCES = (0.0, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99)
# A label is suspicious where the others give another class at least these odds.
# With one label of five wrong, 2 names two thirds of these and one of twenty others
# (mean over six small sets, on which it was chosen); 4 would name half as many of both.
SUSPICIOUS_ODDS = 2.0


@dataclass(frozen=True)
class HeldOut:
    """Labelled rows as the whole procedure sees them without their labels.

    Parameters
    ----------
    rows : ndarray of shape (l,)
        Which training rows they are.
    codes : ndarray of shape (l,)
        Places of their given labels among the classes.
    p : ndarray of shape (l, n_classes)
        Probabilities of classes.
    weights : ndarray of shape (l,)
        What they count as examples of rows without a label.
    confirmed : ndarray of shape (l, n_classes)
        Probabilities as in `p`, but for a row that gets another class than its label
        by the labels of rows that the others confirm.

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.automatic import HeldOut
    >>> p = np.array([[0.9, 0.1], [0.2, 0.8]])
    >>> held = HeldOut(np.array([4, 7]), np.array([0, 1]), p, np.ones(2), p)
    >>> held.rows
    array([4, 7])
    """

    rows: NDArray[np.intp]
    codes: NDArray[np.intp]
    p: NDArray[Any]
    weights: NDArray[Any]
    confirmed: NDArray[Any]


@dataclass(frozen=True)
class LearningCurve:
    r"""How the error is expected to fall as labels are added.

    A power law: :math:`e(m) = e(l)\,(l / m)^b`.

    Parameters
    ----------
    n_labels : int
        The labels there are.
    error : float
        The error that is expected with them; NaN where it is unknown.
    exponent : float
        The power b.
    low, high : float
        Interval of about 90 % for the power.

    Examples
    --------
    >>> from fewlabels.automatic import LearningCurve
    >>> curve = LearningCurve(20, 0.2, 0.5, 0.3, 0.8)
    >>> curve.labels_for(0.1)
    80
    >>> round(curve.error_with(80), 3)
    0.1
    """

    n_labels: int
    error: float
    exponent: float
    low: float
    high: float

    def error_with(self, n_labels: int) -> float:
        """Error to expect with another number of labels.

        Parameters
        ----------
        n_labels : int
            How many labels.

        Returns
        -------
        error : float
            NaN where the present error is unknown.
        """
        return float(self.error * (self.n_labels / n_labels) ** self.exponent)

    def labels_for(self, error: float) -> int:
        """Labels that are needed for an error, to two digits.

        Parameters
        ----------
        error : float
            The error that is wanted, above 0.

        Returns
        -------
        n_labels : int
            At least those that there are.
        """
        if not error > 0:
            raise ValueError(f"error must be above 0, got {error}.")
        return self._labels(error / self.error, self.exponent)

    def halving(self) -> tuple[int, int, int]:
        """Labels with which the error would be half of what it is.

        Returns
        -------
        expected, least, most : int
            The guess, and an interval of about 90 %.
        """
        exponents = (self.exponent, self.high, self.low)
        expected, least, most = (self._labels(0.5, b) for b in exponents)
        return expected, least, most

    def _labels(self, ratio: float, exponent: float) -> int:
        n = self.n_labels * max(1.0, (1 / ratio) ** (1 / exponent))
        digits = 10 ** max(0, math.floor(math.log10(n)) - 1)
        return max(self.n_labels, int(digits * round(n / digits)))


def learning_curve(
    n_labels: int,
    error: float,
    wrong: ArrayLike | None = None,
    wrong_with_half: ArrayLike | None = None,
) -> LearningCurve:
    r"""Estimate how the error falls from answers with all and with half the labels.

    The exponent is the base-2 logarithm of the ratio of the two errors, drawn towards
    0.3 by its variance: that of paired counts, against 0.2² for what is usual.

    Parameters
    ----------
    n_labels : int
        The labels there are.
    error : float
        The error that is expected with them.
    wrong, wrong_with_half : array-like of bool of shape (l,), default=None
        Which labelled rows were answered wrongly without their own label, by all others
        and by half of them.

    Returns
    -------
    curve : LearningCurve
        The power law; with the usual exponent where there are no answers.

    Examples
    --------
    >>> from fewlabels.automatic import learning_curve
    >>> learning_curve(20, 0.2).exponent
    0.3
    """
    exponent, variance = USUAL_EXPONENT, EXPONENT_SPREAD**2
    if wrong is not None and wrong_with_half is not None:
        own, half = np.asarray(wrong, bool), np.asarray(wrong_with_half, bool)
        n_own, n_half = own.sum() + 0.5, half.sum() + 0.5
        noise = ((own != half).sum() + 1.0) / (n_own * n_half) / math.log(2) ** 2
        slope = math.log2(n_half / n_own)
        trust = variance / (variance + noise)
        exponent += trust * (slope - exponent)
        variance *= 1 - trust
    spread = 1.645 * math.sqrt(variance)
    low, middle, high = np.clip(
        [exponent - spread, exponent, exponent + spread],
        LEAST_EXPONENT,
        LARGEST_EXPONENT,
    ).tolist()
    return LearningCurve(int(n_labels), float(error), middle, low, high)


class AcceptedRows(NamedTuple):
    """The rows that are at least so sure.

    Attributes
    ----------
    confidence : float
        From which confidence on.
    n_rows : int
        How many rows without a label are as sure.
    share : float
        Their share among those without a label.
    error : ErrorEstimate
        What share of them to expect wrong.
    """

    confidence: float
    n_rows: int
    share: float
    error: ErrorEstimate


def errors_above(
    p: NDArray[Any],
    held: HeldOut | None,
    confidences: Sequence[float] = CONFIDENCES,
    note: str = "",
) -> list[AcceptedRows]:
    """Tell what error to expect among the rows that are sure.

    As in the expected error of all rows, held-out rows that are as sure and doubts
    about the rows themselves are counts of a Beta distribution.

    Parameters
    ----------
    p : ndarray of shape (n_rows, n_classes)
        Probabilities of the rows without a label.
    held : HeldOut or None
        Labelled rows without their labels; None where nothing can be said.
    confidences : sequence of float
        From which confidences on.
    note : str, default=""
        Why nothing can be said.

    Returns
    -------
    accepted : list of AcceptedRows
        One for every confidence that any row has.

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.automatic import HeldOut, errors_above
    >>> p = np.array([[0.9, 0.1], [0.2, 0.8], [0.7, 0.3]])
    >>> held = HeldOut(np.array([4, 7, 9]), np.array([0, 1, 1]), p, np.ones(3), p)
    >>> [row.n_rows for row in errors_above(p, held, [0.0, 0.75])]
    [3, 2]
    """
    sure = p.max(axis=1) if p.size else np.empty(0)
    found = []
    for confidence in confidences:
        among = sure >= confidence
        n_rows = int(among.sum())
        if not n_rows:
            continue
        if held is None:
            error = ErrorEstimate(np.nan, 0.0, 1.0, note)
        else:
            as_sure = held.p.max(axis=1) >= confidence
            wrong = held.p.argmax(axis=1) != held.codes
            unit = held.weights / held.weights.mean()
            error = error_posterior(
                float(unit @ (wrong & as_sure)),
                float(unit @ (~wrong & as_sure)),
                float(1 - sure[among].mean()),
                held.codes.size / p.shape[1],
            )
        found.append(AcceptedRows(confidence, n_rows, n_rows / sure.size, error))
    return found


def expected_confusions(p: NDArray[Any], held: HeldOut) -> NDArray[np.float64]:
    """Shares of rows by their class and by the label that they get.

    Held-out rows and the probabilities of rows without a label are averaged in the
    proportion in which they count for the expected error.

    Parameters
    ----------
    p : ndarray of shape (n_rows, n_classes)
        Probabilities of the rows without a label.
    held : HeldOut
        Labelled rows without their labels.

    Returns
    -------
    shares : ndarray of shape (n_classes, n_classes)
        True classes in rows, labels in columns; of sum 1.

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.automatic import HeldOut, expected_confusions
    >>> p = np.array([[0.9, 0.1], [0.2, 0.8], [0.7, 0.3]])
    >>> held = HeldOut(np.array([4, 7, 9]), np.array([0, 1, 1]), p, np.ones(3), p)
    >>> expected_confusions(p, held).round(2)
    array([[0.51, 0.06],
           [0.15, 0.27]])
    """
    n_classes = held.p.shape[1]
    counts = np.zeros((n_classes, n_classes))
    unit = HELD_OUT_WORTH * held.weights / held.weights.mean()
    np.add.at(counts, (held.codes, held.p.argmax(axis=1)), unit)
    if len(p):
        doubts = np.zeros((n_classes, n_classes))
        np.add.at(doubts.T, p.argmax(axis=1), p)
        counts += DOUBT_WORTH * doubts / len(p)
    return counts / counts.sum()


class ClassError(NamedTuple):
    """What to expect of one class.

    Attributes
    ----------
    label : object
        The class.
    n_given : int
        Labels of it that were given.
    n_predicted : int
        Rows without a label that got it.
    wrong : float
        Which share of the rows that got it to expect in truth to be of another class.
    missed : float
        Which share of the rows of this class to expect to have got another label.
    """

    label: Any
    n_given: int
    n_predicted: int
    wrong: float
    missed: float


def class_errors(
    shares: NDArray[Any],
    classes: NDArray[Any],
    n_given: NDArray[np.intp],
    n_predicted: NDArray[np.intp],
    n_held: int,
    has_doubts: bool,
) -> list[ClassError]:
    """Read the errors of single classes off expected confusions.

    Parameters
    ----------
    shares : ndarray of shape (n_classes, n_classes)
        See :func:`expected_confusions`.
    classes : ndarray of shape (n_classes,)
        The classes.
    n_given, n_predicted : ndarray of shape (n_classes,)
        Labels and predictions of each.
    n_held : int
        How many rows were held out; the fewer, the more classes are drawn towards the
        error of all.
    has_doubts : bool
        Whether there are rows without a label.

    Returns
    -------
    errors : list of ClassError
        In the order of the classes.

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.automatic import HeldOut, class_errors, expected_confusions
    >>> p = np.array([[0.9, 0.1], [0.2, 0.8], [0.7, 0.3]])
    >>> held = HeldOut(np.array([4, 7, 9]), np.array([0, 1, 1]), p, np.ones(3), p)
    >>> shares = expected_confusions(p, held)
    >>> counts = np.array([2, 1])
    >>> errors = class_errors(shares, np.array(["a", "b"]), counts, counts, 3, True)
    >>> [(e.label, round(e.wrong, 2)) for e in errors]
    [('a', 0.23), ('b', 0.19)]
    """
    overall = 1 - np.trace(shares)
    counts = HELD_OUT_WORTH * n_held + DOUBT_WORTH * has_doubts
    pull = 2 * PRIOR_ERRORS / counts
    right = np.diag(shares)
    wrong, missed = (
        (total - right + pull * overall) / (total + pull)
        for total in (shares.sum(axis=0), shares.sum(axis=1))
    )
    rows = zip(
        classes.tolist(),
        n_given.tolist(),
        n_predicted.tolist(),
        wrong.tolist(),
        missed.tolist(),
        strict=True,
    )
    return [ClassError(*row) for row in rows]


class Confusion(NamedTuple):
    """Rows of one class that get the label of another.

    Attributes
    ----------
    label : object
        The label that they get.
    truth : object
        What they are.
    share : float
        Their share among all rows.
    """

    label: Any
    truth: Any
    share: float


def largest_confusions(
    shares: NDArray[Any], classes: NDArray[Any], n_pairs: int = 5
) -> list[Confusion]:
    """Find what is confused with what.

    Parameters
    ----------
    shares : ndarray of shape (n_classes, n_classes)
        See :func:`expected_confusions`.
    classes : ndarray of shape (n_classes,)
        The classes.
    n_pairs : int, default=5
        How many pairs at most.

    Returns
    -------
    confusions : list of Confusion
        The largest first.

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.automatic import HeldOut, expected_confusions, largest_confusions
    >>> p = np.array([[0.9, 0.1], [0.2, 0.8], [0.7, 0.3]])
    >>> held = HeldOut(np.array([4, 7, 9]), np.array([0, 1, 1]), p, np.ones(3), p)
    >>> shares = expected_confusions(p, held)
    >>> largest_confusions(shares, np.array(["a", "b"]))[0][:2]
    ('a', 'b')
    """
    off = np.where(np.eye(len(shares), dtype=bool), 0.0, shares)
    names = classes.tolist()
    found = []
    for place in np.argsort(-off, axis=None, kind="stable")[:n_pairs]:
        truth, label = np.unravel_index(place, off.shape)
        if off[truth, label] > 0:
            share = float(off[truth, label])
            found.append(Confusion(names[label], names[truth], share))
    return found


class SuspiciousLabel(NamedTuple):
    """A given label that the others contradict.

    Attributes
    ----------
    row : int
        The training row.
    label : object
        What was given.
    likely : object
        What the other labels say.
    odds : float
        How many times as probable as the given label that is, without this label.
    """

    row: int
    label: Any
    likely: Any
    odds: float


def suspicious_labels(
    held: HeldOut, classes: NDArray[Any], odds: float = SUSPICIOUS_ODDS
) -> list[SuspiciousLabel]:
    """Find given labels that the others contradict strongly.

    Parameters
    ----------
    held : HeldOut
        Labelled rows without their labels.
    classes : ndarray of shape (n_classes,)
        The classes.
    odds : float
        From which odds against a label on it is named.

    Returns
    -------
    suspicious : list of SuspiciousLabel
        The most doubtful first.

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.automatic import HeldOut, suspicious_labels
    >>> p = np.array([[0.9, 0.1], [0.2, 0.8], [0.7, 0.3]])
    >>> held = HeldOut(np.array([4, 7, 9]), np.array([0, 1, 1]), p, np.ones(3), p)
    >>> [(s.row, s.likely) for s in suspicious_labels(held, np.array(["a", "b"]))]
    [(9, 'a')]
    """
    likely = held.confirmed.argmax(axis=1)
    each = np.arange(held.codes.size)
    against = held.confirmed[each, likely] / held.confirmed[each, held.codes]
    # The only row of a class cannot be told without it.
    alone = np.bincount(held.codes, minlength=classes.size)[held.codes] < 2
    doubtful = np.flatnonzero((against >= odds) & ~alone)
    order = doubtful[np.argsort(-against[doubtful], kind="stable")]
    names = classes.tolist()
    return [
        SuspiciousLabel(
            int(held.rows[k]),
            names[held.codes[k]],
            names[likely[k]],
            float(against[k]),
        )
        for k in order
    ]


class ColumnEffect(NamedTuple):
    """How much one column matters.

    Attributes
    ----------
    column : object
        Name or number of the column.
    changed : float
        Share of rows whose label changes where the column's values are exchanged among
        rows; NaN for a regression.
    effect : float
        By how much answers move: the mean distance between probabilities, from 0 to 1,
        or between targets in units of their standard deviation.
    """

    column: Any
    changed: float
    effect: float


def column_effects(
    predict: Callable[[Any], NDArray[Any]],
    X: Any,
    groups: ArrayLike,
    *,
    n_rows: int = 100,
    random_state: Any = 0,
) -> list[ColumnEffect]:
    """Find out which columns matter, by exchanging their values among rows.

    Columns that say the same as others matter little by this measure, since the others
    still say it.

    Parameters
    ----------
    predict : callable
        Gives probabilities of shape (n, n_classes), or targets of shape (n,), for rows.
    X : {ndarray, csr_matrix} of shape (n_samples, n_features)
        Rows.
    groups : array-like of shape (n_features,)
        The column that every feature belongs to.
    n_rows : int, default=100
        How many rows to try, drawn at random.
    random_state : int, RandomState instance or None, default=0
        Seed of the sample and of the exchange.

    Returns
    -------
    effects : list of ColumnEffect
        The column that matters most first.

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.automatic import column_effects
    >>> X = np.random.default_rng(0).normal(size=(50, 2))
    >>> first = lambda rows: np.column_stack([rows[:, 0] > 0, rows[:, 0] <= 0]) * 1.0
    >>> [e.column for e in column_effects(first, X, ["used", "idle"]) if e.effect > 0]
    ['used']
    """
    groups = np.asarray(groups)
    if groups.shape != (X.shape[1],):
        raise ValueError(
            f"groups must have one entry per feature, {X.shape[1]} in all, got shape "
            f"{groups.shape}."
        )
    rng = check_random_state(random_state)
    rows = np.sort(rng.permutation(X.shape[0])[:n_rows])
    sample = X[rows]
    other = rng.permutation(rows.size)
    before = predict(sample)
    found = []
    for group in dict.fromkeys(groups.tolist()):
        after = predict(_exchanged(sample, groups == group, other))
        if before.ndim == 2:
            effect = float(np.abs(after - before).sum(axis=1).mean() / 2)
            changed = float(np.mean(after.argmax(axis=1) != before.argmax(axis=1)))
        else:
            effect = float(np.abs(after - before).mean() / (before.std() or 1.0))
            changed = math.nan
        found.append(ColumnEffect(group, changed, effect))
    return sorted(found, key=lambda column: -column.effect)


def _exchanged(X: Any, own: NDArray[np.bool_], order: NDArray[np.intp]) -> Any:
    """Take some features from other rows."""
    if not issparse(X):
        return np.where(own, X[order], X)
    keep = diags_array(np.where(own, 0.0, 1.0))
    return (X @ keep + X[order] @ diags_array(np.where(own, 1.0, 0.0))).tocsr()


def columns_of(estimator: Any) -> NDArray[Any]:
    """Name the column that every feature of an automatic estimator belongs to."""
    transformer = estimator.transformer_
    if transformer is not None:
        names = np.array([c.name for c in transformer.columns_], dtype=object)
        return names[transformer.feature_columns_]
    if estimator.feature_groups is not None:
        return np.asarray(estimator.feature_groups)
    features = np.arange(estimator.n_features_in_)
    return getattr(estimator, "feature_names_in_", features)


def guess_words(error: ErrorEstimate, guessing: float) -> str:
    """Say whether giving every row the largest class may be as good."""
    if not error.is_known or error.high < guessing:
        return ""
    return (
        "The answers may be no better than guessing: giving every row the largest "
        f"class would be wrong for about {100 * guessing:.0f} %."
    )


def halving_words(curve: LearningCurve) -> str:
    """Say how many labels would halve the error."""
    if not curve.error > 0:
        return ""
    expected, least, most = curve.halving()
    return (
        f"To halve the error would take about {expected:,} labels in all (roughly: "
        f"{least:,} to {most:,}); twice as many would bring it to about "
        f"{100 * curve.error_with(2 * curve.n_labels):.0f} %."
    )


def suspicion_words(
    suspicious: Sequence[SuspiciousLabel], first_row: int = 0, limit: int = 5
) -> str:
    """Name labels that the others contradict."""
    if not suspicious:
        return ""
    named = [
        f"row {s.row + first_row} ({s.label}; {s.likely} is more likely)"
        for s in suspicious[:limit]
    ]
    more = len(suspicious) - len(named)
    rest = f" and {more} more" if more else ""
    return (
        f"Labels that the others contradict: {', '.join(named)}{rest}. If they are "
        "wrong, the expected error counts them as mistakes, and is too large."
    )


def effect_words(effects: Sequence[ColumnEffect], limit: int = 5) -> str:
    """Name the columns that matter most."""
    telling = [e for e in effects if e.effect >= 0.005][:limit]
    if len(effects) < 2 or not telling:
        return ""
    named = [f"{e.column} ({100 * e.effect:.0f} %)" for e in telling]
    return (
        "Columns that matter most (how far answers move when values are shuffled "
        f"among rows): {', '.join(named)}."
    )


def verdict(
    error: ErrorEstimate, guessing: float, accepted: Sequence[AcceptedRows]
) -> str:
    """Say in one sentence what predicted labels are worth.

    Parameters
    ----------
    error : ErrorEstimate
        The error that is expected.
    guessing : float
        The error of giving every row the largest class.
    accepted : sequence of AcceptedRows
        Errors of the rows that are sure.

    Returns
    -------
    sentence : str
        A sentence.

    Examples
    --------
    >>> from fewlabels.automatic import ErrorEstimate, verdict
    >>> verdict(ErrorEstimate(0.04, 0.01, 0.09), 0.5, [])
    'Probably about 4 of 100 predicted labels are wrong (1 to 9).'
    """
    if not error.is_known:
        return f"Nothing can be said yet about the predicted labels: {error.note}."
    value, low, high = (_of_100(e) for e in (error.value, error.low, error.high))
    about = f"about {value} of 100 predicted labels are wrong ({low} to {high})"
    if error.high >= guessing:
        return (
            f"Probably {about}, which may be no better than giving every row the "
            "largest class: label more rows before you use them."
        )
    best = next(
        (
            a
            for a in accepted
            if a.confidence > 0
            and a.share < 0.995
            and a.error.value <= min(0.05, 0.7 * error.value)
        ),
        None,
    )
    if best is None or best.share < 0.05:
        return f"Probably {about}."
    return (
        f"Probably {about}; of the {100 * best.share:.0f} % with a confidence of "
        f"{best.confidence:g} or more, {_of_100(best.error.value)} of 100."
    )


def _of_100(share: float) -> str:
    if 0 < share < 0.005:
        return "less than 1"
    return f"{100 * share:.0f}"
