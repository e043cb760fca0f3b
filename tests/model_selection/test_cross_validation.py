"""Cross-validation with held-out rows in training."""

# SPDX-License-Identifier: BSD-3-Clause

import numpy as np
import pandas as pd
import pytest
from joblib import parallel_config
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import make_moons
from sklearn.linear_model import LogisticRegression
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.semi_supervised import LabelSpreading
from sklearn.svm import SVC

from fewlabels import unlabeled_mask
from fewlabels.datasets import hide_labels
from fewlabels.model_selection import (
    LabeledKFold,
    LabeledOnly,
    LabeledSplit,
    LabelShuffleSplit,
    cross_validate_labels,
)
from fewlabels.semi_supervised import RLSClassifier


@pytest.fixture
def moons():
    X, y_true = make_moons(100, noise=0.2, random_state=0)
    return X, hide_labels(y_true, n_labeled=20, random_state=0), y_true


class Spy(ClassifierMixin, BaseEstimator):
    """Remembers what it was shown, and predicts a label per training row."""

    seen: list = []  # noqa: RUF012

    def fit(self, X, y):
        Spy.seen.append((X, y))
        self.classes_ = np.unique(y[~unlabeled_mask(y)])
        self.transduction_ = np.asarray(X)[:, 0].astype(int) % 2
        return self

    def predict(self, X):
        raise AssertionError("the transduction is the answer")


class TestWhatIsSeen:
    """The sharp test: no held-out label reaches `fit`, and the scorer has them all."""

    @pytest.fixture(autouse=True)
    def empty(self):
        Spy.seen = []

    @pytest.mark.parametrize("dtype", [int, float, object, bool])
    def test_held_out_rows_are_there_without_their_label(self, dtype):
        X = np.arange(12.0)[:, None]
        y = (np.arange(12) % 2).astype(dtype)
        if dtype is object:
            y = np.array(["a", "b"], dtype=object)[y.astype(int)]
        results = cross_validate_labels(
            _Renamed(dtype), X, y, cv=LabeledKFold(3, random_state=0)
        )
        splits = LabeledKFold(3, random_state=0).split(X, y)
        for (X_seen, y_seen), (_, test) in zip(Spy.seen, splits, strict=True):
            assert_array_equal(X_seen, X)
            assert_array_equal(np.flatnonzero(unlabeled_mask(y_seen)), test)
            others = np.setdiff1d(np.arange(12), test)
            assert_array_equal(y_seen[others], y[others])
        assert_array_equal(results["test_score"], 1)
        assert_array_equal(results["n_labeled"], 8)
        assert_array_equal(results["n_test"], 4)

    def test_rows_of_other_groups(self):
        """Rows that a splitter leaves out altogether stay out."""
        X = np.arange(12.0)[:, None]
        y = np.array([0, 1, -1] * 4)
        groups = np.repeat([0, 1], 6)
        cv = LabeledSplit(GroupKFold(2), unlabeled="other_groups")
        cross_validate_labels(Spy(), X, y, cv=cv, groups=groups)
        for X_seen, y_seen in Spy.seen:
            # All labelled rows, half of them hidden, and the unlabelled of one group.
            assert X_seen.shape[0] == 10
            assert np.sum(y_seen == -1) == 4 + 2


class _Renamed(Spy):
    """The spy for classes of any kind."""

    def __init__(self, dtype=int):
        self.dtype = dtype

    def fit(self, X, y):
        super().fit(X, y)
        self.transduction_ = self.classes_[self.transduction_]
        return self

    def predict(self, X):
        raise AssertionError("the transduction is the answer")


def test_removed_is_scikit_learn_with_our_splitter(moons):
    X, y, _ = moons
    cv = LabeledKFold(4, n_repeats=2, random_state=0)
    for estimator in (RLSClassifier(), LabelSpreading(gamma=5)):
        ours = cross_validate_labels(estimator, X, y, cv=cv, held_out="removed")
        theirs = cross_validate(estimator, X, y, cv=cv, scoring="accuracy")
        assert_array_equal(ours["test_score"], theirs["test_score"])


def test_a_supervised_model_is_the_same_in_both_ways(moons):
    X, y, _ = moons
    model = RLSClassifier(0.1, gamma=1.0)
    one = cross_validate_labels(model, X, y, held_out="unlabeled")
    other = cross_validate_labels(model, X, y, held_out="removed")
    assert_array_equal(one["test_score"], other["test_score"])


