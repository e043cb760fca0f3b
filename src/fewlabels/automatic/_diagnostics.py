"""What held-out rows say about errors: by class, by confidence, by label."""

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
    unit = tuned.HELD_OUT_WORTH * held.weights / held.weights.mean()
    np.add.at(counts, (held.codes, held.p.argmax(axis=1)), unit)
    if len(p):
        doubts = np.zeros((n_classes, n_classes))
        np.add.at(doubts.T, p.argmax(axis=1), p)
        counts += tuned.DOUBT_WORTH * doubts / len(p)
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
    held: HeldOut, classes: NDArray[Any], odds: float = tuned.SUSPICIOUS_ODDS
) -> list[SuspiciousLabel]:
    """Find given labels that the others contradict strongly.

    Parameters
    ----------
    held : HeldOut
        Labelled rows without their labels.
    classes : ndarray of shape (n_classes,)
        The classes.
    odds : float
        Labels with at least these odds against them are named.

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
