"""Vectors of the meaning of texts, each computed once."""

# SPDX-License-Identifier: BSD-3-Clause

import hashlib
import os
import unicodedata
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewlabels._words import plural
from fewlabels.embeddings import Embedder, EmbeddingCache, load_embedder
from fewlabels.preprocessing._errors import TableError

# Texts at a time: what an interruption can lose.
BATCH = 256
# Texts and letters of them by which scripts are told, and the share of texts in others
# than Latin from which this is said.
_SAMPLE, _LETTERS, _FOREIGN = 500, 100, 0.1


def text_embedder(name: bool | str) -> Embedder | None:
    """Find the embedder of texts.

    Parameters
    ----------
    name : bool or str
        Its name; True for the default; "auto" for the default if it is installed;
        False or "none" for none.

    Returns
    -------
    embedder : Embedder or None
        The embedder.
    """
    if name is False or name == "none":
        return None
    try:
        wanted = "text" if name in (True, "auto") else str(name)
        embedder = load_embedder(wanted, takes="text")
    except (ImportError, ValueError) as error:
        if name != "auto":
            raise
        if isinstance(error, ValueError):  # installed, but not as it should be
            warnings.warn(f"Texts are compared by words only: {error}", stacklevel=2)
        return None
    if embedder.takes != "text":
        raise TableError(
            f"The embedder {embedder.name!r} takes {embedder.takes}, no texts."
        )
    return embedder


def embed_texts(
    texts: Any,
    embedder: str | Embedder = "text",
    *,
    cache: str | os.PathLike[str] | None = None,
) -> NDArray[np.float64]:
    """Turn texts into vectors of length one, near each other where meanings are alike.

    Long texts are seen through pieces, whose vectors are averaged.

    Parameters
    ----------
    texts : sequence of str
        The texts.
    embedder : str or Embedder, default="text"
        Its name, see :func:`fewlabels.embeddings.load_embedder`. The default is
        "wordllama": averages of word vectors that were learned from large language
        models. They reflect that a sofa and a couch are much the same, best in
        English, but not the order of words.
    cache : path-like or None, default=None
        Folder of the data, where vectors are kept in ``.fewlabels`` by the contents of
        texts, and are not computed again; for embedders that are not fast anyway.

    Returns
    -------
    vectors : ndarray of shape (n_texts, n_dimensions)
        One row per text; zero for an empty text.

    Raises
    ------
    ImportError
        If the package of the embedder is not installed; that of the default is in the
        extra ``embeddings``.

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
    found = embedder
    if isinstance(found, str):
        found = load_embedder(found, takes="text")
    distinct: dict[str, int] = {}
    places = [distinct.setdefault(str(text).strip(), len(distinct)) for text in texts]
    vectors = np.zeros((len(distinct), found.n_dimensions))
    folder = None if getattr(found, "is_fast", False) else cache
    with EmbeddingCache(folder, found) as kept:
        given = [(text, place) for text, place in distinct.items() if text]
        for start in range(0, len(given), BATCH):
            batch = given[start : start + BATCH]
            coded = (text.encode("utf-8", "replace") for text, _ in batch)
            digests = [hashlib.sha256(text).digest() for text in coded]
            new = [k for k, digest in enumerate(digests) if kept.get(digest) is None]
            if new:
                made = found.embed([batch[k][0] for k in new])
                kept.add({digests[k]: row for k, row in zip(new, made, strict=True)})
            vectors[[place for _, place in batch]] = [kept.get(d) for d in digests]
        if kept.note:
            warnings.warn(kept.note, stacklevel=2)
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return (vectors / np.where(lengths > 0, lengths, 1.0))[places]


def script_note(texts: NDArray[Any], embedder: Embedder, column: str) -> str:
    """Say whether texts are in scripts that an embedder was not made for.

    Parameters
    ----------
    texts : ndarray of str
        The texts of a column.
    embedder : Embedder
        The embedder.
    column : str
        Name of the column.

    Returns
    -------
    note : str
        What to tell, or nothing.
    """
    if not getattr(embedder, "latin_only", False):
        return ""
    sample = texts[:: max(1, len(texts) // _SAMPLE)]
    scripts = [script for text in sample if (script := _script(text))]
    foreign = [script for script in scripts if script != "LATIN"]
    if len(foreign) <= _FOREIGN * len(scripts):
        return ""
    most = max(set(foreign), key=foreign.count).capitalize()
    return (
        f"Column {column!r}: {len(foreign) / len(scripts):.0%} of "
        f"{plural(len(scripts), 'text')} looked at are not in Latin letters (mostly "
        f"{most}), and {embedder.name} knows little of their meaning; labels decide "
        "whether words count more."
    )


def _script(text: str) -> str:
    """Name the script of most letters, nothing where there are none."""
    counts: dict[str, int] = {}
    for letter in filter(str.isalpha, text[: 3 * _LETTERS]):
        script = unicodedata.name(letter, "").partition(" ")[0]
        counts[script] = counts.get(script, 0) + 1
    return max(counts, key=lambda script: counts[script]) if counts else ""
