"""Canonical correlations: pairs of directions in two views that correlate."""

# SPDX-License-Identifier: BSD-3-Clause

import warnings
from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
)
from sklearn.utils import Tags, check_consistent_length
from sklearn.utils.validation import check_is_fitted

from fewlabels._linalg import FLOATS, deviations, inverse_square_root, thin_svd
from fewlabels._sklearn import (
    Interval,
    StrOptions,
    check_array,
    fit_context,
    validate_data,
)


class CanonicalPairs(NamedTuple):
    """Weights of two views, in pairs.

    Attributes
    ----------
    x_weights : ndarray of shape (n_features_x, n_pairs)
        Weights of the first view, or coefficients of its rows for a kernel.
    y_weights : ndarray of shape (n_features_y, n_pairs)
        Weights of the second view.
    correlations : ndarray of shape (n_pairs,)
        What the pairs were chosen by, the largest first; without regularisation, the
        correlation between the two scores of a pair.
    """

    x_weights: NDArray[np.float64]
    y_weights: NDArray[np.float64]
    correlations: NDArray[np.float64]


def _views(X: Any, Y: Any) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
    """Validate two views and centre their columns; say how exact they are."""
    views, eps = [], 0.0
    for V, name in ((X, "X"), (Y, "Y")):
        V = check_array(V, dtype=FLOATS, ensure_min_samples=2, input_name=name)
        eps = max(eps, float(np.finfo(V.dtype).eps))
        views.append(deviations(V, V.mean(axis=0, dtype=np.float64)))
    check_consistent_length(*views)
    return views[0], views[1], eps


def _orient(x_weights: NDArray[Any], y_weights: NDArray[Any]) -> None:
    """Fix the sign of every pair by its first view, in place."""
    largest = np.argmax(np.abs(x_weights), axis=0)
    signs = np.sign(x_weights[largest, np.arange(x_weights.shape[1])])
    signs[signs == 0] = 1
    x_weights *= signs
    y_weights *= signs


def pairs_from_factors(
    x_factor: tuple[NDArray[Any], NDArray[Any], NDArray[Any]],
    y_factor: tuple[NDArray[Any], NDArray[Any], NDArray[Any]],
    alpha: float,
) -> CanonicalPairs:
    r"""Solve canonical correlation analysis from the singular values of both views.

    With scores :math:`Z = U \operatorname{diag}(s) C` for coefficients C, and the
    constraint :math:`C^\top (S^2 + \kappa) C = I`, the pairs are the singular vectors
    of :math:`D_x U_x^\top U_y D_y` with :math:`D = S (S^2 + \kappa)^{-1/2}`.

    Parameters
    ----------
    x_factor, y_factor : tuples (U, s, Vt)
        Left singular vectors as columns, positive singular values, and the transpose of
        the matrix that turns coefficients C into weights.
    alpha : float
        The regularisation :math:`\kappa`.

    Returns
    -------
    pairs : CanonicalPairs
        As many as the smaller rank.
    """
    (U_x, s_x, Vt_x), (U_y, s_y, Vt_y) = x_factor, y_factor
    # hypot(s, sqrt(alpha)) = sqrt(s^2 + alpha), without the loss of squaring.
    r_x, r_y = np.hypot(s_x, np.sqrt(alpha)), np.hypot(s_y, np.sqrt(alpha))
    cross = (s_x / r_x)[:, None] * (U_x.T @ U_y) * (s_y / r_y)
    L, correlations, Rt = linalg.svd(cross, full_matrices=False, check_finite=False)
    x_weights, y_weights = (Vt_x.T / r_x) @ L, (Vt_y.T / r_y) @ Rt.T
    _orient(x_weights, y_weights)
    return CanonicalPairs(x_weights, y_weights, np.clip(correlations, 0, 1))


