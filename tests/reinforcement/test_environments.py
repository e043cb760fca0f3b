"""Environments in tables."""

# SPDX-License-Identifier: BSD-3-Clause

import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from fewlabels.reinforcement import (
    DiscreteSpace,
    GridWorld,
    QLearningAgent,
    TabularEnv,
    make_maximization_bias,
    make_noisy_grid,
    policy_iteration,
    train,
    value_iteration,
)
from tests.reinforcement.processes import random_process


class TestTabularEnv:
    @pytest.mark.parametrize("noise", ["normal", "two-point"])
    def test_frequencies_and_rewards(self, noise):
        rng = np.random.default_rng(0)
        P, R, terminal, available = random_process(rng)
        env = TabularEnv(
            P,
            R,
            terminal=terminal,
            available=available,
            start=[0.25, 0.5, 0.25, 0],
            reward_noise=0.5,
            noise=noise,
        )
        starts = np.zeros(4)
        counts, rewards, squares = np.zeros((3, 4))
        env.reset(seed=1)
        n = 4000
        for _ in range(n):
            state, _ = env.reset()
            starts[state] += 1
            env._state = 1
            following, reward, ended, truncated, _ = env.step(2)
            assert ended == (following == 3)
            assert not truncated
            counts[following] += 1
            rewards[following] += reward - R[1, 2, following]
            squares[following] += (reward - R[1, 2, following]) ** 2
        error = np.sqrt(P[1, 2] * (1 - P[1, 2]) / n)
        assert (np.abs(counts / n - P[1, 2]) <= 4 * error).all()
        assert_allclose(starts / n, [0.25, 0.5, 0.25, 0], atol=0.03)
        assert abs(rewards.sum() / n) < 4 * 0.5 / np.sqrt(n)
        assert_allclose(squares.sum() / n, 0.25, rtol=0.1)

    def test_the_seed_decides(self):
        env = GridWorld("cliff", slip=0.5, reward_noise=1.0)
        walks = []
        for seed in (0, 0, 1):
            env.reset(seed=seed)
            walks.append([env.step(1)[:2] for _ in range(20)])
        assert walks[0] == walks[1] != walks[2]

    def test_truncation(self):
        env = GridWorld(["S.."], max_steps=3)
        env.reset(seed=0)
        assert [env.step(3)[3] for _ in range(3)] == [False, False, True]

    def test_the_mask_tells_what_is_missing(self):
        env = make_maximization_bias(n_actions=4)
        state, info = env.reset(seed=0)
        assert_array_equal(info["action_mask"], [1, 1, 0, 0])
        with pytest.raises(ValueError, match="not available"):
            env.step(2)
        state, _, _, _, info = env.step(0)
        assert state == 1
        assert_array_equal(info["action_mask"], [1, 1, 1, 1])
        env.step(3)
        with pytest.raises(ValueError, match="call reset"):
            env.step(0)
        env.reset()
        with pytest.raises(ValueError, match="not in DiscreteSpace"):
            env.step(-1)

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            ({"start": 2}, "one of the 2 states"),
            ({"start": [0.5, 0.4]}, "one probability"),
            ({"start": 1}, "terminal"),
            ({"noise": "cauchy"}, "noise=.cauchy. is unknown"),
            ({"reward_noise": -1.0}, "reward_noise"),
            ({"max_steps": 0}, "max_steps"),
        ],
    )
    def test_wrong_input(self, change, message):
        with pytest.raises(ValueError, match=message):
            TabularEnv([[[0, 1]], [[0, 1]]], [1.0, 0.0], terminal=[1], **change)


