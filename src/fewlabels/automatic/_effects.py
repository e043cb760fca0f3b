"""Importance of columns for the predictions."""

# SPDX-License-Identifier: BSD-3-Clause

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import diags_array, issparse
from sklearn.utils import check_random_state


class ColumnEffect(NamedTuple):
    """Importance of one column.

    Attributes
    ----------
    column : object
        Name or number of the column.
    changed : float
        Share of rows whose predicted label changes when the column's values are
        shuffled among rows; NaN for regression.
    effect : float
        Mean change of the predictions: the distance between probabilities, from 0 to 1,
        or between targets in units of their standard deviation.
    """

    column: Any
    changed: float
    effect: float


def column_effects(
    predict: Callable[[Any], NDArray[Any]],
    X: Any,
    groups: ArrayLike,
    *,
    n_rows: int = 100,
    random_state: Any = 0,
) -> list[ColumnEffect]:
    """Measure the importance of columns by shuffling their values among rows.

    By this measure a column matters little if others carry the same information.

    Parameters
    ----------
    predict : callable
        Returns probabilities of shape (n, n_classes), or targets of shape (n,).
    X : {ndarray, csr_matrix} of shape (n_samples, n_features)
        Rows.
    groups : array-like of shape (n_features,)
        For each feature, its column.
    n_rows : int, default=100
        Number of rows to try, drawn at random.
    random_state : int, RandomState instance or None, default=0
        Seed of the sample and of the shuffling.

    Returns
    -------
    effects : list of ColumnEffect
        The most important column first.

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.automatic import column_effects
    >>> X = np.random.default_rng(0).normal(size=(50, 2))
    >>> first = lambda rows: np.column_stack([rows[:, 0] > 0, rows[:, 0] <= 0]) * 1.0
    >>> [e.column for e in column_effects(first, X, ["used", "idle"]) if e.effect > 0]
    ['used']
    """
    groups = np.asarray(groups)
    if groups.shape != (X.shape[1],):
        raise ValueError(
            f"groups must have one entry per feature, {X.shape[1]} in all, got shape "
            f"{groups.shape}."
        )
    rng = check_random_state(random_state)
    rows = np.sort(rng.permutation(X.shape[0])[:n_rows])
    sample = X[rows]
    other = rng.permutation(rows.size)
    before = predict(sample)
    found = []
    for group in dict.fromkeys(groups.tolist()):
        after = predict(_exchanged(sample, groups == group, other))
        if before.ndim == 2:
            effect = float(np.abs(after - before).sum(axis=1).mean() / 2)
            changed = float(np.mean(after.argmax(axis=1) != before.argmax(axis=1)))
        else:
            effect = float(np.abs(after - before).mean() / (before.std() or 1.0))
            changed = math.nan
        found.append(ColumnEffect(group, changed, effect))
    return sorted(found, key=lambda column: -column.effect)


def _exchanged(X: Any, own: NDArray[np.bool_], order: NDArray[np.intp]) -> Any:
    """Replace some features by those of other rows."""
    if not issparse(X):
        return np.where(own, X[order], X)
    keep = diags_array(np.where(own, 0.0, 1.0))
    return (X @ keep + X[order] @ diags_array(np.where(own, 1.0, 0.0))).tocsr()


def columns_of(estimator: Any) -> NDArray[Any]:
    """Name the column of every feature of an automatic estimator."""
    transformer = estimator.transformer_
    if transformer is not None:
        names = np.array([c.name for c in transformer.columns_], dtype=object)
        return names[transformer.feature_columns_]
    if estimator.feature_groups is not None:
        return np.asarray(estimator.feature_groups)
    features = np.arange(estimator.n_features_in_)
    return getattr(estimator, "feature_names_in_", features)
