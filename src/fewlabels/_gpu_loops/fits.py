"""Which problems the compiled loops for GPUs take, and where they can run."""

# SPDX-License-Identifier: BSD-3-Clause

import os
import sys
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from sklearn.utils.fixes import parse_version

# The first version of Triton with all that the loops use.
OLDEST_TRITON = "3.3"
# Smaller problems are as fast in plain torch.
MIN_ENTRIES = 2**24
# Largest degree of polynomials that are computed by multiplication.
MAX_DEGREE = 8
# Most neighbours that can be told apart by slots.
MAX_NEIGHBORS = 48
# Tiles of rows and columns divide this.
PADDING = 256
# Most classes of a local search: bits stand for them.
MAX_CLASSES = 31


def can_run(A: Any) -> bool:
    """Whether loops can run where an array lives; False for anything but a tensor."""
    torch = sys.modules.get("torch")
    if torch is None or not isinstance(A, torch.Tensor):
        return False
    return _can_run(A.device)


@cache
def _can_run(place: Any) -> bool:
    """Whether a device has tensor cores, or Triton's interpreter stands in for it."""
    import torch

    try:
        if parse_version(version("triton")) < parse_version(OLDEST_TRITON):
            return False
    except PackageNotFoundError:
        return False
    if place.type != "cuda":
        return os.environ.get("TRITON_INTERPRET") == "1"
    return torch.version.hip is None and torch.cuda.get_device_capability(place) >= (8,)


def _is_single(*arrays: Any) -> bool:
    return all(str(A.dtype) == "torch.float32" for A in arrays)


def product(X: Any, Y: Any, V: Any, kernel: str, degree: float) -> bool:
    """Whether a product with a kernel matrix can be computed without storing it."""
    return (
        _is_single(X, Y, V)
        and X.shape[0] * Y.shape[0] >= MIN_ENTRIES
        and (kernel != "polynomial" or degree in range(1, MAX_DEGREE + 1))
        and can_run(X)
    )


def nearest(Q: Any, X: Any, k: int) -> bool:
    """Whether nearest rows can be found without storing distances."""
    return (
        _is_single(X)
        and k <= MAX_NEIGHBORS
        and X.shape[0] >= 16 * PADDING
        and Q.shape[0] * X.shape[0] >= MIN_ENTRIES
        and can_run(X)
    )


def vector(A: Any, V: Any) -> bool:
    """Whether a loop multiplies a stored matrix with one vector."""
    return (
        can_run(A)
        and str(A.layout) == "torch.strided"
        and _is_single(A, V)
        and V.ndim == 2
        and V.shape[1] == 1
        and A.stride(1) == 1
        and A.shape[0] * A.shape[1] >= MIN_ENTRIES
    )


def paths(lengths: Any, costs: Any) -> bool:
    """Whether a loop shortens path lengths."""
    return min(*lengths.shape, *costs.shape) > 0 and can_run(costs)


def climb(H: Any) -> bool:
    """Whether a loop makes the moves of local searches with these products."""
    return H.shape[1] < MAX_CLASSES and H.shape[2] > 0 and can_run(H)
