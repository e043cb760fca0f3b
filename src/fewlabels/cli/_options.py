"""Options that several commands share."""

# SPDX-License-Identifier: BSD-3-Clause

import re
from collections.abc import Callable
from typing import Any

import click

from fewlabels.cli._console import UseError
from fewlabels.cli._help import FileArgument, TargetOption
from fewlabels.cli._wording import in_options

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
    """Refuse a device that is not available before any work is done."""
    if value != "cpu":
        from fewlabels._backend import get_backend

        try:
            get_backend(value)
        except (ImportError, ValueError) as error:
            raise UseError(in_options(str(error))) from None
    return value


def file(name: str) -> Callable[[Command], Command]:
    """Return an argument for a file that must exist; - is the standard input."""
    return click.argument(name, metavar=name.upper(), cls=FileArgument)


table = file("table")
file_format = (
    click.option(
        "--delimiter",
        callback=_delimiter,
        metavar="CHAR",
        help="Character between fields; guessed by default.",
    ),
    click.option("--encoding", help="Encoding of the text; UTF-8 by default."),
    click.option(
        "--sheet",
        help="Sheet of the workbook, the first by default; table of the database.",
    ),
    click.option(
        "--header-row",
        type=click.IntRange(0),
        metavar="LINE",
        help="Line with the column names, 0 if there is none; guessed by default.",
    ),
    click.option(
        "--keep-rows",
        is_flag=True,
        help="Treat totals, units, footnotes and blank lines as rows like the others.",
    ),
)
reading = (
    *file_format,
    click.option(
        "--features",
        metavar="FILE",
        help="A .npy file with a vector for every row, such as embeddings.",
    ),
)
embed_with = click.option(
    "--embed-with",
    metavar="NAME",
    help="Network that looks at pictures, efficientnet-lite2 by default: a name, or "
    "MODULE:FUNCTION of your own.",
)
embed_allowed = click.option(
    "--embed",
    metavar="MODULE:FUNCTION",
    help="Network for texts that the model was fitted with, if it is your own.",
)
pictures = (
    click.option(
        "--labels",
        type=click.Path(),
        metavar="FILE",
        help="Table with columns file and label, for a folder of pictures or texts; "
        "without it, their folders are their labels.",
    ),
    embed_with,
)
batch_rows = click.option(
    "--batch-rows",
    type=click.IntRange(0),
    metavar="NUMBER",
    help="Rows to hold in memory at a time, 0 for all; by default 50,000 for files "
    "beyond 128 MB, folders and addresses, and all otherwise.",
)
sample_rows = click.option(
    "--sample-rows",
    type=click.IntRange(100),
    show_default="50,000",
    metavar="NUMBER",
    help="Unlabelled rows to learn from, where not all rows are held in memory.",
)
label_column = (
    click.option(
        "-t",
        "--target",
        cls=TargetOption,
        metavar="COLUMN",
        help="Column with the labels; not needed for a folder of pictures or texts.",
    ),
    click.option(
        "--marker",
        "markers",
        multiple=True,
        metavar="TEXT",
        help="Text that means 'no label', besides empty cells and NA.",
    ),
)
target = (
    *label_column,
    click.option(
        "--merge-labels",
        is_flag=True,
        help="Treat labels that differ only in case or spaces as one class.",
    ),
    click.option(
        "--task",
        type=click.Choice(["auto", "classes", "numbers"]),
        default="auto",
        show_default=True,
        help="Predict classes or numbers; auto decides by the labels.",
    ),
)
hints = (
    click.option(
        "--hint",
        "hints",
        multiple=True,
        metavar="COLUMN",
        help="Column with guesses of a language model or another source (repeat).",
    ),
    click.option(
        "--rule",
        "rules",
        multiple=True,
        metavar="RULE",
        help="Rule such as 'contains(text, \"refund\") -> complaint' (repeat); best "
        "kept in fewlabels.toml.",
    ),
    click.option(
        "--weight", metavar="COLUMN", help="Column with the weights of the labels."
    ),
)
ordinal = click.option(
    "--ordinal",
    is_flag=False,
    flag_value="",
    metavar="ORDER",
    help="The classes have an order: low,medium,high; without ORDER, by number.",
)
kinds = (
    _several("--ignore", help="Leave a column out (repeat, or write a,b,c)."),
    _several("--text", help="Treat a column as free text."),
    _several("--categorical", help="Treat a column as categories."),
    _several("--numeric", help="Treat a column as numbers."),
)
columns = (
    *kinds,
    _several(
        "--date", help="Treat a column as dates; 'born=%d.%m.%y' also names the format."
    ),
    click.option(
        "--decimal",
        multiple=True,
        metavar="SIGN",
        help="Sign before decimals, ',' or '.'; 'rent=,' is for one column.",
    ),
    click.option(
        "--missing",
        multiple=True,
        metavar="VALUE",
        help="Value that means missing, such as -999; 'age=-1' is for one column.",
    ),
    click.option(
        "--scale",
        type=click.Choice(["auto", "standard", "none"]),
        default="auto",
        show_default=True,
        help="Scaling of numbers: standard scales each column, none keeps their "
        "proportions.",
    ),
    click.option(
        "--text-weight",
        callback=_weight,
        default="auto",
        show_default=True,
        metavar="NUMBER",
        help="Weight of a text column, where any other column has weight 1.",
    ),
    click.option(
        "--embed",
        default="auto",
        show_default=True,
        metavar="NAME",
        help="Compare texts by meaning as well as by words: wordllama (fast, best in "
        "English), minilm (slower), a model of another library, or none; auto takes "
        "wordllama where it is installed.",
    ),
)
class_shares = click.option(
    "--class-shares",
    callback=_shares,
    default="auto",
    show_default=True,
    metavar="SHARES",
    help="Shares or row counts of the classes among the unlabelled rows, such as "
    "spam=0.1,ham=0.9; labels: as among the labels; uniform: all the same.",
)
interval = click.option(
    "--interval",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=0.9,
    show_default=True,
    metavar="SHARE",
    help="Share of the predicted numbers whose interval contains the truth.",
)
bank = click.option(
    "--bank",
    type=click.Choice(["auto", "fast", "default", "thorough"]),
    default="auto",
    show_default=True,
    help="How many kernels to try; auto takes fast beyond 20,000 rows.",
)
device = click.option(
    "--device",
    type=click.Choice(["cpu", "cuda"]),
    default="cpu",
    show_default=True,
    callback=_device,
    help="Where to compute; cuda is an NVIDIA GPU and needs fewlabels[gpu].",
)
quiet = click.option("-q", "--quiet", is_flag=True, help="Print errors only.")
as_json = click.option(
    "--json", "as_json", is_flag=True, help="Print a summary as JSON."
)
printing = (
    quiet,
    as_json,
    click.option("-f", "--force", is_flag=True, help="Replace files that exist."),
)
seed = click.option(
    "--seed",
    type=click.IntRange(0),
    default=0,
    show_default=True,
    help="Random seed.",
)
running = (seed, *printing)
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
    help="File to write; standard output by default. The suffix sets the format.",
)


shown = (
    click.option(
        "--min-confidence",
        type=click.FloatRange(0, 1),
        default=0.0,
        metavar="SHARE",
        help="Write no label below this confidence, such as 0.9.",
    ),
    click.option(
        "--top",
        type=click.IntRange(1, 9),
        default=1,
        metavar="NUMBER",
        help="How many guesses to write for a row; 2 adds the second.",
    ),
)
strict = click.option(
    "--strict",
    is_flag=True,
    help="Refuse a table unlike the model's training table, instead of warning.",
)


scheduler = click.option(
    "--scheduler",
    metavar="ADDRESS",
    help="Compute on a Dask cluster, such as tcp://host:8786, which reads the table in "
    "parts; -o names a folder of Parquet parts. Started again, it continues with those "
    "that are missing.",
)


def with_options(*groups: Any) -> Callable[[Command], Command]:
    """Add options to a command, in the given order."""
    flat = [
        o for group in groups for o in (group if isinstance(group, tuple) else (group,))
    ]

    def decorate(command: Command) -> Command:
        for option in reversed(flat):
            command = option(command)
        return command

    return decorate
