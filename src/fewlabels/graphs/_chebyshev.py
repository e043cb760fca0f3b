"""Many leading eigenvectors of a large Laplacian, by Chebyshev filters."""

# SPDX-License-Identifier: BSD-3-Clause

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from scipy.sparse import csr_array, eye_array
from scipy.sparse.csgraph import reverse_cuthill_mckee
from sklearn.exceptions import ConvergenceWarning

from fewlabels.graphs._eigen_parts import chebyshev_filter, deflated, orthonormal

# Growth of the filter between two orthonormalisations that leaves enough digits.
_GROWTH = {np.dtype(np.float32): 1e5, np.dtype(np.float64): 1e10}
_DEGREE = 20


def chebyshev(
    A: Any,
    null: csr_array,
    k: int,
    *,
    tol: float,
    max_iter: int,
    rng: np.random.RandomState,
) -> NDArray[Any]:
    """Eigenvectors of the k smallest eigenvalues, all in [0, 1], orthogonal to `null`.

    Subspace iteration in the precision of A. Where it does not reach the residual
    `tol` it says so, and what it has found is returned.
    """
    n, p = null.shape
    A = csr_array(A)
    order = reverse_cuthill_mckee(A, symmetric_mode=True)
    # I - 2 A, whose largest eigenvalues belong to the smoothest vectors.
    S = csr_array(eye_array(n, dtype=A.dtype) - 2 * A[order][:, order])
    null = null[order]
    tol = tol or 1e3 * float(np.finfo(S.dtype).eps)
    n_block = min(n - p, k + max(20, k // 5))
    X = rng.standard_normal((n, n_block)).astype(S.dtype)
    cut = _quantile_of_spectrum(S, n_block / n, rng)
    U, error = X, np.inf
    for _ in range(max_iter):
        X = _filtered(S, X, cut)
        X = orthonormal(deflated(null, X) if p else X)
        SX = S @ X
        theta, V = linalg.eigh((X.T @ SX).astype(np.float64))
        theta, V = theta[::-1], V[:, ::-1].astype(S.dtype)
        X, SX = X @ V, SX @ V
        U = X[:, :k]
        residuals = SX[:, :k] - U * theta[:k].astype(S.dtype)
        error = float(np.linalg.norm(residuals, axis=0).max())
        if error <= tol:
            break
        # Never below the wanted ones, never so high that the filter damps nothing.
        cut = float(np.clip(theta[-1], -0.9, theta[k - 1] - 1e-3))
    else:
        warnings.warn(
            f"Eigenvectors of the graph are known to a residual of {error:.1e} only, "
            f"above tol={tol:.1e}: raise tol, or use eigen_solver='dense'.",
            ConvergenceWarning,
            stacklevel=5,
        )
    unordered = np.empty_like(U)
    unordered[order] = U
    return unordered


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
