"""Spectral clustering with pairs that must or cannot be together."""

# SPDX-License-Identifier: BSD-3-Clause

import warnings
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import linalg
from scipy.sparse import issparse
from sklearn.preprocessing import normalize
from sklearn.utils import check_random_state

from fewlabels._labels import by_first_row
from fewlabels._linalg import signed
from fewlabels._sklearn import Interval, StrOptions, fit_context
from fewlabels.cluster._affinity import (
    AFFINITY_CONSTRAINTS,
    GraphClusterer,
    product,
    row_sums,
)
from fewlabels.cluster._assign import assign_rows, nearest_center, warn_unjoined
from fewlabels.cluster._constraints import (
    check_constraints,
    constraint_matrix,
    satisfied,
)
from fewlabels.cluster._spectral import divided
from fewlabels.exceptions import DisconnectedGraphWarning
from fewlabels.graphs import check_weights, connectivity, graph_laplacian

# Share of the volume that joins the components of a graph that is not connected.
BRIDGE = 1e-6
# Rows beyond which three dense n x n arrays and their eigenproblem take too long.
MAX_ROWS = 10_000


@dataclass(frozen=True, eq=False)
class ConstrainedRelaxation:
    r"""Result of :func:`constrained_relaxation`.

    Attributes
    ----------
    vectors : ndarray of shape (n_vertices, n_components)
        Relaxed indicators :math:`u = D^{-1/2} v`, least cost first.
    multipliers : ndarray of shape (n_components,)
        The eigenvalues :math:`\lambda > 0`.
    offsets : ndarray of shape (n_components,)
        The multipliers :math:`\eta`; 0 for ``orthogonal=False``.
    costs : ndarray of shape (n_components,)
        :math:`v^\top \bar L v`, in increasing order.
    constraint_values : ndarray of shape (n_components,)
        :math:`v^\top \bar Q v = u^\top Q u`, all above `beta`.
    beta : float
        The level of the constraints.
    beta_max : float
        Every level at or above this one has too few vectors.
    n_feasible : int
        Number of vectors that satisfy the constraints; the cheapest are returned.
    volume : float
        Sum of all degrees.
    """

    vectors: NDArray[np.float64]
    multipliers: NDArray[np.float64]
    offsets: NDArray[np.float64]
    costs: NDArray[np.float64]
    constraint_values: NDArray[np.float64]
    beta: float
    beta_max: float
    n_feasible: int
    volume: float


def _orthogonal_eigenpairs(
    L: NDArray[Any], M: NDArray[Any], N: NDArray[Any]
) -> tuple[Any, Any]:
    r"""All pairs :math:`L v = \lambda M v + N \eta`, :math:`N^\top v = 0`, λ > 0."""
    R = _whitened_complement(L, N)
    mu, Y = _positive(R.T @ M @ R)
    return 1 / mu, R @ Y


def _eigenpairs(L: NDArray[Any], M: NDArray[Any], N: NDArray[Any]) -> tuple[Any, Any]:
    r"""All pairs :math:`L v = \lambda M v` with :math:`0 < \lambda < \infty`.

    L is psd with eigenvalues up to 2, M symmetric. With an orthonormal basis N of the
    null space of L and R of its complement, :math:`N^\top M v = 0` for every such v,
    which gives its part in N; what is left is :math:`S y = \mu R^\top L R y` with
    :math:`\mu = 1/\lambda`, S symmetric and the right matrix positive definite. So all
    eigenvalues are real.
    """
    R = _whitened_complement(L, N)
    m, F = linalg.eigh(N.T @ M @ N)
    size = max(float(np.abs(M).max()), np.finfo(np.float64).tiny)
    usable = np.abs(m) > 1e-12 * size
    # Where N' M N is singular, in Z, the condition binds y instead of the part in N.
    V, Z = N @ F[:, usable], N @ F[:, ~usable]
    B = R.T @ (M @ Z)
    if B.shape[1]:
        rank = int(np.count_nonzero(linalg.svdvals(B) > 1e-12 * size))
        R = R @ linalg.qr(B, pivoting=True)[0][:, rank:]
    MV = M @ V
    mu, Y = _positive(R.T @ M @ R - (R.T @ MV / m[usable]) @ (MV.T @ R))
    X = R @ Y
    X = X - V @ ((MV.T @ X) / m[usable][:, None])
    if B.shape[1]:  # L v = lambda M v along B fixes the part in Z
        residual = (L @ X) * mu - M @ X
        X = X + Z @ linalg.lstsq(M @ Z, residual)[0]
    return 1 / mu, X


