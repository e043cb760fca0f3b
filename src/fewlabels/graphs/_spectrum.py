"""The spectrum of a graph: Fourier transform, components and clusters."""

# SPDX-License-Identifier: BSD-3-Clause

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.cluster import KMeans

from fewlabels._linalg import FLOATS
from fewlabels._sklearn import Interval, StrOptions, check_array, validate_params
from fewlabels.graphs._eigen import (
    EIGEN_SOLVERS,
    SYMMETRIC_KINDS,
    lowest,
    nonzero_eigenpairs,
    spectral,
)

# Up to this many vertices, all eigenvectors of a dense matrix take about a second.
MAX_DENSE = 1000


def check_signals(f: Any, n_vertices: int, name: str = "f") -> NDArray[Any]:
    """One value per vertex, or a column of them for each of several signals."""
    f = check_array(f, ensure_2d=False, dtype=FLOATS, input_name=name)
    if f.ndim not in (1, 2) or f.shape[0] != n_vertices:
        raise ValueError(
            f"{name} has shape {f.shape}, expected one value for each of the "
            f"{n_vertices} vertices: signals are columns."
        )
    return f


def evaluate_response(
    response: Callable[[Any], Any], frequencies: NDArray[Any]
) -> NDArray[np.float64]:
    """Values of a spectral response, checked."""
    values = np.asarray(response(frequencies))
    if values.shape != frequencies.shape:
        raise ValueError(
            f"response turned {frequencies.size} frequencies into an array of shape "
            f"{values.shape}: return one value per frequency."
        )
    if values.dtype.kind not in "fiub" or not np.isfinite(values).all():
        raise ValueError(
            "response gave values that are not finite real numbers: it is evaluated "
            "at all frequencies of the graph, 0 included."
        )
    return values.astype(np.float64)


@dataclass(frozen=True, eq=False)
class GraphFourierTransform:
    r"""Transform signals on a graph to its frequencies and back.

    With orthonormal eigenvectors of the Laplacian, :math:`L = U \Lambda U^\top`,

    .. math:: \hat f = U^\top f, \qquad f = U \hat f .

    Made by :func:`graph_fourier`, :func:`graph_pca` and :func:`graph_mca`. With fewer
    frequencies than vertices, transforming and transforming back is a projection.

    Parameters
    ----------
    eigenvalues : ndarray of shape (n_frequencies,)
        The frequencies, in increasing order.
    basis : ndarray of shape (n_vertices, n_frequencies)
        Eigenvectors in columns. The entry of largest magnitude is positive.

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.graphs import graph_fourier
    >>> fourier = graph_fourier([[0, 1, 0], [1, 0, 1], [0, 1, 0]])
    >>> fourier.eigenvalues.round(6)
    array([0., 1., 3.])
    >>> spectrum = fourier.transform([1.0, 2.0, 3.0])
    >>> fourier.inverse_transform(spectrum).round(6)
    array([1., 2., 3.])
    """

    eigenvalues: NDArray[np.float64]
    basis: NDArray[np.float64]

    def transform(self, f: ArrayLike) -> NDArray[np.float64]:
        r"""Expand signals in the eigenvectors, :math:`\hat f = U^\top f`.

        Parameters
        ----------
        f : array-like of shape (n_vertices,) or (n_vertices, n_signals)
            One signal, or one in each column.

        Returns
        -------
        coefficients : ndarray of shape (n_frequencies,) or (n_frequencies, n_signals)
            The graph Fourier transform.
        """
        return self.basis.T @ check_signals(f, self.basis.shape[0])

    def inverse_transform(self, coefficients: ArrayLike) -> NDArray[np.float64]:
        r"""Compose signals from their coefficients, :math:`f = U \hat f`.

        Parameters
        ----------
        coefficients : array-like of shape (n_frequencies,) or 2-d with a column each
            Coefficients as returned by `transform`.

        Returns
        -------
        f : ndarray of shape (n_vertices,) or (n_vertices, n_signals)
            The signals.
        """
        found = np.asarray(coefficients, dtype=np.float64)
        if found.ndim not in (1, 2) or found.shape[0] != self.eigenvalues.size:
            raise ValueError(
                f"coefficients has shape {found.shape}, expected one for each of the "
                f"{self.eigenvalues.size} frequencies."
            )
        return self.basis @ found

    def convolve(
        self, f: ArrayLike, response: Callable[[Any], Any] | ArrayLike
    ) -> NDArray[np.float64]:
        r"""Convolve signals with a filter given by its response.

        .. math:: (f * h)_G = U \, \mathrm{diag}(\hat h) \, U^\top f

        Parameters
        ----------
        f : array-like of shape (n_vertices,) or (n_vertices, n_signals)
            One signal, or one in each column.
        response : callable or array-like of shape (n_frequencies,)
            The transfer function: a function of an array of eigenvalues, or its value
            at each. The transform of another signal is possible too, but that product
            depends on the signs of the eigenvectors, and on their choice within an
            eigenspace.

        Returns
        -------
        filtered : ndarray of shape (n_vertices,) or (n_vertices, n_signals)
            The convolution.
        """
        given = response if callable(response) else lambda _: np.asarray(response)
        h = evaluate_response(given, self.eigenvalues)
        return self.basis @ (h * self.transform(f).T).T


