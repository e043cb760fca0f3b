"""Label large tables on a Dask cluster, into folders of Parquet parts."""

# SPDX-License-Identifier: BSD-3-Clause

import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewlabels.dask import WrittenParts, lazy_table, sample_frame, write_parts
from fewlabels.preprocessing import Table, TableError
from fewlabels.preprocessing.cells import (
    column_values,
    is_missing,
    is_placeholder,
    object_array,
    text_of,
)
from fewlabels.tabular._models import TableModel
from fewlabels.tabular.labeling import (
    PLAIN,
    Shown,
    label_table,
    predicted_columns,
)

# Rows compared with the training rows before any part is labelled.
FIRST_ROWS = 5000


def labeled_cells(cells: Any, markers: Sequence[str] = ()) -> NDArray[np.bool_]:
    """Tell which cells of a label column hold a label.

    Parameters
    ----------
    cells : Series or ndarray
        The column, or a part of it.
    markers : sequence of str, default=()
        Texts that mean "no label"; without any, signs such as "?" do.

    Returns
    -------
    labeled : ndarray of bool
        Each cell is judged alone, so parts of a column can be used separately.
    """
    values = column_values(cells)
    if values.dtype.kind == "i":
        return values != -1
    marked = {text_of(marker) for marker in markers}

    def holds(value: Any) -> bool:
        if is_missing(value) or text_of(value) in marked:
            return False
        return bool(marked) or not is_placeholder(value)

    return np.fromiter(map(holds, values.tolist()), dtype=bool, count=values.size)


def label_on_cluster(
    client: Any,
    path: str,
    folder: str,
    target: str,
    *,
    markers: Sequence[str] = (),
    delimiter: str | None = None,
    sample_size: int = 100_000,
    random_state: int = 0,
    shown: Shown = PLAIN,
    force: bool = False,
    progress: Callable[[float, str], None] = lambda share, what: None,
    **settings: Any,
) -> tuple[Any, WrittenParts, int]:
    """Learn from a sample of a large table, and label all of it part by part.

    Parameters
    ----------
    client : distributed.Client
        The cluster.
    path : str
        The table, see :func:`fewlabels.dask.lazy_table`.
    folder : str
        Where to write the parts.
    target : str
        The label column.
    markers : sequence of str, default=()
        Texts that mean "no label".
    delimiter : str, default=None
        What separates fields of text.
    sample_size : int, default=100_000
        Rows without a label to learn from.
    random_state : int, default=0
        Seed.
    shown : Shown, default=PLAIN
        What to write.
    force : bool, default=False
        Whether to replace the parts of another job.
    progress : callable
        Called with the share that is done, and the current step.
    **settings : dict
        Further parameters of :func:`label_table`.

    Returns
    -------
    labeled : LabeledTable or EstimatedTable
        The sample, with the model.
    written : WrittenParts
        What was written.
    n_rows : int
        Rows of the table.
    """
    frame = lazy_table(path, delimiter=delimiter)
    if target not in frame.columns:
        names = ", ".join(map(str, frame.columns))
        raise TableError(f"There is no column {target!r} (target): there are {names}.")
    progress(0.0, "drawing rows")
    rows, n_rows = sample_frame(
        frame,
        _Labeled(tuple(markers)),
        target,
        sample_size=sample_size,
        random_state=random_state,
        client=client,
    )
    table = Table.from_frame(rows, source=path)
    cells = table.columns[table.index(target, "target")]
    known = labeled_cells(cells, markers)
    table.columns[table.names.index(target)] = object_array(
        [value if has else None for value, has in zip(cells, known, strict=True)]
    )
    progress(0.2, "learning")
    labeled = label_table(table, target, random_state=random_state, **settings)
    shown.check(numbers=labeled.model.predicts_numbers)
    job: dict[str, Any] = {"table": path, "target": target, "markers": list(markers)}
    job |= {"sample": sample_size, "seed": random_state, **settings}
    job |= {"shown": repr(shown)}
    written = write_parts(
        frame,
        folder,
        _labeled_part,
        replace(labeled.model, seen=[], rows=None),
        tuple(markers),
        shown,
        job=job,
        client=client,
        force=force,
        progress=lambda share: progress(0.5 + 0.5 * share, "labelling"),
    )
    return labeled, written, n_rows


def predict_on_cluster(
    client: Any,
    model: TableModel,
    path: str,
    folder: str,
    *,
    delimiter: str | None = None,
    shown: Shown = PLAIN,
    strict: bool = False,
    force: bool = False,
    progress: Callable[[float, str], None] = lambda share, what: None,
) -> WrittenParts:
    """Label a large table with a model, part by part.

    Parameters
    ----------
    client : distributed.Client
        The cluster.
    model : TableModel
        The model.
    path : str
        The table, see :func:`fewlabels.dask.lazy_table`.
    folder : str
        Where to write the parts.
    delimiter : str, default=None
        What separates fields of text.
    shown : Shown, default=PLAIN
        What to write.
    strict : bool, default=False
        Whether to refuse rows unlike the training rows; the first ones are checked
        before anything is written.
    force : bool, default=False
        Whether to replace the parts of another job.
    progress : callable
        Called with the share that is done, and the current step.

    Returns
    -------
    written : WrittenParts
        What was written.
    """
    shown.check(numbers=model.predicts_numbers)
    frame = lazy_table(path, delimiter=delimiter)
    if len(frame.columns):
        model.aligned(frame._meta)  # raises early if columns are missing
        first = frame.head(FIRST_ROWS, npartitions=-1)
        if len(first):
            model.predictions(Table.from_frame(first), whole=False, strict=strict)
    return write_parts(
        frame,
        folder,
        _predicted_part,
        model,
        shown,
        job={
            "table": path,
            "target": model.target,
            "model": dict(model.about),
            "shown": repr(shown),
        },
        client=client,
        force=force,
        progress=lambda share: progress(share, "labelling"),
    )


class _Labeled:
    """Tell which cells hold a label; a class, so that it can be pickled."""

    def __init__(self, markers: tuple[str, ...]) -> None:
        self.markers = markers

    def __call__(self, cells: Any) -> NDArray[np.bool_]:
        return labeled_cells(cells, self.markers)


def _predicted_part(part: Any, model: TableModel, shown: Shown) -> Any:
    part = part.reset_index(drop=True)
    table = Table.from_frame(part)
    with warnings.catch_warnings():  # the first rows have spoken for all
        warnings.simplefilter("ignore", UserWarning)
        return part.assign(**predicted_columns(model, table, shown=shown, whole=False))


def _labeled_part(
    part: Any, model: TableModel, markers: tuple[str, ...], shown: Shown
) -> Any:
    part = part.reset_index(drop=True)
    table = Table.from_frame(part)
    cells = table[model.target]
    given = {
        int(row): float(cells[row])
        if model.predicts_numbers
        else model.values.get(text_of(cells[row]), cells[row])
        for row in np.flatnonzero(labeled_cells(part[model.target], markers))
    }
    return part.assign(**predicted_columns(model, table, given, shown=shown))
