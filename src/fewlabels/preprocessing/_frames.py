"""Let estimators take frames with words, dates and missing values."""

# SPDX-License-Identifier: BSD-3-Clause

from typing import Any

import numpy as np
from scipy.sparse import issparse

from fewlabels._lazy import refuse_lazy
from fewlabels.preprocessing._summary import TableSample
from fewlabels.preprocessing._table import Table
from fewlabels.preprocessing._transformer import TableTransformer


class FrameEncoding:
    """A mixin for estimators that take numbers, and frames through a transformer.

    Frames of pandas and polars and tables of pyarrow whose columns are all numbers
    without missing values are left to the estimator, as are arrays. All others go
    through a :class:`TableTransformer`, kept as `transformer_` (None where there is
    none).

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

    def encode_frame(self, X: Any) -> Any:
        """Encode the rows of `fit` if they need it.

        Parameters
        ----------
        X : DataFrame of pandas or polars, array-like, sparse matrix or TableSample
            Training rows.

        Returns
        -------
        X : DataFrame, array-like or sparse matrix
            Numbers on one scale for a frame with other columns, else what was passed.
        """
        self.transformer_ = None
        sample = X if isinstance(X, TableSample) else TableSample(X, None)
        has_missing = sample.summary is not None and sample.summary.n_missing.any()
        if not needs_encoding(sample.rows, bool(has_missing)):
            return sample.rows
        self.transformer_ = TableTransformer()
        return self.transformer_.fit_transform(sample)

    def encoded_scale(self, X: Any, scale: str) -> str:
        """Choose the scaling of encoded rows, which are on one scale already.

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
    """Whether rows are a frame with anything but numbers, or with missing values."""
    refuse_lazy(X)
    is_frame = hasattr(X, "columns") and any(
        hasattr(X, name) for name in ("iloc", "get_columns", "column_names")
    )
    if not is_frame:
        return False
    return has_missing or any(
        column.dtype.kind not in "biuf"
        or (column.dtype.kind == "f" and not np.isfinite(column).all())
        for column in Table.from_frame(X).columns
    )
