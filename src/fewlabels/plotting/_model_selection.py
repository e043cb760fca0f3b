"""Plots of learning curves and comparisons."""

# SPDX-License-Identifier: BSD-3-Clause

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

AGAINST = ("labels", "unlabeled")
KINDS = ("differences", "scores")


def _axis(ax: Any) -> Any:
    """Return the given axis, or that of a new figure."""
    if ax is not None:
        return ax
    try:
        from matplotlib import pyplot as plt
    except ImportError as error:
        raise ImportError(
            "Plots need matplotlib: pip install 'fewlabels[plot]'."
        ) from error
    return plt.subplots(layout="constrained")[1]


class LabelCurveDisplay:
    """Plot of a learning curve over labels or unlabelled rows.

    Parameters
    ----------
    curve : LabelCurve
        From :func:`fewlabels.model_selection.learning_curve_labels`.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where the curves are.
    figure_ : matplotlib Figure
        The figure.
    lines_ : list of matplotlib Line2D
        The means, one line for every curve.
    bands_ : list of matplotlib PolyCollection
        One standard error on both sides of them; empty for a single repetition.
    goal_ : matplotlib Line2D
        The final error of `reference`, if given.
    marks_ : list of matplotlib Line2D
        Where other curves reach it.

    See Also
    --------
    fewlabels.model_selection.learning_curve_labels : Computes the curve.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from fewlabels.model_selection import learning_curve_labels
    >>> from fewlabels.plotting import LabelCurveDisplay
    >>> from fewlabels.semi_supervised import RLSClassifier
    >>> X, y = make_moons(200, noise=0.1, random_state=0)
    >>> curve = learning_curve_labels(
    ...     RLSClassifier(), X, y, n_labels=[4, 16], n_repeats=3, random_state=0
    ... )
    >>> display = LabelCurveDisplay(curve).plot()
    >>> display.ax_.get_xlabel()
    'labels'
    """

    def __init__(self, curve: Any) -> None:
        self.curve = curve

    def plot(
        self,
        against: str = "labels",
        *,
        ax: Any = None,
        as_error: bool = True,
        reference: str | None = None,
    ) -> Self:
        """Draw the curves.

        Parameters
        ----------
        against : {"labels", "unlabeled"}, default="labels"
            What the horizontal axis shows. Against labels there is one curve per
            estimator, with the most unlabelled rows; against unlabelled rows there is
            one per estimator and number of labels.
        ax : matplotlib Axes, default=None
            Where to draw; a new figure when None.
        as_error : bool, default=True
            Whether to show errors (1 - score, or -score of ``neg_...``) or scores.
        reference : str, default=None
            Name of a curve, such as "random". A line shows its final error, and marks
            show how many labels the others need to reach it. Only for errors against
            labels.

        Returns
        -------
        self : LabelCurveDisplay
            With the matplotlib objects as attributes.
        """
        if against not in AGAINST:
            raise ValueError(
                f"against must be 'labels' or 'unlabeled', got {against!r}."
            )
        curve = self.curve
        if reference is not None:
            if reference not in curve.names:
                raise ValueError(
                    f"reference={reference!r} is not among the curves "
                    f"{', '.join(curve.names)}."
                )
            if against != "labels" or not as_error:
                raise ValueError("reference needs against='labels' and as_error=True.")
        values = curve.errors if as_error else curve.scores
        ax = _axis(ax)
        self.ax_, self.figure_ = ax, ax.figure
        self.lines_: list[Any] = []
        self.bands_: list[Any] = []
        styles = ["-", "--", ":", "-."]
        for e, name in enumerate(curve.names):
            if against == "labels":
                self._draw(curve.n_labels, values[e, :, -1], name, f"C{e}", "-")
                continue
            for i, count in enumerate(curve.n_labels):
                label = f"{name}, {count} labels"
                style = styles[i % len(styles)]
                self._draw(curve.n_unlabeled, values[e, i], label, f"C{e}", style)
        counts = curve.n_labels if against == "labels" else curve.n_unlabeled
        self._count_axis(counts)
        if reference is not None:
            self._mark_needed(reference)
        ax.set_xlabel("labels" if against == "labels" else "unlabelled rows")
        ax.set_ylabel(self._value_name(as_error))
        if as_error and values.min() >= 0:
            ax.set_ylim(bottom=0)
        ax.spines[["top", "right"]].set_visible(False)
        ax.grid(axis="y", alpha=0.3)
        ax.legend(frameon=False)
        return self

    def _mark_needed(self, reference: str) -> None:
        """Show a curve's final error, and which curves reach it with fewer labels."""
        curve = self.curve
        goal = float(curve.errors[curve.names.index(reference), -1, -1].mean())
        self.goal_ = self.ax_.axhline(goal, color="grey", lw=1, ls="--", zorder=0)
        self.marks_: list[Any] = []
        for e, count in enumerate(curve.labels_needed(goal).values()):
            if curve.names[e] != reference and not np.isnan(count):
                self.marks_ += self.ax_.plot(
                    count, goal, marker="v", ms=9, color=f"C{e}", mec="white", ls=""
                )

    def _draw(
        self,
        counts: NDArray[np.intp],
        values: NDArray[Any],
        label: str,
        color: str,
        style: str,
    ) -> None:
        """Draw one curve: `values` holds a row of repetitions for every count."""
        mean = values.mean(axis=1)
        self.lines_ += self.ax_.plot(
            counts, mean, marker="o", ms=4, ls=style, color=color, label=label
        )
        if values.shape[1] > 1:
            error = values.std(axis=1, ddof=1) / np.sqrt(values.shape[1])
            self.bands_.append(
                self.ax_.fill_between(
                    counts, mean - error, mean + error, alpha=0.15, lw=0, color=color
                )
            )

    def _count_axis(self, counts: NDArray[np.intp]) -> None:
        """Show the counts themselves, on a logarithmic axis if they vary widely."""
        if counts[-1] >= 8 * max(counts[0], 1):
            # Zero unlabelled rows are placed one doubling below the first count.
            first = max(counts[counts > 0][0], 1)
            self.ax_.set_xscale("symlog", linthresh=first, linscale=np.log10(2))
        self.ax_.set_xticks(counts, [f"{count:,}" for count in counts])
        self.ax_.xaxis.set_minor_locator(_no_ticks())

    def _value_name(self, as_error: bool) -> str:
        metric = self.curve.metric
        if not as_error:
            return metric
        if metric == "accuracy":
            return "error"
        return metric.removeprefix("neg_") if metric[:4] == "neg_" else f"1 - {metric}"


