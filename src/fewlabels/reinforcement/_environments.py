"""Environments in tables: finite processes to interact with, and grid worlds."""

# SPDX-License-Identifier: BSD-3-Clause

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from fewlabels.reinforcement._mdp import MDP
from fewlabels.reinforcement._tables import Tables, make_tables, tables_from_gymnasium

NOISES = ("normal", "two-point")

LAYOUTS = {
    "cliff": (
        "............",
        "............",
        "............",
        "SXXXXXXXXXXG",
    ),
    "four-rooms": (
        "#############",
        "#S....#.....#",
        "#.....#.....#",
        "#...........#",
        "#.....#.....#",
        "#.....#.....#",
        "##.####.....#",
        "#.....###.###",
        "#.....#.....#",
        "#.....#.....#",
        "#...........#",
        "#.....#....G#",
        "#############",
    ),
    "lake": (
        "S...",
        ".H.H",
        "...H",
        "H..G",
    ),
}
# Up, right, down, left.
MOVES = ((-1, 0), (0, 1), (1, 0), (0, -1))


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
        self,
        tables: Tables,
        start: int | ArrayLike,
        reward_noise: float | ArrayLike,
        noise: str,
        max_steps: int,
    ) -> None:
        self.tables = tables
        n_states, n_actions = tables.available.shape
        if noise not in NOISES:
            raise ValueError(f"noise must be one of {NOISES}, got {noise!r}.")
        if max_steps < 1:
            raise ValueError(f"max_steps must be at least 1, got {max_steps}.")
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
        # An end that was added is where no episode begins.
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
        return (
            self._indptr,
            self._indices,
            self._cumulative,
            self.tables.rewards,
            self.reward_noise,
            NOISES.index(self.noise),
            self.tables.available,
            self.tables.terminal,
            self._start,
            self.max_steps,
        )

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

            def reset(
                self,
                *,
                seed: int | None = None,
                options: dict[str, Any] | None = None,
            ) -> tuple[int, dict[str, Any]]:
                super().reset(seed=seed)
                table.np_random = self.np_random
                return table.reset(options=options)

            def step(
                self, action: Any
            ) -> tuple[int, float, bool, bool, dict[str, Any]]:
                return table.step(int(action))

        return Wrapped()


