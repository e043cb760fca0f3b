"""The commands."""

# SPDX-License-Identifier: BSD-3-Clause

import json
import shlex
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from fewlabels import __version__
from fewlabels.cli import _options as options
from fewlabels.cli._console import INTERRUPTED, Console, UseError
from fewlabels.cli._help import CommandWithExamples, GroupWithExamples

_SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


@click.group(
    cls=GroupWithExamples,
    context_settings=_SETTINGS,
    examples=(
        "fewlabels label flowers.csv --target species -o labelled.csv",
        "fewlabels ask flowers.csv --target species -n 10",
        "fewlabels studio flowers.csv --target species",
        "fewlabels report flowers.csv --target species -o report.html",
        "fewlabels demo",
    ),
)
@click.version_option(__version__, prog_name="fewlabels")
def commands() -> None:
    """Label all rows of a table from the few that have a label.

    TABLE is a CSV, TSV, JSON lines, Parquet or Excel file, perhaps compressed, or - for
    the standard input. Its first line names the columns.

    Exit codes: 0 done, 1 the data does not allow it, 2 wrong use, 130 interrupted.
    """


def run() -> None:
    """Run the command line, and leave with its exit code."""
    # Who is asked to leave does so as on Ctrl-C: without half-written files.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        commands(prog_name="fewlabels")
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)


def _typed() -> str:
    """Repeat the command line, so that it can be typed again."""
    arguments = click.get_current_context().find_root().obj or sys.argv[1:]
    return shlex.join(["fewlabels", *arguments])


