"""Finite Markov decision processes that are known, and their average reward."""

# SPDX-License-Identifier: BSD-3-Clause

import warnings
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import splu
from sklearn.exceptions import ConvergenceWarning

from fewlabels.reinforcement._tables import Tables, make_tables, tables_from_gymnasium


class MDP:
    r"""A finite Markov decision process with known transitions and rewards.

    A state s, an action a, the probability P(t | s, a) of the next state t and the
    expected reward R(s, a). The value of a policy is the expected discounted return

    .. math:: V^\pi(s) = E_\pi \left[ \sum_{k \ge 0} \gamma^k r_k \mid s_0 = s \right].

    Parameters
    ----------
    transitions : array-like of shape (n_states, n_actions, n_states), or sparse
        Entry [s, a, t] is P(t | s, a). Sparse: a sequence with one matrix of shape
        (n_states, n_states) for each action, or one matrix of shape
        (n_states * n_actions, n_states) whose row s * n_actions + a is action a in
        state s.
    rewards : array-like of shape (n_states,), (n_states, n_actions) or like transitions
        The reward of a state, of an action in a state, or of a transition.
    gamma : float
        The discount, 0 <= gamma < 1.
    terminal : array-like, default=None
        States, or a mask of them, where an episode ends. Their value is 0, and what
        transitions and rewards say of them is not used.
    available : array-like of bool of shape (n_states, n_actions), default=None
        Which actions there are in each state; all of them when None.

    Attributes
    ----------
    transitions : csr_array of shape (n_states * n_actions, n_states)
        The probabilities; rows of terminal states and missing actions are empty.
    rewards : ndarray of shape (n_states, n_actions)
        Expected rewards R(s, a).
    gamma : float
        The discount.
    terminal : ndarray of bool of shape (n_states,)
        Where episodes end.
    available : ndarray of bool of shape (n_states, n_actions)
        Which actions there are.
    n_states, n_actions : int
        How many there are.

    See Also
    --------
    value_iteration, policy_iteration : Optimal policies.
    TabularEnv : The same process as something to interact with.

    Examples
    --------
    >>> from fewlabels.reinforcement import MDP, policy_iteration
    >>> transitions = [[[0.5, 0.5], [0, 1]], [[0.2, 0.8], [0.6, 0.4]]]
    >>> mdp = MDP(transitions, [[5, 10], [-1, 2]], gamma=0.95)
    >>> solution = policy_iteration(mdp)
    >>> solution.policy
    array([1, 1])
    >>> solution.values.round(4)
    array([103.1847,  98.0892])
    """

    def __init__(
        self,
        transitions: Any,
        rewards: Any,
        gamma: float,
        *,
        terminal: ArrayLike | None = None,
        available: ArrayLike | None = None,
    ) -> None:
        self._set(make_tables(transitions, rewards, terminal, available), gamma)

    def _set(self, tables: Tables, gamma: float) -> None:
        if not 0 <= gamma < 1:
            raise ValueError(
                f"gamma must be in [0, 1), got {gamma}; without a discount the sum of "
                "rewards may not exist. See policy_gain and backward_induction for "
                "models that need none."
            )
        self.gamma = float(gamma)
        self.transitions = tables.transitions
        self.terminal, self.available = tables.terminal, tables.available
        self.n_states = self.transitions.shape[1]
        self.n_actions = self.available.shape[1]
        weighted = self.transitions.copy()
        weighted.data = weighted.data * tables.rewards
        shape = (self.n_states, self.n_actions)
        self.rewards = np.asarray(weighted.sum(axis=1)).reshape(shape)

    @classmethod
    def _from_tables(cls, tables: Tables, gamma: float) -> Self:
        mdp = cls.__new__(cls)
        mdp._set(tables, gamma)
        return mdp

    @classmethod
    def from_gymnasium(cls, env: Any, gamma: float) -> Self:
        """Read the process from an environment of gymnasium that carries its table.

        Parameters
        ----------
        env : gymnasium.Env
            FrozenLake, CliffWalking, Taxi or another one with an attribute ``P``.
        gamma : float
            The discount.

        Returns
        -------
        mdp : MDP
            The process.
        """
        return cls._from_tables(tables_from_gymnasium(env), gamma)

    def q_values(self, values: ArrayLike) -> NDArray[np.float64]:
        r"""Values of all actions when what follows has the given values.

        .. math:: Q(s, a) = R(s, a) + \gamma \sum_t P(t \mid s, a) V(t)

        Parameters
        ----------
        values : array-like of shape (n_states,)
            V. Terminal states count as 0 whatever is given.

        Returns
        -------
        q : ndarray of shape (n_states, n_actions)
            Minus infinity for actions that are not available; 0 in terminal states.
        """
        return self._backup(np.asarray(values, dtype=np.float64), self.gamma)

    def _backup(
        self, values: NDArray[np.float64], gamma: float, *, rewarded: bool = True
    ) -> NDArray[np.float64]:
        future = self.transitions @ np.where(self.terminal, 0.0, values)
        q = gamma * future.reshape(self.rewards.shape)
        if rewarded:
            q += self.rewards
        q[~self.available] = -np.inf
        q[self.terminal] = 0.0
        return q

    def policy_matrix(self, policy: ArrayLike) -> NDArray[np.float64]:
        """Check a policy and write it as probabilities of actions.

        Parameters
        ----------
        policy : array-like of shape (n_states,) or (n_states, n_actions)
            One action per state, or probabilities of all of them.

        Returns
        -------
        probabilities : ndarray of shape (n_states, n_actions)
            Zero in terminal states.
        """
        given = np.asarray(policy)
        live = ~self.terminal
        if given.shape == (self.n_states,) and given.dtype.kind in "iu":
            chosen = np.where(live, given, 0)
            if chosen.min() < 0 or chosen.max() >= self.n_actions:
                raise ValueError(
                    f"policy names an unknown action: there are {self.n_actions}."
                )
            found = np.zeros((self.n_states, self.n_actions))
            found[np.arange(self.n_states), chosen] = 1.0
        elif given.shape == (self.n_states, self.n_actions):
            found = given.astype(np.float64)
            if not (found[live] >= 0).all() or not np.allclose(
                found[live].sum(axis=1), 1, rtol=0, atol=1e-8
            ):
                raise ValueError("policy: probabilities of a state must add up to 1.")
        else:
            raise ValueError(
                f"policy has shape {given.shape} and type {given.dtype}; expected one "
                f"integer for each of the {self.n_states} states, or probabilities of "
                f"shape {(self.n_states, self.n_actions)}."
            )
        found[~live] = 0.0
        if found[~self.available].any():
            raise ValueError("policy uses an action that is not available.")
        return found

    def _chain(self, policy: ArrayLike) -> tuple[sparse.csr_array, NDArray[np.float64]]:
        """Transitions and rewards of the Markov chain that a policy makes."""
        probabilities = self.policy_matrix(policy)
        rows = np.repeat(np.arange(self.n_states), self.n_actions)
        mix = sparse.csr_array(
            (probabilities.ravel(), (rows, np.arange(rows.size))),
            shape=(self.n_states, rows.size),
        )
        return (mix @ self.transitions).tocsr(), (probabilities * self.rewards).sum(1)


