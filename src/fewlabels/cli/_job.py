"""What the commands have in common."""

# SPDX-License-Identifier: BSD-3-Clause

import json
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
READING = ("delimiter", "encoding", "sheet", "header_row")


class Job:
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
        # What a report says of how it was made.
        self.page: dict[str, Any] = {
            "command": typed(),
            "random_state": settings.get("seed"),
        }
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

    def large(self, path: str) -> Any:
        """Open a table that is read in batches; None for others."""
        from fewlabels.tabular.large import open_large

        found = open_large(
            path,
            batch_rows=self.settings["batch_rows"],
            **{key: self.settings[key] for key in READING},
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
            raise UseError("A report needs rows that can be read again: name a file.")
        from fewlabels.tabular.files import check_writable
        from fewlabels.tabular.large import check_output

        check_output(found, str(self.output), force=self.settings["force"])
        if self.report not in (None, "-"):
            check_writable(str(self.report), force=self.settings["force"])
        return found

    @property
    def sample(self) -> dict[str, Any]:
        """How many rows to learn from, if an option says so."""
        given = self.settings["sample_rows"]
        return {} if given is None else {"sample_rows": given}

    def read(self, path: str, *, rewritten: bool = False) -> Any:
        """Read the table, which may have to be written in another format."""
        from fewlabels.tabular import read_table
        from fewlabels.tabular.files import output_format, own_format

        table = read_table(
            path,
            **reading(self.settings),
            progress=lambda share: self.console.tell(0.1 * share, "reading the file"),
        )
        if rewritten and self.output != "-":
            output_format(own_format(table), Path(str(self.output)).suffixes[-2:])
        return worded(table)

    def tell(self, share: float, what: str) -> None:
        """Pass progress on: reading was a tenth."""
        self.console.tell(0.1 + 0.85 * share, what)

    def encoding(self, table: Any) -> dict[str, Any]:
        """Columns named by options, and their scales."""
        return encoding(self.settings, table.names)

    @property
    def learning(self) -> dict[str, Any]:
        """Options of whatever learns from labels."""
        return {
            **{key: self.settings[key] for key in LABELS},
            "class_prior": self.settings.get("class_shares", "auto"),
            "bank": self.settings["bank"],
            "device": self.settings["device"],
            "random_state": self.settings["seed"],
        }

    def label(self, table: Any) -> Any:
        """Label a table as the options say."""
        from fewlabels.tabular import label_table

        return worded(
            label_table(
                table,
                self.settings["target"],
                **self.learning,
                progress=self.tell,
                **self.encoding(table),
            )
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
        for key in ("header_row", "batch_rows", "sample_rows"):
            if self.settings.get(key) is not None:
                refused.append(key)
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

    def label_on_cluster(
        self, path: str, summarise: Callable[[Any], tuple[dict[str, Any], list[str]]]
    ) -> tuple[dict[str, Any], list[str]]:
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
                **self.encoding(Names(path, given["delimiter"])),
                **given,
            )
        summary, lines = summarise(labeled)
        summary |= {"rows": n_rows, "sampled": labeled.table.n_rows}
        return self._parts(summary, sampled(lines, labeled, n_rows), written)

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
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always", UserWarning)
            write_table(table, str(self.output), added, force=self.settings["force"])
        for warning in heard:
            if warning.category is UserWarning:
                self.console.say(f"Note: {warning.message}")

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
        if "notes" in summary:
            summary["notes"] = [in_options(note) for note in summary["notes"]]
        for note in summary.get("notes", []):
            self.console.say(f"Note: {note}")
        for what in ("output", "report", "model"):
            if summary.get(what) not in (None, "-"):
                self.console.say(f"Written: {summary[what]}")
        if self.settings["as_json"]:
            # Escapes where the terminal, as on Windows, may not know all letters.
            plain = (sys.stdout.encoding or "").lower() not in ("utf-8", "utf8")
            click.echo(json.dumps(jsonable(summary), ensure_ascii=plain, indent=1))


def worded(result: Any) -> Any:
    """Word the notes of a result for somebody who typed a command."""
    result.notes[:] = [in_options(note) for note in result.notes]
    return result


def reading(settings: dict[str, Any]) -> dict[str, Any]:
    """Options for reading a table that were given."""
    keys = (*READING, "features")
    return {k: settings[k] for k in keys if settings.get(k) is not None}


def encoding(settings: dict[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """Columns named by options (a,b,c names three), and their scales."""
    kinds = {
        key: [name for given in settings[key] for name in names_in(given, names)]
        for key in ("ignore", "text", "categorical", "numeric", "date")
    }
    return {key: value for key, value in kinds.items() if value} | {
        key: settings[key] for key in ("scale", "text_weight", "embed")
    }


class Names:
    """Names of the columns of a table that is not read."""

    def __init__(self, path: str, delimiter: str | None) -> None:
        from fewlabels.dask import lazy_table

        self.names = [
            str(name) for name in lazy_table(path, delimiter=delimiter).columns
        ]


def names_in(given: str, known: Sequence[str]) -> list[str]:
    """Names of an option; with a format of dates behind one, it is a single name."""
    if "=" in given:
        return [given]
    parts = [part.strip() for part in given.split(",")]
    return [given] if given in known or len(parts) == 1 else parts


def jsonable(value: Any) -> Any:
    """Plain values; what is not a number is null."""
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


def counted(classes: dict[str, int], limit: int = 8) -> str:
    """Name the most frequent classes with their counts."""
    shown = [f"{name} {count:,}" for name, count in list(classes.items())[:limit]]
    return ", ".join([*shown, "..."] if len(classes) > limit else shown)


def sampled(lines: list[str], labeled: Any, n_rows: int) -> list[str]:
    """Say in the first line that it is about a sample of a larger table."""
    source = f"{labeled.table.source}: "
    rest = lines[0].removeprefix(source)
    return [f"{source}{n_rows:,} rows in all; learned from {rest}", *lines[1:]]


def written_words(written: Any) -> list[str]:
    """Say which parts of a folder were there already."""
    from fewlabels._words import plural

    if not written.n_skipped:
        return []
    parts = plural(written.n_skipped, "part")
    return [f"{parts} of an earlier run are left as they are (--force replaces them)."]
