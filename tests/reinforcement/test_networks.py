"""Networks, connectionist and deep Q-learning."""

# SPDX-License-Identifier: BSD-3-Clause

from unittest.mock import Mock

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from fewlabels.exceptions import IgnoredParameterWarning
from fewlabels.reinforcement import (
    ConnectionistQAgent,
    DQNAgent,
    GridWorld,
    QLearningAgent,
    ReplayBuffer,
    SarsaAgent,
    Schedule,
    TabularEnv,
    make_maximization_bias,
    train,
    value_iteration,
)
from fewlabels.reinforcement._networks import ACTIVATIONS, Network, NumpyBackend
from tests.reinforcement.processes import TWO_STATES, random_env, two_states


class Box:
    """What agents need to know of gymnasium's space of that name."""

    def __init__(self, *shape):
        self.shape = shape


class Line:
    """Walk on a line of real numbers: a step of 0.25 to either side, up to 1."""

    def __init__(self):
        self.observation_space = Box(1)
        self.action_space = GridWorld(["SG"]).action_space
        self.unwrapped = self
        self.np_random = np.random.default_rng(0)

    def reset(self, *, seed=None):
        if seed is not None:
            self.np_random = np.random.default_rng(seed)
        self.x, self.t = float(self.np_random.uniform(-0.5, 0.5)), 0
        return np.array([self.x]), {}

    def step(self, action):
        self.x = max(self.x + (0.25 if action % 2 else -0.25), -1.0)
        self.t += 1
        ended = self.x >= 1
        return np.array([self.x]), -1.0, ended, self.t >= 30, {}


def numerical_gradient(function, theta, step=1e-6):
    found = np.empty_like(theta)
    for i in range(theta.size):
        kept = theta[i]
        theta[i] = kept + step
        above = function()
        theta[i] = kept - step
        found[i] = (above - function()) / (2 * step)
        theta[i] = kept
    return found


class TestNetwork:
    @pytest.mark.parametrize("hidden", sorted(ACTIVATIONS))
    @pytest.mark.parametrize("output", ["identity", "sigmoid"])
    @pytest.mark.parametrize("bias", [True, False])
    def test_finite_differences(self, rng, hidden, output, bias):
        network = Network((3, 5, 4, 2), activation=hidden, output=output, bias=bias)
        network.initialize(rng)
        X, weight = rng.normal(size=(6, 3)), rng.normal(size=(6, 2))
        gradient = network.gradient(network.forward(X), weight)
        expected = numerical_gradient(
            lambda: (network.forward(X)[-1] * weight).sum(), network.theta
        )
        assert_allclose(gradient, expected, atol=1e-7)

    def test_the_formulas_of_one_hidden_layer(self, rng):
        """(6.19.12) and (6.19.13), for one output without biases."""
        net = Network((3, 4, 1), activation="sigmoid", output="sigmoid", bias=False)
        net.initialize(rng)
        x = rng.normal(size=(1, 3))
        outputs = net.forward(x)
        o_j, o_i = outputs[1][0], outputs[2][0, 0]
        w_ij = net.layers[1][0]
        slope = o_i * (1 - o_i)
        by_book = [
            np.outer(x[0], slope * w_ij[:, 0] * o_j * (1 - o_j)).ravel(),
            slope * o_j,
        ]
        gradient = net.gradient(outputs, np.ones((1, 1)))
        assert_allclose(gradient, np.concatenate(by_book))

    @pytest.mark.parametrize("loss", ["squared", "huber"])
    def test_one_step_of_descent(self, rng, loss):
        backend = NumpyBackend(
            (3, 5, 2),
            activation="tanh",
            bias=True,
            optimizer="sgd",
            learning_rate=0.1,
            loss=loss,
            dtype=np.float64,
            rng=rng,
        )
        X, actions = rng.normal(size=(8, 3)), rng.integers(2, size=8)
        targets = 3 * rng.normal(size=8)

        def value():
            error = backend.values(X)[np.arange(8), actions] - targets
            if loss == "squared":
                return 0.5 * np.mean(error**2)
            size = np.abs(error)
            return np.mean(np.where(size < 1, 0.5 * error**2, size - 0.5))

        theta = backend.arrays()["weights"]
        before, expected = theta.copy(), value()
        slope = numerical_gradient(value, theta)
        assert_allclose(backend.fit(X, actions, targets), expected)
        assert_allclose(before - theta, 0.1 * slope, atol=1e-8)

    def test_adam(self, rng):
        """Against the formulas of the paper, bias corrections included."""
        backend = NumpyBackend(
            (2, 1),
            activation="relu",
            bias=False,
            optimizer="adam",
            learning_rate=0.01,
            loss="squared",
            dtype=np.float64,
            rng=rng,
        )
        theta, m, v = np.zeros(2), np.zeros(2), np.zeros(2)
        for t in range(1, 20):
            x, y = rng.normal(size=2), rng.normal()
            g = (x @ theta - y) * x
            m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g**2
            m_hat, v_hat = m / (1 - 0.9**t), v / (1 - 0.999**t)
            theta = theta - 0.01 * m_hat / (np.sqrt(v_hat) + 1e-8)
            backend.fit(x[None], np.array([0]), np.array([y]))
            assert_allclose(backend.arrays()["weights"], theta, rtol=1e-9)