_CONSTRAINTS: dict[str, list[Any]] = {
    "W": ["array-like", "sparse matrix"],
    "n_components": [Interval(Integral, 1, None, closed="left")],
    "laplacian": [StrOptions(set(SYMMETRIC_KINDS))],
    "eigen_solver": [StrOptions(set(EIGEN_SOLVERS))],
}


@validate_params(
    {**_CONSTRAINTS, "n_components": [*_CONSTRAINTS["n_components"], None]},
    prefer_skip_nested_validation=True,
)
def graph_fourier(
    W: Any,
    n_components: int | None = None,
    *,
    laplacian: str = "unnormalized",
    eigen_solver: str = "auto",
) -> GraphFourierTransform:
    r"""Frequencies of a graph, from the lowest, and the transform to them.

    The eigenvalues of the Laplacian are frequencies: an eigenvector u has
    :math:`u^\top L u = \lambda`, so it changes little along edges where
    :math:`\lambda` is small. Eigenvectors of the frequency 0 are known exactly, one
    for each connected component: constants there, or multiples of the roots of the
    degrees with ``laplacian="symmetric"``.

    Parameters
    ----------
    W : {array-like, sparse matrix} of shape (n_vertices, n_vertices)
        Symmetric, non-negative weights.
    n_components : int, default=None
        Number of frequencies, from the lowest; None for all, which needs a dense
        matrix and some seconds for 2,000 vertices.
    laplacian : {"unnormalized", "symmetric"}, default="unnormalized"
        Which Laplacian, see :func:`graph_laplacian`.
    eigen_solver : str, default="auto"
        "auto", "dense", "lanczos", "shift_invert", "multilevel" or "chebyshev".
        "lanczos" only multiplies by the Laplacian, "shift_invert" factors it. "auto"
        uses "dense" up to 600 vertices or for more than a quarter of the spectrum, else
        "shift_invert" if the factor is sparse too, as in graphs of rows with few
        features, and "lanczos" otherwise.

    Returns
    -------
    fourier : GraphFourierTransform
        Eigenvalues and eigenvectors, with the methods `transform`,
        `inverse_transform` and `convolve`.

    Warns
    -----
    ConvergenceWarning
        If an iterative solver does not converge; a factorisation is used instead.

    See Also
    --------
    GraphFilter : Filters without eigenvectors.
    graph_mca : The lowest frequencies that are not 0.
    graph_pca : The highest frequencies.

    References
    ----------
    .. [1] D. I. Shuman, S. K. Narang, P. Frossard, A. Ortega and P. Vandergheynst,
       "The emerging field of signal processing on graphs", IEEE Signal Processing
       Magazine 30, 2013. :doi:`10.1109/MSP.2012.2235192`

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.graphs import graph_fourier
    >>> ring = np.roll(np.eye(6), 1, axis=0) + np.roll(np.eye(6), -1, axis=0)
    >>> fourier = graph_fourier(ring)
    >>> fourier.eigenvalues.round(6)
    array([0., 1., 1., 3., 3., 4.])
    >>> fourier.transform(np.ones(6)).round(6)[0]  # sqrt(n) times the mean
    np.float64(2.44949)
    """
    graph = spectral(W, laplacian)
    n_components = _check_n_components(n_components, graph.L.shape[0])
    pairs = lowest(graph, n_components, solver=eigen_solver)
    return GraphFourierTransform(pairs.values, pairs.vectors)


def _check_n_components(n_components: int | None, limit: int) -> int:
    if n_components is None:
        return limit
    if n_components > limit:
        raise ValueError(
            f"n_components={n_components} is more than the {limit} eigenvectors there "
            "are: ask for fewer."
        )
    return n_components


