"""Pairs of directions between canonical correlations and principal components."""

# SPDX-License-Identifier: BSD-3-Clause

from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from fewlabels._linalg import signs, thin_svd
from fewlabels._params import check_number, usual
from fewlabels._sklearn import Interval
from fewlabels.decomposition._two_views import (
    CanonicalPairs,
    LinearTwoView,
    centered_views,
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
    the variance of the scores counts relative to their correlation: p = 0 is canonical
    correlation analysis, p = 1 partial least squares, the largest covariance of
    directions of unit length, and as p grows, the first pair approaches the first
    principal components of the two views.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features_x)
        Rows in the first view. Its features may be linearly dependent.
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
    check_number("power", power, 0)
    X, Y, eps = centered_views(X, Y)
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
    flip = signs(x_weights)
    return CanonicalPairs(
        x_weights * flip, y_weights * flip, np.clip(correlations, -1, 1)
    )


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
        Weight of the variance of the scores relative to their correlation.

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
        **usual("n_components"),
        "power": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(self, n_components: int = 1, *, power: float = 1.0) -> None:
        self.n_components = n_components
        self.power = power

    def _learn(self, X: NDArray[Any], Y: NDArray[Any]) -> None:
        self._check_n_components(X, Y)
        pairs = power_pls(X, Y, power=self.power)
        self.correlations_ = self._keep(X, Y, pairs)
