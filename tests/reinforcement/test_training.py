"""Training, evaluation, checkpoints."""

# SPDX-License-Identifier: BSD-3-Clause

import copy
import json
import pickle
import subprocess
import sys
import time

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from fewlabels.reinforcement import (
    ConnectionistQAgent,
    DiscreteSpace,
    DoubleQLearningAgent,
    DQNAgent,
    GridWorld,
    QLearningAgent,
    SarsaAgent,
    Schedule,
    TabularEnv,
    TrainingHistory,
    WeightedDoubleQLearningAgent,
    evaluate,
    load_checkpoint,
    train,
)
from fewlabels.reinforcement._agent import discrete_size
from tests.reinforcement.test_tabular import Plain

AGENTS = [
    SarsaAgent(alpha=Schedule("power", 1.0, rate=0.7), random_state=1),
    QLearningAgent(random_state=1),
    DoubleQLearningAgent(epsilon=0.3, explore_by="visits", random_state=1),
    WeightedDoubleQLearningAgent(c=2.0, random_state=1),
    ConnectionistQAgent(hidden=(5,), random_state=1),
    ConnectionistQAgent(update="mcq", trace_decay=0.7, hidden=(5,), random_state=1),
    DQNAgent(hidden=(6,), learning_starts=30, target_update=20, random_state=1),
]


def identifier(agent):
    return f"{type(agent).__name__}-{getattr(agent, 'update', '')}"


def environment():
    return GridWorld("lake", slip=0.2, reward_noise=0.1, max_steps=40)


class Killed(Exception):
    """Stands for whatever ends a process."""


class Fragile(Plain):
    """An environment that breaks within an episode."""

    def __init__(self, env, steps):
        super().__init__(env)
        self.steps = steps

    def step(self, action):
        self.steps -= 1
        if self.steps < 0:
            raise Killed
        return super().step(action)


def assert_same(agent, other):
    ours, numbers = agent.get_state()
    theirs, other_numbers = other.get_state()
    assert numbers == other_numbers
    assert set(ours) == set(theirs)
    for name in ours:
        assert_array_equal(ours[name], theirs[name], err_msg=name)


def assert_same_history(one, two):
    for name in ("returns", "lengths", "evaluated_at", "evaluation_returns"):
        assert_array_equal(getattr(one, name), getattr(two, name), err_msg=name)
    assert_array_equal(one.monitored, two.monitored)
    assert one.seed == two.seed


@pytest.mark.parametrize("agent", AGENTS, ids=identifier)
class TestEveryAgent:
    settings = {  # noqa: RUF012
        "n_episodes": 40,
        "seed": 5,
        "evaluate_every": 6,
        "evaluation_episodes": 2,
        "monitor": lambda agent: agent.q_values(0),
    }

    @pytest.mark.parametrize("compiled", [True, False])
    def test_a_killed_run_resumes_to_the_same(self, agent, compiled, tmp_path):
        whole = clone(agent)
        expected = train(whole, environment(), **self.settings)
        path = tmp_path / "run.npz"
        saving = {"checkpoint": path, "checkpoint_every": 7, "resume": True}
        killed = clone(agent)
        steps = int(expected.lengths[:25].sum()) + 1
        broken = Fragile(environment(), steps)
        with pytest.raises(Killed):
            train(
                killed,
                broken,
                evaluation_env=environment(),
                **self.settings,
                **saving,
            )
        resumed = clone(agent)
        env = environment() if compiled else Plain(environment())
        history = train(
            resumed, env, evaluation_env=environment(), **self.settings, **saving
        )
        assert_same_history(history, expected)
        assert_same(resumed, whole)
        # A run that is complete is loaded, not trained.
        again = clone(agent)
        assert_same_history(train(again, env, **self.settings, **saving), expected)
        assert_same(again, whole)

    def test_the_same_seeds_the_same_run(self, agent):
        one, two, other = clone(agent), clone(agent), clone(agent)
        histories = [
            train(one, environment(), n_episodes=10, seed=1),
            train(two, environment(), n_episodes=10, seed=1),
            train(other, environment(), n_episodes=10, seed=2),
        ]
        assert_same(one, two)
        assert_same_history(*histories[:2])
        assert not np.array_equal(histories[0].returns, histories[2].returns)

    def test_evaluation_does_not_disturb(self, agent):
        one, two = clone(agent), clone(agent)
        train(one, environment(), n_episodes=12, seed=0)
        train(two, environment(), n_episodes=12, seed=0, evaluate_every=4)
        assert_same(one, two)

    def test_loading(self, agent, tmp_path):
        path = tmp_path / "agent.npz"
        trained = clone(agent)
        history = train(trained, environment(), n_episodes=8, seed=0, checkpoint=path)
        loaded, old = load_checkpoint(path, environment())
        assert type(loaded) is type(agent)
        assert loaded.get_params() == agent.get_params()
        assert_same(loaded, trained)
        assert_same_history(old, history)
        assert_array_equal(
            evaluate(loaded, environment(), seed=3),
            evaluate(trained, environment(), seed=3),
        )

    def test_must_begin(self, agent):
        with pytest.raises(NotFittedError, match="has not begun"):
            clone(agent).get_state()


