"""Spectral clustering of many rows, from some columns of their affinity."""

# SPDX-License-Identifier: BSD-3-Clause

import warnings
from dataclasses import dataclass
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import normalize
from sklearn.utils import Tags, check_random_state, gen_batches

from fewlabels._linalg import FLOATS, eigh_between, signs
from fewlabels._params import check_choice
from fewlabels._sklearn import (
    Interval,
    StrOptions,
    fit_context,
    validate_data,
    validate_fitted,
)
from fewlabels.cluster._assign import assign_rows, nearest_center, warn_unjoined
from fewlabels.exceptions import warn_ignored
from fewlabels.kernels import (
    KERNEL_CONSTRAINTS,
    is_precomputed,
    nystrom_from_columns,
    resolve_kernel,
)

# Affinities computed at once, 2 MiB: what stays in the cache of a core.
BLOCK = 2**18
# Eigenvalues up to this share of the largest are not divided by.
SMALLEST = 1e-6

METHODS = ("bipartite", "affinity", "laplacian")


@dataclass(frozen=True, eq=False)
class NystromRelaxation:
    """Result of :func:`nystrom_relaxation`.

    Attributes
    ----------
    vectors : ndarray of shape (n_samples, n_components)
        Approximate eigenvectors of the normalised affinity as columns.
    eigenvalues : ndarray of shape (n_components,)
        Their eigenvalues (for "bipartite", singular values): of the normalised affinity
        in decreasing order, of the Laplacian in increasing order.
    mapping : ndarray of shape (n_landmarks, n_components)
        What takes affinities to the landmarks, divided by the root of their sum, to a
        row of `vectors`.
    row_sums : ndarray of shape (n_samples,)
        Sums of the affinities of every row to the landmarks.
    """

    vectors: NDArray[Any]
    eigenvalues: NDArray[Any]
    mapping: NDArray[Any]
    row_sums: NDArray[Any]


def _unit_rows(vectors: NDArray[Any]) -> NDArray[Any]:
    """Rows of length 1; a column of zeros where there is no vector at all."""
    return normalize(vectors) if vectors.shape[1] else np.zeros((len(vectors), 1))


def _inverse_root(sums: NDArray[Any]) -> NDArray[Any]:
    """Return 1 / sqrt, and 0 where there is nothing to divide."""
    out = np.zeros_like(sums)
    return np.divide(1.0, np.sqrt(sums), out=out, where=sums > 0)


