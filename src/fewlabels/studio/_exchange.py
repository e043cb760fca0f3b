"""Import and export labels: spreadsheets, journals, Label Studio."""

# SPDX-License-Identifier: BSD-3-Clause

import io
import json
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fewlabels._words import nearest_name
from fewlabels.studio._rows import RowKeys, cell_text
from fewlabels.studio._store import LabelStore
from fewlabels.tabular import (
    FileError,
    Table,
    TableError,
    fill_cells,
    read_table,
    read_target,
)
from fewlabels.tabular.setup import check_markers

# Columns that Label Studio adds to its CSV and JSON_MIN, and that `fewlabels ask` adds.
_ADDED = frozenset(
    {
        "annotation_id",
        "annotator",
        "created_at",
        "updated_at",
        "lead_time",
        "id",
        "rank",
        "row",
        "guess",
        "confidence",
        "source",
        "time",
    }
)
_LABEL_COLUMNS = ("label", "choice", "choices", "class", "category", "sentiment")


@dataclass
class Imported:
    """Labels whose rows were found.

    Attributes
    ----------
    labels : dict of int to str
        Class of every row, counted from 0.
    problems : list of str
        Labels whose rows were not found, and why.
    """

    labels: dict[int, str] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class _Record:
    """A label, with what identifies its row."""

    where: str
    label: str
    number: int | None
    cells: Mapping[str, str]


def import_labels(
    data: bytes,
    name: str,
    table: Table,
    target: str,
    *,
    label_column: str | None = None,
    on: str | None = None,
) -> Imported:
    """Find the rows that labels from elsewhere belong to.

    Parameters
    ----------
    data : bytes
        The file: a table such as ``fewlabels ask -o`` writes, or JSON, JSON_MIN or CSV
        of Label Studio.
    name : str
        Its name.
    table : Table
        The table that was labelled.
    target : str
        The label column.
    label_column : str, default=None
        Where the labels are; `target`, or what it is likely to be, when None.
    on : str, default=None
        A column whose values name the rows. When None, rows are found by their number
        and content, or by content alone.

    Returns
    -------
    imported : Imported
        Labels by row.

    Raises
    ------
    TableError
        If the file holds no labels.
    """
    head = data.lstrip(b"\xef\xbb\xbf \r\n\t")[:1]
    if head == b"[":
        records = list(_label_studio(data, name, label_column or target))
    else:
        records = list(_from_table(data, name, target, label_column))
    if not records:
        raise TableError(f"{name} has no row with a label.")
    return _matched(records, table, target, on)


def _label_studio(data: bytes, name: str, target: str) -> Iterator[_Record]:
    """Read JSON or JSON_MIN of Label Studio."""
    try:
        tasks = json.loads(data)
    except ValueError as error:
        raise TableError(f"{name} is not JSON: {error}.") from None
    for k, task in enumerate(tasks, start=1):
        if not isinstance(task, dict):
            raise TableError(f"{name}: entry {k} is not a Label Studio task.")
        if "annotations" in task or "completions" in task:
            cells = task.get("data") or {}
            given = task.get("annotations") or task.get("completions") or []
            votes = Counter(
                choice for a in given if (choice := _choice(a, target)) is not None
            )
            label = votes.most_common(1)[0][0] if votes else None
        else:
            cells = task
            label = _first(task.get(_label_column(list(task), target)))
        if label:
            texts = {str(c): cell_text(v) for c, v in cells.items()}
            yield _Record(f"entry {k}", label, _number(texts), texts)


def _choice(annotation: dict[str, Any], target: str) -> str | None:
    """Find the class in an annotation; a result of the target's name comes first."""
    if annotation.get("was_cancelled"):
        return None
    results = [
        r for r in annotation.get("result", []) if "choices" in r.get("value", {})
    ]
    results.sort(key=lambda r: r.get("from_name") != target)
    return _first(results[0]["value"]["choices"]) if results else None


