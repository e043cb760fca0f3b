"""Graph filters, and graph kernels as filters, with or without eigenvectors."""

# SPDX-License-Identifier: BSD-3-Clause

import warnings
from collections.abc import Callable
from functools import partial
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.fft import dct
from scipy.sparse.linalg import LinearOperator
from sklearn.exceptions import ConvergenceWarning

from fewlabels._sklearn import Interval, StrOptions, validate_params
from fewlabels.graphs._eigen import SYMMETRIC_KINDS, Spectral, lowest, spectral
from fewlabels.graphs._spectrum import MAX_DENSE, evaluate_response

METHODS = ("auto", "chebyshev", "exact")

# Largest number of products with the Laplacian per application of a filter.
MAX_DEGREE = 10_000


def chebyshev_coefficients(
    response: Callable[[Any], Any], bound: float, n_points: int
) -> NDArray[np.float64]:
    """Coefficients of the interpolant of a response on [0, bound] at `n_points`."""
    nodes = np.cos(np.pi * (np.arange(n_points) + 0.5) / n_points)
    values = evaluate_response(response, 0.5 * bound * (nodes + 1))
    coefficients = dct(values, type=2) / n_points
    coefficients[0] /= 2
    return coefficients


def _fixed_degree(
    response: Callable[[Any], Any], bound: float, degree: int
) -> tuple[NDArray[np.float64], float]:
    found = chebyshev_coefficients(response, bound, max(4 * degree, 1024))
    return found[: degree + 1], float(np.abs(found[degree + 1 :]).sum())


def _adaptive_degree(
    response: Callable[[Any], Any], bound: float, tol: float
) -> tuple[NDArray[np.float64], float]:
    """Double the degree until the omitted coefficients sum to at most `tol`."""
    n_points = 32
    while True:
        found = chebyshev_coefficients(response, bound, n_points)
        largest = float(np.abs(found).sum())
        # tails[k]: error of omitting the coefficients from k on
        tails = np.append(np.cumsum(np.abs(found[::-1]))[::-1], 0.0)
        n_kept = max(1, int(np.argmax(tails <= tol * largest)))
        # The last coefficients are not a tail, but aliases of higher ones.
        if n_kept <= 3 * n_points // 4:
            return found[:n_kept], float(tails[n_kept])
        if 2 * n_points > MAX_DEGREE:
            n_kept = n_points // 2
            error = float(tails[n_kept])
            warnings.warn(
                f"No polynomial of degree {n_kept - 1} follows the response up to "
                f"tol={tol:g}; the coefficients left out sum up to {error:.2g}. Use "
                "method='exact', a smoother response, or choose a degree.",
                ConvergenceWarning,
                stacklevel=5,
            )
            return found[:n_kept], error
        n_points *= 2


