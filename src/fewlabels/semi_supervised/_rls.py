"""Kernel regularised least squares: the supervised baseline for comparisons."""

# SPDX-License-Identifier: BSD-3-Clause

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import linalg, sparse

from fewlabels._classifier import as_decision
from fewlabels._labels import (
    relative_weights,
    signed_targets,
    validate_partially_labeled,
)
from fewlabels._linalg import FLOATS, semidefinite_eigh
from fewlabels._rows import check_square_kernel, dense_if_small
from fewlabels._sklearn import Interval, StrOptions, check_sample_weight, fit_context
from fewlabels.kernels import (
    KERNEL_CONSTRAINTS,
    check_semidefinite,
    is_precomputed,
    resolve_kernel,
)
from fewlabels.semi_supervised._kernel_estimator import KernelClassifier

# The grid of the papers.
ALPHA_GRID = 2.0 ** np.arange(-10, 11)

# If one row is r times as far away as the others, their features have an error of r
# roundings, which its own left-out output multiplies by r: this leaves 8 digits.
FAR = 1e4


@dataclass(frozen=True)
class RLSSolution:
    """Kernel regularised least squares at one value of the regularisation.

    Attributes
    ----------
    alpha : float
        The regularisation.
    dual_coef : ndarray of shape (n_samples, n_targets)
        Coefficients c of f(x) = sum_i c_i k(x, x_i) + b.
    intercept : ndarray of shape (n_targets,)
        The bias b, zero if none was fitted.
    loo_outputs : ndarray of shape (n_samples, n_targets)
        Output for every row of the model trained without that row; NaN if no row
        would be left.
    log_evidence : ndarray of shape (n_targets,)
        Logarithm of the evidence of every column of targets, see :func:`rls_path`;
        NaN if the bias explains the targets.
    coef : ndarray of shape (n_features, n_targets) or None
        Coefficients W of f(x) = x W + b, if features were given.
    """

    alpha: float
    dual_coef: NDArray[Any]
    intercept: NDArray[Any]
    loo_outputs: NDArray[Any]
    log_evidence: NDArray[Any]
    coef: NDArray[Any] | None = None


