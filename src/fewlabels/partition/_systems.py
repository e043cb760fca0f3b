r"""The quadratic form of the partition problem, from a kernel or its factor.

With the weights d (see :class:`PartitionProblem`), :math:`\bar K = D K D` and
:math:`G = (\bar K + \lambda I)^{-1}`, the matrix of the problem is
:math:`Q = D (I - \lambda G) D`. A system knows Q or a factor B of it, Q = B B', and the
model that belongs to a partition.
"""

# SPDX-License-Identifier: BSD-3-Clause

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from fewlabels._linalg import eigh_between

Array = NDArray[np.float64]


_NOT_PSD = (
    "K is not positive semidefinite, so it is not a kernel matrix: use another "
    "kernel or, if this is only rounding, a larger alpha."
)
_LOST = (
    "alpha={:g} is lost in the rounding errors of a kernel of this size: scale the "
    "rows, or raise alpha."
)


class System(Protocol):
    """Interface between a problem and its quadratic form."""

    alpha: float

    @property
    def by_difference(self) -> bool:
        """Whether Q is a difference of two larger matrices, with their rounding."""

    @property
    def B(self) -> Array | None:
        """The outer part of a factorisation Q = B W B', if one is known."""

    @property
    def weights(self) -> Array:
        """W in the form used by the loops; of size zero if W is the identity."""

    def factor(self, rows: NDArray[np.intp]) -> Array:
        """Rows of B, contiguous."""

    def weigh(self, X: Array) -> Array:
        """Return X W."""

    def dense(self, rows: NDArray[np.intp]) -> Array:
        """Block of Q for some points."""

    def diagonal(self) -> Array:
        """Diagonal of Q."""

    def products(self, E: Array) -> Array:
        """Return Q E."""

    def forms(self, E: Array) -> Array:
        """Return e' Q e for every column e of E."""

    def model(self, Y: Array) -> Array:
        """Coefficients of the least-squares model of the targets Y."""

    def supervised_outputs(self, labeled: NDArray[np.intp], Y: Array) -> Array:
        """Return outputs on all points of the model trained on the labelled ones."""

    def path(self, alphas: NDArray[np.float64]) -> Iterator["System"]:
        """Return systems for other values of alpha, sharing one decomposition."""

    def spectrum(
        self, rank: int | None = None, alpha: float | None = None
    ) -> tuple[Array, Array]:
        """Return leading columns of B, Q = B B', and eigenvalues t in falling order.

        The columns of D^-1 B are orthogonal and of squared length t. There is one
        eigenvalue more than columns, unless all are asked for.
        """


