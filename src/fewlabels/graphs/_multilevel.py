"""Eigenvectors of a Laplacian from a hierarchy of coarser graphs."""

# SPDX-License-Identifier: BSD-3-Clause

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from scipy.sparse import csr_array

from fewlabels._backend import NUMPY
from fewlabels.graphs._eigen_parts import chebyshev_filter, deflated, shifted_factor

# Graphs with at most this many vertices are solved directly.
COARSEST = 3000
# Fewer vertices per vector cannot tell the vectors apart.
RESOLUTION = 10
# Vectors beyond those wanted, for fine and for rough accuracies: the last of a block
# converges slowly.
GUARDS, ROUGH_GUARDS = 2, 1
# Random vectors to add: a coarser graph has no information within its stars, and little
# about components of a few stars.
SCOUTS = 1
# With the diagonal scaled to 1, all eigenvalues are at most 2. The smoother damps those
# above the first number, and the coarser graph those below, which is all that stars of
# neighbours can resolve.
ROUGH, HIGHEST = 0.1, 2.0
# Products with the matrix per smoothing: of the guess from the coarser graph, which
# jumps from star to star, and before and after every correction.
FIRST_DEGREE, DEGREE = 8, 2
# A Ritz value may still fall by this multiple of its last change; only accuracies below
# the second number are worth the wait for it.
PATIENCE, FINE = 5, 1e-2
# Condition of the search directions, squared, up to which all of them are used.
MAX_CONDITION = 1e8
# Share of the largest direction, squared, below which one is only rounding.
MIN_INDEPENDENT = 1e-13


class NotConverged(Exception):
    """Raised if more steps would be needed."""


class Level(NamedTuple):
    """A graph and the map to the next coarser one.

    Attributes
    ----------
    A : csr_array, a Laplacian
    scale : ndarray of shape (n_vertices, 1), 1 / diagonal
    null : csr_array, the null space of A
    up : csr_array of shape (n_vertices, n_vertices of the coarser graph), orthonormal
    """

    A: csr_array
    scale: NDArray[np.float64]
    null: csr_array
    up: csr_array


def coarser(A: csr_array, null: csr_array) -> Level:
    """Aggregate neighbours into single vertices.

    The columns of `up` are pieces of the null space, so that the coarse matrix
    ``up.T A up`` has the same one.
    """
    from fewlabels._loops.graph import aggregate  # numba is imported where it is used

    star, n_stars = aggregate(A.indptr, A.indices, -A.data)
    # Every row of `null` has one entry: that of the vertex in its component.
    norms = np.sqrt(np.bincount(star, weights=null.data**2, minlength=n_stars))
    n = A.shape[0]
    up = csr_array(
        (null.data / norms[star], star, np.arange(n + 1)), shape=(n, n_stars)
    )
    diagonal = A.diagonal()
    scale = 1 / np.where(diagonal > 0, diagonal, 1)
    return Level(A, scale[:, None], null, up)


def _smoothed(
    A: csr_array, scale: NDArray[Any], R: NDArray[Any], degree: int = DEGREE
) -> NDArray[Any]:
    """Solve A Z = R for its rough part, by Chebyshev iteration on the scaled system."""
    centre, half = (HIGHEST + ROUGH) / 2, (HIGHEST - ROUGH) / 2
    # The usual recurrence for the residual polynomial T_m((c - x) / h) / T_m(c / h).
    rho = half / centre
    step = scale * R / centre
    Z = step.copy()
    for _ in range(degree - 1):
        after = 1 / (2 * centre / half - rho)
        step = after * rho * step + (2 * after / half) * scale * (R - A @ Z)
        Z += step
        rho = after
    return Z


class VCycle:
    """An approximate inverse of a Laplacian, symmetric and positive, by its levels.

    Parameters
    ----------
    levels : list of Level, the finest first
    coarsest : the factor of the coarsest matrix
    null : null space of the coarsest matrix
    """

    def __init__(self, levels: list[Level], coarsest: Any, null: csr_array) -> None:
        self.levels = levels
        self.coarsest = coarsest
        self.null = null

    def __call__(self, R: NDArray[Any], depth: int = 0) -> NDArray[Any]:
        """Solve for a block of right-hand sides at a level."""
        if depth == len(self.levels):
            R = deflated(self.null, R)
            return deflated(self.null, self.coarsest.solve(R))
        A, scale, null, up = self.levels[depth]
        Z = _smoothed(A, scale, R)
        Z += up @ self(up.T @ (R - A @ Z), depth + 1)
        Z += _smoothed(A, scale, R - A @ Z)
        return deflated(null, Z)


