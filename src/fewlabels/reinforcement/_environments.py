"""Environments in tables: finite processes to interact with."""

# SPDX-License-Identifier: BSD-3-Clause

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from fewlabels._params import check_choice, check_number
from fewlabels.reinforcement._mdp import MDP
from fewlabels.reinforcement._tables import Tables, make_tables, tables_from_gymnasium

NOISES = ("normal", "two-point")


class DiscreteSpace:
    """The integers 0, ..., n - 1; what gymnasium's ``Discrete`` is to our own agents.

    Parameters
    ----------
    n : int
        How many there are.

    Examples
    --------
    >>> from fewlabels.reinforcement import DiscreteSpace
    >>> DiscreteSpace(4).contains(3)
    True
    """

    def __init__(self, n: int) -> None:
        self.n = int(n)

    def __repr__(self) -> str:
        return f"DiscreteSpace({self.n})"

    def contains(self, x: Any) -> bool:
        """Tell whether a value belongs to the space.

        Parameters
        ----------
        x : object
            The value.

        Returns
        -------
        inside : bool
            Whether it does.
        """
        return isinstance(x, int | np.integer) and 0 <= int(x) < self.n


class TabularEnv:
    """A finite process to interact with, by the interface of gymnasium.

    ``reset`` and ``step`` are those of ``gymnasium.Env``, and neither needs gymnasium;
    :meth:`to_gymnasium` makes a true ``gymnasium.Env`` for its wrappers. Training a
    tabular agent in such an environment runs compiled.

    Parameters
    ----------
    transitions : array-like of shape (n_states, n_actions, n_states), or sparse
        As in :class:`MDP`.
    rewards : array-like of shape (n_states,), (n_states, n_actions) or like transitions
        Mean rewards.
    terminal : array-like, default=None
        States, or a mask of them, where an episode ends.
    available : array-like of bool of shape (n_states, n_actions), default=None
        Which actions there are in each state. Where some are missing, ``info`` holds
        the ``action_mask`` of the state, as in gymnasium.
    start : int or array-like of shape (n_states,), default=0
        State where episodes begin, or probabilities of all states.
    reward_noise : float or array-like of shape (n_states, n_actions), default=0.0
        Standard deviation of the rewards.
    noise : {"normal", "two-point"}, default="normal"
        Distribution of the noise; "two-point" adds or subtracts the deviation.
    max_steps : int, default=10_000
        Episodes that are longer are truncated.

    Attributes
    ----------
    observation_space, action_space : DiscreteSpace
        The states and the actions.
    tables : Tables
        Transitions and rewards in stacked form.
    np_random : numpy.random.Generator
        What all draws come from; seeded by ``reset(seed=...)``.

    See Also
    --------
    MDP : The same process for planning.
    GridWorld : Environments from a map.

    Examples
    --------
    >>> from fewlabels.reinforcement import TabularEnv
    >>> env = TabularEnv([[[0, 1]], [[0, 1]]], [1.0, 0.0], terminal=[1])
    >>> env.reset(seed=0)
    (0, {})
    >>> env.step(0)  # state, reward, terminated, truncated, info
    (1, 1.0, True, False, {})
    """

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012
    render_mode = None
    spec = None

    def __init__(
        self,
        transitions: Any,
        rewards: Any,
        *,
        terminal: ArrayLike | None = None,
        available: ArrayLike | None = None,
        start: int | ArrayLike = 0,
        reward_noise: float | ArrayLike = 0.0,
        noise: str = "normal",
        max_steps: int = 10_000,
    ) -> None:
        tables = make_tables(transitions, rewards, terminal, available)
        self._set(tables, start, reward_noise, noise, max_steps)

    def _set(
        self, tables: Tables, start: Any, reward_noise: Any, noise: str, max_steps: int
    ) -> None:
        self.tables = tables
        n_states, n_actions = tables.available.shape
        check_choice("noise", noise, NOISES)
        check_number("max_steps", max_steps, 1)
        self.noise, self.max_steps = noise, int(max_steps)
        self.reward_noise = np.broadcast_to(
            np.asarray(reward_noise, dtype=np.float64), (n_states, n_actions)
        ).ravel()
        if not ((self.reward_noise >= 0) & np.isfinite(self.reward_noise)).all():
            raise ValueError("reward_noise must be finite and not negative.")
        self.start = np.zeros(n_states)
        given = np.asarray(start)
        if given.ndim == 0:
            if not 0 <= int(given) < n_states:
                raise ValueError(f"start must be one of the {n_states} states.")
            self.start[int(given)] = 1.0
        elif given.shape == (n_states,) and abs(given.sum() - 1) < 1e-8:
            self.start[:] = given
        else:
            raise ValueError(
                "start must be a state, or one probability for each state."
            )
        if self.start.min() < 0 or self.start[tables.terminal].any():
            raise ValueError("start must not be negative, nor at a terminal state.")
        self._start = np.cumsum(self.start)
        indptr = tables.transitions.indptr
        # Summed up row by row; what precedes a row is subtracted.
        total = np.concatenate([[0.0], np.cumsum(tables.transitions.data)])
        before = np.repeat(total[indptr[:-1]], np.diff(indptr))
        self._cumulative = total[1:] - before
        self._indptr = indptr.astype(np.int64)
        self._indices = tables.transitions.indices.astype(np.int64)
        self._masked = not tables.available[~tables.terminal].all()
        self.observation_space = DiscreteSpace(n_states)
        self.action_space = DiscreteSpace(n_actions)
        self.np_random = np.random.default_rng()
        self._state = -1
        self._elapsed = 0

    @classmethod
    def from_gymnasium(cls, env: Any, *, max_steps: int = 10_000) -> "TabularEnv":
        """Copy an environment of gymnasium that carries its table.

        Parameters
        ----------
        env : gymnasium.Env
            FrozenLake, CliffWalking, Taxi or another one with an attribute ``P``. Where
            it has no ``initial_state_distrib``, episodes begin in its first state.
        max_steps : int, default=10_000
            Episodes that are longer are truncated.

        Returns
        -------
        env : TabularEnv
            The copy.
        """
        made = TabularEnv.__new__(TabularEnv)
        tables = tables_from_gymnasium(env)
        start = np.atleast_1d(getattr(env.unwrapped, "initial_state_distrib", 1.0))
        # No episode begins in an end state that was added.
        start = np.pad(start, (0, len(tables.terminal) - len(start)))
        made._set(tables, start, 0.0, "normal", max_steps)
        return made

    @property
    def unwrapped(self) -> "TabularEnv":
        """The environment itself: nothing is wrapped around it."""
        return self

    def mdp(self, gamma: float) -> MDP:
        """Return the process for planning.

        Parameters
        ----------
        gamma : float
            The discount.

        Returns
        -------
        mdp : MDP
            With the mean rewards.
        """
        return MDP._from_tables(self.tables, gamma)

    def loop_arguments(self) -> tuple[Any, ...]:
        """Return the tables as the compiled loops take them.

        Returns
        -------
        arguments : tuple
            Arrays, the kind of noise and the limit of steps.
        """
        tables = self.tables
        return (
            self._indptr, self._indices, self._cumulative, tables.rewards,
            self.reward_noise, NOISES.index(self.noise), tables.available,
            tables.terminal, self._start, self.max_steps,
        )  # fmt: skip

    def _info(self) -> dict[str, Any]:
        if not self._masked or self.tables.terminal[self._state]:
            return {}
        return {"action_mask": self.tables.available[self._state].astype(np.int8)}

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[int, dict[str, Any]]:
        """Begin an episode.

        Parameters
        ----------
        seed : int, default=None
            Restart all draws from this seed; None continues with the current state.
        options : dict, default=None
            Not used.

        Returns
        -------
        state : int
            Where the episode begins.
        info : dict
            The ``action_mask``, where actions are missing.
        """
        from fewlabels._loops.reinforcement import first_state

        if seed is not None:
            self.np_random = np.random.default_rng(np.random.SeedSequence(seed))
        self._state = int(first_state(self._start, self.np_random))
        self._elapsed = 0
        return self._state, self._info()

    def step(self, action: int) -> tuple[int, float, bool, bool, dict[str, Any]]:
        """Take an action.

        Parameters
        ----------
        action : int
            Which one.

        Returns
        -------
        state : int
            Where it led.
        reward : float
            What it was worth.
        terminated : bool
            Whether that state is terminal.
        truncated : bool
            Whether the episode was as long as allowed.
        info : dict
            The ``action_mask``, where actions are missing.
        """
        from fewlabels._loops.reinforcement import environment_step

        draw: Any = environment_step
        if self._state < 0 or self.tables.terminal[self._state]:
            raise ValueError("The episode is over, or none was begun: call reset.")
        if not self.action_space.contains(action):
            raise ValueError(f"action {action!r} is not in {self.action_space!r}.")
        if not self.tables.available[self._state, action]:
            raise ValueError(f"action {action} is not available in {self._state}.")
        state, reward = draw(
            *self.loop_arguments()[:6],
            self._state * self.action_space.n + int(action),
            self.np_random,
        )
        self._state = int(state)
        self._elapsed += 1
        terminated = bool(self.tables.terminal[state])
        truncated = not terminated and self._elapsed >= self.max_steps
        return self._state, float(reward), terminated, truncated, self._info()

    def close(self) -> None:
        """Do nothing: there is nothing to close."""

    def to_gymnasium(self) -> Any:
        """Wrap the environment as a true ``gymnasium.Env``.

        Returns
        -------
        env : gymnasium.Env
            Steps through this very environment.
        """
        try:
            import gymnasium
        except ImportError as error:
            raise ImportError(
                "A gymnasium.Env needs gymnasium: "
                "pip install 'fewlabels[reinforcement]'."
            ) from error
        table = self

        class Wrapped(gymnasium.Env):
            observation_space = gymnasium.spaces.Discrete(table.observation_space.n)
            action_space = gymnasium.spaces.Discrete(table.action_space.n)

            def reset(self, *, seed: Any = None, options: Any = None) -> Any:
                super().reset(seed=seed)
                table.np_random = self.np_random
                return table.reset(options=options)

            def step(self, action: Any) -> Any:
                return table.step(int(action))

        return Wrapped()
