"""Train transductive support vector machines by the concave-convex procedure."""

# SPDX-License-Identifier: BSD-3-Clause

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.extmath import row_norms

from fewlabels._result import SolverResult
from fewlabels._svm import svm_dual

# Without a balance, the bias is a feature of this squared length, in units of the mean
# squared length of the rows: large enough that its penalty hardly matters.
BIAS_SQUARE = 10.0
# Sweeps over the coefficients that still move, between two sweeps over all of them.
INNER_SWEEPS = 50
# Largest number of sweeps in one convex step.
MAX_SWEEPS = 5000


@dataclass(frozen=True, eq=False, kw_only=True)
class TransductiveSolution(SolverResult):
    """A transductive support vector machine, the result of :func:`transductive_svm`.

    Attributes
    ----------
    coef : ndarray of shape (n_features,) or (n_samples,)
        Weights of the features, or coefficients of the training rows for a kernel.
    intercept : float
        The bias.
    outputs : ndarray of shape (n_samples,)
        Outputs at all rows.
    dual_coef : ndarray of shape (n_samples,)
        Multipliers of the losses in the last convex step.
    sides : ndarray of shape (n_samples,)
        How that step treated unlabelled rows: 1 as positive, -1 as negative, 0 as
        undecided; 0 for labelled rows.
    objective : float
        The objective.
    history : ndarray of shape (n_iter,)
        The objective after every convex step; it never rises.
    stop_reason : {"local optimum", "max_iter", "no unlabelled rows"}
        Why the procedure stopped.
    n_iter : int
        Number of convex steps.
    """

    coef: NDArray[np.float64]
    intercept: float
    outputs: NDArray[np.float64]
    dual_coef: NDArray[np.float64]
    sides: NDArray[np.intp]
    n_iter: int


