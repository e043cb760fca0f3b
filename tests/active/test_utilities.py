"""Utilities: closed forms, brute force, and batches."""

# SPDX-License-Identifier: BSD-3-Clause

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn.linear_model import LogisticRegression

from fewlabels.active import (
    consensus_kl,
    entropy,
    expected_gradient_length,
    least_confidence,
    margin,
    middle_certainty,
    select_batch,
    variance_reduction,
    vote_entropy,
)
from fewlabels.active._utilities import conditioned, conditioned_features, downdated


def dirichlet(rng, n, k):
    return rng.dirichlet(np.ones(k), size=n)


class TestUncertainty:
    def test_two_classes_all_choose_the_same(self, rng):
        P = dirichlet(rng, 200, 2)
        orders = [
            np.argsort(-u(P), kind="stable")
            for u in (least_confidence, margin, entropy)
        ]
        assert_array_equal(orders[0], orders[1])
        assert_array_equal(orders[0], orders[2])

    def test_three_classes_differ(self):
        # The least confident row has a clear runner-up order: measures disagree.
        P = [[0.5, 0.5, 0.0], [0.4, 0.3, 0.3]]
        assert least_confidence(P).argmax() == entropy(P).argmax() == 1
        assert margin(P).argmax() == 0

    def test_extremes(self):
        P = [[1.0, 0.0, 0.0], [1 / 3, 1 / 3, 1 / 3]]
        assert_allclose(least_confidence(P), [0, 2 / 3])
        assert_allclose(margin(P), [0, 1])
        assert_allclose(entropy(P), [0, np.log(3)])

    def test_one_class(self):
        P = np.ones((3, 1))
        for measure in (least_confidence, margin, entropy):
            assert_array_equal(measure(P), np.zeros(3))

    def test_middle_certainty_takes_the_middle_slice(self, rng):
        P = dirichlet(rng, 31, 3)
        queue = np.argsort(P.max(axis=1))
        chosen = select_batch(middle_certainty(P), 5, random_state=0)
        assert set(chosen) == set(queue[13:18])

    def test_middle_of_one_and_of_equals(self):
        assert_array_equal(middle_certainty([[0.3, 0.7]]), [1.0])
        assert_array_equal(middle_certainty([[0.3, 0.7]] * 4), np.ones(4))


class TestCommittee:
    def test_identical_members_have_nothing_to_say(self, rng):
        P = dirichlet(rng, 50, 4)
        assert_allclose(consensus_kl([P, P, P]), 0, atol=1e-15)
        assert_array_equal(vote_entropy([P.argmax(axis=1)] * 3), np.zeros(50))

    def test_formulas(self, rng):
        P = np.array([dirichlet(rng, 20, 3) for _ in range(4)])
        mean = P.mean(axis=0)
        slow = [
            np.mean([sum(p * np.log(p / m)) for p in P[:, i]])
            for i, m in enumerate(mean)
        ]
        assert_allclose(consensus_kl(P), slow)
        # It is the entropy of the consensus less the mean entropy of the members.
        gap = entropy(mean) - np.mean([entropy(p) for p in P], axis=0)
        assert_allclose(consensus_kl(P), gap, atol=1e-14)

    def test_weights_are_copies(self, rng):
        P = np.array([dirichlet(rng, 20, 3) for _ in range(2)])
        votes = P.argmax(axis=2)
        assert_allclose(consensus_kl(P, [2, 1]), consensus_kl(P[[0, 0, 1]]))
        assert_allclose(vote_entropy(votes, [2, 1]), vote_entropy(votes[[0, 0, 1]]))

    def test_certain_members(self):
        assert_allclose(consensus_kl([[[1, 0]], [[0, 1]]]), np.log(2))

    @pytest.mark.parametrize("w", [[1], [-1, 2], [0, 0], [np.nan, 1]])
    def test_wrong_weights(self, w):
        with pytest.raises(ValueError, match="sample_weight must hold one weight"):
            vote_entropy([[0], [1]], w)

    def test_wrong_shapes(self):
        with pytest.raises(ValueError, match="votes must have one line per member"):
            vote_entropy([0, 1])
        with pytest.raises(ValueError, match="n_members, n_samples, n_classes"):
            consensus_kl([[0.5, 0.5]])


class TestExpectedGradientLength:
    @pytest.mark.parametrize("fit_intercept", [True, False])
    def test_two_classes_by_differences(self, rng, fit_intercept):
        """The gradient of the loss, taken numerically."""
        X = rng.normal(size=(30, 3))
        y = (X[:, 0] > 0).astype(int)
        model = LogisticRegression(fit_intercept=fit_intercept).fit(X, y)
        rows = np.hstack([X, np.ones((30, int(fit_intercept)))])
        w = np.append(model.coef_[0], model.intercept_[: int(fit_intercept)])

        def gradient(x, label):
            def loss(v):
                return np.logaddexp(0, -(2 * label - 1) * (x @ v))

            steps = 1e-6 * np.eye(w.size)
            return np.array([(loss(w + s) - loss(w - s)) / 2e-6 for s in steps])

        P = model.predict_proba(X)
        slow = [
            sum(P[i, c] * np.linalg.norm(gradient(rows[i], c)) for c in (0, 1))
            for i in range(30)
        ]
        found = expected_gradient_length(P, X, fit_intercept=fit_intercept)
        assert_allclose(found, slow, rtol=1e-6)

    def test_many_classes(self, rng):
        P, X = dirichlet(rng, 20, 4), rng.normal(size=(20, 3))
        slow = [
            sum(
                p[c] * np.linalg.norm(np.outer(p - np.eye(4)[c], np.append(x, 1)))
                for c in range(4)
            )
            for p, x in zip(P, X, strict=True)
        ]
        assert_allclose(expected_gradient_length(P, X), slow)
        assert_allclose(expected_gradient_length(P, csr_array(X)), slow)