def _first(value: Any) -> str | None:
    if isinstance(value, dict):
        value = value.get("choices")
    if isinstance(value, list):
        value = value[0] if value else None
    return None if value is None else cell_text(value).strip() or None


def _label_column(names: Sequence[str], target: str) -> str | None:
    """Find the column of labels by its name."""
    folded = {name.casefold(): name for name in names}
    for wanted in (target, *_LABEL_COLUMNS):
        if wanted.casefold() in folded:
            return folded[wanted.casefold()]
    return None


def _from_table(
    data: bytes, name: str, target: str, label_column: str | None
) -> Iterator[_Record]:
    file = io.BytesIO(data)
    file.name = name
    labels = read_table(file)
    column = label_column or _label_column(labels.names, target)
    if column is None or column not in labels.names:
        raise TableError(
            f"{name} has no label column {column or target!r}: pass "
            f"labels_in=COLUMN. Its columns are {', '.join(map(repr, labels.names))}."
        )
    names = [n for n in labels.names if n != column]
    for k in range(labels.n_rows):
        label = cell_text(labels[column][k]).strip()
        if label.startswith(("{", "[")):  # choices of Label Studio, as JSON
            try:
                label = _first(json.loads(label)) or ""
            except ValueError:
                pass
        if label:
            cells = {n: cell_text(labels[n][k]) for n in names}
            yield _Record(f"row {k + 1}", label, _number(cells), cells)


def _number(cells: Mapping[str, str]) -> int | None:
    text = cells.get("row", "").strip()
    return int(text) if text.isdigit() and int(text) > 0 else None


def _same(text: str) -> str:
    """Normalise cells that only look different: 1, 1.0 and ' 1'."""
    text = text.strip()
    try:
        return repr(float(text))
    except ValueError:
        return text


def _require_key(on: str, where: str, names: Sequence[str]) -> None:
    if on not in names:
        near = nearest_name(on, names)
        hint = f" Did you mean {near!r}?" if near else ""
        raise TableError(
            f"{where} has no column {on!r} to find its rows by (given as on).{hint}"
        )


def _matched(
    records: Sequence[_Record], table: Table, target: str, on: str | None
) -> Imported:
    found = Imported()
    shared = [
        n for n in table.names if n != target and all(n in r.cells for r in records)
    ]
    if on is not None:
        _require_key(on, "The table", table.names)
        for record in records:
            _require_key(on, "The table with the labels", list(record.cells))
        shared = [on]
    own = [n for n in shared if n not in _ADDED] or shared
    texts = [[_same(cell_text(v)) for v in table[n]] for n in own]
    keys = list(zip(*texts, strict=True)) if own else []
    places: dict[tuple[str, ...], list[int]] = {}
    for row, key in enumerate(keys):
        places.setdefault(key, []).append(row)
    numbers = {int(number): row for row, number in enumerate(table.row_numbers)}
    if on is not None:
        _check_keys(records, on, places)
    for record in records:
        key = tuple(_same(record.cells[n]) for n in own)
        rows = places.get(key, []) if own else []
        numbered = numbers.get(record.number or 0)
        if on is None and numbered is not None:
            if not own or numbered in rows:
                rows = [numbered]
        if not rows:
            found.problems.append(
                f"{record.where} ({record.label!r}): the table has no such row."
            )
        for place in rows:
            before = found.labels.setdefault(place, record.label)
            if before != record.label:
                found.problems.append(
                    f"{record.where}: row {table.row_numbers[place]} is "
                    f"{record.label!r} here but {before!r} above; the first is used."
                )
    return found


def _check_keys(
    records: Sequence[_Record], on: str, places: Mapping[tuple[str, ...], list[int]]
) -> None:
    """Refuse keys that several rows share: a label could go to the wrong row."""
    used = dict.fromkeys(record.cells[on] for record in records)
    shared = [key for key in used if len(places.get((_same(key),), [])) > 1]
    if shared:
        rows = ", ".join(str(row + 1) for row in places[(_same(shared[0]),)][:5])
        raise TableError(
            f"{on!r} does not identify a row (given as on): {shared[0]!r} is in rows "
            f"{rows}"
            + (f", and {len(shared) - 1:,} more keys repeat" if shared[1:] else "")
            + ". Name a column with a different value in every row, or leave it "
            "out: rows are then found by their number and content."
        )


