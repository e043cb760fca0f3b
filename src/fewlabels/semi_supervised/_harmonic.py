"""Harmonic functions on a graph: labels spread like voltages in a circuit."""

# SPDX-License-Identifier: BSD-3-Clause

import math
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array
from sklearn.utils.validation import check_is_fitted

from fewlabels._backend import DEVICE_CONSTRAINTS, Backend, TensorMixin, backend_for
from fewlabels._labels import validate_partial_targets
from fewlabels._linalg import FLOATS
from fewlabels._regressor import PartialTargetMixin
from fewlabels._sklearn import Interval, StrOptions, fit_context
from fewlabels.graphs import connectivity, warn_unreached
from fewlabels.semi_supervised._graph_base import (
    GRAPH_CONSTRAINTS,
    GraphClassifier,
    GraphEstimator,
    class_prior,
    normalized_rows,
    one_hot,
)
from fewlabels.semi_supervised._graph_system import (
    GraphSolution,
    check_graph,
    solve_laplacian,
)
from fewlabels.semi_supervised._kernel_estimator import BALANCE_CONSTRAINT, class_shares

SOLVER_CONSTRAINTS: dict[str, list[Any]] = {
    "solver": [StrOptions({"auto", "direct", "cg"})],
    "tol": [Interval(Real, 0, 1, closed="neither")],
    "max_iter": [Interval(Integral, 1, None, closed="left")],
}


def harmonic_functions(
    W: Any,
    labeled: ArrayLike,
    values: ArrayLike,
    *,
    label_weight: float = math.inf,
    solver: str = "auto",
    tol: float = 1e-6,
    max_iter: int = 10_000,
    device: str | Backend | None = None,
) -> GraphSolution:
    r"""Extend values from some vertices of a graph to all, as smoothly as possible.

    With clamped values, f minimises

    .. math::
        \tfrac12 \sum_{ij} w_{ij} (f_i - f_j)^2
        \quad \text{subject to} \quad f_i = y_i \;\; (i \in L),
        \qquad
        f_U = (D_{UU} - W_{UU})^{-1} W_{UL} \, y_L ,

    so that f at every vertex outside L is the weighted mean of its neighbours, and
    stays between the smallest and the largest given value. With a finite `label_weight`
    c the values are soft: an edge of weight c connects a vertex of L to a terminal with
    its value, and f minimises

    .. math::
        \tfrac12 \sum_{ij} w_{ij} (f_i - f_j)^2 + c \sum_{i \in L} (f_i - y_i)^2 .

    Parameters
    ----------
    W : {array-like, sparse matrix} of shape (n_vertices, n_vertices)
        Symmetric, non-negative weights; the diagonal is ignored.
    labeled : array-like of int of shape (n_labeled,)
        The vertices L.
    values : array-like of shape (n_labeled, n_functions) or (n_labeled,)
        Their values y, one column per function.
    label_weight : float, default=inf
        Weight c of the given values; infinite for clamped ones.
    solver : {"auto", "direct", "cg"}, default="auto"
        A factorisation, or conjugate gradients for all functions at once. "auto"
        factorises up to 5,000 vertices, and larger graphs if the factor stays small
        (for example, graphs of rows in a plane).
    tol : float, default=1e-6
        Relative residual at which "cg" stops.
    max_iter : int, default=10_000
        Largest number of steps of "cg".
    device : {"cpu", "cuda"} or None, default=None
        Where "cg" runs; None is the CPU. On a GPU, "auto" means "cg" beyond 5,000
        vertices.

    Returns
    -------
    solution : GraphSolution
        The functions as `values`, NaN at vertices not connected to a label, and details
        of the solver.

    Warns
    -----
    ConvergenceWarning
        If the system is not solved to `tol`, or directly to ten digits.

    See Also
    --------
    HarmonicFunctionClassifier : The classifier.
    fewlabels.graphs.similarity_graph : The graph of rows.

    Notes
    -----
    A component without a label makes the system singular; its vertices are left out,
    and their values are NaN. The functions are those of an electrical network with
    conductances w, and the probabilities that a random walk reaches a label before the
    others.

    References
    ----------
    .. [1] X. Zhu, Z. Ghahramani and J. Lafferty, "Semi-supervised learning using
       Gaussian fields and harmonic functions", ICML 2003.

    Examples
    --------
    >>> from fewlabels.semi_supervised import harmonic_functions
    >>> path = [[0, 1, 0, 0], [1, 0, 1, 0], [0, 1, 0, 1], [0, 0, 1, 0]]
    >>> harmonic_functions(path, labeled=[0, 3], values=[0.0, 3.0]).values.ravel()
    array([0., 1., 2., 3.])
    """
    W = check_graph(W)
    labeled = np.asarray(labeled, dtype=np.intp)
    Y = np.asarray(values, dtype=np.float64)
    Y = Y[:, None] if Y.ndim == 1 else Y
    if labeled.ndim != 1 or Y.ndim != 2 or labeled.size != Y.shape[0]:
        raise ValueError(
            f"values must hold one row per labelled vertex, got shapes {Y.shape} and "
            f"{labeled.shape}."
        )
    if not label_weight > 0:
        raise ValueError(f"label_weight={label_weight} must be positive.")
    if np.unique(labeled).size != labeled.size:
        raise ValueError("labeled names a vertex twice.")
    return extend_harmonically(
        W,
        labeled,
        Y,
        label_weight,
        solver=solver,
        tol=tol,
        max_iter=max_iter,
        device=device,
    )