def nystrom_relaxation(
    C: NDArray[Any],
    indices: NDArray[np.intp],
    n_components: int,
    *,
    n_landmark_components: int | None = None,
    method: str = "bipartite",
) -> NystromRelaxation:
    r"""Approximate the eigenvectors of a normalised affinity from some columns.

    With affinities :math:`a_{ij}` of all n rows i to l landmarks j (zero for i = j) and
    :math:`r_i = \sum_j a_{ij}`, :math:`c_j = \sum_i a_{ij}`, by `method`,

    ===========  ===================================================================
    "bipartite"  left singular vectors of :math:`a_{ij} / \sqrt{r_i c_j}`: spectral
                 clustering of the graph between rows and landmarks
    "affinity"   eigenvectors of :math:`a_{ij} / \sqrt{r_i r_j}` at the landmarks,
                 extended to all rows by the Nyström method
    "laplacian"  the same with :math:`\delta_{ij} - \sqrt{l/n} \, a_{ij} / \sqrt{r_i
                 c_j}`, symmetrised at the landmarks, as it is printed in [1]_
    ===========  ===================================================================

    All are exact if all rows are landmarks (the first as long as no eigenvalue is near
    -1, which it takes for 1). The first uses all rows to find its vectors, the second
    only the landmarks, and so needs more of them. The last one loses the informative
    vectors, those of the smallest eigenvalues, if `n_landmark_components` is
    below the number of landmarks, and divides by these eigenvalues if it is not.

    Parameters
    ----------
    C : ndarray of shape (n_samples, n_landmarks)
        Non-negative affinities to the landmarks; overwritten.
    indices : ndarray of shape (n_landmarks,)
        Which rows the landmarks are.
    n_components : int
        Number of eigenvectors.
    n_landmark_components : int, default=None
        Eigenvectors of largest eigenvalue that "laplacian" keeps, before it takes the
        `n_components` smallest of them; all when None.
    method : {"bipartite", "affinity", "laplacian"}, default="bipartite"
        What is approximated, and how.

    Returns
    -------
    relaxation : NystromRelaxation
        The eigenvectors, and what continues them to new rows. There may be fewer than
        `n_components`, as vectors of eigenvalues that are not positive cannot be
        extended.

    References
    ----------
    .. [1] A. Choromanska, T. Jebara, H. Kim, M. Mohan, C. Monteleoni, "Fast spectral
       clustering via the Nyström method", ALT (2013).
       :doi:`10.1007/978-3-642-40935-6_26`
    .. [2] D. Cai, X. Chen, "Large scale spectral clustering via landmark-based sparse
       representation", IEEE Transactions on Cybernetics 45 (2015).
       :doi:`10.1109/TCYB.2014.2358564`

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.cluster import nystrom_relaxation
    >>> A = np.array([[0, 1, 0, 0], [1, 0, 0.1, 0], [0, 0.1, 0, 1], [0, 0, 1, 0]])
    >>> everything = np.arange(4)  # all columns: exact
    >>> result = nystrom_relaxation(A.copy(), everything, 2, method="affinity")
    >>> result.eigenvalues.round(3)
    array([1.   , 0.909])
    """
    check_choice("method", method, METHODS)
    if C.min() < 0:
        raise ValueError(
            f"The affinities are negative (down to {C.min():.3g}): use a kernel that "
            "is not, such as 'rbf'."
        )
    if n_landmark_components is not None and method != "laplacian":
        ignored = f"n_landmark_components={n_landmark_components}"
        warn_ignored(ignored, f"method={method!r} does not use it")
    n, n_landmarks = C.shape
    C[indices, np.arange(n_landmarks)] = 0
    sums = C.sum(axis=1)
    rows = _inverse_root(sums)
    columns = rows[indices] if method == "affinity" else _inverse_root(C.sum(axis=0))
    if method == "laplacian":
        columns *= -np.sqrt(n_landmarks / n)
    C *= rows[:, None]
    C *= columns
    if method == "bipartite":
        values, mapping = _singular_vectors(C, n_components)
        vectors = C @ mapping
    else:
        if method == "laplacian":
            C[indices, np.arange(n_landmarks)] += 1
        # A cut well above rounding: extending divides by the eigenvalue.
        eigen = nystrom_from_columns(
            C, indices, n_components=n_landmark_components, tol=SMALLEST
        )
        kept = np.arange(eigen.eigenvalues.size)
        kept = (kept if method == "affinity" else kept[::-1])[:n_components]
        values = eigen.eigenvalues[kept] * (n_landmarks / n)
        vectors, mapping = eigen.eigenvectors[:, kept], eigen.mapping[:, kept]
    flips = signs(vectors).astype(C.dtype)
    return NystromRelaxation(
        vectors * flips, values, columns[:, None] * mapping * flips, sums
    )


