"""Splits of the labelled rows that leave the unlabelled ones in training.

A splitter yields row numbers, so it cannot hide the label of a row that stays in
training: here, held-out rows leave training altogether. To keep them without their
label, see :func:`fewlabels.model_selection.cross_validate_labels`.
"""

# SPDX-License-Identifier: BSD-3-Clause

import warnings
from collections.abc import Iterator
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from numpy.random import RandomState
from numpy.typing import ArrayLike, NDArray
from sklearn.model_selection import BaseCrossValidator, check_cv
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import indexable

from fewlabels._hide_labels import check_one_amount, hide_labels
from fewlabels._labels import UNLABELED, encode_labels, label_array, unlabeled_mask
from fewlabels._sklearn import safe_indexing

Split = tuple[NDArray[np.intp], NDArray[np.intp]]


# Whole numbers are a quantity if more than this many, and more than half of the labels,
# are different, and half of the numbers between the least and the largest are absent:
# codes of classes recur, or lie close together.
_MANY_VALUES = 10


def is_quantity(values: NDArray[Any]) -> bool:
    """Whether labels are numbers to predict, and not classes.

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.model_selection._splitters import is_quantity
    >>> is_quantity(np.array([0.5, 1.5])), is_quantity(np.array([0, 1, 2]))
    (True, False)
    >>> is_quantity(np.array([25.0 * k for k in range(12)]))
    True
    """
    if values.dtype.kind == "f" and type_of_target(values) == "continuous":
        return True
    if values.dtype.kind not in "iuf":
        return False
    different = np.unique(values)
    many = different.size > max(_MANY_VALUES, values.size / 2)
    return bool(many and different[-1] - different[0] >= 2.0 * different.size)


def known_targets(
    y: ArrayLike, classes: bool | str = "auto"
) -> tuple[NDArray[np.intp], NDArray[Any], bool]:
    """Find the labelled rows and their labels.

    Examples
    --------
    >>> from fewlabels.model_selection._splitters import known_targets
    >>> known_targets(["b", None, "a"])
    (array([0, 2]), array([1, 0]), True)
    """
    if y is None:
        raise ValueError("y is needed to know which rows have a label, got None.")
    values = label_array(y)
    rows = np.flatnonzero(~unlabeled_mask(values))
    if rows.size == 0:
        raise ValueError(
            f"y has no labelled row ({values.size} rows, all unlabelled): there is "
            "nothing to hold out."
        )
    given = values[rows]
    if classes is False or (classes == "auto" and is_quantity(given)):
        return rows, given, False
    with warnings.catch_warnings():  # a single class is fine here
        warnings.simplefilter("ignore", UserWarning)
        # Only labels are left, and among them -1 of an unsigned or float y is a class.
        return rows, encode_labels(given).codes, True


def draw_labels(
    y: ArrayLike,
    rng: RandomState,
    *,
    n_labeled: float | None = None,
    per_class: int | None = None,
) -> NDArray[np.intp]:
    """Draw the rows that keep their label, at least one of every class.

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.model_selection._splitters import draw_labels
    >>> draw_labels([0.1, 0.2, np.nan, 0.4], np.random.RandomState(0), n_labeled=2)
    array([1, 3])
    """
    rows, targets, is_classes = known_targets(y)
    if is_classes:
        kept = hide_labels(
            targets, n_labeled=n_labeled, per_class=per_class, random_state=rng
        )
        return rows[kept != UNLABELED]
    if n_labeled is None:
        raise ValueError("y holds real targets, not classes: give n_labeled.")
    share = not isinstance(n_labeled, Integral)
    size = round(n_labeled * rows.size) if share else int(n_labeled)
    if not 1 <= size <= rows.size:
        raise ValueError(
            f"n_labeled={n_labeled} keeps {size} of {rows.size} labels: keep at least "
            "one and at most all."
        )
    return np.sort(rng.choice(rows, size=size, replace=False))


def _check_count(name: str, value: Any, *, least: int) -> None:
    if not isinstance(value, Integral) or value < least:
        raise ValueError(f"{name} must be an int >= {least}, got {value!r}.")


