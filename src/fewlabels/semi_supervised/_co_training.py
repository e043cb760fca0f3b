"""Classifiers that teach each other: co-training, democratic, tri-training."""

# SPDX-License-Identifier: BSD-3-Clause

from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import binomtest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MaxAbsScaler, StandardScaler
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import Tags, check_random_state, resample
from sklearn.utils.validation import check_is_fitted

from fewlabels._classifier import (
    SURENESS_TOL,
    PartialLabelClassifier,
    accepts_sparse,
    by_sureness,
    fitted,
    most_probable,
    vote_of,
)
from fewlabels._labels import UNLABELED, Labels, validate_partially_labeled
from fewlabels._rows import dense_if_small, view_columns
from fewlabels._sklearn import (
    HasMethods,
    Interval,
    StrOptions,
    fit_context,
    validate_data,
)

MAX_SEED = np.iinfo(np.int32).max


def _logistic() -> Pipeline:
    """Logistic regression that converges whatever the units of the columns."""
    # Standard deviations alone would leave constant columns in their unit.
    return make_pipeline(
        MaxAbsScaler(),
        StandardScaler(with_mean=False),
        LogisticRegression(max_iter=1000),
    )


def _probabilities(model: Any, X: Any, n_classes: int) -> NDArray[np.float64]:
    """Probabilities of all classes, also of those that the model has not seen."""
    if not hasattr(model, "predict_proba"):
        raise ValueError(
            f"{type(model).__name__} has no predict_proba, which says how sure it is: "
            "wrap it in sklearn.calibration.CalibratedClassifierCV."
        )
    P = np.zeros((X.shape[0], n_classes))
    P[:, model.classes_] = model.predict_proba(X)
    return P


