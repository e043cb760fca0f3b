"""Tables that do not fit into memory: read, learned from and written in batches."""

# SPDX-License-Identifier: BSD-3-Clause

import contextlib
import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewlabels._sampling import SmallestKeys, row_keys
from fewlabels._words import plural
from fewlabels.preprocessing import (
    FileError,
    Table,
    TableError,
    TableSample,
    TableSummary,
)
from fewlabels.preprocessing.cells import (
    is_missing,
    is_placeholder,
    object_array,
    text_of,
)
from fewlabels.tabular._formats import (
    BY_SUFFIX,
    Appender,
    FileFormat,
    Reading,
    Workbook,
)
from fewlabels.tabular._models import TableModel
from fewlabels.tabular._places import (
    Part,
    check_output,
    exists,
    find_parts,
    is_address,
    is_folder,
    read_bytes,
    writing,
)
from fewlabels.tabular.files import Values, output_format
from fewlabels.tabular.grouping import ClusteredTable, cluster_table
from fewlabels.tabular.jobs import Report, noting, silent
from fewlabels.tabular.labeling import label_table, number_columns, result_columns

__all__ = [
    "LargeTable",
    "RowSample",
    "Written",
    "check_output",
    "cluster_large",
    "given_labels",
    "label_large",
    "open_large",
    "predict_large",
    "rewrite",
    "sample_of",
]

# Files beyond this many bytes are read in batches of so many rows.
LARGE_BYTES = 2**27
BATCH_ROWS = 50_000
# Rows without a label that are learned from, and how many labelled ones at most.
SAMPLE_ROWS = 50_000
MAX_LABELED = 100_000
# Rows of a part, where one file becomes a folder of parts.
PART_ROWS = 1_000_000
# What a folder of parts says of the run that makes it.
MANIFEST = "_fewlabels.json"


@dataclass
class LargeTable:
    """A table that is read some rows at a time.

    It is made by :func:`open_large`.

    Attributes
    ----------
    source : str
        Where it comes from.
    parts : list of Part
        Its files.
    kind : type
        Their format.
    reading : Reading
        How to read them.
    batch_rows : int
        Rows that are held at a time.
    n_rows : int
        Rows, as far as they have been read.
    notes : list of str
        What the owner of the table should know.
    sampled : ndarray of int
        Numbers of the rows that were learned from.
    """

    source: str
    parts: list[Part]
    kind: type[FileFormat]
    reading: Reading
    batch_rows: int = BATCH_ROWS
    n_rows: int = 0
    notes: list[str] = field(default_factory=list)
    sampled: NDArray[Any] = field(default_factory=lambda: np.empty(0, dtype=np.intp))

    def batches(
        self, report: Callable[[float], None] | None = None
    ) -> Iterator[tuple[Part, int, Table]]:
        """Read all rows, in their order.

        Parameters
        ----------
        report : callable, default=None
            Told the share that is read.

        Yields
        ------
        part : Part
            The file.
        first : int
            Number of the first row.
        table : Table
            The next rows, which know how to be written.
        """
        total = sum(part.size for part in self.parts) or 1
        first, before = 0, 0
        for part in self.parts:
            how = replace(self.reading, name=part.path, suffix=part.suffix)
            if part.path == "-":
                how = replace(how, name="standard input")
            with part.open() as opened:
                for table in self.kind.batches(opened.file, how, self.batch_rows):
                    if part.fixed:
                        table = _with_fixed(table, part.fixed)
                    if first == 0:
                        self.notes += [n for n in table.notes if n not in self.notes]
                    yield part, first, table
                    first += table.n_rows
                    if report is not None:
                        report((before + opened.share() * part.size) / total)
            before += part.size
        self.n_rows = first


