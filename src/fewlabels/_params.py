"""Parameter checks shared by several packages."""

# SPDX-License-Identifier: BSD-3-Clause

import inspect
from collections.abc import Callable, Iterable, Mapping
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn import get_config

from fewlabels._sklearn import Interval, validate_parameter_constraints

_COUNT = [Interval(Integral, 1, None, closed="left")]
_POSITIVE = [Interval(Real, 0, None, closed="neither")]
_NON_NEGATIVE = [Interval(Real, 0, None, closed="left")]

# Constraints of common parameters in most estimators.
_USUAL: dict[str, list[Any]] = {
    "C": _POSITIVE,
    "alpha": _NON_NEGATIVE,
    "fit_intercept": ["boolean"],
    "learning_rate": _POSITIVE,
    "max_iter": _COUNT,
    "n_components": _COUNT,
    "n_estimators": _COUNT,
    "n_init": _COUNT,
    "random_state": ["random_state"],
    "tol": _NON_NEGATIVE,
}


def usual(*names: str) -> dict[str, list[Any]]:
    """Constraints of parameters that mean the same in all estimators."""
    return {name: _USUAL[name] for name in names}


def check_number(
    name: str,
    value: float,
    least: float | None = None,
    most: float | None = None,
    *,
    above: float | None = None,
    below: float = np.inf,
) -> None:
    """Refuse NaN and numbers out of bounds; infinity needs ``most=np.inf``."""
    bounds = []
    if least is not None:
        bounds.append((value >= least, f"at least {least:g}"))
    if above is not None:
        more = f"more than {above:g}" if above else "positive"
        bounds.append((value > above, more))
    if most is not None:
        bounds.append((value <= most, f"at most {most:g}"))
    else:
        bounds.append((value < below, f"less than {below:g}"))
    if not all(holds for holds, _ in bounds):
        rule = " and ".join(rule for _, rule in bounds if not rule.endswith("inf"))
        raise ValueError(f"{name} must be {rule}, got {value!r}.")


def check_choice(name: str, value: Any, choices: Iterable[str]) -> None:
    """Refuse a name that is not among the choices."""
    if value not in (known := list(choices)):
        use = ", ".join(map(repr, known))
        raise ValueError(f"{name}={value!r} is unknown; use one of {use}.")


def check_params(
    name: str,
    given: Mapping[str, Any] | None,
    constraints: Mapping[str, list[Any]],
    owner: str,
) -> dict[str, Any]:
    """Copy a dictionary of parameters after checking that `owner` accepts them.

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
    """Whether a parameter has its default value, in whatever type."""
    default = default_of(owner, parameter)
    return value is default or (type(value) is type(default) and value == default)


def budget_bytes(memory_budget: float | None) -> float:
    """Bytes of a memory budget in MiB; None means scikit-learn's `working_memory`."""
    if memory_budget is None:
        memory_budget = get_config()["working_memory"]
    if not memory_budget > 0:
        raise ValueError(f"memory_budget must be positive (MiB), got {memory_budget}.")
    return memory_budget * 2**20
