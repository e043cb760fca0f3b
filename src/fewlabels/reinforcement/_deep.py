"""Deep Q-learning: a network, a memory of transitions and a target network."""

# SPDX-License-Identifier: BSD-3-Clause

from numbers import Integral
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fewlabels._params import check_number, check_params, usual
from fewlabels._sklearn import Interval, StrOptions
from fewlabels.exceptions import warn_ignored
from fewlabels.reinforcement._agent import (
    GAMMA,
    SCHEDULE,
    SEED,
    Mask,
    NetworkAgent,
    Step,
)
from fewlabels.reinforcement._connectionist import check_hidden
from fewlabels.reinforcement._networks import NumpyBackend
from fewlabels.reinforcement._schedules import Schedule

EXPLORATION = Schedule("linear", 1.0, end=0.05, rate=10_000)


class Transitions(NamedTuple):
    """Some transitions, one per row.

    Attributes
    ----------
    observations, next_observations : ndarray of shape (n, n_inputs)
        Before and after.
    actions : ndarray of shape (n,)
        What was done.
    rewards : ndarray of shape (n,)
        What it brought.
    terminated : ndarray of bool of shape (n,)
        Whether nothing can follow.
    masks : ndarray of bool of shape (n, n_actions)
        Which actions are available afterwards.
    """

    observations: NDArray[Any]
    actions: NDArray[np.int64]
    rewards: NDArray[Any]
    next_observations: NDArray[Any]
    terminated: NDArray[np.bool_]
    masks: NDArray[np.bool_]


