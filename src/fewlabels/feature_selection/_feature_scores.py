"""Scores of single features, for `SelectKBest` and the like."""

# SPDX-License-Identifier: BSD-3-Clause

from collections.abc import Callable
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.feature_selection import r_regression
from sklearn.utils.sparsefuncs import mean_variance_axis

from fewlabels._labels import Labels, check_length, encode_labels, encode_targets
from fewlabels._linalg import ROUNDING
from fewlabels._params import check_choice
from fewlabels._sklearn import check_array

# How the measures of all pairs of classes become one.
PAIR_RULES: dict[str, Callable[..., Any]] = {"mean": np.mean, "min": np.min}


def _check_rows(X: Any, n_entries: int) -> Any:
    X = check_array(X, accept_sparse="csr", dtype=np.float64)
    check_length(n_entries, X)
    return X


def class_moments(
    X: Any, labels: Labels, ddof: int = 0
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Mean and variance of every feature in every class.

    Parameters
    ----------
    X : {ndarray, sparse matrix} of shape (n_samples, n_features)
        Rows, labelled and unlabelled.
    labels : Labels
        Their classes.
    ddof : int, default=0
        What is subtracted from the number of rows in the variance; for a class with no
        more rows than that, the variance is 0.

    Returns
    -------
    means : ndarray of shape (n_classes, n_features)
        The means.
    variances : ndarray of shape (n_classes, n_features)
        The variances, exactly zero where a feature is constant.
    """
    means = np.empty((labels.classes.size, X.shape[1]))
    variances = np.empty_like(means)
    for k in range(labels.classes.size):
        rows = X[labels.codes == k]
        n_rows = rows.shape[0]
        if sparse.issparse(rows):
            means[k], variances[k] = mean_variance_axis(rows, axis=0)
        else:
            means[k], variances[k] = rows.mean(axis=0), rows.var(axis=0)
        variances[k] *= n_rows / (n_rows - ddof) if n_rows > ddof else 0.0
    variances[np.sqrt(variances) <= ROUNDING * np.abs(means)] = 0.0
    return means, variances


def _difference(a: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
    """Difference of means, zero where it is a rounding error."""
    small = np.abs(a - b) <= ROUNDING * (np.abs(a) + np.abs(b))
    return np.where(small, 0.0, a - b)


def _ratio(signal: NDArray[Any], noise: NDArray[Any]) -> NDArray[Any]:
    """Signal over noise: zero without a signal, infinite with one and no noise."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(signal > 0, signal / noise, 0.0)


def pearson_score(X: Any, y: ArrayLike) -> NDArray[np.float64]:
    r"""Squared correlation of every feature with the target.

    .. math::
        R_j^2 = \frac{\left( \sum_i (x_{ij} - \bar x_j)(y_i - \bar y) \right)^2}
        {\sum_i (x_{ij} - \bar x_j)^2 \sum_i (y_i - \bar y)^2}

    It is the share of the variance of y that a straight line in one feature explains.
    :func:`sklearn.feature_selection.r_regression` is the correlation with its sign, by
    which `SelectKBest` would rank features with a negative one last.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Rows.
    y : array-like of shape (n_samples,)
        Targets; rows where it is NaN do not count.

    Returns
    -------
    scores : ndarray of shape (n_features,)
        The squared correlations; 0 for a constant feature.

    Examples
    --------
    >>> from sklearn.feature_selection import SelectKBest
    >>> from fewlabels.feature_selection import pearson_score
    >>> X = [[0.0, 1.0], [1.0, 0.0], [2.0, -1.0], [2.0, -2.0]]
    >>> pearson_score(X, [0.0, 1.0, 2.0, 3.0]).round(2)
    array([0.89, 1.  ])
    >>> SelectKBest(pearson_score, k=1).fit(X, [0.0, 1.0, 2.0, 3.0]).get_support()
    array([False,  True])
    """
    targets = encode_targets(y)
    known = ~np.isnan(targets)
    X = _check_rows(X, targets.size)[known]
    if known.sum() < 2:
        return np.zeros(X.shape[1])
    scores = r_regression(X, targets[known]) ** 2
    ranges = X.max(axis=0) - X.min(axis=0)
    constant = (ranges.toarray() if sparse.issparse(X) else ranges).ravel() == 0
    scores[constant] = 0.0  # where rounding errors may remain
    return scores


def signal_to_noise(X: Any, y: ArrayLike, *, ddof: int = 0) -> NDArray[np.float64]:
    r"""Distance of two class means, relative to the spread inside the classes.

    .. math:: \frac{|\mu_j^+ - \mu_j^-|}{\sigma_j^+ + \sigma_j^-}

    with the mean and the standard deviation of feature j in each of the two classes.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Rows.
    y : array-like of shape (n_samples,)
        Labels of two classes; rows without one do not count.
    ddof : int, default=0
        What is subtracted from the number of rows in the standard deviations.

    Returns
    -------
    scores : ndarray of shape (n_features,)
        The ratios; 0 where the means agree, infinite where they differ without any
        spread.

    See Also
    --------
    fisher_score : For any number of classes.

    References
    ----------
    .. [1] T. R. Golub et al., "Molecular classification of cancer", Science 286 (1999).
       :doi:`10.1126/science.286.5439.531`

    Examples
    --------
    >>> from fewlabels.feature_selection import signal_to_noise
    >>> X = [[0.0, 5.0], [2.0, 7.0], [10.0, 5.0], [12.0, 7.0], [99.0, 99.0]]
    >>> signal_to_noise(X, [0, 0, 1, 1, -1])
    array([5., 0.])
    """
    labels = encode_labels(y)
    if labels.classes.size > 2:
        raise ValueError(
            f"signal_to_noise compares two classes, but y holds {labels.classes.size}: "
            "use fisher_score."
        )
    X = _check_rows(X, labels.codes.size)
    if labels.classes.size < 2:
        return np.zeros(X.shape[1])
    means, variances = class_moments(X, labels, ddof)
    return _ratio(np.abs(_difference(*means)), np.sqrt(variances).sum(axis=0))


def fisher_score(X: Any, y: ArrayLike, *, pairs: str = "mean") -> NDArray[np.float64]:
    r"""Fisher's measure of how well a feature separates pairs of classes.

    .. math::
        F_j = \frac{2}{K (K - 1)} \sum_{k < l}
        \frac{(\mu_{kj} - \mu_{lj})^2}{2 (\sigma_{kj}^2 + \sigma_{lj}^2)}

    For two classes with the same spread it is the square of :func:`signal_to_noise`.
    Every class counts the same, even a rare one; in
    :func:`sklearn.feature_selection.f_classif` every row does.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Rows.
    y : array-like of shape (n_samples,)
        Labels; rows without one do not count.
    pairs : {"mean", "min"}, default="mean"
        How the measures of all pairs of classes become one: their mean, as above, or
        the smallest, for features that separate every pair.

    Returns
    -------
    scores : ndarray of shape (n_features,)
        The scores; a pair adds 0 where its means agree, and is infinite where they
        differ without any spread.

    See Also
    --------
    fewlabels.decomposition.FisherDiscriminantAnalysis : Combinations of features.

    Examples
    --------
    >>> from fewlabels.feature_selection import fisher_score
    >>> X = [[0.0, 5.0], [2.0, 7.0], [10.0, 5.0], [12.0, 7.0], [99.0, 99.0]]
    >>> fisher_score(X, [0, 0, 1, 1, -1])
    array([25.,  0.])
    """
    check_choice("pairs", pairs, PAIR_RULES)
    labels = encode_labels(y)
    X = _check_rows(X, labels.codes.size)
    if labels.classes.size < 2:
        return np.zeros(X.shape[1])
    means, variances = class_moments(X, labels)
    scores = [
        _ratio(_difference(means[k], means[m]) ** 2, 2 * (variances[k] + variances[m]))
        for k, m in combinations(range(labels.classes.size), 2)
    ]
    return PAIR_RULES[pairs](scores, axis=0)
