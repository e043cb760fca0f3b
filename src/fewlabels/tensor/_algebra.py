"""Tensor algebra: vectors, unfoldings, the higher-order SVD."""

# SPDX-License-Identifier: BSD-3-Clause

from collections.abc import Sequence
from itertools import permutations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import linalg

from fewlabels._params import check_choice, check_number

ORDERS = ("kolda", "kiers", "lmv")


def vec(T: ArrayLike) -> NDArray[Any]:
    """Stack the entries of a tensor, first index fastest.

    Parameters
    ----------
    T : array-like of shape (I_1, ..., I_M)
        A tensor.

    Returns
    -------
    x : ndarray of shape (I_1 * ... * I_M,)
        Its entries in column-major order. ``T.ravel()`` and tensorly take the last
        index fastest.

    Examples
    --------
    >>> from fewlabels.tensor import vec
    >>> vec([[1, 2], [3, 4]])
    array([1, 3, 2, 4])
    """
    return np.ravel(np.asarray(T), order="F")


def _axes(ndim: int, mode: int, order: str) -> list[int]:
    """Axes of a tensor, the mode first, the others by increasing speed (C order)."""
    check_choice("order", order, ORDERS)
    if not -ndim <= mode < ndim:
        raise ValueError(f"mode={mode} is none of the {ndim} modes of the tensor.")
    mode %= ndim
    cyclic = [(mode + k) % ndim for k in range(1, ndim)]
    others = {
        "kolda": sorted(cyclic, reverse=True),  # the lowest mode is fastest
        "kiers": cyclic[::-1],  # the next mode is fastest
        "lmv": cyclic,  # the previous mode is fastest
    }[order]
    return [mode, *others]


def unfold(T: ArrayLike, mode: int, *, order: str = "kolda") -> NDArray[Any]:
    """Write a tensor as a matrix whose rows belong to one mode.

    The three conventions differ in the order of columns:

    ========  ======================================================================
    "kolda"   lowest mode fastest (Kolda and Bader)
    "kiers"   cyclic, the mode after `mode` fastest (Kiers)
    "lmv"     cyclic, the mode before `mode` fastest (De Lathauwer, De Moor and
              Vandewalle)
    ========  ======================================================================

    Only Kolda's order goes with the Khatri-Rao product of factors in falling order.

    Parameters
    ----------
    T : array-like of shape (I_1, ..., I_M)
        A tensor.
    mode : int
        The mode of the rows, from 0.
    order : {"kolda", "kiers", "lmv"}, default="kolda"
        The convention.

    Returns
    -------
    A : ndarray of shape (I_mode, product of the others)
        The horizontal unfolding; its transpose is the longitudinal one.

    See Also
    --------
    fold : The inverse.

    References
    ----------
    .. [1] T. G. Kolda, B. W. Bader, "Tensor decompositions and applications", SIAM
       Review 51 (2009). :doi:`10.1137/07070111X`
    .. [2] H. A. L. Kiers, "Towards a standardized notation and terminology in multiway
       analysis", Journal of Chemometrics 14 (2000).
    .. [3] L. De Lathauwer, B. De Moor, J. Vandewalle, "A multilinear singular value
       decomposition", SIAM Journal on Matrix Analysis and Applications 21 (2000).
       :doi:`10.1137/S0895479896305696`

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.tensor import unfold
    >>> T = np.arange(8).reshape(2, 2, 2)
    >>> unfold(T, 1)
    array([[0, 4, 1, 5],
           [2, 6, 3, 7]])
    >>> unfold(T, 1, order="kiers")
    array([[0, 1, 4, 5],
           [2, 3, 6, 7]])
    """
    T = np.asarray(T)
    axes = _axes(T.ndim, mode, order)
    return T.transpose(axes).reshape(T.shape[axes[0]], -1)


def fold(
    A: ArrayLike, mode: int, shape: Sequence[int], *, order: str = "kolda"
) -> NDArray[Any]:
    """Make a tensor of its unfolding.

    Parameters
    ----------
    A : array-like of shape (I_mode, product of the others)
        The unfolding.
    mode : int
        The mode of the rows, from 0.
    shape : sequence of int
        Shape of the tensor.
    order : {"kolda", "kiers", "lmv"}, default="kolda"
        The convention, see :func:`unfold`.

    Returns
    -------
    T : ndarray of shape `shape`
        The tensor.

    See Also
    --------
    unfold : The inverse.

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.tensor import fold, unfold
    >>> T = np.arange(24).reshape(2, 3, 4)
    >>> bool((fold(unfold(T, 1), 1, T.shape) == T).all())
    True
    """
    axes = _axes(len(shape), mode, order)
    moved = np.asarray(A).reshape([shape[axis] for axis in axes])
    return moved.transpose(np.argsort(axes))