class ReplayBuffer:
    """Memory of the last transitions, from which batches are drawn uniformly.

    Parameters
    ----------
    capacity : int
        How many there is room for; the oldest one goes first.
    n_inputs : int
        Length of an observation.
    n_actions : int
        How many actions there are.
    dtype : dtype, default=float32
        Type of observations and rewards.

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.reinforcement import ReplayBuffer
    >>> buffer = ReplayBuffer(2, n_inputs=1, n_actions=2)
    >>> for t in range(3):
    ...     buffer.add([t], 0, float(t), [t + 1], False)
    >>> len(buffer), sorted(buffer.rewards.tolist())  # the first one is gone
    (2, [1.0, 2.0])
    >>> buffer.sample(5, np.random.default_rng(0)).rewards.shape
    (5,)
    """

    def __init__(
        self, capacity: int, n_inputs: int, n_actions: int, dtype: Any = np.float32
    ) -> None:
        check_number("capacity", capacity, 1)
        self.capacity = capacity
        self._data = Transitions(
            observations=np.zeros((capacity, n_inputs), dtype=dtype),
            actions=np.zeros(capacity, dtype=np.int64),
            rewards=np.zeros(capacity, dtype=dtype),
            next_observations=np.zeros((capacity, n_inputs), dtype=dtype),
            terminated=np.zeros(capacity, dtype=bool),
            masks=np.ones((capacity, n_actions), dtype=bool),
        )
        # How many transitions were ever added.
        self._added = np.zeros(1, dtype=np.int64)

    def __len__(self) -> int:
        return min(int(self._added[0]), self.capacity)

    @property
    def rewards(self) -> NDArray[Any]:
        """The rewards that are remembered, in no particular order."""
        return self._data.rewards[: len(self)]

    def add(
        self,
        observation: Any,
        action: int,
        reward: float,
        next_observation: Any,
        terminated: bool,
        mask: Mask = None,
    ) -> None:
        """Remember a transition.

        Parameters
        ----------
        observation : array-like of shape (n_inputs,)
            Before.
        action : int
            What was done.
        reward : float
            What it brought.
        next_observation : array-like of shape (n_inputs,)
            After.
        terminated : bool
            Whether nothing can follow.
        mask : array-like of shape (n_actions,), default=None
            Which actions are available afterwards.
        """
        at = int(self._added[0]) % self.capacity
        allowed = True if mask is None else mask
        values = observation, action, reward, next_observation, terminated, allowed
        for part, value in zip(self._data, values, strict=True):
            part[at] = value
        self._added += 1

    def sample(self, batch_size: int, rng: np.random.Generator) -> Transitions:
        """Draw transitions, each of them uniformly.

        Parameters
        ----------
        batch_size : int
            How many.
        rng : numpy.random.Generator
            What draws.

        Returns
        -------
        batch : Transitions
            With replacement.
        """
        if not len(self):
            raise ValueError("There is nothing to draw from: add transitions first.")
        rows = rng.integers(len(self), size=batch_size)
        drawn: Any = [part[rows] for part in self._data]
        return Transitions(*drawn)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the state, to be changed in place.

        Returns
        -------
        arrays : dict of ndarray
            All fields, and the number of transitions ever added.
        """
        fields = {f"buffer_{k}": v for k, v in self._data._asdict().items()}
        return {**fields, "buffer_added": self._added}


# What `solver_params` may hold.
_SOLVER_CONSTRAINTS: dict[str, list[Any]] = {
    "optimizer": [StrOptions({"adam", "sgd"})],
    "train_every": [Interval(Integral, 1, None, closed="left")],
    "backend": [StrOptions({"numpy", "torch"})],
    "device": [str],
    "dtype": [StrOptions({"float32", "float64"})],
}
_SOLVER_DEFAULTS: dict[str, Any] = {
    "optimizer": "adam",
    "train_every": 1,
    "backend": "numpy",
    "device": "cpu",
    "dtype": "float32",
}


class DQNAgent(NetworkAgent):
    r"""Deep Q-learning with experience replay and a target network.

    Transitions go to a memory. Every `train_every` steps a batch is drawn from it
    uniformly, and the weights θ take a gradient step on

    .. math::

        \frac{1}{2n} \sum_{j=1}^n \big(y_j - Q(s_j, a_j; \theta)\big)^2, \quad
        y_j = r_j + \gamma \max_b Q(s'_j, b; \theta^-)

    with :math:`y_j = r_j` where the episode terminated. The weights :math:`\theta^-` of
    the target are copied from θ every `target_update` steps and stay fixed in between.

    Small networks are fastest in NumPy. With the backend "torch" the same agent runs in
    torch, on any of its devices; both start from the same weights.

    Parameters
    ----------
    hidden : tuple of int, default=(64, 64)
        Units of the hidden layers; ``()`` for a linear function.
    activation : {"relu", "tanh", "sigmoid", "identity"}, default="relu"
        Activation of the hidden layers.
    bias : bool, default=True
        Whether units have a bias.
    gamma : float, default=0.99
        The discount, in [0, 1].
    epsilon : float or Schedule, default=Schedule("linear", 1.0, end=0.05, rate=10_000)
        Probability of a random action, as a function of the number of steps.
    learning_rate : float, default=1e-3
        Size of the steps of the optimiser.
    loss : {"squared", "huber"}, default="squared"
        "huber" is linear for differences beyond 1: the gradient is clipped.
    batch_size : int, default=64
        Transitions in a batch.
    capacity : int, default=50_000
        Transitions in the memory.
    learning_starts : int, default=1000
        Steps before the first batch is drawn.
    target_update : int, default=500
        Steps between two copies to the target.
    double : bool, default=False
        Whether the network chooses the action whose value the target gives [2]_,
        to avoid values that are too large.
    solver_params : dict, default=None
        How the networks are trained:

        - `optimizer`: how weights follow the gradient, "adam" (default) or "sgd";
        - `train_every`: steps between two batches, 1 unless given;
        - `backend`: what computes the networks, "numpy" (default) or "torch", which
          needs the extra ``deep``;
        - `device`: where torch computes, such as "cuda"; "cpu" unless given;
        - `dtype`: precision of the networks, "float32" (default) or "float64".
    random_state : int or None, default=None
        Seed of the first weights, of exploration and of the batches.

    Attributes
    ----------
    buffer_ : ReplayBuffer
        The memory.
    losses_ : list of float
        Mean loss of the batches in each of the episodes.
    n_steps_ : int
        Transitions seen.

    References
    ----------
    .. [1] V. Mnih et al., "Human-level control through deep reinforcement learning",
           Nature 518, 2015. :doi:`10.1038/nature14236`
    .. [2] H. van Hasselt, A. Guez and D. Silver, "Deep reinforcement learning with
           double Q-learning", AAAI 2016. :doi:`10.1609/aaai.v30i1.10295`

    Examples
    --------
    >>> from fewlabels.reinforcement import DQNAgent, GridWorld, Schedule, train
    >>> env = GridWorld(["S..", "...", "..G"], max_steps=50)
    >>> agent = DQNAgent(
    ...     hidden=(32,),
    ...     epsilon=Schedule("linear", 1.0, end=0.05, rate=500),
    ...     learning_starts=64,
    ...     target_update=50,
    ...     random_state=0,
    ... )
    >>> history = train(agent, env, n_episodes=150, seed=0)
    >>> int(history.lengths[-20:].min())
    4
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "hidden": [tuple, list],
        "activation": [StrOptions({"relu", "tanh", "sigmoid", "identity"})],
        "bias": ["boolean"],
        "gamma": GAMMA,
        "epsilon": SCHEDULE,
        **usual("learning_rate"),
        "loss": [StrOptions({"squared", "huber"})],
        "batch_size": [Interval(Integral, 1, None, closed="left")],
        "capacity": [Interval(Integral, 1, None, closed="left")],
        "learning_starts": [Interval(Integral, 1, None, closed="left")],
        "target_update": [Interval(Integral, 1, None, closed="left")],
        "double": ["boolean"],
        "solver_params": [dict, None],
        "random_state": SEED,
    }

    def __init__(
        self,
        *,
        hidden: tuple[int, ...] = (64, 64),
        activation: str = "relu",
        bias: bool = True,
        gamma: float = 0.99,
        epsilon: float | Schedule = EXPLORATION,
        learning_rate: float = 1e-3,
        loss: str = "squared",
        batch_size: int = 64,
        capacity: int = 50_000,
        learning_starts: int = 1000,
        target_update: int = 500,
        double: bool = False,
        solver_params: dict[str, Any] | None = None,
        random_state: int | None = None,
    ) -> None:
        self.hidden = hidden
        self.activation = activation
        self.bias = bias
        self.gamma = gamma
        self.epsilon = epsilon
        self.learning_rate = learning_rate
        self.loss = loss
        self.batch_size = batch_size
        self.capacity = capacity
        self.learning_starts = learning_starts
        self.target_update = target_update
        self.double = double
        self.solver_params = solver_params
        self.random_state = random_state

    def _begin_networks(self) -> None:
        given = check_params(
            "solver_params", self.solver_params, _SOLVER_CONSTRAINTS, "the training"
        )
        self._options = {**_SOLVER_DEFAULTS, **given}
        device = self._options["device"]
        settings: dict[str, Any] = {
            "activation": self.activation,
            "bias": self.bias,
            "optimizer": self._options["optimizer"],
            "learning_rate": self.learning_rate,
            "loss": self.loss,
            "dtype": np.dtype(self._options["dtype"]),
            "rng": self.rng_,
        }
        sizes = (self.n_inputs_, *check_hidden(self.hidden), self.n_actions_)
        self._networks: Any
        if self._options["backend"] == "torch":
            from fewlabels.reinforcement._torch_network import TorchBackend

            self._networks = TorchBackend(sizes, device=device, **settings)
        else:
            if device != _SOLVER_DEFAULTS["device"]:
                warn_ignored(f"device={device!r}", "backend='numpy' uses the CPU")
            self._networks = NumpyBackend(sizes, **settings)
        self.buffer_ = ReplayBuffer(
            self.capacity, self.n_inputs_, self.n_actions_, settings["dtype"]
        )
        self.losses_: list[float] = []
        self._episode_loss = [0.0, 0]

    def _encode(self, observation: Any) -> NDArray[Any]:
        return super()._encode(observation).astype(self._options["dtype"], copy=False)

    def q_values(self, observation: Any) -> NDArray[np.float64]:
        """Return the values of all actions.

        Parameters
        ----------
        observation : int or array-like
            Where.

        Returns
        -------
        values : ndarray of shape (n_actions,)
            The outputs of the network.
        """
        return self._networks.values(self._encode(observation)[None])[0]

    def _take(self, step: Step) -> int | None:
        """Remember a transition, learn from a batch, and choose."""
        seen, following = self._encode(step.observation), step.next_observation
        self.buffer_.add(
            seen, step.action, step.reward, self._encode(following), step.terminated,
            step.mask,
        )  # fmt: skip
        due = self.n_steps_ % self._options["train_every"] == 0
        if due and self.n_steps_ >= self.learning_starts:
            self._learn(self.buffer_.sample(self.batch_size, self.rng_))
        if self.n_steps_ % self.target_update == 0:
            self._networks.update_target()
        if step.terminated or step.truncated:
            total, count = self._episode_loss
            self.losses_.append(total / count if count else float("nan"))
            self._episode_loss = [0.0, 0]
            return None
        return self.act(following, mask=step.mask)

    def _learn(self, batch: Transitions) -> None:
        values = self._networks.values(batch.next_observations, target=True)
        preference = values
        if self.double:
            preference = self._networks.values(batch.next_observations)
        best = np.where(batch.masks, preference, -np.inf).argmax(axis=1)
        future = values[np.arange(len(best)), best]
        targets = batch.rewards + self.gamma * np.where(batch.terminated, 0, future)
        targets = targets.astype(self._options["dtype"], copy=False)
        loss = self._networks.fit(batch.observations, batch.actions, targets)
        self._episode_loss[0] += loss
        self._episode_loss[1] += 1

    def _arrays(self) -> dict[str, NDArray[Any]]:
        return {**self._networks.arrays(), **self.buffer_.arrays()}

    def _load_arrays(self, arrays: dict[str, NDArray[Any]]) -> None:
        super()._load_arrays(arrays)
        self._networks.load(arrays)
        self.losses_ = arrays["losses"].tolist()

    def get_state(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """Return everything that further learning depends on.

        Returns
        -------
        arrays : dict of ndarray
            What was learned.
        numbers : dict
            The rest, in a form that JSON can hold.
        """
        arrays, numbers = super().get_state()
        return {**arrays, "losses": np.array(self.losses_)}, numbers

    def _end_interrupted_episode(self) -> None:
        self._episode_loss = [0.0, 0]
