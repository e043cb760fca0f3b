"""MacQueen's k-means: one row at a time."""

# SPDX-License-Identifier: BSD-3-Clause

import warnings
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.cluster import kmeans_plusplus
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import pairwise_distances_argmin_min
from sklearn.utils import check_random_state

from fewlabels._sklearn import (
    Interval,
    StrOptions,
    check_array,
    fit_context,
    validate_data,
    validate_fitted,
)

# Draws between two looks at the centres, however few the rows are.
MIN_WINDOW = 100


class MacQueenResult(NamedTuple):
    """Centres after a number of draws.

    Attributes
    ----------
    centers : ndarray of shape (n_clusters, n_features)
        Means of the points that each centre was given, its start included.
    counts : ndarray of shape (n_clusters,)
        Number of these points.
    n_draws : int
        Rows drawn.
    converged : bool
        Whether the centres had come to rest.
    """

    centers: NDArray[np.float64]
    counts: NDArray[np.int64]
    n_draws: int
    converged: bool


def macqueen_kmeans(
    X: NDArray[np.float64],
    centers: NDArray[np.float64],
    *,
    max_draws: int,
    tol: float = 1e-3,
    random_state: Any = None,
) -> MacQueenResult:
    r"""Draw rows at random and move the nearest centre towards each.

    .. math:: z_{i^*} \leftarrow \frac{j_{i^*} z_{i^*} + x}{j_{i^*} + 1}, \qquad
       j_{i^*} \leftarrow j_{i^*} + 1,

    where :math:`i^*` is the centre nearest to the row x, and all counts start at 1.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        Rows, in float64.
    centers : ndarray of shape (n_clusters, n_features)
        Where the centres start.
    max_draws : int
        Largest number of rows to draw, with replacement.
    tol : float, default=1e-3
        Centres have converged when, in as many draws as there are rows (at least 100),
        no coordinate has moved by more than this share of the largest standard
        deviation of a feature.
    random_state : int, RandomState instance or None, default=None
        Seed of the draws.

    Returns
    -------
    result : MacQueenResult
        The centres.

    References
    ----------
    .. [1] J. MacQueen, "Some methods for classification and analysis of multivariate
       observations", Berkeley Symposium on Mathematical Statistics and Probability
       (1967).

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.cluster import macqueen_kmeans
    >>> X = np.array([[0.0], [1.0], [10.0], [11.0]])
    >>> starts = np.array([[0.0], [10.0]])
    >>> result = macqueen_kmeans(X, starts, max_draws=10_000, random_state=0)
    >>> result.centers.round(1).ravel()
    array([ 0.5, 10.5])
    """
    from fewlabels._loops.means import running_means

    rng = check_random_state(random_state)
    X = np.ascontiguousarray(X, dtype=np.float64)
    centers = np.array(centers, dtype=np.float64, order="C")
    counts = np.ones(len(centers), dtype=np.int64)
    n = X.shape[0]
    at_rest = tol * float(X.std(axis=0).max(initial=0.0))
    window = max(n, MIN_WINDOW)
    n_draws = 0
    while n_draws < max_draws:
        before = centers.copy()
        order = rng.randint(n, size=min(window, max_draws - n_draws)).astype(np.int64)
        running_means(X, order, centers, counts)
        n_draws += order.size
        moved = np.abs(centers - before).max(initial=0.0)
        if order.size == window and moved <= at_rest:
            return MacQueenResult(centers, counts, n_draws, True)
    return MacQueenResult(centers, counts, n_draws, False)