class _Job:
    """What the commands have in common: read, check, summarise, write.

    Parameters
    ----------
    console : Console
        Where to say what is going on.
    settings : dict
        Options of the command.
    """

    def __init__(self, console: Console, settings: dict[str, Any]) -> None:
        self.console = console
        self.settings = settings
        self.page = {"command": _typed(), "random_state": settings["seed"]}
        self.output: str | None = settings.get("output")
        self.report: str | None = settings.get("report_path")
        streams = [self.output, self.report, "-" if settings["as_json"] else None]
        if streams.count("-") > 1:
            raise UseError(
                "Only one thing can go to the standard output: the table, the report "
                "or --json. Name a file with -o."
            )

    def check_files(self) -> None:
        """Complain now about what would fail at the end."""
        from fewlabels.tabular.files import check_writable

        force = self.settings["force"]
        for path in (self.output, self.report):
            if path not in (None, "-"):
                check_writable(path, force=force)

    def read(self, path: str, *, rewritten: bool = False) -> Any:
        """Read the table, which may have to be written in another format."""
        from fewlabels.tabular import read_table
        from fewlabels.tabular.files import output_format, read_features

        keys = ("delimiter", "encoding", "sheet", "header_row")
        table = read_table(
            path,
            **{key: self.settings[key] for key in keys},
            progress=lambda share: self.console.tell(0.1 * share, "reading the file"),
        )
        if rewritten and self.output != "-":
            output_format(table, Path(str(self.output)).suffixes[-2:])
        if self.settings["features"]:
            table = read_features(self.settings["features"], table)
        return table

    def tell(self, share: float, what: str) -> None:
        """Pass progress on: reading was a tenth."""
        self.console.tell(0.1 + 0.85 * share, what)

    def encoding(self, table: Any) -> dict[str, Any]:
        """Columns named by options (a,b,c names three), and their scales."""
        kinds = {
            key: [
                name
                for given in self.settings[key]
                for name in _names(given, table.names)
            ]
            for key in ("ignore", "text", "categorical", "numeric", "date")
        }
        return {key: value for key, value in kinds.items() if value} | {
            key: self.settings[key] for key in ("scale", "text_weight", "embed")
        }

    def label(self, table: Any) -> Any:
        """Label a table as the options say."""
        from fewlabels.tabular import label_table

        return label_table(
            table,
            self.settings["target"],
            **{key: self.settings[key] for key in _LABELS},
            class_prior=self.settings.get("class_shares", "auto"),
            bank=self.settings["bank"],
            device=self.settings["device"],
            random_state=self.settings["seed"],
            progress=self.tell,
            **self.encoding(table),
        )

    @contextmanager
    def cluster(self) -> Iterator[tuple[Any, dict[str, Any]]]:
        """Connect to the cluster that the options name, which do not all go with it."""
        try:
            from distributed import Client
        except ImportError:
            raise UseError(
                "--scheduler needs Dask: pip install 'fewlabels[dask]'."
            ) from None
        keys = ("features", "sheet", "encoding", "report_path")
        refused = [key for key in keys if self.settings.get(key)]
        if self.settings["header_row"] is not None:
            refused.append("header_row")
        if self.settings.get("device", "cpu") != "cpu":
            refused.append("device")
        if refused:
            names = ", ".join(
                "--" + k.split("_path")[0].replace("_", "-") for k in refused
            )
            raise UseError(f"{names} cannot be used with --scheduler.")
        if self.output == "-":
            raise UseError("--scheduler writes a folder of parts: name it with -o.")
        address = self.settings["scheduler"]
        self.console.tell(0.0, f"connecting to {address}")
        try:
            client = Client(address, timeout="10s", set_as_default=False)
        except (OSError, ValueError) as error:
            raise UseError(
                f"No Dask scheduler answers at {address}: {error}."
            ) from None
        with client:
            given = {key: self.settings[key] for key in ("delimiter", "force")}
            yield client, {**given, "progress": self.console.tell}

    def label_on_cluster(self, path: str) -> tuple[dict[str, Any], list[str]]:
        """Label a large table where its parts are."""
        from fewlabels.tabular.clusters import label_on_cluster

        with self.cluster() as (client, given):
            kept = ("markers", "merge_labels", "task", "bank")
            labeled, written, n_rows = label_on_cluster(
                client,
                path,
                str(self.output),
                self.settings["target"],
                random_state=self.settings["seed"],
                **{key: self.settings[key] for key in kept},
                class_prior=self.settings["class_shares"],
                **self.encoding(_Names(path, given["delimiter"])),
                **given,
            )
        summary, lines = _label_summary(labeled)
        summary |= {"rows": n_rows, "sampled": labeled.table.n_rows}
        lines[0] = f"{n_rows:,} rows. Of a sample: {lines[0]}"
        return self._parts(summary, lines, written)

    def predict_on_cluster(
        self, model: Any, path: str
    ) -> tuple[dict[str, Any], list[str]]:
        """Label a large table by a model, where its parts are."""
        from fewlabels.tabular.clusters import predict_on_cluster

        with self.cluster() as (client, given):
            written = predict_on_cluster(client, model, path, str(self.output), **given)
        summary = {"table": path, "target": model.target}
        return self._parts(summary, [], written)

    def _parts(
        self, summary: dict[str, Any], lines: list[str], written: Any
    ) -> tuple[dict[str, Any], list[str]]:
        kept = f", {written.n_kept} of them before" if written.n_kept else ""
        lines = [*lines, f"{written.n_parts} parts written{kept}."]
        summary |= {"parts": written.n_parts, "parts_kept": written.n_kept}
        return summary | {"output": written.folder}, lines

    def write(self, table: Any, added: dict[str, list[Any]]) -> None:
        """Write the table."""
        from fewlabels.tabular import write_table

        self.console.tell(0.97, "writing")
        if self.output == "-" and getattr(table.origin, "is_binary", False):
            if sys.stdout.isatty():
                raise UseError(
                    "A terminal cannot show this format: name a file with -o."
                )
        write_table(table, str(self.output), added, force=self.settings["force"])

    def write_page(self, html: str, path: str | None) -> None:
        """Write a report."""
        page = html.encode("utf-8", errors="xmlcharrefreplace")  # as it declares
        if path == "-":
            click.echo(page, nl=False)
            return
        from fewlabels.tabular.files import replacing

        with replacing(str(path), force=self.settings["force"]) as file:
            file.write(page)

    def finish(self, summary: dict[str, Any], lines: Sequence[str]) -> None:
        """Say what was done, in words or as JSON."""
        for line in lines:
            self.console.say(line)
        for note in summary.get("notes", []):
            self.console.say(f"Note: {note}")
        for what in ("output", "report", "model"):
            if summary.get(what) not in (None, "-"):
                self.console.say(f"Written: {summary[what]}")
        if self.settings["as_json"]:
            # Escapes where the terminal, as on Windows, may not know all letters.
            plain = (sys.stdout.encoding or "").lower() not in ("utf-8", "utf8")
            click.echo(json.dumps(_jsonable(summary), ensure_ascii=plain, indent=1))


