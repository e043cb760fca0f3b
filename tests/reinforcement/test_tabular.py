"""Sarsa, Q-learning, double and weighted double Q-learning."""

# SPDX-License-Identifier: BSD-3-Clause

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from fewlabels.reinforcement import (
    MDP,
    DoubleQLearningAgent,
    GridWorld,
    QLearningAgent,
    SarsaAgent,
    Schedule,
    TabularEnv,
    WeightedDoubleQLearningAgent,
    evaluate,
    make_maximization_bias,
    policy_evaluation,
    train,
    value_iteration,
)
from tests.reference.reinforcement import SlowLearner, run, table
from tests.reinforcement.processes import TWO_STATES, random_env, two_states

AGENTS = [
    SarsaAgent,
    QLearningAgent,
    DoubleQLearningAgent,
    WeightedDoubleQLearningAgent,
]
CONVERGING = Schedule("power", 1.0, rate=0.8)


class Plain:
    """Hides the tables of an environment, so that training goes step by step."""

    def __init__(self, env):
        self.env = env
        self.observation_space, self.action_space = (
            env.observation_space,
            env.action_space,
        )

    @property
    def unwrapped(self):
        return self.env

    def reset(self, **kwargs):
        return self.env.reset(**kwargs)

    def step(self, action):
        return self.env.step(action)


def exploring(Agent, env, n_steps, **kwargs):
    """Learn from random behaviour with step sizes that make values converge."""
    agent = Agent(**{"alpha": CONVERGING, "epsilon": 1.0, "random_state": 0} | kwargs)
    train(agent, env, n_steps=n_steps, seed=0)
    return agent


class TestTheLoop:
    @settings(max_examples=30)
    @given(
        st.integers(0, 10_000),
        st.sampled_from(AGENTS),
        st.sampled_from(["normal", "two-point"]),
        st.sampled_from(["reward", "penalty"]),
        st.booleans(),
    )
    def test_against_the_slow_twin(self, seed, Agent, noise, objective, by_visits):
        """The same draws, the same tables, the same episodes."""
        rng = np.random.default_rng(seed)
        env = random_env(rng, reward_noise=0.1 * (seed % 3), noise=noise)
        alpha, epsilon = CONVERGING, Schedule("exponential", 0.9, end=0.1, rate=40)
        more = {"c": 0.5 * (seed % 4)} if Agent is WeightedDoubleQLearningAgent else {}
        agent = Agent(
            alpha=alpha,
            epsilon=epsilon,
            gamma=0.9,
            explore_by="visits" if by_visits else "steps",
            initial=float(seed % 2),
            objective=objective,
            random_state=seed,
            **more,
        )
        history = train(agent, env, n_episodes=20, seed=seed)

        rule = {SarsaAgent: "sarsa", QLearningAgent: "q"}.get(Agent, "double")
        slow = SlowLearner(
            rule,
            env.tables.available,
            alpha,
            epsilon,
            0.9,
            more.get("c", math.inf),
            1.0 if objective == "reward" else -1.0,
            by_visits,
            float(seed % 2),
            np.random.default_rng(seed),
        )
        P = env.tables.transitions.toarray().reshape(4, 3, 4)
        R = env.tables.transitions.copy()
        R.data = env.tables.rewards
        returns, lengths = run(
            slow,
            P,
            R.toarray().reshape(4, 3, 4),
            env.reward_noise.reshape(4, 3),
            noise == "two-point",
            env.tables.terminal,
            env.start,
            env.max_steps,
            20,
            np.random.default_rng(np.random.SeedSequence(seed)),
        )
        assert_array_equal(history.lengths, lengths)
        assert_allclose(history.returns, returns, atol=1e-12)
        for i, (Q, N) in enumerate(zip(slow.tables, slow.counts, strict=True)):
            assert_allclose(agent.q_tables_[i], table(Q, (4, 3)), atol=1e-12)
            assert_array_equal(agent.counts_[i], table(N, (4, 3)))

    @pytest.mark.parametrize("Agent", AGENTS)
    def test_step_by_step_is_the_same(self, Agent, rng, global_random_seed):
        env = random_env(rng, reward_noise=0.3)
        found = []
        for way in (env, Plain(env)):
            agent = Agent(epsilon=0.3, random_state=global_random_seed)
            history = train(agent, way, n_episodes=30, seed=global_random_seed)
            found.append((agent, history))
        (one, history_one), (two, history_two) = found
        assert_array_equal(one.q_tables_, two.q_tables_)
        assert_array_equal(history_one.returns, history_two.returns)
        assert one.rng_.bit_generator.state == two.rng_.bit_generator.state
        assert one.n_steps_ == two.n_steps_ == history_one.n_steps

    def test_missing_actions_are_never_taken(self):
        env = make_maximization_bias()
        for Agent in AGENTS:
            agent = exploring(Agent, env, 3000)
            assert not agent.counts_[:, 0, 2:].any()
            assert agent.policy_[0] in (0, 1)