def transductive_svm(
    matrix: Any,
    signs: ArrayLike,
    *,
    is_factor: bool = True,
    C: float = 1.0,
    unlabeled_weight: float = 1.0,
    balance: float | str | None = "labels",
    ramp: float = -0.3,
    start: ArrayLike | None = None,
    max_iter: int = 100,
    tol: float = 1e-4,
    random_state: Any = 0,
) -> TransductiveSolution:
    r"""Train a transductive support vector machine for two classes.

    .. math::
        \min_{w, b} \; \frac12 \|w\|^2 + C \sum_{i \le l} \max(0, 1 - y_i f_i)
        + C^* \sum_{i > l} \big( R_s(f_i) + R_s(-f_i) \big),
        \qquad R_s(z) = \min(1 - s, \max(0, 1 - z))

    with :math:`C^* = C \lambda_u l / u`, subject to
    :math:`\frac1u \sum_{i > l} f_i = 2 p - 1` for a share p of the positive class. The
    ramp loss is a difference of two hinge losses; every step of the concave-convex
    procedure replaces the second one by a tangent, solves the remaining convex problem,
    and so never increases the objective. It ends at a local optimum after finitely many
    steps.

    The constraint makes the bias a function of w: rows are centred on the mean of the
    unlabelled ones, and the dual has only bound constraints. It is solved by coordinate
    descent.

    Parameters
    ----------
    matrix : {array-like, sparse matrix} of shape (n_samples, n_features)
        Rows, or their kernel matrix.
    signs : array-like of shape (n_samples,)
        -1 and +1 for labelled rows, 0 for the others.
    is_factor : bool, default=True
        Whether `matrix` holds rows, for which no n x n matrix is needed.
    C : float, default=1.0
        Cost of errors on labelled rows.
    unlabeled_weight : float, default=1.0
        Weight :math:`\lambda_u` of all unlabelled rows relative to all labelled ones.
    balance : float, "labels" or None, default="labels"
        Share p of the positive class among the unlabelled rows, by the mean output;
        "labels" takes its share among the labels. None sets no constraint; the bias is
        then slightly regularised.
    ramp : float, default=-0.3
        The output s, above -1 and at most 0, below which the loss stops growing.
    start : array-like of shape (n_samples,), default=None
        Outputs to start from; None starts from those of the support vector machine of
        the labelled rows.
    max_iter : int, default=100
        Largest number of convex steps.
    tol : float, default=1e-4
        Largest violation of the optimality conditions of a convex step, in units of
        the margin.
    random_state : int, RandomState instance or None, default=0
        Seed of the order of coordinate updates.

    Returns
    -------
    solution : TransductiveSolution
        The model and details of the optimisation.

    Warns
    -----
    ConvergenceWarning
        If the steps end before a local optimum, or one of them before `tol`.

    References
    ----------
    .. [1] R. Collobert, F. Sinz, J. Weston, L. Bottou, "Large scale transductive SVMs",
       Journal of Machine Learning Research 7 (2006), 1687-1712.

    Examples
    --------
    >>> from fewlabels.semi_supervised import transductive_svm
    >>> X = [[0.0], [1.0], [2.0], [6.0], [7.0], [9.0]]
    >>> solution = transductive_svm(X, [-1, 0, 0, 0, 0, 1])
    >>> solution.outputs.round(2)
    array([-2. , -1.5, -1. ,  1. ,  1.5,  2.5])
    """
    y = np.asarray(signs)
    if y.ndim != 1 or y.size != np.shape(matrix)[0] or not np.isin(y, (-1, 0, 1)).all():
        raise ValueError(
            f"signs must hold -1, 0 or 1 for each of the {np.shape(matrix)[0]} rows."
        )
    if not -1 < ramp <= 0:
        raise ValueError(f"ramp={ramp} must be above -1 and at most 0.")
    labeled, free = np.flatnonzero(y), np.flatnonzero(y == 0)
    if labeled.size == 0:
        raise ValueError("signs has no labelled row: give some rows the sign -1 or 1.")
    share = float(np.mean(y[labeled] > 0)) if balance == "labels" else balance
    if not (share is None or (isinstance(share, Real) and 0 <= share <= 1)):
        raise ValueError(
            f"balance={balance!r} must be a share between 0 and 1, 'labels' or None."
        )
    problem = (_Rows if is_factor else _Gram)(matrix, free, share is None)
    if start is not None:
        f = np.asarray(start, dtype=np.float64)
        if f.shape != y.shape:
            raise ValueError(
                f"start has shape {f.shape}; give one output for each of the {y.size} "
                "rows."
            )
    else:
        model, a = problem.supervised(labeled, y, C, tol)
        f = problem.outputs_of(*model)
        if free.size == 0:  # a plain support vector machine
            value = _objective(a, f, model[1], y, C, 0.0, 0.0)
            none = np.zeros(y.size)
            return _solution(model, a, f, none, [value], "no unlabelled rows")
    offset = 0.0 if share is None else 2.0 * float(share) - 1.0
    weight = C * unlabeled_weight * labeled.size / max(free.size, 1)
    rng = check_random_state(random_state)
    a = np.zeros(y.size)
    cost = np.where(y == 0, weight, C)
    history: list[float] = []
    sides, stop_reason, exact = None, "max_iter", True
    while len(history) < max_iter:
        new = np.where(y == 0, np.where(np.abs(f) > -ramp, np.sign(f), 0), 0)
        if sides is not None and np.array_equal(new, sides):
            stop_reason = "local optimum"
            break
        sides = new
        # A labelled row is the special case with its kink at one of its bounds.
        kinks = cost * np.where(y == 0, sides, y)
        lower = np.where(y == 0, kinks - cost, np.minimum(kinks, 0.0))
        upper = np.where(y == 0, kinks + cost, np.maximum(kinks, 0.0))
        np.clip(a, lower, upper, out=a)
        f, exact = problem.descend(a, offset, kinks, lower, upper, tol, rng)
        history.append(_objective(a, f, offset, y, C, weight, ramp))
    if stop_reason == "max_iter" or not exact:
        warnings.warn(
            f"The concave-convex procedure took {len(history)} steps "
            f"({stop_reason}){'' if exact else ', the last one cut short'}: raise "
            "max_iter or tol, or scale the rows.",
            ConvergenceWarning,
            stacklevel=2,
        )
    model = problem.model(a, offset)
    return _solution(model, a, f, np.asarray(sides), history, stop_reason)