def rls_path(
    K: ArrayLike,
    Y: ArrayLike,
    alphas: Sequence[float] | NDArray[Any],
    *,
    fit_intercept: bool = True,
    sample_weight: ArrayLike | None = None,
    is_factor: bool = False,
) -> list[RLSSolution]:
    r"""Solve kernel regularised least squares for a whole path of regularisations.

    .. math::
        \min_{f, b} \; \frac{1}{\sum_i w_i} \sum_i w_i \, (y_i - f(x_i) - b)^2
        + \lambda \|f\|_K^2

    One eigendecomposition of the (weighted) kernel matrix serves all values of
    :math:`\lambda` and all leave-one-out outputs. Up to rounding errors, these equal a
    new fit without the row at the same :math:`\lambda`: with coefficients
    :math:`c = P y`, the residual of a left-out row is :math:`c_i / P_{ii}`, taken at
    the ridge :math:`\lambda \sum_{j \ne i} w_j` of the smaller problem. With
    `is_factor`, rows far from all others are left out by a new fit, since for them this
    quotient has no correct digits.

    The same eigendecomposition gives the evidence. Least squares is the posterior mean
    of a Gaussian process, :math:`y \sim N(b 1, \sigma^2 A)` with
    :math:`A = K + \lambda (\sum_i w_i) W^{-1}`, and with :math:`\sigma^2` at its most
    likely value, for m rows and no bias,

    .. math::
        \log p(y) = -\tfrac{m}{2} \left( 1 + \log 2 \pi
        + \log \tfrac{y^\top A^{-1} y}{m} \right) - \tfrac{1}{2} \log |A|

    A bias has a flat prior: the evidence is then that of the m = n - 1 contrasts that
    do not contain it ("restricted" likelihood).

    Parameters
    ----------
    K : array-like of shape (n_samples, n_samples) or (n_samples, n_features)
        Symmetric positive semidefinite kernel matrix; others are refused, see
        :func:`fewlabels.kernels.check_semidefinite`. With `is_factor`, the features.
    Y : array-like of shape (n_samples, n_targets)
        Targets, one column per problem.
    alphas : sequence of float
        Positive values of :math:`\lambda`.
    fit_intercept : bool, default=True
        Whether to add a bias that is not penalised.
    sample_weight : array-like of shape (n_samples,), default=None
        Positive weights; all one when None.
    is_factor : bool, default=False
        Whether K holds features, to be used with a linear kernel. Their singular
        values have twice the digits of the eigenvalues of the kernel matrix, which is
        needed for large rows that differ little, or only by one outlier.

    Returns
    -------
    path : list of RLSSolution
        One solution per value, in the order of `alphas`.

    References
    ----------
    .. [1] R. Rifkin, R. Lippert, "Notes on regularized least squares",
       MIT-CSAIL-TR-2007-025 (2007).
    .. [2] C. E. Rasmussen, C. K. I. Williams, "Gaussian processes for machine
       learning", MIT Press (2006), chapter 5.

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.semi_supervised import rls_path
    >>> K = np.array([[1.0, 0.5], [0.5, 1.0]])
    >>> path = rls_path(K, [[1.0], [-1.0]], alphas=[0.1, 1.0])
    >>> [solution.dual_coef.round(3).ravel().tolist() for solution in path]
    [[1.429, -1.429], [0.4, -0.4]]
    """
    given = np.asarray(K)
    K = np.asarray(given, dtype=np.float64)
    Y = np.asarray(Y, dtype=np.float64)
    alphas = np.asarray(alphas, dtype=np.float64)
    n = K.shape[0]
    square = K.shape == (n, n) or (is_factor and K.ndim == 2)
    if not square or Y.ndim != 2 or Y.shape[0] != n:
        raise ValueError(
            f"K must be square and Y have one row per row of K; got shapes {K.shape} "
            f"and {Y.shape}."
        )
    w = np.ones(n) if sample_weight is None else np.asarray(sample_weight, float)
    if w.shape != (n,) or not np.all((w > 0) & np.isfinite(w)):
        raise ValueError(
            "sample_weight must hold one positive number per row; drop rows of weight "
            "zero."
        )
    if not np.all((alphas > 0) & np.isfinite(alphas)):
        raise ValueError(f"alphas must be positive numbers, got {alphas}.")
    if not np.isfinite(K).all():
        raise ValueError(
            "The kernel matrix holds infinite values or NaN: scale the rows, or use "
            "another kernel (a fractional degree needs non-negative products)."
        )
    if not is_factor:
        check_semidefinite(
            given.astype(np.float64) if given.dtype.kind != "f" else given
        )
    path = _path(K, Y, alphas, w, fit_intercept, is_factor)
    far = (
        _far_rows(K, fit_intercept, alphas.min(initial=np.inf) * w.sum())
        if is_factor
        else ()
    )
    for i in far:
        rest = np.arange(n) != i
        without = _path(K[rest], Y[rest], alphas, w[rest], fit_intercept, is_factor)
        for solution, other in zip(path, without, strict=True):
            solution.loo_outputs[i] = K[i] @ other.coef + other.intercept
    return path


def _far_rows(F: NDArray[Any], fit_intercept: bool, ridge: float) -> NDArray[np.intp]:
    """Find rows so far away that the others lose digits, at most half of all.

    The ridge is the square of a length, below which no feature counts.
    """
    center = np.median(F, axis=0) if fit_intercept else 0.0
    lengths = np.linalg.norm(F - center, axis=1)
    far = lengths > FAR * max(float(np.median(lengths)), np.sqrt(ridge))
    return np.flatnonzero(far)


