"""Tensors in, tensors out, for estimators that work on NumPy's arrays within."""

# SPDX-License-Identifier: BSD-3-Clause

from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np


def is_tensor(A: Any) -> bool:
    """Whether this is an array of another library, which can be exchanged by DLPack."""
    return (
        hasattr(A, "__dlpack__")
        and hasattr(A, "__dlpack_device__")
        and not isinstance(A, np.ndarray | np.generic)
    )


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
        from fewlabels._backend._torch import as_tensor, host_array

        # Remembered for `get_backend`: the rows themselves arrive as arrays.
        before = getattr(self, "_given_device", None)
        rows = as_tensor(X) if is_tensor(X) else None
        self._given_device = None if rows is None else str(rows.device)
        try:
            answer = method(
                self,
                host_array(X),
                *(host_array(value) for value in args),
                **{name: host_array(value) for name, value in kwargs.items()},
            )
        finally:
            self._given_device = before
        if answer is self or rows is None:
            return answer
        return _in_kind(answer, rows)

    return wrapped


def _in_kind(answer: Any, rows: Any) -> Any:
    """Numbers as tensors on the device of the rows."""
    if isinstance(answer, tuple):
        return tuple(_in_kind(part, rows) for part in answer)
    if isinstance(answer, np.ndarray) and answer.dtype.kind in "fiub":
        from fewlabels._backend._torch import tensor_on

        return tensor_on(answer, rows.device)
    return answer
