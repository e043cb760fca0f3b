"""Label a table, or learn a model from it."""

# SPDX-License-Identifier: BSD-3-Clause

import os
from typing import Any

import click

from fewlabels.cli import _options as options
from fewlabels.cli._console import Console, UseError
from fewlabels.cli._group import commands
from fewlabels.cli._help import CommandWithExamples
from fewlabels.cli._job import (
    Job,
    as_read,
    check_page,
    counted,
    sampled,
    worded,
    written_words,
)


def _estimates(model: Any) -> dict[str, dict[str, Any]]:
    """Return the expected error and the baseline's, for the summary."""
    return {
        name: {"value": e.value, "low": e.low, "high": e.high, "note": e.note}
        for name, e in (
            ("expected_error", model.expected_error_),
            ("baseline_error", model.baseline_error_),
        )
    }


def _number_summary(estimated: Any) -> tuple[dict[str, Any], list[str]]:
    from fewlabels._words import plural

    model, table, target = estimated.model.classifier, estimated.table, estimated.target
    n_labels = int(estimated.given.sum())
    given = estimated.numbers[estimated.given]
    used = sum(column.is_used for column in estimated.columns)
    summary = {
        "table": table.source,
        "rows": table.n_rows,
        "target": target.name,
        "labels": n_labels,
        "numbers": {"low": float(given.min()), "high": float(given.max())},
        **_estimates(model),
        "baseline": model.baseline_.name,
        "columns": [column.as_dict() for column in estimated.columns],
        "notes": estimated.notes,
    }
    lines = [
        f"{table.source}: {plural(table.n_rows, 'row')}, {plural(n_labels, 'number')} "
        f"given between {given.min():.4g} and {given.max():.4g}; {used} of "
        f"{plural(len(estimated.columns), 'column')} used.",
        *as_read(estimated.columns, table.source),
        f"Expected error (root of the mean square): {model.expected_error_}.",
        f"Supervised, with the same labels: {model.baseline_error_}.",
        *_intervals_said(estimated, summary["numbers"]),
    ]
    return summary, lines


def _intervals_said(estimated: Any, given: dict[str, float]) -> list[str]:
    """Say how wide the intervals are."""
    import numpy as np

    widths = (estimated.high - estimated.low)[~estimated.given]
    if not widths.size or np.isnan(widths).any():
        return []
    level = 100 * estimated.model.about["interval"]
    share = 100 * np.median(widths) / ((given["high"] - given["low"]) or 1.0)
    return [
        f"Intervals of {level:g} %: half of them are narrower than "
        f"{np.median(widths):.3g}, which is {share:.0f} % of the range given."
    ]


def _supervised_said(model: Any) -> str:
    """Compare with a supervised model from the same labels."""
    own, gain = model.baseline_error_, model.gain_
    if not (own.is_known and gain.is_known):
        return ""
    which = "these labels cannot tell which is better"
    more = "the unlabelled rows" + (" and the hints" if model.sources_ else "")
    if gain.low > 0:
        which = f"{more} probably helped"
    elif gain.high < 0:
        which = f"{more} probably hurt"
    return f"Supervised, with the same labels: {own}; {which}."


def _steps_said(model: Any) -> str:
    """Say how many steps classes in an order are off."""
    steps = model.expected_steps_
    return "" if steps is None else f" On average {steps} steps off."


def _shares_said(shares: dict[str, float], counts: dict[str, int]) -> list[str]:
    """State the assumed class shares where they differ from those of the labels."""
    n_labels = sum(counts.values())
    if all(abs(shares[name] - n / n_labels) < 0.005 for name, n in counts.items()):
        return []
    largest = sorted(shares.items(), key=lambda item: -item[1])
    shown = [f"{name} {100 * share:.3g} %" for name, share in largest[:8]]
    named = ", ".join([*shown, "..."] if len(shares) > 8 else shown)
    return [f"Class shares assumed among the rows without a label: {named}."]