class GridWorld(TabularEnv):
    """A walker on a map.

    Actions 0, 1, 2, 3 go up, right, down and left; against a wall or the edge the
    walker stays where it is. Signs of the map:

    ===== =============================================================
    ``.`` a free cell
    ``#`` a wall
    ``S`` free; episodes begin here (at one of them, if several)
    ``G`` a goal: the episode ends
    ``H`` a hole: the episode ends, with the reward of a pit
    ``X`` a cliff: back to the start, with the reward of a pit
    ===== =============================================================

    Parameters
    ----------
    layout : {"cliff", "four-rooms", "lake"} or sequence of str, default="cliff"
        The map, one string for every row. "cliff" is the cliff walk of [1]_.
    step_reward : float, default=-1.0
        Reward of a step onto a free cell.
    goal_reward : float, default=-1.0
        Reward of the step onto a goal.
    pit_reward : float, default=-100.0
        Reward of a step into a hole or from a cliff.
    slip : float, default=0.0
        Probability of going to one of the two sides instead, each with half of it.
    reward_noise : float, default=0.0
        Standard deviation of all rewards.
    noise : {"normal", "two-point"}, default="normal"
        Distribution of the noise.
    max_steps : int, default=10_000
        Episodes that are longer are truncated.

    Attributes
    ----------
    layout : tuple of str
        The map.
    cells : ndarray of shape (n_states, 2)
        Row and column of every state; walls are no states.

    References
    ----------
    .. [1] R. S. Sutton and A. G. Barto, "Reinforcement Learning: An Introduction", 2nd
           edition, 2018, example 6.6.

    Examples
    --------
    >>> from fewlabels.reinforcement import GridWorld, value_iteration
    >>> env = GridWorld("cliff")
    >>> solution = value_iteration(env.mdp(gamma=0.99))
    >>> print(env.render_policy(solution.policy))
    →→→→→→→→→→→↓
    →→→→→→→→→→→↓
    →→→→→→→→→→→↓
    ↑XXXXXXXXXXG
    """

    def __init__(
        self,
        layout: str | Sequence[str] = "cliff",
        *,
        step_reward: float = -1.0,
        goal_reward: float = -1.0,
        pit_reward: float = -100.0,
        slip: float = 0.0,
        reward_noise: float = 0.0,
        noise: str = "normal",
        max_steps: int = 10_000,
    ) -> None:
        if isinstance(layout, str):
            if layout not in LAYOUTS:
                raise ValueError(
                    f"layout={layout!r} is unknown; use one of {sorted(LAYOUTS)} or a "
                    "sequence of strings."
                )
            layout = LAYOUTS[layout]
        self.layout = tuple(layout)
        if not 0 <= slip <= 1:
            raise ValueError(f"slip must be in [0, 1], got {slip}.")
        if not self.layout or len({len(line) for line in self.layout}) != 1:
            raise ValueError("layout must have at least one row, all of one length.")
        signs = np.array([list(line) for line in self.layout])
        unknown = set(signs.ravel()) - set(".#SGHX")
        if unknown:
            raise ValueError(f"layout: unknown signs {sorted(unknown)}.")
        # Nobody stands on a cliff: like a wall it is no state.
        self.cells = np.argwhere((signs != "#") & (signs != "X"))
        kinds = signs[tuple(self.cells.T)]
        if not (kinds == "S").any():
            raise ValueError("layout needs a start, S.")
        self._number = np.full(signs.shape, -1)
        self._number[tuple(self.cells.T)] = np.arange(len(self.cells))
        start = (kinds == "S") / np.sum(kinds == "S")
        reward_of = {".": step_reward, "S": step_reward, "G": goal_reward}
        reward_of |= {"H": pit_reward, "X": pit_reward}
        rows, columns, chances, gains = [], [], [], []

        def add(row: int, state: int, chance: float, gain: float) -> None:
            rows.append(row)
            columns.append(state)
            chances.append(chance)
            gains.append(chance * gain)

        for state, cell in enumerate(self.cells):
            for action in range(4):
                row = 4 * state + action
                for turn, chance in ((0, 1 - slip), (1, slip / 2), (3, slip / 2)):
                    if chance == 0:
                        continue
                    there = cell + MOVES[(action + turn) % 4]
                    inside = (there >= 0).all() and (there < signs.shape).all()
                    sign = signs[tuple(there)] if inside else "#"
                    if sign == "#":
                        add(row, state, chance, step_reward)
                    elif sign == "X":
                        for first in np.flatnonzero(start):
                            add(row, int(first), chance * start[first], pit_reward)
                    else:
                        number = self._number[tuple(there)]
                        add(row, number, chance, reward_of[str(sign)])
        shape = (4 * len(self.cells), len(self.cells))
        transitions = sparse.coo_array((chances, (rows, columns)), shape=shape).tocsr()
        rewards = sparse.coo_array((gains, (rows, columns)), shape=shape).tocsr()
        rewards.data /= transitions.data  # of several ways to one cell, the mean
        super().__init__(
            transitions,
            rewards,
            terminal=np.isin(kinds, ["G", "H"]),
            start=start,
            reward_noise=reward_noise,
            noise=noise,
            max_steps=max_steps,
        )

    def render_policy(self, policy: ArrayLike) -> str:
        """Draw a policy on the map.

        Parameters
        ----------
        policy : array-like of shape (n_states,)
            An action for every state.

        Returns
        -------
        picture : str
            The map with arrows on its free cells.
        """
        chosen = np.asarray(policy)
        picture = [list(line) for line in self.layout]
        for (row, column), action, ended in zip(
            self.cells, chosen, self.tables.terminal, strict=True
        ):
            if not ended:
                picture[row][column] = "↑→↓←"[action]
        return "\n".join("".join(line) for line in picture)

    def render_values(self, values: ArrayLike) -> NDArray[np.float64]:
        """Write the values of the states on the map.

        Parameters
        ----------
        values : array-like of shape (n_states,)
            A value for every state.

        Returns
        -------
        picture : ndarray of shape (n_rows, n_columns)
            The values, not a number where there is no state.
        """
        picture = np.full(self._number.shape, np.nan)
        picture[tuple(self.cells.T)] = values
        return picture