@pytest.mark.slow
def test_a_process_that_is_killed(tmp_path):
    """SIGKILL in the middle of writing and learning, then the same end."""
    path = tmp_path / "run.npz"
    code = (
        "import sys\n"
        "from fewlabels.reinforcement import GridWorld, QLearningAgent, train\n"
        "train(QLearningAgent(random_state=0), GridWorld('four-rooms', slip=0.1),\n"
        "      n_episodes=10**9, seed=0, checkpoint=sys.argv[1], checkpoint_every=200)"
    )
    process = subprocess.Popen([sys.executable, "-c", code, str(path)])
    deadline = time.monotonic() + 120
    while not path.exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    time.sleep(0.05)
    process.kill()
    process.wait()
    _, before = load_checkpoint(path, GridWorld("four-rooms"))
    n_episodes = before.n_episodes + 300
    env = GridWorld("four-rooms", slip=0.1)
    resumed, whole = QLearningAgent(random_state=0), QLearningAgent(random_state=0)
    history = train(
        resumed, env, n_episodes=n_episodes, seed=0, checkpoint=path, resume=True
    )
    assert_same_history(history, train(whole, env, n_episodes=n_episodes, seed=0))
    assert_same(resumed, whole)


def test_a_gymnasium_run_resumes(tmp_path):
    gymnasium = pytest.importorskip("gymnasium")
    agent = DQNAgent(hidden=(8,), learning_starts=50, random_state=0)
    whole, half = clone(agent), clone(agent)
    expected = train(whole, gymnasium.make("CartPole-v1"), n_episodes=14, seed=0)
    path = tmp_path / "cart.npz"
    train(half, gymnasium.make("CartPole-v1"), n_episodes=5, seed=0, checkpoint=path)
    history = train(
        agent,
        gymnasium.make("CartPole-v1"),
        n_episodes=14,
        seed=0,
        checkpoint=path,
        resume=True,
    )
    assert_same_history(history, expected)
    assert_same(agent, whole)


