"""The loop of questions and answers, with one view and with two."""

# SPDX-License-Identifier: BSD-3-Clause

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.datasets import make_blobs, make_moons
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB

from fewlabels import FewLabelsClassifier
from fewlabels.active import (
    ActiveELMClassifier,
    ActiveLearner,
    CoActiveLearner,
    EGExploration,
    RandomSampling,
    UncertaintySampling,
    least_confidence,
    margin,
)
from fewlabels.active._loop import upsampled_rows
from fewlabels.datasets import hide_labels

LEARNERS = [
    # Smoothed: variances of three labels that lie close together mean nothing.
    ActiveLearner(GaussianNB(var_smoothing=0.01), random_state=0),
    CoActiveLearner(views=([0], [1]), random_state=0),
    ActiveELMClassifier(50, random_state=0),
]


@pytest.fixture(scope="module")
def moons():
    X, y_true = make_moons(80, noise=0.2, random_state=0)
    return X, y_true, hide_labels(y_true, n_labeled=6, random_state=0)


class Oracle:
    """Knows all labels, and remembers what it was asked."""

    def __init__(self, y, unknown=()):
        self.y, self.unknown, self.asked = np.asarray(y), set(unknown), []

    def __call__(self, rows):
        self.asked += rows.tolist()
        marker = None if self.y.dtype.kind in "OU" else -1
        return [marker if r in self.unknown else self.y[r] for r in rows]


