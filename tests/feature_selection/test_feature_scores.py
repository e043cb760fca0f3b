"""Scores of single features."""

# SPDX-License-Identifier: BSD-3-Clause

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.feature_selection import SelectKBest, f_classif, r_regression
from sklearn.linear_model import LinearRegression

from fewlabels.feature_selection import fisher_score, pearson_score, signal_to_noise

SCORES = [pearson_score, signal_to_noise, fisher_score]


@pytest.fixture
def two_classes():
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    X = rng.normal(size=(60, 5)) * [1, 2, 3, 1, 1]
    X[:, 0] += 2 * y
    X[:, 1] -= 2 * y
    return X, y


class TestPearson:
    def test_share_of_variance_explained(self, two_classes):
        X, y = two_classes
        targets = X[:, 0] + 0.5 * X[:, 2] + y
        for j, score in enumerate(pearson_score(X, targets)):
            line = LinearRegression().fit(X[:, [j]], targets)
            assert_allclose(score, line.score(X[:, [j]], targets))

    def test_square_of_the_exposed_function(self, two_classes):
        X, y = two_classes
        assert_allclose(pearson_score(X, y), r_regression(X, y) ** 2)

    def test_negative_correlations_rank_like_positive_ones(self, two_classes):
        X, y = two_classes
        selector = SelectKBest(pearson_score, k=2).fit(X, y)
        assert_array_equal(selector.get_support(indices=True), [0, 1])

    def test_holes(self, two_classes):
        X, y = two_classes
        holes = np.where(np.arange(60) < 40, y, np.nan)
        assert_allclose(pearson_score(X, holes), pearson_score(X[:40], y[:40]))
        assert_array_equal(pearson_score(X[:3], [1.0, None, None]), 0)


class TestSignalToNoise:
    def test_formula(self, two_classes):
        X, y = two_classes
        a, b = X[y == 1], X[y == 0]
        for ddof in (0, 1):
            spread = a.std(axis=0, ddof=ddof) + b.std(axis=0, ddof=ddof)
            expected = np.abs(a.mean(axis=0) - b.mean(axis=0)) / spread
            assert_allclose(signal_to_noise(X, y, ddof=ddof), expected)

    @settings(max_examples=30, deadline=None)
    @given(st.floats(0.1, 100), st.floats(-10, 10), st.booleans())
    def test_units_do_not_matter(self, scale, shift, mirrored):
        rng = np.random.default_rng(0)
        X, y = rng.normal(size=(20, 3)), np.arange(20) % 2
        scale = -scale if mirrored else scale
        for score in SCORES:
            assert_allclose(score(scale * X + shift, y), score(X, y), rtol=1e-8)

    def test_size_of_a_class_does_not_matter(self, two_classes):
        X, y = two_classes
        more, labels = np.r_[X, X[y == 1]], np.r_[y, y[y == 1]]
        for score in (signal_to_noise, fisher_score):
            assert_allclose(score(more, labels), score(X, y))

    def test_three_classes(self):
        with pytest.raises(ValueError, match="use fisher_score"):
            signal_to_noise(np.eye(3), [0, 1, 2])


class TestFisher:
    def test_closed_form_of_two_classes(self, two_classes):
        X, y = two_classes
        a, b = X[y == 1], X[y == 0]
        center = (a.mean(axis=0) + b.mean(axis=0)) / 2
        between = (a.mean(axis=0) - center) ** 2 + (b.mean(axis=0) - center) ** 2
        within = a.var(axis=0) + b.var(axis=0)
        assert_allclose(fisher_score(X, y), between / within)

    def test_square_of_signal_to_noise_for_equal_spread(self):
        x = np.random.default_rng(0).normal(size=(20, 3))
        X, y = np.r_[x, x + [1, 2, 3]], np.repeat([0, 1], 20)
        assert_allclose(fisher_score(X, y), signal_to_noise(X, y) ** 2)

    def test_ranks_as_analysis_of_variance_for_balanced_pairs(self, two_classes):
        X, y = two_classes
        theirs = f_classif(X, y)[0]
        assert_array_equal(np.argsort(fisher_score(X, y)), np.argsort(theirs))

    def test_over_pairs(self):
        rng = np.random.default_rng(0)
        X, y = rng.normal(size=(30, 2)), np.arange(30) % 3
        pairs = [
            fisher_score(X[(y == k) | (y == m)], y[(y == k) | (y == m)])
            for k, m in [(0, 1), (0, 2), (1, 2)]
        ]
        assert_allclose(fisher_score(X, y), np.mean(pairs, axis=0))
        assert_allclose(fisher_score(X, y, pairs="min"), np.min(pairs, axis=0))
        with pytest.raises(ValueError, match="'mean', 'min'"):
            fisher_score(X, y, pairs="max")


@pytest.mark.parametrize("score", SCORES)
class TestEveryScore:
    def test_constant_features(self, score):
        # 0.1 is not a sum of powers of two: its mean has a rounding error.
        X = np.full((7, 2), 0.1)
        X[:, 1] = [0, 0, 0, 1, 1, 1, 1]
        y = np.array([0, 0, 0, 1, 1, 1, 1])
        assert score(X, y)[0] == 0
        assert SelectKBest(score, k=1).fit(X, y).get_support()[1]

    def test_sparse_rows(self, score, two_classes):
        X, y = two_classes
        X = np.where(np.abs(X) > 1, X, 0)
        assert_allclose(score(sparse.csr_array(X), y), score(X, y), rtol=1e-9)

    def test_wrong_length(self, score, two_classes):
        X, y = two_classes
        with pytest.raises(ValueError, match="y has 59 entries but X has 60 rows"):
            score(X, y[:-1])


@pytest.mark.parametrize("score", [signal_to_noise, fisher_score])
class TestScoresOfClasses:
    def test_unlabelled_rows_do_not_count(self, score, two_classes):
        X, y = two_classes
        holes = np.where(np.arange(60) < 40, y, -1)
        assert_allclose(score(X, holes), score(X[:40], y[:40]))
        selected = SelectKBest(score, k=2).fit(X, holes)
        assert_array_equal(selected.get_support(indices=True), [0, 1])

    def test_one_class(self, score):
        with pytest.warns(UserWarning, match="single class"):
            assert_array_equal(score(np.eye(3), [1, 1, 1]), 0)

    def test_one_row_per_class(self, score):
        # Features that differ part the classes as well as can be.
        assert_array_equal(score([[0.0, 1.0], [1.0, 1.0]], [0, 1]), [np.inf, 0])
