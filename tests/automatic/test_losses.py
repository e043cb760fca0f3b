"""Losses of candidates on held-out rows."""


# SPDX-License-Identifier: BSD-3-Clause

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import softmax

from fewlabels.automatic import _labeled, _losses


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