@pytest.mark.parametrize("learner", LEARNERS, ids=str)
class TestEveryLearner:
    def test_budget_and_history(self, learner, moons):
        X, y_true, y = moons
        oracle = Oracle(y_true)
        model = clone(learner).set_params(batch_size=4, budget=10)
        model.fit(X, y, oracle=oracle)
        assert model.stop_reason_ == "budget"
        assert model.n_queries_ == len(oracle.asked) == len(set(oracle.asked)) == 10
        assert all(y[row] == -1 for row in oracle.asked)
        assert_array_equal(
            np.concatenate([r.indices for r in model.history_]), oracle.asked
        )
        assert_array_equal(
            np.flatnonzero(model.y_ != -1),
            np.sort([*np.flatnonzero(y != -1), *oracle.asked]),
        )
        assert_array_equal(model.y_[oracle.asked], y_true[oracle.asked])
        assert model.history_[0].n_labeled == 6
        known = model.y_ != -1
        assert_array_equal(model.transduction_[known], y_true[known])
        assert_array_equal(model.transduction_[~known], model.predict(X[~known]))

    def test_everything_asked_is_the_supervised_fit(self, learner, moons):
        X, y_true, y = moons
        model = clone(learner).set_params(batch_size=7).fit(X, y, oracle=Oracle(y_true))
        assert model.stop_reason_ == "no row left"
        assert_array_equal(model.y_, y_true)
        supervised = clone(learner).fit(X, y_true)
        assert supervised.stop_reason_ == "no oracle"
        assert_allclose(
            model.predict_proba(X), supervised.predict_proba(X), rtol=1e-6, atol=1e-9
        )

    def test_by_hand_is_the_loop(self, learner, moons):
        X, y_true, y = moons
        looped = clone(learner).set_params(budget=4).fit(X, y, oracle=Oracle(y_true))
        model = clone(learner).fit(X, y)
        while model.n_queries_ < 4:
            rows = model.query(1).indices[: 4 - model.n_queries_]
            model.teach(rows, y_true[rows])
        assert_array_equal(model.y_, looped.y_)
        assert_array_equal(model.transduction_, looped.transduction_)

    def test_a_label_is_corrected(self, learner, moons):
        X, _, y = moons
        row = np.flatnonzero(y == 0)[0]
        model = clone(learner).fit(X, y).teach([row], [1])
        right = y.copy()
        right[row] = 1
        expected = clone(learner).fit(X, right)
        assert_allclose(model.predict_proba(X), expected.predict_proba(X))
        for wrong in ([], [1, 1], [80], [0.5]):
            with pytest.raises(ValueError, match="indices must hold row numbers"):
                model.teach(wrong, np.zeros(len(wrong), int))

    def test_a_row_is_answered_after_all(self, learner, moons):
        X, _, y = moons
        row = np.flatnonzero(y == -1)[0]
        model = clone(learner).fit(X, y).teach([row], [-1])
        assert_array_equal(np.flatnonzero(model.declined_), [row])
        assert not model.teach([row], [1]).declined_.any()

    @pytest.mark.parametrize("answer", [0.5, "yes"])
    def test_answers_of_another_kind(self, learner, moons, answer):
        X, _, y = moons
        with pytest.raises(ValueError, match="cannot be put into a y of type int"):
            clone(learner).fit(X, y, oracle=lambda rows: [answer] * len(rows))

    def test_no_answer_beside_a_class_of_its_name(self, learner, moons):
        X, y_true, y = moons
        signs = np.where(y == -1, np.nan, 2.0 * y - 1)
        model = clone(learner).set_params(budget=12)
        with pytest.raises(ValueError, match="y has a class -1"):
            model.fit(X, signs, oracle=lambda rows: 2 * y_true[rows] - 1)
        model.fit(X, signs, oracle=lambda rows: 2.0 * y_true[rows] - 1)
        assert not model.declined_.any()

    def test_start_without_labels(self, learner):
        X, y_true = make_blobs(60, centers=3, cluster_std=0.4, random_state=1)
        model = clone(learner).set_params(batch_size=3, budget=15)
        model.fit(X, np.full(60, -1), oracle=Oracle(y_true))
        assert_array_equal(model.classes_, [0, 1, 2])
        assert model.score(X, y_true) > 0.9
        assert np.isnan(model.history_[0].surprise)

    def test_one_class_is_not_enough(self, learner, moons):
        X = moons[0]
        model = clone(learner).set_params(budget=3)
        with pytest.raises(ValueError, match=r"labels of 1 classes.*ask more"):
            model.fit(X, np.full(80, -1), oracle=lambda rows: np.zeros(rows.size, int))
        assert np.sum(model.y_ == 0) == 3  # no answer is lost

    def test_an_oracle_that_does_not_know(self, learner, moons):
        X, y_true, y = moons
        unknown = np.flatnonzero(y == -1)[::2]
        oracle = Oracle(y_true, unknown)
        model = clone(learner).set_params(batch_size=5).fit(X, y, oracle=oracle)
        assert model.stop_reason_ == "no row left"
        assert len(set(oracle.asked)) == len(oracle.asked) == 74
        assert_array_equal(np.flatnonzero(model.declined_), unknown)
        assert_array_equal(np.flatnonzero(model.y_ == -1), unknown)

    def test_names_for_classes(self, learner, moons):
        X, y_true, y = moons
        names = np.array(["no", "yes"], dtype=object)
        holes = names[y]
        holes[y == -1] = None
        model = clone(learner).set_params(budget=5)
        model.fit(X, holes, oracle=Oracle(names[y_true]))
        plain = clone(learner).set_params(budget=5).fit(X, y, oracle=Oracle(y_true))
        assert_array_equal(model.transduction_, names[plain.transduction_])

    def test_stops_when_nothing_changes(self, learner):
        X, y_true = make_blobs(80, centers=[[0, 0], [9, 9]], random_state=0)
        y = hide_labels(y_true, n_labeled=6, random_state=0)
        model = clone(learner).set_params(tol=0.0, patience=4)
        model.fit(X, y, oracle=Oracle(y_true))
        assert model.stop_reason_ == "stable"
        assert model.n_queries_ < 30
        assert [r.changed for r in model.history_[-4:]] == [0.0] * 4

    def test_wrong_answers(self, learner, moons):
        X, _, y = moons
        with pytest.raises(
            ValueError, match="rows were asked about, but there are 3 answers"
        ):
            clone(learner).fit(X, y, oracle=lambda rows: [0, 1, 0])


