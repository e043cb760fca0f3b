"""Read single cells of a table: numbers, dates, lists, text, and missing values."""

# SPDX-License-Identifier: BSD-3-Clause

from fewlabels._missing import MISSING, PLACEHOLDERS
from fewlabels.preprocessing._dates import date_notation, to_seconds
from fewlabels.preprocessing._numbers import decimal_sign, number_notation, to_numbers
from fewlabels.preprocessing._parts import to_vectors, vector_length
from fewlabels.preprocessing._pictures import find_pictures, folder_of
from fewlabels.preprocessing._values import (
    LARGEST,
    arrow_values,
    column_values,
    counts,
    is_missing,
    is_placeholder,
    missing_mask,
    object_array,
    text_of,
    to_texts,
    unique_names,
)

__all__ = [
    "LARGEST",
    "MISSING",
    "PLACEHOLDERS",
    "arrow_values",
    "column_values",
    "counts",
    "date_notation",
    "decimal_sign",
    "find_pictures",
    "folder_of",
    "is_missing",
    "is_placeholder",
    "missing_mask",
    "number_notation",
    "object_array",
    "text_of",
    "to_numbers",
    "to_seconds",
    "to_texts",
    "to_vectors",
    "unique_names",
    "vector_length",
]
