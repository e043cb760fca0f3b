"""Wrappers around any classifier: self-training, and labels by cluster."""

# SPDX-License-Identifier: BSD-3-Clause

import warnings
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from sklearn import semi_supervised
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.dummy import DummyClassifier
from sklearn.neighbors import NearestNeighbors
from sklearn.utils import Tags, check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from fewlabels._classifier import PartialLabelClassifier, accepts_sparse, fitted
from fewlabels._distances import squared_distances
from fewlabels._labels import Labels, validate_partially_labeled
from fewlabels._rows import KnownRows, dense_if_small
from fewlabels._sklearn import HasMethods, fit_context, validate_data


def _predicts(method: str) -> Any:
    """Whether the inner classifier has the method."""

    def check(self: Any) -> bool:
        getattr(getattr(self, "estimator_", self.estimator), method)
        return True

    return available_if(check)


class SelfTrainingClassifier(
    PartialLabelClassifier, semi_supervised.SelfTrainingClassifier
):
    """Let a classifier label the rows it is confident about, and learn from them.

    In every round, a copy of `estimator` is fitted to the labelled rows, and the
    unlabelled rows it is most confident about join them with their predicted labels.
    Training stops when no row is left, none is confident enough, or `max_iter` is
    reached.

    This is :class:`sklearn.semi_supervised.SelfTrainingClassifier` with the labels of
    this library: strings, floats with NaN and objects with None work as well, -1 is not
    a class, and every row finally has a label.

    Parameters
    ----------
    estimator : classifier
        Any classifier with `fit` and `predict_proba`.
    threshold : float, default=0.75
        Probability above which a row is labelled, for ``criterion="threshold"``.
    criterion : {"threshold", "k_best"}, default="threshold"
        Which rows are labelled in a round.
    k_best : int, default=10
        Number of rows labelled in a round, for ``criterion="k_best"``.
    max_iter : int or None, default=10
        Largest number of rounds; None for no limit.
    verbose : bool, default=False
        Whether scikit-learn prints what each round adds.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes, without the marker for unlabelled rows.
    transduction_ : ndarray of shape (n_samples,)
        A label for every training row: given, or predicted by the final model, which
        may differ from the label the row was given in an earlier round.
    labeled_iter_ : ndarray of shape (n_samples,)
        Round in which each row was labelled: 0 for given labels, -1 for rows about
        which the model was never confident enough.
    estimator_ : classifier
        The final model, which sees classes as indices.
    n_iter_ : int
        Number of rounds.
    termination_condition_ : {"max_iter", "no_change", "all_labeled"}
        Why it stopped.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, where `X` had any.

    See Also
    --------
    CoTrainingClassifier : Two classifiers that teach each other.

    References
    ----------
    .. [1] D. Yarowsky, "Unsupervised word sense disambiguation rivaling supervised
       methods", ACL 1995. :doi:`10.3115/981658.981684`

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from fewlabels.datasets import hide_labels, make_gaussian2c
    >>> from fewlabels.semi_supervised import SelfTrainingClassifier
    >>> X, y_true = make_gaussian2c(300, 20, random_state=0)
    >>> y = hide_labels(y_true, n_labeled=10, random_state=0)
    >>> model = SelfTrainingClassifier(LogisticRegression(), max_iter=None).fit(X, y)
    >>> bool((model.transduction_ == y_true).mean() > 0.9)
    True
    """

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: ArrayLike, **params: Any) -> Self:
        """Train on the given labels and on those added in each round.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            All rows.
        y : array-like of shape (n_samples,)
            Labels; -1 among integers, NaN among floats, and None or NaN among objects
            mark unlabelled rows.
        **params : dict
            Routed to the estimator, where metadata routing is enabled.

        Returns
        -------
        self : object
            The fitted classifier.
        """
        rows, labels = validate_partially_labeled(
            self, X, y, accept_sparse=True, dtype=None, ensure_all_finite=False
        )
        # Pass the original rows: scikit-learn reads the feature names from them.
        super().fit(X, labels.codes, **params)
        self.classes_ = labels.classes
        self.transduction_ = labels.completed(
            lambda free: labels.classes[self.estimator_.predict(rows[free])]
        )
        return self

    @_predicts("predict")
    def predict(self, X: Any, **params: Any) -> NDArray[Any]:
        """Predict the class of every row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_queries, n_features)
            Rows.
        **params : dict
            Routed to the estimator, where metadata routing is enabled.

        Returns
        -------
        y : ndarray of shape (n_queries,)
            The predicted classes.
        """
        codes = super().predict(X, **params)
        return self.classes_[codes]

    def __sklearn_tags__(self) -> Tags:
        # Not scikit-learn's tags, which fail without an estimator.
        tags = super(semi_supervised.SelfTrainingClassifier, self).__sklearn_tags__()
        tags.input_tags.sparse = accepts_sparse(self.estimator)
        return tags