def is_supersymmetric(T: ArrayLike, *, rtol: float = 1e-10) -> bool:
    """Tell whether no permutation of indices changes a tensor.

    Parameters
    ----------
    T : array-like of shape (I, ..., I)
        A tensor.
    rtol : float, default=1e-10
        Differences up to this share of the largest entry are rounding.

    Returns
    -------
    is_symmetric : bool
        False too where modes differ in size.

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.tensor import is_supersymmetric
    >>> a = np.array([1.0, 2.0])
    >>> is_supersymmetric(np.einsum("i,j,k->ijk", a, a, a))
    True
    """
    T = np.asarray(T)
    if len(set(T.shape)) > 1:
        return False
    atol = rtol * float(np.max(np.abs(T), initial=0.0))
    return all(
        np.allclose(T, T.transpose(axes), rtol=0, atol=atol)
        for axes in permutations(range(T.ndim))
    )


def mode_products(
    T: NDArray[Any], matrices: Sequence[NDArray[Any]], *, skip: int = 0
) -> NDArray[Any]:
    """Multiply every mode of a tensor by a matrix, after `skip` leading modes."""
    for mode, U in enumerate(matrices, start=skip):
        T = np.moveaxis(np.tensordot(T, U, axes=(mode, 1)), -1, mode)
    return T


def rank_one(vectors: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Outer product of vectors."""
    return cp_tensor([v[:, None] for v in vectors])


def cp_tensor(factors: Sequence[NDArray[Any]]) -> NDArray[Any]:
    r"""Sum of outer products of columns, :math:`[\![ U_1, \dots, U_M ]\!]`."""
    columns = factors[0]
    for U in factors[1:]:
        columns = columns[..., None, :] * U
    return columns.sum(axis=-1)


class HigherOrderSVD(NamedTuple):
    """A tensor as a core and orthonormal factors.

    Attributes
    ----------
    core : ndarray of shape (J_1, ..., J_M)
        Slices along any mode are orthogonal, and their norms fall.
    factors : list of ndarray of shape (I_m, J_m)
        Left singular vectors of the unfoldings.
    singular_values : list of ndarray
        All singular values of each unfolding.
    """

    core: NDArray[Any]
    factors: list[NDArray[Any]]
    singular_values: list[NDArray[Any]]

    def reconstruct(self) -> NDArray[Any]:
        """Multiply the core by the factors.

        Returns
        -------
        T : ndarray of shape (I_1, ..., I_M)
            The tensor, or its approximation.
        """
        return mode_products(self.core, self.factors)


def hosvd(T: ArrayLike, n_components: Sequence[int] | None = None) -> HigherOrderSVD:
    r"""Higher-order singular value decomposition.

    .. math:: \mathcal T = \mathcal G \times_1 U_1 \cdots \times_M U_M, \qquad
       \mathcal G = \mathcal T \times_1 U_1^\top \cdots \times_M U_M^\top,

    with the left singular vectors :math:`U_m` of the mode-m unfolding. The squared
    error of a truncation is at most the sum of the squared singular values that are
    dropped, over all modes, and at most M times that of the best approximation of the
    same ranks.

    Parameters
    ----------
    T : array-like of shape (I_1, ..., I_M)
        A tensor.
    n_components : sequence of M int, default=None
        Columns to keep of each factor; None for all.

    Returns
    -------
    decomposition : HigherOrderSVD
        Core, factors and singular values.

    See Also
    --------
    tensorly.decomposition.tucker : The best approximation, by alternating steps.

    References
    ----------
    .. [1] L. De Lathauwer, B. De Moor, J. Vandewalle, "A multilinear singular value
       decomposition", SIAM Journal on Matrix Analysis and Applications 21 (2000).
       :doi:`10.1137/S0895479896305696`

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.tensor import hosvd
    >>> T = np.random.default_rng(0).normal(size=(3, 4, 5))
    >>> bool(np.allclose(hosvd(T).reconstruct(), T))
    True
    >>> hosvd(T, n_components=(2, 2, 2)).core.shape
    (2, 2, 2)
    """
    T = np.asarray(T, dtype=np.float64)
    if n_components is not None and len(n_components) != T.ndim:
        raise ValueError(
            f"n_components={tuple(n_components)} must have one entry for each of the "
            f"{T.ndim} modes."
        )
    factors, values = [], []
    for mode in range(T.ndim):
        U, s, _ = linalg.svd(unfold(T, mode), full_matrices=False)
        keep = U.shape[1] if n_components is None else n_components[mode]
        check_number(f"n_components[{mode}]", keep, 1, T.shape[mode])
        factors.append(U[:, :keep])
        values.append(s)
    return HigherOrderSVD(mode_products(T, [U.T for U in factors]), factors, values)