class GraphFilter(LinearOperator):
    r"""Filter signals on a graph, as an operator to multiply with.

    With the Laplacian :math:`L = U \Lambda U^\top` and a response h,

    .. math::
        h(L) f = U \, \mathrm{diag}(h(\lambda_1), \dots, h(\lambda_n)) \, U^\top f,

    which is also the convolution of f with the signal whose graph Fourier transform is
    h. The exact method uses all eigenvectors. The other method uses a polynomial,
    :math:`h(\lambda) \approx \sum_{k \le K} c_k T_k(2 \lambda / b - 1)` with Chebyshev
    polynomials and a bound b on the spectrum, which costs K products with the sparse
    Laplacian and only mixes vertices that are at most K edges apart.

    Parameters
    ----------
    W : {array-like, sparse matrix} of shape (n_vertices, n_vertices)
        Symmetric, non-negative weights.
    response : callable
        Turns an array of frequencies (eigenvalues, from 0 on) into one of factors.
    laplacian : {"unnormalized", "symmetric"}, default="unnormalized"
        Which Laplacian, see :func:`graph_laplacian`.
    method : {"auto", "exact", "chebyshev"}, default="auto"
        "auto" is exact up to 1,000 vertices unless `degree` is given.
    degree : int, default=None
        Degree of the polynomial; None uses the smallest that reaches `tol`.
    tol : float, default=1e-10
        Largest error of the polynomial relative to the size of the response, where
        `degree` is None.

    Attributes
    ----------
    method : {"exact", "chebyshev"}
        The method that was used.
    degree : int or None
        Degree of the polynomial; None for an exact filter.
    error : float
        Bound on the error of the response at any frequency, and hence of the operator
        in the spectral norm, estimated from the computed coefficients; 0 for an exact
        filter.

    Warns
    -----
    ConvergenceWarning
        If no polynomial of degree below 10,000 comes within `tol`: for a response with
        a jump there is none.

    See Also
    --------
    graph_fourier : The transform behind the exact filter.
    graph_kernel : Kernels between vertices.
    graph_tikhonov : Denoising by a sparse solve.

    References
    ----------
    .. [1] D. K. Hammond, P. Vandergheynst and R. Gribonval, "Wavelets on graphs via
       spectral graph theory", Applied and Computational Harmonic Analysis 30, 2011.
       :doi:`10.1016/j.acha.2010.04.005`

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.graphs import GraphFilter
    >>> path = np.eye(4, k=1) + np.eye(4, k=-1)
    >>> heat = GraphFilter(path, lambda frequency: np.exp(-frequency))
    >>> (heat @ np.array([1.0, 0.0, 0.0, 0.0])).round(3)
    array([0.524, 0.309, 0.124, 0.044])
    >>> polynomial = GraphFilter(path, lambda v: np.exp(-v), method="chebyshev")
    >>> polynomial.degree, bool(abs(polynomial.toarray() - heat.toarray()).max() < 1e-9)
    (12, True)
    """

    def __init__(
        self,
        W: Any,
        response: Callable[[Any], Any],
        *,
        laplacian: str = "unnormalized",
        method: str = "auto",
        degree: int | None = None,
        tol: float = 1e-10,
    ) -> None:
        _check_filter(
            response=response,
            laplacian=laplacian,
            method=method,
            degree=degree,
            tol=tol,
        )
        if degree is not None and method == "exact":
            raise ValueError(
                f"degree={degree} has no meaning with method='exact': use "
                "method='chebyshev'."
            )
        graph = spectral(W, laplacian)
        n = graph.L.shape[0]
        if method == "auto":
            small = n <= MAX_DENSE and degree is None
            method = "exact" if small else "chebyshev"
        self.method = method
        self.degree: int | None = None
        self.error = 0.0
        super().__init__(np.dtype(np.float64), (n, n))
        if method == "exact":
            pairs = lowest(graph, n, solver="dense")
            self._basis = pairs.vectors
            self._factors = evaluate_response(response, pairs.values)
        else:
            self._prepare_polynomial(graph, response, degree, tol)

    def _prepare_polynomial(
        self,
        graph: Spectral,
        response: Callable[[Any], Any],
        degree: int | None,
        tol: float,
    ) -> None:
        # Without edges all frequencies are 0; any interval starting there will do.
        self._L, self._bound = graph.L, graph.bound or 1.0
        self._factors, self.error = (
            _adaptive_degree(response, self._bound, tol)
            if degree is None
            else _fixed_degree(response, self._bound, degree)
        )
        self.degree = self._factors.size - 1

    def _matmat(self, f: NDArray[Any]) -> NDArray[Any]:
        if self.method == "exact":
            return self._basis @ (self._factors[:, None] * (self._basis.T @ f))
        c = self._factors
        filtered = c[0] * f
        if c.size == 1:
            return filtered

        def shifted(g: NDArray[Any]) -> NDArray[Any]:
            return (2 / self._bound) * (self._L @ g) - g

        previous, current = f, shifted(f)
        filtered = filtered + c[1] * current
        for coefficient in c[2:]:
            previous, current = current, 2 * shifted(current) - previous
            filtered += coefficient * current
        return filtered

    def _matvec(self, f: NDArray[Any]) -> NDArray[Any]:
        return self._matmat(f.reshape(-1, 1))

    def _adjoint(self) -> "GraphFilter":
        return self

    _transpose = _adjoint

    def toarray(self) -> NDArray[np.float64]:
        """Form the dense matrix.

        Returns
        -------
        matrix : ndarray of shape (n_vertices, n_vertices)
            The filter as a symmetric matrix.
        """
        if self.method == "exact":
            matrix = (self._basis * self._factors) @ self._basis.T
        else:
            matrix = self._matmat(np.eye(self.shape[0]))
        return 0.5 * (matrix + matrix.T)