def extend_harmonically(
    W: csr_array,
    labeled: NDArray[np.intp],
    Y: NDArray[Any],
    label_weight: float,
    **solver_params: Any,
) -> GraphSolution:
    """Compute :func:`harmonic_functions` from validated arguments."""
    n = W.shape[0]
    inside = np.zeros(n, dtype=bool)
    inside[labeled] = True
    clamped = math.isinf(label_weight)
    report = connectivity(W)
    reached = ~np.isin(report.labels, report.components_without(labeled))
    free = np.flatnonzero(reached & ~inside) if clamped else np.flatnonzero(reached)
    # An extra column makes them sum to 1, see `solve_laplacian`.
    if not (Y.shape[1] > 1 and np.allclose(Y.sum(axis=1), 1)):
        targets = np.column_stack([Y, 1 - Y.sum(axis=1)])
    else:
        targets = Y
    rows = W[free]
    if clamped:
        ties = rows[:, labeled]
        ground, B = np.asarray(ties.sum(axis=1)).ravel(), ties @ targets
    else:
        ground, B = np.zeros(n), np.zeros((n, targets.shape[1]))
        ground[labeled], B[labeled] = label_weight, label_weight * targets
        ground, B = ground[free], B[free]
    solution = solve_laplacian(rows[:, free], ground, B, ones=True, **solver_params)
    F = np.full((n, Y.shape[1]), np.nan)
    F[free] = solution.values[:, : Y.shape[1]]
    if clamped:
        F[labeled] = Y
    # Enforce the maximum principle, which rounding may violate slightly.
    np.clip(F, Y.min(axis=0), Y.max(axis=0), out=F)
    return GraphSolution(F, solution.n_iter, solution.solver)


class _HarmonicEstimator(TensorMixin, GraphEstimator):
    """Base class of estimators that extend given values to the whole graph."""

    label_weight: float
    solver: str
    tol: float
    max_iter: int
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **GRAPH_CONSTRAINTS,
        **SOLVER_CONSTRAINTS,
        **DEVICE_CONSTRAINTS,
        "label_weight": [Interval(Real, 0, None, closed="right")],
    }

    def _extend(
        self, W: csr_array, labeled: NDArray[np.intp], Y: NDArray[Any], default: Any
    ) -> NDArray[np.float64]:
        """Extend the values of the labelled rows; unreached rows get a default."""
        solution = extend_harmonically(
            W,
            labeled,
            Y,
            self.label_weight,
            solver=self.solver,
            tol=self.tol,
            max_iter=self.max_iter,
            device=backend_for(self),
        )
        self.n_iter_, self.solver_ = solution.n_iter, solution.solver
        F = solution.values
        self.unreached_ = np.isnan(F[:, 0])
        if self.unreached_.any():
            warn_unreached(W, labeled, estimator=self)
        F[self.unreached_] = default
        return F


