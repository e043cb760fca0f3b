"""Training: episodes, evaluation, checkpoints."""

# SPDX-License-Identifier: BSD-3-Clause

import copy
import math
import os
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fewlabels._params import check_number
from fewlabels._progress import Progress, ProgressLine
from fewlabels.reinforcement._agent import Agent
from fewlabels.reinforcement._checkpoint import resume_training, save_training
from fewlabels.reinforcement._environments import TabularEnv
from fewlabels.reinforcement._history import TrainingHistory
from fewlabels.reinforcement._tabular import TabularAgent

# A compiled call returns after this many steps or episodes: it cannot be interrupted.
STEPS_PER_CALL = 200_000
EPISODES_PER_CALL = 10_000


def evaluate(
    agent: Agent,
    env: Any,
    *,
    n_episodes: int = 10,
    seed: int | None = None,
    max_steps: int | None = 100_000,
) -> NDArray[np.float64]:
    """Follow an agent that neither explores nor learns.

    Parameters
    ----------
    agent : Agent
        It must have begun in an environment of this kind.
    env : environment
        With the interface of ``gymnasium.Env``.
    n_episodes : int, default=10
        How many episodes.
    seed : int, default=None
        Seed of the environment; None continues its random stream.
    max_steps : int, default=100_000
        Steps after which an episode is cut, with a warning: without exploration an
        agent may go round in circles forever where the environment sets no limit of
        its own. None never cuts.

    Returns
    -------
    returns : ndarray of shape (n_episodes,)
        Sum of the rewards of every episode, not discounted.

    Warns
    -----
    UserWarning
        If an episode was cut.

    Examples
    --------
    >>> from fewlabels.reinforcement import GridWorld, QLearningAgent, evaluate, train
    >>> env = GridWorld("cliff")
    >>> agent = QLearningAgent(alpha=0.5, random_state=0)
    >>> history = train(agent, env, n_steps=20_000, seed=0)
    >>> evaluate(agent, env, n_episodes=1)  # the shortest way, along the edge
    array([-13.])
    """
    agent._check_begun()
    _check_counts(max_steps=max_steps)
    returns = np.zeros(n_episodes)
    n_cut = 0
    for k in range(n_episodes):
        observation, info = env.reset(seed=seed if k == 0 else None)
        ended, n_steps = False, 0
        while not ended:
            if n_steps == max_steps:
                n_cut += 1
                break
            mask = info.get("action_mask")
            action = agent.act(observation, mask=mask, explore=False)
            observation, reward, terminated, truncated, info = env.step(action)
            returns[k] += reward
            n_steps += 1
            ended = bool(terminated or truncated)
    if n_cut:
        _warn_cut(f"{n_cut} of {n_episodes} evaluated episodes", max_steps)
    return returns


