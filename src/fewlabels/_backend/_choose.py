"""Find the backend of an array, or of what the user asks for."""

# SPDX-License-Identifier: BSD-3-Clause

import sys
from typing import TYPE_CHECKING, Any, Union

import numpy as np
from scipy.sparse import issparse

from fewlabels._backend._numpy import NUMPY, NumpyBackend
from fewlabels._sklearn import StrOptions

if TYPE_CHECKING:
    from fewlabels._backend._torch import TorchBackend

Backend = Union[NumpyBackend, "TorchBackend"]
DEVICE_CONSTRAINTS: dict[str, list[Any]] = {
    "device": [StrOptions({"cpu", "cuda"}), None]
}


_DLPACK_CPU = 1


def is_tensor(A: Any) -> bool:
    """Whether this is an array of another library, which can be exchanged by DLPack."""
    return (
        hasattr(A, "__dlpack__")
        and hasattr(A, "__dlpack_device__")
        and hasattr(A, "shape")
        and not isinstance(A, np.ndarray | np.generic)
    )


def needs_torch(A: Any) -> bool:
    """Whether an array of another library is torch's, or NumPy cannot reach it."""
    return _is_torch(A) or A.__dlpack_device__()[0] != _DLPACK_CPU


def _is_torch(A: Any) -> bool:
    torch = sys.modules.get("torch")
    # A shifted matrix holds its tensor as A.
    return torch is not None and isinstance(getattr(A, "A", A), torch.Tensor)


def backend_of(A: Any) -> Backend:
    """Backend on which an array lives; anything that is not torch's is NumPy's."""
    if not _is_torch(A):
        return NUMPY
    from fewlabels._backend._torch import torch_backend

    return torch_backend(str(A.device))


def get_backend(device: str | Backend | None, given: Any = None) -> Backend:
    """Backend for a parameter `device`, or where the rows are if it is None.

    Parameters
    ----------
    device : {"cpu", "cuda"}, Backend or None
        None follows `given`: tensors stay where they are, all else stays with NumPy,
        arrays of other libraries in the memory of the CPU included. A backend, which
        estimators hand to functions, stays as it is.
    given : array-like, default=None
        Rows that the user has passed.
    """
    if device is None:
        if issparse(given) or not is_tensor(given) or not needs_torch(given):
            return NUMPY
        from fewlabels._backend._torch import backend_of_tensor

        return backend_of_tensor(given)
    if device == "cpu":
        return NUMPY
    if not isinstance(device, str):
        return device
    try:
        from fewlabels._backend._torch import torch_backend
    except ImportError as error:
        raise ImportError(
            f"The device {device!r} needs torch: pip install 'fewlabels[gpu]', or "
            "pass device='cpu'."
        ) from error
    return torch_backend(device)


def backend_for(estimator: Any) -> Backend:
    """Backend that the parameter `device` of an estimator, or its rows, ask for."""
    given = getattr(estimator, "_given_device", None)
    if estimator.device is not None or given is None:
        return get_backend(estimator.device)
    from fewlabels._backend._torch import torch_backend

    return torch_backend(given)


def backend_at_hand(estimator: Any) -> Backend:
    """Backend of a fitted estimator; NumPy's where its device is not available."""
    try:
        return backend_for(estimator)
    except (ImportError, ValueError):
        return NUMPY


def follow(inner: Any, outer: Any) -> Any:
    """Let an estimator inside another work where the rows of the other are."""
    inner._given_device = getattr(outer, "_given_device", None)
    return inner


def to_host(value: Any) -> Any:
    """Take tensors of any library to NumPy, also inside lists, tuples, dictionaries."""
    if _is_torch(value):
        return backend_of(value).to_numpy(value)
    if isinstance(value, dict):
        return {key: to_host(item) for key, item in value.items()}
    if type(value) in (list, tuple):
        return type(value)(to_host(item) for item in value)
    if not is_tensor(value):
        return value
    if not needs_torch(value):
        return np.from_dlpack(value)
    from fewlabels._backend._torch import as_tensor

    return to_host(as_tensor(value))
