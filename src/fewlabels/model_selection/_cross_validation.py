"""Cross-validation in which held-out rows stay in training, without their label."""

# SPDX-License-Identifier: BSD-3-Clause

import warnings
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone, is_classifier
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import check_scoring
from sklearn.pipeline import Pipeline
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import indexable

from fewlabels._labels import UNLABELED, unlabeled_mask, with_holes
from fewlabels._sklearn import num_samples, safe_split
from fewlabels.model_selection._splitters import Split, label_splits

HELD_OUT = ("unlabeled", "removed")


class Judged(NamedTuple):
    """Score of one model.

    Attributes
    ----------
    score : float or dict of float
        Its score, or one for every scorer.
    fit_seconds, score_seconds : float
        How long training and scoring took.
    n_labeled : int
        Labels in training.
    """

    score: Any
    fit_seconds: float
    score_seconds: float
    n_labeled: int


class _Transduction(FrozenEstimator):
    """A fitted model that predicts training rows by its transduction."""

    def __init__(self, estimator: Any, labels: NDArray[Any]) -> None:
        super().__init__(estimator)
        self.labels = labels

    def predict(self, X: Any) -> NDArray[Any]:
        return self.labels


def transduction_of(estimator: Any) -> NDArray[Any] | None:
    """Return a fitted model's labels of its training rows.

    Examples
    --------
    >>> from sklearn.semi_supervised import LabelSpreading
    >>> from fewlabels.model_selection._cross_validation import transduction_of
    >>> model = LabelSpreading(gamma=1).fit([[0], [1], [9]], [0, -1, 1])
    >>> transduction_of(model)
    array([0, 0, 1])
    """
    found = getattr(estimator, "transduction_", None)
    if found is None and hasattr(estimator, "best_estimator_"):
        return transduction_of(estimator.best_estimator_)
    if found is None and isinstance(estimator, Pipeline):
        return transduction_of(estimator[-1])
    return found


def metric_name(estimator: Any, scoring: Any) -> Any:
    """Return `scoring`, with None replaced by the default metric.

    Examples
    --------
    >>> from sklearn.svm import SVC, SVR
    >>> from fewlabels.model_selection._cross_validation import metric_name
    >>> metric_name(SVC(), None), metric_name(SVR(), None), metric_name(SVR(), "max")
    ('accuracy', 'r2', 'max')
    """
    if scoring is not None:
        return scoring
    return "accuracy" if is_classifier(estimator) else "r2"


def fit_and_score(
    estimator: Any,
    X: Any,
    y_seen: NDArray[Any],
    y_true: NDArray[Any],
    rows: NDArray[np.intp],
    test: NDArray[np.intp],
    scoring: Any,
) -> Judged:
    """Train on some rows and score on others, or on the same.

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.model_selection._cross_validation import fit_and_score
    >>> from fewlabels.semi_supervised import RLSClassifier
    >>> X, y = np.array([[0.0], [0.1], [0.9], [1.0]]), np.array([0, 0, 1, 1])
    >>> hidden = np.array([0, -1, -1, 1])
    >>> every, test = np.arange(4), np.array([1, 2])
    >>> fit_and_score(RLSClassifier(alpha=1.0), X, hidden, y, every, test, None).score
    1.0
    """
    X_train = training_rows(estimator, X, rows)
    started = perf_counter()
    y_train = y_seen[rows]
    model = clone(estimator).fit(X_train, y_train)
    fitted = perf_counter()
    score = score_model(model, X, y_seen, y_true, rows, test, scoring)
    n_labeled = int(np.count_nonzero(~unlabeled_mask(y_train)))
    return Judged(score, fitted - started, perf_counter() - fitted, n_labeled)


def training_rows(estimator: Any, X: Any, rows: NDArray[np.intp]) -> Any:
    """Take the rows to train on, and their columns of a kernel matrix."""
    whole = rows.size == num_samples(X)
    return X if whole else safe_split(estimator, X, None, rows)[0]


def score_model(
    model: Any,
    X: Any,
    y_seen: NDArray[Any],
    y_true: NDArray[Any],
    rows: NDArray[np.intp],
    test: NDArray[np.intp],
    scoring: Any,
) -> Any:
    """Score a fitted model, by its transduction if it has seen the rows."""
    X_test, y_test = safe_split(model, X, y_true, test, rows)
    if y_test.dtype.kind == "O" and not isinstance(y_test[0], str):
        y_test = np.asarray(y_test.tolist())  # numbers as objects
    _refuse_marker(model, y_seen)
    scorer = check_scoring(model, scoring=metric_name(model, scoring))
    transduction = transduction_of(model)
    if transduction is not None and np.isin(test, rows).all():
        model = _Transduction(model, transduction[np.searchsorted(rows, test)])
    return scorer(model, X_test, y_test)


def _refuse_marker(model: Any, y_seen: NDArray[Any]) -> None:
    """Raise if a supervised model has learned the marker as a class."""
    classes = getattr(model, "classes_", None)
    if y_seen.dtype.kind == "i" and classes is not None and UNLABELED in classes:
        raise ValueError(
            f"{type(model).__name__} treats -1, the marker of unlabelled rows, as a "
            "class: wrap it in LabeledOnly to train it on the labelled rows alone."
        )


