"""Similarities and distances."""

# SPDX-License-Identifier: BSD-3-Clause

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.spatial.distance import jaccard
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics.pairwise import cosine_similarity

from fewlabels.cluster import (
    combined_similarity,
    confusion_similarity,
    regularized_euclidean,
    semantic_similarity,
    tanimoto_similarity,
    tfidf_similarity,
)


class TestRegularizedEuclidean:
    def test_formula(self, rng):
        X, Y = rng.normal(size=(6, 3)), rng.normal(size=(4, 3))
        squares = (X**2).sum(axis=1)[:, None] + (Y**2).sum(axis=1)
        assert_allclose(
            regularized_euclidean(X, Y) ** 2, 1 - 2 * X @ Y.T / squares, atol=1e-12
        )

    def test_range(self):
        x = np.array([[1.0, 2.0]])
        assert_allclose(regularized_euclidean(x, -x), np.sqrt(2))
        assert_allclose(regularized_euclidean(x, [[2.0, -1.0]]), 1)
        assert_array_equal(regularized_euclidean(x), 0)
        assert_array_equal(regularized_euclidean(0 * x), 0)

    def test_near_rows_do_not_cancel(self):
        found = regularized_euclidean([[1e8, 1.0]], [[1e8, 2.0]])
        assert_allclose(found, 1 / (np.sqrt(2) * 1e8))


class TestTanimoto:
    def test_jaccard_of_sets(self, rng):
        X = rng.integers(2, size=(8, 6))
        expected = [[1 - jaccard(x, z) for z in X.astype(bool)] for x in X.astype(bool)]
        assert_allclose(tanimoto_similarity(X), expected)
        assert_allclose(tanimoto_similarity(sparse.csr_array(X)), expected)

    def test_self_similarity_and_range(self, rng):
        X = rng.normal(size=(30, 2))
        S = tanimoto_similarity(X, np.r_[X, -X])
        assert_allclose(np.diagonal(S[:, :30]), 1)
        assert_allclose(np.diagonal(S[:, 30:]), -1 / 3)
        assert S.min() >= -1 / 3 - 1e-12
        assert S.max() <= 1 + 1e-12

    def test_rows_of_zeros(self):
        assert_array_equal(tanimoto_similarity(np.eye(2)[:1] * 0), 1)


class TestConfusion:
    def test_symmetric_with_diagonal_two(self, rng):
        F = rng.integers(1, 50, size=(5, 5))
        S = confusion_similarity(F)
        assert_allclose(S, S.T)
        assert_allclose(np.diagonal(S), 2)
        assert_allclose(S[0, 3], F[0, 3] / F[0, 0] + F[3, 0] / F[3, 3])

    @pytest.mark.parametrize(
        ("F", "message"),
        [
            ([[1, 2]], "square matrix"),
            ([[1, -2], [0, 1]], "least value -2"),
            ([[1, 2], [1, 0]], r"never recognised \(\[1\]\)"),
        ],
    )
    def test_bad_counts(self, F, message):
        with pytest.raises(ValueError, match=message):
            confusion_similarity(F)


SENTENCES = [
    "patient has fever and cough",
    "fever and cough in this patient",
    "no rash was seen",
    "patient has fever and cough",
]


class TestSentences:
    tokens = tuple(sentence.split() for sentence in SENTENCES)

    def test_words_as_scikit_learn_weighs_them(self):
        weights = TfidfVectorizer(token_pattern=r"\S+").fit_transform(SENTENCES)
        assert_allclose(tfidf_similarity(self.tokens), cosine_similarity(weights))

    def test_same_and_nothing_in_common(self):
        for S in (
            tfidf_similarity(self.tokens),
            semantic_similarity(self.tokens),
            combined_similarity(self.tokens, self.tokens, self.tokens),
        ):
            assert_allclose(np.diagonal(S), 1)
            assert_allclose(S[0, 3], 1)
            assert_array_equal(S[0, 2], 0)
            assert 0 < S[0, 1] < 1
            assert_allclose(S, S.T)

    def test_items_of_any_kind(self):
        relations = [[("nsubj", "has", "patient"), 7], [7], ["7"]]
        S = tfidf_similarity(relations)
        assert 0 < S[0, 1] < 1
        assert S[1, 2] == 0

    def test_concepts_by_hand(self):
        def related(a, b):
            return {frozenset("ab"): 0.5, frozenset("bc"): 0.2}.get(frozenset(a + b), 0)

        S = semantic_similarity([["a", "b"], ["c"]], related)
        # Over (a, b, c): (1, 1, max(0, 0.2)) and (0, 0.2, 1).
        u, v = np.array([1, 1, 0.2]), np.array([0, 0.2, 1])
        assert_allclose(S[0, 1], u @ v / np.linalg.norm(u) / np.linalg.norm(v))

    def test_combined_is_the_mean(self):
        words, relations = [["a"], ["a", "b"]], [["a"], []]
        concepts = [["x"], ["x", "y"]]
        joint = tfidf_similarity([["wa", "ra"], ["wa", "wb"]])
        assert_allclose(
            combined_similarity(words, relations, concepts),
            (joint + semantic_similarity(concepts)) / 2,
        )

    def test_empty_sentences(self):
        assert_array_equal(tfidf_similarity([[], []]), 0)
        assert_array_equal(semantic_similarity([[], ["a"]]), [[0, 0], [0, 1]])

    def test_lengths(self):
        with pytest.raises(ValueError, match="of 1, 2 and 1 sentences"):
            combined_similarity([["a"]], [[], []], [[]])
