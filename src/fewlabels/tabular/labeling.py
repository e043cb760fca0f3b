"""Label every row of a table, from the rows that have a label."""

# SPDX-License-Identifier: BSD-3-Clause

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewlabels._rows import equal_rows
from fewlabels._words import plural
from fewlabels.preprocessing import ColumnDescription, Table, TableSummary
from fewlabels.preprocessing.cells import object_array
from fewlabels.tabular._models import TableModel
from fewlabels.tabular._targets import TargetColumn, require_classes
from fewlabels.tabular.setup import (
    EncodedTable,
    Progress,
    TableSetup,
    class_shares,
    noting,
    silent,
)


@dataclass
class LearnedTable:
    """What all results of :func:`label_table` have."""

    table: Table
    target: TargetColumn
    model: TableModel
    features: Any

    @property
    def given(self) -> NDArray[np.bool_]:
        """Which rows came with a label."""
        return self.target.given

    @property
    def columns(self) -> list[ColumnDescription]:
        """What the columns hold."""
        return self.model.columns


@dataclass
class LabeledTable(LearnedTable):
    """A table with a label for every row.

    It is made by :func:`label_table`.

    Attributes
    ----------
    table : Table
        The table.
    target : TargetColumn
        The labels that were given.
    model : TableModel
        What was learned.
    features : {ndarray, csr_array} of shape (n_rows, n_features)
        The rows as the classifier sees them.
    probabilities : ndarray of shape (n_rows, n_classes)
        Of all classes, in the order of ``model.classifier.classes_``.
    labels : ndarray of object of shape (n_rows,)
        A label for every row: the given one, or else the predicted one.
    confidence : ndarray of shape (n_rows,)
        The probability of the label; 1 where it was given.
    notes : list of str
        What the owner of the table should know.

    Examples
    --------
    >>> from fewlabels.tabular import label_table
    >>> data = {"size": [1.0, 1.1, 5.0, 5.1], "kind": ["small", None, "large", None]}
    >>> label_table(data, "kind", bank="fast").new_columns()["kind_predicted"]
    ['small', 'small', 'large', 'large']
    """

    probabilities: NDArray[Any]
    labels: NDArray[Any]
    confidence: NDArray[Any]
    notes: list[str] = field(default_factory=list)

    def new_columns(self) -> dict[str, list[Any]]:
        """Make the columns that are added to the table.

        Returns
        -------
        columns : dict of str to list
            The label, the confidence, and whether the label was given or predicted.
        """
        return result_columns(
            self.table, self.target.name, self.labels, self.confidence, self.given
        )

    def least_sure(self, n_rows: int = 10) -> NDArray[np.intp]:
        """Find the rows whose label is least certain.

        Parameters
        ----------
        n_rows : int, default=10
            How many.

        Returns
        -------
        rows : ndarray of int
            Rows without a given label, the least certain first.
        """
        open_rows = np.flatnonzero(~self.given)
        order = np.argsort(self.confidence[open_rows], kind="stable")
        return open_rows[order[:n_rows]]


def result_columns(
    table: Table,
    target: str,
    labels: NDArray[Any],
    confidence: NDArray[Any],
    given: NDArray[np.bool_],
) -> dict[str, list[Any]]:
    """Name and round the columns of predicted labels: label, confidence, source."""
    return _named(
        table,
        target,
        predicted=labels.tolist(),
        confidence=confidence.round(4).tolist(),
        source=np.where(given, "given", "predicted").tolist(),
    )


def number_columns(
    table: Table,
    target: str,
    numbers: NDArray[Any],
    margins: NDArray[Any],
    given: NDArray[np.bool_],
) -> dict[str, list[Any]]:
    """Name the columns of predicted numbers: the number, its interval, its source."""
    known = not np.isnan(margins).any()
    low, high = numbers - margins, numbers + margins
    return _named(
        table,
        target,
        predicted=[float(f"{v:.6g}") for v in numbers],
        low=[float(f"{v:.6g}") for v in low] if known else None,
        high=[float(f"{v:.6g}") for v in high] if known else None,
        source=np.where(given, "given", "predicted").tolist(),
    )


def predicted_columns(
    model: TableModel, table: Table, given: Mapping[int, Any] | None = None
) -> dict[str, list[Any]]:
    """Make the columns that a model adds to further rows; given labels stay.

    Parameters
    ----------
    model : TableModel
        The model.
    table : Table
        The rows.
    given : dict of int to object, default=None
        Classes or numbers of rows that have one.

    Returns
    -------
    columns : dict of str to list
        As those of :class:`LabeledTable` or :class:`EstimatedTable`.
    """
    if table.n_rows:
        labels, sure = model.predict(table)
    else:
        labels, sure = np.empty(0, dtype=object), np.empty(0)
    has = np.zeros(table.n_rows, dtype=bool)
    for row, value in (given or {}).items():
        labels[row], sure[row] = value, 0.0 if model.predicts_numbers else 1.0
        has[row] = True
    columns = number_columns if model.predicts_numbers else result_columns
    return columns(table, model.target, labels, sure, has)


