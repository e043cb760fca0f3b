"""Learning curves over labels and unlabelled rows."""

# SPDX-License-Identifier: BSD-3-Clause

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.semi_supervised import LabelSpreading

from fewlabels.datasets import hide_labels, make_gaussian2c, make_moons
from fewlabels.model_selection import learning_curve_labels
from fewlabels.semi_supervised import RLSClassifier, S2RLSClassifier


@pytest.fixture(scope="module")
def moons():
    return make_moons(150, noise=0.2, random_state=0)


class Spy(ClassifierMixin, BaseEstimator):
    """Remembers what it was shown and asked; rows carry their number."""

    seen: list = []  # noqa: RUF012

    def fit(self, X, y):
        self.classes_ = np.array([0, 1])
        known = y != -1
        Spy.seen.append([set(X[known, 0]), set(X[~known, 0])])
        return self

    def predict(self, X):
        Spy.seen[-1].append(set(X[:, 0]))
        return np.zeros(len(X), dtype=int)


@pytest.mark.parametrize("held_out", ["removed", "unlabeled"])
@pytest.mark.parametrize("some_unlabelled", [False, True])
def test_what_is_drawn(held_out, some_unlabelled):
    """Counts, overlaps and nesting of everything the estimator sees."""
    Spy.seen = []
    X = np.arange(100.0)[:, None]
    y = np.arange(100) % 2
    if some_unlabelled:
        y[60:] = -1
    n_known = np.sum(y != -1)
    curve = learning_curve_labels(
        Spy(),
        X,
        y,
        n_labels=[8, 2, 4],
        n_unlabeled=[0, 5, 20],
        n_repeats=3,
        test_size=0.5,
        held_out=held_out,
        random_state=0,
    )
    assert_array_equal(curve.n_labels, [2, 4, 8])
    assert curve.n_test == n_known // 2
    extra = curve.n_test if held_out == "unlabeled" else 0
    assert_array_equal(curve.n_unlabeled, np.array([0, 5, 20]) + extra)
    assert curve.scores.shape == (1, 3, 3, 3)
    points = np.array(Spy.seen, dtype=object).reshape(3, 3, 3, 3)
    for repetition in points:
        (test,) = {frozenset(t) for t in repetition[..., 2].ravel()}
        assert len(test) == curve.n_test
        assert all(y[int(i)] != -1 for i in test)
        for i, j in np.ndindex(3, 3):
            labelled, unlabelled, _ = repetition[i, j]
            assert len(labelled) == curve.n_labels[i]
            assert {y[int(r)] for r in labelled} == {0, 1}
            assert len(unlabelled) == curve.n_unlabeled[j]
            assert not labelled & test
            assert not labelled & unlabelled
            assert (unlabelled & test) == (test if extra else set())
            if i > 0:
                assert repetition[i - 1, j, 0] < labelled
                assert repetition[i - 1, j, 1] == unlabelled
            if j > 0:
                assert repetition[i, j - 1, 1] < unlabelled
    tests = {frozenset(points[r, 0, 0, 2]) for r in range(3)}
    assert len(tests) == 3  # repetitions draw anew


def test_scores_are_where_they_belong(moons):
    """One estimator of several gets what it gets alone; so does one point of many."""
    X, y = moons
    models = {"a": RLSClassifier(0.1, gamma=1.0), "b": LabelSpreading(gamma=10)}
    settings = {"n_labels": [4, 10], "n_repeats": 2, "random_state": 3}
    both = learning_curve_labels(models, X, y, n_unlabeled=[10, 50], **settings)
    for e, model in enumerate(models.values()):
        alone = learning_curve_labels(model, X, y, n_unlabeled=[10, 50], **settings)
        assert_array_equal(alone.scores[0], both.scores[e])
    # The supervised model does not look at unlabelled rows.
    assert_array_equal(both.scores[0, :, 0], both.scores[0, :, 1])
    assert np.any(both.scores[1, :, 0] != both.scores[1, :, 1])


