"""Closed-form held-out outputs against models that are really fitted again."""

# SPDX-License-Identifier: BSD-3-Clause

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import softmax

from fewlabels.automatic import _held_out, _labeled, _losses, _tuned
from fewlabels.automatic import _weights as weights

RIDGES = np.array([1e-3, 0.1, 10.0])


@pytest.fixture
def problem(rng):
    """Two kernels of 24 rows, one of them singular with copies, and three classes."""
    n = 24
    Z = rng.normal(size=(n, 30))
    Z[1] = Z[0]
    low = rng.normal(size=(n, 3))
    kernels = [Z @ Z.T / 30 + 1, low @ low.T / 3 + 1]
    codes = np.arange(n) % 3
    Y = np.where(codes[:, None] == np.arange(3), 1.0, -1.0)
    diagonal = rng.uniform(0.5, 2.0, size=n)
    models = _held_out.kernel_models(kernels, RIDGES, Y, diagonal)
    return kernels, diagonal, codes, Y, models


def refitted(K, ridge, diagonal, Y, train, test):
    A = K[np.ix_(train, train)] + ridge * np.diag(diagonal[train])
    return K[np.ix_(test, train)] @ np.linalg.solve(A, Y[train])


def each_candidate(kernels):
    pairs = [(K, ridge) for K in kernels for ridge in RIDGES]
    return enumerate(pairs)


class TestHeldOut:
    @pytest.mark.parametrize("n_blocks", [24, 5, 2])
    def test_equals_refitting(self, problem, rng, n_blocks):
        kernels, diagonal, codes, Y, models = problem
        blocks = _labeled.stratified_blocks(
            codes, np.arange(24), n_blocks, np.random.RandomState(0)
        )
        outputs = models.held_out(blocks)
        for index, (K, ridge) in each_candidate(kernels):
            for block in blocks:
                rest = np.setdiff1d(np.arange(24), block)
                expected = refitted(K, ridge, diagonal, Y, rest, block)
                assert_allclose(outputs[index, block], expected, rtol=0, atol=1e-8)

    def test_rows_in_no_block(self, problem):
        *_, models = problem
        outputs = models.held_out([np.array([3, 7])])
        assert np.isfinite(outputs[:, [3, 7]]).all()
        assert np.isnan(np.delete(outputs, [3, 7], axis=1)).all()


def test_without_a_block_equals_refitting(problem):
    kernels, diagonal, _, Y, models = problem
    block = np.array([2, 3, 11])
    rest = np.setdiff1d(np.arange(24), block)
    smaller = models.without(block)
    inverses = smaller.blocks(np.arange(rest.size)[None])[:, 0]
    diagonals = smaller.diagonal(np.arange(rest.size))
    for index, (K, ridge) in each_candidate(kernels):
        A = K[np.ix_(rest, rest)] + ridge * np.diag(diagonal[rest])
        atol = 1e-8 / ridge
        expected = np.linalg.inv(A)
        assert_allclose(inverses[index], expected, rtol=0, atol=atol)
        assert_allclose(diagonals[index], expected.diagonal(), rtol=0, atol=atol)
        expected = np.linalg.solve(A, Y[rest])
        assert_allclose(smaller.coefs[index], expected, rtol=0, atol=atol)


def test_nested_outputs_equal_refitting(problem):
    """Leave a block out, and inside the rest leave out another."""
    kernels, diagonal, _, Y, models = problem
    outer, inner = np.array([0, 1, 9]), np.array([4, 5])  # inner: places in the rest
    rest = np.setdiff1d(np.arange(24), outer)
    nested = models.without(outer).held_out([inner])
    for index, (K, ridge) in each_candidate(kernels):
        train = np.delete(rest, inner)
        expected = refitted(K, ridge, diagonal, Y, train, rest[inner])
        assert_allclose(nested[index, inner], expected, rtol=0, atol=1e-8)


class TestBlocks:
    def test_a_partition_with_even_classes(self, rng):
        codes = np.repeat([0, 1, 2], [20, 10, 10])
        blocks = _labeled.stratified_blocks(
            codes, np.arange(40), 10, np.random.RandomState(1)
        )
        assert_array_equal(np.sort(np.concatenate(blocks)), np.arange(40))
        for block in blocks:
            assert_array_equal(np.bincount(codes[block]), [2, 1, 1])

    def test_groups_stay_together(self):
        groups = np.array([0, 0, 0, 1, 2, 2, 3, 4])
        codes = np.array([0, 1, 0, 0, 1, 1, 1, 0])
        for seed in range(10):
            blocks = _labeled.stratified_blocks(
                codes, groups, 3, np.random.RandomState(seed)
            )
            for block in blocks:
                assert not set(groups[block]) & set(np.delete(groups, block))

    def test_more_blocks_than_rows(self):
        blocks = _labeled.stratified_blocks(
            np.array([0, 1]), np.arange(2), 5, np.random.RandomState(0)
        )
        assert len(blocks) == 2


