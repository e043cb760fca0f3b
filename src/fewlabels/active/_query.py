"""Base of query strategies: a common signature, and access to a model."""

# SPDX-License-Identifier: BSD-3-Clause

from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, RandomizedSearchCV
from sklearn.pipeline import Pipeline
from sklearn.semi_supervised import (
    LabelPropagation,
    LabelSpreading,
    SelfTrainingClassifier,
)
from sklearn.utils.validation import indexable

from fewlabels._classifier import PartialLabelClassifier
from fewlabels._labels import unlabeled_mask, with_holes
from fewlabels._sklearn import safe_indexing
from fewlabels.active._utilities import select_batch
from fewlabels.model_selection import LabeledOnly

MAX_SEED = np.iinfo(np.int32).max


class Query(NamedTuple):
    """Rows to ask about.

    Attributes
    ----------
    indices : ndarray of shape (n_queries,)
        The rows, the most useful first.
    utilities : ndarray of shape (n_samples,)
        How useful a label of each row would be; NaN for rows that cannot be asked
        about.

    Examples
    --------
    >>> from fewlabels.active import UncertaintySampling
    >>> X, y = [[0.0], [0.2], [0.55], [0.8], [1.0]], [0, -1, -1, -1, 1]
    >>> UncertaintySampling().query(X, y).indices
    array([2])
    """

    indices: NDArray[np.intp]
    utilities: NDArray[np.float64]


class Pool(NamedTuple):
    """The pool that a strategy chooses from.

    Attributes
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        All rows.
    y : ndarray of shape (n_samples,)
        Labels, some of them missing.
    labeled : ndarray of int
        Rows with a label.
    candidates : ndarray of int
        Rows that can be asked about.
    """

    X: Any
    y: NDArray[Any]
    labeled: NDArray[np.intp]
    candidates: NDArray[np.intp]

    def rows(self) -> Any:
        """Take the rows that can be asked about."""
        return safe_indexing(self.X, self.candidates)


class QueryStrategy(BaseEstimator):
    """A rule that chooses which rows to ask about.

    Subclasses define how useful a label of each candidate would be. All strategies have
    the same `query`, so that they are interchangeable in :class:`ActiveLearner`
    and in :func:`fewlabels.model_selection.learning_curve_labels`.
    """

    random_state: Any

    def query(
        self,
        X: Any,
        y: ArrayLike,
        *,
        n_queries: int = 1,
        model: Any = None,
        candidates: ArrayLike | None = None,
        diversity: float = 0.0,
    ) -> Query:
        """Choose rows whose labels would help most.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            All rows, labelled and unlabelled.
        y : array-like of shape (n_samples,)
            Labels; -1 among integers, NaN among floats, None or NaN among objects
            mark rows without one.
        n_queries : int, default=1
            How many rows to choose.
        model : fitted classifier, default=None
            A classifier that has been fitted to `X` and `y`. When None, strategies
            that need one fit their own.
        candidates : array-like of int, default=None
            Rows that may be asked about, all without a label; when None, all rows
            without a label.
        diversity : float, default=0.0
            How much rows of one batch should differ, see :func:`select_batch`.

        Returns
        -------
        query : Query
            The rows, and the utility of every candidate.
        """
        pool = make_pool(X, y, candidates)
        check_count(n_queries, pool.candidates.size)
        if not diversity >= 0:
            raise ValueError(f"diversity must be >= 0, got {diversity}.")
        return self._choose(pool, n_queries, model, diversity)

    def _choose(
        self, pool: Pool, n_queries: int, model: Any, diversity: float
    ) -> Query:
        """Choose among the rows of a pool; by their utilities, unless overridden."""
        utilities = self._utilities(pool, model)
        places = self._select(pool, utilities, n_queries, diversity)
        return as_query(pool, places, utilities)

    def _utilities(self, pool: Pool, model: Any) -> NDArray[np.float64]:
        """Return how useful the label of each candidate would be."""
        raise NotImplementedError

    def _select(
        self,
        pool: Pool,
        utilities: NDArray[np.float64],
        n_queries: int,
        diversity: float,
    ) -> NDArray[np.intp]:
        return select_batch(
            utilities,
            n_queries,
            pool.rows() if diversity else None,
            diversity=diversity,
            random_state=self.random_state,
        )


