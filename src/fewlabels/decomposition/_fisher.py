"""Directions that separate classes."""

# SPDX-License-Identifier: BSD-3-Clause

import warnings
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import linalg
from sklearn.base import ClassNamePrefixFeaturesOutMixin
from sklearn.utils import Tags
from sklearn.utils.extmath import svd_flip

from fewlabels._labels import (
    Labels,
    check_length,
    encode_labels,
    validate_partially_labeled,
)
from fewlabels._linalg import FLOATS, ROUNDING, thin_svd
from fewlabels._sklearn import Interval, check_array, fit_context, validate_fitted
from fewlabels.decomposition._projection import FloatTransformer


class Scatter(NamedTuple):
    """Scatter within and between classes, each class with the same weight.

    Attributes
    ----------
    within : ndarray of shape (n_features, n_features)
        Mean of the covariances of the classes.
    between : ndarray of shape (n_features, n_features)
        Covariance of the means of the classes.
    means : ndarray of shape (n_classes, n_features)
        Means of the classes.
    """

    within: NDArray[Any]
    between: NDArray[Any]
    means: NDArray[Any]


def _check_classes(labels: Labels) -> None:
    if labels.classes.size < 2:
        raise ValueError(
            f"y holds 1 class ({labels.classes[0]}): directions that separate "
            "classes need labels of at least two."
        )


def class_scatter(X: Any, y: ArrayLike) -> Scatter:
    r"""Compute the scatter within and between classes, with equal weight for each.

    .. math::
        S_w = \frac1c \sum_i \operatorname{cov}_i, \qquad
        S_b = \frac1c \sum_i (m_i - \bar m)(m_i - \bar m)^\top, \qquad
        \bar m = \frac1c \sum_i m_i

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Rows.
    y : array-like of shape (n_samples,)
        Labels; rows without one are left out.

    Returns
    -------
    scatter : Scatter
        Both matrices, and the means of the classes.

    Examples
    --------
    >>> from fewlabels.decomposition import class_scatter
    >>> scatter = class_scatter([[0.0], [2.0], [10.0], [10.0]], [0, 0, 1, 1])
    >>> scatter.within, scatter.between
    (array([[0.5]]), array([[20.25]]))
    """
    X = check_array(X, dtype=FLOATS, input_name="X")
    labels = encode_labels(y)
    check_length(labels.codes.size, X)
    _check_classes(labels)
    inside, apart, means = _scatter_roots(X, labels)
    return Scatter(inside.T @ inside, apart.T @ apart, means)