class KernelSystem:
    """Q from a kernel matrix, by one Cholesky factor."""

    def __init__(self, K: Array, d: Array, alpha: float) -> None:
        self.K, self.d, self.alpha = K, d, alpha
        self._eigenpairs: tuple[Array, Array] | None = None

    by_difference = True
    B = None
    weights = np.empty((3, 0))

    def factor(self, rows: NDArray[np.intp]) -> Array:
        raise NotImplementedError("a kernel matrix comes without a factor")

    def weigh(self, X: Array) -> Array:
        raise NotImplementedError("a kernel matrix comes without a factor")

    @cached_property
    def _cholesky(self) -> tuple[Array, bool]:
        A = _with_ridge(self.d[:, None] * self.K * self.d, self.alpha)
        try:
            return linalg.cho_factor(
                A, lower=True, overwrite_a=True, check_finite=False
            )
        except linalg.LinAlgError as error:
            raise ValueError(_NOT_PSD) from error

    @cached_property
    def Q(self) -> Array:
        factor, _ = self._cholesky
        G, _ = linalg.lapack.dpotri(factor, lower=1)
        Q = np.tril(G)
        Q += np.tril(Q, -1).T
        Q *= -self.alpha
        Q.flat[:: Q.shape[0] + 1] += 1.0
        Q *= self.d
        Q *= self.d[:, None]
        return Q

    def dense(self, rows: NDArray[np.intp]) -> Array:
        if rows.size == self.Q.shape[0]:
            return self.Q
        return np.ascontiguousarray(self.Q[np.ix_(rows, rows)])

    def diagonal(self) -> Array:
        return self.Q.diagonal().copy()

    def products(self, E: Array) -> Array:
        return self.Q @ E

    def forms(self, E: Array) -> Array:
        return np.einsum("ij,ij->j", E, self.Q @ E)

    def model(self, Y: Array) -> Array:
        scaled = self.d[:, None] * Y
        solved = linalg.cho_solve(self._cholesky, scaled, check_finite=False)
        return self.d[:, None] * solved

    def supervised_outputs(self, labeled: NDArray[np.intp], Y: Array) -> Array:
        return self.supervised_path(labeled, Y, [self.alpha])[0]

    def supervised_path(
        self, labeled: NDArray[np.intp], Y: Array, alphas: Iterable[float]
    ) -> Array:
        K = self.K[:, labeled]
        return _for_each(K, _ridge_path(K[labeled], Y, alphas, labeled.size))

    def path(self, alphas: NDArray[np.float64]) -> Iterator[System]:
        A = self.d[:, None] * self.K
        A *= self.d
        U, T = tridiagonal(A)
        shift = np.array([1e-8 * T.row_sums().max(initial=0.0)])
        if not (T.factorise(shift)[0] > 0).all():
            raise ValueError(_NOT_PSD)
        # Q = D U (I - alpha (T + alpha I)^-1) U' D; the model is
        # D U (T + alpha I)^-1 U' D y.
        U *= self.d[:, None]
        return _Reduction(self, U, T, U, alphas, _NOT_PSD).systems()

    def spectrum(
        self, rank: int | None = None, alpha: float | None = None
    ) -> tuple[Array, Array]:
        n = self.d.size
        w, V = self._leading(n if rank is None else min(rank + 1, n))
        w = np.where(w > n * np.finfo(w.dtype).eps * w[0], w, 0.0)
        t = w / (w + (alpha or self.alpha))
        kept = min(int(np.count_nonzero(t)), n if rank is None else rank)
        return self.d[:, None] * V[:, :kept] * np.sqrt(t[:kept]), t

    def _leading(self, n_pairs: int) -> tuple[Array, Array]:
        """Largest eigenpairs of D K D, decomposed anew only where more are needed."""
        if self._eigenpairs is None or self._eigenpairs[0].size < n_pairs:
            n = self.d.size
            A = self.d[:, None] * self.K * self.d
            if n_pairs < n:
                w, V = eigh_between(A, n - n_pairs, n - 1, check_finite=False)
            else:
                w, V = linalg.eigh(A, check_finite=False, driver="evd")
            if w[0] < -1e-8 * np.abs(w).max(initial=0.0):
                raise ValueError(_NOT_PSD)
            self._eigenpairs = w[::-1], V[:, ::-1]
        w, V = self._eigenpairs
        return w[:n_pairs], V[:, :n_pairs]


