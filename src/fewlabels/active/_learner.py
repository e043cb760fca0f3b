"""The loop: fit, ask, learn the answers, until the budget is spent."""

# SPDX-License-Identifier: BSD-3-Clause

from collections.abc import Callable
from copy import deepcopy
from numbers import Integral, Real
from time import perf_counter
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import MetaEstimatorMixin
from sklearn.linear_model import LogisticRegression
from sklearn.utils import Tags, check_random_state, get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, indexable, validate_data

from fewlabels._labels import (
    UNLABELED,
    decide,
    encode_labels,
    signed_targets,
    unlabeled_mask,
    with_holes,
)
from fewlabels._linalg import FLOATS
from fewlabels._sklearn import HasMethods, Interval, fit_context, safe_indexing
from fewlabels.active._base import Query, fit_model
from fewlabels.active._elm import (
    _CONSTRAINTS,
    ELMClassifier,
    elm_probabilities,
    elm_start,
    elm_update,
    random_layer,
)
from fewlabels.active._strategies import ClusterCoverage, UncertaintySampling
from fewlabels.active._utilities import margin, middle_certainty, select_batch
from fewlabels.model_selection import FewLabelsClassifier
from fewlabels.semi_supervised._base import PartialLabelClassifier
from fewlabels.semi_supervised._co_training import view_columns
from fewlabels.semi_supervised._wrappers import accepts_sparse

Oracle = Callable[[NDArray[np.intp]], Any]
# While it asks, a model that judges itself does so again after so many more labels.
JUDGED_AGAIN = 1.25


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
        What the strategy expected of them.
    surprise : float
        Share of answers that the model had predicted wrongly; NaN where there was no
        model yet, or no answer.
    changed : float
        Share of the unlabelled rows whose prediction the answers changed; NaN where
        there was no model yet.
    seconds : float
        Time to choose the rows and to learn the answers, without the oracle's.

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

    Parameters
    ----------
    codes : ndarray of shape (n_samples,)
        Classes, -1 for rows without a label.
    random_state : int, RandomState instance or None
        Seed of the draws.

    Returns
    -------
    extra : ndarray of int
        Rows to repeat; none where classes are balanced.

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.active._learner import upsampled_rows
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


