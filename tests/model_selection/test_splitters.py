"""Splits that hide labels and keep unlabelled rows in training."""

# SPDX-License-Identifier: BSD-3-Clause

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn import config_context
from sklearn.base import clone
from sklearn.datasets import load_diabetes, make_moons
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    LeaveOneGroupOut,
    LeaveOneOut,
    RepeatedStratifiedKFold,
    StratifiedGroupKFold,
    StratifiedKFold,
    cross_val_predict,
    cross_validate,
)
from sklearn.semi_supervised import LabelSpreading

from fewlabels import unlabeled_mask
from fewlabels.datasets import hide_labels
from fewlabels.model_selection import (
    LabeledKFold,
    LabeledSplit,
    LabelShuffleSplit,
    TrainOnAll,
)
from fewlabels.model_selection._splitters import known_targets, label_splits
from fewlabels.semi_supervised import RLSClassifier

SPLITTERS = [
    LabeledKFold(3, random_state=0),
    LabeledKFold(2, n_repeats=3, random_state=0),
    LabeledSplit(3),
    LabeledSplit(LeaveOneOut()),
    LabeledSplit(RepeatedStratifiedKFold(n_splits=2, n_repeats=2, random_state=0)),
    LabelShuffleSplit(4, n_labeled=6, random_state=0),
    LabelShuffleSplit(4, per_class=2, random_state=0),
    LabelShuffleSplit(4, n_labeled=0.5, random_state=0),
]


@pytest.fixture
def moons():
    X, y_true = make_moons(120, noise=0.1, random_state=0)
    return X, hide_labels(y_true, n_labeled=24, random_state=0), y_true


@pytest.mark.parametrize("splitter", SPLITTERS, ids=repr)
class TestEverySplitter:
    def test_the_unlabelled_are_in_training_and_never_tested(self, splitter, moons):
        X, y, _ = moons
        unlabeled = np.flatnonzero(y == -1)
        splits = list(splitter.split(X, y))
        assert len(splits) == splitter.get_n_splits(X, y)
        for train, test in splits:
            assert np.isin(unlabeled, train).all()
            assert test.size > 0
            assert not np.isin(test, unlabeled).any()
            assert_array_equal(np.sort(np.r_[train, test]), np.arange(120))

    def test_every_class_keeps_a_label(self, splitter, moons):
        X, y, _ = moons
        for train, _ in splitter.split(X, y):
            assert {0, 1} <= set(y[train])

    def test_the_same_splits_whatever_the_classes_are_called(self, splitter, moons):
        X, y, _ = moons
        names = np.array(["one", "two", None], dtype=object)[y]
        numbers = np.where(y == -1, np.nan, y)
        nullable = pd.Series(y, dtype="Int64").replace(-1, pd.NA)
        for other in (names, list(names), numbers, nullable):
            for ours, theirs in zip(
                splitter.split(X, y), splitter.split(X, other), strict=True
            ):
                assert_array_equal(ours[0], theirs[0])
                assert_array_equal(ours[1], theirs[1])

    def test_containers_of_rows(self, splitter, moons):
        X, y, _ = moons
        expected = [test.tolist() for _, test in splitter.split(X, y)]
        for rows in (X.tolist(), sparse.csr_array(X), pd.DataFrame(X)):
            assert [test.tolist() for _, test in splitter.split(rows, y)] == expected

    def test_scikit_learn_takes_it(self, splitter, moons):
        X, y, _ = moons
        for estimator in (RLSClassifier(alpha=0.1), LabelSpreading(gamma=10)):
            results = cross_validate(
                estimator, X, y, cv=splitter, scoring="accuracy", error_score="raise"
            )
            by_hand = [
                np.mean(clone(estimator).fit(X[i], y[i]).predict(X[j]) == y[j])
                for i, j in splitter.split(X, y)
            ]
            assert_array_equal(results["test_score"], by_hand)

    def test_no_label_at_all(self, splitter):
        with pytest.raises(ValueError, match="no labelled row"):
            next(splitter.split(np.zeros((4, 1)), np.full(4, -1)))

    def test_y_is_needed(self, splitter):
        with pytest.raises(ValueError, match="y is needed"):
            next(splitter.split(np.zeros((4, 1))))


@given(
    counts=st.lists(st.integers(1, 9), min_size=1, max_size=4),
    n_unlabeled=st.integers(0, 5),
    n_splits=st.integers(2, 6),
    seed=st.integers(0, 1000),
)
def test_folds_of_any_counts(counts, n_unlabeled, n_splits, seed):
    """Each label is held out once, single ones never, evenly within every class."""
    rng = np.random.default_rng(seed)
    y = np.repeat([*range(len(counts)), -1], [*counts, n_unlabeled])
    rng.shuffle(y)
    eligible = np.flatnonzero((y >= 0) & (np.array([*counts, 0])[y] > 1))
    splitter = LabeledKFold(n_splits, random_state=seed)
    if eligible.size < n_splits:
        with pytest.raises(ValueError, match="lower n_splits"):
            next(splitter.split(y, y))
        return
    tests = [test for _, test in splitter.split(y, y)]
    assert_array_equal(np.sort(np.concatenate(tests)), eligible)
    assert np.ptp([test.size for test in tests]) <= 1
    for code, count in enumerate(counts):
        held_out = [(y[test] == code).sum() for test in tests]
        assert np.ptp(held_out) <= 1
        assert max(held_out) < count or count == 1


