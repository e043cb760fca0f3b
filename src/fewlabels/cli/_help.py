"""Commands whose help ends with examples, and arguments that must be files."""

# SPDX-License-Identifier: BSD-3-Clause

import os
from collections.abc import Sequence
from typing import Any

import click

from fewlabels.cli._console import UseError
from fewlabels.cli._defaults import FROM_FILE, file_options, local_path


class Examples:
    """Show examples below the options in the help of a click command.

    Parameters
    ----------
    *args : tuple
        See :class:`click.Command`.
    examples : sequence of str, default=()
        Command lines.
    **kwargs : dict
        See :class:`click.Command`.
    """

    def __init__(self, *args: Any, examples: Sequence[str] = (), **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.examples = examples

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples."""
        with formatter.section("Examples"):
            for example in self.examples:
                formatter.write(f"{'':>{formatter.current_indent}}{example}\n")


class FileArgument(click.Argument):
    """A file that must exist, - for the standard input, or an address."""

    def check(self, value: str) -> None:
        """Refuse a missing file before the readers are imported.

        Parameters
        ----------
        value : str
            What was given.
        """
        inner = local_path(value)
        if inner is None:
            return
        try:
            os.stat(inner)  # not opened: it may be a pipe
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or error
            raise UseError(f"Cannot read {inner}: {why}.") from None


class TargetOption(click.Option):
    """A column that must be named, unless the table is a folder of files."""

    def known(self, ctx: click.Context) -> str:
        """Name the column.

        Parameters
        ----------
        ctx : click.Context
            Has what was given for the command.

        Returns
        -------
        target : str
            As given, or that of a folder of files.
        """
        given = ctx.params[str(self.name)]
        if given is not None:
            return str(given)
        from fewlabels.tabular.file_folders import LABEL, folder_kind

        if not folder_kind(ctx.params["table"]):
            raise click.MissingParameter(ctx=ctx, param=self)
        return LABEL


class CommandWithExamples(Examples, click.Command):
    """A command with examples, which reads further options from a file by the table."""

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: click.Context | None = None,
        **extra: Any,
    ) -> click.Context:
        """Read the arguments, and the options file next to the table."""
        first = super().make_context(
            info_name, list(args), parent, resilient_parsing=True, **extra
        )
        group = parent.command if parent is not None else None
        known = group.commands.values() if isinstance(group, click.Group) else [self]
        found = file_options(first.params.get("table"), known)
        values = found.default_map(self)
        if values:
            extra["default_map"] = values
        try:
            ctx = super().make_context(info_name, args, parent, **extra)
        except click.BadParameter as error:
            if error.param is None or error.param.name not in values:
                raise
            said = f"{error.message} (Options from {found.path} are used.)"
            raise click.BadParameter(said, error.ctx, error.param) from None
        taken = found.taken(ctx) if values else []
        ctx.meta[FROM_FILE] = taken
        if taken and not ctx.params.get("quiet"):
            click.echo(found.said(taken, self), err=True)
        return ctx

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command, if its files exist."""
        for argument in self.params:
            if isinstance(argument, FileArgument):
                argument.check(ctx.params[str(argument.name)])
            elif isinstance(argument, TargetOption):
                ctx.params[str(argument.name)] = argument.known(ctx)
        return super().invoke(ctx)


class GroupWithExamples(Examples, click.Group):
    """A group of commands with examples, listed in the order people need them."""

    ORDER = (
        *("label", "report", "columns", "ask", "studio", "merge"),
        *("fit", "predict", "cluster"),
    )

    def list_commands(self, ctx: click.Context) -> list[str]:
        """List the commands in that order."""
        rest = set(self.commands) - set(self.ORDER)
        return [name for name in self.ORDER if name in self.commands] + sorted(rest)
