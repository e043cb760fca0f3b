"""Learning curves over the numbers of labels and of unlabelled rows."""

# SPDX-License-Identifier: BSD-3-Clause

from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from itertools import chain
from numbers import Integral
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from numpy.random import RandomState
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.utils import check_random_state
from sklearn.utils.parallel import delayed
from sklearn.utils.validation import indexable

from fewlabels._labels import with_holes
from fewlabels._progress import Progress
from fewlabels._sklearn import safe_indexing
from fewlabels.exceptions import warn_ignored
from fewlabels.model_selection._compare import (
    _name_of,
    check_estimators,
    run_all,
    single_scoring,
)
from fewlabels.model_selection._cross_validation import (
    Judged,
    check_held_out,
    fit_and_score,
    score_model,
    training_rows,
)
from fewlabels.model_selection._splitters import draw_labels, known_targets


@dataclass(frozen=True, eq=False)
class LabelCurve:
    """Result of :func:`learning_curve_labels`; printed, it is a table.

    Attributes
    ----------
    names : tuple of str
        The estimators; with query strategies, "estimator, strategy", or the strategies
        of a single estimator.
    metric : str
        Name of the score; larger is better.
    n_labels : ndarray of shape (n_label_counts,)
        Numbers of labels in training.
    n_unlabeled : ndarray of shape (n_unlabeled_counts,)
        Numbers of unlabelled rows in training; with query strategies, those at the
        largest number of labels.
    scores : ndarray of shape (n_estimators, n_label_counts, n_unlabeled_counts, \
            n_repeats)
        All scores.
    fit_seconds : ndarray of the same shape
        How long training took.
    n_test : int
        Number of test rows in every repetition.
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

    def labels_needed(self, error: float, *, lasting: bool = False) -> dict[str, float]:
        """Find how many labels each curve needs to reach a mean error.

        Between the points of a curve, the mean error is interpolated.

        Parameters
        ----------
        error : float
            The error to reach, such as that of another curve at its end.
        lasting : bool, default=False
            Whether the mean error must also stay there. A noisy curve may reach an
            error by chance before it does so for good: look at both.

        Returns
        -------
        needed : dict of str to float
            By name; NaN for a curve that does not reach it.
        """
        counts = self.n_labels.astype(float)
        needed = {}
        for name, errors in zip(self.names, self.errors[:, :, -1], strict=True):
            mean = errors.mean(axis=1)
            above = np.flatnonzero(mean > error)
            if lasting:
                first = above[-1] + 1 if above.size else 0
            else:
                first = int(np.argmax(mean <= error)) if above.size < mean.size else -1
            if not 0 <= first < mean.size:
                needed[name] = np.nan
            elif first == 0:
                needed[name] = counts[0]
            else:
                share = (mean[first - 1] - error) / (mean[first - 1] - mean[first])
                step = counts[first] - counts[first - 1]
                needed[name] = float(counts[first - 1] + share * step)
        return needed

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
            f"{'estimator':{width}}  labels  unlabelled    mean     std   seconds",
        ]
        lines += [
            f"{row['estimator']:{width}}  {row['n_labels']:6d}  "
            f"{row['n_unlabeled']:10d}  {row['mean']:6.3f}  {row['std']:6.3f}  "
            f"{row['fit_seconds']:8.3g}"
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
    strategies: Any = None,
    n_queries: int | None = None,
    n_repeats: int = 10,
    test_size: float = 0.3,
    scoring: Any = None,
    held_out: str = "removed",
    random_state: int | RandomState | None = None,
    n_jobs: int | None = None,
    progress: Progress = False,
) -> LabelCurve:
    """Score estimators for several numbers of labels and of unlabelled rows.

    In every repetition some labelled rows are set aside for testing. A few of the
    others keep their label, and those that lose it join the unlabelled rows. Test rows
    are the same for all points of a repetition, smaller sets of labels are contained in
    larger ones, and likewise for unlabelled rows: the points of a curve differ by added
    rows, not by new draws. Labels are drawn by class, at least one of each.

    With query strategies, only the first labels of a curve are drawn that way; the
    strategy chooses the others. A curve of random rows is added for comparison.

    Parameters
    ----------
    estimators : estimator instance, dict or list of estimators
        One or several, by name. They must support unlabelled rows; wrap
        supervised estimators of scikit-learn in :class:`LabeledOnly`.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        All rows, labelled and unlabelled.
    y : array-like of shape (n_samples,)
        Labels; -1, NaN or None for rows without one; the more labels, the better.
    n_labels : sequence of int
        Numbers of labels to keep in training.
    n_unlabeled : sequence of int, default=None
        Numbers of unlabelled rows in training; when None, as many as are available for
        all of `n_labels`.
    strategies : query strategy, dict or list of query strategies, default=None
        How to choose further labels, by name: objects of :mod:`fewlabels.active`, or
        functions with the same arguments and results as their `query`. A curve of
        random rows comes first. All other rows than test rows are then in training, so
        that `n_unlabeled` must be None.
    n_queries : int, default=None
        Rows that a strategy chooses before the estimator is refitted; when None, all up
        to the next number of labels.
    n_repeats : int, default=10
        Number of repetitions.
    test_size : int or float, default=0.3
        Number or share of labelled rows to test on. At least one row of every class is
        left to train on.
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
    fewlabels.plotting.LabelCurveDisplay : Plots the curves.
    sklearn.model_selection.learning_curve : Varies the number of rows, all labelled.
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

    A strategy is anything that chooses rows, here those in the middle:

    >>> def middle(X, y, *, n_queries, model, candidates):
    ...     outputs = model.decision_function(X[candidates])
    ...     return candidates[abs(outputs).argsort()[:n_queries]]
    >>> curve = learning_curve_labels(
    ...     RLSClassifier(kernel="linear"),
    ...     X,
    ...     y,
    ...     strategies={"middle": middle},
    ...     n_labels=[10, 40],
    ...     n_repeats=3,
    ...     random_state=0,
    ... )
    >>> curve.names
    ('random', 'middle')
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
            f"n_labels={label_counts[-1]}, but only {n_pool} labelled rows are left "
            f"besides the {n_test} to test on: lower n_labels or test_size."
        )
    most = n_others - int(label_counts[-1])
    asked = _named_strategies(strategies)
    if asked and n_unlabeled is not None:
        raise ValueError(
            "n_unlabeled has no meaning with strategies, which choose among all rows "
            "that are not set aside: give one of the two."
        )
    if n_queries is not None and (not isinstance(n_queries, Integral) or n_queries < 1):
        raise ValueError(f"n_queries must be an int >= 1, got {n_queries!r}.")
    if n_queries is not None and not asked:
        warn_ignored(f"n_queries={n_queries}", "there are no strategies")
    unlabeled_counts = (
        np.array([most])
        if n_unlabeled is None
        else _counts(n_unlabeled, "n_unlabeled", least=0)
    )
    if unlabeled_counts[-1] > most:
        raise ValueError(
            f"n_unlabeled={unlabeled_counts[-1]}, but besides {label_counts[-1]} "
            f"labels and {n_test} rows to test on there are only {most} rows: lower it."
        )

    rng = check_random_state(random_state)
    draw = _Draw(X, labels, known, n_pool, rng)
    names = tuple(named)
    if asked:
        asking = Asking(label_counts, n_queries, scoring, held_out)
        jobs = [_query_jobs(draw, named, asked, asking) for _ in range(n_repeats)]
        if len(named) == 1:
            names = tuple(asked)
        else:
            names = tuple(f"{name}, {strategy}" for name in named for strategy in asked)
        shape, axes = (n_repeats, len(names), label_counts.size, 1), (1, 2, 3, 0)
    else:
        counts = label_counts, unlabeled_counts
        jobs = [
            _drawn_jobs(draw, named, counts, scoring, held_out)
            for _ in range(n_repeats)
        ]
        shape = (n_repeats, label_counts.size, unlabeled_counts.size, len(names))
        axes = (3, 1, 2, 0)
    found = run_all(list(chain.from_iterable(jobs)), n_jobs, progress, "learning curve")
    judged = list(chain.from_iterable(found)) if asked else found

    def cube(values: list[float]) -> NDArray[Any]:
        return np.array(values).reshape(shape).transpose(axes)

    return LabelCurve(
        names=names,
        metric=scoring if isinstance(scoring, str) else _name_of(scoring),
        n_labels=label_counts,
        n_unlabeled=unlabeled_counts + (n_test if held_out == "unlabeled" else 0),
        scores=cube([float(j.score) for j in judged]),
        fit_seconds=cube([j.fit_seconds for j in judged]),
        n_test=n_test,
    )


