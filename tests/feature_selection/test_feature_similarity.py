"""Similarity of features, and the selector by clusters."""

# SPDX-License-Identifier: BSD-3-Clause

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from fewlabels.feature_selection import (
    FeatureSimilaritySelector,
    cluster_features,
    correlation_dissimilarity,
    mici,
    regression_error,
)
from fewlabels.feature_selection._feature_similarity import TIE_TOL, _compare

MEASURES = [mici, correlation_dissimilarity, regression_error]


@pytest.fixture
def X():
    rng = np.random.default_rng(0)
    return rng.normal(size=(40, 5)) @ rng.normal(size=(5, 5)) + 3


class TestMeasures:
    def test_correlation(self, X):
        expected = 1 - np.abs(np.corrcoef(X.T))
        assert_allclose(correlation_dissimilarity(X), expected, atol=1e-12)

    def test_regression_error_is_that_of_the_best_line(self, X):
        E = regression_error(X)
        for i in range(5):
            for j in range(5):
                line = np.polyfit(X[:, i], X[:, j], 1)
                error = np.mean((X[:, j] - np.polyval(line, X[:, i])) ** 2)
                assert_allclose(E[i, j], error, atol=1e-10)
                # With the mean of the target as the constant it would be larger.
                printed = X[:, j].mean() + line[0] * X[:, i]
                assert np.mean((X[:, j] - printed) ** 2) >= error - 1e-10

    def test_compression_index_is_the_smaller_eigenvalue(self, X):
        D = mici(X)
        for i in range(5):
            for j in range(i):
                covariance = np.cov(X[:, [i, j]].T, bias=True)
                assert_allclose(D[i, j], np.linalg.eigvalsh(covariance)[0])
                assert D[i, j] <= np.diag(covariance).min()
        assert_array_equal(D, D.T)

    @settings(max_examples=25, deadline=None)
    @given(st.floats(0, 6.3), st.integers(0, 1000))
    def test_compression_index_does_not_change_with_rotation(self, angle, seed):
        X = np.random.default_rng(seed).normal(size=(20, 2)) * [1, 3]
        c, s = np.cos(angle), np.sin(angle)
        turned = X @ np.array([[c, -s], [s, c]])
        assert_allclose(mici(turned)[0, 1], mici(X)[0, 1], rtol=1e-8)

    @pytest.mark.parametrize("measure", MEASURES)
    def test_zero_for_linear_dependence_only(self, X, measure):
        both = np.c_[X, -3 * X + 7]
        D = measure(both)
        assert_array_equal(np.diag(D), 0)
        assert_array_equal(np.diag(D[:5, 5:]), 0)
        assert_array_equal(np.diag(D[5:, :5]), 0)
        others = ~np.eye(5, dtype=bool)
        assert np.all(D[:5, :5][others] > 0)

    @pytest.mark.parametrize("measure", MEASURES)
    def test_translation(self, X, measure):
        moved = measure(X + np.arange(5) * 10)
        assert_allclose(moved, measure(X), atol=1e-10 * np.max(measure(X)))

    def test_constant_features(self):
        X = np.c_[np.full(5, 0.1), np.full(5, 7.0), np.arange(5)]
        assert_array_equal(
            correlation_dissimilarity(X), [[0, 0, 1], [0, 0, 1], [1, 1, 0]]
        )
        assert_array_equal(mici(X), 0)
        assert_allclose(regression_error(X)[:2], [[0, 0, 2], [0, 0, 2]], rtol=1e-15)

    def test_units(self):
        """A feature of large numbers does not hide that another differs from it."""
        X = np.random.default_rng(0).normal(size=(50, 2))
        units = np.array([1e9, 1.0])
        small = np.linalg.eigvalsh(np.cov(X.T * units[:, None], bias=True))[0]
        assert_allclose(mici(X * units)[0, 1], small)
        for scale in (1e-120, 1e120):
            assert_allclose(
                correlation_dissimilarity(scale * X), correlation_dissimilarity(X)
            )
            assert_allclose(mici(scale * X) / scale**2, mici(X))

    def test_digits_beside_a_far_row(self):
        X = np.array([[2.0, 1.0], [-1.0, 1.5], [0.5, -3.0], [1.0, 0.5], [3.0, 5.0]])
        X[4] *= 2.0**28
        rows = [[Fraction(x) for x in row] for row in X.tolist()]
        means = [sum(column) / 5 for column in zip(*rows, strict=True)]
        xx, xy, yy = (
            sum((row[i] - means[i]) * (row[j] - means[j]) for row in rows) / 5
            for i, j in ((0, 0), (0, 1), (1, 1))
        )
        rest = float(1 - xy**2 / (xx * yy))
        assert rest < 1e-15  # 1 - rho^2 in double precision has no digit
        assert_allclose(regression_error(X)[0, 1], float(yy) * rest, rtol=1e-6)
        assert_allclose(correlation_dissimilarity(X)[0, 1], rest / 2, rtol=1e-6)

    def test_accuracy_beside_a_far_row(self, rng):
        """The order of rows changes no more digits than are known to be wrong."""
        X = np.repeat(1e-4 * rng.normal(size=(2, 19)), 5, axis=0)
        X = np.vstack([X, X[0] + 2.0**17])
        pairs = _compare(X)
        change = np.zeros((19, 19))
        for _ in range(20):
            other = _compare(rng.permutation(X))
            change = np.maximum(change, np.abs(other.unexplained - pairs.unexplained))
        assert np.all(change <= pairs.accuracy() * pairs.unexplained)
        assert np.any(change > TIE_TOL * pairs.unexplained)