class TestVarianceReduction:
    def test_equals_refitting(self, rng):
        """Cohn: the mean predictive variance before and after, from scratch."""
        X, alpha = rng.normal(size=(40, 4)), 0.7
        J, C = np.arange(6), np.arange(10, 40)

        def mean_variance(rows):
            A = X[rows].T @ X[rows] + alpha * np.eye(4)
            return np.mean(np.einsum("ij,jk,ik->i", X, alpha * np.linalg.inv(A), X))

        slow = [mean_variance(J) - mean_variance(np.append(J, z)) for z in C]
        P = conditioned(X @ X[J].T, X @ X[C].T, J, alpha)
        assert_allclose(variance_reduction(P, C, alpha=alpha), slow)
        A = np.linalg.inv(X[J].T @ X[J] + alpha * np.eye(4))
        closed = [alpha * np.mean((X @ A @ z) ** 2) / (1 + z @ A @ z) for z in X[C]]
        assert_allclose(closed, slow)

    def test_features_are_the_linear_kernel(self, rng):
        F, J, C = rng.normal(size=(20, 3)), np.array([0, 3]), np.arange(5, 20)
        expected = conditioned(F @ F[J].T, F @ F[C].T, J, 0.5)
        assert_allclose(conditioned_features(F, C, J, 0.5), expected, atol=1e-12)
        assert_allclose(conditioned_features(F, C, J[:0], 0.5), F @ F[C].T)

    def test_copies_of_a_large_row(self):
        """Ten labels for one point leave a tenth of the noise, whatever its size."""
        F, rows = np.full((12, 1), 1e9), np.arange(12)
        P = conditioned_features(F, rows[10:], rows[:10], 1.0)
        assert_allclose(P, 0.1)

    def test_downdating_is_conditioning(self, rng):
        X = rng.normal(size=(20, 3))
        J, C = np.array([0, 3]), np.arange(5, 20)
        P = conditioned(X @ X[J].T, X @ X[C].T, J, 0.5)
        both = np.append(J, C[4])
        expected = conditioned(X @ X[both].T, X @ X[C].T, both, 0.5)
        assert_allclose(downdated(P, C, 4, 0.5), expected, atol=1e-12)

    def test_weights(self, rng):
        P = rng.normal(size=(5, 2))
        w = np.array([1.0, 0, 0, 0, 0])
        found = variance_reduction(P, [1, 2], alpha=2.0, sample_weight=w)
        own = np.maximum(P[[1, 2], [0, 1]], 0)
        assert_allclose(found, P[0] ** 2 / (own + 2.0))


class TestBatch:
    def test_without_diversity_the_largest(self, rng):
        u = rng.normal(size=50)
        assert_array_equal(select_batch(u, 5), np.argsort(-u)[:5])

    def test_ties_are_broken_at_random(self):
        first = {
            int(select_batch(np.ones(10), 1, random_state=s)[0]) for s in range(60)
        }
        assert first == set(range(10))

    def test_large_diversity_is_farthest_first(self, rng):
        X = rng.normal(size=(40, 2))
        u = rng.uniform(size=40)
        chosen = [u.argmax()]
        for _ in range(4):
            d = np.linalg.norm(X[:, None] - X[chosen], axis=2).min(axis=1)
            chosen.append(d.argmax())
        assert_array_equal(select_batch(u, 5, X, diversity=200), chosen)
        assert_array_equal(select_batch(u, 5, csr_array(X), diversity=200), chosen)

    def test_no_copies_while_there_is_another(self, rng):
        X = np.repeat(rng.normal(size=(4, 2)), 5, axis=0)
        u = np.repeat([4.0, 3, 2, 1], 5)
        chosen = select_batch(u, 4, X, diversity=1.0)
        assert set(chosen // 5) == {0, 1, 2, 3}

    @given(
        u=st.lists(st.floats(-5, 5), min_size=1, max_size=12),
        n=st.integers(1, 12),
        diversity=st.sampled_from([0.0, 0.5, 3.0]),
        copies=st.booleans(),
    )
    @settings(max_examples=60, deadline=None)
    def test_always_a_set_of_the_right_size(self, u, n, diversity, copies):
        X = np.zeros((len(u), 2)) if copies else np.arange(2.0 * len(u)).reshape(-1, 2)
        n = min(n, len(u))
        chosen = select_batch(u, n, X, diversity=diversity, random_state=0)
        assert np.unique(chosen).size == n
        assert u[chosen[0]] == max(u)

    def test_wrong_parameters(self):
        with pytest.raises(ValueError, match="there are 2 rows to choose from"):
            select_batch([1, 2], 3)
        with pytest.raises(ValueError, match="diversity must be >= 0"):
            select_batch([1, 2], 1, diversity=-1)
        with pytest.raises(ValueError, match="utilities holds NaN"):
            select_batch([1, np.nan], 1)
        with pytest.raises(ValueError, match="pass X"):
            select_batch([1, 2], 2, diversity=1)
