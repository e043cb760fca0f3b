"""Tensors in, tensors out, for estimators that work on NumPy's arrays within."""

# SPDX-License-Identifier: BSD-3-Clause

import sys
from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np
from sklearn.externals.array_api_compat import array_namespace

# Methods whose rows may be tensors.
_METHODS = (
    "fit",
    "fit_predict",
    "fit_transform",
    "predict",
    "predict_proba",
    "decision_function",
    "transform",
    "embed",
    "score",
)
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
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(A, torch.Tensor):
        return True
    return A.__dlpack_device__()[0] != _DLPACK_CPU


def on_host(value: Any) -> Any:
    """NumPy's array of an array of another library; anything else as it is."""
    if not is_tensor(value):
        return value
    if not needs_torch(value):
        return np.from_dlpack(value)
    from fewlabels._backend._torch import host_array

    return host_array(value)


def in_kind(answer: Any, given: Any) -> Any:
    """Numbers as an array of the library of the rows given, on their device."""
    if isinstance(answer, tuple):
        return tuple(in_kind(part, given) for part in answer)
    if not isinstance(answer, np.ndarray) or answer.dtype.kind not in "fiub":
        return answer
    if not needs_torch(given):
        return array_namespace(given).asarray(answer)
    from fewlabels._backend._torch import as_tensor, tensor_on

    tensor = tensor_on(answer, as_tensor(given).device)
    if isinstance(given, type(tensor)):
        return tensor
    return array_namespace(given).from_dlpack(tensor)


def accepts_tensors(method: Callable[..., Any]) -> Callable[..., Any]:
    """Let a method of an estimator take tensors as rows, and answer in kind.

    Rows and labels that are tensors reach the method as NumPy's arrays, with the
    device of the rows as its own unless the parameter `device` says otherwise, and
    numbers come back as tensors on that device. What cannot be a tensor, such as
    labels that are words, comes back as it is.
    """

    @wraps(method)
    def wrapped(self: Any, X: Any, *args: Any, **kwargs: Any) -> Any:
        given = [X, *args, *kwargs.values()]
        if not any(is_tensor(value) for value in given):
            return method(self, X, *args, **kwargs)
        # Remembered for `backend_for`: the rows themselves arrive as arrays.
        before = getattr(self, "_given_device", None)
        self._given_device = None
        if is_tensor(X) and needs_torch(X):
            from fewlabels._backend._torch import as_tensor

            self._given_device = str(as_tensor(X).device)
        try:
            answer = method(
                self,
                on_host(X),
                *(on_host(value) for value in args),
                **{name: on_host(value) for name, value in kwargs.items()},
            )
        finally:
            self._given_device = before
        return answer if answer is self or not is_tensor(X) else in_kind(answer, X)

    wrapped.__dict__["accepts_tensors"] = True
    return wrapped


class TensorMixin:
    """Let the methods of an estimator take tensors, and answer in kind."""

    device: str | None

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        for name in _METHODS:
            method = getattr(cls, name, None)
            if callable(method) and not hasattr(method, "accepts_tensors"):
                setattr(cls, name, accepts_tensors(method))


def takes_tensors(function: Callable[..., Any]) -> Callable[..., Any]:
    """Let a function of rows and a keyword `device` take tensors, and answer in kind.

    The function gets NumPy's array, and the backend of the rows as `device`.
    """

    @wraps(function)
    def wrapped(X: Any, *args: Any, device: Any = None, **kwargs: Any) -> Any:
        from fewlabels._backend._choose import get_backend

        backend = get_backend(device, X)
        answer = function(on_host(X), *args, device=backend, **kwargs)
        return in_kind(answer, X) if is_tensor(X) else answer

    return wrapped
