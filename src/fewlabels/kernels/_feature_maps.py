r"""Low-rank feature maps of a kernel: :math:`z(x)^\top z(x') \approx k(x, x')`."""

# SPDX-License-Identifier: BSD-3-Clause

import warnings
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags, check_random_state

from fewlabels._linalg import FLOATS
from fewlabels._rows import check_square_kernel
from fewlabels._sklearn import (
    Interval,
    StrOptions,
    fit_context,
    validate_data,
    validate_fitted,
)
from fewlabels.kernels._functions import (
    KERNEL_CONSTRAINTS,
    Kernel,
    is_precomputed,
    resolve_kernel,
)
from fewlabels.kernels._landmarks import LANDMARKS
from fewlabels.kernels._nystrom import nystrom_map
from fewlabels.kernels._operators import DenseGram, TiledGram
from fewlabels.kernels._pivoted_cholesky import pivoted_cholesky


class _LowRankFeatures(
    ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator
):
    """Base class of the two feature maps: kernel, landmarks and `transform`.

    z(x) = k(x, landmarks) @ map, with the map applied by `_map_features`.
    """

    kernel: Any
    gamma: Any
    kernel_params: dict[str, Any] | None
    landmarks_: Any

    def _resolve_kernel(self, X: Any) -> Kernel:
        if is_precomputed(self.kernel):
            check_square_kernel(X)
        return resolve_kernel(
            X, self.kernel, gamma=self.gamma, kernel_params=self.kernel_params
        )

    def _keep_landmarks(self, X: Any, chosen: NDArray[Any]) -> None:
        """Store landmarks given as row indices or, from k-means, as points."""
        is_indices = chosen.dtype.kind == "i"
        self.landmark_indices_ = chosen if is_indices else None
        if self.kernel_.is_precomputed:
            self.landmarks_ = None
        else:
            self.landmarks_ = X[chosen] if is_indices else chosen

    def _landmark_kernel(self, X: Any) -> NDArray[Any]:
        """Kernel between the rows of X and the landmarks."""
        if self.kernel_.is_precomputed:
            return X[:, self.landmark_indices_]
        if self.landmarks_.shape[0] == 0:  # a kernel of zeros has no pivot
            return np.empty((X.shape[0], 0), dtype=X.dtype)
        return self.kernel_(X, self.landmarks_)

    def transform(self, X: Any) -> NDArray[Any]:
        """Compute the features of rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows; for a precomputed kernel their kernel with the training rows.

        Returns
        -------
        Z : ndarray of shape (n_samples, rank)
            Features whose inner products approximate the kernel.
        """
        X = validate_fitted(self, X, accept_sparse=self._accept_sparse(), dtype=FLOATS)
        return self._map_features(self._landmark_kernel(X))

    def _map_features(self, C: NDArray[Any]) -> NDArray[Any]:
        raise NotImplementedError

    def _accept_sparse(self) -> bool | str:
        return False if is_precomputed(self.kernel) else "csr"

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = is_precomputed(self.kernel)
        tags.input_tags.sparse = not is_precomputed(self.kernel)
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