def _refined(
    A: csr_array,
    scale: NDArray[Any],
    X: NDArray[Any],
    k: int,
    inverse: Callable[[NDArray[Any]], NDArray[Any]],
    tol: float,
    max_iter: int,
) -> NDArray[Any]:
    """Improve eigenvectors by locally optimal block conjugate gradients [1]_.

    The error of an eigenvalue with residual r is r' A^-1 r up to terms of higher order.
    While r is mostly rough, A^-1 is about D^-1 / ROUGH there, with the diagonal D;
    otherwise the cycle approximates A^-1. Both may be far off if weights are uneven, so
    the last change, usually larger, must be small as well. Ritz values beyond the k-th
    must no longer be about to fall below it.

    References
    ----------
    .. [1] A. Knyazev, "Toward the optimal preconditioned eigensolver", SIAM Journal on
       Scientific Computing 23 (2001). :doi:`10.1137/S1064827500366124`
    """
    m = X.shape[1]
    S, AS = X, A @ X
    before = np.full(m, np.inf)
    for _ in range(max_iter):
        theta, Y = _ritz(S, AS, m)
        # The new vectors, and how they differ from the old ones: the next direction.
        X, AX = S @ Y, AS @ Y
        D, AD = S[:, m:] @ Y[m:], AS[:, m:] @ Y[m:]
        R = AX - X * theta
        # Below the rounding errors of a product there is nothing to gain.
        goal = np.maximum(tol * theta, np.finfo(np.float64).eps / scale.min())[:k]
        fall = before - theta
        steady = np.all(fall[:k] <= goal)
        if tol < FINE:
            ahead = np.maximum(theta[k:] - theta[k - 1], goal[-1])
            steady = steady and np.all(PATIENCE * fall[k:] <= ahead)
        if steady and np.all(_products(R, scale * R)[:k] <= ROUGH * goal):
            return X[:, :k]
        Z = inverse(R)
        if steady and np.all(_products(R, Z)[:k] <= goal):
            return X[:, :k]
        before = theta
        S, AS = _normalized(np.hstack([X, Z, D]), np.hstack([AX, A @ Z, AD]))
        if np.linalg.cond(S.T @ S) > MAX_CONDITION:  # restart, without direction
            S, AS = S[:, : 2 * m], AS[:, : 2 * m]
    raise NotConverged(f"errors up to {np.max(_products(R, Z)[:k] / theta[:k]):.1e}")


def _products(A: NDArray[Any], B: NDArray[Any]) -> NDArray[Any]:
    """Inner products of columns."""
    return np.einsum("ij,ij->j", A, B)


def _normalized(S: NDArray[Any], AS: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Scale columns to norm 1, dropping zero columns."""
    size = np.linalg.norm(S, axis=0)
    kept = size > 0
    return S[:, kept] / size[kept], AS[:, kept] / size[kept]


def _ritz(
    S: NDArray[Any], AS: NDArray[Any], m: int
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Smallest Ritz values in the span of columns, and their coefficients."""
    H, G = S.T @ AS, S.T @ S
    H = (H + H.T) / 2
    try:
        return linalg.eigh(H, G, subset_by_index=[0, m - 1])
    except linalg.LinAlgError:  # directions that rounding made dependent
        size, V = linalg.eigh(G)
        kept = size > MIN_INDEPENDENT * size[-1]
        if np.count_nonzero(kept) < m:
            raise NotConverged("directions became dependent") from None
        V = V[:, kept] / np.sqrt(size[kept])
        theta, Y = linalg.eigh(V.T @ H @ V, subset_by_index=[0, m - 1])
        return theta, V @ Y


def multilevel(
    A: csr_array,
    null: csr_array,
    k: int,
    direct: Callable[..., NDArray[Any]],
    *,
    tol: float,
    max_iter: int,
    rng: np.random.RandomState,
) -> NDArray[Any]:
    """Eigenvectors of the smallest eigenvalues of a Laplacian outside its null space.

    No eigenvalue may be larger than 1.
    Neighbours are aggregated until the graph is small; there `direct` finds the
    eigenvectors, which are carried back level by level, smoothed and corrected.
    """
    n_vectors = k + (GUARDS if tol < FINE else ROUGH_GUARDS)
    levels = []
    while A.shape[0] > COARSEST:
        level = coarser(A, null)
        n_coarse = level.up.shape[1]
        resolved = n_coarse - null.shape[1] >= RESOLUTION * n_vectors
        if not resolved or 2 * n_coarse > A.shape[0]:  # a graph that does not shrink
            break
        levels.append(level)
        A = csr_array(level.up.T @ (A @ level.up))
        null = csr_array(level.up.T @ null)
        null.eliminate_zeros()
    if not levels:
        return direct(A, null, k, tol=tol, max_iter=max_iter, rng=rng)
    factor = shifted_factor(A)
    X = direct(A, null, n_vectors, factor, tol=1e-2, max_iter=1000, rng=rng)
    cycle = VCycle(levels, factor, null)
    for level in reversed(levels):
        scaled = csr_array(level.A * level.scale)
        X = chebyshev_filter(scaled, level.up @ X, ROUGH, HIGHEST, FIRST_DEGREE)
    # Only the finest level is refined: elsewhere a good start is enough.
    A, scale, null, _ = levels[0]
    scouts = cycle(rng.standard_normal((A.shape[0], SCOUTS)))
    X = np.hstack([X, cycle(scouts / np.linalg.norm(scouts, axis=0))])
    # Once more at the end: columns that are nearly parallel enlarge traces of it.
    X = deflated(null, NUMPY.orthonormal(deflated(null, X)))
    return _refined(A, scale, X, k, cycle, tol, max_iter)
