"""Base classes of Laplacian estimators: graph, weights, solver and outputs."""

# SPDX-License-Identifier: BSD-3-Clause

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from fewlabels._backend import (
    DEVICE_CONSTRAINTS,
    NUMPY,
    Backend,
    TensorMixin,
    backend_at_hand,
    backend_for,
)
from fewlabels._classifier import as_decision
from fewlabels._labels import (
    Labels,
    decide,
    label_array,
    signed_targets,
    unlabeled_mask,
    validate_partially_labeled,
)
from fewlabels._linalg import FLOATS
from fewlabels._params import check_params, is_default
from fewlabels._rows import check_square_kernel
from fewlabels._sklearn import Interval, StrOptions, fit_context, validate_data
from fewlabels.exceptions import warn_ignored
from fewlabels.graphs import (
    GRAPH_CONSTRAINTS,
    LaplacianPower,
    graph_laplacian,
    laplacian_power,
    warn_unreached,
)
from fewlabels.kernels import (
    KERNEL_CONSTRAINTS,
    GramOperator,
    Kernel,
    gram_operator,
    is_precomputed,
    resolve_kernel,
)
from fewlabels.semi_supervised._kernel_estimator import (
    KernelClassifier,
    KernelEstimator,
)
from fewlabels.semi_supervised._laplacian_deformed import (
    LowRankFactor,
    factored,
    laplacian_dense,
    laplacian_low_rank,
)
from fewlabels.semi_supervised._laplacian_pcg import STOPPING, laplacian_pcg
from fewlabels.semi_supervised._laplacian_problem import (
    LaplacianProblem,
    LaplacianSolution,
    usual_energy,
)
from fewlabels.semi_supervised._laplacian_rows import (
    build_graph,
    dense_rows,
    precise_gram,
    usual_gamma,
)

# With more pivots than this, solver="auto" does not treat the kernel as low-rank.
AUTO_RANK = 500

# Validation error as a function of coefficients and bias, and how much it must fall
# between two checks.
Validation = tuple[Callable[..., float], float]

# Kinds of Laplacian that are symmetric, hence penalties.
_LAPLACIANS = {"unnormalized", "symmetric"}

_POSITIVE = Interval(Integral, 1, None, closed="left")

# Keys of `graph_params`: how the graph is built, and what is derived from it.
BUILD_CONSTRAINTS: dict[str, list[Any]] = {
    name: constraint
    for name, constraint in GRAPH_CONSTRAINTS.items()
    if name not in ("kind", "radius", "n_neighbors", "n_jobs", "device")
}
LAPLACIAN_KIND_CONSTRAINTS: dict[str, list[Any]] = {
    "laplacian": [StrOptions(_LAPLACIANS)],
    "laplacian_power": [_POSITIVE],
}

# Keys of `solver_params`, by solver.
LOW_RANK_CONSTRAINTS: dict[str, list[Any]] = {
    "rank_tol": [Interval(Real, 0, 1, closed="left")],
    "n_components": [_POSITIVE, None],
}
_PCG_CONSTRAINTS: dict[str, list[Any]] = {
    "stopping": [StrOptions(set(STOPPING))],
    "tol": [Interval(Real, 0, None, closed="left"), None],
    "check_every": [_POSITIVE, None],
    "memory_budget": [Interval(Real, 0, None, closed="neither"), None],
}
SOLVER_CONSTRAINTS: dict[str, dict[str, list[Any]]] = {
    "auto": {**_PCG_CONSTRAINTS, **LOW_RANK_CONSTRAINTS},
    "pcg": _PCG_CONSTRAINTS,
    "low_rank": LOW_RANK_CONSTRAINTS,
    "dense": {},
    "dual": {},
}

LAPLACIAN_CONSTRAINTS: dict[str, list[Any]] = {
    **KERNEL_CONSTRAINTS,
    "solver": [StrOptions({"auto", "dense", "pcg", "low_rank"})],
    "alpha": [Interval(Real, 0, None, closed="neither")],
    "graph_alpha": [Interval(Real, 0, None, closed="left")],
    "scaling": [StrOptions({"scale-free", "paper"})],
    "n_neighbors": [_POSITIVE],
    "graph_params": [dict, None],
    "solver_params": [dict, None],
    "max_iter": [_POSITIVE],
    "fit_intercept": ["boolean"],
    "warm_start": ["boolean"],
    "n_jobs": [Integral, None],
    **DEVICE_CONSTRAINTS,
}


