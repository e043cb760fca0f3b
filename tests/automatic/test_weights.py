"""Weights of candidates from their losses."""


# SPDX-License-Identifier: BSD-3-Clause

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal

from fewlabels.automatic import _tuned
from fewlabels.automatic import _weights as weights


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
