"""Laplacian support vector machines and Laplacian regularised least squares."""

# SPDX-License-Identifier: BSD-3-Clause

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.metrics import r2_score
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from fewlabels._labels import (
    UNLABELED,
    Labels,
    decide,
    encode_targets,
    label_array,
    signed_targets,
    unlabeled_mask,
    validate_partial_targets,
    validate_partially_labeled,
)
from fewlabels._linalg import FLOATS
from fewlabels._sklearn import Interval, StrOptions, fit_context
from fewlabels.exceptions import warn_ignored
from fewlabels.graphs import graph_laplacian, laplacian_power, warn_unreached
from fewlabels.graphs._laplacian import LaplacianPower
from fewlabels.graphs._weights import WEIGHT_CONSTRAINTS
from fewlabels.kernels import GramOperator, Kernel, gram_operator, resolve_kernel
from fewlabels.kernels._functions import KERNEL_CONSTRAINTS, is_precomputed
from fewlabels.semi_supervised._base import KernelClassifier, as_decision
from fewlabels.semi_supervised._laplacian_deformed import (
    LowRankFactor,
    factored,
    laplacian_dense,
    laplacian_low_rank,
)
from fewlabels.semi_supervised._laplacian_pcg import NORMS, STOPPING, laplacian_pcg
from fewlabels.semi_supervised._laplacian_problem import (
    LaplacianProblem,
    LaplacianSolution,
    graph_energy,
    kernel_energy,
)
from fewlabels.semi_supervised._laplacian_rows import (
    build_graph,
    check_square_kernel,
    dense_rows,
    precise_gram,
    usual_gamma,
)

# Pivots after which solver="auto" no longer takes the kernel for one of low rank.
AUTO_RANK = 500

# Error on validation rows as a function of coefficients and bias, and how much it must
# fall between two checks.
Validation = tuple[Callable[..., float], float]

# Kinds of Laplacian that are symmetric, hence penalties.
_LAPLACIANS = {"unnormalized", "symmetric"}

# Parameters, with their defaults, that a single solver uses.
_ONLY_FOR: dict[str, dict[str, Any]] = {
    "pcg": {"stopping": "auto", "check_every": None, "tol": None},
    "low_rank": {"rank_tol": 1e-6, "max_rank": None},
}

_CONSTRAINTS: dict[str, list[Any]] = {
    **KERNEL_CONSTRAINTS,
    "gamma_A": [Interval(Real, 0, None, closed="neither")],
    "gamma_I": [Interval(Real, 0, None, closed="left")],
    "scaling": [StrOptions({"scale-free", "paper"})],
    "n_neighbors": [Interval(Integral, 1, None, closed="left")],
    "weight": WEIGHT_CONSTRAINTS["weight"],
    "laplacian": [StrOptions(_LAPLACIANS)],
    "laplacian_power": [Interval(Integral, 1, None, closed="left")],
    "tol": [Interval(Real, 0, None, closed="left"), None],
    "check_every": [Interval(Integral, 1, None, closed="left"), None],
    "max_iter": [Interval(Integral, 1, None, closed="left")],
    "fit_intercept": ["boolean"],
    "rank_tol": [Interval(Real, 0, 1, closed="left")],
    "max_rank": [Interval(Integral, 1, None, closed="left"), None],
    "warm_start": ["boolean"],
    "memory_budget": [Interval(Real, 0, None, closed="neither"), None],
    "n_jobs": [Integral, None],
}


@dataclass(frozen=True, eq=False)
class _Task:
    """Everything of a problem but the way its kernel matrix is held."""

    X: Any
    laplacian: LaplacianPower | None
    labeled: NDArray[np.intp]
    targets: NDArray[Any]
    loss: str
    fit_intercept: bool

    def problem(self, gram: GramOperator) -> LaplacianProblem:
        return LaplacianProblem(
            gram,
            self.laplacian,
            self.labeled,
            self.targets,
            self.loss,
            self.fit_intercept,
        )