class MacQueenKMeans(ClusterMixin, BaseEstimator):
    """MacQueen's k-means: random rows pull the nearest centre, one at a time.

    Centres are running means of the rows assigned to them; see :func:`macqueen_kmeans`.
    A row counts as soon as it is drawn, and `partial_fit` processes a stream without
    storing it.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    init : {"k-means++", "random"} or array-like of shape (n_clusters, n_features), \
            default="k-means++"
        Where the centres start: spread out rows, random rows, or as given.
    max_draws : int, default=None
        Largest number of rows that `fit` draws; None for 100 times their number, 10,000
        at least.
    tol : float, default=1e-3
        `fit` ends when no centre has moved, in as many draws as there are rows, by more
        than this share of the largest standard deviation of a feature. As steps shrink
        like one over the number of draws, a tenth of it takes about ten times as long.
    random_state : int, RandomState instance or None, default=None
        Seed of starts and draws.

    Attributes
    ----------
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        The centres.
    counts_ : ndarray of shape (n_clusters,)
        Points that each centre is the mean of, its start included.
    labels_ : ndarray of shape (n_samples,)
        Nearest centre of every row of the last call of `fit` or `partial_fit`.
    inertia_ : float
        Sum of their squared distances to it.
    n_draws_ : int
        Rows drawn, or taken from the stream.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, where `X` had any.

    See Also
    --------
    sklearn.cluster.KMeans : Lloyd's algorithm, a lower inertia for rows in memory.
    sklearn.cluster.MiniBatchKMeans : Batches; resets centres that win no rows.

    Notes
    -----
    To draw rows by a density other than the uniform one, draw them yourself and pass
    them to `partial_fit`.

    References
    ----------
    .. [1] J. MacQueen, "Some methods for classification and analysis of multivariate
       observations", Berkeley Symposium on Mathematical Statistics and Probability
       (1967).

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import make_blobs
    >>> from fewlabels.cluster import MacQueenKMeans
    >>> X, y = make_blobs(300, centers=3, random_state=7)
    >>> model = MacQueenKMeans(3, random_state=0).fit(X)
    >>> sorted(np.bincount(model.labels_).tolist())
    [100, 100, 100]
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_clusters": [Interval(Integral, 1, None, closed="left")],
        "init": [StrOptions({"k-means++", "random"}), "array-like"],
        "max_draws": [Interval(Integral, 1, None, closed="left"), None],
        "tol": [Interval(Real, 0, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        init: Any = "k-means++",
        max_draws: int | None = None,
        tol: float = 1e-3,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.init = init
        self.max_draws = max_draws
        self.tol = tol
        self.random_state = random_state

    def _starts(self, X: NDArray[Any], rng: Any) -> NDArray[np.float64]:
        if not isinstance(self.init, str):
            centers = check_array(self.init, dtype=np.float64, input_name="init")
            if centers.shape != (self.n_clusters, X.shape[1]):
                raise ValueError(
                    f"init has shape {centers.shape} but must have one row per cluster "
                    f"and one column per feature: {(self.n_clusters, X.shape[1])}."
                )
            return centers
        if X.shape[0] < self.n_clusters:
            raise ValueError(
                f"n_samples={X.shape[0]} should be >= n_clusters={self.n_clusters}: "
                "ask for fewer clusters, or give the starts as init."
            )
        if self.init == "random":
            return X[rng.choice(X.shape[0], self.n_clusters, replace=False)]
        middle = X.mean(axis=0)
        _, rows = kmeans_plusplus(X - middle, self.n_clusters, random_state=rng)
        return X[rows]

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None) -> Self:
        """Draw rows until the centres come to rest.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        y : None
            Not used.

        Returns
        -------
        self : object
            The fitted model.
        """
        X = validate_data(self, X, dtype=np.float64)
        rng = check_random_state(self.random_state)
        max_draws = (
            100 * max(X.shape[0], MIN_WINDOW)
            if self.max_draws is None
            else self.max_draws
        )
        result = macqueen_kmeans(
            X, self._starts(X, rng), max_draws=max_draws, tol=self.tol, random_state=rng
        )
        if not result.converged and self.tol > 0:
            warnings.warn(
                f"The centres still move after max_draws={max_draws}: allow more, or a "
                f"larger tol than {self.tol}.",
                ConvergenceWarning,
                stacklevel=2,
            )
        self.cluster_centers_, self.counts_ = result.centers, result.counts
        self.n_draws_ = result.n_draws
        return self._assign(X)

    @fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Take rows of a stream, in their order, each once.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows. The first call chooses the starts among them, unless `init` gives
            them.
        y : None
            Not used.

        Returns
        -------
        self : object
            The updated model.
        """
        from fewlabels._loops.means import running_means

        first = not hasattr(self, "cluster_centers_")
        X = validate_data(self, X, dtype=np.float64, order="C", reset=first)
        if first:
            rng = check_random_state(self.random_state)
            self.cluster_centers_ = np.array(self._starts(X, rng), order="C")
            self.counts_ = np.ones(self.n_clusters, dtype=np.int64)
            self.n_draws_ = 0
        running_means(X, np.arange(X.shape[0]), self.cluster_centers_, self.counts_)
        self.n_draws_ += X.shape[0]
        return self._assign(X)

    def _nearest(
        self, X: NDArray[np.float64]
    ) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
        # Far from the origin, distances from inner products would cancel.
        middle = self.cluster_centers_.mean(axis=0)
        nearest, distances = pairwise_distances_argmin_min(
            X - middle, self.cluster_centers_ - middle
        )
        return nearest.astype(np.intp), distances

    def _assign(self, X: NDArray[np.float64]) -> Self:
        self.labels_, distances = self._nearest(X)
        self.inertia_ = float(distances @ distances)
        return self

    def predict(self, X: Any) -> NDArray[np.intp]:
        """Assign rows to the nearest centre.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            The clusters.
        """
        X = validate_fitted(self, X, dtype=np.float64)
        return self._nearest(X)[0]