class TestGridWorld:
    def test_moves_and_walls(self):
        env = GridWorld(["S.", "#G"])
        assert_array_equal(env.cells, [[0, 0], [0, 1], [1, 1]])
        moved = env.tables.transitions.toarray().reshape(3, 4, 3).argmax(axis=2)
        assert_array_equal(moved[0], [0, 1, 0, 0])  # up, right, down, left
        assert_array_equal(moved[1], [1, 1, 2, 0])

    def test_slipping(self):
        env = GridWorld(["...", ".S.", "..G"], slip=0.2)
        found = env.tables.transitions.toarray().reshape(9, 4, 9)[4, 0]
        assert_allclose(found, [0, 0.8, 0, 0.1, 0, 0.1, 0, 0, 0])

    def test_cliff_and_holes(self):
        env = GridWorld(["SX", "H."], pit_reward=-7.0)
        mdp = env.mdp(0.9)
        assert_array_equal(mdp.terminal, [False, True, False])
        # Right falls back to the start, down into the hole, up and left stay.
        assert_array_equal(mdp.rewards[0], [-1, -7, -7, -1])
        assert env.tables.transitions[[1]].toarray()[0, 0] == 1

    def test_cliff_walk(self):
        solution = policy_iteration(GridWorld("cliff").mdp(1 - 1e-9))
        env = GridWorld("cliff")
        assert_allclose(solution.values[env._number[3, 0]], -13, atol=1e-5)

    def test_pictures(self):
        env = GridWorld(["S#G"])
        assert env.render_policy([1, 0]) == "→#G"
        assert_array_equal(env.render_values([1.5, 2.0]), [[1.5, np.nan, 2.0]])

    @pytest.mark.parametrize(
        ("layout", "message"),
        [
            ("maze", "unknown; use"),
            (["S.", "."], "all of one length"),
            ([], "at least one row"),
            (["S?"], "unknown signs"),
            (["..G"], "needs a start"),
        ],
    )
    def test_wrong_maps(self, layout, message):
        with pytest.raises(ValueError, match=message):
            GridWorld(layout)
        with pytest.raises(ValueError, match="slip"):
            GridWorld("cliff", slip=2.0)


def test_examples_of_the_literature():
    bias = make_maximization_bias(mean=-0.1).mdp(0.9)
    solution = value_iteration(bias)
    assert_allclose(solution.q_values[0, :2], [-0.09, 0.0], atol=1e-12)
    assert (solution.q_values[0, 2:] == -np.inf).all()
    grid = make_noisy_grid()
    # Four steps of mean -1, then 5 in the goal.
    expected = -(1 + 0.95 + 0.95**2 + 0.95**3) + 5 * 0.95**4
    assert_allclose(value_iteration(grid.mdp(0.95)).values[6], expected, atol=1e-6)
    rewards = {grid.reset(seed=0) and grid.step(0)[1] for _ in range(1)}
    rewards |= {grid.step(0)[1] for _ in range(50)}
    assert rewards == {-12.0, 10.0}
    with pytest.raises(ValueError, match="n_actions"):
        make_maximization_bias(n_actions=1)
    with pytest.raises(ValueError, match="size"):
        make_noisy_grid(size=1)


class TestGymnasium:
    def test_a_true_environment(self):
        pytest.importorskip("gymnasium")
        from gymnasium import Env
        from gymnasium.utils.env_checker import check_env
        from gymnasium.wrappers import TimeLimit

        env = GridWorld("lake", slip=0.3).to_gymnasium()
        assert isinstance(env, Env)
        check_env(env, skip_render_check=True)
        limited = TimeLimit(env, 5)
        limited.reset(seed=0)
        assert not any(limited.step(0)[3] for _ in range(4))
        assert limited.step(0)[3]

    def test_the_copy_of_a_table(self):
        gymnasium = pytest.importorskip("gymnasium")
        lake = gymnasium.make("FrozenLake-v1")
        env = TabularEnv.from_gymnasium(lake, max_steps=100)
        assert (env.observation_space.n, env.action_space.n) == (16, 4)
        assert env.reset(seed=0) == (0, {})
        taxi = TabularEnv.from_gymnasium(gymnasium.make("Taxi-v4"))
        assert_allclose(taxi.start.sum(), 1.0)
        assert np.count_nonzero(taxi.start) == 300
        # The end is a state of its own: some states only end an episode by one way.
        assert_array_equal(np.flatnonzero(taxi.tables.terminal), [500])
        solution = policy_iteration(taxi.mdp(0.99))
        # Every start is solvable: 20 at the end, at most 18 steps.
        assert solution.values[np.flatnonzero(taxi.start)].min() > 0

    def test_nothing_needs_gymnasium(self, monkeypatch):
        """With gymnasium made unimportable, the grid world still trains."""
        monkeypatch.setitem(sys.modules, "gymnasium", None)
        env = GridWorld("cliff")
        history = train(QLearningAgent(random_state=0), env, n_episodes=3, seed=0)
        assert history.n_episodes == 3
        with pytest.raises(ImportError, match=r"fewlabels\[reinforcement\]"):
            env.to_gymnasium()


def test_spaces():
    space = DiscreteSpace(3)
    assert repr(space) == "DiscreteSpace(3)"
    assert [space.contains(x) for x in (0, 2, 3, -1, 1.0, np.int64(1))] == [
        True,
        True,
        False,
        False,
        False,
        True,
    ]
    env = GridWorld("lake")
    assert env.unwrapped is env
    env.close()
    train(QLearningAgent(random_state=0), env, n_steps=10, seed=0)
    assert env.tables.terminal.sum() == 5
