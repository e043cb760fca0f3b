"""Group the rows of a table that has no labels."""

# SPDX-License-Identifier: BSD-3-Clause

import re
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.metrics import pairwise_distances, silhouette_score
from sklearn.utils import check_random_state

from fewlabels._words import plural
from fewlabels.exceptions import DisconnectedGraphWarning
from fewlabels.preprocessing import (
    ColumnDescription,
    Table,
    TableError,
    TableSummary,
    TableTransformer,
    named_kinds,
)
from fewlabels.preprocessing.cells import is_placeholder, missing_mask, to_texts
from fewlabels.tabular._label_checks import check_target_kind
from fewlabels.tabular._targets import ENDINGS
from fewlabels.tabular.setup import Progress, distinct_rows, encode, noting, silent

# Rows that are clustered; all others join the nearest cluster on the graph.
CLUSTER_ROWS = 4000
MAX_CLUSTERS = 10
# Rows used to choose the number of clusters.
SILHOUETTE_ROWS = 800
# A column with values in few rows, and few distinct ones, holds labels rather than
# features: at least this share is missing, with at most this many distinct values. Of
# the 1,400 columns of features of 35 tables, 7 look like that.
LABEL_HOLES = 0.5
LABEL_VALUES = 20


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
        The clustering; None where every row is a group of its own.
    rank : ndarray of int
        The numbers of its groups here.
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
        """Descriptions of the columns of the table."""
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
            raise TableError("Every row is its own group: ask for fewer groups.")
        return self.rank[self.model.predict(self.transformer.transform(X))]

    @property
    def sizes(self) -> dict[int, int]:
        """Number of rows in each group."""
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
    target: str | None = None,
    device: str | None = None,
    random_state: Any = 0,
    progress: Progress | None = None,
    summary: TableSummary | None = None,
    **encoding: Any,
) -> ClusteredTable:
    """Group the rows of a table that has no labels.

    Normalised spectral clustering on the graph of ten nearest neighbours. With more
    than 4,000 distinct rows, a sample is clustered, and the others follow their
    neighbours.

    Parameters
    ----------
    X : Table, DataFrame of pandas or polars, dict or array-like
        The table.
    n_clusters : int, default=None
        Number of groups; None for the number from 2 to 10 with the largest mean
        silhouette.
    target : str, default=None
        A column of labels, which is left out. So are columns that look like labels,
        with few distinct values in few rows, unless their kind is given.
    device : {"cpu", "cuda"} or None, default=None
        Where to search for neighbours, see
        :class:`~fewlabels.cluster.NormalizedSpectralClustering`; None is the CPU.
    random_state : int or RandomState instance, default=0
        Seed.
    progress : callable, default=None
        Called with the share of the work that is done, and what is going on.
    summary : TableSummary, default=None
        A summary of all rows of a larger table of which `X` is a sample.
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
    tell = progress or silent
    rng = check_random_state(random_state)
    tell(0.0, "reading columns")
    left_out = label_columns(table, target, encoding)
    encoding = {**encoding, "ignore": [*encoding.get("ignore", ()), *left_out]}
    if encoding.get("embed") == "auto":  # no labels tell whether meaning matters
        encoding["embed"] = False
    said = [why for why in left_out.values() if why]
    encoded = encode(table, encoding, random_state, summary, said)
    features, notes = encoded.features, encoded.notes
    tell(0.3, "grouping rows")
    with noting(notes):
        where = None if issparse(features) else device
        labels, model = _spectral_clusters(features, n_clusters, where, rng, notes)
    sizes = np.bincount(labels)
    rank = np.empty(sizes.size, dtype=np.intp)
    rank[np.argsort(-sizes, kind="stable")] = np.arange(1, sizes.size + 1)
    tell(1.0, "done")
    return ClusteredTable(
        table, encoded.transformer, features, rank[labels], model, rank, notes
    )


def label_columns(
    table: Table, target: str | None, encoding: Mapping[str, Any]
) -> dict[str, str]:
    """Find columns that hold labels, or were made from them.

    Parameters
    ----------
    table : Table
        The table.
    target : str or None
        A column that holds labels.
    encoding : dict
        Parameters of :class:`TableTransformer`; a column whose kind is given is used.

    Returns
    -------
    columns : dict of str to str
        Their names, each with a note, which is empty for `target`.
    """
    named = named_kinds(table, **encoding)
    found = {}
    if target is not None:
        table.index(target, "target")
        check_target_kind(target, named.get(target))
        found[target] = ""
    for name, values in zip(table.names, table.columns, strict=True):
        if name in found or name in named:
            continue
        why = _label_like(name, values, table.names)
        if why:
            found[name] = (
                f"Column {name!r} is left out: {why}. To use it, pass "
                f"categorical=[{name!r}]."
            )
    return found


def _label_like(name: str, values: NDArray[Any], names: list[str]) -> str:
    """Tell why a column seems to hold labels; nothing if it does not."""
    earlier = re.fullmatch(rf"(.+)_({'|'.join(ENDINGS)})(_?\d+)*", name, re.DOTALL)
    if earlier and earlier[1] in names:
        return f"an earlier run wrote it from {earlier[1]!r}"
    cells = values[~missing_mask(values)]
    if values.size - cells.size < LABEL_HOLES * values.size:
        marks = [is_placeholder(v) for v in cells.tolist()]
        cells = cells[~np.array(marks, dtype=bool)]
    n_missing = values.size - cells.size
    if n_missing < LABEL_HOLES * values.size or cells.size < 2:
        return ""
    n_values = len(set(to_texts(cells).tolist()))
    if not 2 <= n_values <= min(LABEL_VALUES, max(2, cells.size // 2)):
        return ""
    return (
        f"it looks like labels, with {n_values} different values in "
        f"{plural(cells.size, 'row')} of {values.size:,}"
    )


def _spectral_clusters(
    features: Any,
    n_clusters: int | None,
    device: str | None,
    rng: Any,
    notes: list[str],
) -> tuple[NDArray[Any], Any]:
    """Cluster the distinct rows, or a sample of them if there are many.

    There is no model if every row is its own group.
    """
    from fewlabels.cluster import NormalizedSpectralClustering

    first, copy_of = distinct_rows(features)
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
    # With most other rows as neighbours, a graph would not separate groups.
    n_neighbors = min(10, max(2, sample.size // 4), sample.size - 1)
    if n_clusters is None:
        n_clusters = _number_of_clusters(features[sample], n_neighbors, rng)
        notes.append(
            f"{n_clusters} groups: the number from 2 to {MAX_CLUSTERS} that separates "
            "them best (silhouette); for another, pass n_clusters=NUMBER."
        )
    if n_clusters == sample.size:
        return copy_of, None
    model = NormalizedSpectralClustering(
        n_clusters,
        n_neighbors=n_neighbors,
        random_state=rng.randint(2**31),
        device=device,
    )
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        model.fit(features[sample])
    for warning in heard:
        if not issubclass(warning.category, DisconnectedGraphWarning):
            warnings.warn_explicit(
                warning.message, warning.category, warning.filename, warning.lineno
            )
    if any(issubclass(w.category, DisconnectedGraphWarning) for w in heard):
        notes.append(
            f"The rows fall into more than {n_clusters} separate parts: the largest "
            "parts are the groups, and the rows of the others are assigned by a "
            "guess. For more groups, pass n_clusters=NUMBER."
        )
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
