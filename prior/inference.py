"""The network in plain NumPy: the cells of a real table, and answers without training.

`network.py` is its twin in torch; a test holds the two together.
"""

# SPDX-License-Identifier: BSD-3-Clause

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float32]

# Numbers of a cell: up to four values, and whether it is a number or a code.
CODE_SIZE = 4
CELL_SIZE = 6
HEAD_SIZE = 32
# Columns of a token, and numbers of the random vector that tells tokens apart.
PAIR = 2
NAME_SIZE = 32
CELL_LIMIT = 6.0
# Training has no tables of more columns. Of a column of many features that are no
# categories the first count.
MAX_TOKENS = 100
MAX_DIRECTIONS = 16
KNOTS = 257
EQUAL = 1e-4


@dataclass(frozen=True)
class CellEncoder:
    """Turns rows into cells.

    Attributes
    ----------
    projection : ndarray of shape (n_features, n_values)
        Values are centred features times this.
    mean : ndarray of shape (n_features,)
        Means of the features.
    is_number : ndarray of bool of shape (n_tokens,)
        Tokens of one value; the others have four.
    knots : ndarray of shape (KNOTS, n_numbers)
        Quantiles of the numbers.
    order : ndarray of int of shape (n_tokens,)
        Order in which two of them make a pair.
    names : ndarray of shape (n_pairs, NAME_SIZE)
        Random vectors that tell pairs from each other.
    """

    projection: Array
    mean: Array
    is_number: NDArray[np.bool_]
    knots: Array
    order: NDArray[np.intp]
    names: Array

    def __call__(self, X: NDArray[Any]) -> Array:
        """Compute cells of shape (n_pairs, n_rows, PAIR * CELL_SIZE)."""
        values = (X - self.mean).astype(np.float32) @ self.projection
        cells = np.zeros((self.is_number.size, X.shape[0], CELL_SIZE), np.float32)
        n_numbers = int(self.is_number.sum())
        numbers, codes = values[:, :n_numbers], values[:, n_numbers:]
        for k in range(n_numbers):
            cells[k, :, 0] = numbers[:, k]
            # Numbers that differ by rounding only are equal.
            low = np.searchsorted(self.knots[:, k], numbers[:, k] - EQUAL, "left")
            high = np.searchsorted(self.knots[:, k], numbers[:, k] + EQUAL, "right")
            cells[k, :, 1] = (low + high) / KNOTS - 1
        codes = codes.reshape(X.shape[0], -1, CODE_SIZE)
        cells[n_numbers:, :, :CODE_SIZE] = codes.transpose(1, 0, 2)
        np.clip(cells, -CELL_LIMIT, CELL_LIMIT, out=cells)
        cells[:n_numbers, :, CODE_SIZE] = 1
        cells[n_numbers:, :, CODE_SIZE + 1] = 1
        n_pairs = self.names.shape[0]
        pairs = np.zeros((n_pairs * PAIR, X.shape[0], CELL_SIZE), np.float32)
        pairs[: self.order.size] = cells[self.order]
        split = pairs.reshape(n_pairs, PAIR, X.shape[0], CELL_SIZE)
        return split.transpose(0, 2, 1, 3).reshape(n_pairs, X.shape[0], -1)


