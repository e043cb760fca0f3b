"""Connectionist Q-learning: one small network for every action, learning online."""

# SPDX-License-Identifier: BSD-3-Clause

from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from fewlabels._params import usual
from fewlabels._sklearn import Interval, StrOptions
from fewlabels.exceptions import warn_ignored
from fewlabels.reinforcement._agent import GAMMA, SCHEDULE, SEED, NetworkAgent, Step
from fewlabels.reinforcement._networks import ACTIVATIONS, Network, n_weights
from fewlabels.reinforcement._schedules import Schedule


class ConnectionistQAgent(NetworkAgent):
    r"""Q-learning with one network per action, after every single transition.

    With ``update="q"``, that of Lin [1]_, the weights of all networks follow

    .. math::

        w \leftarrow w + \eta \big(r + \gamma \max_b Q(s', b) - Q(s, a)\big)
        \nabla_w Q(s, a)

    which changes only the network of action a. With ``update="mcq"``, the modified
    connectionist Q-learning of Rummery and Niranjan [2]_, known as Sarsa(λ), the action
    a' that is taken next replaces the best one, and eligibility traces pass the error
    on to what was done before:

    .. math::

        e \leftarrow \gamma \lambda e + \nabla_w Q(s, a), \quad
        w \leftarrow w + \eta \big(r + \gamma Q(s', a') - Q(s, a)\big) e

    with e = 0 at the start of an episode and Q(s', a') = 0 at its end.

    Parameters
    ----------
    update : {"q", "mcq"}, default="q"
        The rule.
    trace_decay : float, default=0.0
        λ in [0, 1], for ``update="mcq"``.
    hidden : tuple of int, default=(16,)
        Units of the hidden layers; ``()`` for networks that are linear.
    activation : {"sigmoid", "tanh", "relu", "identity"}, default="sigmoid"
        Activation of the hidden layers.
    output : {"identity", "sigmoid", "tanh"}, default="identity"
        Activation of the last unit. The sigmoid of the book can only express values
        in (0, 1).
    bias : bool, default=True
        Whether units have a bias.
    learning_rate : float, default=0.01
        η.
    gamma : float, default=0.99
        The discount, in [0, 1].
    epsilon : float or Schedule, default=0.1
        Probability of a random action, as a function of the number of steps.
    random_state : int or None, default=None
        Seed of the first weights and of exploration.

    Attributes
    ----------
    weights_ : ndarray of shape (n_actions, n_weights)
        Weights of each network.
    traces_ : ndarray of shape (n_actions, n_weights)
        Eligibilities within the episode.
    n_steps_ : int
        Transitions seen.

    See Also
    --------
    DQNAgent : Replays what it has seen; far more stable.

    References
    ----------
    .. [1] L.-J. Lin, "Self-improving reactive agents based on reinforcement learning,
           planning and teaching", Machine Learning 8, 1992. :doi:`10.1007/BF00992699`
    .. [2] G. A. Rummery and M. Niranjan, "On-line Q-learning using connectionist
           systems", technical report 166, Cambridge University, 1994.

    Examples
    --------
    >>> from fewlabels.reinforcement import ConnectionistQAgent, GridWorld, train
    >>> env = GridWorld(["S...G"], max_steps=50)
    >>> agent = ConnectionistQAgent(
    ...     update="mcq", trace_decay=0.8, hidden=(), learning_rate=0.2, random_state=0
    ... )
    >>> history = train(agent, env, n_episodes=100, seed=0)
    >>> int(history.lengths[-20:].min())
    4
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "update": [StrOptions({"q", "mcq"})],
        "trace_decay": [Interval(Real, 0, 1, closed="both")],
        "hidden": [tuple, list],
        "activation": [StrOptions(set(ACTIVATIONS))],
        "output": [StrOptions({"identity", "sigmoid", "tanh"})],
        "bias": ["boolean"],
        **usual("learning_rate"),
        "gamma": GAMMA,
        "epsilon": SCHEDULE,
        "random_state": SEED,
    }

    def __init__(
        self,
        *,
        update: str = "q",
        trace_decay: float = 0.0,
        hidden: tuple[int, ...] = (16,),
        activation: str = "sigmoid",
        output: str = "identity",
        bias: bool = True,
        learning_rate: float = 0.01,
        gamma: float = 0.99,
        epsilon: float | Schedule = 0.1,
        random_state: int | None = None,
    ) -> None:
        self.update = update
        self.trace_decay = trace_decay
        self.hidden = hidden
        self.activation = activation
        self.output = output
        self.bias = bias
        self.learning_rate = learning_rate
        self.gamma = gamma
        self.epsilon = epsilon
        self.random_state = random_state

    def _begin_networks(self) -> None:
        if self.update == "q" and self.trace_decay > 0:
            warn_ignored(f"trace_decay={self.trace_decay}", "update='q' has no traces")
        sizes = (self.n_inputs_, *check_hidden(self.hidden), 1)
        shape = (self.n_actions_, n_weights(sizes, self.bias))
        self.weights_ = np.zeros(shape)
        self.traces_ = np.zeros(shape)
        self._make_networks()
        for network in self._networks:
            network.initialize(self.rng_)

    def _make_networks(self) -> None:
        """Make the networks whose weights are the rows of `weights_`."""
        sizes = (self.n_inputs_, *check_hidden(self.hidden), 1)
        shape: Any = {"activation": self.activation, "output": self.output}
        self._networks = [
            Network(sizes, **shape, bias=self.bias, theta=row) for row in self.weights_
        ]

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if hasattr(self, "weights_"):  # copied networks have weights of their own
            self._make_networks()

    def q_values(self, observation: Any) -> NDArray[np.float64]:
        """Return the values of all actions.

        Parameters
        ----------
        observation : int or array-like
            Where.

        Returns
        -------
        values : ndarray of shape (n_actions,)
            One output of each network.
        """
        X = self._encode(observation)[None]
        return np.array([net.forward(X)[-1][0, 0] for net in self._networks])

    def gradient(self, observation: Any, action: int) -> NDArray[np.float64]:
        """Gradient of the value of an action with respect to its own network.

        Parameters
        ----------
        observation : int or array-like
            Where.
        action : int
            Whose value.

        Returns
        -------
        gradient : ndarray of shape (n_weights,)
            By back-propagation.
        """
        network = self._networks[action]
        outputs = network.forward(self._encode(observation)[None])
        return network.gradient(outputs, np.ones((1, 1)))

    def _take(self, step: Step) -> int | None:
        """Move the weights along the error of one transition, and choose."""
        observation, action, reward, after, terminated, truncated, mask = step
        on_policy = self.update == "mcq" and not terminated
        following = self.act(after, mask=mask) if on_policy else None
        future = 0.0
        if not terminated:
            values = self.q_values(after)
            if following is not None:
                future = values[following]
            else:
                allowed = slice(None) if mask is None else np.asarray(mask, dtype=bool)
                future = values[allowed].max()
        value = self.q_values(observation)[action]
        error = reward + self.gamma * future - value
        gradient = self.gradient(observation, action)
        if self.update == "q":
            self.weights_[action] += self.learning_rate * error * gradient
        else:
            self.traces_ *= self.gamma * self.trace_decay
            self.traces_[action] += gradient
            self.weights_ += self.learning_rate * error * self.traces_
        if terminated or truncated:
            self.traces_[:] = 0.0
            return None
        return following if on_policy else self.act(after, mask=mask)

    def _arrays(self) -> dict[str, NDArray[Any]]:
        return {"weights": self.weights_, "traces": self.traces_}

    def _end_interrupted_episode(self) -> None:
        self.traces_[:] = 0.0


def check_hidden(hidden: Any) -> tuple[int, ...]:
    """Return the units of the hidden layers as integers."""
    units = tuple(hidden)
    if not all(isinstance(n, int | np.integer) and n > 0 for n in units):
        raise ValueError(f"hidden must hold positive integers, got {hidden!r}.")
    return tuple(int(n) for n in units)
