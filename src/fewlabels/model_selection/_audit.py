"""Check predictions: draw rows, let a person label them, and bound the error."""

# SPDX-License-Identifier: BSD-3-Clause

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state

from fewlabels._words import listed, plural
from fewlabels.model_selection._stratified import ShareEstimate, stratified_interval

# Three strata; fewer where a stratum would get fewer rows than this.
N_STRATA = 3
ROWS_PER_STRATUM = 4
# Later looks of a sequential audit double the rows; their number is bounded because all
# of their rows are drawn at the beginning.
MAX_LOOKS = 7


@dataclass(frozen=True)
class AuditReport:
    """What the rows of an audit say about all rows.

    It is made by :meth:`ErrorAudit.report`. Each interval has the coverage of the audit
    on its own; all of them together have less.

    Attributes
    ----------
    error : ShareEstimate
        Share of rows with a wrong prediction.
    by_class : dict of object to ShareEstimate
        The same among the rows of every predicted class.
    by_confidence : list of tuple of float, float, ShareEstimate
        The same by confidence, the least and the largest first: one entry per stratum,
        the most confident first.
    class_shares : dict of object to ShareEstimate
        Shares of the true classes, known labels included.
    n_missing : int
        Rows of the audit without a label. They count as right for the lower ends, and
        as wrong for the upper ends.
    """

    error: ShareEstimate
    by_class: dict[Any, ShareEstimate]
    by_confidence: list[tuple[float, float, ShareEstimate]]
    class_shares: dict[Any, ShareEstimate]
    n_missing: int


