"""File formats: one class each, whose instances are files that were read.

A file keeps all it needs to be written again with columns added and everything else
unchanged.
"""

# SPDX-License-Identifier: BSD-3-Clause

from fewlabels.tabular._formats._base import (
    EXTRA,
    Appender,
    FileFormat,
    Reading,
    Values,
    written,
)
from fewlabels.tabular._formats._database import (
    Database,
    DatabasePlace,
    DuckdbFile,
    SqliteFile,
    check_new_table,
    database_place,
    insert_table,
)
from fewlabels.tabular._formats._delimited import DelimitedFile
from fewlabels.tabular._formats._json import JsonFile
from fewlabels.tabular._formats._parquet import ParquetFile
from fewlabels.tabular._formats._spreadsheet import Spreadsheet
from fewlabels.tabular._formats._workbook import Workbook, check_sheet

__all__ = [
    "BY_SUFFIX",
    "EXTRA",
    "READ_ONLY",
    "Appender",
    "Database",
    "DatabasePlace",
    "DelimitedFile",
    "DuckdbFile",
    "FileFormat",
    "JsonFile",
    "ParquetFile",
    "Reading",
    "Spreadsheet",
    "SqliteFile",
    "Values",
    "Workbook",
    "check_new_table",
    "check_sheet",
    "database_place",
    "insert_table",
    "written",
]

BY_SUFFIX: dict[str, type[FileFormat]] = {
    suffix: kind
    for kind in (DelimitedFile, JsonFile, ParquetFile, Workbook)
    for suffix in kind.suffixes
}
# Formats that can be read but not written.
READ_ONLY: dict[str, type[FileFormat]] = {
    suffix: kind
    for kind in (Spreadsheet, SqliteFile, DuckdbFile)
    for suffix in kind.suffixes
}
