"""Gradient projection for sparse reconstruction: the lasso by matrix products."""

# SPDX-License-Identifier: BSD-3-Clause

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.sparse.linalg import LinearOperator, lsqr
from sklearn.utils import Tags

from fewlabels._params import check_choice, check_number
from fewlabels._sklearn import Interval, StrOptions, check_array, fit_context
from fewlabels.regression._linear_regressor import (
    PENALTY_CONSTRAINTS,
    Floats,
    LinearRegressor,
    warn_above_tol,
)

# Bounds on the length of a step, and the backtracking of the basic variant, both as in
# the authors' code.
MIN_STEP, MAX_STEP = 1e-30, 1e30
BACKTRACK, DECREASE = 0.5, 0.1
# An objective that may rise stays below its last values, by a share of the slope.
MEMORY, MARGIN = 20, 1e-4

# Below this share of non-zeros, columns are picked instead of multiplied by zero.
SPARSE_SHARE = 0.1


@dataclass(frozen=True)
class SparseSolution:
    r"""A sparse minimiser of :math:`\frac{1}{2n} \|y - A x\|^2 + \alpha \|x\|_1`.

    Attributes
    ----------
    coef : ndarray of shape (n_features,)
        The vector x; with `debias`, least squares on its non-zeros.
    objective : float
        Value of the objective, before debiasing.
    gap : float
        Bound on how much the objective could still fall, relative to the objective.
    n_iter : int
        Number of steps.
    objectives : ndarray of shape (n_iter + 1,)
        The objective before every step and at the end; with continuation or working
        sets, that of the problem at hand.
    """

    coef: Floats
    objective: float
    gap: float
    n_iter: int
    objectives: Floats


class Columns:
    """A matrix that is multiplied from both sides, and whose columns can be picked.

    Parameters
    ----------
    A : ndarray, sparse matrix or LinearOperator of shape (n_samples, n_features)
        The matrix.
    shift : ndarray of shape (n_features,), default=None
        What is taken off every row of A without touching it.
    """

    def __init__(self, A: Any, shift: Floats | None = None) -> None:
        self._A = A
        self._shift = shift
        self.shape: tuple[int, int] = A.shape
        self._picks = isinstance(A, np.ndarray) and A.flags.f_contiguous

    def times(self, x: Floats) -> Floats:
        """Return A x; costs only the non-zeros of x where columns are contiguous."""
        if self._picks:
            support = np.flatnonzero(x)
            if support.size < SPARSE_SHARE * x.size:
                return self._A[:, support] @ x[support]
        product = self._A @ x
        return product if self._shift is None else product - self._shift @ x

    def adjoint(self, r: Floats) -> Floats:
        """Return A' r."""
        if isinstance(self._A, LinearOperator):
            return self._A.rmatvec(r)
        product = self._A.T @ r
        return product if self._shift is None else product - self._shift * r.sum()

    def select(self, chosen: NDArray[np.intp]) -> "Columns":
        """Return some of the columns."""
        if isinstance(self._A, LinearOperator):
            raise ValueError(
                "working_set=True needs the columns of A, which a LinearOperator does "
                "not have: pass a matrix, or working_set=False."
            )
        shift = None if self._shift is None else self._shift[chosen]
        part = self._A[:, chosen]
        return Columns(
            part if sparse.issparse(part) else np.asfortranarray(part), shift
        )


