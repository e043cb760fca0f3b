"""Coordinate descent: one variable, one block, or several blocks at a time."""

# SPDX-License-Identifier: BSD-3-Clause

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state

from fewlabels._params import check_choice, check_number
from fewlabels.optimize._blocks import BlockPartition, random_subsets
from fewlabels.optimize._optimization_result import (
    Monitor,
    OptimizationResult,
    start_point,
)
from fewlabels.optimize._problems import CoordinateProblem, by_lines

# Passes over the working set between two passes over all variables, with the columns
# of the matrix.
_INNER_PASSES = 50

# If f is quadratic and the working set has at most _GRAM variables, only a few of them
# are made, followed by passes with the products of the columns, which do not depend on
# the number of rows.
_GRAM, _BEFORE_GRAM, _GRAM_PASSES = 1000, 10, 1000

# A pass that sees only small violations may leave larger ones behind. Where it does,
# the number of passes grows by this factor before the next look.
_PATIENCE = 1.1


class Point(NamedTuple):
    """The point theta^2 u + z of accelerated steps, with the states of z and of u."""

    z: NDArray[np.float64]
    u: NDArray[np.float64]
    state_z: NDArray[np.float64]
    state_u: NDArray[np.float64]


def coordinate_descent(
    problem: CoordinateProblem,
    x0: ArrayLike | None = None,
    *,
    selection: str = "cyclic",
    working_set: bool | None = None,
    max_iter: int = 1000,
    tol: float = 1e-6,
    random_state: Any = None,
) -> OptimizationResult:
    r"""Minimise along one variable after the other.

    .. math::
        w_j \leftarrow \operatorname{prox}_{h_j / L_j}
        \big( w_j - \tfrac{1}{L_j} \partial_j f(w) \big)

    with the curvature :math:`L_j` of f along variable j. For squared losses and
    quadratic problems this is the exact minimum along the variable; without a penalty
    a cyclic pass is one sweep of Gauss and Seidel.

    Parameters
    ----------
    problem : FiniteSumProblem or QuadraticProblem
        What to minimise: a smooth loss and any penalty.
    x0 : array-like of shape (n_features,), default=None
        Where to start; None for zero.
    selection : {"cyclic", "permutation", "random"}, default="cyclic"
        The order of a pass: as they come, reshuffled, or drawn with replacement.
    working_set : bool, default=None
        Whether several passes over the variables that are not zero lie between two
        passes over all of them. None for yes if the penalty has absolute values.
    max_iter : int, default=1000
        Largest number of passes over all variables.
    tol : float, default=1e-6
        Stop when the violation of the condition of a minimiser is this share of the
        largest component of the gradient of f at zero; 0 for never.
    random_state : int, RandomState instance or None, default=None
        Draws the order.

    Returns
    -------
    result : OptimizationResult
        The minimiser and its history, one record per pass over all variables. The
        violation that is recorded is the largest one met during the pass; before the
        end it is computed.

    See Also
    --------
    block_coordinate_descent : Blocks of variables, and other probabilities.

    References
    ----------
    .. [1] S. J. Wright, "Coordinate descent algorithms", Mathematical Programming 151
       (2015). :doi:`10.1007/s10107-015-0892-3`

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.optimize import FiniteSumProblem, L1Penalty, coordinate_descent
    >>> X = np.array([[1.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, -1.0]])
    >>> y = np.array([2.0, 2.0, 0.0, 2.0])
    >>> problem = FiniteSumProblem(X, y, "squared", L1Penalty(0.3))
    >>> np.round(coordinate_descent(problem).x, 6)
    array([1.6, 0. ])
    """
    partition = BlockPartition.of_size(problem.n_features)
    if working_set is None:
        working_set = bool(np.any(problem.l1 > 0))
    return _descend(
        problem, x0, partition, "coordinate_descent", selection, 0.0, max_iter, tol,
        random_state, working_set=working_set,
    )  # fmt: skip