def wander(env, agent, n_steps, seed=0):
    """Transitions of an agent, with what it decides to do next."""
    state, info = env.reset(seed=seed)
    action = agent.act(state, mask=info.get("action_mask"))
    for _ in range(n_steps):
        following, reward, terminated, truncated, info = env.step(action)
        transition = (state, action, reward, following, terminated, truncated)
        action = agent.step(*transition, mask=info.get("action_mask"))
        yield (*transition, action)
        state = following
        if action is None:
            state, info = env.reset()
            action = agent.act(state, mask=info.get("action_mask"))


LINEAR = {"hidden": (), "bias": False}


class TestConnectionist:
    def test_one_hot_and_linear_is_q_learning(self, rng):
        env = GridWorld("lake", slip=0.2, max_steps=50)
        agent = ConnectionistQAgent(learning_rate=0.1, random_state=0, **LINEAR)
        table = QLearningAgent(alpha=0.1).begin(env)
        agent.begin(env)
        for *transition, _ in wander(env, agent, 400):
            table.step(*transition)
            assert_allclose(agent.weights_.T, table.q_values_, atol=1e-12)
        assert np.abs(agent.weights_).max() > 1

    def test_without_traces_is_sarsa(self):
        env = GridWorld("lake", slip=0.2, max_steps=50)
        agent = ConnectionistQAgent(
            update="mcq", learning_rate=0.1, random_state=0, **LINEAR
        )
        agent.begin(env)
        table = SarsaAgent(alpha=0.1).begin(env)
        for *transition, following in wander(env, agent, 400):
            # The table learns from the action that the network has chosen; where the
            # episode was cut, any would do, and it may not be known.
            if following is None and not transition[4]:
                table.q_tables_[0] = agent.weights_.T
                continue
            table.act = lambda _, chosen=following: chosen
            table.step(*transition)
            assert_allclose(agent.weights_.T, table.q_values_, atol=1e-12)

    def test_traces_are_the_explicit_sum(self, rng):
        """e_t = sum_k (gamma lambda)^(t - k) grad Q_k, at the weights of each time."""
        env = Line()
        agent = ConnectionistQAgent(
            update="mcq", trace_decay=0.7, gamma=0.9, hidden=(4,), random_state=0
        ).begin(env)
        gradients = []
        state, _ = env.reset(seed=3)
        action = agent.act(state)
        while action is not None:
            gradient = np.zeros_like(agent.weights_)
            gradient[action] = agent.gradient(state, action)
            gradients.append(gradient)
            following, reward, terminated, truncated, _ = env.step(action)
            action = agent.step(state, action, reward, following, terminated, truncated)
            state = following
            if action is None:
                assert not agent.traces_.any()  # forgotten at the end of an episode
            else:
                t = len(gradients) - 1
                total = sum(0.63 ** (t - k) * g for k, g in enumerate(gradients))
                assert_allclose(agent.traces_, total, atol=1e-12)
        assert len(gradients) > 3

    def test_the_sum_of_updates_with_frozen_weights(self, rng):
        """(6.19.10), with gamma before Q_{t+1} and 0 for it at the end."""
        env = Line()
        eta, gamma, decay = 0.05, 0.9, 0.8
        agent = ConnectionistQAgent(
            update="mcq",
            trace_decay=decay,
            gamma=gamma,
            learning_rate=eta,
            hidden=(4,),
            epsilon=1.0,  # a random walk: frozen weights would not learn to arrive
            random_state=0,
        ).begin(env)
        frozen = agent.weights_.copy()
        state, _ = env.reset(seed=1)
        action = agent.act(state)
        seen, total = [], np.zeros_like(frozen)
        while action is not None:
            following, reward, terminated, _, _ = env.step(action)
            gradient = np.zeros_like(frozen)
            gradient[action] = agent.gradient(state, action)
            value = agent.q_values(state)[action]
            following_action = agent.step(state, action, reward, following, terminated)
            total += agent.weights_ - frozen
            agent.weights_[:] = frozen
            future = 0.0
            if not terminated:
                future = agent.q_values(following)[following_action]
            seen.append((reward + gamma * future - value, gradient))
            state, action = following, following_action
        expected = sum(
            eta * error * (gamma * decay) ** (t - k) * seen[k][1]
            for t, (error, _) in enumerate(seen)
            for k in range(t + 1)
        )
        assert terminated
        assert_allclose(total, expected, atol=1e-12)

    def test_lin_changes_the_network_of_the_action_alone(self, rng):
        agent = ConnectionistQAgent(random_state=0).begin(Line())
        before = agent.weights_.copy()
        gradient = agent.gradient([0.3], 2)
        error = 1.0 + 0.99 * agent.q_values([0.1]).max() - agent.q_values([0.3])[2]
        agent.step([0.3], 2, 1.0, [0.1], False)
        change = agent.weights_ - before
        assert_allclose(change[2], 0.01 * error * gradient, atol=1e-15)
        assert not change[[0, 1, 3]].any()

    @pytest.mark.parametrize("update", ["q", "mcq"])
    def test_learns_to_walk(self, update):
        agent = ConnectionistQAgent(
            update=update,
            trace_decay=0.5 if update == "mcq" else 0.0,
            hidden=(8,),
            activation="tanh",
            learning_rate=0.05,
            gamma=0.9,
            random_state=0,
        )
        history = train(agent, Line(), n_episodes=150, seed=0)
        assert history.returns[-30:].mean() > -8
        assert history.returns[-30:].mean() > history.returns[:10].mean() + 3

    def test_missing_actions(self):
        env = make_maximization_bias(n_actions=4)
        for update in ("q", "mcq"):
            agent = ConnectionistQAgent(update=update, epsilon=0.5, random_state=0)
            history = train(agent, env, n_episodes=50, seed=0)
            assert history.n_episodes == 50  # the environment refuses what is missing

    def test_wrong_input(self):
        env = Line()
        with pytest.raises(ValueError, match="hidden must hold"):
            ConnectionistQAgent(hidden=(0,)).begin(env)
        with pytest.warns(IgnoredParameterWarning, match="trace_decay"):
            ConnectionistQAgent(trace_decay=0.5).begin(env)
        env.observation_space = object()
        with pytest.raises(ValueError, match="FlattenObservation"):
            ConnectionistQAgent().begin(env)

    def test_divergence_is_told(self):
        agent = ConnectionistQAgent(random_state=0).begin(Line())
        agent.weights_[:] = np.nan
        with pytest.raises(FloatingPointError, match="learning_rate"):
            agent.act([0.0], explore=False)


