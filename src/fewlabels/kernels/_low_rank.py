r"""Low-rank factors of a kernel matrix, :math:`K \approx Z Z^\top`.

The functions work on operators and arrays; the two transformers are thin over them and
give the features z(x) of new rows too.
"""

# SPDX-License-Identifier: BSD-3-Clause

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from scipy.optimize import brentq
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import check_is_fitted

from fewlabels._linalg import FLOATS, inverse_square_root
from fewlabels._sklearn import Interval, StrOptions, fit_context, validate_data
from fewlabels._words import indefinite_kernel
from fewlabels.kernels._functions import (
    KERNEL_CONSTRAINTS,
    Kernel,
    is_precomputed,
    resolve_kernel,
)
from fewlabels.kernels._operators import DenseGram, GramOperator, TiledGram

# Columns by which the factor of a pivoted Cholesky decomposition grows.
_GROWTH = 16
# Share of the largest eigenvalue of landmarks that leaves features some five digits.
_TOL = 1e-10


@dataclass(frozen=True)
class PivotedCholesky:
    r"""Result of :func:`pivoted_cholesky`: :math:`K \approx Z Z^\top`.

    Attributes
    ----------
    factor : ndarray of shape (n_samples, rank)
        Z. Its rows at `pivots` form a lower triangular matrix.
    pivots : ndarray of shape (rank,)
        Rows of K in the order in which they were chosen.
    residual : float
        Share of the trace of K that the factor leaves out.
    converged : bool
        Whether `residual` reached the tolerance. Otherwise `n_components` was
        reached, or only rounding errors were left to choose from.
    """

    factor: NDArray[Any]
    pivots: NDArray[np.intp]
    residual: float
    converged: bool


def pivoted_cholesky(
    gram: GramOperator, *, n_components: int | None = None, tol: float = 1e-6
) -> PivotedCholesky:
    r"""Factor a psd matrix greedily until little of its trace is left.

    Every step takes the row with the largest remaining diagonal entry, reads that one
    column of K and subtracts what the factor explains of it. No more than n x rank
    numbers are held, and only `rank` columns of K are ever computed.

    .. math::
        \operatorname{tr}(K - Z Z^\top) \le \mathrm{tol} \cdot \operatorname{tr}(K)

    Parameters
    ----------
    gram : GramOperator
        The matrix; :class:`TiledGram` computes columns on demand.
    n_components : int, default=None
        Largest rank; n_samples when None. Memory is taken as the rank grows.
    tol : float, default=1e-6
        Share of the trace that may be left out; 0 continues until only rounding errors
        are left.

    Returns
    -------
    result : PivotedCholesky
        Factor, pivots and what is left.

    References
    ----------
    .. [1] H. Harbrecht, M. Peters, R. Schneider, "On the low-rank approximation by the
       pivoted Cholesky decomposition", Applied Numerical Mathematics 62 (2012).
       :doi:`10.1016/j.apnum.2011.10.001`

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.kernels import TiledGram, pivoted_cholesky
    >>> X = np.linspace(0, 1, 200)[:, None]
    >>> result = pivoted_cholesky(TiledGram(X, "rbf", gamma=1.0), tol=1e-8)
    >>> result.factor.shape[1] < 10, result.converged
    (True, True)
    """
    if not isinstance(gram, GramOperator):
        raise TypeError(
            f"gram must be a Gram operator, got {type(gram).__name__}: wrap a matrix "
            "as DenseGram(K)."
        )
    if n_components is not None and n_components < 1:
        raise ValueError(f"n_components must be at least 1, got {n_components}.")
    if not tol >= 0:
        raise ValueError(f"tol must not be negative, got {tol}.")
    n = gram.shape[0]
    limit = n if n_components is None else min(n_components, n)
    residual = gram.diagonal().astype(np.float64)
    trace = residual.sum()
    # Below this a diagonal entry is the rounding error of earlier subtractions.
    largest = np.abs(residual).max(initial=0.0)
    floor = 10 * float(np.finfo(gram.dtype).eps) * largest
    # A matrix may come from lower precision than it is stored in: what the tolerance
    # forgives is no sign of a matrix that is not psd.
    forgiven = min(tol, 1e-4) * largest
    pivots = np.empty(limit, dtype=np.intp)
    # Column k of the factor is row k here: contiguous, and growing the array by rows
    # extends it in place instead of holding two copies.
    Zt = np.empty((0, n), dtype=gram.dtype)
    rank = 0
    while True:
        # Of a psd matrix, what is left is psd: a diagonal below zero is rounding, which
        # grows with the number of subtractions, or no kernel.
        if residual.min(initial=0.0) < -max((rank + 1) * floor, forgiven):
            raise ValueError(indefinite_kernel(", so it has no such factor"))
        np.maximum(residual, 0, out=residual)
        left = residual.sum()
        pivot = int(np.argmax(residual))
        # Where only rounding errors are left, no further pivot can be trusted.
        exhausted = bool(residual[pivot] <= floor)
        converged = bool(left <= tol * trace) or (tol == 0 and exhausted)
        if converged or exhausted or rank == limit:
            break
        if rank == Zt.shape[0]:
            Zt.resize((min(rank + _GROWTH, limit), n), refcheck=False)
        column = gram.columns([pivot])[:, 0] - Zt[:rank, pivot] @ Zt[:rank]
        column[pivots[:rank]] = 0  # exactly, so that the pivot rows are triangular
        root = np.sqrt(residual[pivot])
        column /= root
        column[pivot] = root
        Zt[rank] = column
        pivots[rank] = pivot
        rank += 1
        residual -= column.astype(np.float64) ** 2
        residual[pivot] = 0
    Zt.resize((rank, n), refcheck=False)
    share = float(left / trace) if trace > 0 else 0.0
    return PivotedCholesky(Zt.T, pivots[:rank].copy(), share, converged)