def _named(
    table: Table, target: str, **columns: list[Any] | None
) -> dict[str, list[Any]]:
    """Name new columns after the target, with a number where names are taken."""
    made = {end: values for end, values in columns.items() if values is not None}
    names = table.free_names([f"{target}_{ending}" for ending in made])
    return dict(zip(names, made.values(), strict=True))


@dataclass
class EstimatedTable(LearnedTable):
    """A table with a number for every row.

    It is made by :func:`label_table` where the labels are a quantity.

    Attributes
    ----------
    table : Table
        The table.
    target : TargetColumn
        The numbers that were given.
    model : TableModel
        What was learned.
    features : {ndarray, csr_array} of shape (n_rows, n_features)
        The rows as the regressor sees them.
    numbers : ndarray of shape (n_rows,)
        A number for every row: as given, else as predicted.
    margins : ndarray of shape (n_rows,)
        The truth lies within this of the number for nine in ten rows; 0 where it was
        given, NaN where there are too few labels to tell.
    notes : list of str
        What the owner of the table should know.

    Examples
    --------
    >>> from fewlabels.tabular import label_table
    >>> sizes = [0.5 * k for k in range(40)]
    >>> prices = [10.5 * k if k % 2 else None for k in range(40)]
    >>> estimated = label_table({"size": sizes, "price": prices}, "price", bank="fast")
    >>> list(estimated.new_columns())
    ['price_predicted', 'price_low', 'price_high', 'price_source']
    """

    numbers: NDArray[np.float64]
    margins: NDArray[np.float64]
    notes: list[str] = field(default_factory=list)

    def new_columns(self) -> dict[str, list[Any]]:
        """Make the columns that are added to the table.

        Returns
        -------
        columns : dict of str to list
            The number, the ends of its interval, and whether it was given or predicted.
        """
        return number_columns(
            self.table, self.target.name, self.numbers, self.margins, self.given
        )


def label_table(
    X: Any,
    target: str,
    *,
    markers: Sequence[Any] = (),
    merge_labels: bool = False,
    task: str = "auto",
    class_prior: str | Mapping[Any, float] = "auto",
    bank: str = "auto",
    as_frame: bool | str = "auto",
    device: str | None = None,
    random_state: Any = 0,
    progress: Progress | None = None,
    summary: TableSummary | None = None,
    **encoding: Any,
) -> Any:
    """Label every row of a table from the rows that have a label.

    Columns become features by :class:`TableTransformer`, and
    :class:`~fewlabels.automatic.FewLabelsClassifier` learns from all rows.

    Parameters
    ----------
    X : Table, DataFrame of pandas or polars, dict or array-like
        The table.
    target : str
        The column of labels. A row has none where the cell is empty, NA or the like.
    markers : sequence, default=()
        Values that stand for "no label". Without them, signs such as "?" and "TBD" are
        taken as such, with a note.
    merge_labels : bool, default=False
        Whether labels that differ only in case and spaces are one class.
    task : {"auto", "classes", "numbers"}, default="auto"
        Whether to predict classes or numbers. "auto" predicts numbers where the labels
        have too many different values to be classes.
    class_prior : {"auto", "labels", "uniform"} or dict, default="auto"
        Shares of the classes among the rows without a label, or their numbers, see
        :class:`~fewlabels.automatic.FewLabelsClassifier`.
    bank : {"auto", "fast", "default", "thorough"}, default="auto"
        How much to try, see :class:`~fewlabels.automatic.FewLabelsClassifier`;
        "auto" is "fast" beyond 20,000 rows and "default" otherwise.
    as_frame : bool or "auto", default="auto"
        Whether to return a frame like `X` with columns added; "auto" does so where `X`
        is a frame of pandas or polars or a table of pyarrow. What should be known
        about the labels is then warned about.
    device : {"cpu", "cuda"} or None, default=None
        Where to learn, see :class:`~fewlabels.automatic.FewLabelsClassifier`; None is
        the CPU.
    random_state : int or RandomState instance, default=0
        Seed.
    progress : callable, default=None
        Called with the share of the work that is done, and what is going on.
    summary : TableSummary, default=None
        A summary of all rows of a larger table, without the target, where `X` is a
        sample of it.
    **encoding : dict
        Parameters of :class:`TableTransformer`: columns whose kind is known (`ignore`,
        `text`, `categorical`, `numeric`, `date`), `scale`, `text_weight`, `embed`.

    Returns
    -------
    labelled : frame, LabeledTable or EstimatedTable
        Labels with their confidence, and the model; an :class:`EstimatedTable` where
        numbers are predicted.

    Raises
    ------
    TableError
        If no row has a label, if there is a single class, if no column can be used, or
        if shares are not those of the classes.

    Examples
    --------
    >>> from fewlabels.tabular import label_table
    >>> data = {"size": [1.0, 1.1, 1.2, 5.0, 5.1, 5.2],
    ...         "kind": ["small", None, None, "large", None, None]}
    >>> label_table(data, "kind").labels.tolist()
    ['small', 'small', 'small', 'large', 'large', 'large']
    """
    table = Table.from_frame(X)
    setup = TableSetup(
        target,
        markers,
        merge_labels,
        task,
        class_prior,
        bank,
        device,
        random_state,
        encoding,
    )
    labels = setup.read_labels(table)
    result = learn_table(setup, table, labels, progress or silent, summary)
    if as_frame is True or (as_frame == "auto" and is_frame(X)):
        for note in result.notes:
            warnings.warn(note, UserWarning, stacklevel=2)
        return with_new_columns(X, result.new_columns())
    return result