def train(
    agent: Agent,
    env: Any,
    *,
    n_episodes: int | None = None,
    n_steps: int | None = None,
    max_steps: int | None = 100_000,
    seed: int | None = None,
    warm_start: bool = False,
    evaluate_every: int | None = None,
    evaluation_episodes: int = 10,
    evaluation_env: Any = None,
    monitor: Callable[[Agent], ArrayLike] | None = None,
    stop: Callable[[TrainingHistory], bool] | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    checkpoint_every: int = 100,
    resume: bool = False,
    progress: Progress = "auto",
) -> TrainingHistory:
    """Let an agent learn in an environment.

    A tabular agent in a :class:`TabularEnv` learns compiled, millions of steps a
    second; the result is the same as step by step.

    Parameters
    ----------
    agent : Agent
        It starts from scratch, unless `warm_start` or `resume` is set.
    env : environment
        With the interface of ``gymnasium.Env``.
    n_episodes : int, default=None
        Episodes altogether, those before a resumed checkpoint included.
    n_steps : int, default=None
        Instead: steps altogether. The episode under way is finished.
    max_steps : int, default=100_000
        Steps after which an episode is cut, with a warning: one may never end where the
        environment sets no limit of its own, as a :class:`TabularEnv` does. None never
        cuts.
    seed : int, default=None
        Seed of the environment; drawn when None. The agent has its own `random_state`.
    warm_start : bool, default=False
        Whether the agent continues from what it has learned.
    evaluate_every : int, default=None
        Episodes between two evaluations; none when None.
    evaluation_episodes : int, default=10
        Episodes of an evaluation, without exploration; may be 0.
    evaluation_env : environment, default=None
        Where to evaluate; a copy of `env` when None.
    monitor : callable, default=None
        Called with the agent at every evaluation; returns numbers to keep.
    stop : callable, default=None
        Called with the history at every evaluation; training ends when it returns True.
    checkpoint : path, default=None
        A file to save everything to, so that an interrupted run can continue.
    checkpoint_every : int, default=100
        Episodes between two checkpoints. The end of training is one too.
    resume : bool, default=False
        Whether to continue from `checkpoint`, if that file exists: the result is then
        the same, bit for bit, as that of an uninterrupted run. The agent must have the
        same parameters.
    progress : "auto", bool or callable, default="auto"
        A line on the standard error stream; "auto" shows it on a terminal and for work
        that takes longer than two seconds. A callable is given the share that is done.

    Returns
    -------
    history : TrainingHistory
        Returns and lengths of all episodes.

    Warns
    -----
    UserWarning
        If an episode was cut.

    See Also
    --------
    load_checkpoint : The agent of a checkpoint.
    fewlabels.plotting.TrainingDisplay : The picture.

    Notes
    -----
    A checkpoint is an npz file with arrays and JSON; loading one never runs code from
    it. It is written between episodes, and replaces the one before in one step. That a
    resumed run is the same needs an environment whose draws all come from its
    ``np_random``, as gymnasium asks for, and that keeps nothing else between episodes.

    Examples
    --------
    >>> from fewlabels.reinforcement import GridWorld, QLearningAgent, train
    >>> agent = QLearningAgent(alpha=0.5, random_state=0)
    >>> history = train(
    ...     agent, GridWorld("cliff"), n_episodes=300, seed=0, evaluate_every=100
    ... )
    >>> history.evaluated_at
    array([100, 200, 300])
    >>> history.evaluation_returns[-1].max()
    np.float64(-13.0)
    """
    if (n_episodes is None) == (n_steps is None):
        raise ValueError("Pass either n_episodes or n_steps.")
    _check_counts(
        n_episodes=n_episodes,
        n_steps=n_steps,
        evaluate_every=evaluate_every,
        checkpoint_every=checkpoint_every,
        max_steps=max_steps,
    )
    check_number("evaluation_episodes", evaluation_episodes, 0)
    if evaluate_every is None and (monitor is not None or stop is not None):
        raise ValueError("monitor and stop need evaluations: pass evaluate_every.")
    found = _check_checkpoint(checkpoint, resume, warm_start)
    if evaluate_every is None:
        evaluation_episodes = 0
    elif evaluation_episodes and evaluation_env is None:
        evaluation_env = copy.deepcopy(env)

    if warm_start and hasattr(agent, "rng_"):
        agent._go_on()
    else:
        agent.begin(env)
    settings = {
        "evaluate_every": evaluate_every,
        "evaluation_episodes": evaluation_episodes,
        "max_steps": max_steps,
    }
    history = TrainingHistory()
    if found and checkpoint is not None:
        history, rng_state = resume_training(checkpoint, agent, seed, settings)
    elif seed is None:
        history.seed = int(np.random.SeedSequence().generate_state(1)[0])
    else:
        history.seed = int(seed)

    episodes: _Compiled | _StepByStep
    if isinstance(env, TabularEnv) and isinstance(agent, TabularAgent):
        episodes = _Compiled(agent, env, history.seed)
    else:
        episodes = _StepByStep(agent, env, history.seed, max_steps)
    if checkpoint is not None and not _is_pcg64(episodes.rng):
        raise ValueError(
            "The draws of this environment do not come from a NumPy generator "
            "np_random of gymnasium's kind: it cannot be resumed. Train it without "
            "checkpoint."
        )
    if found:
        episodes.rng.bit_generator.state = rng_state

    # Steps of the agent before the history began, with a warm start.
    base = agent.n_steps_ - history.n_steps
    step_goal = None if n_steps is None else base + n_steps

    def done() -> bool:
        if episodes.within_episode:
            return False
        if n_episodes is not None:
            return history.n_episodes >= n_episodes
        return step_goal is not None and agent.n_steps_ >= step_goal

    def save() -> None:
        if checkpoint is not None:
            save_training(checkpoint, agent, history, episodes.rng, settings)

    # A run that was stopped stays so when it is resumed.
    stopped = found and stop is not None and _was_evaluated(history) and stop(history)
    with ProgressLine(progress, "training") as line:
        while not stopped and not done():
            # Evaluations and checkpoints happen at multiples of their periods.
            boundary = history.n_episodes + EPISODES_PER_CALL
            for period in (evaluate_every, checkpoint_every if checkpoint else None):
                if period is not None:
                    next_multiple = (history.n_episodes // period + 1) * period
                    boundary = min(boundary, next_multiple)
            if n_episodes is not None:
                boundary = min(boundary, n_episodes)
            history._append(*episodes.run(boundary - history.n_episodes, step_goal))
            if n_episodes is not None:
                share = history.n_episodes / n_episodes
            else:
                share = min(1.0, (agent.n_steps_ - base) / (n_steps or 1))
            line.update(share, f"{history.n_episodes} episodes")
            if episodes.within_episode or history.n_episodes == 0:
                continue
            if evaluate_every and history.n_episodes % evaluate_every == 0:
                if not _was_evaluated(history):
                    returns = _evaluation(agent, evaluation_env, history, settings)
                    kept = None if monitor is None else monitor(agent)
                    history._append_evaluation(returns, kept)
                stopped = stop is not None and stop(history)
            if checkpoint and history.n_episodes % checkpoint_every == 0:
                save()
    save()
    if episodes.n_cut:
        _warn_cut(
            f"{episodes.n_cut} of {history.n_episodes} training episodes", max_steps
        )
    return history


def _warn_cut(what: str, max_steps: int | None) -> None:
    """Warn that episodes were cut, on behalf of the caller."""
    warnings.warn(
        f"{what} were cut after {max_steps} steps, so their returns are incomplete. "
        "Give the environment a time limit (max_steps of fewlabels' own, "
        "gymnasium.wrappers.TimeLimit for others), or a larger max_steps here.",
        stacklevel=3,
    )


def _check_counts(**counts: int | None) -> None:
    """Refuse counts below 1; None is no count."""
    for name, value in counts.items():
        if value is not None:
            check_number(name, value, 1)


def _check_checkpoint(
    checkpoint: str | os.PathLike[str] | None, resume: bool, warm_start: bool
) -> bool:
    """Whether there is a checkpoint to continue from."""
    if resume and warm_start:
        raise ValueError("Pass either warm_start or resume, not both.")
    if checkpoint is None:
        if resume:
            raise ValueError("resume needs the path of a checkpoint.")
        return False
    path = Path(checkpoint)
    if not path.parent.is_dir():
        # Now, and not after the first hundred episodes.
        raise ValueError(f"checkpoint: there is no folder {path.parent}.")
    if path.exists() and not resume:
        raise ValueError(
            f"{checkpoint} exists; continue from it with resume=True, or remove it."
        )
    return path.exists()


def _was_evaluated(history: TrainingHistory) -> bool:
    at = history.evaluated_at
    return bool(len(at)) and int(at[-1]) == history.n_episodes


def _evaluation(
    agent: Agent, env: Any, history: TrainingHistory, settings: dict[str, Any]
) -> NDArray[np.float64]:
    """Evaluate with a separate seed, so that training is not affected."""
    count = settings["evaluation_episodes"]
    if not count:
        return np.empty(0)
    sequence = np.random.SeedSequence(
        history.seed, spawn_key=(1, len(history.evaluated_at))
    )
    seed = int(sequence.generate_state(1)[0])
    return evaluate(
        agent, env, n_episodes=count, seed=seed, max_steps=settings["max_steps"]
    )


class _Compiled:
    """Episodes of a table, which has a time limit, many in one call."""

    n_cut = 0

    def __init__(self, agent: TabularAgent, env: TabularEnv, seed: int) -> None:
        self._agent, self._env = agent, env
        env.np_random = np.random.default_rng(np.random.SeedSequence(seed))
        self._carry = np.array([-1, -1, 0, 0], dtype=np.int64)
        self._return = np.zeros(1)

    @property
    def rng(self) -> np.random.Generator:
        return self._env.np_random

    @property
    def within_episode(self) -> bool:
        return bool(self._carry[0] >= 0)

    def run(
        self, n_episodes: int, step_goal: int | None
    ) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        stop = np.iinfo(np.int64).max if step_goal is None else step_goal
        return self._agent._run(
            self._env, self._carry, self._return, STEPS_PER_CALL, stop, n_episodes
        )


class _StepByStep:
    """Episodes of any environment, one in each call."""

    within_episode = False

    def __init__(
        self, agent: Agent, env: Any, seed: int, max_steps: int | None
    ) -> None:
        self._agent, self._env = agent, env
        self._limit = None if isinstance(env, TabularEnv) else max_steps
        self.n_cut = 0
        self._first: tuple[Any, dict[str, Any]] | None = env.reset(seed=seed)
        # A resumed run replaces these draws, and then the first observation is drawn
        # anew: see `rng`.
        self._fresh_state = _state_of(self.rng)

    @property
    def rng(self) -> Any:
        return getattr(self._env.unwrapped, "np_random", None)

    def run(
        self, n_episodes: int, step_goal: int | None
    ) -> tuple[list[float], list[int]]:
        if self._first is not None and _state_of(self.rng) == self._fresh_state:
            observation, info = self._first
        else:
            observation, info = self._env.reset()
        self._first = None
        agent, env = self._agent, self._env
        action: int | None = agent.act(observation, mask=info.get("action_mask"))
        gained, length = 0.0, 0
        while action is not None:
            following, reward, terminated, truncated, info = env.step(action)
            reward = float(reward)
            if not math.isfinite(reward):
                raise ValueError(f"The environment returned the reward {reward}.")
            gained += reward
            length += 1
            if length == self._limit and not (terminated or truncated):
                truncated = True
                self.n_cut += 1
            action = agent.step(
                observation,
                action,
                reward,
                following,
                bool(terminated),
                bool(truncated),
                mask=None if terminated else info.get("action_mask"),
            )
            observation = following
        return [gained], [length]


def _is_pcg64(rng: Any) -> bool:
    state = _state_of(rng)
    return state is not None and state["bit_generator"] == "PCG64"


def _state_of(rng: Any) -> dict[str, Any] | None:
    if not isinstance(rng, np.random.Generator):
        return None
    return dict(rng.bit_generator.state)
