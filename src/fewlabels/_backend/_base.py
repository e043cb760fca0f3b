"""What algorithms may ask of a place where arrays live."""

# SPDX-License-Identifier: BSD-3-Clause

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import DTypeLike, NDArray


class KernelFunction(NamedTuple):
    """One of scikit-learn's kernels "rbf", "laplacian" and "polynomial"."""

    name: str
    gamma: float
    degree: float = 1.0
    coef0: float = 0.0


class Backend(Protocol):
    """The primitives; arrays are those of the backend unless said otherwise.

    The sides derive from it: what one of them lacks is an error.

    Attributes
    ----------
    xp : module
        Namespace of array functions, after the array API standard.
    device : str
        "cpu", or what torch calls the device.
    is_numpy : bool
        Whether arrays are NumPy's, and sparse ones SciPy's.
    batch_rows : int
        Rows to be worked on at a time where temporary arrays are as large as they.
    """

    xp: Any
    device: str
    is_numpy: bool
    batch_rows: int

    def asarray(self, A: Any, dtype: DTypeLike | None = None) -> Any:
        """Bring an array here, copying only if needed; sparse arrays stay sparse."""

    def to_numpy(self, A: Any) -> Any:
        """Take an array to NumPy, a sparse one to SciPy."""

    def dtype(self, A: Any) -> np.dtype[Any]:
        """NumPy's name of the type of an array."""

    def astype(self, A: Any, dtype: DTypeLike) -> Any:
        """Convert to a type that is given by NumPy's name."""

    def contiguous(self, A: Any) -> Any:
        """Lay an array out row by row."""

    def median(self, values: Any) -> float:
        """Median of numbers of any shape, at least one."""

    def standard_normal(
        self, seed: int, shape: tuple[int, ...], dtype: DTypeLike
    ) -> Any:
        """Draw normal random numbers."""

    def eigh(self, A: Any) -> tuple[Any, Any]:
        """Eigenvalues, rising, and eigenvectors of a symmetric matrix, in float64."""

    def orthonormal(self, X: Any) -> Any:
        """Orthonormal basis of the columns of a tall matrix."""

    def squared_distances(self, X: Any, Y: Any) -> Any:
        """Squared distances between all rows of X and all rows of Y."""

    def nearest(self, X: Any, k: int, queries: Any = None) -> tuple[Any, Any]:
        """Distances and numbers of the k nearest rows, nearest first, ties by number.

        Without queries, the rows ask for the nearest others.
        """

    def each_batch(self, function: Callable[[slice], Any], n_rows: int) -> list[Any]:
        """Call a function on batches of rows, in turn or in threads.

        The batches depend on nothing but the number of rows.
        """

    def over_rows(self, function: Callable[[slice], Any], n_rows: int) -> Any:
        """Join the arrays that a function makes of batches of rows."""

    def product(
        self, A: Any, B: Any, minus: Any = None, *, overwrite: bool = False
    ) -> Any:
        """Compute ``A @ B - minus`` of a tall array A, dense or sparse.

        Where it may be overwritten, `minus` can be lost.
        """

    def gram(self, A: Any, B: Any) -> Any:
        """Products ``A.T @ B`` of the columns of two tall arrays, in float64."""

    def sparse(self, values: Any, indices: Any, indptr: Any, n_columns: int) -> Any:
        """Sparse array in compressed rows, to be multiplied with blocks by ``@``."""

    def shifted(self, A: Any, scale: float, shift: float) -> Any:
        """Make ``scale * (A - shift * I)`` of a square sparse array, for products."""

    def divided(self, A: Any, divisors: Any) -> Any:
        """Divide the rows, and the columns likewise, of a square sparse array."""

    def symmetrized(self, values: Any, indices: Any) -> Any:
        """Mean of a graph and its mirror image, as a sparse array.

        Row i of the graph has edges to ``indices[i]`` of weights ``values[i]``.
        """

    def segment_sum(self, values: Any, segments: Any, n_segments: int) -> Any:
        """Sum the rows of `values` that belong to the same segment."""

    def shortest_paths(
        self, lengths: Any, indices: Any, sources: NDArray[np.intp]
    ) -> Any:
        """Lengths of shortest paths from every row (n, n_sources) to some of them.

        Row i has edges to ``indices[i]`` of lengths ``lengths[i]``, which may be gone
        both ways; infinite where there is no path.
        """

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
        """Make the next moves of local searches, in place; return what they gain.

        The gain is NaN where there is no move. None where no fused kernel does it.
        """
        return None

    def room(self) -> float:
        """Bytes that temporary arrays may take together at present."""

    def kernel_matrix(self, X: Any, Y: Any, kernel: KernelFunction) -> Any:
        """Kernel matrix of X and Y."""

    def forest_outputs(
        self, Z: Any, feature: Any, threshold: Any, right: Any, values: Any
    ) -> Any:
        """Mean over trees of what their leaves say of the rows of Z, in float64.

        The trees are those of :mod:`fewlabels._loops.trees`, in arrays of NumPy.
        """

    def kernel_product(
        self, X: Any, Y: Any, V: Any, kernel: KernelFunction, *, strict: bool = True
    ) -> Any:
        """Multiply the kernel matrix of X and Y, never stored, with a block V.

        Where not strict, products of rows may be rounded to ten bits (tf32).
        """