def _with_fixed(table: Table, fixed: dict[str, str]) -> Table:
    """Put what the names of folders say beside the columns, for learning only."""
    new = {name: text for name, text in fixed.items() if name not in table.names}
    columns = [object_array([text] * table.n_rows) for text in new.values()]
    return replace(
        table, names=[*table.names, *new], columns=[*table.columns, *columns]
    )


def open_large(
    path: str, *, batch_rows: int | None = None, **options: Any
) -> LargeTable | None:
    r"""Open a table in order to read it in batches, if it is large.

    Parameters
    ----------
    path : str
        A file, a folder of files, an address of either, or "-".
    batch_rows : int, default=None
        Rows to hold at a time, whatever the size of the table; 0 for all of them. None
        takes 50,000 where the table is a folder, behind an address, or larger than 128
        MB.
    **options : dict
        `delimiter`, `encoding`, `sheet` and `header_row`, as for
        :func:`~fewlabels.tabular.read_table`.

    Returns
    -------
    table : LargeTable or None
        None for a table that is better read at once.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from fewlabels.tabular.large import open_large
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "numbers.csv")
    ...     _ = path.write_text("a,b\n1,2\n3,4\n5,6\n")
    ...     table = open_large(str(path), batch_rows=2)
    ...     [batch.n_rows for _, _, batch in table.batches()], table.n_rows
    ([2, 1], 3)
    """
    if batch_rows == 0 or (path == "-" and batch_rows is None):
        return None
    parts = find_parts(path)
    several = len(parts) > 1 or parts[0].path != path or is_address(path)
    if batch_rows is None and not several and parts[0].size <= LARGE_BYTES:
        return None
    if PurePosixPath(parts[0].name).suffix.lower() == ".zip":
        return None
    kind = parts[0].format()
    others = [part.name for part in parts if BY_SUFFIX.get(part.suffix, kind) != kind]
    if several and others:
        raise FileError(f"{path} holds files of several formats, such as {others[0]}.")
    if kind is Workbook:
        if several:
            raise FileError(f"{path}: workbooks are read one at a time, from a disk.")
        return None
    reading = Reading(path, parts[0].suffix, **options)
    return LargeTable(path, parts, kind, reading, batch_rows or BATCH_ROWS)


class RowSample:
    """All rows of one kind, and a sample of the others.

    Which others are taken depends on their numbers and the seed alone, not on batches.

    Parameters
    ----------
    size : int
        How many of the others.
    max_always : int
        How many of the first kind at most; of more, a sample too.
    seed : int
        Seed.
    """

    def __init__(self, size: int, max_always: int, seed: int) -> None:
        self._seed = seed
        self._smallest = [SmallestKeys(size), SmallestKeys(max_always)]
        self._seen = [0, 0]
        self._kept: list[tuple[NDArray[Any], NDArray[Any], NDArray[Any], Table]] = []

    def add(self, first: int, table: Table, always: NDArray[np.bool_]) -> None:
        """Look at further rows."""
        rows = np.arange(first, first + table.n_rows)
        keys = row_keys(first, first + table.n_rows, self._seed)
        for kind in (0, 1):
            of_kind = always == bool(kind)
            self._seen[kind] += int(of_kind.sum())
            self._smallest[kind] = self._smallest[kind].seen(
                rows[of_kind], keys[of_kind]
            )
        self._kept.append((rows, keys, always, table))
        self._kept[-1] = self._thinned(*self._kept[-1])
        if sum(part[0].size for part in self._kept) > 2 * self.n_kept + BATCH_ROWS:
            self._kept = [self._thinned(*part) for part in self._kept]

    @property
    def n_kept(self) -> int:
        """How many rows are sampled."""
        return sum(smallest.rows.size for smallest in self._smallest)

    @property
    def n_seen(self) -> tuple[int, int]:
        """How many other rows, and rows of the first kind, there are."""
        return self._seen[0], self._seen[1]

    def _thinned(
        self,
        rows: NDArray[Any],
        keys: NDArray[Any],
        always: NDArray[Any],
        table: Table,
    ) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any], Table]:
        keep = np.zeros(rows.size, dtype=bool)
        for kind, smallest in enumerate(self._smallest):
            last = smallest.keys[-1] if smallest.keys.size else 0
            keep |= (always == bool(kind)) & (keys <= last)
        columns = [column[keep] for column in table.columns]
        thin = Table(table.names, columns, table.source, categorical=table.categorical)
        return rows[keep], keys[keep], always[keep], thin

    def table(self, source: str) -> tuple[NDArray[Any], Table]:
        """Give the numbers of the rows in their order, and a table of them."""
        parts = [self._thinned(*part) for part in self._kept]
        numbers = np.concatenate([part[0] for part in parts])
        order = np.argsort(numbers)
        tables = [part[3] for part in parts]
        names = list(dict.fromkeys(name for table in tables for name in table.names))
        columns = []
        for name in names:
            columns.append(_stacked([_column(table, name) for table in tables])[order])
        return numbers[order], Table(names, columns, source)


