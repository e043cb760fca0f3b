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
    options.pictures,
    options.bank,
    options.device,
    options.running,
)
def ask(table: str, number: int, **settings: Any) -> None:
    """Say which rows of TABLE to label next, the most useful first.

    Row 1 is the first below the column names. Without any labels, it chooses rows that
    are typical of many others, and the label column may be a new one.
    """
    console = Console(settings["quiet"])
    job = Job(console, settings)

    def work() -> Any:
        from fewlabels.tabular import label_report, suggest_rows, write_table

        job.check_files()
        read = job.read(table)
        target = settings["target"]
        asked = read
        is_new = target not in read.names
        if is_new:
            asked = _with_new_column(read, target)
        found = suggest_rows(
            asked,
            target,
            number,
            **job.learning,
            progress=job.tell,
            **job.encoding(read),
        )
        if is_new:
            found.notes.insert(0, _new_column_said(target, job.output))
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
            added = {target: [""] * len(rows)} if is_new else {}
            added |= {
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
        return summary, rows, [n for n in read.names if n not in read.derived]

    summary, rows, names = console.work(work)
    if not settings["as_json"] and not job.output:
        click.echo(_listing(rows, [n for n in names if n != settings["target"]]))
    if not rows:
        console.say("Every row has a label already.")
    job.finish(summary, [f"Chosen: {summary['reason']}."] if rows else [])


# How like a column a new name must be to be a slip: Meite for Miete, not Neu for Note.
_SLIP = 0.75


def _with_new_column(table: Any, target: str) -> Any:
    """Add an empty label column, unless its name looks like a typo."""
    from fewlabels._words import nearest_name
    from fewlabels.preprocessing import Table
    from fewlabels.preprocessing.cells import object_array

    if nearest_name(target, table.names, _SLIP):
        table.index(target, "target")  # raises, suggesting the name that was meant
    nothing = object_array([None] * table.n_rows)
    names, columns = [*table.names, target], [*table.columns, nothing]
    return Table(names, columns, table.source, notes=table.notes)


def _new_column_said(target: str, output: str | None) -> str:
    """Say what to do with a label column that the table does not have yet."""
    if output:
        return (
            f"There is no column {target!r} yet: fill it in in {output}, and bring the "
            "labels back with 'fewlabels merge'."
        )
    return (
        f"There is no column {target!r} yet: add it to the table and fill it in for "
        "these rows; or write them with -o FILE, fill it in there, and bring the "
        "labels back with 'fewlabels merge'."
    )


def _questions(found: Any, table: Any) -> list[dict[str, Any]]:
    """Return the rows to label as JSON: guess and confidence, most useful first."""
    chosen = zip(found.rows, found.guesses, found.confidence, strict=True)
    return [
        {
            "rank": rank,
            "row": int(table.row_numbers[row]),
            "guess": guess,
            "confidence": round(float(sure), 4),
            "values": {
                name: jsonable(column[row])
                for name, column in zip(table.names, table.columns, strict=True)
                if name not in table.derived
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