_LABELS = ("markers", "merge_labels", "task")


class _Names:
    """Names of the columns of a table that is not read."""

    def __init__(self, path: str, delimiter: str | None) -> None:
        from fewlabels.dask import lazy_table

        self.names = [
            str(name) for name in lazy_table(path, delimiter=delimiter).columns
        ]


def _names(given: str, known: Sequence[str]) -> list[str]:
    """Names of an option; with a format of dates behind one, it is a single name."""
    if "=" in given:
        return [given]
    parts = [part.strip() for part in given.split(",")]
    return [given] if given in known or len(parts) == 1 else parts


def _jsonable(value: Any) -> Any:
    """Plain values; what is not a number is null."""
    if isinstance(value, dict):
        return {str(k): _jsonable(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_jsonable(v) for v in value]
    if hasattr(value, "tolist"):  # of NumPy
        value = value.tolist()
        if isinstance(value, list):
            return _jsonable(value)
    if isinstance(value, float) and value != value:
        return None
    return value if isinstance(value, str | int | float | bool | None) else str(value)


def _number_summary(estimated: Any) -> tuple[dict[str, Any], list[str]]:
    from fewlabels._words import plural

    model, table, target = estimated.model.classifier, estimated.table, estimated.target
    n_labels = int(estimated.given.sum())
    given = estimated.numbers[estimated.given]
    used = sum(column.is_used for column in estimated.columns)
    estimates = {
        name: {"value": e.value, "low": e.low, "high": e.high, "note": e.note}
        for name, e in (
            ("expected_error", model.expected_error_),
            ("baseline_error", model.baseline_error_),
        )
    }
    summary = {
        "table": table.source,
        "rows": table.n_rows,
        "target": target.name,
        "labels": n_labels,
        "numbers": {"low": float(given.min()), "high": float(given.max())},
        **estimates,
        "baseline": model.baseline_.name,
        "columns": [column.as_dict() for column in estimated.columns],
        "notes": estimated.notes,
    }
    lines = [
        f"{table.source}: {plural(table.n_rows, 'row')}, {plural(n_labels, 'number')} "
        f"given between {given.min():.4g} and {given.max():.4g}; {used} of "
        f"{plural(len(estimated.columns), 'column')} used.",
        f"Expected error (root of the mean square): {model.expected_error_}.",
        f"From the labels alone: {model.baseline_error_} ({model.baseline_.name}).",
    ]
    return summary, lines


def _counted(classes: dict[str, int], limit: int = 8) -> str:
    """Name the most frequent classes with their counts."""
    shown = [f"{name} {count:,}" for name, count in list(classes.items())[:limit]]
    return ", ".join([*shown, "..."] if len(classes) > limit else shown)


def _shares_said(shares: dict[str, float], counts: dict[str, int]) -> list[str]:
    """Say which shares of the classes were assumed where they are not the labels'."""
    n_labels = sum(counts.values())
    if all(abs(shares[name] - n / n_labels) < 0.005 for name, n in counts.items()):
        return []
    largest = sorted(shares.items(), key=lambda item: -item[1])
    shown = [f"{name} {100 * share:.3g} %" for name, share in largest[:8]]
    named = ", ".join([*shown, "..."] if len(shares) > 8 else shown)
    return [f"Class shares assumed among the rows without a label: {named}."]


def _label_summary(labeled: Any) -> tuple[dict[str, Any], list[str]]:
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
    estimates = {
        name: {"value": e.value, "low": e.low, "high": e.high, "note": e.note}
        for name, e in (
            ("expected_error", model.expected_error_),
            ("baseline_error", model.baseline_error_),
        )
    }
    summary = {
        "table": table.source,
        "rows": table.n_rows,
        "target": target.name,
        "labels": n_labels,
        "classes": classes,
        "class_shares": shares,
        **estimates,
        "baseline": model.baseline_.name,
        "verdict": model.verdict(),
        "labels_to_halve_error": model.learning_curve().halving()[0]
        if model.expected_error_.is_known
        else None,
        "errors_above_confidence": [
            {
                "confidence": accepted.confidence,
                "rows": accepted.n_rows,
                "expected_error": accepted.error.value,
            }
            for accepted in model.errors_above()
        ],
        "suspicious_labels": [
            {"row": s.row + 1, "label": s.label, "likely": s.likely, "odds": s.odds}
            for s in model.suspicious_labels()
        ],
        "columns": [column.as_dict() for column in labeled.columns],
        "notes": labeled.notes,
    }
    lines = [
        f"{table.source}: {plural(table.n_rows, 'row')}, "
        f"{plural(n_labels, 'label')} of {plural(len(classes), 'class', 'classes')} "
        f"({_counted(classes)}); {used} of "
        f"{plural(len(labeled.columns), 'column')} used.",
        *_shares_said(shares, classes),
        f"Expected error: {model.expected_error_}.",
        f"From the labels alone: {model.baseline_error_} ({model.baseline_.name}).",
        *model.advice(first_row=1),
    ]
    return summary, lines


@commands.command(
    cls=CommandWithExamples,
    examples=(
        "fewlabels label flowers.csv --target species -o labelled.csv",
        "fewlabels label orders.xlsx -t status --ignore notes -o labelled.xlsx",
        "cat t.tsv | fewlabels label - -t kind --marker '?' > labelled.tsv",
    ),
)
@options.with_options(
    options.table,
    options.target,
    options.class_shares,
    options.output,
    options.report,
    options.columns,
    options.reading,
    options.bank,
    options.scheduler,
    options.device,
    options.running,
)
def label(table: str, **settings: Any) -> None:
    """Label every row of TABLE.

    Rows keep their order and all their columns, and get three more: the label (given or
    predicted), its confidence, and whether it was given or predicted.
    """
    console = Console(settings["quiet"])
    job = _Job(console, settings)

    def work() -> tuple[dict[str, Any], list[str]]:
        if settings["scheduler"]:
            return job.label_on_cluster(table)
        job.check_files()
        read = job.read(table, rewritten=True)
        labeled = job.label(read)
        added = labeled.new_columns()
        summary, lines = _label_summary(labeled)
        if job.report:
            from fewlabels.tabular import label_report

            console.tell(0.95, "drawing the report")
            job.write_page(label_report(labeled, **job.page), job.report)
        job.write(read, added)
        summary |= {
            "new_columns": list(added),
            "output": job.output,
            "report": job.report,
        }
        return summary, lines

    job.finish(*console.work(work))


@commands.command(
    cls=CommandWithExamples,
    examples=(
        "fewlabels cluster flowers.csv --clusters 3 -o grouped.csv",
        "fewlabels cluster flowers.csv --ignore species --report groups.html > g.csv",
    ),
)
@options.with_options(
    options.table,
    click.option(
        "-k",
        "--clusters",
        type=click.IntRange(2),
        help="How many; guessed by default.",
    ),
    options.output,
    options.report,
    options.columns,
    options.reading,
    options.device,
    options.running,
)
def cluster(table: str, clusters: int | None, **settings: Any) -> None:
    """Group the rows of TABLE, which has no labels.

    The column 'cluster' is added: 1 is the largest group.
    """
    console = Console(settings["quiet"])
    job = _Job(console, settings)

    def work() -> tuple[dict[str, Any], list[str]]:
        from fewlabels._words import plural
        from fewlabels.tabular import cluster_report, cluster_table

        job.check_files()
        read = job.read(table, rewritten=True)
        grouped = cluster_table(
            read,
            clusters,
            device=settings["device"],
            random_state=settings["seed"],
            progress=job.tell,
            **job.encoding(read),
        )
        if job.report:
            job.write_page(cluster_report(grouped, **job.page), job.report)
        added = grouped.new_columns()
        job.write(read, added)
        sizes = ", ".join(f"{size:,}" for size in grouped.sizes.values())
        summary = {
            "table": read.source,
            "rows": read.n_rows,
            "clusters": grouped.sizes,
            "columns": [column.as_dict() for column in grouped.columns],
            "new_columns": list(added),
            "notes": grouped.notes,
            "output": job.output,
            "report": job.report,
        }
        return summary, [
            f"{read.source}: {plural(read.n_rows, 'row')} in "
            f"{plural(len(grouped.sizes), 'cluster')} of {sizes}."
        ]

    job.finish(*console.work(work))


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
        "-o", "--output", type=click.Path(), metavar="FILE", help="Write these rows."
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

    Row 1 is the first below the names. If there are no labels yet, the rows named are
    those that stand for many others.
    """
    console = Console(settings["quiet"])
    job = _Job(console, settings)

    def work() -> Any:
        from fewlabels.tabular import (
            label_report,
            read_target,
            suggest_rows,
            write_table,
        )

        job.check_files()
        read = job.read(table)
        seed = settings["seed"]
        target = read_target(
            read,
            settings["target"],
            settings["markers"],
            merge=settings["merge_labels"],
            task=settings["task"],
        )
        classes = len(target.values) > 1 and target.numbers is None
        labeled = job.label(read) if classes else None
        if labeled is not None:
            found = suggest_rows(labeled, target.name, number, random_state=seed)
        else:
            found = suggest_rows(
                read,
                target.name,
                number,
                random_state=seed,
                **{key: settings[key] for key in _LABELS},
                progress=job.tell,
                **job.encoding(read),
            )
        if job.report and labeled is None:
            raise UseError("A report needs labels of two classes: leave --report out.")
        if job.report and labeled is not None:
            job.write_page(
                label_report(labeled, **job.page, suggestion=found), job.report
            )
        rows = [
            {
                "rank": rank,
                "row": int(row) + 1,
                "guess": guess,
                "confidence": round(float(sure), 4),
                "values": {
                    name: _jsonable(column[row])
                    for name, column in zip(read.names, read.columns, strict=True)
                },
            }
            for rank, (row, guess, sure) in enumerate(
                zip(found.rows, found.guesses, found.confidence, strict=True), start=1
            )
        ]
        if job.output:
            part = read.take(found.rows)
            names = part.free_names(["rank", "row", "guess", "confidence"])
            added = {
                name: [_cell(row[key]) for row in rows]
                for name, key in zip(
                    names, ("rank", "row", "guess", "confidence"), strict=True
                )
            }
            write_table(part, job.output, added, force=settings["force"])
        summary = {
            "table": read.source,
            "target": target.name,
            "reason": found.reason,
            "rows": rows,
            "notes": target.notes if labeled is None else labeled.notes,
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
    options.class_shares,
    click.option(
        "-o",
        "--output",
        type=click.Path(),
        required=True,
        metavar="MODEL",
        help="Where to write the model.",
    ),
    options.report,
    options.columns,
    options.reading,
    options.bank,
    options.device,
    options.running,
)
def fit(table: str, **settings: Any) -> None:
    """Learn from TABLE and save a model for new rows.

    The file holds data and no code: it can be loaded without trusting whoever made it.
    It holds the features of all rows of TABLE.
    """
    console = Console(settings["quiet"])
    job = _Job(console, settings)

    def work() -> tuple[dict[str, Any], list[str]]:
        from fewlabels.tabular import label_report, save_model

        job.check_files()
        labeled = job.label(job.read(table))
        if job.report:
            job.write_page(label_report(labeled, **job.page), job.report)
        console.tell(0.97, "saving the model")
        save_model(labeled.model, str(job.output), force=settings["force"])
        summary, lines = _label_summary(labeled)
        return summary | {"model": job.output, "report": job.report}, lines

    job.finish(*console.work(work))


@commands.command(
    cls=CommandWithExamples,
    examples=(
        "fewlabels predict species.fewlabels new.csv -o labelled.csv",
        "fewlabels predict species.fewlabels - < new.csv > labelled.csv",
    ),
)
@options.with_options(
    options.file("model"),
    options.table,
    options.output,
    options.report,
    options.reading,
    options.scheduler,
    options.running,
)
def predict(model: str, table: str, **settings: Any) -> None:
    """Label the rows of a new TABLE with a saved MODEL.

    The table needs the columns that the model uses, in any order; others are passed
    through. A file that is not a model, or asks for more than data, is refused.
    """
    console = Console(settings["quiet"])
    job = _Job(console, settings)

    def work() -> tuple[dict[str, Any], list[str]]:
        import numpy as np

        from fewlabels._words import plural
        from fewlabels.preprocessing.cells import counts, text_of
        from fewlabels.tabular import load_model, prediction_report
        from fewlabels.tabular.jobs import (
            noting,
            number_columns,
            result_columns,
        )

        if settings["scheduler"]:
            return job.predict_on_cluster(load_model(model), table)
        job.check_files()
        loaded = load_model(model)
        read = job.read(table, rewritten=True)
        notes = [*loaded.about["notes"], *read.notes]
        job.tell(0.1, "labelling")
        with noting(notes):
            labels, confidence = loaded.predict(read)
        if job.report:
            job.write_page(prediction_report(loaded, read, **job.page), job.report)
        nothing = np.zeros(read.n_rows, dtype=bool)
        columns = number_columns if loaded.predicts_numbers else result_columns
        added = columns(read, loaded.target, labels, confidence, nothing)
        job.write(read, added)
        if loaded.predicts_numbers:
            low, high = labels.min(), labels.max()
            classes, found = {}, f"between {low:.4g} and {high:.4g}"
        else:
            classes = dict(counts(text_of(value) for value in labels))
            found = _counted(classes)
        summary = {
            "table": read.source,
            "rows": read.n_rows,
            "target": loaded.target,
            "classes": classes,
            "new_columns": list(added),
            "notes": notes,
            "output": job.output,
            "report": job.report,
        }
        return summary, [
            f"{read.source}: {plural(read.n_rows, 'row')} labelled ({found})."
        ]

    job.finish(*console.work(work))


@commands.command(
    cls=CommandWithExamples,
    examples=("fewlabels report flowers.csv --target species -o report.html",),
)
@options.with_options(
    options.table,
    options.target,
    options.class_shares,
    click.option(
        "-o",
        "--output",
        type=click.Path(),
        default="report.html",
        show_default=True,
        metavar="FILE",
        help="Where to write the page.",
    ),
    options.columns,
    options.reading,
    options.bank,
    options.device,
    options.running,
)
def report(table: str, **settings: Any) -> None:
    """Write one HTML page about TABLE and its labels.

    It shows what was read, label counts, a map of the rows, the method next to the
    supervised baseline and other candidates with held-out errors, the least certain
    rows, what to label next, and how to reproduce it. The page is self-contained.
    """
    console = Console(settings["quiet"])
    job = _Job(console, settings)

    def work() -> tuple[dict[str, Any], list[str]]:
        from fewlabels.tabular import label_report

        job.check_files()
        labeled = job.label(job.read(table))
        console.tell(0.95, "drawing the report")
        page = label_report(labeled, **job.page)
        job.write_page(page, job.output)
        summary, lines = _label_summary(labeled)
        return summary | {"report": job.output}, lines

    job.finish(*console.work(work))


@commands.command(
    cls=CommandWithExamples,
    examples=(
        "fewlabels studio flowers.csv --target species",
        "fewlabels studio digits.csv -t digit --image 28x28 --class 0,1,2,3",
    ),
)
@options.with_options(
    options.table,
    options.target,
    click.option(
        "--class",
        "classes",
        multiple=True,
        metavar="NAME",
        help="A class that is known beforehand (repeat, or a,b,c).",
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
        help="Where labels are kept; TABLE.labels.jsonl beside the table by default.",
    ),
    click.option("--port", type=click.IntRange(0, 65535), default=0, help="Port."),
    click.option(
        "--host",
        default="127.0.0.1",
        show_default=True,
        help="Address to listen on; others can reach any but this one.",
    ),
    click.option("--no-browser", is_flag=True, help="Print the address only."),
    options.columns,
    options.reading,
    options.bank,
    click.option("--seed", type=click.IntRange(0), default=0, help="Seed."),
    click.option("-q", "--quiet", is_flag=True, help="Say nothing but the address."),
)
def studio(table: str, **settings: Any) -> None:
    """Label TABLE in the browser, the most useful rows first.

    The label column may be empty, or new. Each label is saved at once beside the table,
    which itself is never touched; start again to go on, Ctrl-C to end.
    """
    import webbrowser

    console = Console(settings["quiet"])
    if table == "-":
        raise UseError("The studio needs a file: labels are kept beside it.")
    unused: dict[str, Any] = {"features": None, "date": (), "merge_labels": False}
    unused["embed"] = False
    unused |= dict.fromkeys(("scale", "text_weight", "task"), "auto")
    for name, default in unused.items():
        if settings[name] != default:
            option = "--" + name.replace("_", "-")
            raise UseError(f"The studio does not know {option}: leave it out.")
    kinds = ("ignore", "text", "categorical", "numeric")
    with console.messages():
        from fewlabels.studio import Studio

        page = Studio(
            table,
            settings["target"],
            store=settings["store"],
            classes=[n for given in settings["classes"] for n in _names(given, [])],
            image=settings["image"],
            markers=settings["markers"],
            kinds={
                key: [n for given in settings[key] for n in _names(given, [])]
                for key in kinds
            },
            bank=settings["bank"],
            seed=settings["seed"],
            reading={
                key: settings[key]
                for key in ("delimiter", "encoding", "sheet", "header_row")
            },
            host=settings["host"],
            port=settings["port"],
            command=_typed(),
        )
    if page.is_new:
        console.say(f"There is no column {settings['target']!r} yet: it is a new one.")
    if not page.store.writes:
        console.say(
            f"Process {page.store.holder.get('pid', '?')} is labelling this table: "
            "you may watch."
        )
    if settings["host"] not in ("127.0.0.1", "localhost", "::1"):
        console.say("Whoever can reach this computer and knows the address can label.")
    click.echo(page.address)
    console.say(f"Labels are kept in {page.store.path}. Ctrl-C ends it.")
    page.run(lambda: settings["no_browser"] or webbrowser.open(page.address))
    labels = len(page.session.labels)
    console.say(f"{labels:,} labels in {page.store.path}.")


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
    options.target,
    click.option(
        "--labels-in",
        metavar="COLUMN",
        help="The column of LABELS that holds them; the target by default.",
    ),
    click.option(
        "--on",
        metavar="COLUMN",
        help="A column that names the rows; number and content by default.",
    ),
    click.option(
        "--overwrite", is_flag=True, help="Replace labels that TABLE has already."
    ),
    options.output,
    options.reading,
    options.running,
)
def merge(table: str, labels: str, **settings: Any) -> None:
    """Bring LABELS that were given elsewhere back to the rows of TABLE.

    LABELS is what 'fewlabels ask -o' has written, with labels filled in, an export of
    Label Studio (JSON, JSON_MIN or CSV), or a journal of 'fewlabels studio'. All other
    cells of TABLE come back as they were.
    """
    console = Console(settings["quiet"])
    settings["report_path"] = None
    job = _Job(console, settings)

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
            f"{len(merged.labels):,} labels merged, {merged.same:,} known already.",
            *merged.problems[:20],
        ]
        if len(merged.problems) > 20:
            lines.append(f"... and {len(merged.problems) - 20:,} more problems.")
        return summary, lines

    job.finish(*console.work(work))


@commands.command(
    cls=CommandWithExamples,
    examples=(
        "fewlabels demo",
        "fewlabels demo -o folder",
    ),
)
@click.option(
    "-o",
    "--output",
    type=click.Path(file_okay=False),
    default="fewlabels-demo",
    show_default=True,
    metavar="FOLDER",
    help="Where to write the files.",
)
@click.option("-q", "--quiet", is_flag=True, help="Say nothing but errors.")
@click.option("-f", "--force", is_flag=True, help="Replace files that exist.")
def demo(output: str, quiet: bool, force: bool) -> None:
    """Show all commands on a table that comes with fewlabels.

    Writes a table of wines, a few of them labelled, labels the rest, compares with the
    truth, asks for more labels, saves a model, and writes a report.
    """
    from fewlabels.cli._demo import tell_the_story

    tell_the_story(commands, Path(output), Console(quiet), force)
