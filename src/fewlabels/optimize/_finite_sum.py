"""Stochastic methods for finite sums: SGD, SAG, SVRG and SAGA."""

# SPDX-License-Identifier: BSD-3-Clause

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state

from fewlabels._params import check_choice, check_number
from fewlabels.optimize._blocks import random_subsets
from fewlabels.optimize._finite_sum_problem import FiniteSumProblem
from fewlabels.optimize._optimization_result import (
    Monitor,
    OptimizationResult,
    start_point,
)


def sgd_minimize(
    problem: FiniteSumProblem,
    x0: ArrayLike | None = None,
    *,
    batch_size: int = 1,
    step: float | Callable[[NDArray[np.float64]], NDArray[np.float64]] | None = None,
    average_start: int = 0,
    sampling: str = "shuffle",
    max_iter: int = 100,
    tol: float = 1e-4,
    random_state: Any = None,
) -> OptimizationResult:
    r"""Stochastic gradient descent with mini-batches and averaged iterates.

    .. math::
        w_{k+1} = \operatorname{prox}_{a_k h_1} \Big( w_k - a_k \Big(
        \frac{1}{|S|} \sum_{i \in S} \nabla \ell_i(w_k) + \nabla h_2(w_k)
        \Big) \Big)

    with a random batch S of distinct rows; the mean of a batch has the gradient of all
    rows as its expectation. The result is the average of
    the iterates (Polyak and Ruppert), which is good without a precise step size. A step
    costs O(n_features) also for sparse rows.

    Parameters
    ----------
    problem : FiniteSumProblem
        What to minimise; the loss may have kinks.
    x0 : array-like of shape (n_features,), default=None
        Where to start; None for zero.
    batch_size : int, default=1
        Rows in a batch. All of them make this gradient descent.
    step : float or callable, default=None
        A fixed step, or a function of the numbers 1, 2, ... of the steps. None for
        :math:`a_k = \frac{1}{2 L_b} (1 + k / K)^{-1/2}` with K steps in an epoch, the
        expected smoothness :math:`L_b` of batches [2]_, between the largest curvature
        of a row and that of all rows together (for the hinge loss, the largest squared
        norm of a row).
    average_start : int, default=0
        Epochs before the average begins; it then has no memory of the start.
    sampling : {"shuffle", "independent"}, default="shuffle"
        Batches are cut from the rows, reshuffled for every epoch (rows that do not
        fill a last batch are left out of that epoch), or drawn independently of one
        another.
    max_iter : int, default=100
        Largest number of epochs.
    tol : float, default=1e-4
        Stop when the average moves by no more than this share of its norm within an
        epoch; 0 for never.
    random_state : int, RandomState instance or None, default=None
        Draws the batches.

    Returns
    -------
    result : OptimizationResult
        `x` is the average and `last` the last iterate; one record per epoch, of the
        average.

    References
    ----------
    .. [1] B. T. Polyak, A. B. Juditsky, "Acceleration of stochastic approximation by
       averaging", SIAM Journal on Control and Optimization 30 (1992).
       :doi:`10.1137/0330046`
    .. [2] R. M. Gower, N. Loizou, X. Qian, A. Sailanbayev, E. Shulgin, P. Richtárik,
       "SGD: general analysis and improved rates", International Conference on Machine
       Learning (2019).

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.optimize import FiniteSumProblem, sgd_minimize
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(500, 3))
    >>> problem = FiniteSumProblem(X, X @ [1.0, -2.0, 0.5])
    >>> result = sgd_minimize(
    ...     problem, batch_size=10, average_start=5, random_state=0
    ... )
    >>> np.round(result.x, 2)
    array([ 1. , -2. ,  0.5])
    """
    from fewlabels._loops.optimize import sgd_epoch  # compiled on first use

    n = problem.n_samples
    check_number("batch_size", batch_size, 1, n)
    check_choice("sampling", sampling, ("shuffle", "independent"))
    check_number("average_start", average_start, 0)
    rng = check_random_state(random_state)
    n_steps = n // batch_size
    schedule = _schedule(problem, step, batch_size)
    w = start_point(x0, problem.n_features)
    total, count = w.copy(), 1
    average = w.copy()
    gradient = np.empty_like(w)
    monitor = Monitor(problem, "sgd_minimize", tol, max_iter)
    done = monitor.record(w, 0.0)
    while not done:
        epoch = monitor.n_iter
        if epoch == average_start:
            total, count = w.copy(), 1
        if sampling == "shuffle":
            order = rng.permutation(n)[: n_steps * batch_size].reshape(n_steps, -1)
        else:
            order = random_subsets(rng, n, batch_size, n_steps)
        steps = schedule(epoch * n_steps + np.arange(1.0, n_steps + 1))
        sgd_epoch(
            problem.rows, order, steps, problem.l1, problem.l2, w, total, gradient
        )
        count += n_steps
        before, average = average, total / count
        moved = float(np.linalg.norm(average - before))
        done = monitor.record(
            average,
            (epoch + 1.0) * n_steps * batch_size / n,
            stationary=epoch >= average_start
            and 0 < tol
            and moved <= tol * float(np.linalg.norm(average)),
        )
    return monitor.result(average, w, ", or use another step")


