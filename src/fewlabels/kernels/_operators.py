"""Gram operators: one interface over several ways to hold a kernel matrix.

An algorithm that multiplies with K, reads its diagonal or some of its columns takes a
:class:`GramOperator` and need not know whether K is stored, recomputed tile by tile or
replaced by a low-rank product.
"""

# SPDX-License-Identifier: BSD-3-Clause

import inspect
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import blas
from scipy.sparse.linalg import LinearOperator
from sklearn import config_context
from sklearn.gaussian_process.kernels import Kernel as GPKernel
from sklearn.utils.extmath import row_norms
from sklearn.utils.parallel import Parallel, delayed

from fewlabels._backend import NUMPY, Backend, get_backend, is_tensor, to_host
from fewlabels._linalg import FLOATS
from fewlabels._params import budget_bytes
from fewlabels._rows import check_rows
from fewlabels._sklearn import check_array
from fewlabels._threads import serial_blas
from fewlabels.kernels._functions import (
    Kernel,
    MovedKernel,
    moved_kernel,
    resolve_kernel,
)

# Larger tiles leave the cache and are slower, however much memory there is.
_MAX_TILE_EDGE = 1024

# Arrays of the size of a tile, in float64 whatever the rows are, that are alive while
# scikit-learn computes one.
_TILES_ALIVE = 3
_TILES_ALIVE_GP = 6

# BLAS for a symmetric matrix times a vector.
_SYMMETRIC_PRODUCTS = {
    np.dtype(np.float64): blas.dsymv,
    np.dtype(np.float32): blas.ssymv,
}


def _index_array(indices: ArrayLike) -> NDArray[np.intp]:
    return np.atleast_1d(np.asarray(indices, dtype=np.intp))


class GramOperator(LinearOperator):
    """A symmetric positive semidefinite matrix K, seen through its products.

    It is a :class:`scipy.sparse.linalg.LinearOperator`: ``gram @ V`` works for a vector
    or a block, and SciPy's iterative solvers accept it. A subclass implements
    `_matmat`, `diagonal`, `columns` and `toarray`.

    Attributes
    ----------
    shape : tuple (n_samples, n_samples)
        Size of the matrix.
    dtype : dtype
        float32 or float64.
    """

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        # LinearOperator.__new__ takes anything, which would hide the parameters.
        parameters = inspect.signature(cls.__init__).parameters.values()
        cls.__signature__ = inspect.Signature(list(parameters)[1:])

    def diagonal(self) -> NDArray[Any]:
        """Diagonal of K.

        Returns
        -------
        diagonal : ndarray of shape (n_samples,)
            k(x, x) for every row.
        """
        raise NotImplementedError

    def columns(self, indices: ArrayLike) -> NDArray[Any]:
        """Columns of K.

        Parameters
        ----------
        indices : array-like of int of shape (n_indices,)
            Which columns.

        Returns
        -------
        columns : ndarray of shape (n_samples, n_indices)
            K[:, indices].
        """
        raise NotImplementedError

    def toarray(self) -> NDArray[Any]:
        """K as a dense array.

        Returns
        -------
        K : ndarray of shape (n_samples, n_samples)
            The matrix.
        """
        raise NotImplementedError

    def centered(self) -> "GramOperator":
        r"""Centre in feature space: :math:`H K H` with :math:`H = I - 1 1^\top / n`.

        Returns
        -------
        gram : GramOperator
            An operator whose features have mean zero over the rows.
        """
        return CenteredGram(self)

    def _adjoint(self) -> "GramOperator":
        return self

    def __getstate__(self) -> dict[str, Any]:
        # Drop what is on a device: the machine that loads it may have none.
        state: Any = super().__getstate__()  # SciPy 1.18 takes a module out of it
        return {**to_host(state), "_backend": NUMPY, "_moved": None}

    def _transpose(self) -> "GramOperator":
        return self


