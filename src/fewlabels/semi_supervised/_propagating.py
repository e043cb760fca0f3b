"""Propagate labels between nearest neighbours, by the minimum spanning forest."""

# SPDX-License-Identifier: BSD-3-Clause

from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import coo_array, issparse
from scipy.sparse.csgraph import connected_components
from scipy.spatial.distance import cdist
from sklearn.metrics import pairwise_distances
from sklearn.neighbors import KDTree
from sklearn.utils import Tags
from sklearn.utils.validation import check_non_negative

from fewlabels._classifier import PartialLabelClassifier
from fewlabels._distances import safe_unit, squared_distances
from fewlabels._labels import validate_partially_labeled
from fewlabels._linalg import FLOATS
from fewlabels._rows import check_rows, is_euclidean
from fewlabels._sklearn import StrOptions, fit_context, validate_fitted
from fewlabels.graphs import make_search

# Up to this many features, a k-d tree can skip most of the rows.
TREE_FEATURES = 10
LEAF_SIZE = 16


class SpanningForest(NamedTuple):
    """A minimum spanning forest, the result of :func:`minimum_spanning_forest`.

    Attributes
    ----------
    edges : ndarray of int of shape (n_samples - n_roots, 2)
        Rows at the two ends of every edge, the smaller one first, in no special order.
    root : ndarray of int of shape (n_samples,)
        The root of the tree that every row belongs to.
    """

    edges: NDArray[np.intp]
    root: NDArray[np.intp]


def minimum_spanning_forest(
    X: Any,
    roots: ArrayLike,
    *,
    metric: str | Callable[..., float] = "euclidean",
    metric_params: dict[str, Any] | None = None,
    algorithm: str = "auto",
) -> SpanningForest:
    """Connect every row to one of the roots by edges of minimal total length.

    The forest grows from the roots by always adding the row nearest to those already in
    it. Among edges of the same length, the one with the smaller row numbers comes first
    (by smaller end, then larger end), which makes the forest unique.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Rows; distances of shape (n_samples, n_samples) for ``metric="precomputed"``.
    roots : array-like of int
        At least one row; each is the root of a tree.
    metric : str or callable, default="euclidean"
        A metric of :func:`sklearn.metrics.pairwise_distances`.
    metric_params : dict, default=None
        Further arguments of the metric.
    algorithm : {"auto", "tree", "prim"}, default="auto"
        "tree" is Borůvka's algorithm on a k-d tree, about n log(n) in few dimensions,
        for Euclidean distances between dense rows; "prim" visits all pairs, one row of
        distances at a time. "auto" uses the tree for up to 10 features.

    Returns
    -------
    forest : SpanningForest
        The edges, and the root of every row.

    Examples
    --------
    >>> from fewlabels.semi_supervised import minimum_spanning_forest
    >>> X = [[0.0], [1.0], [2.1], [5.0], [4.1]]
    >>> forest = minimum_spanning_forest(X, roots=[0, 3])
    >>> forest.root
    array([0, 0, 0, 3, 3])
    >>> sorted(forest.edges.tolist())
    [[0, 1], [1, 2], [3, 4]]
    """
    X = check_rows(X)
    n = X.shape[0]
    roots = np.asarray(roots, dtype=np.intp)
    if roots.ndim != 1 or roots.size == 0 or not np.all((roots >= 0) & (roots < n)):
        raise ValueError(f"roots must name rows in 0, ..., {n - 1}, at least one.")
    if metric == "precomputed" and (issparse(X) or X.shape[0] != X.shape[1]):
        raise ValueError(
            "metric='precomputed' needs a dense square matrix of distances as X, got "
            f"shape {X.shape}."
        )
    fits = is_euclidean(metric, metric_params) and not issparse(X)
    if is_euclidean(metric, metric_params):
        unit = safe_unit(X)
        X = X if unit == 1.0 else X / X.dtype.type(unit)
    if algorithm == "auto":
        algorithm = "tree" if fits and X.shape[1] <= TREE_FEATURES else "prim"
    if algorithm not in ("tree", "prim"):
        raise ValueError(f"algorithm={algorithm!r} must be 'auto', 'tree' or 'prim'.")
    if algorithm == "tree" and not fits:
        raise ValueError(
            "algorithm='tree' is for Euclidean distances between dense rows: use "
            "algorithm='prim'."
        )
    if algorithm == "tree":
        edges = _forest_by_tree(X, roots)
    else:
        edges = _forest_by_prim(_distances_from(X, metric, metric_params), n, roots)
    graph = coo_array((np.ones(len(edges)), tuple(edges.T)), shape=(n, n))
    _, tree = connected_components(graph, directed=False)
    root_of_tree = np.empty(tree.max() + 1, dtype=np.intp)
    root_of_tree[tree[roots]] = roots
    return SpanningForest(edges, root_of_tree[tree])


