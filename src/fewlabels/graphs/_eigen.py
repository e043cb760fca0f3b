"""Eigenpairs at the ends of the spectrum of a graph Laplacian."""

# SPDX-License-Identifier: BSD-3-Clause

import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, eye_array, issparse
from scipy.sparse.csgraph import reverse_cuthill_mckee
from scipy.sparse.linalg import ArpackError, LinearOperator, eigsh
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from fewlabels._backend import NUMPY, Backend, backend_of, get_backend, to_host
from fewlabels._linalg import all_copies, csr_product, eigh_between, signed
from fewlabels.graphs._chebyshev import (
    RELATIVE_TOL,
    chebyshev,
    quantile_of_spectrum,
    smoothest,
)
from fewlabels.graphs._connectivity import ConnectivityReport, connectivity
from fewlabels.graphs._eigen_parts import deflated, shifted_factor
from fewlabels.graphs._laplacian import LAPLACIANS, check_square, check_weights
from fewlabels.graphs._multilevel import NotConverged, multilevel

# The Laplacians with orthogonal eigenvectors.
SYMMETRIC_KINDS = ("unnormalized", "symmetric")

# Up to this many vertices, LAPACK is faster than any iteration.
DENSE_VERTICES = 500
# Sweeps of the filter after which a rough eigenvector is good enough.
FILTER_SWEEPS = 12
# Components are grouped up to this many vertices: one small matrix is much faster than
# many tiny ones.
SMALL_VERTICES = 100
# Share of the matrix inside its envelope, after reordering, up to which factors of a
# sparse matrix stay sparse. Graphs in few dimensions are near 0.01, others above 0.05.
# The former have no spectral gaps and need inverse iteration; products suffice for the
# latter.
THIN_ENVELOPE = 0.03


class Spectral(NamedTuple):
    """A Laplacian with a bound on its spectrum and its null space.

    Attributes
    ----------
    L : csr_array or ndarray of float64
    bound : float, no eigenvalue is larger
    null : csr_array of shape (n_vertices, n_components), orthonormal null space, the
        largest component first
    degrees : ndarray of shape (n_vertices,)
    report : ConnectivityReport
    """

    L: Any
    bound: float
    null: csr_array
    degrees: NDArray[np.float64]
    report: ConnectivityReport


def spectral(W: Any, laplacian: str) -> Spectral:
    """Laplacian of checked weights, a bound on its spectrum and its null space."""
    if laplacian not in SYMMETRIC_KINDS:
        raise ValueError(
            f"laplacian={laplacian!r} must be one of {sorted(SYMMETRIC_KINDS)}, whose "
            "eigenvectors are orthogonal."
        )
    W = check_weights(W).astype(np.float64)
    L = LAPLACIANS[laplacian](W)
    L = csr_array(L) if issparse(L) else L
    n = L.shape[0]
    degrees = np.asarray(W.sum(axis=1)).ravel()
    report = connectivity(W)
    # Known exactly: constants (or the roots of the degrees) on each component.
    values = np.ones(n) if laplacian == "unnormalized" else _roots(degrees)
    norms = np.sqrt(np.bincount(report.labels, weights=values**2))
    null = csr_array(
        (values / norms[report.labels], (np.arange(n), report.labels)),
        shape=(n, report.n_components),
    )
    return Spectral(L, _bound(W, degrees, laplacian), null, degrees, report)


def _roots(degrees: NDArray[Any]) -> NDArray[Any]:
    """Square roots of degrees, with 1 for a vertex without edges."""
    return np.sqrt(np.where(degrees > 0, degrees, 1))


def _bound(W: Any, degrees: NDArray[Any], laplacian: str) -> float:
    if laplacian == "symmetric":
        return 2.0
    if not issparse(W):
        return 2 * float(degrees.max())
    edges = W.tocoo()  # Anderson and Morley: the largest d_i + d_j of an edge
    return float((degrees[edges.row] + degrees[edges.col]).max(initial=0.0))


