"""Small networks in NumPy, with their gradients and optimisers."""

# SPDX-License-Identifier: BSD-3-Clause

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

Array = NDArray[Any]

# Name -> (function, its derivative as a function of the output).
ACTIVATIONS: dict[str, tuple[Callable[[Array], Array], Callable[[Array], Array]]] = {
    "identity": (lambda x: x, np.ones_like),
    "sigmoid": (expit, lambda y: y * (1 - y)),
    "tanh": (np.tanh, lambda y: 1 - y * y),
    "relu": (lambda x: np.maximum(x, 0), lambda y: (y > 0).astype(y.dtype)),
}


class Network:
    """A network of fully connected layers.

    All weights lie in one vector `theta`; `layers` are views of it, a matrix of shape
    (n_in, n_out) and a vector of biases for each.

    Parameters
    ----------
    sizes : sequence of int
        Units of all layers, from the inputs to the outputs.
    activation : str
        Activation of the hidden layers.
    output : str
        Activation of the last layer.
    bias : bool
        Whether there are biases.
    theta : ndarray
        Where to keep the weights; a vector of their number.
    """

    def __init__(
        self,
        sizes: tuple[int, ...],
        *,
        activation: str = "relu",
        output: str = "identity",
        bias: bool = True,
        theta: Array | None = None,
        dtype: Any = np.float64,
    ) -> None:
        self.sizes = sizes
        self.activation, self.output = activation, output
        self.bias = bias
        n = n_weights(sizes, bias)
        self.theta = np.zeros(n, dtype=dtype) if theta is None else theta
        self.layers = self.views(self.theta)
        names = [activation] * (len(sizes) - 2) + [output]
        self._functions = [ACTIVATIONS[name] for name in names]

    def __getstate__(self) -> dict[str, Any]:
        # Copies of views would no longer be views of the copy.
        names = ("sizes", "activation", "output", "bias", "theta")
        return {name: getattr(self, name) for name in names}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(**state)  # type: ignore[misc]

    def views(self, theta: Array) -> list[tuple[Array, Array | None]]:
        """Cut a vector of weights into matrices and biases."""
        layers: list[tuple[Array, Array | None]] = []
        at = 0
        for n_in, n_out in pairwise(self.sizes):
            matrix = theta[at : at + n_in * n_out].reshape(n_in, n_out)
            at += n_in * n_out
            offset = None
            if self.bias:
                offset = theta[at : at + n_out]
                at += n_out
            layers.append((matrix, offset))
        return layers

    def initialize(self, rng: np.random.Generator) -> None:
        """Draw all weights, uniform within 1 / sqrt(n_in).

        Without hidden layers there is no symmetry to break, and weights start at 0.
        """
        if len(self.sizes) == 2:
            self.theta[:] = 0
            return
        for matrix, offset in self.layers:
            bound = 1 / np.sqrt(matrix.shape[0])
            matrix[:] = rng.uniform(-bound, bound, size=matrix.shape)
            if offset is not None:
                offset[:] = rng.uniform(-bound, bound, size=offset.shape)

    def forward(self, X: Array, theta: Array | None = None) -> list[Array]:
        """Return the outputs of all layers, the inputs first."""
        outputs = [X]
        layers = self.layers if theta is None else self.views(theta)
        for (matrix, offset), (function, _) in zip(
            layers, self._functions, strict=True
        ):
            total = outputs[-1] @ matrix
            if offset is not None:
                total += offset
            outputs.append(function(total))
        return outputs

    def gradient(self, outputs: list[Array], error: Array) -> Array:
        """Gradient of sum(error * outputs) with respect to all weights."""
        found = np.empty_like(self.theta)
        layers = self.views(found)
        for i in range(len(layers) - 1, -1, -1):
            error = error * self._functions[i][1](outputs[i + 1])
            matrix, offset = layers[i]
            np.matmul(outputs[i].T, error, out=matrix)
            if offset is not None:
                np.sum(error, axis=0, out=offset)
            if i:
                error = error @ self.layers[i][0].T
        return found


def n_weights(sizes: tuple[int, ...], bias: bool) -> int:
    """Count the weights of a network."""
    return sum((n_in + bias) * n_out for n_in, n_out in pairwise(sizes))


class NumpyBackend:
    """The network of a deep agent, its target and its optimiser, in NumPy.

    Parameters
    ----------
    sizes : tuple of int
        Units of all layers.
    activation : str
        Activation of the hidden layers.
    bias : bool
        Whether there are biases.
    optimizer : {"adam", "sgd"}
        How weights follow the gradient.
    learning_rate : float
        Size of a step.
    loss : {"squared", "huber"}
        Loss of the temporal difference.
    dtype : dtype
        Type of all numbers.
    rng : numpy.random.Generator
        For the first weights.
    """

    # Of Adam, as in the paper; torch has the same defaults.
    beta1, beta2, eps = 0.9, 0.999, 1e-8

    def __init__(
        self,
        sizes: tuple[int, ...],
        *,
        activation: str,
        bias: bool,
        optimizer: str,
        learning_rate: float,
        loss: str,
        dtype: Any,
        rng: np.random.Generator,
    ) -> None:
        self._network = Network(sizes, activation=activation, bias=bias, dtype=dtype)
        self._network.initialize(rng)
        self._optimizer, self._rate, self._loss = optimizer, learning_rate, loss
        self._target: Any = self._network.theta.copy()
        n = self._network.theta.size if optimizer == "adam" else 0
        self._moments = np.zeros((2, n), dtype=dtype)
        self._count = np.zeros(1, dtype=np.int64)

    def values(self, X: Array, *, target: bool = False) -> Array:
        """Values of all actions by the network, or by its target."""
        return self._network.forward(X, self._target if target else None)[-1]

    def fit(self, X: Array, actions: Array, targets: Array) -> float:
        """Take one step towards the targets; return the loss before it."""
        outputs = self._network.forward(X)
        rows = np.arange(len(X))
        difference = outputs[-1][rows, actions] - targets
        slope = difference
        if self._loss == "huber":
            slope = np.clip(difference, -1, 1)
            # Quadratic within 1, linear beyond.
            losses = np.abs(slope) * (np.abs(difference) - 0.5 * np.abs(slope))
        else:
            losses = 0.5 * difference**2
        error = np.zeros_like(outputs[-1])
        error[rows, actions] = slope / len(X)
        self._follow(self._network.gradient(outputs, error))
        return float(losses.mean())

    def _follow(self, gradient: Array) -> None:
        theta = self._network.theta
        if self._optimizer == "sgd":
            theta -= self._rate * gradient
            return
        first, second = self._moments
        self._count += 1
        count = int(self._count[0])
        first *= self.beta1
        first += (1 - self.beta1) * gradient
        second *= self.beta2
        second += (1 - self.beta2) * gradient**2
        root = np.sqrt(second) / np.sqrt(1 - self.beta2**count) + self.eps
        theta -= (self._rate / (1 - self.beta1**count)) * first / root

    def update_target(self) -> None:
        """Copy the network to its target."""
        self._target[:] = self._network.theta

    def load(self, arrays: dict[str, Array]) -> None:
        """Continue from a state that `arrays` returned."""
        for name, own in self.arrays().items():
            own[...] = arrays[name]

    def arrays(self) -> dict[str, Array]:
        """Return the state."""
        return {
            "weights": self._network.theta,
            "target": self._target,
            "moments": self._moments,
            "updates": self._count,
        }
