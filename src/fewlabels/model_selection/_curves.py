"""Error against the number of labels and of unlabelled rows."""

# SPDX-License-Identifier: BSD-3-Clause

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from numpy.random import RandomState
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state
from sklearn.utils.parallel import delayed
from sklearn.utils.validation import indexable

from fewlabels._labels import with_holes
from fewlabels._progress import Progress
from fewlabels.model_selection._compare import (
    _name_of,
    check_estimators,
    run_all,
    single_scoring,
)
from fewlabels.model_selection._splitters import draw_labels, known_targets
from fewlabels.model_selection._validation import check_held_out, fit_and_score


@dataclass(frozen=True, eq=False)
class LabelCurve:
    """What :func:`learning_curve_labels` found; printed, it is a table.

    Attributes
    ----------
    names : tuple of str
        The estimators.
    metric : str
        What the scores are; larger is better.
    n_labels : ndarray of shape (n_label_counts,)
        Numbers of labels in training.
    n_unlabeled : ndarray of shape (n_unlabeled_counts,)
        Numbers of unlabelled rows in training.
    scores : ndarray of shape (n_estimators, n_label_counts, n_unlabeled_counts, \
            n_repeats)
        All scores.
    fit_seconds : ndarray of the same shape
        How long training took.
    n_test : int
        Rows tested in every repetition.
    """

    names: tuple[str, ...]
    metric: str
    n_labels: NDArray[np.intp]
    n_unlabeled: NDArray[np.intp]
    scores: NDArray[Any]
    fit_seconds: NDArray[Any]
    n_test: int

    @property
    def errors(self) -> NDArray[Any]:
        """Errors, smaller is better: 1 - score, or -score of ``neg_...``."""
        return -self.scores if self.metric.startswith("neg_") else 1 - self.scores

    def to_rows(self) -> list[dict[str, Any]]:
        """Return all means, one dict per point, as `pandas.DataFrame` takes them.

        Returns
        -------
        rows : list of dict
            Keys "estimator", "n_labels", "n_unlabeled", "mean" and "std" of the score
            over repetitions, and "fit_seconds".
        """
        rows = []
        for e, i, j in np.ndindex(self.scores.shape[:3]):
            point = self.scores[e, i, j]
            rows.append(
                {
                    "estimator": self.names[e],
                    "n_labels": int(self.n_labels[i]),
                    "n_unlabeled": int(self.n_unlabeled[j]),
                    "mean": float(point.mean()),
                    "std": float(point.std(ddof=1)) if point.size > 1 else np.nan,
                    "fit_seconds": float(self.fit_seconds[e, i, j].mean()),
                }
            )
        return rows

    def __str__(self) -> str:
        width = max(len("estimator"), *map(len, self.names))
        lines = [
            f"{self.metric}, {self.scores.shape[3]} repetitions, {self.n_test} rows "
            "tested",
            f"{'estimator':{width}}  labels  unlabelled    mean     std  seconds",
        ]
        lines += [
            f"{row['estimator']:{width}}  {row['n_labels']:6d}  "
            f"{row['n_unlabeled']:10d}  {row['mean']:6.3f}  {row['std']:6.3f}  "
            f"{row['fit_seconds']:7.3g}"
            for row in self.to_rows()
        ]
        return "\n".join(lines)


