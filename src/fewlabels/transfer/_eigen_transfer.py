"""EigenTransfer: the eigenvectors of one graph of rows, features and classes."""

# SPDX-License-Identifier: BSD-3-Clause

import warnings
from numbers import Real
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse
from scipy.sparse.linalg import svds
from sklearn.linear_model import LogisticRegression
from sklearn.utils import check_random_state

from fewlabels._classifier import fitted, outputs_of
from fewlabels._labels import UNLABELED, Labels
from fewlabels._linalg import signs
from fewlabels._params import usual
from fewlabels._sklearn import HasMethods, Interval, StrOptions
from fewlabels.transfer._domains import DomainClassifier

# Up to this many feature and class nodes all singular vectors are computed.
DENSE_NODES = 1000
# Singular values below this share of the first belong to no eigenvalue below 1.
MIN_SINGULAR = 1e-8
# Few features, but next to a far row so large that L-BFGS stops after few digits.
EXACT_LOGISTIC = LogisticRegression(solver="newton-cholesky", tol=1e-8)


def _non_negative(X: Any) -> Any:
    """Weights of edges: a feature with negative values becomes two."""
    X = sparse.csr_array(X)
    below = X.multiply(X < 0).tocsr()
    return sparse.hstack([X - below, -below], format="csr")


def eigen_transfer_graph(
    X: Any, classes: NDArray[np.intp], n_classes: int, *, label_weight: float = 1.0
) -> sparse.csr_array:
    """Join rows with their features and their classes.

    All edges lead from a row to a feature or a class, so that the graph is bipartite,
    and B describes it completely: its weights are ``[[0, B], [B.T, 0]]``.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Rows of all domains. The value of a feature is the weight of an edge; a feature
        with negative values has a second node for those.
    classes : ndarray of int of shape (n_samples,)
        The class node of each row, -1 for none.
    n_classes : int
        Number of class nodes.
    label_weight : float, default=1
        Weight of an edge to a class.

    Returns
    -------
    B : sparse array of shape (n_samples, 2 * n_features + n_classes)
        Weights between rows and the nodes for positive values, for negative values and
        for classes.

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.transfer import eigen_transfer_graph
    >>> X = [[1.0, 2.0], [0.0, -3.0]]
    >>> eigen_transfer_graph(X, np.array([1, -1]), n_classes=2).toarray()
    array([[1., 2., 0., 0., 0., 1.],
           [0., 0., 0., 3., 0., 0.]])
    """
    features = _non_negative(X)
    rows = np.flatnonzero(classes != UNLABELED)
    weights = np.full(rows.size, label_weight)
    edges = sparse.csr_array(
        (weights, (rows, classes[rows])), shape=(classes.size, n_classes)
    )
    return sparse.hstack([features, edges], format="csr")


class EigenRepresentation(NamedTuple):
    """Nodes of a bipartite graph by their eigenvectors, see :func:`eigen_cluster`.

    Attributes
    ----------
    values : ndarray of shape (n_components,)
        Eigenvalues in increasing order.
    rows : ndarray of shape (n_samples, n_components)
        Entries of the eigenvectors for the rows; zero for those without an edge.
    others : ndarray of shape (n_others, n_components)
        Entries for the other nodes.
    """

    values: NDArray[np.float64]
    rows: NDArray[np.float64]
    others: NDArray[np.float64]


