"""Hierarchical clustering as a list of nested partitions."""

# SPDX-License-Identifier: BSD-3-Clause

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.sparse.csgraph import connected_components
from scipy.spatial.distance import squareform
from sklearn.utils import check_consistent_length, column_or_1d

from fewlabels._labels import by_first_row
from fewlabels._params import check_choice
from fewlabels._sklearn import check_array

# How the dissimilarities between the members of two clusters become one.
METHODS: dict[str, np.ufunc] = {
    "single": np.minimum,
    "complete": np.maximum,
    "average": np.add,
}
TIES = ("pairs", "together")


class HierarchicalLevels(NamedTuple):
    """Nested partitions, from the weakest to the strongest.

    Attributes
    ----------
    heights : ndarray of shape (n_levels,)
        Dissimilarity of each level, strictly increasing from 0.
    labels : ndarray of shape (n_levels, n_samples)
        Clusters at each level, numbered by their first row. At height 0 only rows
        without any dissimilarity are together; at the last level all are.
    """

    heights: NDArray[np.float64]
    labels: NDArray[np.intp]


def _checked(D: ArrayLike, method: str, rtol: float) -> NDArray[np.float64]:
    """Validate dissimilarities and the name of the method."""
    check_choice("method", method, METHODS)
    distances: NDArray[Any] = check_array(D, dtype=np.float64, input_name="D")
    n = distances.shape[0]
    if distances.shape[1] != n or not np.allclose(
        distances, distances.T, rtol=0, atol=rtol * np.abs(distances).max()
    ):
        raise ValueError(
            f"D must be square and symmetric, got shape {distances.shape}: pass "
            "dissimilarities between all pairs of rows."
        )
    if (distances < 0).any() or np.diagonal(distances).any():
        raise ValueError(
            "D must be non-negative with a diagonal of zeros: turn similarities s into "
            "dissimilarities first, such as max(s) - s."
        )
    return distances


