"""Regression on few directions: principal components, and the scores of PLS."""

# SPDX-License-Identifier: BSD-3-Clause

from numbers import Integral
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import linalg

from fewlabels._labels import validate_partial_targets
from fewlabels._linalg import deviations, thin_svd
from fewlabels._sklearn import Interval, check_array, fit_context
from fewlabels.regression._linear_regressor import (
    Floats,
    LinearRegressor,
    check_problem,
    warn_above_tol,
)


def principal_component_path(
    X: ArrayLike, y: ArrayLike, n_components: int | None = None
) -> Floats:
    r"""Regress y on the first k principal components of X, for every k at once.

    With :math:`X = U \Sigma V^\top`, the coefficients of the scores are
    :math:`\gamma_j = u_j^\top y / \sigma_j`, whatever the number of scores, and those
    of the features :math:`b_k = \sum_{j \le k} \gamma_j v_j`.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Rows, with the means taken off.
    y : array-like of shape (n_samples,)
        Targets, with the mean taken off.
    n_components : int, default=None
        The largest k; None for the rank of X, beyond which there are none.

    Returns
    -------
    coefs : ndarray of shape (k, n_features)
        Coefficients for 1, 2, ..., k components.

    See Also
    --------
    PrincipalComponentRegression : The estimator for one k.

    Examples
    --------
    >>> from fewlabels.regression import principal_component_path
    >>> X = [[2.0, 0.0], [-2.0, 0.0], [0.0, 1.0], [0.0, -1.0]]
    >>> principal_component_path(X, [2.0, -2.0, 3.0, -3.0]) + 0.0
    array([[1., 0.],
           [1., 3.]])
    """
    X, y = check_problem(X, y)
    V, sigma, U = _components(X, n_components)
    gamma = (U.T @ y) / sigma
    return np.cumsum(gamma[:, None] * V.T, axis=0)


def _components(
    X: NDArray[Any], n_components: int | None
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Right singular vectors, singular values and left singular vectors of X."""
    if n_components is not None and n_components > min(X.shape):
        raise ValueError(
            f"n_components={n_components} is more than the {min(X.shape)} that "
            f"{X.shape[0]} rows of {X.shape[1]} features can have."
        )
    U, sigma, Vt = thin_svd(X)
    return Vt[:n_components].T, sigma[:n_components], U[:, :n_components]


class PrincipalComponentRegression(LinearRegressor):
    r"""Least squares on the first principal components of the features.

    .. math::
        \min_{\gamma, b_0} \sum_{i \text{ with a target}}
        (y_i - (x_i - \bar x)^\top V_k \gamma - b_0)^2, \qquad b = V_k \gamma

    where the columns of :math:`V_k` are the directions of largest variance. They do not
    depend on targets: rows without one count for them as well, so that few targets
    suffice where few directions matter.

    Parameters
    ----------
    n_components : int, default=None
        Number of components; None for all that have variance, which is least squares.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        Coefficients b of the features.
    intercept_ : float
        The intercept.
    components_ : ndarray of shape (n_components, n_features)
        The directions, as rows.
    singular_values_ : ndarray of shape (n_components,)
        Their singular values.
    gamma_ : ndarray of shape (n_components,)
        Coefficients of the scores.
    mean_ : ndarray of shape (n_features,)
        Mean of all rows.
    n_components_ : int
        Number of components used.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, where `X` had any.

    See Also
    --------
    principal_component_path : All numbers of components at once.
    sklearn.decomposition.PCA : In a pipeline with `LinearRegression` the same, where
        every row has a target.

    References
    ----------
    .. [1] W. F. Massy, "Principal components regression in exploratory statistical
       research", J. Am. Stat. Assoc. 60 (1965). :doi:`10.1080/01621459.1965.10480787`

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.regression import PrincipalComponentRegression
    >>> rng = np.random.default_rng(0)
    >>> scores = rng.normal(size=(500, 2))
    >>> X = scores @ rng.normal(size=(2, 50)) + 0.1 * rng.normal(size=(500, 50))
    >>> y = np.full(500, np.nan)
    >>> y[:10] = scores[:10, 0]  # ten targets, fifty features
    >>> model = PrincipalComponentRegression(n_components=2).fit(X, y)
    >>> bool(model.score(X, scores[:, 0]) > 0.99)
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_components": [Interval(Integral, 1, None, closed="left"), None]
    }

    def __init__(self, n_components: int | None = None) -> None:
        self.n_components = n_components

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: ArrayLike) -> Self:
        """Find the components of all rows and regress the targets on them.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training rows, with and without a target.
        y : array-like of shape (n_samples,)
            Targets; NaN marks rows without one.

        Returns
        -------
        self : object
            The fitted regressor.
        """
        X, targets = validate_partial_targets(self, X, y, dtype=np.float64)
        known = ~np.isnan(targets)
        self.mean_ = X.mean(axis=0)
        V, self.singular_values_, _ = _components(
            deviations(X, self.mean_), self.n_components
        )
        self.components_ = V.T
        self.n_components_ = V.shape[1]
        scores = (X[known] - self.mean_) @ V
        center, y_mean = scores.mean(axis=0), float(targets[known].mean())
        self.gamma_ = (
            linalg.lstsq(deviations(scores, center), targets[known] - y_mean)[0]
            if self.n_components_
            else np.zeros(0)
        )
        self._keep(V @ self.gamma_, self.mean_ + V @ center, y_mean)
        return self


