"""Agents with a table of values: Sarsa, Q-learning, double and weighted double."""

# SPDX-License-Identifier: BSD-3-Clause

from numbers import Real
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fewlabels._sklearn import Interval, StrOptions
from fewlabels.reinforcement._agent import (
    GAMMA,
    SCHEDULE,
    SEED,
    Agent,
    Mask,
    Step,
    discrete_size,
)
from fewlabels.reinforcement._environments import TabularEnv
from fewlabels.reinforcement._schedules import Schedule, as_schedule

# The codes of fewlabels._loops.reinforcement, which is loaded where it is used.
SARSA, Q_LEARNING, DOUBLE = 0, 1, 2


class Learner(NamedTuple):
    """An agent as the compiled loop takes it; the schedules are four numbers each."""

    Q: NDArray[np.float64]
    counts: NDArray[np.int64]
    rule: int
    sign: float
    gamma: float
    c: float
    alpha: Any
    epsilon: Any
    by_visits: bool


class TabularAgent(Agent):
    """Base of the agents that keep a value for every state and action."""

    _rule: ClassVar[int]
    _n_tables: ClassVar[int] = 1
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "alpha": SCHEDULE,
        "gamma": GAMMA,
        "epsilon": SCHEDULE,
        "explore_by": [StrOptions({"steps", "visits"})],
        "initial": [Interval(Real, None, None, closed="neither")],
        "objective": [StrOptions({"reward", "penalty"})],
        "random_state": SEED,
    }

    def __init__(
        self,
        *,
        alpha: float | Schedule = 0.1,
        gamma: float = 0.99,
        epsilon: float | Schedule = 0.1,
        explore_by: str = "steps",
        initial: float = 0.0,
        objective: str = "reward",
        random_state: int | None = None,
    ) -> None:
        self.alpha = alpha
        self.gamma = gamma
        self.epsilon = epsilon
        self.explore_by = explore_by
        self.initial = initial
        self.objective = objective
        self.random_state = random_state

    def _begin(self, env: Any) -> None:
        n_states = discrete_size(env.observation_space)
        if n_states is None:
            raise ValueError(
                f"The observation space {env.observation_space!r} is not Discrete from "
                "0: a table needs finitely many states. Use DQNAgent."
            )
        shape = (self._n_tables, n_states, self.n_actions_)
        self.q_tables_ = np.full(shape, float(self.initial))
        self.counts_ = np.zeros(shape, dtype=np.int64)
        self.available_ = np.ones(shape[1:], dtype=bool)
        if isinstance(env, TabularEnv):
            self.available_[:] = env.tables.available

    def _read_schedules(self) -> None:
        self._sign = 1.0 if self.objective == "reward" else -1.0
        self._alpha = as_schedule(self.alpha, "alpha").as_array()
        self._epsilon = as_schedule(self.epsilon, "epsilon").as_array()
        self._by_visits = self.explore_by == "visits"

    @property
    def q_values_(self) -> NDArray[np.float64]:
        """Value of every action in every state; the mean where there are two tables."""
        return self.q_tables_.mean(axis=0)

    @property
    def policy_(self) -> NDArray[np.intp]:
        """The first of the best actions in every state."""
        preference = np.where(self.available_, self._sign * self.q_values_, -np.inf)
        return preference.argmax(axis=1)

    def q_values(self, observation: Any) -> NDArray[np.float64]:
        """Return the values of all actions.

        Parameters
        ----------
        observation : int
            The state.

        Returns
        -------
        values : ndarray of shape (n_actions,)
            Expected returns, or penalties.
        """
        return self.q_tables_[:, int(observation)].mean(axis=0)

    def act(self, observation: Any, *, mask: Mask = None, explore: bool = True) -> int:
        """Choose an action.

        Parameters
        ----------
        observation : int
            The state.
        mask : array-like of shape (n_actions,), default=None
            Which actions are available; those known from before when None.
        explore : bool, default=True
            Whether to choose epsilon-greedily, with ties broken at random; otherwise it
            is the first of the best actions.

        Returns
        -------
        action : int
            The choice.
        """
        from fewlabels._loops.reinforcement import choose_action

        state = int(observation)
        if mask is not None:
            self.available_[state] = mask
        if not explore:
            preference = self._sign * self.q_values(state)
            return int(np.where(self.available_[state], preference, -np.inf).argmax())
        chosen = choose_action(
            self.q_tables_, self.counts_, self.available_, state, self._sign,
            self._epsilon, self._by_visits, self.n_steps_ + 1, self.rng_,
        )  # fmt: skip
        return int(chosen)

    def _take(self, step: Step) -> int | None:
        """Learn from a transition by the rule of the agent, and choose."""
        from fewlabels._loops.reinforcement import learn

        observation, action, reward, after, terminated, truncated, mask = step
        if mask is not None:
            self.available_[int(after)] = mask
        # On-policy: what is going to be done is part of the target.
        on_policy = self._rule == SARSA and not terminated
        following = self.act(after) if on_policy else -1
        learn(
            self.q_tables_, self.counts_, self.available_, int(observation),
            int(action), float(reward), int(after), following,
            bool(terminated), self._rule, self._sign, float(self.gamma), self._c(),
            self._alpha, self.rng_,
        )  # fmt: skip
        if terminated or truncated:
            return None
        return following if on_policy else self.act(after)

    def _c(self) -> float:
        return np.inf

    def _run(
        self,
        env: TabularEnv,
        carry: NDArray[np.int64],
        carry_return: NDArray[np.float64],
        step_limit: int,
        stop_total: int,
        n_episodes: int,
    ) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Go through whole episodes of a table compiled; see `run_episodes`."""
        from fewlabels._loops.reinforcement import TOTAL_STEPS, run_episodes

        returns = np.empty(n_episodes)
        lengths = np.empty(n_episodes, dtype=np.int64)
        carry[TOTAL_STEPS] = self.n_steps_
        loop: Any = run_episodes
        learner = Learner(
            self.q_tables_, self.counts_, self._rule, self._sign, float(self.gamma),
            self._c(), self._alpha, self._epsilon, self._by_visits,
        )  # fmt: skip
        done = loop(
            learner, env.loop_arguments(), carry, carry_return, step_limit, stop_total,
            returns, lengths, self.rng_, env.np_random,
        )  # fmt: skip
        self.n_steps_ = int(carry[TOTAL_STEPS])
        return returns[:done], lengths[:done]

    def _arrays(self) -> dict[str, NDArray[Any]]:
        return {
            "q_tables": self.q_tables_,
            "counts": self.counts_,
            "available": self.available_,
        }


class SarsaAgent(TabularAgent):
    r"""Sarsa: learn the values of the policy that is followed, exploration included.

    .. math:: Q(s, a) \leftarrow Q(s, a) + \alpha (r + \gamma Q(s', a') - Q(s, a))

    with :math:`a'` the action that is actually taken next. If exploration continues,
    values are those of the exploring policy, which keeps away from places where a
    random step is dangerous.

    Parameters
    ----------
    alpha : float or Schedule, default=0.1
        Step size, as a function of the number of updates of the value. With
        ``Schedule("power", 1.0, rate=0.8)`` values converge.
    gamma : float, default=0.99
        The discount, in [0, 1].
    epsilon : float or Schedule, default=0.1
        Probability of a random action.
    explore_by : {"steps", "visits"}, default="steps"
        What `epsilon` is a function of: all steps so far, or visits of the state.
    initial : float, default=0.0
        The value that everything starts with. An optimistic one makes the agent try
        all actions.
    objective : {"reward", "penalty"}, default="reward"
        Whether what the environment returns is to be maximised or minimised.
    random_state : int or None, default=None
        Seed of exploration and of the choice among equal values.

    Attributes
    ----------
    q_values_ : ndarray of shape (n_states, n_actions)
        The values.
    policy_ : ndarray of shape (n_states,)
        The first of the best actions in every state.
    q_tables_ : ndarray of shape (1, n_states, n_actions)
        The same, as the first of one table.
    counts_ : ndarray of shape (1, n_states, n_actions)
        How often each value was updated.
    n_steps_ : int
        Transitions seen.

    See Also
    --------
    QLearningAgent : Learns the values of the best policy instead.

    References
    ----------
    .. [1] G. A. Rummery and M. Niranjan, "On-line Q-learning using connectionist
           systems", technical report 166, Cambridge University, 1994.

    Examples
    --------
    >>> from fewlabels.reinforcement import GridWorld, SarsaAgent, evaluate, train
    >>> env = GridWorld("cliff")
    >>> agent = SarsaAgent(gamma=1.0, random_state=0)
    >>> history = train(agent, env, n_episodes=5000, seed=0)
    >>> evaluate(agent, env, n_episodes=1)  # a detour, away from the edge
    array([-15.])
    """

    _rule = SARSA


class QLearningAgent(TabularAgent):
    r"""Q-learning: learn the values of the best policy, whatever is followed.

    .. math::

        Q(s, a) \leftarrow Q(s, a) + \alpha \big(r + \gamma \max_b Q(s', b)
        - Q(s, a)\big)

    A terminal :math:`s'` is worth 0. With ``objective="penalty"`` the maximum becomes a
    minimum. Values converge to the optimal ones where every action is taken again and
    again in every state, :math:`\sum \alpha = \infty` and :math:`\sum \alpha^2 <
    \infty`. With noisy rewards the maximum stays too large for a long time, see
    :class:`DoubleQLearningAgent`.

    Parameters
    ----------
    alpha : float or Schedule, default=0.1
        Step size, as a function of the number of updates of the value. With
        ``Schedule("power", 1.0, rate=0.8)`` values converge.
    gamma : float, default=0.99
        The discount, in [0, 1].
    epsilon : float or Schedule, default=0.1
        Probability of a random action.
    explore_by : {"steps", "visits"}, default="steps"
        What `epsilon` is a function of: all steps so far, or visits of the state.
    initial : float, default=0.0
        The value that everything starts with. An optimistic one makes the agent try
        all actions.
    objective : {"reward", "penalty"}, default="reward"
        Whether what the environment returns is to be maximised or minimised.
    random_state : int or None, default=None
        Seed of exploration and of the choice among equal values.

    Attributes
    ----------
    q_values_ : ndarray of shape (n_states, n_actions)
        The values.
    policy_ : ndarray of shape (n_states,)
        The first of the best actions in every state.
    q_tables_ : ndarray of shape (1, n_states, n_actions)
        The same, as the first of one table.
    counts_ : ndarray of shape (1, n_states, n_actions)
        How often each value was updated.
    n_steps_ : int
        Transitions seen.

    See Also
    --------
    SarsaAgent : Learns the values of the policy that is followed.
    value_iteration : The same values where the process is known.

    References
    ----------
    .. [1] C. J. C. H. Watkins and P. Dayan, "Q-learning", Machine Learning 8, 1992.
           :doi:`10.1007/BF00992698`

    Examples
    --------
    >>> from fewlabels.reinforcement import GridWorld, QLearningAgent, train
    >>> env = GridWorld("four-rooms")
    >>> agent = QLearningAgent(alpha=0.5, random_state=0)
    >>> history = train(agent, env, n_steps=100_000, seed=0)
    >>> int(history.lengths[-100:].min())  # the shortest way
    20
    """

    _rule = Q_LEARNING


class DoubleQLearningAgent(TabularAgent):
    r"""Double Q-learning: one table chooses, the other one judges.

    A coin decides which table is updated. For A, with
    :math:`a^* = \arg\max_a Q^A(s', a)`,

    .. math::

        Q^A(s, a) \leftarrow Q^A(s, a) + \alpha (r + \gamma Q^B(s', a^*) - Q^A(s, a))

    and the same for B with the roles exchanged. Behaviour is epsilon-greedy in
    :math:`Q^A + Q^B`. Noise no longer makes values too large; it may make them too
    small. Each table sees half of the transitions.

    Parameters
    ----------
    alpha : float or Schedule, default=0.1
        Step size, as a function of the number of updates of the value. With
        ``Schedule("power", 1.0, rate=0.8)`` values converge.
    gamma : float, default=0.99
        The discount, in [0, 1].
    epsilon : float or Schedule, default=0.1
        Probability of a random action.
    explore_by : {"steps", "visits"}, default="steps"
        What `epsilon` is a function of: all steps so far, or visits of the state.
    initial : float, default=0.0
        The value that everything starts with. An optimistic one makes the agent try
        all actions.
    objective : {"reward", "penalty"}, default="reward"
        Whether what the environment returns is to be maximised or minimised.
    random_state : int or None, default=None
        Seed of exploration and of the choice among equal values.

    Attributes
    ----------
    q_values_ : ndarray of shape (n_states, n_actions)
        The mean of the two tables.
    policy_ : ndarray of shape (n_states,)
        The first of the best actions in every state.
    q_tables_ : ndarray of shape (2, n_states, n_actions)
        The tables A and B.
    counts_ : ndarray of shape (2, n_states, n_actions)
        How often each value was updated.
    n_steps_ : int
        Transitions seen.

    See Also
    --------
    WeightedDoubleQLearningAgent : Between this and Q-learning.
    double_estimator : The same idea for the largest of several means.

    References
    ----------
    .. [1] H. van Hasselt, "Double Q-learning", Advances in Neural Information
           Processing Systems 23, 2010.

    Examples
    --------
    >>> from fewlabels.reinforcement import DoubleQLearningAgent, make_maximization_bias
    >>> from fewlabels.reinforcement import train
    >>> agent = DoubleQLearningAgent(gamma=1.0, random_state=0)
    >>> history = train(agent, make_maximization_bias(), n_episodes=1000, seed=0)
    >>> int(agent.policy_[0])  # right
    1
    """

    _rule = DOUBLE
    _n_tables = 2


class WeightedDoubleQLearningAgent(DoubleQLearningAgent):
    r"""Weighted double Q-learning: between Q-learning and double Q-learning.

    With :math:`a^*` and :math:`a_L` the best and the worst action of :math:`Q^A` at
    :math:`s'`, the target of A is

    .. math::

        r + \gamma [\beta Q^A(s', a^*) + (1 - \beta) Q^B(s', a^*)], \quad
        \beta = \frac{|Q^B(s', a^*) - Q^B(s', a_L)|}{c + |Q^B(s', a^*) - Q^B(s', a_L)|}

    and that of B with the roles exchanged. With c = 0 each table is an ordinary
    Q-learner on half of the transitions; c = infinity is double Q-learning.

    Parameters
    ----------
    c : float, default=1.0
        What differences of values are compared with; at least 0, possibly infinite.
    alpha : float or Schedule, default=0.1
        Step size, as a function of the number of updates of the value. With
        ``Schedule("power", 1.0, rate=0.8)`` values converge.
    gamma : float, default=0.99
        The discount, in [0, 1].
    epsilon : float or Schedule, default=0.1
        Probability of a random action.
    explore_by : {"steps", "visits"}, default="steps"
        What `epsilon` is a function of: all steps so far, or visits of the state.
    initial : float, default=0.0
        The value that everything starts with. An optimistic one makes the agent try
        all actions.
    objective : {"reward", "penalty"}, default="reward"
        Whether what the environment returns is to be maximised or minimised.
    random_state : int or None, default=None
        Seed of exploration and of the choice among equal values.

    Attributes
    ----------
    q_values_ : ndarray of shape (n_states, n_actions)
        The mean of the two tables.
    policy_ : ndarray of shape (n_states,)
        The first of the best actions in every state.
    q_tables_ : ndarray of shape (2, n_states, n_actions)
        The tables A and B.
    counts_ : ndarray of shape (2, n_states, n_actions)
        How often each value was updated.
    n_steps_ : int
        Transitions seen.

    See Also
    --------
    weighted_double_estimator : The same idea for the largest of several means.

    References
    ----------
    .. [1] Z. Zhang, Z. Pan and M. J. Kochenderfer, "Weighted double Q-learning",
           IJCAI 2017. :doi:`10.24963/ijcai.2017/483`

    Examples
    --------
    >>> from fewlabels.reinforcement import (
    ...     WeightedDoubleQLearningAgent,
    ...     make_noisy_grid,
    ...     train,
    ... )
    >>> agent = WeightedDoubleQLearningAgent(c=10.0, gamma=0.95, random_state=0)
    >>> history = train(agent, make_noisy_grid(), n_steps=10_000, seed=0)
    >>> agent.q_tables_.shape
    (2, 10, 4)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **DoubleQLearningAgent._parameter_constraints,
        "c": [Interval(Real, 0, None, closed="both")],
    }

    def __init__(
        self,
        *,
        c: float = 1.0,
        alpha: float | Schedule = 0.1,
        gamma: float = 0.99,
        epsilon: float | Schedule = 0.1,
        explore_by: str = "steps",
        initial: float = 0.0,
        objective: str = "reward",
        random_state: int | None = None,
    ) -> None:
        super().__init__(
            alpha=alpha,
            gamma=gamma,
            epsilon=epsilon,
            explore_by=explore_by,
            initial=initial,
            objective=objective,
            random_state=random_state,
        )
        self.c = c

    def _c(self) -> float:
        return float(self.c)