class TestQLearning:
    def test_sweeps_with_full_steps_are_value_iteration(self, rng):
        """A deterministic process: alpha = 1, all pairs of one sweep from one table."""
        n_states, n_actions, gamma = 5, 2, 0.8
        following = rng.integers(n_states, size=(n_states, n_actions))
        R = rng.normal(size=(n_states, n_actions))
        P = np.eye(n_states)[following]
        mdp = MDP(P, R, gamma)
        env = TabularEnv(P, R)
        agent = QLearningAgent(alpha=1.0, gamma=gamma, random_state=0).begin(env)
        V = np.zeros(n_states)
        for _ in range(15):
            # Synchronous: every update reads the values of the sweep before.
            frozen = agent.q_tables_.copy()
            updated = np.empty_like(frozen)
            for s, a in np.ndindex(n_states, n_actions):
                agent.q_tables_[:] = frozen
                agent.step(s, a, R[s, a], following[s, a], False)
                updated[0, s, a] = agent.q_tables_[0, s, a]
            agent.q_tables_[:] = updated
            assert_array_equal(agent.q_values_, mdp.q_values(V))
            V = agent.q_values_.max(axis=1)

    def test_converges_to_the_optimal_values(self):
        env = TabularEnv(*TWO_STATES, max_steps=1000)
        agent = exploring(QLearningAgent, env, 400_000, gamma=0.5)
        exact = value_iteration(two_states(0.5), tol=1e-10).q_values
        assert_allclose(agent.q_values_, exact, atol=0.1)

    def test_frozen_lake(self):
        gymnasium = pytest.importorskip("gymnasium")
        lake = gymnasium.make("FrozenLake-v1")
        tables = TabularEnv.from_gymnasium(lake).tables
        live = ~tables.terminal
        # Random walks hardly ever come near the goal: begin anywhere.
        rewards = MDP.from_gymnasium(lake, 0.9).rewards
        env = TabularEnv(
            tables.transitions, rewards, terminal=~live, start=live / live.sum()
        )
        agent = exploring(QLearningAgent, env, 2_000_000, gamma=0.9)
        exact = value_iteration(MDP.from_gymnasium(lake, 0.9)).q_values
        assert_allclose(agent.q_values_[live], exact[live], atol=0.02)

    @pytest.mark.parametrize("Agent", AGENTS)
    def test_penalties_are_negative_rewards(self, Agent, rng):
        """Minimising costs is maximising their negatives, bit by bit."""
        seed = int(rng.integers(1000))
        env = random_env(np.random.default_rng(seed))
        mirrored = TabularEnv(
            env.tables.transitions,
            -(env.mdp(0.5).rewards),
            terminal=env.tables.terminal,
            available=env.tables.available,
            start=env.start,
            max_steps=20,
        )
        plain = TabularEnv(
            env.tables.transitions,
            env.mdp(0.5).rewards,
            terminal=env.tables.terminal,
            available=env.tables.available,
            start=env.start,
            max_steps=20,
        )
        for_reward = Agent(random_state=0)
        for_penalty = Agent(objective="penalty", random_state=0)
        one = train(for_reward, plain, n_episodes=50, seed=0)
        two = train(for_penalty, mirrored, n_episodes=50, seed=0)
        assert_array_equal(for_penalty.q_tables_, -for_reward.q_tables_)
        assert_array_equal(for_penalty.policy_, for_reward.policy_)
        assert_array_equal(two.returns, -one.returns)

    def test_terminal_states_are_worth_nothing(self):
        env = GridWorld(["SG"], goal_reward=2.0)
        agent = QLearningAgent(alpha=1.0, initial=50.0, random_state=0).begin(env)
        assert agent.step(0, 1, 2.0, 1, True) is None
        assert agent.q_values_[0, 1] == 2.0
        # Cut by a limit of time, what could follow counts.
        agent.step(0, 1, 2.0, 1, False, True)
        assert agent.q_values_[0, 1] == 2.0 + 0.99 * 50


