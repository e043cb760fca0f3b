"""Spectral clustering: k-means on eigenvectors of a graph."""

# SPDX-License-Identifier: BSD-3-Clause

import warnings
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import normalize
from sklearn.utils import check_random_state

from fewlabels._backend import (
    DEVICE_CONSTRAINTS,
    Backend,
    TensorMixin,
    backend_for,
    get_backend,
)
from fewlabels._linalg import all_copies, eigh_between, is_symmetric, signed
from fewlabels._params import check_choice
from fewlabels._sklearn import Interval, StrOptions, check_array, fit_context
from fewlabels.cluster._affinity import (
    AFFINITY_CONSTRAINTS,
    GraphClusterer,
    product,
    row_sums,
)
from fewlabels.cluster._assign import (
    ASSIGNMENTS,
    assign_rows,
    nearest_center,
    warn_components,
    warn_unjoined,
)
from fewlabels.graphs import EIGEN_SOLVERS, ConnectivityReport, laplacian_eigenpairs

LAPLACIANS = ("symmetric", "random_walk", "unnormalized", "affinity")


@dataclass(frozen=True, eq=False)
class SpectralRelaxation:
    """Result of :func:`spectral_relaxation`.

    Attributes
    ----------
    eigenvalues : ndarray of shape (n_components,)
        Eigenvalues, in increasing order for a Laplacian, decreasing for an affinity.
    vectors : ndarray of shape (n_vertices, n_components)
        Eigenvectors as columns: orthonormal, for the random walk with respect to the
        degrees.
    degrees : ndarray of shape (n_vertices,)
        Degrees of the vertices (sums of rows for the affinity).
    connectivity : ConnectivityReport or None
        Components of the graph; None for the affinity.
    """

    eigenvalues: NDArray[np.float64]
    vectors: NDArray[np.float64]
    degrees: NDArray[np.float64]
    connectivity: ConnectivityReport | None


# Residual of eigenvectors that a filter on a device finds: enough for clusters.
DEVICE_TOL = 1e-6
# Up to this many vertices LAPACK is quicker than any iteration.
DENSE_VERTICES = 600


def _affinity_eigenpairs(
    W: Any, k: int, solver: str, rng: np.random.RandomState
) -> tuple[NDArray[Any], NDArray[Any]]:
    n = W.shape[0]
    small = n <= DENSE_VERTICES and solver != "lanczos"
    if small or solver == "dense" or k >= n:
        A = W.toarray() if issparse(W) else W
        values, vectors = eigh_between(A, n - k, n - 1)
    else:
        # Below all eigenvalues, for vectors that are known.
        depth = 2.0 * float(np.abs(row_sums(abs(W))).max()) or 1.0

        def find(known: Any, k: int) -> tuple[NDArray[Any], NDArray[Any]]:
            def lowered(x: NDArray[Any]) -> NDArray[Any]:
                x = x.ravel()
                return W @ x - depth * (known @ (known.T @ x))

            operator = LinearOperator((n, n), lowered, dtype=np.float64)
            v0 = rng.uniform(-1, 1, n)
            return eigsh(W if known is None else operator, k=k, which="LA", v0=v0)

        try:
            values, vectors = all_copies(find, k)
        except ArpackNoConvergence as error:
            warnings.warn(
                f"The eigenvectors did not converge ({error}); using "
                "eigen_solver='dense'.",
                ConvergenceWarning,
                stacklevel=3,
            )
            return _affinity_eigenpairs(W, k, "dense", rng)
    order = np.argsort(-values, kind="stable")
    return values[order], signed(vectors[:, order])


def _eigen_tol(solver: str, tol: float | None, on_device: bool) -> float:
    if tol is not None:
        return tol
    if on_device and solver in ("auto", "chebyshev"):
        return DEVICE_TOL
    return 0.1 if solver == "multilevel" else 1e-9