class LabelSplitter(BaseCrossValidator):
    """A splitter that tests only on labelled rows."""

    n_splits = 1
    n_repeats = 1

    def split(
        self, X: Any, y: ArrayLike | None = None, groups: ArrayLike | None = None
    ) -> Iterator[Split]:
        """Yield the rows of every split.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            All rows, labelled and unlabelled.
        y : array-like of shape (n_samples,)
            Labels; -1, NaN or None for rows without one.
        groups : array-like of shape (n_samples,), default=None
            The group of every row, for splitters that use it.

        Yields
        ------
        train : ndarray
            Unlabelled rows, and labelled rows that are not held out.
        test : ndarray
            Held-out rows, all of them labelled.
        """
        X, y, groups = indexable(X, y, groups)
        return super().split(X, y, groups)

    def get_n_splits(
        self, X: Any = None, y: ArrayLike | None = None, groups: ArrayLike | None = None
    ) -> int:
        """Return the number of splits.

        Parameters
        ----------
        X : object, default=None
            Ignored.
        y : object, default=None
            Ignored.
        groups : object, default=None
            Ignored.

        Returns
        -------
        n_splits : int
            How many pairs `split` yields.
        """
        return self.n_splits * self.n_repeats


class LabeledKFold(LabelSplitter):
    """K folds of the labelled rows; unlabelled rows are in every training set.

    The labels of every class are dealt out to the folds in turn, so that folds, and
    classes within them, differ by one row at most, however few labels there are. The
    only label of a class is never held out: no model could predict it. Numbers to
    predict are dealt out at random.

    Parameters
    ----------
    n_splits : int, default=5
        Number of folds.
    n_repeats : int, default=1
        How often to deal the labels out again. With few labels it pays to repeat: the
        score depends strongly on the partition.
    stratify : {"auto"} or bool, default="auto"
        Whether labels are classes. "auto" takes them for numbers if some have a
        fraction, or if they are many different whole numbers far apart.
    random_state : int, RandomState instance or None, default=None
        Seed of the dealing; pass an int for the same folds on every call.

    See Also
    --------
    LabeledSplit : Any scikit-learn splitter on the labelled rows, groups included.
    cross_validate_labels : Held-out rows that stay in training without their label.

    Notes
    -----
    scikit-learn's own splitters count -1 as a class and hold out unlabelled rows,
    which then count as errors (its `issue 2593
    <https://github.com/scikit-learn/scikit-learn/issues/2593>`_).

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.model_selection import LabeledKFold
    >>> y = np.array([0, 0, 1, 1, -1, -1])
    >>> for train, test in LabeledKFold(2, random_state=0).split(y, y):
    ...     print(train, test)
    [1 2 4 5] [0 3]
    [0 3 4 5] [1 2]

    In a search, `y` stays as it is:

    >>> from sklearn.model_selection import GridSearchCV
    >>> from sklearn.datasets import make_moons
    >>> from fewlabels.datasets import hide_labels
    >>> from fewlabels.semi_supervised import RLSClassifier
    >>> X, y_true = make_moons(200, noise=0.1, random_state=0)
    >>> y = hide_labels(y_true, n_labeled=20, random_state=0)
    >>> cv = LabeledKFold(5, n_repeats=2, random_state=0)
    >>> search = GridSearchCV(RLSClassifier(), {"gamma": [0.1, 1.0, 10.0]}, cv=cv)
    >>> search.fit(X, y).best_params_
    {'gamma': 1.0}
    """

    def __init__(
        self,
        n_splits: int = 5,
        *,
        n_repeats: int = 1,
        stratify: bool | str = "auto",
        random_state: int | RandomState | None = None,
    ) -> None:
        _check_count("n_splits", n_splits, least=2)
        _check_count("n_repeats", n_repeats, least=1)
        if stratify not in ("auto", True, False):
            raise ValueError(
                f"stratify must be 'auto', True or False, got {stratify!r}."
            )
        self.n_splits = n_splits
        self.n_repeats = n_repeats
        self.stratify = stratify
        self.random_state = random_state

    def _iter_test_indices(
        self, X: Any = None, y: Any = None, groups: Any = None
    ) -> Iterator[NDArray[np.intp]]:
        rows, targets, is_classes = known_targets(y, self.stratify)
        if is_classes:
            often = np.bincount(targets)[targets] > 1
            rows, targets = rows[often], targets[often]
        if rows.size < self.n_splits:
            raise ValueError(
                f"n_splits={self.n_splits}, but only {rows.size} labels can be held "
                "out (the only label of a class cannot): lower n_splits, or label "
                "more rows."
            )
        rng = check_random_state(self.random_state)
        strata = targets if is_classes else np.zeros(rows.size)
        for _ in range(self.n_repeats):
            # Class after class in one turn, rows of a class in random order; the first
            # class is also random, as it fills the larger folds.
            rank = rng.permutation(int(strata.max()) + 1)[strata.astype(np.intp)]
            order = np.lexsort((rng.random_sample(rows.size), rank))
            fold_of = np.empty(rows.size, dtype=np.intp)
            fold_of[order] = np.arange(rows.size) % self.n_splits
            for fold in range(self.n_splits):
                yield rows[fold_of == fold]