class _Committee(PartialLabelClassifier):
    """What the three share: rows in, a label for every row out."""

    def _validate(self, X: Any, y: ArrayLike) -> tuple[Any, Labels]:
        X, labels = validate_partially_labeled(
            self, X, y, accept_sparse="csr", dtype=np.float64
        )
        self.classes_ = labels.classes
        return dense_if_small(X), labels

    def _validated(self, X: Any) -> Any:
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=False)
        return dense_if_small(X)

    def _codes(self, X: Any) -> NDArray[np.intp]:
        raise NotImplementedError

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the class of every row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_queries, n_features)
            Rows.

        Returns
        -------
        y : ndarray of shape (n_queries,)
            The predicted classes.
        """
        codes = self._codes(self._validated(X))
        return self.classes_[codes]

    def _keep_transduction(self, X: Any, codes: NDArray[np.intp]) -> None:
        """Keep the codes, with predictions in their holes."""
        codes = codes.copy()
        holes = np.flatnonzero(codes == UNLABELED)
        if holes.size:
            codes[holes] = self._codes(X[holes])
        self.transduction_ = self.classes_[codes]


class CoTrainingClassifier(_Committee):
    r"""Two classifiers on two views of the rows that teach each other.

    In every round each classifier, trained on its view of the labelled rows, labels the
    rows of a random pool of unlabelled rows that it is most sure of, a given number of
    each class. They join the labelled rows of both, and the pool is filled up again.
    Where both want the same row in different classes, the surer one decides. A row is
    only ever labelled with the class that its teacher thinks most probable. Of equally
    probable classes, to six digits, it is the first; of equally sure rows likewise.

    It helps if each view alone suffices to learn from, and if the views are independent
    given the class.

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
    n_per_class : array-like, dict or None, default=None
        Rows that each classifier labels per class and round: an array in the order of
        `classes_` or a dict by class. None takes the ratio of the labels, rounded, with
        one row of the rarest class; the paper took 1 positive and 3 negative.
    pool_size : int, default=75
        Unlabelled rows to choose from in a round.
    max_iter : int or None, default=30
        Largest number of rounds; None continues until all rows are labelled, or those
        left belong to classes of which `n_per_class` takes no rows.
    combine : {"product", "mean"}, default="product"
        How the two probabilities of a class become one.
    random_state : int, RandomState instance or None, default=None
        Seed of the pool.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes, without the marker of unlabelled rows.
    transduction_ : ndarray of shape (n_samples,)
        A label for every training row: the given one, or else the predicted one.
    added_ : list of ndarrays
        For every class, the rows that were labelled with it in some round; what is
        learnt from all of them may be another class for some.
    estimators_ : list of two classifiers
        The fitted classifiers, which know classes by their index.
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
        """Train the two classifiers on the labels given and on each other's.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            All rows, with the columns of both views.
        y : array-like of shape (n_samples,)
            Labels; -1 among integers, NaN among floats, None or NaN among objects
            mark rows without one.

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
        n_passed = 0  # rows that the present models have left alone
        self._fit_both(X, codes)
        while pool.size and (self.max_iter is None or self.n_iter_ < self.max_iter):
            self.n_iter_ += 1
            chosen = self._choose(X[pool])
            places = np.flatnonzero(chosen != UNLABELED)
            if not places.size:  # no row is of a class of which rows are taken
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
        self._keep_transduction(X, labels.codes)
        return self

    def _fit_both(self, X: Any, codes: NDArray[np.intp]) -> None:
        first = _logistic() if self.estimator1 is None else self.estimator1
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
        """Class of the rows that are labelled in this round, -1 for the others."""
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
        # Where the two exclude each other's classes, their mean.
        return np.where(
            total > 0, product / np.where(total > 0, total, 1), (first + second) / 2
        )

    def _codes(self, X: Any) -> NDArray[np.intp]:
        return most_probable(self._proba(X))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = accepts_sparse(self.estimator1, self.estimator2)
        return tags


class DemocraticCoLearningClassifier(_Committee):
    r"""Different classifiers on one view: the majority teaches those it outvotes.

    Every classifier i has its own training set :math:`L_i`, at first the labelled rows,
    and a weight :math:`w_i`, the middle of a 95 % interval
    :math:`[\mathrm{lo}_i, \mathrm{hi}_i]` for its accuracy. In every round, an
    unlabelled row for which the majority class has more weight than any other is
    proposed, with that class, to the classifiers that voted otherwise. Classifier i
    takes its proposals :math:`L_i'` if they promise more than the wrong ones among them
    cost, :math:`q_i' > q_i`, where

    .. math::
        q_i = |L_i| \Big( 1 - \frac{2 e_i}{|L_i|} \Big)^2, \quad
        q_i' = |L_i \cup L_i'| \Big( 1 - \frac{2 (e_i + e_i')}{|L_i \cup L_i'|} \Big)^2,
        \quad
        e_i' = (1 - \overline{\mathrm{lo}}) \, |L_i'|,

    and :math:`e_i` is the number of wrong labels expected in :math:`L_i`. It ends when
    no set grows. For a prediction, classifiers with a weight of at most 1/2 are left
    out, and the group G of those that vote for a class scores
    :math:`\frac{|G| + 1/2}{|G| + 1} \, \overline{w}_G`.

    Parameters
    ----------
    estimators : list of classifiers, default=None
        Three or more, of different kinds. None takes
        :class:`~sklearn.linear_model.LogisticRegression`,
        :class:`~sklearn.tree.DecisionTreeClassifier` and
        :class:`~sklearn.neighbors.KNeighborsClassifier` with one neighbour.
    cv : int or None, default=5
        Folds of the labelled rows on which accuracies are estimated, cut to their
        number; None uses the labelled rows themselves, as in the paper's prose, which
        is too optimistic for classifiers that fit them all.
    max_iter : int, default=100
        Largest number of rounds.
    random_state : int, RandomState instance or None, default=None
        Seed of the folds and of the default classifiers.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes, without the marker of unlabelled rows.
    transduction_ : ndarray of shape (n_samples,)
        A label for every training row: the given one, or else the predicted one.
    estimators_ : list of classifiers
        The fitted classifiers, which know classes by their index.
    weights_ : ndarray of shape (n_estimators,)
        Their weights.
    added_ : list of ndarrays
        The unlabelled rows that each classifier was taught.
    n_iter_ : int
        Number of rounds.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, where `X` had any.

    See Also
    --------
    TriTrainingClassifier : Three classifiers, taught where two agree.

    Notes
    -----
    The intervals are Wilson's. A row that a classifier has taken keeps its label there.
    Where more wrong than right labels are expected, q counts as zero.

    References
    ----------
    .. [1] Y. Zhou and S. Goldman, "Democratic co-learning", ICTAI 2004.
       :doi:`10.1109/ICTAI.2004.48`

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from fewlabels.datasets import hide_labels
    >>> from fewlabels.semi_supervised import DemocraticCoLearningClassifier
    >>> X, y_true = make_moons(300, noise=0.1, random_state=1)
    >>> y = hide_labels(y_true, n_labeled=30, random_state=1)
    >>> model = DemocraticCoLearningClassifier(random_state=0).fit(X, y)
    >>> bool(model.score(X, y_true) > 0.95)
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "estimators": [list, tuple, None],
        "cv": [Interval(Integral, 2, None, closed="left"), None],
        "max_iter": [Interval(Integral, 0, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        estimators: Any = None,
        *,
        cv: int | None = 5,
        max_iter: int = 100,
        random_state: Any = None,
    ) -> None:
        self.estimators = estimators
        self.cv = cv
        self.max_iter = max_iter
        self.random_state = random_state

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: ArrayLike) -> Self:
        """Train the classifiers on the labels given and on what majorities say.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            All rows.
        y : array-like of shape (n_samples,)
            Labels; -1 among integers, NaN among floats, None or NaN among objects
            mark rows without one.

        Returns
        -------
        self : object
            The fitted classifier.
        """
        X, labels = self._validate(X, y)
        rng = check_random_state(self.random_state)
        kinds = self._kinds(rng)
        folds = self._folds(labels, rng)
        unlabeled = np.flatnonzero(labels.codes == UNLABELED)
        known = [labels.codes.copy() for _ in kinds]  # the sets L_i
        wrong = np.zeros(len(kinds))  # e_i
        self.estimators_ = [_fit_known(kind, X, labels.codes) for kind in kinds]
        intervals = np.array(
            [self._interval(kind, X, labels.codes, labels, folds) for kind in kinds]
        )
        self.n_iter_ = 0
        while unlabeled.size and self.n_iter_ < self.max_iter:
            votes = np.array([vote_of(m, X[unlabeled]) for m in self.estimators_])
            winner = _weighted_majority(
                votes, intervals.mean(axis=1), labels.classes.size
            )
            grown = []
            for i in range(len(kinds)):
                taught = (winner != UNLABELED) & (votes[i] != winner)
                taught &= known[i][unlabeled] == UNLABELED
                size = int(np.count_nonzero(known[i] != UNLABELED))
                more = int(np.count_nonzero(taught))
                more_wrong = (1 - intervals[:, 0].mean()) * more
                if more and _promise(size + more, wrong[i] + more_wrong) > _promise(
                    size, wrong[i]
                ):
                    known[i][unlabeled[taught]] = winner[taught]
                    wrong[i] += more_wrong
                    grown.append(i)
            if not grown:
                break
            self.n_iter_ += 1
            for i in grown:
                self.estimators_[i] = _fit_known(kinds[i], X, known[i])
                intervals[i] = self._interval(kinds[i], X, known[i], labels, folds)
        self.weights_ = intervals.mean(axis=1)
        self.added_ = [unlabeled[codes[unlabeled] != UNLABELED] for codes in known]
        self._keep_transduction(X, labels.codes)
        return self

    def _kinds(self, rng: np.random.RandomState) -> list[Any]:
        if self.estimators is None:
            return [
                _logistic(),
                DecisionTreeClassifier(random_state=rng.randint(MAX_SEED)),
                # Few rows are searched, and trees would refuse sparse questions.
                KNeighborsClassifier(1, algorithm="brute"),
            ]
        if len(self.estimators) < 3:
            raise ValueError(
                f"estimators must hold three classifiers or more for a majority, got "
                f"{len(self.estimators)}."
            )
        return list(self.estimators)

    def _folds(self, labels: Labels, rng: np.random.RandomState) -> list[Any] | None:
        """Pairs of labelled rows to train on and to judge by."""
        rows = labels.labeled
        if self.cv is None or rows.size < 2:
            return None
        codes = labels.codes[rows]
        n_splits = min(self.cv, rows.size)
        if np.bincount(codes).min() >= n_splits:
            folds: Any = StratifiedKFold(n_splits, shuffle=True, random_state=rng)
        else:  # a class with fewer rows than folds
            folds = KFold(n_splits, shuffle=True, random_state=rng)
        return [(rows[a], rows[b]) for a, b in folds.split(rows, codes)]

    def _interval(
        self,
        kind: Any,
        X: Any,
        known: NDArray[np.intp],
        labels: Labels,
        folds: list[Any] | None,
    ) -> tuple[float, float]:
        """Interval for the accuracy of a classifier, from the labelled rows."""
        n_right = 0
        for _, judged in folds or [(None, labels.labeled)]:
            learnt = known.copy()
            if folds is not None:
                learnt[judged] = UNLABELED
            model = _fit_known(kind, X, learnt)
            right = vote_of(model, X[judged]) == labels.codes[judged]
            n_right += int(np.count_nonzero(right))
        ci = binomtest(n_right, labels.labeled.size).proportion_ci(method="wilson")
        return ci.low, ci.high

    def _codes(self, X: Any) -> NDArray[np.intp]:
        heard = np.flatnonzero(self.weights_ > 0.5)
        if heard.size == 0:
            heard = np.arange(self.weights_.size)
        scores = np.zeros((X.shape[0], self.classes_.size))
        sizes = np.zeros_like(scores)
        rows = np.arange(X.shape[0])
        for i in heard:
            codes = vote_of(self.estimators_[i], X)
            scores[rows, codes] += self.weights_[i]
            sizes[rows, codes] += 1
        means = scores / np.maximum(sizes, 1)
        return ((sizes + 0.5) / (sizes + 1) * means).argmax(axis=1)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = accepts_sparse(*(self.estimators or []))
        return tags


def _fit_known(estimator: Any, X: Any, codes: NDArray[np.intp]) -> Any:
    rows = np.flatnonzero(codes != UNLABELED)
    return fitted(estimator, X[rows], codes[rows])


def _promise(size: int, wrong: float) -> float:
    """Value of a training set in which some labels are wrong."""
    return size * max(1 - 2 * wrong / size, 0.0) ** 2


def _weighted_majority(
    votes: NDArray[np.intp], weights: NDArray[Any], n_classes: int
) -> NDArray[np.intp]:
    """Class with the most votes, where it also has the most weight; else -1."""
    ballots = votes[:, :, None] == np.arange(n_classes)
    counts = ballots.sum(axis=0)
    weight = np.tensordot(weights, ballots, axes=1)
    heaviest = weight.argmax(axis=1)
    rows = np.arange(votes.shape[1])
    alone = np.count_nonzero(weight == weight.max(axis=1, keepdims=True), axis=1) == 1
    agreed = alone & (counts[rows, heaviest] == counts.max(axis=1))
    return np.where(agreed, heaviest, UNLABELED)


class TriTrainingClassifier(_Committee):
    r"""Three classifiers on one view: where two agree, they teach the third.

    The classifiers start from bootstrap samples of the labelled rows. In every round,
    with :math:`e_i` the share of mistakes of the other two on labelled rows where they
    agree, classifier i is taught the unlabelled rows on which they agree if that makes
    :math:`e_i |L_i|` smaller than in its previous round (from the set :math:`L_i` a
    random part is taken where needed and possible). It ends when no classifier learns
    any more; a prediction is the majority of the three.

    Parameters
    ----------
    estimator : classifier or list of three, default=None
        The classifier to train three copies of, or three classifiers of different
        kinds. None takes :class:`sklearn.tree.DecisionTreeClassifier`.
    max_iter : int, default=100
        Largest number of rounds.
    random_state : int, RandomState instance or None, default=None
        Seed of the samples and of the default classifiers.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes, without the marker of unlabelled rows.
    transduction_ : ndarray of shape (n_samples,)
        A label for every training row: the given one, or else the predicted one.
    estimators_ : list of three classifiers
        The fitted classifiers, which know classes by their index.
    errors_ : list of three lists of float
        The error :math:`e_i` of each round in which classifier i was taught; it
        falls.
    added_ : list of ndarrays
        The unlabelled rows that each classifier was taught last.
    n_iter_ : int
        Number of rounds.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, where `X` had any.

    See Also
    --------
    DemocraticCoLearningClassifier : Any number of classifiers with weights.

    Notes
    -----
    The bootstrap samples keep the number of labels of each class, so that no class is
    lost. With one label per class they are all the same, and so are three copies of a
    deterministic classifier: in that case, pass three kinds.

    References
    ----------
    .. [1] Z.-H. Zhou and M. Li, "Tri-training: exploiting unlabeled data using three
       classifiers", IEEE Transactions on Knowledge and Data Engineering 17, 2005.
       :doi:`10.1109/TKDE.2005.186`

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from fewlabels.datasets import hide_labels
    >>> from fewlabels.semi_supervised import TriTrainingClassifier
    >>> X, y_true = make_moons(300, noise=0.1, random_state=0)
    >>> y = hide_labels(y_true, n_labeled=30, random_state=0)
    >>> model = TriTrainingClassifier(random_state=0).fit(X, y)
    >>> bool(model.score(X, y_true) > 0.85)
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "estimator": [HasMethods(["fit", "predict"]), list, tuple, None],
        "max_iter": [Interval(Integral, 0, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        max_iter: int = 100,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.max_iter = max_iter
        self.random_state = random_state

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: ArrayLike) -> Self:
        """Train the three classifiers on the labels given and on each other's.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            All rows.
        y : array-like of shape (n_samples,)
            Labels; -1 among integers, NaN among floats, None or NaN among objects
            mark rows without one.

        Returns
        -------
        self : object
            The fitted classifier.
        """
        X, labels = self._validate(X, y)
        rng = check_random_state(self.random_state)
        kinds = self._kinds(rng)
        rows, codes = labels.labeled, labels.codes[labels.labeled]
        unlabeled = np.flatnonzero(labels.codes == UNLABELED)
        samples = [resample(rows, stratify=codes, random_state=rng) for _ in kinds]
        self.estimators_ = [
            fitted(kind, X[sample], labels.codes[sample])
            for kind, sample in zip(kinds, samples, strict=True)
        ]
        self.errors_: list[list[float]] = [[], [], []]
        self.added_ = [unlabeled[:0]] * 3
        last_error, last_size = np.full(3, 0.5), np.zeros(3)
        self.n_iter_ = 0
        while unlabeled.size and self.n_iter_ < self.max_iter:
            on_labeled = np.array([vote_of(m, X[rows]) for m in self.estimators_])
            on_unlabeled = np.array(
                [vote_of(m, X[unlabeled]) for m in self.estimators_]
            )
            lessons = {}
            for i in range(3):
                j, k = (i + 1) % 3, (i + 2) % 3
                error = _error_of_agreement(on_labeled[j], on_labeled[k], codes)
                agreed = np.flatnonzero(on_unlabeled[j] == on_unlabeled[k])
                size = lesson_size(error, agreed.size, last_error[i], last_size[i])
                if size:
                    if size < agreed.size:
                        agreed = rng.choice(agreed, size, replace=False)
                    lessons[i] = error, agreed, on_unlabeled[j][agreed]
            if not lessons:
                break
            self.n_iter_ += 1
            for i, (error, agreed, taught) in lessons.items():
                self.estimators_[i] = fitted(
                    kinds[i],
                    X[np.concatenate([rows, unlabeled[agreed]])],
                    np.concatenate([codes, taught]),
                )
                self.errors_[i].append(error)
                self.added_[i] = unlabeled[agreed]
                last_error[i], last_size[i] = error, agreed.size
        self._keep_transduction(X, labels.codes)
        return self

    def _kinds(self, rng: np.random.RandomState) -> list[Any]:
        if self.estimator is None:
            return [
                DecisionTreeClassifier(random_state=rng.randint(MAX_SEED))
                for _ in range(3)
            ]
        if not isinstance(self.estimator, list | tuple):
            return [self.estimator] * 3
        if len(self.estimator) != 3:
            raise ValueError(
                f"estimator must be one classifier or three, got {len(self.estimator)}."
            )
        return list(self.estimator)

    def _codes(self, X: Any) -> NDArray[np.intp]:
        votes = np.array([vote_of(model, X) for model in self.estimators_])
        # Of three different votes, the first.
        return np.where(votes[1] == votes[2], votes[1], votes[0])

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        kinds = self.estimator
        tags.input_tags.sparse = accepts_sparse(
            *(kinds if isinstance(kinds, list | tuple) else [kinds])
        )
        return tags


def _error_of_agreement(
    first: NDArray[np.intp], second: NDArray[np.intp], truth: NDArray[np.intp]
) -> float:
    """Share of mistakes where two classifiers agree; 1/2 where they never do."""
    agreed = first == second
    return float(np.mean(first[agreed] != truth[agreed])) if agreed.any() else 0.5


def lesson_size(
    error: float, n_agreed: int, last_error: float, last_size: float
) -> int:
    """How many of the rows on which two classifiers agree the third is taught.

    Parameters
    ----------
    error : float
        Estimated share of mistakes among them.
    n_agreed : int
        How many there are.
    last_error : float
        The share when the third was last taught, at first 1/2.
    last_size : float
        How many rows that were, 0 for none yet.

    Returns
    -------
    size : int
        `n_agreed`, or fewer so that fewer mistakes are expected than last time, or 0 if
        that is not possible.
    """
    if error >= last_error:
        return 0
    least = error / (last_error - error)
    if last_size == 0:
        last_size = np.floor(least + 1)
    if last_size >= n_agreed:
        return 0
    if error * n_agreed < last_error * last_size:
        return n_agreed
    if last_size > least:
        return int(np.ceil(last_error * last_size / error - 1))
    return 0