def _column(table: Table, name: str) -> NDArray[Any]:
    if name in table.names:
        return table[name]
    return object_array([None] * table.n_rows)


def _stacked(columns: list[NDArray[Any]]) -> NDArray[Any]:
    """Put columns below each other, as objects where their types differ."""
    columns = [column for column in columns if column.size] or columns[:1]
    kinds = {column.dtype.kind for column in columns}
    if len(kinds) == 1 or kinds <= {"i", "u", "f"}:
        return np.concatenate(columns)
    return object_array([value for column in columns for value in column.tolist()])


def sample_of(
    large: LargeTable,
    target: str | None,
    *,
    markers: Sequence[Any] = (),
    sample_rows: int = SAMPLE_ROWS,
    random_state: int = 0,
    report: Callable[[float], None] | None = None,
) -> TableSample:
    """Take what can be learned from: labelled rows, and a sample of the others.

    Parameters
    ----------
    large : LargeTable
        The table.
    target : str or None
        The label column, if any.
    markers : sequence, default=()
        Values that stand for "no label".
    sample_rows : int, default=50,000
        How many rows without a label to take.
    random_state : int, default=0
        Seed.
    report : callable, default=None
        Told the share that is read.

    Returns
    -------
    sample : TableSample
        A table of these rows in their order, with a note that says how many they are;
        and what all rows say of the columns, but for the target. None where rows
        differ in their columns.
    """
    sample = RowSample(sample_rows, MAX_LABELED, random_state)
    marked = {text_of(marker) for marker in markers}
    summary: TableSummary | None = None
    names: list[str] = []
    for _, first, table in large.batches(report):
        labeled = np.zeros(table.n_rows, dtype=bool)
        rest = table
        if target is not None:
            cells = table.columns[table.index(target, "target")].tolist()
            labeled = np.array([_is_label(cell, marked) for cell in cells], dtype=bool)
            rest = table.without([target])
        sample.add(first, table, labeled)
        if first == 0:
            names, summary = rest.names, TableSummary.of(rest)
        elif summary is not None:
            same = rest.names == names
            summary = summary.merge(TableSummary.of(rest)) if same else None
    others, given = sample.n_seen
    if large.n_rows == 0:
        raise TableError(f"{large.source} has no rows.")
    taken = min(others, sample_rows)
    some = (
        f"all {taken:,}" if taken == others else f"a sample of {taken:,} of {others:,}"
    )
    labels = plural(min(given, MAX_LABELED), "labelled row")
    large.sampled, table = sample.table(large.source)
    table.notes = [
        *large.notes,
        f"Read in batches of {plural(large.batch_rows, 'row')}, and learned from "
        + (f"{some} rows" if target is None else f"{labels} and {some} others")
        + (
            "; kinds, words and medians of columns are those of these rows, scales and "
            "categories those of all."
            if summary is not None
            else "; kinds and scales of columns are those of these rows."
        ),
    ]
    return TableSample(table, None if summary is None else summary.settled())


