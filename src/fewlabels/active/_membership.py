"""Membership queries: synthetic rows to be labelled."""

# SPDX-License-Identifier: BSD-3-Clause

from collections.abc import Callable
from numbers import Integral
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state

from fewlabels._labels import encode_labels, unlabeled_mask, with_holes
from fewlabels._sklearn import (
    HasMethods,
    Interval,
    StrOptions,
    check_array,
    fit_context,
)
from fewlabels.active._inner import InnerClassifier
from fewlabels.active._loop import check_answers
from fewlabels.active._query import MAX_SEED, class_probabilities, fit_model
from fewlabels.active._strategies import measure_of
from fewlabels.active._utilities import select_batch

Repair = Callable[[NDArray[np.float64]], Any]
RowOracle = Callable[[NDArray[np.float64]], Any]

# Points on a segment that are evaluated together; three rounds find the best one to
# within 1 / 4000 of its length.
GRID = 17
ROUNDS = 3
# Largest step of the ascent, as a share of the range of each column.
LARGEST_STEP = 0.25
HALVINGS = 12
# Step of the difference quotients to both sides, as a share of the range.
DIFFERENCE = 1e-4


class MadeRows(NamedTuple):
    """Synthetic rows to ask about.

    Attributes
    ----------
    rows : ndarray of shape (n_queries, n_features)
        The rows, the most useful first.
    utilities : ndarray of shape (n_queries,)
        How useful their labels would be.
    """

    rows: NDArray[np.float64]
    utilities: NDArray[np.float64]


