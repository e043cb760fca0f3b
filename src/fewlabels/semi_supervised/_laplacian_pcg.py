"""Preconditioned conjugate gradients for manifold regularisation."""

# SPDX-License-Identifier: BSD-3-Clause

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from fewlabels._line_search import line_search
from fewlabels._words import indefinite_kernel
from fewlabels.semi_supervised._laplacian_problem import (
    LaplacianProblem,
    LaplacianSolution,
    check_alphas,
    kernel_product,
)

# Iterations after which the updated products are recomputed, against drift.
_REFRESH = 50

# Squared mixed product, relative to the first one, below which it is rounding.
_STATIONARY = 1e-30

# Share of the norm of K by which rounding may make a quadratic form negative.
_INDEFINITE = 1e-4


class State:
    """The state that stopping rules see.

    Attributes
    ----------
    iteration : int
        Number of iterations so far.
    norms : dict of ndarray
        The history of this iteration: "objective", "gradient",
        "preconditioned_gradient" and "mixed_product", each of shape (n_targets,).
    outputs : ndarray of shape (n_samples, n_targets)
        The functions on all rows.
    dual_coef : ndarray of shape (n_samples, n_targets)
        The coefficients.
    intercept : ndarray of shape (n_targets,)
        The bias.
    """

    iteration: int
    norms: dict[str, NDArray[Any]]
    outputs: NDArray[Any]
    dual_coef: NDArray[Any]
    intercept: NDArray[Any]


class NormRule:
    """Stop when a norm has fallen to a share of its first value, in all columns.

    Parameters
    ----------
    name : {"gradient", "preconditioned_gradient", "mixed_product"}
        Which norm.
    tol : float, default=1e-6
        The share.
    """

    def __init__(self, name: str, tol: float | None = None) -> None:
        self.name, self.tol = name, 1e-6 if tol is None else tol

    def begin(self, state: State) -> None:
        self.first: NDArray[Any] = state.norms[self.name]

    def __call__(self, state: State) -> bool:
        return bool(np.all(state.norms[self.name] <= self.tol * self.first))


class ObjectiveRule:
    """Stop when an iteration lowers the objective by at most a given share.

    Parameters
    ----------
    tol : float, default=1e-6
        The share.
    """

    def __init__(self, tol: float | None = None) -> None:
        self.tol = 1e-6 if tol is None else tol

    def begin(self, state: State) -> None:
        self.last = state.norms["objective"].sum()

    def __call__(self, state: State) -> bool:
        value = state.norms["objective"].sum()
        small = self.last - value <= self.tol * abs(self.last)
        self.last = value
        return bool(small)


class StabilityRule:
    """Stop when predictions for the unlabelled rows hardly change between two checks.

    As printed in the paper, a changed sign counts twice: with 1.5 % it stops when fewer
    than 0.75 % of the predictions have changed. With several classes, a changed class
    counts twice likewise. Without unlabelled rows, all rows are checked.

    Parameters
    ----------
    problem : LaplacianProblem
        The problem, which knows the unlabelled rows.
    every : int
        Iterations between two checks.
    tol : float, default=0.015
        The share eta.
    """

    def __init__(
        self, problem: LaplacianProblem, every: int, tol: float | None = None
    ) -> None:
        self.every, self.tol = every, 0.015 if tol is None else tol
        self.rows: Any = problem.unlabeled if problem.unlabeled.size else slice(None)

    def _decisions(self, state: State) -> NDArray[Any]:
        outputs = state.outputs[self.rows]
        return outputs[:, 0] > 0 if outputs.shape[1] == 1 else outputs.argmax(axis=1)

    def begin(self, state: State) -> None:
        # Without earlier predictions all count as changed, so the first check never
        # stops.
        self.last: NDArray[Any] | None = None

    def __call__(self, state: State) -> bool:
        if state.iteration % self.every:
            return False
        now, last = self._decisions(state), self.last
        self.last = now
        return last is not None and bool(2.0 * np.mean(now != last) < self.tol)