class DenseGram(GramOperator):
    """A kernel matrix held in memory.

    Parameters
    ----------
    K : array-like of shape (n_samples, n_samples)
        Symmetric positive semidefinite matrix; only the shape is checked, and a
        product with a vector reads one triangle.
    device : {"cpu", "cuda"} or None, default=None
        Where the matrix is kept and multiplied with NumPy vectors; None leaves it where
        it is.

    See Also
    --------
    TiledGram : The same products without the n x n array.

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.kernels import DenseGram
    >>> gram = DenseGram([[2.0, 1.0], [1.0, 2.0]])
    >>> gram @ np.ones(2)
    array([3., 3.])
    """

    def __init__(self, K: Any, *, device: str | Backend | None = None) -> None:
        b = self._backend = get_backend(device, K)
        if b.is_numpy or not is_tensor(K):
            K = check_array(to_host(K), dtype=FLOATS, input_name="K")
        self.K: Any = b.asarray(K)
        if b.dtype(self.K) not in FLOATS:
            self.K = b.astype(self.K, np.float64)
        if not b.xp.all(b.xp.isfinite(self.K)):
            raise ValueError("K holds infinite values or NaN.")
        if self.K.ndim != 2 or self.K.shape[0] != self.K.shape[1]:
            raise ValueError(f"K must be square, got shape {tuple(self.K.shape)}.")
        super().__init__(dtype=b.dtype(self.K), shape=tuple(self.K.shape))

    def _matvec(self, v: NDArray[Any]) -> NDArray[Any]:
        v = v.ravel()
        if not self._backend.is_numpy:
            return self._matmat(v[:, None])[:, 0]
        if v.dtype != self.dtype or not self.K.flags.c_contiguous:
            return self.K @ v
        # A product with a vector takes as long as reading K, so read only half of it.
        return _SYMMETRIC_PRODUCTS[self.dtype](1.0, self.K.T, v)

    def _matmat(self, V: NDArray[Any]) -> NDArray[Any]:
        b = self._backend
        if b.is_numpy:
            return self.K @ V
        product = b.to_numpy(b.product(self.K, b.asarray(V, self.dtype)))
        return product.astype(np.result_type(self.dtype, V), copy=False)

    def diagonal(self) -> NDArray[Any]:
        return to_host(self.K.diagonal()).copy()

    def columns(self, indices: ArrayLike) -> NDArray[Any]:
        return to_host(self.K[:, self._backend.asarray(_index_array(indices))])

    def toarray(self) -> NDArray[Any]:
        """K itself, not a copy unless it is on a device.

        Returns
        -------
        K : ndarray of shape (n_samples, n_samples)
            The matrix.
        """
        return to_host(self.K)


