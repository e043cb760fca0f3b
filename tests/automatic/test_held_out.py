"""Closed-form held-out outputs against models that are really fitted again."""

# SPDX-License-Identifier: BSD-3-Clause

import numpy as np
import pytest
from numpy.testing import assert_allclose

from fewlabels.automatic import _held_out, _labeled

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
