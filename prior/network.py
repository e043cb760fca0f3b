"""The network: attention over the columns of a row and over the rows of a column.

A row is a sequence of tokens, one per column and one per class. The token of a class
says whether the row has it, has another, or has no label. All weights are shared, so
that no order of rows, columns or classes matters, and their numbers are free.
"""

# SPDX-License-Identifier: BSD-3-Clause

import torch
from draw import CELL_SIZE
from torch import Tensor, nn
from torch.nn import functional

SHORT = 48
# Every column of a table has a random vector, which tells it from others.
IDENTITY_SIZE = 32


class Attention(nn.Module):
    """Attention with several heads, from all tokens to the first `n_keys` of them."""

    def __init__(self, size: int, n_heads: int) -> None:
        super().__init__()
        self.n_heads = n_heads
        self.query = nn.Linear(size, size, bias=False)
        self.key_value = nn.Linear(size, 2 * size, bias=False)
        self.out = nn.Linear(size, size, bias=False)

    def forward(self, Z: Tensor, n_keys: int) -> Tensor:
        *outer, length, size = Z.shape
        shape = (-1, length, self.n_heads, size // self.n_heads)
        q = self.query(Z).view(shape).transpose(1, 2)
        kv = self.key_value(Z[..., :n_keys, :])
        k, v = kv.view(-1, n_keys, 2, *shape[2:]).permute(2, 0, 3, 1, 4)
        if n_keys < SHORT:
            # Fused kernels pad every sequence to a tile.
            scores = q @ k.transpose(2, 3) * shape[3] ** -0.5
            mixed = torch.softmax(scores, 3) @ v
        else:
            mixed = functional.scaled_dot_product_attention(q, k, v)
        return self.out(mixed.transpose(1, 2).reshape(*outer, length, size))


class Layer(nn.Module):
    """Attention over columns, over rows, and a small network for each token."""

    def __init__(self, size: int, n_heads: int, hidden: int) -> None:
        super().__init__()
        self.norms = nn.ModuleList([nn.LayerNorm(size, bias=False) for _ in range(3)])
        self.columns = Attention(size, n_heads)
        self.rows = Attention(size, n_heads)
        self.up = nn.Linear(size, hidden)
        self.down = nn.Linear(hidden, size)

    def forward(self, Z: Tensor, n_context: int) -> Tensor:
        # (tables, columns, rows, size): the rows of a column lie side by side.
        across = self.norms[0](Z).transpose(1, 2).contiguous()
        Z = Z + self.columns(across, across.shape[2]).transpose(1, 2)
        Z = Z + self.rows(self.norms[1](Z), n_context)
        hidden = functional.gelu(self.up(self.norms[2](Z)), approximate="tanh")
        return Z + self.down(hidden)


class PriorNetwork(nn.Module):
    """Logits of the classes of all rows, given the cells and the first labels.

    Parameters
    ----------
    size, n_layers, n_heads, hidden : int
        Of a token, of layers, of heads, and of the network of each token.
    """

    def __init__(
        self, size: int = 96, n_layers: int = 6, n_heads: int = 3, hidden: int = 192
    ) -> None:
        super().__init__()
        self.settings = {
            "size": size, "n_layers": n_layers, "n_heads": n_heads, "hidden": hidden
        }  # fmt: skip
        self.cell_up = nn.Linear(CELL_SIZE, size)
        self.cell_down = nn.Linear(size, size)
        self.identity = nn.Linear(IDENTITY_SIZE, size, bias=False)
        # A class that is not the row's, one that is, and that of a row without a label.
        self.marks = nn.Embedding(3, size)
        self.layers = nn.ModuleList(
            [Layer(size, n_heads, hidden) for _ in range(n_layers)]
        )
        self.norm = nn.LayerNorm(size, bias=False)
        self.out = nn.Linear(size, 1)
        for layer in self.layers:
            for last in (layer.columns.out, layer.rows.out, layer.down):
                nn.init.normal_(last.weight, std=0.02 / (2 * n_layers) ** 0.5)
        nn.init.normal_(self.marks.weight, std=1.0)

    def forward(
        self,
        cells: Tensor,
        classes: Tensor,
        n_labeled: int,
        n_context: int,
        n_classes: int,
    ) -> Tensor:
        """Compute logits of shape (n_tables, n_rows, n_classes)."""
        hidden = functional.gelu(self.cell_up(cells), approximate="tanh")
        names = torch.randn(
            (cells.shape[0], 1, cells.shape[2], IDENTITY_SIZE),
            device=cells.device,
            dtype=cells.dtype,
        )
        columns = (self.cell_down(hidden) + self.identity(names)).transpose(1, 2)
        marks = torch.full(
            (*classes.shape, n_classes), 2, dtype=torch.long, device=cells.device
        )
        known = classes[:, :n_labeled]
        marks[:, :n_labeled] = functional.one_hot(known, n_classes)
        labels = self.marks(marks).transpose(1, 2).to(columns.dtype)
        Z = torch.cat([columns, labels], 1)
        for layer in self.layers:
            Z = layer(Z, n_context)
        last = self.norm(Z[:, -n_classes:])
        return self.out(last)[..., 0].transpose(1, 2)