class TiledGram(GramOperator):
    """A kernel matrix that is never stored: products recompute it tile by tile.

    The matrix is symmetric, so only tiles on and above the diagonal are computed and
    each serves two blocks of rows. Sums are taken in the same order for any `n_jobs`;
    only if the budget is too small for full tiles do they depend on it, by rounding
    errors.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        The rows; float32 stays float32.
    kernel : str, callable or Kernel, default="rbf"
        See :func:`resolve_kernel`; "precomputed" makes no sense here.
    gamma : float, {"scale", "median", "range", "local"} or None, default="scale"
        See :func:`resolve_kernel`.
    kernel_params : dict, default=None
        Further parameters of the kernel, see :func:`resolve_kernel`.
    memory_budget : float, default=None
        MiB that the tiles of all threads may take together; scikit-learn's
        `working_memory` when None. Vectors of length n_samples are not included.
    n_jobs : int, default=None
        Number of threads. None means 1, -1 all cores.
    check_input : bool, default=True
        Whether to validate `X`; False trusts rows that have been validated before.
    device : {"cpu", "cuda"} or None, default=None
        Where tiles are computed; None is where `X` is. See :func:`gram_operator`.

    Attributes
    ----------
    kernel : Kernel
        The kernel with its parameters as numbers.
    tile_edge : int
        Rows and columns of a tile.

    See Also
    --------
    gram_operator : Choose the representation from the memory budget.

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.kernels import TiledGram
    >>> X = np.random.default_rng(0).normal(size=(500, 3))
    >>> gram = TiledGram(X, "rbf", gamma=0.5, memory_budget=1)
    >>> v = np.ones(500)
    >>> bool(np.allclose(gram @ v, gram.toarray() @ v))
    True
    """

    def __init__(
        self,
        X: Any,
        kernel: Any = "rbf",
        *,
        gamma: float | str | None = "scale",
        kernel_params: dict[str, Any] | None = None,
        memory_budget: float | None = None,
        n_jobs: int | None = None,
        check_input: bool = True,
        device: str | Backend | None = None,
    ) -> None:
        backend = get_backend(device, X)
        X = check_rows(to_host(X)) if check_input else X
        self.kernel: Kernel = resolve_kernel(
            X, kernel, gamma=gamma, kernel_params=kernel_params, check_input=False
        )
        if self.kernel.is_precomputed:
            raise ValueError(
                "kernel='precomputed' is a matrix already: use DenseGram(K)."
            )
        super().__init__(dtype=X.dtype, shape=(X.shape[0], X.shape[0]))
        self.X = X
        self.n_jobs = n_jobs
        self.memory_budget = memory_budget
        gp = isinstance(self.kernel.metric, GPKernel)
        alive = effective_n_jobs(n_jobs) * (_TILES_ALIVE_GP if gp else _TILES_ALIVE)
        per_tile = budget_bytes(memory_budget) / (8 * alive)
        self.tile_edge = int(np.clip(np.sqrt(per_tile), 1, _MAX_TILE_EDGE))
        self._moved: MovedKernel | None = moved_kernel(self.kernel, backend, X)

    def _matmat(self, V: NDArray[Any]) -> NDArray[Any]:
        if self._moved is not None:
            return self._moved.product(V)
        n, edge = self.shape[0], self.tile_edge
        out = np.zeros((n, V.shape[1]), dtype=np.result_type(self.dtype, V.dtype))
        # Strips arrive in order, so the sums do not depend on the number of threads.
        with serial_blas(self.n_jobs), config_context(assume_finite=True):
            strips = Parallel(
                n_jobs=self.n_jobs, require="sharedmem", return_as="generator"
            )(delayed(self._strip)(start, V) for start in range(0, n, edge))
            for start, strip in zip(range(0, n, edge), strips, strict=True):
                out[start:] += strip
        return out

    def _strip(self, start: int, V: NDArray[Any]) -> NDArray[Any]:
        """Sum the contributions of one strip of tiles, `start` rows down, to K V."""
        n, edge = self.shape[0], self.tile_edge
        rows = slice(start, start + edge)
        out = np.zeros(
            (n - start, V.shape[1]), dtype=np.result_type(self.dtype, V.dtype)
        )
        for left in range(start, n, edge):
            columns = slice(left, left + edge)
            tile = self._tile(rows, columns)
            out[: tile.shape[0]] += tile @ V[columns]
            if left > start:
                below = left - start
                out[below : below + tile.shape[1]] += tile.T @ V[rows]
        return out

    def _tile(self, rows: slice, columns: slice) -> NDArray[Any]:
        # Without a second argument scikit-learn makes the diagonal exact.
        Y = None if rows == columns else self.X[columns]
        return self.kernel._between_checked(self.X[rows], Y)

    def diagonal(self) -> NDArray[Any]:
        """Diagonal of K, without the rest.

        Returns
        -------
        diagonal : ndarray of shape (n_samples,)
            k(x, x) for every row.
        """
        return self.kernel.diagonal(self.X)

    def columns(self, indices: ArrayLike) -> NDArray[Any]:
        chosen = _index_array(indices)
        if chosen.size == 0:
            return np.empty((self.shape[0], 0), dtype=self.dtype)
        if self._moved is not None:
            return self._moved.product(np.eye(chosen.size, dtype=self.dtype), chosen)
        with config_context(assume_finite=True):
            return self.kernel._between_checked(self.X, self.X[chosen])

    def toarray(self) -> NDArray[Any]:
        """K as a dense array, whatever the memory budget.

        Returns
        -------
        K : ndarray of shape (n_samples, n_samples)
            The matrix.
        """
        if self._moved is not None:
            return self._moved.toarray()
        return self.kernel._between_checked(self.X)


