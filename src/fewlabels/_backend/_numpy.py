"""The primitives by NumPy, SciPy and scikit-learn, with what each of them does."""

# SPDX-License-Identifier: BSD-3-Clause

import threading
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy import linalg
from scipy.sparse import csr_array, eye_array, issparse
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.utils import gen_batches

from fewlabels._distances import squared_distances
from fewlabels._linalg import csr_product
from fewlabels._params import budget_bytes
from fewlabels._threads import in_threads

_BATCH = 1024


class KernelFunction(NamedTuple):
    """One of scikit-learn's kernels "rbf", "laplacian" and "polynomial"."""

    name: str
    gamma: float
    degree: float = 1.0
    coef0: float = 0.0


class NumpyBackend:
    """Arrays of NumPy, and sparse ones of SciPy.

    The torch backend has the same attributes and methods, for tensors; arrays are
    those of the backend unless said otherwise.

    Attributes
    ----------
    xp : module
        Namespace of array functions, after the array API standard.
    device : str
        "cpu", or what torch calls the device.
    is_numpy : bool
        Whether arrays are NumPy's, and sparse ones SciPy's.
    batch_rows : int
        Rows to work on at a time where temporary arrays are as large as they are.
    """

    xp: Any = np
    device = "cpu"
    is_numpy = True
    batch_rows = 1024

    def asarray(self, A: Any, dtype: DTypeLike | None = None) -> Any:
        """Bring an array here, copying only if needed; sparse arrays stay sparse."""
        if issparse(A):
            return csr_array(A, dtype=dtype)
        return np.asarray(A, dtype=dtype)

    def to_numpy(self, A: Any) -> Any:
        """Take an array to NumPy, a sparse one to SciPy."""
        return A

    def dtype(self, A: Any) -> np.dtype[Any]:
        """NumPy's name of the type of an array."""
        return A.dtype

    def astype(self, A: Any, dtype: DTypeLike) -> Any:
        """Convert to a type that is given by NumPy's name."""
        return A.astype(dtype, copy=False)

    def contiguous(self, A: Any) -> Any:
        """Lay an array out row by row."""
        return np.ascontiguousarray(A)

    def median(self, values: Any) -> float:
        """Median of numbers of any shape, at least one."""
        return float(np.median(values))

    def standard_normal(
        self, seed: int, shape: tuple[int, ...], dtype: DTypeLike
    ) -> Any:
        """Draw normal random numbers."""
        native: Any = np.dtype(dtype)
        return np.random.default_rng(seed).standard_normal(shape, dtype=native)

    def eigh(self, A: Any) -> tuple[Any, Any]:
        """Eigenvalues, rising, and eigenvectors of a symmetric matrix, in float64."""
        return linalg.eigh(A.astype(np.float64, copy=False), check_finite=False)

    def orthonormal(self, X: Any) -> Any:
        """Orthonormal basis of the columns of a tall matrix, by Cholesky or QR."""
        norms = sum(self.each_batch(lambda rows: (X[rows] ** 2).sum(axis=0), len(X)))
        scale = 1 / np.sqrt(norms)
        X = self.over_rows(lambda rows: X[rows] * scale, len(X))
        for _ in range(2):
            try:
                R = linalg.cholesky(self.gram(X, X), check_finite=False)
            except linalg.LinAlgError:
                return np.linalg.qr(X)[0]
            inverse = linalg.solve_triangular(R, np.eye(R.shape[0]), check_finite=False)
            X = self.product(X, inverse.astype(X.dtype))
        return X

    def squared_distances(self, X: Any, Y: Any) -> Any:
        """Squared distances between all rows of X and all rows of Y."""
        return squared_distances(X, Y)

    def nearest(self, X: Any, k: int, queries: Any = None) -> tuple[Any, Any]:
        """Distances and numbers of the k nearest rows, nearest first, ties by number.

        Without queries, the rows ask for the nearest others.
        """
        asked = X if queries is None else queries
        distances = np.empty((asked.shape[0], k), dtype=X.dtype)
        indices = np.empty(distances.shape, dtype=np.intp)
        for batch in gen_batches(asked.shape[0], _BATCH):
            d2 = squared_distances(asked[batch], X)
            if queries is None:
                own = np.arange(d2.shape[0])
                d2[own, own + batch.start] = np.inf
            # A stable sort: of rows that are equally near, the first come first.
            indices[batch] = np.argsort(d2, axis=1, kind="stable")[:, :k]
            distances[batch] = np.sqrt(np.take_along_axis(d2, indices[batch], axis=1))
        return distances, indices

    def each_batch(self, function: Callable[[slice], Any], n_rows: int) -> list[Any]:
        """Call a function on batches of rows, in turn or in threads.

        The batches depend on nothing but the number of rows.
        """
        return in_threads(function, gen_batches(n_rows, self.batch_rows))

    def over_rows(self, function: Callable[[slice], Any], n_rows: int) -> Any:
        """Join the arrays that a function makes of batches of rows."""
        whole: list[NDArray[Any]] = []
        lock = threading.Lock()

        def write(rows: slice) -> None:
            part = function(rows)
            with lock:
                if not whole:
                    shape = (n_rows, *part.shape[1:])
                    whole.append(np.empty(shape, dtype=part.dtype))
            whole[0][rows] = part

        if n_rows <= self.batch_rows:
            return function(slice(0, n_rows))
        self.each_batch(write, n_rows)
        return whole[0]

    def product(
        self, A: Any, B: Any, minus: Any = None, *, overwrite: bool = False
    ) -> Any:
        """Compute ``A @ B - minus`` of a tall array A, dense or sparse.

        Where it may be overwritten, `minus` can be lost.
        """
        if issparse(A):
            whole = minus is None or minus.shape == (A.shape[0], *B.shape[1:])
            if not whole:
                return csr_product(A, B) - minus
            return csr_product(A, B, minus, overwrite=overwrite)
        out = np.empty((A.shape[0], *B.shape[1:]), dtype=np.result_type(A, B))
        minus = None if minus is None else np.broadcast_to(minus, out.shape)

        def multiply(rows: slice) -> None:
            np.matmul(A[rows], B, out=out[rows])
            if minus is not None:
                out[rows] -= minus[rows]

        self.each_batch(multiply, A.shape[0])
        return out

    def gram(self, A: Any, B: Any) -> Any:
        """Products ``A.T @ B`` of the columns of two tall arrays, in float64."""
        parts = self.each_batch(lambda rows: A[rows].T @ B[rows], A.shape[0])
        return sum(parts[1:], parts[0].astype(np.float64))

    def sparse(self, values: Any, indices: Any, indptr: Any, n_columns: int) -> Any:
        """Sparse array in compressed rows, to be multiplied with blocks by ``@``."""
        shape = (indptr.size - 1, n_columns)
        return csr_array((values, indices, indptr), shape=shape)

    def shifted(self, A: Any, scale: float, shift: float) -> Any:
        """Make ``scale * (A - shift * I)`` of a square sparse array, for products."""
        A, n = csr_array(A), A.shape[0]
        rows = np.repeat(np.arange(n, dtype=A.indices.dtype), np.diff(A.indptr))
        diagonal = np.flatnonzero(A.indices == rows)
        if diagonal.size != n:  # where nothing is stored, there is no place
            return csr_array((A - shift * eye_array(n, dtype=A.dtype)) * scale)
        data = A.data.copy()
        data[diagonal] -= shift
        data *= scale
        return csr_array((data, A.indices, A.indptr), shape=A.shape)

    def divided(self, A: Any, divisors: Any) -> Any:
        """Divide the rows, and the columns likewise, of a square sparse array."""
        data = A.data / np.repeat(divisors, np.diff(A.indptr))
        data /= divisors[A.indices]
        return csr_array((data, A.indices, A.indptr), shape=A.shape)

    def symmetrized(self, values: Any, indices: Any) -> Any:
        """Mean of a graph and its mirror image, as a sparse array.

        Row i of the graph has edges to ``indices[i]`` of weights ``values[i]``.
        """
        n, k = indices.shape
        W = self.sparse(values.ravel(), indices.ravel(), np.arange(n + 1) * k, n)
        return csr_array((W + W.T) * W.dtype.type(0.5))

    def segment_sum(self, values: Any, segments: Any, n_segments: int) -> Any:
        """Sum the rows of `values` that belong to the same segment."""
        sums = np.zeros((n_segments, *values.shape[1:]), dtype=values.dtype)
        np.add.at(sums, segments, values)
        return sums

    def room(self) -> float:
        """Bytes that temporary arrays may take together; here, `working_memory`."""
        return budget_bytes(None)

    def kernel_matrix(self, X: Any, Y: Any, kernel: KernelFunction) -> Any:
        """Kernel matrix of X and Y."""
        metric, *numbers = kernel
        params = dict(zip(("gamma", "degree", "coef0"), numbers, strict=True))
        return pairwise_kernels(X, Y, metric=metric, filter_params=True, **params)

    def kernel_product(
        self, X: Any, Y: Any, V: Any, kernel: KernelFunction, *, strict: bool = True
    ) -> Any:
        """Multiply the kernel matrix of X and Y, never stored, with a block V.

        Where not strict, products of rows may be rounded to ten bits (tf32).
        """
        out = np.empty((X.shape[0], V.shape[1]), dtype=V.dtype)
        for batch in gen_batches(X.shape[0], _BATCH):
            out[batch] = self.kernel_matrix(X[batch], Y, kernel) @ V
        return out


NUMPY = NumpyBackend()
