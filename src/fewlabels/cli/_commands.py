"""All commands; importing each adds it to the group."""

# SPDX-License-Identifier: BSD-3-Clause

from pathlib import Path

import click

from fewlabels.cli import (  # noqa: F401
    _agree,
    _ask,
    _check,
    _cluster,
    _columns,
    _label,
    _predict,
    _studio,
)
from fewlabels.cli._console import Console
from fewlabels.cli._group import commands, run
from fewlabels.cli._help import CommandWithExamples

__all__ = ["commands", "run"]


@commands.command(
    cls=CommandWithExamples,
    examples=(
        "fewlabels demo",
        "fewlabels demo -o folder",
    ),
)
@click.option(
    "-o",
    "--output",
    type=click.Path(file_okay=False),
    default="fewlabels-demo",
    show_default=True,
    metavar="FOLDER",
    help="Folder to write the files to.",
)
@click.option("-q", "--quiet", is_flag=True, help="Print errors only.")
@click.option("-f", "--force", is_flag=True, help="Replace files that exist.")
def demo(output: str, quiet: bool, force: bool) -> None:
    """Show all commands on a table that comes with fewlabels.

    Writes a table of wines, a few of them labelled, labels the rest, compares them with
    the true classes, suggests rows to label, saves a model, and writes a report.
    """
    from fewlabels.cli._demo import tell_the_story

    tell_the_story(commands, Path(output), Console(quiet), force)
