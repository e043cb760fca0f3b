"""Measure how far annotators agree."""

# SPDX-License-Identifier: BSD-3-Clause

from typing import Any

import click

from fewlabels.cli import _options as options
from fewlabels.cli._console import Console, UseError
from fewlabels.cli._group import commands
from fewlabels.cli._help import CommandWithExamples
from fewlabels.cli._job import Job


@commands.command(
    cls=CommandWithExamples,
    examples=(
        "fewlabels agree labels.csv --annotator Ann --annotator Bo",
        "fewlabels agree opinions.csv --row mail --who annotator --said label",
    ),
)
@options.with_options(
    options.table,
    click.option(
        "-a",
        "--annotator",
        "annotators",
        multiple=True,
        metavar="COLUMN",
        help="Column with the labels of one annotator (repeat).",
    ),
    click.option(
        "--row",
        "about",
        metavar="COLUMN",
        help="In a long table, the column that says which row an opinion is about.",
    ),
    click.option("--who", metavar="COLUMN", help="The column of its annotator."),
    click.option("--said", metavar="COLUMN", help="The column of its label."),
    click.option(
        "--time", metavar="COLUMN", help="The column of its time; the latest counts."
    ),
    click.option(
        "--level",
        type=click.Choice(["nominal", "ordinal", "interval"]),
        default="nominal",
        show_default=True,
        help="Distance of classes in Krippendorff's alpha.",
    ),
    click.option(
        "--most",
        type=click.IntRange(0),
        default=10,
        show_default=True,
        metavar="NUMBER",
        help="How many rows to settle to print.",
    ),
    options.reading,
    options.quiet,
    options.as_json,
)
def agree(table: str, **settings: Any) -> None:
    """Measure how far the annotators of TABLE agree.

    Prints Cohen's kappa of every two annotators, Fleiss' kappa, Krippendorff's alpha,
    also by class, how reliable each annotator seems, and the rows to settle. Nothing is
    written.
    """
    console = Console(settings["quiet"])
    job = Job(console, settings)

    def work() -> tuple[dict[str, Any], list[str]]:
        names, rows, opinions = _opinions(job.read(table), settings)
        return _agreed(table, names, rows, opinions, settings)

    job.finish(*console.work(work))


def _opinions(table: Any, settings: dict[str, Any]) -> tuple[list[str], Any, Any]:
    """Read opinions from columns of annotators, or from a long table."""
    import numpy as np

    from fewlabels.model_selection import opinion_table
    from fewlabels.tabular.hints import HintColumn

    def cells(name: str) -> Any:
        return HintColumn(name).opinions(table)

    long = [settings[key] for key in ("about", "who", "said")]
    if any(long):
        if not all(long) or settings["annotators"]:
            raise UseError(
                "A long table needs --row, --who and --said, and no --annotator."
            )
        times = cells(settings["time"]) if settings["time"] else None
        if times is not None:
            times = np.array(["" if t is None else t for t in times])
        rows, names, opinions = opinion_table(
            cells(settings["about"]),
            cells(settings["who"]),
            cells(settings["said"]),
            times,
        )
        return names, rows, opinions
    names = list(settings["annotators"])
    if len(names) < 2:
        raise UseError(
            "Name the columns of at least two annotators with --annotator, or those of "
            "a long table with --row, --who and --said."
        )
    columns = np.column_stack([cells(name) for name in names])
    return names, table.row_numbers, columns


def _share(value: float) -> str:
    return "unknown" if value != value else f"{value:.2f}"


def _agreed(
    source: str, names: list[str], rows: Any, opinions: Any, settings: dict[str, Any]
) -> tuple[dict[str, Any], list[str]]:
    """Summarise agreement, reliability and rows to settle."""
    from fewlabels._words import plural
    from fewlabels.model_selection import agreement
    from fewlabels.opinions import learn_reliability, read_opinions, source_reports

    found = agreement(opinions, names=names, level=settings["level"])
    lines = [
        f"{source}: {plural(found.n_rows, 'row')} with labels by "
        f"{plural(len(names), 'annotator')}, {found.n_shared:,} of them by two or more."
    ]
    interval = ""
    if found.low == found.low:
        interval = f" ({found.low:.2f} to {found.high:.2f})"
    lines += [
        f"Krippendorff's alpha: {_share(found.krippendorff)}{interval}; Fleiss' kappa: "
        f"{_share(found.fleiss)}; equal labels: {100 * found.share:.0f} %."
        if found.n_shared
        else "No row was labelled by two annotators, so nothing can be compared.",
        *(f"  {name}: alpha {_share(a)}" for name, a in found.by_class.items()),
        *(
            f"  {p.first} and {p.second}: Cohen's kappa {_share(p.kappa)}, "
            f"{100 * p.share:.0f} % of {plural(p.n_rows, 'row')} equal"
            for p in found.pairs
        ),
    ]
    reports = []
    if len(found.classes) > 1:
        columns = dict(zip(names, opinions.T, strict=True))
        read = read_opinions(columns, found.classes)
        learned = learn_reliability(read)
        reports = source_reports(read, learned)
        lines += [
            f"  {r.name}: probably {100 * r.accuracy:.0f} % of its labels are those of "
            "the consensus (a guess from agreement)"
            for r in reports
        ]
    settle: list[dict[str, Any]] = []
    for k in found.disputed.tolist():
        said = {n: s for n, s in zip(names, opinions[k], strict=True) if s is not None}
        best = int(learned.probabilities[k].argmax())
        settle.append(
            {
                "row": str(rows[k]),
                "said": said,
                "consensus": str(found.classes[best]),
                "confidence": round(float(learned.probabilities[k, best]), 3),
            }
        )
    if settle:
        lines.append(f"Rows to settle: {len(settle):,}, the most divided first.")
    lines += [
        f"  row {s['row']}: "
        + ", ".join(f"{name} says {label}" for name, label in s["said"].items())
        + f"; consensus {s['consensus']} ({100 * s['confidence']:.0f} %)"
        for s in settle[: settings["most"]]
    ]
    summary = {
        "table": source,
        "annotators": names,
        "rows": found.n_rows,
        "shared_rows": found.n_shared,
        "krippendorff": found.krippendorff,
        "fleiss": found.fleiss,
        "by_class": {str(k): v for k, v in found.by_class.items()},
        "pairs": [p._asdict() for p in found.pairs],
        "reliability": {r.name: r.accuracy for r in reports},
        "to_settle": settle,
    }
    return summary, lines