def make_maximization_bias(
    *, n_actions: int = 10, mean: float = -0.1, scale: float = 1.0
) -> TabularEnv:
    """Make the process of Sutton and Barto that misleads Q-learning.

    Episodes begin in state 0. Action 1, right, ends them with reward 0. Action 0, left,
    leads to state 1 with reward 0, from where each of `n_actions` actions ends the
    episode with a normal reward of mean `mean`. Left is the wrong choice, but the
    largest of the noisy values in state 1 stays positive for a long time.

    Parameters
    ----------
    n_actions : int, default=10
        Actions in state 1, two at least.
    mean : float, default=-0.1
        Mean of their rewards.
    scale : float, default=1.0
        Standard deviation of their rewards.

    Returns
    -------
    env : TabularEnv
        With three states; episodes of length 2 went left.

    References
    ----------
    .. [1] R. S. Sutton and A. G. Barto, "Reinforcement Learning: An Introduction", 2nd
           edition, 2018, example 6.7.

    Examples
    --------
    >>> from fewlabels.reinforcement import make_maximization_bias, value_iteration
    >>> env = make_maximization_bias()
    >>> value_iteration(env.mdp(gamma=0.99)).policy[0]  # right
    np.int64(1)
    """
    if n_actions < 2:
        raise ValueError(f"n_actions must be at least 2, got {n_actions}.")
    transitions = np.zeros((3, n_actions, 3))
    transitions[0, 0, 1] = 1.0
    transitions[0, 1:, 2] = 1.0
    transitions[1:, :, 2] = 1.0
    rewards = np.zeros((3, n_actions))
    rewards[1] = mean
    noise = np.zeros((3, n_actions))
    noise[1] = scale
    available = np.ones((3, n_actions), dtype=bool)
    available[0, 2:] = False
    return TabularEnv(
        transitions, rewards, terminal=[2], available=available, reward_noise=noise
    )


def make_noisy_grid(
    *, size: int = 3, mean: float = -1.0, scale: float = 11.0, goal: float = 5.0
) -> TabularEnv:
    """Make the grid of van Hasselt whose rewards are mostly noise.

    The walk goes from one corner of a square to the opposite one. Each step is worth
    `mean` plus or minus `scale`, -12 or 10; any action in the goal ends the episode
    with reward `goal`.

    Parameters
    ----------
    size : int, default=3
        Cells along a side.
    mean : float, default=-1.0
        Mean reward of a step.
    scale : float, default=11.0
        What is added or subtracted.
    goal : float, default=5.0
        Reward in the goal.

    Returns
    -------
    env : TabularEnv
        State size * row + column; the last one is the end.

    References
    ----------
    .. [1] H. van Hasselt, "Double Q-learning", Advances in Neural Information
           Processing Systems 23, 2010.

    Examples
    --------
    >>> from fewlabels.reinforcement import make_noisy_grid, value_iteration
    >>> env = make_noisy_grid()
    >>> start = (3 - 1) * 3  # the lower left corner
    >>> round(value_iteration(env.mdp(gamma=0.95)).values[start], 2)
    np.float64(0.36)
    """
    if size < 2:
        raise ValueError(f"size must be at least 2, got {size}.")
    free = "." * (size - 1)
    world = GridWorld([free + "G"] + [free + "."] * (size - 2) + ["S" + free])
    end, target = size * size, size - 1
    n_states = end + 1
    transitions = np.zeros((n_states, 4, n_states))
    walk = world.tables.transitions.toarray().reshape(end, 4, end)
    transitions[:end, :, :end] = walk
    transitions[target] = 0.0
    transitions[target, :, end] = 1.0
    rewards = np.full((n_states, 4), mean)
    rewards[target] = goal
    noise = np.full((n_states, 4), scale)
    noise[target] = 0.0
    return TabularEnv(
        transitions,
        rewards,
        terminal=[end],
        start=(size - 1) * size,
        reward_noise=noise,
        noise="two-point",
    )
