"""Stream-based active learning: query a row when it arrives, or never."""

# SPDX-License-Identifier: BSD-3-Clause

from collections import deque
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.utils import check_random_state

from fewlabels._labels import encode_labels, label_array, unlabeled_mask, with_holes
from fewlabels._linalg import FLOATS
from fewlabels._params import check_number
from fewlabels._sklearn import (
    HasMethods,
    Interval,
    StrOptions,
    check_array,
    fit_context,
)
from fewlabels.active._inner import InnerClassifier
from fewlabels.active._loop import Oracle, check_answers
from fewlabels.active._query import class_probabilities, fit_model
from fewlabels.active._strategies import measure_of

RULES = ("quantile", "variable")
# Relative change of the "variable" threshold with every row, as published.
STEP = 0.01
# Rows whose probabilities are computed at once; all but those before the next question
# are thrown away.
CHUNK = 64


class StreamThreshold:
    r"""Decide, one by one, which utilities are large enough for a query.

    Parameters
    ----------
    rate : float, default=0.1
        Share of the rows that may be asked about, in (0, 1].
    rule : {"quantile", "variable"} or float, default="quantile"
        How the threshold is set:

        - "quantile" [1]_: the (1 - rate)-quantile of the last `window` utilities,
          lowered where fewer questions have been asked than the rate allows: by their
          range times the number of questions left over those of a whole window;
        - "variable" [2]_: it starts at the first utility, rises by 1 % with every
          question and falls by 1 % with every row that is passed over;
        - a number: it stays there.
    window : int, default=100
        See `rule`.

    Attributes
    ----------
    value : float
        The threshold that the last row was compared with; NaN before the first one.
    n_seen : int
        Rows so far.
    n_asked : int
        Questions so far.

    See Also
    --------
    StreamLearner : A classifier that asks by such a threshold.

    Notes
    -----
    Under every rule, there are never more queries than `rate` times the rows seen so
    far, rounded up. The quantile does not depend on the scale of the utilities, and
    follows them if they drift.

    References
    ----------
    .. [1] D. Kottke, G. Krempl, M. Spiliopoulou, "Probabilistic active learning in
       datastreams", IDA (2015). :doi:`10.1007/978-3-319-24465-5_13`
    .. [2] I. Žliobaitė, A. Bifet, B. Pfahringer, G. Holmes, "Active learning with
       drifting streaming data", IEEE Transactions on Neural Networks and Learning
       Systems 25 (2014). :doi:`10.1109/TNNLS.2012.2236570`

    Examples
    --------
    >>> from fewlabels.active import StreamThreshold
    >>> threshold = StreamThreshold(rate=0.5)
    >>> [threshold.asks(u) for u in (0.1, 0.3, 0.2, 0.8, 0.1, 0.9)]
    [True, False, True, False, False, True]
    """

    def __init__(
        self, rate: float = 0.1, *, rule: str | float = "quantile", window: int = 100
    ) -> None:
        if not 0 < rate <= 1:
            raise ValueError(f"rate must be in (0, 1], got {rate}.")
        if isinstance(rule, str) and rule not in RULES:
            raise ValueError(f"rule must be a number or one of {RULES}, got {rule!r}.")
        check_number("window", window, 1)
        self.rate, self.rule, self.window = float(rate), rule, int(window)
        self.value = np.nan if isinstance(rule, str) else float(rule)
        self.n_seen, self.n_asked = 0, 0
        self._last: deque[float] = deque(maxlen=self.window)

    def left(self) -> float:
        """Count the queries that the rate allows by the next row, minus those made.

        Returns
        -------
        left : float
            Positive where one more is allowed.
        """
        return self.rate * (self.n_seen + 1) - self.n_asked

    def record(self, asked: bool) -> None:
        """Count a row that was decided elsewhere.

        Parameters
        ----------
        asked : bool
            Whether it was asked about.
        """
        self.n_seen += 1
        self.n_asked += bool(asked)

    def asks(self, utility: float) -> bool:
        """Decide on the next row, and count it.

        Parameters
        ----------
        utility : float
            How useful its label would be.

        Returns
        -------
        asked : bool
            Whether to ask about it.
        """
        if not np.isfinite(utility):
            raise ValueError(f"utility must be a finite number, got {utility}.")
        left = self.left()
        if self.rule == "quantile":
            self._last.append(float(utility))
            spread = max(self._last) - min(self._last)
            behind = left / max(1.0, self.rate * self.window)
            self.value = np.quantile(self._last, 1 - self.rate) - spread * behind
        elif np.isnan(self.value):
            self.value = float(utility)
        asked = left > 0 and bool(utility >= self.value)
        self.record(asked)
        if self.rule == "variable" and left > 0:
            self.value *= 1 + STEP if asked else 1 - STEP
        return asked


