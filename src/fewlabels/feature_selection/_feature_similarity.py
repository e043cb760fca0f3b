"""Redundant features: measures of similarity, and a selector by clusters."""

# SPDX-License-Identifier: BSD-3-Clause

from collections.abc import Callable
from numbers import Integral
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fewlabels._linalg import ROUNDING, deviations
from fewlabels._sklearn import (
    Interval,
    StrOptions,
    check_array,
    fit_context,
    validate_data,
)
from fewlabels.feature_selection._selector import FeatureSelector

# A share of variance below this has lost digits where it is a difference from one.
_CANCELLED = 1e-3

# Dissimilarities that differ by less than this share are equal up to rounding.
TIE_TOL = 1e-10


class _Pairs(NamedTuple):
    """Correlations, shares of variance that lines leave, and standard deviations."""

    rho: NDArray[np.float64]
    unexplained: NDArray[np.float64]
    spread: NDArray[np.float64]

    def accuracy(self) -> NDArray[np.float64]:
        """Relative accuracy of what is unexplained, whose root is a difference."""
        root = np.sqrt(self.unexplained)
        return np.maximum(TIE_TOL, 2 * ROUNDING / np.maximum(root, 2 * ROUNDING))


def _compare(X: Any) -> _Pairs:
    """Compare all pairs of features; constants do not even correlate with themselves.

    Where a line fits closely, as next to a far row, 1 - rho^2 has no digits: the
    difference of the two features does.
    """
    X = check_array(X, dtype=np.float64)
    mean = X.mean(axis=0)
    Z = deviations(X, mean)
    # Squares of what has been divided by the largest neither overflow nor vanish.
    largest = np.abs(Z).max(axis=0)
    Z /= np.where(largest > 0, largest, 1)
    spread = np.sqrt(np.mean(Z**2, axis=0))
    Z /= np.where(spread > 0, spread, 1)
    rho = Z.T @ Z / X.shape[0]
    share = 1 - rho**2
    spread *= largest
    noise = ROUNDING * (1 + np.abs(mean) / np.where(spread > 0, spread, np.inf))
    for i in range(X.shape[1]):
        near = np.flatnonzero(share[i] < _CANCELLED)
        gap = Z[:, near] - np.sign(rho[i, near]) * Z[:, [i]]
        rest = np.mean(gap**2, axis=0) / 2  # one minus the absolute correlation
        rest[np.sqrt(rest) <= noise[i] + noise[near]] = 0.0
        share[i, near] = rest * (2 - rest)
    return _Pairs(rho, share, spread)


def correlation_dissimilarity(X: ArrayLike) -> NDArray[np.float64]:
    r"""One minus the absolute correlation, for all pairs of features.

    .. math:: d(x, y) = 1 - |\rho(x, y)|

    It is zero for features that depend linearly on each other, and does not change with
    their units.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Rows.

    Returns
    -------
    D : ndarray of shape (n_features, n_features)
        The dissimilarities. A constant feature has 1 to the others and 0 to constant
        ones.

    Examples
    --------
    >>> from fewlabels.feature_selection import correlation_dissimilarity
    >>> X = [[0.0, 1.0, 1.0], [1.0, -1.0, 0.0], [2.0, -3.0, 1.0]]
    >>> correlation_dissimilarity(X)
    array([[0., 0., 1.],
           [0., 0., 1.],
           [1., 1., 0.]])
    """
    return _correlation_dissimilarity(_compare(X))


def _correlation_dissimilarity(pairs: _Pairs) -> NDArray[np.float64]:
    rho, unexplained, spread = pairs
    D = unexplained / (1 + np.abs(rho))
    D[np.logical_and.outer(spread == 0, spread == 0)] = 0.0
    return D


def regression_error(X: ArrayLike) -> NDArray[np.float64]:
    r"""Residual variance of every feature, regressed on every other.

    .. math::
        e(x, y) = \min_{a, b} \frac{1}{n} \sum_i (y_i - a - b x_i)^2
        = \mathrm{var}(y) \, (1 - \rho(x, y)^2)

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Rows.

    Returns
    -------
    E : ndarray of shape (n_features, n_features)
        Entry (i, j) is the error of feature j given feature i. Not symmetric.

    Examples
    --------
    >>> from fewlabels.feature_selection import regression_error
    >>> X = [[0.0, 1.0, 1.0], [1.0, -1.0, 0.0], [2.0, -3.0, 1.0]]
    >>> regression_error(X).round(2)
    array([[0.  , 0.  , 0.22],
           [0.  , 0.  , 0.22],
           [0.67, 2.67, 0.  ]])
    """
    return _regression_error(_compare(X))


def _regression_error(pairs: _Pairs) -> NDArray[np.float64]:
    return pairs.spread**2 * pairs.unexplained


