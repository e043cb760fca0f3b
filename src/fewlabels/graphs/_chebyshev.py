"""Many leading eigenvectors of a large Laplacian, by Chebyshev filters."""

# SPDX-License-Identifier: BSD-3-Clause

import warnings
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from scipy.sparse import csr_array
from scipy.sparse.csgraph import reverse_cuthill_mckee
from sklearn.exceptions import ConvergenceWarning

from fewlabels._backend import NUMPY, Backend, backend_of, to_host
from fewlabels._threads import in_threads
from fewlabels.graphs._eigen_parts import chebyshev_filter, deflated

# Growth of the filter between two orthonormalisations that leaves enough digits.
_GROWTH = {np.dtype(np.float32): 1e5, np.dtype(np.float64): 1e10}
_DEGREE = 20
# If the wanted eigenvalues are crowded near the end, polynomials of higher degree
# replace many sweeps, until they grow by cosh of the first number.
_EXPONENT, _MAX_DEGREE = 6.0, 300
# A residual above this share of the largest wanted eigenvalue is meaningless.
RELATIVE_TOL = 0.25
# Random vectors for stochastic Lanczos quadrature of the spectral density.
N_STARTS = 4


def chebyshev(
    A: Any,
    null: csr_array,
    k: int,
    *,
    tol: float,
    max_iter: int,
    rng: np.random.RandomState,
    backend: Backend = NUMPY,
) -> NDArray[Any]:
    """Eigenvectors of the k smallest eigenvalues, all in [0, 1], orthogonal to `null`.

    Subspace iteration in the precision of A. If it does not reach the residual `tol`,
    or a quarter of the largest wanted eigenvalue if that is less, it warns and returns
    the vectors found so far.
    """
    A = csr_array(A)
    if not backend.is_numpy:
        found = smoothest(
            backend.shifted(backend.asarray(A), -2.0, 0.5),
            backend.asarray(null.toarray()),
            k,
            tol=tol,
            max_iter=max_iter,
            rng=rng,
            stacklevel=6,
        )
        return backend.to_numpy(found)
    order = reverse_cuthill_mckee(A, symmetric_mode=True)
    U = smoothest(
        NUMPY.shifted(A[order][:, order], -2.0, 0.5),
        null[order],
        k,
        tol=tol,
        max_iter=max_iter,
        rng=rng,
        stacklevel=6,
    )
    place = np.argsort(order)
    return NUMPY.over_rows(lambda rows: U[place[rows]], place.size)