def _schedule(
    problem: FiniteSumProblem, step: Any, batch_size: int
) -> Callable[[NDArray[np.float64]], NDArray[np.float64]]:
    """Turn the parameter `step` into a function of the numbers of the steps."""
    if callable(step):

        def given(k: NDArray[np.float64]) -> NDArray[np.float64]:
            lengths = np.broadcast_to(np.asarray(step(k), dtype=np.float64), k.shape)
            if not np.all(lengths > 0):
                raise ValueError("step must return positive lengths.")
            return np.ascontiguousarray(lengths)

        return given
    if step is not None:
        check_number("step", step, above=0)
        return lambda k: np.full_like(k, step)
    n, b = problem.n_samples, batch_size
    n_steps = n // b
    L = problem.row_lipschitz
    if not np.isfinite(L):
        L = float(np.max(problem.square_sums(1)))
    elif b > 1:
        L = ((n - b) * L + n * (b - 1) * problem.lipschitz) / (b * (n - 1))
    first = 0.5 / (L + float(np.max(problem.l2, initial=0.0)) or 1.0)
    return lambda k: first / np.sqrt(1 + k / n_steps)


def _fixed_step(
    problem: FiniteSumProblem, solver: str, step: float | None, share: float
) -> float:
    """Check the problem and return the step, by default a share of 1 / L."""
    problem.require_smooth(solver)
    L = problem.row_lipschitz
    if step is not None:
        check_number("step", step, above=0)
        return float(step)
    return share / L if L > 0 else 1.0


def sag_minimize(
    problem: FiniteSumProblem,
    x0: ArrayLike | None = None,
    *,
    step: float | None = None,
    max_iter: int = 1000,
    tol: float = 1e-6,
    random_state: Any = None,
) -> OptimizationResult:
    r"""Stochastic average gradient: steps along the mean of remembered gradients.

    .. math::
        G_j \leftarrow \nabla \ell_j(w), \qquad
        w \leftarrow w - a \Big( \frac1n \sum_{i=1}^n G_i + \nabla h(w) \Big)

    for a random row j. The gradient that is replaced is the stored one. For a linear
    model only the slopes of the losses are stored, one number per row. The direction is
    biased, so that the penalty may have squares only; see :func:`saga_minimize`.

    Parameters
    ----------
    problem : FiniteSumProblem
        What to minimise: a smooth loss, and no absolute values in the penalty.
    x0 : array-like of shape (n_features,), default=None
        Where to start; None for zero.
    step : float, default=None
        Length a of the steps; None for 1 / (16 L), for which convergence is proven,
        with L the largest curvature of the loss of a row. Up to 1 / L often works, and
        is faster.
    max_iter : int, default=1000
        Largest number of epochs of n_samples steps.
    tol : float, default=1e-6
        Stop when the violation of the condition of a minimiser is this share of the
        largest component of the gradient of f at zero; 0 for never.
    random_state : int, RandomState instance or None, default=None
        Draws the rows.

    Returns
    -------
    result : OptimizationResult
        The minimiser and its history, one record per epoch.

    References
    ----------
    .. [1] M. Schmidt, N. Le Roux, F. Bach, "Minimizing finite sums with the stochastic
       average gradient", Mathematical Programming 162 (2017).
       :doi:`10.1007/s10107-016-1030-6`

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.optimize import FiniteSumProblem, L2Penalty, sag_minimize
    >>> X, y = np.array([[1.0], [2.0], [-1.0]]), np.array([2.0, 4.0, -2.0])
    >>> result = sag_minimize(FiniteSumProblem(X, y), random_state=0)
    >>> np.round(result.x, 4)
    array([2.])
    """
    from fewlabels._loops.optimize import sag_epoch  # compiled on first use

    if np.any(problem.l1 > 0):
        raise ValueError(
            "sag_minimize takes penalties without absolute values: use saga_minimize."
        )
    a = _fixed_step(problem, "sag_minimize", step, 1 / 16)
    if np.any(a * problem.l2 >= 1):
        # The step for the squares must contract too.
        if step is not None:
            raise ValueError(
                f"step={step} must be below 1 / {np.max(problem.l2):.3g}, the inverse "
                "of the largest factor of squares in the penalty."
            )
        a = 0.5 / float(np.max(problem.l2))
    rng = check_random_state(random_state)
    n = problem.n_samples
    w = start_point(x0, problem.n_features)
    table = problem.slopes(w)
    mean = problem.mean_of_rows(table)
    seen = np.zeros(w.size, dtype=np.int64)
    monitor = Monitor(problem, "sag_minimize", tol, max_iter)
    done = monitor.record(w, 1.0, violation=problem.penalty.violation(w, mean))
    while not done:
        sag_epoch(
            problem.rows, rng.randint(n, size=n), a, problem.l2, w, table, mean, seen
        )
        done = monitor.record(w, monitor.n_iter + 2.0)
    return monitor.result(w, advice=", or use a step of up to 1 / L")


