"""From files to vectors, each computed once."""

# SPDX-License-Identifier: BSD-3-Clause

import hashlib
import os
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewlabels._progress import ProgressLine
from fewlabels._threads import in_threads, threads
from fewlabels.embeddings._cache import EmbeddingCache
from fewlabels.embeddings._protocol import Embedder, UnreadableError, load_embedder

File = str | os.PathLike[str] | bytes
# Files whose contents are held at a time: what an interruption can lose.
BATCH = 32


@dataclass
class EmbeddedFiles:
    """Vectors of files.

    Attributes
    ----------
    vectors : ndarray of shape (n_files, n_dimensions)
        One row per file, NaN where it could not be read.
    unread : dict of int to str
        Why files could not be read, by their place.
    note : str
        What should be known of where the vectors are kept, or nothing.

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.embeddings import EmbeddedFiles
    >>> EmbeddedFiles(np.full((1, 2), np.nan), {0: "no picture"}).unread
    {0: 'no picture'}
    """

    vectors: NDArray[np.float32]
    unread: dict[int, str]
    note: str = ""


def embed_files(
    paths: Sequence[File],
    embedder: str | Embedder = "picture",
    *,
    cache: str | os.PathLike[str] | None = None,
    n_jobs: int | None = None,
    progress: bool | str | Callable[[float], None] = "auto",
) -> EmbeddedFiles:
    """Turn files into vectors, near each other where files are alike.

    Parameters
    ----------
    paths : sequence of path-like or bytes
        The files, or what they hold.
    embedder : str or Embedder, default="picture"
        Its name, see :func:`embedder_names`, or what the files hold for the default:
        EfficientNet-Lite2 for pictures, which needs the extra ``pictures`` and nothing
        from a network.
    cache : path-like or None, default=None
        Folder of the data, where vectors are kept in ``.fewlabels`` by the contents of
        files, and are not computed again.
    n_jobs : int, default=None
        Threads; None for all cores.
    progress : "auto", bool or callable, default="auto"
        A line with the time left; "auto" writes it on a terminal where this takes a
        while, and a callable is given the share that is done.

    Returns
    -------
    embedded : EmbeddedFiles
        The vectors, and the files that could not be read.

    See Also
    --------
    fewlabels.automatic.FewLabelsClassifier : Learn from them, with ``scale="unit"``.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import numpy as np
    >>> from fewlabels.embeddings import embed_files
    >>> class Lengths:
    ...     name, version, takes, n_dimensions = "lengths", "1", "text", 1
    ...     def read(self, data):
    ...         return data.decode()
    ...     def embed(self, items):
    ...         return np.array([[len(text)] for text in items], dtype=np.float32)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "a.txt")
    ...     _ = path.write_text("five!")
    ...     embed_files([path], Lengths(), cache=folder).vectors
    array([[5.]], dtype=float32)
    """
    found = load_embedder(embedder) if isinstance(embedder, str) else embedder
    vectors = np.full((len(paths), found.n_dimensions), np.nan, dtype=np.float32)
    unread: dict[int, str] = {}
    with (
        EmbeddingCache(cache, found) as kept,
        ProgressLine(progress, None) as line,
        threads(n_jobs),
        warnings.catch_warnings(),
    ):
        # Libraries that read files warn of metadata which does not matter here.
        warnings.simplefilter("ignore")
        for begin in range(0, len(paths), BATCH):
            batch = paths[begin : begin + BATCH]
            results = _embedded(batch, found, kept)
            for place, result in enumerate(results, start=begin):
                if isinstance(result, str):
                    unread[place] = result
                else:
                    vectors[place] = result
            done = begin + len(batch)
            line.update(done / len(paths), f"{done:,} of {len(paths):,} files")
        line.clear()
        return EmbeddedFiles(vectors, unread, kept.note)


def _embedded(
    paths: Sequence[File], embedder: Embedder, cache: EmbeddingCache
) -> list[Any]:
    """Find or compute the vectors of a batch; the reason where that is impossible."""
    read = in_threads(lambda path: _read(path, embedder, cache), paths)
    items = {key: item for key, item, why in read if item is not None}
    if items:
        made = embedder.embed(list(items.values()))
        cache.add(dict(zip(items, made, strict=True)))
    return [why or cache.get(key) for key, _, why in read]


def _read(
    path: File, embedder: Embedder, cache: EmbeddingCache
) -> tuple[bytes, Any, str]:
    """Digest of a file, what it holds unless that is known, and why it is unread."""
    try:
        data = path if isinstance(path, bytes) else Path(path).read_bytes()
    except OSError as error:
        return b"", None, str(error.strerror or error)
    digest = hashlib.sha256(data).digest()
    if cache.get(digest) is not None:
        return digest, None, ""
    try:
        return digest, embedder.read(data), ""
    except UnreadableError as error:
        return digest, None, str(error)