def gpsr(
    A: Any,
    y: ArrayLike,
    alpha: float,
    *,
    variant: str = "bb",
    monotone: bool = False,
    working_set: bool = False,
    continuation: int = 0,
    debias: bool = False,
    x0: ArrayLike | None = None,
    tol: float = 1e-6,
    max_iter: int = 10_000,
) -> SparseSolution:
    r"""Minimise least squares with the sum of absolute values as the penalty.

    .. math:: \min_x \; \frac{1}{2 n} \|y - A x\|^2 + \alpha \|x\|_1

    With :math:`x = u - v` and :math:`u, v \ge 0` this is a smooth problem with bounds,
    for :math:`z = (u, v)` with the gradient :math:`(\alpha + g, \alpha - g)`, :math:`g
    = A^\top (A x - y) / n`. Steps follow the negative gradient and are projected on the
    bounds. A is needed only for products with it and its transpose, one of each per
    step.

    Parameters
    ----------
    A : {array-like, sparse matrix, LinearOperator} of shape (n_samples, n_features)
        The matrix; arrays in Fortran order are fastest.
    y : array-like of shape (n_samples,)
        The targets.
    alpha : float
        The weight :math:`\alpha > 0` of the penalty, as in
        :class:`sklearn.linear_model.Lasso`. From :math:`\|A^\top y\|_\infty / n`
        on, x is zero.
    variant : {"bb", "basic"}, default="bb"
        How long steps are: by the rule of Barzilai and Borwein, or by backtracking from
        the best step along the gradient.
    monotone : bool, default=False
        Whether the "bb" variant ends each step where the objective is least, so that it
        never rises. Otherwise it must only stay below the largest of its last 20
        values, which takes several times fewer steps where the penalty is light.
    working_set : bool, default=False
        Whether to solve the problem on some columns first and let in those that
        violate the optimality conditions, until none does. The solution is the same;
        it needs A as a matrix.
    continuation : int, default=0
        Number of larger values of alpha that are solved roughly before, each from the
        solution of the last.
    debias : bool, default=False
        Whether to replace the non-zeros by least squares on these columns at the end.
    x0 : array-like of shape (n_features,), default=None
        Where to start; None for zero.
    tol : float, default=1e-6
        Stop where the duality gap is at most this share of the objective, which is then
        no farther from the least one.
    max_iter : int, default=10000
        Largest number of steps, in total.

    Returns
    -------
    solution : SparseSolution
        The vector, the objective and its gap.

    Warns
    -----
    ConvergenceWarning
        If `max_iter` was reached.

    See Also
    --------
    GPSR : The estimator.
    sklearn.linear_model.Lasso : The same problem by coordinate descent.

    References
    ----------
    .. [1] M. A. T. Figueiredo, R. D. Nowak and S. J. Wright, "Gradient projection for
       sparse reconstruction", IEEE J. Sel. Top. Signal Process. 1 (2007).
       :doi:`10.1109/JSTSP.2007.910281`

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.regression import gpsr
    >>> A = np.random.default_rng(0).normal(size=(40, 100)) / np.sqrt(40)
    >>> x = np.zeros(100)
    >>> x[[3, 70]] = 1.0, -2.0
    >>> solution = gpsr(A, A @ x, alpha=0.00025, debias=True)
    >>> np.flatnonzero(solution.coef).tolist()
    [3, 70]
    >>> bool(np.allclose(solution.coef, x))
    True
    """
    if not isinstance(A, LinearOperator | Columns):
        A = check_array(A, accept_sparse=("csr", "csc"), dtype=np.float64)
    y = np.asarray(check_array(y, dtype=np.float64, ensure_2d=False, input_name="y"))
    check_number("alpha", alpha, above=0)
    if y.shape != (A.shape[0],):
        raise ValueError(
            f"y must hold one number per row of A; got shapes {y.shape} and {A.shape}."
        )
    x = np.zeros(A.shape[1]) if x0 is None else np.array(x0, dtype=np.float64)
    if x.shape != (A.shape[1],):
        raise ValueError(
            f"x0 must hold one number per column of A; got shapes {x.shape} and "
            f"{A.shape}."
        )
    check_choice("variant", variant, _VARIANTS)
    A = A if isinstance(A, Columns) else Columns(A)
    step = _basic_step if variant == "basic" else _bb_step(monotone)
    run = _on_working_sets if working_set else _descend
    history: list[float] = []
    tau = alpha * y.size  # the loops leave out the 1/n
    for stage in _stages(A, y, tau, continuation):
        rough = tol if stage == tau else max(tol, 1e-2)
        x, gap = run(A, y, stage, x, step, rough, max_iter, history)
    n_iter = len(history) - 1
    warn_above_tol("the relative duality gap", max_iter, gap, tol)
    if debias and x.any():
        support = np.flatnonzero(x)
        columns = _restricted(A, support)
        x = np.zeros_like(x)
        x[support] = lsqr(columns, y, atol=1e-14, btol=1e-14, iter_lim=10_000)[0]
    objectives = np.array(history) / y.size
    return SparseSolution(x, float(objectives[-1]), gap, n_iter, objectives)


