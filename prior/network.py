"""The network: attention over the columns of a row and over the rows of a column.

A row is a sequence of tokens, one per pair of columns and one per class. The token of a
class says whether the row has it, has another, or has no label. All weights are shared,
so that no order of rows or classes matters and all numbers are free; that of columns
matters by who is whose pair and by the random vectors that tell pairs apart.
"""

# SPDX-License-Identifier: BSD-3-Clause

import torch
from draw import CELL_SIZE
from torch import Tensor, nn
from torch.nn import functional

# Columns of a token.
PAIR = 2
# Every pair of columns has a random vector, which tells it from others.
IDENTITY_SIZE = 32


def among_columns(qkv: Tensor, n_heads: int) -> Tensor:
    """Attention within rows, of queries, keys and values side by side."""
    B, length, n, size = qkv.shape
    if qkv.is_cuda:
        from columns import fused

        return fused(qkv, n_heads)
    parts = qkv.view(B, length, n, 3, n_heads, -1).permute(3, 0, 2, 4, 1, 5)
    mixed = functional.scaled_dot_product_attention(*parts)
    return mixed.permute(0, 3, 1, 2, 4).reshape(B, length, n, size // 3)


def among_rows(qkv: Tensor, n_heads: int, n_context: int) -> Tensor:
    """Attention within columns, to the first rows."""
    B, length, n, size = qkv.shape
    parts = qkv.view(B * length, n, 3, n_heads, -1)
    q = parts[:, :, 0].transpose(1, 2)
    k = parts[:, :n_context, 1].transpose(1, 2)
    v = parts[:, :n_context, 2].transpose(1, 2)
    mixed = functional.scaled_dot_product_attention(q, k, v)
    return mixed.transpose(1, 2).reshape(B, length, n, size // 3)


class Layer(nn.Module):
    """Attention over columns, over rows, and a small network for each token."""

    def __init__(self, size: int, n_heads: int, hidden: int) -> None:
        super().__init__()
        self.n_heads = n_heads
        self.norms = nn.ModuleList([nn.LayerNorm(size, bias=False) for _ in range(3)])
        self.columns = nn.Linear(size, 3 * size, bias=False)
        self.columns_out = nn.Linear(size, size, bias=False)
        self.rows = nn.Linear(size, 3 * size, bias=False)
        self.rows_out = nn.Linear(size, size, bias=False)
        self.up = nn.Linear(size, hidden)
        self.down = nn.Linear(hidden, size)

    def forward(self, Z: Tensor, n_context: int) -> Tensor:
        # (tables, tokens of a row, rows, size): the rows of a column lie side by side.
        mixed = among_columns(self.columns(self.norms[0](Z)), self.n_heads)
        Z = Z + self.columns_out(mixed)
        mixed = among_rows(self.rows(self.norms[1](Z)), self.n_heads, n_context)
        Z = Z + self.rows_out(mixed)
        hidden = functional.gelu(self.up(self.norms[2](Z)), approximate="tanh")
        return Z + self.down(hidden)


class PriorNetwork(nn.Module):
    """Logits of the classes of all rows, given cells and some labels.

    Parameters
    ----------
    size, n_layers, n_heads, hidden : int
        Of a token, of layers, of heads, and of the network of each token.
    """

    def __init__(
        self, size: int = 128, n_layers: int = 6, n_heads: int = 4, hidden: int = 256
    ) -> None:
        super().__init__()
        self.settings = {
            "size": size, "n_layers": n_layers, "n_heads": n_heads, "hidden": hidden
        }  # fmt: skip
        self.cell_up = nn.Linear(PAIR * CELL_SIZE, size)
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
            for last in (layer.columns_out, layer.rows_out, layer.down):
                nn.init.normal_(last.weight, std=0.02 / (2 * n_layers) ** 0.5)
        nn.init.normal_(self.marks.weight, std=1.0)

    def forward(self, cells: Tensor, marks: Tensor, n_context: int) -> Tensor:
        """Compute logits of shape (n_tables, n_rows, n_classes).

        Parameters
        ----------
        cells : Tensor of shape (n_tables, n_rows, n_columns, CELL_SIZE)
            Cells.
        marks : Tensor of int of shape (n_tables, n_rows, n_classes)
            Whether a row has a class (1) or not (0), or 2 without a label.
        n_context : int
            Rows that others may look at, which are first.
        """
        pairs = functional.pad(cells, (0, 0, 0, -cells.shape[2] % PAIR))
        pairs = pairs.unflatten(2, (-1, PAIR)).flatten(3)
        hidden = functional.gelu(self.cell_up(pairs), approximate="tanh")
        names = torch.randn(
            (cells.shape[0], 1, pairs.shape[2], IDENTITY_SIZE),
            device=cells.device,
            dtype=cells.dtype,
        )
        columns = self.cell_down(hidden) + self.identity(names)
        # One product instead of an embedding, whose gradient collides.
        hot = functional.one_hot(marks, 3).to(cells.dtype)
        Z = torch.cat([columns, hot @ self.marks.weight], 2)
        Z = Z.transpose(1, 2).contiguous()
        for layer in self.layers:
            Z = layer(Z, n_context)
        last = self.norm(Z[:, -marks.shape[2] :])
        return self.out(last)[..., 0].transpose(1, 2)