class TestCheckpoints:
    def test_a_file_holds_arrays_and_json_only(self, tmp_path):
        path = tmp_path / "agent.npz"
        train(QLearningAgent(), environment(), n_episodes=2, checkpoint=path)
        with np.load(path, allow_pickle=False) as file:
            kinds = {file[name].dtype.kind for name in file.files}
            meta = json.loads(file["json"].tobytes())
        assert kinds <= set("biuf")
        assert meta["agent"] == "QLearningAgent"
        assert [p.name for p in tmp_path.iterdir()] == ["agent.npz"]

    def test_pickles_are_refused(self, tmp_path):
        path = tmp_path / "agent.npz"
        np.savez(path, json=np.array([print], dtype=object))
        with pytest.raises(ValueError, match="not a checkpoint"):
            load_checkpoint(path, environment())

    def test_other_files(self, tmp_path):
        path = tmp_path / "agent.npz"
        path.write_text("nothing")
        with pytest.raises(ValueError, match="not a checkpoint"):
            load_checkpoint(path, environment())
        for meta, message in (
            ({"format": 99}, "format 99"),
            ({"format": 1, "agent": "os.system"}, "unknown kind of agent"),
        ):
            np.savez(path, json=np.frombuffer(json.dumps(meta).encode(), np.uint8))
            with pytest.raises(ValueError, match=message):
                load_checkpoint(path, environment())
        with pytest.raises(FileNotFoundError):
            load_checkpoint(tmp_path / "missing.npz", environment())

    def test_writing_is_all_or_nothing(self, tmp_path, monkeypatch):
        from fewlabels.reinforcement import _checkpoint

        path = tmp_path / "agent.npz"
        train(QLearningAgent(), environment(), n_episodes=2, checkpoint=path)
        content = path.read_bytes()

        def full(*args, **kwargs):
            raise OSError("No space left on device")

        monkeypatch.setattr(_checkpoint.np, "savez", full)
        with pytest.raises(OSError, match="No space"):
            _checkpoint.write_checkpoint(path, {}, {})
        assert path.read_bytes() == content
        assert list(tmp_path.iterdir()) == [path]

    def test_what_does_not_fit_is_refused(self, tmp_path):
        path = tmp_path / "agent.npz"
        settings = {"n_episodes": 4, "checkpoint": path, "resume": True}
        train(QLearningAgent(), environment(), seed=0, **settings)
        for agent, env, more, message in (
            (SarsaAgent(), environment(), {}, "agent QLearningAgent"),
            (QLearningAgent(alpha=0.2), environment(), {}, "parameters"),
            (QLearningAgent(), environment(), {"seed": 1}, "seed 0"),
            (QLearningAgent(), environment(), {"evaluate_every": 2}, "settings"),
            (QLearningAgent(), GridWorld("cliff"), {}, "does not fit"),
        ):
            with pytest.raises(ValueError, match=message):
                train(agent, env, **settings, **more)
        with pytest.raises(ValueError, match="exists"):
            train(QLearningAgent(), environment(), n_episodes=4, checkpoint=path)

    def test_environments_with_draws_of_their_own(self, tmp_path):
        env = Plain(environment())
        type(env).unwrapped, kept = property(lambda self: object()), Plain.unwrapped
        try:
            with pytest.raises(ValueError, match="cannot be resumed"):
                train(
                    QLearningAgent(), env, n_episodes=1, checkpoint=tmp_path / "a.npz"
                )
        finally:
            type(env).unwrapped = kept


