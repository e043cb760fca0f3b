"""Let estimators take frames with words, dates and missing values."""

# SPDX-License-Identifier: BSD-3-Clause

from typing import Any

import numpy as np
from scipy.sparse import issparse

from fewlabels._lazy import refuse_lazy
from fewlabels.preprocessing._summary import TableSample
from fewlabels.preprocessing._table import (
    Table,
    TableError,
    check_names,
    holds_texts,
    refuse_records,
)
from fewlabels.preprocessing._transformer import TableTransformer


class FrameEncoding:
    """A mixin for estimators that take numbers, and frames through a transformer.

    Arrays of numbers, and frames of pandas, polars or pyarrow with only numbers and no
    missing values, go to the estimator directly. All others, including lists of texts
    and arrays of objects, go through a :class:`TableTransformer`, kept as
    `transformer_` (None if there is none).

    Examples
    --------
    >>> import pandas as pd
    >>> from fewlabels.preprocessing import FrameEncoding
    >>> encoding = FrameEncoding()
    >>> frame = pd.DataFrame({"size": [1.0, None], "colour": ["red", "blue"]})
    >>> encoding.encode_frame(frame).shape
    (2, 4)
    """

    transformer_: TableTransformer | None
    n_features_in_: int

    def encode_frame(self, X: Any) -> Any:
        """Encode the rows of `fit` if they need it.

        Parameters
        ----------
        X : DataFrame of pandas or polars, array-like, sparse matrix or TableSample
            Training rows; a list or one-dimensional array holds one text per row.

        Returns
        -------
        X : DataFrame, array-like or sparse matrix
            Numbers on one scale if `X` had to be encoded, else `X` itself.
        """
        self.transformer_ = None
        sample = X if isinstance(X, TableSample) else TableSample(X, None)
        has_missing = sample.summary is not None and sample.summary.n_missing.any()
        if not needs_encoding(sample.rows, bool(has_missing)):
            return sample.rows
        self.transformer_ = TableTransformer()
        try:
            return self.transformer_.fit_transform(sample)
        except TableError as error:
            error.add_note(
                "Where this names parameters, they are those of TableTransformer of "
                "fewlabels.preprocessing: put one before the estimator in a pipeline."
            )
            raise

    def name_columns(self) -> None:
        """Set `n_features_in_` and `feature_names_in_` to those of an encoded frame."""
        if self.transformer_ is None:
            return
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(self.transformer_, name):
                setattr(self, name, getattr(self.transformer_, name))

    def encoded_scale(self, X: Any, scale: str) -> str:
        """Choose the scaling, as encoded rows are already on one scale.

        Parameters
        ----------
        X : array-like or sparse matrix
            What :meth:`encode_frame` returned.
        scale : str
            The scaling that the user asked for.

        Returns
        -------
        scale : str
            "none" or "unit" instead of "auto" where rows were encoded.
        """
        if self.transformer_ is None or scale != "auto":
            return scale
        return "unit" if issparse(X) else "none"


def needs_encoding(X: Any, has_missing: bool = False) -> bool:
    """Whether rows are not all numbers, or are a frame with missing values."""
    refuse_lazy(X)
    if issparse(X):
        return False
    if isinstance(X, Table | dict):
        return True
    is_frame = hasattr(X, "columns") and any(
        hasattr(X, name) for name in ("iloc", "get_columns", "column_names")
    )
    if not is_frame:
        return _holds_words(X)
    check_names(X)
    return has_missing or any(
        column.dtype.kind not in "biuf"
        or (column.dtype.kind == "f" and not np.isfinite(column).all())
        for column in Table.from_frame(X).columns
    )


def _holds_words(X: Any) -> bool:
    """Whether an array or list has words, dates or missing objects among its cells."""
    if getattr(getattr(X, "dtype", None), "kind", "O") in "biufc":
        return False
    try:
        cells = np.asarray(X)
    except (TypeError, ValueError):  # left to the checks of arrays
        return False
    if cells.dtype.kind not in "OUSM" or cells.ndim not in (1, 2):
        return False
    if cells.dtype.kind == "M" or (cells.ndim == 1 and holds_texts(X)):
        return True
    if cells.ndim == 1:
        refuse_records(cells)
        return False
    try:
        return not np.isfinite(cells.astype(np.float64)).all()
    except ValueError:
        return True
    except TypeError:  # None, a date, or what no column can hold
        return not any(isinstance(cell, dict | set) for cell in cells.flat)