def test_repetitions_differ_and_seeds_repeat():
    y = np.repeat([0, 1], 10)
    twice = [
        t.tolist() for _, t in LabeledKFold(2, n_repeats=2, random_state=0).split(y, y)
    ]
    assert twice[:2] != twice[2:]
    again = [
        t.tolist() for _, t in LabeledKFold(2, n_repeats=2, random_state=0).split(y, y)
    ]
    assert twice == again


def test_larger_folds_favour_no_class():
    """Three labels in two folds: which class is held out twice is left to chance."""
    y = np.repeat([0, 1, 2], 3)
    shares = np.zeros(3)
    for seed in range(300):
        _, test = next(LabeledKFold(2, random_state=seed).split(y, y))
        shares += np.bincount(y[test], minlength=3)
    # 5 of 9 rows in the first fold, so 5/3 of each class on average.
    assert np.abs(shares / 300 - 5 / 3).max() < 0.15


def test_real_targets(rng):
    y = rng.normal(size=30)
    y[::3] = np.nan
    for splitter in (
        LabeledKFold(4, random_state=0),
        LabeledSplit(4),
        LabelShuffleSplit(3, n_labeled=5, random_state=0),
        LabelShuffleSplit(3, n_labeled=0.25, random_state=0),
    ):
        for train, test in splitter.split(y, y):
            assert not np.isnan(y[test]).any()
            assert np.isnan(y[train]).sum() == 10
    tests = [test for _, test in LabeledKFold(4, random_state=0).split(y, y)]
    assert_array_equal(np.sort(np.concatenate(tests)), np.flatnonzero(~np.isnan(y)))
    with pytest.raises(ValueError, match="give n_labeled"):
        next(LabelShuffleSplit(per_class=2).split(y, y))
    with pytest.raises(ValueError, match="keep at least one"):
        next(LabelShuffleSplit(n_labeled=99).split(y, y))


def test_a_search_over_parameters(moons):
    X, y, y_true = moons
    cv = LabeledKFold(4, random_state=0)
    search = GridSearchCV(
        RLSClassifier(alpha=0.01), {"gamma": [1e-6, 1.0]}, cv=cv, error_score="raise"
    ).fit(X, y)
    assert search.best_params_ == {"gamma": 1.0}
    # The final fit has all rows and all labels.
    assert_array_equal(search.best_estimator_.labeled_indices_, np.flatnonzero(y != -1))
    assert search.score(X, y_true) > 0.9


class TestGroups:
    @pytest.fixture
    def data(self, rng):
        X = rng.normal(size=(60, 2))
        y = np.where(X[:, 0] > 0, 1, 0)
        y[rng.permutation(60)[:30]] = -1
        return X, y, np.arange(60) % 6

    @pytest.mark.parametrize(
        "cv", [GroupKFold(3), StratifiedGroupKFold(3), LeaveOneGroupOut()], ids=repr
    )
    def test_no_group_on_both_sides(self, data, cv):
        X, y, groups = data
        splitter = LabeledSplit(cv)
        splits = list(splitter.split(X, y, groups))
        assert len(splits) == splitter.get_n_splits(X, y, groups)
        for train, test in splits:
            known = train[y[train] != -1]
            assert not set(groups[known]) & set(groups[test])
            assert np.isin(np.flatnonzero(y == -1), train).all()

    def test_groups_of_which_nothing_is_known(self, data):
        X, y, groups = data
        splitter = LabeledSplit(GroupKFold(3), unlabeled="other_groups")
        for train, test in splitter.split(X, y, groups):
            assert not set(groups[train]) & set(groups[test])
            others = ~np.isin(groups, groups[test])
            assert_array_equal(train, np.flatnonzero(others))

    def test_in_scikit_learn(self, data):
        X, y, groups = data
        splitter = LabeledSplit(GroupKFold(3))
        results = cross_validate(
            RLSClassifier(), X, y, cv=splitter, groups=groups, return_indices=True
        )
        for train, test in zip(*results["indices"].values(), strict=True):
            assert not set(groups[train[y[train] != -1]]) & set(groups[test])
        with config_context(enable_metadata_routing=True):
            routed = cross_validate(
                RLSClassifier(), X, y, cv=splitter, params={"groups": groups}
            )
        assert_array_equal(routed["test_score"], results["test_score"])

    def test_without_groups(self, data):
        X, y, _ = data
        strict = LabeledSplit(GroupKFold(3), unlabeled="other_groups")
        with pytest.raises(ValueError, match="needs groups"):
            next(strict.split(X, y))


