"""Plots of the learning curves of agents."""

# SPDX-License-Identifier: BSD-3-Clause

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as student

from fewlabels.plotting._model_selection import _axis

KINDS = ("returns", "lengths", "evaluation")


class TrainingDisplay:
    """Plot of the learning curves of one or several agents.

    Parameters
    ----------
    histories : TrainingHistory, sequence of them, or dict
        From :func:`fewlabels.reinforcement.train`. A sequence holds repetitions with
        different seeds: their mean is drawn, with a confidence band. A dict holds one
        such entry for each name.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where the curves are.
    figure_ : matplotlib Figure
        The figure.
    lines_ : list of matplotlib Line2D
        The means, one line for every name.
    bands_ : list of matplotlib PolyCollection
        Confidence intervals of the means; none for single runs.

    See Also
    --------
    fewlabels.reinforcement.train : Makes the histories.

    Examples
    --------
    >>> from fewlabels.plotting import TrainingDisplay
    >>> from fewlabels.reinforcement import GridWorld, QLearningAgent, train
    >>> env = GridWorld("cliff")
    >>> runs = [
    ...     train(QLearningAgent(random_state=k), env, n_episodes=50, seed=k)
    ...     for k in range(3)
    ... ]
    >>> display = TrainingDisplay({"Q-learning": runs}).plot(window=10)
    >>> display.ax_.get_ylabel()
    'return, mean of 10 episodes'
    """

    def __init__(self, histories: Any) -> None:
        self.histories = histories

    def plot(
        self,
        kind: str = "returns",
        *,
        window: int = 1,
        confidence: float = 0.95,
        ax: Any = None,
    ) -> Self:
        """Draw the curves.

        Parameters
        ----------
        kind : {"returns", "lengths", "evaluation"}, default="returns"
            Returns or lengths of the episodes of training, or the mean returns of the
            evaluations in between.
        window : int, default=1
            Number of last episodes to average over.
        confidence : float, default=0.95
            Level of the band around the mean of several runs.
        ax : matplotlib Axes, default=None
            Where to draw; a new figure when None.

        Returns
        -------
        self : TrainingDisplay
            With the matplotlib objects as attributes.
        """
        if kind not in KINDS:
            raise ValueError(f"kind must be one of {KINDS}, got {kind!r}.")
        if window < 1:
            raise ValueError(f"window must be at least 1, got {window}.")
        if not 0 < confidence < 1:
            raise ValueError(f"confidence must be in (0, 1), got {confidence}.")
        given = self.histories
        groups = given if isinstance(given, Mapping) else {"": given}
        ax = _axis(ax)
        self.ax_, self.figure_ = ax, ax.figure
        self.lines_: list[Any] = []
        self.bands_: list[Any] = []
        for i, (name, group) in enumerate(groups.items()):
            runs = group if isinstance(group, Sequence) else [group]
            self._draw(*_curves(runs, kind, window), str(name), f"C{i}", confidence)
        what = "length" if kind == "lengths" else "return"
        if kind == "evaluation":
            what += " without exploration"
        ax.set_xlabel("episodes")
        ax.set_ylabel(what + (f", mean of {window} episodes" if window > 1 else ""))
        ax.spines[["top", "right"]].set_visible(False)
        ax.grid(axis="y", alpha=0.3)
        if any(groups):
            ax.legend(frameon=False)
        return self

    def _draw(
        self,
        at: NDArray[np.int64],
        curves: NDArray[np.float64],
        name: str,
        color: str,
        confidence: float,
    ) -> None:
        """Draw one line: `curves` holds a row for every run."""
        mean = curves.mean(axis=0)
        self.lines_ += self.ax_.plot(at, mean, color=color, label=name or None)
        n_runs = len(curves)
        if n_runs > 1:
            half = student.ppf((1 + confidence) / 2, n_runs - 1) * curves.std(
                axis=0, ddof=1
            )
            half /= np.sqrt(n_runs)
            self.bands_.append(
                self.ax_.fill_between(
                    at, mean - half, mean + half, alpha=0.2, lw=0, color=color
                )
            )


def _curves(
    runs: Sequence[Any], kind: str, window: int
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return positions on the axis and values, cut to the common length of all runs."""
    if kind == "evaluation":
        rows = [run.evaluation_returns.mean(axis=1) for run in runs]
        at = min((run.evaluated_at for run in runs), key=len)
    else:
        rows = [np.asarray(getattr(run, kind), dtype=np.float64) for run in runs]
        at = np.arange(1, min(map(len, rows)) + 1)
    if not len(at):
        raise ValueError(
            "There is nothing to draw: no episode was completed, or train had no "
            "evaluate_every."
        )
    values = np.array([row[: len(at)] for row in rows])
    total = np.concatenate([np.zeros((len(values), 1)), values.cumsum(axis=1)], axis=1)
    end = np.arange(1, values.shape[1] + 1)
    first = np.maximum(end - window, 0)
    return at, (total[:, end] - total[:, first]) / (end - first)