# The solvers. Each finds the eigenvectors of the k smallest eigenvalues of A among the
# vectors orthogonal to `null`; there the eigenvalues lie in [0, 1]. Their order and
# signs are arbitrary. Iterative solvers may raise ArpackError.


def _dense(A: Any, null: csr_array, k: int, **unused: Any) -> NDArray[Any]:
    # Shift the null space above all other eigenvalues, so that nearly null vectors do
    # not mix with it.
    lifted = (2 * null) @ null.T + A
    lifted = lifted.toarray() if issparse(lifted) else np.asarray(lifted)
    return eigh_between(lifted, 0, k - 1)[1]


def _lanczos(A: Any, null: csr_array, k: int, **arpack: Any) -> NDArray[Any]:
    def flipped(x: NDArray[Any]) -> NDArray[Any]:
        # Twice the largest: projected-out vectors, at 0, stay below all others.
        return 2 * x - A @ x

    # More Lanczos vectors than usual: the low end of a spectrum is crowded.
    return _arpack(flipped, null, k, max(2 * k + 1, 40), **arpack)


def _shift_invert(
    A: Any, null: csr_array, k: int, factor: Any = None, **arpack: Any
) -> NDArray[Any]:
    factor = shifted_factor(A) if factor is None else factor
    return _arpack(factor.solve, null, k, max(2 * k + 1, 20), **arpack)


def _arpack(
    product: Callable[[NDArray[Any]], NDArray[Any]],
    null: csr_array,
    k: int,
    n_lanczos: int,
    *,
    tol: float,
    max_iter: int,
    rng: np.random.RandomState,
) -> NDArray[Any]:
    """Eigenvectors of the k largest eigenvalues orthogonal to `null`, all positive."""
    n, p = null.shape

    def find(known: NDArray[Any] | None, k: int) -> tuple[NDArray[Any], NDArray[Any]]:
        def projected(x: NDArray[Any]) -> NDArray[Any]:
            x = deflated(null, x)
            return x if known is None else x - known @ (known.T @ x)

        left = n - p - (0 if known is None else known.shape[1])
        if left == 0:
            return np.array([-np.inf]), np.empty((n, 1))
        values, vectors = eigsh(
            LinearOperator(
                (n, n),
                lambda x: projected(product(projected(x.ravel()))),
                dtype=np.float64,
            ),
            k=k,
            which="LA",
            ncv=min(n, max(left, k + 2), n_lanczos),
            v0=projected(product(projected(rng.uniform(-1, 1, n)))),
            tol=tol,
            maxiter=max_iter,
        )
        return values, vectors

    return all_copies(find, k, tol)[1]


def _multilevel(A: Any, null: csr_array, k: int, **iteration: Any) -> NDArray[Any]:
    return multilevel(A, null, k, _shift_invert, **iteration)


_SOLVERS: dict[str, Callable[..., NDArray[Any]]] = {
    "dense": _dense,
    "lanczos": _lanczos,
    "shift_invert": _shift_invert,
    "multilevel": _multilevel,
    "chebyshev": chebyshev,
}
EIGEN_SOLVERS = ("auto", *_SOLVERS)


def _envelope(A: Any) -> float:
    """Share of the matrix inside its envelope, after reordering to a band."""
    n = A.shape[0]
    position = np.empty(n, dtype=np.intp)
    position[reverse_cuthill_mckee(A, symmetric_mode=True)] = np.arange(n)
    entries = A.tocoo()
    first = np.arange(n)
    np.minimum.at(first, position[entries.row], position[entries.col])
    return float(np.sum(np.arange(n) - first)) / n**2


