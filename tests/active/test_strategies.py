"""Query strategies, alone and around one another."""

# SPDX-License-Identifier: BSD-3-Clause

import inspect

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.datasets import make_blobs, make_moons
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.semi_supervised import LabelSpreading
from sklearn.tree import DecisionTreeClassifier

from fewlabels import FewLabelsClassifier
from fewlabels.active import (
    ActiveMLSampling,
    ClusterCoverage,
    EGExploration,
    ExpectedGradientLength,
    FewLabelsSampling,
    QueryByCommittee,
    QueryStrategy,
    RandomSampling,
    SoftmaxExploration,
    ThompsonExploration,
    UncertaintySampling,
    VarianceReduction,
    expected_gradient_length,
    margin,
)
from fewlabels.active._query import fit_model, knows_unlabeled
from fewlabels.datasets import hide_labels
from fewlabels.semi_supervised import HarmonicFunctionClassifier, RLSClassifier

STRATEGIES = [
    RandomSampling(random_state=0),
    ClusterCoverage(random_state=0),
    UncertaintySampling(random_state=0),
    UncertaintySampling(measure="middle_certainty", random_state=0),
    QueryByCommittee(random_state=0),
    QueryByCommittee([GaussianNB(), KNeighborsClassifier(1)], measure="vote_entropy"),
    ExpectedGradientLength(random_state=0),
    VarianceReduction(random_state=0),
    VarianceReduction(kernel="rbf", random_state=0),
    EGExploration(UncertaintySampling(), random_state=0),
    SoftmaxExploration(UncertaintySampling(), random_state=0),
    ThompsonExploration(
        [RandomSampling(random_state=0), UncertaintySampling(random_state=0)],
        random_state=0,
    ),
]


@pytest.fixture(scope="module")
def moons():
    X, y_true = make_moons(80, noise=0.2, random_state=0)
    return X, y_true, hide_labels(y_true, n_labeled=8, random_state=0)


def test_one_signature():
    known = {type(strategy) for strategy in STRATEGIES}
    for kind in known | {ActiveMLSampling, FewLabelsSampling}:
        assert inspect.signature(kind.query) == inspect.signature(QueryStrategy.query)


@pytest.mark.parametrize("strategy", STRATEGIES, ids=str)
class TestEveryStrategy:
    @pytest.mark.parametrize("diversity", [0.0, 1.0])
    def test_rows_and_utilities(self, strategy, moons, diversity):
        X, _, y = moons
        rows, utilities = clone(strategy).query(X, y, n_queries=5, diversity=diversity)
        assert np.unique(rows).size == 5
        assert (y[rows] == -1).all()
        assert_array_equal(np.isnan(utilities), y != -1)

    def test_only_candidates(self, strategy, moons):
        X, _, y = moons
        candidates = np.flatnonzero(y == -1)[::3]
        rows, utilities = clone(strategy).query(
            X, y, n_queries=4, candidates=candidates[::-1]
        )
        assert np.isin(rows, candidates).all()
        assert_array_equal(np.flatnonzero(~np.isnan(utilities)), candidates)
        everything = clone(strategy).query(
            X, y, n_queries=candidates.size, candidates=candidates
        )
        assert_array_equal(np.sort(everything.indices), candidates)

    def test_names_for_classes_and_nothing_else_change_nothing(self, strategy, moons):
        X, _, y = moons
        names = np.where(y == 0, "no", "yes").astype(object)
        names[y == -1] = None
        plain = clone(strategy).set_params(**seeds(strategy)).query(X, y, n_queries=3)
        other = clone(strategy).set_params(**seeds(strategy))
        assert_array_equal(other.query(X, names, n_queries=3).indices, plain.indices)

    def test_copies_and_constant_columns(self, strategy):
        X = np.repeat([[0.0, 1.0], [1.0, 1.0], [2.0, 1.0]], 4, axis=0)
        y = np.full(12, -1)
        y[[0, 11]] = 0, 1
        rows, _ = clone(strategy).query(X, y, n_queries=3, diversity=0.5)
        assert np.unique(rows).size == 3

    def test_wrong_counts(self, strategy, moons):
        X, _, y = moons
        for wrong in (0, 73, 1.5):
            with pytest.raises(ValueError, match="n_queries must be an int from 1 to"):
                clone(strategy).query(X, y, n_queries=wrong)
        with pytest.raises(ValueError, match="diversity must be >= 0"):
            clone(strategy).query(X, y, diversity=-1.0)

    def test_wrong_candidates(self, strategy, moons):
        X, _, y = moons
        with pytest.raises(ValueError, match="rows that have a label"):
            clone(strategy).query(X, y, candidates=np.flatnonzero(y != -1))
        with pytest.raises(ValueError, match="row numbers from 0 to 79"):
            clone(strategy).query(X, y, candidates=[80])

    def test_nothing_to_ask(self, strategy, moons):
        X, y_true, _ = moons
        with pytest.raises(ValueError, match="no rows to ask about"):
            clone(strategy).query(X, y_true)