def test_unlabelled_rows_help_where_they_should():
    X, y = make_gaussian2c(300, 100, random_state=0)
    curve = learning_curve_labels(
        {
            "supervised": RLSClassifier(kernel="linear"),
            "S2RLSC": S2RLSClassifier(kernel="linear", n_restarts=3, random_state=0),
        },
        X,
        y,
        n_labels=[6],
        n_unlabeled=[10, 180],
        n_repeats=4,
        random_state=0,
    )
    error = curve.errors.mean(axis=3)
    assert error[1, 0, 1] < error[1, 0, 0] - 0.05
    assert error[1, 0, 1] < error[0, 0, 1] - 0.05


def test_all_unlabelled_rows_by_default(moons):
    X, y = moons
    curve = learning_curve_labels(
        RLSClassifier(0.1), X, y, n_labels=[4, 20], n_repeats=1, random_state=0
    )
    assert_array_equal(curve.n_unlabeled, [150 - 45 - 20])


def test_a_model_without_predict_of_new_rows(moons):
    class Transducer(ClassifierMixin, BaseEstimator):
        def fit(self, X, y):
            self.transduction_ = LabelSpreading(gamma=10).fit(X, y).transduction_
            self.classes_ = np.unique(y[y != -1])
            return self

        def predict(self, X):
            raise NotImplementedError

    curve = learning_curve_labels(
        Transducer(),
        *moons,
        n_labels=[6, 20],
        n_repeats=2,
        held_out="unlabeled",
        random_state=0,
    )
    assert (curve.scores > 0.7).all()


def test_real_targets(rng):
    X = rng.normal(size=(60, 1))
    y = X[:, 0].copy()
    y[:10] = np.nan

    class Nearest(BaseEstimator):
        def fit(self, X, y):
            known = ~np.isnan(y)
            self.X_, self.y_ = X[known], y[known]
            return self

        def predict(self, X):
            return self.y_[np.abs(X - self.X_.T).argmin(axis=1)]

    curve = learning_curve_labels(
        Nearest(),
        X,
        y,
        n_labels=[2, 30],
        n_repeats=5,
        scoring="neg_mean_squared_error",
        random_state=0,
    )
    assert_array_equal(curve.errors, -curve.scores)
    assert np.diff(curve.errors.mean(axis=3), axis=1) < 0


def test_table(moons):
    curve = learning_curve_labels(
        {"one": RLSClassifier(0.1), "another": RLSClassifier(1.0)},
        *moons,
        n_labels=[4, 8],
        n_unlabeled=[0, 9],
        n_repeats=2,
        random_state=0,
    )
    rows = curve.to_rows()
    assert len(rows) == 8
    assert rows[-1]["estimator"] == "another"
    assert (rows[-1]["n_labels"], rows[-1]["n_unlabeled"]) == (8, 9)
    assert_allclose(rows[-1]["mean"], curve.scores[1, 1, 1].mean())
    assert_allclose(curve.errors, 1 - curve.scores)
    lines = str(curve).splitlines()
    assert len(lines) == 10
    assert len({len(line) for line in lines[1:]}) == 1


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"n_labels": []}, "n_labels must hold ints >= 1"),
        ({"n_labels": [0.5]}, "n_labels must hold ints >= 1"),
        ({"n_labels": [1]}, "y has 2 classes"),
        ({"n_labels": [106]}, "105 labelled rows are left"),
        ({"n_labels": [4], "n_unlabeled": [102]}, "there are only 101 rows"),
        ({"n_labels": [4], "n_unlabeled": [-1]}, "n_unlabeled must hold ints >= 0"),
        ({"n_labels": [4], "n_repeats": 0}, "n_repeats must be an int >= 1"),
        ({"n_labels": [4], "test_size": 0.0}, "sets 0 of 150 labelled rows aside"),
        ({"n_labels": [4], "test_size": 150}, "sets 150 of 150 labelled rows aside"),
        ({"n_labels": [4], "held_out": "kept"}, "held_out must be"),
    ],
)
def test_wrong_parameters(moons, params, message):
    with pytest.raises(ValueError, match=message):
        learning_curve_labels(RLSClassifier(), *moons, **params)


def test_y_with_few_labels(moons):
    X, y_true = moons
    y = hide_labels(y_true, n_labeled=10, random_state=0)
    curve = learning_curve_labels(
        RLSClassifier(0.1, gamma=1.0), X, y, n_labels=[2, 7], random_state=0
    )
    assert curve.n_test == 3
    assert_array_equal(curve.n_unlabeled, [140])