def _as_rows(X: Any) -> Any:
    """Validate rows, or a single one."""
    rows = X if sparse.issparse(X) else np.atleast_2d(X)
    return check_array(rows, accept_sparse="csr", dtype=FLOATS)


class StreamLearner(InnerClassifier):
    r"""Learn from a stream of rows, and query some of them.

    Each row is queried when it arrives, or never: if the classifier's uncertainty
    exceeds a threshold that adapts to the remaining queries. The classifier is refitted
    after every answer.

    Parameters
    ----------
    estimator : classifier, default=None
        Any with `predict_proba`. It learns only from rows with a label, as the others
        are not kept. None takes :class:`sklearn.linear_model.LogisticRegression`.
    rate : float, default=0.1
        Share of the rows that may be queried. There are never more queries than
        `n_start`, or `rate` times the rows seen so far.
    budget : int, default=None
        Largest number of questions; None for no bound but the rate.
    measure : {"margin", "least_confidence", "entropy"} or callable, default="margin"
        How probabilities become a utility; a function of an array of shape
        (n_rows, n_classes), such as :func:`margin`.
    threshold : {"quantile", "variable"} or float, default="quantile"
        How large a utility must be, see :class:`StreamThreshold`.
    window : int, default=100
        Number of utilities for the "quantile".
    n_start : int, default=10
        Number of first rows, all of which are queried. After them, until two classes
        are known, rows are queried as the rate allows.
    exploration : float, default=0.0
        Share of the queries spent on random rows, which detects changes where the
        classifier is certain.
    memory : int, default=None
        Fit to this many of the last labels only, to follow a drifting stream. None
        keeps all.
    random_state : int, RandomState instance or None, default=None
        Seed of the random rows.

    Attributes
    ----------
    estimator_ : classifier
        The fitted classifier.
    classes_ : ndarray of shape (n_classes,)
        The classes it knows.
    threshold_ : StreamThreshold
        The threshold, with the numbers of rows and questions so far.
    n_queries_ : int
        Questions so far.
    queries_ : ndarray of shape (n_queries,)
        Rows of `fit` that were asked about, in order.
    y_ : ndarray of shape (n_samples,)
        Labels of the rows of `fit`, given and answered; some may be missing.
    utilities_ : ndarray of shape (n_samples,)
        Utility of every row of `fit` on arrival; NaN if there was no model, or if it
        came with a label.
    thresholds_ : ndarray of shape (n_samples,)
        The threshold it was compared with.
    transduction_ : ndarray of shape (n_samples,)
        A label for every row of `fit`: given, answered, or else predicted at the end.

    See Also
    --------
    ActiveLearner : Chooses from a pool, where every row can wait.
    MembershipLearner : Makes up rows.

    Notes
    -----
    `fit` starts a new stream with the rows in order: rows with a label are learned as
    they arrive, the others may be queried. To continue, or without `fit`, `offer` takes
    a row and returns whether to ask about it, and `teach` takes the answer.

    References
    ----------
    .. [1] L. E. Atlas, D. A. Cohn, R. E. Ladner, "Training connectionist networks with
       queries and selective sampling", NIPS (1989).

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.active import StreamLearner
    >>> from sklearn.datasets import make_blobs
    >>> X, y_true = make_blobs(400, centers=[[0, 0], [3, 3]], random_state=0)
    >>> learner = StreamLearner(rate=0.05, random_state=0)
    >>> learner = learner.fit(X, np.full(400, -1), oracle=lambda rows: y_true[rows])
    >>> learner.n_queries_ <= 20, bool(learner.score(X, y_true) > 0.95)
    (True, True)
    >>> learner.offer([100.0, 100.0])  # far from the boundary: no question
    False
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "estimator": [HasMethods(["fit"]), None],
        "rate": [Interval(Real, 0, 1, closed="right")],
        "budget": [Interval(Integral, 0, None, closed="left"), None],
        "measure": [StrOptions({"margin", "least_confidence", "entropy"}), callable],
        "threshold": [
            StrOptions(set(RULES)),
            Interval(Real, None, None, closed="neither"),
        ],
        "window": [Interval(Integral, 1, None, closed="left")],
        "n_start": [Interval(Integral, 1, None, closed="left")],
        "exploration": [Interval(Real, 0, 1, closed="both")],
        "memory": [Interval(Integral, 2, None, closed="left"), None],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        rate: float = 0.1,
        budget: int | None = None,
        measure: Any = "margin",
        threshold: str | float = "quantile",
        window: int = 100,
        n_start: int = 10,
        exploration: float = 0.0,
        memory: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.rate = rate
        self.budget = budget
        self.measure = measure
        self.threshold = threshold
        self.window = window
        self.n_start = n_start
        self.exploration = exploration
        self.memory = memory
        self.random_state = random_state

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: ArrayLike, *, oracle: Oracle | None = None) -> Self:
        """Begin a stream, and learn from it row by row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows in the order in which they come.
        y : array-like of shape (n_samples,)
            Labels of rows that come with one; -1 among integers, NaN among floats, None
            or NaN among objects mark the others.
        oracle : callable, default=None
            Given an array with one row number, returns a sequence with its label, or
            with the marker where it does not know. None asks nothing.

        Returns
        -------
        self : object
            The fitted learner.
        """
        X = check_array(X, accept_sparse="csr", dtype=FLOATS)
        if oracle is None:
            encode_labels(y)  # without an oracle there must be labels of two classes
        self.y_ = with_holes(y)
        n = X.shape[0]
        if self.y_.size != n:
            raise ValueError(
                f"y has {self.y_.size} entries but X has {n} rows: pass one label per "
                "row, with -1, NaN or None for rows without a label."
            )
        self._begin()
        self.utilities_, self.thresholds_ = np.full(n, np.nan), np.full(n, np.nan)
        given = ~unlabeled_mask(self.y_)
        self._queries: list[int] = []
        row = 0
        while row < n:
            if given[row]:
                self._keep(X[[row]], self.y_[[row]])
            if given[row] or oracle is None:
                row += 1
                continue
            # The model is the same until the next answer: evaluate rows together.
            for utility in self._utilities(X[row : row + CHUNK]):
                learned, row = self._take(X, row, float(utility), oracle), row + 1
                if learned or (row < n and given[row]):
                    break
        self.queries_ = np.array(self._queries, dtype=np.intp)
        self._refit()
        self._finish(X)
        return self

    def _begin(self) -> None:
        self.threshold_ = StreamThreshold(
            self.rate, rule=self.threshold, window=self.window
        )
        self._rng = check_random_state(self.random_state)
        self._rows: list[Any] = []
        self._labels: list[Any] = []
        self._fresh = False
        if hasattr(self, "estimator_"):
            del self.estimator_  # of an earlier stream

    def _take(self, X: Any, row: int, utility: float, oracle: Oracle) -> bool:
        """Decide on a row of `fit`; return whether there is something new to learn."""
        asked = self._decide(utility)
        self.utilities_[row] = utility
        self.thresholds_[row] = self.threshold_.value
        if not asked:
            return False
        self._queries.append(row)
        label = with_holes(np.atleast_1d(np.asarray(oracle(np.array([row])))))
        if label.size != 1:
            raise ValueError(f"The oracle gave {label.size} answers to one question.")
        known = ~unlabeled_mask(label)
        check_answers(self.y_, label, known)
        if known[0]:
            self.y_[row] = label[0]
            self._keep(X[[row]], self.y_[[row]])
        return bool(known[0])

    def _finish(self, X: Any) -> None:
        if not hasattr(self, "estimator_"):
            raise ValueError(
                f"After {self.n_queries_} questions there are labels of "
                f"{len(set(self._labels))} classes, too few to learn from: raise "
                "n_start, rate or budget. The answers are in y_."
            )
        self.transduction_ = encode_labels(self.y_).completed(
            lambda free: self.estimator_.predict(X[free])
        )

    @property
    def n_queries_(self) -> int:
        """Questions so far."""
        return self.threshold_.n_asked

    def _keep(self, X: Any, labels: NDArray[Any]) -> None:
        """Store rows with their labels; the model is fitted when needed."""
        self._rows.extend(X[[i]] for i in range(labels.size))
        self._labels.extend(labels.tolist())
        if self.memory is not None:
            del self._rows[: -self.memory], self._labels[: -self.memory]
        self._fresh = True

    def _refit(self) -> None:
        # With one class left in memory, nothing can be fitted: the model stays.
        if not self._fresh or len(set(self._labels)) < 2:
            return
        stack = sparse.vstack if sparse.issparse(self._rows[0]) else np.vstack
        self.estimator_ = fit_model(
            self._estimator(), stack(self._rows), label_array(self._labels)
        )
        self.classes_ = self.estimator_.classes_
        self._fresh = False

    def _utilities(self, X: Any) -> NDArray[np.float64]:
        self._refit()
        if not hasattr(self, "estimator_"):
            return np.full(X.shape[0], np.nan)
        return measure_of(self.measure)(class_probabilities(self.estimator_, X))

    def _decide(self, utility: float) -> bool:
        threshold = self.threshold_
        if self.budget is not None and threshold.n_asked >= self.budget:
            asked = False
        elif threshold.n_seen < self.n_start:
            asked = True
        elif self._rng.uniform() < self.rate * self.exploration or np.isnan(utility):
            asked = threshold.left() > 0
        else:
            return threshold.asks(utility)
        threshold.record(asked)
        return asked

    def offer(self, x: Any) -> bool:
        """Take the next row of the stream, and decide whether to ask about it.

        Parameters
        ----------
        x : {array-like, sparse matrix} of shape (n_features,) or (1, n_features)
            The row.

        Returns
        -------
        asked : bool
            Whether its label is wanted: pass it to `teach`.
        """
        if not hasattr(self, "threshold_"):
            self._validate_params()
            self._begin()
        row = _as_rows(x)
        if row.shape[0] != 1:
            raise ValueError(f"Rows are offered one at a time, got {row.shape[0]}.")
        return self._decide(float(self._utilities(row)[0]))

    def teach(self, X: Any, labels: Any) -> Self:
        """Learn the labels of rows, asked for or not, and fit again.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_rows, n_features) or (n_features,)
            The rows.
        labels : array-like of shape (n_rows,), or a label
            Their labels; rows with the marker are passed over.

        Returns
        -------
        self : object
            The learner. It can predict as soon as it knows two classes.
        """
        if not hasattr(self, "threshold_"):
            self._validate_params()
            self._begin()
        rows = _as_rows(X)
        given = with_holes(np.atleast_1d(np.asarray(labels)))
        if given.shape != (rows.shape[0],):
            raise ValueError(
                f"There are {rows.shape[0]} rows, but {given.size} labels: give one "
                "label per row."
            )
        known = ~unlabeled_mask(given)
        if known.any():
            self._keep(rows[known], given[known])
            self._refit()
        return self