def policy_gain(mdp: MDP, policy: ArrayLike) -> NDArray[np.float64]:
    r"""Average reward of a policy in the long run, for every state to start from.

    .. math:: g(s) = \lim_{h \to \infty} \frac{1}{h}
        E_\pi \left[ \sum_{t=0}^{h-1} r_t \mid s_0 = s \right]

    It is the limit of :math:`(1 - \gamma) V_\gamma^\pi(s)` as the discount approaches
    1. States that the process returns to forever share the gain of their class, from
    the stationary distribution; the others get the mean over the classes that they end
    in.

    Parameters
    ----------
    mdp : MDP
        The process; its discount is not used. After the end of an episode rewards are
        0.
    policy : array-like of shape (n_states,) or (n_states, n_actions)
        One action per state, or probabilities of all of them.

    Returns
    -------
    gain : ndarray of shape (n_states,)
        Average rewards.

    See Also
    --------
    average_reward : The same mean for rewards that were received.
    gain_policy_iteration : A policy with the largest one.

    Examples
    --------
    >>> from fewlabels.reinforcement import MDP, policy_gain
    >>> mdp = MDP([[[0.5, 0.5]], [[1.0, 0.0]]], [[3.0], [0.0]], gamma=0.9)
    >>> policy_gain(mdp, [0, 0])
    array([2., 2.])
    """
    return _gain_and_bias(mdp, policy)[0]