@dataclass
class MergedLabels:
    """A table with labels from elsewhere.

    It is made by :func:`merge_labels`.

    Attributes
    ----------
    table : Table
        The table with the labels in its label column.
    labels : dict of int to str
        The labels that are new, by row, counted from 0.
    same : int
        How many labels the table already had.
    problems : list of str
        Labels whose row was not found or has another label, and why.
    """

    table: Table
    labels: dict[int, str]
    same: int
    problems: list[str]


def merge_labels(
    X: Any,
    labels: str | os.PathLike[str],
    target: str,
    *,
    labels_in: str | None = None,
    on: str | None = None,
    markers: Sequence[Any] = (),
    overwrite: bool = False,
) -> MergedLabels:
    r"""Merge labels that were given elsewhere into a table.

    Parameters
    ----------
    X : Table, DataFrame of pandas or polars, dict or array-like
        The table that was labelled.
    labels : path-like
        The labels: a table as ``fewlabels ask -o`` writes it, JSON, JSON_MIN or CSV of
        Label Studio, or a journal of the studio.
    target : str
        The label column; a new one where the table has none of that name.
    labels_in : str, default=None
        The column of labels in the other file; `target`, or what it is likely to be,
        when None.
    on : str, default=None
        A column whose values name the rows. When None, rows are found by their number
        and content, or by content alone.
    markers : sequence, default=()
        Values that stand for "no label".
    overwrite : bool, default=False
        Whether a label from elsewhere replaces another one that the table has.

    Returns
    -------
    merged : MergedLabels
        The table, and the labels that could not be placed.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from fewlabels.studio import merge_labels
    >>> data = {"size": [1, 5, 6], "kind": ["small", None, None]}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "labels.csv")
    ...     _ = path.write_text("size,kind\n6,large\n7,large\n")
    ...     merged = merge_labels(data, path, "kind")
    >>> merged.table["kind"].tolist(), len(merged.problems)
    (['small', None, 'large'], 1)
    """
    table = Table.from_frame(X)
    path = Path(labels)
    try:
        data = path.read_bytes()
    except OSError as error:
        raise FileError(f"Cannot read {path}: {error.strerror}.") from None
    known: list[str | None] = [None] * table.n_rows
    values: dict[str, Any] = {}
    if target in table.names:
        check_markers(table, target, markers)
        column = read_target(table, target, markers)
        known, values = column.texts.tolist(), column.values
    if data.startswith(b'{"studio"'):
        found = _from_journal(path, table, target, known)
    else:
        found = import_labels(
            data, path.name, table, target, label_column=labels_in, on=on
        )
    new, same = {}, 0
    for row, label in sorted(found.labels.items()):
        if known[row] == label:
            same += 1
        elif known[row] is None or overwrite:
            new[row] = label
        else:
            found.problems.append(
                f"row {table.row_numbers[row]}: {label!r} elsewhere, but "
                f"{known[row]!r} in the table, which is kept."
            )
    cells = {row: values.get(label, label) for row, label in new.items()}
    if target in table.names:
        table = fill_cells(table, target, cells)
    return MergedLabels(table, new, same, found.problems)


def _from_journal(
    path: Path, table: Table, target: str, known: list[str | None]
) -> Imported:
    keys = RowKeys(table.names, table.columns)
    store = LabelStore(path, keys, target, [], known, write=False)
    found = Imported()
    for row in store.touched():
        action = store.current(row)
        if action is not None and action.do == "label" and action.label is not None:
            found.labels[row] = action.label
    found.problems += [
        f"row {c.place} ({c.label!r}): its cells have changed."
        for c in store.conflicts
        if c.kind == "row"
    ]
    return found
