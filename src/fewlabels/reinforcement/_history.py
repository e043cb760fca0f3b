"""The record of a training."""

# SPDX-License-Identifier: BSD-3-Clause

from dataclasses import dataclass, field, fields
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fewlabels._params import check_number

_floats: Any = partial(np.empty, 0)
_integers: Any = partial(np.empty, 0, np.int64)
_rows: Any = partial(np.empty, (0, 0))


@dataclass
class TrainingHistory:
    """What happened during training.

    Attributes
    ----------
    returns : ndarray of shape (n_episodes,)
        Sum of the rewards of every episode, not discounted.
    lengths : ndarray of shape (n_episodes,)
        Steps of every episode.
    evaluated_at : ndarray of shape (n_evaluations,)
        After how many episodes the agent was evaluated.
    evaluation_returns : ndarray of shape (n_evaluations, evaluation_episodes)
        Sums of rewards without exploration.
    monitored : ndarray of shape (n_evaluations, ...)
        What `monitor` returned, if it was given.
    seed : int
        Seed of the environment.
    """

    returns: NDArray[np.float64] = field(default_factory=_floats)
    lengths: NDArray[np.int64] = field(default_factory=_integers)
    evaluated_at: NDArray[np.int64] = field(default_factory=_integers)
    evaluation_returns: NDArray[np.float64] = field(default_factory=_rows)
    monitored: NDArray[np.float64] = field(default_factory=_floats)
    seed: int = 0

    @property
    def n_episodes(self) -> int:
        """Episodes that were completed."""
        return len(self.returns)

    @property
    def n_steps(self) -> int:
        """Steps of all of them."""
        return int(self.lengths.sum())

    def moving_average(self, window: int = 100) -> NDArray[np.float64]:
        """Mean return of the last episodes, after every episode.

        Parameters
        ----------
        window : int, default=100
            How many episodes; at the beginning there are fewer.

        Returns
        -------
        means : ndarray of shape (n_episodes,)
            The means.
        """
        check_number("window", window, 1)
        total = np.concatenate([[0.0], np.cumsum(self.returns)])
        end = np.arange(1, len(total))
        first = np.maximum(end - window, 0)
        return (total[end] - total[first]) / (end - first)

    def solved_at(self, threshold: float, window: int = 100) -> int | None:
        """Find the episode at which the mean return first reached a threshold.

        Parameters
        ----------
        threshold : float
            What a mean return must reach.
        window : int, default=100
            Over how many consecutive episodes.

        Returns
        -------
        n_episodes : int or None
            How many episodes it took, `window` at least; None if it never did.
        """
        means = self.moving_average(window)[window - 1 :]
        reached = np.flatnonzero(means >= threshold)
        return int(reached[0]) + window if reached.size else None

    def _append(self, returns: ArrayLike, lengths: ArrayLike) -> None:
        self.returns = np.append(self.returns, returns)
        self.lengths = np.append(self.lengths, np.asarray(lengths, dtype=np.int64))

    def _append_evaluation(
        self, returns: NDArray[np.float64], monitored: ArrayLike | None
    ) -> None:
        before = len(self.evaluated_at)
        self.evaluated_at = np.append(self.evaluated_at, self.n_episodes)
        known = self.evaluation_returns.reshape(before, len(returns))
        self.evaluation_returns = np.vstack([known, returns])
        if monitored is not None:
            value = np.asarray(monitored, dtype=np.float64)[None]
            if before and len(self.monitored):
                value = np.concatenate([self.monitored, value])
            self.monitored = value

    def _arrays(self) -> dict[str, NDArray[Any]]:
        names = [field.name for field in fields(self) if field.name != "seed"]
        return {f"history_{name}": getattr(self, name) for name in names}

    @classmethod
    def _from_arrays(
        cls, arrays: dict[str, NDArray[Any]], seed: int
    ) -> "TrainingHistory":
        prefix = "history_"
        own = {
            name.removeprefix(prefix): array
            for name, array in arrays.items()
            if name.startswith(prefix)
        }
        return cls(**own, seed=seed)
