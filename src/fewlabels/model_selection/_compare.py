"""Compare several estimators on the same hidden labels."""

# SPDX-License-Identifier: BSD-3-Clause

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import indexable

from fewlabels._labels import with_holes
from fewlabels._params import check_number
from fewlabels._progress import Progress, ProgressLine
from fewlabels.model_selection._cross_validation import (
    check_splits,
    judge_split,
    metric_name,
)


class PairedDifference(NamedTuple):
    """Mean difference of two estimators over the same splits.

    Attributes
    ----------
    mean : float
        Score of the first minus that of the second, so that positive is better.
    low, high : float
        Bounds of the confidence interval; NaN for a single split.

    Examples
    --------
    >>> from fewlabels.model_selection import PairedDifference
    >>> PairedDifference(mean=0.05, low=0.02, high=0.08).low > 0
    True
    """

    mean: float
    low: float
    high: float


@dataclass(frozen=True, eq=False)
class Comparison:
    """Result of :func:`compare`; printed, it is a table.

    Attributes
    ----------
    names : tuple of str
        The estimators.
    metric : str
        Name of the score; larger is better.
    scores : ndarray of shape (n_splits, n_estimators)
        The score of every estimator in every split.
    fit_seconds : ndarray of shape (n_splits, n_estimators)
        How long training took.
    n_labeled : ndarray of shape (n_splits,)
        Labels in training.
    n_test : ndarray of shape (n_splits,)
        Number of test rows.
    reference : str
        The estimator that the others are compared with.
    confidence : float
        Confidence of the intervals in the table.
    """

    names: tuple[str, ...]
    metric: str
    scores: NDArray[Any]
    fit_seconds: NDArray[Any]
    n_labeled: NDArray[np.intp]
    n_test: NDArray[np.intp]
    reference: str
    confidence: float

    def difference(
        self,
        name: str,
        reference: str | None = None,
        *,
        confidence: float | None = None,
        corrected: bool = True,
    ) -> PairedDifference:
        r"""Compare two estimators split by split.

        The interval is Student's, with variance
        :math:`s^2 (1/J + \rho / (1 - \rho))` for J splits and the variance
        :math:`s^2` of the differences. :math:`\rho` is the share of the labelled rows
        that splits have in common: :math:`\min(n_{train}, n_{test}) / n`. For test
        sets smaller than training sets this is the correction of Nadeau and Bengio.

        Parameters
        ----------
        name : str
            The first estimator.
        reference : str, default=None
            The second; that of the table when None.
        confidence : float, default=None
            Confidence of the interval; that of the table when None.
        corrected : bool, default=True
            Whether to widen the interval because the splits share rows. Without the
            correction it refers to other draws of labels from these same rows, with it
            to other rows.

        Returns
        -------
        difference : PairedDifference
            Mean and interval.

        References
        ----------
        .. [1] C. Nadeau, Y. Bengio, "Inference for the generalization error", Machine
           Learning 52 (2003). :doi:`10.1023/A:1024068626366`
        """
        level = self.confidence if confidence is None else confidence
        check_number("confidence", level, above=0, below=1)
        one, other = self._column(name), self._column(reference or self.reference)
        d = self.scores[:, one] - self.scores[:, other]
        if d.size == 1:
            return PairedDifference(float(d[0]), np.nan, np.nan)
        shared = 0.0
        if corrected:
            smaller = np.minimum(self.n_labeled, self.n_test)
            rho = float(np.mean(smaller / (self.n_labeled + self.n_test)))
            shared = rho / (1 - rho)
        spread = d.std(ddof=1) * np.sqrt(1 / d.size + shared)
        half = float(stats.t.ppf((1 + level) / 2, df=d.size - 1) * spread)
        mean = float(d.mean())
        return PairedDifference(mean, mean - half, mean + half)

    def _column(self, name: str) -> int:
        if name not in self.names:
            raise ValueError(
                f"{name!r} is not among the estimators {', '.join(self.names)}."
            )
        return self.names.index(name)

    def to_rows(self) -> list[dict[str, Any]]:
        """Return the table, one dict per estimator, as `pandas.DataFrame` takes it.

        Returns
        -------
        rows : list of dict
            Keys "estimator", "mean" and "std" of the score, "difference", "low" and
            "high" of the difference from the reference (NaN for the reference), "wins"
            and "losses" against it, and "fit_seconds".
        """
        base = self._column(self.reference)
        rows = []
        for column, name in enumerate(self.names):
            scores = self.scores[:, column]
            gap = (
                PairedDifference(np.nan, np.nan, np.nan)
                if column == base
                else self.difference(name)
            )
            rows.append(
                {
                    "estimator": name,
                    "mean": float(scores.mean()),
                    "std": float(scores.std(ddof=1)) if scores.size > 1 else np.nan,
                    "difference": gap.mean,
                    "low": gap.low,
                    "high": gap.high,
                    "wins": int((scores > self.scores[:, base]).sum()),
                    "losses": int((scores < self.scores[:, base]).sum()),
                    "fit_seconds": float(self.fit_seconds[:, column].mean()),
                }
            )
        return rows

    def __str__(self) -> str:
        width = max(len("estimator"), *map(len, self.names))
        interval = f"{100 * self.confidence:g} % interval"
        lines = [
            f"{self.metric}, {self.scores.shape[0]} splits, "
            f"{_span(self.n_labeled)} labels in training, {_span(self.n_test)} rows "
            f"tested; differences from {self.reference}",
            f"{'estimator':{width}}    mean     std  difference  {interval:^18}"
            "  wins  losses  seconds",
        ]
        for row in self.to_rows():
            line = f"{row['estimator']:{width}}  {row['mean']:6.3f}  {row['std']:6.3f}"
            if row["estimator"] == self.reference:
                line += " " * 46
            else:
                bounds = f"[{row['low']:+.3f}, {row['high']:+.3f}]"
                line += f"  {row['difference']:+10.3f}  {bounds:^18}"
                line += f"  {row['wins']:4d}  {row['losses']:6d}"
            lines.append(f"{line}  {row['fit_seconds']:7.2g}")
        return "\n".join(lines)


