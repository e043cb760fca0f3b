"""Base classes of graph estimators: building the graph, predicting new rows."""

# SPDX-License-Identifier: BSD-3-Clause

import warnings
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator, clone
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, check_non_negative

from fewlabels._backend import follow
from fewlabels._classifier import PartialLabelClassifier
from fewlabels._labels import Labels, validate_partially_labeled
from fewlabels._linalg import FLOATS
from fewlabels._params import is_default
from fewlabels._rows import KnownRows
from fewlabels._sklearn import HasMethods, Interval, StrOptions, validate_fitted
from fewlabels.exceptions import DisconnectedGraphWarning, warn_ignored
from fewlabels.graphs import WEIGHT_CONSTRAINTS, SimilarityGraphTransformer
from fewlabels.semi_supervised._graph_system import check_graph

GRAPH_CONSTRAINTS: dict[str, list[Any]] = {
    "n_neighbors": [Interval(Integral, 1, None, closed="left")],
    "weight": WEIGHT_CONSTRAINTS["weight"],
    "affinity": [StrOptions({"knn", "precomputed"}), HasMethods(["fit", "transform"])],
}


class GraphEstimator(BaseEstimator):
    """An estimator that builds a graph of all rows, or is given one."""

    n_neighbors: int
    weight: Any
    affinity: Any
    device: str | None = None  # unless a subclass has the parameter
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = GRAPH_CONSTRAINTS

    def _set_graph(self, X: Any) -> csr_array:
        """Build or check the graph of the validated rows, and keep it."""
        self.transformer_ = None
        self._known = KnownRows(X)
        if not self._is("knn"):
            for name in ("n_neighbors", "weight"):
                value = getattr(self, name)
                if not is_default(type(self), name, value):
                    warn_ignored(f"{name}={value!r}", "only affinity='knn' uses it")
        if self._is("precomputed"):
            if X.shape[0] != X.shape[1]:
                raise ValueError(
                    "affinity='precomputed' needs the square weight matrix of the "
                    f"graph as X in fit, got shape {X.shape}."
                )
            check_non_negative(X, type(self).__name__)
            self.graph_ = check_graph(X)
        elif self._is("knn"):
            self.transformer_ = SimilarityGraphTransformer(
                n_neighbors=min(self.n_neighbors, X.shape[0] - 1),
                weight=self.weight,
                device=self.device,
            )
            follow(self.transformer_, self)
            # Valid by construction.
            self.graph_ = self.transformer_.fit_transform(X).astype(np.float64)
        else:
            self.transformer_ = clone(self.affinity)
            self.graph_ = check_graph(self.transformer_.fit_transform(X))
        return self.graph_

    def _labeled_graph(self, X: Any, y: ArrayLike) -> tuple[csr_array, Labels]:
        """Check rows and labels, build or check the graph, and keep the classes."""
        X, labels = validate_partially_labeled(
            self, X, y, accept_sparse="csr", dtype=FLOATS, ensure_min_samples=2
        )
        self.classes_ = labels.classes
        return self._set_graph(X), labels

    def _is(self, affinity: str) -> bool:
        return isinstance(self.affinity, str) and self.affinity == affinity

    def _of_copies(
        self, values: NDArray[Any], labeled: NDArray[np.intp]
    ) -> NDArray[Any]:
        """Give copies of a row one value: the mean of the labelled ones, if any."""
        weights = np.full(values.shape[0], np.finfo(float).tiny)
        weights[labeled] = 1.0
        shared = self._known.means(values, weights)
        self._seen_values = self._known.first(shared)
        shared[labeled] = values[labeled]
        return shared

    def _average(self, X: Any, values: NDArray[Any], default: Any) -> NDArray[Any]:
        """Values of rows as in fit; for others, the weighted mean near them."""
        X = validate_fitted(self, X, accept_sparse="csr", dtype=FLOATS)
        if self.transformer_ is None:
            check_non_negative(X, f"{type(self).__name__}.predict")
        found = self._known.find(X)
        new = np.flatnonzero(found < 0)
        means = self._seen_values[found]
        if new.size:
            means[new] = self._average_near(X[new], values, default)
        return means

    def _average_near(self, X: Any, values: NDArray[Any], default: Any) -> NDArray[Any]:
        """Weighted mean of the values at the training rows near each new row."""
        W = X if self.transformer_ is None else self.transformer_.transform(X)
        W = csr_array(W, dtype=np.float64)
        degrees = np.asarray(W.sum(axis=1)).ravel()
        alone = degrees == 0
        if alone.any():
            warnings.warn(
                f"{np.count_nonzero(alone)} of {alone.size} new rows have no edge to a "
                "training row: predictions for them are guesses.",
                DisconnectedGraphWarning,
                stacklevel=4,
            )
        means = np.asarray(W @ values) / np.where(alone, 1, degrees)[:, None]
        means[alone] = default
        return means

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        given = self._is("precomputed")
        tags.input_tags.pairwise = tags.input_tags.positive_only = given
        return tags


class GraphClassifier(GraphEstimator, PartialLabelClassifier):
    """A classifier that gives every vertex of a graph a value for each class."""

    label_distributions_: NDArray[Any]
    class_prior_: NDArray[Any]

    def predict_proba(self, X: Any) -> NDArray[Any]:
        """Average the label distributions of the training rows near each row.

        Rows seen in `fit` keep their own; copies of a row get the mean of theirs.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_queries, n_features)
            New rows; for ``affinity="precomputed"`` their weights to all training rows.

        Returns
        -------
        proba : ndarray of shape (n_queries, n_classes)
            The distributions, in the order of `classes_`.
        """
        check_is_fitted(self)
        return normalized_rows(
            self._average(X, self._spread(), self.class_prior_), self.class_prior_
        )

    def _spread(self) -> NDArray[Any]:
        """Values that are averaged for new rows."""
        return self.label_distributions_

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the class of every row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_queries, n_features)
            New rows; for ``affinity="precomputed"`` their weights to all training rows.

        Returns
        -------
        y : ndarray of shape (n_queries,)
            The predicted classes.
        """
        codes = self.predict_proba(X).argmax(axis=1)
        return self.classes_[codes]

    def _keep_transduction(self, labels: Labels, scores: NDArray[Any]) -> None:
        codes = self._of_copies(scores, labels.labeled).argmax(axis=1)
        codes[labels.labeled] = labels.codes[labels.labeled]
        self.transduction_ = labels.classes[codes]


def one_hot(codes: NDArray[np.intp], n_classes: int) -> NDArray[np.float64]:
    """One row per code with a 1 at its class."""
    return (codes[:, None] == np.arange(n_classes)).astype(np.float64)


def class_prior(labels: Labels) -> NDArray[np.float64]:
    """Share of every class among the labels."""
    counts = np.bincount(labels.codes[labels.labeled], minlength=labels.classes.size)
    return counts / counts.sum()


def normalized_rows(F: NDArray[Any], default: NDArray[Any]) -> NDArray[np.float64]:
    """Clip rows at zero and normalise them to sum to 1; zero rows get `default`."""
    F = np.maximum(F, 0)
    F = F / np.maximum(F.max(axis=1, keepdims=True), np.finfo(float).tiny)
    total = F.sum(axis=1, keepdims=True)
    return np.where(total > 0, F / np.where(total > 0, total, 1), default)
