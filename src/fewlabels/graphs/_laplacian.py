"""Graph Laplacians and their powers."""

# SPDX-License-Identifier: BSD-3-Clause

from collections.abc import Callable
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array, diags_array, issparse
from scipy.sparse.csgraph import laplacian
from scipy.sparse.linalg import LinearOperator

from fewlabels._backend import backend_of
from fewlabels._linalg import (
    FLOATS,
    equal_entries,
    is_symmetric,
    mirrored,
    same_pattern,
)
from fewlabels._params import check_choice
from fewlabels._sklearn import check_array


def _largest(A: Any) -> float:
    return float(abs(A).max()) if min(A.shape) else 0.0


def check_square(A: Any, name: str) -> Any:
    """Square finite array, sparse (CSR) or dense, in float32 or float64."""
    A = check_array(A, accept_sparse="csr", dtype=FLOATS, input_name=name)
    if A.shape[0] != A.shape[1]:
        raise ValueError(f"{name} must be square, got shape {A.shape}.")
    return csr_array(A) if issparse(A) else A


def check_weights(W: Any) -> Any:
    """Check the weights of a graph, and copy them without their diagonal.

    Parameters
    ----------
    W : {array-like, sparse matrix} of shape (n_vertices, n_vertices)
        Symmetric, non-negative weights, both up to rounding.

    Returns
    -------
    W : csr_array or ndarray of shape (n_vertices, n_vertices)
        A copy with exactly symmetric and non-negative weights, zero on the diagonal,
        in float32 if `W` is, else float64.

    Raises
    ------
    ValueError
        If `W` is not square, not symmetric or holds negative weights.

    Examples
    --------
    >>> from fewlabels.graphs import check_weights
    >>> check_weights([[2, 1], [1, 0]])
    array([[0., 1.],
           [1., 0.]])
    """
    W = check_square(W, "W").copy()
    if issparse(W):
        W.sum_duplicates()
    if W.diagonal().any():
        W = W - (diags_array(W.diagonal()) if issparse(W) else np.diag(W.diagonal()))
        W = csr_array(W) if issparse(W) else W
    mirror = mirrored(W)
    if not equal_entries(W, mirror):
        raise ValueError(
            "W is not symmetric, so it has no graph Laplacian: symmetrise it, for "
            "instance by the larger of W and W.T."
        )
    lowest = W.min()
    if lowest < -100 * np.finfo(W.dtype).eps * _largest(W):
        raise ValueError(
            f"W holds negative weights (down to {lowest:.3g}): pass similarities, "
            "which are not negative."
        )
    if issparse(W) and same_pattern(W, mirror):
        W.data = 0.5 * (W.data + mirror.data)  # no-op except for rounding
    else:
        W = 0.5 * (W + mirror)
    if lowest < 0:
        return W.maximum(0) if issparse(W) else np.maximum(W, 0)
    return W


def _unnormalized(W: Any) -> Any:
    return laplacian(W)


def _symmetric(W: Any) -> Any:
    b = backend_of(W)
    if b.is_numpy and not issparse(W):
        # scipy sets d^-1/2 = 0 at isolated vertices, as we want.
        return laplacian(W, normed=True)
    # Of sparse arrays, scipy would sort the entries.
    degrees = W @ b.xp.ones(W.shape[0], dtype=W.dtype, device=b.device)
    joined = b.xp.where(degrees > 0, degrees, b.xp.ones_like(degrees))
    scaled = b.divided(W, b.xp.sqrt(joined))
    if b.is_numpy and not degrees.all():
        return diags_array((degrees > 0).astype(W.dtype)) - scaled
    return b.shifted(scaled, -1.0, 1.0)


def _random_walk(W: Any) -> Any:
    L, degrees = laplacian(W, return_diag=True)
    # Division, not multiplication by the inverse: 1 / d may overflow.
    divisor = np.where(degrees > 0, degrees, 1)
    if not issparse(L):
        return L / divisor[:, None]
    L = L.tocoo()
    L.data /= divisor[L.row]
    return L


