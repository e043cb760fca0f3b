"""From rows of eigenvectors to clusters."""

# SPDX-License-Identifier: BSD-3-Clause

import warnings
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import pairwise_distances_argmin, pairwise_distances_argmin_min

from fewlabels._labels import by_first_row
from fewlabels._sklearn import discretize
from fewlabels.exceptions import DisconnectedGraphWarning
from fewlabels.graphs import ConnectivityReport

ASSIGNMENTS = ("kmeans", "discretize")


class Assignment(NamedTuple):
    """Clusters of rows, numbered by their first row, and the means of their rows."""

    labels: NDArray[np.intp]
    centers: NDArray[Any]


# Up to this many rows per cluster, all runs of k-means get all rows.
SAMPLE_PER_CLUSTER = 1000


def _by_kmeans(rows: NDArray[Any], n_clusters: int, n_init: int, rng: Any) -> Any:
    n_sample = SAMPLE_PER_CLUSTER * n_clusters
    init: Any = "k-means++"
    if n_init > 1 and rows.shape[0] > n_sample:
        # The best start is known from a sample; one run with all rows goes on from it.
        init, n_init = _sampled_centers(rows, n_clusters, n_sample, n_init, rng), 1
    # tol=0 continues until no row moves, so that every row is nearest to its own mean.
    model = KMeans(n_clusters, init=init, n_init=n_init, tol=0.0, random_state=rng)
    return model.fit(rows).labels_


def _sampled_centers(
    rows: NDArray[Any], n_clusters: int, n_sample: int, n_init: int, rng: Any
) -> NDArray[Any]:
    """Means of the best run of k-means on a sample that includes far rows.

    Some of its rows are drawn uniformly, some from each cluster of a uniform sample,
    and some by their squared distance from the means of these: a small cluster, known
    or missed, counts as much there as in the sum of squares. Weights make up for
    unequal chances.
    """
    n = rows.shape[0]
    uniform = rows[rng.choice(n, n_sample, replace=False)]
    with warnings.catch_warnings():
        # A sample may hold fewer distinct rows than the whole data.
        warnings.simplefilter("ignore", ConvergenceWarning)
        first = KMeans(n_clusters, n_init=1, random_state=rng).fit(uniform)
        nearest, far = pairwise_distances_argmin_min(rows, first.cluster_centers_)
        chance = 1 / n + 1 / (n_clusters * np.bincount(nearest)[nearest])
        if far.any():
            chance += far**2 / np.sum(far**2)
        chance /= chance.sum()
        drawn = rng.choice(n, n_sample, p=chance)
        model = KMeans(n_clusters, n_init=n_init, tol=0.0, random_state=rng)
        model.fit(rows[drawn], sample_weight=1 / (n * chance[drawn]))
    return model.cluster_centers_


def _by_rotation(rows: NDArray[Any], n_clusters: int, n_init: int, rng: Any) -> Any:
    kept = np.linalg.norm(rows, axis=1) > 0  # a zero row has no direction
    if np.count_nonzero(kept) < n_clusters or rows.shape[1] < n_clusters:
        return _by_kmeans(rows, n_clusters, n_init, rng)
    labels = np.zeros(rows.shape[0], dtype=np.intp)
    labels[kept] = discretize(rows[kept].copy(), random_state=rng)
    return labels


def assign_rows(
    rows: NDArray[Any], n_clusters: int, *, method: str, n_init: int, rng: Any
) -> Assignment:
    """Cluster rows by k-means, or by the rotation that makes them indicators."""
    if n_clusters == 1:
        labels = np.zeros(rows.shape[0], dtype=np.intp)
    elif method == "kmeans":
        labels = by_first_row(_by_kmeans(rows, n_clusters, n_init, rng))
    else:
        labels = by_first_row(_by_rotation(rows, n_clusters, n_init, rng))
    sizes = np.bincount(labels)
    centers = np.stack(
        [np.bincount(labels, column) / sizes for column in rows.T], axis=1
    )
    return Assignment(labels, centers)


def nearest_center(rows: NDArray[Any], centers: NDArray[Any]) -> NDArray[np.intp]:
    """Find the nearest centre of every row."""
    return pairwise_distances_argmin(rows, centers).astype(np.intp)


def warn_unjoined(degrees: NDArray[Any], what: str, remedy: str) -> None:
    """Warn about rows that no edge joins to any other."""
    n_alone = int(np.count_nonzero(degrees <= 0))
    if n_alone:
        warnings.warn(
            f"{n_alone} of {degrees.size} rows have no weight to any {what}: their "
            f"clusters are guesses. {remedy}",
            DisconnectedGraphWarning,
            stacklevel=3,
        )


def warn_components(report: ConnectivityReport, n_clusters: int) -> None:
    """Warn about a graph with more components than clusters."""
    if report.n_components > n_clusters:
        outside = int(report.sizes[n_clusters:].sum())
        warnings.warn(
            f"The graph has {report.n_components} components, more than "
            f"n_clusters={n_clusters}: the largest are taken as clusters, and where "
            f"the other {outside} rows go is a guess. Use more neighbours "
            "(n_neighbors), a wider kernel, or more clusters.",
            DisconnectedGraphWarning,
            stacklevel=3,
        )
