"""Clusters by cutting a graph in two, again and again."""

# SPDX-License-Identifier: BSD-3-Clause

import heapq
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array, issparse
from sklearn.utils import check_random_state

from fewlabels._labels import by_first_row
from fewlabels._sklearn import Interval, StrOptions, fit_context
from fewlabels.cluster._affinity import (
    AFFINITY_CONSTRAINTS,
    GraphClusterer,
    product,
    row_sums,
)
from fewlabels.cluster._assign import warn_unjoined
from fewlabels.graphs import (
    EIGEN_SOLVERS,
    check_weights,
    connectivity,
    laplacian_eigenpairs,
)

# Bins of the histogram by which the stability of a cut is judged.
STABILITY_BINS = 12


@dataclass(frozen=True, eq=False)
class NormalizedCut:
    """Result of :func:`minimum_normalized_cut`.

    Attributes
    ----------
    labels : ndarray of shape (n_vertices,)
        The side of every vertex, 0 or 1; vertex 0 is on side 0.
    value : float
        Normalised cut of the two sides.
    lower_bound : float
        No bipartition has a smaller normalised cut.
    vector : ndarray of shape (n_vertices,)
        The eigenvector whose thresholds were searched.
    instability : float
        Ratio of the smallest to the largest bin of a histogram of `vector`. If its
        values are spread evenly, many thresholds are about as good, and none stands
        out.
    """

    labels: NDArray[np.intp]
    value: float
    lower_bound: float
    vector: NDArray[np.float64]
    instability: float


def threshold_cuts(W: Any, vector: NDArray[Any]) -> tuple[Any, Any]:
    """Normalised cut for every threshold of a vector.

    Parameters
    ----------
    W : {ndarray, sparse matrix} of shape (n_vertices, n_vertices)
        Symmetric, non-negative weights without diagonal.
    vector : ndarray of shape (n_vertices,)
        One number per vertex.

    Returns
    -------
    order : ndarray of shape (n_vertices,)
        Vertices by increasing number.
    values : ndarray of shape (n_vertices - 1,)
        The normalised cut between the first k + 1 of these and the others. One pass
        over the edges: an edge is cut by the thresholds between its ends.
    """
    n = vector.size
    order = np.argsort(vector, kind="stable")
    position = np.empty(n, dtype=np.intp)
    position[order] = np.arange(n)
    edges = coo_array(W)
    first, last = position[edges.row], position[edges.col]
    upper = first < last  # each edge once
    weights = edges.data[upper].astype(np.float64)
    starts = np.bincount(first[upper], weights, minlength=n)
    ends = np.bincount(last[upper], weights, minlength=n)
    cuts = np.maximum(np.cumsum(starts - ends)[:-1], 0)
    degrees = np.bincount(position[edges.row], edges.data, minlength=n)
    below = np.cumsum(degrees)[:-1]
    above = degrees.sum() - below
    floor = np.finfo(np.float64).tiny
    return order, cuts / np.maximum(below, floor) + cuts / np.maximum(above, floor)