def cca_svd(X: Any, Y: Any, *, alpha: float = 0.0) -> CanonicalPairs:
    r"""Find canonical correlations by two SVDs, and a third between them.

    With the centred views :math:`X = U_x S_x V_x^\top`, :math:`Y = U_y S_y V_y^\top`
    and :math:`U_x^\top U_y = U R V^\top`, the weights are
    :math:`A = V_x S_x^{-1} U` and :math:`B = V_y S_y^{-1} V`: the scores have
    :math:`(XA)^\top XA = I`, :math:`(YB)^\top YB = I` and :math:`(XA)^\top YB = R`. The
    correlations R are the cosines of the principal angles between the column spaces.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features_x)
        Rows in the first view. Features that depend on each other do no harm.
    Y : array-like of shape (n_samples, n_features_y)
        The same rows in the second view.
    alpha : float, default=0.0
        Ridge :math:`\kappa`: the constraint becomes
        :math:`A^\top (X^\top X + \kappa I) A = I`, and likewise for Y.

    Returns
    -------
    pairs : CanonicalPairs
        As many as the smaller rank of the two views.

    References
    ----------
    .. [1] Å. Björck, G. H. Golub, "Numerical methods for computing angles between
       linear subspaces", Mathematics of Computation 27 (1973).
       :doi:`10.1090/S0025-5718-1973-0348991-3`

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.decomposition import cca_svd
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(50, 3))
    >>> Y = np.column_stack([X[:, 0] + X[:, 1], rng.normal(size=50)])
    >>> cca_svd(X, Y).correlations.round(3)
    array([1.  , 0.22])
    """
    _check_alpha(alpha)
    X, Y, eps = _views(X, Y)
    return pairs_from_factors(thin_svd(X, eps), thin_svd(Y, eps), alpha)


def cca_eigen(X: Any, Y: Any, *, alpha: float = 0.0) -> CanonicalPairs:
    r"""Find canonical correlations by a generalised eigenproblem.

    .. math:: C_{xy} C_{yy}^{-1} C_{yx} w_x = \rho^2 C_{xx} w_x, \qquad
       w_y = \rho^{-1} C_{yy}^{-1} C_{yx} w_x

    with :math:`C_{xx} = X^\top X + \kappa I` and so on, of centred views. It squares
    the condition of the views: :func:`cca_svd` is more exact, this one faster where
    there are many more rows than features.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features_x)
        Rows in the first view. Features that depend on each other do no harm.
    Y : array-like of shape (n_samples, n_features_y)
        The same rows in the second view.
    alpha : float, default=0.0
        The ridge :math:`\kappa`.

    Returns
    -------
    pairs : CanonicalPairs
        As many as the smaller rank of the two views, scaled as those of
        :func:`cca_svd`.

    References
    ----------
    .. [1] D. R. Hardoon, S. Szedmak, J. Shawe-Taylor, "Canonical correlation analysis:
       an overview with application to learning methods", Neural Computation 16 (2004).
       :doi:`10.1162/0899766042321814`

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.decomposition import cca_eigen
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(50, 3))
    >>> Y = np.column_stack([X[:, 0] + X[:, 1], rng.normal(size=50)])
    >>> cca_eigen(X, Y).correlations.round(3)
    array([1.  , 0.22])
    """
    _check_alpha(alpha)
    X, Y, eps = _views(X, Y)
    # With M M' the pseudo-inverse of C_xx, w_x = M u makes it a symmetric problem
    # without C_xx, and a singular C_xx no problem. LAPACK errs by some units of the
    # largest eigenvalue in those that should be zero.
    M_x, M_y = (
        inverse_square_root(
            V.T @ V + alpha * np.eye(V.shape[1]), tol=8 * max(V.shape) * eps
        )
        for V in (X, Y)
    )
    T = M_y.T @ (Y.T @ X) @ M_x
    squares, Q = linalg.eigh(T.T @ T, check_finite=False)
    k = min(M_x.shape[1], M_y.shape[1])
    squares, Q = squares[::-1][:k], Q[:, ::-1][:, :k]
    correlations = np.sqrt(np.clip(squares, 0, 1))
    # Where the correlation is not above rounding, any direction of Y not yet taken is
    # as good as another: a QR decomposition supplies it.
    image = T @ Q
    R, upper = linalg.qr(image, mode="economic", check_finite=False)
    signs = np.where(np.diag(upper) < 0, -1.0, 1.0)
    x_weights, y_weights = M_x @ Q, M_y @ (R * signs)
    _orient(x_weights, y_weights)
    return CanonicalPairs(x_weights, y_weights, correlations)


