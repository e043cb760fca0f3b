"""What all agents share."""

# SPDX-License-Identifier: BSD-3-Clause

from abc import ABC, abstractmethod
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

from fewlabels._sklearn import Interval
from fewlabels.reinforcement._schedules import Schedule, as_schedule

Mask = NDArray[np.int8] | NDArray[np.bool_] | None

GAMMA = [Interval(Real, 0, 1, closed="both")]
SCHEDULE = [Interval(Real, 0, 1, closed="both"), Schedule]
SEED = [Interval(Integral, 0, None, closed="left"), None]


class Step(NamedTuple):
    """What happened in one step; see `Agent.step` for its fields."""

    observation: Any
    action: int
    reward: float
    next_observation: Any
    terminated: bool
    truncated: bool
    mask: Mask


def discrete_size(space: Any) -> int | None:
    """Return n for the space of the integers 0, ..., n - 1, None for any other."""
    # MultiBinary of gymnasium has an attribute n too, but the shape of a vector.
    n = getattr(space, "n", None)
    if n is None or getattr(space, "shape", None) or getattr(space, "start", 0) != 0:
        return None
    return int(n)


class Agent(BaseEstimator, ABC):
    """Base of all agents.

    :func:`train` drives an agent through three methods: :meth:`begin` once, :meth:`act`
    at the start of every episode, and :meth:`step` after every transition. A loop of
    your own can do the same::

        agent.begin(env)
        observation, info = env.reset(seed=0)
        action = agent.act(observation)
        while action is not None:
            following, reward, terminated, truncated, info = env.step(action)
            following_action = agent.step(
                observation, action, reward, following, terminated, truncated
            )
            observation, action = following, following_action

    Parameters are checked by :meth:`begin`. What is learned has names that end in an
    underscore.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {}
    random_state: int | None

    def begin(self, env: Any) -> Self:
        """Forget everything and prepare for an environment.

        Parameters
        ----------
        env : environment
            Anything with the interface of ``gymnasium.Env`` and finitely many actions.

        Returns
        -------
        self : Agent
            Without experience.
        """
        self._validate_params()
        n_actions = discrete_size(env.action_space)
        if n_actions is None:
            raise ValueError(
                f"The action space {env.action_space!r} is not supported; it must be "
                "Discrete and start at 0."
            )
        self.n_actions_ = n_actions
        self.rng_ = np.random.default_rng(self.random_state)
        self.n_steps_ = 0
        self._begin(env)
        self._read_schedules()
        return self

    @abstractmethod
    def _read_schedules(self) -> None:
        """Read the parameters that may change between two trainings."""

    def _go_on(self) -> None:
        """Prepare for further training."""
        self._validate_params()
        self._read_schedules()
        self._end_interrupted_episode()

    @abstractmethod
    def _begin(self, env: Any) -> None:
        """Allocate what is learned."""

    @abstractmethod
    def act(self, observation: Any, *, mask: Mask = None, explore: bool = True) -> int:
        """Choose an action.

        Parameters
        ----------
        observation : int or array-like
            Where the agent is.
        mask : array-like of shape (n_actions,), default=None
            Which actions are available; all of them when None.
        explore : bool, default=True
            Whether the choice may be random; otherwise it is the first of the best
            actions.

        Returns
        -------
        action : int
            The choice.
        """

    def step(
        self,
        observation: Any,
        action: int,
        reward: float,
        next_observation: Any,
        terminated: bool,
        truncated: bool = False,
        *,
        mask: Mask = None,
    ) -> int | None:
        """Learn from a transition and choose what to do next.

        Parameters
        ----------
        observation : int or array-like
            Where the agent was.
        action : int
            What it did.
        reward : float
            What it got.
        next_observation : int or array-like
            Where it is now.
        terminated : bool
            Whether nothing can follow.
        truncated : bool, default=False
            Whether the episode was cut here, though something could follow.
        mask : array-like of shape (n_actions,), default=None
            Which actions are available at `next_observation`.

        Returns
        -------
        action : int or None
            The next action, None where the episode is over.
        """
        self.n_steps_ += 1
        following = next_observation
        return self._take(
            Step(observation, action, reward, following, terminated, truncated, mask)
        )

    @abstractmethod
    def _take(self, step: Step) -> int | None:
        """Learn from a step that `step` has counted."""

    @abstractmethod
    def q_values(self, observation: Any) -> NDArray[np.float64]:
        """Return the values of all actions.

        Parameters
        ----------
        observation : int or array-like
            Where.

        Returns
        -------
        values : ndarray of shape (n_actions,)
            Expected returns, or penalties.
        """

    @abstractmethod
    def _arrays(self) -> dict[str, NDArray[Any]]:
        """All that was learned; changed in place by `_load_arrays`."""

    def _load_arrays(self, arrays: dict[str, NDArray[Any]]) -> None:
        for name, own in self._arrays().items():
            if name not in arrays or arrays[name].shape != own.shape:
                raise ValueError(
                    f"The checkpoint does not fit the agent: {name} has shape "
                    f"{arrays[name].shape if name in arrays else None} instead of "
                    f"{own.shape}. Is it from another environment?"
                )
            own[...] = arrays[name]

    def get_state(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """Return everything that further learning depends on.

        Returns
        -------
        arrays : dict of ndarray
            What was learned.
        numbers : dict
            The rest, in a form that JSON can hold.
        """
        self._check_begun()
        arrays = {name: array.copy() for name, array in self._arrays().items()}
        numbers = {
            "n_steps": int(self.n_steps_),
            "rng": self.rng_.bit_generator.state,
            **self._numbers(),
        }
        return arrays, numbers

    def _check_begun(self) -> None:
        if not hasattr(self, "rng_"):
            raise NotFittedError(
                f"This {type(self).__name__} has not begun in any environment: call "
                "train, or begin."
            )

    def _numbers(self) -> dict[str, Any]:
        return {}

    def set_state(
        self, arrays: dict[str, NDArray[Any]], numbers: dict[str, Any]
    ) -> Self:
        """Continue from a state that :meth:`get_state` returned.

        Parameters
        ----------
        arrays : dict of ndarray
            What was learned.
        numbers : dict
            The rest.

        Returns
        -------
        self : Agent
            As it was then. The agent must have begun in the same environment.
        """
        self._check_begun()
        self._load_arrays(arrays)
        self.n_steps_ = int(numbers["n_steps"])
        self.rng_.bit_generator.state = numbers["rng"]
        self._load_numbers(numbers)
        return self

    def _load_numbers(self, numbers: dict[str, Any]) -> None:
        """Restore what `_numbers` returned."""

    def _end_interrupted_episode(self) -> None:
        """Forget what belongs to an unfinished episode."""


class NetworkAgent(Agent):
    """Base of the agents that see a vector and choose from values of a network."""

    epsilon: float | Schedule

    def _begin(self, env: Any) -> None:
        space = env.observation_space
        n_states = discrete_size(space)
        shape = getattr(space, "shape", None)
        self._is_discrete = n_states is not None
        if n_states is not None:
            self.n_inputs_ = n_states
        elif shape:
            self.n_inputs_ = int(np.prod(shape))
        else:
            raise ValueError(
                f"The observation space {space!r} is not supported; flatten it with "
                "gymnasium.wrappers.FlattenObservation, or let it start at 0."
            )
        self._begin_networks()

    def _read_schedules(self) -> None:
        self.epsilon_ = as_schedule(self.epsilon, "epsilon")

    @abstractmethod
    def _begin_networks(self) -> None:
        """Allocate networks for `n_inputs_` and `n_actions_`."""

    def _encode(self, observation: Any) -> NDArray[Any]:
        """Write an observation as a vector."""
        if self._is_discrete:
            vector = np.zeros(self.n_inputs_)
            vector[int(observation)] = 1.0
            return vector
        return np.asarray(observation, dtype=np.float64).reshape(-1)

    def act(self, observation: Any, *, mask: Mask = None, explore: bool = True) -> int:
        """Choose an action.

        Parameters
        ----------
        observation : int or array-like
            Where the agent is.
        mask : array-like of shape (n_actions,), default=None
            Which actions are available; all of them when None.
        explore : bool, default=True
            Whether the choice may be random; otherwise it is the first of the best
            actions.

        Returns
        -------
        action : int
            The choice.
        """
        if explore and self.rng_.random() < self.epsilon_(self.n_steps_ + 1):
            if mask is None:
                return int(self.rng_.integers(self.n_actions_))
            return int(self.rng_.choice(np.flatnonzero(mask)))
        values = self.q_values(observation)
        if not np.isfinite(values).all():
            raise FloatingPointError(
                "The values of the network are not finite: learning diverged. Use a "
                "smaller learning_rate, or scale observations and rewards."
            )
        if mask is not None:
            values = np.where(np.asarray(mask, dtype=bool), values, -np.inf)
        return int(np.argmax(values))