def minimum_normalized_cut(
    W: Any, *, eigen_solver: str = "auto", random_state: Any = None
) -> NormalizedCut:
    r"""Cut a graph in two so that the normalised cut is small.

    Over bipartitions (S, T), Ncut is the least value of

    .. math::
        \frac{u^\top (D - W) u}{u^\top D u} \quad \text{subject to} \quad
        u^\top D 1 = 0, \quad u_i \in \{1, -b\},

    which is NP-hard. Without the last condition the solution is the second eigenvector
    of :math:`(D - W) u = \lambda D u`, and :math:`\lambda_2` a lower bound. All its n -
    1 thresholds are tried, exactly, and the best is returned; by Cheeger's inequality
    its value is at most :math:`2 \sqrt{2 \lambda_2}`.

    Parameters
    ----------
    W : {array-like, sparse matrix} of shape (n_vertices, n_vertices)
        Symmetric, non-negative weights; the diagonal is ignored. At least two vertices.
    eigen_solver : str, default="auto"
        "auto", "dense", "lanczos", "shift_invert", "multilevel" or "chebyshev".
        See :func:`spectral_relaxation`.
    random_state : int, RandomState instance or None, default=None
        Seed of the first vector of ARPACK.

    Returns
    -------
    cut : NormalizedCut
        The two sides, the value and the bound. If the graph is not connected, the
        largest component is cut off at no cost.

    See Also
    --------
    RecursiveNormalizedCut : Continues with the parts.
    normalized_cut : The measure.

    References
    ----------
    .. [1] J. Shi, J. Malik, "Normalized cuts and image segmentation", IEEE Transactions
       on Pattern Analysis and Machine Intelligence 22 (2000). :doi:`10.1109/34.868688`

    Examples
    --------
    >>> from fewlabels.cluster import minimum_normalized_cut
    >>> W = [[0, 1, 0, 0], [1, 0, 0.1, 0], [0, 0.1, 0, 1], [0, 0, 1, 0]]
    >>> cut = minimum_normalized_cut(W)
    >>> cut.labels
    array([0, 0, 1, 1])
    >>> bool(cut.lower_bound <= cut.value < 0.1)
    True
    """
    W = check_weights(W)
    n = W.shape[0]
    if n < 2:
        raise ValueError(f"A graph of {n} vertices cannot be cut: pass two or more.")
    pairs = laplacian_eigenpairs(
        W,
        2,
        laplacian="symmetric",
        eigen_solver=eigen_solver,
        random_state=random_state,
    )
    if not pairs.report.is_connected:
        sides = (pairs.report.labels > 0).astype(np.intp)
        vector = sides.astype(np.float64)
        return NormalizedCut(by_first_row(sides), 0.0, 0.0, vector, 0.0)
    vector = pairs.random_walk_vectors()[:, 1]
    order, values = threshold_cuts(W, vector)
    best = int(np.argmin(values))
    sides = np.ones(n, dtype=np.intp)
    sides[order[: best + 1]] = 0
    counts = np.histogram(vector, bins=STABILITY_BINS)[0]
    return NormalizedCut(
        by_first_row(sides),
        float(values[best]),
        min(float(pairs.values[1]), float(values[best])),  # but for rounding
        vector,
        float(counts.min() / counts.max()),
    )


class Split(NamedTuple):
    """One step of a recursive cut.

    Attributes
    ----------
    sizes : tuple of int
        Vertices on the two sides.
    value : float
        Normalised cut of the part that was split.
    lower_bound : float
        No other split of it has a smaller one.
    instability : float
        See :class:`NormalizedCut`.
    """

    sizes: tuple[int, int]
    value: float
    lower_bound: float
    instability: float


