"""The check that a kernel matrix is positive semidefinite."""

# SPDX-License-Identifier: BSD-3-Clause

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from fewlabels._words import indefinite_kernel

# Negative eigenvalues up to this share of the largest, about the square root of the
# precision, are rounding errors; matrices in single precision have larger ones.
INDEFINITE = 1e-8
INDEFINITE_SINGLE = 1e-5


def check_semidefinite(K: NDArray[Any], *, clip: bool = False) -> NDArray[Any]:
    r"""Check that a kernel matrix is positive semidefinite, or make it so.

    Otherwise, objectives that contain :math:`\|f\|_K^2 = c^\top K c` have no minimum,
    and solvers stop at arbitrary points.

    Parameters
    ----------
    K : ndarray of shape (n_samples, n_samples)
        Symmetric matrix.
    clip : bool, default=False
        Instead of refusing an indefinite matrix, remove its negative part, which gives
        the nearest semidefinite matrix.

    Returns
    -------
    K : ndarray of shape (n_samples, n_samples)
        The matrix itself, if it is semidefinite up to rounding errors.

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.kernels import check_semidefinite
    >>> check_semidefinite(np.array([[1.0, 2.0], [2.0, 1.0]]), clip=True)
    array([[1.5, 1.5],
           [1.5, 1.5]])
    """
    share = INDEFINITE_SINGLE if K.dtype == np.float32 else INDEFINITE
    largest = float(np.abs(K).sum(axis=1).max(initial=0.0))  # no eigenvalue is larger
    shifted = K.astype(np.float64)
    shifted.flat[:: K.shape[0] + 1] += share * largest
    # A Cholesky factor exists if and only if no eigenvalue is below that; it is cheap.
    if not largest or linalg.lapack.dpotrf(shifted, clean=0, overwrite_a=1)[1] == 0:
        return K
    values, vectors = linalg.eigh(K.astype(np.float64), check_finite=False)
    if values[0] >= -share * largest:
        return K
    if clip:
        clipped = (vectors * np.maximum(values, 0.0)) @ vectors.T
        return ((clipped + clipped.T) / 2).astype(K.dtype, copy=False)
    found = f" (eigenvalues from {values[0]:.2g} to {values[-1]:.2g})"
    raise ValueError(indefinite_kernel(f"{found}, so the objective has no minimum"))
