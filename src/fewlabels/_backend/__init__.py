"""Where arrays live: one seam between algorithms and NumPy or torch.

Algorithms take a :class:`Backend` (or find that of an array by :func:`backend_of`) and
are written once, in the operators that NumPy and torch share, in functions of
``backend.xp`` (an array API namespace), and in the dozen primitives of the backend that
the two do not share. Nothing here imports torch unless an array of torch, or a device,
is given.
"""

# SPDX-License-Identifier: BSD-3-Clause

from fewlabels._backend._base import Backend
from fewlabels._backend._choose import (
    DEVICE_CONSTRAINTS,
    backend_for,
    backend_of,
    get_backend,
    to_host,
)
from fewlabels._backend._exchange import accepts_tensors, is_tensor
from fewlabels._backend._numpy import NUMPY

__all__ = [
    "DEVICE_CONSTRAINTS",
    "NUMPY",
    "Backend",
    "accepts_tensors",
    "backend_for",
    "backend_of",
    "get_backend",
    "is_tensor",
    "to_host",
]