def _stages(A: Columns, y: Floats, tau: float, continuation: int) -> Floats:
    """Return the values of tau in turn: the given one is the last."""
    top = float(np.abs(A.adjoint(y)).max()) if continuation else 0.0
    if top <= tau:
        return np.array([tau])
    stages = np.geomspace(top, tau, continuation + 2)[1:]
    stages[-1] = tau
    return stages


def _restricted(A: Columns, support: NDArray[np.intp]) -> LinearOperator:
    """Return some of the columns as an operator."""

    def times(x: Floats) -> Floats:
        full = np.zeros(A.shape[1])
        full[support] = x.ravel()
        return A.times(full)

    return LinearOperator(
        (A.shape[0], support.size),
        matvec=times,
        rmatvec=lambda r: A.adjoint(r)[support],
        dtype=np.float64,
    )


def duality_gap(
    residual: Floats, gradient: Floats, y: Floats, tau: float, norm: float
) -> tuple[float, float]:
    r"""Value of the objective, and the most by which it exceeds the minimum.

    The dual is :math:`\max_\theta \frac12 \|y\|^2 - \frac12 \|y - \theta\|^2` subject
    to :math:`\|A^\top \theta\|_\infty \le \tau`; the residual, shrunk until it fits, is
    a point of it.
    """
    objective = float(0.5 * residual @ residual + tau * norm)
    if objective == 0.0:
        return 0.0, 0.0
    steepest = float(np.abs(gradient).max())
    shrink = tau / steepest if steepest > tau else 1.0
    theta = -shrink * residual
    dual = float(theta @ y - 0.5 * theta @ theta)
    return objective, max(objective - dual, 0.0) / objective


@dataclass
class _State:
    """The current iterate: u and v, the residual A x - y and its gradient g.

    `values` holds the objective of (u, v) up to a constant, before every step.
    """

    A: Columns
    tau: float
    u: Floats
    v: Floats
    residual: Floats
    gradient: Floats
    step: float
    values: list[float]

    def projected(self, step: float) -> tuple[Floats, Floats]:
        """Change of u and v by a step along the negative gradient."""
        du = np.maximum(self.u - step * (self.tau + self.gradient), 0.0) - self.u
        dv = np.maximum(self.v - step * (self.tau - self.gradient), 0.0) - self.v
        return du, dv

    def slope(self, du: Floats, dv: Floats) -> float:
        """Directional derivative of the objective."""
        return float((self.tau + self.gradient) @ du + (self.tau - self.gradient) @ dv)

    def move(self, share: float, du: Floats, dv: Floats, A_d: Floats) -> None:
        """Go a share of the way and update residual and gradient."""
        self.u += share * du
        self.v += share * dv
        self.residual += share * A_d
        self.gradient = self.A.adjoint(self.residual)

    def best_step(self) -> float:
        """Best step along the gradient, without the entries that are at a bound."""
        up, down = self.tau + self.gradient, self.tau - self.gradient
        qu = np.where((self.u > 0) | (up < 0), up, 0.0)
        qv = np.where((self.v > 0) | (down < 0), down, 0.0)
        curve = self.A.times(qu - qv)
        length = float(qu @ qu + qv @ qv)
        return _clipped(length, float(curve @ curve))


def _clipped(length: float, curvature: float) -> float:
    """Return length / curvature within the bounds of a step."""
    if curvature <= length / MAX_STEP:
        return MAX_STEP if length > 0 else 1.0
    return max(length / curvature, MIN_STEP)


