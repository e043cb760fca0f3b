"""Lazy collections, which compute nothing until asked to."""

# SPDX-License-Identifier: BSD-3-Clause

from typing import Any


def is_lazy(values: Any) -> bool:
    """Whether values are a Dask collection, without importing Dask."""
    return type(values).__module__.partition(".")[0] in ("dask", "dask_expr")


def refuse_lazy(values: Any, name: str = "X") -> None:
    """Refuse lazy collections, which would otherwise be silently loaded whole."""
    if type(values).__name__ == "LazyFrame" and hasattr(values, "collect"):
        raise ValueError(
            f"{name} is a LazyFrame of polars, which holds no rows yet: pass "
            f"{name}.collect()."
        )
    if is_lazy(values):
        raise TypeError(
            f"{name} is a Dask {type(values).__name__}, and this would pull all of it "
            "into memory: use fewlabels.dask.DaskFewLabelsClassifier or "
            f"DaskFewLabelsRegressor, or pass {name}.compute() if it fits."
        )
