"""What the classifiers on graphs share: the graph, the system, new rows."""

# SPDX-License-Identifier: BSD-3-Clause

import warnings
from numbers import Integral
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from scipy.sparse import csr_array, eye_array
from scipy.sparse.csgraph import reverse_cuthill_mckee
from scipy.sparse.linalg import splu
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, check_non_negative

from fewlabels._backend import Backend, follow, get_backend
from fewlabels._classifier import PartialLabelClassifier
from fewlabels._labels import Labels
from fewlabels._linalg import FLOATS, conjugate_gradients
from fewlabels._params import is_default
from fewlabels._sklearn import HasMethods, Interval, StrOptions, validate_data
from fewlabels._threads import threads
from fewlabels.exceptions import DisconnectedGraphWarning, warn_ignored
from fewlabels.graphs import (
    WEIGHT_CONSTRAINTS,
    SimilarityGraphTransformer,
    check_weights,
)

# Entries of a graph times right-hand sides from which several threads are worth it.
MANY_PRODUCTS = 2_000_000
# Rows up to which a direct solve is always cheap enough.
DIRECT_ROWS = 5000
# Width of the elimination front up to which a direct solve beats iterations.
DIRECT_FRONT = 5000
# Share of stored entries beyond which a matrix is no longer treated as sparse.
DENSE_SHARE = 0.1
# A function that is 1 on all labels is 1 everywhere. Iterations go on while the
# solutions, added up, miss that by more than this.
ONES_TOLERANCE = 1e-3

GRAPH_CONSTRAINTS: dict[str, list[Any]] = {
    "n_neighbors": [Interval(Integral, 1, None, closed="left")],
    "weight": WEIGHT_CONSTRAINTS["weight"],
    "affinity": [StrOptions({"knn", "precomputed"}), HasMethods(["fit", "transform"])],
}


def check_graph(W: Any) -> csr_array:
    """Validate the weights of a graph."""
    W = csr_array(check_weights(W), dtype=np.float64)
    W.eliminate_zeros()
    W.sort_indices()
    return W


def front_width(W: csr_array) -> int:
    """Largest number of unknowns that an elimination of the graph holds at one time.

    This is the bandwidth after a reverse Cuthill-McKee ordering. It is small for the
    neighbour graph of rows on a curve or in a plane, where factors stay sparse, and a
    large share of all rows in many dimensions, where they fill up.
    """
    order = reverse_cuthill_mckee(W, symmetric_mode=True)
    position = np.empty(W.shape[0], dtype=np.intp)
    position[order] = np.arange(W.shape[0])
    rows = np.repeat(position, np.diff(W.indptr))
    return int(np.max(np.abs(rows - position[W.indices]), initial=0))


def scaled(W: csr_array, scale: NDArray[Any]) -> csr_array:
    """Weights w_ij times scale_i times scale_j."""
    data = W.data * np.repeat(scale, np.diff(W.indptr)) * scale[W.indices]
    return csr_array((data, W.indices, W.indptr), shape=W.shape)


class GraphSolution(NamedTuple):
    """Functions on a graph, as its solvers find them.

    Attributes
    ----------
    values : ndarray of shape (n_vertices, n_functions)
        The functions.
    n_iter : int
        Steps of conjugate gradients, 0 for a direct solve.
    solver : {"direct", "cg"}
        What was used.
    """

    values: NDArray[Any]
    n_iter: int
    solver: str