def _check_alpha(alpha: float) -> None:
    if not 0 <= alpha < np.inf:
        raise ValueError(f"alpha must be a non-negative number, got {alpha}.")


class TwoViewTransformer(
    ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator
):
    """An estimator of two views: validation and tags.

    As in scikit-learn's CCA, the second view goes where the target of a supervised
    estimator would: ``fit(X, Y)`` and ``transform(X, Y)``.
    """

    n_components: int

    def _validate_views(self, X: Any, Y: Any) -> tuple[NDArray[Any], NDArray[Any]]:
        X, Y = validate_data(
            self,
            X,
            Y,
            dtype=FLOATS,
            multi_output=True,
            y_numeric=True,
            ensure_min_samples=2,
        )
        Y = np.asarray(Y, dtype=X.dtype)
        Y = Y.reshape(-1, 1) if Y.ndim == 1 else Y
        self.n_features_y_ = Y.shape[1]
        return X, Y

    def _check_n_components(self, X: NDArray[Any], Y: NDArray[Any]) -> None:
        most = min(X.shape[1], Y.shape[1])
        if self.n_components > most:
            raise ValueError(
                f"n_components={self.n_components} must be at most {most}: X has "
                f"n_features={X.shape[1]}, Y has {Y.shape[1]}."
            )

    def _validate_second(self, Y: Any) -> NDArray[Any]:
        Y = check_array(Y, dtype=FLOATS, ensure_2d=False, input_name="Y")
        Y = Y.reshape(-1, 1) if Y.ndim == 1 else Y
        if Y.shape[1] != self.n_features_y_:
            raise ValueError(
                f"Y has {Y.shape[1]} features, but {type(self).__name__} was fitted "
                f"with {self.n_features_y_}."
            )
        return Y

    def transform(self, X: Any, Y: Any = None) -> Any:
        """Compute the scores of rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows in the first view.
        Y : array-like of shape (n_samples, n_features_y), default=None
            Rows in the second view, not necessarily the same rows.

        Returns
        -------
        x_scores : ndarray of shape (n_samples, n_components)
            Scores of the first view.
        y_scores : ndarray of shape (n_samples, n_components)
            Scores of the second view, if `Y` is given: a pair is returned then.
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=FLOATS, reset=False)
        x_scores = self._x_scores(X)
        if Y is None:
            return x_scores
        return x_scores, self._y_scores(self._validate_second(Y))

    def _x_scores(self, X: NDArray[Any]) -> NDArray[Any]:
        raise NotImplementedError

    def _y_scores(self, Y: NDArray[Any]) -> NDArray[Any]:
        raise NotImplementedError

    @property
    def _n_features_out(self) -> int:
        return self.x_weights_.shape[1]

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def pad_pairs(pairs: CanonicalPairs, n_components: int, what: str) -> CanonicalPairs:
    """Keep the given number of pairs; where there are fewer, add zeros and warn."""
    found = pairs.correlations.size
    if found < n_components:
        warnings.warn(
            f"n_components={n_components}, but {what} leave only {found} pairs of "
            "directions: the other components are zero.",
            UserWarning,
            stacklevel=3,
        )
        width = ((0, 0), (0, n_components - found))
        return CanonicalPairs(
            np.pad(pairs.x_weights, width),
            np.pad(pairs.y_weights, width),
            np.pad(pairs.correlations, width[1]),
        )
    return CanonicalPairs(
        pairs.x_weights[:, :n_components],
        pairs.y_weights[:, :n_components],
        pairs.correlations[:n_components],
    )


def power_pls(X: Any, Y: Any, *, power: float = 1.0) -> CanonicalPairs:
    r"""Find pairs of directions between canonical correlations and components.

    With the centred views :math:`X = U_x S_x V_x^\top` and
    :math:`Y = U_y S_y V_y^\top`, the pairs solve

    .. math::
        \max_{a, b} \; a^\top X^\top Y b \quad \text{subject to} \quad
        a^\top (X^\top X)^{1 - p} a = b^\top (Y^\top Y)^{1 - p} b = 1,

    and again, orthogonal to the previous pairs in these two products. They are the
    singular vectors of :math:`S_x^p U_x^\top U_y S_y^p`. The power p decides how much
    the variance of the scores counts beside their correlation: p = 0 is canonical
    correlation analysis, p = 1 partial least squares, the largest covariance of
    directions of unit length, and as p grows, the first pair approaches the first
    principal components of the two views.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features_x)
        Rows in the first view. Features that depend on each other do no harm.
    Y : array-like of shape (n_samples, n_features_y)
        The same rows in the second view.
    power : float, default=1.0
        The power p, at least 0.

    Returns
    -------
    pairs : CanonicalPairs
        Weights of unit length, in the order of what is maximised, with the correlations
        of their scores. Pairs for which there is only rounding left are left out.

    See Also
    --------
    cca_svd : The end p = 0, with a ridge.
    sklearn.cross_decomposition.PLSSVD : p = 1.

    References
    ----------
    .. [1] S. de Jong, B. M. Wise, N. L. Ricker, "Canonical partial least squares and
       continuum power regression", Journal of Chemometrics 15 (2001).
    .. [2] R. Rosipal, N. Krämer, "Overview and recent advances in partial least
       squares", Subspace, Latent Structure and Feature Selection (2006).
       :doi:`10.1007/11752790_2`

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.decomposition import power_pls
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 2)) * [10.0, 1.0]
    >>> Y = np.column_stack([X[:, 1], X[:, 0] / 10 + rng.normal(size=200)])
    >>> [abs(power_pls(X, Y, power=p).x_weights[:, 0]).round(1) for p in (0, 1)]
    [array([0., 1.]), array([1., 0.])]
    """
    if not 0 <= power < np.inf:
        raise ValueError(f"power must be a non-negative number, got {power}.")
    X, Y, eps = _views(X, Y)
    (U_x, s_x, Vt_x), (U_y, s_y, Vt_y) = thin_svd(X, eps), thin_svd(Y, eps)
    # Relative to the largest, so that no power overflows; directions stay the same.
    r_x, r_y = (s / np.max(s, initial=0.0) for s in (s_x, s_y))
    cross = (r_x**power)[:, None] * (U_x.T @ U_y) * r_y**power
    L, sizes, Rt = linalg.svd(cross, full_matrices=False, check_finite=False)
    kept = sizes > len(X) * eps * np.max(sizes, initial=0.0)
    L, R = L[:, kept], Rt[kept].T
    x_scores = U_x @ (r_x[:, None] ** power * L)
    y_scores = U_y @ (r_y[:, None] ** power * R)
    lengths = np.linalg.norm(x_scores, axis=0) * np.linalg.norm(y_scores, axis=0)
    correlations = np.einsum("ij,ij->j", x_scores, y_scores) / lengths
    x_weights = Vt_x.T @ (r_x[:, None] ** (power - 1) * L)
    y_weights = Vt_y.T @ (r_y[:, None] ** (power - 1) * R)
    x_weights /= np.linalg.norm(x_weights, axis=0)
    y_weights /= np.linalg.norm(y_weights, axis=0)
    _orient(x_weights, y_weights)
    return CanonicalPairs(x_weights, y_weights, np.clip(correlations, -1, 1))


CCA_SOLVERS: dict[str, Callable[..., CanonicalPairs]] = {
    "svd": cca_svd,
    "eigen": cca_eigen,
}


class LinearTwoView(TwoViewTransformer):
    """An estimator whose scores are products of centred views with weights."""

    x_mean_: NDArray[Any]
    y_mean_: NDArray[Any]
    x_weights_: NDArray[Any]
    y_weights_: NDArray[Any]

    def _x_scores(self, X: NDArray[Any]) -> NDArray[Any]:
        return (X - self.x_mean_) @ self.x_weights_

    def _y_scores(self, Y: NDArray[Any]) -> NDArray[Any]:
        return (Y - self.y_mean_) @ self.y_weights_


class SVDCCA(LinearTwoView):
    r"""Canonical correlation analysis, exact and safe against dependent features.

    .. math::
        \max_{a, b} \; \operatorname{corr}(X a, Y b)

    and again, uncorrelated with the previous pairs. scikit-learn's
    :class:`~sklearn.cross_decomposition.CCA` finds the same pairs one after the other
    by alternating regressions; here all come from two SVDs at once.

    Parameters
    ----------
    n_components : int, default=1
        Number of pairs.
    alpha : float, default=0.0
        Ridge :math:`\kappa` on the weights, :math:`a^\top (X^\top X + \kappa I) a` in
        place of :math:`a^\top X^\top X a`. Without it, and with no fewer features than
        rows, all correlations are 1 and mean nothing.
    solver : {"svd", "eigen"}, default="svd"
        :func:`cca_svd` or :func:`cca_eigen`.

    Attributes
    ----------
    canonical_correlations_ : ndarray of shape (n_components,)
        Correlations of the pairs, the largest first (with `alpha`, what is maximised in
        their place).
    x_weights_ : ndarray of shape (n_features, n_components)
        Weights of the first view. The scores of the training rows have unit variance
        (with `alpha`, a little less).
    y_weights_ : ndarray of shape (n_features_y, n_components)
        Weights of the second view.
    x_mean_ : ndarray of shape (n_features,)
        Mean of the first view.
    y_mean_ : ndarray of shape (n_features_y,)
        Mean of the second view.
    n_features_in_ : int
        Number of features of the first view.
    n_features_y_ : int
        Number of features of the second view.

    See Also
    --------
    KernelCCA : Correlations between functions that are not linear.
    SparseCCA : With few weights that are not zero.

    Notes
    -----
    `fit_transform` gives the scores of the first view alone, so that the estimator can
    be used in a pipeline; ``transform(X, Y)`` gives both.

    References
    ----------
    .. [1] H. Hotelling, "Relations between two sets of variates", Biometrika 28 (1936).
       :doi:`10.1093/biomet/28.3-4.321`

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.decomposition import SVDCCA
    >>> rng = np.random.default_rng(0)
    >>> shared = rng.normal(size=100)
    >>> X = np.column_stack([shared + 0.3 * rng.normal(size=100), rng.normal(size=100)])
    >>> Y = np.column_stack([rng.normal(size=100), -shared])
    >>> model = SVDCCA().fit(X, Y)
    >>> model.canonical_correlations_.round(2)
    array([0.96])
    >>> x_scores, y_scores = model.transform(X, Y)
    >>> round(float(np.corrcoef(x_scores[:, 0], y_scores[:, 0])[0, 1]), 2)
    0.96
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "alpha": [Interval(Real, 0, None, closed="left")],
        "solver": [StrOptions(set(CCA_SOLVERS))],
    }

    def __init__(
        self, n_components: int = 1, *, alpha: float = 0.0, solver: str = "svd"
    ) -> None:
        self.n_components = n_components
        self.alpha = alpha
        self.solver = solver

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, Y: Any) -> Self:
        """Find the pairs of directions.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows in the first view.
        Y : array-like of shape (n_samples,) or (n_samples, n_features_y)
            The same rows in the second view.

        Returns
        -------
        self : SVDCCA
            The fitted estimator.
        """
        X, Y = self._validate_views(X, Y)
        self._check_n_components(X, Y)
        pairs = CCA_SOLVERS[self.solver](X, Y, alpha=self.alpha)
        pairs = pad_pairs(pairs, self.n_components, "the ranks of X and Y")
        self._keep(X, Y, pairs)
        self.canonical_correlations_ = pairs.correlations
        return self

    def _keep(self, X: NDArray[Any], Y: NDArray[Any], pairs: CanonicalPairs) -> None:
        # The scores of the solvers have unit length; of unit variance, they do not
        # shrink with the number of rows.
        scale = np.sqrt(X.shape[0] - 1)
        self.x_mean_, self.y_mean_ = X.mean(axis=0), Y.mean(axis=0)
        self.x_weights_ = (scale * pairs.x_weights).astype(X.dtype, copy=False)
        self.y_weights_ = (scale * pairs.y_weights).astype(X.dtype, copy=False)


