"""Steps along orthogonal matrices, all matrices of one shape at a time."""

# SPDX-License-Identifier: BSD-3-Clause

from collections import defaultdict

import torch


class Muon(torch.optim.Optimizer):
    """Momentum, made orthogonal by five steps of Newton and Schulz.

    Steps are scaled to the size of those of Adam, so that both take one rate, which may
    be a tensor.
    """

    def __init__(self, params, lr, momentum=0.95, weight_decay=0.01):
        super().__init__(
            params, {"lr": lr, "momentum": momentum, "decay": weight_decay}
        )

    @torch.no_grad()
    def step(self):
        """Take a step with all matrices."""
        for group in self.param_groups:
            by_shape = defaultdict(list)
            for p in group["params"]:
                if "momentum" not in self.state[p]:
                    self.state[p]["momentum"] = torch.zeros_like(p)
                by_shape[p.shape].append(p)
            for shape, weights in by_shape.items():
                gradients = [p.grad for p in weights]
                momenta = [self.state[p]["momentum"] for p in weights]
                torch._foreach_lerp_(momenta, gradients, 1 - group["momentum"])
                ahead = torch._foreach_lerp(gradients, momenta, group["momentum"])
                steps = orthogonal(torch.stack(ahead)).to(weights[0].dtype)
                rate = group["lr"]
                torch._foreach_mul_(weights, 1 - rate * group["decay"])
                factor = rate * 0.2 * max(shape) ** 0.5
                torch._foreach_sub_(weights, list((factor * steps).unbind()))


def orthogonal(G):
    """Replace the singular values of matrices by about one."""
    X = G.to(torch.bfloat16)
    wide = X.shape[1] <= X.shape[2]
    X = X if wide else X.transpose(1, 2)
    X = X / (X.norm(dim=(1, 2), keepdim=True) + 1e-7)
    for _ in range(5):
        A = X @ X.transpose(1, 2)
        X = 3.4445 * X + (-4.7750 * A + 2.0315 * A @ A) @ X
    return X if wide else X.transpose(1, 2)