def recursive_normalized_cut(
    W: Any,
    *,
    threshold: float = 0.1,
    max_instability: float | None = 0.06,
    max_clusters: int | None = None,
    min_size: int = 1,
    eigen_solver: str = "auto",
    random_state: Any = None,
) -> tuple[NDArray[np.intp], list[Split]]:
    """Cut a graph in two recursively, as long as cuts are cheap.

    Connected components are parts from the start. The part whose cut is cheapest is
    split next, so that a limit on the number of parts keeps the best splits.

    Parameters
    ----------
    W : {array-like, sparse matrix} of shape (n_vertices, n_vertices)
        Symmetric, non-negative weights; the diagonal is ignored.
    threshold : float, default=0.1
        Splits whose normalised cut within the part is above this are not made.
    max_instability : float, default=0.06
        Nor are splits of a larger instability, see :class:`NormalizedCut`; None
        allows all.
    max_clusters : int, default=None
        Largest number of parts, unless there are more components; None for any.
    min_size : int, default=1
        Splits that leave fewer vertices on a side are not made.
    eigen_solver : str, default="auto"
        "auto", "dense", "lanczos", "shift_invert", "multilevel" or "chebyshev".
        See :func:`spectral_relaxation`.
    random_state : int, RandomState instance or None, default=None
        Seed of the first vectors of ARPACK.

    Returns
    -------
    labels : ndarray of shape (n_vertices,)
        Parts, numbered by their first vertex.
    splits : list of Split
        The splits made, in their order.

    See Also
    --------
    RecursiveNormalizedCut : The same for rows.

    Examples
    --------
    >>> from scipy.linalg import block_diag
    >>> from fewlabels.cluster import recursive_normalized_cut
    >>> W = block_diag(*3 * [[[0, 1, 1], [1, 0, 1], [1, 1, 0]]]) + 0.01
    >>> labels, splits = recursive_normalized_cut(W)
    >>> labels
    array([0, 0, 0, 1, 1, 1, 2, 2, 2])
    >>> len(splits)
    2
    """
    W = check_weights(W)
    W = csr_array(W) if issparse(W) else W
    rng = check_random_state(random_state)
    report = connectivity(W)
    labels = report.labels.astype(np.intp)
    n_parts = report.n_components
    limit = W.shape[0] if max_clusters is None else max_clusters
    queue: list[tuple[float, int, NDArray[np.intp], NormalizedCut]] = []

    def consider(part: int, vertices: NDArray[np.intp]) -> None:
        """Queue the split of a part if it may be made."""
        if vertices.size < max(2, 2 * min_size):
            return
        cut = minimum_normalized_cut(
            W[vertices][:, vertices], eigen_solver=eigen_solver, random_state=rng
        )
        stable = max_instability is None or cut.instability <= max_instability
        smaller = np.bincount(cut.labels).min()
        if cut.value <= threshold and stable and smaller >= min_size:
            heapq.heappush(queue, (cut.value, part, vertices, cut))

    if n_parts < limit:
        order = np.argsort(labels, kind="stable")
        for part, vertices in enumerate(np.split(order, np.cumsum(report.sizes)[:-1])):
            consider(part, vertices)
    splits = []
    while queue and n_parts < limit:
        _, part, vertices, cut = heapq.heappop(queue)
        sides = vertices[cut.labels == 0], vertices[cut.labels == 1]
        splits.append(
            Split(
                (sides[0].size, sides[1].size),
                cut.value,
                cut.lower_bound,
                cut.instability,
            )
        )
        labels[sides[1]] = n_parts
        n_parts += 1
        if n_parts < limit:
            consider(part, sides[0])
            consider(n_parts - 1, sides[1])
    return by_first_row(labels), splits