def _whitened_complement(L: NDArray[Any], N: NDArray[Any]) -> NDArray[Any]:
    """Basis R of the complement of the null space N with R' L R = I."""
    values, E = linalg.eigh(L + 4 * (N @ N.T))  # N comes last
    k = N.shape[1]
    return E[:, :-k] / np.sqrt(values[:-k])


def _positive(S: NDArray[Any]) -> tuple[Any, Any]:
    """Positive eigenvalues of a symmetric matrix and their eigenvectors."""
    mu, Y = linalg.eigh((S + S.T) / 2)
    kept = mu > 1e-12 * float(np.abs(mu).max(initial=0.0))
    return mu[kept], Y[:, kept]


def constrained_relaxation(
    W: Any,
    Q: Any,
    *,
    n_components: int = 1,
    beta: float | str = "auto",
    orthogonal: bool = True,
) -> ConstrainedRelaxation:
    r"""Relax the clustering of a graph under constraints on pairs.

    With :math:`\bar L = D^{-1/2} (D - W) D^{-1/2}`, :math:`\bar Q = D^{-1/2} Q
    D^{-1/2}` and vol the sum of all degrees,

    .. math::
        \min_v \; v^\top \bar L v \quad \text{subject to} \quad
        v^\top \bar Q v \ge \alpha, \quad v^\top v = \mathrm{vol}, \quad
        v \perp D^{1/2} 1

    for some level :math:`\alpha > \beta`. With multipliers :math:`\lambda` of the first
    and :math:`-\lambda \beta / \mathrm{vol}` of the second condition, the stationary
    vectors are those of :math:`\bar L v = \lambda (\bar Q - \tfrac{\beta}{\mathrm{vol}}
    I) v + \eta D^{1/2} 1`. Since :math:`v^\top \bar L v = \lambda (v^\top \bar Q v -
    \beta)`, the ones with :math:`\lambda > 0` are above :math:`\beta`, and of these the
    cheapest are taken.

    Parameters
    ----------
    W : {array-like, sparse matrix} of shape (n_vertices, n_vertices)
        Symmetric, non-negative weights; the diagonal is ignored.
    Q : {array-like, sparse matrix} of shape (n_vertices, n_vertices)
        Symmetric constraints: positive for pairs that must be together, negative for
        those that cannot be, and 0 for unknown; the magnitude is the confidence.
    n_components : int, default=1
        Number of vectors.
    beta : float or "auto", default="auto"
        The level of the constraints; the larger, the more they count. "auto" goes a
        fiftieth of the way up to the level that cannot be reached, more with
        constraints on more rows, and nine tenths of it with constraints on all.
    orthogonal : bool, default=True
        Whether v is orthogonal to :math:`D^{1/2} 1`, as for the normalised cut. False
        asks only that v is not a multiple of it and takes :math:`\eta = 0`, as in [1]_;
        then, where must-links prevail, the cheapest v is often nearly constant.

    Returns
    -------
    relaxation : ConstrainedRelaxation
        The vectors, their costs, and which levels can be reached.

    Raises
    ------
    ValueError
        If fewer than `n_components` vectors satisfy the constraints. The message names
        the levels that can be reached.

    See Also
    --------
    ConstrainedSpectralClustering : The clusters.

    Notes
    -----
    There are as many such vectors as eigenvalues of :math:`\bar Q` above :math:`\beta /
    \mathrm{vol}` on the complement of :math:`D^{1/2} 1`. For ``orthogonal=False`` it is
    the eigenvalues on the whole space, less one if the sum of Q is above :math:`\beta`:
    then the constant vector keeps to the constraint too.

    The eigenproblem is dense: it takes some n^3 operations, and is refused beyond
    10,000 rows.

    References
    ----------
    .. [1] X. Wang, B. Qian, I. Davidson, "On constrained spectral clustering and its
       applications", Data Mining and Knowledge Discovery 28 (2014).
       :doi:`10.1007/s10618-012-0291-9`

    Examples
    --------
    >>> from fewlabels.cluster import constrained_relaxation, constraint_matrix
    >>> W = [[0, 1, 0, 0], [1, 0, 1, 0], [0, 1, 0, 1], [0, 0, 1, 0]]
    >>> Q = constraint_matrix(4, must_link=[(0, 3)], cannot_link=[(0, 1)])
    >>> u = constrained_relaxation(W, Q).vectors[:, 0]
    >>> bool(u[0] * u[3] > 0 > u[0] * u[1])
    True
    """
    W = check_weights(W)
    n = W.shape[0]
    if n > MAX_ROWS:
        raise ValueError(
            f"{n} rows need several dense arrays of size n x n; the limit is "
            f"{MAX_ROWS}: cluster a sample and predict the rest."
        )
    Q = check_constraints(Q, n)
    W = _joined((W.toarray() if issparse(W) else W).astype(np.float64))
    L = graph_laplacian(W, "symmetric")
    degrees = W.sum(axis=1)
    volume = float(degrees.sum())
    root = np.sqrt(degrees)
    Q_bar = Q.toarray() / root[:, None] / root
    constant = root[:, None] / np.sqrt(volume)
    spectrum = _spectrum(Q_bar, constant if orthogonal else None) * volume
    total = -np.inf if orthogonal else float(Q.sum())
    beta_max = _largest_level(spectrum, total, n_components)
    if isinstance(beta, str):
        if beta != "auto":
            raise ValueError(f"beta={beta!r} must be a number or 'auto'.")
        share = float(np.mean(row_sums(abs(Q)) > 0))
        beta = _automatic_level(beta_max, total, share, volume)
    solve = _orthogonal_eigenpairs if orthogonal else _eigenpairs
    values, V = solve(L, Q_bar - (beta / volume) * np.eye(n), constant)
    if values.size < n_components:
        raise ValueError(
            f"beta={beta:.6g} cannot be reached: {values.size} vectors keep to the "
            f"constraints, {n_components} are needed. Levels below {beta_max:.6g} can "
            "be" + (f", from {total:.6g} on." if beta < total < beta_max else ".")
        )
    V *= np.sqrt(volume) / np.linalg.norm(V, axis=0)
    costs = np.einsum("ij,ij->j", V, L @ V)
    best = np.argsort(costs, kind="stable")[:n_components]
    V = signed(V[:, best])
    U = V / root[:, None]
    slopes = np.asarray(Q.sum(axis=0)) @ U - (beta / volume) * (degrees @ U)
    return ConstrainedRelaxation(
        vectors=U,
        offsets=-values[best] * slopes / volume,
        multipliers=values[best],
        costs=costs[best],
        constraint_values=np.einsum("ij,ij->j", V, Q_bar @ V),
        beta=float(beta),
        beta_max=beta_max,
        n_feasible=values.size,
        volume=volume,
    )


