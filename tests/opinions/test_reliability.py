"""How far sources are trusted: recovery of the truth, and exact small cases."""

# SPDX-License-Identifier: BSD-3-Clause

import numpy as np
import pytest
from scipy.special import expit, softmax

from fewlabels.opinions import learn_reliability, read_opinions, source_reports
from fewlabels.opinions._reliability import SPREAD, THETAS, _fit_of_others, _tilted


def noisy(y, accuracy, rng, cover=1.0):
    n_classes = y.max() + 1
    other = (y + rng.integers(1, n_classes, y.size)) % n_classes
    said = np.where(rng.random(y.size) < accuracy, y, other)
    return np.where(rng.random(y.size) < cover, said, -1)


def drawn(rng, n=3000, shares=(0.6, 0.3, 0.1)):
    return rng.choice(len(shares), n, p=shares)


def test_without_labels_accuracies_are_recovered():
    rng = np.random.default_rng(0)
    y = drawn(rng)
    made = {"a": 0.6, "b": 0.75, "c": 0.9, "d": 0.7}
    opinions = read_opinions({k: noisy(y, a, rng) for k, a in made.items()})
    learned = learn_reliability(opinions)
    found = {r.name: r.accuracy for r in source_reports(opinions, learned)}
    for name, accuracy in made.items():
        assert found[name] == pytest.approx(accuracy, abs=0.04)
    np.testing.assert_allclose(learned.shares, [0.6, 0.3, 0.1], atol=0.03)
    error = np.mean(learned.probabilities.argmax(axis=1) != y)
    assert error < np.mean(opinions.said[2] != y)  # better than the best source


def test_consensus_is_as_good_as_the_bayes_rule():
    """With the true matrices, no rule is better; the learned ones lose little."""
    rng = np.random.default_rng(1)
    y = drawn(rng)
    accuracies = [0.7, 0.7, 0.8]
    opinions = read_opinions(
        {str(a) + str(k): noisy(y, a, rng) for k, a in enumerate(accuracies)}
    )
    logits = np.log([0.6, 0.3, 0.1]) + sum(
        np.log(np.where(opinions.said[s][:, None] == np.arange(3), a, (1 - a) / 2))
        for s, a in enumerate(accuracies)
    )
    best = np.mean(logits.argmax(axis=1) != y)
    p = learn_reliability(opinions).probabilities
    assert np.mean(p.argmax(axis=1) != y) < best + 0.01
    assert np.abs(p - softmax(logits, axis=1)).mean() < 0.03


def test_labels_unmask_an_adversary():
    rng = np.random.default_rng(2)
    y = drawn(rng, shares=(0.5, 0.5))
    codes = np.where(np.arange(y.size) < 30, y, -1)
    opinions = read_opinions({"liar": np.where(rng.random(y.size) < 0.85, 1 - y, y)})
    learned = learn_reliability(opinions, codes, most_unlabeled=30)
    (report,) = source_reports(opinions, learned, codes)
    assert report.high < 0.5
    error = np.mean(learned.log_ratios(opinions).argmax(axis=1) != y)
    assert error == pytest.approx(0.15, abs=0.03)


def test_a_rule_that_names_one_class_is_heard():
    rng = np.random.default_rng(3)
    y = drawn(rng, shares=(0.8, 0.2))
    fires = (rng.random(y.size) < np.where(y == 1, 0.5, 0.02)).astype(int)
    codes = np.where(np.arange(y.size) < 600, y, -1)
    opinions = read_opinions({"rule": np.where(fires, 1, -1)}, np.array([0, 1]))
    learned = learn_reliability(opinions, codes, most_unlabeled=600)
    precision = np.mean(y[fires == 1])
    assert learned.precision[0, 1, 1] == pytest.approx(precision, abs=0.06)
    ratios = learned.log_ratios(opinions)
    assert (ratios[fires == 1, 1] > ratios[fires == 1, 0]).all()
    assert not ratios[fires == 0].any()