def _scatter_roots(
    X: NDArray[Any], labels: Labels
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Rows whose products are the scatter within and between classes; the means."""
    c, rows = labels.classes.size, labels.labeled
    codes = labels.codes[rows]
    counts = np.bincount(codes, minlength=c)
    X = X[rows].astype(np.float64, copy=False)
    centre = X.mean(axis=0)
    Z = X - centre  # far from zero, means of classes would be rounded too much
    own = np.array([Z[codes == k].mean(axis=0) for k in range(c)])
    inside, apart, means = Z - own[codes], own - own.mean(axis=0), centre + own
    noise = ROUNDING * np.abs(means).max(axis=0)
    for part in (inside, apart):  # rounding errors are not scatter
        part[:, np.abs(part).max(axis=0) <= noise] = 0.0
    inside /= np.sqrt(c * counts[codes])[:, None]
    apart /= np.sqrt(c)
    return inside, apart, means


class FisherDiscriminantAnalysis(ClassNamePrefixFeaturesOutMixin, FloatTransformer):
    r"""Project rows onto the directions that best separate the classes.

    .. math:: S_b u = \lambda S_w u, \qquad U^\top S_w U = I

    with the scatter of :func:`class_scatter`, in which every class has the same weight
    however many rows it has. There are at most n_classes - 1 such directions.

    Rows without a label are left out. Where the classes do not vary in some direction
    in which their means differ, as with fewer labelled rows than features, that
    direction separates them perfectly on the training rows, its :math:`\lambda` is
    infinite and a warning says so: `shrinkage` is the remedy.

    Parameters
    ----------
    n_components : int, default=None
        Number of directions; None for all, n_classes - 1 or n_features.
    shrinkage : float, default=0.0
        Weight s of the identity in
        :math:`(1 - s) S_w + s \frac{\operatorname{tr} S_w}{d} I`, between 0 and 1.

    Attributes
    ----------
    scalings_ : ndarray of shape (n_features, n_components)
        The directions U.
    eigenvalues_ : ndarray of shape (n_components,)
        :math:`\lambda`, scatter between relative to scatter within classes.
    means_ : ndarray of shape (n_classes, n_features)
        Means of the classes.
    xbar_ : ndarray of shape (n_features,)
        Mean of the means; it is projected to zero.
    classes_ : ndarray of shape (n_classes,)
        The classes, without the marker of unlabelled rows.
    n_features_in_ : int
        Number of features seen in `fit`.

    See Also
    --------
    sklearn.discriminant_analysis.LinearDiscriminantAnalysis : Classes weighted by their
        numbers of rows, which for classes of different size is another subspace.
    fewlabels.feature_selection.fisher_score : Features one by one.

    References
    ----------
    .. [1] R. A. Fisher, "The use of multiple measurements in taxonomic problems",
       Annals of Eugenics 7 (1936). :doi:`10.1111/j.1469-1809.1936.tb02137.x`

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from fewlabels.decomposition import FisherDiscriminantAnalysis
    >>> X, y = load_iris(return_X_y=True)
    >>> model = FisherDiscriminantAnalysis().fit(X, y)
    >>> model.eigenvalues_.round(4)
    array([32.1919,  0.2854])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_components": [None, Interval(Integral, 1, None, closed="left")],
        "shrinkage": [Interval(Real, 0, 1, closed="both")],
    }

    def __init__(
        self, n_components: int | None = None, *, shrinkage: float = 0.0
    ) -> None:
        self.n_components = n_components
        self.shrinkage = shrinkage

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: ArrayLike) -> Self:
        """Find the directions.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training rows.
        y : array-like of shape (n_samples,)
            Labels, some of which may be missing.

        Returns
        -------
        self : FisherDiscriminantAnalysis
            The fitted estimator.
        """
        X, labels = validate_partially_labeled(self, X, y, dtype=FLOATS)
        _check_classes(labels)
        most = min(labels.classes.size - 1, X.shape[1])
        n_components = most if self.n_components is None else self.n_components
        if n_components > most:
            raise ValueError(
                f"n_components={n_components} must be at most {most}: with "
                f"n_features={X.shape[1]} and {labels.classes.size} classes there are "
                "no more directions."
            )
        inside, apart, means = _scatter_roots(X, labels)
        if self.shrinkage > 0:
            ball = linalg.norm(inside) * np.eye(X.shape[1]) / np.sqrt(X.shape[1])
            shares = np.sqrt([1 - self.shrinkage, self.shrinkage])
            inside = np.vstack([shares[0] * inside, shares[1] * ball])
        U, eigenvalues = _discriminant_directions(inside, apart, n_components, X.dtype)
        if np.isinf(eigenvalues).any():
            warnings.warn(
                f"{np.isinf(eigenvalues).sum()} of {n_components} directions separate "
                "the classes perfectly because no class varies along them, as with few "
                f"labelled rows: use shrinkage > {self.shrinkage:g}.",
                stacklevel=2,
            )
        self.classes_ = labels.classes
        self.means_ = means.astype(X.dtype, copy=False)
        self.xbar_ = self.means_.mean(axis=0)
        self.scalings_ = U.astype(X.dtype, copy=False)
        self.eigenvalues_ = eigenvalues
        return self

    def transform(self, X: Any) -> NDArray[Any]:
        """Project rows on the directions.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        Z : ndarray of shape (n_samples, n_components)
            Their coordinates.
        """
        X = validate_fitted(self, X, dtype=FLOATS)
        return (X - self.xbar_) @ self.scalings_

    @property
    def _n_features_out(self) -> int:
        return self.scalings_.shape[1]

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


def _discriminant_directions(
    inside: NDArray[np.float64],
    apart: NDArray[np.float64],
    n_components: int,
    dtype: Any,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Solve S_b u = l S_w u, also where S_w is singular, from the roots of both.

    S_b u = m (S_w + S_b) u has the same vectors, and m = l / (1 + l) is at most 1. It
    is solved where S_w + S_b is not zero: elsewhere there is nothing to separate. The
    products themselves would lose half of the digits, and next to a far row all of
    them.
    """
    roots = np.vstack([inside, apart])
    scale = linalg.norm(roots, axis=0)
    scale = np.where(scale > 0, scale, np.inf)
    _, s, Vt = thin_svd(roots / scale)
    M = Vt.T / s / scale[:, None]
    _, root, Qt = linalg.svd(apart @ M, full_matrices=False)
    m, U = root[:n_components] ** 2, M @ Qt[:n_components].T
    U, _ = svd_flip(U, None)
    left = np.sum((inside @ U) ** 2, axis=0)  # u' S_w u = 1 - m
    finite = left > 10 * U.shape[0] * float(np.finfo(dtype).eps)
    eigenvalues = np.full(m.size, np.inf)
    eigenvalues[finite] = m[finite] / left[finite]
    U[:, finite] /= np.sqrt(left[finite])
    # Where rows are all alike there are fewer directions: the remaining ones are zero.
    missing = n_components - m.size
    if missing > 0:
        U = np.hstack([U, np.zeros((U.shape[0], missing))])
        eigenvalues = np.concatenate([eigenvalues, np.zeros(missing)])
    return U, np.maximum(eigenvalues, 0.0)
