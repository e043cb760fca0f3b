"""Textbook: classifiers, regressors and clustering of tensors.

The extra ``fewlabels[tensor]`` adds what tensorly does; its names are passed on from
here: ``CP``, ``Tucker``, ``parafac``, ``tucker``, ``mode_dot``, ``multi_mode_dot``,
``khatri_rao``, ``kronecker``, ``inner`` and ``outer``. Everything else works without.
"""

# SPDX-License-Identifier: BSD-3-Clause

import importlib
from typing import Any

from fewlabels.tensor._algebra import (
    HigherOrderSVD,
    fold,
    hosvd,
    is_supersymmetric,
    unfold,
    vec,
)
from fewlabels.tensor._alternating import (
    RankOneSolution,
    SupportTensorMachine,
    support_tensor_machine,
)
from fewlabels.tensor._cp import CPSolution, cp_group_sparse, cp_ridge
from fewlabels.tensor._cp_regressors import CPGroupSparseRegressor, CPRidgeRegressor
from fewlabels.tensor._tensor_fisher import (
    FisherDirection,
    TensorFisherDiscriminant,
    tensor_fisher,
)
from fewlabels.tensor._tensor_kmeans import (
    TensorDistanceTransformer,
    TensorKMeans,
    fusion_tensor,
    tensor_distances,
)

# Not in __all__, so that `from fewlabels.tensor import *` needs no extra.
_TENSORLY = {
    "CP": "tensorly.decomposition",
    "Tucker": "tensorly.decomposition",
    "inner": "tensorly.tenalg",
    "khatri_rao": "tensorly.tenalg",
    "kronecker": "tensorly.tenalg",
    "mode_dot": "tensorly.tenalg",
    "multi_mode_dot": "tensorly.tenalg",
    "outer": "tensorly.tenalg",
    "parafac": "tensorly.decomposition",
    "tucker": "tensorly.decomposition",
}

__all__ = [
    "CPGroupSparseRegressor",
    "CPRidgeRegressor",
    "CPSolution",
    "FisherDirection",
    "HigherOrderSVD",
    "RankOneSolution",
    "SupportTensorMachine",
    "TensorDistanceTransformer",
    "TensorFisherDiscriminant",
    "TensorKMeans",
    "cp_group_sparse",
    "cp_ridge",
    "fold",
    "fusion_tensor",
    "hosvd",
    "is_supersymmetric",
    "support_tensor_machine",
    "tensor_distances",
    "tensor_fisher",
    "unfold",
    "vec",
]


def __getattr__(name: str) -> Any:
    if name not in _TENSORLY:
        raise AttributeError(f"module 'fewlabels.tensor' has no attribute {name!r}")
    try:
        return getattr(importlib.import_module(_TENSORLY[name]), name)
    except ImportError as error:
        raise ImportError(
            f'{name} comes from tensorly: pip install "fewlabels[tensor]".'
        ) from error


def __dir__() -> list[str]:
    return sorted([*__all__, *_TENSORLY])
