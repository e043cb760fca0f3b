"""Rows that come one at a time."""

# SPDX-License-Identifier: BSD-3-Clause

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn.datasets import make_blobs
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB

from fewlabels.active import (
    ActiveLearner,
    StreamLearner,
    StreamThreshold,
    least_confidence,
)


def two_blobs(n=300, seed=0):
    return make_blobs(n, centers=[[0, 0], [2.5, 2.5]], random_state=seed)


class TestThreshold:
    @pytest.mark.parametrize("rule", ["quantile", "variable", 0.0])
    @pytest.mark.parametrize("rate", [0.05, 1 / 3, 1.0])
    @pytest.mark.parametrize("kind", ["uniform", "constant", "rising", "falling"])
    def test_it_never_asks_too_often_and_seldom_too_little(self, rule, rate, kind, rng):
        utilities = {
            "uniform": rng.uniform(size=500),
            "constant": np.zeros(500),
            "rising": np.linspace(0, 1, 500),
            "falling": np.linspace(1, 0, 500),
        }[kind]
        threshold = StreamThreshold(rate, rule=rule)
        for seen, utility in enumerate(utilities, start=1):
            threshold.asks(utility)
            assert threshold.n_asked <= np.ceil(rate * seen - 1e-9)
        assert threshold.n_seen == 500
        if rule == "quantile":  # behind by one window at most
            assert threshold.n_asked >= rate * 400 - 1

    def test_quantile_by_its_definition(self, rng):
        threshold = StreamThreshold(0.2, window=30)
        past, asked = [], 0
        for seen, utility in enumerate(rng.exponential(size=150), start=1):
            past = [*past, utility][-30:]
            left = 0.2 * seen - asked
            value = np.quantile(past, 0.8) - (max(past) - min(past)) * left / 6
            expected = left > 0 and utility >= value
            assert threshold.asks(utility) == expected
            assert_allclose(threshold.value, value, atol=1e-12)
            asked += expected

    def test_useful_rows_are_preferred_at_any_scale(self, rng):
        utilities = rng.uniform(size=2000)
        for scale in (1.0, 1e-6, 1e6):
            threshold = StreamThreshold(0.1)
            asked = np.array([threshold.asks(scale * u) for u in utilities])
            assert utilities[asked].mean() > 0.85
            assert_allclose(asked.mean(), 0.1, atol=0.01)

    def test_variable_moves_with_every_row(self):
        threshold = StreamThreshold(1.0, rule="variable")
        values = []
        for utility in (0.5, 0.1, 0.1, 0.9):
            threshold.asks(utility)
            values.append(threshold.value)
        ratios = np.array(values) / 0.5
        assert_allclose(ratios, np.cumprod([1.01, 0.99, 0.99, 1.01]))

    @pytest.mark.parametrize(
        ("params", "message"),
        [
            ({"rate": 0.0}, "rate must"),
            ({"rule": "fast"}, "rule must"),
            ({"window": 0}, "window must"),
        ],
    )
    def test_wrong_parameters(self, params, message):
        with pytest.raises(ValueError, match=message):
            StreamThreshold(**params)
        with pytest.raises(ValueError, match="finite"):
            StreamThreshold().asks(np.nan)