class PowerPLS(LinearTwoView):
    r"""Partial least squares between canonical correlations and components.

    One number leads from one method to the next: with ``power=0`` it is canonical
    correlation analysis, with 1 partial least squares, and the larger it is, the closer
    the first pair is to the principal components of the views; see :func:`power_pls`.
    Small powers find what the views share however little of their variance it is; large
    ones are stable where there are few rows.

    Parameters
    ----------
    n_components : int, default=1
        Number of pairs.
    power : float, default=1.0
        How much the variance of the scores counts beside their correlation.

    Attributes
    ----------
    correlations_ : ndarray of shape (n_components,)
        Correlations between the two scores of each pair.
    x_weights_ : ndarray of shape (n_features, n_components)
        Weights of the first view, of unit length.
    y_weights_ : ndarray of shape (n_features_y, n_components)
        Weights of the second view.
    x_mean_ : ndarray of shape (n_features,)
        Mean of the first view.
    y_mean_ : ndarray of shape (n_features_y,)
        Mean of the second view.
    n_features_in_ : int
        Number of features of the first view.
    n_features_y_ : int
        Number of features of the second view.

    See Also
    --------
    SVDCCA : ``power=0``, with a ridge.
    sklearn.cross_decomposition.PLSRegression : To predict the second view.

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.decomposition import PowerPLS
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 2)) * [10.0, 1.0]
    >>> Y = np.column_stack([X[:, 1], X[:, 0] / 10 + rng.normal(size=200)])
    >>> for power in (0, 1):
    ...     model = PowerPLS(power=power).fit(X, Y)
    ...     model.correlations_.round(2), model.transform(X).var().round()
    (array([1.]), np.float64(1.0))
    (array([0.68]), np.float64(96.0))
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "power": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(self, n_components: int = 1, *, power: float = 1.0) -> None:
        self.n_components = n_components
        self.power = power

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, Y: Any) -> Self:
        """Find the pairs of directions.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows in the first view.
        Y : array-like of shape (n_samples,) or (n_samples, n_features_y)
            The same rows in the second view.

        Returns
        -------
        self : PowerPLS
            The fitted estimator.
        """
        X, Y = self._validate_views(X, Y)
        self._check_n_components(X, Y)
        pairs = power_pls(X, Y, power=self.power)
        pairs = pad_pairs(pairs, self.n_components, "the ranks of X and Y")
        self.x_mean_, self.y_mean_ = X.mean(axis=0), Y.mean(axis=0)
        self.x_weights_ = pairs.x_weights.astype(X.dtype, copy=False)
        self.y_weights_ = pairs.y_weights.astype(X.dtype, copy=False)
        self.correlations_ = pairs.correlations
        return self