class TestLosses:
    def test_two_classes(self, rng):
        outputs = rng.normal(size=(4, 6, 1))
        codes = np.array([0, 1, 0, 1, 1, 0])
        losses = _losses.log_losses(outputs, codes, np.array([0.5, 3.0]))
        signs = 2 * codes - 1
        margin = signs * outputs[:, :, 0]
        for index, T in enumerate((0.5, 3.0)):
            assert_allclose(losses[:, index], np.log1p(np.exp(-2 * T * margin)))

    def test_three_classes(self, rng):
        outputs = rng.normal(size=(6, 3))
        codes = np.arange(6) % 3
        losses = _losses.log_losses(outputs, codes, np.array([2.0]))
        p = softmax(2.0 * outputs, axis=1)[np.arange(6), codes]
        assert_allclose(losses[0], -np.log(p))

    def test_squared(self, rng):
        Y = rng.normal(size=(5, 2))
        outputs = rng.normal(size=(3, 5, 2))
        losses = _losses.squared_losses(outputs, Y)
        assert_allclose(losses[1, 2], ((outputs[1, 2] - Y[2]) ** 2).mean())


class TestWeights:
    def test_ranks_by_hand(self):
        # Two kernels of two ridges, one loss, one draw that counts all rows.
        losses = [np.array([[4.0, 4.0], [1.0, 1.0], [2.0, 2.0], [3.0, 3.0]])]
        sums = weights.rank_sums(losses, np.ones((1, 2)))
        assert_array_equal(sums, [[3, 0, 1, 2]])
        w = weights.decayed_weights(sums, np.array([0, 0, 1, 1]), decay=0.5)
        assert_allclose(w, [0, 2 / 3, 1 / 3, 0])

    def test_candidates_of_unequal_size(self):
        # The best variants have sums 1, 2 and 0; of equal ones the first counts.
        sums = np.array([[1.0, 1.0, 4.0, 2.0, 0.0]])
        w = weights.decayed_weights(sums, np.array([0, 0, 0, 1, 2]), decay=0.5)
        assert_allclose(w, np.array([2, 0, 0, 1, 4]) / 7)

    def test_the_best_temperature_counts(self):
        losses = np.array([[[9.0], [1.0]], [[2.0], [3.0]]])  # candidates, T, rows
        sums = weights.rank_sums([losses], np.ones((1, 1)))
        assert_array_equal(sums, [[0, 1]])

    def test_a_draw_decides_by_its_own_rows(self):
        losses = [np.array([[0.0, 1.0], [1.0, 0.0]])]
        draws = np.array([[2.0, 0.0], [0.0, 2.0]])
        assert_array_equal(weights.rank_sums(losses, draws), [[0, 1], [1, 0]])
        sums = weights.rank_sums(losses, draws)
        w = weights.decayed_weights(sums, np.arange(2), decay=0.5)
        assert_allclose(w, [0.5, 0.5])

    def test_weights_fall_with_the_rank(self):
        w = weights.decayed_weights(np.arange(4.0)[None], np.arange(4), decay=0.5)
        assert_allclose(w, np.array([8, 4, 2, 1]) / 15)

    def test_nothing_known_is_never_best(self):
        losses = [np.array([[np.nan], [5.0]])]
        assert_array_equal(weights.rank_sums(losses, np.ones((1, 1))), [[1, 0]])

    def test_draws(self):
        draws = weights.bootstrap_draws(7, 5, np.random.RandomState(0))
        assert draws.shape == (7, 5)
        assert (draws > 0).all()
        assert_allclose(draws.mean(axis=1), 1)

    def test_stacking_finds_the_better_candidate(self, monkeypatch):
        monkeypatch.setattr(_tuned, "STACKING_STEPS", 500)
        p = np.array([[0.9] * 200, [0.5] * 200, [0.99] * 200])
        prior = np.array([0.5, 0.5, 0.0])
        w = weights.stacked_weights(p, prior, np.ones(200))
        # Fixed point: w1 = (10 + 200 r1) / 220 with the responsibilities at w.
        share = w[0] * 0.9 / (w[0] * 0.9 + w[1] * 0.5)
        assert_allclose(w[0], (10 + 200 * share) / 220, rtol=1e-6)
        assert w[0] > 0.8
        assert w[2] == 0
        assert_allclose(w.sum(), 1)

    def test_stacking_without_evidence_keeps_the_prior(self):
        prior = np.array([0.2, 0.8])
        w = weights.stacked_weights(np.full((2, 9), 0.7), prior, np.ones(9))
        assert_allclose(w, prior)