class TestReplayBuffer:
    def test_first_in_first_out(self):
        buffer = ReplayBuffer(3, n_inputs=1, n_actions=2)
        for t in range(5):
            buffer.add([t], t % 2, float(t), [t + 1], t == 4, [True, t > 2])
            assert len(buffer) == min(t + 1, 3)
            assert set(buffer.rewards) == set(range(max(0, t - 2), t + 1))
        batch = buffer.sample(100, np.random.default_rng(0))
        # The fields of a transition stay together.
        assert_array_equal(batch.observations[:, 0], batch.rewards)
        assert_array_equal(batch.next_observations[:, 0], batch.rewards + 1)
        assert_array_equal(batch.actions, batch.rewards % 2)
        assert_array_equal(batch.terminated, batch.rewards == 4)
        assert_array_equal(batch.masks[:, 1], batch.rewards > 2)

    def test_uniform(self):
        buffer = ReplayBuffer(10, n_inputs=1, n_actions=1)
        for t in range(17):
            buffer.add([t], 0, t, [t], False)
        drawn = buffer.sample(20_000, np.random.default_rng(0)).rewards
        values, counts = np.unique(drawn, return_counts=True)
        assert_array_equal(values, np.arange(7, 17))
        assert (np.abs(counts - 2000) < 4 * np.sqrt(2000)).all()

    def test_wrong_use(self):
        with pytest.raises(ValueError, match="capacity"):
            ReplayBuffer(0, 1, 1)
        with pytest.raises(ValueError, match="nothing to draw"):
            ReplayBuffer(1, 1, 1).sample(1, np.random.default_rng(0))