class RecursiveNormalizedCut(GraphClusterer):
    r"""Cluster rows, or segment an image, by cutting their graph recursively.

    A part is split where the normalised cut of the two sides,

    .. math::
        \mathrm{Ncut}(S, T) = \frac{\mathrm{cut}(S, T)}{\mathrm{assoc}(S, S \cup T)}
        + \frac{\mathrm{cut}(S, T)}{\mathrm{assoc}(T, S \cup T)},

    is smallest among all thresholds of the second eigenvector of the part, see
    :func:`minimum_normalized_cut`. This continues while the cut is cheap and stable
    [1]_, so that the number of clusters need not be known.

    Parameters
    ----------
    threshold : float, default=0.1
        Largest normalised cut of a split, between 0 (only components) and 2.
    max_instability : float, default=0.06
        Largest instability of a split: the ratio of the smallest to the largest bin in
        a histogram of the eigenvector. None allows all.
    max_clusters : int, default=None
        Largest number of clusters, unless the graph has more components; None for any.
    min_size : int, default=1
        Smallest side of a split.
    affinity : {"knn", "precomputed"}, kernel name or callable, default="knn"
        The weights, see :class:`NormalizedSpectralClustering`. For images, see
        :func:`fewlabels.graphs.image_graph`.
    n_neighbors : int, default=10
        Neighbours of "knn".
    graph_params : dict, default=None
        Further parameters of the graph "knn", those of
        :func:`fewlabels.graphs.similarity_graph`; `weight` is "binary" and `symmetrize`
        "union" unless given. With "heat", long edges are so weak that a few outliers
        may become a cluster.
    gamma : float, {"scale", "median", "range"} or None, default="scale"
        Width of a kernel.
    kernel_params : dict, default=None
        Further parameters of the kernel: `degree` and `coef0` of a named one, keywords
        of a callable.
    eigen_solver : str, default="auto"
        "auto", "dense", "lanczos", "shift_invert", "multilevel" or "chebyshev".
        See :func:`spectral_relaxation`.
    random_state : int, RandomState instance or None, default=None
        Seed of ARPACK.
    n_jobs : int, default=None
        Threads of the search for neighbours.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Clusters, numbered by their first row.
    n_clusters_ : int
        Number of clusters found.
    splits_ : list of Split
        The splits that were made, in their order.
    affinity_matrix_ : {csr_array, ndarray} of shape (n_samples, n_samples)
        The weights.
    kernel_ : Kernel or None
        The kernel with its parameters as numbers.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, where `X` had any.

    See Also
    --------
    recursive_normalized_cut : The same for a graph, as a function.
    fewlabels.graphs.image_graph : The graph of an image.

    References
    ----------
    .. [1] J. Shi, J. Malik, "Normalized cuts and image segmentation", IEEE Transactions
       on Pattern Analysis and Machine Intelligence 22 (2000). :doi:`10.1109/34.868688`

    Examples
    --------
    An image of two grey squares on black:

    >>> import numpy as np
    >>> from fewlabels.cluster import RecursiveNormalizedCut
    >>> from fewlabels.graphs import image_graph
    >>> image = np.zeros((8, 16))
    >>> image[2:6, 2:6], image[2:6, 10:14] = 0.5, 1.0
    >>> model = RecursiveNormalizedCut(affinity="precomputed")
    >>> model.fit(image_graph(image, radius=3)).n_clusters_
    3
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **AFFINITY_CONSTRAINTS,
        "threshold": [Interval(Real, 0, 2, closed="both")],
        "max_instability": [Interval(Real, 0, 1, closed="both"), None],
        "max_clusters": [Interval(Integral, 1, None, closed="left"), None],
        "min_size": [Interval(Integral, 1, None, closed="left")],
        "eigen_solver": [StrOptions(set(EIGEN_SOLVERS))],
    }

    def __init__(
        self,
        threshold: float = 0.1,
        *,
        max_instability: float | None = 0.06,
        max_clusters: int | None = None,
        min_size: int = 1,
        affinity: Any = "knn",
        n_neighbors: int = 10,
        graph_params: dict[str, Any] | None = None,
        gamma: float | str | None = "scale",
        kernel_params: dict[str, Any] | None = None,
        eigen_solver: str = "auto",
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.threshold = threshold
        self.max_instability = max_instability
        self.max_clusters = max_clusters
        self.min_size = min_size
        self.affinity = affinity
        self.n_neighbors = n_neighbors
        self.graph_params = graph_params
        self.gamma = gamma
        self.kernel_params = kernel_params
        self.eigen_solver = eigen_solver
        self.random_state = random_state
        self.n_jobs = n_jobs

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the clusters.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows; the square matrix of weights for affinity="precomputed".
        y : None
            Not used.

        Returns
        -------
        self : object
            The fitted model.
        """
        W = self.affinity_matrix_ = self._fit_graph(X)
        self.labels_, self.splits_ = recursive_normalized_cut(
            W,
            threshold=self.threshold,
            max_instability=self.max_instability,
            max_clusters=self.max_clusters,
            min_size=self.min_size,
            eigen_solver=self.eigen_solver,
            random_state=self.random_state,
        )
        self.n_clusters_ = int(self.labels_.max()) + 1
        return self

    def predict(self, X: Any) -> NDArray[np.intp]:
        """Assign every row to the cluster to which it has the largest weight.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows; for affinity="precomputed" their weights to all training rows.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            The clusters.
        """
        W = self._weights_to_training_rows(X)
        warn_unjoined(
            row_sums(W), "training row", "Use a wider kernel, or affinity='knn'."
        )
        indicators = np.eye(self.n_clusters_)[self.labels_]
        return product(W, indicators).argmax(axis=1)
