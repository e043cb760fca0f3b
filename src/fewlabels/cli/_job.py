"""The steps that commands share."""

# SPDX-License-Identifier: BSD-3-Clause

import json
import shlex
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from fewlabels.cli._console import Console, UseError
from fewlabels.cli._group import typed
from fewlabels.cli._wording import in_options

LABELS = ("markers", "merge_labels", "task")
FEATURES = ("scale", "text_weight", "embed")
READING = ("delimiter", "encoding", "sheet", "header_row", "keep_rows")
PICTURES = ("labels", "embed_with")


class Job:
    """The steps that commands share: read, check, summarise, write.

    Parameters
    ----------
    console : Console
        Where messages and progress go.
    settings : dict
        Options of the command.
    """

    def __init__(self, console: Console, settings: dict[str, Any]) -> None:
        self.console = console
        self.settings = settings
        # How it was made, for the report.
        self.page: dict[str, Any] = {
            "command": typed(),
            "random_state": settings.get("seed"),
        }
        # Share of the work that reading is; pictures take far longer than a file.
        self.reads = 0.1
        self.output: str | None = settings.get("output")
        self.report: str | None = settings.get("report_path")
        if self.report:
            check_page(self.report)
        streams = [self.output, self.report, "-" if settings["as_json"] else None]
        if streams.count("-") > 1:
            raise UseError(
                "Only one thing can go to the standard output: the table, the report "
                "or --json. Name a file with -o."
            )

    def check_files(self) -> None:
        """Raise now what would otherwise fail at the end."""
        from fewlabels.tabular.files import check_writable

        force = self.settings["force"]
        for path in (self.output, self.report):
            if path not in (None, "-"):
                check_writable(path, force=force)

    def large(self, path: str) -> Any:
        """Open a table that is read in batches; None for others."""
        from fewlabels.tabular.large import open_large

        found = open_large(
            path,
            batch_rows=self.settings["batch_rows"],
            **{key: self.settings[key] for key in READING},
            labels=self.settings.get("labels"),
            embed_with=self.settings.get("embed_with"),
        )
        if found is None:
            if self.settings.get("sample_rows") is not None:
                raise UseError(
                    "--sample-rows is for tables that are read in batches, and this "
                    "one is read at once: leave it out, or pass --batch-rows NUMBER."
                )
            self.check_files()
            return None
        if self.settings["features"]:
            raise UseError(
                "--features needs all rows at once: pass --batch-rows 0 with it."
            )
        if self.report and found.source == "-":
            raise UseError("A report reads the rows twice: give the table as a file.")
        from fewlabels.tabular.files import check_writable
        from fewlabels.tabular.large import check_output

        check_output(found, str(self.output), force=self.settings["force"])
        if self.report not in (None, "-"):
            check_writable(str(self.report), force=self.settings["force"])
        return found

    @property
    def shown(self) -> Any:
        """Return which predictions to write."""
        from fewlabels.tabular.labeling import Shown

        return Shown(self.settings["min_confidence"], self.settings["top"])

    @property
    def sample(self) -> dict[str, Any]:
        """Return the number of rows to learn from, if an option sets it."""
        given = self.settings["sample_rows"]
        return {} if given is None else {"sample_rows": given}

    def read(self, path: str, *, rewritten: bool = False) -> Any:
        """Read the table, and check that it can be written as asked."""
        from fewlabels.tabular import read_table
        from fewlabels.tabular.file_folders import folder_kind
        from fewlabels.tabular.files import check_suffix, own_format

        what = "reading the file"
        if folder_kind(path) == "picture":
            self.reads, what = 0.8, "looking at pictures"
        table = read_table(
            path,
            **reading(self.settings),
            progress=lambda share: self.console.tell(self.reads * share, what),
        )
        check_text_options(table, self.settings)
        if rewritten and self.output is not None:
            check_suffix(own_format(table), self.output)
        return worded(table)

    def tell(self, share: float, what: str) -> None:
        """Pass progress on, behind that of reading."""
        self.console.tell(self.reads + (0.95 - self.reads) * share, what)

    def encoding(self, table: Any) -> dict[str, Any]:
        """Return the columns named by options, and their scaling."""
        return encoding(self.settings, table.names)

    @property
    def learning(self) -> dict[str, Any]:
        """Return the options for learning from labels."""
        return {
            **{key: self.settings[key] for key in LABELS},
            "class_prior": self.settings.get("class_shares", "auto"),
            "bank": self.settings["bank"],
            "device": self.settings["device"],
            "random_state": self.settings["seed"],
            "interval": self.settings.get("interval", 0.9),
            "ordinal": self.settings.get("ordinal"),
        }

    def refuse_hints(self, option: str, remedy: str = "leave it out") -> None:
        """Raise an error if hints or weights are given where they have no effect."""
        for name in ("hints", "rules", "weight"):
            if self.settings.get(name):
                raise UseError(
                    f"--{name.removesuffix('s')} needs all rows at once, and not "
                    f"{option}: {remedy}."
                )

    @property
    def hints(self) -> list[str]:
        """Return columns of guesses, and rules."""
        return [*self.settings.get("hints", ()), *self.settings.get("rules", ())]

    def label(self, table: Any) -> Any:
        """Label a table according to the options."""
        from fewlabels.tabular import label_table

        return worded(
            label_table(
                table,
                self.settings["target"],
                **self.learning,
                hints=[
                    *self.settings.get("hints", ()),
                    *self.settings.get("rules", ()),
                ],
                weight=self.settings.get("weight"),
                progress=self.tell,
                **self.encoding(table),
            )
        )

    @contextmanager
    def cluster(self) -> Iterator[tuple[Any, dict[str, Any]]]:
        """Connect to the cluster; refuse options that do not work there."""
        try:
            from distributed import Client
        except ImportError:
            raise UseError(
                "--scheduler needs Dask: pip install 'fewlabels[dask]'."
            ) from None
        keys = ("features", "sheet", "encoding", "report_path", "keep_rows", "explain")
        refused = [
            key for key in (*keys, *PICTURES, "sort_into") if self.settings.get(key)
        ]
        for key in ("header_row", "batch_rows", "sample_rows"):
            if self.settings.get(key) is not None:
                refused.append(key)
        if self.settings.get("ordinal") is not None:
            refused.append("ordinal")
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
                f"There is no Dask scheduler at {address}: {error}."
            ) from None
        with client:
            given = {key: self.settings[key] for key in ("delimiter", "force")}
            yield client, {**given, "progress": self.console.tell}

    def label_on_cluster(
        self, path: str, summarise: Callable[[Any], tuple[dict[str, Any], list[str]]]
    ) -> tuple[dict[str, Any], list[str]]:
        """Label a large table on the cluster."""
        from fewlabels.tabular.clusters import label_on_cluster

        with self.cluster() as (client, given):
            kept = ("markers", "merge_labels", "task", "bank", "interval")
            labeled, written, n_rows = label_on_cluster(
                client,
                path,
                str(self.output),
                self.settings["target"],
                random_state=self.settings["seed"],
                **{key: self.settings[key] for key in kept},
                class_prior=self.settings["class_shares"],
                shown=self.shown,
                **self.encoding(Names(path, given["delimiter"])),
                **given,
            )
        summary, lines = summarise(labeled)
        summary |= {"rows": n_rows, "sampled": labeled.table.n_rows}
        return self._parts(summary, sampled(lines, labeled, n_rows), written)

    def predict_on_cluster(
        self, model: Any, path: str
    ) -> tuple[dict[str, Any], list[str]]:
        """Label a large table with a saved model, on the cluster."""
        from fewlabels.tabular.clusters import predict_on_cluster
        from fewlabels.tabular.setup import noting

        notes: list[str] = []
        given_too = {"shown": self.shown, "strict": self.settings["strict"]}
        with self.cluster() as (client, given), noting(notes):
            written = predict_on_cluster(
                client, model, path, str(self.output), **given_too, **given
            )
        summary = {"table": path, "target": model.target, "notes": notes}
        return self._parts(summary, [], written)

    def _parts(
        self, summary: dict[str, Any], lines: list[str], written: Any
    ) -> tuple[dict[str, Any], list[str]]:
        kept = f", {written.n_kept} of them by an earlier run" if written.n_kept else ""
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
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always", UserWarning)
            write_table(table, str(self.output), added, force=self.settings["force"])
        for warning in heard:
            if warning.category is UserWarning:
                self.console.say(f"Note: {warning.message}")

    def check_sorting(self, path: str) -> None:
        """Complain now about pictures that cannot be sorted."""
        from fewlabels.tabular.file_folders import check_sorting, folder_kind

        folder = self.settings["sort_into"]
        if folder is not None:
            if not folder_kind(path):
                raise UseError(
                    f"{path} is no folder of pictures or texts: leave --sort-into out."
                )
            check_sorting(path, folder)

    def sort_files(self, labeled: Any) -> list[str]:
        """Link pictures into folders by their labels, if an option says so."""
        from fewlabels._words import plural
        from fewlabels.tabular.file_folders import FILE, sort_files

        folder, table = self.settings["sort_into"], labeled.table
        if folder is None:
            return []
        n_copies = sort_files(table.source, table[FILE], labeled.labels, folder)
        how = "copied" if n_copies == table.n_rows else "linked"
        return [f"{plural(table.n_rows, 'file')} {how} by label: {folder}"]

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
        """Print a summary, in words or as JSON."""
        from fewlabels.tabular.telling import LEFT_OUT

        for line in lines:
            self.console.say(line)
        if "notes" in summary:
            summary["notes"] = [in_options(note) for note in summary["notes"]]
        for note in summary.get("notes", []):
            # Already in the lines.
            if "columns" not in summary or not note.startswith(LEFT_OUT):
                self.console.say(f"Note: {note}")
        for what in ("output", "report", "model"):
            if summary.get(what) not in (None, "-"):
                self.console.say(f"Written: {summary[what]}")
        if self.settings["as_json"]:
            # Escaped, as some terminals (on Windows) cannot show all letters.
            plain = (sys.stdout.encoding or "").lower() not in ("utf-8", "utf8")
            click.echo(json.dumps(jsonable(summary), ensure_ascii=plain, indent=1))


