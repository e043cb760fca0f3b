"""The group of commands, and how it is run."""

# SPDX-License-Identifier: BSD-3-Clause

import shlex
import signal
import sys

import click

from fewlabels import __version__
from fewlabels.cli._console import INTERRUPTED
from fewlabels.cli._defaults import FROM_FILE
from fewlabels.cli._help import GroupWithExamples

_SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


@click.group(
    cls=GroupWithExamples,
    context_settings=_SETTINGS,
    examples=(
        "fewlabels label flowers.csv --target species -o labelled.csv",
        "fewlabels report flowers.csv --target species -o report.html",
        "fewlabels ask flowers.csv --target species -n 10",
        "fewlabels studio flowers.csv --target species",
        "fewlabels demo",
    ),
)
@click.version_option(__version__, prog_name="fewlabels")
def commands() -> None:
    """Label all rows of a table from the few that have a label.

    TABLE is a CSV, TSV, JSON lines, Parquet, Excel or OpenDocument file, perhaps
    compressed, a folder of such files, sqlite:FILE::NAME or duckdb:FILE::NAME, an
    address, or - for the standard input. Its first line names the columns. New here?
    Try fewlabels demo.

    Exit codes: 0 success, 1 problem with the data, 2 wrong usage, 130 interrupted.
    """


def run() -> None:
    """Run the command line, and exit with its code."""
    # When asked to terminate, leave no half-written files, as on Ctrl-C.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        commands(prog_name="fewlabels")
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)


def typed() -> str:
    """Repeat the command line, so that it can be typed again."""
    ctx = click.get_current_context()
    arguments = ctx.find_root().obj or sys.argv[1:]
    return shlex.join(["fewlabels", *arguments, *ctx.meta.get(FROM_FILE, [])])
