"""Group the rows of a table that has no labels."""

# SPDX-License-Identifier: BSD-3-Clause

import warnings
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.metrics import pairwise_distances, silhouette_score
from sklearn.utils import check_random_state

from fewlabels.preprocessing import (
    ColumnDescription,
    Table,
    TableError,
    TableSummary,
    TableTransformer,
)
from fewlabels.tabular.setup import Progress, distinct_rows, encode, noting, silent

# Rows that are clustered; all others go to the cluster that is nearest on the graph.
CLUSTER_ROWS = 4000
MAX_CLUSTERS = 10
# Rows among which the number of clusters is looked for.
SILHOUETTE_ROWS = 800


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
    progress: Progress | None = None,
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
        Called with the share of the work that is done, and what is going on.
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
    tell = progress or silent
    rng = check_random_state(random_state)
    tell(0.0, "reading columns")
    encoded = encode(table, encoding, random_state, summary)
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
    # With most other rows as neighbours, a graph would tell nothing.
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
