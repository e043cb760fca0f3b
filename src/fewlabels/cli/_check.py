"""Check the predictions for a table by rows that a person labels."""

# SPDX-License-Identifier: BSD-3-Clause

import shlex
from pathlib import Path
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
        "fewlabels check flowers.csv --target species -n 30",
        "fewlabels check flowers.csv -t species --until 0.1",
        "fewlabels check flowers.csv -t species --learn",
    ),
)
@options.with_options(
    options.table,
    options.target,
    options.ordinal,
    click.option(
        "-n",
        "--number",
        type=click.IntRange(1),
        default=30,
        show_default=True,
        help="How many rows to draw.",
    ),
    click.option(
        "--until",
        type=click.FloatRange(0, 1, min_open=True),
        metavar="WIDTH",
        help="Ask for more rows until the interval of the error is this narrow: 0.1 is "
        "ten percentage points.",
    ),
    click.option(
        "--new", is_flag=True, help="Draw other rows, for predictions made now."
    ),
    click.option(
        "--learn",
        is_flag=True,
        help="Learn from the rows of the check from now on, which then no longer say "
        "how good new predictions are.",
    ),
    click.option(
        "-o",
        "--output",
        type=click.Path(dir_okay=False),
        metavar="FILE",
        help="File with the rows to check; TABLE.check.csv next to it by default.",
    ),
    options.class_shares,
    options.columns,
    options.reading,
    options.bank,
    options.device,
    options.running,
)
def check(table: str, **settings: Any) -> None:
    """Measure the error of the labels predicted for TABLE.

    First, it draws rows at random and writes them to a file. Fill in their labels, and
    type the same command again: it reports the error with an interval that holds
    whatever the model is, by class and by confidence, and the shares of the classes in
    the whole table. Nothing learns from these rows, unless you pass --learn.
    """
    console = Console(settings["quiet"])
    if table == "-":
        raise UseError("A check needs a file: rows are remembered next to it.")
    if settings["output"] is None:
        from fewlabels.tabular.files import home_of

        home = home_of(table)
        folder = home.folder if home.file is None else home.file.parent
        settings["output"] = str(folder / f"{home.stem}.check.csv")
    job = Job(console, settings)

    def work() -> tuple[dict[str, Any], list[str]]:
        from fewlabels.studio import TableCheck

        read = job.read(table)
        given = {key: settings[key] for key in ("markers", "merge_labels")}
        checked = TableCheck(read, settings["target"], table, **given)
        try:
            if checked.audit is None or settings["new"]:
                return _begin(job, checked)
            return _go_on(job, checked)
        finally:
            checked.close()

    summary, lines = console.work(work)
    job.finish(summary, lines)


def _begin(job: Job, checked: Any) -> tuple[dict[str, Any], list[str]]:
    """Learn, draw rows, and write them."""
    from fewlabels._words import plural

    path = Path(str(job.output))
    again = checked.audit is not None and path.exists()
    if again:
        checked.read(path)  # the answers of the last check, before they are replaced
    else:
        job.check_files()
    _refuse_numbers(job, checked)
    labeled = job.label(checked.table)
    wanted = job.settings["number"]
    rows = checked.draw(
        labeled,
        wanted,
        sequential=job.settings["until"] is not None,
        random_state=job.settings["seed"],
    )
    checked.write(path, force=again or job.settings["force"])
    lines = [_drawn(checked, wanted)]
    lines += _fill_in(job, len(rows) - len(checked.labels))
    known = len(checked.labels)
    if known:
        lines.append(f"{plural(known, 'label')} known from before: filled in already.")
    return _summary(checked) | {"output": job.output}, lines


def _refuse_numbers(job: Job, checked: Any) -> None:
    from fewlabels.tabular import read_target

    if job.settings["ordinal"] is not None:
        return
    given = {key: job.settings[key] for key in ("markers", "task")}
    if read_target(checked.table, checked.target, **given).numbers is not None:
        raise UseError(
            f"{checked.target!r} holds numbers, and a check counts wrong classes. If "
            "they are codes of classes, pass --task classes."
        )


def _drawn(checked: Any, wanted: int) -> str:
    from fewlabels._words import plural

    n = checked.audit.n_samples
    rows = plural(len(checked.rows), "row")
    if len(checked.rows) < wanted:
        return f"All {plural(n, 'row')} without a label are to be checked."
    return f"{rows} drawn at random from the {n:,} without a label."


def _fill_in(job: Job, n_missing: int) -> list[str]:
    from fewlabels._words import plural

    if not n_missing:
        return []
    return [
        f"Fill in column {job.settings['target']!r} of {job.output} "
        f"({plural(n_missing, 'row')}; leave it empty or write ? where you cannot "
        "tell), and type the same command again."
    ]