@validate_params(
    {
        "response": [callable],
        "laplacian": [StrOptions(set(SYMMETRIC_KINDS))],
        "method": [StrOptions(set(METHODS))],
        "degree": [Interval(Integral, 0, None, closed="left"), None],
        "tol": [Interval(Real, 0, 1, closed="neither")],
    },
    prefer_skip_nested_validation=True,
)
def _check_filter(
    *, response: Any, laplacian: str, method: str, degree: int | None, tol: float
) -> None:
    """Validate the parameters of a filter."""


def _regularized_laplacian(v: NDArray[Any], sigma: float) -> NDArray[Any]:
    return 1 / (1 + sigma**2 * v)


def _diffusion(v: NDArray[Any], sigma: float) -> NDArray[Any]:
    return np.exp(-0.5 * sigma**2 * v)


def _random_walk(v: NDArray[Any], a: float, n_steps: int) -> NDArray[Any]:
    if n_steps * np.log(a) > np.log(np.finfo(np.float64).max):
        raise ValueError(
            f"a={a} to the power n_steps={n_steps} is too large for a number: take "
            "fewer steps, or kind='diffusion', to which many steps tend."
        )
    return (a - v) ** n_steps


def _inverse_cosine(v: NDArray[Any]) -> NDArray[Any]:
    return np.cos(0.25 * np.pi * v)


# Each with the names of its parameters.
GRAPH_KERNELS: dict[str, tuple[Callable[..., NDArray[Any]], tuple[str, ...]]] = {
    "regularized_laplacian": (_regularized_laplacian, ("sigma",)),
    "diffusion": (_diffusion, ("sigma",)),
    "random_walk": (_random_walk, ("a", "n_steps")),
    "inverse_cosine": (_inverse_cosine, ()),
}

_KERNEL_CONSTRAINTS: dict[str, list[Any]] = {
    "W": ["array-like", "sparse matrix"],
    "kind": [StrOptions(set(GRAPH_KERNELS))],
    "sigma": [Interval(Real, 0, None, closed="neither")],
    # The largest possible eigenvalue is 2; from there on the kernel is non-negative.
    "a": [Interval(Real, 2, None, closed="left")],
    "n_steps": [Interval(Integral, 1, None, closed="left")],
}


def _kernel_response(kind: str, **parameters: Any) -> Callable[[Any], Any]:
    function, used = GRAPH_KERNELS[kind]
    return partial(function, **{name: parameters[name] for name in used})


