"""Values and policies of known processes: discounted, and with a finite horizon."""

# SPDX-License-Identifier: BSD-3-Clause

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.sparse.linalg import splu

from fewlabels._params import check_number
from fewlabels.exceptions import warn_not_converged
from fewlabels.reinforcement._mdp import MDP


class MDPSolution(NamedTuple):
    """Optimal values and a policy, with bounds on what is still missing.

    Attributes
    ----------
    values : ndarray of shape (n_states,)
        V.
    q_values : ndarray of shape (n_states, n_actions)
        Q of one more step from V.
    policy : ndarray of shape (n_states,)
        A greedy action in every state, 0 in terminal ones.
    lower, upper : ndarray of shape (n_states,)
        Bounds on the optimal values, with an allowance for rounding.
    policy_loss : float
        The policy is worth at most this much less than an optimal one in any state.
    n_iter : int
        Iterations.
    residuals : ndarray of shape (n_iter,)
        Largest change of a value in each of them.
    """

    values: NDArray[np.float64]
    q_values: NDArray[np.float64]
    policy: NDArray[np.intp]
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    policy_loss: float
    n_iter: int
    residuals: NDArray[np.float64]


def policy_evaluation(mdp: MDP, policy: ArrayLike) -> NDArray[np.float64]:
    r"""Value of a policy, by one sparse linear system.

    .. math:: V^\pi = (I - \gamma P_\pi)^{-1} R_\pi

    Parameters
    ----------
    mdp : MDP
        The process.
    policy : array-like of shape (n_states,) or (n_states, n_actions)
        One action per state, or probabilities of all of them.

    Returns
    -------
    values : ndarray of shape (n_states,)
        V.

    Examples
    --------
    >>> from fewlabels.reinforcement import MDP, policy_evaluation
    >>> mdp = MDP([[[1.0]]], [[3.0]], gamma=0.5)  # 3 for ever
    >>> policy_evaluation(mdp, [0])
    array([6.])
    """
    chain, rewards = mdp._chain(policy)
    system = sparse.eye_array(mdp.n_states) - mdp.gamma * chain
    return splu(system.tocsc()).solve(rewards)


def _solution(
    mdp: MDP, values: NDArray[np.float64], residuals: list[float], n_iter: int
) -> MDPSolution:
    """One more step from `values`, with the bounds of MacQueen that it proves."""
    q = mdp.q_values(values)
    change = q.max(axis=1) - values
    factor = mdp.gamma / (1 - mdp.gamma)
    # What rounding may add up to in the sums of a row, and in all that follows.
    terms = int(np.diff(mdp.transitions.indptr).max()) + 16
    scale = float(np.abs(values).max() + np.abs(mdp.rewards).max())
    slack = terms * np.finfo(np.float64).eps * scale / (1 - mdp.gamma)
    lower = q.max(axis=1) + factor * change.min() - slack
    upper = q.max(axis=1) + factor * change.max() + slack
    return MDPSolution(
        values=q.max(axis=1),
        q_values=q,
        policy=q.argmax(axis=1),
        lower=np.where(mdp.terminal, 0.0, lower),
        upper=np.where(mdp.terminal, 0.0, upper),
        policy_loss=float(2 * factor * np.abs(change).max()),
        n_iter=n_iter,
        residuals=np.array(residuals),
    )


def value_iteration(
    mdp: MDP,
    *,
    tol: float = 1e-6,
    max_iter: int = 100_000,
    initial: ArrayLike | None = None,
) -> MDPSolution:
    r"""Solve a process by applying Bellman's optimality operator until it converges.

    .. math:: V(s) \leftarrow \max_a \{ R(s, a) + \gamma \sum_t P(t \mid s, a) V(t) \}

    The operator is a contraction by gamma. Iterations end when the largest change is
    below :math:`\mathrm{tol} (1 - \gamma) / (2 \gamma)`: the greedy policy is then
    within `tol` of an optimal one. One iteration costs one product with the sparse
    transitions; their number grows like 1 / (1 - gamma).

    Parameters
    ----------
    mdp : MDP
        The process.
    tol : float, default=1e-6
        How much less than an optimal policy the result may be worth.
    max_iter : int, default=100_000
        Largest number of iterations; a warning is emitted when they do not suffice.
    initial : array-like of shape (n_states,), default=None
        Values to start from; zeros when None.

    Returns
    -------
    solution : MDPSolution
        Values, policy and bounds.

    See Also
    --------
    policy_iteration : Exact, a linear system per iteration.

    References
    ----------
    .. [1] M. L. Puterman, "Markov Decision Processes", 1994, chapter 6.
           :doi:`10.1002/9780470316887`

    Examples
    --------
    >>> from fewlabels.reinforcement import MDP, value_iteration
    >>> transitions = [[[0.5, 0.5], [0, 1]], [[0.2, 0.8], [0.6, 0.4]]]
    >>> mdp = MDP(transitions, [[5, 10], [-1, 2]], gamma=0.95)
    >>> solution = value_iteration(mdp)
    >>> solution.policy
    array([1, 1])
    >>> solution.policy_loss < 1e-6
    True
    """
    check_number("tol", tol, above=0)
    check_number("max_iter", max_iter, 1)
    values = np.zeros(mdp.n_states)
    if initial is not None:
        values[:] = initial
        values[mdp.terminal] = 0.0
    # gamma = 0: one iteration is exact, whatever the change.
    threshold = np.inf if mdp.gamma == 0 else tol * (1 - mdp.gamma) / (2 * mdp.gamma)
    residuals = []
    for _ in range(max_iter):
        updated = mdp.q_values(values).max(axis=1)
        residuals.append(float(np.abs(updated - values).max()))
        # The step that proves the bounds is the last one, so that it counts once.
        if residuals[-1] < threshold:
            break
        values = updated
    else:
        warn_not_converged(
            f"Value iteration did not reach tol={tol:g} in {max_iter} iterations; "
            "increase max_iter, or use policy_iteration."
        )
    return _solution(mdp, values, residuals, len(residuals))