def label_summary(labeled: Any) -> tuple[dict[str, Any], list[str]]:
    from fewlabels._words import plural

    if labeled.model.predicts_numbers:
        return _number_summary(labeled)
    model, target = labeled.model.classifier, labeled.target
    classes, table = target.class_counts, labeled.table
    shares = dict(
        zip(model.classes_.tolist(), model.class_shares_.tolist(), strict=True)
    )
    n_labels = int(labeled.given.sum())
    used = sum(column.is_used for column in labeled.columns)
    half = (
        model.learning_curve().halving()[0] if model.expected_error_.is_known else None
    )
    summary = {
        "table": table.source,
        "rows": table.n_rows,
        "target": target.name,
        "labels": n_labels,
        "classes": classes,
        "class_shares": shares,
        **_estimates(model),
        "expected_steps": model.expected_steps_ and vars(model.expected_steps_),
        "baseline": model.baseline_.name,
        "verdict": model.verdict(),
        "labels_to_halve_error": half if half and half <= table.n_rows else None,
        "advice": model.advice(row_numbers=table.row_numbers),
        "errors_above_confidence": [
            {
                "confidence": accepted.confidence,
                "rows": accepted.n_rows,
                "expected_error": accepted.error.value,
            }
            for accepted in model.errors_above()
        ],
        "suspicious_labels": [
            {
                "row": int(table.row_numbers[s.row]),
                "label": s.label,
                "likely": s.likely,
                "odds": s.odds,
            }
            for s in model.suspicious_labels()
        ],
        "hints": [vars(source) for source in model.sources_],
        "columns": [column.as_dict() for column in labeled.columns],
        "notes": labeled.notes,
    }
    lines = [
        f"{table.source}: {plural(table.n_rows, 'row')}, "
        f"{plural(n_labels, 'label')} of {plural(len(classes), 'class', 'classes')} "
        f"({counted(classes)}); {used} of "
        f"{plural(len(labeled.columns), 'column')} used.",
        *as_read(labeled.columns, table.source),
        *(_shares_said(shares, classes) if len(classes) > 1 else []),
        *model.source_words(),
        f"Expected error: {model.expected_error_}.{_steps_said(model)}",
        _supervised_said(model),
        *(f"Next: {advice[0].lower()}{advice[1:]}" for advice in summary["advice"][:1]),
    ]
    return summary, [line for line in lines if line]


@commands.command(
    cls=CommandWithExamples,
    examples=(
        "fewlabels label flowers.csv --target species -o labelled.csv",
        "fewlabels label orders.xlsx -t status --ignore notes -o labelled.xlsx",
        "cat t.tsv | fewlabels label - -t kind --marker '?' > labelled.tsv",
        "fewlabels label measured/ -t state -o labelled/",
        "fewlabels label photos/ -o labelled.csv --sort-into sorted/",
    ),
)
@options.with_options(
    options.table,
    options.target,
    options.hints,
    options.ordinal,
    options.class_shares,
    options.interval,
    options.shown,
    click.option(
        "--explain",
        type=click.IntRange(1),
        multiple=True,
        metavar="ROW",
        help="Explain the label of this row, counted from 1 (repeat).",
    ),
    options.output,
    options.report,
    options.columns,
    options.reading,
    options.pictures,
    click.option(
        "--sort-into",
        metavar="FOLDER",
        help="Also link the pictures of a folder into FOLDER, by label.",
    ),
    options.bank,
    options.scheduler,
    options.device,
    options.batch_rows,
    options.sample_rows,
    options.running,
)
def label(table: str, **settings: Any) -> None:
    """Label every row of TABLE.

    Rows keep their order and all their columns, and get three new ones: the label, its
    confidence, and whether it was given or predicted.
    """
    console = Console(settings["quiet"])
    job = Job(console, settings)

    def work() -> tuple[dict[str, Any], list[str]]:
        job.check_sorting(table)
        if settings["scheduler"]:
            job.refuse_hints("--scheduler")
            return job.label_on_cluster(table, label_summary)
        large = job.large(table)
        if large is not None:
            job.refuse_hints("--batch-rows", "pass --batch-rows 0 with it")
            if settings["explain"]:
                raise UseError(
                    "--explain needs all rows at once: pass --batch-rows 0 with it."
                )
            return _in_batches(job, large)
        read = job.read(table, rewritten=True)
        labeled = job.label(read)
        added = labeled.new_columns(job.shown)
        summary, lines = label_summary(labeled)
        lines += _unsure_said(job, next(iter(added.values())).count(None))
        if settings["explain"]:
            from fewlabels.tabular.explaining import explain_row

            told = [explain_row(labeled, row) for row in settings["explain"]]
            lines += [line for row in told for line in row.lines()]
            summary["explained"] = [vars(row) for row in told]
        if job.report:
            from fewlabels.tabular import label_report

            console.tell(0.95, "drawing the report")
            job.write_page(label_report(labeled, **job.page), job.report)
        job.write(read, added)
        lines += job.sort_files(labeled)
        summary |= {
            "new_columns": list(added),
            "output": job.output,
            "report": job.report,
        }
        return summary, lines

    job.finish(*console.work(work))