class LabeledSplit(LabelSplitter):
    """Apply any scikit-learn splitter to the labelled rows only.

    The splitter sees the labelled rows and their class indices, as if there were no
    others; the unlabelled rows join every training set.

    Parameters
    ----------
    cv : int or cross-validation generator
        What splits the labelled rows: `RepeatedStratifiedKFold`, `GroupKFold`,
        `StratifiedGroupKFold`, `LeaveOneOut`, ...; an int means `StratifiedKFold`.
    unlabeled : {"all", "other_groups"}, default="all"
        Which unlabelled rows are in training: all, or only those of groups without
        held-out rows. The latter suits new groups (patients, speakers) that are unknown
        when the model is trained.

    See Also
    --------
    LabeledKFold : Folds for few labels, with repetitions.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.model_selection import LeaveOneGroupOut
    >>> from fewlabels.model_selection import LabeledSplit
    >>> y = np.array(["a", None, "b", None, "a", "b"], dtype=object)
    >>> groups = np.array([0, 0, 0, 1, 1, 1])
    >>> for train, test in LabeledSplit(LeaveOneGroupOut()).split(y, y, groups):
    ...     print(train, test)
    [1 3 4 5] [0 2]
    [0 1 2 3] [4 5]
    >>> strict = LabeledSplit(LeaveOneGroupOut(), unlabeled="other_groups")
    >>> for train, test in strict.split(y, y, groups):
    ...     print(train, test)
    [3 4 5] [0 2]
    [0 1 2] [4 5]
    """

    # Asks for groups under metadata routing, as scikit-learn's group splitters do.
    __metadata_request__split: ClassVar[dict[str, bool]] = {"groups": True}

    def __init__(self, cv: Any, *, unlabeled: str = "all") -> None:
        if unlabeled not in ("all", "other_groups"):
            raise ValueError(
                f"unlabeled must be 'all' or 'other_groups', got {unlabeled!r}."
            )
        self.cv = cv
        self.unlabeled = unlabeled

    def split(
        self, X: Any, y: ArrayLike | None = None, groups: ArrayLike | None = None
    ) -> Iterator[Split]:
        """Yield the rows of every split.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            All rows, labelled and unlabelled.
        y : array-like of shape (n_samples,)
            Labels; -1, NaN or None for rows without one.
        groups : array-like of shape (n_samples,), default=None
            The group of every row, unlabelled ones included.

        Yields
        ------
        train : ndarray
            Unlabelled rows, and labelled rows that are not held out.
        test : ndarray
            Held-out rows, all of them labelled.

        Warns
        -----
        UserWarning
            If a class has no label left in training.
        """
        if self.unlabeled == "other_groups" and groups is None:
            raise ValueError("unlabeled='other_groups' needs groups, got None.")
        X, y, groups = indexable(X, y, groups)
        rows, targets, is_classes = known_targets(y)
        inner = check_cv(self.cv, targets, classifier=is_classes)
        part = None if groups is None else safe_indexing(groups, rows)
        n_samples = label_array(y).size
        group_of = None if groups is None else np.asarray(groups)
        for kept, held_out in inner.split(safe_indexing(X, rows), targets, part):
            if is_classes and set(targets[held_out]) - set(targets[kept]):
                warnings.warn(
                    "A class has no label left in training, and all its held-out rows "
                    "count as errors: use LabeledKFold, or fewer folds.",
                    UserWarning,
                    stacklevel=2,
                )
            in_train = np.ones(n_samples, dtype=bool)
            in_train[rows] = False
            if self.unlabeled == "other_groups" and group_of is not None:
                in_train &= ~np.isin(group_of, group_of[rows[held_out]])
            in_train[rows[kept]] = True
            yield np.flatnonzero(in_train), np.sort(rows[held_out])

    def get_n_splits(
        self, X: Any = None, y: ArrayLike | None = None, groups: ArrayLike | None = None
    ) -> int:
        """Return the number of splits.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), default=None
            All rows; needed where the number of splits depends on them.
        y : array-like of shape (n_samples,), default=None
            Labels, some of them missing; needed in the same cases.
        groups : array-like of shape (n_samples,), default=None
            The group of every row; needed in the same cases.

        Returns
        -------
        n_splits : int
            The inner splitter's number for the labelled rows.
        """
        inner = check_cv(self.cv)
        if y is None:
            return inner.get_n_splits(X, y, groups)
        rows, targets, _ = known_targets(y)
        part = None if groups is None else safe_indexing(groups, rows)
        # Splitters that use the rows only need their number.
        return inner.get_n_splits(rows, targets, part)