class Prox(NamedTuple):
    """Steps on the support of a row, as the loops take them."""

    step: float
    often: NDArray[np.float64]
    threshold: NDArray[np.float64]
    shrink: NDArray[np.float64]


class _ReducedVariance:
    """What SAGA and SVRG share: the step, and the penalty on the support of a row.

    A sparse row moves its own coordinates only. Each is touched once in `often` steps,
    and scales its part of the mean gradient, and of the penalty, by that factor.
    """

    def __init__(
        self, problem: FiniteSumProblem, solver: str, step: float | None, share: float
    ) -> None:
        a = _fixed_step(problem, solver, step, share)
        d = problem.n_features
        often = np.ones(d)
        self.unused = np.zeros(d, dtype=bool)
        if not problem.rows.dense:
            counts = np.bincount(problem.rows.indices, minlength=d)
            self.unused = (counts == 0) & (problem.l1 + problem.l2 > 0)
            often = problem.n_samples / np.maximum(counts, 1)
        threshold, shrink = a * often * problem.l1, 1 / (1 + a * often * problem.l2)
        self.prox = Prox(a, often, threshold, shrink)

    def start(self, x0: ArrayLike | None, problem: FiniteSumProblem) -> NDArray[Any]:
        w = start_point(x0, problem.n_features)
        w[self.unused] = 0.0  # no row moves these: the penalty alone sets them to zero
        return w


def saga_minimize(
    problem: FiniteSumProblem,
    x0: ArrayLike | None = None,
    *,
    step: float | None = None,
    max_iter: int = 1000,
    tol: float = 1e-6,
    random_state: Any = None,
) -> OptimizationResult:
    r"""SAGA: an unbiased direction from remembered gradients, and a proximal step.

    .. math::
        w \leftarrow \operatorname{prox}_{a h} \Big( w - a \Big( \nabla \ell_j(w)
        - G_j + \frac1n \sum_{i=1}^n G_i \Big) \Big), \qquad
        G_j \leftarrow \nabla \ell_j(w_{\text{old}})

    for a random row j. For a linear model only the slopes of the losses are stored, one
    number per row. The error shrinks linearly if F is strongly convex. For sparse rows
    a step moves the coordinates of the row only, along the mean times the inverse of
    how often they occur [2]_, which keeps the direction unbiased.

    Parameters
    ----------
    problem : FiniteSumProblem
        What to minimise: a smooth loss and any penalty.
    x0 : array-like of shape (n_features,), default=None
        Where to start; None for zero.
    step : float, default=None
        Length a of the steps; None for 1 / (3 L), with L the largest curvature of the
        loss of a row.
    max_iter : int, default=1000
        Largest number of epochs of n_samples steps.
    tol : float, default=1e-6
        Stop when the violation of the condition of a minimiser is this share of the
        largest component of the gradient of f at zero; 0 for never.
    random_state : int, RandomState instance or None, default=None
        Draws the rows.

    Returns
    -------
    result : OptimizationResult
        The minimiser and its history, one record per epoch.

    References
    ----------
    .. [1] A. Defazio, F. Bach, S. Lacoste-Julien, "SAGA: a fast incremental gradient
       method with support for non-strongly convex composite objectives", Advances in
       Neural Information Processing Systems 27 (2014).
    .. [2] F. Pedregosa, R. Leblond, S. Lacoste-Julien, "Breaking the nonsmooth barrier:
       a scalable parallel method for composite optimization", Advances in Neural
       Information Processing Systems 30 (2017).

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.optimize import FiniteSumProblem, L1Penalty, saga_minimize
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 4))
    >>> y = np.sign(X[:, 0] + 0.1 * rng.normal(size=200))
    >>> problem = FiniteSumProblem(X, y, "logistic", L1Penalty(0.05))
    >>> result = saga_minimize(problem, random_state=0)
    >>> np.flatnonzero(result.x), result.converged
    (array([0]), True)
    """
    from fewlabels._loops.optimize import saga_epoch  # compiled on first use

    parts = _ReducedVariance(problem, "saga_minimize", step, 1 / 3)
    rng = check_random_state(random_state)
    n = problem.n_samples
    w = parts.start(x0, problem)
    table = problem.slopes(w)
    mean = problem.mean_of_rows(table)
    monitor = Monitor(problem, "saga_minimize", tol, max_iter)
    done = monitor.record(w, 1.0, violation=problem.penalty.violation(w, mean))
    while not done:
        saga_epoch(problem.rows, parts.prox, rng.randint(n, size=n), w, table, mean)
        done = monitor.record(w, monitor.n_iter + 2.0)
    return monitor.result(w, advice=", or scale the features")