@validate_params(_CONSTRAINTS, prefer_skip_nested_validation=True)
def graph_pca(
    W: Any,
    n_components: int,
    *,
    laplacian: str = "unnormalized",
    eigen_solver: str = "auto",
) -> GraphFourierTransform:
    r"""Principal components of a graph: its highest frequencies.

    These eigenvectors change sign along edges; they show contrasts between
    neighbours. For clusters and smooth coordinates use :func:`graph_mca`.

    Parameters
    ----------
    W : {array-like, sparse matrix} of shape (n_vertices, n_vertices)
        Symmetric, non-negative weights.
    n_components : int
        Number of components, at most the number of non-zero eigenvalues.
    laplacian : {"unnormalized", "symmetric"}, default="unnormalized"
        Which Laplacian, see :func:`graph_laplacian`.
    eigen_solver : str, default="auto"
        "auto", "dense", "lanczos", "shift_invert", "multilevel" or "chebyshev".
        See :func:`graph_fourier`; "auto" never uses "shift_invert" at this end, where
        products are faster.

    Returns
    -------
    components : GraphFourierTransform
        The `n_components` largest eigenvalues, in increasing order, and their
        eigenvectors: coordinates of the vertices as rows of `basis`, projections of
        signals by `transform`.

    See Also
    --------
    graph_mca : The other end of the spectrum.

    Examples
    --------
    >>> from fewlabels.graphs import graph_pca
    >>> components = graph_pca([[0, 1, 0], [1, 0, 1], [0, 1, 0]], 1)
    >>> components.eigenvalues.round(6)
    array([3.])
    >>> components.basis.ravel().round(3)
    array([-0.408,  0.816, -0.408])
    """
    graph = spectral(W, laplacian)
    n, p = graph.null.shape
    n_components = _check_n_components(n_components, n - p)
    return GraphFourierTransform(
        *nonzero_eigenpairs(graph, n_components, largest=True, solver=eigen_solver)
    )


@validate_params(_CONSTRAINTS, prefer_skip_nested_validation=True)
def graph_mca(
    W: Any,
    n_components: int,
    *,
    laplacian: str = "unnormalized",
    eigen_solver: str = "auto",
) -> GraphFourierTransform:
    r"""Minor components of a graph: its lowest frequencies that are not 0.

    Apart from signals that are constant on components, these are the smoothest signals:
    the coordinates of Laplacian eigenmaps. There are as many zeros as components, and
    their eigenvectors are removed exactly.

    Parameters
    ----------
    W : {array-like, sparse matrix} of shape (n_vertices, n_vertices)
        Symmetric, non-negative weights.
    n_components : int
        Number of components, at most the number of non-zero eigenvalues.
    laplacian : {"unnormalized", "symmetric"}, default="unnormalized"
        Which Laplacian, see :func:`graph_laplacian`.
    eigen_solver : str, default="auto"
        "auto", "dense", "lanczos", "shift_invert", "multilevel" or "chebyshev".
        See :func:`graph_fourier`.

    Returns
    -------
    components : GraphFourierTransform
        The `n_components` smallest non-zero eigenvalues, in increasing order, and
        their eigenvectors: coordinates of the vertices as rows of `basis`,
        projections of signals by `transform`.

    See Also
    --------
    graph_pca : The other end of the spectrum.

    References
    ----------
    .. [1] M. Belkin and P. Niyogi, "Laplacian eigenmaps for dimensionality reduction
       and data representation", Neural Computation 15, 2003.
       :doi:`10.1162/089976603321780317`

    Examples
    --------
    >>> from fewlabels.graphs import graph_mca
    >>> components = graph_mca([[0, 1, 0], [1, 0, 1], [0, 1, 0]], 1)
    >>> components.eigenvalues.round(6)
    array([1.])
    >>> abs(components.basis.ravel().round(3))
    array([0.707, 0.   , 0.707])
    """
    graph = spectral(W, laplacian)
    n, p = graph.null.shape
    n_components = _check_n_components(n_components, n - p)
    return GraphFourierTransform(
        *nonzero_eigenpairs(graph, n_components, solver=eigen_solver)
    )


def _largest_gap(values: NDArray[Any], n_zeros: int, max_clusters: int) -> int:
    """Position of the largest gap among the lowest eigenvalues, after the zeros."""
    if n_zeros >= max_clusters:
        if n_zeros > max_clusters:
            warnings.warn(
                f"The graph has {n_zeros} components, which is more than "
                f"max_clusters={max_clusters}: each counts as a cluster. Use more "
                "neighbours, or raise max_clusters.",
                UserWarning,
                stacklevel=3,
            )
        return n_zeros
    gaps = np.diff(values[n_zeros - 1 :])
    return n_zeros + int(np.argmax(gaps)) if gaps.size else n_zeros


_CLUSTER_CONSTRAINTS: dict[str, list[Any]] = {
    **_CONSTRAINTS,
    "max_clusters": [Interval(Integral, 1, None, closed="left")],
}
del _CLUSTER_CONSTRAINTS["n_components"]


