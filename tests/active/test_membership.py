"""Rows that are made up."""

# SPDX-License-Identifier: BSD-3-Clause

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from fewlabels.active import (
    MembershipLearner,
    bisect_boundary,
    entropy,
    make_queries,
    margin,
)


@pytest.fixture
def linear(rng):
    X = rng.normal(size=(60, 3)) * [1.0, 100.0, 0.01] + [0, 1000, 0]
    y = (X[:, 0] + (X[:, 1] - 1000) / 100 > 0.2).astype(int)
    scale = np.array([1.0, 100.0, 0.01])

    class Scaled(LogisticRegression):
        def predict_proba(self, X):
            return super().predict_proba(X / scale)

        def predict(self, X):
            return super().predict(X / scale)

    return Scaled().fit(X / scale, y), X, y


class TestMakeQueries:
    @pytest.mark.parametrize("method", ["segment", "ascent"])
    def test_rows_lie_on_the_boundary_and_in_the_range(self, linear, method):
        model, X, _ = linear
        made = make_queries(model, X, 8, method=method, random_state=0)
        assert made.rows.shape == (8, 3)
        assert (made.rows >= X.min(axis=0)).all()
        assert (made.rows <= X.max(axis=0)).all()
        assert_allclose(made.utilities, margin(model.predict_proba(made.rows)))
        assert made.utilities.min() > 0.99
        best_real = margin(model.predict_proba(X)).max()
        assert made.utilities.min() > best_real
        again = make_queries(model, X, 8, method=method, random_state=0)
        assert_array_equal(made.rows, again.rows)

    def test_segments_mix_two_rows_of_different_classes(self, linear):
        model, X, _ = linear
        row = make_queries(model, X, random_state=1).rows[0]
        predicted = model.predict(X)
        low, high = X[predicted == 0], X[predicted == 1]
        ways = high[None] - low[:, None]
        shares = ((row - low)[:, None] * ways).sum(-1) / (ways**2).sum(-1)
        off = row - low[:, None] - shares[..., None] * ways
        off = np.abs(off / X.std(axis=0)).max(axis=-1)
        assert off.min() < 1e-8
        assert 0 <= shares.ravel()[off.argmin()] <= 1

    def test_ascent_never_goes_down(self, rng):
        X = rng.normal(size=(40, 2))
        y = (np.hypot(*X.T) > 1).astype(int)
        model = GaussianProcessClassifier(random_state=0).fit(X, y)
        starts = entropy(model.predict_proba(X))
        options = {"method": "ascent", "measure": "entropy", "random_state": 0}
        short, long = (
            make_queries(model, X, 32, max_iter=steps, **options).utilities
            for steps in (1, 30)
        )
        drawn = np.random.RandomState(0).randint(40, size=32)
        assert np.sort(short).sum() > starts[drawn].sum()
        assert (np.sort(long) >= np.sort(short) - 1e-12).all()

    def test_the_middle_of_a_plateau(self):
        """A tree is equally unsure between its last two rows: ask in the middle."""
        X = np.array([[0.0], [8.0]])

        class Flat:
            def predict(self, X):
                return (X[:, 0] > 4).astype(int)

            def predict_proba(self, X):
                p = np.where(np.abs(X[:, 0] - 4) <= 2, 0.5, 0.1)
                return np.column_stack([p, 1 - p])

        assert_allclose(make_queries(Flat(), X, random_state=0).rows, [[4.0]], atol=0.6)

    def test_repaired_rows(self, rng):
        X = rng.integers(0, 9, size=(50, 2)).astype(float)
        model = DecisionTreeClassifier(max_depth=2, random_state=0)
        model.fit(X, X.sum(axis=1) > 8)
        made = make_queries(model, X, 5, repair=np.round, random_state=0)
        assert_array_equal(made.rows, np.round(made.rows))
        assert_allclose(made.utilities, margin(model.predict_proba(made.rows)))

    def test_labels_count_before_predictions(self, linear):
        _, X, _ = linear
        model = LogisticRegression(C=1e-9).fit(X, [1] * 59 + [0])
        with pytest.raises(ValueError, match="of one class"):
            make_queries(model, X)
        holes = np.full(60, -1)
        holes[:2] = 0, 1
        made = make_queries(model, X, 3, y=holes, random_state=0)
        assert made.rows.shape == (3, 3)
        assert make_queries(model, X, method="ascent").rows.shape == (1, 3)

    def test_wrong_parameters(self, linear):
        model, X, _ = linear
        with pytest.raises(ValueError, match="method must"):
            make_queries(model, X, method="wish")
        with pytest.raises(ValueError, match="at most n_init=4"):
            make_queries(model, X, 5, n_init=4)