LAPLACIANS: dict[str, Callable[[Any], Any]] = {
    "unnormalized": _unnormalized,
    "symmetric": _symmetric,
    "random_walk": _random_walk,
}


def graph_laplacian(
    W: Any, laplacian: str = "unnormalized", *, check: bool = True
) -> Any:
    r"""Laplacian of a weighted graph.

    With degrees :math:`d_i = \sum_{j \ne i} w_{ij}` and D = diag(d),

    ==============  ================================================================
    "unnormalized"  :math:`L = D - W`
    "symmetric"     :math:`L_{sym} = D^{-1/2} L D^{-1/2}`
    "random_walk"   :math:`L_{rw} = D^{-1} L = I - D^{-1} W`, not a symmetric matrix
    ==============  ================================================================

    and :math:`d_i^{-1/2} = 0` for a vertex without edges, whose row is zero in all
    three. The quadratic forms are

    .. math::
        f' L f = \tfrac12 \sum_{ij} w_{ij} (f_i - f_j)^2, \qquad
        f' L_{sym} f = \tfrac12 \sum_{ij} w_{ij}
        \Big( \frac{f_i}{\sqrt{d_i}} - \frac{f_j}{\sqrt{d_j}} \Big)^2 .

    The multiplicity of the eigenvalue 0 is the number of connected components.

    Parameters
    ----------
    W : {array-like, sparse matrix} of shape (n_vertices, n_vertices)
        Symmetric, non-negative weights. The diagonal is ignored: self-loops cancel in
        D - W, and they do not count in the degrees of the other two either.
    laplacian : {"unnormalized", "symmetric", "random_walk"}, default="unnormalized"
        Which Laplacian.
    check : bool, default=True
        Whether to check `W`. False is faster, for weights known to be symmetric,
        non-negative and zero on the diagonal, each stored once.

    Returns
    -------
    L : csr_array or ndarray of shape (n_vertices, n_vertices)
        The Laplacian, sparse if `W` is, in float32 if `W` is, else float64.

    Raises
    ------
    ValueError
        If `W` is not square, or, beyond rounding, not symmetric or has negative
        weights.

    See Also
    --------
    laplacian_power : Apply a power of the Laplacian.

    Notes
    -----
    Constants are smooth for L and :math:`L_{rw}` (their rows sum to zero) but not for
    :math:`L_{sym}`, whose null space holds :math:`\sqrt d` instead: as a penalty on a
    fine graph it pulls functions towards zero.

    References
    ----------
    .. [1] U. von Luxburg, "A tutorial on spectral clustering", Statistics and
       Computing 17, 2007. :doi:`10.1007/s11222-007-9033-z`

    Examples
    --------
    >>> from fewlabels.graphs import graph_laplacian
    >>> path = [[0, 1, 0], [1, 0, 1], [0, 1, 0]]
    >>> graph_laplacian(path)
    array([[ 1., -1.,  0.],
           [-1.,  2., -1.],
           [ 0., -1.,  1.]])
    >>> graph_laplacian(path, "random_walk")
    array([[ 1. , -1. ,  0. ],
           [-0.5,  1. , -0.5],
           [ 0. , -1. ,  1. ]])
    """
    check_choice("laplacian", laplacian, LAPLACIANS)
    on_device = not backend_of(W).is_numpy
    if on_device and laplacian != "symmetric":
        raise ValueError(
            f"laplacian={laplacian!r} of a tensor is not available: use 'symmetric', "
            "or a sparse array of SciPy."
        )
    # Tensors come from code that has already validated them.
    L = LAPLACIANS[laplacian](check_weights(W) if check and not on_device else W)
    if on_device:
        return L
    return csr_array(L) if issparse(L) else L + 0.0  # no negative zeros