def _span(counts: NDArray[np.intp]) -> str:
    low, high = counts.min(), counts.max()
    return f"{low}" if low == high else f"{low} to {high}"


def check_estimators(estimators: Any) -> dict[str, Any]:
    """Give every estimator a name.

    Examples
    --------
    >>> from sklearn.svm import SVC
    >>> from fewlabels.model_selection._compare import check_estimators
    >>> list(check_estimators([SVC(), SVC(C=10)]))
    ['SVC', 'SVC 2']
    """
    if isinstance(estimators, Mapping):
        named = {str(name): estimator for name, estimator in estimators.items()}
    else:
        several = estimators if isinstance(estimators, list | tuple) else [estimators]
        named = {}
        for estimator in several:
            name, count = type(estimator).__name__, 1
            while (new := name if count == 1 else f"{name} {count}") in named:
                count += 1
            named[new] = estimator
    if not named:
        raise ValueError("estimators is empty: give at least one.")
    for name, estimator in named.items():
        if not hasattr(estimator, "fit"):
            raise ValueError(f"estimators: {name!r} has no fit: {estimator!r}.")
    return named


def compare(
    estimators: Any,
    X: Any,
    y: ArrayLike,
    *,
    groups: ArrayLike | None = None,
    cv: Any = None,
    scoring: Any = None,
    held_out: str = "unlabeled",
    reference: str | None = None,
    confidence: float = 0.95,
    n_jobs: int | None = None,
    progress: Progress = False,
) -> Comparison:
    """Compare several estimators on the same hidden labels.

    With few labels, the choice of hidden labels matters more than the estimator. So all
    estimators get the same splits, and differences are taken split by split.

    Parameters
    ----------
    estimators : dict or list of estimators
        The candidates, by name. They must support unlabelled rows; wrap
        supervised estimators of scikit-learn in :class:`LabeledOnly`.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        All rows, labelled and unlabelled.
    y : array-like of shape (n_samples,)
        Labels; -1, NaN or None for rows without one.
    groups : array-like of shape (n_samples,), default=None
        The group of every row, for splitters that use it.
    cv : int, cross-validation generator, iterable or None, default=None
        How to hide labels, see :func:`cross_validate_labels`. For data with all
        labels, :class:`LabelShuffleSplit` pretends that there are only a few.
    scoring : str, callable or None, default=None
        A single score, larger is better. None means accuracy for classifiers, the
        coefficient of determination for others.
    held_out : {"unlabeled", "removed"}, default="unlabeled"
        Whether held-out rows stay in training without their label or leave it.
    reference : str, default=None
        Name of the estimator to compare the others with; the first one when None.
    confidence : float, default=0.95
        Confidence of the intervals of the differences.
    n_jobs : int, default=None
        Fits to run at the same time, in joblib's convention.
    progress : bool, "auto" or callable, default=False
        Whether to write a line about progress, or a function that is given the share
        of the work done.

    Returns
    -------
    comparison : Comparison
        Scores of every split; printed, a table with mean, deviation and differences.

    See Also
    --------
    fewlabels.plotting.ComparisonDisplay : Plots the comparison.
    learning_curve_labels : The same for several numbers of labels.

    Notes
    -----
    Intervals are not corrected for multiple comparisons. At a confidence of 0.95, one
    in twenty estimators that equal the reference will seem to differ from it.

    Examples
    --------
    >>> from fewlabels.datasets import make_gaussian2c
    >>> from fewlabels.model_selection import LabelShuffleSplit, compare
    >>> from fewlabels.semi_supervised import RLSClassifier, S2RLSClassifier
    >>> X, y = make_gaussian2c(200, 50, random_state=0)
    >>> comparison = compare(
    ...     {
    ...         "supervised": RLSClassifier(kernel="linear"),
    ...         "S2RLSC": S2RLSClassifier(kernel="linear", random_state=0),
    ...     },
    ...     X,
    ...     y,
    ...     cv=LabelShuffleSplit(5, n_labeled=10, random_state=0),
    ... )
    >>> comparison.scores.shape
    (5, 2)
    >>> comparison.difference("S2RLSC").low > 0
    True
    """
    named = check_estimators(estimators)
    names = tuple(named)
    reference = names[0] if reference is None else reference
    if reference not in names:
        raise ValueError(
            f"reference={reference!r} is not among the estimators {', '.join(names)}."
        )
    check_number("confidence", confidence, above=0, below=1)
    X, y, groups = indexable(X, y, groups)
    labels = with_holes(y)
    splits = check_splits(cv, X, labels, groups, held_out)
    scoring = single_scoring(named, scoring)
    jobs = [
        delayed(judge_split)(estimator, X, labels, train, test, scoring, held_out)
        for train, test in splits
        for estimator in named.values()
    ]
    judged = run_all(jobs, n_jobs, progress, "comparing")
    shape = (len(splits), len(names))
    return Comparison(
        names=names,
        metric=scoring if isinstance(scoring, str) else _name_of(scoring),
        scores=np.array([float(j.score) for j in judged]).reshape(shape),
        fit_seconds=np.array([j.fit_seconds for j in judged]).reshape(shape),
        n_labeled=np.array([j.n_labeled for j in judged]).reshape(shape)[:, 0],
        n_test=np.array([test.size for _, test in splits]),
        reference=reference,
        confidence=confidence,
    )