def _path(
    K: NDArray[Any],
    Y: NDArray[Any],
    alphas: NDArray[Any],
    w: NDArray[Any],
    fit_intercept: bool,
    is_factor: bool,
) -> list[RLSSolution]:
    """Solve for all regularisations by one decomposition."""
    n = K.shape[0]
    # Scaling rows by sqrt(w) turns the weighted problem into a plain one:
    # (R K R + ridge I) a = R (y - b 1) and c = R a with R = diag(sqrt(w)). The optimal
    # bias makes a orthogonal to sqrt(w): work in that complement.
    root = np.sqrt(w)[:, None]
    direction = root[:, 0] if fit_intercept else None
    if is_factor:
        center = w @ K / w.sum() if fit_intercept else np.zeros(K.shape[1])
        e, U, s, Vt = _svd_in_complement(root * (K - center), direction)
    else:
        e, U = _eigh_in_complement(root * K * root.T, direction)
    T = U.T @ (root * Y)
    others = _sums_of_others(w)[:, None]
    path = []
    for alpha in alphas:
        ridge = alpha * w.sum()
        dual_coef = root * (U @ (T / (e + ridge)[:, None]))
        coef = None
        if is_factor:
            coef = Vt.T @ (T[: s.size] * (s / (s**2 + ridge))[:, None])
            outputs = K @ coef
        else:
            outputs = K @ dual_coef
        b = w @ (Y - outputs) / w.sum() if fit_intercept else np.zeros(Y.shape[1])
        loo = Y - _left_out_residuals(U, T, e, alpha * others) / root
        evidence = _log_evidence(T, e + ridge, np.square(root * Y).sum(axis=0))
        # The density of Y, not of its scaled rows, and of contrasts of unit length.
        evidence += np.log(root).sum()
        if fit_intercept:
            evidence += 0.5 * np.log(n / w.sum())
        path.append(RLSSolution(float(alpha), dual_coef, b, loo, evidence, coef))
    return path


def _log_evidence(
    T: NDArray[Any], variances: NDArray[Any], squares: NDArray[Any]
) -> NDArray[Any]:
    """Log density of independent normal rows of T, at the most likely common scale."""
    m = variances.size
    misfit = (T**2 / variances[:, None]).sum(axis=0)
    # Targets explained by the bias, such as a single class, carry no evidence.
    nothing = (T**2).sum(axis=0) <= 1e-20 * squares
    scale = np.where(nothing, np.nan, misfit) / max(m, 1)
    return -0.5 * (m * (1 + np.log(2 * np.pi * scale)) + np.log(variances).sum())


def _reflector(direction: NDArray[Any]) -> NDArray[Any]:
    """Return v such that I - 2 v v' reflects a direction to the first axis."""
    v = direction / np.linalg.norm(direction)
    v[0] += np.copysign(1.0, v[0])
    return v / np.linalg.norm(v)


def _reflected_back(v: NDArray[Any], V: NDArray[Any]) -> NDArray[Any]:
    """Undo the reflection of vectors that are orthogonal to the first axis."""
    U = np.vstack([np.zeros((1, V.shape[1])), V])
    return U - 2.0 * np.outer(v, v[1:] @ V)


