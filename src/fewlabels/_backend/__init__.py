"""Where arrays live: one seam between algorithms and NumPy or torch.

Algorithms take a :class:`Backend` (or find that of an array by :func:`backend_of`) and
are written once, in the operators that NumPy and torch share, in functions of
``backend.xp`` (an array API namespace), and in the dozen primitives of the backend that
the two do not share. Nothing here imports torch unless an array of torch, or a device,
is given.
"""

# SPDX-License-Identifier: BSD-3-Clause

from fewlabels._backend._base import Backend, KernelFunction
from fewlabels._backend._choose import (
    DEVICE_CONSTRAINTS,
    backend_at_hand,
    backend_for,
    backend_of,
    follow,
    get_backend,
    to_host,
)
from fewlabels._backend._exchange import (
    TensorMixin,
    accepts_tensors,
    is_tensor,
    on_host,
    takes_tensors,
)
from fewlabels._backend._numpy import NUMPY

__all__ = [
    "DEVICE_CONSTRAINTS",
    "NUMPY",
    "Backend",
    "KernelFunction",
    "TensorMixin",
    "accepts_tensors",
    "backend_at_hand",
    "backend_for",
    "backend_of",
    "follow",
    "get_backend",
    "is_tensor",
    "on_host",
    "takes_tensors",
    "to_host",
]
