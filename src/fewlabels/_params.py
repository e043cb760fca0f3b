"""Dictionaries of further parameters, such as `kernel_params`."""

# SPDX-License-Identifier: BSD-3-Clause

import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any


def check_params(
    name: str, given: Mapping[str, Any] | None, known: Iterable[str], owner: str
) -> dict[str, Any]:
    """Copy a dictionary of parameters, after refusing names that `owner` lacks."""
    params = dict(given or {})
    known = sorted(known)
    unknown = [repr(key) for key in params if key not in known]
    if unknown:
        remedy = f"use {', '.join(known)}" if known else "it takes none"
        raise ValueError(
            f"{name} holds {', '.join(unknown)}, which {owner} does not take: {remedy}."
        )
    return params


def default_of(owner: Callable[..., Any], parameter: str) -> Any:
    """Look up the default of a parameter in the signature that declares it."""
    return inspect.signature(owner).parameters[parameter].default


def is_default(owner: Callable[..., Any], parameter: str, value: Any) -> bool:
    """Whether a parameter was left at its default, whatever type it was given as."""
    default = default_of(owner, parameter)
    return value is default or (type(value) is type(default) and value == default)
