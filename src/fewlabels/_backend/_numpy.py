"""NumPy's side of the seam: what the libraries offer, and compiled loops."""

# SPDX-License-Identifier: BSD-3-Clause

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy import linalg
from scipy.sparse import csr_array, eye_array, issparse
from scipy.sparse.csgraph import dijkstra
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.utils import gen_batches

from fewlabels._backend._base import Backend, KernelFunction
from fewlabels._distances import squared_distances
from fewlabels._linalg import csr_product
from fewlabels._params import budget_bytes
from fewlabels._threads import in_threads, worth_compiling

_BATCH = 1024


class NumpyBackend(Backend):
    """Arrays of NumPy and SciPy."""

    xp: Any = np
    device = "cpu"
    is_numpy = True
    batch_rows = 1024

    def asarray(self, A: Any, dtype: DTypeLike | None = None) -> Any:
        """See :meth:`Backend.asarray`."""
        if issparse(A):
            return csr_array(A, dtype=dtype)
        return np.asarray(A, dtype=dtype)

    def to_numpy(self, A: Any) -> Any:
        """See :meth:`Backend.to_numpy`."""
        return A

    def dtype(self, A: Any) -> np.dtype[Any]:
        """See :meth:`Backend.dtype`."""
        return A.dtype

    def astype(self, A: Any, dtype: DTypeLike) -> Any:
        """See :meth:`Backend.astype`."""
        return A.astype(dtype, copy=False)

    def contiguous(self, A: Any) -> Any:
        """See :meth:`Backend.contiguous`."""
        return np.ascontiguousarray(A)

    def median(self, values: Any) -> float:
        """See :meth:`Backend.median`."""
        return float(np.median(values))

    def standard_normal(
        self, seed: int, shape: tuple[int, ...], dtype: DTypeLike
    ) -> Any:
        """See :meth:`Backend.standard_normal`."""
        native: Any = np.dtype(dtype)
        return np.random.default_rng(seed).standard_normal(shape, dtype=native)

    def eigh(self, A: Any) -> tuple[Any, Any]:
        """See :meth:`Backend.eigh`."""
        return linalg.eigh(A.astype(np.float64, copy=False), check_finite=False)

    def orthonormal(self, X: Any) -> Any:
        """See :meth:`Backend.orthonormal`; Cholesky twice, or Householder."""
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
        """See :meth:`Backend.squared_distances`."""
        return squared_distances(X, Y)

    def nearest(self, X: Any, k: int, queries: Any = None) -> tuple[Any, Any]:
        """See :meth:`Backend.nearest`."""
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
        """See :meth:`Backend.each_batch`."""
        return in_threads(function, gen_batches(n_rows, self.batch_rows))

    def over_rows(self, function: Callable[[slice], Any], n_rows: int) -> Any:
        """See :meth:`Backend.over_rows`."""
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
        """See :meth:`Backend.product`."""
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
        """See :meth:`Backend.gram`."""
        parts = self.each_batch(lambda rows: A[rows].T @ B[rows], A.shape[0])
        return sum(parts[1:], parts[0].astype(np.float64))

    def sparse(self, values: Any, indices: Any, indptr: Any, n_columns: int) -> Any:
        """See :meth:`Backend.sparse`."""
        shape = (indptr.size - 1, n_columns)
        return csr_array((values, indices, indptr), shape=shape)

    def shifted(self, A: Any, scale: float, shift: float) -> Any:
        """See :meth:`Backend.shifted`."""
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
        """See :meth:`Backend.divided`."""
        data = A.data / np.repeat(divisors, np.diff(A.indptr))
        data /= divisors[A.indices]
        return csr_array((data, A.indices, A.indptr), shape=A.shape)

    def symmetrized(self, values: Any, indices: Any) -> Any:
        """See :meth:`Backend.symmetrized`."""
        n, k = indices.shape
        W = self.sparse(values.ravel(), indices.ravel(), np.arange(n + 1) * k, n)
        return csr_array((W + W.T) * W.dtype.type(0.5))

    def segment_sum(self, values: Any, segments: Any, n_segments: int) -> Any:
        """See :meth:`Backend.segment_sum`."""
        sums = np.zeros((n_segments, *values.shape[1:]), dtype=values.dtype)
        np.add.at(sums, segments, values)
        return sums

    def shortest_paths(
        self, lengths: Any, indices: Any, sources: NDArray[np.intp]
    ) -> Any:
        """See :meth:`Backend.shortest_paths`; one source is one task."""
        n, k = indices.shape
        steps = self.sparse(lengths.ravel(), indices.ravel(), np.arange(n + 1) * k, n)
        steps = csr_array(steps.maximum(steps.T))
        if not worth_compiling(len(sources) * steps.nnz):
            return np.ascontiguousarray(dijkstra(steps, indices=sources).T)
        from fewlabels._loops.paths import shortest_paths

        costs = np.empty((len(sources), n))

        def search(number: int) -> None:
            graph = steps.indptr, steps.indices, steps.data
            shortest_paths(*graph, sources[number], costs[number])

        in_threads(search, range(len(sources)))
        return self.over_rows(lambda rows: np.ascontiguousarray(costs[:, rows].T), n)

    def room(self) -> float:
        """See :meth:`Backend.room`; scikit-learn's `working_memory`."""
        return budget_bytes(None)

    def kernel_matrix(self, X: Any, Y: Any, kernel: KernelFunction) -> Any:
        """See :meth:`Backend.kernel_matrix`."""
        metric, *numbers = kernel
        params = dict(zip(("gamma", "degree", "coef0"), numbers, strict=True))
        return pairwise_kernels(X, Y, metric=metric, filter_params=True, **params)

    def forest_outputs(
        self, Z: Any, feature: Any, threshold: Any, right: Any, values: Any
    ) -> Any:
        """See :meth:`Backend.forest_outputs`."""
        if not worth_compiling(4 * Z.shape[0] * feature.size):
            Z = np.asarray(Z, dtype=np.float64)
            return _forest_outputs(Z, feature, threshold, right, values)
        from fewlabels._loops.trees import add_forest_outputs

        outputs = np.zeros((Z.shape[0], values.shape[2]))

        def add(batch: slice) -> None:
            columns = np.ascontiguousarray(Z[batch].T, dtype=np.float64)
            trees = feature, threshold, right, values
            add_forest_outputs(columns, *trees, outputs[batch])

        in_threads(add, gen_batches(Z.shape[0], _BATCH))
        return outputs

    def kernel_product(
        self, X: Any, Y: Any, V: Any, kernel: KernelFunction, *, strict: bool = True
    ) -> Any:
        """See :meth:`Backend.kernel_product`."""
        out = np.empty((X.shape[0], V.shape[1]), dtype=V.dtype)
        for batch in gen_batches(X.shape[0], _BATCH):
            out[batch] = self.kernel_matrix(X[batch], Y, kernel) @ V
        return out


def _forest_outputs(
    Z: Any, feature: Any, threshold: Any, right: Any, values: Any
) -> Any:
    """Let all rows go down all trees, a step at a time; sums are as in the loop."""
    rows, trees = np.arange(Z.shape[0])[:, None], np.arange(feature.shape[0])
    node = np.zeros((Z.shape[0], trees.size), dtype=np.intp)
    while ((column := feature[trees, node]) >= 0).any():
        below = Z[rows, column] <= threshold[trees, node]
        on = np.where(below, node + 1, right[trees, node])
        node = np.where(column >= 0, on, node)
    said = values[trees, right[trees, node]] / trees.size
    return np.add.accumulate(said, axis=1)[:, -1]


NUMPY = NumpyBackend()
