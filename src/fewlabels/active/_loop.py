"""The active-learning loop: fit, query and learn until the budget is spent."""

# SPDX-License-Identifier: BSD-3-Clause

from collections.abc import Callable
from numbers import Integral, Real
from time import perf_counter
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from fewlabels._classifier import PartialLabelClassifier
from fewlabels._labels import UNLABELED, encode_labels, unlabeled_mask, with_holes
from fewlabels._sklearn import Interval, fit_context
from fewlabels.active._query import Query
from fewlabels.active._strategies import ClusterCoverage

Oracle = Callable[[NDArray[np.intp]], Any]


class QueryRound(NamedTuple):
    """One round of questions and answers.

    Attributes
    ----------
    n_labeled : int
        Labels before the round.
    indices : ndarray of shape (n_queries,)
        The rows asked about.
    labels : ndarray of shape (n_queries,)
        The answers.
    utilities : ndarray of shape (n_queries,)
        Their utilities for the strategy.
    surprise : float
        Share of answers that the model had mispredicted; NaN if there was no model yet,
        or no answer.
    changed : float
        Share of the unlabelled rows whose prediction changed with the answers; NaN if
        there was no model yet.
    seconds : float
        Time to choose the rows and to learn the answers, not counting the oracle.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from fewlabels.active import ActiveLearner, UncertaintySampling
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0, -1, -1, 1]
    >>> learner = ActiveLearner(LogisticRegression(), UncertaintySampling())
    >>> history = learner.fit(X, y).teach([1], [0]).history_
    >>> history[0].n_labeled, history[0].indices.tolist(), history[0].labels.tolist()
    (2, [1], [0])
    """

    n_labeled: int
    indices: NDArray[np.intp]
    labels: NDArray[Any]
    utilities: NDArray[np.float64]
    surprise: float
    changed: float
    seconds: float


def upsampled_rows(codes: NDArray[np.intp], random_state: Any) -> NDArray[np.intp]:
    """Draw further labelled rows until all classes are equally frequent.

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.active._loop import upsampled_rows
    >>> upsampled_rows(np.array([0, 0, 1, -1]), random_state=0)
    array([2])
    """
    rng = check_random_state(random_state)
    counts = np.bincount(codes[codes != UNLABELED])
    drawn = [
        rng.choice(np.flatnonzero(codes == c), counts.max() - count)
        for c, count in enumerate(counts)
        if 0 < count < counts.max()
    ]
    return np.concatenate(drawn) if drawn else np.empty(0, dtype=np.intp)


def check_answers(
    y: NDArray[Any], given: NDArray[Any], known: NDArray[np.bool_]
) -> None:
    """Raise if answers cannot be stored with the labels in `y`."""
    answers, kind = given[known], y.dtype
    try:
        fits = answers.astype(kind).tolist() == answers.tolist()
    except (TypeError, ValueError):
        fits = False
    if not fits:
        raise ValueError(
            f"Answers such as {answers[0]!r} cannot be put into a y of type "
            f"{kind}: pass y as an array of objects, with None for rows without a "
            "label."
        )
    integer_holes = given.dtype.kind == "i" and not known.all()
    if integer_holes and kind.kind == "f" and np.any(y == UNLABELED):
        raise ValueError(
            "-1 among integer answers means no answer, but y has a class -1: give "
            "answers as floats, like y."
        )


