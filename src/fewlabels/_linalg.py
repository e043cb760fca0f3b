"""Linear algebra that NumPy and SciPy do not offer in a single call."""

# SPDX-License-Identifier: BSD-3-Clause

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from scipy.sparse import csr_array, issparse
from sklearn.externals.array_api_compat import array_namespace

from fewlabels._threads import in_threads, n_threads, worth_compiling

# Types in which rows are kept; anything else becomes float64.
FLOATS = (np.float64, np.float32)

# Deviations below this share of the mean are rounding errors.
ROUNDING = 1e-14

# Relative residual below which conjugate gradients only amplify rounding errors.
MIN_RESIDUAL = 1e-18


def spectral_cutoff(eigenvalues: NDArray[Any], tol: float | None, dtype: Any) -> float:
    """Return the threshold below which eigenvalues of a psd matrix are rounding."""
    if tol is None:
        tol = eigenvalues.size * float(np.finfo(dtype).eps)
    return tol * max(float(np.max(eigenvalues, initial=0.0)), 0.0)


def deviations(X: NDArray[Any], mean: NDArray[Any]) -> NDArray[np.float64]:
    """Subtract the means from the rows; constant features become exactly zero."""
    X = X - mean
    X -= X.mean(axis=0)  # far from zero, the means are rounded too
    X[:, np.abs(X).max(axis=0) <= ROUNDING * np.abs(mean)] = 0.0
    return X