@dataclass
class ErrorAudit:
    """Measure the error of predictions on rows drawn at random, whatever the model is.

    Rows are drawn in three strata of confidence, without replacement, a person labels
    them, and :func:`stratified_interval` bounds the share of wrong predictions. The
    interval assumes nothing about the model: a model that is wrong where it is
    confident makes it wider, not wrong. Make an audit by :meth:`draw`.

    A sequential audit may be stopped after any look: the first has `n_rows` rows, and
    each further one doubles them. The k-th look spends a share :math:`2^{-k}` of the
    probability to miss, so that all intervals hold at once with probability `level`,
    and the error lies in their intersection.

    Attributes
    ----------
    sizes : dict of object to list of int
        Rows of every predicted class in every stratum.
    bounds : list of tuple of float, float
        Least and largest confidence of every stratum.
    looks : list of list of int
        Rows to draw from every stratum up to each look.
    drawn : list of list of int
        Rows of every stratum, in the order in which they are drawn.
    predicted : list of list of object
        Their predicted classes.
    known : dict of object to int
        Rows of every class whose label is known, and not to be checked.
    level : float
        Least probability that an interval contains what it is about.
    look : int
        The current look, from 1.

    See Also
    --------
    stratified_interval : The interval.

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.model_selection import ErrorAudit
    >>> truth = np.arange(1000) % 2
    >>> predicted = np.where(np.arange(1000) % 20 == 0, 1 - truth, truth)
    >>> audit = ErrorAudit.draw(predicted, n_rows=60, random_state=0)
    >>> report = audit.report({row: truth[row] for row in audit.rows})
    >>> print(report.error)  # the truth is 5.0 %
    1.7 % (0.1 to 7.4 %)
    """

    sizes: dict[Any, list[int]]
    bounds: list[tuple[float, float]]
    looks: list[list[int]]
    drawn: list[list[int]]
    predicted: list[list[Any]]
    known: dict[Any, int] = field(default_factory=dict)
    level: float = 0.9
    look: int = 1

    @classmethod
    def draw(
        cls,
        predicted: Sequence[Hashable] | NDArray[Any],
        confidence: ArrayLike | None = None,
        *,
        n_rows: int = 30,
        sequential: bool = False,
        known: Mapping[Any, int] | None = None,
        level: float = 0.9,
        random_state: Any = None,
    ) -> "ErrorAudit":
        r"""Draw the rows to label.

        Half of the rows are divided in proportion to the sizes of the strata, the other
        half in proportion to :math:`N_h \sqrt{p_h (1 - p_h)}` with the error
        :math:`p_h` that the confidence predicts (Neyman): the latter alone loses much
        where the confidence is wrong.

        Parameters
        ----------
        predicted : array-like of shape (n_samples,)
            Predicted classes of all rows in question.
        confidence : array-like of shape (n_samples,), default=None
            Probabilities that they are right; without, there is a single stratum.
        n_rows : int, default=30
            How many rows to draw; all where there are no more.
        sequential : bool, default=False
            Whether one may look again after more rows, see :meth:`extend`.
        known : dict of object to int, default=None
            Rows of every class whose label is known already. They are part of the
            class shares only.
        level : float, default=0.9
            Least probability that an interval contains what it is about.
        random_state : int, RandomState instance or None, default=None
            Seed.

        Returns
        -------
        audit : ErrorAudit
            The audit; `rows` are to be labelled.
        """
        values = list(predicted.tolist() if hasattr(predicted, "tolist") else predicted)
        n = len(values)
        if n == 0:
            raise ValueError("predicted is empty: there is no prediction to check.")
        if n_rows < 1:
            raise ValueError(f"n_rows must be at least 1, got {n_rows}.")
        if not 0 < level < 1:
            raise ValueError(f"level must lie between 0 and 1, got {level!r}.")
        sure = np.full(n, 0.5) if confidence is None else np.asarray(confidence, float)
        if sure.shape != (n,):
            raise ValueError(
                f"confidence must have one value for each of the {n} predictions, got "
                f"shape {sure.shape}."
            )
        # An unknown confidence is a guess between two.
        sure = np.clip(np.where(np.isnan(sure), 0.5, sure), 0.0, 1.0)
        rng = check_random_state(random_state)
        n_rows = min(n_rows, n)
        n_strata = min(N_STRATA, n_rows // ROWS_PER_STRATUM) if np.ptp(sure) else 1
        strata = _strata(sure, max(1, n_strata), rng)
        looks = _looks(sure, strata, n_rows, sequential)
        drawn = [
            rng.permutation(rows)[:size].tolist()
            for rows, size in zip(strata, looks[-1], strict=True)
        ]
        sizes: dict[Any, list[int]] = {}
        for h, rows in enumerate(strata):
            for row in rows:
                sizes.setdefault(values[row], [0] * len(strata))[h] += 1
        return cls(
            sizes,
            [(float(sure[rows].min()), float(sure[rows].max())) for rows in strata],
            looks,
            drawn,
            [[values[row] for row in rows] for rows in drawn],
            dict(known or {}),
            level,
        )

    @property
    def n_samples(self) -> int:
        """How many rows there are."""
        return sum(map(sum, self.sizes.values()))

    @property
    def is_sequential(self) -> bool:
        """Whether one may look again."""
        return len(self.looks) > 1

    @property
    def rows(self) -> NDArray[np.intp]:
        """The rows to label up to the current look, in the order of the table."""
        return np.sort(np.array([row for row, _, _ in self._rows()], dtype=np.intp))

    def _rows(self, look: int | None = None) -> list[tuple[int, int, Any]]:
        """List rows up to a look, with their strata and predictions."""
        sizes = self.looks[(look or self.look) - 1]
        return [
            (row, h, guess)
            for h, size in enumerate(sizes)
            for row, guess in zip(
                self.drawn[h][:size], self.predicted[h][:size], strict=True
            )
        ]

    def extend(self) -> NDArray[np.intp]:
        """Go to the next look, which has twice as many rows.

        Returns
        -------
        rows : ndarray of int
            Those to label besides the rows of earlier looks; none after the last look.
        """
        before = set(self.rows.tolist())
        self.look = min(self.look + 1, len(self.looks))
        return np.array([r for r in self.rows if r not in before], dtype=np.intp)

    def report(self, labels: Mapping[int, Any]) -> AuditReport:
        """Bound the error by the true labels of the rows.

        Parameters
        ----------
        labels : dict of int to object
            The label of every row of `rows`. None, or a row that is left out, is a
            label that nobody gave.

        Returns
        -------
        report : AuditReport
            The error with its interval, by class and by confidence, and class shares.
        """
        given = {row: label for row, label in labels.items() if label is not None}
        planned = {row for row, _, _ in self._rows(len(self.looks))}
        strangers = sorted(set(given) - planned)
        if strangers:
            raise ValueError(
                f"labels has {plural(len(strangers), 'row')} that the audit did not "
                f"draw ({listed(strangers, 5)}): rows that were not drawn at random "
                "would make the interval wrong."
            )
        rows, level = self._rows(), self._level(self.look)
        n_strata = len(self.bounds)
        totals = np.sum(list(self.sizes.values()), axis=0)

        def share(
            sizes: ArrayLike, rows: Sequence[tuple[int, int, Any]], is_hit: Any
        ) -> ShareEstimate:
            counts = np.zeros((3, n_strata), dtype=np.intp)
            for row, h, guess in rows:
                counts[0, h] += 1
                if row not in given:
                    counts[2, h] += 1
                else:
                    counts[1, h] += is_hit(given[row], guess)
            drawn, hits, unknown = counts
            return stratified_interval(sizes, drawn, hits, unknown=unknown, level=level)

        def is_wrong(label: Any, guess: Any) -> bool:
            return bool(label != guess)

        by_class = {
            name: share(sizes, [r for r in rows if r[2] == name], is_wrong)
            for name, sizes in self.sizes.items()
        }
        by_confidence = []
        for h, (low, high) in enumerate(self.bounds):
            own = np.where(np.arange(n_strata) == h, totals, 0)
            found = share(own, [r for r in rows if r[1] == h], is_wrong)
            by_confidence.append((low, high, found))
        names = dict.fromkeys([*self.known, *self.sizes, *given.values()])
        shares = {
            name: self._with_known(
                name, share(totals, rows, lambda label, _, name=name: label == name)
            )
            for name in names
        }
        missing = sum(row not in given for row, _, _ in rows)
        error = share(totals, rows, is_wrong)
        for look in range(1, self.look):
            level = self._level(look)
            earlier = share(totals, self._rows(look), is_wrong)
            error = _both(error, earlier)
        return AuditReport(error, by_class, by_confidence, shares, missing)

    def _level(self, look: int) -> float:
        """Coverage of one look."""
        return 1 - (1 - self.level) * (2.0**-look if self.is_sequential else 1.0)

    def _with_known(self, name: Any, share: ShareEstimate) -> ShareEstimate:
        """Count rows with a known label too."""
        n, known = share.n_rows, sum(self.known.values())
        own = self.known.get(name, 0)
        value, low, high = (
            (n * x + own) / (n + known) for x in (share.value, share.low, share.high)
        )
        return ShareEstimate(value, low, high, n + known, share.n_drawn, share.level)


def _both(one: ShareEstimate, other: ShareEstimate) -> ShareEstimate:
    """Intersect two intervals of one share; the first where they are disjoint."""
    low, high = max(one.low, other.low), min(one.high, other.high)
    if low > high:
        return one
    value = min(max(one.value, low), high)
    return ShareEstimate(value, low, high, one.n_rows, one.n_drawn, one.level)


def _spread(sure: NDArray[Any]) -> NDArray[Any]:
    """Predict standard deviations of being wrong from the confidence."""
    return np.sqrt(sure * (1 - sure))


def _strata(
    sure: NDArray[Any], n_strata: int, rng: np.random.RandomState
) -> list[NDArray[np.intp]]:
    """Cut rows by confidence so that each part has the same sum of deviations."""
    order = np.lexsort((rng.random_sample(sure.size), -sure))
    effort = np.cumsum(_spread(sure[order]) + 1e-6)
    cuts = np.searchsorted(effort, effort[-1] * np.arange(1, n_strata) / n_strata)
    # No stratum is so small that it cannot get its rows.
    least = min(ROWS_PER_STRATUM, sure.size // n_strata)
    for k in range(n_strata - 1):
        cuts[k] = max(cuts[k], least + (cuts[k - 1] if k else 0))
    for k in reversed(range(n_strata - 1)):
        after = cuts[k + 1] if k + 2 < n_strata else sure.size
        cuts[k] = min(cuts[k], after - least)
    return [np.sort(part) for part in np.split(order, cuts)]


def _looks(
    sure: NDArray[Any],
    strata: Sequence[NDArray[np.intp]],
    n_rows: int,
    sequential: bool,
) -> list[list[int]]:
    """Divide the rows of every look among the strata."""
    sizes = np.array([rows.size for rows in strata])
    effort = np.array([_spread(sure[rows]).sum() + 1e-6 for rows in strata])
    shares = 0.5 * sizes / sizes.sum() + 0.5 * effort / effort.sum()
    looks = [_divide(shares, sizes, n_rows)]
    while sequential and sum(looks[-1]) < sure.size and len(looks) < MAX_LOOKS:
        wanted = _divide(shares, sizes, min(2 * sum(looks[-1]), sure.size))
        # Rounding must not take a row back that has been drawn.
        looks.append([max(a, b) for a, b in zip(wanted, looks[-1], strict=True)])
    return looks


def _divide(shares: NDArray[Any], sizes: NDArray[np.intp], n_rows: int) -> list[int]:
    """Round shares of rows to whole numbers, at least one and at most all."""
    parts = np.minimum(np.maximum(np.floor(shares * n_rows), 1), sizes)
    while parts.sum() != n_rows:
        step = 1 if parts.sum() < n_rows else -1
        lacking = step * (shares * n_rows - parts)
        possible = parts < sizes if step > 0 else parts > 1
        if not possible.any():
            break
        parts[np.where(possible, lacking, -np.inf).argmax()] += step
    return parts.astype(int).tolist()
