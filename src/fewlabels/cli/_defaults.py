"""Options that all commands read from a file next to the table."""

# SPDX-License-Identifier: BSD-3-Clause

import os
import re
import shlex
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click

from fewlabels.cli._console import UseError

FILE = "fewlabels.toml"
# Key under which a context keeps the options from that file.
FROM_FILE = "fewlabels.from_file"
# The file may describe the table, but not say what to write, or where.
# What changes the model that is learned.
TEACHING = ("hint", "rule", "weight", "ordinal", "class-shares")
ONLY_TYPED = frozenset(
    {"output", "report", "force", "json", "quiet", "labels", "labels-in", "on"}
    | {"overwrite", "port", "host", "no-browser", "number", "explain", "scheduler"}
    | {"features", "help", "sort-into"}
)


def local_path(table: str) -> str | None:
    """Return the file that holds a table; None for streams and addresses.

    Parameters
    ----------
    table : str
        As typed: a file, perhaps followed by the name of a sheet or of a table.

    Returns
    -------
    path : str or None
        The file.
    """
    inner = re.sub(r"^(sqlite|duckdb):(///?)?", "", table, flags=re.IGNORECASE)
    if table == "-" or "://" in inner:
        return None
    if inner != table or not os.path.lexists(inner):
        inner = inner.partition("::")[0]  # without the name of a sheet
    return inner


def file_options(table: str | None, commands: Iterable[click.Command]) -> "FileOptions":
    """Read the options file next to a table, if there is one.

    Parameters
    ----------
    table : str or None
        The table.
    commands : iterable of Command
        All commands; an option that only another command has is no mistake.

    Returns
    -------
    options : FileOptions
        What the file says.
    """
    file = None if table is None else local_path(table)
    if file is None:
        return FileOptions(Path(FILE), {})
    path = Path(file).parent / FILE
    try:
        found = tomllib.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return FileOptions(path, {})
    except OSError as error:
        raise UseError(f"Cannot read {path}: {error.strerror}.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UseError(f"{path} is not TOML: {error}.") from None
    known = {
        name.removeprefix("--")
        for command in commands
        for parameter in command.params
        for name in parameter.opts
        if name.startswith("--")
    }
    for key in found:
        name = key.replace("_", "-")
        if name in ONLY_TYPED:
            raise UseError(f"{path}: {key!r} works only on the command line.")
        if name not in known:
            from fewlabels._words import nearest_name

            near = nearest_name(name, sorted(known - ONLY_TYPED))
            hint = f" Did you mean {near!r}?" if near else ""
            raise UseError(f"{path}: there is no option {key!r}.{hint}")
    return FileOptions(path, {k.replace("_", "-"): v for k, v in found.items()})


class FileOptions:
    """Options from a file.

    Parameters
    ----------
    path : Path
        The file.
    given : dict of str to object
        Values by the names of options.
    """

    def __init__(self, path: Path, given: dict[str, Any]) -> None:
        self.path = path
        self.given = given

    def default_map(self, command: click.Command) -> dict[str, Any]:
        """Return the values for a command's parameters, which typed options override.

        Parameters
        ----------
        command : Command
            The command.

        Returns
        -------
        values : dict of str to object
            By the name of the parameter.
        """
        values = {}
        for parameter in command.params:
            for name in parameter.opts:
                if name.removeprefix("--") in self.given:
                    value = self.given[name.removeprefix("--")]
                    values[str(parameter.name)] = self._value(parameter, name, value)
        return values

    def _value(self, parameter: click.Parameter, name: str, value: Any) -> Any:
        if isinstance(value, dict):  # shares of classes
            value = ",".join(f"{key}={number}" for key, number in value.items())
        is_flag = bool(getattr(parameter, "is_flag", False))
        if is_flag != isinstance(value, bool):
            wanted = "true or false" if is_flag else "a text or a number"
            raise UseError(f"{self.path}: {name.removeprefix('--')!r} needs {wanted}.")
        if is_flag:
            return value
        if parameter.multiple:
            values = value if isinstance(value, list) else [value]
            return [str(v) for v in values]
        if isinstance(value, list):
            raise UseError(
                f"{self.path}: {name.removeprefix('--')!r} takes one value only."
            )
        return str(value)

    def taken(self, ctx: click.Context) -> list[str]:
        """List the options that this command got from the file.

        Parameters
        ----------
        ctx : Context
            Of the command.

        Returns
        -------
        options : list of str
            As they would be typed.
        """
        typed = []
        for name, value in self.default_map(ctx.command).items():
            source = ctx.get_parameter_source(name)
            if source is click.core.ParameterSource.DEFAULT_MAP:
                (parameter,) = (p for p in ctx.command.params if p.name == name)
                option = max(parameter.opts, key=len)
                if value is True:
                    typed.append(option)
                elif value is not False:
                    values = value if isinstance(value, list) else [value]
                    typed += [word for v in values for word in (option, v)]
        return typed

    def said(self, typed: list[str], command: click.Command) -> str:
        """Report which options were taken from the file, and which make a difference.

        Parameters
        ----------
        typed : list of str
            What :meth:`taken` returned.
        command : Command
            The command.

        Returns
        -------
        said : str
            One or two lines.
        """
        known = {name for parameter in command.params for name in parameter.opts}
        unused = [
            f"--{k}" for k in TEACHING if k in self.given and f"--{k}" not in known
        ]
        said = f"From {self.path}: {shlex.join(typed)}"
        if unused and "--bank" in known:  # it learns
            said += (
                f"\nNote: {command.name} does not take {' and '.join(unused)} of that "
                "file, and so learns another model than label does."
            )
        return said