class ValidationRule:
    """Stop when the error on validation rows no longer falls between two checks.

    Parameters
    ----------
    error : callable
        Turns coefficients and bias into an error.
    step : float
        How much it must fall from one check to the next: for classification errors one
        row, 1 / n_validation.
    every : int
        Iterations between two checks.
    """

    def __init__(
        self,
        error: Callable[[NDArray[Any], NDArray[Any]], float],
        step: float,
        every: int,
    ) -> None:
        self.error, self.step, self.every = error, step, every

    def begin(self, state: State) -> None:
        self.last = np.inf

    def __call__(self, state: State) -> bool:
        if state.iteration % self.every:
            return False
        now = self.error(state.dual_coef, state.intercept)
        # Shares of rows are not exact in binary: allow for rounding.
        worse = now > self.last - self.step * (1 - 1e-9)
        self.last = now
        return bool(worse)


class MixedRule:
    """Stop when all rules are met at the same check.

    Parameters
    ----------
    rules : list of rules
        The rules.
    """

    def __init__(self, rules: list[Any]) -> None:
        self.rules = rules

    def begin(self, state: State) -> None:
        for rule in self.rules:
            rule.begin(state)

    def __call__(self, state: State) -> bool:
        return all([rule(state) for rule in self.rules])  # each sees every check


NORMS = ("gradient", "preconditioned_gradient", "mixed_product")
STOPPING = ("stability", "validation", "mixed", *NORMS, "objective")


def _make_rule(
    stopping: str,
    problem: LaplacianProblem,
    tol: float | None,
    every: int,
    validation: tuple[Callable[[NDArray[Any], NDArray[Any]], float], float] | None,
) -> Any:
    if stopping not in STOPPING:
        raise ValueError(f"stopping={stopping!r} must be one of {STOPPING}.")
    if stopping in NORMS:
        return NormRule(stopping, tol)
    if stopping == "objective":
        return ObjectiveRule(tol)
    if stopping == "stability":
        return StabilityRule(problem, every, tol)
    if validation is None:
        raise ValueError(
            f"stopping={stopping!r} needs validation rows: pass X_val and y_val to "
            "fit, or use stopping='stability'."
        )
    validate = ValidationRule(*validation, every)
    if stopping == "validation":
        return validate
    return MixedRule([StabilityRule(problem, every, tol), validate])


