"""The choice among candidates, and its honest error, against doing it all again."""

# SPDX-License-Identifier: BSD-3-Clause

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import beta, binomtest

from fewlabels.automatic import (
    _errors,
    _labeled,
    _losses,
    _nested,
    _pool,
    _probabilities,
    _tuned,
    _weights,
)
from fewlabels.automatic._held_out import kernel_models

RIDGES = np.array([0.01, 1.0])


def problem(rng, n_labeled, n_classes=2, few=True):
    codes = np.arange(n_labeled) % n_classes
    useful = rng.normal(size=(n_labeled, 3)) + 2 * np.eye(n_classes, 3)[codes]
    noise = rng.normal(size=(n_labeled, 4))
    kernels = [Z @ Z.T / Z.shape[1] + 1 for Z in (useful, noise, useful**2)]
    columns = np.arange(n_classes) if n_classes > 2 else np.array([1])
    labeled = _labeled.Labeled(
        Y=np.where(codes[:, None] == columns, 1.0, -1.0),
        codes=codes,
        distinct=np.arange(n_labeled),
        importance=np.ones(n_labeled),
        few=few,
    )
    supervised = np.repeat([True, False, True], 2)
    groups = np.repeat(np.arange(3), 2)
    fixed, insurance = np.full(6, 1 / 6), np.zeros(6)
    pool = _pool.Pool(
        groups,
        np.tile(RIDGES, 3),
        supervised,
        fixed,
        insurance,
        np.ones(groups.size, bool),
    )
    return kernels, labeled, pool


def models_of(kernels, Y, rows):
    return kernel_models([K[np.ix_(rows, rows)] for K in kernels], RIDGES, Y[rows])


def drawn(labeled):
    return _losses.HeldOutBlocks.draw(labeled, np.random.RandomState(0))


@pytest.mark.parametrize(
    ("n_labeled", "n_classes", "few"), [(10, 2, True), (30, 2, False), (24, 6, False)]
)
def test_nested_outputs_equal_the_whole_procedure_again(rng, n_labeled, n_classes, few):
    """Everything is fitted again without the block: kernels, scores, weights."""
    kernels, labeled, pool = problem(rng, n_labeled, n_classes, few)
    everything = np.arange(n_labeled)
    models = models_of(kernels, labeled.Y, everything)
    blocks = _losses.HeldOutBlocks.draw(labeled, np.random.RandomState(1))
    rng = np.random.RandomState(0)
    nested = _nested.nested_outputs(models, labeled, pool, blocks, rng)

    same = np.random.RandomState(0)
    for block in _nested.outer_blocks(labeled, same):
        rest = np.setdiff1d(everything, block)
        part = labeled.without(block)
        again = models_of(kernels, labeled.Y, rest)
        losses = _losses.held_out_losses(again, part, blocks.without(block, part, same))
        chosen = _weights.choose(losses, part, pool, same)
        answers = np.concatenate(
            [
                K[np.ix_(block, rest)] @ again.coefs[2 * k : 2 * k + 2]
                for k, K in enumerate(kernels)
            ]
        )
        expected = np.tensordot(chosen.weights, answers, axes=1)
        assert_allclose(nested.outputs[block], expected, rtol=0, atol=1e-7)
        assert_allclose(nested.baseline[block], answers[chosen.baseline], atol=1e-7)


