"""Parameters that several packages take, such as `kernel_params`."""

# SPDX-License-Identifier: BSD-3-Clause

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from sklearn import get_config

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


def budget_bytes(memory_budget: float | None) -> float:
    """Bytes of a memory budget in MiB; None means scikit-learn's `working_memory`."""
    if memory_budget is None:
        memory_budget = get_config()["working_memory"]
    if not memory_budget > 0:
        raise ValueError(f"memory_budget must be positive (MiB), got {memory_budget}.")
    return memory_budget * 2**20
