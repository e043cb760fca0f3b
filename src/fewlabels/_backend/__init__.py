"""Where arrays live: algorithms are written once, for NumPy and torch.

They take a backend (or find that of an array by :func:`backend_of`) and use the
operators that NumPy and torch share, functions of ``backend.xp`` (an array API
namespace), and the methods of the backend for what the two do not share: see
:class:`NumpyBackend`. An algorithm with a version of its own for a device dispatches
where it lives. Nothing here imports torch unless an array of torch, or a device, is
given.
"""

# SPDX-License-Identifier: BSD-3-Clause

from fewlabels._backend._choose import (
    DEVICE_CONSTRAINTS,
    Backend,
    backend_at_hand,
    backend_for,
    backend_of,
    follow,
    get_backend,
    is_tensor,
    to_host,
)
from fewlabels._backend._mixin import TensorMixin, like_given
from fewlabels._backend._numpy import NUMPY, KernelFunction, NumpyBackend

__all__ = [
    "DEVICE_CONSTRAINTS",
    "NUMPY",
    "Backend",
    "KernelFunction",
    "NumpyBackend",
    "TensorMixin",
    "backend_at_hand",
    "backend_for",
    "backend_of",
    "follow",
    "get_backend",
    "is_tensor",
    "like_given",
    "to_host",
]
