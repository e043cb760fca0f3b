"""What the Laplacian estimators share: graph, weights, choice of solver, outputs."""

# SPDX-License-Identifier: BSD-3-Clause

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils import Tags
from sklearn.utils.validation import validate_data

from fewlabels._labels import (
    UNLABELED,
    Labels,
    decide,
    label_array,
    signed_targets,
    unlabeled_mask,
    validate_partially_labeled,
)
from fewlabels._linalg import FLOATS
from fewlabels._sklearn import Interval, StrOptions
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
from fewlabels.semi_supervised._laplacian_pcg import laplacian_pcg
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

LAPLACIAN_CONSTRAINTS: dict[str, list[Any]] = {
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
class LaplacianTask:
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


class LaplacianEstimator(BaseEstimator):
    """What the Laplacian classifiers and the regressor share."""

    # The public parameters, as the subclasses declare them.
    kernel: Any
    gamma: Any
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

    def _choose_solver(
        self, task: "LaplacianTask"
    ) -> tuple[str, str, LowRankFactor | None]:
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
            kernel_params=self.kernel_params,
        )
        laplacian = self._set_graph(X, labeled, graph)
        task = LaplacianTask(X, laplacian, labeled, targets, loss, self.fit_intercept)
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
        self,
        task: "LaplacianTask",
        weights: tuple[float, float],
        validation: Validation | None,
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
        self,
        task: "LaplacianTask",
        weights: tuple[float, float],
        factor: LowRankFactor | None,
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

    def _started(
        self, task: "LaplacianTask"
    ) -> tuple[NDArray[Any], NDArray[Any]] | None:
        """Coefficients of the last fit, if they fit the new problem."""
        shape = (task.X.shape[0], task.targets.shape[1])
        if not self.warm_start or not hasattr(self, "_fit_outputs"):
            return None
        if self._fit_outputs.shape != shape:
            return None
        alpha = np.zeros(shape)
        alpha[self.support_] = self.dual_coef_
        return alpha, self.intercept_

    def _started_labels(self, task: "LaplacianTask") -> NDArray[Any] | None:
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


class LaplacianClassifier(LaplacianEstimator, KernelClassifier):
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

    def _decision(self, X: Any) -> NDArray[Any]:
        return as_decision(self._outputs(X))