class TestTrain:
    def test_steps(self):
        history = train(QLearningAgent(random_state=0), environment(), n_steps=500)
        assert history.n_steps >= 500
        assert history.n_steps - history.lengths[-1] < 500

    def test_long_runs_are_cut_into_calls(self, monkeypatch):
        """Where a call ends makes no difference, nor within an episode."""
        from fewlabels.reinforcement import _training

        one, two = SarsaAgent(random_state=0), SarsaAgent(random_state=0)
        expected = train(one, environment(), n_episodes=30, seed=0)
        monkeypatch.setattr(_training, "STEPS_PER_CALL", 7)
        monkeypatch.setattr(_training, "EPISODES_PER_CALL", 4)
        assert_same_history(train(two, environment(), n_episodes=30, seed=0), expected)
        assert_same(one, two)

    def test_warm_start(self):
        agent = QLearningAgent(random_state=0)
        train(agent, environment(), n_episodes=5, seed=0)
        steps, values = agent.n_steps_, agent.q_values_.copy()
        history = train(agent, environment(), n_steps=100, seed=1, warm_start=True)
        assert agent.n_steps_ == steps + history.n_steps
        assert history.n_steps >= 100
        assert not np.array_equal(agent.q_values_, values)
        train(agent, environment(), n_episodes=1, seed=1)
        assert agent.n_steps_ < steps

    def test_stop(self):
        history = train(
            QLearningAgent(alpha=0.5, random_state=0),
            GridWorld("cliff", max_steps=200),
            n_episodes=10_000,
            seed=0,
            evaluate_every=10,
            evaluation_episodes=1,
            stop=lambda history: history.evaluation_returns[-1, 0] == -13,
        )
        assert history.n_episodes < 1000
        assert history.evaluation_returns[-1, 0] == -13

    def test_a_run_that_stopped_stays_so(self, tmp_path):
        settings = {
            "n_episodes": 50,
            "seed": 0,
            "evaluate_every": 4,
            "evaluation_episodes": 0,
            "stop": lambda history: history.n_episodes >= 12,
            "checkpoint": tmp_path / "run.npz",
            "resume": True,
        }
        first = train(QLearningAgent(random_state=0), environment(), **settings)
        again = train(QLearningAgent(random_state=0), environment(), **settings)
        assert first.n_episodes == 12
        assert_same_history(again, first)

    def test_environments_of_gymnasium(self):
        gymnasium = pytest.importorskip("gymnasium")
        agent = QLearningAgent(random_state=0)
        env = gymnasium.make("Taxi-v4")
        history = train(agent, env, n_episodes=3, seed=0, evaluate_every=3)
        assert history.evaluation_returns.shape == (1, 10)
        # Moves against walls are masked, and never tried.
        assert not agent.available_.all()
        assert not agent.counts_[0][~agent.available_].any()

    def test_monitor(self):
        agent = QLearningAgent(random_state=0)
        history = train(
            agent,
            environment(),
            n_episodes=20,
            seed=0,
            evaluate_every=5,
            evaluation_episodes=0,
            monitor=lambda agent: agent.q_values_[0],
        )
        assert history.monitored.shape == (4, 4)
        assert_array_equal(history.monitored[-1], agent.q_values_[0])
        assert np.ptp(history.monitored, axis=0).any()
        assert history.evaluation_returns.shape == (4, 0)

    def test_progress(self):
        shares = []
        agent = ConnectionistQAgent(random_state=0)
        train(agent, environment(), n_episodes=4, progress=shares.append)
        assert_allclose(shares, [0.25, 0.5, 0.75, 1.0])

    def test_history(self):
        history = TrainingHistory(
            returns=np.array([0.0, 2.0, 4.0, 6.0]), lengths=np.array([1, 2, 3, 4])
        )
        assert_allclose(history.moving_average(2), [0, 1, 3, 5])
        assert_allclose(history.moving_average(), [0, 1, 2, 3])
        assert (history.solved_at(3, window=2), history.solved_at(6, 2)) == (3, None)
        assert (history.n_steps, history.n_episodes) == (10, 4)
        with pytest.raises(ValueError, match="window"):
            history.moving_average(0)

    def test_rewards_must_be_finite(self):
        env = Plain(environment())
        env.step = lambda action: (0, np.nan, False, False, {})
        with pytest.raises(ValueError, match="reward nan"):
            train(QLearningAgent(), env, n_episodes=1)

    @pytest.mark.parametrize(
        ("settings", "message"),
        [
            ({}, "either n_episodes or n_steps"),
            ({"n_episodes": 1, "n_steps": 1}, "either n_episodes or n_steps"),
            ({"n_episodes": 0}, "n_episodes must be"),
            ({"n_episodes": 1, "evaluate_every": 0}, "evaluate_every must be"),
            ({"n_episodes": 1, "evaluation_episodes": -1}, "evaluation_episodes"),
            ({"n_episodes": 1, "monitor": len}, "pass evaluate_every"),
            ({"n_episodes": 1, "resume": True}, "path of a checkpoint"),
            (
                {
                    "n_episodes": 1,
                    "resume": True,
                    "checkpoint": "x",
                    "warm_start": True,
                },
                "either warm_start or resume",
            ),
            ({"n_episodes": 1, "checkpoint": "no/such/folder.npz"}, "no folder"),
            ({"n_episodes": 1, "progress": "loud"}, "progress"),
        ],
    )
    def test_wrong_settings(self, settings, message):
        with pytest.raises(ValueError, match=message):
            train(QLearningAgent(), environment(), **settings)