def policy_iteration(
    mdp: MDP, *, initial: ArrayLike | None = None, max_iter: int = 1000
) -> MDPSolution:
    """Solve a process by evaluating a policy and improving it, in turns.

    The policy is evaluated by :func:`policy_evaluation`, then replaced by the greedy
    one; an action that is as good as the best one up to rounding is kept. It ends when
    nothing changes. Every iteration is an improvement, so that the number of iterations
    is finite, and small in practice.

    Parameters
    ----------
    mdp : MDP
        The process.
    initial : array-like of shape (n_states,), default=None
        Policy to start from; the greedy one for the immediate rewards when None.
    max_iter : int, default=1000
        Largest number of iterations; a warning is emitted when they do not suffice.

    Returns
    -------
    solution : MDPSolution
        Values, policy and bounds.

    See Also
    --------
    value_iteration : No linear systems.

    References
    ----------
    .. [1] R. A. Howard, "Dynamic Programming and Markov Processes", 1960.

    Examples
    --------
    >>> from fewlabels.reinforcement import MDP, policy_iteration
    >>> mdp = MDP([[[1, 0], [0, 1]], [[1, 0], [0, 1]]], [[1, 0], [0, 2]], gamma=0.9)
    >>> policy_iteration(mdp).policy
    array([1, 1])
    """
    check_number("max_iter", max_iter, 1)
    states = np.arange(mdp.n_states)
    if initial is None:
        policy = mdp.q_values(np.zeros(mdp.n_states)).argmax(axis=1)
    else:
        policy = mdp.policy_matrix(initial).argmax(axis=1)
    residuals = []
    for _ in range(max_iter):
        values = policy_evaluation(mdp, policy)
        q = mdp.q_values(values)
        gain = q.max(axis=1) - q[states, policy]
        residuals.append(float(gain.max()))
        scale = float(np.abs(values).max() + np.abs(mdp.rewards).max())
        # Rounding of a solution of the linear system, with its condition number.
        noise = 64 * np.finfo(np.float64).eps * scale / (1 - mdp.gamma)
        better = gain > noise
        if not better.any():
            break
        policy = np.where(better, q.argmax(axis=1), policy)
    else:
        warn_not_converged(f"Policy iteration did not end in {max_iter} iterations.")
    found = _solution(mdp, values, residuals, len(residuals))
    loss = residuals[-1] / (1 - mdp.gamma)
    return found._replace(values=values, policy=policy, policy_loss=loss)


def backward_induction(
    mdp: MDP, horizon: int
) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    r"""Solve the finite-horizon model: the sum of rewards at times 0, ..., horizon.

    .. math:: V_k(s) = \max_a \{ R(s, a) + \sum_t P(t \mid s, a) V_{k-1}(t) \}

    with :math:`V_{-1} = 0`; rewards are not discounted.

    Parameters
    ----------
    mdp : MDP
        The process; its discount is not used.
    horizon : int
        The last time step h >= 0 that counts.

    Returns
    -------
    values : ndarray of shape (horizon + 1, n_states)
        Row t holds the best sum of rewards at times t, ..., horizon.
    policy : ndarray of shape (horizon + 1, n_states)
        Row t holds what to do at time t: the less time is left, the less the future
        counts.

    See Also
    --------
    finite_horizon_return : The same sum for rewards that were received.

    Examples
    --------
    >>> from fewlabels.reinforcement import MDP, backward_induction
    >>> mdp = MDP([[[1, 0], [0, 1]], [[1, 0], [0, 1]]], [[1, 0], [0, 3]], gamma=0.9)
    >>> values, policy = backward_induction(mdp, horizon=2)
    >>> values[0], policy[:, 0]
    (array([6., 9.]), array([1, 1, 0]))
    """
    check_number("horizon", horizon, 0)
    values = np.zeros((horizon + 2, mdp.n_states))
    policy = np.zeros((horizon + 1, mdp.n_states), dtype=np.intp)
    for t in range(horizon, -1, -1):
        q = mdp._backup(values[t + 1], 1.0)
        values[t], policy[t] = q.max(axis=1), q.argmax(axis=1)
    return values[:-1], policy
