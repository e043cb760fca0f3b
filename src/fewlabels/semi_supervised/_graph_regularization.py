"""Regularisation on a graph: spread labels with the normalised Laplacian."""

# SPDX-License-Identifier: BSD-3-Clause

from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components
from scipy.special import softmax

from fewlabels._labels import Labels
from fewlabels._params import is_default
from fewlabels._sklearn import Interval, StrOptions, fit_context
from fewlabels.exceptions import warn_ignored
from fewlabels.graphs import warn_unreached
from fewlabels.semi_supervised._graph_base import (
    GRAPH_CONSTRAINTS,
    GraphClassifier,
    class_prior,
    normalized_rows,
    one_hot,
)
from fewlabels.semi_supervised._graph_system import (
    GraphSolution,
    check_graph,
    scaled,
    solve_grounded,
)
from fewlabels.semi_supervised._harmonic import SOLVER_CONSTRAINTS, harmonic_functions
from fewlabels.semi_supervised._poisson import poisson_functions, reweighted_graph


def graph_regularization(
    W: Any,
    Y: ArrayLike,
    alpha: float = 100.0,
    *,
    solver: str = "auto",
    tol: float = 1e-6,
    max_iter: int = 10_000,
) -> GraphSolution:
    r"""Smooth functions on a graph with its normalised Laplacian.

    .. math::
        \min_F \; \|F - Y\|_F^2 + \alpha \operatorname{tr}(F^\top L_{sym} F),
        \qquad
        F = (I + \alpha L_{sym})^{-1} Y = (1 - a) (I - a S)^{-1} Y,

    with :math:`S = D^{-1/2} W D^{-1/2}` and :math:`a = \alpha / (1 + \alpha)`, the
    fixed point of :math:`F \leftarrow a S F + (1 - a) Y`.

    Parameters
    ----------
    W : {array-like, sparse matrix} of shape (n_vertices, n_vertices)
        Symmetric, non-negative weights; the diagonal is ignored.
    Y : array-like of shape (n_vertices, n_functions)
        Functions on the vertices.
    alpha : float, default=100
        Strength of the smoothing, positive.
    solver : {"auto", "direct", "cg"}, default="auto"
        As in :func:`harmonic_functions`.
    tol : float, default=1e-6
        Relative residual at which "cg" stops.
    max_iter : int, default=10_000
        Largest number of steps of "cg".

    Returns
    -------
    solution : GraphSolution
        Record with the smoothed functions `values`, and with `n_iter` and `solver`.

    Warns
    -----
    ConvergenceWarning
        If "cg" does not converge.

    References
    ----------
    .. [1] D. Zhou, O. Bousquet, T. N. Lal, J. Weston and B. Schölkopf, "Learning with
       local and global consistency", NIPS 2003.

    Examples
    --------
    >>> from fewlabels.semi_supervised import graph_regularization
    >>> graph_regularization([[0, 1], [1, 0]], [[1.0], [0.0]], alpha=1.0).values.ravel()
    array([0.66666667, 0.33333333])
    """
    W = check_graph(W)
    Y = np.asarray(Y, dtype=np.float64)
    if Y.ndim != 2 or Y.shape[0] != W.shape[0]:
        raise ValueError(
            f"Y must hold one row per vertex of the graph, got shapes {Y.shape} and "
            f"{W.shape}."
        )
    if not 0 < alpha < np.inf:
        raise ValueError(f"alpha={alpha} must be positive and finite.")
    share = alpha / (1 + alpha)
    root = inverse_root_degrees(W)
    S = scaled(W, root)
    # At a vertex without edges, L_sym is zero and the function is unchanged.
    alone = root == 0
    diagonal = np.where(alone, 1 - share, 1.0)
    return solve_grounded(
        share * S, diagonal, (1 - share) * Y, solver=solver, tol=tol, max_iter=max_iter
    )