def fit_cells(
    X: NDArray[Any], columns: list[NDArray[np.intp]], rng: np.random.RandomState
) -> CellEncoder:
    """Find out how columns become tokens.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_features)
        Rows.
    columns : list of ndarray of int
        Features of every column.
    rng : RandomState
        Of the codes of categories.
    """
    n_features = X.shape[1]
    mean = X.mean(axis=0)
    deviation = X.std(axis=0)
    used = deviation > 1e-9 * max(1e-300, float(deviation.max(initial=0)))
    numbers: list[NDArray[Any]] = []
    codes: list[NDArray[Any]] = []
    for places in columns:
        alive = places[used[places]]
        two = np.array([np.unique(X[:, j]).size == 2 for j in alive], dtype=bool)
        if alive.size == 1:
            numbers.append(np.eye(n_features)[:, alive] / deviation[alive])
            continue
        flags, rest = alive[two], alive[~two]
        if rest.size == 1 and flags.size == 1:  # a number and where it is missing
            flags, rest = alive, rest[:0]
        if flags.size:
            P = np.zeros((n_features, CODE_SIZE))
            scale = 1 if rest.size or flags.size > 2 else deviation[flags][:, None]
            P[flags] = rng.standard_normal((flags.size, CODE_SIZE)) / scale
            codes.append(P)
        for start in range(0, min(rest.size, MAX_DIRECTIONS), CODE_SIZE):
            few = rest[start : start + CODE_SIZE]
            P = np.zeros((n_features, CODE_SIZE))
            turn = np.linalg.qr(rng.standard_normal((CODE_SIZE, CODE_SIZE)))[0]
            P[few] = turn[: few.size] / deviation[few][:, None]
            codes.append(P)
    P = np.hstack([*numbers, *codes]) if numbers or codes else np.zeros((n_features, 0))
    values = (X - mean) @ P
    P = P / values.std(axis=0).clip(1e-12)
    n_numbers = len(numbers)
    values = (X - mean) @ P[:, :n_numbers]
    knots = np.quantile(values, np.linspace(0, 1, KNOTS), axis=0, method="nearest")
    n_tokens = n_numbers + len(codes)
    return CellEncoder(
        P.astype(np.float32),
        mean,
        np.arange(n_tokens) < n_numbers,
        knots.astype(np.float32),
        rng.permutation(n_tokens),
        rng.standard_normal((-(-n_tokens // PAIR), NAME_SIZE)).astype(np.float32),
    )


class Network:
    """The network, given its weights.

    Parameters
    ----------
    weights : mapping of str to ndarray
        By the names of the trained network.
    """

    def __init__(self, weights: Mapping[str, NDArray[Any]]) -> None:
        self._weights = {k: np.asarray(v, np.float32) for k, v in weights.items()}
        self._n_heads = self._weights["out.weight"].shape[1] // HEAD_SIZE
        self.n_layers = 1 + max(
            int(k.split(".")[1]) for k in weights if k.startswith("layers.")
        )

    def context(
        self, cells: Array, names: Array, codes: NDArray[np.intp], n_classes: int
    ) -> "Context":
        """Read the rows that others may look at.

        Parameters
        ----------
        cells : ndarray of shape (n_pairs, n_rows, PAIR * CELL_SIZE)
            Cells of the rows.
        names : ndarray of shape (n_pairs, NAME_SIZE)
            Names of the pairs.
        codes : ndarray of int of shape (n_rows,)
            Classes of the rows, -1 where unknown.
        n_classes : int
            Number of classes.
        """
        memory: list[Any] = [None] * self.n_layers
        places = (names @ self._weights["identity.weight"].T)[:, None]
        tokens = self.tokens(cells, places, codes, n_classes)
        logits = self.run(tokens, n_classes, memory)
        return Context(self, places, memory, n_classes, logits)

    def tokens(
        self, cells: Array, places: Array, codes: NDArray[np.intp], n_classes: int
    ) -> Array:
        """Embed cells and marks of classes."""
        w = self._weights
        hidden = gelu(cells @ w["cell_up.weight"].T + w["cell_up.bias"])
        columns = hidden @ w["cell_down.weight"].T + w["cell_down.bias"] + places
        marks = (codes == np.arange(n_classes)[:, None]).astype(np.intp)
        marks[:, codes < 0] = 2
        return np.concatenate([columns, w["marks.weight"][marks]])

    def run(self, Z: Array, n_classes: int, memory: list[Any]) -> Array:
        """Pass tokens through all layers; fill the memory where it is empty."""
        w = self._weights
        for k in range(self.n_layers):
            name = f"layers.{k}."
            across = layer_norm(Z, w[name + "norms.0.weight"]).transpose(1, 0, 2)
            across = np.ascontiguousarray(across)
            q, keys, v = np.split(across @ w[name + "columns.weight"].T, 3, axis=2)
            mixed = self._attend(q, self._memory(keys, v), name + "columns")
            Z = Z + mixed.transpose(1, 0, 2)
            if k + 1 == self.n_layers:  # no one looks at other tokens any more
                Z = Z[-n_classes:]
            down = layer_norm(Z, w[name + "norms.1.weight"])
            q, *others = w[name + "rows.weight"].reshape(3, -1, down.shape[2])
            if memory[k] is None:
                keys, v = self._memory(*(down @ other.T for other in others))
                memory[k] = np.ascontiguousarray(keys), np.ascontiguousarray(v)
            Z += self._attend(down @ q.T, memory[k], name + "rows")
            hidden = layer_norm(Z, w[name + "norms.2.weight"])
            hidden = gelu(hidden @ w[name + "up.weight"].T + w[name + "up.bias"])
            Z += hidden @ w[name + "down.weight"].T + w[name + "down.bias"]
        last = layer_norm(Z, w["norm.weight"])
        return (last @ w["out.weight"].T + w["out.bias"])[..., 0].T

    def _heads(self, Z: Array) -> Array:
        outer, length, size = Z.shape
        parts = Z.reshape(outer, length, self._n_heads, size // self._n_heads)
        return parts.transpose(0, 2, 1, 3)

    def _memory(self, keys: Array, values: Array) -> tuple[Array, Array]:
        return self._heads(keys).swapaxes(2, 3), self._heads(values)

    def _attend(self, q: Array, memory: tuple[Array, Array], name: str) -> Array:
        keys, values = memory
        scores: Array = (self._heads(q) * np.float32(HEAD_SIZE**-0.5)) @ keys
        scores -= scores.max(axis=3, keepdims=True)
        np.exp(scores, out=scores)
        mixed: Array = scores @ values
        mixed /= scores.sum(axis=3, keepdims=True)
        flat: Array = mixed.transpose(0, 2, 1, 3).reshape(q.shape)
        return flat @ self._weights[name + "_out.weight"].T


@dataclass(frozen=True)
class Context:
    """Rows that were read, to be looked at by others."""

    network: Network
    places: Array
    memory: list[Any]
    n_classes: int
    logits: Array

    def __call__(self, cells: Array) -> Array:
        """Compute logits of other rows, without a label."""
        unknown = np.full(cells.shape[1], -1)
        tokens = self.network.tokens(cells, self.places, unknown, self.n_classes)
        return self.network.run(tokens, self.n_classes, self.memory)


def layer_norm(Z: Array, weight: Array) -> Array:
    """Normalise tokens."""
    Z = Z - Z.mean(axis=-1, keepdims=True)
    power = np.einsum("...k,...k->...", Z, Z)[..., None] / Z.shape[-1]
    Z /= np.sqrt(power + np.float32(1e-5))
    Z *= weight
    return Z


def gelu(Z: Array) -> Array:
    """Apply the approximate Gaussian error unit."""
    inner = Z * Z
    inner *= np.float32(0.044715)
    inner += 1
    inner *= Z
    inner *= np.float32(np.sqrt(2 / np.pi))
    np.tanh(inner, out=inner)
    inner += 1
    inner *= Z
    inner *= np.float32(0.5)
    return inner
