"""Grid worlds, and small processes on which methods are compared."""

# SPDX-License-Identifier: BSD-3-Clause

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fewlabels._params import check_choice, check_number
from fewlabels.reinforcement._environments import TabularEnv
from fewlabels.reinforcement._tables import mean_rewards

LAYOUTS = {
    "cliff": ("............", "............", "............", "SXXXXXXXXXXG"),
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
    "lake": ("S...", ".H.H", "...H", "H..G"),
}
# Up, right, down, left.
MOVES = ((-1, 0), (0, 1), (1, 0), (0, -1))


class GridWorld(TabularEnv):
    """A grid world, read from a map.

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
            check_choice("layout", layout, LAYOUTS)
            layout = LAYOUTS[layout]
        self.layout = tuple(layout)
        check_number("slip", slip, 0, 1)
        if not self.layout or len({len(line) for line in self.layout}) != 1:
            raise ValueError("layout must have at least one row, all of one length.")
        signs = np.array([list(line) for line in self.layout])
        unknown = set(signs.ravel()) - set(".#SGHX")
        if unknown:
            raise ValueError(f"layout: unknown signs {sorted(unknown)}.")
        # No episode stays on a cliff: like a wall, it is not a state.
        self.cells = np.argwhere((signs != "#") & (signs != "X"))
        kinds = signs[tuple(self.cells.T)]
        if not (kinds == "S").any():
            raise ValueError("layout needs a start, S.")
        self._number = np.full(signs.shape, -1)
        self._number[tuple(self.cells.T)] = np.arange(len(self.cells))
        start = (kinds == "S") / np.sum(kinds == "S")
        reward_of = {".": step_reward, "S": step_reward, "G": goal_reward}
        reward_of |= {"H": pit_reward, "X": pit_reward}
        ways: list[tuple[int, int, float, float]] = []  # row, state, chance, gain
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
                        ways.append((row, state, chance, step_reward))
                    elif sign == "X":
                        for first in np.flatnonzero(start):
                            share = chance * start[first]
                            ways.append((row, int(first), share, pit_reward))
                    else:
                        number = self._number[tuple(there)]
                        ways.append((row, number, chance, reward_of[str(sign)]))
        shape = (4 * len(self.cells), len(self.cells))
        rows, columns, chances, gains = map(np.array, zip(*ways, strict=True))
        transitions, rewards = mean_rewards(rows, columns, chances, gains, shape)
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
    episode with a normal reward of mean `mean`. Left is the worse choice, but the
    largest of the noisy values in state 1 stays positive for a long time.

    Parameters
    ----------
    n_actions : int, default=10
        Actions in state 1, at least two.
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
    check_number("n_actions", n_actions, 2)
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
    check_number("size", size, 2)
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
