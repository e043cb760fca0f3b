"""The jobs: label a table, group its rows, and say which rows to label next."""

# SPDX-License-Identifier: BSD-3-Clause

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.cluster import KMeans
from sklearn.metrics import pairwise_distances, silhouette_score
from sklearn.utils import check_random_state

from fewlabels._rows import equal_rows
from fewlabels._words import listed, nearest_name, plural
from fewlabels.automatic import FewLabelsClassifier, FewLabelsRegressor
from fewlabels.preprocessing import (
    ColumnDescription,
    Table,
    TableError,
    TableSample,
    TableSummary,
    TableTransformer,
)
from fewlabels.preprocessing.cells import object_array
from fewlabels.tabular._models import TableModel
from fewlabels.tabular._targets import (
    TargetColumn,
    read_target,
    require_classes,
    revealing_columns,
)

# Beyond so many rows the smaller bank is used, unless another is asked for, for
# the time and memory it takes (docs/command_line.md).
FAST_ROWS = 20_000
# Rows that are clustered; all others go to the cluster that is nearest on the graph.
CLUSTER_ROWS = 4000
MAX_CLUSTERS = 10
# Rows among which the number of clusters is looked for.
SILHOUETTE_ROWS = 800
# Uncertain rows that are looked at when the next ones to label are chosen.
_POOL = 1000

Report = Callable[[float, str], None]


def _silent(share: float, what: str) -> None:
    """Tell nobody."""


@dataclass
class LabeledTable:
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

    table: Table
    target: TargetColumn
    model: TableModel
    features: Any
    probabilities: NDArray[Any]
    labels: NDArray[Any]
    confidence: NDArray[Any]
    notes: list[str] = field(default_factory=list)

    @property
    def given(self) -> NDArray[np.bool_]:
        """Which rows came with a label."""
        return self.target.given

    @property
    def columns(self) -> list[ColumnDescription]:
        """What the columns hold."""
        return self.model.columns

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
    """Name and round the columns that are added to a table.

    Parameters
    ----------
    table : Table
        The table.
    target : str
        The label column.
    labels : ndarray of object of shape (n_rows,)
        Labels.
    confidence : ndarray of shape (n_rows,)
        Their probabilities.
    given : ndarray of bool of shape (n_rows,)
        Which were given.

    Returns
    -------
    columns : dict of str to list
        Three columns.
    """
    source = np.where(given, "given", "predicted")
    return _named(
        table,
        target,
        predicted=labels.tolist(),
        confidence=confidence.round(4).tolist(),
        source=source.tolist(),
    )


def number_columns(
    table: Table,
    target: str,
    numbers: NDArray[Any],
    margins: NDArray[Any],
    given: NDArray[np.bool_],
) -> dict[str, list[Any]]:
    """Name the columns of predicted numbers: the number, its interval, its source."""
    source = np.where(given, "given", "predicted")
    known = not np.isnan(margins).any()
    low, high = numbers - margins, numbers + margins
    return _named(
        table,
        target,
        predicted=[float(f"{v:.6g}") for v in numbers],
        low=[float(f"{v:.6g}") for v in low] if known else None,
        high=[float(f"{v:.6g}") for v in high] if known else None,
        source=source.tolist(),
    )


def _named(
    table: Table, target: str, **columns: list[Any] | None
) -> dict[str, list[Any]]:
    """Name new columns after the target, with a number where names are taken."""
    made = {end: values for end, values in columns.items() if values is not None}
    names = table.free_names([f"{target}_{ending}" for ending in made])
    return dict(zip(names, made.values(), strict=True))


@dataclass
class EstimatedTable:
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

    table: Table
    target: TargetColumn
    model: TableModel
    features: Any
    numbers: NDArray[np.float64]
    margins: NDArray[np.float64]
    notes: list[str] = field(default_factory=list)

    @property
    def given(self) -> NDArray[np.bool_]:
        """Which rows came with a number."""
        return self.target.given

    @property
    def columns(self) -> list[ColumnDescription]:
        """What the columns hold."""
        return self.model.columns

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