class _LaplacianEstimator(BaseEstimator):
    """What the Laplacian classifiers and the regressor share."""

    # The public parameters, as the subclasses declare them.
    kernel: Any
    gamma: Any
    degree: float
    coef0: float
    kernel_params: dict[str, Any] | None
    gamma_A: float
    gamma_I: float
    scaling: str
    n_neighbors: int
    weight: Any
    laplacian: str
    laplacian_power: int
    solver: str
    stopping: str
    tol: float | None
    check_every: int | None
    max_iter: int
    fit_intercept: bool
    rank_tol: float
    max_rank: int | None
    warm_start: bool
    memory_budget: float | None
    n_jobs: int | None

    # What stopping="auto" stands for.
    _default_stopping: ClassVar[str]

    def _warn_about_ignored(self, graph: Any, has_validation: bool) -> None:
        """Name what was given although it has no effect beside the others."""
        if graph is not None and self.gamma_I == 0:
            warn_ignored("graph", "gamma_I=0 leaves no graph term")
        if graph is not None and self.n_neighbors != 10:
            warn_ignored(f"n_neighbors={self.n_neighbors}", "a graph was given")
        if graph is not None and self.weight != "heat":
            warn_ignored(f"weight={self.weight!r}", "a graph was given")
        reason = f"solver={self.solver!r} does not use it"
        for solver, defaults in _ONLY_FOR.items():
            if self.solver in ("auto", solver):
                continue
            for name, default in defaults.items():
                if getattr(self, name) != default:
                    warn_ignored(f"{name}={getattr(self, name)!r}", reason)
        if has_validation and self.solver not in ("auto", "pcg"):
            warn_ignored("X_val", reason)

    def _set_graph(
        self, X: Any, labeled: NDArray[np.intp], graph: Any
    ) -> LaplacianPower | None:
        """Build or check the graph, keep it and its energy, and make the penalty."""
        self.graph_, self.energy_ = None, 1.0
        if self.gamma_I == 0:
            return None
        if graph is None:
            graph = build_graph(
                X,
                precomputed=self.kernel_.is_precomputed,
                n_neighbors=self.n_neighbors,
                weight=self.weight,
                n_jobs=self.n_jobs,
            )
        elif np.shape(graph) != (X.shape[0], X.shape[0]):
            raise ValueError(
                f"graph must hold one weight per pair of the {X.shape[0]} rows of X, "
                f"got shape {np.shape(graph)}."
            )
        graph = sparse.csr_array(graph, dtype=np.float64)
        warn_unreached(graph, labeled, estimator=self)
        laplacian = laplacian_power(
            graph_laplacian(graph, self.laplacian), self.laplacian_power
        )
        self.graph_ = graph
        if self.scaling == "scale-free":
            energy = kernel_energy if self.kernel_.is_precomputed else graph_energy
            self.energy_ = energy(X, laplacian)
        return laplacian

    def _weights(self, n_samples: int, n_labeled: int) -> tuple[float, float]:
        """gamma_A and gamma_I of the problem whose losses are summed."""
        if self.scaling == "paper":
            return self.gamma_A, self.gamma_I
        return (
            n_labeled * self.gamma_A,
            n_labeled * self.gamma_I / (n_samples * self.energy_),
        )

    def _choose_solver(self, task: "_Task") -> tuple[str, str, LowRankFactor | None]:
        """Tell kernels of low rank from others by the decay of the pivots."""
        if self.solver != "auto":
            return self.solver, "as asked for", None
        limit = AUTO_RANK if self.max_rank is None else self.max_rank
        problem = task.problem(precise_gram(task.X, self.kernel_))
        found = factored(problem.gram, rank_tol=self.rank_tol, max_rank=limit)
        rank = found.pivots.size
        why = (
            f"{rank} pivots leave {found.residual:.2g} of the trace of the kernel "
            f"(rank_tol={self.rank_tol:g})"
        )
        if found.converged or rank < limit:
            return "low_rank", f"low rank: {why}", LowRankFactor(problem, found)
        return "pcg", f"no low rank: {why}", None

    def _solve(
        self,
        X: Any,
        labeled: NDArray[np.intp],
        targets: NDArray[Any],
        loss: str,
        graph: Any,
        validation: Validation | None,
    ) -> LaplacianSolution:
        """Kernel, graph, one solver, and the attributes that all estimators have."""
        if is_precomputed(self.kernel):
            check_square_kernel(X)
        self._warn_about_ignored(graph, validation is not None)
        self.kernel_: Kernel = resolve_kernel(
            X,
            self.kernel,
            gamma=usual_gamma(self.kernel, self.gamma),
            degree=self.degree,
            coef0=self.coef0,
            kernel_params=self.kernel_params,
        )
        laplacian = self._set_graph(X, labeled, graph)
        task = _Task(X, laplacian, labeled, targets, loss, self.fit_intercept)
        weights = self._weights(X.shape[0], labeled.size)
        self.solver_, self.solver_reason_, factor = self._choose_solver(task)
        if self.solver_ == "pcg":
            solution = self._solve_pcg(task, weights, validation)
        else:
            if validation is not None and self.solver == "auto":
                warn_ignored("X_val", f"solver={self.solver_!r} was chosen")
            if self.warm_start and loss != "squared_hinge":
                warn_ignored(
                    "warm_start=True", f"solver={self.solver_!r} has no use for it"
                )
            solution = self._solve_exactly(task, weights, factor)
        self._keep(X, solution, labeled.size)
        return solution

    def _solve_pcg(
        self, task: "_Task", weights: tuple[float, float], validation: Validation | None
    ) -> LaplacianSolution:
        X = dense_rows(task.X) if self.kernel_.is_precomputed else task.X
        gram = gram_operator(
            X, self.kernel_, memory_budget=self.memory_budget, n_jobs=self.n_jobs
        )
        given = self.stopping != "auto"
        return laplacian_pcg(
            task.problem(gram),
            *weights,
            stopping=self.stopping if given else self._default_stopping,
            tol=self.tol,
            check_every=self.check_every,
            max_iter=self.max_iter,
            start=self._started(task),
            validation=validation,
        )

    def _solve_exactly(
        self, task: "_Task", weights: tuple[float, float], factor: LowRankFactor | None
    ) -> LaplacianSolution:
        common: dict[str, Any] = {
            "start": self._started_labels(task),
            "max_iter": self.max_iter,
            "loo_ridge": 1.0
            if self.scaling == "paper"
            else 1.0 - 1.0 / task.labeled.size,
        }
        if self.solver_ == "low_rank":
            return laplacian_low_rank(
                task.problem(precise_gram(task.X, self.kernel_)),
                *weights,
                factor=factor,
                rank_tol=self.rank_tol,
                max_rank=self.max_rank,
                **common,
            )
        X = dense_rows(task.X) if self.kernel_.is_precomputed else task.X
        gram = gram_operator(X, self.kernel_, representation="dense")
        return laplacian_dense(task.problem(gram), *weights, **common)

    def _keep(self, X: Any, solution: LaplacianSolution, n_labeled: int) -> None:
        self.support_ = solution.support
        self.dual_coef_ = solution.dual_coef
        self.intercept_ = solution.intercept
        self.X_fit_ = None if self.kernel_.is_precomputed else X[solution.support]
        self.n_iter_ = solution.n_iter
        self.stop_reason_ = solution.stop_reason
        scale = 1.0 if self.scaling == "paper" else 1.0 / n_labeled
        self.objective_ = scale * float(solution.objective.sum())
        self.history_ = dict(solution.history)
        self.history_["objective"] = scale * self.history_["objective"]
        self._fit_outputs = solution.outputs

    def _started(self, task: "_Task") -> tuple[NDArray[Any], NDArray[Any]] | None:
        """Coefficients of the last fit, if they fit the new problem."""
        shape = (task.X.shape[0], task.targets.shape[1])
        if not self.warm_start or not hasattr(self, "_fit_outputs"):
            return None
        if self._fit_outputs.shape != shape:
            return None
        alpha = np.zeros(shape)
        alpha[self.support_] = self.dual_coef_
        return alpha, self.intercept_

    def _started_labels(self, task: "_Task") -> NDArray[Any] | None:
        """Take the outputs of the last fit on the labelled rows."""
        started = self._started(task)
        return None if started is None else self._fit_outputs[task.labeled]

    def _outputs(self, X: Any) -> NDArray[Any]:
        """Evaluate the functions at validated rows."""
        if self.kernel_.is_precomputed:
            X = X[:, self.support_]
        outputs = self.kernel_.product(X, self.X_fit_, self.dual_coef_)
        return np.asarray(outputs) + self.intercept_

    def _validation_rows(self, X: Any, X_val: Any, y_val: Any) -> Any:
        """Check that validation rows come with labels, and read them."""
        if (X_val is None) != (y_val is None):
            raise ValueError("X_val and y_val belong together: pass both or neither.")
        if X_val is None:
            return None
        return validate_data(
            self, X_val, accept_sparse="csr", dtype=FLOATS, reset=False
        )

    def _check_val_length(self, X_val: Any, n_labels: int) -> None:
        if X_val.shape[0] != n_labels:
            raise ValueError(
                f"y_val has {n_labels} entries but X_val has {X_val.shape[0]} rows."
            )

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = is_precomputed(self.kernel)
        tags.input_tags.sparse = True
        return tags


