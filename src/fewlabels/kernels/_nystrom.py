"""Nyström approximation of a matrix from some of its columns."""

# SPDX-License-Identifier: BSD-3-Clause

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state

from fewlabels._linalg import FLOATS, inverse_square_root, leading_eigenpairs
from fewlabels._sklearn import check_array
from fewlabels.kernels._operators import GramOperator

# Share of the largest eigenvalue of landmarks that leaves features about five digits.
_TOL = 1e-10


@dataclass(frozen=True, eq=False)
class NystromEigen:
    r"""Approximate eigensystem of a symmetric matrix, from l of its n columns.

    With columns C and the eigenpairs :math:`(\Sigma, U)` of the block of C at the
    sampled rows,

    .. math::
        M \approx C U \Sigma^{-1} U^\top C^\top = V \Lambda V^\top, \qquad
        \Lambda = \tfrac{n}{l} \Sigma, \quad V = \sqrt{\tfrac{l}{n}} C U \Sigma^{-1}.

    The product is exact, but the columns of V are not orthonormal in general.

    Attributes
    ----------
    eigenvalues : ndarray of shape (rank,)
        The diagonal of :math:`\Lambda`, in decreasing order.
    eigenvectors : ndarray of shape (n, rank)
        V.
    mapping : ndarray of shape (l, rank)
        :math:`\sqrt{l/n}\, U \Sigma^{-1}`, which takes further rows of C to rows of V.
    indices : ndarray of shape (l,)
        The columns.
    """

    eigenvalues: NDArray[Any]
    eigenvectors: NDArray[Any]
    mapping: NDArray[Any]
    indices: NDArray[np.intp]

    def toarray(self) -> NDArray[Any]:
        r"""Form the approximation of the matrix.

        Returns
        -------
        matrix : ndarray of shape (n, n)
            :math:`V \Lambda V^\top`; for small matrices.
        """
        return (self.eigenvectors * self.eigenvalues) @ self.eigenvectors.T


def nystrom_from_columns(
    C: NDArray[Any],
    indices: NDArray[np.intp],
    *,
    n_components: int | None = None,
    tol: float | None = None,
) -> NystromEigen:
    """Nyström approximation from given columns.

    Parameters
    ----------
    C : ndarray of shape (n, l)
        Columns of a symmetric matrix.
    indices : ndarray of shape (l,)
        Which columns.
    n_components : int, default=None
        Keep at most this many of the largest eigenvalues; all when None.
    tol : float, default=None
        Eigenvalues up to this share of the largest are dropped, negative ones too; l
        times the machine precision when None.

    Returns
    -------
    approximation : NystromEigen
        The eigensystem.

    See Also
    --------
    nystrom_approximation : The same from a matrix.

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.kernels import nystrom_from_columns
    >>> K = np.ones((4, 4))
    >>> bool(np.allclose(nystrom_from_columns(K[:, [2]], np.array([2])).toarray(), K))
    True
    """
    n, n_columns = C.shape
    block = C[indices]
    values, U = leading_eigenpairs((block + block.T) / 2, rank=n_components, tol=tol)
    mapping = np.sqrt(n_columns / n) * U / values
    mapping = mapping.astype(C.dtype, copy=False)
    return NystromEigen(values * (n / n_columns), C @ mapping, mapping, indices)


def nystrom_map(
    K: NDArray[Any], *, n_components: int | None = None, tol: float | None = None
) -> NDArray[Any]:
    r"""Find the map from kernel values with landmarks to features.

    Parameters
    ----------
    K : ndarray of shape (n_landmarks, n_landmarks)
        Kernel matrix of the landmarks.
    n_components : int, default=None
        Keep at most this many features.
    tol : float, default=None
        Eigenvalues up to this share of the largest are dropped; None as in
        :class:`NystromFeatures`.

    Returns
    -------
    M : ndarray of shape (n_landmarks, rank)
        With :math:`M M^\top = K^+`.
    """
    if tol is None:
        tol = max(_TOL, K.shape[0] * float(np.finfo(K.dtype).eps))
    M = inverse_square_root((K + K.T) / 2, rank=n_components, tol=tol)
    # The sign of eigenvectors is arbitrary, and rounding errors should not choose it.
    largest = M[np.argmax(np.abs(M), axis=0), np.arange(M.shape[1])]
    return np.where(largest < 0, -M, M)


def nystrom_approximation(
    M: Any,
    n_columns: int,
    n_components: int | None = None,
    *,
    indices: ArrayLike | None = None,
    random_state: Any = None,
) -> NystromEigen:
    r"""Approximate a psd matrix from some of its columns.

    .. math::
        M \approx M_r = C \, W_r^{+} \, C^\top, \qquad C = M_{\cdot I}, \quad
        W_r = \text{best rank-}r\text{ approximation of } M_{I I}.

    If the columns have the rank of M and r is at least that, this is M itself; for
    r = l, the error M - M_r is psd.

    Parameters
    ----------
    M : array-like of shape (n, n) or GramOperator
        Symmetric positive semidefinite matrix. If it is an operator, such as
        :class:`TiledGram`, only the columns are computed.
    n_columns : int
        Number l of columns, drawn uniformly without replacement.
    n_components : int, default=None
        The rank r; l when None.
    indices : array-like of int of shape (n_columns,), default=None
        The columns, instead of a random draw.
    random_state : int, RandomState instance or None, default=None
        Seed of the draw.

    Returns
    -------
    approximation : NystromEigen
        Approximate eigenvalues and eigenvectors.

    See Also
    --------
    NystromFeatures : Features of rows by the same approximation of their kernel.

    References
    ----------
    .. [1] C. Williams, M. Seeger, "Using the Nyström method to speed up kernel
       machines", NeurIPS (2000).

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.kernels import nystrom_approximation
    >>> Z = np.random.default_rng(0).normal(size=(50, 3))
    >>> result = nystrom_approximation(Z @ Z.T, n_columns=5, random_state=0)
    >>> result.eigenvalues.size
    3
    >>> bool(np.abs(result.toarray() - Z @ Z.T).max() < 1e-12)
    True
    """
    if not isinstance(M, GramOperator):
        M = check_array(M, dtype=FLOATS, input_name="M")
    n = M.shape[0]
    if M.shape[1] != n:
        raise ValueError(f"M must be square, got shape {M.shape}.")
    if not 1 <= n_columns <= n:
        raise ValueError(f"n_columns={n_columns} must lie between 1 and {n}.")
    if n_components is not None and not 1 <= n_components <= n_columns:
        raise ValueError(
            f"n_components={n_components} must lie between 1 and n_columns={n_columns}."
        )
    if indices is None:
        chosen = check_random_state(random_state).choice(n, n_columns, replace=False)
    else:
        chosen = np.asarray(indices)
        if (
            chosen.shape != (n_columns,)
            or np.unique(chosen).size != n_columns
            or chosen.dtype.kind not in "iu"
            or chosen.min() < 0
            or chosen.max() >= n
        ):
            raise ValueError(
                f"indices must be n_columns={n_columns} different integers in 0, ..., "
                f"{n - 1}."
            )
    C = M.columns(chosen) if isinstance(M, GramOperator) else M[:, chosen]
    return nystrom_from_columns(C, chosen, n_components=n_components)
