"""The torch side of the seam, on a GPU or, for tests, on the CPU."""

# SPDX-License-Identifier: BSD-3-Clause

import warnings
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

import numpy as np
import torch
from numpy.typing import DTypeLike, NDArray
from scipy.sparse import csr_array, issparse
from sklearn.externals.array_api_compat import torch as torch_namespace
from sklearn.utils import gen_batches

from fewlabels._backend._base import Backend, KernelFunction
from fewlabels._backend._numpy import NUMPY

# Share of the free memory of a device that temporary arrays may take together.
MEMORY_SHARE = 0.25
# Bytes that they may take on the CPU.
HOST_BYTES = 2**28
# Found with float32 products, so many more than asked for are looked at closely.
EXTRA_NEIGHBORS = 3
# A neighbour whose squared distance is a smaller share of the squares it was computed
# from may be the wrong one: half of the digits of float32 are left, a quarter of those
# of float64.
LOST_DIGITS = {torch.float32: 1e-4, torch.float64: 1e-8}
_DTYPES: dict[Any, Any] = {
    np.dtype(np.float64): torch.float64,
    np.dtype(np.float32): torch.float32,
    np.dtype(np.int64): torch.int64,
    np.dtype(np.int32): torch.int32,
    np.dtype(np.bool_): torch.bool,
}
_NAMES: dict[Any, np.dtype[Any]] = {native: name for name, native in _DTYPES.items()}


def as_tensor(A: Any) -> torch.Tensor:
    """Tensor that shares the memory of an array of any library, on its device."""
    return A if isinstance(A, torch.Tensor) else torch.from_dlpack(A)


def host_array(value: Any) -> Any:
    """NumPy's array of a tensor of any library; anything else as it is."""
    from fewlabels._backend._exchange import is_tensor

    return as_tensor(value).detach().cpu().numpy() if is_tensor(value) else value


def tensor_on(A: NDArray[Any], device: torch.device) -> torch.Tensor:
    """Tensor of an array, on a device."""
    return torch.as_tensor(np.ascontiguousarray(A)).to(device)


def torch_backend(device: str) -> "TorchBackend":
    """Backend of a device, which is made once whatever the device is called."""
    place = torch.device(device)
    if place.type == "cuda":
        if not torch.cuda.is_available():
            raise ValueError(
                f"device={device!r}: torch finds no GPU here. Use device='cpu', or "
                "install a torch that was built for the driver of this machine."
            )
        if place.index is None:
            place = torch.device("cuda", torch.cuda.current_device())
    return _backend_on(place)


@lru_cache
def _backend_on(place: Any) -> "TorchBackend":
    return TorchBackend(place)


def backend_of_tensor(A: Any) -> "TorchBackend":
    """Backend of the device on which an array of any library lives."""
    return torch_backend(str(as_tensor(A).device))