class ScorePair(NamedTuple):
    """One pair of score vectors of partial least squares.

    Attributes
    ----------
    x_weights : ndarray of shape (n_features,)
        The weights w, of length 1.
    y_weights : ndarray of shape (n_targets,)
        The weights c, of length 1.
    x_scores : ndarray of shape (n_samples,)
        The scores t = X w.
    y_scores : ndarray of shape (n_samples,)
        The scores u = Y c.
    n_iter : int
        Number of iterations.
    """

    x_weights: Floats
    y_weights: Floats
    x_scores: Floats
    y_scores: Floats
    n_iter: int


def nipals_pair(
    X: ArrayLike, Y: ArrayLike, *, tol: float = 1e-10, max_iter: int = 1000
) -> ScorePair:
    r"""Find the first pair of scores of partial least squares by alternating products.

    .. math::
        \max_{w, c} \; w^\top X^\top Y c \quad \text{subject to} \quad
        \|w\| = \|c\| = 1

    NIPALS repeats :math:`w \propto X^\top u`, :math:`t = X w`, :math:`c \propto Y^\top
    t`, :math:`u = Y c`. It is the power method: w and c tend to the first singular
    vectors of :math:`X^\top Y`.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Rows, with the means taken off.
    Y : array-like of shape (n_samples, n_targets)
        Targets, with the means taken off.
    tol : float, default=1e-10
        Stop where w changes by less than this length.
    max_iter : int, default=1000
        Largest number of iterations.

    Returns
    -------
    pair : ScorePair
        Weights and scores; all zero where :math:`X^\top Y` is.

    Warns
    -----
    ConvergenceWarning
        If `max_iter` was reached, as for two singular values that are nearly equal.

    See Also
    --------
    sklearn.cross_decomposition.PLSRegression : Several pairs, and the regression.

    References
    ----------
    .. [1] S. Wold, M. Sjöström and L. Eriksson, "PLS-regression: a basic tool of
       chemometrics", Chemom. Intell. Lab. Syst. 58 (2001).
       :doi:`10.1016/S0169-7439(01)00155-1`

    Examples
    --------
    >>> from fewlabels.regression import nipals_pair
    >>> X = [[1.0, 0.0], [-1.0, 0.0], [0.0, 0.0]]
    >>> pair = nipals_pair(X, [[2.0], [-1.0], [-1.0]])
    >>> pair.x_weights.tolist(), pair.y_weights.tolist()
    ([1.0, 0.0], [1.0])
    """
    X = np.asarray(check_array(X, dtype=np.float64))
    Y = np.asarray(check_array(Y, dtype=np.float64, input_name="Y"))
    if X.shape[0] != Y.shape[0]:
        raise ValueError(
            f"X and Y must have the same rows; got shapes {X.shape} and {Y.shape}."
        )
    # The column of Y that has most in common with X: another could have nothing.
    start = int(np.argmax(np.linalg.norm(X.T @ Y, axis=0)))
    u = Y[:, start]
    w, change, n_iter = np.zeros(X.shape[1]), np.inf, 0
    while change > tol and n_iter < max_iter:
        n_iter += 1
        direction = X.T @ u
        length = np.linalg.norm(direction)
        if length == 0:
            zeros = np.zeros(X.shape[0])
            return ScorePair(w, np.zeros(Y.shape[1]), zeros, zeros, n_iter)
        change = float(np.linalg.norm(direction / length - w))
        w = direction / length
        t = X @ w
        c = Y.T @ t
        c /= np.linalg.norm(c)
        u = Y @ c
    warn_above_tol("the last change of the weights", max_iter, change, tol)
    return ScorePair(w, c, t, u, n_iter)
