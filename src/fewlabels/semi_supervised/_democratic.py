"""Democratic co-learning: the majority teaches those it outvotes."""

# SPDX-License-Identifier: BSD-3-Clause

from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import binomtest
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import Tags, check_random_state

from fewlabels._classifier import accepts_sparse, fitted, vote_of
from fewlabels._labels import UNLABELED, Labels
from fewlabels._sklearn import Interval, fit_context
from fewlabels.semi_supervised._committee import MAX_SEED, Committee, logistic


class DemocraticCoLearningClassifier(Committee):
    r"""Train different classifiers on one view; the majority teaches those it outvotes.

    Every classifier i has its own training set :math:`L_i`, at first the labelled rows,
    and a weight :math:`w_i`, the middle of a 95 % interval
    :math:`[\mathrm{lo}_i, \mathrm{hi}_i]` for its accuracy. In every round, an
    unlabelled row for which the majority class has more weight than any other is
    proposed, with that class, to the classifiers that voted otherwise. Classifier i
    accepts its proposals :math:`L_i'` if their benefit outweighs the cost of the wrong
    ones among them, :math:`q_i' > q_i`, where

    .. math::
        q_i = |L_i| \Big( 1 - \frac{2 e_i}{|L_i|} \Big)^2, \quad
        q_i' = |L_i \cup L_i'| \Big( 1 - \frac{2 (e_i + e_i')}{|L_i \cup L_i'|} \Big)^2,
        \quad
        e_i' = (1 - \overline{\mathrm{lo}}) \, |L_i'|,

    and :math:`e_i` is the expected number of wrong labels in :math:`L_i`. Training ends
    when no set grows. Predictions ignore classifiers with a weight of at most 1/2; the
    group G of those that vote for a class scores
    :math:`\frac{|G| + 1/2}{|G| + 1} \, \overline{w}_G`.

    Parameters
    ----------
    estimators : list of classifiers, default=None
        Three or more, of different kinds. None uses
        :class:`~sklearn.linear_model.LogisticRegression`,
        :class:`~sklearn.tree.DecisionTreeClassifier` and
        :class:`~sklearn.neighbors.KNeighborsClassifier` with one neighbour.
    cv : int or None, default=5
        Folds of the labelled rows on which accuracies are estimated, cut to their
        number; None uses the labelled rows themselves, as in the text of the paper,
        which is too optimistic for classifiers that fit them all.
    max_iter : int, default=100
        Largest number of rounds.
    random_state : int, RandomState instance or None, default=None
        Seed of the folds and of the default classifiers.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes, without the marker for unlabelled rows.
    transduction_ : ndarray of shape (n_samples,)
        A label for every training row: given or predicted.
    estimators_ : list of classifiers
        The fitted classifiers, which see classes as indices.
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
    The intervals are Wilson's. A row that a classifier has accepted keeps its label
    there. If more than half of the labels are expected to be wrong, q counts as zero.

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
        """Train the classifiers on the given labels and on those of majorities.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            All rows.
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
        self.transduction_ = self._transduction(X, labels)
        return self

    def _kinds(self, rng: np.random.RandomState) -> list[Any]:
        if self.estimators is None:
            return [
                logistic(),
                DecisionTreeClassifier(random_state=rng.randint(MAX_SEED)),
                # Brute force: there are few rows, and trees do not accept sparse ones.
                KNeighborsClassifier(1, algorithm="brute"),
            ]
        if len(self.estimators) < 3:
            raise ValueError(
                f"estimators must hold three classifiers or more for a majority, got "
                f"{len(self.estimators)}."
            )
        return list(self.estimators)

    def _folds(self, labels: Labels, rng: np.random.RandomState) -> list[Any] | None:
        """Split the labelled rows for training and validation."""
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
    """Class with the most votes if it also has the most weight, else -1."""
    ballots = votes[:, :, None] == np.arange(n_classes)
    counts = ballots.sum(axis=0)
    weight = np.tensordot(weights, ballots, axes=1)
    heaviest = weight.argmax(axis=1)
    rows = np.arange(votes.shape[1])
    alone = np.count_nonzero(weight == weight.max(axis=1, keepdims=True), axis=1) == 1
    agreed = alone & (counts[rows, heaviest] == counts.max(axis=1))
    return np.where(agreed, heaviest, UNLABELED)
