"""Commands: help that ends with examples, and files that must be there."""

# SPDX-License-Identifier: BSD-3-Clause

import os
from collections.abc import Sequence
from typing import Any

import click

from fewlabels.cli._console import UseError


class Examples:
    """Makes a command of click show examples below its options.

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
    """A file that must be there, - for the standard input, or an address."""

    def check(self, value: str) -> None:
        """Miss it before anything is loaded that could read it.

        Parameters
        ----------
        value : str
            What was given.
        """
        if value != "-" and "://" not in value:
            try:
                os.stat(value)  # not opened: it may be a pipe
            except (OSError, ValueError) as error:
                why = getattr(error, "strerror", None) or error
                raise UseError(f"Cannot read {value}: {why}.") from None


class CommandWithExamples(Examples, click.Command):
    """A command with examples."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command, if its files are there."""
        for argument in self.params:
            if isinstance(argument, FileArgument):
                argument.check(ctx.params[str(argument.name)])
        return super().invoke(ctx)


class GroupWithExamples(Examples, click.Group):
    """A group of commands with examples, in the order in which people need them."""

    ORDER = ("label", "report", "ask", "studio", "merge", "fit", "predict", "cluster")

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Name the commands in that order."""
        rest = set(self.commands) - set(self.ORDER)
        return [name for name in self.ORDER if name in self.commands] + sorted(rest)
