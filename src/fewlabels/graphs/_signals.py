"""Variation of signals along edges, and denoising."""

# SPDX-License-Identifier: BSD-3-Clause

import warnings
from collections.abc import Callable
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import linalg
from scipy.sparse import csc_array, csr_array, diags_array, eye_array, issparse, triu
from scipy.sparse.linalg import cg
from sklearn.exceptions import ConvergenceWarning

from fewlabels._sklearn import Interval, StrOptions, validate_params
from fewlabels.graphs._edges import row_indices
from fewlabels.graphs._eigen import SYMMETRIC_KINDS, spectral
from fewlabels.graphs._eigen_parts import deflated, sparse_factor
from fewlabels.graphs._laplacian import check_weights
from fewlabels.graphs._similarity import similarity_graph
from fewlabels.graphs._spectrum import MAX_DENSE, check_signals

_CONSTRAINTS: dict[str, list[Any]] = {
    "W": ["array-like", "sparse matrix"],
    "f": ["array-like"],
    "laplacian": [StrOptions(set(SYMMETRIC_KINDS))],
}


def _directed_edges(W: Any) -> csr_array:
    W = csr_array(check_weights(W)).astype(np.float64)
    W.eliminate_zeros()
    return W


def _roots(
    W: Any, rows: NDArray[Any], columns: NDArray[Any], weights: Any, laplacian: str
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Factors of the two ends of every edge in its derivative."""
    if laplacian == "unnormalized":
        root = np.sqrt(weights)
        return root, root
    degrees = W.sum(axis=1)
    return np.sqrt(weights / degrees[rows]), np.sqrt(weights / degrees[columns])


@validate_params(
    {"W": _CONSTRAINTS["W"], "laplacian": _CONSTRAINTS["laplacian"]},
    prefer_skip_nested_validation=True,
)
def graph_gradient(W: Any, laplacian: str = "unnormalized") -> csr_array:
    r"""Gradient on a graph: the matrix that maps signals to differences along edges.

    The row of the edge (i, j), i < j, gives :math:`\sqrt{w_{ij}} (f_i - f_j)`, or with
    ``laplacian="symmetric"`` the edge derivative
    :math:`\sqrt{w_{ij} / d_i} f_i - \sqrt{w_{ij} / d_j} f_j`. Either way
    :math:`G^\top G` is the Laplacian of that kind, and :math:`-G^\top` the divergence.

    Parameters
    ----------
    W : {array-like, sparse matrix} of shape (n_vertices, n_vertices)
        Symmetric, non-negative weights.
    laplacian : {"unnormalized", "symmetric"}, default="unnormalized"
        Which Laplacian it belongs to.

    Returns
    -------
    G : csr_array of shape (n_edges, n_vertices)
        The gradient, edges in the order of the upper triangle of `W` by rows.

    See Also
    --------
    edge_derivative : The values at both ends of every edge, as a matrix like `W`.

    Examples
    --------
    >>> from fewlabels.graphs import graph_gradient
    >>> G = graph_gradient([[0, 4, 0], [4, 0, 1], [0, 1, 0]])
    >>> G.toarray()
    array([[ 2., -2.,  0.],
           [ 0.,  1., -1.]])
    >>> (G.T @ G).toarray()
    array([[ 4., -4.,  0.],
           [-4.,  5., -1.],
           [ 0., -1.,  1.]])
    """
    W = _directed_edges(W)
    edges = csr_array(triu(W)).tocoo()
    at_row, at_column = _roots(W, edges.row, edges.col, edges.data, laplacian)
    numbers = np.arange(edges.nnz)
    return csr_array(
        (
            np.concatenate([at_row, -at_column]),
            (np.tile(numbers, 2), np.concatenate([edges.row, edges.col])),
        ),
        shape=(edges.nnz, W.shape[0]),
    )


def _derivative(W: csr_array, f: NDArray[Any], laplacian: str) -> csr_array:
    rows, columns = row_indices(W), W.indices
    here, there = _roots(W, rows, columns, W.data, laplacian)
    values = here * f[rows] - there * f[columns]
    return csr_array((values, columns.copy(), W.indptr.copy()), shape=W.shape)


@validate_params(_CONSTRAINTS, prefer_skip_nested_validation=True)
def edge_derivative(W: Any, f: ArrayLike, *, laplacian: str = "symmetric") -> csr_array:
    r"""Differentiate a signal along every edge.

    .. math::
        \frac{\partial f}{\partial e} \Big|_i
        = \sqrt{\frac{w_{ij}}{d_i}} f_i - \sqrt{\frac{w_{ij}}{d_j}} f_j
        \qquad \text{for the edge } e = (i, j)

    Parameters
    ----------
    W : {array-like, sparse matrix} of shape (n_vertices, n_vertices)
        Symmetric, non-negative weights.
    f : array-like of shape (n_vertices,)
        A signal.
    laplacian : {"unnormalized", "symmetric"}, default="symmetric"
        "unnormalized" leaves out the degrees: :math:`\sqrt{w_{ij}} (f_i - f_j)`.

    Returns
    -------
    derivative : csr_array of shape (n_vertices, n_vertices)
        Entry (i, j) is the derivative with respect to the edge (i, j) at i. The matrix
        is antisymmetric and stores an entry, possibly 0, for every edge.

    See Also
    --------
    graph_gradient : The linear map, with one row per edge.
    local_variation : The size of the derivatives at each vertex.

    References
    ----------
    .. [1] D. Zhou and B. Schölkopf, "A regularization framework for learning from
       graph data", ICML Workshop on Statistical Relational Learning, 2004.

    Examples
    --------
    >>> from fewlabels.graphs import edge_derivative
    >>> path = [[0, 1, 0], [1, 0, 1], [0, 1, 0]]
    >>> edge_derivative(path, [0.0, 1.0, 3.0], laplacian="unnormalized").toarray()
    array([[ 0., -1.,  0.],
           [ 1.,  0., -2.],
           [ 0.,  2.,  0.]])
    """
    W = _directed_edges(W)
    f = check_signals(f, W.shape[0])
    if f.ndim != 1:
        raise ValueError(
            f"f has shape {f.shape}: pass one signal of shape {f.shape[:1]} at a time."
        )
    return _derivative(W, f, laplacian)


@validate_params(_CONSTRAINTS, prefer_skip_nested_validation=True)
def local_variation(
    W: Any, f: ArrayLike, *, laplacian: str = "symmetric"
) -> NDArray[np.float64]:
    r"""Local variation of signals: how much they change around each vertex.

    .. math::
        \| \nabla_i f \| = \sqrt{\sum_{e \ni i}
        \Big( \frac{\partial f}{\partial e} \Big|_i \Big)^2}, \qquad
        \tfrac12 \sum_i \| \nabla_i f \|^2 = f^\top L f

    with the edge derivatives and the Laplacian of the same `laplacian`.

    Parameters
    ----------
    W : {array-like, sparse matrix} of shape (n_vertices, n_vertices)
        Symmetric, non-negative weights.
    f : array-like of shape (n_vertices,) or (n_vertices, n_signals)
        One signal, or one in each column.
    laplacian : {"unnormalized", "symmetric"}, default="symmetric"
        Which derivative, see :func:`edge_derivative`.

    Returns
    -------
    variation : ndarray of shape (n_vertices,) or (n_vertices, n_signals)
        Zero at a vertex without edges.

    See Also
    --------
    p_dirichlet : A measure of smoothness made of it.
    LaplacianPower.quadratic_form : The sum of squares without the single terms.

    Examples
    --------
    >>> from fewlabels.graphs import local_variation
    >>> path = [[0, 1, 0], [1, 0, 1], [0, 1, 0]]
    >>> local_variation(path, [0.0, 3.0, 7.0], laplacian="unnormalized")
    array([3., 5., 4.])
    """
    W = _directed_edges(W)
    f = check_signals(f, W.shape[0])
    columns = []
    for column in f.reshape(f.shape[0], -1).T:  # one at a time: an array of all edges
        derivative = _derivative(W, column, laplacian)
        derivative.data **= 2
        columns.append(np.sqrt(derivative.sum(axis=1)))
    return np.stack(columns, axis=1).reshape(f.shape)


@validate_params(
    {
        "W": _CONSTRAINTS["W"],
        "f": _CONSTRAINTS["f"],
        "p": [Interval(Real, 1, None, closed="left")],
    },
    prefer_skip_nested_validation=True,
)
def p_dirichlet(W: Any, f: ArrayLike, p: float = 2) -> Any:
    r"""Discrete p-Dirichlet form of signals: how rough they are.

    .. math::
        S_p(f) = \frac1p \sum_i \Big[ \sum_j w_{ij} (f_j - f_i)^2 \Big]^{p/2}

    :math:`S_2(f) = f^\top L f`, and :math:`S_1` is the total variation, which penalises
    a jump less, compared with many small steps.

    Parameters
    ----------
    W : {array-like, sparse matrix} of shape (n_vertices, n_vertices)
        Symmetric, non-negative weights.
    f : array-like of shape (n_vertices,) or (n_vertices, n_signals)
        One signal, or one in each column.
    p : float, default=2
        The exponent, at least 1.

    Returns
    -------
    value : float or ndarray of shape (n_signals,)
        The form of each signal; 0 exactly if it is constant on every component.

    References
    ----------
    .. [1] D. I. Shuman, S. K. Narang, P. Frossard, A. Ortega and P. Vandergheynst,
       "The emerging field of signal processing on graphs", IEEE Signal Processing
       Magazine 30, 2013. :doi:`10.1109/MSP.2012.2235192`

    Examples
    --------
    >>> from fewlabels.graphs import p_dirichlet
    >>> path = [[0, 1, 0], [1, 0, 1], [0, 1, 0]]
    >>> p_dirichlet(path, [0.0, 3.0, 7.0]), p_dirichlet(path, [0.0, 3.0, 7.0], p=1)
    (25.0, 12.0)
    """
    variation = local_variation(W, f, laplacian="unnormalized")
    value = (variation**p).sum(axis=0) / p
    return float(value) if variation.ndim == 1 else value


def _solve_direct(A: Any, y: NDArray[Any], tol: float, max_iter: int) -> NDArray[Any]:
    if issparse(A):
        return sparse_factor(csc_array(A)).solve(y)
    return linalg.solve(A, y, assume_a="pos")


def _solve_cg(A: Any, y: NDArray[Any], tol: float, max_iter: int) -> NDArray[Any]:
    scale = diags_array(1 / A.diagonal())
    solved = np.empty_like(y)
    n_failed = 0
    for k in range(y.shape[1]):
        # From y, the solution without smoothing.
        solved[:, k], info = cg(
            A, y[:, k], x0=y[:, k], rtol=tol, maxiter=max_iter, M=scale
        )
        n_failed += info > 0
    if n_failed:
        warnings.warn(
            f"Conjugate gradients did not reach tol={tol:g} within max_iter={max_iter} "
            f"iterations for {n_failed} of {y.shape[1]} signals: raise max_iter, or "
            "use solver='direct'.",
            ConvergenceWarning,
            stacklevel=4,
        )
    return solved


_SOLVERS: dict[str, Callable[[Any, NDArray[Any], float, int], NDArray[Any]]] = {
    "direct": _solve_direct,
    "cg": _solve_cg,
}


@validate_params(
    {
        "W": _CONSTRAINTS["W"],
        "y": ["array-like"],
        "alpha": [Interval(Real, 0, None, closed="left")],
        "laplacian": _CONSTRAINTS["laplacian"],
        "solver": [StrOptions({"auto", *_SOLVERS})],
        "tol": [Interval(Real, 0, 1, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
    },
    prefer_skip_nested_validation=True,
)
def graph_tikhonov(
    W: Any,
    y: ArrayLike,
    alpha: float = 1.0,
    *,
    laplacian: str = "unnormalized",
    solver: str = "auto",
    tol: float = 1e-10,
    max_iter: int = 10_000,
) -> NDArray[np.float64]:
    r"""Denoise signals on a graph by Tikhonov regularisation.

    .. math::
        \min_f \; \| f - y \|^2 + \alpha f^\top L f
        \quad \Longrightarrow \quad f = (I + \alpha L)^{-1} y
        = \sum_k \frac{\hat y_k}{1 + \alpha \lambda_k} u_k

    The unnormalised Laplacian preserves the mean over each component, and only the mean
    remains as :math:`\alpha` grows.

    Parameters
    ----------
    W : {array-like, sparse matrix} of shape (n_vertices, n_vertices)
        Symmetric, non-negative weights.
    y : array-like of shape (n_vertices,) or (n_vertices, n_signals)
        One noisy signal, or one in each column.
    alpha : float, default=1.0
        Amount of smoothing :math:`\alpha`, non-negative. It is relative to the weights:
        the product of alpha and a degree matters.
    laplacian : {"unnormalized", "symmetric"}, default="unnormalized"
        Which Laplacian. The symmetric one pulls signals towards multiples of the
        roots of the degrees instead of constants.
    solver : {"auto", "direct", "cg"}, default="auto"
        A (sparse) factor, or conjugate gradients. "auto" is "direct" up to 1,000
        vertices or if alpha times the largest eigenvalue may exceed 1e6, else "cg".
    tol : float, default=1e-10
        Largest residual of "cg" relative to `y`.
    max_iter : int, default=10_000
        Iterations of "cg" per signal.

    Returns
    -------
    f : ndarray of shape (n_vertices,) or (n_vertices, n_signals)
        The smoothed signals.

    Warns
    -----
    ConvergenceWarning
        If conjugate gradients do not reach `tol`.

    See Also
    --------
    GraphFilter : Filters with any response.

    References
    ----------
    .. [1] D. I. Shuman, S. K. Narang, P. Frossard, A. Ortega and P. Vandergheynst,
       "The emerging field of signal processing on graphs", IEEE Signal Processing
       Magazine 30, 2013. :doi:`10.1109/MSP.2012.2235192`

    Examples
    --------
    >>> from fewlabels.graphs import graph_tikhonov
    >>> path = [[0, 1, 0], [1, 0, 1], [0, 1, 0]]
    >>> graph_tikhonov(path, [0.0, 8.0, 0.0])
    array([2., 4., 2.])
    """
    graph = spectral(W, laplacian)
    n = graph.L.shape[0]
    y = check_signals(y, n, "y").astype(np.float64)
    if solver == "auto":
        stiff = alpha * graph.bound > 1e6
        solver = "direct" if n <= MAX_DENSE or stiff else "cg"
    identity = eye_array(n) if issparse(graph.L) else np.eye(n)
    A = alpha * graph.L + identity
    A = csr_array(A) if issparse(A) else A
    # Components without penalty stay unchanged, however large alpha is.
    kept = graph.null @ (graph.null.T @ y)
    rest = _SOLVERS[solver](A, (y - kept).reshape(n, -1), tol, max_iter)
    return kept + deflated(graph.null, rest.reshape(y.shape))


@validate_params(
    {
        "X": ["array-like", "sparse matrix"],
        "side": ["array-like"],
        "bandwidth": [Interval(Real, 0, None, closed="neither")],
        "n_jobs": [Integral, None],
    },
    prefer_skip_nested_validation=True,
)
def boundary_volume(
    X: Any, side: ArrayLike, bandwidth: float, *, n_jobs: int | None = None
) -> float:
    r"""Estimate how much of the density a boundary cuts, from rows on its two sides.

    For rows drawn from a density p and a surface S that splits the space,

    .. math::
        \int_S p(s) \, ds \approx \frac{\sqrt{2 \pi}}{n \, b} \, f^\top L_{sym} f,
        \qquad w_{ij} = \exp(- \| x_i - x_j \|^2 / (2 b^2)),

    where f is 1 on one side of S and 0 on the other [1]_. Low-density separation looks
    for a low value.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Rows.
    side : array-like of bool of shape (n_samples,)
        Which rows lie on one side of the boundary.
    bandwidth : float
        The length b. It should be small compared with the features of the density,
        yet rows need many others within it. In terms of weights
        :math:`\exp(-d^2 / (4 t))`, :math:`t = b^2 / 2` and the factor is
        :math:`\sqrt{\pi / t} / n`.
    n_jobs : int, default=None
        Passed to scikit-learn's search.

    Returns
    -------
    volume : float
        The estimate, in units of length to the power -1: the volume of the boundary,
        weighted by the density.

    Notes
    -----
    Rows more than 5 bandwidths apart are not connected; their weight is below 4e-6. The
    graph has an edge for every closer pair of rows.

    Degrees fall where the density ends. The end of the support on the side f = 1
    therefore adds about 3.5 % of its own weighted volume, however small the bandwidth.
    Degrees without self-loops add another :math:`1 / \bar d`, where :math:`\bar d` is
    the mean degree.

    References
    ----------
    .. [1] H. Narayanan, M. Belkin and P. Niyogi, "On the relation between low density
       separation, spectral clustering and graph cuts", NIPS 19, 2006.

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.graphs import boundary_volume
    >>> X = np.linspace(0, 1, 2000)[:, None]  # the density is 1
    >>> middle = (X[:, 0] > 0.4) & (X[:, 0] < 0.6)  # with two ends
    >>> round(boundary_volume(X, middle, 0.02), 2)
    2.02
    """
    W = similarity_graph(
        X,
        kind="ball",
        radius=5 * bandwidth,
        weight="heat",
        bandwidth=bandwidth,
        n_jobs=n_jobs,
    )
    n = W.shape[0]
    f = np.asarray(side)
    if f.shape != (n,) or not np.isin(f, [0, 1]).all():
        raise ValueError(
            f"side must hold one of True and False for each of the {n} rows, got "
            f"{f.dtype} of shape {f.shape}."
        )
    variation = local_variation(W, f.astype(np.float64), laplacian="symmetric")
    return float(np.sqrt(2 * np.pi) / (n * bandwidth) * 0.5 * (variation**2).sum())
