"""Training rows in the smaller of two forms: features, or a kernel matrix."""

# SPDX-License-Identifier: BSD-3-Clause

import warnings
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from fewlabels._backend import Backend
from fewlabels._distances import safe_unit
from fewlabels._rows import check_square_kernel
from fewlabels.kernels._definite import check_semidefinite
from fewlabels.kernels._feature_maps import NystromFeatures
from fewlabels.kernels._functions import Kernel, moved_kernel, resolve_kernel

# With more rows than this, warn how large the kernel matrix will be.
LARGE_KERNEL = 15_000


@dataclass(frozen=True)
class KernelRows:
    """Training rows as features or as a kernel matrix.

    Attributes
    ----------
    matrix : ndarray of shape (n_samples, n_features) or (n_samples, n_samples)
        Features whose products are the kernel, or the kernel matrix.
    is_factor : bool
        Whether `matrix` holds features.
    kernel : Kernel
        The kernel with its parameters as numbers.
    features : NystromFeatures or None
        The map to the features, if there is one.
    means : ndarray or None
        What was subtracted to centre the rows in feature space: means of the features,
        or of the rows of the kernel matrix.
    linear_rows : ndarray or None
        The rows whose products are the kernel matrix, if known.
    """

    matrix: NDArray[Any]
    is_factor: bool
    kernel: Kernel
    features: NystromFeatures | None = None
    means: NDArray[Any] | None = None
    linear_rows: NDArray[Any] | None = None

    @property
    def needs_rows(self) -> bool:
        """Whether predictions need the training rows themselves."""
        return not self.is_factor and not self.kernel.is_precomputed

    @property
    def spread(self) -> float:
        """Mean squared distance of the rows from their mean in feature space."""
        if self.is_factor:
            return float(self.matrix.var(axis=0).sum())
        return float(self.matrix.diagonal().mean() - self.matrix.mean())

    @property
    def mean_square(self) -> float:
        """Mean squared length of the rows in feature space."""
        if self.is_factor:
            total = np.einsum("ij,ij->", self.matrix, self.matrix, dtype=np.float64)
            return float(total) / len(self.matrix)
        return float(self.matrix.diagonal().mean())

    def centered(self) -> Self:
        """Return the rows centred in feature space."""
        means = self.matrix.mean(axis=0)
        matrix = self.matrix - means
        if self.linear_rows is not None:  # products of rows far away would cancel
            centred = self.linear_rows - self.linear_rows.mean(axis=0)
            matrix = centred @ centred.T
        elif not self.is_factor:
            matrix -= matrix.mean(axis=1)[:, None]
            matrix = (matrix + matrix.T) / 2  # the rounding errors, too
        return replace(self, matrix=matrix, means=means)

    def uncentered_model(
        self, model: NDArray[Any]
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        """Turn a model on centred rows into one on uncentred rows.

        Parameters
        ----------
        model : ndarray of shape (n_features or n_samples, n_targets)
            Weights of the features, or coefficients of the training rows.

        Returns
        -------
        model : ndarray of the same shape
            The same for uncentred rows.
        intercept : ndarray of shape (n_targets,)
            Offset to add to its outputs.
        """
        if self.means is None:
            return model, np.zeros(model.shape[1])
        intercept = -(self.means @ model)
        if self.is_factor:
            return model, intercept
        return model - model.mean(axis=0), intercept + self.means.mean() * model.sum(
            axis=0
        )


def represent_rows(
    X: Any,
    kernel: Any,
    *,
    n_components: int | None = None,
    random_state: Any = None,
    device: str | Backend | None = None,
    **params: Any,
) -> KernelRows:
    """Turn rows into features if these are smaller, else into a kernel matrix.

    Parameters
    ----------
    X : {ndarray, sparse matrix} of shape (n_samples, n_features)
        Validated rows, or the kernel matrix for kernel="precomputed".
    kernel : str, callable or GP kernel
        See :func:`fewlabels.kernels.resolve_kernel`.
    n_components : int, default=None
        Landmarks of a Nyström approximation; None for none.
    random_state : int, RandomState instance or None, default=None
        Seed of the landmarks.
    device : {"cpu", "cuda"} or None, default=None
        Where to compute a kernel matrix, returned to NumPy; None is the CPU.
        See :func:`gram_operator`.
    **params : dict
        Parameters of the kernel.

    Returns
    -------
    rows : KernelRows
        The rows.

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.kernels import represent_rows
    >>> X = np.array([[0.0], [1.0], [2.0]])
    >>> represent_rows(X, "linear").is_factor, represent_rows(X, "rbf").is_factor
    (True, False)
    """
    if n_components is not None:
        features = NystromFeatures(
            n_components, kernel=kernel, random_state=random_state, **params
        )
        Z = features.fit_transform(X).astype(np.float64, copy=False)
        return KernelRows(Z, True, features.kernel_, features)
    resolved = resolve_kernel(X, kernel, **params)
    if resolved.is_precomputed:
        check_square_kernel(X)
        K = (X.toarray() if sparse.issparse(X) else X).astype(np.float64, copy=False)
        return KernelRows(check_semidefinite(K), False, resolved)
    if resolved.metric == "linear" and X.shape[1] <= X.shape[0]:
        if safe_unit(X) != 1.0:
            raise ValueError(
                "kernel='linear' overflows or vanishes for rows of this size: scale X."
            )
        rows = X.toarray() if sparse.issparse(X) else X
        return KernelRows(rows.astype(np.float64, copy=False), True, resolved)
    if X.shape[0] > LARGE_KERNEL:
        warnings.warn(
            f"The kernel matrix of {X.shape[0]} rows takes "
            f"{8 * X.shape[0] ** 2 / 2**30:.0f} GiB, several times over: set "
            "n_components for a low-rank approximation.",
            UserWarning,
            stacklevel=4,
        )
    # In double precision, since solvers detect indefinite kernels by rounding errors.
    X = X.astype(np.float64, copy=False)
    moved = moved_kernel(resolved, device, X)
    K = resolved(X) if moved is None else moved.toarray()
    if not resolved.is_semidefinite:
        check_semidefinite(K)
    rows = X.toarray() if sparse.issparse(X) else X
    return KernelRows(
        K, False, resolved, linear_rows=rows if resolved.metric == "linear" else None
    )
