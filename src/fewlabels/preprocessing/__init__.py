"""From tables with columns of several kinds to numbers on one scale."""

# SPDX-License-Identifier: BSD-3-Clause

from fewlabels.preprocessing._columns import ColumnDescription, describe_columns
from fewlabels.preprocessing._errors import (
    FileError,
    TableError,
    UnknownColumnError,
)
from fewlabels.preprocessing._table import Table
from fewlabels.preprocessing._transformer import TableTransformer

__all__ = [
    "ColumnDescription",
    "FileError",
    "Table",
    "TableError",
    "TableTransformer",
    "UnknownColumnError",
    "describe_columns",
]
