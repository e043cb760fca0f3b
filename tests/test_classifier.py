"""Votes and weights that rounding errors do not decide."""

# SPDX-License-Identifier: BSD-3-Clause

from itertools import permutations

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal

from fewlabels._classifier import exact_weights, vote_of


class Voter:
    """A classifier of three classes that says what it is told to."""

    classes_ = np.array([0, 2, 3])

    def __init__(self, proba, codes):
        self.proba, self.codes = np.array(proba), np.array(codes)

    def predict_proba(self, X):
        return self.proba

    def predict(self, X):
        return self.codes


def test_the_first_of_equally_probable_classes_gets_the_vote():
    proba = [[0.4, 0.4 + 1e-12, 0.2], [0.1, 0.45, 0.45], [0.4, 0.41, 0.19]]
    assert_array_equal(vote_of(Voter(proba, [2, 3, 2]), None), [0, 2, 2])


def test_predictions_by_another_rule_stand():
    proba = [[0.5, 0.5 - 1e-12, 0.0], [0.6, 0.3, 0.1]]
    assert_array_equal(vote_of(Voter(proba, [3, 2]), None), [3, 2])


def test_sums_of_weights_do_not_depend_on_the_order():
    weights = np.array([0.1, 0.3, 1e-9, 0.7, 2.9])
    exact = exact_weights(weights)
    assert len({sum(order) for order in permutations(weights)}) > 1
    assert len({sum(order) for order in permutations(exact)}) == 1
    assert_allclose(exact, weights, rtol=1e-6)
