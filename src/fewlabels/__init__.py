"""Learning when labels are scarce.

`import fewlabels` costs next to nothing: submodules are loaded on first use, and
numba, matplotlib and pandas only by the functions that need them.
"""

# SPDX-License-Identifier: BSD-3-Clause

import importlib
from typing import Any

__version__ = "0.1.0"

_SUBMODULES = (
    "active",
    "automatic",
    "cluster",
    "dask",
    "datasets",
    "decomposition",
    "embeddings",
    "ensemble",
    "exceptions",
    "feature_selection",
    "graphs",
    "kernels",
    "model_selection",
    "opinions",
    "optimize",
    "partition",
    "plotting",
    "preprocessing",
    "regression",
    "reinforcement",
    "semi_supervised",
    "studio",
    "tabular",
    "tensor",
    "transfer",
)

# Names available at the top level, each with its module.
_FLAGSHIPS = {
    "FewLabelsClassifier": "fewlabels.automatic",
    "FewLabelsRegressor": "fewlabels.automatic",
    "RLSClustering": "fewlabels.cluster",
    "RLSClassifier": "fewlabels.semi_supervised",
    "S2RLSClassifier": "fewlabels.semi_supervised",
    "hide_labels": "fewlabels._hide_labels",
    "unlabeled_mask": "fewlabels._labels",
}

__all__ = ["__version__", *_SUBMODULES, *_FLAGSHIPS]


def __getattr__(name: str) -> Any:
    if name in _SUBMODULES:
        return importlib.import_module(f"fewlabels.{name}")
    if name in _FLAGSHIPS:
        return getattr(importlib.import_module(_FLAGSHIPS[name]), name)
    raise AttributeError(f"module 'fewlabels' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