def laplacian_pcg(
    problem: LaplacianProblem,
    alpha: float,
    graph_alpha: float,
    *,
    stopping: str = "stability",
    tol: float | None = None,
    check_every: int | None = None,
    max_iter: int = 1000,
    start: tuple[NDArray[Any], NDArray[Any]] | None = None,
    validation: tuple[Callable[[NDArray[Any], NDArray[Any]], float], float]
    | None = None,
    callback: Callable[[Any], None] | None = None,
) -> LaplacianSolution:
    r"""Solve manifold regularisation by preconditioned conjugate gradients.

    The preconditioner is diag(1, K), which costs nothing since K is a factor of the
    gradient: an iteration takes one product with K and one with :math:`L^p`. Directions
    follow Polak and Ribiere with restarts; step lengths are exact. All columns of
    targets are solved as one block, with a common stopping rule.

    Parameters
    ----------
    problem : LaplacianProblem
        The problem, with loss "squared_hinge" or "squared".
    alpha : float
        Weight of the norm, positive.
    graph_alpha : float
        Weight of the graph term, not negative.
    stopping : str, default="stability"
        When to stop:

        - "stability": fewer than `tol` = 1.5 % of the predictions for unlabelled rows
          changed since the last check (changed signs count twice);
        - "validation": the error on validation rows has not fallen;
        - "mixed": both;
        - "gradient", "preconditioned_gradient", "mixed_product": that norm has fallen
          to `tol` = 1e-6 of its first value, :math:`\sqrt{\hat\nabla^\top \nabla}`
          being the third;
        - "objective": an iteration lowered it by no more than `tol` = 1e-6 of it.
    tol : float, default=None
        Threshold of the rule; None uses the value above.
    check_every : int, default=None
        Iterations between two checks of the first three rules; sqrt(n) / 2, rounded
        up, when None.
    max_iter : int, default=1000
        Largest number of iterations.
    start : tuple (dual_coef, intercept), default=None
        Where to start, such as the solution for other weights; zero when None.
    validation : tuple (callable, float), default=None
        Function from coefficients and bias to the error on validation rows, and how
        much the error must fall between two checks.
    callback : callable, default=None
        Called with the state after every iteration.

    Returns
    -------
    solution : LaplacianSolution
        With coefficients for all rows. `history` has "objective", "gradient",
        "preconditioned_gradient", "mixed_product" and, from the first iteration on,
        "line_search_steps".

    Warns
    -----
    ConvergenceWarning
        If `max_iter` was reached.

    References
    ----------
    .. [1] S. Melacci, M. Belkin, "Laplacian support vector machines trained in the
       primal", Journal of Machine Learning Research 12 (2011).

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.kernels import DenseGram
    >>> from fewlabels.semi_supervised import LaplacianProblem, laplacian_pcg
    >>> problem = LaplacianProblem(
    ...     DenseGram([[1.0, 0.5], [0.5, 1.0]]), None, [0, 1], [[1.0], [-1.0]]
    ... )
    >>> solution = laplacian_pcg(problem, 0.1, 0.0, stopping="gradient")
    >>> solution.outputs[:, 0].round(3)
    array([ 0.833, -0.833])
    """
    check_alphas(alpha, graph_alpha)
    if problem.loss == "hinge":
        raise ValueError("loss='hinge' is not smooth: use laplacian_dense.")
    n, k = problem.n_samples, problem.targets.shape[1]
    every = int(np.ceil(np.sqrt(n) / 2)) if check_every is None else check_every
    rule = _make_rule(stopping, problem, tol, every, validation)
    descent = _Descent(problem, alpha, graph_alpha, start)
    state = descent.state
    rule.begin(state)
    record: dict[str, list[NDArray[Any]]] = {x: [v] for x, v in state.norms.items()}
    record["line_search_steps"] = []
    first = state.norms["mixed_product"] ** 2
    reason = "max_iter"
    if not first.any():
        reason = "stationary at the start"
    while reason == "max_iter" and state.iteration < max_iter:
        record["line_search_steps"].append(descent.step())
        for name, values in state.norms.items():
            record[name].append(values)
        if callback is not None:
            callback(state)
        if rule(state):
            reason = stopping
        elif np.all(state.norms["mixed_product"] ** 2 <= _STATIONARY * first):
            reason = "stationary"
    if reason == "max_iter":
        warnings.warn(
            f"Conjugate gradients made max_iter={max_iter} iterations without meeting "
            f"stopping={stopping!r}: raise max_iter, loosen tol, or use "
            "solver='low_rank' where the kernel is smooth.",
            ConvergenceWarning,
            stacklevel=2,
        )
    descent.refresh()
    return LaplacianSolution(
        dual_coef=state.dual_coef,
        support=np.arange(n),
        intercept=state.intercept,
        outputs=state.outputs,
        objective=descent.objective(),
        n_iter=state.iteration,
        converged=reason != "max_iter",
        stop_reason=reason,
        history={
            name: np.array(lines).reshape(-1, k) for name, lines in record.items()
        },
    )