def _objective(
    a: NDArray[Any],
    f: NDArray[Any],
    offset: float,
    y: NDArray[Any],
    C: float,
    weight: float,
    ramp: float,
) -> float:
    """Evaluate the objective; ||w||^2 is the sum of a (f - offset)."""
    free, known = f[y == 0], y != 0
    hinges = np.maximum(0.0, 1.0 - y[known] * f[known]).sum()
    ramps = np.minimum(1.0 - ramp, np.maximum(0.0, 1.0 - np.abs(free)))
    ramps += np.minimum(1.0 - ramp, 1.0 + np.abs(free))
    return float(0.5 * (a @ (f - offset)) + C * hinges + weight * ramps.sum())


def _solution(
    model: tuple[NDArray[Any], float],
    a: NDArray[Any],
    f: NDArray[Any],
    sides: NDArray[Any],
    history: list[float],
    stop_reason: str,
) -> TransductiveSolution:
    coef, intercept = model
    return TransductiveSolution(
        objective=history[-1],
        history=np.array(history),
        stop_reason=stop_reason,
        coef=coef,
        intercept=intercept,
        outputs=f,
        dual_coef=a,
        sides=np.asarray(sides, dtype=np.intp),
        n_iter=len(history),
    )


class _Dual:
    """Coordinate descent on the dual of a convex step, for rows or a kernel matrix."""

    # Defined by a subclass: recompute outputs, update them in a sweep, return them.
    begin: Callable[[NDArray[Any], float], None]
    sweep: Callable[..., float]
    outputs: Callable[[], NDArray[Any]]

    def lengths(self, squares: NDArray[Any], with_bias: bool) -> NDArray[Any]:
        """Squared lengths of the rows, without rounding errors; choose the bias."""
        self.bias = BIAS_SQUARE * (squares.mean() or 1.0) if with_bias else 0.0
        # Rounding must not create a step for a row that equals the centre.
        return np.where(squares > 1e-12 * squares.max(), squares, 0)

    def descend(
        self,
        a: NDArray[Any],
        offset: float,
        kinks: NDArray[Any],
        lower: NDArray[Any],
        upper: NDArray[Any],
        tol: float,
        rng: np.random.RandomState,
    ) -> tuple[NDArray[np.float64], bool]:
        """Improve `a` in place; return the outputs, and whether `tol` is reached."""
        self.begin(a, offset)
        box, sweeps, worst = (kinks, lower, upper, a), 0, np.inf
        while sweeps < MAX_SWEEPS:
            worst = self.sweep(rng.permutation(a.size), *box)
            sweeps += 1
            if worst <= tol:
                break
            # Most coefficients stay at a bound or a kink: continue with the others.
            moving = np.flatnonzero((lower < a) & (a < upper) & (a != kinks))
            for _ in range(INNER_SWEEPS if moving.size else 0):
                sweeps += 1
                if self.sweep(rng.permutation(moving), *box) <= tol:
                    break
        self.begin(a, offset)  # without the rounding errors of many updates
        return self.outputs(), bool(worst <= tol)