def block_coordinate_descent(
    problem: CoordinateProblem,
    partition: BlockPartition | None = None,
    x0: ArrayLike | None = None,
    *,
    selection: str = "random",
    exponent: float = 0.0,
    accelerated: bool = False,
    max_iter: int = 1000,
    tol: float = 1e-6,
    random_state: Any = None,
) -> OptimizationResult:
    r"""Randomised block coordinate descent (RCDM), and its accelerated form (ACDM).

    .. math::
        x \leftarrow x - \frac{1}{L_i} U_i U_i^\top \nabla f(x)

    for a random block i, with the Lipschitz constant :math:`L_i` of the gradient within
    the block, followed by the proximal map of the penalty. f may couple the blocks in
    any way; only the penalty must be a sum over them.

    Parameters
    ----------
    problem : FiniteSumProblem or QuadraticProblem
        What to minimise: a smooth loss and any penalty.
    partition : BlockPartition, default=None
        The blocks; None for single variables.
    x0 : array-like of shape (n_features,), default=None
        Where to start; None for zero.
    selection : {"random", "permutation", "cyclic"}, default="random"
        The order of a pass: drawn with replacement, reshuffled, or as they come.
    exponent : float, default=0.0
        Random blocks are drawn with probabilities proportional to
        :math:`L_i^{\text{exponent}}`: 0 for uniform ones, 1 for those with which the
        bound on the error is smallest.
    accelerated : bool, default=False
        Whether to use momentum: the error then falls as :math:`1 / k^2` instead of
        1 / k. This is :func:`approx_coordinate_descent` with one block at a time, for
        uniform random blocks.
    max_iter : int, default=1000
        Largest number of passes of n_blocks steps.
    tol : float, default=1e-6
        Stop when the violation of the condition of a minimiser is this share of the
        largest component of the gradient of f at zero; 0 for never.
    random_state : int, RandomState instance or None, default=None
        Draws the blocks.

    Returns
    -------
    result : OptimizationResult
        The minimiser and its history, one record per pass.

    References
    ----------
    .. [1] Y. Nesterov, "Efficiency of coordinate descent methods on huge-scale
       optimization problems", SIAM Journal on Optimization 22 (2012).
       :doi:`10.1137/100802001`

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.optimize import BlockPartition, QuadraticProblem
    >>> from fewlabels.optimize import block_coordinate_descent
    >>> problem = QuadraticProblem(np.eye(4) + 0.1, np.ones(4))
    >>> pairs = BlockPartition.of_size(4, 2)
    >>> result = block_coordinate_descent(problem, pairs, random_state=0)
    >>> np.round(result.x, 4)
    array([0.7143, 0.7143, 0.7143, 0.7143])
    """
    partition = _check_partition(problem, partition)
    if accelerated:
        if selection != "random" or exponent != 0:
            raise ValueError(
                "accelerated=True draws blocks uniformly: leave selection='random' and "
                "exponent=0."
            )
        return approx_coordinate_descent(
            problem, partition, x0, n_together=1, max_iter=max_iter, tol=tol,
            random_state=random_state,
        )  # fmt: skip
    return _descend(
        problem, x0, partition, "block_coordinate_descent", selection, exponent,
        max_iter, tol, random_state,
    )  # fmt: skip


def _check_partition(
    problem: CoordinateProblem, partition: BlockPartition | None
) -> BlockPartition:
    if partition is None:
        return BlockPartition.of_size(problem.n_features)
    if partition.labels.size != problem.n_features:
        raise ValueError(
            f"partition has {partition.labels.size} variables, but the problem has "
            f"{problem.n_features}."
        )
    return partition