# The last transition is the batch, the target is never old: Q-learning.
LAST_ONLY = {
    "capacity": 1,
    "batch_size": 1,
    "learning_starts": 1,
    "target_update": 1,
    "solver_params": {"optimizer": "sgd", "dtype": "float64"},
    **LINEAR,
}


class TestDeep:
    def test_one_hot_and_linear_is_q_learning(self):
        env = GridWorld("lake", slip=0.2, max_steps=50)
        agent = DQNAgent(learning_rate=0.1, epsilon=0.2, random_state=0, **LAST_ONLY)
        agent.begin(env)
        table = QLearningAgent(alpha=0.1).begin(env)
        for *transition, _ in wander(env, agent, 400):
            table.step(*transition)
            values = [agent.q_values(s) for s in range(16)]
            assert_allclose(values, table.q_values_, atol=1e-12)
        assert np.abs(values).max() > 1

    def test_the_target_stands_still_between_copies(self, rng):
        env = random_env(rng)
        agent = DQNAgent(
            hidden=(8,), target_update=7, learning_starts=1, random_state=0
        )
        agent.begin(env)
        before = agent.get_state()[0]
        for *_, _ in wander(env, agent, 50):
            after = agent.get_state()[0]
            assert not np.array_equal(after["weights"], before["weights"])
            if agent.n_steps_ % 7 == 0:
                assert_array_equal(after["target"], after["weights"])
            else:
                assert_array_equal(after["target"], before["target"])
            before = after

    def test_targets(self, rng, monkeypatch):
        """y = r + gamma max Q(s', b; target), r where terminated; double DQN."""
        env = random_env(rng)
        for double in (False, True):
            agent = DQNAgent(
                hidden=(6,),
                gamma=0.8,
                double=double,
                batch_size=30,
                learning_starts=20,
                target_update=1000,
                solver_params={"dtype": "float64"},
                random_state=0,
            ).begin(env)
            for _ in wander(env, agent, 60):
                pass
            batch = agent.buffer_.sample(30, np.random.default_rng(0))
            batch.terminated[:5] = True
            old = agent._networks.values(batch.next_observations, target=True)
            new = agent._networks.values(batch.next_observations)
            expected = []
            for j in range(30):
                allowed = np.flatnonzero(batch.masks[j])
                judge = new if double else old
                best = max(allowed, key=lambda b: judge[j, b])
                future = 0.0 if batch.terminated[j] else old[j, best]
                expected.append(batch.rewards[j] + 0.8 * future)
            fit = Mock(return_value=0.0)
            monkeypatch.setattr(agent._networks, "fit", fit)
            agent._learn(batch)
            assert_allclose(fit.call_args.args[2], expected)
            assert_allclose(fit.call_args.args[2][:5], batch.rewards[:5])

    def test_converges_to_the_optimal_values(self):
        env = TabularEnv(*TWO_STATES, max_steps=100)
        agent = DQNAgent(
            hidden=(),
            gamma=0.5,
            epsilon=1.0,
            learning_rate=0.02,
            learning_starts=64,
            target_update=20,
            random_state=0,
        )
        train(agent, env, n_episodes=40, seed=0)
        exact = value_iteration(two_states(0.5)).q_values
        found = np.array([agent.q_values(s) for s in range(2)])
        assert_allclose(found, exact, atol=0.3)

    def test_learns_to_walk(self):
        agent = DQNAgent(
            hidden=(16,),
            gamma=0.9,
            epsilon=Schedule("linear", 1.0, end=0.05, rate=500),
            learning_starts=100,
            target_update=50,
            learning_rate=5e-3,
            random_state=0,
        )
        history = train(agent, Line(), n_episodes=120, seed=0)
        assert history.returns[-30:].mean() > -6
        assert len(agent.losses_) == 120
        assert np.isfinite(agent.losses_[-1])

    def test_missing_actions(self):
        env = make_maximization_bias(n_actions=4)
        agent = DQNAgent(hidden=(4,), learning_starts=10, random_state=0)
        train(agent, env, n_episodes=60, seed=0)
        data = agent.buffer_.sample(200, np.random.default_rng(0))
        assert data.actions[data.observations[:, 0] == 1].max() <= 1

    def test_ignored_device(self):
        with pytest.warns(IgnoredParameterWarning, match="device"):
            DQNAgent(solver_params={"device": "cuda"}).begin(Line())

    def test_torch_is_asked_for_by_its_extra(self, monkeypatch):
        import sys

        monkeypatch.setitem(sys.modules, "torch", None)
        with pytest.raises(ImportError, match=r"fewlabels\[deep\]"):
            DQNAgent(solver_params={"backend": "torch"}).begin(Line())