def learn_table(
    setup: TableSetup,
    table: Table,
    labels: TargetColumn,
    tell: Progress = silent,
    summary: TableSummary | None = None,
) -> LabeledTable | EstimatedTable:
    """Encode a table, learn from its labels, and predict the others."""
    require_classes(labels)
    class_shares(labels, setup.class_prior)
    tell(0.0, "reading columns")
    encoded = setup.encode(table, labels, summary)
    tell(0.15, "learning")
    learner = setup.learner(
        encoded, labels, lambda share: tell(0.15 + 0.75 * share, "learning")
    )
    with noting(encoded.notes):
        learner.fit(encoded.features, labels.to_learn)
        learner.progress = False
        result = predict_table(encoded, labels, learner)
    tell(1.0, "done")
    return result


def predict_table(
    encoded: EncodedTable, labels: TargetColumn, learner: Any
) -> LabeledTable | EstimatedTable:
    """Predict for every row with a fitted learner; given labels stay.

    Parameters
    ----------
    encoded : EncodedTable
        The table.
    labels : TargetColumn
        The labels that `learner` has learned.
    learner : FewLabelsClassifier or FewLabelsRegressor
        What :meth:`TableSetup.learner` made, fitted.

    Returns
    -------
    labelled : LabeledTable or EstimatedTable
        The predictions, with the model.
    """
    table, features, given = encoded.table, encoded.features, labels.given
    about = {"n_rows": table.n_rows, "n_labels": int(given.sum())}
    model = TableModel(encoded.transformer, learner, labels.name, labels.values, about)
    notes = [*encoded.notes, *_label_notes(labels, features)]
    if labels.numbers is not None:
        numbers, radius = model.estimate(features)
        numbers = np.where(given, labels.numbers, numbers)
        margins = np.where(given, 0.0, radius)
        return EstimatedTable(table, labels, model, features, numbers, margins, notes)
    p = model.probabilities(features)
    decided, confidence = model.decide(p)
    decided[given] = object_array([labels.values[text] for text in labels.texts[given]])
    confidence = np.where(given, 1.0, confidence)
    return LabeledTable(table, labels, model, features, p, decided, confidence, notes)


def _label_notes(labels: TargetColumn, features: Any) -> list[str]:
    """Say where labels are fewer than they look, or nothing is left to predict."""
    notes, given = [], labels.given
    if given.all():
        most, count = next(iter(labels.class_counts.items()))
        notes.append(
            "Every row has a label already: nothing was predicted. If a value stands "
            f"for 'no label' ({most!r}, in {plural(count, 'row')}, is the most "
            f"frequent), pass markers=[{most!r}]."
        )
    rows = np.flatnonzero(given)
    n_distinct = int(equal_rows(features[rows]).max()) + 1
    if n_distinct < rows.size:
        notes.append(
            f"Some of the {rows.size:,} labelled rows are copies of each other: they "
            f"count as {n_distinct:,}, and the error is judged on these."
        )
    return notes


def is_frame(X: Any) -> bool:
    """Whether something is a frame of pandas or polars, or a table of pyarrow."""
    return hasattr(X, "columns") and (
        hasattr(X, "iloc") or hasattr(X, "with_columns") or hasattr(X, "append_column")
    )


def with_new_columns(frame: Any, added: Mapping[str, Sequence[Any]]) -> Any:
    """Put columns behind those of a frame of pandas, polars or pyarrow."""
    if hasattr(frame, "append_column"):
        for name, values in added.items():
            frame = frame.append_column(name, [list(values)])
        return frame
    if hasattr(frame, "iloc"):
        import pandas as pd

        new = pd.DataFrame({n: list(v) for n, v in added.items()}, index=frame.index)
        return pd.concat([frame, new], axis=1)
    import polars as pl

    return frame.with_columns(
        [pl.Series(n, list(v), strict=False) for n, v in added.items()]
    )