@validate_params(_CLUSTER_CONSTRAINTS, prefer_skip_nested_validation=True)
def eigengap_n_clusters(
    W: Any,
    *,
    max_clusters: int = 10,
    laplacian: str = "symmetric",
    eigen_solver: str = "auto",
) -> int:
    r"""Estimate the number of clusters from the lowest eigenvalues of a graph.

    K clusters without any edge between them give K eigenvalues 0; with weak edges
    these become small, and the largest gap

    .. math:: K = \arg\max_k \, (\lambda_{k+1} - \lambda_k)

    follows them. Components are never merged: K is at least their number. Round
    clusters have such a gap. Elongated ones do not, since their eigenvalues begin with
    small steps that grow.

    Parameters
    ----------
    W : {array-like, sparse matrix} of shape (n_vertices, n_vertices)
        Symmetric, non-negative weights.
    max_clusters : int, default=10
        Largest K considered.
    laplacian : {"unnormalized", "symmetric"}, default="symmetric"
        Which Laplacian. The eigenvalues of "symmetric" do not depend on the scale of
        the weights, nor on how dense a cluster is.
    eigen_solver : str, default="auto"
        "auto", "dense", "lanczos", "shift_invert", "multilevel" or "chebyshev".
        See :func:`graph_fourier`.

    Returns
    -------
    n_clusters : int
        The estimate K.

    Warns
    -----
    UserWarning
        If the graph has more components than `max_clusters`; their number is returned.

    References
    ----------
    .. [1] U. von Luxburg, "A tutorial on spectral clustering", Statistics and
       Computing 17, 2007. :doi:`10.1007/s11222-007-9033-z`

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from fewlabels.graphs import eigengap_n_clusters, similarity_graph
    >>> X, _ = make_blobs(200, centers=4, cluster_std=0.5, random_state=0)
    >>> eigengap_n_clusters(similarity_graph(X, n_neighbors=20))
    4
    """
    graph = spectral(W, laplacian)
    n, p = graph.null.shape
    pairs = lowest(graph, min(max_clusters + 1, n), solver=eigen_solver)
    return _largest_gap(pairs.values, p, max_clusters)


@validate_params(
    {
        **_CLUSTER_CONSTRAINTS,
        "n_clusters": [
            Interval(Integral, 1, None, closed="left"),
            StrOptions({"eigengap"}),
        ],
        "random_state": ["random_state"],
    },
    prefer_skip_nested_validation=True,
)
def graph_kmeans(
    W: Any,
    n_clusters: int | str = "eigengap",
    *,
    max_clusters: int = 10,
    laplacian: str = "symmetric",
    eigen_solver: str = "auto",
    random_state: Any = None,
) -> NDArray[np.intp]:
    r"""Cluster the vertices of a graph by k-means on its lowest eigenvectors.

    Vertex i has the coordinates :math:`u_1(i), \dots, u_K(i)`, for
    ``laplacian="symmetric"`` divided by :math:`\sqrt{d_i}`, so that they are constant
    on each of K components.

    Parameters
    ----------
    W : {array-like, sparse matrix} of shape (n_vertices, n_vertices)
        Symmetric, non-negative weights.
    n_clusters : int or "eigengap", default="eigengap"
        Number of clusters K; "eigengap" uses :func:`eigengap_n_clusters`.
    max_clusters : int, default=10
        Largest number that "eigengap" considers.
    laplacian : {"unnormalized", "symmetric"}, default="symmetric"
        Which Laplacian, see :func:`graph_laplacian`.
    eigen_solver : str, default="auto"
        "auto", "dense", "lanczos", "shift_invert", "multilevel" or "chebyshev".
        See :func:`graph_fourier`.
    random_state : int, RandomState instance or None, default=None
        Seed of :class:`sklearn.cluster.KMeans`.

    Returns
    -------
    labels : ndarray of int of shape (n_vertices,)
        Cluster of every vertex.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from fewlabels.graphs import graph_kmeans, similarity_graph
    >>> X, y = make_moons(200, noise=0.05, random_state=0)
    >>> labels = graph_kmeans(similarity_graph(X, n_neighbors=8), 2, random_state=0)
    >>> bool((labels == y).all() or (labels == 1 - y).all())
    True
    """
    graph = spectral(W, laplacian)
    n, p = graph.null.shape
    if n_clusters == "eigengap":
        pairs = lowest(graph, min(max_clusters + 1, n), solver=eigen_solver)
        K = _largest_gap(pairs.values, p, max_clusters)
        if K > pairs.values.size:  # more components than were asked for
            pairs = lowest(graph, K, solver=eigen_solver)
    else:
        K = int(n_clusters)
        if n < K:
            raise ValueError(
                f"n_clusters={K} is more than the {n} vertices: ask for fewer."
            )
        pairs = lowest(graph, K, solver=eigen_solver)
    symmetric = laplacian == "symmetric"
    vectors = (pairs.random_walk_vectors() if symmetric else pairs.vectors)[:, :K]
    model = KMeans(vectors.shape[1], n_init=10, random_state=random_state)
    return model.fit_predict(vectors).astype(np.intp)