def _joined(W: NDArray[Any]) -> NDArray[Any]:
    """Connect the components of a graph by weak edges between all its vertices.

    Vectors that are constant on components would all have cost 0, which hides those
    among them that satisfy the constraints; weak edges give them a small cost.
    """
    n, volume = W.shape[0], float(W.sum())
    if volume <= 0:
        raise ValueError(
            f"The graph of n_samples={n} rows has no edge: use more neighbours "
            "(n_neighbors) or a wider kernel."
        )
    report = connectivity(W)
    if report.is_connected:
        return W
    warnings.warn(
        f"The graph has {report.n_components} components, which are joined by "
        f"edges of weight {BRIDGE * volume / n**2:.2g}. Use more neighbours "
        "(n_neighbors) or a wider kernel.",
        DisconnectedGraphWarning,
        stacklevel=3,
    )
    W = W + BRIDGE * volume / n**2
    np.fill_diagonal(W, 0)
    return W


def _spectrum(Q_bar: NDArray[Any], without: NDArray[Any] | None) -> NDArray[Any]:
    """Eigenvalues in decreasing order, perhaps on the complement of a unit vector."""
    if without is not None:
        basis = linalg.qr(without)[0][:, 1:]
        Q_bar = basis.T @ Q_bar @ basis
    spectrum = linalg.eigvalsh(Q_bar)[::-1].copy()
    spectrum[np.abs(spectrum) < 1e-12 * np.abs(spectrum).max(initial=0.0)] = 0
    return spectrum