@validate_params(_KERNEL_CONSTRAINTS, prefer_skip_nested_validation=True)
def graph_kernel(
    W: Any,
    kind: str = "diffusion",
    *,
    sigma: float = 1.0,
    a: float = 2.0,
    n_steps: int = 1,
) -> NDArray[np.float64]:
    r"""Kernel matrix between the vertices of a graph.

    A function r that increases on the spectrum of the symmetric normalised Laplacian
    penalises rough signals, and :math:`K = r(L_{sym})^{-1}` is the kernel of this
    penalty:

    =======================  =========================================================
    "regularized_laplacian"  :math:`K = (I + \sigma^2 L_{sym})^{-1}`
    "diffusion"              :math:`K = \exp(-\sigma^2 L_{sym} / 2)`
    "random_walk"            :math:`K = (a I - L_{sym})^p`, :math:`a \ge 2`, of p steps
    "inverse_cosine"         :math:`K = \cos(\pi L_{sym} / 4)`
    =======================  =========================================================

    All are positive semidefinite, as the eigenvalues of :math:`L_{sym}` lie between 0
    and 2. With :math:`a = 2 p / \sigma^2`, the random walk tends to
    :math:`a^p` times the diffusion kernel as p grows.

    Parameters
    ----------
    W : {array-like, sparse matrix} of shape (n_vertices, n_vertices)
        Symmetric, non-negative weights.
    kind : str, default="diffusion"
        Which kernel, by a name of the table above.
    sigma : float, default=1.0
        Strength of the first two: the larger, the smoother.
    a : float, default=2.0
        The constant of "random_walk", at least 2.
    n_steps : int, default=1
        Steps p of "random_walk".

    Returns
    -------
    K : ndarray of shape (n_vertices, n_vertices)
        The kernel, for estimators with ``kernel="precomputed"``.

    See Also
    --------
    graph_kernel_operator : Products with the kernel, which is never formed.

    References
    ----------
    .. [1] A. J. Smola and R. Kondor, "Kernels and regularization on graphs", COLT
       2003. :doi:`10.1007/978-3-540-45167-9_12`

    Examples
    --------
    >>> from fewlabels.graphs import graph_kernel
    >>> graph_kernel([[0, 1], [1, 0]], "random_walk", a=3)
    array([[2., 1.],
           [1., 2.]])
    """
    response = _kernel_response(kind, sigma=sigma, a=a, n_steps=n_steps)
    return GraphFilter(W, response, laplacian="symmetric", method="exact").toarray()


@validate_params(
    {**_KERNEL_CONSTRAINTS, "tol": [Interval(Real, 0, 1, closed="neither")]},
    prefer_skip_nested_validation=True,
)
def graph_kernel_operator(
    W: Any,
    kind: str = "diffusion",
    *,
    sigma: float = 1.0,
    a: float = 2.0,
    n_steps: int = 1,
    tol: float = 1e-10,
) -> GraphFilter:
    r"""Kernel between the vertices of a graph, as an operator that is never formed.

    The number of products with the sparse Laplacian is the degree of the polynomial:
    `n_steps` for the random walk, a dozen for the inverse cosine, and about
    :math:`\sigma \log(1 / tol)` for the other two. If :math:`\sigma` is too large for
    this, :func:`graph_tikhonov` with ``alpha=sigma**2`` and
    ``laplacian="symmetric"`` multiplies by the regularised Laplacian kernel with a
    sparse factor.

    Parameters
    ----------
    W : {array-like, sparse matrix} of shape (n_vertices, n_vertices)
        Symmetric, non-negative weights.
    kind : str, default="diffusion"
        Which kernel, by the names of :func:`graph_kernel`.
    sigma : float, default=1.0
        Strength of the first two.
    a : float, default=2.0
        The constant of "random_walk", at least 2.
    n_steps : int, default=1
        Steps of "random_walk".
    tol : float, default=1e-10
        Largest error, relative to the size of the kernel.

    Returns
    -------
    K : GraphFilter
        A :class:`scipy.sparse.linalg.LinearOperator`.

    See Also
    --------
    graph_kernel : The dense matrix.

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.graphs import graph_kernel_operator
    >>> K = graph_kernel_operator([[0, 1], [1, 0]], "random_walk", a=3)
    >>> (K @ np.array([1.0, 0.0])).round(6)
    array([2., 1.])
    """
    response = _kernel_response(kind, sigma=sigma, a=a, n_steps=n_steps)
    return GraphFilter(W, response, laplacian="symmetric", method="chebyshev", tol=tol)