def spectral_relaxation(
    W: Any,
    n_components: int,
    *,
    laplacian: str = "symmetric",
    eigen_solver: str = "auto",
    eigen_tol: float | None = None,
    random_state: Any = None,
    device: str | Backend | None = None,
) -> SpectralRelaxation:
    r"""Relax the clustering of the vertices of a graph to an eigenproblem.

    Cluster indicators are relaxed to real n x K matrices H. Depending on `laplacian`,
    solve

    ==============  ================================================================
    "symmetric"     :math:`\min \operatorname{tr}(H^\top L_{sym} H)`, :math:`H^\top H =
                    I`: eigenvectors of :math:`L_{sym} = D^{-1/2} (D - W) D^{-1/2}`
    "random_walk"   :math:`\min \operatorname{tr}(H^\top L H)`, :math:`H^\top D H =
                    I`: :math:`L u = \lambda D u`, the relaxed normalised cut
    "unnormalized"  :math:`\min \operatorname{tr}(H^\top L H)`, :math:`H^\top H =
                    I`: eigenvectors of :math:`L = D - W`, the relaxed ratio cut
    "affinity"      :math:`\max \operatorname{tr}(H^\top W H)`, :math:`H^\top H = I`:
                    eigenvectors of W
    ==============  ================================================================

    for the K smallest eigenvalues, of W for the K largest.

    Parameters
    ----------
    W : {array-like, sparse matrix} of shape (n_vertices, n_vertices)
        Symmetric, non-negative weights, whose diagonal is ignored. For "affinity", any
        symmetric matrix, used as it is.
    n_components : int
        Number K of eigenvectors.
    laplacian : str, default="symmetric"
        Which problem.
    eigen_solver : str, default="auto"
        LAPACK ("dense"), ARPACK with products ("lanczos"), ARPACK with a sparse factor
        ("shift_invert"), a hierarchy of coarser graphs, whose eigenvectors are
        carried back and corrected ("multilevel"), or subspace iteration with a
        Chebyshev filter ("chebyshev"); for "affinity", products take the place of the
        last three. "auto" takes the first for small graphs, and the third where a
        reordering shows that the factor will be sparse, as for neighbours in few
        dimensions. These are also the graphs whose
        eigenvalues are too close for products alone.
    eigen_tol : float or None, default=None
        Relative accuracy of the eigenvalues. None stands for 1e-9, and for 0.1 with
        "multilevel": one correction as a rule, which leaves errors of about one per
        cent. That is enough for clusters. On a GPU None is a residual of 1e-6.
    random_state : int, RandomState instance or None, default=None
        Seed of the first vector of ARPACK.
    device : {"cpu", "cuda"} or None, default=None
        Where "chebyshev" runs; None is the CPU. On a GPU "auto" takes it for large
        sparse graphs, except for "affinity".

    Returns
    -------
    relaxation : SpectralRelaxation
        Eigenvalues and eigenvectors. Eigenvectors of the eigenvalue 0 of a Laplacian
        are exact, from the connected components: with more components than
        `n_components`, those of the largest ones.

    See Also
    --------
    NormalizedSpectralClustering : The clusters.
    sklearn.manifold.spectral_embedding : The random walk, without its first vector.

    References
    ----------
    .. [1] U. von Luxburg, "A tutorial on spectral clustering", Statistics and
       Computing 17, 2007. :doi:`10.1007/s11222-007-9033-z`

    Examples
    --------
    >>> from fewlabels.cluster import spectral_relaxation
    >>> W = [[0, 1, 0, 0], [1, 0, 0.1, 0], [0, 0.1, 0, 1], [0, 0, 1, 0]]
    >>> result = spectral_relaxation(W, 2, laplacian="unnormalized")
    >>> result.eigenvalues.round(3)
    array([0.   , 0.095])
    >>> u = result.vectors[:, 1]
    >>> u * u[0] > 0  # on the side of the first vertex
    array([ True,  True, False, False])
    """
    check_choice("laplacian", laplacian, LAPLACIANS)
    check_choice("eigen_solver", eigen_solver, EIGEN_SOLVERS)
    n = np.shape(W)[0]
    if not 1 <= n_components <= n:
        raise ValueError(
            f"n_components={n_components} must lie between 1 and the number of "
            f"vertices, {n}."
        )
    rng = check_random_state(random_state)
    if laplacian == "affinity":
        W = check_array(W, accept_sparse="csr", dtype=np.float64, input_name="W")
        if W.shape[0] != W.shape[1] or not is_symmetric(W):
            raise ValueError(
                f"W must be square and symmetric, got shape {W.shape}: symmetrise it."
            )
        values, vectors = _affinity_eigenpairs(W, n_components, eigen_solver, rng)
        return SpectralRelaxation(values, vectors, row_sums(W), None)
    pairs = laplacian_eigenpairs(
        W,
        n_components,
        laplacian="unnormalized" if laplacian == "unnormalized" else "symmetric",
        eigen_solver=eigen_solver,
        tol=_eigen_tol(eigen_solver, eigen_tol, not get_backend(device).is_numpy),
        random_state=rng,
        device=device,
    )
    vectors = (
        pairs.random_walk_vectors() if laplacian == "random_walk" else pairs.vectors
    )
    return SpectralRelaxation(pairs.values, vectors, pairs.degrees, pairs.report)


