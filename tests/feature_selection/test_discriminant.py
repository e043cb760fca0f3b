"""Fisher's discriminant and weighted voting."""

# SPDX-License-Identifier: BSD-3-Clause

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.feature_selection import SelectKBest
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from fewlabels.feature_selection import (
    FisherLinearClassifier,
    WeightedVotingClassifier,
    fisher_score,
    signal_to_noise,
)


@pytest.fixture
def unbalanced():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], [50, 20])
    X = rng.normal(size=(70, 4)) @ rng.normal(size=(4, 4)) + 5
    X[y == 1] += [1.0, 0.5, -1.0, 0.0]
    return X, y


class TestFisher:
    def test_direction_and_boundary(self, unbalanced):
        X, y = unbalanced
        model = FisherLinearClassifier().fit(X, y)
        a, b = X[y == 1], X[y == 0]
        S = (a - a.mean(0)).T @ (a - a.mean(0)) + (b - b.mean(0)).T @ (b - b.mean(0))
        w = np.linalg.solve(S, a.mean(0) - b.mean(0))
        cosine = model.coef_[0] @ w / np.linalg.norm(model.coef_) / np.linalg.norm(w)
        assert_allclose(cosine, 1, rtol=1e-12)
        middle = (a.mean(0) + b.mean(0)) / 2
        assert_allclose(model.decision_function([middle]), 0, atol=1e-12)

    def test_bayes_is_linear_discriminant_analysis(self, unbalanced):
        X, y = unbalanced
        ours = FisherLinearClassifier(threshold="bayes").fit(X, y)
        theirs = LinearDiscriminantAnalysis(solver="lsqr").fit(X, y)
        assert_allclose(ours.coef_, theirs.coef_, rtol=1e-9)
        assert_allclose(ours.intercept_, theirs.intercept_, rtol=1e-9)
        # The boundary of the midpoint lacks the logarithm of the class sizes.
        middle = FisherLinearClassifier().fit(X, y)
        assert_allclose(ours.intercept_ - middle.intercept_, np.log(20 / 50))

    def test_three_classes(self):
        rng = np.random.default_rng(1)
        y = np.arange(90) % 3
        X = rng.normal(size=(90, 3)) + 2 * np.eye(3)[y] + 10
        theirs = LinearDiscriminantAnalysis(solver="lsqr").fit(X, y)
        ours = FisherLinearClassifier(threshold="bayes").fit(X, y)
        assert_array_equal(ours.predict(X), theirs.predict(X))
        decision, reference = ours.decision_function(X), theirs.decision_function(X)
        assert_allclose(
            decision - decision[:, [0]], reference - reference[:, [0]], atol=1e-8
        )

    def test_linear_maps_do_not_matter(self, unbalanced):
        X, y = unbalanced
        M = np.random.default_rng(2).normal(size=(4, 4))
        plain = FisherLinearClassifier().fit(X, y).decision_function(X)
        mapped = FisherLinearClassifier().fit(X @ M + 3, y)
        assert_allclose(mapped.decision_function(X @ M + 3), plain, atol=1e-8)

    def test_units_do_not_matter(self, unbalanced):
        X, y = unbalanced
        plain = FisherLinearClassifier().fit(X, y).decision_function(X)
        scaled = X * [1e9, 1e-9, 1.0, 1.0]
        model = FisherLinearClassifier().fit(scaled, y)
        assert_allclose(model.decision_function(scaled), plain, atol=1e-8)

    def test_a_constant_feature_counts_nothing(self, unbalanced):
        X, y = unbalanced
        more = np.c_[X, np.full(70, 0.1)]
        model = FisherLinearClassifier().fit(more, y)
        plain = FisherLinearClassifier().fit(X, y)
        assert_allclose(model.coef_[:, :4], plain.coef_)
        assert model.coef_[0, 4] == 0

    def test_fewer_rows_than_features(self):
        rng = np.random.default_rng(0)
        X, y = rng.normal(size=(200, 50)), np.arange(200) % 2
        X[:, 0] += 4 * y
        holes = np.where(np.arange(200) < 20, y, -1)
        model = FisherLinearClassifier(shrinkage=0.5).fit(X, holes)
        assert model.score(X, y) > 0.8
        assert np.isfinite(FisherLinearClassifier().fit(X, holes).coef_).all()

    def test_one_label_per_class_is_the_nearest_mean(self):
        X = np.array([[0.0, 0.0], [2.0, 0.0], [0.9, 5.0], [1.1, -5.0]])
        model = FisherLinearClassifier().fit(X, [0, 1, -1, -1])
        assert_array_equal(model.transduction_, [0, 1, 0, 1])

    def test_classes_without_spread(self):
        # The mean of three times 0.1 is not 0.1, which is no spread.
        X = np.repeat([[0.1, 0.7, 0.3], [0.7, 0.1, 0.3]], 3, axis=0)
        model = FisherLinearClassifier().fit(X, [0, 0, 0, 1, 1, 1])
        assert_allclose(model.coef_, [[0.6, -0.6, 0.0]], atol=1e-12)

    def test_pipeline_and_grid_search(self, unbalanced):
        X, y = unbalanced
        noise = np.random.default_rng(3).normal(size=(70, 30))
        model = make_pipeline(SelectKBest(fisher_score), FisherLinearClassifier())
        search = GridSearchCV(model, {"selectkbest__k": [2, 30]}, cv=3)
        search.fit(np.c_[X, noise], y)
        assert search.best_score_ > 0.7


class TestWeightedVoting:
    def test_votes(self, unbalanced):
        X, y = unbalanced
        model = WeightedVotingClassifier().fit(X, y)
        a, b = X[y == 1], X[y == 0]
        votes = (a.mean(0) - b.mean(0)) / (a.std(0) + b.std(0))
        votes = votes * (X - (a.mean(0) + b.mean(0)) / 2)
        assert_allclose(model.decision_function(X), votes.sum(axis=1), atol=1e-12)
        assert_allclose(np.abs(model.coef_[0]), signal_to_noise(X, y))

    def test_a_feature_without_spread(self):
        X = np.array([[0.0, 0.0], [0.2, 0.0], [5.0, 1.0], [5.4, 1.0]])
        model = WeightedVotingClassifier().fit(X, [0, 0, 1, 1])
        assert_allclose(model.coef_, [[5.1 / 0.3, 1 / 0.3]])
        once = WeightedVotingClassifier().fit(X[[0, 2]], [0, 1])
        assert_allclose(once.coef_, [[5.0, 1.0]])

    def test_three_classes(self):
        rng = np.random.default_rng(1)
        y = np.arange(90) % 3
        X = rng.normal(size=(90, 3)) + 5 * np.eye(3)[y]
        assert WeightedVotingClassifier().fit(X, y).score(X, y) > 0.95


@pytest.mark.parametrize(
    "model", [FisherLinearClassifier(), WeightedVotingClassifier()]
)
def test_one_class(model):
    with pytest.warns(UserWarning, match="single class"):
        model.fit(np.eye(3), ["a", "a", "a"])
    assert_array_equal(model.predict(np.eye(3)), ["a", "a", "a"])
