"""Say which rows to label next."""

# SPDX-License-Identifier: BSD-3-Clause

from typing import Any

import click

from fewlabels.cli import _options as options
from fewlabels.cli._console import Console, UseError
from fewlabels.cli._group import commands
from fewlabels.cli._help import CommandWithExamples
from fewlabels.cli._job import Job, jsonable, worded


@commands.command(
    cls=CommandWithExamples,
    examples=(
        "fewlabels ask flowers.csv --target species -n 10",
        "fewlabels ask flowers.csv -t species -n 20 -o to_label.csv",
    ),
)
@options.with_options(
    options.table,
    options.target,
    click.option(
        "-n",
        "--number",
        type=click.IntRange(1),
        default=10,
        show_default=True,
        help="How many rows.",
    ),
    click.option(
        "-o",
        "--output",
        type=click.Path(),
        metavar="FILE",
        help="File to write these rows to.",
    ),
    options.report,
    options.columns,
    options.reading,
    options.bank,
    options.device,
    options.running,
)
def ask(table: str, number: int, **settings: Any) -> None:
    """Say which rows of TABLE to label next, the most useful first.

    Row 1 is the first below the column names. Without any labels, it chooses rows that
    are typical of many others.
    """
    console = Console(settings["quiet"])
    job = Job(console, settings)

    def work() -> Any:
        from fewlabels.tabular import label_report, suggest_rows, write_table

        job.check_files()
        read = job.read(table)
        target = settings["target"]
        found = suggest_rows(
            read,
            target,
            number,
            **job.learning,
            progress=job.tell,
            **job.encoding(read),
        )
        if job.report and found.labeled is None:
            raise UseError("A report needs labels of two classes: leave --report out.")
        if job.report:
            page = label_report(worded(found.labeled), **job.page, suggestion=found)
            job.write_page(page, job.report)
        rows = _questions(found, read)
        if job.output:
            part = read.take(found.rows)
            keys = ("rank", "row", "guess", "confidence")
            names = part.free_names(keys)
            added = {
                name: [_cell(row[key]) for row in rows]
                for name, key in zip(names, keys, strict=True)
            }
            write_table(part, job.output, added, force=settings["force"])
        summary = {
            "table": read.source,
            "target": target,
            "reason": found.reason,
            "rows": rows,
            "notes": found.notes,
            "output": job.output,
            "report": job.report,
        }
        return summary, rows, read.names

    summary, rows, names = console.work(work)
    if not settings["as_json"] and not job.output:
        click.echo(_listing(rows, [n for n in names if n != settings["target"]]))
    if not rows:
        console.say("Every row has a label already.")
    job.finish(summary, [f"Chosen: {summary['reason']}."] if rows else [])


def _questions(found: Any, table: Any) -> list[dict[str, Any]]:
    """Rows to label, the most useful first, with what is known of them."""
    chosen = zip(found.rows, found.guesses, found.confidence, strict=True)
    return [
        {
            "rank": rank,
            "row": int(row) + 1,
            "guess": guess,
            "confidence": round(float(sure), 4),
            "values": {
                name: jsonable(column[row])
                for name, column in zip(table.names, table.columns, strict=True)
            },
        }
        for rank, (row, guess, sure) in enumerate(chosen, start=1)
    ]


def _cell(value: Any) -> Any:
    return "" if value is None or value != value else value


def _listing(rows: list[dict[str, Any]], names: list[str]) -> str:
    """Rows as an aligned list that fits a terminal."""
    shown = names[:4]
    lines = [["rank", "row", "guess", "confidence", *shown]]
    for row in rows:
        sure = row["confidence"]
        lines.append(
            [
                str(row["rank"]),
                str(row["row"]),
                _short(row["guess"]),
                "" if sure != sure else f"{sure:.2f}",
                *(_short(row["values"][name]) for name in shown),
            ]
        )
    widths = [max(len(line[k]) for line in lines) for k in range(len(lines[0]))]
    return "\n".join(
        "  ".join(cell.ljust(w) for cell, w in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )


def _short(value: Any) -> str:
    text = "" if value is None else " ".join(str(value).split())
    return text if len(text) <= 24 else text[:23] + "…"
