"""k-means with the Mahalanobis distance."""

# SPDX-License-Identifier: BSD-3-Clause

import warnings
from numbers import Integral
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import pairwise_distances_argmin
from sklearn.utils import check_random_state

from fewlabels._labels import by_first_row
from fewlabels._linalg import (
    FLOATS,
    deviations,
    inverse_root_of_rows,
    inverse_square_root,
)
from fewlabels._sklearn import (
    Interval,
    StrOptions,
    check_array,
    fit_context,
    validate_data,
    validate_fitted,
)

MAX_SEED = np.iinfo(np.int32).max
# Share of the total covariance that is added to that within clusters: clusters that are
# flat, or single rows, would else have a distance of zero.
RIDGE = 1e-6


class _Run(NamedTuple):
    """Clusters of one start, in rows whose total covariance is the identity."""

    labels: NDArray[np.intp]
    within: NDArray[np.float64]
    trace: list[float]
    converged: bool


def _within(Z: NDArray[np.float64], labels: NDArray[np.intp]) -> NDArray[np.float64]:
    """Pooled covariance within clusters, with the ridge."""
    rest = Z.copy()
    for k in np.unique(labels):
        rest[labels == k] -= Z[labels == k].mean(axis=0)
    return rest.T @ rest / len(Z) + RIDGE * np.eye(Z.shape[1])


def _alternate(
    Z: NDArray[np.float64], labels: NDArray[np.intp], n_clusters: int, max_iter: int
) -> _Run:
    """Cluster by the covariance within clusters, and compute it anew, in turns."""
    within = _within(Z, labels)
    trace = [float(np.linalg.slogdet(within)[1])]
    if np.unique(labels).size < n_clusters:  # there are no more different rows
        return _Run(labels, within, trace, True)
    for _ in range(max_iter):
        rows = Z @ inverse_square_root(within)
        means = np.array([rows[labels == k].mean(axis=0) for k in range(n_clusters)])
        found = KMeans(n_clusters, init=means, n_init=1).fit_predict(rows)
        candidate = _within(Z, found)
        size = float(np.linalg.slogdet(candidate)[1])
        # It cannot rise but by rounding: where it does not fall, it is at rest.
        if size >= trace[-1] or np.unique(found).size < n_clusters:
            return _Run(labels, within, trace, True)
        labels, within = found, candidate
        trace.append(size)
    return _Run(labels, within, trace, False)


