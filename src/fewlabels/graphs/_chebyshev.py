"""Many leading eigenvectors of a large Laplacian, by Chebyshev filters."""

# SPDX-License-Identifier: BSD-3-Clause

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from scipy.sparse import csr_array
from scipy.sparse.csgraph import reverse_cuthill_mckee
from sklearn.exceptions import ConvergenceWarning

from fewlabels._backend import NUMPY, Backend, backend_of, to_host
from fewlabels.graphs._eigen_parts import chebyshev_filter, deflated

# Growth of the filter between two orthonormalisations that leaves enough digits.
_GROWTH = {np.dtype(np.float32): 1e5, np.dtype(np.float64): 1e10}
_DEGREE = 20
# Random vectors from which the density of the spectrum is learned.
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

    Subspace iteration in the precision of A. Where it does not reach the residual
    `tol` it says so, and what it has found is returned.
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
    unordered = np.empty_like(U)
    unordered[order] = U
    return unordered


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

    Of I - 2 A these belong to the smallest eigenvalues of A. What lies in `null` is
    left out.
    """
    b = backend_of(S)
    xp, dtype = b.xp, _dtype(S)
    n, p = S.shape[0], 0 if null is None else null.shape[1]
    tol = tol or 1e3 * float(np.finfo(dtype).eps)
    n_block = min(n - p, k + max(20, k // 5))
    X = b.standard_normal(rng, (n, n_block), dtype)
    cut = _quantile_of_spectrum(S, n_block / n, rng)
    U, error = X, np.inf
    for _ in range(max_iter):
        X = _filtered(S, X, cut)
        X = b.orthonormal(deflated(null, X) if p else X)
        SX = b.product(S, X)
        values, V = b.eigh(b.gram(X, SX))
        V = b.astype(xp.flip(V, axis=1), dtype)
        X, SX = b.product(X, V), b.product(SX, V)
        U, own = X[:, :k], xp.flip(values)[:k]
        residuals = SX[:, :k] - U * b.astype(own, dtype)
        error = float(xp.max(xp.linalg.vector_norm(residuals, axis=0)))
        if error <= tol:
            break
        # Never below the wanted ones, never so high that the filter damps nothing.
        cut = float(np.clip(float(values[0]), -0.9, float(own[-1]) - 1e-3))
    else:
        warnings.warn(
            f"Eigenvectors of the graph are known to a residual of {error:.1e} only, "
            f"above tol={tol:.1e}: raise tol, or use eigen_solver='dense'.",
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
    degree = int(np.clip(np.log(2 * _GROWTH[_dtype(S)]) / rate, 2, _DEGREE))
    return chebyshev_filter(S, X, -1, cut, degree)


def _quantile_of_spectrum(
    S: Any, share: float, rng: np.random.RandomState, n_steps: int = 40
) -> float:
    """Value above which about that share of the eigenvalues of S lies.

    Stochastic Lanczos quadrature: nodes and weights of a few random start vectors.
    """
    b, n = backend_of(S), S.shape[0]
    xp, norm = b.xp, b.xp.linalg.vector_norm
    V = b.standard_normal(rng, (n, N_STARTS), _dtype(S))
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
    diagonals = to_host(xp.stack(alphas)).astype(np.float64)
    beside = to_host(xp.stack(betas)).astype(np.float64)
    nodes, masses = [], []
    for diagonal, off in zip(diagonals.T, beside.T, strict=True):
        # Past a vanishing remainder there is nothing but rounding.
        ended = np.flatnonzero(off < 1e-6)
        size = int(ended[0]) + 1 if ended.size else off.size
        e, Q = linalg.eigh_tridiagonal(diagonal[:size], off[: size - 1])
        nodes.append(e)
        masses.append(Q[0] ** 2 / N_STARTS)
    value, mass = np.concatenate(nodes), np.concatenate(masses)
    order = np.argsort(-value)
    index = int(np.searchsorted(np.cumsum(mass[order]), share))
    cut = value[order][min(index, value.size - 1)]
    return float(np.clip(cut, -0.9, 1 - 1e-3))
