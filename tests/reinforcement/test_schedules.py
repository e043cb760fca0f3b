"""Schedules of step sizes and exploration."""

# SPDX-License-Identifier: BSD-3-Clause

import pytest
from numpy.testing import assert_allclose

from fewlabels._loops.reinforcement import schedule_value
from fewlabels.reinforcement import QLearningAgent, Schedule, make_maximization_bias
from tests.reference.reinforcement import scheduled

SCHEDULES = [
    Schedule("constant", 0.3),
    Schedule("power", 1.0, rate=0.8),
    Schedule("power", 0.9, end=0.2, rate=0.5),
    Schedule("linear", 1.0, end=0.1, rate=50),
    Schedule("exponential", 0.8, end=0.1, rate=30),
]


@pytest.mark.parametrize("schedule", SCHEDULES, ids=lambda s: s.kind)
def test_three_ways_to_compute_it(schedule):
    for n in (1, 2, 3, 50, 51, 1000):
        expected = scheduled(schedule, n)
        assert schedule(n) == expected
        assert schedule_value(schedule.as_array(), n) == expected


def test_the_conditions_for_convergence():
    """The sum grows without bound, that of the squares does not."""
    alpha = Schedule("power", 1.0, rate=0.8)
    values = [alpha(n) for n in range(1, 20_001)]
    assert_allclose(sum(values), 5 * 20_000**0.2, rtol=0.15)
    tail = sum(v**2 for v in values[10_000:])
    assert tail < 0.01


def test_ends():
    epsilon = Schedule("linear", 1.0, end=0.1, rate=10)
    assert (epsilon(1), epsilon(11), epsilon(10**9)) == (1.0, 0.1, 0.1)
    assert Schedule("power", 1.0, end=0.25, rate=1.0)(1000) == 0.25


def test_wrong_schedules():
    with pytest.raises(ValueError, match="kind='cosine' is unknown"):
        Schedule("cosine", 1.0)
    with pytest.raises(ValueError, match="rate must be"):
        Schedule("power", 1.0, rate=0.0)
    with pytest.raises(ValueError, match="falls"):
        Schedule("power", 0.1, end=0.5)
    env = make_maximization_bias()
    with pytest.raises(ValueError, match=r"alpha must stay in \[0, 1\]"):
        QLearningAgent(alpha=Schedule("linear", 2.0, rate=10)).begin(env)
    with pytest.raises(ValueError, match="epsilon"):
        QLearningAgent(epsilon="often").begin(env)