def _on_segments(
    utility: Callable[[NDArray[np.float64]], NDArray[np.float64]],
    first: NDArray[np.float64],
    second: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return the point of the largest utility between two rows, for many pairs."""
    n = len(first)
    low, high = np.zeros(n), np.ones(n)
    for _ in range(ROUNDS):
        shares = low[:, None] + (high - low)[:, None] * np.linspace(0, 1, GRID)
        points = first[:, None] + shares[..., None] * (second - first)[:, None]
        found = utility(points.reshape(n * GRID, -1)).reshape(n, GRID)
        # If many points are equally good, as with trees, the one in the middle.
        tied = found == found.max(axis=1, keepdims=True)
        ends = tied.argmax(axis=1) + GRID - 1 - tied[:, ::-1].argmax(axis=1)
        best = shares[np.arange(n), tied.argmax(axis=1)]
        middle = np.take_along_axis(tied, ends[:, None] // 2, axis=1)[:, 0]
        best = np.where(middle, shares[np.arange(n), ends // 2], best)
        width = (high - low) / (GRID - 1)
        low, high = np.maximum(best - width, 0), np.minimum(best + width, 1)
    return first + best[:, None] * (second - first)


def _ascended(
    utility: Callable[[NDArray[np.float64]], NDArray[np.float64]],
    starts: NDArray[np.float64],
    low: NDArray[np.float64],
    high: NDArray[np.float64],
    max_iter: int,
) -> NDArray[np.float64]:
    """Ascend from every start, inside the ranges of the columns."""
    n, d = starts.shape
    span = high - low
    rows, values = starts.copy(), utility(starts)
    moves = np.eye(d) * (DIFFERENCE * span)
    steps = LARGEST_STEP * 0.5 ** np.arange(HALVINGS)
    active = np.arange(n)
    for _ in range(max_iter):
        if active.size == 0:
            break
        here = rows[active]
        forth = np.clip(here[:, None] + moves, low, high)
        back = np.clip(here[:, None] - moves, low, high)
        both = utility(np.concatenate([forth, back]).reshape(-1, d)).reshape(2, -1, d)
        # In units of the ranges, so that scales of columns do not matter.
        slope = both[0] - both[1]
        largest = np.abs(slope).max(axis=1, keepdims=True)
        direction = slope / np.where(largest > 0, largest, 1) * span
        tried = here[:, None] + steps[:, None] * direction[:, None]
        tried = np.clip(tried, low, high)
        found = utility(tried.reshape(-1, d)).reshape(active.size, -1)
        best = found.argmax(axis=1)
        better = found[np.arange(active.size), best] > values[active]
        up = active[better]
        rows[up] = tried[better, best[better]]
        values[up] = found[better, best[better]]
        active = up
    return rows


def make_queries(
    model: Any,
    X: Any,
    n_queries: int = 1,
    *,
    y: ArrayLike | None = None,
    method: str = "segment",
    measure: Any = "margin",
    n_init: int = 32,
    max_iter: int = 50,
    diversity: float = 1.0,
    repair: Repair | None = None,
    random_state: Any = None,
) -> MadeRows:
    r"""Generate rows that a classifier is uncertain about.

    These are membership queries: the rows need not be in the data. Both methods stay
    inside the range of every column.

    Parameters
    ----------
    model : fitted classifier
        With `predict_proba`.
    X : array-like of shape (n_samples, n_features)
        Rows, labelled or not; they set the ranges.
    n_queries : int, default=1
        How many rows to make, at most `n_init`.
    y : array-like of shape (n_samples,), default=None
        Labels of the rows, with the marker where there is none.
    method : {"segment", "ascent"}, default="segment"
        Where they come from:

        - "segment": the least certain point on the line between two rows of different
          classes, by their labels or else by prediction. A boundary crosses the line,
          and the point is a mixture of two real rows;
        - "ascent": from a row, uphill in uncertainty by difference quotients, as far as
          it goes. It may end where there are no data. For models whose probabilities
          are smooth: trees have no slope.
    measure : {"margin", "least_confidence", "entropy"} or callable, default="margin"
        How probabilities become a utility.
    n_init : int, default=32
        Lines or starts, drawn at random; the best of them count.
    max_iter : int, default=50
        Most steps of the ascent.
    diversity : float, default=1.0
        How much the rows should differ, see :func:`select_batch`.
    repair : callable, default=None
        Turns generated rows into possible ones, for example by rounding counts: it
        takes and returns an array of shape (n_rows, n_features). Utilities are those of
        repaired rows.
    random_state : int, RandomState instance or None, default=None
        Seed of the draws.

    Returns
    -------
    made : MadeRows
        The rows and their utilities.

    See Also
    --------
    MembershipLearner : Asks about such rows in a loop.
    bisect_boundary : Without a model.

    Notes
    -----
    A person must be able to label the generated rows. Mixtures of a few measurements
    often make sense. Mixtures of two images or two texts seldom do, and people cannot
    tell what they show [2]_: ask about the nearest real row instead, as
    :func:`find_opposite_pair` does, or let an experiment answer.

    References
    ----------
    .. [1] D. Angluin, "Queries and concept learning", Machine Learning 2 (1988).
       :doi:`10.1007/BF00116828`
    .. [2] E. B. Baum, K. Lang, "Query learning can work poorly when a human oracle is
       used", IJCNN (1992).

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.active import make_queries
    >>> from sklearn.linear_model import LogisticRegression
    >>> X = np.array([[0.0], [1.0], [3.0], [4.0]])
    >>> model = LogisticRegression().fit(X, [0, 0, 1, 1])
    >>> make_queries(model, X, random_state=0).rows.round(2)
    array([[2.]])
    """
    X = check_array(X, dtype=np.float64)
    if method not in ("segment", "ascent"):
        raise ValueError(f'method must be "segment" or "ascent", got {method!r}.')
    if not 1 <= n_queries <= n_init:
        raise ValueError(
            f"n_queries={n_queries} must be at least 1 and at most n_init={n_init}."
        )
    rng = check_random_state(random_state)
    score = measure_of(measure)

    def repaired(rows: NDArray[np.float64]) -> NDArray[np.float64]:
        if repair is None:
            return rows
        return check_array(repair(rows), dtype=np.float64, input_name="repaired rows")

    def utility(rows: NDArray[np.float64]) -> NDArray[np.float64]:
        return score(class_probabilities(model, repaired(rows)))

    first = rng.randint(len(X), size=n_init)
    if method == "segment":
        classes = model.predict(X)
        if y is not None:
            known = ~unlabeled_mask(y)
            classes = np.where(known, with_holes(y), classes)
        if (classes == classes[0]).all():
            raise ValueError(
                "All rows are of one class, so there may be no boundary between two "
                'of them: pass labels as y, or use method="ascent".'
            )
        second = [rng.choice(np.flatnonzero(classes != classes[i])) for i in first]
        rows = _on_segments(utility, X[first], X[second])
    else:
        low, high = X.min(axis=0), X.max(axis=0)
        rows = _ascended(utility, X[first], low, high, max_iter)
    rows = repaired(rows)
    utilities = utility(rows)
    chosen = select_batch(
        utilities,
        n_queries,
        rows,
        diversity=diversity,
        random_state=rng.randint(MAX_SEED),
    )
    return MadeRows(rows[chosen], utilities[chosen])


class Boundary(NamedTuple):
    """Two generated rows close to each other, with different labels.

    Attributes
    ----------
    first, second : ndarray of shape (n_features,)
        The ends.
    labels : tuple
        Their labels.
    distance : float
        Distance between them.
    rows : ndarray of shape (n_queries, n_features)
        What was asked, in order.
    answers : list
        The answers.
    """

    first: NDArray[np.float64]
    second: NDArray[np.float64]
    labels: tuple[Any, Any]
    distance: float
    rows: NDArray[np.float64]
    answers: list[Any]


def bisect_boundary(
    first: ArrayLike,
    second: ArrayLike,
    oracle: RowOracle,
    *,
    labels: tuple[Any, Any] | None = None,
    max_queries: int = 10,
    tol: float = 0.0,
) -> Boundary:
    """Find where the answer changes on the line between two rows.

    The midpoint is asked about and replaces the end that has the same answer, or else
    the second one, so that the ends always have different answers. Every question
    halves the distance.

    Parameters
    ----------
    first, second : array-like of shape (n_features,)
        Two rows with different labels.
    oracle : callable
        Given an array of shape (1, n_features), returns a sequence with the label of
        that row, or with the marker where it is not known: the search then ends.
    labels : tuple of two labels, default=None
        Labels of the two rows; when None, the oracle is asked, which does not count as
        a question.
    max_queries : int, default=10
        Largest number of questions.
    tol : float, default=0.0
        Stop where the ends are no further apart than this.

    Returns
    -------
    boundary : Boundary
        The ends, the questions and the answers.

    See Also
    --------
    find_opposite_pair : The same with rows of a pool.
    make_queries : With a model, in any number of classes.

    Examples
    --------
    >>> from fewlabels.active import bisect_boundary
    >>> boundary = bisect_boundary([0.0], [1.0], lambda rows: rows[:, 0] > 0.3)
    >>> boundary.distance == 2.0**-10
    True
    >>> boundary.first[0] <= 0.3 < boundary.second[0]
    np.True_
    """
    ends = [
        check_array(np.atleast_2d(end), dtype=np.float64)[0] for end in (first, second)
    ]
    if ends[0].shape != ends[1].shape:
        raise ValueError("first and second must have equally many features.")

    def ask(row: NDArray[np.float64]) -> Any:
        answer = with_holes(np.atleast_1d(np.asarray(oracle(row[None]))))
        if answer.size != 1:
            raise ValueError(f"The oracle gave {answer.size} answers to one question.")
        return None if unlabeled_mask(answer)[0] else answer[0]

    known = [ask(end) for end in ends] if labels is None else list(labels)
    if known[0] == known[1]:
        raise ValueError(
            f"Both rows are of class {known[0]}: there may be no boundary between them."
        )
    rows: list[NDArray[np.float64]] = []
    answers: list[Any] = []
    while len(rows) < max_queries and np.linalg.norm(ends[1] - ends[0]) > tol:
        middle = ends[0] + (ends[1] - ends[0]) / 2
        rows.append(middle)
        answers.append(ask(middle))
        if answers[-1] is None:
            break
        side = 0 if answers[-1] == known[0] else 1
        ends[side], known[side] = middle, answers[-1]
    return Boundary(
        first=ends[0],
        second=ends[1],
        labels=(known[0], known[1]),
        distance=float(np.linalg.norm(ends[1] - ends[0])),
        rows=np.array(rows).reshape(-1, ends[0].size),
        answers=answers,
    )


class MembershipLearner(InnerClassifier):
    """Fit a classifier, query generated rows it is uncertain about, and fit again.

    Parameters
    ----------
    estimator : classifier, default=None
        Any with `predict_proba`. One that cannot handle unlabelled rows gets the
        labelled ones. None takes :class:`sklearn.linear_model.LogisticRegression`.
    method : {"segment", "ascent"}, default="segment"
        How rows are made, see :func:`make_queries`.
    measure : {"margin", "least_confidence", "entropy"} or callable, default="margin"
        How probabilities become a utility.
    batch_size : int, default=1
        Rows per round, at most `n_init`.
    budget : int, default=10
        Number of rows to ask about.
    n_init : int, default=32
        Lines or starts per round, drawn at random; the best of them count.
    repair : callable, default=None
        Turns generated rows into possible ones, see :func:`make_queries`.
    random_state : int, RandomState instance or None, default=None
        Seed of the draws.

    Attributes
    ----------
    estimator_ : classifier
        The fitted classifier.
    classes_ : ndarray of shape (n_classes,)
        The classes.
    queries_ : ndarray of shape (n_queries, n_features)
        The generated rows.
    answers_ : ndarray of shape (n_queries,)
        The answers, with the marker if there was none.
    n_queries_ : int
        Their number.
    transduction_ : ndarray of shape (n_samples,)
        A label for every row of `fit`: given, or else predicted.

    See Also
    --------
    ActiveLearner : Asks about rows of a pool.
    StreamLearner : Asks about rows as they come.

    Notes
    -----
    The rows must make sense to the person who labels them, see the notes of
    :func:`make_queries`. Generated rows are not a sample of the data: test on real
    rows.

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.active import MembershipLearner
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(size=(50, 2))
    >>> inside = lambda rows: (rows.sum(axis=1) > 0.8).astype(int)  # an experiment
    >>> y = np.full(50, -1)
    >>> y[:6] = inside(X[:6])
    >>> learner = MembershipLearner(budget=20, random_state=0)
    >>> learner = learner.fit(X, y, oracle=inside)
    >>> learner.queries_.shape, bool(learner.score(X, inside(X)) > 0.9)
    ((20, 2), True)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "estimator": [HasMethods(["fit"]), None],
        "method": [StrOptions({"segment", "ascent"})],
        "measure": [StrOptions({"margin", "least_confidence", "entropy"}), callable],
        "batch_size": [Interval(Integral, 1, None, closed="left")],
        "budget": [Interval(Integral, 0, None, closed="left")],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "repair": [callable, None],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        method: str = "segment",
        measure: Any = "margin",
        batch_size: int = 1,
        budget: int = 10,
        n_init: int = 32,
        repair: Repair | None = None,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.method = method
        self.measure = measure
        self.batch_size = batch_size
        self.budget = budget
        self.n_init = n_init
        self.repair = repair
        self.random_state = random_state

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: ArrayLike, *, oracle: RowOracle | None = None) -> Self:
        """Learn the given labels, and query generated rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            All rows, labelled and unlabelled.
        y : array-like of shape (n_samples,)
            Labels of at least two classes; -1 among integers, NaN among floats, None or
            NaN among objects mark rows without one.
        oracle : callable, default=None
            Given an array of rows, returns their labels, or the marker for unknown
            ones. None makes no queries.

        Returns
        -------
        self : object
            The fitted learner.
        """
        X = check_array(X, dtype=np.float64)
        labels = encode_labels(y)
        values = with_holes(y)
        if values.size != len(X):
            raise ValueError(
                f"y has {values.size} entries but X has {len(X)} rows: pass one label "
                "per row, with -1, NaN or None for rows without a label."
            )
        rng = check_random_state(self.random_state)
        made, answers = X[:0], values[:0]
        self.estimator_ = fit_model(self._estimator(), X, values)
        while oracle is not None and len(made) < self.budget:
            rows = make_queries(
                self.estimator_,
                X,
                min(self.batch_size, self.budget - len(made)),
                y=values,
                method=self.method,
                measure=self.measure,
                n_init=self.n_init,
                repair=self.repair,
                random_state=rng,
            ).rows
            given = with_holes(np.atleast_1d(np.asarray(oracle(rows))))
            if given.size != len(rows):
                raise ValueError(
                    f"{len(rows)} rows were asked about, but there are {given.size} "
                    "answers: give one label per row, in the same order."
                )
            known = ~unlabeled_mask(given)
            check_answers(values, given, known)
            fresh = with_holes(values[:1].repeat(len(rows)), ~known)
            fresh[known] = given[known]
            made, answers = np.vstack([made, rows]), np.append(answers, fresh)
            kept = ~unlabeled_mask(answers)
            self.estimator_ = fit_model(
                self._estimator(),
                np.vstack([X, made[kept]]),
                np.append(values, answers[kept]),
            )
        self.classes_ = self.estimator_.classes_
        self.queries_, self.answers_ = made, answers
        self.n_queries_ = len(made)
        self.transduction_ = labels.completed(
            lambda free: self.estimator_.predict(X[free])
        )
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        return tags