class TestChoose:
    def test_the_useful_kernel_wins(self, rng):
        kernels, labeled, pool = problem(rng, 40, few=False)
        models = models_of(kernels, labeled.Y, np.arange(40))
        losses = _losses.held_out_losses(models, labeled, drawn(labeled))
        chosen = _weights.choose(losses, labeled, pool, np.random.RandomState(0))
        assert_allclose(chosen.weights.sum(), 1)
        shares = chosen.weights.reshape(3, 2).sum(axis=1)
        assert shares.argmax() == 0
        assert chosen.baseline in (0, 1, 4, 5)

    @pytest.mark.parametrize("few", [True, False])
    @pytest.mark.parametrize("regression", [True, False])
    def test_the_baseline_has_the_share_that_held_out_rows_give_it(
        self, rng, few, regression
    ):
        """Little where it is noise, most of it where all others are."""
        kernels, labeled, pool = problem(rng, 40, few=few)
        if regression:
            labeled = replace(labeled, codes=np.zeros(40, int), regression=True)
        useful, noise = kernels[:2]
        shares = []
        for baseline, other in ((noise, useful), (useful, noise)):
            models = models_of([baseline, other, other], labeled.Y, np.arange(40))
            own = pool._replace(
                supervised=np.repeat([True, False, False], 2),
                insurance=np.repeat([0.0, 0.0, 0.5], 2),  # as for tables
            )
            losses = _losses.held_out_losses(models, labeled, drawn(labeled))
            chosen = _weights.choose(losses, labeled, own, np.random.RandomState(0))
            assert chosen.baseline in (0, 1)
            assert_allclose(chosen.weights.sum(), 1)
            shares.append(chosen.weights[:2].sum())
        assert shares[0] < 0.3
        assert shares[1] > 0.7

    def test_likelihoods_of_normal_residuals_by_hand(self, rng):
        squared, weights = rng.random((3, 7)), rng.random((2, 7))
        found = _weights.normal_likelihoods([squared, squared], weights)
        by_hand = [
            [
                -3.5 * np.log(sum(v * s for v, s in zip(w, row, strict=True)))
                for row in squared
            ]
            for w in weights
        ]
        assert_allclose(found, by_hand)

    def test_without_evidence_the_fixed_weights(self, rng):
        _, labeled, pool = problem(rng, 10)
        chosen = _weights.choose(None, labeled, pool, np.random.RandomState(0))
        assert_array_equal(chosen.weights, pool.fixed)
        assert pool.supervised[chosen.baseline]

    def test_of_equals_the_smoother(self, rng):
        """The smallest ridge is best by a hair, and the largest is taken."""
        _, labeled, _ = problem(rng, 40, few=False)
        ridges = np.tile([1e-3, 1e-2, 0.1, 1.0, 10.0], 66)
        groups = np.repeat(np.arange(66), 5)
        nobody = np.zeros(330, dtype=bool)
        fixed, insurance = np.full(330, 1 / 330), np.zeros(330)
        pool = _pool.Pool(groups, ridges, nobody, fixed, insurance, ~nobody)
        means = np.add.outer(np.arange(66), 1e-6 * np.arange(5)).ravel()
        log = np.broadcast_to(means[:, None, None], (330, 10, 40))
        outputs = np.zeros((330, 40, 1))
        losses = _losses.Losses(log[:, 0], log[:, 0], log, log, None, outputs)
        chosen = _weights.choose(losses, labeled, pool, np.random.RandomState(0))
        table = chosen.weights.reshape(66, 5)
        assert_allclose(table[:, -1].sum(), 1)
        few = replace(labeled, few=True)
        chosen = _weights.choose(losses, few, pool, np.random.RandomState(0))
        assert_allclose(chosen.weights.reshape(66, 5)[:, 0].sum(), 1)


class TestBlocks:
    def test_single_rows_for_few_labels(self, rng):
        _, labeled, _ = problem(rng, 12)
        blocks = _nested.outer_blocks(labeled, np.random.RandomState(0))
        assert [len(b) for b in blocks] == [1] * 12

    def test_twentieths_for_more(self, rng):
        _, labeled, _ = problem(rng, 60, few=False)
        assert len(_nested.outer_blocks(labeled, np.random.RandomState(0))) == 20

    def test_one_row_of_each_of_many_classes(self, rng):
        _, labeled, _ = problem(rng, 18, n_classes=6)
        blocks = _nested.outer_blocks(labeled, np.random.RandomState(0))
        assert len(blocks) == 3
        for block in blocks:
            assert_array_equal(np.sort(labeled.codes[block]), np.arange(6))