def _recurrent(chain: sparse.csr_array) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    """Class of every state of a chain, and which classes are never left."""
    chain.eliminate_zeros()
    n_classes, member = connected_components(chain, connection="strong")
    source, target = chain.nonzero()
    closed = np.ones(n_classes, dtype=bool)
    closed[member[source[member[source] != member[target]]]] = False
    return member, closed


class GainSolution(NamedTuple):
    """A policy with the largest average reward, and what proves it.

    Attributes
    ----------
    gain : ndarray of shape (n_states,)
        g: the average reward of the policy in the long run, by the state to start from.
    bias : ndarray of shape (n_states,)
        h: what it is worth to start from a state, beyond the gain in every step. It is
        0 in terminal states and in the first state of every set that is never left.
    policy : ndarray of shape (n_states,)
        An action in every state, 0 in terminal ones.
    lower, upper : ndarray of shape (n_states,)
        The largest average reward lies between them, with an allowance for rounding.
    n_iter : int
        Iterations.
    """

    gain: NDArray[np.float64]
    bias: NDArray[np.float64]
    policy: NDArray[np.intp]
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    n_iter: int


def _gain_and_bias(
    mdp: MDP, policy: ArrayLike
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Solve g = P g and g + h = R + P h, with h = 0 in the first state of a class."""
    chain, rewards = mdp._chain(policy)
    member, closed = _recurrent(chain)
    gain, bias = np.zeros(mdp.n_states), np.zeros(mdp.n_states)
    inside = np.flatnonzero(closed[member] & ~mdp.terminal)
    if inside.size:
        _, first, of = np.unique(member[inside], return_index=True, return_inverse=True)
        # In every closed class h(first) = 0, and g takes its place among the unknowns.
        rest = np.ones(inside.size)
        rest[first] = 0.0
        system = sparse.eye_array(inside.size) - chain[inside][:, inside]
        system = system @ sparse.diags_array(rest) + sparse.csr_array(
            (np.ones(inside.size), (np.arange(inside.size), first[of])),
            shape=system.shape,
        )
        found = splu(system.tocsc()).solve(rewards[inside])
        gain[inside], bias[inside] = found[first][of], rest * found
    transient = np.flatnonzero(~closed[member])
    if transient.size:
        ways = chain[transient]
        system = sparse.eye_array(transient.size) - ways[:, transient]
        factor = splu(system.tocsc())
        gain[transient] = factor.solve(ways @ gain)
        own = rewards[transient] - gain[transient]
        bias[transient] = factor.solve(own + ways @ bias)
    return gain, bias


def _gain_bounds(
    mdp: MDP, gain: NDArray[np.float64], bias: NDArray[np.float64], noise: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Bounds on the largest gain of every state, from the gain and bias of a policy."""
    change = mdp._backup(bias, 1.0) - bias[:, None]
    lower = np.full(mdp.n_states, change.max(axis=1).min())
    upper = np.full(mdp.n_states, change.max(axis=1).max())
    if np.ptp(gain) > noise:
        lower = np.maximum(lower, gain)
        loss = gain[:, None] - mdp._backup(gain, 1.0, rewarded=False)
        if loss.min() >= -noise:
            # No action leads to a larger gain. Those that lead to a smaller one may
            # have a large h, which a multiple of g added to h makes up for.
            excess = change - gain[:, None]
            costly = (loss > noise) & np.isfinite(loss)
            multiple = (excess[costly] / loss[costly]).max(initial=0.0)
            excess -= multiple * np.where(costly, loss, 0.0)
            upper = np.minimum(upper, gain + max(excess.max(), 0.0))
    return lower - noise, upper + noise


def gain_policy_iteration(
    mdp: MDP, *, initial: ArrayLike | None = None, max_iter: int = 1000
) -> GainSolution:
    r"""Find a gain-optimal policy: the largest average reward in the long run.

    Howard's method without a discount. Linear systems evaluate a policy: its gain g and
    its bias h solve

    .. math:: g(s) = \sum_t P(t \mid s, \pi(s)) \, g(t), \qquad
        g(s) + h(s) = R(s, \pi(s)) + \sum_t P(t \mid s, \pi(s)) \, h(t).

    An action is replaced where another one makes the right side of the first equation
    larger; where there is none, one that makes that of the second larger without loss
    in the first. It ends with a policy that cannot be improved this way.

    Parameters
    ----------
    mdp : MDP
        The process; its discount is not used. After the end of an episode rewards are
        0.
    initial : array-like of shape (n_states,), default=None
        Policy to start from; the greedy one for the immediate rewards when None.
    max_iter : int, default=1000
        Largest number of iterations; a warning is emitted when they do not suffice.

    Returns
    -------
    solution : GainSolution
        Gain, bias, policy and bounds.

    See Also
    --------
    policy_gain : The average reward of any policy, from every state.
    policy_iteration : With a discount.

    Notes
    -----
    The process may be multichain: a policy may have several sets of states that it
    never leaves, and the largest gain may depend on the state to start from [1]_
    (chapter 9).
    Whatever h is, it lies between the smallest and the largest
    :math:`\max_a \{ R(s, a) + \sum_t P(t \mid s, a) h(t) \} - h(s)`, which is what
    `lower` and `upper` are where the gain is the same everywhere. Elsewhere `upper`
    follows from g and h by the optimality equations [1]_ (theorem 9.1.2), and `lower`
    is what the policy attains.

    As the discount approaches 1, discounted policies become gain-optimal, and
    :math:`(1 - \gamma) V_\gamma(s)` approaches g(s). With terminal states that every
    policy reaches, the gain is 0, and what is maximised is the sum of rewards until the
    end, the bias.

    References
    ----------
    .. [1] M. L. Puterman, "Markov Decision Processes", 1994, chapters 8 and 9.
           :doi:`10.1002/9780470316887`

    Examples
    --------
    >>> from fewlabels.reinforcement import MDP, gain_policy_iteration
    >>> transitions = [[[0.5, 0.5], [0, 1]], [[0.2, 0.8], [0.6, 0.4]]]
    >>> mdp = MDP(transitions, [[5, 10], [-1, 2]], gamma=0.5)
    >>> solution = gain_policy_iteration(mdp)
    >>> solution.policy, solution.gain.round(6)
    (array([1, 1]), array([5., 5.]))
    """
    if max_iter < 1:
        raise ValueError(f"max_iter must be at least 1, got {max_iter}.")
    states = np.arange(mdp.n_states)
    q = mdp._backup(np.zeros(mdp.n_states), 1.0)
    start = q if initial is None else mdp.policy_matrix(initial)
    policy = start.argmax(axis=1)
    eps = np.finfo(np.float64).eps
    n_iter, best, better = 0, q, np.zeros(mdp.n_states, dtype=bool)
    while n_iter < max_iter:
        n_iter += 1
        policy = np.where(better, best.argmax(axis=1), policy)
        gain, bias = _gain_and_bias(mdp, policy)
        q, ahead = mdp._backup(bias, 1.0), mdp._backup(gain, 1.0, rewarded=False)
        # What the current actions miss of their own equations is rounding.
        missed = max(
            float(np.abs(q[states, policy] - gain - bias).max()),
            float(np.abs(ahead[states, policy] - gain).max()),
        )
        scale = float(np.abs(bias).max() + np.abs(mdp.rewards).max())
        noise = 64 * (missed + mdp.n_states * eps * scale)
        best, current = ahead, ahead[states, policy]
        better = ahead.max(axis=1) - current > noise
        if not better.any():
            worse = ahead.max(axis=1, keepdims=True) - ahead > noise
            best, current = np.where(worse, -np.inf, q), q[states, policy]
            better = best.max(axis=1) - current > noise
        if not better.any():
            break
    else:
        warnings.warn(
            f"Policy iteration did not end in {max_iter} iterations; increase "
            "max_iter. The bounds hold.",
            ConvergenceWarning,
            stacklevel=2,
        )
    lower, upper = _gain_bounds(mdp, gain, bias, noise)
    return GainSolution(gain, bias, policy, lower, upper, n_iter)