class TestLearner:
    def test_the_order_of_events(self):
        """fit is offer and teach, row by row."""
        X, y_true = two_blobs(120)
        params = {"rate": 0.1, "exploration": 0.3, "n_start": 6, "random_state": 0}
        learner = StreamLearner(GaussianNB(), **params)
        learner.fit(X, np.full(120, -1), oracle=lambda rows: y_true[rows])
        by_hand = StreamLearner(GaussianNB(), **params)
        asked = []
        for row, x in enumerate(X):
            if by_hand.offer(x):
                asked.append(row)
                by_hand.teach(x, y_true[row])
        assert_array_equal(learner.queries_, asked)
        assert_allclose(learner.predict_proba(X), by_hand.predict_proba(X))
        assert_array_equal(learner.y_[asked], y_true[asked])
        assert (np.delete(learner.y_, asked) == -1).all()
        assert_array_equal(asked[:6], range(6))
        assert learner.n_queries_ == len(asked) <= 12
        seen = ~np.isnan(learner.utilities_)
        sure = seen & (learner.utilities_ < learner.thresholds_)
        by_chance = np.isin(np.flatnonzero(sure), asked).sum()
        assert by_chance <= 0.3 * 12 + 3

    def test_a_threshold_with_the_budget_of_a_pool(self, rng):
        """The gap around the boundary: a pool halves it, a stream waits for rows in it.

        Rows that are labelled as they come shrink it to about 1 / 30.
        """
        X = rng.uniform(size=(400, 1))
        y_true = (X[:, 0] > 0.37).astype(int)
        y = np.full(400, -1)
        y[:4] = y_true[:4]
        model = LogisticRegression(C=1e4)
        stream = StreamLearner(model, rate=0.05, n_start=1, budget=16)
        pool = ActiveLearner(model, budget=16, random_state=0)
        gaps = []
        for learner in (stream, pool):
            learner.fit(X, y, oracle=lambda rows: y_true[rows])
            assert learner.n_queries_ <= 16
            known = learner.y_ >= 0
            low, high = X[known & (y_true == 0)], X[known & (y_true == 1)]
            gaps.append(float(high.min() - low.max()))
        first = X[:20, 0][y_true[:20] == 1].min() - X[:20, 0][y_true[:20] == 0].max()
        assert gaps[1] <= gaps[0] < first / 3
        assert stream.queries_[-1] > 200

    def test_memory_follows_a_drift(self, rng):
        """The classes change places half way."""
        X = rng.normal(size=(300, 1))
        y_true = (X[:, 0] > 0).astype(int)
        y_true[150:] = 1 - y_true[150:]
        scores = []
        for memory in (None, 20):
            learner = StreamLearner(
                GaussianNB(), rate=0.2, memory=memory, exploration=1.0, random_state=0
            )
            learner.fit(X, np.full(300, -1), oracle=lambda rows: y_true[rows])
            assert len(learner._labels) == (memory or learner.n_queries_)
            scores.append(learner.score(X[250:], y_true[250:]))
        assert scores[1] > 0.9 > scores[0]

    def test_labels_that_come_with_rows_are_free(self):
        X, y_true = two_blobs(60)
        y = np.where(np.arange(60) < 20, y_true, -1)
        learner = StreamLearner(budget=0).fit(X, y, oracle=lambda rows: y_true[rows])
        assert learner.n_queries_ == 0
        plain = LogisticRegression().fit(X[:20], y_true[:20])
        assert_allclose(learner.predict_proba(X), plain.predict_proba(X))
        assert_array_equal(learner.transduction_[20:], plain.predict(X[20:]))
        without = StreamLearner().fit(X, y)
        assert_allclose(without.predict_proba(X), plain.predict_proba(X))

    def test_names_sparse_rows_and_refusals(self):
        X, codes = two_blobs(80)
        names = np.array(["no", "yes"], dtype=object)[codes]

        def oracle(rows):
            return [None] if rows[0] % 3 == 0 else names[rows]

        fitted = [
            StreamLearner(rate=0.2).fit(rows, np.full(80, None), oracle=oracle)
            for rows in (X, csr_array(X))
        ]
        assert_array_equal(fitted[0].queries_, fitted[1].queries_)
        refused = fitted[0].queries_ % 3 == 0
        assert refused.any()
        assert all(fitted[0].y_[row] is None for row in fitted[0].queries_[refused])
        assert set(fitted[0].transduction_) == {"no", "yes"}

    def test_own_measures_and_fixed_thresholds(self):
        X, y_true = two_blobs(100)
        learner = StreamLearner(
            GaussianNB(), rate=1.0, measure=least_confidence, threshold=0.2
        )
        learner.fit(X, np.full(100, -1), oracle=lambda rows: y_true[rows])
        later = learner.queries_[learner.queries_ >= 10]
        assert_array_equal(later, 10 + np.flatnonzero(learner.utilities_[10:] >= 0.2))

    def test_what_cannot_be(self):
        X, y_true = two_blobs(30)
        y = np.full(30, -1)
        with pytest.raises(ValueError, match="labels of 1 classes"):
            StreamLearner().fit(X, y, oracle=lambda rows: [0])
        with pytest.raises(ValueError, match="2 answers to one"):
            StreamLearner().fit(X, y, oracle=lambda rows: [0, 1])
        with pytest.raises(ValueError, match="y has 29 entries"):
            StreamLearner().fit(X, y[1:], oracle=lambda rows: y_true[rows])
        with pytest.raises(ValueError, match="one at a time"):
            StreamLearner().offer(X)
        with pytest.raises(ValueError, match="30 rows, but 1 labels"):
            StreamLearner().teach(X, 1)
        with pytest.raises(ValueError, match="rate"):
            StreamLearner(rate=2.0).offer(X[0])