class QueryLoop(PartialLabelClassifier):
    """Base of all active learners.

    A subclass defines how to read rows (`_read`), to learn the labels so far
    (`_learn`), to choose rows (`_choose`) and to predict.
    """

    batch_size: int
    budget: int | None
    tol: float | None
    patience: int
    random_state: Any

    _loop_constraints: ClassVar[dict[str, list[Any]]] = {
        "batch_size": [Interval(Integral, 1, None, closed="left")],
        "budget": [Interval(Integral, 0, None, closed="left"), None],
        "tol": [Interval(Real, 0, 1, closed="both"), None],
        "patience": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    }

    def _read(self, X: Any) -> Any:
        raise NotImplementedError

    def _learn(self, fresh: NDArray[np.intp]) -> None:
        """Fit to all labels; `fresh` are the rows labelled since the last time."""
        raise NotImplementedError

    def _choose(self, n_queries: int, candidates: NDArray[np.intp]) -> Query:
        raise NotImplementedError

    def _answers(self, rows: NDArray[np.intp]) -> NDArray[Any]:
        """Return predictions for some training rows."""
        raise NotImplementedError

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: ArrayLike, *, oracle: Oracle | None = None) -> Self:
        """Learn the given labels, and query more if there is an oracle.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            All rows, labelled and unlabelled.
        y : array-like of shape (n_samples,)
            Labels; -1 among integers, NaN among floats, None or NaN among objects
            mark rows without one.
        oracle : callable, default=None
            Given an array of row numbers, returns their labels, or the marker for
            unknown ones.

        Returns
        -------
        self : object
            The fitted learner.
        """
        self.X_ = self._read(X)
        if oracle is None:
            encode_labels(y)  # without an oracle there must be labels of two classes
        self.y_ = with_holes(y)
        n_rows = self.X_.shape[0] if hasattr(self.X_, "shape") else len(self.X_)
        if self.y_.size != n_rows:
            raise ValueError(
                f"y has {self.y_.size} entries but X has {n_rows} rows: pass one label "
                "per row, with -1, NaN or None for rows without a label."
            )
        self.declined_ = np.zeros(n_rows, dtype=bool)
        self.history_: list[QueryRound] = []
        self.n_queries_ = 0
        self.stop_reason_ = "no oracle"
        self._has_model = False
        self._asking = oracle is not None
        self._start()
        if oracle is None or self._n_classes() > 1:
            self._learn(np.flatnonzero(~unlabeled_mask(self.y_)))
            self._has_model = True
        if oracle is not None:
            self._loop(oracle)
        self._asking = False
        self._finish()
        return self

    def _n_labeled(self) -> int:
        return int(np.count_nonzero(~unlabeled_mask(self.y_)))

    def _n_classes(self) -> int:
        known = self.y_[~unlabeled_mask(self.y_)]
        return len(set(known.tolist()))

    def _start(self) -> None:
        """Prepare data that is the same in all rounds."""

    def _finish(self) -> None:
        """Label every row."""
        if not self._has_model:
            raise ValueError(
                f"After {self.n_queries_} questions there are labels of "
                f"{self._n_classes()} classes, too few to learn from: ask more. "
                "The answers are in y_."
            )
        self.transduction_ = encode_labels(self.y_).completed(self._answers)

    def _loop(self, oracle: Oracle) -> None:
        quiet = 0
        while True:
            left = np.inf if self.budget is None else self.budget - self.n_queries_
            free = np.flatnonzero(unlabeled_mask(self.y_) & ~self.declined_)
            if left <= 0 or free.size == 0:
                self.stop_reason_ = "budget" if left <= 0 else "no row left"
                return
            n_queries = int(min(self.batch_size, left, free.size))
            started = perf_counter()
            query = self.query(n_queries)
            chosen = perf_counter()
            labels = oracle(query.indices)
            answered = perf_counter()
            self._teach(query, labels, chosen - started, answered)
            changed = self.history_[-1].changed
            quiet = quiet + 1 if self.tol is not None and changed <= self.tol else 0
            if quiet >= self.patience:
                self.stop_reason_ = "stable"
                return

    def query(self, n_queries: int | None = None) -> Query:
        """Choose the rows to ask about next.

        Parameters
        ----------
        n_queries : int, default=None
            How many; `batch_size` when None.

        Returns
        -------
        query : Query
            Indices into the rows of `fit`, and utilities of all of them.
        """
        check_is_fitted(self, "X_")
        free = np.flatnonzero(unlabeled_mask(self.y_) & ~self.declined_)
        n_queries = self.batch_size if n_queries is None else n_queries
        if not self._has_model:
            seed = check_random_state(self.random_state).randint(2**31)
            first = ClusterCoverage(random_state=seed)
            return first.query(self.X_, self.y_, n_queries=n_queries, candidates=free)
        return self._choose(n_queries, free)

    def teach(self, indices: ArrayLike, labels: Any) -> Self:
        """Learn answers, and fit again.

        Parameters
        ----------
        indices : array-like of int
            Rows of `fit`.
        labels : array-like of the same length
            Their labels. The marker of unlabelled rows means no answer; such rows are
            not queried again.

        Returns
        -------
        self : object
            The learner.
        """
        check_is_fitted(self, "X_")
        rows = np.atleast_1d(np.asarray(indices))
        n = self.y_.size
        if (
            rows.size == 0
            or rows.dtype.kind not in "iu"
            or np.unique(rows).size < (rows.size)
        ):
            raise ValueError("indices must hold row numbers without repetition.")
        if rows.min() < 0 or rows.max() >= n:
            raise ValueError(f"indices must hold row numbers from 0 to {n - 1}.")
        query = Query(rows, np.full(self.y_.size, np.nan))
        self._teach(query, labels, 0.0, perf_counter())
        self._finish()
        return self

    def _teach(
        self, query: Query, labels: Any, seconds: float, answered: float
    ) -> None:
        rows = query.indices
        given = with_holes(np.atleast_1d(np.asarray(labels)))
        if given.shape != rows.shape:
            raise ValueError(
                f"{rows.size} rows were asked about, but there are {given.size} "
                "answers: give one label per row, in the same order."
            )
        known = ~unlabeled_mask(given)
        check_answers(self.y_, given, known)
        if not unlabeled_mask(self.y_[rows[known]]).all():
            self._forget()
        surprise, before = np.nan, None
        n_labeled = self._n_labeled()
        others = np.setdiff1d(np.flatnonzero(unlabeled_mask(self.y_)), rows)
        if self._has_model:
            before = self._answers(others)
            if known.any():
                surprise = float(np.mean(self._answers(rows[known]) != given[known]))
        self.y_[rows[known]] = given[known]
        self.declined_[rows] = ~known
        self._reward(surprise)
        changed = np.nan
        if known.any() and self._n_classes() > 1:
            self._learn(rows[known])
            self._has_model = True
        if before is not None:
            after = self._answers(others)
            changed = float(np.mean(after != before)) if others.size else 0.0
        self.n_queries_ += rows.size
        self.history_.append(
            QueryRound(
                n_labeled,
                rows,
                given,
                query.utilities[rows],
                surprise,
                changed,
                seconds + perf_counter() - answered,
            )
        )

    def _reward(self, surprise: float) -> None:
        """Pass the reward of its rows to the strategy."""

    def _forget(self) -> None:
        """Discard what was learned step by step, as labels were corrected."""