def _descend(
    problem: CoordinateProblem,
    x0: ArrayLike | None,
    partition: BlockPartition,
    solver: str,
    selection: str,
    exponent: float,
    max_iter: int,
    tol: float,
    random_state: Any,
    *,
    working_set: bool = False,
) -> OptimizationResult:
    # Compiled on first use.
    from fewlabels._loops.optimize import QUADRATIC, coordinate_epoch

    check_choice("selection", selection, ("cyclic", "permutation", "random"))
    problem.require_smooth(solver)
    if exponent != 0 and selection != "random":
        raise ValueError(f"exponent={exponent} is for selection='random' only.")
    rng = check_random_state(random_state)
    lipschitz = problem.block_lipschitz(partition)
    probabilities = None
    if exponent != 0:
        probabilities = (lipschitz / np.max(lipschitz)) ** exponent
        probabilities /= probabilities.sum()
    n_blocks = len(partition)
    w = start_point(x0, problem.n_features)
    state = problem.state(w)
    buffer = np.empty(partition.largest)
    monitor = Monitor(problem, solver, tol, max_iter)

    def in_order(blocks: NDArray[Any], p: NDArray[Any] | None = None) -> NDArray[Any]:
        if selection == "permutation":
            return rng.permutation(blocks)
        if selection == "random":
            return rng.choice(blocks, size=blocks.size, p=p)
        return blocks

    def visit(blocks: NDArray[Any]) -> float:
        return coordinate_epoch(
            problem.columns, partition.members, partition.starts, blocks, lipschitz,
            problem.l1, problem.l2, w, state, buffer,
        )  # fmt: skip

    def visit_products(active: NDArray[Any], enough: float) -> float:
        hessian, gradient = problem.restricted(active, state)
        smooth, part = by_lines(QUADRATIC, hessian, gradient, 1.0), w[active]
        L, l1, l2 = lipschitz[active], problem.l1[active], problem.l2[active]
        numbers = np.arange(active.size + 1)
        members = numbers[:-1]
        work = state.size * hessian.size
        for _ in range(_GRAM_PASSES):
            work += hessian.size
            violation = coordinate_epoch(
                smooth, members, numbers, in_order(members), L, l1, l2, part,
                gradient, buffer,
            )  # fmt: skip
            if violation <= enough:
                break
        state[:] += problem.transposed[active].T @ (part - w[active])
        w[active] = part
        return work / problem.columns.data.size

    def visit_active(enough: float) -> float:
        active = np.flatnonzero(w)
        products = problem.is_quadratic and active.size <= _GRAM
        n_passes = _BEFORE_GRAM if products else _INNER_PASSES
        for done in range(1, n_passes + 1):
            if visit(in_order(active)) <= enough:
                return done * active.size / n_blocks
        more = visit_products(active, enough) if products else 0.0
        return n_passes * active.size / n_blocks + more

    passes, next_look = 0.0, 0.0
    done = monitor.record(w, passes)
    while not done:
        violation = visit(in_order(np.arange(n_blocks), probabilities))
        passes += 1.0
        n_iter = monitor.n_iter + 1
        exact = n_iter >= max_iter or (
            violation <= monitor.target and n_iter >= next_look
        )
        if exact:
            # The state that the loop updates has accumulated rounding errors.
            state[:] = problem.state(w)
            violation = problem.penalty.violation(w, problem.gradient_at(state))
            next_look = _PATIENCE * n_iter
        value = problem.value_at(w, state)
        done = monitor.record(w, passes, value=value, violation=violation, exact=exact)
        if working_set and not done:
            passes += visit_active(0.1 * violation)
    return monitor.result(w)