def eigen_cluster(
    B: Any, n_components: int, *, random_state: Any = 0
) -> EigenRepresentation:
    r"""Compute the first eigenvectors of a bipartite graph.

    With :math:`W = \begin{bmatrix} 0 & B \\ B^\top & 0 \end{bmatrix}`, degrees D and
    L = D - W, the eigenvectors of :math:`L v = \lambda D v` with :math:`\lambda < 1`
    are the singular vectors of :math:`D_1^{-1/2} B D_2^{-1/2}`, scaled by the roots of
    the degrees, with :math:`\lambda = 1 - \sigma`. The first one is constant and is
    left out.

    Parameters
    ----------
    B : {array-like, sparse matrix} of shape (n_samples, n_others)
        Non-negative weights between rows and other nodes.
    n_components : int
        Number of eigenvectors after the first; fewer, where fewer belong to an
        eigenvalue below 1.
    random_state : int, RandomState instance or None, default=0
        Seed of the iteration that computes singular vectors of large graphs.

    Returns
    -------
    representation : EigenRepresentation
        Eigenvalues and eigenvectors, with :math:`v^\top D v` the sum of all degrees.

    Examples
    --------
    >>> from fewlabels.transfer import eigen_cluster
    >>> B = [[1, 0], [1, 0.1], [0, 1]]  # two rows with one feature, one with the other
    >>> eigen_cluster(B, 1).rows.round(1)
    array([[-0.8],
           [-0.6],
           [ 1.4]])
    """
    B = sparse.csr_array(B, dtype=np.float64)
    d1, d2 = np.asarray(B.sum(axis=1)).ravel(), np.asarray(B.sum(axis=0)).ravel()
    scale1, scale2 = _inverse_root(d1), _inverse_root(d2)
    S = B.multiply(scale1[:, None]).multiply(scale2[None, :]).tocsr()
    k = min(n_components + 1, *S.shape)
    if min(S.shape) <= DENSE_NODES or k >= min(S.shape) - 1:
        U, sigma, Vt = linalg.svd(S.toarray(), full_matrices=False)
    else:
        start = check_random_state(random_state).uniform(-1, 1, min(S.shape))
        U, sigma, Vt = svds(S, k=k, v0=start)
        order = np.argsort(-sigma)
        U, sigma, Vt = U[:, order], sigma[order], Vt[order]
    keep = np.flatnonzero(sigma[:k] > MIN_SINGULAR * sigma[:1].max(initial=0))
    if np.count_nonzero(sigma > 1 - MIN_SINGULAR) <= 1:
        keep = keep[1:]  # the constant; with several components they tell them apart
    keep = keep[:n_components]
    flip = signs(U[:, keep]) if keep.size else np.empty(0)
    # The norm of a pair of singular vectors is 2, that of the constant is the volume.
    factor = flip * np.sqrt((d1.sum() + d2.sum()) / 2)
    return EigenRepresentation(
        1 - sigma[keep],
        scale1[:, None] * U[:, keep] * factor,
        scale2[:, None] * Vt[keep].T * factor,
    )


def _inverse_root(degrees: NDArray[Any]) -> NDArray[Any]:
    """Zero for nodes without an edge."""
    return np.where(degrees > 0, 1 / np.sqrt(np.where(degrees > 0, degrees, 1)), 0)