def seeds(strategy):
    return {
        name: 0
        for name, value in strategy.get_params().items()
        if name.split("__")[-1] == "random_state" and value is None
    }


class TestModels:
    @pytest.mark.parametrize(
        "estimator",
        [
            GaussianNB(),
            make_pipeline(StandardScaler(), LogisticRegression()),
            LabelSpreading(gamma=5),
            HarmonicFunctionClassifier(),
        ],
        ids=str,
    )
    def test_own_model_and_given_model_agree(self, estimator, moons):
        X, _, y = moons
        model = fit_model(estimator, X, y)
        own = UncertaintySampling(estimator, random_state=0).query(X, y)
        given = UncertaintySampling(random_state=0).query(X, y, model=model)
        assert_array_equal(own.indices, given.indices)
        free = y == -1
        assert_allclose(own.utilities[free], margin(model.predict_proba(X[free])))

    def test_who_knows_unlabelled_rows(self):
        assert knows_unlabeled(make_pipeline(StandardScaler(), RLSClassifier()))
        assert knows_unlabeled(GridSearchCV(RLSClassifier(), {"alpha": [1.0]}))
        assert knows_unlabeled(LabelSpreading())
        assert not knows_unlabeled(GridSearchCV(GaussianNB(), {}))

    def test_without_probabilities(self, moons):
        X, _, y = moons
        with pytest.raises(ValueError, match="has no predict_proba"):
            UncertaintySampling(RidgeClassifier()).query(X, y)

    def test_measures(self, moons):
        X, _, y = moons
        first = UncertaintySampling(measure=lambda P: P[:, 0]).query(X, y)
        model = fit_model(LogisticRegression(), X, y)
        free = np.flatnonzero(y == -1)
        assert first.indices[0] == free[model.predict_proba(X[free])[:, 0].argmax()]
        with pytest.raises(ValueError, match="measure must be a function or one of"):
            UncertaintySampling(measure="doubt").query(X, y)

    def test_expected_gradient_length(self, moons):
        X, _, y = moons
        free = y == -1
        P = fit_model(LogisticRegression(), X, y).predict_proba(X[free])
        found = ExpectedGradientLength().query(X, y).utilities
        assert_allclose(found[free], expected_gradient_length(P, X[free]))

    def test_sparse_rows(self, moons):
        X, _, y = moons
        for strategy in (UncertaintySampling(random_state=0), VarianceReduction()):
            dense = strategy.query(X, y)
            sparse = strategy.query(csr_array(X), y)
            assert_array_equal(dense.indices, sparse.indices)


class TestCommittee:
    def test_identical_members_tie(self, moons):
        X, _, y = moons
        found = QueryByCommittee([GaussianNB()] * 3).query(X, y)
        assert_allclose(found.utilities[y == -1], 0, atol=1e-12)

    def test_disagreement_is_where_members_differ(self):
        # One splits at 0.25 of the first column, the other does not look at it.
        X = np.array([[0.0, 0], [1, 1], [0, 1], [1, 0], [0, 0.1], [1, 0.9]])
        y = np.array([0, 1, -1, -1, -1, -1])
        members = [
            make_pipeline(Column(0), DecisionTreeClassifier()),
            make_pipeline(Column(1), DecisionTreeClassifier()),
        ]
        for measure in ("consensus_kl", "vote_entropy"):
            found = QueryByCommittee(members, measure=measure).query(X, y, n_queries=2)
            assert set(found.indices) == {2, 3}
            assert_allclose(found.utilities[[2, 3, 4, 5]], np.log([2, 2, 1, 1]))

    def test_bootstrap_keeps_all_classes(self, moons):
        X, _, _ = moons
        y = np.full(80, -1)
        y[:3] = 0, 1, 2
        committee = QueryByCommittee(GaussianNB(), n_members=4, random_state=0)
        # With one label per class, all samples are the same and all members agree.
        assert_allclose(committee.query(X, y).utilities[3:], 0, atol=1e-12)

    def test_wrong_parameters(self, moons):
        X, _, y = moons
        with pytest.raises(ValueError, match="estimators is empty"):
            QueryByCommittee([]).query(X, y)
        with pytest.raises(ValueError, match="n_members must be at least 1"):
            QueryByCommittee(n_members=0).query(X, y)