def inverse_root_degrees(W: csr_array) -> NDArray[np.float64]:
    """Degrees to the power of -1/2, or 0 for a vertex without edges."""
    degrees = np.asarray(W.sum(axis=1)).ravel()
    return np.where(degrees > 0, 1 / np.sqrt(np.where(degrees > 0, degrees, 1)), 0)


class GraphRegularizationClassifier(GraphClassifier):
    r"""Learn with local and global consistency, or with remedies for very few labels.

    .. math::
        \min_F \; \|F - Y\|_F^2 + \alpha \operatorname{tr}(F^\top L_{sym} F)

    where Y is 1 at the class of a labelled row and 0 elsewhere; a row gets the class
    with the largest value. The other methods use the unnormalised Laplacian. Since
    harmonic functions degenerate with few labels on many rows, they either increase
    weights near the labels or treat labels as sources of a Poisson equation. The
    solution :math:`(1 - a) (I - a S)^{-1} Y` with :math:`a = \alpha / (1 + \alpha)` is
    the limit of :class:`sklearn.semi_supervised.LabelSpreading` with alpha = a.

    Parameters
    ----------
    method : {"consistency", "poisson", "proper", "non_local"}, default="consistency"
        The objective above; :func:`poisson_functions`; or :func:`harmonic_functions` on
        the weights of :func:`reweighted_graph`, properly weighted or "non_local".
    alpha : float, default=100
        Strength of the smoothing in the objective above; the other methods ignore it.
        The default is :math:`a = 0.99`, as in [1]_.
    n_neighbors : int, default=10
        Neighbours per row in the graph, at most n_samples - 1.
    weight : str or callable, default="heat"
        Weight of an edge, see :func:`fewlabels.graphs.similarity_graph`.
    affinity : {"knn", "precomputed"} or transformer, default="knn"
        See :class:`HarmonicFunctionClassifier`.
    solver : {"auto", "direct", "cg"}, default="auto"
        See :func:`harmonic_functions`.
    tol : float, default=1e-6
        Relative residual at which "cg" stops.
    max_iter : int, default=10_000
        Largest number of steps of "cg".

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes, without the marker for unlabelled rows.
    transduction_ : ndarray of shape (n_samples,)
        A label for every training row: given or predicted.
    values_ : ndarray of shape (n_samples, n_classes)
        The functions: the minimiser F, harmonic functions, or the solutions of the
        Poisson equation.
    label_distributions_ : ndarray of shape (n_samples, n_classes)
        F with rows normalised to sum to 1; at rows that no label reaches, the class
        shares of the labels. Solutions of the Poisson equation can have any sign: they
        are divided by their root mean square and passed through a softmax.
    class_prior_ : ndarray of shape (n_classes,)
        Share of each class among the labels.
    graph_ : csr_array of shape (n_samples, n_samples)
        The weights.
    transformer_ : object or None
        Transformer that built the graph; None for a precomputed one.
    unreached_ : ndarray of bool of shape (n_samples,)
        Rows not connected to any label.
    n_iter_ : int
        Steps of conjugate gradients, 0 for a direct solve.
    solver_ : {"direct", "cg"}
        The solver used.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, where `X` had any.

    Warns
    -----
    DisconnectedGraphWarning
        If a component of the graph has no label; its rows get the most common class.

    See Also
    --------
    graph_regularization : The solver.
    poisson_functions : The solver of "poisson".
    reweighted_graph : The weights of "proper" and "non_local".
    HarmonicFunctionClassifier : Labels clamped, unnormalised Laplacian.

    Notes
    -----
    The value of a new row x with weights w to the training rows minimises the same
    objective with all other values fixed: it is a multiple of
    :math:`\sum_i w_i F_i / \sqrt{d_i}`. With the other methods it is the weighted mean
    of the label distributions.

    References
    ----------
    .. [1] D. Zhou, O. Bousquet, T. N. Lal, J. Weston and B. Schölkopf, "Learning with
       local and global consistency", NIPS 2003.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from fewlabels.datasets import hide_labels
    >>> from fewlabels.semi_supervised import GraphRegularizationClassifier
    >>> X, y_true = make_moons(300, noise=0.05, random_state=0)
    >>> y = hide_labels(y_true, n_labeled=4, random_state=0)
    >>> model = GraphRegularizationClassifier().fit(X, y)
    >>> bool((model.transduction_ == y_true).mean() > 0.98)
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **GRAPH_CONSTRAINTS,
        **SOLVER_CONSTRAINTS,
        "method": [StrOptions({"consistency", "poisson", "proper", "non_local"})],
        "alpha": [Interval(Real, 0, None, closed="neither")],
    }

    def __init__(
        self,
        *,
        method: str = "consistency",
        alpha: float = 100.0,
        n_neighbors: int = 10,
        weight: Any = "heat",
        affinity: Any = "knn",
        solver: str = "auto",
        tol: float = 1e-6,
        max_iter: int = 10_000,
    ) -> None:
        self.method = method
        self.alpha = alpha
        self.n_neighbors = n_neighbors
        self.weight = weight
        self.affinity = affinity
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: ArrayLike) -> Self:
        """Spread the labels over the graph of all rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            All rows; the weights of the graph for ``affinity="precomputed"``.
        y : array-like of shape (n_samples,)
            Labels; -1 among integers, NaN among floats, and None or NaN among objects
            mark unlabelled rows.

        Returns
        -------
        self : object
            The fitted classifier.
        """
        W, labels = self._labeled_graph(X, y)
        self.class_prior_ = class_prior(labels)
        self.unreached_ = warn_unreached(W, labels.labeled, estimator=self)
        solution = self._solve(W, labels)
        self.n_iter_, self.solver_ = solution.n_iter, solution.solver
        self.values_ = solution.values
        self.label_distributions_ = (
            self._softmax(W, labels)
            if self.method == "poisson"
            else normalized_rows(self.values_, self.class_prior_)
        )
        self.label_distributions_[self.unreached_] = self.class_prior_
        self._keep_transduction(labels, self.label_distributions_)
        return self

    def _solve(self, W: csr_array, labels: Labels) -> GraphSolution:
        """Spread the labels by the chosen method."""
        params: dict[str, Any] = {
            "solver": self.solver,
            "tol": self.tol,
            "max_iter": self.max_iter,
        }
        Y = one_hot(labels.codes, labels.classes.size)
        if self.method == "consistency":
            return graph_regularization(W, Y, self.alpha, **params)
        if not is_default(type(self), "alpha", self.alpha):
            warn_ignored(f"alpha={self.alpha}", f"method={self.method!r} has none")
        rows = labels.labeled
        if self.method == "poisson":
            solution = poisson_functions(W, rows, Y[rows], **params)
        else:
            W = reweighted_graph(W, rows, self.method)
            solution = harmonic_functions(W, rows, Y[rows], **params)
        return solution._replace(values=np.nan_to_num(solution.values))

    def _softmax(self, W: csr_array, labels: Labels) -> NDArray[np.float64]:
        """Turn functions of any sign and scale into distributions."""
        u = self.values_
        shares = softmax(u / (np.sqrt(np.mean(u**2)) or 1.0), axis=1)
        # A component whose labels agree has only zeros.
        flat = ~u.any(axis=1)
        if flat.any():
            Y = one_hot(labels.codes, labels.classes.size)
            rows = labels.labeled
            _, part = connected_components(W, directed=False)
            classes = np.zeros((part.max() + 1, labels.classes.size))
            np.add.at(classes, part[rows], Y[rows])
            alone = flat & (np.count_nonzero(classes[part], axis=1) == 1)
            shares[alone] = classes[part[alone]] > 0
        return shares

    def _spread(self) -> NDArray[Any]:
        if self.method != "consistency":
            return self.label_distributions_
        root = inverse_root_degrees(self.graph_)
        spread = self.values_ * np.where(root > 0, root, 1)[:, None]
        spread[self.unreached_] = self.class_prior_
        return spread
