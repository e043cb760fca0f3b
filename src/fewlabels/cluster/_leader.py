"""Clustering by a threshold on distances."""

# SPDX-License-Identifier: BSD-3-Clause

from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from scipy.spatial.distance import cdist
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.metrics import pairwise_distances
from sklearn.utils import Tags

from fewlabels._distances import squared_distances
from fewlabels._linalg import FLOATS
from fewlabels._sklearn import Interval, fit_context, validate_data, validate_fitted


def _near(leader: Any, X: Any, threshold: float, metric: Any) -> NDArray[np.bool_]:
    """Tell which rows are near a leader."""
    if metric == "euclidean":
        # From differences: those from inner products keep equal rows apart.
        if issparse(leader) or issparse(X):
            return np.sqrt(squared_distances(leader, X)[0]) <= threshold
        return cdist(leader, X)[0] <= threshold
    return pairwise_distances(leader, X, metric=metric)[0] <= threshold


def leaders(X: Any, threshold: float, *, metric: Any = "euclidean") -> NDArray[np.intp]:
    """Take the first row that no leader is near to as the next leader.

    Parameters
    ----------
    X : {ndarray, sparse matrix} of shape (n_samples, n_features)
        Rows, in an order that matters.
    threshold : float
        A leader is near up to this distance.
    metric : str or callable, default="euclidean"
        As :func:`sklearn.metrics.pairwise_distances` takes it.

    Returns
    -------
    rows : ndarray of shape (n_leaders,)
        Indices of the leaders, increasing.

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.cluster import leaders
    >>> leaders(np.array([[0.0], [1.0], [5.0], [0.5]]), threshold=2.0)
    array([0, 2])
    """
    free = np.arange(X.shape[0])
    found = []
    while free.size:
        found.append(free[0])
        near = _near(X[free[:1]], X[free], threshold, metric)
        near[0] = True  # a row belongs to itself, whatever rounding says
        free = free[~near]
    return np.array(found, dtype=np.intp)


class LeaderClustering(ClusterMixin, BaseEstimator):
    """Cluster rows by a threshold on the distance to leaders.

    The first row is a leader, and all rows within `threshold` of it are its cluster.
    The first of the remaining rows is the next leader, and so on. The number of
    clusters need not be known; there is one pass over the rows per cluster.

    Parameters
    ----------
    threshold : float, default=0.5
        Distance up to which a row follows a leader.
    metric : str or callable, default="euclidean"
        As :func:`sklearn.metrics.pairwise_distances` takes it, except "precomputed".

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Clusters, in the order of their leaders.
    leaders_ : ndarray of shape (n_clusters,)
        Indices of the leaders.
    cluster_centers_ : {ndarray, sparse matrix} of shape (n_clusters, n_features)
        The leaders.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, where `X` had any.

    See Also
    --------
    sklearn.cluster.DBSCAN : Clusters of any shape, independent of the order.
    sklearn.cluster.AgglomerativeClustering : With a `distance_threshold`.

    Notes
    -----
    The result depends on the order of rows unless groups are clear: if all distances
    inside groups are at most the threshold and all between them above, the groups are
    found in any order.

    References
    ----------
    .. [1] J. A. Hartigan, "Clustering Algorithms", Wiley (1975), chapter 3.

    Examples
    --------
    >>> from fewlabels.cluster import LeaderClustering
    >>> model = LeaderClustering(threshold=2.0).fit([[0.0], [1.0], [5.0], [0.5]])
    >>> model.labels_
    array([0, 0, 1, 0])
    >>> model.predict([[5.5], [9.0]])  # -1: far from every leader
    array([ 1, -1])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "threshold": [Interval(Real, 0, None, closed="left")],
        "metric": [str, callable],
    }

    def __init__(self, *, threshold: float = 0.5, metric: Any = "euclidean") -> None:
        self.threshold = threshold
        self.metric = metric

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None) -> Self:
        """Find leaders and their clusters.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : None
            Not used.

        Returns
        -------
        self : object
            The fitted model.
        """
        if self.metric == "precomputed":
            raise ValueError(
                "metric='precomputed' is not available: leaders are compared with new "
                "rows. Cluster a matrix of distances with AgglomerativeClustering."
            )
        X = validate_data(self, X, accept_sparse="csr", dtype=FLOATS)
        self.leaders_ = leaders(X, self.threshold, metric=self.metric)
        self.cluster_centers_ = X[self.leaders_]
        self.labels_ = self._first_near(X)
        self.labels_[self.leaders_] = np.arange(self.leaders_.size)
        return self

    def _first_near(self, X: Any) -> NDArray[np.intp]:
        labels = np.full(X.shape[0], -1, dtype=np.intp)
        for k in range(self.leaders_.size):
            free = np.flatnonzero(labels < 0)
            if not free.size:
                break
            near = _near(
                self.cluster_centers_[[k]], X[free], self.threshold, self.metric
            )
            labels[free[near]] = k
        return labels

    def predict(self, X: Any) -> NDArray[np.intp]:
        """Assign rows to the first leader that they are near to.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            The clusters; -1 for a row that no leader is near to.
        """
        X = validate_fitted(self, X, accept_sparse="csr", dtype=FLOATS)
        return self._first_near(X)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