def _forest_by_tree(X: NDArray[Any], roots: NDArray[np.intp]) -> NDArray[np.intp]:
    from fewlabels._loops.spanning_forest import ROOT, spanning_forest

    data, order, nodes, boxes = map(np.asarray, KDTree(X, LEAF_SIZE).get_arrays())
    component = np.arange(1, X.shape[0] + 1)
    component[roots] = ROOT
    return spanning_forest(
        np.ascontiguousarray(data, dtype=np.float64),
        order.astype(np.int64),
        nodes["idx_start"].astype(np.int64),
        nodes["idx_end"].astype(np.int64),
        nodes["is_leaf"].astype(np.bool_),
        np.ascontiguousarray(boxes[0], dtype=np.float64),
        np.ascontiguousarray(boxes[1], dtype=np.float64),
        component,
    )


def _distances_from(
    X: Any, metric: Any, metric_params: dict[str, Any] | None
) -> Callable[[int, NDArray[np.intp]], NDArray[Any]]:
    """Make the function that computes distances from one row to others."""
    if metric == "precomputed":
        return lambda i, others: X[i, others]
    if is_euclidean(metric, metric_params) and not issparse(X):
        # By differences, since scikit-learn's expanded square loses small distances.
        X = np.asarray(X, dtype=np.float64)
        return lambda i, others: cdist(X[[i]], X[others], "sqeuclidean")[0]
    if is_euclidean(metric, metric_params):
        X = X.astype(np.float64)
        return lambda i, others: squared_distances(X[[i]], X[others])[0]
    params = metric_params or {}
    return lambda i, others: pairwise_distances(
        X[[i]], X[others], metric=metric, **params
    )[0]


def _forest_by_prim(
    distances_from: Callable[[int, NDArray[np.intp]], NDArray[Any]],
    n: int,
    roots: NDArray[np.intp],
) -> NDArray[np.intp]:
    """Grow the forest by the nearest row; ties go to the smaller ends."""
    outside = np.ones(n, dtype=bool)
    outside[roots] = False
    rest = np.flatnonzero(outside)
    nearest = np.full(rest.size, np.inf)
    low, high = np.full(rest.size, n), np.full(rest.size, n)
    edges = np.empty((rest.size, 2), dtype=np.intp)
    newcomers = list(np.unique(roots))
    for step in range(rest.size):
        for i in newcomers:
            d = distances_from(int(i), rest)
            p, q = np.minimum(i, rest), np.maximum(i, rest)
            smaller = (p < low) | ((p == low) & (q < high))
            better = (d < nearest) | ((d == nearest) & smaller)
            nearest = np.where(better, d, nearest)
            low, high = np.where(better, p, low), np.where(better, q, high)
        ties = np.flatnonzero(nearest == nearest.min())
        winner = ties[np.lexsort((high[ties], low[ties]))[0]]
        edges[step] = low[winner], high[winner]
        newcomers = [rest[winner]]
        keep = np.arange(rest.size) != winner
        rest, nearest, low, high = rest[keep], nearest[keep], low[keep], high[keep]
    return edges


