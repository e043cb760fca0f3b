"""Core: turn tables with columns of several kinds into numbers on one scale."""

# SPDX-License-Identifier: BSD-3-Clause

from typing import TYPE_CHECKING, Any

from fewlabels.preprocessing._columns import describe_columns, named_kinds
from fewlabels.preprocessing._description import ColumnDescription
from fewlabels.preprocessing._errors import (
    FileError,
    TableError,
    UnknownColumnError,
)
from fewlabels.preprocessing._summary import (
    ColumnSummary,
    Moments,
    TableSample,
    TableSummary,
)
from fewlabels.preprocessing._table import Table

if TYPE_CHECKING:
    from fewlabels.preprocessing._embeddings import embed_texts
    from fewlabels.preprocessing._frames import FrameEncoding
    from fewlabels.preprocessing._transformer import TableTransformer

__all__ = [
    "ColumnDescription",
    "ColumnSummary",
    "FileError",
    "FrameEncoding",
    "Moments",
    "Table",
    "TableError",
    "TableSample",
    "TableSummary",
    "TableTransformer",
    "UnknownColumnError",
    "describe_columns",
    "embed_texts",
    "named_kinds",
]


def __getattr__(name: str) -> Any:
    # Imported lazily, so that just reading a table does not load scikit-learn.
    if name == "TableTransformer":
        from fewlabels.preprocessing._transformer import TableTransformer

        return TableTransformer
    if name == "embed_texts":
        from fewlabels.preprocessing._embeddings import embed_texts

        return embed_texts
    if name == "FrameEncoding":
        from fewlabels.preprocessing._frames import FrameEncoding

        return FrameEncoding
    raise AttributeError(f"module 'fewlabels.preprocessing' has no attribute {name!r}")
