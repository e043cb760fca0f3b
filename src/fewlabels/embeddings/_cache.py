"""Vectors on disk, by what they were computed from."""

# SPDX-License-Identifier: BSD-3-Clause

import contextlib
import os
import re
import tempfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewlabels.embeddings._protocol import Embedder

# The folder beside the data.
FOLDER = ".fewlabels"
_DATA: ContextVar[Path | None] = ContextVar("_DATA", default=None)


@contextmanager
def cached_in(folder: str | os.PathLike[str] | None) -> Iterator[None]:
    """Let whatever is embedded within the block keep its vectors beside the data.

    Parameters
    ----------
    folder : path-like or None
        The folder of the data; None keeps nothing.

    Yields
    ------
    None
        The block.

    Examples
    --------
    >>> from fewlabels.embeddings import cache_folder, cached_in
    >>> with cached_in("data"):
    ...     print(cache_folder())
    data
    """
    before = _DATA.set(None if folder is None else Path(folder))
    try:
        yield
    finally:
        _DATA.reset(before)


def cache_folder() -> Path | None:
    """Return the folder of the data that is being embedded.

    Returns
    -------
    folder : Path or None
        As given to :func:`cached_in`.

    Examples
    --------
    >>> from fewlabels.embeddings import cache_folder, cached_in
    >>> with cached_in("photos"):
    ...     cache_folder().name
    'photos'
    """
    return _DATA.get()


class EmbeddingCache:
    """Keeps vectors beside the data, by the contents of the files.

    A vector is found again wherever its file has moved to within the folder, and never
    for a file that has changed. Each run adds a file of its own to those of earlier
    ones, record by record with a check sum: what an interrupted run has written counts,
    up to the record that it was writing, and runs at the same time do not disturb each
    other.

    Parameters
    ----------
    folder : path-like or None
        The folder of the data, in which ``.fewlabels`` is made; None keeps vectors in
        memory only.
    embedder : Embedder
        Whose vectors these are.

    Attributes
    ----------
    note : str
        Why nothing can be kept on disk, or nothing.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from fewlabels.embeddings import EmbeddingCache
    >>> class Lengths:
    ...     name, version, takes, n_dimensions = "lengths", "1", "text", 1
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with EmbeddingCache(folder, Lengths()) as cache:
    ...         cache.add({b"0" * 32: np.array([5.0])})
    ...     again = EmbeddingCache(folder, Lengths())
    ...     again.get(b"0" * 32)
    array([5.], dtype=float32)
    """

    def __init__(
        self, folder: str | os.PathLike[str] | None, embedder: Embedder
    ) -> None:
        self.note = ""
        self._vectors: dict[bytes, NDArray[np.float32]] = {}
        self._file: Any = None
        self._folder: Path | None = None
        self._record = np.dtype(
            [
                ("digest", "V32"),
                ("vector", "<f4", (embedder.n_dimensions,)),
                ("check", "<u4"),
            ]
        )
        if folder is None:
            return
        plain = re.sub(r"[^\w.-]+", "_", f"{embedder.name}-{embedder.version}")
        self._folder = Path(folder, FOLDER, f"{plain}-{embedder.n_dimensions}")
        for path in sorted(self._folder.glob("*.vectors")):
            self._read(path)

    def _read(self, path: Path) -> None:
        try:
            data = path.read_bytes()
        except OSError:
            return
        n_whole = len(data) // self._record.itemsize
        records = np.frombuffer(data, self._record, count=n_whole)
        for record in records:
            raw = record.tobytes()
            if zlib.crc32(raw[:-4]) == record["check"]:
                self._vectors[raw[:32]] = record["vector"]

    def get(self, digest: bytes) -> NDArray[np.float32] | None:
        """Find a vector.

        Parameters
        ----------
        digest : bytes of length 32
            SHA-256 of the file.

        Returns
        -------
        vector : ndarray or None
            Its vector, if it was computed before.
        """
        return self._vectors.get(digest)

    def add(self, vectors: Mapping[bytes, NDArray[Any]]) -> None:
        """Keep vectors, on disk before this returns.

        Parameters
        ----------
        vectors : dict of bytes to ndarray
            Vectors by the SHA-256 of their files.
        """
        records = np.zeros(len(vectors), dtype=self._record)
        for record, (digest, vector) in zip(records, vectors.items(), strict=True):
            record["digest"] = np.void(digest)
            record["vector"] = vector
            record["check"] = zlib.crc32(record.tobytes()[:-4])
            self._vectors[digest] = record["vector"].copy()
        if self._folder is None or not len(records):
            return
        try:
            if self._file is None:
                self._file = self._opened(self._folder)
            self._file.write(records.tobytes())
            self._file.flush()
        except OSError as error:
            self.note = (
                f"Embeddings cannot be kept in {self._folder} "
                f"({error.strerror or error}): the next run computes them again."
            )
            self.close()
            self._folder = None

    @staticmethod
    def _opened(folder: Path) -> Any:
        folder.mkdir(parents=True, exist_ok=True)
        number, name = tempfile.mkstemp(".vectors", "", folder)
        with contextlib.suppress(OSError):
            os.chmod(name, 0o644)  # others who can read the data gain nothing new
        return os.fdopen(number, "wb")

    def close(self) -> None:
        """Close the file of this run."""
        if self._file is not None:
            with contextlib.suppress(OSError):
                self._file.close()
            self._file = None

    def __enter__(self) -> "EmbeddingCache":
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()