class MahalanobisKMeans(ClusterMixin, BaseEstimator):
    r"""k-means with the Mahalanobis distance, independent of the units of columns.

    .. math:: d^2(x, z) = (x - z)^\top C^{-1} (x - z)

    Rotating, scaling or mixing the columns changes nothing: clusters may be stretched
    in any direction, but all in the same one.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    covariance : {"total", "within"} or array-like, default="within"
        The matrix C:

        - "total" is the covariance of all rows: k-means of whitened rows;
        - "within" is the pooled covariance within the clusters, computed anew after
          every run of k-means until neither changes. It minimises the determinant of
          that covariance [1]_, where plain k-means minimises its trace;
        - a matrix of your own.
    n_init : int, default=10
        Number of runs from different starts, the best of which counts.
    max_iter : int, default=100
        Largest number of turns of "within".
    random_state : int, RandomState instance or None, default=None
        Seed of the starts.

    Attributes
    ----------
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        Means of the clusters.
    labels_ : ndarray of shape (n_samples,)
        Cluster of every row, numbered by their first rows.
    covariance_ : ndarray of shape (n_features, n_features)
        C.
    inertia_ : float
        Sum of squared distances of rows to their centres.
    log_determinants_ : ndarray of shape (n_iter,)
        Logarithm of the determinant that "within" makes smaller in every turn, relative
        to that of the total covariance; empty for the others.
    n_iter_ : int
        Turns of "within", or iterations of k-means.
    n_features_in_ : int
        Number of features seen during fit.

    See Also
    --------
    sklearn.cluster.KMeans : With the Euclidean distance.
    sklearn.mixture.GaussianMixture : ``covariance_type="tied"``, with soft clusters.

    Notes
    -----
    The total covariance includes the distances between clusters, so whitening shrinks
    the directions that separate them, which matters if there are many others. A
    millionth of the total covariance is added to that within clusters. Directions in
    which the rows do not vary do not count.

    References
    ----------
    .. [1] H. P. Friedman, J. Rubin, "On some invariant criteria for grouping data",
       Journal of the American Statistical Association 62 (1967).
       :doi:`10.1080/01621459.1967.10500923`

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.cluster import MahalanobisKMeans
    >>> from sklearn.metrics import adjusted_rand_score
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1], 100)
    >>> X = np.column_stack([rng.normal(size=200) * 20, rng.normal(size=200) + 6 * y])
    >>> model = MahalanobisKMeans(2, random_state=0).fit(X)
    >>> adjusted_rand_score(y, model.labels_) > 0.9
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_clusters": [Interval(Integral, 1, None, closed="left")],
        "covariance": [StrOptions({"total", "within"}), "array-like"],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        covariance: Any = "within",
        n_init: int = 10,
        max_iter: int = 100,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.covariance = covariance
        self.n_init = n_init
        self.max_iter = max_iter
        self.random_state = random_state

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None) -> Self:
        """Cluster rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        y : Ignored
            Present for API consistency.

        Returns
        -------
        self : MahalanobisKMeans
            The fitted estimator.
        """
        X = validate_data(self, X, dtype=FLOATS)
        if len(X) < self.n_clusters:
            raise ValueError(
                f"n_samples={len(X)} should be at least n_clusters={self.n_clusters}."
            )
        centred = deviations(X, X.mean(axis=0, dtype=np.float64))
        base = self._base(centred)
        if isinstance(self.covariance, str):
            self._whitener = inverse_root_of_rows(centred / np.sqrt(len(centred)))
        else:
            self._whitener = inverse_square_root(base)
        # Equal distances must not be told apart by rounding errors.
        Z = np.round(centred @ self._whitener, 9)
        if Z.shape[1] == 0:  # copies of one row
            Z = np.zeros((len(X), 1))
        rng = check_random_state(self.random_state)
        if isinstance(self.covariance, str) and self.covariance == "within":
            run = self._best_run(Z, rng)
            labels, self.log_determinants_ = run.labels, np.array(run.trace)
            self.n_iter_ = len(run.trace)
            back = np.linalg.pinv(self._whitener)
            within = run.within[: len(back), : len(back)]
            base = back.T @ within @ back
            self._whitener = self._whitener @ inverse_square_root(within)
        else:
            plain = self._kmeans(self.n_init, rng).fit(Z)
            labels, self.log_determinants_ = plain.labels_, np.empty(0)
            self.n_iter_ = plain.n_iter_
        self.covariance_ = base
        self.labels_ = by_first_row(labels)
        self.cluster_centers_ = np.array(
            [X[self.labels_ == k].mean(axis=0) for k in range(self.labels_.max() + 1)]
        )
        rest = (X - self.cluster_centers_[self.labels_]) @ self._whitener
        self.inertia_ = float(np.sum(rest**2))
        return self

    def _base(self, centred: NDArray[np.float64]) -> NDArray[np.float64]:
        if isinstance(self.covariance, str):
            return centred.T @ centred / len(centred)
        given = check_array(self.covariance, dtype=np.float64, input_name="covariance")
        d = centred.shape[1]
        if given.shape != (d, d) or not np.allclose(given, given.T):
            raise ValueError(
                f"covariance must be symmetric of shape {(d, d)}, got shape "
                f"{given.shape}."
            )
        return given

    def _kmeans(self, n_init: int, rng: np.random.RandomState) -> KMeans:
        return KMeans(
            self.n_clusters, n_init=n_init, random_state=rng.randint(MAX_SEED)
        )

    def _best_run(self, Z: NDArray[np.float64], rng: np.random.RandomState) -> _Run:
        runs = [
            _alternate(
                Z, self._kmeans(1, rng).fit_predict(Z), self.n_clusters, self.max_iter
            )
            for _ in range(self.n_init)
        ]
        best = min(runs, key=lambda run: run.trace[-1])
        if not best.converged:
            warnings.warn(
                f"The clusters are not at rest after max_iter={self.max_iter} turns.",
                ConvergenceWarning,
                stacklevel=3,
            )
        return best

    def predict(self, X: Any) -> NDArray[np.intp]:
        """Find the nearest centre.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            Their clusters.
        """
        X = validate_fitted(self, X, dtype=FLOATS)
        if self._whitener.shape[1] == 0:
            return np.zeros(len(X), dtype=np.intp)
        start = self.cluster_centers_[0]
        return pairwise_distances_argmin(
            (X - start) @ self._whitener,
            (self.cluster_centers_ - start) @ self._whitener,
        )