def thin_svd(
    X: NDArray[Any], eps: float = float(np.finfo(np.float64).eps)
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Decompose a matrix, dropping directions of rounding errors."""
    U, s, Vt = linalg.svd(X, full_matrices=False, check_finite=False)
    rank = int(np.count_nonzero(s > max(X.shape) * eps * np.max(s, initial=0.0)))
    return U[:, :rank], s[:rank], Vt[:rank]


def least_squares(X: NDArray[Any], y: NDArray[Any]) -> NDArray[np.float64]:
    """Minimum-norm least squares, without directions of rounding errors."""
    U, s, Vt = thin_svd(X)
    return Vt.T @ ((U.T @ y) / s)


def eigh_between(
    A: NDArray[Any], first: int, last: int, **options: Any
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Eigenpairs `first` to `last` of a symmetric matrix, in ascending order.

    Next to eigenvalues of high multiplicity, LAPACK sometimes returns none.
    """
    w, V = linalg.eigh(A, subset_by_index=[first, last], **options)
    if w.size <= last - first:
        w, V = linalg.eigh(A, **options)
        w, V = w[first : last + 1], V[:, first : last + 1]
    return w, V


def inverse_root_of_rows(
    X: NDArray[Any], *, balance: bool = False
) -> NDArray[np.float64]:
    r"""Factor the pseudo-inverse of :math:`X^\top X`: find M with :math:`M M^\top`.

    Like :func:`inverse_square_root`, but with the digits that products of rows lose if
    one row is far from the others.
    """
    scale = np.abs(X).max(axis=0, initial=0.0) if balance else np.ones(X.shape[1])
    if balance:
        scale = scale * np.linalg.norm(X / np.where(scale > 0, scale, 1), axis=0)
    # Without variance there is no leading direction.
    scale = np.where(scale > 0, scale, np.inf)
    _, s, Vt = thin_svd(X / scale, eps=ROUNDING)
    return Vt.T / s / scale[:, None]


def semidefinite_eigh(A: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Eigenpairs of a psd matrix, ascending; negative values are rounding, set to 0."""
    e, U = linalg.eigh(A, check_finite=False)
    return np.maximum(e, 0), U


def leading_eigenpairs(
    A: NDArray[Any], *, rank: int | None = None, tol: float | None = None
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Eigenpairs of a psd matrix that exceed rounding errors, largest first.

    Parameters are those of :func:`inverse_square_root`.
    """
    w, U = linalg.eigh(A.astype(np.float64), check_finite=False)
    w, U = w[::-1], U[:, ::-1]
    keep = int(np.count_nonzero(w > spectral_cutoff(w, tol, A.dtype)))
    keep = keep if rank is None else min(keep, rank)
    return w[:keep], U[:, :keep]


def inverse_square_root(
    A: NDArray[Any],
    *,
    rank: int | None = None,
    tol: float | None = None,
    balance: bool = False,
) -> NDArray[Any]:
    r"""Factor the pseudo-inverse of a psd matrix: find M with :math:`A^+ = M M^\top`.

    Duplicate or nearly dependent rows make `A` singular; directions of eigenvalue zero
    are left out instead of being divided by rounding errors.

    Parameters
    ----------
    A : ndarray of shape (n, n)
        Symmetric positive semidefinite matrix.
    rank : int, default=None
        Keep at most this many of the leading eigenvectors.
    tol : float, default=None
        Eigenvalues up to this share of the largest count as zero; n times the machine
        precision when None.
    balance : bool, default=False
        Scale the diagonal to ones first. What counts as zero, and for a singular `A`
        the inverse itself, then does not depend on the units of the variables.

    Returns
    -------
    M : ndarray of shape (n, r)
        The factor, leading directions first.
    """
    if balance:
        scale = np.sqrt(A.diagonal())
        # Without variance there is no leading direction, not even rounding errors.
        scale = np.where(scale > 0, scale, np.inf)[:, None]
        return inverse_square_root(A / scale / scale.T, rank=rank, tol=tol) / scale
    w, U = leading_eigenpairs(A, rank=rank, tol=tol)
    return (U / np.sqrt(w)).astype(A.dtype, copy=False)


def signs(vectors: NDArray[Any]) -> NDArray[Any]:
    """Signs that make the largest entry of every column positive."""
    largest = np.argmax(np.abs(vectors), axis=0)
    return np.where(vectors[largest, np.arange(vectors.shape[1])] < 0, -1, 1)


def signed(vectors: NDArray[Any]) -> NDArray[Any]:
    """Fix the arbitrary signs of eigenvectors by those of `signs`."""
    return vectors * signs(vectors)


def is_symmetric(A: Any) -> bool:
    """Whether every entry equals its mirror image, up to rounding of its own size."""
    return equal_entries(A, mirrored(A))


def mirrored(A: Any) -> Any:
    """Transpose, in compressed rows if sparse."""
    return A.T.tocsr() if issparse(A) else A.T


def equal_entries(A: Any, B: Any) -> bool:
    """Whether two arrays are equal up to rounding of each entry."""
    if issparse(A) and same_pattern(A, B):
        A, B = A.data, B.data
    tolerance = np.sqrt(np.finfo(A.dtype).eps)
    excess = abs(A - B) > tolerance * (abs(A) + abs(B))
    return not (excess.nnz if issparse(excess) else excess.any())


def same_pattern(A: csr_array, B: csr_array) -> bool:
    """Whether two sparse arrays store the same places in the same order."""
    return (
        A.has_canonical_format
        and B.has_canonical_format
        and np.array_equal(A.indptr, B.indptr)
        and np.array_equal(A.indices, B.indices)
    )


def csr_product(
    W: csr_array,
    V: NDArray[Any],
    minus: NDArray[Any] | None = None,
    *,
    overwrite: bool = False,
) -> NDArray[Any]:
    """Multiply a sparse array with a block of columns, in threads.

    Sums are taken in the order of the stored entries, whatever the number of threads.

    Parameters
    ----------
    W : sparse array of shape (n, m)
        The matrix, in float32 or float64.
    V : ndarray of shape (m, k) or (m,)
        The columns. If they are of another type, SciPy multiplies on one thread.
    minus : ndarray of shape (n, k) or (n,), default=None
        Subtracted from the product.
    overwrite : bool, default=False
        Whether the result may be written into `minus`, which saves allocating memory.

    Returns
    -------
    product : ndarray of shape (n, k) or (n,)
        In C order.
    """
    alone = V.ndim == 1 or V.shape[1] == 1 or W.dtype != V.dtype
    if alone or not worth_compiling(W.nnz * V.shape[1]):
        return W @ V if minus is None else W @ V - minus
    from fewlabels._loops.sparse import rows_times_block

    W, V = W.tocsr(), np.ascontiguousarray(V)
    minus = V[:0] if minus is None else np.ascontiguousarray(minus)
    if overwrite and minus.size and minus.dtype == V.dtype:
        out = minus
    else:
        out = np.empty((W.shape[0], V.shape[1]), dtype=V.dtype)
    # Parts of about equal work, a few per thread, to balance the load.
    shares = np.linspace(0, W.nnz, 4 * n_threads() + 1)
    ends = np.searchsorted(W.indptr, shares)
    ends[0], ends[-1] = 0, W.shape[0]
    in_threads(
        lambda part: rows_times_block(
            W.indptr, W.indices, W.data, V, minus, *part, out
        ),
        [(a, b) for a, b in pairwise(ends) if a < b],
    )
    return out


def conjugate_gradients(
    A: Any,
    B: NDArray[Any],
    *,
    tol: float = 1e-8,
    max_iter: int = 1000,
    is_done: Callable[[NDArray[Any]], bool] | None = None,
) -> tuple[NDArray[Any], int, bool]:
    r"""Solve A X = B for several right-hand sides, with one product per step.

    SciPy's function takes one right-hand side. Here each column keeps its own step
    lengths, but a step multiplies A with all columns that are not yet solved, which
    for a sparse A costs little more than a single one.

    Parameters
    ----------
    A : {ndarray, sparse array, LinearOperator} of shape (n, n)
        Symmetric positive definite, scaled to a diagonal of about one. Anything that
        ``@`` multiplies with arrays like `B` will do: torch's matrices, if `B` is a
        tensor.
    B : ndarray of shape (n, k)
        Right-hand sides.
    tol : float, default=1e-8
        A column is solved where :math:`\|b - Ax\| \le tol \, \|b\|`.
    max_iter : int, default=1000
        Largest number of steps.
    is_done : callable, default=None
        Called with X once all columns are solved; returns whether that is good enough.
        If not, the steps continue with a tenth of the tolerance.

    Returns
    -------
    X : ndarray of shape (n, k)
        The solutions.
    n_iter : int
        Steps taken.
    converged : bool
        Whether every column was solved, and `is_done` was satisfied.

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels._linalg import conjugate_gradients
    >>> A = np.array([[1.0, 0.5], [0.5, 1.0]])
    >>> X, n_iter, converged = conjugate_gradients(A, np.eye(2))
    >>> bool(np.allclose(A @ X, np.eye(2))), n_iter, converged
    (True, 2, True)
    """
    xp = array_namespace(B)
    X = xp.zeros_like(B)
    sizes = xp.einsum("ij,ij->j", B, B)
    active = xp.nonzero(sizes > 0)[0]  # a zero right-hand side is solved by zero
    x, r, p, rho = X[:, active], B[:, active], B[:, active], sizes[active]
    n_iter = 0
    while True:
        unsolved = rho > tol**2 * sizes[active]
        n_unsolved = int(xp.sum(unsolved))
        if not n_unsolved:
            X[:, active] = x
            if is_done is None or is_done(X):
                return X, n_iter, True
            tol *= 0.1
            if tol < MIN_RESIDUAL or not active.shape[0]:
                return X, n_iter, False  # as far as rounding allows
            continue
        if n_iter == max_iter:
            X[:, active] = x
            return X, n_iter, False
        if is_done is None and n_unsolved < 0.7 * active.shape[0]:
            X[:, active] = x
            active = active[unsolved]
            x, r, p, rho = x[:, unsolved], r[:, unsolved], p[:, unsolved], rho[unsolved]
        q = csr_product(A, p) if issparse(A) else A @ p
        step = _ratio(xp, rho, xp.einsum("ij,ij->j", p, q))
        x += step * p
        r -= step * q
        previous, rho = rho, xp.einsum("ij,ij->j", r, r)
        p *= _ratio(xp, rho, previous)
        p += r
        n_iter += 1


def _ratio(xp: Any, a: Any, b: Any) -> Any:
    """Divide, leaving columns whose residual has vanished unchanged."""
    return xp.where(b > 0, a / xp.where(b > 0, b, 1), 0)


def all_copies(
    find: Callable[[NDArray[Any] | None, int], tuple[NDArray[Any], NDArray[Any]]],
    k: int,
    tol: float = 0.0,
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Find the k largest eigenvalues of a symmetric operator, with their multiplicity.

    An iteration from one vector finds one copy of a multiple eigenvalue, and others
    only through rounding errors. So it is repeated among the vectors orthogonal to all
    found so far, until it yields no larger eigenvalue.

    Parameters
    ----------
    find : callable
        Given orthonormal vectors (or None) and a number m, returns the m largest
        eigenvalues, with eigenvectors, among the vectors orthogonal to those.
    k : int
        Number of eigenvalues.
    tol : float, default=0
        Their relative accuracy.

    Returns
    -------
    values : ndarray of shape (k,)
        The eigenvalues, in no particular order.
    vectors : ndarray of shape (n, k)
        Orthonormal eigenvectors.
    """
    values, vectors = find(None, k)
    while True:
        value, vector = find(vectors, 1)
        least = int(np.argmin(values))
        slack = 10 * max(tol, 1e-12) * np.abs(values).max()
        if value[0] <= values[least] + slack:
            return values, vectors
        values[least], vectors[:, least] = value[0], vector[:, 0]