@contextmanager
def noting(notes: list[str]) -> Iterator[None]:
    """Collect warnings as notes.

    Parameters
    ----------
    notes : list of str
        Gets every warning once.

    Yields
    ------
    None
        Within the block nothing is shown.
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.simplefilter("ignore", DeprecationWarning)
        warnings.simplefilter("ignore", PendingDeprecationWarning)
        warnings.simplefilter("ignore", FutureWarning)
        yield
    for message in dict.fromkeys(str(w.message) for w in caught):
        notes.append(message)


def _encode(
    table: Table,
    encoding: Mapping[str, Any],
    random_state: Any,
    summary: TableSummary | None = None,
) -> tuple[TableTransformer, Any]:
    transformer = TableTransformer(**encoding, random_state=random_state)
    features = transformer.fit_transform(TableSample(table, summary))
    if not issparse(features) and table.n_rows > FAST_ROWS:
        features = features.astype(np.float32)
    return transformer, features


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
    progress: Report | None = None,
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
        Whether labels that differ only in case and blanks are one class.
    task : {"auto", "classes", "numbers"}, default="auto"
        Whether to predict classes or numbers. "auto" predicts numbers where the labels
        are so many different ones that they are a quantity.
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
        Told the share of the work that is done, and what is going on.
    summary : TableSummary, default=None
        What all rows of a larger table say of its columns, but for the target, where
        `X` is a sample of it.
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
    tell = progress or _silent
    labels = read_target(table, target, markers, merge=merge_labels, task=task)
    require_classes(labels)
    own = _own_parameters(labels, class_prior)
    notes = [*table.notes, *labels.notes]
    encoding = _without_secrets(table, labels, encoding, notes)
    tell(0.0, "reading columns")
    with noting(notes):
        rest = table.without([target])
        transformer, features = _encode(rest, encoding, random_state, summary)
        _name_left_out(transformer.columns_, notes)
        tell(0.15, "learning")
        if bank == "auto":
            bank = "fast" if table.n_rows > FAST_ROWS else "default"
        kind = FewLabelsClassifier if labels.numbers is None else FewLabelsRegressor
        classifier = kind(
            bank=bank,
            scale="unit" if issparse(features) else "none",
            feature_groups=transformer.feature_groups_,
            progress=lambda share: tell(0.15 + 0.75 * share, "learning"),
            device=device,
            random_state=random_state,
            **own,
        ).fit(features, labels.texts if labels.numbers is None else labels.numbers)
        classifier.progress = False
        model = TableModel(
            transformer,
            classifier,
            target,
            labels.values,
            {"n_rows": table.n_rows, "n_labels": int(labels.given.sum())},
        )
        result = _answers(table, labels, model, features, notes)
    tell(1.0, "done")
    _note_labels(labels, features, notes)
    if as_frame is True or (as_frame == "auto" and is_frame(X)):
        for note in notes:
            warnings.warn(note, UserWarning, stacklevel=2)
        return with_new_columns(X, result.new_columns())
    return result


def _own_parameters(
    labels: TargetColumn, prior: str | Mapping[Any, float]
) -> dict[str, Any]:
    """Parameters that only the classifier has: shares by the text of the classes."""
    if labels.numbers is not None:
        if prior == "auto":
            return {}
        raise TableError(
            f"{labels.name!r} holds numbers, and only classes have shares: leave them "
            "out, or pass task='classes' (--task classes)."
        )
    if not isinstance(prior, Mapping):
        return {"class_prior": prior}
    texts = {value: text for text, value in labels.values.items()}
    shares = {texts.get(key, key): share for key, share in prior.items()}
    known = list(labels.values)
    for name in shares:
        if name not in labels.values:
            near = nearest_name(str(name), known)
            hint = f" Did you mean {near!r}?" if near else ""
            raise TableError(
                f"No label in {labels.name!r} is {str(name)!r}, which has a class "
                f"share.{hint} The classes are {listed(known)}."
            )
    absent = [name for name in known if name not in shares]
    if absent:
        raise TableError(
            f"Class shares are missing for {listed(absent)}: give one for each of the "
            f"{plural(len(known), 'class', 'classes')} in {labels.name!r}."
        )
    return {"class_prior": shares}


def _answers(
    table: Table,
    labels: TargetColumn,
    model: TableModel,
    features: Any,
    notes: list[str],
) -> "LabeledTable | EstimatedTable":
    """Predict for every row, and keep what was given."""
    given = labels.given
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


def _note_labels(labels: TargetColumn, features: Any, notes: list[str]) -> None:
    """Say where labels are fewer than they look, or nothing is left to predict."""
    given = labels.given
    if given.all():
        most, count = next(iter(labels.class_counts.items()))
        notes.append(
            "Every row has a label already: nothing was predicted. If a value stands "
            f"for 'no label' ({most!r}, in {plural(count, 'row')}, is the most "
            f"frequent), pass --marker {most!r}."
        )
    rows = np.flatnonzero(given)
    n_distinct = int(equal_rows(features[rows]).max()) + 1
    if n_distinct < rows.size:
        notes.append(
            f"Some of the {rows.size:,} labelled rows are copies of each other: they "
            f"count as {n_distinct:,}, and the error is judged on these."
        )


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


def _without_secrets(
    table: Table, labels: TargetColumn, encoding: dict[str, Any], notes: list[str]
) -> dict[str, Any]:
    """Leave columns out that give labels away, unless somebody names their kind."""
    kinds = ("ignore", "text", "categorical", "numeric", "date")
    named = {name for kind in kinds for name in encoding.get(kind, ())}
    if labels.name in named:
        raise TableError(
            f"{labels.name!r} is the target: it cannot be a column to learn from."
        )
    left_out = list(encoding.get("ignore", ()))
    for name, why in revealing_columns(table, labels).items():
        if name not in named:
            left_out.append(name)
            notes.append(f"Column {name!r} is left out: {why}.")
    return {**encoding, "ignore": left_out}


def _name_left_out(columns: list[ColumnDescription], notes: list[str]) -> None:
    for kind in ("identifier", "constant", "empty"):
        names = [column.name for column in columns if column.kind == kind]
        if names:
            what = plural(len(names), f"{kind} column").removeprefix("1 ")
            notes.append(f"Left out, {what}: {listed(names)}.")


@dataclass
class ClusteredTable:
    """A table whose rows are grouped.

    It is made by :func:`cluster_table`.

    Attributes
    ----------
    table : Table
        The table.
    transformer : TableTransformer
        From columns to features.
    features : {ndarray, csr_array} of shape (n_rows, n_features)
        The rows as they were compared.
    clusters : ndarray of int of shape (n_rows,)
        The group of every row, 1 being the largest.
    model : NormalizedSpectralClustering or None
        What found the groups; None where every row is one.
    rank : ndarray of int
        The numbers that its groups have here.
    notes : list of str
        What the owner of the table should know.
    """

    table: Table
    transformer: TableTransformer
    features: Any
    clusters: NDArray[np.intp]
    model: Any
    rank: NDArray[np.intp]
    notes: list[str] = field(default_factory=list)

    @property
    def columns(self) -> list[ColumnDescription]:
        """What the columns of the table hold."""
        return self.transformer.columns_

    def assign(self, X: Any) -> NDArray[np.intp]:
        """Find the groups of further rows.

        Parameters
        ----------
        X : Table, DataFrame of pandas or polars, dict or array-like
            A table with the same columns.

        Returns
        -------
        clusters : ndarray of int of shape (n_rows,)
            The group of every row.
        """
        if self.model is None:
            raise TableError("Every row is a group of its own: ask for fewer groups.")
        return self.rank[self.model.predict(self.transformer.transform(X))]

    @property
    def sizes(self) -> dict[int, int]:
        """How many rows are in each group."""
        numbers, sizes = np.unique(self.clusters, return_counts=True)
        return dict(zip(numbers.tolist(), sizes.tolist(), strict=True))

    def new_columns(self) -> dict[str, list[Any]]:
        """Make the column that is added to the table.

        Returns
        -------
        columns : dict of str to list
            The group of every row.
        """
        (name,) = self.table.free_names(["cluster"])
        return {name: self.clusters.tolist()}


def cluster_table(
    X: Any,
    n_clusters: int | None = None,
    *,
    device: str | None = None,
    random_state: Any = 0,
    progress: Report | None = None,
    summary: TableSummary | None = None,
    **encoding: Any,
) -> ClusteredTable:
    """Group the rows of a table that has no labels.

    Normalised spectral clustering on the graph of ten nearest neighbours; of more than
    4,000 different rows a sample is clustered, and the others follow their neighbours.

    Parameters
    ----------
    X : Table, DataFrame of pandas or polars, dict or array-like
        The table.
    n_clusters : int, default=None
        Number of groups; None for the one of 2 to 10 with the largest mean silhouette.
    device : {"cpu", "cuda"} or None, default=None
        Where to search for neighbours, see
        :class:`~fewlabels.cluster.NormalizedSpectralClustering`; None is the CPU.
    random_state : int or RandomState instance, default=0
        Seed.
    progress : callable, default=None
        Told the share of the work that is done, and what is going on.
    summary : TableSummary, default=None
        What all rows of a larger table say, where `X` is a sample of it.
    **encoding : dict
        Parameters of :class:`TableTransformer`, as for :func:`label_table`.

    Returns
    -------
    clustered : ClusteredTable
        The groups.

    Examples
    --------
    >>> from fewlabels.tabular import cluster_table
    >>> data = {"size": [1.0, 1.1, 1.2, 5.0, 5.1, 5.2, 5.3]}
    >>> cluster_table(data, 2).clusters
    array([2, 2, 2, 1, 1, 1, 1])
    """
    table = Table.from_frame(X)
    tell = progress or _silent
    notes = list(table.notes)
    rng = check_random_state(random_state)
    tell(0.0, "reading columns")
    with noting(notes):
        transformer, features = _encode(table, encoding, random_state, summary)
        _name_left_out(transformer.columns_, notes)
        tell(0.3, "grouping rows")
        where = None if issparse(features) else device
        labels, model = _spectral_clusters(features, n_clusters, where, rng, notes)
    sizes = np.bincount(labels)
    rank = np.empty(sizes.size, dtype=np.intp)
    rank[np.argsort(-sizes, kind="stable")] = np.arange(1, sizes.size + 1)
    tell(1.0, "done")
    return ClusteredTable(
        table, transformer, features, rank[labels], model, rank, notes
    )


def _spectral_clusters(
    features: Any,
    n_clusters: int | None,
    device: str | None,
    rng: Any,
    notes: list[str],
) -> tuple[NDArray[Any], Any]:
    """Cluster the different rows, a sample of them if there are many.

    There is no model where every row is a group of its own.
    """
    from fewlabels.cluster import NormalizedSpectralClustering

    first, copy_of = _distinct_rows(features)
    n = first.size
    if n < 2 or (n_clusters is not None and n < n_clusters):
        raise TableError(
            f"There are only {n} different rows"
            + (f", fewer than {n_clusters} clusters." if n_clusters else ": no groups.")
        )
    sample = first
    if n > CLUSTER_ROWS:
        sample = first[np.sort(rng.choice(n, CLUSTER_ROWS, replace=False))]
        notes.append(f"The groups were found on {CLUSTER_ROWS:,} of {n:,} rows.")
    # With most other rows as neighbours, a graph would tell nothing.
    n_neighbors = min(10, max(2, sample.size // 4), sample.size - 1)
    if n_clusters is None:
        n_clusters = _number_of_clusters(features[sample], n_neighbors, rng)
        notes.append(
            f"{n_clusters} groups, of 2 to {MAX_CLUSTERS} the number that sets them "
            "apart best (silhouette); -k asks for another."
        )
    if n_clusters == sample.size:
        return copy_of, None
    model = NormalizedSpectralClustering(
        n_clusters,
        n_neighbors=n_neighbors,
        random_state=rng.randint(2**31),
        device=device,
    ).fit(features[sample])
    labels = model.labels_ if n <= CLUSTER_ROWS else model.predict(features[first])
    return labels[copy_of], model


def _number_of_clusters(rows: Any, n_neighbors: int, rng: Any) -> int:
    """Choose the number of clusters with the largest mean silhouette."""
    from fewlabels.cluster import NormalizedSpectralClustering

    n = rows.shape[0]
    if n > SILHOUETTE_ROWS:
        rows = rows[np.sort(rng.choice(n, SILHOUETTE_ROWS, replace=False))]
        n = SILHOUETTE_ROWS
    distances = pairwise_distances(rows)
    scores = {2: -np.inf}
    for k in range(2, min(MAX_CLUSTERS, n - 1) + 1):
        model = NormalizedSpectralClustering(
            k, n_neighbors=n_neighbors, random_state=rng.randint(2**31)
        )
        with warnings.catch_warnings():  # of numbers that are too small
            warnings.simplefilter("ignore", UserWarning)
            labels = model.fit_predict(rows)
        if 1 < np.unique(labels).size < n:
            scores[k] = silhouette_score(distances, labels, metric="precomputed")
    return max(scores, key=lambda k: scores[k])


def _distinct_rows(features: Any) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """First of every set of equal rows, and for every row the number of its set."""
    copy_of = equal_rows(features)
    _, first = np.unique(copy_of, return_index=True)
    return first, copy_of


@dataclass
class Suggestion:
    """Rows that are worth a label.

    It is made by :func:`suggest_rows`.

    Attributes
    ----------
    rows : ndarray of int
        The rows, the most useful first.
    guesses : list of object
        What their label may be; None where nothing is known.
    confidence : ndarray of float
        How probable that is; NaN where nothing is known.
    reason : str
        How they were chosen.
    """

    rows: NDArray[np.intp]
    guesses: list[Any]
    confidence: NDArray[Any]
    reason: str


def suggest_rows(
    X: Any,
    target: str,
    n_rows: int = 10,
    *,
    random_state: Any = 0,
    **options: Any,
) -> Suggestion:
    """Say which rows to label next.

    With labels of two classes or more, rows are chosen that the classifier would learn
    most from, see :class:`fewlabels.active.FewLabelsSampling`. Without, rows are chosen
    that stand for many others.

    Parameters
    ----------
    X : LabeledTable, Table, DataFrame of pandas or polars, dict or array-like
        The table, or what :func:`label_table` made of it.
    target : str
        The column of labels.
    n_rows : int, default=10
        How many.
    random_state : int or RandomState instance, default=0
        Seed.
    **options : dict
        Further parameters of :func:`label_table`.

    Returns
    -------
    suggestion : Suggestion
        The rows, the most useful first; different ones, and fewer than asked for where
        there are no more.

    Examples
    --------
    >>> from fewlabels.tabular import suggest_rows
    >>> data = {"size": [1.0, 1.1, 1.2, 3.0, 5.0, 5.1, 5.2],
    ...         "kind": ["small", None, None, None, "large", None, None]}
    >>> suggest_rows(data, "kind", 1).rows
    array([3])
    """
    if isinstance(X, LabeledTable):
        return _suggest_uncertain(X, n_rows, random_state)
    table = Table.from_frame(X)
    labels = read_target(
        table,
        target,
        options.get("markers", ()),
        merge=options.get("merge_labels", False),
        task=options.get("task", "auto"),
    )
    if len(labels.values) >= 2 and labels.numbers is None:
        labeled = label_table(table, target, random_state=random_state, **options)
        return _suggest_uncertain(labeled, n_rows, random_state)
    tell = options.pop("progress", None) or _silent
    for name in ("markers", "merge_labels", "task", "class_prior", "bank", "device"):
        options.pop(name, None)
    tell(0.0, "reading columns")
    encoding = _without_secrets(table, labels, options, [])
    with noting([]):
        _, features = _encode(table.without([target]), encoding, random_state)
        tell(0.5, "comparing rows")
        open_rows = np.flatnonzero(~labels.given)
        rows = open_rows[_typical(features[open_rows], n_rows, random_state)]
    tell(1.0, "done")
    return Suggestion(
        rows,
        [None] * rows.size,
        np.full(rows.size, np.nan),
        "rows that stand for many others"
        if labels.numbers is not None
        else "fewer than two classes have a label: rows that stand for many others",
    )


def _suggest_uncertain(
    labeled: LabeledTable, n_rows: int, random_state: Any
) -> Suggestion:
    rows = _useful(labeled, n_rows, random_state)
    return Suggestion(
        rows,
        labeled.labels[rows].tolist(),
        labeled.confidence[rows],
        "rows whose labels tell most about the uncertain ones",
    )


def _useful(labeled: LabeledTable, n_rows: int, random_state: Any) -> NDArray[np.intp]:
    """Different rows whose labels the classifier expects to learn most from."""
    # Labelling and reading tables do without these, and start sooner.
    from fewlabels.active import FewLabelsSampling, margin

    open_rows = np.flatnonzero(~labeled.given)
    if open_rows.size == 0:
        return open_rows
    # Of very many rows, the least sure ones are compared.
    doubt = margin(labeled.probabilities[open_rows])
    open_rows = open_rows[np.argsort(-doubt, kind="stable")]
    open_rows = open_rows[: max(_POOL, 2 * n_rows)]
    open_rows = open_rows[_distinct_rows(labeled.features[open_rows])[0]]
    strategy = FewLabelsSampling(
        max_candidates=open_rows.size, random_state=random_state
    )
    return strategy.query(
        labeled.features,
        labeled.target.texts,
        n_queries=min(n_rows, open_rows.size),
        model=labeled.model.classifier,
        candidates=open_rows,
    ).indices


def _typical(features: Any, n_rows: int, random_state: Any) -> NDArray[np.intp]:
    """Rows nearest to the centres of k-means, those of large clusters first."""
    first, copy_of = _distinct_rows(features)
    n_rows = min(n_rows, first.size)
    if n_rows == 0:
        return first
    rng = check_random_state(random_state)
    weights = np.bincount(copy_of).astype(float)
    model = KMeans(n_rows, n_init=3, random_state=rng.randint(2**31))
    distances = model.fit_transform(features[first], sample_weight=weights)
    sizes = np.bincount(model.labels_, weights=weights, minlength=n_rows)
    nearest = distances.argmin(axis=0)[np.argsort(-sizes, kind="stable")]
    return first[np.array(list(dict.fromkeys(nearest.tolist())), dtype=np.intp)]