def _counts(given: Sequence[int], name: str, *, least: int) -> NDArray[np.intp]:
    """Return ascending integers without repetition."""
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
            "set at least one aside, and leave at least one."
        )
    return n_test


def _only(labels: NDArray[Any], rows: NDArray[np.intp]) -> NDArray[Any]:
    """Hide all labels but those of some rows."""
    hidden = np.ones(labels.size, dtype=bool)
    hidden[rows] = False
    return with_holes(labels, hidden)


class Asking(NamedTuple):
    """How labels are queried along a curve.

    Attributes
    ----------
    counts : ndarray
        Numbers of labels at which the model is scored.
    n_queries : int or None
        Rows per query.
    scoring : str or callable
        The score.
    held_out : {"unlabeled", "removed"}
        What happens to the test rows.
    """

    counts: NDArray[np.intp]
    n_queries: int | None
    scoring: Any
    held_out: str


def _named_strategies(strategies: Any) -> dict[str, Any]:
    """Return strategies by name; None means random rows."""
    if strategies is None:
        return {}
    if isinstance(strategies, Mapping):
        named = {str(name): strategy for name, strategy in strategies.items()}
    else:
        several = strategies if isinstance(strategies, list | tuple) else [strategies]
        named = {}
        for strategy in several:
            name = getattr(strategy, "__name__", type(strategy).__name__)
            count = sum(other.split(" ")[0] == name for other in named)
            named[f"{name} {count + 1}" if count else name] = strategy
    for name, strategy in named.items():
        if not callable(getattr(strategy, "query", strategy)):
            raise ValueError(
                f"strategies: {name!r} has no query and is not a function: "
                f"{strategy!r}."
            )
    return {"random": None, **named}