def ridge_leverage_scores(
    columns: NDArray[Any],
    indices: NDArray[np.intp],
    diagonal: NDArray[Any],
    alpha: float,
) -> NDArray[Any]:
    r"""Estimate the ridge leverage scores of all rows from some columns of K.

    .. math:: \tau_i = \bigl[K (K + \alpha I)^{-1}\bigr]_{ii}

    A row with a high score is poorly explained by the others and worth having as a
    landmark. With s of n columns S, drawn uniformly, the estimate is

    .. math::
        \tilde\tau_i = \frac{1}{\alpha} \Bigl( k_{ii} - k_{iS}
        \bigl(K_{SS} + \tfrac{s}{n} \alpha I\bigr)^{-1} k_{Si} \Bigr)

    which is exact for S = all rows.

    Parameters
    ----------
    columns : ndarray of shape (n_samples, n_columns)
        The columns K[:, indices].
    indices : ndarray of shape (n_columns,)
        Which columns.
    diagonal : ndarray of shape (n_samples,)
        Diagonal of K.
    alpha : float
        The ridge :math:`\alpha > 0`.

    Returns
    -------
    scores : ndarray of shape (n_samples,)
        Numbers in [0, 1].

    References
    ----------
    .. [1] C. Musco, C. Musco, "Recursive sampling for the Nyström method", NeurIPS
       (2017).

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.kernels import ridge_leverage_scores
    >>> Z = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    >>> K = Z @ Z.T
    >>> ridge_leverage_scores(K, np.arange(3), np.diag(K), alpha=1.0).round(3)
    array([0.333, 0.333, 0.5  ])
    """
    if not alpha > 0:
        raise ValueError(f"alpha must be positive, got {alpha}.")
    n, s = columns.shape
    A = columns[indices].astype(np.float64)
    A.flat[:: s + 1] += alpha * s / n
    half = linalg.solve_triangular(
        linalg.cholesky(A, lower=True), columns.T, lower=True, check_finite=False
    )
    explained = np.einsum("ij,ij->j", half, half)
    return np.clip((diagonal - explained) / alpha, 0, 1)


def _uniform(
    X: Any, kernel: Kernel, n_landmarks: int, rng: np.random.RandomState
) -> NDArray[np.intp]:
    return rng.choice(X.shape[0], size=n_landmarks, replace=False)


def _leverage(
    X: Any, kernel: Kernel, n_landmarks: int, rng: np.random.RandomState
) -> NDArray[np.intp]:
    """Rows drawn by their leverage scores, estimated from uniform rows."""
    n = X.shape[0]
    pilot = _uniform(X, kernel, min(2 * n_landmarks, n), rng)
    C = _kernel_columns(X, kernel, pilot)
    spectrum = linalg.eigvalsh(C[pilot].astype(np.float64)) * (n / pilot.size)
    noise = pilot.size * float(np.finfo(C.dtype).eps) * np.abs(spectrum).max()
    if spectrum[0] < -100 * noise:
        raise ValueError(
            "landmarks='leverage' needs a positive semidefinite kernel: use another "
            "kernel or landmarks='uniform'."
        )
    # A random draw covers a space of about a quarter as many dimensions as it has rows.
    ridge = _ridge_of_dimension(np.maximum(spectrum, 0), n_landmarks / 4, noise)
    if ridge == 0:  # a kernel matrix of zeros
        return pilot[:n_landmarks]
    scores = ridge_leverage_scores(C, pilot, kernel.diagonal(X), ridge)
    scores += 1e-3 * scores.mean() + np.finfo(float).tiny  # every row keeps a chance
    p = scores / scores.sum()
    return rng.choice(n, size=n_landmarks, replace=False, p=p)


