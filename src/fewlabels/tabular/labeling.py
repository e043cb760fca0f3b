"""Label every row of a table from the rows that have a label."""

# SPDX-License-Identifier: BSD-3-Clause

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewlabels._rows import equal_rows
from fewlabels._words import plural
from fewlabels.preprocessing import (
    ColumnDescription,
    Table,
    TableError,
    TableSummary,
)
from fewlabels.preprocessing.cells import object_array
from fewlabels.tabular._drift import kept_rows, seen_columns
from fewlabels.tabular._label_checks import check_labels
from fewlabels.tabular._models import TableModel
from fewlabels.tabular._new_columns import (
    PLAIN,
    Shown,
    next_guesses,
    number_columns,
    predicted_columns,
    result_columns,
)
from fewlabels.tabular._targets import TargetColumn, require_classes
from fewlabels.tabular.hints import read_hints
from fewlabels.tabular.setup import (
    EncodedTable,
    Progress,
    TableSetup,
    class_order,
    class_shares,
    noting,
    silent,
)

__all__ = [
    "PLAIN",
    "EstimatedTable",
    "LabeledTable",
    "LearnedTable",
    "Shown",
    "is_frame",
    "label_table",
    "learn_table",
    "predict_table",
    "predicted_columns",
    "with_new_columns",
]


