"""Dictionaries of further parameters, such as `kernel_params`."""

# SPDX-License-Identifier: BSD-3-Clause

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from fewlabels._sklearn import validate_parameter_constraints


def check_params(
    name: str,
    given: Mapping[str, Any] | None,
    constraints: Mapping[str, list[Any]],
    owner: str,
) -> dict[str, Any]:
    """Copy a dictionary of parameters, all of them names and values that `owner` takes.

    `constraints` are scikit-learn's, as in `_parameter_constraints`.
    """
    params = dict(given or {})
    unknown = [repr(key) for key in params if key not in constraints]
    if unknown:
        known = ", ".join(sorted(constraints))
        remedy = f"use {known}" if known else "it takes none"
        raise ValueError(
            f"{name} holds {', '.join(unknown)}, which {owner} does not take: {remedy}."
        )
    validate_parameter_constraints(dict(constraints), params, caller_name=name)
    return params


def default_of(owner: Callable[..., Any], parameter: str) -> Any:
    """Look up the default of a parameter in the signature that declares it."""
    return inspect.signature(owner).parameters[parameter].default


def is_default(owner: Callable[..., Any], parameter: str, value: Any) -> bool:
    """Whether a parameter was left at its default, whatever type it was given as."""
    default = default_of(owner, parameter)
    return value is default or (type(value) is type(default) and value == default)
