r"""The quadratic form of the partition problem, from a kernel or from a factor of it.

With the weights d (see :class:`PartitionProblem`), :math:`\bar K = D K D` and
:math:`G = (\bar K + \lambda I)^{-1}`, the matrix of the problem is
:math:`Q = D (I - \lambda G) D`. A system knows Q or a factor B of it, Q = B B', and the
model that belongs to a partition.
"""

# SPDX-License-Identifier: BSD-3-Clause

from collections.abc import Iterator
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

Array = NDArray[np.float64]


_NOT_PSD = (
    "K is not positive semidefinite, so it is no kernel matrix: use another kernel or, "
    "if only rounding is to blame, a larger lam."
)


class System(Protocol):
    """What a problem asks of its quadratic form."""

    lam: float

    @property
    def B(self) -> Array | None:
        """A factor of Q = B diag(sigma) B', if one is known."""

    @property
    def sigma(self) -> Array:
        """Weights of the columns of B."""

    def factor(self, rows: NDArray[np.intp]) -> Array:
        """Rows of B, contiguous."""

    def dense(self, rows: NDArray[np.intp]) -> Array:
        """Block of Q for some points."""

    def diagonal(self) -> Array:
        """Diagonal of Q."""

    def products(self, E: Array) -> Array:
        """Return Q E."""

    def model(self, Y: Array) -> Array:
        """Coefficients of the least-squares model of the targets Y."""

    def supervised_outputs(
        self, labeled: NDArray[np.intp], Y: Array, lam: float | None = None
    ) -> Array:
        """Return outputs on all points of the model trained on the labelled ones."""

    def path(self, lams: NDArray[np.float64]) -> Iterator["System"]:
        """Return systems for other values of lam, sharing one decomposition."""


class KernelSystem:
    """Q from a kernel matrix, by one Cholesky factor."""

    def __init__(self, K: Array, d: Array, lam: float) -> None:
        self.K, self.d, self.lam = K, d, lam

    B = None
    sigma = np.empty(0)

    def factor(self, rows: NDArray[np.intp]) -> Array:
        raise NotImplementedError("a kernel matrix comes without a factor")

    @cached_property
    def _cholesky(self) -> tuple[Array, bool]:
        A = self.d[:, None] * self.K * self.d
        A.flat[:: A.shape[0] + 1] += self.lam
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
        Q *= -self.lam
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

    def model(self, Y: Array) -> Array:
        scaled = self.d[:, None] * Y
        solved = linalg.cho_solve(self._cholesky, scaled, check_finite=False)
        return self.d[:, None] * solved

    def supervised_outputs(
        self, labeled: NDArray[np.intp], Y: Array, lam: float | None = None
    ) -> Array:
        A = self.K[np.ix_(labeled, labeled)]
        A.flat[:: A.shape[0] + 1] += (lam or self.lam) * labeled.size
        return self.K[:, labeled] @ linalg.solve(A, Y, assume_a="pos")

    def path(self, lams: NDArray[np.float64]) -> Iterator[System]:
        w, V = linalg.eigh(
            self.d[:, None] * self.K * self.d,
            overwrite_a=True,
            check_finite=False,
            driver="evd",
        )
        if w[0] < -1e-8 * np.abs(w).max():
            raise ValueError(_NOT_PSD)
        keep = w > w.size * np.finfo(w.dtype).eps * max(w[-1], 0.0)
        # Q = D V diag(w / (w + lam)) V' D, and the model is c = D V (w + lam)^-1 V'D y.
        w, B = w[keep], self.d[:, None] * V[:, keep]
        shared = _Spectrum(self, B, w, w, B)
        for lam in lams:
            yield SpectralSystem(shared, float(lam))