class TestTorch:
    @pytest.mark.parametrize("optimizer", ["adam", "sgd"])
    @pytest.mark.parametrize("loss", ["squared", "huber"])
    def test_the_same_as_numpy(self, optimizer, loss):
        pytest.importorskip("torch")
        found = []
        for backend in ("numpy", "torch"):
            agent = DQNAgent(
                hidden=(8, 6),
                activation="tanh",
                loss=loss,
                learning_starts=20,
                target_update=30,
                solver_params={
                    "optimizer": optimizer,
                    "backend": backend,
                    "dtype": "float64",
                },
                random_state=0,
            )
            history = train(agent, Line(), n_episodes=15, seed=0)
            found.append((agent.get_state()[0], history))
        (one, history_one), (two, history_two) = found
        assert_array_equal(history_one.returns, history_two.returns)
        assert set(one) == set(two)
        for name in one:
            assert_allclose(one[name], two[name], atol=1e-10, err_msg=name)

    def test_resuming(self, tmp_path):
        pytest.importorskip("torch")
        settings = {"hidden": (8,), "learning_starts": 20}
        settings["solver_params"] = {"backend": "torch"}
        whole = DQNAgent(**settings, random_state=0)
        expected = train(whole, Line(), n_episodes=20, seed=0)
        path = tmp_path / "half.npz"
        half = DQNAgent(**settings, random_state=0)
        train(half, Line(), n_episodes=9, seed=0, checkpoint=path)
        again = DQNAgent(**settings, random_state=0)
        history = train(
            again, Line(), n_episodes=20, seed=0, checkpoint=path, resume=True
        )
        assert_array_equal(history.returns, expected.returns)
        ours, theirs = again.get_state()[0], whole.get_state()[0]
        for name in theirs:
            assert_array_equal(ours[name], theirs[name], err_msg=name)