Step = Callable[[_State], None]


def _bb_step(monotone: bool) -> Step:
    def take(state: _State) -> None:
        du, dv = state.projected(state.step)
        A_d = state.A.times(du - dv)
        slope, curvature = state.slope(du, dv), float(A_d @ A_d)
        # The objective is a parabola along d, whose minimum is known.
        share = -slope / curvature if curvature > -slope else 1.0
        if not monotone:
            bound = max(state.values[-MEMORY:]) - state.values[-1]
            if slope + 0.5 * curvature <= bound + MARGIN * slope:
                share = 1.0
        state.values.append(
            state.values[-1] + share * slope + 0.5 * share**2 * curvature
        )
        state.move(share, du, dv, A_d)
        state.step = _clipped(float(du @ du + dv @ dv), curvature)

    return take


def _basic_step(state: _State) -> None:
    step = state.best_step()
    while True:
        du, dv = state.projected(step)
        A_d = state.A.times(du - dv)
        slope = state.slope(du, dv)
        # The objective is a parabola along d: no difference of two large numbers.
        if slope + 0.5 * float(A_d @ A_d) <= DECREASE * slope or step < MIN_STEP:
            break
        step *= BACKTRACK
    state.move(1.0, du, dv, A_d)


_VARIANTS = ("bb", "basic")


def _descend(
    A: Columns,
    y: Floats,
    tau: float,
    x: Floats,
    take_step: Step,
    tol: float,
    max_iter: int,
    history: list[float],
) -> tuple[Floats, float]:
    """Take steps until the gap is closed; the objective is added to the history."""
    residual = A.times(x) - y
    state = _State(
        A,
        tau,
        u=np.maximum(x, 0),
        v=np.maximum(-x, 0),
        residual=residual,
        gradient=A.adjoint(residual),
        step=1.0,
        values=[0.0],
    )
    state.step = state.best_step()
    fresh = True  # whether the residual was computed and not updated
    while True:
        x = state.u - state.v
        objective, gap = duality_gap(
            state.residual, state.gradient, y, tau, float(np.abs(x).sum())
        )
        if gap <= tol and not fresh:
            # Rounding errors have accumulated: the gap must hold without them.
            state.residual = A.times(x) - y
            state.gradient = A.adjoint(state.residual)
            fresh = True
            continue
        history.append(objective)
        if gap <= tol or len(history) > max_iter:
            return x, gap
        take_step(state)
        fresh = False


def _on_working_sets(
    A: Columns,
    y: Floats,
    tau: float,
    x: Floats,
    take_step: Step,
    tol: float,
    max_iter: int,
    history: list[float],
) -> tuple[Floats, float]:
    """Solve for some columns, add those that violate the conditions, and repeat."""
    residual = A.times(x) - y
    gradient = A.adjoint(residual)
    inside = x != 0
    while True:
        objective, gap = duality_gap(residual, gradient, y, tau, float(np.abs(x).sum()))
        if gap <= tol or len(history) > max_iter:
            history.append(objective)
            return x, gap
        # As many newcomers as there are non-zeros, the worst violations first.
        violation = np.where(inside, 0.0, np.abs(gradient) - tau)
        room = min(max(100, 2 * int(np.count_nonzero(x))), x.size)
        worst = np.argpartition(-violation, room - 1)[:room]
        inside[worst[violation[worst] > 0]] = True
        chosen = np.flatnonzero(inside)
        part = A.select(chosen)
        # Far from the solution, the working set is still wrong: do not polish.
        x_part, _ = _descend(
            part,
            y,
            tau,
            x[chosen],
            take_step,
            max(0.1 * gap, 0.3 * tol),
            max_iter,
            history,
        )
        x = np.zeros_like(x)
        x[chosen] = x_part
        residual = part.times(x_part) - y
        gradient = A.adjoint(residual)


