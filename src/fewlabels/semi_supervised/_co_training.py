"""Co-training: two classifiers, each with its own view, that teach each other."""

# SPDX-License-Identifier: BSD-3-Clause

from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import Tags, check_random_state

from fewlabels._classifier import (
    SURENESS_TOL,
    accepts_sparse,
    by_sureness,
    fitted,
    most_probable,
)
from fewlabels._labels import UNLABELED, Labels
from fewlabels._rows import view_columns
from fewlabels._sklearn import HasMethods, Interval, StrOptions, fit_context
from fewlabels.semi_supervised._committee import Committee, logistic


def _probabilities(model: Any, X: Any, n_classes: int) -> NDArray[np.float64]:
    """Probabilities of all classes, including those the model has not seen."""
    if not hasattr(model, "predict_proba"):
        raise ValueError(
            f"{type(model).__name__} has no predict_proba, which says how sure it is: "
            "wrap it in sklearn.calibration.CalibratedClassifierCV."
        )
    P = np.zeros((X.shape[0], n_classes))
    P[:, model.classes_] = model.predict_proba(X)
    return P


class CoTrainingClassifier(Committee):
    r"""Train two classifiers on two views of the rows that teach each other.

    In every round, each classifier is trained on its view of the labelled rows and
    labels its most confident rows in a random pool of unlabelled rows, a given number
    per class. These join the labelled rows of both, and the pool is refilled. If both
    label the same row differently, the more confident one decides. A row is only ever
    labelled with the class its teacher finds most probable; ties between classes (to
    six digits) and between rows go to the first.

    Co-training works best if each view alone is sufficient for learning and the views
    are independent given the class.

    Parameters
    ----------
    estimator1 : classifier, default=None
        Classifier of the first view, with `predict_proba`; None uses
        :class:`sklearn.linear_model.LogisticRegression`.
    estimator2 : classifier, default=None
        Classifier of the second view; None uses a copy of the first.
    views : pair of column selections, default=None
        Columns of the two views: lists of indices or of names, boolean masks or slices.
        None uses the first and the second half of the columns.
    n_per_class : array-like, dict or None, default=None
        Rows that each classifier labels per class and round: an array in the order of
        `classes_` or a dict by class. None uses the ratio of the labels, rounded, with
        one row of the rarest class; the paper used 1 positive and 3 negative.
    pool_size : int, default=75
        Unlabelled rows to choose from in a round.
    max_iter : int or None, default=30
        Largest number of rounds; None continues until all rows are labelled, or until
        the remaining ones belong to classes with `n_per_class` zero.
    combine : {"product", "mean"}, default="product"
        How to combine the two probabilities of a class.
    random_state : int, RandomState instance or None, default=None
        Seed of the pool.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes, without the marker for unlabelled rows.
    transduction_ : ndarray of shape (n_samples,)
        A label for every training row: given or predicted.
    added_ : list of ndarrays
        For every class, the rows labelled with it in some round; the final model may
        predict another class for some of them.
    estimators_ : list of two classifiers
        The fitted classifiers, which see classes as indices.
    views_ : list of two ndarrays
        Columns of the two views.
    n_per_class_ : ndarray of shape (n_classes,)
        Rows per class, classifier and round.
    labeled_iter_ : ndarray of shape (n_samples,)
        Round in which each row was labelled: 0 for given labels, -1 for never.
    n_iter_ : int
        Number of rounds.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, where `X` had any.

    See Also
    --------
    TriTrainingClassifier : Three classifiers on one view.

    References
    ----------
    .. [1] A. Blum and T. Mitchell, "Combining labeled and unlabeled data with
       co-training", COLT 1998. :doi:`10.1145/279943.279962`

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.datasets import hide_labels
    >>> from fewlabels.semi_supervised import CoTrainingClassifier
    >>> rng = np.random.default_rng(0)
    >>> y_true = rng.integers(2, size=400)
    >>> X = 2 * y_true[:, None] + rng.normal(size=(400, 4))  # independent given y
    >>> y = hide_labels(y_true, n_labeled=6, random_state=0)
    >>> model = CoTrainingClassifier(views=([0, 1], [2, 3]), random_state=0).fit(X, y)
    >>> bool(model.score(X, y_true) > 0.95)
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "estimator1": [HasMethods(["fit"]), None],
        "estimator2": [HasMethods(["fit"]), None],
        "views": ["array-like", tuple, list, None],
        "n_per_class": ["array-like", dict, None],
        "pool_size": [Interval(Integral, 1, None, closed="left")],
        "max_iter": [Interval(Integral, 0, None, closed="left"), None],
        "combine": [StrOptions({"product", "mean"})],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        estimator1: Any = None,
        estimator2: Any = None,
        *,
        views: Any = None,
        n_per_class: Any = None,
        pool_size: int = 75,
        max_iter: int | None = 30,
        combine: str = "product",
        random_state: Any = None,
    ) -> None:
        self.estimator1 = estimator1
        self.estimator2 = estimator2
        self.views = views
        self.n_per_class = n_per_class
        self.pool_size = pool_size
        self.max_iter = max_iter
        self.combine = combine
        self.random_state = random_state

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: ArrayLike) -> Self:
        """Train the two classifiers on the given labels and on each other's.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            All rows, with the columns of both views.
        y : array-like of shape (n_samples,)
            Labels; -1 among integers, NaN among floats, and None or NaN among objects
            mark unlabelled rows.

        Returns
        -------
        self : object
            The fitted classifier.
        """
        X, labels = self._validate(X, y)
        rng = check_random_state(self.random_state)
        names = getattr(self, "feature_names_in_", ())
        self.views_ = view_columns(self.views, X.shape[1], names)
        self.n_per_class_ = self._counts(labels)
        codes = labels.codes.copy()
        self.labeled_iter_ = np.where(codes == UNLABELED, -1, 0)
        waiting = rng.permutation(np.flatnonzero(codes == UNLABELED))
        pool, waiting = np.split(waiting, [min(self.pool_size, waiting.size)])
        self.n_iter_ = 0
        n_passed = 0  # rows that the current models have not labelled
        self._fit_both(X, codes)
        while pool.size and (self.max_iter is None or self.n_iter_ < self.max_iter):
            self.n_iter_ += 1
            chosen = self._choose(X[pool])
            places = np.flatnonzero(chosen != UNLABELED)
            if not places.size:  # no row is predicted in a class that takes rows
                n_passed += pool.size
                if n_passed >= pool.size + waiting.size:
                    break
                queue = np.concatenate([waiting, pool])
                pool, waiting = np.split(queue, [pool.size])
                continue
            n_passed = 0
            codes[pool[places]] = chosen[places]
            self.labeled_iter_[pool[places]] = self.n_iter_
            fresh, waiting = np.split(waiting, [min(places.size, waiting.size)])
            pool = np.concatenate([np.delete(pool, places), fresh])
            self._fit_both(X, codes)
        taught = np.where(labels.codes == UNLABELED, codes, UNLABELED)
        self.added_ = [np.flatnonzero(taught == c) for c in range(labels.classes.size)]
        self.transduction_ = self._transduction(X, labels)
        return self

    def _fit_both(self, X: Any, codes: NDArray[np.intp]) -> None:
        first = logistic() if self.estimator1 is None else self.estimator1
        second = first if self.estimator2 is None else self.estimator2
        rows = np.flatnonzero(codes != UNLABELED)
        self.estimators_ = [
            fitted(estimator, X[rows][:, columns], codes[rows])
            for estimator, columns in zip((first, second), self.views_, strict=True)
        ]

    def _both_probabilities(self, X: Any) -> list[NDArray[np.float64]]:
        return [
            _probabilities(model, X[:, columns], self.classes_.size)
            for model, columns in zip(self.estimators_, self.views_, strict=True)
        ]

    def _choose(self, X: Any) -> NDArray[np.intp]:
        """Class of the rows labelled in this round, -1 for the others."""
        chosen = np.full(X.shape[0], UNLABELED, dtype=np.intp)
        sureness = np.full(X.shape[0], -np.inf)
        for P in self._both_probabilities(X):
            best = P.max(axis=1)
            favourite = most_probable(P)
            for c, count in enumerate(self.n_per_class_):
                rows = np.flatnonzero(favourite == c)
                rows = rows[by_sureness(best[rows])[:count]]
                surer = rows[best[rows] > sureness[rows] + SURENESS_TOL]
                chosen[surer], sureness[surer] = c, best[surer]
        return chosen

    def _counts(self, labels: Labels) -> NDArray[np.intp]:
        """Rows to label per class."""
        k = labels.classes.size
        if self.n_per_class is None:
            given = np.bincount(labels.codes[labels.labeled], minlength=k)
            return np.rint(given / given.min()).astype(np.intp)
        counts = self.n_per_class
        if isinstance(counts, dict):
            if set(counts) != set(labels.classes.tolist()):
                raise ValueError(
                    f"n_per_class names the classes {sorted(counts, key=str)}, but the "
                    f"labels hold {labels.classes.tolist()}: give a number for each."
                )
            counts = [counts[c] for c in labels.classes.tolist()]
        counts = np.asarray(counts)
        if counts.shape != (k,) or counts.dtype.kind not in "iu" or counts.min() < 0:
            raise ValueError(
                f"n_per_class must hold one whole number for each of the {k} classes, "
                f"got {self.n_per_class!r}."
            )
        if not counts.any():
            raise ValueError("n_per_class is zero for all classes: nothing to teach.")
        return counts.astype(np.intp)

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Combine the probabilities of the two classifiers.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_queries, n_features)
            Rows.

        Returns
        -------
        proba : ndarray of shape (n_queries, n_classes)
            Probabilities, in the order of `classes_`.
        """
        return self._proba(self._validated(X))

    def _proba(self, X: Any) -> NDArray[np.float64]:
        first, second = self._both_probabilities(X)
        if self.combine == "mean":
            return (first + second) / 2
        product = first * second
        total = product.sum(axis=1, keepdims=True)
        # If the two exclude each other's classes, use their mean.
        return np.where(
            total > 0, product / np.where(total > 0, total, 1), (first + second) / 2
        )

    def _codes(self, X: Any) -> NDArray[np.intp]:
        return most_probable(self._proba(X))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = accepts_sparse(self.estimator1, self.estimator2)
        return tags
