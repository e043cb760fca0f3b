"""Tri-training: of three classifiers, two that agree teach the third."""

# SPDX-License-Identifier: BSD-3-Clause

from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import Tags, check_random_state, resample

from fewlabels._classifier import accepts_sparse, fitted, vote_of
from fewlabels._labels import UNLABELED
from fewlabels._sklearn import HasMethods, Interval, fit_context
from fewlabels.semi_supervised._committee import MAX_SEED, Committee


class TriTrainingClassifier(Committee):
    r"""Train three classifiers on one view; where two agree, they teach the third.

    The classifiers start from bootstrap samples of the labelled rows. Let :math:`e_i`
    be the error of the other two on labelled rows where they agree. In every round,
    classifier i is taught the unlabelled rows :math:`L_i` on which they agree if that
    makes :math:`e_i |L_i|` smaller than in its previous round (a random part of
    :math:`L_i` is used if needed and possible). Training ends when no classifier is
    taught any more; predictions are majority votes.

    Parameters
    ----------
    estimator : classifier or list of three, default=None
        The classifier to train three copies of, or three classifiers of different
        kinds. None uses :class:`sklearn.tree.DecisionTreeClassifier`.
    max_iter : int, default=100
        Largest number of rounds.
    random_state : int, RandomState instance or None, default=None
        Seed of the samples and of the default classifiers.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes, without the marker for unlabelled rows.
    transduction_ : ndarray of shape (n_samples,)
        A label for every training row: given or predicted.
    estimators_ : list of three classifiers
        The fitted classifiers, which see classes as indices.
    errors_ : list of three lists of float
        The error :math:`e_i` of each round in which classifier i was taught, in
        decreasing order.
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
        self, estimator: Any = None, *, max_iter: int = 100, random_state: Any = None
    ) -> None:
        self.estimator = estimator
        self.max_iter = max_iter
        self.random_state = random_state

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: ArrayLike) -> Self:
        """Train the three classifiers on the given labels and on each other's.

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
        self.transduction_ = self._transduction(X, labels)
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
        # If all three differ, the first vote counts.
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
    """Error where two classifiers agree; 1/2 if they never do."""
    agreed = first == second
    return float(np.mean(first[agreed] != truth[agreed])) if agreed.any() else 0.5


def lesson_size(
    error: float, n_agreed: int, last_error: float, last_size: float
) -> int:
    """Choose how many of the rows on which two classifiers agree to teach the third.

    Parameters
    ----------
    error : float
        Estimated error on these rows.
    n_agreed : int
        Number of these rows.
    last_error : float
        The error when the third was last taught, at first 1/2.
    last_size : float
        Number of rows it was taught then, at first 0.

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
