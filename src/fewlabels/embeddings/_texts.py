"""Vectors of texts, by word vectors or networks whose weights lie in packages."""

# SPDX-License-Identifier: BSD-3-Clause

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from fewlabels.embeddings._weights import packaged_file

# A longer text is seen through this many pieces of this many characters, evenly spread
# from its beginning to its end: enough for its topic, and about as much as small
# networks read at a time.
PIECE = 1000
MAX_PIECES = 4
# How far back a piece begins or ends to break no word.
WORD = 30

_WORDLLAMA = {
    "weights/l2_supercat_256.safetensors": (
        "64b47a2dc493cb8e85944076601189739852d7b64e0e1eedcb1937a251cd9fd5"
    ),
    "tokenizers/l2_supercat_tokenizer_config.json": (
        "93248f2a9ec36c7b35f700a033d5f36228aae48db61aee31007fa49062cdeb68"
    ),
}


def text_pieces(text: str) -> list[str]:
    """Cut pieces out of a long text.

    Parameters
    ----------
    text : str
        The text.

    Returns
    -------
    pieces : list of str
        The text itself if it is short; nothing if it is empty.

    Examples
    --------
    >>> from fewlabels.embeddings import text_pieces
    >>> text_pieces("a short text")
    ['a short text']
    >>> [len(piece) for piece in text_pieces("word " * 600)]
    [999, 994, 999]
    """
    text = text.strip()
    if len(text) <= PIECE:
        return [text] if text else []
    n_pieces = min(MAX_PIECES, -(-len(text) // PIECE))
    starts = np.linspace(0, len(text) - PIECE, n_pieces).astype(int)
    pieces = []
    for start in starts:
        piece = text[start : start + PIECE]
        head, space, rest = piece.partition(" ")
        if start > 0 and space and len(head) <= WORD:
            piece = rest
        rest, space, tail = piece.rpartition(" ")
        if start + PIECE < len(text) and space and len(tail) <= WORD:
            piece = rest
        pieces.append(piece)
    return pieces


class TextEmbedder:
    """Embeds texts: the mean of the vectors of their pieces, of length one.

    Parameters
    ----------
    name : str
        What to call it.
    function : callable
        From a list of texts to an array with a row for each.
    version : str
        Changes with what the vectors depend on.
    n_dimensions : int, default=None
        Length of a vector; found by trying where it is not known.
    is_fast : bool, default=False
        Whether computing a vector takes no longer than looking it up.
    latin_only : bool, default=False
        Whether it was made for languages in Latin letters.

    Attributes
    ----------
    takes : str
        "text".

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.embeddings import TextEmbedder
    >>> def lengths(texts):
    ...     return [[len(text), 1.0] for text in texts]
    >>> TextEmbedder("lengths", lengths, "1").embed(["", "a word"]).shape
    (2, 2)
    """

    takes = "text"

    def __init__(
        self,
        name: str,
        function: Callable[[list[str]], Any],
        version: str,
        n_dimensions: int | None = None,
        *,
        is_fast: bool = False,
        latin_only: bool = False,
    ) -> None:
        self.name, self.version = name, version
        self.is_fast, self.latin_only = is_fast, latin_only
        self._function = function
        self.n_dimensions = n_dimensions or self._rows(["text"]).shape[1]

    def read(self, data: bytes) -> str:
        """Read a file as UTF-8.

        Parameters
        ----------
        data : bytes
            The file.

        Returns
        -------
        text : str
            What it holds.
        """
        return data.decode("utf-8", errors="replace")

    def embed(self, items: Sequence[str]) -> NDArray[np.float32]:
        """Compute the vectors of texts.

        Parameters
        ----------
        items : sequence of str
            The texts.

        Returns
        -------
        vectors : ndarray of shape (n_items, n_dimensions)
            Of length one; zero for an empty text.
        """
        pieces = [text_pieces(text) for text in items]
        sizes = [len(some) for some in pieces]
        vectors = np.zeros((len(items), self.n_dimensions), dtype=np.float32)
        if sum(sizes):
            rows = self._rows([piece for some in pieces for piece in some])
            np.add.at(vectors, np.repeat(np.arange(len(items)), sizes), _unit(rows))
        return _unit(vectors)

    def _rows(self, texts: list[str]) -> NDArray[np.float32]:
        made = self._function(texts)
        if hasattr(made, "detach"):  # of torch
            made = made.detach().cpu().numpy()
        rows = np.asarray(made, dtype=np.float32)
        if rows.ndim != 2 or len(rows) != len(texts) or not np.isfinite(rows).all():
            raise ValueError(
                f"{self.name} returned an array of shape {rows.shape} for "
                f"{len(texts)} texts: return a row of finite numbers for each."
            )
        return rows


def _unit(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows))[:, None]
    unit = rows / np.where(lengths > 0, lengths, 1)
    return unit.astype(np.float32)


def tokenizer_of(data: bytes, extra: str) -> Any:
    """Make a tokenizer from its description.

    Parameters
    ----------
    data : bytes
        The description in JSON.
    extra : str
        Extra of this project that installs the package for it.

    Returns
    -------
    tokenizer : tokenizers.Tokenizer
        Which neither pads nor cuts texts.
    """
    try:
        from tokenizers import Tokenizer
    except ImportError:
        raise ImportError(
            f'Words are split by tokenizers: pip install "fewlabels[{extra}]".'
        ) from None
    tokenizer = Tokenizer.from_str(data.decode())
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer


def wordllama_embedder() -> TextEmbedder:
    """Make the embedder of the word vectors in the package wordllama.

    Its code is not loaded: the vectors of the tokens of a text are averaged here,
    without padding texts to the longest.

    Returns
    -------
    embedder : TextEmbedder
        The embedder.
    """
    weights, words = (
        packaged_file("wordllama", path, sha256, extra="embeddings")
        for path, sha256 in _WORDLLAMA.items()
    )
    from safetensors.numpy import load

    table = load(weights)["embedding.weight"].astype(np.float32)
    tokenizer = tokenizer_of(words, "embeddings")

    def means(texts: list[str]) -> NDArray[np.float32]:
        tokens = [
            encoded.ids
            for encoded in tokenizer.encode_batch_fast(texts, add_special_tokens=False)
        ]
        sizes = np.array([len(ids) for ids in tokens])
        ends = np.concatenate([[0], np.cumsum(sizes)])
        flat = np.fromiter((t for ids in tokens for t in ids), np.int64, ends[-1])
        ones = np.ones(flat.size, dtype=np.float32)
        counts = csr_array((ones, flat, ends), shape=(len(texts), len(table)))
        return (counts @ table) / np.maximum(sizes, 1)[:, None]

    size = table.shape[1]
    return TextEmbedder("wordllama", means, "2", size, is_fast=True, latin_only=True)
