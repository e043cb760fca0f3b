"""Spherical k-means: a dictionary of directions."""

# SPDX-License-Identifier: BSD-3-Clause

import warnings
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    ClusterMixin,
    OneToOneFeatureMixin,
    TransformerMixin,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import normalize
from sklearn.utils import Tags, check_random_state
from sklearn.utils.extmath import row_norms, safe_sparse_dot

from fewlabels._distances import safe_unit
from fewlabels._linalg import FLOATS
from fewlabels._sklearn import Interval, fit_context, validate_data, validate_fitted


class SphericalDictionary(NamedTuple):
    """Directions that rows cluster around.

    Attributes
    ----------
    directions : ndarray of shape (n_clusters, n_features)
        Rows of unit length.
    objectives : ndarray of shape (n_iter + 1,)
        Captured energy before the first and after every step.
    converged : bool
        Whether the energy had come to rest.
    """

    directions: NDArray[Any]
    objectives: NDArray[np.float64]
    converged: bool


def _chosen(scores: NDArray[Any]) -> NDArray[np.intp]:
    return np.abs(scores).argmax(axis=1)


def _picked(scores: NDArray[Any], labels: NDArray[np.intp]) -> NDArray[Any]:
    return np.take_along_axis(scores, labels[:, None], axis=1)[:, 0]


def spherical_kmeans(
    X: Any, directions: NDArray[Any], *, max_iter: int = 100, tol: float = 1e-6
) -> SphericalDictionary:
    r"""Find directions, one per row, that capture as much of the rows as possible.

    .. math:: \max_{\|d_1\| = \dots = \|d_k\| = 1} \;
       \sum_i \max_j \, (d_j^\top x_i)^2

    Rows of either sign belong to the same direction. Each step codes every row by the
    one direction with the largest :math:`|d_j^\top x_i|` and replaces

    .. math:: d_j \leftarrow d_j + \frac1s \sum_{i \in C_j} (d_j^\top x_i) \, x_i ,

    scaled to unit length, where s is the mean square of all entries: 1 for normalised
    patches, as published; otherwise tiny rows would never turn a direction. That is a
    step of the shifted power method in every cluster, so that the objective never
    falls.

    Parameters
    ----------
    X : {ndarray, sparse matrix} of shape (n_samples, n_features)
        Rows.
    directions : ndarray of shape (n_clusters, n_features)
        Where to start; scaled to unit length.
    max_iter : int, default=100
        Largest number of steps.
    tol : float, default=1e-6
        Stop when a step adds less than this share to the objective.

    Returns
    -------
    dictionary : SphericalDictionary
        The directions.

    References
    ----------
    .. [1] A. Coates, A. Y. Ng, "Learning feature representations with k-means", in
       Neural Networks: Tricks of the Trade (2012). :doi:`10.1007/978-3-642-35289-8_30`

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.cluster import spherical_kmeans
    >>> X = np.array([[1.0, 0.1], [-2.0, 0.1], [0.1, 1.0], [0.1, -3.0]])
    >>> start = np.array([[1.0, 0.5], [0.5, 1.0]])
    >>> spherical_kmeans(X, start).directions.round(2)
    array([[ 1.  , -0.02],
           [-0.02,  1.  ]])
    """
    D = normalize(directions)
    unit = safe_unit(X)
    X = X if unit == 1.0 else X / X.dtype.type(unit)
    scale = row_norms(X, squared=True).mean() / X.shape[1] or 1.0
    scores = safe_sparse_dot(X, D.T, dense_output=True)
    labels = _chosen(scores)
    best = _picked(scores, labels)
    objectives = [float(best @ best)]
    for _ in range(max_iter):
        codes = np.zeros_like(scores)
        np.put_along_axis(codes, labels[:, None], best[:, None], axis=1)
        # The sum lies on the same side of the hyperplane as d_j, so it is never zero.
        D = normalize(D + safe_sparse_dot(X.T, codes / scale, dense_output=True).T)
        scores = safe_sparse_dot(X, D.T, dense_output=True)
        labels = _chosen(scores)
        best = _picked(scores, labels)
        objectives.append(float(best @ best))
        if objectives[-1] - objectives[-2] <= tol * objectives[-1]:
            break
    converged = max_iter > 0 and objectives[-1] - objectives[-2] <= tol * objectives[-1]
    with np.errstate(over="ignore"):
        return SphericalDictionary(D, np.array(objectives) * unit * unit, converged)