class TestClusters:
    def test_one_survivor_of_each_group(self):
        X = np.repeat(np.random.default_rng(0).normal(size=(50, 4)), 5, axis=1)
        clusters = cluster_features(mici(X), 4)
        assert_array_equal(clusters.kept // 5, [0, 1, 2, 3])
        assert_array_equal(clusters.representative // 5, np.arange(20) // 5)
        assert clusters.epsilon == 0

    def test_all_but_one_are_dropped(self, X):
        clusters = cluster_features(mici(X), 4)
        assert clusters.kept.size == 1
        assert_array_equal(clusters.representative, np.repeat(clusters.kept, 5))
        # The one that is kept has the nearest farthest feature.
        assert clusters.kept[0] == np.argmin(mici(X).max(axis=1))

    def test_representatives_are_kept(self):
        D = correlation_dissimilarity(np.random.default_rng(1).normal(size=(30, 12)))
        clusters = cluster_features(D, 3)
        gone = clusters.representative != np.arange(12)
        assert gone.any()
        assert_array_equal(clusters.representative[clusters.kept], clusters.kept)
        assert_array_equal(np.flatnonzero(~gone), clusters.kept)

    def test_the_limit_of_the_first_round_holds(self):
        # Of the tighter triple one stays. The other is wider than the first limit.
        x = np.array([0, 0.1, 0.2, 10, 10.05, 10.1, 50, 80, 130])
        clusters = cluster_features(np.abs(np.subtract.outer(x, x)), 2)
        assert_array_equal(clusters.kept, [0, 1, 2, 4, 6, 7, 8])
        assert_allclose(clusters.epsilon, 0.05)

    @pytest.mark.parametrize("seed", range(5))
    @pytest.mark.parametrize("tol", [1e-10, 1e-5])
    def test_rounding_errors_decide_no_tie(self, seed, tol):
        rng = np.random.default_rng(seed)
        D = rng.integers(1, 4, size=(12, 12)).astype(float)  # many are equally near
        clusters = cluster_features(D, 3)
        for _ in range(5):
            noise = 1 + 1e-2 * tol * rng.normal(size=D.shape)
            other = cluster_features(D * noise, 3, tol=tol)
            assert_array_equal(other.representative, clusters.representative)

    def test_bad_input(self):
        with pytest.raises(ValueError, match="n_neighbors=3 must be between 1 and"):
            cluster_features(np.zeros((3, 3)), 3)
        with pytest.raises(ValueError, match="D must be square"):
            cluster_features(np.zeros((3, 2)), 1)


class TestSelector:
    def test_translation_of_columns(self, X):
        plain = FeatureSimilaritySelector(2).fit(X)
        moved = FeatureSimilaritySelector(2).fit(X + 100 * np.arange(5))
        assert_array_equal(plain.support_, moved.support_)

    @pytest.mark.parametrize("measure", ["mici", "correlation", "regression"])
    def test_copies_are_dropped(self, X, measure):
        copies = np.c_[X, X, X]
        selector = FeatureSimilaritySelector(2, measure=measure).fit(copies)
        assert_array_equal(selector.get_support(indices=True), np.arange(5))
        assert_allclose(selector.transform(copies), X)

    def test_callable(self, X):
        selector = FeatureSimilaritySelector(2, measure=mici).fit(X)
        assert_array_equal(
            selector.support_, FeatureSimilaritySelector(2).fit(X).support_
        )

    def test_constant_features_go_first(self, X):
        with_constant = np.c_[np.ones(40), X, np.full(40, 0.3)]
        selector = FeatureSimilaritySelector(2).fit(with_constant)
        assert not selector.support_[0]
        assert not selector.support_[-1]
        assert_array_equal(selector.representative_[[0, -1]], -1)
        plain = FeatureSimilaritySelector(2).fit(X)
        assert_array_equal(selector.support_[1:-1], plain.support_)

    def test_nothing_but_constants(self):
        selector = FeatureSimilaritySelector().fit(np.ones((4, 3)))
        assert selector.support_.sum() >= 1

    def test_too_many_neighbours(self, X):
        with pytest.raises(ValueError, match="n_neighbors=5 must be at most"):
            FeatureSimilaritySelector(5).fit(X)
