"""What can be wrong with a table, in words that help its owner fix it."""

# SPDX-License-Identifier: BSD-3-Clause

from collections.abc import Iterable, Sequence
from difflib import get_close_matches


class TableError(ValueError):
    """The table, or the model, does not allow what was asked for."""


class UnknownColumnError(TableError):
    """A column was named that the table does not have."""


class FileError(TableError):
    """A file cannot be read or written where it was asked for."""


def unknown_column(name: str, names: Sequence[str], role: str) -> UnknownColumnError:
    """Say that there is no such column, and which one may have been meant.

    Parameters
    ----------
    name : str
        What was asked for.
    names : sequence of str
        The columns that exist.
    role : str
        What the column was to be, such as ``"target"``.

    Returns
    -------
    error : UnknownColumnError
        To be raised.
    """
    folded = {other.casefold(): other for other in reversed(names)}
    near = get_close_matches(name.casefold(), folded, n=1, cutoff=0.5)
    hint = f" Did you mean {folded[near[0]]!r}?" if near else ""
    return UnknownColumnError(
        f"There is no column {name!r} (given as {role}).{hint} "
        f"The columns are {listed(names)}."
    )


def listed(names: Iterable[object], limit: int = 12) -> str:
    """Names in quotes, the first ones when there are many.

    Parameters
    ----------
    names : iterable of object
        What to list.
    limit : int, default=12
        How many to name.

    Returns
    -------
    text : str
        Such as ``"'a', 'b' and 3 more"``.
    """
    quoted = [repr(str(name)) for name in names]
    if len(quoted) > limit:
        return f"{', '.join(quoted[:limit])} and {len(quoted) - limit} more"
    return ", ".join(quoted)


def plural(count: int, singular: str, plural_form: str | None = None) -> str:
    """Write a count with its noun.

    Parameters
    ----------
    count : int
        How many.
    singular : str
        The noun for one.
    plural_form : str, default=None
        The noun for several; with an s when None.

    Returns
    -------
    text : str
        Such as ``"1,234 rows"``.
    """
    return f"{count:,} {singular if count == 1 else plural_form or singular + 's'}"