class LowRankGram(GramOperator):
    r"""A kernel matrix of low rank, :math:`K = Z Z^\top`.

    Parameters
    ----------
    Z : array-like of shape (n_samples, rank)
        The factor, for example from :class:`NystromFeatures`.

    See Also
    --------
    NystromFeatures : Factor from landmarks.
    PivotedCholeskyFeatures : Factor to a tolerance.

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.kernels import LowRankGram
    >>> gram = LowRankGram([[1.0], [2.0]])
    >>> gram.toarray()
    array([[1., 2.],
           [2., 4.]])
    """

    def __init__(self, Z: ArrayLike) -> None:
        # A matrix of zeros has rank 0, hence no columns.
        self.Z: NDArray[Any] = check_array(
            Z, dtype=FLOATS, ensure_min_features=0, input_name="Z"
        )
        n_samples = self.Z.shape[0]
        super().__init__(dtype=self.Z.dtype, shape=(n_samples, n_samples))

    def _matmat(self, V: NDArray[Any]) -> NDArray[Any]:
        return self.Z @ (self.Z.T @ V)

    def diagonal(self) -> NDArray[Any]:
        return row_norms(self.Z, squared=True)

    def columns(self, indices: ArrayLike) -> NDArray[Any]:
        return self.Z @ self.Z[_index_array(indices)].T

    def toarray(self) -> NDArray[Any]:
        return self.Z @ self.Z.T

    def centered(self) -> "LowRankGram":
        """Centre the features, which keeps the rank low.

        Returns
        -------
        gram : LowRankGram
            The Gram operator of Z minus its column means.
        """
        return LowRankGram(self.Z - self.Z.mean(axis=0))


class CenteredGram(GramOperator):
    r"""A Gram operator centred in feature space, :math:`H K H`, :math:`H = I - 11'/n`.

    Parameters
    ----------
    gram : GramOperator
        The operator to centre; it is not changed, and no n x n array is made.

    Attributes
    ----------
    row_means : ndarray of shape (n_samples,)
        Means of the rows of K.
    mean : float
        Mean of K.

    See Also
    --------
    sklearn.preprocessing.KernelCenterer : The same for a dense matrix.

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.kernels import DenseGram
    >>> DenseGram([[2.0, 0.0], [0.0, 2.0]]).centered().toarray()
    array([[ 1., -1.],
           [-1.,  1.]])
    """

    def __init__(self, gram: GramOperator) -> None:
        super().__init__(dtype=gram.dtype, shape=gram.shape)
        self.gram = gram
        n = gram.shape[0]
        self.row_means = gram @ np.full(n, 1.0 / n, dtype=gram.dtype)
        self.mean = self.row_means.mean()

    def _matmat(self, V: NDArray[Any]) -> NDArray[Any]:
        out = self.gram @ (V - V.mean(axis=0))
        out -= out.mean(axis=0)
        return out

    def diagonal(self) -> NDArray[Any]:
        """Diagonal of the centred matrix.

        Returns
        -------
        diagonal : ndarray of shape (n_samples,)
            Squared distances to the mean in feature space.
        """
        centered = self.gram.diagonal() - 2.0 * self.row_means + self.mean
        return np.maximum(centered, 0)

    def columns(self, indices: ArrayLike) -> NDArray[Any]:
        """Columns of the centred matrix.

        Parameters
        ----------
        indices : array-like of int of shape (n_indices,)
            Which columns.

        Returns
        -------
        columns : ndarray of shape (n_samples, n_indices)
            The centred columns.
        """
        chosen = _index_array(indices)
        columns = self.gram.columns(chosen) - self.row_means[chosen]
        return columns - self.row_means[:, None] + self.mean

    def toarray(self) -> NDArray[Any]:
        """Centred matrix as a dense array.

        Returns
        -------
        K : ndarray of shape (n_samples, n_samples)
            The matrix.
        """
        K = self.gram.toarray() - self.row_means
        K -= self.row_means[:, None]
        K += self.mean
        return K

    def center_new(self, K: NDArray[Any]) -> NDArray[Any]:
        """Centre kernel values between new rows and the training rows.

        Parameters
        ----------
        K : ndarray of shape (n_new, n_samples)
            Kernel between new rows and training rows, not centred.

        Returns
        -------
        K : ndarray of shape (n_new, n_samples)
            The same, centred by the training rows.
        """
        return K - K.mean(axis=1, keepdims=True) - self.row_means + self.mean