class _LaplacianClassifier(_LaplacianEstimator, KernelClassifier):
    """What the two classifiers share: classes, transduction, decisions."""

    _default_stopping = "stability"

    def _loss(self) -> str:
        raise NotImplementedError

    def _fit_classes(
        self, X: Any, y: Any, graph: Any, X_val: Any, y_val: Any
    ) -> LaplacianSolution:
        X, labels = validate_partially_labeled(
            self, X, y, accept_sparse="csr", dtype=FLOATS
        )
        k = labels.classes.size
        labeled = labels.labeled
        solution = self._solve(
            X,
            labeled,
            signed_targets(labels.codes[labeled], k),
            self._loss(),
            graph,
            self._validation(X, labels, X_val, y_val),
        )
        self.classes_ = labels.classes
        self.labeled_indices_ = labeled
        self.transduction_ = labels.classes[labels.codes]
        free = labels.codes == UNLABELED
        self.transduction_[free] = decide(
            as_decision(solution.outputs[free]), self.classes_
        )
        return solution

    def _validation(
        self, X: Any, labels: Labels, X_val: Any, y_val: Any
    ) -> Validation | None:
        """Share of wrong decisions on validation rows, and the share of one row."""
        X_val = self._validation_rows(X, X_val, y_val)
        if X_val is None:
            return None
        known = ~unlabeled_mask(y_val)
        self._check_val_length(X_val, known.size)
        if not known.any():
            raise ValueError("y_val has no labelled row: pass some true labels.")
        truth, rows = label_array(y_val)[known], X_val[known]

        def error(alpha: NDArray[Any], b: NDArray[Any]) -> float:
            outputs = self.kernel_.product(rows, X, alpha) + b
            return float(np.mean(decide(as_decision(outputs), labels.classes) != truth))

        return error, 1.0 / truth.size

    def decision_function(self, X: Any) -> NDArray[Any]:
        """Compute the real outputs f(x).

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows; for a precomputed kernel their kernel with all training rows.

        Returns
        -------
        decision : ndarray of shape (n_samples,) or (n_samples, n_classes)
            For up to two classes one value per row, positive for `classes_[1]`.
        """
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=FLOATS, reset=False)
        return as_decision(self._outputs(X))