def svrg_minimize(
    problem: FiniteSumProblem,
    x0: ArrayLike | None = None,
    *,
    step: float | None = None,
    n_inner: int | None = None,
    option: str = "last",
    max_iter: int = 500,
    tol: float = 1e-6,
    random_state: Any = None,
) -> OptimizationResult:
    r"""SVRG: stochastic steps whose noise vanishes with the distance to a snapshot.

    Outside, a snapshot :math:`\tilde w` gets its full gradient
    :math:`\tilde g = \nabla f(\tilde w)`. Inside, from :math:`v = \tilde w`,

    .. math::
        v \leftarrow \operatorname{prox}_{a h} \big( v - a \, ( \nabla \ell_i(v)
        - \nabla \ell_i(\tilde w) + \tilde g ) \big)

    for m random rows i. The next snapshot is made of the m iterates. Sparse rows are
    treated as in :func:`saga_minimize`.

    Parameters
    ----------
    problem : FiniteSumProblem
        What to minimise: a smooth loss and any penalty.
    x0 : array-like of shape (n_features,), default=None
        Where to start; None for zero.
    step : float, default=None
        Length a of the steps; None for 0.1 / L, with L the largest curvature of the
        loss of a row.
    n_inner : int, default=None
        Number m of inner steps; None for twice the number of rows.
    option : {"last", "average", "random"}, default="last"
        The next snapshot: the last inner iterate, their mean, or one of them drawn
        uniformly (the others after it are not computed).
    max_iter : int, default=500
        Largest number of snapshots.
    tol : float, default=1e-6
        Stop when the violation of the condition of a minimiser is this share of the
        largest component of the gradient of f at zero; 0 for never.
    random_state : int, RandomState instance or None, default=None
        Draws the rows.

    Returns
    -------
    result : OptimizationResult
        The minimiser and its history, one record per snapshot.

    References
    ----------
    .. [1] R. Johnson, T. Zhang, "Accelerating stochastic gradient descent using
       predictive variance reduction", Advances in Neural Information Processing
       Systems 26 (2013).
    .. [2] L. Xiao, T. Zhang, "A proximal stochastic gradient method with progressive
       variance reduction", SIAM Journal on Optimization 24 (2014).
       :doi:`10.1137/140961791`

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.optimize import FiniteSumProblem, L2Penalty, svrg_minimize
    >>> X, y = np.array([[1.0], [2.0], [-1.0]]), np.array([2.0, 4.0, -2.0])
    >>> result = svrg_minimize(FiniteSumProblem(X, y), option="average", random_state=0)
    >>> np.round(result.x, 4)
    array([2.])
    """
    from fewlabels._loops.optimize import svrg_epoch  # compiled on first use

    check_choice("option", option, ("last", "average", "random"))
    parts = _ReducedVariance(problem, "svrg_minimize", step, 0.1)
    n = problem.n_samples
    m = 2 * n if n_inner is None else n_inner
    check_number("n_inner", m, 1)
    rng = check_random_state(random_state)
    w = parts.start(x0, problem)
    total = np.zeros_like(w)
    seen = np.zeros(w.size, dtype=np.int64)
    monitor = Monitor(problem, "svrg_minimize", tol, max_iter)
    passes = 0.0
    while True:
        table = problem.slopes(w)
        mean = problem.mean_of_rows(table)
        passes += 1.0
        if monitor.record(w, passes, violation=problem.penalty.violation(w, mean)):
            return monitor.result(w, advice=", or use a larger step")
        steps = rng.randint(m) + 1 if option == "random" else m
        svrg_epoch(
            problem.rows, parts.prox, rng.randint(n, size=steps), w, table, mean,
            option == "average", total, seen,
        )  # fmt: skip
        if option == "average":
            w = total / steps
        passes += steps / n
