"""Error diagnostics from held-out rows: by class, by confidence, by label."""

# SPDX-License-Identifier: BSD-3-Clause

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fewlabels.automatic import _tuned as tuned
from fewlabels.automatic._errors import ErrorEstimate, error_posterior

CONFIDENCES = (0.0, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99)


@dataclass(frozen=True)
class HeldOut:
    """Held-out predictions of the whole procedure for the labelled rows.

    Parameters
    ----------
    rows : ndarray of shape (l,)
        Their numbers among the training rows.
    codes : ndarray of shape (l,)
        Class indices of their given labels.
    p : ndarray of shape (l, n_classes)
        Class probabilities.
    weights : ndarray of shape (l,)
        Their weights as representatives of unlabelled rows.
    confirmed : ndarray of shape (l, n_classes)
        As `p`, except for rows predicted differently from their label: their
        probabilities come only from labels that the other labels confirm.

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


class AcceptedRows(NamedTuple):
    """The rows whose confidence reaches a threshold.

    Attributes
    ----------
    confidence : float
        The threshold.
    n_rows : int
        Number of unlabelled rows that reach it.
    share : float
        Their share of the unlabelled rows.
    error : ErrorEstimate
        Their expected error.
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
    """Estimate the error among rows above each confidence threshold.

    As for the expected error of all rows, the counts of a Beta distribution are the
    held-out rows above the threshold and the doubts about the rows themselves.

    Parameters
    ----------
    p : ndarray of shape (n_rows, n_classes)
        Probabilities of the unlabelled rows.
    held : HeldOut or None
        Held-out predictions for the labelled rows; None if errors cannot be estimated.
    confidences : sequence of float
        The thresholds.
    note : str, default=""
        Why errors cannot be estimated.

    Returns
    -------
    accepted : list of AcceptedRows
        One for every threshold that any row reaches.

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
    """Estimate the confusion matrix, as shares of all rows.

    Held-out rows and the probabilities of unlabelled rows are averaged with the same
    weights as in the expected error.

    Parameters
    ----------
    p : ndarray of shape (n_rows, n_classes)
        Probabilities of the unlabelled rows.
    held : HeldOut
        Held-out predictions for the labelled rows.

    Returns
    -------
    shares : ndarray of shape (n_classes, n_classes)
        True classes in rows, predicted ones in columns; sums to 1.

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
    unit = tuned.HELD_OUT_WORTH * held.weights / held.weights.mean()
    np.add.at(counts, (held.codes, held.p.argmax(axis=1)), unit)
    if len(p):
        doubts = np.zeros((n_classes, n_classes))
        np.add.at(doubts.T, p.argmax(axis=1), p)
        counts += tuned.DOUBT_WORTH * doubts / len(p)
    return counts / counts.sum()


class ClassError(NamedTuple):
    """Expected errors of one class.

    Attributes
    ----------
    label : object
        The class.
    n_given : int
        Number of given labels of this class.
    n_predicted : int
        Number of unlabelled rows predicted as this class.
    wrong : float
        Expected share of rows predicted as this class that belong to another.
    missed : float
        Expected share of rows of this class that are predicted as another.
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
    """Compute the errors of single classes from expected confusions.

    Parameters
    ----------
    shares : ndarray of shape (n_classes, n_classes)
        See :func:`expected_confusions`.
    classes : ndarray of shape (n_classes,)
        The classes.
    n_given, n_predicted : ndarray of shape (n_classes,)
        Numbers of given labels and of predictions of each class.
    n_held : int
        Number of held-out rows; the fewer, the more class errors are shrunk towards
        the overall error.
    has_doubts : bool
        Whether there are unlabelled rows.

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
    counts = tuned.HELD_OUT_WORTH * n_held + tuned.DOUBT_WORTH * has_doubts
    pull = 2 * tuned.PRIOR_ERRORS / counts
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
    """Rows of one class that are predicted as another.

    Attributes
    ----------
    label : object
        The predicted class.
    truth : object
        The true class.
    share : float
        Their share among all rows.
    """

    label: Any
    truth: Any
    share: float


def largest_confusions(
    shares: NDArray[Any], classes: NDArray[Any], n_pairs: int = 5
) -> list[Confusion]:
    """Find the classes most often confused.

    Parameters
    ----------
    shares : ndarray of shape (n_classes, n_classes)
        See :func:`expected_confusions`.
    classes : ndarray of shape (n_classes,)
        The classes.
    n_pairs : int, default=5
        Largest number of pairs.

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
    """A given label that the other labels contradict.

    Attributes
    ----------
    row : int
        The training row.
    label : object
        The given label.
    likely : object
        The class predicted from the other labels.
    odds : float
        Ratio of its probability to that of the given label, with this label held out.
    """

    row: int
    label: Any
    likely: Any
    odds: float


def suspicious_labels(
    held: HeldOut, classes: NDArray[Any], odds: float = tuned.SUSPICIOUS_ODDS
) -> list[SuspiciousLabel]:
    """Find given labels that the other labels strongly contradict.

    Parameters
    ----------
    held : HeldOut
        Held-out predictions for the labelled rows.
    classes : ndarray of shape (n_classes,)
        The classes.
    odds : float
        Labels with at least these odds against them are returned, unless such a large
        share is contradicted that the model is more likely to be wrong than the labels.

    Returns
    -------
    suspicious : list of SuspiciousLabel
        The most doubtful first.

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.automatic import HeldOut, suspicious_labels
    >>> p = np.array([[0.9, 0.1], [0.2, 0.8], [0.3, 0.7], [0.9, 0.1]])
    >>> rows, codes = np.array([4, 7, 8, 9]), np.array([0, 1, 1, 1])
    >>> held = HeldOut(rows, codes, p, np.ones(4), p)
    >>> [(s.row, s.likely) for s in suspicious_labels(held, np.array(["a", "b"]))]
    [(9, 'a')]
    """
    likely = held.confirmed.argmax(axis=1)
    if np.mean(likely != held.codes) > tuned.MAX_CONTRADICTED:
        return []
    each = np.arange(held.codes.size)
    against = held.confirmed[each, likely] / held.confirmed[each, held.codes]
    # Without its only labelled row, a class cannot be predicted.
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