class SphericalKMeans(
    ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, BaseEstimator
):
    r"""Spherical k-means: clusters around directions, ignoring length and sign.

    Maximises :math:`\sum_i \max_j (d_j^\top x_i)^2` over unit vectors; see
    :func:`spherical_kmeans`. As gain-shape vector quantisation it learns dictionaries
    of patches: normalise the patches (:class:`PatchNormalizer`), whiten them, then fit.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of directions.
    n_init : int, default=1
        Random starts; the best counts.
    max_iter : int, default=100
        Largest number of steps per start; ten are often enough for a dictionary.
    tol : float, default=1e-6
        A start ends when a step adds less than this share to the objective.
    random_state : int, RandomState instance or None, default=None
        Seed of the starts, which are Gaussian vectors of unit length.

    Attributes
    ----------
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        The directions, rows of unit length. Their signs mean nothing.
    labels_ : ndarray of shape (n_samples,)
        Direction of every row; 0 for a row of zeros.
    objective_ : float
        The sum that was maximised.
    n_iter_ : int
        Steps of the best start.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, where `X` had any.

    See Also
    --------
    PatchNormalizer : To use before.
    sklearn.cluster.KMeans : Clusters around points.

    Notes
    -----
    A direction that no row chooses stays where it started.

    References
    ----------
    .. [1] A. Coates, A. Y. Ng, "Learning feature representations with k-means", in
       Neural Networks: Tricks of the Trade (2012). :doi:`10.1007/978-3-642-35289-8_30`

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.cluster import SphericalKMeans
    >>> rng = np.random.default_rng(0)
    >>> lengths = rng.normal(size=(200, 1))
    >>> y = np.arange(200) % 2
    >>> X = lengths * np.eye(3)[y] + 0.01 * rng.normal(size=(200, 3))
    >>> model = SphericalKMeans(2, random_state=0).fit(X)
    >>> np.abs(model.cluster_centers_ @ np.eye(3)).max(axis=1).round(2)
    array([1., 1.])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_clusters": [Interval(Integral, 1, None, closed="left")],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        n_init: int = 1,
        max_iter: int = 100,
        tol: float = 1e-6,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the directions.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : None
            Not used.

        Returns
        -------
        self : object
            The fitted model.
        """
        X = validate_data(self, X, accept_sparse="csr", dtype=FLOATS)
        rng = check_random_state(self.random_state)
        shape = (self.n_clusters, X.shape[1])
        runs = [
            spherical_kmeans(
                X,
                rng.normal(size=shape).astype(X.dtype),
                max_iter=self.max_iter,
                tol=self.tol,
            )
            for _ in range(self.n_init)
        ]
        best = max(runs, key=lambda run: run.objectives[-1])
        if not best.converged:
            warnings.warn(
                f"The directions still turn after max_iter={self.max_iter} steps: "
                f"allow more, or a larger tol than {self.tol}.",
                ConvergenceWarning,
                stacklevel=2,
            )
        self.cluster_centers_ = best.directions
        self.objective_ = float(best.objectives[-1])
        self.n_iter_ = best.objectives.size - 1
        self.labels_ = _chosen(self._scores(X))
        return self

    def _scores(self, X: Any) -> NDArray[Any]:
        return safe_sparse_dot(X, self.cluster_centers_.T, dense_output=True)

    def _checked(self, X: Any) -> Any:
        return validate_fitted(self, X, accept_sparse="csr", dtype=FLOATS)

    def predict(self, X: Any) -> NDArray[np.intp]:
        """Assign rows to the direction with the largest absolute inner product.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            The clusters.
        """
        return _chosen(self._scores(self._checked(X)))

    def transform(self, X: Any) -> NDArray[Any]:
        """Code rows by one direction each.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        codes : ndarray of shape (n_samples, n_clusters)
            The inner product with the chosen direction, zero elsewhere.
        """
        scores = self._scores(self._checked(X))
        labels = _chosen(scores)[:, None]
        codes = np.zeros_like(scores)
        np.put_along_axis(
            codes, labels, np.take_along_axis(scores, labels, axis=1), axis=1
        )
        return codes

    @property
    def _n_features_out(self) -> int:
        return self.cluster_centers_.shape[0]

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


class PatchNormalizer(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    r"""Give every row mean 0 and variance 1: brightness and contrast of a patch.

    .. math:: x \leftarrow \frac{x - \operatorname{mean}(x)}
       {\sqrt{\operatorname{var}(x) + \epsilon}}

    Mean and variance are those of the entries of one row. Nothing is learnt.

    Parameters
    ----------
    eps : float, default=1e-8
        Added to the variance, so that a constant row becomes zero. For pixels between 0
        and 255, about 10 keeps noise in flat patches small.

    Attributes
    ----------
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, where `X` had any.

    See Also
    --------
    SphericalKMeans : The clustering to apply next.
    sklearn.preprocessing.StandardScaler : The same by columns.

    Examples
    --------
    >>> from fewlabels.cluster import PatchNormalizer
    >>> PatchNormalizer().fit_transform([[1.0, 3.0], [5.0, 5.0]]).round(6)
    array([[-1.,  1.],
           [ 0.,  0.]])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "eps": [Interval(Real, 0, None, closed="neither")]
    }

    def __init__(self, *, eps: float = 1e-8) -> None:
        self.eps = eps

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None) -> Self:
        """Remember the number of features.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        y : None
            Not used.

        Returns
        -------
        self : object
            The same.
        """
        validate_data(self, X, dtype=FLOATS)
        return self

    def transform(self, X: Any) -> NDArray[Any]:
        """Normalise rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        Z : ndarray of shape (n_samples, n_features)
            Rows with mean 0 and variance var / (var + eps).
        """
        X = validate_data(self, X, dtype=FLOATS, reset=False)
        centred = X - X.mean(axis=1, keepdims=True)
        return centred / np.sqrt(centred.var(axis=1, keepdims=True) + self.eps)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.requires_fit = False
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