def split_graph_params(
    graph_params: dict[str, Any] | None, *, precomputed: bool = False
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Check `graph_params`; separate those that build the graph from the others."""
    build = dict(BUILD_CONSTRAINTS)
    owner = "the graph of the rows"
    if precomputed:  # the kernel determines the distances
        build = {name: c for name, c in build.items() if "metric" not in name}
        owner = "the graph of a precomputed kernel"
    params = check_params(
        "graph_params", graph_params, {**build, **LAPLACIAN_KIND_CONSTRAINTS}, owner
    )
    kind = {
        name: params.pop(name, default)
        for name, default in (("laplacian", "unnormalized"), ("laplacian_power", 1))
    }
    return params, kind


@dataclass(frozen=True, eq=False)
class LaplacianTask:
    """Everything about a problem except how its kernel matrix is held."""

    X: Any
    kernel: Kernel
    laplacian: LaplacianPower | None
    labeled: NDArray[np.intp]
    targets: NDArray[Any]
    loss: str
    fit_intercept: bool
    backend: Backend = NUMPY

    def problem(self, gram: GramOperator) -> LaplacianProblem:
        return LaplacianProblem(
            gram,
            self.laplacian,
            self.labeled,
            self.targets,
            self.loss,
            self.fit_intercept,
        )

    @cached_property
    def precise_problem(self) -> LaplacianProblem:
        """The problem with a float64 kernel whose columns are computed on demand."""
        return self.problem(precise_gram(self.X, self.kernel, self.backend))


class LaplacianEstimator(TensorMixin, KernelEstimator):
    """Base class of the Laplacian classifiers and the regressor."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = LAPLACIAN_CONSTRAINTS
    # Default stopping rule of "pcg".
    _default_stopping: ClassVar[str]
    # Stopping rules of "pcg" that make sense here.
    _stopping: ClassVar[tuple[str, ...]] = STOPPING

    def __init__(
        self,
        *,
        kernel: Any = "rbf",
        gamma: float | str | None = "local",
        kernel_params: dict[str, Any] | None = None,
        alpha: float = 1e-6,
        graph_alpha: float = 0.1,
        scaling: str = "scale-free",
        n_neighbors: int = 10,
        graph_params: dict[str, Any] | None = None,
        solver: str = "auto",
        solver_params: dict[str, Any] | None = None,
        max_iter: int = 1000,
        fit_intercept: bool = True,
        warm_start: bool = False,
        n_jobs: int | None = None,
        device: str | None = None,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.kernel_params = kernel_params
        self.alpha = alpha
        self.graph_alpha = graph_alpha
        self.scaling = scaling
        self.n_neighbors = n_neighbors
        self.graph_params = graph_params
        self.solver = solver
        self.solver_params = solver_params
        self.max_iter = max_iter
        self.fit_intercept = fit_intercept
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.device = device

    def _loss(self) -> str:
        """Name of the loss, as a :class:`LaplacianProblem` takes it."""
        return "squared"

    def _options(self) -> dict[str, Any]:
        """Check that `solver_params` holds only parameters of the chosen solver."""
        known = dict(SOLVER_CONSTRAINTS[self.solver])
        if "stopping" in known:
            known["stopping"] = [StrOptions(set(self._stopping))]
        return check_params(
            "solver_params", self.solver_params, known, f"solver={self.solver!r}"
        )

    def _warn_about_ignored(self, graph: Any, has_validation: bool) -> None:
        """Warn about parameters that have no effect given the others."""
        if graph is not None and self.graph_alpha == 0:
            warn_ignored("graph", "graph_alpha=0 leaves no graph term")
        if graph is not None:
            if not is_default(type(self), "n_neighbors", self.n_neighbors):
                warn_ignored(f"n_neighbors={self.n_neighbors}", "a graph was given")
            for name in self._build:
                warn_ignored(f"{name!r} in graph_params", "a graph was given")
        if has_validation and self.solver not in ("auto", "pcg"):
            warn_ignored("X_val", f"solver={self.solver!r} does not use it")

    def _set_graph(
        self, X: Any, labeled: NDArray[np.intp], graph: Any
    ) -> LaplacianPower | None:
        """Build or check the graph, store it and its energy, and make the penalty."""
        self.graph_, self.energy_ = None, 1.0
        if self.graph_alpha == 0:
            return None
        if graph is None:
            graph = build_graph(
                X,
                precomputed=self.kernel_.is_precomputed,
                n_neighbors=self.n_neighbors,
                n_jobs=self.n_jobs,
                device=backend_for(self),
                **self._build,
            )
        elif np.shape(graph) != (X.shape[0], X.shape[0]):
            raise ValueError(
                f"graph must hold one weight per pair of the {X.shape[0]} rows of X, "
                f"got shape {np.shape(graph)}."
            )
        graph = sparse.csr_array(graph, dtype=np.float64)
        warn_unreached(graph, labeled, estimator=self)
        laplacian = laplacian_power(
            graph_laplacian(graph, self._kind["laplacian"]),
            self._kind["laplacian_power"],
        )
        self.graph_ = graph
        if self.scaling == "scale-free":
            self.energy_ = usual_energy(
                X,
                laplacian,
                graph,
                self._kind["laplacian"],
                precomputed=self.kernel_.is_precomputed,
            )
        return laplacian

    def _weights(self, n_samples: int, n_labeled: int) -> tuple[float, float]:
        """Weights of the equivalent problem with summed losses."""
        if self.scaling == "paper":
            return self.alpha, self.graph_alpha
        return (
            n_labeled * self.alpha,
            n_labeled * self.graph_alpha / (n_samples * self.energy_),
        )

    def _choose_solver(
        self, task: "LaplacianTask", options: dict[str, Any]
    ) -> tuple[str, str, LowRankFactor | None]:
        """Choose the solver by the decay of the pivots of the kernel."""
        if self.solver != "auto":
            return self.solver, "as asked for", None
        limit = options.get("n_components") or AUTO_RANK
        problem = task.precise_problem
        found = factored(
            problem.gram, rank_tol=options.get("rank_tol"), n_components=limit
        )
        rank = found.pivots.size
        why = f"{rank} pivots leave {found.residual:.2g} of the trace of the kernel"
        if found.converged or rank < limit:
            return "low_rank", f"low rank: {why}", LowRankFactor(problem, found)
        return "pcg", f"no low rank: {why}", None

    def _solve(
        self,
        X: Any,
        labeled: NDArray[np.intp],
        targets: NDArray[Any],
        graph: Any,
        validation: Validation | None,
    ) -> LaplacianSolution:
        """Build kernel and graph, call one solver, and set the common attributes."""
        if is_precomputed(self.kernel):
            check_square_kernel(X)
        options = self._options()
        self._build, self._kind = split_graph_params(
            self.graph_params, precomputed=is_precomputed(self.kernel)
        )
        self._warn_about_ignored(graph, validation is not None)
        self.kernel_: Kernel = resolve_kernel(
            X,
            self.kernel,
            gamma=usual_gamma(self.kernel, self.gamma),
            kernel_params=self.kernel_params,
            check_input=False,
        )
        laplacian = self._set_graph(X, labeled, graph)
        task = LaplacianTask(
            X,
            self.kernel_,
            laplacian,
            labeled,
            targets,
            self._loss(),
            self.fit_intercept,
            backend_for(self),
        )
        weights = self._weights(X.shape[0], labeled.size)
        self.solver_, self.solver_reason_, factor = self._choose_solver(task, options)
        options = {
            name: value
            for name, value in options.items()
            if name in SOLVER_CONSTRAINTS[self.solver_]
        }
        if self.solver_ == "pcg":
            solution = self._solve_pcg(task, weights, validation, options)
        else:
            if validation is not None and self.solver == "auto":
                warn_ignored("X_val", f"solver={self.solver_!r} was chosen")
            if self.warm_start and task.loss != "squared_hinge":
                warn_ignored(
                    "warm_start=True", f"solver={self.solver_!r} has no use for it"
                )
            solution = self._solve_exactly(task, weights, factor, options)
        self._keep(X, solution, labeled.size)
        return solution

    def _solve_pcg(
        self,
        task: "LaplacianTask",
        weights: tuple[float, float],
        validation: Validation | None,
        options: dict[str, Any],
    ) -> LaplacianSolution:
        X = dense_rows(task.X) if self.kernel_.is_precomputed else task.X
        budget = options.pop("memory_budget", None)
        gram = gram_operator(
            X,
            self.kernel_,
            memory_budget=budget,
            n_jobs=self.n_jobs,
            check_input=False,
            device=task.backend,
        )
        return laplacian_pcg(
            task.problem(gram),
            *weights,
            max_iter=self.max_iter,
            start=self._started(task),
            validation=validation,
            **{"stopping": self._default_stopping, **options},
        )

    def _solve_exactly(
        self,
        task: "LaplacianTask",
        weights: tuple[float, float],
        factor: LowRankFactor | None,
        options: dict[str, Any],
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
                task.precise_problem, *weights, factor=factor, **{**options, **common}
            )
        X = dense_rows(task.X) if self.kernel_.is_precomputed else task.X
        gram = gram_operator(
            X,
            self.kernel_,
            representation="dense",
            check_input=False,
            device=task.backend,
        )
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
        if self._loss() == "squared":
            loo = solution.loo_outputs
            self.loo_outputs_ = None if loo is None else as_decision(loo)
            self.log_evidence_ = solution.log_evidence

    def _started(
        self, task: "LaplacianTask"
    ) -> tuple[NDArray[Any], NDArray[Any]] | None:
        """Coefficients of the last fit, if they fit the new problem."""
        shape = (task.X.shape[0], task.targets.shape[1])
        if not self.warm_start or not hasattr(self, "_fit_outputs"):
            return None
        if self._fit_outputs.shape != shape:
            return None
        coef = np.zeros(shape)
        coef[self.support_] = self.dual_coef_
        return coef, self.intercept_

    def _started_labels(self, task: "LaplacianTask") -> NDArray[Any] | None:
        """Return the outputs of the last fit on the labelled rows."""
        started = self._started(task)
        return None if started is None else self._fit_outputs[task.labeled]

    def _outputs(self, X: Any) -> NDArray[Any]:
        """Evaluate the functions at validated rows."""
        if self.kernel_.is_precomputed:
            X = X[:, self.support_]
        outputs = self.kernel_.product(
            X, self.X_fit_, self.dual_coef_, device=backend_at_hand(self)
        )
        return np.asarray(outputs) + self.intercept_

    def _validation_rows(self, X: Any, X_val: Any, y_val: Any) -> Any:
        """Check that validation rows come with labels, and validate both."""
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


class LaplacianClassifier(LaplacianEstimator, KernelClassifier):
    """Base class of the Laplacian classifiers: classes, transduction, decisions."""

    _default_stopping = "stability"

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
            Labels; -1 among integers, NaN among floats, and None or NaN among objects
            mark unlabelled rows.
        graph : {array-like, sparse matrix} or None, default=None
            Symmetric weights of shape (n_samples, n_samples); None builds a neighbour
            graph from `X`, or from the distances that a precomputed kernel implies.
        X_val : {array-like, sparse matrix} of shape (n_val, n_features), default=None
            Validation rows for the rules "validation" and "mixed" of `solver_params`;
            for a precomputed kernel their kernel with all training rows.
        y_val : array-like of shape (n_val,), default=None
            Their labels.

        Returns
        -------
        self : object
            The fitted classifier.
        """
        X, labels = validate_partially_labeled(
            self, X, y, accept_sparse="csr", dtype=FLOATS
        )
        labeled = labels.labeled
        solution = self._solve(
            X,
            labeled,
            signed_targets(labels.codes[labeled], labels.classes.size),
            graph,
            self._validation(X, labels, X_val, y_val),
        )
        self.classes_ = labels.classes
        self.labeled_indices_ = labeled
        self.transduction_ = labels.completed(
            lambda free: decide(as_decision(solution.outputs[free]), labels.classes)
        )
        return self

    def _validation(
        self, X: Any, labels: Labels, X_val: Any, y_val: Any
    ) -> Validation | None:
        """Error on validation rows, and the error of a single row."""
        X_val = self._validation_rows(X, X_val, y_val)
        if X_val is None:
            return None
        known = ~unlabeled_mask(y_val)
        self._check_val_length(X_val, known.size)
        if not known.any():
            raise ValueError("y_val has no labelled row: pass some true labels.")
        truth, rows = label_array(y_val)[known], X_val[known]
        backend = backend_for(self)

        def error(coef: NDArray[Any], b: NDArray[Any]) -> float:
            outputs = self.kernel_.product(rows, X, coef, device=backend) + b
            return float(np.mean(decide(as_decision(outputs), labels.classes) != truth))

        return error, 1.0 / truth.size

    def _decision(self, X: Any) -> NDArray[Any]:
        return as_decision(self._outputs(X))