class LabelShuffleSplit(LabelSplitter):
    """Random draws that keep a few labels and test on all other labelled rows.

    This simulates few labels with data that have many: each
    draw pretends that only `n_labeled` rows had been labelled. With
    :func:`cross_validate_labels` and :func:`compare` the other rows stay in training
    without their label, the usual protocol. In scikit-learn's own functions they leave
    training, and only rows that are unlabelled in `y` remain with the drawn ones.

    Parameters
    ----------
    n_splits : int, default=10
        Number of draws.
    n_labeled : int or float, default=None
        Labels to keep in all, or their share; at least one of every class. See
        :func:`fewlabels.datasets.hide_labels`.
    per_class : int, default=None
        Labels to keep in every class. Give this or `n_labeled`.
    random_state : int, RandomState instance or None, default=None
        Seed of the draws; pass an int for the same draws on every call.

    See Also
    --------
    fewlabels.datasets.hide_labels : One such draw.
    learning_curve_labels : Nested draws of several sizes.

    Examples
    --------
    >>> from fewlabels.model_selection import LabelShuffleSplit
    >>> y = [0, 0, 0, 1, 1, 1, -1]
    >>> cv = LabelShuffleSplit(2, per_class=1, random_state=0)
    >>> for train, test in cv.split(y, y):
    ...     print(train, test)
    [2 5 6] [0 1 3 4]
    [0 5 6] [1 2 3 4]
    """

    def __init__(
        self,
        n_splits: int = 10,
        *,
        n_labeled: float | None = None,
        per_class: int | None = None,
        random_state: int | RandomState | None = None,
    ) -> None:
        _check_count("n_splits", n_splits, least=1)
        check_one_amount(n_labeled, per_class)
        self.n_splits = n_splits
        self.n_labeled = n_labeled
        self.per_class = per_class
        self.random_state = random_state

    def _iter_test_indices(
        self, X: Any = None, y: Any = None, groups: Any = None
    ) -> Iterator[NDArray[np.intp]]:
        rows, _, _ = known_targets(y)
        rng = check_random_state(self.random_state)
        for _ in range(self.n_splits):
            kept = draw_labels(
                y, rng, n_labeled=self.n_labeled, per_class=self.per_class
            )
            if kept.size == rows.size:
                raise ValueError(
                    f"All {rows.size} labels are kept and none is left to test on: "
                    "lower n_labeled or per_class."
                )
            yield np.setdiff1d(rows, kept, assume_unique=True)