def _no_ticks() -> Any:
    from matplotlib.ticker import NullLocator

    return NullLocator()


class ComparisonDisplay:
    """Plot of a comparison of several estimators.

    Parameters
    ----------
    comparison : Comparison
        From :func:`fewlabels.model_selection.compare`.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where the plot is.
    figure_ : matplotlib Figure
        The figure.

    See Also
    --------
    fewlabels.model_selection.compare : Computes the comparison.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from fewlabels.model_selection import LabelShuffleSplit, compare
    >>> from fewlabels.plotting import ComparisonDisplay
    >>> from fewlabels.semi_supervised import RLSClassifier
    >>> X, y = make_moons(200, noise=0.1, random_state=0)
    >>> models = {"wide": RLSClassifier(gamma=1.0), "narrow": RLSClassifier(gamma=99.0)}
    >>> cv = LabelShuffleSplit(5, n_labeled=10, random_state=0)
    >>> display = ComparisonDisplay(compare(models, X, y, cv=cv)).plot()
    >>> [text.get_text() for text in display.ax_.get_yticklabels()]
    ['narrow']
    """

    def __init__(self, comparison: Any) -> None:
        self.comparison = comparison

    def plot(self, kind: str = "differences", *, ax: Any = None) -> Self:
        """Draw the comparison, one line for every estimator.

        Parameters
        ----------
        kind : {"differences", "scores"}, default="differences"
            Differences from the reference with their confidence intervals, or the
            scores of all splits with their means.
        ax : matplotlib Axes, default=None
            Where to draw; a new figure when None.

        Returns
        -------
        self : ComparisonDisplay
            With the matplotlib objects as attributes.
        """
        if kind not in KINDS:
            raise ValueError(f"kind must be 'differences' or 'scores', got {kind!r}.")
        found = self.comparison
        ax = _axis(ax)
        self.ax_, self.figure_ = ax, ax.figure
        base = found.names.index(found.reference)
        shown = [e for e in range(len(found.names)) if kind == "scores" or e != base]
        if not shown:
            raise ValueError("There is only the reference: use kind='scores'.")
        for place, e in enumerate(shown):
            values = found.scores[:, e]
            if kind == "differences":
                values = values - found.scores[:, base]
            # Splits one above the other, in order.
            offsets = np.linspace(0.1, 0.32, values.size)
            ax.scatter(values, place + offsets, s=12, color=f"C{e}", alpha=0.5, lw=0)
            mean, half = values.mean(), 0.0
            if kind == "differences" and values.size > 1:
                half = found.difference(found.names[e]).high - mean
            ax.errorbar(
                mean, place, xerr=half or None, fmt="o", color=f"C{e}", capsize=4
            )
        if kind == "differences":
            ax.axvline(0, color="black", lw=1)
            bars = f"bars: {100 * found.confidence:g} % interval"
            ax.set_xlabel(f"{found.metric} minus that of {found.reference} ({bars})")
        else:
            ax.set_xlabel(f"{found.metric} (small dots: splits)")
        ax.set_yticks(range(len(shown)), [found.names[e] for e in shown])
        ax.set_ylim(len(shown) - 0.4, -0.5)  # the first estimator on top
        ax.spines[["top", "right"]].set_visible(False)
        ax.grid(axis="x", alpha=0.3)
        return self