class TestBisection:
    def test_every_question_halves_the_distance(self, rng):
        a, b = rng.normal(size=(2, 4))
        for cut in (0.1, 0.77):
            where = a + cut * (b - a)

            def oracle(rows, where=where):
                return (rows - where) @ (b - a) > 0

            found = bisect_boundary(a, b, oracle, max_queries=20)
            assert_allclose(found.distance, np.linalg.norm(b - a) * 2.0**-20)
            assert_allclose(found.first, where, atol=1e-5)
            assert found.labels == (False, True)
            assert found.rows.shape == (20, 4)
            rough = bisect_boundary(a, b, oracle, tol=np.linalg.norm(b - a) / 7)
            assert len(rough.answers) == 3

    def test_a_third_class_between(self):
        def oracle(rows):
            return np.digitize(rows[:, 0], [0.3, 0.6])

        found = bisect_boundary([0.0], [1.0], oracle, labels=(0, 2), max_queries=12)
        assert found.labels == (0, 1)
        assert found.first[0] <= 0.3 <= found.second[0]

    def test_nobody_can_tell(self):
        found = bisect_boundary(
            [0.0], [1.0], lambda rows: [None], labels=("cat", "dog")
        )
        assert (found.answers, found.distance) == ([None], 1.0)

    def test_rows_of_one_class(self):
        with pytest.raises(ValueError, match="Both rows are of class 1"):
            bisect_boundary([0.0], [1.0], lambda rows: [1])
        with pytest.raises(ValueError, match="equally many"):
            bisect_boundary([0.0], [1.0, 2.0], lambda rows: [1])


class TestLearner:
    def test_made_rows_find_the_boundary(self, rng):
        """A threshold on a line: as good as bisection, up to the model's smoothing."""
        X = np.linspace(0, 1, 40)[:, None]
        y = np.full(40, -1)
        y[[0, -1]] = 0, 1

        def oracle(rows):
            return (rows[:, 0] > 0.37).astype(int)

        learner = MembershipLearner(
            LogisticRegression(C=1e6, tol=1e-8), budget=8, random_state=0
        )
        learner.fit(X, y, oracle=oracle)
        boundary = make_queries(learner.estimator_, X, random_state=0).rows[0, 0]
        assert abs(boundary - 0.37) < 0.02
        assert learner.queries_.shape == (8, 1)
        assert_array_equal(learner.answers_, oracle(learner.queries_))
        assert_array_equal(learner.transduction_[[0, -1]], [0, 1])

    def test_refusals_and_batches(self, rng):
        X = rng.uniform(size=(30, 2))
        names = np.array(["no", "yes"], dtype=object)
        y = np.full(30, None)
        y[:10] = names[(X[:10, 0] > 0.5).astype(int)]

        def oracle(rows):
            answers = names[(rows[:, 0] > 0.5).astype(int)]
            answers[0] = None
            return answers

        learner = MembershipLearner(batch_size=3, budget=7, random_state=0)
        learner.fit(X, y, oracle=oracle)
        assert learner.n_queries_ == 7
        assert [a is None for a in learner.answers_] == [
            True, False, False, True, False, False, True,
        ]  # fmt: skip
        assert set(learner.transduction_) == {"no", "yes"}
        assert learner.estimator_.n_features_in_ == 2

    def test_wrong_input(self, rng):
        X = rng.uniform(size=(6, 2))
        y = np.array([0, 1, -1, -1, -1, -1])
        with pytest.raises(ValueError, match="1 rows were asked about"):
            MembershipLearner().fit(X, y, oracle=lambda rows: [1, 0])
        with pytest.raises(ValueError, match="y has 5 entries"):
            MembershipLearner().fit(X, y[:5])
        with pytest.raises(ValueError, match="cannot be put into"):
            MembershipLearner().fit(X, y, oracle=lambda rows: ["x"])