class GPSR(LinearRegressor):
    r"""The lasso by gradient projection: for matrices that are only multiplied.

    .. math::
        \min_{b, b_0} \frac{1}{2 n} \|y - X b - b_0\|^2 + \alpha \|b\|_1

    over the n rows with a target. The solution is that of
    :class:`sklearn.linear_model.Lasso`, but found by products with X and its transpose
    only, so that sparse rows stay sparse even with an intercept.

    Parameters
    ----------
    alpha : float, default=1.0
        Weight of the penalty, more than 0.
    variant : {"bb", "basic"}, default="bb"
        How long steps are, see :func:`gpsr`.
    monotone : bool, default=False
        Whether the objective must never rise, for ``variant="bb"``.
    working_set : bool, default=True
        Whether to work only on the columns that matter, see :func:`gpsr`.
    continuation : int, default=0
        Number of larger weights to solve roughly before.
    debias : bool, default=False
        Whether to replace the non-zeros by least squares on these features at the end.
    fit_intercept : bool, default=True
        Whether to fit :math:`b_0`, which is not penalised.
    max_iter : int, default=10000
        Largest number of steps.
    tol : float, default=1e-6
        Largest duality gap, relative to the objective.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        The coefficients b.
    intercept_ : float
        The intercept :math:`b_0`.
    n_iter_ : int
        Number of steps.
    gap_ : float
        Bound on how much the objective could still fall, relative to the objective.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, where `X` had any.

    See Also
    --------
    gpsr : The solver, also for linear operators.

    References
    ----------
    .. [1] M. A. T. Figueiredo, R. D. Nowak and S. J. Wright, "Gradient projection for
       sparse reconstruction", IEEE J. Sel. Top. Signal Process. 1 (2007).
       :doi:`10.1109/JSTSP.2007.910281`

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.regression import GPSR
    >>> X = np.random.default_rng(0).normal(size=(40, 100))
    >>> y = 3 * X[:, 5] - 2 * X[:, 50] + 1
    >>> model = GPSR(alpha=0.1, debias=True).fit(X, y)
    >>> np.flatnonzero(model.coef_).tolist(), round(model.intercept_, 6)
    ([5, 50], 1.0)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **PENALTY_CONSTRAINTS,
        "alpha": [Interval(Real, 0, None, closed="neither")],
        "variant": [StrOptions(set(_VARIANTS))],
        "monotone": ["boolean"],
        "working_set": ["boolean"],
        "continuation": [Interval(Integral, 0, None, closed="left")],
        "debias": ["boolean"],
    }

    def __init__(
        self,
        alpha: float = 1.0,
        *,
        variant: str = "bb",
        monotone: bool = False,
        working_set: bool = True,
        continuation: int = 0,
        debias: bool = False,
        fit_intercept: bool = True,
        max_iter: int = 10_000,
        tol: float = 1e-6,
    ) -> None:
        self.alpha = alpha
        self.variant = variant
        self.monotone = monotone
        self.working_set = working_set
        self.continuation = continuation
        self.debias = debias
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.tol = tol

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: ArrayLike) -> Self:
        """Fit the coefficients.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training rows.
        y : array-like of shape (n_samples,)
            Targets; rows where it is NaN are left out.

        Returns
        -------
        self : object
            The fitted regressor.
        """
        X, targets = self._labeled(X, y, accept_sparse=("csr", "csc"))
        X_mean, y_mean, shift = np.zeros(X.shape[1]), 0.0, None
        if self.fit_intercept:
            X_mean, y_mean = np.asarray(X.mean(axis=0)).ravel(), float(targets.mean())
            if sparse.issparse(X):
                shift = X_mean
            else:
                X = np.subtract(X, X_mean, order="F")
        solution = gpsr(Columns(X, shift), targets - y_mean, **self._solver_params())
        self.n_iter_ = max(solution.n_iter, 1)
        self.gap_ = solution.gap
        self._keep(solution.coef, X_mean, y_mean)
        return self

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
