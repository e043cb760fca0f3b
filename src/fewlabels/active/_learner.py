"""Active learning with any classifier and any strategy."""

# SPDX-License-Identifier: BSD-3-Clause

from copy import deepcopy
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state
from sklearn.utils.validation import indexable

from fewlabels._labels import encode_labels
from fewlabels._sklearn import HasMethods, Interval, safe_indexing
from fewlabels.active._inner import InnerClassifier
from fewlabels.active._loop import QueryLoop, upsampled_rows
from fewlabels.active._query import Query, fit_model
from fewlabels.active._strategies import UncertaintySampling
from fewlabels.automatic import FewLabelsClassifier

# In the loop, a model that estimates its own error does so again only when the number
# of labels has grown by this factor: the estimate takes five sixths of a fit.
JUDGED_AGAIN = 1.25


class ActiveLearner(InnerClassifier, QueryLoop):
    r"""Fit a classifier, query the labels it needs, and fit again.

    Until the budget is spent, the strategy chooses rows without a label, the oracle
    labels them, and the classifier is fitted again. While fewer than two classes are
    known, rows are chosen by :class:`ClusterCoverage`, so that you can start without
    any labels.

    Parameters
    ----------
    estimator : classifier, default=None
        Any with `predict_proba`. One that cannot handle unlabelled rows gets the
        labelled ones. None takes :class:`sklearn.linear_model.LogisticRegression`.
    strategy : QueryStrategy, default=None
        How to choose rows; None takes :class:`UncertaintySampling`.
    batch_size : int, default=1
        Rows per round.
    budget : int, default=None
        Largest number of rows to ask about; None continues until all rows have a label.
    oversample : bool, default=False
        Whether labelled rows of rare classes are repeated in training until all
        classes are equally frequent.
    diversity : float, default=0.0
        How much rows of one batch should differ, see :func:`select_batch`.
    tol : float, default=None
        Stop after `patience` rounds in each of which at most this share of the
        predictions for unlabelled rows has changed. None never stops for this reason.
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
        All labels, given and answered; some may be missing.
    transduction_ : ndarray of shape (n_samples,)
        A label for every training row: given, answered, or else predicted.
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
    A model with `refit_labels` is fitted once and then only updated with new labels.
    :class:`~fewlabels.automatic.FewLabelsClassifier` estimates its error, and
    calibrates probabilities, at the end and whenever there are 25 % more labels; that
    takes longer than learning them.

    Without an oracle, `fit` learns from the given labels; `query` then returns the rows
    to ask about next, and `teach` takes the answers.

    References
    ----------
    .. [1] B. Settles, "Active learning literature survey", University of
       Wisconsin-Madison, report 1648 (2009).

    Examples
    --------
    >>> from fewlabels.active import ActiveLearner
    >>> from sklearn.datasets import make_moons
    >>> from fewlabels.datasets import hide_labels
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

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **QueryLoop._loop_constraints,
        "estimator": [HasMethods(["fit"]), None],
        "strategy": [HasMethods(["query"]), None],
        "oversample": ["boolean"],
        "diversity": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        estimator: Any = None,
        strategy: Any = None,
        *,
        batch_size: int = 1,
        budget: int | None = None,
        oversample: bool = False,
        diversity: float = 0.0,
        tol: float | None = None,
        patience: int = 3,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.strategy = strategy
        self.batch_size = batch_size
        self.budget = budget
        self.oversample = oversample
        self.diversity = diversity
        self.tol = tol
        self.patience = patience
        self.random_state = random_state

    def _read(self, X: Any) -> Any:
        return indexable(X)[0]

    def _start(self) -> None:
        if hasattr(self, "estimator_"):
            del self.estimator_  # of an earlier fit, perhaps to other rows
        given = UncertaintySampling() if self.strategy is None else self.strategy
        self._strategy = deepcopy(given)
        self._rng = check_random_state(self.random_state)

    def _learn(self, fresh: NDArray[np.intp]) -> None:
        if self.oversample:  # rows change in every round, so nothing can be reused
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
            self.estimator_.refit_labels(self.y_, estimate_error=False)
        else:
            self.estimator_.refit_labels(self.y_)
            self._n_judged = self._n_labeled()

    def _finish(self) -> None:
        if (
            self._has_model
            and not self.oversample
            and self._n_judged < self._n_labeled()
        ):
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