def _unsure_said(job: Job, n: int) -> list[str]:
    """Report how many rows got no label because their confidence is too low."""
    from fewlabels._words import plural

    least = job.settings["min_confidence"]
    if not least:
        return []
    rows = plural(n, "row")
    return [f"Left without a label, below a confidence of {least:g}: {rows}."]


def _in_batches(job: Job, large: Any) -> tuple[dict[str, Any], list[str]]:
    from fewlabels.tabular import label_report
    from fewlabels.tabular.large import label_large

    if large.source == "-":
        raise UseError(
            "Labelling in batches reads the table twice: give it as a file, or pass "
            "--batch-rows 0."
        )
    labeled, written = label_large(
        large,
        job.settings["target"],
        str(job.output),
        **job.sample,
        shown=job.shown,
        force=job.settings["force"],
        progress=job.console.tell,
        encoding=job.encoding,
        **job.learning,
    )
    if job.report:
        job.write_page(label_report(worded(labeled), **job.page), job.report)
    summary, lines = label_summary(labeled)
    summary |= {
        "rows": large.n_rows,
        "sampled_rows": labeled.table.n_rows,
        "new_columns": written.names,
        "output": job.output,
        "report": job.report,
    }
    return summary, [
        *sampled(lines, labeled, large.n_rows),
        *_unsure_said(job, written.counts[""]),
        *written_words(written),
    ]


@commands.command(
    cls=CommandWithExamples,
    examples=(
        "fewlabels fit flowers.csv --target species -o species.fewlabels",
        "fewlabels predict species.fewlabels new.csv -o labelled.csv",
    ),
)
@options.with_options(
    options.table,
    options.target,
    options.hints,
    options.ordinal,
    options.class_shares,
    options.interval,
    click.option(
        "-o",
        "--output",
        type=click.Path(),
        required=True,
        metavar="MODEL",
        help="File to write the model to.",
    ),
    options.report,
    options.columns,
    options.reading,
    options.pictures,
    options.bank,
    options.device,
    options.running,
)
def fit(table: str, **settings: Any) -> None:
    """Learn from TABLE and save a model for new rows.

    Loading the file never runs code from it. It contains much of TABLE's data: treat it
    as confidentially.
    """
    console = Console(settings["quiet"])
    job = Job(console, settings)

    def work() -> tuple[dict[str, Any], list[str]]:
        from fewlabels.tabular import label_report, save_model

        if os.path.exists(str(job.output)) and os.path.samefile(table, str(job.output)):
            raise UseError(f"The model would replace {table}: name another file.")
        job.check_files()
        labeled = job.label(job.read(table))
        if job.report:
            job.write_page(label_report(labeled, **job.page), job.report)
        console.tell(0.97, "saving the model")
        save_model(labeled.model, str(job.output), force=settings["force"])
        summary, lines = label_summary(labeled)
        return summary | {"model": job.output, "report": job.report}, lines

    job.finish(*console.work(work))


@commands.command(
    cls=CommandWithExamples,
    examples=("fewlabels report flowers.csv --target species -o report.html",),
)
@options.with_options(
    options.table,
    options.target,
    options.hints,
    options.ordinal,
    options.class_shares,
    click.option(
        "-o",
        "--output",
        type=click.Path(),
        default="report.html",
        show_default=True,
        metavar="FILE",
        help="File to write the page to.",
    ),
    options.columns,
    options.reading,
    options.pictures,
    options.bank,
    options.device,
    options.running,
)
def report(table: str, **settings: Any) -> None:
    """Write one HTML page about TABLE and its labels.

    It begins with a verdict and shows what was read, a map of the rows, which labels to
    accept, the errors to expect, the least certain rows, what to label next, and how to
    reproduce it. The page is a single file.
    """
    console = Console(settings["quiet"])
    job = Job(console, settings)

    def work() -> tuple[dict[str, Any], list[str]]:
        from fewlabels.tabular import label_report

        check_page(str(job.output))
        job.check_files()
        labeled = job.label(job.read(table))
        console.tell(0.95, "drawing the report")
        page = label_report(labeled, **job.page)
        job.write_page(page, job.output)
        summary, lines = label_summary(labeled)
        return summary | {"report": job.output}, lines

    job.finish(*console.work(work))
