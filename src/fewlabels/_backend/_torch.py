"""The same primitives by torch, on a GPU or, for tests, on the CPU."""

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

from fewlabels._backend._numpy import NUMPY, KernelFunction
from fewlabels._gpu_loops import fits

# Share of the free memory of a device that temporary arrays may take together.
MEMORY_SHARE = 0.25
# Bytes that they may take on the CPU.
HOST_BYTES = 2**28
# Candidates by float32 products beyond those asked for, all of which are compared by
# exact distances.
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


def tensor_on(A: NDArray[Any], device: torch.device) -> torch.Tensor:
    """Tensor of an array, on a device."""
    return torch.as_tensor(np.ascontiguousarray(A)).to(device)


def torch_backend(device: str) -> "TorchBackend":
    """Backend of a device, which is made once whatever the device is called."""
    place = torch.device(device)
    if place.type == "cuda":
        if not torch.cuda.is_available():
            raise ValueError(
                f"device {device!r}: torch finds no GPU here. Pass device='cpu', or "
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


class TorchBackend:
    """Tensors on one device; for what methods do, see :class:`NumpyBackend`."""

    xp: Any = torch_namespace
    is_numpy = False
    batch_rows = 2**16

    def __init__(self, place: torch.device) -> None:
        self._place = place
        self.device = str(place)

    def asarray(self, A: Any, dtype: DTypeLike | None = None) -> torch.Tensor:
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
        if isinstance(A, Shifted):
            return NUMPY.shifted(self.to_numpy(A.A), A.scale, A.shift)
        if A.layout == torch.sparse_csr:
            parts = A.values(), A.col_indices(), A.crow_indices()
            return csr_array(
                tuple(part.cpu().numpy() for part in parts), shape=tuple(A.shape)
            )
        return A.detach().cpu().numpy()

    def dtype(self, A: Any) -> np.dtype[Any]:
        return _NAMES[A.dtype]

    def astype(self, A: Any, dtype: DTypeLike) -> Any:
        return A.to(_DTYPES[np.dtype(dtype)])

    def contiguous(self, A: Any) -> Any:
        return A.contiguous()

    def median(self, values: Any) -> float:
        """Take the lower of the two middle ones of an even number."""
        return float(values.median())

    def standard_normal(
        self, seed: int, shape: tuple[int, ...], dtype: DTypeLike
    ) -> Any:
        generator = torch.Generator(self._place).manual_seed(int(seed))
        native = _DTYPES[np.dtype(dtype)]
        return torch.randn(shape, generator=generator, dtype=native, device=self._place)

    def eigh(self, A: Any) -> tuple[Any, Any]:
        values, vectors = torch.linalg.eigh(A.double())
        return values, vectors

    def orthonormal(self, X: Any) -> Any:
        """Factorise by Cholesky twice, or by Householder reflections."""
        X = X / torch.linalg.vector_norm(X, dim=0)
        for _ in range(2):
            R, failed = torch.linalg.cholesky_ex((X.T @ X).double(), upper=True)
            if int(failed):
                return torch.linalg.qr(X)[0]
            eye = torch.eye(R.shape[0], dtype=R.dtype, device=R.device)
            inverse = torch.linalg.solve_triangular(R, eye, upper=True)
            X = X @ inverse.to(X.dtype)
        return X

    def room(self) -> float:
        """Take a share of the memory of a GPU that is free."""
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
        """Compute in double precision, as NumPy does."""
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
        if fits.nearest(Q, X, k):
            from fewlabels._gpu_loops.nearest import ROW_BYTES, nearest

            return nearest(Q, X, k, own, self.tile_rows(ROW_BYTES))
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
        return [function(batch) for batch in gen_batches(n_rows, self.batch_rows)]

    def over_rows(self, function: Callable[[slice], Any], n_rows: int) -> Any:
        parts = self.each_batch(function, n_rows)
        return parts[0] if len(parts) == 1 else torch.cat(parts)

    def product(
        self, A: Any, B: Any, minus: Any = None, *, overwrite: bool = False
    ) -> Any:
        if fits.vector(A, B):
            from fewlabels._gpu_loops.products import matvec

            out = matvec(A, B)
        else:
            out = A @ B
        if minus is not None:
            out -= minus
        return out

    def gram(self, A: Any, B: Any) -> Any:
        return (A.T @ B).double()

    def sparse(self, values: Any, indices: Any, indptr: Any, n_columns: int) -> Any:
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
        if isinstance(A, Shifted):
            return Shifted(A.A, scale * A.scale, A.shift + shift / A.scale)
        return Shifted(A, scale, shift)

    def divided(self, A: Any, divisors: Any) -> Any:
        indptr, indices = A.crow_indices(), A.col_indices()
        rows = torch.repeat_interleave(divisors, torch.diff(indptr))
        values = A.values() / rows / divisors[indices]
        return self.sparse(values, indices, indptr, A.shape[1])

    def symmetrized(self, values: Any, indices: Any) -> Any:
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
        sums = values.new_zeros((n_segments, *values.shape[1:]))
        return sums.index_add_(0, segments, values)

    def kernel_matrix(self, X: Any, Y: Any, kernel: KernelFunction) -> Any:
        out = torch.empty((X.shape[0], Y.shape[0]), dtype=X.dtype, device=X.device)
        for tile in self._tiles(X.shape[0], 3 * X.element_size() * Y.shape[0]):
            out[tile] = _kernel(X[tile], Y, *kernel)
        return out

    def kernel_product(
        self, X: Any, Y: Any, V: Any, kernel: KernelFunction, *, strict: bool = True
    ) -> Any:
        if fits.product(X, Y, V, kernel.name, kernel.degree):
            from fewlabels._gpu_loops.products import kernel_product

            if kernel.name == "rbf":
                centre = _centre(Y)
                X, Y = X - centre, Y - centre
            return kernel_product(X, Y, V, *kernel, strict)
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