class FactorSystem:
    """Q from a factor Z of the kernel matrix, K = Z Z', by a small Cholesky factor."""

    def __init__(self, Z: Array, d: Array, alpha: float) -> None:
        self.Z, self.d, self.alpha = Z, d, alpha

    by_difference = False
    weights = np.empty((3, 0))

    def factor(self, rows: NDArray[np.intp]) -> Array:
        return np.ascontiguousarray(self.B[rows])

    def weigh(self, X: Array) -> Array:
        return X

    @cached_property
    def _gram(self) -> Array:
        C = self.d[:, None] * self.Z
        return C.T @ C

    @cached_property
    def _eigenpairs(self) -> tuple[Array, Array]:
        s, V = linalg.eigh(self._gram, check_finite=False, driver="evd")
        return np.maximum(s[::-1], 0.0), V[:, ::-1]

    @cached_property
    def _cholesky(self) -> Array:
        A = _with_ridge(self._gram.copy(), self.alpha)
        try:
            return linalg.cholesky(A, lower=True, check_finite=False)
        except linalg.LinAlgError as error:
            raise ValueError(_LOST.format(self.alpha)) from error

    @cached_property
    def B(self) -> Array:
        # Z R^-T, then the rows scaled in place: Q = D Z (C'C + alpha I)^-1 Z' D, with
        # d twice.
        Bt = linalg.solve_triangular(
            self._cholesky, self.Z.T, lower=True, check_finite=False
        )
        B = np.ascontiguousarray(Bt.T)
        B *= (self.d**2)[:, None]
        return B

    def dense(self, rows: NDArray[np.intp]) -> Array:
        B = self.B if rows.size == self.B.shape[0] else self.B[rows]
        return B @ B.T

    def diagonal(self) -> Array:
        return np.einsum("ij,ij->i", self.B, self.B)

    def products(self, E: Array) -> Array:
        return self.B @ (self.B.T @ E)

    def forms(self, E: Array) -> Array:
        image = self.B.T @ E
        return np.einsum("ij,ij->j", image, image)

    def model(self, Y: Array) -> Array:
        right = self.Z.T @ ((self.d**2)[:, None] * Y)
        return linalg.cho_solve((self._cholesky, True), right, check_finite=False)

    def supervised_outputs(self, labeled: NDArray[np.intp], Y: Array) -> Array:
        return self.supervised_path(labeled, Y, [self.alpha])[0]

    def supervised_path(
        self, labeled: NDArray[np.intp], Y: Array, alphas: Iterable[float]
    ) -> Array:
        return _for_each(self.Z, ridge_weights(self.Z[labeled], Y, alphas))

    def path(self, alphas: NDArray[np.float64]) -> Iterator[System]:
        U, T = tridiagonal(self._gram.copy())
        # Q = B (T + alpha I)^-1 B' with B = D^2 Z U; the weights are
        # U (T + alpha)^-1 B'y.
        B = self.Z @ U
        B *= (self.d**2)[:, None]
        return _Reduction(self, B, T, U, alphas, _LOST).systems()

    def spectrum(
        self, rank: int | None = None, alpha: float | None = None
    ) -> tuple[Array, Array]:
        s, V = self._eigenpairs
        kept = slice(rank)
        total = s + (alpha or self.alpha)
        B = self.Z @ (V[:, kept] / np.sqrt(total[kept]))
        B *= (self.d**2)[:, None]
        return B, s / total


def _with_ridge(A: Array, ridge: float) -> Array:
    """Add a ridge to the diagonal, unless it is too small compared with the trace."""
    if ridge <= 0.5 * np.finfo(A.dtype).eps * np.trace(A):
        raise ValueError(_LOST.format(ridge))
    A.flat[:: A.shape[0] + 1] += ridge
    return A


def ridge_weights(Z: Array, Y: Array, alphas: Iterable[float]) -> Array:
    """Weights of least squares on features, in the smaller of the two forms."""
    n, r = Z.shape
    if n <= r:
        return _for_each(Z.T, _ridge_path(Z @ Z.T, Y, alphas, n))
    return _ridge_path(Z.T @ Z, Z.T @ Y, alphas, n)


def _ridge_path(A: Array, Y: Array, alphas: Iterable[float], n: int) -> Array:
    """Solve (A + n alpha I) X = Y for every alpha."""
    solutions = []
    for alpha in alphas:
        shifted = A.copy(order="F")
        shifted.flat[:: A.shape[0] + 1] += alpha * n
        _, X, info = linalg.lapack.dposv(shifted, Y, lower=1, overwrite_a=1)
        if info:
            raise ValueError(_LOST.format(alpha))
        solutions.append(X)
    return np.stack(solutions)


def _for_each(A: Array, X: Array) -> Array:
    """Multiply every matrix of a stack by A, all by one product."""
    m, n, k = X.shape
    product = A @ X.transpose(1, 0, 2).reshape(n, m * k)
    return np.ascontiguousarray(product.reshape(-1, m, k).transpose(1, 0, 2))


@dataclass(frozen=True)
class Tridiagonal:
    """A symmetric tridiagonal matrix.

    Attributes
    ----------
    diagonal : ndarray of shape (r,)
        Its diagonal.
    off : ndarray of shape (r - 1,)
        The entries next to it.
    """

    diagonal: Array
    off: Array

    def row_sums(self) -> Array:
        """Sum the moduli of every row; the largest sum bounds the eigenvalues."""
        sums, off = np.abs(self.diagonal), np.abs(self.off)
        sums[1:] += off
        sums[:-1] += off
        return sums

    def factorise(self, alphas: Array) -> tuple[Array, Array]:
        """Factorise T + alpha I = N diag(p) N', with N as the loops take it.

        Parameters
        ----------
        alphas : ndarray of shape (m,)
            Several values of alpha.

        Returns
        -------
        pivots, beside : ndarray of shape (m, r)
            The pivots p, all positive if and only if the matrix is positive definite,
            and the entries next to the diagonal of N.
        """
        from fewlabels._loops.tridiagonal import factorise  # compiled on first use

        return factorise(self.diagonal, self.off, alphas)


