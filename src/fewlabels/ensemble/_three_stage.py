"""Schapire's first booster: three classifiers on filtered rows."""

# SPDX-License-Identifier: BSD-3-Clause

import warnings
from numbers import Integral
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.dummy import DummyClassifier
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import check_random_state

from fewlabels._classifier import vote_of
from fewlabels._params import usual
from fewlabels._sklearn import HasMethods, Interval, fit_context
from fewlabels.ensemble._boosted import BoostedClassifier, seeded


class ThreeStageModel(NamedTuple):
    """Three classifiers, or one if filtering left nothing to learn.

    Attributes
    ----------
    estimators : list of classifiers
        In the order in which they were fitted.
    samples : list of ndarray
        Indices of the rows that each was fitted to, with repetitions.
    """

    estimators: list[Any]
    samples: list[NDArray[np.intp]]


def half_wrong_sample(
    wrong: NDArray[np.bool_], n_samples: int, random_state: Any = None
) -> NDArray[np.intp]:
    """Draw rows, half of which a classifier misclassifies.

    Parameters
    ----------
    wrong : ndarray of bool of shape (n_rows,)
        Which rows it misclassifies; some, but not all.
    n_samples : int
        Rows to draw, with replacement.
    random_state : int, RandomState instance or None, default=None
        Seed.

    Returns
    -------
    rows : ndarray of shape (n_samples,)
        Indices; if their number is odd, the larger half is classified correctly.

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.ensemble import half_wrong_sample
    >>> wrong = np.array([True, False, False, False])
    >>> int(wrong[half_wrong_sample(wrong, 10, random_state=0)].sum())
    5
    """
    if wrong.all() or not wrong.any():
        raise ValueError(
            "wrong must hold rows of both kinds: there is nothing to draw half of the "
            "sample from."
        )
    rng = check_random_state(random_state)
    return np.concatenate(
        [
            rng.choice(np.flatnonzero(wrong), n_samples // 2),
            rng.choice(np.flatnonzero(~wrong), n_samples - n_samples // 2),
        ]
    )


def _fitted(estimator: Any, X: Any, codes: NDArray[np.intp], rng: Any) -> Any:
    if np.unique(codes).size == 1:  # which many classifiers refuse
        return DummyClassifier(strategy="prior").fit(X, codes)
    return seeded(estimator, rng).fit(X, codes)


def three_stage_boost(
    X: Any,
    codes: NDArray[np.intp],
    *,
    estimator: Any = None,
    n_samples: int | None = None,
    random_state: Any = None,
) -> ThreeStageModel:
    """Train a classifier, one on its errors, and one to settle their disagreements.

    The first is fitted to `n_samples` rows, the second to as many, half of which the
    first misclassifies, the third to as many on which the first two disagree. If each
    has error b < 1/2 on the distribution it was trained for, the majority has error
    3 b² - 2 b³ < b.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Rows.
    codes : ndarray of shape (n_samples,)
        Their classes, as numbers.
    estimator : classifier, default=None
        The weak learner; None for a tree with two leaves.
    n_samples : int, default=None
        Size N of the samples; None for the number of rows. A stream of rows has new
        ones for every stage. A finite set does not: the first sample is drawn without
        replacement, the others with replacement from all rows that qualify.
    random_state : int, RandomState instance or None, default=None
        Seed of the samples and of the weak learners.

    Returns
    -------
    model : ThreeStageModel
        Three classifiers. Only the first where it makes no mistake, or where the second
        agrees with it everywhere.

    Warns
    -----
    UserWarning
        If the error of the first classifier is one half or more. It is then not a
        weak learner, and the vote need not be better.

    References
    ----------
    .. [1] R. E. Schapire, "The strength of weak learnability", Machine Learning 5
       (1990). :doi:`10.1007/BF00116037`

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.ensemble import three_stage_boost
    >>> X = np.arange(8.0)[:, None]
    >>> codes = np.array([0, 0, 0, 1, 1, 1, 0, 0])
    >>> model = three_stage_boost(X, codes, random_state=0)
    >>> [len(sample) for sample in model.samples]
    [8, 8, 8]
    """
    if estimator is None:
        estimator = DecisionTreeClassifier(max_depth=1)
    rng = check_random_state(random_state)
    n = X.shape[0]
    N = n if n_samples is None else n_samples
    first = np.arange(n) if N >= n else np.sort(rng.choice(n, N, replace=False))
    one = _fitted(estimator, X[first], codes[first], rng)
    by_one = vote_of(one, X)
    wrong = by_one != codes
    if not wrong.any():
        return ThreeStageModel([one], [first])
    # Guessing among J classes has accuracy 1 / J; half is the bound for two classes.
    if np.unique(codes).size == 2 and wrong.mean() >= 0.5:
        warnings.warn(
            f"The weak learner misclassifies {100 * wrong.mean():.0f} % of the rows: "
            "boosting needs one that is better than guessing. Use a richer estimator.",
            stacklevel=2,
        )
    if wrong.all():
        return ThreeStageModel([one], [first])
    second = half_wrong_sample(wrong, N, rng)
    two = _fitted(estimator, X[second], codes[second], rng)
    disputed = np.flatnonzero(by_one != vote_of(two, X))
    if not disputed.size:
        return ThreeStageModel([one], [first])
    third = rng.choice(disputed, N)
    three = _fitted(estimator, X[third], codes[third], rng)
    return ThreeStageModel([one, two, three], [first, second, third])


def settle(votes: NDArray[Any]) -> NDArray[Any]:
    """Where the first two agree, they decide, else the third.

    With two classes this is the majority; with more it still always predicts a class.
    """
    if len(votes) == 1:
        return votes[0]
    one, two, three = votes
    return np.where(one == two, one, three)


class ThreeStageBoostClassifier(BoostedClassifier):
    """Schapire's booster: the majority of three classifiers on filtered rows.

    The first classifier learns from the rows as they are, the second from rows half of
    which the first misclassifies, the third from rows on which they disagree; see
    :func:`three_stage_boost`. It proved that weak learners can be boosted, and AdaBoost
    grew out of it: use this one to study, and that one to predict.

    Parameters
    ----------
    estimator : classifier, default=None
        The weak learner; None for a tree with two leaves.
    n_samples : int, default=None
        Size of each sample; None for the number of labelled rows.
    random_state : int, RandomState instance or None, default=None
        Seed of the samples and of the weak learners.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes, without the marker of unlabelled rows.
    estimators_ : list of classifiers
        Three, or one where there was nothing left to learn; they know classes by their
        index.
    samples_ : list of ndarray
        The labelled rows that each was fitted to, as indices into `X`.
    transduction_ : ndarray of shape (n_samples,)
        A label for every training row: the given one, or else the predicted one.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, where `X` had any.

    See Also
    --------
    sklearn.ensemble.AdaBoostClassifier : Many stages, with weights.

    Notes
    -----
    Where the first two classifiers disagree, the third decides. With two classes that
    is the majority; with more it is Schapire's rule carried over, without his proof.

    References
    ----------
    .. [1] R. E. Schapire, "The strength of weak learnability", Machine Learning 5
       (1990). :doi:`10.1007/BF00116037`

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from fewlabels.ensemble import ThreeStageBoostClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = ThreeStageBoostClassifier(random_state=0).fit(X[::2], y[::2])
    >>> len(model.estimators_)
    3
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "estimator": [HasMethods(["fit", "predict"]), None],
        "n_samples": [Interval(Integral, 1, None, closed="left"), None],
        **usual("random_state"),
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        n_samples: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.n_samples = n_samples
        self.random_state = random_state

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: ArrayLike) -> Self:
        """Train the three classifiers on the labelled rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            All rows; sparse where the weak learner takes it.
        y : array-like of shape (n_samples,)
            Labels; -1 among integers, NaN among floats, None or NaN among objects
            mark rows without one, which are left out.

        Returns
        -------
        self : object
            The fitted classifier.
        """
        X, labels = self._begin(X, y)
        rows = labels.labeled
        params = self.get_params(deep=False)
        model = three_stage_boost(X[rows], labels.codes[rows], **params)
        self.estimators_ = model.estimators
        self.samples_ = [rows[sample] for sample in model.samples]
        self.transduction_ = self._transduction(X, labels)
        return self

    def _predict(self, X: Any) -> NDArray[Any]:
        votes = np.array([vote_of(model, X) for model in self.estimators_])
        return self.classes_[settle(votes).astype(np.intp)]