def test_a_million_steps_take_seconds():
    """Far above what it takes (half a second), far below a loop in Python."""
    env = GridWorld("four-rooms")
    train(QLearningAgent(random_state=0), env, n_episodes=1, seed=0)  # compile
    start = time.process_time()
    history = train(QLearningAgent(random_state=0), env, n_steps=1_000_000, seed=0)
    assert history.n_steps >= 1_000_000
    assert time.process_time() - start < 5


@pytest.mark.parametrize("agent", AGENTS, ids=identifier)
def test_masks_in_all_agents(agent):
    """One action is available in each state, and any other is an error."""
    transitions, rewards = np.zeros((4, 3, 4)), np.zeros((4, 3))
    available = np.zeros((4, 3), dtype=bool)
    for state, action in enumerate((2, 1, 2)):
        transitions[state, action, state + 1] = 1.0
        rewards[state, action] = state + 1
        available[state, action] = True
    env = TabularEnv(transitions, rewards, terminal=[3], available=available, start=0)
    agent = clone(agent).begin(env)
    assert_array_equal(evaluate(agent, env, n_episodes=3, seed=0), [6, 6, 6])
    history = train(clone(agent), env, n_episodes=40, seed=0, evaluate_every=20)
    assert_array_equal(history.returns, np.full(40, 6))
    assert_array_equal(history.evaluation_returns, np.full((2, 10), 6))


@pytest.mark.parametrize(
    "agent",
    [
        QLearningAgent(random_state=0),
        ConnectionistQAgent(hidden=(4,), random_state=0),
        DQNAgent(hidden=(8,), learning_starts=8, batch_size=8, random_state=0),
    ],
    ids=lambda agent: type(agent).__name__,
)
@pytest.mark.parametrize(
    "copied", [copy.deepcopy, lambda agent: pickle.loads(pickle.dumps(agent))]
)
def test_copies_learn_as_their_originals(agent, copied):
    env = GridWorld(["S..", "..G"], max_steps=30)
    agent = clone(agent)
    train(agent, env, n_episodes=5, seed=0)
    other, before = copied(agent), agent.q_values(0)
    for one in (agent, other):
        train(one, env, n_episodes=5, seed=1, warm_start=True)
    assert not np.array_equal(agent.q_values(0), before)
    assert_array_equal(other.q_values(0), agent.q_values(0))


def test_a_warm_start_takes_over_changed_parameters():
    env, agent = GridWorld("cliff"), QLearningAgent(random_state=0)
    train(agent, env, n_episodes=5, seed=0)
    before = agent.q_values_
    train(agent.set_params(alpha=0.0), env, n_episodes=5, seed=1, warm_start=True)
    assert_array_equal(agent.q_values_, before)
    with pytest.raises(ValueError, match="alpha"):
        train(agent.set_params(alpha=2.0), env, n_episodes=1, warm_start=True)


def test_evaluation_needs_an_agent_that_has_begun():
    with pytest.raises(NotFittedError, match="has not begun"):
        evaluate(DQNAgent(), GridWorld("cliff"))


class Endless:
    """Pays 1 for every step and sets no limit; gives up when its patience ends."""

    def __init__(self, patience=200_000):
        self.patience = patience
        self.observation_space, self.action_space = DiscreteSpace(1), DiscreteSpace(2)
        self.n_steps = 0
        self.unwrapped = self

    def reset(self, *, seed=None):
        self.n_steps = 0
        return 0, {}

    def step(self, action):
        self.n_steps += 1
        if self.n_steps > self.patience:
            raise RuntimeError("nobody stopped this episode")
        return 0, 1.0, False, False, {}