def _eigh_in_complement(
    A: NDArray[Any], direction: NDArray[Any] | None
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Eigenpairs of a psd matrix among the vectors orthogonal to a direction."""
    if direction is None:
        return semidefinite_eigh(A)
    v = _reflector(direction)
    Av = A @ v
    shift = 2.0 * (Av - (v @ Av) * v)
    reflected = A - np.outer(v, shift) - np.outer(shift, v)  # from both sides
    e, V = semidefinite_eigh(reflected[1:, 1:])
    return e, _reflected_back(v, V)


def _svd_in_complement(
    F: NDArray[Any], direction: NDArray[Any] | None
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Eigenpairs of F F' in the complement, and singular values and vectors of F."""
    v = None if direction is None else _reflector(direction)
    if v is not None:
        F = (F - 2.0 * np.outer(v, v @ F))[1:]
    m, p = F.shape
    U, s, Vt = linalg.svd(F, full_matrices=p < m, check_finite=False)
    e = np.zeros(m)
    e[: s.size] = s**2
    return e, U if v is None else _reflected_back(v, U), s, Vt[: s.size]


def _sums_of_others(w: NDArray[Any]) -> NDArray[Any]:
    """Sum of the weights of all other rows, without subtracting."""
    before = np.concatenate([[0.0], np.cumsum(w)[:-1]])
    after = np.concatenate([np.cumsum(w[::-1])[::-1][1:], [0.0]])
    return before + after


def _left_out_residuals(
    U: NDArray[Any], T: NDArray[Any], e: NDArray[Any], ridges: NDArray[Any]
) -> NDArray[Any]:
    """Return a_i / P_ii with P = U diag(1 / (e + ridge_i)) U', for every row i."""
    if ridges.size == 1:
        return np.full((1, T.shape[1]), np.nan)  # no row is left to learn from
    D = 1.0 / (e + ridges[:1]) if np.ptp(ridges) == 0 else 1.0 / (e + ridges)
    UD = U * D
    return UD @ T / np.einsum("ij,ij->i", UD, U)[:, None]


class RLSClassifier(KernelClassifier):
    r"""Kernel regularised least-squares classifier, the supervised baseline.

    It learns only from the labelled rows, so that a comparison with a semi-supervised
    method can pass the same `X` and `y` to both. For every class (only one of two
    classes) it solves, over the l labelled rows,

    .. math::
        \min_{f, b} \; \frac{1}{l} \sum_{i=1}^{l} (y_i - f(x_i) - b)^2
        + \lambda \|f\|_K^2, \qquad y_i \in \{-1, +1\}

    Parameters
    ----------
    alpha : float, array-like of float or "auto", default="auto"
        The regularisation :math:`\lambda`. Among several values, the one with the
        smallest squared leave-one-out error is chosen, from one eigendecomposition;
        "auto" means 2^-10, ..., 2^10.
    kernel : str, callable or GP kernel, default="rbf"
        See :func:`fewlabels.kernels.resolve_kernel`; with "precomputed", `X` is the
        kernel matrix between rows and all training rows, unlabelled ones included.
    gamma : float, {"scale", "median", "range", "local"} or None, default="scale"
        See :func:`fewlabels.kernels.resolve_kernel`; rules look at labelled rows only.
    kernel_params : dict, default=None
        Further parameters of the kernel: `degree` and `coef0` of a named one, keywords
        of a callable.
    fit_intercept : bool, default=True
        Whether to add the bias b. The papers on S2RLSC do without it.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes, without the marker for unlabelled rows.
    transduction_ : ndarray of shape (n_samples,)
        A label for every training row: given or predicted.
    alpha_ : float
        The regularisation used.
    dual_coef_ : ndarray of shape (n_labeled, n_targets)
        Coefficients of the labelled rows, n_targets = 1 for up to two classes.
    coef_ : ndarray of shape (n_targets, n_features)
        Coefficients of the features, for a linear kernel; None for other kernels, and
        for sparse rows too large to be made dense.
    intercept_ : ndarray of shape (n_targets,)
        The bias.
    loo_outputs_ : ndarray of shape (n_labeled,) or (n_labeled, n_classes)
        For every labelled row, the decision value of the model trained without it.
    loo_path_ : ndarray of shape (n_alphas, 2)
        Every value of `alpha` tried and its mean squared leave-one-out error.
    log_evidence_ : float
        Logarithm of the evidence, summed over the targets, see :func:`rls_path`.
    labeled_indices_ : ndarray of shape (n_labeled,)
        The labelled rows.
    X_fit_ : {ndarray, sparse matrix} of shape (n_labeled, n_features)
        The labelled rows themselves; None for a precomputed kernel.
    kernel_ : Kernel
        The kernel with its parameters as numbers.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, where `X` had any.

    See Also
    --------
    rls_path : The solver.
    sklearn.kernel_ridge.KernelRidge : The same objective for regression, with alpha
        equal to alpha times the number of rows and no bias.

    References
    ----------
    .. [1] R. Rifkin, G. Yeo, T. Poggio, "Regularized least-squares classification",
       in Advances in Learning Theory (2003).

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from fewlabels.datasets import hide_labels
    >>> from fewlabels.semi_supervised import RLSClassifier
    >>> X, y_true = make_moons(200, noise=0.1, random_state=0)
    >>> y = hide_labels(y_true, n_labeled=40, random_state=0)  # -1 = unlabelled
    >>> model = RLSClassifier(gamma=2.0).fit(X, y)
    >>> model.classes_
    array([0, 1])
    >>> bool(model.score(X, y_true) > 0.95)
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **KERNEL_CONSTRAINTS,
        "alpha": [
            StrOptions({"auto"}),
            Interval(Real, 0, None, closed="neither"),
            "array-like",
        ],
        "fit_intercept": ["boolean"],
    }

    def __init__(
        self,
        alpha: Any = "auto",
        *,
        kernel: Any = "rbf",
        gamma: float | str | None = "scale",
        kernel_params: dict[str, Any] | None = None,
        fit_intercept: bool = True,
    ) -> None:
        self.alpha = alpha
        self.kernel = kernel
        self.gamma = gamma
        self.kernel_params = kernel_params
        self.fit_intercept = fit_intercept

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit on the labelled rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training rows; the square kernel matrix for kernel="precomputed".
        y : array-like of shape (n_samples,)
            Labels; -1 among integers, NaN among floats, and None or NaN among objects
            mark unlabelled rows.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows; those of unlabelled rows do not matter.

        Returns
        -------
        self : object
            The fitted classifier.
        """
        X, labels = validate_partially_labeled(
            self, X, y, accept_sparse="csr", dtype=FLOATS
        )
        rows, weights = _weighted_rows(labels.labeled, sample_weight, X)
        self.classes_ = labels.classes
        self.labeled_indices_ = rows
        # Products of outlying rows have no correct digits in single precision.
        self.X_fit_ = (
            None
            if is_precomputed(self.kernel)
            else X[rows].astype(np.float64, copy=False)
        )
        self.kernel_ = resolve_kernel(
            self.X_fit_, self.kernel, gamma=self.gamma, kernel_params=self.kernel_params
        )
        linear = self.kernel_.metric == "linear"
        K = dense_if_small(self.X_fit_) if linear else self._labeled_block(X)
        is_factor = linear and not sparse.issparse(K)
        if is_factor:
            self.kernel_.diagonal(K)  # refuses rows whose products overflow
        elif linear:
            K = self._labeled_block(X)
        Y = signed_targets(labels.codes[rows], labels.classes.size)
        path = rls_path(
            K,
            Y,
            self._alphas(),
            fit_intercept=self.fit_intercept,
            sample_weight=weights,
            is_factor=is_factor,
        )
        self._keep_best(path, Y, weights)
        self.transduction_ = self._transduction(X, labels)
        return self

    def _labeled_block(self, X: Any) -> NDArray[Any]:
        """Kernel matrix of the labelled rows."""
        if not self.kernel_.is_precomputed:
            return self.kernel_(self.X_fit_)
        check_square_kernel(X)
        K = X[self.labeled_indices_][:, self.labeled_indices_]
        return K.toarray() if sparse.issparse(K) else K

    def _alphas(self) -> NDArray[Any]:
        if isinstance(self.alpha, str):
            return ALPHA_GRID
        alphas = np.atleast_1d(np.asarray(self.alpha, dtype=np.float64))
        if alphas.ndim != 1 or alphas.size == 0 or not np.all(alphas > 0):
            raise ValueError(
                f"alpha must be a positive number, a 1-d array of them or 'auto', got "
                f"{self.alpha!r}."
            )
        return alphas

    def _keep_best(
        self, path: list[RLSSolution], Y: NDArray[Any], weights: NDArray[Any] | None
    ) -> None:
        """Store the solution with the smallest squared leave-one-out error."""
        alphas = np.array([solution.alpha for solution in path])
        errors = np.array(
            [
                np.average(np.mean((s.loo_outputs - Y) ** 2, axis=1), weights=weights)
                for s in path
            ]
        )
        # Take the smoothest among equals, or if a single row leaves nothing to compare.
        ranking = np.lexsort((-alphas, np.nan_to_num(errors, nan=np.inf)))
        best = path[ranking[0]]
        self.loo_path_ = np.column_stack([alphas, errors])
        self.alpha_ = best.alpha
        self.dual_coef_ = best.dual_coef
        self.coef_ = None if best.coef is None else best.coef.T
        self.intercept_ = best.intercept
        self.loo_outputs_ = as_decision(best.loo_outputs)
        self.log_evidence_ = float(best.log_evidence.sum())

    def _decision(self, X: Any) -> NDArray[Any]:
        if self.coef_ is not None:
            return as_decision(X @ self.coef_.T + self.intercept_)
        if self.kernel_.is_precomputed:
            X = X[:, self.labeled_indices_]
        outputs = self.kernel_.product(X, self.X_fit_, self.dual_coef_)
        return as_decision(outputs + self.intercept_)


def _weighted_rows(
    rows: NDArray[np.intp], sample_weight: ArrayLike | None, X: Any
) -> tuple[NDArray[np.intp], NDArray[Any] | None]:
    """Labelled rows that count, and their weights."""
    if sample_weight is None:
        return rows, None
    weights = np.asarray(sample_weight)
    if weights.shape == (X.shape[0],):
        weights = weights[rows]  # weights of unlabelled rows do not matter
        X = X[rows]
        if not weights.any():
            raise ValueError(
                "sample_weight is zero on every labelled row: give at least one a "
                "positive weight."
            )
    weights = check_sample_weight(weights, X, ensure_non_negative=True)
    positive = weights > 0
    return rows[positive], relative_weights(weights[positive])