class NystromFeatures(_LowRankFeatures):
    r"""Nyström features: a kernel approximated by a set of landmarks.

    With landmarks :math:`R`, the kernel matrix is replaced by

    .. math::
        K \approx K_{\cdot R}\, K_{RR}^{+}\, K_{R \cdot} = Z Z^\top, \qquad
        z(x) = M^\top k(R, x), \quad M M^\top = K_{RR}^{+}

    :math:`K_{RR}` is often singular (duplicate rows, smooth kernels); its
    pseudo-inverse is factored by a truncated symmetric eigendecomposition.

    Parameters
    ----------
    n_landmarks : int, default=100
        Number of landmarks, at most n_samples.
    kernel : str, callable or GP kernel, default="rbf"
        See :func:`resolve_kernel`; "precomputed" included.
    gamma : float, {"scale", "median", "range", "local"} or None, default="scale"
        See :func:`resolve_kernel`.
    kernel_params : dict, default=None
        Further parameters of the kernel: `degree` and `coef0` of a named one, keywords
        of a callable.
    landmarks : {"uniform", "kmeans", "leverage"}, default="uniform"
        Rows drawn uniformly, centres of k-means, or rows drawn by approximate ridge
        leverage scores.
    n_components : int, default=None
        Keep at most this many features, the leading ones of the landmarks' kernel.
    tol : float, default=None
        Eigenvalues of :math:`K_{RR}` up to this share of the largest are dropped. None
        is 1e-10, or n_landmarks times the machine precision if that is larger: features
        of smaller ones would have too few digits for rows other than the landmarks.
    random_state : int, RandomState instance or None, default=None
        Seed of the landmarks.

    Attributes
    ----------
    kernel_ : Kernel
        The kernel with its parameters as numbers.
    landmarks_ : {ndarray, sparse matrix} of shape (n_landmarks, n_features)
        The landmarks; None for a precomputed kernel.
    landmark_indices_ : ndarray of shape (n_landmarks,)
        Their rows in the training data; None for k-means.
    normalization_ : ndarray of shape (n_landmarks, rank)
        The matrix M.
    n_features_in_ : int
        Number of features seen during fit.

    See Also
    --------
    PivotedCholeskyFeatures : Landmarks chosen greedily, rank by a tolerance.
    sklearn.kernel_approximation.Nystroem : Uniform landmarks, no truncation.

    References
    ----------
    .. [1] C. Williams, M. Seeger, "Using the Nyström method to speed up kernel
       machines", NeurIPS (2000).
    .. [2] K. Zhang, I. Tsang, J. Kwok, "Improved Nyström low-rank approximation and
       error analysis", ICML (2008). :doi:`10.1145/1390156.1390311`

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.kernels import NystromFeatures
    >>> X = np.random.default_rng(0).normal(size=(300, 2))
    >>> features = NystromFeatures(60, landmarks="kmeans", random_state=0)
    >>> Z = features.fit_transform(X)
    >>> bool(np.abs(Z @ Z.T - features.kernel_(X)).max() < 0.01)
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **KERNEL_CONSTRAINTS,
        "n_landmarks": [Interval(Integral, 1, None, closed="left")],
        "landmarks": [StrOptions(set(LANDMARKS))],
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
        "tol": [Interval(Real, 0, 1, closed="left"), None],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_landmarks: int = 100,
        *,
        kernel: Any = "rbf",
        gamma: float | str | None = "scale",
        kernel_params: dict[str, Any] | None = None,
        landmarks: str = "uniform",
        n_components: int | None = None,
        tol: float | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_landmarks = n_landmarks
        self.kernel = kernel
        self.gamma = gamma
        self.kernel_params = kernel_params
        self.landmarks = landmarks
        self.n_components = n_components
        self.tol = tol
        self.random_state = random_state

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None) -> Self:
        """Choose the landmarks and factor their kernel.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training rows; the square kernel matrix for kernel="precomputed".
        y : Ignored
            Present for API consistency.

        Returns
        -------
        self : object
            The fitted transformer.
        """
        X = validate_data(self, X, accept_sparse=self._accept_sparse(), dtype=FLOATS)
        rng = check_random_state(self.random_state)
        self.kernel_ = self._resolve_kernel(X)
        n_landmarks = min(self.n_landmarks, X.shape[0])
        chosen = LANDMARKS[self.landmarks](X, self.kernel_, n_landmarks, rng)
        self._keep_landmarks(X, chosen)
        if self.kernel_.is_precomputed:
            K_RR = X[np.ix_(chosen, chosen)]
        else:
            K_RR = self.kernel_(self.landmarks_)
        self.normalization_ = nystrom_map(
            K_RR, n_components=self.n_components, tol=self.tol
        )
        return self

    def _map_features(self, C: NDArray[Any]) -> NDArray[Any]:
        return C @ self.normalization_

    @property
    def _n_features_out(self) -> int:
        return self.normalization_.shape[1]


class PivotedCholeskyFeatures(_LowRankFeatures):
    r"""Features by pivoted Cholesky, in the number that a tolerance requires.

    The pivots :math:`P` are landmarks chosen greedily, and with the triangular factor
    :math:`T T^\top = K_{PP}` the features are :math:`z(x) = T^{-1} k(P, x)`. On the
    training rows they are the factor of :func:`pivoted_cholesky`.

    Parameters
    ----------
    n_components : int, default=None
        Largest number of features; n_samples when None.
    tol : float, default=1e-6
        Share of the trace of K that may be left out.
    kernel : str, callable or GP kernel, default="rbf"
        See :func:`resolve_kernel`; "precomputed" included.
    gamma : float, {"scale", "median", "range", "local"} or None, default="scale"
        See :func:`resolve_kernel`.
    kernel_params : dict, default=None
        Further parameters of the kernel: `degree` and `coef0` of a named one, keywords
        of a callable.

    Attributes
    ----------
    kernel_ : Kernel
        The kernel with its parameters as numbers.
    landmarks_ : {ndarray, sparse matrix} of shape (rank, n_features)
        The rows at the pivots; None for a precomputed kernel.
    landmark_indices_ : ndarray of shape (rank,)
        The pivots.
    pivot_factor_ : ndarray of shape (rank, rank)
        The triangular factor T.
    residual_ : float
        Share of the trace left out.
    n_features_in_ : int
        Number of features seen during fit.

    Warns
    -----
    ConvergenceWarning
        If `n_components` was reached before the tolerance.

    See Also
    --------
    NystromFeatures : A given number of landmarks, chosen at random.
    pivoted_cholesky : The factorisation.

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.kernels import PivotedCholeskyFeatures
    >>> X = np.random.default_rng(0).normal(size=(300, 2))
    >>> features = PivotedCholeskyFeatures(tol=1e-4, gamma=0.5).fit(X)
    >>> Z = features.transform(X)
    >>> bool(np.trace(features.kernel_(X) - Z @ Z.T) <= 1e-4 * 300)
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **KERNEL_CONSTRAINTS,
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
        "tol": [Interval(Real, 0, 1, closed="left")],
    }

    def __init__(
        self,
        n_components: int | None = None,
        *,
        tol: float = 1e-6,
        kernel: Any = "rbf",
        gamma: float | str | None = "scale",
        kernel_params: dict[str, Any] | None = None,
    ) -> None:
        self.n_components = n_components
        self.tol = tol
        self.kernel = kernel
        self.gamma = gamma
        self.kernel_params = kernel_params

    def fit(self, X: Any, y: Any = None) -> Self:
        """Choose pivots until the tolerance is reached.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training rows; the square kernel matrix for kernel="precomputed".
        y : Ignored
            Present for API consistency.

        Returns
        -------
        self : object
            The fitted transformer.
        """
        self.fit_transform(X)
        return self

    @fit_context(prefer_skip_nested_validation=True)
    def fit_transform(self, X: Any, y: Any = None) -> NDArray[Any]:
        """Choose pivots and return the factor of the training rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training rows; the square kernel matrix for kernel="precomputed".
        y : Ignored
            Present for API consistency.

        Returns
        -------
        Z : ndarray of shape (n_samples, rank)
            The features of the training rows.
        """
        X = validate_data(self, X, accept_sparse=self._accept_sparse(), dtype=FLOATS)
        self.kernel_ = self._resolve_kernel(X)
        precomputed = self.kernel_.is_precomputed
        gram = DenseGram(X) if precomputed else TiledGram(X, self.kernel_)
        result = pivoted_cholesky(gram, n_components=self.n_components, tol=self.tol)
        if not result.converged:
            rank = result.pivots.size
            why = (
                f"n_components={self.n_components} was reached: raise it, or raise tol"
                if rank == self.n_components
                else f"rounding errors of {X.dtype} set an end: raise tol"
            )
            warnings.warn(
                f"A share of {result.residual:.2g} of the trace is left out "
                f"(tol={self.tol:g}), as {why}.",
                ConvergenceWarning,
                stacklevel=2,
            )
        self._keep_landmarks(X, result.pivots)
        self.pivot_factor_ = result.factor[result.pivots]
        self.residual_ = result.residual
        return result.factor

    def _map_features(self, C: NDArray[Any]) -> NDArray[Any]:
        return linalg.solve_triangular(
            self.pivot_factor_, C.T, lower=True, check_finite=False
        ).T

    @property
    def _n_features_out(self) -> int:
        return self.pivot_factor_.shape[0]