def _chosen(solver: str, A: Any, k: int, largest: bool, on_device: bool) -> str:
    """Solver for k eigenvectors of a connected graph besides the constant one."""
    n = A.shape[0]
    if k == n - 1:  # more than ARPACK computes
        return "dense"
    if solver == "chebyshev" and 3 * k > n:  # so large a subspace saves nothing
        return "dense"
    if solver in ("shift_invert", "multilevel") and not issparse(A):
        return "dense"
    if solver == "multilevel" and largest:  # coarser graphs lose the rough vectors
        return "lanczos"
    if solver != "auto":
        return solver
    if n <= DENSE_VERTICES or 4 * k >= n - 1:
        return "dense"
    if on_device and issparse(A) and not largest and 3 * k <= n:
        return "chebyshev"
    if largest or not issparse(A):  # products find the high end quickly
        return "lanczos"
    return "shift_invert" if _envelope(A) <= THIN_ENVELOPE else "lanczos"


def _pairs(
    graph: Spectral,
    n_pairs: int,
    *,
    largest: bool = False,
    solver: str = "auto",
    tol: float = 0.0,
    max_iter: int = 1000,
    random_state: Any = 0,
    device: str | Backend | None = None,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Compute `nonzero_eigenpairs` with the signs of the solver."""
    L = graph.L
    n = L.shape[0]
    if n_pairs == 0:
        return np.empty(0), np.empty((n, 0))
    # Scale to norm at most 1: ARPACK treats values below 1e-11 as zero. Multiply,
    # because SciPy divides sparse arrays in double precision.
    A = L * (1 / graph.bound)
    if largest:  # the low end of the mirror image
        A = (eye_array(n, format="csr") if issparse(L) else np.eye(n)) - A
    backend = get_backend(device)
    iteration = {
        "tol": tol,
        "max_iter": max_iter,
        "rng": check_random_state(random_state),
    }
    # Not all components at once: ARPACK starts from one vector and may miss copies of
    # an eigenvalue they share.
    found: list[tuple[Any, NDArray[Any], NDArray[np.float64]]] = []
    for vertices, part, null in _components(A, graph):
        n_part, p = null.shape
        k = min(n_pairs, n_part - p)
        if k > 0:
            name = "dense"
            if p <= 1:
                name = _chosen(solver, part, k, largest, not backend.is_numpy)
            where = {"backend": backend} if name == "chebyshev" else {}
            vectors = _solved(name, part, null, k, {**iteration, **where})
            found.append((vertices, vectors, _quotients(part, vectors)))
    # The solvers see transformed eigenvalues; those of L are returned.
    values = np.concatenate([quotients for *_, quotients in found])
    chosen = np.argsort(values, kind="stable")[:n_pairs]
    chosen = chosen[::-1] if largest else chosen
    if graph.report.is_connected:
        vectors = found[0][1]
        if not np.array_equal(chosen, np.arange(values.size)):
            vectors = vectors[:, chosen]
    else:
        vectors = np.zeros((n, n_pairs), dtype=L.dtype)
        first = 0
        for vertices, block, quotients in found:
            last = first + quotients.size
            places = np.flatnonzero((first <= chosen) & (chosen < last))
            vectors[np.ix_(vertices, places)] = block[:, chosen[places] - first]
            first = last
    values = 1 - values[chosen] if largest else values[chosen]
    return np.maximum(graph.bound * values, 0), vectors


def nonzero_eigenpairs(
    graph: Spectral, n_pairs: int, **solver: Any
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Eigenpairs at one end of the spectrum without its zeros, in increasing order.

    `n_pairs` is at most the number of nonzero eigenvalues; `largest` selects the high
    end, where "multilevel" means "lanczos". For `solver`, `tol`, `max_iter`,
    `random_state` and `device` see :func:`laplacian_eigenpairs`.
    """
    values, vectors = _pairs(graph, n_pairs, **solver)
    return values, signed(vectors)


def _components(
    A: Any, graph: Spectral
) -> Iterator[tuple[NDArray[np.intp] | slice, Any, csr_array]]:
    """Every component, or several small ones: vertices, part of A and null space."""
    if graph.report.is_connected:
        yield slice(None), A, graph.null
        return
    order = np.argsort(graph.report.labels, kind="stable")
    A, null = A[order][:, order], graph.null[order]
    ends = np.append(0, np.cumsum(graph.report.sizes))
    first, p = 0, graph.report.n_components
    while first < p:
        # As many as fit into a small matrix, at least one.
        fit = np.searchsorted(ends, ends[first] + SMALL_VERTICES, side="right") - 1
        last = max(int(fit), first + 1)
        part = slice(ends[first], ends[last])
        yield order[part], A[part, part], null[part, first:last]
        first = last


def _quotients(A: Any, vectors: NDArray[Any]) -> NDArray[Any]:
    """Rayleigh quotients of unit vectors."""
    products = csr_product(A, vectors) if issparse(A) else A @ vectors
    return np.einsum("ij,ij->j", vectors, products, dtype=np.float64)


def _solved(
    name: str, A: Any, null: csr_array, k: int, iteration: dict[str, Any]
) -> NDArray[Any]:
    """Call a solver, or another one if it fails."""
    try:
        return _SOLVERS[name](A, null, k, **iteration)
    except (ArpackError, NotConverged) as error:
        # Multilevel also factorises; only if it fails is that still to be tried.
        factored = name == "shift_invert" or (
            name == "multilevel" and isinstance(error, ArpackError)
        )
        backup = "shift_invert" if issparse(A) and not factored else "dense"
        max_iter = iteration["max_iter"]
        warnings.warn(
            f"The eigenvectors did not converge in {max_iter} restarts "
            f"({error}); using eigen_solver={backup!r}.",
            ConvergenceWarning,
            stacklevel=5,
        )
        return _SOLVERS[backup](A, null, k, **iteration | {"max_iter": 100 * max_iter})


class Eigenpairs(NamedTuple):
    """Eigenpairs of a graph Laplacian, smallest first, and the graph's components.

    Attributes
    ----------
    values : ndarray of shape (n_pairs,)
        Eigenvalues, in increasing order.
    vectors : ndarray of shape (n_vertices, n_pairs)
        Orthonormal eigenvectors as columns.
    degrees : ndarray of shape (n_vertices,)
        Degrees of the vertices.
    report : ConnectivityReport
        Components of the graph.
    """

    values: NDArray[np.float64]
    vectors: NDArray[np.float64]
    degrees: NDArray[np.float64]
    report: ConnectivityReport

    def random_walk_vectors(self) -> NDArray[np.float64]:
        r"""Turn eigenvectors u of L_sym into those of L_rw, :math:`D^{-1/2} u`."""
        return self.vectors / _roots(self.degrees)[:, None]


def lowest(graph: Spectral, n_pairs: int, **solver: Any) -> Eigenpairs:
    """Smallest eigenpairs, the zeros with their exact vectors first.

    Keywords are those of :func:`nonzero_eigenpairs`.
    """
    n_zeros = min(n_pairs, graph.null.shape[1])
    values, vectors = nonzero_eigenpairs(graph, n_pairs - n_zeros, **solver)
    return Eigenpairs(
        np.concatenate([np.zeros(n_zeros), values]),
        np.hstack([graph.null[:, :n_zeros].toarray(), vectors]),
        graph.degrees,
        graph.report,
    )


def laplacian_eigenpairs(
    W: Any,
    n_components: int,
    *,
    laplacian: str = "symmetric",
    eigen_solver: str = "auto",
    tol: float = 1e-9,
    max_iter: int = 1000,
    random_state: Any = None,
    device: str | Backend | None = None,
) -> Eigenpairs:
    r"""Smallest eigenpairs of a symmetric Laplacian of a graph.

    The eigenvectors of the eigenvalue 0 are known from the connected components: they
    are constant there, or :math:`\sqrt d`. They are never computed, and the others are
    sought orthogonal to them, so that many components do no harm.

    Parameters
    ----------
    W : {array-like, sparse matrix} of shape (n_vertices, n_vertices)
        Symmetric, non-negative weights; the diagonal is ignored.
    n_components : int
        Number of eigenpairs. With at least as many components, these are the largest
        components, all of eigenvalue 0.
    laplacian : {"symmetric", "unnormalized"}, default="symmetric"
        Which Laplacian.
    eigen_solver : str, default="auto"
        "dense" is LAPACK; "lanczos" is ARPACK with products, "shift_invert" ARPACK with
        a sparse factor. "multilevel", a hierarchy of coarser graphs, is for large
        sparse graphs; "chebyshev", subspace iteration with a Chebyshev filter, for
        hundreds of their eigenpairs. "auto" uses "dense" for small graphs and large
        parts of the spectrum, and "shift_invert" if the factor is sparse too. With
        dense weights, "shift_invert" and "multilevel" mean "dense". Components are
        solved one by one, small ones together by LAPACK. ARPACK starts from one vector
        and may miss copies of a multiple eigenvalue, so it is restarted to find them.
    tol : float, default=1e-9
        Relative accuracy of the eigenvalues; for "chebyshev", the largest residual
        relative to half a bound on the spectrum. 0 means machine precision.
    max_iter : int, default=1000
        Restarts of ARPACK, or corrections of "multilevel", after which a factorisation
        is used, with a warning; sweeps of "chebyshev", after which it warns and returns
        its current vectors.
    random_state : int, RandomState instance or None, default=None
        Seed of the first vector of ARPACK, or of the first block of "chebyshev".
    device : {"cpu", "cuda"} or None, default=None
        Where "chebyshev" runs; None is the CPU. On a GPU, "auto" uses it for large
        sparse graphs. The other solvers run on the CPU.

    Returns
    -------
    pairs : Eigenpairs
        Eigenvalues in increasing order, orthonormal eigenvectors as columns, degrees
        and components.

    See Also
    --------
    laplacian_eigenvectors : Many eigenvectors of a large graph, by filters.

    Examples
    --------
    >>> from fewlabels.graphs import laplacian_eigenpairs
    >>> path = [[0, 1, 0], [1, 0, 1], [0, 1, 0]]
    >>> pairs = laplacian_eigenpairs(path, 2, laplacian="unnormalized")
    >>> pairs.values.round(6)
    array([0., 1.])
    """
    return lowest(
        spectral(W, laplacian),
        n_components,
        solver=eigen_solver,
        tol=tol,
        max_iter=max_iter,
        random_state=random_state,
        device=device,
    )


def laplacian_eigenvectors(
    L: Any,
    n_components: int,
    *,
    eigen_solver: str = "auto",
    tol: float = 1e-3,
    random_state: Any = None,
) -> tuple[NDArray[Any], NDArray[Any]]:
    r"""Find the smallest eigenvalues of a normalised Laplacian, and their vectors.

    Parameters
    ----------
    L : {array-like, sparse matrix} of shape (n_vertices, n_vertices)
        A symmetric matrix with spectrum in [0, 2], such as
        ``graph_laplacian(W, "symmetric")``.
    n_components : int
        Number of eigenpairs, at most n_vertices.
    eigen_solver : {"auto", "dense", "shift_invert", "chebyshev"}, default="auto"
        LAPACK on the dense matrix, which is exact up to rounding, ARPACK with a sparse
        factor, or subspace iteration with a Chebyshev filter [1]_. "auto" uses the
        first for up to 500 vertices, and the second if factors stay sparse and all
        eigenvalues are so small that filters need many products, as in large graphs in
        two or three dimensions.
    tol : float, default=1e-3
        Largest residual :math:`\|L u - \lambda u\|` that "chebyshev" accepts, or a
        quarter of the largest eigenvalue if that is less.
    random_state : int, RandomState instance or None, default=None
        Seed of the start.

    Returns
    -------
    eigenvalues : ndarray of shape (n_components,)
        In increasing order, not below 0.
    eigenvectors : ndarray of shape (n_vertices, n_components)
        Orthonormal columns.

    Warns
    -----
    ConvergenceWarning
        If "chebyshev" does not reach `tol`.

    See Also
    --------
    laplacian_eigenpairs : Of given weights, with more solvers and exact zeros.
    graph_laplacian : The Laplacian.

    Notes
    -----
    The filter :math:`T_m` grows fast outside an interval :math:`[\theta, 2]` and
    stays small inside. The end :math:`\theta` comes from the spectral density, by
    stochastic Lanczos quadrature, and then from the Ritz values. Vertices are put in
    reverse Cuthill-McKee order, so that a product with L reads memory nearly in order.

    References
    ----------
    .. [1] Y. Zhou, Y. Saad, M. Tiago, J. Chelikowsky, "Self-consistent-field
       calculations using Chebyshev-filtered subspace iteration", Journal of
       Computational Physics 219 (2006). :doi:`10.1016/j.jcp.2006.03.017`

    Examples
    --------
    >>> from fewlabels.graphs import graph_laplacian, laplacian_eigenvectors
    >>> path = [[0, 1, 0], [1, 0, 1], [0, 1, 0]]
    >>> L = graph_laplacian(path, "symmetric")
    >>> laplacian_eigenvectors(L, 2)[0].round(6)
    array([0., 1.])
    """
    b = backend_of(L)
    L = check_square(L, "L") if b.is_numpy else L
    n = L.shape[0]
    if not 1 <= n_components <= n:
        raise ValueError(
            f"n_components={n_components} must lie between 1 and the number of "
            f"vertices, {n}."
        )
    if eigen_solver not in ("auto", "dense", "shift_invert", "chebyshev"):
        raise ValueError(
            f"eigen_solver={eigen_solver!r} must be 'auto', 'dense', 'shift_invert' or "
            "'chebyshev'."
        )
    if eigen_solver == "auto":
        eigen_solver = "dense" if n <= DENSE_VERTICES else "chebyshev"
        if eigen_solver == "chebyshev" and _is_crowded(L, n_components, tol):
            eigen_solver = "shift_invert"
    if not b.is_numpy and eigen_solver != "chebyshev":
        L = to_host(L)
    elif not b.is_numpy:
        return _on_device(L, n_components, tol, random_state)
    # The zeros are not known: solve one part, with all of them among the wanted.
    whole = ConnectivityReport(np.zeros(n, dtype=np.intp), np.array([n]))
    graph = Spectral(L, 2.0, csr_array((n, 0), dtype=L.dtype), np.empty(0), whole)
    values, vectors = _pairs(
        graph,
        n_components,
        solver=eigen_solver,
        tol=tol,
        max_iter=FILTER_SWEEPS if eigen_solver == "chebyshev" else 1000,
        random_state=random_state,
    )
    return b.asarray(values), b.asarray(vectors)


def _is_crowded(L: Any, k: int, tol: float) -> bool:
    """Tell whether factors stay sparse, and k eigenvalues are too small for filters."""
    if not backend_of(L).is_numpy or not issparse(L) or L.shape[0] <= 8 * k:
        return False
    if _envelope(L) > THIN_ENVELOPE:
        return False
    S = NUMPY.shifted(csr_array(L), -1.0, 1.0)
    quantile = quantile_of_spectrum(S, k / L.shape[0])
    return RELATIVE_TOL * (1 - quantile) < tol


def _on_device(
    L: Any, n_components: int, tol: float, random_state: Any
) -> tuple[Any, Any]:
    """Eigenpairs of a sparse tensor with spectrum in [0, 2], by filters."""
    b = backend_of(L)
    rng = check_random_state(random_state)
    U = smoothest(
        b.shifted(L, -1.0, 1.0),
        None,
        n_components,
        tol=tol,
        max_iter=FILTER_SWEEPS,
        rng=rng,
    )
    values = b.xp.clip(b.xp.sum(U * (L @ U), axis=0, dtype=b.xp.float64), 0.0, None)
    order = b.xp.argsort(values)
    return values[order], U[:, order]
