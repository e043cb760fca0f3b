"""Turn cells with named fields, such as JSON, into features."""

# SPDX-License-Identifier: BSD-3-Clause

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from fewlabels.preprocessing._description import ColumnDescription
from fewlabels.preprocessing._encoders import ColumnEncoder
from fewlabels.preprocessing._errors import TableError
from fewlabels.preprocessing._parts import to_fields
from fewlabels.preprocessing._summary import ColumnSummary


class FieldsEncoder(ColumnEncoder):
    """Named fields, each encoded like a separate column.

    Parameters
    ----------
    column : ColumnDescription
        The column.
    max_categories : int
        How many categories of a field get a feature.
    random_state : int
        Seed of the directions of texts.
    """

    def __init__(
        self, column: ColumnDescription, max_categories: int, random_state: int
    ) -> None:
        super().__init__(column)
        self.max_categories = max_categories
        self.random_state = random_state

    def fit(
        self, values: NDArray[Any], whole: ColumnSummary | None = None
    ) -> NDArray[np.float64]:
        """Detect what the fields hold, and encode the column."""
        from fewlabels.preprocessing._transformer import TableTransformer

        fields = to_fields(values)
        self.fields = TableTransformer(
            max_categories=self.max_categories, random_state=self.random_state
        )
        self.known = list(fields)
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always", UserWarning)
            try:
                features = self.fields.fit_transform(fields)
            except TableError:  # nothing in them differs
                self.known = []
                return np.zeros((values.size, 1))
        for warning in heard:
            text = f"Fields of {self.column.name!r}: {warning.message}"
            warnings.warn(text, UserWarning, stacklevel=2)
        return features.toarray() if issparse(features) else features

    def transform(self, values: NDArray[Any]) -> NDArray[np.float64]:
        """Encode new values; unseen fields do not count."""
        if not self.known:
            return np.zeros((values.size, 1))
        fields = to_fields(values)
        empty = [None] * values.size
        known = {name: fields.get(name, empty) for name in self.known}
        features = self.fields.transform(known)
        return features.toarray() if issparse(features) else features

    def names(self) -> list[str]:
        """Name the features."""
        name = self.column.name
        if not self.known:
            return [name]
        return [f"{name}.{field}" for field in self.fields.get_feature_names_out()]
