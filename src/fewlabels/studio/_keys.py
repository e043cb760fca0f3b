"""Which key labels with which class."""

# SPDX-License-Identifier: BSD-3-Clause

from collections.abc import Iterable

# Digits as they lie on a keyboard, then letters that no command of the page uses.
DIGITS = "1234567890"
LETTERS = "bdijkorvwxyz"


def class_keys(names: Iterable[str]) -> dict[str, str]:
    """Give classes keys: a digit its own, all others the next that is free.

    Parameters
    ----------
    names : iterable of str
        All classes that were ever named, in the order in which they came: a class
        keeps its key when others come, or go.

    Returns
    -------
    keys : dict of str to str
        Keys by class; a class beyond the last key has none.
    """
    names = list(names)
    keys = {name: name for name in names if len(name) == 1 and name in DIGITS}
    # Where classes are numbers, a digit that is no class yet may become one.
    numbers = bool(keys) and all(_is_number(name) for name in names)
    taken = set(DIGITS) if numbers else set(keys.values())
    free = iter([key for key in DIGITS + LETTERS if key not in taken])
    for name in names:
        if name not in keys and (key := next(free, None)) is not None:
            keys[name] = key
    return keys


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
