"""Connected components of a graph, and vertices that seeds can reach."""

# SPDX-License-Identifier: BSD-3-Clause

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from fewlabels.exceptions import DisconnectedGraphWarning


@dataclass(frozen=True, eq=False)
class ConnectivityReport:
    """Connected components of a graph, the result of :func:`connectivity`.

    Parameters
    ----------
    labels : ndarray of shape (n_vertices,)
        Component of every vertex; component 0 is the largest.
    sizes : ndarray of shape (n_components,)
        Vertices in each component, in decreasing order.

    Examples
    --------
    >>> from fewlabels.graphs import connectivity
    >>> report = connectivity([[0, 1, 0], [1, 0, 0], [0, 0, 0]])
    >>> report.n_components, report.n_isolated, report.is_connected
    (2, 1, False)
    >>> report.sizes
    array([2, 1])
    """

    labels: NDArray[np.intp]
    sizes: NDArray[np.intp]

    @property
    def n_components(self) -> int:
        """Number of components."""
        return self.sizes.size

    @property
    def n_isolated(self) -> int:
        """Number of vertices without any edge."""
        return int(np.count_nonzero(self.sizes == 1))

    @property
    def is_connected(self) -> bool:
        """Whether every vertex can be reached from every other."""
        return self.n_components <= 1

    def components_without(self, seeds: ArrayLike) -> NDArray[np.intp]:
        """Find the components that hold no seed.

        Parameters
        ----------
        seeds : array-like
            Boolean mask of shape (n_vertices,), or indices of vertices.

        Returns
        -------
        components : ndarray of int
            Their numbers in `labels`, in increasing order.
        """
        chosen = np.asarray(seeds)
        n = self.labels.size
        if chosen.size == 0 and n > 0:
            chosen = np.empty(0, dtype=np.intp)
        if chosen.dtype == bool and chosen.shape != (n,):
            raise ValueError(
                f"seeds is a mask of shape {chosen.shape} for a graph of {n} vertices: "
                "pass one boolean per vertex, or indices."
            )
        if chosen.dtype.kind not in "biu" or chosen.ndim != 1:
            raise ValueError(
                "seeds must be a boolean mask or a list of indices, got "
                f"{chosen.dtype} of shape {chosen.shape}."
            )
        if chosen.dtype != bool and ((chosen < 0) | (chosen >= n)).any():
            raise ValueError(f"seeds must be indices in 0, ..., {n - 1}.")
        return np.setdiff1d(np.arange(self.n_components), self.labels[chosen])

    def __str__(self) -> str:
        n = self.labels.size
        if self.is_connected:
            return f"The graph of {n} vertices is connected."
        return (
            f"The graph of {n} vertices has {self.n_components} components, the "
            f"largest with {self.sizes[0]} vertices. Vertices without any edge: "
            f"{self.n_isolated}."
        )


def connectivity(W: Any) -> ConnectivityReport:
    """Find the connected components of a graph.

    Parameters
    ----------
    W : {array-like, sparse matrix} of shape (n_vertices, n_vertices)
        Weights. Directions are ignored, and a stored zero is no edge.

    Returns
    -------
    report : ConnectivityReport
        Components, sizes and a summary in words (``print(report)``).

    See Also
    --------
    warn_unreached : Warn about components without a seed.

    Examples
    --------
    >>> from fewlabels.graphs import connectivity
    >>> report = connectivity([[0, 1, 0, 0], [1, 0, 1, 0], [0, 1, 0, 0], [0, 0, 0, 0]])
    >>> print(report)
    The graph of 4 vertices has 2 components, the largest with 3 vertices.
    Vertices without any edge: 1.
    >>> report.labels
    array([0, 0, 0, 1])
    >>> report.components_without([0])
    array([1])
    """
    graph = csr_array(W, copy=True)
    if graph.shape[0] != graph.shape[1]:
        raise ValueError(f"W must be square, got shape {graph.shape}.")
    graph.eliminate_zeros()  # csgraph would treat them as edges
    _, labels = connected_components(graph, directed=False)
    sizes = np.bincount(labels)
    order = np.argsort(-sizes, kind="stable")
    rank = np.empty_like(order)
    rank[order] = np.arange(order.size)
    return ConnectivityReport(rank[labels], sizes[order])


def warn_unreached(
    graph: Any, seeds: ArrayLike, *, estimator: Any = None
) -> NDArray[np.bool_]:
    """Warn about rows that are not connected to any seed.

    Labels of the seeds cannot spread there, so any prediction is a guess.

    Parameters
    ----------
    graph : {array-like, sparse matrix} of shape (n_vertices, n_vertices) or \
            ConnectivityReport
        Weights, or the report of :func:`connectivity` on them.
    seeds : array-like
        Boolean mask of shape (n_vertices,), or indices of vertices.
    estimator : object, default=None
        Named in the warning.

    Returns
    -------
    unreached : ndarray of bool of shape (n_vertices,)
        True for the rows in components without a seed.

    Warns
    -----
    DisconnectedGraphWarning
        If there is such a row.

    Examples
    --------
    >>> import warnings
    >>> from fewlabels.graphs import warn_unreached
    >>> W = [[0, 1, 0], [1, 0, 0], [0, 0, 0]]
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     warn_unreached(W, seeds=[0])
    array([False, False,  True])
    >>> caught[0].category.__name__
    'DisconnectedGraphWarning'
    """
    report = graph if isinstance(graph, ConnectivityReport) else connectivity(graph)
    components = report.components_without(seeds)
    unreached = np.isin(report.labels, components)
    if components.size:
        who = "" if estimator is None else f"{type(estimator).__name__}: "
        warnings.warn(
            f"{who}the graph is disconnected, and {components.size} of its "
            f"{report.n_components} components, with {np.count_nonzero(unreached)} of "
            f"the {unreached.size} rows, hold no seed (no labelled row): predictions "
            "for those rows are guesses. Use more neighbours (n_neighbors), "
            "symmetrize='union', or label a row in each component.",
            DisconnectedGraphWarning,
            stacklevel=3,
        )
    return unreached
