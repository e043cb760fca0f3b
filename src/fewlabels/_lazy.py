"""Collections that compute nothing until they are asked to."""

# SPDX-License-Identifier: BSD-3-Clause

from typing import Any


def is_lazy(values: Any) -> bool:
    """Whether values are a Dask collection, told without importing Dask."""
    return type(values).__module__.partition(".")[0] in ("dask", "dask_expr")


def refuse_lazy(values: Any, name: str = "X") -> None:
    """Refuse Dask collections, which would otherwise be loaded whole, in silence."""
    if is_lazy(values):
        raise TypeError(
            f"{name} is a Dask {type(values).__name__}, and this would pull all of it "
            "into memory: use fewlabels.dask.DaskFewLabelsClassifier or "
            f"DaskFewLabelsRegressor, or pass {name}.compute() if it fits."
        )
