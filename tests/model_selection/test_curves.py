"""Learning curves over labels and unlabelled rows."""

# SPDX-License-Identifier: BSD-3-Clause

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import make_moons
from sklearn.semi_supervised import LabelSpreading

from fewlabels.datasets import hide_labels, make_gaussian2c
from fewlabels.exceptions import IgnoredParameterWarning
from fewlabels.model_selection import LabelCurve, learning_curve_labels
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
@pytest.mark.parametrize("some_unlabeled", [False, True])
def test_what_is_drawn(held_out, some_unlabeled):
    """Counts, overlaps and nesting of everything the estimator sees."""
    Spy.seen = []
    X = np.arange(100.0)[:, None]
    y = np.arange(100) % 2
    if some_unlabeled:
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
            labeled, unlabeled, _ = repetition[i, j]
            assert len(labeled) == curve.n_labels[i]
            assert {y[int(r)] for r in labeled} == {0, 1}
            assert len(unlabeled) == curve.n_unlabeled[j]
            assert not labeled & test
            assert not labeled & unlabeled
            assert (unlabeled & test) == (test if extra else set())
            if i > 0:
                assert repetition[i - 1, j, 0] < labeled
                assert repetition[i - 1, j, 1] == unlabeled
            if j > 0:
                assert repetition[i, j - 1, 1] < unlabeled
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
            "S2RLSC": S2RLSClassifier(kernel="linear", n_init=4, random_state=0),
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


class Asked:
    """A strategy that remembers what it was shown, and takes the first rows."""

    seen: list = []  # noqa: RUF012

    def query(self, X, y, *, n_queries, model, candidates):
        Asked.seen.append((X[:, 0].copy(), y.copy(), n_queries, model, candidates))
        return candidates[:n_queries], None


