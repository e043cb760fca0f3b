"""Show how the columns of a table are read."""

# SPDX-License-Identifier: BSD-3-Clause

from typing import Any

import click

from fewlabels.cli import _options as options
from fewlabels.cli._console import Console
from fewlabels.cli._group import commands
from fewlabels.cli._help import CommandWithExamples
from fewlabels.cli._job import FEATURES, Job, encoding
from fewlabels.cli._wording import in_options


@commands.command(
    cls=CommandWithExamples,
    examples=(
        "fewlabels columns orders.xlsx",
        "fewlabels columns orders.xlsx --date born=%d.%m.%y --text remark",
    ),
)
@options.with_options(
    options.table,
    options.columns,
    options.reading,
    options.quiet,
    options.as_json,
)
def columns(table: str, **settings: Any) -> None:
    """Show how the columns of TABLE are read.

    Lists every column with its kind, its missing values, some cells and the values they
    become, and cells that cannot be read. Nothing is learned or written.
    """
    console = Console(settings["quiet"])
    job = Job(console, settings)

    def work() -> tuple[Any, Any]:
        from fewlabels.preprocessing import describe_columns

        read = job.read(table)
        # How they become features does not matter here.
        given = encoding(settings, read.names)
        kinds = {k: v for k, v in given.items() if k not in FEATURES}
        return read, describe_columns(read, **kinds)

    read, found = console.work(work)
    from fewlabels._words import plural
    from fewlabels.tabular.telling import column_listing

    if not settings["as_json"]:
        size = f"{plural(read.n_rows, 'row')}, {plural(len(found), 'column')}"
        click.echo(f"{read.source}: {size}.\n")
        for line in column_listing(found, in_options):
            click.echo(line)
        click.echo(
            "\nTo read a column differently, pass --numeric, --date, --categorical or "
            "--text\nwith its name to any command; --ignore leaves it out."
        )
    job.finish(
        {
            "table": read.source,
            "rows": read.n_rows,
            "columns": [column.as_dict() for column in found],
            "notes": read.notes,
        },
        [],
    )