class _Descent:
    """The iteration: point, direction, and their products with K and L^p.

    Letters as in the paper: z = (b, alpha), d its direction, f = K alpha + b.
    """

    def __init__(
        self,
        problem: LaplacianProblem,
        alpha: float,
        graph_alpha: float,
        start: tuple[NDArray[Any], NDArray[Any]] | None,
    ) -> None:
        self.problem = problem
        self.alpha, self.graph_alpha = alpha, graph_alpha
        self.labeled, self.Y = problem.labeled, problem.targets
        n, k = problem.n_samples, self.Y.shape[1]
        state = self.state = State()
        state.iteration = 0
        state.dual_coef, state.intercept = np.zeros((n, k)), np.zeros(k)
        state.outputs = np.zeros((n, k))
        self.Ka, self.Lf = np.zeros((n, k)), np.zeros((n, k))
        self.stretch = 0.0
        if start is not None:
            coef, bias = start
            if coef.shape != (n, k) or bias.shape != (k,):
                raise ValueError(
                    f"start must have shapes {(n, k)} and {(k,)}, got {coef.shape} "
                    f"and {bias.shape}."
                )
            state.dual_coef = coef.astype(np.float64)
            if problem.fit_intercept:
                state.intercept = bias.astype(np.float64)
            self.refresh()
        self._gradient()
        self.d, self.d_b = -self.g_hat, -self.g_b
        self.Kd = -self.Kg

    def refresh(self) -> None:
        """Recompute the products that iterations update."""
        state = self.state
        self.Ka = kernel_product(self.problem.gram, state.dual_coef)
        state.outputs = self.Ka + state.intercept
        self.Lf = self.problem.smoothed(state.outputs)

    def objective(self) -> NDArray[Any]:
        state = self.state
        return 0.5 * (
            self.problem.losses(state.outputs)
            + self.alpha * np.sum(state.dual_coef * self.Ka, axis=0)
            + self.graph_alpha * np.sum(state.outputs * self.Lf, axis=0)
        )

    def _gradient(self) -> None:
        """Preconditioned gradient, gradient and their norms at the current point."""
        state, f = self.state, self.state.outputs[self.labeled]
        residual = f - self.Y
        if self.problem.loss == "squared_hinge":
            residual[self.Y * f >= 1.0] = 0.0
        self.g_hat = self.alpha * state.dual_coef + self.graph_alpha * self.Lf
        self.g_hat[self.labeled] += residual
        self.g_b = np.zeros(self.Y.shape[1])
        if self.problem.fit_intercept:
            self.g_b = residual.sum(axis=0) + self.graph_alpha * self.Lf.sum(axis=0)
        self.Kg = kernel_product(self.problem.gram, self.g_hat)
        product = np.sum(self.g_hat * self.Kg, axis=0)
        squares = np.sum(self.g_hat**2, axis=0)
        stretch = np.sqrt(np.sum(self.Kg**2, axis=0) / np.maximum(squares, 1e-300))
        self.stretch = max(self.stretch, float(stretch.max()))  # below the norm of K
        if np.any(product < -_INDEFINITE * self.stretch * squares):
            found = ", so the objective may have no minimum"
            raise ValueError(indefinite_kernel(found))
        self.product = np.maximum(product, 0.0) + self.g_b**2
        state.norms = {
            "objective": self.objective(),
            "gradient": np.sqrt(np.sum(self.Kg**2, axis=0) + self.g_b**2),
            "preconditioned_gradient": np.sqrt(squares + self.g_b**2),
            "mixed_product": np.sqrt(self.product),
        }

    def step(self) -> NDArray[np.intp]:
        """Make one iteration; return how many intervals the line search visited."""
        problem, state = self.problem, self.state
        f_d = self.Kd + self.d_b
        Lf_d = problem.smoothed(f_d)
        slope = self.alpha * np.sum(state.dual_coef * self.Kd, axis=0)
        slope += self.graph_alpha * np.sum(state.outputs * Lf_d, axis=0)
        curvature = self.alpha * np.sum(self.d * self.Kd, axis=0)
        curvature += self.graph_alpha * np.sum(f_d * Lf_d, axis=0)
        f, v = state.outputs[self.labeled], f_d[self.labeled]
        hinge = problem.loss == "squared_hinge"
        if hinge:
            margins, v = 1.0 - self.Y * f, self.Y * v
        else:
            margins = self.Y - f
        s, n_intervals = line_search(
            margins, v, slope, np.maximum(curvature, 0.0), hinge=hinge
        )
        state.dual_coef = state.dual_coef + s * self.d
        state.intercept = state.intercept + s * self.d_b
        state.iteration += 1
        if state.iteration % _REFRESH:
            self.Ka += s * self.Kd
            self.Lf += s * Lf_d
            state.outputs = self.Ka + state.intercept
        else:
            self.refresh()
        last, last_product = (self.g_hat, self.g_b), self.product
        self._gradient()
        change = np.sum(self.Kg * (self.g_hat - last[0]), axis=0)
        change += self.g_b * (self.g_b - last[1])
        rho = np.zeros_like(change)
        np.divide(change, last_product, out=rho, where=last_product > 0)
        # A step of zero means that the direction is exhausted: restart.
        rho = np.where(s > 0, np.maximum(rho, 0.0), 0.0)
        self.d = rho * self.d - self.g_hat
        self.d_b = rho * self.d_b - self.g_b
        self.Kd = rho * self.Kd - self.Kg
        return n_intervals