class PropagatingNearestNeighborClassifier(PartialLabelClassifier):
    """Propagate labels from nearest neighbour to nearest neighbour.

    Repeatedly, the unlabelled row closest to a labelled one takes its label and counts
    as labelled from then on, until all rows are labelled. This grows a minimum spanning
    forest from the labelled rows, and is computed as such: every row gets the label of
    its root. The result depends only on the order of the distances, not on their size.

    Parameters
    ----------
    metric : str or callable, default="euclidean"
        A metric of :func:`sklearn.metrics.pairwise_distances`; with "precomputed", `X`
        holds distances to all training rows.
    metric_params : dict, default=None
        Further arguments of the metric.
    algorithm : {"auto", "tree", "prim"}, default="auto"
        See :func:`minimum_spanning_forest`. The result is the same.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes, without the marker for unlabelled rows.
    transduction_ : ndarray of shape (n_samples,)
        A label for every training row.
    edges_ : ndarray of shape (n_unlabeled, 2)
        The forest: pairs of rows along which labels were propagated.
    root_ : ndarray of shape (n_samples,)
        The labelled row from which each row got its label.
    X_fit_ : {ndarray, sparse matrix} of shape (n_samples, n_features)
        The training rows; None for precomputed distances.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, where `X` had any.

    See Also
    --------
    minimum_spanning_forest : The solver.

    Notes
    -----
    A new row gets the label of the nearest training row. One short bridge between two
    classes is enough to mislead labels; the harmonic functions of
    :class:`HarmonicFunctionClassifier` weigh all paths instead.

    References
    ----------
    .. [1] X. Zhu and A. B. Goldberg, "Introduction to Semi-Supervised Learning", Morgan
       & Claypool, 2009. :doi:`10.2200/S00196ED1V01Y200906AIM006`

    Examples
    --------
    >>> from sklearn.datasets import make_circles
    >>> from fewlabels.datasets import hide_labels
    >>> from fewlabels.semi_supervised import PropagatingNearestNeighborClassifier
    >>> X, y_true = make_circles(400, factor=0.5, random_state=0)
    >>> y = hide_labels(y_true, n_labeled=2, random_state=0)  # one label for each ring
    >>> model = PropagatingNearestNeighborClassifier().fit(X, y)
    >>> bool((model.transduction_ == y_true).all())
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "metric": [str, callable],
        "metric_params": [dict, None],
        "algorithm": [StrOptions({"auto", "tree", "prim"})],
    }

    def __init__(
        self,
        *,
        metric: str | Callable[..., float] = "euclidean",
        metric_params: dict[str, Any] | None = None,
        algorithm: str = "auto",
    ) -> None:
        self.metric = metric
        self.metric_params = metric_params
        self.algorithm = algorithm

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: ArrayLike) -> Self:
        """Propagate the labels to all rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            All rows; their distances for ``metric="precomputed"``.
        y : array-like of shape (n_samples,)
            Labels; -1 among integers, NaN among floats, and None or NaN among objects
            mark unlabelled rows.

        Returns
        -------
        self : object
            The fitted classifier.
        """
        X, labels = validate_partially_labeled(self, X, y, **self._input())
        if self.metric == "precomputed":
            check_non_negative(X, type(self).__name__)
        forest = minimum_spanning_forest(
            X,
            labels.labeled,
            metric=self.metric,
            metric_params=self.metric_params,
            algorithm=self.algorithm,
        )
        self.classes_ = labels.classes
        self.edges_, self.root_ = forest.edges, forest.root
        self.transduction_ = labels.classes[labels.codes[forest.root]]
        self.X_fit_ = None if self.metric == "precomputed" else X
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the label of the nearest training row for every row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_queries, n_features)
            New rows; their distances to all training rows for ``metric="precomputed"``.

        Returns
        -------
        y : ndarray of shape (n_queries,)
            The predicted classes.
        """
        X = validate_fitted(self, X, **self._input())
        if self.X_fit_ is None:
            nearest = np.argmin(X, axis=1)
        else:
            search = make_search(
                self.X_fit_, metric=self.metric, metric_params=self.metric_params
            )
            nearest = search.kneighbors(1, X)[1][:, 0]
        return self.transduction_[nearest]

    def _input(self) -> dict[str, Any]:
        """Return the checks that rows must pass."""
        sparse: Any = False if self.metric == "precomputed" else "csr"
        # scikit-learn's sparse distances need 32-bit indices.
        return {"accept_sparse": sparse, "dtype": FLOATS, "accept_large_sparse": False}

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        precomputed = self.metric == "precomputed"
        tags.input_tags.sparse = not precomputed
        tags.input_tags.pairwise = tags.input_tags.positive_only = precomputed
        return tags