def tridiagonal(A: Array) -> tuple[Array, Tridiagonal]:
    """Reduce a symmetric matrix to tridiagonal form, A = U T U'.

    This is half the work of an eigendecomposition, and just as useful: systems with
    T + alpha I are solved in linear time for any alpha.

    Parameters
    ----------
    A : ndarray of shape (n, n)
        The matrix; overwritten.

    Returns
    -------
    U : ndarray of shape (n, r)
        Orthonormal columns. The first ones span a Krylov space, so that a few suffice
        for a matrix of low rank; the others, for which T contains only rounding errors,
        are dropped.
    T : Tridiagonal
        The matrix T.
    """
    n = A.shape[0]
    lwork = int(linalg.lapack.dsytrd_lwork(n, lower=1)[0])
    # The transpose is contiguous in the sense of LAPACK, and the same matrix.
    reflectors, diagonal, off, tau, _ = linalg.lapack.dsytrd(
        A.T, lower=1, lwork=lwork, overwrite_a=1
    )
    sums = Tridiagonal(diagonal, off).row_sums()
    largest = np.maximum.accumulate(sums[::-1])[::-1]
    r = int(np.sum(largest > n * np.finfo(A.dtype).eps * largest[0]))
    U = np.zeros((n, r))
    U[:1, :1] = 1.0
    if r > 1:
        U[1:, 1:] = linalg.lapack.dorgqr(
            reflectors[1:, : r - 1], tau[: r - 1], lwork=lwork
        )[0]
    return U, Tridiagonal(diagonal[:r].copy(), off[: max(r - 1, 0)].copy())


class _Reduction:
    """Shared data of the systems of a path: Q = B W B' with W = R or I - alpha R.

    Here R = (T + alpha I)^-1 with a tridiagonal T. The model of targets Y is M R B' Y.
    Quantities that every alpha needs are computed for all of them on first use.
    """

    def __init__(
        self,
        base: KernelSystem | FactorSystem,
        B: Array,
        T: Tridiagonal,
        M: Array,
        alphas: Array,
        error: str,
    ) -> None:
        self.base, self.B, self.T, self.M = base, B, T, M
        self.alphas, self.error = alphas, error
        self._parts: list[tuple[NDArray[np.intp], Array]] = [(np.arange(B.shape[0]), B)]
        self._columns: Array = np.empty((B.shape[0], 0))
        self._images: Array = np.empty((B.shape[1], 0))
        self._supervised: tuple[NDArray[np.intp], Array, Array] | None = None

    def systems(self) -> Iterator["PathSystem"]:
        for number in range(self.alphas.size):
            alpha = self.alphas[number]
            if alpha <= 0.5 * np.finfo(np.float64).eps * self.T.diagonal.sum():
                raise ValueError(_LOST.format(alpha))
            if not (self._factors[0][number] > 0).all():
                raise ValueError(self.error.format(alpha))
            yield PathSystem(self, number)

    def other(self, alphas: Array) -> "_Reduction":
        """Return the same for other values of alpha."""
        return _Reduction(self.base, self.B, self.T, self.M, alphas, self.error)

    @cached_property
    def _factors(self) -> tuple[Array, Array]:
        return self.T.factorise(self.alphas)

    @cached_property
    def weights(self) -> tuple[Array, Array]:
        """W and R as the loops take them, for every alpha."""
        pivots, beside = self._factors
        R = np.stack([np.zeros_like(pivots), 1.0 / pivots, beside], axis=1)
        if not self.base.by_difference:
            return R, R
        W = R.copy()
        W[:, 0] = 1.0
        W[:, 1] *= -self.alphas[:, None]
        return W, R

    @cached_property
    def diagonals(self) -> Array:
        """Diagonals of Q, one row for every alpha."""
        from fewlabels._loops.tridiagonal import diagonals

        W, _ = self.weights
        inside = diagonals(self.B, *np.ascontiguousarray(W[:, 1:].swapaxes(0, 1)))
        if self.base.by_difference:
            inside += np.einsum("ij,ij->i", self.B, self.B)
        return inside

    def factor(self, rows: NDArray[np.intp]) -> Array:
        """Return rows of B, sharing one copy among equal requests."""
        if not np.array_equal(rows, self._parts[0][0]):
            others = np.setdiff1d(np.arange(self.B.shape[0]), rows)
            self._parts = [(part, self.B[part]) for part in (rows, others)]
        return self._parts[0][1]

    # B is read in parts, as by the search: one copy less in the caches.

    def images(self, Y: Array) -> Array:
        """Return B'Y; the last ones are kept for the model of the partition found."""
        if Y.shape[1] == 1:
            found = np.flatnonzero((self._columns == Y).all(axis=0))
            if found.size:
                return self._images[:, found[:1]]
        self._columns = Y.copy()
        self._images = sum(
            (B.T @ Y[rows] for rows, B in self._parts),
            start=np.zeros((self.B.shape[1], Y.shape[1])),
        )
        return self._images

    def model(self, inside: Array) -> Array:
        """Return M times a matrix."""
        if self.M is not self.B:
            return self.M @ inside
        out = np.empty((self.B.shape[0], inside.shape[1]))
        for rows, B in self._parts:
            out[rows] = B @ inside
        return out

    def supervised_outputs(self, labeled: NDArray[np.intp], Y: Array) -> Array:
        """Return outputs of supervised least squares, for every alpha."""
        known = self._supervised
        if (
            known is None
            or not np.array_equal(known[0], labeled)
            or not np.array_equal(known[1], Y)
        ):
            outputs = self.base.supervised_path(labeled, Y, self.alphas)
            known = self._supervised = labeled, Y.copy(), outputs
        return known[2]


