"""Group the rows of a table."""

# SPDX-License-Identifier: BSD-3-Clause

from typing import Any

import click

from fewlabels.cli import _options as options
from fewlabels.cli._console import Console, UseError
from fewlabels.cli._group import commands
from fewlabels.cli._help import CommandWithExamples
from fewlabels.cli._job import Job, as_read, worded, written_words


@commands.command(
    cls=CommandWithExamples,
    examples=(
        "fewlabels cluster flowers.csv --clusters 3 -o grouped.csv",
        "fewlabels cluster flowers.csv -t species --report groups.html > g.csv",
    ),
)
@options.with_options(
    options.table,
    click.option(
        "-k",
        "--clusters",
        type=click.IntRange(2),
        help="How many groups; guessed by default.",
    ),
    click.option(
        "-t",
        "--target",
        metavar="COLUMN",
        help="Column with labels, to leave out.",
    ),
    options.output,
    options.report,
    options.columns,
    options.reading,
    options.embed_with,
    options.device,
    options.batch_rows,
    options.sample_rows,
    options.running,
)
def cluster(table: str, clusters: int | None, **settings: Any) -> None:
    """Group the rows of a TABLE that has no labels.

    It adds the column 'cluster', in which 1 is the largest group. Columns that look
    like labels, with few values in few rows, are left out; --categorical uses one.
    """
    console = Console(settings["quiet"])
    job = Job(console, settings)

    def work() -> tuple[dict[str, Any], list[str]]:
        from fewlabels.tabular import cluster_report, cluster_table

        large = job.large(table)
        if large is not None:
            return _in_batches(job, large, clusters)
        read = job.read(table, rewritten=True)
        grouped = cluster_table(
            read,
            clusters,
            target=settings["target"],
            device=settings["device"],
            random_state=settings["seed"],
            progress=job.tell,
            **job.encoding(read),
        )
        if job.report:
            job.write_page(cluster_report(worded(grouped), **job.page), job.report)
        added = grouped.new_columns()
        job.write(read, added)
        return _summary(job, grouped, read.source, grouped.sizes, added)

    job.finish(*console.work(work))


def _in_batches(
    job: Job, large: Any, clusters: int | None
) -> tuple[dict[str, Any], list[str]]:
    from fewlabels.tabular import cluster_report
    from fewlabels.tabular.large import cluster_large

    if large.source == "-":
        raise UseError(
            "Grouping in batches reads the table twice: give it as a file, or pass "
            "--batch-rows 0."
        )
    grouped, written = cluster_large(
        large,
        clusters,
        str(job.output),
        target=job.settings["target"],
        **job.sample,
        device=job.settings["device"],
        random_state=job.settings["seed"],
        force=job.settings["force"],
        progress=job.console.tell,
        encoding=job.encoding,
    )
    if job.report:
        job.write_page(cluster_report(worded(grouped), **job.page), job.report)
    sizes = dict(sorted((int(name), n) for name, n in written.counts.items()))
    summary, lines = _summary(job, grouped, large.source, sizes, written.names)
    return summary, [*lines, *written_words(written)]


def _summary(
    job: Job, grouped: Any, source: str, sizes: dict[int, int], names: Any
) -> tuple[dict[str, Any], list[str]]:
    from fewlabels._words import plural

    n_rows = sum(sizes.values())
    summary = {
        "table": source,
        "rows": n_rows,
        "clusters": sizes,
        "columns": [column.as_dict() for column in grouped.columns],
        "new_columns": list(names),
        "notes": grouped.notes,
        "output": job.output,
        "report": job.report,
    }
    said = ", ".join(f"{size:,}" for size in sizes.values())
    return summary, [
        f"{source}: {plural(n_rows, 'row')} in {plural(len(sizes), 'cluster')} of "
        f"{said}.",
        *as_read(grouped.columns, source),
    ]
