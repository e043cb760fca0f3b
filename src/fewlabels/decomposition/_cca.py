"""Canonical correlations: pairs of directions in two views that correlate."""

# SPDX-License-Identifier: BSD-3-Clause

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from fewlabels._linalg import inverse_square_root, signs, thin_svd
from fewlabels._params import check_number, usual
from fewlabels._sklearn import StrOptions
from fewlabels.decomposition._two_views import (
    CanonicalPairs,
    LinearTwoView,
    centered_views,
)


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
    flip = signs(x_weights)
    return CanonicalPairs(
        x_weights * flip, y_weights * flip, np.clip(correlations, 0, 1)
    )


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
        Rows in the first view. Its features may be linearly dependent.
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
    check_number("alpha", alpha, 0)
    X, Y, eps = centered_views(X, Y)
    return pairs_from_factors(thin_svd(X, eps), thin_svd(Y, eps), alpha)


def cca_eigen(X: Any, Y: Any, *, alpha: float = 0.0) -> CanonicalPairs:
    r"""Find canonical correlations by a generalised eigenproblem.

    .. math:: C_{xy} C_{yy}^{-1} C_{yx} w_x = \rho^2 C_{xx} w_x, \qquad
       w_y = \rho^{-1} C_{yy}^{-1} C_{yx} w_x

    with :math:`C_{xx} = X^\top X + \kappa I` and so on, of centred views. It squares
    the condition of the views: :func:`cca_svd` is more accurate, this one faster where
    there are many more rows than features.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features_x)
        Rows in the first view. Its features may be linearly dependent.
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
    check_number("alpha", alpha, 0)
    X, Y, eps = centered_views(X, Y)
    # With M M' the pseudo-inverse of C_xx, w_x = M u makes it a symmetric problem
    # without C_xx, and a singular C_xx no problem. LAPACK computes those that should be
    # zero to a few rounding errors of the largest.
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
    x_weights, y_weights = M_x @ Q, M_y @ np.where(np.diag(upper) < 0, -R, R)
    flip = signs(x_weights)
    return CanonicalPairs(x_weights * flip, y_weights * flip, correlations)


CCA_SOLVERS: dict[str, Callable[..., CanonicalPairs]] = {
    "svd": cca_svd,
    "eigen": cca_eigen,
}


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
    `fit_transform` returns only the scores of the first view, so that the estimator can
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
        **usual("n_components", "alpha"),
        "solver": [StrOptions(set(CCA_SOLVERS))],
    }

    def __init__(
        self, n_components: int = 1, *, alpha: float = 0.0, solver: str = "svd"
    ) -> None:
        self.n_components = n_components
        self.alpha = alpha
        self.solver = solver

    def _learn(self, X: NDArray[Any], Y: NDArray[Any]) -> None:
        self._check_n_components(X, Y)
        pairs = CCA_SOLVERS[self.solver](X, Y, alpha=self.alpha)
        # The scores of the solvers have unit length; with unit variance, they do not
        # shrink with the number of rows.
        scale = np.sqrt(X.shape[0] - 1)
        self.canonical_correlations_ = self._keep(X, Y, pairs, scale)
