"""Embed MNIST by a variational autoencoder, for graphs like those of Poisson learning.

    python benchmarks/mnist_vae.py FILE     # writes an npz file with the means, Z

784 - 400 - 20 units, 100 epochs of Adam on all 70,000 digits: two minutes on a GPU, an
hour on two cores. Needs the extra 'deep'; the digits come from FEWLABELS_DATA. Then
`python benchmarks/graph_labels.py few FILE`.
"""

# SPDX-License-Identifier: BSD-3-Clause

import sys

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F
from tqdm import trange

from fewlabels.datasets import load_mnist

HIDDEN, LATENT, EPOCHS, BATCH = 400, 20, 100, 128


class Autoencoder(nn.Module):
    """One hidden layer on either side."""

    def __init__(self, n_inputs=784):
        super().__init__()
        self.first = nn.Linear(n_inputs, HIDDEN)
        self.means, self.logs = nn.Linear(HIDDEN, LATENT), nn.Linear(HIDDEN, LATENT)
        self.back, self.last = nn.Linear(LATENT, HIDDEN), nn.Linear(HIDDEN, n_inputs)

    def encode(self, x):
        """Means and logarithms of the variances of the codes."""
        h = F.relu(self.first(x))
        return self.means(h), self.logs(h)

    def loss(self, x):
        """Negative lower bound of the likelihood, summed over the rows."""
        m, v = self.encode(x)
        z = m + torch.randn_like(v) * torch.exp(0.5 * v)
        out = self.last(F.relu(self.back(z)))
        missed = F.binary_cross_entropy_with_logits(out, x, reduction="sum")
        return missed - 0.5 * torch.sum(1 + v - m.pow(2) - v.exp())


def embed(X, epochs=EPOCHS, seed=0):
    """Train on rows in [0, 1] and return the means of their codes."""
    torch.manual_seed(seed)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    X = torch.tensor(X, dtype=torch.float32, device=device)
    net = Autoencoder(X.shape[1]).to(device)
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
    for _ in trange(epochs, unit="epoch"):
        for rows in torch.randperm(len(X), device=device).split(BATCH):
            loss = net.loss(X[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    with torch.no_grad():
        return net.encode(X)[0].cpu().numpy()


if __name__ == "__main__":
    Z = embed(load_mnist().data.astype(np.float32) / 255)
    np.savez_compressed(sys.argv[1], Z=Z)
