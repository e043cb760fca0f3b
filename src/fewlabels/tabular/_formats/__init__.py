"""File formats: a class each, whose instances are files as they were read.

A file keeps what it takes to be written again with columns added, so that what was
there is not touched.
"""

# SPDX-License-Identifier: BSD-3-Clause

from fewlabels.tabular._formats._base import (
    EXTRA,
    Appender,
    FileFormat,
    Reading,
    Values,
)
from fewlabels.tabular._formats._delimited import DelimitedFile
from fewlabels.tabular._formats._json import JsonFile
from fewlabels.tabular._formats._parquet import ParquetFile
from fewlabels.tabular._formats._workbook import Workbook, check_sheet

__all__ = [
    "BY_SUFFIX",
    "EXTRA",
    "Appender",
    "DelimitedFile",
    "FileFormat",
    "JsonFile",
    "ParquetFile",
    "Reading",
    "Values",
    "Workbook",
    "check_sheet",
]

BY_SUFFIX: dict[str, type[FileFormat]] = {
    suffix: kind
    for kind in (DelimitedFile, JsonFile, ParquetFile, Workbook)
    for suffix in kind.suffixes
}
