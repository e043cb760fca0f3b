"""From rows to the weights of a graph, for training rows and for new ones."""

# SPDX-License-Identifier: BSD-3-Clause

from numbers import Integral
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.metrics.pairwise import PAIRWISE_KERNEL_FUNCTIONS
from sklearn.utils import Tags

from fewlabels._backend import backend_for, follow
from fewlabels._linalg import FLOATS
from fewlabels._params import check_params, is_default
from fewlabels._sklearn import Interval, StrOptions, validate_data, validate_fitted
from fewlabels.exceptions import warn_ignored
from fewlabels.graphs import GRAPH_CONSTRAINTS, SimilarityGraphTransformer
from fewlabels.kernels import KERNEL_CONSTRAINTS, TiledGram, resolve_kernel

# What `graph_params` may hold: all of the graph but what has a name of its own.
_GRAPH_PARAMS: dict[str, list[Any]] = {
    name: constraint
    for name, constraint in GRAPH_CONSTRAINTS.items()
    if name not in ("kind", "radius", "n_neighbors", "n_jobs", "device")
}

AFFINITY_CONSTRAINTS: dict[str, list[Any]] = {
    "affinity": [
        StrOptions({*PAIRWISE_KERNEL_FUNCTIONS, "knn", "precomputed"}),
        callable,
    ],
    "n_neighbors": [Interval(Integral, 1, None, closed="left")],
    "graph_params": [dict, None],
    "gamma": KERNEL_CONSTRAINTS["gamma"],
    "kernel_params": KERNEL_CONSTRAINTS["kernel_params"],
    "random_state": ["random_state"],
    "n_jobs": [Integral, None],
}


class GraphClusterer(ClusterMixin, BaseEstimator):
    """An estimator that clusters the vertices of a graph: builds the graph."""

    affinity: Any
    n_neighbors: int
    graph_params: dict[str, Any] | None
    gamma: Any
    kernel_params: dict[str, Any] | None
    n_jobs: int | None
    device: str | None = None  # unless a subclass has the parameter

    def _is(self, affinity: str) -> bool:
        return isinstance(self.affinity, str) and self.affinity == affinity

    def _weighs_given(self) -> bool:
        """Whether `X` holds the weights, none of which may be negative."""
        return self._is("precomputed")

    def _fit_graph(self, X: Any) -> Any:
        """Validate training rows and weigh all pairs of them, sparse for "knn"."""
        X = validate_data(
            self,
            X,
            accept_sparse="csr",
            dtype=FLOATS,
            ensure_non_negative=self._weighs_given(),
        )
        params = check_params(
            "graph_params",
            self.graph_params,
            _GRAPH_PARAMS if self._is("knn") else {},
            f"affinity={self.affinity!r}",
        )
        self._transformer: SimilarityGraphTransformer | None = None
        self._fit_X: Any = None
        self.kernel_ = None
        if self._is("knn"):
            if not is_default(type(self), "gamma", self.gamma):
                warn_ignored(f"gamma={self.gamma!r}", "affinity='knn' has a bandwidth")
            self._transformer = SimilarityGraphTransformer(
                n_neighbors=self.n_neighbors,
                n_jobs=self.n_jobs,
                device=self.device,
                # Weights that decrease with length cut off pairs of outliers, of which
                # large data sets have many.
                **{"weight": "binary", "symmetrize": "union", **params},
            )
            follow(self._transformer, self)
            return self._transformer.fit_transform(X)
        if self._is("precomputed"):
            if X.shape[0] != X.shape[1]:
                raise ValueError(
                    "affinity='precomputed' needs the square matrix of weights between "
                    f"all rows as X, got shape {X.shape}."
                )
            return X
        self.kernel_ = resolve_kernel(
            X, self.affinity, gamma=self.gamma, kernel_params=self.kernel_params
        )
        self._fit_X = X
        if backend_for(self).is_numpy:
            return self.kernel_(X)
        return TiledGram(X, self.kernel_, device=backend_for(self)).toarray()

    def _weights_to_training_rows(self, X: Any) -> Any:
        """Validate new rows and weigh their edges to all training rows."""
        X = validate_fitted(self, X, accept_sparse="csr", dtype=FLOATS)
        if self._transformer is not None:
            return self._transformer.transform(X)
        return X if self.kernel_ is None else self.kernel_(X, self._fit_X)

    def _check_n_clusters(self, n_clusters: int, n_samples: int) -> None:
        if n_samples < n_clusters:
            raise ValueError(
                f"n_samples={n_samples} rows cannot make n_clusters={n_clusters} "
                "clusters: ask for fewer."
            )

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._is("precomputed")
        tags.input_tags.positive_only = self._weighs_given()
        tags.input_tags.sparse = True
        return tags


def row_sums(W: Any) -> Any:
    """Sum of every row, of sparse and of dense weights."""
    return np.asarray(W.sum(axis=1), dtype=np.float64).ravel()


def product(W: Any, vectors: Any) -> Any:
    """Dense product, computed in double precision."""
    W = W if issparse(W) else np.asarray(W)
    return np.asarray(W @ vectors, dtype=np.float64)