class FactorSystem:
    """Q from a factor Z of the kernel matrix, K = Z Z', by a small Cholesky factor."""

    def __init__(self, Z: Array, d: Array, lam: float) -> None:
        self.Z, self.d, self.lam = Z, d, lam
        self.sigma = np.ones(Z.shape[1])

    def factor(self, rows: NDArray[np.intp]) -> Array:
        return np.ascontiguousarray(self.B[rows])

    @cached_property
    def _gram(self) -> Array:
        C = self.d[:, None] * self.Z
        return C.T @ C

    @cached_property
    def _cholesky(self) -> Array:
        A = self._gram.copy()
        A.flat[:: A.shape[0] + 1] += self.lam
        try:
            return linalg.cholesky(A, lower=True, check_finite=False)
        except linalg.LinAlgError as error:
            raise ValueError(
                f"lam={self.lam:g} is lost in the rounding errors of features of this "
                "size: scale the features, or raise lam."
            ) from error

    @cached_property
    def B(self) -> Array:
        # Z R^-T, then the rows scaled in place: Q = D Z (C'C + lam I)^-1 Z' D, d twice.
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

    def model(self, Y: Array) -> Array:
        right = self.Z.T @ ((self.d**2)[:, None] * Y)
        return linalg.cho_solve((self._cholesky, True), right, check_finite=False)

    def supervised_outputs(
        self, labeled: NDArray[np.intp], Y: Array, lam: float | None = None
    ) -> Array:
        return self.Z @ ridge_weights(self.Z[labeled], Y, lam or self.lam)

    def path(self, lams: NDArray[np.float64]) -> Iterator[System]:
        s, V = linalg.eigh(self._gram, check_finite=False, driver="evd")
        s = np.maximum(s, 0)
        # Q = B (s + lam)^-1 B' with B = D^2 Z V; the weights are V (s + lam)^-1 B'y.
        B = self.Z @ V
        B *= (self.d**2)[:, None]
        shared = _Spectrum(self, B, s, np.ones_like(s), V)
        for lam in lams:
            yield SpectralSystem(shared, float(lam))


def ridge_weights(Z: Array, Y: Array, lam: float) -> Array:
    """Weights of least squares on features, in the smaller of the two forms.

    Parameters
    ----------
    Z : ndarray of shape (n_samples, n_features)
        Features.
    Y : ndarray of shape (n_samples, n_targets)
        Targets.
    lam : float
        Regularisation, times the mean loss.

    Returns
    -------
    W : ndarray of shape (n_features, n_targets)
        The weights.
    """
    n, r = Z.shape
    A = Z @ Z.T if n <= r else Z.T @ Z
    A.flat[:: A.shape[0] + 1] += lam * n
    if n <= r:
        return Z.T @ linalg.solve(A, Y, assume_a="pos", check_finite=False)
    return linalg.solve(A, Z.T @ Y, assume_a="pos", check_finite=False)


class _Spectrum:
    """What the systems of a path share: Q = B diag(top / (e + lam)) B' for every lam.

    The model of targets Y is M diag(1 / (e + lam)) B' Y.
    """

    def __init__(
        self,
        base: KernelSystem | FactorSystem,
        B: Array,
        e: Array,
        top: Array,
        M: Array,
    ) -> None:
        self.base, self.B, self.e, self.top, self.M = base, B, e, top, M
        self._rows: NDArray[np.intp] | None = None
        self._factor: Array = B

    @cached_property
    def squares(self) -> Array:
        return self.B**2

    def factor(self, rows: NDArray[np.intp]) -> Array:
        """Rows of B, the same copy for all who ask for the same rows."""
        if self._rows is None or not np.array_equal(rows, self._rows):
            self._rows, self._factor = rows, np.ascontiguousarray(self.B[rows])
        return self._factor


class SpectralSystem:
    """One value of lam on a path; nothing of the size of B is computed for it."""

    def __init__(self, shared: _Spectrum, lam: float) -> None:
        self.shared, self.lam = shared, lam
        self.B = shared.B
        self.sigma = shared.top / (shared.e + lam)

    def factor(self, rows: NDArray[np.intp]) -> Array:
        return self.shared.factor(rows)

    def dense(self, rows: NDArray[np.intp]) -> Array:
        B = self.factor(rows)
        return (B * self.sigma) @ B.T

    def diagonal(self) -> Array:
        return self.shared.squares @ self.sigma

    def products(self, E: Array) -> Array:
        return self.B @ (self.sigma[:, None] * (self.B.T @ E))

    def model(self, Y: Array) -> Array:
        inside = (self.B.T @ Y) / (self.shared.e + self.lam)[:, None]
        return self.shared.M @ inside

    def supervised_outputs(
        self, labeled: NDArray[np.intp], Y: Array, lam: float | None = None
    ) -> Array:
        return self.shared.base.supervised_outputs(labeled, Y, lam or self.lam)

    def path(self, lams: NDArray[np.float64]) -> Iterator[System]:
        for lam in lams:
            yield SpectralSystem(self.shared, float(lam))


def as_array(A: Any, name: str) -> Array:
    """Return a finite float64 matrix, C-contiguous.

    Parameters
    ----------
    A : array-like
        The matrix.
    name : str
        Its name in error messages.

    Returns
    -------
    A : ndarray
        The matrix.
    """
    A = np.ascontiguousarray(A, dtype=np.float64)
    if A.ndim != 2:
        raise ValueError(f"{name} must be a matrix, got shape {A.shape}.")
    if not np.isfinite(A).all():
        raise ValueError(f"{name} holds infinite values or NaN.")
    return A