def _is_label(cell: Any, marked: set[str]) -> bool:
    """Whether a cell looks like a label; what may be a mark is sampled like a hole."""
    if is_missing(cell):
        return False
    text = text_of(cell)
    return text not in marked and text != "-1" and not is_placeholder(text)


def given_labels(
    sample: Table, texts: NDArray[Any], target: str, markers: Sequence[Any]
) -> Callable[[NDArray[Any]], list[str | None]]:
    """Read labels of further rows as those of a sample were read.

    Parameters
    ----------
    sample : Table
        The sample.
    texts : ndarray of object
        Labels of its rows, None where there is none.
    target : str
        The label column.
    markers : sequence
        Values that stand for "no label".

    Returns
    -------
    read : callable
        From cells to labels.
    """
    known: dict[str, str | None] = {text_of(marker): None for marker in markers}
    for cell, text in zip(sample[target].tolist(), texts, strict=True):
        if not is_missing(cell):
            known.setdefault(text_of(cell), text)

    def read(cells: NDArray[Any]) -> list[str | None]:
        found: list[str | None] = []
        for cell in cells.tolist():
            text = None if is_missing(cell) else text_of(cell)
            found.append(None if text is None else known.get(text, text))
        return found

    return read


@dataclass
class Written:
    """What writing a large table has come to.

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
            self.counts.update(map(text_of, values))


def rewrite(
    large: LargeTable,
    output: str,
    new_columns: Callable[[Table], Values],
    *,
    force: bool = False,
    numbers: bool = False,
    identity: Mapping[str, Any] | None = None,
    report: Report | None = None,
) -> Written:
    """Write a large table with columns added, some rows at a time.

    Parameters
    ----------
    large : LargeTable
        The table.
    output : str
        A file, "-", or a folder, which gets a part for every file of the table, or for
        every million rows of a single file. A run that was interrupted goes on with
        the parts that are missing.
    new_columns : callable
        From some rows to their new columns.
    force : bool, default=False
        Whether to replace what exists.
    numbers : bool, default=False
        Whether the first new column holds numbers.
    identity : dict, default=None
        What tells this run from others that write to the same folder.
    report : callable, default=None
        Told the share of the work that is done, and what is going on.

    Returns
    -------
    written : Written
        How many rows, and of which values.
    """
    done = Written()

    def tell(share: float) -> None:
        if report is not None:
            report(share, f"writing, {done.n_rows:,} rows")

    def finished(table: Table) -> Values:
        added = new_columns(table)
        done.add(added, numbers)
        return added

    if not is_folder(output):
        _write_file(large, output, finished, force, tell)
        return done
    _check_manifest(large, output, identity or {}, force=force)
    single = len(large.parts) == 1
    # One file is cut into parts of so many whole batches.
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
        for _, _, table in large.batches(tell):
            if appender is None:
                suffixes = PurePosixPath(output).suffixes[-2:] if output != "-" else ()
                kind, suffix, _ = output_format(table, suffixes)
                if kind is Workbook:
                    raise FileError(
                        "A table that is read in batches cannot be written as a "
                        "workbook: write .csv or .parquet."
                    )
                file = stack.enter_context(writing(output, force=force))
                appender = kind.appender(file, suffix)
            elif len(large.parts) > 1:
                table = _continued(table)
            appender.add(table, finished(table))
        if appender is not None:
            appender.close()


def _continued(table: Table) -> Table:
    """Make a table a later part of a file, although it begins one of its own."""
    text: Any = getattr(table.origin, "text", None)
    if hasattr(text, "continued") and not text.continued:
        text.continued, text.lead = True, ""
    return table


def _grouped(
    batches: Iterator[tuple[Part, int, Table]],
    per_part: int | None,
    kind: type[FileFormat],
) -> Iterator[tuple[str, Iterator[Table]]]:
    """Parts of the output, each with its batches."""
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
    """See that parts which are there already belong to this run."""
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
                "--force to replace them."
            )
        return
    with writing(path, force=True) as file:
        file.write(json.dumps({"digest": digest, "run": json.loads(text)}).encode())


def predict_large(
    model: TableModel,
    large: LargeTable,
    output: str,
    *,
    force: bool = False,
    report: Report | None = None,
) -> Written:
    r"""Label the rows of a large table with a model, and write them.

    Parameters
    ----------
    model : TableModel
        The model.
    large : LargeTable
        The table.
    output : str
        A file, "-", or a folder, see :func:`rewrite`.
    force : bool, default=False
        Whether to replace what exists.
    report : callable, default=None
        Told the share of the work that is done, and what is going on.

    Returns
    -------
    written : Written
        How many rows, and of which classes.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from fewlabels.tabular import label_table
    >>> from fewlabels.tabular.large import open_large, predict_large
    >>> data = {"size": [1.0, 1.1, 1.2, 5.0, 5.1, 5.2],
    ...         "kind": ["small", None, None, "large", None, None]}
    >>> model = label_table(data, "kind").model
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path, other = (pathlib.Path(folder, name) for name in ("a.csv", "b.csv"))
    ...     _ = path.write_text("size\n1.3\n4.9\n0.9\n")
    ...     table = open_large(str(path), batch_rows=2)
    ...     written = predict_large(model, table, str(other))
    >>> dict(written.counts)
    {'small': 2, 'large': 1}
    """
    numbers = model.predicts_numbers
    columns = number_columns if numbers else result_columns

    def new_columns(table: Table) -> Values:
        with noting(large.notes):
            found, sure = model.predict(table)
        nothing = np.zeros(table.n_rows, dtype=bool)
        return columns(table, model.target, found, sure, nothing)

    identity = {
        "model": model.about.get("made"),
        "versions": model.about.get("versions"),
    }
    return rewrite(
        large,
        output,
        new_columns,
        force=force,
        numbers=numbers,
        identity=identity,
        report=report,
    )


def _learned(
    learn: Callable[..., Any],
    large: LargeTable,
    target: str | None = None,
    *,
    markers: Sequence[Any] = (),
    sample_rows: int,
    random_state: int,
    encoding: Callable[[Table], dict[str, Any]],
    tell: Report,
    until: tuple[float, float],
) -> tuple[Table, Any]:
    """Draw a sample and learn from it, which are done at these shares of the work."""
    drawn, done = until
    sample = sample_of(
        large,
        target,
        markers=markers,
        sample_rows=sample_rows,
        random_state=random_state,
        report=lambda share: tell(drawn * share, "reading"),
    )
    found = learn(
        sample.rows,
        random_state=random_state,
        progress=lambda share, what: tell(drawn + (done - drawn) * share, what),
        summary=sample.summary,
        **encoding(sample.rows),
    )
    return sample.rows, found


def label_large(
    large: LargeTable,
    target: str,
    output: str,
    *,
    sample_rows: int = SAMPLE_ROWS,
    markers: Sequence[Any] = (),
    random_state: int = 0,
    force: bool = False,
    progress: Report | None = None,
    encoding: Callable[[Table], dict[str, Any]] = lambda table: {},
    **options: Any,
) -> tuple[Any, Written]:
    """Label every row of a large table, and write it: learn first, then write.

    Parameters
    ----------
    large : LargeTable
        The table.
    target : str
        The column of labels.
    output : str
        A file, "-", or a folder, see :func:`rewrite`.
    sample_rows : int, default=50,000
        Rows without a label to learn from, besides all that have one.
    markers : sequence, default=()
        Values that stand for "no label".
    random_state : int, default=0
        Seed.
    force : bool, default=False
        Whether to replace what exists.
    progress : callable, default=None
        Told the share of the work that is done, and what is going on.
    encoding : callable, default=None
        From the sample to parameters of :class:`TableTransformer`.
    **options : dict
        Further parameters of :func:`~fewlabels.tabular.label_table`.

    Returns
    -------
    labelled : LabeledTable or EstimatedTable
        What was learned, with the rows that it was learned from.
    written : Written
        How many rows, and of which classes.
    """
    tell = progress or silent
    sample, labeled = _learned(
        partial(label_table, target=target, markers=markers, **options),
        large,
        target,
        markers=markers,
        sample_rows=sample_rows,
        random_state=random_state,
        encoding=encoding,
        tell=tell,
        until=(0.25, 0.55),
    )
    model = labeled.model
    model.classifier = model.classifier.compact()
    read = given_labels(sample, labeled.target.texts, target, markers)
    numbers = model.predicts_numbers
    known: dict[Any, Any] = dict(model.values)
    if numbers:
        known = dict(zip(labeled.target.texts, labeled.target.numbers, strict=True))

    def new_columns(table: Table) -> Values:
        texts = read(table[target])
        given = np.array([text is not None for text in texts], dtype=bool)
        with noting(labeled.notes):
            found, sure = model.predict(table.without([target]))
        for row in np.flatnonzero(given):
            found[row] = known.get(texts[row], table[target][row])
        sure = np.where(given, 0.0 if numbers else 1.0, sure)
        columns = number_columns if numbers else result_columns
        return columns(table, target, found, sure, given)

    written = rewrite(
        large,
        output,
        new_columns,
        force=force,
        numbers=numbers,
        identity={
            "target": target,
            "seed": random_state,
            "sample": sample_rows,
            "markers": list(markers),
            "options": repr(sorted(options.items())),
        },
        report=lambda share, what: tell(0.55 + 0.45 * share, what),
    )
    labeled.notes[:] = dict.fromkeys(labeled.notes)
    return labeled, written


def cluster_large(
    large: LargeTable,
    n_clusters: int | None,
    output: str,
    *,
    sample_rows: int = SAMPLE_ROWS,
    device: str | None = None,
    random_state: int = 0,
    force: bool = False,
    progress: Report | None = None,
    encoding: Callable[[Table], dict[str, Any]] = lambda table: {},
) -> tuple[ClusteredTable, Written]:
    """Group the rows of a large table, and write it: a sample first, then all.

    Parameters
    ----------
    large : LargeTable
        The table.
    n_clusters : int or None
        Number of groups, see :func:`~fewlabels.tabular.cluster_table`.
    output : str
        A file, "-", or a folder, see :func:`rewrite`.
    sample_rows : int, default=50,000
        Rows on which the groups are found; 1 is the largest group there.
    device : str, default=None
        Where to compute.
    random_state : int, default=0
        Seed.
    force : bool, default=False
        Whether to replace what exists.
    progress : callable, default=None
        Told the share of the work that is done, and what is going on.
    encoding : callable, default=None
        From the sample to parameters of :class:`TableTransformer`.

    Returns
    -------
    clustered : ClusteredTable
        The groups of the sample.
    written : Written
        How many rows are in each group.
    """
    tell = progress or silent
    _, grouped = _learned(
        partial(cluster_table, n_clusters=n_clusters, device=device),
        large,
        sample_rows=sample_rows,
        random_state=random_state,
        encoding=encoding,
        tell=tell,
        until=(0.3, 0.5),
    )

    def new_columns(table: Table) -> Values:
        (name,) = table.free_names(["cluster"])
        return {name: grouped.assign(table).tolist()}

    written = rewrite(
        large,
        output,
        new_columns,
        force=force,
        identity={"clusters": n_clusters, "seed": random_state, "sample": sample_rows},
        report=lambda share, what: tell(0.5 + 0.5 * share, what),
    )
    return grouped, written
