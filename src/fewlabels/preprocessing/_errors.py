"""Errors about tables, worded so that their owner can fix them."""

# SPDX-License-Identifier: BSD-3-Clause

from collections.abc import Sequence

from fewlabels._words import listed, nearest_name


class TableError(ValueError):
    """The table, or the model, does not allow what was asked for."""


class UnknownColumnError(TableError):
    """The table has no column of the given name."""


class FileError(TableError):
    """A file cannot be read or written."""


def unknown_column(
    name: str, names: Sequence[str], role: str, notes: Sequence[str] = ()
) -> UnknownColumnError:
    """Return the error for a missing column, with a suggestion and the known names."""
    near = nearest_name(name, names)
    hint = f" Did you mean {near!r}?" if near else ""
    return UnknownColumnError(
        " ".join(
            [
                f"There is no column {name!r} (given as {role}).{hint}",
                f"The columns are {listed(names)}.",
                *notes,
            ]
        )
    )
