"""Write a large table with columns added, as a file or as a folder of parts."""

# SPDX-License-Identifier: BSD-3-Clause

import contextlib
import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np

from fewlabels.preprocessing import FileError, Table
from fewlabels.tabular._batches import LargeTable
from fewlabels.tabular._formats import (
    Appender,
    FileFormat,
    Workbook,
    database_place,
)
from fewlabels.tabular._places import (
    Part,
    exists,
    is_address,
    is_folder,
    read_bytes,
    writing,
)
from fewlabels.tabular._targets import class_text
from fewlabels.tabular.files import Values, check_writable, output_format
from fewlabels.tabular.setup import Progress

# Rows per part, if one file becomes a folder of parts.
PART_ROWS = 1_000_000
# File in a folder of parts that identifies the run.
MANIFEST = "_fewlabels.json"


@dataclass
class Written:
    """Summary of a large table that was written.

    Attributes
    ----------
    n_rows : int
        Rows that were written.
    counts : Counter
        Values of the first new column.
    names : list of str
        Names of the new columns.
    n_skipped : int
        Parts that an earlier run had written.
    low, high : float
        The smallest and largest number of the first new column.
    """

    n_rows: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    names: list[str] = field(default_factory=list)
    n_skipped: int = 0
    low: float = np.inf
    high: float = -np.inf

    def add(self, added: Values, numbers: bool) -> None:
        """Count what was written."""
        self.names = list(added)
        values = next(iter(added.values()))
        self.n_rows += len(values)
        if numbers:
            self.low = min(self.low, *values)
            self.high = max(self.high, *values)
        else:
            self.counts.update(map(class_text, values))


def check_output(large: LargeTable, output: str, *, force: bool) -> None:
    """Raise now if the output would fail after the work is done.

    Parameters
    ----------
    large : LargeTable
        The table.
    output : str
        Where to write.
    force : bool
        Whether it may exist.
    """
    if is_folder(output):
        return
    _file_format(large.kind, output)
    if output == "-":
        return
    if not is_address(output):
        check_writable(output, force=force)
    elif not force and exists(output):
        raise FileError(f"{output} exists: pass force=True to replace it, or rename.")


def _file_format(own: type[FileFormat], output: str) -> tuple[type[FileFormat], str]:
    """Format and suffix of a file that is written in batches."""
    suffixes = PurePosixPath(output).suffixes[-2:] if output != "-" else ()
    kind, suffix, _ = output_format(own, suffixes)
    if kind is Workbook or database_place(output) is not None:
        raise FileError(
            "A table that is read in batches cannot be written as a workbook or into a "
            "database: write .csv or .parquet."
        )
    return kind, suffix


def rewrite(
    large: LargeTable,
    output: str,
    new_columns: Callable[[Table], Values],
    *,
    force: bool = False,
    numbers: bool = False,
    identity: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
) -> Written:
    """Write a large table with columns added, in batches.

    Parameters
    ----------
    large : LargeTable
        The table.
    output : str
        A file, "-", or a folder, which gets a part for every file of the table, or for
        every million rows of a single file. An interrupted run continues with the
        missing parts.
    new_columns : callable
        Returns the new columns of some rows.
    force : bool, default=False
        Whether to replace what exists.
    numbers : bool, default=False
        Whether the first new column holds numbers.
    identity : dict, default=None
        What distinguishes this run from others that write to the same folder.
    progress : callable, default=None
        Called with the share of the work that is done, and the current step.

    Returns
    -------
    written : Written
        Counts of rows and values.
    """
    done = Written()

    def tell(share: float) -> None:
        if progress is not None:
            progress(share, f"writing, {done.n_rows:,} rows")

    def finished(table: Table) -> Values:
        added = new_columns(table)
        done.add(added, numbers)
        return added

    if not is_folder(output):
        _write_file(large, output, finished, force, tell)
        return done
    _check_manifest(large, output, identity or {}, force=force)
    single = len(large.parts) == 1
    # One file is cut into parts of this many whole batches.
    per_part = max(1, PART_ROWS // large.batch_rows) if single else None
    for name, batches in _grouped(large.batches(tell), per_part, large.kind):
        path = f"{output.rstrip('/')}/{name}"
        if not force and exists(path):
            done.n_skipped += 1
            for _ in batches:  # read past them
                pass
            continue
        if not is_address(path):
            Path(path).parent.mkdir(parents=True, exist_ok=True)
        with writing(path, force=force) as file:
            appender = large.kind.appender(file, PurePosixPath(name).suffix)
            for table in batches:
                appender.add(table, finished(table))
            appender.close()
    return done


def _write_file(
    large: LargeTable,
    output: str,
    finished: Callable[[Table], Values],
    force: bool,
    tell: Callable[[float], None],
) -> None:
    with contextlib.ExitStack() as stack:
        appender: Appender | None = None
        several = len(large.parts) > 1
        for part, _, table in large.batches(tell):
            if appender is None:
                kind, suffix = _file_format(large.kind, output)
                file = stack.enter_context(writing(output, force=force))
                appender = kind.appender(file, suffix)
            elif several:
                table = _continued(table)
            added = finished(table)
            if several:
                table = _closed(table)
                (name,) = table.free_names(["file"])
                added = {name: [part.name] * table.n_rows, **added}
            appender.add(table, added)
        if appender is not None:
            appender.close()


def _continued(table: Table) -> Table:
    """Turn the beginning of a file into a continuation of another."""
    text: Any = getattr(table.origin, "text", None)
    if hasattr(text, "continued") and not text.continued:
        text.continued, text.lead = True, ""
    return table


def _closed(table: Table) -> Table:
    """End the last line, as others follow."""
    text: Any = getattr(table.origin, "text", None)
    if hasattr(text, "ends") and not text.ends[-1]:
        text.ends[-1] = next((end for end in text.ends if end), "\n")
    return table


def _grouped(
    batches: Iterator[tuple[Part, int, Table]],
    per_part: int | None,
    kind: type[FileFormat],
) -> Iterator[tuple[str, Iterator[Table]]]:
    """Yield the parts of the output, each with its batches."""
    waiting = next(batches, None)
    number = 0

    def same(name: str) -> Iterator[Table]:
        nonlocal waiting
        count = 0
        while waiting is not None:
            part, _, table = waiting
            if per_part is None and part.name != name:
                return
            if per_part is not None and count == per_part:
                return
            count += 1
            yield table
            waiting = next(batches, None)

    while waiting is not None:
        name = waiting[0].name
        if per_part is not None:
            name = f"part-{number:05d}{waiting[0].suffix or kind.suffixes[0]}"
        yield name, same(waiting[0].name)
        number += 1


def _check_manifest(
    large: LargeTable, output: str, identity: Mapping[str, Any], *, force: bool
) -> None:
    """Check that existing parts belong to this run."""
    about = {
        "table": large.source,
        "parts": [[part.name, part.size] for part in large.parts],
        "batch_rows": large.batch_rows,
        **identity,
    }
    text = json.dumps(about, sort_keys=True, default=str)
    digest = hashlib.sha256(text.encode()).hexdigest()
    path = f"{output.rstrip('/')}/{MANIFEST}"
    if not is_address(output):
        Path(output).mkdir(parents=True, exist_ok=True)
    if exists(path) and not force:
        if json.loads(read_bytes(path))["digest"] != digest:
            raise FileError(
                f"{output} holds parts of another run: name another folder, or pass "
                "force=True to replace them."
            )
        return
    with writing(path, force=True) as file:
        file.write(json.dumps({"digest": digest, "run": json.loads(text)}).encode())