class _Rows(_Dual):
    """Rows, dense or sparse, relative to the mean of the unlabelled ones."""

    def __init__(self, X: Any, free: NDArray[np.intp], with_bias: bool) -> None:
        if sparse.issparse(X) and 3 * X.nnz >= 2 * X.shape[0] * X.shape[1]:
            X = X.toarray()  # needs no more memory, and can be centred
        dense = not sparse.issparse(X)
        self.X: Any = (
            np.asarray(X, float) if dense else sparse.csr_array(X, dtype=float)
        )
        self.center = np.zeros(self.X.shape[1])
        if free.size:
            self.center = np.asarray(self.X[free].mean(axis=0)).ravel()
        rows: Any = self.X
        inside, none = self.center, np.empty(0, np.int32)
        if dense:  # sparse rows would fill up: the centre is subtracted in products
            rows, inside = np.ascontiguousarray(rows - inside), np.zeros(inside.size)
        self.matrix = (
            (rows.ravel(), none, none)
            if dense
            else (rows.data, rows.indices, rows.indptr)
        )
        self.rows, self.dense = rows, dense
        self.along = np.asarray(rows @ inside)
        squares = row_norms(rows, squared=True) - 2.0 * self.along + inside @ inside
        squares = self.lengths(squares, with_bias)
        self.constant = inside @ inside + self.bias
        self.squares = squares + self.bias

    def begin(self, a: NDArray[Any], offset: float) -> None:
        self.w = np.asarray(self.rows.T @ a)
        self.sums = np.array([a.sum(), a @ self.along])
        self.offset = offset

    def sweep(self, *order_and_box: NDArray[Any]) -> float:
        from fewlabels._loops.svm import rows_sweep

        return rows_sweep(
            *self.matrix,
            self.dense,
            self.along,
            self.constant,
            self.offset,
            self.squares,
            *order_and_box,
            self.w,
            self.sums,
        )

    def outputs(self) -> NDArray[np.float64]:
        total, along = self.sums
        f = np.asarray(self.rows @ self.w) - total * self.along
        return f - along + total * self.constant + self.offset

    def model(self, a: NDArray[Any], offset: float) -> tuple[NDArray[Any], float]:
        """Weights of the features, and the bias, for the original rows."""
        inside = 0.0 if self.dense else self.center
        coef = np.asarray(self.rows.T @ a) - a.sum() * inside
        bias = offset + a.sum() * self.bias
        return coef, float(bias - self.center @ coef)

    def supervised(
        self, labeled: NDArray[np.intp], y: NDArray[Any], C: float, tol: float
    ) -> tuple[tuple[NDArray[Any], float], NDArray[Any]]:
        """Train on the labelled rows: weights and bias, and the multipliers."""
        rows, mean = self.X[labeled], np.zeros(self.center.size)
        if self.dense:  # centre before products lose digits; sparse rows after
            mean = rows.mean(axis=0)
            rows = rows - mean
        K = rows @ rows.T
        K = K if self.dense else K.toarray()
        a, intercept = _of_labeled(K, labeled, y, C, tol)
        coef = np.asarray(rows.T @ a[labeled])
        return (coef, float(intercept - mean @ coef)), a

    def outputs_of(self, coef: NDArray[Any], intercept: float) -> NDArray[np.float64]:
        return np.asarray(self.X @ coef) + intercept


class _Gram(_Dual):
    """A kernel matrix, centred on the mean of the unlabelled rows in feature space."""

    def __init__(self, K: Any, free: NDArray[np.intp], with_bias: bool) -> None:
        self.K = np.asarray(K.toarray() if sparse.issparse(K) else K, dtype=float)
        if self.K.shape[0] != self.K.shape[1]:
            raise ValueError(f"A kernel matrix is square, got shape {self.K.shape}.")
        self.free = free
        means = self.K[:, free].mean(axis=1) if free.size else np.zeros(len(self.K))
        center = means[free].mean() if free.size else 0.0
        matrix = self.K - means - means[:, None] + center
        np.fill_diagonal(matrix, self.lengths(matrix.diagonal(), with_bias))
        self.means, self.center, self.matrix = means, center, matrix + self.bias

    def begin(self, a: NDArray[Any], offset: float) -> None:
        self.f = self.matrix @ a + offset

    def sweep(self, *order_and_box: NDArray[Any]) -> float:
        from fewlabels._loops.svm import kernel_sweep

        return kernel_sweep(self.matrix, *order_and_box, self.f)

    def outputs(self) -> NDArray[np.float64]:
        return self.f

    def model(self, a: NDArray[Any], offset: float) -> tuple[NDArray[Any], float]:
        """Coefficients of the training rows, and the bias."""
        total = a.sum()
        coef = a.copy()
        if self.free.size:
            coef[self.free] -= total / self.free.size
        bias = offset + total * self.bias
        return coef, float(bias - a @ self.means + total * self.center)

    def supervised(
        self, labeled: NDArray[np.intp], y: NDArray[Any], C: float, tol: float
    ) -> tuple[tuple[NDArray[Any], float], NDArray[Any]]:
        """Train on the labelled rows: coefficients and bias, and the multipliers."""
        K = self.K[np.ix_(labeled, labeled)]
        a, intercept = _of_labeled(K, labeled, y, C, tol)
        return (a, intercept), a

    def outputs_of(self, coef: NDArray[Any], intercept: float) -> NDArray[np.float64]:
        return self.K @ coef + intercept


def _of_labeled(
    K: NDArray[Any], labeled: NDArray[np.intp], y: NDArray[Any], C: float, tol: float
) -> tuple[NDArray[np.float64], float]:
    """Multipliers and bias of the support vector machine of the labelled rows."""
    machine = svm_dual(K, y[labeled], C, tol=tol)
    a = np.zeros(y.size)
    a[labeled] = machine.dual_coef
    return a, machine.intercept
