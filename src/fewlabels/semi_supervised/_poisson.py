"""Remedies for harmonic functions with few labels: Poisson learning, reweighting."""

# SPDX-License-Identifier: BSD-3-Clause

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from fewlabels.semi_supervised._graph_system import (
    GraphSolution,
    check_graph,
    scaled,
    solve_laplacian,
)

# Smallest weight of a vertex relative to the largest, in properly weighted Laplacians.
# The authors' code adds the same number, but to weights of any scale.
LEAST_WEIGHT = 1e-5


def poisson_functions(
    W: Any,
    labeled: ArrayLike,
    values: ArrayLike,
    *,
    solver: str = "auto",
    tol: float = 1e-6,
    max_iter: int = 10_000,
) -> GraphSolution:
    r"""Treat given values as sources and sinks on a graph, instead of clamping them.

    .. math::
        L u = \sum_{j \in L} (y_j - \bar y) \, \delta_j, \qquad \sum_i d_i u_i = 0,

    with the unnormalised Laplacian and the degrees d. With few labels on many vertices,
    harmonic functions are nearly constant with a spike at every label; sources keep
    their strength.

    Parameters
    ----------
    W : {array-like, sparse matrix} of shape (n_vertices, n_vertices)
        Symmetric, non-negative weights; the diagonal is ignored.
    labeled : array-like of int of shape (n_labeled,)
        The vertices L.
    values : array-like of shape (n_labeled, n_functions) or (n_labeled,)
        Their values y, one column per function.
    solver : {"auto", "direct", "cg"}, default="auto"
        As in :func:`harmonic_functions`.
    tol : float, default=1e-6
        Relative residual at which "cg" stops.
    max_iter : int, default=10_000
        Largest number of steps of "cg".

    Returns
    -------
    solution : GraphSolution
        The functions as `values`, NaN at vertices not connected to a label, and details
        of the solver. Every component uses the mean of its own labels.

    Warns
    -----
    ConvergenceWarning
        If the equation is not solved to `tol`, or directly to ten digits.

    See Also
    --------
    harmonic_functions : Values clamped.
    reweighted_graph : Weights with which clamped values work too.

    References
    ----------
    .. [1] J. Calder, B. Cook, M. Thorpe, D. Slepčev, "Poisson learning: graph based
       semi-supervised learning at very low label rates", ICML 2020.

    Examples
    --------
    >>> from fewlabels.semi_supervised import poisson_functions
    >>> path = [[0, 1, 0, 0], [1, 0, 1, 0], [0, 1, 0, 1], [0, 0, 1, 0]]
    >>> poisson_functions(path, [0, 3], [0.0, 1.0]).values.ravel().round(3)
    array([-0.75, -0.25,  0.25,  0.75])
    """
    W = check_graph(W)
    rows = np.asarray(labeled, dtype=np.intp)
    Y = np.asarray(values, dtype=np.float64)
    Y = Y[:, None] if Y.ndim == 1 else Y
    if rows.ndim != 1 or Y.ndim != 2 or Y.shape[0] != rows.size or rows.size == 0:
        raise ValueError(
            "labeled and values must have one entry per labelled vertex, at least one; "
            f"got shapes {rows.shape} and {Y.shape}."
        )
    _, part = connected_components(W, directed=False)
    n_parts = part.max() + 1
    counts = np.bincount(part[rows], minlength=n_parts)
    # Multiplied by the number of labels, sources are integers if values are, and those
    # of a group that balance each other sum to zero without rounding.
    sums = _sums(part[rows], Y, n_parts)[part[rows]]
    B = _sums(rows, counts[part[rows], None] * Y - sums, W.shape[0])
    solution = solve_laplacian(
        W, np.zeros(W.shape[0]), B, solver=solver, tol=tol, max_iter=max_iter
    )
    u = solution.values / np.maximum(counts, 1)[part, None]
    # In every component, the condition fixes the free constant.
    degrees = np.asarray(W.sum(axis=1)).ravel()
    volumes = np.bincount(part, weights=degrees, minlength=n_parts)
    shifts = _sums(part, degrees[:, None] * u, n_parts)
    shifts /= np.where(volumes > 0, volumes, 1.0)[:, None]
    u -= shifts[part]
    u[counts[part] == 0] = np.nan
    return solution._replace(values=u)