class TestActiveLearner:
    def test_least_certainty(self, moons):
        """Algorithm 6.34, step by step."""
        X, y_true, y = moons
        strategy = UncertaintySampling(measure="least_confidence", random_state=0)
        model = ActiveLearner(LogisticRegression(), strategy, budget=5)
        model.fit(X, y, oracle=lambda rows: y_true[rows])
        known = y.copy()
        for asked in model.history_:
            free = np.flatnonzero(known == -1)
            rows = known != -1
            plain = LogisticRegression().fit(X[rows], known[rows])
            u = least_confidence(plain.predict_proba(X[free]))
            assert asked.indices[0] == free[u.argmax()]
            assert_allclose(asked.utilities, u.max())
            wrong = plain.predict(X[asked.indices]) != y_true[asked.indices]
            assert asked.surprise == wrong.mean()
            known[asked.indices] = y_true[asked.indices]

    def test_upsampling(self, rng):
        codes = np.array([0] * 7 + [1] * 3 + [2] + [-1] * 5)
        extra = upsampled_rows(codes, rng.integers(99))
        counts = np.bincount(codes[np.append(np.arange(11), extra)])
        assert_array_equal(counts, [7, 7, 7])
        assert upsampled_rows(np.array([0, 1, -1]), 0).size == 0

    def test_balance(self, moons):
        X, y_true, _ = moons
        even = hide_labels(y_true, per_class=3, random_state=0)
        fits = [
            ActiveLearner(GaussianNB(), oversample=b).fit(X, even)
            for b in (False, True)
        ]
        assert_array_equal(*(m.predict_proba(X) for m in fits))
        y = even.copy()
        y[np.flatnonzero(even == 1)[1:]] = -1
        model = ActiveLearner(GaussianNB(), oversample=True, random_state=0).fit(X, y)
        assert_allclose(model.estimator_.estimator_.class_prior_, [0.5, 0.5])

    def test_the_bank_is_built_once(self, moons, monkeypatch):
        X, y_true, y = moons
        fits = []
        fit = FewLabelsClassifier.fit
        monkeypatch.setattr(
            FewLabelsClassifier, "fit", lambda *args: fits.append(1) or fit(*args)
        )
        model = ActiveLearner(
            FewLabelsClassifier(bank="fast", random_state=0), batch_size=2, budget=4
        )
        model.fit(X, y, oracle=lambda rows: y_true[rows])
        assert len(fits) == 1
        again = FewLabelsClassifier(bank="fast", random_state=0).fit(X, model.y_)
        assert_allclose(model.predict_proba(X), again.predict_proba(X))

    def test_it_judges_itself_now_and_then(self, moons, monkeypatch):
        X, y_true, y = moons
        judged = []
        refit = FewLabelsClassifier.refit_labels

        def watched(self, y, *, estimate_error=True):
            judged.append((int(np.sum(y != -1)), estimate_error))
            return refit(self, y, estimate_error=estimate_error)

        monkeypatch.setattr(FewLabelsClassifier, "refit_labels", watched)
        model = ActiveLearner(
            FewLabelsClassifier(bank="fast", random_state=0), budget=5
        )
        model.fit(X, y, oracle=lambda rows: y_true[rows])  # from 6 labels to 11
        assert judged == [
            (7, False),
            (8, True),
            *((n, n == 10) for n in (9, 10, 11)),
        ] + [(11, True)]
        assert "not asked" not in model.estimator_.expected_error_.note

    def test_balance_after_a_round_that_needed_none(self, moons):
        """The bank of repeated rows must not be kept."""
        X, y_true, _ = moons
        only = np.full(80, -1)
        only[[*np.flatnonzero(y_true == 0)[:2], np.flatnonzero(y_true)[0]]] = 0, 0, 1
        model = ActiveLearner(FewLabelsClassifier(bank="fast"), oversample=True)
        model.fit(X, only)
        for row in (np.flatnonzero(y_true)[1], np.flatnonzero(y_true)[2]):
            model.teach([row], [1])
        assert model.n_queries_ == 2

    def test_strategies_are_rewarded_and_left_alone(self, moons):
        X, y_true, y = moons
        strategy = EGExploration(UncertaintySampling(), random_state=0)
        model = ActiveLearner(GaussianNB(), strategy, budget=10)
        model.fit(X, y, oracle=lambda rows: y_true[rows])
        assert not hasattr(strategy, "weights_")
        assert np.ptp(model._strategy.weights_) > 0

    def test_diversity_is_passed_on(self, moons):
        X, y_true, y = moons
        asked = []
        for diversity in (0.0, 5.0):
            model = ActiveLearner(
                GaussianNB(), batch_size=6, budget=6, diversity=diversity
            )
            model.fit(X, y, oracle=lambda rows: y_true[rows])
            asked.append(X[model.history_[0].indices])
        spread = [np.linalg.norm(a[:, None] - a, axis=2).sum() for a in asked]
        assert spread[1] > 1.2 * spread[0]

    def test_sparse_rows_and_other_methods(self, moons):
        X, y_true, y = moons
        model = ActiveLearner(budget=3, random_state=0)
        model.fit(csr_array(X), y, oracle=lambda rows: y_true[rows])
        assert model.decision_function(csr_array(X)).shape == (80,)
        assert model.n_features_in_ == 2
        with pytest.raises(AttributeError):
            ActiveLearner(GaussianNB()).fit(X, y).decision_function(X)

    def test_two_fits_do_not_mix(self, moons):
        X, y_true, y = moons
        model = ActiveLearner(FewLabelsClassifier(bank="fast", random_state=0))
        for rows in (np.s_[::-1], np.s_[:40]):  # as many rows, or fewer
            fresh = clone(model).fit(X[rows], y_true[rows])
            again = model.fit(X, y).fit(X[rows], y_true[rows])
            assert_array_equal(again.predict_proba(X), fresh.predict_proba(X))


