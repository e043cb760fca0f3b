"""Helpers shared by the eigensolvers of graph Laplacians."""

# SPDX-License-Identifier: BSD-3-Clause

from typing import Any

from numpy.typing import NDArray
from scipy.sparse import csc_array, csr_array, eye_array
from scipy.sparse.linalg import splu

from fewlabels._backend import backend_of

# Makes a Laplacian of norm about 1 positive definite, and is small compared with
# the gaps between its eigenvalues, but not with rounding errors.
SHIFT = 1e-8


def sparse_factor(A: csc_array) -> Any:
    """Factor a sparse symmetric positive definite matrix; the result has `solve`."""
    # Positive definite: no pivoting, and an ordering for symmetric matrices.
    return splu(
        A,
        permc_spec="MMD_AT_PLUS_A",
        diag_pivot_thresh=0.0,
        options={"SymmetricMode": True},
    )


def shifted_factor(A: csr_array) -> Any:
    """Factor a Laplacian that was made definite; the result has `solve`."""
    return sparse_factor(csc_array(A + SHIFT * eye_array(A.shape[0])))


def deflated(null: csr_array, x: NDArray[Any]) -> NDArray[Any]:
    """Remove from signals their part in the null space."""
    return x - null @ (null.T @ x)


def chebyshev_filter(A: Any, X: Any, low: float, high: float, degree: int) -> Any:
    """Apply the Chebyshev polynomial that is small on [low, high]."""
    centre, half = (high + low) / 2, (high - low) / 2
    # Mapped to [-1, 1] and doubled, so that a step is one product and one difference.
    b = backend_of(A)
    S = b.shifted(A, 2 / half, centre)
    before, now = X, b.product(b.shifted(A, 1 / half, centre), X)
    for step in range(degree - 1):  # the first of which leaves X as it is
        before, now = now, b.product(S, now, before, overwrite=step > 0)
    return now