def _largest_level(spectrum: NDArray[Any], total: float, k: int) -> float:
    """Level at and above which fewer than k vectors keep to the constraints."""
    if k > spectrum.size:
        return -np.inf
    level = float(spectrum[k - 1])
    if total < level or k >= spectrum.size:
        return level
    return float(spectrum[k])  # the constant vector uses up one


def _automatic_level(top: float, total: float, share: float, volume: float) -> float:
    if top <= 0:
        # More clusters than the constraints tell apart (or none at all): nearly all
        # vectors may be used, if they do not break the constraints on balance.
        return top - 1e-3 * volume
    bottom = total if 0 < total < top else 0.0
    # Near the top a vector has nearly all of its length in the rows with constraints.
    return bottom + (0.02 + 0.88 * share) * (top - bottom)


class ConstrainedSpectralClustering(GraphClusterer):
    r"""Spectral clustering with pairs that must or cannot be together.

    Minimise the relaxed normalised cut, under a constraint on how well the relaxed
    indicators u of clusters agree with the known pairs,

    .. math::
        \min_u \; u^\top (D - W) u \quad \text{subject to} \quad
        u^\top Q u \ge \alpha, \quad u^\top D u = \mathrm{vol}, \quad u^\top D 1 = 0,

    at a level :math:`\alpha` above :math:`\beta`, see :func:`constrained_relaxation`.
    For two clusters the sign of the best u is the cluster; for K, the rows of the K - 1
    best are clustered by k-means. The constraints are soft: `satisfied_` says how many
    of them hold.

    Parameters
    ----------
    n_clusters : int, default=2
        Number K of clusters.
    beta : float or "auto", default="auto"
        Level of the constraints, below `beta_max_`: the larger, the more they count.
        "auto" goes 2 to 90 % of the way, by the share of rows with constraints.
    orthogonal : bool, default=True
        Whether to ask for :math:`u^\top D 1 = 0`, as the normalised cut does; False
        only for :math:`u \ne 1`, as printed in [1]_.
    normalize_rows : bool, default=True
        For more than two clusters, whether rows are scaled to length 1 before k-means.
        The rows with constraints are far longer than the others and would otherwise be
        clusters of their own. For two clusters this is the sign.
    affinity : {"knn", "precomputed"}, kernel name or callable, default="knn"
        The weights, see :class:`NormalizedSpectralClustering`.
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
    n_init : int, default=10
        Runs of k-means; the best counts.
    random_state : int, RandomState instance or None, default=None
        Seed of k-means.
    n_jobs : int, default=None
        Threads of the search for neighbours.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Clusters, numbered by their first row.
    embedding_ : ndarray of shape (n_samples, n_clusters - 1)
        The relaxed indicators, for more than two clusters by rows of length 1.
    satisfied_ : float
        Share of the constraints, weighted by confidence, that `labels_` keep; NaN
        without constraints.
    beta_ : float
        The level used.
    beta_max_ : float
        Levels at or above this one cannot be reached.
    relaxation_ : ConstrainedRelaxation
        Vectors, costs and multipliers.
    constraints_ : csr_array of shape (n_samples, n_samples)
        The constraints.
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
    NormalizedSpectralClustering : Without constraints.
    constraint_matrix, constraints_from_labels : Make the matrix.

    References
    ----------
    .. [1] X. Wang, B. Qian, I. Davidson, "On constrained spectral clustering and its
       applications", Data Mining and Knowledge Discovery 28 (2014).
       :doi:`10.1007/s10618-012-0291-9`

    Examples
    --------
    Two rows of points: which pairs belong together decides along which side they are
    parted.

    >>> import numpy as np
    >>> from fewlabels.cluster import ConstrainedSpectralClustering
    >>> X = np.array([[i, j] for j in (0.0, 3.0) for i in range(4)])
    >>> model = ConstrainedSpectralClustering(affinity="rbf", gamma=0.1)
    >>> model.fit(X, must_link=[(0, 3), (4, 7)], cannot_link=[(0, 4)]).labels_
    array([0, 0, 0, 0, 1, 1, 1, 1])
    >>> model.fit(X, must_link=[(0, 4), (3, 7)], cannot_link=[(0, 3)]).labels_
    array([0, 0, 1, 1, 0, 0, 1, 1])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **AFFINITY_CONSTRAINTS,
        "n_clusters": [Interval(Integral, 1, None, closed="left")],
        "beta": [StrOptions({"auto"}), Interval(Real, None, None, closed="neither")],
        "orthogonal": ["boolean"],
        "normalize_rows": ["boolean"],
        "n_init": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        n_clusters: int = 2,
        *,
        beta: float | str = "auto",
        orthogonal: bool = True,
        normalize_rows: bool = True,
        affinity: Any = "knn",
        n_neighbors: int = 10,
        graph_params: dict[str, Any] | None = None,
        gamma: float | str | None = "scale",
        kernel_params: dict[str, Any] | None = None,
        n_init: int = 10,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.beta = beta
        self.orthogonal = orthogonal
        self.normalize_rows = normalize_rows
        self.affinity = affinity
        self.n_neighbors = n_neighbors
        self.graph_params = graph_params
        self.gamma = gamma
        self.kernel_params = kernel_params
        self.n_init = n_init
        self.random_state = random_state
        self.n_jobs = n_jobs

    @fit_context(prefer_skip_nested_validation=True)
    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        constraints: Any = None,
        must_link: ArrayLike | None = None,
        cannot_link: ArrayLike | None = None,
    ) -> Self:
        """Find the clusters.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows; the square matrix of weights for affinity="precomputed".
        y : None
            Not used; see :func:`constraints_from_labels` for known labels.
        constraints : {array-like, sparse matrix} of shape (n_samples, n_samples), \
                default=None
            Symmetric: positive for pairs that must be together, negative for pairs
            that cannot be, the size being the confidence.
        must_link : array-like of shape (n_pairs, 2), default=None
            Pairs of row indices that must be together; in place of `constraints`.
        cannot_link : array-like of shape (n_pairs, 2), default=None
            Pairs of row indices that cannot be together; in place of `constraints`.

        Returns
        -------
        self : object
            The fitted model.
        """
        W = self.affinity_matrix_ = self._fit_graph(X)
        n = W.shape[0]
        self._check_n_clusters(self.n_clusters, n)
        if constraints is None:
            Q = constraint_matrix(n, must_link, cannot_link)
        elif must_link is None and cannot_link is None:
            Q = check_constraints(constraints, n)
        else:
            raise ValueError(
                "Pass constraints or pairs (must_link, cannot_link), not both: add "
                "constraint_matrix(n_samples, must_link, cannot_link) to constraints."
            )
        self.constraints_ = Q
        relaxation = constrained_relaxation(
            W,
            Q,
            n_components=max(self.n_clusters - 1, 1),
            beta=self.beta,
            orthogonal=self.orthogonal,
        )
        self.relaxation_ = relaxation
        self.beta_, self.beta_max_ = relaxation.beta, relaxation.beta_max
        self.embedding_ = self._rows(relaxation.vectors)
        if self.n_clusters == 2:
            self.labels_ = by_first_row((self.embedding_[:, 0] > 0).astype(np.intp))
            self._flipped = bool(self.embedding_[0, 0] > 0)
        else:
            self.labels_, self._centers = assign_rows(
                self.embedding_,
                self.n_clusters,
                method="kmeans",
                n_init=self.n_init,
                rng=check_random_state(self.random_state),
            )
        self.satisfied_ = satisfied(Q, self.labels_)
        return self

    def _rows(self, vectors: NDArray[Any]) -> NDArray[Any]:
        scaled = self.normalize_rows and self.n_clusters > 2
        return normalize(vectors) if scaled else vectors

    def predict(self, X: Any) -> NDArray[np.intp]:
        """Assign rows to the clusters.

        The relaxed indicators are continued to new rows, about which no constraint says
        anything, as averages over the training rows by weight.

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
        degrees = row_sums(W)
        warn_unjoined(degrees, "training row", "Use a wider kernel, or affinity='knn'.")
        fitted = self.relaxation_
        # The eigenvector equation at a row whose row of Q is zero.
        factor = 1 + fitted.multipliers * fitted.beta / fitted.volume
        means = divided(product(W, fitted.vectors), degrees[:, None])
        rows = (means + fitted.offsets) / np.where(factor > 0, factor, 1)
        if self.n_clusters == 2:
            return ((rows[:, 0] > 0) != self._flipped).astype(np.intp)
        return nearest_center(self._rows(rows), self._centers)