class HarmonicFunctionClassifier(_HarmonicEstimator, GraphClassifier):
    r"""Classify by the harmonic functions of a graph of all rows.

    For each class, compute the function that is 1 at its labelled rows and 0 at the
    other labelled rows,

    .. math::
        \min_F \; \tfrac12 \sum_{ij} w_{ij} \|F_i - F_j\|^2
        \quad \text{subject to} \quad F_i = e_{y_i} \;\; (i \in L),

    and assign each row to the class with the largest value. With `balance`, the columns
    are first scaled so that their masses on the unlabelled rows match the class shares
    :math:`q_k` (class-mass normalisation):
    :math:`F_{ik} \, q_k / \sum_{j \in U} F_{jk}`.

    Parameters
    ----------
    n_neighbors : int, default=10
        Neighbours per row in the graph, at most n_samples - 1.
    weight : str or callable, default="heat"
        Weight of an edge, see :func:`fewlabels.graphs.similarity_graph`.
    affinity : {"knn", "precomputed"} or transformer, default="knn"
        The graph: nearest neighbours; "precomputed", for which `X` holds the weights
        themselves; or any other graph, built by a transformer such as
        :class:`fewlabels.graphs.SimilarityGraphTransformer`.
    label_weight : float, default=inf
        Trust in the labels: the weight of the edge that ties a labelled row to its
        label, in units of the graph's weights. Infinite clamps them.
    balance : float, array-like, dict, "labels" or None, default=None
        Class shares :math:`q` for class-mass normalisation: an array in the order of
        `classes_`, a dict by class, the share of the second of two classes, "labels"
        for those of the labels, or None for no normalisation.
    solver : {"auto", "direct", "cg"}, default="auto"
        See :func:`harmonic_functions`.
    tol : float, default=1e-6
        Relative residual at which "cg" stops.
    max_iter : int, default=10_000
        Largest number of steps of "cg".
    device : {"cpu", "cuda"} or None, default=None
        Where to compute. None follows the rows: NumPy arrays stay on the CPU, tensors
        on their device, and predictions are returned in the same type. The GPU runs the
        neighbour search and the solver "cg", which "auto" uses there beyond 5,000 rows;
        sparse matrices are factorised on the CPU.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes, without the marker for unlabelled rows.
    transduction_ : ndarray of shape (n_samples,)
        A label for every training row: given or predicted.
    harmonic_functions_ : ndarray of shape (n_samples, n_classes)
        The functions F; at rows that no label reaches, the class shares of the labels.
    label_distributions_ : ndarray of shape (n_samples, n_classes)
        F after class-mass normalisation; rows sum to 1.
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
    harmonic_functions : The solver.
    GraphRegularizationClassifier : Normalised Laplacian, labels not clamped.
    MinCutClassifier : The same energy over hard labels.
    sklearn.semi_supervised.LabelPropagation : The same functions by iteration, on a
        dense or a neighbour graph with self-edges.

    Notes
    -----
    A new row gets the weighted mean of its neighbours, which is the harmonic value of
    a vertex added to the graph without changing the others. A row seen in `fit` is no
    new vertex: ``predict`` returns its label in `transduction_`.

    References
    ----------
    .. [1] X. Zhu, Z. Ghahramani and J. Lafferty, "Semi-supervised learning using
       Gaussian fields and harmonic functions", ICML 2003.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from fewlabels.datasets import hide_labels
    >>> from fewlabels.semi_supervised import HarmonicFunctionClassifier
    >>> X, y_true = make_moons(300, noise=0.05, random_state=0)
    >>> y = hide_labels(y_true, n_labeled=4, random_state=0)
    >>> model = HarmonicFunctionClassifier().fit(X, y)
    >>> bool((model.transduction_ == y_true).mean() > 0.98)
    True
    >>> model.predict(X[:3]).shape
    (3,)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **_HarmonicEstimator._parameter_constraints,
        "balance": BALANCE_CONSTRAINT,
    }

    def __init__(
        self,
        *,
        n_neighbors: int = 10,
        weight: Any = "heat",
        affinity: Any = "knn",
        label_weight: float = math.inf,
        balance: Any = None,
        solver: str = "auto",
        tol: float = 1e-6,
        max_iter: int = 10_000,
        device: str | None = None,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.weight = weight
        self.affinity = affinity
        self.label_weight = label_weight
        self.balance = balance
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.device = device

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
        Y = one_hot(labels.codes[labels.labeled], labels.classes.size)
        F = self._extend(W, labels.labeled, Y, self.class_prior_)
        self.harmonic_functions_ = F
        scale = self._class_scale(F, labels)
        self.label_distributions_ = normalized_rows(F * scale, self.class_prior_)
        self._keep_transduction(labels, self.label_distributions_)
        return self

    def _class_scale(self, F: NDArray[Any], labels: Any) -> NDArray[np.float64]:
        """Factor of every class in class-mass normalisation."""
        shares = class_shares(self.balance, labels)
        counted = ~self.unreached_
        counted[labels.labeled] = False
        if shares is None or not counted.any():
            return np.ones(F.shape[1])
        mass = F[counted].mean(axis=0)
        return shares / np.maximum(mass, np.finfo(float).tiny)


class HarmonicFunctionRegressor(PartialTargetMixin, _HarmonicEstimator):
    r"""Predict real targets by the harmonic function of a graph of all rows.

    .. math::
        \min_f \; \tfrac12 \sum_{ij} w_{ij} (f_i - f_j)^2
        \quad \text{subject to} \quad f_i = y_i \;\; (i \in L),

    or, with a finite `label_weight` c, with :math:`c \sum_{i \in L} (f_i - y_i)^2`
    added instead. Predictions stay between the smallest and the largest target.

    Parameters
    ----------
    n_neighbors : int, default=10
        Neighbours per row in the graph, at most n_samples - 1.
    weight : str or callable, default="heat"
        Weight of an edge, see :func:`fewlabels.graphs.similarity_graph`.
    affinity : {"knn", "precomputed"} or transformer, default="knn"
        See :class:`HarmonicFunctionClassifier`.
    label_weight : float, default=inf
        Trust in the targets; an infinite value clamps them, a finite one smooths noise.
    solver : {"auto", "direct", "cg"}, default="auto"
        See :func:`harmonic_functions`.
    tol : float, default=1e-6
        Relative residual at which "cg" stops.
    max_iter : int, default=10_000
        Largest number of steps of "cg".
    device : {"cpu", "cuda"} or None, default=None
        Where to compute. None follows the rows: NumPy arrays stay on the CPU, tensors
        on their device, and predictions are returned in the same type. The GPU runs the
        neighbour search and the solver "cg", which "auto" uses there beyond 5,000 rows;
        sparse matrices are factorised on the CPU.

    Attributes
    ----------
    transduction_ : ndarray of shape (n_samples,)
        The function at the training rows; the mean target at rows that none reaches.
    mean_ : float
        Mean of the targets.
    graph_ : csr_array of shape (n_samples, n_samples)
        The weights.
    transformer_ : object or None
        Transformer that built the graph; None for a precomputed one.
    unreached_ : ndarray of bool of shape (n_samples,)
        Rows not connected to any target.
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
        If a component of the graph holds no target.

    See Also
    --------
    harmonic_functions : The solver.

    References
    ----------
    .. [1] X. Zhu, Z. Ghahramani and J. Lafferty, "Semi-supervised learning using
       Gaussian fields and harmonic functions", ICML 2003.

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.graphs import SimilarityGraphTransformer
    >>> from fewlabels.semi_supervised import HarmonicFunctionRegressor
    >>> X = np.arange(5.0)[:, None]
    >>> y = [0.0, np.nan, np.nan, np.nan, 4.0]  # NaN = no target
    >>> path = SimilarityGraphTransformer(kind="ball", radius=1.0)
    >>> model = HarmonicFunctionRegressor(affinity=path).fit(X, y)
    >>> model.transduction_
    array([0., 1., 2., 3., 4.])
    """

    def __init__(
        self,
        *,
        n_neighbors: int = 10,
        weight: Any = "heat",
        affinity: Any = "knn",
        label_weight: float = math.inf,
        solver: str = "auto",
        tol: float = 1e-6,
        max_iter: int = 10_000,
        device: str | None = None,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.weight = weight
        self.affinity = affinity
        self.label_weight = label_weight
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.device = device

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: ArrayLike) -> Self:
        """Extend the targets to all rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            All rows; the weights of the graph for ``affinity="precomputed"``.
        y : array-like of shape (n_samples,)
            Targets; NaN (or None) marks rows without one.

        Returns
        -------
        self : object
            The fitted regressor.
        """
        X, targets = validate_partial_targets(
            self, X, y, accept_sparse="csr", dtype=FLOATS, ensure_min_samples=2
        )
        labeled = np.flatnonzero(~np.isnan(targets))
        self.mean_ = float(targets[labeled].mean())
        f = self._extend(
            self._set_graph(X), labeled, targets[labeled, None], self.mean_
        )
        self.transduction_ = self._of_copies(f, labeled)[:, 0]
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """Average the values of the training rows near each row.

        Rows seen in `fit` keep their own; copies of a row get the mean of theirs.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_queries, n_features)
            New rows; for ``affinity="precomputed"`` their weights to all training rows.

        Returns
        -------
        y : ndarray of shape (n_queries,)
            The predictions.
        """
        check_is_fitted(self)
        return self._average(X, self.transduction_[:, None], self.mean_)[:, 0]