class Column(StandardScaler):
    """Keep one column."""

    def __init__(self, place):
        self.place = place

    def fit(self, X, y=None):
        return self

    def transform(self, X):
        return X[:, [self.place]]


class TestVarianceReduction:
    def test_large_numbers(self, rng):
        """A ridge of 1 is lost to rounding, and three columns do not make full rank."""
        X, y = 1e8 * rng.normal(size=(30, 3)), np.repeat([0, 1, -1], 10)
        rows, utilities = VarianceReduction(random_state=0).query(X, y, n_queries=3)
        assert np.unique(rows).size == 3
        assert np.isfinite(utilities[20:]).all()

    def test_greedy_design(self, rng):
        """Each row of a batch minimises the mean variance, given those before it."""
        X = rng.normal(size=(25, 3))
        y = np.full(25, -1)
        y[:2] = 0, 1
        strategy = VarianceReduction(alpha=0.5, fit_intercept=False)
        rows, _ = strategy.query(X, y, n_queries=5)

        def mean_variance(known):
            A = X[known].T @ X[known] + 0.5 * np.eye(3)
            return np.einsum("ij,jk,ik->", X, np.linalg.inv(A), X)

        known = [0, 1]
        for row in rows:
            free = np.setdiff1d(np.arange(2, 25), known)
            best = free[np.argmin([mean_variance([*known, z]) for z in free])]
            assert row == best
            known.append(int(row))

    def test_labels_do_not_matter(self, moons):
        X, _, y = moons
        other = np.where(y == -1, -1, np.arange(80) % 3)
        for kernel in ("linear", "rbf"):
            strategy = VarianceReduction(kernel=kernel, random_state=0)
            one = strategy.query(X, y, n_queries=4)
            two = strategy.query(X, other, n_queries=4)
            assert_array_equal(one.indices, two.indices)

    def test_no_label_is_needed(self, moons):
        rows, _ = VarianceReduction().query(moons[0], np.full(80, -1), n_queries=2)
        assert rows.size == 2

    def test_wrong_ridge(self, moons):
        with pytest.raises(ValueError, match="alpha must be positive"):
            VarianceReduction(alpha=0).query(moons[0], moons[2])


class TestClusterCoverage:
    def test_clusters_with_a_label_come_last(self):
        X, c = make_blobs(
            [30, 20, 10], centers=[[0, 0], [9, 0], [0, 9]], random_state=0
        )
        y = np.full(60, -1)
        y[np.flatnonzero(c == 1)[0]] = 1
        rows, _ = ClusterCoverage(3, random_state=0).query(X, y, n_queries=2)
        assert_array_equal(c[rows], [0, 2])  # the larger one first
        rows, _ = ClusterCoverage(3, random_state=0).query(X, y, n_queries=3)
        assert_array_equal(c[rows[:2]], [0, 2])

    def test_typical_rows(self):
        X = np.vstack([np.zeros((1, 2)), 0.1 * np.eye(2), -0.1 * np.eye(2), [[3, 3]]])
        rows, _ = ClusterCoverage(1, random_state=0).query(X, np.full(6, -1))
        assert rows[0] == 0

    def test_fewer_rows_than_clusters(self):
        rows, _ = ClusterCoverage(random_state=0).query([[0.0]], [-1])
        assert_array_equal(rows, [0])

    def test_most_rows_are_copies(self):
        X = np.repeat([[0.0], [1e9]], [50, 10], axis=0)
        rows, _ = ClusterCoverage(2, random_state=0).query(X, [-1] * 60, n_queries=2)
        assert_array_equal(X[rows], [[0], [1e9]])