class TestEpisodesWithoutEnd:
    def test_are_cut_with_a_warning(self):
        env = Endless()
        agent = QLearningAgent(random_state=0).begin(env)
        with pytest.warns(UserWarning, match=r"2 of 2 .* after 50 steps.*TimeLimit"):
            returns = evaluate(agent, env, n_episodes=2, max_steps=50)
        assert_array_equal(returns, [50, 50])

    def test_are_cut_by_default(self):
        env = Endless()
        agent = QLearningAgent(random_state=0).begin(env)
        with pytest.warns(UserWarning, match="time limit"):
            returns = evaluate(agent, env, n_episodes=1)
        assert_array_equal(returns, [100_000])

    def test_none_never_cuts(self):
        env = Endless(patience=200)
        agent = QLearningAgent(random_state=0).begin(env)
        with pytest.raises(RuntimeError, match="nobody stopped"):
            evaluate(agent, env, n_episodes=1, max_steps=None)

    def test_an_episode_that_ends_at_the_limit_is_whole(self):
        """Filters turn a warning into an error."""
        env = GridWorld(["S..", "..."], max_steps=50, step_reward=-1.0)
        agent = QLearningAgent(random_state=0).begin(env)
        assert_array_equal(evaluate(agent, env, n_episodes=1, max_steps=50), [-50])

    def test_the_limit_is_a_number_of_steps(self):
        env = Endless()
        agent = QLearningAgent(random_state=0).begin(env)
        with pytest.raises(ValueError, match="max_steps must be at least 1"):
            evaluate(agent, env, max_steps=0)
        with pytest.raises(ValueError, match="max_steps must be at least 1"):
            train(agent, env, n_episodes=1, max_steps=0)

    @pytest.mark.parametrize("amount", [{"n_episodes": 2}, {"n_steps": 51}])
    def test_training_cuts_them_too(self, amount):
        agent = QLearningAgent(random_state=0)
        with pytest.warns(UserWarning, match=r"2 of 2 training .* after 50 steps"):
            history = train(agent, Endless(), max_steps=50, **amount)
        assert_array_equal(history.lengths, [50, 50])
        assert agent.n_steps_ == 100

    def test_training_cuts_by_default(self):
        with pytest.warns(UserWarning, match=r"1 of 1 training .* 100000 steps"):
            history = train(QLearningAgent(random_state=0), Endless(), n_steps=10)
        assert_array_equal(history.lengths, [100_000])

    def test_training_need_not_cut(self):
        with pytest.raises(RuntimeError, match="nobody stopped"):
            train(QLearningAgent(), Endless(200), n_episodes=1, max_steps=None)

    def test_a_table_has_its_own_limit(self):
        env = GridWorld(["S..", "..."], max_steps=50)
        for agent in (QLearningAgent(random_state=0), DQNAgent(random_state=0)):
            history = train(agent, env, n_episodes=1, max_steps=20)
            assert_array_equal(history.lengths, [50])


def test_values_that_overflow_are_told():
    env = TabularEnv([[[1.0], [1.0]]], [[1e308, -1e308]], max_steps=100)
    agent = QLearningAgent(gamma=1.0, alpha=1.0, random_state=0)
    with pytest.raises(OverflowError, match="not finite"):
        train(agent, env, n_episodes=5, seed=0)
    with pytest.raises(ValueError, match="reward_noise must be finite"):
        TabularEnv([[[1.0]]], [0.0], reward_noise=np.inf)


def test_spaces_of_gymnasium():
    spaces = pytest.importorskip("gymnasium").spaces
    assert discrete_size(spaces.Discrete(3)) == 3
    assert discrete_size(DiscreteSpace(3)) == 3
    others = [spaces.Discrete(3, start=1), spaces.MultiBinary(3), spaces.Box(0, 1)]
    for space in [*others, spaces.MultiDiscrete([2, 3])]:
        assert discrete_size(space) is None
