"""Transformer from rows to their similarity graph."""

# SPDX-License-Identifier: BSD-3-Clause

from collections.abc import Callable
from typing import Any

from scipy.sparse import csr_array, issparse
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
)
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from fewlabels._backend import TensorMixin, backend_for
from fewlabels._linalg import FLOATS
from fewlabels._sklearn import fit_context, validate_data
from fewlabels.graphs._edge_weights import Edges, weighted
from fewlabels.graphs._similarity import GRAPH_CONSTRAINTS, KINDS, _build, _check_finite


class SimilarityGraphTransformer(
    TensorMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator
):
    """Turn rows into their similarity graph.

    `fit_transform` returns the symmetric graph of the training rows, `transform` the
    weights between new rows and training rows. The two differ for training rows: in the
    graph, no row is its own neighbour and edges are symmetric, whereas a row passed to
    `transform` counts as new, and a copy of it among the training rows is simply its
    nearest neighbour.

    Parameters
    ----------
    kind : {"knn", "ball", "complete"}, default="knn"
        Which rows are connected.
    n_neighbors : int, default=10
        Neighbours per row of ``kind="knn"``, fewer than training rows.
    symmetrize : {"mean", "union", "mutual"}, default="mean"
        When an edge between neighbours is kept; no effect on `transform`.
    radius : float, default=None
        Largest distance of ``kind="ball"``, included.
    weight : {"binary", "heat", "gaussian_threshold", "gaussian_density", \
            "inverse_distance", "dot", "local_linear"} or callable, default="heat"
        Weight of an edge, see :func:`similarity_graph`.
    bandwidth : float, "auto" or "mean", default="auto"
        Length scale t of the weights.
    threshold : float, default=None
        Longest edge of "gaussian_threshold".
    metric : str or callable, default="euclidean"
        A metric of :class:`sklearn.neighbors.NearestNeighbors`.
    metric_params : dict, default=None
        Further arguments of the metric.
    neighbors : {"exact", "approximate", "auto"} or transformer, default="exact"
        How to search, see :func:`nearest_neighbors`.
    n_jobs : int, default=None
        Passed to scikit-learn's search.
    device : {"cpu", "cuda"} or None, default=None
        Where to search, see :func:`nearest_neighbors`. The graph is a SciPy array.

    Attributes
    ----------
    graph_ : csr_array of shape (n_samples, n_samples)
        The graph of the training rows.
    bandwidth_ : float
        Length scale used, also for new rows.
    n_samples_fit_ : int
        Number of training rows.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features seen during fit, where `X` has names.

    See Also
    --------
    similarity_graph : The function behind it.

    Examples
    --------
    >>> from fewlabels.graphs import SimilarityGraphTransformer
    >>> X = [[0.0], [1.0], [2.0], [4.0]]
    >>> transformer = SimilarityGraphTransformer(n_neighbors=1, weight="binary")
    >>> transformer.fit_transform(X).toarray()
    array([[0. , 1. , 0. , 0. ],
           [1. , 0. , 0.5, 0. ],
           [0. , 0.5, 0. , 0.5],
           [0. , 0. , 0.5, 0. ]])
    >>> transformer.transform([[3.5]]).toarray()
    array([[0., 0., 0., 1.]])
    """

    _parameter_constraints: dict[str, list[Any]] = GRAPH_CONSTRAINTS

    def __init__(
        self,
        *,
        kind: str = "knn",
        n_neighbors: int = 10,
        symmetrize: str = "mean",
        radius: float | None = None,
        weight: str | Callable[[Any], Any] = "heat",
        bandwidth: float | str = "auto",
        threshold: float | None = None,
        metric: str | Callable[..., float] = "euclidean",
        metric_params: dict[str, Any] | None = None,
        neighbors: Any = "exact",
        n_jobs: int | None = None,
        device: str | None = None,
    ) -> None:
        self.kind = kind
        self.n_neighbors = n_neighbors
        self.symmetrize = symmetrize
        self.radius = radius
        self.weight = weight
        self.bandwidth = bandwidth
        self.threshold = threshold
        self.metric = metric
        self.metric_params = metric_params
        self.neighbors = neighbors
        self.n_jobs = n_jobs
        self.device = device

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        precomputed = self.metric == "precomputed"
        tags.input_tags.sparse = self.neighbors != "approximate"
        tags.input_tags.pairwise = tags.input_tags.positive_only = precomputed
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def _validated(self, X: Any, reset: bool) -> Any:
        return validate_data(self, X, reset=reset, accept_sparse="csr", dtype=FLOATS)

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: Any = None) -> "SimilarityGraphTransformer":
        """Build the graph of the training rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training rows.
        y : Ignored
            Present for API consistency.

        Returns
        -------
        self : SimilarityGraphTransformer
            The fitted transformer.
        """
        X = self._validated(X, reset=True)
        self.graph_, self.bandwidth_, self._search = _build(
            X, **{**self.get_params(deep=False), "device": backend_for(self)}
        )
        # The training rows, if weights of edges from new rows need them.
        self._fit_X = None if self.metric == "precomputed" else X
        self.n_samples_fit_ = self._n_features_out = X.shape[0]
        return self

    def fit_transform(self, X: Any, y: Any = None) -> csr_array:
        """Build the graph of the training rows and return it.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training rows.
        y : Ignored
            Present for API consistency.

        Returns
        -------
        W : csr_array of shape (n_samples, n_samples)
            The symmetric graph.
        """
        return self.fit(X).graph_

    def transform(self, X: Any) -> csr_array:
        """Compute the weights between new rows and nearby training rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_queries, n_features)
            New rows.

        Returns
        -------
        W : csr_array of shape (n_queries, n_samples)
            Weights; ``kind="knn"`` stores `n_neighbors` in each row.
        """
        check_is_fitted(self)
        X = self._validated(X, reset=False)
        if self._fit_X is not None and issparse(X) != issparse(self._fit_X):
            X = csr_array(X) if issparse(self._fit_X) else X.toarray()
        n = self.n_samples_fit_
        lengths = KINDS[self.kind](self._search, n, X, self.n_neighbors, self.radius)
        _check_finite(lengths.data)
        rows = None if self._fit_X is None else X
        edges = Edges(lengths, rows, self._fit_X)
        return weighted(edges, self.weight, self.bandwidth_, self.threshold)