def solve_grounded(
    W: csr_array,
    diagonal: NDArray[Any],
    B: NDArray[Any],
    *,
    solver: str,
    tol: float,
    max_iter: int,
    ones: bool,
    device: str | Backend | None = None,
) -> GraphSolution:
    """Solve (diag(diagonal) - W) F = B with a positive definite matrix.

    Parameters
    ----------
    W : csr_array of shape (n, n)
        Symmetric, non-negative weights with zero diagonal.
    diagonal : ndarray of shape (n,)
        Not below the row sums of W, and above them somewhere in each component.
    B : ndarray of shape (n, k)
        Right-hand sides.
    solver : {"auto", "direct", "cg"}
        "auto" factorises where the factor stays small.
    tol : float
        Relative residual of "cg".
    max_iter : int
        Largest number of steps of "cg".
    ones : bool
        Whether the exact columns add up to 1, which "cg" then watches. Where a group of
        rows is attached by weak edges only, a small residual says nothing about it.
    device : {"cpu", "cuda"} or None, default=None
        Where "cg" runs; None is the CPU.

    Returns
    -------
    solution : GraphSolution
        The solutions and how they were found.

    Warns
    -----
    ConvergenceWarning
        If "cg" does not reach `tol`.
    """
    n, backend = W.shape[0], get_backend(device)
    if n == 0:
        return GraphSolution(np.zeros(B.shape), 0, "direct")
    # A unit diagonal: the best simple preconditioner, and weights of any scale.
    scale = 1 / np.sqrt(diagonal)
    S = scaled(W, scale)
    right = scale[:, None] * B
    if solver == "auto":
        # Products on a device are so quick that a factor seldom pays.
        direct = n <= DIRECT_ROWS or (
            backend.is_numpy and front_width(W) <= DIRECT_FRONT
        )
        solver = "direct" if direct else "cg"
    if solver == "direct":
        values = _solve_directly(S, right)
        return GraphSolution(scale[:, None] * values, 0, "direct")

    xp, factors = backend.xp, backend.asarray(scale)

    def adds_up(Z: Any) -> bool:
        miss = xp.abs(factors * xp.sum(Z, axis=1) - 1)
        return bool(xp.max(miss) <= ONES_TOLERANCE)

    many = backend.is_numpy and S.nnz * right.shape[1] >= MANY_PRODUCTS
    with threads(None, worth_it=many):
        found, n_iter, converged = conjugate_gradients(
            backend.asarray(csr_array(eye_array(n) - S)),
            backend.asarray(right),
            tol=tol,
            max_iter=max_iter,
            is_done=adds_up if ones else None,
        )
    values = backend.to_numpy(found)
    if not converged:
        warnings.warn(
            f"solver='cg' did not converge in {n_iter} steps (max_iter={max_iter}, "
            f"tol={tol}): raise max_iter, use solver='direct', or label a row of each "
            "group that is attached by weak edges only.",
            ConvergenceWarning,
            stacklevel=4,
        )
    return GraphSolution(scale[:, None] * values, n_iter, "cg")


def _solve_directly(S: csr_array, B: NDArray[Any]) -> NDArray[Any]:
    """Solve (I - S) Z = B by a Cholesky or a sparse symmetric factorisation."""
    n = S.shape[0]
    if S.nnz > DENSE_SHARE * n * n:
        return linalg.solve(np.eye(n) - S.toarray(), B, assume_a="pos")
    # Neighbours side by side in memory, which the factorisation runs through. The
    # matrix is an M-matrix: no pivoting is needed, and fill is least without.
    order = reverse_cuthill_mckee(S, symmetric_mode=True)
    factor = splu(
        (eye_array(n) - S[order][:, order]).tocsc(),
        permc_spec="MMD_AT_PLUS_A",
        diag_pivot_thresh=0.0,
        panel_size=1,  # twice as fast for factors as sparse as these
        options={"SymmetricMode": True},
    )
    Z = np.empty_like(B)
    Z[order] = factor.solve(B[order])
    return Z


class GraphEstimator(BaseEstimator):
    """An estimator that builds a graph of all rows, or is given one."""

    n_neighbors: int
    weight: Any
    affinity: Any
    device: str | None = None  # unless a subclass has the parameter
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = GRAPH_CONSTRAINTS

    def _set_graph(self, X: Any) -> csr_array:
        """Build or check the graph of the validated rows and keep it."""
        self.transformer_ = None
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
            # Right by construction.
            self.graph_ = self.transformer_.fit_transform(X).astype(np.float64)
        else:
            self.transformer_ = clone(self.affinity)
            self.graph_ = check_graph(self.transformer_.fit_transform(X))
        return self.graph_

    def _is(self, affinity: str) -> bool:
        return isinstance(self.affinity, str) and self.affinity == affinity

    def _edges_to(self, X: Any) -> csr_array:
        """Weights between new rows and the training rows."""
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=FLOATS, reset=False)
        W = X if self.transformer_ is None else self.transformer_.transform(X)
        if self.transformer_ is None:
            check_non_negative(X, f"{type(self).__name__}.predict")
        return csr_array(W, dtype=np.float64)

    def _average(self, X: Any, values: NDArray[Any], default: Any) -> NDArray[Any]:
        """Weighted mean of the values at the training rows near each new row."""
        W = self._edges_to(X)
        degrees = np.asarray(W.sum(axis=1)).ravel()
        alone = degrees == 0
        if alone.any():
            warnings.warn(
                f"{np.count_nonzero(alone)} of {alone.size} new rows have no edge to a "
                "training row: the answers for them are guesses.",
                DisconnectedGraphWarning,
                stacklevel=3,
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
        """Values that new rows average."""
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
        codes = scores.argmax(axis=1)
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
    """Rows without negative entries that add up to 1; `default` for zero rows."""
    F = np.maximum(F, 0)
    F = F / np.maximum(F.max(axis=1, keepdims=True), np.finfo(float).tiny)
    total = F.sum(axis=1, keepdims=True)
    return np.where(total > 0, F / np.where(total > 0, total, 1), default)