def single_scoring(named: Mapping[str, Any], scoring: Any) -> Any:
    """Return the single score used for all estimators.

    Examples
    --------
    >>> from sklearn.svm import SVC
    >>> from fewlabels.model_selection._compare import single_scoring
    >>> single_scoring({"svc": SVC()}, None)
    'accuracy'
    """
    if scoring is not None and not isinstance(scoring, str) and not callable(scoring):
        raise ValueError(
            f"scoring must be one score, a str or a callable: {scoring!r}."
        )
    metrics = {metric_name(estimator, scoring) for estimator in named.values()}
    if len(metrics) > 1:
        raise ValueError("estimators mixes classifiers and regressors: give scoring.")
    return metrics.pop()


def _name_of(scoring: Any) -> str:
    return getattr(scoring, "__name__", type(scoring).__name__)


def run_all(jobs: list[Any], n_jobs: int | None, progress: Progress, name: str) -> Any:
    """Run joblib's delayed calls in order, and report progress.

    Examples
    --------
    >>> from sklearn.utils.parallel import delayed
    >>> from fewlabels.model_selection._compare import run_all
    >>> run_all([delayed(abs)(-1), delayed(abs)(2)], None, False, "counting")
    [1, 2]
    """
    results: list[Any] = []
    with ProgressLine(progress, name) as line:
        for result in Parallel(n_jobs=n_jobs, return_as="generator")(jobs):
            results.append(result)
            line.update(len(results) / len(jobs))
    return results
