"""Core: from files to vectors by networks that were trained elsewhere."""

# SPDX-License-Identifier: BSD-3-Clause

from typing import TYPE_CHECKING, Any

from fewlabels.embeddings._cache import EmbeddingCache
from fewlabels.embeddings._cells import picture_source
from fewlabels.embeddings._pictures import (
    PICTURE_SUFFIXES,
    open_picture,
    read_picture,
)
from fewlabels.embeddings._protocol import (
    Embedder,
    UnreadableError,
    embedder_names,
    load_embedder,
)

if TYPE_CHECKING:
    from fewlabels.embeddings._files import EmbeddedFiles, embed_files

__all__ = [
    "PICTURE_SUFFIXES",
    "EmbeddedFiles",
    "Embedder",
    "EmbeddingCache",
    "UnreadableError",
    "embed_files",
    "embedder_names",
    "load_embedder",
    "open_picture",
    "picture_source",
    "read_picture",
]


def __getattr__(name: str) -> Any:
    # Imported late: finding pictures does not need scikit-learn, which threads load.
    if name in ("EmbeddedFiles", "embed_files"):
        from fewlabels.embeddings import _files

        return getattr(_files, name)
    raise AttributeError(f"module 'fewlabels.embeddings' has no attribute {name!r}")