class TestCoActiveLearner:
    def test_identical_views_are_one_view(self, moons):
        X, y_true, y = moons
        both = np.hstack([X, X])
        two = CoActiveLearner(
            GaussianNB(), batch_size=3, budget=12, random_state=0
        ).fit(both, y, oracle=Oracle(y_true))
        one = ActiveLearner(
            GaussianNB(),
            UncertaintySampling(measure="middle_certainty", random_state=0),
            batch_size=3,
            budget=12,
        ).fit(X, y, oracle=Oracle(y_true))
        for ours, theirs in zip(two.history_, one.history_, strict=True):
            # Of a tie in the middle either row may be taken.
            assert_allclose(ours.utilities, theirs.utilities)
        assert_array_equal(two.history_[0].indices.size, 3)

    def test_the_union_is_asked(self, rng):
        y_true = rng.integers(2, size=101)
        X = 2 * y_true[:, None] + rng.normal(size=(101, 2))
        y = hide_labels(y_true, n_labeled=10, random_state=0)
        model = CoActiveLearner(
            views=([0], [1]), measure=margin, batch_size=4, budget=8, random_state=0
        ).fit(X, y, oracle=Oracle(y_true))
        free = np.flatnonzero(y == -1)
        start = CoActiveLearner(views=([0], [1])).fit(X, y)
        wanted = set()
        for view, plain in enumerate(start.estimators_):
            u = margin(plain.predict_proba(X[free][:, [view]]))
            wanted |= set(free[np.argsort(-u)[:4]])
        asked = set(model.history_[0].indices)
        assert asked == wanted
        assert 4 <= len(asked) <= 8

    def test_more_labels_help(self, rng):
        y_true = rng.integers(2, size=300)
        X = 1.5 * y_true[:, None] + rng.normal(size=(300, 6))
        y = hide_labels(y_true, n_labeled=4, random_state=0)
        few = CoActiveLearner().fit(X, y).score(X, y_true)
        model = CoActiveLearner(batch_size=5, budget=60, random_state=0)
        many = model.fit(X, y, oracle=Oracle(y_true)).score(X, y_true)
        assert many > few

    def test_wrong_views(self, moons):
        X, _, y = moons
        with pytest.raises(ValueError, match="views must be a pair"):
            CoActiveLearner(views=([0],)).fit(X, y)


def test_random_and_uncertainty_on_a_line():
    """Bisection: uncertainty needs a few labels where random sampling needs many."""
    X = np.linspace(0, 1, 400)[:, None]
    y_true = (X[:, 0] > 0.37).astype(int)
    y = np.full(400, -1)
    y[[0, -1]] = 0, 1
    scores = []
    for strategy in (RandomSampling(random_state=0), UncertaintySampling()):
        model = ActiveLearner(LogisticRegression(C=1e4), strategy, budget=10)
        model.fit(X, y, oracle=lambda rows: y_true[rows])
        scores.append(model.score(X, y_true))
    assert scores[1] > 0.99 > scores[0]
