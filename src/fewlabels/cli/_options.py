"""Options that several commands share."""

# SPDX-License-Identifier: BSD-3-Clause

import re
from collections.abc import Callable
from typing import Any

import click

from fewlabels.cli._console import UseError
from fewlabels.cli._help import FileArgument

Command = Callable[..., Any]


def _delimiter(ctx: click.Context, param: click.Parameter, value: str | None) -> Any:
    r"""Allow ``\t`` and ``tab`` for a tab."""
    if value is None:
        return None
    value = {"\\t": "\t", "tab": "\t"}.get(value, value)
    if len(value) != 1 or value in '"\r\n':
        raise click.BadParameter("give one character, such as ';' or tab.")
    return value


def _weight(ctx: click.Context, param: click.Parameter, value: str) -> float | str:
    """Allow a positive number, or auto."""
    if value == "auto":
        return value
    try:
        weight = float(value)
    except ValueError:
        weight = 0.0
    if not 0 < weight < float("inf"):
        raise click.BadParameter("give a positive number, or auto.")
    return weight


def _shares(
    ctx: click.Context, param: click.Parameter, value: str
) -> str | dict[str, float]:
    """Allow auto, labels, uniform, or a positive number for every class."""
    if value in ("auto", "labels", "uniform"):
        return value
    wrong = click.BadParameter(
        "give auto, labels, uniform, or a positive number for every class, such as "
        "spam=0.1,ham=0.9."
    )
    shares: dict[str, float] = {}
    # Names may hold commas and equals signs themselves.
    for name, number in re.findall(r"(.*?)=([^,=]*)(?:,|$)", value):
        try:
            share = float(number)
        except ValueError:
            raise wrong from None
        if not 0 < share < float("inf") or name.strip() in shares:
            raise wrong
        shares[name.strip()] = share
    if not shares or "=" not in value.rpartition(",")[2]:
        raise wrong
    return shares


def _several(*flags: str, help: str) -> Callable[[Command], Command]:
    return click.option(*flags, multiple=True, metavar="COLUMN", help=help)


def _device(ctx: click.Context, param: click.Parameter, value: str) -> str:
    """Miss a device before any work is done."""
    if value != "cpu":
        from fewlabels._backend import get_backend

        try:
            get_backend(value)
        except (ImportError, ValueError) as error:
            raise UseError(str(error)) from None
    return value


def file(name: str) -> Callable[[Command], Command]:
    """Argument for a file that must be there; - is the standard input."""
    return click.argument(name, metavar=name.upper(), cls=FileArgument)


table = file("table")
reading = (
    click.option(
        "--delimiter",
        callback=_delimiter,
        metavar="CHAR",
        help="What separates fields; guessed by default.",
    ),
    click.option("--encoding", help="Encoding of text; UTF-8 by default."),
    click.option("--sheet", help="Sheet of a workbook; the first by default."),
    click.option(
        "--header-row",
        type=click.IntRange(0),
        metavar="LINE",
        help="Line with the names of the columns, 0 for none; found by default.",
    ),
    click.option(
        "--features",
        metavar="FILE",
        help="A .npy file with a vector for every row, such as embeddings.",
    ),
)
batch_rows = click.option(
    "--batch-rows",
    type=click.IntRange(0),
    metavar="NUMBER",
    help="Rows to hold at a time, 0 for all; by default 50,000 of files beyond 128 MB, "
    "folders and addresses.",
)
sample_rows = click.option(
    "--sample-rows",
    type=click.IntRange(100),
    default=50_000,
    show_default=True,
    metavar="NUMBER",
    help="Rows without a label to learn from, where not all are held.",
)
target = (
    click.option(
        "-t", "--target", required=True, metavar="COLUMN", help="The label column."
    ),
    click.option(
        "--marker",
        "markers",
        multiple=True,
        metavar="TEXT",
        help="A text that means 'no label', besides empty cells and NA.",
    ),
    click.option(
        "--merge-labels",
        is_flag=True,
        help="Take labels that differ only in case and blanks as one class.",
    ),
    click.option(
        "--task",
        type=click.Choice(["auto", "classes", "numbers"]),
        default="auto",
        show_default=True,
        help="Predict classes or numbers; auto looks at the labels.",
    ),
)
columns = (
    _several("--ignore", help="Leave a column out (repeat, or give a,b,c)."),
    _several("--text", help="Take a column as free text."),
    _several("--categorical", help="Take a column as categories."),
    _several("--numeric", help="Take a column as numbers."),
    _several(
        "--date", help="Take a column as dates; --date 'born=%d.%m.%y' with a format."
    ),
    click.option(
        "--scale",
        type=click.Choice(["auto", "standard", "none"]),
        default="auto",
        show_default=True,
        help="Numbers: one scale for all, each column its own, or as they are.",
    ),
    click.option(
        "--text-weight",
        callback=_weight,
        default="auto",
        show_default=True,
        metavar="NUMBER",
        help="What a column of text counts, where any other column counts 1.",
    ),
    click.option(
        "--embed",
        is_flag=True,
        help="Take text also by its meaning, in English above all; needs "
        "fewlabels[embeddings].",
    ),
)
class_shares = click.option(
    "--class-shares",
    callback=_shares,
    default="auto",
    show_default=True,
    metavar="SHARES",
    help="Shares of classes, or their numbers, among the rows without a label: labels, "
    "uniform, or spam=0.1,ham=0.9.",
)
bank = click.option(
    "--bank",
    type=click.Choice(["auto", "fast", "default", "thorough"]),
    default="auto",
    show_default=True,
    help="How much to try; auto is fast beyond 20,000 rows.",
)
device = click.option(
    "--device",
    type=click.Choice(["cpu", "cuda"]),
    default="cpu",
    show_default=True,
    callback=_device,
    help="Where to compute; cuda is an NVIDIA GPU and needs fewlabels[gpu].",
)
running = (
    click.option(
        "--seed", type=click.IntRange(0), default=0, show_default=True, help="Seed."
    ),
    click.option("-q", "--quiet", is_flag=True, help="Print errors only."),
    click.option(
        "--json", "as_json", is_flag=True, help="Write a summary as JSON to stdout."
    ),
    click.option("-f", "--force", is_flag=True, help="Replace files that exist."),
)
report = click.option(
    "--report",
    "report_path",
    type=click.Path(allow_dash=True),
    metavar="FILE",
    help="Also write a report as one HTML page.",
)
output = click.option(
    "-o",
    "--output",
    type=click.Path(allow_dash=True),
    default="-",
    metavar="FILE",
    help="Where to write; standard output by default. The suffix sets the format.",
)


scheduler = click.option(
    "--scheduler",
    metavar="ADDRESS",
    help="A Dask cluster, such as tcp://host:8786: the table is read in parts there, "
    "and -o names a folder of Parquet parts. Started again, it goes on with those that "
    "are missing.",
)


def with_options(*groups: Any) -> Callable[[Command], Command]:
    """Add options to a command, in the order in which they are named."""
    flat = [
        o for group in groups for o in (group if isinstance(group, tuple) else (group,))
    ]

    def decorate(command: Command) -> Command:
        for option in reversed(flat):
            command = option(command)
        return command

    return decorate
