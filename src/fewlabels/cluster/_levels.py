"""Hierarchical clustering as a list of nested partitions."""

# SPDX-License-Identifier: BSD-3-Clause

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform
from sklearn.utils import check_array

from fewlabels._labels import by_first_row

METHODS = ("single", "complete", "average")


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


def hierarchical_levels(
    D: ArrayLike, *, method: str = "single", rtol: float = 1e-10
) -> HierarchicalLevels:
    """Merge the closest clusters, level by level; ties merge together.

    Parameters
    ----------
    D : array-like of shape (n_samples, n_samples)
        Dissimilarities: symmetric, non-negative, with a diagonal of zeros.
    method : {"single", "complete", "average"}, default="single"
        Dissimilarity of a merged cluster to another: the smaller, the larger or the
        average of the two ("minimum method", "maximum method", group average).
    rtol : float, default=1e-10
        Heights closer than this share of the largest are one level.

    Returns
    -------
    levels : HierarchicalLevels
        Heights and partitions.

    See Also
    --------
    scipy.cluster.hierarchy.linkage : The merges, one by one.
    sklearn.cluster.AgglomerativeClustering : A single level, as an estimator.

    References
    ----------
    .. [1] S. C. Johnson, "Hierarchical clustering schemes", Psychometrika 32 (1967).
       :doi:`10.1007/BF02289588`

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
    if method not in METHODS:
        raise ValueError(f"method={method!r} must be one of {METHODS}.")
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
    singles = np.arange(n)[None]
    if n == 1:
        return HierarchicalLevels(np.zeros(1), singles)
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
