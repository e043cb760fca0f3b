"""Core: from files to vectors by networks that were trained elsewhere."""

# SPDX-License-Identifier: BSD-3-Clause

from typing import TYPE_CHECKING, Any

from fewlabels.embeddings._cache import EmbeddingCache, cache_folder, cached_in
from fewlabels.embeddings._cells import picture_source
from fewlabels.embeddings._pictures import (
    PICTURE_SUFFIXES,
    open_picture,
    read_picture,
)
from fewlabels.embeddings._protocol import (
    Embedder,
    UnreadableError,
    allow_embedder,
    embedder_names,
    load_embedder,
)

if TYPE_CHECKING:
    from fewlabels.embeddings._files import EmbeddedFiles, embed_files
    from fewlabels.embeddings._texts import TextEmbedder, text_pieces

__all__ = [
    "PICTURE_SUFFIXES",
    "EmbeddedFiles",
    "Embedder",
    "EmbeddingCache",
    "TextEmbedder",
    "UnreadableError",
    "allow_embedder",
    "cache_folder",
    "cached_in",
    "embed_files",
    "embedder_names",
    "load_embedder",
    "open_picture",
    "picture_source",
    "read_picture",
    "text_pieces",
]


def __getattr__(name: str) -> Any:
    # Imported late: finding pictures does not need scikit-learn, which threads load.
    if name in ("EmbeddedFiles", "embed_files"):
        from fewlabels.embeddings import _files

        return getattr(_files, name)
    if name in ("TextEmbedder", "text_pieces"):
        from fewlabels.embeddings import _texts

        return getattr(_texts, name)
    raise AttributeError(f"module 'fewlabels.embeddings' has no attribute {name!r}")
