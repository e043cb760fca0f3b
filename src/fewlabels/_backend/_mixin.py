"""Tensors in, tensors out, for estimators that work on NumPy's arrays within."""

# SPDX-License-Identifier: BSD-3-Clause

from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np
from sklearn.externals.array_api_compat import array_namespace

from fewlabels._backend._choose import is_tensor, needs_torch, to_host

# Methods whose rows may be tensors.
_METHODS = (
    "fit",
    "fit_predict",
    "fit_transform",
    "predict",
    "predict_proba",
    "predict_log_proba",
    "decision_function",
    "transform",
    "embed",
    "score",
)


def like_given(answer: Any, given: Any) -> Any:
    """Arrays of numbers as tensors of the library and on the device of given rows.

    Anything else, and everything where the rows are no tensor, comes back as it is.
    """
    if not is_tensor(given):
        return answer
    if isinstance(answer, tuple):
        return tuple(like_given(part, given) for part in answer)
    if not isinstance(answer, np.ndarray) or answer.dtype.kind not in "fiub":
        return answer
    if not needs_torch(given):
        return array_namespace(given).asarray(answer)
    from fewlabels._backend._torch import as_tensor, tensor_on

    tensor = tensor_on(answer, as_tensor(given).device)
    if isinstance(given, type(tensor)):
        return tensor
    return array_namespace(given).from_dlpack(tensor)


def _with_tensors(method: Callable[..., Any]) -> Callable[..., Any]:
    """Let a method take tensors as rows, and return predictions as tensors.

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
            answer = method(self, to_host(X), *to_host(args), **to_host(kwargs))
        finally:
            self._given_device = before
        return answer if answer is self else like_given(answer, X)

    wrapped.__dict__["with_tensors"] = True
    return wrapped


class TensorMixin:
    """Let the methods of an estimator take tensors, and return tensors."""

    device: str | None

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        for name in _METHODS:
            method = getattr(cls, name, None)
            if callable(method) and not hasattr(method, "with_tensors"):
                setattr(cls, name, _with_tensors(method))