class EigenTransferClassifier(DomainClassifier):
    r"""Classify rows by the eigenvectors of a graph of rows, features and classes.

    Rows of all domains, labelled or not, are joined with their features by edges of the
    features' values, and labelled rows with their class by an edge of `label_weight`.
    The eigenvectors of this graph, see :func:`eigen_cluster`, are the new features on
    which `estimator` learns. Which class nodes there are depends on the setting:

    - "cross_domain": the classes of source and target are the same;
    - "cross_category": source and target have classes of their own;
    - "self_taught": labels of the source are not used.

    The estimator learns from the labelled rows of the target. Only where there is none,
    and in the setting "cross_domain", it learns from those of the source. New rows are
    put where the eigenvector equation would hold for them. So are labelled rows: in
    their eigenvectors the estimator would see the label itself, which no row that is to
    be predicted shows.

    Parameters
    ----------
    n_components : int, default=20
        Number of eigenvectors.
    setting : {"cross_domain", "cross_category", "self_taught"}, default="cross_domain"
        What the labels of the source mean for the target.
    estimator : classifier, default=None
        Learns on the eigenvectors; None takes
        :class:`sklearn.linear_model.LogisticRegression` with Newton's method.
    label_weight : float, default=1
        Weight of an edge between a row and its class.
    random_state : int, RandomState instance or None, default=0
        Seed of the iteration that computes singular vectors of large graphs.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes of the target, without the marker of unlabelled rows.
    transduction_ : ndarray of shape (n_samples,)
        A label for every training row: the given one, or else the predicted one. Given
        labels of the source that are not classes of the target are kept.
    eigenvalues_ : ndarray of shape (n_components,)
        Eigenvalues of the graph.
    embedding_ : ndarray of shape (n_samples, n_components)
        Eigenvectors of the training rows.
    feature_embedding_ : ndarray of shape (2 * n_features, n_components)
        Eigenvectors of the features, for positive and for negative values.
    estimator_ : classifier
        The fitted classifier; it knows classes by their index.
    domains_ : ndarray of int
        The domains seen in fit.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, where `X` had any.

    Warns
    -----
    UserWarning
        If rows have no feature but zeros, so that nothing is known about them.

    References
    ----------
    .. [1] W. Dai, O. Jin, G.-R. Xue, Q. Yang, Y. Yu, "EigenTransfer: a unified
       framework for transfer learning", ICML 2009. :doi:`10.1145/1553374.1553399`

    Examples
    --------
    Words 0 and 1 are used in both domains, 2 and 3 in the target only:

    >>> import numpy as np
    >>> from fewlabels.transfer import EigenTransferClassifier, stack_domains
    >>> X_source, y_source = np.array([[2, 0, 0, 0], [0, 2, 0, 0]]), [0, 1]
    >>> X_target = np.array([[1, 0, 1, 0], [0, 1, 0, 1], [0, 0, 2, 0], [0, 0, 0, 2]])
    >>> X, y, sample_domain = stack_domains(X_source, y_source, X_target)
    >>> model = EigenTransferClassifier(n_components=2)
    >>> model.fit(X, y, sample_domain=sample_domain).predict(X_target)
    array([0, 1, 0, 1])
    """

    _checks: ClassVar[dict[str, Any]] = {"accept_sparse": "csr", "dtype": np.float64}

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **usual("n_components", "random_state"),
        "setting": [StrOptions({"cross_domain", "cross_category", "self_taught"})],
        "estimator": [HasMethods(["fit", "predict"]), None],
        "label_weight": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        n_components: int = 20,
        *,
        setting: str = "cross_domain",
        estimator: Any = None,
        label_weight: float = 1.0,
        random_state: Any = 0,
    ) -> None:
        self.n_components = n_components
        self.setting = setting
        self.estimator = estimator
        self.label_weight = label_weight
        self.random_state = random_state

    def _learn(self, X: Any, labels: Labels, domains: NDArray[np.intp]) -> None:
        is_source = domains > 0
        nodes = self._class_nodes(labels.codes, labels.classes.size, is_source)
        n_nodes = max(int(nodes.max(initial=-1)) + 1, 1)
        B = eigen_transfer_graph(X, nodes, n_nodes, label_weight=self.label_weight)
        graph = eigen_cluster(B, self.n_components, random_state=self.random_state)
        self.eigenvalues_, self.embedding_, others = graph
        self.feature_embedding_ = others[: 2 * X.shape[1]]
        self._fit_estimator(X, labels, is_source)
        holes = np.flatnonzero(labels.codes == UNLABELED)
        alone = np.count_nonzero(np.asarray(abs(X[holes]).sum(axis=1)) == 0)
        if alone:
            warnings.warn(
                f"{alone} unlabelled rows hold only zeros and have no edge in the "
                "graph: their predictions are guesses.",
                stacklevel=3,
            )

    def _class_nodes(
        self, codes: NDArray[np.intp], n_classes: int, is_source: NDArray[np.bool_]
    ) -> NDArray[np.intp]:
        """Class node of every row, -1 for none."""
        known = codes != UNLABELED
        if self.setting == "cross_category":
            return np.where(known & is_source, codes + n_classes, codes)
        if self.setting == "self_taught":
            return np.where(is_source, UNLABELED, codes)
        return codes

    def _fit_estimator(
        self, X: Any, labels: Labels, is_source: NDArray[np.bool_]
    ) -> None:
        known = labels.codes != UNLABELED
        rows = np.flatnonzero(known & ~is_source)
        if not rows.size and self.setting == "cross_domain":
            rows = np.flatnonzero(known)
        if not rows.size:
            raise ValueError(
                f"setting={self.setting!r} needs labelled rows of the target "
                "(sample_domain < 0), and there is none: label some, or use "
                "setting='cross_domain' if source and target have the same classes."
            )
        if self.setting == "cross_domain":
            codes = labels.codes[rows]
        else:  # labels of the source are no classes of the target
            present, codes = np.unique(labels.codes[rows], return_inverse=True)
            self.classes_ = labels.classes[present]
        model = EXACT_LOGISTIC if self.estimator is None else self.estimator
        self.estimator_ = fitted(model, self._placed(X[rows]), codes)

    def _placed(self, X: Any) -> NDArray[Any]:
        """Put rows where the eigenvector equation holds, by their features alone."""
        features = _non_negative(X)
        degrees = np.asarray(features.sum(axis=1)).ravel()
        mean = features @ self.feature_embedding_
        mean /= np.where(degrees > 0, degrees, 1)[:, None]
        placed = mean / (1 - self.eigenvalues_)
        # One constant where the graph has no edge.
        return placed if placed.shape[1] else np.zeros((X.shape[0], 1))

    def _decision(self, X: Any) -> NDArray[Any]:
        return outputs_of(self.estimator_, self._placed(X), self.classes_.size)
