"""From a table with holes in its label column to labels."""

# SPDX-License-Identifier: BSD-3-Clause

from fewlabels.preprocessing import (
    ColumnDescription,
    FileError,
    Table,
    TableError,
    TableTransformer,
    UnknownColumnError,
    describe_columns,
)
from fewlabels.tabular._models import TableModel, load_model, save_model
from fewlabels.tabular._pictures import positions
from fewlabels.tabular._report import (
    cluster_report,
    label_report,
    prediction_report,
)
from fewlabels.tabular._targets import TargetColumn, read_target, revealing_columns
from fewlabels.tabular.files import read_table, write_table
from fewlabels.tabular.jobs import (
    ClusteredTable,
    LabelledTable,
    Suggestion,
    cluster_table,
    label_table,
    suggest_rows,
)

__all__ = [
    "ClusteredTable",
    "ColumnDescription",
    "FileError",
    "LabelledTable",
    "Suggestion",
    "Table",
    "TableError",
    "TableModel",
    "TableTransformer",
    "TargetColumn",
    "UnknownColumnError",
    "cluster_report",
    "cluster_table",
    "describe_columns",
    "label_report",
    "label_table",
    "load_model",
    "positions",
    "prediction_report",
    "read_table",
    "read_target",
    "revealing_columns",
    "save_model",
    "suggest_rows",
    "write_table",
]