class ModelStrategy(QueryStrategy):
    """A strategy based on the probabilities of a classifier."""

    estimator: Any

    def _probabilities(self, pool: Pool, model: Any) -> NDArray[np.float64]:
        if model is None:
            given = LogisticRegression() if self.estimator is None else self.estimator
            model = fit_model(given, pool.X, pool.y)
        return class_probabilities(model, pool.rows())


def make_pool(X: Any, y: ArrayLike, candidates: ArrayLike | None = None) -> Pool:
    """Find the rows that can be queried.

    Examples
    --------
    >>> from fewlabels.active._query import make_pool
    >>> make_pool([[0], [1], [2]], [0, -1, -1]).candidates
    array([1, 2])
    """
    values = with_holes(y)
    X, values = indexable(X, values)
    mask = unlabeled_mask(values)
    free = np.flatnonzero(mask)
    if candidates is not None:
        rows = np.atleast_1d(np.asarray(candidates))
        if rows.size and (
            rows.dtype.kind not in "iu" or rows.min() < 0 or rows.max() >= mask.size
        ):
            raise ValueError(
                f"candidates must hold row numbers from 0 to {mask.size - 1}."
            )
        rows = np.unique(rows.astype(np.intp))
        if not mask[rows].all():
            raise ValueError(
                "candidates holds rows that have a label: leave them out, or put the "
                "marker into y."
            )
        free = rows
    if free.size == 0:
        raise ValueError("There are no rows to ask about: all have a label.")
    return Pool(X, values, np.flatnonzero(~mask), free)


def check_count(n_queries: int, n_candidates: int) -> None:
    """Raise if this many rows cannot be chosen."""
    if not isinstance(n_queries, Integral) or not 1 <= n_queries <= n_candidates:
        raise ValueError(
            f"n_queries must be an int from 1 to {n_candidates}, the number of rows "
            f"that can be asked about; got {n_queries!r}."
        )


def as_query(
    pool: Pool, places: NDArray[np.intp], utilities: NDArray[np.float64]
) -> Query:
    """Translate positions among the candidates into row numbers."""
    everywhere = np.full(pool.y.size, np.nan)
    everywhere[pool.candidates] = utilities
    return Query(pool.candidates[places], everywhere)


def knows_unlabeled(estimator: Any) -> bool:
    """Whether a classifier learns from a `y` with missing labels.

    Examples
    --------
    >>> from sklearn.svm import SVC
    >>> from fewlabels import RLSClassifier
    >>> from fewlabels.active._query import knows_unlabeled
    >>> knows_unlabeled(SVC()), knows_unlabeled(RLSClassifier())
    (False, True)
    """
    if isinstance(estimator, Pipeline):
        return knows_unlabeled(estimator.steps[-1][1])
    known = (
        PartialLabelClassifier,
        LabeledOnly,
        LabelPropagation,
        LabelSpreading,
        SelfTrainingClassifier,
    )
    if isinstance(estimator, known):
        return True
    searched = isinstance(estimator, GridSearchCV | RandomizedSearchCV)
    return searched and knows_unlabeled(estimator.estimator)


def fit_model(estimator: Any, X: Any, y: NDArray[Any]) -> Any:
    """Fit a copy of a classifier to partly missing labels."""
    if not knows_unlabeled(estimator):
        estimator = LabeledOnly(estimator)
    return clone(estimator).fit(X, y)


def class_probabilities(model: Any, X: Any) -> NDArray[np.float64]:
    """Return the probabilities of a model."""
    if not hasattr(model, "predict_proba"):
        given = model.estimator if isinstance(model, LabeledOnly) else model
        raise ValueError(
            f"{type(given).__name__} has no predict_proba, which is needed here: "
            "wrap it in sklearn.calibration.CalibratedClassifierCV."
        )
    return model.predict_proba(X)