class TestErrors:
    @pytest.mark.parametrize(("hits", "n"), [(0, 10), (3, 10), (10, 10), (7, 90)])
    def test_clopper_pearson(self, hits, n):
        expected = binomtest(hits, n).proportion_ci(0.9, "exact")
        low, high = _errors.binomial_interval(hits / n, n)
        assert_allclose([low, high], [expected.low, expected.high], atol=1e-10)

    def test_paired_interval(self):
        low, high = _errors.paired_interval(0.3, 0.1, 100)
        # Bonett and Price: (31 - 11) / 102 and its deviation.
        p, q = 31 / 102, 11 / 102
        half = 1.6448536269514722 * np.sqrt((p + q - (p - q) ** 2) / 102)
        assert_allclose([low, high], [p - q - half, p - q + half])
        assert_allclose(_errors.paired_interval(0.1, 0.3, 100), [-high, -low])

    def test_held_out_errors_and_doubts_are_counted(self, rng):
        _, labeled, _ = problem(rng, 40, few=False)
        outputs = labeled.Y.copy()
        outputs[:8] *= -1  # a fifth is wrong
        estimate = _errors.expected_error(outputs, labeled, confidence=0.9)
        n, prior = 40 * _tuned.HELD_OUT_WORTH, _tuned.PRIOR_ERRORS
        total = n + _tuned.DOUBT_WORTH + 2 * prior
        counted = 0.2 * n + 0.1 * _tuned.DOUBT_WORTH + prior
        assert_allclose(estimate.value, counted / total)
        trust = _tuned.TRUST * 19 / 20  # of 20 labels in each of two classes
        posterior = beta(trust * counted, trust * (total - counted))
        assert_allclose(posterior.cdf([estimate.low, estimate.high]), [0.05, 0.95])
        alone = _errors.expected_error(outputs, labeled, None)
        assert_allclose(alone.value, (0.2 * n + prior) / (n + 2 * prior))
        no_error = _errors.expected_error(labeled.Y, labeled, confidence=0.9)
        assert no_error.low == 0
        assert no_error.value > 0

    def test_forests_insure_few_labels_of_tables(self, rng):
        kernels, labeled, pool = problem(rng, 10)
        insured = pool._replace(insurance=np.repeat([0.0, 0.0, 0.5], 2))
        models = models_of(kernels, labeled.Y, np.arange(10))
        losses = _losses.held_out_losses(models, labeled, drawn(labeled))
        plain, with_forests = (
            _weights.choose(losses, labeled, p, np.random.RandomState(0)).weights
            for p in (pool, insured)
        )
        assert with_forests[4:].sum() > plain[4:].sum()
        assert_allclose(with_forests.sum(), 1)

    def test_temperature_follows_the_evidence(self, rng):
        _, labeled, _ = problem(rng, 100, few=False)
        sure = _probabilities.best_temperature(labeled.Y, labeled)
        noise = _probabilities.best_temperature(rng.normal(size=(100, 1)), labeled)
        nothing = _probabilities.best_temperature(np.full((100, 1), np.nan), labeled)
        assert noise < nothing == _tuned.USUAL_TEMPERATURE < sure

    @pytest.mark.parametrize(
        "drawn", [(), (_tuned.CAUTIOUS_TEMPERATURE, _tuned.CAUTION)]
    )
    def test_temperature_is_the_best(self, rng, drawn):
        """Against a fine grid of the penalised log-loss, written out."""
        _, labeled, _ = problem(rng, 50, few=False)
        outputs = 0.5 * labeled.Y + rng.normal(size=(50, 1))
        T = np.geomspace(0.25, 256, 4001)
        margins = (outputs * labeled.Y)[:, 0]
        penalised = np.logaddexp(0, -2 * T[:, None] * margins).sum(axis=1)
        usual, pull = drawn or (3.0, 1.0)
        penalised += pull * np.log(T / usual) ** 2
        best = T[penalised.argmin()]
        found = _probabilities.best_temperature(outputs, labeled, *drawn)
        assert abs(np.log2(found / best)) <= 0.13  # half a step of the grid

    def test_probabilities_are_never_certain(self):
        p = _probabilities.probabilities(np.array([[1e6], [-1e6]]), 256.0)
        assert p.min() > 0
        assert p.max() < 1
        assert_allclose(p.sum(axis=1), 1)


class TestHeldOutBlocks:
    @pytest.mark.parametrize("few", [True, False])
    def test_the_same_blocks_without_some_rows(self, rng, few):
        _, labeled, _ = problem(rng, 20, few=few)
        blocks, out = drawn(labeled), np.array([3, 4, 11])
        rest = np.setdiff1d(np.arange(20), out)
        inner = blocks.without(out, labeled.without(out), np.random.RandomState(0))
        assert [list(rest[b]) for b in inner.singles] == [[i] for i in rest]
        for before, after in zip(blocks.many, inner.many, strict=True):
            left = [np.setdiff1d(b, out) for b in before]
            assert [list(rest[b]) for b in after] == [list(b) for b in left if b.size]

    def test_drawn_again_where_nothing_is_left_to_learn_from(self, rng):
        _, labeled, _ = problem(rng, 8)
        halves = [[np.arange(4), np.arange(4, 8)]]
        blocks = drawn(labeled)._replace(many=halves)
        rest = labeled.without(halves[0][0])
        inner = blocks.without(halves[0][0], rest, np.random.RandomState(0))
        assert all(len(some) == 2 for some in inner.many)
