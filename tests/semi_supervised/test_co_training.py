"""Co-training, democratic co-learning and tri-training."""

# SPDX-License-Identifier: BSD-3-Clause

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn.datasets import make_blobs, make_moons
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import resample

from fewlabels.semi_supervised import (
    CoTrainingClassifier,
    DemocraticCoLearningClassifier,
    TriTrainingClassifier,
)
from fewlabels.semi_supervised._democratic import _promise, _weighted_majority
from fewlabels.semi_supervised._tri_training import lesson_size

VIEWS = ([0, 1], [2, 3])


def two_views(rng, n=600, share=0.5):
    """Two views that are independent given the class."""
    y = (rng.random(n) < share).astype(int)
    X = 2.2 * y[:, None] * [1, 0, 1, 0] + rng.normal(size=(n, 4))
    return X, y


def hidden(y, n_per_class):
    """Keep the first labels of each class."""
    holes = np.full_like(y, -1)
    for c in np.unique(y):
        kept = np.flatnonzero(y == c)[:n_per_class]
        holes[kept] = c
    return holes


class TestCoTraining:
    def test_without_holes_two_plain_fits(self, rng):
        X, y = two_views(rng)
        model = CoTrainingClassifier(GaussianNB(), views=VIEWS).fit(X, y)
        plain = [GaussianNB().fit(X[:, v], y) for v in VIEWS]
        first, second = (
            m.predict_proba(X[:, v]) for m, v in zip(plain, VIEWS, strict=True)
        )
        product = first * second
        assert model.n_iter_ == 0
        assert_allclose(
            model.predict_proba(X), product / product.sum(axis=1, keepdims=True)
        )
        model.set_params(combine="mean")
        assert_allclose(model.predict_proba(X), (first + second) / 2)

    def test_rounds_add_what_is_asked_for(self, rng):
        X, y = two_views(rng)
        model = CoTrainingClassifier(
            GaussianNB(),
            views=VIEWS,
            n_per_class={0: 3, 1: 1},
            max_iter=20,
            random_state=0,
        ).fit(X, hidden(y, 5))
        assert model.n_iter_ == 20
        added = np.zeros((2, 20), dtype=int)
        for c in range(2):
            for r in range(20):
                rounds = model.labeled_iter_[model.added_[c]]
                added[c, r] = np.sum(rounds == r + 1)
        assert added[0].max() <= 6
        assert added[1].max() <= 2
        assert (added.sum(axis=0) <= 2 * (3 + 1)).all()
        # Both agree on few rows of a pool of 75, so that the ratio is nearly kept.
        assert 2.3 < added[0].sum() / added[1].sum() < 4

    def test_ratio_of_the_labels_by_default(self, rng):
        X, y = two_views(rng)
        holes = np.full(600, -1)
        holes[np.flatnonzero(y == 0)[:9]] = 0
        holes[np.flatnonzero(y == 1)[:3]] = 1
        model = CoTrainingClassifier(views=VIEWS, random_state=0).fit(X, holes)
        assert_array_equal(model.n_per_class_, [3, 1])

    def test_until_all_rows_are_labelled(self, rng):
        X, y = two_views(rng, n=150)
        model = CoTrainingClassifier(
            GaussianNB(), views=VIEWS, max_iter=None, random_state=0
        ).fit(X, hidden(y, 5))
        assert (model.labeled_iter_ >= 0).all()

    @pytest.mark.parametrize("n_rows", [30, 200])  # within the pool, and beyond it
    def test_ends_where_no_row_is_to_be_labelled(self, n_rows, rng):
        """All rows look like the class of which none are taken."""
        X = np.vstack([np.full((1, 4), 5.0), rng.normal(scale=0.1, size=(n_rows, 4))])
        y = np.array([1, 0] + [-1] * (n_rows - 1))
        model = CoTrainingClassifier(
            views=VIEWS, n_per_class=[0, 1], max_iter=None, random_state=0
        ).fit(X, y)
        assert_array_equal(model.labeled_iter_[2:], -1)
        assert_array_equal(model.transduction_[2:], 0)
        assert model.n_iter_ == -(-(n_rows - 1) // 75)  # every row was looked at

    def test_looks_beyond_a_pool_without_rows_to_label(self, rng):
        X = np.repeat([[0.0], [5.0]], [200, 5], axis=0) + rng.normal(
            scale=0.1, size=(205, 4)
        )
        y = np.full(205, -1)
        y[0], y[-1] = 0, 1
        model = CoTrainingClassifier(
            views=VIEWS, n_per_class=[0, 1], pool_size=5, max_iter=None, random_state=0
        ).fit(X, y)
        assert (model.labeled_iter_[200:204] > 0).all()
        assert_array_equal(model.labeled_iter_[1:200], -1)

    def test_better_than_the_labels_alone(self, rng):
        gains = []
        for seed in range(10):
            X, y = two_views(np.random.default_rng(seed))
            holes = hidden(y, 3)
            model = CoTrainingClassifier(
                GaussianNB(), views=VIEWS, max_iter=60, random_state=0
            )
            known = holes >= 0
            alone = CoTrainingClassifier(GaussianNB(), views=VIEWS)
            alone.fit(X[known], holes[known])
            gains.append(model.fit(X, holes).score(X, y) - alone.score(X, y))
        assert np.mean(gains) > 0.02

    def test_the_surer_one_decides(self):
        """Two classifiers, one row in the pool, different classes."""

        class Fixed(GaussianNB):
            def __init__(self, p=0.5):
                super().__init__()
                self.p = p

            def predict_proba(self, X):
                return np.repeat([[1 - self.p, self.p]], len(X), axis=0)

        X = np.arange(6.0).reshape(3, 2)
        for p, q, winner in ((0.9, 0.2, 1), (0.7, 0.1, 0)):
            model = CoTrainingClassifier(Fixed(p), Fixed(q), n_per_class=[1, 1])
            model.fit(X, [0, 1, -1])
            assert model.labeled_iter_[2] == 1
            assert model.transduction_[2] == winner

    @pytest.mark.parametrize("noise", [[1e-9, 0, 0], [0, 1e-9, 0], [0, -1e-9, 1e-9]])
    def test_rounding_does_not_decide(self, noise):
        """Of classes and of rows that are equally likely, the first."""

        class Noisy(GaussianNB):
            def predict_proba(self, X):
                return np.full((len(X), 3), 1 / 3) + np.roll(noise, len(X))

        y = np.array([0, 1, 2, -1, -1, -1, -1, -1, -1])
        model = CoTrainingClassifier(Noisy(), n_per_class=[1, 1, 1], max_iter=1)
        pool = np.random.RandomState(0).permutation(np.arange(3, 9))
        model.set_params(random_state=0).fit(np.zeros((9, 2)), y)
        (taught,) = np.flatnonzero(model.labeled_iter_ == 1)
        assert taught == pool[0]
        assert model.transduction_[taught] == 0

    def test_columns_of_any_size(self):
        """Unscaled, L-BFGS stops somewhere, and elsewhere with sparse rows."""
        rng = np.random.default_rng(0)
        X = rng.normal(size=(12, 10)) * (rng.random((12, 10)) < 0.5)
        X[:6] += 4096.0
        y = np.r_[0, 1, 2, -1, -1, -1, 0, 1, 2, -1, -1, -1]
        dense, sparse = (
            CoTrainingClassifier(random_state=0).fit(A, y) for A in (X, csr_array(X))
        )
        assert_array_equal(sparse.labeled_iter_, dense.labeled_iter_)
        assert_allclose(
            sparse.predict_proba(csr_array(X)), dense.predict_proba(X), atol=1e-4
        )

    @pytest.mark.parametrize("power", [-400, -60, 60, 400])
    def test_rows_in_any_unit(self, rng, power):
        """Also those of which each value is less than the rounding error of one."""
        X, y = two_views(rng, n=30)
        X[:, 1] = 1.0  # a constant is a column too
        y = hidden(y, 2)
        one, two = (
            CoTrainingClassifier(random_state=0).fit(A, y) for A in (X, X * 2.0**power)
        )
        assert_array_equal(two.labeled_iter_, one.labeled_iter_)
        assert_array_equal(two.predict_proba(X * 2.0**power), one.predict_proba(X))

    def test_one_column_makes_no_two_views(self):
        with pytest.raises(ValueError, match=r"1 feature\(s\).*: name the views"):
            CoTrainingClassifier().fit([[0.0], [1.0], [2.0]], [0, 1, -1])

    def test_ways_to_name_views(self, rng):
        X, y = two_views(rng, n=100)
        holes = hidden(y, 5)
        frame = pd.DataFrame(X, columns=["a", "b", "c", "d"])
        expected = CoTrainingClassifier(random_state=0).fit(X, holes).predict_proba(X)
        for data, views in (
            (X, VIEWS),
            (X, (slice(0, 2), slice(2, None))),
            (X, ([True, True, False, False], [False, False, True, True])),
            (frame, (["a", "b"], ["c", "d"])),
            (csr_array(X), VIEWS),
        ):
            model = CoTrainingClassifier(views=views, random_state=0).fit(data, holes)
            assert_allclose(model.predict_proba(data), expected)

    @pytest.mark.parametrize(
        ("params", "message"),
        [
            ({"views": ([0], [1], [2])}, "pair of column selections, got 3"),
            ({"views": ([0], [9])}, "columns that X does not have"),
            ({"views": (["a"], ["b"])}, "names the columns"),
            ({"views": ([0], [])}, "empty selection|does not have"),
            ({"n_per_class": [1]}, "one whole number for each of the 2 classes"),
            ({"n_per_class": [0, 0]}, "nothing to teach"),
            ({"n_per_class": {0: 1, 7: 2}}, "names the classes"),
            ({"estimator1": RidgeClassifier()}, "has no predict_proba"),
        ],
    )
    def test_bad_input(self, params, message, rng):
        X, y = two_views(rng, n=50)
        with pytest.raises(ValueError, match=message):
            CoTrainingClassifier(**params).fit(X, hidden(y, 3))


class TestDemocratic:
    def test_identical_learners_are_the_base_learner(self):
        """Who is never outvoted is never taught."""
        X, y = make_moons(200, noise=0.2, random_state=0)
        holes = hidden(y, 10)
        model = DemocraticCoLearningClassifier([KNeighborsClassifier(3)] * 3)
        model.fit(X, holes)
        known = holes >= 0
        base = KNeighborsClassifier(3).fit(X[known], y[known])
        assert_array_equal(model.predict(X), base.predict(X))
        assert model.n_iter_ == 0
        assert all(rows.size == 0 for rows in model.added_)

    def test_the_outvoted_are_taught(self):
        X, y = make_blobs(400, centers=[[0, 0], [4, 4]], random_state=4)
        kinds = [
            GaussianNB(),
            LogisticRegression(),
            DecisionTreeClassifier(max_depth=1),
        ]
        model = DemocraticCoLearningClassifier(kinds, random_state=0)
        model.fit(X, hidden(y, 15))
        assert model.n_iter_ >= 1
        assert sum(rows.size for rows in model.added_) > 0
        assert ((model.weights_ > 0) & (model.weights_ < 1)).all()
        assert model.score(X, y) > 0.95

    def test_majority_needs_the_weight(self):
        votes = np.array([[0, 0, 0], [0, 1, 1], [1, 1, 2]])
        weights = np.array([0.9, 0.5, 0.3])
        # Two of three with more weight; two of three with less; no majority, but one
        # of the largest groups has the most weight.
        assert_array_equal(_weighted_majority(votes, weights, 3), [0, -1, 0])
        even = _weighted_majority(votes, np.ones(3), 3)
        assert_array_equal(even, [0, 1, -1])

    def test_promise(self):
        assert _promise(10, 0) == 10
        assert _promise(10, 2) == pytest.approx(10 * 0.6**2)
        assert _promise(10, 7) == 0  # more wrong than right

    def test_prediction_by_groups(self):
        X, y = make_blobs(60, centers=3, random_state=0)
        kinds = [GaussianNB(), LogisticRegression(), KNeighborsClassifier(1), SVC()]
        model = DemocraticCoLearningClassifier(kinds, random_state=0).fit(X, y)
        model.weights_ = np.array([0.95, 0.6, 0.6, 0.4])

        class Says:
            def __init__(self, code):
                self.code = code

            def predict(self, X):
                return np.full(len(X), self.code)

        model.estimators_ = [Says(0), Says(1), Says(1), Says(2)]
        # 1.5/2 * 0.95 = 0.7125 against 2.5/3 * 0.6 = 0.5; the fourth is not heard.
        assert_array_equal(model.predict(X[:2]), [0, 0])
        model.weights_ = np.array([0.7, 0.68, 0.68, 0.4])
        assert_array_equal(model.predict(X[:2]), [1, 1])

    def test_two_learners_are_no_majority(self):
        with pytest.raises(ValueError, match="three classifiers or more"):
            DemocraticCoLearningClassifier([GaussianNB()] * 2).fit([[0], [1]], [0, 1])

    @pytest.mark.parametrize("cv", [None, 2, 5])
    def test_one_label_per_class(self, cv):
        X, y = make_blobs(50, centers=3, cluster_std=0.3, random_state=1)
        model = DemocraticCoLearningClassifier(cv=cv, random_state=0)
        model.fit(X, hidden(y, 1))
        assert_array_equal(np.unique(model.transduction_), [0, 1, 2])


class TestTriTraining:
    def test_without_holes_bagging_of_three(self):
        X, y = make_moons(100, noise=0.3, random_state=0)
        base = KNeighborsClassifier(3)
        model = TriTrainingClassifier(base, random_state=0).fit(X, y)
        rng = np.random.RandomState(0)
        votes = []
        for _ in range(3):
            rows = resample(np.arange(100), stratify=y, random_state=rng)
            votes.append(KNeighborsClassifier(3).fit(X[rows], y[rows]).predict(X))
        assert_array_equal(model.predict(X), (np.sum(votes, axis=0) >= 2).astype(int))
        assert model.n_iter_ == 0

    def test_errors_fall(self, global_random_seed):
        X, y = make_moons(500, noise=0.3, random_state=global_random_seed)
        model = TriTrainingClassifier(random_state=global_random_seed)
        model.fit(X, hidden(y, 20))
        assert 1 <= model.n_iter_ < 100  # it ends by itself
        for errors in model.errors_:
            assert all(b < a for a, b in zip([0.5, *errors], errors, strict=False))

    def test_three_kinds(self):
        X, y = make_blobs(300, centers=3, random_state=7)
        kinds = [GaussianNB(), LogisticRegression(), KNeighborsClassifier(1)]
        model = TriTrainingClassifier(kinds, random_state=0).fit(X, hidden(y, 2))
        assert [type(m) for m in model.estimators_] == [type(m) for m in kinds]
        assert model.score(X, y) > 0.95

    def test_wrong_number_of_kinds(self):
        with pytest.raises(ValueError, match="one classifier or three, got 2"):
            TriTrainingClassifier([GaussianNB()] * 2).fit([[0], [1]], [0, 1])

    @pytest.mark.parametrize(
        ("arguments", "size"),
        [
            # error, agreed, last error, last size (0: taught never before)
            ((0.5, 50, 0.5, 0), 0),  # no better than before
            ((0.1, 50, 0.5, 0), 4),  # floor(0.25 + 1) = 1, then ceil(0.5 / 0.1 - 1)
            ((0.0, 50, 0.5, 0), 50),  # no mistakes are expected
            ((0.1, 50, 0.2, 60), 0),  # fewer rows than last time
            ((0.1, 50, 0.2, 30), 50),  # 5 mistakes instead of 6
            ((0.1, 80, 0.2, 30), 59),  # 8 instead of 6: only 59 rows
            ((0.19, 80, 0.2, 10), 0),  # a part cannot be better either
        ],
    )
    def test_size_of_a_lesson(self, arguments, size):
        assert lesson_size(*arguments) == size

    def test_majority_of_three(self):
        X, y = make_blobs(30, centers=3, random_state=0)
        model = TriTrainingClassifier(random_state=0).fit(X, y)

        class Says:
            def __init__(self, codes):
                self.codes = np.array(codes)

            def predict(self, X):
                return self.codes

        model.estimators_ = [Says([0, 0, 1, 2]), Says([0, 1, 2, 0]), Says([1, 1, 1, 1])]
        assert_array_equal(model.predict(X[:4]), [0, 1, 1, 2])