class _KMeans(KMeans):
    """k-means whose clusters do not change when all rows are shifted.

    Dense rows are centred on the median value of every column, which is one of its
    entries: the differences are then the same to the last digit, and ties are broken in
    the same way. Centring on means would not do, since these are rounded.
    """

    cluster_centers_: NDArray[Any]

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Find the centres."""
        middle = X.shape[0] // 2
        self._origin = None if issparse(X) else np.partition(X, middle, axis=0)[middle]
        rows = X if self._origin is None else X - self._origin
        super().fit(rows, y, sample_weight)
        self._centers = self.cluster_centers_
        if self._origin is not None:
            self.cluster_centers_ = self._centers + self._origin
        return self

    def predict(self, X: Any) -> NDArray[np.intp]:
        """Find the nearest centre of every row, in the precision of `fit`."""
        X = X if self._origin is None else dense_if_small(X)
        if self._origin is None or issparse(X):
            return squared_distances(X, self.cluster_centers_).argmin(axis=1)
        return squared_distances(X - self._origin, self._centers).argmin(axis=1)


class ClusterThenLabelClassifier(PartialLabelClassifier):
    """Cluster all rows, then learn in each cluster from its labelled rows.

    The rule of a cluster is `classifier` fitted to its labelled rows, by default the
    majority of their labels. Clusters without a label, and rows that the clusterer
    treats as noise, follow the rule fitted to all labelled rows.

    Parameters
    ----------
    clusterer : clusterer, default=None
        Any clusterer with `fit_predict`. None uses :class:`sklearn.cluster.KMeans` with
        as many clusters as classes.
    classifier : classifier, default=None
        The rule; None uses the majority vote.
    random_state : int, RandomState instance or None, default=None
        Seed of the default clusterer.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes, without the marker for unlabelled rows.
    transduction_ : ndarray of shape (n_samples,)
        A label for every training row: given, or predicted by the rule of its cluster.
    clusterer_ : clusterer
        The fitted clusterer.
    clusters_ : ndarray of shape (n_samples,)
        Cluster of every training row.
    rules_ : dict
        Fitted classifier of each cluster that holds a label.
    default_rule_ : classifier
        The one fitted to all labelled rows.
    X_fit_ : {ndarray, sparse matrix} or None
        The training rows, kept if the clusterer has no `predict`: a new row is then
        assigned to the cluster of the nearest one.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, where `X` had any.

    Warns
    -----
    UserWarning
        If a cluster holds no label.

    References
    ----------
    .. [1] X. Zhu and A. B. Goldberg, "Introduction to Semi-Supervised Learning", Morgan
       & Claypool, 2009. :doi:`10.2200/S00196ED1V01Y200906AIM006`

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from fewlabels.datasets import hide_labels
    >>> from fewlabels.semi_supervised import ClusterThenLabelClassifier
    >>> X, y_true = make_blobs(300, centers=3, random_state=7)
    >>> y = hide_labels(y_true, n_labeled=6, random_state=0)
    >>> model = ClusterThenLabelClassifier(random_state=0).fit(X, y)
    >>> bool((model.transduction_ == y_true).all())
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "clusterer": [HasMethods(["fit_predict"]), None],
        "classifier": [HasMethods(["fit", "predict"]), None],
        "random_state": ["random_state"],
    }

    def __init__(
        self, clusterer: Any = None, classifier: Any = None, *, random_state: Any = None
    ) -> None:
        self.clusterer = clusterer
        self.classifier = classifier
        self.random_state = random_state

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: ArrayLike) -> Self:
        """Cluster the rows and learn the rule of every cluster.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            All rows.
        y : array-like of shape (n_samples,)
            Labels; -1 among integers, NaN among floats, and None or NaN among objects
            mark unlabelled rows.

        Returns
        -------
        self : object
            The fitted classifier.
        """
        X, labels = validate_partially_labeled(
            self, X, y, accept_sparse="csr", dtype=np.float64
        )
        self.classes_ = labels.classes
        self.clusterer_ = (
            _KMeans(
                min(labels.classes.size, X.shape[0]),
                n_init=10,
                random_state=check_random_state(self.random_state),
            )
            if self.clusterer is None
            else clone(self.clusterer)
        )
        rows = dense_if_small(X) if self.clusterer is None else X
        self.clusters_ = np.asarray(self.clusterer_.fit_predict(rows))
        self.X_fit_ = None if hasattr(self.clusterer_, "predict") else X
        self._known = KnownRows(X)
        self._seen_clusters = self._known.first(self.clusters_)
        self._set_rules(X, labels)
        self.transduction_ = labels.completed(lambda free: self._classes_of(X[free]))
        return self

    def _set_rules(self, X: Any, labels: Labels) -> None:
        rule = DummyClassifier() if self.classifier is None else self.classifier
        rows = labels.labeled
        self.default_rule_ = fitted(rule, X[rows], labels.codes[rows])
        self.rules_ = {}
        without = []
        for cluster in np.unique(self.clusters_[self.clusters_ >= 0]).tolist():
            inside = rows[self.clusters_[rows] == cluster]
            if inside.size:
                self.rules_[cluster] = fitted(rule, X[inside], labels.codes[inside])
            else:
                without.append(cluster)
        if without:
            n_rows = np.count_nonzero(np.isin(self.clusters_, without))
            warnings.warn(
                f"{len(without)} clusters, with {n_rows} of {X.shape[0]} rows, hold no "
                "labelled row and follow the rule of all labels: ask for fewer "
                "clusters, or label a row in each.",
                UserWarning,
                stacklevel=3,
            )

    def _classes_of(self, X: Any) -> NDArray[Any]:
        """Class of every validated row, by the rule of its cluster."""
        clusters = self._clusters_of(X)
        codes = np.empty(X.shape[0], dtype=np.intp)
        for cluster in np.unique(clusters).tolist():
            inside = np.flatnonzero(clusters == cluster)
            rule = self.rules_.get(cluster, self.default_rule_)
            codes[inside] = rule.predict(X[inside])
        return self.classes_[codes]

    def predict(self, X: Any) -> NDArray[Any]:
        """Find the cluster of every row and apply its rule.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_queries, n_features)
            Rows.

        Returns
        -------
        y : ndarray of shape (n_queries,)
            The predicted classes.
        """
        check_is_fitted(self)
        # Some clusterers predict only rows of the type they were fitted to.
        X = validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=False)
        return self._classes_of(X)

    def _clusters_of(self, X: Any) -> NDArray[Any]:
        """Cluster of every row; rows seen in `fit` keep theirs."""
        found = self._known.find(X)
        clusters, new = self._seen_clusters[found], np.flatnonzero(found < 0)
        if not new.size:
            return clusters
        if self.X_fit_ is None:
            clusters[new] = self.clusterer_.predict(X[new])
        else:
            # Trees do not accept sparse rows.
            algorithm = "brute" if issparse(X) else "auto"
            search = NearestNeighbors(n_neighbors=1, algorithm=algorithm)
            search.fit(self.X_fit_)
            nearest = search.kneighbors(X[new], return_distance=False)[:, 0]
            clusters[new] = self.clusters_[nearest]
        return clusters

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = accepts_sparse(self.clusterer, self.classifier)
        return tags
