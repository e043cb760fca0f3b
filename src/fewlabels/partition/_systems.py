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
        """A factor of Q, if one is known."""

    def dense(self, rows: NDArray[np.intp]) -> Array:
        """Block of Q for some points."""

    def diagonal(self) -> Array:
        """Diagonal of Q."""

    def products(self, E: Array) -> Array:
        """Return Q E."""

    def model(self, Y: Array) -> Array:
        """Coefficients of the least-squares model of the targets Y."""

    def supervised_outputs(self, labeled: NDArray[np.intp], Y: Array) -> Array:
        """Return outputs on all points of the model trained on the labelled ones."""

    def path(self, lams: NDArray[np.float64]) -> Iterator["System"]:
        """Return systems for other values of lam, sharing one decomposition."""


class KernelSystem:
    """Q from a kernel matrix, by one Cholesky factor."""

    def __init__(self, K: Array, d: Array, lam: float) -> None:
        self.K, self.d, self.lam = K, d, lam

    B = None

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

    def supervised_outputs(self, labeled: NDArray[np.intp], Y: Array) -> Array:
        A = self.K[np.ix_(labeled, labeled)].copy()
        A.flat[:: A.shape[0] + 1] += self.lam * labeled.size
        return self.K[:, labeled] @ linalg.solve(A, Y, assume_a="pos")

    def path(self, lams: NDArray[np.float64]) -> Iterator[System]:
        w, V = linalg.eigh(
            self.d[:, None] * self.K * self.d, overwrite_a=True, check_finite=False
        )
        if w[0] < -1e-8 * np.abs(w).max():
            raise ValueError(_NOT_PSD)
        keep = w > w.size * np.finfo(w.dtype).eps * max(w[-1], 0.0)
        w, V = w[keep], np.ascontiguousarray(V[:, keep])
        for lam in lams:
            yield _SpectralKernelSystem(self, w, V, float(lam))


class FactorSystem:
    """Q from a factor Z of the kernel matrix, K = Z Z', by a small Cholesky factor."""

    def __init__(self, Z: Array, d: Array, lam: float) -> None:
        self.Z, self.d, self.lam = Z, d, lam

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

    def supervised_outputs(self, labeled: NDArray[np.intp], Y: Array) -> Array:
        return self.Z @ ridge_weights(self.Z[labeled], Y, self.lam)

    def path(self, lams: NDArray[np.float64]) -> Iterator[System]:
        s, V = linalg.eigh(self._gram, check_finite=False)
        s = np.maximum(s, 0)
        rotated = (self.d**2)[:, None] * (self.Z @ V)
        for lam in lams:
            yield _SpectralFactorSystem(self, s, V, rotated, float(lam))


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


class _SpectralKernelSystem(KernelSystem):
    """A kernel system whose decomposition w, V of D K D is at hand."""

    def __init__(self, base: KernelSystem, w: Array, V: Array, lam: float) -> None:
        super().__init__(base.K, base.d, lam)
        self.w, self.V = w, V

    @cached_property
    def B(self) -> Array:  # type: ignore[override]
        B = self.V * np.sqrt(self.w / (self.w + self.lam))
        B *= self.d[:, None]
        return B

    @cached_property
    def Q(self) -> Array:
        return self.B @ self.B.T

    def diagonal(self) -> Array:
        return np.einsum("ij,ij->i", self.B, self.B)

    def products(self, E: Array) -> Array:
        return self.B @ (self.B.T @ E)

    def model(self, Y: Array) -> Array:
        scaled = self.d[:, None] * Y
        inside = self.V.T @ scaled
        # The part outside the range of K has no effect on any prediction.
        return self.d[:, None] * (self.V @ (inside / (self.w + self.lam)[:, None]))


class _SpectralFactorSystem(FactorSystem):
    """A factor system whose decomposition s, V of Z'D^2 Z is at hand."""

    def __init__(
        self, base: FactorSystem, s: Array, V: Array, rotated: Array, lam: float
    ) -> None:
        super().__init__(base.Z, base.d, lam)
        self.s, self.V, self.rotated = s, V, rotated

    @cached_property
    def B(self) -> Array:
        return self.rotated / np.sqrt(self.s + self.lam)

    def model(self, Y: Array) -> Array:
        inside = self.rotated.T @ Y
        return self.V @ (inside / (self.s + self.lam)[:, None])


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
