"""Checkpoints: arrays and JSON in one npz file; loading it never runs code."""

# SPDX-License-Identifier: BSD-3-Clause

import json
import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewlabels.reinforcement._agent import Agent
from fewlabels.reinforcement._connectionist import ConnectionistQAgent
from fewlabels.reinforcement._deep import DQNAgent
from fewlabels.reinforcement._history import TrainingHistory
from fewlabels.reinforcement._schedules import Schedule
from fewlabels.reinforcement._tabular import (
    DoubleQLearningAgent,
    QLearningAgent,
    SarsaAgent,
    WeightedDoubleQLearningAgent,
)

FORMAT = 1
_META = "json"

AGENTS: dict[str, type[Agent]] = {
    cls.__name__: cls
    for cls in (
        ConnectionistQAgent,
        DQNAgent,
        DoubleQLearningAgent,
        QLearningAgent,
        SarsaAgent,
        WeightedDoubleQLearningAgent,
    )
}


def write_checkpoint(
    path: str | os.PathLike[str], arrays: dict[str, NDArray[Any]], meta: dict[str, Any]
) -> None:
    """Write a file atomically: as a whole or not at all."""
    target = Path(path)
    text = json.dumps({"format": FORMAT, **meta}).encode()
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            entries: dict[str, Any] = {_META: np.frombuffer(text, np.uint8), **arrays}
            np.savez(file, **entries)
            file.flush()
            os.fsync(file.fileno())
        os.replace(name, target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def read_checkpoint(
    path: str | os.PathLike[str],
) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """Read what `write_checkpoint` wrote; pickled objects are refused."""
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        meta = json.loads(arrays.pop(_META).tobytes())
    except (KeyError, ValueError, EOFError, AttributeError, OSError) as error:
        if isinstance(error, FileNotFoundError):
            raise
        raise ValueError(f"{path} is not a checkpoint of fewlabels.") from error
    if meta.get("format") != FORMAT:
        raise ValueError(
            f"{path} has format {meta.get('format')!r}; this version reads {FORMAT}."
        )
    return arrays, meta


def _plain_parameters(agent: Agent) -> dict[str, Any]:
    """Write the parameters of an agent as JSON can hold them."""
    plain: dict[str, Any] = {}
    for name, value in agent.get_params(deep=False).items():
        if isinstance(value, Schedule):
            plain[name] = {"Schedule": value.as_dict()}
        elif isinstance(value, tuple | list):
            plain[name] = [int(n) for n in value]
        elif isinstance(value, np.generic):
            plain[name] = value.item()
        else:
            plain[name] = value
    return plain


def save_training(
    path: str | os.PathLike[str],
    agent: Agent,
    history: TrainingHistory,
    rng: np.random.Generator,
    settings: dict[str, Any],
) -> None:
    arrays, numbers = agent.get_state()
    meta = {
        "agent": type(agent).__name__,
        "parameters": _plain_parameters(agent),
        "state": numbers,
        "seed": history.seed,
        "environment": rng.bit_generator.state,
        "settings": settings,
    }
    write_checkpoint(path, {**arrays, **history._arrays()}, meta)


def resume_training(
    path: str | os.PathLike[str],
    agent: Agent,
    seed: int | None,
    settings: dict[str, Any],
) -> tuple[TrainingHistory, dict[str, Any]]:
    """Restore an agent from a checkpoint, if the two match."""
    arrays, meta = read_checkpoint(path)
    now = {
        "agent": type(agent).__name__,
        "parameters": _plain_parameters(agent),
        "seed": meta["seed"] if seed is None else int(seed),
        "settings": settings,
    }
    for name, value in now.items():
        if meta[name] != value:
            raise ValueError(
                f"{path} was written with {name} {meta[name]}, now it is {value}: a "
                "resumed run must have the same."
            )
    agent.set_state(arrays, meta["state"])
    return TrainingHistory._from_arrays(arrays, meta["seed"]), meta["environment"]


def load_checkpoint(
    path: str | os.PathLike[str], env: Any
) -> tuple[Agent, TrainingHistory]:
    """Load the agent and the history of a checkpoint.

    Parameters
    ----------
    path : path
        A file that :func:`train` wrote. Loading it never runs code from it.
    env : environment
        An environment like the one that the agent was trained in; its spaces are read.

    Returns
    -------
    agent : Agent
        As it was.
    history : TrainingHistory
        Up to then.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from fewlabels.reinforcement import (
    ...     GridWorld,
    ...     QLearningAgent,
    ...     load_checkpoint,
    ...     train,
    ... )
    >>> env, agent = GridWorld("cliff"), QLearningAgent(random_state=0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "cliff.npz"
    ...     history = train(agent, env, n_episodes=10, seed=0, checkpoint=path)
    ...     loaded, _ = load_checkpoint(path, env)
    >>> bool((loaded.q_values_ == agent.q_values_).all())
    True
    """
    arrays, meta = read_checkpoint(path)
    if meta["agent"] not in AGENTS:
        raise ValueError(f"{path} holds an unknown kind of agent, {meta['agent']!r}.")
    parameters: dict[str, Any] = {
        name: Schedule(**value["Schedule"]) if isinstance(value, dict) else value
        for name, value in meta["parameters"].items()
    }
    if "hidden" in parameters:
        parameters["hidden"] = tuple(parameters["hidden"])
    agent = AGENTS[meta["agent"]](**parameters).begin(env)
    agent.set_state(arrays, meta["state"])
    return agent, TrainingHistory._from_arrays(arrays, meta["seed"])