def judge_split(
    estimator: Any,
    X: Any,
    y: NDArray[Any],
    train: NDArray[np.intp],
    test: NDArray[np.intp],
    scoring: Any,
    held_out: str,
) -> Judged:
    """Fit and score in one split.

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.model_selection._cross_validation import judge_split
    >>> from fewlabels.semi_supervised import RLSClassifier
    >>> X, y = np.array([[0.0], [0.1], [0.9], [1.0]]), np.array([0, 0, 1, 1])
    >>> train, test = np.array([0, 3]), np.array([1, 2])
    >>> judge_split(RLSClassifier(), X, y, train, test, None, "unlabeled").n_labeled
    2
    """
    hidden = np.zeros(y.size, dtype=bool)
    hidden[test] = True
    rows = np.union1d(train, test) if held_out == "unlabeled" else np.sort(train)
    return fit_and_score(estimator, X, with_holes(y, hidden), y, rows, test, scoring)


def check_splits(
    cv: Any, X: Any, y: NDArray[Any], groups: ArrayLike | None, held_out: str
) -> list[Split]:
    """Make the splits, and check that they have unlabelled rows in training.

    Warns
    -----
    UserWarning
        If no row in training is unlabelled.

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.model_selection._cross_validation import check_splits
    >>> y = np.array([0, 0, 1, 1])
    >>> len(check_splits(2, y, y, None, "unlabeled"))
    2
    """
    check_held_out(held_out)
    splits = label_splits(cv, X, y, groups)
    if not splits:
        raise ValueError("cv yields no split.")
    train, _ = splits[0]
    if held_out == "removed" and not unlabeled_mask(y[train]).any():
        warnings.warn(
            "There are no unlabelled rows in training, so nothing can be learned from "
            "them: with held_out='unlabeled' the test rows stay in training.",
            UserWarning,
            stacklevel=3,
        )
    return splits


def check_held_out(held_out: str) -> None:
    """Raise if `held_out` is unknown.

    Examples
    --------
    >>> from fewlabels.model_selection._cross_validation import check_held_out
    >>> check_held_out("removed")
    """
    if held_out not in HELD_OUT:
        raise ValueError(
            f"held_out must be 'unlabeled' (test rows stay in training, without "
            f"their label) or 'removed' (they leave it), got {held_out!r}."
        )


def cross_validate_labels(
    estimator: Any,
    X: Any,
    y: ArrayLike,
    *,
    groups: ArrayLike | None = None,
    cv: Any = None,
    scoring: Any = None,
    held_out: str = "unlabeled",
    n_jobs: int | None = None,
) -> dict[str, NDArray[Any]]:
    """Cross-validate on the labelled rows, keeping held-out rows in training or not.

    In every split some labelled rows lose their label. By default they stay in training
    as unlabelled rows, which scikit-learn's `cross_validate` cannot do; this mimics
    rows that have not been labelled yet. They are scored by the model's decision in
    training (`transduction_`) if it has one, otherwise by its prediction. For scores of
    probabilities or real outputs, the model predicts the rows again.

    Parameters
    ----------
    estimator : estimator instance
        What to fit; it must support unlabelled rows. Wrap supervised estimators of
        scikit-learn in :class:`LabeledOnly`.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        All rows, labelled and unlabelled.
    y : array-like of shape (n_samples,)
        Labels; -1, NaN or None for rows without one.
    groups : array-like of shape (n_samples,), default=None
        The group of every row, for splitters that use it.
    cv : int, cross-validation generator, iterable or None, default=None
        How to split the labelled rows. None and int mean :class:`LabeledKFold` with a
        fixed seed, and splitters of scikit-learn are applied to the labelled rows
        alone, as by :class:`LabeledSplit`.
    scoring : str, callable, list, tuple, dict or None, default=None
        As in :func:`sklearn.model_selection.cross_validate`. None means accuracy for
        classifiers, the coefficient of determination for others.
    held_out : {"unlabeled", "removed"}, default="unlabeled"
        Whether held-out rows stay in training without their label ("unlabeled", the
        transductive setting) or leave it ("removed", the performance on new rows).
    n_jobs : int, default=None
        Splits to run at the same time, in joblib's convention.

    Returns
    -------
    results : dict of ndarray
        For every split "test_score" (or "test_<name>" for several scorers),
        "fit_time" and "score_time" in seconds, "n_labeled" and "n_test": the number of
        labels in training and of rows tested.

    See Also
    --------
    LabeledKFold : The default splits.
    compare : Several estimators on the same splits.

    Examples
    --------
    >>> from fewlabels.datasets import hide_labels, make_gaussian2c
    >>> from fewlabels.model_selection import cross_validate_labels
    >>> from fewlabels.semi_supervised import S2RLSClassifier
    >>> X, y_true = make_gaussian2c(300, 100, random_state=0)
    >>> y = hide_labels(y_true, n_labeled=20, random_state=0)
    >>> model = S2RLSClassifier(kernel="linear", random_state=0)
    >>> results = cross_validate_labels(model, X, y, cv=5)
    >>> results["n_labeled"]
    array([16, 16, 16, 16, 16])
    >>> bool(results["test_score"].mean() > 0.9)
    True
    """
    X, y, groups = indexable(X, y, groups)
    labels = with_holes(y)
    splits = check_splits(cv, X, labels, groups, held_out)
    judged = Parallel(n_jobs=n_jobs)(
        delayed(judge_split)(estimator, X, labels, train, test, scoring, held_out)
        for train, test in splits
    )
    results = {
        "fit_time": np.array([j.fit_seconds for j in judged]),
        "score_time": np.array([j.score_seconds for j in judged]),
        "n_labeled": np.array([j.n_labeled for j in judged]),
        "n_test": np.array([test.size for _, test in splits]),
    }
    if isinstance(judged[0].score, dict):
        for name in judged[0].score:
            results[f"test_{name}"] = np.array([j.score[name] for j in judged])
    else:
        results["test_score"] = np.array([j.score for j in judged], dtype=float)
    return results