class LaplacianSVC(_LaplacianClassifier):
    r"""Laplacian support vector machine, trained in the primal.

    Rows that are close on the graph of their neighbours should get similar outputs, so
    that few labels spread along the shape of the data. For every class (a single one of
    two) it solves, over :math:`f = \sum_i \alpha_i k(x_i, \cdot) + b` on all n rows, l
    of them labelled,

    .. math::
        \min_{f} \; \frac12 \Big( \frac1l \sum_{i=1}^{l} \max(1 - y_i f(x_i), 0)^2
        + \gamma_A \|f\|_K^2 + \frac{\gamma_I}{n e} \, f^\top L^p f \Big)

    with the graph Laplacian L and the energy e of :math:`L^p`: what the centred
    coordinates of the rows pay per unit of variance. Solver "dual" takes the hinge
    instead of its square, as the original Laplacian SVM [2]_.

    Parameters
    ----------
    kernel : str, callable or GP kernel, default="rbf"
        See :func:`fewlabels.kernels.resolve_kernel`; with "precomputed", `X` is the
        kernel matrix between rows and all training rows.
    gamma : float, {"local", "scale", "median", "range"} or None, default="local"
        See :func:`fewlabels.kernels.resolve_kernel`. "local" is "scale" for kernels
        other than "rbf".
    degree : float, default=3
        Of the polynomial kernel.
    coef0 : float, default=1
        Of the polynomial and the sigmoid kernel.
    kernel_params : dict, default=None
        Keyword parameters for a callable kernel.
    gamma_A : float, default=1e-6
        Weight :math:`\gamma_A` of the norm.
    gamma_I : float, default=0.1
        Weight :math:`\gamma_I` of the graph; 0 makes learning supervised.
    scaling : {"scale-free", "paper"}, default="scale-free"
        Whether the loss is averaged and the graph term measured in units of the data,
        as above, so that good weights do not depend on the number of rows; or both
        are plain sums (l = 1 and n e = 1 in the formula), as in the paper.
    n_neighbors : int, default=10
        Neighbours per row in the graph, cut to n_samples - 1.
    weight : str or callable, default="heat"
        Weight of an edge, see :func:`fewlabels.graphs.similarity_graph`.
    laplacian : {"unnormalized", "symmetric"}, default="unnormalized"
        Kind of the graph Laplacian. The symmetric one is that of the paper; it pulls f
        to zero where the graph is fine, since constants are not smooth for it.
    laplacian_power : int, default=1
        The exponent p.
    solver : {"auto", "newton", "pcg", "dual", "low_rank"}, default="auto"
        - "newton": exact, one dense n x n system;
        - "pcg": conjugate gradients on products with the kernel matrix, stopped early;
        - "dual": the original L1 hinge loss, by a dense n x n system and
          :class:`sklearn.svm.SVC` on the deformed kernel; its bias is free;
        - "low_rank": exact for a kernel of low rank, never n x n;
        - "auto": "low_rank" where the pivots of the kernel decay fast, else "pcg".
    stopping : str, default="auto"
        When the solver "pcg" stops: "stability", "validation", "mixed", "gradient",
        "preconditioned_gradient", "mixed_product" or "objective", see
        :func:`laplacian_pcg`. "auto" is "stability".
    tol : float, default=None
        Threshold of that rule; None takes its own.
    check_every : int, default=None
        Iterations between two checks of the decisions; sqrt(n) / 2 when None.
    max_iter : int, default=1000
        Most iterations.
    fit_intercept : bool, default=True
        Whether to add the bias b.
    rank_tol : float, default=1e-6
        Share of the trace of the kernel matrix that "low_rank" may leave out.
    max_rank : int, default=None
        Largest rank; None sets no limit for "low_rank", and 500 for "auto".
    warm_start : bool, default=False
        Start from the solution of the last `fit`, along a path of parameters.
    memory_budget : float, default=None
        MiB up to which "pcg" holds the kernel matrix; beyond, products recompute it
        tile by tile. scikit-learn's `working_memory` when None.
    n_jobs : int, default=None
        Threads of the neighbour search and of tiled products.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes, without the marker of unlabelled rows.
    labeled_indices_ : ndarray of shape (n_labeled,)
        The labelled rows.
    transduction_ : ndarray of shape (n_samples,)
        A label for every training row: as given, else as predicted.
    solver_ : str
        The solver used.
    solver_reason_ : str
        Why, in words; says what the pivots of the kernel showed to "auto".
    objective_ : float
        The objective reached, summed over the one-vs-rest problems.
    n_iter_ : int
        Iterations made.
    stop_reason_ : str
        Why the solver stopped.
    history_ : dict of ndarray
        Per iteration (rows) and one-vs-rest problem (columns): "objective" and, for
        "pcg", the norms "gradient", "preconditioned_gradient", "mixed_product" and the
        "line_search_steps", for "newton" and "low_rank" the number of
        rows short of the margin, "n_errors"; and "n_steps", the Newton steps of every
        problem.
    dual_coef_ : ndarray of shape (n_support, n_targets)
        Coefficients of the rows in `support_`.
    support_ : ndarray of shape (n_support,)
        Training rows that carry a coefficient: all, or the pivots of "low_rank".
    intercept_ : ndarray of shape (n_targets,)
        The bias.
    X_fit_ : {ndarray, sparse matrix} of shape (n_support, n_features) or None
        Those rows; None for a precomputed kernel.
    graph_ : csr_array of shape (n_samples, n_samples) or None
        The graph; None if `gamma_I` is 0.
    energy_ : float
        The graph energy e; 1 with ``scaling="paper"``.
    kernel_ : Kernel
        The kernel with its parameters as numbers.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, where `X` had any.

    Warns
    -----
    DisconnectedGraphWarning
        If rows hang together with no labelled row.
    ConvergenceWarning
        If the solver did not reach its goal.
    IgnoredParameterWarning
        If a parameter has no effect beside the others.

    See Also
    --------
    LaplacianRLSClassifier : The same with the squared loss.
    laplacian_pcg, laplacian_dense, laplacian_low_rank : The solvers.

    References
    ----------
    .. [1] S. Melacci, M. Belkin, "Laplacian support vector machines trained in the
       primal", Journal of Machine Learning Research 12 (2011).
    .. [2] M. Belkin, P. Niyogi, V. Sindhwani, "Manifold regularization: a geometric
       framework for learning from labeled and unlabeled examples", Journal of Machine
       Learning Research 7 (2006).

    Examples
    --------
    >>> from fewlabels.datasets import hide_labels, make_moons
    >>> from fewlabels.semi_supervised import LaplacianSVC
    >>> X, y_true = make_moons(400, noise=0.05, random_state=0)
    >>> y = hide_labels(y_true, per_class=1, random_state=0)  # two labels in all
    >>> model = LaplacianSVC().fit(X, y)
    >>> bool(model.score(X, y_true) > 0.98)
    True
    >>> model.solver_
    'low_rank'
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **_CONSTRAINTS,
        "solver": [StrOptions({"auto", "newton", "pcg", "dual", "low_rank"})],
        "stopping": [StrOptions({"auto", *STOPPING})],
    }

    def __init__(
        self,
        *,
        kernel: Any = "rbf",
        gamma: float | str | None = "local",
        degree: float = 3,
        coef0: float = 1,
        kernel_params: dict[str, Any] | None = None,
        gamma_A: float = 1e-6,
        gamma_I: float = 0.1,
        scaling: str = "scale-free",
        n_neighbors: int = 10,
        weight: Any = "heat",
        laplacian: str = "unnormalized",
        laplacian_power: int = 1,
        solver: str = "auto",
        stopping: str = "auto",
        tol: float | None = None,
        check_every: int | None = None,
        max_iter: int = 1000,
        fit_intercept: bool = True,
        rank_tol: float = 1e-6,
        max_rank: int | None = None,
        warm_start: bool = False,
        memory_budget: float | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.gamma_A = gamma_A
        self.gamma_I = gamma_I
        self.scaling = scaling
        self.n_neighbors = n_neighbors
        self.weight = weight
        self.laplacian = laplacian
        self.laplacian_power = laplacian_power
        self.solver = solver
        self.stopping = stopping
        self.tol = tol
        self.check_every = check_every
        self.max_iter = max_iter
        self.fit_intercept = fit_intercept
        self.rank_tol = rank_tol
        self.max_rank = max_rank
        self.warm_start = warm_start
        self.memory_budget = memory_budget
        self.n_jobs = n_jobs

    def _loss(self) -> str:
        return "hinge" if self.solver == "dual" else "squared_hinge"

    @fit_context(prefer_skip_nested_validation=True)
    def fit(
        self,
        X: Any,
        y: ArrayLike,
        *,
        graph: Any = None,
        X_val: Any = None,
        y_val: ArrayLike | None = None,
    ) -> Self:
        """Fit on the labelled and the unlabelled rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            All rows; the square kernel matrix for kernel="precomputed".
        y : array-like of shape (n_samples,)
            Labels; -1 among integers, NaN among floats, None or NaN among objects
            mark rows without one.
        graph : {array-like, sparse matrix} or None, default=None
            Symmetric weights of shape (n_samples, n_samples); None builds a neighbour
            graph from `X`, or from the distances that a precomputed kernel implies.
        X_val : {array-like, sparse matrix} of shape (n_val, n_features), default=None
            Validation rows for ``stopping="validation"`` and "mixed"; for a
            precomputed kernel their kernel with all training rows.
        y_val : array-like of shape (n_val,), default=None
            Their labels.

        Returns
        -------
        self : object
            The fitted classifier.
        """
        self._fit_classes(X, y, graph, X_val, y_val)
        return self


class LaplacianRLSClassifier(_LaplacianClassifier):
    r"""Laplacian regularised least squares.

    Rows that are close on the graph of their neighbours should get similar outputs, so
    that few labels spread along the shape of the data. For every class (a single one of
    two) it solves, over :math:`f = \sum_i \alpha_i k(x_i, \cdot) + b` on all n rows, l
    of them labelled,

    .. math::
        \min_{f} \; \frac12 \Big( \frac1l \sum_{i=1}^{l} (y_i - f(x_i))^2
        + \gamma_A \|f\|_K^2 + \frac{\gamma_I}{n e} \, f^\top L^p f \Big)

    with the graph Laplacian L and the energy e of :math:`L^p`: what the centred
    coordinates of the rows pay per unit of variance. It is least squares with a kernel
    that the graph has deformed, so that leave-one-out outputs and the evidence come
    with the fit.

    Parameters
    ----------
    kernel : str, callable or GP kernel, default="rbf"
        See :func:`fewlabels.kernels.resolve_kernel`; with "precomputed", `X` is the
        kernel matrix between rows and all training rows.
    gamma : float, {"local", "scale", "median", "range"} or None, default="local"
        See :func:`fewlabels.kernels.resolve_kernel`. "local" is "scale" for kernels
        other than "rbf".
    degree : float, default=3
        Of the polynomial kernel.
    coef0 : float, default=1
        Of the polynomial and the sigmoid kernel.
    kernel_params : dict, default=None
        Keyword parameters for a callable kernel.
    gamma_A : float, default=1e-6
        Weight :math:`\gamma_A` of the norm.
    gamma_I : float, default=0.1
        Weight :math:`\gamma_I` of the graph; 0 makes learning supervised.
    scaling : {"scale-free", "paper"}, default="scale-free"
        Whether the loss is averaged and the graph term measured in units of the data,
        as above, so that good weights do not depend on the number of rows; or both
        are plain sums (l = 1 and n e = 1 in the formula), as in the paper.
    n_neighbors : int, default=10
        Neighbours per row in the graph, cut to n_samples - 1.
    weight : str or callable, default="heat"
        Weight of an edge, see :func:`fewlabels.graphs.similarity_graph`.
    laplacian : {"unnormalized", "symmetric"}, default="unnormalized"
        Kind of the graph Laplacian. The symmetric one is that of the paper; it pulls f
        to zero where the graph is fine, since constants are not smooth for it.
    laplacian_power : int, default=1
        The exponent p.
    solver : {"auto", "direct", "pcg", "low_rank"}, default="auto"
        - "direct": exact, one dense n x n system;
        - "pcg": conjugate gradients on products with the kernel matrix, stopped early;
        - "low_rank": exact for a kernel of low rank, never n x n;
        - "auto": "low_rank" where the pivots of the kernel decay fast, else "pcg".
    stopping : str, default="auto"
        When the solver "pcg" stops: "stability", "validation", "mixed", "gradient",
        "preconditioned_gradient", "mixed_product" or "objective", see
        :func:`laplacian_pcg`. "auto" is "stability".
    tol : float, default=None
        Threshold of that rule; None takes its own.
    check_every : int, default=None
        Iterations between two checks of the decisions; sqrt(n) / 2 when None.
    max_iter : int, default=1000
        Most iterations.
    fit_intercept : bool, default=True
        Whether to add the bias b.
    rank_tol : float, default=1e-6
        Share of the trace of the kernel matrix that "low_rank" may leave out.
    max_rank : int, default=None
        Largest rank; None sets no limit for "low_rank", and 500 for "auto".
    warm_start : bool, default=False
        Start from the solution of the last `fit`, along a path of parameters.
    memory_budget : float, default=None
        MiB up to which "pcg" holds the kernel matrix; beyond, products recompute it
        tile by tile. scikit-learn's `working_memory` when None.
    n_jobs : int, default=None
        Threads of the neighbour search and of tiled products.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes, without the marker of unlabelled rows.
    loo_outputs_ : ndarray of shape (n_labeled,) or (n_labeled, n_classes) or None
        Output at every labelled row of the model that does not know its label, the
        row itself staying in the graph: equal to fitting again. None for "pcg".
    log_evidence_ : float or None
        Log marginal likelihood of the labels under a Gaussian process with the
        deformed kernel, at the best overall scale. None for "pcg".
    labeled_indices_ : ndarray of shape (n_labeled,)
        The rows with a label.
    transduction_ : ndarray of shape (n_samples,)
        A label for every training row: as given, else as predicted.
    solver_ : str
        The solver used.
    solver_reason_ : str
        Why, in words; says what the pivots of the kernel showed to "auto".
    objective_ : float
        The objective reached, summed over the one-vs-rest problems.
    n_iter_ : int
        Iterations made.
    stop_reason_ : str
        Why the solver stopped.
    history_ : dict of ndarray
        Per iteration (rows) and one-vs-rest problem (columns): "objective" and, for
        "pcg", the norms "gradient", "preconditioned_gradient", "mixed_product" and the
        "line_search_steps".
    dual_coef_ : ndarray of shape (n_support, n_targets)
        Coefficients of the rows in `support_`.
    support_ : ndarray of shape (n_support,)
        Training rows that carry a coefficient: all, or the pivots of "low_rank".
    intercept_ : ndarray of shape (n_targets,)
        The bias.
    X_fit_ : {ndarray, sparse matrix} of shape (n_support, n_features) or None
        Those rows; None for a precomputed kernel.
    graph_ : csr_array of shape (n_samples, n_samples) or None
        The graph; None if `gamma_I` is 0.
    energy_ : float
        The graph energy e; 1 with ``scaling="paper"``.
    kernel_ : Kernel
        The kernel with its parameters as numbers.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, where `X` had any.

    Warns
    -----
    DisconnectedGraphWarning
        If rows hang together with no labelled row.
    ConvergenceWarning
        If the solver did not reach its goal.
    IgnoredParameterWarning
        If a parameter has no effect beside the others.

    See Also
    --------
    LaplacianRLSClassifierCV : Choose the parameters by leave-one-out.
    LaplacianSVC : The same with the squared hinge loss.
    RLSClassifier : The supervised counterpart.

    References
    ----------
    .. [1] S. Melacci, M. Belkin, "Laplacian support vector machines trained in the
       primal", Journal of Machine Learning Research 12 (2011).
    .. [2] M. Belkin, P. Niyogi, V. Sindhwani, "Manifold regularization: a geometric
       framework for learning from labeled and unlabeled examples", Journal of Machine
       Learning Research 7 (2006).

    Examples
    --------
    >>> from fewlabels.datasets import hide_labels, make_moons
    >>> from fewlabels.semi_supervised import LaplacianRLSClassifier
    >>> X, y_true = make_moons(400, noise=0.1, random_state=0)
    >>> y = hide_labels(y_true, per_class=2, random_state=0)
    >>> model = LaplacianRLSClassifier().fit(X, y)
    >>> bool(model.score(X, y_true) > 0.98)
    True
    >>> model.loo_outputs_.shape
    (4,)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **_CONSTRAINTS,
        "solver": [StrOptions({"auto", "direct", "pcg", "low_rank"})],
        "stopping": [StrOptions({"auto", *STOPPING})],
    }

    def __init__(
        self,
        *,
        kernel: Any = "rbf",
        gamma: float | str | None = "local",
        degree: float = 3,
        coef0: float = 1,
        kernel_params: dict[str, Any] | None = None,
        gamma_A: float = 1e-6,
        gamma_I: float = 0.1,
        scaling: str = "scale-free",
        n_neighbors: int = 10,
        weight: Any = "heat",
        laplacian: str = "unnormalized",
        laplacian_power: int = 1,
        solver: str = "auto",
        stopping: str = "auto",
        tol: float | None = None,
        check_every: int | None = None,
        max_iter: int = 1000,
        fit_intercept: bool = True,
        rank_tol: float = 1e-6,
        max_rank: int | None = None,
        warm_start: bool = False,
        memory_budget: float | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.gamma_A = gamma_A
        self.gamma_I = gamma_I
        self.scaling = scaling
        self.n_neighbors = n_neighbors
        self.weight = weight
        self.laplacian = laplacian
        self.laplacian_power = laplacian_power
        self.solver = solver
        self.stopping = stopping
        self.tol = tol
        self.check_every = check_every
        self.max_iter = max_iter
        self.fit_intercept = fit_intercept
        self.rank_tol = rank_tol
        self.max_rank = max_rank
        self.warm_start = warm_start
        self.memory_budget = memory_budget
        self.n_jobs = n_jobs

    def _loss(self) -> str:
        return "squared"

    @fit_context(prefer_skip_nested_validation=True)
    def fit(
        self,
        X: Any,
        y: ArrayLike,
        *,
        graph: Any = None,
        X_val: Any = None,
        y_val: ArrayLike | None = None,
    ) -> Self:
        """Fit on the labelled and the unlabelled rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            All rows; the square kernel matrix for kernel="precomputed".
        y : array-like of shape (n_samples,)
            Labels; -1 among integers, NaN among floats, None or NaN among objects
            mark rows without one.
        graph : {array-like, sparse matrix} or None, default=None
            Symmetric weights of shape (n_samples, n_samples); None builds a neighbour
            graph from `X`, or from the distances that a precomputed kernel implies.
        X_val : {array-like, sparse matrix} of shape (n_val, n_features), default=None
            Validation rows for ``stopping="validation"`` and "mixed"; for a
            precomputed kernel their kernel with all training rows.
        y_val : array-like of shape (n_val,), default=None
            Their labels.

        Returns
        -------
        self : object
            The fitted classifier.
        """
        solution = self._fit_classes(X, y, graph, X_val, y_val)
        loo = solution.loo_outputs
        self.loo_outputs_ = None if loo is None else as_decision(loo)
        self.log_evidence_ = solution.log_evidence
        return self


class LaplacianRLSRegressor(RegressorMixin, _LaplacianEstimator):
    r"""Laplacian regularised least squares for real targets.

    Rows that are close on the graph of their neighbours should get similar outputs, so
    that few targets spread along the shape of the data. Over
    :math:`f = \sum_i \alpha_i k(x_i, \cdot) + b` on all n rows, l of them with a
    target, it solves

    .. math::
        \min_{f} \; \frac12 \Big( \frac1l \sum_{i=1}^{l} (y_i - f(x_i))^2
        + \gamma_A \|f\|_K^2 + \frac{\gamma_I}{n e} \, f^\top L^p f \Big)

    with the graph Laplacian L and the energy e of :math:`L^p`: what the centred
    coordinates of the rows pay per unit of variance.

    Parameters
    ----------
    kernel : str, callable or GP kernel, default="rbf"
        See :func:`fewlabels.kernels.resolve_kernel`; with "precomputed", `X` is the
        kernel matrix between rows and all training rows.
    gamma : float, {"local", "scale", "median", "range"} or None, default="local"
        See :func:`fewlabels.kernels.resolve_kernel`. "local" is "scale" for kernels
        other than "rbf".
    degree : float, default=3
        Of the polynomial kernel.
    coef0 : float, default=1
        Of the polynomial and the sigmoid kernel.
    kernel_params : dict, default=None
        Keyword parameters for a callable kernel.
    gamma_A : float, default=1e-6
        Weight :math:`\gamma_A` of the norm.
    gamma_I : float, default=0.01
        Weight :math:`\gamma_I` of the graph; 0 makes learning supervised.
    scaling : {"scale-free", "paper"}, default="scale-free"
        Whether the loss is averaged and the graph term measured in units of the data,
        as above, so that good weights do not depend on the number of rows; or both
        are plain sums (l = 1 and n e = 1 in the formula), as in the paper.
    n_neighbors : int, default=10
        Neighbours per row in the graph, cut to n_samples - 1.
    weight : str or callable, default="heat"
        Weight of an edge, see :func:`fewlabels.graphs.similarity_graph`.
    laplacian : {"unnormalized", "symmetric"}, default="unnormalized"
        Kind of the graph Laplacian. The symmetric one is that of the paper; it pulls f
        to zero where the graph is fine, since constants are not smooth for it.
    laplacian_power : int, default=1
        The exponent p.
    solver : {"auto", "direct", "pcg", "low_rank"}, default="auto"
        - "direct": exact, one dense n x n system;
        - "pcg": conjugate gradients on products with the kernel matrix, stopped early;
        - "low_rank": exact for a kernel of low rank, never n x n;
        - "auto": "low_rank" where the pivots of the kernel decay fast, else "pcg".
    stopping : str, default="auto"
        When the solver "pcg" stops: "validation", "gradient",
        "preconditioned_gradient", "mixed_product" or "objective", see
        :func:`laplacian_pcg`. "auto" is "gradient".
    tol : float, default=None
        Threshold of that rule; None takes its own.
    check_every : int, default=None
        Iterations between two checks of the decisions; sqrt(n) / 2 when None.
    max_iter : int, default=1000
        Most iterations.
    fit_intercept : bool, default=True
        Whether to add the bias b.
    rank_tol : float, default=1e-6
        Share of the trace of the kernel matrix that "low_rank" may leave out.
    max_rank : int, default=None
        Largest rank; None sets no limit for "low_rank", and 500 for "auto".
    warm_start : bool, default=False
        Start from the solution of the last `fit`, along a path of parameters.
    memory_budget : float, default=None
        MiB up to which "pcg" holds the kernel matrix; beyond, products recompute it
        tile by tile. scikit-learn's `working_memory` when None.
    n_jobs : int, default=None
        Threads of the neighbour search and of tiled products.

    Attributes
    ----------
    loo_outputs_ : ndarray of shape (n_labeled,) or None
        Output at every labelled row of the model that does not know its target, the
        row itself staying in the graph: equal to fitting again. None for "pcg".
    log_evidence_ : float or None
        Log marginal likelihood of the targets under a Gaussian process with the
        deformed kernel, at the best overall scale. None for "pcg".
    labeled_indices_ : ndarray of shape (n_labeled,)
        The rows with a target.
    transduction_ : ndarray of shape (n_samples,)
        A target for every training row: as given, else as predicted.
    solver_ : str
        The solver used.
    solver_reason_ : str
        Why, in words; says what the pivots of the kernel showed to "auto".
    objective_ : float
        The objective reached, summed over the one-vs-rest problems.
    n_iter_ : int
        Iterations made.
    stop_reason_ : str
        Why the solver stopped.
    history_ : dict of ndarray
        Per iteration (rows) and one-vs-rest problem (columns): "objective" and, for
        "pcg", the norms "gradient", "preconditioned_gradient", "mixed_product" and the
        "line_search_steps".
    dual_coef_ : ndarray of shape (n_support, n_targets)
        Coefficients of the rows in `support_`.
    support_ : ndarray of shape (n_support,)
        Training rows that carry a coefficient: all, or the pivots of "low_rank".
    intercept_ : ndarray of shape (n_targets,)
        The bias.
    X_fit_ : {ndarray, sparse matrix} of shape (n_support, n_features) or None
        Those rows; None for a precomputed kernel.
    graph_ : csr_array of shape (n_samples, n_samples) or None
        The graph; None if `gamma_I` is 0.
    energy_ : float
        The graph energy e; 1 with ``scaling="paper"``.
    kernel_ : Kernel
        The kernel with its parameters as numbers.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, where `X` had any.

    Warns
    -----
    DisconnectedGraphWarning
        If rows hang together with no labelled row.
    ConvergenceWarning
        If the solver did not reach its goal.
    IgnoredParameterWarning
        If a parameter has no effect beside the others.

    See Also
    --------
    LaplacianRLSClassifier : The same for classes.
    sklearn.kernel_ridge.KernelRidge : The supervised counterpart, without a bias.

    References
    ----------
    .. [1] S. Melacci, M. Belkin, "Laplacian support vector machines trained in the
       primal", Journal of Machine Learning Research 12 (2011).
    .. [2] M. Belkin, P. Niyogi, V. Sindhwani, "Manifold regularization: a geometric
       framework for learning from labeled and unlabeled examples", Journal of Machine
       Learning Research 7 (2006).

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.semi_supervised import LaplacianRLSRegressor
    >>> turn = np.linspace(0.0, 9.0, 300)  # along a spiral
    >>> X = np.column_stack([turn * np.cos(turn), turn * np.sin(turn)])
    >>> y = np.full(300, np.nan)  # NaN = no target
    >>> y[::30] = turn[::30]
    >>> model = LaplacianRLSRegressor().fit(X, y)
    >>> bool(model.score(X, turn) > 0.99)
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **_CONSTRAINTS,
        "solver": [StrOptions({"auto", "direct", "pcg", "low_rank"})],
        "stopping": [StrOptions({"auto", "validation", "objective", *NORMS})],
    }
    _default_stopping = "gradient"

    def __init__(
        self,
        *,
        kernel: Any = "rbf",
        gamma: float | str | None = "local",
        degree: float = 3,
        coef0: float = 1,
        kernel_params: dict[str, Any] | None = None,
        gamma_A: float = 1e-6,
        gamma_I: float = 0.01,
        scaling: str = "scale-free",
        n_neighbors: int = 10,
        weight: Any = "heat",
        laplacian: str = "unnormalized",
        laplacian_power: int = 1,
        solver: str = "auto",
        stopping: str = "auto",
        tol: float | None = None,
        check_every: int | None = None,
        max_iter: int = 1000,
        fit_intercept: bool = True,
        rank_tol: float = 1e-6,
        max_rank: int | None = None,
        warm_start: bool = False,
        memory_budget: float | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.gamma_A = gamma_A
        self.gamma_I = gamma_I
        self.scaling = scaling
        self.n_neighbors = n_neighbors
        self.weight = weight
        self.laplacian = laplacian
        self.laplacian_power = laplacian_power
        self.solver = solver
        self.stopping = stopping
        self.tol = tol
        self.check_every = check_every
        self.max_iter = max_iter
        self.fit_intercept = fit_intercept
        self.rank_tol = rank_tol
        self.max_rank = max_rank
        self.warm_start = warm_start
        self.memory_budget = memory_budget
        self.n_jobs = n_jobs

    @fit_context(prefer_skip_nested_validation=True)
    def fit(
        self,
        X: Any,
        y: ArrayLike,
        *,
        graph: Any = None,
        X_val: Any = None,
        y_val: ArrayLike | None = None,
    ) -> Self:
        """Fit on the labelled and the unlabelled rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            All rows; the square kernel matrix for kernel="precomputed".
        y : array-like of shape (n_samples,)
            Targets; NaN or None marks rows without one, and no number does.
        graph : {array-like, sparse matrix} or None, default=None
            Symmetric weights of shape (n_samples, n_samples); None builds a neighbour
            graph from `X`, or from the distances that a precomputed kernel implies.
        X_val : {array-like, sparse matrix} of shape (n_val, n_features), default=None
            Validation rows for ``stopping="validation"`` and "mixed"; for a
            precomputed kernel their kernel with all training rows.
        y_val : array-like of shape (n_val,), default=None
            Their targets.

        Returns
        -------
        self : object
            The fitted regressor.
        """
        X, targets = validate_partial_targets(
            self, X, y, accept_sparse="csr", dtype=FLOATS
        )
        labeled = np.flatnonzero(~np.isnan(targets))
        solution = self._solve(
            X,
            labeled,
            targets[labeled, None],
            "squared",
            graph,
            self._validation(X, X_val, y_val),
        )
        self.labeled_indices_ = labeled
        self.transduction_ = solution.outputs[:, 0].copy()
        self.transduction_[labeled] = targets[labeled]
        loo = solution.loo_outputs
        self.loo_outputs_ = None if loo is None else loo[:, 0]
        self.log_evidence_ = solution.log_evidence
        return self

    def _validation(self, X: Any, X_val: Any, y_val: Any) -> Validation | None:
        """Mean squared error on validation rows; it must fall by 0.1 % of variance."""
        X_val = self._validation_rows(X, X_val, y_val)
        if X_val is None:
            return None
        truth = encode_targets(y_val)
        self._check_val_length(X_val, truth.size)
        known = ~np.isnan(truth)
        truth, rows = truth[known], X_val[known]

        def error(alpha: NDArray[Any], b: NDArray[Any]) -> float:
            outputs = self.kernel_.product(rows, X, alpha) + b
            return float(np.mean((outputs[:, 0] - truth) ** 2))

        return error, 1e-3 * float(truth.var())

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the target of every row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows; for a precomputed kernel their kernel with all training rows.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            The predicted targets.
        """
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=FLOATS, reset=False)
        return self._outputs(X)[:, 0]

    def score(
        self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> float:
        """Coefficient of determination on the rows that have a target.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows; for a precomputed kernel their kernel with all training rows.
        y : array-like of shape (n_samples,)
            True targets, perhaps with holes.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        score : float
            R squared among those rows.
        """
        truth = encode_targets(y)
        known = ~np.isnan(truth)
        weights = None if sample_weight is None else np.asarray(sample_weight)[known]
        return r2_score(truth[known], self.predict(X)[known], sample_weight=weights)