def test_a_useless_source_says_nothing():
    rng = np.random.default_rng(4)
    y = drawn(rng, shares=(0.7, 0.3))
    codes = np.where(np.arange(y.size) < 200, y, -1)
    opinions = read_opinions({"noise": rng.permutation(y)})
    learned = learn_reliability(opinions, codes, most_unlabeled=0.0)
    assert np.abs(learned.log_ratios(opinions)).max() < 0.4


def test_held_out_evidence_is_that_of_learning_again():
    rng = np.random.default_rng(5)
    y = drawn(rng, 40)
    hints = {"a": noisy(y, 0.7, rng, 0.8), "b": noisy(y, 0.5, rng)}
    opinions = read_opinions(hints, np.arange(3))
    known = np.full((y.size, 3), 1 / 3)
    learned = learn_reliability(opinions, y, known=known, most_unlabeled=0.0)
    found = learned.held_out_log_ratios(opinions, y, np.ones(y.size))
    for row in range(y.size):
        codes = y.copy()
        codes[row] = -1
        again = learn_reliability(opinions, codes, known=known, most_unlabeled=0.0)
        expected = again.log_ratios(opinions)[row]
        np.testing.assert_allclose(found[row], expected, atol=1e-6)


def test_likelihood_of_opinions_is_the_sum_over_classes():
    rng = np.random.default_rng(6)
    shares = np.array([0.5, 0.3, 0.2])
    base = rng.dirichlet(np.ones(3), 20)
    said = rng.integers(0, 3, 20)
    found = _fit_of_others(np.eye(3)[said], base, shares)
    slow = np.zeros(THETAS.size)
    for t, matrix in enumerate(_tilted(shares)):
        for row in range(20):
            slow[t] += np.log(np.sum(base[row] * matrix[said[row]] / shares))
    np.testing.assert_allclose(found, slow, atol=1e-12)


def test_probabilities_are_calibrated_with_few_labels():
    """Posterior means of a single source are right as often as they say."""
    rng = np.random.default_rng(7)
    sure, right = [], []
    for _ in range(150):
        y = rng.integers(0, 2, 60)
        codes = np.where(np.arange(60) < 12, y, -1)
        accuracy = expit(rng.normal(np.log(3), SPREAD))  # as the prior says
        opinions = read_opinions({"a": noisy(y, accuracy, rng)}, np.arange(2))
        known = np.full((60, 2), 0.5)
        learned = learn_reliability(opinions, codes, known=known, most_unlabeled=0.0)
        p = learned.probabilities[12:]
        sure.append(p.max(axis=1).mean())
        right.append(np.mean(p.argmax(axis=1) == y[12:]))
    assert np.mean(sure) == pytest.approx(np.mean(right), abs=0.03)


def test_silence_and_agreement_of_all_are_no_error():
    opinions = read_opinions({"a": [-1, -1], "b": [0, 1]}, np.arange(2))
    learned = learn_reliability(opinions)
    assert np.isfinite(learned.probabilities).all()
    reports = source_reports(opinions, learned)
    assert reports[0].coverage == 0
    assert reports[0].by_class == {}
    same = read_opinions({"a": [0, 0, 0], "b": [0, 0, 0]}, np.arange(2))
    assert learn_reliability(same).probabilities[:, 0].min() > 0.5


def test_a_rule_does_not_move_the_shares_of_the_classes():
    """Without labels, rows that a rule picks out are no sample of all rows."""
    rng = np.random.default_rng(8)
    y = drawn(rng, 1000, shares=(0.35, 0.35, 0.3))
    rule = np.where((y == 2) & (rng.random(1000) < 0.6), 2, -1)
    hints = {"model": noisy(y, 0.85, rng), "rule": rule}
    learned = learn_reliability(read_opinions(hints, np.arange(3)))
    np.testing.assert_allclose(learned.shares, [0.35, 0.35, 0.3], atol=0.06)
    own = np.mean(hints["model"] != y)
    assert np.mean(learned.probabilities.argmax(axis=1) != y) < own + 0.02