def _singular_vectors(B: NDArray[Any], k: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """Largest singular values of B, and what takes B to its left singular vectors."""
    n_landmarks = B.shape[1]
    k = min(k, n_landmarks)
    squares, V = eigh_between(
        (B.T @ B).astype(np.float64), n_landmarks - k, n_landmarks - 1
    )
    squares, V = squares[::-1], V[:, ::-1]
    kept = squares > SMALLEST * max(float(squares[0]), 0.0)
    values = np.sqrt(squares[kept])
    return values, (V[:, kept] / values).astype(B.dtype)


class NystromSpectralClustering(ClusterMixin, BaseEstimator):
    r"""Spectral clustering of many rows by their affinities to some of them.

    The eigenvectors of the normalised affinity :math:`D^{-1/2} A D^{-1/2}` are
    approximated from its columns at l landmarks, see :func:`nystrom_relaxation`; their
    rows, scaled to length 1, are clustered by k-means. Memory grows like n l, time like
    n l^2 at most, and no array of size n x n exists. With all rows as landmarks this is
    ``NormalizedSpectralClustering(laplacian="symmetric")``.

    Parameters
    ----------
    n_clusters : int, default=2
        Number of clusters.
    n_landmarks : int, default=200
        Rows drawn as landmarks; all if there are fewer.
    n_landmark_components : int, default=None
        Eigenvectors that "laplacian" keeps at the landmarks; all when None.
    method : {"bipartite", "affinity", "laplacian"}, default="bipartite"
        See :func:`nystrom_relaxation`: singular vectors between rows and landmarks
        [3]_, eigenvectors of the landmarks extended to all rows, or the algorithm as
        printed in [1]_, for comparison.
    kernel : str, callable or GP kernel, default="rbf"
        A kernel without negative values, see
        :func:`fewlabels.kernels.resolve_kernel`; "precomputed" for `X` of affinities to
        all training rows (only the columns at the landmarks are read).
    gamma : float, {"scale", "median", "range"} or None, default="scale"
        See :func:`fewlabels.kernels.resolve_kernel`.
    kernel_params : dict, default=None
        Further parameters of the kernel: `degree` and `coef0` of a named one, keywords
        of a callable.
    n_init : int, default=10
        Runs of k-means; the best counts.
    random_state : int, RandomState instance or None, default=None
        Seed of the draw and of k-means.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Clusters, numbered by their first row.
    embedding_ : ndarray of shape (n_samples, n_clusters)
        What was clustered: rows of the eigenvectors, of length 1.
    cluster_centers_ : ndarray of shape (n_clusters, n_clusters)
        Means of the clusters there.
    eigenvalues_ : ndarray of shape (n_clusters,)
        Approximate eigenvalues.
    landmark_indices_ : ndarray of shape (n_landmarks,)
        Which rows are landmarks.
    landmarks_ : {ndarray, sparse matrix} or None
        The landmarks; None for a precomputed kernel.
    kernel_ : Kernel
        The kernel with its parameters as numbers.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, where `X` had any.

    See Also
    --------
    NormalizedSpectralClustering : With a sparse graph, or all of the kernel matrix.

    Notes
    -----
    The width of the kernel determines the clusters. Every landmark must reach the next
    one in its cluster, so a narrower kernel needs more landmarks.

    References
    ----------
    .. [1] A. Choromanska, T. Jebara, H. Kim, M. Mohan, C. Monteleoni, "Fast spectral
       clustering via the Nyström method", ALT (2013).
       :doi:`10.1007/978-3-642-40935-6_26`
    .. [2] C. Fowlkes, S. Belongie, F. Chung, J. Malik, "Spectral grouping using the
       Nyström method", IEEE Transactions on Pattern Analysis and Machine Intelligence
       26 (2004). :doi:`10.1109/TPAMI.2004.1262185`
    .. [3] D. Cai, X. Chen, "Large scale spectral clustering via landmark-based sparse
       representation", IEEE Transactions on Cybernetics 45 (2015).
       :doi:`10.1109/TCYB.2014.2358564`

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.cluster import NystromSpectralClustering
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(2000, noise=0.05, random_state=0)[:2]
    >>> model = NystromSpectralClustering(gamma=50.0, random_state=0).fit(X)
    >>> np.bincount(model.labels_)
    array([1000, 1000])
    >>> model.predict([[0.0, 1.0], [1.0, -0.5]]).size
    2
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **KERNEL_CONSTRAINTS,
        "n_clusters": [Interval(Integral, 1, None, closed="left")],
        "n_landmarks": [Interval(Integral, 1, None, closed="left")],
        "n_landmark_components": [Interval(Integral, 1, None, closed="left"), None],
        "method": [StrOptions(set(METHODS))],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_clusters: int = 2,
        *,
        n_landmarks: int = 200,
        n_landmark_components: int | None = None,
        method: str = "bipartite",
        kernel: Any = "rbf",
        gamma: float | str | None = "scale",
        kernel_params: dict[str, Any] | None = None,
        n_init: int = 10,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.n_landmarks = n_landmarks
        self.n_landmark_components = n_landmark_components
        self.method = method
        self.kernel = kernel
        self.gamma = gamma
        self.kernel_params = kernel_params
        self.n_init = n_init
        self.random_state = random_state

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the clusters.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows; the square matrix of affinities for kernel="precomputed".
        y : None
            Not used.

        Returns
        -------
        self : object
            The fitted model.
        """
        X = validate_data(
            self,
            X,
            accept_sparse="csr",
            dtype=FLOATS,
            ensure_non_negative=is_precomputed(self.kernel),
        )
        n = X.shape[0]
        n_landmarks = min(self.n_landmarks, n)
        if n_landmarks < self.n_clusters:
            raise ValueError(
                f"n_landmarks={self.n_landmarks} of n_samples={n} rows cannot tell "
                f"n_clusters={self.n_clusters} clusters apart: ask for fewer clusters "
                "or more landmarks."
            )
        kept = self.n_landmark_components
        if kept is not None and kept < self.n_clusters:
            raise ValueError(
                f"n_landmark_components={kept} is below n_clusters={self.n_clusters}: "
                "keep more."
            )
        rng = check_random_state(self.random_state)
        self.kernel_ = resolve_kernel(
            X, self.kernel, gamma=self.gamma, kernel_params=self.kernel_params
        )
        if self.kernel_.is_precomputed and X.shape[0] != X.shape[1]:
            raise ValueError(
                "kernel='precomputed' needs a square matrix of affinities X in fit, "
                f"got shape {X.shape}."
            )
        chosen = rng.choice(n, n_landmarks, replace=False)
        self.landmark_indices_ = chosen
        self.landmarks_ = None if self.kernel_.is_precomputed else X[chosen]
        relaxation = nystrom_relaxation(
            self._affinities(X),
            chosen,
            self.n_clusters,
            n_landmark_components=self.n_landmark_components,
            method=self.method,
        )
        found = relaxation.eigenvalues.size
        if found < self.n_clusters:
            warnings.warn(
                f"Only {found} of n_clusters={self.n_clusters} eigenvectors could be "
                "extended to all rows: use more landmarks or a narrower kernel.",
                ConvergenceWarning,
                stacklevel=2,
            )
        warn_unjoined(relaxation.row_sums, "landmark", _REMEDY)
        self.eigenvalues_ = relaxation.eigenvalues
        self._mapping = relaxation.mapping
        self.embedding_ = _unit_rows(relaxation.vectors)
        self.labels_, self.cluster_centers_ = assign_rows(
            self.embedding_,
            self.n_clusters,
            method="kmeans",
            n_init=self.n_init,
            rng=rng,
        )
        return self

    def _affinities(self, X: Any) -> NDArray[Any]:
        """Affinities to the landmarks, in an array of its own."""
        if self.kernel_.is_precomputed:
            C = X[:, self.landmark_indices_]
            return C.toarray() if hasattr(C, "toarray") else C
        out = np.empty((X.shape[0], self.landmark_indices_.size), dtype=X.dtype)
        # Kernels take several arrays of the size of their result while they work.
        step = max(1, BLOCK // out.shape[1])
        for batch in gen_batches(X.shape[0], step):
            out[batch] = self.kernel_(X[batch], self.landmarks_)
        return out

    def embed(self, X: Any) -> NDArray[Any]:
        """Put rows into the space of eigenvectors.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows; for a precomputed kernel their affinities to all training rows.

        Returns
        -------
        embedding : ndarray of shape (n_samples, n_clusters)
            Like `embedding_`; zero for a row without affinity to any landmark.
        """
        X = validate_fitted(self, X, accept_sparse="csr", dtype=FLOATS)
        C = self._affinities(X)
        warn_unjoined(C.sum(axis=1), "landmark", _REMEDY)
        return _unit_rows(C @ self._mapping)  # the scale of a row does not matter

    def predict(self, X: Any) -> NDArray[np.intp]:
        """Assign rows to the clusters.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows; for a precomputed kernel their affinities to all training rows.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            The clusters.
        """
        return nearest_center(self.embed(X), self.cluster_centers_)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = is_precomputed(self.kernel)
        tags.input_tags.positive_only = is_precomputed(self.kernel)
        tags.input_tags.sparse = True
        return tags


_REMEDY = "Use a wider kernel or more landmarks (n_landmarks)."
