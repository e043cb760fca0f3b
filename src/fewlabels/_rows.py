"""Rows as estimators take them: checks, distances, views."""

# SPDX-License-Identifier: BSD-3-Clause

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_array

from fewlabels._linalg import FLOATS


def check_rows(X: Any) -> Any:
    """Validate rows, dense or CSR, in float32 or float64."""
    return check_array(X, accept_sparse="csr", dtype=FLOATS)


def check_range(X: Any) -> None:
    """Raise where squared distances overflow: the searches would go wrong silently."""
    limit = np.sqrt(np.finfo(X.dtype).max / X.shape[1]) / 2
    if max(X.max(), -X.min()) > limit:
        raise ValueError(
            f"X holds values beyond {limit:.1e}, whose squared distances overflow "
            f"{X.dtype}: scale X to a moderate range."
        )


def is_euclidean(metric: Any, metric_params: dict[str, Any] | None) -> bool:
    """Whether the distance is the length of the difference."""
    return metric in ("euclidean", "l2") or (
        metric == "minkowski" and metric_params in (None, {}, {"p": 2})
    )


def view_columns(
    views: Any, n_features: int, names: Sequence[str] | NDArray[Any] = ()
) -> list[NDArray[np.intp]]:
    """Column indices of two views."""
    every = np.arange(n_features)
    if views is None:
        return np.array_split(every, 2)
    if len(views) != 2:
        raise ValueError(
            f"views must be a pair of column selections, got {len(views)}."
        )
    places = {name: i for i, name in enumerate(names)}
    columns = []
    for view in views:
        if isinstance(view, Sequence) and any(isinstance(v, str) for v in view):
            unknown = [v for v in view if v not in places]
            if unknown:
                raise ValueError(
                    f"views names the columns {unknown}, which X does not have."
                )
            view = [places[v] for v in view]
        try:
            selected = every[view if isinstance(view, slice) else np.asarray(view)]
        except IndexError as error:
            raise ValueError(
                f"views selects columns that X does not have ({error}): X has "
                f"{n_features}."
            ) from error
        if selected.size == 0:
            raise ValueError("views holds an empty selection of columns.")
        columns.append(selected)
    return columns