class QueryLoop(PartialLabelClassifier):
    """What learners that ask have in common.

    A subclass says how to read rows (`_read`), to learn the labels so far (`_learn`),
    to choose rows (`_choose`) and to predict.
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
        """Predictions for some training rows."""
        raise NotImplementedError

    def _run(self, X: Any, y: ArrayLike, oracle: Oracle | None) -> Self:
        """Fit, and ask until the budget is spent."""
        self.X_ = self._read(X)
        if oracle is None:
            encode_labels(y)  # who cannot ask must have labels of two classes
        self.y_ = with_holes(y)
        n_rows = self.X_.shape[0] if hasattr(self.X_, "shape") else len(self.X_)
        if self.y_.size != n_rows:
            raise ValueError(
                f"y has {self.y_.size} entries but X has {n_rows} rows: pass one label "
                "per row, with the marker for rows without a label."
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
        """Prepare what is the same in all rounds."""

    def _finish(self) -> None:
        """Label every row."""
        if not self._has_model:
            raise ValueError(
                f"After {self.n_queries_} questions there are labels of "
                f"{self._n_classes()} classes, and nothing can be learned: ask more. "
                "The answers are in y_."
            )
        labels = encode_labels(self.y_)
        self.transduction_ = labels.classes[labels.codes]
        holes = np.flatnonzero(labels.codes == UNLABELED)
        self.transduction_[holes] = self._answers(holes)

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
            Their labels. The marker of unlabelled rows is no answer; such rows are not
            asked about again.

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
            raise ValueError("indices must hold row numbers, each of them once.")
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
        self._check_kind(given, known)
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

    def _check_kind(self, given: NDArray[Any], known: NDArray[np.bool_]) -> None:
        """Raise where answers cannot stand beside the labels in `y_`."""
        answers, kind = given[known], self.y_.dtype
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
        if integer_holes and kind.kind == "f" and np.any(self.y_ == UNLABELED):
            raise ValueError(
                "-1 among integer answers means no answer, but y has a class -1: give "
                "answers as floats, like y."
            )

    def _reward(self, surprise: float) -> None:
        """Tell the strategy what its rows were worth."""

    def _forget(self) -> None:
        """Labels have been corrected: what was learned step by step is void."""


def _inner_has(method: str) -> Any:
    def check(self: "ActiveLearner") -> bool:
        getattr(getattr(self, "estimator_", None) or self._estimator(), method)
        return True

    return available_if(check)


class ActiveLearner(MetaEstimatorMixin, QueryLoop):
    r"""Fit a classifier, ask for the labels it needs, and fit again.

    Until the budget is spent: the strategy chooses rows without a label, the oracle
    says what they are, and the classifier is fitted anew. While fewer than two classes
    are known, rows are chosen by :class:`ClusterCoverage`, so that it is possible to
    start without any label.

    Parameters
    ----------
    estimator : classifier, default=None
        Any with `predict_proba`. One that does not know unlabelled rows gets the
        labelled ones. None takes :class:`sklearn.linear_model.LogisticRegression`.
    strategy : QueryStrategy, default=None
        How to choose rows; None takes :class:`UncertaintySampling`.
    batch_size : int, default=1
        Rows per round.
    budget : int, default=None
        Most rows to ask about; None goes on until all have a label.
    balance : bool, default=False
        Whether labelled rows of rare classes are repeated in training until all
        classes are equally frequent.
    diversity : float, default=0.0
        How much rows of one batch should differ, see :func:`select_batch`.
    tol : float, default=None
        Stop after `patience` rounds in each of which at most this share of the
        predictions for unlabelled rows has changed. None does not look at that.
    patience : int, default=3
        See `tol`.
    random_state : int, RandomState instance or None, default=None
        Seed of the repeated rows, and of the first queries.

    Attributes
    ----------
    estimator_ : classifier
        The fitted classifier.
    classes_ : ndarray of shape (n_classes,)
        The classes, without the marker of unlabelled rows.
    y_ : ndarray of shape (n_samples,)
        All labels, given and answered, with holes.
    transduction_ : ndarray of shape (n_samples,)
        A label for every training row: as given or answered, else as predicted.
    history_ : list of QueryRound
        What was asked and answered in every round.
    n_queries_ : int
        Rows that were asked about.
    declined_ : ndarray of bool of shape (n_samples,)
        Rows for which the oracle gave no label.
    stop_reason_ : {"budget", "no row left", "stable", "no oracle"}
        Why the loop ended.
    X_ : {array-like, sparse matrix}
        The rows of `fit`.

    See Also
    --------
    CoActiveLearner : Two views of the rows.
    fewlabels.model_selection.learning_curve_labels : Compares strategies.

    Notes
    -----
    A model with `refit_labels` is fitted once and then only told the new labels.
    :class:`~fewlabels.model_selection.FewLabelsClassifier` judges itself, and
    calibrates probabilities, in the end and after every 25 % more labels; that takes
    longer than to learn them.

    Without an oracle, `fit` learns the labels that are there; `query` then says what to
    ask next, and `teach` takes the answers.

    References
    ----------
    .. [1] B. Settles, "Active learning literature survey", University of
       Wisconsin-Madison, report 1648 (2009).

    Examples
    --------
    >>> from fewlabels.active import ActiveLearner
    >>> from fewlabels.datasets import hide_labels, make_moons
    >>> from sklearn.gaussian_process import GaussianProcessClassifier
    >>> X, y_true = make_moons(200, noise=0.1, random_state=0)
    >>> y = hide_labels(y_true, n_labeled=4, random_state=0)
    >>> learner = ActiveLearner(GaussianProcessClassifier(), budget=16, random_state=0)
    >>> learner = learner.fit(X, y, oracle=lambda rows: y_true[rows])
    >>> learner.n_queries_, learner.stop_reason_
    (16, 'budget')
    >>> bool(learner.score(X, y_true) > 0.95)
    True
    """

    estimator_: Any

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **QueryLoop._loop_constraints,
        "estimator": [HasMethods(["fit"]), None],
        "strategy": [HasMethods(["query"]), None],
        "balance": ["boolean"],
        "diversity": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        estimator: Any = None,
        strategy: Any = None,
        *,
        batch_size: int = 1,
        budget: int | None = None,
        balance: bool = False,
        diversity: float = 0.0,
        tol: float | None = None,
        patience: int = 3,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.strategy = strategy
        self.batch_size = batch_size
        self.budget = budget
        self.balance = balance
        self.diversity = diversity
        self.tol = tol
        self.patience = patience
        self.random_state = random_state

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: ArrayLike, *, oracle: Oracle | None = None) -> Self:
        """Learn the labels given, and ask for more where there is an oracle.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            All rows, labelled and unlabelled.
        y : array-like of shape (n_samples,)
            Labels; -1 among integers, NaN among floats, None or NaN among objects
            mark rows without one.
        oracle : callable, default=None
            Given an array of row numbers, returns their labels, or the marker where it
            does not know.

        Returns
        -------
        self : object
            The fitted learner.
        """
        return self._run(X, y, oracle)

    def _estimator(self) -> Any:
        return LogisticRegression() if self.estimator is None else self.estimator

    def _read(self, X: Any) -> Any:
        return indexable(X)[0]

    def _start(self) -> None:
        if hasattr(self, "estimator_"):
            del self.estimator_  # of an earlier fit, perhaps to other rows
        given = UncertaintySampling() if self.strategy is None else self.strategy
        self._strategy = deepcopy(given)
        self._rng = check_random_state(self.random_state)

    def _learn(self, fresh: NDArray[np.intp]) -> None:
        if self.balance:  # other rows in every round, so that nothing can be kept
            extra = upsampled_rows(encode_labels(self.y_).codes, self._rng)
            rows = np.concatenate([np.arange(self.y_.size), extra])
            X, y = safe_indexing(self.X_, rows), self.y_[rows]
            self.estimator_ = fit_model(self._estimator(), X, y)
        elif hasattr(getattr(self, "estimator_", None), "refit_labels"):
            self._refit()
        else:
            self.estimator_ = fit_model(self._estimator(), self.X_, self.y_)
            self._n_judged = self._n_labeled()
        self.classes_ = self.estimator_.classes_

    def _refit(self) -> None:
        soon = self._asking and self._n_labeled() < JUDGED_AGAIN * self._n_judged
        if soon and isinstance(self.estimator_, FewLabelsClassifier):
            self.estimator_.refit_labels(self.y_, judge=False)
        else:
            self.estimator_.refit_labels(self.y_)
            self._n_judged = self._n_labeled()

    def _finish(self) -> None:
        if self._has_model and not self.balance and self._n_judged < self._n_labeled():
            self._refit()
        super()._finish()

    def _choose(self, n_queries: int, candidates: NDArray[np.intp]) -> Query:
        return self._strategy.query(
            self.X_,
            self.y_,
            n_queries=n_queries,
            model=self.estimator_,
            candidates=candidates,
            diversity=self.diversity,
        )

    def _reward(self, surprise: float) -> None:
        if hasattr(self._strategy, "update") and not np.isnan(surprise):
            self._strategy.update(surprise)

    def _answers(self, rows: NDArray[np.intp]) -> NDArray[Any]:
        if rows.size == 0:
            return self.classes_[:0]
        return self.estimator_.predict(safe_indexing(self.X_, rows))

    @property
    def n_features_in_(self) -> int:
        """Number of features seen by the classifier."""
        return self.estimator_.n_features_in_

    def _fitted(self) -> Any:
        check_is_fitted(self)
        return self.estimator_

    @_inner_has("predict")
    def predict(self, X: Any) -> NDArray[Any]:
        """Predict with the fitted classifier.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            The predicted classes.
        """
        return self._fitted().predict(X)

    @_inner_has("predict_proba")
    def predict_proba(self, X: Any) -> NDArray[Any]:
        """Predict probabilities with the fitted classifier.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        proba : ndarray of shape (n_samples, n_classes)
            One column for every class.
        """
        return self._fitted().predict_proba(X)

    @_inner_has("decision_function")
    def decision_function(self, X: Any) -> NDArray[Any]:
        """Compute real outputs with the fitted classifier.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        decision : ndarray of shape (n_samples,) or (n_samples, n_classes)
            The outputs.
        """
        return self._fitted().decision_function(X)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = get_tags(self._estimator()).input_tags.sparse
        return tags


class CoActiveLearner(QueryLoop):
    r"""Ask about rows that two classifiers on two views are middling sure of.

    The views are two sets of columns. In every round each classifier ranks the rows
    without a label by its confidence and proposes those in the middle of its queue;
    the union is asked about, and both are fitted again.

    Parameters
    ----------
    estimator1 : classifier, default=None
        Classifier of the first view, with `predict_proba`; None takes
        :class:`sklearn.linear_model.LogisticRegression`.
    estimator2 : classifier, default=None
        Classifier of the second view; None takes a copy of the first.
    views : pair of column selections, default=None
        Columns of the two views: lists of indices or of names, boolean masks or slices.
        None takes the first and the second half of the columns.
    measure : callable, default=None
        How probabilities become a utility; :func:`middle_certainty` when None.
    batch_size : int, default=1
        Rows that each classifier proposes per round.
    budget : int, default=None
        Most rows to ask about; None goes on until all have a label.
    balance : bool, default=False
        Whether labelled rows of rare classes are repeated in training.
    tol : float, default=None
        Stop after `patience` rounds in each of which at most this share of the
        predictions for unlabelled rows has changed.
    patience : int, default=3
        See `tol`.
    random_state : int, RandomState instance or None, default=None
        Seed of the repeated rows, of ties and of the first queries.

    Attributes
    ----------
    estimators_ : list of two classifiers
        The fitted classifiers.
    classes_ : ndarray of shape (n_classes,)
        The classes, without the marker of unlabelled rows.
    views_ : list of two ndarrays
        Columns of the two views.
    y_, history_, n_queries_, declined_, stop_reason_, X_
        See :class:`ActiveLearner`.
    transduction_ : ndarray of shape (n_samples,)
        A label for every training row: as given or answered, else as predicted.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, where `X` had any.

    See Also
    --------
    fewlabels.semi_supervised.CoTrainingClassifier : Two views without an oracle.

    References
    ----------
    .. [1] Z. Zhang, E. Coutinho, J. Deng, B. Schuller, "Cooperative learning and its
       application to emotion recognition from speech", IEEE/ACM Transactions on Audio,
       Speech, and Language Processing 23 (2015).

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.active import CoActiveLearner
    >>> from fewlabels.datasets import hide_labels
    >>> rng = np.random.default_rng(0)
    >>> y_true = rng.integers(2, size=200)
    >>> X = 2 * y_true[:, None] + rng.normal(size=(200, 4))
    >>> y = hide_labels(y_true, n_labeled=4, random_state=0)
    >>> learner = CoActiveLearner(views=([0, 1], [2, 3]), budget=10, random_state=0)
    >>> learner.fit(X, y, oracle=lambda rows: y_true[rows]).n_queries_
    10
    >>> bool(learner.score(X, y_true) > 0.9)
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **QueryLoop._loop_constraints,
        "estimator1": [HasMethods(["fit"]), None],
        "estimator2": [HasMethods(["fit"]), None],
        "views": ["array-like", tuple, list, None],
        "measure": [callable, None],
        "balance": ["boolean"],
    }

    def __init__(
        self,
        estimator1: Any = None,
        estimator2: Any = None,
        *,
        views: Any = None,
        measure: Any = None,
        batch_size: int = 1,
        budget: int | None = None,
        balance: bool = False,
        tol: float | None = None,
        patience: int = 3,
        random_state: Any = None,
    ) -> None:
        self.estimator1 = estimator1
        self.estimator2 = estimator2
        self.views = views
        self.measure = measure
        self.batch_size = batch_size
        self.budget = budget
        self.balance = balance
        self.tol = tol
        self.patience = patience
        self.random_state = random_state

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: ArrayLike, *, oracle: Oracle | None = None) -> Self:
        """Learn the labels given, and ask for more where there is an oracle.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            All rows, with the columns of both views.
        y : array-like of shape (n_samples,)
            Labels, with the marker for rows without one.
        oracle : callable, default=None
            Given an array of row numbers, returns their labels, or the marker where it
            does not know.

        Returns
        -------
        self : object
            The fitted learner.
        """
        return self._run(X, y, oracle)

    def _kinds(self) -> tuple[Any, Any]:
        first = LogisticRegression() if self.estimator1 is None else self.estimator1
        return first, first if self.estimator2 is None else self.estimator2

    def _read(self, X: Any) -> Any:
        least = 2 if self.views is None else 1
        return validate_data(
            self, X, accept_sparse="csr", dtype=FLOATS, ensure_min_features=least
        )

    def _start(self) -> None:
        names = getattr(self, "feature_names_in_", ())
        self.views_ = view_columns(self.views, self.X_.shape[1], names)
        self._rng = check_random_state(self.random_state)

    def _learn(self, fresh: NDArray[np.intp]) -> None:
        labels = encode_labels(self.y_)
        self.classes_ = labels.classes
        rows = np.arange(self.y_.size)
        if self.balance:
            rows = np.concatenate([rows, upsampled_rows(labels.codes, self._rng)])
        self.estimators_ = [
            fit_model(kind, self.X_[rows][:, columns], self.y_[rows])
            for kind, columns in zip(self._kinds(), self.views_, strict=True)
        ]

    def _proba(self, X: Any) -> list[NDArray[np.float64]]:
        return [
            model.predict_proba(X[:, columns])
            for model, columns in zip(self.estimators_, self.views_, strict=True)
        ]

    def _choose(self, n_queries: int, candidates: NDArray[np.intp]) -> Query:
        measure = middle_certainty if self.measure is None else self.measure
        both = [measure(P) for P in self._proba(self.X_[candidates])]
        seed = self._rng.randint(2**31)
        proposed = [
            select_batch(u, min(n_queries, u.size), random_state=seed) for u in both
        ]
        # First choices first, so that a budget cuts off the least wanted rows.
        places = list(dict.fromkeys(np.column_stack(proposed).ravel().tolist()))
        left = np.inf if self.budget is None else self.budget - self.n_queries_
        if left > 0:
            places = places[: int(min(left, len(places)))]
        utilities = np.full(self.y_.size, np.nan)
        utilities[candidates] = np.maximum(*both)
        return Query(candidates[places], utilities)

    def _answers(self, rows: NDArray[np.intp]) -> NDArray[Any]:
        if rows.size == 0:
            return self.classes_[:0]
        return self.classes_[self._both(self.X_[rows]).argmax(axis=1)]

    def _both(self, X: Any) -> NDArray[np.float64]:
        return np.mean(self._proba(X), axis=0)

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Average the probabilities of the two classifiers.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        proba : ndarray of shape (n_samples, n_classes)
            Probabilities, in the order of `classes_`.
        """
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=FLOATS, reset=False)
        return self._both(X)

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the class of every row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            The predicted classes.
        """
        proba = self.predict_proba(X)
        return self.classes_[proba.argmax(axis=1)]

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = accepts_sparse(self.estimator1, self.estimator2)
        return tags


