"""Active learning with two views, querying rows of medium certainty."""

# SPDX-License-Identifier: BSD-3-Clause

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.utils import Tags, check_random_state

from fewlabels._classifier import accepts_sparse
from fewlabels._labels import encode_labels
from fewlabels._linalg import FLOATS
from fewlabels._rows import view_columns
from fewlabels._sklearn import HasMethods, validate_data, validate_fitted
from fewlabels.active._loop import QueryLoop, upsampled_rows
from fewlabels.active._query import Query, fit_model
from fewlabels.active._utilities import middle_certainty, select_batch


class CoActiveLearner(QueryLoop):
    r"""Query rows of medium certainty for two classifiers on two views.

    The views are two sets of columns. In every round each classifier ranks the rows
    without a label by its confidence and proposes those in the middle of its ranking;
    all proposed rows are queried, and both classifiers are refitted.

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
        Largest number of rows to ask about; None continues until all rows have a label.
    oversample : bool, default=False
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
        A label for every training row: given, answered, or else predicted.
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
        "oversample": ["boolean"],
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
        oversample: bool = False,
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
        self.oversample = oversample
        self.tol = tol
        self.patience = patience
        self.random_state = random_state

    def _kinds(self) -> tuple[Any, Any]:
        first = LogisticRegression() if self.estimator1 is None else self.estimator1
        return first, first if self.estimator2 is None else self.estimator2

    def _read(self, X: Any) -> Any:
        return validate_data(self, X, accept_sparse="csr", dtype=FLOATS)

    def _start(self) -> None:
        names = getattr(self, "feature_names_in_", ())
        self.views_ = view_columns(self.views, self.X_.shape[1], names)
        self._rng = check_random_state(self.random_state)

    def _learn(self, fresh: NDArray[np.intp]) -> None:
        labels = encode_labels(self.y_)
        self.classes_ = labels.classes
        rows = np.arange(self.y_.size)
        if self.oversample:
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
        # First choices first, so that a budget cuts off the least useful rows.
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
        X = validate_fitted(self, X, accept_sparse="csr", dtype=FLOATS)
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