def smoothest(
    S: Any,
    null: Any,
    k: int,
    *,
    tol: float,
    max_iter: int,
    rng: np.random.RandomState,
    stacklevel: int = 4,
) -> Any:
    """Eigenvectors of the k largest eigenvalues, all in [-1, 1], on any backend.

    For I - 2 A these belong to the smallest eigenvalues of A. Vectors in `null` are
    left out.
    """
    b = backend_of(S)
    xp, dtype = b.xp, _dtype(S)
    n, p = S.shape[0], 0 if null is None else null.shape[1]
    tol = tol or 1e3 * float(np.finfo(dtype).eps)
    n_block = min(n - p, k + max(20, k // 5))
    seeds = rng.randint(2**31), rng.randint(2**31)
    starts = b.standard_normal(seeds[1], (n, N_STARTS), dtype)
    # With several threads, use one random vector in each, while the block is drawn.
    parts = [v.copy() for v in starts.T] if b.is_numpy else [starts]
    tasks = [partial(_lanczos_quadrature, S, part) for part in parts]
    draw = partial(b.standard_normal, seeds[0], (n, n_block), dtype)
    X, *density = in_threads(lambda task: task(), [draw, *tasks])
    cut = _upper_quantile(density, n_block / n)
    U, error, enough = X, np.inf, tol
    for _ in range(max_iter):
        X = _filtered(S, X, cut)
        X = b.orthonormal(deflated(null, X) if p else X)
        SX = b.product(S, X)
        values, V = b.eigh(b.gram(X, SX))
        V = b.astype(xp.flip(V, axis=1), dtype)
        X = b.product(X, V)
        U, own = X[:, :k], xp.flip(values)[:k]
        error = _largest_residual(U, b.astype(own, dtype), SX, V[:, :k])
        span = max(1 - float(own[-1]), 1e-5)  # of the wanted eigenvalues
        enough = min(tol, RELATIVE_TOL * span)
        if error <= enough:
            break
        # Never below the wanted ones, nor so high that the filter damps nothing.
        cut = float(np.clip(float(values[0]), -0.9, 1 - span - min(1e-3, 0.1 * span)))
    else:
        warnings.warn(
            f"Eigenvectors of the graph are known to a residual of {error:.1e} only, "
            f"above {enough:.1e}: raise tol, or use eigen_solver='dense'.",
            ConvergenceWarning,
            stacklevel=stacklevel,
        )
    return U


def _dtype(S: Any) -> np.dtype[Any]:
    return backend_of(S).dtype(S)


def _filtered(S: Any, X: Any, cut: float) -> Any:
    """Apply the Chebyshev polynomial that is small on [-1, cut] to a block."""
    centre, half = 0.5 * (cut - 1), 0.5 * (cut + 1)
    # T_m(x) = cosh(m arccosh x) beyond the interval: the degree that float allows.
    rate = np.arccosh(max((1 - centre) / half, 1 + 1e-12))
    most = max(_DEGREE, min(_EXPONENT / rate, _MAX_DEGREE))
    degree = int(np.clip(np.log(2 * _GROWTH[_dtype(S)]) / rate, 2, most))
    return chebyshev_filter(S, X, -1, cut, degree)


def _largest_residual(U: Any, values: Any, SX: Any, V: Any) -> float:
    """Largest norm of a column of S U - U diag(values), where U = X V."""
    b = backend_of(U)
    xp = b.xp

    def squares(rows: slice) -> Any:
        residuals = SX[rows] @ V - U[rows] * values
        return xp.sum(residuals * residuals, axis=0)

    total = xp.sum(xp.stack(b.each_batch(squares, U.shape[0])), axis=0)
    return float(xp.sqrt(xp.max(total)))


def _lanczos_quadrature(
    S: Any, V: Any, n_steps: int = 40
) -> list[tuple[NDArray[Any], NDArray[Any]]]:
    """Quadrature nodes and weights of the spectrum of S, for each start vector in V."""
    b, n = backend_of(S), S.shape[0]
    xp, norm = b.xp, b.xp.linalg.vector_norm
    V = V / norm(V, axis=0)
    before, beta = xp.zeros_like(V), xp.zeros_like(V[0])
    alphas, betas = [], []
    for _ in range(min(n_steps, n)):
        W = b.product(S, V, beta * before)
        alphas.append(xp.sum(W * V, axis=0))
        W = W - alphas[-1] * V
        beta = norm(W, axis=0)
        betas.append(beta)
        before, V = V, W / xp.where(beta > 0, beta, xp.ones_like(beta))
    found = []
    diagonals, beside = (
        to_host(xp.stack(parts)).astype(np.float64).reshape(len(parts), -1)
        for parts in (alphas, betas)
    )
    for diagonal, off in zip(diagonals.T, beside.T, strict=True):
        # Beyond a vanishing remainder there is only rounding.
        ended = np.flatnonzero(off < 1e-6)
        size = int(ended[0]) + 1 if ended.size else off.size
        e, Q = linalg.eigh_tridiagonal(diagonal[:size], off[: size - 1])
        found.append((e, Q[0] ** 2))
    return found


def quantile_of_spectrum(S: Any, share: float) -> float:
    """Value above which about that share of the eigenvalues of S lies."""
    starts = backend_of(S).standard_normal(0, (S.shape[0], N_STARTS), _dtype(S))
    return _upper_quantile([_lanczos_quadrature(S, starts)], share)


def _upper_quantile(
    density: list[list[tuple[NDArray[Any], NDArray[Any]]]], share: float
) -> float:
    """Value above which about that share of the spectrum lies."""
    nodes, masses = zip(*(pair for part in density for pair in part), strict=True)
    value, mass = np.concatenate(nodes), np.concatenate(masses) / len(masses)
    order = np.argsort(-value)
    index = int(np.searchsorted(np.cumsum(mass[order]), share))
    cut = value[order][min(index, value.size - 1)]
    return float(np.clip(cut, -0.9, 1 - 1e-3))