class TestSarsa:
    def test_greedy_behaviour_makes_the_updates_of_q_learning(self, rng):
        env = random_env(rng)
        sarsa = SarsaAgent(epsilon=0.0, random_state=0).begin(env)
        q = QLearningAgent(random_state=0).begin(env)
        # Values without ties, so that greedy is unambiguous.
        sarsa.q_tables_[:] = rng.normal(size=sarsa.q_tables_.shape)
        q.q_tables_[:] = sarsa.q_tables_
        state, _ = env.reset(seed=0)
        action = sarsa.act(state)
        for _ in range(200):
            following, reward, terminated, truncated, _ = env.step(action)
            transition = (state, action, reward, following, terminated, truncated)
            action = sarsa.step(*transition)
            q.step(*transition)
            assert_array_equal(sarsa.q_tables_, q.q_tables_)
            state = following
            if action is None:
                state, _ = env.reset()
                action = sarsa.act(state)

    def test_converges_to_the_values_of_its_own_policy(self):
        """Behaviour is uniform: its values, not those of the best policy."""
        env = TabularEnv(*TWO_STATES, max_steps=1000)
        agent = exploring(SarsaAgent, env, 400_000, gamma=0.5)
        mdp = two_states(0.5)
        V = policy_evaluation(mdp, np.full((2, 2), 0.5))
        assert_allclose(agent.q_values_, mdp.q_values(V), atol=0.1)

    def test_the_cliff(self):
        """Sarsa learns a detour, Q-learning to walk along the edge and to fall."""
        env = GridWorld("cliff")
        sarsa = SarsaAgent(gamma=1.0, random_state=0)
        q = QLearningAgent(gamma=1.0, random_state=0)
        online = [
            train(agent, env, n_episodes=5000, seed=0).returns[-1000:].mean()
            for agent in (sarsa, q)
        ]
        assert evaluate(sarsa, env, n_episodes=1)[0] < -13
        assert evaluate(q, env, n_episodes=1)[0] == -13
        assert online[0] > online[1] + 10


class TestDouble:
    def test_an_update_moves_one_table_only(self, rng):
        env = random_env(rng)
        agent = DoubleQLearningAgent(random_state=0).begin(env)
        agent.q_tables_[:] = rng.normal(size=agent.q_tables_.shape)
        moved = []
        for _ in range(100):
            before = agent.q_tables_.copy()
            agent.step(0, 1, rng.normal(), 1, False)
            changed = np.argwhere(agent.q_tables_ != before)
            assert len(changed) == 1
            assert_array_equal(changed[0, 1:], [0, 1])
            moved.append(changed[0, 0])
        assert 25 < sum(moved) < 75

    def test_values_can_fall(self):
        """As printed, with the error for a step size, they never could."""
        env = GridWorld(["SG"])
        agent = DoubleQLearningAgent(initial=10.0, random_state=0).begin(env)
        for _ in range(500):
            agent.step(0, 1, -1.0, 1, True)
        assert_allclose(agent.q_tables_[:, 0, 1], -1.0, atol=1e-6)

    @pytest.mark.parametrize(
        "Agent", [DoubleQLearningAgent, WeightedDoubleQLearningAgent]
    )
    def test_converges_to_the_optimal_values(self, Agent):
        env = TabularEnv(*TWO_STATES, max_steps=1000)
        agent = exploring(Agent, env, 600_000, gamma=0.5)
        exact = value_iteration(two_states(0.5), tol=1e-10).q_values
        for Q in agent.q_tables_:
            assert_allclose(Q, exact, atol=0.15)

    def test_the_tables_are_exchangeable(self):
        """The same law for both: over many runs, no difference in the mean."""
        env = make_maximization_bias()
        gaps = []
        for seed in range(200):
            agent = DoubleQLearningAgent(epsilon=0.5, random_state=seed)
            train(agent, env, n_episodes=50, seed=seed)
            gaps.append(agent.q_tables_[0, 1].mean() - agent.q_tables_[1, 1].mean())
        assert abs(np.mean(gaps)) < 4 * np.std(gaps) / np.sqrt(len(gaps))

    def test_the_maximisation_bias(self):
        """Q-learning goes left for long, double Q-learning hardly."""
        env = make_maximization_bias()
        left = {}
        for name, Agent, more in [
            ("single", QLearningAgent, {}),
            ("double", DoubleQLearningAgent, {}),
            ("weighted", WeightedDoubleQLearningAgent, {"c": 0.1}),
        ]:
            share = [
                train(
                    Agent(gamma=1.0, random_state=seed, **more),
                    env,
                    n_episodes=100,
                    seed=seed,
                ).lengths[50:]
                == 2
                for seed in range(200)
            ]
            left[name] = np.mean(share)
        assert left["double"] < left["weighted"] < left["single"]
        assert left["single"] > 0.5 > 0.3 > left["double"]