def check_text_options(table: Any, settings: dict[str, Any]) -> None:
    """Refuse options for text files where the file is not text."""
    if getattr(table.origin, "is_binary", False):
        for key in ("delimiter", "encoding"):
            if settings.get(key) is not None:
                raise UseError(
                    f"{table.source} is not delimited text (given as --{key}): leave "
                    "it out."
                )


def check_page(path: str) -> None:
    """Refuse a report file with the suffix of another format."""
    suffix = Path(path).suffix.lower()
    if suffix not in ("", ".html", ".htm", ".xhtml"):
        name = Path(path).with_suffix(".html").name
        raise UseError(
            f"A report is an HTML page, not a {suffix} file: name it {name}. Any "
            "browser can open it and print it as PDF."
        )


def worded(result: Any) -> Any:
    """Reword the notes of a result for the command line."""
    result.notes[:] = [in_options(note) for note in result.notes]
    return result


def reading(settings: dict[str, Any]) -> dict[str, Any]:
    """Return the given options for reading a table."""
    keys = (*READING, *PICTURES, "features")
    return {k: settings[k] for k in keys if settings.get(k) is not None}


def encoding(settings: dict[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """Return the columns named by options (a,b,c names three), and their scaling."""
    kinds = {
        key: [name for given in settings[key] for name in names_in(given, names)]
        for key in ("ignore", "text", "categorical", "numeric", "date")
    }
    kinds |= {key: list(settings.get(key, ())) for key in ("decimal", "missing")}
    return {key: value for key, value in kinds.items() if value} | {
        key: settings[key] for key in FEATURES
    }


class Names:
    """Return the column names of a table without reading all of it."""

    def __init__(self, path: str, delimiter: str | None) -> None:
        from fewlabels.dask import lazy_table

        self.names = [
            str(name) for name in lazy_table(path, delimiter=delimiter).columns
        ]


def names_in(given: str, known: Sequence[str]) -> list[str]:
    """Split an option into names; one with a date format is a single name."""
    if "=" in given:
        return [given]
    parts = [part.strip() for part in given.split(",")]
    return [given] if given in known or len(parts) == 1 else parts


def jsonable(value: Any) -> Any:
    """Convert to plain JSON values; NaN becomes null."""
    if isinstance(value, dict):
        return {str(k): jsonable(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [jsonable(v) for v in value]
    if hasattr(value, "tolist"):  # of NumPy
        value = value.tolist()
        if isinstance(value, list):
            return jsonable(value)
    if isinstance(value, float) and value != value:
        return None
    return value if isinstance(value, str | int | float | bool | None) else str(value)


def as_read(columns: Sequence[Any], source: str) -> list[str]:
    """Summarise how the columns were read, one line per kind."""
    from fewlabels.tabular.telling import reading_lines

    more = shlex.join(["fewlabels", "columns", source])
    return [f"How the columns were read ({more} says more):", *reading_lines(columns)]


def counted(classes: dict[str, int], limit: int = 8) -> str:
    """List the most frequent classes with their counts; an empty name is no label."""
    most = list(classes.items())[:limit]
    shown = [f"{name or 'without a label'} {count:,}" for name, count in most]
    return ", ".join([*shown, "..."] if len(classes) > limit else shown)


def sampled(lines: list[str], labeled: Any, n_rows: int) -> list[str]:
    """State in the first line that this is a sample of a larger table."""
    source = f"{labeled.table.source}: "
    rest = lines[0].removeprefix(source)
    return [f"{source}{n_rows:,} rows in all; learned from {rest}", *lines[1:]]


def written_words(written: Any) -> list[str]:
    """Report which parts of a folder existed already."""
    from fewlabels._words import plural

    if not written.n_skipped:
        return []
    parts = plural(written.n_skipped, "part")
    return [f"Kept {parts} of an earlier run (--force replaces them)."]
