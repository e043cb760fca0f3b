"""Linear algebra on arrays that NumPy and SciPy do not offer as one call."""

# SPDX-License-Identifier: BSD-3-Clause

import threading
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from scipy import linalg
from threadpoolctl import threadpool_limits

# The types in which rows are kept; anything else becomes float64.
FLOATS = (np.float64, np.float32)


class _SerialBlas:
    """One limit on BLAS threads for all who ask for it at the same time.

    The limit belongs to the process: the first one in sets it, the last one out lifts
    it. Each setting its own would restore them in the wrong order.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._users = 0
        self._limits: Any = None

    def __enter__(self) -> None:
        with self._lock:
            if self._users == 0:
                self._limits = threadpool_limits(limits=1, user_api="blas")
            self._users += 1

    def __exit__(self, *exception: object) -> None:
        with self._lock:
            self._users -= 1
            if self._users == 0:
                self._limits.restore_original_limits()


_SERIAL_BLAS = _SerialBlas()


def serial_blas(n_jobs: int | None) -> AbstractContextManager[Any]:
    """Keep BLAS to one thread while several Python threads call it.

    Parameters
    ----------
    n_jobs : int or None
        Number of Python threads, in joblib's convention.

    Returns
    -------
    context : context manager
        Does nothing for a single thread.
    """
    return nullcontext() if effective_n_jobs(n_jobs) == 1 else _SERIAL_BLAS


def spectral_cutoff(eigenvalues: NDArray[Any], tol: float | None, dtype: Any) -> float:
    """Return the eigenvalue of a psd matrix below which there is only rounding.

    Parameters
    ----------
    eigenvalues : ndarray of shape (n,)
        Eigenvalues of a symmetric positive semidefinite matrix.
    tol : float or None
        Share of the largest eigenvalue; None takes n times the machine precision.
    dtype : dtype
        Precision in which the matrix was computed.

    Returns
    -------
    cutoff : float
        Eigenvalues up to this value count as zero.
    """
    if tol is None:
        tol = eigenvalues.size * float(np.finfo(dtype).eps)
    return tol * max(float(np.max(eigenvalues, initial=0.0)), 0.0)


def inverse_square_root(
    A: NDArray[Any], *, rank: int | None = None, tol: float | None = None
) -> NDArray[Any]:
    r"""Factor the pseudo-inverse of a psd matrix: find M with :math:`A^+ = M M^\top`.

    Duplicate or nearly dependent rows make `A` singular; directions without any
    content are left out instead of being divided by their rounding errors.

    Parameters
    ----------
    A : ndarray of shape (n, n)
        Symmetric positive semidefinite matrix.
    rank : int, default=None
        Keep at most this many of the leading eigenvectors.
    tol : float, default=None
        Eigenvalues up to this share of the largest count as zero; n times the machine
        precision when None.

    Returns
    -------
    M : ndarray of shape (n, r)
        The factor, leading directions first.
    """
    w, U = linalg.eigh(A.astype(np.float64), check_finite=False)
    w, U = w[::-1], U[:, ::-1]
    keep = int(np.count_nonzero(w > spectral_cutoff(w, tol, A.dtype)))
    keep = keep if rank is None else min(keep, rank)
    return (U[:, :keep] / np.sqrt(w[:keep])).astype(A.dtype, copy=False)