class TrainOnAll(LabelSplitter):
    """One split that trains on all rows, for closed-form leave-one-out scorers.

    :func:`loo_accuracy_score`, :func:`loo_neg_squared_error` and
    :func:`log_evidence_score` use only the fitted model, and need no held-out rows.
    Do not use it with other scorers: the test rows, which are the labelled ones, have
    been seen with their labels.

    See Also
    --------
    loo_accuracy_score : Leave-one-out accuracy on labelled rows.

    Examples
    --------
    >>> from sklearn.model_selection import GridSearchCV
    >>> from sklearn.datasets import make_moons
    >>> from fewlabels.datasets import hide_labels
    >>> from fewlabels.model_selection import TrainOnAll, loo_neg_squared_error
    >>> from fewlabels.semi_supervised import RLSClassifier
    >>> X, y_true = make_moons(200, noise=0.1, random_state=0)
    >>> y = hide_labels(y_true, n_labeled=20, random_state=0)
    >>> grid = {"gamma": [0.1, 1.0, 10.0]}
    >>> search = GridSearchCV(
    ...     RLSClassifier(), grid, scoring=loo_neg_squared_error, cv=TrainOnAll()
    ... )
    >>> search.fit(X, y).best_params_
    {'gamma': 1.0}
    """

    def split(
        self, X: Any, y: ArrayLike | None = None, groups: ArrayLike | None = None
    ) -> Iterator[Split]:
        """Yield all rows, and the labelled ones.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            All rows, labelled and unlabelled.
        y : array-like of shape (n_samples,)
            Labels; -1, NaN or None for rows without one.
        groups : object, default=None
            Ignored.

        Yields
        ------
        train : ndarray
            All rows.
        test : ndarray
            The labelled rows.
        """
        X, y, _ = indexable(X, y, groups)
        rows, _, _ = known_targets(y)
        yield np.arange(label_array(y).size), rows


def label_splits(
    cv: Any, X: Any, y: ArrayLike, groups: ArrayLike | None = None
) -> list[Split]:
    """Split the labelled rows by any value of scikit-learn's `cv`.

    Parameters
    ----------
    cv : None, int, cross-validation generator or iterable
        None and int mean :class:`LabeledKFold`; a splitter of scikit-learn is applied
        to the labelled rows by :class:`LabeledSplit`; pairs of row numbers are used as
        they are, without the unlabelled rows to test on.
    X : array-like of shape (n_samples, n_features)
        All rows.
    y : array-like of shape (n_samples,)
        Labels, some of them missing.
    groups : array-like of shape (n_samples,), default=None
        The group of every row.

    Returns
    -------
    splits : list of (train, test)
        Row numbers.

    Examples
    --------
    >>> from fewlabels.model_selection._splitters import label_splits
    >>> label_splits([([0, 1], [2, 3])], [[1], [2], [3], [4]], [0, 1, 1, -1])
    [(array([0, 1]), array([2]))]
    """
    if cv is None or isinstance(cv, Integral):
        splitter: Any = LabeledKFold(5 if cv is None else int(cv), random_state=0)
    elif isinstance(cv, LabelSplitter):
        splitter = cv
    elif hasattr(cv, "split"):
        splitter = LabeledSplit(cv)
    else:
        splitter = check_cv(cv)
    known = ~unlabeled_mask(y)
    splits = []
    for train, test in splitter.split(X, y, groups):
        train, test = np.asarray(train), np.asarray(test)
        test = test[known[test]]
        if test.size == 0:
            raise ValueError(
                "cv yields a split without a labelled row to test on: use "
                "LabeledKFold or LabeledSplit."
            )
        if np.intersect1d(train[known[train]], test).size:
            raise ValueError(
                "cv yields rows that are both in training and in the test set: such a "
                "score is not held out."
            )
        splits.append((train, test))
    return splits
