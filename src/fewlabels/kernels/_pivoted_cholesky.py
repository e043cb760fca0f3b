r"""Pivoted Cholesky factors of a kernel matrix, :math:`K \approx Z Z^\top`."""

# SPDX-License-Identifier: BSD-3-Clause

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewlabels._params import check_number
from fewlabels._words import indefinite_kernel
from fewlabels.kernels._operators import GramOperator

# Number of columns by which the factor grows at a time.
_GROWTH = 16


@dataclass(frozen=True)
class PivotedCholesky:
    r"""Result of :func:`pivoted_cholesky`: :math:`K \approx Z Z^\top`.

    Attributes
    ----------
    factor : ndarray of shape (n_samples, rank)
        Z. Its rows at `pivots` form a lower triangular matrix.
    pivots : ndarray of shape (rank,)
        Rows of K in the order in which they were chosen.
    residual : float
        Share of the trace of K that the factor leaves out.
    converged : bool
        Whether `residual` reached the tolerance. Otherwise `n_components` was
        reached, or only rounding errors were left to choose from.
    """

    factor: NDArray[Any]
    pivots: NDArray[np.intp]
    residual: float
    converged: bool


def pivoted_cholesky(
    gram: GramOperator, *, n_components: int | None = None, tol: float = 1e-6
) -> PivotedCholesky:
    r"""Factor a psd matrix greedily until little of its trace is left.

    Every step picks the row with the largest remaining diagonal entry, reads the same
    column of K and subtracts the part explained by the factor. No more than n x rank
    numbers are held, and only `rank` columns of K are ever computed.

    .. math::
        \operatorname{tr}(K - Z Z^\top) \le \mathrm{tol} \cdot \operatorname{tr}(K)

    Parameters
    ----------
    gram : GramOperator
        The matrix; :class:`TiledGram` computes columns on demand.
    n_components : int, default=None
        Largest rank; n_samples when None. Memory is allocated as the rank grows.
    tol : float, default=1e-6
        Share of the trace that may be left out; 0 continues until only rounding errors
        are left.

    Returns
    -------
    result : PivotedCholesky
        Factor, pivots and residual.

    References
    ----------
    .. [1] H. Harbrecht, M. Peters, R. Schneider, "On the low-rank approximation by the
       pivoted Cholesky decomposition", Applied Numerical Mathematics 62 (2012).
       :doi:`10.1016/j.apnum.2011.10.001`

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.kernels import TiledGram, pivoted_cholesky
    >>> X = np.linspace(0, 1, 200)[:, None]
    >>> result = pivoted_cholesky(TiledGram(X, "rbf", gamma=1.0), tol=1e-8)
    >>> result.factor.shape[1] < 10, result.converged
    (True, True)
    """
    if not isinstance(gram, GramOperator):
        raise TypeError(
            f"gram must be a Gram operator, got {type(gram).__name__}: wrap a matrix "
            "as DenseGram(K)."
        )
    if n_components is not None and n_components < 1:
        raise ValueError(f"n_components must be at least 1, got {n_components}.")
    check_number("tol", tol, 0, np.inf)
    n = gram.shape[0]
    limit = n if n_components is None else min(n_components, n)
    residual = gram.diagonal().astype(np.float64)
    trace = residual.sum()
    # Below this a diagonal entry is the rounding error of earlier subtractions.
    largest = np.abs(residual).max(initial=0.0)
    floor = 10 * float(np.finfo(gram.dtype).eps) * largest
    # A matrix may come from lower precision than it is stored in: negative entries
    # within the tolerance do not mean that it is indefinite.
    forgiven = min(tol, 1e-4) * largest
    pivots = np.empty(limit, dtype=np.intp)
    # Column k of the factor is row k here: contiguous, and growing the array by rows
    # extends it in place instead of holding two copies.
    Zt = np.empty((0, n), dtype=gram.dtype)
    rank = 0
    while True:
        # The remainder of a psd matrix is psd: a negative diagonal is either rounding,
        # which grows with the number of subtractions, or no kernel.
        if residual.min(initial=0.0) < -max((rank + 1) * floor, forgiven):
            raise ValueError(indefinite_kernel(", so it has no such factor"))
        np.maximum(residual, 0, out=residual)
        left = residual.sum()
        pivot = int(np.argmax(residual))
        # Once only rounding errors are left, no further pivot can be trusted.
        exhausted = bool(residual[pivot] <= floor)
        converged = bool(left <= tol * trace) or (tol == 0 and exhausted)
        if converged or exhausted or rank == limit:
            break
        if rank == Zt.shape[0]:
            Zt.resize((min(rank + _GROWTH, limit), n), refcheck=False)
        column = gram.columns([pivot])[:, 0] - Zt[:rank, pivot] @ Zt[:rank]
        column[pivots[:rank]] = 0  # exactly, so that the pivot rows are triangular
        root = np.sqrt(residual[pivot])
        column /= root
        column[pivot] = root
        Zt[rank] = column
        pivots[rank] = pivot
        rank += 1
        residual -= column.astype(np.float64) ** 2
        residual[pivot] = 0
    Zt.resize((rank, n), refcheck=False)
    share = float(left / trace) if trace > 0 else 0.0
    return PivotedCholesky(Zt.T, pivots[:rank].copy(), share, converged)
