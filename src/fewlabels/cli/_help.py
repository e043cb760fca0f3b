"""Help that ends with examples, which are not wrapped."""

# SPDX-License-Identifier: BSD-3-Clause

from collections.abc import Sequence
from typing import Any

import click


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


class CommandWithExamples(Examples, click.Command):
    """A command with examples."""


class GroupWithExamples(Examples, click.Group):
    """A group of commands with examples."""