class PathSystem:
    """One value of alpha on a path, without any computation of the size of B."""

    def __init__(self, shared: _Reduction, number: int) -> None:
        self.shared, self.number = shared, number
        self.alpha = float(shared.alphas[number])
        self.by_difference = shared.base.by_difference
        self.B = shared.B
        self.weights, self._resolvent = (weights[number] for weights in shared.weights)

    def factor(self, rows: NDArray[np.intp]) -> Array:
        return self.shared.factor(rows)

    def weigh(self, X: Array) -> Array:
        return weigh_rows(X, self.weights)

    def dense(self, rows: NDArray[np.intp]) -> Array:
        B = self.factor(rows)
        return self.weigh(B) @ B.T

    def diagonal(self) -> Array:
        return self.shared.diagonals[self.number]

    def products(self, E: Array) -> Array:
        return self.B @ self.weigh((self.B.T @ E).T).T

    def forms(self, E: Array) -> Array:
        images = self.shared.images(E).T
        return np.einsum("ij,ij->i", images, self.weigh(images))

    def model(self, Y: Array) -> Array:
        inside = weigh_rows(self.shared.images(Y).T, self._resolvent).T
        return self.shared.model(inside)

    def supervised_outputs(self, labeled: NDArray[np.intp], Y: Array) -> Array:
        return self.shared.supervised_outputs(labeled, Y)[self.number]

    def path(self, alphas: NDArray[np.float64]) -> Iterator[System]:
        return self.shared.other(alphas).systems()

    def spectrum(
        self, rank: int | None = None, alpha: float | None = None
    ) -> tuple[Array, Array]:
        return self.shared.base.spectrum(rank, alpha or self.alpha)


def weigh_rows(X: Array, weights: Array) -> Array:
    """Multiply rows by W."""
    from fewlabels._loops.tridiagonal import weigh_rows as loop  # compiled on first use

    return loop(np.ascontiguousarray(X), weights)


def as_array(A: Any, name: str) -> Array:
    """Return a finite float64 matrix, C-contiguous."""
    A = np.ascontiguousarray(A, dtype=np.float64)
    if A.ndim != 2:
        raise ValueError(f"{name} must be a matrix, got shape {A.shape}.")
    if not np.isfinite(A).all():
        raise ValueError(f"{name} holds infinite values or NaN.")
    return A