def _sums(
    groups: NDArray[np.intp], values: NDArray[Any], n_groups: int
) -> NDArray[np.float64]:
    """Sum the rows of every group."""
    totals = np.zeros((n_groups, values.shape[1]))
    np.add.at(totals, groups, values)
    return totals


def reweighted_graph(W: Any, labeled: ArrayLike, method: str = "proper") -> csr_array:
    r"""Increase edge weights near labels, so that few labels shape harmonic functions.

    Parameters
    ----------
    W : {array-like, sparse matrix} of shape (n_vertices, n_vertices)
        Symmetric, non-negative weights; the diagonal is ignored.
    labeled : array-like of int of shape (n_labeled,)
        The labelled vertices.
    method : {"proper", "non_local"}, default="proper"
        "proper" gives :math:`\gamma_i \gamma_j w_{ij}`. Here :math:`\gamma`, shifted to
        be positive, solves the Poisson equation with sources at the labels and sinks at
        all vertices, in proportion to their degrees (evenly in [2]_): it grows fast
        enough towards a label to matter among many vertices [1]_ [2]_. "non_local"
        gives :math:`\frac12 (a_i + a_j) w_{ij}` with a = n / l at labels and a = 1 at
        other vertices [3]_.

    Returns
    -------
    weights : csr_array of shape (n_vertices, n_vertices)
        The new weights, for :func:`harmonic_functions`.

    See Also
    --------
    poisson_functions : Labels as sources, without any new weights.

    References
    ----------
    .. [1] J. Calder, D. Slepčev, "Properly-weighted graph Laplacian for semi-supervised
       learning", Applied Mathematics and Optimization 82 (2020).
    .. [2] K. Miller, J. Calder, "Poisson reweighted Laplacian uncertainty sampling for
       graph-based active learning", SIAM Journal on Mathematics of Data Science 5
       (2023).
    .. [3] Z. Shi, S. Osher, W. Zhu, "Weighted nonlocal Laplacian on interpolation from
       sparse data", Journal of Scientific Computing 73 (2017).

    Examples
    --------
    >>> from fewlabels.semi_supervised import reweighted_graph
    >>> path = [[0, 1, 0, 0], [1, 0, 1, 0], [0, 1, 0, 1], [0, 0, 1, 0]]
    >>> reweighted_graph(path, [0, 3], "non_local").toarray()
    array([[0. , 1.5, 0. , 0. ],
           [1.5, 0. , 1. , 0. ],
           [0. , 1. , 0. , 1.5],
           [0. , 0. , 1.5, 0. ]])
    """
    W = check_graph(W)
    rows = np.asarray(labeled, dtype=np.intp)
    n = W.shape[0]
    if rows.ndim != 1 or rows.size == 0:
        raise ValueError("labeled must name at least one vertex.")
    if method == "non_local":
        a = np.ones(n)
        a[rows] = n / np.unique(rows).size
        heads = np.repeat(a, np.diff(W.indptr))
        data = W.data * (heads + a[W.indices]) / 2
        return csr_array((data, W.indices, W.indptr), shape=W.shape)
    if method != "proper":
        raise ValueError(f"method={method!r} is unknown; use 'proper' or 'non_local'.")
    # Sources at the labels, and sinks everywhere, by degree: evenly spread sinks would
    # pull vertices on weak edges far below all others, which would then look alike.
    _, part = connected_components(W, directed=False)
    degrees = np.asarray(W.sum(axis=1)).ravel()
    volumes = np.bincount(part, weights=degrees)
    sources = np.zeros(n)
    sources[rows] = 1.0
    share = np.bincount(part, weights=sources) / np.where(volumes > 0, volumes, 1.0)
    sources -= share[part] * degrees
    gamma = poisson_functions(W, np.arange(n), sources).values[:, 0]
    gamma = gamma - gamma.min()
    gamma = gamma / (gamma.max() or 1.0) + LEAST_WEIGHT
    return scaled(W, gamma)