class ActiveELMClassifier(QueryLoop, ELMClassifier):
    r"""An extreme learning machine that asks for the labels it needs (AL-ELM).

    The random hidden layer stays the same, so its outputs for all rows are computed
    once. In every round the rows with the smallest margin between the two most
    probable classes are asked about, and their answers are added to the output weights
    by Woodbury's formula, see :func:`elm_update`: no round goes back to old rows.

    Parameters
    ----------
    n_hidden : int, default=200
        Number of hidden nodes.
    activation : {"sigmoid", "tanh", "relu", "sin"}, default="sigmoid"
        Function of a node.
    alpha : float, default=0.01
        The ridge, 1 / C, larger than 0.
    weight_scale : float, default=None
        Standard deviation of the random weights. None takes
        2 / sqrt(n_features * X.var()).
    batch_size : int, default=1
        Rows per round.
    budget : int, default=None
        Most rows to ask about; None goes on until all have a label.
    tol : float, default=None
        Stop after `patience` rounds in each of which at most this share of the
        predictions for unlabelled rows has changed.
    patience : int, default=3
        See `tol`.
    random_state : int, RandomState instance or None, default=None
        Seed of the layer, of ties and of the first queries.

    Attributes
    ----------
    layer_, coef_, classes_, transduction_
        See :class:`ELMClassifier`.
    y_, history_, n_queries_, declined_, stop_reason_, X_
        See :class:`ActiveLearner`.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, where `X` had any.

    References
    ----------
    .. [1] H. Yu, C. Sun, W. Yang, X. Yang, X. Zuo, "AL-ELM: one uncertainty-based
       active learning algorithm using extreme learning machine", Neurocomputing 166
       (2015). :doi:`10.1016/j.neucom.2015.04.019`

    Examples
    --------
    >>> from fewlabels.active import ActiveELMClassifier
    >>> from fewlabels.datasets import hide_labels, make_moons
    >>> X, y_true = make_moons(200, noise=0.1, random_state=0)
    >>> y = hide_labels(y_true, n_labeled=4, random_state=0)
    >>> model = ActiveELMClassifier(budget=26, random_state=0)
    >>> model = model.fit(X, y, oracle=lambda rows: y_true[rows])
    >>> bool(model.score(X, y_true) > 0.95)
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **_CONSTRAINTS,
        **QueryLoop._loop_constraints,
        "alpha": [Interval(Real, 0, None, closed="neither")],
    }

    def __init__(
        self,
        n_hidden: int = 200,
        *,
        activation: str = "sigmoid",
        alpha: float = 0.01,
        weight_scale: float | None = None,
        batch_size: int = 1,
        budget: int | None = None,
        tol: float | None = None,
        patience: int = 3,
        random_state: Any = None,
    ) -> None:
        super().__init__(
            n_hidden,
            activation=activation,
            alpha=alpha,
            weight_scale=weight_scale,
            random_state=random_state,
        )
        self.batch_size = batch_size
        self.budget = budget
        self.tol = tol
        self.patience = patience

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: ArrayLike, *, oracle: Oracle | None = None) -> Self:
        """Learn the labels given, and ask for more where there is an oracle.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            All rows, labelled and unlabelled.
        y : array-like of shape (n_samples,)
            Labels, with the marker for rows without one.
        oracle : callable, default=None
            Given an array of row numbers, returns their labels, or the marker where it
            does not know.

        Returns
        -------
        self : object
            The fitted classifier.
        """
        return self._run(X, y, oracle)

    def _read(self, X: Any) -> Any:
        return validate_data(self, X, accept_sparse="csr", dtype=FLOATS)

    def _start(self) -> None:
        rng = check_random_state(self.random_state)
        self.layer_ = random_layer(
            self.X_, self.n_hidden, self.activation, self.weight_scale, rng
        )
        self._rng = rng
        self._hidden = self.layer_(self.X_)
        self._state: Any = None
        self.classes_ = np.empty(0)

    def _learn(self, fresh: NDArray[np.intp]) -> None:
        labels = encode_labels(self.y_)
        Y = signed_targets(labels.codes, labels.classes.size)
        if self._state is None or not np.array_equal(labels.classes, self.classes_):
            rows = labels.labeled  # a class that is new changes all targets
            self._state = elm_start(self._hidden[rows], Y[rows], alpha=self.alpha)
        else:
            self._state = elm_update(self._state, self._hidden[fresh], Y[fresh])
        self.classes_ = labels.classes
        self.coef_ = self._state.B

    def _forget(self) -> None:
        self._state = None

    def _choose(self, n_queries: int, candidates: NDArray[np.intp]) -> Query:
        utilities = np.full(self.y_.size, np.nan)
        P = elm_probabilities(self._hidden[candidates] @ self.coef_)
        utilities[candidates] = margin(P)
        seed = self._rng.randint(2**31)
        places = select_batch(utilities[candidates], n_queries, random_state=seed)
        return Query(candidates[places], utilities)

    def _answers(self, rows: NDArray[np.intp]) -> NDArray[Any]:
        outputs = self._hidden[rows] @ self.coef_
        if outputs.shape[1] == 1:
            outputs = outputs[:, 0]
        return decide(outputs, self.classes_)