class TorchBackend(Backend):
    """Tensors on one device."""

    xp: Any = torch_namespace
    is_numpy = False
    batch_rows = 2**16

    def __init__(self, place: torch.device) -> None:
        self._place = place
        self.device = str(place)

    def asarray(self, A: Any, dtype: DTypeLike | None = None) -> torch.Tensor:
        """See :meth:`Backend.asarray`."""
        native = None if dtype is None else _DTYPES[np.dtype(dtype)]
        if issparse(A):
            A = csr_array(A)
            parts = (A.indptr, A.indices, A.data)
            indptr, indices, data = (tensor_on(part, self._place) for part in parts)
            data = data if native is None else data.to(native)
            return self.sparse(data, indices, indptr, A.shape[1])
        if isinstance(A, np.ndarray):
            A = np.ascontiguousarray(A)
        return torch.as_tensor(A, dtype=native, device=self._place)

    def to_numpy(self, A: Any) -> Any:
        """See :meth:`Backend.to_numpy`."""
        if isinstance(A, Shifted):
            return NUMPY.shifted(self.to_numpy(A.A), A.scale, A.shift)
        if A.layout == torch.sparse_csr:
            parts = A.values(), A.col_indices(), A.crow_indices()
            return csr_array(
                tuple(part.cpu().numpy() for part in parts), shape=tuple(A.shape)
            )
        return A.detach().cpu().numpy()

    def dtype(self, A: Any) -> np.dtype[Any]:
        """See :meth:`Backend.dtype`."""
        return _NAMES[A.dtype]

    def astype(self, A: Any, dtype: DTypeLike) -> Any:
        """See :meth:`Backend.astype`."""
        return A.to(_DTYPES[np.dtype(dtype)])

    def contiguous(self, A: Any) -> Any:
        """See :meth:`Backend.contiguous`."""
        return A.contiguous()

    def median(self, values: Any) -> float:
        """See :meth:`Backend.median`; of an even number, the lower of the middle."""
        return float(values.median())

    def standard_normal(
        self, seed: int, shape: tuple[int, ...], dtype: DTypeLike
    ) -> Any:
        """See :meth:`Backend.standard_normal`."""
        generator = torch.Generator(self._place).manual_seed(int(seed))
        native = _DTYPES[np.dtype(dtype)]
        return torch.randn(shape, generator=generator, dtype=native, device=self._place)

    def eigh(self, A: Any) -> tuple[Any, Any]:
        """See :meth:`Backend.eigh`."""
        values, vectors = torch.linalg.eigh(A.double())
        return values, vectors

    def orthonormal(self, X: Any) -> Any:
        """See :meth:`Backend.orthonormal`; Cholesky twice, or Householder."""
        X = X / torch.linalg.vector_norm(X, dim=0)
        for _ in range(2):
            R, failed = torch.linalg.cholesky_ex((X.T @ X).double(), upper=True)
            if int(failed):
                return torch.linalg.qr(X)[0]
            eye = torch.eye(R.shape[0], dtype=R.dtype, device=R.device)
            inverse = torch.linalg.solve_triangular(R, eye, upper=True)
            X = X @ inverse.to(X.dtype)
        return X

    def climb(
        self,
        state: dict[str, Any],
        Q: Any,
        q: Any,
        lower: Any,
        upper: Any,
        tol: float,
        max_trials: int,
        n_moves: int,
    ) -> Any:
        """See :meth:`Backend.climb`."""
        from fewlabels._backend import _triton

        if not _triton.fits_climb(state["H"]):
            return None
        return _triton.climb(state, Q, q, lower, upper, tol, max_trials, n_moves)

    def room(self) -> float:
        """See :meth:`Backend.room`; a share of the memory of a GPU that is free."""
        if self._place.type != "cuda":
            return HOST_BYTES
        free, total = torch.cuda.mem_get_info(self._place)
        reserved = torch.cuda.memory_reserved(self._place)
        # Processes may be allowed a part of a card each; an old torch does not tell.
        allowed = getattr(torch.cuda, "get_per_process_memory_fraction", None)
        if allowed is not None:
            free = max(0.0, min(free, allowed(self._place) * total - reserved))
        return MEMORY_SHARE * (
            free + reserved - torch.cuda.memory_allocated(self._place)
        )

    def tile_rows(self, bytes_per_row: int) -> int:
        """Rows of a tile whose temporary arrays fit into the memory that is free."""
        return max(1, int(self.room() // max(1, bytes_per_row)))

    def _tiles(self, n_rows: int, bytes_per_row: int) -> Iterator[slice]:
        size = self.tile_rows(bytes_per_row)
        return (slice(start, start + size) for start in range(0, n_rows, size))

    def squared_distances(self, X: Any, Y: Any) -> Any:
        """See :meth:`Backend.squared_distances`; in double precision, as in NumPy."""
        centre = _centre(Y).double()
        B = Y.double() - centre
        squares = (B * B).sum(1)
        out = torch.empty((X.shape[0], Y.shape[0]), dtype=X.dtype, device=X.device)
        for tile in self._tiles(X.shape[0], 24 * Y.shape[0]):
            A = X[tile].double() - centre
            d2 = torch.addmm(squares, A, B.T, alpha=-2.0)
            d2 += (A * A).sum(1)[:, None]
            out[tile] = d2.clamp_(min=0.0)
        return out

    def nearest(self, X: Any, k: int, queries: Any = None) -> tuple[Any, Any]:
        """See :meth:`Backend.nearest`."""
        own = queries is None
        Q = X if own else queries
        centre = _centre(X)
        near, asked = X - centre, Q - centre
        wanted = min(X.shape[0] - own, k + EXTRA_NEIGHBORS)
        found = self._candidates(asked, near, wanted, own)
        distances, indices = self._refined(Q, X, found, k)
        squares = (asked * asked).sum(1)
        farthest = distances[:, -1] ** 2
        lost = (farthest > 0) & (farthest < LOST_DIGITS[X.dtype] * squares)
        rows = torch.nonzero(lost)[:, 0]
        for tile in self._tiles(rows.shape[0], 32 * X.shape[0]):
            some = rows[tile]
            # Differences are wanted here: products have lost their digits.
            d = torch.cdist(
                Q[some].double(),
                X.double(),
                compute_mode="donot_use_mm_for_euclid_dist",
            )
            if own:
                d[torch.arange(some.shape[0], device=d.device), some] = torch.inf
            again = torch.topk(d, wanted, dim=1, largest=False).indices
            distances[some], indices[some] = self._refined(Q[some], X, again, k)
        return distances, indices

    def _candidates(self, Q: Any, X: Any, k: int, own: bool) -> Any:
        """Numbers of about the k nearest rows, by products in the precision of X."""
        from fewlabels._backend import _triton

        if _triton.fits_nearest(Q, X, k):
            rows = self.tile_rows(_triton.NEAREST_BYTES)
            return _triton.nearest(Q, X, k, own, rows)
        squares = (X * X).sum(1)
        found = torch.empty((Q.shape[0], k), dtype=torch.int64, device=X.device)
        size = X.element_size()
        for tile in self._tiles(Q.shape[0], 2 * size * X.shape[0]):
            d2 = torch.addmm(squares, Q[tile], X.T, alpha=-2.0)
            if own:
                place = torch.arange(d2.shape[0], device=d2.device)
                d2[place, place + tile.start] = torch.inf
            found[tile] = torch.topk(d2, k, dim=1, largest=False).indices
        return found

    def _refined(self, Q: Any, X: Any, found: Any, k: int) -> tuple[Any, Any]:
        """Distances from differences, nearest first, rows of equal ones by number."""
        distances = torch.empty((Q.shape[0], k), dtype=X.dtype, device=X.device)
        indices = torch.empty((Q.shape[0], k), dtype=torch.int64, device=X.device)
        for tile in self._tiles(Q.shape[0], 24 * found.shape[1] * X.shape[1]):
            numbers = torch.sort(found[tile], dim=1).values
            d = torch.linalg.vector_norm(X[numbers] - Q[tile][:, None, :], dim=2)
            d, order = torch.sort(d, dim=1, stable=True)
            distances[tile] = d[:, :k]
            indices[tile] = torch.gather(numbers, 1, order[:, :k])
        return distances, indices

    def each_batch(self, function: Callable[[slice], Any], n_rows: int) -> list[Any]:
        """See :meth:`Backend.each_batch`; in turn."""
        return [function(batch) for batch in gen_batches(n_rows, self.batch_rows)]

    def over_rows(self, function: Callable[[slice], Any], n_rows: int) -> Any:
        """See :meth:`Backend.over_rows`."""
        parts = self.each_batch(function, n_rows)
        return parts[0] if len(parts) == 1 else torch.cat(parts)

    def product(
        self, A: Any, B: Any, minus: Any = None, *, overwrite: bool = False
    ) -> Any:
        """See :meth:`Backend.product`."""
        from fewlabels._backend import _triton

        out = _triton.matvec(A, B) if _triton.fits_vector(A, B) else A @ B
        if minus is not None:
            out -= minus
        return out

    def gram(self, A: Any, B: Any) -> Any:
        """See :meth:`Backend.gram`."""
        return (A.T @ B).double()

    def sparse(self, values: Any, indices: Any, indptr: Any, n_columns: int) -> Any:
        """See :meth:`Backend.sparse`."""
        shape = (indptr.shape[0] - 1, n_columns)
        with warnings.catch_warnings():
            # torch calls its compressed rows a beta.
            warnings.simplefilter("ignore", UserWarning)
            return torch.sparse_csr_tensor(
                indptr.to(torch.int32),
                indices.to(torch.int32),
                values,
                size=shape,
                check_invariants=False,
            )

    def shifted(self, A: Any, scale: float, shift: float) -> Any:
        """See :meth:`Backend.shifted`."""
        if isinstance(A, Shifted):
            return Shifted(A.A, scale * A.scale, A.shift + shift / A.scale)
        return Shifted(A, scale, shift)

    def divided(self, A: Any, divisors: Any) -> Any:
        """See :meth:`Backend.divided`."""
        indptr, indices = A.crow_indices(), A.col_indices()
        rows = torch.repeat_interleave(divisors, torch.diff(indptr))
        values = A.values() / rows / divisors[indices]
        return self.sparse(values, indices, indptr, A.shape[1])

    def symmetrized(self, values: Any, indices: Any) -> Any:
        """See :meth:`Backend.symmetrized`."""
        n, k = indices.shape
        rows = torch.arange(n, device=indices.device).repeat_interleave(k)
        columns = indices.ravel()
        keys = torch.cat([rows * n + columns, columns * n + rows])
        keys, order = torch.sort(keys)
        halves = (0.5 * values.ravel()).repeat(2)[order]
        keys, place = torch.unique_consecutive(keys, return_inverse=True)
        summed = self.segment_sum(halves, place, keys.shape[0])
        counts = torch.bincount(keys // n, minlength=n)
        indptr = torch.cat([counts.new_zeros(1), torch.cumsum(counts, 0)])
        return self.sparse(summed, keys % n, indptr, n)

    def segment_sum(self, values: Any, segments: Any, n_segments: int) -> Any:
        """See :meth:`Backend.segment_sum`."""
        sums = values.new_zeros((n_segments, *values.shape[1:]))
        return sums.index_add_(0, segments, values)

    def shortest_paths(
        self, lengths: Any, indices: Any, sources: NDArray[np.intp]
    ) -> Any:
        """See :meth:`Backend.shortest_paths`; every row asks its neighbours in turn."""
        n, k = indices.shape
        # The larger of two lengths where both ends have the edge, as in NumPy.
        rows = torch.arange(n, device=indices.device).repeat_interleave(k)
        keys = torch.cat([rows * n + indices.ravel(), indices.ravel() * n + rows])
        keys, order = torch.sort(keys)
        keys, place = torch.unique_consecutive(keys, return_inverse=True)
        steps = lengths.ravel().repeat(2)[order]
        longest = steps.new_zeros(keys.shape[0])
        longest.scatter_reduce_(0, place, steps, "amax")
        starts = torch.as_tensor(sources, device=indices.device)
        return _relaxed(keys // n, keys % n, longest, starts, n)

    def kernel_matrix(self, X: Any, Y: Any, kernel: KernelFunction) -> Any:
        """See :meth:`Backend.kernel_matrix`."""
        out = torch.empty((X.shape[0], Y.shape[0]), dtype=X.dtype, device=X.device)
        for tile in self._tiles(X.shape[0], 3 * X.element_size() * Y.shape[0]):
            out[tile] = _kernel(X[tile], Y, *kernel)
        return out

    def forest_outputs(
        self, Z: Any, feature: Any, threshold: Any, right: Any, values: Any
    ) -> Any:
        """See :meth:`Backend.forest_outputs`; all trees take a step at a time."""
        n_trees, n_nodes = feature.shape
        n_leaves = values.shape[1]
        first = torch.arange(n_trees, device=self._place)
        features, thresholds, rights = (
            self.asarray(part.ravel()) for part in (feature, threshold, right)
        )
        leaves = self.asarray(values.reshape(n_trees * n_leaves, -1))
        out = leaves.new_empty((Z.shape[0], leaves.shape[1]))
        for tile in self._tiles(Z.shape[0], 48 * n_trees):
            rows = Z[tile].double()
            node = (first * n_nodes).expand(rows.shape[0], -1)
            while True:
                column = features[node]
                inner = column >= 0
                if not bool(inner.any()):
                    break
                x = torch.gather(rows, 1, column.clamp(min=0).long())
                on = torch.where(
                    x <= thresholds[node], node + 1, first * n_nodes + rights[node]
                )
                node = torch.where(inner, on, node)
            leaf = first * n_leaves + rights[node]
            out[tile] = torch.nn.functional.embedding_bag(leaf, leaves, mode="mean")
        return out

    def kernel_product(
        self, X: Any, Y: Any, V: Any, kernel: KernelFunction, *, strict: bool = True
    ) -> Any:
        """See :meth:`Backend.kernel_product`."""
        from fewlabels._backend import _triton

        if _triton.fits_product(X, Y, V, kernel.name, kernel.degree):
            if kernel.name == "rbf":
                centre = _centre(Y)
                X, Y = X - centre, Y - centre
            return _triton.kernel_product(X, Y, V, *kernel, strict)
        out = torch.empty((X.shape[0], V.shape[1]), dtype=V.dtype, device=V.device)
        for tile in self._tiles(X.shape[0], 3 * X.element_size() * Y.shape[0]):
            out[tile] = _kernel(X[tile], Y, *kernel) @ V
        return out


class Shifted:
    """The matrix ``scale * (A - shift * I)``, with A in compressed rows."""

    def __init__(self, A: torch.Tensor, scale: float, shift: float) -> None:
        self.A, self.scale, self.shift = A, scale, shift
        self.shape, self.dtype, self.device = A.shape, A.dtype, A.device

    def __matmul__(self, V: torch.Tensor) -> torch.Tensor:
        block = V if V.ndim == 2 else V[:, None]
        out = torch.addmm(
            block, self.A, block, beta=-self.scale * self.shift, alpha=self.scale
        )
        return out if V.ndim == 2 else out[:, 0]


def _centre(X: Any) -> Any:
    """Median of some rows, which does not follow a few far ones."""
    return X[:: max(1, X.shape[0] // 512)].median(dim=0).values


def _kernel(
    X: Any, Y: Any, kernel: str, gamma: float, degree: float, coef0: float
) -> Any:
    """Kernel matrix of some rows."""
    if kernel == "rbf":
        centre = _centre(Y)
        A, B = X - centre, Y - centre
        d2 = torch.addmm((B * B).sum(1), A, B.T, alpha=-2.0) + (A * A).sum(1)[:, None]
        return torch.exp(-gamma * d2.clamp_(min=0.0))
    if kernel == "laplacian":
        return torch.exp(-gamma * torch.cdist(X, Y, p=1.0))
    return (gamma * (X @ Y.T) + coef0) ** degree


def _relaxed(rows: Any, columns: Any, steps: Any, starts: Any, n: int) -> Any:
    """Path lengths by rounds, until no row finds a shorter way through a neighbour."""
    from fewlabels._backend import _triton

    counts = torch.bincount(rows, minlength=n)
    costs = steps.new_full((n, starts.shape[0]), torch.inf)
    costs[starts, torch.arange(starts.shape[0], device=costs.device)] = 0.0
    if _triton.fits_paths(steps, costs):
        indptr = torch.cat([counts.new_zeros(1), torch.cumsum(counts, 0)])
        return _triton.relaxed(indptr, columns, steps, costs)
    while True:
        through = costs[columns] + steps[:, None]
        shorter = torch.segment_reduce(through, "min", lengths=counts, unsafe=True)
        shorter = torch.minimum(shorter, costs)
        if torch.equal(shorter, costs):
            return costs
        costs = shorter