class TestWeighted:
    def test_infinity_is_double_q_learning(self, rng, global_random_seed):
        env = random_env(rng, reward_noise=0.5)
        at = {"random_state": global_random_seed}
        weighted = WeightedDoubleQLearningAgent(c=np.inf, **at)
        double = DoubleQLearningAgent(**at)
        one = train(weighted, env, n_episodes=50, seed=global_random_seed)
        two = train(double, env, n_episodes=50, seed=global_random_seed)
        assert_array_equal(weighted.q_tables_, double.q_tables_)
        assert_array_equal(one.returns, two.returns)
        large = WeightedDoubleQLearningAgent(c=1e15, **at)
        train(large, env, n_episodes=50, seed=global_random_seed)
        assert_allclose(large.q_tables_, double.q_tables_, atol=1e-9)

    def test_zero_is_two_q_learners(self, rng):
        """Each table is an ordinary Q-learner on its own half of the steps."""
        env = random_env(rng)
        agent = WeightedDoubleQLearningAgent(c=0.0, gamma=0.9, random_state=0)
        agent.begin(env)
        learners = [QLearningAgent(gamma=0.9).begin(env) for _ in range(2)]
        state, _ = env.reset(seed=0)
        action = agent.act(state)
        for _ in range(300):
            following, reward, terminated, truncated, _ = env.step(action)
            counts = agent.counts_.sum(axis=(1, 2))
            transition = (state, action, reward, following, terminated, truncated)
            action = agent.step(*transition)
            which = int(np.argmax(agent.counts_.sum(axis=(1, 2)) - counts))
            learners[which].step(*transition)
            state = following
            if action is None:
                state, _ = env.reset()
                action = agent.act(state)
        for Q, learner in zip(agent.q_tables_, learners, strict=True):
            assert_array_equal(Q, learner.q_values_)

    def test_no_division_by_zero(self):
        env = GridWorld(["S..G"])
        agent = WeightedDoubleQLearningAgent(c=0.0, random_state=0)
        train(agent, env, n_episodes=20, seed=0)
        assert np.isfinite(agent.q_tables_).all()


class TestInput:
    def test_spaces(self):
        gymnasium = pytest.importorskip("gymnasium")
        with pytest.raises(ValueError, match="finitely many states"):
            QLearningAgent().begin(gymnasium.make("CartPole-v1"))
        with pytest.raises(ValueError, match="action space"):
            QLearningAgent().begin(gymnasium.make("Pendulum-v1"))

    @pytest.mark.parametrize(
        "change",
        [
            {"gamma": 1.5},
            {"alpha": -0.1},
            {"objective": "regret"},
            {"explore_by": "luck"},
            {"random_state": "zero"},
        ],
    )
    def test_parameters(self, change):
        with pytest.raises(ValueError, match=next(iter(change))):
            QLearningAgent(**change).begin(GridWorld("lake"))

    def test_one_state_and_one_action(self):
        env = TabularEnv([[[1.0]]], [1.0], max_steps=50)
        for Agent in AGENTS:
            agent = Agent(alpha=0.5, gamma=0.5, random_state=0)
            train(agent, env, n_episodes=10, seed=0)
            assert_allclose(agent.q_values_, 2.0, rtol=1e-6)

    def test_greedy_choices_use_no_draws(self):
        agent = QLearningAgent(random_state=0).begin(GridWorld("lake"))
        before = agent.rng_.bit_generator.state
        assert agent.act(0, explore=False) == 0
        assert agent.act(0, mask=[0, 0, 1, 1], explore=False) == 2
        assert agent.rng_.bit_generator.state == before