def test_labeled_split_is_the_splitter_on_the_labelled_rows(moons):
    X, y, _ = moons
    rows = np.flatnonzero(y != -1)
    inner = StratifiedKFold(4, shuffle=True, random_state=1)
    expected = [rows[test] for _, test in inner.split(X[rows], y[rows])]
    for (_, test), same in zip(LabeledSplit(inner).split(X, y), expected, strict=True):
        assert_array_equal(test, same)


def test_a_class_that_is_held_out_whole():
    y = np.array([0, 0, 1, -1])
    with pytest.warns(UserWarning, match="no label left in training"):
        splits = list(LabeledSplit(LeaveOneOut()).split(y, y))
    assert len(splits) == 3


def test_train_on_all(moons):
    X, y, _ = moons
    ((train, test),) = TrainOnAll().split(X, y)
    assert TrainOnAll().get_n_splits() == 1
    assert_array_equal(train, np.arange(120))
    assert_array_equal(test, np.flatnonzero(~unlabeled_mask(y)))


def test_draws_that_keep_all_labels():
    y = np.array([0, 1, -1])
    with pytest.raises(ValueError, match="none is left to test on"):
        next(LabelShuffleSplit(n_labeled=2).split(y, y))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: LabeledKFold(1), "n_splits must be an int >= 2"),
        (lambda: LabeledKFold(n_repeats=0), "n_repeats must be an int >= 1"),
        (lambda: LabelShuffleSplit(0, per_class=1), "n_splits must be an int >= 1"),
        (lambda: LabelShuffleSplit(), "exactly one of n_labeled and per_class"),
        (
            lambda: LabelShuffleSplit(n_labeled=2, per_class=1),
            "exactly one of n_labeled and per_class",
        ),
        (lambda: LabeledSplit(3, unlabeled="some"), "'all' or 'other_groups'"),
    ],
)
def test_wrong_parameters(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_repr():
    assert (
        repr(LabeledKFold(3, random_state=0))
        == "LabeledKFold(n_repeats=1, n_splits=3, random_state=0, stratify='auto')"
    )


class TestLabelSplits:
    """What `cv` may be in our own functions."""

    def test_an_int_means_our_folds(self, moons):
        X, y, _ = moons
        for cv, n in ((None, 5), (3, 3), (np.int64(3), 3)):
            splits = label_splits(cv, X, y)
            expected = list(LabeledKFold(n, random_state=0).split(X, y))
            for (_, ours), (_, theirs) in zip(splits, expected, strict=True):
                assert_array_equal(ours, theirs)

    def test_a_plain_splitter_sees_labelled_rows_alone(self, moons):
        X, y, _ = moons
        for train, test in label_splits(StratifiedKFold(3), X, y):
            assert (y[test] != -1).all()
            assert (y[train] == -1).sum() == 96

    def test_pairs(self):
        y = np.array([0, 1, 1, -1])
        with pytest.raises(ValueError, match="without a labelled row"):
            label_splits([([0, 1], [3])], y, y)
        with pytest.raises(ValueError, match="both in training and in the test set"):
            label_splits([([0, 1], [1, 2])], y, y)
        with pytest.raises(ValueError, match="both in training and in the test set"):
            label_splits(TrainOnAll(), y, y)


def test_scikit_learn_itself_tests_on_the_marker(moons):
    """Why this module exists; the day this fails, it may shrink."""
    X, y, _ = moons
    model = LabelSpreading(gamma=10)
    predicted = cross_val_predict(model, X, y, cv=StratifiedKFold(3))
    assert np.mean(predicted == y) < 0.3


@pytest.mark.parametrize("kind", [float, int])
def test_whole_numbers_to_predict_are_all_held_out(kind):
    # Held out by class, only targets that occur twice would ever be tested.
    y_true = load_diabetes().target[:60]
    y = np.where(np.arange(60) < 40, y_true, -1).astype(kind)
    if kind is float:
        y[40:] = np.nan
    held_out = np.concatenate([test for _, test in LabeledKFold(5).split(y, y)])
    assert sorted(held_out) == list(range(40))


@pytest.mark.parametrize(
    "y", [[0, 1, 2] * 4, list(range(26)), [2.0, 5.0, 9.0], [10, 20, 30] * 9]
)
def test_codes_are_classes(y):
    assert known_targets(np.array(y))[2]


def test_whether_to_stratify_can_be_said():
    y = np.array([3, 3, 70, 70])
    for stratify in (True, False):
        cv = LabeledKFold(2, stratify=stratify, n_repeats=20, random_state=0)
        mixed = [len(set(y[test])) == 2 for _, test in cv.split(y, y)]
        assert all(mixed) is stratify
    with pytest.raises(ValueError, match="stratify"):
        LabeledKFold(stratify="yes")