def mici(X: ArrayLike) -> NDArray[np.float64]:
    r"""Maximal information compression index, for all pairs of features.

    The variance that is lost when two features are replaced by their first principal
    component: the smaller eigenvalue of their covariance matrix,

    .. math::
        2 \lambda_2(x, y) = v_x + v_y
        - \sqrt{(v_x + v_y)^2 - 4 v_x v_y (1 - \rho(x, y)^2)}

    It is symmetric, zero for features that depend linearly on each other, at most the
    smaller of the two variances, and does not change when the pair is rotated. It has
    the unit of a variance: scale features that are measured in different ones.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Rows.

    Returns
    -------
    D : ndarray of shape (n_features, n_features)
        The indices.

    References
    ----------
    .. [1] P. Mitra, C. A. Murthy and S. K. Pal, "Unsupervised feature selection using
       feature similarity", IEEE Trans. Pattern Anal. Mach. Intell. 24 (2002).
       :doi:`10.1109/34.990133`

    Examples
    --------
    >>> from fewlabels.feature_selection import mici
    >>> X = [[0.0, 1.0, 1.0], [1.0, -1.0, 0.0], [2.0, -3.0, 1.0]]
    >>> mici(X).round(2)
    array([[0.  , 0.  , 0.22],
           [0.  , 0.  , 0.22],
           [0.22, 0.22, 0.  ]])
    """
    return _mici(_compare(X))


def _mici(pairs: _Pairs) -> NDArray[np.float64]:
    rho, unexplained, spread = pairs
    small, large = np.minimum.outer(spread, spread), np.maximum.outer(spread, spread)
    # The product of the eigenvalues, v_x v_y (1 - rho^2), over the larger one, both in
    # units of the larger variance: a difference would lose the digits of a small one.
    ratio = (small / np.where(large > 0, large, 1)) ** 2
    larger = (1 + ratio + np.sqrt((1 - ratio) ** 2 + 4 * ratio * rho**2)) / 2
    return small**2 * unexplained / larger


class FeatureClusters(NamedTuple):
    """Features that were kept, and which of them stands for each feature.

    Attributes
    ----------
    kept : ndarray of shape (n_kept,)
        The kept features, in ascending order.
    representative : ndarray of shape (n_features,)
        For every feature the kept one that stands for it; itself if it was kept.
    epsilon : float
        Largest dissimilarity of a feature that was dropped.
    """

    kept: NDArray[np.intp]
    representative: NDArray[np.intp]
    epsilon: float


def _ties(D: NDArray[Any], tol: Any) -> NDArray[np.float64]:
    """Make dissimilarities equal that differ by rounding errors, which decide no tie.

    In ascending order, a value this close to the one before it becomes the same.
    """
    values, near = D.ravel(), np.broadcast_to(tol, D.shape).ravel()
    order = np.argsort(values, kind="stable")
    values, near = values[order], near[order]
    rises = np.append(True, np.diff(values) > (near * np.abs(values))[1:])
    equal = np.empty_like(values)
    equal[order] = values[rises][np.cumsum(rises) - 1]
    return equal.reshape(D.shape)


def cluster_features(
    D: ArrayLike, n_neighbors: int, *, tol: ArrayLike = TIE_TOL
) -> FeatureClusters:
    r"""Keep features that stand for their nearest ones, and drop these.

    In every round, the feature whose k-th nearest feature is nearest of all is kept,
    and its k nearest are dropped; k is `n_neighbors` at first. The dissimilarity
    :math:`\epsilon` to the k-th in the first round is the limit for all others: where
    no feature has k others within it, k is lowered. It ends when k is 1, and all
    features that are left are kept. Of features that are equally near, the first is
    taken.

    Parameters
    ----------
    D : array-like of shape (n_features, n_features)
        Dissimilarities, such as :func:`mici`; row i holds those of feature i.
    n_neighbors : int
        How many features the first one stands for, from 1 to n_features - 1. The
        larger, the fewer features are kept.
    tol : float or array-like of shape (n_features, n_features), default=1e-10
        Relative accuracy of the dissimilarities: closer ones are equal.

    Returns
    -------
    clusters : FeatureClusters
        The kept features, and for which others they stand.

    See Also
    --------
    FeatureSimilaritySelector : The selector.

    References
    ----------
    .. [1] P. Mitra, C. A. Murthy and S. K. Pal, "Unsupervised feature selection using
       feature similarity", IEEE Trans. Pattern Anal. Mach. Intell. 24 (2002).
       :doi:`10.1109/34.990133`

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.feature_selection import cluster_features
    >>> x = np.array([0.0, 0.1, 0.2, 5.0, 5.1, 5.2])
    >>> clusters = cluster_features(np.abs(np.subtract.outer(x, x)), n_neighbors=2)
    >>> clusters.kept
    array([1, 4])
    >>> clusters.representative
    array([1, 1, 1, 4, 4, 4])
    """
    rest: NDArray[np.float64] = _ties(check_array(D, dtype=np.float64), tol)
    n_features = rest.shape[0]
    if rest.shape[1] != n_features:
        raise ValueError(f"D must be square, got shape {rest.shape}.")
    if not 1 <= n_neighbors <= n_features - 1:
        raise ValueError(
            f"n_neighbors={n_neighbors} must be between 1 and n_features - 1 = "
            f"{n_features - 1}."
        )
    np.fill_diagonal(rest, np.inf)
    left = np.arange(n_features)
    representative = np.arange(n_features)
    k = n_neighbors
    reach = np.partition(rest, k - 1, axis=1)[:, k - 1]
    epsilon = float(reach.min())
    while True:
        best = int(np.argmin(reach))
        dropped = np.argsort(rest[best], kind="stable")[:k]
        representative[left[dropped]] = left[best]
        stay = np.ones(left.size, dtype=bool)
        stay[dropped] = False
        left, rest = left[stay], rest[np.ix_(stay, stay)]
        k = min(k, left.size - 1)
        while k > 1:
            reach = np.partition(rest, k - 1, axis=1)[:, k - 1]
            if reach.min() <= epsilon:
                break
            k -= 1
        if k <= 1:
            break
    # A representative may itself have been dropped for another one later.
    while not np.array_equal(representative[representative], representative):
        representative = representative[representative]
    return FeatureClusters(left, representative, epsilon)


