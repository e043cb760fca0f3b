"""What can be wrong with a table, in words that help its owner fix it."""

# SPDX-License-Identifier: BSD-3-Clause

from collections.abc import Sequence

from fewlabels._words import listed, nearest_name


class TableError(ValueError):
    """The table, or the model, does not allow what was asked for."""


class UnknownColumnError(TableError):
    """A column was named that the table does not have."""


class FileError(TableError):
    """A file cannot be read or written where it was asked for."""


def unknown_column(
    name: str, names: Sequence[str], role: str, notes: Sequence[str] = ()
) -> UnknownColumnError:
    """Say that there is no such column, which one may be meant, and how it was read."""
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
