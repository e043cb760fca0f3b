"""Choices with several objectives: Pareto fronts, and groups on the front."""

# SPDX-License-Identifier: BSD-3-Clause

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.cluster.hierarchy import cophenet, linkage
from scipy.spatial.distance import pdist, squareform

from fewlabels._sklearn import check_array
from fewlabels.cluster._levels import HierarchicalLevels, hierarchical_levels


def nondominated_ranks(objectives: ArrayLike) -> NDArray[np.intp]:
    """Sort choices into fronts by Pareto dominance; all objectives are minimised.

    A choice dominates another if it is no worse in any objective and better in one.
    Rank 0 is the Pareto front, the choices that none dominates; rank 1 is the front of
    the rest, and so on.

    Parameters
    ----------
    objectives : array-like of shape (n_samples, n_objectives)
        A row for every choice, the smaller the better. Negate what is maximised.

    Returns
    -------
    ranks : ndarray of shape (n_samples,)
        The number of the front of every choice; copies share it.

    See Also
    --------
    cluster_front : Groups of the choices on the first front.

    Notes
    -----
    All pairs are compared: O(n_samples^2) time and memory.

    References
    ----------
    .. [1] K. Deb, A. Pratap, S. Agarwal, T. Meyarivan, "A fast and elitist
       multiobjective genetic algorithm: NSGA-II", IEEE Transactions on Evolutionary
       Computation 6 (2002). :doi:`10.1109/4235.996017`

    Examples
    --------
    >>> from fewlabels.cluster import nondominated_ranks
    >>> nondominated_ranks([[1, 4], [2, 2], [4, 1], [3, 3], [4, 4]])
    array([0, 0, 0, 1, 2])
    """
    F: NDArray[Any] = check_array(objectives, dtype=np.float64, input_name="objectives")
    n = len(F)
    dominates, better = np.ones((n, n), dtype=bool), np.zeros((n, n), dtype=bool)
    for column in F.T:
        dominates &= column[:, None] <= column
        better |= column[:, None] < column
    dominates &= better
    above = dominates.sum(axis=0)
    ranks = np.full(n, -1, dtype=np.intp)
    rank = 0
    while (ranks < 0).any():
        front = (above == 0) & (ranks < 0)
        ranks[front] = rank
        above -= dominates[front].sum(axis=0)
        rank += 1
    return ranks


class FrontClusters(NamedTuple):
    """Choices on the Pareto front, grouped by what they trade.

    Attributes
    ----------
    indices : ndarray of shape (n_front,)
        The choices that nothing dominates.
    scaled : ndarray of shape (n_front, n_objectives)
        Their objectives, from 0 to 1 each.
    levels : HierarchicalLevels
        Nested groups of these choices, by average linkage.
    cophenetic_correlation : float
        How well the hierarchy fits the distances: the correlation between these and the
        heights at which two choices meet, the closer to 1 the better. NaN where all
        distances are equal.
    """

    indices: NDArray[np.intp]
    scaled: NDArray[np.float64]
    levels: HierarchicalLevels
    cophenetic_correlation: float


def cluster_front(objectives: ArrayLike) -> FrontClusters:
    """Find the Pareto front and group its choices.

    Dominated choices are dropped, objectives scaled to the same range on the front, and
    the rest is clustered by Euclidean distances with average linkage. Each group is one
    way to trade the objectives: compare one choice of each.

    Parameters
    ----------
    objectives : array-like of shape (n_samples, n_objectives)
        A row for every choice, the smaller the better. Negate what is maximised. The
        choices may come from anywhere: a grid search with several scores, or an
        optimiser such as NSGA-II of pymoo.

    Returns
    -------
    clusters : FrontClusters
        The front, its groups, and how well they fit.

    See Also
    --------
    nondominated_ranks : All fronts.
    hierarchical_levels : The groups.

    References
    ----------
    .. [1] C. M. Moulton, S. A. Roberts, P. H. Calatrà, "Hierarchical clustering of
       multiobjective optimization results to inform land-use decision making", URISA
       Journal 21 (2009).

    Examples
    --------
    >>> from fewlabels.cluster import cluster_front
    >>> choices = [[0, 90], [1, 80], [9, 5], [10, 0], [9, 50]]  # error, seconds
    >>> found = cluster_front(choices)
    >>> found.indices
    array([0, 1, 2, 3])
    >>> found.levels.labels[-2]
    array([0, 0, 1, 1])
    """
    F: NDArray[Any] = check_array(objectives, dtype=np.float64, input_name="objectives")
    indices = np.flatnonzero(nondominated_ranks(F) == 0)
    front = F[indices]
    span = np.ptp(front, axis=0)
    scaled = (front - front.min(axis=0)) / np.where(span > 0, span, 1)
    apart = pdist(scaled)
    levels = hierarchical_levels(squareform(apart), method="average")
    fit = np.nan
    if apart.size > 1 and np.ptp(apart) > 0:
        fit = float(cophenet(linkage(apart, "average"), apart)[0])
    return FrontClusters(indices, scaled, levels, fit)