class TestEGExploration:
    def test_update_is_the_formula(self, moons):
        X, _, y = moons
        strategy = EGExploration(
            RandomSampling(), rates=[0, 0.3, 1], learning_rate=0.2, beta=0.05, kappa=0.3
        ).set_params(random_state=1)
        strategy.query(X, y)
        w, p = strategy.weights_.copy(), strategy.probabilities_.copy()
        assert_allclose(p, 1 / 3)
        for reward in (0.7, 0.0, 1.0):
            used = np.array([0, 0.3, 1]) == strategy.rate_
            strategy.update(reward)
            w = w * np.exp(0.2 * (reward * used + 0.05) / p)
            w /= w.sum()
            p = 0.7 * w + 0.3 / 3
            assert_allclose(strategy.weights_, w)
            assert_allclose(strategy.probabilities_, p)
            strategy.query(X, y)

    def test_rates_of_zero_and_one(self, moons):
        X, _, y = moons
        inner = UncertaintySampling(random_state=0)
        greedy = EGExploration(inner, rates=[0.0]).query(X, y, n_queries=9)
        assert_array_equal(greedy.indices, inner.query(X, y, n_queries=9).indices)
        wild = EGExploration(inner, rates=[1.0], random_state=0)
        drawn = np.concatenate(
            [wild.query(X, y, n_queries=9).indices for _ in range(9)]
        )
        assert np.unique(drawn).size > 30

    def test_random_rows_are_drawn_from_all(self, moons):
        """Also where the strategy has looked at a few rows only."""
        X, _, y = moons
        model = FewLabelsClassifier(bank="fast", random_state=0).fit(X, y)
        inner = FewLabelsSampling(max_candidates=5, random_state=0)
        wild = EGExploration(inner, rates=[1.0], random_state=0)
        rows, _ = wild.query(X, y, n_queries=20, model=model)
        assert np.unique(rows).size == 20

    def test_the_rate_that_pays_is_learned(self, moons):
        X, _, y = moons
        strategy = EGExploration(RandomSampling(), rates=[0.0, 1.0], random_state=0)
        for _ in range(60):
            strategy.query(X, y)
            strategy.update(float(strategy.rate_ == 1.0))
        assert strategy.weights_[1] > 0.9
        assert strategy.probabilities_.min() >= 0.05 - 1e-12  # kappa / T

    def test_wrong_use(self, moons):
        X, _, y = moons
        with pytest.raises(ValueError, match="call query first"):
            EGExploration(RandomSampling()).update(1.0)
        with pytest.raises(ValueError, match="rates must lie between 0 and 1"):
            EGExploration(RandomSampling(), rates=[2.0]).query(X, y)
        for kappa in (0, 2):
            with pytest.raises(ValueError, match="kappa must lie"):
                EGExploration(RandomSampling(), kappa=kappa).query(X, y)
        strategy = EGExploration(RandomSampling())
        strategy.query(X, y)
        with pytest.raises(ValueError, match="reward must lie between 0 and 1"):
            strategy.update(2.0)


class TestOtherExploration:
    def test_softmax_frequencies(self):
        X, y = np.arange(5.0)[:, None], np.array([0, -1, -1, -1, 1])
        u = np.array([0.0, 0.5, 1.0])
        inner = UncertaintySampling(measure=lambda P: u)
        strategy = SoftmaxExploration(
            inner, temperature=0.5, random_state=np.random.RandomState(0)
        )
        model = fit_model(LogisticRegression(), X, y)
        drawn = [strategy.query(X, y, model=model).indices[0] for _ in range(2000)]
        p = np.exp(u / 0.5) / np.exp(u / 0.5).sum()
        assert_allclose(np.bincount(drawn)[1:] / 2000, p, atol=0.04)
        with pytest.raises(ValueError, match="temperature must be positive"):
            SoftmaxExploration(inner, temperature=0).query(X, y)

    def test_softmax_of_a_strategy_that_samples(self, moons):
        X, _, y = moons
        inner = FewLabelsSampling(
            FewLabelsClassifier(bank="fast", random_state=0), max_candidates=5
        )
        found = SoftmaxExploration(inner, random_state=0).query(X, y, n_queries=9)
        assert np.unique(found.indices).size == 9

    def test_thompson_finds_the_better_strategy(self, moons):
        X, _, y = moons
        strategy = ThompsonExploration(
            [RandomSampling(), UncertaintySampling()], random_state=0
        )
        with pytest.raises(ValueError, match="call query first"):
            strategy.update(0.0)
        for _ in range(60):
            strategy.query(X, y)
            strategy.update(0.9 if strategy.choice_ == 1 else 0.1)
        tried = strategy.rewards_.sum(axis=1) - 2
        assert round(tried.sum()) == 60
        assert tried[1] > 45
        with pytest.raises(ValueError, match="strategies is empty"):
            ThompsonExploration([]).query(X, y)


@pytest.mark.parametrize("unit", [2.0**-80, 2.0**80])
def test_coverage_has_no_unit_in_single_precision(rng, unit):
    X, y = rng.normal(size=(20, 3)).astype(np.float32), np.full(20, -1)
    strategy = ClusterCoverage(3, random_state=0)
    found = strategy.query(X * np.float32(unit), y).utilities
    assert_allclose(found, strategy.query(X, y).utilities, rtol=1e-4)


def test_variances_of_single_precision_have_a_ridge(rng):
    """Products of large rows have no digit left for it there."""
    X = np.round(rng.normal(size=(10, 8)) + 4096).astype(np.float32)
    y = np.where(np.arange(10) < 5, np.arange(10) % 2, -1)
    found = VarianceReduction().query(X, y).utilities
    assert_allclose(found, VarianceReduction().query(X.astype(float), y).utilities)