def approx_coordinate_descent(
    problem: CoordinateProblem,
    partition: BlockPartition | None = None,
    x0: ArrayLike | None = None,
    *,
    n_together: int = 1,
    max_iter: int = 1000,
    tol: float = 1e-6,
    random_state: Any = None,
) -> OptimizationResult:
    r"""APPROX: accelerated, parallel and proximal coordinate descent.

    For :math:`F(x) = f(x) + \sum_i h_i(x^{(i)})` with n blocks, a step draws
    :math:`\tau` of them uniformly, and for each of these, with
    :math:`c_i = n \theta_k v_i / \tau`,

    .. math::
        z_i^+ = \operatorname{prox}_{h_i / c_i} \big( z_i
        - \tfrac{1}{c_i} \nabla_i f(\theta_k^2 u + z) \big), \qquad
        u_i^+ = u_i - \frac{1 - \frac{n}{\tau} \theta_k}{\theta_k^2} (z_i^+ - z_i)

    Then :math:`\theta_{k+1} = \tfrac12 \big( \sqrt{\theta_k^4 + 4 \theta_k^2}
    - \theta_k^2 \big)`, from :math:`\theta_0 = \tau / n`. The iterate is
    :math:`x = \theta_k^2 u + z`, and :math:`E F(x_k) - F^*` falls as
    :math:`1 / k^2`. The weights v bound the curvature where :math:`\tau` blocks change
    together; they are small where rows touch few blocks. With all blocks in every step
    this is the accelerated proximal gradient method in the metric of v.

    Parameters
    ----------
    problem : FiniteSumProblem or QuadraticProblem
        What to minimise: a smooth loss and any penalty.
    partition : BlockPartition, default=None
        The blocks; None for single variables.
    x0 : array-like of shape (n_features,), default=None
        Where to start; None for zero.
    n_together : int, default=1
        Number :math:`\tau` of blocks in a step.
    max_iter : int, default=1000
        Largest number of passes, of about :math:`n / \tau` steps each.
    tol : float, default=1e-6
        Stop when the violation of the condition of a minimiser is this share of the
        largest component of the gradient of f at zero; 0 for never.
    random_state : int, RandomState instance or None, default=None
        Draws the blocks.

    Returns
    -------
    result : OptimizationResult
        The minimiser and its history, one record per pass.

    References
    ----------
    .. [1] O. Fercoq, P. Richtárik, "Accelerated, parallel, and proximal coordinate
       descent", SIAM Journal on Optimization 25 (2015). :doi:`10.1137/130949993`

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.optimize import QuadraticProblem, approx_coordinate_descent
    >>> problem = QuadraticProblem(np.eye(4) + 0.1, np.ones(4))
    >>> result = approx_coordinate_descent(problem, n_together=2, random_state=0)
    >>> np.round(result.x, 4)
    array([0.7143, 0.7143, 0.7143, 0.7143])
    """
    from fewlabels._loops.optimize import approx_epoch  # compiled on first use

    partition = _check_partition(problem, partition)
    problem.require_smooth("approx_coordinate_descent")
    n_blocks = len(partition)
    check_number("n_together", n_together, 1, n_blocks)
    rng = check_random_state(random_state)
    weights = problem.overapproximation(partition, n_together)
    n_steps = max(1, n_blocks // n_together)
    z = start_point(x0, problem.n_features)
    u = np.zeros_like(z)
    x = z.copy()
    buffer = np.empty(partition.largest * n_together)
    theta = n_together / n_blocks
    zero = problem.state(np.zeros_like(z))
    by_variable = weights[partition.labels]
    monitor = Monitor(problem, "approx_coordinate_descent", tol, max_iter)
    done = monitor.record(x, 0.0)
    while not done:
        # Products afresh in every pass: u grows, and rounding errors with it.
        state_z, state_u = problem.state(z), problem.state(u) - zero
        before, theta = approx_epoch(
            problem.columns, partition.members, partition.starts,
            random_subsets(rng, n_blocks, n_together, n_steps), weights, problem.l1,
            problem.l2, theta, Point(z, u, state_z, state_u), buffer,
        )  # fmt: skip
        x = before**2 * u + z
        # Variables that go to zero do so with theta only, so that they are never met
        # there: what counts is how far a proximal step would move.
        step = problem.penalty.prox(
            x - problem.gradient(x) / by_variable, 1 / by_variable
        )
        done = monitor.record(
            x,
            (monitor.n_iter + 1) * n_steps * n_together / n_blocks,
            violation=float(np.max(by_variable * np.abs(x - step))),
        )
    return monitor.result(x)