class TestStrategies:
    @pytest.mark.parametrize("held_out", ["removed", "unlabeled"])
    def test_what_a_strategy_sees(self, held_out):
        Asked.seen, Spy.seen = [], []
        X, y = np.arange(100.0)[:, None], np.arange(100) % 2
        y[80:] = -1  # never labelled: in training, but nobody can be asked
        curve = learning_curve_labels(
            Spy(),
            X,
            y,
            strategies={"first": Asked()},
            n_labels=[4, 9, 12],
            n_queries=3,
            n_repeats=2,
            test_size=30,
            held_out=held_out,
            random_state=0,
        )
        assert curve.names == ("random", "first")
        assert curve.scores.shape == (2, 3, 1, 2)
        extra = 30 if held_out == "unlabeled" else 0
        assert_array_equal(curve.n_unlabeled, [100 - 30 - 12 + extra])
        assert [n for _, _, n, _, _ in Asked.seen] == [3, 2, 3] * 2
        for numbers, labels, _, model, candidates in Asked.seen:
            assert numbers.size == 70 + extra
            assert isinstance(model, Spy)
            known = labels != -1
            assert_array_equal(labels[known], y[numbers[known].astype(int)])
            assert (labels[candidates] == -1).all()
            assert (numbers[candidates] < 80).all()
            assert candidates.size == 50 - known.sum()
        # Both curves of a repetition start from the same labels and the same rows.
        starts = [fit for fit in Spy.seen if len(fit[0]) == 4]
        assert starts[0][:2] == starts[1][:2]
        assert starts[2][:2] == starts[3][:2] != starts[0][:2]
        tests = [frozenset(fit[2]) for fit in Spy.seen if len(fit) > 2]
        assert len(set(tests)) == 2

    def test_a_good_strategy_needs_fewer_labels(self):
        X = np.linspace(-1, 1, 300)[:, None]
        y = (X[:, 0] > 0.2).astype(int)

        def nearest(X, y, *, n_queries, model, candidates):
            order = np.abs(model.decision_function(X[candidates])).argsort()
            return candidates[order[:n_queries]]

        curve = learning_curve_labels(
            RLSClassifier(1e-3, kernel="rbf", gamma=5.0),
            X,
            y,
            strategies=nearest,
            n_labels=[4, 6, 8, 12, 20, 40],
            n_queries=2,
            n_repeats=6,
            random_state=0,
        )
        assert curve.names == ("random", "nearest")
        goal = curve.errors[0, -1, 0].mean()
        needed = curve.labels_needed(goal)
        assert needed["nearest"] < 25 < needed["random"] + 1e-9

    def test_several_estimators_repeat_and_resume(self, moons):
        settings = {"n_labels": [4, 8], "n_repeats": 2, "random_state": 1}
        models = {"a": RLSClassifier(0.1), "b": LabelSpreading(gamma=10)}
        strategies = [Asked(), Asked()]
        both = learning_curve_labels(models, *moons, strategies=strategies, **settings)
        assert both.names == (
            *("a, random", "a, Asked", "a, Asked 2"),
            *("b, random", "b, Asked", "b, Asked 2"),
        )
        assert_array_equal(both.scores[1], both.scores[2])
        alone = learning_curve_labels(
            models["b"], *moons, strategies=Asked(), **settings
        )
        assert_array_equal(alone.scores, both.scores[3:5])

    def test_refitting_labels_is_fitting(self, moons):
        class Refitted(RLSClassifier):
            fits = 0

            def fit(self, X, y):
                Refitted.fits += 1
                self.X_seen_ = X
                return super().fit(X, y)

            def refit_labels(self, y):
                return RLSClassifier.fit(self, self.X_seen_, y)

        curves = [
            learning_curve_labels(
                kind(0.1),
                *moons,
                strategies=Asked(),
                n_labels=[4, 8],
                n_repeats=1,
                random_state=0,
            )
            for kind in (RLSClassifier, Refitted)
        ]
        assert_array_equal(curves[0].scores, curves[1].scores)
        assert Refitted.fits == 2  # one per curve

    def test_strategies_are_rewarded(self, moons):
        class Rewarded(Asked):
            rewards: list = []  # noqa: RUF012

            def update(self, reward):
                Rewarded.rewards.append(reward)

        learning_curve_labels(
            RLSClassifier(0.1),
            *moons,
            strategies=Rewarded(),
            n_labels=[4, 10],
            n_queries=2,
            n_repeats=1,
            random_state=0,
        )
        assert len(Rewarded.rewards) == 3
        assert set(Rewarded.rewards) <= {0.0, 0.5, 1.0}

    @pytest.mark.parametrize(
        ("params", "message"),
        [
            ({"strategies": {"x": 3}}, "'x' has no query and is not a function"),
            ({"strategies": Asked(), "n_unlabeled": [3]}, "n_unlabeled has no meaning"),
            ({"strategies": Asked(), "n_queries": 0}, "n_queries must be an int >= 1"),
            (
                {"strategies": lambda X, y, n_queries, model, candidates: [0, 0]},
                "must choose 2 distinct rows among the candidates",
            ),
        ],
    )
    def test_wrong_use(self, moons, params, message):
        with pytest.raises(ValueError, match=message):
            learning_curve_labels(RLSClassifier(0.1), *moons, n_labels=[4, 6], **params)

    def test_queries_of_nobody(self, moons):
        with pytest.warns(IgnoredParameterWarning, match="n_queries=2 is ignored"):
            learning_curve_labels(
                RLSClassifier(0.1), *moons, n_labels=[4], n_queries=2, n_repeats=1
            )


def test_labels_needed():
    def curve(errors):
        scores = 1 - np.array(errors, dtype=float)[:, :, None, None]
        return LabelCurve(
            names=("a", "b", "c"),
            metric="accuracy",
            n_labels=np.array([10, 20, 40]),
            n_unlabeled=np.array([5]),
            scores=scores,
            fit_seconds=np.zeros_like(scores),
            n_test=9,
        )

    found = curve([[0.5, 0.3, 0.2], [0.2, 0.3, 0.1], [0.6, 0.5, 0.4]])
    first, good = found.labels_needed(0.2), found.labels_needed(0.2, lasting=True)
    assert_allclose([first["a"], first["b"]], [40, 10])
    assert_allclose([good["a"], good["b"]], [40, 30])
    assert np.isnan([first["c"], good["c"]]).all()
    assert_allclose(found.labels_needed(0.25)["a"], 30)
