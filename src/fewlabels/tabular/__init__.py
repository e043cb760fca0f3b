"""Core: label every row of a table in which some labels are missing."""

# SPDX-License-Identifier: BSD-3-Clause

import importlib
from typing import TYPE_CHECKING, Any

from fewlabels.preprocessing import (
    ColumnDescription,
    FileError,
    Table,
    TableError,
    UnknownColumnError,
    describe_columns,
)
from fewlabels.tabular._targets import TargetColumn, read_target, revealing_columns
from fewlabels.tabular.files import fill_cells, read_table, write_table

if TYPE_CHECKING:
    from fewlabels.preprocessing import TableTransformer
    from fewlabels.tabular._models import TableModel, load_model, save_model
    from fewlabels.tabular._pictures import positions
    from fewlabels.tabular._report import (
        cluster_report,
        label_report,
        prediction_report,
    )
    from fewlabels.tabular.asking import Suggestion, suggest_rows
    from fewlabels.tabular.grouping import ClusteredTable, cluster_table
    from fewlabels.tabular.labeling import EstimatedTable, LabeledTable, label_table

__all__ = [
    "ClusteredTable",
    "ColumnDescription",
    "EstimatedTable",
    "FileError",
    "LabeledTable",
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
    "fill_cells",
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

# These need scikit-learn, whose import takes a second; reading a table does not.
_LATER = {
    "ClusteredTable": "fewlabels.tabular.grouping",
    "EstimatedTable": "fewlabels.tabular.labeling",
    "LabeledTable": "fewlabels.tabular.labeling",
    "Suggestion": "fewlabels.tabular.asking",
    "TableModel": "fewlabels.tabular._models",
    "TableTransformer": "fewlabels.preprocessing",
    "cluster_report": "fewlabels.tabular._report",
    "cluster_table": "fewlabels.tabular.grouping",
    "label_report": "fewlabels.tabular._report",
    "label_table": "fewlabels.tabular.labeling",
    "load_model": "fewlabels.tabular._models",
    "positions": "fewlabels.tabular._pictures",
    "prediction_report": "fewlabels.tabular._report",
    "save_model": "fewlabels.tabular._models",
    "suggest_rows": "fewlabels.tabular.asking",
}


def __getattr__(name: str) -> Any:
    if name in _LATER:
        return getattr(importlib.import_module(_LATER[name]), name)
    raise AttributeError(f"module 'fewlabels.tabular' has no attribute {name!r}")