def extend_vectors(
    W_new: Any, relaxation: SpectralRelaxation, laplacian: str
) -> NDArray[np.float64]:
    r"""Extend the eigenvectors of a graph to new vertices.

    A new vertex x with weights w(x, j) to the old ones gets the value with which the
    eigenvector equation would hold at x,

    ==============  ================================================================
    "symmetric"     :math:`\frac{1}{1-\lambda} \sum_j w_{xj} u_j / \sqrt{d_x d_j}`
    "random_walk"   :math:`\frac{1}{1-\lambda} \sum_j w_{xj} u_j / d_x`
    "unnormalized"  :math:`\sum_j w_{xj} u_j / (d_x - \lambda)`
    "affinity"      :math:`\frac{1}{\lambda} \sum_j w_{xj} u_j`
    ==============  ================================================================

    Parameters
    ----------
    W_new : {ndarray, sparse matrix} of shape (n_new, n_vertices)
        Weights from new vertices to the old ones.
    relaxation : SpectralRelaxation
        The eigenvectors.
    laplacian : {"symmetric", "random_walk", "unnormalized", "affinity"}
        What they are eigenvectors of.

    Returns
    -------
    vectors : ndarray of shape (n_new, n_components)
        Zero where x has no weight, and in columns whose equation says nothing about a
        new vertex (a factor of zero).
    """
    values, U = relaxation.eigenvalues, relaxation.vectors
    if laplacian == "affinity":
        return divided(product(W_new, U), values)
    degrees = row_sums(W_new)[:, None]
    if laplacian == "unnormalized":
        return divided(product(W_new, U), np.where(degrees > 0, degrees - values, 0))
    old = relaxation.degrees
    if laplacian == "symmetric":
        scaled = U / np.sqrt(np.where(old > 0, old, 1))[:, None]
        return divided(product(W_new, scaled), np.sqrt(degrees) * (1 - values))
    return divided(product(W_new, U), degrees * (1 - values))


