"""Returns, and estimates of the greatest mean."""

# SPDX-License-Identifier: BSD-3-Clause

import numpy as np
import pytest
from numpy.testing import assert_allclose

from fewlabels.reinforcement import (
    MDP,
    average_reward,
    discounted_return,
    double_estimator,
    finite_horizon_return,
    policy_evaluation,
    policy_gain,
    single_estimator,
    weighted_double_estimator,
)
from tests.reinforcement.processes import random_process


class TestReturns:
    def test_definitions(self, rng):
        r = rng.normal(size=(3, 7))
        assert_allclose(finite_horizon_return(r, 4), r[:, :5].sum(axis=1))
        assert_allclose(finite_horizon_return(r, 100), r.sum(axis=1))
        expected = [sum(0.9**t * row[t] for t in range(7)) for row in r]
        assert_allclose(discounted_return(r, 0.9), expected)
        assert_allclose(average_reward(r), r.mean(axis=1))

    def test_a_constant_reward(self):
        assert_allclose(discounted_return(np.full(2000, 3.0), 0.95), 3 / 0.05)
        assert_allclose(policy_evaluation(MDP([[[1.0]]], [3.0], 0.95), [0]), [60.0])

    def test_no_discount_and_no_future(self):
        assert discounted_return([1, 2, 3], 1.0) == 6
        assert discounted_return([1, 2, 3], 0.0) == 1

    @pytest.mark.parametrize("missing", [True, False])
    def test_average_is_the_limit_of_the_discounted_model(self, rng, missing):
        """(1 - gamma) V_gamma approaches the gain as gamma approaches 1."""
        P, R, terminal, available = random_process(
            rng, n_terminal=int(missing), missing=missing
        )
        policy = np.where(available, 1.0, 0.0)
        policy /= policy.sum(axis=1, keepdims=True)
        gain = policy_gain(MDP(P, R, 0.5, terminal=terminal), policy)
        errors = []
        for gap in (1e-3, 1e-5):
            mdp = MDP(P, R, 1 - gap, terminal=terminal)
            errors.append(np.abs(gap * policy_evaluation(mdp, policy) - gain).max())
        assert errors[1] < 1e-3
        assert errors[1] < errors[0] / 10

    def test_gain_of_several_classes(self):
        """State 0 ends in one of two classes, one of them a cycle."""
        P = np.zeros((4, 1, 4))
        P[0, 0] = [0.2, 0.2, 0.6, 0.0]
        P[1, 0, 1] = P[2, 0, 3] = P[3, 0, 2] = 1.0
        mdp = MDP(P, [7.0, 4.0, 0.0, 2.0], 0.9)
        assert_allclose(policy_gain(mdp, [0] * 4), [0.25 * 4 + 0.75 * 1, 4, 1, 1])

    def test_wrong_input(self):
        with pytest.raises(ValueError, match="horizon must be"):
            finite_horizon_return([1.0], -1)
        with pytest.raises(ValueError, match="gamma must be"):
            discounted_return([1.0], 1.1)
        with pytest.raises(ValueError, match="at least one reward"):
            average_reward([])


class TestEstimators:
    def test_definitions(self):
        samples = [[1.0, 3.0], [4.0, 0.0, 5.0]]
        assert single_estimator(samples) == 3.0
        assert double_estimator([[2.0, 2.0], [1.0, 1.0]]) == 2.0

    def bias(self, means, estimator, rng, repeats=1000, n=20):
        draws = rng.normal(size=(repeats, len(means), n)) + np.asarray(means)[:, None]
        errors = np.array([estimator(d) for d in draws]) - max(means)
        return errors.mean(), errors.std() / np.sqrt(repeats)

    def test_equal_means(self):
        """The single estimate is too great, the double one right on average."""
        rng = np.random.default_rng(0)
        means = [0.0] * 6
        single, error = self.bias(means, single_estimator, rng)
        assert single > 10 * error
        # The expected maximum of six normal means of 20 samples.
        assert abs(single - 1.2672 / np.sqrt(20)) < 4 * error
        double, error = self.bias(
            means, lambda d: double_estimator(d, random_state=0), rng
        )
        assert abs(double) < 4 * error

    def test_different_means(self):
        """The double estimate is too small, the weighted one lies between."""
        rng = np.random.default_rng(1)
        means = [0.0, -0.1, -0.2, -0.3]
        found = {}
        for name, estimator in [
            ("single", single_estimator),
            ("double", lambda d: double_estimator(d, random_state=0)),
            ("weighted", lambda d: weighted_double_estimator(d, random_state=0)),
        ]:
            bias, error = self.bias(means, estimator, rng)
            assert abs(bias) > 5 * error
            found[name] = bias
        assert found["double"] < 0 < found["single"]
        assert found["double"] < found["weighted"]

    def test_limits_of_the_weight(self, rng):
        samples = rng.normal(size=(5, 8))
        at = {"random_state": 3}
        double = double_estimator(samples, **at)
        assert weighted_double_estimator(samples, c=np.inf, **at) == double
        # c = 0: the half that chose speaks for itself, a greatest sample mean.
        single = weighted_double_estimator(samples, c=0.0, **at)
        assert single >= double
        assert_allclose(
            weighted_double_estimator(samples, c=1e-12, **at), single, rtol=1e-6
        )

    def test_wrong_input(self):
        with pytest.raises(ValueError, match="at least one variable"):
            single_estimator([])
        with pytest.raises(ValueError, match=r"samples\[1\]"):
            double_estimator([[1.0, 2.0], [1.0]])
        with pytest.raises(ValueError, match="c must be"):
            weighted_double_estimator([[1.0, 2.0]], c=-1)
