"""Many leading eigenvectors of a large Laplacian, by Chebyshev filters."""

# SPDX-License-Identifier: BSD-3-Clause

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from scipy.sparse import csr_array, eye_array, issparse
from scipy.sparse.csgraph import reverse_cuthill_mckee
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from fewlabels.graphs._eigen_parts import chebyshev_filter, orthonormal
from fewlabels.graphs._laplacian import _check_square

# Up to so many vertices a dense decomposition is quick.
DENSE_VERTICES = 500
# Growth of the filter between two orthonormalisations that leaves enough digits.
_GROWTH = {np.dtype(np.float32): 1e5, np.dtype(np.float64): 1e10}
_DEGREE = 20
_MAX_SWEEPS = 12


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
        How many, at most n_vertices.
    eigen_solver : {"auto", "dense", "chebyshev"}, default="auto"
        LAPACK on the dense matrix, which is exact up to rounding, or subspace
        iteration with a Chebyshev filter [1]_. "auto" takes the first for up to 500
        vertices. Lanczos iteration (ARPACK) is not offered: from one start vector it
        may miss copies of an eigenvalue, and a graph has as many copies of 0 as
        components.
    tol : float, default=1e-3
        Largest residual :math:`\|L u - \lambda u\|` that "chebyshev" accepts.
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
    L = _check_square(L, "L")
    n = L.shape[0]
    if not 1 <= n_components <= n:
        raise ValueError(
            f"n_components={n_components} must lie between 1 and the number of "
            f"vertices, {n}."
        )
    if eigen_solver not in ("auto", "dense", "chebyshev"):
        raise ValueError(
            f"eigen_solver={eigen_solver!r} must be 'auto', 'dense' or 'chebyshev'."
        )
    if eigen_solver == "auto":
        eigen_solver = "dense" if n <= DENSE_VERTICES else "chebyshev"
    if (
        eigen_solver == "dense" or n_components > n // 3
    ):  # a subspace that large is no shortcut
        dense = L.toarray() if issparse(L) else L
        e, U = linalg.eigh(dense, subset_by_index=[0, n_components - 1])
        return np.maximum(e, 0), U
    rng = check_random_state(random_state)
    return _chebyshev(csr_array(L), n_components, tol, rng)


def _shifted(L: csr_array) -> csr_array:
    """I - L, whose largest eigenvalues belong to the smoothest vectors."""
    return csr_array(eye_array(L.shape[0], dtype=L.dtype) - L)


def _chebyshev(
    L: csr_array, n_components: int, tol: float, rng: np.random.RandomState
) -> tuple[NDArray[Any], NDArray[Any]]:
    n = L.shape[0]
    order = reverse_cuthill_mckee(L, symmetric_mode=True)
    S = _shifted(csr_array(L[order][:, order]))
    n_block = min(n, n_components + max(20, n_components // 5))
    X = rng.standard_normal((n, n_block)).astype(S.dtype)
    cut = _quantile_of_spectrum(S, n_block / n, rng)
    theta, U, error = np.empty(0), X, np.inf
    for _ in range(_MAX_SWEEPS):
        X = orthonormal(_filtered(S, X, cut))
        SX = S @ X
        theta, V = linalg.eigh((X.T @ SX).astype(np.float64))
        theta, V = theta[::-1], V[:, ::-1].astype(S.dtype)
        X, SX = X @ V, SX @ V
        U = X[:, :n_components]
        residuals = SX[:, :n_components] - U * theta[:n_components].astype(S.dtype)
        error = float(np.linalg.norm(residuals, axis=0).max())
        if error <= tol:
            break
        # Never below the wanted ones, never so high that the filter damps nothing.
        cut = float(np.clip(theta[-1], -0.9, theta[n_components - 1] - 1e-3))
    else:
        warnings.warn(
            f"Eigenvectors of the graph are known to a residual of {error:.1e} only, "
            f"above tol={tol:.1e}: raise tol, or use eigen_solver='dense'.",
            ConvergenceWarning,
            stacklevel=3,
        )
    unordered = np.empty_like(U)
    unordered[order] = U
    return np.maximum(1 - theta[:n_components], 0), unordered


def _filtered(S: csr_array, X: NDArray[Any], cut: float) -> NDArray[Any]:
    """Apply the Chebyshev polynomial that is small on [-1, cut] to a block."""
    centre, half = 0.5 * (cut - 1), 0.5 * (cut + 1)
    # T_m(x) = cosh(m arccosh x) beyond the interval: the degree that float allows.
    rate = np.arccosh(max((1 - centre) / half, 1 + 1e-12))
    degree = int(np.clip(np.log(2 * _GROWTH[S.dtype]) / rate, 2, _DEGREE))
    return chebyshev_filter(S, X, -1, cut, degree)


def _quantile_of_spectrum(
    S: csr_array, share: float, rng: np.random.RandomState, n_steps: int = 40
) -> float:
    """Value above which about that share of the eigenvalues of S lies.

    Stochastic Lanczos quadrature: nodes and weights of a few random start vectors.
    """
    n = S.shape[0]
    nodes, masses = [], []
    for _ in range(4):
        v = rng.standard_normal(n).astype(S.dtype)
        v /= np.linalg.norm(v)
        before, beta = np.zeros_like(v), 0.0
        alphas, betas = [], []
        for _ in range(min(n_steps, n)):
            w = S @ v - S.dtype.type(beta) * before
            alphas.append(float(w @ v))
            w -= S.dtype.type(alphas[-1]) * v
            beta = float(np.linalg.norm(w))
            if beta < 1e-6:
                break
            betas.append(beta)
            before, v = v, w / S.dtype.type(beta)
        e, Q = linalg.eigh_tridiagonal(alphas, betas[: len(alphas) - 1])
        nodes.append(e)
        masses.append(Q[0] ** 2 / 4)
    value, mass = np.concatenate(nodes), np.concatenate(masses)
    order = np.argsort(-value)
    index = int(np.searchsorted(np.cumsum(mass[order]), share))
    cut = value[order][min(index, value.size - 1)]
    return float(np.clip(cut, -0.9, 1 - 1e-3))