def divided(a: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
    """Divide, giving 0 where the divisor is 0 up to rounding."""
    b = np.broadcast_to(b, a.shape)
    small = 1e-12 * np.max(np.abs(b), initial=0.0)
    return np.divide(a, b, out=np.zeros_like(a), where=np.abs(b) > small)


class NormalizedSpectralClustering(TensorMixin, GraphClusterer):
    r"""Spectral clustering: normalised, unnormalised or of the affinity itself.

    With weights W between rows, degrees :math:`d_i = \sum_j w_{ij}` and L = D - W, the
    rows of K eigenvectors are clustered by k-means:

    ==============  ================================================================
    "symmetric"     of :math:`D^{-1/2} L D^{-1/2}`, rows scaled to length 1 (Ng, Jordan
                    and Weiss [1]_)
    "random_walk"   :math:`L u = \lambda D u`, rows as they are (Shi and Malik [2]_)
    None            of L, rows as they are
    "affinity"      of W for the largest eigenvalues, rows as they are
    ==============  ================================================================

    The first two relax the normalised cut, the third the ratio cut.

    Parameters
    ----------
    n_clusters : int, default=2
        Number K of clusters.
    laplacian : str, default="symmetric"
        Which eigenvectors.
    affinity : {"knn", "precomputed"}, kernel name or callable, default="knn"
        The weights: a graph of nearest neighbours, kernel values (see
        :func:`fewlabels.kernels.resolve_kernel`; these need n x n numbers), or `X`
        itself, dense or sparse.
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
    assign_labels : {"kmeans", "discretize"}, default="kmeans"
        From eigenvectors to clusters: k-means, or the rotation that brings the rows
        nearest to indicators [3]_.
    n_init : int, default=10
        Runs of k-means; the best counts.
    eigen_solver : str, default="auto"
        "auto", "dense", "lanczos", "shift_invert", "multilevel" or "chebyshev".
        See :func:`spectral_relaxation`; "multilevel" is for large sparse graphs.
    eigen_tol : float or None, default=None
        Relative accuracy of the eigenvalues: by default 1e-9, and 0.1 with
        "multilevel".
    random_state : int, RandomState instance or None, default=None
        Seed of k-means and of ARPACK.
    n_jobs : int, default=None
        Threads of the search for neighbours.
    device : {"cpu", "cuda"} or None, default=None
        Where to compute. None follows the rows: NumPy arrays stay on the CPU, tensors
        on their device, and results are returned in the same type. The neighbour
        search, kernel values and the solver "chebyshev", which "auto" uses there for
        large sparse graphs, run on the GPU; k-means on the few eigenvectors runs on the
        CPU.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Clusters, numbered by their first row.
    embedding_ : ndarray of shape (n_samples, n_clusters)
        What was clustered: rows of the eigenvectors.
    cluster_centers_ : ndarray of shape (n_clusters, n_clusters)
        Means of the clusters there.
    relaxation_ : SpectralRelaxation
        Eigenvalues, eigenvectors, degrees and components of the graph.
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
    NystromSpectralClustering : For many rows and a kernel.
    ConstrainedSpectralClustering : With pairs that must or cannot be together.
    sklearn.cluster.SpectralClustering : The random walk, without `predict`.

    Notes
    -----
    If there are more components than clusters, the largest ones are the clusters, with
    a warning.

    New rows are embedded so that the eigenvector equation holds for them, which needs
    their weights to the training rows (passed as `X` for "precomputed"), and assigned
    to the nearest cluster mean. Rows of the training graph keep their embedding.

    References
    ----------
    .. [1] A. Ng, M. Jordan, Y. Weiss, "On spectral clustering: analysis and an
       algorithm", NeurIPS (2001).
    .. [2] J. Shi, J. Malik, "Normalized cuts and image segmentation", IEEE Transactions
       on Pattern Analysis and Machine Intelligence 22 (2000). :doi:`10.1109/34.868688`
    .. [3] S. Yu, J. Shi, "Multiclass spectral clustering", ICCV (2003).
       :doi:`10.1109/ICCV.2003.1238361`

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.cluster import NormalizedSpectralClustering
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(200, noise=0.05, random_state=0)[:2]
    >>> model = NormalizedSpectralClustering(random_state=0).fit(X)
    >>> np.bincount(model.labels_)
    array([100, 100])
    >>> model.predict([[0.0, 1.0], [1.0, -0.5]]).size
    2
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **AFFINITY_CONSTRAINTS,
        "n_clusters": [Interval(Integral, 1, None, closed="left")],
        "laplacian": [StrOptions(set(LAPLACIANS))],
        "assign_labels": [StrOptions(set(ASSIGNMENTS))],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "eigen_solver": [StrOptions(set(EIGEN_SOLVERS))],
        "eigen_tol": [Interval(Real, 0, None, closed="left"), None],
        **DEVICE_CONSTRAINTS,
    }

    def __init__(
        self,
        n_clusters: int = 2,
        *,
        laplacian: str = "symmetric",
        affinity: Any = "knn",
        n_neighbors: int = 10,
        graph_params: dict[str, Any] | None = None,
        gamma: float | str | None = "scale",
        kernel_params: dict[str, Any] | None = None,
        assign_labels: str = "kmeans",
        n_init: int = 10,
        eigen_solver: str = "auto",
        eigen_tol: float | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        device: str | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.laplacian = laplacian
        self.affinity = affinity
        self.n_neighbors = n_neighbors
        self.graph_params = graph_params
        self.gamma = gamma
        self.kernel_params = kernel_params
        self.assign_labels = assign_labels
        self.n_init = n_init
        self.eigen_solver = eigen_solver
        self.eigen_tol = eigen_tol
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.device = device

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
        self._check_n_clusters(self.n_clusters, W.shape[0])
        rng = check_random_state(self.random_state)
        self.relaxation_ = spectral_relaxation(
            W,
            self.n_clusters,
            laplacian=self.laplacian,
            eigen_solver=self.eigen_solver,
            eigen_tol=self.eigen_tol,
            random_state=rng,
            device=backend_for(self),
        )
        if self.relaxation_.connectivity is not None:
            warn_components(self.relaxation_.connectivity, self.n_clusters)
        self.embedding_ = self._rows(self.relaxation_.vectors)
        self.labels_, self.cluster_centers_ = assign_rows(
            self.embedding_,
            self.n_clusters,
            method=self.assign_labels,
            n_init=self.n_init,
            rng=rng,
        )
        return self

    def _weighs_given(self) -> bool:
        return super()._weighs_given() and self.laplacian != "affinity"

    def _rows(self, vectors: NDArray[Any]) -> NDArray[Any]:
        return normalize(vectors) if self.laplacian == "symmetric" else vectors

    def embed(self, X: Any) -> NDArray[np.float64]:
        """Put new rows into the space of eigenvectors.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows; for affinity="precomputed" their weights to all training rows.

        Returns
        -------
        embedding : ndarray of shape (n_samples, n_clusters)
            Like `embedding_`; zero for a row without any weight.
        """
        W = self._weights_to_training_rows(X)
        warn_unjoined(
            row_sums(abs(W)), "training row", "Use a wider kernel, or affinity='knn'."
        )
        return self._rows(extend_vectors(W, self.relaxation_, self.laplacian))

    def predict(self, X: Any) -> NDArray[np.intp]:
        """Assign rows to the clusters.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows; for affinity="precomputed" their weights to all training rows.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            The clusters.
        """
        return nearest_center(self.embed(X), self.cluster_centers_)