def _go_on(job: Job, checked: Any) -> tuple[dict[str, Any], list[str]]:
    """Take the labels that were filled in, and report."""
    from fewlabels._words import plural

    path, lines, problems = Path(str(job.output)), [], []
    summary = _summary(checked)
    if path.exists():
        problems = checked.read(path)
    else:
        checked.write(path)
        summary["output"] = job.output
    n_rows, n_known = len(checked.rows), len(checked.labels)
    summary["problems"] = problems
    if not n_known:
        elsewhere = [r for r in checked.rows if checked.given.texts[r] is not None]
        if elsewhere:
            lines.append(
                f"{plural(len(elsewhere), 'row')} of the check have a label in "
                f"{checked.table.source} itself, where it is learned from: for the "
                "check, labels belong into the file below."
            )
        return summary, [
            f"No label is filled in yet ({plural(n_rows, 'row')} to check).",
            *problems,
            *lines,
            *_fill_in(job, n_rows),
        ]
    report = checked.report()
    lines += problems
    lines += _said(checked, report)
    until = job.settings["until"]
    if until is not None and report.error.width > until:
        lines += _more(job, checked, report)
    elif n_known < n_rows:
        lines += _fill_in(job, n_rows - n_known)
    if job.settings["learn"]:
        n_learned = checked.learn()
        words = [checked.table.source, checked.path, "-t", checked.target, "-o", "FILE"]
        merge = shlex.join(["fewlabels", "merge", *map(str, words)])
        lines.append(
            f"{plural(n_learned, 'label')} may be learned from now on. To bring them "
            f"into the table: {merge}. To check what is predicted then, pass --new."
        )
    return summary | checked.numbers(), lines


def _more(job: Job, checked: Any, report: Any) -> list[str]:
    """Ask for more rows, where that is allowed."""
    n_missing = len(checked.rows) - len(checked.labels)
    wide = f"The interval is {100 * report.error.width:.1f} points wide."
    if n_missing:
        return [wide, *_fill_in(job, n_missing)]
    if not checked.audit.is_sequential:
        return [
            f"{wide} This check was begun without --until and cannot be continued, as "
            "looking twice costs coverage: pass --new to begin one that can."
        ]
    if not checked.extend():
        return [f"{wide} There are no more rows to draw: pass --new for another check."]
    checked.write(job.output, force=True)
    return [wide, *_fill_in(job, len(checked.rows) - len(checked.labels))]


def _said(checked: Any, report: Any) -> list[str]:
    """Put a report into words."""
    from fewlabels._words import plural

    audit, level = checked.audit, f"{100 * checked.audit.level:g} %"
    n_labels = sum(audit.known.values())
    holds = f" The interval holds in {level} of all such checks, whatever the model is."
    if len(checked.labels) == audit.n_samples:
        holds = " No row is left to guess about."
    lines = [
        f"Error: {report.error}, from {plural(len(checked.labels), 'row')} checked of "
        f"{audit.n_samples:,}.{holds}"
    ]
    if report.n_missing:
        lines.append(
            f"{plural(report.n_missing, 'row')} without an answer count as right for "
            "the lower end and as wrong for the upper end."
        )
    if checked.n_gone:
        lines.append(
            f"{plural(checked.n_gone, 'row')} of the check are no longer in the table "
            "as they were, and are among these."
        )
    now = int(checked.given.given.sum())
    if now != n_labels:
        lines.append(
            f"The table has {plural(now, 'label')} now and had {n_labels:,} then: this "
            "is the error of what was predicted then. For that of now, pass --new."
        )
    lines += _listed(
        "Error where the model is this confident:",
        {f"{low:.2f} to {high:.2f}": e for low, high, e in report.by_confidence},
    )
    if len(report.by_class) > 1:
        lines += _listed("Error among rows predicted as:", report.by_class)
    lines += _listed("Class shares in the whole table:", report.class_shares)
    return lines


def _listed(title: str, shares: dict[str, Any], limit: int = 12) -> list[str]:
    """Write shares below each other, the first ones where there are many."""
    wide = max(len(name) for name in list(shares)[:limit])
    lines = [f"  {name:{wide}}  {e}" for name, e in list(shares.items())[:limit]]
    if len(shares) > limit:
        lines.append(f"  ... and {len(shares) - limit:,} more")
    return [title, *lines]


def _summary(checked: Any) -> dict[str, Any]:
    return {
        "table": checked.table.source,
        "target": checked.target,
        "drawn": checked.when,
        "rows_to_check": [row + 1 for row in checked.rows],
        "journal": str(checked.path),
    }