def learning_curve_labels(
    estimators: Any,
    X: Any,
    y: ArrayLike,
    *,
    n_labels: Sequence[int],
    n_unlabeled: Sequence[int] | None = None,
    n_repeats: int = 10,
    test_size: float = 0.3,
    scoring: Any = None,
    held_out: str = "removed",
    random_state: int | RandomState | None = None,
    n_jobs: int | None = None,
    progress: Progress = False,
) -> LabelCurve:
    """Score against the number of labels and against the number of unlabelled rows.

    In every repetition some labelled rows are set aside to test on. Of the others a few
    keep their label, and those that lose it join the unlabelled rows. Test rows are the
    same for all points of a repetition, fewer labels are a part of more labels, and
    likewise for unlabelled rows: the points of a curve differ by what was added, not by
    what was drawn. Labels are drawn by class, at least one of each.

    Parameters
    ----------
    estimators : estimator instance, dict or list of estimators
        One or several, by name. They must know the marker of unlabelled rows; wrap
        supervised estimators of scikit-learn in :class:`LabeledOnly`.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        All rows, labelled and unlabelled.
    y : array-like of shape (n_samples,)
        Labels, with the marker for rows without one; the more labels, the better.
    n_labels : sequence of int
        Numbers of labels to keep in training.
    n_unlabeled : sequence of int, default=None
        Numbers of unlabelled rows in training; as many as there are at all of
        `n_labels` when None.
    n_repeats : int, default=10
        Number of repetitions.
    test_size : int or float, default=0.3
        Labelled rows to test on: their number, or their share. At least one row of
        every class is left to train on.
    scoring : str, callable or None, default=None
        A single score, larger is better. None means accuracy for classifiers, the
        coefficient of determination for others.
    held_out : {"unlabeled", "removed"}, default="removed"
        Whether rows to test on are unlabelled rows in training, beyond `n_unlabeled`,
        or not in training at all. Use "unlabeled" for estimators that cannot predict
        new rows.
    random_state : int, RandomState instance or None, default=None
        Seed of all draws.
    n_jobs : int, default=None
        Fits to run at the same time, in joblib's convention.
    progress : bool, "auto" or callable, default=False
        Whether to write a line about progress, or a function that is given the share
        of the work done.

    Returns
    -------
    curve : LabelCurve
        All scores; printed, a table.

    See Also
    --------
    fewlabels.plotting.LabelCurveDisplay : The picture.
    sklearn.model_selection.learning_curve : Fewer rows, all of them labelled.
    compare : Paired differences for one number of labels.

    Examples
    --------
    >>> from fewlabels.datasets import make_gaussian2c
    >>> from fewlabels.model_selection import learning_curve_labels
    >>> from fewlabels.semi_supervised import RLSClassifier, S2RLSClassifier
    >>> X, y = make_gaussian2c(400, 100, random_state=0)
    >>> curve = learning_curve_labels(
    ...     {
    ...         "supervised": RLSClassifier(kernel="linear"),
    ...         "S2RLSC": S2RLSClassifier(kernel="linear", random_state=0),
    ...     },
    ...     X,
    ...     y,
    ...     n_labels=[10, 40],
    ...     n_unlabeled=[20, 200],
    ...     n_repeats=3,
    ...     random_state=0,
    ... )
    >>> curve.scores.shape  # estimators, labels, unlabelled rows, repetitions
    (2, 2, 2, 3)
    >>> bool(curve.scores[1, 0, 1].mean() > curve.scores[0, 0, 1].mean())
    True
    """
    check_held_out(held_out)
    named = check_estimators(estimators)
    scoring = single_scoring(named, scoring)
    label_counts = _counts(n_labels, "n_labels", least=1)
    if not isinstance(n_repeats, Integral) or n_repeats < 1:
        raise ValueError(f"n_repeats must be an int >= 1, got {n_repeats!r}.")
    X, y = indexable(X, y)
    labels = with_holes(y)
    known, _, _ = known_targets(labels)
    n_test = _test_count(test_size, known.size)
    n_pool = known.size - n_test
    n_others = labels.size - n_test
    if label_counts[-1] > n_pool:
        raise ValueError(
            f"n_labels={label_counts[-1]}, but {n_pool} labelled rows are left beside "
            f"the {n_test} to test on: lower n_labels or test_size."
        )
    most = n_others - int(label_counts[-1])
    unlabeled_counts = (
        np.array([most])
        if n_unlabeled is None
        else _counts(n_unlabeled, "n_unlabeled", least=0)
    )
    if unlabeled_counts[-1] > most:
        raise ValueError(
            f"n_unlabeled={unlabeled_counts[-1]}, but beside {label_counts[-1]} labels "
            f"and {n_test} rows to test on there are only {most} rows: lower it."
        )

    rng = check_random_state(random_state)
    jobs = []
    for _ in range(n_repeats):
        pool = draw_labels(labels, rng, n_labeled=n_pool)
        test = np.setdiff1d(known, pool, assume_unique=True)
        shown = labels
        draws = []
        for count in label_counts[::-1]:
            kept = draw_labels(_only(shown, pool), rng, n_labeled=int(count))
            shown = _only(labels, kept)
            draws.append((kept, shown))
            pool = kept
        # Rows that never are labelled come first: then any number of labels has the
        # same unlabelled rows beside it.
        most_kept = draws[0][0]
        rest = np.setdiff1d(np.arange(labels.size), np.union1d(test, most_kept))
        order = rng.permutation(rest)
        for kept, shown in draws[::-1]:
            for n_rows in unlabeled_counts:
                rows = np.union1d(kept, order[:n_rows])
                if held_out == "unlabeled":
                    rows = np.union1d(rows, test)
                jobs += [
                    delayed(fit_and_score)(e, X, shown, labels, rows, test, scoring)
                    for e in named.values()
                ]
    judged = run_all(jobs, n_jobs, progress, "learning curve")
    shape = (n_repeats, label_counts.size, unlabeled_counts.size, len(named))
    axes = (3, 1, 2, 0)
    return LabelCurve(
        names=tuple(named),
        metric=scoring if isinstance(scoring, str) else _name_of(scoring),
        n_labels=label_counts,
        n_unlabeled=unlabeled_counts + (n_test if held_out == "unlabeled" else 0),
        scores=_cube([float(j.score) for j in judged], shape, axes),
        fit_seconds=_cube([j.fit_seconds for j in judged], shape, axes),
        n_test=n_test,
    )


def _counts(given: Sequence[int], name: str, *, least: int) -> NDArray[np.intp]:
    """Ascending whole numbers without repetition."""
    counts = np.unique(np.atleast_1d(np.asarray(given)))
    if counts.size == 0 or counts.dtype.kind not in "iu" or counts[0] < least:
        raise ValueError(f"{name} must hold ints >= {least}, got {given!r}.")
    return counts.astype(np.intp)


def _test_count(test_size: float, n_known: int) -> int:
    share = not isinstance(test_size, Integral)
    n_test = round(test_size * n_known) if share else int(test_size)
    if not 1 <= n_test < n_known:
        raise ValueError(
            f"test_size={test_size} sets {n_test} of {n_known} labelled rows aside: "
            "at least one must be, and one remain."
        )
    return n_test


def _only(labels: NDArray[Any], rows: NDArray[np.intp]) -> NDArray[Any]:
    """Hide all labels but those of some rows."""
    hidden = np.ones(labels.size, dtype=bool)
    hidden[rows] = False
    return with_holes(labels, hidden)


def _cube(
    values: list[float], shape: tuple[int, ...], axes: tuple[int, ...]
) -> NDArray[Any]:
    return np.array(values).reshape(shape).transpose(axes)