def _ridge_of_dimension(
    spectrum: NDArray[Any], dimension: float, smallest: float
) -> float:
    """Solve sum(e / (e + ridge)) = dimension for the ridge; 0 without a spectrum."""
    largest = float(np.max(spectrum, initial=0.0))
    if largest == 0:
        return 0.0

    def excess(log_ridge: float) -> float:
        return float(np.sum(spectrum / (spectrum + np.exp(log_ridge)))) - dimension

    low = np.log(10 * smallest)
    high = np.log(largest * (spectrum.size / dimension + 1))
    return float(np.exp(brentq(excess, low, high) if excess(low) > 0 else low))


def _kmeans(
    X: Any, kernel: Kernel, n_landmarks: int, rng: np.random.RandomState
) -> NDArray[Any]:
    if kernel.is_precomputed:
        raise ValueError(
            "landmarks='kmeans' needs the rows themselves; with kernel='precomputed' "
            "use landmarks='uniform' or 'leverage'."
        )
    from sklearn.cluster import KMeans  # slow to import, and rarely needed

    with warnings.catch_warnings():
        # Fewer distinct rows than clusters: the copies are merged below.
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = KMeans(n_landmarks, n_init=1, max_iter=20, random_state=rng).fit(X)
    return np.unique(model.cluster_centers_, axis=0)


_LANDMARKS: dict[str, Callable[..., NDArray[Any]]] = {
    "uniform": _uniform,
    "kmeans": _kmeans,
    "leverage": _leverage,
}


def _kernel_columns(X: Any, kernel: Kernel, indices: NDArray[np.intp]) -> NDArray[Any]:
    """Columns of the kernel matrix of X, which X is already if precomputed."""
    if kernel.is_precomputed:
        return X[:, indices]
    return kernel(X, X[indices])


class _LowRankFeatures(
    ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator
):
    """What the two feature maps share: kernel, landmarks and `transform`.

    z(x) = k(x, landmarks) @ map, where `_map_features` knows the map.
    """

    kernel: Any
    gamma: Any
    kernel_params: dict[str, Any] | None
    landmarks_: Any

    def _resolve_kernel(self, X: Any) -> Kernel:
        if is_precomputed(self.kernel) and X.shape[0] != X.shape[1]:
            raise ValueError(
                "kernel='precomputed' needs a square kernel matrix X in fit, got shape "
                f"{X.shape}."
            )
        return resolve_kernel(
            X,
            self.kernel,
            gamma=self.gamma,
            kernel_params=self.kernel_params,
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
        check_is_fitted(self)
        X = validate_data(
            self, X, accept_sparse=self._accept_sparse(), dtype=FLOATS, reset=False
        )
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
        Number of landmarks; cut to n_samples.
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
        is 1e-10, or n_landmarks times the machine precision if that is more: features
        of smaller ones would have too few digits for rows that are no landmarks.
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
        "landmarks": [StrOptions(set(_LANDMARKS))],
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
        chosen = _LANDMARKS[self.landmarks](X, self.kernel_, n_landmarks, rng)
        self._keep_landmarks(X, chosen)
        if self.kernel_.is_precomputed:
            K_RR = X[np.ix_(chosen, chosen)]
        else:
            K_RR = self.kernel_(self.landmarks_)
        noise = n_landmarks * float(np.finfo(K_RR.dtype).eps)
        tol = max(_TOL, noise) if self.tol is None else self.tol
        M = inverse_square_root(K_RR, rank=self.n_components, tol=tol)
        # Eigenvectors have no sign of their own: rounding errors shall not choose it.
        largest = M[np.argmax(np.abs(M), axis=0), np.arange(M.shape[1])]
        self.normalization_ = np.where(largest < 0, -M, M)
        return self

    def _map_features(self, C: NDArray[Any]) -> NDArray[Any]:
        return C @ self.normalization_

    @property
    def _n_features_out(self) -> int:
        return self.normalization_.shape[1]


class PivotedCholeskyFeatures(_LowRankFeatures):
    r"""Features by pivoted Cholesky, as many as a tolerance requires.

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