def test_the_usual_experiment_by_hand(moons):
    """Few labels of many, errors on all other rows."""
    X, _, y = moons
    cv = LabelShuffleSplit(3, per_class=3, random_state=1)
    results = cross_validate_labels(LabelSpreading(gamma=20), X, y, cv=cv)
    for (train, test), score in zip(cv.split(X, y), results["test_score"], strict=True):
        hidden = np.full(100, -1)
        hidden[train] = y[train]
        model = LabelSpreading(gamma=20).fit(X, hidden)
        assert score == np.mean(model.transduction_[test] == y[test])
    assert_array_equal(results["n_labeled"], 6)


def test_precomputed_kernel(moons):
    X, y, _ = moons
    K = rbf_kernel(X, gamma=1.0)
    for held_out in ("unlabeled", "removed"):
        direct = cross_validate_labels(
            RLSClassifier(0.1, gamma=1.0), X, y, held_out=held_out
        )
        by_kernel = cross_validate_labels(
            RLSClassifier(0.1, kernel="precomputed"), K, y, held_out=held_out
        )
        assert_array_equal(direct["test_score"], by_kernel["test_score"])


@pytest.mark.parametrize(
    "container", [np.asarray, sparse.csr_array, pd.DataFrame], ids=lambda c: c.__name__
)
def test_containers(moons, container):
    X, y, _ = moons
    expected = cross_validate_labels(RLSClassifier(0.1, gamma=1.0), X, y)["test_score"]
    found = cross_validate_labels(RLSClassifier(0.1, gamma=1.0), container(X), y)
    assert_array_equal(found["test_score"], expected)


def test_labels_of_all_kinds(moons):
    X, y, _ = moons
    model = RLSClassifier(0.1, gamma=1.0)
    expected = cross_validate_labels(model, X, y)["test_score"]
    names = np.array(["x", "y", None], dtype=object)[y]
    objects = np.array([0, 1, None], dtype=object)[y]
    for labels in (
        names,
        objects,
        names.tolist(),
        pd.Series(y),
        np.where(y < 0, np.nan, y),
    ):
        found = cross_validate_labels(model, X, labels)
        assert_array_equal(found["test_score"], expected)


def test_pipelines_and_searches(moons):
    X, y, _ = moons
    pipeline = make_pipeline(StandardScaler(), LabelSpreading(gamma=5))
    search = GridSearchCV(
        LabelSpreading(), {"gamma": [5]}, cv=LabeledKFold(2, random_state=0)
    )
    for model in (pipeline, search):
        scores = cross_validate_labels(model, X, y)["test_score"]
        assert scores.mean() > 0.8


def test_several_scorers_and_probabilities(moons):
    X, y, _ = moons
    scoring = ["accuracy", "neg_log_loss", "roc_auc"]
    model = LabeledOnly(LogisticRegression())
    results = cross_validate_labels(model, X, y, cv=3, scoring=scoring)
    assert {f"test_{name}" for name in scoring} <= set(results)
    assert all(results[f"test_{name}"].shape == (3,) for name in scoring)
    assert (results["test_roc_auc"] > 0.5).all()


def test_parallel(moons):
    X, y, _ = moons
    one = cross_validate_labels(RLSClassifier(), X, y, n_jobs=1)
    with parallel_config(backend="threading"):  # processes would only be slower
        two = cross_validate_labels(RLSClassifier(), X, y, n_jobs=2)
    assert_array_equal(one["test_score"], two["test_score"])


def test_regression(rng):
    class Mean(BaseEstimator):
        _estimator_type = "regressor"

        def fit(self, X, y):
            self.mean_ = np.nanmean(y)
            return self

        def predict(self, X):
            return np.full(len(X), self.mean_)

    y = rng.normal(size=30)
    y[:10] = np.nan
    results = cross_validate_labels(
        Mean(), np.zeros((30, 1)), y, cv=4, scoring="neg_mean_absolute_error"
    )
    for (train, test), score in zip(
        LabeledKFold(4, random_state=0).split(y, y), results["test_score"], strict=True
    ):
        assert score == -np.mean(np.abs(y[test] - np.nanmean(y[train])))


def test_the_marker_learned_as_a_class(moons):
    X, y, _ = moons
    with pytest.raises(ValueError, match="wrap it in LabeledOnly"):
        cross_validate_labels(SVC(), X, y)


def test_nothing_unlabelled_to_learn_from(moons):
    X, _, y_true = moons
    with pytest.warns(UserWarning, match="no unlabelled rows in training"):
        results = cross_validate_labels(RLSClassifier(), X, y_true, held_out="removed")
    assert results["test_score"].shape == (5,)


def test_wrong_parameters(moons):
    X, y, _ = moons
    with pytest.raises(ValueError, match="held_out must be"):
        cross_validate_labels(RLSClassifier(), X, y, held_out="kept")
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        cross_validate_labels(RLSClassifier(), X, y[:-1])
    with pytest.raises(ValueError, match="no split"):
        cross_validate_labels(RLSClassifier(), X, y, cv=[])