def gram_operator(
    X: Any,
    kernel: Any = "rbf",
    *,
    gamma: float | str | None = "scale",
    kernel_params: dict[str, Any] | None = None,
    representation: str = "auto",
    memory_budget: float | None = None,
    n_jobs: int | None = None,
    check_input: bool = True,
    device: str | Backend | None = None,
) -> GramOperator:
    """Make the Gram operator of a kernel on the rows of X.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        The rows; the matrix itself when `kernel` is "precomputed".
    kernel : str, callable or Kernel, default="rbf"
        See :func:`resolve_kernel`.
    gamma : float, {"scale", "median", "range", "local"} or None, default="scale"
        See :func:`resolve_kernel`.
    kernel_params : dict, default=None
        Further parameters of the kernel, see :func:`resolve_kernel`.
    representation : {"auto", "dense", "tiled"}, default="auto"
        "auto" holds the matrix if it fits in the memory budget and recomputes it in
        tiles otherwise. For a low-rank operator, pass the features of
        :class:`NystromFeatures` or :class:`PivotedCholeskyFeatures` to
        :class:`LowRankGram`.
    memory_budget : float, default=None
        MiB for the matrix or the tiles; scikit-learn's `working_memory` when None, on
        a GPU a quarter of its free memory.
    n_jobs : int, default=None
        Threads of the tiled operator.
    check_input : bool, default=True
        Whether to validate `X`; False trusts rows that have been validated before.
    device : {"cpu", "cuda"} or None, default=None
        Where the matrix or its tiles are kept; None is where `X` is: NumPy arrays stay
        on the CPU, tensors on their device. Operators accept and return NumPy vectors,
        which are copied to the device and back. The kernels "rbf", "laplacian", "poly"
        and "linear" of dense rows are computed there; others by NumPy, with a warning.

    Returns
    -------
    gram : GramOperator
        A :class:`DenseGram` or a :class:`TiledGram`.

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.kernels import gram_operator
    >>> X = np.random.default_rng(0).normal(size=(600, 3))
    >>> type(gram_operator(X)).__name__
    'DenseGram'
    >>> type(gram_operator(X, memory_budget=1)).__name__
    'TiledGram'
    """
    if representation not in ("auto", "dense", "tiled"):
        raise ValueError(
            f"representation={representation!r} is unknown; use 'auto', 'dense' or "
            "'tiled'."
        )
    backend = get_backend(device, X)
    X = check_rows(to_host(X)) if check_input else X
    resolved = resolve_kernel(
        X, kernel, gamma=gamma, kernel_params=kernel_params, check_input=False
    )
    if resolved.is_precomputed:
        if representation == "tiled":
            raise ValueError(
                "representation='tiled' recomputes the kernel: give rows instead of "
                "kernel='precomputed'."
            )
        return DenseGram(X, device=backend)
    if representation == "auto":
        dense_bytes = X.shape[0] ** 2 * X.dtype.itemsize
        room = backend.room() if memory_budget is None else budget_bytes(memory_budget)
        representation = "dense" if dense_bytes <= room else "tiled"
    if representation == "dense":
        moved = moved_kernel(resolved, backend, X)
        if moved is not None:
            return DenseGram(moved.matrix(), device=backend)
        return DenseGram(resolved._between_checked(X))
    return TiledGram(
        X,
        resolved,
        memory_budget=memory_budget,
        n_jobs=n_jobs,
        check_input=False,
        device=backend,
    )
