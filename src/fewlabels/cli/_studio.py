"""The labelling page, and merging labels from elsewhere."""

# SPDX-License-Identifier: BSD-3-Clause

from typing import Any

import click

from fewlabels._words import plural
from fewlabels.cli import _options as options
from fewlabels.cli._console import Console, DataError, UseError
from fewlabels.cli._group import commands, typed
from fewlabels.cli._help import CommandWithExamples
from fewlabels.cli._job import (
    Job,
    check_text_options,
    encoding,
    names_in,
    reading,
)
from fewlabels.cli._wording import in_options

_LOCAL = ("127.0.0.1", "localhost", "::1")
_REACHED = ("people", "certificate", "key", "site", "base_path", "keep_address")


@commands.command(
    cls=CommandWithExamples,
    examples=(
        "fewlabels studio flowers.csv --target species",
        "fewlabels studio digits.csv -t digit --image 28x28 --class 0,1,2,3",
    ),
)
@options.with_options(
    options.table,
    options.label_column,
    click.option(
        "--class",
        "classes",
        multiple=True,
        metavar="NAME",
        help="Name of a class, in the order of the keys (repeat, or write a,b,c).",
    ),
    click.option(
        "--image",
        metavar="28x28",
        help="Draw columns of pixels as a picture of this height and width.",
    ),
    click.option(
        "--labels",
        "store",
        type=click.Path(dir_okay=False),
        metavar="FILE",
        help="File for the labels; TABLE.labels.jsonl next to the table by default.",
    ),
    click.option(
        "--port",
        type=click.IntRange(0, 65535),
        default=0,
        help="Port; a free one by default.",
    ),
    click.option(
        "--host",
        default="127.0.0.1",
        show_default=True,
        help="Address to listen on; any but this one lets other computers connect.",
    ),
    click.option(
        "--annotator",
        default="",
        metavar="NAME",
        help="Who labels; the name is kept with each label.",
    ),
    click.option(
        "--ask-name",
        is_flag=True,
        help="Let the page ask for a name, once in each browser.",
    ),
    click.option(
        "--overlap",
        type=click.FloatRange(0, 1),
        default=0.0,
        metavar="SHARE",
        help="Share of the rows that two people are asked about.",
    ),
    click.option(
        "--person",
        "people",
        multiple=True,
        metavar="NAME",
        help="Who may log in (repeat); a passphrase is printed the first time.",
    ),
    click.option(
        "--certificate", type=click.Path(), metavar="FILE", help="Certificate for TLS."
    ),
    click.option("--key", type=click.Path(), metavar="FILE", help="Key for TLS."),
    click.option(
        "--site",
        default="",
        metavar="ORIGIN",
        help="Origin of a reverse proxy, as in https://labels.example.org.",
    ),
    click.option(
        "--base-path",
        default="",
        metavar="PATH",
        help="What paths begin with at a reverse proxy, as in /wines.",
    ),
    click.option(
        "--keep-address",
        is_flag=True,
        help="Keep the address, with its token, after a restart.",
    ),
    click.option(
        "--no-browser",
        is_flag=True,
        help="Print the address instead of opening a browser.",
    ),
    options.columns,
    options.reading,
    options.embed_with,
    options.bank,
    options.device,
    options.seed,
    click.option("-q", "--quiet", is_flag=True, help="Print only the address."),
)
def studio(table: str, **settings: Any) -> None:
    """Label TABLE in the browser, the most useful rows first.

    The label column may be empty, or new. Each label is saved at once in a file next to
    the table, which itself never changes. Ctrl-C stops; start again to continue.
    """
    import webbrowser

    console = Console(settings["quiet"])
    shared = settings["host"] not in _LOCAL and not settings["people"]
    if table == "-":
        raise UseError("The studio needs a file: labels are saved next to it.")
    with console.messages():
        from fewlabels.studio import Studio

        page = Studio(
            table,
            settings["target"],
            store=settings["store"],
            classes=[n for given in settings["classes"] for n in names_in(given, [])],
            image=settings["image"],
            markers=settings["markers"],
            encoding=lambda table: encoding(settings, table.names),
            bank=settings["bank"],
            device=settings["device"],
            random_state=settings["seed"],
            reading=reading(settings),
            host=settings["host"],
            port=settings["port"],
            command=typed(),
            wording=in_options,
            annotator=settings["annotator"],
            ask_name=settings["ask_name"] or (shared and not settings["annotator"]),
            overlap=settings["overlap"],
            **{name: settings[name] for name in _REACHED},
        )
        check_text_options(page.table, settings)
    if page.is_new:
        console.say(f"There is no column {settings['target']!r} yet: it will be added.")
    if not page.store.writes:
        console.say(
            f"Process {page.store.holder.get('pid', '?')} is labelling this table: "
            "here you can only watch."
        )
    if shared:
        console.say("Anyone who can reach this computer and has the address can label.")
    for name, phrase in page.server.passphrases.items():
        click.echo(f"Passphrase of {name}: {phrase}", err=True)
    click.echo(page.address)
    console.say(f"Labels are saved in {page.store.path}. Ctrl-C stops the studio.")
    page.run(lambda: settings["no_browser"] or webbrowser.open(page.address))
    for line in page.store.last_words():
        console.say(line)
    if page.store.journal.trouble:
        raise DataError(page.store.journal.trouble)


@commands.command(
    cls=CommandWithExamples,
    examples=(
        "fewlabels merge flowers.csv to_label.csv -t species -o merged.csv",
        "fewlabels merge flowers.csv export.json -t species --on id -o merged.csv",
    ),
)
@options.with_options(
    options.table,
    options.file("labels"),
    options.label_column,
    click.option(
        "--labels-in",
        metavar="COLUMN",
        help="Column of LABELS with the labels; the target by default.",
    ),
    click.option(
        "--on",
        metavar="COLUMN",
        help="Column that identifies a row; by default, its number and content do.",
    ),
    click.option(
        "--overwrite", is_flag=True, help="Replace labels that TABLE already has."
    ),
    options.output,
    options.file_format,
    options.printing,
)
def merge(table: str, labels: str, **settings: Any) -> None:
    """Merge LABELS that were given elsewhere into the rows of TABLE.

    LABELS is a file written by 'fewlabels ask -o', with the labels filled in, an export
    of Label Studio (JSON, JSON_MIN or CSV), or the labels file of 'fewlabels studio'.
    All other cells of TABLE stay unchanged.
    """
    console = Console(settings["quiet"])
    job = Job(console, settings)

    def work() -> tuple[dict[str, Any], list[str]]:
        from fewlabels.studio import merge_labels

        job.check_files()
        read = job.read(table, rewritten=True)
        target = settings["target"]
        merged = merge_labels(
            read,
            labels,
            target,
            labels_in=settings["labels_in"],
            on=settings["on"],
            markers=settings["markers"],
            overwrite=settings["overwrite"],
        )
        added = {}
        if target not in read.names:
            rows = range(read.n_rows)
            added = {target: [merged.labels.get(row, "") for row in rows]}
        job.write(merged.table, added)
        summary = {
            "table": read.source,
            "merged": len(merged.labels),
            "same": merged.same,
            "problems": merged.problems,
            "output": job.output,
        }
        lines = [
            f"{plural(len(merged.labels), 'label')} merged, "
            f"{merged.same:,} already there.",
            *merged.problems[:20],
        ]
        if len(merged.problems) > 20:
            lines.append(f"... and {len(merged.problems) - 20:,} more problems.")
        return summary, lines

    job.finish(*console.work(work))