def _reduced(
    D: NDArray[np.float64],
    labels: NDArray[np.intp],
    method: str,
    sizes: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Join clusters of given sizes; returns their dissimilarities and new sizes."""
    order = np.argsort(labels, kind="stable")
    starts = np.searchsorted(labels[order], np.arange(labels.max() + 1))
    joined = D[np.ix_(order, order)]
    if method == "average":
        joined *= np.outer(sizes[order], sizes[order])
    for axis in (0, 1):
        joined = METHODS[method].reduceat(joined, starts, axis=axis)
    grown = np.add.reduceat(sizes[order], starts)
    if method == "average":
        joined /= np.outer(grown, grown)
    np.fill_diagonal(joined, 0.0)
    return joined, grown


def cluster_dissimilarities(
    D: ArrayLike, labels: ArrayLike, *, method: str = "single"
) -> NDArray[np.float64]:
    """Reduce dissimilarities between rows to those between clusters.

    Parameters
    ----------
    D : array-like of shape (n_samples, n_samples)
        Dissimilarities: symmetric, non-negative, with a diagonal of zeros.
    labels : array-like of shape (n_samples,)
        The clusters, such as a row of `labels` of :func:`hierarchical_levels`.
    method : {"single", "complete", "average"}, default="single"
        Whether two clusters are as far apart as their closest members, as those
        furthest apart, or the mean over all pairs.

    Returns
    -------
    reduced : ndarray of shape (n_clusters, n_clusters)
        Dissimilarities of the clusters in the order of their sorted labels, with a
        diagonal of zeros.

    See Also
    --------
    hierarchical_levels : Clusters to reduce to.

    Examples
    --------
    >>> from fewlabels.cluster import cluster_dissimilarities, hierarchical_levels
    >>> D = [[0, 1, 4], [1, 0, 3], [4, 3, 0]]
    >>> labels = hierarchical_levels(D).labels[1]
    >>> cluster_dissimilarities(D, labels)
    array([[0., 3.],
           [3., 0.]])
    """
    distances = _checked(D, method, rtol=1e-10)
    values = column_or_1d(labels)
    check_consistent_length(distances, values)
    codes = np.unique(values, return_inverse=True)[1]
    return _reduced(distances, codes, method, np.ones(codes.size))[0]


def hierarchical_levels(
    D: ArrayLike, *, method: str = "single", ties: str = "pairs", rtol: float = 1e-10
) -> HierarchicalLevels:
    """Merge the closest clusters, level by level.

    Parameters
    ----------
    D : array-like of shape (n_samples, n_samples)
        Dissimilarities: symmetric, non-negative, with a diagonal of zeros.
    method : {"single", "complete", "average"}, default="single"
        Dissimilarity of a merged cluster to another: the smaller, the larger or the
        average of the two ("minimum method", "maximum method", group average).
    ties : {"pairs", "together"}, default="pairs"
        What to do if several pairs of clusters are equally close. "pairs" merges one of
        them, recomputes the dissimilarities and continues, as SciPy and scikit-learn
        do; "together" merges all clusters linked by such pairs at once. See the notes.
    rtol : float, default=1e-10
        Heights closer than this share of the largest are one level.

    Returns
    -------
    levels : HierarchicalLevels
        Heights and partitions.

    See Also
    --------
    cluster_dissimilarities : The reduced matrix of a level.
    scipy.cluster.hierarchy.linkage : The merges, one by one.
    sklearn.cluster.AgglomerativeClustering : A single level, as an estimator.

    Notes
    -----
    Single linkage does not depend on how ties are broken, and dissimilarities that
    obey the ultrametric inequality have no ties that matter. Otherwise, with complete
    and average linkage and ties, "pairs" depends on the order of the rows: of rows 0,
    1, 2 on a line, one apart, the first level joins the first two or the last two.
    "together" [2]_ does not: it joins all three. The price is that two members of a
    cluster of complete linkage may then be further apart than its height. It takes
    O(n_samples^3) operations in the worst case.

    References
    ----------
    .. [1] S. C. Johnson, "Hierarchical clustering schemes", Psychometrika 32 (1967).
       :doi:`10.1007/BF02289588`
    .. [2] A. Fernández, S. Gómez, "Solving non-uniqueness in agglomerative hierarchical
       clustering using multidendrograms", Journal of Classification 25 (2008).
       :doi:`10.1007/s00357-008-9004-x`

    Examples
    --------
    >>> from fewlabels.cluster import hierarchical_levels
    >>> D = [[0, 1, 4], [1, 0, 3], [4, 3, 0]]
    >>> levels = hierarchical_levels(D)
    >>> levels.heights
    array([0., 1., 3.])
    >>> levels.labels
    array([[0, 1, 2],
           [0, 0, 1],
           [0, 0, 0]])
    """
    check_choice("ties", ties, TIES)
    distances = _checked(D, method, rtol)
    n = distances.shape[0]
    singles = np.arange(n)[None]
    if n == 1:
        return HierarchicalLevels(np.zeros(1), singles)
    if ties == "together" and method != "single":
        return _levels_together(distances, method, rtol)
    merges = linkage(squareform(distances, checks=False), method)
    slack = rtol * merges[-1, 2]
    heights = merges[:, 2]
    # The last of each run of equal heights stands for the level.
    last = np.append(np.diff(heights) > slack, True)
    tops = heights[last]
    labels = [by_first_row(fcluster(merges, h, criterion="distance")) for h in tops]
    if tops[0] > slack:
        return HierarchicalLevels(
            np.append(0.0, tops), np.vstack([singles, *labels]).astype(np.intp)
        )
    return HierarchicalLevels(np.append(0.0, tops[1:]), np.array(labels, dtype=np.intp))


def _levels_together(
    distances: NDArray[np.float64], method: str, rtol: float
) -> HierarchicalLevels:
    """Merge all clusters that are linked by ties at once."""
    slack = rtol * distances.max()
    reduced, sizes = distances, np.ones(len(distances))
    heights, labels = [0.0], [np.arange(len(distances))]
    while len(reduced) > 1:
        height = np.min(reduced[np.triu_indices(len(reduced), 1)])
        # Clusters at no distance from each other belong to the first level.
        first = height <= slack
        joined = connected_components(reduced <= height + slack, directed=False)[1]
        reduced, sizes = _reduced(reduced, by_first_row(joined), method, sizes)
        merged = by_first_row(joined)[labels[-1]]
        if first:
            labels[-1] = merged
        else:
            heights.append(float(height))
            labels.append(merged)
    return HierarchicalLevels(np.array(heights), np.array(labels, dtype=np.intp))