class LaplacianPower(LinearOperator):
    """The operator L^p, applied by p products with L and never formed.

    L^2 of a neighbour graph connects neighbours of neighbours and fills up, whereas p
    products with the sparse L stay cheap. Made by :func:`laplacian_power`.

    Parameters
    ----------
    L : {array-like, sparse matrix} of shape (n_vertices, n_vertices)
        A Laplacian.
    power : int
        The exponent p >= 0.

    Attributes
    ----------
    L : csr_array or ndarray
        The Laplacian.
    power : int
        The exponent.

    Examples
    --------
    >>> from fewlabels.graphs import laplacian_power
    >>> laplacian_power([[1, -1], [-1, 1]], 3).toarray()
    array([[ 4., -4.],
           [-4.,  4.]])
    """

    L: Any
    power: int

    def __init__(self, L: Any, power: int) -> None:
        if not isinstance(power, Integral) or isinstance(power, bool) or power < 0:
            raise ValueError(f"power={power!r} must be an integer not below 0.")
        self.L = check_square(L, "L")
        self.power = int(power)
        super().__init__(self.L.dtype, self.L.shape)

    def _applied(self, f: NDArray[Any], power: int) -> NDArray[Any]:
        if power == 0:
            return f.copy()  # never the caller's own array
        for _ in range(power):
            f = self.L @ f
        return f

    def _matvec(self, f: NDArray[Any]) -> NDArray[Any]:
        return self._matmat(f)

    def _matmat(self, f: NDArray[Any]) -> NDArray[Any]:
        return self._applied(f, self.power)

    def _adjoint(self) -> "LaplacianPower":
        return LaplacianPower(self.L.T, self.power)

    def toarray(self) -> NDArray[Any]:
        """Form the dense matrix.

        Returns
        -------
        matrix : ndarray of shape (n_vertices, n_vertices)
            L^p; for small graphs.
        """
        return self @ np.eye(self.shape[0], dtype=self.dtype)

    def quadratic_form(self, f: ArrayLike) -> Any:
        """Smoothness f' L^p f of functions on the vertices.

        Computed as ``||L^(p/2) f||^2`` for even p and as ``g' L g`` with
        ``g = L^((p-1)/2) f`` for odd p, so that it is not negative and half of the
        products are saved.

        Parameters
        ----------
        f : array-like of shape (n_vertices,) or (n_vertices, n_functions)
            One function, or one in each column.

        Returns
        -------
        value : float or ndarray of shape (n_functions,)
            The quadratic form of each function.
        """
        if not is_symmetric(self.L):
            raise ValueError(
                "The quadratic form needs a symmetric Laplacian: use "
                "laplacian='unnormalized' or laplacian='symmetric'."
            )
        f = np.asarray(f)
        if f.dtype.kind != "f":
            f = f.astype(self.dtype)
        if f.ndim not in (1, 2) or f.shape[0] != self.shape[0]:
            raise ValueError(
                f"f has shape {f.shape}, expected one value for each of the "
                f"{self.shape[0]} vertices."
            )
        half = self._applied(f, self.power // 2)
        other = self._applied(half, self.power % 2)
        form = np.maximum(np.einsum("i...,i...->...", half, other), 0)
        return float(form) if f.ndim == 1 else form


def laplacian_power(L: Any, power: int) -> LaplacianPower:
    """Power of a Laplacian as an operator that is never formed.

    Parameters
    ----------
    L : {array-like, sparse matrix} of shape (n_vertices, n_vertices)
        A Laplacian, see :func:`graph_laplacian`.
    power : int
        The exponent p >= 0; 0 is the identity.

    Returns
    -------
    operator : LaplacianPower
        A :class:`scipy.sparse.linalg.LinearOperator` with ``operator @ f`` = L^p f,
        and the method `quadratic_form` for f' L^p f.

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.graphs import graph_laplacian, laplacian_power
    >>> L = graph_laplacian([[0, 1, 0], [1, 0, 1], [0, 1, 0]])
    >>> operator = laplacian_power(L, 2)
    >>> operator @ np.array([0.0, 1.0, 0.0])
    array([-3.,  6., -3.])
    >>> operator.quadratic_form([0.0, 1.0, 0.0])
    6.0
    """
    return LaplacianPower(L, power)