class _Draw(NamedTuple):
    """The pool from which the rows of a repetition are drawn."""

    X: Any
    labels: NDArray[Any]
    known: NDArray[np.intp]
    n_pool: int
    rng: RandomState

    def split(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Draw training rows whose labels may be used, and test rows."""
        pool = draw_labels(self.labels, self.rng, n_labeled=self.n_pool)
        return pool, np.setdiff1d(self.known, pool, assume_unique=True)


def _drawn_jobs(
    draw: _Draw,
    named: dict[str, Any],
    counts: tuple[NDArray[np.intp], NDArray[np.intp]],
    scoring: Any,
    held_out: str,
) -> Iterator[Any]:
    """Return the jobs of a repetition, by numbers of rows and by estimator."""
    X, labels, rng = draw.X, draw.labels, draw.rng
    label_counts, unlabeled_counts = counts
    pool, test = draw.split()
    shown = labels
    draws = []
    for count in label_counts[::-1]:
        pool = draw_labels(_only(shown, pool), rng, n_labeled=int(count))
        shown = _only(labels, pool)
        draws.append((pool, shown))
    # Rows that are never labelled come first, so that every number of labels has the
    # same unlabelled rows.
    most_kept = draws[0][0]
    rest = np.setdiff1d(np.arange(labels.size), np.union1d(test, most_kept))
    order = rng.permutation(rest)
    for kept, shown in draws[::-1]:
        for n_rows in unlabeled_counts:
            rows = np.union1d(kept, order[:n_rows])
            if held_out == "unlabeled":
                rows = np.union1d(rows, test)
            for e in named.values():
                yield delayed(fit_and_score)(e, X, shown, labels, rows, test, scoring)


def _query_jobs(
    draw: _Draw, named: dict[str, Any], asked: dict[str, Any], asking: Asking
) -> Iterator[Any]:
    """Return the jobs of a repetition, one curve each, by estimator and strategy."""
    X, labels, rng = draw.X, draw.labels, draw.rng
    pool, test = draw.split()
    first = int(asking.counts[0])
    start = draw_labels(_only(labels, pool), rng, n_labeled=first)
    seed = rng.randint(2**31)
    for e in named.values():
        for strategy in asked.values():
            yield delayed(query_curve)(
                e, strategy, X, labels, start, pool, test, asking, seed
            )


def query_curve(
    estimator: Any,
    strategy: Any,
    X: Any,
    y: NDArray[Any],
    start: NDArray[np.intp],
    pool: NDArray[np.intp],
    test: NDArray[np.intp],
    asking: Asking,
    seed: int,
) -> list[Judged]:
    """Fit, query labels and refit, along one curve."""
    rng = check_random_state(seed)
    strategy = _seeded(deepcopy(strategy), rng)
    every = np.arange(y.size)
    held = asking.held_out == "unlabeled"
    rows = every if held else np.setdiff1d(every, test)
    X_train = training_rows(estimator, X, rows)
    kept = np.asarray(start)
    curve: list[Judged] = []

    def fitted(model: Any, seen: NDArray[Any]) -> tuple[Any, float]:
        started = perf_counter()
        if hasattr(model, "refit_labels"):
            model.refit_labels(seen[rows])
        else:
            model = clone(estimator).fit(X_train, seen[rows])
        return model, perf_counter() - started

    seen = _only(y, kept)
    model, fit_seconds = fitted(None, seen)
    for count in asking.counts:
        while kept.size < count:
            n_queries = min(asking.n_queries or count, int(count) - kept.size)
            free = np.searchsorted(rows, np.setdiff1d(pool, kept))
            places = _asked(strategy, X_train, seen[rows], n_queries, model, free, rng)
            if hasattr(strategy, "update"):
                guesses = model.predict(safe_indexing(X_train, places))
                strategy.update(float(np.mean(guesses != y[rows[places]])))
            kept = np.union1d(kept, rows[places])
            seen = _only(y, kept)
            model, fit_seconds = fitted(model, seen)
        started = perf_counter()
        score = score_model(model, X, seen, y, rows, test, asking.scoring)
        seconds = perf_counter() - started
        curve.append(Judged(float(score), fit_seconds, seconds, int(kept.size)))
    return curve


def _seeded(strategy: Any, rng: RandomState) -> Any:
    """Give a seed to a strategy that has none, so that curves can be repeated."""
    if hasattr(strategy, "get_params"):
        given = strategy.get_params()
        fresh = {
            name: RandomState(rng.randint(2**31))
            for name in sorted(given)
            if name.split("__")[-1] == "random_state" and given[name] is None
        }
        strategy.set_params(**fresh)
    return strategy


def _asked(
    strategy: Any,
    X: Any,
    y: NDArray[Any],
    n_queries: int,
    model: Any,
    candidates: NDArray[np.intp],
    rng: RandomState,
) -> NDArray[np.intp]:
    """Query a strategy, and check its choice."""
    if strategy is None:
        return rng.choice(candidates, n_queries, replace=False)
    query = getattr(strategy, "query", strategy)
    answer = query(X, y, n_queries=n_queries, model=model, candidates=candidates)
    rows = np.asarray(answer[0] if isinstance(answer, tuple) else answer)
    valid = rows.shape == (n_queries,) and np.unique(rows).size == n_queries
    if not valid or not np.isin(rows, candidates).all():
        raise ValueError(
            f"The strategy {strategy!r} must choose {n_queries} distinct rows among "
            f"the candidates, got {rows!r}."
        )
    return rows
