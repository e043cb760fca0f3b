"""Word vectors of a small network whose weights are part of its package."""

# SPDX-License-Identifier: BSD-3-Clause

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

# Dimensions of the vector of a text.
N_DIMENSIONS = 256


@cache
def _network() -> Any:
    try:
        import wordllama
    except ImportError:
        raise ImportError(
            'Embeddings of text need WordLlama: pip install "fewlabels[embeddings]".'
        ) from None
    # The weights are in the package: nothing is downloaded.
    return wordllama.WordLlama.load(
        cache_dir=Path(wordllama.__file__).parent,
        dim=N_DIMENSIONS,
        disable_download=True,
    )


def embed_texts(texts: Any) -> NDArray[np.float64]:
    """Turn texts into vectors: the normalised averages of their word vectors.

    The word vectors were learned by WordLlama from large language models. They reflect
    that a sofa and a couch are much the same, best in English, but not the order of
    words.

    Parameters
    ----------
    texts : sequence of str
        The texts.

    Returns
    -------
    vectors : ndarray of shape (n_texts, 256)
        One row per text; zero for an empty text.

    Raises
    ------
    ImportError
        Without the extra ``embeddings``.

    See Also
    --------
    TableTransformer : Uses them with ``embed=True``.

    Examples
    --------
    >>> from fewlabels.preprocessing import embed_texts
    >>> names = ["a red sofa", "scarlet couch", "cordless drill"]
    >>> sofa, couch, drill = embed_texts(names)
    >>> bool(sofa @ couch > sofa @ drill)
    True
    """
    texts = [str(text) for text in texts]
    vectors = np.zeros((len(texts), N_DIMENSIONS))
    filled = [k for k, text in enumerate(texts) if text.strip()]
    if filled:
        found = _network().embed([texts[k] for k in filled])
        vectors[filled] = np.asarray(found, dtype=np.float64)
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / np.where(lengths > 0, lengths, 1.0)
