"""Core: label a table in the browser, the most useful rows first."""

# SPDX-License-Identifier: BSD-3-Clause

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fewlabels.studio._check import TableCheck
    from fewlabels.studio._exchange import MergedLabels, merge_labels
    from fewlabels.studio._run import Studio, serve

__all__ = ["MergedLabels", "Studio", "TableCheck", "merge_labels", "serve"]

_MODULES = {
    "MergedLabels": "fewlabels.studio._exchange",
    "Studio": "fewlabels.studio._run",
    "TableCheck": "fewlabels.studio._check",
    "merge_labels": "fewlabels.studio._exchange",
    "serve": "fewlabels.studio._run",
}


def __getattr__(name: str) -> Any:
    # The server uses Starlette and uvicorn, which only the studio needs.
    if name not in _MODULES:
        raise AttributeError(f"module 'fewlabels.studio' has no attribute {name!r}")
    try:
        module = importlib.import_module(_MODULES[name])
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] not in ("starlette", "uvicorn"):
            raise
        raise ImportError(
            'The studio needs Starlette and uvicorn: pip install "fewlabels[studio]".'
        ) from None
    return getattr(module, name)
