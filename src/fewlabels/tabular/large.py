"""Label, predict and group tables that do not fit into memory, in batches."""

# SPDX-License-Identifier: BSD-3-Clause

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from fewlabels.preprocessing import Table
from fewlabels.tabular._batches import LargeTable, open_large
from fewlabels.tabular._models import TableModel
from fewlabels.tabular._rewriting import Written, check_output, rewrite
from fewlabels.tabular._sampling import (
    SAMPLE_ROWS,
    RowSample,
    given_labels,
    sample_of,
)
from fewlabels.tabular.files import Values
from fewlabels.tabular.grouping import ClusteredTable, cluster_table
from fewlabels.tabular.labeling import (
    PLAIN,
    Shown,
    label_table,
    predicted_columns,
)
from fewlabels.tabular.setup import Progress, noting, silent

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


def predict_large(
    model: TableModel,
    large: LargeTable,
    output: str,
    *,
    shown: Shown = PLAIN,
    strict: bool = False,
    force: bool = False,
    progress: Progress | None = None,
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
    shown : Shown, default=PLAIN
        What to write.
    strict : bool, default=False
        Whether to refuse rows unlike the training rows.
    force : bool, default=False
        Whether to replace what exists.
    progress : callable, default=None
        Called with the share of the work that is done, and what is going on.

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
    doubts: dict[str, str] = {}

    def tell(column: Any) -> None:
        # Warn once per column, though the figures differ by batch.
        doubts.setdefault(column.name, column.words)

    def new_columns(table: Table) -> Values:
        with noting(large.notes):
            return predicted_columns(
                model, table, shown=shown, whole=False, strict=strict, tell=tell
            )

    identity = {
        "shown": repr(shown),
        "model": model.about.get("made"),
        "versions": model.about.get("versions"),
    }
    written = rewrite(
        large,
        output,
        new_columns,
        force=force,
        numbers=model.predicts_numbers,
        identity=identity,
        progress=progress,
    )
    large.notes += doubts.values()
    return written


def _learned(
    learn: Callable[..., Any],
    large: LargeTable,
    target: str | None = None,
    *,
    markers: Sequence[Any] = (),
    sample_rows: int,
    random_state: int,
    encoding: Callable[[Table], dict[str, Any]],
    tell: Progress,
    until: tuple[float, float],
) -> tuple[Table, Any]:
    """Draw a sample and learn from it; `until` are their ends on the progress bar."""
    drawn, done = until
    sample = sample_of(
        large,
        target,
        markers=markers,
        sample_rows=sample_rows,
        random_state=random_state,
        progress=lambda share: tell(drawn * share, "reading"),
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
    shown: Shown = PLAIN,
    force: bool = False,
    progress: Progress | None = None,
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
    shown : Shown, default=PLAIN
        What to write.
    force : bool, default=False
        Whether to replace what exists.
    progress : callable, default=None
        Called with the share of the work that is done, and what is going on.
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
    # The model was trained on these rows, so there is nothing to compare.
    compact = labeled.model.classifier.compact()
    model = replace(labeled.model, classifier=compact, seen=[], rows=None)
    shown.check(numbers=model.predicts_numbers)
    read = given_labels(sample, labeled.target.texts, target, markers)
    numbers = model.predicts_numbers
    known: dict[Any, Any] = dict(model.values)
    if numbers:
        known = dict(zip(labeled.target.texts, labeled.target.numbers, strict=True))

    def new_columns(table: Table) -> Values:
        given = {
            row: known.get(text, table[target][row])
            for row, text in enumerate(read(table[target]))
            if text is not None
        }
        with noting(labeled.notes):
            return predicted_columns(model, table, given, shown=shown)

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
            "shown": repr(shown),
            "options": repr(sorted(options.items())),
        },
        progress=lambda share, what: tell(0.55 + 0.45 * share, what),
    )
    labeled.notes[:] = dict.fromkeys(labeled.notes)
    return labeled, written


def cluster_large(
    large: LargeTable,
    n_clusters: int | None,
    output: str,
    *,
    target: str | None = None,
    sample_rows: int = SAMPLE_ROWS,
    device: str | None = None,
    random_state: int = 0,
    force: bool = False,
    progress: Progress | None = None,
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
    target : str, default=None
        A column of labels, which is left out.
    sample_rows : int, default=50,000
        Rows that are clustered; group 1 is the largest among these.
    device : str, default=None
        Where to compute.
    random_state : int, default=0
        Seed.
    force : bool, default=False
        Whether to replace what exists.
    progress : callable, default=None
        Called with the share of the work that is done, and what is going on.
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
        partial(cluster_table, n_clusters=n_clusters, target=target, device=device),
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
        identity={
            "clusters": n_clusters,
            "target": target,
            "seed": random_state,
            "sample": sample_rows,
        },
        progress=lambda share, what: tell(0.5 + 0.5 * share, what),
    )
    return grouped, written
