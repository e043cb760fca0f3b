"""The network of a deep agent in torch; the same steps as in NumPy."""

# SPDX-License-Identifier: BSD-3-Clause

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewlabels.reinforcement._networks import NumpyBackend

Array = NDArray[Any]


class TorchBackend(NumpyBackend):
    """The network, its target and its optimiser, in torch.

    Weights are one vector, cut as those of `Network`: the first ones are the same as in
    NumPy, and checkpoints of both fit each other.
    """

    def __init__(self, sizes: tuple[int, ...], *, device: str, **settings: Any) -> None:
        try:
            import torch
        except ImportError as error:
            raise ImportError(
                "backend='torch' needs torch: pip install 'fewlabels[deep]'."
            ) from error
        super().__init__(sizes, **settings)
        self._torch, self._device = torch, torch.device(device)
        self._theta = self._tensor(self._network.theta).requires_grad_()
        self._target = self._theta.detach().clone()
        self._activation = {
            "identity": lambda x: x,
            "sigmoid": torch.sigmoid,
            "tanh": torch.tanh,
            "relu": torch.relu,
        }[settings["activation"]]
        self._steps: Any
        if self._optimizer == "adam":
            betas = (self.beta1, self.beta2)
            self._steps = torch.optim.Adam(
                [self._theta], lr=self._rate, betas=betas, eps=self.eps
            )
        else:
            self._steps = torch.optim.SGD([self._theta], lr=self._rate)

    def _tensor(self, array: Array) -> Any:
        return self._torch.from_numpy(np.array(array)).to(self._device)

    def _forward(self, X: Any, theta: Any) -> Any:
        layers = self._network.views(theta)
        for i, (matrix, offset) in enumerate(layers):
            X = X @ matrix
            if offset is not None:
                X = X + offset
            if i < len(layers) - 1:
                X = self._activation(X)
        return X

    def values(self, X: Array, *, target: bool = False) -> Array:
        """Values of all actions by the network, or by its target."""
        with self._torch.no_grad():
            theta = self._target if target else self._theta
            return self._forward(self._tensor(X), theta).cpu().numpy()

    def fit(self, X: Array, actions: Array, targets: Array) -> float:
        """Take one step towards the targets; return the loss before it."""
        functional = self._torch.nn.functional
        self._steps.zero_grad()
        values = self._forward(self._tensor(X), self._theta)
        chosen = values.gather(1, self._tensor(actions)[:, None])[:, 0]
        if self._loss == "huber":
            loss = functional.smooth_l1_loss(chosen, self._tensor(targets))
        else:
            loss = 0.5 * functional.mse_loss(chosen, self._tensor(targets))
        loss.backward()
        self._steps.step()
        return float(loss.detach())

    def update_target(self) -> None:
        """Copy the network to its target."""
        self._target.copy_(self._theta.detach())

    def arrays(self) -> dict[str, Array]:
        """Return a copy of the state."""
        found = {
            "weights": self._theta.detach().cpu().numpy().copy(),
            "target": self._target.cpu().numpy().copy(),
            "moments": np.zeros_like(self._moments),
            "updates": np.zeros_like(self._count),
        }
        state = self._steps.state.get(self._theta)
        if self._optimizer == "adam" and state:
            found["moments"][0] = state["exp_avg"].cpu().numpy()
            found["moments"][1] = state["exp_avg_sq"].cpu().numpy()
            found["updates"][0] = int(state["step"])
        return found

    def load(self, arrays: dict[str, Array]) -> None:
        """Continue from a state that `arrays` returned."""
        torch = self._torch
        with torch.no_grad():
            self._theta.copy_(self._tensor(arrays["weights"]))
            self._target.copy_(self._tensor(arrays["target"]))
        if self._optimizer == "adam" and arrays["updates"][0]:
            # What the optimiser itself keeps after its first step.
            self._steps.state[self._theta] = {
                "step": torch.tensor(float(arrays["updates"][0])),
                "exp_avg": self._tensor(arrays["moments"][0]),
                "exp_avg_sq": self._tensor(arrays["moments"][1]),
            }