_MEASURES: dict[str, Callable[[_Pairs], NDArray[np.float64]]] = {
    "mici": _mici,
    "correlation": _correlation_dissimilarity,
    "regression": _regression_error,
}


class FeatureSimilaritySelector(FeatureSelector):
    r"""Keep one feature of each group of similar ones; needs no labels.

    Features are clustered by how well they can be replaced by each other, and one of
    each cluster is kept, see :func:`cluster_features`. Constant features are dropped
    beforehand, unless all are constant.

    Parameters
    ----------
    n_neighbors : int, default=None
        How many features the first one that is kept stands for: the larger, the fewer
        are kept. None takes half of the features.
    measure : {"mici", "correlation", "regression"} or callable, default="mici"
        How dissimilar features are: :func:`mici`, :func:`correlation_dissimilarity`,
        :func:`regression_error`, or a function of X that returns a matrix.

    Attributes
    ----------
    support_ : ndarray of bool of shape (n_features,)
        Which features are kept.
    representative_ : ndarray of shape (n_features,)
        For every feature the kept one that stands for it; -1 for constant ones.
    epsilon_ : float
        Largest dissimilarity of a feature that was dropped; 0 if none was clustered.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, where `X` had any.

    See Also
    --------
    KernelAlignmentSelector : Keeps the features that make the kernel matrix.

    References
    ----------
    .. [1] P. Mitra, C. A. Murthy and S. K. Pal, "Unsupervised feature selection using
       feature similarity", IEEE Trans. Pattern Anal. Mach. Intell. 24 (2002).
       :doi:`10.1109/34.990133`

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.feature_selection import FeatureSimilaritySelector
    >>> X = np.random.default_rng(0).normal(size=(100, 3))
    >>> copies = np.hstack([X, 2 * X, -X])
    >>> selector = FeatureSimilaritySelector(n_neighbors=2, measure="correlation")
    >>> selector = selector.fit(copies)
    >>> selector.get_support(indices=True)
    array([0, 1, 2])
    >>> selector.representative_
    array([0, 1, 2, 0, 1, 2, 0, 1, 2])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_neighbors": [Interval(Integral, 1, None, closed="left"), None],
        "measure": [StrOptions(set(_MEASURES)), callable],
    }

    def __init__(
        self,
        n_neighbors: int | None = None,
        *,
        measure: str | Callable[[Any], NDArray[np.float64]] = "mici",
    ) -> None:
        self.n_neighbors = n_neighbors
        self.measure = measure

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None) -> Self:
        """Cluster the features.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        y : Ignored
            Here for pipelines.

        Returns
        -------
        self : object
            The fitted selector.
        """
        X = validate_data(self, X, dtype=np.float64)
        n_features = X.shape[1]
        if self.n_neighbors is not None and self.n_neighbors > max(n_features - 1, 1):
            raise ValueError(
                f"n_neighbors={self.n_neighbors} must be at most n_features - 1 = "
                f"{n_features - 1}."
            )
        varies = np.ptp(X, axis=0) > 0
        if not varies.any():
            varies[:] = True
        candidates = np.flatnonzero(varies)
        self.representative_ = np.where(varies, np.arange(n_features), -1)
        self.epsilon_ = 0.0
        kept = candidates
        if candidates.size > 1:
            k = min(self.n_neighbors or candidates.size // 2, candidates.size - 1)
            if isinstance(self.measure, str):
                pairs = _compare(X[:, candidates])
                D, tol = _MEASURES[self.measure](pairs), pairs.accuracy()
                clusters = cluster_features(D, k, tol=tol)
            else:
                clusters = cluster_features(self.measure(X[:, candidates]), k)
            kept = candidates[clusters.kept]
            self.representative_[candidates] = candidates[clusters.representative]
            self.epsilon_ = clusters.epsilon
        self.support_ = np.isin(np.arange(n_features), kept)
        return self