@dataclass
class LearnedTable:
    """Base of all results of :func:`label_table`."""

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
        """Descriptions of the columns."""
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

    def new_columns(self, shown: Shown = PLAIN) -> dict[str, list[Any]]:
        """Make the columns that are added to the table.

        Parameters
        ----------
        shown : Shown, default=PLAIN
            The least confidence of labels to write, and the number of guesses.

        Returns
        -------
        columns : dict of str to list
            The label, the confidence, and whether the label was given or predicted.
        """
        others = next_guesses(self.model, self.probabilities, self.labels, shown.top)
        return result_columns(
            self.table,
            self.target.name,
            self.labels,
            self.confidence,
            self.given,
            others,
            shown,
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
        A number for every row: the given one, or else the predicted one.
    low, high : ndarray of shape (n_rows,)
        Ends of 90 % intervals (or of another share, see `interval` of
        :func:`label_table`); the number itself where it was given, NaN if there are too
        few labels to tell.
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
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    notes: list[str] = field(default_factory=list)

    def new_columns(self, shown: Shown = PLAIN) -> dict[str, list[Any]]:
        """Make the columns that are added to the table.

        Parameters
        ----------
        shown : Shown, default=PLAIN
            Must be the default: numbers have no confidence.

        Returns
        -------
        columns : dict of str to list
            The number, the ends of its interval, and whether it was given or predicted.
        """
        shown.check(numbers=True)
        return number_columns(
            self.table, self.target.name, self.numbers, self.low, self.high, self.given
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
    interval: float = 0.9,
    ordinal: Any = False,
    progress: Progress | None = None,
    summary: TableSummary | None = None,
    hints: Sequence[str] = (),
    weight: str | None = None,
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
        The column of labels. A row has no label if its cell is empty, NA or the like.
    markers : sequence, default=()
        Values that stand for "no label". Without them, signs such as "?" and "TBD" are
        taken as such, with a note.
    merge_labels : bool, default=False
        Whether labels that differ only in case and spaces are one class.
    task : {"auto", "classes", "numbers"}, default="auto"
        Whether to predict classes or numbers. "auto" predicts numbers if the labels are
        numbers with too many distinct values to be classes.
    class_prior : {"auto", "labels", "uniform"} or dict, default="auto"
        Shares of the classes among the rows without a label, or their numbers, see
        :class:`~fewlabels.automatic.FewLabelsClassifier`.
    bank : {"auto", "fast", "default", "thorough"}, default="auto"
        How much to try, see :class:`~fewlabels.automatic.FewLabelsClassifier`;
        "auto" is "fast" beyond 20,000 rows and "default" otherwise.
    as_frame : bool or "auto", default="auto"
        Whether to return a frame like `X` with columns added; "auto" does so where `X`
        is a frame of pandas or polars or a table of pyarrow. Notes about the labels
        then become warnings.
    device : {"cpu", "cuda"} or None, default=None
        Where to learn, see :class:`~fewlabels.automatic.FewLabelsClassifier`; None is
        the CPU.
    random_state : int or RandomState instance, default=0
        Seed.
    interval : float, default=0.9
        Coverage of the intervals of predicted numbers.
    ordinal : bool, str or sequence, default=False
        Whether classes have an order, such as 1 to 5 stars: True is by number, and
        other classes are named, the least first, as in "low,medium,high". See `order`
        of :class:`~fewlabels.automatic.FewLabelsClassifier`.
    progress : callable, default=None
        Called with the share of the work that is done, and what is going on.
    summary : TableSummary, default=None
        A summary of all rows of a larger table, without the target, where `X` is a
        sample of it.
    hints : sequence of str, default=()
        Columns with guesses of other sources, such as a language model, and rules, such
        as ``'contains(text, "refund") -> complaint'``. They are no features; labels
        tell how far to trust each. Without any label, the error is a guess.
    weight : str, default=None
        Column with the weights of the labels, which is no feature either.
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
        if `class_prior` does not match the classes.

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
        interval,
        hints,
        weight,
        ordinal,
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
    opinions = None
    if setup.hints:
        if labels.numbers is not None:
            raise TableError(
                f"{labels.name!r} holds numbers, and hints name classes: leave them "
                "out, or pass task='classes'."
            )
        opinions = read_hints(table, setup.hints, labels)
    else:
        require_classes(labels)
    check_labels(table, labels, setup.task)
    class_shares(labels, setup.class_prior)
    if setup.has_order:
        class_order(labels, setup.ordinal)
    read = 0.15

    def looking(share: float) -> None:
        nonlocal read
        read = 0.8  # pictures take far longer than all that follows
        tell(read * share, "looking at pictures")

    tell(0.0, "reading columns")
    encoded = setup.encode(table, labels, summary, looking)
    tell(read, "learning")
    learner = setup.learner(
        encoded, labels, lambda share: tell(read + (0.9 - read) * share, "learning")
    )
    with noting(encoded.notes):
        more: dict[str, Any] = {} if opinions is None else {"hints": opinions}
        weights = setup.label_weights(table, labels)
        if weights is not None:
            more["sample_weight"] = weights
        learner.fit(encoded.features, labels.to_learn, groups=encoded.groups, **more)
    with noting(encoded.notes):
        learner.progress = False
        result = predict_table(encoded, labels, learner, setup.interval, setup.hints)
    tell(1.0, "done")
    return result


def predict_table(
    encoded: EncodedTable,
    labels: TargetColumn,
    learner: Any,
    interval: float = 0.9,
    hints: Sequence[str] = (),
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
    interval : float, default=0.9
        Coverage of the intervals of predicted numbers.
    hints : sequence of str, default=()
        The sources of hints that the learner was fitted with.

    Returns
    -------
    labelled : LabeledTable or EstimatedTable
        The predictions, with the model.
    """
    table, features, given = encoded.table, encoded.features, labels.given
    about: dict[str, Any] = {"n_rows": table.n_rows, "n_labels": int(given.sum())}
    if labels.numbers is not None:
        about["interval"] = interval
    columns = encoded.transformer.columns_
    model = TableModel(
        encoded.transformer,
        learner,
        labels.name,
        labels.values,
        about,
        seen_columns(table, columns),
        kept_rows(features),
    )
    notes = [*encoded.notes, *_label_notes(labels, features)]
    if labels.numbers is not None:
        found = model.estimate(features)
        numbers, low, high = (np.where(given, labels.numbers, part) for part in found)
        if np.isnan(low).any():
            notes.append(
                f"There are too few labels for intervals of {100 * interval:g} %: the "
                "columns of their ends are left out."
            )
        return EstimatedTable(table, labels, model, features, numbers, low, high, notes)
    if hints:
        about["hints"] = list(hints)
        p = learner.label_distributions_
    else:
        p = model.probabilities(features)
    decided, confidence = model.decide(p)
    decided[given] = object_array([labels.values[text] for text in labels.texts[given]])
    confidence = np.where(given, 1.0, confidence)
    return LabeledTable(table, labels, model, features, p, decided, confidence, notes)


def _label_notes(labels: TargetColumn, features: Any) -> list[str]:
    """Note if labelled rows are copies, or if nothing is left to predict."""
    notes, given = [], labels.given
    if given.all():
        most, count = next(iter(labels.class_counts.items()))
        notes.append(
            "Every row has a label already: nothing was predicted. If a value stands "
            f"for 'no label' ({most!r}, in {plural(count, 'row')}, is the most "
            f"frequent), pass markers=[{most!r}]."
        )
    rows = np.flatnonzero(given)
    n_distinct = int(equal_rows(features[rows]).max(initial=-1)) + 1
    if n_distinct < rows.size:
        notes.append(
            f"Some of the {rows.size:,} labelled rows are copies of each other: only "
            f"{n_distinct:,} are distinct, and the error is estimated on these."
        )
    return notes


def is_frame(X: Any) -> bool:
    """Whether something is a frame of pandas or polars, or a table of pyarrow."""
    return hasattr(X, "columns") and (
        hasattr(X, "iloc") or hasattr(X, "with_columns") or hasattr(X, "append_column")
    )


def with_new_columns(frame: Any, added: Mapping[str, Sequence[Any]]) -> Any:
    """Append columns to a frame of pandas, polars or pyarrow."""
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
